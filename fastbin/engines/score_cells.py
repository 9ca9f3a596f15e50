"""Cells of the score line, as arithmetic that every engine has.

A cell is the sum of two rounded-down numbers, both monotone in the score: one counts steps of equal width, the other steps of
equal ratio. So the cells are cut finely both where scores lie evenly and where they crowd towards zero, and no step needs a
choice between cases. How exactly an engine computes does not matter: cells are known by the scores that they hold.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Bools, Float64s, Int64s
from fastbin._base.checks import ScoreRange
from fastbin._fit.rows import GREATEST, limits_of
from fastbin.engines.frames import Frame

LEAST_NORMAL = float(np.finfo(np.float64).tiny)

# Between the cells of two intervals there is room for what rounding may add below and above.
ROOM = 2

# Where there is no score range, logits lie here, and half of all cells.
USUAL = 32.0

# An interval with so many steps of the ratio e between its ends is cut by ratio, too.
WIDE = 3.0


class Cuts(NamedTuple):
    """How intervals are cut: columns of one entry each."""

    first: Float64s  # the number of the first cell; 0 for intervals that are not cut into cells
    origin: Float64s
    scale: Float64s  # steps for each unit of the score, in two factors: for subnormal widths one would overflow
    more_scale: Float64s
    log_origin: Float64s
    log_scale: Float64s

    @classmethod
    def of(cls, low: Float64s, high: Float64s, n_even: Int64s, n_ratio: Int64s, *, is_cut: Bools | None = None) -> Cuts:
        """So many steps of equal width and of equal ratio."""
        fraction, exponent = np.frexp(np.subtract(high, low, out=np.ones(len(low)), where=n_even > 0))
        half = exponent // 2
        room = n_even + n_ratio + 1 + 2 * ROOM
        first = np.cumsum(room) - room + ROOM + 1.0  # from 1: -0.0 would be a group beside 0.0
        width = np.where(n_ratio > 0, size(high) - size(low), 1.0)
        return cls(
            first if is_cut is None else np.where(is_cut, first, 0.0),
            np.where(n_even > 0, low, 0.0),
            np.where(n_even > 0, np.ldexp(1.0, -half), 0.0),
            np.ldexp(n_even / fraction, half - exponent),
            np.where(n_ratio > 0, size(low), 0.0),
            n_ratio / width,
        )

    @classmethod
    def whole(cls, score_range: ScoreRange, n_cells: int) -> Cuts:
        """Of all scores: evenly in a range, and without one half by ratio, half where logits lie."""
        low, high = (np.array([end]) for end in limits_of(score_range))
        n, zero = np.array([n_cells]), np.zeros(1, np.int64)
        if has_width(low, high)[0]:
            return cls.of(low, high, n, zero)
        by_ratio = cls.of(low, high, zero, n - n // 2)
        evenly = cls.of(np.array([-USUAL]), np.array([USUAL]), n // 2, zero)
        return evenly._replace(log_origin=by_ratio.log_origin, log_scale=by_ratio.log_scale)

    @classmethod
    def inside(cls, low: Float64s, high: Float64s, n_cells: Int64s) -> Cuts:
        """About so many cells of each interval; 0 for those whose scores are asked for."""
        n = np.where((n_cells > 1) & (low < high), n_cells, 0)
        is_finite, is_wide = has_width(low, high), size(high) - size(low) > WIDE
        n_even = np.where(is_finite, np.where(is_wide, n - n // 2, n), 0)
        return cls.of(low, high, n_even, np.where(is_finite & ~is_wide, 0, n - n_even), is_cut=n_cells > 0)

    @property
    def by_ratio(self) -> bool:
        """Whether any interval has steps of equal ratio."""
        return bool(self.log_scale.any())


def has_width(low: Float64s, high: Float64s) -> Bools:
    """Whether the difference of two ends is a double."""
    with np.errstate(over="ignore"):
        return np.isfinite(high - low)


def size(scores: Float64s) -> Float64s:
    """A monotone function of scores that rises by one where their magnitude grows by the factor e."""
    return np.sign(scores) * (np.log(np.maximum(np.abs(scores), LEAST_NORMAL)) + 709.0)


def size_of(frame: Frame, score: Any) -> Any:
    """The same as an expression."""
    sign = frame.as_float(score > 0.0) - frame.as_float(score < 0.0)
    return sign * (frame.log(frame.clip(score * sign, LEAST_NORMAL, GREATEST)) + 709.0)


def cell_of(frame: Frame, score: Any, *, by_ratio: bool, clip: float | None = None, **cuts: Any) -> Any:
    """The number of the cell of a score: an expression of it and of the columns of `Cuts`, or of single numbers.

    With `clip`, at most so many steps of equal width, whatever the score.
    """
    steps = (score - cuts["origin"]) * cuts["scale"] * cuts["more_scale"]
    cell = frame.floor(steps if clip is None else frame.clip(steps, 0.0, clip)) + cuts["first"]
    return cell + frame.floor((size_of(frame, score) - cuts["log_origin"]) * cuts["log_scale"]) if by_ratio else cell
