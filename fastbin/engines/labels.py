"""Which labels of a table are 1: 0 and 1, or two other values, of which one is said to be positive."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from fastbin._errors import InputError, InputTypeError
from fastbin._typing import Array, Bools
from fastbin._validation import is_missing, refuse_words
from fastbin.engines.arrow_columns import as_numbers, coded, decoded, is_text
from fastbin.engines.faults import MISSING, NAN, Fault, strange_label


class Labels:
    """The labels of some rows, and how many rows have which value.

    Without `positive` labels are 0 and 1; with it, that value and one other, which is the first that is seen. What is neither
    counts as 0, and is told at the end.
    """

    # Different values that are kept; rows with further ones, which are no labels, are a number alone.
    MOST_VALUES = 100

    def __init__(self, name: str, positive: Any) -> None:
        self._name, self._positive = name, positive
        self._one = 1 if positive is None else positive
        self._counts: dict[Any, int] = {}
        self._absent = {MISSING: 0, NAN: 0}
        self._n_further = 0

    def numbers(self, column: Any) -> Array:
        """Labels of an Arrow array without nulls as an array, whose values are not looked at; without `positive` alone."""
        self._check_type(column)
        return np.asarray(as_numbers(column, self._name).to_numpy(zero_copy_only=False))

    def read(self, column: Any) -> Bools:
        """Which labels of an Arrow array are 1."""
        self._check_type(column)
        values, codes = coded(column, self._name)
        self.add(values, np.bincount(codes, minlength=len(values)).tolist())
        return np.array([self._is_one(value) for value in values], np.bool_)[codes]

    def _check_type(self, column: Any) -> None:
        """Refuse what numbers are not, where labels are numbers."""
        if self._positive is not None or len(column) == column.null_count:
            return
        some = decoded(column.drop_null()[: 2**16])
        if is_text(some.type):
            refuse_words(some.to_pylist(), self._name)
        as_numbers(some[:0], self._name)

    def add(self, values: Iterable[Any], counts: Iterable[int]) -> None:
        """So many rows more have these values; None is NULL."""
        for value, count in zip(values, counts, strict=True):
            if not count:
                continue
            if is_missing(value):
                self._absent[MISSING if value is None else NAN] += count
            elif value in self._counts or len(self._counts) < self.MOST_VALUES or self._is_one(value):
                self._counts[value] = self._counts.get(value, 0) + count
            else:
                self._n_further += count

    def add_group(self, group: Any) -> None:
        """The same for rows that an engine has put into one class; of those that are neither, two are known by their value."""
        if group.label == 1:
            self.add([self._one], [group.n_rows])
        elif group.label == 0 and self._positive is None:
            self.add([0], [group.n_rows])
        else:
            several = not is_missing(group.least) and group.least != group.greatest
            self.add([group.least, group.greatest], [group.n_rows - several, int(several)])

    def merge(self, other: Labels) -> None:
        """Add those of other rows."""
        self.add(other._counts.keys(), other._counts.values())
        for what, count in other._absent.items():
            self._absent[what] += count
        self._n_further += other._n_further

    def _is_one(self, value: Any) -> bool:
        return not is_missing(value) and bool(value == self._one)

    @property
    def _zeros(self) -> list[Any]:
        """The values that are not 1, of which the first is 0."""
        others = [value for value in self._counts if not self._is_one(value)]
        return others if self._positive is not None else [0, *(value for value in others if value != 0)]

    def faults(self) -> list[Fault]:
        """What is wrong with the labels so far."""
        zero, *strange = self._zeros or [None]
        n_strange = sum(self._counts[value] for value in strange) + self._n_further
        return [
            *(Fault(self._name, what, count) for what, count in self._absent.items()),
            Fault(self._name, strange_label(self._positive, zero), n_strange, next(iter(strange), None)),
        ]

    @property
    def n_bad(self) -> int:
        """The rows with such labels."""
        return sum(fault.n_rows for fault in self.faults())

    def check_positive(self) -> None:
        """After the last row: refuse a positive value that no row has."""
        others = self._zeros
        if self._positive is not None and others and len(others) == len(self._counts):
            raise unknown_positive(self._positive, self._name, others)


def unknown_positive(positive: Any, name: str, others: Sequence[Any]) -> InputError:
    """The error of a positive value that no row has."""
    seen = " and ".join(map(repr, others[:2])) + (", ..." if len(others) > 2 else "")
    return InputError(f"positive is {positive!r}, which is none of the labels in {name}: they are {seen}")


def check_positive(positive: Any) -> Any:
    """Refuse what is no single value."""
    if isinstance(positive, np.generic):
        return positive.item()
    if hasattr(positive, "__iter__") and not isinstance(positive, (str, bytes)):
        raise InputTypeError(f"positive is of type {type(positive).__name__}; pass the one label that counts as 1")
    return positive
