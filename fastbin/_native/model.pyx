"""The scoring calls over a `fastbin_model`.

`NativeModel` handles the cases that must be fast without looking left or right: exact NumPy arrays of float32 or float64,
of any stride, uint64 keys, a contiguous `out`. Everything else goes through hooks, which the Python class above it
(`fastbin.model.BinnedModel`) fills in: `_coerce_rows` turns any array-like into such arrays, `_refuse_row` and
`_refuse_score` raise the error for a bad score.
"""

cimport cython
cimport numpy as cnp
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memset

from fastbin._errors import InputError, InputTypeError

from fastbin._native.cfastbin cimport *
from fastbin._native.owner cimport ModelOwner, error_of

cnp.import_array()

__all__ = ["EmptyCall", "NativeModel"]

# Below this many rows, releasing the GIL costs more than it can give back.
cdef enum:
    RELEASE_GIL_FROM = 2048

cdef uint64_t KEY_BELOW = 0xFFFFFFFFFFFFFFFF


cdef class NativeModel(ModelOwner):
    """A fitted model that scores; safe from any number of threads."""

    # ------------------------------------------------------------------ one score

    def predict_one(self, score, key=None):
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
        cdef double value = 0.0, number
        cdef uint64_t tie_key = 0
        cdef fastbin_status status
        number = PyFloat_AS_DOUBLE(score) if PyFloat_Check(score) else self._number(score)
        if self.model == NULL:
            self._refuse_empty()
        if key is not None:
            tie_key = self._check_key(key)
        elif self.needs_keys:
            tie_key = self._draw()
        status = fastbin_predict_one(self.model, number, tie_key, &value)
        if status != FASTBIN_OK:
            self._refuse_one(number, status)
        return value

    def assign_one(self, score, key=None):
        """The bin of one score, from 0; arguments and errors as in `predict_one`."""
        cdef int32_t bin_number = -1
        cdef double number = PyFloat_AS_DOUBLE(score) if PyFloat_Check(score) else self._number(score)
        cdef uint64_t tie_key = self._draw() if key is None else self._check_key(key)
        cdef fastbin_status status
        if self.model == NULL:
            self._refuse_empty()
        status = fastbin_assign_one(self.model, number, tie_key, &bin_number)
        if status != FASTBIN_OK:
            self._refuse_one(number, status)
        return bin_number

    cdef double _number(self, score) except? -1.0:
        """The double that stands for one score; Python's own words would not name the argument."""
        try:
            return score
        except TypeError:
            self._refuse_kind(score)
            raise

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
        if self.model == NULL:
            self._refuse_empty()
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
            if seed is not None:
                raise InputError("keys and seed are both given, and each says how ties are broken; give one of them")
            rows.keys = <const uint64_t *>cnp.PyArray_DATA(keys)
        elif seed is not None:
            rows.seed = self._check_seed(seed)
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

    def _refuse_kind(self, score):
        """Raise for one score that is no number."""
        raise InputTypeError(f"score is {score!r}; pass one number")

    def _check_key(self, key):
        """One tie key as an integer in [0, 2**64 - 2]."""
        return key

    def _check_seed(self, seed):
        """A seed as an integer in [0, 2**64)."""
        return seed


@cython.auto_pickle(False)
cdef class EmptyCall:
    """What the call of a method costs by itself: `predict_one` with the same signature, and nothing in it."""

    def predict_one(self, double score, key=None):
        """The score."""
        return score
