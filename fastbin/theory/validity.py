"""Validity curves over many draws: means with standard errors, and conditional validity (Gupta & Ramdas 2021, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError, InputTypeError
from fastbin.assess.reliability import table_of
from fastbin.assess.samples import N_BINS, grouped_samples
from fastbin.assess.validity import ValidityCurve, step_at, validity_curve


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
