"""The scores at given ranks, and what lies below them, from counts that add.

`search` answers the one question that every uniform-mass fit asks: which score has rank k, how many samples lie below it and
how many of those have label 1, and the same for the samples that equal it. It needs no sorted copy of the data. It asks a
source for counts in cells of the score line, finds the cells that hold a sought rank, and asks again about these alone: those
of a single score are answered, the smallest ones are listed, and what is too full (bunched or tied scores) is counted in
finer cells. Nothing is taken from an answer but the ends of a cell and its two counts, and these are checked against those
before, so the result depends neither on the cells that a source chooses nor on how it divides its rows. Whatever can count
rows by intervals of scores is a source: arrays in memory, batches, a table behind GROUP BY.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Bools, Float64s, Int64s, UInt8s, UInt32s, UInt64s
from fastbin._base.errors import InputError
from fastbin._core.fit import group_digest, groups_at_ranks, sorted_rows

if TYPE_CHECKING:
    from fastbin._fit.rows import Rows

RanksOf = Callable[[int], Int64s]
NO_RANKS = np.empty(0, np.int64)

# The first plan wishes for so many cells for each rank that is sought.
CELLS_A_RANK = 128

CHANGED = "the rows changed between two passes over them; a fit needs the same rows each time"

# Cells of all intervals of a later plan (fewer for fewer samples), and of one interval.
MAX_CELLS, MIN_CELLS, CELLS_OF_ONE = 2**18, 2**10, 2**10


class Boundaries(NamedTuple):
    """Where edges may lie: some scores, and the samples that share each. Contiguous arrays of one length."""

    score: Float64s
    below: Int64s  # samples with a lower score
    below_ones: Int64s  # of these, label 1
    equal: Int64s  # samples with this score
    equal_ones: Int64s
    n_samples: int
    n_positive: int
    ranks: Int64s = NO_RANKS  # from 1, ascending: one in each group, where these were found by their ranks

    def digest(self, seed: int) -> int:
        """The seed of the keys of tied samples: a digest of the seed and of these groups, each once (FORMAT.md, "Keys").

        Members of a group are numbered with label 1 first, so under the seed alone their keys would depend on their labels.
        """
        return group_digest(seed, self.score, self.below, self.below_ones, self.equal, self.equal_ones)

    def take(self, at: Int64s) -> Boundaries:
        """The groups at these positions."""
        return self._replace(
            score=self.score[at], below=self.below[at], below_ones=self.below_ones[at], equal=self.equal[at],
            equal_ones=self.equal_ones[at], ranks=self.ranks[at] if len(self.ranks) else NO_RANKS,
        )  # fmt: skip

    def mirrored(self) -> Boundaries:
        """The groups as they are when the order of scores is turned round."""
        above, above_ones = self.below + self.equal, self.below_ones + self.equal_ones
        ranks = self.n_samples + 1 - self.ranks
        mirror = self._replace(below=self.n_samples - above, below_ones=self.n_positive - above_ones, ranks=ranks)
        return mirror.take(np.arange(len(above))[::-1])


def run_starts(ascending: Array) -> Int64s:
    """Where each run of equal values of an ascending array begins."""
    if ascending.size == 0:
        return np.empty(0, np.int64)
    return np.flatnonzero(np.concatenate(([True], ascending[1:] != ascending[:-1])))


def groups_at(score: Float64s, scores: Float64s, labels: UInt8s) -> Boundaries:
    """The groups of these scores, which are among all `scores`; those ascend, each with its label. O(n)."""
    ones = np.concatenate([[0], np.cumsum(labels, dtype=np.int64)])
    first, end = np.searchsorted(scores, score), np.searchsorted(scores, score, side="right")
    return Boundaries(score, first, ones[first], end - first, ones[end] - ones[first], len(scores), int(ones[-1]))


def groups_of_packed(packed: UInt64s, ranks_of: RanksOf) -> Boundaries:
    """The groups at the ranks `ranks_of(n_samples)` of rows that are packed and sorted. O(n)."""
    ranks = ranks_of(packed.size)
    score, (below, below_ones, equal, equal_ones), n_ones = groups_at_ranks(packed, ranks)
    return Boundaries(score, below, below_ones, equal, equal_ones, packed.size, n_ones, ranks)


def groups_of_rows(scores: Float64s, labels: UInt8s, frequencies: Int64s, ranks_of: RanksOf) -> Boundaries:
    """The same of rows in any order, whose values were checked; without frequencies each is one sample.

    Time O(n log n), memory O(n).
    """
    packed = None if len(frequencies) else sorted_rows(scores, labels, 0.0, float(scores.max(initial=0.0)))
    if packed is not None:
        return groups_of_packed(packed, ranks_of)
    order = np.argsort(scores, kind="stable")
    scores, labels = scores[order], labels[order]
    frequency = frequencies[order] if len(frequencies) else np.ones(len(order), np.int64)
    samples = np.concatenate(([0], np.cumsum(frequency)))
    ones = np.concatenate(([0], np.cumsum(frequency * labels)))
    ranks = ranks_of(int(samples[-1]))
    score = scores[np.searchsorted(samples[1:], ranks, side="left")]
    first, end = np.searchsorted(scores, score, side="left"), np.searchsorted(scores, score, side="right")
    return Boundaries(
        score + 0.0, samples[first], ones[first], samples[end] - samples[first], ones[end] - ones[first],
        int(samples[-1]), int(ones[-1]), ranks,
    )  # fmt: skip


class Plan(NamedTuple):
    """Closed intervals of scores, ascending and disjoint. Nothing in it refers to how an earlier plan was answered."""

    low: Float64s
    high: Float64s
    n_cells: Int64s  # about how many cells each is to be divided into; 0 asks for its values
    n_samples: Int64s  # at most so many samples lie in it, as counted before; -1 where nobody knows yet

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

    @classmethod
    def merged(cls, interval: Int64s, low: Float64s, high: Float64s, n_samples: Int64s, n_positive: Int64s) -> Cells:
        """The cells of these columns, in any order. Where some overlap they become one, which is coarser and as true."""
        if len(low) == 0:
            return cls.of(interval, low, high, n_samples, n_positive)
        order = np.argsort(low, kind="stable")
        interval, low, reached = interval[order], low[order], np.maximum.accumulate(high[order])
        starts = np.flatnonzero(np.append(True, low[1:] > reached[:-1]))
        n_samples, n_positive = np.add.reduceat(n_samples[order], starts), np.add.reduceat(n_positive[order], starts)
        return cls.of(interval[starts], low[starts], reached[np.append(starts[1:], len(low)) - 1], n_samples, n_positive)

    def __add__(self, other: Cells) -> Cells:  # type: ignore[override]
        """The cells of all rows."""
        columns = zip(self._filled(), other._filled(), strict=True)
        interval, low, high, n_samples, n_positive = (np.concatenate(pair) for pair in columns)
        return Cells.merged(interval, low, high, n_samples, n_positive)

    def _filled(self) -> tuple[Int64s, Float64s, Float64s, Int64s, Int64s]:
        """The columns of `of`, for the cells that hold samples."""
        at = np.flatnonzero(self.n_samples)
        return self.interval[at], *self.ends(at), self.n_samples[at], self.n_positive[at]


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
    """The counts of the intervals with cells, and the values of the others. Answers of different rows to one plan add."""

    cells: Cells
    values: Values

    def __add__(self, other: Answer) -> Answer:  # type: ignore[override]
        return Answer(self.cells + other.cells, self.values + other.values)


class Source:
    """Rows that can be counted, as often as asked, and are the same each time; and what else these rows can do."""

    limits: tuple[float, float]  # the least and the greatest score allowed
    # Whether one plan may ask for the values of some open intervals and the cells of others. Where another pass is needed
    # anyway, values may take room from cells.
    lists_in_part = True
    # All rows, where they are in memory at once: some fits need them, and their number is known before they are looked at.
    in_memory: Rows | None = None

    @property
    def has_hard_labels(self) -> bool:
        """Whether there are many rows, and all of their scores, once they were counted, are exactly 0 or 1."""
        raise NotImplementedError

    @property
    def value_limit(self) -> int:
        """The most samples whose values one plan may ask for."""
        raise NotImplementedError

    def answer(self, plan: Plan) -> Answer:
        """Count all rows; those that are bad are refused at the first plan."""
        raise NotImplementedError

    def find(self, ranks_of: RanksOf, n_ranks: int) -> Boundaries:
        """The groups at the ranks `ranks_of(n_samples)`: about `n_ranks` of them, ascending, from 1."""
        return search(self, ranks_of, n_ranks)

    def weighted(self) -> Iterable[Rows] | None:
        """One pass over all rows, if they have importance weights, which counts do not tell; else ``None``."""
        return None


def search(source: Source, ranks_of: RanksOf, n_ranks: int) -> Boundaries:
    """The groups at the ranks `ranks_of(n_samples)`: about `n_ranks` of them, ascending, from 1; see the module."""
    cells, _ = source.answer(Plan.whole(source.limits, CELLS_A_RANK * max(1, n_ranks)))
    n_samples, n_positive = int(cells.n_samples.sum()), int(cells.n_positive.sum())
    ranks = ranks_of(n_samples)
    found = _Sought(ranks, np.empty(len(ranks)), *np.empty((4, len(ranks)), np.int64))
    low, high = (np.array([limit]) for limit in source.limits)
    zero = np.zeros(1, np.int64)
    everything = _Opened(low, high, zero, zero, zero + n_samples, zero + n_positive, zero, zero + len(ranks))
    opened = found.open(cells, everything, np.zeros(1, np.int64))
    stuck = np.zeros(len(opened.low), np.bool_)
    while len(opened.low):
        del cells  # with the counters behind them: the next pass has its own
        fits = int(opened.n_samples.sum()) <= source.value_limit or source.lists_in_part
        plan = _plan(opened, source.value_limit if fits else 0, n_samples, stuck)
        cells, values = source.answer(plan)
        is_listed = plan.n_cells == 0
        found.read_values(values, opened.take(is_listed), np.flatnonzero(is_listed))
        opened = found.open(cells, opened.take(~is_listed), np.flatnonzero(~is_listed))
        del values
        at = np.searchsorted(plan.low, opened.low, side="right") - 1
        stuck = (plan.low[at] == opened.low) & (plan.high[at] == opened.high)
    return Boundaries(*found[1:], n_samples, n_positive, ranks)


class _Opened(NamedTuple):
    """Intervals that hold sought ranks and are to be looked into, in ascending order: arrays of one length."""

    low: Float64s
    high: Float64s
    below: Int64s  # samples with a lower score
    below_ones: Int64s
    n_samples: Int64s
    n_positive: Int64s
    first_rank: Int64s  # the sought ranks in it: positions first_rank ... end_rank - 1
    end_rank: Int64s

    def take(self, chosen: Array) -> _Opened:
        columns: tuple[Array, ...] = self
        return _Opened(*(column[chosen] for column in columns))

    def ranks(self) -> tuple[Int64s, Int64s]:
        """Every rank in these intervals: the number of its interval, and its position among the sought ranks."""
        repeats = self.end_rank - self.first_rank
        interval = np.repeat(np.arange(len(repeats)), repeats)
        return interval, self.first_rank[interval] + np.arange(len(interval)) - (np.cumsum(repeats) - repeats)[interval]


def _plan(opened: _Opened, value_limit: int, n_samples: int, stuck: Bools) -> Plan:
    """List the smallest open intervals, as many as the source allows, and those it could not divide; divide every other one."""
    order = np.argsort(opened.n_samples, kind="stable")
    is_listed = stuck.copy()
    is_listed[order] |= np.cumsum(opened.n_samples[order]) <= value_limit
    n_cells = min(MAX_CELLS, max(MIN_CELLS, n_samples // 256)) // max(1, int(np.count_nonzero(~is_listed)))
    return Plan(opened.low, opened.high, np.where(is_listed, 0, min(CELLS_OF_ONE, max(4, n_cells))), opened.n_samples)


class _Sought(NamedTuple):
    """The sought ranks, and the group of each as far as it is known: `Boundaries` in the making."""

    ranks: Int64s
    score: Float64s
    below: Int64s
    below_ones: Int64s
    equal: Int64s
    equal_ones: Int64s

    def open(self, cells: Cells, parents: _Opened, intervals: Int64s) -> _Opened:
        """Cells of these intervals that hold sought ranks; those of a single score are answered at once."""
        if len(intervals) == 0:
            return parents
        if len(cells.interval) == 0:
            raise InputError(CHANGED)
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
        by_slot = np.bincount(values.slot, values.n_samples if len(values.n_samples) else None, 2 * int(intervals[-1]) + 2)
        by_label = by_slot.astype(np.int64).reshape(-1, 2)[intervals]  # sums of frequencies are exact as doubles
        _require_same(by_label.sum(axis=1), listed.n_samples)
        _require_same(by_label[:, 1], listed.n_positive)
        # Intervals ascend, so the samples listed in those before lie below, and take the place of all that lie below.
        more = listed.below - (np.cumsum(listed.n_samples) - listed.n_samples)
        more_ones = listed.below_ones - (np.cumsum(listed.n_positive) - listed.n_positive)
        interval, positions = listed.ranks()
        ranks = self.ranks[positions] - more[interval]
        labels = (values.slot & 1).astype(np.uint8)
        found = groups_of_rows(values.score, labels, values.n_samples, lambda _: ranks)
        counts = found.below + more[interval], found.below_ones + more_ones[interval], found.equal, found.equal_ones
        self._answer(positions, found.score, counts)

    def _answer(self, positions: Int64s, score: Float64s, counts: Iterable[Int64s]) -> None:
        self.score[positions] = score
        for column, values in zip(self[2:], counts, strict=True):
            column[positions] = values


def _require_same(counts: Int64s, before: Int64s) -> None:
    if not (counts == before).all():
        raise InputError(CHANGED)
