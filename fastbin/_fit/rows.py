"""Rows to be fitted, as the chunks that the kernels take.

A chunk is contiguous float64 scores, uint8 labels and int64 frequencies. Arrays that are so already are passed through
without a copy; anything else (float32, strides, bool or int64 labels, ...) is converted block by block, so that a fit never
holds a second copy of its data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np

from fastbin._errors import InputError
from fastbin._typing import Array, Float64s, Int64s, UInt8s, UInt64s
from fastbin._validation import (
    ScoreRange,
    as_key_array,
    as_labels,
    as_scores,
    check_labels,
    check_same_length,
    check_sample_weight,
    check_scores,
    compare_labels,
    refuse_labels,
    refuse_scores,
)

BLOCK = 65536
NO_WEIGHTS = np.empty(0, np.int64)


GREATEST = float(np.finfo(np.float64).max)


def limits_of(score_range: ScoreRange) -> tuple[float, float]:
    """The least and the greatest score of a range; all finite ones for None."""
    return (-GREATEST, GREATEST) if score_range is None else score_range


class Chunk(NamedTuple):
    """Some rows, in the layout of the kernels."""

    scores: Float64s
    labels: UInt8s
    weights: Int64s  # empty: a frequency of 1 each


@dataclass(slots=True)
class Rows:
    """The arrays given to `fit`, with their types and lengths checked and their values not yet.

    Parameters
    ----------
    scores : float32 or float64 (n,), any stride
    labels : bool, integer or float (n,), any stride
    frequencies : int64 (n,) or None
        How often each row stands.
    score_range : (low, high) or None
    weights : float64 (n,) or None
        Importance weights.
    keys : uint64 (n,) or None
        Keys that the caller brought to order equal scores.
    first_row : int
        Where these rows start in the data that error messages count.
    """

    scores: Array
    labels: Array
    frequencies: Int64s | None
    score_range: ScoreRange
    weights: Float64s | None = None
    keys: UInt64s | None = None
    first_row: int = 0

    def __len__(self) -> int:
        return int(self.scores.shape[0])

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the greatest score allowed."""
        return limits_of(self.score_range)

    def take(self, chosen: Any) -> Rows:
        """Some of the rows: a slice gives views."""
        columns = (None if column is None else column[chosen] for column in (self.frequencies, self.weights, self.keys))
        frequencies, weights, keys = columns
        return Rows(self.scores[chosen], self.labels[chosen], frequencies, self.score_range, weights, keys)

    def part(self, fork: int, n_forks: int) -> Rows:
        """One of `n_forks` contiguous parts, as views."""
        n = len(self)
        return self.take(slice(n * fork // n_forks, n * (fork + 1) // n_forks))

    def chunks(self) -> Iterator[Chunk]:
        """All rows in order."""
        scores, labels = self.scores, self.labels
        if labels.dtype == np.bool_:
            labels = labels.view(np.uint8) if labels.flags.c_contiguous else labels.astype(np.uint8)
        frequencies = NO_WEIGHTS if self.frequencies is None else self.frequencies
        ready = (
            scores.dtype == np.float64 and scores.flags.c_contiguous and scores.flags.aligned and scores.dtype.isnative
            and labels.dtype == np.uint8 and labels.flags.c_contiguous
            and (frequencies.size == 0 or (frequencies.dtype == np.int64 and frequencies.flags.c_contiguous))
        )  # fmt: skip
        if ready:
            yield Chunk(scores, labels, frequencies)
            return
        for start in range(0, len(self), BLOCK):
            span = slice(start, start + BLOCK)
            yield Chunk(
                np.ascontiguousarray(scores[span], np.float64),
                self._label_block(labels[span]),
                frequencies if frequencies.size == 0 else np.ascontiguousarray(frequencies[span], np.int64),
            )

    @staticmethod
    def _label_block(labels: Array) -> UInt8s:
        """uint8 labels; what is neither 0 nor 1 becomes 2, which the kernels report."""
        if labels.dtype == np.uint8:
            return np.ascontiguousarray(labels)
        converted = (labels == 1).astype(np.uint8)
        bad = (labels != 1) & (labels != 0)
        if bad.any():
            converted[bad] = 2
        return converted

    def blocks(self, size: int = BLOCK) -> Iterator[tuple[int, Chunk]]:
        """All rows in order, a block at a time, each with the position of its first row. Refuses bad labels."""
        start = 0
        for chunk in self.chunks():
            for first in range(0, len(chunk.scores), size):
                span = slice(first, first + size)
                block = Chunk(chunk.scores[span], chunk.labels[span], chunk.weights[span])
                if block.labels.max(initial=0) > 1:
                    self.refuse(bad_scores=False)
                yield start, block
                start += len(block.scores)

    def checked(self) -> tuple[Float64s, UInt8s]:
        """All scores (-0.0 as 0.0) and labels, their values checked. O(n)."""
        scores = check_scores(self.scores, self.score_range).astype(np.float64, copy=False) + 0.0
        return scores, check_labels(self.labels)

    def sample(self, size: int) -> Float64s:
        """About `size` scores, evenly spaced by position."""
        step = max(1, len(self) // size)
        return np.ascontiguousarray(self.scores[::step], np.float64)

    def refuse(self, bad_scores: bool) -> NoReturn:
        """Raise for the first bad score or label: a kernel saw one."""
        if bad_scores:
            refuse_scores(self.scores, self.score_range, first_row=self.first_row)
        refuse_labels(self.labels, first_row=self.first_row)

    def n_samples(self) -> int:
        """The number of rows, or the sum of their frequencies."""
        if self.frequencies is None:
            return len(self)
        total = sum(int(block.sum()) for block in np.array_split(self.frequencies, max(1, len(self) // BLOCK)))
        if total >= 2**62 or (self.frequencies.size and float(self.frequencies.sum(dtype=np.float64)) > 2.0**62):
            raise InputError("sample_weight adds up to more than 2**62 samples, which cannot be counted")
        return total


def require_samples(n_samples: int, n_bins: int, scheme: str) -> None:
    """Refuse fewer samples than the bins of a scheme need."""
    needed, reason = {
        "umb": (n_bins, "one per bin"),
        "ums": (n_bins + 1, "one per bin in the first part and one in the second"),
    }.get(scheme, (2 * n_bins - 1, "2 n_bins - 1, so that no bin is empty"))
    if n_samples < needed:
        raise InputError(
            f"{n_samples} samples are too few for n_bins={n_bins} under scheme {scheme!r}, which needs at least {needed} "
            f"({reason}); take fewer bins or more samples"
        )


def check_rows(
    scores: Any,
    labels: Any,
    sample_weight: Any,
    score_range: ScoreRange,
    keys: Any = None,
    *,
    positive: Any = None,
    first_row: int = 0,
) -> Rows:
    """What was given to `fit`: integer weights are frequencies, others importance weights.

    Checks types, lengths, weights and keys; the values of scores and labels are left to the passes over them.
    """
    score_array = as_scores(scores, first_row=first_row)
    label_array = as_labels(compare_labels(labels, positive), first_row=first_row)
    weights = check_sample_weight(sample_weight, first_row=first_row)
    if check_same_length(scores=score_array, labels=label_array, sample_weight=weights) == 0:
        raise InputError("scores is empty; a calibrator needs samples")
    key_array = None if keys is None else as_key_array(keys, len(score_array), to_order=True)
    if weights is None or weights.dtype != np.int64:
        return Rows(score_array, label_array, None, score_range, weights, key_array, first_row)
    if keys is not None:
        raise InputError("keys gives one key per row, but sample_weight repeats rows; repeat the rows, each with its key")
    return Rows(score_array, label_array, weights, score_range, first_row=first_row)
