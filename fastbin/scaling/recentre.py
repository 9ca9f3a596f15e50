"""The values of a two-resolution model: a map fitted to its fine cells, re-centred in its evidence bins, and monotone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s
from fastbin._base.checks import ScoreRange
from fastbin._core.kernels.isotonic import pool_weights
from fastbin.scaling.value_maps import MAPS, MapCells

# What stands in each bin without a map: (x - y) / (T - 1), as uniform-mass bins have it, and (x - y + .5) / T.
BIN_MEANS = ("mean", "jeffreys")
VALUES = (*MAPS, *BIN_MEANS)
RECENTRINGS = ("james-stein", "full", "none")
# Logits beyond this give probabilities that the last clip moves anyway.
GREATEST_LOGIT = 700.0
# Of steps that hold no row: enough for a mean to exist, too little to move one.
WEIGHT_OF_NO_ROW = 2.0**-40


class FineCells(NamedTuple):
    """The rows of a fit in its J fine cells, which become the steps of the model.

    Counts and ones are int64, or float64 sums of weights.
    """

    scores: Float64s  # (J,), ascending strictly: the lower edge of each cell; of the lowest, the smallest score seen
    counts: Array  # (J,)
    ones: Array  # (J,): how many (or how much weight) of these have label 1


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
    cells: FineCells,
    first_step: Int64s,
    bin_counts: Array,
    bin_label_sums: Array,
    n: int,
    *,
    values: str = "mixture",
    recentre: str = "james-stein",
    monotone: bool = True,
    score_range: ScoreRange = (0.0, 1.0),
) -> Float64s:
    """The value of each step.

    The certificate of a two-resolution model holds for every value, so nothing here has to be proved.

    Parameters
    ----------
    cells : FineCells
        J cells.
    first_step : int64 (B,)
        The first step of each evidence bin, ascending strictly from 0.
    bin_counts, bin_label_sums : int64 or float64 (B,)
        The evidence: what the value of a bin would be the ratio of.
    n : int
        Rows of the fit, at least 1. Float weights are scaled to add up to it.
    values : str
        One of `VALUES`. "mean" and "jeffreys" are averages already, and are not re-centred.
    recentre : str
        One of `RECENTRINGS`: how far the mean value of each bin is moved to its mean label.
    monotone : bool
        Whether steps that fall are pooled, in their mean over the rows.
    score_range : (low, high) or None
        Within [0, 1] scores are probabilities, and maps are drawn towards leaving them as they are.

    Returns
    -------
    float64 (J,)
        In [.5 / (n + 1), 1 - .5 / (n + 1)]; "mean" in [0, 1]. A bin without evidence has "mean" .5.

    Warns
    -----
    FastbinWarning
        If a map did not converge, naming it.

    Notes
    -----
    Time O(J). Sums are NumPy's own, so that the values depend on no number of threads.
    """
    scale = n / float(cells.counts.sum()) if np.asarray(cells.counts).dtype.kind == "f" else 1.0
    counts, ones = np.asarray(cells.counts, np.float64) * scale, np.asarray(cells.ones, np.float64) * scale
    sizes = np.diff(np.append(first_step, len(counts)))
    evidence = np.asarray(bin_counts, np.float64) * scale, np.asarray(bin_label_sums, np.float64) * scale
    bins = _Bins(np.asarray(first_step, np.int64), sizes, *evidence)
    if values in BIN_MEANS:
        steps = bins.spread(_bin_means(bins, half=0.5 if values == "jeffreys" else 0.0))
    else:
        exponents = MAPS[values](MapCells.of(np.asarray(cells.scores, np.float64), counts, ones, n, score_range))
        steps = 1.0 / (1.0 + np.exp(-np.clip(exponents, -GREATEST_LOGIT, GREATEST_LOGIT)))
        half_step = 0.5 / (n + 1.0)
        steps = np.clip(steps + _shifts(steps, counts, bins, recentre), half_step, 1.0 - half_step)
    return _pooled(steps, counts) if monotone else steps


def _bin_means(bins: _Bins, half: float) -> Float64s:
    totals = bins.counts + 2.0 * half
    return np.divide(bins.label_sums + half, totals, out=np.full_like(totals, 0.5), where=totals > 0.0)


def _shifts(steps: Float64s, counts: Float64s, bins: _Bins, recentre: str) -> Float64s:
    """What is added to each step: a share kappa of the distance from its bin's mean value to its bin's mean label.

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
