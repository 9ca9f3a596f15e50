"""The fit of a vector model in NumPy and SciPy: slow, and meant to be read.

Exponents slopes z + intercepts + mixing z + share log q, with z = log(max(p, least)), are fitted by a likelihood with a ridge.
Its strength is a number of rows that are in doubt: a row counts q (1 - q) for a class of probability q.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize, minimize_scalar

LEAST_TRIED = (1e-15, 1e-12, 1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2)
SHARE = 0.25  # of the logarithms of the models


class Fitted(NamedTuple):
    least: float
    slopes: Any
    intercepts: Any
    mixing: Any


def softmax(u: Any) -> Any:
    powers = np.exp(u - u.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def loss(u: Any, labels: Any, weights: Any) -> float:
    top = u.max(axis=1)
    logarithms = top + np.log(np.exp(u - top[:, None]).sum(axis=1))
    return float(weights @ (logarithms - u[np.arange(len(labels)), labels]))


def fit_factor(z: Any, labels: Any, weights: Any) -> tuple[float, float]:
    """The factor of least loss with a ridge of a quarter of a row, and that loss."""
    q = softmax(z)
    variance = weights @ ((q * z * z).sum(axis=1) - (q * z).sum(axis=1) ** 2)
    ridge = 0.25 * max(variance / max(weights @ (1.0 - (q * q).sum(axis=1)), 1e-6), 1e-6)
    found = minimize_scalar(
        lambda t: loss(t * z, labels, weights) + ridge * (t - 1.0) ** 2 / 2.0, bounds=(0.0, 50.0), method="bounded",
        options={"xatol": 1e-10},
    )  # fmt: skip
    return float(found.x), float(found.fun)


def moments(z: Any, q: Any, weights: Any) -> tuple[Any, Any]:
    """Means and variances (k, k) of the columns of z, over rows by how much each class is in doubt there."""
    doubts = weights[:, None] * (q * (1.0 - q) + 1e-6 / weights.sum())
    means = doubts.T @ z / doubts.sum(axis=0)[:, None]
    return means, np.maximum(doubts.T @ (z * z) / doubts.sum(axis=0)[:, None] - means**2, 1e-6)


def fit_affine_map(matrix: Any, labels: Any, weights: Any, of_models: Any) -> Fitted:
    """The part of the map that is affine in the logarithms of a row."""
    k = matrix.shape[1]
    tried = [least for least in LEAST_TRIED if least <= max(1e-3, 0.5 / k)]
    losses = [fit_factor(np.log(np.maximum(matrix, least)), labels, weights)[1] for least in tried]
    least = tried[int(np.argmin(losses))]
    z = np.log(np.maximum(matrix, least))
    base = (1.0 - SHARE) * fit_factor(z, labels, weights)[0]
    offsets = SHARE * np.log(np.maximum(of_models, 1e-12))
    means, variances = moments(z, softmax(base * z + offsets), weights)
    rows = np.full((k, k), 2.0 * k)
    np.fill_diagonal(rows, 8.0)
    free = np.ones((k, k), bool) if k <= 50 else np.eye(k, dtype=bool)
    one_hot = np.eye(k)[labels]

    def objective(parameters: Any) -> tuple[float, Any]:
        slopes, constants = parameters[: k * k].reshape(k, k) * free, parameters[k * k :]
        u = base * z + z @ slopes.T - (slopes * means).sum(axis=1) + constants + offsets
        off = weights[:, None] * (softmax(u) - one_hot)
        of_slopes = (off.T @ z - off.sum(axis=0)[:, None] * means + rows * variances * slopes) * free
        penalty = (rows * variances * slopes**2).sum() / 2.0 + 8.0 * constants @ constants / 2.0
        gradient = np.concatenate([of_slopes.ravel(), off.sum(axis=0) + 8.0 * constants])
        return loss(u, labels, weights) + float(penalty), gradient

    found = minimize(
        objective, np.zeros(k * k + k), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-14, "gtol": 1e-6}
    )
    slopes, constants = found.x[: k * k].reshape(k, k) * free, found.x[k * k :]
    intercepts = constants - (slopes * means).sum(axis=1)
    mixing = slopes - np.diag(slopes.diagonal()) if k <= 50 else None
    return Fitted(least, base + slopes.diagonal(), intercepts, mixing)
