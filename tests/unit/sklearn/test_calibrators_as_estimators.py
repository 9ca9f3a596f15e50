"""The calibrators of fastbin are estimators of scikit-learn: regressors of labels on scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.6")

from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

import fastbin as fb

RNG = np.random.default_rng(0)
SCORES = RNG.random(600)
LABELS = (RNG.random(600) < SCORES**2).astype(int)

CALIBRATORS = [
    fb.CertifiedCalibration(), fb.UniformMassBinning(5), fb.ScalingBinning(5), fb.FixedWidthBinning(5),
    fb.ExplicitBinning([0.5]), fb.IsotonicCalibration(), fb.VennAbers(), fb.PlattScaling(), fb.TemperatureScaling(),
    fb.BetaScaling(), fb.QuadraticScaling(), fb.SplineScaling(),
]  # fmt: skip
calibrators = pytest.mark.parametrize("calibrator", CALIBRATORS, ids=lambda each: type(each).__name__)


class Column(TransformerMixin, BaseEstimator):
    """The scores out of a table."""

    def __init__(self, number: int = 0) -> None:
        self.number = number

    def fit(self, X: Any, y: Any = None) -> Any:
        self.fitted_ = True
        return self

    def transform(self, X: Any) -> Any:
        return X[:, self.number]


@calibrators
def test_is_a_regressor_that_takes_scores(calibrator: Any) -> None:
    assert is_regressor(calibrator)
    assert not is_classifier(calibrator)
    tags = get_tags(calibrator)
    assert tags.input_tags.one_d_array
    assert tags.input_tags.two_d_array
    assert tags.target_tags.required


@calibrators
def test_a_copy_is_not_fitted_and_a_fit_is(calibrator: Any) -> None:
    copy = clone(clone(calibrator).fit(SCORES, LABELS))
    assert copy.get_params() == calibrator.get_params()
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)
    check_is_fitted(copy.fit(SCORES, LABELS))


@calibrators
def test_folds_are_fits_of_their_rows(calibrator: Any) -> None:
    folds = KFold(3)
    together = cross_val_predict(calibrator, SCORES[:, np.newaxis], LABELS, cv=folds)
    for train, test in folds.split(SCORES):
        fitted = clone(calibrator).fit(SCORES[train], LABELS[train])
        np.testing.assert_array_equal(together[test], fitted.predict(SCORES[test]))
    scores = cross_val_score(calibrator, SCORES, LABELS, cv=folds, scoring="neg_mean_squared_error")
    assert np.mean(scores) == pytest.approx(-np.mean((together - LABELS) ** 2))


def test_a_pipeline_and_a_grid() -> None:
    table = np.column_stack([np.zeros(600), SCORES])
    pipeline = make_pipeline(Column(1), fb.UniformMassBinning())
    grid = {"uniformmassbinning__n_bins": [2, 5, 10], "uniformmassbinning__monotone": [False, True]}
    search = GridSearchCV(pipeline, grid, cv=3, scoring="neg_mean_squared_error")
    search.fit(table, LABELS)
    assert len(search.cv_results_["params"]) == 6
    best = search.best_params_
    again = fb.UniformMassBinning(best["uniformmassbinning__n_bins"], monotone=best["uniformmassbinning__monotone"])
    np.testing.assert_array_equal(search.predict(table), again.fit(SCORES, LABELS).predict(SCORES))
    check_is_fitted(search.best_estimator_)
    page = search.best_estimator_._repr_html_()
    assert "UniformMassBinning" in page
    assert "Column" in page


@pytest.mark.parametrize("estimator", [fb.multi.TopLabelBinning(), fb.multi.ClassWiseBinning(), fb.multi.SegmentedBinning()])
def test_estimators_of_sets_are_neither_classifiers_nor_regressors(estimator: Any) -> None:
    assert not is_regressor(estimator)
    assert not is_classifier(estimator)
    with pytest.raises(NotFittedError):
        check_is_fitted(estimator)
