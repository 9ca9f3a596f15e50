"""Temperature scaling: the logit divided by one number."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from fastbin._docstrings import shared_docs
from fastbin._errors import InputError
from fastbin._scalars import check_choice
from fastbin._validation import ScoreRange
from fastbin.scaling.maps import ENDS, FittedMap, SmoothMap
from fastbin.scaling.maximum import maximise
from fastbin.scaling.samples import Samples, logits


@shared_docs(SmoothMap.__doc__)
@dataclass(eq=False, repr=False)
class TemperatureScaling(SmoothMap):
    """Temperature scaling: the logit of the score divided by a temperature, fitted by maximum likelihood.

    A temperature above 1 draws probabilities towards 0.5, one below 1 away from it; 0.5 stays where it is.

    Parameters
    ----------
    {ends}

    Attributes
    ----------
    model_ : BinnedModel
        Of kind "smooth".
    temperature_ : float
        Positive.

    Notes
    -----
    Takes probabilities in [0, 1]. No certificate: no one-to-one map of the score has a distribution-free guarantee (Gupta,
    Podkopaev & Ramdas 2020, Theorem 3).

    Scores of 0.5 alone say nothing about the temperature, which is then 1. There is no temperature, and the fit is refused,
    where all labels agree with the side of 0.5 that their scores are on (ever lower temperatures are ever more likely), and
    where labels fall with the score (ever higher ones are). With ends="refuse" a score of exactly 0 or 1 stays there at any
    temperature: with the label that agrees it does not count, with the other label it is refused.

    Time O(n log n), memory a few arrays of n doubles.

    References
    ----------
    .. [1] C. Guo, G. Pleiss, Y. Sun and K. Weinberger, "On calibration of modern neural networks", ICML 2017.

    Examples
    --------
    >>> import fastbin as fb
    >>> cal = fb.TemperatureScaling().fit([0.02, 0.1, 0.95, 0.9, 0.97, 0.05], [0, 1, 1, 1, 0, 0])
    >>> cal.temperature_ > 1.0
    True
    >>> cal.predict([0.5])
    array([0.5])
    """

    _: KW_ONLY
    ends: str = "clip"

    _scheme = "temperature"

    @property
    def temperature_(self) -> float:
        """What logits are divided by."""
        return 1.0 / self.model_.map[1][0]

    def _check_configuration(self) -> ScoreRange:
        check_choice(self.ends, "ends", ENDS)
        return super()._check_configuration()

    def _fitted(self, samples: Samples, scores: Any, labels: Any) -> FittedMap:
        clip = samples.half_step if self.ends == "clip" else 0.0
        inside = samples.with_ends(clip) if clip else samples.inside(scores, labels)
        slope = _inverse_temperature(samples, inside, clip)
        return FittedMap("beta", (slope, slope, 0.0), clip)


def _inverse_temperature(samples: Samples, inside: Samples, clip: float) -> float:
    if not samples.agreement.any():
        return 1.0
    if (samples.agreement >= 0.0).all():
        raise InputError(
            "all labels agree with the side of 0.5 that their scores are on, so ever lower temperatures are ever more "
            "likely and there is no maximum; use PlattScaling, whose smoothed labels keep the map finite"
        )
    column = logits(inside.scores, clip)
    if inside.weights @ ((2.0 * inside.labels - 1.0) * column.values) <= 0.0:
        raise InputError(
            "labels fall with the score (about 0.5), so ever higher temperatures are ever more likely and there is no "
            "maximum; use BetaScaling or PlattScaling, which may also move 0.5"
        )
    slopes, _ = maximise([column], inside.labels.astype(np.float64), inside.weights, intercept=False, increasing=True)
    return float(slopes[0])
