"""scikit-learn's own checks of estimators: every one that the estimator inside passes."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("sklearn", minversion="1.6")

from sklearn.base import ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import fastbin as fb

# Small data sets leave trees fewer bins than a calibrator wants, and it says so.
pytestmark = pytest.mark.filterwarnings("ignore::fastbin.FastbinWarning")


class TwoClasses(ClassifierMixin):
    """A classifier that says, in its tags and its fit, that it takes two classes alone."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        if len(set(y)) > 2:
            raise ValueError("Only binary classification is supported. The type of the target is multiclass.")
        return super().fit(X, y, sample_weight)  # type: ignore[misc]


class TwoClassRegression(TwoClasses, LogisticRegression):
    pass


class TwoClassTree(TwoClasses, DecisionTreeClassifier):
    pass


# To the last digits, so that a weight of 2 and a row that is there twice give the same classifier.
EXACTLY = {"solver": "newton-cholesky", "tol": 1e-12}


def around(estimator: Any, **options: Any) -> Any:
    return fb.sklearn.CalibratedClassifier(estimator, **options)


@parametrize_with_checks(
    [
        around(TwoClassRegression(**EXACTLY)),
        around(LogisticRegression(**EXACTLY)),
        around(LogisticRegression(**EXACTLY), multiclass="one-vs-rest"),
        around(TwoClassTree()),
        around(DecisionTreeClassifier()),
        around(DecisionTreeClassifier(), multiclass="one-vs-rest"),
    ]
)
def test_with_no_expected_failure(estimator: Any, check: Any) -> None:
    check(estimator)


# What scikit-learn lists for HistGradientBoostingClassifier itself.
NOT_EQUIVALENT = "sample_weight is not equivalent to removing/repeating samples."


@parametrize_with_checks(
    [
        around(HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5)),
        around(HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5), multiclass="one-vs-rest"),
    ],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": NOT_EQUIVALENT,
        "check_sample_weight_equivalence_on_sparse_data": NOT_EQUIVALENT,
    },
)
def test_with_what_fails_inside(estimator: Any, check: Any) -> None:
    check(estimator)
