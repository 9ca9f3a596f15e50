"""Promises about target populations, by simulation with known truth: weights, class rates, and the risk of moving a model."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from simulation.failures import ALPHA, assert_at_most, sizes

import fastbin as fb
from fastbin import shift, theory
from oracle import REPOSITORY, script

Array = Any


@cache
def experiment(name: str) -> ModuleType:
    return script(REPOSITORY / "bench" / "papers" / f"{name}.py")


REPETITIONS = sizes(40, 1000)


class Tilted:
    """Source features (x, u) uniform on the square; the score is x, the weight (1/2 + x) 2 u, so at least 0 and at most 3.

    P(Y = 1 | x, u) = low + slope x u. Given x, the weighted mean of the frequency is low + slope x 2 / 3, and the weight's
    mean 1/2 + x: target frequencies of bins are ratios of polynomials.
    """

    weight_bound = 3.0

    def __init__(self, low: float, slope: float) -> None:
        self.low, self.slope = low, slope

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        x, u = rng.random(n), rng.random(n)
        return x, (rng.random(n) < self.low + self.slope * x * u).astype(int), (0.5 + x) * 2 * u

    def truth(self, edges: Array) -> Array:
        """Target frequency of each bin."""
        ends = np.concatenate([[0.0], edges, [1.0]])
        slope = 2 / 3 * self.slope
        mass = 0.5 * ends + ends**2 / 2
        ones = 0.5 * self.low * ends + (self.low + 0.5 * slope) * ends**2 / 2 + slope * ends**3 / 3
        return np.diff(ones) / np.diff(mass)

    def largest_weights(self, edges: Array) -> Array:
        """In each bin."""
        return (0.5 + np.concatenate([edges, [1.0]])) * 2


POPULATIONS = {"common": Tilted(0.1, 0.8), "rare": Tilted(0.005, 0.05)}
PARTITIONS: dict[str, dict[str, Any]] = {
    "umd": {"n_bins": 5},
    "ums": {"n_bins": 5, "scheme": "ums"},
    "unequal": {"partition": [0.02, 0.6, 0.95]},
}
METHODS = ("betting", "self-normalised-hoeffding", "empirical-bernstein")


@pytest.mark.sampled
@pytest.mark.parametrize("repetitions", REPETITIONS)
@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("population", POPULATIONS)
def test_weighted_intervals_cover_the_target(population: str, partition: str, repetitions: int) -> None:
    source = POPULATIONS[population]
    missed = dict.fromkeys(METHODS, 0)
    for repetition in range(repetitions):
        cal = shift.ImportanceWeightedBinning(**PARTITIONS[partition], seed=repetition)
        cal.fit(*source.draw(600, np.random.default_rng([7, repetition])))
        truth, limits = source.truth(cal.model_.edges), source.largest_weights(cal.model_.edges)
        for method in METHODS:
            ends = cal.interval(ALPHA, method, weight_bound=limits)
            missed[method] += bool(((ends[:, 0] > truth) | (ends[:, 1] < truth)).any())
    for failures in missed.values():
        assert_at_most(failures, repetitions)


@pytest.mark.parametrize("repetitions", REPETITIONS)
def test_theorems_7_and_10_cover_the_target(repetitions: int) -> None:
    edges, missed = np.array([0.3, 0.7]), {"theorem7": 0, "theorem10": 0}
    rates = np.array([0.2, 0.5, 0.8])
    relative = 1 / np.array([0.65, 1.0, 1.35])  # weights 1/2 + x: their means in the bins
    for repetition in range(repetitions):
        rng = np.random.default_rng([8, repetition])
        x = rng.random(4000)
        labels = rng.random(4000) < rates[np.searchsorted(edges, x)]
        cal = shift.ImportanceWeightedBinning(partition=edges, estimator="known-mass")
        cal.fit(x, labels, 0.5 + x, relative_mass=relative)
        for method in missed:
            ends = cal.interval(ALPHA, method, weight_bound=1.5, weight_min=0.5)
            missed[method] += bool(((ends[:, 0] > rates) | (ends[:, 1] < rates)).any())
            if method == "theorem10":
                assert np.diff(ends).max() < 0.5
    for failures in missed.values():
        assert_at_most(failures, repetitions)


@pytest.mark.parametrize("repetitions", REPETITIONS)
@pytest.mark.parametrize("method", ["betting", "self-normalised-hoeffding"])
def test_weights_that_lie_about_labels_are_allowed_for(method: str, repetitions: int) -> None:
    """The worst there is: all label-1 samples too heavy by the factor, all label-0 samples too light."""
    source, factor = POPULATIONS["common"], 1.25
    missed = 0
    trusting = 0
    for repetition in range(repetitions):
        scores, labels, weights = source.draw(1500, np.random.default_rng([9, repetition]))
        cal = shift.ImportanceWeightedBinning(4, seed=repetition)
        cal.fit(scores, labels, weights * np.where(labels == 1, factor, 1 / factor), estimated=True)
        truth = source.truth(cal.model_.edges)
        bound = source.weight_bound * factor
        for error in (factor, 1.0):
            ends = cal.interval(ALPHA, method, weight_bound=bound, weight_error=error)
            is_missed = bool(((ends[:, 0] > truth) | (ends[:, 1] < truth)).any())
            missed, trusting = missed + (is_missed and error > 1), trusting + (is_missed and error == 1)
    assert_at_most(missed, repetitions)
    if method == "betting":
        assert trusting > 2 * ALPHA * repetitions


def test_betting_says_something_where_theorem_7_does_not() -> None:
    """Widths at n = 3000 with 10 bins, weights in [1/2, 3/2]: 0.5 is the width of saying nothing."""
    rng = np.random.default_rng(0)
    x = rng.random(3000)
    cal = shift.ImportanceWeightedBinning(10).fit(x, rng.random(3000) < 0.2 + 0.6 * x, 0.5 + x)
    told = {"weight_bound": 1.5, "weight_min": 0.5}
    half = {method: np.diff(cal.interval(ALPHA, method, **told)).max() / 2 for method in (*METHODS, "theorem7")}
    assert half["theorem7"] == 0.5
    assert half["betting"] < half["self-normalised-hoeffding"] < 0.3


def test_estimated_weights_approach_known_ones() -> None:
    errors = []
    for n in (200, 2000):
        rng = np.random.default_rng(n)
        features, target = rng.random((n, 1)), rng.beta(2, 1, (n, 1))
        labels = rng.random(n) < features[:, 0] ** 2
        ulsif = shift.ULSIF(sigmas=np.logspace(-1, 1, 5), lambdas=np.logspace(-3, 1, 5), n_centers=30)
        cal = shift.ImportanceWeightedBinning(partition=[0.25, 0.5, 0.75]).fit_to_target(
            features[:, 0], labels, features, target, importance=ulsif
        )
        known = shift.ImportanceWeightedBinning(partition=[0.25, 0.5, 0.75]).fit(features[:, 0], labels, 2 * features[:, 0])
        errors.append(np.abs(cal.model_.values - known.model_.values).max())
    assert errors[1] < errors[0]
    assert errors[1] < 0.03


@pytest.mark.parametrize("repetitions", REPETITIONS)
@pytest.mark.parametrize(("rate", "n_target"), [(0.1, 100), (0.02, 60)])
def test_moved_intervals_cover_the_target(rate: float, n_target: int, repetitions: int) -> None:
    family = experiment("gaussians").TwoGaussians
    source, target = family(0.5), family(rate)
    missed = 0
    for repetition in range(repetitions):
        rng = np.random.default_rng([10, repetition])
        model = fb.UniformMassBinning(6, seed=repetition).fit(*source.sample(600, rng)).model_
        cal = shift.LabelShift(model, smoothing="add-half").fit(labels=target.sample(n_target, rng)[1])
        masses, positive = target.bins(model.edges)
        ends, truth = cal.interval(ALPHA), positive / masses
        is_missed = bool(((ends[:, 0] > truth) | (ends[:, 1] < truth)).any())
        missed += is_missed
        # The certificate follows from the intervals.
        assert is_missed or (np.abs(cal.model_.values - truth) <= np.array(cal.certificate(ALPHA).radii) + 1e-12).all()
    assert_at_most(missed, repetitions)


@pytest.mark.sampled
@pytest.mark.parametrize("repetitions", REPETITIONS)
@pytest.mark.parametrize("estimate", [shift.rate_by_likelihood, shift.rate_by_confusion])
@pytest.mark.parametrize("rate", [0.5, 0.1])
def test_rates_from_scores_alone(rate: float, estimate: Callable[..., shift.RateEstimate], repetitions: int) -> None:
    """The bootstrap is approximate: it is held to covering nearly as often as it says."""
    family = experiment("gaussians").TwoGaussians
    source, target = family(0.3), family(rate)
    estimates, missed = [], 0
    for repetition in range(repetitions):
        rng = np.random.default_rng([11, repetition])
        model = fb.UniformMassBinning(8).fit(*source.sample(2000, rng)).model_
        told = estimate(model, target.sample(500, rng)[0], n_bootstrap=100, seed=repetition)
        estimates.append(told.rate)
        missed += not told.lower <= rate <= told.upper
    assert np.mean(estimates) == pytest.approx(rate, abs=0.005 + 4 * np.std(estimates) / np.sqrt(repetitions))
    assert_at_most(missed, repetitions, 1.5 * ALPHA)


def test_equation_18_bounds_the_risk_of_every_move() -> None:
    """Not a matter of chance: the risks are exact, and the theorem holds for any source model and any rates."""
    family = experiment("gaussians").TwoGaussians
    rng = np.random.default_rng(12)
    for _ in range(60):
        p, q, p_used, q_used = rng.uniform(0.05, 0.95, 4)
        source, target = family(p), family(q)
        model = fb.UniformMassBinning(6, scheme="umb").fit(*source.sample(300, rng)).model_
        moved = theory.shift_probabilities(model.values, source_rate=p_used, target_rate=q_used)
        bound = theory.label_shift_risk(
            source.step_risk(model.edges, model.values).total,
            source_rate=p, target_rate=q, estimated_source_rate=p_used, estimated_target_rate=q_used,
        )  # fmt: skip
        assert target.step_risk(model.edges, moved).total <= bound.total


def test_table_1_of_sun_song_and_hero() -> None:
    paper = experiment("ssh23_table1")
    risks = paper.table(100, 9, 4)
    for method, columns in paper.PAPER.items():
        for (told, spread), ours in zip(columns, risks[method], strict=True):
            assert abs(np.mean(ours) - told) <= spread, method
    best = min(paper.PAPER, key=lambda method: float(np.mean(risks[method].total)))
    assert best == "COMPOSITE"
