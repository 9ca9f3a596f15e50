"""Matrices with one column per class, checked, and what columns of classes have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastbin._cells import Cells, Key, TextCells, as_cells
from fastbin._errors import InputError, InputTypeError
from fastbin._frames import refuse_lazy
from fastbin._typing import Array, Float64s, Int64s
from fastbin._validation import refuse_first

# How far a row of probabilities may be from a sum of 1: its entries are rounded, those of float32 to seven digits.
ROUNDING, ROUNDING_OF_FLOAT32 = 1e-6, 1e-4


def in_one_code(**columns: Cells) -> tuple[list[Key], list[Int64s]]:
    """Columns of classes as codes of all their classes, ascending. Texts and integers are never equal: refused. O(n log n)."""
    kinds = {name: "text" if isinstance(column, TextCells) else "integers" for name, column in columns.items()}
    if len(set(kinds.values())) > 1:
        said = " and ".join(f"{name} holds {kind}" for name, kind in kinds.items())
        raise InputTypeError(f"{said}; name the classes in one way")
    texts = [column for column in columns.values() if isinstance(column, TextCells)]
    if texts:
        keys = sorted({text for column in texts for text in column.texts})
        code_of = {text: code for code, text in enumerate(keys)}
        codes = (np.array([code_of[text] for text in column.texts] or [0], np.int64)[column.codes] for column in texts)
        return list(keys), list(codes)
    numbers = [np.asarray(column) for column in columns.values()]
    values, joined = np.unique(np.concatenate(numbers), return_inverse=True)
    return values.tolist(), np.split(joined.ravel(), np.cumsum([len(column) for column in numbers])[:-1])


def as_class_matrix(values: Any, name: str = "probabilities") -> Array:
    """A float32 or float64 matrix with a row per sample and a column per class. Values are not looked at."""
    refuse_lazy(values, name)
    try:
        array = np.asarray(values)
        array = array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"{name} is not a matrix of numbers: {error}") from error
    if array.ndim != 2 or array.shape[1] < 2:
        raise InputTypeError(f"{name} must have a row per sample and a column for each of 2 or more classes, got {array.shape}")
    return array


def check_probabilities(values: Any, name: str = "probabilities", *, sum_to_one: bool = True) -> Float64s:
    """A matrix of probabilities as float64 (n, k), whose rows add up to 1 where that is asked for. O(n k)."""
    given = as_class_matrix(values, name)
    array = given.astype(np.float64, copy=False)

    def outside(at: int) -> str:
        i, j = divmod(at, array.shape[1])
        return f"{name}[{i}, {j}] is {float(array[i, j])!r}, outside [0, 1]; give probabilities, for logits their softmax"

    refuse_first(~((array >= 0.0) & (array <= 1.0)), outside)
    if sum_to_one:
        sums, most = array.sum(axis=1), ROUNDING_OF_FLOAT32 if given.dtype == np.float32 else ROUNDING
        refuse_first(
            np.abs(sums - 1.0) > most,
            lambda i: f"{name}[{i}] adds up to {float(sums[i])!r}; the probabilities of all classes add up to 1",
        )
    return array


def columns_of(labels: Any, classes: Sequence[Key] | None, n_columns: int, name: str = "labels") -> Int64s:
    """The column of each row's class: its place in `classes`, or, without these, the integer from 0 itself. O(n log n)."""
    column = as_cells(labels, name)
    if classes is None:
        if isinstance(column, TextCells):
            first = f"{name}[0] is {column.texts[column.codes[0]]!r}" if len(column.codes) else f"{name} is text"
            raise InputError(f"{first}; say which column is which class: classes=[...], in their order")
        classes = range(n_columns)
    named = as_cells(list(classes), "classes")
    keys, (codes, places) = in_one_code(**{name: column, "classes": named})
    if len(places) != n_columns or len(set(places.tolist())) != n_columns:
        raise InputError(f"classes holds {len(set(places.tolist()))} different ones for {n_columns} columns; give each its own")
    columns = np.full(len(keys), -1)
    columns[places] = np.arange(n_columns)
    known = ", ".join(map(repr, list(classes)[:8])) + (", ..." if n_columns > 8 else "")
    refuse_first(
        columns[codes] < 0,
        lambda i: f"{name}[{i}] is {keys[codes[i]]!r}, which is none of the {n_columns} classes: {known}",
    )
    return columns[codes]
