"""The owner of a model, for the other extensions."""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

from fastbin._native.cfastbin cimport (
    FASTBIN_FLOAT32, FASTBIN_FLOAT64, fastbin_model, fastbin_model_spec, fastbin_rows, fastbin_status,
)


cdef bint describe_model(const fastbin_model *model, fastbin_model_spec *spec) noexcept
cdef object error_of(fastbin_status status)
cdef int succeed(fastbin_status status) except -1
cdef int succeed_with(fastbin_status status, const fastbin_model_spec *spec, scores, Py_ssize_t row) except -1


cdef inline void describe_rows(fastbin_rows *rows, cnp.ndarray scores):
    """A float32 or float64 array, read where it is; NaN is an error."""
    memset(rows, 0, sizeof(fastbin_rows))
    rows.struct_size = sizeof(fastbin_rows)
    rows.scores, rows.score_stride = cnp.PyArray_DATA(scores), cnp.PyArray_STRIDE(scores, 0)
    rows.n_rows = cnp.PyArray_DIM(scores, 0)
    rows.score_type = FASTBIN_FLOAT64 if cnp.PyArray_TYPE(scores) == cnp.NPY_FLOAT64 else FASTBIN_FLOAT32


cdef class ModelOwner:
    cdef fastbin_model *model
    cdef fastbin_model_spec spec
    cdef bint needs_keys
    cdef object lender  # what owns the model, if this object does not
    cdef bint is_lent
    cdef object __weakref__

    cdef int _adopt(self, fastbin_status status) except -1
    cdef int _borrow(self, const fastbin_model *model, lender) except -1
    cdef object _view(self, const void *data, Py_ssize_t length, int typenum)
    cdef object _column(self, const void *data, int typenum)
    cdef Py_ssize_t _n_values(self)
    cdef Py_ssize_t _n_edges(self)
    cdef object _step_column(self, const int64_t *data)
    cdef int _refuse_empty(self) except -1
