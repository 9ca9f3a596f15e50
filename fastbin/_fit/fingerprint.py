"""Fingerprints: 64 bits by which rows are recognised as those that a model was fitted to.

A fingerprint is a digest of what lies below each edge of the model, and at it, by score alone. A fit has these counts at hand,
and they can be counted in any rows once the model is there; the seed has no part in them. csrc/FORMAT.md, "Keys", states it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fastbin._base.array_types import Float64s, Int64s, UInt8s
from fastbin._base.checks import ScoreRange
from fastbin._core.fit import group_fingerprint
from fastbin._fit.quantiles import BoundaryGroups
from fastbin.model import BinnedModel

if TYPE_CHECKING:
    from fastbin._fit.edges import Partition
    from fastbin._fit.tally import Tally

# Schemes whose edges were fixed before the rows were seen: the fit knows what lies below an edge, and not how much of it ties.
FIXED_EDGES = ("explicit", "fixed-width", "isotonic")


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
    return group_fingerprint(*counts[:7])


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


def count_at_edges(model: BinnedModel, scores: Float64s, labels: UInt8s, frequencies: Int64s | None = None) -> BoundaryGroups:
    """The counts of these rows at the edges of a step model, by score alone. O(n log n_bins) time, O(n) memory."""
    edge = edge_scores(model.bin_edges, model.ties, model.score_range)
    # An even cell lies between two scores, an odd one is a score.
    cell = np.searchsorted(edge, scores) + np.searchsorted(edge, scores, side="right")
    table = np.zeros((2 * len(edge) + 1, 2), np.int64)
    np.add.at(table, (cell, labels), 1 if frequencies is None else frequencies)
    samples, ones = table.sum(axis=1), table[:, 1]
    below, below_ones = np.cumsum(samples)[:-1:2], np.cumsum(ones)[:-1:2]
    equal, equal_ones = samples[1::2].copy(), ones[1::2].copy()
    if model.scheme in FIXED_EDGES:
        equal[:], equal_ones[:] = 0, 0
    return BoundaryGroups(edge, below.copy(), below_ones.copy(), equal, equal_ones, int(samples.sum()), int(ones.sum()))


def rows_fingerprint(model: BinnedModel, scores: Float64s, labels: UInt8s, frequencies: Int64s | None = None) -> int:
    """The fingerprint that `model` has if it was fitted to these rows; their order does not matter.

    Parameters
    ----------
    model : a step model
    scores : float64 (n,), without NaN
    labels : uint8 (n,), 0 or 1
    frequencies : int64 (n,), optional
        How often each row stands.

    Returns
    -------
    int
        In [1, 2**64); 0 for a model of a single bin, whose fit looks like any other of the same size.

    Notes
    -----
    O(n log n_bins) time, O(n) memory.
    """
    return fingerprint_of(count_at_edges(model, scores, labels, frequencies))


def chance_of_same_counts(counts: BoundaryGroups) -> float:
    """About how often other rows, as many and of the same population, would have exactly these counts, and so the fingerprint.

    The multinomial probability of the counts between and at the edges, per label, at their own shares, which make it largest.
    """
    below, below_ones = (np.append(column, total) for column, total in zip(counts[1:3], counts[5:7], strict=True))
    past, past_ones = np.append(0, counts.below + counts.equal), np.append(0, counts.below_ones + counts.equal_ones)
    samples, ones = np.append(below - past, counts.equal), np.append(below_ones - past_ones, counts.equal_ones)
    cells = np.append(samples - ones, ones)
    logarithm = math.lgamma(counts.n_samples + 1)
    for cell in cells[cells > 0].tolist():
        logarithm += cell * math.log(cell / counts.n_samples) - math.lgamma(cell + 1)
    return math.exp(logarithm)


def tally_fingerprint(partition: Partition, tally: Tally) -> int:
    """The same for edges that were fixed before the rows were seen, have every tied score above them, and differ."""
    below, below_ones = np.cumsum(tally.counts), np.cumsum(tally.label_sums)
    unknown = np.zeros(len(partition.edges), np.int64)
    totals = int(below[-1]), int(below_ones[-1])
    return fingerprint_of(BoundaryGroups(partition.edges + 0.0, below[:-1], below_ones[:-1], unknown, unknown, *totals))
