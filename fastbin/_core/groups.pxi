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


ctypedef fused score_type:
    float
    double

# Integers are read as unsigned ones, and bool as one of 8 bits: what is neither 0 nor 1 is more than 1.
ctypedef fused label_type:
    uint8_t
    uint32_t
    uint64_t
    float
    double


cdef inline bint is_good(double score, uint8_t label, double low, double high) noexcept nogil:
    """Whether a row may be packed. NaN is not."""
    return (score >= low) & (score <= high) & (label <= 1)


cdef inline uint64_t pack(double score, uint64_t label) noexcept nogil:
    """A score from 0 on and its label as one integer that orders like the score, label 1 first."""
    cdef uint64_t word
    memcpy(&word, &score, sizeof(word))
    return (word << 1) | (label ^ 1)  # the sign is shifted out: -0.0 and 0.0 are one score


cdef Py_ssize_t pack_all(
    const score_type *scores, const label_type *labels, Py_ssize_t n, double low, double high, uint64_t *packed,
) noexcept nogil:
    """How many rows are good."""
    cdef Py_ssize_t i, n_good = 0
    cdef uint64_t excess = 0
    cdef double score
    for i in range(n):
        score = scores[i]
        if label_type is float or label_type is double:
            n_good += (score >= low) & (score <= high) & ((labels[i] == 0.0) | (labels[i] == 1.0))
            packed[i] = pack(score, labels[i] == 1.0)
        elif label_type is uint8_t:
            n_good += is_good(score, labels[i], low, high)
            packed[i] = pack(score, labels[i])
        else:  # without comparisons of long integers, which few registers have
            n_good += (score >= low) & (score <= high)
            excess |= <uint64_t>labels[i] >> 1
            packed[i] = pack(score, <uint64_t>labels[i] & 1)
    return n_good if excess == 0 else -1


cdef Py_ssize_t pack_labels(
    const score_type *scores, cnp.ndarray labels, double low, double high, uint64_t *packed,
) noexcept:
    """The same for labels of any of these types; -1 for others."""
    cdef Py_ssize_t n = cnp.PyArray_DIM(labels, 0), n_good = -1, size = cnp.PyArray_ITEMSIZE(labels)
    cdef bint are_floats = cnp.PyArray_ISFLOAT(labels)
    cdef const void *label = cnp.PyArray_DATA(labels)
    with nogil:
        if are_floats and size == 8:
            n_good = pack_all(scores, <const double *>label, n, low, high, packed)
        elif are_floats and size == 4:
            n_good = pack_all(scores, <const float *>label, n, low, high, packed)
        elif size == 1:
            n_good = pack_all(scores, <const uint8_t *>label, n, low, high, packed)
        elif size == 4 and not are_floats:
            n_good = pack_all(scores, <const uint32_t *>label, n, low, high, packed)
        elif size == 8 and not are_floats:
            n_good = pack_all(scores, <const uint64_t *>label, n, low, high, packed)
    return n_good


cdef bint is_column(array, Py_ssize_t n) noexcept:
    """Whether this is an array of so many numbers, or bools, that C reads as it is."""
    return (
        cnp.PyArray_CheckExact(array) and cnp.PyArray_NDIM(array) == 1 and cnp.PyArray_DIM(array, 0) == n
        and cnp.PyArray_ISCARRAY_RO(array)
        and (cnp.PyArray_ISBOOL(array) or cnp.PyArray_ISINTEGER(array) or cnp.PyArray_ISFLOAT(array))
    )


def are_plain(scores, labels):
    """Whether scores and labels are arrays of one length, and not empty, that C reads as they are."""
    cdef Py_ssize_t n
    if not (cnp.PyArray_CheckExact(scores) and cnp.PyArray_NDIM(scores) == 1):
        return False
    n = cnp.PyArray_DIM(scores, 0)
    return n > 0 and is_column(scores, n) and is_column(labels, n) and (
        cnp.PyArray_TYPE(scores) == cnp.NPY_FLOAT64 or cnp.PyArray_TYPE(scores) == cnp.NPY_FLOAT32)


cdef cnp.ndarray packed_and_sorted(scores, labels, double low, double high):
    """As `sorted_rows`."""
    cdef Py_ssize_t n = len(scores), n_good = -1
    cdef cnp.ndarray packed
    cdef uint64_t *filled
    if not (low >= 0.0 and is_column(scores, n) and is_column(labels, n)):
        return None
    packed = new_array(cnp.NPY_UINT64, n)
    filled = <uint64_t *>cnp.PyArray_DATA(packed)
    if cnp.PyArray_TYPE(scores) == cnp.NPY_FLOAT64 and cnp.PyArray_ITEMSIZE(labels) == 1:  # the usual rows
        n_good = n if fastbin_pack_rows(
            <const double *>cnp.PyArray_DATA(scores), <const uint8_t *>cnp.PyArray_DATA(labels), n, low, high, filled) else -1
    elif cnp.PyArray_TYPE(scores) == cnp.NPY_FLOAT64:
        n_good = pack_labels(<const double *>cnp.PyArray_DATA(scores), <cnp.ndarray>labels, low, high, filled)
    elif cnp.PyArray_TYPE(scores) == cnp.NPY_FLOAT32:
        n_good = pack_labels(<const float *>cnp.PyArray_DATA(scores), <cnp.ndarray>labels, low, high, filled)
    if n_good < n:
        return None
    sort_packed(filled, n, type_to_sort(high))
    return packed


def sorted_rows(scores, labels, double low, double high):
    """uint64 (n,): each score and its label as one integer that orders like the score, label 1 first, sorted.

    For contiguous float64 or float32 scores and labels of any usual type; ``None`` for others, where scores may be negative,
    and where a score is NaN or outside [low, high], or a label is neither 0 nor 1. O(n log n) time.
    """
    return packed_and_sorted(scores, labels, low, high)


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
        n_ones = find_groups(row, n, rank, m, score, column, column + m, column + 2 * m, column + 3 * m, NULL)
    return scores, columns, n_ones


cdef int64_t find_groups(
    const uint64_t *packed, Py_ssize_t n, const int64_t *ranks, Py_ssize_t n_ranks, double *score, int64_t *below,
    int64_t *below_ones, int64_t *equal, int64_t *equal_ones, const Groups *known,
) noexcept nogil:
    """The same; what it returns are all rows with label 1.

    `known` are groups of these rows, ascending, or NULL: rows below them are not counted again.
    """
    cdef Py_ssize_t i, first, k = 0, n_known = 0 if known == NULL else known.n_ranks, row = 0
    cdef int64_t n_ones = 0, before = 0, before_ones = 0
    cdef uint64_t word = 0
    for i in range(n_ranks):
        if row < ranks[i]:  # the rank lies beyond the group before
            first = ranks[i] - 1
            while k < n_known and known.below[k] <= first:
                if known.below[k] > row:
                    row, n_ones = known.below[k], known.below_ones[k]
                k += 1
            word = packed[first] & ~<uint64_t>1  # with label 1; its last bit is 1 for label 0
            before = first_not_below(packed, word, row, first, -1)
            before_ones = n_ones + count_ones(packed + row, before - row)
            n_ones = before_ones + first_not_below(packed, word | 1, before, n, 1) - before
            row = first_not_below(packed, word + 2, first + 1, n, 1)
        word >>= 1
        memcpy(&score[i], &word, sizeof(word))
        word <<= 1
        below[i], below_ones[i], equal[i], equal_ones[i] = before, before_ones, row - before, n_ones - before_ones
    return n_ones + count_ones(packed + row, n - row) if known == NULL else known.n_positive


cdef inline Py_ssize_t first_not_below(
    const uint64_t *packed, uint64_t word, Py_ssize_t low, Py_ssize_t high, int direction,
) noexcept nogil:
    """The first of the sorted rows low ... high - 1 that is not below `word`, or `high`.

    Looks at one row beside the low end (direction 1) or the high end (-1), then 2, 4, ... away: O(log of the distance).
    """
    cdef Py_ssize_t step = 1, middle, n
    while low < high:
        middle = min(low + step, high) - 1 if direction > 0 else max(high - step, low)
        if packed[middle] < word:
            low = middle + 1
            if direction < 0:
                break
        else:
            high = middle
            if direction > 0:
                break
        step *= 2
    # By bisection without a branch, which no processor would foresee.
    n = high - low
    while n > 1:
        step = n >> 1
        low += step * (packed[low + step - 1] < word)
        n -= step
    return low + (n == 1 and packed[low] < word)


cdef enum:
    FEW_ROWS = 256  # for which to ask what the processor can do takes as long as the counting


cdef int64_t count_ones(const uint64_t *packed, Py_ssize_t n) noexcept nogil:
    """Rows with label 1."""
    cdef Py_ssize_t i
    cdef uint64_t n_zeros = 0
    if n > FEW_ROWS:
        return fastbin_count_ones(packed, n)
    for i in range(n):
        n_zeros += packed[i] & 1
    return n - <int64_t>n_zeros
