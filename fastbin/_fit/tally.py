"""What was seen in each bin of a given partition: counts and sums that add, however the rows were divided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fastbin._errors import InputError
from fastbin._fit.exact_sums import WeightSums
from fastbin._fit.recipe import means
from fastbin._fit.rows import BLOCK, Chunk, Rows
from fastbin._validation import ScoreRange
from fastbin.model import BinnedModel

__all__ = ["BinTally", "assign", "bins_between", "blocks", "tally"]

Int64s = npt.NDArray[np.int64]
Float64s = npt.NDArray[np.float64]


@dataclass(frozen=True)
class BinTally:
    """Samples per bin, and how many of them have label 1; with importance weights, their sums too.

    Tallies of different rows over one partition add, in any order and grouping, to the tally of all rows, exactly:
    ``tally(model, first) + tally(model, second) == tally(model, both)``. `BinTally.zero` is neutral.
    """

    counts: Int64s
    label_sums: Int64s
    weight_sums: WeightSums | None = None

    @classmethod
    def zero(cls, n_bins: int, *, weighted: bool = False) -> BinTally:
        """The tally of no rows."""
        return cls(np.zeros(n_bins, np.int64), np.zeros(n_bins, np.int64), WeightSums.zero(n_bins) if weighted else None)

    def __add__(self, other: BinTally) -> BinTally:
        if len(self.counts) != len(other.counts):
            raise InputError(f"tallies of {len(self.counts)} and {len(other.counts)} bins do not add; tally over one partition")
        if (self.weight_sums is None) != (other.weight_sums is None):
            raise InputError("a weighted and an unweighted tally do not add; give every row a weight, or none")
        sums = None
        if self.weight_sums is not None and other.weight_sums is not None:
            sums = self.weight_sums + other.weight_sums
        return BinTally(self.counts + other.counts, self.label_sums + other.label_sums, sums)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BinTally):
            return NotImplemented
        mine, theirs = self.parts(), other.parts()
        return mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]

    @property
    def n_samples(self) -> int:
        return int(self.counts.sum())

    @property
    def n_positive(self) -> int:
        return int(self.label_sums.sum())

    def values(self) -> Float64s:
        """The mean label of each bin (weighted, where there are weights); 0.5 for a bin without samples, or without weight."""
        if self.weight_sums is not None:
            return self.weight_sums.rounded().values()
        return means(self.counts, self.label_sums)

    def parts(self) -> dict[str, Any]:
        """Values and evidence, by the names that `BinnedModel.from_parts` takes."""
        evidence = {"counts": self.counts, "label_sums": self.label_sums}
        if self.weight_sums is None:
            return {"values": self.values(), **evidence}
        sums = self.weight_sums.rounded()
        return {"values": sums.values(), **evidence, **sums._asdict()}


def bins_between(edges: Any, edge_keys: Any, score_range: ScoreRange) -> BinnedModel:
    """A model that only knows its bins: for `tally`, and for `assign`."""
    n_bins = len(edges) + 1
    return BinnedModel.from_parts(edges=edges, edge_keys=edge_keys, values=np.zeros(n_bins), score_range=score_range)


def blocks(rows: Rows, size: int = BLOCK) -> Iterator[tuple[int, Chunk]]:
    """All rows in order, a block at a time, each with the position of its first row. Refuses bad labels."""
    start = 0
    for chunk in rows.chunks():
        for first in range(0, len(chunk.scores), size):
            span = slice(first, first + size)
            block = Chunk(chunk.scores[span], chunk.labels[span], chunk.weights[span])
            if block.labels.max(initial=0) > 1:
                rows.refuse(bad_scores=False)
            yield start, block
            start += len(block.scores)


def tally(
    model: BinnedModel, rows: Rows, weights: Float64s | None = None, keys: npt.NDArray[np.uint64] | None = None
) -> BinTally:
    """Count rows in the bins where `model` puts them.

    Parameters
    ----------
    model : BinnedModel
        Of kind "step", with the score range of the rows; its edges alone matter.
    rows : Rows
        Checked on the way: the first bad score or label is refused.
    weights : float64 (n,), optional
        Importance weights.
    keys : uint64 (n,), optional
        For scores that equal an edge which splits ties by key.

    Returns
    -------
    BinTally

    Notes
    -----
    One pass in blocks: time O(n), extra memory O(n_bins) whatever the number of rows (about 2 kB per bin with weights).
    """
    n_bins = model.n_bins
    table = np.zeros(2 * n_bins, np.int64)
    sums = None if weights is None else WeightSums.zero(n_bins)
    # A block at least as long as the table, so that many bins cost no more than many rows.
    for start, block in blocks(rows, max(BLOCK, 2 * n_bins)):
        span = slice(start, start + len(block.scores))
        bins = assign(model, rows, block, None if keys is None else keys[span])
        cell = 2 * bins + block.labels
        if block.weights.size:
            np.add.at(table, cell, block.weights)
        else:
            table += np.bincount(cell, minlength=2 * n_bins)
        if sums is not None and weights is not None:
            sums.add(bins, block.labels, weights[span], start)
    label_sums = table[1::2].copy()
    return BinTally(table[0::2] + label_sums, label_sums, sums)


def assign(model: BinnedModel, rows: Rows, block: Chunk, keys: npt.NDArray[np.uint64] | None = None) -> Int64s:
    """The bins of a block of rows; a bad score is refused by its position among all rows."""
    try:
        return model.assign(block.scores, keys=keys).astype(np.int64)
    except InputError:
        rows.refuse(bad_scores=True)
        raise
