"""Which rows train the classifier and which calibrate it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing, assert_all_finite, column_or_1d, indexable
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_method_params

from fastbin._base.array_types import Array, Int64s
from fastbin._base.checks import check_sample_weight
from fastbin._base.errors import FastbinWarning, InputError
from fastbin._base.frames import check_same_index
from fastbin.sklearn.scores import scores_of
from fastbin.sklearn.splits import Subset, folds_of


@dataclass(frozen=True)
class TrainingRows:
    """The rows of a fit, checked, as they were given; `whole` is those that have weight."""

    X: Any
    y: Array
    whole: Subset

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any, name: str) -> TrainingRows:
        """Refuse what no classifier takes; `name` is that of the estimator."""
        if y is None:
            raise InputError(f"This {name} estimator requires y to be passed, but the target y is None")
        check_same_index(X=X, y=y, sample_weight=sample_weight)
        X, y = indexable(X, y)
        labels = column_or_1d(y, warn=True)
        if len(labels) == 0:
            raise InputError("has 0 samples, and a classifier needs some of each class", argument="X")
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        return cls(X, labels, Subset.of_all(_weights_of(sample_weight, len(labels)), len(labels)))

    def take(self, at: Int64s) -> Any:
        """These rows of X; X itself where they are all."""
        return self.X if len(at) == len(self.y) else _safe_indexing(self.X, at)


@dataclass(frozen=True)
class Training:
    """How the estimator is trained: a copy that was never fitted, and what its fit gets besides X and y.

    `column` is that of the scores of two classes. `fit_params` belong to all rows that were given; so do `split_params`, which
    the splitter of `cv` gets.
    """

    estimator: Any
    classes: Array
    column: int
    takes_weights: bool
    fit_params: dict[str, Any]
    split_params: dict[str, Any]

    def fit(self, rows: TrainingRows, part: Subset, where: str) -> Any:
        """A fitted copy of the estimator. Refuses a part without one of the classes."""
        missing = self._missing(rows, part)
        if missing:
            remedy = "give more rows of it, or hold out other rows (holdout, cv or random_state)"
            raise InputError(f"class {missing[0]!r} is missing from {where}, which has {len(part.at)} rows", remedy)
        return self._fit(rows, part)

    def _missing(self, rows: TrainingRows, part: Subset) -> list[Any]:
        return np.setdiff1d(self.classes, rows.y[part.at]).tolist()

    def _fit(self, rows: TrainingRows, part: Subset) -> Any:
        X, y = _safe_split(self.estimator, rows.X, rows.y, part.at)
        params = _check_method_params(rows.X, self.fit_params, part.at)
        if self.takes_weights and part.weights is not None:
            params["sample_weight"] = part.weights
        return clone(self.estimator).fit(X, y, **params)

    def hold_out(self, rows: TrainingRows, train: Subset, held: Subset) -> tuple[Any, Array]:
        """The estimator fitted to one part, and its scores of the other."""
        fitted = self.fit(rows, train, "the training part")
        X, _ = _safe_split(self.estimator, rows.X, None, held.at, train.at)
        return fitted, scores_of(fitted, X, len(self.classes), self.column)

    def out_of_fold(self, rows: TrainingRows, cv: Any) -> Array:
        """The score of each row that has weight, by the estimator that was fitted without its fold.

        A class that is missing from the training part of a fold has probability 0 there, as in scikit-learn, with a warning;
        decisions have no such score, and are refused.
        """
        whole = rows.whole
        params = _check_method_params(rows.X, self.split_params, whole.at)
        folds = list(folds_of(rows.take(whole.at), rows.y, whole.at, cv, **params))
        tested = np.concatenate([test for _, test in folds]) if folds else whole.at[:0]
        order = np.argsort(tested, kind="stable")
        if not np.array_equal(tested[order], whole.at):
            remedy = "pass a splitter that makes a partition"
            raise InputError("does not put each row into one test part, once", remedy, argument="cv")
        scores = []
        for number, (train, test) in enumerate(folds):
            part, where = whole.take(train), f"the training part of fold {number}"
            missing = self._missing(rows, part)
            may_miss = bool(missing) and hasattr(self.estimator, "predict_proba")
            fitted = self._fit(rows, part) if may_miss else self.fit(rows, part, where)
            X, _ = _safe_split(self.estimator, rows.X, None, test, train)
            if missing:
                text = f"class {missing[0]!r} is missing from {where}, so its test rows give it 0; take stratified folds"
                warnings.warn(text, FastbinWarning, stacklevel=3)
                scores.append(self._scores_of_some(fitted, X))
            else:
                scores.append(scores_of(fitted, X, len(self.classes), self.column))
        return np.asarray(np.concatenate(scores)[order])

    def _scores_of_some(self, fitted: Any, X: Any) -> Array:
        """As `scores_of`, from an estimator that knows some of the classes."""
        own = np.asarray(fitted.predict_proba(X))
        scores = np.zeros((len(own), len(self.classes)))
        scores[:, np.searchsorted(self.classes, fitted.classes_)] = own
        return np.asarray(scores[:, self.column] if len(self.classes) == 2 else scores)


def _weights_of(sample_weight: Any, n_rows: int) -> Array | None:
    """int64 or float64 (n,), as its dtype says whether weights are whole."""
    if sample_weight is None:
        return None
    sample_weight = np.asarray(sample_weight)
    if sample_weight.ndim != 1:
        raise InputError(f"has shape {sample_weight.shape}", "give one weight for each row", argument="sample_weight")
    weights = check_sample_weight(sample_weight)
    assert weights is not None
    if len(weights) != n_rows:
        raise InputError(f"lengths differ: X has {n_rows}, sample_weight has {len(weights)}", "every row needs one of each")
    if not weights.any():
        raise InputError("is zero for every row", "give some rows a weight", argument="sample_weight")
    return weights
