"""How far the average of a continuous map is from the rate of a bin, where the map was fitted to the labels of that bin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.checks import check_level, refuse_first
from fastbin.guarantees.two_resolutions import SHARE_OF_MASSES
from fastbin.intervals import clopper_pearson
from fastbin.intervals._tally import as_sums, as_tally


def continuous_map_radii(label_sums: Any, counts: Any, mean_values: Any, value_ranges: Any, alpha: float) -> Float64s:
    """Radii within which the average of a monotone map over a bin lies from the bin's rate, though it saw the labels.

    By the inequality of Dvoretzky, Kiefer & Wolfowitz with Massart's constant: the mean of v over the N interior samples of a
    bin is within range sqrt(ln(2 / (w alpha)) / (2 N)) of E[v | bin] for all monotone v at once. Fitting v to the same samples
    therefore costs nothing over an independent part. w = 0.1 of alpha goes to it, the rest to the Clopper-Pearson interval.

    Parameters
    ----------
    label_sums, counts : array-like of int, shape (n_bins,)
        The interior samples of each bin, boundary samples left out, and how many have label 1.
    mean_values : array-like of float, shape (n_bins,)
        The mean of the map over these samples, in [0, 1].
    value_ranges : array-like of float, shape (n_bins,)
        The greatest value of the map in the bin less the least, over all scores of the bin, not those of the samples alone.
    alpha : float
        Failure probability of each bin, from 1e-100 to 1/2; for several at once pass ``fb.intervals.sidak(alpha, n_bins)``.

    Returns
    -------
    float64 (n_bins,)
        At most 1; 1 for a bin without samples.

    Raises
    ------
    InputError, InputTypeError
        When an argument is outside its range or of the wrong type.

    Notes
    -----
    Assumes that the edges of the bins never looked at a label and that no score at an edge has a positive probability of its
    own. For steps, `CertifiedCalibration` has a bound that is up to 12 % smaller and needs no monotone map. O(n_bins).

    Examples
    --------
    >>> continuous_map_radii([40, 80], [100, 100], [0.41, 0.79], [0.3, 0.2], alpha=0.05).round(3)
    array([0.161, 0.119])
    """
    alpha, tally = check_level(alpha), as_tally(label_sums, counts)
    means, ranges = (
        as_sums(column, name, tally.counts.shape)
        for column, name in ((mean_values, "mean_values"), (value_ranges, "value_ranges"))
    )
    refuse_first(means > 1.0, "mean_values", means, "the mean of probabilities is at most 1")
    refuse_first(ranges > 1.0, "value_ranges", ranges, "probabilities differ by at most 1")
    rates = clopper_pearson(tally.sums, tally.counts, (1.0 - SHARE_OF_MASSES) * alpha)
    second = ranges * np.sqrt(math.log(2.0 / (SHARE_OF_MASSES * alpha)) / (2.0 * tally.filled))
    radii = np.maximum(rates[:, 1] - means, means - rates[:, 0]) + second
    return np.where(tally.counts > 0, np.minimum(radii, 1.0), 1.0)
