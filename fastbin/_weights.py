"""What weights may add up to: integers to counts that doubles hold, real ones to squares that do."""

from __future__ import annotations

import math
import sys

import numpy as np

from fastbin._errors import InputError
from fastbin._typing import Array, Float64s

# Samples, counted by integer weights, in all: up to here doubles add integers without an error.
MOST_SAMPLES = 2**53


def check_total(frequencies: Array, name: str) -> None:
    """Refuse integers that add up to more than 2**53; none of them is negative. O(n)."""
    # Doubles add them exactly up to 2**53, and cannot wrap around; what they round to 2**53 may be more.
    total = float(frequencies.sum(dtype=np.float64))
    if total > MOST_SAMPLES or (total == MOST_SAMPLES and int(frequencies.sum(dtype=np.int64)) > MOST_SAMPLES):
        raise too_many_samples(name)


def check_squares(weights: Float64s, name: str, first_row: int) -> Float64s:
    """These weights, none negative. Refused where squares overflow when they are added, or are too small for doubles. O(n)."""
    greatest = float(weights.max(initial=0.0))
    most = math.sqrt(sys.float_info.max / max(1, len(weights)))
    if greatest > most:
        at = int(np.argmax(weights > most))
        raise overflowing_square(float(weights[at]), name, first_row + at)
    if 0.0 < greatest < math.sqrt(sys.float_info.min):
        problem = f"is at most {greatest!r}, whose square underflows"
        raise InputError(problem, "multiply all weights by a constant", argument=name, value=greatest)
    return weights


def overflowing_square(weight: float, name: str, at: int) -> InputError:
    """The error of a weight whose square doubles do not hold."""
    problem = f"is {weight!r}, whose square overflows"
    return InputError(problem, "divide all weights by a constant", argument=name, at=at, value=weight)


def too_many_samples(name: str | None) -> InputError:
    """The error of frequencies that add up to more than doubles count."""
    problem = "adds up to more than 2**53 samples, beyond which counts are not exact"
    return InputError(problem, "divide the weights", argument=str(name))


def no_samples(name: str = "sample_weight") -> InputError:
    """The error of weights that are all 0."""
    return InputError("is 0 for every row", "a calibrator needs samples", argument=name)
