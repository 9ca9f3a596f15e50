"""The needs of fits: groups of equal scores, their order by keys, the bins between them, many segments; pooling; exact sums;
the fits of maps in csrc. And the quotation marks of text files.

C scores and saves (score.pyx), and Numba sorts and counts large inputs (kernels/). The parts below are one extension,
as each of its own would cost the build a run of Cython and of the compiler, and the process an import.
"""

cimport cython
cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, nextafter
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, qsort, realloc
from libc.string cimport memchr, memcpy, memmove, memset

import numpy as np

from fastbin._base.errors import InputError
from fastbin._base import ranks as _ranks

from fastbin._core.cfastbin cimport (
    FASTBIN_OK, fastbin_draw_labels, fastbin_group_key, fastbin_group_keys, fastbin_hash_key, fastbin_row_key,
    fastbin_split_key,
)

cdef extern from "keys.h":
    uint64_t chain(uint64_t state, uint64_t word) noexcept nogil
    uint64_t mix(uint64_t z) noexcept nogil
    uint64_t row_word(double score, uint64_t label, double weight) noexcept nogil

cdef extern from "row_kernels.h":
    bint fastbin_pack_rows(
        const double *scores, const uint8_t *labels, size_t n, double low, double high, uint64_t *packed
    ) noexcept nogil
    bint fastbin_sort_few(uint64_t *packed, size_t n) noexcept nogil
    void fastbin_sort_radix(uint64_t *rows, size_t n, uint64_t *scratch) noexcept nogil
    size_t fastbin_count_ones(const uint64_t *packed, size_t n) noexcept nogil

cdef extern from "cpu.h":
    enum cpu_level:
        AVX512
    cpu_level fastbin_best_cpu_level() noexcept nogil

cnp.import_array()


cdef int look_at_signals() except -1 with gil:
    """Ctrl-C ends the work here."""
    PyErr_CheckSignals()
    return 0


include "arrays.pxi"
include "groups.pxi"
include "sorting.pxi"
include "whole.pxi"
include "ties.pxi"
include "segments.pxi"
include "maps.pxi"
include "vector_maps.pxi"
include "isotonic.pxi"
include "steps.pxi"
include "sums.pxi"
include "quotes.pxi"
