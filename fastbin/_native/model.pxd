"""Rows as the scoring calls take them, for the other extensions."""

cimport numpy as cnp
from libc.stdint cimport uint64_t

from fastbin._native.cfastbin cimport fastbin_rows

# Below this many rows, releasing the GIL costs more than it can give back.
cdef enum:
    RELEASE_GIL_FROM = 2048

cdef uint64_t fresh_key(uint64_t draw_seed, uint64_t *n_draws) noexcept
cdef double number_of(score) except? -1.0
cdef bint is_fast(scores, keys)
cdef object as_rows(scores, keys)
cdef object check_out(out, int typenum, cnp.npy_intp length)
cdef bint describe_call(fastbin_rows *rows, scores, keys, seed, nan) except -1
