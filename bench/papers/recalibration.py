"""The protocol of Sun, Song & Hero 2023, Appendix E.1: the risk of uniform-mass binning on samples of D(0.5).

The bounds need the constant K of assumption (A3), which the paper does not state. For D(0.5) it is infinite: E[Y | score] per
unit of probability mass grows without bound in the tails. `SMOOTHNESS` is its value at the centre, which is not exceeded on
all but 1e-20 of the mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from gaussians import TwoGaussians

import fastbin as fb

__all__ = ["ALPHA", "FIGURE_1_BINS", "SIZES", "SMOOTHNESS", "Risks", "bins_around_the_best", "draws_for", "risks_at"]

Float64s = npt.NDArray[np.float64]

POPULATION = TwoGaussians(0.5)
ALPHA, SMOOTHNESS = 0.1, 18.52161694
SIZES = tuple(round(10.0**power) for power in np.arange(2.0, 7.01, 0.5))
# Figure 1's numbers of bins; both parities, since an odd number puts a bin astride the centre.
FIGURE_1_BINS = (6, 7, 9, 10, 13, 16, 20, 25, 31, 40, 49, 62, 79, 100)


def draws_for(n: int, n_rows: int, least: int) -> int:
    """As many draws as make about n_rows samples, up to 200."""
    return int(np.clip(n_rows // n, least, 200))


def bins_around_the_best(n: int) -> list[int]:
    """Even numbers of bins, a factor of about six on either side of 5 n^(1/3), at most n / 2."""
    centre = 5.0 * n ** (1.0 / 3.0)
    wanted = centre * 2.0 ** np.linspace(-2.6, 2.2, 33)
    return sorted({2 * max(1, round(b / 2.0)) for b in wanted if b <= n / 2})


@dataclass(frozen=True)
class Risks:
    """The risks of UMB at one n: a row for each draw, a column for each number of bins."""

    n: int
    n_bins: npt.NDArray[np.int64]
    calibration: Float64s
    sharpness: Float64s

    @property
    def mean(self) -> Float64s:
        """The mean risk for each number of bins."""
        return (self.calibration + self.sharpness).mean(axis=0)

    def best(self) -> tuple[float, float]:
        """The best number of bins and its risk, from a parabola through the logarithms of means near the smallest one."""
        x, y = np.log(self.n_bins), np.log(self.mean)
        near = np.abs(x - x[np.argmin(y)]) <= 0.75
        a, b, c = np.polyfit(x[near], y[near], 2)
        return float(np.exp(-b / (2.0 * a))), float(np.exp(c - b * b / (4.0 * a)))


def risks_at(n: int, n_bins: Sequence[int], n_draws: int, seed: int) -> Risks:
    """Fit to each draw with each number of bins, and integrate."""
    calibration, sharpness = np.empty((n_draws, len(n_bins))), np.empty((n_draws, len(n_bins)))
    for draw in range(n_draws):
        scores, labels = POPULATION.sample(n, np.random.default_rng([seed, n, draw]))
        for place, b in enumerate(n_bins):
            model = fb.UniformMassBinning(b, scheme="umb", seed=draw).fit(scores, labels).model_
            risk = POPULATION.step_risk(model.edges, model.values)
            calibration[draw, place], sharpness[draw, place] = risk.calibration, risk.sharpness
    return Risks(n, np.array(n_bins), calibration, sharpness)
