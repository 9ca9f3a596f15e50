"""Evidence bins and the finer steps inside them, with what was counted in both: the ground of a model of two resolutions.

All cuts are ranks known from the numbers of samples and bins alone, so that one search answers for bins and steps: the groups
of equal scores at the cuts tell how many samples, and how many with label 1, lie below each. A step begins at a whole group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from operator import add
from typing import NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s
from fastbin._base.checks import ScoreRange
from fastbin._base.errors import InputError
from fastbin._base.ranks import boundary_ranks, step_ranks
from fastbin._core.fit import n_tied
from fastbin._fit.edges import FittedBins, Partition
from fastbin._fit.quantiles import BoundaryGroups, groups_at, run_starts
from fastbin._fit.rows import Rows
from fastbin._fit.tally import Tally, tally_rows
from fastbin._fit.whole import whole_bins


class FittedSteps(NamedTuple):
    """Bins with their evidence, and the steps: `edges` (J - 1,), the rest one entry a step."""

    bins: FittedBins
    edges: Float64s
    first_step: Int64s  # of each bin
    scores: Float64s  # the score that stands for a step: its lower edge, and the least score of all for the lowest
    tally: Tally
    unlabelled: Int64s | None = None

    def parts(self) -> dict[str, Array | None]:
        """What a model keeps of its steps, by its names; nothing where each bin is one step."""
        if len(self.edges) == self.bins.partition.n_bins - 1:
            return {}
        return {
            "edges": self.edges, "edge_keys": np.zeros(len(self.edges), np.uint64), "first_step": self.first_step,
            "step_counts": self.tally.counts, "unlabelled_counts": self.unlabelled,
        }  # fmt: skip


def cut_ranks(n: int, n_bins: int) -> Int64s:
    """The ranks that `fit_steps` asks for: those of all cuts, and 1, where the least score is."""
    return np.unique(np.append(1, step_ranks(n, n_bins)))


def fit_steps(
    groups: BoundaryGroups, n_bins: int, seed: int, score_range: ScoreRange,
    weighted: Callable[[], Iterable[Rows] | None] = lambda: None,
) -> FittedSteps:  # fmt: skip
    """The bins and steps of the groups at `cut_ranks`; `weighted` is that of their source."""
    n = groups.n_samples
    is_cut = np.isin(groups.ranks, step_ranks(n, n_bins))
    tied = n_tied(groups.score[is_cut], groups.equal[is_cut])
    evidence = groups.take(np.searchsorted(groups.ranks, boundary_ranks(n, n_bins, "umd")))
    bins = whole_bins(evidence, "umd", seed, score_range, weighted(), tied=tied)

    starts = run_starts(groups.score)
    starts = starts[groups.below[starts] > 0]
    edges = groups.score[starts]
    partition = Partition(edges, None, score_range)
    passing = weighted()
    if passing is None:
        samples, ones = (
            np.diff(column[starts], prepend=0, append=total)
            for column, total in ((groups.below, n), (groups.below_ones, groups.n_positive))
        )
        tally = Tally(samples, ones)
    else:
        tally = reduce(add, (tally_rows(partition, rows) for rows in passing))
    first_step = np.append(0, np.searchsorted(edges, bins.partition.edges) + 1)
    return FittedSteps(bins, edges, first_step, np.append(groups.score[0], edges), tally)


def fit_pooled_steps(groups: BoundaryGroups, labelled: Rows, n_bins: int, seed: int, score_range: ScoreRange) -> FittedSteps:
    """The same where `groups` are those of labelled and other scores together: tallies are those of the labelled rows."""
    fitted = fit_steps(groups, n_bins, seed, score_range)
    if fitted.bins.n_tied:
        raise InputError(
            f"unlabelled was given, and {fitted.bins.n_tied} scores at the cuts of bins and steps are shared by several "
            "samples; the promise with unlabelled scores is known for distinct scores alone: leave unlabelled out"
        )
    tally = tally_rows(Partition(fitted.edges, None, score_range), labelled)
    bin_edges = fitted.bins.partition.edges
    at_edges = tally_rows(fitted.bins.partition, labelled.take(np.isin(labelled.scores, bin_edges)))
    starts = fitted.first_step
    counts, label_sums = (np.add.reduceat(column, starts) for column in (tally.counts, tally.label_sums))
    scores, labels = labelled.checked()
    if labelled.frequencies is not None:
        scores, labels = np.repeat(scores, labelled.frequencies), np.repeat(labels, labelled.frequencies)
    order = np.argsort(scores, kind="stable")
    at_bin_edges = groups_at(bin_edges, scores[order], labels[order])
    bins = fitted.bins._replace(tally=Tally(counts - at_edges.counts, label_sums - at_edges.label_sums), groups=at_bin_edges)
    return fitted._replace(bins=bins, tally=tally, unlabelled=fitted.tally.counts - tally.counts)
