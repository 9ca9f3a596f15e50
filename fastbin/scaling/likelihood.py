"""The exact likelihood of a logistic map in up to three parameters, and its maximum.

SciPy's L-BFGS-B gets near the maximum under bounds, on features brought to a common scale; Newton steps then go on
until the gradient shrinks no more, so that parameters are good to about the last digits that the data determine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fastbin._errors import InputError

__all__ = ["maximise"]

Float64s = npt.NDArray[np.float64]

# The gradient of the mean loss, on features of unit size, at which a maximum counts as found. Rounding leaves about 1e-15.
GRADIENT_ENOUGH = 1e-9
# What rounding may change in the exponent of a sample when the map is written without the centring and scaling of the fit.
EXPONENT_SLACK = 1e-6


class _Problem(NamedTuple):
    """Mean logistic loss sum w (log(1 + exp z) - t z) / sum w of z = columns @ theta."""

    columns: Float64s  # (m, k)
    targets: Float64s
    shares: Float64s  # weights that sum to 1
    lower: Float64s

    def loss_and_gradient(self, theta: Float64s) -> tuple[float, Float64s]:
        z = self.columns @ theta
        loss = self.shares @ (np.logaddexp(0.0, z) - self.targets * z)
        return float(loss), self.columns.T @ (self.shares * (_logistic(z) - self.targets))

    def hessian(self, theta: Float64s) -> Float64s:
        z = self.columns @ theta
        return np.asarray((self.columns * (self.shares * _logistic(z) * _logistic(-z))[:, None]).T @ self.columns)


def maximise(
    features: list[Float64s], targets: Float64s, weights: Float64s, *, intercept: bool, increasing: bool
) -> tuple[Float64s, float]:
    """The slopes and the intercept of the most likely map 1 / (1 + exp(-(sum slope feature + intercept))).

    Parameters
    ----------
    features : list of float64 (m,)
        Finite, none constant.
    targets : float64 (m,)
        In [0, 1]; a maximum must exist, which is the caller's to see.
    weights : float64 (m,)
        Positive.
    intercept : bool
        Whether there is an intercept, or it is 0.
    increasing : bool
        Whether slopes are kept from being negative.

    Returns
    -------
    slopes : float64
    intercept : float

    Raises
    ------
    InputError
        If the map is too steep to be evaluated in double precision, or no maximum was found.
    """
    shares = weights / weights.max()  # first, so that the sum cannot overflow
    shares = shares / shares.sum()
    table = np.stack(features, axis=1)
    scaled, centres, scales = _standardise(table, shares, centre=intercept)
    columns = np.column_stack([scaled, np.ones(len(targets))]) if intercept else scaled
    lower = np.full(columns.shape[1], -np.inf)
    if increasing:
        lower[: len(features)] = 0.0
    problem = _Problem(columns, targets, shares, lower)
    theta = _polish(problem, _approach(problem))
    with np.errstate(over="ignore", invalid="ignore"):
        slopes = theta[: len(features)] / scales
        constant = float(theta[-1] - slopes @ centres) if intercept else 0.0
        drift = table @ slopes + constant - columns @ theta
    if not (np.abs(drift) <= EXPONENT_SLACK).all():  # also where it is NaN
        raise InputError(
            f"scores differ so little beside their size that the most likely map, of slope {slopes[0]:.3g}, cannot be "
            "evaluated in double precision; subtract a constant from all scores, or scale them, first"
        )
    return slopes, constant


def _standardise(table: Float64s, shares: Float64s, *, centre: bool) -> tuple[Float64s, Float64s, Float64s]:
    """Columns of mean square 1 (about their mean, or about 0), with the means and scales taken off."""
    # Powers of two first, so that no sum or difference of the greatest doubles overflows.
    exponents = np.frexp(np.abs(table).max(axis=0))[1]
    table = np.ldexp(table, -exponents)
    centres = shares @ table if centre else np.zeros(table.shape[1])
    table = table - centres
    greatest = np.abs(table).max(axis=0)
    table = table / greatest
    sizes = np.sqrt(shares @ (table * table))
    with np.errstate(over="ignore", under="ignore"):
        return table / sizes, np.ldexp(centres, exponents), np.ldexp(greatest * sizes, exponents)


def _approach(problem: _Problem) -> Float64s:
    from scipy.optimize import minimize

    found = minimize(
        problem.loss_and_gradient,
        np.zeros(problem.columns.shape[1]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(None if low == -np.inf else low, None) for low in problem.lower],
        options={"maxiter": 1000, "maxfun": 5000, "ftol": 1e-14, "gtol": 1e-8},
    )
    return np.asarray(found.x, np.float64)


def _polish(problem: _Problem, theta: Float64s) -> Float64s:
    """Newton steps among the coordinates that are not held at their bound, for as long as the gradient shrinks."""
    best, least = theta, np.inf
    while True:
        _, gradient = problem.loss_and_gradient(theta)
        free = (theta > problem.lower) | (gradient < 0.0)
        size = float(np.abs(gradient[free]).max(initial=0.0))
        if not size < least:
            break
        best, least = theta, size
        step = np.linalg.lstsq(problem.hessian(theta)[np.ix_(free, free)], -gradient[free], rcond=None)[0]
        theta = theta.copy()
        theta[free] = np.maximum(theta[free] + step, problem.lower[free])
    if least > GRADIENT_ENOUGH:
        raise InputError(
            f"the likelihood was not maximised (gradient {least:.1e}); scores or weights of such different sizes leave no "
            "map well determined: use isotonic regression or binning, which need no scale"
        )
    return best


def _logistic(z: Float64s) -> Float64s:
    """1 / (1 + exp(-z)) without overflow, and without loss where it is near 0."""
    small = np.exp(-np.abs(z))
    return np.where(z >= 0.0, 1.0, small) / (1.0 + small)
