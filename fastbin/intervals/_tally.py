"""Counts and label sums of bins, checked, and intervals around their means."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastbin._errors import InputError, InputTypeError
from fastbin._typing import Float64s, Int64s
from fastbin._validation import refuse_first

# Above it doubles do not represent every integer.
MOST_SAMPLES = 2**53


def as_counts(values: Any, name: str) -> Int64s:
    """Integers, one per bin, as int64; at most 2**53."""
    array = np.atleast_1d(np.asarray(values))
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputTypeError(f"{name} must be integers, one per bin; got dtype {array.dtype} and shape {array.shape}")
    refuse_first(
        array > MOST_SAMPLES,
        lambda b: (
            f"{name}[{b}] is {array[b]}; above 2**53 = {MOST_SAMPLES} doubles do not represent every count, and no interval is "
            "computed"
        ),
    )
    return array.astype(np.int64, copy=False)


def as_sums(values: Any, name: str, shape: tuple[int, ...] | None = None) -> Float64s:
    """Sums of numbers that are not negative, one per bin; of this shape, where one is given."""
    array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if array.ndim != 1 or (shape is not None and array.shape != shape):
        bins = "" if shape is None else f" for {shape[0]} bins"
        raise InputError(f"{name} has shape {array.shape}{bins}; every bin needs one")
    bad = ~((array >= 0.0) & np.isfinite(array))
    refuse_first(bad, lambda b: f"{name}[{b}] is {array[b]}; it must be finite and not negative")
    return array


def as_tally(label_sums: Any, counts: Any) -> tuple[Int64s, Int64s]:
    """`label_sums` and `counts` as int64 of one length, with 0 <= label_sums <= counts <= 2**53. O(n_bins)."""
    sizes, sums = as_counts(counts, "counts"), as_counts(label_sums, "label_sums")
    if sums.shape != sizes.shape:
        raise InputError(
            f"lengths differ: label_sums has {sums.shape[0]}, counts has {sizes.shape[0]}; every bin needs one of each"
        )
    refuse_first(
        (sums < 0) | (sums > sizes),
        lambda b: (
            f"label_sums[{b}] is {sums[b]} and counts[{b}] is {sizes[b]}; "
            "a bin's label sum counts its samples with label 1, so it lies between 0 and the count"
        ),
    )
    return sums, sizes


def around(centres: Float64s, radii: Float64s | float) -> Float64s:
    """The intervals centre +- radius, cut to [0, 1]: a frequency lies there whatever the data say. Shape (n_bins, 2)."""
    return np.stack([np.clip(centres - radii, 0.0, 1.0), np.clip(centres + radii, 0.0, 1.0)], axis=1)
