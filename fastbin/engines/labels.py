"""The column of labels in a table: 0 and 1, or two other values, of which one is said to be positive."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastbin._base.array_types import Array, Bools
from fastbin._base.checks import Labels, is_missing, refuse_words
from fastbin._base.errors import InputTypeError
from fastbin.engines.arrow_columns import as_numbers, coded, decoded, is_text
from fastbin.engines.faults import MISSING, NAN, Fault, strange_label


class LabelColumn:
    """The labels of some rows, and how many rows have which value. What is neither 1 nor 0 is told at the end."""

    def __init__(self, name: str, positive: Any) -> None:
        self._name, self._seen = name, Labels(positive)

    def numbers(self, column: Any) -> Array:
        """Labels of an Arrow array without nulls as an array, whose values are not looked at; without `positive` alone."""
        self._check_type(column)
        return np.asarray(as_numbers(column, self._name).to_numpy(zero_copy_only=False))

    def read(self, column: Any) -> Bools:
        """Which labels of an Arrow array are 1."""
        self._check_type(column)
        return self._seen.read(*coded(column, self._name))

    def _check_type(self, column: Any) -> None:
        """Refuse what numbers are not, where labels are numbers."""
        if self._seen.positive is not None or len(column) == column.null_count:
            return
        some = decoded(column.drop_null()[: 2**16])
        if is_text(some.type):
            refuse_words(some.to_pylist(), self._name)
        as_numbers(some[:0], self._name)

    def add_group(self, group: Any) -> None:
        """Count rows that an engine has put into one class; of those that are neither, two are known by their value."""
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
        """What is wrong with the labels so far."""
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


def check_positive(positive: Any) -> Any:
    """Refuse what is no single value."""
    if isinstance(positive, np.generic):
        return positive.item()
    if hasattr(positive, "__iter__") and not isinstance(positive, (str, bytes)):
        raise InputTypeError(f"positive is of type {type(positive).__name__}; pass the one label that counts as 1")
    return positive
