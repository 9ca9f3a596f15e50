# Bins between whole groups of equal scores: which boundaries become edges, and what the bins count.
#
# The rule is told in fastbin/_fit/edges.py. It stands here alone, for one sample and for many segments (segments.pxi).

cdef str TOO_MANY_TIED = "a score at a boundary is shared by more than 2**53 samples, of which none can be drawn"


cdef Py_ssize_t keep_edges(const Groups *groups, const int64_t *ranks, int64_t *kept) noexcept nogil:
    """Which boundaries become edges, ascending, and how many.

    From the highest down, with A samples below the last edge (all at first): a boundary of rank k is skipped if k > A, or if
    its bin would reach from rank k to A and hold less than three quarters of the ranks up to the next boundary.
    """
    cdef Py_ssize_t b, m = groups.n_ranks, first = m
    cdef int64_t left = groups.n_samples, next_rank = groups.n_samples + 1
    for b in range(m - 1, -1, -1):
        if ranks[b] <= left and 4 * (left - ranks[b] + 1) >= 3 * (next_rank - ranks[b]):
            first -= 1
            kept[first] = b
            left = groups.below[b]
        next_rank = ranks[b]
    memmove(kept, kept + first, (m - first) * sizeof(int64_t))
    return m - first


cdef Py_ssize_t place_bins(
    const Groups *placing, const int64_t *ranks, const Groups *everyone, int64_t n_tied, bint leaves_out, uint64_t digest,
    int64_t *kept, int64_t *counts, int64_t *label_sums, int64_t *ties, int64_t *atoms,
) noexcept nogil:
    """How many edges there are; -1 where a group has too many samples to draw from.

    `placing` are the groups at the ranks, among the samples that place the edges, `everyone` the same groups among all that
    are counted. Filled are `kept`, the boundaries that are edges, and for the bins, one more, their counts and label sums and,
    where samples are tied, their r, f and y in `ties`, and the samples at their edges and those with label 1 in `atoms`.
    Without ties every boundary is an edge. `leaves_out`: the sample at an edge is not counted; otherwise it is counted above
    the edge where scores are tied, and below it where they are not (Gupta & Ramdas 2021, Corollary 1).
    """
    cdef Py_ssize_t i, b, n_edges
    cdef int64_t start = 0, start_ones = 0, end = 0, end_ones = 0
    if n_tied == 0:
        for b in range(everyone.n_ranks + 1):
            if b == everyone.n_ranks:
                counts[b], label_sums[b] = everyone.n_samples - start, everyone.n_positive - start_ones
                return everyone.n_ranks
            kept[b] = b
            end, end_ones = everyone.below[b] + everyone.equal[b], everyone.below_ones[b] + everyone.equal_ones[b]
            counts[b] = (everyone.below[b] if leaves_out else end) - start
            label_sums[b] = (everyone.below_ones[b] if leaves_out else end_ones) - start_ones
            start, start_ones = end, end_ones
    n_edges = keep_edges(placing, ranks, kept)
    ties[0] = ties[1] = ties[2] = atoms[0] = atoms[1] = 0
    for i in range(n_edges + 1):
        if i == n_edges:
            end, end_ones = everyone.n_samples, everyone.n_positive
        else:
            b = kept[i]
            end, end_ones = everyone.below[b], everyone.below_ones[b]
            ties[3 * i + 3] = ranks[b] - placing.below[b]
            atoms[2 * i + 2], atoms[2 * i + 3] = everyone.equal[b], everyone.equal_ones[b]
            if fastbin_draw_labels(
                digest, placing.score[b], placing.equal[b], placing.equal_ones[b], ties[3 * i + 3], &ties[3 * i + 4],
                &ties[3 * i + 5],
            ) != FASTBIN_OK:
                return -1
        counts[i], label_sums[i] = end - start, end_ones - start_ones
        if leaves_out:
            counts[i], label_sums[i] = counts[i] - (ties[3 * i] > 0), label_sums[i] - ties[3 * i + 2]
        start, start_ones = end, end_ones
    if n_edges and placing.below[kept[0]] == 0:
        # Nothing lies below the lowest edge: it is not written, and what it would bound from below is the lowest bin.
        memmove(kept, kept + 1, (n_edges - 1) * sizeof(int64_t))
        memmove(counts, counts + 1, n_edges * sizeof(int64_t))
        memmove(label_sums, label_sums + 1, n_edges * sizeof(int64_t))
        memmove(ties, ties + 3, 3 * n_edges * sizeof(int64_t))
        memmove(atoms, atoms + 2, 2 * n_edges * sizeof(int64_t))
        n_edges -= 1
    return n_edges


cdef Groups as_groups(given) except *:
    """The parts of a `BoundaryGroups`, which must outlive this."""
    cdef Groups groups = groups_of(given[0], given[1], given[2], given[3], given[4])
    groups.n_samples, groups.n_positive = given[5], given[6]
    return groups


def bins_of_groups(placing, ranks, everyone, int64_t n_tied, bint leaves_out, uint64_t digest):
    """The bins between the groups of equal scores at ascending ranks.

    Parameters
    ----------
    placing, everyone : BoundaryGroups
        The groups among the samples that place the edges, and among all that are counted.
    ranks : int64 (m,)
        The boundaries, from 1, among the samples that place the edges.
    n_tied : int
        The samples that share a score with a boundary; 0 where every boundary is an edge.
    leaves_out : bool
        Whether one sample at each edge is not counted.
    digest : int
        What seeds the draw of tied labels.

    Returns
    -------
    kept : int64
        The boundaries that are edges: positions, ascending.
    counts, label_sums : int64, one entry more
    tie_counts : int64 (bins, 3)
        r, f and y of each bin; zeros without ties.
    atom_counts : int64 (bins, 2)
        The samples at the edge of each bin and those of them with label 1; zeros without ties.

    Notes
    -----
    O(m), and one number drawn per edge.
    """
    cdef Groups first = as_groups(placing), every = as_groups(everyone)
    cdef Py_ssize_t m = len(ranks), n_edges
    cdef cnp.ndarray kept, tally, tie_counts, atom_counts = np.zeros((m + 1, 2), np.int64)
    cdef int64_t *sums
    if first.n_ranks != m or every.n_ranks != m:
        raise InputError("there must be one group for each rank")
    kept, tally, tie_counts = new_array(cnp.NPY_INT64, m), new_array(cnp.NPY_INT64, 2, m + 1), np.zeros((m + 1, 3), np.int64)
    sums = <int64_t *>cnp.PyArray_DATA(tally)
    n_edges = place_bins(
        &first, integers(ranks), &every, n_tied, leaves_out, digest, <int64_t *>cnp.PyArray_DATA(kept), sums, sums + m + 1,
        <int64_t *>cnp.PyArray_DATA(tie_counts), <int64_t *>cnp.PyArray_DATA(atom_counts))
    if n_edges < 0:
        raise InputError(TOO_MANY_TIED)
    n_bins = n_edges + 1
    return kept[:n_edges], tally[0, :n_bins], tally[1, :n_bins], tie_counts[:n_bins], atom_counts[:n_bins]


cdef int deal_slices(const Groups *groups, const int64_t *ranks, uint64_t seed, int64_t *label_sums) noexcept nogil:
    """The samples with label 1 strictly between the samples of these ranks; -1 where a group has too many to draw from.

    Samples that share a score stand in a random order: a cut takes a draw of those left over by the cuts before it. Seeded by a
    digest of the groups at cuts, and by the number of the cut, so that draws from one group are independent.
    """
    cdef Py_ssize_t b
    cdef uint64_t digest = digest_groups(seed, groups)
    cdef int64_t taken = 0, passed = 0, chosen = 0, f = 0, y = 0, start = 0
    for b in range(groups.n_ranks):
        if b == 0 or groups.below[b] != groups.below[b - 1]:
            taken = passed = 0
        chosen = ranks[b] - groups.below[b] - taken
        if groups.equal[b] == 1:
            f = y = groups.equal_ones[b]
        elif fastbin_draw_labels(
            chain(digest, <uint64_t>b), groups.score[b], groups.equal[b] - taken, groups.equal_ones[b] - passed, chosen, &f, &y,
        ) != FASTBIN_OK:
            return -1
        taken, passed = taken + chosen, passed + f
        label_sums[b] = groups.below_ones[b] + passed - y - start
        start = groups.below_ones[b] + passed
    label_sums[groups.n_ranks] = groups.n_positive - start
    return 0


def slices_of_groups(given, ranks, uint64_t seed):
    """int64 (m + 1,): the samples with label 1 strictly between those of m ranks, whose groups these are.

    `given` is a `BoundaryGroups`, `ranks` int64 (m,), ascending and different, one in each group. O(m), and one number drawn a
    cut among equal scores.
    """
    cdef Groups groups = as_groups(given)
    cdef cnp.ndarray label_sums = new_array(cnp.NPY_INT64, groups.n_ranks + 1)
    if groups.n_ranks != len(ranks):
        raise InputError("there must be one group for each rank")
    if deal_slices(&groups, integers(ranks), seed, <int64_t *>cnp.PyArray_DATA(label_sums)) < 0:
        raise InputError(TOO_MANY_TIED)
    return label_sums


cdef int find_slices(
    const uint64_t *packed, Py_ssize_t n, const int64_t *ranks, Py_ssize_t n_ranks, uint64_t seed, int64_t *group,
    double *cuts, int64_t *label_sums, const Groups *known,
) noexcept nogil:
    """The same for sorted rows, and the scores of the samples at the ranks. `group` is scratch for 4 n_ranks counts.

    `known` as in `find_groups`.
    """
    cdef Groups groups
    groups.n_ranks, groups.score, groups.n_samples = n_ranks, cuts, n
    groups.below, groups.below_ones = group, group + n_ranks
    groups.equal, groups.equal_ones = group + 2 * n_ranks, group + 3 * n_ranks
    groups.n_positive = find_groups(
        packed, n, ranks, n_ranks, cuts, group, group + n_ranks, group + 2 * n_ranks, group + 3 * n_ranks, known)
    return deal_slices(&groups, ranks, seed, label_sums)


def draw_labels(digest, scores, counts, ones, chosen):
    """For each group of equal scores, how many of `chosen` samples drawn at random have label 1, and the label of one of these.

    For fits with whole ties; FORMAT.md, "Drawn labels", gives the arithmetic, which never changes.

    Parameters
    ----------
    digest : int
        Of the seed and of all boundary groups of the fit, below 2**64.
    scores : float64 (n,)
        The score of each group; finite.
    counts, ones, chosen : int64 (n,)
        The samples of each group, how many of these have label 1, and how many are drawn; counts up to 2**53.

    Returns
    -------
    f, y : int64 (n,)
        0 where none is drawn.
    """
    given_scores = np.ascontiguousarray(scores, dtype=np.float64)
    groups = np.stack([np.asarray(given, dtype=np.int64) for given in (counts, ones, chosen)])
    cdef const double *score = doubles(given_scores)
    cdef const int64_t *group = <const int64_t *>data_of(groups, cnp.NPY_INT64, 2)
    cdef uint64_t seed = digest
    cdef Py_ssize_t i, n = len(given_scores)
    cdef cnp.ndarray f = np.zeros(n, np.int64), y = np.zeros(n, np.int64)
    cdef int64_t *f_of = <int64_t *>cnp.PyArray_DATA(f)
    cdef int64_t *y_of = <int64_t *>cnp.PyArray_DATA(y)
    if groups.shape[1] != n:
        raise InputError(f"counts, ones and chosen have {groups.shape[1]} entries, scores {n}; give one of each per group")
    for i in range(n):
        if fastbin_draw_labels(seed, score[i], group[i], group[n + i], group[2 * n + i], &f_of[i], &y_of[i]) != FASTBIN_OK:
            raise InputError(
                f"group {i} with score {score[i]}: {group[2 * n + i]} of {group[i]} samples, {group[n + i]} of them with "
                "label 1, cannot be drawn; scores must be finite, ones and chosen at most the count, and the count at most "
                "2**53"
            )
    return f, y


# ------------------------------------------------------------------ sorted rows


cdef Py_ssize_t fit_run(
    const uint64_t *packed, const int64_t *ranks, bint leaves_out, uint64_t seed, Groups *groups, double *score, int64_t *group,
    Py_ssize_t column, double *edge, int64_t *counts, int64_t *label_sums, int64_t *ties, int64_t *atoms,
    int64_t *n_tied,
) noexcept nogil:
    """The bins of sorted rows, as `place_run`; `groups` has the numbers of samples and ranks."""
    find_groups_into(packed, ranks, groups, score, group, column)
    n_tied[0] = count_tied(groups.score, groups.equal, groups.n_ranks)
    return place_run(
        groups, ranks, leaves_out, seed, n_tied[0], score, group, column, edge, counts, label_sums, ties, atoms)


cdef void find_groups_into(
    const uint64_t *packed, const int64_t *ranks, Groups *groups, double *score, int64_t *group, Py_ssize_t column,
) noexcept nogil:
    """The groups at these ranks of sorted rows, in scratch: `score`, and four columns in `group`, which may have more."""
    use_columns(groups, score, group, column)
    groups.n_positive = find_groups(
        packed, groups.n_samples, ranks, groups.n_ranks, score, group, group + column, group + 2 * column, group + 3 * column,
        NULL)


cdef void use_columns(Groups *groups, double *score, int64_t *group, Py_ssize_t column) noexcept nogil:
    groups.score, groups.below, groups.below_ones = score, group, group + column
    groups.equal, groups.equal_ones = group + 2 * column, group + 3 * column


cdef Py_ssize_t place_run(
    Groups *groups, const int64_t *ranks, bint leaves_out, uint64_t seed, int64_t n_tied, double *score, int64_t *group,
    Py_ssize_t column, double *edge, int64_t *counts, int64_t *label_sums, int64_t *ties, int64_t *atoms,
) noexcept nogil:
    """The bins between groups of all samples, as `place_bins`, with their edges.

    The groups stand in scratch, `score` and five columns in `group`, of at least as many entries as ranks; those that are edges
    are left there.
    """
    cdef uint64_t digest = digest_groups(seed, groups) if n_tied else 0  # where nothing is drawn, nothing needs a seed
    cdef Py_ssize_t n_edges = place_bins(
        groups, ranks, groups, n_tied, leaves_out, digest, group + 4 * column, counts, label_sums, ties, atoms)
    if n_edges >= 0:
        take_edges(groups, n_edges, score, group, column, edge)
    return n_edges


cdef void take_edges(
    Groups *groups, Py_ssize_t n_edges, double *score, int64_t *group, Py_ssize_t column, double *edge,
) noexcept nogil:
    """Leave the groups that are edges, whose positions are in the fifth column, and write their scores."""
    cdef Py_ssize_t i, b
    cdef int k
    for i in range(n_edges):
        b = group[4 * column + i]
        score[i] = edge[i] = score[b]
        for k in range(4):
            group[k * column + i] = group[k * column + b]
    groups.n_ranks = n_edges


def fit_rows(scores, labels, double low, double high, ranks, bint leaves_out, uint64_t seed, slice_ranks):
    """The bins of rows in memory, between whole groups of equal scores: of scheme "umd" where `leaves_out`, else of "ze".

    Parameters
    ----------
    scores, labels, low, high
        As in `sorted_rows`.
    ranks : ndarray of int64, shape (n_bins - 1,)
        Of the boundaries among all samples, from 1, ascending.
    leaves_out : bool
        Whether one sample at each edge is not counted.
    seed : int
    slice_ranks : ndarray of int64, shape (m,)
        Of the samples between slices, as `ranks`; empty for no slices.

    Returns
    -------
    dict or None
        Parts of a model; ``None`` where `sorted_rows` has none.

    Notes
    -----
    O(n log n).
    """
    cdef cnp.ndarray packed = packed_and_sorted(scores, labels, low, high)
    if packed is None:
        return None
    cdef Py_ssize_t column = len(ranks) + 1
    cdef cnp.ndarray scratch = new_array(cnp.NPY_INT64, 6, column)
    cdef int64_t *group = <int64_t *>cnp.PyArray_DATA(scratch)
    cdef double *score = <double *>(group + 5 * column)
    cdef Groups groups
    memset(&groups, 0, sizeof(groups))
    groups.n_samples, groups.n_ranks = len(packed), len(ranks)
    find_groups_into(words(packed), integers(ranks), &groups, score, group, column)
    n_tied = count_tied(score, groups.equal, groups.n_ranks)
    parts = parts_of_run(
        packed, &groups, integers(ranks), leaves_out, seed, n_tied, score, group, column, slice_ranks, &groups)
    parts["values"] = mean_labels(parts["counts"], parts["label_sums"])
    return parts


cdef dict parts_of_run(
    cnp.ndarray packed, Groups *groups, const int64_t *ranks, bint leaves_out, uint64_t seed, int64_t n_tied, double *score,
    int64_t *group, Py_ssize_t column, slice_ranks, const Groups *known,
):
    """The parts of a model for the bins between these groups, as `place_run`, and for the slices of the rows; no values.

    `known` are groups of these rows, as in `find_groups`.
    """
    cdef Py_ssize_t n_bins = groups.n_ranks + 1, n_cuts = len(slice_ranks), n_edges
    cdef cnp.ndarray tally = new_array(cnp.NPY_INT64, 2, n_bins), edges = new_array(cnp.NPY_FLOAT64, n_bins - 1)
    cdef cnp.ndarray ties = new_array(cnp.NPY_INT64, n_bins, 3), atoms = new_array(cnp.NPY_INT64, n_bins, 2)
    cdef cnp.ndarray cuts = new_array(cnp.NPY_FLOAT64, n_cuts), label_sums = new_array(cnp.NPY_INT64, n_cuts + 1)
    cdef cnp.ndarray of_cuts = new_array(cnp.NPY_INT64, 4, n_cuts)
    cdef int64_t *sums = <int64_t *>cnp.PyArray_DATA(tally)
    n_edges = place_run(
        groups, ranks, leaves_out, seed, n_tied, score, group, column, <double *>cnp.PyArray_DATA(edges), sums, sums + n_bins,
        <int64_t *>cnp.PyArray_DATA(ties), <int64_t *>cnp.PyArray_DATA(atoms))
    if n_edges < 0 or find_slices(
        words(packed), len(packed), integers(slice_ranks), n_cuts, seed, <int64_t *>cnp.PyArray_DATA(of_cuts),
        <double *>cnp.PyArray_DATA(cuts), <int64_t *>cnp.PyArray_DATA(label_sums), known,
    ):
        raise InputError(TOO_MANY_TIED)
    parts = {
        "edges": edges[:n_edges], "counts": tally[0, : n_edges + 1], "label_sums": tally[1, : n_edges + 1],
        "n_samples": groups.n_samples, "n_positive": groups.n_positive, "n_tied": n_tied,
        "ties": "whole" if n_tied else "upper", "fingerprint": fingerprint_groups(groups),
    }  # fmt: skip
    if n_tied:
        parts["tie_counts"], parts["atom_counts"], parts["edges_share"] = ties[: n_edges + 1], atoms[: n_edges + 1], 1.0
    if n_cuts:
        parts["slice_cuts"], parts["slice_label_sums"] = cuts, label_sums
    return parts


cdef cnp.ndarray means_of(const int64_t *counts, const int64_t *label_sums, Py_ssize_t n):
    cdef Py_ssize_t i
    cdef cnp.ndarray means = new_array(cnp.NPY_FLOAT64, n)
    cdef double *mean = <double *>cnp.PyArray_DATA(means)
    for i in range(n):
        mean[i] = <double>label_sums[i] / <double>counts[i] if counts[i] else 0.5
    return means


def mean_labels(counts, label_sums):
    """float64 (n,): the shares of label 1; 0.5 for a count of 0. Both int64 (n,). O(n)."""
    if len(counts) != len(label_sums):
        raise InputError("counts and label_sums must have one length")
    return means_of(integers(counts), integers(label_sums), len(counts))


def lower_half(counts, label_sums):
    """The samples of the lower half of some bins and those with label 1, and both of all bins; int64 (n,). O(n).

    Halves are whole bins, as equal as these allow.
    """
    cdef Py_ssize_t b, n = len(counts)
    cdef const int64_t *count = integers(counts)
    cdef const int64_t *ones = integers(label_sums)
    cdef int64_t all_samples = 0, all_ones = 0, below = 0, below_ones = 0, lower = 0, lower_ones = 0
    if len(label_sums) != n:
        raise InputError("counts and label_sums must have one length")
    for b in range(n):
        all_samples += count[b]
        all_ones += ones[b]
    for b in range(n):
        below += count[b]
        below_ones += ones[b]
        # Up to 2**53 samples: twice as many fit. What is nearer, without `abs`, which would be that of Python.
        if b == 0 or (below - lower > 0 and below + lower < all_samples):
            lower, lower_ones = below, below_ones
    return lower, lower_ones, all_samples, all_ones
