# The owner of a `fastbin_set`: makes it, reads it, shows it.
#
# The pointer is set once, before the object is visible to others. The properties are read-only views of the set's own memory.


# The arrays of many models, those of one behind those of another.
cdef struct Flat:
    const double *edges
    const uint64_t *edge_keys
    const double *values
    const int64_t *counts
    const int64_t *label_sums
    const int64_t *tie_counts
    const int64_t *atom_counts
    const int64_t *n_bins
    const int32_t *ties
    const int64_t *n_bins_asked
    const int64_t *n_samples
    const int64_t *n_positive
    const int64_t *n_tied
    const uint64_t *fingerprints
    const int64_t *n_slices
    const double *slice_cuts
    const int64_t *slice_label_sums


cdef int check_flat(
    n_bins_each, ties, edges, edge_keys, values, counts, label_sums, tie_counts, atom_counts, n_slices_each, slice_cuts,
    slice_label_sums,
) except -1:
    """Whether these arrays are as long as the bins and slices of all models ask for."""
    n_bins, whole = np.asarray(n_bins_each), np.asarray(ties) == FASTBIN_TIES_WHOLE
    if not len(n_bins) or n_bins.min() < 1 or n_bins.max() > FASTBIN_MAX_BINS:
        raise InputError("n_bins_each must be the numbers of bins of one model or more, each at least 1")
    n_slices = np.asarray(n_slices_each)
    if n_slices.min() < 0 or n_slices.max() > FASTBIN_MAX_BINS:
        raise InputError("n_slices_each must be the numbers of slices of these models, each at least 0")
    total, of_ties, sliced = int(n_bins.sum()), int(n_bins[whole].sum()), int(n_slices.sum())
    for name, array, length in (
        ("edges", edges, total - len(n_bins)), ("edge_keys", edge_keys, total - len(n_bins)), ("values", values, total),
        ("counts", counts, total), ("label_sums", label_sums, total), ("tie_counts", tie_counts, of_ties),
        ("atom_counts", atom_counts, of_ties),
        ("slice_cuts", slice_cuts, sliced - np.count_nonzero(n_slices)), ("slice_label_sums", slice_label_sums, sliced),
    ):
        given = 0 if array is None else len(array)
        if given != length:
            raise InputError(f"{name} has {given} entries; these models have {length}")
    return 0


cdef fastbin_status make_flat(
    const fastbin_model_spec *shape, Flat flat, Py_ssize_t n, fastbin_model **made, Py_ssize_t *n_made,
) noexcept nogil:
    """Make `n` models that have in common what `shape` says. Those that were made are for the caller to free."""
    cdef fastbin_model_spec spec = shape[0]
    cdef fastbin_status status
    cdef Py_ssize_t i
    for i in range(n):
        spec.n_bins, spec.n_bins_asked, spec.ties = <int32_t>flat.n_bins[i], <int32_t>flat.n_bins_asked[i], flat.ties[i]
        spec.n_samples, spec.n_positive, spec.n_tied = flat.n_samples[i], flat.n_positive[i], flat.n_tied[i]
        spec.fingerprint = flat.fingerprints[i]
        spec.edges, spec.edge_keys, spec.values = flat.edges, flat.edge_keys, flat.values
        spec.counts, spec.label_sums = flat.counts, flat.label_sums
        spec.tie_counts, spec.atom_counts, spec.edges_share = NULL, NULL, 0.0
        if spec.ties == FASTBIN_TIES_WHOLE:
            spec.tie_counts, spec.atom_counts, spec.edges_share = flat.tie_counts, flat.atom_counts, shape.edges_share
            flat.tie_counts, flat.atom_counts = flat.tie_counts + 3 * spec.n_bins, flat.atom_counts + 2 * spec.n_bins
        spec.n_slices, spec.slice_cuts, spec.slice_label_sums = <int32_t>flat.n_slices[i], NULL, NULL
        if spec.n_slices:
            spec.slice_cuts, spec.slice_label_sums = flat.slice_cuts, flat.slice_label_sums
            flat.slice_cuts, flat.slice_label_sums = flat.slice_cuts + spec.n_slices - 1, flat.slice_label_sums + spec.n_slices
        status = fastbin_make_model(&spec, 1, &made[i])
        if status != FASTBIN_OK:
            return status
        n_made[0] = i + 1
        flat.edges, flat.edge_keys = flat.edges + spec.n_bins - 1, flat.edge_keys + spec.n_bins - 1
        flat.values, flat.counts = flat.values + spec.n_bins, flat.counts + spec.n_bins
        flat.label_sums += spec.n_bins
    return FASTBIN_OK


cdef const void *array_of(array, int typenum, tuple shape) except? NULL:
    """The elements of an array of this shape; NULL for None."""
    if array is None:
        return NULL
    if array.shape != shape:
        raise InputError(f"an array of a vector map has the shape {array.shape}, and {shape} is needed")
    return data_of(array, typenum, len(shape))


cdef int describe_vector(vector, fastbin_vector_map *spec, Py_ssize_t n) except -1:
    """The map in arrays that the caller keeps alive; C checks their numbers."""
    cdef Py_ssize_t n_bins = 0 if vector.counts is None else vector.counts.shape[1]
    spec.of_models, spec.of_priors, spec.least = vector.of_models, vector.of_priors, vector.least
    spec.keep_top, spec.n_bins = vector.keep_top, <int32_t>n_bins
    spec.slopes = <const double *>array_of(vector.slopes, cnp.NPY_FLOAT64, (n,))
    spec.intercepts = <const double *>array_of(vector.intercepts, cnp.NPY_FLOAT64, (n,))
    spec.priors = <const double *>array_of(vector.priors, cnp.NPY_FLOAT64, (n,))
    spec.mixing = <const double *>array_of(vector.mixing, cnp.NPY_FLOAT64, (n, n))
    spec.edges = <const double *>array_of(vector.edges if n_bins > 1 else None, cnp.NPY_FLOAT64, (n + 1, n_bins - 1))
    spec.counts = <const int64_t *>array_of(vector.counts, cnp.NPY_INT64, (n + 1, n_bins, 2))
    spec.means = <const double *>array_of(vector.means, cnp.NPY_FLOAT64, (n + 1, n_bins))
    spec.unlabelled = <const double *>array_of(vector.unlabelled, cnp.NPY_FLOAT64, (n + 1, n_bins, 3))
    return 0


cdef class SetOwner:
    """A set of models, owned by C. Immutable once it is filled; safe from any number of threads."""

    cdef fastbin_set *set
    cdef fastbin_set_spec spec
    cdef bint needs_keys
    cdef bint has_one_event  # or none at all
    cdef object __weakref__

    def __init__(self, *args, **kwargs):
        raise TypeError(f"{type(self).__name__} is not made by calling it")

    def __dealloc__(self):
        fastbin_set_free(self.set)

    # ------------------------------------------------------------------ making

    cdef int _make(self, fastbin_set_spec *spec, fastbin_model **models, keys, model_of_key, columns) except -1:
        """From a spec and models, which the set takes over; if this fails, they stay the caller's.

        `keys` are an int64 array or a list of texts. C checks all but the lengths of arrays.
        """
        cdef bytes text
        spec.struct_size, spec.n_keys = sizeof(fastbin_set_spec), len(keys)
        if isinstance(keys, list):
            encoded = [key.encode("utf-8", "surrogatepass") for key in keys]  # C refuses surrogates
            text, offsets = b"".join(encoded), np.cumsum([0, *map(len, encoded)], dtype=np.uint64)
            spec.key_type, spec.text, spec.text_offsets = FASTBIN_KEYS_TEXT, PyBytes_AS_STRING(text), words(offsets)
        else:
            spec.int_keys = given_integers(keys)
        for given in (model_of_key, columns):
            if given is not None and len(given) != spec.n_keys:
                raise InputError(f"{len(given)} numbers are given for {spec.n_keys} keys; give one for each")
        spec.model_of_key = <const int32_t *>given_data(model_of_key, cnp.NPY_INT32)
        spec.columns = <const int32_t *>given_data(columns, cnp.NPY_INT32)
        return self._adopt(fastbin_set_around(spec, models, &self.set))

    def _fill(
        self, list models, keys, model_of_key=None, *, int kind=0, int unknown=0, int pool=-1, columns=None,
        bytes provenance=b"", vector=None,
    ):
        """Make the set of these models; `model_of_key` and `columns` are int32, one for each key.

        Models that were made for a set, and that no set has, are taken over and lent to their owners; others are copied.

        `vector` has the members of `fastbin_vector_map` as attributes: numbers, and arrays of the shapes of the header or None.
        """
        cdef fastbin_set_spec spec
        cdef fastbin_vector_map vector_map
        cdef ModelOwner model
        cdef Py_ssize_t i, n = len(models)
        cdef bint is_made = False
        cdef list taken = []
        cdef fastbin_model **every = <fastbin_model **>PyMem_Calloc(2 * max(n, 1), sizeof(void *))
        cdef fastbin_model **copies = every + n  # NULL for those that are taken over
        if every == NULL:
            raise MemoryError
        try:
            if self.set != NULL:
                raise TypeError("a set is filled once")
            for i in range(n):
                if models[i] is None:
                    raise TypeError("a model is missing")
                model = models[i]
                if model.model == NULL:
                    model._refuse_empty()
                if model.for_set and not model.is_lent:
                    taken.append(model)
                    every[i], model.is_lent = model.model, True  # a model that is listed twice is copied the second time
                else:
                    succeed(fastbin_make_model(&model.spec, True, &copies[i]))
                    every[i] = copies[i]
            memset(&spec, 0, sizeof(spec))
            spec.kind, spec.unknown, spec.pool, spec.n_models = kind, unknown, pool, <int32_t>n
            spec.provenance, spec.provenance_size = PyBytes_AS_STRING(provenance), len(provenance)
            if vector is not None:
                describe_vector(vector, &vector_map, len(keys))
                spec.vector = &vector_map
            self._make(&spec, every, keys, model_of_key, columns)
            is_made = True
        finally:
            for model in taken:
                if is_made:
                    model._lend_from(self)
                else:
                    model.is_lent = False
            for i in range(0 if is_made else n):
                fastbin_model_free(copies[i])
            PyMem_Free(every)

    @classmethod
    def _create_flat(
        cls, keys, model_of_key, n_bins_each, *, edges, edge_keys, values, counts, label_sums, tie_counts, atom_counts, ties,
        n_bins_asked, n_samples, n_positive, n_tied, fingerprints, n_slices_each, slice_cuts, slice_label_sums, int scheme,
        uint64_t seed, double score_min, double score_max, int out_of_range, double edges_share, int kind=0, int unknown=0,
        int pool=-1, columns=None, bytes event=b"", bytes provenance=b"",
    ):
        """A set of step models of one resolution, whose arrays follow each other in arrays of all.

        A model of n bins has n - 1 entries in `edges` and `edge_keys`, and n in `values`, `counts` and `label_sums`;
        `tie_counts`, of three columns, and `atom_counts`, of two, have n rows for each model whose `ties` is FASTBIN_TIES_WHOLE
        and none for others. One of s slices has s in `slice_label_sums`, and s - 1 in `slice_cuts`. About a microsecond a
        model.
        """
        cdef SetOwner self = cls.__new__(cls)
        cdef fastbin_set_spec spec
        cdef fastbin_model_spec shape
        cdef Flat flat
        cdef Py_ssize_t i, n = len(n_bins_each), n_made = 0
        cdef fastbin_model **made
        check_same_length(
            n_bins_each=n_bins_each, ties=ties, n_bins_asked=n_bins_asked, n_samples=n_samples, n_positive=n_positive,
            n_tied=n_tied, fingerprints=fingerprints, n_slices_each=n_slices_each,
        )
        check_flat(
            n_bins_each, ties, edges, edge_keys, values, counts, label_sums, tie_counts, atom_counts, n_slices_each,
            slice_cuts, slice_label_sums)
        memset(&shape, 0, sizeof(shape))
        shape.struct_size, shape.odds_ratio, shape.edges_share = sizeof(shape), 1.0, edges_share
        shape.scheme, shape.seed, shape.out_of_range = scheme, seed, out_of_range
        shape.score_min, shape.score_max = score_min, score_max
        shape.event, shape.event_size = PyBytes_AS_STRING(event), len(event)
        flat.edges, flat.edge_keys, flat.values = doubles(edges), words(edge_keys), doubles(values)
        flat.counts, flat.label_sums, flat.tie_counts = integers(counts), integers(label_sums), given_integers(tie_counts, 2)
        flat.atom_counts = given_integers(atom_counts, 2)
        flat.n_bins, flat.ties = integers(n_bins_each), <const int32_t *>data_of(ties, cnp.NPY_INT32)
        flat.n_bins_asked, flat.n_samples = integers(n_bins_asked), integers(n_samples)
        flat.n_positive, flat.n_tied, flat.fingerprints = integers(n_positive), integers(n_tied), words(fingerprints)
        flat.n_slices, flat.slice_cuts = integers(n_slices_each), doubles(slice_cuts)
        flat.slice_label_sums = integers(slice_label_sums)
        made = <fastbin_model **>PyMem_Malloc(n * sizeof(void *))
        if made == NULL:
            raise MemoryError
        try:
            status = make_flat(&shape, flat, n, made, &n_made)
            if status != FASTBIN_OK:
                raise InputError(f"model {n_made}: {error_of(status)}")
            memset(&spec, 0, sizeof(spec))
            spec.kind, spec.unknown, spec.pool, spec.n_models = kind, unknown, pool, <int32_t>n
            spec.provenance, spec.provenance_size = PyBytes_AS_STRING(provenance), len(provenance)
            self._make(&spec, made, keys, model_of_key, columns)
        finally:
            for i in range(0 if self.set != NULL else n_made):
                fastbin_model_free(made[i])
            PyMem_Free(made)
        return self

    def _read_into(self, data):
        """Fill an object that only __new__ made with the set in the bytes of FORMAT.md."""
        cdef Py_buffer view
        if self.set != NULL:
            raise TypeError("a set is filled once")
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            if view.len == 0:
                raise FormatError(f"no bytes: an empty file is not a set of models; {NOT_WHOLE}")
            self._refuse_others(view.buf, view.len)
            self._adopt(fastbin_set_read(view.buf, view.len, &self.set))
        finally:
            PyBuffer_Release(&view)

    cdef int _refuse_others(self, const void *data, Py_ssize_t size) except -1:
        """Refuses the bytes of other kinds."""
        return refuse_others(data, size, b"T", "a set of models")

    cdef int _adopt(self, fastbin_status status) except -1:
        cdef fastbin_model_spec model, first
        cdef int32_t i
        succeed(status)
        self.spec.struct_size = sizeof(fastbin_set_spec)
        fastbin_set_describe(self.set, &self.spec)
        self.has_one_event = True
        for i in range(self.spec.n_models):
            if describe_model(self.spec.models[i], &model):
                self.needs_keys = True
            if i == 0:
                first = model
            elif model.event_size != first.event_size:
                self.has_one_event = False
            elif model.event_size and memcmp(model.event, first.event, first.event_size):
                self.has_one_event = False
        return 0

    def to_bytes(self):
        """The set in the bytes of FORMAT.md: the same set always gives the same bytes."""
        cdef bytes data
        self._refuse_empty()
        data = PyBytes_FromStringAndSize(NULL, fastbin_set_size(self.set))
        succeed(fastbin_set_write(self.set, PyBytes_AS_STRING(data), len(data)))
        return data

    # ------------------------------------------------------------------ reading

    cdef int _refuse_empty(self) except -1:
        """For a set that only __new__ made."""
        if self.set == NULL:
            raise TypeError("an empty set: make one from models, or load a file")
        return 0

    @property
    def n_models(self):
        """int: the number of models, that of the pool included."""
        return self.spec.n_models

    @property
    def event(self):
        """str: the name of the event that all values are the probability of; "" where models differ, or none has one."""
        cdef fastbin_model_spec model
        self._refuse_empty()
        describe_model(self.spec.models[0], &model)
        return model.event[: model.event_size].decode() if self.has_one_event and model.event_size else ""

    @property
    def _provenance(self):
        return self.spec.provenance[: self.spec.provenance_size] if self.spec.provenance_size else b""

    @property
    def _codes(self):
        return self.spec.kind, self.spec.key_type, self.spec.unknown

    @property
    def _pool(self):
        return self.spec.pool

    def _model(self, int number, model_class):
        """The model of this number as an object of this class, which keeps the set alive; nothing is copied."""
        cdef ModelOwner model
        if not 0 <= number < self.spec.n_models:
            raise IndexError(number)
        model = model_class.__new__(model_class)
        model._borrow(self.spec.models[number], self)
        return model

    cdef object _column(self, const void *data, int typenum):
        """A read-only array over the set's own memory, with an entry for each key, or None if there is no such array."""
        return self._view(data, typenum, (self.spec.n_keys,))

    @property
    def _int_keys(self):
        return self._column(self.spec.int_keys, cnp.NPY_INT64)

    @property
    def _text_keys(self):
        cdef int32_t i
        cdef const uint64_t *offsets = self.spec.text_offsets
        if self.spec.text == NULL:
            return None
        return [self.spec.text[offsets[i] : offsets[i + 1]].decode() for i in range(self.spec.n_keys)]

    @property
    def _model_of_key(self):
        return self._column(self.spec.model_of_key, cnp.NPY_INT32)

    @property
    def _columns(self):
        return self._column(self.spec.columns, cnp.NPY_INT32)

    cdef object _view(self, const void *data, int typenum, tuple shape):
        """A read-only array over the set's own memory, or None if there is no such array."""
        cdef cnp.ndarray view
        cdef cnp.npy_intp sizes[3]
        cdef int i
        if data == NULL:
            return None
        for i in range(len(shape)):
            sizes[i] = shape[i]
        view = cnp.PyArray_SimpleNewFromData(len(shape), sizes, typenum, <void *>data)
        cnp.PyArray_CLEARFLAGS(view, cnp.NPY_ARRAY_WRITEABLE)
        cnp.set_array_base(view, self)
        return view
