"""Numbers that say how good predictions are on test samples: calibration errors, proper scores, sharpness, ranking.

The smooth calibration error of Blasiok & Nakkiran (2023) is among the figures of `fastbin.assess.calibration_tests`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastbin._base.array_types import Bools, Float64s
from fastbin._base.checks import check_alpha
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError
from fastbin.assess.reliability import table_of
from fastbin.assess.samples import N_BINS, Groups, Samples, check_samples, group_samples, grouped_samples
from fastbin.intervals.binomial import special_functions


@shared_docs(grouped_samples.__doc__)
def ece(
    predictions: Any, labels: Any, p: float = 1.0, *, grouping: str = "auto", n_bins: int = N_BINS, sample_weight: Any = None,
    positive: Any = None,
) -> float:  # fmt: skip
    """The plug-in l_p expected calibration error (Gupta & Ramdas 2021, Definition 3, equation (4)).

    The p-th root of the mean of \\|positive rate - mean prediction\\|^p over the test samples' bins.

    Parameters
    ----------
    {predictions}
    {labels}
    p : float in [1, inf]
        Never decreases with p (ibid., Proposition 1); infinity is the largest gap of any bin.
    {grouping}
    {n_bins}
    {sample_weight}
    {positive}

    Returns
    -------
    float in [0, 1]

    {Raises}

    Notes
    -----
    Biased: upwards, because the rates are noisy (``reliability_table(...).chance_level`` says how large it is for calibrated
    predictions, and `squared_ece` has the noise taken out), and downwards where continuous predictions are averaged in bins.
    O(n log n) time, O(n) memory.

    Examples
    --------
    >>> predictions, labels = [0.2] * 9 + [0.8], [1, 0, 0, 0, 1, 0, 0, 1, 0, 1]
    >>> round(ece(predictions, labels), 6), round(ece(predictions, labels, p=2), 6)
    (0.14, 0.141421)
    """
    return table_of(*grouped_samples(predictions, labels, grouping, n_bins, sample_weight, positive), n_bins).ece(p)


@dataclass(frozen=True)
class SquaredEce:
    """A debiased estimate of the squared l_2 calibration error, made by `squared_ece`.

    Attributes
    ----------
    estimate : float
        Sometimes negative, as an unbiased estimate of a number near zero must be.
    standard_error : float
        By the jackknife.
    interval : (float, float)
        For the true squared error; approximate. It need not be symmetric about the estimate, and its ends are in [0, 1].
    alpha : float
        Nominal failure probability of the interval.
    plug_in : float
        The plug-in estimate, biased upwards.
    mass_left_out : float
        Share of the weight in bins of a single sample, whose error is indistinguishable from noise and counts as zero.
    """

    estimate: float
    standard_error: float
    interval: tuple[float, float]
    alpha: float
    plug_in: float
    mass_left_out: float


@shared_docs(grouped_samples.__doc__)
def squared_ece(
    predictions: Any, labels: Any, *, grouping: str = "auto", n_bins: int = N_BINS, sample_weight: Any = None,
    positive: Any = None, alpha: float = 0.1,
) -> SquaredEce:  # fmt: skip
    """The squared l_2 calibration error without the bias of noisy rates (Broecker 2012; Kumar, Liang & Ma 2019, section 5).

    In each bin the square of the mean residual, label - prediction, is replaced by the mean product of two different
    residuals, which is unbiased. For predictions with few values that is (rate - value)^2 - rate (1 - rate) / (count - 1).

    {Parameters}
    alpha : float
        Nominal failure probability of the interval, from 1e-100 to 1/2.

    Returns
    -------
    SquaredEce

    Raises
    ------
    InputError, InputTypeError
        Naming the argument, the first bad position, its value and the remedy; also where no bin holds two samples.

    Notes
    -----
    The estimate is far from normal where the error is about as large as the noise (Sun, Chaudhari, Barnett & Dobriban
    2024), so that an interval of two standard errors misses at its upper end two to five times as often as it should. The
    interval is that of a scaled noncentral chi-square law, whose noncentrality is the error. At alpha = 0.1, where each end
    should miss with probability 0.05, it missed with 0.000 to 0.052 in 24 settings of 20,000 runs each
    (docs/assessment.md). It is approximate: the gaps of the bins are taken as normal. Continuous predictions are averaged
    in bins first, which hides what cancels within a bin. Importance weights enter as in a weighted mean, and the estimate
    is then unbiased up to O(1 / n).

    O(n log n) time, O(n) memory: for the standard error, leaving out one sample changes one bin, in closed form.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> predictions = rng.choice([0.1, 0.3, 0.6], 20000)
    >>> error = squared_ece(predictions, rng.random(20000) < predictions + 0.1)
    >>> round(error.estimate, 4), error.interval[0] < 0.01 < error.interval[1]
    (0.0093, True)
    """
    alpha = check_alpha(alpha)
    return squared_ece_of(*grouped_samples(predictions, labels, grouping, n_bins, sample_weight, positive), alpha)


def squared_ece_of(samples: Samples, groups: Groups, alpha: float) -> SquaredEce:
    """`squared_ece` of samples that are checked and in groups."""
    residuals = samples.labels - samples.predictions
    pairs = PairSums.of(samples, groups, residuals)
    if not pairs.is_known.any():
        raise InputError("every bin holds a single sample, so nothing can be said about its error; take fewer bins")
    total = float(pairs.weights.sum())
    estimate = float(np.dot(pairs.weights, pairs.mean_products())) / total
    variance = jackknife_variance(samples, groups, residuals, pairs)
    plug_in = np.divide(pairs.terms**2, pairs.weights, out=np.zeros(groups.n_bins), where=pairs.weights > 0.0)
    return SquaredEce(
        estimate=estimate,
        standard_error=math.sqrt(variance),
        interval=squared_error_interval(samples, groups, pairs, estimate, alpha),
        alpha=alpha,
        plug_in=float(plug_in.sum()) / total,
        mass_left_out=float(pairs.weights[~pairs.is_known].sum()) / total,
    )


@shared_docs(check_samples.__doc__)
def brier_score(predictions: Any, labels: Any, *, sample_weight: Any = None, positive: Any = None) -> float:
    """The mean squared error of probabilities (Brier 1950).

    Parameters
    ----------
    {predictions}
    {labels}
    {sample_weight}
    {positive}

    Returns
    -------
    float in [0, 1]

    {Raises}

    Examples
    --------
    >>> round(brier_score([0.2, 0.9], [0, 1]), 6)
    0.025
    """
    samples = check_samples(predictions, labels, sample_weight, positive=positive)
    return samples.mean((samples.predictions - samples.labels) ** 2)


@dataclass(frozen=True)
class BrierDecomposition:
    """``score == calibration - sharpness + uncertainty + within``, made by `brier_decomposition`.

    Attributes
    ----------
    score : float
        The Brier score.
    calibration : float
        Mean squared distance of mean prediction and positive rate: the plug-in squared l_2 error. 0 is best.
    sharpness : float
        Variance of the positive rates: how well the bins separate samples. At most the uncertainty, which is best.
    uncertainty : float
        Variance of the labels; no predictor changes it.
    within : float
        The remainder from averaging different predictions in one bin; 0 up to rounding for "values".
    """

    score: float
    calibration: float
    sharpness: float
    uncertainty: float
    within: float


@shared_docs(grouped_samples.__doc__)
def brier_decomposition(
    predictions: Any, labels: Any, *, grouping: str = "auto", n_bins: int = N_BINS, sample_weight: Any = None,
    positive: Any = None,
) -> BrierDecomposition:  # fmt: skip
    """The Brier score as calibration, sharpness and uncertainty (Murphy 1973; with bins: Stephenson, Coelho & Jolliffe 2008).

    {Parameters}

    Returns
    -------
    BrierDecomposition

    {Raises}

    Notes
    -----
    Calibration and sharpness are plug-in estimates, both biased upwards by the noise of the rates. O(n log n).

    Examples
    --------
    >>> parts = brier_decomposition([0.2] * 9 + [0.8], [1, 0, 0, 0, 1, 0, 0, 1, 0, 1])
    >>> round(parts.calibration - parts.sharpness + parts.uncertainty, 6), round(parts.score, 6)
    (0.22, 0.22)
    """
    return brier_parts_of(*grouped_samples(predictions, labels, grouping, n_bins, sample_weight, positive))


def brier_parts_of(samples: Samples, groups: Groups) -> BrierDecomposition:
    """`brier_decomposition` of samples that are checked and in groups."""
    weights = samples.row_weights
    masses = groups.sums(weights)
    seen = masses > 0.0
    masses = masses[seen]
    rates = groups.sums(weights * samples.labels)[seen] / masses
    centres = groups.sums(weights * samples.predictions)[seen] / masses
    masses = masses / masses.sum()
    base = float(np.dot(masses, rates))
    score = samples.mean((samples.predictions - samples.labels) ** 2)
    calibration = float(np.dot(masses, (rates - centres) ** 2))
    sharp = float(np.dot(masses, (rates - base) ** 2))
    uncertainty = base * (1.0 - base)
    return BrierDecomposition(score, calibration, sharp, uncertainty, score - (calibration - sharp + uncertainty))


@shared_docs(grouped_samples.__doc__)
def sharpness(
    predictions: Any, labels: Any, *, grouping: str = "auto", n_bins: int = N_BINS, sample_weight: Any = None,
    positive: Any = None,
) -> float:  # fmt: skip
    """The variance of the positive rates over the bins: how well the predictions separate samples (Sun, Song & Hero 2023).

    A plug-in estimate of Var E[Y | prediction]. Some software leaves the mean in, sum mass * rate^2, and so reports more.

    {Parameters}

    Returns
    -------
    float in [0, 1/4]

    {Raises}

    Examples
    --------
    >>> round(sharpness([0.2] * 9 + [0.8], [1, 0, 0, 0, 1, 0, 0, 1, 0, 1]), 6)
    0.04
    """
    return brier_parts_of(*grouped_samples(predictions, labels, grouping, n_bins, sample_weight, positive)).sharpness


@shared_docs(brier_score.__doc__)
def log_loss(predictions: Any, labels: Any, *, sample_weight: Any = None, positive: Any = None) -> float:
    """The mean negative log-likelihood, in nats.

    {Parameters}

    Returns
    -------
    float in [0, inf]
        Infinite where a prediction of exactly 0 or 1 was wrong, as happens in bins with one label only. Nothing is
        clipped: `brier_score` is finite for every predictor.

    {Raises}

    Examples
    --------
    >>> round(log_loss([0.2, 0.9], [0, 1]), 6)
    0.164252
    """
    samples = check_samples(predictions, labels, sample_weight, positive=positive)
    with np.errstate(divide="ignore"):
        losses = np.where(samples.labels == 1, -np.log(samples.predictions), -np.log1p(-samples.predictions))
    return samples.mean(losses) + 0.0  # no negative zero


@shared_docs(check_samples.__doc__)
def roc_auc(predictions: Any, labels: Any, *, sample_weight: Any = None, positive: Any = None) -> float:
    """The chance that a random sample with label 1 is ranked above a random one with label 0, ties counting one half.

    Binning makes ties, so it changes this number a little; to rank, sort by bin and, within it, by the score.

    Parameters
    ----------
    predictions : array-like of shape (n,)
        Any finite scores: only their order counts.
    {labels}
    {sample_weight}
    {positive}

    Returns
    -------
    float in [0, 1]
        NaN where only one label occurs.

    {Raises}

    Notes
    -----
    O(n log n).

    Examples
    --------
    >>> roc_auc([0.2, 0.2, 0.8, 0.9], [0, 1, 0, 1])
    0.625
    """
    samples = check_samples(predictions, labels, sample_weight, positive=positive, need_probabilities=False)
    groups = group_samples(samples, "values", 1)
    ones = groups.sums(samples.row_weights * samples.labels)
    zeros = groups.sums(samples.row_weights * (1.0 - samples.labels))
    if ones.sum() == 0.0 or zeros.sum() == 0.0:
        return math.nan
    below = np.cumsum(zeros) - zeros
    return float(np.dot(ones, below + 0.5 * zeros) / (ones.sum() * zeros.sum()))


# ------------------------------------------------------------------------------------------------- pairs of samples


# SciPy finds noncentralities up to 10,000 in every version; from this value on the root of the variable is nearly normal.
LARGE_VALUE = 5000.0


@dataclass(frozen=True)
class PairSums:
    """Per group, the sums from which the mean of e e' over pairs of different samples follows.

    E[e e'] over independent samples of a group is the square of the mean of e, while the square of the *sample* mean also holds
    its variance. A frequency of 3 stands for 3 different samples of weight 1.
    """

    weights: Float64s  # sum of w
    terms: Float64s  # sum of w e
    squares: Float64s  # sum of (w e)^2 over samples: the pairs of a sample with itself
    pairs: Float64s  # sum of w w' over ordered pairs of different samples; 0 where a group has none

    @classmethod
    def of(cls, samples: Samples, groups: Groups, terms: Float64s) -> PairSums:
        """The sums of one term per row over each group. O(n)."""
        weights = samples.row_weights
        self_weights = weights**2 if samples.is_weighted else weights  # that pairs of a sample with itself have in a row
        several = groups.sums(samples.frequencies) > 1.5
        total = groups.sums(weights)
        pairs = np.where(several, total**2 - groups.sums(self_weights), 0.0)
        return cls(total, groups.sums(weights * terms), groups.sums(self_weights * terms**2), pairs)

    @property
    def is_known(self) -> Bools:
        """Groups that have a pair."""
        return self.pairs > 0.0

    def mean_products(self) -> Float64s:
        """The mean of e e' over pairs of different samples; 0 for a group without pairs."""
        products = self.terms**2 - self.squares
        return np.divide(products, self.pairs, out=np.zeros_like(products), where=self.is_known)


def jackknife_variance(samples: Samples, groups: Groups, terms: Float64s, sums: PairSums) -> float:
    """The jackknife variance of the weighted mean of `sums.mean_products`. O(n): leaving out a sample changes one group."""
    n = samples.n_samples
    if n < 2:
        return 0.0
    weight, repetitions = np.ones(len(terms)), samples.row_weights  # of one sample, and how many of them a row stands for
    if samples.is_weighted:
        weight, repetitions = repetitions, weight
    bins = groups.bins
    rest = sums.weights[bins] - weight
    several_left = groups.sums(samples.frequencies)[bins] > 2.5
    left = PairSums(
        weights=rest,
        terms=sums.terms[bins] - weight * terms,
        squares=sums.squares[bins] - (weight * terms) ** 2,
        pairs=np.where(several_left, sums.pairs[bins] - 2.0 * weight * rest, 0.0),
    )
    contributions = sums.weights * sums.mean_products()
    moved = contributions.sum() - contributions[bins] + rest * left.mean_products()
    estimates = moved / (sums.weights.sum() - weight)
    centre = np.average(estimates, weights=repetitions)
    return float((n - 1) / n * np.dot(repetitions, (estimates - centre) ** 2))


def squared_error_interval(
    samples: Samples, groups: Groups, sums: PairSums, estimate: float, alpha: float
) -> tuple[float, float]:
    """Both ends, each of which misses with probability alpha / 2, approximately.

    The plug-in error is the sum over bins of mass times squared gap. The gap of a bin is its true gap plus nearly normal noise,
    so each term is a noncentral chi-square variable of one degree of freedom, scaled by the mean of its noise. Their sum is
    taken for one scaled noncentral chi-square variable with the sum's mean, and a scale c such that its variance is at least
    that of the sum: without errors (Satterthwaite 1946), and with the errors estimated, the sampling of masses
    included. Its noncentrality, times c, is the squared error. The variance of a bin's labels is taken with its rate drawn
    towards 1/2 (Agresti & Coull 1998), so that a bin with one label only still counts as noisy.
    """
    z = -float(special_functions().ndtri(alpha / 2.0))
    known, total = sums.is_known, float(sums.weights.sum())
    weights = np.where(known, sums.weights, 1.0)
    masses, gaps = np.where(known, weights, 0.0) / total, np.where(known, sums.terms / weights, 0.0)
    self_weights = np.where(known, weights**2 - sums.pairs, 0.0)
    variances = np.maximum(gaps**2 - sums.mean_products(), 0.0)
    noise = masses * (variances + _smoothing(samples, groups, weights, self_weights, known, variances, z))
    squares = masses * gaps**2
    plug_in, expected = float(squares.sum()), float(noise.sum())
    scale = float(np.dot(noise, noise)) / expected
    if plug_in > 0.0:
        own_weights = float(np.where(known, self_weights, sums.weights**2).sum())
        of_masses = own_weights / total**2 * float(np.dot(masses, (gaps**2 - plug_in) ** 2))
        scale = max(scale, (float(np.dot(noise, squares)) + of_masses / 4.0) / plug_in)
    freedom = expected / scale
    lower = _noncentrality((estimate + expected) / scale, freedom, 1.0 - alpha / 2.0, z)
    # An estimate below 0 is noise; the upper end is that of an estimate of 0.
    upper = _noncentrality((max(estimate, 0.0) + expected) / scale, freedom, alpha / 2.0, -z)
    return scale * lower, min(1.0, scale * upper)


def _smoothing(
    samples: Samples, groups: Groups, weights: Float64s, self_weights: Float64s, known: Bools, variances: Float64s, z: float
) -> Float64s:
    """The variance that a bin's mean residual gains where its rate is drawn towards 1/2 with z^2 samples.

    Where no residual varies, as certain predictions are all right, that is all of the variance of the drawn rate.
    """
    rates = groups.sums(samples.row_weights * samples.labels) / weights
    sizes = np.where(known, weights**2 / np.where(known, self_weights, 1.0), 2.0)
    drawn = (rates * sizes + z * z / 2.0) / (sizes + z * z)
    counted = np.where(variances > 0.0, rates * (1.0 - rates), 0.0)
    added = np.maximum(drawn * (1.0 - drawn) - counted, 0.0)
    return np.where(known, added / np.maximum(sizes - 1.0, 1.0), 0.0)


def _noncentrality(value: float, freedom: float, probability: float, z: float) -> float:
    """The noncentrality at which a chi-square variable stays at or below `value` with this probability; 0 if there is none."""
    special = special_functions()
    if special.chdtr(freedom, value) <= probability:
        return 0.0
    if value <= LARGE_VALUE:
        return float(special.chndtrinc(value, freedom, probability))
    noncentrality = value
    for _ in range(20):  # the deviation of the root hardly depends on the noncentrality
        deviation = math.sqrt((freedom + 2.0 * noncentrality) / (2.0 * (freedom + noncentrality)))
        noncentrality = max(0.0, (math.sqrt(value) - z * deviation) ** 2 - (freedom - 1.0))
    return noncentrality
