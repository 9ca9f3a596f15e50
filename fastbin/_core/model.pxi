# The scoring calls over a `fastbin_model`.


cdef enum Output:
    VALUES, BINS, STEPS, TABLE_ROWS, DECISIONS


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
    if output == DECISIONS:
        return fastbin_decide(model, rows, <int8_t *>filled, bad_row)
    return fastbin_step(model, rows, <int32_t *>filled, bad_row)


cdef cnp.ndarray output_array(Output output, out, cnp.npy_intp n_rows, cnp.npy_intp width):
    """The array to fill: `out` if it is given and fits."""
    cdef int typenum = cnp.NPY_INT32 if output == BINS or output == STEPS else cnp.NPY_FLOAT64
    if output == DECISIONS:
        typenum = cnp.NPY_INT8
    cdef cnp.npy_intp shape[2]
    if out is not None:
        return check_out(out, typenum, n_rows)
    shape[0], shape[1] = n_rows, width
    return cnp.PyArray_EMPTY(2 if output == TABLE_ROWS else 1, shape, typenum, 0)


cdef class NativeModel(ModelOwner):
    """A fitted model that scores; safe from any number of threads."""

    cdef uint64_t draw_seed
    cdef uint64_t n_draws

    cdef uint64_t _draw(self) except? 0:
        if self.draw_seed == 0:  # drawn when it is needed first: asking the system takes as long as sorting 100 rows
            self.draw_seed = check_seed(None) | 1
        return fresh_key(self.draw_seed, &self.n_draws)

    # ------------------------------------------------------------------ one score

    def predict_one(self, score, tie_key=None):
        """The calibrated probability of one score: one float in, one float out.

        Parameters
        ----------
        score : float
            Must be inside the model's score range; NaN is refused.
        tie_key : int, optional
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
        cdef uint64_t key = 0
        cdef fastbin_status status
        if self.model == NULL:
            self._refuse_empty()
        if tie_key is not None:
            key = key_of(tie_key)
        elif self.needs_keys:
            key = self._draw()
        status = fastbin_predict_one(self.model, number, key, &value)
        if status != FASTBIN_OK:
            succeed_with(status, &self.spec, number, -1, 0, "model")
        return value

    cdef int32_t _one(self, Output output, score, key) except -1:
        cdef int32_t number_of_bin = -1
        cdef double number = PyFloat_AS_DOUBLE(score) if PyFloat_Check(score) else number_of(score)
        cdef uint64_t tie_key = self._draw() if key is None else key_of(key)
        cdef fastbin_status status
        if self.model == NULL:
            self._refuse_empty()
        if output == BINS:
            status = fastbin_assign_one(self.model, number, tie_key, &number_of_bin)
        else:
            status = fastbin_step_one(self.model, number, tie_key, &number_of_bin)
        if status != FASTBIN_OK:
            succeed_with(status, &self.spec, number, -1, 0, "model")
        return number_of_bin

    def assign_one(self, score, tie_key=None):
        """The bin of one score, from 0; arguments and errors as in `predict_one`."""
        return self._one(BINS, score, tie_key)

    def step_one(self, score, tie_key=None):
        """The step of one score, from 0, which is its bin where bins have one step; otherwise as `assign_one`."""
        return self._one(STEPS, score, tie_key)

    def decide_one(self, score):
        """The decision that the model carries, about one score: 1 accept, 0 abstain, -1 reject; errors as in `decide`."""
        cdef int32_t decision = 0
        cdef double number = PyFloat_AS_DOUBLE(score) if PyFloat_Check(score) else number_of(score)
        cdef fastbin_status status
        self._refuse_undecided()
        status = fastbin_decide_one(self.model, number, &decision)
        if status != FASTBIN_OK:
            succeed_with(status, &self.spec, number, -1, 0, "model")
        return decision

    cdef int _refuse_undecided(self) except -1:
        if self.model == NULL:
            self._refuse_empty()
        if self.spec.decision_size == 0:
            raise InputError("this model carries no decision", "model.with_decision(decision) gives one that does")
        return 0

    # ------------------------------------------------------------------ many scores

    cdef object _score(
        self, Output output, scores, keys, seed, nan, out, const double *table, cnp.npy_intp width, bint judges,
    ):
        """Float64 values or int32 bins or steps, in `out` if given; with a table, float64 rows of this width."""
        cdef fastbin_rows rows
        cdef cnp.ndarray result
        if self.model == NULL:
            self._refuse_empty()
        if not is_fast(scores, keys, judges):
            return self._score_pieces(output, scores, keys, seed, nan, out, table, width, judges)
        if describe_call(&rows, scores, keys, seed, nan) and self.needs_keys:
            rows.seed = self._draw()
        result = output_array(output, out, rows.n_rows, width)
        if out is not None:
            check_apart(result, scores, keys, 0)
        self._fill(output, scores, &rows, table, width, cnp.PyArray_DATA(result))
        return result

    cdef object _score_pieces(
        self, Output output, scores, keys, seed, nan, out, const double *table, cnp.npy_intp width, bint judges,
    ):
        """The same for anything that holds scores: piece by piece into one result, in the type of the scores."""
        cdef fastbin_rows rows
        cdef cnp.ndarray result
        n_rows, pieces, all_keys = pieces_of(scores, keys, nan, judges)
        if self.needs_keys and keys is None and seed is None:
            seed = self._draw()  # one for all pieces
        result = output_array(output, out, n_rows, width)
        for piece, first_row in pieces:
            describe_piece(&rows, piece, all_keys, seed, nan, first_row)
            if out is not None:
                check_apart(result, piece, all_keys, first_row)
            self._fill(output, piece, &rows, table, width, row_at(result, first_row))
        return result if out is not None or output == TABLE_ROWS else like(scores, result)

    cdef int _fill(
        self, Output output, scores, const fastbin_rows *rows, const double *table, cnp.npy_intp width, void *filled,
    ) except -1:
        cdef fastbin_status status = FASTBIN_OK
        cdef fastbin_rows part
        cdef size_t bad_row = 0, first = 0
        cdef size_t row_size = sizeof(double) if output == VALUES else <size_t>width * sizeof(double)
        if output == BINS or output == STEPS:
            row_size = sizeof(int32_t)
        elif output == DECISIONS:
            row_size = sizeof(int8_t)
        if rows.n_rows < RELEASE_GIL_FROM:
            status = score_rows(self.model, rows, output, table, width, filled, &bad_row)
        while rows.n_rows >= RELEASE_GIL_FROM and first < rows.n_rows and status == FASTBIN_OK:
            part, bad_row = part_of(rows, first), 0
            with nogil:
                status = score_rows(self.model, &part, output, table, width, <char *>filled + first * row_size, &bad_row)
            bad_row += first
            first += part.n_rows
            PyErr_CheckSignals()
        if status != FASTBIN_OK:
            succeed_with(status, &self.spec, scores, bad_row, rows.first_row, "model")
        return 0

    def predict(self, scores, *, tie_keys=None, seed=None, out=None, nan="error"):
        """Calibrated probabilities.

        Parameters
        ----------
        scores : array-like of shape (n,)
            float32 or float64 arrays of any stride are read where they are, columns of data frames and of Arrow in the pieces
            that they are stored in; float32 scores are compared exactly, as doubles. Must be inside the model's score range.
        tie_keys : array-like of shape (n,), optional
            Tie keys: unsigned integers below 2**64 - 1, or floats in [0, 1). They decide only for scores that equal an
            edge. A key must be uniform and independent of its row: a salted hash of the entity's id, never of the score.
        seed : int, optional
            Without keys, row i gets the key of (seed, i); without a seed, one is drawn afresh for the call.
        out : ndarray of shape (n,), float64, contiguous, optional
            Filled and returned; nothing is allocated then. It may be the array of the scores; another that overlaps it, or the
            keys, is refused.
        nan : {"error", "propagate"}
            Whether a NaN score, or a null, is refused, or gives NaN.

        Returns
        -------
        ndarray of shape (n,), float64
            In [0, 1]. For a pandas or Polars series, or a frame of one column, a series with its name (and index); of an Arrow
            array an array, of a chunked one the same chunks. With `out`, that array.

        Raises
        ------
        InputError
            For the first score that is NaN or outside the range, with its position; `out` may be partly written. For an integer
            that doubles do not hold. For keys whose pandas index differs from that of the scores, or that are ids: 8 or more,
            all below 2**32, and not all zero.

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
        return self._score(VALUES, scores, tie_keys, seed, nan, out, NULL, 0, True)

    def assign(self, scores, *, tie_keys=None, seed=None, out=None, nan="error"):
        """Bin numbers, int32 from 0 to n_bins - 1 (-1 where NaN propagates); arguments and errors as in `predict`."""
        return self._score(BINS, scores, tie_keys, seed, nan, out, NULL, 0, True)

    def step(self, scores, *, tie_keys=None, seed=None, out=None, nan="error"):
        """Step numbers, int32 from 0 to n_steps - 1 (-1 where NaN propagates); arguments and errors as in `predict`.

        Where each bin is one step these are its bins; `assign` gives the bins of any model.
        """
        return self._score(STEPS, scores, tie_keys, seed, nan, out, NULL, 0, True)

    def _predict_by(self, scores, keys):
        """`predict` by keys of any kind: those of a column, in which a bad one ends no query, or ``None``."""
        return self._score(VALUES, scores, keys, None, "error", None, NULL, 0, False)

    def _assign_by(self, scores, keys):
        """`assign` by keys of any kind: those of a column, or of a fit, where they only order rows; or ``None``."""
        return self._score(BINS, scores, keys, None, "error", None, NULL, 0, False)

    def decide(self, scores, *, nan="error"):
        """Accept, abstain or reject, by the decision that the model carries.

        Parameters
        ----------
        scores : array-like of shape (n,)
            As in `predict`. A score outside the range of the model is refused, or taken as the end of the range next to it.
        nan : {"error", "propagate"}
            Whether a NaN score, or a null, is refused, or gives 0: nothing is decided about it.

        Returns
        -------
        ndarray of shape (n,), int8
            1 where the score is above `decision.accept_above`, -1 where it is below `decision.reject_below`, otherwise 0. A
            score that equals a threshold is 0. For a column of a data frame or of Arrow, one like it.

        Raises
        ------
        InputError
            If the model carries no decision; for the first score that is NaN or outside the range, with its position.

        Notes
        -----
        O(n). No key decides: scores are compared, not bins.

        Examples
        --------
        >>> import fastbin as fb
        >>> scores = [i / 1000 for i in range(1000)]
        >>> labels = [score > 0.6 for score in scores]
        >>> decision = fb.decide.accept_threshold(scores, labels, precision=0.9)
        >>> model = fb.UniformMassBinning(n_bins=2).fit(scores, labels).model_.with_decision(decision)
        >>> model.decide([0.1, 0.99])
        array([0, 1], dtype=int8)
        """
        self._refuse_undecided()
        return self._score(DECISIONS, scores, None, None, nan, None, NULL, 0, True)

    def lookup(self, scores, table, *, tie_keys=None, seed=None, nan="error"):
        """One row of a float64 (n_bins, width) table per score, in one pass; other arguments and errors as in `predict`."""
        cdef const double *entries = given_doubles(table, 2)
        if entries == NULL or table.shape[0] != self.spec.n_bins:
            raise InputError(f"table must have one row per bin ({self.spec.n_bins}), got shape {tuple(table.shape)}")
        return self._score(TABLE_ROWS, scores, tie_keys, seed, nan, None, entries, table.shape[1], True)

    # ------------------------------------------------------------------ texts

    @property
    def event(self):
        """str: the name of the event that the values are the probability of; "" where it is not known: label 1."""
        return self.spec.event[: self.spec.event_size].decode() if self.spec.event_size else ""

    @property
    def _provenance(self):
        return self.spec.provenance[: self.spec.provenance_size] if self.spec.provenance_size else b""

    def _with_texts(self, bytes event, bytes provenance, bint for_set=False):
        """The same model about another event, and with another provenance. O(n_steps), and faster than from its parts.

        `for_set` as in `_create`.
        """
        cdef NativeModel other = type(self).__new__(type(self))
        cdef fastbin_model_spec spec = self.spec
        if self.model == NULL:
            self._refuse_empty()
        spec.event, spec.event_size = PyBytes_AS_STRING(event), len(event)
        spec.provenance, spec.provenance_size = PyBytes_AS_STRING(provenance), len(provenance)
        other.for_set = for_set
        other._adopt(fastbin_make_model(&spec, for_set, &other.model))
        return other

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
