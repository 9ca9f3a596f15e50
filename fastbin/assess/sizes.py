"""How much a test set can tell: the differences that it would show, and the sizes of other test sets that would decide."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fastbin._base.array_types import Bools, Float64s, Int64s
from fastbin.assess.binomial import Frequency
from fastbin.assess.bounded_mean import BoundedMean
from fastbin.assess.served_averages import BinSums
from fastbin.intervals._beta import special_functions


class Sizes(NamedTuple):
    """A promise as it is tested and the test samples, from which differences and sizes are computed when somebody asks."""

    tests: tuple[Frequency | BoundedMean, ...]
    is_claimed: Bools
    seen: BinSums
    alpha: float  # of the interval of each bin
    power: float

    def counts_to_confirm(self) -> Float64s:
        """Per bin the count that confirms its claim, if its values are true, so that all are confirmed with chance `power`."""
        per_bin = self.power ** (1.0 / max(1, int(self.is_claimed.sum())))
        rows = zip(self.tests, self.is_claimed.tolist(), strict=True)
        return np.array([test.count_to_confirm(self.alpha / 2.0, per_bin) if claimed else 0.0 for test, claimed in rows])

    def samples_to_confirm(self) -> float:
        """The size of a test set with these counts, if bins keep their shares."""
        return float(np.ceil(self.counts_to_confirm() / expected_shares(self.seen.counts)).max())

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
        ones, zeros = _first_above(ends[:, 1], counts, level), _first_above(1.0 - ends[:, 0], counts, level)
        for b, test in enumerate(self.tests):
            if isinstance(test, BoundedMean) and counts[b] > 0:
                low, high = test.first_rejected(level, int(counts[b]))
                ones[b] = _count_from(counts[b] * (served[b] + high), int(counts[b]))
                zeros[b] = _count_from(counts[b] * (1.0 - served[b] - low), int(counts[b]))
        mixed = np.array([isinstance(test, BoundedMean) for test in self.tests])
        up, down = _reached(ones, counts, power, mixed) - served, _reached(zeros, counts, power, mixed) - (1.0 - served)
        unseen = np.isinf(up) & np.isinf(down)
        both = np.maximum(np.where(np.isinf(up), 1.0 - served, up), np.where(np.isinf(down), served, down))
        return np.where(self.is_claimed, np.where(unseen, np.inf, both), np.nan)


def expected_shares(counts: Int64s) -> Float64s:
    """The share of samples to expect in each bin: as seen, had one sample more come to every bin."""
    return np.asarray((counts + 1.0) / (counts.sum() + len(counts)))


def _first_above(frequencies: Float64s, counts: Int64s, level: float) -> Int64s:
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


def _reached(first: Int64s, counts: Int64s, power: float, mixed: Bools) -> Float64s:
    """The least mean frequency at which a label sum of at least `first` has chance `power`; infinity where none has.

    Where frequencies are `mixed`, one from which Hoeffding's theorem holds: the mean of the sum is at least `first`.
    """
    possible = first <= counts
    at = np.where(possible, np.maximum(first, 1), 1).astype(float)
    rest = np.where(possible, counts - at + 1.0, 1.0)
    frequency = np.maximum(special_functions().betaincinv(at, rest, power), np.where(mixed, at / np.maximum(counts, 1), 0.0))
    return np.where(possible, frequency, np.inf)
