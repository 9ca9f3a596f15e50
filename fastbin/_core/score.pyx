"""The objects that own what C scores and saves: a model, a set of models, a stream; and the state of a monitor.

Arrays of float32 or float64 scores, of any stride, with contiguous uint64 keys go to C as they are; everything else is
converted by `fastbin._base.checks` first, which also raises the errors. The parts below are one extension, as each of its own
would cost the build a run of Cython and of the compiler, and the process an import.
"""

cimport numpy as cnp
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_CheckSignals
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check
from cpython.long cimport PyLong_CheckExact
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from libc.math cimport INFINITY, exp
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

import os
from threading import Lock

import numpy as np

from fastbin._base.cells import TextCells, as_cells, check_cell
from fastbin._base.errors import FastbinError, FormatError, InputError
from fastbin._base.frames import check_same_index, like
from fastbin._base.checks import check_key, check_seed
from fastbin._base.doubles import BEYOND_DOUBLES as _BEYOND_DOUBLES, EXACT_BELOW as _EXACT_BELOW, refuse_rounded
from fastbin._base.checks import (
    as_key_array, as_score_pieces, check_same_length, refuse_kind, refuse_labels, refuse_scores,
)

from fastbin._core.cfastbin cimport *

cnp.import_array()

include "arrays.pxi"


cdef const void *given_data(array, int typenum, int n_dimensions=1) except? NULL:
    """The same; NULL for ``None``, and for an array without elements."""
    return data_of(array, typenum, n_dimensions) if array is not None and array.size else NULL


cdef inline const double *given_doubles(array, int n_dimensions=1) except? NULL:
    return <const double *>given_data(array, cnp.NPY_FLOAT64, n_dimensions)


cdef inline const int64_t *given_integers(array, int n_dimensions=1) except? NULL:
    return <const int64_t *>given_data(array, cnp.NPY_INT64, n_dimensions)


cdef inline const uint64_t *given_words(array) except? NULL:
    return <const uint64_t *>given_data(array, cnp.NPY_UINT64)


include "model_owner.pxi"
include "rows.pxi"
include "model.pxi"
include "set_owner.pxi"
include "model_set.pxi"
include "vector.pxi"
include "stream.pxi"
include "starts.pxi"
