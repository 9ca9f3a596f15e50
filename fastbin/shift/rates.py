"""Class rates, and the map that takes probabilities from one rate to another (Sun, Song & Hero 2023, section 5.1)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastbin._errors import InputError
from fastbin._scalars import check_alpha, check_unit_interval
from fastbin._validation import check_labels, check_scores
from fastbin.guarantees.moved import move_odds
from fastbin.intervals import clopper_pearson
from fastbin.model import BinnedModel

__all__ = ["RateEstimate", "check_rate", "rate_from_labels", "shift_probabilities", "source_rate_of"]

Float64s = npt.NDArray[np.float64]


class RateEstimate(NamedTuple):
    """An estimate of P(Y = 1) and an interval for it.

    Attributes
    ----------
    rate : float
        In [0, 1], the ends included.
    lower, upper : float
        Exact for "labels", a percentile bootstrap, so approximate, for "likelihood" and "confusion", and the rate itself for
        "known".
    method : {"labels", "likelihood", "confusion", "known"}
        Where it comes from.
    n_samples : int
        The target samples it rests on.
    """

    rate: float
    lower: float
    upper: float
    method: str
    n_samples: int


def shift_probabilities(probabilities: Any, *, source_rate: float, target_rate: float) -> Float64s:
    """Probabilities calibrated at one class rate, as they are at another (Sun, Song & Hero 2023, equation (13)).

    g(z) = w1 z / (w1 z + w0 (1 - z)) with w1 = target_rate / source_rate and w0 = (1 - target_rate) / (1 - source_rate): the
    odds of every value are multiplied by w1 / w0. Right under label shift alone.

    Parameters
    ----------
    probabilities : array-like of float in [0, 1], shape (n,)
        P_source(Y = 1 | score). NaN is refused.
    source_rate, target_rate : float in (0, 1)
        P(Y = 1) at the source and at the target.

    Returns
    -------
    float64 (n,)
        In [0, 1]; 0 and 1 stay.

    Raises
    ------
    InputError, InputTypeError
        When a probability is outside [0, 1], or a rate is not strictly between 0 and 1.

    Examples
    --------
    >>> shift_probabilities([0.0, 0.5, 1.0], source_rate=0.5, target_rate=0.1)
    array([0. , 0.1, 1. ])
    """
    values = check_scores(probabilities, name="probabilities").astype(np.float64)
    p, q = check_rate(source_rate, "source_rate"), check_rate(target_rate, "target_rate")
    return move_odds(values, p, q)


def rate_from_labels(labels: Any, *, alpha: float = 0.1) -> RateEstimate:
    """The share of label 1 among target labels, with its exact interval (Clopper & Pearson 1934).

    Parameters
    ----------
    labels : array-like of shape (n,)
        0 and 1; at least one.
    alpha : float
        Failure probability of the interval, strictly between 0 and 1.

    Returns
    -------
    RateEstimate

    Raises
    ------
    InputError, InputTypeError
        When there is no label, or one that is not 0 or 1.

    Examples
    --------
    >>> rate_from_labels([1] * 10 + [0] * 90).rate
    0.1
    """
    checked = check_labels(labels)
    if checked.shape[0] == 0:
        raise InputError("labels is empty; give target labels, or estimate the rate from scores with rate_by_likelihood")
    n, ones = checked.shape[0], int(checked.sum(dtype=np.int64))
    lower, upper = clopper_pearson([ones], [n], check_alpha(alpha))[0]
    return RateEstimate(ones / n, float(lower), float(upper), "labels", n)


def source_rate_of(model: BinnedModel) -> float:
    """The share of label 1 among all samples that a model was fitted to.

    Parameters
    ----------
    model : BinnedModel

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    InputError
        When the model does not know: it carries no samples, or importance weights, under which rows are not the population.

    Examples
    --------
    >>> import fastbin as fb
    >>> cal = fb.UniformMassBinning(n_bins=2).fit([0.1, 0.2, 0.6, 0.7], [0, 0, 0, 1])
    >>> source_rate_of(cal.model_)
    0.25
    """
    if model.is_weighted:
        raise InputError(
            "the model was fitted with importance weights, so its rows do not show the class rates; give source_rate"
        )
    if model.n_samples == 0:
        raise InputError("the model does not say how many samples it was fitted to; give source_rate")
    return model.n_positive / model.n_samples


def check_rate(rate: Any, name: str) -> float:
    """A class rate: strictly between 0 and 1."""
    return check_unit_interval(rate, name, open_left=True, open_right=True)
