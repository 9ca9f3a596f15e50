"""Prediction sets, and the conversions between calibrated predictors and intervals (Gupta, Podkopaev & Ramdas 2020)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction


def conformal_threshold(scores: Sequence[float], labels: Sequence[int], alpha: Fraction) -> tuple[int, Fraction | None]:
    """(rank, threshold) of split conformal prediction with the nonconformity 1 - p_y, where p_1 = score and p_0 = 1 - score.

    The rank ceil((n + 1) (1 - alpha)) is exact: in doubles (n + 1) * (1 - 0.1) can land on the wrong side of an integer. None
    stands for a threshold of infinity, when the rank exceeds n.
    """
    samples = zip(scores, labels, strict=True)
    nonconformity = sorted(1 - Fraction(score) if label == 1 else Fraction(score) for score, label in samples)
    rank = math.ceil((len(nonconformity) + 1) * (1 - alpha))
    return rank, nonconformity[rank - 1] if rank <= len(nonconformity) else None


def conformal_set(score: float, threshold: Fraction | None) -> set[int]:
    """The labels whose nonconformity is at most the threshold: they cover with probability 1 - alpha, averaged over samples."""
    nonconformity = {0: Fraction(score), 1: 1 - Fraction(score)}
    return {label for label in (0, 1) if threshold is None or nonconformity[label] <= threshold}


def interval_from_calibrated(value: Fraction, epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Theorem 1, equation (12): [value - epsilon, value + epsilon], cut to [0, 1]."""
    return max(Fraction(0), value - epsilon), min(Fraction(1), value + epsilon)


def calibrated_from_intervals(intervals: Sequence[tuple[Fraction, Fraction]]) -> tuple[list[Fraction], Fraction]:
    """Theorem 1, converse, equation (14): (midpoints, epsilon), epsilon the largest half-width.

    The theorem as printed is false where two intervals have one midpoint: the predictor then merges bins whose errors do not
    average to within epsilon. It holds for distinct midpoints, and for intervals that cover simultaneously.
    """
    midpoints = [(low + high) / 2 for low, high in intervals]
    return midpoints, max((high - low) / 2 for low, high in intervals)


def set_from_interval(low: Fraction, high: Fraction) -> set[int]:
    """Theorem 2: the interval intersected with {0, 1}; may be empty.

    A prediction set only where the interval is distribution-free and the score has no atoms; for the intervals of a binned
    model the claim is wrong.
    """
    return {label for label in (0, 1) if low <= label <= high}
