"""Values as JSON has them: how each kind is written, and how it is read back or refused with its place.

Reading trusts nothing: what is of another type, loses a digit or is out of its range is refused.
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


def _read_text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise refused(place, value, "a text")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise FormatError(f"{place} holds half of a surrogate pair, which does not stand for a character")
    return value


def _read_word(value: Any, place: str) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_WORD:
        raise refused(place, value, "a text" if not isinstance(value, str) else "a word of the schema")
    return value


def _whole(value: Any) -> int | None:
    """The integer of at most 64 bits in a text of decimal digits."""
    return int(value) if isinstance(value, str) and len(value) <= 20 and DECIMAL.match(value) else None


def _integer(value: Any) -> int | None:
    if type(value) is int:
        return value if abs(value) <= EXACT else None
    whole = _whole(value)
    return whole if whole is not None and abs(whole) > EXACT else None


def _decimal(value: Any) -> int | None:
    whole = _whole(value)
    return whole if whole is not None and -(2**63) <= whole < 2**63 else None


def _is_hexadecimal(text: str) -> bool:
    return len(text) % 2 == 0 and HEXADECIMAL.match(text) is not None


def _simple(write: Callable[[Any], Any], read: Callable[[Any], Any], expected: str) -> JsonKind:
    """A value that has one form; `read` gives None for any other."""

    def checked(value: Any, place: str) -> Any:
        made = read(value)
        if made is None:
            raise refused(place, value, expected)
        return made

    return JsonKind(write, checked)


FLAG = _simple(bool, lambda value: value if isinstance(value, bool) else None, "true or false")
NUMBER, TEXT, WORD = JsonKind(float, _read_number), JsonKind(str, _read_text), JsonKind(str, _read_word)
INTEGER = _simple(
    lambda value: int(value) if abs(int(value)) <= EXACT else str(int(value)),
    _integer, "an integer, as a text beyond 2**53,",
)  # fmt: skip
DECIMAL_TEXT = _simple(str, _decimal, "a text of the decimal digits of an integer of 64 bits")
KEY_TEXT = _simple(
    lambda key: f"{int(key):016x}",
    lambda value: int(value, 16) if isinstance(value, str) and KEY.match(value) else None,
    "a text of 16 lower-case hexadecimal digits",
)
BYTES = _simple(
    bytes.hex, lambda value: bytes.fromhex(value) if isinstance(value, str) and _is_hexadecimal(value) else None,
    "a text of lower-case hexadecimal digits, two for each byte,",
)  # fmt: skip


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


def list_of(kind: JsonKind, dtype: Any = None, width: int = 0) -> JsonKind:
    """A list of values of one kind; with a dtype, an array; with a width, a list of lists of so many, of two dimensions."""

    def given(value: Any, place: str) -> list[Any]:
        if not isinstance(value, list):
            raise refused(place, value, "a list")
        return value

    def row(value: Any, place: str) -> list[Any]:
        if len(given(value, place)) != width:
            raise FormatError(f"{place} has {len(value)} entries; {width} are expected")
        return [kind.read(each, f"{place}[{i}]") for i, each in enumerate(value)]

    def read(value: Any, place: str) -> Any:
        n = len(given(value, place))
        if width:
            entries = (entry for i, each in enumerate(value) for entry in row(each, f"{place}[{i}]"))
            return _array(entries, width * n, place, dtype).reshape(-1, width)
        entries = (kind.read(each, f"{place}[{i}]") for i, each in enumerate(value))
        return list(entries) if dtype is None else _array(entries, n, place, dtype)

    def write(values: Any) -> list[Any]:
        plain = values.tolist() if isinstance(values, np.ndarray) else values
        return [[kind.write(each) for each in row] if width else kind.write(row) for row in plain]

    return JsonKind(write, read)


def record_of(made: type[Any], members: dict[str, JsonKind]) -> JsonKind:
    """A named tuple as an object with these members, in their order."""
    return JsonKind(
        lambda record: {name: kind.write(each) for (name, kind), each in zip(members.items(), record, strict=True)},
        lambda value, place: made(*read_object(value, place, members).values()),
    )


def _array(entries: Iterable[Any], n_entries: int, place: str, dtype: Any) -> Any:
    """An array, without a second list of its entries. Integers are checked here, as NumPy 1 wraps them around."""
    limits = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else None

    def checked() -> Iterator[Any]:
        for each in entries:
            if limits is not None and not limits.min <= each <= limits.max:
                raise FormatError(f"{place} has an entry {each}, which {limits.bits} bits do not hold")
            yield each

    return np.fromiter(checked(), dtype, n_entries)
