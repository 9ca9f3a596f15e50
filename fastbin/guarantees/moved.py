"""Label shift: intervals and certificates of a model whose values were moved to other class rates.

The tally of such a model is that of the source. An interval for a bin's rate at the source is moved as the value was, by
equation (13) of Sun, Song & Hero (2023). Class rates that were counted are not exact: each has an interval of its own, and the
ends are moved by the worst rates in these intervals. One part of alpha goes to the bins and one to the rates, so by the union
bound the moved intervals cover with probability at least 1 - alpha at any sample size, if label shift holds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fastbin._errors import GuaranteeError
from fastbin._schemes import ClassRate
from fastbin._typing import Float64s
from fastbin.guarantees.certificate import Certificate, certificate_from_intervals
from fastbin.guarantees.evidence import Evidence
from fastbin.intervals import clopper_pearson

THEOREM = "Clopper & Pearson 1934 for bins and class rates, moved by Sun, Song & Hero 2023, equation (15)"


def move_odds(values: Float64s, source_rate: float, target_rate: float) -> Float64s:
    """Equation (13); a target rate of 0 or 1, or a source rate of 1 or 0, gives 0 or 1 throughout."""
    ones, zeros = target_rate * (1.0 - source_rate), (1.0 - target_rate) * source_rate
    if ones == 0.0 or zeros == 0.0:
        return np.full(values.shape, 0.0 if ones == 0.0 else 1.0)
    return np.asarray(ones * values / (ones * values + zeros * (1.0 - values)))


def moved_interval(evidence: Evidence, alpha: float, at_source: Callable[[float], Float64s]) -> Float64s:
    """Intervals at the target that cover all bins at once with probability at least 1 - alpha.

    Half of alpha goes to the bins and the rest in equal parts to the rates that were counted; if none was, all of it goes to
    the bins. `at_source(share)` gives the intervals of the bins at the source. A bin without samples keeps [0, 1].
    """
    rates = evidence.rates
    if rates is None:
        raise GuaranteeError(
            f"the values were moved to other class rates (odds ratio {evidence.odds_ratio:g}), and the model does not say how "
            "these are known (files of fastbin 0.1.0 do not); an interval without their error would not cover; move the "
            "source model again with fb.shift.LabelShift or `fastbin adapt`"
        )
    for population, rate in zip(("source", "target"), rates, strict=True):
        if rate.origin == "estimated":
            raise GuaranteeError(
                f"the {population} rate was estimated from {rate.n_samples} scores without labels, for which no finite-sample "
                "interval is known (Sun, Song & Hero 2023, Remark 5 is asymptotic); count labels with method='labels' "
                "(--target-labels), or give the rate with method='known' (--target-rate)"
            )
    n_counted = sum(rate.origin == "counted" for rate in rates)
    share = alpha / (2.0 * n_counted) if n_counted else 0.0
    (p_low, p_high), (q_low, q_high) = (_rate_interval(rate, share) for rate in rates)
    ends = at_source(alpha / 2.0 if n_counted else alpha)
    return np.stack([move_odds(ends[:, 0], p_high, q_low), move_odds(ends[:, 1], p_low, q_high)], axis=1)


def _rate_interval(rate: ClassRate, level: float) -> tuple[float, float]:
    if rate.origin == "given":
        return rate.rate, rate.rate
    low, high = clopper_pearson([rate.n_positive], [rate.n_samples], level)[0]
    return float(low), float(high)


def certify_moved(evidence: Evidence, intervals: Callable[[], Float64s], *, alpha: float, kind: str, bound: str) -> Certificate:
    """The certificate at the target, from `moved_interval`. Other kinds depend on the target's bin masses."""
    at_target = intervals()  # first, because its error is the more precise one where there are no intervals
    if (kind, bound) != ("conditional", "clopper-pearson"):
        raise GuaranteeError(
            f"after label shift only kind='conditional' with bound='clopper-pearson' has a certificate; kind={kind!r} with "
            f"bound={bound!r} would need the target's bin masses, or values that are the bins' means"
        )
    assert evidence.rates is not None  # else there are no intervals
    assumptions = [
        "the calibration samples are independent draws from the source population",
        "the scores were trained on other data",
        "P(score | label) is the same in the target population, of which the promise speaks",
    ]
    for population, rate in zip(("source", "target"), evidence.rates, strict=True):
        if rate.origin == "given":
            assumptions.append(f"P(Y = 1) at the {population} is as given")
        elif population == "target":
            assumptions.append("the labels that were counted for the target's rate are independent draws from the target")
    if evidence.ties in ("random", "isolate"):
        assumptions.append("a score that equals an edge is scored with a key that is uniform and independent of the sample")
    return certificate_from_intervals(
        evidence, at_target, alpha=alpha, kind=kind, bound=bound, theorem=THEOREM, assumptions=assumptions
    )
