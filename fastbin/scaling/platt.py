"""Platt scaling: a logistic map of the score, or of its logit."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from fastbin._base.checks import ScoreRange, check_choice, check_score_range
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError, by_name
from fastbin.scaling.likelihood import Feature
from fastbin.scaling.maps import ENDS, FittedMap, SmoothMap
from fastbin.scaling.maximum import maximise
from fastbin.scaling.samples import PooledSamples, logits


@shared_docs(SmoothMap.__doc__)
@dataclass(eq=False, repr=False)
class PlattScaling(SmoothMap):
    """Platt scaling: ``1 / (1 + exp(a f + c))`` of a feature f of the score, fitted by maximum likelihood.

    Parameters
    ----------
    smooth_labels : bool
        Platt's targets (N1 + 1) / (N1 + 2) and 1 / (N0 + 2) in place of 1 and 0, for N1 and N0 samples with label 1 and 0 (or
        their weights). They keep the map finite where the labels are separated by the score.
    feature : {"score", "logit"}
        The score itself, or log(s / (1 - s)). Papers differ, and so do the maps: Gupta & Ramdas 2021 apply it to the
        probability of a logistic regression. "logit" makes it beta scaling with equal slopes.
    score_range : (low, high) or None
        Where scores must lie; ``None`` takes any finite score, such as margins. "logit" needs [0, 1].
    {ends}

    Attributes
    ----------
    model_ : BinnedModel
        Of kind "smooth".
    a_, c_ : float
        In Platt's sign convention: a_ is negative where labels rise with the score.

    Notes
    -----
    No certificate: no one-to-one map of the score has a distribution-free guarantee (Gupta, Podkopaev & Ramdas 2020, Theorem
    3). Labels that fall with the score give a decreasing map, a_ > 0; bins behind such a map are refused.

    Constant scores, or smoothed labels of one class, give slope 0 and the mean target. Without smoothing, labels that some
    score separates (or of one class) leave the likelihood without a maximum and are refused. Scores of exactly 0 or 1 have no
    logit: with ends="refuse" and feature="logit" they are refused, and at prediction the map takes its limits there, 0 and 1.

    Time O(n log n), memory a few arrays of n doubles.

    References
    ----------
    .. [1] J. Platt, "Probabilistic outputs for support vector machines and comparisons to regularized likelihood methods",
       Advances in Large Margin Classifiers, 1999.

    Examples
    --------
    >>> import fastbin as fb
    >>> cal = fb.PlattScaling(score_range=None).fit([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0], [0, 0, 1, 0, 1, 1])
    >>> round(cal.a_, 6), round(cal.c_, 6)
    (-0.53551, 0.267755)
    >>> cal.predict([0.5]).round(4)
    array([0.5])
    """

    _: KW_ONLY
    smooth_labels: bool = True
    feature: str = "score"
    score_range: tuple[float, float] | None = (0.0, 1.0)
    ends: str = "clip"

    _scheme = "platt"

    @property
    def a_(self) -> float:
        """The slope, in Platt's sign: negative for an increasing map."""
        return 0.0 - self.model_.map[1][0]

    @property
    def c_(self) -> float:
        """The constant, in Platt's sign."""
        _, parameters = self.model_.map
        return 0.0 - parameters[1 if self.feature == "score" else 2]

    def _check_configuration(self) -> ScoreRange:
        feature = check_choice(self.feature, "feature", ("score", "logit"))
        check_choice(self.ends, "ends", ENDS)
        score_range = check_score_range(self.score_range)
        if feature == "logit" and score_range != (0.0, 1.0):
            remedy = "feature='logit' needs probabilities, score_range=(0.0, 1.0)"
            raise InputError(f"is {score_range}", remedy, argument="score_range", value=score_range)
        return score_range

    def _fitted(self, samples: PooledSamples, scores: Any, labels: Any) -> FittedMap:
        clip = samples.half_step if self.feature == "logit" and self.ends == "clip" else 0.0
        if clip:
            samples = samples.with_ends(clip)
        elif self.feature == "logit":
            _refuse_ends(scores, samples)
        if not self.smooth_labels:
            _require_overlap(samples)
        slope, constant = self._line(samples, clip)
        if self.feature == "score":
            return FittedMap("logistic", (slope, constant))
        return FittedMap("beta", (slope, slope, constant), clip)

    def _line(self, samples: PooledSamples, clip: float) -> tuple[float, float]:
        """Slope and constant. The targets of the labels, and what they leave to 1, are written out so that nothing cancels."""
        n_zeros, n_ones = samples.label_weights
        of_one, of_zero = (1.0, 0.0), (0.0, 1.0)
        if self.smooth_labels:
            of_one = (n_ones + 1.0) / (n_ones + 2.0), 1.0 / (n_ones + 2.0)
            of_zero = 1.0 / (n_zeros + 2.0), (n_zeros + 1.0) / (n_zeros + 2.0)
        both = list(zip(of_one, of_zero, strict=True))
        if samples.n_distinct == 1 or n_zeros == 0.0 or n_ones == 0.0:
            ones, zeros = (n_ones * for_one + n_zeros * for_zero for for_one, for_zero in both)
            return 0.0, math.log(ones) - math.log(zeros)
        targets, complements = (np.where(samples.labels == 1, for_one, for_zero) for for_one, for_zero in both)
        feature = Feature.of(samples.scores) if self.feature == "score" else logits(samples.scores, clip)
        slopes, constant = maximise(
            [feature], targets, samples.weights, intercept=True, increasing=False, complements=complements
        )
        return float(slopes[0]), constant


def _refuse_ends(scores: Any, samples: PooledSamples) -> None:
    for end in (0.0, 1.0):
        if (samples.scores == end).any():
            position = int(np.argmax(np.asarray(scores, np.float64).ravel() == end))
            raise InputError(
                f"is {end!r}, whose logit is infinite",
                ("use ends='clip', which moves scores inside (0, 1), or ", by_name("feature", "score")),
                argument="scores",
                at=position,
                value=end,
            )


def _require_overlap(samples: PooledSamples) -> None:
    n_zeros, n_ones = samples.label_weights
    if n_zeros == 0.0 or n_ones == 0.0:
        remedy = "use smooth_labels=True, or samples of both classes"
        raise InputError(f"are all {int(n_ones > 0.0)}, so the likelihood has no maximum", remedy, argument="labels")
    if samples.n_distinct > 1 and (samples.are_separated() or samples.are_separated(falling=True)):
        problem = "are separated by the score, so an ever steeper map is ever more likely and there is no maximum"
        raise InputError(problem, "use smooth_labels=True", argument="labels")
