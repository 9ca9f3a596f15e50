"""One column of a record batch as NumPy numbers, with errors that name the file, the row and the column."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from typing import Any

import numpy as np

from fastbin._base.array_types import Array, Int64s
from fastbin._base.errors import InputError, Words, joined
from fastbin.io.base import Table, arrow, as_plain, reopened

# How programs write that a value is missing in a text file; an empty field is the usual way.
MISSING = (b"", b"NA", b"N/A", b"NaN", b"nan", b"null", b"NULL", b"None")


def read_numbers(
    table: Table, name: str, column: Any, first_row: int, *, whole: bool = False, propagate: bool = False,
    remedy: Callable[[], Words] = str,
) -> Array:  # fmt: skip
    """One column of a record batch as numbers.

    Parameters
    ----------
    table, name, first_row
        Where the column stands, for messages.
    column : pyarrow.Array
    whole : bool
        Whether text becomes int64 where all of it is whole numbers. Otherwise it becomes float64, or bool.
    propagate : bool
        Whether a missing value becomes NaN instead of an error.
    remedy : callable
        What to do where values are not numbers.
    """
    pa = arrow()
    column = as_plain(column)
    if pa.types.is_binary(column.type) and table.is_text:
        column = _parse(table, name, without_missing(column), first_row, whole, remedy)
    elif pa.types.is_decimal(column.type):
        column = doubles_of_decimals(column)
    elif not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_boolean(column.type)):
        raise InputError(f"{table.path}, column {name}: holds {column.type}, not numbers", remedy())
    if column.null_count:
        if not propagate:
            row = first_row + first_true(column.is_null())
            raise InputError(f"{table.place(row)}, column {name}: the value is missing", "remove or fill such rows first")
        column = column.cast(pa.float64())  # NumPy integers have no place for it
    return np.asarray(column.to_numpy(zero_copy_only=False))


def doubles_of_decimals(column: Any) -> Any:
    """Decimals as the nearest doubles, by way of text: Arrow's own cast is off by one double now and then."""
    pa = arrow()
    return column.cast(pa.string()).cast(pa.float64())


def coded(column: Any) -> tuple[list[Any], Int64s]:
    """The different values of an Arrow array, None among them, and the number of each row's."""
    encoded = column if arrow().types.is_dictionary(column.type) else column.dictionary_encode()
    values = [*encoded.dictionary.to_pylist(), None]
    codes = encoded.indices.fill_null(len(values) - 1)
    return values, np.asarray(codes.to_numpy(zero_copy_only=False)).astype(np.int64)


def first_true(column: Any) -> int:
    """The position of the first true value in a boolean Arrow array that has one."""
    return int(np.argmax(column.to_numpy(zero_copy_only=False)))


def as_number(text: str) -> float | None:
    """The number that a text represents, or ``None``."""
    try:
        return float(text)
    except ValueError:
        return None


def is_integer(text: str) -> bool:
    """Whether a text is a 64-bit integer as Python writes it, so that 007 is none."""
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and str(int(text)) == text and -(2**63) <= int(text) < 2**63


def without_missing(column: Any) -> Any:
    """Text with nulls for the spellings of a missing value."""
    pa = arrow()
    missing = pa.compute.is_in(column, value_set=pa.array(MISSING, pa.binary()))
    if pa.compute.any(missing).as_py():
        column = pa.compute.if_else(missing, pa.scalar(None, pa.binary()), column)
    return column


def _parse(table: Table, name: str, column: Any, first_row: int, whole: bool, remedy: Callable[[], Words]) -> Any:
    """Text as int64 (if `whole`), float64 or bool, whichever is the first that fits all values."""
    pa = arrow()
    for kind in (*([pa.int64()] if whole else []), pa.float64(), pa.bool_()):
        if (parsed := _try_to_parse(column, kind, table.decimal)) is not None:
            return parsed
    # The first that is no float64, by bisection over the rows up to which all can be parsed.
    row = bisect(range(len(column)), False, key=lambda r: _try_to_parse(column[: r + 1], pa.float64(), table.decimal) is None)
    text = column[row].as_py().decode("utf8", errors="replace")
    comma = "" if table.decimal == "." else " (with a decimal comma)"
    reread: Words = ""
    if table.decimal == "." and as_number(text.replace(",", ".", 1)) is not None:
        reread = "if it has a decimal comma, ", reopened("decimal", ",")
    problem = f"{table.place(first_row + row)}, column {name}: {text[:60]!r} is neither a number nor true or false{comma}"
    raise InputError(problem, joined(reread, remedy()))


def as_text(table: Table, name: str, column: Any, first_row: int) -> Any:
    """A column of strings or of the bytes in a text file as strings; bytes that are no UTF-8 are refused."""
    pa = arrow()
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        bad = [each is not None and not _is_utf8(each) for each in column.cast(pa.binary()).to_pylist()]
        row, remedy = bad.index(True), reopened("encoding", "latin-1")
        text = column[row].as_py()[:60]
        raise InputError(
            f"{table.place(first_row + row)}, column {name}: {text!r} is not UTF-8",
            ("say which encoding the file is in, such as latin-1: ", remedy),
        ) from None


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode("utf8")
    except UnicodeDecodeError:
        return False
    return True


def _try_to_parse(column: Any, kind: Any, decimal: str) -> Any:
    """The column as this type, or ``None`` if a value does not fit it. Blanks around a value are allowed."""
    pa = arrow()
    try:
        text = column.cast(pa.string())
        if decimal != ".":
            if pa.compute.any(pa.compute.match_substring(text, ".")).as_py():  # it may separate thousands
                return None
            text = pa.compute.replace_substring(text, decimal, ".")
        try:
            return text.cast(kind)
        except pa.ArrowInvalid:
            return pa.compute.utf8_trim_whitespace(text).cast(kind)
    except pa.ArrowInvalid:
        return None
