"""Quantiles of the beta distribution, checked against its tails, and the bisection that corrects them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from fastbin._base.array_types import Bools, Float64s
from fastbin._base.dependencies import needed_for

# How far the tail beyond a quantile may be from the one asked for, relatively. SciPy's inverses can return NaN (small tails),
# or a point far from the root: betainccinv(1000, 9101, 0.1) is 0.25 for 0.10 in SciPy 1.17, and from parameters of 1e12 on
# they stop standard deviations short. Its forward functions are right there, so they verify the inverses.
_NEAR = 1e-6
# Where both parameters are above this, the forward functions lose digits, and a series about the normal law gains them: its
# error is of the order of (z / sqrt(parameter))^3, in standard deviations.
_HUGE = 1e11


@cache
def special_functions() -> Any:
    """`scipy.special`, imported at the first use; an error with the remedy where SciPy is missing or too old."""
    with needed_for("intervals and certificates", extra="fit"):
        from scipy import special
        from scipy.special import betainccinv  # noqa: F401  # since SciPy 1.12
    return special


def neighbouring_doubles(low: Float64s, high: Float64s, stays_low: Callable[[Float64s], Bools]) -> tuple[Float64s, Float64s]:
    """Bisection, elementwise, until no double lies between `low`, where the predicate holds, and `high`, where it does not."""
    while True:
        middle = low + (high - low) / 2.0
        is_open = (low < middle) & (middle < high)
        if not is_open.any():
            return low, high
        holds = stays_low(middle)
        low, high = np.where(is_open & holds, middle, low), np.where(is_open & ~holds, middle, high)


def beta_quantile(a: Float64s, b: Float64s, tail: float, *, upper: bool) -> Float64s:
    """The p with P(Beta(a, b) <= p) = tail, or, where `upper`, P(Beta(a, b) > p) = tail; elementwise, a and b above 0.

    For tails from 1e-300 to 1/2 and a + b up to 2**53 + 1. Where doubles are too coarse for the tail, the next one outwards.
    """
    special = special_functions()
    points: Float64s = np.atleast_1d((special.betainccinv if upper else special.betaincinv)(a, b, tail))
    huge = np.minimum(a, b) > _HUGE
    usual = np.flatnonzero(~huge)
    points[usual] = _verified(points[usual], a[usual], b[usual], tail, upper)
    if huge.any():
        points[huge] = _by_series(a[huge], b[huge], tail, upper)
    return points


def _verified(points: Float64s, a: Float64s, b: Float64s, tail: float, upper: bool) -> Float64s:
    """The points; those that are not a root are replaced in place, by bisection down to neighbouring doubles, outwards."""
    special = special_functions()

    def beyond(p: Float64s, of: Any) -> Float64s:
        return np.asarray((special.betaincc if upper else special.betainc)(a[of], b[of], p))

    with np.errstate(invalid="ignore"):
        wrong = ~(np.abs(beyond(points, slice(None)) - tail) <= _NEAR * tail)  # NaN is wrong too
    if not wrong.any():
        return points

    def stays_low(p: Float64s) -> Bools:
        return ~(beyond(p, wrong) <= tail if upper else beyond(p, wrong) >= tail)

    low, high = neighbouring_doubles(np.zeros_like(points[wrong]), np.ones_like(points[wrong]), stays_low)
    points[wrong] = high if upper else low
    return points


def _by_series(a: Float64s, b: Float64s, tail: float, upper: bool) -> Float64s:
    """The quantile by Cornish & Fisher's expansion to the second order (1938), from the beta law's skewness and kurtosis."""
    total, z = a + b, float(special_functions().ndtri(tail)) * (-1.0 if upper else 1.0)
    deviation = np.sqrt(a / total * (b / total) / (total + 1.0))
    skewness = 2.0 * ((b - a) / (total + 2.0)) * np.sqrt((total + 1.0) / a / b)
    kurtosis = 6.0 * ((a - b) ** 2 / a / b * (total + 1.0) / (total + 2.0) - 1.0) / (total + 3.0)
    steps = (
        z + skewness * (z * z - 1.0) / 6.0 + kurtosis * (z**3 - 3.0 * z) / 24.0 - skewness**2 * (2.0 * z**3 - 5.0 * z) / 36.0
    )
    return np.asarray(np.clip(a / total + steps * deviation, 0.0, 1.0))
