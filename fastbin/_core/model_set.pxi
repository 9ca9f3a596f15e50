# Finding models by keys, and scoring rows by the models they belong to, over a `fastbin_set`.
#
# C looks up columns of keys that lie as it wants them. `fastbin._base.cells` reads all others, and raises the errors.


cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(PyObject *number, int *overflow)
    const char *PyUnicode_AsUTF8AndSize(PyObject *text, Py_ssize_t *size) except NULL
    bint is_int "PyLong_CheckExact"(PyObject *item)
    bint is_text "PyUnicode_CheckExact"(PyObject *item)
    PyObject **items_of "PySequence_Fast_ITEMS"(object sequence)

# What a key is that cannot be looked up as it lies.
cdef enum:
    NOT_PLAIN = -2


cdef Py_ssize_t to_utf8(const uint32_t *characters, Py_ssize_t length, char *text) noexcept nogil:
    """The bytes of a text that zeros fill up, with room for four more; -1 if too many, or if one is not a character."""
    cdef Py_ssize_t size = 0, i
    cdef uint32_t c
    while length > 0 and characters[length - 1] == 0:
        length -= 1
    for i in range(length):
        c = characters[i]
        if size > FASTBIN_MAX_KEY_SIZE or c > 0x10FFFF or 0xD800 <= c < 0xE000:
            return -1
        if c < 0x80:
            text[size] = <char>c
            size += 1
        elif c < 0x800:
            text[size], text[size + 1] = <char>(0xC0 | c >> 6), <char>(0x80 | c & 0x3F)
            size += 2
        elif c < 0x10000:
            text[size], text[size + 1] = <char>(0xE0 | c >> 12), <char>(0x80 | c >> 6 & 0x3F)
            text[size + 2] = <char>(0x80 | c & 0x3F)
            size += 3
        else:
            text[size], text[size + 1] = <char>(0xF0 | c >> 18), <char>(0x80 | c >> 12 & 0x3F)
            text[size + 2], text[size + 3] = <char>(0x80 | c >> 6 & 0x3F), <char>(0x80 | c & 0x3F)
            size += 4
    return size if size <= FASTBIN_MAX_KEY_SIZE else -1


cdef fastbin_status score_set_rows(
    const fastbin_set *models, const int32_t *numbers, const fastbin_rows *rows, bint to_values, void *filled, size_t *bad_row,
) noexcept nogil:
    if to_values:
        return fastbin_set_predict_batch(models, numbers, rows, <double *>filled, bad_row)
    return fastbin_set_assign_batch(models, numbers, rows, <int32_t *>filled, bad_row)


cdef class NativeModelSet(SetOwner):
    """A set of models that finds and scores; safe from any number of threads."""

    cdef uint64_t draw_seed
    cdef uint64_t n_draws

    def __cinit__(self, *args, **kwargs):
        self.draw_seed = check_seed(None)

    # ------------------------------------------------------------------ from keys to numbers of models

    cdef int32_t _number_of(self, PyObject *item) except? NOT_PLAIN:
        """The model for a plain int or str; NOT_PLAIN for anything but a key of this set's type."""
        cdef Py_ssize_t size
        cdef const char *text
        cdef int overflow = 0
        cdef int64_t number
        if self.spec.key_type == FASTBIN_KEYS_INT:
            if not is_int(item):
                return NOT_PLAIN
            number = PyLong_AsLongLongAndOverflow(item, &overflow)
            return NOT_PLAIN if overflow else fastbin_set_find_int(self.set, number)
        if not is_text(item):
            return NOT_PLAIN
        try:
            text = PyUnicode_AsUTF8AndSize(item, &size)
        except UnicodeEncodeError:
            return NOT_PLAIN
        return fastbin_set_find_text(self.set, text, size) if 0 < size <= FASTBIN_MAX_KEY_SIZE else NOT_PLAIN

    cdef int32_t _look_up(self, cell) except? NOT_PLAIN:
        cdef int32_t number
        self._refuse_empty()
        number = self._number_of(<PyObject *>cell)
        if number == NOT_PLAIN:
            cell = check_cell(cell)  # an int or a str of NumPy becomes a plain one
            number = self._number_of(<PyObject *>cell)
        return max(number, -1)

    def _find_one(self, cell):
        """The number of the model of one key, -1 where it is unknown or of the other type; refuses anything but a key."""
        return self._look_up(cell)

    cdef bint _find_objects(self, PyObject **items, cnp.ndarray found) except -1:
        """Whether all of these are plain keys, so that `found` holds the numbers of their models."""
        cdef int32_t *numbers = <int32_t *>cnp.PyArray_DATA(found)
        cdef Py_ssize_t i
        for i in range(cnp.PyArray_DIM(found, 0)):
            if i > 0 and items[i] == items[i - 1]:
                numbers[i] = numbers[i - 1]
                continue
            numbers[i] = self._number_of(items[i])
            if numbers[i] == NOT_PLAIN:
                return False
        return True

    cdef object _find_ints(self, known):
        cdef Py_ssize_t i, n = len(known)
        cdef const int64_t *cells = integers(known)
        cdef cnp.ndarray found = new_array(cnp.NPY_INT32, n)
        cdef int32_t *numbers = <int32_t *>cnp.PyArray_DATA(found)
        with nogil:
            for i in range(n):
                if i > 0 and cells[i] == cells[i - 1]:
                    numbers[i] = numbers[i - 1]
                else:
                    numbers[i] = fastbin_set_find_int(self.set, cells[i])
        return found

    cdef bint _find_texts(self, cnp.ndarray cells, cnp.ndarray found) except -1:
        """The same for NumPy's array of texts of one width: 32-bit characters, filled up with zeros."""
        cdef const char *data = <const char *>cnp.PyArray_DATA(cells)
        cdef Py_ssize_t width = cnp.PyArray_ITEMSIZE(cells), stride = cnp.PyArray_STRIDE(cells, 0), i, size
        cdef int32_t *numbers = <int32_t *>cnp.PyArray_DATA(found)
        cdef char text[FASTBIN_MAX_KEY_SIZE + 4]
        with nogil:
            for i in range(cnp.PyArray_DIM(cells, 0)):
                if i > 0 and memcmp(data + i * stride, data + (i - 1) * stride, width) == 0:
                    numbers[i] = numbers[i - 1]
                    continue
                size = to_utf8(<const uint32_t *>(data + i * stride), width // 4, text)
                if size <= 0:
                    return False
                numbers[i] = fastbin_set_find_text(self.set, text, size)
        return True

    def _find(self, cells):
        """int32 (n,): the number of the model of each key, -1 where it is unknown. Runs of a key are looked up once."""
        cdef cnp.ndarray array, found
        cdef bint is_list = type(cells) is list
        self._refuse_empty()
        if is_list or (cnp.PyArray_CheckExact(cells) and cells.ndim == 1 and cells.dtype.isnative):
            found = np.empty(len(cells), np.int32)
            if is_list:
                if self._find_objects(items_of(cells), found):
                    return found
            elif cells.dtype.kind == "O" and cells.flags.c_contiguous:
                array = cells
                if self._find_objects(<PyObject **>cnp.PyArray_DATA(array), found):
                    return found
            elif cells.dtype.kind == "U" and self.spec.key_type == FASTBIN_KEYS_TEXT and cells.flags.aligned:
                if self._find_texts(cells, found):
                    return found
        known = as_cells(cells)
        is_text = isinstance(known, TextCells)
        n_rows = len(known.codes) if is_text else len(known)
        if n_rows and is_text != (self.spec.key_type == FASTBIN_KEYS_TEXT):
            first = known.texts[known.codes[0]] if is_text else int(known[0])
            raise InputError(f"cells[0] is {first!r}, and the keys of this set are {self._words()}; pass such keys")
        if is_text:
            # One number more, as an empty column has no texts.
            found = np.array([self._look_up(text) for text in known.texts] + [-1], np.int32)
            return found[known.codes]
        return self._find_ints(known)

    cdef object _words(self):
        return "texts" if self.spec.key_type == FASTBIN_KEYS_TEXT else "integers"

    # ------------------------------------------------------------------ one score

    def predict_one(self, score, cell, tie_key=None):
        """The calibrated probability of one score, by the model of its cell.

        Parameters
        ----------
        score : float
            Must be inside the score range of that model; NaN is refused.
        cell : int or str
        tie_key : int, optional
            The tie key of the entity, in [0, 2**64 - 2]; see `BinnedModel.predict_one`.

        Returns
        -------
        float

        Raises
        ------
        InputError
            If the score is NaN or out of range, or if the cell is unknown and the set refuses such cells.
        """
        cdef double value = 0.0
        cdef double number = PyFloat_AS_DOUBLE(score) if PyFloat_Check(score) else number_of(score)
        cdef uint64_t key = 0
        cdef int32_t model = self._look_up(cell)
        cdef fastbin_status status
        if tie_key is not None:
            key = key_of(tie_key)
        elif self.needs_keys:
            key = fresh_key(self.draw_seed, &self.n_draws)
        if model == -1:
            self._refuse_cell(cell)
        status = fastbin_set_predict_one(self.set, model, number, key, &value)
        if status != FASTBIN_OK:
            self._refuse_score(status, model, number, -1)
        return value

    cdef int _refuse_cell(self, cell) except -1:
        """For a key that was not found: one of the other type is a mistake, also where the pool scores unknown cells."""
        if isinstance(cell, str) != (self.spec.key_type == FASTBIN_KEYS_TEXT):
            raise InputError(f"cell is {cell!r}, and the keys of this set are {self._words()}; pass such a key")
        if self.spec.unknown == FASTBIN_UNKNOWN_REFUSE:
            raise InputError(
                f"cell is {cell!r}, which is none of the {self.spec.n_keys} keys of this set; score such rows by another "
                "model, or make the set with unknown='pool' and some cells that are thin"
            )
        return 0

    cdef int _refuse_score(
        self, fastbin_status status, int32_t model, scores, Py_ssize_t row, Py_ssize_t first_row=0,
    ) except -1:
        """The error for a score that this model, or the pool, refuses."""
        cdef fastbin_model_spec spec
        if status == FASTBIN_ERROR_CELL:
            raise InputError(f"row {first_row + row}: {error_of(status)}")
        if status == FASTBIN_ERROR_ARGUMENT and -1 <= model < <int32_t>self.spec.n_models:
            raise InputError("some models of the set have no bins, as they are no step functions", "predict gives values")
        if status != FASTBIN_ERROR_SCORE_NAN and status != FASTBIN_ERROR_SCORE_RANGE:
            return succeed(status)
        describe_model(self.spec.models[model if model >= 0 else self.spec.pool], &spec)
        return succeed_with(status, &spec, scores, row, first_row, "set")

    # ------------------------------------------------------------------ many scores

    cdef object _score(self, bint to_values, cnp.ndarray numbers, scores, keys, seed, out, nan, bint judges):
        """Values or bins of rows whose models have these numbers, as `_find` returns them."""
        cdef int typenum = cnp.NPY_FLOAT64 if to_values else cnp.NPY_INT32
        cdef const int32_t *models = <const int32_t *>data_of(numbers, cnp.NPY_INT32)
        cdef fastbin_rows rows
        cdef cnp.npy_intp shape = len(numbers)
        cdef cnp.ndarray result
        self._refuse_empty()
        if is_fast(scores, keys, judges):
            n_rows, pieces, all_keys = len(scores), [(scores, 0)], keys
        else:
            n_rows, pieces, all_keys = pieces_of(scores, keys, nan, judges)
        check_same_length(scores=range(n_rows), cells=numbers)
        if keys is None and seed is None and self.needs_keys:
            seed = fresh_key(self.draw_seed, &self.n_draws)  # one for all pieces
        result = cnp.PyArray_EMPTY(1, &shape, typenum, 0) if out is None else check_out(out, typenum, shape)
        for piece, first_row in pieces:
            describe_piece(&rows, piece, all_keys, seed, nan, first_row)
            if out is not None:
                check_apart(result, piece, all_keys, first_row)
            self._fill(to_values, piece, &rows, models, row_at(result, first_row))
        return result

    cdef int _fill(
        self, bint to_values, scores, const fastbin_rows *rows, const int32_t *models, void *filled,
    ) except -1:
        """The results of some rows; `models` are the numbers of the models of all."""
        cdef const int32_t *first = models + rows.first_row
        cdef fastbin_status status = FASTBIN_OK
        cdef fastbin_rows part
        cdef size_t bad_row = 0, done = 0, size = sizeof(double) if to_values else sizeof(int32_t)
        if rows.n_rows < RELEASE_GIL_FROM:
            status = score_set_rows(self.set, first, rows, to_values, filled, &bad_row)
        while rows.n_rows >= RELEASE_GIL_FROM and done < rows.n_rows and status == FASTBIN_OK:
            part, bad_row = part_of(rows, done), 0
            with nogil:
                status = score_set_rows(self.set, first + done, &part, to_values, <char *>filled + done * size, &bad_row)
            bad_row += done
            done += part.n_rows
            PyErr_CheckSignals()
        if status != FASTBIN_OK:
            self._refuse_score(status, first[bad_row], scores, bad_row, rows.first_row)
        return 0

    def _predict(self, numbers, scores, keys, seed, out, nan):
        """float64 (n,): as `NativeModel.predict`, each row by the model of this number; -1 is the pool."""
        return self._score(True, numbers, scores, keys, seed, out, nan, True)

    def _assign(self, numbers, scores, keys, seed, nan):
        """int32 (n,): as `NativeModel.assign`, each row by the model of this number; -1 for -1."""
        return self._score(False, numbers, scores, keys, seed, None, nan, True)

    def _predict_by(self, numbers, scores, keys):
        """`_predict` by keys of any kind, as `NativeModel._predict_by`."""
        return self._score(True, numbers, scores, keys, None, None, "error", False)

    def _assign_by(self, numbers, scores, keys):
        """`_assign` by keys of any kind."""
        return self._score(False, numbers, scores, keys, None, None, "error", False)
