# Packed rows, sorted: by counting where few are distinct, else by NumPy or by digits.
#
# NumPy sorts with the widest registers there are. With those of AVX2 that is as fast as by digits, with those of AVX-512 faster
# on some processors. On others (AMD Zen 4, which is slow at storing what a mask selects) it takes four to seven times as long,
# and so does NumPy where it sorts without registers. So the two are timed once, at the first sort of many rows in a process.
# Sorted rows are the same bytes by either.

from time import perf_counter

cdef enum:
    DIGITS_FROM = 512  # rows; with fewer, the counters of digits cost as much as they save
    RACE_ROWS = 4096
    RACES = 2  # the first one also warms up the caches
    UNKNOWN = -1
    KEPT_ROWS = 1 << 17

cdef double CLEARLY = 1.25
cdef int digits_are_faster = UNKNOWN

# 1 MB for the next sort of up to KEPT_ROWS, while none uses it: where a hypervisor backs them, fresh pages cost as much as the
# sort itself. Taken and given back under the GIL.
cdef uint64_t *kept_scratch = NULL


def choose_sort(by_digits):
    """Sort many rows by digits (True), by NumPy (False), or by what will be found to be faster (None): for tests and benches.

    Returns the choice so far.
    """
    global digits_are_faster
    before = None if digits_are_faster == UNKNOWN else bool(digits_are_faster)
    digits_are_faster = UNKNOWN if by_digits is None else <bint>by_digits
    return before


cdef int type_to_sort(double high) noexcept:
    """As which type of numbers packed rows of scores up to `high` are sorted: in the same order, and fastest by NumPy.

    As doubles of the same bits with registers of 256 bits, which cannot compare such integers (they take 1.2 to 1.5 times as
    long); else as integers with a sign, for which registers of 512 bits take three quarters of the time of those without one.
    """
    cdef volatile double least = 5e-324  # 0 where the processor takes subnormal numbers for zero
    cdef uint64_t greatest = pack(high, 0)
    if greatest >> 63:
        return cnp.NPY_UINT64
    if greatest <= <uint64_t>0x7FF << 52 and least > 0.0 and fastbin_best_cpu_level() < AVX512:
        return cnp.NPY_FLOAT64
    return cnp.NPY_INT64


cdef int sort_by_numpy(uint64_t *rows, Py_ssize_t n, int number_type) except -1:
    cdef cnp.npy_intp shape = n
    cnp.PyArray_Sort(cnp.PyArray_SimpleNewFromData(1, &shape, number_type, rows), 0, cnp.NPY_QUICKSORT)
    return 0


cdef int sort_by_digits(uint64_t *rows, Py_ssize_t n) except -1:
    global kept_scratch
    cdef uint64_t *scratch = kept_scratch if n <= KEPT_ROWS else NULL
    if scratch == NULL:
        scratch = <uint64_t *>malloc(max(n, <Py_ssize_t>KEPT_ROWS) * sizeof(uint64_t))
    else:
        kept_scratch = NULL
    if scratch == NULL:
        raise MemoryError(f"no memory to sort {n} rows")
    with nogil:
        fastbin_sort_radix(rows, n, scratch)
    if n <= KEPT_ROWS and kept_scratch == NULL:
        kept_scratch = scratch
    else:
        free(scratch)
    return 0


cdef bint is_faster_by_digits(int number_type) except -1:
    """Whether rows of which all digits vary are sorted clearly faster by digits than by NumPy, each at its best."""
    cdef cnp.ndarray rows = new_array(cnp.NPY_UINT64, RACE_ROWS)
    cdef uint64_t *filled = <uint64_t *>cnp.PyArray_DATA(rows)
    cdef Py_ssize_t race, way, i
    best = [np.inf, np.inf]
    for race in range(RACES):
        for way in range(2):
            for i in range(RACE_ROWS):
                filled[i] = mix(race * RACE_ROWS + i) >> 2  # others each time, as branches are learnt
            start = perf_counter()
            if way == 0:
                sort_by_numpy(filled, RACE_ROWS, number_type)
            else:
                sort_by_digits(filled, RACE_ROWS)
            best[way] = min(best[way], perf_counter() - start)
    return CLEARLY * best[1] < best[0]


cdef int sort_packed(uint64_t *rows, Py_ssize_t n, int number_type) except -1:
    """In place."""
    global digits_are_faster
    cdef bint is_sorted
    with nogil:
        is_sorted = fastbin_sort_few(rows, n)
    if is_sorted:
        return 0
    if n >= DIGITS_FROM and digits_are_faster == UNKNOWN:
        digits_are_faster = is_faster_by_digits(number_type)
    if DIGITS_FROM <= n < <int64_t>1 << 32 and digits_are_faster:
        return sort_by_digits(rows, n)
    return sort_by_numpy(rows, n, number_type)


def sort_runs(packed, starts, double high):
    """Sort each run of packed rows of scores up to `high`, in place. O(n log n).

    Parameters
    ----------
    packed : uint64 (n,)
    starts : int64 (runs + 1,)
        Where each run begins in `packed`, and the end.
    high : float
    """
    cdef uint64_t *row = <uint64_t *>words(packed)
    cdef const int64_t *start = integers(starts)
    cdef Py_ssize_t run
    cdef int number_type = type_to_sort(high)
    for run in range(len(starts) - 1):
        look_now_and_then(run)
        sort_packed(row + start[run], start[run + 1] - start[run], number_type)
