"""Distinct scores in ascending order, each with what was seen there: what isotonic methods pool."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.checks import no_samples
from fastbin._fit.quantiles import run_starts
from fastbin._fit.rows import Rows


class DistinctScores(NamedTuple):
    """Every score has a sample, or weight. Sums of importance weights are rounded in the order of (label, weight)."""

    scores: Float64s
    counts: Any  # int64: samples; float64: sums of their importance weights
    label_sums: Any  # the same of those with label 1


def count_scores(rows: Rows) -> DistinctScores:
    """The distinct scores of rows, frequencies counted out. Checks the values of scores and labels. O(n log n), memory O(n)."""
    scores, labels = rows.checked()
    if rows.frequencies is None:
        ordered, ones = np.sort(scores), np.sort(scores[labels == 1])
        first = run_starts(ordered)
        distinct = ordered[first]
        counts = np.diff(np.append(first, len(ordered)))
        return DistinctScores(distinct, counts, np.searchsorted(ones, distinct, side="right") - np.searchsorted(ones, distinct))
    rows.n_samples()  # refuses frequencies that cannot be counted
    ordered, (labels, frequencies) = _sorted(scores, rows.frequencies > 0, (labels, rows.frequencies), ())
    first = run_starts(ordered)
    return DistinctScores(ordered[first], np.add.reduceat(frequencies, first), np.add.reduceat(frequencies * labels, first))


def weigh_scores(rows: Rows) -> DistinctScores:
    """The distinct scores of rows with importance weights; rows of weight 0 are left out. O(n log n), memory O(n)."""
    scores, labels = rows.checked()
    assert rows.weights is not None
    ordered, (labels, weights) = _sorted(scores, rows.weights > 0, (labels, rows.weights), (rows.weights, labels))
    first = run_starts(ordered)
    return DistinctScores(ordered[first], np.add.reduceat(weights, first), np.add.reduceat(weights * labels, first))


def _sorted(scores: Float64s, kept: Any, columns: tuple[Any, ...], ties: tuple[Any, ...]) -> tuple[Float64s, list[Any]]:
    """Some rows by score, equal scores by the columns of `ties`; and what else is known of them."""
    if not kept.any():
        raise no_samples()
    columns_kept = [column[kept] for column in (*ties, scores)]
    order = np.flatnonzero(kept)[np.lexsort(columns_kept) if ties else np.argsort(columns_kept[0])]
    return scores[order], [column[order] for column in columns]
