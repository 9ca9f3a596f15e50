"""Groups of equal scores that hold a boundary, and how one sort finds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, NoReturn

import numpy as np

from fastbin._fit.rows import Chunk, Rows
from fastbin._native.ties import group_digest, groups_at_ranks, pack_rows
from fastbin._typing import Array, Float64s, Int64s, UInt8s

RanksOf = Callable[[int], Int64s]


class BoundaryGroups(NamedTuple):
    """For each wanted rank, the group of samples that share the score at that rank: contiguous arrays of one length."""

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
        return group_digest(seed, self.score, self.below, self.below_ones, self.equal, self.equal_ones)


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
    if weights.size == 0 and low >= 0.0:
        # Scores that are not negative have a spare bit for the label, and order like their bits: one integer sort does it.
        packed = pack_rows(scores, labels, low, high)
        if packed is None:
            _refuse(rows, scores)
        packed.sort()
        score, columns, n_ones = groups_at_ranks(packed, ranks_of(packed.size))
        below, below_ones, equal, equal_ones = columns
        return BoundaryGroups(score, below, below_ones, equal, equal_ones, packed.size, n_ones)
    # A NaN comes through min and max, and fails the comparison.
    if not (scores.min() >= low and scores.max() <= high and labels.max() <= 1):
        _refuse(rows, scores)
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


def _refuse(rows: Rows, scores: Float64s) -> NoReturn:
    low, high = rows.limits
    rows.refuse(bad_scores=not bool(((scores >= low) & (scores <= high)).all()))
