"""A random division of the samples in three: for a scaler, for bin boundaries, and for the means of bins."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastbin._errors import InputError, InputTypeError
from fastbin._fit.cuts import TieKeys
from fastbin._fit.order import FitOrder, boundary_ranks
from fastbin._fit.partition import KEY_ABOVE, Partition, Seams, divide
from fastbin._fit.rows import Rows
from fastbin._fit.sorting import BoundaryGroups, groups_at
from fastbin._native.ties import split_keys
from fastbin._validation import check_labels, check_scores

__all__ = ["ThreeParts", "part_sizes", "split_in_three"]

Int64s = npt.NDArray[np.int64]


class ThreeParts(NamedTuple):
    """All samples, ordered by (score, key), with the part that each is in: 0, 1 or 2."""

    scores: npt.NDArray[np.float64]
    labels: npt.NDArray[np.uint8]
    keys: npt.NDArray[np.uint64]
    part: npt.NDArray[np.int8]
    weights: npt.NDArray[np.float64] | None
    own_keys: bool  # keys that the caller brought

    def columns(self, part: int) -> tuple[Any, Any, Any]:
        """Scores, labels and importance weights of one part."""
        chosen = self.part == part
        return self.scores[chosen], self.labels[chosen], None if self.weights is None else self.weights[chosen]

    def cut(self, n_bins: int, ties: str, limits: tuple[float, float]) -> tuple[Partition, BoundaryGroups]:
        """Bins of equal shares of part 1, and the groups among all samples that hold a boundary, each once.

        Boundary j is the sample of rank ceil(j n / n_bins) of part 1; it lies above its edge.
        """
        inside = np.flatnonzero(self.part == 1)
        cut = inside[boundary_ranks(len(inside), n_bins, "ums") - 1]
        edge_keys = np.full(len(cut), KEY_ABOVE, np.uint64) if ties == "upper" else self.keys[cut]
        nothing = np.zeros((len(cut), 2), np.int64)
        held = np.unique(self.scores[cut])
        if self.own_keys:
            TieKeys(self.scores, self.labels, self.keys).gather(held).refuse_repeated(self.scores[cut], self.keys[cut])
        partition = divide(Seams(self.scores[cut], edge_keys, nothing, nothing), 0, 0, limits)
        return partition, groups_at(held, self.scores, self.labels)


def part_sizes(split: Any, n: int, n_bins: int, *, scales: bool) -> tuple[int, int]:
    """The sizes of part 0 and part 1 of n samples; part 0 is empty where nothing is to be scaled."""
    try:
        shares = [Fraction(share) for share in split]
    except (TypeError, ValueError, OverflowError) as error:
        raise InputTypeError(f"split must be three numbers, the relative sizes of the parts, got {split!r}") from error
    if len(shares) != 3 or min(shares) <= 0:
        raise InputError(f"split is {split!r}; it must be three positive numbers, the relative sizes of the parts")
    if not scales:
        shares[0] = Fraction(0)
    first, second = (math.floor(n * share / sum(shares)) for share in shares[:2])
    if second < n_bins or first + second >= n:
        raise InputError(
            f"{n} samples, split {split!r}, leave {second} to place the boundaries and {n - first - second} for the means; "
            f"these need at least n_bins={n_bins} and 1: take fewer bins or more samples"
        )
    return first, second


def split_in_three(rows: Rows, order: FitOrder, sizes: tuple[int, int]) -> ThreeParts:
    """The samples with the least split keys form part 0, the next part 1. O(n log n).

    Checks the values of scores and labels. The parts depend on which samples there are and the seed, not on where the rows
    stood: the keys are seeded by a digest of both.
    """
    scores = np.asarray(check_scores(rows.scores, rows.score_range), np.float64) + 0.0
    labels = check_labels(rows.labels)
    if rows.frequencies is not None:
        scores, labels = np.repeat(scores, rows.frequencies), np.repeat(labels, rows.frequencies)
    order = order.split_by(scores, labels)
    sequence, places, keys = order.sort(scores, labels)
    scores, labels = scores[sequence], labels[sequence]
    by_split_key = np.lexsort((places, scores, split_keys(order.seed, scores, places)))
    part = np.full(len(scores), 2, np.int8)
    part[by_split_key[: sizes[0] + sizes[1]]] = 1
    part[by_split_key[: sizes[0]]] = 0
    weights = None if order.weights is None else order.weights[sequence]
    return ThreeParts(scores, labels, keys, part, weights, order.keys is not None)
