"""The values of the JSON of models, one kind each: how it is written, and read strictly.

Reading trusts nothing. What is of another type, loses a digit or is out of its range is refused with its place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fastbin._errors import FormatError

# Beyond, programs that keep every number as a double lose digits: such integers are written as text.
EXACT = 2**53

DECIMAL = re.compile(r"(?:0|-?[1-9][0-9]*)\Z")
KEY = re.compile(r"[0-9a-f]{16}\Z")
HEXADECIMAL = re.compile(r"(?:[0-9a-f]{2})+\Z")


class Kind(NamedTuple):
    """`write` makes what JSON has of a value; `read` makes the value again, and is told the place, for its refusal."""

    write: Callable[[Any], Any]
    read: Callable[[Any, str], Any]


def refused(place: str, value: Any, expected: str) -> FormatError:
    """The error for a value that is not what stands there."""
    found = {dict: "an object", list: "a list", type(None): "null", bool: str(value).lower()}.get(type(value), repr(value))
    return FormatError(f"{place} is {found if len(found) <= 60 else found[:57] + '...'}; {expected} is expected")


def _read_number(value: Any, place: str) -> float:
    if type(value) is float and math.isfinite(value):
        return value
    if type(value) is int and abs(value) <= EXACT:  # 1 for 1.0, as some programs write it
        return float(value)
    raise refused(place, value, "a finite number")


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


def _read_bytes(value: Any, place: str) -> bytes:
    if isinstance(value, str) and HEXADECIMAL.match(value):
        return bytes.fromhex(value)
    raise refused(place, value, "a text of lower-case hexadecimal digits, two for each byte,")


def _read_list(value: Any, place: str) -> list[Any]:
    """A list."""
    if not isinstance(value, list):
        raise refused(place, value, "a list")
    return value


def read_object(value: Any, place: str, members: dict[str, Kind], optional: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The members of an object, by their kinds: no other, and all that are not optional. Place "": the whole text."""
    here, within = place or "the text", f"{place}." if place else ""
    if not isinstance(value, dict):
        raise refused(here, value, "an object")
    for name in value:
        if name not in members:
            raise FormatError(f"{here} has a member {name!r}, which this version of fastbin does not know")
    for name in members:
        if name not in value and name not in optional:
            raise FormatError(f"{here} has no member {name!r}")
    return {name: kind.read(value[name], within + name) for name, kind in members.items() if name in value}


def unbounded(infinity: float) -> Kind:
    """A number, or null for this infinity."""
    return Kind(
        lambda value: None if value == infinity else float(value),
        lambda value, place: infinity if value is None else _read_number(value, place),
    )


def list_of(kind: Kind, dtype: Any = None) -> Kind:
    """A list of values of one kind; with a dtype, an array."""

    def read(value: Any, place: str) -> Any:
        entries = [kind.read(each, f"{place}[{i}]") for i, each in enumerate(_read_list(value, place))]
        return entries if dtype is None else _array(entries, place, dtype)

    def write(values: Any) -> list[Any]:
        return [kind.write(each) for each in (values.tolist() if isinstance(values, np.ndarray) else values)]

    return Kind(write, read)


def rows_of(kind: Kind, width: int, dtype: Any) -> Kind:
    """A list of lists of so many values, an array of two dimensions."""

    def read_row(value: Any, place: str) -> list[Any]:
        row = _read_list(value, place)
        if len(row) != width:
            raise FormatError(f"{place} has {len(row)} entries; {width} are expected")
        return [kind.read(each, f"{place}[{i}]") for i, each in enumerate(row)]

    def read(value: Any, place: str) -> Any:
        rows = [read_row(each, f"{place}[{i}]") for i, each in enumerate(_read_list(value, place))]
        return _array(rows, place, dtype).reshape(-1, width)

    return Kind(lambda rows: [[kind.write(each) for each in row] for row in rows.tolist()], read)


def _array(entries: list[Any], place: str, dtype: Any) -> Any:
    """Checked here, as NumPy 1 wraps integers around."""
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        for each in entries if not entries or not isinstance(entries[0], list) else (each for row in entries for each in row):
            if not limits.min <= each <= limits.max:
                raise FormatError(f"{place} has an entry {each}, which {limits.bits} bits do not hold")
    return np.array(entries, dtype)


NUMBER = Kind(float, _read_number)
INTEGER = Kind(lambda value: int(value) if abs(int(value)) <= EXACT else str(int(value)), _read_integer)
DECIMAL_TEXT = Kind(str, _read_decimal)
KEY_TEXT = Kind(lambda key: f"{int(key):016x}", _read_key)
TEXT = Kind(str, _read_text)
BYTES = Kind(bytes.hex, _read_bytes)
