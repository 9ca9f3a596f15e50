"""Seeds that are kept, folds that lack a class, and which of two classes a calibrated classifier is about."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.6")

from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import fastbin as fb
from fastbin.sklearn import CalibratedClassifier

X, Y = make_classification(2000, n_features=8, flip_y=0.3, random_state=0)
X3, Y3 = make_classification(3000, n_features=8, n_informative=5, n_classes=3, flip_y=0.3, random_state=0)
FROZEN = FrozenEstimator(LinearSVC(random_state=0).fit(X, np.where(Y == 1, "paid", "default")))


# ------------------------------------------------------------------------------------------------- seeds that are kept


@pytest.mark.parametrize("given", [None, 7, "state"])
def test_the_seed_of_a_fit_is_kept(given: Any) -> None:
    """With it, the same rows are held out, the forest is the same, and so is a calibrator that draws."""
    state = np.random.RandomState(7) if given == "state" else given
    calibrator = fb.UniformMassBinning(5, ties="random", seed=None)
    options: dict[str, Any] = {"calibrator": calibrator}
    forest = RandomForestClassifier(3, max_depth=4)
    clf = CalibratedClassifier(forest, random_state=state, **options).fit(X, Y)
    assert given != 7 or clf.random_state_ == 7
    again = CalibratedClassifier(forest, random_state=clf.random_state_, **options).fit(X, Y)
    assert again.random_state_ == clf.random_state_
    assert again.model_.to_bytes() == clf.model_.to_bytes()
    np.testing.assert_array_equal(again.estimator_.predict_proba(X), clf.estimator_.predict_proba(X))
    assert clf.get_params()["random_state"] is state
    assert calibrator.seed is None


def test_a_seed_is_drawn_anew_for_each_fit() -> None:
    seeds = {CalibratedClassifier(GaussianNB()).fit(X[:200], Y[:200]).random_state_ for _ in range(5)}
    assert len(seeds) > 1


# ------------------------------------------------------------------------------------------------- folds without a class


def test_a_class_that_a_fold_never_saw_has_probability_0_there() -> None:
    """As in scikit-learn, which gives the column of such a class zeros."""
    y = Y3.copy()
    y[y == 2] = 1
    y[:5] = 2
    folds = [(np.arange(1500, 3000), np.arange(1500)), (np.arange(1500), np.arange(1500, 3000))]
    with pytest.warns(fb.FastbinWarning, match="class 2 is missing from the training part of fold 0, so"):
        clf = CalibratedClassifier(GaussianNB(), cv=folds, multiclass="one-vs-rest", calibrator=fb.FixedWidthBinning(1)).fit(
            X3, y
        )
    assert clf.predict_proba(X3).shape == (3000, 3)
    assert clf.model_[2].n_samples == 3000
    with pytest.warns(fb.FastbinWarning, match="missing"):
        tops = CalibratedClassifier(GaussianNB(), cv=folds, calibrator=fb.FixedWidthBinning(1)).fit(X3, y)
    fits = [GaussianNB().fit(X3[train], y[train]) for train, _ in folds]
    seen = np.zeros((3000, 3))
    seen[:1500, :2], seen[1500:] = fits[0].predict_proba(X3[:1500]), fits[1].predict_proba(X3[1500:])
    own = fb.multi.TopLabelBinning(calibrator=fb.FixedWidthBinning(1), classes=[0, 1, 2]).fit(seen, y).model_
    assert [tops.model_[k].counts.tolist() for k in range(3)] == [own[k].counts.tolist() for k in range(3)]


def test_one_class_of_two_in_a_fold() -> None:
    y = np.arange(200) >= 100
    folds = [(np.arange(100, 200), np.arange(100)), (np.arange(100), np.arange(100, 200))]
    with pytest.warns(fb.FastbinWarning) as told:
        clf = CalibratedClassifier(DecisionTreeClassifier(), cv=folds, calibrator=fb.FixedWidthBinning(2)).fit(X[:200], y)
    missing = [str(each.message).partition(" from")[0] for each in told if "from the training part" in str(each.message)]
    assert missing == ["class False is missing", "class True is missing"]
    assert clf.model_.counts.tolist() == [100, 100]
    assert clf.model_.label_sums.tolist() == [100, 0], "each tree was sure of the class that it alone had seen"
    with pytest.raises(fb.InputError, match="class False is missing from the training part of fold 0"):
        CalibratedClassifier(LinearSVC(), cv=folds).fit(X[:200], y)


# ------------------------------------------------------------------------------------------------- what p is about

PAID = np.where(Y == 1, "paid", "default")


def test_a_certificate_is_about_the_class_that_is_positive() -> None:
    """The alphabet puts 'default' first; the probability of default is what is calibrated, certified and saved."""
    clf = CalibratedClassifier(LogisticRegression(), random_state=0, positive="default").fit(X, PAID)
    assert clf.classes_.tolist() == ["default", "paid"]
    assert clf.positive_ == clf.model_.event == "default"
    probabilities, scores = clf.predict_proba(X), clf.estimator_.predict_proba(X)
    np.testing.assert_array_equal(probabilities[:, 0], clf.model_.predict(scores[:, 0]))
    np.testing.assert_array_equal(probabilities[:, 1], 1.0 - probabilities[:, 0])
    assert np.corrcoef(probabilities[:, 0], Y)[0, 1] < -0.3
    classes, top = clf.predict_top(X)
    np.testing.assert_array_equal(classes, clf.predict(X))
    np.testing.assert_array_equal(top, probabilities.max(axis=1))
    ends = clf.predict_interval(X)
    np.testing.assert_array_equal(ends, clf.model_.predict_interval(scores[:, 0]))
    assert clf.score(X, PAID) > 0.6
    assert clf.certificate().n_samples == 500


@pytest.mark.parametrize(
    ("names", "positive", "event"),
    [
        (["default", "paid"], None, "paid"), ([0, 1], None, ""), ([False, True], None, ""), ([0, 1], 0, "0"),
        ([1, 2], None, "2"), ([1, 2], 1, "1"), (["a", "b" * 300], None, ""),
    ],
)  # fmt: skip
def test_the_event_is_called_as_the_class(names: Any, positive: Any, event: str) -> None:
    clf = CalibratedClassifier(LogisticRegression(), random_state=0, positive=positive).fit(X, np.array(names)[Y])
    assert clf.positive_ == (names[1] if positive is None else positive)
    assert clf.model_.event == event
    assert fb.BinnedModel.from_bytes(clf.model_.to_bytes()).event == event
    second = CalibratedClassifier(LogisticRegression(), random_state=0).fit(X, Y)
    if clf.positive_ == names[1]:
        assert clf.model_.same_map(second.model_)


@pytest.mark.parametrize(
    "estimator", [LinearSVC(random_state=0), FrozenEstimator(LinearSVC(random_state=0).fit(X, PAID))], ids=repr
)
def test_decisions_of_the_first_class(estimator: Any) -> None:
    clf = CalibratedClassifier(estimator, random_state=0, positive="default").fit(X, PAID)
    decisions = clf.estimator_.decision_function(X)
    np.testing.assert_array_equal(clf.predict_proba(X)[:, 0], clf.model_.predict(-decisions))
    assert clf.score(X, PAID) > 0.6


def test_out_of_fold_scores_of_the_first_class() -> None:
    clf = CalibratedClassifier(GaussianNB(), cv=3, positive="default", calibrator=fb.UniformMassBinning(5)).fit(X, PAID)
    assert clf.model_.event == "default"
    assert (np.diff(clf.model_.values) > 0).all()


def test_a_positive_class_that_is_none() -> None:
    with pytest.raises(fb.InputError, match=r"positive is 'late', which is none of the classes \['default', 'paid'\]"):
        CalibratedClassifier(positive="late").fit(X, PAID)
    with pytest.raises(fb.InputError, match="positive is 1, and each of the 3 classes has a probability; leave it out"):
        CalibratedClassifier(positive=1).fit(X3, Y3)
