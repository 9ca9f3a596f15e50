"""The base of all tables: named columns, which are read as record batches of PyArrow.

PyArrow is imported when the first table is opened.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import mmap
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from fastbin._base.dependencies import needed_for
from fastbin._base.errors import InputError, InputTypeError, Wording
from fastbin._base.shown import first_few

CSV_DELIMITERS = {".csv": None, ".txt": None, ".tsv": "\t", ".tab": "\t"}
PARQUET_SUFFIXES = (".parquet", ".pq")
IPC_SUFFIXES = (".feather", ".arrow", ".ipc")
SUFFIXES = (*CSV_DELIMITERS, *PARQUET_SUFFIXES, *IPC_SUFFIXES)
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}

# Address space for the stack and the malloc arena of a thread, and for blocks of text and their tables.
ROOM_FOR_READING = 2**27
M_ARENA_MAX = -8  # from malloc.h of the GNU C library


def arrow() -> Any:
    """PyArrow, or an error that says how to get it."""
    with needed_for("files of rows", extra="cli"):
        import pyarrow
        import pyarrow.compute
        import pyarrow.csv
        import pyarrow.ipc
    _import_pandas()
    return pyarrow


def arrow_parquet() -> Any:
    """The module of PyArrow for Parquet, which rows of text do without."""
    with needed_for("files of rows", extra="cli"):
        import pyarrow.parquet
    return pyarrow.parquet


def polars() -> Any:
    """The package."""
    with needed_for("tables of Polars", package="polars"):
        import polars as installed
    return installed


def is_pattern(name: str) -> bool:
    """Whether Polars takes the name of a column for a pattern."""
    return name == "*" or (name.startswith("^") and name.endswith("$"))


def polars_columns(names: Iterable[str]) -> list[Any]:
    """Expressions of the columns of exactly these names."""
    pl = polars()
    escaped = {name: re.sub(r"([\\.+*?()|\[\]{}^$#&~-])", r"\\\1", name) for name in names}
    return [pl.col(f"^{pattern}$" if is_pattern(name) else name) for name, pattern in escaped.items()]


def with_plain_names(frame: Any, names: Sequence[str]) -> tuple[Any, list[str], list[str]]:
    """A frame of Polars, the names by which `col` finds these columns in it, and those of copies, which stand for patterns.

    In old versions one expression takes no two patterns.
    """
    patterns = list(filter(is_pattern, names))
    copies = [f"fastbin_{uuid4().hex}" for _ in patterns]
    if copies:
        frame = frame.with_columns([one.alias(copy) for one, copy in zip(polars_columns(patterns), copies, strict=True)])
    plain = dict(zip(patterns, copies, strict=True))
    return frame, [plain.get(name, name) for name in names], copies


def pyarrow() -> Any:
    """PyArrow, or an error that says how to get it."""
    with needed_for("tables of other libraries", extra="engines"):
        import pyarrow
        import pyarrow.compute
    _import_pandas()
    return pyarrow


@cache
def _import_pandas() -> None:
    """Where pandas is installed: PyArrow imports it at its first conversion, and loses an interrupt that comes meanwhile."""
    with contextlib.suppress(Exception):  # a pandas that cannot be imported is none to PyArrow, either
        importlib.import_module("pandas")


def address_space() -> int | None:
    """The limit on the address space of this process in bytes (``ulimit -v``), or ``None``."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


@cache
def uses_threads() -> bool:
    """Whether PyArrow may start as many threads as it likes: not where the address space is limited.

    If a thread cannot be started there, PyArrow's readers wait without end for its result, or the process ends. So one thread
    of each kind is started at once, while there is room for it. From then on too little memory is an error like any other.
    """
    if address_space() is None:
        return True
    with needed_for("files of rows", extra="cli"):
        import pyarrow
        import pyarrow.csv

    try:
        mmap.mmap(-1, ROOM_FOR_READING).close()
        with contextlib.suppress(OSError, AttributeError):  # another C library
            # All threads share one malloc arena. Otherwise the GNU C library reserves 64 MB of addresses for each thread.
            ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)
        pyarrow.set_memory_pool(pyarrow.system_memory_pool())  # other pools reserve a lot of address space beforehand
        pyarrow.set_io_thread_count(1)
        pyarrow.set_cpu_count(1)
        one_thread = pyarrow.csv.ReadOptions(use_threads=False)
        with pyarrow.csv.open_csv(pyarrow.BufferReader(b"a\n1\n"), read_options=one_thread) as reader:
            list(reader)
    except (OSError, pyarrow.ArrowException) as error:
        raise MemoryError("the limit on the address space (ulimit -v) leaves too little to read files") from error
    return False


def open_for_arrow(path: str) -> Any:
    """A file as a PyArrow stream, also if its name is not text."""
    with open(path, "rb"):  # its error message says more than that of PyArrow
        pass
    try:
        path.encode("utf8")
    except UnicodeEncodeError:
        return arrow().PythonFile(open(path, "rb"), mode="r")
    return arrow().OSFile(path)


def suffixes(path: str) -> tuple[str, str | None]:
    """The suffix of a path without that of a compression, in lower case, and the compression."""
    name = Path(path)
    compression = COMPRESSIONS.get(name.suffix.lower())
    if compression is not None:
        name = name.with_suffix("")
    return name.suffix.lower(), compression


def in_native_order(frame: Any, names: Sequence[str]) -> Any:
    """These columns of a frame of pandas or Dask, numbers in the byte order of this machine, none of them sparse, for PyArrow.

    One by one, as older versions of pandas do not select several of the other order.
    """
    dtypes = dict(zip(frame.columns, frame.dtypes, strict=True))
    changed = {name: natively(frame[name]) for name in names if _is_foreign(dtypes[name])}
    return (frame.assign(**changed) if changed else frame)[list(names)]


def natively(column: Any) -> Any:
    """A column of pandas or Dask whose numbers have the byte order of this machine, and are not sparse."""
    if not _is_foreign(column.dtype):
        return column
    return column.astype(column.dtype.newbyteorder("=") if isinstance(column.dtype, np.dtype) else column.dtype.subtype)


def _is_foreign(dtype: Any) -> bool:
    is_sparse = type(dtype).__name__ == "SparseDtype"
    return is_sparse or (isinstance(dtype, np.dtype) and not dtype.isnative)


def from_polars(values: Any) -> Any:
    """A frame or a column of Polars in Arrow."""
    try:
        return values.to_arrow()
    except pyarrow().ArrowInvalid as error:  # of integers of 128 bits
        raise InputTypeError(f"a column of Polars is of a type that PyArrow has not: {error}") from error


def as_plain(column: Any) -> Any:
    """An Arrow array without a dictionary and without an extension."""
    column = unwrapped(column)
    return column.cast(column.type.value_type) if pyarrow().types.is_dictionary(column.type) else column


def unwrapped(column: Any) -> Any:
    """An Arrow array without its extension, where PyArrow has a type for the values.

    Booleans of a byte each are booleans, and great integers of DuckDB decimals, which have the same bytes: a setting of its
    session says which of the two Arrow gets.
    """
    pa = pyarrow()
    extension = getattr(column.type, "extension_name", None)
    if extension == "arrow.bool8":
        return column.cast(pa.bool_())
    if extension != "arrow.opaque" or column.type.type_name not in ("hugeint", "uhugeint"):
        return column
    whole = pa.decimal128(38, 0)
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([unwrapped(part) for part in column.chunks], whole)
    stored = column.storage
    return pa.Array.from_buffers(whole, len(stored), stored.buffers(), offset=stored.offset)


def reopened(option: str, value: str) -> Wording:
    """The remedy where a text file must be read in another way."""
    return Wording(f"open it by fb.io.open_table(path, {option}={value!r})", f"give --{option} {value}")


def first_sentence(error: Exception) -> str:
    """The message of an error, in one short line."""
    return " ".join(str(error).split()).split(". ")[0][:200]


def check_column(
    called: str, names: Sequence[str], name: str, *, ignores_case: bool = False, shown: Callable[[str], str] = repr
) -> str:
    """The name of a column, if the table that is called so has it, and has it once; `shown` writes names in the message."""
    if not isinstance(name, str):
        raise InputTypeError(f"{name!r} is not the name of a column; {called} has {first_few(names, 30, shown)}")
    if name not in names:
        raise InputError(f"{called} has no column {name!r}; it has {first_few(names, 30, shown)}")
    same = [other for other in names if other == name or (ignores_case and other.lower() == name.lower())]
    if len(same) > 1:
        spelled = "" if len(set(same)) == 1 else f", which is one name where case is ignored ({', '.join(map(repr, same))})"
        raise InputError(f"{called} has {len(same)} columns named {name!r}{spelled}; rename them")
    return name


def check_columns(called: str, names: Sequence[str], wanted: Iterable[str | None], *, ignores_case: bool = False) -> list[str]:
    """The wanted columns that are not ``None``, each once, if each is there once."""
    found = (check_column(called, names, name, ignores_case=ignores_case) for name in wanted if name is not None)
    return list(dict.fromkeys(found))


def check_roles(score: str, label: str, weight: str | None = None, segment: str | None = None) -> None:
    """Refuse one column as two of these. Segments may be those of equal scores, or of equal weights."""
    roles = {"score": score, "label": label, "weight": weight, "segment": segment}
    for one, other in (("score", "label"), ("score", "weight"), ("label", "weight"), ("label", "segment")):
        check_apart(other, roles[other], **{one: roles[one]})


def check_apart(role: str, name: str | None, **others: str | None) -> None:
    """Refuse a column in this role that has one of the others as well."""
    for other, column in others.items():
        # Whether these are names is checked where columns are looked up.
        if isinstance(name, str) and isinstance(column, str) and name == column:
            raise InputError(f"the column {name!r} is both {other} and {role}", "name another column for one of them")


def sliced(batches: Iterable[Any], chunk_rows: int) -> Iterator[Any]:
    """The same rows in batches of at most so many."""
    for batch in batches:
        yield from (batch.slice(start, chunk_rows) for start in range(0, len(batch), chunk_rows))


class Table:
    """A file with named columns, or rows of another library, read batch by batch.

    Attributes
    ----------
    path : str
        How messages call it: the name that opened it, or "standard input".
    files : list of str
        The files that it consists of.
    names : list of str
        Its columns.
    done, total : int or None
        How far the latest reading is, in bytes of a CSV file and rows of a Parquet file; the total is ``None`` where unknown.
    memory_limit : int or None
        Bytes for the buffers of readers and for rows that are kept, half each.
    """

    path: str
    files: list[str]
    names: list[str]
    is_text: bool  # whether every column is text, which only its reader can interpret
    decimal: str = "."  # the mark in numbers that are text
    done: int = 0
    total: int | None = None
    schema: Any = None  # the types of the columns, where the file knows them
    memory_limit: int | None = None
    ignores_case = False  # whether names that differ in their case alone are one

    def batches(self, columns: Sequence[str] | None = None, chunk_rows: int = 65536) -> Iterator[Any]:
        """Record batches of these columns, or of all, from the first row on, of at most `chunk_rows` rows."""
        raise NotImplementedError

    def place(self, row: int) -> str:
        """Where a row (from 0) stands in the file, for a message."""
        return f"{self.path}, row {row + 1}"

    def __str__(self) -> str:
        return self.path

    @property
    def can_be_read_again(self) -> bool:
        """Whether `batches` can be called more than once, which is not possible with pipes."""
        return all(map(os.path.isfile, self.files))

    @property
    def most_kept(self) -> int | None:
        """Bytes of rows that may be kept for later passes, where that is limited."""
        return None if self.memory_limit is None else self.memory_limit // 2

    def close(self) -> None:
        """Give back what is held besides the table."""

    def check_column(self, name: str) -> str:
        """The name, if exactly one column has it."""
        return check_column(self.path, self.names, name, ignores_case=self.ignores_case, shown=str)

    def check_columns(self, *names: str | None) -> list[str]:
        """Those that are not ``None``, each once, if each is there once."""
        return check_columns(self.path, self.names, names, ignores_case=self.ignores_case)

    def list_names(self, limit: int = 30) -> str:
        """The columns, for a message."""
        return first_few(self.names, limit)
