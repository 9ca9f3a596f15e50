# Groups of equal scores at ranks of sorted rows, and the digests that are made of them.
#
# A digest covers the seed and what was seen, and seeds whatever a fit draws: under the seed alone equal counts would be divided
# in the same way every time.

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


cdef inline bint is_good(double score, uint8_t label, double low, double high) noexcept nogil:
    """Whether a row may be packed. NaN is not."""
    return (score >= low) & (score <= high) & (label <= 1)


cdef inline uint64_t pack(double score, uint8_t label) noexcept nogil:
    """A score from 0 on and its label as one integer that orders like the score, label 1 first."""
    cdef uint64_t word
    cdef double canonical = score + 0.0  # -0.0 and 0.0 are one score
    memcpy(&word, &canonical, sizeof(word))
    return (word << 1) | (label ^ 1)


cdef Groups groups_of(score, below, below_ones, equal, equal_ones) except *:
    """The columns must outlive what is made of them."""
    cdef Groups groups
    memset(&groups, 0, sizeof(groups))
    groups.n_ranks = len(score)
    if not groups.n_ranks == len(below) == len(below_ones) == len(equal) == len(equal_ones):
        raise InputError("groups must have columns of one length")
    groups.score, groups.below, groups.below_ones = doubles(score), integers(below), integers(below_ones)
    groups.equal, groups.equal_ones = integers(equal), integers(equal_ones)
    return groups


def group_digest(uint64_t seed, scores, below, below_ones, counts, ones):
    """int: the digest that seeds the keys of a fit whose boundaries are ranks of all samples.

    One entry per boundary, ascending: its score, the samples with a lower score and those of them with label 1, the samples
    with this score and those of them with label 1. Entries of one score are one group. O(n_bins) time.
    """
    cdef Groups groups = groups_of(scores, below, below_ones, counts, ones)
    return digest_groups(seed, &groups)


cdef uint64_t digest_groups(uint64_t seed, const Groups *groups) noexcept nogil:
    cdef Py_ssize_t i, n_groups = 0
    cdef uint64_t state = 0, word
    cdef double score
    for i in range(groups.n_ranks):
        n_groups += i == 0 or groups.score[i] != groups.score[i - 1]
    state = chain(chain(state, seed), <uint64_t>n_groups)
    for i in range(groups.n_ranks):
        if i == 0 or groups.score[i] != groups.score[i - 1]:
            score = groups.score[i] + 0.0  # -0.0 and 0.0 are one score
            memcpy(&word, &score, sizeof(word))
            state = chain(chain(chain(state, word), <uint64_t>groups.below[i]), <uint64_t>groups.below_ones[i])
            state = chain(chain(state, <uint64_t>groups.equal[i]), <uint64_t>groups.equal_ones[i])
    return state


def group_fingerprint(scores, below, below_ones, counts, ones, int64_t n_samples, int64_t n_positive):
    """int: the fingerprint of a fit whose edges are at these groups, as in `group_digest`; 0 where there is none."""
    cdef Groups groups = groups_of(scores, below, below_ones, counts, ones)
    groups.n_samples, groups.n_positive = n_samples, n_positive
    return fingerprint_groups(&groups)


cdef uint64_t fingerprint_groups(const Groups *groups) noexcept nogil:
    cdef uint64_t fingerprint
    if groups.n_ranks == 0:
        return 0
    fingerprint = digest_groups(chain(chain(0, <uint64_t>groups.n_samples), <uint64_t>groups.n_positive), groups)
    return 1 if fingerprint == 0 else fingerprint


def n_tied(scores, sizes):
    """int: samples in groups of two or more equal scores at cuts; `scores` of the cuts, in order, and sizes of their groups."""
    return count_tied(doubles(scores), integers(sizes), len(scores))


cdef int64_t count_tied(const double *score, const int64_t *equal, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef int64_t total = 0
    for i in range(n):
        if equal[i] >= 2 and (i == 0 or score[i] != score[i - 1]):
            total += equal[i]
    return total


def pack_rows(scores, labels, double low, double high):
    """uint64 (n,): each score and its label as one integer that orders like the score, label 1 first; for scores from 0 on.

    None where a score is NaN or outside [low, high], or a label is neither 0 nor 1. O(n) time.
    """
    cdef Py_ssize_t i, n_good = 0, n = len(scores)
    cdef const double *score = doubles(scores)
    cdef const uint8_t *label = bytes_in(labels)
    cdef cnp.ndarray packed = new_array(cnp.NPY_UINT64, n)
    cdef uint64_t *filled = <uint64_t *>cnp.PyArray_DATA(packed)
    with nogil:
        for i in range(n):
            n_good += is_good(score[i], label[i], low, high)
            filled[i] = pack(score[i], label[i])
    return packed if n_good == n else None


def groups_at_ranks(packed, ranks):
    """The groups of equal scores at ascending ranks, from 1, of sorted packed rows. O(n) time.

    Returns
    -------
    scores : float64 (m,)
    columns : int64 (4, m)
        Rows with a lower score, those of them with label 1, rows with this score, those of them with label 1.
    n_ones : int
        All rows with label 1.
    """
    cdef Py_ssize_t n = len(packed), m = len(ranks)
    cdef int64_t n_ones = 0
    cdef const uint64_t *row = words(packed)
    cdef const int64_t *rank = integers(ranks)
    cdef cnp.ndarray scores = new_array(cnp.NPY_FLOAT64, m), columns = new_array(cnp.NPY_INT64, 4, m)
    cdef double *score = <double *>cnp.PyArray_DATA(scores)
    cdef int64_t *column = <int64_t *>cnp.PyArray_DATA(columns)
    with nogil:
        n_ones = find_groups(row, n, rank, m, score, column, column + m, column + 2 * m, column + 3 * m)
    return scores, columns, n_ones


cdef int64_t find_groups(
    const uint64_t *packed, Py_ssize_t n, const int64_t *ranks, Py_ssize_t n_ranks, double *score, int64_t *below,
    int64_t *below_ones, int64_t *equal, int64_t *equal_ones,
) noexcept nogil:
    """The same; what it returns are all rows with label 1."""
    cdef Py_ssize_t i, first, row = 0
    cdef int64_t n_ones = 0, before = 0, before_ones = 0
    cdef uint64_t word = 0
    for i in range(n_ranks):
        if row < ranks[i]:  # the rank lies beyond the group before
            first = ranks[i] - 1
            word = packed[first] >> 1
            while first > row and packed[first - 1] >> 1 == word:
                first -= 1
            before, before_ones = first, n_ones + count_ones(packed + row, first - row)
            row = ranks[i]
            while row < n and packed[row] >> 1 == word:
                row += 1
            n_ones = before_ones + count_ones(packed + first, row - first)
        memcpy(&score[i], &word, sizeof(word))
        below[i], below_ones[i], equal[i], equal_ones[i] = before, before_ones, row - before, n_ones - before_ones
    return n_ones + count_ones(packed + row, n - row)


cdef int64_t count_ones(const uint64_t *packed, Py_ssize_t n) noexcept nogil:
    """Rows with label 1."""
    cdef Py_ssize_t i
    cdef uint64_t n_zeros = 0
    for i in range(n):
        n_zeros += packed[i] & 1
    return n - <int64_t>n_zeros
