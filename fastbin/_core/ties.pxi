# Order within groups of equal scores, by keys.
#
# The samples of one score value form a group of `count` samples, `ones` of which have label 1. Sample j of the group has the
# key `fastbin_group_key(digest, score, j)` and label 1 exactly when j < ones. The digest covers the seed and what was seen: j
# decides the label, so keys of the seed alone would divide equal counts in the same way every time.
#
# Only groups that hold a boundary are ordered here. Such a group can have millions of samples, so its keys are never all
# stored: they are counted by their top bits, made again, and only those in the few cells that hold a requested rank are
# gathered.


cdef enum:
    MAX_CELL_BITS = 12
    MAX_CELLS = 4096
    SAMPLES_PER_CELL = 8  # while there are at most MAX_CELLS
    # Ranks in one cell; with more, the cell is sorted. Measured on groups of 1e6 and 1e7 samples: selecting is 1.5 to 3.6 times
    # as fast for 99 to 999 ranks, sorting is 5 to 7 times as fast where every tenth sample or more is a rank.
    SELECT_UP_TO = 16
    BLOCK = 2048  # keys made at a time
    CHECKED_EVERY = 1 << 24  # keys, some 50 ms: signals are looked at

cdef struct KeyedSample:
    uint64_t key
    int64_t j

cdef struct Cells:
    Py_ssize_t n_cells  # a power of two; the cell of a key is its top bits
    int shift  # for key >> 1, so that a single cell needs no shift by 64
    int64_t[2 * MAX_CELLS] table  # how many keys fall in each cell: those of label-0 samples, then those of label-1 samples
    int64_t[MAX_CELLS] start  # where the next sample of a cell that holds a rank goes among `gathered`
    uint8_t[MAX_CELLS] is_open  # 1 for such a cell
    KeyedSample *gathered
    int64_t capacity


cdef inline bint precedes(KeyedSample a, KeyedSample b) noexcept nogil:
    """By key; samples with equal keys, by their place in the group."""
    return (a.key < b.key) | ((a.key == b.key) & (a.j < b.j))


cdef int compare(const void *left, const void *right) noexcept nogil:
    """The same for `qsort`."""
    cdef const KeyedSample *a = <const KeyedSample *>left
    cdef const KeyedSample *b = <const KeyedSample *>right
    return -1 if precedes(a[0], b[0]) else precedes(b[0], a[0])


# The rank of a key among those of its group is known when all of them have been made, so the work grows with the samples,
# not with the rows that frequencies repeat: some 5 s for so many. More are refused.
cdef int64_t MOST_KEYS = <int64_t>1 << 32


cdef int check_group_sizes(scores, counts) except -1:
    """Refuse groups of more than MOST_KEYS samples."""
    cdef Py_ssize_t i
    cdef const int64_t *count = integers(counts)
    for i in range(len(counts)):
        if count[i] > MOST_KEYS:
            raise InputError(
                f"{count[i]} samples share the score {float(scores[i])!r}, at which a boundary falls; ties='random' orders "
                "at most 2**32 samples of one score by keys: divide the frequencies, or use ties='whole'"
            )
    return 0


def rows_digest(uint64_t seed, scores, labels, weights=None):
    """int: the digest that seeds the split of these samples, and the keys of a fit that splits; their order does not matter.

    `weights` are importance weights, float64; without them each is 1. O(n) time.
    """
    cdef Py_ssize_t i, n = len(scores)
    cdef uint64_t total = 0, n_positive = 0
    cdef const double *score = doubles(scores)
    cdef const double *weight = NULL
    if weights is not None:
        weight = doubles(weights)
    cdef const uint8_t *label = bytes_in(labels)
    with nogil:
        for i in range(n):
            n_positive += label[i]
            total += row_word(score[i], label[i], 1.0 if weight == NULL else weight[i])
        total = chain(chain(chain(chain(0, seed), <uint64_t>n), n_positive), total)
    return total


ctypedef uint64_t key_function(uint64_t seed, double score, uint64_t j) noexcept nogil


cdef keys_of(key_function key, uint64_t seed, scores, places):
    cdef Py_ssize_t i, n = len(scores)
    cdef const double *score = doubles(scores)
    cdef const int64_t *place = integers(places)
    cdef cnp.ndarray keys = new_array(cnp.NPY_UINT64, n)
    cdef uint64_t *filled = <uint64_t *>cnp.PyArray_DATA(keys)
    with nogil:
        for i in range(n):
            filled[i] = key(seed, score[i], <uint64_t>place[i])
    return keys


def group_keys(uint64_t seed, scores, places):
    """uint64 (n,): the key of sample `places[i]` of the group with score `scores[i]`."""
    return keys_of(fastbin_group_key, seed, scores, places)


def split_keys(uint64_t seed, scores, places):
    """uint64 (n,): the key that sends sample `places[i]` of the group with score `scores[i]` to a part of a split."""
    return keys_of(fastbin_split_key, seed, scores, places)


def hash_key(bytes salt not None, bytes message not None):
    """int: the key of one id, in [0, 2**64 - 2]; HMAC-SHA-256 under the salt."""
    return fastbin_hash_key(<const char *>salt, len(salt), <const char *>message, len(message))


def row_keys(uint64_t seed, Py_ssize_t n, uint64_t first_row=0):
    """uint64 (n,): the keys that rows first_row ... first_row + n - 1 get at prediction under a seed."""
    cdef Py_ssize_t i
    cdef cnp.ndarray keys = new_array(cnp.NPY_UINT64, n)
    cdef uint64_t *filled = <uint64_t *>cnp.PyArray_DATA(keys)
    with nogil:
        for i in range(n):
            filled[i] = fastbin_row_key(seed, first_row + <uint64_t>i)
    return keys


def cut_groups(uint64_t seed, scores, counts, ones, ranks):
    """Find the samples of given ranks in groups ordered by key.

    Parameters
    ----------
    seed : int
    scores, counts, ones : (m,)
        The group of each rank, ascending: its score, how many samples, how many of these with label 1.
    ranks : int64 (m,)
        Within a group ascending, distinct, and in [1, count].

    Returns
    -------
    keys : uint64 (m,)
        The key of the sample at each rank.
    ones_before : int64 (m,)
        The samples of its group with label 1 among those of lower rank.
    is_one : int64 (m,)
        1 where the sample at the rank itself has label 1.

    Notes
    -----
    Time O(sum of counts), memory O(samples per cell times ranks).
    """
    cdef Py_ssize_t m = len(ranks), first = 0, end = 0
    cdef int failed = 0
    cdef const double *score = doubles(scores)
    cdef const int64_t *count = integers(counts)
    cdef const int64_t *ones_of = integers(ones)
    cdef const int64_t *rank = integers(ranks)
    check_group_sizes(scores, counts)
    cdef cnp.ndarray keys = new_array(cnp.NPY_UINT64, m)
    cdef cnp.ndarray ones_before = new_array(cnp.NPY_INT64, m), is_one = new_array(cnp.NPY_INT64, m)
    cdef uint64_t *key = <uint64_t *>cnp.PyArray_DATA(keys)
    cdef int64_t *before = <int64_t *>cnp.PyArray_DATA(ones_before)
    cdef int64_t *one = <int64_t *>cnp.PyArray_DATA(is_one)
    cdef Cells *cells = <Cells *>malloc(sizeof(Cells))
    if cells == NULL:
        raise MemoryError("no memory to order samples that share a score")
    cells.gathered, cells.capacity = NULL, 0
    try:
        with nogil:
            while end < m and not failed:
                first = end
                while end < m and score[end] == score[first]:
                    end += 1
                failed = cut_group(
                    cells, seed, score[first], count[first], ones_of[first], rank + first, end - first, key + first,
                    before + first, one + first)
    finally:
        free(cells.gathered)
        free(cells)
    if failed:
        raise MemoryError("no memory to order samples that share a score")
    return keys, ones_before, is_one


cdef int cut_group(
    Cells *cells, uint64_t seed, double score, int64_t count, int64_t ones, const int64_t *ranks, Py_ssize_t m,
    uint64_t *keys, int64_t *ones_before, int64_t *is_one,
) except -1 nogil:
    """One group: count the keys by cell, gather the cells that hold a rank, sort each. 1 if out of memory."""
    cdef Py_ssize_t cell, next_rank = 0
    cdef int64_t below = 0, ones_below = 0, n_gathered = 0, end
    cdef int bits = 0
    cdef KeyedSample *grown
    while bits < MAX_CELL_BITS and count >> bits > SAMPLES_PER_CELL:
        bits += 1
    cells.n_cells, cells.shift = (<Py_ssize_t>1) << bits, 63 - bits
    count_cells(cells, seed, score, count, ones)

    # Where each cell that holds a rank starts among the gathered samples.
    for cell in range(cells.n_cells):
        end = below + cells.table[cell] + cells.table[cells.n_cells + cell]
        cells.is_open[cell] = next_rank < m and ranks[next_rank] <= end
        if cells.is_open[cell]:
            cells.start[cell] = n_gathered
            n_gathered += end - below
            while next_rank < m and ranks[next_rank] <= end:
                next_rank += 1
        below = end

    if n_gathered > cells.capacity:
        grown = <KeyedSample *>realloc(cells.gathered, n_gathered * sizeof(KeyedSample))
        if grown == NULL:
            return 1
        cells.gathered, cells.capacity = grown, n_gathered
    gather_cells(cells, seed, score, count)
    below, next_rank = 0, 0
    for cell in range(cells.n_cells):
        end = below + cells.table[cell] + cells.table[cells.n_cells + cell]
        if cells.is_open[cell]:
            next_rank = cut_cell(
                cells.gathered + (cells.start[cell] - (end - below)), end - below, below, ones_below, ones,
                ranks, m, next_rank, keys, ones_before, is_one)
        ones_below += cells.table[cells.n_cells + cell]
        below = end
    return 0


cdef int count_cells(Cells *cells, uint64_t seed, double score, int64_t count, int64_t ones) except -1 nogil:
    """Count the keys of the group per label and cell."""
    cdef uint64_t keys[BLOCK]
    cdef int64_t i, n, label, j = 0
    cdef int64_t *table
    cdef int shift = cells.shift  # a copy, so that no store can appear to change it
    for i in range(2 * cells.n_cells):
        cells.table[i] = 0
    while j < count:
        # All samples of a block have the same label: those with label 1 come first.
        label = j < ones
        n = min(<int64_t>BLOCK, (ones if label else count) - j)
        table = cells.table + label * cells.n_cells
        fastbin_group_keys(seed, score, <uint64_t>j, <size_t>n, keys)
        for i in range(n):
            table[(keys[i] >> 1) >> shift] += 1
        if (j + n) // CHECKED_EVERY > j // CHECKED_EVERY:
            look_at_signals()
        j += n
    return 0


cdef int gather_cells(Cells *cells, uint64_t seed, double score, int64_t count) except -1 nogil:
    """Store the samples of every open cell from `start` on, and leave `start` at their end."""
    cdef uint64_t keys[BLOCK]
    cdef uint32_t chosen[BLOCK]
    cdef uint64_t key
    cdef int64_t i, n, h, n_chosen, place, j = 0
    cdef int shift = cells.shift
    cdef const uint8_t *is_open = cells.is_open
    while j < count:
        n = min(<int64_t>BLOCK, count - j)
        fastbin_group_keys(seed, score, <uint64_t>j, <size_t>n, keys)
        # First find the samples in open cells, without a branch that few of them would take.
        n_chosen = 0
        for i in range(n):
            chosen[n_chosen] = <uint32_t>i
            n_chosen += is_open[(keys[i] >> 1) >> shift]
        for h in range(n_chosen):
            key = keys[chosen[h]]
            place = cells.start[(key >> 1) >> shift]
            cells.gathered[place].key, cells.gathered[place].j = key, j + chosen[h]
            cells.start[(key >> 1) >> shift] = place + 1
        if (j + n) // CHECKED_EVERY > j // CHECKED_EVERY:
            look_at_signals()
        j += n
    return 0


cdef Py_ssize_t cut_cell(
    KeyedSample *samples, int64_t n, int64_t below, int64_t ones_below, int64_t ones, const int64_t *ranks, Py_ssize_t m,
    Py_ssize_t next_rank, uint64_t *keys, int64_t *ones_before, int64_t *is_one,
) noexcept nogil:
    """Answer the ranks that lie in one cell; the first rank beyond it."""
    cdef Py_ssize_t end_rank = next_rank
    cdef int64_t place = 0, target
    while end_rank < m and ranks[end_rank] <= below + n:
        end_rank += 1
    cdef bint is_sorted = end_rank - next_rank > SELECT_UP_TO
    if is_sorted:
        qsort(samples, <size_t>n, sizeof(KeyedSample), compare)
    while next_rank < end_rank:
        target = ranks[next_rank] - below - 1
        if not is_sorted:
            select(samples, place, n, target)
        while place < target:
            ones_below += samples[place].j < ones
            place += 1
        keys[next_rank] = samples[target].key
        ones_before[next_rank] = ones_below
        is_one[next_rank] = samples[target].j < ones
        next_rank += 1
    return end_rank


cdef void select(KeyedSample *samples, int64_t low, int64_t high, int64_t target) noexcept nogil:
    """Quickselect: samples[target] is what it would be if samples[low:high] were sorted; lesser samples stand before it.

    No two samples compare as equal, and keys are random: any pivot is as good as the middle one.
    """
    cdef KeyedSample pivot, sample
    cdef int64_t i, place
    while high - low > 1:
        i = (low + high) >> 1
        pivot, samples[i] = samples[i], samples[high - 1]
        place = low
        for i in range(low, high - 1):
            # Without a branch, as it would be taken at random.
            sample = samples[i]
            samples[i], samples[place] = samples[place], sample
            place += precedes(sample, pivot)
        samples[high - 1], samples[place] = samples[place], pivot
        if place == target:
            return
        low, high = (low, place) if target < place else (place + 1, high)
