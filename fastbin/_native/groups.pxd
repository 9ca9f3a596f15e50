"""Groups of equal scores, for the other extensions."""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy


# One entry for each boundary, ascending: entries of one score are one group.
cdef struct Groups:
    Py_ssize_t n_ranks
    const double *score
    const int64_t *below  # samples with a lower score
    const int64_t *below_ones  # those of them with label 1
    const int64_t *equal  # samples with this score
    const int64_t *equal_ones
    int64_t n_samples
    int64_t n_positive


# The columns must outlive what is made of them.
cdef Groups groups_of(
    const double[::1] score, const int64_t[::1] below, const int64_t[::1] below_ones, const int64_t[::1] equal,
    const int64_t[::1] equal_ones,
) except *
cdef uint64_t fingerprint_groups(const Groups *groups) noexcept nogil
cdef int64_t count_tied(const double *score, const int64_t *equal, Py_ssize_t n) noexcept nogil
cdef uint64_t digest_groups(uint64_t seed, const Groups *groups) noexcept nogil
cdef int64_t find_groups(
    const uint64_t *packed, Py_ssize_t n, const int64_t *ranks, Py_ssize_t n_ranks, double *score, int64_t *below,
    int64_t *below_ones, int64_t *equal, int64_t *equal_ones,
) noexcept nogil


cdef inline bint is_good(double score, uint8_t label, double low, double high) noexcept nogil:
    """Whether a row may be packed. NaN is not."""
    return (score >= low) & (score <= high) & (label <= 1)


cdef inline uint64_t pack(double score, uint8_t label) noexcept nogil:
    """A score from 0 on and its label as one integer that orders like the score, label 1 first."""
    cdef uint64_t word
    cdef double canonical = score + 0.0  # -0.0 and 0.0 are one score
    memcpy(&word, &canonical, sizeof(word))
    return (word << 1) | (label ^ 1)
