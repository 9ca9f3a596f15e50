"""From bins to a promise: certificates, what n samples and n_bins bins can promise, and how many bins to take."""

from __future__ import annotations

from fastbin.guarantees.apriori import epsilon
from fastbin.guarantees.certificate import Certificate
from fastbin.guarantees.certify import certify
from fastbin.guarantees.ece import ece_bound, mass_upper
from fastbin.guarantees.evidence import Evidence
from fastbin.guarantees.intervals import interval
from fastbin.guarantees.n_bins import TradeOff, auto_n_bins, choose_n_bins, trade_off
from fastbin.guarantees.radius import exact_radius, worst_failure
from fastbin.guarantees.risk import RiskBound, integer_cube_root, risk_bound, risk_n_bins, smallest_bin, zeta

__all__ = [
    "Certificate",
    "Evidence",
    "RiskBound",
    "TradeOff",
    "auto_n_bins",
    "certify",
    "choose_n_bins",
    "ece_bound",
    "epsilon",
    "exact_radius",
    "integer_cube_root",
    "interval",
    "mass_upper",
    "risk_bound",
    "risk_n_bins",
    "smallest_bin",
    "trade_off",
    "worst_failure",
    "zeta",
]
