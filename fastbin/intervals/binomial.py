"""Intervals for the frequency of label 1 in a bin whose count is fixed: label sum ~ Binomial(count, frequency).

And the level of each of several bins, by which they share one failure probability.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.checks import check_count, check_level
from fastbin._base.docstrings import shared_docs
from fastbin.intervals._beta import beta_quantile, special_functions
from fastbin.intervals._tally import around, as_tally


def clopper_pearson(label_sums: Any, counts: Any, alpha: float) -> Float64s:
    """The exact binomial interval of Clopper and Pearson (1934).

    The interval of all frequencies that neither one-sided binomial test rejects at level alpha / 2. It covers with
    probability at least 1 - alpha for every count and every frequency. Labels must be 0 or 1. It is not valid for bins whose
    edges were chosen by looking at the labels, nor for importance-weighted samples.

    Parameters
    ----------
    label_sums : array of int, shape (n_bins,)
        Samples with label 1 in each bin, between 0 and the count.
    counts : array of int, shape (n_bins,)
        Samples in each bin. A bin with none gets [0, 1].
    alpha : float
        Failure probability of each bin, from 1e-110 to 1/2.

    Returns
    -------
    ndarray of float64, shape (n_bins, 2)
        Lower and upper ends in [0, 1]; exactly 0 at a label sum of 0, exactly 1 at a full one.

    Raises
    ------
    InputError, InputTypeError
        When a label sum is negative or above its count, a count is above 2**53, lengths differ, or a type is wrong.

    Notes
    -----
    The ends are quantiles of Beta(x, n - x + 1) at alpha/2 and Beta(x + 1, n - x) at 1 - alpha/2, checked: the tail beyond an
    end is alpha / 2 up to a millionth of it, or the end is the next double outwards. O(n_bins) time and memory.

    Examples
    --------
    >>> clopper_pearson([3, 0], [10, 10], alpha=0.05).round(4)
    array([[0.0667, 0.6525],
           [0.    , 0.3085]])
    """
    sums, sizes, *_ = as_tally(label_sums, counts)
    tail = check_level(alpha) / 2.0
    # Of the rarer label: its ends are the smaller numbers, with digits to spare. The others mirror them.
    rarer = np.minimum(sums, sizes - sums).astype(np.float64)
    lower = np.where(rarer > 0, beta_quantile(np.maximum(rarer, 1.0), sizes - rarer + 1.0, tail, upper=False), 0.0)
    upper = np.where(rarer < sizes, beta_quantile(rarer + 1.0, np.maximum(sizes - rarer, 1.0), tail, upper=True), 1.0)
    mirrored = sums > rarer
    return np.stack(
        [np.where(mirrored, _complement(upper, 0.0), lower), np.where(mirrored, _complement(lower, 1.0), upper)], axis=1
    )


def _complement(ends: Float64s, outwards: float) -> Float64s:
    """1 - end, rounded towards `outwards`: at levels of 1e-12 and below a rounding inwards is visible."""
    results = 1.0 - ends
    inside = 1.0 - results > ends if outwards == 1.0 else 1.0 - results < ends
    return np.where(inside, np.nextafter(results, outwards), results)


@shared_docs(clopper_pearson.__doc__)
def hoeffding(label_sums: Any, counts: Any, alpha: float) -> Float64s:
    """Hoeffding's interval: mean +- sqrt(ln(2 / alpha) / (2 count)), cut to [0, 1].

    The bound behind every closed formula of Gupta & Ramdas 2021 (equation (17)). Valid for any labels in [0, 1]. For 0/1
    labels `clopper_pearson` is narrower: by a fifth at a frequency of one half, by half where label 1 is rare.

    {Parameters}

    Returns
    -------
    ndarray of float64, shape (n_bins, 2)
        Lower and upper ends in [0, 1].

    {Raises}

    Examples
    --------
    >>> hoeffding([30], [100], alpha=0.1).round(4)
    array([[0.1776, 0.4224]])
    """
    _, sizes, filled, means = as_tally(label_sums, counts)
    radii = np.sqrt(math.log(2.0 / check_level(alpha)) / (2.0 * filled))
    return around(means, np.where(sizes > 0, radii, 1.0))


@shared_docs(hoeffding.__doc__)
def empirical_bernstein(label_sums: Any, counts: Any, alpha: float) -> Float64s:
    """Empirical Bernstein interval (Gupta, Podkopaev & Ramdas 2020, Theorem 4), cut to [0, 1].

    mean +- (sqrt(2 V ln(3 / alpha) / count) + 3 ln(3 / alpha) / count), where V = mean (1 - mean) is the biased variance of
    the labels. The theorem covers B bins at once by a union bound: pass ``bonferroni(alpha, B)`` to get its ln(3B/alpha).
    The first term shrinks where labels are nearly all alike; the second one makes the interval wider than Hoeffding's
    for small counts.

    {Parameters}

    {Returns}

    {Raises}

    Examples
    --------
    >>> empirical_bernstein([0, 500], [200, 1000], alpha=0.01).round(4)
    array([[0.    , 0.0856],
           [0.4295, 0.5705]])
    """
    _, sizes, filled, means = as_tally(label_sums, counts)
    log_term = math.log(3.0 / check_level(alpha))
    radii = np.sqrt(2.0 * means * (1.0 - means) * log_term / filled) + 3.0 * log_term / filled
    return around(means, np.where(sizes > 0, radii, 1.0))


@shared_docs(clopper_pearson.__doc__)
def wilson(label_sums: Any, counts: Any, alpha: float) -> Float64s:
    """Wilson's score interval (1927): APPROXIMATE, it may cover less often than 1 - alpha, and no certificate uses it.

    For plots and for comparison with other software. The interval inverts the normal approximation of the score test.

    Parameters
    ----------
    {label_sums}
    {counts}
    alpha : float
        Nominal failure probability of each bin, strictly between 0 and 1.

    Returns
    -------
    ndarray of float64, shape (n_bins, 2)
        Lower and upper ends in [0, 1]; exactly 0 at a label sum of 0, exactly 1 at a full one.

    {Raises}

    Examples
    --------
    >>> wilson([3], [10], alpha=0.05).round(4)
    array([[0.1078, 0.6032]])
    """
    sums, sizes, filled, means = as_tally(label_sums, counts)
    z = -float(special_functions().ndtri(check_level(alpha) / 2.0))
    centres = (means + z * z / (2.0 * filled)) / (1.0 + z * z / filled)
    radii = z * np.sqrt(means * (1.0 - means) / filled + (z / (2.0 * filled)) ** 2) / (1.0 + z * z / filled)
    intervals = around(centres, radii)
    intervals[sums == 0, 0] = 0.0
    intervals[sums == sizes, 1] = 1.0
    intervals[sizes == 0] = 0.0, 1.0
    return intervals


def sidak(alpha: float, n_bins: int) -> float:
    """The failure probability per bin that gives `alpha` over `n_bins` independent bins: 1 - (1 - alpha)^(1/n_bins).

    Given where the samples fell, the label sums of different bins are independent (Gupta & Ramdas 2021, Lemma 2 and the
    Markov property in its proof), so the product form holds with equality and nothing is lost to a union bound.

    Parameters
    ----------
    alpha : float
        Failure probability over all bins, from 1e-110 to 1/2.
    n_bins : int
        At least 1.

    Returns
    -------
    float
        Failure probability of one bin.

    Raises
    ------
    InputError, InputTypeError
        When an argument is outside its range or of the wrong type.

    Examples
    --------
    >>> round(sidak(0.1, 10), 6)
    0.010481
    """
    alpha, n_bins = check_level(alpha), check_count(n_bins, "n_bins")
    if n_bins == 1:
        return alpha
    return -math.expm1(math.log1p(-alpha) / n_bins)


@shared_docs(sidak.__doc__)
def bonferroni(alpha: float, n_bins: int) -> float:
    """The failure probability per bin that gives `alpha` over `n_bins` bins that may depend on each other: alpha / n_bins.

    {Parameters}

    {Returns}

    {Raises}

    Examples
    --------
    >>> bonferroni(0.1, 10)
    0.01
    """
    return check_level(alpha) / check_count(n_bins, "n_bins")
