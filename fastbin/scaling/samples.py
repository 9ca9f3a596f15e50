"""Samples as the likelihood of a smooth map needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastbin._base.array_types import Bools, Float64s, UInt8s
from fastbin._base.checks import ScoreRange, check_labels, check_same_length, check_sample_weight, check_scores, no_samples
from fastbin._base.errors import InputError, by_name
from fastbin._fit.quantiles import run_starts
from fastbin.scaling.likelihood import Feature


@dataclass(frozen=True)
class PooledSamples:
    """Distinct pairs of score and label with the weight of each: first those of label 0, then of label 1, scores ascending.

    The order is that of the multiset, so that sums over it do not depend on where the rows stood.
    """

    scores: Float64s
    labels: UInt8s
    weights: Float64s
    n_samples: int
    n_positive: int

    @property
    def label_weights(self) -> tuple[float, float]:
        """The total weight of label 0 and of label 1."""
        return float(self.weights[self.labels == 0].sum()), float(self.weights[self.labels == 1].sum())

    @property
    def n_distinct(self) -> int:
        return len(np.unique(self.scores))

    @property
    def agreement(self) -> Float64s:
        """Positive where the label is that of the side of 0.5 on which the score lies, negative where it is the other one."""
        return np.asarray((2.0 * self.labels - 1.0) * (self.scores - 0.5))

    def take(self, kept: Bools) -> PooledSamples:
        return PooledSamples(self.scores[kept], self.labels[kept], self.weights[kept], self.n_samples, self.n_positive)

    def are_separated(self, *, falling: bool = False) -> bool:
        """Whether there is one class, or a score at or below which are all samples of one label, the others at or above it.

        The label below is 0, or 1 if `falling`. Then an ever steeper map is ever more likely, and the likelihood has no maximum
        (Albert & Anderson 1984).
        """
        below, above = self.scores[self.labels == falling], self.scores[self.labels != falling]
        return not len(below) or not len(above) or bool(below.max() <= above.min())

    @property
    def half_step(self) -> float:
        """How far a map that takes logarithms keeps scores from 0 and 1."""
        return 0.5 / (self.n_samples + 1.0)

    def with_ends(self, clip: float) -> PooledSamples:
        """The samples with scores nearer than `clip` to 0 or 1 moved there, where `log_features` moves them back inside.

        So they are equal, and pooled, before anything is said about how many scores there are or whether they separate labels.
        """
        scores = np.where(self.scores < clip, 0.0, np.where(1.0 - self.scores < clip, 1.0, self.scores))
        pooled = [_pool(scores[self.labels == label], self.weights[self.labels == label]) for label in (0, 1)]
        return PooledSamples(*_joined(pooled), self.n_samples, self.n_positive)

    def inside(self, scores: Any, labels: Any) -> PooledSamples:
        """The samples strictly inside (0, 1), after a check of those at the ends; `scores` and `labels` as they were given.

        An increasing map through logarithms sends 0 to 0 and 1 to 1, whatever its parameters. So a sample with score 0 and
        label 0, or score 1 and label 1, has likelihood 1 and drops out; one with the other label makes the likelihood 0 and is
        refused.
        """
        for end in (0.0, 1.0):
            if ((self.scores == end) & (self.labels != end)).any():
                column, label_column = (np.asarray(values, np.float64).ravel() for values in (scores, labels))
                position = int(np.argmax((column == end) & (label_column == 1.0 - end)))
                raise InputError(
                    f"is {end!r} with label {1.0 - end:g}: the map sends {end:g} to {end:g}, so no parameters make this sample "
                    "possible",
                    ("use ends='clip', which moves scores inside (0, 1), or PlattScaling(", by_name("feature", "score"), ")"),
                    argument="scores",
                    at=position,
                    value=end,
                )
        return self.take((self.scores > 0.0) & (self.scores < 1.0))


def check_samples(scores: Any, labels: Any, sample_weight: Any, score_range: ScoreRange) -> PooledSamples:
    """Check the columns given to a fit, and pool equal rows. O(n log n)."""
    score_array = check_scores(scores, score_range).astype(np.float64) + 0.0  # + 0.0 turns -0.0 into 0.0
    label_array, weights = check_labels(labels), check_sample_weight(sample_weight)
    if check_same_length(scores=score_array, labels=label_array, sample_weight=weights) == 0:
        raise InputError("is empty", "a calibrator needs samples", argument="scores")
    n_samples, n_positive = len(label_array), int(label_array.sum())
    if weights is not None:
        if not weights.any():
            raise no_samples()
        if weights.dtype == np.int64:
            n_samples, n_positive = int(weights.sum()), int(weights[label_array == 1].sum())
    parts = [
        _pool(score_array[chosen], None if weights is None else weights[chosen].astype(np.float64))
        for chosen in (label_array == 0, label_array == 1)
    ]
    return PooledSamples(*_joined(parts), n_samples, n_positive)


def _joined(parts: list[tuple[Float64s, Float64s]]) -> tuple[Float64s, UInt8s, Float64s]:
    """Scores, labels and weights of the samples of label 0 and of label 1, one after the other."""
    labels = np.repeat(np.array([0, 1], np.uint8), [len(part[0]) for part in parts])
    scores, weights = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return scores, labels, weights


def _pool(scores: Float64s, weights: Float64s | None) -> tuple[Float64s, Float64s]:
    """Distinct scores that have weight, ascending, and the total weight of each."""
    if weights is None:
        distinct, counts = np.unique(scores, return_counts=True)
        return distinct, counts.astype(np.float64)
    scores, weights = scores[weights > 0], weights[weights > 0]
    order = np.lexsort((weights, scores))
    first = run_starts(scores[order])
    return scores[order][first], np.add.reduceat(weights[order], first)


def log_features(scores: Float64s, clip: float = 0.0) -> list[Feature]:
    """log(s) and -log(1 - s) as the C library computes them, both moved into [clip, 1 - clip] first.

    Without a clip scores must lie strictly inside (0, 1).
    """
    rising, falling = (np.log(np.clip(values, clip, 1.0 - clip)) for values in (scores, 1.0 - scores))
    return [Feature.of(rising), Feature.of(-falling)]


def logits(scores: Float64s, clip: float = 0.0) -> Feature:
    """log(s / (1 - s)), as the C library computes it: log(s) - log(1 - s)."""
    rising, falling = log_features(scores, clip)
    return Feature(rising.values + falling.values, max(rising.size, falling.size))
