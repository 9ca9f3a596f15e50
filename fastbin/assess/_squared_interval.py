"""An interval for the squared calibration error, by the law of a sum of squared noisy gaps."""

from __future__ import annotations

import math

import numpy as np

from fastbin._dependencies import needed_for
from fastbin._typing import Bools, Float64s
from fastbin.assess._pairs import PairSums
from fastbin.assess._samples import Groups, Samples

# SciPy finds noncentralities up to 10,000 in every version; from this value on the root of the variable is nearly normal.
_LARGE = 5000.0


def squared_error_interval(
    samples: Samples, groups: Groups, sums: PairSums, estimate: float, alpha: float
) -> tuple[float, float]:
    """Both ends, each of which misses with probability alpha / 2, approximately.

    The plug-in error is the sum over bins of mass times squared gap. The gap of a bin is its true gap plus nearly normal noise,
    so each term is a noncentral chi-square variable of one degree of freedom, scaled by the mean of its noise. Their sum is
    taken for one scaled noncentral chi-square variable with the sum's mean, and a scale c such that its variance is at least
    that of the sum: without errors (Satterthwaite 1946), and with the errors estimated, the sampling of masses
    included. Its noncentrality, times c, is the squared error. The variance of a bin's labels is taken with its rate drawn
    towards 1/2 (Agresti & Coull 1998), so that a bin with one label only still counts as noisy.
    """
    with needed_for("intervals and certificates", extra="fit"):
        from scipy.special import ndtri

    z = -float(ndtri(alpha / 2.0))
    known, total = sums.is_known, float(sums.weights.sum())
    weights = np.where(known, sums.weights, 1.0)
    masses, gaps = np.where(known, weights, 0.0) / total, np.where(known, sums.terms / weights, 0.0)
    self_weights = np.where(known, weights**2 - sums.pairs, 0.0)
    variances = np.maximum(gaps**2 - sums.mean_products(), 0.0)
    noise = masses * (variances + _smoothing(samples, groups, weights, self_weights, known, z))
    squares = masses * gaps**2
    plug_in, expected = float(squares.sum()), float(noise.sum())
    scale = float(np.dot(noise, noise)) / expected
    if plug_in > 0.0:
        own_weights = float(np.where(known, self_weights, sums.weights**2).sum())
        of_masses = own_weights / total**2 * float(np.dot(masses, (gaps**2 - plug_in) ** 2))
        scale = max(scale, (float(np.dot(noise, squares)) + of_masses / 4.0) / plug_in)
    freedom = expected / scale
    lower = _noncentrality((estimate + expected) / scale, freedom, 1.0 - alpha / 2.0, z)
    # An estimate below 0 is noise that happened to be small; it makes no error smaller than an estimate of 0 does.
    upper = _noncentrality((max(estimate, 0.0) + expected) / scale, freedom, alpha / 2.0, -z)
    return scale * lower, min(1.0, scale * upper)


def _smoothing(samples: Samples, groups: Groups, weights: Float64s, self_weights: Float64s, known: Bools, z: float) -> Float64s:
    """What drawing the rate of each bin towards 1/2, by z^2 samples, adds to the variance of its mean residual."""
    rates = groups.sums(samples.row_weights * samples.labels) / weights
    sizes = np.where(known, weights**2 / np.where(known, self_weights, 1.0), 2.0)
    drawn = (rates * sizes + z * z / 2.0) / (sizes + z * z)
    added = np.maximum(drawn * (1.0 - drawn) - rates * (1.0 - rates), 0.0)
    return np.where(known, added / np.maximum(sizes - 1.0, 1.0), 0.0)


def _noncentrality(value: float, freedom: float, probability: float, z: float) -> float:
    """The noncentrality at which a chi-square variable stays at or below `value` with this probability; 0 if there is none."""
    with needed_for("intervals and certificates", extra="fit"):
        from scipy.special import chdtr, chndtrinc

    if chdtr(freedom, value) <= probability:
        return 0.0
    if value <= _LARGE:
        return float(chndtrinc(value, freedom, probability))
    noncentrality = value
    for _ in range(20):  # the deviation of the root hardly depends on the noncentrality
        deviation = math.sqrt((freedom + 2.0 * noncentrality) / (2.0 * (freedom + noncentrality)))
        noncentrality = max(0.0, (math.sqrt(value) - z * deviation) ** 2 - (freedom - 1.0))
    return noncentrality
