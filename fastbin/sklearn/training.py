"""Which rows train the classifier and which calibrate it, and the scores that it gives."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, assert_all_finite, column_or_1d, indexable
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_method_params

from fastbin._base.array_types import Array, Float64s, Int64s
from fastbin._base.cells import check_matrix
from fastbin._base.checks import check_sample_weight, is_missing, plain_value
from fastbin._base.errors import InputError, InputTypeError, warn
from fastbin._base.frames import check_same_index, refuse_masked, with_numbers_kept


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
        for argument, given in (("X", X), ("y", y), ("sample_weight", sample_weight)):
            refuse_masked(given, argument)
        X, y = indexable(X, y)
        labels = with_numbers_kept(column_or_1d(y, warn=True), y)
        if len(labels) == 0:
            raise InputError("has 0 samples, and a classifier needs some of each class", argument="X")
        _refuse_kinds(labels)
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        return cls(X, labels, Subset.of_all(_weights_of(sample_weight, len(labels)), len(labels)))

    def take(self, at: Int64s) -> Any:
        """These rows of X; X itself where they are all."""
        return self.X if len(at) == len(self.y) else _safe_indexing(self.X, at)


def _refuse_kinds(labels: Array) -> None:
    """Refuse classes that cannot be put in order: what is missing, and texts beside numbers."""
    for at, label in enumerate(labels if labels.dtype.kind == "O" else ()):
        if is_missing(label):
            raise InputError(f"is {label!r}", "remove rows without a label", argument="y", at=at, value=label)
        if isinstance(label, str) != isinstance(labels[0], str):
            first, other = plain_value(labels[0]), plain_value(label)
            raise InputError(
                f"is {other!r}, and y[0] is {first!r}", "give classes of one type", argument="y", at=at, value=other
            )


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
        if missing := self._missing(rows, part):
            remedy = "give more rows of it, or hold out other rows (holdout, cv or random_state)"
            raise InputError(f"class {missing[0]!r} is missing from {where}, which has {len(part.at)} rows", remedy)
        return self._fit(rows, part)

    def _missing(self, rows: TrainingRows, part: Subset) -> list[Any]:
        return np.setdiff1d(self.classes, rows.y[part.at]).tolist()

    def _fit_to_some(self, rows: TrainingRows, part: Subset, where: str, missing: list[Any]) -> Any:
        """A copy fitted to a part without some classes, which some estimators take."""
        try:
            return self._fit(rows, part)
        except ValueError as error:
            problem = f"class {missing[0]!r} is missing from {where}, and the estimator refuses the others: {error}"
            raise InputError(problem, "take stratified folds") from error

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
            fitted = self._fit_to_some(rows, part, where, missing) if may_miss else self.fit(rows, part, where)
            X, _ = _safe_split(self.estimator, rows.X, None, test, train)
            if missing:
                text = f"class {missing[0]!r} is missing from {where}, so its test rows give it 0; take stratified folds"
                warn(text, stacklevel=3)
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


# ------------------------------------------------------------------------------------------------- parts of the rows

DEFAULT_SHARE = 0.25

# numpy.random draws without replacement from populations of this size and no larger.
MOST_REPETITIONS = 10**9 - 1


class Subset(NamedTuple):
    """Some of the rows, by their positions, ascending, with the weights that they have in it; ``None`` where all are 1."""

    at: Int64s
    weights: Array | None

    @classmethod
    def of_all(cls, weights: Array | None, n_rows: int) -> Subset:
        """All rows but those of weight 0, which are as if they were not there."""
        if weights is None:
            return cls(np.arange(n_rows), None)
        at = np.flatnonzero(weights)
        left = weights[at]
        return cls(at, None if (left == 1).all() else left)

    def take(self, at: Int64s) -> Subset:
        """Those of its rows that are at these positions."""
        return Subset(at, None if self.weights is None else self.weights[np.searchsorted(self.at, at)])


def seed_of_draws(seed: int, columns: Int64s) -> list[int]:
    """The seed of all that a fit draws: the number of the fit, and a digest of its labels in the order of the rows.

    Under the number alone, all files that are sorted by their labels would be divided at the same places, and a number whose
    draw holds out too many positives would break the promise in nearly each of them. Features are left out: a new feature
    keeps the rows held out.
    """
    digest = hashlib.sha256(columns.astype("<i8").tobytes()).digest()
    return [seed, *np.frombuffer(digest, "<u4").tolist()]


def draw_held_out(
    whole: Subset, holdout: float | int, draws: np.random.RandomState, frequencies: bool
) -> tuple[Subset, Subset]:
    """A training part and a part held out, drawn at random; not stratified, as certificates need it.

    With `frequencies` repetitions are drawn one by one, so that a row may have some in both parts. To draw rows would hold out
    all of a repeated row or none, and the part held out would not be a sample of the population.
    """
    if not frequencies or whole.weights is None:
        n_held = _n_held(holdout, len(whole.at), "rows")
        order = draws.permutation(len(whole.at))
        return whole.take(whole.at[np.sort(order[n_held:])]), whole.take(whole.at[np.sort(order[:n_held])])
    n_samples = int(whole.weights.sum())
    if n_samples > MOST_REPETITIONS:
        problem = f"has a sum of {n_samples}, and at most {MOST_REPETITIONS} repetitions can be divided by a draw"
        remedy = "fit the classifier to a part of them, and pass FrozenEstimator(classifier) with the others"
        raise InputError(problem, remedy, argument="sample_weight")
    generator = np.random.default_rng(draws.randint(2**31 - 1))
    n_held = _n_held(holdout, n_samples, "samples")
    held_weights = generator.multivariate_hypergeometric(whole.weights, n_held, method="marginals")
    parts = whole.weights - held_weights, held_weights
    train, held = (Subset(whole.at[weights > 0], weights[weights > 0]) for weights in parts)
    return train, held


def _n_held(holdout: float | int, n_samples: int, word: str) -> int:
    n_held = int(holdout) if isinstance(holdout, Integral) else max(1, round(float(holdout) * n_samples))
    if n_held >= n_samples:
        remedy = "leave some to train the classifier"
        raise InputError(f"is {holdout}, and there are {n_samples} {word}", remedy, argument="holdout", value=holdout)
    return n_held


def check_holdout(holdout: Any) -> float | int:
    """A share of the rows, or their number; a quarter by default."""
    if holdout is None:
        return DEFAULT_SHARE
    if isinstance(holdout, bool) or not isinstance(holdout, (Integral, float, np.floating)):
        remedy = "pass a share such as 0.25, or the number of rows to hold out"
        raise InputTypeError(None, remedy, argument="holdout", value=holdout)
    if isinstance(holdout, Integral):
        if holdout < 1:
            remedy = "pass a share such as 0.25, or a number of rows from 1 on"
            raise InputError(f"is {holdout}", remedy, argument="holdout", value=holdout)
        return int(holdout)
    if not 0.0 < float(holdout) < 1.0:
        raise InputError(f"is {holdout}", "as a share it is between 0 and 1, such as 0.25", argument="holdout", value=holdout)
    return float(holdout)


def folds_of(rows: Any, y: Array, at: Int64s, cv: Any, **params: Any) -> Iterator[tuple[Int64s, Int64s]]:
    """The training and the test part of each fold, as ascending positions among all rows given.

    A splitter is shown `rows`, those at the positions `at` that count; pairs in a list are positions among all.
    """
    if isinstance(cv, list):
        for number, pair in enumerate(cv):
            train, test = _positions_in(pair, number, len(y))
            yield at[np.isin(at, train)], at[np.isin(at, test)]
        return
    try:
        for train, test in check_cv(cv, y[at], classifier=True).split(rows, y[at], **params):
            yield at[np.sort(train)], at[np.sort(test)]
    except ValueError as error:
        if "'groups' parameter should not be None" not in str(error):
            raise
        problem = f"is a {type(cv).__name__}, which needs groups, and these reach it by metadata routing alone"
        remedy = "call sklearn.set_config(enable_metadata_routing=True), and pass fit(..., groups=...)"
        raise InputError(problem, remedy, argument="cv") from None


def _positions_in(pair: Any, number: int, n_rows: int) -> list[Int64s]:
    """The rows of the training and of the test part that one entry of `cv` names, by positions or by a mask."""
    try:
        train, test = pair
        return [np.arange(n_rows)[part] for part in (train, test)]
    except (TypeError, ValueError, IndexError) as error:
        problem = f"does not name a training and a test part of {n_rows} rows ({error})"
        remedy = "give the training and the test rows of each fold, from 0 on, or masks of all rows"
        raise InputError(problem, remedy, argument="cv", at=number) from None


def check_cv_argument(cv: Any) -> Any:
    """A number of folds, a splitter, or the parts themselves; what other libraries mean by other values is said by name."""
    if isinstance(cv, str) and cv == "prefit":
        remedy = "pass FrozenEstimator(classifier) (sklearn.frozen) for a trained classifier"
        raise InputError("cv='prefit' is not known", remedy)
    if isinstance(cv, Real) and not isinstance(cv, Integral):
        remedy = f"one part that is held out is holdout={cv}, which keeps the certificate"
        raise InputError(f"is {cv}, a share", remedy, argument="cv", value=cv)
    if isinstance(cv, Integral) and cv < 2:  # True and False too
        raise InputError(f"is {cv}", "pass the number of folds, from 2 on, or a splitter", argument="cv", value=cv)
    if isinstance(cv, Integral) or (hasattr(cv, "split") and not isinstance(cv, str)):
        return cv
    if isinstance(cv, str) or not isinstance(cv, Iterable):
        remedy = "pass the number of folds, a splitter of scikit-learn, or pairs of positions"
        raise InputTypeError(None, remedy, argument="cv", value=cv)
    if not (pairs := list(cv)):
        raise InputError("gives no folds", "pass a list or a splitter; one fit uses an iterator up", argument="cv")
    return pairs


# ------------------------------------------------------------------------------------------------- scores of a classifier


def has_probabilities(estimator: Any) -> bool:
    """Whether the scores of a fitted classifier are probabilities; else they are decisions, of any size."""
    if hasattr(estimator, "predict_proba"):
        return True
    if hasattr(estimator, "decision_function"):
        return False
    problem = f"is a {type(estimator).__name__}, which has neither predict_proba nor decision_function"
    raise InputTypeError(problem, "pass a classifier that has one of them", argument="estimator")


def scores_of(estimator: Any, X: Any, n_classes: int, column: int = 1) -> Array:
    """The probabilities or decisions of a fitted classifier for rows.

    For two classes (n,), of the class in `column`; else (n, n_classes), where decisions become probabilities by a softmax.
    """
    is_probability = has_probabilities(estimator)
    scores = np.asarray(estimator.predict_proba(X) if is_probability else estimator.decision_function(X))
    if n_classes == 2 and scores.ndim == 1:
        return scores if column == 1 else -scores
    if scores.ndim != 2 or scores.shape[1] != n_classes:
        name = "predict_proba" if is_probability else "decision_function"
        remedy = "it must give one column for each"
        raise InputError(f"{name} of the estimator has shape {scores.shape}, and there are {n_classes} classes", remedy)
    if n_classes == 2:
        return scores[:, column]
    matrix = check_matrix(scores, "probabilities" if is_probability else "logits")
    return scores if scores.dtype == np.float32 and is_probability else matrix


def with_top(vectors: Float64s, columns: Array, probabilities: Array) -> Float64s:
    """float64 (n, k), rows that sum to 1: one column of each row gets a probability, and the others share the rest as they did.

    No entry is 0, unless a probability that is given is 0 or 1; vectors have none.
    """
    rows, shares = np.arange(len(columns)), vectors.copy()
    shares[rows, columns] = 0.0
    shares *= ((1.0 - probabilities) / shares.sum(axis=1))[:, np.newaxis]
    shares[rows, columns] = probabilities
    return shares
