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
        i = int(np.argmax(weights > most))
        raise InputError(
            f"{name}[{first_row + i}] is {float(weights[i])!r}, whose square overflows; divide all weights by a constant"
        )
    if 0.0 < greatest < math.sqrt(sys.float_info.min):
        raise InputError(f"{name} is at most {greatest!r}, whose square underflows; multiply all weights by a constant")
    return weights


def too_many_samples(name: str | None) -> InputError:
    """The error of frequencies that add up to more than doubles count."""
    return InputError(f"{name} adds up to more than 2**53 samples, beyond which counts are not exact; divide the weights")
