"""CSV files: text with a header, every column as the bytes in the file.

No type is guessed from the first rows. A column that is not needed as numbers keeps its bytes; `fastbin.tables.columns`
converts the others, with errors that name row and column.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from fastbin._base.errors import InputError
from fastbin._core.fit import Quotes
from fastbin.tables.columns import as_number
from fastbin.tables.table import Table, arrow, open_for_arrow, reopened, sliced, suffixes, uses_threads

# Tried in this order on the header of a file whose name does not determine it.
USUAL_DELIMITERS = (",", "\t", ";", "|")

# A megabyte of text at a time stays in the cache; a row must fit into one block.
BLOCK_BYTES = 2**20
LITTLE_BLOCK_BYTES = 2**16  # if memory is limited: PyArrow reads some dozens of blocks ahead
HEADER_BYTES = 2**20


# What files of other kinds begin with, which no header of columns does, and the suffix that one with rows is recognised by.
OTHER_KINDS = {
    b"PAR1\x15": ("Parquet", ".parquet"), b"ARROW1\0": ("Arrow", ".arrow"), b"\x1f\x8b": ("gzip", ".csv.gz"),
    b"BZh91AY": ("bzip2", ".csv.bz2"), b"\x28\xb5\x2f\xfd": ("Zstandard", ".csv.zst"), b"\x04\x22\x4d\x18": ("LZ4", ".csv.lz4"),
}  # fmt: skip


class CsvTable(Table):
    """Text with a header: every column is binary and holds the bytes between the delimiters."""

    is_text = True

    def __init__(
        self,
        path: str,
        delimiter: str | None = None,
        decimal: str = ".",
        encoding: str = "utf-8",
        watch: Callable[[bytes], object] | None = None,
    ) -> None:
        if not isinstance(decimal, str) or decimal not in (".", ","):
            raise InputError(f"decimal is {decimal!r}; the decimal mark is '.' or ','")
        if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1 or not delimiter.isascii()):
            raise InputError(f"delimiter is {delimiter!r}; it is one character of ASCII")
        if decimal == delimiter:
            raise InputError(f"decimal and delimiter are both {decimal!r}; one character cannot be both")
        self.path, self.files, self.decimal = "standard input" if path == "-" else path, [path], decimal
        self._encoding, self._watch = _check_encoding(encoding), watch
        self._stream = self._open()
        with self._reworded_errors():
            self._start = bytes(self._stream.read(HEADER_BYTES))
        self.delimiter, self.names = self._header(delimiter)
        if self.can_be_read_again:
            self._stream.close()
            self._start = b""
            self.total = os.path.getsize(path)

    def _open(self) -> Any:
        if self.can_be_read_again:
            _, compression = suffixes(self.path)
            self._file = open_for_arrow(self.path)
            stream = self._file if compression is None else arrow().CompressedInputStream(self._file, compression)
        else:
            is_standard = self.files == ["-"]
            if is_standard and sys.stdin is None:
                raise InputError("standard input is closed; name a file")
            self._file = nullcontext(sys.stdin.buffer) if is_standard else open(self.path, "rb")  # noqa: SIM115
            stream = sys.stdin.buffer if is_standard else self._file
            stream = stream if self._watch is None else _Stream(stream.read, self._watch)
            stream = arrow().PythonFile(stream, mode="r")
        return stream if self._encoding == "utf-8" else arrow().transcoding_input_stream(stream, self._encoding, "utf-8")

    def _header(self, delimiter: str | None) -> tuple[str, list[str]]:
        if not self._start.removeprefix(codecs.BOM_UTF8).strip():
            raise InputError(f"{self.path} is empty; a header with column names is needed")
        if b"\0" in self._start[:4096] or self._start.startswith(tuple(OTHER_KINDS)):
            raise not_text(self.path, self._start)
        # A character that is cut off at the end becomes a replacement character, but no header is that long.
        text = self._start.decode("utf-8-sig", errors="replace")
        candidates = [one for one in USUAL_DELIMITERS if one != self.decimal] if delimiter is None else [delimiter]
        headers, errors = [], []
        for one in candidates:  # by one that is none of the header the whole line is one field, which may be too long
            try:
                headers.append(next(filter(None, csv.reader(io.StringIO(text), delimiter=one)), []))
            except csv.Error as error:
                headers.append([])
                errors.append(error)
        if len(errors) == len(candidates):
            if "\r" in text and "\n" not in text:
                raise InputError(f"{self.path} ends its lines by CR alone; convert them to LF") from None
            raise InputError(f"{self.path} has no readable header: {errors[0]}") from None
        chosen = next((number for number, names in enumerate(headers) if len(names) > 1), 0)
        names = headers[chosen]
        # In a file of one column an empty line is a row, whose value is missing.
        self._empty_is_missing = len(names) == 1
        lines = re.split("\r\n|\r|\n", text) if self._empty_is_missing else []
        self._empty_before_header = next((number for number, line in enumerate(lines) if line), 0)
        # PyArrow refuses such a file, and now and then never returns from it.
        self._has_no_rows = len(self._start) < HEADER_BYTES and not re.search("[\r\n]", text.lstrip("\r\n"))
        if any("\ufffd" in name for name in names):
            remedy = "say which encoding it is in, such as latin-1: ", reopened("encoding", "latin-1")
            raise InputError(f"{self.path} has a header that is not UTF-8", remedy)
        if all(as_number(name.replace(self.decimal, ".")) is not None for name in names):
            raise InputError(f"{self.path} starts with numbers ({', '.join(names[:4])}); its first line must name the columns")
        return candidates[chosen], names

    def batches(self, columns: Sequence[str] | None = None, chunk_rows: int = 65536) -> Iterator[Any]:
        pa = arrow()
        if self.can_be_read_again:
            stream = self._open()
        elif self._stream is None:
            raise InputError(f"{self.path} is not a regular file and can be read only once; save it to a file first")
        else:
            stream, self._stream = pa.PythonFile(_Stream(self._stream.read, start=self._start), mode="r"), None
        if self._has_no_rows:
            with self._file, stream:
                return
        # One thread: several are not faster here, and with them an error does not tell the number of its row.
        options = {
            "read_options": pa.csv.ReadOptions(
                use_threads=False, block_size=_block_bytes(), skip_rows=self._empty_before_header
            ),
            "parse_options": pa.csv.ParseOptions(
                delimiter=self.delimiter, newlines_in_values=True, ignore_empty_lines=not self._empty_is_missing
            ),
            "convert_options": pa.csv.ConvertOptions(
                column_types=dict.fromkeys(self.names, pa.binary()), include_columns=list(columns or [])
            ),
        }
        quotes = Quotes(self.delimiter.encode())
        watched = pa.PythonFile(_Stream(stream.read, quotes.follow), mode="r")
        with self._reworded_errors(), self._file, stream, pa.csv.open_csv(watched, **options) as reader:
            for batch in reader:
                self._check_quotes(quotes)
                self.done = self._file.tell() if self.total is not None else 0
                yield from sliced([batch], chunk_rows)
            quotes.finish()
            self._check_quotes(quotes)

    def _check_quotes(self, quotes: Quotes) -> None:
        """Refuse a quotation mark that is left open, by its line."""
        at = quotes.left_open_at
        if at < 0:
            return
        place = f"{self.path}, byte {at + 1:,}"
        if self.can_be_read_again:
            with self._open() as stream:
                line, left = 1, at
                while left > 0 and (block := stream.read(min(left, BLOCK_BYTES))):
                    line, left = line + block.count(b"\n"), left - len(block)
            place = f"{self.path}, line {line}"
        raise InputError(f"{place}: a quotation mark is left open, and the rows after it are lost; close it, or write it twice")

    @contextmanager
    def _reworded_errors(self) -> Iterator[None]:
        """Errors about the content, raised inside, as errors about the file."""
        try:
            yield
        except UnicodeError as error:
            raise InputError(f"{self.path} is not in the encoding {self._encoding}: {error}") from None
        except (arrow().ArrowInvalid, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:  # not about the content
                raise
            raise InputError(self._reworded(error)) from None

    def _reworded(self, error: Exception) -> str:
        """An error of PyArrow ("CSV parse error: Row #3: Expected 2 columns, got 3: 0.2,0,7") as one about a line."""
        text = " ".join(str(error).split())
        if "straddles two block boundaries" in text:
            return f"{self.path} has a row of more than {_block_bytes():,} bytes; is a quotation mark left open?"
        if "Empty CSV file or block" in text:  # empty files and headers alone are told before: no line ends in the first block
            return f"{self.path} has a header of more than {_block_bytes():,} bytes; write fewer columns, or Parquet"
        if isinstance(error, OSError):
            return f"{self.path} is damaged: {text}"
        number, _, complaint = text.partition("Row #")[2].partition(": ")
        if number.isdigit():
            record = int(number) - 1 - self._empty_before_header  # PyArrow counts the lines that it skips
            return f"{self._record_place(record)}: {complaint[:200].replace('Expected', 'expected', 1)}"
        return f"{self.path}: {text[:300]}"

    def place(self, row: int) -> str:
        return self._record_place(row + 1)

    def _record_place(self, record: int) -> str:
        """The line on which a record begins, where the header is record 0. Reads the file again, after an error."""
        if not self.can_be_read_again:
            return f"{self.path}, row {record}"
        line = 1
        with self._reworded_errors(), self._open() as stream:
            text = io.TextIOWrapper(io.BufferedReader(_Stream(stream.read)), encoding="latin-1", newline="")
            reader = csv.reader(text, delimiter=self.delimiter)
            for fields in reader:
                if fields or (self._empty_is_missing and reader.line_num > self._empty_before_header):
                    if record == 0:
                        break
                    record -= 1
                line = reader.line_num + 1
        return f"{self.path}, line {line}"


def not_text(path: str, start: bytes) -> InputError:
    """The error for a file that starts with these bytes, which are not UTF-8: what it is, where that is known."""
    for magic, (kind, suffix) in OTHER_KINDS.items():
        if start.startswith(magic):
            return _other_kind(path, kind, suffix)
    odd, even = start[1:200:2].count(0), start[0:200:2].count(0)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif 2 * max(odd, even) > len(start[:200]) // 2:
        encoding = "utf-16-le" if odd > even else "utf-16-be"
    else:
        return InputError(f"{path} is not text; CSV and Parquet files can be read")
    return InputError(f"{path} is in another encoding than UTF-8", reopened("encoding", encoding))


def _other_kind(path: str, kind: str, suffix: str) -> InputError:
    """The error for a file of a kind that is read from a file with another name, and from no pipe."""
    if os.path.isfile(path):
        return InputError(f"{path} is {kind}, and its name says CSV", f"give it a name that ends in {suffix}")
    problem = f"{path} is {kind}, and a pipe is read as CSV"
    return InputError(problem, "unpack it first, or name the file" if suffix.startswith(".csv.") else "name the file")


def _block_bytes() -> int:
    return BLOCK_BYTES if uses_threads() else LITTLE_BLOCK_BYTES


class _Stream(io.RawIOBase):
    """A function that returns bytes, as a Python file, after bytes of the `start`; `watch` is called with all that is read."""

    def __init__(
        self, read: Callable[[int], bytes], watch: Callable[[bytes], object] | None = None, start: bytes = b""
    ) -> None:
        self._read, self._watch, self._start = read, watch, start

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        end = len(self._start) if size < 0 else size
        data, self._start = self._start[:end], self._start[end:]
        data = data or self._read(size)
        if self._watch is not None:
            self._watch(data)
        return data

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _check_encoding(encoding: str) -> str:
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)  # Python has codecs, such as base64, that are not text encodings
        if name == "punycode":  # of names of hosts; it takes no buffers
            raise LookupError
    except (LookupError, TypeError, ValueError):
        raise InputError(f"encoding is {encoding!r}, which Python does not know; try utf-8 or latin-1") from None
    return name
