"""From a batch of rows to what was known after each of them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

__all__ = ["after_each", "first_at_least", "log_mean", "running_tally"]

Float64s = npt.NDArray[np.float64]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]


def running_tally(bins: Int32s, labels: Int64s, counts: Int64s, ones: Int64s) -> tuple[Int64s, Int64s]:
    """Count and label sum of its own bin after each row. `counts` and `ones` come from before the first and are moved on."""
    order = np.argsort(bins, kind="stable")
    grouped = bins[order]
    starts = np.searchsorted(grouped, grouped)  # of the row's group
    sums = np.concatenate([[0], np.cumsum(labels[order])])
    own_counts, own_ones = np.empty_like(labels), np.empty_like(labels)
    own_counts[order] = counts[grouped] + np.arange(1, bins.size + 1) - starts
    own_ones[order] = ones[grouped] + sums[1:] - sums[starts]
    counts += np.bincount(bins, minlength=counts.size)
    ones += np.bincount(bins[labels == 1], minlength=ones.size)
    return own_counts, own_ones


def after_each(bins: Int32s, log_e: Float64s, before: Float64s) -> Float64s:
    """Every bin's evidence after each row, (rows, n_bins): that of its latest row, or `before`."""
    rows = np.arange(bins.size)
    latest = np.full((bins.size, before.size), -1)
    latest[rows, bins] = rows
    np.maximum.accumulate(latest, axis=0, out=latest)
    return np.where(latest >= 0, log_e[latest], before)


def log_mean(log_e: Float64s) -> Float64s:
    """ln of the mean e-value of each row of a table of logarithms. Depends on the row alone, to the last bit."""
    top = log_e.max(axis=1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(over="ignore"):
        total = np.exp(log_e - top).sum(axis=1)
    return np.log(total) + top[:, 0] - math.log(log_e.shape[1])


def first_at_least(values: Float64s, limit: float, first: int) -> int:
    """The number of the first row whose value reaches the limit, 0 if none does; the rows are numbered from first + 1."""
    reached = values >= limit
    return first + int(np.argmax(reached)) + 1 if reached.any() else 0
