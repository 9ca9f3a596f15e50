"""The column of labels: numbers, true and false, or two values of which one is the positive one."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from fastbin._errors import InputError, Words, joined
from fastbin._typing import Array, Bools
from fastbin._validation import SAY_POSITIVE
from fastbin.io.base import Table, arrow, as_plain
from fastbin.io.parsing import MISSING, as_number, doubles_of_decimals, first_true, read_numbers


class Labels:
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

    Attributes
    ----------
    other : object
        The value that counts as 0, or ``None`` before the first row that has it.
    """

    def __init__(self, table: Table, name: str, positive: Any) -> None:
        self._table, self._name, self._positive = table, name, positive
        self.other: Any = None
        self._has_positive = False

    def check_positive(self) -> None:
        """After the last chunk: refuse a positive value that no row has."""
        if self._positive is not None and not self._has_positive and self.other is not None:
            raise InputError(
                f"{self._table.path}, column {self._name}: no label is {self._positive!r}, all are {self.other.as_py()!r}"
            )

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
        pa = arrow()
        values, positive = self._values(as_plain(column), first_row)
        if values.null_count:
            row = first_row + first_true(values.is_null())
            raise InputError(f"{self._table.place(row)}, column {self._name}: the label is missing; remove such rows first")
        ones = pa.compute.equal(values, pa.scalar(positive, values.type)).to_numpy(zero_copy_only=False)
        self._has_positive = self._has_positive or bool(ones.any())
        others = pa.compute.filter(values, pa.array(~ones))
        if len(others):
            self.other = others[0] if self.other is None else self.other
            third = pa.compute.not_equal(values, self.other).to_numpy(zero_copy_only=False) & ~ones
            if third.any():
                row = int(np.argmax(third))
                raise InputError(
                    f"{self._table.place(first_row + row)}, column {self._name}: {values[row].as_py()!r} is neither "
                    f"{pa.scalar(positive, values.type).as_py()!r} nor {self.other.as_py()!r}; labels have two values"
                )
        return np.asarray(ones, np.bool_)

    def _values(self, column: Any, first_row: int) -> tuple[Any, Any]:
        """The column and the positive value in a type in which they can be compared."""
        pa = arrow()
        kind, text = column.type, str(self._positive)
        if pa.types.is_boolean(kind):
            if text.lower() not in ("true", "false"):
                raise InputError(f"{self._table.path}, column {self._name}: holds true and false, of which {text!r} is neither")
            return column, text.lower() == "true"
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            number = as_number(text)
            if number is None:
                raise InputError(f"{self._table.path}, column {self._name}: holds numbers, and {text!r} is none")
            numbers = doubles_of_decimals(column) if pa.types.is_decimal(kind) else column.cast(pa.float64())
            return pa.compute.if_else(pa.compute.is_nan(numbers), None, numbers), number
        if pa.types.is_binary(kind) and self._table.is_text and isinstance(self._positive, (Real, np.bool_)):
            numbers = read_numbers(self._table, self._name, column, first_row, propagate=True)
            return pa.array(numbers.astype(np.float64), from_pandas=True), float(self._positive)
        if pa.types.is_binary(kind) and self._table.is_text:
            words = pa.compute.ascii_trim_whitespace(column.cast(pa.string(), safe=False))
            missing = pa.compute.is_in(words, value_set=pa.array([each.decode() for each in MISSING if each.decode() != text]))
            words = pa.compute.if_else(missing, None, words)
            return (words, text) if as_number(text) is None else (_plain_numbers(words), _plain_number(text))
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return column, text
        raise InputError(f"{self._table.path}, column {self._name}: holds {kind}, not labels")


def _say_positive(column: Any, most: int = 3) -> Words:
    """The remedy for labels that are not numbers; it names a few of them, in the order in which they come."""
    values = arrow().compute.unique(as_plain(column).drop_null()).to_pylist()[:most]
    texts = (value.decode("utf8", errors="replace") if isinstance(value, bytes) else value for value in values)
    return joined(f"the labels are {' and '.join(map(repr, texts))}", SAY_POSITIVE)


def _plain_number(text: str | None) -> str | None:
    """A text; of a number, in one of the ways in which it can be written: "2" for "2.0"."""
    number = None if text is None else as_number(text)
    if number is None:
        return text
    return str(int(number)) if number.is_integer() else repr(number)


def _plain_numbers(words: Any) -> Any:
    """The same of an Arrow array."""
    coded = words.dictionary_encode()
    plain = arrow().array([_plain_number(text) for text in coded.dictionary.to_pylist()], arrow().string())
    return plain.take(coded.indices)
