"""The recalibration risk on test samples, beside its value in the two-Gaussian family, which quadrature gives."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wordings import refused

import fastbin
import fastbin as fb
import oracle
from fastbin import GuaranteeError, InputError, InputTypeError, assess, theory
from fastbin.guarantees.n_bins import integer_cube_root
from oracle import Case, cases, close
from reference import formulas
from reference import sets as reference


@oracle.cases("gauss_step_risk")
def test_population_risk_of_a_step_function(case: Case) -> None:
    """Bin masses are normal cdfs; E[eta^2] by a plain sum over a fine grid."""
    special = pytest.importorskip("scipy.special")
    rate = case.inputs["pi"]
    x = np.concatenate([[-np.inf], special.logit(np.array(case.inputs["cuts_z"])), [np.inf]])
    ones, zeros = rate * np.diff(special.ndtr(x - 2.0)), (1 - rate) * np.diff(special.ndtr(x + 2.0))
    grid = np.linspace(-14.0, 14.0, 100001)
    density = [share * np.exp(-0.5 * (grid - mean) ** 2) for share, mean in ((rate, 2.0), (1 - rate, -2.0))]
    eta = density[0] / (density[0] + density[1])
    second_moment = float((eta**2 * (density[0] + density[1])).sum() * (grid[1] - grid[0]) / math.sqrt(2 * math.pi))
    risk = theory.population_risk(case.inputs["values"], ones + zeros, ones / (ones + zeros), second_moment)
    computed = {
        "Rcal": risk.calibration_risk, "Rsha": risk.sharpness_risk, "R": risk.risk, "MSE": risk.mean_squared_error,
    }  # fmt: skip
    for name, value in case.expected.items():
        assert close(computed[name], value, 1e-9), name


def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores uniform, labels with frequency score^2."""
    scores = rng.random(n)
    return scores, rng.random(n) < scores**2


def test_estimates_meet_the_population() -> None:
    """Steps at 1/2 with values 0.1 and 0.6; E[eta | bins] are 1/12 and 7/12; within-bin variances of z^2 in closed form."""
    rng = np.random.default_rng(1)
    scores, labels = draw(rng, 400_000)
    risk = theory.estimate_risk(np.where(scores < 0.5, 0.1, 0.6), labels, scores, n_cells=100)
    calibration = 0.5 * (0.1 - 1 / 12) ** 2 + 0.5 * (0.6 - 7 / 12) ** 2
    sharpness_risk = 1 / 5 - 0.5 * (1 / 12) ** 2 - 0.5 * (7 / 12) ** 2
    assert abs(risk.calibration_risk - calibration) < 3e-4
    assert abs(risk.sharpness_risk - sharpness_risk) < 2e-3
    assert risk.n_cells in (100, 101)  # one more where the step cuts a cell
    assert risk.mass_left_out == 0.0
    assert math.isclose(risk.plug_in.risk, risk.plug_in.calibration_risk + risk.plug_in.sharpness_risk)
    assert math.isclose(
        risk.plug_in.mean_squared_error, assess.brier_score(np.where(scores < 0.5, 0.1, 0.6), labels), rel_tol=1e-9
    )


def test_debiased_parts_are_centred_and_plug_in_parts_are_not() -> None:
    """Labels that ignore the scores: both risks of the constant 0.3 are zero."""
    rng = np.random.default_rng(2)
    parts = []
    for _ in range(300):
        scores, labels = rng.random(500), rng.random(500) < 0.3
        risk = theory.estimate_risk(np.full(500, 0.3), labels, scores, n_cells=50)
        parts.append((risk.calibration_risk, risk.sharpness_risk, risk.plug_in.sharpness_risk))
    means, errors = np.mean(parts, axis=0), np.std(parts, axis=0) / math.sqrt(300)
    assert abs(means[0]) < 4 * errors[0]
    assert abs(means[1]) < 4 * errors[1]
    assert means[2] > 0.01  # 49 spare cells of ten samples each: 0.21 * 49 / 500


def test_frequencies_are_repetitions_and_single_samples_are_told() -> None:
    rng = np.random.default_rng(3)
    scores, labels = draw(rng, 300)
    predictions, weights = np.round(scores, 1), rng.integers(0, 4, 300)
    weighted = theory.estimate_risk(predictions, labels, scores, n_cells=20, sample_weight=weights)
    plain = theory.estimate_risk(*(np.repeat(c, weights) for c in (predictions, labels, scores)), n_cells=20)
    assert weighted.n_cells == plain.n_cells
    for name in ("calibration_risk", "sharpness_risk", "risk", "mass_left_out"):
        assert math.isclose(getattr(weighted, name), getattr(plain, name), rel_tol=1e-9, abs_tol=1e-13)
    fine = theory.estimate_risk(predictions, labels, scores, n_cells=300)
    assert fine.mass_left_out > 0.9


def test_margins_are_scores_too() -> None:
    rng = np.random.default_rng(4)
    scores, labels = draw(rng, 2000)
    predictions = np.where(scores < 0.5, 0.1, 0.6)
    left = theory.estimate_risk(predictions, labels, scores)
    right = theory.estimate_risk(predictions, labels, 100.0 * scores - 50.0)
    assert left.sharpness_risk == right.sharpness_risk


def test_refusals() -> None:
    refused(fb.InputError, r"masses add up to 0\.9", theory.population_risk, [0.2, 0.3], [0.5, 0.4], [0.2, 0.3])
    refused(fb.InputError, r"label_means\[1\] is 1.3", theory.population_risk, [0.2, 0.3], [0.5, 0.5], [0.2, 1.3])
    refused(fb.InputError, r"mean_eta_squared is 0\.01", theory.population_risk, [0.2, 0.3], [0.5, 0.5], [0.2, 0.3], 0.01)
    refused(fb.InputError, "lengths differ", theory.population_risk, [0.2, 0.3], [1.0], [0.2, 0.3])
    refused(fb.InputTypeError, "values must be one-dimensional", theory.population_risk, [[0.2]], [1.0], [0.2])
    refused(fb.InputError, "predictions has 2, scores has 3", theory.estimate_risk, [0.2, 0.3], [0, 1], [0.1, 0.2, 0.3])
    refused(fb.InputError, r"scores\[0\] is NaN", theory.estimate_risk, [0.2], [0], [math.nan])


# ------------------------------------------------------------------------------------------------- risk bounds


@cases("sun_thm1")
def test_theorem1_oracle(case: Case) -> None:
    inputs = case.inputs
    found = theory.risk_bound(inputs["n"], inputs["B"], inputs["delta"], inputs["K"])
    assert close(found.calibration, case.expected["Rcal"], case.tolerance)
    assert close(found.sharpness, case.expected["Rsha"], case.tolerance)
    assert found.total == found.calibration + found.sharpness


@cases("sun_best_B")
def test_minimisers_oracle(case: Case) -> None:
    n, alpha, smoothness = case.inputs["n"], case.inputs["delta"], case.inputs["K"]
    best = theory.risk_n_bins(n, alpha, smoothness)
    assert best == case.expected["B_thm1"]
    assert close(theory.risk_bound(n, best, alpha, smoothness).total, case.expected["bound_thm1"], case.tolerance)
    best = theory.risk_n_bins(n, alpha, smoothness, bound="zeta")
    assert best == case.expected["B_zeta"]
    assert close(theory.zeta(n, best, alpha, smoothness), case.expected["zeta"], case.tolerance)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 1500), st.floats(0.01, 0.5), st.floats(0.01, 50))
def test_the_minimiser_is_the_minimiser_of_all(n: int, alpha: float, smoothness: float) -> None:
    expected, _ = formulas.best_n_bins(n, alpha, smoothness)
    assert theory.risk_n_bins(n, alpha, smoothness) == expected
    by_zeta = min(range(1, n // 2 + 1), key=lambda n_bins: theory.zeta(n, n_bins, alpha, smoothness))
    assert theory.risk_n_bins(n, alpha, smoothness, bound="zeta") == by_zeta


def test_known_minimisers_and_the_law() -> None:
    assert theory.risk_n_bins(10_000, 0.1, 2.0) == 51
    # Eight times the samples, about twice the bins.
    ratio = theory.risk_n_bins(8 * 10**9, 0.1, 2.0) / theory.risk_n_bins(10**9, 0.1, 2.0)
    assert 1.9 < ratio < 2.05


def test_simplified_bound_is_above_the_theorem_where_it_applies() -> None:
    for n_bins in (1, 2, 5, 10, 50, 100, 250):
        theorem = theory.risk_bound(1000, n_bins, 0.1, 3.0).total
        assert theorem <= theory.zeta(1000, n_bins, 0.1, 3.0)


@cases("thm5")
def test_theorem5_oracle(case: Case) -> None:
    found = theory.smallest_bin(case.inputs["n2"], case.inputs["B"], case.inputs["alpha"])
    assert close(found, case.expected["Nmin"], case.tolerance)
    assert found == pytest.approx(formulas.smallest_bin_bound(case.inputs["n2"], case.inputs["B"], case.inputs["alpha"]))


@given(st.integers(0, 10**40))
def test_integer_cube_root_is_exact(n: int) -> None:
    root = integer_cube_root(n)
    assert root**3 <= n < (root + 1) ** 3


def test_integer_cube_root_where_doubles_fail() -> None:
    assert int(1000 ** (1 / 3)) == 9
    for root in (1, 2, 10, 64, 99, 10**6, 10**12):
        assert integer_cube_root(root**3) == root
        assert integer_cube_root(root**3 - 1) == root - 1


def test_bad_input_is_named() -> None:
    refused(GuaranteeError, "Lemma 4 needs n >= 2 n_bins; take at most 5 bins", theory.risk_bound, 10, 6)
    refused(InputError, "smoothness is 0.0; it is the constant K".replace(".", r"\."), theory.risk_bound, 10, 5, smoothness=0.0)
    refused(InputError, "n is -1; it must be at least 0", integer_cube_root, -1)
    refused(InputError, "bound is 'best'", theory.risk_n_bins, 100, 0.1, 1.0, bound="best")
    refused(InputError, "n is 1; it must be at least 2", theory.risk_n_bins, 1, 0.1, 1.0)


# ------------------------------------------------------------------------------------------------- conversions


unit = st.floats(0, 1)


@cases("ci_from_calibration")
def test_intervals_from_calibrated_oracle(case: Case) -> None:
    found = theory.intervals_from_calibrated([case.inputs["z"]], case.inputs["eps"])[0]
    assert close(found, case.expected["ci"], case.tolerance)


@given(st.lists(unit, max_size=8), unit)
def test_intervals_from_calibrated_equal_the_reference(values: list[float], epsilon: float) -> None:
    found = theory.intervals_from_calibrated(values, epsilon)
    assert found.shape == (len(values), 2)
    for value, interval in zip(values, found, strict=True):
        exact = reference.interval_from_calibrated(Fraction(value), Fraction(epsilon))
        np.testing.assert_allclose(interval, [float(end) for end in exact], atol=1e-15)


@cases("midpoint")
def test_midpoints_oracle(case: Case) -> None:
    midpoints, epsilon = theory.calibrated_from_intervals(case.inputs["cis"])
    assert close(midpoints, case.expected["midpoints"], case.tolerance)
    assert close(epsilon, case.expected["eps"], case.tolerance)


@given(st.lists(st.tuples(unit, unit).map(sorted), min_size=1, max_size=8))
def test_midpoints_equal_the_reference(intervals: list[list[float]]) -> None:
    midpoints, epsilon = theory.calibrated_from_intervals(intervals, simultaneous=True)
    exact, exact_epsilon = reference.calibrated_from_intervals([(Fraction(low), Fraction(high)) for low, high in intervals])
    np.testing.assert_allclose(midpoints, [float(midpoint) for midpoint in exact], atol=1e-15)
    assert epsilon == pytest.approx(float(exact_epsilon), abs=1e-15)


def test_merged_midpoints_need_simultaneous_intervals() -> None:
    # The counterexample: frequency 0 with mass 0.9 and 1 with mass 0.1, the interval [0, 0] at both. Each sample's interval
    # covers with probability 0.9; the midpoint predictor is 0 everywhere and its true frequency is 0.1.
    with pytest.raises(GuaranteeError, match=r"intervals\[0\] and intervals\[2\] have one midpoint, 0\.25, .*Theorem 1"):
        theory.calibrated_from_intervals([[0.0, 0.5], [0.3, 0.4], [0.2, 0.3]])
    midpoints, epsilon = theory.calibrated_from_intervals([[0.0, 0.5], [0.3, 0.4], [0.2, 0.3]], simultaneous=True)
    np.testing.assert_allclose(midpoints, [0.25, 0.35, 0.25])
    assert epsilon == 0.25


def test_the_round_trip_contains_where_it_came_from() -> None:
    values = np.array([0.2, 0.5, 0.9])
    intervals = theory.intervals_from_calibrated(values, 0.25)
    midpoints, epsilon = theory.calibrated_from_intervals(intervals)
    again = theory.intervals_from_calibrated(midpoints, epsilon)
    assert (again[:, 0] <= intervals[:, 0] + 1e-15).all()
    assert (again[:, 1] >= intervals[:, 1] - 1e-15).all()


@cases("ps_from_ci")
def test_sets_from_intervals_oracle(case: Case) -> None:
    found = theory.sets_from_intervals([[case.inputs["l"], case.inputs["u"]]], non_atomic=True)[0]
    assert [label for label in (0, 1) if found[label]] == case.expected["set"]


@given(st.lists(st.tuples(unit, unit).map(sorted), max_size=8).filter(bool))
def test_sets_from_intervals_equal_the_reference(intervals: list[list[float]]) -> None:
    found = theory.sets_from_intervals(intervals, non_atomic=True)
    for (low, high), row in zip(intervals, found, strict=True):
        assert {label for label in (0, 1) if row[label]} == reference.set_from_interval(Fraction(low), Fraction(high))


def test_binned_models_have_no_sets_from_intervals() -> None:
    calibrator = fastbin.UniformMassBinning(n_bins=2).fit([0.1, 0.2, 0.3, 0.7, 0.8, 0.9], [0, 0, 1, 0, 1, 1])
    for binned in (calibrator, calibrator.model_):
        refused(GuaranteeError, "Theorem 2 is about scores without atoms", theory.sets_from_intervals, binned, non_atomic=True)
    with pytest.raises(GuaranteeError, match="use conformal_sets, or bin_sets for a fitted model"):
        theory.sets_from_intervals(calibrator.model_.interval(), non_atomic=False)


def test_bad_input_to_conversions_is_named() -> None:
    with pytest.raises(InputError, match=r"intervals\[1\] is \(0\.6, 0\.5\); it must satisfy 0 <= lower <= upper <= 1"):
        theory.calibrated_from_intervals([[0.1, 0.2], [0.6, 0.5]])
    refused(InputError, r"intervals\[0\] is \(nan, 0\.5\)", theory.sets_from_intervals, [[float("nan"), 0.5]], non_atomic=True)
    with pytest.raises(InputTypeError, match=r"one row \(lower, upper\) each, got shape \(2,\)"):
        theory.sets_from_intervals([0.1, 0.5], non_atomic=True)
    refused(InputTypeError, "not an array of numbers", theory.sets_from_intervals, [["a", "b"]], non_atomic=True)
    refused(InputError, "intervals is empty", theory.calibrated_from_intervals, np.empty((0, 2)))
    refused(InputError, r"values\[1\] is 1\.5", theory.intervals_from_calibrated, [0.5, 1.5], 0.1)
    refused(InputError, "epsilon is 2", theory.intervals_from_calibrated, [0.5], 2.0)
