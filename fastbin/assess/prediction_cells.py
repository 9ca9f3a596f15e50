"""Rows of predictions and labels as cells: for each distinct prediction how many rows have it, and how many of them are 1.

Every figure of `fastbin.assess.calibration_tests` is a function of cells, so rows, batches and a table of counts give the same
bits, in whatever order they come.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s, Int64s
from fastbin._fit.quantiles import run_starts
from fastbin.assess.samples import Samples


class CellCounts(NamedTuple):
    """The cells of one scope: a grade, or all rows. Every cell holds a row.

    Where only the mean prediction of a grade is known, it is the prediction of its one cell.
    """

    predictions: Float64s  # distinct, ascending, in [0, 1]
    counts: Int64s
    ones: Int64s

    @classmethod
    def of_samples(cls, samples: Samples) -> CellCounts:
        """The cells of checked rows; frequencies count. O(n log n)."""
        labels = samples.labels.astype(np.int64)
        times = samples.frequencies
        return cls._sorted(samples.predictions, np.ones_like(labels) if times is None else times, labels, times)

    @classmethod
    def _sorted(cls, predictions: Float64s, counts: Int64s, labels: Int64s, times: Int64s | None) -> CellCounts:
        values = predictions + 0.0  # -0.0 equals 0.0, and which of them comes first depends on the order of the rows
        order = np.argsort(values)
        values = values[order]
        first = run_starts(values)
        ones = labels if times is None else labels * times
        if len(first) == len(values):
            return cls(values, counts[order], ones[order])
        return cls(values[first], np.add.reduceat(counts[order], first), np.add.reduceat(ones[order], first))

    @classmethod
    def pooled(cls, parts: Iterable[CellCounts]) -> CellCounts:
        """The cells of several scopes together, whatever their order."""
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return cls._sorted(columns[0], columns[1], columns[2], None)

    @property
    def n(self) -> int:
        """Rows."""
        return int(self.counts.sum())

    @property
    def n_ones(self) -> int:
        """Rows with label 1."""
        return int(self.ones.sum())

    @property
    def expected(self) -> float:
        """The ones to expect if the predictions are calibrated. Sums run over the cells in their order."""
        return float((self.counts * self.predictions).sum())

    @property
    def mean(self) -> float:
        """The mean prediction, which is that of the cell where there is one: a mean of equal numbers may be next to them."""
        return float(self.predictions[0]) if len(self.predictions) == 1 else min(1.0, self.expected / self.n)

    @property
    def variance(self) -> float:
        """That of the number of ones, if the predictions are calibrated."""
        return float((self.counts * self.predictions * (1.0 - self.predictions)).sum())
