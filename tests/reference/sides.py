"""Ends of one side, by the definition of each: the twin of `side` in fastbin.intervals and fastbin.guarantees.

Binomial and hypergeometric tails are exact fractions, and ends are found by halving.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

from reference.bounds import _largest, binomial_cdf


def lower_end(ones: int, count: int, tail: float) -> float:
    """The largest p at which so many ones or more have at most this chance."""
    return 0.0 if ones == 0 else _largest(lambda p: 1 - binomial_cdf(ones - 1, count, p) <= Fraction(tail))


def upper_end(ones: int, count: int, tail: float) -> float:
    """The largest p at which so many ones or fewer have more than this chance."""
    return 1.0 if ones == count else _largest(lambda p: binomial_cdf(ones, count, p) > Fraction(tail))


def upper_end_of_rows(ones: int, count: int, tail: float) -> float:
    """The same for the average of unlike probabilities: a tail of a quarter at most, and Markov's end beside a lone 0."""
    tail = min(tail, 0.25)
    end = upper_end(ones, count, tail)
    return max(end, 1.0 - tail / count) if ones == count - 1 else end


def most_ones_of_batch(ones: int, count: int, size: int, tail: float) -> int:
    """The most ones among all rows of a batch at which so few among the labelled ones have more than this chance."""
    most = ones
    for total in range(ones, size - count + ones + 1):
        ways = sum(math.comb(total, k) * math.comb(size - total, count - k) for k in range(ones + 1))
        if Fraction(ways, math.comb(size, count)) > Fraction(tail):
            most = total
    return most


@cache
def radius_before(count: int, tail: float) -> float:
    """The most that a mean label can be above the lower end of its frequency, whatever it is."""
    return max(ones / count - lower_end(ones, count, tail) for ones in range(count + 1))


def epsilon_above(ones: Sequence[int], counts: Sequence[int], values: Sequence[float], alpha: float) -> float:
    """How far the frequencies of all bins are above their values at most, where each misses with Sidak's share of alpha."""
    level = -math.expm1(math.log1p(-alpha) / len(counts))
    ends = [upper_end(x, n, level) for x, n in zip(ones, counts, strict=True)]
    return max(0.0, *(end - value for end, value in zip(ends, values, strict=True)))
