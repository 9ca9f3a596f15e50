"""From bins to a promise: certificates, what n samples and n_bins bins can promise, and how many bins to take."""

from __future__ import annotations

from fastbin.guarantees.apriori import epsilon, samples_needed
from fastbin.guarantees.certificate import Certificate, SetCertificate
from fastbin.guarantees.certify import certify
from fastbin.guarantees.ece import ece_bound
from fastbin.guarantees.evidence import Evidence
from fastbin.guarantees.intervals import interval
from fastbin.guarantees.joint import certify_set, set_intervals
from fastbin.guarantees.n_bins import auto_n_bins, choose_n_bins
from fastbin.guarantees.radius import exact_radius
from fastbin.guarantees.sets import bin_sets
from fastbin.guarantees.sharing import common_radius

__all__ = [
    "Certificate",
    "Evidence",
    "SetCertificate",
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
