"""Temperature scaling: the logit divided by one number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fastbin._calibrator import Calibrator
from fastbin._errors import InputError
from fastbin._validation import compare_labels
from fastbin.scaling.ends import without_ends
from fastbin.scaling.maps import smooth_model
from fastbin.scaling.maximum import maximise
from fastbin.scaling.samples import check_samples, logits

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["TemperatureScaling"]


class TemperatureScaling(Calibrator):
    """Temperature scaling: the logit of the score divided by a temperature, fitted by maximum likelihood.

    A temperature above 1 draws probabilities towards 0.5, one below 1 away from it; 0.5 stays where it is.

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
    where labels fall with the score (ever higher ones are). A score of exactly 0 or 1 stays there at any temperature: with
    the label that agrees it does not count, with the other label it is refused.

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

    def __init__(self) -> None:
        pass

    @property
    def temperature_(self) -> float:
        """What logits are divided by."""
        return 1.0 / self.model_.map[1][0]

    def fit(self, scores: Any, labels: Any, sample_weight: Any = None, *, positive: Any = None) -> Self:
        """Fit to samples that the classifier was not trained on; arguments and errors as in `PlattScaling.fit`."""
        labels = compare_labels(labels, positive)
        samples = check_samples(scores, labels, sample_weight, (0.0, 1.0))
        inside = without_ends(samples, scores, labels)
        agreement = (2.0 * samples.labels - 1.0) * (samples.scores - 0.5)
        if not agreement.any():
            self.model_ = smooth_model("temperature", "beta", (1.0, 1.0, 0.0), samples, (0.0, 1.0))
            return self
        if (agreement >= 0.0).all():
            raise InputError(
                "all labels agree with the side of 0.5 that their scores are on, so ever lower temperatures are ever more "
                "likely and there is no maximum; use PlattScaling, whose smoothed labels keep the map finite"
            )
        column = logits(inside.scores)
        if inside.weights @ ((2.0 * inside.labels - 1.0) * column.values) <= 0.0:
            raise InputError(
                "labels fall with the score (about 0.5), so ever higher temperatures are ever more likely and there is no "
                "maximum; use BetaScaling or PlattScaling, which may also move 0.5"
            )
        targets = inside.labels.astype(np.float64)
        slopes, _ = maximise([column], targets, inside.weights, intercept=False, increasing=True)
        slope = float(slopes[0])
        self.model_ = smooth_model("temperature", "beta", (slope, slope, 0.0), samples, (0.0, 1.0))
        return self
