"""Cuts: the samples at given ranks when all are ordered by (score, key)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastbin._errors import InputError
from fastbin._fit.sorting import BoundaryGroups, run_starts
from fastbin._native.ties import cut_groups

__all__ = ["Cuts", "TieKeys", "order_cuts"]

Int64s = npt.NDArray[np.int64]
UInt64s = npt.NDArray[np.uint64]


class Cuts(NamedTuple):
    """The boundary samples, in ascending order: one array entry each."""

    score: npt.NDArray[np.float64]
    key: UInt64s
    rank: Int64s  # from 1
    ones_before: Int64s  # samples with label 1 of lower rank
    is_one: Int64s  # 1 where the boundary sample itself has label 1
    group: BoundaryGroups  # the samples that share its score
    key_seed: int  # the digest that seeds the keys


def order_cuts(groups: BoundaryGroups, ranks: Int64s, seed: int, tie_keys: TieKeys | None = None) -> Cuts:
    """Find the boundary samples inside their groups of equal scores.

    Sample j of a group has the key ``group_key(groups.digest(seed), score, j)``, label-1 samples first, unless the caller
    brought keys. Time O(len(ranks)) plus the sizes of the groups of two or more.
    """
    key_seed = groups.digest(seed)
    within = ranks - groups.below
    first = run_starts(groups.score)
    bounds = np.append(first, len(ranks))
    if tie_keys is None:
        score, equal, ones = groups.score[first], groups.equal[first], groups.equal_ones[first]
        key, before, is_one = cut_groups(key_seed, score, equal, ones, bounds, within)
    else:
        key = np.empty(len(ranks), np.uint64)
        before, is_one = np.empty(len(ranks), np.int64), np.empty(len(ranks), np.int64)
        for a, b in pairwise(bounds.tolist()):
            key[a:b], before[a:b], is_one[a:b] = tie_keys.cut_group(float(groups.score[a]), within[a:b])
    return Cuts(groups.score, key, ranks, groups.below_ones + before, is_one, groups, key_seed)


class TieKeys:
    """Keys that the caller brought, one per row, for groups of equal scores."""

    def __init__(self, scores: npt.NDArray[Any], labels: npt.NDArray[Any], keys: UInt64s) -> None:
        self._scores, self._labels, self._keys = scores, labels, keys

    def gather(self, boundary_scores: npt.NDArray[np.float64]) -> TieKeys:
        """Only the rows of these scores: all that `cut_group` will be asked for."""
        held = np.isin(self._scores, boundary_scores)
        scores, labels, keys = self._scores[held].astype(np.float64), self._labels[held], self._keys[held]
        order = np.lexsort((keys, scores))
        return TieKeys(scores[order], labels[order], keys[order])

    def cut_group(self, score: float, ranks: Int64s) -> tuple[UInt64s, Int64s, Int64s]:
        """As `fastbin._native.ties.cut_groups` for one group, on gathered rows."""
        span = slice(np.searchsorted(self._scores, score), np.searchsorted(self._scores, score, side="right"))
        keys, labels = self._keys[span], self._labels[span].astype(np.int64)
        self.refuse_repeated(np.full(len(ranks), score), keys[ranks - 1])
        ones_before = np.cumsum(labels) - labels
        return keys[ranks - 1], ones_before[ranks - 1], labels[ranks - 1]

    def refuse_repeated(self, scores: npt.NDArray[np.float64], keys: UInt64s) -> None:
        """Raise where a boundary sample shares both its score and its key: an edge could not stand between the two."""
        for score, key in zip(scores, keys, strict=True):
            span = slice(np.searchsorted(self._scores, score), np.searchsorted(self._scores, score, side="right"))
            if np.count_nonzero(self._keys[span] == key) > 1:
                raise InputError(
                    f"tie_keys holds {int(key)} more than once among rows with the score {float(score)!r}, where a bin "
                    "boundary falls on it; keys must differ within one score"
                )
