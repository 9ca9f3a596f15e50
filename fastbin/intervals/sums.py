"""Sums of independent labels with weights: bounds by the divergence, and by the variance."""

from __future__ import annotations

import math

from fastbin.intervals.binomial import halved

# A bracket of width 1 is halved to the spacing of doubles at 1/2.
HALVINGS = 60


def divergence_ends(least: float, most: float, size: float, logarithm: float) -> tuple[float, float]:
    """The frequencies p with size KL(mean || p) <= logarithm, from the lower end for `least` to the upper end for `most`.

    Chernoff's bound inverted, as for a mean of `size` labels, which need not be an integer (docs/guarantees.md, Theorem F22).
    Each end is the outer one of its last bracket.
    """

    def end(mean: float, outer: float) -> float:
        return float(halved(lambda p: size * divergence(mean, p) <= logarithm, mean, outer, HALVINGS)[1])

    return end(least, 0.0), end(most, 1.0)


def divergence(mean: float, frequency: float) -> float:
    """KL(mean || frequency) of two coins; infinite where the second cannot show what the first does."""
    total = 0.0
    for part, of in ((mean, frequency), (1.0 - mean, 1.0 - frequency)):
        if part > 0.0:
            total += part * math.log(part / of) if of > 0.0 else math.inf
    return total


def bernstein_slack(variance: float, largest: float, logarithm: float) -> float:
    """A sum of independent centred terms up to `largest` exceeds this with probability e^-logarithm at most (Bernstein).

    As the sum is sub-gamma (Boucheron, Lugosi & Massart 2013, Theorem 2.10).
    """
    return math.sqrt(2.0 * variance * logarithm) + largest * logarithm / 3.0
