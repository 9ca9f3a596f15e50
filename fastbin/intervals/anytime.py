"""Intervals that hold at every count of a growing bin at once, however often they are computed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fastbin._base.array_types import Bools, Float64s
from fastbin._base.checks import check_labels, check_level, check_number
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError, InputTypeError
from fastbin.intervals.binomial import around, as_sums, as_tally, neighbouring_doubles, special_functions

# The polynomial stitched boundary of Howard, Ramdas, McAuliffe & Sekhon (2021, Theorem 1) with eta = e, s = 1.4, m = 1 and
# c = 1. Gupta, Podkopaev & Ramdas 2020 print (sqrt(e) + 1) / sqrt(2) for the second constant: safe, but looser.
_K1 = (math.exp(0.25) + math.exp(-0.25)) / math.sqrt(2.0)
_K2 = (math.sqrt(math.e) + 1.0) / 2.0
_ZETA = 3.1055472779775806  # Riemann zeta at 1.4

# Beyond, what the difference of two logarithms of the beta function loses would show in an interval.
MOST_PRIOR = 1e6


def running_variance(labels: Any) -> float:
    """The variance process of Gupta, Podkopaev & Ramdas 2020, equation (20), before its clipping at 1.

    The sum over the labels of (label - mean of the labels before it)^2. The paper leaves the mean before the first label
    undefined; it is 1/2 here, which any fixed number in [0, 1] would do. The value depends on the order of the labels.

    Parameters
    ----------
    labels : array-like of 0 and 1, shape (n_samples,)
        Labels of one bin in order of arrival. May be empty.

    Returns
    -------
    float
        Between 0 and n_samples.

    Raises
    ------
    InputError, InputTypeError
        When a label is neither 0 nor 1.

    Examples
    --------
    >>> round(running_variance([0, 1, 1, 0, 1, 0, 0, 1, 1, 1]), 9)
    3.578505921
    """
    y = check_labels(labels).astype(np.float64)
    means = np.append(0.5, np.cumsum(y)[:-1] / np.arange(1, y.size))  # before each label; without labels the sum is 0
    return float(np.sum((y - means) ** 2))


def _stitched_boundary(variances: Float64s, alpha: float) -> Float64s:
    iterated = 1.4 * np.log1p(np.log(variances)) + math.log(2.0 * _ZETA / alpha)
    return np.sqrt(_K1**2 * variances * iterated + (_K2 * iterated) ** 2) + _K2 * iterated


def stitched(label_sums: Any, counts: Any, running_variances: Any, alpha: float) -> Float64s:
    """Time-uniform interval from the stitched boundary of Howard et al. (2021), which Theorem 6 simplifies.

    mean +- u(V) / count with u(V) = sqrt(k1^2 V l + k2^2 l^2) + k2 l and l = 1.4 ln ln(e V) + ln(2 zeta(1.4) / alpha),
    where V is the running variance clipped at 1. Valid for labels in [0, 1]; 1.7 to 2.3 times narrower than `theorem6` from 500
    labels on. For 0/1 labels `beta_binomial` needs no running variance, and is narrower still up to some 100,000 labels in a
    bin.

    Parameters
    ----------
    label_sums, counts : array of int, shape (n_bins,)
        The tally so far. A bin with no sample gets [0, 1].
    running_variances : array of float, shape (n_bins,)
        Equation (20) for each bin, clipped at 1 or not (`running_variance`).
    alpha : float
        Failure probability of each bin over all times, from 1e-110 to 1/2.

    Returns
    -------
    ndarray of float64, shape (n_bins, 2)
        Lower and upper ends in [0, 1].

    Raises
    ------
    InputError, InputTypeError
        When an argument has the wrong type, length or range.

    Examples
    --------
    >>> stitched([500], [1000], [250.0], alpha=0.01).round(4)
    array([[0.4176, 0.5824]])
    """
    return _around_means(label_sums, counts, running_variances, alpha, _stitched_boundary)


@shared_docs(stitched.__doc__)
def theorem6(label_sums: Any, counts: Any, running_variances: Any, alpha: float) -> Float64s:
    """Time-uniform interval of Gupta, Podkopaev & Ramdas 2020, Theorem 6, as printed in equation (21).

    mean +- (7 sqrt(V ln(1 + ln V)) + 5.3 ln(6.3 / alpha)) / count, where V is the running variance clipped at 1. The theorem
    covers B bins by a union bound: pass ``bonferroni(alpha, B)`` to get its ln(6.3 B / alpha). The printed radius does not
    follow from the boundary it simplifies once alpha is below about 2e-26, where it can fall under that boundary; the larger
    of the two is returned, so the interval is valid for every alpha. Kept for comparison: `beta_binomial` is narrower by
    a factor from 2.4 to 3.5, up to 4.7 where all labels are equal.

    {Parameters}

    {Returns}

    {Raises}

    Examples
    --------
    >>> theorem6([500], [1000], [250.0], alpha=0.01).round(4)
    array([[0.3143, 0.6857]])
    """
    return _around_means(label_sums, counts, running_variances, alpha, _theorem6_boundary)


def _theorem6_boundary(variances: Float64s, alpha: float) -> Float64s:
    printed = 7.0 * np.sqrt(variances * np.log1p(np.log(variances))) + 5.3 * math.log(6.3 / alpha)
    return np.maximum(printed, _stitched_boundary(variances, alpha))


def _around_means(
    label_sums: Any, counts: Any, running_variances: Any, alpha: float, boundary: Callable[[Float64s, float], Float64s]
) -> Float64s:
    """The means +- boundary / count, cut to [0, 1]."""
    _, sizes, filled, means = as_tally(label_sums, counts)
    variances = np.maximum(as_sums(running_variances, "running_variances", sizes.shape), 1.0)
    return around(means, boundary(variances, check_level(alpha)) / filled)  # above 1 without a sample


@shared_docs(stitched.__doc__)
def beta_binomial(label_sums: Any, counts: Any, alpha: float, *, prior: tuple[float, float] = (0.5, 0.5)) -> Float64s:
    """Time-uniform interval from the beta-binomial mixture martingale.

    For the true frequency p, M(p) = Beta(a + x, b + n - x) / Beta(a, b) / (p^x (1 - p)^(n - x)) is a non-negative martingale of
    mean 1 in the number n of samples (a mixture of likelihood ratios). By Ville's inequality M(p) stays below 1 / alpha
    at all times with probability at least 1 - alpha, so the interval {p: M(p) < 1 / alpha} covers p at every n at once. The
    labels of a bin must be 0 or 1, independent, and of one frequency. The streams of different bins are independent given
    where the samples fell, so ``sidak(alpha, n_bins)`` covers all bins. Intervals of different times may be intersected.

    Parameters
    ----------
    {label_sums, counts}
    {alpha}
    prior : pair of float
        a and b of the mixing Beta distribution, both positive, at most 1e6, and chosen before the data. (0.5, 0.5) loses
        little anywhere.

    {Returns}

    {Raises}

    Notes
    -----
    Both ends by bisection down to neighbouring doubles, taken outwards: O(n_bins) memory, about 60 passes over the bins. They
    are within 1e-11 of the exact ends up to counts of 1e8 with parts of `prior` up to 1,000, and within 1e-9 up to 1e12, beyond
    which the interval is narrow and logarithms lose digits: within 1e-7 up to 2**53. Exactly 0 at a label sum of 0, and exactly
    1 at a full one.

    Examples
    --------
    >>> beta_binomial([3, 500], [10, 1000], alpha=0.05).round(4)
    array([[0.0325, 0.7476],
           [0.4424, 0.5576]])
    """
    betaln = special_functions().betaln
    sums, sizes, *_ = as_tally(label_sums, counts)
    remedy = "both parameters of the mixing distribution must be positive, and at most 1e6"
    if not hasattr(prior, "__len__") or len(prior) != 2:
        raise InputTypeError(f"is {prior!r}, and no pair of numbers", remedy, argument="prior", value=prior)
    a, b = (check_number(part, "prior") for part in prior)
    if not (0.0 < a <= MOST_PRIOR and 0.0 < b <= MOST_PRIOR):
        raise InputError(f"is ({a!r}, {b!r})", remedy, argument="prior")
    threshold = -math.log(check_level(alpha))
    ones, zeros = sums.astype(np.float64), (sizes - sums).astype(np.float64)
    evidence = betaln(a + ones, b + zeros) - betaln(a, b) - threshold
    lower = _mixture_end(ones, zeros, evidence)
    upper = 1.0 - _mixture_end(zeros, ones, evidence)
    return np.stack([lower, upper], axis=1)


def _mixture_end(ones: Float64s, zeros: Float64s, evidence: Float64s) -> Float64s:
    """The largest p below the mean with ln M(p) still at or above the threshold; 0 where `ones` is 0."""
    special = special_functions()

    def is_rejected(p: Float64s) -> Bools:
        return np.asarray(evidence - special.xlogy(ones, p) - special.xlog1py(zeros, -p) >= 0.0)

    return neighbouring_doubles(np.zeros_like(ones), ones / np.maximum(ones + zeros, 1.0), is_rejected)[0]
