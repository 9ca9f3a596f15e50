"""The most likely logistic map.

SciPy's truncated Newton method gets near the maximum under bounds, on features brought to a common scale; full Newton steps
then go on until they gain nothing, so that parameters are good to about the last digits that the data determine.

SciPy alone does not reach it. 2,096 hard fits that have a maximum (few samples, nearly separated, scores down to 1e-300 or
within 1e-15 of 1, weights over 60 decades), with the same objective, gradient and Hessian on the same standardised columns and
tolerances near 0: a parameter off by more than 1e-6 in 452 by TNC and in 328 by L-BFGS-B, a loss too high by more than 1e-8 of
it in 292 and in 218. Of the 918 without bounds on slopes, trust-exact missed 182 and 127, `root` (hybr) 121 and 67. Of 124 fits
that are refused here, TNC reported success for 111. L-BFGS-B also takes LAPACK's threads for matrices of three rows: 25 times
slower on a busy machine.
"""

from __future__ import annotations

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.dependencies import needed_for
from fastbin._base.errors import InputError
from fastbin.scaling.likelihood import Feature, Likelihood

# Far out on an exponential tail a Newton step gains 1 in the exponent, and exponents of use end near 40.
MOST_STEPS, MOST_HALVINGS = 200, 40
# Of the loss: differences that rounding may make, and what may be left to gain when a maximum counts as reached.
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
        If the map is too steep to be evaluated in double precision, or the maximum was not reached.
    """
    if not features:
        raise InputError(TOO_STEEP)
    shares = weights / weights.max()  # first, so that the sum cannot overflow
    shares = shares / shares.sum()
    # Powers of two, so that no difference of the greatest doubles overflows.
    exponents = np.array([np.frexp(np.abs(feature.values).max())[1] for feature in features], np.int64)
    columns = np.ldexp(np.array([feature.values for feature in features]), -exponents[:, np.newaxis])
    likelihood = Likelihood(columns, targets, 1.0 - targets if complements is None else complements, shares, intercept)
    lower = np.full(likelihood.n_parameters, -np.inf)
    if increasing:
        lower[: len(features)] = 0.0
    parameters, is_maximum = _polish(likelihood, lower, _approach(likelihood, lower))
    constant = float(parameters[-1]) if intercept else 0.0
    with np.errstate(over="ignore"):
        slopes = np.ldexp(parameters[: len(features)], -exponents)
        noise = ROUNDING * sum(abs(slope) * feature.size for slope, feature in zip(slopes, features, strict=True))
    if not noise <= EXPONENT_SLACK:  # also where it is NaN
        raise InputError(TOO_STEEP)
    if not is_maximum:
        raise InputError(UNDETERMINED)
    return slopes, constant


def _approach(likelihood: Likelihood, lower: Float64s) -> Float64s:
    """Near the maximum, from columns of mean square 1 (about their mean, where there is a constant to take it up)."""
    with needed_for("fits of smooth maps", extra="fit"):
        from scipy.optimize import minimize

    columns, shares = likelihood.columns, likelihood.shares
    centres = (shares * columns).sum(axis=1) * likelihood.intercept
    shifted = columns - centres[:, np.newaxis]
    greatest = np.abs(shifted).max(axis=1)
    if (greatest == 0.0).any():
        raise InputError(TOO_STEEP)
    shifted /= greatest[:, np.newaxis]
    spreads = np.sqrt((shares * shifted * shifted).sum(axis=1))
    standard = likelihood._replace(columns=shifted / spreads[:, np.newaxis])
    near = minimize(
        standard.loss_and_gradient,
        np.zeros(likelihood.n_parameters),
        jac=True,
        method="TNC",
        bounds=[(low, None) for low in lower],
        options={"maxfun": 5000, "ftol": 1e-14, "gtol": 1e-8},
    )
    parameters = np.array(near.x, np.float64)
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
