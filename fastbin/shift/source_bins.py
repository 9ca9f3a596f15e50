"""Uniform-mass bins on the source, and in which of them each source sample is counted.

The order of samples and their keys are those of `fastbin.UniformMassBinning`, so a model fitted here is the model fitted there
with the same weights; what is kept in addition is the bin of every row.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastbin._calibrator import Calibrator
from fastbin._errors import InputError
from fastbin._native.ties import group_digest, group_keys, rows_digest, split_keys
from fastbin._validation import ScoreRange, check_edges
from fastbin.model import BinnedModel

__all__ = ["SourceBins", "bins_of_partition", "uniform_mass_bins"]

Float64s = npt.NDArray[np.float64]
UInt64s = npt.NDArray[np.uint64]


class SourceBins(NamedTuple):
    """Edges with their keys, and the bin of each row, -1 for rows that no bin counts."""

    edges: Float64s
    edge_keys: UInt64s
    bins: npt.NDArray[np.int64]
    n_tied: int
    ties: str
    scheme: str

    @property
    def n_bins(self) -> int:
        return self.edges.shape[0] + 1

    def assigner(self, score_range: ScoreRange) -> BinnedModel:
        """A model that only assigns bins."""
        return _assigner(self.edges, self.edge_keys, score_range)

    def describe(self, b: int) -> str:
        """Bin `b` in words, for messages."""
        lower = "the lowest score" if b == 0 else f"{self.edges[b - 1]:g}"
        upper = "the highest score" if b == self.n_bins - 1 else f"{self.edges[b]:g}"
        return f"bin {b} (from {lower} to {upper})"


def uniform_mass_bins(
    scores: Float64s, labels: npt.NDArray[np.uint8], weights: Float64s, n_bins: int, scheme: str, split: float, seed: int
) -> SourceBins:
    """Boundaries that are order statistics of the source scores.

    "umd": of all samples, which then are left out (Gupta & Ramdas 2021, Algorithm 1). "ums": of floor(split n) random samples,
    none of which is counted (Gupta, Podkopaev & Ramdas 2020, section 4.2). Ranks look at neither weights nor labels.
    O(n log n).
    """
    n = scores.shape[0]
    if scheme == "umd" and n < 2 * n_bins - 1:
        raise InputError(
            f"{n} samples are too few for n_bins={n_bins} under scheme 'umd', which needs at least {2 * n_bins - 1}, so that "
            "no bin is empty; take fewer bins or more samples"
        )
    order = np.lexsort((weights, 1 - labels.astype(np.int8), scores))  # equal scores: label 1 first, then the lighter
    ordered = scores[order] + 0.0
    places = np.arange(n) - np.searchsorted(ordered, ordered)
    if scheme == "umd":
        ranks = np.array([-(-b * (n + 1) // n_bins) for b in range(1, n_bins)], np.int64)
        key_seed = _digest_of_groups(seed, ordered, labels[order], ordered[ranks - 1])
    else:
        key_seed = rows_digest(seed, ordered, labels[order], weights[order])
    keys = group_keys(key_seed, ordered, places)
    by_key = np.lexsort((places, keys, ordered))
    order, ordered, places, keys = order[by_key], ordered[by_key], places[by_key], keys[by_key]

    if scheme == "umd":
        placing, left_out = np.arange(n), ranks - 1
    else:
        n_first = math.floor(split * n)
        if n_first < n_bins or n_first == n:
            raise InputError(
                f"split={split!r} puts {n_first} of {n} samples into the part that places the boundaries; it needs at least "
                f"n_bins={n_bins}, and the other part at least one"
            )
        placing = np.sort(np.lexsort((places, ordered, split_keys(key_seed, ordered, places)))[:n_first])
        ranks, left_out = np.array([-(-b * n_first // n_bins) for b in range(1, n_bins)], np.int64), placing
    cut = placing[ranks - 1]
    edges, edge_keys = ordered[cut], keys[cut]

    bins = np.empty(n, np.int64)
    bins[order] = _assigner(edges, edge_keys).assign(ordered, keys=keys)
    bins[order[left_out]] = -1
    _, repeats = np.unique(scores[np.isin(scores, edges)] + 0.0, return_counts=True)
    return SourceBins(edges, edge_keys, bins, int(repeats[repeats >= 2].sum()), "random", scheme)


def _digest_of_groups(seed: int, ordered: Float64s, labels: npt.NDArray[np.uint8], cut_scores: Float64s) -> int:
    """The digest of the seed and the groups of equal scores that hold a boundary, of samples in ascending order."""
    first, end = np.searchsorted(ordered, cut_scores), np.searchsorted(ordered, cut_scores, side="right")
    ones = np.concatenate([[0], np.cumsum(labels, dtype=np.int64)])
    return group_digest(seed, cut_scores, first, ones[first], end - first, ones[end] - ones[first])


def bins_of_partition(scores: Float64s, partition: Any, keys: Any, seed: int) -> SourceBins:
    """The bins of a partition that was fixed before these samples were seen: a model's, or those between given edges."""
    if isinstance(partition, Calibrator):
        partition = partition.model_
    if isinstance(partition, BinnedModel):
        if partition.kind != "step":
            raise InputError(f"partition is a {partition.kind!r} model, which has no bins")
        assigner, ties = partition, partition.ties
    else:
        edges = check_edges(partition, None, "partition")
        assigner, ties = _assigner(edges, np.zeros(edges.shape[0], np.uint64)), "none"
    edges, edge_keys = np.array(assigner.edges), np.array(assigner.edge_keys)
    bins = assigner.assign(scores, keys=keys, seed=None if keys is not None else seed).astype(np.int64)
    by_key = edges[(edge_keys != 0) & (edge_keys != np.uint64(2**64 - 1))]
    return SourceBins(edges, edge_keys, bins, int(np.isin(scores, by_key).sum()), ties, "explicit")


def _assigner(edges: Float64s, edge_keys: UInt64s, score_range: ScoreRange = None) -> BinnedModel:
    values = np.zeros(edges.shape[0] + 1)
    return BinnedModel.from_parts(edges=edges, edge_keys=edge_keys, values=values, score_range=score_range)
