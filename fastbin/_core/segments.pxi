# Uniform-mass bins of many segments at once: rows are brought to their segments, and all segments are fitted in one call.
#
# In between, each segment's packed rows are sorted by NumPy.


cdef enum:
    MOST_NUMBERS = 1073741823  # so that numbers are int32, when they have doubled
    SIGNALS_EVERY = 1 << 18  # rows or keys, each of which may cost several misses of the caches

ctypedef fused code_type:
    int32_t
    int64_t


cdef inline int look_now_and_then(Py_ssize_t row) except -1 nogil:
    """At signals, once in many rows."""
    if row & (SIGNALS_EVERY - 1) == SIGNALS_EVERY - 1:
        look_at_signals()
    return 0


cdef int count_into(const code_type *codes, Py_ssize_t n, int64_t low, int64_t *counts) except -1:
    cdef Py_ssize_t i
    with nogil:
        for i in range(n):
            look_now_and_then(i)
            counts[codes[i] - low] += 1
    return 0


def count_codes(codes, int64_t low, Py_ssize_t n_codes):
    """int64 (n_codes,): how often each int32 or int64 code from `low` to low + n_codes - 1 occurs. O(n + n_codes) time."""
    cdef cnp.ndarray counts = np.zeros(n_codes, np.int64)
    cdef int64_t *filled = <int64_t *>cnp.PyArray_DATA(counts)
    if codes.dtype == np.int32:
        count_into(<const int32_t *>data_of(codes, cnp.NPY_INT32), len(codes), low, filled)
    else:
        count_into(integers(codes), len(codes), low, filled)
    return counts


cdef struct KeyTable:
    int64_t *keys  # the different ones, in the order in which they came
    int32_t *slots  # by hash: the number of a key, -1 for none
    Py_ssize_t n_keys
    Py_ssize_t n_slots  # a power of two, more than twice the keys


cdef int grow(KeyTable *table) except -1 nogil:
    """Four times the slots; 1 if out of memory, or of numbers."""
    cdef Py_ssize_t i, slot, n_slots = max(4 * table.n_slots, <Py_ssize_t>1024)
    cdef int64_t *keys = <int64_t *>realloc(table.keys, (n_slots // 2) * sizeof(int64_t))
    cdef int32_t *slots
    if keys == NULL:
        return 1
    table.keys = keys
    slots = <int32_t *>realloc(table.slots, n_slots * sizeof(int32_t))
    if slots == NULL or table.n_keys > MOST_NUMBERS:
        return 1
    table.slots, table.n_slots = slots, n_slots
    memset(slots, 0xFF, n_slots * sizeof(int32_t))
    for i in range(table.n_keys):
        look_now_and_then(i)
        slot = find_slot(table, keys[i])
        slots[slot] = <int32_t>i
    return 0


cdef inline Py_ssize_t find_slot(const KeyTable *table, int64_t key) noexcept nogil:
    """The slot of a key, or the empty one where it would be."""
    cdef Py_ssize_t slot = <Py_ssize_t>(mix(<uint64_t>key) & <uint64_t>(table.n_slots - 1))
    while table.slots[slot] >= 0 and table.keys[table.slots[slot]] != key:
        slot = (slot + 1) & (table.n_slots - 1)
    return slot


def number_keys(keys):
    """The different keys, int64, in the order in which they first occur, and the number of the key of each row, int32. O(n)."""
    cdef KeyTable table
    cdef Py_ssize_t i, slot, n = len(keys)
    cdef int failed = 0
    cdef const int64_t *key = integers(keys)
    cdef cnp.ndarray codes = new_array(cnp.NPY_INT32, n), different
    cdef int32_t *code = <int32_t *>cnp.PyArray_DATA(codes)
    memset(&table, 0, sizeof(table))
    try:
        with nogil:
            for i in range(n):
                if 2 * table.n_keys + 2 > table.n_slots:
                    failed = grow(&table)
                    if failed:
                        break
                look_now_and_then(i)
                slot = find_slot(&table, key[i])
                if table.slots[slot] < 0:
                    table.keys[table.n_keys], table.slots[slot] = key[i], <int32_t>table.n_keys
                    table.n_keys += 1
                code[i] = table.slots[slot]
        if failed:
            raise MemoryError("no memory to number the keys")
        different = new_array(cnp.NPY_INT64, table.n_keys)
        if table.n_keys:
            memcpy(cnp.PyArray_DATA(different), table.keys, table.n_keys * sizeof(int64_t))
    finally:
        free(table.keys)
        free(table.slots)
    return different, codes


cdef Py_ssize_t scatter_into(
    const code_type *codes, Py_ssize_t n, int64_t low, int64_t *next_place, const double *scores, const uint8_t *labels,
    double least, double greatest, uint64_t *packed,
) except -1:
    """How many rows are good."""
    cdef Py_ssize_t i, n_good = 0
    cdef int64_t place
    with nogil:
        for i in range(n):
            look_now_and_then(i)
            n_good += is_good(scores[i], labels[i], least, greatest)
            place = next_place[codes[i] - low]
            next_place[codes[i] - low] = place + 1
            packed[place] = pack(scores[i], labels[i])
    return n_good


def scatter_rows(codes, int64_t low, next_place, scores, labels, double least, double greatest, packed):
    """Pack rows (as `pack_rows`), and write each to the next place of its code, which moves on.

    Parameters
    ----------
    codes : int32 or int64 (n,)
    low : int
        The least code that can occur.
    next_place : int64
        For each code from `low` on, a place in `packed`; changed.
    scores : float64 (n,)
    labels : uint8 (n,)
    least, greatest : float
        Of the range of scores, from 0 on.
    packed : uint64
        Filled.

    Returns
    -------
    int
        The rows whose score or label is bad.

    Notes
    -----
    O(n) time.
    """
    cdef Py_ssize_t n = len(codes)
    cdef const double *score = doubles(scores)
    cdef const uint8_t *label = bytes_in(labels)
    cdef int64_t *place = <int64_t *>integers(next_place)
    cdef uint64_t *filled = <uint64_t *>words(packed)
    if not n == len(scores) == len(labels):
        raise InputError("codes, scores and labels must have one length")
    if codes.dtype == np.int32:
        return n - scatter_into(
            <const int32_t *>data_of(codes, cnp.NPY_INT32), n, low, place, score, label, least, greatest, filled)
    return n - scatter_into(integers(codes), n, low, place, score, label, least, greatest, filled)


def fit_runs(packed, starts, ranks, first_rank, bint leaves_out, uint64_t seed):
    """The bins of each run of sorted packed rows, between whole groups of equal scores.

    Parameters
    ----------
    packed : uint64 (n,)
    starts : int64 (runs + 1,)
        Where each run begins in `packed`, and the end.
    ranks : int64
        The boundaries of all runs, from 1 within their run.
    first_rank : int64 (runs + 1,)
        Where the ranks of each run begin, and the end.
    leaves_out : bool
        Whether one sample at each edge is not counted ("umd").
    seed : int

    Returns
    -------
    dict
        What a set of models is made of: `edges`, `counts`, `label_sums`, `tie_counts` and `atom_counts` of all runs, one behind
        the other (the last two only of runs with ties), and for each run `n_bins_each`, `n_samples`, `n_positive`, `n_tied` and
        `fingerprints`.

    Notes
    -----
    O(n) time.
    """
    cdef const uint64_t *row = words(packed)
    cdef const int64_t *start = integers(starts)
    cdef const int64_t *rank = integers(ranks)
    cdef const int64_t *rank_of_run = integers(first_rank)
    cdef Py_ssize_t run, n_runs = len(starts) - 1, most = 0, n_edges = 0, edge_at = 0, bin_at = 0, tie_at = 0
    for run in range(n_runs):
        most = max(most, rank_of_run[run + 1] - rank_of_run[run])
    cdef Py_ssize_t capacity = rank_of_run[n_runs] + n_runs + most, column = most + 1
    cdef cnp.ndarray per_run = new_array(cnp.NPY_INT64, 4, n_runs), fingerprints = new_array(cnp.NPY_UINT64, n_runs)
    cdef cnp.ndarray edges = new_array(cnp.NPY_FLOAT64, capacity), tally = new_array(cnp.NPY_INT64, 2, capacity)
    cdef cnp.ndarray ties = new_array(cnp.NPY_INT64, capacity, 3), atoms = new_array(cnp.NPY_INT64, capacity, 2)
    cdef cnp.ndarray scratch = new_array(cnp.NPY_INT64, 5, column), scores = new_array(cnp.NPY_FLOAT64, column)
    cdef double *edge = <double *>cnp.PyArray_DATA(edges)
    cdef double *score = <double *>cnp.PyArray_DATA(scores)
    cdef int64_t *count = <int64_t *>cnp.PyArray_DATA(tally)
    cdef int64_t *tie = <int64_t *>cnp.PyArray_DATA(ties)
    cdef int64_t *atom = <int64_t *>cnp.PyArray_DATA(atoms)
    cdef int64_t *group = <int64_t *>cnp.PyArray_DATA(scratch)
    cdef int64_t *n_bins_of = <int64_t *>cnp.PyArray_DATA(per_run)
    cdef int64_t *n_samples_of = n_bins_of + n_runs
    cdef int64_t *n_positive_of = n_bins_of + 2 * n_runs
    cdef int64_t *n_tied_of = n_bins_of + 3 * n_runs
    cdef uint64_t *fingerprint = <uint64_t *>cnp.PyArray_DATA(fingerprints)
    cdef Groups groups
    memset(&groups, 0, sizeof(groups))
    with nogil:
        for run in range(n_runs):
            look_now_and_then(run)
            groups.n_ranks = rank_of_run[run + 1] - rank_of_run[run]
            groups.n_samples = start[run + 1] - start[run]
            n_edges = fit_run(
                row + start[run], rank + rank_of_run[run], leaves_out, seed, &groups, score, group, column, edge + edge_at,
                count + bin_at, count + capacity + bin_at, tie + 3 * tie_at, atom + 2 * tie_at,
                &n_tied_of[run])
            if n_edges < 0:
                break
            n_samples_of[run], n_positive_of[run] = groups.n_samples, groups.n_positive
            n_bins_of[run] = n_edges + 1
            fingerprint[run] = fingerprint_groups(&groups)
            edge_at, bin_at = edge_at + n_edges, bin_at + n_edges + 1
            if n_tied_of[run]:
                tie_at += n_edges + 1
    if n_edges < 0:
        raise InputError(TOO_MANY_TIED)
    names = ("n_bins_each", "n_samples", "n_positive", "n_tied")
    return {
        "edges": edges[:edge_at], "counts": tally[0, :bin_at], "label_sums": tally[1, :bin_at], "tie_counts": ties[:tie_at],
        "atom_counts": atoms[:tie_at], "fingerprints": fingerprints, **dict(zip(names, per_run)),
    }  # fmt: skip


def slices_of_runs(packed, starts, ranks, first_rank, uint64_t seed):
    """The slices of each run of sorted packed rows.

    Parameters
    ----------
    packed, starts, ranks, first_rank, seed
        As in `fit_runs`, the ranks being those of the samples between slices; a run without one has no slices.

    Returns
    -------
    dict
        `slice_cuts` and `slice_label_sums` of all runs, one behind the other, and `n_slices_each`.

    Notes
    -----
    O(n) time.
    """
    cdef const uint64_t *row = words(packed)
    cdef const int64_t *start = integers(starts)
    cdef const int64_t *rank = integers(ranks)
    cdef const int64_t *rank_of_run = integers(first_rank)
    cdef Py_ssize_t run, m, at = 0, n_runs = len(starts) - 1, most = 0
    cdef int failed = 0
    for run in range(n_runs):
        most = max(most, rank_of_run[run + 1] - rank_of_run[run])
    cdef cnp.ndarray cuts = new_array(cnp.NPY_FLOAT64, len(ranks)), n_slices = np.zeros(n_runs, np.int64)
    cdef cnp.ndarray label_sums = new_array(cnp.NPY_INT64, len(ranks) + n_runs), scratch = new_array(cnp.NPY_INT64, 4, most)
    cdef int64_t *n_slices_of = <int64_t *>cnp.PyArray_DATA(n_slices)
    cdef double *cut = <double *>cnp.PyArray_DATA(cuts)
    cdef int64_t *ones = <int64_t *>cnp.PyArray_DATA(label_sums)
    cdef int64_t *group = <int64_t *>cnp.PyArray_DATA(scratch)
    with nogil:
        for run in range(n_runs):
            look_now_and_then(run)
            m = rank_of_run[run + 1] - rank_of_run[run]
            if m == 0:
                continue
            failed = find_slices(
                row + start[run], start[run + 1] - start[run], rank + rank_of_run[run], m, seed, group,
                cut + rank_of_run[run], ones + at, NULL)
            if failed:
                break
            n_slices_of[run], at = m + 1, at + m + 1
    if failed:
        raise InputError(TOO_MANY_TIED)
    return {"slice_cuts": cuts, "slice_label_sums": label_sums[:at], "n_slices_each": n_slices}
