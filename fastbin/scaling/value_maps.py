"""Maps from score to probability, fitted to counts in fine cells: what a two-resolution model serves within its bins.

A cell is a run of scores with a representative, the number of its rows, and how many of them have label 1. Every map is defined
for any cells: those with parameters carry a ridge, so that their loss has one minimum, and probabilities of exactly 0 and 1 are
moved inside by half a step before a logarithm is taken. Maps give logits, which is what is mixed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fastbin._errors import FastbinWarning
from fastbin._kernels.isotonic import pool_weights
from fastbin._typing import Float64s
from fastbin._validation import ScoreRange
from fastbin.scaling.ridge import Ridge

# In rows: how strongly maps of probabilities are drawn towards the map that changes nothing.
TOWARDS_IDENTITY = 4.0
# Where scores are no probabilities there is no such map: slopes are drawn towards 0, and the constant is nearly free.
SLOPE_TOWARDS_ZERO, CONSTANT_TOWARDS_ZERO = 0.1, 1e-3
# Of the spline: its knots, the ridge on what is not linear, and how far (in the logit) its line may be from the identity before
# the ridge on it gives way. Without that, 30 sets of scores lost up to 10 % of log loss where they were far off; with a ridge
# that is all but 0, up to 17 % where scores pile up at 0 and 1 and few labels bend the spline.
KNOT_QUANTILES = (0.05, 0.275, 0.5, 0.725, 0.95)
BENDS_TOWARDS_ZERO, GIVES_WAY = 0.1, 0.5
# Of beta, isotonic and spline; the logits that are mixed are those of probabilities at least this far from 0 and 1.
MIXTURE_WEIGHTS = (1.0, 1.0, 2.0)
LEAST_PROBABILITY = 1e-6


class Cells(NamedTuple):
    """Rows counted in cells. Cells without rows take no part in a fit; maps are evaluated at all."""

    scores: Float64s  # (J,), ascending, of size 1 at most
    counts: Float64s  # (J,), >= 0, one at least positive
    ones: Float64s  # (J,), of label 1
    positions: Float64s  # (J,): logits of the scores moved inside (0, 1), or standardised scores
    are_probabilities: bool

    @classmethod
    def of(cls, scores: Float64s, counts: Float64s, ones: Float64s, n: int, score_range: ScoreRange) -> Cells:
        """The cells of `n` rows."""
        if score_range is not None and score_range[0] >= 0.0 and score_range[1] <= 1.0:
            half_step = 0.5 / (n + 1.0)
            inside = np.clip(scores, half_step, 1.0 - half_step)
            return cls(scores, counts, ones, np.log(inside) - np.log(1.0 - inside), True)
        # A power of two, so that no sum overflows and subnormal scores keep their differences.
        scores = np.ldexp(scores, -int(np.frexp(np.abs(scores).max())[1]))
        return cls(scores, counts, ones, _standardised(scores, counts), False)

    @property
    def zeros(self) -> Float64s:
        return self.counts - self.ones


def _standardised(values: Float64s, counts: Float64s) -> Float64s:
    """The values with mean 0 and variance 1 over the rows; all 0 where they do not differ."""
    shares = counts / counts.sum()
    away = values - (shares * values).sum()
    greatest = float(np.abs(away).max())
    if greatest == 0.0:
        return away
    away = away / greatest
    spread = math.sqrt(float((shares * away * away).sum()))
    return np.asarray(away / max(spread, LEAST_PROBABILITY))  # of which nothing is left where a cell without rows is far away


def logistic(cells: Cells) -> Float64s:
    """A line in the positions."""
    return _polynomial("logistic", cells, [cells.positions])


def quadratic(cells: Cells) -> Float64s:
    """A parabola in the positions, which may turn."""
    return _polynomial("quadratic", cells, [cells.positions, cells.positions * cells.positions])


def beta(cells: Cells) -> Float64s:
    """c + a log s - b log(1 - s) with a, b >= 0; a line where scores are no probabilities."""
    if not cells.are_probabilities:
        return logistic(cells)
    rising, falling = -np.log1p(np.exp(-cells.positions)), np.log1p(np.exp(cells.positions))  # log s, -log(1 - s)
    columns = np.array([np.ones_like(rising), rising, falling])
    ridge = Ridge(columns, cells.zeros, cells.ones, np.full(3, TOWARDS_IDENTITY), np.array([0.0, 1.0, 1.0]))
    parameters, is_minimum = ridge.minimise()
    if parameters[1:].min() < 0.0:
        # The minimum has a slope of 0: of a convex loss, the least of those minima without one or both that keep the bounds.
        found = [ridge.minimise(np.array([True, *free])) for free in ([False, True], [True, False], [False, False])]
        kept = [one for one in found if one[0][1:].min() >= 0.0]
        parameters, is_minimum = min(kept, key=lambda one: ridge.loss(one[0]))
    return _exponents("beta", ridge, parameters, is_minimum)


def spline(cells: Cells) -> Float64s:
    """A natural cubic spline in the positions; beta where fewer than three knots are distinct.

    Its line is drawn towards the identity as beta is, but gives way once it is far from there: the ridge on a parameter that
    lies d away at first is divided by 1 + (d / GIVES_WAY)^2, and the spline fitted again.
    """
    standard = _standardised(cells.positions, cells.counts)
    knots = _knots(standard, cells.counts)
    if len(knots) < 3:
        return beta(cells)
    bends = natural_columns(standard, knots)
    line = np.array([np.ones_like(standard), cells.positions])
    strength, centre = np.full(2 + len(bends), BENDS_TOWARDS_ZERO), np.zeros(2 + len(bends))
    strength[:2], centre[1] = _line_ridge(cells)
    ridge = Ridge(np.concatenate([line, bends]), cells.zeros, cells.ones, strength, centre)
    parameters, is_minimum = ridge.minimise()
    if cells.are_probabilities and is_minimum:
        strength[:2] /= 1.0 + ((parameters - centre)[:2] / GIVES_WAY) ** 2
        parameters, is_minimum = ridge._replace(ridge=strength).minimise()
    return _exponents("spline", ridge, parameters, is_minimum)


def isotonic(cells: Cells) -> Float64s:
    """Centred isotonic regression: blocks of pooled violators, moved inside (0, 1); lines between their mean scores."""
    taken = cells.counts > 0.0
    scores, counts = cells.scores[taken], cells.counts[taken]
    starts, block_counts, block_ones = np.empty(len(counts), np.int64), np.empty_like(counts), np.empty_like(counts)
    n_blocks = pool_weights(counts, cells.ones[taken], starts, block_counts, block_ones)
    starts, block_counts, block_ones = starts[:n_blocks], block_counts[:n_blocks], block_ones[:n_blocks]
    values = np.maximum.accumulate((block_ones + 0.5) / (block_counts + 1.0))
    ends = np.append(starts[1:], len(counts))
    shares = counts / np.repeat(block_counts, ends - starts)
    centres = np.clip(np.add.reduceat(shares * scores, starts), scores[starts], scores[ends - 1])
    below = np.clip(np.searchsorted(centres, cells.scores, side="right") - 1, 0, max(n_blocks - 2, 0))
    above = np.minimum(below + 1, n_blocks - 1)
    gaps = centres[above] - centres[below]
    # Shares of the gap, and not a slope, which would overflow between scores next to each other.
    along = np.divide(cells.scores - centres[below], gaps, out=np.zeros_like(gaps), where=gaps > 0.0)
    p = values[below] + np.clip(along, 0.0, 1.0) * (values[above] - values[below])
    return np.log(p) - np.log(1.0 - p)


def mixture(cells: Cells) -> Float64s:
    """The mean of beta, isotonic and spline in the logit."""
    bound = math.log(1.0 - LEAST_PROBABILITY) - math.log(LEAST_PROBABILITY)
    mixed = np.zeros_like(cells.positions)
    for member, weight in zip((beta, isotonic, spline), MIXTURE_WEIGHTS, strict=True):
        mixed += weight / sum(MIXTURE_WEIGHTS) * np.clip(member(cells), -bound, bound)
    return mixed


MAPS: dict[str, Callable[[Cells], Float64s]] = {
    "mixture": mixture,
    "beta": beta,
    "isotonic": isotonic,
    "logistic": logistic,
    "quadratic": quadratic,
    "spline": spline,
}


def natural_columns(x: Float64s, knots: Float64s) -> Float64s:
    """The columns (k - 2, J) of a natural cubic spline beside 1 and x: cubic between k knots, linear beyond them.

    Column j is d_j - d_(k-2), d_j(x) = (max(x - t_j, 0)^3 - max(x - t_(k-1), 0)^3) / (t_(k-1) - t_j), the natural basis of
    truncated powers. Beyond the last knot, where cubes would cancel, its line is written out.
    """
    last = knots[-1]
    within, beyond = np.minimum(x, last), np.maximum(x - last, 0.0)
    hinges = [np.maximum(within - knot, 0.0) ** 3 / (last - knot) for knot in knots[:-1]]
    return np.array([
        hinge - hinges[-1] + 3.0 * (knots[-2] - knot) * beyond
        for hinge, knot in zip(hinges[:-1], knots[:-2], strict=True)
    ])  # fmt: skip


def _knots(x: Float64s, counts: Float64s) -> Float64s:
    """The distinct quantiles of the rows: the least value at or below which lies at least the share of each."""
    cumulative = np.cumsum(counts)
    places = np.searchsorted(cumulative, np.array(KNOT_QUANTILES) * cumulative[-1])
    return np.unique(x[np.minimum(places, len(x) - 1)])


def _line_ridge(cells: Cells) -> tuple[tuple[float, float], float]:
    """The ridge on constant and slope of a line in the positions, and the slope that it is drawn towards."""
    if cells.are_probabilities:
        return (TOWARDS_IDENTITY, TOWARDS_IDENTITY), 1.0
    return (CONSTANT_TOWARDS_ZERO, SLOPE_TOWARDS_ZERO), 0.0


def _polynomial(name: str, cells: Cells, powers: list[Float64s]) -> Float64s:
    strength, centre = np.zeros(1 + len(powers)), np.zeros(1 + len(powers))
    strength[:2], centre[1] = _line_ridge(cells)
    strength[2:] = strength[1]
    ridge = Ridge(np.array([np.ones_like(powers[0]), *powers]), cells.zeros, cells.ones, strength, centre)
    return _exponents(name, ridge, *ridge.minimise())


def _exponents(name: str, ridge: Ridge, parameters: Float64s, is_minimum: bool) -> Float64s:
    if not is_minimum:
        warnings.warn(
            f"the value map {name!r} did not converge: the parameters reached so far are served, which a certificate allows "
            "for; values='isotonic' needs no iteration",
            FastbinWarning,
            stacklevel=2,
        )
    return ridge.exponents(parameters)
