"""Binary calibrators for the scores of a classifier, and models of which nothing is promised."""

from __future__ import annotations

from typing import Any, TypeVar

from sklearn.base import clone

from fastbin._calibrator import Calibrator
from fastbin._errors import InputError
from fastbin._validation import UNIT
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.sklearn.scores import has_probabilities

M = TypeVar("M", BinnedModel, ModelSet)


def for_scores_of(estimator: Any, calibrator: Calibrator) -> Calibrator:
    """A copy of the calibrator that takes the scores of this classifier: any finite ones where they are decisions."""
    copy: Calibrator = clone(calibrator)
    if has_probabilities(estimator):
        return copy
    score_range = copy.get_params().get("score_range", "none")
    if score_range == "none":
        raise InputError(
            f"calibrator is {calibrator!r}, which takes probabilities, and {type(estimator).__name__} has decision_function "
            "alone; take CertifiedCalibration() or PlattScaling(feature='score')"
        )
    return copy.set_params(score_range=None) if score_range == UNIT else copy


def without_promise(model: M, why: str) -> M:
    """The same values and tallies, as those of a scheme of which nothing is known, with the reason as its note."""
    if isinstance(model, BinnedModel):
        no_ties: dict[str, Any] = {"ties": "none", "tie_counts": None, "edges_share": 0.0} if model.ties == "whole" else {}
        return model._replace(scheme="other", note=why, **no_ties)
    return ModelSet._of(
        {key: without_promise(own, why) for key, own in model.models.items()}, kind=model.kind, unknown=model.unknown,
        pool=None if model.pool is None else without_promise(model.pool, why), pooled_keys=model.pooled_keys,
        columns=model.columns,
    )  # fmt: skip
