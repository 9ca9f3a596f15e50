"""Fit is a fold: the scores at given ranks, and what lies below them, from counts that add.

`boundary_groups` answers the one question that every uniform-mass fit asks: which score has rank k, how many samples lie
below it and how many of those have label 1, and the same for the samples that equal it. It needs no sorted copy of the data.
One pass counts all rows in a fixed number of cells. Only cells that hold a wanted rank are looked into again: by gathering
their few rows, or, where a cell is too full (bunched or tied scores), by counting it in finer cells of its own. Everything
kept is an integer count over an interval of scores, so any division of the rows into threads or chunks gives the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import or_
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fastbin._errors import InputError
from fastbin._fit.histogram import choose_node, choose_root, codes_of, scores_of
from fastbin._fit.rows import Chunk, Rows
from fastbin._fit.sorting import BoundaryGroups, RanksOf, groups_by_sorting, run_starts

__all__ = ["BoundaryGroups", "Fold", "boundary_groups"]

Int64s = npt.NDArray[np.int64]

# One sort beats the passes on few rows, and where there are so many ranks that their cells hold most rows.
SORT_UP_TO = 16384
SORT_FROM_RANKS = 64

# The root table stays in the second-level cache up to 2**14 cells; more than that only for very many bins.
MIN_ROOT_CELLS, ROOT_CELLS, MAX_ROOT_CELLS = 2**8, 2**14, 2**17

# Cells of all nodes planned in one pass (fewer for fewer rows), and of one node.
MAX_NODE_CELLS, NODE_CELLS = 2**18, 2**10

# A fit needs little memory whatever the data: gathered scores, and the tables before them, get this share of 8 bytes a row (but
# SORT_UP_TO rows may always be gathered). A root cell costs as much as three gathered scores.
GATHER_SHARE, ROWS_A_CELL = 1 / 12, 3

CHANGED = "the rows changed between two passes over them; a fit needs the same rows each time"


def boundary_groups(rows: Rows, ranks_of: RanksOf, n_ranks: int, n_threads: int = 1) -> BoundaryGroups:
    """The groups at the ranks `ranks_of(n_samples)`: `n_ranks` of them, ascending, from 1.

    Checks the values of scores and labels on the way. Time O(n) for n rows: two passes on scores that are neither bunched nor
    tied, a few more on any others. Extra memory: the tables and n / 12 gathered scores at most. (For fewer than 64 rows a rank
    it sorts: time O(n log n), memory O(n).)
    """
    if len(rows) <= max(SORT_UP_TO, SORT_FROM_RANKS * n_ranks):
        return groups_by_sorting(rows, ranks_of)
    n_forks = max(1, min(n_threads, len(rows) // SORT_UP_TO))
    fold = Fold(rows.sample(min(max(1024, len(rows) // 1024), 8192)), len(rows), n_ranks, rows.limits, n_forks, rows.weighted)
    parts = [rows.part(fork, n_forks) for fork in range(n_forks)]
    while not fold.settled:
        _run(lambda fork: fold.take(parts[fork].chunks(), fork), n_forks)
        if fold.bad_rows:
            rows.refuse(bad_scores=bool(fold.bad_rows & 1))
        fold.end_pass(ranks_of)
    return fold.groups()


def _run(work: Callable[[int], None], n_forks: int) -> None:
    """work(0) ... work(n_forks - 1), each in a thread of its own; the first error is raised."""
    if n_forks == 1:
        work(0)
        return
    with ThreadPoolExecutor(n_forks) as pool:
        for finished in [pool.submit(work, fork) for fork in range(n_forks)]:
            finished.result()


class Cells(NamedTuple):
    """Cells that hold wanted ranks, in ascending order of their scores: int64 arrays of one length."""

    cell: Int64s  # its place in `link`
    low: Int64s  # the codes it may hold: low ... high
    high: Int64s
    below: Int64s  # samples in cells before it
    below_ones: Int64s
    counts: Int64s  # (cells, n_forks, 2): its samples, by fork and label
    first_rank: Int64s  # the wanted ranks in it: positions first_rank ... end_rank
    end_rank: Int64s

    @property
    def sizes(self) -> Int64s:
        return np.asarray(self.counts.sum(axis=(1, 2)))

    def take(self, chosen: npt.NDArray[np.bool_]) -> Cells:
        return Cells(*(column[chosen] for column in self))

    def ranks(self) -> tuple[Int64s, Int64s]:
        """Every rank in these cells: the number of its cell, and its position among the wanted ranks."""
        repeats = self.end_rank - self.first_rank
        cell = np.repeat(np.arange(len(repeats)), repeats)
        return cell, self.first_rank[cell] + np.arange(len(cell)) - (np.cumsum(repeats) - repeats)[cell]


class Fold:
    """The passes, for rows that come in chunks.

    ::

        while not fold.settled:
            for each fork: fold.take(chunks of that fork, fork)
            fold.end_pass(ranks_of)
        fold.groups()

    Every pass must see the same rows, divided among the forks in the same way; counts that differ are refused. Forks may take
    their chunks at the same time.
    """

    def __init__(
        self,
        sample: npt.NDArray[np.float64],
        n_rows: int,
        n_ranks: int,
        limits: tuple[float, float],
        n_forks: int = 1,
        weighted: bool = False,
    ) -> None:
        from fastbin._kernels import quantiles as kernels

        self._kernels = kernels
        self._limits = limits
        self._weighted = weighted
        self._n_forks = n_forks
        self._sample_codes = np.sort(codes_of(sample[np.isfinite(sample)]))
        # More cells leave fewer rows to be looked into again, but cost memory, and time where they leave the caches.
        wanted = max(min(n_rows // 128, ROOT_CELLS), min(n_rows // 16, 16 * n_ranks), min(n_rows // 256, 128 * n_ranks))
        n_cells = min(max(MIN_ROOT_CELLS, 1 << (wanted - 1).bit_length()), MAX_ROOT_CELLS)
        self._map = choose_root(self._sample_codes, n_rows, n_cells, n_ranks)
        self._tables = [np.zeros(2 * self._map.n_cells, np.int64) for _ in range(n_forks)]
        self._all_node_cells = min(MAX_NODE_CELLS, max(NODE_CELLS, n_rows // 256))
        self._gather_limit = max(SORT_UP_TO, int(n_rows * GATHER_SHARE) - ROWS_A_CELL * self._map.n_cells)
        self._nodes: list[tuple[int, int, int, int]] = []  # base, shift, cells, offset of every node so far
        self._planned = False
        self._bad_rows = [0] * n_forks  # one each: forks that run at the same time would overwrite each other
        self.settled = False

    def take(self, chunks: Iterable[Chunk], fork: int = 0) -> None:
        """Fold chunks into the state of one fork."""
        for scores, labels, weights in chunks:
            rows = (scores, scores.view(np.int64), labels, weights, *self._map)
            if not self._planned:
                self._bad_rows[fork] |= self._kernels.count_rows(*rows, *self._limits, self._tables[fork])
            else:
                gathering = self._slot_next[fork], self._gathered, self._gathered_weights
                self._kernels.descend_rows(*rows, self._link, *self._node_arrays, self._tables[fork], *gathering)

    @property
    def bad_rows(self) -> int:
        """The bit set of `fastbin._kernels.quantiles.check` over all rows taken: not 0 if one of them has to be refused."""
        return reduce(or_, self._bad_rows)

    def end_pass(self, ranks_of: RanksOf) -> None:
        """Merge the forks, answer the ranks that can be answered, and plan the next pass for the others."""
        if not self._planned:
            opened = self._end_count(ranks_of)
        else:
            self._check_gathered()
            self._answer_slots()
            self._gathered = self._gathered_weights = np.empty(0)  # no longer needed when the next ones are laid out
            opened = self._end_descent()
            self._tables = []
        constant = opened.low == opened.high
        self._answer_constant(opened.take(constant))
        opened = opened.take(~constant)
        self.settled = len(opened.cell) == 0
        if not self.settled:
            self._plan(opened)

    def groups(self) -> BoundaryGroups:
        """The answer, once settled."""
        below, below_ones, equal, equal_ones = self._answer
        return BoundaryGroups(self._score, below, below_ones, equal, equal_ones, self._n_samples, self._n_positive)

    # ------------------------------------------------------------------ after a pass

    def _end_count(self, ranks_of: RanksOf) -> Cells:
        """All rows are counted in the root's cells: find those that hold wanted ranks."""
        n_cells = self._map.n_cells
        by_fork = [table.reshape(n_cells, 1, 2) for table in self._tables]
        counts = by_fork[0] if self._n_forks == 1 else np.concatenate(by_fork, axis=1)  # no copy unless there are several
        self._tables = []
        self._n_samples, self._n_positive = int(counts.sum()), int(counts[:, :, 1].sum())
        self._ranks = ranks_of(self._n_samples)
        self._score = np.empty(len(self._ranks))
        self._answer = np.empty((4, len(self._ranks)), np.int64)  # below, below_ones, equal, equal_ones
        self._link = np.full(n_cells, self._kernels.IGNORE, np.int32)
        lowest, highest = codes_of(np.array(self._limits))
        everything = Cells(*np.array([[0], [lowest], [highest], [0], [0], [0], [0], [len(self._ranks)]]))
        steps, _, *rest = self._holding_ranks(counts, everything, np.zeros(1, np.int64))
        return Cells(steps, *self._map.code_ranges(steps, int(lowest), int(highest)), *rest)

    def _end_descent(self) -> Cells:
        """The heavy cells are counted in the cells of their nodes: find those that hold wanted ranks."""
        heavy = self._heavy
        self._link[self._link < self._kernels.IGNORE] = self._kernels.IGNORE
        if len(heavy.cell) == 0:
            return heavy
        base, shift, n_cells, offset = self._node_arrays[:, -len(heavy.cell) :]
        after = slice(2 * (offset[0] - self._map.n_cells), None)
        counts = np.stack([table[after].reshape(-1, 2) for table in self._tables], axis=1)
        starts = offset - offset[0]
        if not np.array_equal(np.add.reduceat(counts, starts), heavy.counts):
            raise InputError(CHANGED)
        found, node, *rest = self._holding_ranks(counts, heavy, starts)
        steps = found - starts[node]
        lows, highs = heavy.low[node].tolist(), heavy.high[node].tolist()
        # In Python's integers: a step beyond the last code of all may not fit into 64 bits.
        for i, (step, at) in enumerate(zip(steps.tolist(), node.tolist(), strict=True)):
            first, width = int(base[at]), int(shift[at])
            lows[i] = lows[i] if step == 0 else max(lows[i], first + (step << width))
            highs[i] = highs[i] if step == n_cells[at] - 1 else min(highs[i], first + ((step + 1) << width) - 1)
        return Cells(offset[node] + steps, np.array(lows, np.int64), np.array(highs, np.int64), *rest)

    def _holding_ranks(self, counts: Int64s, parents: Cells, starts: Int64s) -> tuple[Int64s, ...]:
        """Among cells with these (cells, n_forks, 2) counts, those that hold the wanted ranks in their parents.

        The cells of each parent begin at `starts`. Returns the numbers of the cells found, those of their parents, and what
        `Cells` says of them from `below` on.
        """
        by_label = counts[:, 0] if self._n_forks == 1 else counts.sum(axis=1)
        size = by_label.sum(axis=1)
        ends, ones_ends = np.cumsum(size), np.cumsum(by_label[:, 1])
        # What to add to these, so that they count all samples and not only those in these cells.
        more = parents.below - np.where(starts > 0, ends[starts - 1], 0)
        more_ones = parents.below_ones - np.where(starts > 0, ones_ends[starts - 1], 0)
        parent, positions = parents.ranks()
        cell_of_rank = np.searchsorted(ends, self._ranks[positions] - more[parent], side="left")
        first = run_starts(cell_of_rank)
        cells, parent, first_rank = cell_of_rank[first], parent[first], positions[first]
        return (
            cells, parent, ends[cells] - size[cells] + more[parent], ones_ends[cells] - by_label[cells, 1] + more_ones[parent],
            counts[cells], first_rank, first_rank + np.diff(first, append=len(positions)),
        )  # fmt: skip

    def _answer_constant(self, cells: Cells) -> None:
        """Cells that can hold a single score are groups."""
        sizes, ones = cells.sizes, cells.counts[:, :, 1].sum(axis=1)
        cell, positions = cells.ranks()
        self._score[positions] = scores_of(cells.low)[cell]
        for row, column in enumerate((cells.below, cells.below_ones, sizes, ones)):
            self._answer[row, positions] = column[cell]

    def _check_gathered(self) -> None:
        """Refuse gathered rows that are not those that the pass before counted."""
        for fork in range(self._n_forks):
            first, after = self._slot_first[fork], self._slot_next[fork]
            counts = self._light.counts[:, fork].ravel()
            gathered = after - first
            if self._weighted and (gathered <= counts).all():
                totals = np.concatenate(([0], np.cumsum(self._gathered_weights)))
                gathered = totals[after] - totals[first]
            if not np.array_equal(gathered, counts):
                raise InputError(CHANGED)

    def _answer_slots(self) -> None:
        """The rows of the light cells are gathered: sort each cell and read the ranks off."""
        cells = self._light
        if len(cells.cell) == 0:
            return
        slot, positions = cells.ranks()
        within = self._ranks[positions] - cells.below[slot]
        score, answer = np.empty(len(slot)), np.empty((4, len(slot)), np.int64)
        if self._gathered_weights.size:
            self._select_weighted(slot, within, score, answer)
        else:
            self._kernels.select_in_slots(self._gathered, self._bounds, slot, within, score, *answer)
        answer[0] += cells.below[slot]
        answer[1] += cells.below_ones[slot]
        self._score[positions] = score + 0.0  # -0.0 becomes 0.0
        self._answer[:, positions] = answer

    def _select_weighted(self, slot: Int64s, within: Int64s, score: npt.NDArray[np.float64], answer: Int64s) -> None:
        """As the kernel `select_in_slots`, for rows that stand for several samples each."""
        for number in np.unique(slot):
            filled = [
                slice(start, self._slot_next[fork][2 * number + label])
                for fork in range(self._n_forks)
                for label, start in enumerate(self._slot_first[fork][2 * number : 2 * number + 2])
            ]
            scores = np.concatenate([self._gathered[span] for span in filled])
            weights = np.concatenate([self._gathered_weights[span] for span in filled])
            labels = np.concatenate([np.full(span.stop - span.start, i % 2, np.uint8) for i, span in enumerate(filled)])
            chosen = slot == number
            slot_rows, slot_ranks = Rows(scores, labels, weights, self._limits), within[chosen]
            groups = groups_by_sorting(slot_rows, lambda _, ranks=slot_ranks: ranks)  # type: ignore[misc]
            score[chosen] = groups.score
            answer[:, chosen] = groups[1:5]

    # ------------------------------------------------------------------ before a pass

    def _plan(self, opened: Cells) -> None:
        """Gather the smallest open cells, as many as memory allows; give every other one a node."""
        order = np.argsort(opened.sizes, kind="stable")
        fits = np.zeros(len(order), bool)
        fits[order] = np.cumsum(opened.sizes[order]) <= self._gather_limit
        self._light, self._heavy = opened.take(fits), opened.take(~fits)
        total = len(self._link)
        link = self._link
        n_cells = min(NODE_CELLS, max(4, self._all_node_cells // max(1, len(self._heavy.cell))))
        for low, high, cell in zip(self._heavy.low.tolist(), self._heavy.high.tolist(), self._heavy.cell.tolist(), strict=True):
            node = choose_node(self._sample_codes, low, high, n_cells)
            link[cell] = len(self._nodes)
            self._nodes.append((*node, total))
            total += node[2]
        self._link = np.concatenate((link, np.full(total - len(link), self._kernels.COUNT, np.int32)))
        self._link[self._light.cell] = self._kernels.GATHER - np.arange(len(self._light.cell))
        self._node_arrays = np.array(self._nodes, np.int64).reshape(-1, 4).T.copy()
        self._lay_out_slots(total)
        self._planned = True

    def _lay_out_slots(self, n_cells: int) -> None:
        """A place for every row that will be gathered: cell by cell, label 0 before 1, fork by fork."""
        counts = self._light.counts.transpose(0, 2, 1)  # cell, label, fork
        starts = np.concatenate(([0], np.cumsum(counts)))
        self._slot_first = [starts[:-1].reshape(counts.shape)[:, :, fork].ravel() for fork in range(self._n_forks)]
        self._slot_next = [first.copy() for first in self._slot_first]
        self._bounds = starts[:: self._n_forks].copy()
        self._gathered = np.empty(starts[-1])
        self._gathered_weights = np.zeros(starts[-1] if self._weighted else 0, np.int64)
        self._tables = [np.zeros(2 * (n_cells - self._map.n_cells), np.int64) for _ in range(self._n_forks)]
