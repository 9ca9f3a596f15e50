"""Smooth maps as models: the fit that they share, and the demand that they increase."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.checks import ScoreRange, as_scores, check_labels, check_sample_weight, compare_labels, event_of
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError, InputTypeError, NotFittedError
from fastbin._base.frames import check_same_index
from fastbin._base.suspicions import around_the_median
from fastbin._fit.calibrator import Calibrator
from fastbin.model import BinnedModel
from fastbin.scaling.samples import PooledSamples, check_samples, logits

if TYPE_CHECKING:
    from typing_extensions import Self

ENDS = ("clip", "refuse")


class FittedMap(NamedTuple):
    """A map as C takes it."""

    word: str  # "logistic", "beta", "quadratic" or "spline"
    parameters: tuple[float, ...] = ()
    clip: float = 0.0
    knots: Float64s | None = None


class SmoothMap(Calibrator):
    """What the smooth maps share: samples are checked and pooled, and the model is a map alone.

    Parameters
    ----------
    ends : {"clip", "refuse"}
        What a map that takes logarithms does about scores of 0 and 1. "clip": scores are moved into [h, 1 - h] with half a step
        h = 0.5 / (n + 1), n the number of samples of the fit, both when it is fitted and when it is served; h is part of the
        model. "refuse": such scores are refused where no map makes their labels possible, and drop out where every one does;
        version 0.1.0 did this.
    """

    _scheme: ClassVar[str]

    @shared_docs(Calibrator.fit.__doc__)
    def fit(self, scores: Any, labels: Any, sample_weight: Any = None, *, positive: Any = None) -> Self:
        """Fit to samples that the classifier was not trained on.

        Equal rows are pooled first, so the order of the rows does not matter.

        Parameters
        ----------
        {scores}
        {labels}
        sample_weight : array-like of shape (n,), optional
            Integers repeat rows, floats weight their terms of the likelihood.
        {positive}

        {Returns}

        Raises
        ------
        InputError
            Naming the argument, the first bad position, its value, and the remedy; or saying why there is no most likely map.

        {Warns}
        """
        score_range, event = self._check_configuration(), event_of(positive)
        check_same_index(scores=scores, labels=labels, sample_weight=sample_weight)
        labels = compare_labels(labels, positive)
        samples = check_samples(scores, labels, sample_weight, score_range)
        word, parameters, clip, knots = self._fitted(samples, scores, labels)
        model = BinnedModel.from_parts(
            edges=None, values=None, kind="smooth", scheme=self._scheme, map=word, map_parameters=parameters, clip=clip,
            knots=knots, score_range=score_range, n_samples=samples.n_samples, n_positive=samples.n_positive,
        )  # fmt: skip
        self._keep(model, event)
        column, weights = as_scores(scores), check_sample_weight(sample_weight)
        frequencies = weights if weights is not None and weights.dtype.kind == "i" else None
        self._warn_of_rows(*around_the_median(column, check_labels(labels) == 1, frequencies), column, 2)
        return self

    def _check_configuration(self) -> ScoreRange:
        """Refuse a configuration that cannot be used; the range of the scores."""
        return 0.0, 1.0

    def _fitted(self, samples: PooledSamples, scores: Any, labels: Any) -> FittedMap:
        """The map. `scores` and `labels` are for messages."""
        raise NotImplementedError


def require_increasing(model: BinnedModel) -> None:
    """Raise unless the map of a smooth model increases: the condition under which bins behind it are bins of the score."""
    slopes = _slopes(model)
    if min(slopes) < 0.0 or max(slopes) <= 0.0:
        shown = ", ".join(format(slope, ".4g") for slope in slopes)
        raise InputError(
            f"the map of scheme {model.scheme!r} does not increase (slope {shown}): bins behind it would not be bins of the "
            "score in the same order. If the scores of a classifier rise with the wrong label, pass its scores reversed (1 - "
            "score)"
        )


def _slopes(model: BinnedModel) -> list[float]:
    """Slopes of a map that rises if none is negative, and one is positive."""
    word, parameters = model.map
    if word == "spline":
        return _spline_slopes(np.asarray(model.knots))
    if word != "quadratic":
        return list(parameters[: 1 if word == "logistic" else 2])
    if parameters[2] == 0.0:
        return [parameters[1]]
    # A parabola rises over all logits that are served, if it does at both ends of them.
    with np.errstate(divide="ignore"):
        end = float(logits(np.zeros(1), model.clip).values[0])
    return [parameters[1] + 2.0 * parameters[2] * z for z in (end, -end)]


def _spline_slopes(knots: Float64s) -> list[float]:
    """The least slope between each two knots and the slopes beyond the outer ones, which are those at them."""
    (left, low, bend), (right, high, next_bend) = knots[:-1].T, knots[1:].T
    width, chord = right - left, (high - low) / (right - left)
    starts = chord - width * (2.0 * bend + next_bend) / 6.0
    ends = chord + width * (bend + 2.0 * next_bend) / 6.0
    # The slope is a parabola in the place between the knots; it turns inside where the second derivative goes from - to +.
    turns = (bend < 0.0) & (next_bend > 0.0)
    at = np.divide(bend, bend - next_bend, out=np.zeros_like(bend), where=turns)
    return np.where(turns, starts + 0.5 * width * bend * at, np.minimum(starts, ends)).tolist()


def fitted_scaler(scaler: Any, score_range: ScoreRange) -> BinnedModel:
    """The model of a fitted smooth calibrator (or such a model itself); it must increase and take the scores of this range."""
    try:
        model = scaler.model_ if isinstance(scaler, Calibrator) else scaler
    except NotFittedError:
        remedy = "fit it to other samples than those that are binned"
        raise InputError(f"is a {type(scaler).__name__} that is not fitted", remedy, argument="scaler") from None
    if not isinstance(model, BinnedModel) or model.kind != "smooth":
        problem = f"must be a fitted PlattScaling or another smooth map, got {scaler!r}"
        raise InputTypeError(problem, argument="scaler", value=scaler)
    require_increasing(model)
    if model.score_range != score_range:
        problem = f"is {score_range}, but the scaler takes scores in {model.score_range}"
        raise InputError(problem, f"pass score_range={model.score_range}", argument="score_range", value=score_range)
    return model
