"""Counts and label sums of bins, checked, and intervals around their means."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastbin._errors import InputError, InputTypeError
from fastbin._typing import Float64s, Int64s

# Above it doubles do not represent every integer.
MOST_SAMPLES = 2**53


def _as_counts(values: Any, name: str) -> Int64s:
    array = np.atleast_1d(np.asarray(values))
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputTypeError(f"{name} must be integers, one per bin; got dtype {array.dtype} and shape {array.shape}")
    if array.dtype == np.uint64 and array.size and int(array.max()) > MOST_SAMPLES:
        first = int(np.argmax(array > MOST_SAMPLES))
        raise InputError(f"{name}[{first}] is {array[first]}; above 2**53 = {MOST_SAMPLES} no interval is computed")
    return array.astype(np.int64, copy=False)


def as_tally(label_sums: Any, counts: Any) -> tuple[Int64s, Int64s]:
    """`label_sums` and `counts` as int64 of one length, with 0 <= label_sums <= counts <= 2**53. O(n_bins)."""
    sums, sizes = _as_counts(label_sums, "label_sums"), _as_counts(counts, "counts")
    if sums.shape != sizes.shape:
        raise InputError(
            f"lengths differ: label_sums has {sums.shape[0]}, counts has {sizes.shape[0]}; every bin needs one of each"
        )
    large = sizes > MOST_SAMPLES
    if large.any():
        first = int(np.argmax(large))
        raise InputError(
            f"counts[{first}] is {sizes[first]}; above 2**53 = {MOST_SAMPLES} doubles do not represent every count, "
            "and no interval is computed"
        )
    bad = (sums < 0) | (sums > sizes)
    if bad.any():
        first = int(np.argmax(bad))
        raise InputError(
            f"label_sums[{first}] is {sums[first]} and counts[{first}] is {sizes[first]}; "
            "a bin's label sum counts its samples with label 1, so it lies between 0 and the count"
        )
    return sums, sizes


def around(centres: Float64s, radii: Float64s | float) -> Float64s:
    """The intervals centre +- radius, cut to [0, 1]: a frequency lies there whatever the data say. Shape (n_bins, 2)."""
    return np.stack([np.clip(centres - radii, 0.0, 1.0), np.clip(centres + radii, 0.0, 1.0)], axis=1)
