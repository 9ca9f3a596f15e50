"""Intervals for a bin's frequency of label 1 under importance weights.

A sample of weight w stands for w samples of the target population (covariate shift: w is the density ratio; a survey: the
inverse of the chance of being sampled). The target frequency theta of a bin solves E[w (Y - theta)] = 0 over the bin's
samples. The weights must be known, not estimated, and at most `weight_bound` in the whole population of the bin, not merely in
the sample. Choosing the edges by label-free, weight-free ranks of the same samples is allowed: given the edges, the pairs
(w, Y) of a bin are independent draws (Gupta & Ramdas 2021, Lemma 2, applied to pairs).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fastbin._base.array_types import Bools, Float64s, Int64s, UInt8s
from fastbin._base.checks import (
    check_count,
    check_labels,
    check_level,
    check_same_length,
    check_sample_weight,
    check_seed,
    refuse_first,
)
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError, InputTypeError
from fastbin._base.frames import check_same_index
from fastbin.intervals.binomial import around, as_sums, opened, tails_of


def self_normalised_hoeffding(
    weighted_label_sums: Any, weight_sums: Any, counts: Any, alpha: float, weight_bound: Any
) -> Float64s:
    """Hoeffding's inequality for w (Y - theta), solved for theta.

    sum wY / sum w +- (U / mean weight) sqrt(ln(2 / alpha) / (2 count)), cut to [0, 1]: w (Y - theta) lies in an interval of
    length U, the weight bound. Unlike Gupta, Podkopaev & Ramdas 2020, Theorem 7, it needs no lower bound on the weight and has
    no unnamed constant.

    Parameters
    ----------
    weighted_label_sums, weight_sums : array of float, shape (n_bins,)
        Sums of w Y and of w over each bin.
    counts : array of int, shape (n_bins,)
        Samples in each bin.
    alpha : float
        Failure probability of each bin, from 1e-110 to 1/2.
    weight_bound : float or array of float, shape (n_bins,)
        The largest weight in the population (of each bin, where known: it makes the interval narrower).

    Returns
    -------
    ndarray of float64, shape (n_bins, 2)
        Lower and upper ends in [0, 1]; [0, 1] for a bin without weight.

    Raises
    ------
    InputError
        When a sum is negative or not finite, lengths differ, or alpha or a bound is out of range.

    Examples
    --------
    >>> self_normalised_hoeffding([190.0], [300.0], [300], alpha=0.05, weight_bound=1.5).round(4)
    array([[0.5157, 0.7509]])
    """
    means, mean_weights, filled, known = weighted_means(weighted_label_sums, weight_sums, counts)
    limits = positive_per_bin(weight_bound, means.shape[0], "weight_bound")
    radii = limits / mean_weights * np.sqrt(math.log(2.0 / check_level(alpha)) / (2.0 * filled))
    return around(means, np.where(known, radii, 1.0))


@shared_docs(self_normalised_hoeffding.__doc__)
def theorem7(
    weighted_label_sums: Any, weight_sums: Any, counts: Any, alpha: float, weight_min: float, weight_max: float
) -> Float64s:
    """Gupta, Podkopaev & Ramdas 2020, Theorem 7, with the constant that its proof gives.

    For weights between L > 0 and U, with r = sqrt(ln(6 / alpha) / (2 count)): sum wY / sum w +- (U / L)(1 + 2 U / L) r, where
    U r < L / 2. The theorem covers B bins by a union bound: pass ``bonferroni(alpha, B)`` to get its ln(6 B / alpha). The paper
    says that its constant is explicit and does not give it; this is the result of Steps 2 to 4 of the proof, with the bin's
    count in place of n / B. Kept for comparison: it says nothing until counts are in the thousands.

    Parameters
    ----------
    {weighted_label_sums, weight_sums}
    {counts}
    {alpha}
    weight_min, weight_max : float
        L and U, bounds on the weight in the population, 0 < L <= U.

    Returns
    -------
    ndarray of float64, shape (n_bins, 2)
        Lower and upper ends in [0, 1]; [0, 1] where the count is too small for the theorem.

    {Raises}

    Examples
    --------
    >>> theorem7([4500.0], [9000.0], [9000], alpha=0.01, weight_min=0.5, weight_max=1.5).round(4)
    array([[0.1041, 0.8959]])
    """
    means, _, filled, known = weighted_means(weighted_label_sums, weight_sums, counts)
    if not 0.0 < weight_min <= weight_max < math.inf:
        raise InputError(
            f"is {weight_min!r} and weight_max is {weight_max!r}",
            "Gupta, Podkopaev & Ramdas 2020, Theorem 7 needs 0 < weight_min <= weight_max, and self_normalised_hoeffding "
            "needs no lower bound",
            argument="weight_min",
            value=weight_min,
        )
    slack = np.sqrt(math.log(6.0 / check_level(alpha)) / (2.0 * filled))
    ratio = weight_max / weight_min
    holds = known & (weight_max * slack < weight_min / 2.0)
    return around(means, np.where(holds, ratio * (1.0 + 2.0 * ratio) * slack, 1.0))


@shared_docs(self_normalised_hoeffding.__doc__)
def weighted_empirical_bernstein(
    weights: Any, labels: Any, alpha: float, weight_bound: Any, *, bins: Any = None, n_bins: int | None = None
) -> Float64s:
    """Empirical Bernstein inequality for w (Y - theta), solved for theta.

    The interval from the smallest to the largest theta that satisfies |mean of Z| <= sqrt(2 V ln(3 / alpha) / count) +
    3 U ln(3 / alpha) / count, where Z = w (Y - theta) and V is its biased variance (Audibert, Munos & Szepesvari 2009, as in
    Gupta, Podkopaev & Ramdas 2020, Theorem 4). No mass of a bin need be known.

    Parameters
    ----------
    weights, labels : array-like, shape (n_samples,)
        Weights in [0, weight_bound], labels 0 or 1.
    {alpha}
    weight_bound : float or array of float, shape (n_bins,)
        U, the largest weight in the population (of each bin, where known).
    bins : array of int, shape (n_samples,), optional
        The bin of each sample, from 0; by default all are in one.
    n_bins : int, optional
        By default one more than the largest bin number.

    {Returns}

    Raises
    ------
    InputError, InputTypeError
        When a weight is negative, not finite or above the bound, a label is not 0 or 1, or an argument is out of range.

    Notes
    -----
    Below the mean, the mean of Z minus the right-hand side is concave in theta. So the rejected values there form an interval;
    it matters only where it contains 0, and then bisection finds its end. O(n_samples + n_bins).

    Examples
    --------
    >>> weighted_empirical_bernstein([0.5, 1.5] * 500, [1, 0] * 500, alpha=0.01, weight_bound=1.5).round(4)
    array([[0.1876, 0.3194]])
    """
    rows = WeighedRows(weights, labels, weight_bound, bins, n_bins)
    filled = np.maximum(rows.counts, 1)
    log_term = math.log(3.0 / check_level(alpha)) / filled
    weight, square = rows.sums(rows.weights) / filled, rows.sums(rows.weights**2) / filled

    def lower_end(labels_of_side: UInt8s) -> Float64s:
        product, square_product = (rows.sums(rows.weights**k * labels_of_side) / filled for k in (1, 2))

        def rejects(theta: Float64s) -> Bools:
            mean = product - theta * weight
            variance = np.maximum(square_product * (1.0 - 2.0 * theta) + square * theta**2 - mean**2, 0.0)
            return np.asarray(mean > np.sqrt(2.0 * variance * log_term) + 3.0 * rows.bounds * log_term)

        at_zero = rejects(np.zeros(rows.n_bins))
        return np.where(at_zero, last_rejected(rejects, rows.n_bins), 0.0)

    return np.stack([lower_end(rows.labels), 1.0 - lower_end(1 - rows.labels)], axis=1)


def _theorem10_radius(rows: WeighedRows, masses: Float64s, alpha: float) -> tuple[Float64s, Float64s]:
    """The estimates of equation (40) and the radii of Theorem 10; infinite radii for bins without samples."""
    known = rows.counts > 0
    filled = np.where(known, rows.counts, 1)
    estimates = masses * rows.sums(rows.weights * rows.labels) / filled
    variances = np.maximum(masses**2 * rows.sums(rows.weights**2 * rows.labels) / filled - estimates**2, 0.0)
    log_term = math.log(3.0 / alpha)
    radii = np.sqrt(2.0 * variances * log_term / filled) + 3.0 * masses * rows.bounds * log_term / filled
    return estimates, np.where(known, radii, math.inf)


@shared_docs(weighted_empirical_bernstein.__doc__)
def theorem10(
    weights: Any,
    labels: Any,
    alpha: float,
    weight_bound: Any,
    relative_mass: Any,
    *,
    n_bins: int | None = None,
    bins: Any = None,
) -> Float64s:
    """Gupta, Podkopaev & Ramdas 2020, Theorem 10: empirical Bernstein around the unbiased estimate (40).

    The estimate is the mean of m w Y, where m = P(bin) / P_target(bin) must be known; it may exceed 1. The radius is
    sqrt(2 V ln(3 / alpha) / count) + 3 m U ln(3 / alpha) / count with the biased variance V of m w Y. The theorem covers B bins
    by a union bound: pass ``bonferroni(alpha, B)``.

    Parameters
    ----------
    {weights, labels}
    {alpha}
    {weight_bound}
    relative_mass : float or array of float, shape (n_bins,)
        m, the mass of the bin at the source over its mass at the target; positive.
    {bins}
    {n_bins}

    Returns
    -------
    ndarray of float64, shape (n_bins, 2)
        Lower and upper ends in [0, 1]; [0, 1] for a bin without samples.

    {Raises}

    Examples
    --------
    >>> theorem10([0.5, 1.5] * 500, [1, 0] * 500, alpha=0.01, weight_bound=1.5, relative_mass=1.0).round(4)
    array([[0.1976, 0.3024]])
    """
    rows = WeighedRows(weights, labels, weight_bound, bins, n_bins)
    masses = positive_per_bin(relative_mass, rows.n_bins, "relative_mass")
    estimates, radii = _theorem10_radius(rows, masses, check_level(alpha))
    return around(estimates, radii)


# ------------------------------------------------------------------------------------------------- by betting


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


def ends_of_mean(values: Float64s, level: float, side: str = "both") -> Float64s:
    """float64 (2,): the interval of the mean of independent draws in [0, 1], in random order, as that of `betting_in_order`.

    Their factors 1 + l (z - theta), with l at most 0.75 / theta, are positive and have mean 1 at the true theta for any law of
    the draws. [0, 1] for none. O(46 n).
    """
    if not len(values):
        return np.array([0.0, 1.0])
    threshold, weights = -math.log(float(tails_of(level, side))), np.ones(len(values))
    stakes = _stakes_in_order(weights, values, threshold)
    low, high = (_last_overtaken(weights, each, stakes, threshold) for each in (values, 1.0 - values))
    return opened(np.array([low, 1.0 - high]), side)


# ------------------------------------------------------------------------------------------------- weighted samples, checked


class WeighedRows:
    """Weighted samples, checked: relative weights w / weight_bound in [0, 1], labels, and which bin each is in."""

    def __init__(self, weights: Any, labels: Any, weight_bound: Any, bins: Any, n_bins: int | None) -> None:
        check_same_index(weights=weights, labels=labels, bins=bins)
        checked = check_sample_weight(weights, "weights")
        if checked is None:
            raise InputError("is None", "without weights use clopper_pearson", argument="weights")
        self.weights = checked.astype(np.float64)
        self.labels = check_labels(labels)
        self.bins = np.zeros(self.labels.shape[0], dtype=np.int64) if bins is None else np.asarray(bins)
        check_same_length(weights=self.weights, labels=self.labels, bins=self.bins)
        if self.bins.dtype.kind not in "iu":
            raise InputTypeError(f"has dtype {self.bins.dtype}", "bin numbers are integers from 0", argument="bins")
        self.n_bins = check_count(n_bins, "n_bins") if n_bins is not None else 1 + int(self.bins.max(initial=0))
        remedy = f"with n_bins={self.n_bins} it must be from 0 to {self.n_bins - 1}"
        refuse_first((self.bins < 0) | (self.bins >= self.n_bins), "bins", self.bins, remedy)
        self.counts: Int64s = np.bincount(self.bins, minlength=self.n_bins)
        self.bounds = positive_per_bin(weight_bound, self.n_bins, "weight_bound")
        bounds, remedy = self.bounds[self.bins], "the bound must hold in the whole population"
        refuse_first(
            self.weights > bounds, "weights", self.weights, remedy,
            lambda i: f"is {self.weights[i]}, above the weight_bound {bounds[i]} of its bin",
        )  # fmt: skip

    def sums(self, values: Float64s) -> Float64s:
        """The sum of `values` over each bin."""
        return np.bincount(self.bins, weights=values, minlength=self.n_bins).astype(np.float64, copy=False)

    def per_bin(self) -> Iterator[tuple[Float64s, UInt8s]]:
        """Relative weights and labels bin by bin, in order of weight, then label: whatever order the rows were in."""
        order = np.lexsort((self.labels, self.weights, self.bins))
        ends = np.cumsum(self.counts)[:-1]
        relative = (self.weights / self.bounds[self.bins])[order]
        yield from zip(np.split(relative, ends), np.split(self.labels[order], ends), strict=True)


def positive_per_bin(values: Any, n_bins: int, name: str) -> Float64s:
    """One number, or one per bin, as one per bin; positive and finite."""
    try:
        bounds = np.broadcast_to(np.asarray(values, dtype=np.float64), (n_bins,))
    except ValueError as error:
        raise InputError(f"must be one number or one for each of the {n_bins} bins: {error}", argument=name) from error
    bad = bounds[~((bounds > 0.0) & np.isfinite(bounds))]
    if len(bad):
        remedy = "it must be positive and finite, one number or one per bin"
        raise InputError(None, remedy, argument=name, value=float(bad[0]))
    return bounds


def weighted_means(weighted_label_sums: Any, weight_sums: Any, counts: Any) -> tuple[Float64s, Float64s, Float64s, Bools]:
    """Means sum wY / sum w, mean weights, counts, and which bins have any weight; harmless numbers in those that do not."""
    totals = as_sums(weight_sums, "weight_sums")
    ones = as_sums(weighted_label_sums, "weighted_label_sums", totals.shape)
    sizes = as_sums(counts, "counts", totals.shape)
    known = (totals > 0.0) & (sizes > 0.0)
    means = np.clip(np.where(known, ones / np.where(known, totals, 1.0), 0.5), 0.0, 1.0)
    filled = np.where(known, sizes, 1.0)
    return means, np.where(known, totals / filled, 1.0), filled, known


def last_rejected(rejects: Callable[[Float64s], Bools], shape: int | tuple[()]) -> Float64s:
    """Elementwise the largest theta in [0, 1] that is rejected, where all below it are too, by bisection to 2^-46."""
    low, high = np.zeros(shape), np.ones(shape)
    for _ in range(46):
        middle = (low + high) / 2.0
        rejected = rejects(middle)
        low, high = np.where(rejected, middle, low), np.where(rejected, high, middle)
    return low
