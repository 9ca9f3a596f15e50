"""The metrics of several classes are the exact reference, on predictions that tie, touch 0 and 1, and on rare classes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wordings import refuses

from fastbin import assess
from reference import multiclass as exact
from strategies import examples

# Few values, so that they tie within a class and between classes, beside any double.
PROBABILITIES = st.one_of(st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5, 1.0]), st.floats(0.0, 1.0))


class Forecasts(NamedTuple):
    rows: list[list[float]]
    labels: list[int]
    weights: list[int]

    def repeated(self) -> tuple[list[list[float]], list[int]]:
        """Rows and labels, frequencies counted out."""
        counted = [(row, label) for row, label, n in zip(*self, strict=True) for _ in range(n)]
        return [row for row, _ in counted], [label for _, label in counted]


@st.composite
def forecasts(draw: Any, largest: int = 80) -> Forecasts:
    n, k = draw(st.integers(1, largest)), draw(st.integers(2, 5))
    seed, n_values = draw(st.integers(0, 2**32)), draw(st.sampled_from([1, 2, 4, 10**6]))
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(k, 0.5), n)[rng.integers(0, min(n, n_values), n)] if n_values < 10 else rng.random((n, k))
    rows[draw(st.integers(0, n - 1)), draw(st.integers(0, k - 1))] = draw(PROBABILITIES)
    weights = rng.integers(0, 4, n)
    weights[0] = 1
    return Forecasts(rows.tolist(), rng.integers(0, draw(st.integers(1, k)), n).tolist(), weights.tolist())


@settings(max_examples=examples(200), deadline=None)
@given(data=forecasts(), n_bins=st.integers(1, 20))
def test_calibration_errors(data: Forecasts, n_bins: int) -> None:
    rows, labels = np.array(data.rows), np.array(data.labels)
    top, predicted = rows.max(axis=1), rows.argmax(axis=1)
    expected = float(exact.top_label_ece(top.tolist(), predicted.tolist(), data.labels, n_bins))
    assert math.isclose(assess.top_label_ece(top, predicted, labels, n_bins=n_bins), expected, rel_tol=1e-9, abs_tol=1e-13)
    expected = float(exact.class_wise_ece(data.rows, data.labels, n_bins))
    assert math.isclose(assess.class_wise_ece(rows, labels, n_bins=n_bins), expected, rel_tol=1e-9, abs_tol=1e-13)


@settings(max_examples=examples(150), deadline=None)
@given(data=forecasts())
def test_proper_scores(data: Forecasts) -> None:
    rows = np.array(data.rows)
    expected = float(exact.brier(data.rows, data.labels))
    assert math.isclose(assess.multiclass_brier(rows, data.labels), expected, rel_tol=1e-9, abs_tol=1e-13)
    if (rows.sum(axis=1) == 0.0).any():
        return
    rows = rows / rows.sum(axis=1, keepdims=True)
    expected = exact.log_loss(rows.tolist(), data.labels)
    assert math.isclose(assess.multiclass_log_loss(rows, data.labels), expected, rel_tol=1e-9, abs_tol=1e-13)


@settings(max_examples=examples(100), deadline=None)
@given(data=forecasts(largest=40), n_bins=st.integers(1, 20))
def test_frequencies_are_repetitions(data: Forecasts, n_bins: int) -> None:
    rows, labels = map(np.array, data.repeated())
    given_rows = np.array(data.rows)
    weighted: dict[str, Any] = {"sample_weight": np.array(data.weights)}
    for grouping in ("auto", "values", "uniform-mass", "fixed-width"):
        bins: dict[str, Any] = {"grouping": grouping, "n_bins": n_bins}
        plain = assess.top_label_ece(rows.max(axis=1), rows.argmax(axis=1), labels, **bins)
        counted = assess.top_label_ece(given_rows.max(axis=1), given_rows.argmax(axis=1), data.labels, **bins, **weighted)
        assert math.isclose(plain, counted, rel_tol=1e-9, abs_tol=1e-13)
        plain = assess.class_wise_ece(rows, labels, **bins)
        counted = assess.class_wise_ece(given_rows, data.labels, **bins, **weighted)
        assert math.isclose(plain, counted, rel_tol=1e-9, abs_tol=1e-13)
    plain, counted = assess.multiclass_brier(rows, labels), assess.multiclass_brier(given_rows, data.labels, **weighted)
    assert math.isclose(plain, counted, rel_tol=1e-9, abs_tol=1e-13)


@settings(max_examples=examples(100), deadline=None)
@given(data=forecasts(), grouping=st.sampled_from(["values", "uniform-mass", "fixed-width"]), n_bins=st.integers(1, 20))
def test_two_routes_to_one_number(data: Forecasts, grouping: str, n_bins: int) -> None:
    """With one predicted class the top-label error is `ece`; with two classes the scores are the binary ones."""
    rows, labels = np.array(data.rows), np.array(data.labels)
    top = rows.max(axis=1)
    alone = assess.top_label_ece(top, np.full(len(top), 3), labels, grouping=grouping, n_bins=n_bins)
    assert math.isclose(alone, assess.ece(top, labels == 3, grouping=grouping, n_bins=n_bins), abs_tol=1e-12)
    both, ones = np.stack([1.0 - rows[:, 0], rows[:, 0]], axis=1), np.minimum(labels, 1)
    assert math.isclose(assess.multiclass_brier(both, ones), 2.0 * assess.brier_score(rows[:, 0], ones), abs_tol=1e-12)
    losses = assess.multiclass_log_loss(both, ones), assess.log_loss(rows[:, 0], ones)
    assert losses[0] == losses[1] or math.isclose(*losses, rel_tol=1e-9, abs_tol=1e-15)


@settings(max_examples=examples(60), deadline=None)
@given(data=forecasts(largest=30))
def test_names_of_classes_do_not_matter(data: Forecasts) -> None:
    rows, k = np.array(data.rows), len(data.rows[0])
    for names in ([f"c{j}" for j in range(k)][::-1], [7 * j - 3 for j in range(k)]):
        labels = [names[label] for label in data.labels]
        assert assess.class_wise_ece(rows, labels, names) == assess.class_wise_ece(rows, data.labels)
        assert assess.multiclass_brier(rows, labels, names) == assess.multiclass_brier(rows, data.labels)
        named = [names[j] for j in rows.argmax(axis=1)]
        both = (
            assess.top_label_ece(rows.max(axis=1), named, labels),
            assess.top_label_ece(rows.max(axis=1), rows.argmax(1), data.labels),
        )
        assert math.isclose(*both, rel_tol=1e-12, abs_tol=1e-15)


ROWS = [[0.2, 0.8], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: assess.top_label_ece([0.5, 1.5], [0, 0], [0, 1]), "InputError probabilities[1]"),
        (lambda: assess.top_label_ece([0.5], ["a"], [1]), "InputTypeError: predicted holds text"),
        (lambda: assess.top_label_ece([0.5], ["a", "b"], ["a", "b"]), "InputError: lengths differ: probabilities"),
        (lambda: assess.top_label_ece([0.5, 0.5], [0, 1], [0, None]), "InputError labels[1]: is missing;"),
        (lambda: assess.top_label_ece([0.5, 0.5], [0, 1], [0.0, 0.5]), "InputError labels[0]: is 0.0;"),
        (lambda: assess.top_label_ece([0.5, 0.5], ["a", ""], ["a", "b"]), "InputError predicted[1]"),
        (lambda: assess.top_label_ece([], [], []), "InputError: *sample to assess"),
        (lambda: assess.top_label_ece([0.5], [1], [1], sample_weight=[0]), "InputError: *sample of positive weight"),
        (lambda: assess.class_wise_ece(ROWS, [0, 2]), "InputError labels[1]: is 2,"),
        (lambda: assess.class_wise_ece(ROWS, ["a", "b"]), "InputError labels"),
        (lambda: assess.class_wise_ece(ROWS, ["a", "c"], ["a", "b"]), "InputError labels[1]: is 'c',"),
        (lambda: assess.class_wise_ece(ROWS, ["a", "b"], ["a", "a"]), "InputError classes"),
        (lambda: assess.class_wise_ece(ROWS, ["a", "b"], [1, 2]), "InputError labels[0]: is 'a',"),
        (lambda: assess.class_wise_ece([0.2, 0.8], [0, 1]), "InputTypeError probabilities"),
        (lambda: assess.class_wise_ece([[0.2, math.nan]], [0]), "InputError probabilities[0, 1]"),
        (lambda: assess.multiclass_brier([[0.2, 0.8], [-1.0, 2.0]], [0, 0]), "InputError probabilities[1, 0]"),
        (lambda: assess.multiclass_log_loss([[0.2, 0.8], [0.2, 0.7]], [0, 0]), "InputError row 1 of probabilities"),
    ],
)
def test_what_cannot_be_assessed_is_refused(call: Any, message: str) -> None:
    refuses(message, call)


def test_a_class_of_probability_zero_that_occurs_costs_infinitely_much() -> None:
    assert assess.multiclass_log_loss([[0.0, 1.0]], [0]) == math.inf
    assert assess.multiclass_log_loss([[0.0, 1.0]], [1]) == 0.0
    assert assess.multiclass_log_loss(np.array([[0.25, 0.75004]], np.float32), [0]) == pytest.approx(math.log(4.0))
