"""Tests of a frequency by the exact tails of a binomial count, and the sample sizes at which they have a given power."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

from fastbin.intervals._beta import special_functions

# Larger sizes count as infinite.
LARGEST_COUNT = 2**40


def chance_at_most(x: int, count: int, frequency: float) -> float:
    """P(X <= x) for X ~ Binomial(count, frequency)."""
    if x < 0:
        return 0.0
    return 1.0 if x >= count else float(special_functions().betaincc(x + 1.0, float(count - x), frequency))


def chance_at_least(x: int, count: int, frequency: float) -> float:
    """P(X >= x) for X ~ Binomial(count, frequency)."""
    if x <= 0:
        return 1.0
    return 0.0 if x > count else float(special_functions().betainc(float(x), count - x + 1.0, frequency))


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The least integer from low to high - 1 where a monotone condition holds; high if nowhere."""
    return low + bisect_left(range(low, high), True, key=holds)


def smallest_count(power_at: Callable[[int], float], power: float) -> float:
    """A count with this power whose predecessor has less; infinity if there is none up to LARGEST_COUNT.

    Power is not quite monotone in the count, because the distribution is discrete, so a slightly smaller count may do.
    """
    high = 1
    while power_at(high) < power:
        high *= 2
        if high > LARGEST_COUNT:
            return math.inf
    return float(_first(lambda count: power_at(count) >= power, high // 2 + 1, high))


def count_to_confirm(frequency: float, lower: float, upper: float, tail: float, power: float) -> float:
    """The count at which the interval with these tails lies in [lower, upper] with the power, at `frequency`."""
    if (frequency <= lower and lower > 0.0) or (frequency >= upper and upper < 1.0):
        return math.inf

    def power_at(count: int) -> float:
        first, last = 0, count
        if lower > 0.0:
            first = _first(lambda x: chance_at_least(x, count, lower) <= tail, 0, count + 1)
        if upper < 1.0:
            last = _first(lambda x: chance_at_most(x, count, upper) > tail, 0, count + 1) - 1
        if last < first:
            return 0.0
        return chance_at_most(last, count, frequency) - chance_at_most(first - 1, count, frequency)

    return smallest_count(power_at, power)


def count_to_contradict(frequency: float, lower: float, upper: float, tail: float, power: float) -> float:
    """The count at which the interval with these tails misses [lower, upper] with the power, at a frequency outside."""
    if frequency < lower:
        frequency, upper = 1.0 - frequency, 1.0 - lower

    def power_at(count: int) -> float:
        first = _first(lambda x: chance_at_least(x, count, upper) <= tail, 0, count + 1)
        return chance_at_least(first, count, frequency)

    return smallest_count(power_at, power)


class Frequency(NamedTuple):
    """The claim that a frequency lies in [lower, upper], around a value."""

    lower: float
    upper: float
    value: float

    def p_value(self, total: float, count: int) -> float:
        """The exact p-value of "the frequency lies in [lower, upper]": at most alpha where its interval misses the claim."""
        label_sum = int(total)
        tails = chance_at_least(label_sum, count, self.upper), chance_at_most(label_sum, count, self.lower)
        return min(1.0, 2.0 * min(tails))

    def count_to_confirm(self, tail: float, power: float) -> float:
        """`count_to_confirm` if the value is the frequency."""
        return count_to_confirm(self.value, self.lower, self.upper, tail, power)

    def count_to_contradict(self, mean: float, deviation: float, tail: float, power: float) -> float:
        """`count_to_contradict` at the frequency `mean`; the deviation is that of its labels."""
        return count_to_contradict(mean, self.lower, self.upper, tail, power)
