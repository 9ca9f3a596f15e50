"""Several files of one kind as one table: a folder, or a pattern of names."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatch
from glob import glob, has_magic
from itertools import accumulate
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from fastbin._base.errors import InputError
from fastbin.tables.columns import is_integer
from fastbin.tables.parquet import ParquetRows, ParquetTable
from fastbin.tables.table import SUFFIXES, Table, arrow, suffixes


def list_files(path: str) -> list[str] | None:
    """The files of a folder or pattern, in the order of their names; ``None`` where the path is neither.

    Names in a folder that begin with a dot or an underscore are left out: other programs use them for files of their own. Any
    other file that is not a table is refused, since rows must not be left out without a message.
    """
    if os.path.isdir(path):
        files = _files_in(path)
        if not files:
            raise InputError(f"{path} is a folder without tables")
        return files
    return _files_of_pattern(path) if is_pattern(path) else None


def is_pattern(path: str) -> bool:
    """Whether a path stands for the names that it matches: it has the marks of a pattern, and no file is called so."""
    return has_magic(path) and not os.path.exists(path)


def is_part_of(file: str, pattern: str) -> bool:
    """Whether a pattern matches this file, or would if there were one."""
    folder, name = os.path.split(file)
    within, last = os.path.split(pattern)
    if last == "**":
        matches, folders = not name.startswith("."), glob(os.path.join(pattern, ""), recursive=True)
    else:  # as `glob` does: a star at the beginning stands for no dot
        matches = fnmatch(name, last) and (not name.startswith(".") or last.startswith("."))
        folders = glob(within, recursive=True) if within else [os.curdir]
    return matches and any(os.path.samefile(each, folder or os.curdir) for each in folders if os.path.isdir(each))


def _files_of_pattern(pattern: str) -> list[str]:
    """The files that a pattern matches. A folder that holds tables must not be passed over."""
    found = sorted(glob(pattern, recursive=True))
    files = [file for file in found if not os.path.isdir(file)]
    if not files:
        only = f"; {found[0]} is a folder: end the pattern in '/*.parquet' or '/*.csv'" if found else ""
        raise InputError(f"no file is called {pattern}{only}")
    for folder in (path for path in found if os.path.isdir(path)):
        beginning = os.path.join(folder, "")
        suffix = None if any(file.startswith(beginning) for file in files) else _suffix_of_tables(folder)
        if suffix is not None:
            raise InputError(
                f"{folder} is a folder, which {pattern} matches, and none of the files in it; name them too, by a pattern such "
                f"as {os.path.join(os.path.dirname(pattern), '**', '*' + suffix)!r}, or leave the folder out"
            )
    return files


def _suffix_of_tables(folder: str) -> str | None:
    """The suffix of tables that a folder holds, at any depth, or that it has itself, as what Spark writes; else ``None``."""
    names = [name for _, _, names in os.walk(folder) for name in names if not name.startswith((".", "_"))]
    suffixes_found = (suffixes(name)[0] for name in [*sorted(names), folder.rstrip(os.sep)])
    return next((suffix for suffix in suffixes_found if suffix in SUFFIXES), None)


def _files_in(folder: str) -> list[str]:
    """The files in a folder, or in its folders where these are called as values of a column ("region=north")."""
    entries = sorted(os.listdir(folder))
    for table, program in LOGS.items():
        if table in entries:
            raise InputError(f"{folder} is a table of {program}, and may hold rows that were deleted; export what is valid")
    names = [name for name in entries if not name.startswith((".", "_"))]
    paths = [os.path.join(folder, name) for name in names]
    folders = [path for path in paths if os.path.isdir(path)]
    if folders and len(folders) == len(paths) and all(map(names_a_value, names)):
        return [file for path in paths for file in _files_in(path)]
    if folders:
        suffix = _suffix_of_tables(folder) or ".csv"
        raise InputError(
            f"{folder} holds a folder, {Path(folders[0]).name}; name the files by a pattern such as "
            f"{os.path.join(folder, '**', '*' + suffix)!r}"
        )
    for path in paths:
        if suffixes(path)[0] not in SUFFIXES:
            suffix = next((Path(each).suffix for each in paths if suffixes(each)[0] in SUFFIXES), ".csv")
            raise InputError(
                f"{folder} holds {Path(path).name}, which is not a table; name the files by a pattern such as "
                f"{os.path.join(folder, '*' + suffix)!r}"
            )
    return paths


# Folders in which other programs record which of the files beside them are valid.
LOGS = {"_delta_log": "Delta Lake", ".hoodie": "Hudi"}


class ManyTables(Table):
    """The rows of several files, one file after the other. All have the same columns in the same order.

    Folders below `path` that are called as values of a column ("region=north") add this column, behind the others.
    """

    def __init__(self, path: str, files: Sequence[str], open_one: Callable[[str], Table]) -> None:
        self.path, self.files, self._open_one = path, list(files), open_one
        first = self._open(self.files[0])
        self._first, self.is_text, self.decimal = first, first.is_text, first.decimal
        self.delimiter = getattr(first, "delimiter", ",")
        totals = [first.total, *(self._check(self._open(file), first).total for file in self.files[1:])]
        self._totals = [total for total in totals if total is not None]
        self.total = sum(self._totals) if len(self._totals) == len(totals) else None
        self._starts = [0]  # the row at which each of the files begins, as far as they have been read
        self._partitions = Partitions(path, self.files, first)
        self.names, self.schema = [*first.names, *self._partitions.names], self._partitions.added_to(first.schema)

    def _open(self, file: str) -> Table:
        if not os.path.isfile(file):
            raise InputError(f"{file} is not a regular file; each of several files is read more than once")
        return self._open_one(file)

    def _check(self, table: Table, first: Table) -> Table:
        if table.is_text != first.is_text or type(table) is not type(first):
            raise InputError(f"{table.path} and {first.path} are of different kinds; several files must be all of one kind")
        if table.names != first.names:
            raise InputError(f"{table.path} has the columns {table.list_names(10)}, but {first.path} {first.list_names(10)}")
        for name, here, there in zip(first.names, table.schema or (), first.schema or (), strict=False):
            if here.type != there.type:
                raise InputError(f"{table.path}, column {name}: holds {here.type}, but in {first.path} {there.type}")
        return table

    def batches(self, columns: Sequence[str] | None = None, chunk_rows: int = 65536) -> Iterator[Any]:
        names = self.names if columns is None else list(columns)
        in_files = [name for name in names if name not in self._partitions.names]
        rows = self._rows_of_parquet if isinstance(self._first, ParquetTable) else self._rows
        row = 0
        # A reader of no columns would not know how many rows there are.
        for batch in rows(None if columns is None else in_files or self._first.names[:1], chunk_rows):
            yield batch if names == in_files else self._partitions.add(batch, names, self._starts, row)
            row += len(batch)

    def _rows_of_parquet(self, columns: Sequence[str] | None, chunk_rows: int) -> Iterator[Any]:
        self._starts, self.done = [0, *accumulate(self._totals[:-1])], 0
        together = ParquetRows(self.path, self.files, self._totals, self._first.schema, self.memory_limit)
        for batch in together.batches(columns, chunk_rows):
            self.done += len(batch)
            yield batch

    def _rows(self, columns: Sequence[str] | None, chunk_rows: int) -> Iterator[Any]:
        self._starts, done, row = [], 0, 0
        for file in self.files:
            self._starts.append(row)
            table = self._open(file)
            if table.names != self._first.names:
                raise InputError(f"{file} was changed while it was read")
            for batch in table.batches(columns, chunk_rows):
                row += len(batch)
                self.done = done + table.done
                yield batch
            done += table.total or table.done

    def place(self, row: int) -> str:
        number = bisect_right(self._starts, row) - 1
        return self._open(self.files[number]).place(row - self._starts[number])


# ------------------------------------------------------------------------------------------------- names of folders as columns


MISSING = "__HIVE_DEFAULT_PARTITION__"  # how a folder for the rows without a value is called


def names_a_value(folder: str) -> bool:
    """Whether a folder is called as a value of a column."""
    return folder.partition("=")[0] != "" and "=" in folder


class Partitions:
    """The columns that folders below `path` name, for all files of a table.

    They are int64 where all values are integers as they are usually written (007 is text), and otherwise text. In a table of
    text they are text, as its other columns are. A column that the files have too is theirs.
    """

    def __init__(self, path: str, files: Sequence[str], first: Table) -> None:
        root = _fixed_part(path)
        found = [_values_of(os.path.relpath(file, root or os.curdir)) for file in files]
        for file, values in zip(files, found, strict=True):
            if list(values) != list(found[0]):
                here, there = ("/".join(each) or "none" for each in (values, found[0]))
                raise InputError(f"{file}: its folders are values of {here}, but those of {files[0]} of {there}")
        self.names = [name for name in found[0] if name not in first.names]
        columns = ([values[name] for values in found] for name in self.names)
        self._columns = {name: _as_column(column, first.is_text) for name, column in zip(self.names, columns, strict=True)}

    def added_to(self, schema: Any) -> Any:
        """The types of the files' columns, if they have any, and of these."""
        for name, column in self._columns.items():
            schema = None if schema is None else schema.append(arrow().field(name, column.type))
        return schema

    def add(self, batch: Any, names: Sequence[str], starts: Sequence[int], row: int) -> Any:
        """The columns of these names: those of the batch, which are in this order, and between them those of the folders.

        `starts` are the rows at which the files begin, and `row` is the one at which the batch does.
        """
        pa = arrow()
        files = pa.array(np.searchsorted(starts, np.arange(row, row + len(batch)), side="right") - 1)
        in_files = zip(batch.columns, batch.schema, strict=True)
        columns = [(self._columns[name].take(files), None) if name in self._columns else next(in_files) for name in names]
        fields = [field or pa.field(name, column.type) for name, (column, field) in zip(names, columns, strict=True)]
        return pa.RecordBatch.from_arrays([column for column, _ in columns], schema=pa.schema(fields, batch.schema.metadata))


def _fixed_part(path: str) -> str:
    """The folder, or of a pattern the parts before the first with the marks of one."""
    while has_magic(path) and not os.path.isdir(path):
        path = os.path.dirname(path)
    return path


def _values_of(file: str) -> dict[str, str | None]:
    """The values that the folders of a file name, by column."""
    pairs = [folder.split("=", 1) for folder in file.split(os.sep)[:-1] if names_a_value(folder)]
    try:
        found = {unquote(name, errors="strict"): unquote(value, errors="strict") for name, value in pairs}
        "".join((*found, *found.values())).encode()
    except UnicodeError:
        remedy = "rename the folder: a column and its value are UTF-8, each byte as it is or as %XX"
        raise InputError(f"{os.fsencode(file)!r} lies in a folder whose name is not UTF-8", remedy) from None
    return {name: None if value == MISSING else value for name, value in found.items()}


def _as_column(values: list[str | None], is_text: bool) -> Any:
    pa = arrow()
    if is_text:
        return pa.array([b"" if value is None else os.fsencode(value) for value in values], pa.binary())
    if all(value is None or is_integer(value) for value in values):
        return pa.array([None if value is None else int(value) for value in values], pa.int64())
    return pa.array(values, pa.string())
