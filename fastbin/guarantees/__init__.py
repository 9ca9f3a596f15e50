"""From bins to a promise: certificates, what n samples and n_bins bins can promise, and how many bins to take."""

from __future__ import annotations

from fastbin.guarantees.apriori import epsilon
from fastbin.guarantees.certificate import Certificate
from fastbin.guarantees.certify import certify
from fastbin.guarantees.ece import ece_bound, mass_upper
from fastbin.guarantees.evidence import Evidence
from fastbin.guarantees.intervals import interval
from fastbin.guarantees.radius import exact_radius, worst_failure

__all__ = [
    "Certificate",
    "Evidence",
    "certify",
    "ece_bound",
    "epsilon",
    "exact_radius",
    "interval",
    "mass_upper",
    "worst_failure",
]
