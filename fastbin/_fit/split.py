"""A random division of the samples into parts: one places the boundaries, the last is counted, another may fit a map."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fastbin._errors import InputError
from fastbin._fit.groups import BoundaryGroups, groups_at
from fastbin._fit.order import BroughtKeys, boundary_ranks, sort_samples
from fastbin._fit.partition import KEY_ABOVE, Partition, without_empty_edges
from fastbin._fit.rows import Rows
from fastbin._native.ties import rows_digest, split_keys
from fastbin._typing import Array, Int64s


class Split(NamedTuple):
    """All samples, ordered by (score, key), and the part that each is in."""

    samples: Rows
    part: Array
    position: Int64s  # where each sample stood before, among rows that are repeated by their frequencies
    own_keys: bool  # keys that the caller brought
    key_seed: int

    def take(self, part: int) -> Rows:
        """The samples of one part, with their keys and importance weights."""
        return self.samples.take(self.part == part)

    def place(self, part: int, n_bins: int, ties: str) -> tuple[Partition, BoundaryGroups]:
        """Bins of equal shares of one part, and the groups among all samples that hold a boundary, each once.

        Boundary j is the sample of rank ceil(j n / n_bins) of the part; it lies above its edge.
        """
        samples = self.samples
        inside = np.flatnonzero(self.part == part)
        cut = inside[boundary_ranks(len(inside), n_bins, "ums") - 1]
        score, key = samples.scores[cut], samples.keys[cut]  # type: ignore[index]
        if self.own_keys:
            BroughtKeys.of(samples, score).refuse_repeated(score, key)
        edge_keys = np.full(len(cut), KEY_ABOVE, np.uint64) if ties == "upper" else key
        groups = groups_at(np.unique(score), samples.scores, samples.labels)
        return without_empty_edges(score, edge_keys, samples.score_range), groups


def first_part(share: float, n: int, n_bins: int) -> tuple[int]:
    """The size of the part that places the boundaries, floor(share n), which must be enough for them."""
    n_first = math.floor(share * n)
    if n_first < n_bins or n_first == n:
        raise InputError(
            f"split={share!r} puts {n_first} of {n} samples into the part that places the boundaries; it needs at least "
            f"n_bins={n_bins}, and the other part at least one"
        )
    return (n_first,)


def split_samples(rows: Rows, seed: int, sizes: tuple[int, ...]) -> Split:
    """The samples with the least split keys form part 0, the next part 1, ...; the last is what the sizes leave. O(n log n).

    Checks the values of scores and labels. The parts depend on which samples there are and the seed, not on where the rows
    stood: the keys are seeded by a digest of both.
    """
    scores, labels = rows.checked()
    weights, keys = rows.weights, rows.keys
    if rows.frequencies is not None:
        scores, labels = np.repeat(scores, rows.frequencies), np.repeat(labels, rows.frequencies)
    contiguous = None if weights is None else np.ascontiguousarray(weights)
    key_seed = rows_digest(seed, scores, np.ascontiguousarray(labels), contiguous)
    position, places, keys = order = sort_samples(scores, labels, weights, keys, key_seed)
    scores, labels = scores[position], labels[position]
    by_split_key = np.lexsort((places, scores, split_keys(key_seed, scores, places)))
    part = np.empty(len(scores), np.int8)
    part[by_split_key] = np.searchsorted(np.cumsum(sizes), np.arange(len(scores)), side="right")
    samples = Rows(scores, labels, None, rows.score_range, None if weights is None else weights[position], order.key)
    return Split(samples, part, position, rows.keys is not None, key_seed)
