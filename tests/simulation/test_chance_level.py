"""The chance level of calibration errors against label sets that are drawn from the predictions themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom
from simulation.failures import sizes

from fastbin import assess

PREDICTORS = {
    "uniform": lambda rng, n: rng.random(n),
    "rare": lambda rng, n: rng.beta(0.3, 30.0, n),
    "extreme": lambda rng, n: rng.beta(0.05, 0.05, n),
    "ten values": lambda rng, n: rng.choice((np.arange(10) + 0.5) / 10, n),
    "four rare values": lambda rng, n: rng.choice([1e-4, 1e-3, 0.01, 0.05], n, p=[0.4, 0.3, 0.2, 0.1]),
}


@pytest.mark.parametrize(("n", "rate"), [(60, 0.1), (150, 0.01), (200, 0.1), (500, 0.05), (1000, 0.05), (5000, 0.02)])
def test_few_errors_are_possible(n: int, rate: float) -> None:
    """All label sums of one value, exactly: an error that is the point itself, and is rounded otherwise, does not exceed it."""
    exceeding = 0.0
    for ones in range(int(n * rate + 8 * math.sqrt(n * rate)) + 1):
        table = assess.reliability_table(np.full(n, rate), np.arange(n) < ones, alpha=None)
        assert table.chance_level is not None
        above = table.ece() > table.chance_level.ece_95
        exceeding += above * binom.pmf(ones, n, rate)
        assert above == (np.abs(table.gaps).max() > table.chance_level.max_gap_95)
    assert exceeding <= 0.05 + 4.0 * math.sqrt(0.05 * 0.95 * 1e-4)


@pytest.mark.parametrize("name", PREDICTORS)
@pytest.mark.parametrize(("n", "runs"), sizes((600, 1000), (20_000, 10_000)))
def test_expectation_and_95_percent_point(name: str, n: int, runs: int) -> None:
    rng = np.random.default_rng(7)
    predictions = PREDICTORS[name](rng, n)
    table = assess.reliability_table(predictions, rng.random(n) < predictions, alpha=None)
    level = table.chance_level
    assert level is not None
    edges = table.lower[1:]
    bins = np.searchsorted(edges, predictions, side="right")
    order = np.argsort(bins, kind="stable")
    starts = np.searchsorted(bins[order], np.arange(len(table.counts)))
    errors, gaps = np.empty(runs), np.empty(runs)
    for run in range(runs):
        off = np.abs(np.add.reduceat((rng.random(n) < predictions)[order] - predictions[order], starts))
        errors[run], gaps[run] = off.sum() / n, (off / table.counts).max()
    for found, mean, point in ((errors, level.ece, level.ece_95), (gaps, level.max_gap, level.max_gap_95)):
        noise = 4.0 * found.std() * math.sqrt(1.0 / runs + 1.0 / 10_000)
        assert abs(found.mean() - mean) <= noise + 0.003 * mean
        assert np.mean(found > point) <= 0.05 + 4.0 * math.sqrt(0.05 * 0.95 * (1.0 / runs + 1e-4))
        # Few sums are possible where labels are rare: the point may be one of them or the next.
        assert np.mean(found >= point - 1e-9 - noise) >= 0.05 - 4.0 * math.sqrt(0.05 * 0.95 * (1.0 / runs + 1e-4))
