"""Temperature scaling: the logit divided by one number."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.checks import UNIT, ScoreRange, check_choice, check_score_range
from fastbin._base.dependencies import needed_for
from fastbin._base.docstrings import shared_docs
from fastbin.scaling.likelihood import SMALLEST
from fastbin.scaling.maps import ENDS, FittedMap, SmoothMap
from fastbin.scaling.samples import PooledSamples, logits

# Of the logarithm of the temperature.
BOUND = 10.0


@shared_docs(SmoothMap.__doc__)
@dataclass(eq=False, repr=False)
class TemperatureScaling(SmoothMap):
    """Temperature scaling: the logit of the score divided by a temperature, fitted by maximum likelihood.

    A temperature above 1 draws probabilities towards 0.5, one below 1 away from it; 0.5 stays where it is.

    Parameters
    ----------
    score_range : (low, high) or None
        Where scores must lie. Scores in (0, 1) are probabilities. Any other range, or ``None``, means logits, such as decisions
        of a classifier, which are divided as they are.
    {ends}

    Attributes
    ----------
    model_ : BinnedModel
        Of kind "smooth".
    temperature_ : float
        From exp(-10) to exp(10).

    Notes
    -----
    No certificate: no one-to-one map of the score has a distribution-free guarantee (Gupta,
    Podkopaev & Ramdas 2020, Theorem 3).

    The temperature is kept between exp(-10) and exp(10), scikit-learn's bounds. It is the least, with a warning, where all
    labels agree with the side of 0.5 that their scores are on, as ever lower temperatures are ever more likely then, and the
    greatest where labels do not rise with the score about 0.5. So any rows fit, those of one class too. Scores of 0.5 alone say
    nothing about the temperature, which is then 1. With ends="refuse" a score of exactly 0 or 1 stays there at any temperature:
    with the label that agrees it does not count, with the other label it is refused.

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
    score_range: tuple[float, float] | None = (0.0, 1.0)
    ends: str = "clip"

    _scheme = "temperature"
    _never_falls = True

    @property
    def temperature_(self) -> float:
        """What logits are divided by."""
        return 1.0 / self.model_.map[1][0]

    def _check_configuration(self) -> ScoreRange:
        check_choice(self.ends, "ends", ENDS)
        return check_score_range(self.score_range)

    def _fitted(self, samples: PooledSamples, scores: Any, labels: Any) -> FittedMap:
        are_logits = check_score_range(self.score_range) != UNIT
        clip = samples.half_step if self.ends == "clip" and not are_logits else 0.0
        if are_logits:
            column, inside = samples.scores, samples
        else:
            inside = samples.with_ends(clip) if clip else samples.inside(scores, labels)
            column = logits(inside.scores, clip).values if len(inside.scores) else inside.scores
        slope, at_bound = _inverse_temperature((2.0 * inside.labels - 1.0) * column, inside.weights, len(samples.scores))
        if at_bound is not None:
            self._warn(at_bound, 3)
        return FittedMap("logistic", (slope, 0.0)) if are_logits else FittedMap("beta", (slope, slope, 0.0), clip)


def _inverse_temperature(agreement: Float64s, weights: Float64s, n_scores: int) -> tuple[float, str | None]:
    """The most likely factor of the logits within the bounds, and what to say where it is a bound.

    `agreement` is the logit of the label that was seen. The likelihood is concave in the factor, and its derivative, the mean
    of agreement / (1 + exp(factor agreement)), falls; the root is looked for by its logarithm.
    """
    with needed_for("fits of smooth maps", extra="fit"):
        from scipy.optimize import brentq
        from scipy.special import expit

    if len(agreement) == n_scores and not agreement.any():
        return 1.0, None
    size = np.abs(agreement).max(initial=0.0)
    shares, relative = weights / weights.max(initial=0.0), agreement / max(size, SMALLEST)

    def slope(log_factor: float) -> float:
        with np.errstate(over="ignore", under="ignore"):
            return float((shares * relative * expit(-np.exp(log_factor) * agreement)).sum())

    if (agreement >= 0.0).all() or slope(BOUND) > 0.0:
        return float(np.exp(BOUND)), (
            "ever lower temperatures are ever more likely, as labels agree with the side of 0.5 that their scores are on: the "
            f"temperature is the least that is allowed, exp(-{BOUND:g}), and almost all values are 0 or 1; PlattScaling, whose "
            "smoothed labels keep the map finite, stays inside"
        )
    if slope(-BOUND) <= 0.0:
        return float(np.exp(-BOUND)), (
            "ever higher temperatures are ever more likely, as labels do not rise with the score about 0.5: the temperature is "
            f"the greatest that is allowed, exp({BOUND:g}), and almost all values are 0.5; BetaScaling and PlattScaling may "
            "move 0.5 too"
        )
    return float(np.exp(brentq(slope, -BOUND, BOUND, xtol=2.0**-50, rtol=2.0**-50))), None
