# The steps of a certified fit: their edges where every score has a step of its own, and how many samples lie in each.


cdef inline double middle_of(double low, double high) noexcept nogil:
    """The middle of two scores, the upper of which it is if they are neighbouring doubles."""
    cdef double middle = 0.5 * low + 0.5 * high
    return middle if middle > low else high


def merge_edges(scores, places, bin_edges, double low, double high):
    """The edges of fine steps around ascending scores, above `low` and up to `high`, and the score that stands for each step.

    Edges are the middles between neighbouring scores, the places and the edges of the bins, three ascending columns; each once,
    0.0 for -0.0. A step that holds one of the scores is represented by it, any other by its middle; the lowest by the double
    below its edge, the highest by its edge, as nobody knows how far these go. At least one score, and no NaN. O(n).
    """
    cdef Py_ssize_t n = len(scores), n_places = len(places), n_bin_edges = len(bin_edges), i = 1, j = 0, k = 0, n_edges = 0
    cdef const double *score = doubles(scores)
    cdef const double *place = doubles(places)
    cdef const double *bin_edge = doubles(bin_edges)
    cdef cnp.ndarray found, standing
    cdef double *edge
    cdef double *stands
    cdef double least
    if n == 0:
        raise InputError("fine steps need a score")
    found = new_array(cnp.NPY_FLOAT64, n - 1 + n_places + n_bin_edges)
    edge = <double *>cnp.PyArray_DATA(found)
    with nogil:
        while i < n and score[i] == score[i - 1]:
            i += 1
        while True:
            least = INFINITY
            if i < n:
                least = middle_of(score[i - 1], score[i])
            if j < n_places and place[j] < least:
                least = place[j]
            if k < n_bin_edges and bin_edge[k] < least:
                least = bin_edge[k]
            if not least <= high or least == INFINITY:
                break
            if least > low:
                edge[n_edges] = least + 0.0
                n_edges += 1
            while i < n and (score[i] == score[i - 1] or middle_of(score[i - 1], score[i]) <= least):
                i += 1
            while j < n_places and place[j] <= least:
                j += 1
            while k < n_bin_edges and bin_edge[k] <= least:
                k += 1
    standing = new_array(cnp.NPY_FLOAT64, n_edges + 1)
    stands = <double *>cnp.PyArray_DATA(standing)
    with nogil:
        for i in range(1, n_edges):
            stands[i] = middle_of(edge[i - 1], edge[i])
            if not stands[i] < edge[i]:
                stands[i] = edge[i - 1]
        if n_edges:
            stands[0], stands[n_edges] = nextafter(edge[0], -INFINITY), edge[n_edges - 1]
        j = 0
        for i in range(n):
            while j < n_edges and edge[j] <= score[i]:
                j += 1
            stands[j] = score[i]
    return found[:n_edges].copy(), standing


def tally_between(scores, below, below_ones, edges, int64_t n_samples, int64_t n_positive):
    """The samples of the steps that begin at these edges, and those with label 1; int64 (n_edges + 1,).

    `below` and `below_ones` count what lies below each of the ascending scores, which are all that lie near an edge. O(n).
    """
    cdef Py_ssize_t n = len(scores), n_edges = len(edges), i = 0, j
    cdef const double *score = doubles(scores)
    cdef const double *edge = doubles(edges)
    cdef const int64_t *lower = integers(below)
    cdef const int64_t *lower_ones = integers(below_ones)
    cdef cnp.ndarray counts = new_array(cnp.NPY_INT64, n_edges + 1), ones = new_array(cnp.NPY_INT64, n_edges + 1)
    cdef int64_t *count = <int64_t *>cnp.PyArray_DATA(counts)
    cdef int64_t *one = <int64_t *>cnp.PyArray_DATA(ones)
    cdef int64_t samples = 0, positive = 0, before = 0, before_ones = 0
    if len(below) != n or len(below_ones) != n:
        raise InputError("scores, below and below_ones must have one length")
    with nogil:
        for j in range(n_edges + 1):
            while j < n_edges and i < n and score[i] < edge[j]:
                i += 1
            samples, positive = n_samples, n_positive
            if j < n_edges and i < n:
                samples, positive = lower[i], lower_ones[i]
            count[j], one[j] = samples - before, positive - before_ones
            before, before_ones = samples, positive
    return counts, ones
