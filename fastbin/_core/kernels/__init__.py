"""Numba kernels: arrays in, arrays out. Imported at the first fit, never for scoring."""
