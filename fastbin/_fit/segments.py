"""Many segments at once: their rows sorted, and the uniform-mass bins that `UniformMassBinning.fit` would make of each.

Rows are packed, score and label in one integer, brought to their segments, and sorted there; then one compiled call places the
edges of all segments by the rule of `fastbin._fit.edges`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Bools, Int32s, Int64s, UInt64s
from fastbin._base.cells import Key, TextCells, as_cells
from fastbin._base.ranks import boundary_ranks_of_runs, slice_ranks_of_runs
from fastbin._base.suspicions import are_hard_labels
from fastbin._core.fit import count_codes, fit_runs, number_keys, scatter_rows, slices_of_runs, sort_runs
from fastbin._core.schemes import OUT_OF_RANGE_CODES, SCHEMES, TIES_CODES
from fastbin._fit.rows import Rows, packed_scores
from fastbin._fit.tally import Tally, rising


class CellRows(NamedTuple):
    """The cell of each row, by a code; cells are numbered in the order of their keys."""

    codes: Int32s | Int64s  # one for each row
    low: int  # the least code that can occur
    n_codes: int
    places: Int64s  # of each cell, its code less `low`
    row_counts: Int64s  # of each cell

    @classmethod
    def of_codes(cls, codes: Int32s | Int64s, places: Int64s) -> CellRows:
        """Codes from 0 on, of which each has a cell."""
        return cls(codes, 0, len(places), places, count_codes(codes, 0, len(places))[places])

    def __len__(self) -> int:
        return len(self.places)

    def numbers(self) -> Int64s:
        """int64 (n,): the number of the cell of each row."""
        number = np.zeros(self.n_codes, np.int64)
        number[self.places] = np.arange(len(self.places))
        return number[self.codes - self.low]


def code_cells(column: Any, name: str) -> tuple[list[Key], CellRows]:
    """The keys that occur in a column, ascending, and the cell of each row.

    O(n), and sorting the keys.
    """
    # Many rows are read where they are; any other column is checked, and converted.
    is_plain = type(column) is np.ndarray and column.dtype == np.int32 and column.ndim == 1 and column.flags.c_contiguous
    cells = column if is_plain else as_cells(column, name)
    if isinstance(cells, TextCells):
        counts = count_codes(cells.codes, 0, len(cells.texts))
        places = np.array(sorted(np.flatnonzero(counts).tolist(), key=lambda code: cells.texts[code]), np.int64)
        return [cells.texts[code] for code in places.tolist()], CellRows(cells.codes, 0, len(counts), places, counts[places])
    low, high = (int(cells.min()), int(cells.max())) if len(cells) else (0, 0)
    if high - low < 2 * len(cells) + 1024:
        counts = count_codes(cells, low, high - low + 1)
        places = np.flatnonzero(counts)
        return (places + low).tolist(), CellRows(cells, low, len(counts), places, counts[places])
    keys, codes = number_keys(cells.astype(np.int64, copy=False))
    places = np.argsort(keys)
    return keys[places].tolist(), CellRows.of_codes(codes, places)


class SortedRuns(NamedTuple):
    """The rows of each of some models, packed and sorted, one model behind the other."""

    packed: UInt64s  # (n,)
    starts: Int64s  # where the rows of each model begin, and the end

    def each(self) -> Iterator[UInt64s]:
        """The rows of each model."""
        for start, stop in pairwise(self.starts.tolist()):
            yield self.packed[start:stop]

    def are_hard_labels(self) -> Bools:
        """Whether a model has many rows, whose scores are all exactly 0 or 1; bool, one for each."""
        ends = packed_scores(self.packed[[self.starts[:-1], self.starts[1:] - 1]])
        found: Bools = np.isin(ends[0], (0.0, 1.0)) & np.isin(ends[1], (0.0, 1.0))
        for number in np.flatnonzero(found).tolist():
            found[number] = are_hard_labels(packed_scores(self.packed[self.starts[number] : self.starts[number + 1]]))
        return found


def sort_into_runs(rows: Rows, cells: CellRows, is_pooled: Bools) -> SortedRuns:
    """The rows of each cell that is not pooled, and then of all that are, as those of one model.

    For rows without weights whose scores are not negative; their values are checked here. Time O(n log m) for cells of m rows,
    memory 8 bytes a row.
    """
    own, pooled = np.flatnonzero(~is_pooled), np.flatnonzero(is_pooled)
    starts = np.append(0, np.cumsum(cells.row_counts[own]))
    next_place = np.zeros(cells.n_codes, np.int64)
    next_place[cells.places[own]] = starts[:-1]
    if len(pooled):
        ends = starts[-1] + np.cumsum(cells.row_counts[pooled])
        next_place[cells.places[pooled]] = ends - cells.row_counts[pooled]
        starts = np.append(starts, len(rows))
    packed = np.empty(len(rows), np.uint64)
    n_bad, first = 0, 0
    for chunk in rows.chunks():
        end = first + len(chunk.scores)
        codes = cells.codes[first:end]
        n_bad += scatter_rows(codes, cells.low, next_place, chunk.scores, chunk.labels, *rows.limits, packed)
        first = end
    if n_bad:
        rows.checked()  # refuses the first of them
    sort_runs(packed, starts, rows.limits[1])
    return SortedRuns(packed, starts)


def fit_segments(
    runs: SortedRuns, limits: tuple[float, float], n_bins: Int64s, *, scheme: str, seed: int, out_of_range: str, monotone: bool
) -> dict[str, Any]:
    """The parts of all models, for `ModelSet._create_flat`.

    Of scheme "umd" or "ze"; `n_bins` are the bins that each model is asked for. Time O(n).
    """
    packed, starts = runs
    ranks, first_rank = boundary_ranks_of_runs(np.diff(starts), n_bins, scheme)
    parts = fit_runs(packed, starts, ranks, first_rank, scheme == "umd", seed)
    slices = slices_of_runs(packed, starts, *slice_ranks_of_runs(np.diff(starts)), seed)
    low, high = limits
    return {
        **parts, **slices, "values": _values(parts, monotone=monotone), "edge_keys": np.zeros(len(parts["edges"]), np.uint64),
        "ties": np.where(parts["n_tied"] > 0, TIES_CODES["whole"], TIES_CODES["upper"]).astype(np.int32),
        "n_bins_asked": n_bins, "scheme": SCHEMES[scheme].code, "seed": seed, "score_min": low, "score_max": high,
        "out_of_range": OUT_OF_RANGE_CODES[out_of_range], "edges_share": 1.0,
    }  # fmt: skip


def _values(parts: dict[str, Any], *, monotone: bool) -> Any:
    """The means of all bins; moved within each model, where they must not fall."""
    counts = parts["counts"]
    values = Tally(counts, parts["label_sums"]).values()
    if monotone:
        for start, stop in pairwise([0, *np.cumsum(parts["n_bins_each"]).tolist()]):
            values[start:stop] = rising(values[start:stop], counts[start:stop])
    return values
