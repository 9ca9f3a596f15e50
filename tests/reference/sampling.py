"""Rows of which some with label 0 were left out at a known rate, in fractions: the twin of `sampling_rate=`.

The odds of a rate in the population are those in the sample times the rate at which label 0 was kept, by Bayes' rule.
"""

from __future__ import annotations

from fractions import Fraction

from reference.bounds import clopper_pearson, sidak


def in_population(rate: Fraction, kept: Fraction) -> Fraction:
    """P(Y = 1 | bin) where it is `rate` among kept rows: the rows of either label, each divided by how often it is kept."""
    ones, zeros = rate, (1 - rate) / kept
    return ones / (ones + zeros)


def intervals(ones: list[int], counts: list[int], kept: Fraction, alpha: float) -> list[tuple[float, float]]:
    """Simultaneous intervals of the bins' rates in the population."""
    level = sidak(alpha, len(counts))
    ends = [clopper_pearson(x, n, level) for x, n in zip(ones, counts, strict=True)]
    return [(float(in_population(Fraction(low), kept)), float(in_population(Fraction(high), kept))) for low, high in ends]


def epsilon(values: list[float], ends: list[tuple[float, float]]) -> float:
    """The largest distance of a value from an end of its interval."""
    return max(max(value - low, high - value) for value, (low, high) in zip(values, ends, strict=True))
