"""From bins to a promise: certificates, what n samples and n_bins bins can promise, and how many bins to take."""

from __future__ import annotations

from fastbin.guarantees.certificate import Certificate, SetCertificate
from fastbin.guarantees.certify import certify
from fastbin.guarantees.evidence import Evidence
from fastbin.guarantees.intervals import bin_sets, interval
from fastbin.guarantees.law import ece_bound, exact_radius
from fastbin.guarantees.n_bins import auto_n_bins, choose_n_bins, epsilon, samples_needed
from fastbin.guarantees.radius import common_radius
from fastbin.guarantees.simultaneous import certify_set, set_intervals
from fastbin.guarantees.vectors import VectorCertificate

__all__ = [
    "Certificate",
    "Evidence",
    "SetCertificate",
    "VectorCertificate",
    "auto_n_bins",
    "bin_sets",
    "certify",
    "certify_set",
    "choose_n_bins",
    "common_radius",
    "ece_bound",
    "epsilon",
    "exact_radius",
    "interval",
    "samples_needed",
    "set_intervals",
]
__dir__ = __all__.copy  # completion lists the public names
