"""From cuts to bins: edges with their keys, and what was counted between them.

A *seam* is an edge together with the numbers of samples that the bins on its two sides stop and start at, when all samples
stand in order: ``end`` of the bin below, ``start`` of the bin above. Between the two lie boundary samples that no bin counts.
Each tie rule is one way to make seams from cuts; everything after that is common to all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fastbin._fit.cuts import Cuts
from fastbin._fit.sorting import run_starts

__all__ = ["KEY_ABOVE", "KEY_BELOW", "Partition", "Seams", "divide", "isolated_scores", "make_seams", "n_tied"]

Int64s = npt.NDArray[np.int64]
KEY_ABOVE, KEY_BELOW = 0, 2**64 - 1
PER_CUT = ("score", "key", "rank", "ones_before", "is_one")


class Seams(NamedTuple):
    """One entry per edge, ascending; columns `ends` and `starts` are (edges, 2): samples, and those with label 1."""

    edge: npt.NDArray[np.float64]
    edge_key: npt.NDArray[np.uint64]
    ends: Int64s
    starts: Int64s


class Partition(NamedTuple):
    """Bins with their tally."""

    edges: npt.NDArray[np.float64]
    edge_keys: npt.NDArray[np.uint64]
    counts: Int64s
    label_sums: Int64s


def make_seams(cuts: Cuts, ties: str, *, count_cuts: bool, cut_below: bool) -> Seams:
    """The seams of a tie rule.

    Parameters
    ----------
    cuts : Cuts
    ties : {"random", "upper", "lower", "isolate"}
    count_cuts : bool
        Whether a boundary sample is counted, in the bin below its edge, or left out.
    cut_below : bool
        Whether a boundary sample lies below its edge at prediction (Sun, Song & Hero 2023, Definition 6) or above it
        (Gupta & Ramdas 2021, Algorithm 1).
    """
    if ties == "random":
        return _by_key(cuts, count_cuts, cut_below)
    if ties == "isolate":
        return _isolating(cuts, count_cuts, cut_below)
    score, first, repeats = np.unique(cuts.score, return_index=True, return_counts=True)
    below = np.stack([cuts.group.below[first], cuts.group.below_ones[first]], axis=1)
    if ties == "lower":
        past = below + np.stack([cuts.group.equal[first], cuts.group.equal_ones[first]], axis=1)
        return Seams(score, np.full(len(score), KEY_BELOW, np.uint64), past, past)
    # All boundary samples of one score stand at its single edge.
    ones = np.add.reduceat(cuts.is_one, first) if len(first) else cuts.is_one
    past = below + np.stack([repeats, ones], axis=1)
    return Seams(score, np.full(len(score), KEY_ABOVE, np.uint64), past if count_cuts else below, past)


def _by_key(cuts: Cuts, count_cuts: bool, cut_below: bool) -> Seams:
    before = np.stack([cuts.rank - 1, cuts.ones_before], axis=1)
    past = before + np.stack([np.ones_like(cuts.is_one), cuts.is_one], axis=1)
    # The first key above the boundary sample's own is the next one.
    edge_key = cuts.key + np.uint64(1) if cut_below else cuts.key
    return Seams(cuts.score, edge_key, past if count_cuts else before, past)


def _isolating(cuts: Cuts, count_cuts: bool, cut_below: bool) -> Seams:
    """A score that holds two or more cuts becomes the bin [score, next double), with all samples of that score."""
    isolated = np.isin(cuts.score, isolated_scores(cuts))
    kept = cuts._replace(**{name: getattr(cuts, name)[~isolated] for name in PER_CUT})
    score, first = np.unique(cuts.score[isolated], return_index=True)
    at = np.flatnonzero(isolated)[first]
    below = np.stack([cuts.group.below[at], cuts.group.below_ones[at]], axis=1)
    past = below + np.stack([cuts.group.equal[at], cuts.group.equal_ones[at]], axis=1)
    above = np.full(2 * len(score), KEY_ABOVE, np.uint64)
    with np.errstate(over="ignore"):  # above the greatest double there is infinity, an edge that `divide` leaves out
        next_score = np.nextafter(score, np.inf) + 0.0  # the one after -5e-324 is -0.0
    parts = (
        _by_key(kept, count_cuts, cut_below),
        Seams(np.concatenate([score, next_score]), above, *[np.concatenate([below, past])] * 2),
    )
    edge, edge_key, ends, starts = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((edge_key, edge))
    return Seams(edge[order], edge_key[order], ends[order], starts[order])


def isolated_scores(cuts: Cuts) -> npt.NDArray[np.float64]:
    """The scores that hold two or more cuts. Depends on the cuts alone, so isolating them costs no guarantee."""
    score, repeats = np.unique(cuts.score, return_counts=True)
    return score[repeats >= 2]


def n_tied(cuts: Cuts, ties: str) -> int:
    """Samples in groups of two or more equal scores that hold a cut, where the tie rule decides."""
    first = run_starts(cuts.score)
    sizes = cuts.group.equal[first]
    deciding = sizes >= 2
    if ties == "isolate":
        deciding &= ~np.isin(cuts.score[first], isolated_scores(cuts))
    return int(sizes[deciding].sum())


def divide(seams: Seams, n_samples: int, n_positive: int, limits: tuple[float, float]) -> Partition:
    """The bins between seams; edges with nothing on one side, for ever, are left out.

    These are edges that no score within the limits can lie below or can reach, and all but one of equal edges.
    """
    zero, total = np.zeros((1, 2), np.int64), np.array([[n_samples, n_positive]])
    tally = np.concatenate([seams.ends, total]) - np.concatenate([zero, seams.starts])
    edge, key = seams.edge, seams.edge_key
    low, high = limits
    kept = ((edge > low) | ((edge == low) & (key > KEY_ABOVE))) & ((edge < high) | ((edge == high) & (key < KEY_BELOW)))
    kept[1:] &= (edge[1:] != edge[:-1]) | (key[1:] != key[:-1])
    if kept.all():
        return Partition(edge, key, tally[:, 0].copy(), tally[:, 1].copy())
    tally = np.add.reduceat(tally, np.concatenate([[0], np.flatnonzero(kept) + 1]), axis=0)
    return Partition(edge[kept], key[kept], tally[:, 0].copy(), tally[:, 1].copy())
