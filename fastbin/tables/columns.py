"""One column of Arrow as numbers, as texts, as whole weights, and as codes of its different values."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np

from fastbin._base.array_types import Array, Int64s
from fastbin._base.checks import MOST_SAMPLES, too_many_samples
from fastbin._base.errors import InputError, InputTypeError, Words, joined
from fastbin.tables.table import Table, as_plain, pyarrow, reopened

# How programs write that a value is missing in a text file; an empty field is the usual way.
MISSING_WORDS = (b"", b"NA", b"N/A", b"NaN", b"nan", b"null", b"NULL", b"None")
# Where text is wanted, such words are values: NA is a country.
MISSING_TEXT = (b"",)


def read_numbers(
    table: Table, name: str, column: Any, first_row: int, *, whole: bool = False, propagate: bool = False,
    remedy: Callable[[], Words] = str, fill: Words = "remove or fill such rows first",
) -> Array:  # fmt: skip
    """One column of a record batch as numbers; `table`, `name` and `first_row` are its place, for messages.

    Text becomes float64, or bool, and, if `whole`, int64 where all of it is whole numbers, as decimals without places do; other
    decimals become float64. Missing values are an error, or NaN if they `propagate`. `remedy` says how values that are not
    numbers can be read, `fill` what to do with missing ones.
    """
    pa = pyarrow()
    column = as_plain(column)
    if pa.types.is_binary(column.type) and table.is_text:
        column = _parse(table, name, without_missing(column), first_row, whole, remedy)
    elif pa.types.is_decimal(column.type):
        column = integers_of(column, name) if whole and has_whole(column.type) else doubles_of_decimals(column)
    elif not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_boolean(column.type)):
        raise InputError(f"{table.path}, column {name}: holds {column.type}, not numbers", remedy())
    if column.null_count:
        if not propagate:
            row = first_row + first_true(column.is_null())
            raise InputError(f"{table.place(row)}, column {name}: the value is missing", fill)
        column = column.cast(pa.float64())  # NumPy integers have no place for it
    return np.asarray(column.to_numpy(zero_copy_only=False))


def doubles_of_decimals(column: Any) -> Any:
    """Decimals as the nearest doubles, by way of text: Arrow's own cast is off by one double now and then."""
    pa = pyarrow()
    return column.cast(pa.string()).cast(pa.float64())


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


def without_missing(column: Any, words: tuple[bytes, ...] = MISSING_WORDS) -> Any:
    """Text with nulls for the spellings of a missing value."""
    pa = pyarrow()
    missing = pa.compute.is_in(column, value_set=pa.array(words, pa.binary()))
    if pa.compute.any(missing).as_py():
        column = pa.compute.if_else(missing, pa.scalar(None, pa.binary()), column)
    return column


def _parse(table: Table, name: str, column: Any, first_row: int, whole: bool, remedy: Callable[[], Words]) -> Any:
    """Text as int64 (if `whole`), float64 or bool, whichever is the first that fits all values."""
    pa = pyarrow()
    for kind in (*([pa.int64()] if whole else []), pa.float64(), pa.bool_()):
        if (parsed := _try_to_parse(column, kind, table.decimal)) is not None:
            return parsed
    # The first that is not a float64, by bisection over the rows up to which all can be parsed.
    row = bisect(range(len(column)), False, key=lambda r: _try_to_parse(column[: r + 1], pa.float64(), table.decimal) is None)
    text = column[row].as_py().decode("utf8", errors="replace")
    comma = "" if table.decimal == "." else " (with a decimal comma)"
    complaint = f"is neither a number nor true or false{comma}"
    if _try_to_parse(column[row : row + 1], pa.bool_(), table.decimal) is not None:
        complaint = f"is not a number{comma}, and other values are not true or false"
    reread: Words = ""
    if table.decimal == "." and "," in text and as_number(text.replace(",", ".", 1)) is not None:
        reread = "if it has a decimal comma, ", reopened("decimal", ",")
    elif text.endswith("%") and (share := as_number(text[:-1].replace(table.decimal, ".", 1))) is not None:
        reread = f"write percentages as fractions, here {share / 100.0:.6g}"
    problem = f"{table.place(first_row + row)}, column {name}: {text[:60]!r} {complaint}"
    raise InputError(problem, joined(reread, remedy()))


def as_text(table: Table, name: str, column: Any, first_row: int) -> Any:
    """A column of strings or of the bytes in a text file as strings; bytes other than UTF-8 are refused."""
    pa = pyarrow()
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


def read_text(table: Table, name: str, batch: Any, first_row: int, *, are_days: bool = False) -> Any:
    """A column of a batch as text; integers as they are written, and times as their day, if these are asked for.

    A missing value is refused.
    """
    pa = pyarrow()
    column = column_of(batch, name)
    if are_days and getattr(column.type, "tz", None) is not None:
        raise InputError(
            f"{table.path}, column {name}: holds {column.type}, whose day depends on the zone",
            "give dates, or times without a zone",
        )
    if are_days and pa.types.is_temporal(column.type):
        column = column.cast(pa.date32(), safe=False).cast(pa.string())
    if pa.types.is_integer(column.type) or pa.types.is_boolean(column.type):
        column = column.cast(pa.string())
    elif not (is_text(column.type) or pa.types.is_binary(column.type)):
        raise InputError(f"{table.path}, column {name}: holds {column.type}; integers or text are needed")
    column = as_text(table, name, column, first_row)
    missing = pa.compute.fill_null(pa.compute.equal(column, ""), True)
    if pa.compute.any(missing).as_py():
        place = table.place(first_row + first_true(missing))
        raise InputError(f"{place}, column {name}: the value is missing", "remove such rows, or give them a value")
    return column


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode("utf8")
    except UnicodeDecodeError:
        return False
    return True


def _try_to_parse(column: Any, kind: Any, decimal: str) -> Any:
    """The column as this type, or ``None`` if a value does not fit it. Blanks around a value are allowed."""
    pa = pyarrow()
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


def is_text(kind: Any) -> bool:
    """Whether this is a type of texts."""
    types = pyarrow().types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


CAST_SCORES = "scores are numbers: cast the column to float64"


def as_numbers(column: Any, name: str, remedy: Words = CAST_SCORES) -> Any:
    """An Arrow array of numbers that NumPy has; decimals become doubles."""
    types, kind = pyarrow().types, column.type
    if types.is_decimal(kind):
        return doubles_of_decimals(column)
    if types.is_null(kind):
        return column.cast(pyarrow().float64())
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        raise InputTypeError(f"{name} holds {kind}, not numbers", remedy)
    return column


def scores_of(column: Any, name: str) -> Array:
    """float32 or float64, NaN for nulls."""
    numbers = np.asarray(as_numbers(column, name).to_numpy(zero_copy_only=False))
    return numbers if numbers.dtype in (np.float32, np.float64) else numbers.astype(np.float64)


def weights_of(column: Any, name: str) -> Int64s:
    """int64, 0 for nulls; real weights are refused, as counts do not add up to their sums."""
    pa, kind = pyarrow(), column.type
    whole = has_whole(kind)
    if pa.types.is_floating(kind) or (pa.types.is_decimal(kind) and not whole):
        raise real_weights(name, kind)
    if not whole and not pa.types.is_null(kind):
        raise InputTypeError(f"{name} holds {kind}, not whole numbers")
    return np.asarray(integers_of(column, name).fill_null(0).to_numpy(zero_copy_only=False), np.int64)


def has_whole(kind: Any) -> bool:
    """Whether a type holds whole numbers alone."""
    types = pyarrow().types
    return bool(types.is_integer(kind) or types.is_boolean(kind) or (types.is_decimal(kind) and kind.scale <= 0))


def integers_of(weights: Any, name: str) -> Any:
    """Whole weights as int64."""
    pa = pyarrow()
    try:
        return weights.cast(pa.int64())
    except pa.ArrowInvalid:
        least = pa.compute.min(weights).as_py()
        raise (negative_weights(name, least) if least < -MOST_SAMPLES else too_many_samples(name)) from None


def negative_weights(name: str, least: int | Decimal) -> InputError:
    """The error of a weight so far below 0 that it is not counted with the other bad rows, as doubles do not hold it."""
    return InputError(f"{name} is negative (such as {least}); remove such rows")


def real_weights(name: str, kind: object) -> InputTypeError:
    """The error of weights other than counts."""
    return InputTypeError(
        f"{name} holds {kind}, real weights, and here weights are counts of equal rows: give whole numbers as integers "
        "(BIGINT); for importance weights read the columns, and pass sample_weight= in memory"
    )


def with_integers(keys: Any) -> Any:
    """Decimals without places as integers, where 64 bits hold them: DuckDB's sum of integers comes as such."""
    pa = pyarrow()
    try:
        return keys.cast(pa.int64()) if pa.types.is_decimal(keys.type) and has_whole(keys.type) else keys
    except pa.ArrowInvalid:
        return keys


def check_segments(column: Any, name: str) -> None:
    """Refuse a column of a type that keys of segments cannot have, as an engine that is asked for them does."""
    types, kind = pyarrow().types, getattr(column.type, "value_type", column.type)  # of categories, that of their values
    if not (types.is_integer(kind) or is_text(kind) or types.is_null(kind)):
        raise bad_segments(name, kind)


def bad_segments(name: str, kind: object) -> InputTypeError:
    """The error of keys of segments that are neither integers nor texts."""
    return InputTypeError(f"segment is {name!r}, a column of type {kind}; segments are integers or texts")


def sum_of(weights: Int64s) -> int:
    """The sum of weights that are not negative, exact."""
    # The greatest tells first, as the sum may not fit into 64 bits.
    fits = len(weights) == 0 or int(weights.max()) <= MOST_SAMPLES // len(weights)
    return int(weights.sum()) if fits else sum(weights.tolist())


def coded(column: Any, name: str) -> tuple[list[Any], Int64s]:
    """The different values of an Arrow array, None among them, and the number of each row's."""
    pa = pyarrow()
    try:
        if pa.types.is_interval(column.type):  # a month and 30 days are one value in DuckDB, and two here
            raise pa.ArrowNotImplementedError
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    except pa.ArrowNotImplementedError:
        raise InputTypeError(f"{name} holds {column.type}, whose values are not compared; cast the column to text") from None
    values = [*encoded.dictionary.to_pylist(), None]
    codes = encoded.indices.fill_null(len(values) - 1)
    return values, np.asarray(codes.to_numpy(zero_copy_only=False)).astype(np.int64)


def column_of(batch: Any, name: str) -> Any:
    """A column of a record batch, by its name; categories of it as the values that they stand for."""
    return as_plain(batch.column(batch.schema.get_field_index(name)))
