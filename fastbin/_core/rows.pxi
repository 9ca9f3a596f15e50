# Scores and keys as users give them, made ready for C.

# Below this many rows, releasing the GIL costs more than it can give back.
cdef enum:
    RELEASE_GIL_FROM = 2048

# Rows between two looks at signals: at most some .1 s, also of the maps that take logarithms.
cdef enum:
    SIGNALS_EVERY = 1 << 21


cdef double EXACT_BELOW = _EXACT_BELOW

cdef extern from "numpy/arrayscalars.h":
    ctypedef struct PyUInt64ScalarObject:
        uint64_t obval

cdef object numpy_uint64 = np.uint64

# Mixed into every draw of keys. Without it, all forked children of a process would draw the same keys.
cdef uint64_t process_entropy = 0


def _reseed():
    global process_entropy
    process_entropy = check_seed(None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reseed)


cdef uint64_t fresh_key(uint64_t draw_seed, uint64_t *n_draws) noexcept:
    """From the stream of an object that the operating system's entropy seeds. The caller holds the GIL."""
    n_draws[0] += 1
    return fastbin_row_key(draw_seed ^ process_entropy, n_draws[0])


cdef double number_of(score) except? -1.0:
    """The double of one score; the error for anything else names the argument, which Python's own would not."""
    cdef double number = 0.0
    try:
        number = score
    except TypeError:
        refuse_kind(score)
    except OverflowError:
        raise InputError(_BEYOND_DOUBLES, argument="score") from None
    if not -EXACT_BELOW < number < EXACT_BELOW:
        refuse_rounded(score, number, "score")
    return number


cdef uint64_t key_of(key) except? -1:
    """One tie key. Anything but a plain int in range, or numpy.uint64, is left to Python: to convert, or to refuse."""
    cdef uint64_t number = <uint64_t>-1  # reserved, so no key
    if PyLong_CheckExact(key):
        try:
            number = key
        except OverflowError:
            pass
    elif type(key) is numpy_uint64:
        number = (<PyUInt64ScalarObject *>key).obval
    return number if number != <uint64_t>-1 else check_key(key)


cdef bint is_fast(scores, keys, bint judges):
    """Whether these are arrays that C can read as they are. Keys of a fit only order its rows, and are not judged."""
    cdef cnp.ndarray array
    if not cnp.PyArray_CheckExact(scores):
        return False
    array = scores
    if cnp.PyArray_NDIM(array) != 1 or not cnp.PyArray_ISNOTSWAPPED(array):
        return False
    if cnp.PyArray_TYPE(array) != cnp.NPY_FLOAT64 and cnp.PyArray_TYPE(array) != cnp.NPY_FLOAT32:
        return False
    return keys is None or (
        cnp.PyArray_CheckExact(keys) and cnp.PyArray_TYPE(keys) == cnp.NPY_UINT64 and cnp.PyArray_NDIM(keys) == 1
        and cnp.PyArray_ISCARRAY_RO(keys) and cnp.PyArray_DIM(keys, 0) == cnp.PyArray_DIM(array, 0)
        and (not judges or are_plain_keys(<const uint64_t *>cnp.PyArray_DATA(keys), cnp.PyArray_DIM(keys, 0)))
    )


cdef bint are_plain_keys(const uint64_t *keys, size_t n) noexcept:
    """Whether `as_key_array` takes these without a doubt: all are 0, or one is 2**32 or more, so that they are not ids, and
    none comes near the reserved one, as a key in 2**32 does by chance.
    """
    # 0.13 ns a key by two streams into one word; 0.24 by one stream, 0.36 by a compare of all 64 bits.
    cdef uint64_t seen = 0
    cdef size_t i, half = n // 2
    for i in range(half):
        seen |= ((keys[i] >> 32) + 1) | ((keys[half + i] >> 32) + 1)
    if n % 2:
        seen |= (keys[n - 1] >> 32) + 1
    if seen == 1:  # all of them are small: plain if all are 0, which is a choice
        for i in range(n):
            if keys[i] != 0:
                return False
        return True
    return seen >> 32 == 0


cdef object check_out(out, int typenum, cnp.npy_intp length):
    """The array to fill, if it fits."""
    if (
        not cnp.PyArray_CheckExact(out) or cnp.PyArray_TYPE(out) != typenum or cnp.PyArray_NDIM(out) != 1
        or cnp.PyArray_DIM(out, 0) != length or not cnp.PyArray_ISCARRAY(out)
    ):
        dtype = "float64" if typenum == cnp.NPY_FLOAT64 else "int32"
        raise InputError(f"out must be a writeable, contiguous {dtype} array of shape ({length},)")
    return out


cdef inline int check_apart(cnp.ndarray out, cnp.ndarray scores, keys, cnp.npy_intp first_row) except -1:
    """Refuse an array to fill that overlaps the scores, from `first_row` on, or the keys. It may be the scores themselves."""
    if may_meet(out, scores) or (keys is not None and may_meet(out, keys)):
        refuse_overlap(out, scores, keys, first_row)
    return 0


cdef inline bint may_meet(cnp.ndarray one, cnp.ndarray other) noexcept:
    """Whether what lies between the first and the last byte of two arrays with one dimension overlaps."""
    return low_end(one) < high_end(other) and low_end(other) < high_end(one)


cdef inline size_t low_end(cnp.ndarray array) noexcept:
    return <size_t>cnp.PyArray_DATA(array) + min(0, (cnp.PyArray_DIM(array, 0) - 1) * cnp.PyArray_STRIDE(array, 0))


cdef inline size_t high_end(cnp.ndarray array) noexcept:
    """Behind the last byte, as if entries had 8."""
    cdef cnp.npy_intp reach = (cnp.PyArray_DIM(array, 0) - 1) * cnp.PyArray_STRIDE(array, 0)
    return <size_t>cnp.PyArray_DATA(array) + max(0, reach) + (8 if cnp.PyArray_DIM(array, 0) else 0)


cdef int refuse_overlap(cnp.ndarray out, cnp.ndarray scores, keys, cnp.npy_intp first_row) except -1:
    cdef bint in_place = (
        cnp.PyArray_DATA(scores) == row_at(out, first_row) and cnp.PyArray_TYPE(scores) == cnp.PyArray_TYPE(out)
        and (cnp.PyArray_DIM(scores, 0) == 1 or cnp.PyArray_STRIDE(scores, 0) == cnp.PyArray_STRIDE(out, 0))
    )
    if not in_place and np.shares_memory(out, scores):
        remedy = "pass an array of its own, or the one of the scores, from its first row to its last"
        raise InputError("overlaps the scores, which would change before they are read", remedy, argument="out")
    if keys is not None and np.shares_memory(out, keys):
        remedy = "pass an array of its own"
        raise InputError("overlaps tie_keys, which would change before they are read", remedy, argument="out")
    return 0


cdef bint propagates(nan) except -1:
    """Whether NaN is the answer to NaN, which is refused otherwise."""
    if isinstance(nan, str):
        if nan == "error":
            return False
        if nan == "propagate":
            return True
    raise InputError(f"nan is {nan!r}; choose one of 'error', 'propagate'")


cdef object pieces_of(scores, keys, nan, bint judges):
    """How many rows there are, the scores in pieces that C can read, each with its first row, and the keys of all rows."""
    check_same_index(scores=scores, tie_keys=keys)
    n_rows, pieces = as_score_pieces(scores, keep_nulls=propagates(nan))
    return n_rows, pieces, None if keys is None else as_key_array(keys, n_rows, to_order=not judges)


cdef int describe_piece(fastbin_rows *rows, piece, keys, seed, nan, size_t first_row) except -1:
    """The rows of one piece, from `first_row` of all that have these keys or this seed."""
    describe_call(rows, piece, keys, seed, nan)
    rows.first_row = first_row
    if keys is not None:
        rows.keys += first_row
    return 0


cdef void *row_at(cnp.ndarray result, cnp.npy_intp row) noexcept:
    return <char *>cnp.PyArray_DATA(result) + row * cnp.PyArray_STRIDE(result, 0)


cdef bint describe_call(fastbin_rows *rows, scores, keys, seed, nan) except -1:
    """The rows of one call; whether its seed is left to be drawn, for want of keys and of a seed."""
    describe_rows(rows, scores)
    if propagates(nan):
        rows.nan_policy = FASTBIN_NAN_PROPAGATE
    if keys is not None:
        if seed is not None:
            raise InputError("tie_keys and seed are both given, and each says how ties are broken; give one of them")
        rows.keys = <const uint64_t *>cnp.PyArray_DATA(keys)
    elif seed is not None:
        rows.seed = check_seed(seed)
    return keys is None and seed is None


cdef fastbin_rows part_of(const fastbin_rows *rows, size_t first) noexcept:
    """At most SIGNALS_EVERY of these rows, from `first` on."""
    cdef fastbin_rows part = rows[0]
    part.scores = <const char *>rows.scores + <Py_ssize_t>first * rows.score_stride
    part.n_rows = min(rows.n_rows - first, <size_t>SIGNALS_EVERY)
    part.first_row += first
    if part.keys != NULL:
        part.keys += first
    return part
