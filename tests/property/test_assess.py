"""Every diagnostic is the exact reference on hard inputs: predictions that tie, touch 0 and 1, or differ in the last bit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wordings import refuses

import strategies
from fastbin import assess, theory
from reference import assess as exact
from strategies import CalibrationData, examples

data_of = strategies.calibration_data


def drop_weightless(data: CalibrationData) -> CalibrationData | None:
    return None if data.weights is not None and not any(weight > 0 for weight in data.weights) else data


def columns(data: CalibrationData, layout: str = "contiguous") -> dict[str, object]:
    arrays = data.arrays(layout)
    return {"predictions": arrays["scores"], "labels": arrays["labels"], "sample_weight": arrays.get("sample_weight")}


def epsilons_around(table: Sequence[exact.ValueRow]) -> list[float]:
    """Distances where doubles may go wrong: each gap's nearest doubles, and round numbers."""
    found = [0.0, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0]
    for row in table:
        gap = float(abs(row.mean_label - row.value))
        found += [gap, math.nextafter(gap, 0.0), math.nextafter(gap, 2.0)]
    return found


@pytest.mark.parametrize("weighting", ["none", "integer"])
@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_tables_and_curves_by_value(weighting: str, drawn: st.DataObject) -> None:
    data = drop_weightless(drawn.draw(data_of(weighting=weighting)))
    if data is None:
        return
    layout = drawn.draw(st.sampled_from(sorted(strategies.LAYOUTS)))
    expected = exact.value_table(*data.repeated())
    table = assess.reliability_table(**columns(data, layout), grouping="values")
    assert [Fraction(value) for value in table.mean_predictions.tolist()] == [row.value for row in expected]
    assert table.counts.tolist() == [row.count for row in expected]
    assert table.label_sums.tolist() == [row.mean_label * row.count for row in expected]
    assert table.positive_rates.tolist() == [float(row.mean_label) for row in expected]

    curve = assess.validity_curve(**columns(data, layout), grouping="values")
    conditional = theory.conditional_validity_curve(**columns(data, layout), grouping="values")
    for epsilon in epsilons_around(expected):
        assert curve(epsilon) == float(exact.validity(expected, epsilon)), epsilon
        assert conditional(epsilon) == float(exact.conditionally_valid(expected, epsilon)), epsilon
    assert math.isclose(curve.area(), float(exact.auc_of_validity(expected)), abs_tol=1e-12)
    for p in (1, 2, 3, 7):
        assert math.isclose(table.ece(p), exact.ece(expected, p), rel_tol=1e-12, abs_tol=1e-15)
    assert math.isclose(1.0 - curve.area(), table.ece(), abs_tol=1e-12)
    largest = max(abs(row.mean_label - row.value) for row in expected)
    assert math.isclose(table.ece(math.inf), float(largest), rel_tol=1e-15)
    assert math.isclose(
        assess.sharpness(**columns(data), grouping="values"), float(exact.sharpness(expected)), rel_tol=1e-9, abs_tol=1e-13
    )


@settings(max_examples=examples(200), deadline=None)
@given(data=data_of(), n_bins=st.integers(1, 25))
def test_fixed_width_tables(data: CalibrationData, n_bins: int) -> None:
    expected, ece = exact.reliability_diagram(data.scores, data.labels, n_bins)
    table = assess.reliability_table(**columns(data), grouping="fixed-width", n_bins=n_bins)
    assert table.counts.tolist() == [row.count for row in expected]
    assert table.positive_rates.tolist() == [float(row.mean_label) for row in expected]
    np.testing.assert_allclose(table.mean_predictions, [float(row.mean_prediction) for row in expected], rtol=1e-13, atol=0)
    assert table.lower.tolist() == [row.index / n_bins for row in expected]
    assert math.isclose(table.ece(), float(ece), abs_tol=1e-12)


@pytest.mark.parametrize("weighting", ["none", "integer"])
@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_uniform_mass_tables(weighting: str, drawn: st.DataObject) -> None:
    """Edges are order statistics at ceil(b n / B); equal predictions share a bin; frequencies are repetitions."""
    data = drop_weightless(drawn.draw(data_of(weighting=weighting)))
    if data is None:
        return
    n_bins = drawn.draw(st.integers(1, 25))
    predictions, labels = data.repeated()
    ordered, n = sorted(predictions), len(predictions)
    asked = min(n_bins, n)
    edges = {ordered[-(-b * n // asked)] for b in range(1, asked)} - {ordered[0]}
    groups: dict[int, list[tuple[float, int]]] = {}
    for prediction, label in zip(predictions, labels, strict=True):
        groups.setdefault(sum(prediction >= edge for edge in edges), []).append((prediction, label))
    table = assess.reliability_table(**columns(data), grouping="uniform-mass", n_bins=n_bins)
    expected = [groups[b] for b in sorted(groups)]
    assert table.counts.tolist() == [len(group) for group in expected]
    assert table.label_sums.tolist() == [sum(label for _, label in group) for group in expected]
    np.testing.assert_allclose(
        table.mean_predictions, [math.fsum(p for p, _ in group) / len(group) for group in expected], rtol=1e-12, atol=5e-324
    )
    assert table.lower.tolist() == [0.0, *sorted(edges)]
    assert table.upper.tolist() == [*sorted(edges), 1.0]
    if len(set(predictions)) == n:
        assert max(table.counts) - min(table.counts) <= 1


@settings(max_examples=examples(150), deadline=None)
@given(data=data_of(weighting="float"))
def test_importance_weights_are_weighted_means(data: CalibrationData) -> None:
    if drop_weightless(data) is None:
        return
    rows: dict[Fraction, list[tuple[Fraction, int]]] = {}
    for prediction, label, weight in zip(data.scores, data.labels, data.weights or [], strict=True):
        if weight > 0:
            rows.setdefault(Fraction(prediction), []).append((Fraction(weight), label))
    total = sum((weight for group in rows.values() for weight, _ in group), Fraction(0))
    masses = [sum((weight for weight, _ in rows[value]), Fraction(0)) for value in sorted(rows)]
    rates = [
        sum((weight * label for weight, label in rows[value]), Fraction(0)) / mass
        for value, mass in zip(sorted(rows), masses, strict=True)
    ]
    table = assess.reliability_table(**columns(data), grouping="values")
    assert table.counts.tolist() == [len(rows[value]) for value in sorted(rows)]
    np.testing.assert_allclose(table.masses, [float(mass / total) for mass in masses], rtol=1e-12)
    np.testing.assert_allclose(table.positive_rates, [float(rate) for rate in rates], rtol=1e-12)
    assert table.intervals is None
    gaps = [abs(rate - value) for rate, value in zip(rates, sorted(rows), strict=True)]
    ece = float(sum(mass * gap for mass, gap in zip(masses, gaps, strict=True)) / total)
    assert math.isclose(table.ece(), ece, rel_tol=1e-9, abs_tol=1e-12)
    curve = assess.validity_curve(**columns(data), grouping="values")
    assert math.isclose(1.0 - curve.area(), table.ece(), abs_tol=1e-12)


@settings(max_examples=examples(150), deadline=None)
@given(data=data_of(weighting="integer"), n_bins=st.integers(1, 12))
def test_frequencies_are_repetitions(data: CalibrationData, n_bins: int) -> None:
    if drop_weightless(data) is None:
        return
    predictions, labels = data.repeated()
    weighted, plain = columns(data), {"predictions": predictions, "labels": labels}
    for metric in (assess.ece, assess.sharpness):
        for grouping in ("auto", "values", "uniform-mass", "fixed-width"):
            left, right = (metric(**given, grouping=grouping, n_bins=n_bins) for given in (weighted, plain))
            assert math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-13)
    for score in (assess.brier_score, assess.log_loss, assess.roc_auc):
        np.testing.assert_allclose(score(**weighted), score(**plain), rtol=1e-10, atol=1e-15)
    if len(predictions) < 2 or not any(count > 1 for count in assess.reliability_table(**plain, grouping="values").counts):
        return
    left, right = (assess.squared_ece(**given, grouping="values") for given in (weighted, plain))
    assert math.isclose(left.estimate, right.estimate, rel_tol=1e-9, abs_tol=1e-12)
    assert math.isclose(left.standard_error, right.standard_error, rel_tol=1e-7, abs_tol=1e-9)
    assert math.isclose(left.mass_left_out, right.mass_left_out, abs_tol=1e-12)


@settings(max_examples=examples(100), deadline=None)
@given(data=data_of(max_size=40))
def test_debiased_error_is_the_mean_over_pairs_and_its_error_the_jackknife(data: CalibrationData) -> None:
    rows = list(zip(data.scores, data.labels, strict=True))

    def by_pairs(kept: list[tuple[float, int]]) -> float:
        total = 0.0
        for value in {prediction for prediction, _ in kept}:
            residuals = [label - value for prediction, label in kept if prediction == value]
            products = [a * b for i, a in enumerate(residuals) for j, b in enumerate(residuals) if i != j]
            total += len(residuals) * math.fsum(products) / len(products) if products else 0.0
        return total / len(kept)

    if len({prediction for prediction, _ in rows}) == len(rows):
        refuses("InputError: every bin holds a single", assess.squared_ece, data.scores, data.labels, grouping="values")
        return
    error = assess.squared_ece(data.scores, data.labels, grouping="values")
    assert math.isclose(error.estimate, by_pairs(rows), rel_tol=1e-9, abs_tol=1e-12)
    left_out = [by_pairs(rows[:i] + rows[i + 1 :]) for i in range(len(rows))]
    centre = math.fsum(left_out) / len(rows)
    variance = (len(rows) - 1) / len(rows) * math.fsum((estimate - centre) ** 2 for estimate in left_out)
    assert math.isclose(error.standard_error, math.sqrt(variance), rel_tol=1e-6, abs_tol=1e-9)


def test_debiased_error_under_importance_weights() -> None:
    """Weighted pairs of different samples, and the jackknife, both the long way."""
    rng = np.random.default_rng(1)
    predictions, labels, weights = rng.choice([0.2, 0.5, 0.9], 30), rng.integers(0, 2, 30), rng.exponential(size=30)

    def by_pairs(rows: list[int]) -> float:
        total = 0.0
        for value in set(predictions[rows]):
            own = [i for i in rows if predictions[i] == value]
            pairs = [(i, j) for i in own for j in own if i != j]
            product = math.fsum(weights[i] * weights[j] * (labels[i] - value) * (labels[j] - value) for i, j in pairs)
            if pairs:
                total += weights[own].sum() * product / math.fsum(weights[i] * weights[j] for i, j in pairs)
        return float(total / weights[rows].sum())

    error = assess.squared_ece(predictions, labels, grouping="values", sample_weight=weights)
    assert math.isclose(error.estimate, by_pairs(list(range(30))), rel_tol=1e-9)
    left_out = np.array([by_pairs([i for i in range(30) if i != j]) for j in range(30)])
    variance = 29 / 30 * ((left_out - left_out.mean()) ** 2).sum()
    assert math.isclose(error.standard_error, math.sqrt(variance), rel_tol=1e-9)


@settings(max_examples=examples(150), deadline=None)
@given(data=data_of(), seed=strategies.seeds)
def test_brier_score_is_the_sum_of_its_parts(data: CalibrationData, seed: int) -> None:
    n_bins = Random(seed).randrange(1, 12)
    score = math.fsum((p - y) ** 2 for p, y in zip(data.scores, data.labels, strict=True)) / len(data.scores)
    for grouping in ("values", "uniform-mass", "fixed-width"):
        parts = assess.brier_decomposition(**columns(data), grouping=grouping, n_bins=n_bins)
        assert math.isclose(parts.score, score, abs_tol=1e-13)
        assert math.isclose(parts.calibration - parts.sharpness + parts.uncertainty + parts.within, score, abs_tol=1e-13)
        if grouping == "values":
            assert abs(parts.within) < 1e-12


fractions_in_unit = st.fractions(0, 1, max_denominator=12)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.tuples(st.integers(1, 9), fractions_in_unit, fractions_in_unit), min_size=1, max_size=8))
def test_population_risk(atoms: list[tuple[int, Fraction, Fraction]]) -> None:
    total = sum(weight for weight, _, _ in atoms)
    masses = [Fraction(weight, total) for weight, _, _ in atoms]
    eta, values = [atom[1] for atom in atoms], [atom[2] for atom in atoms]
    expected = exact.risk_decomposition(masses, eta, values)
    second_moment = float(sum(m * e * e for m, e in zip(masses, eta, strict=True)))
    for given_moment in (None, second_moment):
        risk = theory.population_risk(*(list(map(float, column)) for column in (values, masses, eta)), given_moment)
        for name in ("risk", "calibration_risk", "sharpness_risk", "label_variance", "sharpness", "mean_squared_error"):
            assert math.isclose(getattr(risk, name), float(getattr(expected, name)), rel_tol=1e-9, abs_tol=1e-12), name
