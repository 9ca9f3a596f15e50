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

from fastbin._base.array_types import Array, Float64s, Int64s
from fastbin._base.checks import ScoreRange, are_probabilities
from fastbin._base.errors import FastbinWarning
from fastbin._core.kernels.isotonic import pool_weights
from fastbin.scaling.likelihood import Ridge, logits

# In rows: how strongly maps of probabilities are drawn towards the map that changes nothing.
TOWARDS_IDENTITY = 4.0
# Other scores have no such map: slopes are drawn towards 0, and the constant is nearly free.
SLOPE_TOWARDS_ZERO, CONSTANT_TOWARDS_ZERO = 0.1, 1e-3
# The spline: its knots, the ridge on what is not linear, and how far (in the logit) its line may be from the identity before
# the ridge on it gives way. At 500 rows a line without ridge costs about 2 % of log loss on average over 21 score sets, more
# where scores pile up at 0 and 1; a ridge that never gives way costs about 3 % over 14 sets, two of them far from calibrated.
KNOT_FORTIETHS = (2, 11, 20, 29, 38)  # .05, .275, .5, .725, .95, in whole numbers so that rounding moves no knot
BENDS_TOWARDS_ZERO, GIVES_WAY = 1.0, 0.5
# How far knots must be apart, in standard deviations and in positions.
LEAST_SPACING, LEAST_LOGITS = 1e-3, 1e-6
# The weights of beta, isotonic and spline; the logits that are mixed are those of probabilities at least this far from 0 and 1.
MIXTURE_WEIGHTS = (1.0, 1.0, 2.0)
LEAST_PROBABILITY = 1e-6
# The identity beside them: it weighs as much as the map at so many rows, and less by what the map gains beyond this much.
# Both were known before from other sets; on those of bench/calarena, both halves seen, raw scores are beaten more often with 8
# than with 2, which has the lower mean loss on one half. From 2 to 8 the Brier score at 60 rows differs by 1.4 %: less is
# better where scores are far from calibrated, more where they nearly are. A logistic map of two parameters as one member more
# gained nothing below 200 rows.
IDENTITY_ROWS, IDENTITY_FREE = 120.0, 8.0

Fit = tuple[Float64s, Float64s]  # the parameters of a map, and the logits of the cells


class MapCells(NamedTuple):
    """Rows counted in cells. Cells without rows take no part in a fit; maps are evaluated at all."""

    scores: Float64s  # (J,), ascending
    counts: Float64s  # (J,), >= 0, one at least positive
    ones: Float64s  # (J,), of label 1
    positions: Float64s  # (J,): logits of the scores moved inside (0, 1), or standardised scores
    are_probabilities: bool
    n: int  # rows

    @classmethod
    def of(cls, scores: Float64s, counts: Float64s, ones: Float64s, n: int, score_range: ScoreRange) -> MapCells:
        """The cells of `n` rows."""
        if are_probabilities(score_range):
            return cls(scores, counts, ones, logits(scores, 0.5 / (n + 1.0)).values, True, n)
        return cls(scores, counts, ones, _standardised(_scaled(scores, 0), counts), False, n)

    @property
    def zeros(self) -> Float64s:
        return self.counts - self.ones


def _scaled(values: Float64s, exponent: int) -> Float64s:
    """The values times a power of two by which the greatest is nearly 2^exponent, so that no sum overflows."""
    return np.asarray(np.ldexp(values, exponent - int(np.frexp(np.abs(values).max())[1])))


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


def polynomial(cells: MapCells, degree: int) -> Fit:
    """A line in the positions, or a parabola, which may turn: its coefficients from the lowest power on, and the logits."""
    strength, centre = np.zeros(1 + degree), np.zeros(1 + degree)
    strength[:2], centre[1] = _line_ridge(cells)
    strength[2:] = strength[1]
    columns = np.array([np.ones_like(cells.positions), cells.positions, cells.positions**2][: 1 + degree])
    ridge = Ridge(columns, cells.zeros, cells.ones, strength, centre)
    parameters, is_minimum = ridge.minimise()
    return parameters, _exponents(("logistic", "quadratic")[degree - 1], ridge, parameters, is_minimum)


def beta(cells: MapCells) -> Fit:
    """(c, a, b) and the logits c + a log s - b log(1 - s), with a, b >= 0; a line where scores are not probabilities."""
    if not cells.are_probabilities:
        return polynomial(cells, 1)
    rising, falling = -np.log1p(np.exp(-cells.positions)), np.log1p(np.exp(cells.positions))  # log s, -log(1 - s)
    columns = np.array([np.ones_like(rising), rising, falling])
    ridge = Ridge(columns, cells.zeros, cells.ones, np.full(3, TOWARDS_IDENTITY), np.array([0.0, 1.0, 1.0]))
    parameters, is_minimum = ridge.minimise()
    if parameters[1:].min() < 0.0:
        # The minimum has a slope of 0: of a convex loss, the least of those minima without one or both that keep the bounds.
        found = [ridge.minimise(np.array([True, *free])) for free in ([False, True], [True, False], [False, False])]
        kept = [one for one in found if one[0][1:].min() >= 0.0]
        parameters, is_minimum = min(kept, key=lambda one: ridge.loss(one[0]))
    return parameters, _exponents("beta", ridge, parameters, is_minimum)


def spline(cells: MapCells) -> Fit:
    """A natural cubic spline in the positions, as (k, 3): position, logit and second derivative at each knot.

    Beta where fewer than three knots are apart. Its line is drawn towards the identity as beta is, but gives way once it is far
    from there: the ridge on a parameter that lies d away at first is divided by 1 + (d / GIVES_WAY)^2, and the spline fitted
    again.
    """
    z, standard = cells.positions, _standardised(cells.positions, cells.counts)
    places = _knots(standard, cells)
    if len(places) < 3:
        return beta(cells)
    knots = standard[places]
    bends = natural_columns(standard, knots)
    columns = np.concatenate([[np.ones_like(z), z], bends])
    strength, centre = np.full(len(columns), BENDS_TOWARDS_ZERO), np.zeros(len(columns))
    strength[:2], centre[1] = _line_ridge(cells)
    ridge = Ridge(columns, cells.zeros, cells.ones, strength, centre)
    parameters, is_minimum = ridge.minimise()
    if cells.are_probabilities and is_minimum:
        strength[:2] /= 1.0 + ((parameters - centre)[:2] / GIVES_WAY) ** 2
        parameters, is_minimum = ridge._replace(ridge=strength).minimise()
    exponents = _exponents("spline", ridge, parameters, is_minimum)
    per_position = (knots[-1] - knots[0]) / (z[places[-1]] - z[places[0]])
    shares = np.maximum(knots - knots[:-1, np.newaxis], 0.0) / (knots[-1] - knots[:-1, np.newaxis])
    second = (6.0 * parameters[2:, np.newaxis] * (shares[:-1] - shares[-1])).sum(axis=0) * per_position**2
    return np.array([z[places], exponents[places], second]).T.copy(), exponents


def isotonic(cells: MapCells) -> Float64s:
    """Centred isotonic regression: blocks of pooled violators, moved inside (0, 1); lines between their mean scores."""
    taken = cells.counts > 0.0
    # As large as sums allow, so that subnormal scores keep their differences.
    everywhere = _scaled(cells.scores, 1000)
    scores, counts = everywhere[taken], cells.counts[taken]
    starts, block_counts, block_ones = np.empty(len(counts), np.int64), np.empty_like(counts), np.empty_like(counts)
    n_blocks = pool_weights(counts, cells.ones[taken], starts, block_counts, block_ones)
    starts, block_counts, block_ones = starts[:n_blocks], block_counts[:n_blocks], block_ones[:n_blocks]
    values = np.maximum.accumulate((block_ones + 0.5) / (block_counts + 1.0))
    # Mean scores as distances from the first score of their block: a double may not tell two of them apart by themselves.
    sizes, firsts = np.diff(np.append(starts, len(counts))), scores[starts]
    shares = counts / np.repeat(block_counts, sizes)
    means = np.add.reduceat(shares * (scores - np.repeat(firsts, sizes)), starts)
    block = np.clip(np.searchsorted(firsts, everywhere, side="right") - 1, 0, None)
    below = np.clip(block - (everywhere - firsts[block] < means[block]), 0, max(n_blocks - 2, 0))
    above = np.minimum(below + 1, n_blocks - 1)
    gaps = firsts[above] - firsts[below] + (means[above] - means[below])
    # Shares of the gap, and not a slope, which would overflow between scores next to each other.
    with np.errstate(over="ignore"):  # far beyond the last of two scores next to each other: infinite, and cut to 1
        along = np.divide(everywhere - firsts[below] - means[below], gaps, out=np.zeros_like(gaps), where=gaps > 0.0)
    p = values[below] + np.clip(along, 0.0, 1.0) * (values[above] - values[below])
    return np.log(p) - np.log(1.0 - p)


def mixture(cells: MapCells) -> Float64s:
    """The mean of beta, isotonic and spline in the logit, and of the identity where scores are probabilities."""
    bound = math.log(1.0 - LEAST_PROBABILITY) - math.log(LEAST_PROBABILITY)
    mixed = np.zeros_like(cells.positions)
    for member, weight in zip((MAPS["beta"], isotonic, MAPS["spline"]), MIXTURE_WEIGHTS, strict=True):
        mixed += weight / sum(MIXTURE_WEIGHTS) * np.clip(member(cells), -bound, bound)
    return _towards_identity(mixed, cells) if cells.are_probabilities else mixed


def _towards_identity(mixed: Float64s, cells: MapCells) -> Float64s:
    """The logits of a map, mixed with those of the scores, as far as the rows do not contradict these.

    The weight of the identity is n0 / (n0 + n) min(1, c / D), with D twice the log-likelihood that the map gains on it.
    """
    least = logits(np.array([0.0]), 0.5 / (cells.n + 1.0)).values[0]
    map_logits = np.clip(mixed, least, -least)
    gained = 2.0 * float(np.sum(
        cells.zeros * (np.logaddexp(0.0, cells.positions) - np.logaddexp(0.0, map_logits))
        + cells.ones * (np.logaddexp(0.0, -cells.positions) - np.logaddexp(0.0, -map_logits))
    ))  # fmt: skip
    weight = IDENTITY_ROWS / (IDENTITY_ROWS + cells.n) * (IDENTITY_FREE / max(gained, IDENTITY_FREE))
    return np.asarray((1.0 - weight) * map_logits + weight * cells.positions)


MAPS: dict[str, Callable[[MapCells], Float64s]] = {
    "mixture": mixture,
    "beta": lambda cells: beta(cells)[1],
    "isotonic": isotonic,
    "logistic": lambda cells: polynomial(cells, 1)[1],
    "quadratic": lambda cells: polynomial(cells, 2)[1],
    "spline": lambda cells: spline(cells)[1],
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


def _knots(standard: Float64s, cells: MapCells) -> list[int]:
    """The cells of the knots: quantiles of the rows that are apart, each the least cell up to which lies at least its share.

    Between knots that are nearly equal the spline would be steeper than doubles can follow.
    """
    cumulative = np.cumsum(cells.counts)
    quantiles = np.searchsorted(cumulative * 40.0, np.array(KNOT_FORTIETHS) * cumulative[-1])
    z, places = cells.positions, [int(quantiles[0])]
    for place in np.minimum(quantiles, len(z) - 1).tolist():
        last = places[-1]
        if standard[place] - standard[last] > LEAST_SPACING and z[place] - z[last] > LEAST_LOGITS:
            places.append(place)
    return places


def _line_ridge(cells: MapCells) -> tuple[tuple[float, float], float]:
    """The ridge on constant and slope of a line in the positions, and the slope that it is drawn towards."""
    if cells.are_probabilities:
        return (TOWARDS_IDENTITY, TOWARDS_IDENTITY), 1.0
    return (CONSTANT_TOWARDS_ZERO, SLOPE_TOWARDS_ZERO), 0.0


def _exponents(name: str, ridge: Ridge, parameters: Float64s, is_minimum: bool) -> Float64s:
    if not is_minimum:
        text = (
            f"the map {name!r} did not converge: the parameters reached so far are served, and may calibrate badly (which a "
            "certificate allows for); isotonic regression needs no iteration"
        )
        warnings.warn(FastbinWarning(text, of_convergence=True), stacklevel=2)
    return ridge.exponents(parameters)


# ------------------------------------------------------------------ values of steps
# A map fitted to the fine cells of a model of two resolutions, re-centred in its evidence bins, and monotone.


# What stands in each bin without a map: (x - y) / (T - 1), as uniform-mass bins have it, and (x - y + .5) / T.
BIN_MEANS = ("mean", "jeffreys")
VALUES = (*MAPS, *BIN_MEANS)
RECENTRINGS = ("james-stein", "full", "none")
# Logits beyond this give probabilities that the last clip moves anyway.
GREATEST_LOGIT = 700.0
# The weight of steps without rows: enough for a mean to exist, too little to move one.
WEIGHT_OF_NO_ROW = 2.0**-40


class _Bins(NamedTuple):
    """Evidence bins over the steps."""

    first_step: Int64s
    sizes: Int64s  # in steps
    counts: Float64s  # of the evidence
    label_sums: Float64s

    def spread(self, of_bins: Float64s) -> Float64s:
        """One number a bin as one number a step."""
        return np.repeat(of_bins, self.sizes)


def value_steps(
    scores: Array, counts: Array, ones: Array, first_step: Int64s, bin_counts: Array, bin_label_sums: Array, n: int, *,
    values: str = "mixture", recentre: str = "james-stein", monotone: bool = True, score_range: ScoreRange = (0.0, 1.0),
) -> Float64s:  # fmt: skip
    """float64 (J,): the value of each step, in [.5 / (n + 1), 1 - .5 / (n + 1)]; "mean" in [0, 1], and .5 without evidence.

    The certificate of a two-resolution model holds for every value, so nothing here has to be proved. The J fine cells
    become the steps: `scores` ascend strictly (the lower edges, and the smallest score seen); `counts` and `ones` are
    int64, or float64 sums of weights. The evidence of the B bins (`bin_counts`, `bin_label_sums`, int64 or float64) is what the
    value of a bin would be the ratio of; `first_step` ascends strictly from 0. There are `n` rows, at least one, to which float
    weights are scaled to add up. `values` is one of `VALUES` ("mean" and "jeffreys" are averages already, and not re-centred),
    `recentre` one of `RECENTRINGS`. With `monotone`, steps that fall are pooled in their mean over the rows. Within a
    `score_range` of [0, 1] scores are probabilities, and maps are drawn towards leaving them as they are. Warns if a map did
    not converge.

    Time O(J). Sums are NumPy's own, so that the values depend on no number of threads.
    """
    scale = n / float(counts.sum()) if counts.dtype.kind == "f" else 1.0
    counts, ones = np.asarray(counts, np.float64) * scale, np.asarray(ones, np.float64) * scale
    sizes = np.diff(np.append(first_step, len(counts)))
    evidence = np.asarray(bin_counts, np.float64) * scale, np.asarray(bin_label_sums, np.float64) * scale
    bins = _Bins(np.asarray(first_step, np.int64), sizes, *evidence)
    if values in BIN_MEANS:
        steps = bins.spread(_bin_means(bins, half=0.5 if values == "jeffreys" else 0.0))
    else:
        exponents = MAPS[values](MapCells.of(np.asarray(scores, np.float64), counts, ones, n, score_range))
        steps = 1.0 / (1.0 + np.exp(-np.clip(exponents, -GREATEST_LOGIT, GREATEST_LOGIT)))
        steps = _inside(steps + _shifts(steps, counts, bins, recentre), n)
    return _pooled(steps, counts) if monotone else steps


def shifted_steps(steps: Float64s, counts: Array, first_step: Int64s, shifts: Float64s, n: int, *, monotone: bool) -> Float64s:
    """The values of `value_steps` moved by one shift a bin, inside [.5 / (n + 1), 1 - .5 / (n + 1)], and pooled where asked."""
    sizes = np.diff(np.append(first_step, len(steps)))
    moved = _inside(steps + np.repeat(shifts, sizes), n)
    return _pooled(moved, np.asarray(counts, np.float64)) if monotone else moved


def _inside(steps: Float64s, n: int) -> Float64s:
    half_step = 0.5 / (n + 1.0)
    return np.clip(steps, half_step, 1.0 - half_step)


def _bin_means(bins: _Bins, half: float) -> Float64s:
    totals = bins.counts + 2.0 * half
    return np.divide(bins.label_sums + half, totals, out=np.full_like(totals, 0.5), where=totals > 0.0)


def _shifts(steps: Float64s, counts: Float64s, bins: _Bins, recentre: str) -> Float64s:
    """The shift of each step: a share kappa of the distance from its bin's mean value to its bin's mean label.

    The positive part of James and Stein's estimator: kappa = 1 - (B - 2) / chi2, chi2 the sum of squared distances in their
    standard errors, so that distances that chance explains are left as they are.
    """
    if recentre == "none":
        return np.zeros_like(steps)
    weights = np.where(bins.spread(np.add.reduceat(counts, bins.first_step)) > 0.0, counts, 1.0)
    means = np.add.reduceat(weights * steps, bins.first_step) / np.add.reduceat(weights, bins.first_step)
    away = np.where(bins.counts > 0.0, _bin_means(bins, half=0.0) - means, 0.0)
    kappa = 1.0
    if recentre == "james-stein" and len(means) > 2:
        q = np.clip(means, 1.0 / (bins.counts + 1.0), 1.0 - 1.0 / (bins.counts + 1.0))
        variances = np.where(bins.counts > 0.0, q * (1.0 - q), 1.0)
        chi2 = float((away * away * bins.counts / variances).sum())
        kappa = max(1.0 - (len(means) - 2) / chi2, 0.0) if chi2 > 0.0 else 0.0
    return bins.spread(kappa * away)


def _pooled(steps: Float64s, counts: Float64s) -> Float64s:
    """The non-decreasing steps nearest to these in squares over the rows; steps that do not fall keep every bit."""
    weights = np.maximum(counts, WEIGHT_OF_NO_ROW)
    starts, block_weights, block_sums = np.empty(len(steps), np.int64), np.empty_like(steps), np.empty_like(steps)
    n_blocks = pool_weights(weights, weights * steps, starts, block_weights, block_sums)
    starts = starts[:n_blocks]
    least, greatest = np.minimum.reduceat(steps, starts), np.maximum.reduceat(steps, starts)
    means = np.where(least == greatest, least, block_sums[:n_blocks] / block_weights[:n_blocks])
    sizes = np.diff(np.append(starts, len(steps)))
    # Rounding may bring a mean outside the values that it is of, or below the block before it.
    return np.clip(np.maximum.accumulate(np.repeat(means, sizes)), steps.min(), steps.max())
