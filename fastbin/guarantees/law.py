"""How far a binomial mean lies from its frequency in the worst case, computed before any label is seen."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.checks import check_count, check_level, check_n_samples, check_unit_interval, refuse_first
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError, InputTypeError
from fastbin.intervals import clopper_pearson, sidak
from fastbin.intervals.binomial import as_counts, beta_quantile, special_functions

# Up to this count every candidate of the worst case is evaluated. Above it the failure probability, a smooth function of the
# candidate's place, is evaluated on a grid of this many points and then on ever finer grids around its maximum.
_SCAN = 4096


def last_where(holds: Callable[[int], bool], low: int, high: int) -> int:
    """By bisection the largest integer with `holds`, from `low`, where it does, to below `high`, where it does not."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def failures_above(candidates: Float64s, n_in_bin: Any, width: Any, epsilon: Any) -> Float64s:
    """P(X <= x) + P(X > x + width) for X ~ Binomial(n_in_bin, x / n_in_bin + epsilon), one per candidate x."""
    betainc = special_functions().betainc
    below, above = n_in_bin - candidates, n_in_bin - candidates - width
    frequency = np.minimum(candidates / n_in_bin + epsilon, 1.0)
    complement = np.maximum(below / n_in_bin - epsilon, 0.0)
    lower_tail = betainc(below, candidates + 1.0, complement)
    upper_tail = np.where(above > 0, betainc(candidates + width + 1.0, np.maximum(above, 1.0), frequency), 0.0)
    return np.asarray(lower_tail + upper_tail)


def _supremum(n_in_bin: int, width: int, epsilon: float, scan: int = _SCAN) -> float:
    """The largest failure probability over all frequencies, when `width` is the number of sums that a frequency accepts.

    As the frequency p moves, the accepted sums {X: |X / n - p| <= epsilon} change at p = x / n +- epsilon only, and between
    two changes their probability rises and then falls. So the infimum of the coverage is a one-sided limit at such a point:
    just above p = x / n + epsilon, where x has dropped out and x + 1 ... x + floor(2 n epsilon) remain, or its mirror image.
    """
    last = math.ceil(n_in_bin * (1.0 - epsilon) * (1.0 + 2.0**-52)) - 1  # beyond it x / n + epsilon reaches 1
    if last < 0:
        return 0.0
    first, worst = 0, 0.0
    if last >= scan:
        edge = np.arange(64.0)
        worst = float(failures_above(np.concatenate([edge, last - edge]), n_in_bin, width, epsilon).max())
    while True:
        step = max(1, (last - first) // (scan // 2)) if last - first >= scan else 1
        candidates = np.arange(first, last + 1, step, dtype=np.float64)
        failures = failures_above(candidates, n_in_bin, width, epsilon)
        peak = int(np.argmax(failures))
        worst = max(worst, float(failures[peak]))
        if step == 1:
            return worst
        centre = int(candidates[peak])
        first, last = max(first, centre - 2 * step), min(last, centre + 2 * step)


def worst_failure(n_in_bin: int, epsilon: float) -> float:
    """The largest probability, over all frequencies p, that a binomial mean lies further than `epsilon` from p.

    Parameters
    ----------
    n_in_bin : int
        Number of samples averaged, at least 1.
    epsilon : float
        Distance, in (0, 1].

    Returns
    -------
    float
        sup over p of P(|X / n_in_bin - p| > epsilon) for X ~ Binomial(n_in_bin, p).

    Raises
    ------
    InputError, InputTypeError
        When an argument is outside its range or of the wrong type.

    Notes
    -----
    O(n_in_bin) incomplete beta functions up to 4096 samples, O(log n_in_bin) batches of them above.

    Examples
    --------
    >>> round(worst_failure(165, 0.1), 4)
    0.0102
    """
    return failure_beyond(check_n_samples(n_in_bin, "n_in_bin"), check_unit_interval(epsilon, "epsilon", open_left=True))


def failure_beyond(n_in_bin: int, epsilon: float, scan: int = _SCAN) -> float:
    """`worst_failure` of checked arguments, with as many points for its first grid."""
    return min(1.0, _supremum(n_in_bin, int(_accepted(n_in_bin, epsilon)), epsilon, scan))


def _accepted(n_in_bin: Any, epsilon: Any) -> Any:
    """The number of sums that lie within epsilon of a frequency, at most; elementwise."""
    # The product is at most one rounding below an exact integer, which the factor makes up for.
    return np.floor(2.0 * n_in_bin * epsilon * (1.0 + 2.0**-52))


def near_failures(sizes: Float64s, epsilons: Float64s) -> Float64s:
    """Failure probabilities of several bins at the frequencies where they are largest: near one half.

    The largest of 16 candidates: in each of 4,000 trials it was that of all, and it is never above it.
    """
    sizes, epsilons = sizes[:, None], epsilons[:, None]
    widths, last = _accepted(sizes, epsilons), np.ceil(sizes * (1.0 - epsilons) * (1.0 + 2.0**-52)) - 1.0
    candidates = np.clip(np.floor((sizes - widths) / 2.0) + np.arange(-1.0, 15.0), 0.0, np.maximum(last, 0.0))
    found = failures_above(candidates, sizes, widths, epsilons).max(axis=1)
    return np.where(last[:, 0] < 0.0, 0.0, np.minimum(found, 1.0))


def failures_beyond(sizes: Float64s, epsilons: Float64s, scan: int) -> Float64s:
    """`failure_beyond` of several bins."""
    return np.array([failure_beyond(int(size), float(epsilon), scan) for size, epsilon in zip(sizes, epsilons, strict=True)])


@shared_docs(worst_failure.__doc__)
def exact_radius(n_in_bin: int, alpha: float) -> float:
    """The smallest epsilon with P(|X / n - p| <= epsilon) >= 1 - alpha for X ~ Binomial(n, p), whatever p is.

    What Hoeffding's inequality bounds by sqrt(ln(2 / alpha) / (2 n)), computed instead: about 30 % smaller at
    alpha = 0.1, 20 % at alpha = 0.01. It is known before any label is seen, so it can decide how many samples or bins to
    take. It is not monotone in n: one more sample can make it a little larger.

    Parameters
    ----------
    {n_in_bin}
    alpha : float
        Failure probability, from 1e-100 to 1/2. For several bins at once pass ``fb.intervals.sidak(alpha, n_bins)``.

    Returns
    -------
    float
        The radius, in (0, 1].

    {Raises}

    Notes
    -----
    The coverage of a radius is its infimum over p, reached as a one-sided limit at one of n points (`worst_failure`), and does
    not decrease with the radius. Where the accepted sums change, at multiples of 1 / (2 n), it jumps; so the multiple is found
    first, in integers, and then, where needed, the radius between two multiples by bisection to 1e-14, rounded up.
    Results are cached; a first call takes milliseconds up to n = 10,000 and tenths of a second at n = 1,000,000.

    Examples
    --------
    >>> exact_radius(20, 0.1)
    0.2
    >>> round(exact_radius(299, 0.1), 4)
    0.0485
    """
    return _exact_radius(check_n_samples(n_in_bin, "n_in_bin"), check_level(alpha))


@lru_cache(maxsize=4096)
def _exact_radius(n_in_bin: int, alpha: float) -> float:
    half_steps = 2 * n_in_bin

    def fails(width: int) -> bool:
        return _supremum(n_in_bin, width, width / half_steps) > alpha

    # Hoeffding's radius is enough.
    low = last_where(fails, 0, min(half_steps, math.ceil(half_steps * math.sqrt(math.log(2.0 / alpha) / half_steps))))
    # Just below (low + 1) / half_steps the accepted sums are those of low. Where they miss 1 - alpha, the jump reaches it.
    left, right = low / half_steps, (low + 1) / half_steps
    if _supremum(n_in_bin, low, right) > alpha:
        return right
    while right - left > 1e-14:
        middle = left + (right - left) / 2.0
        left, right = (left, middle) if _supremum(n_in_bin, low, middle) <= alpha else (middle, right)
    return right


@lru_cache(maxsize=1024)
def one_sided_radius(n_in_bin: int, tail: float) -> float:
    """The least distance that a binomial mean exceeds its frequency by, or falls below it by, with chance `tail` at most.

    With X = x the chance of x or more is `tail` at the lower Clopper-Pearson end and smaller below it, so it is the largest
    distance from x / n to that end. A smooth function of x: from 4096 samples on, found on ever finer grids around its maximum.
    """
    first, last = 0, n_in_bin
    while True:
        step = max(1, (last - first) // (_SCAN // 2)) if last - first >= _SCAN else 1
        candidates = np.arange(first, last + 1, step)
        lower = clopper_pearson(candidates, np.full(len(candidates), n_in_bin), tail, side="lower")[:, 0]
        distances = candidates / n_in_bin - lower
        peak = int(np.argmax(distances))
        if step == 1:
            return float(distances[peak])
        first, last = max(0, int(candidates[peak]) - 2 * step), min(n_in_bin, int(candidates[peak]) + 2 * step)


# ------------------------------------------------------------------------------------------------- the ECE


def _counts(counts: Any, n_samples: int) -> Float64s:
    sizes = as_counts(counts, "counts")
    if sizes.size == 0:
        raise InputTypeError("counts is empty; give one number of samples for each bin")
    bad = (sizes < 0) | (sizes > n_samples)
    refuse_first(bad, "counts", sizes, f"a bin holds between 0 and n_samples = {n_samples} samples")
    return sizes.astype(np.float64)


def mass_upper(counts: Any, n_samples: int, alpha: float) -> Float64s:
    """An upper bound on the probability mass of each bin, from the number of samples between its edges.

    The mass between two order statistics with `count` samples strictly between them has the law Beta(count + 1,
    n_samples - count), whatever the scores' law is; the bound is its 1 - alpha quantile. For a bin fixed in advance
    the same number is the one-sided Clopper-Pearson bound. The last bin is its lower edge and everything above.

    Parameters
    ----------
    counts : array of int, shape (n_bins,)
        Samples strictly between the boundary samples of each bin (or in it, for a partition fixed in advance).
    n_samples : int
        Samples in all, boundary samples included. At least 1.
    alpha : float
        Failure probability of each bin, from 1e-110 to 1/2.

    Returns
    -------
    ndarray of float64, shape (n_bins,)
        Bounds in (0, 1]; 1 where a bin holds every sample.

    Raises
    ------
    InputError, InputTypeError
        When a count is outside [0, n_samples] or a type is wrong.

    Examples
    --------
    >>> mass_upper([99], 1000, alpha=0.001).round(4)
    array([0.1314])
    """
    n_samples = check_count(n_samples, "n_samples")
    sizes = _counts(counts, n_samples)
    quantiles = beta_quantile(sizes + 1.0, np.maximum(n_samples - sizes, 1.0), check_level(alpha), upper=True)
    return np.where(sizes < n_samples, quantiles, 1.0)


@shared_docs(mass_upper.__doc__)
def ece_bound(counts: Any, n_samples: int, alpha: float = 0.1, *, shifts: Any = None, label_sums: Any = None) -> float:
    """A bound on the expected calibration error of a binning that holds with probability at least 1 - alpha.

    Given the edges, changing one label of bin b moves the error by at most p_b / N_b, and its mean is at most sum p_b D(N_b),
    with D(N) the largest mean distance of a binomial mean of N from its frequency; McDiarmid's inequality gives, at level 0.9
    alpha,

        ECE <= sum_b p_b D(N_b) + sqrt(max_b (p_b / N_b) ln(1 / (0.9 alpha)) / 2).

    D(N) is exact, by de Moivre's formula (Diaconis & Zabell 1991; fastbin, Theorem F15): about 0.4 / sqrt(N). The masses p_b
    are replaced by the worst that `mass_upper` allows at level 0.1 alpha over all bins. It needs no label, so it can be
    computed before any is seen: from four bins of some dozen samples on it is below `exact_radius` for all bins at once, from
    ten bins on mostly by a third or more. It assumes the worst case, frequencies of one half.

    With `label_sums` the frequencies are those that Clopper-Pearson intervals at 0.2 alpha over all bins allow: they give the
    mean errors exactly (de Moivre), and the variance for Bernstein's inequality, beside McDiarmid's, at 0.7 alpha (fastbin,
    Theorem F12). Where label 1 is rare this is a half to a third: with 3,000 samples, 10 bins and a rate of 0.001 about 0.015,
    where it is 0.045 without labels. The smaller of both does not hold at alpha.

    Parameters
    ----------
    {counts}
    {n_samples}
    alpha : float
        Failure probability, from 1e-100 to 1/2.
    shifts : array of float, shape (n_bins,), optional
        How far the value of each bin lies from the mean of its labels: 0 by default. For a bin with a count of 0, the largest
        distance that its value can have from its frequency, 1 by default.
    label_sums : array of int, shape (n_bins,), optional
        How many labels of each bin are 1.

    Returns
    -------
    float
        The bound, at most 1.

    Raises
    ------
    InputError, InputTypeError
        When a count is outside [0, n_samples], a label sum outside [0, count], lengths differ, or a type is wrong.

    Examples
    --------
    >>> counts = [100] + [99] * 9
    >>> round(ece_bound(counts, 1000, alpha=0.1), 4)
    0.0802
    >>> round(ece_bound(counts, 1000, alpha=0.1, label_sums=[2] * 10), 4)
    0.0523
    """
    n_samples, alpha = check_count(n_samples, "n_samples"), check_level(alpha)
    sizes = _counts(counts, n_samples)
    filled = sizes > 0
    if shifts is None:
        shift = np.where(filled, 0.0, 1.0)
    else:
        shift = np.atleast_1d(np.asarray(shifts, dtype=np.float64))
        if shift.shape != sizes.shape or not ((shift >= 0.0) & (shift <= 1.0)).all():
            raise InputError(f"shifts must hold one distance in [0, 1] for each of the {sizes.shape[0]} bins")
    return _ece_bound(sizes, n_samples, alpha, shift, None if label_sums is None else _frequencies(label_sums, sizes, alpha))


def ece_bound_before(counts: Any, n_samples: int, alpha: float) -> float:
    """The most that `ece_bound` with label sums can be for values that are the means: at frequencies that may be anything."""
    n_samples, alpha = check_count(n_samples, "n_samples"), check_level(alpha)
    sizes = _counts(counts, n_samples)
    return _ece_bound(sizes, n_samples, alpha, np.where(sizes > 0, 0.0, 1.0), (np.zeros(sizes.shape), np.ones(sizes.shape)))


def _ece_bound(
    sizes: Float64s, n_samples: int, alpha: float, shift: Float64s, frequencies: tuple[Float64s, Float64s] | None
) -> float:
    """For frequencies between these, which fail with 0.2 alpha; for any where there are none."""
    masses = mass_upper(sizes.astype(np.int64), n_samples, 0.1 * alpha / sizes.shape[0])
    filled, safe = sizes > 0, np.maximum(sizes, 1.0)
    moves = np.where(filled, masses / safe, 0.0)
    if frequencies is None:
        mean_errors = largest_mean_deviations(safe)
        deviation = _by_mcdiarmid(moves, math.log(1.0 / (0.9 * alpha)))
    else:
        mean_errors, logarithm = _mean_deviations(safe, *frequencies), math.log(1.0 / (0.7 * alpha))
        deviation = min(_by_bernstein(masses, moves, *frequencies, logarithm), _by_mcdiarmid(moves, logarithm))
    return min(1.0, _filled(masses, np.where(filled, mean_errors, 0.0) + shift) + deviation)


def _frequencies(label_sums: Any, sizes: Float64s, alpha: float) -> tuple[Float64s, Float64s]:
    """The ends of the frequencies of all bins at once, which fail with 0.2 alpha; 0 and 1 without samples."""
    filled, ones = sizes > 0, as_counts(label_sums, "label_sums")
    if ones.shape != sizes.shape:
        raise InputError(f"lengths differ: counts has {sizes.shape[0]}, label_sums has {ones.shape[0]}; every bin needs both")
    refuse_first((ones < 0) | (ones > sizes), "label_sums", ones, "it must be from 0 to the count of its bin")
    ends = np.tile([0.0, 1.0], (len(sizes), 1))
    if filled.any():
        level = sidak(0.2 * alpha, int(np.count_nonzero(filled)))
        ends[filled] = clopper_pearson(ones[filled], sizes[filled].astype(np.int64), level)
    return ends[:, 0], ends[:, 1]


def _filled(masses: Float64s, errors: Float64s) -> float:
    """The largest mean of the errors under masses that sum to 1 and stay below these: the largest are filled first."""
    order = np.argsort(-errors, kind="stable")
    reached = np.minimum(np.cumsum(masses[order]), 1.0)
    return float(np.dot(np.diff(reached, prepend=0.0), errors[order]))


def largest_mean_deviations(sizes: Float64s) -> Float64s:
    """The largest E|X / n - p| for X ~ Binomial(n, p) over all p, elementwise (fastbin, Theorem F15)."""
    return _mean_deviations(sizes, np.zeros(sizes.shape), np.ones(sizes.shape))


def largest_mean_errors(counts: Any, delta: float) -> Float64s:
    """How far a mean of so many labels lies from its frequency on average at most, where values are randomised by delta.

    Randomising adds delta at most, or to the mean square its own.
    """
    sizes = np.asarray(counts, dtype=np.float64)
    return np.minimum(largest_mean_deviations(sizes) + delta, np.sqrt(0.25 / sizes + delta * delta))


def _mean_deviations(sizes: Float64s, low: Float64s, high: Float64s) -> Float64s:
    """At least the largest E|X / n - p| for X ~ Binomial(n, p) over p from `low` to `high`, elementwise.

    For p from (k - 1) / n to k / n it is (2 k / n) C(n, k) p^k (1 - p)^(n - k + 1) (de Moivre), at most that at k / (n + 1).
    From k to k + 1 these maxima grow by h(k) / h(n - k) with h(m) = (1 + 1 / m)^(m + 1), which falls; so they grow up to the
    middle, and the k next to it decides; that of the piece of `low` or `high` may lie up to 1 / n outside.
    """
    gammaln, xlogy = special_functions().gammaln, special_functions().xlogy
    first, last = np.floor(low * sizes) + 1.0, np.minimum(np.floor(high * sizes) + 1.0, sizes)
    k = np.clip(np.floor((sizes + 1.0) / 2.0), np.minimum(first, last), last)
    whole = gammaln(sizes + 1.0)
    logarithm = np.log(2.0 * k / sizes) + whole - gammaln(k + 1.0) - gammaln(sizes - k + 1.0)
    logarithm += xlogy(k, k / (sizes + 1.0)) + xlogy(sizes - k + 1.0, (sizes - k + 1.0) / (sizes + 1.0))
    nearest = np.clip(0.5, low, high)
    # Above what the terms may be rounded by, and no more than the standard deviation.
    return np.minimum(np.exp(np.minimum(logarithm + 1e-12 + 4e-15 * whole, 0.0)), np.sqrt(nearest * (1.0 - nearest) / sizes))


def _by_mcdiarmid(moves: Float64s, logarithm: float) -> float:
    """How far the error exceeds its mean at most; the squares of p_b / N_b over all labels add up to their mean by mass."""
    return math.sqrt(float(moves.max()) * logarithm / 2.0)


def _by_bernstein(masses: Float64s, moves: Float64s, low: Float64s, high: Float64s, logarithm: float) -> float:
    """The same where frequencies are known to lie between these; each label of a bin moves the error by `moves` at most."""
    nearest = np.clip(0.5, low, high)
    variance = _filled(masses, moves * nearest * (1.0 - nearest))
    third = float((moves * np.maximum(high, 1.0 - low)).max()) * logarithm / 3.0
    return third + math.sqrt(third * third + 2.0 * variance * logarithm)
