# Arrays of NumPy as C reads them. Pointers and not typed memoryviews, whose runtime would be four fifths of an extension.

cdef void *data_of(array, int typenum, int n_dimensions=1) except? NULL:
    """Where the elements are; refuses all but an aligned array of this type, native order and no gaps.

    Types are compared by what they hold: unsigned long and unsigned long long are two types of NumPy, and one where both have
    64 bits.
    """
    cdef cnp.ndarray given
    cdef bint same_type
    if cnp.PyArray_Check(array):
        given = array
        same_type = cnp.PyArray_EquivTypenums(cnp.PyArray_TYPE(given), typenum)
        if same_type and cnp.PyArray_NDIM(given) == n_dimensions and cnp.PyArray_ISCARRAY_RO(given):
            return cnp.PyArray_DATA(given)
    wanted = cnp.PyArray_DescrFromType(typenum)
    raise TypeError(f"a contiguous {wanted} array of {n_dimensions} dimensions is needed, got {array!r:.100}")


cdef inline const double *doubles(array) except? NULL:
    return <const double *>data_of(array, cnp.NPY_FLOAT64)


cdef inline const int64_t *integers(array) except? NULL:
    return <const int64_t *>data_of(array, cnp.NPY_INT64)


cdef inline const uint64_t *words(array) except? NULL:
    return <const uint64_t *>data_of(array, cnp.NPY_UINT64)


cdef inline const uint8_t *bytes_in(array) except? NULL:
    return <const uint8_t *>data_of(array, cnp.NPY_UINT8)


cdef cnp.ndarray new_array(int typenum, cnp.npy_intp n_rows, cnp.npy_intp n_columns=-1):
    """An array of one dimension, or of two, that is to be filled."""
    cdef cnp.npy_intp shape[2]
    shape[0], shape[1] = n_rows, n_columns
    return cnp.PyArray_EMPTY(1 if n_columns < 0 else 2, shape, typenum, 0)
