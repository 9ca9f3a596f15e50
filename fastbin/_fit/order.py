"""The order of all samples at the fit, and what needs it row by row: sample splitting and importance weights.

Within a group of equal scores the label-1 samples come first, then, if weighted, the lighter ones (then, if the caller brought
keys, by key). Sample j of that order has the key ``group_key(digest, score, j)``, or the caller's, and samples are ordered by
(score, key). The digest is that of the seed and the boundary groups, or of all rows where these are split first, because a
split comes before the boundaries. So a model depends on which samples there are, and not on the order in which they came.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from fastbin._errors import InputError
from fastbin._fit.cuts import Cuts, TieKeys
from fastbin._fit.exact_sums import WeightSums, WeightTally
from fastbin._fit.partition import KEY_ABOVE, KEY_BELOW, Partition, Seams, divide, isolated_scores
from fastbin._fit.rows import Rows
from fastbin._fit.sorting import groups_at, run_starts
from fastbin._fit.tally import bins_between, blocks
from fastbin._native.ties import group_keys, rows_digest, split_keys
from fastbin._validation import check_labels, check_scores
from fastbin.model import BinnedModel

__all__ = ["FitOrder", "bins_of_rows", "boundary_ranks", "fit_split", "weigh_rows"]

Int64s = npt.NDArray[np.int64]
Float64s = npt.NDArray[np.float64]
UInt64s = npt.NDArray[np.uint64]


def boundary_ranks(n: int, n_bins: int, scheme: str) -> Int64s:
    """The ranks, from 1, of the n_bins - 1 boundary samples among n, in exact integers.

    "umd" and "ze": ceil(b (n + 1) / B) (Gupta & Ramdas 2021, Algorithm 1); "ums", for n samples of the first part:
    ceil(b n / B); "umb": floor(b n / B) (Sun, Song & Hero 2023, Definition 6).
    """
    if n < 2**31:  # the products fit into 63 bits for every allowed number of bins
        b = np.arange(1, n_bins, dtype=np.int64)
        if scheme == "umb":
            return b * n // n_bins
        return -(-b * (n if scheme == "ums" else n + 1) // n_bins)
    if scheme == "umb":
        ranks = [b * n // n_bins for b in range(1, n_bins)]
    else:
        ranks = [-(-b * (n if scheme == "ums" else n + 1) // n_bins) for b in range(1, n_bins)]
    return np.array(ranks, np.int64)


# Rows weighed at a time, each with a dozen intermediate numbers.
WEIGH_BLOCK = 2**13


class FitOrder(NamedTuple):
    """What orders equal scores: the seed, the importance weights, and keys from the caller."""

    seed: int  # the user's, until `bins_of_rows` or `split_by` put the digest in its place
    weights: Float64s | None
    keys: UInt64s | None

    def split_by(self, scores: Float64s, labels: npt.NDArray[np.uint8]) -> FitOrder:
        """The same with the digest of all rows for a seed: for fits that split their samples. O(n)."""
        weights = None if self.weights is None else np.ascontiguousarray(self.weights)
        digest = rows_digest(self.seed, np.ascontiguousarray(scores), np.ascontiguousarray(labels), weights)
        return self._replace(seed=digest)

    def sort(
        self, scores: Float64s, labels: npt.NDArray[np.uint8], rows: Int64s | None = None
    ) -> tuple[Int64s, Int64s, UInt64s]:
        """Order whole groups of equal scores by (score, key).

        Parameters
        ----------
        scores, labels : of these rows
        rows : int64, optional
            Where they stand in `weights` and `keys`; all of them in turn when not given.

        Returns
        -------
        order : int64
            Positions, sorted by (score, key).
        places : int64
            In that order: j, the place within the group before keys.
        keys : uint64
            In that order.
        """
        columns: list[npt.NDArray[np.generic]] = [1 - labels.astype(np.int8), scores]
        for column in (self.weights, self.keys):  # the last column sorts first
            if column is not None:
                columns.insert(0, column if rows is None else column[rows])
        order = np.lexsort(columns)
        sorted_scores = scores[order] + 0.0
        first = np.searchsorted(sorted_scores, sorted_scores)
        places = np.arange(len(order)) - first
        if self.keys is None:
            keys = group_keys(self.seed, sorted_scores, places)
        else:
            keys = self.keys[order if rows is None else rows[order]]
        by_key = np.lexsort((places, keys, sorted_scores))
        return order[by_key], places[by_key], keys[by_key]


def bins_of_rows(rows: Rows, partition: Partition, cuts: Cuts, order: FitOrder, scheme: str, ties: str) -> Int64s:
    """The bin that counts each row: where predict puts it, but for the boundary rows of "umd" and "ze".

    Those are counted by no bin (-1), or by the bin below their edge. Time O(n) plus sorting the boundary groups.
    """
    assigner = bins_between(partition.edges, partition.edge_keys, None)
    bins = assigner.assign(rows.scores, keys=np.zeros(len(rows), np.uint64)).astype(np.int64)
    held = np.flatnonzero(np.isin(rows.scores, cuts.score))
    scores = np.asarray(rows.scores[held], np.float64)
    labels = check_labels(rows.labels[held])
    sequence, _, keys = order._replace(seed=cuts.key_seed).sort(scores, labels, held)
    scores, held = scores[sequence], held[sequence]
    bins[held] = assigner.assign(scores, keys=keys)

    if scheme == "umb":
        return bins
    below = cuts.group.below[np.searchsorted(cuts.score, scores)]
    rank = below + np.arange(len(scores)) - np.searchsorted(scores, scores) + 1
    is_cut = np.isin(rank, cuts.rank)
    if ties == "isolate":
        is_cut &= ~np.isin(scores, isolated_scores(cuts))
    bins[held[is_cut]] = -1
    if scheme == "ze":
        edges = list(zip(partition.edges.tolist(), partition.edge_keys.tolist(), strict=True))
        edge_keys = np.zeros_like(keys) if ties == "upper" else keys
        pairs = zip(scores[is_cut].tolist(), edge_keys[is_cut].tolist(), strict=True)
        bins[held[is_cut]] = [bisect_left(edges, pair) for pair in pairs]
    return bins


def weigh_rows(parts: Iterable[tuple[Rows, FitOrder]], partition: Partition, cuts: Cuts, scheme: str, ties: str) -> WeightTally:
    """The weight sums of the bins that `bins_of_rows` would give, for rows that come in parts, with weights in their orders.

    A row lies where its score says, unless that is the score of a boundary: then its place among all rows of that score
    decides, and so these are collected, and weighed last. Time O(n), memory for what is collected.
    """
    sums = WeightSums.zero(len(partition.counts))
    assigner = bins_between(partition.edges, partition.edge_keys, None)
    boundaries = _boundary_test(cuts)
    held: list[tuple[npt.NDArray[Any], ...]] = []
    for rows, order in parts:
        weights = cast("Float64s", order.weights)
        for start, block in blocks(rows, WEIGH_BLOCK):
            span = slice(start, start + len(block.scores))
            no_keys = np.zeros(len(block.scores), np.uint64)
            bins = assigner.assign(block.scores, keys=no_keys).astype(np.int64)
            at_boundary = boundaries.assign(block.scores, keys=no_keys) % 2 == 1
            bins[at_boundary] = -1
            sums.add(bins, block.labels, weights[span], rows.first_row + start)
            columns = (block.scores, block.labels, weights[span], no_keys if order.keys is None else order.keys[span])
            held.append(tuple(column[at_boundary] for column in columns))
    collected = [np.concatenate(column) for column in zip(*held, strict=True)]
    held.clear()
    for chosen in _whole_groups(collected[0]):
        scores, labels, weights, keys = (column[chosen] for column in collected)
        last = FitOrder(order.seed, weights, None if order.keys is None else keys)
        bins = bins_of_rows(Rows(scores, labels, None, rows.score_range), partition, cuts, last, scheme, ties)
        sums.add(bins, labels, weights)
    return sums.rounded()


def _whole_groups(scores: Float64s) -> Iterator[Int64s]:
    """The positions of all rows, some groups of equal scores at a time: about WEIGH_BLOCK rows, or one group that has more."""
    in_order = np.argsort(scores, kind="stable")
    starts = run_starts(scores[in_order])
    firsts = starts[run_starts(starts // WEIGH_BLOCK)]
    for start, stop in pairwise(np.append(firsts, len(scores)).tolist()):
        yield in_order[start:stop]


def _boundary_test(cuts: Cuts) -> BinnedModel:
    """A model whose bins of odd number are the scores of boundaries: each lies between two edges, below and above its ties."""
    scores = cuts.score[run_starts(cuts.score)]
    edge_keys = np.tile(np.array([KEY_ABOVE, KEY_BELOW], np.uint64), len(scores))
    return bins_between(np.repeat(scores, 2), edge_keys, None)


def fit_split(rows: Rows, n_bins: int, ties: str, split: float, order: FitOrder) -> tuple[Partition, Cuts, Int64s]:
    """Boundaries from floor(split n) random samples, tally from the others (Gupta, Podkopaev & Ramdas 2020, section 4.2).

    Part 1 are the samples with the least split keys. Also returns the bin of each row, -1 in part 1. Time O(n log n).
    """
    scores = np.asarray(check_scores(rows.scores, rows.score_range), np.float64) + 0.0
    labels = check_labels(rows.labels)
    if rows.frequencies is not None:
        scores, labels = np.repeat(scores, rows.frequencies), np.repeat(labels, rows.frequencies)
    n = len(scores)
    n_first = math.floor(split * n)
    if n_first < n_bins or n_first == n:
        raise InputError(
            f"split={split!r} puts {n_first} of {n} samples into the part that places the boundaries; it needs at least "
            f"n_bins={n_bins}, and the other part at least one"
        )
    order = order.split_by(scores, labels)
    sequence, places, keys = order.sort(scores, labels)
    scores, labels = scores[sequence], labels[sequence]
    by_split_key = np.lexsort((places, scores, split_keys(order.seed, scores, places)))
    in_first = np.zeros(n, bool)
    in_first[by_split_key[:n_first]] = True

    cut = np.flatnonzero(in_first)[boundary_ranks(n_first, n_bins, "ums") - 1]
    cuts = _cuts_at(cut, scores, labels, keys, order.seed)
    if order.keys is not None:
        TieKeys(scores, labels, keys).gather(cuts.score).refuse_repeated(cuts.score, cuts.key)
    edge_keys = np.full(len(cut), KEY_ABOVE, np.uint64) if ties == "upper" else cuts.key
    nothing = np.zeros((len(cut), 2), np.int64)
    partition = divide(Seams(cuts.score, edge_keys, nothing, nothing), 0, 0, rows.limits)

    bins = np.where(in_first, -1, bins_between(partition.edges, partition.edge_keys, None).assign(scores, keys=keys))
    counted, ones = bins[~in_first], bins[~in_first & (labels == 1)]
    counts, label_sums = (np.bincount(which, minlength=len(partition.edges) + 1) for which in (counted, ones))
    by_row = np.empty(n, np.int64)
    by_row[sequence] = bins
    return partition._replace(counts=counts, label_sums=label_sums), cuts, by_row


def _cuts_at(cut: Int64s, scores: Float64s, labels: npt.NDArray[np.uint8], keys: UInt64s, key_seed: int) -> Cuts:
    """Cuts at these positions of samples that stand in order."""
    ones_before = (np.cumsum(labels, dtype=np.int64) - labels)[cut]
    groups = groups_at(scores[cut], scores, labels)
    return Cuts(scores[cut], keys[cut], cut + 1, ones_before, labels[cut].astype(np.int64), groups, key_seed)
