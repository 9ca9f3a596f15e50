# The owner of a `fastbin_stream`: outcomes counted in the bins of a model, as they arrive.
#
# The arrays are those that C can read. C allows one thread at a time to use a stream; a lock here lets threads share one.


cdef extern from "fastbin.h" nogil:
    ctypedef struct fastbin_stream:
        pass

    fastbin_status fastbin_stream_create(const fastbin_model *model, fastbin_stream **stream)
    fastbin_status fastbin_stream_continue(const fastbin_model *model, fastbin_stream **stream)
    void fastbin_stream_free(fastbin_stream *stream)
    fastbin_status fastbin_stream_update_one(fastbin_stream *stream, double score, uint64_t key, int label, int32_t *bin)
    fastbin_status fastbin_stream_update(fastbin_stream *stream, const fastbin_rows *rows, const uint8_t *labels,
                                         int32_t *bins, size_t *bad_row)
    const fastbin_model *fastbin_stream_partition(const fastbin_stream *stream)
    int64_t fastbin_stream_n_samples(const fastbin_stream *stream)
    int fastbin_stream_has_variance(const fastbin_stream *stream)
    fastbin_status fastbin_stream_tally(const fastbin_stream *stream, int64_t *counts, int64_t *label_sums,
                                        double *running_variances)
    fastbin_status fastbin_stream_snapshot(const fastbin_stream *stream, fastbin_model **model)
    fastbin_status fastbin_stream_merge(fastbin_stream *stream, const fastbin_stream *other)
    size_t fastbin_stream_size(const fastbin_stream *stream)
    fastbin_status fastbin_stream_write(const fastbin_stream *stream, void *buffer, size_t capacity)
    fastbin_status fastbin_stream_read(const void *bytes, size_t size, fastbin_stream **stream)

    ctypedef struct fastbin_monitor:
        pass

    ctypedef struct fastbin_monitor_spec:
        size_t struct_size
        const fastbin_stream *stream
        double alpha
        double interval_alpha
        const double *tolerated
        double max_log_mean
        int64_t alarm_at
        const double *max_log_e
        const int64_t *named_at
        const unsigned char *seen
        size_t n_seen
        const double *grid
        size_t n_pairs
        const int64_t *class_bins
        size_t n_classes
        const int64_t *start_at
        const double *start_weights
        const int64_t *start_counts
        const int64_t *start_ones
        size_t n_starts

    const size_t FASTBIN_DIGEST_SIZE
    size_t fastbin_monitor_size(const fastbin_monitor_spec *spec)
    fastbin_status fastbin_monitor_write(const fastbin_monitor_spec *spec, void *buffer, size_t capacity)
    fastbin_status fastbin_monitor_read(const void *bytes, size_t size, fastbin_monitor **monitor)
    fastbin_status fastbin_monitor_describe(const fastbin_monitor *monitor, fastbin_monitor_spec *spec)
    void fastbin_monitor_free(fastbin_monitor *monitor)


cdef int succeed_as(fastbin_status status, str what) except -1:
    """The same for the bytes of something other than a model."""
    if FASTBIN_ERROR_MAGIC <= status <= FASTBIN_ERROR_CONTENT:
        raise FormatError(str(error_of(status)).replace("model", what))
    return succeed(status)


cdef object owned_by(type cls, fastbin_model *model):
    """An object of this subclass of `ModelOwner` that owns the model."""
    cdef ModelOwner owner = cls.__new__(cls)
    owner.model = model
    owner._adopt(FASTBIN_OK)
    return owner


cdef fastbin_stream *stream_of(data) except NULL:
    """The stream in these bytes, for the caller to free."""
    cdef fastbin_stream *stream = NULL
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if view.len == 0:
            raise FormatError(f"no bytes: an empty file is not a stream; {NOT_WHOLE}")
        refuse_others(view.buf, view.len, b"S", "the state of a stream")
        succeed_as(fastbin_stream_read(view.buf, view.len, &stream), "stream")
    finally:
        PyBuffer_Release(&view)
    return stream


cdef bytes bytes_of(const fastbin_stream *stream):
    """The caller holds the lock."""
    cdef bytes data = PyBytes_FromStringAndSize(NULL, fastbin_stream_size(stream))
    succeed(fastbin_stream_write(stream, PyBytes_AS_STRING(data), len(data)))
    return data


cdef class NativeStream:
    """Counts, label sums and running variances per bin, owned by C. Mutable; may be shared between threads."""

    cdef fastbin_stream *stream
    cdef fastbin_model_spec spec
    cdef object lock
    cdef object __weakref__

    def __cinit__(self, *args, **kwargs):
        self.lock = Lock()

    def __dealloc__(self):
        fastbin_stream_free(self.stream)

    # ------------------------------------------------------------------ making

    def _begin(self, ModelOwner model, bint with_tally):
        """Start with the bins of a model, at zero samples or at its tally."""
        cdef fastbin_stream *stream
        succeed(fastbin_stream_continue(model.model, &stream) if with_tally else fastbin_stream_create(model.model, &stream))
        self._adopt(stream)

    def _resume(self, data):
        """Continue from the bytes of FORMAT.md."""
        self._adopt(stream_of(data))

    cdef int _adopt(self, fastbin_stream *stream) except -1:
        with self.lock:
            fastbin_stream_free(self.stream)
            self.stream = stream
            self.spec.struct_size = sizeof(fastbin_model_spec)
            fastbin_model_describe(fastbin_stream_partition(stream), &self.spec)
        return 0

    cdef int _require(self) except -1:
        if self.stream == NULL:
            raise FastbinError("this stream was never begun: its __init__ did not run")
        return 0

    def to_bytes(self):
        """The stream in the bytes of csrc/FORMAT.md, from which it continues bit for bit."""
        self._require()
        with self.lock:
            return bytes_of(self.stream)

    def _partition(self, type cls):
        """The model that defines the bins, as an object of this subclass of `ModelOwner`."""
        cdef fastbin_model *model
        self._require()
        succeed(fastbin_model_create(&self.spec, &model))
        return owned_by(cls, model)

    def _snapshot(self, type cls):
        """A model of what was counted so far, as an object of this subclass of `ModelOwner`."""
        cdef fastbin_model *model
        self._require()
        with self.lock:
            succeed(fastbin_stream_snapshot(self.stream, &model))
        return owned_by(cls, model)

    # ------------------------------------------------------------------ counting

    def update_one(self, score, label, tie_key=None):
        """Count one sample.

        Parameters
        ----------
        score : float
            Inside the score range of the partition.
        label : 0 or 1
            Or False or True.
        tie_key : int, optional
            The tie key of the entity, in [0, 2**64 - 2]; without it, the sample gets the key of its row, as in `update`.

        Returns
        -------
        int
            The bin in which the sample was counted, from 0.

        Raises
        ------
        InputError
            If the score is NaN or outside the range, or the label neither 0 nor 1. Nothing is counted then.
        """
        cdef int32_t bin_number
        cdef uint64_t key = 0
        cdef fastbin_status status = FASTBIN_OK
        cdef int y
        cdef double number = number_of(score)
        self._require()
        try:
            y = 1 if label == 1 else 0 if label == 0 else -1
        except (TypeError, ValueError):  # that pandas.NA, or an array of several labels, is 1 is neither true nor false
            y = -1
        if y < 0:
            raise InputError(f"label is {label!r:.100}; labels are 0 and 1, or False and True")
        if tie_key is not None:
            key = check_key(tie_key)
        with self.lock:
            if tie_key is None:
                key = fastbin_row_key(self.spec.seed, fastbin_stream_n_samples(self.stream))
            status = fastbin_stream_update_one(self.stream, number, key, y, &bin_number)
        if status != FASTBIN_OK:
            succeed_with(status, &self.spec, number, -1)
        return bin_number

    def _update(self, cnp.ndarray scores, labels, keys, seed):
        """Count all rows or none, and return their bins as int32. `scores` is float32 or float64 in native order."""
        cdef fastbin_rows rows
        cdef fastbin_status status = FASTBIN_OK
        cdef cnp.npy_intp n = cnp.PyArray_DIM(scores, 0)
        cdef cnp.ndarray bins = cnp.PyArray_EMPTY(1, &n, cnp.NPY_INT32, 0)
        cdef int32_t *counted_in = <int32_t *>cnp.PyArray_DATA(bins)
        cdef const uint8_t *ys = bytes_in(labels)
        cdef size_t bad_row = n
        self._require()
        describe_rows(&rows, scores)
        rows.seed = self.spec.seed if seed is None else seed
        rows.keys = given_words(keys)
        with self.lock:
            rows.first_row = fastbin_stream_n_samples(self.stream)
            if rows.n_rows > <size_t>SIGNALS_EVERY:
                status = self._update_in_parts(&rows, ys, counted_in, &bad_row)
            else:
                with nogil:
                    status = fastbin_stream_update(self.stream, &rows, ys, counted_in, &bad_row)
        if status == FASTBIN_ERROR_ARGUMENT and bad_row < <size_t>n:
            refuse_labels(labels)
        succeed_with(status, &self.spec, scores, bad_row)
        return bins

    cdef fastbin_status _update_in_parts(
        self, const fastbin_rows *rows, const uint8_t *ys, int32_t *bins, size_t *bad_row,
    ) except *:
        """The same, and between parts Ctrl-C ends it. A copy counts, and takes the place of the stream when it has all rows."""
        cdef fastbin_stream *copy
        cdef fastbin_status status = FASTBIN_OK
        cdef fastbin_rows part
        cdef size_t first = 0, bad_in_part = 0
        cdef bytes data = bytes_of(self.stream)
        succeed(fastbin_stream_read(PyBytes_AS_STRING(data), len(data), &copy))
        try:
            while first < rows.n_rows and status == FASTBIN_OK:
                part = part_of(rows, first)
                bad_in_part = part.n_rows
                with nogil:
                    status = fastbin_stream_update(copy, &part, ys + first, bins + first, &bad_in_part)
                bad_row[0] = first + bad_in_part if bad_in_part < part.n_rows else rows.n_rows
                first += part.n_rows
                PyErr_CheckSignals()
            if status == FASTBIN_OK:
                self.stream, copy = copy, self.stream
                fastbin_model_describe(fastbin_stream_partition(self.stream), &self.spec)
        finally:
            fastbin_stream_free(copy)
        return status

    def _merge(self, data):
        """Add the counts of the stream in these bytes."""
        cdef fastbin_stream *other
        cdef fastbin_status status = FASTBIN_OK
        self._require()
        other = stream_of(data)
        with self.lock:
            status = fastbin_stream_merge(self.stream, other)
            fastbin_model_describe(fastbin_stream_partition(self.stream), &self.spec)
        fastbin_stream_free(other)
        succeed(status)

    # ------------------------------------------------------------------ reading

    def tally(self):
        """Counts, label sums and running variances at one moment: three arrays, as the properties of these names."""
        cdef cnp.ndarray counts = new_array(cnp.NPY_INT64, self.spec.n_bins)
        cdef cnp.ndarray label_sums = new_array(cnp.NPY_INT64, self.spec.n_bins)
        cdef cnp.ndarray running_variances = new_array(cnp.NPY_FLOAT64, self.spec.n_bins)
        cdef double *variances = <double *>cnp.PyArray_DATA(running_variances)
        cdef bint has_variance
        self._require()
        with self.lock:
            has_variance = fastbin_stream_has_variance(self.stream)
            succeed(fastbin_stream_tally(
                self.stream, <int64_t *>cnp.PyArray_DATA(counts), <int64_t *>cnp.PyArray_DATA(label_sums),
                variances if has_variance else NULL))
        return counts, label_sums, running_variances if has_variance else None

    @property
    def counts(self):
        """int64 (n_bins,): the samples counted in each bin, a copy."""
        return self.tally()[0]

    @property
    def label_sums(self):
        """int64 (n_bins,): of these, the samples with label 1."""
        return self.tally()[1]

    @property
    def running_variances(self):
        """float64 (n_bins,): Gupta, Podkopaev & Ramdas 2020, equation (20), unclipped; ``None`` where the order was lost."""
        return self.tally()[2]

    @property
    def n_bins(self):
        """int: the number of bins."""
        return self.spec.n_bins

    @property
    def n_samples(self):
        """int: the samples counted so far, including those of the fit if the stream started from its tally."""
        self._require()
        return fastbin_stream_n_samples(self.stream)

    @property
    def seed(self):
        """int: the seed of the partition; samples without a key get one from it and their row number."""
        return self.spec.seed


def write_monitor(
    NativeStream stream, *, double alpha, double interval_alpha, tolerated, double max_log_mean, int64_t alarm_at, max_log_e,
    named_at, bytes seen, grid=None, class_bins=None, start_at=None, start_weights=None, start_counts=None, start_ones=None,
):
    """The state of a monitor in the bytes of csrc/FORMAT.md; arrays have an entry for each bin of the stream.

    Those from `grid` on go together, and are left out by states whose evidence is not pooled.
    """
    cdef fastbin_monitor_spec spec
    cdef bytes data
    stream._require()
    if not (tolerated.shape == (stream.spec.n_bins, 2) and len(max_log_e) == len(named_at) == stream.spec.n_bins):
        raise InputError("the parts of a monitor have different numbers of bins")
    memset(&spec, 0, sizeof(spec))
    spec.struct_size = sizeof(spec)
    spec.stream = stream.stream
    spec.alpha, spec.interval_alpha, spec.max_log_mean, spec.alarm_at = alpha, interval_alpha, max_log_mean, alarm_at
    spec.tolerated, spec.max_log_e, spec.named_at = given_doubles(tolerated, 2), doubles(max_log_e), integers(named_at)
    spec.seen, spec.n_seen = <const unsigned char *>PyBytes_AS_STRING(seen), len(seen) // FASTBIN_DIGEST_SIZE
    if grid is not None:
        spec.grid, spec.n_pairs = given_doubles(grid, 2), len(grid)
        spec.class_bins, spec.n_classes = integers(class_bins), len(class_bins)
        spec.start_at, spec.start_weights, spec.n_starts = integers(start_at), doubles(start_weights), len(start_at)
        spec.start_counts, spec.start_ones = integers(start_counts.ravel()), integers(start_ones.ravel())
    with stream.lock:
        data = PyBytes_FromStringAndSize(NULL, fastbin_monitor_size(&spec))
        succeed_as(fastbin_monitor_write(&spec, PyBytes_AS_STRING(data), len(data)), "monitor")
    return data


cdef object copy_of(const void *data, int typenum, cnp.npy_intp n_rows, cnp.npy_intp n_columns=-1):
    """An array that holds a copy of C's."""
    cdef cnp.ndarray copy = new_array(typenum, n_rows, n_columns)
    memcpy(cnp.PyArray_DATA(copy), data, cnp.PyArray_NBYTES(copy))
    return copy


def read_monitor(data):
    """The state in these bytes: what `write_monitor` takes, by name, with the stream in its own bytes."""
    cdef fastbin_monitor_spec spec
    cdef fastbin_monitor *monitor
    cdef fastbin_model_spec model
    cdef bytes stream
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        refuse_others(view.buf, view.len, b"W", "the state of a monitor")
        succeed_as(fastbin_monitor_read(view.buf, view.len, &monitor), "monitor")
    finally:
        PyBuffer_Release(&view)
    try:
        spec.struct_size = sizeof(spec)
        fastbin_monitor_describe(monitor, &spec)
        model.struct_size = sizeof(model)
        fastbin_model_describe(fastbin_stream_partition(spec.stream), &model)
        stream = bytes_of(spec.stream)
        return {
            "stream": stream,
            "alpha": spec.alpha,
            "interval_alpha": spec.interval_alpha,
            "tolerated": copy_of(spec.tolerated, cnp.NPY_FLOAT64, model.n_bins, 2),
            "max_log_mean": spec.max_log_mean,
            "alarm_at": spec.alarm_at,
            "max_log_e": copy_of(spec.max_log_e, cnp.NPY_FLOAT64, model.n_bins),
            "named_at": copy_of(spec.named_at, cnp.NPY_INT64, model.n_bins),
            "seen": PyBytes_FromStringAndSize(<const char *>spec.seen, spec.n_seen * FASTBIN_DIGEST_SIZE),
            "grid": None if spec.grid == NULL else copy_of(spec.grid, cnp.NPY_FLOAT64, spec.n_pairs, 2),
            "class_bins": copy_of(spec.class_bins, cnp.NPY_INT64, spec.n_classes),
            "start_at": copy_of(spec.start_at, cnp.NPY_INT64, spec.n_starts),
            "start_weights": copy_of(spec.start_weights, cnp.NPY_FLOAT64, spec.n_starts),
            "start_counts": copy_of(spec.start_counts, cnp.NPY_INT64, spec.n_starts, model.n_bins),
            "start_ones": copy_of(spec.start_ones, cnp.NPY_INT64, spec.n_starts, model.n_bins),
        }
    finally:
        fastbin_monitor_free(monitor)
