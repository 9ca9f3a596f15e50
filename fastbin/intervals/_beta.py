"""Quantiles of the beta distribution, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fastbin._dependencies import needed_for
from fastbin.intervals._tally import Float64Array

__all__ = ["beta_quantile"]

# How far the tail beyond a quantile may be from the one asked for, relatively. SciPy's inverses can return NaN (small tails),
# or a point far from the root: betainccinv(1000, 9101, 0.1) is 0.25 for 0.10 in SciPy 1.17, and from parameters of 1e12 on
# they stop standard deviations short. Its forward functions are right there, so they verify the inverses.
_NEAR = 1e-6
# Where both parameters are above this, the forward functions lose digits, and a series about the normal law gains them: its
# error is of the order of (z / sqrt(parameter))^3, in standard deviations.
_HUGE = 1e11


def beta_quantile(a: Float64Array, b: Float64Array, tail: float, *, upper: bool) -> Float64Array:
    """The p with P(Beta(a, b) <= p) = tail, or, where `upper`, P(Beta(a, b) > p) = tail; elementwise, a and b above 0.

    For tails from 1e-300 to 1/2 and a + b up to 2**53 + 1. Where doubles are too coarse for the tail, the next one outwards.
    """
    with needed_for("intervals and certificates", extra="fit"):
        from scipy.special import betainccinv, betaincinv

    points: Float64Array = np.atleast_1d((betainccinv if upper else betaincinv)(a, b, tail))
    huge = np.minimum(a, b) > _HUGE
    usual = np.flatnonzero(~huge)
    points[usual] = _verified(points[usual], a[usual], b[usual], tail, upper)
    if huge.any():
        points[huge] = _by_series(a[huge], b[huge], tail, upper)
    return points


def _verified(points: Float64Array, a: Float64Array, b: Float64Array, tail: float, upper: bool) -> Float64Array:
    """The points, but those that are no root replaced by bisection down to neighbouring doubles, rounded outwards."""
    with needed_for("intervals and certificates", extra="fit"):
        from scipy.special import betainc, betaincc

    def beyond(p: Float64Array, of: Any) -> Float64Array:
        return np.asarray((betaincc if upper else betainc)(a[of], b[of], p))

    with np.errstate(invalid="ignore"):
        wrong = ~(np.abs(beyond(points, slice(None)) - tail) <= _NEAR * tail)  # NaN is wrong too
    if not wrong.any():
        return points
    low, high = np.zeros(np.count_nonzero(wrong)), np.ones(np.count_nonzero(wrong))
    while True:
        middle = low + (high - low) / 2.0
        if not ((low < middle) & (middle < high)).any():
            break
        reached: npt.NDArray[np.bool_] = beyond(middle, wrong) <= tail if upper else beyond(middle, wrong) >= tail
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    result = points.copy()
    result[wrong] = high if upper else low
    return result


def _by_series(a: Float64Array, b: Float64Array, tail: float, upper: bool) -> Float64Array:
    """The quantile by Cornish & Fisher's expansion to the second order (1938), from the beta law's skewness and kurtosis."""
    with needed_for("intervals and certificates", extra="fit"):
        from scipy.special import ndtri

    total, z = a + b, float(ndtri(tail)) * (-1.0 if upper else 1.0)
    deviation = np.sqrt(a / total * (b / total) / (total + 1.0))
    skewness = 2.0 * ((b - a) / (total + 2.0)) * np.sqrt((total + 1.0) / a / b)
    kurtosis = 6.0 * ((a - b) ** 2 / a / b * (total + 1.0) / (total + 2.0) - 1.0) / (total + 3.0)
    steps = (
        z + skewness * (z * z - 1.0) / 6.0 + kurtosis * (z**3 - 3.0 * z) / 24.0 - skewness**2 * (2.0 * z**3 - 5.0 * z) / 36.0
    )
    return np.asarray(np.clip(a / total + steps * deviation, 0.0, 1.0))
