"""The compiled parts (`score`, `fit`, the Numba `kernels`), and the tables that mirror the C header (`schemes`, `fields`)."""
