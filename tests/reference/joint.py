"""How many models share one alpha: the twin of fastbin.guarantees.simultaneous and joint.

Cells are disjoint, so that promises which hold with probabilities 1 - a_j hold together with their product.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from reference.bounds import HALVINGS, binomial_cdf, clopper_pearson, coverage_of_radius, sidak


def common_radius(counts: Sequence[int], alpha: float, shifts: Sequence[float] | None = None) -> float:
    """The least epsilon at which the chances of all cells to be within it multiply to 1 - alpha, at the worst frequencies."""
    moved = [Fraction(shift) for shift in shifts] if shifts else [Fraction(0)] * len(counts)

    def holds(epsilon: Fraction) -> bool:
        product = Fraction(1)
        for count, shift in zip(counts, moved, strict=True):
            if count > 0:
                product *= coverage_of_radius(count, epsilon - shift) if epsilon > shift else 0
        return product >= 1 - Fraction(alpha)

    low, high = Fraction(0), 1 + max(moved)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return float(high)


def chance_near(counts: Sequence[int], ones: Sequence[int], epsilon: Fraction) -> float:
    """The chance that some mean errs by epsilon or more, at the worst frequencies within epsilon of the means that were seen.

    It is largest where a sum begins or stops to fail, or at an end of what is looked at; frequencies in between change nothing.
    """
    holding = Fraction(1)
    for n, x in zip(counts, ones, strict=True):
        low, high = max(Fraction(0), Fraction(x, n) - epsilon), min(Fraction(1), Fraction(x, n) + epsilon)
        places = [Fraction(k, n) + side * epsilon for k in range(n + 1) for side in (-1, 1)]
        places = [low, high, *(place for place in places if low <= place <= high)]
        holding *= 1 - max(_failure(n, place, epsilon) for place in places)
    return float(1 - holding)


def _failure(n: int, p: Fraction, epsilon: Fraction) -> Fraction:
    """P(|X / n - p| >= epsilon) for X ~ Binomial(n, p)."""
    below, above = math.floor(n * (p - epsilon)), min(n + 1, math.ceil(n * (p + epsilon)))
    return binomial_cdf(below, n, p) + 1 - binomial_cdf(above - 1, n, p)


def shares(counts: Sequence[int], bins: Sequence[int], alpha: float) -> list[float]:
    """The share of alpha that each model gets, so that normal radii of bins of these counts, at rates of one half, are equal.

    None gets less than a thousandth of an equal part.
    """
    least = alpha / len(counts) / 1000.0

    def at(radius: float) -> list[float]:
        return [
            max(least, 1.0 - (1.0 - min(0.5, math.erfc(radius * math.sqrt(2.0 * n)))) ** b)
            for n, b in zip(counts, bins, strict=True)
        ]

    low, high = 0.0, 10.0
    for _ in range(100):
        middle = (low + high) / 2
        product = math.prod(1.0 - level for level in at(middle))
        low, high = (low, middle) if product >= 1.0 - alpha else (middle, high)
    return at(high)


def equal_intervals(models: Sequence[tuple[Sequence[int], Sequence[int]]], alpha: float) -> list[list[tuple[float, float]]]:
    """Clopper-Pearson intervals of all bins of all (label sums, counts), at Sidak's level over those that hold samples."""
    level = sidak(alpha, sum(n > 0 for _, counts in models for n in counts))
    return [[clopper_pearson(x, n, level) for x, n in zip(sums, counts, strict=True)] for sums, counts in models]
