"""Tests of the mean of a bounded variable, and the sample sizes at which they have a given power.

In a bin of several values the quantity under test is label - served value. Its mean over n samples is known up to the
inequality of Hoeffding (1963, Theorem 1, first form): for independent X in [0, 1] with mean mu, and t >= mu,

    P(mean >= t) <= exp(-n kl(t, mu)),    kl(t, mu) = t ln(t / mu) + (1 - t) ln((1 - t) / (1 - mu)),

and the same below by mirroring. It holds for any law of the values inside the bin, at every n.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from fastbin.assess.binomial import smallest_count
from fastbin.intervals._beta import special_functions

# Of a bisection on [0, 1]: the last halving is below the spacing of doubles near 1.
HALVINGS = 53


def relative_entropy(t: float, mu: float) -> float:
    """kl(t, mu) of two frequencies; infinity where mu excludes t."""
    if (mu <= 0.0 and t > 0.0) or (mu >= 1.0 and t < 1.0):
        return math.inf
    first = t * math.log(t / mu) if t > 0.0 else 0.0
    return max(0.0, first + ((1.0 - t) * math.log((1.0 - t) / (1.0 - mu)) if t < 1.0 else 0.0))


class BoundedMean(NamedTuple):
    """The claim that the mean of a variable with values in [least, most] lies in [lower, upper]."""

    lower: float
    upper: float
    least: float
    most: float
    deviation: float
    """The standard deviation of the variable, as far as sample sizes are concerned."""

    def p_value(self, total: float, count: int) -> float:
        """A p-value of "the mean lies in [lower, upper]": at most alpha where its interval misses the claim."""
        mean = total / count if count else 0.0
        tails = self._tail(mean, count, self.upper, above=True), self._tail(mean, count, self.lower, above=False)
        return min(1.0, 2.0 * min(tails))

    def interval(self, total: float, count: int, alpha: float) -> tuple[float, float]:
        """Where the mean lies with probability 1 - alpha; [least, most] without samples."""
        if count == 0:
            return self.least, self.most
        mean, needed = total / count, math.log(2.0 / alpha) / count
        low, high = self._last_kept(mean, needed, self.least), self._last_kept(mean, needed, self.most)
        return max(low, self.least), min(high, self.most)

    def first_rejected(self, tail: float, count: int) -> tuple[float, float]:
        """The means nearest to the claim, below and above it, whose interval with these tails misses it; infinite if none."""
        needed = math.log(1.0 / tail) / count
        return self._first_rejected(self.lower, needed, self.least), self._first_rejected(self.upper, needed, self.most)

    def count_to_confirm(self, tail: float, power: float) -> float:
        """The count at which the interval with these tails lies in the claim with the power, if the mean is 0.

        With the normal law for the mean of the samples.
        """
        tests_above, tests_below = self.upper < self.most, self.lower > self.least
        if (tests_above and self.upper <= 0.0) or (tests_below and self.lower >= 0.0):
            return math.inf

        def power_at(count: int) -> float:
            needed = math.log(1.0 / tail) / count
            high = self._first_rejected(self.upper, needed, self.least) if tests_above else self.most
            low = self._first_rejected(self.lower, needed, self.most) if tests_below else self.least
            return self._chance(low, high, 0.0, self.deviation, count)

        return smallest_count(power_at, power)

    def count_to_contradict(self, mean: float, deviation: float, tail: float, power: float) -> float:
        """The count at which the interval with these tails misses the claim with the power, at a mean outside."""
        above = mean > self.upper

        def power_at(count: int) -> float:
            low, high = self.first_rejected(tail, count)
            ends = (high, self.most) if above else (self.least, low)
            return self._chance(*ends, mean, deviation, count)

        return smallest_count(power_at, power)

    # ------------------------------------------------------------------ on the scale of [0, 1]

    def _scaled(self, x: float) -> float:
        return min(1.0, max(0.0, (x - self.least) / (self.most - self.least)))

    def _tail(self, mean: float, count: int, end: float, *, above: bool) -> float:
        """A bound on the chance of a mean as far out as this one if the true mean is at `end`, on one side."""
        if (mean <= end) if above else (mean >= end):
            return 1.0
        return math.exp(-count * relative_entropy(self._scaled(mean), self._scaled(end)))

    def _first_rejected(self, end: float, needed: float, limit: float) -> float:
        """The mean nearest to `end`, towards `limit`, whose entropy against it is `needed`; beyond the limit if none is."""
        inner, outer = self._scaled(end), self._scaled(limit)
        if relative_entropy(outer, inner) < needed:
            return math.inf if limit == self.most else -math.inf
        for _ in range(HALVINGS):
            middle = (inner + outer) / 2.0
            if relative_entropy(middle, self._scaled(end)) >= needed:
                outer = middle
            else:
                inner = middle
        return self.least + outer * (self.most - self.least)

    def _last_kept(self, mean: float, needed: float, limit: float) -> float:
        """The farthest true mean towards `limit` that the samples do not reject."""
        at = self._scaled(mean)
        inner, outer = at, self._scaled(limit)
        for _ in range(HALVINGS):
            middle = (inner + outer) / 2.0
            if relative_entropy(at, middle) <= needed:
                inner = middle
            else:
                outer = middle
        return self.least + outer * (self.most - self.least)

    @staticmethod
    def _chance(low: float, high: float, mean: float, deviation: float, count: int) -> float:
        """The chance that the mean of `count` samples lies between two ends, by the normal law."""
        if not low <= high:
            return 0.0
        if deviation == 0.0:
            return float(low <= mean <= high)
        scale = deviation / math.sqrt(count)
        ndtr = special_functions().ndtr
        return float(ndtr((high - mean) / scale) - ndtr((low - mean) / scale))
