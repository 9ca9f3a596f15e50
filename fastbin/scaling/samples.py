"""Samples as the likelihood of a smooth map needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fastbin._errors import InputError
from fastbin._validation import ScoreRange, check_labels, check_same_length, check_sample_weight, check_scores
from fastbin.scaling.likelihood import Feature

__all__ = ["Samples", "check_samples", "log_features", "logits"]

Float64s = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Samples:
    """Distinct pairs of score and label with the weight of each: first those of label 0, then of label 1, scores ascending.

    The order is that of the multiset, so that sums over it do not depend on where the rows stood.
    """

    scores: Float64s
    labels: npt.NDArray[np.uint8]
    weights: Float64s
    n_samples: int
    n_positive: int

    @property
    def label_weights(self) -> tuple[float, float]:
        """The total weight of label 0 and of label 1."""
        return float(self.weights[self.labels == 0].sum()), float(self.weights[self.labels == 1].sum())

    def take(self, kept: npt.NDArray[np.bool_]) -> Samples:
        return Samples(self.scores[kept], self.labels[kept], self.weights[kept], self.n_samples, self.n_positive)

    @property
    def n_distinct(self) -> int:
        return len(np.unique(self.scores))

    def are_separated(self) -> bool:
        """Whether all samples with label 0 lie at or below some score and all with label 1 at or above it (or there is one
        class).

        Then an ever steeper map is ever more likely, and the likelihood has no maximum (Albert & Anderson 1984).
        """
        zeros, ones = self.scores[self.labels == 0], self.scores[self.labels == 1]
        return not len(zeros) or not len(ones) or bool(zeros.max() <= ones.min())


def check_samples(scores: Any, labels: Any, sample_weight: Any, score_range: ScoreRange) -> Samples:
    """Check the columns given to a fit, and pool equal rows. O(n log n)."""
    score_array = check_scores(scores, score_range).astype(np.float64) + 0.0  # + 0.0 turns -0.0 into 0.0
    label_array = check_labels(labels)
    weights = check_sample_weight(sample_weight)
    if check_same_length(scores=score_array, labels=label_array, sample_weight=weights) == 0:
        raise InputError("scores is empty; a calibrator needs samples")
    n_samples, n_positive = len(label_array), int(label_array.sum())
    if weights is not None:
        if not weights.any():
            raise InputError("sample_weight is 0 for every row; a calibrator needs samples")
        if weights.dtype == np.int64:
            if weights.sum(dtype=np.float64) >= 2.0**53:
                raise InputError(
                    "sample_weight adds up to 2**53 samples or more; divide all frequencies by a constant, as floats"
                )
            n_samples, n_positive = int(weights.sum()), int(weights[label_array == 1].sum())
    parts = [
        _pool(score_array[chosen], None if weights is None else weights[chosen].astype(np.float64))
        for chosen in (label_array == 0, label_array == 1)
    ]
    pooled_labels = np.repeat(np.array([0, 1], np.uint8), [len(part[0]) for part in parts])
    pooled_scores, pooled_weights = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return Samples(pooled_scores, pooled_labels, pooled_weights, n_samples, n_positive)


def _pool(scores: Float64s, weights: Float64s | None) -> tuple[Float64s, Float64s]:
    """Distinct scores that have weight, ascending, and the total weight of each."""
    if weights is None:
        scores = np.sort(scores)
        first = np.flatnonzero(np.concatenate(([True], scores[1:] != scores[:-1]))) if len(scores) else np.empty(0, np.int64)
        return scores[first], np.diff(np.append(first, len(scores))).astype(np.float64)
    scores, weights = scores[weights > 0], weights[weights > 0]
    order = np.lexsort((weights, scores))
    scores, weights = scores[order], weights[order]
    if not len(scores):
        return scores, weights
    first = np.flatnonzero(np.concatenate(([True], scores[1:] != scores[:-1])))
    return scores[first], np.add.reduceat(weights, first)


def log_features(scores: Float64s) -> list[Feature]:
    """log(s) and -log(1 - s), for scores strictly inside (0, 1)."""
    logs = np.log(scores), -np.log(1.0 - scores)
    return [Feature(column, float(np.abs(column).max())) for column in logs]


def logits(scores: Float64s) -> Feature:
    """log(s / (1 - s)), as the C library computes it: log(s) - log(1 - s)."""
    rising, falling = log_features(scores)
    return Feature(rising.values + falling.values, max(rising.size, falling.size))
