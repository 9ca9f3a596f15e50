"""The bins of rows without labels, and in each bin a random order of its rows."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Bools, Float64s, Int64s, UInt64s
from fastbin._base.checks import ScoreRange, check_edges
from fastbin._base.errors import InputError
from fastbin._base.ranks import boundary_ranks
from fastbin._core.fit import row_keys, rows_digest
from fastbin._fit.edges import require_samples
from fastbin.model import BinnedModel
from fastbin.model_set import as_model

# Where scores tie at edges, so many of the rows place the edges and are not labelled: a tenth, 20 a bin, but never over half.
SHARE_FOR_EDGES, LEAST_FOR_EDGES, MOST_FOR_EDGES = 0.1, 20, 0.5


class Pool(NamedTuple):
    """Bins that no label has placed: their edges and origin, the rows of each in a random order, and their mean score."""

    edges: Float64s
    scheme: str
    counts: Int64s
    rows: tuple[Int64s, ...]
    mean_scores: Float64s


def pool_of(scores: Float64s, n_bins: int, edges: Any, tie_keys: UInt64s | None, seed: int, score_range: ScoreRange) -> Pool:
    """The pool of these scores, cut at `edges`, or into bins of equal mass.

    Equal scores come in the order of their keys; without keys in one that their positions and the seed decide. All else depends
    on the scores and the seed alone. O(n log n).
    """
    n = len(scores)
    digest = rows_digest(seed, scores, np.zeros(n, np.uint8))
    ordered = np.lexsort((row_keys(digest ^ 1, n) if tie_keys is None else tie_keys, scores))
    keys, sorted_scores = row_keys(digest, n), scores[ordered]
    if edges is not None:
        cuts, scheme, left_out = _edges_of(edges, score_range), "explicit", np.zeros(n, bool)
    else:
        require_samples(n, n_bins, "umd")
        cuts, scheme, left_out = _edges_by_mass(sorted_scores, n_bins, keys)
    bins = np.where(left_out, -1, np.searchsorted(cuts, sorted_scores, side="right"))
    of_bins = [np.flatnonzero(bins == b) for b in range(len(cuts) + 1)]
    counts = np.array([len(places) for places in of_bins], np.int64)
    means = np.array([sorted_scores[places].mean() if len(places) else math.nan for places in of_bins])
    rows = tuple(ordered[places[np.argsort(keys[places], kind="stable")]] for places in of_bins)
    return Pool(cuts, scheme, counts, rows, means)


def _edges_of(edges: Any, score_range: ScoreRange) -> Float64s:
    """Edges that were fixed before: an array of them, or those of a model's bins."""
    if not isinstance(edges, BinnedModel) and not hasattr(type(edges), "model_"):
        return check_edges(edges, score_range)
    model = as_model(edges, "edges")
    if model.kind != "step" or np.any(model.bin_edge_keys):
        problem = "are of a model that divides equal scores by keys" if model.kind == "step" else "are of a model without bins"
        raise InputError(problem, "pass a model of step functions with ties='whole', or edges", argument="edges")
    return check_edges(np.array(model.bin_edges), score_range)


def _edges_by_mass(scores: Float64s, n_bins: int, keys: UInt64s) -> tuple[Float64s, str, Bools]:
    """Edges of bins of equal mass, their scheme, and which of the sorted rows are not labelled.

    As in Algorithm 1 of Gupta & Ramdas 2021, edges are order statistics, whose rows are left out. If one of them shares its
    score, other rows than those that are labelled place the edges: to these a rule for ties is part of fixed bins.
    """
    n = len(scores)
    at = boundary_ranks(n, n_bins, "umd") - 1
    left_out = np.zeros(n, bool)
    if not ((scores[at - 1] == scores[at]) | (scores[at + 1] == scores[at])).any():
        left_out[at] = True
        return scores[at], "umd", left_out
    n_first = min(int(MOST_FOR_EDGES * n), max(math.ceil(SHARE_FOR_EDGES * n), LEAST_FOR_EDGES * n_bins))
    left_out[np.argsort(keys, kind="stable")[:n_first]] = True
    placing = scores[left_out]
    edges = np.unique(placing[boundary_ranks(n_first, n_bins, "ums") - 1])
    return edges[edges > placing[0]], "ums", left_out
