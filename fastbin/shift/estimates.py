"""The three estimates of a bin's target frequency of label 1 from weighted source samples, and the tally they come from."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastbin._errors import FastbinWarning, InputError
from fastbin._validation import ScoreRange, check_sample_weight
from fastbin.shift.source_bins import SourceBins

__all__ = [
    "ESTIMATORS",
    "Unlabelled",
    "WeightedRows",
    "check_relative_mass",
    "check_weights",
    "estimate",
    "limit_to_unit",
    "relative_mass_of",
    "tally_rows",
]

Float64s = npt.NDArray[np.float64]
Tally = dict[str, Any]  # name of a model's column: its values

ESTIMATORS = ("self-normalised", "known-mass", "counted-mass")


class WeightedRows(NamedTuple):
    """The samples that bins count."""

    weights: Float64s
    labels: npt.NDArray[np.uint8]
    bins: npt.NDArray[np.int64]


def tally_rows(rows: WeightedRows, cells: SourceBins) -> Tally:
    """Counts, label sums and weight sums per bin. Sums of weights are exact and rounded once, so row order does not matter.

    Raises InputError for a bin that holds samples and no weight: the target never goes there, or the weights are wrong.
    """
    n_bins = cells.n_bins
    counts = np.bincount(rows.bins, minlength=n_bins)
    with np.errstate(over="ignore"):
        squares = rows.weights**2
    if not np.isfinite(squares).all():
        largest = float(rows.weights.max())
        raise InputError(f"weights has {largest!r}, whose square overflows; divide all weights by a constant")
    order = np.argsort(rows.bins, kind="stable")
    ends = np.cumsum(counts)[:-1]
    sums = {
        "weight_sums": rows.weights,
        "weighted_label_sums": rows.weights * rows.labels,
        "weight_square_sums": squares,
    }
    tally: Tally = {"counts": counts, "label_sums": np.bincount(rows.bins, rows.labels, n_bins).astype(np.int64)}
    for name, values in sums.items():
        tally[name] = np.array([math.fsum(part.tolist()) for part in np.split(values[order], ends)])
    weightless = (counts > 0) & (tally["weight_sums"] == 0.0)
    if weightless.any():
        b = int(np.argmax(weightless))
        raise InputError(
            f"all {counts[b]} weights in {cells.describe(b)} are 0, so it has no estimate; merge it with a neighbour (fewer "
            "bins), or leave out samples where the target has none"
        )
    return tally


def estimate(estimator: str, tally: Tally, relative_mass: Float64s) -> Float64s:
    """Equation (22), or (40) and (47), of Gupta, Podkopaev & Ramdas 2020; 0.5 for a bin without samples."""
    counts, known = tally["counts"], tally["counts"] > 0
    if estimator == "self-normalised":
        return np.where(known, tally["weighted_label_sums"] / np.where(known, tally["weight_sums"], 1.0), 0.5)
    means = tally["weighted_label_sums"] / np.maximum(counts, 1)
    return np.where(known, relative_mass * means, 0.5)


def limit_to_unit(estimates: Float64s, cells: SourceBins) -> Float64s:
    """The estimates cut at 1, with a warning that names the first bin: only the self-normalised one cannot pass 1."""
    above = estimates > 1.0
    if above.any():
        b = int(np.argmax(above))
        warnings.warn(
            f"the estimate of {cells.describe(b)} is {estimates[b]:.4g}, above 1, and is served as 1; "
            "estimator='self-normalised' stays within [0, 1]",
            FastbinWarning,
            stacklevel=3,
        )
    return np.minimum(estimates, 1.0)


def check_weights(weights: Any) -> Float64s:
    """Density ratios as float64, finite and not negative."""
    checked = check_sample_weight(weights, "weights")
    if checked is None:
        raise InputError(
            "weights is None; give the density ratio of each sample, or let fit_to_target estimate it from features"
        )
    return checked.astype(np.float64)


def check_relative_mass(relative_mass: Any, n_bins: int) -> Float64s:
    """P_source(bin) / P_target(bin) for each bin."""
    masses = np.asarray(relative_mass, dtype=np.float64)
    if masses.shape != (n_bins,):
        raise InputError(f"relative_mass has shape {masses.shape}; give one number for each of the {n_bins} bins")
    bad = ~((masses > 0.0) & np.isfinite(masses))
    if bad.any():
        b = int(np.argmax(bad))
        raise InputError(f"relative_mass[{b}] is {masses[b]}; it is P_source(bin) / P_target(bin), positive and finite")
    return masses


class Unlabelled(NamedTuple):
    """Scores without labels of both populations, or None, and how to assign them to bins."""

    source: Any
    target: Any
    score_range: ScoreRange
    seed: int


def relative_mass_of(
    estimator: str, cells: SourceBins, tally: Tally, given: Float64s | None, unlabelled: Unlabelled
) -> Float64s:
    """m of each bin: as given; counted, equation (47); or from the weights, equation (42), NaN for a bin without samples."""
    has_scores = [scores is not None for scores in unlabelled[:2]]
    if estimator == "counted-mass":
        if not all(has_scores):
            raise InputError("estimator='counted-mass' needs source_scores and target_scores, unlabelled")
        return _counted_mass(cells, unlabelled)
    if any(has_scores):
        raise InputError(f"source_scores and target_scores are for estimator='counted-mass', not {estimator!r}")
    if given is not None:
        return given
    if estimator == "known-mass":
        raise InputError("relative_mass is None; estimator='known-mass' needs P_source(bin) / P_target(bin) for each bin")
    counts = tally["counts"]
    return np.divide(counts, tally["weight_sums"], out=np.full(cells.n_bins, np.nan), where=counts > 0)


def _counted_mass(cells: SourceBins, unlabelled: Unlabelled) -> Float64s:
    """The share of unlabelled source scores in each bin over that of target scores."""
    assigner, shares = cells.assigner(unlabelled.score_range), []
    for name, scores in (("source_scores", unlabelled.source), ("target_scores", unlabelled.target)):
        bins = assigner.assign(scores, seed=unlabelled.seed)
        if bins.shape[0] == 0:
            raise InputError(f"{name} is empty; estimator='counted-mass' counts unlabelled scores of both populations")
        shares.append(np.bincount(bins, minlength=cells.n_bins) / bins.shape[0])
    if not shares[1].all():
        b = int(np.argmin(shares[1]))
        raise InputError(
            f"no target score is in {cells.describe(b)}, so equation (47) divides by 0; take fewer bins, more target scores, "
            "or estimator='self-normalised'"
        )
    return np.asarray(shares[0] / shares[1])
