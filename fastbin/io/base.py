"""What a table is: named columns of a file, or of several, that come in record batches of PyArrow's.

PyArrow is imported when the first table is opened.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from fastbin._dependencies import needed_for
from fastbin._errors import InputError

__all__ = [
    "COMPRESSIONS",
    "CSV_DELIMITERS",
    "IPC_SUFFIXES",
    "PARQUET_SUFFIXES",
    "SUFFIXES",
    "Table",
    "arrow",
    "open_for_arrow",
    "suffixes",
    "uses_threads",
]

CSV_DELIMITERS = {".csv": None, ".txt": None, ".tsv": "\t", ".tab": "\t"}
PARQUET_SUFFIXES = (".parquet", ".pq")
IPC_SUFFIXES = (".feather", ".arrow", ".ipc")
SUFFIXES = (*CSV_DELIMITERS, *PARQUET_SUFFIXES, *IPC_SUFFIXES)
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}

# Of address space: a thread takes its stack and an arena of the C library's at once, and blocks and tables come and go.
ROOM_FOR_READING = 2**27
M_ARENA_MAX = -8  # of the GNU C library's malloc.h


def arrow() -> Any:
    """PyArrow, or an error that says how to get it."""
    with needed_for("files of rows", extra="cli"):
        import pyarrow
        import pyarrow.compute
        import pyarrow.csv
        import pyarrow.ipc
        import pyarrow.parquet
    return pyarrow


@cache
def uses_threads() -> bool:
    """Whether PyArrow may start threads as it likes: not where the address space is limited (``ulimit -v``).

    A thread that cannot be started there leaves PyArrow's readers waiting for ever for what it was to read, or ends the
    process. So one thread of each kind is started at once, while there is room for it; from then on too little memory is an
    error like any other.
    """
    try:
        import resource
    except ImportError:  # Windows
        return True
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return True
    with needed_for("files of rows", extra="cli"):
        import pyarrow
        import pyarrow.csv

    too_little = "the limit on the address space (ulimit -v) leaves too little to read files"
    try:
        mmap.mmap(-1, ROOM_FOR_READING).close()
        _share_one_arena()
        pyarrow.set_memory_pool(pyarrow.system_memory_pool())  # others reserve a great deal of it beforehand
        pyarrow.set_io_thread_count(1)
        pyarrow.set_cpu_count(1)
        one_thread = pyarrow.csv.ReadOptions(use_threads=False)
        with pyarrow.csv.open_csv(pyarrow.BufferReader(b"a\n1\n"), read_options=one_thread) as reader:
            list(reader)
    except (OSError, pyarrow.ArrowException) as error:
        raise MemoryError(too_little) from error
    return False


def _share_one_arena() -> None:
    """Let all threads take memory from one place; the GNU C library reserves 64 MB of addresses for each otherwise."""
    with contextlib.suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


def open_for_arrow(path: str) -> Any:
    """A file as a stream of PyArrow's, also where its name is no text."""
    with open(path, "rb"):  # whose error says more than PyArrow's
        pass
    try:
        path.encode("utf8")
    except UnicodeEncodeError:
        return arrow().PythonFile(open(path, "rb"), mode="r")
    return arrow().OSFile(path)


def suffixes(path: str) -> tuple[str, str | None]:
    """The suffix that tells the format, in lower case, and the compression that a further one tells."""
    name = Path(path)
    compression = COMPRESSIONS.get(name.suffix.lower())
    if compression is not None:
        name = name.with_suffix("")
    return name.suffix.lower(), compression


class Table:
    """A file with named columns, read batch by batch.

    Attributes
    ----------
    path : str
        "-" for the standard input.
    names : list of str
        Its columns.
    done, total : int or None
        How far the latest reading is, in bytes of a CSV file and rows of a Parquet file; the total is ``None`` where unknown.
    """

    path: str
    names: list[str]
    is_text: bool  # whether every column is text, which only its reader can interpret
    decimal: str = "."  # the mark in numbers that are text
    done: int = 0
    total: int | None = None
    schema: Any = None  # the types of the columns, where the file knows them

    def batches(self, columns: Sequence[str] | None = None, chunk_rows: int = 65536) -> Iterator[Any]:
        """Record batches of these columns, or of all, from the first row on, of at most `chunk_rows` rows."""
        raise NotImplementedError

    def place(self, row: int) -> str:
        """Where a row (from 0) stands, in the words of somebody who has the file before him."""
        return f"{self.path}, row {row + 1}"

    @property
    def can_be_read_again(self) -> bool:
        """Whether `batches` can be called more than once: not for pipes."""
        return os.path.isfile(self.path)

    @property
    def files(self) -> list[str]:
        """The files of which the table is made."""
        return [self.path]

    def check_column(self, name: str, role: str = "column") -> str:
        """The name, if it is that of exactly one column."""
        found = self.names.count(name)
        if found == 1:
            return name
        if found > 1:
            raise InputError(f"{self.path} has {found} columns named {name!r}; rename them")
        raise InputError(f"{self.path} has no {role} {name!r}; it has {self.told_names()}")

    def told_names(self, limit: int = 30) -> str:
        """The columns, for a message."""
        shown = ", ".join(self.names[:limit])
        return shown if len(self.names) <= limit else f"{shown} and {len(self.names) - limit} more"
