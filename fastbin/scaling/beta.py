"""Beta scaling: a logistic map of log(s) and log(1 - s)."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.checks import ScoreRange, check_choice
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError
from fastbin.scaling.likelihood import Feature
from fastbin.scaling.maps import ENDS, FittedMap, SmoothMap
from fastbin.scaling.maximum import maximise
from fastbin.scaling.samples import PooledSamples, log_features, logits

LOG_2 = math.log(2.0)


@shared_docs(SmoothMap.__doc__)
@dataclass(eq=False, repr=False)
class BetaScaling(SmoothMap):
    """Beta scaling: ``1 / (1 + exp(-(a log(s) - b log(1 - s) + c)))`` with a, b >= 0, fitted by maximum likelihood.

    Parameters
    ----------
    parameters : {"abm", "am", "ab"}
        "abm": all three. "am": equal slopes, a = b, and c free. "ab": slopes free and 0.5 kept where it is, c = (a - b) log 2.
    {ends}

    Attributes
    ----------
    model_ : BinnedModel
        Of kind "smooth".
    a_, b_, c_ : float

    Notes
    -----
    Takes probabilities in [0, 1]. No certificate: no one-to-one map of the score has a distribution-free guarantee (Gupta,
    Podkopaev & Ramdas 2020, Theorem 3).

    Slopes are kept from being negative, so the map never falls; labels that fall with the score give slopes of 0 and a
    constant. Labels that a score separates (or of one class) leave the likelihood without a maximum and are refused. With
    two distinct scores there are as many parameters as the data determine in "am", which "abm" then becomes; with one
    score, slopes are 0 and the value is the mean label. With ends="refuse" a score of exactly 0 or 1 stays there under
    positive slopes: with the label that agrees it does not count, with the other label it is refused.

    Time O(n log n), memory a few arrays of n doubles.

    References
    ----------
    .. [1] M. Kull, T. M. Silva Filho and P. Flach, "Beta calibration: a well-founded and easily implemented improvement on
       logistic calibration for binary classifiers", AISTATS 2017.

    Examples
    --------
    >>> import fastbin as fb
    >>> cal = fb.BetaScaling(parameters="am").fit([0.1, 0.3, 0.35, 0.6, 0.8, 0.9], [0, 1, 0, 0, 1, 1])
    >>> cal.a_ == cal.b_ and cal.a_ > 0
    True
    """

    _: KW_ONLY
    parameters: str = "abm"
    ends: str = "clip"

    _scheme = "beta"

    @property
    def a_(self) -> float:
        """The slope of log(s)."""
        return self.model_.map[1][0]

    @property
    def b_(self) -> float:
        """The slope of -log(1 - s)."""
        return self.model_.map[1][1]

    @property
    def c_(self) -> float:
        """The constant."""
        return self.model_.map[1][2]

    def _check_configuration(self) -> ScoreRange:
        check_choice(self.parameters, "parameters", ("abm", "am", "ab"))
        check_choice(self.ends, "ends", ENDS)
        return super()._check_configuration()

    def _fitted(self, samples: PooledSamples, scores: Any, labels: Any) -> FittedMap:
        if self.ends == "clip":
            clip = samples.half_step
            moved = samples.with_ends(clip)
            _require_maximum(moved, self.parameters)
            return FittedMap("beta", _most_likely(moved, self.parameters, clip), clip)
        inside = samples.inside(scores, labels)
        _require_maximum(samples, self.parameters)
        a, b, c = _most_likely(inside, self.parameters, clip=0.0)
        for end, slope in ((0.0, a), (1.0, b)):
            if slope == 0.0 and (samples.scores == end).any():
                raise InputError(
                    f"scores hold {end!r}, and the other samples ask for a slope of 0 towards it, under which the likelihood "
                    "jumps and has no maximum",
                    "use ends='clip', which moves scores inside (0, 1)",
                )
        return FittedMap("beta", (a, b, c))


def _require_maximum(samples: PooledSamples, parameters: str) -> None:
    if parameters == "ab":
        separated = bool((samples.agreement >= 0.0).all() and samples.agreement.any())
    else:
        separated = 0.0 in samples.label_weights or (samples.n_distinct > 1 and samples.are_separated())
    if separated:
        raise InputError(
            "are of one class, or separated by the score, so an ever steeper map is ever more likely and there is no maximum",
            "use PlattScaling or QuadraticScaling, which keep the map finite",
            argument="labels",
        )


def _most_likely(inside: PooledSamples, parameters: str, clip: float) -> tuple[float, float, float]:
    """(a, b, c) of the most likely map for samples strictly inside (0, 1), or moved there by the clip."""
    has_constant, n_distinct = parameters != "ab", inside.n_distinct

    def slopes_of(features: list[Feature]) -> tuple[Float64s, float]:
        targets = inside.labels.astype(np.float64)
        return maximise(features, targets, inside.weights, intercept=has_constant, increasing=True)

    if not has_constant:
        n_distinct += 1 - bool((inside.scores == 0.5).any())  # 0.5 is where the map is known
    if n_distinct == 1:
        zeros, ones = inside.label_weights
        return (0.0, 0.0, math.log(ones) - math.log(zeros)) if has_constant else (1.0, 1.0, 0.0)
    if parameters == "am" or n_distinct == 2:
        slopes, c = slopes_of([logits(inside.scores, clip)])
        return float(slopes[0]), float(slopes[0]), c
    features = log_features(inside.scores, clip)
    if not has_constant:
        shifted = (Feature(log.values + shift, log.size) for log, shift in zip(features, (LOG_2, -LOG_2), strict=True))
        a, b = slopes_of(list(shifted))[0].tolist()
        return a, b, (a - b) * LOG_2
    # Scores below 1e-16 are all alike to log(1 - s), and those next to 1 may be to log(s): no slope is asked of it then.
    varied = [bool(feature.values.min() < feature.values.max()) for feature in features]
    slopes = np.zeros(2)
    slopes[varied], c = slopes_of([feature for feature, varies in zip(features, varied, strict=True) if varies])
    return (*slopes.tolist(), c)
