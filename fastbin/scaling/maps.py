"""Smooth maps as models: the fit that they share, and the demand that they increase."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from fastbin._calibrator import Calibrator
from fastbin._docstrings import shared_docs
from fastbin._errors import InputError, InputTypeError, NotFittedError
from fastbin._validation import ScoreRange, compare_labels
from fastbin.model import BinnedModel
from fastbin.scaling.samples import Samples, check_samples

if TYPE_CHECKING:
    from typing_extensions import Self


class SmoothMap(Calibrator):
    """What the smooth maps share: samples are checked and pooled, and the model is a map alone."""

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
        """
        score_range = self._check_configuration()
        labels = compare_labels(labels, positive)
        samples = check_samples(scores, labels, sample_weight, score_range)
        parameters = self._most_likely(samples, scores, labels)
        self.model_ = BinnedModel.from_parts(
            edges=None, values=None, kind="smooth", scheme=self._scheme, map="logistic" if len(parameters) == 2 else "beta",
            map_parameters=parameters, score_range=score_range, n_samples=samples.n_samples, n_positive=samples.n_positive,
        )  # fmt: skip
        return self

    def _check_configuration(self) -> ScoreRange:
        """Refuse a configuration that cannot be used; the range of the scores."""
        return 0.0, 1.0

    def _most_likely(self, samples: Samples, scores: Any, labels: Any) -> tuple[float, ...]:
        """The parameters of the map: two of a logistic one, three of a beta map. `scores` and `labels` are for messages."""
        raise NotImplementedError


def require_increasing(model: BinnedModel) -> None:
    """Raise unless the map of a smooth model increases: the condition under which bins behind it are bins of the score."""
    word, parameters = model.map
    slopes = parameters[: 1 if word == "logistic" else 2]
    if min(slopes) < 0.0 or max(slopes) <= 0.0:
        shown = ", ".join(format(slope, ".4g") for slope in slopes)
        raise InputError(
            f"the map of scheme {model.scheme!r} does not increase (slope {shown}): bins behind it would not be bins of the "
            "score in the same order. If the scores of a classifier rise with the wrong label, pass its scores reversed (1 - "
            "score)"
        )


def fitted_scaler(scaler: Any, score_range: ScoreRange) -> BinnedModel:
    """The model of a fitted smooth calibrator (or such a model itself); it must increase and take the scores of this range."""
    try:
        model = scaler.model_ if isinstance(scaler, Calibrator) else scaler
    except NotFittedError:
        raise InputError(
            f"scaler is a {type(scaler).__name__} that is not fitted; fit it to other samples than those that are binned"
        ) from None
    if not isinstance(model, BinnedModel) or model.kind != "smooth":
        raise InputTypeError(f"scaler must be a fitted PlattScaling, TemperatureScaling or BetaScaling, got {scaler!r}")
    require_increasing(model)
    if model.score_range != score_range:
        raise InputError(
            f"score_range is {score_range}, but the scaler takes scores in {model.score_range}; pass "
            f"score_range={model.score_range}"
        )
    return model
