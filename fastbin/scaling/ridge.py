"""Logistic regression with a ridge: a few columns, many counts, and always one answer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastbin._base.array_types import Bools, Float64s
from fastbin.scaling.likelihood import BLOCK, solve_scaled

MOST_STEPS, MOST_HALVINGS = 200, 60
# Of the loss, what a step may gain where it is the last one: it leaves about the square of that. And what is let pass where
# rounding ends the descent before.
GAP_ENOUGH, GAP_OF_ROUNDING = 1e-9, 1e-6


class Place(NamedTuple):
    """Parameters, the loss there, and what its derivatives are made of."""

    parameters: Float64s
    loss: float
    z: Float64s
    small: Float64s  # e^-|z|


class Ridge(NamedTuple):
    """The loss sum (zeros log(1 + e^z) + ones log(1 + e^-z)) + sum ridge (p - centre)^2 / 2, where z = sum p column.

    The ridge is positive, so the loss is strictly convex and has one minimum, whatever the counts. Sums are NumPy's own and
    not those of BLAS, whose threads would change the last digits.
    """

    columns: Float64s  # (k, J)
    zeros: Float64s  # (J,), >= 0
    ones: Float64s  # (J,), >= 0
    ridge: Float64s  # (k,), > 0
    centre: Float64s  # (k,)

    def exponents(self, parameters: Float64s) -> Float64s:
        """z, term by term, so that each depends on its own column entries alone."""
        z = self.columns[0] * parameters[0]
        for column, parameter in zip(self.columns[1:], parameters[1:], strict=True):
            z += column * parameter
        return np.asarray(z)

    def loss(self, parameters: Float64s) -> float:
        return self._place(parameters).loss

    def minimise(self, free: Bools | None = None) -> tuple[Float64s, bool]:
        """The parameters of least loss, those that are not free being 0, and whether they were reached."""
        if free is None:
            return self._descend()
        part = Ridge(self.columns[free], self.zeros, self.ones, self.ridge[free], self.centre[free])
        parameters = np.zeros(len(free))
        parameters[free], is_minimum = part._descend()
        return parameters, is_minimum

    def _place(self, parameters: Float64s) -> Place:
        z = self.exponents(parameters)
        size = np.abs(z)
        small = np.exp(-size)
        # Not counts log(1 + e^z) - ones z: where the map is nearly certain, the difference of the two would be rounding.
        terms = np.where(z > 0.0, self.zeros, self.ones) * size + (self.zeros + self.ones) * np.log1p(small)
        away = parameters - self.centre
        return Place(parameters, float(terms.sum() + 0.5 * (self.ridge * away * away).sum()), z, small)

    def _descend(self) -> tuple[Float64s, bool]:
        """Newton's method, each step halved until the loss falls."""
        place = self._place(self.centre)
        for _ in range(MOST_STEPS):
            gradient, bend = self._derivatives(place)
            step = solve_scaled(bend, -gradient)
            gap = -float((gradient * step).sum())
            if gap <= GAP_ENOUGH * place.loss:
                return place.parameters + step, True
            for _ in range(MOST_HALVINGS):
                moved = self._place(place.parameters + step)
                if moved.loss < place.loss:
                    break
                step = step / 2.0
            else:
                return place.parameters, gap <= GAP_OF_ROUNDING * place.loss
            place = moved
        return place.parameters, False

    def _derivatives(self, place: Place) -> tuple[Float64s, Float64s]:
        """The gradient (k,) and the matrix (k, k) of second derivatives."""
        k = len(self.ridge)
        rows, columns = np.triu_indices(k)
        gradient, bends = self.ridge * (place.parameters - self.centre), np.zeros(len(rows))
        for start in range(0, len(place.z), BLOCK):
            span = slice(start, start + BLOCK)
            zeros, ones, part = self.zeros[span], self.ones[span], self.columns[:, span]
            larger = 1.0 / (1.0 + place.small[span])  # of the probabilities of the two labels
            smaller = place.small[span] * larger
            is_up = place.z[span] > 0.0
            residuals = zeros * np.where(is_up, larger, smaller) - ones * np.where(is_up, smaller, larger)
            gradient += (part * residuals).sum(axis=1)
            bends += (part[rows] * part[columns] * ((zeros + ones) * smaller * larger)).sum(axis=1)
        matrix = np.empty((k, k))
        matrix[rows, columns] = matrix[columns, rows] = bends
        matrix[np.diag_indices(k)] += self.ridge
        return gradient, matrix
