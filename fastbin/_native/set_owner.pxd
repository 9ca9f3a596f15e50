"""The owner of a set of models, for the other extensions."""

from libc.stdint cimport int32_t

from fastbin._native.cfastbin cimport fastbin_set, fastbin_set_spec, fastbin_status


cdef class SetOwner:
    cdef fastbin_set *set
    cdef fastbin_set_spec spec
    cdef bint needs_keys
    cdef bint has_one_event  # or none at all
    cdef object __weakref__

    cdef int _make(self, fastbin_set_spec *spec, keys, model_of_key, columns) except -1
    cdef int _adopt(self, fastbin_status status) except -1
    cdef int _refuse_empty(self) except -1
    cdef object _column(self, const void *data, int typenum)
