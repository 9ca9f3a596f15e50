# A vector model: a set of models, one for each class, and the map that makes one vector of their values.


cdef class NativeVectorModel(SetOwner):
    """The owner of a vector model; safe from any number of threads."""

    cdef int _refuse_others(self, const void *data, Py_ssize_t size) except -1:
        return refuse_others(data, size, b"V", "a vector model")

    @property
    def _vector(self):
        """dict: the members of `fastbin_vector_map`, arrays as read-only views."""
        cdef const fastbin_vector_map *map = self.spec.vector
        cdef Py_ssize_t n = self.spec.n_keys, n_bins
        self._refuse_empty()
        n_bins = map.n_bins
        return {
            "of_models": map.of_models,
            "of_priors": map.of_priors,
            "least": map.least,
            "keep_top": bool(map.keep_top),
            "slopes": self._view(map.slopes, cnp.NPY_FLOAT64, (n,)),
            "intercepts": self._view(map.intercepts, cnp.NPY_FLOAT64, (n,)),
            "priors": self._view(map.priors, cnp.NPY_FLOAT64, (n,)),
            "mixing": self._view(map.mixing, cnp.NPY_FLOAT64, (n, n)),
            "edges": self._view(map.edges, cnp.NPY_FLOAT64, (n + 1, n_bins - 1)),
            "counts": self._view(map.counts, cnp.NPY_INT64, (n + 1, n_bins, 2)),
            "means": self._view(map.means, cnp.NPY_FLOAT64, (n + 1, n_bins)),
            "unlabelled": self._view(map.unlabelled, cnp.NPY_FLOAT64, (n + 1, n_bins, 3)),
        }

    def _predict(self, cnp.ndarray matrix, cnp.ndarray out):
        """Fills `out` with the vectors of the rows of a checked matrix; both are float64 (n, k) without gaps."""
        cdef const double *given = <const double *>data_of(matrix, cnp.NPY_FLOAT64, 2)
        cdef double *values = <double *>data_of(out, cnp.NPY_FLOAT64, 2)
        cdef Py_ssize_t n_rows = cnp.PyArray_DIM(matrix, 0), done = 0, part, n = self.spec.n_keys
        cdef Py_ssize_t at_a_time = max(1, <Py_ssize_t>RELEASE_GIL_FROM // n)
        cdef size_t bad = 0
        cdef fastbin_status status = FASTBIN_OK
        self._refuse_empty()
        if cnp.PyArray_DIM(matrix, 1) != n or cnp.PyArray_DIM(out, 1) != n or cnp.PyArray_DIM(out, 0) != n_rows:
            raise InputError(f"matrices of {n} columns are needed")
        while done < n_rows and status == FASTBIN_OK:
            part = min(at_a_time, n_rows - done)
            with nogil:
                status = fastbin_vector_predict(self.set, given + done * n, part, values + done * n, &bad)
            done += part
            PyErr_CheckSignals()
        succeed(status)
