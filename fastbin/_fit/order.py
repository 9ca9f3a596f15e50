"""The order of all samples at the fit: by (score, key), and which of them are boundaries.

Within a group of equal scores the label-1 samples come first, then, if weighted, the lighter ones (then, if the caller brought
keys, by key). Sample j of that order has the key ``group_key(digest, score, j)``, or the caller's, and samples are ordered by
(score, key). The digest is that of the seed and the boundary groups, or of all rows where these are split first, because a
split comes before the boundaries. So a model depends on which samples there are, and not on the order in which they came.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fastbin._errors import InputError
from fastbin._fit.quantiles import BoundaryGroups
from fastbin._fit.rows import Rows, boundary_groups, require_samples
from fastbin._native.fit import cut_groups, group_fingerprint, group_keys
from fastbin._ranks import boundary_ranks
from fastbin._typing import Array, Float64s, Int64s, UInt8s, UInt64s
from fastbin._validation import ScoreRange
from fastbin._weights import no_samples


class Boundaries(NamedTuple):
    """Where a scheme places its edges: ranks from 1, ascending, and the samples that share the score at each."""

    groups: BoundaryGroups
    ranks: Int64s


class Cuts(NamedTuple):
    """The boundary samples, in ascending order: one array entry each."""

    score: Float64s
    key: UInt64s
    rank: Int64s  # from 1
    ones_before: Int64s  # samples with label 1 of lower rank
    is_one: Int64s  # 1 where the boundary sample itself has label 1
    group: BoundaryGroups  # the samples that share its score
    key_seed: int  # the digest that seeds the keys


def resolve_n_bins(n_bins: int | str, n_samples: int) -> int:
    """The number of bins, where "auto" depends on the number of samples alone."""
    if not isinstance(n_bins, str):
        return n_bins
    from fastbin.guarantees import auto_n_bins

    return auto_n_bins(max(1, n_samples))


def choose_n_bins(n_bins: int | str, n_samples: int, scheme: str, split: float) -> int:
    """The number of bins of a scheme for so many samples, which must be enough for it."""
    if n_samples == 0:  # there are rows: no rows are refused before
        raise no_samples()
    if isinstance(n_bins, str):
        return resolve_n_bins(n_bins, math.floor((1 - split) * n_samples) if scheme == "ums" else n_samples)
    require_samples(n_samples, n_bins, scheme)
    return n_bins


def find_boundaries(rows: Rows, n_bins: int, scheme: str, n_threads: int = 1) -> Boundaries:
    """The boundaries of a scheme among all rows. Time O(n)."""
    ranks: list[Int64s] = []

    def ranks_of(n_samples: int) -> Int64s:
        ranks.append(boundary_ranks(n_samples, n_bins, scheme))
        return ranks[-1]

    return Boundaries(boundary_groups(rows, ranks_of, n_bins - 1, n_threads), ranks[-1])


def cut_rows(rows: Rows, n_bins: int, scheme: str, seed: int, n_threads: int = 1) -> Cuts:
    """The boundary samples of a scheme among all rows, tied ones told apart by their keys. Time O(n)."""
    boundaries = find_boundaries(rows, n_bins, scheme, n_threads)
    return order_cuts(boundaries, seed, None if rows.keys is None else BroughtKeys.of(rows, boundaries.groups.score))


def order_cuts(boundaries: Boundaries, seed: int, brought: BroughtKeys | None = None) -> Cuts:
    """Find the boundary samples inside their groups of equal scores. Time O(len(ranks)) plus the sizes of tied groups."""
    groups, ranks = boundaries
    key_seed = groups.digest(seed)
    within = ranks - groups.below
    if brought is None:
        key, before, is_one = cut_groups(key_seed, groups.score, groups.equal, groups.equal_ones, within)
    else:
        key, before, is_one = brought.cut_groups(groups.score, within)
    return Cuts(groups.score, key, ranks, groups.below_ones + before, is_one, groups, key_seed)


class BroughtKeys(NamedTuple):
    """Samples in the order of their scores and of keys that the caller brought."""

    scores: Float64s
    labels: Array
    keys: UInt64s

    @classmethod
    def of(cls, rows: Rows, boundary_scores: Float64s) -> BroughtKeys:
        """The rows of these scores: all that `cut_groups` will be asked for."""
        assert rows.keys is not None
        at = np.flatnonzero(np.isin(rows.scores, boundary_scores))
        scores, labels, keys = rows.scores[at].astype(np.float64), rows.labels[at], rows.keys[at]
        order = np.lexsort((keys, scores))
        return cls(scores[order], labels[order], keys[order])

    def cut_groups(self, scores: Float64s, ranks: Int64s) -> tuple[UInt64s, Int64s, Int64s]:
        """As `fastbin._native.fit.cut_groups` for these groups."""
        at = np.searchsorted(self.scores, scores) + ranks - 1
        self.refuse_repeated(scores, self.keys[at])
        labels = self.labels.astype(np.int64)
        ones_before = np.concatenate([[0], np.cumsum(labels)])
        return self.keys[at], ones_before[at] - ones_before[np.searchsorted(self.scores, scores)], labels[at]

    def refuse_repeated(self, scores: Float64s, keys: UInt64s) -> None:
        """Raise where a boundary sample shares both its score and its key: an edge could not stand between the two."""
        for score, key in zip(scores, keys, strict=True):
            span = slice(np.searchsorted(self.scores, score), np.searchsorted(self.scores, score, side="right"))
            if np.count_nonzero(self.keys[span] == key) > 1:
                raise InputError(
                    f"keys holds {int(key)} more than once among rows with the score {float(score)!r}, where a bin boundary "
                    "falls on it; keys must differ within one score"
                )


class SampleOrder(NamedTuple):
    """Samples of whole groups, sorted by (score, key): their positions, their places within the group before keys, and keys."""

    position: Int64s
    place: Int64s
    key: UInt64s


def sort_samples(
    scores: Float64s, labels: UInt8s, weights: Float64s | None, keys: UInt64s | None, key_seed: int
) -> SampleOrder:
    """Order whole groups of equal scores; `key_seed` is the digest. Time O(n log n)."""
    columns: list[Array] = [1 - labels.astype(np.int8), scores]
    for column in (weights, keys):  # the last column sorts first
        if column is not None:
            columns.insert(0, column)
    order = np.lexsort(columns)
    ascending = scores[order] + 0.0
    places = np.arange(len(order)) - np.searchsorted(ascending, ascending)
    sample_keys = group_keys(key_seed, ascending, places) if keys is None else keys[order]
    by_key = np.lexsort((places, sample_keys, ascending))
    return SampleOrder(order[by_key], places[by_key], sample_keys[by_key])


def edge_scores(edges: Float64s, ties: str, score_range: tuple[float, float] | None) -> Float64s:
    """The distinct scores of edges, but for those that close the bin of an isolated score: one double above it, seldom seen."""
    scores = np.unique(edges) + 0.0  # -0.0 and 0.0 are one score
    if ties != "isolate":
        return scores
    # The lower edge of the bin of the least score is left out of a model.
    least = -np.finfo(np.float64).max if score_range is None else score_range[0]
    with np.errstate(over="ignore"):  # above the greatest double there is infinity
        closing = np.nextafter(np.append(scores, least), np.inf) + 0.0
    return scores[~np.isin(scores, closing)]


def fingerprint_of(counts: BoundaryGroups) -> int:
    """The fingerprint; 0, which is none, where there is no edge."""
    return group_fingerprint(*counts)


def fit_fingerprint(edges: Float64s, ties: str, score_range: ScoreRange, groups: BoundaryGroups) -> int:
    """The fingerprint of a model whose boundaries are ranks: what `rows_fingerprint` gives for its rows.

    Parameters
    ----------
    edges, ties, score_range
        Of the model.
    groups : BoundaryGroups
        Of all rows of the fit, with every score that holds a boundary.

    Returns
    -------
    int
        In [1, 2**64); 0 where the model has no edge. It depends on neither the seed nor importance weights. O(n_bins) time.
    """
    if ties != "isolate" and len(edges) == len(groups.score) and bool((edges == groups.score).all()):
        # The usual case, for the sake of small fits. A group that is listed twice counts once.
        return fingerprint_of(groups)
    scores_of_edges = edge_scores(edges, ties, score_range)
    at = np.searchsorted(groups.score, scores_of_edges)
    below, equal = (groups.below[at], groups.below_ones[at]), (groups.equal[at], groups.equal_ones[at])
    return fingerprint_of(BoundaryGroups(scores_of_edges, *below, *equal, groups.n_samples, groups.n_positive))
