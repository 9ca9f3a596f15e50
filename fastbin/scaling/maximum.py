"""The most likely logistic map.

SciPy's truncated Newton method gets near the maximum under bounds, on features brought to a common scale; full Newton steps
then go on until they gain nothing, so that parameters are good to about the last digits that the data determine. (L-BFGS-B
takes LAPACK's threads for matrices of three rows: 25 times slower on a busy machine.)
"""

from __future__ import annotations

import numpy as np

from fastbin._dependencies import needed_for
from fastbin._errors import InputError
from fastbin._typing import Float64s
from fastbin.scaling.likelihood import Feature, Likelihood

# Far out on an exponential tail a Newton step gains 1 in the exponent, and exponents of use end near 40.
MOST_STEPS, MOST_HALVINGS = 200, 40
# Of the loss: differences that rounding may make, and what may be left to gain when a maximum counts as found.
LOSS_NOISE, GAP_ENOUGH = 1e-12, 1e-8
# What rounding may change in the exponent of a sample when the map is evaluated.
EXPONENT_SLACK = 1e-6
ROUNDING = 2.0**-52
TOO_STEEP = (
    "scores differ so little beside their size that the most likely map is too steep for double precision; "
    "subtract a constant from all scores, or scale them, first"
)
UNDETERMINED = (
    "the likelihood was not maximised: scores or weights of such different sizes leave no map well determined; "
    "use isotonic regression or binning, which need no scale"
)


def maximise(
    features: list[Feature],
    targets: Float64s,
    weights: Float64s,
    *,
    intercept: bool,
    increasing: bool,
    complements: Float64s | None = None,
) -> tuple[Float64s, float]:
    """The slopes and the constant of the most likely map 1 / (1 + exp(-(sum slope feature + constant))).

    Parameters
    ----------
    features : list of Feature
        float64 (m,), finite, not the same for all samples; there is none where no feature tells the samples apart.
    targets : float64 (m,)
        In [0, 1]; a maximum must exist, which is the caller's to see.
    weights : float64 (m,)
        Positive.
    intercept : bool
        Whether there is a constant, or it is 0.
    increasing : bool
        Whether slopes are kept from being negative.
    complements : float64 (m,), optional
        1 - targets, where subtracting would lose it.

    Returns
    -------
    slopes : float64
    constant : float

    Raises
    ------
    InputError
        If the map is too steep to be evaluated in double precision, or no maximum was found.
    """
    if not features:
        raise InputError(TOO_STEEP)
    shares = weights / weights.max()  # first, so that the sum cannot overflow
    shares = shares / shares.sum()
    # Powers of two, so that no difference of the greatest doubles overflows.
    exponents = np.array([np.frexp(np.abs(feature.values).max())[1] for feature in features], np.int64)
    columns = [np.ldexp(feature.values, -exponent) for feature, exponent in zip(features, exponents, strict=True)]
    likelihood = Likelihood(tuple(columns), targets, 1.0 - targets if complements is None else complements, shares, intercept)
    lower = np.full(likelihood.n_parameters, -np.inf)
    if increasing:
        lower[: len(features)] = 0.0
    parameters, is_found = _polish(likelihood, lower, _approach(likelihood, lower))
    constant = float(parameters[-1]) if intercept else 0.0
    with np.errstate(over="ignore"):
        slopes = np.ldexp(parameters[: len(features)], -exponents)
        noise = ROUNDING * sum(abs(slope) * feature.size for slope, feature in zip(slopes, features, strict=True))
    if not noise <= EXPONENT_SLACK:  # also where it is NaN
        raise InputError(TOO_STEEP)
    if not is_found:
        raise InputError(UNDETERMINED)
    return slopes, constant


def _approach(likelihood: Likelihood, lower: Float64s) -> Float64s:
    """Near the maximum, found on columns of mean square 1 (about their mean, where there is a constant to take it up)."""
    with needed_for("fits of smooth maps", extra="fit"):
        from scipy.optimize import minimize

    shares = likelihood.shares
    centres = np.array([(shares * column).sum() * likelihood.intercept for column in likelihood.columns])
    shifted = [column - centre for column, centre in zip(likelihood.columns, centres, strict=True)]
    greatest = np.array([np.abs(column).max() for column in shifted])
    if (greatest == 0.0).any():
        raise InputError(TOO_STEEP)
    shifted = [column / size for column, size in zip(shifted, greatest, strict=True)]
    spreads = np.array([np.sqrt((shares * column * column).sum()) for column in shifted])
    standard = likelihood._replace(columns=tuple(column / spread for column, spread in zip(shifted, spreads, strict=True)))
    found = minimize(
        standard.loss_and_gradient,
        np.zeros(likelihood.n_parameters),
        jac=True,
        method="TNC",
        bounds=[(None if low == -np.inf else low, None) for low in lower],
        options={"maxfun": 5000, "ftol": 1e-14, "gtol": 1e-8},
    )
    parameters = np.array(found.x, np.float64)
    k = len(centres)
    parameters[:k] /= greatest * spreads
    parameters[k:] -= (parameters[:k] * centres).sum()
    return parameters


def _polish(likelihood: Likelihood, lower: Float64s, parameters: Float64s) -> tuple[Float64s, bool]:
    """Newton steps, halved until they help; until what they can gain is below what the loss can tell, and shrinks no more.

    Returns the best parameters met, and whether they are the maximum.
    """
    loss, least = likelihood.loss(parameters), np.inf
    best = parameters
    for _ in range(MOST_STEPS):
        step, gap, rest, pull = likelihood.newton_step(parameters, lower)
        if gap <= GAP_ENOUGH * loss:
            slid = _slide(likelihood, lower, parameters, rest, pull)
            if slid is not None:
                parameters, loss, least = slid, likelihood.loss(slid), np.inf
                continue
        if not gap < least / 2.0 and least <= LOSS_NOISE * loss:
            break
        if gap < least:
            best, least = parameters, gap
        is_level = gap <= LOSS_NOISE * loss
        for _ in range(MOST_HALVINGS):
            moved = np.maximum(parameters + step, lower)
            moved_loss = likelihood.loss(moved)
            if is_level or moved_loss < loss:
                break
            step = step / 2.0
        else:
            break
        parameters, loss = moved, moved_loss
    return best, least <= GAP_ENOUGH * loss


def _slide(likelihood: Likelihood, lower: Float64s, parameters: Float64s, rest: Float64s, pull: float) -> Float64s | None:
    """As far down along `rest` as doubled steps lead; None where nothing is to be gained there.

    A sample of tiny weight, far out on its exponential tail, pulls without bending the loss by what doubles can tell beside the
    others, so that Newton's method does not see that direction.
    """
    loss, size = likelihood.loss(parameters), float(np.abs(rest).max())
    as_large = float(np.abs(parameters).max()) / size if size > 0.0 else 0.0
    if not (np.isfinite(as_large) and pull * as_large > GAP_ENOUGH * loss):
        return None
    best, least = None, loss * (1.0 - GAP_ENOUGH)
    for doublings in range(-20, 20):
        moved = np.maximum(parameters + as_large * 2.0**doublings * rest, lower)
        moved_loss = likelihood.loss(moved)
        if moved_loss < least:
            best, least = moved, moved_loss
        elif best is not None:
            break
    return best
