"""Uniform-mass bins of many segments at once: rows are brought to their segments, and all segments are fitted in one call.

In between, each segment's packed rows are sorted by NumPy.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

import numpy as np

from fastbin._errors import InputError

from fastbin._native.groups cimport Groups, count_tied, digest_groups, find_groups, fingerprint_groups, is_good, pack
from fastbin._native.whole cimport place_bins

cdef extern from "keys.h":
    uint64_t mix(uint64_t z) noexcept nogil

cdef enum:
    MOST_KEYS = 1073741823  # so that numbers are int32, when they have doubled
    SIGNALS_EVERY = 1 << 18  # rows or keys, each of which may cost several misses of the caches

ctypedef fused code_type:
    int32_t
    int64_t


cdef inline int look_at_signals(Py_ssize_t row) except -1 nogil:
    """Ctrl-C ends the work here: looked for once in many rows."""
    if row & (SIGNALS_EVERY - 1) == SIGNALS_EVERY - 1:
        with gil:
            PyErr_CheckSignals()
    return 0


cdef int count_into(const code_type[::1] codes, int64_t low, int64_t[::1] counts) except -1:
    cdef Py_ssize_t i
    with nogil:
        for i in range(codes.shape[0]):
            look_at_signals(i)
            counts[codes[i] - low] += 1
    return 0


def count_codes(codes, int64_t low, Py_ssize_t n_codes):
    """int64 (n_codes,): how often each int32 or int64 code from `low` to low + n_codes - 1 occurs. O(n + n_codes) time."""
    counts = np.zeros(n_codes, np.int64)
    if codes.dtype == np.int32:
        count_into[int32_t](codes, low, counts)
    else:
        count_into[int64_t](codes, low, counts)
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
    if slots == NULL or table.n_keys > MOST_KEYS:
        return 1
    table.slots, table.n_slots = slots, n_slots
    memset(slots, 0xFF, n_slots * sizeof(int32_t))
    for i in range(table.n_keys):
        look_at_signals(i)
        slot = find_slot(table, keys[i])
        slots[slot] = <int32_t>i
    return 0


cdef inline Py_ssize_t find_slot(const KeyTable *table, int64_t key) noexcept nogil:
    """The slot of a key, or the empty one where it would be."""
    cdef Py_ssize_t slot = <Py_ssize_t>(mix(<uint64_t>key) & <uint64_t>(table.n_slots - 1))
    while table.slots[slot] >= 0 and table.keys[table.slots[slot]] != key:
        slot = (slot + 1) & (table.n_slots - 1)
    return slot


def number_keys(const int64_t[::1] keys):
    """The different keys, int64, in the order in which they first occur, and the number of the key of each row, int32. O(n)."""
    cdef KeyTable table
    cdef Py_ssize_t i, slot
    cdef int failed = 0
    codes = np.empty(keys.shape[0], np.int32)
    cdef int32_t[::1] code = codes
    memset(&table, 0, sizeof(table))
    try:
        with nogil:
            for i in range(keys.shape[0]):
                if 2 * table.n_keys + 2 > table.n_slots:
                    failed = grow(&table)
                    if failed:
                        break
                look_at_signals(i)
                slot = find_slot(&table, keys[i])
                if table.slots[slot] < 0:
                    table.keys[table.n_keys], table.slots[slot] = keys[i], <int32_t>table.n_keys
                    table.n_keys += 1
                code[i] = table.slots[slot]
        if failed:
            raise MemoryError("no memory to number the keys")
        different = np.empty(table.n_keys, np.int64)
        if table.n_keys:
            copy_keys(&table, different)
    finally:
        free(table.keys)
        free(table.slots)
    return different, codes


cdef void copy_keys(const KeyTable *table, int64_t[::1] filled) noexcept:
    memcpy(&filled[0], table.keys, table.n_keys * sizeof(int64_t))


cdef Py_ssize_t scatter_into(
    const code_type[::1] codes, int64_t low, int64_t[::1] next_place, const double[::1] scores, const uint8_t[::1] labels,
    double least, double greatest, uint64_t[::1] packed,
) except -1:
    """How many rows are good; `codes`, scores and labels have one length."""
    cdef Py_ssize_t i, n_good = 0
    cdef int64_t place
    with nogil:
        for i in range(codes.shape[0]):
            look_at_signals(i)
            n_good += is_good(scores[i], labels[i], least, greatest)
            place = next_place[codes[i] - low]
            next_place[codes[i] - low] = place + 1
            packed[place] = pack(scores[i], labels[i])
    return n_good


def scatter_rows(
    codes, int64_t low, int64_t[::1] next_place, const double[::1] scores, const uint8_t[::1] labels, double least,
    double greatest, uint64_t[::1] packed,
):
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
    if not codes.shape[0] == scores.shape[0] == labels.shape[0]:
        raise InputError("codes, scores and labels must have one length")
    if codes.dtype == np.int32:
        return len(codes) - scatter_into[int32_t](codes, low, next_place, scores, labels, least, greatest, packed)
    return len(codes) - scatter_into[int64_t](codes, low, next_place, scores, labels, least, greatest, packed)


def fit_runs(
    const uint64_t[::1] packed, const int64_t[::1] starts, const int64_t[::1] ranks, const int64_t[::1] first_rank,
    bint leaves_out, uint64_t seed,
):
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
        What a set of models is made of: `edges`, `counts`, `label_sums` and `tie_counts` of all runs, one behind the other
        (tie_counts only of runs with ties), and for each run `n_bins_each`, `n_samples`, `n_positive`, `n_tied` and
        `fingerprints`.

    Notes
    -----
    O(n) time.
    """
    cdef Py_ssize_t run, n_runs = starts.shape[0] - 1, m, most = 0, n_edges = 0, edge_at = 0, bin_at = 0, tie_at = 0
    for run in range(n_runs):
        most = max(most, first_rank[run + 1] - first_rank[run])
    per_run, fingerprints = np.empty((4, n_runs), np.int64), np.empty(n_runs, np.uint64)
    cdef Py_ssize_t capacity = first_rank[n_runs] + n_runs + most
    edges, tally, ties = np.empty(capacity), np.empty((2, capacity), np.int64), np.empty((capacity, 3), np.int64)
    scratch = np.empty((5, most + 1), np.int64)
    cdef double[::1] edge = edges, score = np.empty(most + 1)
    cdef int64_t[:, ::1] of_run = per_run, count = tally, tie = ties, group = scratch
    cdef uint64_t[::1] fingerprint = fingerprints
    cdef Groups groups
    cdef const int64_t *rank_at
    memset(&groups, 0, sizeof(groups))
    groups.score, groups.below, groups.below_ones = &score[0], &group[0, 0], &group[1, 0]
    groups.equal, groups.equal_ones = &group[2, 0], &group[3, 0]
    with nogil:
        for run in range(n_runs):
            look_at_signals(run)
            m = first_rank[run + 1] - first_rank[run]
            rank_at = &ranks[0] + first_rank[run] if m else NULL
            groups.n_ranks, groups.n_samples = m, starts[run + 1] - starts[run]
            groups.n_positive = find_groups(
                &packed[0] + starts[run], groups.n_samples, rank_at, m, &score[0], &group[0, 0], &group[1, 0], &group[2, 0],
                &group[3, 0])
            of_run[1, run], of_run[2, run] = groups.n_samples, groups.n_positive
            of_run[3, run] = count_tied(groups.score, groups.equal, m)
            n_edges = place_bins(
                &groups, rank_at, &groups, of_run[3, run], leaves_out, digest_groups(seed, &groups), &group[4, 0],
                &count[0, bin_at], &count[1, bin_at], &tie[tie_at, 0])
            if n_edges < 0:
                break
            of_run[0, run] = n_edges + 1
            take_edges(&groups, n_edges, score, group, &edge[edge_at])
            fingerprint[run] = fingerprint_groups(&groups)
            edge_at, bin_at = edge_at + n_edges, bin_at + n_edges + 1
            if of_run[3, run]:
                tie_at += n_edges + 1
    if n_edges < 0:
        raise InputError("a score at a boundary is shared by more than 2**53 samples, of which none can be drawn")
    names = ("n_bins_each", "n_samples", "n_positive", "n_tied")
    return {
        "edges": edges[:edge_at], "counts": tally[0, :bin_at], "label_sums": tally[1, :bin_at], "tie_counts": ties[:tie_at],
        "fingerprints": fingerprints, **dict(zip(names, per_run)),
    }  # fmt: skip


cdef void take_edges(Groups *groups, Py_ssize_t n_edges, double[::1] score, int64_t[:, ::1] group, double *edge) noexcept nogil:
    """Leave the groups that are edges, whose positions are in the last column, and write their scores."""
    cdef Py_ssize_t i, b
    cdef int column
    for i in range(n_edges):
        b = group[4, i]
        score[i] = edge[i] = score[b]
        for column in range(4):
            group[column, i] = group[column, b]
    groups.n_ranks = n_edges
