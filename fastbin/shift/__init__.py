"""Calibration for a target population that differs from the source that was labelled.

Covariate shift: P(Y | features) stays and the features' distribution moves. `ImportanceWeightedBinning` weighs source samples
by the density ratio, which `ULSIF` estimates where it is not known. Label shift: P(score | Y) stays and P(Y) moves.
`LabelShift` moves a fitted model to the target's class rate, which the functions named ``rate_*`` estimate.
"""

from __future__ import annotations

from fastbin.shift.covariate import ImportanceWeightedBinning
from fastbin.shift.importance import ULSIF, ImportanceEstimator
from fastbin.shift.label import LabelShift
from fastbin.shift.rates import (
    RateEstimate,
    confusion_weights,
    maximum_likelihood_rate,
    rate_by_confusion,
    rate_by_likelihood,
    rate_from_labels,
    source_rate_of,
)
from fastbin.shift.weighted import effective_sample_sizes, weighted_interval

__all__ = [
    "ULSIF",
    "ImportanceEstimator",
    "ImportanceWeightedBinning",
    "LabelShift",
    "RateEstimate",
    "confusion_weights",
    "effective_sample_sizes",
    "maximum_likelihood_rate",
    "rate_by_confusion",
    "rate_by_likelihood",
    "rate_from_labels",
    "source_rate_of",
    "weighted_interval",
]
__dir__ = __all__.copy  # completion lists the public names
