"""The recalibration risk on test samples, beside its value in the two-Gaussian family, which quadrature gives."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fastbin as fb
import oracle
from fastbin import assess, theory
from oracle import Case, close


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
    with pytest.raises(fb.InputError, match=r"masses add up to 0\.9"):
        theory.population_risk([0.2, 0.3], [0.5, 0.4], [0.2, 0.3])
    with pytest.raises(fb.InputError, match=r"label_means\[1\] is 1.3"):
        theory.population_risk([0.2, 0.3], [0.5, 0.5], [0.2, 1.3])
    with pytest.raises(fb.InputError, match=r"mean_eta_squared is 0\.01"):
        theory.population_risk([0.2, 0.3], [0.5, 0.5], [0.2, 0.3], 0.01)
    with pytest.raises(fb.InputError, match="lengths differ"):
        theory.population_risk([0.2, 0.3], [1.0], [0.2, 0.3])
    with pytest.raises(fb.InputTypeError, match="values must be one-dimensional"):
        theory.population_risk([[0.2]], [1.0], [0.2])
    with pytest.raises(fb.InputError, match="predictions has 2, scores has 3"):
        theory.estimate_risk([0.2, 0.3], [0, 1], [0.1, 0.2, 0.3])
    with pytest.raises(fb.InputError, match=r"scores\[0\] is NaN"):
        theory.estimate_risk([0.2], [0], [math.nan])
