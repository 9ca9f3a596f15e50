"""What a test set shows of the averages that bins serve: sums per bin, and the claims that they are held against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s, Int64s, UInt8s
from fastbin.assess.binomial import Frequency
from fastbin.assess.bounded_mean import BoundedMean
from fastbin.intervals import clopper_pearson
from fastbin.intervals._tally import around
from fastbin.model import BinnedModel


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

    def totals(self, tests: Sequence[Frequency | BoundedMean]) -> Float64s:
        """What is tested in each bin: the label sum, or that of label - value."""
        is_mean = np.array([isinstance(test, BoundedMean) for test in tests])
        return np.where(is_mean, self.label_sums - self.served, self.label_sums)

    def deviations(self) -> Float64s:
        """The standard deviation of label - value in each bin, about its own mean."""
        counts = np.maximum(self.counts, 1)
        return np.sqrt(np.maximum(0.0, self.squares / counts - ((self.label_sums - self.served) / counts) ** 2))

    def intervals(self, tests: Sequence[Frequency | BoundedMean], is_relative: bool, alpha: float) -> Float64s:
        """Where the frequency of each bin lies, or, if `is_relative`, the mean of label - value; each with chance 1 - alpha."""
        ends = clopper_pearson(self.label_sums, self.counts, alpha)
        if not is_relative:
            return ends
        totals = self.totals(tests).tolist()
        for b, (test, total, count) in enumerate(zip(tests, totals, self.counts.tolist(), strict=True)):
            ends[b] = test.interval(total, count, alpha) if isinstance(test, BoundedMean) else ends[b] - test.value
        return ends


def tests_of_averages(model: BinnedModel, radii: Float64s) -> tuple[Frequency | BoundedMean, ...]:
    """For each bin of a model of two resolutions the test that its labels are served right on average, within a radius."""
    starts, values = model.first_step, np.asarray(model.values)
    least, most = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    counts = np.asarray(model.step_counts)
    sizes = np.diff(starts, append=len(values))
    masses = np.where(np.repeat(np.add.reduceat(counts, starts) == 0, sizes), 1, counts)  # where nothing was seen, all alike
    spread = np.add.reduceat(masses * values * (1.0 - values), starts) / np.add.reduceat(masses, starts)
    tests: list[Frequency | BoundedMean] = []
    for low, high, variance, radius in zip(*(column.tolist() for column in (least, most, spread, radii)), strict=True):
        if low == high:
            ends = around(np.array([low]), radius)[0].tolist()
            tests.append(Frequency(lower=ends[0], upper=ends[1], value=low))
        else:
            least_z, most_z = -high, 1.0 - low
            tests.append(BoundedMean(max(-radius, least_z), min(radius, most_z), least_z, most_z, variance**0.5))
    return tuple(tests)


def claims_on_averages(tests: Sequence[Frequency | BoundedMean]) -> Float64s:
    """Where the mean of label - value of each bin is claimed to lie, (n_bins, 2)."""
    offsets = [test.value if isinstance(test, Frequency) else 0.0 for test in tests]
    return np.array([(test.lower - at, test.upper - at) for test, at in zip(tests, offsets, strict=True)])
