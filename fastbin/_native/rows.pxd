"""Scores and keys as users give them, made ready for C: for the other extensions."""

cimport numpy as cnp
from libc.stdint cimport uint64_t

from fastbin._native.cfastbin cimport fastbin_rows

# Below this many rows, releasing the GIL costs more than it can give back.
cdef enum:
    RELEASE_GIL_FROM = 2048

# Rows between two looks at signals: at most some .1 s, also of the maps that take logarithms.
cdef enum:
    SIGNALS_EVERY = 1 << 21

cdef uint64_t fresh_key(uint64_t draw_seed, uint64_t *n_draws) noexcept
cdef double number_of(score) except? -1.0
cdef uint64_t key_of(key) except? -1
cdef bint is_fast(scores, keys)
cdef object pieces_of(scores, keys, nan)
cdef object check_out(out, int typenum, cnp.npy_intp length)
cdef bint describe_call(fastbin_rows *rows, scores, keys, seed, nan) except -1
cdef int describe_piece(fastbin_rows *rows, piece, keys, seed, nan, size_t first_row) except -1
cdef fastbin_rows part_of(const fastbin_rows *rows, size_t first) noexcept
cdef void *row_at(cnp.ndarray result, cnp.npy_intp row) noexcept
