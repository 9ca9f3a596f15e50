"""The scoring calls over a `fastbin_model`.

Exact NumPy arrays of float32 or float64, of any stride, with contiguous uint64 keys go to C as they are. Everything else is
converted first by `fastbin._validation`, which also raises the error for a bad score.
"""

cimport cython
cimport numpy as cnp
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint64_t

import os
import secrets

import numpy as np

from fastbin._errors import InputError
from fastbin._scalars import check_key, check_seed
from fastbin._validation import as_key_array, as_scores, refuse_kind

from fastbin._native.cfastbin cimport *
from fastbin._native.owner cimport ModelOwner, describe_rows, succeed_with

cnp.import_array()

# Mixed into every draw of keys. Without it, all forked children of a process would draw the same keys.
cdef uint64_t process_entropy = 0


def _reseed():
    global process_entropy
    process_entropy = secrets.randbits(64)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reseed)


cdef uint64_t fresh_key(uint64_t draw_seed, uint64_t *n_draws) noexcept:
    """From the stream of an object that the operating system's entropy seeds. The caller holds the GIL."""
    n_draws[0] += 1
    return fastbin_row_key(draw_seed ^ process_entropy, n_draws[0])


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


cdef object as_rows(scores, keys):
    """Scores and keys as arrays that C can read."""
    scores = as_scores(scores)
    return scores, None if keys is None else as_key_array(keys, len(scores))


cdef bint describe_call(fastbin_rows *rows, scores, keys, seed, nan) except -1:
    """The rows of one call; whether its seed is left to be drawn, for want of keys and of a seed."""
    describe_rows(rows, scores)
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
    return keys is None and seed is None


cdef enum Output:
    VALUES, BINS, STEPS, TABLE_ROWS


cdef fastbin_status score_rows(
    const fastbin_model *model, const fastbin_rows *rows, Output output, const double *table, size_t width, void *filled,
    size_t *bad_row,
) noexcept nogil:
    if output == VALUES:
        return fastbin_predict(model, rows, <double *>filled, bad_row)
    if output == TABLE_ROWS:
        return fastbin_lookup(model, rows, table, width, <double *>filled, bad_row)
    if output == BINS:
        return fastbin_assign(model, rows, <int32_t *>filled, bad_row)
    return fastbin_step(model, rows, <int32_t *>filled, bad_row)


cdef class NativeModel(ModelOwner):
    """A fitted model that scores; safe from any number of threads."""

    cdef uint64_t draw_seed
    cdef uint64_t n_draws

    def __cinit__(self, *args, **kwargs):
        self.draw_seed = secrets.randbits(64)

    cdef uint64_t _draw(self) noexcept:
        return fresh_key(self.draw_seed, &self.n_draws)

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

    cdef int32_t _one(self, Output output, score, key) except -1:
        cdef int32_t number_of_bin = -1
        cdef double number = PyFloat_AS_DOUBLE(score) if PyFloat_Check(score) else number_of(score)
        cdef uint64_t tie_key = self._draw() if key is None else check_key(key)
        cdef fastbin_status status
        if self.model == NULL:
            self._refuse_empty()
        if output == BINS:
            status = fastbin_assign_one(self.model, number, tie_key, &number_of_bin)
        else:
            status = fastbin_step_one(self.model, number, tie_key, &number_of_bin)
        if status != FASTBIN_OK:
            succeed_with(status, &self.spec, number, -1)
        return number_of_bin

    def assign_one(self, score, key=None):
        """The bin of one score, from 0; arguments and errors as in `predict_one`."""
        return self._one(BINS, score, key)

    def step_one(self, score, key=None):
        """The step of one score, from 0, which is its bin where bins have one step; otherwise as `assign_one`."""
        return self._one(STEPS, score, key)

    # ------------------------------------------------------------------ many scores

    cdef object _score(self, Output output, scores, keys, seed, nan, out, const double *table, cnp.npy_intp width):
        """Float64 values or int32 bins or steps, in `out` if given; with a table, float64 rows of this width."""
        cdef int typenum = cnp.NPY_INT32 if output == BINS or output == STEPS else cnp.NPY_FLOAT64
        cdef fastbin_rows rows
        cdef fastbin_status status
        cdef size_t bad_row = 0
        cdef cnp.npy_intp shape[2]
        cdef cnp.ndarray result
        cdef void *filled
        if not is_fast(scores, keys):
            scores, keys = as_rows(scores, keys)
        if self.model == NULL:
            self._refuse_empty()
        if describe_call(&rows, scores, keys, seed, nan) and self.needs_keys:
            rows.seed = self._draw()

        shape[0], shape[1] = rows.n_rows, width
        if out is None:
            result = cnp.PyArray_EMPTY(1 if table == NULL else 2, shape, typenum, 0)
        else:
            result = check_out(out, typenum, rows.n_rows)
        filled = cnp.PyArray_DATA(result)
        if rows.n_rows < RELEASE_GIL_FROM:
            status = score_rows(self.model, &rows, output, table, width, filled, &bad_row)
        else:
            with nogil:
                status = score_rows(self.model, &rows, output, table, width, filled, &bad_row)
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
        return self._score(VALUES, scores, keys, seed, nan, out, NULL, 0)

    def assign(self, scores, *, keys=None, seed=None, out=None, nan="error"):
        """Bin numbers, int32 from 0 to n_bins - 1 (-1 where NaN propagates); arguments and errors as in `predict`."""
        return self._score(BINS, scores, keys, seed, nan, out, NULL, 0)

    def step(self, scores, *, keys=None, seed=None, out=None, nan="error"):
        """Step numbers, int32 from 0 to n_steps - 1 (-1 where NaN propagates); arguments and errors as in `predict`.

        Where each bin is one step these are its bins; `assign` gives the bins of any model.
        """
        return self._score(STEPS, scores, keys, seed, nan, out, NULL, 0)

    def lookup(self, scores, table, *, keys=None, seed=None, nan="error"):
        """One row of a float64 (n_bins, width) table per score, in one pass; other arguments and errors as in `predict`."""
        cdef const double[:, ::1] entries = table
        if entries.shape[0] != self.spec.n_bins or entries.shape[1] == 0:
            raise InputError(f"table must have one row per bin ({self.spec.n_bins}), got shape {tuple(table.shape)}")
        return self._score(TABLE_ROWS, scores, keys, seed, nan, None, &entries[0, 0], entries.shape[1])

    # ------------------------------------------------------------------ evidence bins, where steps are finer

    @property
    def has_steps(self):
        """bool: whether bins have several steps, so that values are finer than the evidence for them."""
        return self.spec.n_steps > self.spec.n_bins

    @property
    def first_step(self):
        """int64 (n_bins,): the first step of each bin; 0, 1, ... where each bin is one step."""
        if self.spec.first_step == NULL:
            return np.arange(self.spec.n_bins if self.spec.kind == FASTBIN_STEP else 0, dtype=np.int64)
        return self._column(self.spec.first_step, cnp.NPY_INT64)

    @property
    def bin_edges(self):
        """float64 (n_bins - 1,): the edges between bins; `edges` without those between the steps of one bin."""
        return self.edges[self.first_step[1:] - 1] if self.spec.n_steps > self.spec.n_bins else self.edges

    @property
    def bin_edge_keys(self):
        """uint64: the keys of `bin_edges`."""
        return self.edge_keys[self.first_step[1:] - 1] if self.spec.n_steps > self.spec.n_bins else self.edge_keys

    @property
    def bin_values(self):
        """float64 (n_bins,): the average of what is served over the samples of the fit in each bin.

        `values` themselves where each bin is one step. In a bin without samples, the mean of the values of its steps.
        """
        if self.spec.n_steps <= self.spec.n_bins:
            return self.values
        counts, sizes = self.step_counts, np.diff(self.first_step, append=self.spec.n_steps)
        masses = np.where(np.repeat(np.add.reduceat(counts, self.first_step) == 0, sizes), 1, counts)
        sums = np.add.reduceat(masses * self.values, self.first_step) / np.add.reduceat(masses, self.first_step)
        # Rounding of the sums must not take an average beyond what is served.
        low = np.minimum.reduceat(self.values, self.first_step)
        return np.clip(sums, low, np.maximum.reduceat(self.values, self.first_step))


def draw_labels(digest, scores, counts, ones, chosen):
    """Of each group of equal scores, how many of `chosen` samples drawn at random have label 1, and the label of one of these.

    For fits with whole ties; FORMAT.md, "Drawn labels", gives the arithmetic, which never changes.

    Parameters
    ----------
    digest : int
        Of the seed and of all boundary groups of the fit, below 2**64.
    scores : float64 (n,)
        The score of each group; finite.
    counts, ones, chosen : int64 (n,)
        The samples of each group, how many of these have label 1, and how many are drawn; counts up to 2**53.

    Returns
    -------
    f, y : int64 (n,)
        0 where none is drawn.
    """
    cdef const double[::1] score = np.ascontiguousarray(scores, dtype=np.float64)
    cdef const int64_t[:, ::1] group = np.stack([np.asarray(given, dtype=np.int64) for given in (counts, ones, chosen)])
    cdef uint64_t seed = digest
    cdef Py_ssize_t i, n = score.shape[0]
    cdef cnp.ndarray f = np.zeros(n, np.int64), y = np.zeros(n, np.int64)
    cdef int64_t[::1] f_of = f, y_of = y
    cdef fastbin_status status
    if group.shape[1] != n:
        raise InputError(f"counts, ones and chosen have {group.shape[1]} entries, scores {n}; give one of each per group")
    for i in range(n):
        status = fastbin_draw_labels(seed, score[i], group[0, i], group[1, i], group[2, i], &f_of[i], &y_of[i])
        if status != FASTBIN_OK:
            raise InputError(
                f"group {i} with score {score[i]}: {group[2, i]} of {group[0, i]} samples, {group[1, i]} of them with label 1, "
                f"cannot be drawn; scores must be finite, ones and chosen at most the count, and the count at most 2**53"
            )
    return f, y


@cython.auto_pickle(False)
cdef class EmptyCall:
    """For benchmarks: what the call of a method costs by itself, `predict_one` with the same signature and an empty body."""

    def predict_one(self, double score, key=None):
        """The score."""
        return score
