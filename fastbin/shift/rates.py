"""How frequent label 1 is in a population: from labels, or from scores alone under label shift.

Label shift says that P(score | label) is the same at source and target, and only P(label) moves (Sun, Song & Hero 2023,
Definition 7). A binned source model with its tally knows P(bin | label), so the shares of the bins among unlabelled target
scores tell the target's rate: the shares are rate P(bin | 1) + (1 - rate) P(bin | 0).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s, Int64s
from fastbin._base.checks import (
    as_scores,
    check_alpha,
    check_count,
    check_labels,
    check_same_length,
    check_sample_weight,
    check_scores,
    check_seed,
    check_unit_interval,
)
from fastbin._base.errors import InputError
from fastbin._base.frames import check_same_index
from fastbin._fit.calibrator import Calibrator
from fastbin._fit.tally import check_per_bin
from fastbin.guarantees.evidence import is_stratified, weighed
from fastbin.intervals import clopper_pearson
from fastbin.intervals.binomial import as_doubles, halved
from fastbin.model import BinnedModel
from fastbin.model_set import as_model


class RateEstimate(NamedTuple):
    """An estimate of P(Y = 1) and an interval for it.

    Attributes
    ----------
    rate : float
        In [0, 1], the ends included.
    lower, upper : float
        Exact for "labels", a percentile bootstrap, so approximate, for "likelihood" and "confusion", and the rate itself for
        "known". `LabelShift` gives an exact one for "likelihood" and "confusion", too, where cuts are fixed.
    method : {"labels", "likelihood", "confusion", "known"}
        Where it comes from.
    n_samples : int
        The target samples it rests on.
    is_exact : bool
        Whether the interval holds at any sample sizes; not for a bootstrap.
    """

    rate: float
    lower: float
    upper: float
    method: str
    n_samples: int
    is_exact: bool = False


def rate_from_labels(labels: Any, *, alpha: float = 0.1, positive: Any = None) -> RateEstimate:
    """The share of label 1 among target labels, with its exact interval (Clopper & Pearson 1934).

    Parameters
    ----------
    labels : array-like of shape (n,)
        0 and 1; at least one.
    alpha : float
        Failure probability of the interval, from 1e-100 to 1/2.
    positive : optional
        The label that counts as 1, where labels are two values other than 0 and 1, such as "yes".

    Returns
    -------
    RateEstimate

    Raises
    ------
    InputError, InputTypeError
        When labels are missing, or one that is not 0 or 1.

    Examples
    --------
    >>> rate_from_labels([1] * 10 + [0] * 90).rate
    0.1
    """
    checked = check_labels(labels, positive=positive)
    if checked.shape[0] == 0:
        remedy = "give target labels, or estimate the rate from scores with rate_by_likelihood"
        raise InputError("is empty", remedy, argument="labels")
    return rate_from_counts(checked.shape[0], int(checked.sum(dtype=np.int64)), alpha)


def rate_from_counts(n_samples: int, n_positive: int, alpha: float) -> RateEstimate:
    """The same from the number of target labels, at least one, and the number of those that are 1."""
    lower, upper = clopper_pearson([n_positive], [n_samples], check_alpha(alpha))[0]
    return RateEstimate(n_positive / n_samples, float(lower), float(upper), "labels", n_samples, True)


def source_rate_of(model: BinnedModel | Calibrator) -> float:
    """The share of label 1 among all samples that a model was fitted to.

    Parameters
    ----------
    model : BinnedModel or fitted calibrator

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    InputError, InputTypeError
        When the model does not know: it carries no samples, or importance weights, under which rows are not the population.
        For anything but a model.

    Examples
    --------
    >>> import fastbin as fb
    >>> cal = fb.UniformMassBinning(n_bins=2).fit([0.1, 0.2, 0.6, 0.7], [0, 0, 0, 1])
    >>> source_rate_of(cal.model_)
    0.25
    """
    model = as_model(model)
    if model.is_weighted:
        remedy = "give source_rate"
        raise InputError("the model was fitted with importance weights, so its rows do not show the class rates", remedy)
    if getattr(model, "pool_counts", None) is not None:
        remedy = "give source_rate"
        raise InputError("a plan chose the labelled rows bin by bin, so that they do not show the class rates", remedy)
    if model.n_samples == 0:
        raise InputError("the model does not say how many samples it was fitted to", "give source_rate")
    return model.n_positive / model.n_samples


def check_rate(rate: Any, name: str) -> float:
    """A class rate: strictly between 0 and 1."""
    return check_unit_interval(rate, name, open_left=True, open_right=True)


# ------------------------------------------------------------------------------------------------- by likelihood


Masses = tuple[Float64s, Float64s]  # P(bin | 1) and P(bin | 0), each up to one factor
Estimate = Callable[[Masses, Float64s], Float64s]  # from them and the counts of bins at the target

# Bisection on the derivative of a concave function: 2^-60 is below the spacing of doubles in [1/2, 1].
HALVINGS = 60
# Entries of one block of bootstrap tables.
BLOCK_ENTRIES = 2**22


def maximum_likelihood_rate(posteriors: Any, source_rate: float, *, counts: Any = None) -> float:
    """The target rate of label 1 that makes target posteriors most likely (Saerens, Latinne & Decaestecker 2002).

    Maximises sum_i counts_i ln(q z_i / p + (1 - q)(1 - z_i) / (1 - p)) over the rate q in [0, 1], for posteriors z that are
    calibrated at the source rate p. EM climbs to the same maximum; as the function is concave, the root of its derivative is
    bisected instead: no starting value, no stopping rule, and a maximum at 0 or 1 is found exactly.

    Parameters
    ----------
    posteriors : array-like of float in [0, 1], shape (n,)
        P_source(Y = 1 | score) for each target sample, or for each bin.
    source_rate : float in (0, 1)
    counts : array-like of float, shape (n,), optional
        How many samples have this posterior; 1 each by default.

    Returns
    -------
    float
        In [0, 1]. `source_rate` where every posterior equals it: all rates are as likely then, and EM would stay there.

    Raises
    ------
    InputError, InputTypeError
        When a posterior is outside [0, 1], a count negative, or the lengths differ.

    Notes
    -----
    O(60 n).

    Examples
    --------
    >>> round(maximum_likelihood_rate([0.9, 0.8, 0.2, 0.1, 0.05, 0.3, 0.02], 0.5), 4)
    0.1976
    """
    z, p = check_scores(posteriors, name="posteriors").astype(np.float64), check_rate(source_rate, "source_rate")
    shares = np.ones_like(z) if counts is None else check_sample_weight(counts, "counts")
    assert shares is not None
    if check_same_length(posteriors=z, counts=shares) == 0:
        raise InputError("is empty", "give target samples", argument="posteriors")
    rate = float(_mixture_rates(z / p, (1.0 - z) / (1.0 - p), shares)[0])
    return p if np.isnan(rate) else rate


def _mixture_rates(ones: Float64s, zeros: Float64s, shares: Any) -> Float64s:
    """For each row the q in [0, 1] that maximises sum_b shares_b ln(q ones_b + (1 - q) zeros_b).

    Arrays (n_bins,) or (k, n_bins). Bins where `ones` and `zeros` are both 0 or NaN count for nothing. The result is (k,), NaN
    where the two are equal in every bin that counts.
    """
    a, d, t = np.broadcast_arrays(*(np.atleast_2d(np.asarray(part, dtype=np.float64)) for part in (ones, zeros, shares)))
    known = (t > 0.0) & (a + d > 0.0)
    t, a, d = np.where(known, t, 0.0), np.where(known, a, 1.0), np.where(known, d, 1.0)

    def slope(rate: Float64s) -> Float64s:
        with np.errstate(divide="ignore"):  # infinite slopes at the ends, of one sign each
            return np.asarray((t * ((a - d) / (d + rate[:, np.newaxis] * (a - d)))).sum(axis=1))

    low, high = np.zeros(a.shape[0]), np.ones(a.shape[0])
    at_zero, at_one = slope(low) <= 0.0, slope(high) >= 0.0
    low, high = halved(lambda rate: slope(rate) > 0.0, low, high, HALVINGS)
    rates = np.where(at_zero, 0.0, np.where(at_one, 1.0, (low + high) / 2.0))
    return np.where((known & (a != d)).any(axis=1), rates, np.nan)


def rate_by_likelihood(
    model: BinnedModel | Calibrator,
    scores: Any = None,
    *,
    counts: Any = None,
    source_rate: float | None = None,
    alpha: float = 0.1,
    n_bootstrap: int = 1000,
    tie_keys: Any = None,
    seed: int | None = 0,
) -> RateEstimate:
    """The target rate of label 1 by maximum likelihood, from unlabelled target scores.

    The EM of Saerens, Latinne & Decaestecker 2002 on a calibrated model (Alexandari, Kundaje & Shrikumar 2020; Garg, Wu,
    Balakrishnan & Lipton 2020), run over bins: within a bin all samples count alike. Right under label shift alone.

    Parameters
    ----------
    model : BinnedModel or fitted calibrator
        Fitted at the source. Its tally gives P(bin | label); a model without one gives it by its values and `source_rate`.
    scores : array-like of shape (n,)
        Target scores.
    counts : array-like of int, shape (n_bins,), optional
        Instead of scores: how many target scores lie in each bin of the model, as `fastbin.engines.count` counts them where
        they are.
    source_rate : float in (0, 1), optional
        Rate of label 1 that the model's values are calibrated to; needed, and used, only where the model has no tally.
    alpha : float
        One minus the confidence of the bootstrap interval.
    n_bootstrap : int
        Resamples of the interval, at least 1. Target scores and source samples are both drawn anew (source samples of a
        weighted model, or of one without a tally, are kept).
    tie_keys, seed
        Tie keys as in `BinnedModel.predict`; the seed also draws the resamples. ``None`` draws one afresh.

    Returns
    -------
    RateEstimate
        The rate may be exactly 0 or 1. Its interval is approximate: a percentile bootstrap.

    Raises
    ------
    InputError
        When scores are missing, or the model cannot tell the labels apart: all bins that hold target scores have one value.

    Notes
    -----
    O(n + 60 n_bootstrap n_bins) time. Bins that held no source sample say nothing about the label and are left out.

    Examples
    --------
    >>> import numpy as np
    >>> import fastbin as fb
    >>> rng = np.random.default_rng(0)
    >>> labels, target_labels = rng.random(2000) < 0.5, rng.random(2000) < 0.1  # which will not be looked at
    >>> scores, target_scores = (1 / (1 + np.exp(-rng.normal(2.0 * y - 1.0))) for y in (labels, target_labels))
    >>> source = fb.UniformMassBinning(n_bins=8).fit(scores, labels).model_
    >>> estimate = rate_by_likelihood(source, target_scores)
    >>> round(estimate.rate, 3), estimate.lower < 0.1 < estimate.upper
    (0.102, True)
    """

    def estimate(masses: Masses, counts: Float64s) -> Float64s:
        return _mixture_rates(*masses, counts)

    options = RateOptions(source_rate, alpha, n_bootstrap, tie_keys, seed, counts)
    return _estimate_rate("likelihood", estimate, model, scores, options)


# ------------------------------------------------------------------------------------------------- by a confusion matrix


def _as_probabilities(values: Any, shape: tuple[int, ...], name: str) -> Float64s:
    """Numbers from 0 to 1 of this shape."""
    array = as_doubles(values, name, "probabilities")
    if array.shape != shape:
        raise InputError(f"has shape {array.shape}", f"it must be {shape}", argument=name)
    bad = np.flatnonzero(~((array >= 0.0) & (array <= 1.0)))
    if len(bad):
        at = np.unravel_index(bad[0], shape)
        place = int(at[0]) if len(shape) == 1 else (int(at[0]), int(at[1]))
        raise InputError(None, "it must be a probability", argument=name, at=place, value=float(array[at]))
    return array


def confusion_weights(confusion: Any, shares: Any) -> tuple[float, float]:
    """Solve C w = mu for the class weights w = (w0, w1) (black box shift estimation, Lipton, Wang & Smola 2018).

    Parameters
    ----------
    confusion : array-like of float, shape (2, 2)
        C[i][j] = P(predicted i, label j) at the source.
    shares : array-like of float, shape (2,)
        mu[i] = P(predicted i) at the target.

    Returns
    -------
    (w0, w1) : float
        Estimates of P_target(label) / P_source(label). Noise can make one negative.

    Raises
    ------
    InputError, InputTypeError
        For numbers outside [0, 1] or of another shape, and for a singular matrix: the predicted class says nothing about the
        label.

    Examples
    --------
    >>> w0, w1 = confusion_weights([[0.4, 0.1], [0.1, 0.4]], [0.7, 0.3])
    >>> round(w0, 4), round(w1, 4)
    (1.6667, 0.3333)
    """
    matrix, target = _as_probabilities(confusion, (2, 2), "confusion"), _as_probabilities(shares, (2,), "shares")
    (a, b), (c, d) = matrix.tolist()
    determinant = a * d - b * c
    if not abs(determinant) > 1e-12 * max(abs(a * d), abs(b * c), 1e-300):
        raise InputError("is singular: the predicted class is as frequent with label 0 as with label 1", argument="confusion")
    mu0, mu1 = target.tolist()
    return (d * mu0 - b * mu1) / determinant, (a * mu1 - c * mu0) / determinant


def rate_by_confusion(
    model: BinnedModel | Calibrator, scores: Any = None, *, threshold: float | None = None, **options: Any
) -> RateEstimate:
    """The target rate of label 1 by the confusion matrix of a hard classifier (Lipton, Wang & Smola 2018), from scores alone.

    Predicts 1 in bins whose value (of a model of two resolutions their average value) is at least `threshold`, and solves share
    predicted 1 = rate TPR + (1 - rate) FPR. Uses less of the scores than `rate_by_likelihood`, and needs less of the model:
    only that the two rates are right.

    Parameters
    ----------
    model, scores
        As in `rate_by_likelihood`.
    threshold : float in (0, 1), optional
        By default the source rate, which separates some bins from others however rare label 1 is, moved as the values were; 0.5
        is the most likely class.
    **options
        `counts`, `source_rate`, `alpha`, `n_bootstrap`, `tie_keys` and `seed` of `rate_by_likelihood`.

    Returns
    -------
    RateEstimate
        A solution outside [0, 1], which noise can give, is reported as 0 or 1. Its interval is a percentile bootstrap.

    Raises
    ------
    InputError
        When scores are missing, or all bins are predicted alike.

    Notes
    -----
    O(n + n_bootstrap n_bins) time.

    Examples
    --------
    >>> import fastbin as fb
    >>> scores, labels = [0.2] * 10 + [0.8] * 10, [0] * 8 + [1] * 2 + [0] * 2 + [1] * 8
    >>> source = fb.FixedWidthBinning(n_bins=2).fit(scores, labels).model_
    >>> round(rate_by_confusion(source, [0.2] * 70 + [0.8] * 30).rate, 4)  # 0.3 = 0.8 rate + 0.2 (1 - rate)
    0.1667
    """
    model, given = as_model(model), RateOptions(**options)
    if threshold is None:
        rate = _class_masses(model, given.source_rate).rate
        cut = rate * model.odds_ratio / (1.0 - rate + rate * model.odds_ratio)
    else:
        cut = check_unit_interval(threshold, "threshold")
    values = np.asarray(model.bin_values)
    predicted = values >= cut
    if predicted.all() or not predicted.any():
        side = "at least" if predicted.all() else "below"
        problem = f"is {cut:g} and every value of the model is {side} it, so one class is never predicted"
        raise InputError(problem, f"choose one between {values.min():g} and {values.max():g}", argument="threshold")

    def estimate(masses: Masses, counts: Float64s) -> Float64s:
        true_positive, false_positive, shares = (
            part[..., predicted].sum(axis=-1) / part.sum(axis=-1) for part in (*masses, counts)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = (shares - false_positive) / (true_positive - false_positive)
        return np.atleast_1d(np.clip(np.where(np.isfinite(rates), rates, np.nan), 0.0, 1.0))

    return _estimate_rate("confusion", estimate, model, scores, given)


# ------------------------------------------------------------------------------------------------- shared by both


class RateOptions(NamedTuple):
    """The options of both `rate_by_likelihood` and `rate_by_confusion`."""

    source_rate: float | None = None
    alpha: float = 0.1
    n_bootstrap: int = 1000
    tie_keys: Any = None
    seed: int | None = 0
    counts: Any = None


class _ClassMasses(NamedTuple):
    """P(bin | label), the tally's rate, and the counts behind it where it can be resampled."""

    masses: Masses
    rate: float
    cells: Int64s | None  # (2, n_bins): samples with label 1, with label 0


def _class_masses(model: BinnedModel, source_rate: float | None) -> _ClassMasses:
    if model.kind != "step":
        raise InputError(f"the model is {model.kind!r}", "rates are estimated from bins: fit a binning")
    if is_stratified(model):
        problem = "the model is of a plan, which chose how many labels each bin has, so that P(bin | label) is not known"
        raise InputError(problem, "take a model of a random sample, or method='labels' or 'known'")
    if model.counts is None:
        if source_rate is None:
            raise InputError("the model carries no tally, so source_rate, the rate its values are calibrated to, must be given")
        rate = check_rate(source_rate, "source_rate")
        values = np.asarray(model.bin_values)
        return _ClassMasses((values / rate, (1.0 - values) / (1.0 - rate)), rate, None)
    totals, ones = weighed(model)
    zeros = np.maximum(totals - ones, 0.0)
    cells = None if model.is_weighted else np.stack([model.label_sums, model.counts - model.label_sums])
    if not (ones.any() and zeros.any()):
        only = "1" if ones.any() else "0"
        raise InputError(f"the model has seen label {only} alone, so it cannot tell the labels apart")
    ones_total, zeros_total = float(ones.sum()), float(zeros.sum())
    return _ClassMasses((ones / ones_total, zeros / zeros_total), ones_total / (ones_total + zeros_total), cells)


def _estimate_rate(
    method: str, estimate: Estimate, model: BinnedModel | Calibrator, scores: Any, options: RateOptions
) -> RateEstimate:
    alpha, seed = check_alpha(options.alpha), check_seed(options.seed)
    n_bootstrap = check_count(options.n_bootstrap, "n_bootstrap")
    model = as_model(model)
    source = _class_masses(model, options.source_rate)
    counts = target_counts(model, scores, options, seed)
    n = int(counts.sum())
    if n == 0:
        raise InputError(f"{'scores is empty' if options.counts is None else 'counts are all 0'}", "give target scores")
    rate = float(estimate(source.masses, counts.astype(np.float64))[0])
    if np.isnan(rate):
        raise InputError("the bins that hold the target scores say nothing about the label, so the rate cannot be estimated")
    rng = np.random.default_rng(seed)
    step = max(1, BLOCK_ENTRIES // model.n_bins)
    resampled = np.concatenate(
        [_resample(estimate, source, counts, min(step, n_bootstrap - done), rng) for done in range(0, n_bootstrap, step)]
    )
    # A resample that does not determine the rate allows any.
    lower = np.quantile(np.where(np.isnan(resampled), 0.0, resampled), alpha / 2.0)
    upper = np.quantile(np.where(np.isnan(resampled), 1.0, resampled), 1.0 - alpha / 2.0)
    return RateEstimate(rate, float(min(lower, rate)), float(max(upper, rate)), method, n)


def target_counts(model: BinnedModel, scores: Any, options: RateOptions, seed: int) -> Int64s:
    """How many target scores lie in each bin."""
    keys = options.tie_keys
    if options.counts is not None:
        if scores is not None or keys is not None:
            remedy = "give one of the two"
            raise InputError(f"is given, and {'keys' if scores is None else 'scores'} too", remedy, argument="counts")
        return check_per_bin(options.counts, "counts", model.n_bins)
    if scores is None:
        raise InputError("is None", "give target scores, or counts", argument="scores")
    check_same_index(scores=scores, tie_keys=keys)
    bins = model.assign(as_scores(scores), tie_keys=keys, seed=None if keys is not None else seed)
    return np.bincount(bins, minlength=model.n_bins)


def _resample(estimate: Estimate, source: _ClassMasses, counts: Int64s, size: int, rng: np.random.Generator) -> Float64s:
    """`size` estimates from target counts, and source counts where there are any, drawn anew."""
    drawn = rng.multinomial(int(counts.sum()), counts / counts.sum(), size=size).astype(np.float64)
    if source.cells is None:
        return estimate(source.masses, drawn)
    cells = source.cells.ravel()
    ones, zeros = np.split(rng.multinomial(int(cells.sum()), cells / cells.sum(), size=size).astype(np.float64), 2, axis=1)
    with np.errstate(invalid="ignore"):  # a resample without one of the labels gives NaN, which estimates leave out
        return estimate((ones / ones.sum(axis=1, keepdims=True), zeros / zeros.sum(axis=1, keepdims=True)), drawn)
