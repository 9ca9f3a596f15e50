"""The tests that validators name, row by row, as their papers define them: loops, fractions, sums over all cases."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from statistics import NormalDist

from scipy import integrate, optimize, stats

from .assess import law_of_sum
from .isotonic import isotonic

Numbers = Sequence[float]
Labels = Sequence[int]
NORMAL = NormalDist()


def exact_tails(p: Numbers, y: Labels) -> tuple[Fraction, Fraction, Fraction]:
    """P(X >= ones), P(X <= ones) and P(X = ones) for the number X of ones of calibrated rows."""
    law, ones = law_of_sum([Fraction(value) for value in p]), sum(y)
    return sum(law[ones:], Fraction(0)), sum(law[: ones + 1], Fraction(0)), law[ones]


def two_sided(upper: Fraction, lower: Fraction) -> float:
    return float(min(Fraction(1), 2 * min(upper, lower)))


def mid_p(p: Numbers, y: Labels) -> float:
    """Lancaster 1961: half the chance of the number seen is left out of either tail."""
    upper, lower, own = exact_tails(p, y)
    return two_sided(upper - own / 2, lower - own / 2)


def jeffreys(p: Numbers, y: Labels) -> float:
    return float(stats.beta.cdf(sum(p) / len(p), sum(y) + 0.5, len(y) - sum(y) + 0.5))


def vasicek(p: Numbers, ones: int, correlation: float) -> float:
    """P(X >= ones) over the factor; given it, labels are independent (Vasicek 2002)."""

    def given(factor: float) -> float:
        moved = [(NORMAL.inv_cdf(value) + math.sqrt(correlation) * factor) / math.sqrt(1 - correlation) for value in p]
        law = [1.0]
        for chance in map(NORMAL.cdf, moved):
            law = [(1 - chance) * a + chance * b for a, b in zip([*law, 0.0], [0.0, *law], strict=True)]
        return math.fsum(law[ones:]) * NORMAL.pdf(factor)

    return math.fsum(integrate.quad(given, at, at + 1.0, epsabs=1e-12)[0] for at in range(-9, 9))


def vasicek_limit(p: float, rate: float, correlation: float) -> float:
    """The same for one prediction and ever more rows."""
    return NORMAL.cdf((NORMAL.inv_cdf(p) - math.sqrt(1 - correlation) * NORMAL.inv_cdf(rate)) / math.sqrt(correlation))


def quantile(values: Numbers, share: float) -> float:
    """Hyndman & Fan's seventh, the default of R."""
    ordered, at = sorted(values), share * (len(values) - 1)
    low = math.floor(at)
    high = min(low + 1, len(values) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def hosmer_lemeshow(groups: Sequence[Sequence[tuple[float, int]]]) -> tuple[float, float, int]:
    """The statistic over groups of (prediction, label), its p-value for new rows, and the degrees of freedom."""
    statistic, df = 0.0, 0
    for group in groups:
        expected, n = math.fsum(p for p, _ in group), len(group)
        if 0 < expected < n:
            seen = sum(y for _, y in group)
            statistic += (seen - expected) ** 2 / expected + (seen - expected) ** 2 / (n - expected)
            df += 1
    return statistic, float(stats.chi2.sf(statistic, df)), df


def deciles(p: Numbers, y: Labels) -> list[list[tuple[float, int]]]:
    """Rows up to the first decile, from there up to the second, and so on; none where deciles are equal."""
    cuts = [quantile(p, k / 10) for k in range(1, 10)]
    groups: list[list[tuple[float, int]]] = [[] for _ in range(10)]
    for value, label in zip(p, y, strict=True):
        groups[sum(value > cut for cut in cuts)].append((value, label))
    return [group for group in groups if group]


def spiegelhalter(p: Numbers, y: Labels) -> tuple[float, float]:
    seen = math.fsum((label - value) * (1 - 2 * value) for value, label in zip(p, y, strict=True))
    z = seen / math.sqrt(math.fsum((1 - 2 * value) ** 2 * value * (1 - value) for value in p))
    return z, 2 * NORMAL.cdf(-abs(z))


def log_likelihood(p: Numbers, y: Labels, a: float, b: float) -> float:
    total = 0.0
    for value, label in zip(p, y, strict=True):
        x = a + b * math.log(value / (1 - value))
        total -= math.log1p(math.exp(-x if label else x))
    return total


def likeliest(p: Numbers, y: Labels) -> tuple[float, float, float]:
    """Intercept at slope 1, and intercept and slope, by SciPy's simplex search of the log-likelihood; restarted to converge."""
    alone = optimize.minimize_scalar(lambda a: -log_likelihood(p, y, a, 1.0), bracket=(-1.0, 1.0), tol=1e-12).x
    at = [0.0, 1.0]
    for _ in range(4):
        options = {"xatol": 1e-11, "fatol": 1e-14, "maxiter": 4000}
        at = optimize.minimize(lambda c: -log_likelihood(p, y, *c), at, method="Nelder-Mead", options=options).x
    return float(alone), float(at[0]), float(at[1])


def standard_errors(p: Numbers, a: float, b: float) -> tuple[float, float, float]:
    """Those of the intercept at this slope alone, and of both, from the inverse of the information."""
    sums = [0.0, 0.0, 0.0]
    for value in p:
        x = math.log(value / (1 - value))
        mean = 1 / (1 + math.exp(-(a + b * x)))
        for power in range(3):
            sums[power] += mean * (1 - mean) * x**power
    determinant = sums[0] * sums[2] - sums[1] ** 2
    return math.sqrt(1 / sums[0]), math.sqrt(sums[2] / determinant), math.sqrt(sums[0] / determinant)


def isotonic_values(p: Numbers, y: Labels) -> list[Fraction]:
    """The isotonic rate at every row."""
    value_at = dict(zip(*isotonic(p, y), strict=True))
    return [value_at[value] for value in p]


def brier(values: Sequence[float | Fraction], y: Labels) -> Fraction:
    return sum(((Fraction(value) - label) ** 2 for value, label in zip(values, y, strict=True)), Fraction(0)) / len(y)


def log_score(values: Sequence[float | Fraction], y: Labels) -> float:
    chances = [value if label else 1 - Fraction(value) for value, label in zip(values, y, strict=True)]
    return math.inf if 0 in chances else -math.fsum(math.log(chance) for chance in chances) / len(y)


def parts(p: Numbers, y: Labels, score: Callable[..., float | Fraction]) -> tuple[float, float, float]:
    """Miscalibration, discrimination, uncertainty (Dimitriadis, Gneiting & Jordan 2021)."""
    own, best = score(p, y), score(isotonic_values(p, y), y)
    base = score([Fraction(sum(y), len(y))] * len(y), y)
    return float(own - best), float(base - best), float(base)


def gaps(p: Numbers, y: Labels) -> list[float]:
    return [float(abs(Fraction(value) - rate)) for value, rate in zip(p, isotonic_values(p, y), strict=True)]


def cumulative(p: Numbers, y: Labels) -> tuple[float, float, float]:
    """Range and largest distance of the cumulative differences, at the ends of ties alone, and their standard deviation."""
    path, total = [0.0], 0.0
    for value in sorted(set(p)):
        total += math.fsum(label - own for own, label in zip(p, y, strict=True) if own == value)
        path.append(total / len(p))
    deviation = math.sqrt(math.fsum(value * (1 - value) for value in p)) / len(p)
    return max(path) - min(path), max(map(abs, path)), deviation


def range_p(x: float) -> float:
    """The chance of a range above x: the integral of Feller's density (1951)."""

    def density(r: float) -> float:
        return 8 * math.fsum((-1) ** (k - 1) * k * k * NORMAL.pdf(k * r) for k in range(1, 60))

    return integrate.quad(density, x, x + 12, epsabs=1e-13, limit=400)[0]


def largest_p(x: float) -> float:
    """The chance that a Brownian motion leaves [-x, x] before 1: all reflections of the end."""
    inside = math.fsum((-1) ** k * (NORMAL.cdf((2 * k + 1) * x) - NORMAL.cdf((2 * k - 1) * x)) for k in range(-60, 61))
    return 1 - inside


def smooth_ece(p: Numbers, y: Labels, knots: int = 20_000) -> float:
    """Blasiok & Nakkiran 2023: the root of (error smoothed at width s) = s; kernel images at 2 m +- p, midpoint sums."""

    def error(width: float) -> float:
        total = 0.0
        for at in ((k + 0.5) / knots for k in range(knots)):
            smoothed = 0.0
            for value, label in zip(p, y, strict=True):
                for image in (sign * value + 2 * m for m in range(-4, 5) for sign in (1, -1)):
                    if abs(at - image) < 9 * width:
                        smoothed += (label - value) * math.exp(-0.5 * ((at - image) / width) ** 2)
            total += abs(smoothed) / (width * math.sqrt(2 * math.pi)) / len(p)
        return total / knots

    return float(optimize.brentq(lambda width: error(width) - width, 1e-3, 1.0, xtol=1e-8))


def auc(p: Numbers, y: Labels) -> tuple[float, float]:
    """The area over all pairs, and DeLong's variance from the placements."""
    ones, zeros = [v for v, label in zip(p, y, strict=True) if label], [v for v, label in zip(p, y, strict=True) if not label]
    of_ones = [sum((a > b) + 0.5 * (a == b) for b in zeros) / len(zeros) for a in ones]
    of_zeros = [sum((a > b) + 0.5 * (a == b) for a in ones) / len(ones) for b in zeros]
    area = math.fsum(of_ones) / len(ones)
    variances = [math.fsum((v - area) ** 2 for v in own) / (len(own) - 1) / len(own) for own in (of_ones, of_zeros)]
    return area, sum(variances)


def chance_of_all_labels(p: Numbers, y: Labels, statistic: Callable[[Labels], float]) -> float:
    """The exact p-value of a statistic: over all 2^n label vectors, those at least as far out (but for rounding)."""
    seen, found = statistic(y), 0.0
    for labels in itertools.product((0, 1), repeat=len(p)):
        if statistic(labels) >= seen - 1e-12:
            found += math.prod(value if label else 1 - value for value, label in zip(p, labels, strict=True))
    return found


def stability(reference: Sequence[int], new: Sequence[int]) -> float:
    """The population stability index of counts."""
    total = 0.0
    for a, b in zip(reference, new, strict=True):
        before, after = a / sum(reference), b / sum(new)
        if (a > 0) != (b > 0):
            return math.inf
        total += (after - before) * math.log(after / before) if a else 0.0
    return total
