"""Counts of given predictions and the figures of each table, with exact fractions; the twin of fastbin.assess.validation.

Slow in the number of samples: meant for some tens of rows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from scipy.stats import beta, binom

from reference.assess import law_of_sum
from reference.bounds import binomial_cdf

Row = tuple[object, object, float, int]  # segment, grade, prediction, label


def counts_of(rows: Sequence[Row]) -> list[tuple[object, object, float, int, int]]:
    """The canonical counts: (segment, grade, prediction, n, ones), ascending."""
    n = Counter((segment, grade, p + 0.0) for segment, grade, p, _ in rows)
    ones = Counter((segment, grade, p + 0.0) for segment, grade, p, y in rows if y == 1)
    return [(*key, n[key], ones[key]) for key in sorted(n)]  # type: ignore[type-var]


def of_side(above: Fraction, below: Fraction, side: str) -> Fraction:
    """The p-value of a side."""
    return {"upper": above, "lower": below, "both": min(Fraction(1), 2 * min(above, below))}[side]


def exact_p(p: Sequence[float], ones: int, side: str) -> Fraction:
    """From the law of the sum of these labels."""
    law = law_of_sum(list(map(Fraction, p)))
    return of_side(sum(law[ones:], Fraction(0)), sum(law[: ones + 1], Fraction(0)), side)


def p_of_mean(mean: Fraction, n: int, ones: int, side: str) -> Fraction:
    """From the binomial law, where Hoeffding's theorem says that it bounds that of the sum; else 1."""
    above = 1 - binomial_cdf(ones - 1, n, mean) if ones >= n * mean + 1 else Fraction(1)
    below = binomial_cdf(ones, n, mean) if ones <= n * mean - 1 else Fraction(1)
    return of_side(above, below, side)


def jeffreys(mean: float, n: int, ones: int, side: str) -> float:
    """The chance that a rate with the law Beta(ones + 1/2, n - ones + 1/2) is at most the mean, or at least; or twice it."""
    law = beta(ones + 0.5, n - ones + 0.5)
    return {"upper": law.cdf(mean), "lower": law.sf(mean), "both": 2 * min(law.cdf(mean), law.sf(mean))}[side]


def adjusted(p_values: Sequence[Fraction]) -> list[Fraction]:
    """Holm's step-down adjustment."""
    found, largest = [Fraction(0)] * len(p_values), Fraction(0)
    for rank, at in enumerate(sorted(range(len(p_values)), key=lambda at: p_values[at])):
        largest = max(largest, min(Fraction(1), (len(p_values) - rank) * p_values[at]))
        found[at] = largest
    return found


def least_rejected(mean: float, n: int, level: float) -> int:
    """The least number of ones that the test of the mean rejects at this one-sided level; n + 1 if none."""
    return next((x for x in range(n + 1) if x >= n * mean + 1 and binom.sf(x - 1, n, mean) <= level), n + 1)


def detectable(mean: float, n: int, level: float, power: float) -> float:
    """The least difference upwards that is seen with this power whatever mix of frequencies makes it; infinity if none.

    By halving: the binomial chance of being rejected, which bounds that of a mix whose mean is at least the number rejected.
    """
    least = least_rejected(mean, n, level)

    def is_seen(frequency: float) -> bool:
        return n * frequency >= least and float(binom.sf(least - 1, n, frequency)) >= power

    low, high = mean, 1.0
    if not is_seen(high):
        return math.inf
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if is_seen(middle) else (middle, high)
    return high - mean
