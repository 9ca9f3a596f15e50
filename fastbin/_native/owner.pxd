"""What the other extensions see of the owner of a model."""

from libc.stdint cimport uint64_t

from fastbin._native.cfastbin cimport fastbin_model, fastbin_model_spec, fastbin_status


cdef object error_of(fastbin_status status)


cdef class ModelOwner:
    cdef fastbin_model *model
    cdef fastbin_model_spec spec
    cdef bint needs_keys
    cdef uint64_t draw_seed
    cdef uint64_t n_draws
    cdef object __weakref__

    cdef int _adopt(self, fastbin_status status) except -1
    cdef object _view(self, const void *data, Py_ssize_t length, int typenum)
    cdef object _column(self, const void *data, int typenum)
    cdef Py_ssize_t _n_edges(self)
    cdef uint64_t _draw(self)
    cdef int _refuse_empty(self) except -1
