"""The exact likelihood of a logistic map in up to three parameters, and its maximum.

SciPy's truncated Newton method gets near the maximum under bounds, on features brought to a common scale; full Newton
steps then go on until the gradient shrinks no more, so that parameters are good to about the last digits that the data
determine. (L-BFGS-B takes LAPACK's threads for matrices of three rows: 25 times slower on a busy machine.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fastbin._errors import InputError

__all__ = ["Feature", "maximise"]

Float64s = npt.NDArray[np.float64]

# The gradient of the mean loss, on features of unit size, at which a maximum counts as found. Rounding leaves about 1e-15.
GRADIENT_ENOUGH = 1e-9
# Far out on an exponential tail a Newton step gains 1 in the exponent, and exponents of use end near 40.
MOST_STEPS, MOST_HALVINGS = 200, 40
SMALLEST = float(np.finfo(np.float64).tiny)
# Relative changes of the loss that may be rounding.
LOSS_NOISE = 1e-12
# What rounding may change in the exponent of a sample when the map is evaluated.
EXPONENT_SLACK = 1e-6
ROUNDING = 2.0**-52
TOO_STEEP = (
    "scores differ so little beside their size that the most likely map is too steep for double precision; "
    "subtract a constant from all scores, or scale them, first"
)
# Samples whose intermediate results stay in the cache.
BLOCK = 2**14


class Feature(NamedTuple):
    """What a slope multiplies, and the greatest number that it is computed from, whose rounding error it has."""

    values: Float64s
    size: float


class _Problem(NamedTuple):
    """Mean logistic loss: sum w (t log(1 + exp(-z)) + u log(1 + exp z)) / sum w, where z is the sum of theta times the columns.

    Sums go block by block through NumPy's own additions and not through BLAS, whose threads would change the last digits.
    """

    columns: tuple[Float64s, ...]
    targets: Float64s  # t
    complements: Float64s  # u = 1 - t, which cannot be had from a t next to 1
    shares: Float64s  # weights that sum to 1
    lower: Float64s

    def loss_and_gradient(self, theta: Float64s) -> tuple[float, Float64s]:
        loss, gradient, _ = self._derivatives(theta, curvature=False)
        return loss, gradient

    def gradient_and_hessian(self, theta: Float64s) -> tuple[Float64s, Float64s]:
        _, gradient, hessian = self._derivatives(theta, curvature=True)
        return gradient, hessian

    def exponents(self, theta: Float64s, span: slice = slice(None)) -> Float64s:
        """z, of all samples or of a block."""
        total = self.columns[0][span] * theta[0]
        for column, coefficient in zip(self.columns[1:], theta[1:], strict=True):
            total += column[span] * coefficient
        return total

    def _derivatives(self, theta: Float64s, *, curvature: bool) -> tuple[float, Float64s, Float64s]:
        k = len(theta)
        loss, gradient, hessian = 0.0, np.zeros(k), np.zeros((k, k))
        for start in range(0, len(self.targets), BLOCK):
            span = slice(start, start + BLOCK)
            targets, complements, shares = self.targets[span], self.complements[span], self.shares[span]
            z = self.exponents(theta, span)
            is_up = z >= 0.0
            small = np.exp(-np.abs(z))
            upper = 1.0 / (1.0 + small)  # the larger of the probabilities of the two labels
            lower = small * upper
            loss += float((shares * (np.log1p(small) + np.where(is_up, complements * z, -targets * z))).sum())
            residuals = complements * np.where(is_up, upper, lower) - targets * np.where(is_up, lower, upper)
            residuals *= shares
            blocks = [column[span] for column in self.columns]
            gradient += [float((residuals * block).sum()) for block in blocks]
            if not curvature:
                continue
            curvatures = shares * (lower * upper)
            for i in range(k):
                bent = curvatures * blocks[i]
                for j in range(i, k):
                    hessian[i, j] += float((bent * blocks[j]).sum())
        return loss, gradient, np.triu(hessian) + np.triu(hessian, 1).T


def maximise(
    features: list[Feature],
    targets: Float64s,
    weights: Float64s,
    *,
    intercept: bool,
    increasing: bool,
    complements: Float64s | None = None,
) -> tuple[Float64s, float]:
    """The slopes and the intercept of the most likely map 1 / (1 + exp(-(sum slope feature + intercept))).

    Parameters
    ----------
    features : list of Feature
        float64 (m,), finite, and not the same for all samples.
    targets : float64 (m,)
        In [0, 1]; a maximum must exist, which is the caller's to see.
    weights : float64 (m,)
        Positive.
    intercept : bool
        Whether there is an intercept, or it is 0.
    increasing : bool
        Whether slopes are kept from being negative.
    complements : float64 (m,), optional
        1 - targets, where subtracting would lose it.

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
    standard = [_standardise(feature.values, shares, centre=intercept) for feature in features]
    columns = [scaled for scaled, _, _ in standard] + ([np.ones(len(targets))] if intercept else [])
    lower = np.array([0.0 if increasing else -np.inf] * len(features) + [-np.inf] * intercept)
    complements = 1.0 - targets if complements is None else complements
    problem = _Problem(tuple(columns), targets, complements, shares, lower)
    theta = _polish(problem, _approach(problem))
    with np.errstate(all="ignore"):
        slopes = theta[: len(features)] / [scale for _, _, scale in standard]
        constant = float(theta[-1]) if intercept else 0.0
        constant -= sum(slope * centre for slope, (_, centre, _) in zip(slopes, standard, strict=True))
        noise = ROUNDING * sum(abs(slope) * feature.size for slope, feature in zip(slopes, features, strict=True))
    if not (noise <= EXPONENT_SLACK and np.isfinite(constant)):  # also where it is NaN
        raise InputError(TOO_STEEP)
    return slopes, constant


def _standardise(feature: Float64s, shares: Float64s, *, centre: bool) -> tuple[Float64s, float, float]:
    """The feature brought to mean square 1 (about its mean, or about 0), and the mean and the scale taken off it."""
    # A power of two first, so that no sum or difference of the greatest doubles overflows.
    exponent = np.frexp(np.abs(feature).max())[1]
    scaled = np.ldexp(feature, -exponent)
    mean = (shares * scaled).sum() if centre else np.float64(0.0)
    scaled -= mean
    greatest = np.abs(scaled).max()
    if greatest == 0.0:
        raise InputError(TOO_STEEP)
    scaled /= greatest
    size = np.sqrt((shares * scaled * scaled).sum())
    with np.errstate(over="ignore", under="ignore"):
        return scaled / size, float(np.ldexp(mean, exponent)), float(np.ldexp(greatest * size, exponent))


def _approach(problem: _Problem) -> Float64s:
    from scipy.optimize import minimize

    found = minimize(
        problem.loss_and_gradient,
        np.zeros(len(problem.lower)),
        jac=True,
        method="TNC",
        bounds=[(None if low == -np.inf else low, None) for low in problem.lower],
        options={"maxfun": 5000, "ftol": 1e-14, "gtol": 1e-8},
    )
    return np.asarray(found.x, np.float64)


def _polish(problem: _Problem, theta: Float64s) -> Float64s:
    """Newton steps, halved until they help, among the coordinates that are not held at their bound; until none helps."""
    loss, _ = problem.loss_and_gradient(theta)
    for _ in range(MOST_STEPS):
        gradient, hessian = problem.gradient_and_hessian(theta)
        free = (theta > problem.lower) | (gradient < 0.0)
        size = float(np.abs(gradient[free]).max(initial=0.0))
        step = np.zeros(len(theta))
        step[free] = _newton_step(gradient[free], hessian[np.ix_(free, free)])
        for _ in range(MOST_HALVINGS):
            moved = np.maximum(theta + step, problem.lower)
            moved_loss, moved_gradient = problem.loss_and_gradient(moved)
            # Near the maximum the loss no longer tells two places apart, and the gradient does.
            shrinks = float(np.abs(moved_gradient[free]).max(initial=0.0)) < size
            if moved_loss < loss * (1.0 - LOSS_NOISE) or (shrinks and moved_loss <= loss * (1.0 + LOSS_NOISE)):
                break
            step /= 2.0
        else:
            break
        theta, loss = moved, moved_loss
    if size > GRADIENT_ENOUGH:
        raise InputError(
            f"the likelihood was not maximised (gradient {size:.1e}); scores or weights of such different sizes leave no "
            "map well determined: use isotonic regression or binning, which need no scale"
        )
    return theta


def _newton_step(gradient: Float64s, hessian: Float64s) -> Float64s:
    # Features that hardly bend the loss (log(1 - s) where nearly all scores are tiny) are brought to the scale of the others,
    # lest the solver take them for rounding.
    scale = np.sqrt(np.maximum(np.diag(hessian), SMALLEST))
    step = np.linalg.lstsq(hessian / np.outer(scale, scale), -gradient / scale, rcond=None)[0]
    return np.asarray(step / scale)
