"""From bins to a promise: certificates, what n samples and n_bins bins can promise, and how many bins to take."""

from __future__ import annotations

from fastbin.guarantees.apriori import epsilon
from fastbin.guarantees.certificate import Certificate
from fastbin.guarantees.certify import certify
from fastbin.guarantees.conversions import calibrated_from_intervals, intervals_from_calibrated, sets_from_intervals
from fastbin.guarantees.ece import ece_bound, mass_upper
from fastbin.guarantees.evidence import Evidence
from fastbin.guarantees.intervals import interval
from fastbin.guarantees.monotone import linf_isotonic
from fastbin.guarantees.n_bins import TradeOff, auto_n_bins, choose_n_bins, trade_off
from fastbin.guarantees.radius import exact_radius, worst_failure
from fastbin.guarantees.risk import RiskBound, integer_cube_root, risk_bound, risk_n_bins, smallest_bin, zeta
from fastbin.guarantees.samples import samples_needed
from fastbin.guarantees.sets import bin_set_chances, bin_sets, conformal_rank, conformal_sets

__all__ = [
    "Certificate",
    "Evidence",
    "RiskBound",
    "TradeOff",
    "auto_n_bins",
    "bin_set_chances",
    "bin_sets",
    "calibrated_from_intervals",
    "certify",
    "choose_n_bins",
    "conformal_rank",
    "conformal_sets",
    "ece_bound",
    "epsilon",
    "exact_radius",
    "integer_cube_root",
    "interval",
    "intervals_from_calibrated",
    "linf_isotonic",
    "mass_upper",
    "risk_bound",
    "risk_n_bins",
    "samples_needed",
    "sets_from_intervals",
    "smallest_bin",
    "trade_off",
    "worst_failure",
    "zeta",
]
