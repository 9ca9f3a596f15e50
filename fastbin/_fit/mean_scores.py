"""Means of scaled scores over uniform-mass bins, each rounded once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

import numpy as np

from fastbin._base.array_types import Float64s, Int64s
from fastbin._fit.edges import BoundarySamples, Edges, Partition
from fastbin._fit.rows import Rows
from fastbin._fit.tally import ExactSums, Tally, assign

Scaled = Callable[[Float64s], Float64s]


def means_of_bins(rows: Rows, partition: Partition, scaled: Scaled) -> Float64s:
    """The mean of scaled(score) over all samples of each bin, each score in one bin. One pass in blocks, memory O(n_bins)."""
    sums, counts = ExactSums(partition.n_bins), np.zeros(partition.n_bins, np.int64)
    for _, block in rows.blocks():
        bins = assign(partition, rows, block)
        repeats = block.weights if block.weights.size else np.ones(len(bins), np.int64)
        np.add.at(counts, bins, repeats)
        sums.add_repeated(scaled(block.scores), bins, repeats)
    return sums.means(counts)


def means_between_cuts(
    rows: Rows, partition: Partition, tally: Tally, edges: Edges, cuts: BoundarySamples, scaled: Scaled
) -> Float64s:
    """The mean of scaled(score) over the samples that each bin of `partition` counts; 0.5 for a bin without any.

    Samples of one score are alike here, so of a group that holds a boundary only the number of its samples in each bin
    matters, which ranks give: no keys are needed, and frequencies may be of any size. One pass in blocks, time O(n),
    memory O(n_bins).

    Parameters
    ----------
    rows : Rows
        With values already checked.
    partition, tally, edges, cuts
        Of the same rows: `edges_of` made the edges from the cuts, `divide` the partition and the tally from the edges.
    scaled : callable
        float64 (m,) to float64 (m,), in [0, 1].
    """
    sums = ExactSums(partition.n_bins)
    low, high = _boundary_ends(partition, cuts)
    for _, block in rows.blocks():
        bins = assign(partition, rows, block)
        bins[(block.scores == low[bins]) | (block.scores == high[bins])] = -1
        if block.weights.size:
            sums.add_repeated(scaled(block.scores), bins, block.weights)
        else:
            sums.add(scaled(block.scores), bins)
    if len(cuts.score):
        values, bins, repeats = _boundary_groups(partition, edges, cuts)
        sums.add_repeated(scaled(values), bins, repeats)
    return sums.means(tally.counts)


def _boundary_ends(partition: Partition, cuts: BoundarySamples) -> tuple[Float64s, Float64s]:
    """The scores at the low and the high end of each bin that hold a boundary; NaN for ends that do not.

    They are edges of the bin, so a row needs to be compared with two scores and not searched for among all of them. An edge
    that was left out stood at the least score of all.
    """
    scores = np.unique(cuts.score)
    edges = np.where(np.isin(partition.edges, scores), partition.edges, np.nan)
    left_out = scores[~np.isin(scores, partition.edges)]
    return np.concatenate([left_out if len(left_out) else [np.nan], edges]), np.append(edges, np.nan)


def _boundary_groups(partition: Partition, counted: Edges, cuts: BoundarySamples) -> tuple[Float64s, Int64s, Int64s]:
    """How many samples of each group that holds a boundary are counted in which bin: (score, bin, number), many of each.

    The samples counted between two edges are those of ranks ``first + 1 ... end``.
    """
    edges = list(zip(partition.edges.tolist(), partition.edge_keys.tolist(), strict=True))
    pairs = zip(counted.edge.tolist(), counted.edge_key.tolist(), strict=True)
    bins = np.array([0, *(bisect_right(edges, pair) for pair in pairs)])
    firsts = np.concatenate(([0], counted.starts[0]))
    ends = np.append(counted.ends[0], cuts.group.n_samples)
    score, at = np.unique(cuts.score, return_index=True)
    below = cuts.group.below[at]
    beyond = below + cuts.group.equal[at]
    low, high = np.searchsorted(ends, below, side="right"), np.searchsorted(firsts, beyond, side="left")
    group = np.repeat(np.arange(len(score)), high - low)
    between = np.concatenate([np.arange(*span) for span in zip(low, high, strict=True)])
    number = np.minimum(ends[between], beyond[group]) - np.maximum(firsts[between], below[group])
    return score[group], bins[between], np.maximum(number, 0)
