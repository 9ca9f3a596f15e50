# The owner of a `fastbin_model`: makes it, reads it, shows it.
#
# The pointer is set once, before the object is visible to others. The properties are read-only views of the model's own memory.


cdef uint64_t KEY_ABOVE = 0
cdef uint64_t KEY_BELOW = 0xFFFFFFFFFFFFFFFF


def library_version():
    """The version of the C library, which is the version of the package."""
    return fastbin_version().decode("ascii")


def status_text(int status):
    """The library's sentence for a status code."""
    return fastbin_status_string(<fastbin_status>status).decode("ascii")


cdef str NOT_WHOLE = (
    "copy it again from where it was written, and compare the SHA-256 of both; if that one is damaged too, make a new one"
)

# What to do about bytes that cannot be read; a model that contradicts itself has a right checksum, and came so.
cdef dict REMEDIES = {
    FASTBIN_ERROR_MAGIC: "name a file that fastbin wrote, or copy it again as bytes",
    FASTBIN_ERROR_FORMAT_VERSION: "update fastbin",
    FASTBIN_ERROR_LENGTH: NOT_WHOLE,
    FASTBIN_ERROR_CHECKSUM: NOT_WHOLE,
}


# What fastbin writes besides, by the letter of its kind (csrc/FORMAT.md), and what reads it.
cdef dict KINDS = {
    b"M": ("a single model", "BinnedModel.from_bytes and fastbin.load read it"),
    b"T": ("a set of models", "ModelSet.from_bytes and fastbin.load read it"),
    b"V": ("a vector model", "fastbin.load reads it"),
    b"S": ("the state of a stream", "fastbin.online.StreamingBinning.load reads it"),
    b"W": ("the state of a monitor", "fastbin.online.CalibrationMonitor.load and `fastbin monitor --state` read it"),
}


cdef int refuse_others(const void *data, Py_ssize_t size, bytes letter, str what) except -1:
    """Refuse bytes of another kind than that of this letter, which is `what` in words."""
    cdef bytes found = PyBytes_FromStringAndSize(<const char *>data, min(size, 4))[3:]
    if size < 4 or memcmp(data, b"\x89FB", 3) != 0 or found == letter or found not in KINDS:
        return 0
    noun, readers = KINDS[found]
    raise FormatError(f"{noun}, and not {what}: {readers}")


cdef object error_of(fastbin_status status):
    """The exception for a status code."""
    cdef str text = fastbin_status_string(status).decode("ascii")
    if status in REMEDIES:
        text = f"{text}; {REMEDIES[status]}"
    if status == FASTBIN_ERROR_MEMORY:
        return MemoryError(text)
    if FASTBIN_ERROR_MAGIC <= status <= FASTBIN_ERROR_CONTENT:
        return FormatError(text)
    if status == FASTBIN_ERROR_ARGUMENT or FASTBIN_ERROR_EDGES <= status <= FASTBIN_ERROR_SET:
        return InputError(text)
    return FastbinError(text)


cdef int succeed(fastbin_status status) except -1:
    """Raise for any status but success."""
    if status != FASTBIN_OK:
        raise error_of(status)
    return 0


cdef object score_range_of(const fastbin_model_spec *spec):
    """(low, high), or None where any finite score is accepted."""
    if spec.score_min == -np.inf and spec.score_max == np.inf:
        return None
    return spec.score_min, spec.score_max


cdef int succeed_with(
    fastbin_status status, const fastbin_model_spec *spec, scores, Py_ssize_t row, Py_ssize_t first_row=0, str served_by="",
) except -1:
    """The same after scoring: the error for a bad score names its row. Row -1: `scores` is one number.

    `scores` are those from `first_row` of a longer column, and `row` counts from there. `served_by` as in `refuse_scores`.
    """
    if status == FASTBIN_ERROR_ARGUMENT and spec.kind != FASTBIN_STEP:
        raise InputError("the model has no bins, as it is no step function", "predict gives its values")
    if status == FASTBIN_ERROR_SCORE_NAN or status == FASTBIN_ERROR_SCORE_RANGE:
        if row < 0:
            refuse_scores(np.array([scores]), score_range_of(spec), name="score", served_by=served_by)
        refuse_scores(scores, score_range_of(spec), first=row, first_row=first_row, served_by=served_by)
    return succeed(status)


cdef bint describe_model(const fastbin_model *model, fastbin_model_spec *spec) noexcept:
    """Fill in the parts of a model, and say whether the bin, or the value, of some score depends on its key."""
    cdef int32_t i
    spec.struct_size = sizeof(fastbin_model_spec)
    fastbin_model_describe(model, spec)
    for i in range(spec.n_steps - 1):
        if spec.edge_keys[i] != KEY_ABOVE and spec.edge_keys[i] != KEY_BELOW:
            return True
    return spec.delta > 0


cdef inline void describe_rows(fastbin_rows *rows, cnp.ndarray scores):
    """A float32 or float64 array, read where it is; NaN is an error."""
    memset(rows, 0, sizeof(fastbin_rows))
    rows.struct_size = sizeof(fastbin_rows)
    rows.scores, rows.score_stride = cnp.PyArray_DATA(scores), cnp.PyArray_STRIDE(scores, 0)
    rows.n_rows = cnp.PyArray_DIM(scores, 0)
    rows.score_type = FASTBIN_FLOAT64 if cnp.PyArray_TYPE(scores) == cnp.NPY_FLOAT64 else FASTBIN_FLOAT32


_NO_RATE = (0, 0.0, 0, 0)


cdef class ModelOwner:
    """A fitted model, owned by C. Immutable."""

    cdef fastbin_model *model
    cdef fastbin_model_spec spec
    cdef bint needs_keys
    cdef object lender  # what owns the model, if this object does not
    cdef bint is_lent
    cdef bint for_set  # its index is that of one of many: a set takes the model over, and lends it
    cdef object __weakref__

    def __init__(self, *args, **kwargs):
        raise TypeError(f"{type(self).__name__} is not made by calling it; fit a calibrator, load a file, or use from_parts")

    def __dealloc__(self):
        if not self.is_lent:
            fastbin_model_free(self.model)

    # ------------------------------------------------------------------ making

    @classmethod
    def _create(
        cls, *, edges, values, edge_keys=None, counts=None, label_sums=None, weight_sums=None, weighted_label_sums=None,
        weight_square_sums=None, pairs=None, int kind=0, int scheme=0, int ties=0, int n_bins_asked=0,
        double score_min=-INFINITY, double score_max=INFINITY, double delta=0.0, double odds_ratio=1.0, uint64_t seed=0,
        int64_t n_samples=0, int64_t n_positive=0, int64_t n_tied=0, int map=0, tuple map_parameters=(), bytes note=b"",
        tuple source_rate=_NO_RATE, tuple target_rate=_NO_RATE, int out_of_range=0, int weights=0, uint64_t fingerprint=0,
        first_step=None, step_counts=None, unlabelled_counts=None, tie_counts=None, double edges_share=0.0, double clip=0.0,
        knots=None, slice_cuts=None, slice_label_sums=None, atom_counts=None, bytes event=b"", bytes provenance=b"",
        double sampling_rate=0.0, pool_counts=None, population_counts=None, tuple decision=(0.0, 0.0, b""), bint for_set=False,
    ):
        """A model from its parts; arrays that do not apply are ``None``. C checks all but the lengths of arrays.

        With `for_set` a set takes the model over instead of copying it.
        """
        cdef ModelOwner self = cls.__new__(cls)
        cdef fastbin_model_spec spec
        cdef int i
        cdef bytes record = decision[2]
        memset(&spec, 0, sizeof(spec))
        spec.struct_size = sizeof(spec)
        spec.kind, spec.scheme, spec.ties, spec.map = kind, scheme, ties, map
        if len(map_parameters) > 4:
            raise InputError(f"map_parameters has {len(map_parameters)} entries; a map has at most 4")
        for i, parameter in enumerate(map_parameters):
            spec.map_parameters[i] = parameter
        spec.n_bins = <int32_t>len(values) if values is not None else 0
        if first_step is not None and len(first_step):
            spec.n_steps, spec.n_bins, spec.first_step = spec.n_bins, <int32_t>len(first_step), integers(first_step)
        spec.edges, spec.values, spec.edge_keys = given_doubles(edges), given_doubles(values), given_words(edge_keys)
        spec.counts, spec.label_sums = given_integers(counts), given_integers(label_sums)
        spec.step_counts, spec.unlabelled_counts = given_integers(step_counts), given_integers(unlabelled_counts)
        spec.tie_counts, spec.atom_counts = given_integers(tie_counts, 2), given_integers(atom_counts, 2)
        spec.pool_counts, spec.population_counts = given_integers(pool_counts), given_integers(population_counts)
        spec.weight_sums, spec.weighted_label_sums = given_doubles(weight_sums), given_doubles(weighted_label_sums)
        spec.weight_square_sums, spec.pairs = given_doubles(weight_square_sums), given_doubles(pairs, 2)
        spec.n_knots, spec.knots = <int32_t>len(knots) if knots is not None else 0, given_doubles(knots, 2)
        spec.n_slices = <int32_t>len(slice_label_sums) if slice_label_sums is not None else 0
        spec.slice_cuts, spec.slice_label_sums = given_doubles(slice_cuts), given_integers(slice_label_sums)
        spec.edges_share, spec.clip, spec.n_bins_asked = edges_share, clip, n_bins_asked
        spec.score_min, spec.score_max = score_min, score_max
        spec.delta, spec.odds_ratio, spec.seed = delta, odds_ratio, seed
        spec.n_samples, spec.n_positive, spec.n_tied = n_samples, n_positive, n_tied
        spec.note, spec.note_size = PyBytes_AS_STRING(note), len(note)
        spec.event, spec.event_size = PyBytes_AS_STRING(event), len(event)
        spec.provenance, spec.provenance_size = PyBytes_AS_STRING(provenance), len(provenance)
        spec.accept_above, spec.reject_below, spec.sampling_rate = decision[0], decision[1], sampling_rate
        spec.decision, spec.decision_size = PyBytes_AS_STRING(record), len(record)
        spec.source_rate_origin, spec.source_rate, spec.source_count, spec.source_ones = source_rate
        spec.target_rate_origin, spec.target_rate, spec.target_count, spec.target_ones = target_rate
        spec.out_of_range, spec.weights, spec.fingerprint = out_of_range, weights, fingerprint
        self.for_set = for_set
        self._adopt(fastbin_make_model(&spec, for_set, &self.model))
        return self

    def _read_into(self, data):
        """Fill an object that only __new__ made with the model in the bytes of FORMAT.md."""
        cdef Py_buffer view
        if self.model != NULL:
            raise TypeError("a model is filled once")
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            if view.len == 0:
                raise FormatError(f"no bytes: an empty file is not a model; {NOT_WHOLE}")
            refuse_others(view.buf, view.len, b"M", "a single model")
            self._adopt(fastbin_model_read(view.buf, view.len, &self.model))
        finally:
            PyBuffer_Release(&view)

    cdef int _adopt(self, fastbin_status status) except -1:
        succeed(status)
        self.needs_keys = describe_model(self.model, &self.spec)
        return 0

    cdef int _borrow(self, const fastbin_model *model, lender) except -1:
        """The model of another object, which keeps it as long as this one refers to it."""
        self._lend_from(lender)
        self.model = <fastbin_model *>model
        return self._adopt(FASTBIN_OK)

    cdef void _lend_from(self, lender) noexcept:
        """From now on, `lender` owns the model."""
        self.lender, self.is_lent = lender, True

    def to_bytes(self):
        """The model in the bytes of FORMAT.md: the same model always gives the same bytes."""
        cdef bytes data
        if self.model == NULL:
            self._refuse_empty()
        data = PyBytes_FromStringAndSize(NULL, fastbin_model_size(self.model))
        succeed(fastbin_model_write(self.model, PyBytes_AS_STRING(data), len(data)))
        return data

    # ------------------------------------------------------------------ reading

    cdef object _view(self, const void *data, Py_ssize_t length, int typenum):
        """A read-only array over the model's own memory, which it keeps alive."""
        cdef cnp.ndarray view
        cdef cnp.npy_intp shape = length
        if data == NULL:
            return cnp.PyArray_EMPTY(1, &shape, typenum, 0) if length == 0 else None
        view = cnp.PyArray_SimpleNewFromData(1, &shape, typenum, <void *>data)
        cnp.PyArray_CLEARFLAGS(view, cnp.NPY_ARRAY_WRITEABLE)
        cnp.set_array_base(view, self)
        return view

    cdef object _column(self, const void *data, int typenum):
        """A view with an entry for each bin, or None if the model has no such column."""
        return None if data == NULL else self._view(data, self.spec.n_bins, typenum)

    cdef Py_ssize_t _n_values(self):
        return self.spec.n_steps if self.spec.kind == FASTBIN_STEP else self.spec.n_bins

    cdef Py_ssize_t _n_edges(self):
        return self.spec.n_steps - 1 if self.spec.kind == FASTBIN_STEP else self.spec.n_bins

    cdef object _step_column(self, const int64_t *data):
        """A view with an entry for each step, or None if the model has no such column."""
        return None if data == NULL else self._view(data, self.spec.n_steps, cnp.NPY_INT64)

    @property
    def edges(self):
        """float64 (n_steps - 1,): the inner edges, ascending. Knots, (n_bins,), of an interpolated model."""
        return self._view(self.spec.edges, self._n_edges(), cnp.NPY_FLOAT64)

    @property
    def edge_keys(self):
        """uint64, one per edge: 0 sends tied scores up, 2**64 - 1 down, anything else splits them at random."""
        return self._view(self.spec.edge_keys, self._n_edges(), cnp.NPY_UINT64)

    @property
    def values(self):
        """float64 (n_steps,): the calibrated probability of each step."""
        return self._view(self.spec.values, self._n_values(), cnp.NPY_FLOAT64)

    @property
    def counts(self):
        """int64 (n_bins,): the samples averaged in each bin, or ``None`` for a model without a tally."""
        return self._column(self.spec.counts, cnp.NPY_INT64)

    @property
    def label_sums(self):
        """int64 (n_bins,): of these, the samples with label 1."""
        return self._column(self.spec.label_sums, cnp.NPY_INT64)

    @property
    def weight_sums(self):
        """float64 (n_bins,): sum of the weights, or ``None`` for an unweighted model."""
        return self._column(self.spec.weight_sums, cnp.NPY_FLOAT64)

    @property
    def weighted_label_sums(self):
        """float64 (n_bins,): sum of weight times label, or ``None`` for an unweighted model."""
        return self._column(self.spec.weighted_label_sums, cnp.NPY_FLOAT64)

    @property
    def weight_square_sums(self):
        """float64 (n_bins,): sum of the squared weights, or ``None`` for an unweighted model."""
        return self._column(self.spec.weight_square_sums, cnp.NPY_FLOAT64)

    @property
    def n_bins(self):
        """int: the number of evidence bins (knots of an interpolated model, 0 for a smooth map)."""
        return self.spec.n_bins

    @property
    def n_steps(self):
        """int: the number of steps, of which each bin has one or more (knots of an interpolated model, 0 for a smooth map)."""
        return self._n_values()

    @property
    def step_counts(self):
        """int64 (n_steps,): the samples of the fit in each step, or ``None`` where each bin is one step."""
        return self._step_column(self.spec.step_counts)

    @property
    def unlabelled_counts(self):
        """int64 (n_steps,): the samples without a label in each step, or ``None`` where there were none."""
        return self._step_column(self.spec.unlabelled_counts)

    @property
    def tie_counts(self):
        """int64 (n_bins, 3): r, f and y of each bin under whole ties, or ``None`` where the rule decided nowhere.

        r samples at the least, of the score at the bin's lower edge, were sure to be there; f is the label sum of r samples of
        that score drawn at random, and y the label of one of these.
        """
        if self.spec.tie_counts == NULL:
            return None
        return self._view(self.spec.tie_counts, 3 * self.spec.n_bins, cnp.NPY_INT64).reshape(-1, 3)

    @property
    def atom_counts(self):
        """int64 (n_bins, 2): the samples of each bin at its lower edge, and those of them with label 1, or ``None``.

        Both 0 where r of `tie_counts` is. Under scheme "umb" at the upper edge.
        """
        if self.spec.atom_counts == NULL:
            return None
        return self._view(self.spec.atom_counts, 2 * self.spec.n_bins, cnp.NPY_INT64).reshape(-1, 2)

    @property
    def pool_counts(self):
        """int64 (n_bins,): the rows of the pool that the labelled ones were drawn from, bin by bin, or ``None``."""
        return self._column(self.spec.pool_counts, cnp.NPY_INT64)

    @property
    def population_counts(self):
        """int64 (n_bins,): the rows of a batch of known size, part of which is labelled, or ``None``."""
        return self._column(self.spec.population_counts, cnp.NPY_INT64)

    @property
    def sampling_rate(self):
        """float: the known rate at which samples with label 0 were kept; the values are those before. 0 where none is known."""
        return self.spec.sampling_rate

    @property
    def _decision(self):
        """Accept above, reject below, and the record of the decision; the record is empty where the model carries none."""
        record = self.spec.decision[: self.spec.decision_size] if self.spec.decision_size else b""
        return self.spec.accept_above, self.spec.reject_below, record

    @property
    def edges_share(self):
        """float: the share of the samples that placed the edges, 1 for all of them; 0 without tie_counts."""
        return self.spec.edges_share

    @property
    def clip(self):
        """float: how far a smooth map keeps scores from 0 and 1 before it takes a logarithm; 0 for not at all."""
        return self.spec.clip

    @property
    def knots(self):
        """float64 (k, 3): position in the logit, value in the logit and second derivative of each knot, or ``None``."""
        if self.spec.knots == NULL:
            return None
        return self._view(self.spec.knots, 3 * self.spec.n_knots, cnp.NPY_FLOAT64).reshape(-1, 3)

    @property
    def slice_cuts(self):
        """float64 (n_slices - 1,): the scores of the samples between slices of equal mass, or ``None`` without slices."""
        if self.spec.n_slices == 0:
            return None
        return self._view(self.spec.slice_cuts, self.spec.n_slices - 1, cnp.NPY_FLOAT64)

    @property
    def slice_label_sums(self):
        """int64 (n_slices,): the samples with label 1 in each slice, those at cuts left out, or ``None`` without slices."""
        if self.spec.n_slices == 0:
            return None
        return self._view(self.spec.slice_label_sums, self.spec.n_slices, cnp.NPY_INT64)

    @property
    def n_bins_asked(self):
        """int: the number of bins that was requested; ties can leave fewer. 0 if none was requested."""
        return self.spec.n_bins_asked

    @property
    def n_samples(self):
        """int: the samples seen by the fit, including those that no bin averages."""
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
    def score_range(self):
        """(low, high) that scores must lie in, or ``None`` where any finite score is accepted."""
        return score_range_of(&self.spec)

    @property
    def _note(self):
        return self.spec.note[: self.spec.note_size] if self.spec.note_size else b""

    @property
    def needs_key(self):
        """bool: whether the bin, or the value, of some score depends on its key."""
        return self.needs_keys

    @property
    def pairs(self):
        """float64 (n_steps, 2): the pair (p0, p1) of each step of a Venn-Abers predictor, or ``None``."""
        if self.spec.pairs == NULL:
            return None
        return self._view(self.spec.pairs, 2 * self.spec.n_steps, cnp.NPY_FLOAT64).reshape(-1, 2)

    @property
    def fingerprint(self):
        """int: a digest of the samples of the fit, to recognise a test set that consists of them; 0 for none."""
        return self.spec.fingerprint

    @property
    def _rate_parts(self):
        spec = self.spec
        return (
            (spec.source_rate_origin, spec.source_rate, spec.source_count, spec.source_ones),
            (spec.target_rate_origin, spec.target_rate, spec.target_count, spec.target_ones),
        )

    @property
    def _policies(self):
        return self.spec.out_of_range, self.spec.weights

    cdef int _refuse_empty(self) except -1:
        """For a model that only __new__ made; all other ways set the pointer or raise."""
        raise TypeError("an empty model: fit a calibrator, load a file, or use from_parts")
