"""The map of a vector model: what is fitted, and how it is mixed."""

from __future__ import annotations

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s
from fastbin._core.fit import doubtful_moments, fit_affine, fit_factor, row_logs
from fastbin.vector_model import VectorMap

LEAST = 1e-6
STRENGTH = 8.0
OF_MODELS = 0.2
MOST_MIXED = 50


def fit_vector(
    matrix: Float64s, truth: Int64s, weights: Array | None, of_models: Float64s, *, keep_top: bool = False
) -> VectorMap:
    n, k = len(matrix), matrix.shape[1]
    w = None if weights is None else np.asarray(weights, np.float64)
    total = float(n if w is None else w.sum())
    z = row_logs(np.ascontiguousarray(matrix), LEAST)
    t = fit_factor(z, truth, 1e-3, weights=w)
    has_matrix = k <= MOST_MIXED
    centres, variances = doubtful_moments(z, truth, has_matrix, weights=w, base=t)
    if has_matrix:
        ridge = 2 * k * STRENGTH * variances
        np.fill_diagonal(ridge, STRENGTH * variances.diagonal())
    else:
        ridge = STRENGTH * variances
    d, c, steps = fit_affine(z, truth, centres, ridge, STRENGTH, weights=w, base=t)
    share = 1.0 - OF_MODELS
    if has_matrix:
        b = c - (d * centres).sum(1)
        mixing = np.ascontiguousarray(share * d)
        slopes = np.full(k, share * t)
    else:
        b = c - d * centres
        mixing, slopes = None, share * (t + d)
    counts = np.bincount(truth, w, k)
    priors = (counts + 1.0) / (counts.sum() + k)
    return VectorMap(OF_MODELS, 1.0 / (total + 1.0), LEAST, keep_top, slopes, share * b, priors, mixing)
