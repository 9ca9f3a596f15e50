# The steps of a certified fit: their edges where every score has a step of its own, and how many samples lie in each.


cdef int64_t most_steps_of_all = _ranks.MOST_STEPS


def step_ranks(int64_t n, int64_t n_bins, bint is_fine=False):
    """The ranks, from 1, ascending, of the samples that cut n samples into the steps of a two-resolution model; int64 (m,).

    Among them are all ranks of `boundary_ranks` for "umd". Between two of these, and before and after them, the samples are cut
    into m steps of nearly equal size: the j-th begins at position floor(j N / m) of N, from 0, the lower boundary sample
    included. m = max(1, min(1000 div B, samples strictly between the boundaries)).

    Where steps are fine, all samples bound their masses, unless scores without labels make these more than 1,000. O(m).
    """
    cdef int64_t share = (n + 1) // n_bins, rest = (n + 1) % n_bins, b, j, start = 0, end = 0, steps, place, left
    cdef Py_ssize_t n_ranks = 0
    if is_fine and n <= most_steps_of_all:
        return np.arange(1, n + 1)
    cdef cnp.ndarray ranks = new_array(cnp.NPY_INT64, max(most_steps_of_all, n_bins))
    cdef int64_t *rank = <int64_t *>cnp.PyArray_DATA(ranks)
    for b in range(1, n_bins + 1):
        start, end = end, n if b == n_bins else b * share + (b * rest + n_bins - 1) // n_bins - 1
        steps = max(1, min(most_steps_of_all // n_bins, end - start - (b > 1)))
        place, left = start, 0
        for j in range(steps):
            if b > 1 or j > 0:
                rank[n_ranks] = place + 1
                n_ranks += 1
            place, left = place + (end - start) // steps, left + (end - start) % steps
            if left >= steps:
                place, left = place + 1, left - steps
    return ranks[:n_ranks]


cdef inline double middle_of(double low, double high) noexcept nogil:
    """The middle of two scores, the upper of which it is if they are neighbouring doubles."""
    cdef double middle = 0.5 * low + 0.5 * high
    return middle if middle > low else high


cdef Py_ssize_t merge_into(
    const double *score, Py_ssize_t n, const double *place, Py_ssize_t n_places, const double *bin_edge, Py_ssize_t n_bin_edges,
    double low, double high, double *edge, double *stands,
) noexcept nogil:
    """As `merge_edges`, whose arrays have room for all; how many edges there are."""
    cdef Py_ssize_t i = 1, j = 0, k = 0, n_edges = 0
    cdef double least
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
    return n_edges


def merge_edges(scores, places, bin_edges, double low, double high):
    """The edges of fine steps around ascending scores, above `low` and up to `high`, and the score that stands for each step.

    Edges are the middles between neighbouring scores, the places and the edges of the bins, three ascending columns; each once,
    0.0 for -0.0. A step that holds one of the scores is represented by it, any other by its middle; the lowest by the double
    below its edge, the highest by its edge, as nobody knows how far these go. At least one score, and no NaN. O(n).
    """
    cdef Py_ssize_t n = len(scores), n_edges, most = len(scores) - 1 + len(places) + len(bin_edges)
    if n == 0:
        raise InputError("fine steps need a score")
    cdef cnp.ndarray found = new_array(cnp.NPY_FLOAT64, most), standing = new_array(cnp.NPY_FLOAT64, most + 1)
    n_edges = merge_into(
        doubles(scores), n, doubles(places), len(places), doubles(bin_edges), len(bin_edges), low, high,
        <double *>cnp.PyArray_DATA(found), <double *>cnp.PyArray_DATA(standing))
    return found[:n_edges].copy(), standing[: n_edges + 1].copy()


cdef void tally_into(const Groups *groups, const double *edge, Py_ssize_t n_edges, int64_t *count, int64_t *one) noexcept nogil:
    """As `tally_between`, where groups are all scores that lie near an edge."""
    cdef Py_ssize_t i = 0, j
    cdef int64_t samples = 0, positive = 0, before = 0, before_ones = 0
    for j in range(n_edges + 1):
        while j < n_edges and i < groups.n_ranks and groups.score[i] < edge[j]:
            i += 1
        samples, positive = groups.n_samples, groups.n_positive
        if j < n_edges and i < groups.n_ranks:
            samples, positive = groups.below[i], groups.below_ones[i]
        count[j], one[j] = samples - before, positive - before_ones
        before, before_ones = samples, positive


def tally_between(given, edges):
    """The samples of the steps that begin at these edges, and those with label 1; int64 (n_edges + 1,).

    `given` is a `BoundaryGroups`, of all scores that lie near an edge. O(n).
    """
    cdef Groups groups = as_groups(given)
    cdef Py_ssize_t n_edges = len(edges)
    cdef cnp.ndarray counts = new_array(cnp.NPY_INT64, n_edges + 1), ones = new_array(cnp.NPY_INT64, n_edges + 1)
    tally_into(
        &groups, doubles(edges), n_edges, <int64_t *>cnp.PyArray_DATA(counts), <int64_t *>cnp.PyArray_DATA(ones))
    return counts, ones


cdef Py_ssize_t cut_into(const Groups *groups, double *edge, double *stands) noexcept nogil:
    """Steps that begin at the groups but the least score's: how many edges. The lower edge stands for a step."""
    cdef Py_ssize_t i, n_edges = 0
    stands[0] = groups.score[0]
    for i in range(groups.n_ranks):
        if groups.below[i] > 0 and (i == 0 or groups.score[i] != groups.score[i - 1]):
            edge[n_edges] = stands[n_edges + 1] = groups.score[i]
            n_edges += 1
    return n_edges


def fit_sorted_in_steps(
    packed, double low, double high, ranks, bin_places, slice_ranks, places, uint64_t seed, int which, int recentre,
    bint monotone, bint are_probabilities, uint32_t most_steps,
):
    """The bins of sorted packed rows and the steps in them, with the values of a map.

    Parameters
    ----------
    packed : ndarray of uint64, shape (n,)
        As `sorted_rows` gives them.
    low, high : float
        The range of scores.
    ranks : ndarray of int64, shape (m,)
        Of all cuts among the samples, from 1, ascending; the least score is one of them.
    bin_places : ndarray of int64, shape (n_bins - 1,)
        Which of them cut bins.
    slice_ranks : ndarray of int64
        Of the samples between slices, as `ranks`; empty for no slices.
    places : ndarray of float64 or None
        Where fine steps begin beside the middles between all scores, ascending; ``None`` where steps begin at the ranks.
    seed : int
    which, recentre, monotone, are_probabilities, most_steps
        As in `fit_steps`.

    Returns
    -------
    (dict, ndarray, ndarray, int)
        Parts of a model; the samples of each step, and those with label 1; the bits of what did not converge.

    Notes
    -----
    O(n).
    """
    cdef Py_ssize_t m = len(ranks)
    cdef cnp.ndarray scratch = new_array(cnp.NPY_INT64, 5, m)
    cdef int64_t *group = <int64_t *>cnp.PyArray_DATA(scratch)
    cdef Groups groups
    memset(&groups, 0, sizeof(groups))
    groups.n_samples, groups.n_ranks = len(packed), m
    find_groups_into(words(packed), integers(ranks), &groups, <double *>(group + 4 * m), group, m)
    parts = evidence_among(packed, &groups, integers(ranks), bin_places, seed, slice_ranks)
    return (parts, *add_steps(parts, &groups, places, low, high, which, recentre, monotone, are_probabilities, most_steps))


cdef dict evidence_among(
    cnp.ndarray packed, const Groups *groups, const int64_t *rank, bin_places, uint64_t seed, slice_ranks,
):
    """The parts of a model for the bins between some of the cuts.

    A tie at any cut makes all of them those of whole ties. The first rank asks for the least score and cuts nothing; where all
    scores are cuts, a tie there has the second rank, too.
    """
    cdef Py_ssize_t i, n_boundaries = len(bin_places), column = len(bin_places) + 1
    cdef const int64_t *place = integers(bin_places)
    cdef cnp.ndarray scratch = new_array(cnp.NPY_INT64, 7, column)
    cdef int64_t *group = <int64_t *>cnp.PyArray_DATA(scratch)
    cdef double *score = <double *>(group + 5 * column)
    cdef int64_t *bin_rank = group + 6 * column
    cdef Groups evidence = groups[0]
    for i in range(n_boundaries):
        bin_rank[i], score[i] = rank[place[i]], groups.score[place[i]]
        group[i], group[column + i] = groups.below[place[i]], groups.below_ones[place[i]]
        group[2 * column + i], group[3 * column + i] = groups.equal[place[i]], groups.equal_ones[place[i]]
    evidence.n_ranks = n_boundaries
    use_columns(&evidence, score, group, column)
    n_tied = count_tied(groups.score + 1, groups.equal + 1, groups.n_ranks - 1)
    return parts_of_run(packed, &evidence, bin_rank, True, seed, n_tied, score, group, column, slice_ranks, groups)


cdef tuple add_steps(
    dict parts, const Groups *groups, places, double low, double high, int which, int recentre, bint monotone,
    bint are_probabilities, uint32_t most_steps,
):
    """Add the steps and their values to the parts of a model; returns the other results of `fit_sorted_in_steps`."""
    cdef cnp.ndarray bin_edges = parts["edges"], bin_counts = parts["counts"], bin_ones = parts["label_sums"]
    cdef Py_ssize_t i, n_edges, n_bins = len(bin_counts), step = 0
    cdef Py_ssize_t most = groups.n_ranks + (0 if places is None else len(places) + n_bins - 1)
    cdef cnp.ndarray edges = new_array(cnp.NPY_FLOAT64, most), values = new_array(cnp.NPY_FLOAT64, most)
    cdef cnp.ndarray tally = new_array(cnp.NPY_INT64, 2, most), first_step = np.zeros(n_bins, np.int64)
    cdef cnp.ndarray scratch = new_array(cnp.NPY_FLOAT64, 3 * most + 2 * n_bins)
    cdef double *edge = <double *>cnp.PyArray_DATA(edges)
    cdef double *stands = <double *>cnp.PyArray_DATA(scratch)
    cdef const double *bin_edge = <const double *>cnp.PyArray_DATA(bin_edges)
    cdef int64_t *counts = <int64_t *>cnp.PyArray_DATA(tally)
    cdef int64_t *starts = <int64_t *>cnp.PyArray_DATA(first_step)
    cdef map_cells cells
    cdef step_bins bins
    if places is None:
        n_edges = cut_into(groups, edge, stands)
    else:
        n_edges = merge_into(
            groups.score, groups.n_ranks, doubles(places), len(places), bin_edge, n_bins - 1, low, high, edge, stands)
    tally_into(groups, edge, n_edges, counts, counts + most)
    for i in range(n_bins - 1):
        while step < n_edges and edge[step] < bin_edge[i]:
            step += 1
        starts[i + 1] = step + 1
    cells.n, cells.scores = n_edges + 1, stands
    cells.counts = as_doubles(counts, cells.n, stands + most)
    cells.ones = as_doubles(counts + most, cells.n, stands + 2 * most)
    cells.rows, cells.are_probabilities, cells.most_steps = groups.n_samples, are_probabilities, most_steps
    cells.look = look_at_signals
    bins.n, bins.first_step = n_bins, starts
    bins.counts = as_doubles(<const int64_t *>cnp.PyArray_DATA(bin_counts), n_bins, stands + 3 * most)
    bins.ones = as_doubles(<const int64_t *>cnp.PyArray_DATA(bin_ones), n_bins, stands + 3 * most + n_bins)
    wrong = fit_in_bins(which, recentre, monotone, &cells, &bins, <double *>cnp.PyArray_DATA(values))
    parts["values"] = values[: n_edges + 1]
    if n_edges >= n_bins:  # else each bin is one step
        parts["edges"], parts["first_step"], parts["step_counts"] = edges[:n_edges], first_step, tally[0, : n_edges + 1]
    return tally[0, : n_edges + 1], tally[1, : n_edges + 1], wrong


cdef const double *as_doubles(const int64_t *counts, Py_ssize_t n, double *filled) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        filled[i] = <double>counts[i]
    return filled
