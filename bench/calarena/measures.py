"""How good predictions are on rows that no fit has seen; none of it uses fastbin, so that it judges all alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["CLIP", "ECE_BINS", "TEST_LEVEL", "Losses", "binned_error", "is_contradicted", "losses", "of_top", "probabilities"]

Float64s = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]
UInt8s = npt.NDArray[np.uint8]

CLIP = 1e-15  # log loss takes probabilities from here to 1 - CLIP, for every method and the raw score
ECE_BINS = 15
SUM_TOLERANCE = 1e-4  # of rows of several classes, for libraries that count in float32
TEST_LEVEL = 0.01  # the chance that a promise that is kept is called contradicted


@dataclass(frozen=True)
class Losses:
    """Means over the test rows."""

    brier: float
    log_loss: float
    ece: float  # of 15 bins of equal width
    binned_ece: float  # of the evidence bins, the same for all methods


def probabilities(answer: Any, shape: tuple[int, ...]) -> tuple[Float64s, int]:
    """What a method answered, moved into [0, 1], and how many numbers were outside.

    Refused unless it has the shape of the scores. Rows of several classes must sum to 1: one number that is as large as it
    likes would win in log loss.
    """
    found = np.asarray(answer, dtype=np.float64)
    if found.shape != shape:
        raise ValueError(f"answered an array of shape {found.shape} for scores of shape {shape}")
    if not np.isfinite(found).all():
        raise ValueError(f"answered {found[~np.isfinite(found)][0]}")
    sums = found.sum(axis=1) if found.ndim == 2 else np.ones(1)
    if np.abs(sums - 1.0).max() > SUM_TOLERANCE:
        raise ValueError(f"answered a row that sums to {sums[np.abs(sums - 1.0).argmax()]:.6g}")
    inside = np.clip(found, 0.0, 1.0)
    return inside, int(np.count_nonzero(inside != found))


def binned_error(predictions: Float64s, labels: UInt8s, bins: Int64s) -> float:
    """The mean over rows of |mean prediction - frequency of label 1| of the row's bin."""
    return float(np.abs(np.bincount(bins, predictions - labels)).sum()) / len(labels)


def of_top(scores: Float64s, labels: UInt8s) -> tuple[Float64s, UInt8s]:
    """Scores and labels as they are; of several classes the largest score of each row, and whether its class is right."""
    if scores.ndim == 1:
        return scores, labels
    return scores.max(axis=1), (scores.argmax(axis=1) == labels).astype(np.uint8)


def losses(predictions: Float64s, labels: UInt8s, evidence_bins: Int64s) -> Losses:
    """All four of one method on one test set; with several classes, both errors of bins are those of the top label."""
    if predictions.ndim == 2:
        tops = losses(*of_top(predictions, labels), evidence_bins)
        at_label = predictions[np.arange(len(labels)), labels]
        return Losses(
            brier=float(np.mean((predictions**2).sum(axis=1) - 2.0 * at_label + 1.0)),
            log_loss=-float(np.mean(np.log(np.clip(at_label, CLIP, 1.0)))),
            ece=tops.ece,
            binned_ece=tops.binned_ece,
        )
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
