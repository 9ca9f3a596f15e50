"""The squared calibration error without the bias of noise: mean products over pairs of different samples, and their errors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fastbin._base.array_types import Bools, Float64s
from fastbin.assess.samples import Groups, Samples
from fastbin.intervals._beta import special_functions

# SciPy finds noncentralities up to 10,000 in every version; from this value on the root of the variable is nearly normal.
LARGE_VALUE = 5000.0


@dataclass(frozen=True)
class PairSums:
    """Per group, the sums from which the mean of e e' over pairs of different samples follows.

    E[e e'] over independent samples of a group is the square of the mean of e, while the square of the *sample* mean also holds
    its variance. A frequency of 3 stands for 3 different samples of weight 1.
    """

    weights: Float64s  # sum of w
    terms: Float64s  # sum of w e
    squares: Float64s  # sum of (w e)^2 over samples: the pairs of a sample with itself
    pairs: Float64s  # sum of w w' over ordered pairs of different samples; 0 where a group has none

    @classmethod
    def of(cls, samples: Samples, groups: Groups, terms: Float64s) -> PairSums:
        """The sums of one term per row over each group. O(n)."""
        weights = samples.row_weights
        self_weights = weights**2 if samples.is_weighted else weights  # that pairs of a sample with itself have in a row
        several = groups.sums(samples.frequencies) > 1.5
        total = groups.sums(weights)
        pairs = np.where(several, total**2 - groups.sums(self_weights), 0.0)
        return cls(total, groups.sums(weights * terms), groups.sums(self_weights * terms**2), pairs)

    @property
    def is_known(self) -> Bools:
        """Groups that have a pair."""
        return self.pairs > 0.0

    def mean_products(self) -> Float64s:
        """The mean of e e' over pairs of different samples; 0 for a group without pairs."""
        products = self.terms**2 - self.squares
        return np.divide(products, self.pairs, out=np.zeros_like(products), where=self.is_known)


def jackknife_variance(samples: Samples, groups: Groups, terms: Float64s, sums: PairSums) -> float:
    """The jackknife variance of the weighted mean of `sums.mean_products`. O(n): leaving out a sample changes one group."""
    n = samples.n_samples
    if n < 2:
        return 0.0
    weight, repetitions = np.ones(len(terms)), samples.row_weights  # of one sample, and how many of them a row stands for
    if samples.is_weighted:
        weight, repetitions = repetitions, weight
    bins = groups.bins
    rest = sums.weights[bins] - weight
    several_left = groups.sums(samples.frequencies)[bins] > 2.5
    left = PairSums(
        weights=rest,
        terms=sums.terms[bins] - weight * terms,
        squares=sums.squares[bins] - (weight * terms) ** 2,
        pairs=np.where(several_left, sums.pairs[bins] - 2.0 * weight * rest, 0.0),
    )
    contributions = sums.weights * sums.mean_products()
    moved = contributions.sum() - contributions[bins] + rest * left.mean_products()
    estimates = moved / (sums.weights.sum() - weight)
    centre = np.average(estimates, weights=repetitions)
    return float((n - 1) / n * np.dot(repetitions, (estimates - centre) ** 2))


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
    z = -float(special_functions().ndtri(alpha / 2.0))
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
    # An estimate below 0 is noise; the upper end is that of an estimate of 0.
    upper = _noncentrality((max(estimate, 0.0) + expected) / scale, freedom, alpha / 2.0, -z)
    return scale * lower, min(1.0, scale * upper)


def _smoothing(samples: Samples, groups: Groups, weights: Float64s, self_weights: Float64s, known: Bools, z: float) -> Float64s:
    """What is added to the variance of a bin's mean residual by drawing its rate towards 1/2 with z^2 samples."""
    rates = groups.sums(samples.row_weights * samples.labels) / weights
    sizes = np.where(known, weights**2 / np.where(known, self_weights, 1.0), 2.0)
    drawn = (rates * sizes + z * z / 2.0) / (sizes + z * z)
    added = np.maximum(drawn * (1.0 - drawn) - rates * (1.0 - rates), 0.0)
    return np.where(known, added / np.maximum(sizes - 1.0, 1.0), 0.0)


def _noncentrality(value: float, freedom: float, probability: float, z: float) -> float:
    """The noncentrality at which a chi-square variable stays at or below `value` with this probability; 0 if there is none."""
    special = special_functions()
    if special.chdtr(freedom, value) <= probability:
        return 0.0
    if value <= LARGE_VALUE:
        return float(special.chndtrinc(value, freedom, probability))
    noncentrality = value
    for _ in range(20):  # the deviation of the root hardly depends on the noncentrality
        deviation = math.sqrt((freedom + 2.0 * noncentrality) / (2.0 * (freedom + noncentrality)))
        noncentrality = max(0.0, (math.sqrt(value) - z * deviation) ** 2 - (freedom - 1.0))
    return noncentrality
