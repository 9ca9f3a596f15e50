"""The column of labels: numbers, true and false, or two values of which one is the positive one."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastbin._errors import InputError
from fastbin._typing import Array, Bools
from fastbin.io.base import Table, arrow, as_plain
from fastbin.io.parsing import MISSING, as_number, doubles_of_decimals, first_true, read_numbers


class Labels:
    """One reading of the column of labels, chunk by chunk.

    Parameters
    ----------
    table : Table
    name : str
        The column.
    positive : str, optional
        The value that counts as 1, as it is written in a text file; one other value counts as 0, and a third is an error. In a
        column of numbers it is compared as a number. ``None`` for labels that are 0 and 1, or true and false.

    Attributes
    ----------
    other : object
        The value that counts as 0, or ``None`` before the first row that has it.
    """

    def __init__(self, table: Table, name: str, positive: str | None) -> None:
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
        try:
            numbers = read_numbers(self._table, self._name, column, first_row)
        except InputError as error:
            if "neither a number" not in str(error) and "not numbers" not in str(error):
                raise
            raise InputError(f"{error}; where labels are two other values, give --positive VALUE") from None
        ones = numbers == 1
        return ones if (ones | (numbers == 0)).all() else numbers

    def _compare(self, column: Any, first_row: int) -> Bools:
        pa = arrow()
        values, positive = self._values(as_plain(column))
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

    def _values(self, column: Any) -> tuple[Any, Any]:
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
        if pa.types.is_binary(kind) and self._table.is_text:
            words = pa.compute.ascii_trim_whitespace(column.cast(pa.string(), safe=False))
            missing = pa.compute.is_in(words, value_set=pa.array([each.decode() for each in MISSING if each.decode() != text]))
            return pa.compute.if_else(missing, None, words), text
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return column, text
        raise InputError(f"{self._table.path}, column {self._name}: holds {kind}, not labels")
