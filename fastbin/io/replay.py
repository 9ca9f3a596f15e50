"""Batches of rows that are parsed once and iterated as often as a fit needs them."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing, suppress
from typing import IO, NamedTuple

import numpy as np
import numpy.typing as npt

from fastbin._typing import Array
from fastbin.io.base import address_space

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

    The source is read to its end at once. Later passes get copies from memory, or from a temporary file without a name, and so
    do not see changes of the source.

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

    Attributes
    ----------
    n_rows : int or None
        ``None`` if nothing is kept.

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
    ) -> None:
        self._read = read
        self._batches: list[Batch | _Stored] | None = []
        self._types: tuple[npt.DTypeLike, ...] = ()
        self._file: IO[bytes] | None = None
        self._end = 0  # of the temporary file
        self.n_rows: int | None = 0
        try:
            self._fill(_default_limit() if limit is None else limit, spill, n_rows or 0)
        except BaseException:
            self.close()
            raise

    def _fill(self, limit: float, spill: bool, expected: int) -> None:
        n_rows, n_bytes, batches = 0, 0, list[Batch | _Stored]()
        with closing(self._read()) as source:
            for batch in source:
                types = tuple(column.dtype for column in batch)
                self._types = tuple(map(np.result_type, self._types or types, types))
                n_rows += len(batch[0])
                n_bytes += sum(column.nbytes for column in batch)
                if not spill and n_bytes * max(1.0, expected / max(n_rows, 1)) > limit:
                    self._batches = self.n_rows = None
                    return
                if len(batch[0]):
                    batches.append(batch if n_bytes <= limit else self._store(batch))
        self._batches, self.n_rows = batches, n_rows

    def __iter__(self) -> Iterator[Batch]:
        """The batches from the first on. Batches without rows are left out."""
        if self._batches is None:
            yield from self._read()
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
        self._batches = []
        if self._file is not None:
            with suppress(OSError):  # a full disk, which has been reported
                self._file.close()

    def __exit__(self, *_: object) -> None:
        self.close()


def _default_limit() -> int:
    limited = address_space()
    return MEMORY_BYTES if limited is None else min(MEMORY_BYTES, limited // 8)
