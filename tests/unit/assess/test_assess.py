"""Assessment on exact cases and worked examples, and what it refuses."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import fastbin as fb
import oracle
from fastbin import assess, intervals, theory
from fastbin.assess.reliability import exact_gaps
from oracle import Case, close, number

PREDICTIONS = [0.2] * 9 + [0.8]
LABELS = [1, 0, 0, 0, 1, 0, 0, 1, 0, 1]
ALL_OF = (
    assess.reliability_table,
    assess.ece,
    assess.squared_ece,
    assess.brier_score,
    assess.brier_decomposition,
    assess.sharpness,
    assess.log_loss,
    assess.roc_auc,
    assess.validity_curve,
    theory.conditional_validity_curve,
)


# ------------------------------------------------------------------------------------------------- exact cases


@oracle.cases("validity_and_ece")
def test_validity_and_ece(case: Case) -> None:
    given, expected = case.inputs, case.expected
    table = assess.reliability_table(given["pred"], given["labels"], grouping="values")
    assert close(table.mean_predictions.tolist(), expected["values"], case.tolerance)
    assert table.counts.tolist() == expected["counts"]
    assert close(table.positive_rates.tolist(), expected["cond_means"], case.tolerance)
    curve = assess.validity_curve(given["pred"], given["labels"], grouping="values")
    conditional = theory.conditional_validity_curve(given["pred"], given["labels"], grouping="values")
    assert curve(given["eps"]).tolist() == expected["V"]
    assert conditional(given["eps"]).tolist() == expected["condV"]
    for p in (1, 2, 3):
        assert close(assess.ece(given["pred"], given["labels"], p, grouping="values"), expected[f"l{p}"], case.tolerance)
    assert close(curve.area(), expected["auc"], case.tolerance)


@oracle.cases("reliability_fixed")
def test_fixed_width_table(case: Case) -> None:
    table = assess.reliability_table(
        case.inputs["pred"], case.inputs["labels"], grouping="fixed-width", n_bins=case.inputs["B"]
    )
    rows = zip(
        np.rint(table.lower * case.inputs["B"]).astype(int) + 1, table.counts, table.positive_rates, table.mean_predictions,
        strict=True,
    )  # fmt: skip
    assert close([[float(item) for item in row] for row in rows], case.expected["rows"], case.tolerance)
    assert close(table.ece(), case.expected["ece"], case.tolerance)


@oracle.cases("ece_population")
def test_population_error(case: Case) -> None:
    """Ten samples per tenth of mass, with labels that have exactly the conditional means."""
    given, predictions, labels = case.inputs, [], []
    for value, mass, mean in zip(given["values"], given["masses"], given["cond_means"], strict=True):
        count = round(1000 * mass)
        predictions += [value] * count
        labels += [1] * round(count * mean) + [0] * (count - round(count * mean))
    assert close(assess.ece(predictions, labels), case.expected["l1"], case.tolerance)
    assert close(assess.ece(predictions, labels, 2), case.expected["l2"], case.tolerance)
    assert close(assess.validity_curve(predictions, labels)(0.1 + 1e-12), case.expected["marginal_V_at_0_1"], case.tolerance)
    conditional = theory.conditional_validity_curve(predictions, labels)
    assert math.isclose(conditional.epsilon_at(1.0), case.expected["conditional_eps"], rel_tol=1e-12)


@oracle.cases("risk_decomposition")
def test_population_risk(case: Case) -> None:
    columns = [[float(number(item)) for item in case.inputs[name]] for name in ("h", "masses", "eta")]
    risk = theory.population_risk(*columns)
    computed = {
        "R": risk.risk, "Rcal": risk.calibration_risk, "Rsha": risk.sharpness_risk,
        "VarY": risk.label_variance, "sharpness": risk.sharpness, "MSE": risk.mean_squared_error,
    }  # fmt: skip
    for name, value in case.expected.items():
        assert close(computed[name], value, case.tolerance), name


# ------------------------------------------------------------------------------------------------- exact comparisons


def test_gaps_are_rounded_up_to_the_next_double() -> None:
    rng = np.random.default_rng(5)
    counts = np.concatenate([rng.integers(1, 30, 3000), rng.integers(1, 2**53, 3000)])
    sums = (rng.random(6000) * (counts + 1)).astype(np.int64).clip(0, counts)
    quotients = sums / counts
    near = np.where(rng.random(6000) < 0.5, np.nextafter(quotients, 1.0), np.nextafter(quotients, 0.0))
    values = np.choose(rng.integers(0, 5, 6000), [quotients, near, rng.random(6000), rng.integers(0, 101, 6000) / 100, 0.0])
    for label_sum, count, value, gap in zip(sums, counts, values, exact_gaps(sums, counts, values), strict=True):
        exact = abs(Fraction(int(label_sum), int(count)) - Fraction(float(value)))
        assert Fraction(math.nextafter(float(gap), -1.0)) < exact <= Fraction(float(gap))


def test_a_jump_at_a_rounded_difference_is_decided_exactly() -> None:
    # The double 0.9 lies above 9/10, so its distance from 8/10 is above the double 0.1; subtracting doubles says it is below.
    assert abs(8 / 10 - 0.9) < 0.1
    assert abs(Fraction(8, 10) - Fraction(0.9)) > Fraction(0.1)
    curve = assess.validity_curve([0.9] * 10, [1] * 8 + [0] * 2)
    assert curve(0.1) == 0.0
    assert curve(0.1 + 1e-15) == 1.0


# ------------------------------------------------------------------------------------------------- reliability tables


def test_auto_groups_by_value_where_values_repeat() -> None:
    rng = np.random.default_rng(0)
    continuous, labels = rng.random(1000), rng.integers(0, 2, 1000)
    assert assess.reliability_table(continuous, labels).grouping == "uniform-mass"
    assert assess.reliability_table(np.tile(np.arange(10) / 10, 100), labels).grouping == "values"
    assert assess.reliability_table(continuous[:10], labels[:10]).grouping == "uniform-mass"
    assert assess.reliability_table(np.round(continuous, 3), labels, n_bins=20).grouping == "uniform-mass"
    assert len(assess.reliability_table(continuous, labels, n_bins=20).counts) == 20


def test_intervals_are_exact_and_shared_among_bins() -> None:
    predictions, labels = [0.1] * 50 + [0.9] * 70, [1] * 5 + [0] * 45 + [1] * 66 + [0] * 4
    table = assess.reliability_table(predictions, labels, alpha=0.1)
    expected = intervals.clopper_pearson([5, 66], [50, 70], intervals.sidak(0.1, 2))
    np.testing.assert_array_equal(table.intervals, expected)
    each = assess.reliability_table(predictions, labels, alpha=0.1, simultaneous=False)
    np.testing.assert_array_equal(each.intervals, intervals.clopper_pearson([5, 66], [50, 70], 0.1))


def test_importance_weights_have_intervals_only_with_a_bound() -> None:
    weights = [0.5, 1.0, 1.5, 1.0] * 10
    arguments: dict[str, Any] = {"predictions": [0.3] * 40, "labels": [0, 1] * 20, "sample_weight": weights}
    assert assess.reliability_table(**arguments).intervals is None
    interval = assess.reliability_table(**arguments, weight_bound=1.5).intervals
    assert interval is not None
    assert 0.0 <= interval[0, 0] < 0.5 < interval[0, 1] <= 1.0
    with pytest.raises(fb.InputError, match="weight"):
        assess.reliability_table(**arguments, weight_bound=-1.0)


def test_to_dict_is_plain() -> None:
    import json

    content = json.loads(json.dumps(assess.reliability_table(PREDICTIONS, LABELS).to_dict()))
    assert [row["count"] for row in content["bins"]] == [9, 1]
    assert content["grouping"] == "uniform-mass"
    assert content["chance_level"]["ece"] < content["chance_level"]["ece_95"]
    assert content["bins"][0]["interval"][0] < 1 / 3 < content["bins"][0]["interval"][1]


# ------------------------------------------------------------------------------------------------- scores


def test_brier_and_log_loss_by_hand() -> None:
    assert math.isclose(assess.brier_score([0.2, 0.9], [0, 1]), 0.025)
    assert math.isclose(assess.log_loss([0.2, 0.9], [0, 1]), -(math.log(0.8) + math.log(0.9)) / 2)
    assert assess.log_loss([0.0, 1.0], [0, 1]) == 0.0
    assert math.copysign(1.0, assess.log_loss([0.0, 1.0], [0, 1])) == 1.0
    assert assess.log_loss([0.0, 0.5], [1, 1]) == math.inf


def test_scores_agree_with_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(3)
    predictions, weights = np.round(rng.random(500), 2).clip(0.01, 0.99), rng.random(500)
    labels = (rng.random(500) < predictions**2).astype(int)
    pairs = [
        (assess.brier_score, metrics.brier_score_loss),
        (assess.log_loss, metrics.log_loss),
        (assess.roc_auc, metrics.roc_auc_score),
    ]
    for sample_weight in (None, weights):
        given: dict[str, Any] = {"sample_weight": sample_weight}
        for ours, theirs in pairs:
            assert math.isclose(ours(predictions, labels, **given), theirs(labels, predictions, **given))


def test_roc_auc_takes_margins_and_needs_both_labels() -> None:
    assert assess.roc_auc([-3.0, 2.0, 7.5], [0, 1, 1]) == 1.0
    assert math.isnan(assess.roc_auc([0.2, 0.3], [1, 1]))


def test_squared_ece_is_the_closed_form_for_few_values() -> None:
    error = assess.squared_ece(PREDICTIONS, LABELS)
    rate = 1 / 3
    assert math.isclose(error.estimate, 0.9 * ((rate - 0.2) ** 2 - rate * (1 - rate) / 8), rel_tol=1e-12)
    assert math.isclose(error.plug_in, assess.ece(PREDICTIONS, LABELS, 2) ** 2, rel_tol=1e-12)
    assert math.isclose(error.mass_left_out, 0.1)


def test_squared_ece_is_unbiased() -> None:
    """Mean of 2000 estimates, five standard errors wide; the plug-in estimate is off by more."""
    rng = np.random.default_rng(11)
    truth = 0.04**2
    estimates, plug_ins = [], []
    for _ in range(2000):
        predictions = rng.choice([0.1, 0.3, 0.5, 0.7], 300)
        error = assess.squared_ece(predictions, rng.random(300) < predictions + 0.04)
        estimates.append(error.estimate)
        plug_ins.append(error.plug_in)
    standard_error = np.std(estimates) / math.sqrt(2000)
    assert abs(np.mean(estimates) - truth) < 5 * standard_error
    assert np.mean(plug_ins) - truth > 15 * standard_error


def test_squared_ece_interval_covers() -> None:
    rng = np.random.default_rng(12)
    misses = 0
    for _ in range(400):
        predictions = rng.choice([0.1, 0.3, 0.5, 0.7], 1500)
        low, high = assess.squared_ece(predictions, rng.random(1500) < predictions + 0.15).interval
        misses += not low <= 0.15**2 <= high
    assert 10 <= misses <= 80  # nominal 40, approximate


# ------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize("function", ALL_OF)
def test_bad_input_is_named(function: Any) -> None:
    with pytest.raises(fb.InputError, match=r"predictions\[1\] is NaN"):
        function([0.1, math.nan], [0, 1])
    with pytest.raises(fb.InputError, match=r"labels\[1\] is 2"):
        function([0.1, 0.2], [0, 2])
    with pytest.raises(fb.InputError, match="predictions has 2, labels has 3"):
        function([0.1, 0.2], [0, 1, 1])
    with pytest.raises(fb.InputError, match="no sample to assess"):
        function([], [])
    with pytest.raises(fb.InputError, match="no sample of positive weight"):
        function([0.1], [1], sample_weight=[0.0])
    with pytest.raises(fb.InputError, match=r"sample_weight\[0\] is -1.0"):
        function([0.1], [1], sample_weight=[-1.0])
    if function is not assess.roc_auc:
        with pytest.raises(fb.InputError, match=r"predictions\[1\] is 1.5, outside \[0, 1\]"):
            function([0.1, 1.5], [0, 1])


def test_bad_options_are_named() -> None:
    with pytest.raises(fb.InputError, match="grouping is 'quantile'; choose one of 'auto'"):
        assess.ece(PREDICTIONS, LABELS, grouping="quantile")
    with pytest.raises(fb.InputError, match=r"p is 0\.5"):
        assess.ece(PREDICTIONS, LABELS, 0.5)
    with pytest.raises(fb.InputTypeError, match="p must be a number"):
        assess.ece(PREDICTIONS, LABELS, "two")  # type: ignore[arg-type]
    with pytest.raises(fb.InputError, match="n_bins is 0"):
        assess.ece(PREDICTIONS, LABELS, n_bins=0)
    with pytest.raises(fb.InputError, match=r"2\*\*53"):
        assess.ece([0.1, 0.2], [0, 1], sample_weight=[2**52, 2**52 + 1])


def test_inputs_are_left_as_they_were() -> None:
    predictions, labels, weights = np.array(PREDICTIONS), np.array(LABELS), np.arange(10)
    copies = [column.copy() for column in (predictions, labels, weights)]
    for function in ALL_OF:
        function(predictions, labels, sample_weight=weights)
    for column, copy in zip((predictions, labels, weights), copies, strict=True):
        np.testing.assert_array_equal(column, copy)


def test_intervals_only_where_asked_for() -> None:
    table = assess.reliability_table(PREDICTIONS, LABELS, alpha=None)
    assert table.intervals is None
    assert table.alpha is None
    with pytest.raises(fb.InputError, match="alpha is 1"):
        assess.reliability_table(PREDICTIONS, LABELS, alpha=1.0)
