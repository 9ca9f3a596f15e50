"""The calibrator of a classifier, binary or of many classes, and models of which nothing is promised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone

from fastbin._base.array_types import Array, Float64s, Int64s, UInt8s
from fastbin._base.checks import UNIT
from fastbin._base.errors import InputError, warn, without_warnings
from fastbin._fit.calibrator import Calibrator, changed
from fastbin._fit.edges import rows_fingerprint
from fastbin._fit.tally import KEY_ABOVE, KEY_BELOW
from fastbin.binning.certified import CertifiedCalibration
from fastbin.binning.fixed import ExplicitBinning, FixedWidthBinning
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.multi import ClassWiseBinning, TopLabelBinning, VectorCalibration
from fastbin.multi.cells import Given, Told, binary_method, check_values, fit_named
from fastbin.multi.classes import top_of
from fastbin.sklearn.training import has_probabilities
from fastbin.vector_model import VectorModel

M = TypeVar("M", BinnedModel, ModelSet, VectorModel)

MULTICLASS = ("vector", "top-label", "one-vs-rest")


class CalibrationRows(NamedTuple):
    """The rows of a calibrator: scores (n,) of the second of two classes, or (n, k), and the columns of true classes.

    The model calls the classes by `names`.
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
                warn(text, stacklevel=4)
            return fitted
        options, truth = {"calibrator": calibrator, "classes": self.names.tolist()}, self.names[self.columns]
        if self.multiclass != "top-label":
            method = VectorCalibration if self.multiclass == "vector" else ClassWiseBinning
            return method(**options).fit(scores, truth, self.weights)
        predicted = self.scores.argmax(axis=1)
        tops = np.take_along_axis(scores, predicted[:, np.newaxis], axis=1)[:, 0]
        return TopLabelBinning(**options).fit_top(tops, self.names[predicted], truth, self.weights)

    def fit_vectors(self) -> VectorModel | None:
        """The vectors that share out what a top label leaves to the other classes; none where nothing asks for them."""
        if self.scores.ndim == 1 or self.multiclass != "top-label":
            return None
        with without_warnings():  # of the same rows as those of the calibrator
            method = VectorCalibration(classes=self.names.tolist())
            fitted = method.fit(rounded(self.scores), self.names[self.columns], self.weights)
            return self.with_moved_edges(fitted.model_)

    def with_moved_edges(self, fitted: M) -> M:
        """A model or models of rounded scores as those of scores as they are."""
        moved = {part[0]: with_moved_edges(*part) for part in self.of_models(fitted)}
        return changed(fitted, moved.__getitem__)

    def of_models(self, models: Any) -> Iterator[tuple[BinnedModel, Array, Array, Array | None]]:
        """Each model with the scores, labels and weights of its rows."""
        if isinstance(models, BinnedModel):
            yield models, self.scores, self.columns, self.weights
            return
        if isinstance(models, VectorModel) or models.kind == "class-wise":
            for column, name in enumerate(self.names.tolist()):
                yield models.models[name], self.scores[:, column], self.columns == column, self.weights
            return
        predicted, tops = top_of(self.scores)
        numbers = models.find(self.names[predicted])
        for number, (_, model) in enumerate(models.numbered):
            at = numbers == number
            weights = None if self.weights is None else self.weights[at]
            yield model, tops[at], (predicted == self.columns)[at], weights


def fit_calibrator(calibrator: Any, estimator: Any, rows: CalibrationRows, draws: np.random.RandomState) -> Any:
    """A fitted calibrator for two classes, else a fitted estimator of `fastbin.multi`; `draws` the seed where it has none."""
    of_classes = rows.scores.ndim > 1
    binary = binary_method(CertifiedCalibration() if calibrator is None else calibrator, of_classes=of_classes).calibrator
    if calibrator is not None and calibrator.get_params().get("seed", 0) is None:
        binary.set_params(seed=draws.randint(np.iinfo(np.int32).max))
    if rows.scores.ndim == 1 and not has_probabilities(estimator):
        binary = _for_decisions(binary, estimator)
    if _has_edges_at_scores(binary):
        fitted = rows.fit(binary, rounded(rows.scores))
        if all(has_movable_edges(model) for model, *_ in rows.of_models(fitted.model_)):
            fitted.model_ = rows.with_moved_edges(fitted.model_)
            return fitted
    return rows.fit(binary, rows.scores)


def _for_decisions(calibrator: Calibrator, estimator: Any) -> Calibrator:
    """The calibrator for any finite scores."""
    if "score_range" not in calibrator.get_params():
        problem = f"is {calibrator!r}, which takes probabilities, and {type(estimator).__name__} has decision_function alone"
        remedy = "take CertifiedCalibration() or PlattScaling(feature='score')"
        raise InputError(problem, remedy, argument="calibrator", value=calibrator)
    return calibrator.set_params(score_range=None) if calibrator._checked_range() == UNIT else calibrator


def _has_edges_at_scores(calibrator: Calibrator) -> bool:
    """Whether edges may stand at scores that can be rounded; the ends of other ranges need not be on the grid."""
    if isinstance(calibrator, (ExplicitBinning, FixedWidthBinning)) or getattr(calibrator, "ties", "whole") != "whole":
        return False
    return calibrator._checked_range() in (UNIT, None)


def without_promise(fitted: M, why: str) -> M:
    """The same values and tallies, without slices, as those of a scheme of which nothing is known; its note is the reason."""

    def other(model: BinnedModel) -> BinnedModel:
        # Slices are evidence about every truth that rises, whatever the scheme.
        without: dict[str, Any] = {"slice_cuts": None, "slice_label_sums": None}
        if model.ties == "whole":
            without |= {"ties": "none", "tie_counts": None, "atom_counts": None, "edges_share": 0.0}
        return model._derived("CalibratedClassifier", scheme="other", note=why, **without)

    bare: Any = changed(fitted, other)
    if isinstance(bare, VectorModel):
        without_evidence = bare.vector._replace(edges=None, counts=None, means=None, unlabelled=None)
        bare = VectorModel._of(bare.models, without_evidence, provenance=bare._provenance)
    return bare


# ------------------------------------------------------------------------------------------------- rounded scores

# A matrix product of a batch differs in its last bits from that of one row, so a classifier gives a row slightly different
# scores in different company. Edges of bins stand at scores of the fit, and such a row would change its bin. Here a model is
# fitted to scores that are rounded to a grid, and its edges are then moved half a step of the grid: down, or up where rows of
# the same score lie below the edge. A score, rounded or not, lies above a moved edge if and only if it lies above the old one
# when it is rounded. So the model is exactly that of the rounded scores, and takes scores as they are; one in 1e5 of the rows
# whose score stood at an edge may still change its bin.

# Bits of a rounded score. Sums of a classifier are exact to about 50; 36 still tell 1 - 1e-11 from 1.
BITS = 36


def rounded(scores: Array) -> Array:
    """The nearest numbers of `BITS` bits, of two equally near ones the larger; float32 has no more bits, and stays."""
    if scores.dtype == np.float32:
        return scores
    mantissas, exponents = np.frexp(np.asarray(scores, np.float64))
    return np.asarray(np.ldexp(np.floor(np.ldexp(mantissas, BITS) + 0.5), exponents - BITS))


def half_a_step_down(edges: Float64s) -> Float64s:
    """float64: the least numbers that `rounded` makes one of these or a larger one; 0 stays.

    Edges at scores of the fit are on the grid; those between two, such as a middle, may not be.
    """
    mantissas, exponents = np.frexp(edges)
    on_grid = np.ldexp(np.ceil(np.ldexp(mantissas, BITS)), exponents - BITS)
    mantissas, exponents = np.frexp(on_grid)
    steps = np.ldexp(1.0, exponents - BITS - (mantissas == 0.5))  # below a power of 2 they are half as long
    return np.asarray(np.where(on_grid == 0.0, 0.0, on_grid - steps / 2.0))


def half_a_step_up(edges: Float64s) -> Float64s:
    """float64: the least numbers that `rounded` makes larger than these, which are numbers of `BITS` bits."""
    mantissas, exponents = np.frexp(edges)
    steps = np.ldexp(1.0, exponents - BITS - (mantissas == -0.5))  # above -2, -1, -1/2, ... they are half as long
    return np.asarray(np.maximum(np.where(edges == 0.0, 0.0, edges + steps / 2.0), np.nextafter(edges, np.inf)))


def has_movable_edges(model: BinnedModel) -> bool:
    """Whether each edge is below all rows of its score, or above them, as no key decides."""
    return model.kind == "step" and bool(np.isin(model.edge_keys, (KEY_ABOVE, KEY_BELOW)).all())


def with_moved_edges(model: BinnedModel, scores: Array, labels: Array, weights: Array | None) -> BinnedModel:
    """A model of rounded scores as one of scores as they are; `scores`, `labels` and `weights` are the rows of its fit.

    Two edges may become one: no score lies between neighbours of the grid, where Venn-Abers has a step.
    """
    edges = np.where(model.edge_keys == KEY_ABOVE, half_a_step_down(model.edges), half_a_step_up(model.edges))
    moved = model._derived("CalibratedClassifier", edges=edges, edge_keys=np.zeros(len(edges), np.uint64))
    ones: UInt8s = np.asarray(labels).astype(np.uint8)
    frequencies = weights if weights is not None and weights.dtype.kind == "i" else None
    return moved._replace(fingerprint=rows_fingerprint(moved, np.asarray(scores, np.float64), ones, frequencies))
