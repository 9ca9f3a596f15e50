"""The distance between a rational mean and a double, rounded up to a double: comparisons with it lose nothing."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

__all__ = ["gaps_rounded_up"]

Float64s = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]


def gaps_rounded_up(label_sums: Int64s, counts: Int64s, values: Float64s) -> Float64s:
    """The least doubles at or above |label_sum / count - value|, exactly.

    For a double epsilon, ``gap <= epsilon`` over the rationals if and only if the gap rounded up is. So a step function with
    its jumps at these doubles is the exact one wherever it can be asked.

    The distance is computed to about 2**-104 as an unevaluated sum of doubles (Dekker 1971); rows where that leaves the
    rounding open, because the distance all but equals a double, are settled in fractions. O(n) time, counts from 1 to 2**53.
    """
    ones, totals = label_sums.astype(np.float64), counts.astype(np.float64)
    quotients = ones / totals
    # label_sum - quotient * count, exactly: a division's remainder is a double.
    high, low = _two_product(quotients, totals)
    tails = ((ones - high) - low) / totals
    gaps, errors = _two_sum(quotients, -values)
    sign = np.where(gaps < 0.0, -1.0, 1.0)
    gaps, rest = _two_sum(sign * gaps, sign * errors + sign * tails)
    rounded = np.where(rest > 0.0, np.nextafter(gaps, np.inf), gaps)
    # Without a tail nothing was rounded. Else `rest` is off by some 2**-105, and so is the sign of a gap as small as that.
    open_rows = (tails != 0.0) & ((np.abs(rest) < 2.0**-100) | (gaps < 2.0**-100))
    for row in np.flatnonzero(open_rows):
        rounded[row] = _rounded_up(abs(Fraction(int(label_sums[row]), int(counts[row])) - Fraction(float(values[row]))))
    return rounded


def _rounded_up(gap: Fraction) -> float:
    nearest = float(gap)
    return math.nextafter(nearest, math.inf) if Fraction(nearest) < gap else nearest


def _two_sum(a: Float64s, b: Float64s) -> tuple[Float64s, Float64s]:
    """a + b as a rounded sum and its exact error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _two_product(a: Float64s, b: Float64s) -> tuple[Float64s, Float64s]:
    """a * b as a rounded product and its exact error (Dekker, Veltkamp)."""
    product = a * b
    a_high, b_high = _upper_half(a), _upper_half(b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _upper_half(a: Float64s) -> Float64s:
    scaled = a * 134217729.0  # 2**27 + 1
    return scaled - (scaled - a)
