"""Numbers as doubles, and the integers that these do not hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastbin._base.array_types import Array, Float64s
from fastbin._base.errors import InputError

BEYOND_DOUBLES = "is beyond the greatest double"

# Doubles hold all integers below it.
EXACT_BELOW = 2.0**53


def doubles_of(array: Array) -> Float64s:
    """Numbers as doubles, infinite where these end; no copy of doubles."""
    with np.errstate(over="ignore"):
        return np.asarray(array, np.float64)


def refuse_rounded(given: Any, double: float, name: str, at: int | None = None) -> None:
    """Refuse an integer that a double does not hold; a Decimal or a Fraction may be rounded, as a text of digits is."""
    if isinstance(given, (int, np.integer)) and int(given) != double:
        remedy = "beyond 2**53 doubles hold only some integers: subtract a constant, or convert by float what may be rounded"
        raise InputError(f"is {given}, which float64 does not hold", remedy, argument=name, at=at, value=given)


def refuse_rounded_in(given: Array | Sequence[Any], doubles: Float64s, name: str, first_row: int) -> None:
    """The same of the first entry that is none of the doubles made of it. O(n), without memory where no number is so large."""
    if max(np.fmax.reduce(doubles, initial=0.0), -np.fmin.reduce(doubles, initial=0.0)) < EXACT_BELOW:
        return
    far = np.abs(doubles) >= EXACT_BELOW
    if isinstance(given, np.ndarray) and given.dtype.kind in "iu":
        fits = doubles < float(np.iinfo(given.dtype).max)  # which is rounded to the power of two behind it
        far &= ~fits | (np.where(fits, doubles, 0.0).astype(given.dtype) != given)
    for position in np.flatnonzero(far).tolist():
        refuse_rounded(given[position], float(doubles[position]), name, first_row + position)
