"""Bins between whole groups of equal scores, so that a score lies in one bin, always: ties="whole".

The boundaries are at the ranks of Gupta & Ramdas (2021), Algorithm 1, but an edge never divides a group of equal scores: all
of the group goes above it (below it for "umb", the mirror image of what follows). Edges are placed from the highest score
down. A rank is skipped where the samples above it have been used up by ties, or would leave its bin less than three quarters
of its share, which depends on the scores above alone.

Given the edges, a bin holds independent draws under one condition: at least r of them are at its edge, r being the rank of
the cut among the samples at the edge, from below. So a promise about it uses its label sum with and without r samples at the
edge (`fastbin.guarantees`). Which labels these have is drawn here: f of them have label 1, and one of them, with the label y,
is left out of the mean, as the boundary sample is that Gupta & Ramdas leave out.

The rule itself is compiled (`fastbin._core.fit`), for a fit of many segments places the edges of each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import reduce
from operator import add

import numpy as np

from fastbin._base.array_types import Int64s
from fastbin._base.checks import ScoreRange
from fastbin._base.errors import InputError, by_name
from fastbin._base.ranks import boundary_ranks
from fastbin._core.fit import bins_of_groups, n_tied
from fastbin._fit.edges import KEY_ABOVE, KEY_BELOW, FittedBins, Partition, order_cuts, split_samples, weigh_rows
from fastbin._fit.quantiles import BoundaryGroups, groups_at
from fastbin._fit.rows import Rows
from fastbin._fit.tally import Tally, tally_rows


def ties_cost_bins(counts: Int64s, tie_counts: Int64s | None, asked: int) -> bool:
    """Whether ties took bins away so that the promise suffers: what a fit warns of.

    True where at most half of the bins are left, which tell far fewer scores apart; or where a bin, without the r samples that
    ties placed at its edge (Theorem F1), keeps fewer than half of its T samples or of an equal share of all samples: one heavy
    score begins it, and the hull of F1 may be much wider. Sizes alone decide, never labels. Other fits with fewer bins than
    asked for are not worth a word: their certificates are about as narrow as without ties, those of forests among them.

    Parameters
    ----------
    counts : int64 (n_bins,)
        T of each bin.
    tie_counts : int64 (n_bins, 3), or None
        r, f and y of each bin.
    asked : int
    """
    left = len(counts)
    if left >= asked:
        return False
    placed = np.zeros(left, np.int64) if tie_counts is None else tie_counts[:, 0]
    wanted = np.maximum(counts, np.sum(counts) / asked)
    return 2 * left <= asked or bool(np.any(2 * (counts - placed) < wanted))


def on_fewer_bins(left: int, asked: int, *, may_share: bool = False) -> str:
    """The text of the warning of a fit whose promise suffers by the bins that ties took away (`ties_cost_bins`)."""
    remedy = "one probability for each score allows no more"
    if may_share:
        remedy += (
            "; on other data of this kind, edges_share=0.25 may give narrower intervals (more than 30 rows a distinct score)"
        )
    return f"ties='whole' left {left} of the {asked} bins that were asked for: {remedy}"


def whole_bins(
    boundaries: BoundaryGroups, scheme: str, seed: int, score_range: ScoreRange, weighted: Iterable[Rows] | None = None,
    *, among_all: BoundaryGroups | None = None, edges_share: float = 1.0, tied: int | None = None,
) -> FittedBins:  # fmt: skip
    """The bins of "umd", "ze", "umb" or "scaling-binning" between whole groups, and their tally.

    Parameters
    ----------
    boundaries : BoundaryGroups
        Of all samples, or of the share of them that places the edges.
    scheme : str
        "umd" leaves one sample at each edge out; the others count all, where equal scores lie at edges.
    weighted : Rows, several
        All rows, if they have importance weights.
    among_all : BoundaryGroups, optional
        The groups of the same scores among all samples, where a share of them placed the edges.
    tied : int, optional
        The samples that share a score at a cut, where there are more cuts than these boundaries.

    Notes
    -----
    Without a tie at a boundary these are the bins of Algorithm 1, its boundary samples left out or averaged as ever. With
    importance weights a mean is that of all rows of its bin. O(n_bins) and one number drawn per tied group; with weights O(n).
    """
    groups = boundaries
    everyone = seen = groups if among_all is None else among_all
    if tied is None:
        tied = n_tied(everyone.score, everyone.equal)
    mirrored = scheme == "umb" and tied > 0
    if mirrored:
        groups, everyone = groups.mirrored(), everyone.mirrored()
    digest = boundaries.digest(seed)
    kept, counts, label_sums, ties = bins_of_groups(groups, groups.ranks, everyone, tied, scheme == "umd", digest)
    edges = groups.score[kept]
    if mirrored:
        edges = edges[::-1].copy()
        counts, label_sums, ties = (column[::-1].copy() for column in (counts, label_sums, ties))
    edge_keys = np.full(len(edges), KEY_BELOW if scheme == "umb" else KEY_ABOVE, np.uint64)
    partition, tally = Partition(edges, edge_keys, score_range), Tally(counts, label_sums)
    if not tied:
        # Boundary samples that share their scores with no other: Algorithm 1.
        rule = "lower" if scheme == "umb" else "upper"
        if weighted is not None:
            tally.weights = weigh_rows(weighted, partition, order_cuts(boundaries, seed), scheme, rule)
        return FittedBins(partition, tally, everyone, rule, 0)
    if weighted is not None:
        # All rows are averaged, so none is left out, and no interval can be made of them.
        tally = reduce(add, (tally_rows(partition, rows) for rows in weighted))
        ties = np.zeros_like(ties)
    return FittedBins(partition, tally, seen, "whole", tied, ties, edges_share)


def share_bins(rows: Rows, n_bins: int, scheme: str, seed: int, share: float) -> FittedBins:
    """The bins between whole groups, with edges from a random share of the samples and the tally of all. O(n log n)."""
    n = rows.n_samples()
    n_first = math.floor(share * n)
    if n_first < 2 * n_bins - 1:
        raise InputError(
            (by_name("edges_share", share), f" leaves {n_first} of {n} samples to place the edges"),
            (by_name("n_bins", n_bins), f" needs at least {2 * n_bins - 1}"),
        )
    split = split_samples(rows, seed, (n_first,))
    samples, first = split.samples, split.take(0)
    ranks = boundary_ranks(n_first, n_bins, scheme)
    score = first.scores[ranks - 1]
    boundaries = groups_at(score, first.scores, first.labels)._replace(ranks=ranks)
    among_all = groups_at(score, samples.scores, samples.labels)
    weighted = None if samples.weights is None else [samples]
    return whole_bins(boundaries, scheme, seed, rows.score_range, weighted, among_all=among_all, edges_share=share)
