"""Reliability tables of several classes are the exact reference, bin by bin, and so is the level of their errors by chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from property.test_multiclass import Forecasts, forecasts
from scipy.stats import beta
from wordings import refuses

from fastbin import assess
from reference import multiclass as exact
from strategies import examples

KINDS = ("class-wise", "top-label", "confusion")
kinds = pytest.mark.parametrize("multiclass", KINDS)
REFERENCES = {
    "class-wise": exact.class_wise_groups,
    "top-label": exact.top_label_groups,
    "confusion": lambda rows, labels: {j: list(own.values()) for j, own in exact.confusion_groups(rows, labels).items()},
}


def matrix(seed: int, n: int = 400, k: int = 4) -> tuple[Any, Any]:
    """Probabilities, and labels that have them as frequencies."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(k), n)
    return P, np.minimum((np.cumsum(P, axis=1) < rng.random((n, 1))).sum(axis=1), k - 1)


def assert_rows_are(rows: Sequence[dict[str, Any]], expected: Sequence[tuple[Any, exact.Group]]) -> None:
    assert [row["class"] for row in rows] == [key for key, _ in expected]
    for row, (_, group) in zip(rows, expected, strict=True):
        assert (row["count"], row["label_sum"]) == (len(group), sum(label for _, label in group))
        assert row["positive_rate"] == row["label_sum"] / row["count"]
        mean = sum((prediction for prediction, _ in group), Fraction(0)) / len(group)
        assert math.isclose(row["mean_prediction"], mean, rel_tol=1e-9, abs_tol=1e-13)


@kinds
@settings(max_examples=examples(100), deadline=None)
@given(data=forecasts())
def test_rows_and_errors(multiclass: str, data: Forecasts) -> None:
    table = assess.reliability_table(data.rows, data.labels, multiclass=multiclass)
    groups = REFERENCES[multiclass](data.rows, data.labels)
    assert_rows_are(list(table), [(j, group) for j, own in groups.items() for group in own])
    sizes = np.array([len(group) for own in groups.values() for group in own])
    np.testing.assert_allclose(table.masses, sizes / sizes.sum())
    assert table.n_samples == len(data.labels)
    assert table.parts is not None
    assert list(table.parts) == list(groups)


@settings(max_examples=examples(100), deadline=None)
@given(data=forecasts(), n_bins=st.integers(1, 20))
def test_the_error_of_a_table_is_the_metric(data: Forecasts, n_bins: int) -> None:
    error = assess.reliability_table(data.rows, data.labels, multiclass="class-wise", n_bins=n_bins).ece()
    assert math.isclose(error, exact.class_wise_ece(data.rows, data.labels, n_bins), rel_tol=1e-9, abs_tol=1e-13)
    top, predicted = np.max(data.rows, axis=1).tolist(), np.argmax(data.rows, axis=1).tolist()
    error = assess.reliability_table(data.rows, data.labels, multiclass="top-label", n_bins=n_bins).ece()
    assert math.isclose(error, exact.top_label_ece(top, predicted, data.labels, n_bins), rel_tol=1e-9, abs_tol=1e-13)


@kinds
@settings(max_examples=examples(40), deadline=None)
@given(data=forecasts(largest=25))
def test_the_level_by_chance(multiclass: str, data: Forecasts) -> None:
    level = assess.reliability_table(data.rows, data.labels, multiclass=multiclass).chance_level
    assert level is not None
    groups = [group for own in REFERENCES[multiclass](data.rows, data.labels).values() for group in own]
    # Predictions are averaged in cells, and laws are computed by a Fourier transform.
    assert level.ece == pytest.approx(float(exact.error_by_chance(groups)), rel=1e-4, abs=1e-10)
    assert math.isnan(level.ece_95) == math.isnan(level.max_gap) == (multiclass != "top-label")


@kinds
@settings(max_examples=examples(40), deadline=None)
@given(data=forecasts(largest=40))
def test_frequencies_are_repetitions(multiclass: str, data: Forecasts) -> None:
    counted = assess.reliability_table(data.rows, data.labels, multiclass=multiclass, sample_weight=data.weights)
    plain = assess.reliability_table(*data.repeated(), multiclass=multiclass)
    assert counted.counts.tolist() == plain.counts.tolist()
    assert counted.label_sums.tolist() == plain.label_sums.tolist()
    np.testing.assert_allclose(counted.mean_predictions, plain.mean_predictions, rtol=1e-12)
    np.testing.assert_allclose(counted.masses, plain.masses, rtol=1e-12)
    np.testing.assert_allclose(counted.intervals, plain.intervals, rtol=1e-12)
    np.testing.assert_allclose(counted.chance_level, plain.chance_level, rtol=1e-9)


@settings(max_examples=examples(40), deadline=None)
@given(data=forecasts(largest=40))
def test_top_labels_alone_and_as_a_matrix(data: Forecasts) -> None:
    names = [f"c{j}" for j in range(len(data.rows[0]))]
    labels = [names[j] for j in data.labels]
    whole = assess.reliability_table(data.rows, labels, multiclass="top-label", classes=names)
    predicted = [names[j] for j in np.argmax(data.rows, axis=1)]
    top = assess.reliability_table(np.max(data.rows, axis=1), labels, multiclass="top-label", predicted=predicted)
    assert list(top) == list(whole)
    assert top.chance_level == whole.chance_level


# ------------------------------------------------------------------------------------------------- intervals


@kinds
@pytest.mark.parametrize("simultaneous", [True, False])
def test_each_interval_has_its_level(multiclass: str, simultaneous: bool) -> None:
    """Predicted classes are independent, so Sidak is over all bins; else each class has its part of alpha, and Sidak within."""
    P, labels = matrix(1)
    P[:, 0] = np.round(P[:, 0])  # two values and so two bins for this class, and more for the others
    table = assess.reliability_table(P, labels, multiclass=multiclass, alpha=0.2, simultaneous=simultaneous)
    assert table.parts is not None
    expected = []
    for part in table.parts.values():
        share, n = (0.2, len(table.counts)) if multiclass == "top-label" else (0.2 / 4, len(part.counts))
        level = 1.0 - (1.0 - share) ** (1.0 / n) if simultaneous else 0.2
        expected.append(by_beta(part, level))
        np.testing.assert_allclose(part.intervals, expected[-1], rtol=1e-12)
    np.testing.assert_allclose(table.intervals, np.concatenate(expected), rtol=1e-12)


def by_beta(part: assess.ReliabilityTable, level: float) -> Any:
    """Quantiles of SciPy's beta law; where predictions differ and one label is 1, or one is 0, that of Markov's inequality."""
    x, n = part.label_sums, part.counts
    low = np.where(x == 0, 0.0, beta.ppf(level / 2.0, np.maximum(x, 1), n - x + 1))
    high = np.where(x == n, 1.0, beta.ppf(1.0 - level / 2.0, x + 1, np.maximum(n - x, 1)))
    if part.grouping != "values":
        low = np.where(x == 1, level / (2.0 * n), low)
        high = np.where(x == n - 1, 1.0 - level / (2.0 * n), high)
    return np.column_stack([low, high])


@kinds
def test_without_alpha_and_with_importance_weights(multiclass: str) -> None:
    P, labels = matrix(2)
    weights = np.random.default_rng(2).random(len(labels)) + 0.5
    assert assess.reliability_table(P, labels, multiclass=multiclass, alpha=None).intervals is None
    table = assess.reliability_table(P, labels, multiclass=multiclass, sample_weight=weights)
    assert table.intervals is None
    assert table.is_weighted
    bounded = assess.reliability_table(P, labels, multiclass=multiclass, sample_weight=weights, weight_bound=1.5)
    assert bounded.intervals is not None
    assert (bounded.intervals[:, 0] <= table.positive_rates).all()
    metric = assess.class_wise_ece(P, labels, sample_weight=weights)
    if multiclass == "top-label":
        metric = assess.top_label_ece(P.max(axis=1), P.argmax(axis=1), labels, sample_weight=weights)
    if multiclass != "confusion":
        assert table.ece() == pytest.approx(metric)


# ------------------------------------------------------------------------------------------------- what is shown


@kinds
def test_words_and_frames(multiclass: str) -> None:
    P, labels = matrix(3)
    names = [1000, 2000, 3000, 4000]
    table = assess.reliability_table(P, np.array(names)[labels], multiclass=multiclass, classes=names)
    words = str(table)
    assert f"mean gap ({multiclass} ECE) {table.ece():.4f}; a perfectly calibrated predictor would show" in words
    assert ("one of 20 test sets" in words) == (multiclass == "top-label")
    assert "of 4 " in words
    assert "\n1000 " in words  # no comma in a key
    assert "class" in table._repr_html_()
    assert set(table.to_pandas()["class"]) == set(names)
    told = table.to_dict()
    assert told["multiclass"] == multiclass
    assert told["chance_level"]["max_gap"] is None or multiclass == "top-label"
    assert len(told["bins"]) == len(table.counts)


def test_a_confusion_matrix_can_be_pivoted() -> None:
    P, labels = matrix(4, k=3)
    names = ["confirmed", "contradicted", "cow"]
    table = assess.reliability_table(P, np.array(names)[labels], multiclass="confusion", classes=names)
    assert (table.grouping, table.predicted) == ("predicted", tuple(names) * 3)
    wide = table.to_pandas().pivot(index="predicted", columns="class", values="positive_rate").loc[names, names]
    for at in range(3):
        own = labels[P.argmax(axis=1) == at]
        np.testing.assert_allclose(wide.to_numpy()[at], np.bincount(own, minlength=3) / len(own))
    assert "verdict" not in table._repr_html_()


def test_classes_that_are_never_predicted_have_no_bin() -> None:
    P = [[0.6, 0.3, 0.1]] * 5 + [[0.2, 0.3, 0.5]] * 5
    table = assess.reliability_table(P, [0, 1] * 5, multiclass="confusion")
    assert table.predicted == (0, 2) * 3
    assert list(assess.reliability_table(P, [0, 1] * 5, multiclass="top-label").parts or ()) == [0, 2]
    assert list(assess.reliability_table(P, [0, 1] * 5, multiclass="class-wise").parts or ()) == [0, 1, 2]


def test_classes_that_are_divided_differently() -> None:
    P = np.column_stack([np.repeat([0.25, 0.75], 60), np.linspace(0.0, 1.0, 120)])
    table = assess.reliability_table(P, np.arange(120) % 2, multiclass="class-wise")
    assert table.parts is not None
    assert [part.grouping for part in table.parts.values()] == ["values", "uniform-mass"]
    assert (table.grouping, table.n_bins_asked) == ("mixed", 17)
    np.testing.assert_array_equal(table.gaps[:2], table.parts[0].gaps)


def test_the_level_of_very_many_bins_is_the_expectation_or_nothing() -> None:
    predicted, stated = np.repeat(np.arange(1200), 10), np.tile(np.arange(10) / 10, 1200)
    right = predicted * (np.arange(12_000) % 3 > 0)
    options = {"multiclass": "top-label", "predicted": predicted, "grouping": "values", "alpha": None}
    few = assess.reliability_table(stated[:900], right[:900], **{**options, "predicted": predicted[:900]}).chance_level
    many = assess.reliability_table(stated[:3000], right[:3000], **{**options, "predicted": predicted[:3000]}).chance_level
    assert few is not None
    assert many is not None
    assert few.ece == pytest.approx(many.ece)  # all classes have the same predictions
    assert few.ece < few.ece_95
    assert math.isnan(many.ece_95)
    assert assess.reliability_table(stated, right, **options).chance_level is None


P2 = [[0.2, 0.8], [0.5, 0.5]]
REFUSED: dict[str, tuple[Any, dict[str, Any]]] = {
    "InputError multiclass": (P2, {"multiclass": "one-vs-rest"}),
    "InputError positive": (P2, {"multiclass": "class-wise", "positive": 1}),
    "InputError grouping": (P2, {"multiclass": "confusion", "grouping": "values"}),
    "InputError classes": ([0.5, 0.5], {"multiclass": "top-label", "predicted": [0, 1], "classes": [0, 1]}),
    "InputError predicted": (P2, {"multiclass": "class-wise", "predicted": [0, 1]}),
    "InputError predicted: is given, and multiclass is not": ([0.5, 0.5], {"predicted": [0, 1]}),
    "InputError classes: is given, and multiclass is not": ([0.5, 0.5], {"classes": [0, 1]}),
    "InputTypeError predictions": ([0.5, 0.5], {"multiclass": "top-label"}),
    "InputError predictions[1]": ([0.5, 1.5], {"multiclass": "top-label", "predicted": [0, 1]}),
    "InputError predictions[0, 1]": ([[0.2, math.nan], [0.5, 0.5]], {"multiclass": "confusion"}),
    "InputError: lengths differ: predictions": ([[0.2, 0.8]], {"multiclass": "confusion"}),
    "InputError: no sample of positive weight": (P2, {"multiclass": "confusion", "sample_weight": [0, 0]}),
}


@pytest.mark.parametrize("told", REFUSED)
def test_what_is_refused(told: str) -> None:
    predictions, options = REFUSED[told]
    refuses(told, assess.reliability_table, predictions, [0, 1], **options)
