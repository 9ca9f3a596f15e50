"""Exact intervals for the label sums of a batch of known size, of which a part drawn at random is labelled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s, Int64s
from fastbin.intervals.binomial import opened, tails_of

# Terms of the hypergeometric law further than so many standard deviations and steps from its mode are below 1e-200 of it.
DEVIATIONS, STEPS = 40.0, 100
# Sums of rounded terms may fall short of the tail by this share, so that an integer at the very limit counts as possible.
ROUNDING = 1e-9


def label_sums_of_batch(label_sums: Any, counts: Any, sizes: Any, levels: Any) -> Int64s:
    """int64 (n_bins, 2): the least and the most ones among `sizes` rows, of which `counts` were drawn at random and labelled.

    Both tails of the hypergeometric law are above half the level there, and each is monotone in the ones of all rows
    (fastbin, Theorem F25). Bisection: O(log rows) sums of at most 80 standard deviations.
    """
    columns = np.broadcast_arrays(label_sums, counts, sizes, levels)
    found = [_ends(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
    return np.array(found, np.int64).reshape(-1, 2)


def rates_of_batch(
    label_sums: Any, counts: Any, sizes: Any, levels: Any, *, side: str = "both", unlabelled: bool = False
) -> Float64s:
    """float64 (n_bins, 2): ends of the share of ones among all rows of a bin, or of those without a label; [0, 1] for none."""
    ones, rows = label_sums_of_batch(label_sums, counts, sizes, 2.0 * tails_of(levels, side)), np.asarray(sizes, np.int64)
    if unlabelled:
        ones, rows = ones - np.asarray(label_sums)[:, None], rows - np.asarray(counts)
    shares = ones / np.maximum(rows, 1)[:, None]
    return opened(np.where(rows[:, None] > 0, shares, [0.0, 1.0]), side)


def _ends(ones: int, count: int, size: int, level: float) -> tuple[int, int]:
    least, most, limit = ones, size - count + ones, (1.0 - ROUNDING) * level / 2.0
    low, high = least, most
    while low < high:  # the first at which so many ones or more are likely enough
        middle = (low + high) // 2
        low, high = (low, middle) if _tails(ones, count, size, middle)[0] > limit else (middle + 1, high)
    first, low, high = low, low, most
    while low < high:  # the last at which so many or fewer are
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _tails(ones, count, size, middle)[1] > limit else (low, middle - 1)
    return first, low


def _tails(ones: int, count: int, size: int, total: int) -> tuple[float, float]:
    """The chance of so many ones or more among `count` of `size` rows of which `total` are ones, and of so many or fewer.

    From ratios of neighbouring terms, so that no large logarithms cancel.
    """
    mode = (count + 1) * (total + 1) // (size + 2)
    deviation = math.sqrt(count * (total / size) * (1.0 - total / size)) if size else 0.0
    reach = math.ceil(DEVIATIONS * deviation) + STEPS
    first, last = max(0, count + total - size, mode - reach), min(count, total, mode + reach)
    if not first <= ones <= last:
        return (1.0, 0.0) if ones < first else (0.0, 1.0)
    k = np.arange(first, last, dtype=np.float64)
    steps = np.log((total - k) / (k + 1.0)) + np.log((count - k) / (size - total - count + k + 1.0))
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    terms = np.exp(logs - logs.max())
    at = ones - first
    return float(terms[at:].sum() / terms.sum()), float(terms[: at + 1].sum() / terms.sum())
