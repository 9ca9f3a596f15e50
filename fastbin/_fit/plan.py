"""What a fit asks of its data, and what they answer.

A fit needs to know which score has rank k, and what lies below it. It asks for counts in cells of the score line, finds the
cells that hold a wanted rank, and asks again about these alone, until each is a single score or its values are few enough to be
listed. Whatever can count rows by intervals of scores can be fitted to: arrays in memory, batches, a table behind GROUP BY.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from fastbin._typing import Float64s, Int64s, UInt32s

# The first plan wishes for so many cells for each rank that is sought.
CELLS_A_RANK = 128

CHANGED = "the rows changed between two passes over them; a fit needs the same rows each time"


class Plan(NamedTuple):
    """Closed intervals of scores, ascending and disjoint. Nothing in it refers to how an earlier plan was answered."""

    low: Float64s
    high: Float64s
    n_cells: Int64s  # about how many cells each is to be divided into; 0 asks for its values
    n_samples: Int64s  # how many samples it holds, as counted before; -1 where nobody knows yet

    @classmethod
    def whole(cls, limits: tuple[float, float], n_cells: int) -> Plan:
        """One interval that holds all scores."""
        return cls(np.array([limits[0]]), np.array([limits[1]]), np.array([n_cells]), np.array([-1]))

    @property
    def is_first(self) -> bool:
        return bool(self.n_samples[0] < 0)


class Cells(NamedTuple):
    """Counts in the cells of the intervals of a plan, ascending; cells without samples may be left out or not."""

    interval: Int64s  # which interval of the plan the cell lies in
    n_samples: Int64s
    n_positive: Int64s
    # (low, high) for the cells of these positions: all their scores lie between, and those of no other cell.
    ends: Callable[[Int64s], tuple[Float64s, Float64s]]

    @classmethod
    def of(cls, interval: Int64s, low: Float64s, high: Float64s, n_samples: Int64s, n_positive: Int64s) -> Cells:
        """Cells whose least and greatest scores, or anything between them and the next cell, are known."""
        return cls(interval, n_samples, n_positive, lambda chosen: (low[chosen], high[chosen]))

    def __add__(self, other: Cells) -> Cells:  # type: ignore[override]
        """The cells of all rows. Where cells of the two overlap they become one, which is coarser and as true."""
        parts = [(*cells.ends(np.flatnonzero(cells.n_samples)), *(column[cells.n_samples > 0] for column in cells[:3]))
                 for cells in (self, other)]  # fmt: skip
        low, high, interval, n_samples, n_positive = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        order = np.argsort(low, kind="stable")
        reached = np.maximum.accumulate(high[order])
        starts = np.flatnonzero(np.append(True, low[order][1:] > reached[:-1])[: len(order)])
        ends = np.append(starts[1:], len(order)) - 1
        sums = (np.add.reduceat(column[order], starts) if len(order) else column for column in (n_samples, n_positive))
        return Cells.of(interval[order][starts], low[order][starts], reached[ends], *sums)


class Values(NamedTuple):
    """Every score in some intervals of a plan, in any order; one that is listed more than once counts as often."""

    slot: UInt32s  # twice the position of the interval in the plan, plus the label
    score: Float64s
    n_samples: Int64s  # how often it was seen with this label; empty: once each

    @classmethod
    def none(cls) -> Values:
        return cls(np.empty(0, np.uint32), np.empty(0), np.empty(0, np.int64))

    @classmethod
    def of_groups(cls, interval: Int64s, score: Float64s, n_samples: Int64s, n_positive: Int64s) -> Values:
        """Scores with their counts, as GROUP BY gives them."""
        slot = np.concatenate([2 * interval, 2 * interval + 1]).astype(np.uint32)
        return cls(slot, np.tile(score, 2), np.concatenate([n_samples - n_positive, n_positive]))

    @property
    def repeats(self) -> Int64s:
        return self.n_samples if len(self.n_samples) else np.ones(len(self.slot), np.int64)

    def __add__(self, other: Values) -> Values:  # type: ignore[override]
        each_once = len(self.n_samples) == 0 and len(other.n_samples) == 0
        counts = self.n_samples if each_once else np.concatenate([self.repeats, other.repeats])
        return Values(np.concatenate([self.slot, other.slot]), np.concatenate([self.score, other.score]), counts)


class Answer(NamedTuple):
    """Of the intervals with cells their counts, of the others their values. Answers of different rows to one plan add."""

    cells: Cells
    values: Values

    def __add__(self, other: Answer) -> Answer:  # type: ignore[override]
        return Answer(self.cells + other.cells, self.values + other.values)


class Source(Protocol):
    """Rows that can be counted, as often as asked, and are the same each time."""

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the greatest score allowed."""

    @property
    def value_limit(self) -> int:
        """The most samples whose values one plan may ask for."""

    def answer(self, plan: Plan) -> Answer:
        """Count all rows; those that are bad are refused at the first plan."""
