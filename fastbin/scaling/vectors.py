"""The map of a vector model: logarithms of a row, and those of each class against the rest, in one softmax.

Temperature scaling, vector scaling, a matrix and the maps of single classes are all affine in these logarithms, and so is a
mixture of them. It is fitted at once, by a likelihood with a ridge towards temperature scaling mixed with the maps of classes.
The ridge counts in rows that are in doubt, so that it draws alike on scores of any scale.

The constants were chosen on half of 54 matrices of scores, and confirmed on 24 others. The arithmetic stands in
csrc/fit/vector_maps.c; it gives the same bits on every processor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s, UInt64s
from fastbin._core.fit import doubtful_moments, fit_affine, fit_factor, row_logs
from fastbin.vector_model import LEAST_OF_MODELS, VectorMap

# The least probabilities that are tried: scores below it are as good as equal. Those above ALWAYS_TRIED only up to half a
# class's share.
LEAST_TRIED = (1e-15, 1e-12, 1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2)
ALWAYS_TRIED = 1e-3
# Entries by which the least is chosen: a choice from eleven needs no more, and more would take longer than the fit.
MOST_ENTRIES = 1_000_000
# Ridges, in rows.
FACTOR_ROWS, SLOPE_ROWS, INTERCEPT_ROWS = 0.25, 8.0, 8.0
MIXING_ROWS = 2.0  # times the number of classes
MOST_MIXED = 50  # classes of a matrix
SHARE_OF_MODELS = 0.25


class Affine(NamedTuple):
    """Exponents slopes z + intercepts + mixing z, before those of the models are added."""

    least: float
    slopes: Float64s
    intercepts: Float64s
    mixing: Float64s | None


def fit_vector(matrix: Float64s, truth: Int64s, weights: Array | None, of_models: Float64s, *, keep_top: bool) -> VectorMap:
    """The map for rows (n, k) of probabilities with their classes, without evidence; `of_models` are the values of the models.

    Weights that are floats are scaled to add up to the rows. O(n k) for each of some thirty passes; with a matrix O(n k**2).
    """
    n_rows = float(len(matrix))
    w = None if weights is None else np.asarray(weights, np.float64)
    if w is not None and weights is not None and weights.dtype.kind == "f":
        w = w * (n_rows / w.sum())
    elif w is not None:
        n_rows = float(w.sum())
    fitted = fit_affine_map(np.ascontiguousarray(matrix), truth, w, of_models)
    counts = np.bincount(truth, w, matrix.shape[1])
    return VectorMap(
        SHARE_OF_MODELS, 1.0 / (n_rows + 1.0), fitted.least, keep_top, fitted.slopes, fitted.intercepts,
        (counts + 1.0) / (n_rows + matrix.shape[1]), fitted.mixing,
    )  # fmt: skip


def fit_affine_map(matrix: Float64s, truth: Int64s, weights: Float64s | None, of_models: Float64s) -> Affine:
    """The part of the map that is affine in the logarithms of the row."""
    least = choose_least(matrix, truth, weights)
    z = row_logs(matrix, least)
    factor, _ = fit_factor(z, truth, FACTOR_ROWS, weights=weights)
    k, base = matrix.shape[1], (1.0 - SHARE_OF_MODELS) * factor
    offsets = SHARE_OF_MODELS * row_logs(of_models, LEAST_OF_MODELS)
    is_matrix = k <= MOST_MIXED
    centres, ridge = doubtful_moments(z, truth, is_matrix, weights=weights, offsets=offsets, base=base)
    if is_matrix:
        rows = np.full((k, k), MIXING_ROWS * k)
        np.fill_diagonal(rows, SLOPE_ROWS)
        ridge *= rows
    else:
        ridge *= SLOPE_ROWS
    found, constants, _ = fit_affine(z, truth, centres, ridge, INTERCEPT_ROWS, weights=weights, offsets=offsets, base=base)
    if not is_matrix:
        return Affine(least, base + found, constants - found * centres, None)
    mixing = found.copy()
    np.fill_diagonal(mixing, 0.0)
    return Affine(least, base + found.diagonal(), constants - (found * centres).sum(axis=1), mixing)


def choose_least(matrix: Float64s, truth: Int64s, weights: Float64s | None) -> float:
    """The least probability with which temperature scaling fits best; of equal ones the smallest."""
    some = rows_in_part(matrix, max(1, MOST_ENTRIES // matrix.shape[1]))
    part, classes, w = matrix[some], truth[some], None if weights is None else weights[some]
    tried = [least for least in LEAST_TRIED if least <= max(ALWAYS_TRIED, 0.5 / matrix.shape[1])]
    n_equal = int(np.searchsorted(tried, part.min(), "right"))  # so many leave the rows as they are
    tried = tried[:1] + tried[max(n_equal, 1) :]
    losses = [fit_factor(row_logs(part, least), classes, FACTOR_ROWS, weights=w)[1] for least in tried]
    return tried[int(np.argmin(losses))]


def rows_in_part(matrix: Float64s, most: int) -> Array | slice:
    """About `most` rows, the same in any order of rows and of columns: those whose bits have the least digests."""
    if len(matrix) <= most:
        return slice(None)
    bits: UInt64s = matrix.view(np.uint64).sum(axis=1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    digests = (bits ^ (bits >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.flatnonzero(digests <= np.partition(digests, most - 1)[most - 1])
