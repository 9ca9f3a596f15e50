"""The smooth maps: one-to-one calibration by a few parameters, fitted by maximum likelihood, with a ridge or without.

They need few samples and keep the ranking, and they have no finite-sample guarantee: no method that maps scores one-to-one
can have a distribution-free one (Gupta, Podkopaev & Ramdas 2020, Theorem 3). Put bins behind them for that.
"""

from __future__ import annotations

from fastbin.scaling.maps import BetaScaling, PlattScaling, QuadraticScaling, SplineScaling, TemperatureScaling

__all__ = ["BetaScaling", "PlattScaling", "QuadraticScaling", "SplineScaling", "TemperatureScaling"]
