"""The squared mean of a bin without the bias of noise: the mean product over pairs of different samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fastbin._typing import Bools, Float64s
from fastbin.assess._samples import Groups, Samples


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
        self_weights, several = _self_weights(samples), groups.sums(samples.frequencies) > 1.5
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


def _self_weights(samples: Samples) -> Float64s:
    """The weight that pairs of a sample with itself have in a row: w^2, or the frequency."""
    return samples.row_weights if samples.frequencies is not None else samples.row_weights**2


def jackknife_variance(samples: Samples, groups: Groups, terms: Float64s, sums: PairSums) -> float:
    """The jackknife variance of the weighted mean of `sums.mean_products`. O(n): leaving out a sample changes one group."""
    n = samples.n_samples
    if n < 2:
        return 0.0
    weight = np.ones(len(terms)) if samples.frequencies is not None else samples.row_weights  # of one sample
    repetitions = samples.row_weights if samples.frequencies is not None else np.ones(len(terms))
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
