"""Promises of one side by simulation with known truth: how often some bin lies beyond its distance (fastbin, Theorem F28).

`pytest tests/simulation/test_sides.py -m slow -rP` prints the table at full size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from simulation.failures import ALPHA, assert_at_most, sizes

import fastbin as fb

GRID = np.linspace(0.0, 1.0, 20_001)
ATOMS = np.linspace(0.05, 0.95, 13)
MASSES = np.array([0.2, 0.02, 0.02, 0.15, 0.02, 0.02, 0.02, 0.02, 0.15, 0.02, 0.02, 0.02, 0.32])

# The frequency of label 1 at a score.
TRUTHS: dict[str, Callable[[Any], Any]] = {
    "flat": lambda s: np.full(np.shape(s), 0.5),
    "linear": lambda s: s,
    "rare": lambda s: 0.005 + 0.08 * s**2,
    "wave": lambda s: 0.5 + 0.45 * np.sin(12.0 * s),
}


def rates_of(model: fb.BinnedModel, truth: Callable[[Any], Any], *, tied: bool) -> Any:
    """The true frequency of label 1 in each bin."""
    if tied:
        bins, weights, points = model.assign(ATOMS), MASSES, ATOMS
    else:
        points = (GRID[1:] + GRID[:-1]) / 2.0
        bins, weights = model.assign(points), np.full(len(points), 1.0)
    ones, sizes_of = (np.bincount(bins, each, model.n_bins) for each in (weights * truth(points), weights))
    return ones / sizes_of


def served_of(model: fb.BinnedModel, *, tied: bool) -> Any:
    """The average of what is served in each bin of the population."""
    points, weights = (ATOMS, MASSES) if tied else ((GRID[1:] + GRID[:-1]) / 2.0, np.ones(len(GRID) - 1))
    bins = model.assign(points)
    return np.bincount(bins, weights * model.predict(points), model.n_bins) / np.bincount(bins, weights, model.n_bins)


def misses(calibrator: Any, truth: str, n: int, runs: int, *, tied: bool, **options: Any) -> dict[str, int]:
    """In how many samples the truth of some bin is beyond the distance of the bin, on either side."""
    rng, found = np.random.default_rng([n, runs, tied]), {"upper": 0, "lower": 0}
    for _ in range(runs):
        scores = rng.choice(ATOMS, n, p=MASSES) if tied else rng.random(n)
        model = calibrator.fit(scores, rng.random(n) < TRUTHS[truth](scores)).model_
        rates, served = rates_of(model, TRUTHS[truth], tied=tied), served_of(model, tied=tied)
        for side, sign in (("upper", 1.0), ("lower", -1.0)):
            certificate = model.certificate(ALPHA, side=side, **options)
            radii = np.full(model.n_bins, certificate.epsilon) if certificate.radii is None else np.array(certificate.radii)
            found[side] += bool((sign * (rates - served) > radii + 1e-4 * (not tied)).any())
    return found


UMD, CERTIFIED = fb.UniformMassBinning(n_bins=5), fb.CertifiedCalibration(n_bins=5)


@pytest.mark.filterwarnings("ignore:ties='whole' left", "ignore:labels fall as scores rise")
@pytest.mark.parametrize("runs", sizes(60, 2000))
@pytest.mark.parametrize(
    ("calibrator", "truth", "tied", "options"),
    [
        (UMD, "flat", False, {}),
        (UMD, "linear", False, {}),
        (UMD, "rare", False, {}),
        (UMD, "wave", False, {}),
        (UMD, "wave", True, {}),
        (UMD, "flat", True, {}),
        (UMD, "flat", False, {"bound": "a-priori"}),
        (UMD, "linear", False, {"bound": "hull"}),
        (CERTIFIED, "linear", False, {}),
        (CERTIFIED, "wave", False, {}),
    ],
    ids=["flat", "linear", "rare", "wave", "wave-tied", "flat-tied", "a-priori", "hull", "certified", "certified-wave"],
)
def test_no_truth_is_beyond_its_side(calibrator: Any, truth: str, tied: bool, options: dict[str, Any], runs: int) -> None:
    found = misses(calibrator, truth, 400, runs, tied=tied, **options)
    print({side: count / runs for side, count in found.items()})
    for count in found.values():
        assert_at_most(count, runs)


@pytest.mark.parametrize("runs", sizes(2000, 200_000))
@pytest.mark.parametrize("tail", [0.1, 0.25, 0.5])
def test_the_calibration_rows(runs: int, tail: float) -> None:
    """Labels of two probabilities, of which one is 0 or 1: the hardest sums of few rows."""
    from fastbin.intervals.binomial import ends_of_rows

    rng = np.random.default_rng(7)
    for n in (2, 5, 19):
        for first in (0.0, 0.1, 1.0):
            for second in (tail / n, 1.0 / n, 0.5, 1.0 - tail / n):
                probabilities = np.where(np.arange(n) < n // 2, first, second)
                ones = rng.binomial(n // 2, first, runs) + rng.binomial(n - n // 2, second, runs)
                for side in ("upper", "lower"):
                    low, high = ends_of_rows(ones, np.full(runs, n), tail, side).T
                    wrong = (probabilities.mean() > high + 1e-12) | (probabilities.mean() < low - 1e-12)
                    assert_at_most(int(wrong.sum()), runs, tail)
