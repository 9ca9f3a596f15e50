"""A reliability diagram in the manner of scikit-learn's displays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fastbin._base.array_types import Array, Bools
from fastbin._base.checks import is_missing
from fastbin._base.errors import ArgumentError, InputError, InputTypeError
from fastbin._base.frames import check_same_index
from fastbin.assess import ReliabilityTable, reliability_table
from fastbin.assess.samples import N_BINS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self


class ReliabilityDisplay:
    """The reliability diagram of a classifier, as `fastbin.plots.reliability_diagram` draws it.

    Parameters
    ----------
    table : ReliabilityTable
    name : str, optional
        Of the classifier, for the legend.

    Attributes
    ----------
    table : ReliabilityTable
    name : str or None
    ax_ : matplotlib.axes.Axes
        Set by `plot`.
    figure_ : matplotlib.figure.Figure
        Set by `plot`.

    Examples
    --------
    >>> import fastbin as fb
    >>> display = fb.sklearn.ReliabilityDisplay.from_predictions([0, 1, 1, 1], [0.2, 0.2, 0.8, 0.8])
    >>> display.ax_.get_xlabel()
    'mean prediction'
    """

    ax_: Axes
    figure_: Any

    def __init__(self, table: ReliabilityTable, name: str | None = None) -> None:
        self.table = table
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, n_bins: int = N_BINS, pos_label: Any = None, sample_weight: Any = None,
        alpha: float | None = 0.1, name: str | None = None, ax: Axes | None = None,
    ) -> Self:  # fmt: skip
        """Draw what a fitted classifier says about test rows.

        Parameters
        ----------
        estimator : fitted classifier
            With ``predict_proba``. For more than two classes without `pos_label`, the probability of its top class is drawn,
            and how often it is the true one; for a `CalibratedClassifier`, as `predict_top` gives it.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            The true classes.
        n_bins : int
            Into how many bins of equal mass predictions with many values are divided.
        pos_label : optional
            The class whose probability is drawn; of two, the second.
        sample_weight : array-like of shape (n_samples,), optional
            Integers are frequencies, floats importance weights.
        alpha : float or None
            Failure probability of the intervals of all bins together; ``None`` draws none.
        name : str, optional
            For the legend; by default that of the class of the estimator.
        ax : matplotlib.axes.Axes, optional
            By default a new figure.

        Returns
        -------
        ReliabilityDisplay
        """
        check_is_fitted(estimator)
        check_same_index(X=X, y=y, sample_weight=sample_weight)
        predictions, is_true = _predictions_of(estimator, X, np.asarray(y), pos_label)
        table = reliability_table(predictions, is_true, n_bins=n_bins, sample_weight=sample_weight, alpha=alpha)
        return cls(table, type(estimator).__name__ if name is None else name).plot(ax)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_prob: Any, *, n_bins: int = N_BINS, pos_label: Any = None, sample_weight: Any = None,
        alpha: float | None = 0.1, name: str | None = None, ax: Axes | None = None,
    ) -> Self:  # fmt: skip
        """Draw probabilities and what came true; the order of the two is that of scikit-learn.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            0 and 1, or bool, or any classes with `pos_label`.
        y_prob : array-like of shape (n_samples,)
            Probabilities of the positive class.
        n_bins, sample_weight, alpha, name, ax
            As for `from_estimator`.
        pos_label : optional
            The class that is positive.

        Returns
        -------
        ReliabilityDisplay
        """
        is_true = y_true if pos_label is None else _is_class(y_true, pos_label)
        if pos_label is not None and not np.any(is_true):
            remedy = "give one of its classes"
            raise InputError(f"is {pos_label!r}, which occurs nowhere in y_true", remedy, argument="pos_label", value=pos_label)
        check_same_index(y_true=y_true, y_prob=y_prob, sample_weight=sample_weight)
        try:
            table = reliability_table(y_prob, is_true, n_bins=n_bins, sample_weight=sample_weight, alpha=alpha)
        except ArgumentError as error:
            if error.argument == "labels":
                remedy = "labels are 0 and 1, or any classes with pos_label, the class whose probability y_prob is"
                raise type(error)(error.problem, remedy, argument="y_true", at=error.at, value=error.value) from None
            raise error.about("y_prob") if error.argument == "predictions" else error from None
        return cls(table, name).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw it on these axes, or on new ones.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional

        Returns
        -------
        self
        """
        from fastbin.plots import reliability_diagram

        self.ax_ = reliability_diagram(self.table if self.name is None else {self.name: self.table}, ax=ax)
        self.figure_ = self.ax_.figure
        return self


def _is_class(y_true: Any, pos_label: Any) -> Bools:
    """Whether each class is this one; a missing one is refused, which would count as another."""
    classes = np.asarray(y_true)
    if classes.dtype == object:
        missing = np.array([is_missing(value) for value in classes.ravel().tolist()], np.bool_)
    else:
        missing = np.asarray(classes != classes)  # NaN
    if missing.any():
        at = int(np.argmax(missing))
        raise InputError("is missing", "remove rows without a label", argument="y_true", at=at)
    return np.asarray(classes == pos_label)


def _predictions_of(estimator: Any, X: Any, y: Array, pos_label: Any) -> tuple[Array, Bools]:
    """The probability that is drawn, and whether it came true, of each row."""
    if not hasattr(estimator, "predict_proba"):
        problem = f"is a {type(estimator).__name__}, which has no predict_proba"
        raise InputTypeError(problem, "calibrate it first, such as by CalibratedClassifier", argument="estimator")
    classes = np.asarray(estimator.classes_)
    strange = ~np.isin(y, classes)
    if strange.any():
        at = int(np.argmax(strange))
        problem = f"is {y[[at]].tolist()[0]!r}, which is none of the classes {classes.tolist()} of the estimator"
        raise InputError(problem, argument="y", at=at)
    if pos_label is None and len(classes) > 2:
        if hasattr(estimator, "predict_top"):
            top, probabilities = estimator.predict_top(X)
        else:
            matrix = np.asarray(estimator.predict_proba(X))
            top, probabilities = classes[matrix.argmax(axis=1)], matrix.max(axis=1)
        return probabilities, np.asarray(top == y)
    positive = classes[1] if pos_label is None else pos_label
    column = np.flatnonzero(classes == positive)
    if len(column) == 0:
        problem = f"is {pos_label!r}, which is none of the classes {classes.tolist()}"
        raise InputError(problem, argument="pos_label", value=pos_label)
    return np.asarray(estimator.predict_proba(X))[:, column[0]], np.asarray(y == positive)
