"""The column of labels: numbers, true and false, or two values of which one is the positive one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from fastbin._base.array_types import Array, Bools, Int64s
from fastbin._base.checks import SAY_POSITIVE, Labels, is_missing
from fastbin._base.errors import InputError, Words, joined
from fastbin.io.base import Table, arrow, as_plain
from fastbin.io.parsing import MISSING, as_number, coded, read_numbers


class LabelReader:
    """One reading of the column of labels, chunk by chunk.

    Parameters
    ----------
    table : Table
    name : str
        The column.
    positive : optional
        The value that counts as 1; one other value counts as 0, and a third is an error. What is a number, or is written as
        one, is compared with numbers as a number, in a text file too; true and false are 1 and 0 where it is a number. ``None``
        for labels that are 0 and 1, or true and false.
    """

    def __init__(self, table: Table, name: str, positive: Any) -> None:
        self._table, self._name, self._positive = table, name, positive
        self._seen: Labels | None = None  # from the first chunk on, which says the type

    def check_positive(self) -> None:
        """After the last chunk: refuse a positive value that no row has."""
        if self._seen is not None and self._seen.lacks_positive:
            raise self._error(f"no label is {self._positive!r}, all are {self._seen.zeros[0]!r}")

    def read(self, column: Any, first_row: int) -> Array:
        """The labels in a chunk of the column, an Arrow array that starts at this row of the table.

        They are bool, unless some are neither 0 nor 1: the fit refuses these, and needs their values for its message.
        """
        if self._positive is not None:
            return self._compare(column, first_row)
        numbers = read_numbers(self._table, self._name, column, first_row, remedy=lambda: _say_positive(column))
        ones = numbers == 1
        return ones if (ones | (numbers == 0)).all() else numbers

    def _compare(self, column: Any, first_row: int) -> Bools:
        positive, plain = self._comparison(column.type)
        if plain is float and self._is_text(column.type):
            column = arrow().array(read_numbers(self._table, self._name, column, first_row, propagate=True))
        values, codes = coded(column)
        values = [None if value is None else plain(value) for value in values]
        seen = self._seen = self._seen or Labels(positive)
        ones = seen.read(values, codes)
        if seen.n_null or seen.n_nan:
            row = _first_row([is_missing(value) for value in values], codes)
            raise self._error("the label is missing; remove such rows first", first_row + row)
        if seen.n_strange:
            zero, third = seen.zeros[:2]
            row = _first_row([value == third for value in values], codes)
            raise self._error(f"{third!r} is neither {positive!r} nor {zero!r}; labels have two values", first_row + row)
        return ones

    def _is_text(self, kind: Any) -> bool:
        return self._table.is_text and bool(arrow().types.is_binary(kind))

    def _comparison(self, kind: Any) -> tuple[Any, Callable[[Any], Any]]:
        """The positive value, and what makes values of a column of this type such as can be compared with it."""
        types, text = arrow().types, str(self._positive)
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

    def _error(self, complaint: str, row: int | None = None) -> InputError:
        """An error about the column, or about one of its rows."""
        place = self._table.path if row is None else self._table.place(row)
        return InputError(f"{place}, column {self._name}: {complaint}")


def _first_row(is_so: list[bool], codes: Int64s) -> int:
    """The first row whose value is one of these."""
    return int(np.argmax(np.array(is_so)[codes]))


def _say_positive(column: Any, most: int = 3) -> Words:
    """The remedy for labels that are not numbers; it names a few of them, in the order in which they come."""
    values = arrow().compute.unique(as_plain(column).drop_null()).to_pylist()[:most]
    texts = (value.decode("utf8", errors="replace") if isinstance(value, bytes) else value for value in values)
    return joined(f"the labels are {' and '.join(map(repr, texts))}", SAY_POSITIVE)


def _word(text: bytes, positive: str, is_number: bool) -> str | None:
    """A field of a text file; ``None`` where it stands for a missing value, if it is not the positive one."""
    word = text.strip()
    if word in MISSING and word.decode() != positive:
        return None
    decoded = word.decode("utf8", errors="surrogateescape")
    return _plain_number(decoded) if is_number else decoded


def _plain_number(text: str) -> str:
    """A text; of a number, in one of the ways in which it can be written: "2" for "2.0"."""
    number = as_number(text)
    if number is None:
        return text
    return str(int(number)) if number.is_integer() else repr(number)
