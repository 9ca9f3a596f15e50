"""The labels of a table, by 0 and 1 or by two other values; and bad rows: the number of each kind, and the one error for all.

Files are refused at the first bad row, with its place; tables of engines at the end, with the number of bad rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from numbers import Real
from typing import Any, NamedTuple, NoReturn

import numpy as np

from fastbin._base.array_types import Array, Bools, Int64s
from fastbin._base.checks import SAY_POSITIVE, Labels, ScoreRange, is_missing, refuse_words
from fastbin._base.errors import InputError, Words, by_name, joined
from fastbin.tables.columns import MISSING_WORDS, as_number, as_numbers, as_text, coded, is_text, read_numbers
from fastbin.tables.table import Table, as_plain, pyarrow

# What can be wrong with a value; OUTSIDE and the labels are completed by `outside` and `strange_label`.
MISSING, NAN, INFINITE, NEGATIVE = "NULL", "NaN", "infinite", "negative"

_FILTER = "leave such rows out of the table first"
_RANGE = "pass a calibrator with score_range=None where scores are not probabilities"
_LABEL: Words = "where labels are two other values, ", SAY_POSITIVE


class Fault(NamedTuple):
    """One kind of fault in one column."""

    column: str
    what: str  # such as "NULL"
    n_rows: int
    example: Any = None  # a value that has it, where one is known

    @property
    def shown(self) -> str:
        """The example, for a message."""
        return "" if self.example is None else f" (such as {self.example!r})"


def outside(score_range: ScoreRange) -> str:
    """The words for finite scores beyond the range."""
    low, high = score_range or (float("-inf"), float("inf"))
    return f"outside [{low:g}, {high:g}]"


def strange_label(positive: Any = None, other: Any = None) -> str:
    """The words for labels that are none of the two."""
    return "neither 0 nor 1" if positive is None else f"neither {positive!r} nor {other!r}"


def refuse(faults: Iterable[Fault], n_rows: int) -> NoReturn:
    """Raise for the bad ones of so many rows; at least one of the faults has rows."""
    found = [fault for fault in faults if fault.n_rows]
    assert found, "rows were refused, and none is bad"
    told = [f"{fault.column} is {fault.what} in {fault.n_rows:,}{fault.shown}" for fault in found]
    remedies = dict.fromkeys(_remedy(fault.what) for fault in found)
    raise InputError(f"of {n_rows:,} rows, {', '.join(told)}", joined(*remedies))


def _remedy(what: str) -> Words:
    if what.startswith("outside"):
        return _RANGE
    return _LABEL if what == strange_label() else _FILTER


def needs_rows(who: str, why: str) -> InputError:
    """The error of a calibrator that counts do not decide; `why` is what it says of itself."""
    return InputError(f"{who} asked for counts alone: {why}")


def no_samples(name: str | None) -> InputError:
    """The error of weights that are all 0."""
    return InputError(f"weight is {name!r}, which is 0 for every row; a calibrator needs samples")


# ------------------------------------------------------------------------------------------------- labels of files


class LabelReader:
    """One reading of the column of labels, chunk by chunk.

    Without `positive` labels are 0 and 1, or true and false. A `positive` that is a number, or is written as one, is compared
    with numbers as a number, in a text file too; true and false are 1 and 0 where it is a number. `event` is the label that a
    model gives the probability of, for the remedy alone: it is not taken unsaid.
    """

    def __init__(self, table: Table, name: str, positive: Any, event: str = "") -> None:
        self._table, self._name, self._positive, self._event = table, name, positive, event
        self._seen: Labels | None = None  # from the first chunk on, which says the type

    def check_positive(self) -> None:
        """After the last chunk: refuse a positive value that no row has."""
        if self._seen is not None and self._seen.lacks_positive:
            raise self._error(
                f"no label is {self._positive!r}, all are {self._seen.zeros[0]!r}", remedy=self._seen.say_positive
            )

    def read(self, column: Any, first_row: int) -> Array:
        """The labels in a chunk of the column, an Arrow array that starts at this row of the table.

        They are bool, unless some are neither 0 nor 1: the fit refuses these, and needs their values for its message.
        """
        if self._positive is not None:
            return self._compare(column, first_row)
        numbers = read_numbers(self._table, self._name, column, first_row, remedy=lambda: _say_positive(column, self._event))
        ones = numbers == 1
        return ones if (ones | (numbers == 0)).all() else numbers

    def _compare(self, column: Any, first_row: int) -> Bools:
        positive, plain = self._comparison(column.type)
        if plain is float and self._is_text(column.type):
            column = pyarrow().array(read_numbers(self._table, self._name, column, first_row, propagate=True))
        words, codes = coded(column, self._name)
        try:
            values = [None if word is None else plain(word) for word in words]
        except UnicodeDecodeError:  # told with its row
            as_text(self._table, self._name, column, first_row)
            raise
        seen = self._seen = self._seen or Labels(positive)
        ones = seen.read(values, codes)
        if seen.n_null or seen.n_nan:
            row = _first_row([is_missing(value) for value in values], codes)
            raise self._error("the label is missing; remove such rows first", first_row + row)
        if seen.n_strange:
            zero, third = seen.zeros[:2]
            row = first_row + _first_row([value == third for value in values], codes)
            if not seen.ones:
                complaint = f"no label up to here is {positive!r}: they are {seen.shown_zeros}"
                raise self._error(complaint, row, remedy=seen.say_positive)
            raise self._error(f"{third!r} is neither {positive!r} nor {zero!r}; labels have two values", row)
        return ones

    def _is_text(self, kind: Any) -> bool:
        return self._table.is_text and bool(pyarrow().types.is_binary(kind))

    def _comparison(self, kind: Any) -> tuple[Any, Callable[[Any], Any]]:
        """The positive value, and what makes values of a column of this type such as can be compared with it."""
        types, text = pyarrow().types, str(self._positive)
        kind = kind.value_type if types.is_dictionary(kind) else kind
        if types.is_boolean(kind):
            if text.lower() not in ("true", "false"):
                raise self._error(f"holds true and false, of which {text!r} is neither")
            return text.lower() == "true", bool
        if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
            number = as_number(text)
            if number is None:
                raise self._error(f"holds numbers, and {text!r} is none")
            return number, float
        if self._is_text(kind) and isinstance(self._positive, (Real, np.bool_)):
            return float(self._positive), float
        if self._is_text(kind):
            is_number = as_number(text) is not None
            return _plain_number(text) if is_number else text, partial(_word, positive=text, is_number=is_number)
        if types.is_string(kind) or types.is_large_string(kind):
            return text, str
        raise self._error(f"holds {kind}, not labels")

    def _error(self, complaint: str, row: int | None = None, remedy: Words = "") -> InputError:
        """An error about the column, or about one of its rows."""
        place = self._table.path if row is None else self._table.place(row)
        return InputError(f"{place}, column {self._name}: {complaint}", remedy)


def _first_row(is_so: list[bool], codes: Int64s) -> int:
    """The first row whose value is one of these."""
    return int(np.argmax(np.array(is_so)[codes]))


def _say_positive(column: Any, event: str) -> Words:
    """The remedy for labels that are not numbers; it names a few of them, as they come, and an event among them."""
    values = pyarrow().compute.unique(as_plain(column).drop_null()).to_pylist()[:3]
    texts = [value.decode("utf8", errors="replace") if isinstance(value, bytes) else value for value in values]
    if len(values) > 2:
        return f"the labels are {' and '.join(map(repr, texts))}: make a column of 0 and 1 of them, one class against others"
    named = f"the model gives the probability of {event!r}: pass ", by_name("positive", event)
    return joined(f"the labels are {' and '.join(map(repr, texts))}", named if event in texts else SAY_POSITIVE)


def _word(text: bytes, positive: str, is_number: bool) -> str | None:
    """A field of a text file; ``None`` where it stands for a missing value, if it is not the positive one."""
    word = text.strip()
    if word in MISSING_WORDS and word.decode() != positive:
        return None
    decoded = word.decode("utf8")
    return _plain_number(decoded) if is_number else decoded


def _plain_number(text: str) -> str:
    """A text; of a number, in one of the ways in which it can be written: "2" for "2.0"."""
    number = as_number(text)
    if number is None:
        return text
    return str(int(number)) if number.is_integer() else repr(number)


# ------------------------------------------------------------------------------------------------- labels in engines


class LabelColumn:
    """The labels of some rows, and how many rows have which value. What is neither 1 nor 0 is told at the end."""

    def __init__(self, name: str, positive: Any) -> None:
        self._name, self._seen = name, Labels(positive)

    def numbers(self, column: Any) -> Array:
        """Labels of an Arrow array without nulls as an array, whose values are not looked at; without `positive` alone."""
        self._check_type(column)
        return np.asarray(as_numbers(column, self._name, SAY_POSITIVE).to_numpy(zero_copy_only=False))

    def read(self, column: Any) -> Bools:
        """Which labels of an Arrow array are 1."""
        self._check_type(column)
        return self._seen.read(*coded(column, self._name))

    def _check_type(self, column: Any) -> None:
        """Refuse what numbers are not, where labels are numbers."""
        if self._seen.positive is not None or len(column) == column.null_count:
            return
        some = as_plain(column.drop_null()[: 2**16])
        if is_text(some.type):
            refuse_words(some.to_pylist(), self._name)
        as_numbers(some[:0], self._name, SAY_POSITIVE)

    def add_group(self, group: Any) -> None:
        """Count rows that an engine has put into one class; two of the values that are neither are known."""
        if group.label == 1:
            self._seen.add([1 if self._seen.positive is None else self._seen.positive], [group.n_rows])
        elif group.label == 0 and self._seen.positive is None:
            self._seen.add([0], [group.n_rows])
        else:
            several = not is_missing(group.least) and group.least != group.greatest
            self._seen.add([group.least, group.greatest], [group.n_rows - several, int(several)])

    def merge(self, other: LabelColumn) -> None:
        """Add those of other rows."""
        self._seen.merge(other._seen)

    def faults(self) -> list[Fault]:
        """The faults of the labels so far."""
        zero, *strange = self._seen.zeros or [None]
        return [
            Fault(self._name, MISSING, self._seen.n_null),
            Fault(self._name, NAN, self._seen.n_nan),
            Fault(self._name, strange_label(self._seen.positive, zero), self._seen.n_strange, next(iter(strange), None)),
        ]

    @property
    def n_bad(self) -> int:
        """The rows with such labels."""
        return sum(fault.n_rows for fault in self.faults())

    def check_positive(self) -> None:
        """After the last row: refuse a positive value that no row has."""
        self._seen.check_positive(f"labels in {self._name}")
