"""Files, folders and patterns of them as streams, opened by `fastbin.io`."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from typing import Any

from fastbin.engines.arrays import Names
from fastbin.engines.tables import BATCH_ROWS, Stream, check_column, pyarrow
from fastbin.io import Table, open_table
from fastbin.io.columns import ColumnReader
from fastbin.io.parsing import without_missing
from fastbin.io.replay import Replay


def stream_file(path: str | os.PathLike[str], names: Names, positive: Any = None) -> tuple[Stream, Any]:
    """A file as a stream, and the label that still is to be compared: text is parsed once, labels and all.

    Parameters
    ----------
    path : str or path-like
        What `fastbin.io.open_table` opens.
    names : Names
        The columns that will be read.
    positive : optional

    Notes
    -----
    What is parsed from text is kept in memory, or beyond 256 MB in a temporary file until the stream is closed.
    """
    table = open_table(path)
    for name in names:
        if name is not None:
            check_column(table.path, table.names, name)
    if table.is_text:
        return _parsed(table, names, positive), None
    once = not table.can_be_read_again
    return Stream(table.path, table.names, lambda wanted: table.batches(wanted, BATCH_ROWS), once), positive


def _parsed(table: Table, names: Names, positive: Any) -> Stream:
    """The columns of a text file: numbers are parsed once; with segments, whose keys stay text, rows are read once anyway."""
    pa = pyarrow()
    columns = {argument: name for argument, name in names._asdict().items() if name is not None}
    segment = columns.pop("segment", None)
    found = list(dict.fromkeys(columns.values()))
    word = None if positive is None else str(positive)

    def parse() -> Generator[tuple[Any, ...], None, None]:
        reader = ColumnReader(table, columns, label="label", positive=word, whole=("weight",))
        for batch in table.batches([*reader.names, *([segment] if segment else [])], BATCH_ROWS):
            arrays = dict(zip(columns.values(), reader.read(batch).values(), strict=True))
            keys = [without_missing(batch.column(segment)).cast(pa.string())] if segment else []
            yield (*(arrays[name] for name in found), *keys)
        reader.finish()

    parsed = Replay(parse) if segment is None else None
    all_names = [*found, *([segment] if segment else [])]

    def read(wanted: list[str]) -> Iterator[Any]:
        for arrays in parse() if parsed is None else parsed:
            yield pa.RecordBatch.from_arrays([pa.array(array) for array in arrays], all_names).select(wanted)

    done = parsed.close if parsed is not None else lambda: None
    return Stream(table.path, all_names, read, once=parsed is None, close=done)
