"""The level of an interval after labelling that stopped by the width of that interval (docs/guarantees.md, Theorem F24)."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fastbin._base.array_types import Bools, Float64s, Int64s
from fastbin._base.errors import GuaranteeError
from fastbin.intervals.binomial import exact_ends, special_functions

# The interval is of this share of the level of its bin, or of a smaller one, lowered in steps until the bound on its misses is
# within a hair of the level.
FIRST_SHARE, STEP_OF_SHARE, LARGEST_MISS = 0.85, 0.01, 0.99
# Looks: the first at a share of the labels that a bin without a label 1 needs, each later one at 8 % more.
LEAST_LABELS, OF_THE_FIRST, GROWTH = 20, 0.8, 1.08
# Beyond so many labels a bin the recursion takes minutes.
MOST_LABELS = 25_000
# The bound on misses: cells of rates at once, how near the truth it comes, the narrowest cell, and what sums leave out.
MOST_CELLS, WITHIN, NARROWEST, NEGLIGIBLE = 256, 1.001, 1e-12, 1e-6


class Rule(NamedTuple):
    """Stop at the first look at which the Clopper-Pearson interval at `level` is within `epsilon` of the mean label."""

    epsilon: float
    level: float


def radius_of_counts(label_sums: Int64s, counts: Int64s | int, level: float) -> Float64s:
    """The distance of the mean label to the far end of its Clopper-Pearson interval."""
    sizes = np.broadcast_to(np.asarray(counts, np.int64), np.shape(label_sums))
    ends, means = exact_ends(label_sums, sizes, level), label_sums / sizes
    return np.asarray(np.maximum(ends[:, 1] - means, means - ends[:, 0]))


@lru_cache(maxsize=64)
def labels_at_most(rule: Rule) -> int:
    """The labels after which every count stops: the least look at which it does, of sizes that grow by a tenth."""
    count = 10
    while True:
        # The radius is largest near one half, so that most sizes are ruled out by one count.
        if radius_of_counts(np.array([count // 2]), count, rule.level)[0] <= rule.epsilon:
            half = np.arange(count // 2 + 1)
            if (radius_of_counts(half, count, rule.level) <= rule.epsilon).all():
                return count
        count = math.floor(1.1 * count) + 1
        if count > MOST_LABELS:
            raise GuaranteeError(
                f"epsilon is {rule.epsilon:g}, for which a bin may need more than {MOST_LABELS:,} labels; take a larger one, "
                "fewer bins, or the fixed plan of budget="
            )


def looks_of(rule: Rule, n_rows: int | None = None) -> list[int]:
    """The numbers of labels of a bin at which the rule looks, the last of which ends it; at most the rows that the bin has."""
    last = labels_at_most(rule)
    last = last if n_rows is None else min(last, n_rows)
    look = max(LEAST_LABELS, math.floor(OF_THE_FIRST * math.log(2.0 / rule.level) / rule.epsilon))
    looks = []
    while look < last:
        looks.append(look)
        look = max(look + 1, math.ceil(GROWTH * look))
    return [*looks, last]


class Stops(NamedTuple):
    """The counts at which a bin may stop, and the share of the orders of its labels that come to each of them unstopped."""

    counts: Int64s
    label_sums: Int64s
    shares: Float64s


@lru_cache(maxsize=64)
def stops_of(rule: Rule, n_rows: int | None = None) -> Stops:
    """All places where a bin of so many rows may stop, by a recursion over labels that looks at none.

    The share of x ones among M labels is that of the M! / (x! (M - x)!) orders in which no earlier look stops; the last of
    these labels is a 1 in x of M of them. All terms are positive, so that nothing cancels, and at most 1.
    """
    looks = looks_of(rule, n_rows)
    shares, found = np.ones(1), []
    for count in range(1, looks[-1] + 1):
        ones = np.arange(count + 1)
        grown = np.zeros(count + 1)
        grown[:-1] += shares * (count - ones[:-1]) / count
        grown[1:] += shares * ones[1:] / count
        shares = grown
        if count in looks:
            stop = _stops_at(rule, count) if count < looks[-1] else np.ones(count + 1, bool)
            here = np.flatnonzero(stop & (shares > 0.0))
            found.append((np.full(len(here), count), here, shares[here]))
            shares[stop] = 0.0
    return Stops(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _stops_at(rule: Rule, count: int) -> Bools:
    """Whether each number of ones among so many labels stops; the same for as many zeros."""
    half = radius_of_counts(np.arange(count // 2 + 1), count, rule.level) <= rule.epsilon
    return np.concatenate([half, half[: (count + 1) // 2][::-1]])


# ------------------------------------------------------------------------------------------------- how often it misses


class _Misses(NamedTuple):
    """Places where a bin may stop, the logarithm of the orders that come to each, and the ends of their intervals."""

    ones: Float64s
    zeros: Float64s
    log_orders: Float64s
    ends: Float64s

    def bounds(self, left: Float64s, right: Float64s, first: Float64s, last: Float64s) -> Float64s:
        """The chance to stop with a lower end at `last` or above it, at the rates `right`, and with an upper end at `first` or
        below it, at `left`."""
        too_high = self._chances(right, self.ends[:, 0] >= last[:, None])
        return too_high + self._chances(left, self.ends[:, 1] <= first[:, None])

    def near(self, low: float, high: float, least: float) -> _Misses:
        """Those where some rate from low to high stops with a chance above `least`."""
        means = self.ones / (self.ones + self.zeros)
        kept = self._log_chances(np.clip(means, low, high)) > math.log(least)
        return _Misses(*(column[kept] for column in self))

    def _log_chances(self, rates: Float64s) -> Float64s:
        """At a rate for each place."""
        special = special_functions()
        return np.asarray(self.log_orders + special.xlogy(self.ones, rates) + special.xlog1py(self.zeros, -rates))

    def _chances(self, rates: Float64s, counted: Bools) -> Float64s:
        """At each rate, the places that are counted there together."""
        p = np.maximum(rates, np.finfo(np.float64).tiny)  # the logarithm of 0 has no product with a count of 0
        logs = np.stack([np.log(p), np.log1p(-p)], axis=1) @ np.stack([self.ones, self.zeros])
        return np.asarray(np.exp(np.where(counted, logs + self.log_orders, -np.inf)).sum(axis=1))


def largest_miss(rule: Rule, level: float, n_rows: int | None = None) -> float:
    """How often the interval at `level` after stopping misses the rate of its bin, at the worst rate.

    A bound, within 0.1 % where it is half the level or more.

    Between two ends of intervals the same stops miss. A lower end above the rate belongs to a mean label above it, whose chance
    rises with the rate; that of an upper end below it falls. So the chance at the right end of a cell of the one, and at the
    left end of the other, bound both inside. Cells that may hold the maximum are halved. What holds at a rate holds at one
    minus the rate.
    """
    counts, label_sums, shares = stops_of(rule, n_rows)
    ends, ones = exact_ends(label_sums, counts, level), label_sums.astype(np.float64)
    zeros = counts - ones
    log_orders = np.log(shares) - special_functions().betaln(ones + 1.0, zeros + 1.0) - np.log1p(counts)
    all_of = _Misses(ones, zeros, log_orders, ends)
    points = np.unique(np.concatenate([ends[(ends > 0.0) & (ends < 0.5)], [0.0, 0.5]]))
    # A cell, and that between two ends of which it is a part: the same stops miss in both.
    cells, best, done = np.stack([points[:-1], points[1:], points[:-1], points[1:]]), 0.0, 0.0
    left_out = NEGLIGIBLE * level
    while cells.size:
        bounds = []
        for start in range(0, cells.shape[1], MOST_CELLS):
            part = cells[:, start : start + MOST_CELLS]
            near = all_of.near(part[0].min(), part[1].max(), left_out / len(counts))
            bounds.append(near.bounds(*part) + left_out)
        bound = np.concatenate(bounds)
        left, right, first, last = cells[:, np.argmax(bound), None]
        middle = (left + right) / 2.0
        best = max(best, float(all_of.bounds(middle, middle, first, last)[0]))
        is_open = (bound > max(WITHIN * best, level / 2.0)) & (cells[1] - cells[0] > NARROWEST)
        done = max(done, float(bound[~is_open].max(initial=0.0)))
        left, right, *of_ends = np.repeat(cells[:, is_open], 2, axis=1)
        middle, is_upper = (left + right) / 2.0, np.arange(left.size) % 2 == 1
        cells = np.stack([np.where(is_upper, middle, left), np.where(is_upper, right, middle), *of_ends])
    return done


@lru_cache(maxsize=64)
def level_after_stopping(rule: Rule, level: float, n_rows: int | None = None) -> float:
    """The level of intervals that miss the rate of a bin with probability at most `level` after labelling stopped by `rule`."""
    share = FIRST_SHARE
    while largest_miss(rule, share * level, n_rows) > LARGEST_MISS * level:
        share -= STEP_OF_SHARE
        if share < STEP_OF_SHARE:
            raise GuaranteeError(f"no level is known at which intervals after this rule miss at most {level:g}")
    return share * level


@lru_cache(maxsize=64)
def rule_for(epsilon: float, level: float) -> Rule:
    """The rule that stops within epsilon, at a level at which its last intervals miss with probability at most `level`."""
    share = FIRST_SHARE
    while largest_miss(rule := Rule(epsilon, share * level), share * level) > LARGEST_MISS * level:
        share -= STEP_OF_SHARE
    return rule


def levels_after_stopping(rule: Rule | None, level: float, pool_counts: Int64s) -> Float64s:
    """The level of the interval of each bin, of so many rows, whose misses `level` bounds; without a rule that level itself."""
    if rule is None:
        return np.full(len(pool_counts), level)
    sizes = np.minimum(pool_counts, labels_at_most(rule))
    return np.array([level_after_stopping(rule, level, size) if size else level for size in sizes.tolist()])
