"""The exact likelihood of a logistic map of one or two features, with its derivatives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s

SMALLEST = float(np.finfo(np.float64).tiny)
# Samples whose intermediate results stay in the cache.
BLOCK = 2**14


class Feature(NamedTuple):
    """What a slope multiplies, and the greatest number that it is computed from, whose rounding error it has."""

    values: Float64s
    size: float

    @classmethod
    def of(cls, values: Float64s) -> Feature:
        """What is computed from numbers of its own size."""
        return cls(values, float(np.abs(values).max()))


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

    Parameters stand in one array: slopes, then the constant where there is one. Sums are NumPy's own and not those of BLAS,
    whose threads would change the last digits.
    """

    columns: Float64s  # (slopes, samples)
    targets: Float64s  # t
    complements: Float64s  # u = 1 - t, which cannot be had from a t next to 1
    shares: Float64s  # weights that sum to 1
    intercept: bool

    @property
    def n_parameters(self) -> int:
        return len(self.columns) + self.intercept

    def loss(self, parameters: Float64s) -> float:
        return self._evaluate(parameters)[0]

    def loss_and_gradient(self, parameters: Float64s) -> tuple[float, Float64s]:
        loss, residuals, _ = self._evaluate(parameters)
        return loss, np.append((residuals * self.columns).sum(axis=1), [residuals.sum()] * self.intercept)

    def newton_step(self, parameters: Float64s, lower: Float64s) -> NewtonStep:
        """The step among the slopes that are not at their lower bound.

        Columns are centred at their mean under the present curvature first. So the constant is solved for apart, and what
        distinguishes samples is not lost beside what they have in common, however different their sizes.
        """
        k = len(self.columns)
        _, residuals, curvatures = self._evaluate(parameters)
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

    def _evaluate(self, parameters: Float64s) -> tuple[float, Float64s, Float64s]:
        """The loss, and its first and second derivative by the exponent of each sample."""
        n = len(self.targets)
        loss, residuals, curvatures = 0.0, np.empty(n), np.empty(n)
        constant = parameters[-1] if self.intercept else 0.0
        for start in range(0, n, BLOCK):
            span = slice(start, start + BLOCK)
            targets, complements, shares = self.targets[span], self.complements[span], self.shares[span]
            z = np.full(len(targets), constant)
            for column, slope in zip(self.columns, parameters, strict=False):
                z += column[span] * slope
            is_up = z >= 0.0
            small = np.exp(-np.abs(z))
            larger = 1.0 / (1.0 + small)  # of the probabilities of the two labels
            smaller = small * larger
            loss += float((shares * (np.log1p(small) + np.where(is_up, complements * z, -targets * z))).sum())
            of_one, of_zero = np.where(is_up, larger, smaller), np.where(is_up, smaller, larger)
            residuals[span] = shares * (complements * of_one - targets * of_zero)
            curvatures[span] = shares * (smaller * larger)
        return loss, residuals, curvatures


def solve_scaled(matrix: Float64s, right: Float64s) -> Float64s:
    """The solution of a symmetric, positive semidefinite system of few equations, of whatever scale."""
    # A feature that hardly bends the loss (log(1 - s) where nearly all scores are tiny) is brought to the scale of the others,
    # lest the solver take it for rounding.
    scale = np.sqrt(np.maximum(np.diag(matrix), SMALLEST))
    return np.asarray(np.linalg.lstsq(matrix / np.outer(scale, scale), right / scale, rcond=None)[0] / scale)
