"""Tallies of importance weights: exact sums per bin, so that a weighted model depends on its rows and not on their order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from fastbin._errors import InputError
from fastbin._typing import Array, Float64s, Int64s

BLOCK = 2**16


class RoundedSums(NamedTuple):
    """Per bin: the sums of w, of w y, and of the doubles w * w. Each is the correctly rounded exact sum."""

    weight_sums: Float64s
    weighted_label_sums: Float64s
    weight_square_sums: Float64s

    def values(self) -> Float64s:
        """Weighted means; 0.5 for a bin without weight."""
        empty = self.weight_sums == 0
        return np.where(empty, 0.5, self.weighted_label_sums / np.where(empty, 1.0, self.weight_sums))


def require_weight(weight_sums: Any) -> None:
    """Refuse weight sums that are all 0: every value would stand for not knowing."""
    if not np.any(weight_sums):
        raise InputError(
            "sample_weight is 0 for every row that a bin averages; a calibrator needs samples that weigh something"
        )


def squares_of(weights: Float64s, first_row: int = 0) -> Float64s:
    """The doubles w * w; refuses the first weight whose square overflows (a chunk's rows count from `first_row`)."""
    with np.errstate(over="ignore"):
        squares = weights * weights
    if not np.isfinite(squares).all():
        position = int(np.argmax(~np.isfinite(squares)))
        place = f"sample_weight[{first_row + position}]"
        raise InputError(f"{place} is {float(weights[position])!r}, whose square overflows; divide all weights by a constant")
    return squares


class ExactSums:
    """Sums of non-negative finite doubles per bin, kept exactly: they add, and nothing depends on order or division.

    Memory 0.5 kB per bin.
    """

    def __init__(self, n_bins: int) -> None:
        from fastbin._kernels import sums

        self._kernels = sums
        self._limbs = np.zeros(n_bins * sums.N_LIMBS, np.int64)

    def add(self, values: Float64s, bins: Int64s) -> None:
        """Add each value to its bin; values with a negative bin are left out."""
        bits = np.ascontiguousarray(values + 0.0).view(np.int64)  # + 0.0 turns -0.0 into 0.0
        for start in range(0, len(bits), self._kernels.TERMS_BEFORE_CARRY):
            span = slice(start, start + self._kernels.TERMS_BEFORE_CARRY)
            self._kernels.add_exactly(bits[span], bins[span], self._limbs)
            self._kernels.carry(self._limbs)

    def add_repeated(self, values: Float64s, bins: Int64s, repeats: Int64s) -> None:
        """Add repeats[i] times values[i], for values up to 1 (so that 2**62 of them do not overflow)."""
        for place in range(int(repeats.max(initial=0)).bit_length()):
            chosen = (repeats >> place) & 1 == 1
            self.add(np.ldexp(values[chosen], place), bins[chosen])

    def __add__(self, other: ExactSums) -> ExactSums:
        total = ExactSums(0)
        total._limbs = self._limbs + other._limbs
        self._kernels.carry(total._limbs)
        return total

    def rounded(self) -> Float64s:
        """The doubles nearest to the sums."""
        return np.array([float(total) for total in self._totals()])

    def means(self, counts: Int64s) -> Float64s:
        """The doubles nearest to sums / counts, 0.5 for a count of 0. Rounded once: they do not fall where exact means rise."""
        pairs = zip(self._totals(), counts.tolist(), strict=True)
        return np.array([float(total / count) if count else 0.5 for total, count in pairs])

    def _totals(self) -> Iterator[Fraction]:
        for limbs in self._limbs.reshape(-1, self._kernels.N_LIMBS).tolist():
            total = sum(limb << (32 * place) for place, limb in enumerate(limbs))
            yield Fraction(total, 1 << -self._kernels.LOWEST_EXPONENT)


def exact_sums(values: Float64s, bins: Int64s, n_bins: int) -> Float64s:
    """The correctly rounded sums of non-negative finite doubles per bin."""
    sums = ExactSums(n_bins)
    sums.add(values, bins)
    return sums.rounded()


@dataclass(frozen=True)
class WeightSums:
    """Sums of w, of w y and of the doubles w w per bin, exact until they are asked for."""

    weights: ExactSums
    weighted_labels: ExactSums
    weight_squares: ExactSums

    @classmethod
    def zero(cls, n_bins: int) -> WeightSums:
        return cls(ExactSums(n_bins), ExactSums(n_bins), ExactSums(n_bins))

    @classmethod
    def of(cls, bins: Int64s, labels: Array, weights: Float64s, n_bins: int) -> WeightSums:
        """The sums of rows whose bins are known; those with a negative bin are left out. Time O(n), memory O(n_bins)."""
        sums = cls.zero(n_bins)
        for start in range(0, len(weights), BLOCK):
            span = slice(start, start + BLOCK)
            sums.add(np.ascontiguousarray(bins[span], np.int64), labels[span], weights[span], start)
        return sums

    def add(self, bins: Int64s, labels: Array, weights: Float64s, first_row: int = 0) -> None:
        """Add rows to their bins; those with a negative bin are left out. Errors count rows from `first_row`."""
        self.weights.add(weights, bins)
        self.weighted_labels.add(weights, np.where(labels == 1, bins, -1))
        self.weight_squares.add(squares_of(weights, first_row), bins)

    def __add__(self, other: WeightSums) -> WeightSums:
        return WeightSums(
            self.weights + other.weights,
            self.weighted_labels + other.weighted_labels,
            self.weight_squares + other.weight_squares,
        )

    def rounded(self) -> RoundedSums:
        """Each sum as the double nearest to it."""
        return RoundedSums(self.weights.rounded(), self.weighted_labels.rounded(), self.weight_squares.rounded())
