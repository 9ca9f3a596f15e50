"""What calibration error a perfectly calibrated predictor would show by chance, on the same predictions in the same bins.

Given the predictions p of a bin, the label sum of a calibrated predictor is a sum of independent Bernoulli(p) variables. Its
law is computed where its variance is at most `LARGEST_EXACT`, from the characteristic function; above, the normal law is used,
which gives E|sum - mean| within 0.2 %. Predictions of a bin are first averaged in cells of equal width on the scale
asin(sqrt(p)): the variance of a sum then changes by less than 1e-5 of itself, and its mean not at all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s

MOST_BINS = 1000  # of more, the level is not computed
LARGEST_EXACT = 100.0  # variance of a label sum
WINDOW = 256  # sums around the mean whose chances are computed: at least 12 standard deviations on each side
N_CELLS = 512
N_DRAWS, SEED = 10_000, 0  # of the simulation that gives the points


class ChanceLevel(NamedTuple):
    """The errors that a perfectly calibrated predictor would show in the same bins; part of a `ReliabilityTable`.

    Attributes
    ----------
    ece, ece_95 : float
        The expectation of the l_1 calibration error, and its 95 % point, which one test set of twenty exceeds.
    max_gap, max_gap_95 : float
        The same of the largest gap of a bin.
    """

    ece: float
    ece_95: float
    max_gap: float
    max_gap_95: float


class Noise(NamedTuple):
    """What is known of the label sums of bins if the predictions are calibrated: rows by bin and cell of predictions.

    With importance weights there are no cells, and `variances` are those of the weighted sums.
    """

    weights: Float64s  # of each bin
    variances: Float64s  # of the label sum of each bin
    first: Int64s  # the first cell of each bin, and the number of cells
    counts: Float64s  # of each cell
    means: Float64s

    @classmethod
    def of_values(cls, values: Float64s, counts: Float64s) -> Noise:
        """Of bins with one prediction each."""
        return cls(counts, counts * values * (1.0 - values), np.arange(len(counts) + 1), counts, values)

    @classmethod
    def of_rows(cls, bins: Array, predictions: Float64s, frequencies: Int64s | None, n_bins: int) -> Noise:
        """Of bins of rows. O(n)."""
        codes = np.minimum((np.arcsin(np.sqrt(predictions)) * (N_CELLS / (np.pi / 2.0))).astype(np.int32), N_CELLS - 1)
        codes += np.asarray(bins, np.int32) * np.int32(N_CELLS)
        counts = np.bincount(codes, frequencies, n_bins * N_CELLS).astype(np.float64, copy=False)
        sums = np.bincount(codes, predictions if frequencies is None else predictions * frequencies, n_bins * N_CELLS)
        seen = np.flatnonzero(counts)
        counts, sums, owners = counts[seen], sums[seen], seen // N_CELLS
        first = np.append(np.flatnonzero(np.diff(owners, prepend=-1)), len(seen))
        means = np.minimum(sums / counts, 1.0)
        weights, variances = (np.add.reduceat(terms, first[:-1]) for terms in (counts, counts * means * (1.0 - means)))
        return cls(weights, variances, first, counts, means)

    @classmethod
    def of_weighted(cls, weights: Float64s, variances: Float64s) -> Noise:
        """Of bins with importance weights: the sums are taken as normal."""
        nothing = np.empty(0)
        return cls(weights, variances, np.zeros(len(weights) + 1, np.int64), nothing, nothing)

    def level(self) -> ChanceLevel:
        """The chance level: the expected error from the laws, the rest from 10,000 draws of all label sums, at a fixed seed."""
        generator = np.random.Generator(np.random.PCG64(SEED))
        errors, largest, expected = np.zeros(N_DRAWS), np.zeros(N_DRAWS), 0.0
        columns = (self.weights, self.variances, self.first[:-1], self.first[1:])
        for weight, variance, start, end in zip(*(column.tolist() for column in columns), strict=True):
            if variance > LARGEST_EXACT or start == end:
                distances = np.abs(generator.standard_normal(N_DRAWS)) * np.sqrt(variance)
                expected += float(np.sqrt(2.0 * variance / np.pi))
            else:
                chances, deviations = law_of_sum(self.counts[start:end], self.means[start:end])
                reached = np.cumsum(chances)
                drawn = np.searchsorted(reached, generator.random(N_DRAWS) * reached[-1], side="right")
                distances = np.abs(deviations)[drawn]
                expected += float(np.dot(chances, np.abs(deviations)))
            errors += distances
            np.maximum(largest, distances / weight, out=largest)
        total = float(self.weights.sum())
        points = np.quantile(errors / total, 0.95), np.quantile(largest, 0.95)
        return ChanceLevel(expected / total, float(points[0]), float(largest.mean()), float(points[1]))


def law_of_sum(counts: Float64s, frequencies: Float64s) -> tuple[Float64s, Float64s]:
    """The chances of the values of a sum of independent binomials, and how far each is from the mean.

    The variance is at most `LARGEST_EXACT`. By Fourier inversion of the characteristic function, in a window outside of which
    less than 1e-18 lies.
    """
    mean = float(np.dot(counts, frequencies))
    least = np.floor(mean) - WINDOW // 2
    angles = 2.0 * np.pi / WINDOW * np.arange(WINDOW // 2 + 1)
    factors = (1.0 + np.multiply.outer(frequencies, np.exp(1j * angles) - 1.0)) ** counts[:, np.newaxis]
    chances = np.fft.irfft(np.conj(factors.prod(axis=0) * np.exp(-1j * angles * least)), WINDOW)
    return np.maximum(chances, 0.0), least + np.arange(WINDOW) - mean
