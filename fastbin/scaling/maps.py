"""Smooth maps as models, and the demand that they increase."""

from __future__ import annotations

from typing import Any

from fastbin._calibrator import Calibrator
from fastbin._errors import InputError, InputTypeError, NotFittedError
from fastbin._validation import ScoreRange
from fastbin.model import BinnedModel
from fastbin.scaling.samples import Samples

__all__ = ["fitted_scaler", "require_increasing", "smooth_model"]


def smooth_model(
    scheme: str, map_word: str, parameters: tuple[float, ...], samples: Samples, score_range: ScoreRange
) -> BinnedModel:
    """A model that is a map alone."""
    return BinnedModel.from_parts(
        edges=None, values=None, kind="smooth", scheme=scheme, map=map_word, map_parameters=parameters, score_range=score_range,
        n_samples=samples.n_samples, n_positive=samples.n_positive,
    )  # fmt: skip


def require_increasing(model: BinnedModel) -> None:
    """Raise unless the map of a smooth model increases: the condition under which bins behind it are bins of the score."""
    word, parameters = model.map
    slopes = parameters[: 1 if word == "logistic" else 2]
    if min(slopes) < 0.0 or max(slopes) <= 0.0:
        told = ", ".join(format(slope, ".4g") for slope in slopes)
        raise InputError(
            f"the map of scheme {model.scheme!r} does not increase (slope {told}): bins behind it would not be bins of the "
            "score in the same order. A classifier whose scores rise with the wrong label wants its scores reversed (1 - "
            "score) first"
        )


def fitted_scaler(scaler: Any, score_range: ScoreRange) -> BinnedModel:
    """The model of a fitted smooth calibrator (or such a model itself); it must increase and take the scores of this range."""
    if isinstance(scaler, Calibrator):
        try:
            model = scaler.model_
        except NotFittedError:
            raise InputError(
                f"scaler is a {type(scaler).__name__} that is not fitted; fit it to other samples than those that are binned"
            ) from None
    else:
        model = scaler
    if not isinstance(model, BinnedModel) or model.kind != "smooth":
        raise InputTypeError(f"scaler must be a fitted PlattScaling, TemperatureScaling or BetaScaling, got {scaler!r}")
    require_increasing(model)
    if model.score_range != score_range:
        raise InputError(
            f"score_range is {score_range}, but the scaler takes scores in {model.score_range}; pass "
            f"score_range={model.score_range}"
        )
    return model
