"""CSV and Parquet files as record batches, on PyArrow, which is imported when the first file is opened.

A CSV column is read as the bytes that stand in the file: nothing is guessed from the first rows, a column that is not needed as
numbers keeps its text to the byte, and `fastbin.scale.columns` converts the others with errors that name row and column.
"""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fastbin._dependencies import needed_for
from fastbin._errors import InputError

__all__ = [
    "COMPRESSIONS",
    "CSV_DELIMITERS",
    "PARQUET_SUFFIXES",
    "CsvTable",
    "ParquetTable",
    "Table",
    "arrow",
    "open_table",
    "suffixes",
]

CSV_DELIMITERS = {".csv": None, ".txt": None, ".tsv": "\t", ".tab": "\t"}
PARQUET_SUFFIXES = (".parquet", ".pq")
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}

# Tried in this order on the header of a file whose name does not say.
USUAL_DELIMITERS = (",", "\t", ";", "|")

# A megabyte of text at a time keeps the parser in the cache; a row must fit into one block.
BLOCK_BYTES = 2**20
HEADER_BYTES = 2**20


def arrow() -> Any:
    """PyArrow, or an error that says how to get it."""
    with needed_for("files of rows", extra="cli"):
        import pyarrow
        import pyarrow.compute
        import pyarrow.csv
        import pyarrow.parquet
    return pyarrow


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


def open_table(path: str | os.PathLike[str], delimiter: str | None = None) -> Table:
    """Open a CSV or Parquet file.

    Parameters
    ----------
    path : str or path-like
        ``.csv``, ``.tsv``, ``.txt`` (also compressed: ``.csv.gz``, ...), ``.parquet`` or ``.pq``; anything else is told by
        its first bytes. "-" reads CSV from the standard input; what comes from a pipe can be read once.
    delimiter : str, optional
        Of a CSV file; by default what its name or its header says.

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
        If PyArrow is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from fastbin.scale import open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "scores.csv")
    ...     _ = path.write_text("p;y\\n0.25;0\\n0.75;1\\n")
    ...     open_table(path).names
    ['p', 'y']
    """
    path = os.fspath(path)
    if path == "-":
        return CsvTable(path, delimiter)
    if os.path.isdir(path):
        raise InputError(f"{path} is a folder; name one CSV or Parquet file")
    suffix, _ = suffixes(path)
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe, from which nothing must be read to look at it
        return CsvTable(path, delimiter)
    if suffix in CSV_DELIMITERS:
        return CsvTable(path, delimiter or CSV_DELIMITERS[suffix])
    with open(path, "rb") as file:
        start = file.read(4096)
    if start.startswith(b"PAR1") or suffix in PARQUET_SUFFIXES:
        return ParquetTable(path)
    if start.startswith(b"PK") or b"\0" in start:
        raise InputError(f"{path} is neither CSV nor Parquet; export the table as one of these")
    return CsvTable(path, delimiter)


class CsvTable(Table):
    """Text with a header: every column is binary, exactly what stands between the delimiters."""

    is_text = True

    def __init__(self, path: str, delimiter: str | None = None) -> None:
        self.path = path
        self._stream = self._open()
        self._start = self._first_bytes()
        if self.can_be_read_again:
            self._stream.close()
            self.total = os.path.getsize(path)
        self.delimiter, self.names = self._header(delimiter)

    def _open(self) -> Any:
        if self.path == "-":
            return arrow().PythonFile(sys.stdin.buffer, mode="r")
        if not self.can_be_read_again:
            return arrow().PythonFile(open(self.path, "rb"), mode="r")
        with open(self.path, "rb"):  # whose error says more than PyArrow's
            pass
        _, compression = suffixes(self.path)
        self._file = arrow().OSFile(self.path)
        return self._file if compression is None else arrow().CompressedInputStream(self._file, compression)

    def _first_bytes(self) -> bytes:
        try:
            return bytes(self._stream.read(HEADER_BYTES))
        except OSError as error:
            raise InputError(self._reworded(error)) from None

    def _header(self, delimiter: str | None) -> tuple[str, list[str]]:
        if not self._start.strip():
            raise InputError(f"{self.path} is empty; a header with column names is needed")
        if b"\0" in self._start[:4096]:
            raise InputError(f"{self.path} is not text; CSV and Parquet files can be read")
        # A character that is cut off at the end becomes a replacement character, but no header is that long.
        text = self._start.decode("utf-8-sig", errors="replace")
        candidates = USUAL_DELIMITERS if delimiter is None else (delimiter,)
        try:
            headers = [
                next((record for record in csv.reader(io.StringIO(text), delimiter=one) if record), []) for one in candidates
            ]
        except csv.Error as error:
            raise InputError(f"{self.path} has no header that could be read: {error}") from None
        chosen = next((number for number, names in enumerate(headers) if len(names) > 1), 0)
        names = headers[chosen]
        if any("\ufffd" in name for name in names):
            raise InputError(f"{self.path} has a header that is not UTF-8; save the file in that encoding")
        if all(_is_number(name) for name in names):
            raise InputError(f"{self.path} starts with numbers ({', '.join(names[:4])}); its first line must name the columns")
        return candidates[chosen], names

    def batches(self, columns: Sequence[str] | None = None, chunk_rows: int = 65536) -> Iterator[Any]:
        pa = arrow()
        if self.can_be_read_again:
            stream = self._open()
        elif self._stream is None:
            raise InputError(f"{self.path} can be read only once, since it is no file; save it to one first")
        else:
            stream, self._stream = pa.PythonFile(_Replayed(self._start, self._stream), mode="r"), None
        # One thread: several gain nothing here, and would lose the number of the row that an error is about.
        options = {
            "read_options": pa.csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES),
            "parse_options": pa.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            "convert_options": pa.csv.ConvertOptions(
                column_types=dict.fromkeys(self.names, pa.binary()), include_columns=list(columns or [])
            ),
        }
        try:
            with stream, pa.csv.open_csv(stream, **options) as reader:
                for batch in reader:
                    self.done = self._file.tell() if self.total is not None else 0
                    yield from (batch.slice(start, chunk_rows) for start in range(0, len(batch), chunk_rows))
        except (pa.ArrowInvalid, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:  # not about the content
                raise
            raise InputError(self._reworded(error)) from None

    def _reworded(self, error: Exception) -> str:
        """PyArrow's errors in the words of the file: "CSV parse error: Row #3: Expected 2 columns, got 3: 0.2,0,7"."""
        text = " ".join(str(error).split())
        if "straddles two block boundaries" in text:
            return f"{self.path} has a row of more than {BLOCK_BYTES:,} bytes; is a quotation mark left open?"
        if isinstance(error, OSError):
            return f"{self.path} is damaged: {text}"
        _, found, rest = text.partition("Row #")
        number, _, complaint = rest.partition(": ")
        if found and number.isdigit():
            return f"{self._record_place(int(number) - 1)}: {complaint[:200].replace('Expected', 'expected', 1)}"
        return f"{self.path}: {text[:300]}"

    def place(self, row: int) -> str:
        return self._record_place(row + 1)

    def _record_place(self, record: int) -> str:
        """The line on which a record begins, the header being record 0; found by reading the file again, after an error."""
        if not self.can_be_read_again:
            return f"{'standard input' if self.path == '-' else self.path}, row {record}"
        line = 1
        with self._open() as stream:
            text = io.TextIOWrapper(io.BufferedReader(_Replayed(b"", stream)), encoding="latin-1", newline="")
            reader = csv.reader(text, delimiter=self.delimiter)
            for fields in reader:
                if fields:
                    if record == 0:
                        break
                    record -= 1
                line = reader.line_num + 1
        return f"{self.path}, line {line}"


class _Replayed(io.RawIOBase):
    """A stream whose first bytes have been read already, as a file of Python's."""

    def __init__(self, start: bytes, rest: Any) -> None:
        self._start, self._rest = start, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data, self._start = self._start[: len(buffer)], self._start[len(buffer) :]
        if not data:
            data = self._rest.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class ParquetTable(Table):
    """Columns of the types that the file says."""

    is_text = False

    def __init__(self, path: str) -> None:
        pa = arrow()
        self.path = path
        try:
            self._file = pa.parquet.ParquetFile(path)
        except pa.ArrowInvalid as error:
            raise InputError(f"{path} is no Parquet file, or a damaged one: {_first_sentence(error)}") from None
        self.schema = self._file.schema_arrow
        self.names = self.schema.names
        self.total = self._file.metadata.num_rows

    def batches(self, columns: Sequence[str] | None = None, chunk_rows: int = 65536) -> Iterator[Any]:
        pa = arrow()
        self.done = 0
        try:
            for batch in self._file.iter_batches(chunk_rows, columns=None if columns is None else list(columns)):
                self.done += len(batch)
                yield batch
        except (pa.ArrowInvalid, OSError) as error:
            raise InputError(f"{self.path} is damaged: {_first_sentence(error)}") from None


def _first_sentence(error: Exception) -> str:
    return " ".join(str(error).split()).split(". ")[0][:200]
