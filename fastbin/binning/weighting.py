"""Tallies of importance weights: exact sums per bin, so that a weighted model depends on its rows and not on their order."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastbin._errors import InputError

__all__ = ["WeightTally", "tally_weights"]

Float64s = npt.NDArray[np.float64]
BLOCK = 2**20


class WeightTally(NamedTuple):
    """Per bin: the sums of w, of w y, and of the doubles w * w. Each is the correctly rounded exact sum."""

    weight_sums: Float64s
    weighted_label_sums: Float64s
    weight_square_sums: Float64s

    def values(self) -> Float64s:
        """Weighted means; 0.5 for a bin without weight."""
        empty = self.weight_sums == 0
        return np.where(empty, 0.5, self.weighted_label_sums / np.where(empty, 1.0, self.weight_sums))


def tally_weights(bins: npt.NDArray[Any], labels: npt.NDArray[Any], weights: Float64s, n_bins: int) -> WeightTally:
    """The tally of rows whose bins are known; rows with a negative bin are left out. Time O(n), memory O(n_bins)."""
    with np.errstate(over="ignore"):
        squares = weights * weights
    if not np.isfinite(squares).all():
        position = int(np.argmax(~np.isfinite(squares)))
        weight = float(weights[position])
        raise InputError(f"sample_weight[{position}] is {weight!r}, whose square overflows; divide all weights by a constant")
    bins = np.ascontiguousarray(bins, np.int64)
    ones = np.where(labels == 1, bins, -1)
    return WeightTally(exact_sums(weights, bins, n_bins), exact_sums(weights, ones, n_bins), exact_sums(squares, bins, n_bins))


def exact_sums(values: Float64s, bins: npt.NDArray[np.int64], n_bins: int) -> Float64s:
    """The correctly rounded sums of non-negative finite doubles per bin."""
    from fastbin._kernels import sums

    limbs = np.zeros(n_bins * sums.N_LIMBS, np.int64)
    bits = np.ascontiguousarray(values + 0.0).view(np.int64)  # + 0.0 turns -0.0 into 0.0
    for start in range(0, len(bits), sums.TERMS_BEFORE_CARRY):
        span = slice(start, start + sums.TERMS_BEFORE_CARRY)
        sums.add_exactly(bits[span], bins[span], limbs)
        sums.carry(limbs)
    return np.array([_rounded(row, sums.LOWEST_EXPONENT) for row in limbs.reshape(n_bins, sums.N_LIMBS)])


def _rounded(limbs: npt.NDArray[np.int64], lowest_exponent: int) -> float:
    total = sum(int(limb) << (32 * place) for place, limb in enumerate(limbs))
    return float(Fraction(total, 1 << -lowest_exponent))
