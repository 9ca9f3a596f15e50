"""From a calibrated predictor to intervals and back, and from intervals to prediction sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastbin._base.array_types import Bools, Float64s
from fastbin._base.checks import check_scores, check_unit_interval, refuse_first
from fastbin._base.errors import GuaranteeError, InputError, InputTypeError
from fastbin.intervals._tally import around


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
    if not simultaneous:
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
    if not non_atomic or hasattr(intervals, "label_sums") or hasattr(intervals, "model_"):
        raise GuaranteeError(
            "Gupta, Podkopaev & Ramdas 2020, Theorem 2 is about scores without atoms, and a binned predictor has only atoms: "
            "its intervals would give sets that do not cover; use conformal_sets, or bin_sets for a fitted model"
        )
    array = _as_intervals(intervals)
    return np.stack([array[:, 0] == 0.0, array[:, 1] == 1.0], axis=1)
