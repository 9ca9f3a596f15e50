"""Probabilities moved to other class rates, and the risk of that (Sun, Song & Hero 2023, section 5)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.checks import check_alpha, check_count, check_scores
from fastbin._base.errors import GuaranteeError, InputError
from fastbin.guarantees.intervals import move_odds
from fastbin.shift.rates import check_rate
from fastbin.theory.risk_bounds import risk_bound


def shift_probabilities(probabilities: Any, *, source_rate: float, target_rate: float) -> Float64s:
    """Probabilities calibrated at one class rate, as they are at another (Sun, Song & Hero 2023, equation (13)).

    g(z) = w1 z / (w1 z + w0 (1 - z)) with w1 = target_rate / source_rate and w0 = (1 - target_rate) / (1 - source_rate): the
    odds of every value are multiplied by w1 / w0. Correct under label shift only.

    Parameters
    ----------
    probabilities : array-like of float in [0, 1], shape (n,)
        P_source(Y = 1 | score). NaN is refused.
    source_rate, target_rate : float in (0, 1)
        P(Y = 1) at the source and at the target.

    Returns
    -------
    float64 (n,)
        In [0, 1]; 0 and 1 are unchanged.

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


class ShiftRisk(NamedTuple):
    """The two parts of a bound on the target risk E[(h - E[Y | score])^2].

    Attributes
    ----------
    rates : float
        What the estimated class rates cost.
    recalibration : float
        What the source's recalibration costs.
    """

    rates: float
    recalibration: float

    @property
    def total(self) -> float:
        """The bound: the sum of the two."""
        return self.rates + self.recalibration


def label_shift_risk(
    source_risk: float,
    *,
    source_rate: float,
    target_rate: float,
    estimated_source_rate: float | None = None,
    estimated_target_rate: float | None = None,
) -> ShiftRisk:
    """The risk at the target of a recalibration of known risk at the source (Sun, Song & Hero 2023, equation (18)).

    2 {((rho0 - rho1) / (rho0 + rho1))^2 + (w_max^3 / w_min^2) R_source}, where w_k = P_target(k) / P_source(k), rho_k is the
    estimated w_k over the true one, and w_max and w_min are the larger and the smaller of the true w_k.

    Parameters
    ----------
    source_risk : float
        R_source, not negative.
    source_rate, target_rate : float in (0, 1)
        The true P(Y = 1).
    estimated_source_rate, estimated_target_rate : float in (0, 1), optional
        The rates that the map used; by default the true ones, and then the first term is 0.

    Returns
    -------
    ShiftRisk
        (rates, recalibration). Above 1 it says nothing, as a risk is at most 1 anyway.

    Raises
    ------
    InputError, InputTypeError
        When a rate is not strictly between 0 and 1, or the risk negative.

    Examples
    --------
    >>> risk = label_shift_risk(0.001, source_rate=0.5, target_rate=0.1, estimated_target_rate=0.12)
    >>> round(risk.rates, 4), round(risk.recalibration, 4)
    (0.0208, 0.2916)
    """
    if not (source_risk >= 0.0 and math.isfinite(source_risk)):
        raise InputError(None, "a risk is finite and not negative", argument="source_risk", value=source_risk)
    p, q = check_rate(source_rate, "source_rate"), check_rate(target_rate, "target_rate")
    p_used = p if estimated_source_rate is None else check_rate(estimated_source_rate, "estimated_source_rate")
    q_used = q if estimated_target_rate is None else check_rate(estimated_target_rate, "estimated_target_rate")
    rho1, rho0 = (q_used / p_used) / (q / p), ((1.0 - q_used) / (1.0 - p_used)) / ((1.0 - q) / (1.0 - p))
    return ShiftRisk(2.0 * ((rho0 - rho1) / (rho0 + rho1)) ** 2, 2.0 * _spread(p, q) * source_risk)


def label_shift_risk_bound(
    n_source: int,
    n_target: int,
    n_bins: int,
    *,
    source_rate: float,
    target_rate: float,
    alpha: float = 0.1,
    smoothness: float | None = None,
) -> ShiftRisk:
    """A bound on the risk of the composite estimator before data are seen (Sun, Song & Hero 2023, Theorem 2, equation (19)).

    2 (w_max^3 / w_min^2) {risk bound of Theorem 1 at alpha / 2} + 54 max(1 / (p_min n_source), 1 / (q_min n_target))
    ln(16 / alpha), where p_min and q_min are the rates of the rarer label at source and target.

    Parameters
    ----------
    n_source, n_target : int
        Labelled samples of either population.
    n_bins : int
        Bins of the source model (scheme "umb").
    source_rate, target_rate : float in (0, 1)
        The true P(Y = 1).
    alpha : float
        Failure probability, strictly between 0 and 1 (delta in the paper).
    smoothness : float, optional
        K of assumption (A3), as in `risk_bound`.

    Returns
    -------
    ShiftRisk
        (rates, recalibration). Usually above 1, which says nothing; it shows how the risk falls with the sample sizes.

    Raises
    ------
    GuaranteeError
        When n_source < (27 / p_min) n_bins ln(4 n_bins / alpha) or n_target < (27 / q_min) ln(16 / alpha). The theorem also
        needs n_source >= c n_bins ln(4 n_bins / alpha) with a constant that it leaves open (2420 is enough).
    InputError, InputTypeError
        When an argument is outside its range or of the wrong type.

    Examples
    --------
    >>> bound = label_shift_risk_bound(100_000, 10_000, 46, source_rate=0.5, target_rate=0.1, smoothness=2)
    >>> round(bound.recalibration, 3), round(bound.rates, 3)
    (4.973, 0.274)
    """
    n_source, n_target = check_count(n_source, "n_source"), check_count(n_target, "n_target")
    n_bins, alpha = check_count(n_bins, "n_bins"), check_alpha(alpha)
    p, q = check_rate(source_rate, "source_rate"), check_rate(target_rate, "target_rate")
    p_min, q_min = min(p, 1.0 - p), min(q, 1.0 - q)
    needed = {
        "n_source": (n_source, 27.0 / p_min * n_bins * math.log(4.0 * n_bins / alpha)),
        "n_target": (n_target, 27.0 / q_min * math.log(16.0 / alpha)),
    }
    for name, (given, least) in needed.items():
        if given < least:
            raise GuaranteeError(
                f"{name} is {given}, and Sun, Song & Hero 2023, Theorem 2 needs at least {math.ceil(least)} here; take more "
                "samples" + (" or fewer bins" if name == "n_source" else "")
            )
    rates = 54.0 * max(1.0 / (p_min * n_source), 1.0 / (q_min * n_target)) * math.log(16.0 / alpha)
    source = risk_bound(n_source, n_bins, alpha / 2.0, smoothness)
    return ShiftRisk(rates, 2.0 * _spread(p, q) * source.total)


def _spread(source_rate: float, target_rate: float) -> float:
    """w_max^3 / w_min^2."""
    weights = target_rate / source_rate, (1.0 - target_rate) / (1.0 - source_rate)
    return float(max(weights) ** 3 / min(weights) ** 2)
