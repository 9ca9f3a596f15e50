# Isotonic regression: pool adjacent violators, and the slopes behind the inductive Venn-Abers predictor.
#
# Samples stand as *knots*: distinct scores in ascending order, each with what was seen there. Counts are integers, and ratios
# of integers are compared exactly (by products of 128 bits), so that blocks of equal means are recognised as such and every
# value is one correctly rounded division. The caller allocates the arrays that are filled, which may not overlap the others.


cdef inline uint64_t high_word(uint64_t a, uint64_t b) noexcept nogil:
    """The upper 64 bits of the product of two unsigned 64-bit integers."""
    cdef uint64_t low_half = 0xFFFFFFFF
    cdef uint64_t a_low = a & low_half, a_high = a >> 32, b_low = b & low_half, b_high = b >> 32
    cdef uint64_t middle = a_high * b_low + ((a_low * b_low) >> 32)
    cdef uint64_t other = a_low * b_high + (middle & low_half)
    return a_high * b_high + (middle >> 32) + (other >> 32)


cdef inline bint at_least(int64_t a, int64_t b, int64_t c, int64_t d) noexcept nogil:
    """Whether a / b >= c / d, exactly, for a and c not negative, b and d positive."""
    cdef uint64_t left, right
    if (a | b | c | d) < (<int64_t>1 << 31):
        return a * d >= c * b
    left, right = high_word(<uint64_t>a, <uint64_t>d), high_word(<uint64_t>c, <uint64_t>b)
    if left != right:
        return left > right
    return <uint64_t>a * <uint64_t>d >= <uint64_t>c * <uint64_t>b


def pool_counts(counts, label_sums, starts, block_counts, block_sums):
    """Pool adjacent violators among knots with positive counts, all int64 (n,). Returns the number of blocks. O(n).

    Block t begins at knot starts[t] and holds block_counts[t] samples, block_sums[t] of them with label 1; the means of
    successive blocks rise strictly. The filled arrays have one entry per knot; those beyond the blocks are unspecified.
    """
    cdef Py_ssize_t knot, n = len(counts), top = -1
    cdef const int64_t *count = integers(counts)
    cdef const int64_t *ones = integers(label_sums)
    cdef int64_t *start = <int64_t *>integers(starts)
    cdef int64_t *samples = <int64_t *>integers(block_counts)
    cdef int64_t *sums = <int64_t *>integers(block_sums)
    require_length(n, label_sums, starts, block_counts, block_sums)
    with nogil:
        for knot in range(n):
            look_now_and_then(knot)
            top += 1
            start[top], samples[top], sums[top] = knot, count[knot], ones[knot]
            while top > 0 and at_least(sums[top - 1], samples[top - 1], sums[top], samples[top]):
                top -= 1
                samples[top] += samples[top + 1]
                sums[top] += sums[top + 1]
    return top + 1


def pool_weights(weights, label_weights, starts, block_weights, block_label_weights):
    """As `pool_counts` for real weights: positive sums of w, and of w y, per knot. Sums and means are rounded doubles."""
    cdef Py_ssize_t n = len(weights)
    cdef cnp.ndarray means = new_array(cnp.NPY_FLOAT64, n)
    cdef pooled_blocks blocks
    cdef size_t n_blocks
    cdef const double *weight = doubles(weights)
    cdef const double *ones = doubles(label_weights)
    require_length(n, label_weights, starts, block_weights, block_label_weights)
    blocks.starts, blocks.means = <int64_t *>integers(starts), <double *>cnp.PyArray_DATA(means)
    blocks.weights, blocks.sums = <double *>doubles(block_weights), <double *>doubles(block_label_weights)
    with nogil:
        n_blocks = fastbin_pool(weight, ones, n, &blocks, look_at_signals)
    end_if_interrupted(n_blocks == <size_t>POOLING_INTERRUPTED)
    return n_blocks


cdef int require_length(Py_ssize_t n, first, second, third, fourth) except -1:
    if not n == len(first) == len(second) == len(third) == len(fourth):
        raise InputError("knots and blocks must be columns of one length")
    return 0


def venn_abers_slopes(counts, sums, numerators, denominators):
    """The value of isotonic regression at each knot once a sample with label 1 has joined it (Vovk & Petej 2014).

    `counts` and `sums` are cumulative over m knots, from 0: m + 1 points of the cumulative sum diagram. Knot i, from 1, gets
    numerators[i - 1] / denominators[i - 1]. All int64. Time and memory O(m).

    The joined sample moves all points from i on by (1, 1); seen from there, points 0 ... i - 1 have moved by (-1, -1). The
    value is the slope of the bridge between the lower hull of these (a stack) and that of points i ... m (each corner links
    to the next). As i grows the slope rises: a point once dropped from the left hull stays out, and the right end of the
    bridge only moves right.
    """
    cdef Py_ssize_t m = len(counts) - 1
    if not m + 1 == len(sums) == len(numerators) + 1 == len(denominators) + 1:
        raise InputError("there must be one point more than knots")
    cdef cnp.ndarray scratch = new_array(cnp.NPY_INT64, 2, m + 1)
    cdef int64_t *next_corner = <int64_t *>cnp.PyArray_DATA(scratch)
    cdef const int64_t *x = integers(counts)
    cdef const int64_t *y = integers(sums)
    cdef int64_t *numerator = <int64_t *>integers(numerators)
    cdef int64_t *denominator = <int64_t *>integers(denominators)
    with nogil:
        link_corners(x, y, m, next_corner)
        bridge_hulls(x, y, m, next_corner, next_corner + m + 1, numerator, denominator)


cdef inline bint is_above_hull(const int64_t *x, const int64_t *y, Py_ssize_t a, Py_ssize_t b, Py_ssize_t c) noexcept nogil:
    """Whether the lower hull passes below point b between a and c: the slope to it is at least that from it."""
    return at_least(y[b] - y[a], x[b] - x[a], y[c] - y[b], x[c] - x[b])


cdef inline bint is_steeper(
    const int64_t *x, const int64_t *y, Py_ssize_t a, Py_ssize_t b, Py_ssize_t c, Py_ssize_t d,
) noexcept nogil:
    """Whether the bridge from a, which has moved by (-1, -1), to b is at least as steep as that from c, moved alike, to d."""
    return at_least(y[b] - y[a] + 1, x[b] - x[a] + 1, y[d] - y[c] + 1, x[d] - x[c] + 1)


cdef int link_corners(const int64_t *x, const int64_t *y, Py_ssize_t m, int64_t *next_corner) except -1 nogil:
    """For each point the next corner of the lower hull of it and those after it."""
    cdef Py_ssize_t b, ahead
    next_corner[m] = -1
    for b in range(m - 1, 0, -1):
        look_now_and_then(b)
        ahead = b + 1
        while next_corner[ahead] != -1 and is_above_hull(x, y, b, ahead, next_corner[ahead]):
            ahead = next_corner[ahead]
        next_corner[b] = ahead
    return 0


cdef int bridge_hulls(
    const int64_t *x, const int64_t *y, Py_ssize_t m, const int64_t *next_corner, int64_t *corners, int64_t *numerator,
    int64_t *denominator,
) except -1 nogil:
    cdef Py_ssize_t i, a, b = 1, top = -1
    cdef bint moved
    for i in range(1, m + 1):
        look_now_and_then(i)
        while top > 0 and is_above_hull(x, y, corners[top - 1], corners[top], i - 1):
            top -= 1
        top += 1
        corners[top] = i - 1
        b = max(b, i)
        moved = True
        while moved:
            moved = False
            a = corners[top]
            while next_corner[b] != -1 and is_steeper(x, y, a, b, a, next_corner[b]):
                b = next_corner[b]
                moved = True
            while top > 0 and is_steeper(x, y, corners[top - 1], b, a, b):
                top -= 1
                a = corners[top]
                moved = True
        numerator[i - 1], denominator[i - 1] = y[b] - y[a] + 1, x[b] - x[a] + 1
    return 0
