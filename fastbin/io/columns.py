"""Columns of a table as NumPy arrays, with errors that name the file, the row and the column."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fastbin._errors import InputError
from fastbin.io.tables import Table, arrow, open_table

__all__ = ["MISSING", "as_number", "holds_whole_numbers", "read_columns", "read_numbers"]

# How programs write that a value is missing in a text file; an empty field is the usual way.
MISSING = (b"", b"NA", b"N/A", b"NaN", b"nan", b"null", b"NULL", b"None")

Progress = Callable[[Table], object]


def read_columns(
    path: str | os.PathLike[str] | Table,
    columns: Sequence[str],
    *,
    chunk_rows: int = 65536,
    delimiter: str | None = None,
    whole: Sequence[str] = (),
    label: str | None = None,
    positive: str | None = None,
    progress: Progress | None = None,
) -> Generator[tuple[npt.NDArray[Any], ...], None, None]:
    """Columns of a CSV or Parquet file as numbers, chunk by chunk.

    Parameters
    ----------
    path : str, path-like or Table
        What `open_table` opens.
    columns : sequence of str
    chunk_rows : int
        The most rows in a chunk.
    delimiter : str, optional
        Of a CSV file; by default what its name or its header says.
    whole : sequence of str
        Those of the columns of a CSV file that are read as int64. Others become float64, or bool where they hold true and
        false. Columns of a Parquet file keep their type.
    label : str, optional
        The one of the columns that holds labels.
    positive : str, optional
        The label that counts as 1, where labels are two values other than 0 and 1; the column becomes bool.
    progress : callable, optional
        Called with the `Table`, whose `done` and `total` say how far it is, after each chunk.

    Yields
    ------
    tuple of ndarray
        One array per column, of one length. float32 columns stay float32.

    Raises
    ------
    OSError, InputError
        If the file cannot be read, a column is absent, or a value is missing or no number; the message names file, row and
        column.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import fastbin as fb
    >>> from fastbin.io import read_columns
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "scores.csv")
    ...     _ = path.write_text("p,y\\n" + "0.25,0\\n0.75,1\\n" * 50)
    ...     model = fb.UniformMassBinning(2).fit_batches(lambda: read_columns(path, ["p", "y"])).model_
    >>> model.n_samples, model.values
    (100, array([0., 1.]))
    """
    from fastbin.io.labels import Labels

    table = path if isinstance(path, Table) else open_table(path, delimiter)
    for name in columns:
        table.check_column(name)
    first_row = 0
    labels = None if label is None else Labels(table, label, positive)
    # A column may be asked for twice.
    for batch in table.batches(list(dict.fromkeys(columns)), chunk_rows):
        arrays = ((name, batch.column(batch.schema.get_field_index(name))) for name in columns)
        yield tuple(
            labels.read(array, first_row)
            if labels is not None and name == label
            else read_numbers(table, name, array, first_row, whole=name in whole)
            for name, array in arrays
        )
        first_row += len(batch)
        if progress is not None:
            progress(table)
    if labels is not None:
        labels.check_positive()


def read_numbers(
    table: Table, name: str, column: Any, first_row: int, *, whole: bool = False, propagate: bool = False
) -> npt.NDArray[Any]:
    """One column of a record batch as numbers.

    Parameters
    ----------
    table, name, first_row
        Where the column stands, for messages.
    column : pyarrow.Array
    whole : bool
        Whether text is read as int64.
    propagate : bool
        Whether a missing value becomes NaN instead of an error.
    """
    pa = arrow()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_binary(column.type) and table.is_text:
        column = _parse(table, name, _without_missing(column), first_row, whole)
    elif pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    elif not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_boolean(column.type)):
        raise InputError(f"{table.path}, column {name}: holds {column.type}, not numbers")
    if column.null_count:
        if not propagate:
            row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise InputError(
                f"{table.place(first_row + row)}, column {name}: the value is missing; remove or fill such rows first"
            )
        column = column.cast(pa.float64())  # NumPy integers have no place for it
    return np.asarray(column.to_numpy(zero_copy_only=False))


def as_number(text: str) -> float | None:
    """The number that a text is, if it is one."""
    try:
        return float(text)
    except ValueError:
        return None


def _without_missing(column: Any) -> Any:
    """Text with nulls for the spellings of a missing value."""
    pa = arrow()
    missing = pa.compute.is_in(column, value_set=pa.array(MISSING, pa.binary()))
    if pa.compute.any(missing).as_py():
        column = pa.compute.if_else(missing, pa.scalar(None, pa.binary()), column)
    return column


def _parse(table: Table, name: str, column: Any, first_row: int, whole: bool) -> Any:
    """Text as int64, float64 or bool."""
    pa = arrow()
    wanted = pa.int64() if whole else pa.float64()
    for kind in (wanted,) if whole else (wanted, pa.bool_()):
        parsed = _try_to_parse(column, kind, table.decimal)
        if parsed is not None:
            return parsed
    row = _first_unparsable(column, wanted, table.decimal)
    text = column[row].as_py().decode("utf8", errors="replace")
    told = "not a whole number" if whole else "neither a number nor true or false"
    told += "" if table.decimal == "." else " (with a decimal comma)"
    raise InputError(f"{table.place(first_row + row)}, column {name}: {text[:60]!r} is {told}")


def _try_to_parse(column: Any, kind: Any, decimal: str) -> Any:
    """The column as this type, or ``None`` if a value of it is something else. Blanks around a value are allowed."""
    pa = arrow()
    try:
        text = column.cast(pa.string())
        if decimal != ".":
            if pa.compute.any(pa.compute.match_substring(text, ".")).as_py():  # it may separate thousands
                return None
            text = pa.compute.replace_substring(text, decimal, ".")
        try:
            return text.cast(kind)
        except pa.ArrowInvalid:
            return pa.compute.utf8_trim_whitespace(text).cast(kind)
    except pa.ArrowInvalid:
        return None


def _first_unparsable(column: Any, kind: Any, decimal: str) -> int:
    """The first value that is not of this type, by halving."""
    start, length = 0, len(column)
    while length > 1:
        half = length // 2
        if _try_to_parse(column.slice(start, half), kind, decimal) is None:
            length = half
        else:
            start, length = start + half, length - half
    return start


def holds_whole_numbers(table: Table, name: str) -> bool:
    """Whether every value of a column is written as a whole number; by its type in Parquet, by reading it in CSV."""
    pa = arrow()
    if not table.is_text:
        return bool(pa.types.is_integer(table.schema.field(name).type))
    return all(
        _try_to_parse(_without_missing(batch.column(0)), pa.int64(), table.decimal) is not None
        for batch in table.batches([name], 2**20)
    )
