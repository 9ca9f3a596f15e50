"""Plans of labels and batches of known size: the twin of fastbin.decide.plans, guarantees.stopping and intervals.finite.

Orders of labels are counted by integers, one look after the other, and chances are sums over all counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

from scipy.stats import beta

from reference.keys import row_key, rows_digest

Stops = dict[tuple[int, int], int]


@cache
def clopper_pearson(ones: int, count: int, level: float) -> tuple[float, float]:
    """The interval by quantiles of beta laws, as it is mostly written."""
    low = 0.0 if ones == 0 else float(beta.ppf(level / 2, ones, count - ones + 1))
    return low, 1.0 if ones == count else float(beta.isf(level / 2, ones + 1, count - ones))


def radius(ones: int, count: int, level: float) -> float:
    """How far the mean label is from the far end of its interval."""
    low, high = clopper_pearson(ones, count, level)
    return max(high - ones / count, ones / count - low)


def labels_at_most(epsilon: float, level: float) -> int:
    """The first of the sizes 10, 12, 14, 16, 18, 20, 23, ... at which every count is within epsilon."""
    count = 10
    while any(radius(ones, count, level) > epsilon for ones in range(count + 1)):
        count = math.floor(1.1 * count) + 1
    return count


def looks(epsilon: float, level: float) -> list[int]:
    """After how many labels of a bin one looks."""
    last = labels_at_most(epsilon, level)
    found = [max(20, math.floor(0.8 * math.log(2 / level) / epsilon))]
    while found[-1] < last:
        found.append(max(found[-1] + 1, math.ceil(1.08 * found[-1])))
    return [*(look for look in found if look < last), last]


def stops(epsilon: float, level: float, n_rows: int) -> Stops:
    """For each (labels, ones) at which a bin of so many rows may stop, the number of orders that come there unstopped."""
    at = [look for look in looks(epsilon, level) if look < n_rows]
    last = min(n_rows, labels_at_most(epsilon, level))
    open_orders, found, before = {0: 1}, {}, 0
    for look in [*at, last] if last not in at else at:
        grown: dict[int, int] = {}
        for ones, orders in open_orders.items():
            for more in range(look - before + 1):
                grown[ones + more] = grown.get(ones + more, 0) + orders * math.comb(look - before, more)
        open_orders = {}
        for ones, orders in grown.items():
            if look == last or radius(ones, look, level) <= epsilon:
                found[look, ones] = orders
            else:
                open_orders[ones] = orders
        before = look
    return found


def chance(found: Stops, rate: Fraction) -> Fraction:
    """The chance to stop at one of these places, at this rate."""
    return sum((orders * rate**x * (1 - rate) ** (m - x) for (m, x), orders in found.items()), Fraction(0))


def misses(found: Stops, level: float, rate: float, side: int) -> float:
    """How often the interval at `level` misses a rate, or, for a side of -1 or 1, a rate just below or above it."""
    total = 0.0
    for (count, ones), orders in found.items():
        low, high = clopper_pearson(ones, count, level)
        if low > rate or high < rate or (side < 0 and low == rate) or (side > 0 and high == rate):
            log = math.log(orders) + (ones * math.log(rate) if ones else 0.0)
            total += math.exp(log + ((count - ones) * math.log1p(-rate) if ones < count else 0.0))
    return total


def worst_miss(found: Stops, level: float, n_rates: int) -> float:
    """The greatest of them over a grid of rates, and on both sides of every end of an interval."""
    rates = [i / n_rates for i in range(1, n_rates)]
    ends = {end for count, ones in found for end in clopper_pearson(ones, count, level) if 0.0 < end < 1.0}
    return max(
        *(misses(found, level, rate, 0) for rate in rates),
        *(misses(found, level, end, side) for end in ends for side in (-1, 1)),
    )


def plan(scores: Sequence[float], n_bins: int, seed: int) -> list[list[int]]:
    """The rows of each bin in the order in which they are labelled, for scores that differ from those at the cuts."""
    n = len(scores)
    digest = rows_digest(seed, [(score, 0, 1.0) for score in scores])
    order = sorted(range(n), key=lambda row: (scores[row], row_key(digest ^ 1, row)))
    cuts = [math.ceil(Fraction(b * (n + 1), n_bins)) for b in range(n_bins + 1)]
    places = [range(cuts[b], cuts[b + 1] - 1) for b in range(n_bins)]  # from 0: strictly between the ranks, from 1
    return [[order[place] for place in sorted(own, key=lambda place: row_key(digest, place))] for own in places]


def ones_of_batch(ones: int, count: int, size: int, level: float) -> list[int]:
    """All numbers of ones in a batch for which neither tail is at most half the level."""
    found = []
    for total in range(ones, size - count + ones + 1):
        ways = [math.comb(total, k) * math.comb(size - total, count - k) for k in range(count + 1)]
        least = Fraction(level) / 2 * math.comb(size, count)
        if sum(ways[ones:]) > least and sum(ways[: ones + 1]) > least:
            found.append(total)
    return found
