"""Reproduces the papers, and is not needed to calibrate: their bounds, conversions, prediction sets and risks.

=====================================================  ====================================================================
`calibrated_from_intervals`,                           Gupta, Podkopaev & Ramdas 2020, Theorems 1 and 2
`intervals_from_calibrated`, `sets_from_intervals`
`theorem6`, `running_variance`, `theorem7`,            ibid., the theorems of these numbers as intervals of bins
`theorem10`
`smallest_bin`                                         ibid., Theorem 5
`continuous_map_radii`                                 the average of a map fitted to the labels of a bin, by Dvoretzky,
                                                       Kiefer & Wolfowitz
`conformal_sets`, `conformal_rank`,                    prediction sets: split conformal, and randomised within bins
`bin_set_chances`
`conditional_validity_curve`, `mean_validity_curve`    Gupta & Ramdas 2021: the curves of the figures, over many draws
`worst_failure`, `mass_upper`, `trade_off`             behind the exact radius, the ECE bound and the number of bins
`risk_bound`, `zeta`, `risk_n_bins`                    Sun, Song & Hero 2023, Theorem 1 and section 4.2
`population_risk`, `estimate_risk`                     ibid.: calibration risk and sharpness risk
`shift_probabilities`, `label_shift_risk`,             ibid., section 5 and Theorem 2
`label_shift_risk_bound`
=====================================================  ====================================================================
"""

from __future__ import annotations

from fastbin.assess.validity import MeanValidityCurve, conditional_validity_curve, mean_validity_curve
from fastbin.guarantees.law import mass_upper, worst_failure
from fastbin.guarantees.n_bins import TradeOff, trade_off
from fastbin.intervals.anytime import running_variance, theorem6
from fastbin.intervals.weighted import theorem7, theorem10
from fastbin.theory.conversions import (
    bin_set_chances,
    calibrated_from_intervals,
    conformal_rank,
    conformal_sets,
    continuous_map_radii,
    intervals_from_calibrated,
    sets_from_intervals,
)
from fastbin.theory.risk import (
    RiskBound,
    RiskDecomposition,
    RiskEstimate,
    ShiftRisk,
    estimate_risk,
    label_shift_risk,
    label_shift_risk_bound,
    population_risk,
    risk_bound,
    risk_n_bins,
    shift_probabilities,
    smallest_bin,
    zeta,
)

__all__ = [
    "MeanValidityCurve",
    "RiskBound",
    "RiskDecomposition",
    "RiskEstimate",
    "ShiftRisk",
    "TradeOff",
    "bin_set_chances",
    "calibrated_from_intervals",
    "conditional_validity_curve",
    "conformal_rank",
    "conformal_sets",
    "continuous_map_radii",
    "estimate_risk",
    "intervals_from_calibrated",
    "label_shift_risk",
    "label_shift_risk_bound",
    "mass_upper",
    "mean_validity_curve",
    "population_risk",
    "risk_bound",
    "risk_n_bins",
    "running_variance",
    "sets_from_intervals",
    "shift_probabilities",
    "smallest_bin",
    "theorem6",
    "theorem7",
    "theorem10",
    "trade_off",
    "worst_failure",
    "zeta",
]
__dir__ = __all__.copy  # completion lists the public names
