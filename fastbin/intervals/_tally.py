"""Counts, label sums, weighted sums and weighted samples of bins, checked, as intervals take them; intervals around means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Bools, Float64s, Int64s, UInt8s
from fastbin._base.checks import check_count, check_labels, check_same_length, check_sample_weight, refuse_first
from fastbin._base.errors import InputError, InputTypeError
from fastbin._base.frames import check_same_index

# Above it doubles do not represent every integer.
MOST_SAMPLES = 2**53


def as_counts(values: Any, name: str) -> Int64s:
    """Integers, one per bin, as int64; at most 2**53."""
    array = np.atleast_1d(np.asarray(values))
    if array.ndim != 1 or array.dtype.kind not in "iu":
        problem = f"must be integers, one per bin; got dtype {array.dtype} and shape {array.shape}"
        raise InputTypeError(problem, argument=name)
    remedy = f"above 2**53 = {MOST_SAMPLES} doubles do not represent every count, and no interval is computed"
    refuse_first(array > MOST_SAMPLES, name, array, remedy)
    return array.astype(np.int64, copy=False)


def as_sums(values: Any, name: str, shape: tuple[int, ...] | None = None) -> Float64s:
    """Sums of numbers that are not negative, one per bin; of this shape, where one is given."""
    array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if array.ndim != 1 or (shape is not None and array.shape != shape):
        bins = "" if shape is None else f" for {shape[0]} bins"
        raise InputError(f"has shape {array.shape}{bins}", "every bin needs one", argument=name)
    bad = ~((array >= 0.0) & np.isfinite(array))
    refuse_first(bad, name, array, "it must be finite and not negative")
    return array


class BinTally(NamedTuple):
    """The tally of the bins; where a bin is empty, it has a harmless size and mean."""

    sums: Int64s
    counts: Int64s
    filled: Int64s  # the counts, 1 for an empty bin
    means: Float64s


def as_tally(label_sums: Any, counts: Any) -> BinTally:
    """`label_sums` and `counts` as int64 of one length, with 0 <= label_sums <= counts <= 2**53. O(n_bins)."""
    sizes, sums = as_counts(counts, "counts"), as_counts(label_sums, "label_sums")
    if sums.shape != sizes.shape:
        remedy = "every bin needs one of each"
        raise InputError(f"lengths differ: label_sums has {sums.shape[0]}, counts has {sizes.shape[0]}", remedy)
    remedy = "a bin's label sum counts its samples with label 1, so it lies between 0 and the count"
    bad = (sums < 0) | (sums > sizes)
    refuse_first(bad, "label_sums", sums, remedy, lambda b: f"is {sums[b]} and counts[{b}] is {sizes[b]}")
    filled = np.maximum(sizes, 1)
    return BinTally(sums, sizes, filled, sums / filled)


def around(centres: Float64s, radii: Float64s | float) -> Float64s:
    """The intervals centre +- radius, cut to [0, 1]: a frequency lies there whatever the data say. Shape (n_bins, 2)."""
    return np.stack([np.clip(centres - radii, 0.0, 1.0), np.clip(centres + radii, 0.0, 1.0)], axis=1)


class WeighedRows:
    """Weighted samples, checked: relative weights w / weight_bound in [0, 1], labels, and which bin each is in."""

    def __init__(self, weights: Any, labels: Any, weight_bound: Any, bins: Any, n_bins: int | None) -> None:
        check_same_index(weights=weights, labels=labels, bins=bins)
        checked = check_sample_weight(weights, "weights")
        if checked is None:
            raise InputError("is None", "without weights use clopper_pearson", argument="weights")
        self.weights = checked.astype(np.float64)
        self.labels = check_labels(labels)
        self.bins = np.zeros(self.labels.shape[0], dtype=np.int64) if bins is None else np.asarray(bins)
        check_same_length(weights=self.weights, labels=self.labels, bins=self.bins)
        if self.bins.dtype.kind not in "iu":
            raise InputTypeError(f"has dtype {self.bins.dtype}", "bin numbers are integers from 0", argument="bins")
        self.n_bins = check_count(n_bins, "n_bins") if n_bins is not None else 1 + int(self.bins.max(initial=0))
        remedy = f"with n_bins={self.n_bins} it must be from 0 to {self.n_bins - 1}"
        refuse_first((self.bins < 0) | (self.bins >= self.n_bins), "bins", self.bins, remedy)
        self.counts: Int64s = np.bincount(self.bins, minlength=self.n_bins)
        self.bounds = positive_per_bin(weight_bound, self.n_bins, "weight_bound")
        bounds, remedy = self.bounds[self.bins], "the bound must hold in the whole population"
        refuse_first(
            self.weights > bounds, "weights", self.weights, remedy,
            lambda i: f"is {self.weights[i]}, above the weight_bound {bounds[i]} of its bin",
        )  # fmt: skip

    def sums(self, values: Float64s) -> Float64s:
        """The sum of `values` over each bin."""
        return np.bincount(self.bins, weights=values, minlength=self.n_bins).astype(np.float64, copy=False)

    def per_bin(self) -> Iterator[tuple[Float64s, UInt8s]]:
        """Relative weights and labels bin by bin, in order of weight, then label: whatever order the rows were in."""
        order = np.lexsort((self.labels, self.weights, self.bins))
        ends = np.cumsum(self.counts)[:-1]
        relative = (self.weights / self.bounds[self.bins])[order]
        yield from zip(np.split(relative, ends), np.split(self.labels[order], ends), strict=True)


def positive_per_bin(values: Any, n_bins: int, name: str) -> Float64s:
    """One number, or one per bin, as one per bin; positive and finite."""
    try:
        bounds = np.broadcast_to(np.asarray(values, dtype=np.float64), (n_bins,))
    except ValueError as error:
        raise InputError(f"must be one number or one for each of the {n_bins} bins: {error}", argument=name) from error
    bad = bounds[~((bounds > 0.0) & np.isfinite(bounds))]
    if len(bad):
        remedy = "it must be positive and finite, one number or one per bin"
        raise InputError(None, remedy, argument=name, value=float(bad[0]))
    return bounds


def weighted_means(weighted_label_sums: Any, weight_sums: Any, counts: Any) -> tuple[Float64s, Float64s, Float64s, Bools]:
    """Means sum wY / sum w, mean weights, counts, and which bins have any weight; harmless numbers in those that do not."""
    totals = as_sums(weight_sums, "weight_sums")
    ones = as_sums(weighted_label_sums, "weighted_label_sums", totals.shape)
    sizes = as_sums(counts, "counts", totals.shape)
    known = (totals > 0.0) & (sizes > 0.0)
    means = np.clip(np.where(known, ones / np.where(known, totals, 1.0), 0.5), 0.0, 1.0)
    filled = np.where(known, sizes, 1.0)
    return means, np.where(known, totals / filled, 1.0), filled, known


def last_rejected(rejects: Callable[[Float64s], Bools], shape: int | tuple[()]) -> Float64s:
    """Elementwise the largest theta in [0, 1] that is rejected, where all below it are too, by bisection to 2^-46."""
    low, high = np.zeros(shape), np.ones(shape)
    for _ in range(46):
        middle = (low + high) / 2.0
        rejected = rejects(middle)
        low, high = np.where(rejected, middle, low), np.where(rejected, high, middle)
    return low
