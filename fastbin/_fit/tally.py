"""What was seen in each bin of a partition: counts and sums that add, however the rows were divided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fastbin._errors import InputError
from fastbin._fit.exact_sums import WeightSums, require_weight
from fastbin._fit.rows import BLOCK, Chunk, Rows
from fastbin._typing import Float64s, Int64s


class Bins(Protocol):
    """A partition, or a step model."""

    @property
    def n_bins(self) -> int: ...
    def assign(self, scores: Any, *, keys: Any = None) -> Any: ...


@dataclass(slots=True, eq=False)
class Tally:
    """Samples per bin, and how many of them have label 1; with importance weights, their sums too.

    Tallies of different rows over one partition add, in any order and grouping, to the tally of all rows, exactly.
    `Tally.zero` is neutral.
    """

    counts: Int64s
    label_sums: Int64s
    weights: WeightSums | None = None

    @classmethod
    def zero(cls, n_bins: int, *, weighted: bool = False) -> Tally:
        """The tally of no rows."""
        return cls(np.zeros(n_bins, np.int64), np.zeros(n_bins, np.int64), WeightSums.zero(n_bins) if weighted else None)

    def __add__(self, other: Tally) -> Tally:
        if len(self.counts) != len(other.counts):
            raise InputError(f"tallies of {len(self.counts)} and {len(other.counts)} bins do not add; tally over one partition")
        if (self.weights is None) != (other.weights is None):
            raise InputError("a weighted and an unweighted tally do not add; give every row a weight, or none")
        sums = None
        if self.weights is not None and other.weights is not None:
            sums = self.weights + other.weights
        return Tally(self.counts + other.counts, self.label_sums + other.label_sums, sums)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        mine, theirs = self.parts(), other.parts()
        return mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]

    def values(self) -> Float64s:
        """The mean label of each bin (weighted, where there are weights); 0.5 for a bin without samples, or without weight."""
        return self.parts()["values"]

    def parts(self, *, required: bool = False) -> dict[str, Any]:
        """Values and evidence, by the names that `BinnedModel.from_parts` takes; some weight, if any, may be `required`."""
        counts, label_sums = self.counts, self.label_sums
        if self.weights is not None:
            sums = self.weights.rounded()
            if required:
                require_weight(sums.weight_sums)
            return {"values": sums.values(), "counts": counts, "label_sums": label_sums, **sums._asdict()}
        values = np.where(counts > 0, label_sums / np.maximum(counts, 1), 0.5)
        return {"values": values, "counts": counts, "label_sums": label_sums}


def tally_bins(bins: Int64s, labels: Any, weights: Float64s | None, n_bins: int) -> Tally:
    """The tally of samples whose bins are known; those with a negative bin are left out. O(n)."""
    counted = bins >= 0
    counts, label_sums = (np.bincount(bins[chosen], minlength=n_bins) for chosen in (counted, counted & (labels == 1)))
    return Tally(counts, label_sums, None if weights is None else WeightSums.of(bins, labels, weights, n_bins))


def tally_rows(bins: Bins, rows: Rows) -> Tally:
    """Count rows in the bins where a partition, or a step model, puts them.

    Checks the values of scores and labels: the first bad one is refused. One pass in blocks: time O(n), extra memory O(n_bins)
    whatever the number of rows (about 2 kB per bin with weights).
    """
    n_bins = bins.n_bins
    table = np.zeros(2 * n_bins, np.int64)
    sums = None if rows.weights is None else WeightSums.zero(n_bins)
    # A block at least as long as the table, so that many bins cost no more than many rows.
    for start, block in rows.blocks(max(BLOCK, 2 * n_bins)):
        span = slice(start, start + len(block.scores))
        at = assign(bins, rows, block, None if rows.keys is None else rows.keys[span])
        cell = 2 * at + block.labels
        if block.weights.size:
            np.add.at(table, cell, block.weights)
        else:
            table += np.bincount(cell, minlength=2 * n_bins)
        if sums is not None and rows.weights is not None:
            sums.add(at, block.labels, rows.weights[span], start)
    label_sums = table[1::2].copy()
    return Tally(table[0::2] + label_sums, label_sums, sums)


def assign(bins: Bins, rows: Rows, block: Chunk, keys: Any = None) -> Int64s:
    """The bins of a block of rows; a bad score is refused by its position among all rows."""
    try:
        return np.asarray(bins.assign(block.scores, keys=keys)).astype(np.int64, copy=False)
    except InputError:
        rows.refuse(bad_scores=True)
        raise
