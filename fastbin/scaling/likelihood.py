"""Samples as smooth maps need them, the likelihood of a logistic map, and its maximum.

SciPy's truncated Newton method gets near the maximum under bounds, on features brought to a common scale; full Newton steps
then go on until they gain nothing, so that parameters are good to about the last digits that the data determine.

SciPy alone does not reach it. 2,096 hard fits that have a maximum (few samples, nearly separated, scores down to 1e-300 or
within 1e-15 of 1, weights over 60 decades), with the same objective, gradient and Hessian on the same standardised columns and
tolerances near 0: a parameter off by more than 1e-6 in 452 by TNC and in 328 by L-BFGS-B, a loss too high by more than 1e-8 of
it in 292 and in 218. Among the 918 without bounds on slopes, trust-exact missed 182 and 127, `root` (hybr) 121 and 67. TNC
reported success for 111 of 124 fits that are refused here. L-BFGS-B also takes LAPACK's threads for matrices of three rows: 25
times slower on a busy machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Bools, Float64s, UInt8s
from fastbin._base.checks import ScoreRange, check_labels, check_same_length, check_sample_weight, check_scores, no_samples
from fastbin._base.dependencies import needed_for
from fastbin._base.errors import InputError, by_name
from fastbin._core.fit import logistic_terms
from fastbin._fit.quantiles import run_starts

SMALLEST = float(np.finfo(np.float64).tiny)
# Far out on an exponential tail a Newton step gains 1 in the exponent, and exponents of use end near 40.
MOST_STEPS, MOST_HALVINGS = 200, 40
# Shares of the loss: differences that rounding may make, and what may be left to gain when a maximum counts as reached.
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


class Feature(NamedTuple):
    """A factor of a slope, and the greatest number that it is computed from, whose rounding error it has."""

    values: Float64s
    size: float

    @classmethod
    def of(cls, values: Float64s) -> Feature:
        """A feature that is computed from numbers of its own size."""
        return cls(values, float(np.abs(values).max()))


@dataclass(frozen=True)
class PooledSamples:
    """Distinct pairs of score and label with the weight of each: first those of label 0, then of label 1, scores ascending.

    The order is that of the multiset, so that sums over it do not depend on where the rows stood.
    """

    scores: Float64s
    labels: UInt8s
    weights: Float64s
    n_samples: int
    n_positive: int

    @property
    def label_weights(self) -> tuple[float, float]:
        """The total weight of label 0 and of label 1."""
        return float(self.weights[self.labels == 0].sum()), float(self.weights[self.labels == 1].sum())

    @property
    def n_distinct(self) -> int:
        return len(np.unique(self.scores))

    @property
    def agreement(self) -> Float64s:
        """Positive where the label is that of the side of 0.5 on which the score lies, negative where it is the other one."""
        return np.asarray((2.0 * self.labels - 1.0) * (self.scores - 0.5))

    def take(self, kept: Bools) -> PooledSamples:
        return PooledSamples(self.scores[kept], self.labels[kept], self.weights[kept], self.n_samples, self.n_positive)

    def are_separated(self, *, falling: bool = False) -> bool:
        """Whether there is one class, or a score at or below which are all samples of one label, the others at or above it.

        The label below is 0, or 1 if `falling`. Then an ever steeper map is ever more likely, and the likelihood has no maximum
        (Albert & Anderson 1984).
        """
        below, above = self.scores[self.labels == falling], self.scores[self.labels != falling]
        return not len(below) or not len(above) or bool(below.max() <= above.min())

    @property
    def half_step(self) -> float:
        """How far a map that takes logarithms keeps scores from 0 and 1."""
        return 0.5 / (self.n_samples + 1.0)

    def with_ends(self, clip: float) -> PooledSamples:
        """The samples with scores nearer than `clip` to 0 or 1 moved there, where `log_features` moves them back inside.

        So they are equal, and pooled, before anything is said about how many scores there are or whether they separate labels.
        """
        scores = np.where(self.scores < clip, 0.0, np.where(1.0 - self.scores < clip, 1.0, self.scores))
        pooled = [_pool(scores[self.labels == label], self.weights[self.labels == label]) for label in (0, 1)]
        return PooledSamples(*_joined(pooled), self.n_samples, self.n_positive)

    def inside(self, scores: Any, labels: Any) -> PooledSamples:
        """The samples strictly inside (0, 1), after a check of those at the ends; `scores` and `labels` as they were given.

        An increasing map through logarithms sends 0 to 0 and 1 to 1, whatever its parameters. So a sample with score 0 and
        label 0, or score 1 and label 1, has likelihood 1 and drops out; one with the other label makes the likelihood 0 and is
        refused.
        """
        for end in (0.0, 1.0):
            if ((self.scores == end) & (self.labels != end)).any():
                column, label_column = (np.asarray(values, np.float64).ravel() for values in (scores, labels))
                position = int(np.argmax((column == end) & (label_column == 1.0 - end)))
                raise InputError(
                    f"is {end!r} with label {1.0 - end:g}: the map sends {end:g} to {end:g}, so no parameters make this sample "
                    "possible",
                    ("use ends='clip', which moves scores inside (0, 1), or PlattScaling(", by_name("feature", "score"), ")"),
                    argument="scores",
                    at=position,
                    value=end,
                )
        return self.take((self.scores > 0.0) & (self.scores < 1.0))


def check_samples(scores: Any, labels: Any, sample_weight: Any, score_range: ScoreRange) -> PooledSamples:
    """Check the columns given to a fit, and pool equal rows. O(n log n)."""
    score_array = check_scores(scores, score_range).astype(np.float64) + 0.0  # + 0.0 turns -0.0 into 0.0
    label_array, weights = check_labels(labels), check_sample_weight(sample_weight)
    if check_same_length(scores=score_array, labels=label_array, sample_weight=weights) == 0:
        raise InputError("is empty", "a calibrator needs samples", argument="scores")
    n_samples, n_positive = len(label_array), int(label_array.sum())
    if weights is not None:
        if not weights.any():
            raise no_samples()
        if weights.dtype == np.int64:
            n_samples, n_positive = int(weights.sum()), int(weights[label_array == 1].sum())
    parts = [
        _pool(score_array[chosen], None if weights is None else weights[chosen].astype(np.float64))
        for chosen in (label_array == 0, label_array == 1)
    ]
    return PooledSamples(*_joined(parts), n_samples, n_positive)


def _joined(parts: list[tuple[Float64s, Float64s]]) -> tuple[Float64s, UInt8s, Float64s]:
    """Scores, labels and weights of the samples of label 0 and of label 1, one after the other."""
    labels = np.repeat(np.array([0, 1], np.uint8), [len(part[0]) for part in parts])
    scores, weights = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return scores, labels, weights


def _pool(scores: Float64s, weights: Float64s | None) -> tuple[Float64s, Float64s]:
    """Distinct scores that have weight, ascending, and the total weight of each."""
    if weights is None:
        distinct, counts = np.unique(scores, return_counts=True)
        return distinct, counts.astype(np.float64)
    scores, weights = scores[weights > 0], weights[weights > 0]
    order = np.lexsort((weights, scores))
    first = run_starts(scores[order])
    return scores[order][first], np.add.reduceat(weights[order], first)


def log_features(scores: Float64s, clip: float = 0.0) -> list[Feature]:
    """log(s) and -log(1 - s) as the C library computes them, both moved into [clip, 1 - clip] first.

    Without a clip scores must lie strictly inside (0, 1).
    """
    rising, falling = (np.log(np.clip(values, clip, 1.0 - clip)) for values in (scores, 1.0 - scores))
    return [Feature.of(rising), Feature.of(-falling)]


def logits(scores: Float64s, clip: float = 0.0) -> Feature:
    """log(s / (1 - s)), as the C library computes it: log(s) - log(1 - s)."""
    rising, falling = log_features(scores, clip)
    return Feature(rising.values + falling.values, max(rising.size, falling.size))


class Place(NamedTuple):
    """Parameters, the loss there, and its first and second derivative by the exponent of each sample."""

    parameters: Float64s
    loss: float
    residuals: Float64s
    curvatures: Float64s


class NewtonStep(NamedTuple):
    """Where Newton's method would go, and about twice what the loss would gain by it (the squared Newton decrement).

    `rest` is a direction that the step leaves, in which the loss does not bend, as far as doubles can tell; `pull` is how fast
    the loss falls that way.
    """

    step: Float64s
    gap: float
    rest: Float64s
    pull: float


class Likelihood(NamedTuple):
    """Mean logistic loss: sum w (t log(1 + exp(-z)) + u log(1 + exp z)) / sum w with z = sum slope column + constant.

    Parameters stand in one array: slopes, then the constant where there is one. Terms are computed in C, with the same bits on
    every processor; sums of their products are NumPy's and not those of BLAS, whose threads would change the last digits.
    """

    columns: Float64s  # (slopes, samples)
    shares: Float64s  # w, which sum to 1
    ones: Float64s  # w t
    zeros: Float64s  # w u, with u = 1 - t, which cannot be had from a t next to 1
    intercept: bool

    @property
    def n_parameters(self) -> int:
        return len(self.columns) + self.intercept

    def at(self, parameters: Float64s) -> Place:
        slopes, constant = parameters[: len(self.columns)], float(parameters[-1]) if self.intercept else 0.0
        return Place(parameters, *logistic_terms(self.columns, self.zeros, self.ones, slopes, constant))

    def loss_and_gradient(self, parameters: Float64s) -> tuple[float, Float64s]:
        _, loss, residuals, _ = self.at(parameters)
        return loss, np.append((residuals * self.columns).sum(axis=1), [residuals.sum()] * self.intercept)

    def newton_step(self, place: Place, lower: Float64s) -> NewtonStep:
        """The step among the slopes that are not at their lower bound.

        Columns are centred at their mean under the present curvature first. So the constant is solved for apart, and what
        distinguishes samples is not lost beside what they have in common, however different their sizes.
        """
        k = len(self.columns)
        parameters, _, residuals, curvatures = place
        total = max(float(curvatures.sum()), SMALLEST)
        centres = (curvatures * self.columns).sum(axis=1) / total * self.intercept
        centred = self.columns - centres[:, np.newaxis]
        gradient = (residuals * centred).sum(axis=1)
        free = (parameters[:k] > lower[:k]) | (gradient < 0.0)
        step, rest = np.zeros(self.n_parameters), np.zeros(self.n_parameters)
        bend = np.array([[(curvatures * one * other).sum() for other in centred] for one in centred])[np.ix_(free, free)]
        step[:k][free] = solve_scaled(bend, -gradient[free])
        left = -gradient[free] - (bend * step[:k][free]).sum(axis=1)
        rest[:k][free] = left / np.maximum(np.diag(bend), SMALLEST)
        gap = -float((gradient * step[:k]).sum())
        if self.intercept:
            slant = float(residuals.sum())
            step[k] = -slant / total - (step[:k] * centres).sum()
            gap += slant * slant / total
            rest[k] = -(rest[:k] * centres).sum()
        return NewtonStep(step, gap, rest, float((left * rest[:k][free]).sum()))


def maximise(
    features: list[Feature], targets: Float64s, weights: Float64s, *, intercept: bool, increasing: bool,
    complements: Float64s | None = None,
) -> tuple[Float64s, float]:  # fmt: skip
    """The slopes and the constant of the most likely map 1 / (1 + exp(-(sum slope feature + constant))).

    Features are finite and not the same for all samples; there is none where no feature tells the samples apart. A maximum must
    exist, which is the caller's to see. With `increasing`, slopes are not negative; without `intercept` the constant is 0.
    `complements` are 1 - targets, where subtracting would lose it. Refuses a map that is too steep for double precision, and a
    maximum that was not reached.
    """
    if not features:
        raise InputError(TOO_STEEP)
    shares = weights / weights.max()  # first, so that the sum cannot overflow
    shares = shares / shares.sum()
    # Powers of two, so that no difference of the greatest doubles overflows.
    exponents = np.array([np.frexp(np.abs(feature.values).max())[1] for feature in features], np.int64)
    columns = np.ldexp(np.array([feature.values for feature in features]), -exponents[:, np.newaxis])
    zeros = shares * (1.0 - targets if complements is None else complements)
    likelihood = Likelihood(columns, shares, shares * targets, zeros, intercept)
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
        standard.loss_and_gradient, np.zeros(likelihood.n_parameters), jac=True, method="TNC",
        bounds=[(low, None) for low in lower], options={"maxfun": 5000, "ftol": 1e-14, "gtol": 1e-8},
    )  # fmt: skip
    parameters = np.array(near.x, np.float64)
    k = len(centres)
    parameters[:k] /= greatest * spreads
    parameters[k:] -= (parameters[:k] * centres).sum()
    return parameters


def _polish(likelihood: Likelihood, lower: Float64s, parameters: Float64s) -> tuple[Float64s, bool]:
    """Newton steps, halved until they help; until what they can gain is below what the loss can tell, and shrinks no more.

    Returns the best parameters met, and whether they are the maximum.
    """
    place, least = likelihood.at(parameters), np.inf
    best = parameters
    for _ in range(MOST_STEPS):
        step, gap, rest, pull = likelihood.newton_step(place, lower)
        if gap <= GAP_ENOUGH * place.loss:
            slid = _slide(likelihood, lower, place, rest, pull)
            if slid is not None:
                place, least = slid, np.inf
                continue
        if not gap < least / 2.0 and least <= LOSS_NOISE * place.loss:
            break
        if gap < least:
            best, least = place.parameters, gap
        is_level = gap <= LOSS_NOISE * place.loss
        for _ in range(MOST_HALVINGS):
            moved = likelihood.at(np.maximum(place.parameters + step, lower))
            if is_level or moved.loss < place.loss:
                break
            step = step / 2.0
        else:
            break
        place = moved
    return best, least <= GAP_ENOUGH * place.loss


def _slide(likelihood: Likelihood, lower: Float64s, place: Place, rest: Float64s, pull: float) -> Place | None:
    """As far down along `rest` as doubled steps lead; None where nothing is to be gained there.

    A sample of tiny weight, far out on its exponential tail, pulls without bending the loss by what doubles can tell beside the
    others, so that Newton's method does not see that direction.
    """
    parameters, size = place.parameters, float(np.abs(rest).max())
    as_large = float(np.abs(parameters).max()) / size if size > 0.0 else 0.0
    if not (np.isfinite(as_large) and pull * as_large > GAP_ENOUGH * place.loss):
        return None
    best, least = None, place.loss * (1.0 - GAP_ENOUGH)
    for doublings in range(-20, 20):
        moved = likelihood.at(np.maximum(parameters + as_large * 2.0**doublings * rest, lower))
        if moved.loss < least:
            best, least = moved, moved.loss
        elif best is not None:
            break
    return best


def solve_scaled(matrix: Float64s, right: Float64s) -> Float64s:
    """The solution of a symmetric, positive semidefinite system of few equations, of whatever scale."""
    # A feature that hardly bends the loss (log(1 - s) where nearly all scores are tiny) is brought to the scale of the others,
    # lest the solver take it for rounding.
    scale = np.sqrt(np.maximum(np.diag(matrix), SMALLEST))
    return np.asarray(np.linalg.lstsq(matrix / np.outer(scale, scale), right / scale, rcond=None)[0] / scale)
