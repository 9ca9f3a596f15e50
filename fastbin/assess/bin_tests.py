"""Tests of the promise about a bin: of a frequency, exactly, or of a mean, and the sample sizes at which they have a power.

In a bin of several values the quantity under test is label - served value. Its mean over n samples is known up to the
inequality of Hoeffding (1963, Theorem 1, first form): for independent X in [0, 1] with mean mu, and t >= mu,

    P(mean >= t) <= exp(-n kl(t, mu)),    kl(t, mu) = t ln(t / mu) + (1 - t) ln((1 - t) / (1 - mu)),

and the same below by mirroring. It holds for any law of the values inside the bin, at every n.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Bools, Float64s, Int64s, UInt8s
from fastbin.intervals import clopper_pearson
from fastbin.intervals.binomial import around, halved, opened, special_functions
from fastbin.model import BinnedModel

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


Power = Callable[[int], float]  # by the count of a bin

# Places among the counts of a bin, in standard deviations from the mean, about at tails of 1e-7, 1.5e-7 and so on.
PLACES = np.append(-np.sqrt(2.0 * np.linspace(13.5, 0.0, 33)), [0.7, 1.5, 2.5])
FARTHEST = float(-PLACES[0])


def average_power(power_at: Power, share: float, n: int) -> float:
    """The power in a bin with this share of n samples, over the number of them that it gets; a little less than that.

    Between some counts the power, which grows with the count, is taken as at the lower one, with the exact chance of the counts
    between. So it is right where power is a step, as of values of 0 and 1. The root of a binomial count is nearly normal, with
    a standard deviation of sqrt(1 - share) / 2: the counts are placed by that.
    """
    roots = np.maximum(math.sqrt(n * share) + 0.5 * math.sqrt(1.0 - share) * PLACES, 0.0)
    counts = np.unique(np.clip(np.rint(roots**2), 1.0, float(n))).astype(np.int64)
    reached = special_functions().betainc(counts.astype(np.float64), n - counts + 1.0, share)
    total = 0.0
    for count, at_least, beyond in zip(counts.tolist(), reached.tolist(), [*reached[1:].tolist(), 0.0], strict=True):
        power = power_at(count)
        if power > 1.0 - 1e-6:
            return total + power * at_least
        total += power * (at_least - beyond)
    return total


def smallest_count(power_at: Power | None, power: float) -> float:
    """A count with this power whose predecessor has less; infinity if there is none up to LARGEST_COUNT.

    Power is not quite monotone in the count, because the distribution is discrete, so a slightly smaller count may do.
    """
    if power_at is None:
        return math.inf
    high = 1
    while power_at(high) < power:
        high *= 2
        if high > LARGEST_COUNT:
            return math.inf
    return float(_first(lambda count: power_at(count) >= power, high // 2 + 1, high))


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

    def confirming(self, tail: float) -> Power | None:
        """The chance by count that the interval with these tails lies in the claim, if the value is the frequency.

        ``None`` where no count makes it likely.
        """
        lower, upper, frequency = self
        if (frequency <= lower and lower > 0.0) or (frequency >= upper and upper < 1.0):
            return None

        def power_at(count: int) -> float:
            first, last = 0, count
            if lower > 0.0:
                first = _first(lambda x: chance_at_least(x, count, lower) <= tail, 0, count + 1)
            if upper < 1.0:
                last = _first(lambda x: chance_at_most(x, count, upper) > tail, 0, count + 1) - 1
            if last < first:
                return 0.0
            return chance_at_most(last, count, frequency) - chance_at_most(first - 1, count, frequency)

        return power_at

    def count_to_contradict(self, frequency: float, deviation: float, tail: float, power: float) -> float:
        """The count at which the interval with these tails misses the claim with the power, at a frequency outside."""
        upper = self.upper
        if frequency < self.lower:
            frequency, upper = 1.0 - frequency, 1.0 - self.lower

        def power_at(count: int) -> float:
            first = _first(lambda x: chance_at_least(x, count, upper) <= tail, 0, count + 1)
            return chance_at_least(first, count, frequency)

        return smallest_count(power_at, power)


# Halvings of a bisection on [0, 1]: the last one is below the spacing of doubles near 1.
HALVINGS = 53


def relative_entropy(t: float, mu: float) -> float:
    """kl(t, mu) of two frequencies; infinity where mu excludes t."""
    if (mu <= 0.0 and t > 0.0) or (mu >= 1.0 and t < 1.0):
        return math.inf
    first = t * math.log(t / mu) if t > 0.0 else 0.0
    return max(0.0, first + ((1.0 - t) * math.log((1.0 - t) / (1.0 - mu)) if t < 1.0 else 0.0))


def relative_entropies(t: Float64s, mu: Float64s) -> Float64s:
    """`relative_entropy`, elementwise. For two numbers it takes three times as long, and a sample size needs thousands."""
    rel_entr = special_functions().rel_entr
    return np.asarray(np.maximum(0.0, rel_entr(t, mu) + rel_entr(1.0 - t, 1.0 - mu)))


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

    def first_rejected(self, tail: float, count: int) -> tuple[float, float]:
        """The means nearest to the claim, below and above it, whose interval with these tails misses it; infinite if none."""
        needed = math.log(1.0 / tail) / count
        return self._first_rejected(self.lower, needed, self.least), self._first_rejected(self.upper, needed, self.most)

    def confirming(self, tail: float) -> Power | None:
        """The chance by count that the interval with these tails lies in the claim, if the mean is 0.

        With the normal law for the mean of the samples. ``None`` where no count makes it likely.
        """
        tests_above, tests_below = self.upper < self.most, self.lower > self.least
        if (tests_above and self.upper <= 0.0) or (tests_below and self.lower >= 0.0):
            return None

        def power_at(count: int) -> float:
            needed = math.log(1.0 / tail) / count
            high = self._first_rejected(self.upper, needed, self.least) if tests_above else self.most
            low = self._first_rejected(self.lower, needed, self.most) if tests_below else self.least
            return self._chance(low, high, 0.0, self.deviation, count)

        return power_at

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
        at, outer = self._scaled(end), self._scaled(limit)
        if relative_entropy(outer, at) < needed:
            return math.inf if limit == self.most else -math.inf
        _, outer = halved(lambda mean: relative_entropy(mean, at) < needed, at, outer, HALVINGS)
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


def intervals_of_means(tests: Sequence[BoundedMean], totals: Float64s, counts: Int64s, alpha: float) -> Float64s:
    """Where each mean lies with probability 1 - alpha, (n, 2): the farthest on either side that its samples do not reject.

    [least, most] without samples.
    """
    if not tests:
        return np.empty((0, 2))
    limits = np.array([(test.least, test.most) for test in tests])
    least, widths = limits[:, :1], limits[:, 1:] - limits[:, :1]
    size = np.maximum(counts, 1)[:, None]
    mean, needed = np.clip((totals[:, None] / size - least) / widths, 0.0, 1.0), math.log(2.0 / alpha) / size
    ends = np.repeat(mean, 2, axis=1), np.broadcast_to([0.0, 1.0], limits.shape)
    _, outer = halved(lambda middle: relative_entropies(mean, middle) <= needed, *ends, HALVINGS)
    found = np.clip(least + outer * widths, least, limits[:, 1:])
    return np.where(counts[:, None] > 0, found, limits)


# ------------------------------------------------------------------------------------------------- test samples in bins


BinTest = Frequency | BoundedMean


class BinSums(NamedTuple):
    """Sums over the test samples of each bin."""

    counts: Int64s
    label_sums: Int64s
    served: Float64s  # of the values served
    squares: Float64s  # of (label - value)^2

    @classmethod
    def of(cls, model: BinnedModel, steps: Any, labels: UInt8s, frequencies: Any) -> BinSums:
        """The sums over samples that lie in these steps. O(n)."""
        n_steps, values = model.n_steps, model.values
        counts = np.bincount(steps, frequencies, n_steps).astype(np.int64)
        label_sums = np.bincount(steps, labels if frequencies is None else labels * frequencies, n_steps).astype(np.int64)
        squares = label_sums * (1.0 - values) ** 2 + (counts - label_sums) * values**2
        columns = (counts, label_sums, counts * values, squares)
        return cls(*(np.add.reduceat(column, model.first_step) for column in columns))

    @property
    def mean_served(self) -> Float64s:
        """The average of what was served in each bin; NaN without samples."""
        return np.divide(self.served, self.counts, out=np.full(len(self.counts), np.nan), where=self.counts > 0)

    def totals(self, tests: Sequence[BinTest]) -> Float64s:
        """The sum that is tested in each bin: of labels, or of label - value."""
        is_mean = np.array([isinstance(test, BoundedMean) for test in tests])
        return np.where(is_mean, self.label_sums - self.served, self.label_sums)

    def deviations(self) -> Float64s:
        """The standard deviation of label - value in each bin, about its own mean."""
        counts = np.maximum(self.counts, 1)
        return np.sqrt(np.maximum(0.0, self.squares / counts - ((self.label_sums - self.served) / counts) ** 2))

    def intervals(self, tests: Sequence[BinTest], is_relative: bool, alpha: float) -> Float64s:
        """Where the frequency of each bin lies, or, if `is_relative`, the mean of label - value; each with chance 1 - alpha."""
        ends = clopper_pearson(self.label_sums, self.counts, alpha)
        if not is_relative:
            return ends
        ends -= np.array([[test.value if isinstance(test, Frequency) else 0.0] for test in tests])
        means = [b for b, test in enumerate(tests) if isinstance(test, BoundedMean)]
        of_means = [test for test in tests if isinstance(test, BoundedMean)]
        ends[means] = intervals_of_means(of_means, self.totals(tests)[means], self.counts[means], alpha)
        return ends


def tests_of_averages(model: BinnedModel, radii: Float64s, side: str) -> tuple[BinTest, ...]:
    """For each bin of a model of two resolutions the test that its labels are served right on average, within a radius.

    Of one side, that the truth is not above what is served by more than the radius, or not below it.
    """
    starts, values = model.first_step, np.asarray(model.values)
    least, most = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    counts = np.asarray(model.step_counts)
    sizes = np.diff(starts, append=len(values))
    masses = np.where(np.repeat(np.add.reduceat(counts, starts) == 0, sizes), 1, counts)  # where nothing was seen, all alike
    spread = np.add.reduceat(masses * values * (1.0 - values), starts) / np.add.reduceat(masses, starts)
    tests: list[BinTest] = []
    for low, high, variance, radius in zip(*(column.tolist() for column in (least, most, spread, radii)), strict=True):
        if low == high:
            ends = opened(around(np.array([low]), radius), side)[0].tolist()
            tests.append(Frequency(lower=ends[0], upper=ends[1], value=low))
        else:
            least_z, most_z = -high, 1.0 - low
            lower = least_z if side == "upper" else max(-radius, least_z)
            upper = most_z if side == "lower" else min(radius, most_z)
            tests.append(BoundedMean(lower, upper, least_z, most_z, variance**0.5))
    return tuple(tests)


def claims_on_averages(tests: Sequence[BinTest]) -> Float64s:
    """Where the mean of label - value of each bin is claimed to lie, (n_bins, 2)."""
    offsets = [test.value if isinstance(test, Frequency) else 0.0 for test in tests]
    return np.array([(test.lower - at, test.upper - at) for test, at in zip(tests, offsets, strict=True)])


# ------------------------------------------------------------------------------------------------- sample sizes


class Sizes(NamedTuple):
    """A promise as it is tested and the test samples, from which differences and sizes are computed when somebody asks."""

    tests: tuple[BinTest, ...]
    is_claimed: Bools
    seen: BinSums
    alpha: float  # of the interval of each bin
    power: float

    @property
    def power_of_each(self) -> float:
        """The chance with which each claim is confirmed if all are with chance `power`."""
        return float(self.power ** (1.0 / max(1, int(self.is_claimed.sum()))))

    def confirming(self) -> list[Power | None]:
        """Per bin the chance of confirming its claim by the count, if its values are true."""
        return [test.confirming(self.alpha / 2.0) for test in self.tests]

    def counts_to_confirm(self) -> Float64s:
        """Per bin the count that confirms its claim, if its values are true, so that all are confirmed with chance `power`."""
        rows = zip(self.confirming(), self.is_claimed.tolist(), strict=True)
        needed = self.power_of_each
        return np.array([smallest_count(power_at, needed) if claimed else 0.0 for power_at, claimed in rows])

    def samples_to_confirm(self, share: float = 1.0, least_size: float = 1.0) -> float:
        """The size of a test set that confirms all claims, if bins keep their shares, and the model its share of all samples.

        Its counts vary, as those of any draw do. So the size that has the counts needed on average is where a search begins,
        with the bin that needs most; a bin for which it is enough on average, too, asks for no further search.
        """
        needed, shares = self.counts_to_confirm(), share * expected_shares(self.seen.counts)
        sizes, found, tried = np.ceil(needed / shares), least_size, set[Any]()
        if not np.isfinite(sizes).all():
            return math.inf
        powers = self.confirming()
        for b in np.argsort(-sizes, kind="stable").tolist():
            own = powers[b]
            if needed[b] == 0.0 or own is None or (self.tests[b], shares[b]) in tried:
                continue
            tried.add((self.tests[b], shares[b]))
            found = max(found, float(sizes[b]))
            least = math.sqrt(found * shares[b]) - 0.5 * FARTHEST
            if least <= 0.0 or least**2 < needed[b]:
                found = _size_from(int(found), partial(average_power, own, float(shares[b])), self.power_of_each)
        return found

    def samples_to_contradict(self) -> float:
        """The size of a test set with which the worst of the bins that now lie outside their claims would be contradicted."""
        seen, masses = self.seen, expected_shares(self.seen.counts)
        totals, deviations, sizes = seen.totals(self.tests), seen.deviations(), [math.inf]
        for b, test in enumerate(self.tests):
            mean = float(totals[b]) / max(1, int(seen.counts[b]))
            if self.is_claimed[b] and seen.counts[b] > 0 and not test.lower <= mean <= test.upper:
                count = test.count_to_contradict(mean, float(deviations[b]), self.alpha / 2.0, self.power)
                sizes.append(count / float(masses[b]))
        return float(np.ceil(min(sizes)))

    def detectable(self, power: float) -> Float64s:
        """Per bin the least difference that these counts would have shown with chance `power`; NaN without a claim.

        Every difference of at least this size between what is served, on average, and the truth would have contradicted the
        promise of the bin with that chance, as far as the truth can differ by so much; infinity where none would have. The
        label sum from which on the interval misses the claim is found by bisection, and the frequency at which it is reached
        with chance `power` is a quantile of the beta law, so both are exact for a binomial label sum. Where the values of a bin
        differ, a sum with the same mean reaches it with at least that chance, whatever the mix (Hoeffding 1956, Theorem 5).
        """
        counts, level = self.seen.counts, self.alpha / 2.0
        served = np.array([test.value if isinstance(test, Frequency) else np.nan for test in self.tests])
        averages = np.divide(self.seen.served, counts, out=np.zeros(len(counts)), where=counts > 0)
        served = np.where(np.isnan(served), averages, served)
        ends = np.array([(test.lower, test.upper) if isinstance(test, Frequency) else (0.0, 1.0) for test in self.tests])
        ones, zeros = first_above(ends[:, 1], counts, level), first_above(1.0 - ends[:, 0], counts, level)
        for b, test in enumerate(self.tests):
            if isinstance(test, BoundedMean) and counts[b] > 0:
                low, high = test.first_rejected(level, int(counts[b]))
                ones[b] = _count_from(counts[b] * (served[b] + high), int(counts[b]))
                zeros[b] = _count_from(counts[b] * (1.0 - served[b] - low), int(counts[b]))
        mixed = np.array([isinstance(test, BoundedMean) for test in self.tests])
        up, down = reached(ones, counts, power, mixed) - served, reached(zeros, counts, power, mixed) - (1.0 - served)
        unseen = np.isinf(up) & np.isinf(down)
        # Where nothing is claimed of one side, or all that is possible, only the other one is looked at.
        limits = np.array([(test.least, test.most) if isinstance(test, BoundedMean) else (0.0, 1.0) for test in self.tests])
        claims_below, claims_above = (np.array([(test.lower, test.upper) for test in self.tests]) != limits).T
        up, down = np.where(np.isinf(up), 1.0 - served, up), np.where(np.isinf(down), served, down)
        both = np.maximum(np.where(claims_above, up, 0.0), np.where(claims_below, down, 0.0))
        return np.where(self.is_claimed, np.where(unseen, np.inf, both), np.nan)


def _size_from(n: int, power_at: Power, power: float) -> float:
    """The least size from n on with this power, which grows with the size."""
    high = n
    while power_at(high) < power:
        high += high // 4 + 1
    return float(_first(lambda size: power_at(size) >= power, n, high))


def expected_shares(counts: Int64s) -> Float64s:
    """The share of samples to expect in each bin: as seen, had one sample more come to every bin."""
    return np.asarray((counts + 1.0) / (counts.sum() + len(counts)))


def first_above(frequencies: Float64s, counts: Int64s, level: Float64s | float) -> Int64s:
    """The least x with P(X >= x) <= level for X ~ Binomial(count, frequency), elementwise; count + 1 if none is possible."""
    special = special_functions()
    low, high = np.zeros_like(counts), counts + 1  # the condition fails at low, and holds at high
    while (is_open := high - low > 1).any():
        middle = np.clip((low + high) // 2, 1, np.maximum(counts, 1))
        holds = special.betainc(middle.astype(float), counts - middle + 1.0, frequencies) <= level
        high, low = np.where(is_open & holds, middle, high), np.where(is_open & ~holds, middle, low)
    return high


def _count_from(total: float, count: int) -> int:
    """The least whole label sum from `total` on; count + 1 if none is possible."""
    return count + 1 if total > count else max(0, math.ceil(total))


def reached(first: Int64s, counts: Int64s, power: float, mixed: Bools) -> Float64s:
    """The least mean frequency at which a label sum of at least `first` has chance `power`; infinity where none has.

    Where frequencies are `mixed`, one from which Hoeffding's theorem holds: the mean of the sum is at least `first`.
    """
    possible = first <= counts
    at = np.where(possible, np.maximum(first, 1), 1).astype(float)
    rest = np.where(possible, counts - at + 1.0, 1.0)
    frequency = np.maximum(special_functions().betaincinv(at, rest, power), np.where(mixed, at / np.maximum(counts, 1), 0.0))
    return np.where(possible, frequency, np.inf)
