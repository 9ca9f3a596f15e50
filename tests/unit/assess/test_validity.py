"""Validity curves as objects: evaluation, means over repetitions, and what uniform-mass binning promises of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fastbin as fb
from fastbin import assess, theory
from fastbin.assess import ValidityCurve


def test_a_curve_steps_where_the_gaps_are() -> None:
    # A rate of 1/4 against 0.25 and of 1/2 against 0.375: gaps 0 and 1/8, exact in doubles.
    curve = assess.validity_curve([0.25] * 4 + [0.375] * 2, [1, 0, 0, 0, 1, 0])
    assert curve.epsilons.tolist() == [0.0, 0.125]
    assert curve.heights.tolist() == [4 / 6, 1.0]
    assert curve([0.0, 0.1, 0.125, 1.0]).tolist() == [4 / 6, 4 / 6, 1.0, 1.0]
    assert isinstance(curve(0.1), float)
    assert curve.epsilon_at(0.5) == 0.0
    assert curve.epsilon_at(0.9) == 0.125
    assert curve.epsilon_at(0.0) == 0.0
    assert curve.area() == 1.0 - 0.125 * 2 / 6
    with pytest.raises(fb.InputError, match="epsilon is NaN"):
        curve(math.nan)
    with pytest.raises(fb.InputError, match=r"share is 1\.5"):
        curve.epsilon_at(1.5)


def test_the_mean_curve_is_the_mean_everywhere() -> None:
    rng = np.random.default_rng(2)
    curves = []
    for _ in range(30):
        predictions = rng.choice([0.1, 0.4, 0.8], 200)
        curves.append(assess.validity_curve(predictions, rng.random(200) < predictions))
    mean = theory.mean_validity_curve(curves)
    epsilons = np.concatenate([mean.epsilons, rng.random(200), [0.0, 1.0]])
    heights = np.array([curve(epsilons) for curve in curves])
    np.testing.assert_allclose(mean(epsilons), heights.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(mean.standard_error(epsilons), heights.std(axis=0, ddof=1) / math.sqrt(30), atol=1e-15)
    assert math.isclose(mean.area(), np.mean([curve.area() for curve in curves]), rel_tol=1e-12)
    assert mean.n_curves == 30


def test_the_mean_of_one_curve_has_no_standard_error() -> None:
    mean = theory.mean_validity_curve([ValidityCurve(np.array([0.1]), np.ones(1))])
    assert mean(0.1) == 1.0
    assert math.isnan(mean.standard_error(0.1))


def test_means_refuse_what_is_no_curve() -> None:
    with pytest.raises(fb.InputError, match="curves is empty"):
        theory.mean_validity_curve([])
    with pytest.raises(fb.InputTypeError, match=r"curves\[0\] is a float"):
        theory.mean_validity_curve([0.5])  # type: ignore[list-item]


def test_promised_curves() -> None:
    """Gupta & Ramdas 2021, Theorem 4: 1 - 2 exp(-2 (floor(n / B) - 1) epsilon^2), and with 2 B where conditional."""
    marginal = assess.promised_validity(0.1, 1510, 10)
    assert math.isclose(float(marginal), 1 - 2 * math.exp(-2 * 150 * 0.01))
    conditional = assess.promised_validity([0.0, 0.1], 2900, 10, kind="conditional")
    assert conditional.tolist() == [0.0, 1 - 20 * math.exp(-2 * 289 * 0.1**2)]
    assert assess.promised_validity(0.1, 1509, 10) < 0.9 <= marginal  # the smallest size with (0.1, 0.1) by Theorem 4
    # Exact: bins of floor((n + 1) / B) - 1 = 70 samples are enough, and 165 where all bins must hold at once.
    for kind, n in (("marginal", 709), ("conditional", 1659)):
        before, after = (float(assess.promised_validity(0.1, size, 10, kind=kind, bound="a-priori")) for size in (n - 1, n))
        assert before < 0.9 <= after
    with pytest.raises(fb.InputError, match="n_samples is 19"):
        assess.promised_validity(0.1, 19, 10)
    with pytest.raises(fb.InputError, match=r"epsilon is -0.1"):
        assess.promised_validity(-0.1, 100, 10)


def test_exact_promises_are_never_below_the_closed_form() -> None:
    epsilons = np.linspace(0.0, 1.0, 21)
    for kind in ("marginal", "conditional"):
        closed, exact = (
            assess.promised_validity(epsilons, 300, 7, kind=kind, bound=bound) for bound in ("hoeffding", "a-priori")
        )
        assert (exact >= closed).all()
        assert (np.diff(exact) >= 0.0).all()
        assert exact[-1] == 1.0


def test_the_promise_holds_for_the_true_validity() -> None:
    """Labels of known frequency: V of the fitted binning, averaged over 300 fits, stays above what was promised."""
    rng, n, n_bins = np.random.default_rng(8), 400, 8
    epsilons = np.array([0.05, 0.1, 0.15])
    marginal, conditional = np.zeros(3), np.zeros(3)
    for seed in range(300):
        scores = rng.random(n)
        model = fb.UniformMassBinning(n_bins, seed=seed).fit(scores, rng.random(n) < scores).model_
        ends = np.concatenate([[0.0], model.edges, [1.0]])
        gaps, masses = np.abs((ends[1:] + ends[:-1]) / 2 - model.values), np.diff(ends)
        inside = gaps <= epsilons[:, None]
        marginal += inside @ masses
        conditional += inside.all(axis=1)
    for kind, seen in (("marginal", marginal / 300), ("conditional", conditional / 300)):
        promised = assess.promised_validity(epsilons, n, n_bins, kind=kind, bound="a-priori")
        assert (seen >= promised - 3 * np.sqrt(promised * (1 - promised) / 300)).all()
