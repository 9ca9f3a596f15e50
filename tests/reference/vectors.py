"""Rows of vector models by the definition in csrc/FORMAT.md, "The values of a row", in plain NumPy, one row after the other."""

from __future__ import annotations

from typing import Any

import numpy as np


def predict(vector: Any, models_values: Any, P: Any) -> np.ndarray:
    """The values of each row of P.

    `vector` has the members of a map as attributes; `models_values` (n, k) are what the models of the classes give to P.
    """
    values = [_one(vector, np.asarray(q, float), np.asarray(p, float)) for q, p in zip(models_values, P, strict=True)]
    return np.array(values).reshape(np.shape(P))


def _one(vector: Any, q: np.ndarray, p: np.ndarray) -> np.ndarray:
    z = np.log(np.maximum(p, vector.least))
    u = vector.slopes * z + vector.intercepts + vector.of_models * np.log(np.maximum(q, 1e-12))
    if vector.mixing is not None:
        u = u + vector.mixing @ z
    e = np.exp(u - u.max())
    v = (1.0 - vector.of_priors) * e / e.sum() + vector.of_priors * vector.priors
    return lowered(v, int(np.argmax(p))) if vector.keep_top else v


def lowered(v: np.ndarray, top: int) -> np.ndarray:
    """The entries above that of the top column are lowered to what all of them, and it, have in common at the end.

    The level is the largest mean of the top entry and of some of the others, the highest first.
    """
    others = np.sort(np.delete(v, top))[::-1]
    means = (v[top] + np.cumsum(others)) / np.arange(2, len(v) + 1)
    level = max(float(v[top]), float(means.max()))
    result = np.minimum(v, np.nextafter(level, 0.0))
    result[top] = level
    return result
