"""Rows to be fitted, as the chunks that the kernels take.

A chunk is contiguous float64 scores, uint8 labels and int64 frequencies. Arrays that are so already are passed through
without a copy; anything else (float32, strides, bool or int64 labels, ...) is converted block by block, so that a fit never
holds a second copy of its data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastbin._errors import InputError
from fastbin._validation import (
    ScoreRange,
    as_key_array,
    as_labels,
    as_scores,
    check_same_length,
    check_sample_weight,
    refuse_labels,
    refuse_scores,
)

__all__ = ["Chunk", "Rows", "check_rows", "check_tie_keys"]

BLOCK = 65536
NO_WEIGHTS = np.empty(0, np.int64)


class Chunk(NamedTuple):
    """Some rows, in the layout of the kernels."""

    scores: npt.NDArray[np.float64]
    labels: npt.NDArray[np.uint8]
    weights: npt.NDArray[np.int64]  # empty: a frequency of 1 each


@dataclass(frozen=True)
class Rows:
    """The arrays given to `fit`, with their types and lengths checked and their values not yet.

    Parameters
    ----------
    scores : float32 or float64 (n,), any stride
    labels : bool, integer or float (n,), any stride
    frequencies : int64 (n,) or None
    score_range : (low, high) or None
    first_row : int
        Where these rows start in the data that error messages speak of.
    """

    scores: npt.NDArray[Any]
    labels: npt.NDArray[Any]
    frequencies: npt.NDArray[np.int64] | None
    score_range: ScoreRange
    first_row: int = 0

    def __len__(self) -> int:
        return int(self.scores.shape[0])

    @property
    def weighted(self) -> bool:
        return self.frequencies is not None

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the greatest score allowed."""
        return self.score_range if self.score_range is not None else (-np.finfo(np.float64).max, np.finfo(np.float64).max)

    def part(self, fork: int, n_forks: int) -> Rows:
        """One of `n_forks` contiguous parts, as views."""
        n = len(self)
        span = slice(n * fork // n_forks, n * (fork + 1) // n_forks)
        frequencies = None if self.frequencies is None else self.frequencies[span]
        return Rows(self.scores[span], self.labels[span], frequencies, self.score_range)

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
    def _label_block(labels: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
        """uint8 labels; what is neither 0 nor 1 becomes 2, which the kernels report."""
        if labels.dtype == np.uint8:
            return np.ascontiguousarray(labels)
        converted = (labels == 1).astype(np.uint8)
        bad = (labels != 1) & (labels != 0)
        if bad.any():
            converted[bad] = 2
        return converted

    def sample(self, size: int) -> npt.NDArray[np.float64]:
        """About `size` scores, evenly spaced by position."""
        step = max(1, len(self) // size)
        return np.ascontiguousarray(self.scores[::step], np.float64)

    def refuse(self, bad_scores: bool) -> None:
        """Raise for the first bad score or label: a kernel saw one."""
        if bad_scores:
            refuse_scores(self.scores, self.score_range, first_row=self.first_row)
        refuse_labels(self.labels, first_row=self.first_row)

    def expanded_size(self) -> int:
        """The number of samples: rows, or the sum of their frequencies."""
        if self.frequencies is None:
            return len(self)
        total = sum(int(block.sum()) for block in np.array_split(self.frequencies, max(1, len(self) // BLOCK)))
        if total >= 2**62 or (self.frequencies.size and float(self.frequencies.sum(dtype=np.float64)) > 2.0**62):
            raise InputError("sample_weight adds up to more than 2**62 samples, which cannot be counted")
        return total


def check_rows(
    scores: Any, labels: Any, sample_weight: Any, score_range: ScoreRange, first_row: int = 0
) -> tuple[Rows, npt.NDArray[np.float64] | None]:
    """What was given to `fit` as rows, and the importance weights if there are any (frequencies are part of the rows).

    Checks types, lengths and weights; the values of scores and labels are left to the passes over them.
    """
    score_array, label_array = as_scores(scores, first_row=first_row), as_labels(labels, first_row=first_row)
    weights = check_sample_weight(sample_weight, first_row=first_row)
    if check_same_length(scores=score_array, labels=label_array, sample_weight=weights) == 0:
        raise InputError("scores is empty; a calibrator needs samples")
    if weights is not None and weights.dtype == np.int64:
        return Rows(score_array, label_array, weights, score_range, first_row), None
    return Rows(score_array, label_array, None, score_range, first_row), weights


def check_tie_keys(tie_keys: Any, rows: Rows) -> npt.NDArray[np.uint64] | None:
    """The caller's keys, one per row; ``None`` where there are none."""
    if tie_keys is None:
        return None
    keys = as_key_array(tie_keys, len(rows), "tie_keys")
    if rows.weighted:
        raise InputError("tie_keys gives one key per row, but sample_weight repeats rows; repeat the rows, each with its key")
    return keys
