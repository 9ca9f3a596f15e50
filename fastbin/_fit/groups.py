"""Groups of equal scores that hold a boundary, and how one sort finds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fastbin._fit.rows import Chunk, Rows
from fastbin._native.ties import group_digest
from fastbin._typing import Array, Float64s, Int64s, UInt8s

RanksOf = Callable[[int], Int64s]


class BoundaryGroups(NamedTuple):
    """For each wanted rank, the group of samples that share the score at that rank."""

    score: Float64s
    below: Int64s  # samples with a lower score
    below_ones: Int64s  # of these, label 1
    equal: Int64s  # samples with this score
    equal_ones: Int64s
    n_samples: int
    n_positive: int

    def digest(self, seed: int) -> int:
        """What seeds the keys of tied samples: a digest of the seed and of these groups, each once (csrc/FORMAT.md, "Keys").

        Members of a group are numbered with label 1 first, so under the seed alone their keys would depend on their labels.
        """
        columns = (self.below, self.below_ones, self.equal, self.equal_ones)
        return group_digest(seed, np.ascontiguousarray(self.score), *map(np.ascontiguousarray, columns))


def run_starts(ascending: Array) -> Int64s:
    """Where each run of equal values of an ascending array begins."""
    if ascending.size == 0:
        return np.empty(0, np.int64)
    return np.flatnonzero(np.concatenate(([True], ascending[1:] != ascending[:-1])))


def groups_at(score: Float64s, scores: Float64s, labels: UInt8s) -> BoundaryGroups:
    """The groups of these scores, which are among all `scores`; those ascend, each with its label. O(n)."""
    ones = np.concatenate([[0], np.cumsum(labels, dtype=np.int64)])
    first, end = np.searchsorted(scores, score), np.searchsorted(scores, score, side="right")
    return BoundaryGroups(score, first, ones[first], end - first, ones[end] - ones[first], len(scores), int(ones[-1]))


def groups_by_sorting(rows: Rows, ranks_of: RanksOf) -> BoundaryGroups:
    """As `quantiles.boundary_groups`. Checks the values of scores and labels. Time O(n log n), memory O(n)."""
    low, high = rows.limits
    parts = list(rows.chunks())
    scores, labels, weights = parts[0] if len(parts) == 1 else Chunk(*map(np.concatenate, zip(*parts, strict=True)))
    # A NaN comes through min and max, and fails the comparison.
    if not (scores.min() >= low and scores.max() <= high):
        rows.refuse(bad_scores=True)
    if labels.max() > 1:
        rows.refuse(bad_scores=False)
    if weights.size == 0 and low >= 0.0:
        return _sort_packed(scores, labels, ranks_of)
    order = np.argsort(scores, kind="stable")
    scores = scores[order]
    frequency = np.ones(len(order), np.int64) if weights.size == 0 else weights[order]
    samples = np.concatenate(([0], np.cumsum(frequency)))
    ones = np.concatenate(([0], np.cumsum(frequency * labels[order])))
    score = scores[np.searchsorted(samples[1:], ranks_of(int(samples[-1])), side="left")]
    first, end = np.searchsorted(scores, score, side="left"), np.searchsorted(scores, score, side="right")
    return BoundaryGroups(
        score + 0.0, samples[first], ones[first], samples[end] - samples[first], ones[end] - ones[first],
        int(samples[-1]), int(ones[-1]),
    )  # fmt: skip


def _sort_packed(scores: Float64s, labels: UInt8s, ranks_of: RanksOf) -> BoundaryGroups:
    """Scores that are not negative have a spare bit for the label, and order like their bits: one integer sort does it."""
    packed = (scores + 0.0).view(np.uint64)  # + 0.0 turns -0.0 into 0.0
    packed <<= np.uint64(1)
    packed |= labels ^ np.uint8(1)  # within a score, label-1 rows first
    packed.sort()
    group = packed[ranks_of(packed.size) - 1] & ~np.uint64(1)
    below = np.searchsorted(packed, group)
    first_zero = np.searchsorted(packed, group | np.uint64(1))
    end = np.searchsorted(packed, group | np.uint64(1), side="right")
    zeros = np.concatenate(([0], np.cumsum(packed & np.uint64(1), dtype=np.int64)))
    score = (group >> np.uint64(1)).view(np.float64)
    return BoundaryGroups(
        score, below, below - zeros[below], end - below, first_zero - below, packed.size, packed.size - int(zeros[-1])
    )
