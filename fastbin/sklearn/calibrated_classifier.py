"""A classifier and its calibrator in one estimator of scikit-learn."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import wraps
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from fastbin._base.array_types import Array, Float64s, Int64s
from fastbin._base.cells import Key, divided_by_sums
from fastbin._base.checks import MOST_EVENT_BYTES, check_choice, check_event, event_of
from fastbin._base.errors import GuaranteeError, InputError, InputTypeError, warn
from fastbin._model.parts import At, Parts
from fastbin.guarantees.certificate import ABOUT
from fastbin.multi import ClassWiseBinning
from fastbin.multi.classes import top_of
from fastbin.sklearn.calibrating import MULTICLASS, CalibrationRows, fit_calibrator, without_promise
from fastbin.sklearn.training import (
    Subset,
    Training,
    TrainingRows,
    check_cv_argument,
    check_holdout,
    draw_held_out,
    scores_of,
    seed_of_draws,
    with_top,
)
from fastbin.vector_model import VectorModel

if TYPE_CHECKING:
    from typing_extensions import Self

    from fastbin.guarantees import Certificate, SetCertificate, VectorCertificate

P = ParamSpec("P")
WEIGHT_KINDS = ("importance", "frequency")

# What other libraries call the calibrator, and how it is said here.
METHODS = {
    "isotonic": "fastbin.IsotonicCalibration(interpolate=True)",
    "sigmoid": "fastbin.PlattScaling()",
    "temperature": "fastbin.TemperatureScaling()",
}


def names_the_calibrator(init: Callable[P, None]) -> Callable[P, None]:
    """An ``__init__`` that says in words what `CalibratedClassifierCV` calls ``method``."""

    @wraps(init)
    def ask(*arguments: P.args, **options: P.kwargs) -> None:
        if "method" in options:
            said = METHODS.get(str(options["method"]), "fastbin.PlattScaling()")
            remedy = f"a calibrator is an object here: pass calibrator={said}, or leave it out"
            raise InputTypeError(None, remedy, argument="method", value=options["method"])
        init(*arguments, **options)

    return ask


class CalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose probabilities are calibrated on rows that it was not trained on, with a certificate.

    Parameters
    ----------
    estimator : classifier, optional
        With ``predict_proba``, or else ``decision_function``. ``None``: ``LogisticRegression()``. A copy of it is trained; one
        in a ``sklearn.frozen.FrozenEstimator`` is taken as it is, and all rows of the fit calibrate it.
    calibrator : calibrator, optional
        Any binary calibrator of the library; for vectors not ``VennAbers``. ``None``: ``CertifiedCalibration()``.
    holdout : float or int, optional
        The share of the rows that calibrate, or their number; a quarter by default. They are drawn at random without looking
        at `y`: certificates need that, so they are not stratified.
    cv : int, splitter or iterable, optional
        In place of it, all rows both train and calibrate: the calibrator sees out-of-fold scores, and the estimator is fitted
        again to all rows. Nothing is certified then.
    ensemble : False
        Kept for users of ``CalibratedClassifierCV``: an average of several models has no certificate, and ``True`` is refused.
    multiclass : {"vector", "top-label", "one-vs-rest"}
        For more than two classes: one map of the whole row (`VectorCalibration`), a calibrated probability that the top class
        is the true one, for each predicted class by itself (`TopLabelBinning`, which pools classes that have too few rows for
        a joint epsilon of about 0.15), or a calibrated probability of each class (`ClassWiseBinning`).
    sample_weight_kind : {"importance", "frequency"}
        What sample weights mean. "frequency": an integer n stands for n equal rows, and the certificate counts them. With
        "importance", weights other than 0 and 1 void the certificate.
    random_state : int, RandomState or None
        Of the draw of the rows that are held out. It also seeds whatever has ``random_state=None`` in `estimator`, and a
        calibrator with ``seed=None``. ``None`` draws one afresh; it is kept in `random_state_`. A number is taken together with
        a digest of `y`, so that the same rows are held out again, and others of other labels. Where rows are sorted by label,
        the digest tells the number of positives alone: shuffle them, or leave the number out.
    positive : optional
        Of two classes, the one that the calibrated probability, its certificate and the saved model are about; by default the
        second of `classes_`, which is the last in the alphabet. The columns of `predict_proba` stay in the order of `classes_`.

    Attributes
    ----------
    estimator_ : classifier
        The trained one.
    classes_ : array of shape (n_classes,)
    model_ : BinnedModel, VectorModel or ModelSet
        For two classes, the probability of `positive_`, its `event`; for more, a model of all classes, or a set whose keys are
        the classes (or their numbers, where classes are neither whole numbers nor texts). It is saved and served without
        scikit-learn.
    calibrator_ : fitted calibrator, `VectorCalibration`, `TopLabelBinning` or `ClassWiseBinning`
    positive_ : object
        Of two classes, the one that `model_` gives the probability of; ``None`` of more.
    random_state_ : int
        A fit with ``random_state=random_state_`` to the same rows gives the same model.
    n_features_in_ : int
        As the trained estimator has it.
    feature_names_in_ : array of shape (n_features_in_,)
        As the trained estimator has it.

    Notes
    -----
    For two classes, `predict_proba` is certified, and for more with "vector", on average in bins of the raw scores. With the
    others, its rows sum to 1 around what is certified: with "top-label", the
    top class of the estimator has its calibrated probability q, and the others share the rest in proportion to what a
    `VectorCalibration` of the same rows gives them: so no class has probability 0, unless q is 0 or 1;
    with "one-vs-rest", the calibrated probabilities are divided by their sum, and certified are those before (`predict_top`,
    `model_`). `predict` is the class of the largest entry of a row.

    A promise is about new rows of the population of the fit, given the trained estimator; its alpha counts over draws of the
    rows that are held out. Decisions of more than two classes become probabilities by a softmax before they are calibrated.

    Examples
    --------
    >>> import fastbin as fb
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(4000, flip_y=0.3, random_state=0)
    >>> clf = fb.sklearn.CalibratedClassifier(LogisticRegression(), random_state=0).fit(X, y)
    >>> clf.predict_proba(X[:2]).round(1)
    array([[0.3, 0.7],
           [0.6, 0.4]])
    >>> clf.certificate(alpha=0.1).n_samples
    1000
    """

    @names_the_calibrator
    def __init__(
        self, estimator: Any = None, *, calibrator: Any = None, holdout: Any = None, cv: Any = None, ensemble: Any = False,
        multiclass: str = "vector", sample_weight_kind: str = "importance", random_state: Any = None, positive: Any = None,
    ) -> None:  # fmt: skip
        self.estimator = estimator
        self.calibrator = calibrator
        self.holdout = holdout
        self.cv = cv
        self.ensemble = ensemble
        self.multiclass = multiclass
        self.sample_weight_kind = sample_weight_kind
        self.random_state = random_state
        self.positive = positive

    # ------------------------------------------------------------------ fit

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Train the estimator, and calibrate it on other rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Handed to the estimator as it is, but for the choice of rows.
        y : array-like of shape (n_samples,)
            Classes of any type.
        sample_weight : array-like of shape (n_samples,), optional
            For the estimator, if it takes them, and the calibrator. Rows of weight 0 are as if they were not there. Integers
            repeat a row, whatever they mean; see `sample_weight_kind` for what they do to the certificate.
        **fit_params
            For the fit of the estimator; what has one entry for each row is divided like the rows.

        Returns
        -------
        self

        Raises
        ------
        InputError
            For fewer than two classes, a class that is missing from the training part, ...

        Warns
        -----
        FastbinWarning
            Where ties leave the calibrator too few bins, as `UniformMassBinning.fit`, and where an estimator takes no weights.
        """
        check_choice(self.multiclass, "multiclass", MULTICLASS)
        check_choice(self.sample_weight_kind, "sample_weight_kind", WEIGHT_KINDS)
        check_ensemble(self.ensemble)
        estimator = estimator_of(self.estimator)
        check_parts(estimator, self.holdout, self.cv)
        rows = TrainingRows.of(X, y, sample_weight, type(self).__name__)
        self._void = reason_to_void(rows.whole, self.cv, self.sample_weight_kind)
        frozen = isinstance(estimator, FrozenEstimator)
        classes = classes_of(rows.y[rows.whole.at], getattr(estimator, "classes_", None) if frozen else None)
        side = Side.of(classes, self.positive)
        columns = columns_of(rows.y, rows.whole.at, classes)
        self.random_state_ = seed_of(self.random_state)
        draws = np.random.RandomState(seed_of_draws(self.random_state_, columns))
        if frozen:
            fitted, part = estimator.fit(X, y), rows.whole
            scores = scores_of(fitted, rows.take(part.at), len(classes), side.column)
        else:
            split = self._split(rows.whole, draws)  # the first draw, so that no option of the estimator changes it
            training = self._training(estimator, classes, side.column, draws, sample_weight, fit_params)
            if rows.whole.weights is not None and not (training.takes_weights or get_config()["enable_metadata_routing"]):
                warn(
                    f"fit of {type(estimator).__name__} takes no sample_weight, so the weights serve its calibrator alone",
                    stacklevel=2,
                )
            if split is None:
                part, scores = rows.whole, training.out_of_fold(rows, check_cv_argument(self.cv))
                fitted = training.fit(rows, part, "the rows")
            else:
                part = split[1]
                fitted, scores = training.hold_out(rows, *split)
        self.estimator_, self.classes_, self.positive_, self._column = fitted, classes, side.positive, side.column
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
            elif hasattr(self, name):  # of an earlier fit
                delattr(self, name)
        columns, names = columns[np.searchsorted(rows.whole.at, part.at)], np.array(keys_of(classes))
        truth = columns if side.positive is None else (columns == side.column).astype(np.int64)
        calibration = CalibrationRows(scores, truth, names, part.weights, self.multiclass)
        calibrator = fit_calibrator(self.calibrator, fitted, calibration, draws)
        if side.positive is not None:
            calibrator.model_ = calibrator.model_._with_texts(side.event, calibrator.model_._provenance)
        if self._void is not None:
            calibrator.model_ = without_promise(calibrator.model_, self._void)
        self.calibrator_, self.model_ = calibrator, calibrator.model_
        self._vectors: Any = calibration.fit_vectors()
        return self

    def _split(self, whole: Subset, draws: np.random.RandomState) -> tuple[Subset, Subset] | None:
        """The part that trains and the part that calibrates; ``None`` where both are all rows."""
        if self.cv is not None:
            return None
        return draw_held_out(whole, check_holdout(self.holdout), draws, frequencies=self.sample_weight_kind == "frequency")

    def _training(
        self, estimator: Any, classes: Array, column: int, draws: np.random.RandomState, sample_weight: Any,
        fit_params: dict[str, Any],
    ) -> Training:  # fmt: skip
        """How to train: what the estimator and the splitter get, by scikit-learn's routing where it is enabled."""
        split_params: dict[str, Any] = {}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", sample_weight=sample_weight, **fit_params)
            fit_params, split_params = dict(routed.estimator.fit), dict(routed.splitter.split)
            takes_weights = sample_weight is not None and fit_params.get("sample_weight") is sample_weight
            if takes_weights:
                del fit_params["sample_weight"]
        else:
            takes_weights = has_fit_parameter(estimator, "sample_weight")
        estimator = clone(estimator)
        for name, value in sorted(estimator.get_params().items()):
            if value is None and (name == "random_state" or name.endswith("__random_state")):
                estimator.set_params(**{name: draws.randint(np.iinfo(np.int32).max)})
        return Training(estimator, classes, column, takes_weights, fit_params, split_params)

    # ------------------------------------------------------------------ what it says of new rows

    def predict_proba(self, X: Any) -> Float64s:
        """Calibrated probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        float64 (n_samples, n_classes)
            In the order of `classes_`. Rows sum to 1; see the notes of the class on which entries are certified.
        """
        scores = self._scores(X)
        if scores.ndim == 1:
            return self._columns(self.calibrator_.predict(scores))
        if self.multiclass == "vector":
            return np.asarray(self.calibrator_.predict(scores))
        if self.multiclass == "one-vs-rest":
            return divided_by_sums(self.calibrator_.predict(scores))
        columns, tops = top_of(scores)
        return with_top(self._vectors.predict(scores), columns, self.model_.predict(tops, self._names[columns]))

    def predict(self, X: Any) -> Array:
        """The class of the largest calibrated probability; of equal ones, the first in `classes_`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def predict_top(self, X: Any) -> tuple[Array, Float64s]:
        """A class for each row, and the certified probability that it is the true one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        classes : array of shape (n_samples,)
            With "top-label" the top class of the estimator, which is rarely another than that of `predict`: where its
            calibrated probability is so small that another class has more of the rest. Else that of `predict`.
        probabilities : float64 (n_samples,)
            As the model gives them; with "one-vs-rest" before anything is divided by a sum.
        """
        scores = self._scores(X)
        if scores.ndim == 2 and self.multiclass == "top-label":
            columns, tops = top_of(scores)
            return self.classes_[columns], self.model_.predict(tops, self._names[columns])
        values = self.calibrator_.predict(scores)
        values = self._columns(values) if scores.ndim == 1 else values
        return self.classes_[values.argmax(axis=1)], values.max(axis=1)

    def predict_interval(self, X: Any, alpha: float = 0.1, *, at: At | None = None) -> Float64s:
        """Intervals for the truth at the scores of rows, if it does not fall as scores rise, or for that of their bins.

        They hold all at once with probability at least 1 - alpha.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        alpha : float, from 1e-100 to 1/2
        at : {"bin", "score"}, optional
            As for `BinnedModel.predict_interval`: by default the score where values are finer than bins, as those of
            `CertifiedCalibration`; "bin" needs no assumption.

        Returns
        -------
        float64 (n_samples, 2)
            Of two classes, for `positive_`; with "top-label", for the class that `predict_top` gives. With "one-vs-rest" it has
            shape (n_samples, n_classes, 2).

        Raises
        ------
        GuaranteeError
            After ``cv`` and with weights, and for vectors of more than two classes, which are certified by averages.
        """
        scores = self._scores(X)
        self._require_promise()
        if isinstance(self.model_, VectorModel):
            raise GuaranteeError(
                "a vector model is certified by averages in bins of the raw scores, and not row by row: ask certificate(), or "
                "fit with multiclass='top-label' or 'one-vs-rest' for intervals"
            )
        if scores.ndim == 1 or self.multiclass == "one-vs-rest":
            return np.asarray(self.calibrator_.predict_interval(scores, alpha=alpha, at=at))
        columns, tops = top_of(scores)
        return self.model_.predict_interval(tops, self._names[columns], alpha=alpha, at=at)

    def certificate(
        self, alpha: float = 0.1, kind: str = "conditional", bound: str | None = None, *, about: str | None = None,
        side: str = "both",
    ) -> Certificate | SetCertificate | VectorCertificate:  # fmt: skip
        """The guarantee about the calibrated probabilities.

        Parameters
        ----------
        alpha : float, from 1e-100 to 1/2
            The chance that the promise fails, over draws of the rows that calibrate.
        kind, bound
            As for `BinnedModel.certificate`; a vector model has the kind "conditional" with its one bound.
        about : {"population", "calibration rows"}, optional
            As for `BinnedModel.certificate`; by default the population, of a vector model the calibration rows.
        side : {"both", "upper", "lower"}
            As for `BinnedModel.certificate`; a vector model has "both".

        Returns
        -------
        Certificate; of more than two classes VectorCertificate or SetCertificate

        Raises
        ------
        GuaranteeError
            After a fit with `cv`, or with weights that are not frequencies; for calibrators without a guarantee; and with
            "one-vs-rest" of more than two classes: ``model_.certificate`` is about the probabilities before they are divided by
            their sum.
        """
        check_is_fitted(self)
        self._require_promise()
        if isinstance(self.calibrator_, ClassWiseBinning):
            raise GuaranteeError(
                "predict_proba divides the probabilities of a row by their sum, and nothing is known of the quotients; what is "
                "certified are the probabilities before, those of model_: ask model_.certificate(...), or fit with "
                "multiclass='top-label'"
            )
        if isinstance(self.model_, VectorModel):
            check_choice(kind, "kind", ("conditional",))
            if bound is not None:
                check_choice(bound, "bound", ("clopper-pearson",))
            check_choice(side, "side", ("both",))
            return self.model_.certificate(alpha, about=about or ABOUT[1])
        return self.model_.certificate(alpha, kind, bound, about=about or ABOUT[0], side=side)

    certificates = Parts.certificates

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self)
        return scores_of(self.estimator_, X, len(self.classes_), self._column)

    def _columns(self, probabilities: Float64s) -> Float64s:
        """The columns of two classes, from the probability of the positive one."""
        columns = [1.0 - probabilities, probabilities]
        return np.column_stack(columns if self._column else columns[::-1])

    @property
    def _names(self) -> Array:
        """The classes as the model calls them."""
        return np.array(keys_of(self.classes_))

    def _require_promise(self) -> None:
        if self._void is not None:
            raise GuaranteeError(f"nothing is certified: {self._void}")

    # ------------------------------------------------------------------ scikit-learn

    def get_metadata_routing(self) -> MetadataRouter:
        """Where metadata of `fit` goes: weights to the calibrator and, as it asks, to the estimator; the rest of it, and the
        splitter, as they ask.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRouter
        """
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        to_split = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        router.add(estimator=estimator_of(self.estimator), method_mapping=to_fit)
        return router.add(splitter=self.cv, method_mapping=to_split)

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(estimator_of(self.estimator))
        for name in ("sparse", "allow_nan", "pairwise", "string", "categorical", "positive_only"):
            setattr(tags.input_tags, name, getattr(inner.input_tags, name))
        if inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        tags.no_validation, tags.non_deterministic = inner.no_validation, inner.non_deterministic
        return tags


# ------------------------------------------------------------------------------------------------- configuration


def estimator_of(estimator: Any) -> Any:
    """The classifier to train, or the frozen one; by default a logistic regression, which takes weights."""
    if estimator is None:
        estimator = LogisticRegression()
        if get_config()["enable_metadata_routing"]:
            estimator.set_fit_request(sample_weight=True)
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        kind = f"the class {estimator.__name__}" if isinstance(estimator, type) else f"of type {type(estimator).__name__}"
        raise InputTypeError(f"is {kind}", "pass a classifier, such as LogisticRegression()", argument="estimator")
    return estimator


def seed_of(random_state: Any) -> int:
    """The seed of a fit: the one that is given, or one that a RandomState, or nobody, draws."""
    if random_state is None:
        return secrets.randbits(31)
    if isinstance(random_state, Integral):
        check_random_state(random_state)  # refuses other integers
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def check_ensemble(ensemble: Any) -> None:
    """Refuse what `CalibratedClassifierCV` does by default."""
    if ensemble not in (False,):
        raise InputError(
            None,
            "an average of several calibrated classifiers has no model to save and no certificate: leave it out, and give cv "
            "where all rows shall train and calibrate",
            argument="ensemble",
            value=ensemble,
        )


def check_parts(estimator: Any, holdout: Any, cv: Any) -> None:
    """Refuse more than one answer to the question which rows train and which calibrate."""
    if holdout is not None and cv is not None:
        remedy = "give one of the two: with holdout there is a certificate, with cv all rows train and calibrate"
        raise InputError(f"is {holdout!r} and cv is {cv!r}", remedy, argument="holdout", value=holdout)
    if isinstance(estimator, FrozenEstimator) and (holdout is not None or cv is not None):
        name = "cv" if holdout is None else "holdout"
        raise InputError("is frozen, and all rows calibrate it", f"leave out {name}", argument="estimator")


def reason_to_void(whole: Subset, cv: Any, sample_weight_kind: str) -> str | None:
    """Why nothing can be certified of a fit to these rows; ``None`` where it can."""
    if cv is not None:
        return (
            "cv was given, so the calibrator has seen scores of other fits of the estimator than the one that serves; pass "
            "holdout, or FrozenEstimator(classifier) and rows that it was not trained on"
        )
    if whole.weights is None:
        return None
    if sample_weight_kind == "importance":
        return (
            "sample_weight has weights other than 0 and 1, so the rows are not draws from the population; if they count equal "
            "rows, pass them as integers, with sample_weight_kind='frequency'"
        )
    if whole.weights.dtype.kind == "f":
        problem = f"is {whole.weights[0]}, a float, and sample_weight_kind is 'frequency'"
        remedy = "frequencies are integers: pass sample_weight.astype(int)"
        raise InputTypeError(problem, remedy, argument="sample_weight", at=whole.at[0])
    return None


# ------------------------------------------------------------------------------------------------- classes


class Side(NamedTuple):
    """Which of two classes a calibrated probability is about, its column, and the name of the event; of more classes, none."""

    positive: Any = None
    column: int = 1
    event: bytes = b""

    @classmethod
    def of(cls, classes: Array, positive: Any) -> Side:
        """By default the second. Refuses what is none of two classes."""
        names = classes.tolist()
        if len(names) != 2:
            if positive is not None:
                problem = f"is {positive!r}, and each of the {len(names)} classes has a probability"
                raise InputError(problem, "leave it out", argument="positive", value=positive)
            return cls()
        called = with_whole_numbers(classes).tolist()
        if positive is None:
            # For 1, "label 1" says it; and a user may call a class by a name that is too long for a file.
            event = str(called[1])
            is_said = names[1] != 1 and len(event.encode("utf8", "replace")) <= MOST_EVENT_BYTES
            return cls(names[1], 1, check_event(event) if is_said else b"")
        if np.ndim(positive) or positive not in names:
            raise InputError(f"is {positive!r}, which is none of the classes {names}", argument="positive", value=positive)
        column = names.index(positive)
        return cls(names[column], column, check_event(event_of(called[column])))


def columns_of(labels: Array, at: Int64s, classes: Array) -> Int64s:
    """For the labels at these rows their positions in `classes`, all of which are different; refuses the first in none."""
    labels = labels[at]
    order = np.argsort(classes, kind="stable")
    columns = order[np.minimum(np.searchsorted(classes[order], labels), len(classes) - 1)]
    strange = classes[columns] != labels
    if strange.any():
        row = int(np.argmax(strange))
        problem = f"is {labels[[row]].tolist()[0]!r}, and the frozen estimator knows the classes {classes.tolist()}"
        raise InputError(problem, "remove such rows", argument="y", at=int(at[row]))
    return np.asarray(columns)


def with_whole_numbers(classes: Array) -> Array:
    """The classes, whole numbers as int64: columns with missing values, and nullable ones, come as doubles."""
    are_whole = classes.dtype.kind == "f" and bool(((classes == np.floor(classes)) & (np.abs(classes) < 2**53)).all())
    return classes.astype(np.int64) if are_whole else classes


def keys_of(classes: Array) -> list[Key]:
    """The classes as keys of a set: as they are called, or their numbers where this is neither whole number nor text."""
    classes = with_whole_numbers(classes)
    names = classes.tolist()
    if all(isinstance(name, str) and name for name in names) or classes.dtype.kind in "iu":
        return names
    return list(range(len(names)))


def classes_of(labels: Array, known: Any = None) -> Array:
    """The classes of labels, ascending, or those that a trained estimator knows; fewer than two are refused."""
    classes = np.unique(labels) if known is None else np.asarray(known)
    if len(classes) < 2:
        remedy = "a classifier needs two classes or more"
        raise InputError(f"has 1 class, {classes.tolist()[0]!r} in every row", remedy, argument="y")
    return classes
