"""Time-uniform intervals miss at no time, and weighted intervals miss the target frequency, at most as often as they say."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from simulation.failures import ALPHA, assert_at_most, sizes

from fastbin.intervals import (
    beta_binomial,
    betting,
    clopper_pearson,
    self_normalised_hoeffding,
    stitched,
    weighted_empirical_bernstein,
)
from fastbin.theory import running_variance, theorem6, theorem10

PATHS = sizes((500, 400, 21), (20_000, 1000, 22))


@pytest.mark.sampled
@pytest.mark.parametrize(("paths", "length", "seed"), PATHS)
@pytest.mark.parametrize("frequency", [0.5, 0.9, 0.05, 0.002])
def test_beta_binomial_covers_at_all_times_at_once(frequency: float, paths: int, length: int, seed: int) -> None:
    labels = np.random.default_rng(seed).random((paths, length)) < frequency
    sums = np.cumsum(labels, axis=1)
    times = np.arange(length)
    seen = np.zeros((length, length + 1), dtype=bool)
    seen[times, sums] = True
    before, ones = np.nonzero(seen)  # each sum that some path has at some time, once

    def missed(bound: Callable[..., np.ndarray]) -> np.ndarray:
        """For each path whether it is missed at each time."""
        low, high = bound(ones, before + 1, ALPHA).T
        of_sums = np.zeros(seen.shape, dtype=bool)
        of_sums[before, ones] = (low > frequency) | (high < frequency)
        return np.asarray(of_sums[times, sums])

    assert_at_most(int(missed(beta_binomial).any(axis=1).sum()), paths)
    if frequency == 0.5:
        # An interval for a count fixed in advance, looked at again and again, misses far more often than it says.
        assert missed(clopper_pearson)[:, 9::10].any(axis=1).mean() > 2.5 * ALPHA


@pytest.mark.parametrize(("paths", "length", "seed"), PATHS)
@pytest.mark.parametrize("frequency", [0.5, 0.05])
@pytest.mark.parametrize("bound", [stitched, theorem6])
def test_stitched_and_theorem6_cover_at_all_times_at_once(
    bound: Callable[..., np.ndarray], frequency: float, paths: int, length: int, seed: int
) -> None:
    labels = (np.random.default_rng(seed).random((paths, length)) < frequency).astype(np.int64)
    sums, variances = np.zeros(paths, dtype=np.int64), np.zeros(paths)
    ever_missed = np.zeros(paths, dtype=bool)
    for t in range(1, length + 1):
        before = sums / (t - 1) if t > 1 else np.full(paths, 0.5)
        variances += (labels[:, t - 1] - before) ** 2
        sums += labels[:, t - 1]
        intervals = bound(sums, np.full(paths, t), variances, ALPHA)
        ever_missed |= (intervals[:, 0] > frequency) | (intervals[:, 1] < frequency)
    assert variances[0] == pytest.approx(running_variance(labels[0]))
    assert_at_most(int(ever_missed.sum()), paths)


WEIGHTED: dict[str, tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray], float]] = {
    # weight and frequency as functions of a uniform covariate, and the bound on the weight
    "mild": (lambda x: 0.5 + x, lambda x: 0.3 + 0.4 * x, 1.5),
    "against": (lambda x: 0.2 + 2.4 * x, lambda x: 0.9 - 0.8 * x, 2.6),
    "from zero": (lambda x: 4.0 * x**3, lambda x: 0.5 + 0.5 * np.sin(9.0 * x), 4.0),
    "rare label": (lambda x: 0.5 + x, lambda x: 0.02 + 0.02 * x, 1.5),
    "no weights": (np.ones_like, lambda x: np.full_like(x, 0.26), 1.0),
    "two weights": (lambda x: np.where(x < 0.5, 0.5, 1.5), lambda x: np.where(x < 0.5, 0.1, 0.3), 1.5),
    "few heavy": (lambda x: np.where(x < 0.004, 100.0, 0.6), lambda x: np.where(x < 0.004, 0.9, 0.1), 100.0),
}
INTERVALS: dict[str, Callable[..., np.ndarray]] = {
    "hoeffding": lambda w, y, bound, bins: self_normalised_hoeffding(
        np.bincount(bins, w * y), np.bincount(bins, w), np.bincount(bins), ALPHA, bound
    ),
    "bernstein": lambda w, y, bound, bins: weighted_empirical_bernstein(w, y, ALPHA, bound, bins=bins),
    "betting": lambda w, y, bound, bins: betting(w, y, ALPHA, bound, bins=bins),
}
REPETITIONS = sizes((150, 31), (20_000, 32))


@cache
def target_of(setting: str) -> float:
    """The mean of the frequency by weight, over a million places."""
    weight, frequency, _ = WEIGHTED[setting]
    grid = (np.arange(10**6) + 0.5) / 10**6
    return float((weight(grid) * frequency(grid)).sum() / weight(grid).sum())


@pytest.mark.sampled
@pytest.mark.parametrize(("repetitions", "seed"), REPETITIONS)
@pytest.mark.parametrize("setting", list(WEIGHTED))
@pytest.mark.parametrize("method", list(INTERVALS))
def test_weighted_intervals_cover_the_target(method: str, setting: str, repetitions: int, seed: int) -> None:
    (weight, frequency, bound), target = WEIGHTED[setting], target_of(setting)
    x = np.random.default_rng(seed).random((repetitions, 60))
    labels = np.random.default_rng(seed + 1).random(x.shape) < frequency(x)
    # The third whose means are farthest from the target, in a quick test: where intervals miss too often they miss these.
    kept = repetitions if repetitions > 1000 else repetitions // 3
    far = np.argsort(-np.abs((weight(x) * (labels - target)).sum(axis=1)))[:kept]
    x, labels = x[far], labels[far]
    intervals = INTERVALS[method](weight(x).ravel(), labels.ravel(), bound, np.repeat(np.arange(len(x)), 60))
    assert_at_most(int(((intervals[:, 0] > target) | (intervals[:, 1] < target)).sum()), repetitions)
    if setting == "mild":
        assert np.diff(intervals, axis=1).mean() < (0.9 if method == "bernstein" else 0.75)


@pytest.mark.parametrize(("repetitions", "seed"), REPETITIONS)
def test_theorem10_covers_the_target_of_a_known_mass(repetitions: int, seed: int) -> None:
    weight, frequency, bound = WEIGHTED["mild"]
    target = target_of("mild")  # the mean weight is 1, so the masses are equal
    x = np.random.default_rng(seed).random((repetitions, 200))
    labels = np.random.default_rng(seed + 1).random(x.shape) < frequency(x)
    bins = np.repeat(np.arange(repetitions), 200)
    intervals = theorem10(weight(x).ravel(), labels.ravel(), ALPHA, bound, 1.0, bins=bins)
    assert_at_most(int(((intervals[:, 0] > target) | (intervals[:, 1] < target)).sum()), repetitions)
    assert np.diff(intervals, axis=1).mean() < 0.75


def test_an_effective_sample_size_is_not_a_guarantee() -> None:
    # What the weighted intervals are for: Clopper-Pearson on (sum w)^2 / sum w^2 fails with a few heavy weights.
    weight, frequency, _ = WEIGHTED["few heavy"]
    target = (0.004 * 100 * 0.9 + 0.996 * 0.6 * 0.1) / (0.4 + 0.996 * 0.6)
    x = np.random.default_rng(41).random((500, 300))
    w, y = weight(x), np.random.default_rng(42).random(x.shape) < frequency(x)
    effective = np.rint(w.sum(axis=1) ** 2 / (w**2).sum(axis=1)).astype(np.int64)
    sums = np.rint(effective * (w * y).sum(axis=1) / w.sum(axis=1)).astype(np.int64)
    intervals = clopper_pearson(sums, effective, ALPHA)
    assert ((intervals[:, 0] > target) | (intervals[:, 1] < target)).mean() > 2 * ALPHA
