"""The values of the JSON of models, one kind each: how it is written, and read strictly.

Reading trusts nothing. What is of another type, loses a digit or is out of its range is refused with its place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.errors import FormatError

# Beyond, programs that keep every number as a double lose digits: such integers are written as text.
EXACT = 2**53

DECIMAL = re.compile(r"(?:0|-?[1-9][0-9]*)\Z")
KEY = re.compile(r"[0-9a-f]{16}\Z")
HEXADECIMAL = re.compile(r"[0-9a-f]+\Z")  # by single digits, as a repeated group takes memory for each repetition

LONGEST_WORD = 64  # a digest; the words of the schema are shorter
MOST_SHOWN = 60  # characters of a value in a message


class JsonKind(NamedTuple):
    """`write` makes what JSON has of a value; `read` makes the value again, and is told the place, for its refusal."""

    write: Callable[[Any], Any]
    read: Callable[[Any, str], Any]


def refused(place: str, value: Any, expected: str) -> FormatError:
    """The error for a value that is not what stands there."""
    return FormatError(f"{place} is {shown(value)}; {expected} is expected")


def shown(value: Any) -> str:
    """A value in words, however large it is or deeply nested."""
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    text = repr(value[:MOST_SHOWN] if isinstance(value, str) else value)
    is_whole = len(text) <= MOST_SHOWN and not (isinstance(value, str) and len(value) > MOST_SHOWN)
    return text if is_whole else text[: MOST_SHOWN - 3] + "..."


def _read_number(value: Any, place: str) -> float:
    if type(value) is float and math.isfinite(value) and (value or math.copysign(1.0, value) > 0.0):
        return value
    if type(value) is int and abs(value) <= EXACT:  # 1 for 1.0, as some programs write it
        return float(value)
    raise refused(place, value, "a finite number" if value != 0 else "0.0")


def _read_integer(value: Any, place: str) -> int:
    if type(value) is int and abs(value) <= EXACT:
        return value
    if isinstance(value, str) and len(value) <= 20 and DECIMAL.match(value) and abs(int(value)) > EXACT:
        return int(value)
    raise refused(place, value, "an integer, as a text beyond 2**53,")


def _read_decimal(value: Any, place: str) -> int:
    if isinstance(value, str) and len(value) <= 20 and DECIMAL.match(value) and -(2**63) <= int(value) < 2**63:
        return int(value)
    raise refused(place, value, "a text of the decimal digits of an integer of 64 bits")


def _read_key(value: Any, place: str) -> int:
    if isinstance(value, str) and KEY.match(value):
        return int(value, 16)
    raise refused(place, value, "a text of 16 lower-case hexadecimal digits")


def _read_text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise refused(place, value, "a text")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise FormatError(f"{place} holds half of a surrogate pair, which is no character")
    return value


def _read_word(value: Any, place: str) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_WORD:
        raise refused(place, value, "a text" if not isinstance(value, str) else "a word of the schema")
    return value


def _read_bytes(value: Any, place: str) -> bytes:
    if isinstance(value, str) and len(value) % 2 == 0 and HEXADECIMAL.match(value):
        return bytes.fromhex(value)
    raise refused(place, value, "a text of lower-case hexadecimal digits, two for each byte,")


def _read_list(value: Any, place: str) -> list[Any]:
    """A list."""
    if not isinstance(value, list):
        raise refused(place, value, "a list")
    return value


def read_object(value: Any, place: str, members: dict[str, JsonKind], optional: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The members of an object, by their kinds: no other, and all that are not optional. Place "": the whole text."""
    here, within = place or "the text", f"{place}." if place else ""
    if not isinstance(value, dict):
        raise refused(here, value, "an object")
    for name in value:
        if name not in members:
            raise FormatError(f"{here} has a member {shown(name)}, which this version of fastbin does not know")
    for name in members:
        if name not in value and name not in optional:
            raise FormatError(f"{here} has no member {name!r}")
    return {name: kind.read(value[name], within + name) for name, kind in members.items() if name in value}


def unbounded(infinity: float) -> JsonKind:
    """A number, or null for this infinity."""
    return JsonKind(
        lambda value: None if value == infinity else float(value),
        lambda value, place: infinity if value is None else _read_number(value, place),
    )


def list_of(kind: JsonKind, dtype: Any = None) -> JsonKind:
    """A list of values of one kind; with a dtype, an array."""

    def read(value: Any, place: str) -> Any:
        given = _read_list(value, place)
        entries = (kind.read(each, f"{place}[{i}]") for i, each in enumerate(given))
        return list(entries) if dtype is None else _array(entries, len(given), place, dtype)

    def write(values: Any) -> list[Any]:
        return [kind.write(each) for each in (values.tolist() if isinstance(values, np.ndarray) else values)]

    return JsonKind(write, read)


def rows_of(kind: JsonKind, width: int, dtype: Any) -> JsonKind:
    """A list of lists of so many values, an array of two dimensions."""

    def read_row(value: Any, place: str) -> list[Any]:
        row = _read_list(value, place)
        if len(row) != width:
            raise FormatError(f"{place} has {len(row)} entries; {width} are expected")
        return [kind.read(each, f"{place}[{i}]") for i, each in enumerate(row)]

    def read(value: Any, place: str) -> Any:
        given = _read_list(value, place)
        entries = (entry for i, each in enumerate(given) for entry in read_row(each, f"{place}[{i}]"))
        return _array(entries, width * len(given), place, dtype).reshape(-1, width)

    return JsonKind(lambda rows: [[kind.write(each) for each in row] for row in rows.tolist()], read)


def _array(entries: Iterable[Any], n_entries: int, place: str, dtype: Any) -> Any:
    """An array, without a second list of its entries. Integers are checked here, as NumPy 1 wraps them around."""
    limits = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else None

    def checked() -> Iterator[Any]:
        for each in entries:
            if limits is not None and not limits.min <= each <= limits.max:
                raise FormatError(f"{place} has an entry {each}, which {limits.bits} bits do not hold")
            yield each

    return np.fromiter(checked(), dtype, n_entries)


NUMBER = JsonKind(float, _read_number)
INTEGER = JsonKind(lambda value: int(value) if abs(int(value)) <= EXACT else str(int(value)), _read_integer)
DECIMAL_TEXT = JsonKind(str, _read_decimal)
KEY_TEXT = JsonKind(lambda key: f"{int(key):016x}", _read_key)
TEXT = JsonKind(str, _read_text)
WORD = JsonKind(str, _read_word)
BYTES = JsonKind(bytes.hex, _read_bytes)
