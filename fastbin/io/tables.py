"""Tables opened by their names: CSV, Parquet and Arrow IPC files, folders and patterns of them, standard input."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable

from fastbin._base.errors import InputError
from fastbin.io.base import CSV_DELIMITERS, IPC_SUFFIXES, PARQUET_SUFFIXES, Table, suffixes
from fastbin.io.ipc import IpcTable
from fastbin.io.many import ManyTables, list_files
from fastbin.io.parquet import ParquetTable
from fastbin.io.text import CsvTable, not_text


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
    path = os.fspath(path)

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
    return CsvTable(path, delimiter or CSV_DELIMITERS.get(suffix), decimal, encoding)
