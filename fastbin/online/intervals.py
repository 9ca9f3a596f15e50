"""Intervals and certificates of a stream: they hold at every number of samples at once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fastbin._base.array_types import Float64s, Int64s
from fastbin._base.checks import check_choice
from fastbin._base.errors import GuaranteeError, InputError
from fastbin.intervals import beta_binomial, bonferroni, sidak, stitched
from fastbin.intervals.anytime import theorem6
from fastbin.model import BinnedModel

if TYPE_CHECKING:
    from fastbin.guarantees import Certificate

Method = Literal["beta-binomial", "stitched", "theorem6"]


THEOREMS = {
    "beta-binomial": "Ville's inequality for the beta-binomial mixture, at every number of samples at once, with Sidak's level",
    "stitched": "Howard, Ramdas, McAuliffe & Sekhon 2021, Theorem 1, at every number of samples at once, with Sidak's level",
    "theorem6": "Gupta, Podkopaev & Ramdas 2020, Theorem 6, at every number of samples at once",
}


def time_uniform_interval(
    counts: Int64s, label_sums: Int64s, variances: Float64s | None, alpha: float, method: Method, simultaneous: bool
) -> Float64s:
    """See `StreamingBinning.interval`. All bins share alpha, filled or not: which will fill is not known in advance."""
    check_choice(method, "method", tuple(THEOREMS))
    level = alpha
    if simultaneous:
        level = (bonferroni if method == "theorem6" else sidak)(alpha, len(counts))
    if method == "beta-binomial":
        return beta_binomial(label_sums, counts, level)
    if variances is None:
        raise GuaranteeError(
            f"method={method!r} needs the running variance (Gupta, Podkopaev & Ramdas 2020, equation 20), which depends on the "
            "order of the labels; a merge, or going on from a fit, has lost it; use method='beta-binomial'"
        )
    return (stitched if method == "stitched" else theorem6)(label_sums, counts, variances, level)


def intersect(intervals: Float64s, within: Any) -> Float64s:
    """The part of each interval that lies within that of an earlier look."""
    earlier = np.asarray(within, dtype=np.float64)
    if earlier.shape != intervals.shape:
        remedy = f"intervals of {len(intervals)} bins have shape {intervals.shape}"
        raise InputError(f"has shape {earlier.shape}", remedy, argument="within")
    met = np.stack([np.maximum(intervals[:, 0], earlier[:, 0]), np.minimum(intervals[:, 1], earlier[:, 1])], axis=1)
    empty = np.flatnonzero(~(met[:, 0] <= met[:, 1]))
    if empty.size:
        b = int(empty[0])
        raise GuaranteeError(
            f"the interval of bin {b} was {earlier[b].tolist()} and is {intervals[b].tolist()}: no rate lies in both, so one "
            "has missed, or the rate of the bin has changed; find out with CalibrationMonitor, and begin a new stream"
        )
    return met


def time_uniform_certificate(model: BinnedModel, scheme: str, intervals: Float64s, alpha: float, method: Method) -> Certificate:
    """See `StreamingBinning.certificate`; `model` is a snapshot, `scheme` that of its partition."""
    from fastbin.guarantees.certificate import certificate_from_intervals, sentences

    assumptions = [
        "the labels of a bin are independent and have one frequency throughout",
        "which samples arrive does not depend on their labels given the bin",
    ]
    if model.ties in ("random", "isolate"):
        assumptions += sentences("keys")
    certificate = certificate_from_intervals(
        model, intervals, alpha=alpha, kind="conditional", bound=method, theorem=THEOREMS[method], assumptions=assumptions
    )
    return replace(certificate, scheme=scheme)
