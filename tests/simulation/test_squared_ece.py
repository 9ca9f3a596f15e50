"""Each end of the interval for the squared calibration error misses about as often as it says, against known truth."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from simulation.failures import ALPHA, assert_at_most, sizes

import fastbin as fb

TENTHS = (np.arange(10) + 0.5) / 10
SIGNS = np.where(np.arange(10) % 2, 1.0, -1.0)


class Setting(NamedTuple):
    """A predictor with few values, what is true of them, their masses, and the size of a test set."""

    predictions: np.ndarray
    rates: np.ndarray
    masses: np.ndarray
    n: int

    @property
    def truth(self) -> float:
        return float(np.dot(self.masses, (self.rates - self.predictions) ** 2))


def _off(n: int, times_noise: float, predictions: np.ndarray = TENTHS) -> Setting:
    """Ten values of equal mass, each off by so many standard errors of its rate."""
    noise = np.sqrt(predictions * (1.0 - predictions) / (n / 10))
    return Setting(predictions, np.clip(predictions + times_noise * noise * SIGNS, 0.0, 1.0), np.full(10, 0.1), n)


SETTINGS = {
    **{f"{times:g} noises, n = {n}": _off(n, times) for n in (300, 1000, 3000) for times in (0.0, 0.5, 1.0, 2.0, 3.0)},
    "rare, 1 noise": _off(3000, 1.0, TENTHS / 50),
    "three values, all 0.1 too low": Setting(np.array([0.1, 0.3, 0.6]), np.array([0.2, 0.4, 0.7]), np.full(3, 1 / 3), 1000),
    "three values, n = 60": Setting(np.array([0.1, 0.3, 0.6]), np.array([0.2, 0.4, 0.7]), np.full(3, 1 / 3), 60),
    "one value, 1 noise": Setting(np.array([0.3]), np.array([0.3 + math.sqrt(0.21 / 1000)]), np.ones(1), 1000),
    "one value, calibrated": Setting(np.array([0.3]), np.array([0.3]), np.ones(1), 1000),
    "one bad value of ten": Setting(TENTHS, np.append(TENTHS[:9], 0.8), np.full(10, 0.1), 1000),
    "fifty values": Setting((np.arange(50) + 0.5) / 50, np.clip((np.arange(50) + 0.5) / 50 + 0.05, 0, 1), np.full(50, 0.02),
    2000), "unequal masses": Setting(np.array([0.02, 0.2, 0.9]), np.array([0.03, 0.3, 0.7]), np.array([0.9, 0.09, 0.01]),
    3000), "n = 100,000, clear error": Setting(TENTHS, 0.8 * TENTHS, np.full(10, 0.1), 100_000),
}  # fmt: skip


def misses(setting: Setting, runs: int, seed: int) -> tuple[int, int]:
    """How often the truth was below the lower end, and above the upper end. Counts enter as frequencies."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(setting.n, setting.masses, size=runs)
    ones = rng.binomial(counts, setting.rates)
    predictions, labels = np.repeat(setting.predictions, 2), np.tile([1, 0], len(setting.masses))
    below = above = 0
    for count, one in zip(counts, ones, strict=True):
        frequencies = np.stack([one, count - one], axis=1).ravel()
        lower, upper = fb.assess.squared_ece(
            predictions, labels, grouping="values", sample_weight=frequencies, alpha=ALPHA
        ).interval
        below += setting.truth < lower
        above += upper < setting.truth
    return below, above


@pytest.mark.sampled
@pytest.mark.parametrize(("runs", "seed"), sizes((400, 3), (20_000, 4)))
@pytest.mark.parametrize("name", list(SETTINGS))
def test_each_end_misses_at_most_as_often_as_it_says(name: str, runs: int, seed: int) -> None:
    below, above = misses(SETTINGS[name], runs, seed)
    print(f"{name}: below {below / runs:.4f}, above {above / runs:.4f}")
    assert_at_most(below, runs, 1.2 * ALPHA / 2)  # approximate: a fifth of the level is granted
    assert_at_most(above, runs, 1.2 * ALPHA / 2)


@pytest.mark.parametrize(("runs", "seed"), sizes((400, 5), (5000, 6)))
def test_importance_weights(runs: int, seed: int) -> None:
    rng, n, missed = np.random.default_rng(seed), 1500, np.zeros(2, int)
    values, rates = np.array([0.2, 0.5, 0.8]), np.array([0.25, 0.5, 0.75])
    for _ in range(runs):
        group, weights = rng.integers(0, 3, n), rng.choice([0.5, 1.5], n)
        found = fb.assess.squared_ece(values[group], rng.random(n) < rates[group], sample_weight=weights, alpha=ALPHA)
        truth = float(np.mean((values - rates) ** 2))
        missed += truth < found.interval[0], found.interval[1] < truth
    assert_at_most(int(missed[0]), runs, 1.2 * ALPHA / 2)
    assert_at_most(int(missed[1]), runs, 1.2 * ALPHA / 2)


def test_the_interval_at_the_ends() -> None:
    one_label = fb.assess.squared_ece([0.02] * 200 + [0.1] * 100, [0] * 300)
    assert one_label.interval[0] <= one_label.estimate < one_label.interval[1]
    assert one_label.interval[1] < 0.01
    perfect = fb.assess.squared_ece([0.0] * 50 + [1.0] * 50, [0] * 50 + [1] * 50)
    assert perfect.interval[0] == 0.0 < perfect.interval[1] < 0.01
    wrong = fb.assess.squared_ece([0.0] * 50 + [1.0] * 50, [1] * 50 + [0] * 50)
    assert 0.8 < wrong.interval[0] < wrong.interval[1] == 1.0
    negative = fb.assess.squared_ece([0.5] * 100, [0, 1] * 50)
    assert negative.estimate < 0.0 == negative.interval[0] < negative.interval[1]
