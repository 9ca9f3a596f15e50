"""Several files of one kind as one table: a folder, or a pattern of names."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from fastbin._errors import InputError
from fastbin.io.base import SUFFIXES, Table, suffixes


def list_files(path: str) -> list[str] | None:
    """The files of a folder or pattern, in the order of their names; ``None`` where the path is neither.

    Names in a folder that begin with a dot or an underscore are left out: other programs use them for files of their own. Any
    other file that is not a table is refused, since rows must not be left out without a message.
    """
    if os.path.isdir(path):
        files = [os.path.join(path, name) for name in sorted(os.listdir(path)) if not name.startswith((".", "_"))]
        for file in files:
            if os.path.isdir(file):
                raise InputError(
                    f"{path} holds a folder, {Path(file).name}; name the files by a pattern such as '{path}/**/*.csv'"
                )
            if suffixes(file)[0] not in SUFFIXES:
                raise InputError(
                    f"{path} holds {Path(file).name}, which is not a table; name the files by a pattern such as '*.csv'"
                )
        if not files:
            raise InputError(f"{path} is a folder without tables")
        return files
    if has_magic(path) and not os.path.exists(path):
        files = sorted(file for file in glob(path, recursive=True) if not os.path.isdir(file))
        if not files:
            raise InputError(f"no file is called {path}")
        return files
    return None


class ManyTables(Table):
    """The rows of several files, one file after the other. All have the same columns in the same order."""

    def __init__(self, path: str, files: Sequence[str], open_one: Callable[[str], Table]) -> None:
        self.path, self.files, self._open_one = path, list(files), open_one
        first = self._open(self.files[0])
        self.names, self.schema, self.is_text, self.decimal = first.names, first.schema, first.is_text, first.decimal
        self.delimiter = getattr(first, "delimiter", ",")
        totals = [first.total, *(self._check(self._open(file), first).total for file in self.files[1:])]
        self.total = None if None in totals else sum(total for total in totals if total is not None)
        self._starts = [0]  # the row at which each of the files begins, as far as they have been read

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
        self._starts, done, row = [], 0, 0
        for file in self.files:
            self._starts.append(row)
            table = self._open(file)
            if table.names != self.names:
                raise InputError(f"{file} was changed while it was read")
            for batch in table.batches(columns, chunk_rows):
                row += len(batch)
                self.done = done + table.done
                yield batch
            done += table.total or table.done

    def place(self, row: int) -> str:
        number = bisect_right(self._starts, row) - 1
        return self._open(self.files[number]).place(row - self._starts[number])
