"""The smooth maps, the fit that they share, and the demand that they increase."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.checks import (
    UNIT,
    ScoreRange,
    as_scores,
    check_choice,
    check_flag,
    check_labels,
    check_sample_weight,
    check_score_range,
    compare_labels,
    event_of,
)
from fastbin._base.dependencies import needed_for
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError, InputTypeError, NotFittedError, by_name
from fastbin._base.frames import check_same_index
from fastbin._base.suspicions import are_hard_labels, around_the_median
from fastbin._core.fit import logistic_terms
from fastbin._fit.calibrator import Calibrator
from fastbin.model import BinnedModel
from fastbin.scaling.likelihood import SMALLEST, Feature, PooledSamples, check_samples, log_features, logits, maximise
from fastbin.scaling.value_maps import MapCells, fit_map

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
    """A smooth map: samples are checked and pooled, and the model is a map alone.

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
            Naming the argument, the first bad position, its value, and the remedy; or saying why no map is the most likely.

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
        halves = around_the_median(column, check_labels(labels) == 1, frequencies)
        self._warn_of_rows(*halves, are_hard_labels(column), 2)
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


# ------------------------------------------------------------------ Platt


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
        word, parameters = self.model_.map
        return 0.0 - parameters[1 if word == "logistic" else 2]

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
        if not check_flag(self.smooth_labels, "smooth_labels"):
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
        problem = "are separated by the score, so an ever steeper map is ever more likely, without a maximum"
        raise InputError(problem, "use smooth_labels=True", argument="labels")


# ------------------------------------------------------------------ temperature


# The greatest logarithm of the temperature.
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
        """The divisor of logits."""
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

    if len(agreement) == n_scores and not agreement.any():
        return 1.0, None
    size = np.abs(agreement).max(initial=0.0)
    shares, relative = weights / weights.max(initial=0.0), agreement / max(size, SMALLEST)
    columns, zeros = agreement[np.newaxis], np.zeros(len(agreement))

    def slope(log_factor: float) -> float:
        _, residuals, _ = logistic_terms(columns, zeros, shares, np.exp([log_factor]), 0.0)
        return -float((residuals * relative).sum())

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


# ------------------------------------------------------------------ beta


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
            "are of one class, or separated by the score, so an ever steeper map is ever more likely, without a maximum",
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


# ------------------------------------------------------------------ maps with a ridge


@dataclass(eq=False, repr=False)
class QuadraticScaling(SmoothMap):
    """Quadratic scaling: ``1 / (1 + exp(-(p0 + p1 z + p2 z^2)))`` of the logit z of the score, with a ridge.

    Attributes
    ----------
    model_ : BinnedModel
        Of kind "smooth", with map "quadratic".

    Notes
    -----
    Takes probabilities in [0, 1], which are moved into [h, 1 - h] first, with half a step h = 0.5 / (n + 1); h is part of the
    model. No certificate: no one-to-one map of the score has a distribution-free guarantee (Gupta, Podkopaev & Ramdas 2020,
    Theorem 3).

    Every fit succeeds: what is minimised is the logistic loss plus 2 (p0^2 + (p1 - 1)^2 + p2^2), a pull of four rows' weight
    towards the map that changes nothing, so that labels of one class, or separated by the score, have a map too. It is the same
    map as ``values="quadratic"`` of a model with fine values, fitted to the rows themselves. The parabola may turn, and the map
    then falls on one side. Float weights are scaled to add up to the number of rows.

    Time O(n log n), memory about ten arrays of n doubles.

    Examples
    --------
    >>> import fastbin as fb
    >>> cal = fb.QuadraticScaling().fit([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0, 0, 1, 0, 1, 1])
    >>> cal.predict([0.0, 0.5, 1.0]).round(3)
    array([0.059, 0.5  , 0.941])
    """

    _scheme = "quadratic"

    def _fitted(self, samples: PooledSamples, scores: Any, labels: Any) -> FittedMap:
        _, parameters = fit_map("quadratic", _cells(samples))
        return FittedMap("quadratic", tuple(parameters.tolist()), samples.half_step)


@dataclass(eq=False, repr=False)
class SplineScaling(SmoothMap):
    """Spline scaling: ``1 / (1 + exp(-g(z)))`` of the logit z of the score, g a natural cubic spline, with a ridge.

    Attributes
    ----------
    model_ : BinnedModel
        Of kind "smooth", with map "spline" and its ``knots``: position, logit and second derivative at each.

    Notes
    -----
    Takes probabilities in [0, 1], which are moved into [h, 1 - h] first, with half a step h = 0.5 / (n + 1); h is part of the
    model. No certificate: no one-to-one map of the score has a distribution-free guarantee (Gupta, Podkopaev & Ramdas 2020,
    Theorem 3).

    The knots are the .05, .275, .5, .725 and .95 quantiles of the logits; where fewer than three of them are apart, the map is
    a beta map. Every fit succeeds: a ridge draws the line of the spline towards the map that changes nothing with four rows'
    weight, less where it lies far from there, and what is not linear towards 0 with one row's. It is the same map as
    ``values="spline"`` of a model with fine values, fitted to the rows themselves. It may fall where the labels do. Float
    weights are scaled to add up to the number of rows.

    Time O(n log n), memory about fifteen arrays of n doubles.

    Examples
    --------
    >>> import fastbin as fb
    >>> cal = fb.SplineScaling().fit([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0, 0, 1, 0, 1, 1])
    >>> cal.predict([0.0, 0.5, 1.0]).round(3)
    array([0.063, 0.51 , 0.977])
    >>> cal.model_.knots.shape
    (5, 3)
    """

    _scheme = "spline"

    def _fitted(self, samples: PooledSamples, scores: Any, labels: Any) -> FittedMap:
        _, found = fit_map("spline", _cells(samples))
        if found.ndim == 2:
            return FittedMap("spline", (), samples.half_step, found)
        c, a, b = found.tolist()
        return FittedMap("beta", (a, b, c), samples.half_step)


def _cells(samples: PooledSamples) -> MapCells:
    """A cell for each distinct score; those that the clip makes equal are one."""
    moved = samples.with_ends(samples.half_step)
    scores, places = np.unique(moved.scores, return_inverse=True)
    of_labels: list[Float64s] = []
    for label in (0, 1):
        chosen = moved.labels == label
        of_labels.append(np.zeros(len(scores)))
        of_labels[label][places[chosen]] = moved.weights[chosen]  # a score stands once under each label
    scale = samples.n_samples / float(moved.weights.sum())
    zeros, ones = of_labels[0] * scale, of_labels[1] * scale
    return MapCells(scores, zeros + ones, ones, samples.n_samples, (0.0, 1.0))
