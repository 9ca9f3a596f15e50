"""Which bin of a fit counts each row, and the sums of importance weights: what ranks alone do not give."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np

from fastbin._fit.exact_sums import WeightSums
from fastbin._fit.groups import run_starts
from fastbin._fit.order import Cuts, sort_samples
from fastbin._fit.partition import KEY_ABOVE, KEY_BELOW, Partition, is_isolated
from fastbin._fit.rows import Rows
from fastbin._typing import Array, Float64s, Int64s
from fastbin._validation import check_labels

# Rows weighed at a time, each with a dozen intermediate numbers.
WEIGH_BLOCK = 2**13


def bins_of_rows(rows: Rows, partition: Partition, cuts: Cuts, scheme: str, ties: str) -> Int64s:
    """The bin that counts each row: where predict puts it, but for the boundary rows of "umd" and "ze".

    Those are counted by no bin (-1), or by the bin below their edge. Time O(n) plus sorting the boundary groups.
    """
    bins = partition.assign(rows.scores, keys=np.zeros(len(rows), np.uint64))
    at = np.flatnonzero(np.isin(rows.scores, cuts.score))
    inside = rows.take(at)
    scores = np.asarray(inside.scores, np.float64)
    position, _, keys = sort_samples(scores, check_labels(inside.labels), inside.weights, inside.keys, cuts.key_seed)
    scores, at = scores[position], at[position]
    bins[at] = partition.assign(scores, keys=keys)

    if scheme == "umb":
        return bins
    below = cuts.group.below[np.searchsorted(cuts.score, scores)]
    rank = below + np.arange(len(scores)) - np.searchsorted(scores, scores) + 1
    is_cut = np.isin(rank, cuts.rank)
    if ties == "isolate":
        is_cut &= ~np.isin(scores, cuts.score[is_isolated(cuts.score)])
    bins[at[is_cut]] = -1
    if scheme == "ze":
        edges = list(zip(partition.edges.tolist(), partition.edge_keys.tolist(), strict=True))
        edge_keys = np.zeros_like(keys) if ties == "upper" else keys
        pairs = zip(scores[is_cut].tolist(), edge_keys[is_cut].tolist(), strict=True)
        bins[at[is_cut]] = [bisect_left(edges, pair) for pair in pairs]
    return bins


def weigh_rows(parts: Iterable[Rows], partition: Partition, cuts: Cuts, scheme: str, ties: str) -> WeightSums:
    """The weight sums of the bins that `bins_of_rows` would give, for rows that come in parts.

    A row lies where its score says, unless that is the score of a boundary: then its place among all rows of that score
    decides, and so these are collected, and weighed last. Time O(n), memory for what is collected.
    """
    sums = WeightSums.zero(partition.n_bins)
    boundaries = _boundary_scores(cuts)
    collected: list[Rows] = []
    for rows in parts:
        assert rows.weights is not None
        for start, block in rows.blocks(WEIGH_BLOCK):
            part = rows.take(slice(start, start + len(block.scores)))
            no_keys = np.zeros(len(part), np.uint64)
            bins = partition.assign(block.scores, keys=no_keys)
            at_boundary = boundaries.assign(block.scores, keys=no_keys) % 2 == 1
            bins[at_boundary] = -1
            sums.add(bins, block.labels, part.weights, rows.first_row + start)  # type: ignore[arg-type]
            collected.append(part.take(at_boundary))
    together = _joined(collected)
    collected.clear()
    for chosen in _whole_groups(together.scores):
        rows = together.take(chosen)
        sums.add(bins_of_rows(rows, partition, cuts, scheme, ties), rows.labels, rows.weights)  # type: ignore[arg-type]
    return sums


def _joined(parts: list[Rows]) -> Rows:
    """The rows of several parts as one, in float64."""
    names = ("scores", "labels", "weights", "keys")
    columns = [[getattr(part, name) for part in parts] for name in names]
    scores, labels, weights, keys = (None if column[0] is None else np.concatenate(column) for column in columns)
    return Rows(np.asarray(scores, np.float64), labels, None, parts[0].score_range, weights, keys)  # type: ignore[arg-type]


def _whole_groups(scores: Float64s) -> Iterator[Int64s]:
    """The positions of all rows, some groups of equal scores at a time: about WEIGH_BLOCK rows, or one group that has more."""
    in_order = np.argsort(scores, kind="stable")
    starts = run_starts(scores[in_order])
    firsts = starts[run_starts(starts // WEIGH_BLOCK)]
    for start, stop in pairwise(np.append(firsts, len(scores)).tolist()):
        yield in_order[start:stop]


def _boundary_scores(cuts: Cuts) -> Partition:
    """Bins of which those of odd number are the scores of boundaries: each lies between two edges, below and above its ties."""
    scores: Array = cuts.score[run_starts(cuts.score)]
    return Partition(np.repeat(scores, 2), np.tile(np.array([KEY_ABOVE, KEY_BELOW], np.uint64), len(scores)))
