"""Cython: the only code that sees the C header. `owner` owns a model, `model` scores, `stream` counts, `ties` orders ties."""
