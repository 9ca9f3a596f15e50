"""Bins, and what was seen in each: counts and sums that add, however the rows were divided.

Importance weights are summed exactly, so that a weighted model depends on its rows and not on their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from fastbin._base.array_types import Array, Bools, Float64s, Int64s, UInt64s
from fastbin._base.checks import ScoreRange, refuse_first
from fastbin._base.errors import InputError, InputTypeError
from fastbin._core.fit import add_exactly, carry, mean_labels
from fastbin._fit.histogram import Chunk
from fastbin._fit.quantiles import CHANGED, Plan, Source
from fastbin._fit.rows import BLOCK, Rows, limits_of
from fastbin.model import BinnedModel

# Keys of an edge that has every score that equals it above itself, or below.
KEY_ABOVE, KEY_BELOW = 0, 2**64 - 1


class Partition:
    """Bins: edges, a key for each, and the range of the scores. Immutable.

    A sample with score s and key k lies above an edge exactly when ``s > edge or (s == edge and k >= edge_key)``.
    """

    def __init__(self, edges: Float64s, edge_keys: UInt64s | None = None, score_range: ScoreRange = None) -> None:
        self.edges = edges
        self.edge_keys = np.full(len(edges), KEY_ABOVE, np.uint64) if edge_keys is None else edge_keys
        self.score_range = score_range
        self._model: BinnedModel | None = None

    @classmethod
    def of(cls, model: BinnedModel) -> Partition:
        """The bins of a step model."""
        partition = cls(np.array(model.bin_edges), np.array(model.bin_edge_keys), model.score_range)
        partition._model = model
        return partition

    @property
    def n_bins(self) -> int:
        return len(self.edges) + 1

    @property
    def model(self) -> BinnedModel:
        """A model that only knows its bins."""
        if self._model is None:
            values = np.zeros(self.n_bins)
            self._model = BinnedModel._of(
                edges=self.edges, edge_keys=self.edge_keys, values=values, score_range=self.score_range
            )
        return self._model

    def assign(self, scores: Any, *, tie_keys: UInt64s | None = None, seed: int | None = None) -> Int64s:
        """The bin of each score, as from `BinnedModel.assign`; keys are of any kind, as those of a fit only order its rows."""
        model = self.model
        bins = model.assign(scores, seed=seed) if tie_keys is None else model._assign_by(scores, tie_keys)
        return bins.astype(np.int64)

    def describe(self, b: int) -> str:
        """Bin `b` in words, for messages."""
        lower = "the lowest score" if b == 0 else f"{self.edges[b - 1]:g}"
        upper = "the highest score" if b == self.n_bins - 1 else f"{self.edges[b]:g}"
        return f"bin {b} (from {lower} to {upper})"


def without_empty_edges(edges: Float64s, edge_keys: UInt64s, score_range: ScoreRange) -> Partition:
    """The bins between these edges, but for edges that leave nothing on one side whatever the scores.

    These are edges that no score within the range can lie below or can reach, and all but one of equal edges.
    """
    low, high = limits_of(score_range)
    if (edges[1:] > edges[:-1]).all() and (len(edges) == 0 or (low < edges[0] and edges[-1] < high)):
        return Partition(edges, edge_keys, score_range)  # the usual case, for the sake of small fits
    kept = can_hold_scores(edges, edge_keys, score_range)
    return Partition(edges[kept], edge_keys[kept], score_range)


def can_hold_scores(edges: Float64s, edge_keys: UInt64s, score_range: ScoreRange) -> Bools:
    """For each edge whether scores can lie on both sides of it, and it is the first of its kind."""
    low, high = limits_of(score_range)
    above_low = (edges > low) | ((edges == low) & (edge_keys > KEY_ABOVE))
    kept = above_low & ((edges < high) | ((edges == high) & (edge_keys < KEY_BELOW)))
    kept[1:] &= (edges[1:] != edges[:-1]) | (edge_keys[1:] != edge_keys[:-1])
    return np.asarray(kept)


def require_weight(parts: dict[str, Any]) -> None:
    """Refuse the parts of a tally whose weights, or counts, are all 0: every value would stand for not knowing."""
    if not np.count_nonzero(parts.get("weight_sums", parts["counts"])):
        remedy = "a calibrator needs samples that weigh something"
        raise InputError("is 0 for every row that a bin averages", remedy, argument="sample_weight")


# The last bit of the least subnormal is 2**-1074; the greatest double is below 2**1024, sums of 2**62 of them below 2**1086.
LOWEST_EXPONENT = -1074
N_LIMBS = (1086 + 1074) // 32 + 2
# Up to 2**30, and far fewer, so that Python looks at signals in between.
TERMS_BEFORE_CARRY = 2**21


class ExactSums:
    """Sums of non-negative finite doubles per bin, kept exactly: they add, and nothing depends on order or division.

    Memory 0.5 kB per bin. Those of weighted rows (`add_rows`) are three for each bin: of w, of w y, of the doubles w w.
    """

    def __init__(self, n_bins: int) -> None:
        self._limbs = np.zeros(n_bins * N_LIMBS, np.int64)

    def add(self, values: Float64s, bins: Int64s) -> None:
        """Add each value to its bin; values with a negative bin are left out."""
        values = np.ascontiguousarray(values)
        for start in range(0, len(values), TERMS_BEFORE_CARRY):
            span = slice(start, start + TERMS_BEFORE_CARRY)
            add_exactly(values[span], bins[span], self._limbs, N_LIMBS)
            carry(self._limbs, N_LIMBS)

    def add_repeated(self, values: Float64s, bins: Int64s, repeats: Int64s) -> None:
        """Add repeats[i] times values[i], for values up to 1 (so that 2**62 of them do not overflow)."""
        for place in range(int(repeats.max(initial=0)).bit_length()):
            chosen = (repeats >> place) & 1 == 1
            self.add(np.ldexp(values[chosen], place), bins[chosen])

    def add_rows(self, bins: Int64s, labels: Array, weights: Float64s) -> None:
        """Add weighted rows to their bins; those with a negative bin are left out."""
        n = len(self._limbs) // (3 * N_LIMBS)
        for start in range(0, len(weights), BLOCK):
            span = slice(start, start + BLOCK)
            at, w = bins[span], weights[span]
            places = np.where(at < 0, -1, [at, np.where(labels[span] == 1, at + n, -1), at + 2 * n])
            self.add(np.concatenate([w, w, w * w]), places.ravel())

    def __add__(self, other: ExactSums) -> ExactSums:
        total = ExactSums(0)
        total._limbs = self._limbs + other._limbs
        carry(total._limbs, N_LIMBS)
        return total

    def rounded(self) -> Float64s:
        """The doubles nearest to the sums; refuses squares of weights, each a double, whose sum is none."""
        try:
            return np.array([float(total) for total in self._totals()])
        except OverflowError as error:
            problem = "has squares that add up to more than doubles hold"
            raise InputError(problem, "divide all weights by a constant", argument="sample_weight") from error

    def means(self, counts: Int64s) -> Float64s:
        """The doubles nearest to sums / counts, 0.5 for a count of 0. Rounded once: they do not fall where exact means rise."""
        pairs = zip(self._totals(), counts.tolist(), strict=True)
        return np.array([float(total / count) if count else 0.5 for total, count in pairs])

    def _totals(self) -> Iterator[Fraction]:
        for limbs in self._limbs.reshape(-1, N_LIMBS).tolist():
            total = sum(limb << (32 * place) for place, limb in enumerate(limbs))
            yield Fraction(total, 1 << -LOWEST_EXPONENT)


def exact_sums(values: Float64s, bins: Int64s, n_bins: int) -> Float64s:
    """The correctly rounded sums of non-negative finite doubles per bin."""
    sums = ExactSums(n_bins)
    sums.add(values, bins)
    return sums.rounded()


@dataclass(slots=True, eq=False)
class Tally:
    """Samples per bin, and how many of them have label 1; with importance weights, their sums too.

    Tallies of different rows over one partition add, in any order and grouping, to the tally of all rows, exactly. The sums of
    weights are those of `ExactSums.add_rows`.
    """

    counts: Int64s
    label_sums: Int64s
    weights: ExactSums | None = None

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

    def parts(self, *, monotone: bool = False) -> dict[str, Any]:
        """Values and evidence, by the names that `BinnedModel.from_parts` takes; `monotone` values do not fall."""
        parts: dict[str, Any] = {"counts": self.counts, "label_sums": self.label_sums}
        seen: Array = self.counts
        if self.weights is None:
            values = mean_labels(self.counts, self.label_sums)
        else:
            seen, of_ones, squares = self.weights.rounded().reshape(3, -1)
            parts |= {"weight_sums": seen, "weighted_label_sums": of_ones, "weight_square_sums": squares}
            values = np.where(seen == 0, 0.5, of_ones / np.where(seen == 0, 1.0, seen))
        return {**parts, "values": rising(values, seen) if monotone else values}


def rising(values: Float64s, seen: Array) -> Float64s:
    """Values that do not fall from bin to bin, by `linf_isotonic` over the bins where something was seen.

    Another bin takes the mean of its nearest neighbours of these, or the value of the one that it has. O(n_bins).
    """
    at = np.flatnonzero(seen > 0)
    if len(at) == 0:
        return values
    risen = np.empty(len(values))
    risen[at] = linf_isotonic(values[at])
    for b in np.flatnonzero(seen <= 0):
        beside = int(np.searchsorted(at, b))
        left, right = at[max(beside - 1, 0)], at[min(beside, len(at) - 1)]
        risen[b] = risen[left] + (risen[right] - risen[left]) / 2.0
    return risen


def linf_isotonic(values: Float64s) -> Float64s:
    """The non-decreasing values whose largest distance from the given ones is least.

    Half-way between the running maximum from the left and the running minimum from the right. Not the only minimiser: pooling
    adjacent violators gives the one of least squared distance.

    >>> linf_isotonic(np.array([0.1, 0.3, 0.2, 0.5]))
    array([0.1 , 0.25, 0.25, 0.5 ])
    """
    return (np.maximum.accumulate(values) + np.minimum.accumulate(values[::-1])[::-1]) / 2.0


def tally_bins(bins: Int64s, labels: Any, weights: Float64s | None, n_bins: int) -> Tally:
    """The tally of samples whose bins are known; those with a negative bin are left out. O(n)."""
    counted = bins >= 0
    counts, label_sums = (np.bincount(bins[chosen], minlength=n_bins) for chosen in (counted, counted & (labels == 1)))
    sums = None if weights is None else ExactSums(3 * n_bins)
    if sums is not None and weights is not None:
        sums.add_rows(bins, labels, weights)
    return Tally(counts, label_sums, sums)


def tally_rows(bins: Partition | BinnedModel, rows: Rows) -> Tally:
    """Count rows in the bins where a partition, or a step model, puts them.

    Checks the values of scores and labels: the first bad one is refused. One pass in blocks: time O(n), extra memory O(n_bins)
    whatever the number of rows (about 2 kB per bin with weights).
    """
    n_bins = bins.n_bins
    table = np.zeros(2 * n_bins, np.int64)
    sums = None if rows.weights is None else ExactSums(3 * n_bins)
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
            sums.add_rows(at, block.labels, rows.weights[span])
    label_sums = table[1::2].copy()
    return Tally(table[0::2] + label_sums, label_sums, sums)


def tally_source(source: Source, bins_of: Callable[[int], Partition]) -> tuple[Partition, Tally]:
    """The bins `bins_of(n_samples)`, without keys and of the range of the source, and their tally.

    One pass over rows in memory, two over others: time O(n log n_bins), memory O(n_bins).
    """
    if source.in_memory is not None:
        partition = bins_of(source.in_memory.n_samples())
        return partition, tally_rows(partition, source.in_memory)
    cells = source.answer(Plan.whole(source.limits, 1)).cells
    n_samples, n_positive = cells.n_samples.sum(), cells.n_positive.sum()
    partition, weighted = bins_of(int(n_samples)), source.weighted()
    if weighted is not None:
        return partition, reduce(add, (tally_rows(partition, rows) for rows in weighted))
    least, greatest = limits_of(partition.score_range)
    edges = partition.edges + 0.0  # -0.0 becomes 0.0
    low, high = np.append(least, edges), np.append(np.nextafter(edges, -np.inf), greatest)
    n_bins = partition.n_bins
    cells = source.answer(Plan(low, high, np.ones(n_bins, np.int64), np.full(n_bins, n_samples))).cells
    tally = Tally(np.zeros(n_bins, np.int64), np.zeros(n_bins, np.int64))
    np.add.at(tally.counts, cells.interval, cells.n_samples)
    np.add.at(tally.label_sums, cells.interval, cells.n_positive)
    if tally.counts.sum() != n_samples or tally.label_sums.sum() != n_positive:
        raise InputError(CHANGED)
    return partition, tally


def assign(bins: Partition | BinnedModel, rows: Rows, block: Chunk, tie_keys: Any = None) -> Int64s:
    """The bins of a block of rows; a bad score is refused by its position among all rows."""
    try:
        return np.asarray(bins.assign(block.scores, tie_keys=tie_keys)).astype(np.int64, copy=False)
    except InputError:
        rows.refuse(bad_scores=True)
        raise


def check_counts(counts: Any, label_sums: Any, n_bins: int) -> tuple[Int64s, Int64s]:
    """Samples and label sums of each bin, both int64 (n_bins,)."""
    samples, ones = (check_per_bin(column, name, n_bins) for column, name in ((counts, "counts"), (label_sums, "label_sums")))
    refuse_first(ones > samples, "label_sums", ones, problem=lambda b: f"is {ones[b]}, and counts[{b}] only {samples[b]}")
    return samples, ones


def check_per_bin(column: Any, name: str, n_bins: int, called: str = "bins") -> Int64s:
    """A number of samples for each bin, int64 (n_bins,); messages may call bins otherwise."""
    array = np.asarray(column)
    if column is None:
        raise InputTypeError(f"{name} is None; count with label=, the column of labels")
    if array.shape != (n_bins,):
        raise InputError(f"{name} has shape {array.shape}; give one number for each of the {n_bins} {called}")
    if array.dtype.kind not in "iu":
        raise InputTypeError(f"{name} has dtype {array.dtype}; counts are integers")
    refuse_first(array < 0, name, array, "counts are not negative")
    if array.size and sum(array.tolist()) > 2**53:
        raise InputError(f"{name} adds up to more than 2**53 samples")
    return array.astype(np.int64)
