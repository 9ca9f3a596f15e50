"""Assessment on exact cases and worked examples, and what it refuses."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from wordings import refused

import fastbin as fb
import oracle
from fastbin import assess, intervals, theory
from fastbin.assess import ValidityCurve
from fastbin.assess.reliability import exact_gaps
from fastbin.assess.samples import LARGEST_EXACT, law_of_sum
from fastbin.report import assess_model
from oracle import Case, close, number
from reference import assess as exact

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
    refused(fb.InputError, "weight", assess.reliability_table, **arguments, weight_bound=-1.0)


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
    assert assess.log_loss([1e-20], [0]) == 1e-20


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


@pytest.mark.parametrize("n", [1, 40])
def test_squared_ece_of_certain_predictions_that_are_right(n: int) -> None:
    labels = [0] * n + [1] * n
    error = assess.squared_ece(labels, labels, n_bins=1, grouping="uniform-mass")
    assert (error.estimate, error.interval[0]) == (0.0, 0.0)
    assert 0.001 < error.interval[1] <= 1.0


# ------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize("function", ALL_OF)
def test_bad_input_is_named(function: Any) -> None:
    refused(fb.InputError, r"predictions\[1\] is NaN", function, [0.1, math.nan], [0, 1])
    refused(fb.InputError, r"labels\[1\] is 2", function, [0.1, 0.2], [0, 2])
    refused(fb.InputError, "predictions has 2, labels has 3", function, [0.1, 0.2], [0, 1, 1])
    refused(fb.InputError, "no sample to assess", function, [], [])
    refused(fb.InputError, "no sample of positive weight", function, [0.1], [1], sample_weight=[0.0])
    refused(fb.InputError, r"sample_weight\[0\] is -1.0", function, [0.1], [1], sample_weight=[-1.0])
    if function is not assess.roc_auc:
        refused(fb.InputError, r"predictions\[1\] is 1.5, outside \[0, 1\]", function, [0.1, 1.5], [0, 1])


def test_bad_options_are_named() -> None:
    refused(fb.InputError, "grouping is 'quantile'; choose one of 'auto'", assess.ece, PREDICTIONS, LABELS, grouping="quantile")
    refused(fb.InputError, r"p is 0\.5", assess.ece, PREDICTIONS, LABELS, 0.5)
    refused(fb.InputTypeError, "p must be a number", assess.ece, PREDICTIONS, LABELS, "two")
    refused(fb.InputError, "n_bins is 0", assess.ece, PREDICTIONS, LABELS, n_bins=0)
    refused(fb.InputError, r"2\*\*53", assess.ece, [0.1, 0.2], [0, 1], sample_weight=[2**52, 2**52 + 1])


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
    refused(fb.InputError, "alpha is 1", assess.reliability_table, PREDICTIONS, LABELS, alpha=1.0)


# ------------------------------------------------------------------------------------------------- the chance level


def certified(n: int = 10_000) -> tuple[fb.BinnedModel, np.ndarray, np.ndarray]:
    """A model fitted to `n` uniform scores that are the truth, and as many test samples."""
    rng = np.random.default_rng(0)
    scores = rng.random(2 * n)
    labels = rng.random(2 * n) < scores
    return fb.CertifiedCalibration().fit(scores[:n], labels[:n]).model_, scores[n:], labels[n:]


# ------------------------------------------------------------------------------------------------- the one rule


@pytest.mark.parametrize(
    ("n_values", "rows", "grouping"), [(100, 50, "values"), (100, 49, "uniform-mass"), (101, 50, "uniform-mass")]
)
def test_values_are_bins_where_they_are_few_with_many_rows(n_values: int, rows: int, grouping: str) -> None:
    predictions = np.repeat((np.arange(n_values) + 0.5) / n_values, rows)
    labels = np.arange(len(predictions)) % 2
    table = assess.reliability_table(predictions, labels)
    assert table.grouping == grouping
    assert len(table.counts) == (n_values if grouping == "values" else 15)
    frequencies = np.full(n_values, rows)
    by_frequency = assess.reliability_table(predictions[::rows], labels[::rows], sample_weight=frequencies)
    assert by_frequency.counts.tolist() == table.counts.tolist()


def test_one_rule_for_all_errors() -> None:
    rng = np.random.default_rng(1)
    predictions = rng.integers(1, 1000, 10_000) / 1000
    labels = rng.random(10_000) < predictions
    error = assess.ece(predictions, labels, grouping="uniform-mass", n_bins=15)
    assert assess.ece(predictions, labels) == error
    assert assess.reliability_table(predictions, labels).ece() == error
    assert assess.top_label_ece(predictions, np.full(10_000, 3), np.where(labels, 3, 4)) == pytest.approx(error, abs=1e-15)
    columns = np.column_stack([predictions, 1.0 - predictions])
    both = (error + assess.ece(1.0 - predictions, ~labels)) / 2.0
    assert assess.class_wise_ece(columns, np.where(labels, 0, 1)) == pytest.approx(both, abs=1e-15)


def test_a_hundred_rows_more_change_little() -> None:
    """On these data single values would be bins from 10 rows a value on: .011 at 9,900 rows and .097 at 10,000."""
    model, scores, labels = certified()
    served = model.predict(scores)
    assert len(np.unique(served)) > 900
    assert abs(assess.ece(served, labels) - assess.ece(served[:9900], labels[:9900])) < 0.003
    whole, part = (assess_model(model, scores[:n], labels[:n]) for n in (10_000, 9900))
    for name in ("ece", "max_gap", "gap_90"):
        assert abs(getattr(whole.after, name) - getattr(part.after, name)) < 0.01, name
    assert abs(whole.after.ece - part.after.ece) < 0.003
    assert abs(whole.after.brier.calibration - part.after.brier.calibration) < 0.0003


@pytest.mark.parametrize("n", [9900, 10_000])
def test_all_columns_of_a_comparison_have_the_same_bins(n: int) -> None:
    model, scores, labels = certified()
    other = np.sqrt(scores)
    found = assess_model(model, scores[:n], labels[:n], others={"root": other[:n]})
    assert found.before is not None
    tables = [card.table for card in found.scorecards]
    served = model.predict(scores[:n])
    edges = found.after.table.lower[1:]
    bins = np.searchsorted(edges, served, side="right")
    for table, predictions in zip(tables, (scores[:n], served, other[:n]), strict=True):
        assert table.counts.tolist() == np.bincount(bins).tolist()
        assert table.label_sums.tolist() == np.bincount(bins, labels[:n]).astype(int).tolist()
        np.testing.assert_allclose(table.mean_predictions, np.bincount(bins, predictions) / np.bincount(bins), rtol=1e-12)
    assert [table.grouping for table in tables] == ["shared", "uniform-mass", "shared"]
    assert tables[0].lower[0] == scores[:n][bins == 0].min()
    assert tables[0].upper[-1] == scores[:n][bins == 14].max()


def test_cells_of_a_set_have_the_same_bins_before_and_after() -> None:
    rng = np.random.default_rng(3)
    scores, cells = rng.random(8000), np.repeat(["a", "b"], 4000)
    labels = rng.random(8000) < scores
    models = fb.multi.SegmentedBinning(fb.CertifiedCalibration(5)).fit(scores[::2], labels[::2], cells[::2]).model_
    found = assess_model(models, scores[1::2], labels[1::2], cells=cells[1::2])
    for cell in found.cells:
        assert cell.before is not None
        assert cell.after is not None
        assert cell.before.counts.tolist() == cell.after.counts.tolist()
        assert cell.chance_level is not None
        assert cell.to_dict()["ece_by_chance"] == cell.chance_level.ece


# ------------------------------------------------------------------------------------------------- the chance level


def test_the_law_of_a_sum_is_the_exact_one() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        counts, frequencies = rng.integers(1, 6, 5), rng.choice([0.0, 1e-6, 0.1, 0.5, 0.77, 1.0], 5)
        expected = exact.law_of_sum([Fraction(p) for p, n in zip(frequencies.tolist(), counts, strict=True) for _ in range(n)])
        chances, deviations = law_of_sum(counts.astype(float), frequencies)
        values = np.rint(deviations + np.dot(counts, frequencies)).astype(int)
        found = {x: chance for x, chance in zip(values.tolist(), chances.tolist(), strict=True) if chance > 1e-13}
        for x, chance in enumerate(expected):
            assert found.get(x, 0.0) == pytest.approx(float(chance), abs=1e-13)
        assert all(0 <= x < len(expected) for x in found)


def exact_level(bins: list[list[float]]) -> tuple[float, float, float, float]:
    """The chance level by all outcomes."""
    outcomes = exact.errors_by_chance([[Fraction(p) for p in own] for own in bins])

    def mean_and_point(at: int) -> tuple[float, float]:
        mean, reached = sum(row[at] * row[2] for row in outcomes), Fraction(0)
        for row in sorted(outcomes, key=lambda row: row[at]):
            reached += row[2]
            if reached >= Fraction(95, 100):
                return float(mean), float(row[at])
        raise AssertionError

    return (*mean_and_point(0), *mean_and_point(1))


def test_few_rows_have_the_exact_level() -> None:
    bins = [[0.01, 0.02, 0.02, 0.04], [0.3, 0.4, 0.4, 0.7], [0.9, 0.9, 0.95]]
    predictions = np.concatenate(bins)
    table = assess.reliability_table(predictions, np.arange(11) % 2, n_bins=3)
    assert table.counts.tolist() == [4, 4, 3]
    ece, _, gap, _ = exact_level(bins)
    level = table.chance_level
    assert level is not None
    assert level.ece == pytest.approx(ece, rel=1e-5)
    assert level.max_gap == pytest.approx(gap, rel=0.02)  # by 10,000 draws


def test_frequencies_are_repetitions_and_the_level_is_the_same_each_time() -> None:
    rng = np.random.default_rng(4)
    predictions, labels, frequencies = rng.random(300) ** 3, rng.integers(0, 2, 300), rng.integers(0, 4, 300)
    weighted = assess.reliability_table(predictions, labels, sample_weight=frequencies)
    repeated = assess.reliability_table(np.repeat(predictions, frequencies), np.repeat(labels, frequencies))
    assert weighted.chance_level is not None
    assert repeated.chance_level is not None
    np.testing.assert_allclose(weighted.chance_level, repeated.chance_level, rtol=1e-9)
    again = assess.reliability_table(np.repeat(predictions, frequencies), np.repeat(labels, frequencies))
    assert again.chance_level == repeated.chance_level


def test_importance_weights_enter_the_variance() -> None:
    rng = np.random.default_rng(5)
    predictions, weights = rng.random(4000), rng.choice([0.5, 4.0], 4000)
    labels = rng.random(4000) < predictions
    level = assess.reliability_table(predictions, labels, sample_weight=weights).chance_level
    assert level is not None
    drawn = [assess.ece(predictions, rng.random(4000) < predictions, sample_weight=weights) for _ in range(400)]
    assert level.ece == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / 20)


def test_tables_of_very_many_bins_have_none() -> None:
    predictions = np.arange(1001) / 1001
    table = assess.reliability_table(predictions, predictions > 0.5, grouping="values")
    assert table.chance_level is None
    assert "by chance" not in str(table)
    assert table.to_dict()["chance_level"] is None


def test_the_level_stands_beside_every_error() -> None:
    model, scores, labels = certified(3000)
    found = assess_model(model, scores, labels)
    level = found.after.chance_level
    assert level is not None
    assert 0.01 < level.ece < found.after.chance_level.ece_95 < 0.05  # type: ignore[union-attr]
    told: dict[str, Any] = found.to_dict()["scorecards"][1]
    assert (told["ece_by_chance"], told["ece_by_chance_95"]) == (level.ece, level.ece_95)
    assert (told["max_gap_by_chance"], told["max_gap_by_chance_95"]) == (level.max_gap, level.max_gap_95)
    assert told["ece_by_bin_by_chance"] == found.after.chance_by_bin.ece  # type: ignore[union-attr]
    numbers = found.after.numbers()
    beside = [name for name in numbers if "by chance" in name]
    assert [name.split("by chance")[0] for name in beside] == ["- by evidence bin, ", "- ", "- largest gap, "]
    assert f"{level.ece:.4f} ({level.ece_95:.4f})" in numbers.values()
    assert "a perfectly calibrated predictor would show" in found.in_short[-1]
    assert "a perfectly calibrated predictor would show" in str(found.after.table)


def test_the_normal_law_is_near_where_it_takes_over() -> None:
    counts = np.array([LARGEST_EXACT / 0.09, LARGEST_EXACT / 0.25 / 2]).astype(int).astype(float)
    for n, p in zip(counts, (0.1, 0.5), strict=True):
        chances, deviations = law_of_sum(np.array([n]), np.array([p]))
        normal = np.sqrt(2.0 * n * p * (1.0 - p) / np.pi)
        assert np.dot(chances, np.abs(deviations)) == pytest.approx(normal, rel=0.003)


# ------------------------------------------------------------------------------------------------- validity curves as objects


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
    refused(fb.InputError, "epsilon is NaN", curve, math.nan)
    refused(fb.InputError, r"share is 1\.5", curve.epsilon_at, 1.5)


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
    refused(fb.InputError, "curves is empty", theory.mean_validity_curve, [])
    refused(fb.InputTypeError, r"curves\[0\] is a float", theory.mean_validity_curve, [0.5])


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
        assert assess.promised_validity(1.5, n, 10, kind=kind, bound="a-priori") == 1.0
    refused(fb.InputError, "n_samples is 19", assess.promised_validity, 0.1, 19, 10)
    refused(fb.InputError, r"epsilon is -0.1", assess.promised_validity, -0.1, 100, 10)


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
