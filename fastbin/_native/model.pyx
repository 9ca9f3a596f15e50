"""The scoring calls over a `fastbin_model`.

Exact NumPy arrays of float32 or float64, of any stride, with contiguous uint64 keys go to C as they are. Everything else is
converted first by `fastbin._validation`, which also raises the error for a bad score.
"""

cimport cython
cimport numpy as cnp
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uint64_t

from fastbin._errors import InputError
from fastbin._scalars import check_key, check_seed
from fastbin._validation import as_key_array, as_scores, refuse_kind

from fastbin._native.cfastbin cimport *
from fastbin._native.owner cimport ModelOwner, describe_rows, succeed_with

cnp.import_array()

# Below this many rows, releasing the GIL costs more than it can give back.
cdef enum:
    RELEASE_GIL_FROM = 2048


cdef double number_of(score) except? -1.0:
    """The double of one score; the error for anything else names the argument, which Python's own would not."""
    try:
        return score
    except TypeError:
        refuse_kind(score)


cdef bint is_fast(scores, keys):
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


cdef object check_out(out, int typenum, cnp.npy_intp length):
    """The array to fill, if it fits."""
    if (
        not cnp.PyArray_CheckExact(out) or cnp.PyArray_TYPE(out) != typenum or cnp.PyArray_NDIM(out) != 1
        or cnp.PyArray_DIM(out, 0) != length or not cnp.PyArray_ISCARRAY(out)
    ):
        dtype = "float64" if typenum == cnp.NPY_FLOAT64 else "int32"
        raise InputError(f"out must be a writeable, contiguous {dtype} array of shape ({length},)")
    return out


cdef fastbin_status score_rows(
    const fastbin_model *model, const fastbin_rows *rows, int typenum, const double *table, size_t width, void *filled,
    size_t *bad_row,
) noexcept nogil:
    if table != NULL:
        return fastbin_lookup(model, rows, table, width, <double *>filled, bad_row)
    if typenum == cnp.NPY_FLOAT64:
        return fastbin_predict(model, rows, <double *>filled, bad_row)
    return fastbin_assign(model, rows, <int32_t *>filled, bad_row)


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
            The tie key of the entity, in [0, 2**64 - 2]. Used only when the score equals an edge that splits ties at
            random (or the model randomises values); drawn afresh when not given.

        Returns
        -------
        float

        Raises
        ------
        InputError
            If the score is NaN or outside the range.
        """
        cdef double value = 0.0
        cdef double number = PyFloat_AS_DOUBLE(score) if PyFloat_Check(score) else number_of(score)
        cdef uint64_t tie_key = 0
        cdef fastbin_status status
        if self.model == NULL:
            self._refuse_empty()
        if key is not None:
            tie_key = check_key(key)
        elif self.needs_keys:
            tie_key = self._draw()
        status = fastbin_predict_one(self.model, number, tie_key, &value)
        if status != FASTBIN_OK:
            succeed_with(status, &self.spec, number, -1)
        return value

    def assign_one(self, score, key=None):
        """The bin of one score, from 0; arguments and errors as in `predict_one`."""
        cdef int32_t bin_number = -1
        cdef double number = PyFloat_AS_DOUBLE(score) if PyFloat_Check(score) else number_of(score)
        cdef uint64_t tie_key = self._draw() if key is None else check_key(key)
        cdef fastbin_status status
        if self.model == NULL:
            self._refuse_empty()
        status = fastbin_assign_one(self.model, number, tie_key, &bin_number)
        if status != FASTBIN_OK:
            succeed_with(status, &self.spec, number, -1)
        return bin_number

    # ------------------------------------------------------------------ many scores

    cdef object _score(self, int typenum, scores, keys, seed, nan, out, const double *table, cnp.npy_intp width):
        """Float64 values or int32 bins, in `out` if given; with a table, float64 rows of this width."""
        cdef fastbin_rows rows
        cdef fastbin_status status
        cdef size_t bad_row = 0
        cdef cnp.npy_intp shape[2]
        cdef cnp.ndarray result
        cdef void *filled
        if not is_fast(scores, keys):
            scores = as_scores(scores)
            keys = None if keys is None else as_key_array(keys, len(scores))
        if self.model == NULL:
            self._refuse_empty()
        describe_rows(&rows, scores)
        if nan != "error":
            if nan != "propagate":
                raise InputError(f"nan is {nan!r}; choose one of 'error', 'propagate'")
            rows.nan_policy = FASTBIN_NAN_PROPAGATE
        if keys is not None:
            if seed is not None:
                raise InputError("keys and seed are both given, and each says how ties are broken; give one of them")
            rows.keys = <const uint64_t *>cnp.PyArray_DATA(keys)
        elif seed is not None:
            rows.seed = check_seed(seed)
        elif self.needs_keys:
            rows.seed = self._draw()

        shape[0], shape[1] = rows.n_rows, width
        if out is None:
            result = cnp.PyArray_EMPTY(1 if table == NULL else 2, shape, typenum, 0)
        else:
            result = check_out(out, typenum, rows.n_rows)
        filled = cnp.PyArray_DATA(result)
        if rows.n_rows < RELEASE_GIL_FROM:
            status = score_rows(self.model, &rows, typenum, table, width, filled, &bad_row)
        else:
            with nogil:
                status = score_rows(self.model, &rows, typenum, table, width, filled, &bad_row)
        if status != FASTBIN_OK:
            succeed_with(status, &self.spec, scores, bad_row)
        return result

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
        return self._score(cnp.NPY_FLOAT64, scores, keys, seed, nan, out, NULL, 0)

    def assign(self, scores, *, keys=None, seed=None, out=None, nan="error"):
        """Bin numbers, int32 from 0 to n_bins - 1 (-1 where NaN propagates); arguments and errors as in `predict`."""
        return self._score(cnp.NPY_INT32, scores, keys, seed, nan, out, NULL, 0)

    def lookup(self, scores, table, *, keys=None, seed=None, nan="error"):
        """One row of a float64 (n_bins, width) table per score, in one pass; other arguments and errors as in `predict`."""
        cdef const double[:, ::1] entries = table
        if entries.shape[0] != self.spec.n_bins or entries.shape[1] == 0:
            raise InputError(f"table must have one row per bin ({self.spec.n_bins}), got shape {tuple(table.shape)}")
        return self._score(cnp.NPY_FLOAT64, scores, keys, seed, nan, None, &entries[0, 0], entries.shape[1])


@cython.auto_pickle(False)
cdef class EmptyCall:
    """For benchmarks: what the call of a method costs by itself, `predict_one` with the same signature and an empty body."""

    def predict_one(self, double score, key=None):
        """The score."""
        return score
