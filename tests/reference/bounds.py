"""Intervals for one bin, and radii for all of them: the twin of fastbin.intervals and fastbin.guarantees.

Binomial probabilities are exact (fractions, no incomplete beta function), and everything that is defined as "the largest p
such that" is found by halving an interval. Slow in the number of samples: meant for bins of up to a few hundred.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

import numpy as np
from scipy.stats import binom

HALVINGS = 48  # to 2**-48 = 3.6e-15


def _largest(holds: Callable[[Fraction], bool], low: Fraction = Fraction(0), high: Fraction = Fraction(1)) -> float:
    """The end of the initial stretch of [low, high] on which `holds` is true, by halving. Points are dyadic, so stay short."""
    if holds(high):
        return float(high)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return float(low)


def binomial_cdf(x: int, n: int, p: Fraction) -> Fraction:
    """P(X <= x) for X ~ Binomial(n, p), exactly."""
    success, failure, whole = p.numerator, p.denominator - p.numerator, p.denominator
    most, total, power = min(x, n), 0, 1
    for i in range(most + 1):  # Horner's rule, as powers of long integers take long
        total = total * failure + math.comb(n, i) * power
        power *= success
    return Fraction(total * failure ** (n - most), whole**n)


def sidak(alpha: float, n_bins: int) -> float:
    """1 - (1 - alpha)^(1 / B): the level per bin at which B independent intervals cover together with probability 1 - alpha."""
    return -math.expm1(math.log1p(-alpha) / n_bins)


@cache
@cache
def clopper_pearson(x: int, n: int, alpha: float) -> tuple[float, float]:
    """{p : P(X >= x) > alpha / 2 and P(X <= x) > alpha / 2} (Clopper & Pearson 1934). Exactly 0 at x = 0, 1 at x = n."""
    if n == 0:
        return 0.0, 1.0
    half = Fraction(alpha) / 2
    lower = 0.0 if x == 0 else _largest(lambda p: 1 - binomial_cdf(x - 1, n, p) <= half)
    upper = 1.0 if x == n else _largest(lambda p: binomial_cdf(x, n, p) > half)
    return lower, upper


def mixture_interval(x: int, n: int, alpha: float) -> tuple[float, float]:
    """{p : M(p) < 1 / alpha} for the Beta(1/2, 1/2) mixture of likelihood ratios: covers at all sample sizes at once (Ville).

    M(p) = B(x + 1/2, n - x + 1/2) / B(1/2, 1/2) / (p^x (1 - p)^(n - x)) is a nonnegative martingale with mean 1 under p.
    """
    limit = -math.log(alpha)
    log_mixture = math.lgamma(x + 0.5) + math.lgamma(n - x + 0.5) - math.lgamma(n + 1.0) - math.log(math.pi)

    def log_martingale(p: Fraction) -> float:
        terms = ((x, float(p)), (n - x, float(1 - p)))
        return log_mixture - sum(k * math.log(q) if q > 0 else -math.inf for k, q in terms if k > 0)

    mode = Fraction(x, n)
    lower = _largest(lambda p: log_martingale(p) >= limit, Fraction(0), mode) if x > 0 else 0.0
    upper = _largest(lambda p: log_martingale(p) < limit, mode, Fraction(1))
    return lower, upper


def hoeffding_radius(n: int, alpha: float) -> float:
    """sqrt(ln(2 / alpha) / (2 n))."""
    return math.sqrt(math.log(2.0 / alpha) / (2.0 * n))


def empirical_bernstein_radius(ones: int, n: int, alpha: float) -> float:
    """sqrt(2 V ln(3 / alpha) / n) + 3 ln(3 / alpha) / n, V = (1 / n) sum (Y - mean)^2.

    Gupta, Podkopaev & Ramdas 2020, Theorem 4, is this with alpha / B for each of B bins, simultaneously.
    """
    variance = Fraction(ones, n) * (1 - Fraction(ones, n))
    return math.sqrt(2.0 * float(variance) * math.log(3.0 / alpha) / n) + 3.0 * math.log(3.0 / alpha) / n


def coverage_of_radius(n: int, epsilon: Fraction) -> Fraction:
    """inf over pi of P(|X / n - pi| <= epsilon), X ~ Binomial(n, pi).

    Between the points x / n +- epsilon, where the set of covered x changes, the probability of an interval of x is unimodal
    in pi; so the infimum is a one-sided limit at such a point. By symmetry the right-hand limits at x / n + epsilon suffice:
    there x has just been lost.
    """
    worst = Fraction(1)
    for x in range(n):
        pi = Fraction(x, n) + epsilon
        if pi < 1:
            last = min(n, math.floor(n * (pi + epsilon)))
            worst = min(worst, binomial_cdf(last, n, pi) - binomial_cdf(x, n, pi))
    return worst


def exact_radius(n: int, alpha: float) -> float:
    """The least epsilon with coverage_of_radius(n, epsilon) >= 1 - alpha: what n labels promise before they are seen."""
    needed = 1 - Fraction(alpha)
    return _largest(lambda epsilon: coverage_of_radius(n, epsilon) < needed)


def certificate_radii(
    label_sums: Sequence[int], counts: Sequence[int], values: Sequence[Fraction], level: float
) -> list[float]:
    """For each bin, the distance from its value to the farther end of its Clopper-Pearson interval at `level`.

    With `level` the Sidak level, all bins are within their radii together with probability 1 - alpha: given the boundaries,
    the label sums are independent binomials (Gupta & Ramdas 2021, Lemma 2, and the Markov property of order statistics).
    Holds for any values, also chosen by looking at the labels.
    """
    radii = []
    for x, n, value in zip(label_sums, counts, values, strict=True):
        lower, upper = clopper_pearson(x, n, level)
        radii.append(max(upper - float(value), float(value) - lower))
    return radii


def mass_upper_bound(count: int, n: int, alpha: float) -> float:
    """The 1 - alpha quantile of Beta(count + 1, n - count), which is the law of the mass of a bin with `count` samples inside
    its boundaries, out of n. As a binomial tail: the p with P(Binomial(n, p) <= count) = alpha."""
    level = Fraction(alpha)
    return _largest(lambda p: binomial_cdf(count, n, p) > level)


@cache
def largest_mean_deviation(n: int) -> float:
    """The largest E|X / n - p| of X ~ Binomial(n, p), by its definition at the p where each piece between k / n is largest."""
    x = np.arange(n + 1)
    found = 0.0
    for k in range(1, n + 1):
        p = k / (n + 1)
        found = max(found, float((binom.pmf(x, n, p) * np.abs(x / n - p)).sum()))
    return found


def ece_bound(counts: Sequence[int], n: int, alpha: float, deviation: Callable[[int], float] = largest_mean_deviation) -> float:
    """A bound on the expected calibration error that holds with probability 1 - alpha, before labels are seen (McDiarmid).

    Given the boundaries, one label moves the ECE by at most p_b / N_b, and E[ECE] <= sum p_b D(N_b), with D the largest mean
    deviation, or a bound on it. So ECE <= sum p_b D(N_b) + sqrt(max(p_b / N_b) ln(1 / alpha') / 2). The masses p_b are bounded
    by mass_upper_bound at alpha_p / B each; the worst masses under these bounds that sum to 1 fill the smallest bins first.
    alpha_p = alpha / 10 and alpha' = 9 alpha / 10.
    """
    alpha_masses, alpha_labels = alpha / 10.0, 0.9 * alpha
    bound_of = {count: mass_upper_bound(count, n, alpha_masses / len(counts)) for count in set(counts)}
    bounds = [bound_of[count] for count in counts]
    left, mean_error = 1.0, 0.0
    for count, bound in sorted(zip(counts, bounds, strict=True)):
        mass = min(bound, left)
        mean_error += mass * deviation(count)
        left -= mass
    steepest = max(bound / count for count, bound in zip(counts, bounds, strict=True))
    return mean_error + math.sqrt(steepest * math.log(1.0 / alpha_labels) / 2.0)


def _log_sum(terms: Sequence[float]) -> float:
    """The sum of numbers given by their logarithms."""
    return math.fsum(math.exp(term) for term in terms)


def poisson_cdf(x: int, mean: float) -> float:
    """P(X <= x) for X ~ Poisson(mean), mean above 0."""
    return _log_sum([i * math.log(mean) - mean - math.lgamma(i + 1) for i in range(x + 1)])


def rare_factor(x: int, level: float) -> float:
    """max(U / v, v / L) for a bin of x samples of label 1 among ever more others: the exact Poisson interval, by halving."""

    def largest_mean(holds: Callable[[float], bool]) -> float:
        low, high = 0.0, 10.0 * x + 1000.0
        for _ in range(70):
            middle = (low + high) / 2
            low, high = (middle, high) if holds(middle) else (low, middle)
        return low

    lower = largest_mean(lambda mean: 1.0 - poisson_cdf(x - 1, mean) <= level / 2)
    upper = largest_mean(lambda mean: poisson_cdf(x, mean) >= level / 2)
    return max(upper / x, x / lower)


def most_bins_of_positives(n: int, alpha: float, ratio: float, rate: float) -> int:
    """The largest B whose bins, of 1 / B of all positives each, keep the factor with probability 1 - alpha / 10; 0 for none.

    A tenth of the samples places the edges, and is not counted.
    """
    counted, needed, best = n - n // 10, 2, 0
    for n_bins in range(1, n // 10 + 1):
        level, p = sidak(alpha, n_bins), rate / n_bins
        while rare_factor(needed, level) > ratio:  # which more bins make no smaller
            needed += 1
        terms = [
            math.lgamma(counted + 1) - math.lgamma(i + 1) - math.lgamma(counted - i + 1)
            + i * math.log(p) + (counted - i) * math.log1p(-p)
            for i in range(min(needed, counted + 1))
        ]  # fmt: skip
        if n_bins * _log_sum(terms) <= alpha / 10:
            best = n_bins
    return best
