"""Mistakes around a calibrated classifier are named, with what to do about them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.6")

from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

import fastbin as fb
from fastbin.sklearn import CalibratedClassifier

X, Y = make_classification(2000, n_features=8, flip_y=0.3, random_state=0)


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
        ({"ensemble": "auto"}, "ensemble is 'auto'; an average"),
        ({"ensemble": True}, "ensemble is True; an average of several calibrated classifiers has no model"),
        ({"holdout": 0.0}, "holdout is 0.0; as a share it is between 0 and 1"),
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
    one_class = CalibratedClassifier(FrozenEstimator(trained)).fit(X[:50], np.ones(50, int))
    assert one_class.classes_.tolist() == [0, 1]
