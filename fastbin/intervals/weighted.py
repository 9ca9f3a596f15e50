"""Intervals for a bin's frequency of label 1 under importance weights.

A sample of weight w stands for w samples of the target population (covariate shift: w is the density ratio; a survey: the
inverse of the chance of being sampled). The target frequency theta of a bin solves E[w (Y - theta)] = 0 over the bin's
samples. The weights must be known, not estimated, and at most `weight_bound` in the whole population of the bin, not merely in
the sample. Choosing the edges by label-free, weight-free ranks of the same samples is allowed: given the edges, the pairs
(w, Y) of a bin are independent draws (Gupta & Ramdas 2021, Lemma 2, applied to pairs).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from fastbin._base.array_types import Array, Bools, Float64s, Int64s, UInt8s
from fastbin._base.checks import (
    MOST_BINS,
    check_count,
    check_labels,
    check_level,
    check_number,
    check_same_length,
    check_sample_weight,
    refuse_first,
)
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError, InputTypeError
from fastbin._base.frames import check_same_index
from fastbin.intervals.binomial import around, as_sums, halved, opened, tails_of

# Sums of weights, of their squares and of those with label 1 may be off by so much.
ROUNDING = 1e-9
# Halvings of a bisection on [0, 1].
HALVINGS = 46


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
        When a sum is negative or not finite, lengths differ, alpha or a bound is out of range, or a bound is below the mean
        weight of its bin.

    Examples
    --------
    >>> self_normalised_hoeffding([190.0], [300.0], [300], alpha=0.05, weight_bound=1.5).round(4)
    array([[0.5157, 0.7509]])
    """
    means, mean_weights, filled, known = weighted_means(weighted_label_sums, weight_sums, counts)
    limits = positive_per_bin(weight_bound, means.shape[0], "weight_bound")
    _refuse_beyond(known & (mean_weights > limits * (1.0 + ROUNDING)), mean_weights, limits, "weight_bound")
    return self_normalised(means, mean_weights, filled, known, limits, alpha)


def self_normalised(
    means: Float64s, mean_weights: Float64s, filled: Float64s, known: Bools, limits: Float64s, alpha: float
) -> Float64s:
    """The intervals of `self_normalised_hoeffding`, of what `weighted_means` gives."""
    radii = limits / mean_weights * np.sqrt(math.log(2.0 / check_level(alpha)) / (2.0 * filled))
    return around(means, np.where(known, radii, 1.0))


def _refuse_beyond(bad: Bools, mean_weights: Float64s, limits: Any, argument: str) -> None:
    """Refuse a bound on the weights of a population that the mean weight of a bin refutes."""
    if bad.any():
        b = int(np.argmax(bad))
        limit = float(np.broadcast_to(limits, bad.shape)[b])
        problem = f"is {limit:g}, and the mean weight in bin {b} is {mean_weights[b]:g}"
        raise InputError(problem, "the bound must hold in the whole source population", argument=argument, value=limit)


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
    means, mean_weights, filled, known = weighted_means(weighted_label_sums, weight_sums, counts)
    if not 0.0 < check_number(weight_min, "weight_min") <= check_number(weight_max, "weight_max") < math.inf:
        raise InputError(
            f"is {weight_min!r} and weight_max is {weight_max!r}",
            "Gupta, Podkopaev & Ramdas 2020, Theorem 7 needs 0 < weight_min <= weight_max, and self_normalised_hoeffding "
            "needs no lower bound",
            argument="weight_min",
            value=weight_min,
        )
    _refuse_beyond(known & (mean_weights > weight_max * (1.0 + ROUNDING)), mean_weights, weight_max, "weight_max")
    _refuse_beyond(known & (mean_weights < weight_min * (1.0 - ROUNDING)), mean_weights, weight_min, "weight_min")
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

        zero, one = np.zeros(rows.n_bins), np.ones(rows.n_bins)
        return np.where(rejects(zero), halved(rejects, zero, one, HALVINGS)[0], 0.0)

    return np.stack([lower_end(rows.labels), 1.0 - lower_end(1 - rows.labels)], axis=1)


def _theorem10_radius(rows: WeighedRows, masses: Float64s, alpha: float) -> tuple[Float64s, Float64s]:
    """The estimates of equation (40) and the radii of Theorem 10; infinite radii for bins without samples."""
    known = rows.counts > 0
    filled = np.where(known, rows.counts, 1)
    with np.errstate(over="ignore", under="ignore"):  # beyond 1e150 nothing is known, however large they are
        masses = np.minimum(np.ldexp(masses, rows.exponents), 1e150)
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


# The stakes that are bet at once, in multiples of the best one where every sample has the largest weight and the label
# varies as theta (1 - theta) lets it, and what each of them is given. Lighter samples, and outcomes that vary less, are worth
# larger multiples. No stake is so large that a factor falls below 1/20.
_MULTIPLES = 2.0 ** (np.arange(10) / 2.0)
_SHARES = np.array([11.0 / 10.0 / ((j + 1) * (j + 2)) for j in range(10)])
_BOLDEST = 0.95


@shared_docs(weighted_empirical_bernstein.__doc__)
def betting(
    weights: Any,
    labels: Any,
    alpha: float,
    weight_bound: Any,
    *,
    stakes: tuple[float, ...] | None = None,
    bins: Any = None,
    n_bins: int | None = None,
) -> Float64s:
    """Bets against theta whose fortune, if theta is true, has mean 1: theta is rejected when the fortune reaches 2 / alpha.

    The fortune is a mean, over stakes l, of the products over samples of 1 + l (w / U)(Y - theta), which is at least 0 and has
    mean 1 at the true theta; so Markov's inequality bounds the chance of a miss. The same with labels exchanged gives the
    other end. The stakes are c sqrt(2 ln(2 / alpha) / (count theta (1 - theta))), at most 0.95 / theta, for c = 1, sqrt 2, 2,
    ..., 16 sqrt 2, of which the j-th, from 0, is given a share in proportion to 1 / ((j + 1)(j + 2)). The result does not
    depend on the order of the samples.

    {Parameters}
    stakes : tuple of float, optional
        Fractions k in (0, 1), chosen before the data: equal shares bet k / theta.

    {Returns}

    {Raises}

    Notes
    -----
    The fortune falls as theta rises, so each end is found by bisection, to 2^-46. Time O(460 n) for the n different samples of
    a bin.

    Examples
    --------
    >>> betting([0.5, 1.5] * 500, [1, 0] * 500, alpha=0.01, weight_bound=1.5).round(4)
    array([[0.2102, 0.2945]])
    """
    rows = WeighedRows(weights, labels, weight_bound, bins, n_bins)
    if stakes is not None:
        stakes = _check_stakes(stakes)
    threshold = math.log(2.0 / check_level(alpha))
    return np.array([_ends_of_bets(relative, y, threshold, stakes) for relative, y in rows.per_bin()])


def _check_stakes(stakes: Any) -> tuple[float, ...]:
    remedy = "it must hold fractions strictly between 0 and 1"
    try:
        fractions = np.asarray(stakes, np.float64)
    except (TypeError, ValueError):
        raise InputTypeError(None, remedy, argument="stakes", value=stakes) from None
    if fractions.ndim != 1 or not fractions.size or not ((fractions > 0.0) & (fractions < 1.0)).all():
        raise InputError(None, remedy, argument="stakes", value=stakes)
    return tuple(fractions.tolist())


def _ends_of_bets(relative: Float64s, outcomes: Array, threshold: float, stakes: tuple[float, ...] | None = None) -> Float64s:
    """float64 (2,): the ends of the mean, from relative weights and outcomes in [0, 1].

    The factors of the lower end fall as theta rises: that of the outcome z, for a weight of 1, is (1 - z)(1 - l theta) +
    z (1 + l (1 - theta)).
    """
    # Sorted, so that sums are rounded alike in whatever order the samples come; equal ones are one.
    order, n = np.lexsort((outcomes, relative)), len(outcomes)
    weights, values = relative[order], outcomes[order].astype(np.float64)
    starts = np.flatnonzero(np.append(True, (np.diff(weights) != 0.0) | (np.diff(values) != 0.0))) if n else order
    weights, values, repeats = weights[starts], values[starts], np.diff(np.append(starts, n)).astype(np.float64)
    shares = np.log(_SHARES) if stakes is None else np.full(len(stakes), -math.log(len(stakes)))

    def lower_end(values: Float64s) -> float:
        if not np.dot(weights, values) > 0.0:
            return 0.0

        def rejects(theta: Float64s) -> Bools:
            if stakes is None:
                best = math.sqrt(2.0 * threshold / (n * theta * (1.0 - theta)))
                bets = np.minimum(_MULTIPLES * best, _BOLDEST / theta)
            else:
                bets = np.array(stakes) / theta
            gains = weights * (values - theta)
            logs = [repeats @ np.log1p(bet * gains) for bet in bets.tolist()]
            return np.asarray(np.logaddexp.reduce(shares + logs) >= threshold)

        return float(halved(rejects, 0.0, 1.0, HALVINGS)[0])

    return np.array([lower_end(values), 1.0 - lower_end(1.0 - values)])


def ends_of_mean(values: Float64s, level: float, side: str = "both") -> Float64s:
    """float64 (2,): the interval of the mean of independent draws in [0, 1], by the bets of `betting`; [0, 1] for none.

    Does not depend on their order. O(460 n).
    """
    return opened(_ends_of_bets(np.ones(len(values)), values, -math.log(float(tails_of(level, side)))), side)


# ------------------------------------------------------------------------------------------------- weighted samples, checked


class WeighedRows:
    """Weighted samples, checked, labels, and which bin each is in.

    Weights and bounds of a bin are divided by one power of two, `exponents`, so that the bounds are in [1/2, 1) and squares of
    weights next to them do not underflow.
    """

    def __init__(self, weights: Any, labels: Any, weight_bound: Any, bins: Any, n_bins: int | None) -> None:
        check_same_index(weights=weights, labels=labels, bins=bins)
        checked = check_sample_weight(weights, "weights")
        if checked is None:
            raise InputError("is None", "without weights use clopper_pearson", argument="weights")
        self.weights = checked.astype(np.float64)
        self.labels = check_labels(labels)
        self.bins = np.zeros(self.labels.shape[0], dtype=np.int64) if bins is None else np.asarray(bins)
        check_same_length(weights=self.weights, labels=self.labels, bins=self.bins)
        if self.bins.dtype.kind not in "iu" or self.bins.ndim != 1:
            problem = f"has dtype {self.bins.dtype} and shape {self.bins.shape}"
            raise InputTypeError(problem, "bin numbers are integers from 0, one per row", argument="bins")
        n_bins = min(1 + int(self.bins.max(initial=0)), MOST_BINS) if n_bins is None else n_bins
        self.n_bins = check_count(n_bins, "n_bins", maximum=MOST_BINS)
        remedy = f"with n_bins={self.n_bins} it must be from 0 to {self.n_bins - 1}"
        refuse_first((self.bins < 0) | (self.bins >= self.n_bins), "bins", self.bins, remedy)
        self.counts: Int64s = np.bincount(self.bins, minlength=self.n_bins)
        self.bounds = positive_per_bin(weight_bound, self.n_bins, "weight_bound")
        bounds, remedy = self.bounds[self.bins], "the bound must hold in the whole population"
        refuse_first(
            self.weights > bounds, "weights", self.weights, remedy,
            lambda i: f"is {self.weights[i]}, above the weight_bound {bounds[i]} of its bin",
        )  # fmt: skip
        self.bounds, self.exponents = np.frexp(self.bounds)
        self.weights = np.ldexp(self.weights, -self.exponents[self.bins])

    def sums(self, values: Float64s) -> Float64s:
        """The sum of `values` over each bin."""
        return np.bincount(self.bins, weights=values, minlength=self.n_bins).astype(np.float64, copy=False)

    def per_bin(self) -> Iterator[tuple[Float64s, UInt8s]]:
        """Relative weights and labels bin by bin."""
        order = np.argsort(self.bins, kind="stable")
        ends = np.cumsum(self.counts)[:-1]
        relative = (self.weights / self.bounds[self.bins])[order]
        yield from zip(np.split(relative, ends), np.split(self.labels[order], ends), strict=True)


def positive_per_bin(values: Any, n_bins: int, name: str) -> Float64s:
    """One number, or one per bin, as one per bin; positive and finite."""
    try:
        bounds = np.broadcast_to(np.asarray(values, dtype=np.float64), (n_bins,))
    except (TypeError, ValueError) as error:
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
    refuse_first(
        ones > totals * (1.0 + ROUNDING), "weighted_label_sums", ones, "it is the part of weight_sums whose label is 1",
        lambda b: f"is {ones[b]:g}, more than the weight_sums {totals[b]:g} of its bin",
    )  # fmt: skip
    known = (totals > 0.0) & (sizes > 0.0)
    means = np.clip(np.where(known, ones / np.where(known, totals, 1.0), 0.5), 0.0, 1.0)
    filled = np.where(known, sizes, 1.0)
    return means, np.where(known, totals / filled, 1.0), filled, known
