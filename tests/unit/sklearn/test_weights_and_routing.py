"""Sample weights, and what else scikit-learn hands to a fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.6")

import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.neighbors import KNeighborsClassifier
from wordings import refuses

import fastbin as fb
from fastbin.sklearn import CalibratedClassifier
from fastbin.sklearn.training import Subset, draw_held_out

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1200, 3))
Y = (RNG.random(1200) < 1.0 / (1.0 + np.exp(-X[:, 0]))).astype(int)
TRAINED = LogisticRegression().fit(X[:400], Y[:400])
X_LATER, Y_LATER = X[400:], Y[400:]
WEIGHTS = RNG.integers(0, 4, 800)


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers what its last fit was given."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, marks: Any = None) -> Recorder:
        self.classes_, self.X_, self.weights_, self.marks_ = np.unique(y), np.asarray(X), sample_weight, marks
        return self

    def predict_proba(self, X: Any) -> Any:
        p = 1.0 / (1.0 + np.exp(-np.asarray(X)[:, 0]))
        return np.column_stack([1.0 - p, p])


# ------------------------------------------------------------------------------------------------- weights


def test_rows_of_weight_0_are_not_there() -> None:
    keep = WEIGHTS > 0
    for weights in (keep, keep.astype(int), keep.astype(float)):
        dropped = CalibratedClassifier(Recorder(), random_state=0).fit(X_LATER, Y_LATER, weights)
        alone = CalibratedClassifier(Recorder(), random_state=0).fit(X_LATER[keep], Y_LATER[keep])
        assert dropped.model_ == alone.model_
        np.testing.assert_array_equal(dropped.estimator_.X_, alone.estimator_.X_)
        assert dropped.estimator_.weights_ is None
        assert dropped.certificate() == alone.certificate()


def test_frequencies_are_repeated_rows() -> None:
    repeated = np.repeat(np.arange(800), WEIGHTS)
    alone = CalibratedClassifier(FrozenEstimator(TRAINED)).fit(X_LATER[repeated], Y_LATER[repeated])
    counted = CalibratedClassifier(FrozenEstimator(TRAINED), sample_weight_kind="frequency").fit(X_LATER, Y_LATER, WEIGHTS)
    assert counted.model_ == alone.model_
    assert counted.certificate() == alone.certificate()


def test_other_weights_void_the_certificate() -> None:
    for weights in (WEIGHTS, WEIGHTS.astype(float), RNG.random(800)):
        clf = CalibratedClassifier(FrozenEstimator(TRAINED)).fit(X_LATER, Y_LATER, weights)
        for ask in (clf.certificate, lambda clf=clf: clf.predict_interval(X)):
            with pytest.raises(fb.GuaranteeError, match="sample_weight has weights other than 0 and 1"):
                ask()
        with pytest.raises(fb.GuaranteeError):
            clf.model_.certificate()
    counted = CalibratedClassifier(FrozenEstimator(TRAINED), sample_weight_kind="frequency").fit(X_LATER, Y_LATER, WEIGHTS)
    unnamed = CalibratedClassifier(FrozenEstimator(TRAINED)).fit(X_LATER, Y_LATER, WEIGHTS)
    np.testing.assert_array_equal(unnamed.predict_proba(X), counted.predict_proba(X))


def test_floats_are_no_frequencies() -> None:
    with pytest.raises(fb.InputTypeError, match="a float, and sample_weight_kind is 'frequency'"):
        CalibratedClassifier(sample_weight_kind="frequency").fit(X_LATER, Y_LATER, WEIGHTS.astype(float))


def test_bad_weights() -> None:
    for weights, message in (
        (np.zeros(800), "zero for every row"), (np.ones(3), "X has 800, sample_weight has 3"), (np.ones((800, 2)), "shape"),
        (-np.ones(800), r"sample_weight\[0\] is -1"), (np.full(800, np.nan), r"sample_weight\[0\] is nan"),
    ):  # fmt: skip
        with pytest.raises(fb.InputError, match=message):
            CalibratedClassifier().fit(X_LATER, Y_LATER, weights)


def test_weights_go_to_the_estimator_too() -> None:
    weights = RNG.random(800)
    clf = CalibratedClassifier(Recorder(), calibrator=fb.FixedWidthBinning(1), random_state=0)
    clf.fit(X_LATER, Y_LATER, weights, marks=np.arange(800))
    np.testing.assert_array_equal(clf.estimator_.weights_, weights[clf.estimator_.marks_])
    np.testing.assert_array_equal(clf.estimator_.X_, X_LATER[clf.estimator_.marks_])
    held = np.setdiff1d(np.arange(800), clf.estimator_.marks_)
    assert clf.model_.weight_sums.sum() == pytest.approx(weights[held].sum())
    with pytest.warns(fb.FastbinWarning, match="fit of KNeighborsClassifier takes no sample_weight"):
        CalibratedClassifier(KNeighborsClassifier(), calibrator=fb.FixedWidthBinning(1)).fit(X_LATER, Y_LATER, weights)


# ------------------------------------------------------------------------------------------------- repetitions


def test_repetitions_are_drawn_one_by_one() -> None:
    """A table of four rows that count many: a draw of whole rows would hold out all of one kind."""
    whole = Subset(np.arange(4), np.array([400, 100, 200, 300]))
    draws = np.random.RandomState(0)
    held = []
    for _ in range(300):
        train, part = draw_held_out(whole, 0.25, draws, frequencies=True)
        total = np.zeros(4, int)
        total[train.at] += train.weights
        total[part.at] += part.weights
        np.testing.assert_array_equal(total, whole.weights)
        assert part.weights.sum() == 250
        held.append(part.weights)
    mean, variance = np.mean(held, axis=0), np.var(held, axis=0)
    shares = whole.weights / 1000
    expected = 250 * shares * (1 - shares) * 750 / 999
    np.testing.assert_allclose(mean, 250 * shares, atol=4 * np.sqrt(expected.max() / 300))
    np.testing.assert_allclose(variance, expected, rtol=0.35)
    for part in draw_held_out(Subset(np.arange(3), np.array([1, 1000, 1])), 0.25, draws, frequencies=True):
        assert (part.weights > 0).all(), "a row is in the parts that have some of it"
    most = Subset(np.arange(2), np.array([10**9 - 2, 1]))
    assert sum(part.weights.sum() for part in draw_held_out(most, 0.25, draws, frequencies=True)) == 10**9 - 1


def test_counted_tables_are_certified() -> None:
    table = np.array([[0.0], [0.0], [1.0], [1.0]])
    with pytest.warns(fb.FastbinWarning, match="ties left"):
        clf = CalibratedClassifier(LogisticRegression(), sample_weight_kind="frequency", random_state=0).fit(
            table, [0, 1, 0, 1], np.array([3000, 1000, 1000, 3000])
        )
    assert clf.certificate().n_samples == 2000
    np.testing.assert_allclose(clf.predict_proba([[0.0], [1.0]])[:, 1], [0.25, 0.75], atol=0.05)
    with pytest.raises(fb.InputError, match="at most 999999999 repetitions"):
        clf.fit(table, [0, 1, 0, 1], np.array([10**9, 1, 1, 1]))


# ------------------------------------------------------------------------------------------------- routing


@pytest.fixture
def routing() -> Any:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_metadata_go_where_they_are_asked_for() -> None:
    weights, marks = RNG.random(800), np.arange(800)
    asks = Recorder().set_fit_request(sample_weight=True, marks=True)
    clf = CalibratedClassifier(asks, random_state=0).fit(X_LATER, Y_LATER, sample_weight=weights, marks=marks)
    np.testing.assert_array_equal(clf.estimator_.weights_, weights[clf.estimator_.marks_])
    declines = Recorder().set_fit_request(sample_weight=False, marks=True)
    clf = CalibratedClassifier(declines, random_state=0).fit(X_LATER, Y_LATER, sample_weight=weights, marks=marks)
    assert clf.estimator_.weights_ is None
    assert clf.model_.weight_sums is not None
    with pytest.raises(UnsetMetadataPassedError):
        CalibratedClassifier(Recorder(), random_state=0).fit(X_LATER, Y_LATER, sample_weight=weights)
    own = CalibratedClassifier(random_state=0).fit(X_LATER, Y_LATER, sample_weight=weights)
    routed = CalibratedClassifier(LogisticRegression().set_fit_request(sample_weight=True), random_state=0)
    np.testing.assert_array_equal(own.estimator_.coef_, routed.fit(X_LATER, Y_LATER, sample_weight=weights).estimator_.coef_)


def test_groups_need_routing() -> None:
    clf = CalibratedClassifier(LogisticRegression(), cv=GroupKFold(5))
    refuses("InputError cv", clf.fit, X_LATER, Y_LATER, groups=np.arange(800) % 5)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("with_zeros", [False, True])
def test_groups_go_to_the_splitter(with_zeros: bool) -> None:
    groups = np.arange(800) % 5
    weights = (WEIGHTS > 0).astype(int) if with_zeros else None
    asks = Recorder().set_fit_request(sample_weight=True, marks=True)
    clf = CalibratedClassifier(asks, cv=GroupKFold(5))
    clf.fit(X_LATER, Y_LATER, sample_weight=weights, groups=groups, marks=np.arange(800))
    kept = np.flatnonzero(WEIGHTS) if with_zeros else np.arange(800)
    np.testing.assert_array_equal(clf.estimator_.marks_, kept)
    assert clf.model_.n_samples == len(kept)
    router = clf.get_metadata_routing()
    assert router.consumes("fit", {"groups", "sample_weight", "marks"}) == {"groups", "sample_weight", "marks"}
