"""How good predictions are on rows that no fit has seen; none of it uses fastbin, so that it judges all alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["CLIP", "ECE_BINS", "TEST_LEVEL", "Losses", "binned_error", "is_contradicted", "losses", "probabilities"]

Float64s = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]
UInt8s = npt.NDArray[np.uint8]

CLIP = 1e-15  # log loss takes probabilities from here to 1 - CLIP, for every method and the raw score
ECE_BINS = 15
TEST_LEVEL = 0.01  # the chance that a promise that is kept is called contradicted


@dataclass(frozen=True)
class Losses:
    """Means over the test rows."""

    brier: float
    log_loss: float
    ece: float  # of 15 bins of equal width
    binned_ece: float  # of the evidence bins, the same for all methods


def probabilities(answer: Any, n: int) -> tuple[Float64s, int]:
    """What a method answered, moved into [0, 1], and how many answers were outside; refused unless it is n numbers."""
    found = np.asarray(answer, dtype=np.float64)
    if found.shape != (n,):
        raise ValueError(f"answered an array of shape {found.shape} for {n} scores")
    if not np.isfinite(found).all():
        raise ValueError(f"answered {found[~np.isfinite(found)][0]}")
    inside = np.clip(found, 0.0, 1.0)
    return inside, int(np.count_nonzero(inside != found))


def binned_error(predictions: Float64s, labels: UInt8s, bins: Int64s) -> float:
    """The mean over rows of |mean prediction - frequency of label 1| of the row's bin."""
    return float(np.abs(np.bincount(bins, predictions - labels)).sum()) / len(labels)


def losses(predictions: Float64s, labels: UInt8s, evidence_bins: Int64s) -> Losses:
    """All four of one method on one test set."""
    inside = np.clip(predictions, CLIP, 1.0 - CLIP)
    of_equal_width = np.minimum((predictions * ECE_BINS).astype(np.int64), ECE_BINS - 1)
    return Losses(
        brier=float(np.mean((predictions - labels) ** 2)),
        log_loss=-float(np.mean(np.where(labels == 1, np.log(inside), np.log1p(-inside)))),
        ece=binned_error(predictions, labels, of_equal_width),
        binned_ece=binned_error(predictions, labels, evidence_bins),
    )


def is_contradicted(predictions: Float64s, labels: UInt8s, bins: Int64s, radii: Float64s) -> bool:
    """Whether test rows contradict "in each bin |frequency of label 1 - mean prediction| is at most its radius".

    A kept promise is contradicted with a chance of at most about `TEST_LEVEL`, shared among the bins with test rows and then
    halved. One half is for the mean prediction of the bin, of which the test rows give an estimate: a normal margin, 0 where
    all predictions are the same. The other is for the labels: given the bin they are draws with its frequency, so their sum is
    binomial, and the promise is contradicted where the sum is too large or too small for every frequency within reach.
    """
    from scipy.stats import binom, norm

    counts = np.bincount(bins, minlength=len(radii))
    is_tested = counts > 0
    share = TEST_LEVEL / max(1, int(is_tested.sum()))
    n = np.maximum(counts, 1)
    sums = np.bincount(bins, labels, len(radii))
    means = np.bincount(bins, predictions, len(radii)) / n
    deviations = np.sqrt(np.bincount(bins, (predictions - means[bins]) ** 2, len(radii)) / n)
    reach = np.asarray(radii) + norm.isf(share / 4.0) * deviations / np.sqrt(n)
    too_many = binom.sf(sums - 1.0, n, np.minimum(means + reach, 1.0)) < share / 4.0
    too_few = binom.cdf(sums, n, np.maximum(means - reach, 0.0)) < share / 4.0
    return bool((is_tested & (too_many | too_few)).any())
