"""Intervals for a bin's frequency of label 1 under importance weights, by betting against every candidate.

The setting is that of `fastbin.intervals.weighted`: known weights, at most `weight_bound` in the population of the bin.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fastbin._base.array_types import Bools, Float64s
from fastbin._base.checks import check_level, check_seed
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError
from fastbin.intervals._tally import WeighedRows, last_rejected
from fastbin.intervals.weighted import weighted_empirical_bernstein

# The stakes of `betting`, as fractions of the largest that cannot go bankrupt. The best one is about
# sqrt(2 ln(2 / alpha) / (count variance)): from 0.95 for a handful of samples down to 0.001 for a million.
_STAKES = tuple(float(stake) for stake in np.geomspace(0.001, 0.95, 14))

# The largest fraction that `betting_in_order` stakes, so that no factor falls below 1/4.
_BOLDEST = 0.75


@shared_docs(weighted_empirical_bernstein.__doc__)
def betting(
    weights: Any,
    labels: Any,
    alpha: float,
    weight_bound: Any,
    *,
    stakes: tuple[float, ...] = _STAKES,
    bins: Any = None,
    n_bins: int | None = None,
) -> Float64s:
    """Bets against theta whose fortune, if theta is true, has mean 1: theta is rejected when the fortune reaches 2 / alpha.

    The fortune is the mean over `stakes` k of the products over samples of 1 + k (w / U)(Y / theta - 1), which is at least 0
    and has mean 1 at the true theta; so Markov's inequality bounds the chance of a miss. The same with labels exchanged gives
    the other end. The result does not depend on the order of the samples. `betting_in_order` does, and is narrower by about
    a fifth where weights are within a small factor of each other, but wider where a few samples carry most of the weight.

    {Parameters}
    stakes : tuple of float
        Fractions k in (0, 1), chosen before the data.

    {Returns}

    {Raises}

    Notes
    -----
    The fortune falls as theta rises, so each end is found by bisection, to 2^-46. Time O(46 len(stakes) n), memory
    O(len(stakes) n) for the n different weights of a bin.

    Examples
    --------
    >>> betting([0.5, 1.5] * 500, [1, 0] * 500, alpha=0.01, weight_bound=1.5).round(4)
    array([[0.2066, 0.2992]])
    """
    rows = WeighedRows(weights, labels, weight_bound, bins, n_bins)
    if not stakes or not all(0.0 < stake < 1.0 for stake in stakes):
        raise InputError(None, "it must hold fractions strictly between 0 and 1", argument="stakes", value=stakes)
    threshold = math.log(2.0 / check_level(alpha))
    intervals = np.empty((rows.n_bins, 2))
    for b, (relative, y) in enumerate(rows.per_bin()):
        intervals[b, 0] = _betting_end(relative[y == 1], relative[y == 0], stakes, threshold)
        intervals[b, 1] = 1.0 - _betting_end(relative[y == 0], relative[y == 1], stakes, threshold)
    return intervals


def _betting_end(ones: Float64s, zeros: Float64s, stakes: tuple[float, ...], threshold: float) -> float:
    """The largest theta whose fortune, from relative weights of label 1 and label 0, reaches the threshold."""
    if not ones.any():
        return 0.0
    values, repeats = np.unique(ones, return_counts=True)
    losses = np.array([np.log1p(-stake * zeros).sum() for stake in stakes])

    def rejects(theta: Float64s) -> Bools:
        odds = values * (1.0 / theta - 1.0)
        logs = losses + np.log1p(np.multiply.outer(stakes, odds)) @ repeats
        return np.asarray(np.logaddexp.reduce(logs) - math.log(len(stakes)) >= threshold)

    return float(last_rejected(rejects, ()))


@shared_docs(weighted_empirical_bernstein.__doc__)
def betting_in_order(
    weights: Any, labels: Any, alpha: float, weight_bound: Any, *, bins: Any = None, n_bins: int | None = None, seed: int = 0
) -> Float64s:
    """Bets against theta, one sample after the other, with stakes that depend on the samples before.

    The narrowest here where weights are within a small factor of each other; where rare samples are far heavier than the
    others, `betting` is narrower (half-widths 0.41 and 0.45 for 100 samples, every fiftieth of which weighs fifty times as
    much as the others, at a frequency of 0.5 and the level of one of ten bins).

    The fortune is the product of 1 + l_i w_i (Y_i - theta), with the stake l_i = min(sqrt(2 ln(2 / alpha) / (count s_i^2)),
    0.75 / (U theta)) and s_i^2 a variance estimate from samples before i. At the true theta it is a martingale, so by Ville's
    inequality the chance that it ever reaches 2 / alpha is at most alpha / 2; theta is rejected when it does. The same with
    labels exchanged gives the other end (Waudby-Smith & Ramdas 2024 do so for bounded means). The result depends on the order;
    it is drawn from `seed`, which must be chosen before the data, and not from the order of the rows.

    {Parameters}
    seed : int
        In [0, 2^64).

    {Returns}

    {Raises}

    Notes
    -----
    Every factor falls as theta rises, so the fortune's maximum does, and bisection finds each end to 2^-46.
    O(46 n_samples) time.

    Examples
    --------
    >>> betting_in_order([0.5, 1.5] * 500, [1, 0] * 500, alpha=0.01, weight_bound=1.5).round(4)
    array([[0.2142, 0.2826]])
    """
    rows = WeighedRows(weights, labels, weight_bound, bins, n_bins)
    threshold, seed = math.log(2.0 / check_level(alpha)), check_seed(seed)
    intervals = np.empty((rows.n_bins, 2))
    for b, (relative, y) in enumerate(rows.per_bin()):
        order = np.argsort(np.random.PCG64([seed, b]).random_raw(y.shape[0]), kind="stable")
        w, labels_in_order = relative[order], y[order].astype(np.float64)
        stakes = _stakes_in_order(w, labels_in_order, threshold)
        intervals[b, 0] = _last_overtaken(w, labels_in_order, stakes, threshold)
        intervals[b, 1] = 1.0 - _last_overtaken(w, 1.0 - labels_in_order, stakes, threshold)
    return intervals


def _stakes_in_order(weights: Float64s, labels: Float64s, threshold: float) -> Float64s:
    """The stake for each sample from the samples before it; the same for both ends, since it depends on squares alone."""
    n = weights.shape[0]
    seen_weight, seen_ones = np.cumsum(weights), np.cumsum(weights * labels)
    before = np.concatenate([[0.5], (0.5 + seen_ones[:-1]) / (1.0 + seen_weight[:-1])])
    squares = np.concatenate([[0.0], np.cumsum((weights * (labels - before)) ** 2)[:-1]])
    return np.sqrt(2.0 * threshold * np.arange(1, n + 1) / (n * (0.25 + squares)))


def _last_overtaken(weights: Float64s, labels: Float64s, stakes: Float64s, threshold: float) -> float:
    """The largest theta whose fortune reaches the threshold at some sample."""
    if not np.dot(weights, labels) > 0.0:
        return 0.0

    def rejects(theta: Float64s) -> Bools:
        bets = np.minimum(stakes, _BOLDEST / theta) * weights * (labels - theta)
        return np.asarray(np.cumsum(np.log1p(bets)).max() >= threshold)

    return float(last_rejected(rejects, ()))
