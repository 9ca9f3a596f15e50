"""Parquet files: PyArrow reads what is in them, and DuckDB streams their rows.

One query reads all files of a table. 10^7 rows in 1000 files take 0.2 s that way; file by file PyArrow takes 0.5 s, and DuckDB
1.4 s.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any

from fastbin._base.dependencies import needed_for
from fastbin._base.errors import InputError, MemoryLimitError, Wording
from fastbin.tables.table import Table, arrow, arrow_parquet, first_sentence, open_for_arrow, sliced, uses_threads

# One decodes while a fit counts: 10^7 rows take 0.14 s, and with one thread in all 0.20 s. More would only take more memory, as
# rows come in the order of the files.
THREADS = 2

# DuckDB takes the names of files for patterns; in brackets each of these characters stands for itself.
MARKS_OF_PATTERNS = re.compile(r"[*?\[]")


class ParquetTable(Table):
    """Columns of the types that the file stores."""

    is_text = False

    def __init__(self, path: str) -> None:
        self.path, self.files = path, [path]
        with open_for_arrow(path) as file:
            try:
                opened = arrow_parquet().ParquetFile(file)
            except (arrow().ArrowInvalid, OSError) as error:
                raise InputError(f"{path} is not a Parquet file, or it is damaged: {first_sentence(error)}") from None
            self.schema, self._n_rows = opened.schema_arrow, int(opened.metadata.num_rows)
        self.names, self.total = self.schema.names, self._n_rows

    def batches(self, columns: Sequence[str] | None = None, chunk_rows: int = 65536) -> Iterator[Any]:
        self.done = 0
        rows = ParquetRows(self.path, self.files, [self._n_rows], self.schema, self.memory_limit)
        for batch in rows.batches(columns, chunk_rows):
            self.done += len(batch)
            yield batch


@dataclass(frozen=True)
class ParquetRows:
    """The rows of Parquet files of one schema, one file after the other.

    PyArrow reads them where DuckDB cannot, or would change them: if a column has a type that DuckDB does not give back, such as
    nanoseconds with a zone or dictionaries, or differs from another in capital letters alone; if the name of a file is not
    text; and if the address space is limited, as threads must not be started then.
    """

    path: str  # of all files, as the user gave it, for messages
    files: Sequence[str]
    n_rows: Sequence[int]  # of each of them
    schema: Any
    memory_limit: int | None  # bytes for the buffers of DuckDB and for rows that are kept, half each

    def batches(self, columns: Sequence[str] | None, chunk_rows: int) -> Iterator[Any]:
        """Record batches of these columns, or of all, of at most `chunk_rows` rows."""
        done = 0
        try:
            for batch in sliced(self._batches(columns, chunk_rows), chunk_rows):
                done += len(batch)
                yield batch
        except (arrow().ArrowInvalid, OSError) as error:
            raise self._reworded(error, columns, done) from None
        if done != sum(self.n_rows):
            raise InputError(f"{self.path} was changed while it was read")

    def _batches(self, columns: Sequence[str] | None, chunk_rows: int) -> Iterator[Any]:
        """Record batches of any size, in the types of the schema."""
        if not (yield from self._by_duckdb(columns, chunk_rows)):
            yield from self._by_pyarrow(columns, chunk_rows)

    def _by_duckdb(self, columns: Sequence[str] | None, chunk_rows: int) -> Generator[Any, None, bool]:
        """All rows, and True; or none, and False, where they need the other reader."""
        paths = [path for path in map(_quoted_path, self.files) if path is not None]
        if len(paths) < len(self.files) or not uses_threads():
            return False
        pa, duckdb = arrow(), _duckdb()
        schema = self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])
        try:
            with closing(_database(self.memory_limit).cursor()) as connection:
                table = connection.sql(f"FROM read_parquet([{', '.join(paths)}], hive_partitioning = false)")
                if table.columns != self.schema.names:  # of two that differ in capital letters, one is called otherwise
                    return False
                reader = table.project(", ".join(map(_quoted_name, schema.names))).to_arrow_reader(chunk_rows)
                if reader.schema.types != schema.types:
                    return False
                for batch in reader:
                    yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)  # with the metadata of the file
        except duckdb.Error as error:
            raise OSError(str(error)) from None
        return True

    def _by_pyarrow(self, columns: Sequence[str] | None, chunk_rows: int) -> Iterator[Any]:
        names = None if columns is None else list(columns)
        for path in self.files:
            with open_for_arrow(path) as file:
                opened = arrow_parquet().ParquetFile(file)
                yield from opened.iter_batches(chunk_rows, columns=names, use_threads=uses_threads())

    def _reworded(self, error: Exception, columns: Sequence[str] | None, done: int) -> Exception:
        """An error of a reader, after so many rows, as one about a file."""
        if isinstance(error, OSError) and error.errno is not None:  # not about the content
            return error
        text = first_sentence(error)
        if "Out of Memory" in text:
            if self.memory_limit is None:
                return MemoryError(f"80 % of the memory, which DuckDB may take, is too little to read {self.path}")
            n_columns = len(self.schema.names if columns is None else columns)
            return MemoryLimitError(
                f"the memory limit of {self.memory_limit:,} bytes leaves too little to read {self.path}: half of it is for "
                f"DuckDB, which needs more for row groups of {n_columns:,} columns",
                Wording("raise memory_limit", "raise --memory-limit"),
            )
        if len(self.files) == 1:
            open_for_arrow(self.path).close()  # it may be gone
            return InputError(f"{self.path} is damaged: {text}")
        # Which of the files it is, as not all messages say: those before the one that holds the next row have been read.
        first = bisect_right(list(accumulate(self.n_rows)), done)
        for file, n_rows in list(zip(self.files, self.n_rows, strict=True))[first:]:
            deque(ParquetRows(file, [file], [n_rows], self.schema, self.memory_limit).batches(columns, 2**16), maxlen=0)
        return InputError(f"{self.path} is damaged: {text}")


def _duckdb() -> Any:
    with needed_for("Parquet files", extra="cli"):
        import duckdb
    return duckdb


@cache
def _database(memory_limit: int | None) -> Any:
    """A database in memory that stays open, as opening one takes as long as reading 10^6 rows.

    Its rows come in the order of the files, and it loads nothing from a network.
    """
    limit = {} if memory_limit is None else {"memory_limit": f"{memory_limit // 2}B"}
    settings = {"threads": THREADS, "preserve_insertion_order": True, "autoinstall_known_extensions": False, **limit}
    return _duckdb().connect(":memory:", config=settings)


if hasattr(os, "register_at_fork"):  # a child would have its locks and none of its threads, and wait for these at its end
    os.register_at_fork(before=_database.cache_clear)


def _quoted_path(path: str) -> str | None:
    """A file in SQL, never a pattern, an address or a home folder; None if DuckDB cannot be told its name."""
    whole = os.path.join(os.getcwd(), path)
    try:
        whole.encode("utf8")
    except UnicodeEncodeError:
        return None
    if os.sep == "/" and "\\" in whole and MARKS_OF_PATTERNS.search(whole):  # there it takes the meaning from what follows
        return None
    return "'" + MARKS_OF_PATTERNS.sub(r"[\g<0>]", whole).replace("'", "''") + "'"


def _quoted_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# ------------------------------------------------------------------------------------------------- Arrow IPC, Feather 2


class IpcTable(Table):
    """Columns of the types that the file stores."""

    is_text = False

    def __init__(self, path: str) -> None:
        self.path, self.files = path, [path]
        with open_for_arrow(path) as file:
            self.schema = self._open(file).schema
        self.names = self.schema.names

    def batches(self, columns: Sequence[str] | None = None, chunk_rows: int = 65536) -> Iterator[Any]:
        self.done = 0
        try:
            with open_for_arrow(self.path) as file:
                reader = self._open(file)
                for number in range(reader.num_record_batches):
                    batch = reader.get_batch(number)
                    batch = batch if columns is None else batch.select(list(columns))
                    self.done += len(batch)
                    yield from sliced([batch], chunk_rows)
        except KeyError:  # columns that were there before
            raise InputError(f"{self.path} was changed while it was read") from None
        except (arrow().ArrowInvalid, OSError) as error:
            raise InputError(f"{self.path} is damaged: {first_sentence(error)}") from None

    def _open(self, file: Any) -> Any:
        pa = arrow()
        try:
            return pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(use_threads=uses_threads()))
        except (pa.ArrowInvalid, OSError) as error:
            raise InputError(f"{self.path} is not an Arrow IPC file, or it is damaged: {first_sentence(error)}") from None
