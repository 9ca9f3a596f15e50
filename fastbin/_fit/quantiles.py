"""The scores at given ranks, and what lies below them, from counts that add.

`boundary_groups` answers the one question that every uniform-mass fit asks: which score has rank k, how many samples lie below
it and how many of those have label 1, and the same for the samples that equal it. It needs no sorted copy of the data. A first
plan counts all rows in cells. Only cells that hold a wanted rank are looked into again: those of a single score are answered,
the smallest ones are listed, and what is too full (bunched or tied scores) is counted in finer cells. Nothing is taken from an
answer but the ends of a cell and its two counts, and these are checked against those before, so the result depends neither on
the cells that a source chooses nor on how it divides its rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from fastbin._errors import InputError
from fastbin._fit.groups import BoundaryGroups, RanksOf, groups_by_sorting, run_starts
from fastbin._fit.plan import CELLS_A_RANK, CHANGED, Cells, Plan, Source, Values
from fastbin._fit.rows import Rows
from fastbin._fit.source import RowsSource
from fastbin._typing import Array, Float64s, Int64s

# One sort beats the passes on few rows, and where there are so many ranks that their cells hold most rows.
SORT_UP_TO = 16384
SORT_FROM_RANKS = 64

# Cells of all intervals of a later plan (fewer for fewer samples), and of one interval.
MAX_CELLS, MIN_CELLS, CELLS_OF_ONE = 2**18, 2**10, 2**10


def boundary_groups(rows: Rows, ranks_of: RanksOf, n_ranks: int, n_threads: int = 1) -> BoundaryGroups:
    """The groups at the ranks `ranks_of(n_samples)` of rows in memory: `n_ranks` of them, ascending, from 1.

    Checks the values of scores and labels on the way. Time O(n) for n rows: two passes on scores that are neither bunched nor
    tied, a few more on any others. Extra memory: the counters and n / 24 listed rows at most. (For fewer than 64 rows a rank
    it sorts: time O(n log n), memory O(n).)
    """
    if len(rows) <= max(SORT_UP_TO, SORT_FROM_RANKS * n_ranks):
        return groups_by_sorting(rows, ranks_of)
    return search(RowsSource(rows, n_threads), ranks_of, n_ranks)


def search(source: Source, ranks_of: RanksOf, n_ranks: int) -> BoundaryGroups:
    """As `boundary_groups`, for any source."""
    cells, _ = source.answer(Plan.whole(source.limits, CELLS_A_RANK * max(1, n_ranks)))
    n_samples, n_positive = int(cells.n_samples.sum()), int(cells.n_positive.sum())
    ranks = ranks_of(n_samples)
    found = _Found(ranks, np.empty(len(ranks)), *np.empty((4, len(ranks)), np.int64))
    low, high = (np.array([limit]) for limit in source.limits)
    zero = np.zeros(1, np.int64)
    everything = _Opened(low, high, zero, zero, zero + n_samples, zero + n_positive, zero, zero + len(ranks))
    opened = found.open(cells, everything, np.zeros(1, np.int64))
    while len(opened.low):
        plan = _plan(opened, source.value_limit, n_samples)
        cells, values = source.answer(plan)
        is_listed = plan.n_cells == 0
        found.read_values(values, opened.take(is_listed), np.flatnonzero(is_listed))
        opened = found.open(cells, opened.take(~is_listed), np.flatnonzero(~is_listed))
    return BoundaryGroups(found.score, found.below, found.below_ones, found.equal, found.equal_ones, n_samples, n_positive)


class _Opened(NamedTuple):
    """Intervals that hold wanted ranks and are to be looked into, in ascending order: arrays of one length."""

    low: Float64s
    high: Float64s
    below: Int64s  # samples with a lower score
    below_ones: Int64s
    n_samples: Int64s
    n_positive: Int64s
    first_rank: Int64s  # the wanted ranks in it: positions first_rank ... end_rank - 1
    end_rank: Int64s

    def take(self, chosen: Array) -> _Opened:
        columns: tuple[Array, ...] = self
        return _Opened(*(column[chosen] for column in columns))

    def ranks(self) -> tuple[Int64s, Int64s]:
        """Every rank in these intervals: the number of its interval, and its position among the wanted ranks."""
        repeats = self.end_rank - self.first_rank
        interval = np.repeat(np.arange(len(repeats)), repeats)
        return interval, self.first_rank[interval] + np.arange(len(interval)) - (np.cumsum(repeats) - repeats)[interval]


def _plan(opened: _Opened, value_limit: int, n_samples: int) -> Plan:
    """List the smallest open intervals, as many as the source allows; divide every other one."""
    order = np.argsort(opened.n_samples, kind="stable")
    is_listed = np.zeros(len(order), np.bool_)
    is_listed[order] = np.cumsum(opened.n_samples[order]) <= value_limit
    n_cells = min(MAX_CELLS, max(MIN_CELLS, n_samples // 256)) // max(1, int(np.count_nonzero(~is_listed)))
    return Plan(opened.low, opened.high, np.where(is_listed, 0, min(CELLS_OF_ONE, max(4, n_cells))), opened.n_samples)


class _Found(NamedTuple):
    """The wanted ranks, and the group of each as far as it is known: `BoundaryGroups` in the making."""

    ranks: Int64s
    score: Float64s
    below: Int64s
    below_ones: Int64s
    equal: Int64s
    equal_ones: Int64s

    def open(self, cells: Cells, parents: _Opened, intervals: Int64s) -> _Opened:
        """Cells of these intervals that hold wanted ranks; those of a single score are answered at once."""
        if len(intervals) == 0:
            return parents
        ends, ones_ends = np.cumsum(cells.n_samples), np.cumsum(cells.n_positive)
        starts = np.searchsorted(cells.interval, intervals)
        # What to add to these, so that they count all samples and not only those in these cells.
        more = parents.below - np.where(starts > 0, ends[starts - 1], 0)
        more_ones = parents.below_ones - np.where(starts > 0, ones_ends[starts - 1], 0)
        last = np.append(starts[1:], len(ends)) - 1
        _require_same(ends[last] + more, parents.below + parents.n_samples)
        _require_same(ones_ends[last] + more_ones, parents.below_ones + parents.n_positive)
        parent, positions = parents.ranks()
        holding = np.searchsorted(ends, self.ranks[positions] - more[parent], side="left")
        first = run_starts(holding)
        chosen, parent, first_rank = holding[first], parent[first], positions[first]
        n_samples, n_positive = cells.n_samples[chosen], cells.n_positive[chosen]
        opened = _Opened(
            *cells.ends(chosen), ends[chosen] - n_samples + more[parent], ones_ends[chosen] - n_positive + more_ones[parent],
            n_samples, n_positive, first_rank, first_rank + np.diff(first, append=len(positions)),
        )  # fmt: skip
        single = opened.low == opened.high
        if not single.any():
            return opened
        settled = opened.take(single)
        cell, positions = settled.ranks()
        self._answer(positions, settled.low[cell], [column[cell] for column in settled[2:6]])
        return opened.take(~single)

    def read_values(self, values: Values, listed: _Opened, intervals: Int64s) -> None:
        """Read the ranks of these intervals off their values."""
        if len(intervals) == 0:
            return
        from fastbin._kernels.quantiles import select_in_slots, sort_by_slot

        bounds = np.concatenate([[0], np.cumsum(np.bincount(values.slot, minlength=2 * int(intervals[-1]) + 2))])
        scores, repeats = np.empty_like(values.score), np.empty_like(values.n_samples)
        sort_by_slot(*values, bounds[:-1].copy(), scores, repeats)
        totals = np.concatenate([[0], np.cumsum(repeats)])[bounds] if len(repeats) else bounds
        by_label = np.diff(totals).reshape(-1, 2)[intervals]
        _require_same(by_label.sum(axis=1), listed.n_samples)
        _require_same(by_label[:, 1], listed.n_positive)
        interval, positions = listed.ranks()
        within = self.ranks[positions] - listed.below[interval]
        score, counts = np.empty(len(within)), np.empty((4, len(within)), np.int64)
        select_in_slots(scores, repeats, bounds, intervals[interval], within, score, *counts)
        counts[0] += listed.below[interval]
        counts[1] += listed.below_ones[interval]
        self._answer(positions, score + 0.0, counts)  # -0.0 becomes 0.0

    def _answer(self, positions: Int64s, score: Float64s, counts: Iterable[Int64s]) -> None:
        self.score[positions] = score
        for column, values in zip(self[2:], counts, strict=True):
            column[positions] = values


def _require_same(counts: Int64s, before: Int64s) -> None:
    if not (counts == before).all():
        raise InputError(CHANGED)
