"""Cython: the only code that sees the C header. `model` owns the model pointer; `ties` orders equal scores by keys."""
