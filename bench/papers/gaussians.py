"""The two-Gaussian family of Sun, Song & Hero 2023, section 6, with every risk known to quadrature accuracy.

D(rate): Y ~ Bernoulli(rate), X | Y = 0 ~ N(-2, 1), X | Y = 1 ~ N(2, 1), and the classifier's score is sigmoid(X). The true
probability given the score is sigmoid(4 logit(score) + logit(rate)), so the score is off even at rate 1/2. All members share
X | Y: moving from one rate to another is label shift.

For a step function of the score, bin masses and label means are normal cdfs; the only integral is E[eta^2], where eta is the
true probability. It is taken by the trapezoidal rule, whose error is far below 1e-14 for such integrands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit, ndtr

__all__ = ["Risk", "TwoGaussians"]

Float64s = npt.NDArray[np.float64]

MEAN = 2.0  # of X given Y = 1; its negative given Y = 0. The standard deviations are 1
GRID = np.linspace(-MEAN - 12.0, MEAN + 12.0, 4001)


class Risk(NamedTuple):
    """The recalibration risk of a map h of the score and its parts (ibid., equations (3) to (6)); arrays or numbers.

    `calibration` is E[(h - E[Y | h])^2], `sharpness` E[(E[Y | h] - eta)^2], `total` their sum E[(h - eta)^2], and `mse` is
    E[(Y - h)^2] = total + E[eta (1 - eta)].
    """

    calibration: Any
    sharpness: Any
    total: Any
    mse: Any


@dataclass(frozen=True)
class TwoGaussians:
    """D(rate): the member of the family with P(Y = 1) = `rate`."""

    rate: float = 0.5

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Float64s, npt.NDArray[np.uint8]]:
        """n scores and labels."""
        labels = (rng.random(n) < self.rate).astype(np.uint8)
        return expit(rng.standard_normal(n) + MEAN * (2.0 * labels - 1.0)), labels

    def eta(self, scores: Any) -> Float64s:
        """P(Y = 1 | score)."""
        return np.asarray(expit(2.0 * MEAN * logit(scores) + logit(self.rate)))

    def mean_eta_squared(self) -> float:
        """E[eta^2]."""
        return self._mean(lambda eta, _: eta**2)

    def irreducible(self) -> float:
        """E[eta (1 - eta)]: the mean squared error of the best map."""
        return self._mean(lambda eta, _: eta * (1.0 - eta))

    def smooth_risk(self, recalibrate: Callable[[Float64s], Any]) -> Risk:
        """The risk of a one-to-one map of the score: given it, E[Y | h] = eta, so there is no sharpness risk."""
        total = self._mean(lambda eta, scores: (recalibrate(scores) - eta) ** 2)
        return Risk(total, 0.0, total, total + self.irreducible())

    def bins(self, edges: Any) -> tuple[Float64s, Float64s]:
        """Mass of each bin, and mass with label 1.

        Parameters
        ----------
        edges : float, shape (..., n_bins - 1)
            Inner edges on the score, ascending along the last axis.

        Returns
        -------
        masses, positive : float64 (..., n_bins)
        """
        x = logit(np.asarray(edges, dtype=np.float64))
        ends = np.full((*x.shape[:-1], 1), np.inf)
        x = np.concatenate([-ends, x, ends], axis=-1)
        positive = self.rate * _between(x - MEAN)
        return positive + (1.0 - self.rate) * _between(x + MEAN), positive

    def step_risk(self, edges: Any, values: Any) -> Risk:
        """The risk of step functions, many at once; bins with equal values count as one level, as E[Y | h] has it.

        Parameters
        ----------
        edges : float, shape (..., n_bins - 1)
            On the score, ascending.
        values : float, shape (..., n_bins)
        """
        values = np.asarray(values, dtype=np.float64)
        masses, positive = (part.reshape(-1, values.shape[-1]) for part in self.bins(edges))
        levels = values.reshape(masses.shape)
        order = np.argsort(levels, axis=1, kind="stable")
        levels, masses, positive = (np.take_along_axis(part, order, axis=1) for part in (levels, masses, positive))
        starts = np.ones(levels.shape, bool)
        starts[:, 1:] = levels[:, 1:] != levels[:, :-1]
        first = np.flatnonzero(starts)  # rows begin a level of their own, so levels never cross them
        mass, ones = np.add.reduceat(masses.ravel(), first), np.add.reduceat(positive.ravel(), first)
        means = np.divide(ones, mass, out=np.zeros_like(mass), where=mass > 0.0)
        row = first // levels.shape[1]
        calibration = np.bincount(row, mass * (levels.ravel()[first] - means) ** 2)
        sharpness = self.mean_eta_squared() - np.bincount(row, mass * means**2)
        shape = values.shape[:-1]
        total = calibration + sharpness
        return Risk(*(part.reshape(shape)[()] for part in (calibration, sharpness, total, total + self.irreducible())))

    def _mean(self, integrand: Callable[[Float64s, Float64s], Any]) -> float:
        """E[integrand(eta, score)]."""
        scores = expit(GRID)
        heights = integrand(np.asarray(expit(2.0 * MEAN * GRID + logit(self.rate))), scores) * self._density()
        return float(heights.sum() * (GRID[1] - GRID[0]))

    def _density(self) -> Float64s:
        """Of X, on the grid; ends are below 1e-31, so a plain sum is the trapezoidal rule."""
        ones, zeros = (np.exp(-0.5 * (GRID - mean) ** 2) for mean in (MEAN, -MEAN))
        return np.asarray((self.rate * ones + (1.0 - self.rate) * zeros) / np.sqrt(2.0 * np.pi))


def _between(x: Float64s) -> Float64s:
    """Normal mass between neighbours, from the side where the cdf is small, so that far bins keep their digits."""
    lower, upper = x[..., :-1], x[..., 1:]
    in_right_tail = lower > 0.0
    low, high = np.where(in_right_tail, -upper, lower), np.where(in_right_tail, -lower, upper)
    return np.asarray(ndtr(high) - ndtr(low))
