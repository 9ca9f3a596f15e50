"""Class rates, and the map that takes probabilities from one rate to another (Sun, Song & Hero 2023, section 5.1)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastbin._base.checks import check_alpha, check_labels, check_unit_interval
from fastbin._base.errors import InputError
from fastbin.intervals import clopper_pearson
from fastbin.model import BinnedModel


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


def rate_from_labels(labels: Any, *, alpha: float = 0.1, positive: Any = None) -> RateEstimate:
    """The share of label 1 among target labels, with its exact interval (Clopper & Pearson 1934).

    Parameters
    ----------
    labels : array-like of shape (n,)
        0 and 1; at least one.
    alpha : float
        Failure probability of the interval, strictly between 0 and 1.
    positive : optional
        The label that counts as 1, where labels are two values other than 0 and 1, such as "yes".

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
    checked = check_labels(labels, positive=positive)
    if checked.shape[0] == 0:
        remedy = "give target labels, or estimate the rate from scores with rate_by_likelihood"
        raise InputError("is empty", remedy, argument="labels")
    return rate_from_counts(checked.shape[0], int(checked.sum(dtype=np.int64)), alpha)


def rate_from_counts(n_samples: int, n_positive: int, alpha: float) -> RateEstimate:
    """The same from the number of target labels, at least one, and the number of those that are 1."""
    lower, upper = clopper_pearson([n_positive], [n_samples], check_alpha(alpha))[0]
    return RateEstimate(n_positive / n_samples, float(lower), float(upper), "labels", n_samples)


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
        remedy = "give source_rate"
        raise InputError("the model was fitted with importance weights, so its rows do not show the class rates", remedy)
    if model.n_samples == 0:
        raise InputError("the model does not say how many samples it was fitted to", "give source_rate")
    return model.n_positive / model.n_samples


def check_rate(rate: Any, name: str) -> float:
    """A class rate: strictly between 0 and 1."""
    return check_unit_interval(rate, name, open_left=True, open_right=True)
