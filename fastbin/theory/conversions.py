"""From a calibrated predictor to intervals and back, and from intervals to prediction sets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from fastbin._base.array_types import Bools, Float64s
from fastbin._base.checks import (
    check_count,
    check_flag,
    check_labels,
    check_level,
    check_same_length,
    check_scores,
    check_unit_interval,
    refuse_first,
)
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import GuaranteeError, InputError, InputTypeError
from fastbin._base.frames import check_same_index
from fastbin.guarantees.certify import SHARE_OF_MASSES
from fastbin.guarantees.evidence import Evidence, as_evidence, refuse_whole_ties, require_interior
from fastbin.guarantees.intervals import bin_sets, rarities, rational
from fastbin.intervals import clopper_pearson
from fastbin.intervals.binomial import around, as_doubles, as_sums, as_tally


def _as_intervals(intervals: Any) -> Float64s:
    try:
        array = np.asarray(intervals, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"is not an array of numbers: {error}", argument="intervals") from error
    if array.ndim != 2 or array.shape[1] != 2:
        raise InputTypeError(f"must have one row (lower, upper) each, got shape {array.shape}", argument="intervals")
    bad = ~((array[:, 0] >= 0.0) & (array[:, 0] <= array[:, 1]) & (array[:, 1] <= 1.0))
    remedy = "it must satisfy 0 <= lower <= upper <= 1"
    refuse_first(bad, "intervals", array[:, 0], remedy, lambda i: f"is ({array[i, 0]}, {array[i, 1]})")
    return array


def intervals_from_calibrated(values: Any, epsilon: float) -> Float64s:
    """The intervals value +- epsilon, cut to [0, 1] (Gupta, Podkopaev & Ramdas 2020, Theorem 1, equation (12)).

    If the predictor that gave the values is (epsilon, alpha)-calibrated, the interval of a sample's value holds its true
    frequency E[Y | value] with probability at least 1 - alpha.

    Parameters
    ----------
    values : array-like of float in [0, 1], shape (n,)
        Predicted probabilities. May be empty.
    epsilon : float
        In [0, 1].

    Returns
    -------
    ndarray of float64, shape (n, 2)
        Lower and upper ends in [0, 1].

    Raises
    ------
    InputError, InputTypeError
        When a value is NaN or outside [0, 1], or epsilon is.

    Examples
    --------
    >>> intervals_from_calibrated([0.05, 0.5], epsilon=0.1)
    array([[0.  , 0.15],
           [0.4 , 0.6 ]])
    """
    centres = check_scores(values, name="values").astype(np.float64)
    radius = check_unit_interval(epsilon, "epsilon")
    return around(centres, radius)


def calibrated_from_intervals(intervals: Any, *, simultaneous: bool = False) -> tuple[Float64s, float]:
    """The midpoint predictor and its epsilon (Gupta, Podkopaev & Ramdas 2020, Theorem 1, equation (14)).

    Parameters
    ----------
    intervals : array-like of float, shape (n, 2)
        One interval for each level of the predictor (for a binned model: each bin), with 0 <= lower <= upper <= 1.
    simultaneous : bool
        True: the intervals cover at all levels at once with probability 1 - alpha. False: each level's interval covers with
        probability 1 - alpha, averaged over samples.

    Returns
    -------
    midpoints : ndarray of float64, shape (n,)
        The predictor that is (epsilon, alpha)-calibrated.
    epsilon : float
        The largest half-width.

    Raises
    ------
    GuaranteeError
        When two levels have one midpoint and the intervals are not simultaneous. The theorem as printed is false then: with
        levels z1, z2 of mass 1 - alpha and alpha, frequencies 0 and 1, and the interval [0, 0] at both, intervals cover with
        probability 1 - alpha, but the midpoint predictor is 0 everywhere, epsilon is 0, and the true frequency is alpha.
    InputError, InputTypeError
        When an interval is not inside [0, 1] or is upside down, or there is none.

    Examples
    --------
    >>> midpoints, epsilon = calibrated_from_intervals([[0.1, 0.3], [0, 0.05], [0.6, 1]])
    >>> midpoints, round(epsilon, 3)
    (array([0.2  , 0.025, 0.8  ]), 0.2)
    """
    array = _as_intervals(intervals)
    if array.shape[0] == 0:
        raise InputError("is empty", "give one interval for each level", argument="intervals")
    midpoints = (array[:, 0] + array[:, 1]) / 2.0
    if not check_flag(simultaneous, "simultaneous"):
        order = np.argsort(midpoints, kind="stable")
        equal = np.flatnonzero(np.diff(midpoints[order]) == 0.0)
        if equal.size:
            one, other = sorted((int(order[equal[0]]), int(order[equal[0] + 1])))
            raise GuaranteeError(
                f"intervals[{one}] and intervals[{other}] have one midpoint, {midpoints[one]}, and Gupta, Podkopaev & Ramdas "
                "2020, Theorem 1 does not hold when midpoints merge levels; give intervals that cover all levels at once "
                "(simultaneous=True), or make the midpoints distinct"
            )
    return midpoints, float(np.max(array[:, 1] - array[:, 0]) / 2.0)


def sets_from_intervals(intervals: Any, *, non_atomic: bool) -> Bools:
    """Which of the labels 0 and 1 lie in each interval (Gupta, Podkopaev & Ramdas 2020, Theorem 2).

    For intervals that a distribution-free procedure gives for E[Y | f(X)], the labels in them are a prediction set of
    coverage 1 - alpha for every distribution under which f(X) has no atoms: where each score occurs once, E[Y | f(X)] cannot be
    distinguished from the label. A binned predictor has only atoms: its narrow intervals contain neither 0 nor 1, so the sets
    would be empty. The claim is false for it, and it is refused. Use `conformal_sets` or `fastbin.guarantees.bin_sets`.

    Parameters
    ----------
    intervals : array-like of float, shape (n, 2)
        The intervals of n samples, with 0 <= lower <= upper <= 1.
    non_atomic : bool
        Whether the predictor's values have a distribution without atoms. Has no default: the theorem depends on it.

    Returns
    -------
    ndarray of bool, shape (n, 2)
        Is 0 in the set, is 1 in the set. Rows may be (False, False).

    Raises
    ------
    GuaranteeError
        When `non_atomic` is false, or `intervals` is a binned model.
    InputError, InputTypeError
        When an interval is not inside [0, 1] or is upside down.

    Examples
    --------
    >>> sets_from_intervals([[0, 0.4], [0.2, 1], [0.1, 0.9], [0, 1]], non_atomic=True)
    array([[ True, False],
           [False,  True],
           [False, False],
           [ True,  True]])
    """
    if not check_flag(non_atomic, "non_atomic") or hasattr(intervals, "label_sums") or hasattr(intervals, "model_"):
        raise GuaranteeError(
            "Gupta, Podkopaev & Ramdas 2020, Theorem 2 is about scores without atoms, and a binned predictor has only atoms: "
            "its intervals would give sets that do not cover; use conformal_sets, or bin_sets for a fitted model"
        )
    array = _as_intervals(intervals)
    return np.stack([array[:, 0] == 0.0, array[:, 1] == 1.0], axis=1)


# ------------------------------------------------------------------------------------------------- split conformal sets


def conformal_rank(n: int, alpha: Any) -> int:
    """The rank of the conformal threshold among n nonconformities: ceil((n + 1) (1 - alpha)), exactly.

    Parameters
    ----------
    n : int
        Number of calibration samples.
    alpha : float, Fraction or str
        Failure probability, strictly between 0 and 1. A float stands for the decimal it prints as; a str may be "1/20".

    Returns
    -------
    int
        From 1 to n + 1; n + 1 means that every label is in every set.

    Raises
    ------
    InputError, InputTypeError
        When n is not an integer of at least 0, or alpha is out of range or not a number.

    Examples
    --------
    >>> conformal_rank(9, 0.7), math.ceil((9 + 1) * (1 - 0.7))
    (3, 4)
    """
    return math.ceil((check_count(n, "n", minimum=0) + 1) * (1 - rational(alpha, large=True)))


def _nonconformity(scores: Float64s) -> tuple[npt.NDArray[np.complex128], npt.NDArray[np.complex128]]:
    """Score and 1 - score, for labels 0 and 1, exactly: a rounded number and its error as real and imaginary part.

    Complex numbers sort by real, then by imaginary part, so such a pair is one exact number to `sort` and `searchsorted`.
    """
    difference = 1.0 - scores
    error = -scores - (difference - 1.0)
    return scores.astype(np.complex128), difference + 1j * error


def conformal_sets(
    scores: Any,
    calibration_scores: Any,
    calibration_labels: Any,
    alpha: Any = 0.1,
    *,
    class_conditional: bool = False,
    uniforms: Any = None,
) -> Bools:
    """Split conformal prediction sets for binary labels, with exact finite-sample coverage.

    The nonconformity of a label is 1 minus its probability under the score: 1 - score for label 1, score for label 0. A label
    is in the set when its nonconformity is at most the `conformal_rank`-th smallest of the calibration samples. If the
    calibration samples and the next one are exchangeable, and the score was trained on other data, the set holds the next
    label with probability at least 1 - alpha (Vovk, Gammerman & Shafer 2005), for any score, calibrated or not.

    Parameters
    ----------
    scores : array-like of float in [0, 1], shape (n,)
        Scores to be given sets. May be empty.
    calibration_scores : array-like of float in [0, 1], shape (n_calibration,)
        May be empty: then every set is {0, 1}.
    calibration_labels : array-like of 0 and 1, shape (n_calibration,)
    alpha : float, Fraction or str
        Failure probability, from 1e-100 to 1/2. A float stands for the decimal it prints as.
    class_conditional : bool
        Compare each label with the calibration samples of that label alone: the set then holds the label with probability
        1 - alpha given that it is 0, and given that it is 1. Sets are larger, above all for a rare label.
    uniforms : array-like of float in [0, 1), shape (n,), optional
        One uniform number per row, independent of everything else: break ties at random, so that coverage is 1 - alpha
        exactly and sets are smaller. None: conservative.

    Returns
    -------
    ndarray of bool, shape (n, 2)
        Is 0 in the set, is 1 in the set. Rows may be (False, False) where alpha is large.

    Raises
    ------
    InputError, InputTypeError
        When a score is NaN or outside [0, 1], a label is not 0 or 1, lengths differ, or alpha is out of range.

    Notes
    -----
    Ranks in integers and rationals, nonconformities compared exactly. O((n + n_calibration) log n_calibration).

    Examples
    --------
    >>> scores, labels = [0.1, 0.4, 0.35, 0.8, 0.65, 0.9, 0.2, 0.55, 0.7], [0, 0, 1, 1, 1, 1, 0, 0, 0]
    >>> conformal_sets([0.05, 0.5, 0.95], scores, labels, alpha=0.2)
    array([[ True, False],
           [ True,  True],
           [False,  True]])
    """
    level, class_conditional = rational(alpha), check_flag(class_conditional, "class_conditional")
    new = check_scores(scores).astype(np.float64)
    check_same_index(calibration_scores=calibration_scores, calibration_labels=calibration_labels)
    seen = check_scores(calibration_scores, name="calibration_scores").astype(np.float64)
    labels = check_labels(calibration_labels, "calibration_labels")
    check_same_length(calibration_scores=seen, calibration_labels=labels)
    if uniforms is not None:
        draws = as_doubles(uniforms, "uniforms", "numbers in [0, 1)")
        if draws.shape != new.shape:
            remedy = "every row needs one number"
            raise InputError(f"has shape {draws.shape} for {len(new)} scores", remedy, argument="uniforms")
        bad = ~((draws >= 0.0) & (draws < 1.0))
        refuse_first(bad, "uniforms", draws, "uniform numbers are in [0, 1)")
    of_seen = np.where(labels == 1, _nonconformity(seen)[1], _nonconformity(seen)[0])
    result = np.empty((new.shape[0], 2), dtype=np.bool_)
    for label, of_new in enumerate(_nonconformity(new)):
        reference = np.sort(of_seen[labels == label] if class_conditional else of_seen)
        below = np.searchsorted(reference, of_new, side="left")
        if uniforms is None:
            result[:, label] = below < conformal_rank(reference.shape[0], level)
        else:
            not_above = np.searchsorted(reference, of_new, side="right")
            mass = (reference.shape[0] - not_above) + draws * (not_above - below + 1)
            result[:, label] = mass > float(level * (reference.shape[0] + 1))
    return result


@shared_docs(bin_sets.__doc__)
def bin_set_chances(evidence: Evidence, alpha: Any = 0.1) -> Float64s:
    """The chance of each label to be in a bin's prediction set, for sets that cover with probability 1 - alpha exactly.

    The randomised form of `bin_sets`: draw one uniform number per sample, independent of everything else, and take the
    labels whose chance exceeds it. Sets are smaller; with bins that average a boundary label ("ze", "umb") coverage
    is at least 1 - alpha.

    Parameters
    ----------
    {evidence}
    {alpha}

    Returns
    -------
    ndarray of float64, shape (n_bins, 2)
        Chances in [0, 1] of labels 0 and 1.

    {Raises}

    Examples
    --------
    >>> import fastbin as fb
    >>> model = fb.ExplicitBinning(edges=[0.5]).fit([i / 100 for i in range(100)], [int(i > 45) for i in range(100)]).model_
    >>> bin_set_chances(model, alpha=0.05).round(3)
    array([[1.  , 0.49],
           [0.  , 0.95]])
    """
    evidence = as_evidence(evidence)
    level, interior = float(rational(alpha)), require_interior(evidence)
    refuse_whole_ties(evidence, "chances that are exact")
    chances = np.zeros((interior.counts.shape[0], 2))
    for label, counts, rarer, alike in rarities(interior):
        misses = np.clip((level * (counts + 1) - rarer) / (alike + 1), 0.0, 1.0)
        chances[:, label] = np.maximum(chances[:, label], 1.0 - misses)
    return chances


# ------------------------------------------------------------------------------------------------- continuous maps


def continuous_map_radii(label_sums: Any, counts: Any, mean_values: Any, value_ranges: Any, alpha: float) -> Float64s:
    """Radii within which the average of a monotone map over a bin lies from the bin's rate, though it saw the labels.

    By the inequality of Dvoretzky, Kiefer & Wolfowitz with Massart's constant: the mean of v over the N interior samples of a
    bin is within range sqrt(ln(2 / (w alpha)) / (2 N)) of E[v | bin] for all monotone v at once. Fitting v to the same samples
    therefore costs nothing over an independent part. w = 0.1 of alpha goes to it, the rest to the Clopper-Pearson interval.

    Parameters
    ----------
    label_sums, counts : array-like of int, shape (n_bins,)
        The interior samples of each bin, boundary samples left out, and how many have label 1.
    mean_values : array-like of float, shape (n_bins,)
        The mean of the map over these samples, in [0, 1].
    value_ranges : array-like of float, shape (n_bins,)
        The greatest value of the map in the bin less the least, over all scores of the bin, not those of the samples alone.
    alpha : float
        Failure probability of each bin, from 1e-100 to 1/2; for several at once pass ``fb.intervals.sidak(alpha, n_bins)``.

    Returns
    -------
    float64 (n_bins,)
        At most 1; 1 for a bin without samples.

    Raises
    ------
    InputError, InputTypeError
        When an argument is outside its range or of the wrong type.

    Notes
    -----
    Assumes that the edges of the bins never looked at a label and that no score at an edge has a positive probability of its
    own. For steps, `CertifiedCalibration` has a bound that is up to 12 % smaller and needs no monotone map. O(n_bins).

    Examples
    --------
    >>> continuous_map_radii([40, 80], [100, 100], [0.41, 0.79], [0.3, 0.2], alpha=0.05).round(3)
    array([0.161, 0.119])
    """
    alpha, tally = check_level(alpha), as_tally(label_sums, counts)
    means, ranges = (
        as_sums(column, name, tally.counts.shape)
        for column, name in ((mean_values, "mean_values"), (value_ranges, "value_ranges"))
    )
    refuse_first(means > 1.0, "mean_values", means, "the mean of probabilities is at most 1")
    refuse_first(ranges > 1.0, "value_ranges", ranges, "probabilities differ by at most 1")
    rates = clopper_pearson(tally.sums, tally.counts, (1.0 - SHARE_OF_MASSES) * alpha)
    second = ranges * np.sqrt(math.log(2.0 / (SHARE_OF_MASSES * alpha)) / (2.0 * tally.filled))
    radii = np.maximum(rates[:, 1] - means, means - rates[:, 0]) + second
    return np.where(tally.counts > 0, np.minimum(radii, 1.0), 1.0)
