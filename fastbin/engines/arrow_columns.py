"""One column of Arrow as what counters and models take: numbers, counts of equal rows, different values."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastbin._base.array_types import Array, Int64s
from fastbin._base.checks import MOST_SAMPLES, too_many_samples
from fastbin._base.errors import InputTypeError
from fastbin.engines.faults import real_weights
from fastbin.engines.tables import pyarrow
from fastbin.io import parsing


def column_of(batch: Any, name: str) -> Any:
    """A column of a record batch, by its name; categories of it as the values that they stand for."""
    return decoded(batch.column(batch.schema.get_field_index(name)))


def decoded(column: Any) -> Any:
    """An Arrow array without a dictionary."""
    return column.dictionary_decode() if pyarrow().types.is_dictionary(column.type) else column


def is_text(kind: Any) -> bool:
    """Whether this is a type of texts."""
    types = pyarrow().types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def as_numbers(column: Any, name: str) -> Any:
    """An Arrow array of numbers that NumPy has; decimals become doubles."""
    types, kind = pyarrow().types, column.type
    if types.is_decimal(kind):
        return parsing.doubles_of_decimals(column)
    if types.is_null(kind):
        return column.cast(pyarrow().float64())
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        raise InputTypeError(f"{name} holds {kind}, not numbers")
    return column


def scores_of(column: Any, name: str) -> Array:
    """float32 or float64, NaN for nulls."""
    numbers = np.asarray(as_numbers(column, name).to_numpy(zero_copy_only=False))
    return numbers if numbers.dtype in (np.float32, np.float64) else numbers.astype(np.float64)


def weights_of(column: Any, name: str) -> Int64s:
    """int64, 0 for nulls; real weights are refused, as counts do not add up to their sums."""
    pa, kind = pyarrow(), column.type
    whole = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or (pa.types.is_decimal(kind) and kind.scale == 0)
    if pa.types.is_floating(kind) or (pa.types.is_decimal(kind) and not whole):
        raise real_weights(name, kind)
    if not whole and not pa.types.is_null(kind):
        raise InputTypeError(f"{name} holds {kind}, not whole numbers")
    try:
        return np.asarray(column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), np.int64)
    except pa.ArrowInvalid:
        raise too_many_samples(name) from None


def sum_of(weights: Int64s) -> int:
    """The sum of weights that are not negative, exact."""
    # The greatest tells first, as the sum may not fit into 64 bits.
    fits = len(weights) == 0 or int(weights.max()) <= MOST_SAMPLES // len(weights)
    return int(weights.sum()) if fits else sum(weights.tolist())


def coded(column: Any, name: str) -> tuple[list[Any], Int64s]:
    """The different values of an Arrow array, None among them, and the number of each row's."""
    try:
        return parsing.coded(column)
    except pyarrow().ArrowNotImplementedError:
        raise InputTypeError(f"{name} holds {column.type}, whose values are not compared; cast the column to text") from None
