"""Order within groups of equal scores, by keys.

The samples of one score value form a group of `count` samples, `ones` of which have label 1. Sample j of the group has the
key `fastbin_group_key(seed, score, j)` and label 1 exactly when j < ones. Only groups that hold a boundary come here, so a
group may be millions of samples: above `SORT_UP_TO` its keys are never stored. They are counted by their top bits, made
again, and only those in the few cells that hold a wanted rank are gathered and sorted.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc, qsort

import numpy as np

from fastbin._native.cfastbin cimport fastbin_group_key, fastbin_group_keys, fastbin_row_key, fastbin_split_key

cnp.import_array()

__all__ = ["cut_group", "group_keys", "row_keys", "split_keys"]

cdef enum:
    SORT_UP_TO = 4096
    CELL_BITS = 12
    N_CELLS = 4096
    BLOCK = 1024  # keys made at a time

cdef struct KeyedSample:
    uint64_t key
    int64_t j


cdef int compare(const void *left, const void *right) noexcept nogil:
    """By key; samples whose keys coincide, by their place in the group."""
    cdef const KeyedSample *a = <const KeyedSample *>left
    cdef const KeyedSample *b = <const KeyedSample *>right
    if a.key != b.key:
        return -1 if a.key < b.key else 1
    return -1 if a.j < b.j else (1 if a.j > b.j else 0)


def group_keys(uint64_t seed, const double[::1] scores, const int64_t[::1] places):
    """uint64 (n,): the key of sample `places[i]` of the group with score `scores[i]`."""
    cdef Py_ssize_t i
    keys = np.empty(scores.shape[0], np.uint64)
    cdef uint64_t[::1] filled = keys
    with nogil:
        for i in range(scores.shape[0]):
            filled[i] = fastbin_group_key(seed, scores[i], <uint64_t>places[i])
    return keys


def split_keys(uint64_t seed, const double[::1] scores, const int64_t[::1] places):
    """uint64 (n,): the key that sends sample `places[i]` of the group with score `scores[i]` to a part of a split."""
    cdef Py_ssize_t i
    keys = np.empty(scores.shape[0], np.uint64)
    cdef uint64_t[::1] filled = keys
    with nogil:
        for i in range(scores.shape[0]):
            filled[i] = fastbin_split_key(seed, scores[i], <uint64_t>places[i])
    return keys


def row_keys(uint64_t seed, Py_ssize_t n, uint64_t first_row=0):
    """uint64 (n,): the keys that rows first_row ... first_row + n - 1 get at prediction under a seed."""
    cdef Py_ssize_t i
    keys = np.empty(n, np.uint64)
    cdef uint64_t[::1] filled = keys
    with nogil:
        for i in range(n):
            filled[i] = fastbin_row_key(seed, first_row + <uint64_t>i)
    return keys


def cut_group(uint64_t seed, double score, int64_t count, int64_t ones, const int64_t[::1] ranks):
    """Find the samples of given ranks in one group, ordered by key.

    Parameters
    ----------
    seed, score, count, ones
        The group: its keys, how many samples, how many of them with label 1.
    ranks : int64 (m,), ascending, distinct, each in [1, count]

    Returns
    -------
    keys : uint64 (m,)
        The key of the sample at each rank.
    ones_before : int64 (m,)
        The samples with label 1 among those of lower rank.
    is_one : int64 (m,)
        1 where the sample at the rank itself has label 1.

    Notes
    -----
    Time O(count), memory O(count / 4096 * m) beyond `SORT_UP_TO` samples.
    """
    cdef Py_ssize_t m = ranks.shape[0]
    keys, ones_before, is_one = np.empty(m, np.uint64), np.empty(m, np.int64), np.empty(m, np.int64)
    cdef uint64_t[::1] key_view = keys
    cdef int64_t[::1] before_view = ones_before, one_view = is_one
    cdef int failed
    with nogil:
        failed = cut_cells(seed, score, count, ones, &ranks[0], m, &key_view[0], &before_view[0], &one_view[0])
    if failed:
        raise MemoryError(f"no memory to order {count} samples that share the score {score!r}")
    return keys, ones_before, is_one


cdef int cut_cells(
    uint64_t seed, double score, int64_t count, int64_t ones, const int64_t *ranks, Py_ssize_t m,
    uint64_t *keys, int64_t *ones_before, int64_t *is_one,
) noexcept nogil:
    """`cut_group` on pointers: count the keys by cell, gather the cells that hold a rank, sort each. 1 if out of memory."""
    cdef int shift = 64 - CELL_BITS
    cdef Py_ssize_t n_cells = N_CELLS, cell, next_rank = 0
    cdef int64_t below = 0, ones_below = 0, n_gathered = 0, rank_end
    cdef int failed = 1
    if count <= SORT_UP_TO:  # one cell holds them all
        n_cells = 1
        shift = 63  # unused: every key is gathered
    cdef int64_t *table = <int64_t *>malloc(2 * n_cells * sizeof(int64_t))
    cdef int64_t *start = <int64_t *>malloc(n_cells * sizeof(int64_t))
    cdef KeyedSample *gathered = NULL
    if table == NULL or start == NULL:
        free(table)
        free(start)
        return 1
    count_cells(seed, score, count, ones, n_cells, shift, table)

    # Where each cell that holds a rank starts among the gathered samples; -1 for the others.
    for cell in range(n_cells):
        rank_end = below + table[2 * cell] + table[2 * cell + 1]
        start[cell] = -1
        if next_rank < m and ranks[next_rank] <= rank_end:
            start[cell] = n_gathered
            n_gathered += rank_end - below
            while next_rank < m and ranks[next_rank] <= rank_end:
                next_rank += 1
        below = rank_end

    gathered = <KeyedSample *>malloc((n_gathered if n_gathered else 1) * sizeof(KeyedSample))
    if gathered != NULL:
        gather_cells(seed, score, count, n_cells, shift, start, gathered)
        below, next_rank = 0, 0
        for cell in range(n_cells):
            rank_end = below + table[2 * cell] + table[2 * cell + 1]
            if start[cell] >= 0:
                next_rank = cut_cell(
                    gathered + (start[cell] - (rank_end - below)), rank_end - below, below, ones_below, ones,
                    ranks, m, next_rank, keys, ones_before, is_one)
            ones_below += table[2 * cell + 1]
            below = rank_end
        failed = 0
    free(gathered)
    free(table)
    free(start)
    return failed


cdef void count_cells(
    uint64_t seed, double score, int64_t count, int64_t ones, Py_ssize_t n_cells, int shift, int64_t *table
) noexcept nogil:
    """Count the keys of the group per cell and label: table[2 cell + label]."""
    cdef uint64_t keys[BLOCK]
    cdef int64_t i, n, first, end, j = 0
    for i in range(2 * n_cells):
        table[i] = 0
    if n_cells == 1:
        table[0], table[1] = count - ones, ones
        return
    while j < count:
        # A block holds one label: those with label 1 come first.
        end = ones if j < ones else count
        n = min(<int64_t>BLOCK, end - j)
        fastbin_group_keys(seed, score, <uint64_t>j, <size_t>n, keys)
        first = j < ones
        for i in range(n):
            table[2 * (keys[i] >> shift) + first] += 1
        j += n


cdef void gather_cells(
    uint64_t seed, double score, int64_t count, Py_ssize_t n_cells, int shift, int64_t *start, KeyedSample *gathered
) noexcept nogil:
    """Store the samples of every cell with start >= 0 from there on, and leave `start` at their end."""
    cdef uint64_t keys[BLOCK]
    cdef int64_t i, n, place, j = 0
    cdef Py_ssize_t cell
    while j < count:
        n = min(<int64_t>BLOCK, count - j)
        fastbin_group_keys(seed, score, <uint64_t>j, <size_t>n, keys)
        for i in range(n):
            cell = 0 if n_cells == 1 else <Py_ssize_t>(keys[i] >> shift)
            place = start[cell]
            if place >= 0:
                gathered[place].key, gathered[place].j = keys[i], j + i
                start[cell] = place + 1
        j += n


cdef Py_ssize_t cut_cell(
    KeyedSample *samples, int64_t n, int64_t below, int64_t ones_below, int64_t ones, const int64_t *ranks, Py_ssize_t m,
    Py_ssize_t next_rank, uint64_t *keys, int64_t *ones_before, int64_t *is_one,
) noexcept nogil:
    """Sort one cell and answer the ranks that lie in it; the first rank beyond it."""
    cdef int64_t place
    qsort(samples, <size_t>n, sizeof(KeyedSample), compare)
    for place in range(n):
        if next_rank < m and ranks[next_rank] == below + place + 1:
            keys[next_rank] = samples[place].key
            ones_before[next_rank] = ones_below
            is_one[next_rank] = samples[place].j < ones
            next_rank += 1
        ones_below += samples[place].j < ones
    return next_rank
