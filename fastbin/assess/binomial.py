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


def count_to_confirm(frequency: float, lower: float, upper: float, alpha: float, power: float) -> float:
    """The count at which both one-sided tests at level alpha reject "outside [lower, upper]" with the power, at `frequency`."""
    if (frequency <= lower and lower > 0.0) or (frequency >= upper and upper < 1.0):
        return math.inf

    def power_at(count: int) -> float:
        first, last = 0, count
        if lower > 0.0:
            first = _first(lambda x: chance_at_least(x, count, lower) <= alpha, 0, count + 1)
        if upper < 1.0:
            last = _first(lambda x: chance_at_most(x, count, upper) > alpha, 0, count + 1) - 1
        if last < first:
            return 0.0
        return chance_at_most(last, count, frequency) - chance_at_most(first - 1, count, frequency)

    return smallest_count(power_at, power)


def count_to_contradict(frequency: float, lower: float, upper: float, alpha: float, power: float) -> float:
    """The count at which the test of "inside [lower, upper]" at level alpha rejects with the power, at a frequency outside."""
    level = alpha / ((upper < 1.0) + (lower > 0.0))  # the tails share the level, as in the p-value
    if frequency < lower:
        frequency, upper = 1.0 - frequency, 1.0 - lower

    def power_at(count: int) -> float:
        first = _first(lambda x: chance_at_least(x, count, upper) <= level, 0, count + 1)
        return chance_at_least(first, count, frequency)

    return smallest_count(power_at, power)


class Frequency(NamedTuple):
    """The claim that a frequency lies in [lower, upper], around a value."""

    lower: float
    upper: float
    value: float

    def p_values(self, total: float, count: int) -> tuple[float, float]:
        """Exact p-values of "the frequency lies in [lower, upper]", whose tails share the level, and of "it lies outside"."""
        label_sum = int(total)
        inside, outside = [], [0.0]
        if self.upper < 1.0:
            inside.append(chance_at_least(label_sum, count, self.upper))
            outside.append(chance_at_most(label_sum, count, self.upper))
        if self.lower > 0.0:
            inside.append(chance_at_most(label_sum, count, self.lower))
            outside.append(chance_at_least(label_sum, count, self.lower))
        return min([1.0, *(len(inside) * p_value for p_value in inside)]), max(outside)

    def count_to_confirm(self, alpha: float, power: float) -> float:
        """`count_to_confirm` if the value is the frequency."""
        return count_to_confirm(self.value, self.lower, self.upper, alpha, power)

    def count_to_contradict(self, mean: float, deviation: float, alpha: float, power: float) -> float:
        """`count_to_contradict` at the frequency `mean`; the deviation is that of its labels."""
        return count_to_contradict(mean, self.lower, self.upper, alpha, power)
