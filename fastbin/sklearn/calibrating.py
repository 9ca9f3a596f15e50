"""The calibrator of a classifier, binary or of many classes, and models of which nothing is promised."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone

from fastbin._base.array_types import Array, Int64s
from fastbin._base.checks import UNIT
from fastbin._base.errors import FastbinWarning, InputError
from fastbin._fit.calibrator import Calibrator
from fastbin.binning.certified import CertifiedCalibration
from fastbin.binning.fixed import ExplicitBinning, FixedWidthBinning
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.multi import ClassWiseBinning, TopLabelBinning
from fastbin.multi.cells import Given, Told, binary_method, check_values, fit_named
from fastbin.multi.classes import top_of
from fastbin.sklearn.rounding import has_movable_edges, rounded, with_moved_edges
from fastbin.sklearn.scores import has_probabilities

M = TypeVar("M", BinnedModel, ModelSet)

MULTICLASS = ("top-label", "one-vs-rest")


class CalibrationRows(NamedTuple):
    """What a calibrator is fitted to: scores (n,) of the second of two classes, or (n, k), and the columns of true classes.

    `names` are what the model calls the classes.
    """

    scores: Array
    columns: Int64s
    names: Array
    weights: Array | None
    multiclass: str

    def fit(self, calibrator: Calibrator, scores: Array) -> Any:
        """A fitted copy of the calibrator, or its like for classes; `scores` are the own ones or rounded."""
        if scores.ndim == 1:
            fitted, told = clone(calibrator), Told()
            fit_named(fitted, check_values(Given(scores, self.columns, self.weights), fitted), "the calibrator", told)
            for _, text in told:
                warnings.warn(text, FastbinWarning, stacklevel=4)
            return fitted
        options, truth = {"calibrator": calibrator, "classes": self.names.tolist()}, self.names[self.columns]
        if self.multiclass == "one-vs-rest":
            return ClassWiseBinning(**options).fit(scores, truth, self.weights)
        predicted = self.scores.argmax(axis=1)
        tops = np.take_along_axis(scores, predicted[:, np.newaxis], axis=1)[:, 0]
        return TopLabelBinning(**options).fit_top(tops, self.names[predicted], truth, self.weights)

    def of_models(self, models: ModelSet) -> Iterator[tuple[BinnedModel, Array, Array, Array | None]]:
        """Each model with the scores, labels and weights of its rows."""
        if models.kind == "class-wise":
            for column, name in enumerate(self.names.tolist()):
                yield models[name], self.scores[:, column], self.columns == column, self.weights
            return
        predicted, tops = top_of(self.scores)
        numbers = models.find(self.names[predicted])
        for number, (_, model) in enumerate(models.numbered):
            at = numbers == number
            weights = None if self.weights is None else self.weights[at]
            yield model, tops[at], (predicted == self.columns)[at], weights


def fit_calibrator(calibrator: Any, estimator: Any, rows: CalibrationRows, draws: np.random.RandomState) -> Any:
    """What turns the scores of a fitted classifier into calibrated probabilities.

    Parameters
    ----------
    calibrator : Calibrator or None
        As it was configured.
    estimator : fitted classifier
    rows : CalibrationRows
    draws : RandomState
        Draws the seed of a calibrator that has none.

    Returns
    -------
    fitted Calibrator for two classes, else a fitted estimator of `fastbin.multi`
    """
    binary = binary_method(CertifiedCalibration() if calibrator is None else calibrator).calibrator
    if calibrator is not None and calibrator.get_params().get("seed", 0) is None:
        binary.set_params(seed=draws.randint(np.iinfo(np.int32).max))
    if rows.scores.ndim == 1 and not has_probabilities(estimator):
        binary = _for_decisions(binary, estimator)
    if _has_edges_at_scores(binary):
        fitted = rows.fit(binary, rounded(rows.scores))
        if _move_edges(fitted, rows):
            return fitted
    return rows.fit(binary, rows.scores)


def _for_decisions(calibrator: Calibrator, estimator: Any) -> Calibrator:
    """The calibrator for any finite scores."""
    score_range = calibrator.get_params().get("score_range", "none")
    if score_range == "none":
        problem = f"is {calibrator!r}, which takes probabilities, and {type(estimator).__name__} has decision_function alone"
        remedy = "take CertifiedCalibration() or PlattScaling(feature='score')"
        raise InputError(problem, remedy, argument="calibrator", value=calibrator)
    return calibrator.set_params(score_range=None) if score_range == UNIT else calibrator


def _has_edges_at_scores(calibrator: Calibrator) -> bool:
    """Whether edges may stand at scores that can be rounded; the ends of other ranges need not be on the grid."""
    if isinstance(calibrator, (ExplicitBinning, FixedWidthBinning)) or getattr(calibrator, "ties", "whole") != "whole":
        return False
    return getattr(calibrator, "score_range", UNIT) in (UNIT, None)


def _move_edges(fitted: Any, rows: CalibrationRows) -> bool:
    """Let what was fitted to rounded scores take them as they are; whether that was possible."""
    model = fitted.model_
    if isinstance(model, BinnedModel):
        if not has_movable_edges(model):
            return False
        fitted.model_ = with_moved_edges(model, rows.scores, rows.columns, rows.weights)
        return True
    parts = list(rows.of_models(model))
    if not all(has_movable_edges(part[0]) for part in parts):
        return False
    moved = {part[0]: with_moved_edges(*part) for part in parts}
    fitted.model_ = _like(model, lambda one: moved[one])
    return True


def without_promise(model: M, why: str) -> M:
    """The same values and tallies, as those of a scheme of which nothing is known, with the reason as its note."""
    if isinstance(model, ModelSet):
        return _like(model, lambda one: without_promise(one, why))
    no_ties: dict[str, Any] = {"ties": "none", "tie_counts": None, "edges_share": 0.0} if model.ties == "whole" else {}
    return model._derived("CalibratedClassifier", scheme="other", note=why, **no_ties)


def _like(models: ModelSet, change: Any) -> ModelSet:
    """A set of the same keys, with each model changed."""
    return ModelSet._of(
        {key: change(model) for key, model in models.models.items()}, kind=models.kind, unknown=models.unknown,
        pool=None if models.pool is None else change(models.pool), pooled_keys=models.pooled_keys, columns=models.columns,
        provenance=models._provenance,
    )  # fmt: skip
