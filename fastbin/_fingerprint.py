"""Fingerprints: 64 bits by which rows are recognised as those that a model was fitted to.

A fingerprint is a digest of what lies below each edge of the model, and at it, by score alone. A fit has these counts at hand,
and they can be counted in any rows once the model is there; the seed has no part in them. csrc/FORMAT.md, "Keys", states it.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from fastbin._native.ties import digest, group_digest

__all__ = ["EdgeCounts", "chance_of_same_counts", "count_at_edges", "edge_scores", "fingerprint_of", "rows_fingerprint"]

Int64s = npt.NDArray[np.int64]
Float64s = npt.NDArray[np.float64]

# Schemes whose edges were fixed before the rows were seen: the fit knows what lies below an edge, and not how much of it ties.
FIXED_EDGES = ("explicit", "fixed-width", "isotonic")


class Stepped(Protocol):
    """What of a model matters here."""

    @property
    def edges(self) -> Float64s: ...
    @property
    def scheme(self) -> str: ...
    @property
    def ties(self) -> str: ...
    @property
    def score_range(self) -> tuple[float, float] | None: ...


class EdgeCounts(NamedTuple):
    """Rows by score: arrays with one entry per distinct score that an edge stands at, ascending."""

    score: Float64s
    below: Int64s  # rows with a lower score
    below_ones: Int64s  # of these, label 1
    equal: Int64s  # rows with this score; 0 where a fit cannot know
    equal_ones: Int64s
    n_samples: int
    n_positive: int


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


def fingerprint_of(counts: EdgeCounts) -> int:
    """The fingerprint; 0, which is none, where there is no edge."""
    if len(counts.score) == 0:
        return 0
    totals = digest(np.array([counts.n_samples, counts.n_positive], np.uint64))
    return group_digest(totals, *counts[:5]) or 1


def count_at_edges(
    model: Stepped, scores: Float64s, labels: npt.NDArray[np.uint8], frequencies: Int64s | None = None
) -> EdgeCounts:
    """The counts of these rows at the edges of a step model, by score alone. O(n log n_bins) time, O(n) memory."""
    held = edge_scores(model.edges, model.ties, model.score_range)
    # An even cell lies between two scores, an odd one is a score.
    cell = np.searchsorted(held, scores) + np.searchsorted(held, scores, side="right")
    table = np.zeros((2 * len(held) + 1, 2), np.int64)
    np.add.at(table, (cell, labels), 1 if frequencies is None else frequencies)
    samples, ones = table.sum(axis=1), table[:, 1]
    below, below_ones = np.cumsum(samples)[:-1:2], np.cumsum(ones)[:-1:2]
    equal, equal_ones = samples[1::2].copy(), ones[1::2].copy()
    if model.scheme in FIXED_EDGES:
        equal[:], equal_ones[:] = 0, 0
    return EdgeCounts(held, below.copy(), below_ones.copy(), equal, equal_ones, int(samples.sum()), int(ones.sum()))


def rows_fingerprint(model: Stepped, scores: Float64s, labels: npt.NDArray[np.uint8], frequencies: Int64s | None = None) -> int:
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
        In [1, 2**64); 0 for a model of a single bin, whose fit is not told from another one of the same size.

    Notes
    -----
    O(n log n_bins) time, O(n) memory.
    """
    return fingerprint_of(count_at_edges(model, scores, labels, frequencies))


def chance_of_same_counts(counts: EdgeCounts) -> float:
    """About how often other rows, as many and of the same population, would have exactly these counts, and so the fingerprint.

    The multinomial probability of the counts between and at the edges, per label, at their own shares, which make it largest.
    """
    below, below_ones = (np.append(column, total) for column, total in zip(counts[1:3], counts[5:], strict=True))
    past, past_ones = np.append(0, counts.below + counts.equal), np.append(0, counts.below_ones + counts.equal_ones)
    samples, ones = np.append(below - past, counts.equal), np.append(below_ones - past_ones, counts.equal_ones)
    cells = np.append(samples - ones, ones)
    logarithm = math.lgamma(counts.n_samples + 1)
    for cell in cells[cells > 0].tolist():
        logarithm += cell * math.log(cell / counts.n_samples) - math.lgamma(cell + 1)
    return math.exp(logarithm)
