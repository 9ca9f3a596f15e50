"""Columns whose values are the names of folders, as in "region=north/day=3/part-0.parquet" (Hive's partitions)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from glob import has_magic
from typing import Any
from urllib.parse import unquote

import numpy as np

from fastbin._base.errors import InputError
from fastbin.io.base import Table, arrow
from fastbin.io.parsing import is_integer

MISSING = "__HIVE_DEFAULT_PARTITION__"  # how a folder for the rows without a value is called


def names_a_value(folder: str) -> bool:
    """Whether a folder is called as a value of a column."""
    return folder.partition("=")[0] != "" and "=" in folder


class Partitions:
    """The columns that folders below `path` name, for all files of a table.

    They are int64 where all values are integers as they are usually written (007 is text), and otherwise text. In a table of
    text they are text, as its other columns are. A column that the files have too is theirs.

    Parameters
    ----------
    path : str
        The folder or pattern.
    files : list of str
    first : Table
        The first of the files.

    Attributes
    ----------
    names : list of str
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
    """What the folders of a file say, by column."""
    pairs = [folder.split("=", 1) for folder in file.split(os.sep)[:-1] if names_a_value(folder)]
    return {unquote(name): None if value == MISSING else unquote(value) for name, value in pairs}


def _as_column(values: list[str | None], is_text: bool) -> Any:
    pa = arrow()
    if is_text:
        return pa.array([b"" if value is None else os.fsencode(value) for value in values], pa.binary())
    if all(value is None or is_integer(value) for value in values):
        return pa.array([None if value is None else int(value) for value in values], pa.int64())
    return pa.array(values, pa.string())
