"""A calibrated classifier: its training, its calibration, its answers and its certificate."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.6")

import pandas as pd
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from wordings import refuses

import fastbin as fb
from fastbin.sklearn import CalibratedClassifier
from fastbin.sklearn.calibrated_classifier import columns_of, keys_of
from fastbin.sklearn.calibrating import CalibrationRows
from fastbin.sklearn.training import Subset, folds_of, seed_of_draws

X, Y = make_classification(2000, n_features=8, flip_y=0.3, random_state=0)
X3, Y3 = make_classification(3000, n_features=8, n_informative=5, n_classes=3, flip_y=0.3, random_state=0)
MULTICLASS = pytest.mark.parametrize("multiclass", ["top-label", "one-vs-rest"])


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers the rows of its fit by their first feature, which says what its probabilities are."""

    def fit(self, X: Any, y: Any) -> Recorder:
        self.classes_, self.rows_ = np.unique(y), np.asarray(X)[:, 0].astype(int)
        return self

    def predict_proba(self, X: Any) -> Any:
        p = np.asarray(X)[:, 0] / 1e4
        return np.column_stack([1.0 - p, p])


def numbered(n: int) -> Any:
    return np.column_stack([np.arange(n), np.zeros(n)]).astype(float)


# ------------------------------------------------------------------------------------------------- which rows


@pytest.mark.parametrize(("holdout", "n_held"), [(None, 250), (0.4, 400), (100, 100), (np.int64(7), 7), (1e-4, 1)])
def test_the_same_rows_are_held_out_of_the_same_labels(holdout: Any, n_held: int) -> None:
    rng, trained = np.random.default_rng(0), []
    for y in [rng.integers(0, 2, 1000)] * 2 + [rng.integers(0, 2, 1000)]:
        clf = CalibratedClassifier(Recorder(), holdout=holdout, random_state=3).fit(numbered(1000), y)
        held = np.setdiff1d(np.arange(1000), clf.estimator_.rows_)
        assert len(held) == n_held == clf.model_.n_samples
        assert clf.model_.n_positive == y[held].sum()
        trained.append(clf.estimator_.rows_.tolist())
    assert trained[0] == trained[1] != trained[2]
    other = CalibratedClassifier(Recorder(), holdout=holdout, random_state=4).fit(numbered(1000), y)
    assert other.estimator_.rows_.tolist() != trained[0]


def test_a_held_out_row_is_any_row() -> None:
    """Not stratified, and no place in the data is preferred: the counts of held-out rows are those of a plain draw."""
    held, y = np.zeros(40), np.arange(40) % 2
    for seed in range(400):
        clf = CalibratedClassifier(Recorder(), random_state=seed).fit(numbered(40), y)
        held[np.setdiff1d(np.arange(40), clf.estimator_.rows_)] += 1
    assert np.abs(held - 100).max() < 5 * np.sqrt(400 * 0.25 * 0.75)
    assert held[y == 1].sum() != held[y == 0].sum()


class Constant(Recorder):
    """The score .5 for every row."""

    def predict_proba(self, X: Any) -> Any:
        return np.full((len(X), 2), 0.5)


@pytest.mark.parametrize("seed", [0, 33, 58])
def test_files_that_are_sorted_by_their_labels_are_divided_each_in_its_own_way(seed: int) -> None:
    """One bin, whose interval of 90 % is to have the rate: at seed 33 it missed 89 of 100 when the number alone decided."""
    rng, missed = np.random.default_rng(1), 0
    for _ in range(100):
        y = np.sort(rng.random(400) < 0.3).astype(int)
        clf = CalibratedClassifier(Constant(), calibrator=fb.UniformMassBinning(1), random_state=seed).fit(numbered(400), y)
        low, high = clf.model_.interval(0.1)[0]
        missed += not low <= 0.3 <= high
    assert missed < 25  # 10 promised, with a standard error of 3


def test_a_frozen_estimator_is_calibrated_by_all_rows_which_are_recognised() -> None:
    """Edges that were moved between the scores of the fit are in the fingerprint."""
    trained = LogisticRegression().fit(X[:1000], Y[:1000])
    clf = CalibratedClassifier(FrozenEstimator(trained)).fit(X[1000:], Y[1000:])
    assert clf.model_.n_samples == clf.certificate().n_samples == 1000
    scores = trained.predict_proba(X[1000:])[:, 1]
    alone = fb.CertifiedCalibration().fit(scores, Y[1000:])
    np.testing.assert_allclose(clf.predict_proba(X)[:, 1], alone.predict(trained.predict_proba(X)[:, 1]), atol=1e-6)
    assert clf.certificate().epsilon == pytest.approx(alone.certificate().epsilon, abs=1e-6)
    assert "calibration set" in str(fb.assess.check_certificate(clf.model_, scores, Y[1000:]))


# ------------------------------------------------------------------------------------------------- what is said


def test_two_classes() -> None:
    clf = CalibratedClassifier(random_state=0).fit(X, Y)
    assert isinstance(clf.estimator_, LogisticRegression)
    assert isinstance(clf.model_, fb.BinnedModel)
    probabilities = clf.predict_proba(X)
    np.testing.assert_array_equal(probabilities[:, 1], clf.model_.predict(clf.estimator_.predict_proba(X)[:, 1]))
    np.testing.assert_array_equal(probabilities[:, 0], 1.0 - probabilities[:, 1])
    np.testing.assert_array_equal(clf.predict(X), (probabilities[:, 1] > 0.5).astype(int))
    classes, tops = clf.predict_top(X)
    np.testing.assert_array_equal(classes, clf.predict(X))
    np.testing.assert_array_equal(tops, probabilities.max(axis=1))
    ends = clf.predict_interval(X, alpha=0.2)
    np.testing.assert_array_equal(ends, clf.model_.predict_interval(clf.estimator_.predict_proba(X)[:, 1], alpha=0.2))
    assert clf.certificate(0.2) == clf.model_.certificate(0.2)
    assert clf.score(X, Y) == np.mean(clf.predict(X) == Y)


def vectors_of(X: Any, y: Any, clf: Any) -> tuple[Any, Any]:
    """The vectors of the rows that were held out, as the classifier fits them, and of their scores as they are."""
    _, calibration = clf._split(Subset.of_all(None, len(y)), np.random.RandomState(seed_of_draws(0, y)))
    scores, classes = clf.estimator_.predict_proba(X[calibration.at]), y[calibration.at]
    as_they_are = fb.multi.VectorCalibration().fit(scores, classes).model_
    return CalibrationRows(scores, classes, clf.classes_, None, "top-label").fit_vectors(), as_they_are


def test_top_label() -> None:
    clf = CalibratedClassifier(LogisticRegression(), multiclass="top-label", random_state=0).fit(X3, Y3)
    assert clf.model_.kind == "top-label"
    scores, probabilities = clf.estimator_.predict_proba(X3), clf.predict_proba(X3)
    top = scores.argmax(axis=1)
    classes, q = clf.predict_top(X3)
    np.testing.assert_array_equal(classes, top)
    np.testing.assert_array_equal(q, clf.model_.predict(scores.max(axis=1), top))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-15)
    rows = np.arange(len(X3))
    np.testing.assert_array_equal(probabilities[rows, top], q)
    first, second = np.argsort(scores, axis=1)[:, 0], np.argsort(scores, axis=1)[:, 1]
    shares, of_scores_as_they_are = (vectors.predict(scores) for vectors in vectors_of(X3, Y3, clf))
    np.testing.assert_allclose(shares, of_scores_as_they_are, rtol=1e-9)
    np.testing.assert_allclose(
        probabilities[rows, first] * shares[rows, second], probabilities[rows, second] * shares[rows, first], rtol=1e-12
    )
    assert "predicted class" in str(clf.certificate())
    assert clf.predict_interval(X3).shape == (3000, 2)
    bounds = clf.predict_interval(X3, alpha=0.05)
    np.testing.assert_array_equal(bounds, clf.model_.predict_interval(scores.max(axis=1), top, alpha=0.05))


def test_one_against_the_rest() -> None:
    clf = CalibratedClassifier(LogisticRegression(), multiclass="one-vs-rest", random_state=0).fit(X3, Y3)
    assert clf.model_.kind == "class-wise"
    scores = clf.estimator_.predict_proba(X3)
    own = np.column_stack([clf.model_[k].predict(scores[:, k]) for k in range(3)])
    np.testing.assert_allclose(clf.predict_proba(X3), own / own.sum(axis=1, keepdims=True), rtol=1e-15)
    classes, q = clf.predict_top(X3)
    np.testing.assert_array_equal(classes, clf.predict(X3))
    np.testing.assert_array_equal(q, own.max(axis=1))
    assert clf.predict_interval(X3).shape == (3000, 3, 2)
    with pytest.raises(fb.GuaranteeError, match=r"divides the probabilities of a row by their sum.*model_\.certificate"):
        clf.certificate()
    assert clf.model_.certificate().n_samples == 750


def test_shares_where_nothing_is_left() -> None:
    class Sure(Recorder):
        def predict_proba(self, X: Any) -> Any:
            return np.eye(3)[np.asarray(X)[:, 0].astype(int) % 3]

    y = np.arange(600) % 3
    y[::7] = 0
    with pytest.warns(fb.FastbinWarning) as told:
        clf = CalibratedClassifier(FrozenEstimator(Sure().fit(numbered(600), y)), multiclass="top-label").fit(numbered(600), y)
    assert ["predicted labels" in str(each.message) for each in told] == [True, False]
    assert "ties left 1 of the" in str(told[1].message)
    probabilities = clf.predict_proba(numbered(3))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert probabilities[1, 2] > 0.0
    assert probabilities[1, 0] > probabilities[1, 2], "the more frequent class has more of the rest"


@pytest.mark.parametrize("weights", [None, "frequencies", "importance"])
def test_no_class_has_probability_0(weights: str | None) -> None:
    """A forest gives most classes of a row a score of 0; the true one is among them now and then."""
    forest = RandomForestClassifier(5, random_state=0)
    given = {None: None, "frequencies": np.arange(3000) % 3 + 1, "importance": np.linspace(0.5, 2.0, 3000)}[weights]
    kind = "frequency" if weights == "frequencies" else "importance"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*ties left", fb.FastbinWarning)
        clf = CalibratedClassifier(forest, random_state=0, sample_weight_kind=kind, multiclass="top-label").fit(X3, Y3, given)
    rows = np.arange(3000)
    scores, probabilities = clf.estimator_.predict_proba(X3), clf.predict_proba(X3)
    classes, q = clf.predict_top(X3)
    assert (scores[rows, Y3] == 0.0).any()
    assert 0.0 < q.min() < q.max() < 1.0
    assert probabilities.min() > 0.0
    np.testing.assert_array_equal(probabilities[rows, classes], q)
    np.testing.assert_array_equal(q, clf.model_.predict(scores.max(axis=1), classes))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-15)
    assert -np.log(probabilities[rows, Y3]).max() < np.log(3000 * 3000)


@pytest.mark.parametrize(
    ("first", "item", "error", "told"),
    [
        (0, "x", "InputError y[7]", "is 'x', and y[0] is 1; give classes of one type"),
        ("a", 3, "InputError y[7]", "is 3, and y[0] is 'b'; give classes of one type"),
        (0, None, "InputError y[7]", "is None; remove rows without a label"),
        ("a", None, "InputError y[7]", "is None; remove rows without a label"),
        ("a", float("nan"), "InputError y[7]", "is nan; remove rows without a label"),
    ],
)
def test_classes_of_two_types_and_missing_ones_are_named(first: Any, item: Any, error: str, told: str) -> None:
    two = [first, first + 1 if first == 0 else "b"]
    y = [two[each % 2] for each in range(1, len(X3) + 1)]
    y[7] = item
    for given in (y, np.array(y, object)):
        refuses(f"{error}: {told}", CalibratedClassifier(LogisticRegression()).fit, X3, given)


@MULTICLASS
@pytest.mark.parametrize(
    "names",
    [["b", "a", "c"], [7, -1, 3], [0.5, 1.5, 2.5], np.array(["x", "yy", "z"], object)],
    ids=["str", "int", "float", "object"],
)
def test_classes_of_any_type(multiclass: str, names: Any) -> None:
    y = np.asarray(names)[Y3]
    clf = CalibratedClassifier(LogisticRegression(), multiclass=multiclass, random_state=0)
    if y.dtype.kind == "f":
        with pytest.raises(ValueError, match="Unknown label type: continuous"):
            clf.fit(X3, y)
        return
    clf.fit(X3, y)
    np.testing.assert_array_equal(clf.classes_, np.unique(y))
    assert set(clf.predict(X3)) <= set(y.tolist())
    assert clf.predict(X3).dtype == y.dtype
    assert clf.model_.columns == tuple(np.unique(y).tolist())
    order = np.argsort(names)
    plain = CalibratedClassifier(LogisticRegression(), multiclass=multiclass, random_state=0).fit(X3, np.argsort(order)[Y3])
    np.testing.assert_array_equal(clf.predict_proba(X3), plain.predict_proba(X3))


@pytest.mark.parametrize("pair", [(False, True), ("no", "yes"), (1, 2), (-1, 1)])
def test_two_classes_of_any_type(pair: Any) -> None:
    clf = CalibratedClassifier(random_state=0).fit(X, np.array(pair)[Y])
    np.testing.assert_array_equal(clf.predict_proba(X), CalibratedClassifier(random_state=0).fit(X, Y).predict_proba(X))
    assert set(clf.predict(X).tolist()) == set(pair)


@MULTICLASS
def test_decisions(multiclass: str) -> None:
    clf = CalibratedClassifier(LinearSVC(random_state=0), multiclass=multiclass, random_state=0).fit(X, Y)
    assert clf.model_.score_range is None
    np.testing.assert_array_equal(clf.predict_proba(X)[:, 1], clf.model_.predict(clf.estimator_.decision_function(X)))
    several = CalibratedClassifier(LinearSVC(random_state=0), multiclass=multiclass, random_state=0).fit(X3, Y3)
    assert several.score(X3, Y3) > 0.5
    np.testing.assert_allclose(several.predict_proba(X3).sum(axis=1), 1.0)
    for score_range in ([0.0, 1.0], np.array([0, 1])):  # any pair is the range of probabilities, which gives way
        inner = fb.PlattScaling(score_range=score_range)
        assert CalibratedClassifier(LinearSVC(), calibrator=inner, random_state=0).fit(X, Y).model_.score_range is None
    with pytest.raises(fb.InputError, match=r"BetaScaling\(\), which takes probabilities, and LinearSVC has decision_function"):
        CalibratedClassifier(LinearSVC(), calibrator=fb.BetaScaling()).fit(X, Y)


CALIBRATORS = [
    fb.UniformMassBinning(5), fb.UniformMassBinning(5, ties="random"), fb.UniformMassBinning(5, scheme="umb"),
    fb.ScalingBinning(5), fb.FixedWidthBinning(5), fb.ExplicitBinning([0.5]), fb.IsotonicCalibration(),
    fb.IsotonicCalibration(interpolate=True), fb.VennAbers(), fb.PlattScaling(), fb.TemperatureScaling(), fb.BetaScaling(),
    fb.CertifiedCalibration(score_range=(0, 2)),
]  # fmt: skip


@pytest.mark.parametrize("calibrator", CALIBRATORS, ids=repr)
@pytest.mark.filterwarnings("ignore:3 of 3 models.*holds no sample:fastbin.FastbinWarning")
def test_any_calibrator(calibrator: Any) -> None:
    trained = LogisticRegression().fit(X[:1000], Y[:1000])
    clf = CalibratedClassifier(FrozenEstimator(trained), calibrator=calibrator).fit(X[1000:], Y[1000:])
    scores = trained.predict_proba(X)[:, 1]
    alone = clone(calibrator).fit(scores[1000:], Y[1000:]).model_
    assert clf.model_.scheme == alone.scheme
    np.testing.assert_allclose(clf.model_.predict(scores, seed=0), alone.predict(scores, seed=0), atol=1e-6)
    assert calibrator._model is None, "what the user gave is not fitted"
    options = {"calibrator": calibrator, "multiclass": "top-label", "random_state": 0}
    several = CalibratedClassifier(LogisticRegression(), **options).fit(X3, Y3)
    np.testing.assert_allclose(several.predict_proba(X3).sum(axis=1), 1.0)


# ------------------------------------------------------------------------------------------------- no certificate


@pytest.mark.parametrize("cv", [3, [(np.arange(1000), np.arange(1000, 2000)), (np.arange(1000, 2000), np.arange(1000))]])
def test_out_of_fold_scores_have_no_certificate(cv: Any, tmp_path: Path) -> None:
    clf = CalibratedClassifier(LogisticRegression(), cv=cv).fit(X, Y)
    assert clf.model_.n_samples == 2000
    np.testing.assert_array_equal(clf.estimator_.coef_, LogisticRegression().fit(X, Y).coef_)
    for ask in (clf.certificate, lambda: clf.predict_interval(X)):
        with pytest.raises(fb.GuaranteeError, match="the calibrator has seen scores of other fits of the estimator"):
            ask()
    clf.model_.save(tmp_path / "model.fbm")
    for ask in (fb.load(tmp_path / "model.fbm").certificate, fb.load(tmp_path / "model.fbm").interval):
        with pytest.raises(fb.GuaranteeError):
            ask()
    assert "cv was given" in fb.load(tmp_path / "model.fbm").note


KINDS = ("conditional", "marginal", "expected-ece", "ece", "ratio", "mean-error", "mean-overestimate", "mean-underestimate")


def refuses_all(model: Any) -> None:
    """Also what rests on slices, which would hold for every scheme."""
    asked = [lambda kind=kind: model.certificate(kind=kind) for kind in KINDS]
    asked += [model.certificates, model.interval, lambda: model.predict_interval([0.5])]
    asked += [lambda: fb.monotone_model(model).certificate(kind="mean-error")]
    for ask in asked:
        with pytest.raises(fb.GuaranteeError, match="the model's note"):
            ask()


@pytest.mark.parametrize("calibrator", [None, fb.UniformMassBinning(5, monotone=True), fb.CertifiedCalibration(values="mean")])
@pytest.mark.parametrize(("options", "weight"), [({"cv": 3}, None), ({}, 2), ({}, 1.5), ({"cv": 3}, 2)])
def test_a_saved_model_without_a_certificate_has_no_promise_of_any_kind(calibrator: Any, options: Any, weight: Any) -> None:
    clf = CalibratedClassifier(LogisticRegression(), calibrator=calibrator, random_state=0, **options)
    clf.fit(X, Y, **({} if weight is None else {"sample_weight": np.full(len(Y), weight)}))
    refuses_all(fb.BinnedModel.from_bytes(clf.model_.to_bytes()))


@MULTICLASS
def test_no_model_of_a_set_is_certified_after_cv(multiclass: str) -> None:
    clf = CalibratedClassifier(LogisticRegression(), cv=3, multiclass=multiclass).fit(X3, Y3)
    for model in clf.model_.models.values():
        refuses_all(model)
    with pytest.raises(fb.GuaranteeError):
        clf.model_.certificate()
    with pytest.raises(fb.GuaranteeError, match="cv was given"):
        clf.certificate()


def test_out_of_fold_scores_are_those_of_the_folds() -> None:
    parts = [(np.arange(500, 2000), np.arange(500)), (np.arange(1000), np.arange(500, 2000))]
    clf = CalibratedClassifier(LogisticRegression(), cv=parts).fit(X, Y)
    scores = np.empty(2000)
    for train, test in parts:
        scores[test] = LogisticRegression().fit(X[train], Y[train]).predict_proba(X[test])[:, 1]
    alone = fb.CertifiedCalibration().fit(scores, Y).model_
    np.testing.assert_array_equal(clf.model_.counts, alone.counts)
    np.testing.assert_array_equal(clf.model_.label_sums, alone.label_sums)
    np.testing.assert_allclose(clf.model_.values, alone.values, atol=1e-6)


# ------------------------------------------------------------------------------------------------- habits


def test_attributes_of_the_estimator_inside() -> None:
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(8)])
    clf = CalibratedClassifier(LogisticRegression(), random_state=0).fit(frame, pd.Series(Y))
    assert clf.n_features_in_ == 8
    assert clf.feature_names_in_.tolist() == list(frame.columns)
    np.testing.assert_array_equal(clf.predict_proba(frame), CalibratedClassifier(random_state=0).fit(X, Y).predict_proba(X))
    assert not hasattr(clf.fit(X, Y), "feature_names_in_")
    clf.fit(frame, Y)
    sparse = CalibratedClassifier(random_state=0).fit(scipy.sparse.csr_matrix(X), Y)
    np.testing.assert_allclose(sparse.predict_proba(X), clf.predict_proba(frame), atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*ties left:fastbin.FastbinWarning")
@MULTICLASS
def test_pickles_and_copies(multiclass: str) -> None:
    clf = CalibratedClassifier(DecisionTreeClassifier(max_depth=4), multiclass=multiclass, random_state=0)
    clf.fit(X3, Y3)
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.predict_proba(X3), clf.predict_proba(X3))
    assert again.model_ == clf.model_
    assert str(again.model_.certificate()) == str(clf.model_.certificate())
    copy = clone(clf).fit(X3, Y3)
    np.testing.assert_array_equal(copy.predict_proba(X3), clf.predict_proba(X3))


def test_parameters_inside() -> None:
    clf = CalibratedClassifier(LogisticRegression(), calibrator=fb.UniformMassBinning(5), random_state=0)
    clf.set_params(calibrator__n_bins=4, estimator__C=0.1)
    assert clf.fit(X, Y).model_.n_bins == 4
    assert clf.estimator_.C == 0.1
    assert clf.get_params()["calibrator__n_bins"] == 4


def test_a_grid_over_bins_inside_a_pipeline() -> None:
    pipeline = make_pipeline(StandardScaler(), CalibratedClassifier(calibrator=fb.UniformMassBinning(), random_state=0))
    grid = {"calibratedclassifier__calibrator__n_bins": [2, 5, 20], "calibratedclassifier__holdout": [0.2, 0.4]}
    search = GridSearchCV(pipeline, grid, cv=3, scoring="neg_brier_score").fit(X, Y)
    assert len(search.cv_results_["params"]) == 6
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    best = search.best_estimator_[-1]
    assert best.model_.n_bins == search.best_params_["calibratedclassifier__calibrator__n_bins"]
    assert cross_val_score(CalibratedClassifier(random_state=0), X3, Y3, cv=3, scoring="neg_log_loss").max() < 0.0
    assert "CalibratedClassifier" in search._repr_html_()


def test_a_saved_model_serves_the_same(tmp_path: Path) -> None:
    clf = CalibratedClassifier(LogisticRegression(), multiclass="top-label", random_state=0).fit(X3, Y3)
    clf.model_.save(tmp_path / "model.fbm")
    scores = clf.estimator_.predict_proba(X3)
    served = fb.load(tmp_path / "model.fbm").predict(scores.max(axis=1), scores.argmax(axis=1))
    np.testing.assert_array_equal(served, clf.predict_top(X3)[1])


def test_float32_probabilities() -> None:
    """Boosters give them; their rows sum to 1 within 1e-7 at best."""

    class Single(LogisticRegression):
        def predict_proba(self, X: Any) -> Any:
            return super().predict_proba(X).astype(np.float32)

    for multiclass in ("top-label", "one-vs-rest"):
        clf = CalibratedClassifier(Single(), multiclass=multiclass, random_state=0).fit(X3, Y3)
        plain = CalibratedClassifier(LogisticRegression(), multiclass=multiclass, random_state=0).fit(X3, Y3)
        assert clf.predict_proba(X3).dtype == np.float64
        np.testing.assert_allclose(clf.predict_proba(X3).sum(axis=1), 1.0, rtol=1e-14)
        np.testing.assert_allclose(clf.predict_proba(X3), plain.predict_proba(X3), atol=1e-3)


def test_small_data_never_fail() -> None:
    for n in (4, 8, 15, 30):
        y = np.arange(n) % 2
        clf = CalibratedClassifier(GaussianNB(), random_state=0).fit(X[:n], y)
        assert ((clf.predict_proba(X) >= 0.0) & (clf.predict_proba(X) <= 1.0)).all()
    for multiclass in ("top-label", "one-vs-rest"):
        few = np.r_[:12, 100:112, 200:212]
        clf = CalibratedClassifier(GaussianNB(), multiclass=multiclass, random_state=1).fit(X3[few], np.repeat([0, 1, 2], 12))
        np.testing.assert_allclose(clf.predict_proba(X3).sum(axis=1), 1.0)


# ------------------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"holdout": 0.2, "cv": 3}, "holdout is 0.2 and cv is 3; give one of the two"),
        ({"cv": 0.25}, r"cv is 0\.25, a share; one part that is held out is holdout=0\.25"),
        ({"cv": "prefit"}, r"cv='prefit' is not known; pass FrozenEstimator"),
        ({"cv": "five"}, "cv is 'five'"),
        ({"cv": 1}, "cv is 1; pass the number of folds, from 2 on"),
        ({"cv": True}, "cv is True"),
        ({"cv": [([0, 1, 2], [3])]}, "is missing from the training part of fold 0|cv does not put each row into one test part"),
        ({"cv": [1, 2]}, r"cv\[0\] does not name a training and a test part of 2000 rows \(cannot unpack"),
        ({"cv": [([0], [1]), ([1], [2000])]}, r"cv\[1\] does not name .* \(index 2000 is out of bounds.*; give the training"),
        ({"cv": iter([])}, "cv gives no folds; pass a list or a splitter; one fit uses an iterator up"),
        ({"positive": np.array([1, 0])}, r"positive is array\(\[1, 0\]\), which is none of the classes"),
        ({"ensemble": "auto"}, "ensemble is 'auto'; an average"),
        ({"ensemble": True}, "ensemble is True; an average of several calibrated classifiers has no model"),
        ({"holdout": 0.0}, "holdout is 0.0; as a share it is between 0 and 1"),
        ({"holdout": 1.0}, "holdout is 1.0; as a share it is between 0 and 1"),
        ({"holdout": 1.5}, "holdout is 1.5"),
        ({"holdout": 0}, "holdout is 0; pass a share"),
        ({"holdout": 2000}, "holdout is 2000, and there are 2000 rows; leave some to train"),
        ({"holdout": "half"}, "holdout is 'half'"),
        ({"multiclass": "ovr"}, "multiclass is 'ovr'"),
        ({"sample_weight_kind": "counts"}, "sample_weight_kind is 'counts'"),
        ({"calibrator": fb.UniformMassBinning}, "calibrator is the class UniformMassBinning"),
        ({"calibrator": LogisticRegression()}, "calibrator is of type LogisticRegression"),
        ({"estimator": LogisticRegression}, "estimator is the class LogisticRegression"),
        ({"estimator": "logistic"}, "estimator is of type str"),
        ({"estimator": FrozenEstimator(GaussianNB().fit(X, Y)), "cv": 3}, "estimator is frozen, and all rows calibrate it"),
        ({"estimator": FrozenEstimator(GaussianNB().fit(X, Y)), "holdout": 9}, "estimator is frozen.*leave out holdout"),
        ({"estimator": StandardScaler()}, "has neither predict_proba nor decision_function"),
    ],
)  # fmt: skip
def test_mistakes_are_named(options: Any, message: str) -> None:
    with pytest.raises((fb.InputError, fb.InputTypeError), match=message):
        CalibratedClassifier(**options).fit(X, Y)


def test_what_is_masked_is_refused() -> None:
    X, y = make_classification(60, random_state=0)
    masked = np.zeros(60, bool)
    masked[7] = True
    for given, told in (
        ((np.ma.array(X, mask=np.zeros_like(X, bool) | masked[:, None]), y), r"X\[7, 0\] is masked"),
        ((X, np.ma.array(y, mask=masked)), r"y\[7\] is masked"),
        ((X, y, np.ma.array(np.ones(60), mask=masked)), r"sample_weight\[7\] is masked; remove or fill masked rows first"),
    ):
        with pytest.raises(fb.InputError, match=told):
            CalibratedClassifier(LogisticRegression()).fit(*given)


def test_a_class_that_is_missing_is_named() -> None:
    y = np.array(["often"] * 1000, object)
    y[:500], y[7] = "sometimes", "never"
    messages = []
    for seed in range(20):
        clf = CalibratedClassifier(GaussianNB(), random_state=seed)
        try:
            clf.fit(X[:1000], y)
        except ValueError as error:
            messages.append(str(error))
    assert 0 < len(messages) < 20, "one row of four is held out"
    assert all(text.startswith("class 'never' is missing from the training part, which has 750 rows") for text in messages)
    with pytest.raises(ValueError, match="y has 1 class, 'often' in every row"):
        clf.fit(X[:10], y[-10:])
    trained = GaussianNB().fit(X, Y)
    with pytest.raises(fb.InputError, match=r"y\[3\] is 2, and the frozen estimator knows the classes \[0, 1\]"):
        CalibratedClassifier(FrozenEstimator(trained)).fit(X[:5], [0, 1, 0, 2, 1])
    with pytest.raises(fb.InputError, match=r"y\[3\] is 2"):
        CalibratedClassifier(FrozenEstimator(trained)).fit(X[:5], [0, 1, 0, 2, 1], [0, 1, 0, 1, 1])
    assert columns_of(np.array(["a", "b", "a"]), np.arange(3), np.array(["b", "a"])).tolist() == [1, 0, 1]
    assert keys_of(np.array(["", "a", "b"])) == [0, 1, 2], "a key is not empty"
    one_class = CalibratedClassifier(FrozenEstimator(trained)).fit(X[:50], np.ones(50, int))
    assert one_class.classes_.tolist() == [0, 1]


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


def test_folds_are_ascending_in_whatever_order_a_splitter_names_rows() -> None:
    class Backwards:
        def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
            yield np.array([3, 2]), np.array([1, 0])

        def get_n_splits(self, *_: Any) -> int:
            return 1

    ((train, test),) = folds_of(X[:4], Y[:6], np.array([0, 1, 4, 5]), Backwards())
    assert (train.tolist(), test.tolist()) == ([4, 5], [0, 1])


def test_a_seed_is_drawn_anew_for_each_fit() -> None:
    for state in (None, np.random.RandomState(0)):
        seeds = {CalibratedClassifier(GaussianNB(), random_state=state).fit(X[:200], Y[:200]).random_state_ for _ in range(5)}
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
    one_bin = {"cv": folds, "calibrator": fb.FixedWidthBinning(1)}
    with pytest.warns(fb.FastbinWarning, match="missing"):
        tops = CalibratedClassifier(GaussianNB(), multiclass="top-label", **one_bin).fit(X3, y)
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
    refused = "class False is missing from the training part of fold 0, and the estimator refuses the others: This solver needs"
    with pytest.raises(fb.InputError, match=refused):
        CalibratedClassifier(LogisticRegression(), cv=folds).fit(X[:200], y)


def test_models_of_folds_say_why_they_promise_nothing() -> None:
    vectors = CalibratedClassifier(GaussianNB(), cv=3).fit(X3, Y3).model_
    with pytest.raises(fb.GuaranteeError, match=r"no evidence bins \(the model's note: cv was given, .*; nothing is known"):
        vectors.certificate()
    one = CalibratedClassifier(GaussianNB(), cv=3).fit(X, Y).model_
    with pytest.raises(fb.GuaranteeError, match=r"keep them; fit again \(the model's note: cv was given"):
        one.predict_interval([0.5])


def test_vectors_are_certified_by_one_bound_on_both_sides() -> None:
    clf = CalibratedClassifier(GaussianNB(), random_state=0).fit(X3, Y3)
    assert clf.certificate(bound="clopper-pearson", side="both") == clf.certificate()
    for argument, value in (("kind", "marginal"), ("bound", "hull"), ("side", "upper")):
        with pytest.raises(fb.InputError, match=f"^{argument} is '{value}'; choose one of "):
            clf.certificate(**{argument: value})


def test_vectors_take_no_venn_predictor() -> None:
    with pytest.raises(fb.InputError, match=r"take one without keys \(ties='whole' and delta=0, no Venn predictor\)"):
        CalibratedClassifier(GaussianNB(), calibrator=fb.VennAbers()).fit(X3, Y3)


# ------------------------------------------------------------------------------------------------- what classes are called


@pytest.mark.parametrize("kind", ["float64", "float32", "Int64", "int64[pyarrow]"])
@pytest.mark.parametrize("multiclass", ["one-vs-rest", "top-label", "vector"])
def test_whole_numbers_are_their_own_keys_whatever_their_type(multiclass: str, kind: str) -> None:
    """Columns that have held a missing value come as doubles: grade 1 must not become the key of grade 2."""
    if kind == "int64[pyarrow]":
        pytest.importorskip("pyarrow", reason="PyArrow is not installed")
    plain, other = (
        CalibratedClassifier(GaussianNB(), multiclass=multiclass, random_state=0).fit(X3, grades)
        for grades in (Y3 + 1, pd.Series(Y3 + 1, dtype=kind))
    )
    for model in (plain.model_, other.model_):
        assert tuple(model.models if multiclass == "vector" else model.cells) == (1, 2, 3)
    np.testing.assert_array_equal(other.predict_proba(X3), plain.predict_proba(X3))
    np.testing.assert_array_equal(other.predict(X3), plain.predict(X3))


def test_the_event_of_a_whole_number_is_called_so() -> None:
    for positive in (None, 2, 2.0):
        clf = CalibratedClassifier(GaussianNB(), positive=positive, random_state=0).fit(X, Y + 1.0)
        assert (clf.model_.event, repr(clf.positive_)) == ("2", "2.0")


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
        ([-1, 0], None, "0"), ([1, 2], None, "2"), ([1, 2], 1, "1"), (["a", "b" * 300], None, ""),
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
