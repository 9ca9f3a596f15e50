"""Predictions with labels and weights, checked, and their division into the groups that a diagnostic averages over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fastbin._errors import InputError
from fastbin._scalars import check_choice, check_count
from fastbin._validation import check_labels, check_same_length, check_sample_weight, check_scores
from fastbin.model import BinnedModel

__all__ = ["GROUPINGS", "Groups", "Samples", "check_samples", "group_samples"]

Float64s = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]

GROUPINGS = ("auto", "values", "uniform-mass", "fixed-width")
# Sums of counts are made in doubles, which hold integers up to here.
MAX_TOTAL = 2**53


@dataclass(frozen=True)
class Samples:
    """Checked rows; those of weight zero are gone.

    `weights` is int64 for frequencies, float64 for importance weights, None where every row counts once.
    """

    predictions: Float64s
    labels: npt.NDArray[np.uint8]
    weights: Int64s | Float64s | None

    @property
    def is_weighted(self) -> bool:
        """Whether the weights are importance weights, so that no count is binomial."""
        return self.weights is not None and self.weights.dtype == np.float64

    @property
    def frequencies(self) -> Int64s | None:
        """How often each row stands, or None for once."""
        return None if self.weights is None or self.is_weighted else self.weights.astype(np.int64, copy=False)

    @property
    def n_samples(self) -> int:
        """Rows, repetitions included."""
        return len(self.labels) if self.frequencies is None else int(self.frequencies.sum())

    @property
    def row_weights(self) -> Float64s:
        """The weights as doubles, 1 where there are none."""
        return np.ones(len(self.labels)) if self.weights is None else self.weights.astype(np.float64, copy=False)

    def mean(self, terms: Float64s) -> float:
        """The weighted mean over all rows."""
        return float(np.average(terms, weights=self.weights))


def check_samples(predictions: Any, labels: Any, sample_weight: Any = None, *, need_probabilities: bool = True) -> Samples:
    """The rows to assess: probabilities in [0, 1] (or, where only order counts, any finite scores), labels, weights. O(n).

    Raises
    ------
    InputError, InputTypeError
        Naming the argument, the first bad position, its value and the remedy; also where nothing is left to assess.
    """
    checked = check_scores(predictions, None, "predictions").astype(np.float64, copy=False)
    outside = (checked < 0.0) | (checked > 1.0)
    if need_probabilities and outside.any():
        first = int(np.argmax(outside))
        raise InputError(
            f"predictions[{first}] is {float(checked[first])!r}, outside [0, 1]; assess probabilities, such as those of predict"
        )
    ones, weights = check_labels(labels), check_sample_weight(sample_weight)
    check_same_length(predictions=checked, labels=ones, sample_weight=weights)
    if weights is not None:
        kept = weights > 0
        if not kept.all():
            checked, ones, weights = checked[kept], ones[kept], weights[kept]
    if len(ones) == 0:
        raise InputError("there is no sample" + (" of positive weight" if weights is not None else "") + " to assess")
    if weights is not None and weights.dtype == np.int64 and weights.sum(dtype=np.float64) >= MAX_TOTAL:
        raise InputError("sample_weight adds up to 2**53 or more; divide the frequencies by a constant")
    return Samples(checked, ones, weights)


@dataclass(frozen=True)
class Groups:
    """Which rows are averaged together.

    `bins` numbers the group of each row; `values` holds the prediction of each group where the grouping is by value, else None.
    Groups without a row exist only for fixed-width bins.
    """

    grouping: str
    bins: npt.NDArray[np.int32]
    edges: Float64s
    values: Float64s | None

    @property
    def n_bins(self) -> int:
        return len(self.edges) + 1

    def sums(self, terms: Any = None) -> Float64s:
        """The sum of `terms` (1 each for None) over each group."""
        return np.bincount(self.bins, terms, self.n_bins).astype(np.float64, copy=False)


def group_samples(samples: Samples, grouping: str, n_bins: int) -> Groups:
    """Groups of equal predictions, of equal mass or of equal width; "auto" decides as `reliability_table` says. O(n log n)."""
    check_choice(grouping, "grouping", GROUPINGS)
    n_bins = check_count(n_bins, "n_bins", maximum=2**24)
    predictions = samples.predictions
    if grouping in ("auto", "values"):
        values = np.unique(predictions)
        few = len(values) <= n_bins or 10 * len(values) <= samples.n_samples
        if grouping == "values" or few:
            return Groups("values", _assign(predictions, values[1:]), values[1:], values)
    if grouping == "fixed-width":
        edges = np.arange(1, n_bins) / n_bins
        return Groups("fixed-width", _assign(predictions, edges), edges, None)
    edges = _edges_of_equal_mass(samples, n_bins)
    return Groups("uniform-mass", _assign(predictions, edges), edges, None)


def _edges_of_equal_mass(samples: Samples, n_bins: int) -> Float64s:
    """The predictions at ranks ceil(b n / n_bins) + 1, so that untied bins differ by one sample at most; equal ones once."""
    predictions, frequencies = samples.predictions, samples.frequencies
    n = samples.n_samples
    ranks = -(-np.arange(1, min(n_bins, n), dtype=object) * n // min(n_bins, n))  # from 0; Python integers do not overflow
    if frequencies is None:
        places = ranks.astype(np.int64)
        edges = np.partition(predictions, np.unique(places))[places] if len(places) else np.empty(0)
    else:
        order = np.argsort(predictions, kind="stable")
        reached = np.cumsum(frequencies[order])
        edges = predictions[order][np.searchsorted(reached, ranks.astype(np.int64), side="right")]
    edges = np.unique(edges)
    return edges[edges > predictions.min()]


def _assign(predictions: Float64s, edges: Float64s) -> npt.NDArray[np.int32]:
    """The number of edges at or below each prediction, by the library's own search."""
    step = BinnedModel.from_parts(edges=edges, values=np.zeros(len(edges) + 1), score_range=None)
    return np.asarray(step.assign(predictions))
