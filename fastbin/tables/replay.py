"""Batches of rows that are parsed once and iterated as often as a fit needs them."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing, suppress
from typing import IO, NamedTuple

import numpy as np
import numpy.typing as npt

from fastbin._base.array_types import Array
from fastbin.tables.table import address_space

Batch = tuple[Array, ...]

# Bytes of parsed columns that are kept in memory: 2**24 rows of scores, labels and weights, or nearly twice as many without
# weights. A process whose address space is limited (ulimit -v) uses an eighth of it at most.
MEMORY_BYTES = 2**28


class _Stored(NamedTuple):
    """Where a batch stands in the temporary file."""

    start: int
    n_rows: int
    types: tuple[npt.DTypeLike, ...]


class Replay(AbstractContextManager["Replay"]):
    """Batches of rows from a source that is slow to read, such as a CSV file, or that can be read only once.

    The source is read to its end at once, or by the first pass. Later passes get copies from memory, or from a temporary file
    without a name, and so do not see changes of the source.

    Parameters
    ----------
    read : callable
        Called without arguments, it returns a generator of batches: tuples of one-dimensional arrays, one per column.
    limit : float, optional
        Bytes of arrays that are kept in memory; by default 256 MB, or an eighth of a limited address space.
    spill : bool
        What happens beyond the limit. True: batches go to a temporary file. False: nothing is kept, and `read` is called again
        for each pass, which suits Parquet: decoding 6 x 10^6 rows takes 0.07 s, parsing them in CSV takes 1 s, and reading them
        from a temporary file 0.01 s.
    n_rows : int, optional
        How many rows there will be, if that is known. If they are too many to be kept, and would be read again, the first
        batch shows it.
    at_once : bool
        Whether the source is read now. Otherwise the first pass does, which sees each batch as it comes.

    Attributes
    ----------
    n_rows : int or None
        ``None`` if nothing is kept.
    is_full : bool
        Whether there are more rows than are kept, so that each pass reads them.

    Raises
    ------
    OSError
        If the temporary file cannot be written; and whatever `read` raises. Nothing is left behind.

    Notes
    -----
    A column has one type in all batches: the smallest that holds those of the source, such as float64 for integers in some
    batches and floats in others.
    """

    def __init__(
        self,
        read: Callable[[], Generator[Batch, None, None]],
        *,
        limit: float | None = None,
        spill: bool = True,
        n_rows: int | None = None,
        at_once: bool = True,
    ) -> None:
        self._read, self._spill, self._expected = read, spill, n_rows or 0
        self._limit = default_limit() if limit is None else limit
        self._batches: list[Batch | _Stored] | None = None  # after the first pass
        self._types: tuple[npt.DTypeLike, ...] = ()
        self._file: IO[bytes] | None = None
        self._end = 0  # of the temporary file
        self.n_rows: int | None = None
        self.is_full = False
        if at_once:
            for _ in self._first_pass():
                if self.is_full:
                    break

    def _first_pass(self) -> Iterator[Batch]:
        """The batches as they come; they are kept as far as there is room."""
        n_rows, n_bytes, batches, types = 0, 0, list[Batch | _Stored](), self._types
        try:
            with closing(self._read()) as source:
                for batch in source:
                    own = tuple(column.dtype for column in batch)
                    types = tuple(map(np.result_type, types or own, own))
                    n_rows += len(batch[0])
                    n_bytes += sum(column.nbytes for column in batch)
                    if not self._spill and n_bytes * max(1.0, self._expected / max(n_rows, 1)) > self._limit:
                        batches, self.is_full = [], True
                    elif len(batch[0]):
                        batches.append(batch if n_bytes <= self._limit else self._store(batch))
                    yield batch
        except BaseException:
            self.close()
            raise
        if not self.is_full:
            self._batches, self._types, self.n_rows = batches, types, n_rows

    def __iter__(self) -> Iterator[Batch]:
        """The batches from the first on. Batches without rows are left out of those that are kept."""
        if self._batches is None:
            yield from self._read() if self.is_full else self._first_pass()
            return
        for batch in self._batches:
            columns = self._load(batch) if isinstance(batch, _Stored) else batch
            yield tuple(column.astype(kind, copy=False) for column, kind in zip(columns, self._types, strict=True))

    def columns(self) -> Batch:
        """Each column as one array."""
        return tuple(np.concatenate(column) for column in zip(*self, strict=True))

    def _store(self, batch: Batch) -> _Stored:
        stored = _Stored(self._end, len(batch[0]), tuple(column.dtype for column in batch))
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115
            for column in batch:
                self._end += self._file.write(np.ascontiguousarray(column).data.cast("B"))
            self._file.flush()
        except OSError as error:
            remedy = f"{error.strerror}; set TMPDIR to a folder with room for the parsed rows"
            raise OSError(error.errno, remedy, tempfile.gettempdir()) from None
        return stored

    def _load(self, stored: _Stored) -> Batch:
        assert self._file is not None
        columns, place = [], stored.start
        for kind in stored.types:
            column = np.empty(stored.n_rows, kind)
            self._file.seek(place)  # each time, since an earlier pass may have been left before its end
            if self._file.readinto(column.data.cast("B")) != column.nbytes:  # type: ignore[attr-defined]
                raise OSError(errno.EIO, "a temporary file has lost its end", tempfile.gettempdir())
            place += column.nbytes
            columns.append(column)
        return tuple(columns)

    def close(self) -> None:
        """Give back the memory and the temporary file."""
        self._batches = None if self._batches is None else []
        if self._file is not None:
            with suppress(OSError):  # a full disk, which has been reported
                self._file.close()

    def __exit__(self, *_: object) -> None:
        self.close()


def default_limit() -> int:
    limited = address_space()
    return MEMORY_BYTES if limited is None else min(MEMORY_BYTES, limited // 8)
