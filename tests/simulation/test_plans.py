"""Plans of labels and batches of known size, against known truth (docs/guarantees.md, Theorems F24 and F25).

Ten bins, alpha = 0.1. Bins are those of 20,000 rows without labels; the labels of a bin at its looks are binomial increments.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom
from simulation.failures import ALPHA, assert_at_most, sizes
from simulation.laws import PROFILES

import fastbin as fb
from fastbin.guarantees.stopping import Rule, looks_of, radius_of_counts, rule_for
from fastbin.intervals import clopper_pearson, sidak
from fastbin.intervals.finite import rates_of_batch

Array = npt.NDArray[np.float64]
Rates = Callable[[Array], Array]

N_BINS, N_ROWS = 10, 20_000
LEVEL = sidak(ALPHA, N_BINS)
TRUTHS: dict[str, Rates] = {
    **{name: PROFILES[name][0] for name in ("flat", "linear", "rare", "sharp", "credit", "wave")},
    "flat .02": lambda s: np.full_like(s, 0.02),
    "cubic": lambda s: 0.02 + 0.9 * s**3,
    "top fifth": lambda s: np.where(s > 0.8, 0.4, 0.01),
}
# Labels on average at epsilon = .05, and which share of those of a random sample, labelled until all bins are near enough, is
# saved at .05 and at .1, at least.
EXPECTED = {
    "flat": (7210, -0.01, -0.01), "flat .02": (1631, -0.03, 0.0), "linear": (5387, 0.25, 0.20), "rare": (1908, 0.36, 0.26),
    "sharp": (3286, 0.52, 0.44), "credit": (4612, 0.36, 0.29), "cubic": (4244, 0.41, 0.34), "wave": (5143, 0.28, 0.23),
    "top fifth": (2519, 0.65, 0.54),
}  # fmt: skip
_GRID = np.linspace(0.0, 1.0, 4001)


def rates_of_bins(truth: Rates, rng: np.random.Generator, repetitions: int) -> Array:
    """The true rate of each bin, between order statistics of the pool."""
    ranks = np.ceil(np.arange(1, N_BINS) * (N_ROWS + 1) / N_BINS).astype(int)
    gaps = rng.gamma(np.diff(np.concatenate([[0], ranks, [N_ROWS + 1]])), size=(repetitions, N_BINS))
    edges = np.concatenate([np.zeros((repetitions, 1)), np.cumsum(gaps, axis=1) / gaps.sum(axis=1, keepdims=True)], axis=1)
    middles = (_GRID[1:] + _GRID[:-1]) / 2.0
    area = np.interp(edges, _GRID, np.concatenate([[0.0], np.cumsum(truth(middles))]) / len(middles))
    return np.diff(area, axis=1) / np.diff(edges, axis=1)


def labelled(rates: Array, rule: Rule, rng: np.random.Generator) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Labels and ones of each bin when it stops."""
    counts, ones = np.zeros(rates.shape, np.int64), np.zeros(rates.shape, np.int64)
    is_open, before = np.ones(rates.shape, bool), 0
    for look in looks_of(rule):
        ones += np.where(is_open, rng.binomial(look - before, rates), 0)
        counts[is_open], before = look, look
        stops = radius_of_counts(np.arange(look + 1), look, rule.level) <= rule.epsilon
        is_open &= ~stops[ones]
    assert not is_open.any()
    return counts, ones


@pytest.mark.sampled
@pytest.mark.parametrize(("repetitions", "seed"), sizes((200, 1), (5000, 2)))
@pytest.mark.parametrize("epsilon", [0.05, 0.1])
@pytest.mark.parametrize("name", list(TRUTHS))
def test_plans_keep_their_promise_and_save_labels(name: str, epsilon: float, repetitions: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rates = rates_of_bins(TRUTHS[name], rng, repetitions)
    rule = rule_for(epsilon, LEVEL)
    counts, ones = labelled(rates, rule, rng)
    ends = clopper_pearson(ones.ravel(), counts.ravel(), rule.level).reshape(*rates.shape, 2)
    missed = ((rates < ends[..., 0]) | (rates > ends[..., 1])).any(axis=1)
    mean = counts.sum(axis=1).mean()
    at_random = N_BINS * labelled(rates, Rule(epsilon, 0.9 * LEVEL), rng)[0].max(axis=1).mean()
    print(f"{name} {epsilon}: {mean:.0f} labels, {at_random:.0f} at random, coverage {1 - missed.mean():.3f}")
    assert_at_most(int(missed.sum()), repetitions)
    means = ones / counts
    assert (np.maximum(ends[..., 1] - means, means - ends[..., 0]) <= epsilon).all()
    labels, *saved = EXPECTED[name]
    assert 1.0 - mean / at_random > saved[epsilon == 0.1] - 0.02
    if epsilon == 0.05:
        assert mean == pytest.approx(labels, rel=0.03)


GUESSES: dict[str, Rates] = {
    "power": lambda s: s**1.5,
    "reversed": lambda s: 1.0 - s,
    "constant": lambda s: np.full_like(s, 0.02),
}


@pytest.mark.parametrize(("repetitions", "seed"), sizes((500, 3), (5000, 4)))
@pytest.mark.parametrize("guess", list(GUESSES))
@pytest.mark.parametrize("name", ["linear", "rare", "cubic"])
def test_numbers_of_labels_by_wrong_guesses_cost_labels_alone(name: str, guess: str, repetitions: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rates = rates_of_bins(TRUTHS[name], rng, repetitions)
    guessed = GUESSES[guess]((np.arange(N_BINS) + 0.5) / N_BINS)
    numbers = np.arange(20, 800)
    unlucky = binom.ppf(0.8, numbers, guessed[:, None]).astype(np.int64)
    near = radius_of_counts(unlucky.ravel(), np.tile(numbers, N_BINS), LEVEL).reshape(unlucky.shape) <= 0.05
    counts = np.broadcast_to(numbers[np.argmax(near, axis=1)], rates.shape)
    ones = rng.binomial(counts, rates)
    ends = clopper_pearson(ones.ravel(), counts.ravel(), LEVEL).reshape(*rates.shape, 2)
    assert_at_most(int(((rates < ends[..., 0]) | (rates > ends[..., 1])).any(axis=1).sum()), repetitions)


@pytest.mark.parametrize(("repetitions", "seed"), sizes((12, 5), (200, 6)))
@pytest.mark.parametrize("ties", [False, True])
def test_the_whole_way_of_a_plan(ties: bool, repetitions: int, seed: int) -> None:
    """Pools of their own, every round by `rows` and `update`; scores of 50 values, or all different."""
    rng, missed = np.random.default_rng(seed), 0
    for repetition in range(repetitions):
        scores = rng.integers(0, 50, 4000) / 50 if ties else rng.random(4000)
        labels = rng.random(4000) < scores
        plan = fb.decide.plan_labels(scores, epsilon=0.15, n_bins=4, seed=repetition)
        while not plan.done:
            rows = plan.rows()
            plan.update(rows, labels[rows])
        edges = np.concatenate([[0.0], plan.edges, [1.0]])
        values = np.arange(50) / 50
        # A bin of 50 values has the mean of those from its lower edge up to the next one; else the middle between its edges.
        rates = [
            values[(values >= low) & (values < high)].mean() if ties else (low + high) / 2
            for low, high in pairwise(edges.tolist())
        ]
        ends = plan.model_.interval()
        missed += bool(((rates < ends[:, 0]) | (rates > ends[:, 1])).any())
    print(f"ties {ties}: {missed} of {repetitions}")
    assert_at_most(missed, repetitions)


@pytest.mark.sampled
@pytest.mark.parametrize(("repetitions", "seed"), sizes((25, 7), (2000, 8)))
@pytest.mark.parametrize(("size", "drawn"), [(1000, 300), (5000, 1000), (5000, 2500)])
@pytest.mark.parametrize("name", ["flat", "linear", "flat .02"])
def test_batches_of_known_size(name: str, size: int, drawn: int, repetitions: int, seed: int) -> None:
    """One batch, whose labels stay as they are; only the rows that are drawn change."""
    rng = np.random.default_rng(seed)
    scores = rng.random(size)
    labels = rng.random(size) < TRUTHS[name](scores)
    bins = np.argsort(np.argsort(scores)) * N_BINS // size
    truths = np.bincount(bins, labels) / np.bincount(bins)
    missed = 0
    for _ in range(repetitions):
        rows = rng.permutation(size)[:drawn]
        counts, ones = np.bincount(bins[rows], minlength=N_BINS), np.bincount(bins[rows], labels[rows], minlength=N_BINS)
        ends = rates_of_batch(ones.astype(np.int64), counts, np.bincount(bins), LEVEL)
        missed += bool(((truths < ends[:, 0]) | (truths > ends[:, 1])).any())
    print(f"{name} {size} {drawn}: coverage {1 - missed / repetitions:.3f}")
    assert_at_most(missed, repetitions)
