"""The owner of a `fastbin_model`, its read-only views, and the scoring calls.

`NativeModel` handles the cases that must be fast without looking left or right: exact NumPy arrays of float32 or float64,
of any stride, uint64 keys, a contiguous float64 `out`. Everything else goes through two hooks, which the Python class
above it (`fastbin.model.BinnedModel`) fills in: `_coerce_rows` turns any array-like into such arrays, and `_refuse_row`
raises the error for a bad score. The model pointer is set once, before anybody else sees the object.
"""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

import secrets

from fastbin._errors import FastbinError, FormatError, InputError

from fastbin._native.cfastbin cimport *

cnp.import_array()

__all__ = ["EmptyCall", "NativeModel", "library_version", "status_text"]

# Below this many rows, releasing the GIL costs more than it can give back.
cdef enum:
    RELEASE_GIL_FROM = 2048

cdef uint64_t KEY_ABOVE = 0
cdef uint64_t KEY_BELOW = 0xFFFFFFFFFFFFFFFF


def library_version():
    """The version of the C library, which is the version of the package."""
    return fastbin_version().decode("ascii")


def status_text(int status):
    """The library's sentence for a status code."""
    return fastbin_status_string(<fastbin_status>status).decode("ascii")


cdef object error_of(fastbin_status status):
    """The one table from status codes to exceptions."""
    cdef str text = fastbin_status_string(status).decode("ascii")
    if status == FASTBIN_ERROR_MEMORY:
        return MemoryError(text)
    if FASTBIN_ERROR_MAGIC <= status <= FASTBIN_ERROR_CONTENT:
        return FormatError(text)
    if status == FASTBIN_ERROR_ARGUMENT or FASTBIN_ERROR_EDGES <= status <= FASTBIN_ERROR_ORIGIN:
        return InputError(text)
    return FastbinError(text)


cdef class NativeModel:
    """A fitted model, owned by C. Immutable; safe to score with from any number of threads."""

    cdef fastbin_model *model
    cdef fastbin_model_spec spec
    cdef bint needs_keys
    cdef uint64_t draw_seed
    cdef uint64_t n_draws
    cdef object __weakref__

    def __cinit__(self, *args, **kwargs):
        self.model = NULL
        self.draw_seed = secrets.randbits(64)
        self.n_draws = 0

    def __dealloc__(self):
        fastbin_model_free(self.model)

    # ------------------------------------------------------------------ making

    @classmethod
    def _create(
        cls, *, int kind, int scheme, int ties, int n_bins_asked, const double[::1] edges, const uint64_t[::1] edge_keys,
        const double[::1] values, const int64_t[::1] counts, const int64_t[::1] label_sums, const double[::1] weight_sums,
        const double[::1] weighted_label_sums, const double[::1] weight_square_sums, double score_min, double score_max,
        double delta, double odds_ratio, uint64_t seed, int64_t n_samples, int64_t n_positive, int64_t n_tied,
        int map, tuple map_parameters, bytes note,
    ):
        """A model from its parts; arrays that do not apply are ``None``. C checks all of it."""
        cdef NativeModel self = cls.__new__(cls)
        cdef fastbin_model_spec spec
        cdef int i
        memset(&spec, 0, sizeof(spec))
        spec.struct_size = sizeof(spec)
        spec.kind, spec.scheme, spec.ties, spec.map = kind, scheme, ties, map
        for i, parameter in enumerate(map_parameters):
            spec.map_parameters[i] = parameter
        spec.n_bins = <int32_t>values.shape[0] if values is not None else 0
        spec.n_bins_asked = n_bins_asked
        if edges is not None and edges.shape[0]:
            spec.edges = &edges[0]
        if edge_keys is not None and edge_keys.shape[0]:
            spec.edge_keys = &edge_keys[0]
        if values is not None and values.shape[0]:
            spec.values = &values[0]
        if counts is not None:
            spec.counts, spec.label_sums = &counts[0], &label_sums[0]
        if weight_sums is not None:
            spec.weight_sums = &weight_sums[0]
            spec.weighted_label_sums = &weighted_label_sums[0]
            spec.weight_square_sums = &weight_square_sums[0]
        spec.score_min, spec.score_max = score_min, score_max
        spec.delta, spec.odds_ratio, spec.seed = delta, odds_ratio, seed
        spec.n_samples, spec.n_positive, spec.n_tied = n_samples, n_positive, n_tied
        spec.note, spec.note_size = PyBytes_AS_STRING(note), len(note)
        self._adopt(fastbin_model_create(&spec, &self.model))
        return self

    @classmethod
    def _read(cls, const unsigned char[::1] data):
        """A model from the bytes of FORMAT.md."""
        cdef NativeModel self = cls.__new__(cls)
        cdef const void *start = &data[0] if data.shape[0] else NULL
        if start == NULL:
            raise FormatError("no bytes: an empty file is not a model")
        self._adopt(fastbin_model_read(start, data.shape[0], &self.model))
        return self

    cdef int _adopt(self, fastbin_status status) except -1:
        cdef int32_t i
        if status != FASTBIN_OK:
            raise error_of(status)
        self.spec.struct_size = sizeof(fastbin_model_spec)
        fastbin_model_describe(self.model, &self.spec)
        self.needs_keys = self.spec.delta > 0
        for i in range(self.spec.n_bins - 1 if self.spec.kind == FASTBIN_STEP else 0):
            if self.spec.edge_keys[i] != KEY_ABOVE and self.spec.edge_keys[i] != KEY_BELOW:
                self.needs_keys = True
        return 0

    def to_bytes(self):
        """The model in the bytes of FORMAT.md: the same model always gives the same bytes."""
        cdef size_t size = fastbin_model_size(self.model)
        cdef bytes data = PyBytes_FromStringAndSize(NULL, size)
        cdef fastbin_status status = fastbin_model_write(self.model, PyBytes_AS_STRING(data), size)
        if status != FASTBIN_OK:
            raise error_of(status)
        return data

    # ------------------------------------------------------------------ reading

    cdef object _view(self, const void *data, cnp.npy_intp length, int typenum):
        """A read-only array over the model's own memory, which it keeps alive."""
        cdef cnp.ndarray view
        if data == NULL:
            return cnp.PyArray_EMPTY(1, &length, typenum, 0) if length == 0 else None
        view = cnp.PyArray_SimpleNewFromData(1, &length, typenum, <void *>data)
        cnp.PyArray_CLEARFLAGS(view, cnp.NPY_ARRAY_WRITEABLE)
        cnp.set_array_base(view, self)
        return view

    cdef cnp.npy_intp _n_edges(self):
        if self.spec.kind == FASTBIN_STEP:
            return self.spec.n_bins - 1
        return self.spec.n_bins

    @property
    def edges(self):
        """float64 (n_bins - 1,): the inner edges, ascending. Knots, (n_bins,), for an interpolated model."""
        return self._view(self.spec.edges, self._n_edges(), cnp.NPY_FLOAT64)

    @property
    def edge_keys(self):
        """uint64, one per edge: 0 sends tied scores up, 2**64 - 1 down, anything else splits them at random."""
        return self._view(self.spec.edge_keys, self._n_edges(), cnp.NPY_UINT64)

    @property
    def values(self):
        """float64 (n_bins,): the calibrated probability of each bin."""
        return self._view(self.spec.values, self.spec.n_bins, cnp.NPY_FLOAT64)

    @property
    def counts(self):
        """int64 (n_bins,): the samples averaged in each bin, or ``None`` for a model without a tally."""
        return self._view(self.spec.counts, self.spec.n_bins, cnp.NPY_INT64)

    @property
    def label_sums(self):
        """int64 (n_bins,): of these, the samples with label 1."""
        return self._view(self.spec.label_sums, self.spec.n_bins, cnp.NPY_INT64)

    @property
    def weight_sums(self):
        """float64 (n_bins,): sum of the weights, or ``None`` for an unweighted model."""
        return self._view(self.spec.weight_sums, self.spec.n_bins, cnp.NPY_FLOAT64)

    @property
    def weighted_label_sums(self):
        """float64 (n_bins,): sum of weight times label, or ``None`` for an unweighted model."""
        return self._view(self.spec.weighted_label_sums, self.spec.n_bins, cnp.NPY_FLOAT64)

    @property
    def weight_square_sums(self):
        """float64 (n_bins,): sum of the squared weights, or ``None`` for an unweighted model."""
        return self._view(self.spec.weight_square_sums, self.spec.n_bins, cnp.NPY_FLOAT64)

    @property
    def n_bins(self):
        """int: the number of bins (knots of an interpolated model, 0 for a smooth map)."""
        return self.spec.n_bins

    @property
    def n_bins_asked(self):
        """int: the number of bins that was asked for; ties can leave fewer. 0 where none was asked for."""
        return self.spec.n_bins_asked

    @property
    def n_samples(self):
        """int: the samples seen by the fit, those that no bin averages included."""
        return self.spec.n_samples

    @property
    def n_positive(self):
        """int: of these, the samples with label 1."""
        return self.spec.n_positive

    @property
    def n_tied(self):
        """int: of these, the samples that share a score with a boundary and another sample, where the tie rule decides."""
        return self.spec.n_tied

    @property
    def seed(self):
        """int: the seed of the fit."""
        return self.spec.seed

    @property
    def delta(self):
        """float: the size of the value randomisation (Gupta & Ramdas 2021, Algorithm 2); 0 for none."""
        return self.spec.delta

    @property
    def odds_ratio(self):
        """float: the ratio by which label shift multiplied the odds of every value; 1 for none."""
        return self.spec.odds_ratio

    @property
    def _codes(self):
        return self.spec.kind, self.spec.scheme, self.spec.ties, self.spec.map

    @property
    def _map_parameters(self):
        return tuple(self.spec.map_parameters[i] for i in range(4))

    @property
    def _score_limits(self):
        return self.spec.score_min, self.spec.score_max

    @property
    def _note(self):
        return self.spec.note[: self.spec.note_size] if self.spec.note_size else b""

    @property
    def needs_key(self):
        """bool: whether some score gets its bin, or its value, by its key."""
        return self.needs_keys

    # ------------------------------------------------------------------ one score

    def predict_one(self, double score, key=None):
        """The calibrated probability of one score: one float in, one float out.

        Parameters
        ----------
        score : float
            Must be inside the model's score range; NaN is refused.
        key : int, optional
            The tie key of the entity, in [0, 2**64 - 2]. Only looked at when the score equals an edge that splits ties at
            random (or the model randomises values); drawn afresh when not given.

        Returns
        -------
        float

        Raises
        ------
        InputError
            If the score is NaN or outside the range.
        """
        cdef double value
        cdef uint64_t tie_key = 0
        cdef fastbin_status status
        if key is not None:
            tie_key = self._check_key(key)
        elif self.needs_keys:
            tie_key = self._draw()
        status = fastbin_predict_one(self.model, score, tie_key, &value)
        if status != FASTBIN_OK:
            self._refuse_one(score, status)
        return value

    def assign_one(self, double score, key=None):
        """The bin of one score, from 0; arguments and errors as in `predict_one`."""
        cdef int32_t bin_number
        cdef uint64_t tie_key = self._draw() if key is None else self._check_key(key)
        cdef fastbin_status status = fastbin_assign_one(self.model, score, tie_key, &bin_number)
        if status != FASTBIN_OK:
            self._refuse_one(score, status)
        return bin_number

    cdef uint64_t _draw(self):
        # Under the GIL; the stream is this object's own, from the operating system's entropy.
        self.n_draws += 1
        return fastbin_row_key(self.draw_seed, self.n_draws)

    cdef uint64_t _check_key(self, key) except? 7:
        if not 0 <= key < KEY_BELOW:
            raise InputError(f"key is {key!r}; it must be an integer in [0, 2**64 - 2]")
        return <uint64_t>key

    cdef int _refuse_one(self, double score, fastbin_status status) except -1:
        if status == FASTBIN_ERROR_SCORE_NAN or status == FASTBIN_ERROR_SCORE_RANGE:
            self._refuse_score(score)
        raise error_of(status)

    # ------------------------------------------------------------------ many scores

    cdef bint _is_fast(self, scores, keys, out):
        """Whether these are arrays that C can read as they are."""
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
        )

    cdef int _fill(self, fastbin_rows *rows, cnp.ndarray scores, keys, seed, nan) except -1:
        memset(rows, 0, sizeof(fastbin_rows))
        rows.struct_size = sizeof(fastbin_rows)
        rows.scores = cnp.PyArray_DATA(scores)
        rows.score_stride = cnp.PyArray_STRIDE(scores, 0)
        rows.n_rows = cnp.PyArray_DIM(scores, 0)
        rows.score_type = FASTBIN_FLOAT64 if cnp.PyArray_TYPE(scores) == cnp.NPY_FLOAT64 else FASTBIN_FLOAT32
        if nan == "error":
            rows.nan_policy = FASTBIN_NAN_ERROR
        elif nan == "propagate":
            rows.nan_policy = FASTBIN_NAN_PROPAGATE
        else:
            raise InputError(f"nan is {nan!r}; choose one of 'error', 'propagate'")
        if keys is not None:
            rows.keys = <const uint64_t *>cnp.PyArray_DATA(keys)
        elif seed is not None:
            rows.seed = seed
        elif self.needs_keys:
            rows.seed = self._draw()
        return 0

    cdef int _raise(self, fastbin_status status, scores, size_t bad_row) except -1:
        if status == FASTBIN_ERROR_SCORE_NAN or status == FASTBIN_ERROR_SCORE_RANGE:
            self._refuse_row(scores, bad_row)
        raise error_of(status)

    cdef cnp.ndarray _result(self, out, cnp.npy_intp length, int typenum):
        """`out` where it was given and fits, else a new array."""
        if out is None:
            return cnp.PyArray_EMPTY(1, &length, typenum, 0)
        if (
            not cnp.PyArray_CheckExact(out) or cnp.PyArray_TYPE(out) != typenum or cnp.PyArray_NDIM(out) != 1
            or cnp.PyArray_DIM(out, 0) != length or not cnp.PyArray_ISCARRAY(out)
        ):
            wanted = "float64" if typenum == cnp.NPY_FLOAT64 else "int32"
            raise InputError(f"out must be a writeable, contiguous {wanted} array of shape ({length},)")
        return out

    def predict(self, scores, *, keys=None, seed=None, out=None, nan="error"):
        """Calibrated probabilities.

        Parameters
        ----------
        scores : array-like of shape (n,)
            float32 or float64 arrays of any stride are read where they are; float32 scores are compared exactly, as
            doubles. Must be inside the model's score range.
        keys : array-like of shape (n,), optional
            Tie keys: unsigned integers below 2**64 - 1, or floats in [0, 1). They decide only for scores that equal an
            edge. A key must be uniform and independent of its row: a salted hash of the entity's id, never of the score.
        seed : int, optional
            Without keys, row i gets the key of (seed, i); without a seed, one is drawn afresh for the call.
        out : ndarray of shape (n,), float64, contiguous, optional
            Filled and returned; nothing is allocated then. It may not overlap the scores unless it is the same array.
        nan : {"error", "propagate"}
            Whether a NaN score is refused, or gives NaN.

        Returns
        -------
        ndarray of shape (n,), float64
            In [0, 1].

        Raises
        ------
        InputError
            For the first score that is NaN or outside the range, with its position; `out` may be partly written.

        Notes
        -----
        O(n) expected; the GIL is released for all but small inputs.

        Examples
        --------
        >>> import fastbin as fb
        >>> cal = fb.UniformMassBinning(n_bins=2).fit([0.1, 0.2, 0.6, 0.7, 0.9], [0, 0, 0, 1, 1])
        >>> cal.model_.predict([0.15, 0.8])
        array([0., 1.])
        """
        cdef fastbin_rows rows
        cdef fastbin_status status
        cdef size_t bad_row = 0
        cdef cnp.ndarray result
        cdef double *values
        if not self._is_fast(scores, keys, out):
            scores, keys = self._coerce_rows(scores, keys)
        self._fill(&rows, scores, keys, seed, nan)
        result = self._result(out, rows.n_rows, cnp.NPY_FLOAT64)
        values = <double *>cnp.PyArray_DATA(result)
        if rows.n_rows < RELEASE_GIL_FROM:
            status = fastbin_predict(self.model, &rows, values, &bad_row)
        else:
            with nogil:
                status = fastbin_predict(self.model, &rows, values, &bad_row)
        if status != FASTBIN_OK:
            self._raise(status, scores, bad_row)
        return result

    def assign(self, scores, *, keys=None, seed=None, out=None, nan="error"):
        """Bin numbers, int32 from 0 to n_bins - 1 (-1 where NaN propagates); arguments and errors as in `predict`."""
        cdef fastbin_rows rows
        cdef fastbin_status status
        cdef size_t bad_row = 0
        cdef cnp.ndarray result
        cdef int32_t *bins
        if not self._is_fast(scores, keys, out):
            scores, keys = self._coerce_rows(scores, keys)
        self._fill(&rows, scores, keys, seed, nan)
        result = self._result(out, rows.n_rows, cnp.NPY_INT32)
        bins = <int32_t *>cnp.PyArray_DATA(result)
        with nogil:
            status = fastbin_assign(self.model, &rows, bins, &bad_row)
        if status != FASTBIN_OK:
            self._raise(status, scores, bad_row)
        return result

    def lookup(self, scores, table, *, keys=None, seed=None, nan="error"):
        """One row of a float64 (n_bins, width) table per score, in one pass; other arguments and errors as in `predict`."""
        cdef fastbin_rows rows
        cdef fastbin_status status
        cdef size_t bad_row = 0
        cdef const double[:, ::1] entries = table
        cdef cnp.npy_intp shape[2]
        cdef cnp.ndarray result
        cdef double *filled
        if entries.shape[0] != self.spec.n_bins or entries.shape[1] == 0:
            raise InputError(f"table must have one row per bin ({self.spec.n_bins}), got shape {tuple(table.shape)}")
        if not self._is_fast(scores, keys, None):
            scores, keys = self._coerce_rows(scores, keys)
        self._fill(&rows, scores, keys, seed, nan)
        shape[0], shape[1] = rows.n_rows, entries.shape[1]
        result = cnp.PyArray_EMPTY(2, shape, cnp.NPY_FLOAT64, 0)
        filled = <double *>cnp.PyArray_DATA(result)
        with nogil:
            status = fastbin_lookup(self.model, &rows, &entries[0, 0], entries.shape[1], filled, &bad_row)
        if status != FASTBIN_OK:
            self._raise(status, scores, bad_row)
        return result

    # ------------------------------------------------------------------ hooks

    def _coerce_rows(self, scores, keys):
        """Any scores and keys as arrays that `_is_fast` accepts."""
        raise TypeError("scores must be a one-dimensional float32 or float64 array")

    def _refuse_row(self, scores, position):
        """Raise for the bad score at this position."""
        raise InputError(f"scores[{position}] is {scores[position]!r}")

    def _refuse_score(self, score):
        """Raise for one bad score."""
        raise InputError(f"score is {score!r}")


cdef class EmptyCall:
    """What the call of a method costs by itself: `predict_one` with the same signature, and nothing in it."""

    def predict_one(self, double score, key=None):
        """The score."""
        return score
