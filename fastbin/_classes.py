"""Columns of classes or groups, and matrices with one column per class: checked and converted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastbin._errors import InputError, InputTypeError
from fastbin._typing import Array, Float64s, Int64s
from fastbin._validation import refuse_first

Key = int | str

# How far a row of probabilities may be from a sum of 1: its entries are rounded, those of float32 to seven digits.
ROUNDING, ROUNDING_OF_FLOAT32 = 1e-6, 1e-4


def as_class_column(values: Any, name: str) -> Array:
    """One class or group for each row: an int64 array, or one of str objects. Missing and fractional ones are refused. O(n)."""
    array = np.asarray(values.to_pylist() if hasattr(values, "to_pylist") else values)
    if isinstance(values, (list, tuple)) and array.dtype.kind in "US":
        array = np.array(values, dtype=object)  # of numbers among text NumPy would make text
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputTypeError(f"{name} must be one-dimensional, got shape {array.shape}; give one class or group for each row")
    if array.dtype.kind == "f":
        refuse_first(
            ~(np.isfinite(array) & (array == np.trunc(array)) & (np.abs(array) <= 2.0**53)),
            lambda i: f"{name}[{i}] is {array[i].item()!r}; integers or text are needed, and no row may be without",
        )
    if array.dtype.kind in "buif":
        too_large = array > np.iinfo(np.int64).max if array.dtype.kind == "u" else np.zeros(len(array), bool)
        refuse_first(too_large, lambda i: f"{name}[{i}] is {array[i]}, above 2**63 - 1; give smaller integers, or text")
        return array.astype(np.int64)
    items = array.tolist()
    kind = str if items and isinstance(items[0], str) else (int, np.integer)
    bad = next((i for i, item in enumerate(items) if not isinstance(item, kind) or item == ""), None)
    if bad is not None:
        raise InputError(f"{name}[{bad}] is {items[bad]!r}; give all rows text that is not empty, or all of them integers")
    return np.array(items, dtype=object if kind is str else np.int64)


def check_same_kind(**columns: Array) -> None:
    """Refuse columns of classes of which some are integers and others text: none would ever be equal."""
    kinds = {name: "text" if column.dtype == object else "integers" for name, column in columns.items()}
    if len(set(kinds.values())) > 1:
        said = " and ".join(f"{name} holds {kind}" for name, kind in kinds.items())
        raise InputTypeError(f"{said}; name the classes in one way")


def as_class_matrix(values: Any, name: str = "probabilities") -> Array:
    """A float32 or float64 matrix with a row per sample and a column per class. Values are not looked at."""
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
    """The column of each row's class: its place in `classes`, or, without these, the integer from 0 itself. O(n)."""
    column = as_class_column(labels, name)
    if classes is None:
        if column.dtype == object:
            raise InputError(f"{name}[0] is {column[0]!r}; say which column is which class: classes=[...], in their order")
        columns = column
        inside = (columns >= 0) & (columns < n_columns)
        known = f"from 0 to {n_columns - 1}, as there are {n_columns} columns"
    else:
        named = as_class_column(list(classes), "classes")
        if len(named) != n_columns or len(set(named.tolist())) != n_columns:
            raise InputError(
                f"classes holds {len(set(named.tolist()))} different classes for {n_columns} columns; give one each"
            )
        check_same_kind(**{name: column, "classes": named})
        order = np.argsort(named)
        at = np.minimum(np.searchsorted(named[order], column), n_columns - 1)
        columns = order[at]
        inside = named[columns] == column
        known = "one of " + ", ".join(map(repr, named[:5].tolist())) + (", ..." if n_columns > 5 else "")
    refuse_first(~inside, lambda i: f"{name}[{i}] is {column.tolist()[i]!r}, not a class of the matrix; a class is {known}")
    return columns
