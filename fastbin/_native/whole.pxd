"""The rule of whole ties, for the other extensions."""

from libc.stdint cimport int64_t, uint64_t

from fastbin._native.groups cimport Groups


cdef Py_ssize_t place_bins(
    const Groups *placing, const int64_t *ranks, const Groups *everyone, int64_t n_tied, bint leaves_out, uint64_t digest,
    int64_t *kept, int64_t *counts, int64_t *label_sums, int64_t *ties,
) noexcept nogil
