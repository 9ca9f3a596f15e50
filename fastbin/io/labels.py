"""The column of labels: numbers, true and false, or two values of which one is the positive one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fastbin._errors import InputError
from fastbin.io.base import Table, arrow
from fastbin.io.columns import MISSING, as_number, read_numbers

__all__ = ["Labels"]


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
        The value that counts as 0, once it was seen.
    """

    def __init__(self, table: Table, name: str, positive: str | None) -> None:
        self._table, self._name, self._positive = table, name, positive
        self.other: Any = None
        self._found = False

    def check_positive(self) -> None:
        """Refuse, when all is read, a positive value that never came: it is a mistake, unless all labels are 0."""
        if self._positive is not None and not self._found and self.other is not None:
            raise InputError(
                f"{self._table.path}, column {self._name}: no label is {self._positive!r}, all are {_told(self.other)}"
            )

    def read(self, column: Any, first_row: int) -> npt.NDArray[Any]:
        """The labels in a chunk of the column, an Arrow array that starts at this row of the table."""
        if self._positive is not None:
            return self._compare(column, first_row)
        try:
            return read_numbers(self._table, self._name, column, first_row)
        except InputError as error:
            if "neither a number" not in str(error) and "not numbers" not in str(error):
                raise
            raise InputError(f"{error}; where labels are two other values, give --positive VALUE") from None

    def _compare(self, column: Any, first_row: int) -> npt.NDArray[np.bool_]:
        pa = arrow()
        values, positive = self._values(column)
        if values.null_count:
            row = first_row + int(np.argmax(values.is_null().to_numpy(zero_copy_only=False)))
            raise InputError(f"{self._table.place(row)}, column {self._name}: the label is missing; remove such rows first")
        found = pa.compute.equal(values, pa.scalar(positive, values.type)).to_numpy(zero_copy_only=False)
        self._found = self._found or bool(found.any())
        others = pa.compute.filter(values, pa.array(~found))
        if len(others):
            self.other = others[0] if self.other is None else self.other
            third = pa.compute.not_equal(values, self.other).to_numpy(zero_copy_only=False) & ~found
            if third.any():
                row = int(np.argmax(third))
                raise InputError(
                    f"{self._table.place(first_row + row)}, column {self._name}: {_told(values[row])} is neither "
                    f"{_told(pa.scalar(positive, values.type))} nor {_told(self.other)}; labels have two values"
                )
        return np.asarray(found, np.bool_)

    def _values(self, column: Any) -> tuple[Any, Any]:
        """The column as something that can be compared, and the positive value as the same."""
        pa = arrow()
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        kind, text = column.type, str(self._positive)
        if pa.types.is_boolean(kind):
            if text.lower() not in ("true", "false"):
                raise InputError(f"{self._table.path}, column {self._name}: holds true and false, of which {text!r} is neither")
            return column, text.lower() == "true"
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            number = as_number(text)
            if number is None:
                raise InputError(f"{self._table.path}, column {self._name}: holds numbers, and {text!r} is none")
            numbers = column.cast(pa.float64())
            return pa.compute.if_else(pa.compute.is_nan(numbers), None, numbers), number
        if pa.types.is_binary(kind) and self._table.is_text:
            words = column.cast(pa.string(), safe=False)
            words = pa.compute.ascii_trim_whitespace(words)
            missing = pa.compute.is_in(words, value_set=pa.array([each.decode() for each in MISSING if each.decode() != text]))
            return pa.compute.if_else(missing, None, words), text
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return column, text
        raise InputError(f"{self._table.path}, column {self._name}: holds {kind}, not labels")


def _told(value: Any) -> str:
    return repr(value.as_py())
