"""Tables opened by their names: CSV, Parquet and Arrow IPC files, folders and patterns of them, standard input."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from typing import Any

import numpy as np

from fastbin._base.array_types import Array
from fastbin._base.checks import check_count, check_function
from fastbin._base.errors import InputError, InputTypeError
from fastbin.tables.columns import read_numbers
from fastbin.tables.folders import ManyTables, list_files
from fastbin.tables.labels import LabelReader
from fastbin.tables.parquet import IpcTable, ParquetTable
from fastbin.tables.table import CSV_DELIMITERS, IPC_SUFFIXES, PARQUET_SUFFIXES, Table, suffixes
from fastbin.tables.text import CsvTable, not_text


def open_table(
    path: str | os.PathLike[str],
    delimiter: str | None = None,
    *,
    decimal: str = ".",
    encoding: str = "utf-8",
    watch: Callable[[bytes], object] | None = None,
    memory_limit: int | None = None,
) -> Table:
    """Open a CSV, Parquet or Arrow IPC file, or several as one table.

    Parameters
    ----------
    path : str or path-like
        ``.csv``, ``.tsv``, ``.txt`` (also compressed: ``.csv.gz``, ...), ``.parquet`` or ``.pq``, ``.feather`` or ``.arrow``;
        any other file is recognised by its first bytes. "-" reads CSV from the standard input; a pipe can be read once. A
        folder, or a pattern such as ``day*.csv``, stands for all of its files in the order of their names, which must have the
        same columns. Folders in it that are called ``region=north`` add a column ``region``.
    delimiter : str, optional
        Of a CSV file; by default what its name or its header says.
    decimal : {".", ","}
        The decimal mark of the numbers in a CSV file. With a comma, a point in a number is refused: it may separate thousands.
    encoding : str
        Of a CSV file; any that Python knows. What is read is UTF-8 from then on.
    watch : callable, optional
        Called with all bytes that are read from a pipe or the standard input, as they come.
    memory_limit : int, optional
        Bytes for rows: half for the buffers in which DuckDB decodes Parquet, half for rows that are kept between the passes of
        a fit. By default DuckDB takes what it needs, at most 80 % of the memory, and 256 MB of rows are kept. Other formats
        are read in blocks of a megabyte.

    Returns
    -------
    Table

    Raises
    ------
    OSError
        If the file cannot be opened.
    InputError
        If it is empty, of another kind, or has no header.
    MissingDependencyError
        If PyArrow or, for Parquet files, DuckDB is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from fastbin.io import open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "scores.csv")
    ...     _ = path.write_text("p;y\\n0.25;0\\n0.75;1\\n")
    ...     open_table(path).names
    ['p', 'y']
    """
    try:
        path = os.fsdecode(path)
    except TypeError as error:
        raise InputTypeError(f"is of type {type(path).__name__}", "pass the name of a file", argument="path") from error
    memory_limit = None if memory_limit is None else check_count(memory_limit, "memory_limit")

    def open_one(file: str) -> Table:
        return _open_file(file, delimiter, decimal, encoding)

    if path == "-" or (os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)):
        # A pipe: bytes that were read to recognise its format would be lost.
        table: Table = CsvTable(path, delimiter, decimal, encoding, watch)
    else:
        files = list_files(path)
        table = open_one(path) if files is None else ManyTables(path, files, open_one)
    table.memory_limit = memory_limit
    return table


def _open_file(path: str, delimiter: str | None, decimal: str, encoding: str) -> Table:
    suffix, _ = suffixes(path)
    if suffix not in CSV_DELIMITERS:
        with open(path, "rb") as file:
            start = file.read(4096)
        if start.startswith(b"PAR1") or suffix in PARQUET_SUFFIXES:
            return ParquetTable(path)
        if start.startswith(b"FEA1"):
            raise InputError(f"{path} is Feather, version 1; write it anew as version 2, CSV or Parquet")
        if start.startswith(b"ARROW1") or suffix in IPC_SUFFIXES:
            return IpcTable(path)
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and encoding == "utf-8":
            raise not_text(path, start)
        if start.startswith(b"PK") or (b"\0" in start and encoding == "utf-8"):
            raise InputError(f"{path} is neither CSV nor Parquet; export the table as one of these")
    return CsvTable(path, CSV_DELIMITERS.get(suffix) if delimiter is None else delimiter, decimal, encoding)


# ------------------------------------------------------------------------------------------------- columns as arrays


class ColumnReader:
    """One reading of some columns of a table, by argument, from the first row on.

    `label` is the argument that holds labels, and `event` the label that a model gives the probability of, where one is known.
    The rules `whole` and `propagate` of `read_numbers` apply to these arguments.
    """

    def __init__(
        self, table: Table, columns: Mapping[str, str], *, label: str | None = None, positive: Any = None,
        event: str = "", whole: Collection[str] = (), propagate: Collection[str] = (),
    ) -> None:  # fmt: skip
        self.names = [table.check_column(name) for name in dict.fromkeys(columns.values())]
        self.first_row = 0  # of the next batch
        self._table, self._columns, self._label = table, columns, label
        self._labels = None if label is None else LabelReader(table, columns[label], positive, event)
        self._whole, self._propagate = whole, propagate

    def read(self, batch: Any) -> dict[str, Array]:
        """An array for each argument, from the next record batch of the table."""
        arrays = {argument: self._read(argument, name, batch) for argument, name in self._columns.items()}
        self.first_row += len(batch)
        return arrays

    def _read(self, argument: str, name: str, batch: Any) -> Array:
        column = batch.column(batch.schema.get_field_index(name))
        if argument == self._label and self._labels is not None:
            return self._labels.read(column, self.first_row)
        whole, propagate = argument in self._whole, argument in self._propagate
        return read_numbers(self._table, name, column, self.first_row, whole=whole, propagate=propagate)

    def finish(self) -> None:
        """After the last batch: refuse a positive label that no row has."""
        if self._labels is not None:
            self._labels.check_positive()


def read_columns(
    path: str | os.PathLike[str] | Table,
    columns: Sequence[str],
    *,
    chunk_rows: int = 65536,
    delimiter: str | None = None,
    whole: Sequence[str] = (),
    label: str | None = None,
    positive: Any = None,
    progress: Callable[[Table], object] | None = None,
) -> Generator[tuple[Array, ...], None, None]:
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
        Those of the columns of a CSV file that are read as int64 in chunks that hold whole numbers alone. All others become
        float64, or bool where they hold true and false. Columns of a Parquet file keep their type, but for decimals,
        which become int64 if they are among these and have no places, and else float64.
    label : str, optional
        The one of the columns that holds labels; it becomes bool.
    positive : optional
        The label that counts as 1, where labels are two values other than 0 and 1.
    progress : callable, optional
        Called with the `Table`, whose `done` and `total` say how far it is, after each chunk.

    Yields
    ------
    tuple of ndarray
        One array per column, of one length. float32 columns stay float32.

    Raises
    ------
    OSError, InputError
        If the file cannot be read, a column is absent, or a value is missing or not a number; the message names file, row and
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
    chunk_rows = check_count(chunk_rows, "chunk_rows", maximum=2**31 - 1)
    check_function(progress, "progress")
    wanted: list[Any] = list(columns) if np.iterable(columns) and not isinstance(columns, (str, bytes)) else [None]
    if not all(isinstance(name, str) for name in wanted):
        raise InputTypeError(f"is {columns!r:.100}", "pass a list of names of columns", argument="columns", value=columns)
    if label is not None and label not in wanted:
        raise InputError(f"is {label!r}, and no column of `columns`", "name it there, too", argument="label", value=label)
    table = path if isinstance(path, Table) else open_table(path, delimiter)
    named = dict(zip(wanted, wanted, strict=True))
    reader = ColumnReader(table, named, label=label, positive=positive, whole=whole)
    for batch in table.batches(reader.names, chunk_rows):
        arrays = reader.read(batch)
        yield tuple(arrays[name] for name in wanted)
        if progress is not None:
            progress(table)
    reader.finish()
