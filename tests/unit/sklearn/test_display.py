"""The display draws what the table of the same predictions says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.6")
pytest.importorskip("matplotlib")

from matplotlib import pyplot
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier

import fastbin as fb
from fastbin.sklearn import CalibratedClassifier, ReliabilityDisplay

X, Y = make_classification(1500, flip_y=0.3, random_state=0)
X3, Y3 = make_classification(1500, n_classes=3, n_informative=5, flip_y=0.3, random_state=0)


@pytest.fixture(autouse=True)
def closed() -> Any:
    yield
    pyplot.close("all")


def assert_same(table: Any, other: Any) -> None:
    np.testing.assert_array_equal(table.mean_predictions, other.mean_predictions)
    np.testing.assert_array_equal(table.label_sums, other.label_sums)
    np.testing.assert_array_equal(table.intervals, other.intervals)


def test_of_an_estimator() -> None:
    clf = CalibratedClassifier(random_state=0).fit(X, np.array(["no", "yes"])[Y])
    _, ax = pyplot.subplots()
    display = ReliabilityDisplay.from_estimator(clf, X, np.array(["no", "yes"])[Y], ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert display.name == "CalibratedClassifier"
    assert_same(display.table, fb.assess.reliability_table(clf.predict_proba(X)[:, 1], Y, alpha=0.1))
    other = ReliabilityDisplay.from_estimator(clf, X, np.array(["no", "yes"])[Y], pos_label="no", n_bins=5, alpha=0.2)
    assert_same(other.table, fb.assess.reliability_table(clf.predict_proba(X)[:, 0], 1 - Y, n_bins=5, alpha=0.2))


def test_of_several_classes() -> None:
    clf = CalibratedClassifier(LogisticRegression(), random_state=0).fit(X3, Y3)
    top, q = clf.predict_top(X3)
    assert_same(ReliabilityDisplay.from_estimator(clf, X3, Y3).table, fb.assess.reliability_table(q, top == Y3, alpha=0.1))
    plain = clf.estimator_
    matrix = plain.predict_proba(X3)
    expected = fb.assess.reliability_table(matrix.max(axis=1), matrix.argmax(axis=1) == Y3, alpha=0.1)
    assert_same(ReliabilityDisplay.from_estimator(plain, X3, Y3).table, expected)
    one = ReliabilityDisplay.from_estimator(plain, X3, Y3, pos_label=2)
    assert_same(one.table, fb.assess.reliability_table(matrix[:, 2], Y3 == 2, alpha=0.1))


def test_an_estimator_without_probabilities_is_refused() -> None:
    X, y = make_classification(60, random_state=0)
    with pytest.raises(fb.InputTypeError, match="estimator is a RidgeClassifier, which has no predict_proba; calibrate"):
        ReliabilityDisplay.from_estimator(RidgeClassifier().fit(X, y), X, y)


def test_of_predictions() -> None:
    p = np.random.default_rng(0).random(500)
    y = np.random.default_rng(1).random(500) < p
    display = ReliabilityDisplay.from_predictions(y, p, name="mine")
    assert_same(display.table, fb.assess.reliability_table(p, y, alpha=0.1))
    named = ReliabilityDisplay.from_predictions(np.where(y, "a", "b"), p, pos_label="a")
    assert_same(named.table, display.table)
    first = display.ax_
    assert display.plot().ax_ is not first


@pytest.mark.parametrize("kind", ["float", "object", "Int64", "category"])
def test_a_missing_class_is_not_another_class(kind: str) -> None:
    pd = pytest.importorskip("pandas")
    classes = {
        "float": np.array([1.0, np.nan, 0.0]),
        "object": np.array(["a", None, "b"], object),
        "Int64": pd.array([1, pd.NA, 0], "Int64"),
        "category": pd.Categorical(["a", None, "b"]),
    }[kind]
    with pytest.raises(fb.InputError, match=r"y_true\[1\] is missing; remove rows without a label"):
        ReliabilityDisplay.from_predictions(classes, [0.2, 0.5, 0.7], pos_label=classes[0])


def test_mistakes() -> None:
    clf = CalibratedClassifier(random_state=0)
    with pytest.raises(NotFittedError):
        ReliabilityDisplay.from_estimator(clf, X, Y)
    with pytest.raises(fb.InputError, match=r"pos_label is 'x', which is none of the classes \[0, 1\]"):
        ReliabilityDisplay.from_estimator(clf.fit(X, Y), X, Y, pos_label="x")
    asked_for = r"y_true\[0\] is 'no'; labels are 0 and 1, or any classes with pos_label, the class whose probability y_prob is"
    with pytest.raises(fb.InputTypeError, match=asked_for):
        ReliabilityDisplay.from_predictions(["no", "yes"], [0.2, 0.7])
    with pytest.raises(fb.InputError, match=r"y_true\[1\] is 2; labels are 0 and 1, or any classes with pos_label"):
        ReliabilityDisplay.from_predictions([1, 2], [0.2, 0.7])
    with pytest.raises(fb.InputError, match=r"y_prob\[1\] is NaN"):
        ReliabilityDisplay.from_predictions([0, 1], [0.2, np.nan])
