"""Files, folders and patterns of them as streams, opened by `fastbin.io`."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from fastbin._errors import InputError
from fastbin.engines.arrays import Names
from fastbin.engines.counting import Asked, Partition
from fastbin.engines.tables import BATCH_ROWS, Stream, check_column, pyarrow
from fastbin.io import Table, open_table
from fastbin.io.columns import ColumnReader
from fastbin.io.parsing import as_text, first_true, is_integer, without_missing
from fastbin.io.replay import Replay
from fastbin.model_set import ModelSet


class FileStream(NamedTuple):
    """A file as a stream, and what its columns are called there: those of text are parsed once, labels and all."""

    stream: Stream
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
        return FileStream(_typed(table), names, positive)
    parsed = _Parsed(table, columns, {"segment": None}, positive)
    return FileStream(parsed.stream(kept="segment" not in columns), names._replace(**parsed.called), None)


def stream_to_count(path: str | os.PathLike[str] | Table, asked: Asked, model: Partition) -> FileStream:
    """A file as a stream for one pass of counting in the bins of a model."""
    table = _opened(path, asked.columns)
    if not table.is_text:
        return FileStream(_typed(table), asked, asked.positive)
    pa = pyarrow()
    # The type of the keys of a set is known; those of other columns stay text.
    has_numbers = isinstance(model, ModelSet) and isinstance(model.keys[0], int)
    kinds = {"cell": pa.int64() if has_numbers else None, "key": pa.uint64(), "by": None}
    parsed = _Parsed(table, asked.columns, kinds, asked.positive, propagate=("score",))
    return FileStream(parsed.stream(kept=False), asked._replace(positive=None, **parsed.called), None)


def _opened(path: str | os.PathLike[str] | Table, columns: Mapping[str, str]) -> Table:
    table = path if isinstance(path, Table) else open_table(path)
    for name in columns.values():
        check_column(table.path, table.names, name)
    return table


def _typed(table: Table) -> Stream:
    """The columns of a file that knows their types."""
    return Stream(
        table.path, table.names, lambda wanted: table.batches(wanted, BATCH_ROWS), once=not table.can_be_read_again,
        most_kept=_half_of_limit(table),
    )  # fmt: skip


def _half_of_limit(table: Table) -> int | None:
    """What rows that are kept may take; the other half is for the engine that reads."""
    return None if table.memory_limit is None else table.memory_limit // 2


class _Parsed:
    """Columns of a text file by argument: keys as text or integers, all others as numbers.

    Two arguments may be of one column, which then is there twice, each time in the type of its argument.
    """

    def __init__(
        self, table: Table, columns: Mapping[str, str], keys: Mapping[str, Any], positive: Any, propagate: tuple[str, ...] = ()
    ) -> None:
        self._table, self._positive, self._propagate = table, positive, propagate
        self._numbers = {argument: name for argument, name in columns.items() if argument not in keys}
        self._keys = {argument: (name, keys[argument]) for argument, name in columns.items() if argument in keys}
        self.called: dict[str, str] = {}
        for argument in (*self._numbers, *self._keys):
            name = columns[argument]
            self.called[argument] = name if name not in self.called.values() else f"{name} (as {argument})"

    def stream(self, *, kept: bool) -> Stream:
        """A stream that can be read again if parsed rows are kept, of numbers alone."""
        replay = Replay(self._parse, limit=_half_of_limit(self._table)) if kept else None

        def read(wanted: list[str]) -> Iterator[Any]:
            pa, names = pyarrow(), list(self.called.values())
            for arrays in self._parse() if replay is None else replay:
                yield pa.RecordBatch.from_arrays([pa.array(array) for array in arrays], names).select(wanted)

        called, names = self._table.path, list(self.called.values())
        if replay is None:
            return Stream(called, names, read, once=True)
        return Stream(called, names, read, close=replay.close, most_kept=0)  # as these rows are kept already

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
