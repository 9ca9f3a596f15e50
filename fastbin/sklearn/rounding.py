"""Scores whose last digits do not matter.

A matrix product of a batch differs in its last bits from that of one row, so a classifier gives a row slightly different scores
in different company. Edges of bins stand at scores of the fit, and such a row would change its bin. Here a model is fitted to
scores that are rounded to a grid, and its edges are then moved half a step of the grid down: of all scores, rounded or not,
those lie above a moved edge that lie above the old one when they are rounded. So the model is exactly that of the rounded
scores, and takes scores as they are; of rows whose score stood at an edge, one in 1e5 may still change its bin.
"""

from __future__ import annotations

import numpy as np

from fastbin._base.array_types import Array, Float64s, UInt8s
from fastbin._fit.edges import rows_fingerprint
from fastbin.model import BinnedModel

# Bits of a rounded score. Sums of a classifier are exact to about 50; 36 still tell 1 - 1e-11 from 1.
BITS = 36


def rounded(scores: Array) -> Array:
    """The nearest numbers of `BITS` bits, of two equally near ones the larger; float32 has no more bits, and stays."""
    if scores.dtype == np.float32:
        return scores
    mantissas, exponents = np.frexp(np.asarray(scores, np.float64))
    return np.asarray(np.ldexp(np.floor(np.ldexp(mantissas, BITS) + 0.5), exponents - BITS))


def half_a_step_down(edges: Float64s) -> Float64s:
    """float64: the least numbers that `rounded` makes one of these, which are numbers of `BITS` bits; 0 stays."""
    mantissas, exponents = np.frexp(edges)
    steps = np.ldexp(1.0, exponents - BITS - (mantissas == 0.5))  # below a power of 2 they are half as long
    return np.asarray(np.where(edges == 0.0, 0.0, edges - steps / 2.0))


def has_movable_edges(model: BinnedModel) -> bool:
    """Whether a model is about scores at or above its edges, which stand at scores of the fit."""
    return model.kind == "step" and not np.any(model.edge_keys)


def with_moved_edges(model: BinnedModel, scores: Array, labels: Array, weights: Array | None) -> BinnedModel:
    """A model of rounded scores as one of scores as they are; `scores`, `labels` and `weights` are the rows of its fit."""
    moved = model._derived("CalibratedClassifier", edges=half_a_step_down(model.edges))
    ones: UInt8s = np.asarray(labels).astype(np.uint8)
    frequencies = weights if weights is not None and weights.dtype.kind == "i" else None
    return moved._replace(fingerprint=rows_fingerprint(moved, np.asarray(scores, np.float64), ones, frequencies))
