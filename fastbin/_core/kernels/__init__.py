"""Numba kernels: arrays in, arrays out. Imported at the first fit of many rows or of batches, never for scoring."""
