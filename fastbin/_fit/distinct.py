"""Samples as knots: distinct scores in ascending order, each with what was seen there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fastbin._errors import InputError
from fastbin._fit.rows import Rows
from fastbin._validation import check_labels, check_scores

__all__ = ["Knots", "WeightedKnots", "count_knots", "weigh_knots"]

Int64s = npt.NDArray[np.int64]
Float64s = npt.NDArray[np.float64]


class Knots(NamedTuple):
    """Counts of samples; every knot has at least one."""

    scores: Float64s
    counts: Int64s
    label_sums: Int64s


class WeightedKnots(NamedTuple):
    """Sums of importance weights, all positive, and of those with label 1, rounded in the order of (label, weight)."""

    scores: Float64s
    weights: Float64s
    label_weights: Float64s


def count_knots(rows: Rows) -> Knots:
    """The knots of rows, frequencies counted out. Checks the values of scores and labels. O(n log n), memory O(n)."""
    scores, labels = _checked(rows)
    if rows.frequencies is None:
        ordered, ones = np.sort(scores), np.sort(scores[labels == 1])
        first = _firsts(ordered)
        knots = ordered[first]
        counts = np.diff(np.append(first, len(ordered)))
        return Knots(knots, counts, np.searchsorted(ones, knots, side="right") - np.searchsorted(ones, knots))
    rows.expanded_size()  # refuses frequencies that cannot be counted
    there = rows.frequencies > 0
    scores, labels, frequencies = scores[there], labels[there], rows.frequencies[there]
    _require_some(scores)
    order = np.argsort(scores)
    ordered, frequencies, labels = scores[order], frequencies[order], labels[order]
    first = _firsts(ordered)
    return Knots(ordered[first], np.add.reduceat(frequencies, first), np.add.reduceat(frequencies * labels, first))


def weigh_knots(rows: Rows, weights: Float64s) -> WeightedKnots:
    """The knots of rows with importance weights; rows of weight 0 make none. O(n log n), memory O(n)."""
    scores, labels = _checked(rows)
    there = weights > 0
    scores, labels, weights = scores[there], labels[there], weights[there]
    _require_some(scores)
    order = np.lexsort((weights, labels, scores))
    ordered, labels, weights = scores[order], labels[order], weights[order]
    first = _firsts(ordered)
    return WeightedKnots(ordered[first], np.add.reduceat(weights, first), np.add.reduceat(weights * labels, first))


def _checked(rows: Rows) -> tuple[Float64s, npt.NDArray[np.uint8]]:
    scores = check_scores(rows.scores, rows.score_range).astype(np.float64, copy=False) + 0.0  # + 0.0 turns -0.0 into 0.0
    return scores, check_labels(rows.labels)


def _firsts(ordered: Float64s) -> Int64s:
    return np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))


def _require_some(scores: Float64s) -> None:
    if not len(scores):
        raise InputError("sample_weight is 0 for every row; a calibrator needs samples")
