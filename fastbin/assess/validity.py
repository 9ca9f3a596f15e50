"""Validity curves: for which share of the samples is the prediction how close to the truth? (Gupta & Ramdas 2021, section 2.1.)

All curves are exact step functions, not values on a grid: they jump where a bin's gap is, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.checks import check_count, check_unit_interval
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError, InputTypeError
from fastbin.assess.reliability import ReliabilityTable, table_of
from fastbin.assess.samples import N_BINS, grouped_samples
from fastbin.guarantees.certificate import check_prior
from fastbin.guarantees.law import worst_failure
from fastbin.guarantees.n_bins import interior_counts


def _check_epsilon(epsilon: Any) -> Float64s:
    array = np.asarray(epsilon, dtype=np.float64)
    if np.isnan(array).any():
        raise InputError("epsilon is NaN; give distances")
    return array


def step_at(epsilon: Any, jumps: Float64s, heights: Float64s) -> Any:
    """The right-continuous step function that is 0 before the first jump: a float for a number, else an array."""
    steps = np.append(0.0, heights)[np.searchsorted(jumps, _check_epsilon(epsilon), side="right")]
    return steps if steps.ndim else float(steps)


@dataclass(frozen=True, eq=False)
class ValidityCurve:
    """V(epsilon), the share of the samples whose prediction is within epsilon of its bin's positive rate.

    A right-continuous step function, made by `validity_curve` or `fastbin.theory.conditional_validity_curve`: 0 before the
    first jump, and ``heights[i]`` from ``epsilons[i]`` on.

    Attributes
    ----------
    epsilons : float64 (n_jumps,)
        Where it jumps: the bins' gaps, ascending and distinct.
    heights : float64 (n_jumps,)
        Ascending; the last one is 1.
    """

    epsilons: Float64s
    heights: Float64s

    def __call__(self, epsilon: Any) -> Any:
        """V at one distance (a float) or at many (an array of the same shape)."""
        return step_at(epsilon, self.epsilons, self.heights)

    def area(self) -> float:
        """The area under the curve on [0, 1], step by step. It equals 1 - l_1-ECE."""
        return float(np.dot(np.diff(self.epsilons, append=1.0), self.heights))

    def epsilon_at(self, share: float) -> float:
        """The smallest epsilon with V(epsilon) >= share: "for 90 % of the samples the gap is at most ..." for 0.9."""
        share = check_unit_interval(share, "share")
        if share == 0.0:
            return 0.0
        return float(self.epsilons[np.searchsorted(self.heights, share, side="left")])


@shared_docs(grouped_samples.__doc__)
def validity_curve(
    predictions: Any, labels: Any, *, grouping: str = "auto", n_bins: int = N_BINS, sample_weight: Any = None,
    positive: Any = None,
) -> ValidityCurve:  # fmt: skip
    """The validity curve on test samples (Gupta & Ramdas 2021, equation (6)).

    {Parameters}

    Returns
    -------
    ValidityCurve

    {Raises}

    Notes
    -----
    Blurred, because the rates are noisy: on average too low beyond the true gaps (ibid., section 2.1), and too high before
    them. For distinct values with counts or frequencies, comparisons with a double epsilon are exact: |1/3 - 0.2| <= epsilon is
    decided over the rationals, where rounded differences would toss a coin at the jumps. With bins of several values, or
    importance weights, gaps carry ordinary rounding errors of a few units in the last place. O(n log n) time, O(n) memory.

    Examples
    --------
    >>> curve = validity_curve([0.2] * 9 + [0.8], [1, 0, 0, 0, 1, 0, 0, 1, 0, 1])
    >>> curve(0.1), curve(0.15), curve(0.2)
    (0.0, 0.9, 1.0)
    >>> round(1.0 - curve.area(), 4), round(curve.epsilon_at(0.9), 4)
    (0.14, 0.1333)
    """
    return curve_of(table_of(*grouped_samples(predictions, labels, grouping, n_bins, sample_weight, positive), n_bins))


def curve_of(table: ReliabilityTable) -> ValidityCurve:
    """The validity curve of a table."""
    order = np.argsort(table.gaps, kind="stable")
    gaps = table.gaps[order]
    epsilons = np.unique(gaps)
    # Whole samples where there are any, so that each height is one correctly rounded division.
    reached = np.cumsum((table.masses if table.is_weighted else table.counts)[order])
    return ValidityCurve(epsilons, reached[np.searchsorted(gaps, epsilons, side="right") - 1] / reached[-1])


@shared_docs(worst_failure.__doc__)
def promised_validity(
    epsilon: Any, n_samples: int, n_bins: int, *, kind: str = "marginal", bound: str = "hoeffding"
) -> Float64s:
    """The least validity that uniform-mass binning ("umd") promises before any data is seen.

    Parameters
    ----------
    epsilon : float or array-like
        Distances, 0 or more.
    n_samples, n_bins : int
        Calibration samples and bins, n_samples >= 2 n_bins.
    kind : {"marginal", "conditional"}
        What is promised: V of `validity_curve`, or of `fastbin.theory.conditional_validity_curve`, averaged over calibration
        sets.
    bound : {"hoeffding", "a-priori"}
        "hoeffding": the curve of Gupta & Ramdas 2021, Theorem 4, solved for its failure probability:
        1 - 2 exp(-2 (floor(n / B) - 1) epsilon^2), with 2 B for 2 where conditional. "a-priori": the binomial failure
        probability for the worst frequency, with the bins' independence where conditional; it takes O(n_samples / n_bins)
        incomplete beta functions for each epsilon.

    Returns
    -------
    float64, the shape of epsilon
        In [0, 1].

    {Raises}

    Examples
    --------
    >>> promised_validity([0.05, 0.1], 3000, 10).round(3).tolist()
    [0.552, 0.995]
    >>> promised_validity([0.05, 0.1], 3000, 10, bound="a-priori").round(3).tolist()
    [0.907, 0.999]
    """
    kind, bound = check_prior(kind, bound)
    n_bins = check_count(n_bins, "n_bins")
    n_samples = check_count(n_samples, "n_samples", minimum=2 * n_bins)
    distances = _check_epsilon(epsilon)
    if (distances < 0.0).any():
        raise InputError(f"epsilon is {float(distances[distances < 0.0].flat[0])!r}; distances are not negative")
    n_claims = 1 if kind == "marginal" else n_bins  # that must hold together
    if bound == "hoeffding":
        promised = 1.0 - 2.0 * n_claims * np.exp(-2.0 * (n_samples // n_bins - 1) * distances**2)
        return np.asarray(np.maximum(promised, 0.0))
    sizes = [size for size, _ in interior_counts(n_samples, n_bins, "umd")]

    def promised_at(distance: float) -> float:
        if distance == 0.0:
            return 0.0
        return (1.0 - max(worst_failure(size, min(distance, 1.0)) for size in sizes)) ** n_claims

    return np.asarray(np.vectorize(promised_at, otypes=[np.float64])(distances))


# ------------------------------------------------------------------------------------------------- over many draws


@shared_docs(validity_curve.__doc__)
def conditional_validity_curve(
    predictions: Any, labels: Any, *, grouping: str = "auto", n_bins: int = N_BINS, sample_weight: Any = None,
    positive: Any = None,
) -> ValidityCurve:  # fmt: skip
    """The conditional validity curve: 1 from the largest gap of any bin on, 0 before (Gupta & Ramdas 2021, section 4).

    On one test set it is a single step; averaged over many calibration and test sets (`mean_validity_curve`) it estimates the
    chance that *every* prediction is within epsilon of the truth. It never exceeds the validity curve.

    {Parameters}

    {Returns}

    {Raises}

    Examples
    --------
    >>> curve = conditional_validity_curve([0.2] * 9 + [0.8], [1, 0, 0, 0, 1, 0, 0, 1, 0, 1])
    >>> curve(0.19), curve(0.2)
    (0.0, 1.0)
    """
    table = table_of(*grouped_samples(predictions, labels, grouping, n_bins, sample_weight, positive), n_bins)
    return ValidityCurve(np.array([table.gaps.max()]), np.ones(1))


@dataclass(frozen=True, eq=False)
class MeanValidityCurve:
    """The mean of several validity curves and its standard error, both step functions; made by `mean_validity_curve`.

    Attributes
    ----------
    epsilons : float64 (n_jumps,)
        Where any of the curves jumps, ascending and distinct.
    means, standard_errors : float64 (n_jumps,)
        From each jump on; both are 0 before the first. The standard error of the mean is NaN for a single curve.
    n_curves : int
    """

    epsilons: Float64s
    means: Float64s
    standard_errors: Float64s
    n_curves: int

    def __call__(self, epsilon: Any) -> Any:
        """The mean at one distance (a float) or at many (an array of the same shape)."""
        return step_at(epsilon, self.epsilons, self.means)

    def standard_error(self, epsilon: Any) -> Any:
        """The standard error of the mean at one distance or at many."""
        return step_at(epsilon, self.epsilons, self.standard_errors)

    def area(self) -> float:
        """The area under the mean curve on [0, 1]: 1 minus the mean l_1-ECE."""
        return float(np.dot(np.diff(self.epsilons, append=1.0), self.means))


def mean_validity_curve(curves: Sequence[ValidityCurve]) -> MeanValidityCurve:
    """The mean of validity curves from repeated draws of calibration and test set, with the standard error of the mean.

    Parameters
    ----------
    curves : sequence of ValidityCurve
        At least one.

    Returns
    -------
    MeanValidityCurve

    Raises
    ------
    InputError, InputTypeError
        When there is none, or something else among them.

    Notes
    -----
    O(n_curves n_jumps log n_jumps) time, O(n_jumps) memory, for n_jumps jumps in all.

    Examples
    --------
    >>> import numpy as np
    >>> early, late = (ValidityCurve(np.array([jump]), np.ones(1)) for jump in (0.1, 0.3))
    >>> mean = mean_validity_curve([early, late])
    >>> mean([0.05, 0.1, 0.3]).tolist(), mean.standard_error(0.2)
    ([0.0, 0.5, 1.0], 0.5)
    """
    curves = list(curves)
    if not curves:
        raise InputError("is empty", "a mean needs at least one curve", argument="curves")
    for position, curve in enumerate(curves):
        if not isinstance(curve, ValidityCurve):
            raise InputTypeError(f"is a {type(curve).__name__}, not a ValidityCurve", argument="curves", at=position)
    epsilons = np.unique(np.concatenate([curve.epsilons for curve in curves]))
    means = sum(curve(epsilons) for curve in curves) / len(curves)
    # In two passes: the one-pass formula would lose the digits of a small variance.
    squares = sum((curve(epsilons) - means) ** 2 for curve in curves)
    n = len(curves)
    errors = np.sqrt(squares / (n - 1) / n) if n > 1 else np.full(len(epsilons), np.nan)
    return MeanValidityCurve(epsilons, means, errors, n)
