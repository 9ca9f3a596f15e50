# Quotation marks in delimited text that is read in blocks, followed as PyArrow does: a mark opens a value where the value
# begins, a second one closes it, and two in a row stand for one. Other marks are characters like any other.

cdef enum QuoteState:
    OUTSIDE
    INSIDE
    BEHIND  # a mark, which closes the value unless another one follows
    IN_SPACES  # behind it


@cython.final
@cython.auto_pickle(False)
cdef class Quotes:
    """Finds a mark that is left open: lines up to the next one, or to the end, are one value, and rows are lost.

    Such a value goes over a line end, and behind it and spaces stands no delimiter and no line end; or it never ends. O(n),
    at the speed of memory where marks are few.
    """

    cdef unsigned char delimiter, before
    cdef QuoteState state
    cdef bint has_line_end
    cdef int64_t n_bytes, opened_at
    cdef readonly int64_t left_open_at
    """The byte of the mark that is left open; -1 while there is none."""

    def __init__(self, bytes delimiter):
        self.delimiter = delimiter[0]
        self.before = 10
        self.state = OUTSIDE
        self.n_bytes, self.opened_at, self.left_open_at = 0, -1, -1

    cdef bint ends_value(self, unsigned char c) noexcept:
        return c == self.delimiter or c == 10 or c == 13

    def follow(self, bytes text):
        """The next block of the text."""
        cdef const unsigned char *start = <const unsigned char *>PyBytes_AS_STRING(text)
        cdef const unsigned char *mark
        cdef Py_ssize_t n = len(text), at = 0, end
        while at < n and self.left_open_at < 0:
            if self.state == BEHIND or self.state == IN_SPACES:
                if start[at] == 34 and self.state == BEHIND:
                    self.state = INSIDE
                    at += 1
                elif start[at] == 32:
                    self.state = IN_SPACES
                    at += 1
                else:
                    if self.has_line_end and not self.ends_value(start[at]):
                        self.left_open_at = self.opened_at
                    self.state = OUTSIDE
                    self.before = 34  # no end of a value
                continue
            end = at
            if self.state == INSIDE:
                while end < n and start[end] != 34:
                    self.has_line_end |= start[end] == 10 or start[end] == 13
                    end += 1
                if end < n:
                    self.state = BEHIND
            else:
                mark = <const unsigned char *>memchr(start + at, 34, n - at)
                end = n if mark == NULL else mark - start
                if end > at:
                    self.before = start[end - 1]
                if mark != NULL:
                    if self.ends_value(self.before):
                        self.state, self.has_line_end, self.opened_at = INSIDE, False, self.n_bytes + end
                    self.before = 34
            at = end + 1
        self.n_bytes += n

    def finish(self):
        """The end of the text."""
        if self.state == INSIDE and self.left_open_at < 0:
            self.left_open_at = self.opened_at
