"""Files, folders and patterns of them as streams, opened by `fastbin.io`."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from fastbin._base.errors import InputError
from fastbin.engines.arrays import Names
from fastbin.engines.counting import Asked, Partition
from fastbin.engines.tables import BATCH_ROWS, Stream, pyarrow
from fastbin.io import Table, open_table
from fastbin.io.columns import ColumnReader
from fastbin.io.parsing import as_text, first_true, is_integer, without_missing
from fastbin.io.replay import Replay
from fastbin.model_set import ModelSet


class FileStream(NamedTuple):
    """A file as a table, and what its columns are called there: those of text are parsed once, labels and all."""

    table: Table
    names: Any  # `Names` or `Asked`, as they were given where the file knows the types of its columns
    positive: Any  # the label that still is to be compared


def stream_file(path: str | os.PathLike[str] | Table, names: Names, positive: Any = None) -> FileStream:
    """A file as a stream for a fit.

    Parameters
    ----------
    path : str, path-like or fastbin.io.Table
        What `fastbin.io.open_table` opens, or has opened.
    names : Names
        The columns that will be read.
    positive : optional

    Notes
    -----
    What is parsed from text is kept in memory, or beyond 256 MB (or half of the table's memory limit) in a temporary file until
    the stream is closed; with segments, whose keys stay text, rows are read once anyway.
    """
    columns = {argument: name for argument, name in names._asdict().items() if name is not None}
    table = _opened(path, columns)
    if not table.is_text:
        return FileStream(table, names, positive)
    parsed = _Parsed(table, columns, {"segment": None}, positive, kept="segment" not in columns)
    return FileStream(parsed, names._replace(**parsed.called), None)


def stream_to_count(path: str | os.PathLike[str] | Table, asked: Asked, model: Partition) -> FileStream:
    """A file as a stream for one pass of counting in the bins of a model."""
    table = _opened(path, asked.columns)
    if not table.is_text:
        return FileStream(table, asked, asked.positive)
    pa = pyarrow()
    # The type of the keys of a set is known; those of other columns stay text.
    has_numbers = isinstance(model, ModelSet) and isinstance(model.keys[0], int)
    kinds = {"cell": pa.int64() if has_numbers else None, "key": pa.uint64(), "by": None}
    parsed = _Parsed(table, asked.columns, kinds, asked.positive, propagate=("score",))
    return FileStream(parsed, asked._replace(positive=None, **parsed.called), None)


def _opened(path: str | os.PathLike[str] | Table, columns: Mapping[str, str]) -> Table:
    table = path if isinstance(path, Table) else open_table(path)
    table.check_columns(*columns.values())
    return table


class _Parsed(Stream):
    """Columns of a text file by argument: keys as text or integers, all others as numbers.

    Two arguments may be of one column, which then is there twice, each time in the type of its argument. Parsed rows that are
    kept, which must be numbers alone, can be read again.
    """

    memory_limit = 0  # for further copies of these rows

    def __init__(
        self,
        table: Table,
        columns: Mapping[str, str],
        keys: Mapping[str, Any],
        positive: Any,
        *,
        kept: bool = False,
        propagate: tuple[str, ...] = (),
    ) -> None:
        self._table, self._positive, self._propagate = table, positive, propagate
        self._numbers = {argument: name for argument, name in columns.items() if argument not in keys}
        self._keys = {argument: (name, keys[argument]) for argument, name in columns.items() if argument in keys}
        self.called: dict[str, str] = {}
        for argument in (*self._numbers, *self._keys):
            name = columns[argument]
            self.called[argument] = name if name not in self.called.values() else f"{name} (as {argument})"
        self._kept = Replay(self._parse, limit=table.most_kept) if kept else None
        super().__init__(table.path, list(self.called.values()), self._rows, once=not kept)

    def _rows(self, wanted: list[str]) -> Iterator[Any]:
        pa = pyarrow()
        for arrays in self._parse() if self._kept is None else self._kept:
            yield pa.RecordBatch.from_arrays([pa.array(array) for array in arrays], self.names).select(wanted)

    def close(self) -> None:
        if self._kept is not None:
            self._kept.close()

    def _parse(self) -> Generator[tuple[Any, ...], None, None]:
        label = "label" if "label" in self._numbers else None
        reader = ColumnReader(
            self._table, self._numbers, label=label, positive=self._positive, whole=("weight",), propagate=self._propagate
        )
        wanted = dict.fromkeys([*reader.names, *(name for name, _ in self._keys.values())])
        for batch in self._table.batches(list(wanted), BATCH_ROWS):
            first_row = reader.first_row
            numbers = reader.read(batch).values()
            yield (*numbers, *(self._read_keys(batch, name, kind, first_row) for name, kind in self._keys.values()))
        reader.finish()

    def _read_keys(self, batch: Any, name: str, kind: Any, first_row: int) -> Any:
        pa = pyarrow()
        text = as_text(self._table, name, without_missing(batch.column(batch.schema.get_field_index(name))), first_row)
        if kind is None:
            return text
        is_tie_key = pa.types.is_unsigned_integer(kind)
        if is_tie_key:  # all are different, so that looking at each would take long
            with suppress(pa.ArrowInvalid):
                return text.cast(kind)
        fits = _is_tie_key if is_tie_key else is_integer  # of which 007 is none, though it could be cast
        wrong = next((value for value in text.unique().drop_null().to_pylist() if not fits(value)), None)
        if wrong is not None:
            row = first_row + first_true(pa.compute.equal(text, wrong).fill_null(False))
            raise InputError(f"{self._table.place(row)}, column {name}: {wrong[:60]!r} is no integer, and such are needed here")
        return text.cast(kind)


def _is_tie_key(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) < 2**64
