"""A fitted model: a step function over (score, key) with the tally behind it."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from reference.keys import KEY_ABOVE, KEY_BELOW, MAX_KEY, cap, row_key, value_randomiser

Edge = tuple[float, int]  # (edge, edge_key)

EMPTY_BIN_VALUE = Fraction(1, 2)


def bin_of(edges: Sequence[Edge], score: float, key: int) -> int:
    """The number of edges at or below the sample.

    A sample lies at or above an edge exactly when score > edge, or score == edge and key >= edge_key.
    """
    return sum(score > edge or (score == edge and key >= edge_key) for edge, edge_key in edges)


def keep_edges_with_two_sides(edges: Iterable[Edge], score_min: float, score_max: float) -> list[Edge]:
    """Sorted edges without repetitions, and without those that have nothing on one side.

    Equal edges enclose an empty bin. An edge that no sample of the score range can lie below, or that none can reach, has an
    empty side for ever: (least score, 0) is the one, anything above (greatest score, 2**64 - 2) the other.
    """
    least, greatest = max(score_min, -sys.float_info.max), min(score_max, sys.float_info.max)  # scores are finite
    return [edge for edge in sorted(set(edges)) if (least, KEY_ABOVE) < edge <= (greatest, MAX_KEY)]


def clamped(score: float, low: float, high: float) -> float:
    """A finite score, or the end of the range that it is beyond."""
    return low if score < low else high if score > high else score


class Tally:
    """Counts of samples, labels and weights in each bin."""

    def __init__(self, n_bins: int) -> None:
        self.counts = [0] * n_bins
        self.label_sums = [0] * n_bins
        self.weight_sums: list[Fraction | int] = [0] * n_bins
        self.weighted_label_sums: list[Fraction | int] = [0] * n_bins
        self.weight_square_sums: list[Fraction | int] = [0] * n_bins

    def add(self, b: int, label: int, weight: float = 1.0) -> None:
        """Count one sample in bin `b`. Sums of weights are exact sums of doubles; the square of a weight is a double."""
        exact = 1 if weight == 1.0 else Fraction(weight)  # integers are exact too, and add a hundred times as fast
        self.counts[b] += 1
        self.label_sums[b] += label
        self.weight_sums[b] += exact
        self.weighted_label_sums[b] += exact * label
        self.weight_square_sums[b] += 1 if weight == 1.0 else Fraction(weight * weight)

    def take_out(self, b: int, label: int) -> None:
        """Count one sample of weight 1 less."""
        self.counts[b] -= 1
        self.label_sums[b] -= label
        self.weight_sums[b] -= 1
        self.weighted_label_sums[b] -= label
        self.weight_square_sums[b] -= 1

    def means(self) -> list[Fraction]:
        """Exact means of the labels; 1/2 where nothing was counted (or nothing weighs anything)."""
        pairs = zip(self.weighted_label_sums, self.weight_sums, strict=True)
        return [Fraction(labels) / weights if weights else EMPTY_BIN_VALUE for labels, weights in pairs]


@dataclass
class StepModel:
    """Edges, values, and where they come from.

    `values` are the doubles that a model predicts and `exact_values` the rationals that they stand for. Without weights the
    two say the same thing: the double nearest to label_sum / count, which is also what one IEEE division of the two integers
    gives. With importance weights `values` is the quotient of two doubles, each the correctly rounded sum.
    """

    edges: list[float]
    edge_keys: list[int]
    values: list[float]
    exact_values: list[Fraction]
    counts: list[int]
    label_sums: list[int]
    weight_sums: list[float] | None
    weighted_label_sums: list[float] | None
    weight_square_sums: list[float] | None
    n_samples: int
    n_positive: int
    n_tied: int
    n_bins_asked: int
    score_min: float
    score_max: float
    delta: float = 0.0
    fingerprint: int = 0
    out_of_range: str = "refuse"
    ties: str = "none"
    tie_counts: list[tuple[int, int, int]] | None = None
    edges_share: float = 0.0

    @classmethod
    def from_tally(cls, edges: Sequence[Edge], tally: Tally, *, weighted: bool = False, **origin: object) -> StepModel:
        """The model whose value in a bin is the mean of the labels tallied there."""
        exact_values = tally.means()
        values = [float(value) for value in exact_values]
        weight_sums = weighted_label_sums = weight_square_sums = None
        if weighted:
            if not any(tally.weight_sums):
                raise ValueError("every weight is 0")
            weight_sums = [float(total) for total in tally.weight_sums]
            weighted_label_sums = [float(total) for total in tally.weighted_label_sums]
            weight_square_sums = [float(total) for total in tally.weight_square_sums]
            pairs = zip(weighted_label_sums, weight_sums, strict=True)
            values = [labels / weights if weights else float(EMPTY_BIN_VALUE) for labels, weights in pairs]
        return cls(
            edges=[edge for edge, _ in edges],
            edge_keys=[edge_key for _, edge_key in edges],
            values=values,
            exact_values=exact_values,
            counts=tally.counts,
            label_sums=tally.label_sums,
            weight_sums=weight_sums,
            weighted_label_sums=weighted_label_sums,
            weight_square_sums=weight_square_sums,
            **origin,  # type: ignore[arg-type]
        )

    @property
    def n_bins(self) -> int:
        return len(self.values)

    @property
    def edge_pairs(self) -> list[Edge]:
        return list(zip(self.edges, self.edge_keys, strict=True))

    def assign_one(self, score: float, tie_key: int) -> int:
        """The bin of one sample. NaN and infinity are refused; so are scores outside the range, but where the model clips."""
        if self.out_of_range == "clip" and math.isfinite(score):
            score = clamped(score, self.score_min, self.score_max)
        if not (math.isfinite(score) and self.score_min <= score <= self.score_max):
            raise ValueError(f"score {score!r} is outside [{self.score_min}, {self.score_max}]")
        return bin_of(self.edge_pairs, score, cap(tie_key))

    def predict_one(self, score: float, tie_key: int) -> float:
        """The value of the sample's bin, randomised as in Gupta & Ramdas 2021, Algorithm 2, where delta > 0."""
        value = self.values[self.assign_one(score, tie_key)]
        if self.delta == 0.0:
            return value
        return (value + self.delta * value_randomiser(cap(tie_key))) / (1.0 + self.delta)

    def needs_key(self, score: float) -> bool:
        """Does the answer for this score depend on the key?"""
        split_at_random = any(score == edge and KEY_ABOVE < edge_key < KEY_BELOW for edge, edge_key in self.edge_pairs)
        return self.delta > 0.0 or split_at_random

    def assign(self, scores: Sequence[float], tie_keys: Sequence[int] | None = None, seed: int = 0) -> list[int]:
        return [self.assign_one(score, key) for score, key in zip(scores, self._keys(scores, tie_keys, seed), strict=True)]

    def predict(self, scores: Sequence[float], tie_keys: Sequence[int] | None = None, seed: int = 0) -> list[float]:
        return [self.predict_one(score, key) for score, key in zip(scores, self._keys(scores, tie_keys, seed), strict=True)]

    @staticmethod
    def _keys(scores: Sequence[float], keys: Sequence[int] | None, seed: int) -> Sequence[int]:
        return keys if keys is not None else [row_key(seed, row) for row in range(len(scores))]
