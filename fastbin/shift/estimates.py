"""The three estimates of a bin's target frequency of label 1 from weighted source samples, and the tally they come from."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s, Int64s, UInt8s
from fastbin._base.checks import as_scores, check_sample_weight, refuse_first
from fastbin._base.errors import FastbinWarning, InputError
from fastbin._fit.tally import Partition, tally_bins

Evidence = dict[str, Any]  # parts of a model by their names

ESTIMATORS = ("self-normalised", "known-mass", "counted-mass")


class WeightedRows(NamedTuple):
    """The samples that bins count."""

    weights: Float64s
    labels: UInt8s
    bins: Int64s


def weigh_bins(rows: WeightedRows, partition: Partition) -> Evidence:
    """Counts, label sums and weight sums per bin, by the names of a model's parts.

    Raises InputError for a bin that holds samples and no weight: the target never goes there, or the weights are wrong.
    """
    tally = tally_bins(rows.bins, rows.labels, rows.weights, partition.n_bins).parts()
    bad = (tally["counts"] > 0) & (tally["weight_sums"] == 0.0)
    if bad.any():
        b = int(np.argmax(bad))
        raise InputError(
            f"all {tally['counts'][b]} weights in {partition.describe(b)} are 0, so it has no estimate",
            "merge it with a neighbour (fewer bins), or leave out samples where the target has none",
        )
    return tally


def estimate(estimator: str, tally: Evidence, relative_mass: Float64s) -> Float64s:
    """Equation (22), or (40) and (47), of Gupta, Podkopaev & Ramdas 2020; 0.5 for a bin without samples."""
    counts, known = tally["counts"], tally["counts"] > 0
    if estimator == "self-normalised":
        return np.where(known, tally["weighted_label_sums"] / np.where(known, tally["weight_sums"], 1.0), 0.5)
    means = tally["weighted_label_sums"] / np.maximum(counts, 1)
    return np.where(known, relative_mass * means, 0.5)


def limit_to_unit(estimates: Float64s, partition: Partition) -> Float64s:
    """The estimates cut at 1, with a warning that names the first bin: only the self-normalised one cannot pass 1."""
    above = estimates > 1.0
    if above.any():
        b = int(np.argmax(above))
        warnings.warn(
            f"the estimate of {partition.describe(b)} is {estimates[b]:.4g}, above 1, and is served as 1; "
            "estimator='self-normalised' stays within [0, 1]",
            FastbinWarning,
            stacklevel=3,
        )
    return np.minimum(estimates, 1.0)


def check_weights(weights: Any) -> Float64s:
    """Density ratios as float64, finite and not negative."""
    checked = check_sample_weight(weights)
    if checked is None:
        remedy = "give the density ratio of each sample, or let fit_to_target estimate it from features"
        raise InputError("is None", remedy, argument="sample_weight")
    return checked.astype(np.float64)


def check_relative_mass(relative_mass: Any, n_bins: int) -> Float64s:
    """P_source(bin) / P_target(bin) for each bin."""
    masses = np.asarray(relative_mass, dtype=np.float64)
    if masses.shape != (n_bins,):
        remedy = f"give one number for each of the {n_bins} bins"
        raise InputError(f"has shape {masses.shape}", remedy, argument="relative_mass")
    bad, remedy = ~((masses > 0.0) & np.isfinite(masses)), "it is P_source(bin) / P_target(bin), positive and finite"
    refuse_first(bad, "relative_mass", masses, remedy)
    return masses


class Unlabelled(NamedTuple):
    """Scores without labels of both populations, or None, and how to assign them to bins."""

    source: Any
    target: Any
    seed: int


def relative_mass_of(
    estimator: str, partition: Partition, tally: Evidence, given: Float64s | None, unlabelled: Unlabelled
) -> Float64s:
    """m of each bin: as given; counted, equation (47); or from the weights, equation (42), NaN for a bin without samples."""
    has_scores = [scores is not None for scores in unlabelled[:2]]
    if estimator == "counted-mass":
        if not all(has_scores):
            raise InputError("estimator='counted-mass' needs source_scores and target_scores, unlabelled")
        return _counted_mass(partition, unlabelled)
    if any(has_scores):
        raise InputError(f"source_scores and target_scores are for estimator='counted-mass', not {estimator!r}")
    if given is not None:
        return given
    if estimator == "known-mass":
        remedy = "estimator='known-mass' needs P_source(bin) / P_target(bin) for each bin"
        raise InputError("is None", remedy, argument="relative_mass")
    counts = tally["counts"]
    return np.divide(counts, tally["weight_sums"], out=np.full(partition.n_bins, np.nan), where=counts > 0)


def _counted_mass(partition: Partition, unlabelled: Unlabelled) -> Float64s:
    """The share of unlabelled source scores in each bin over that of target scores."""
    shares = []
    for name, scores in (("source_scores", unlabelled.source), ("target_scores", unlabelled.target)):
        bins = partition.assign(as_scores(scores, name), seed=unlabelled.seed)
        if bins.shape[0] == 0:
            raise InputError("is empty", "estimator='counted-mass' counts unlabelled scores of both populations", argument=name)
        shares.append(np.bincount(bins, minlength=partition.n_bins) / bins.shape[0])
    if (shares[1] == 0.0).any():
        raise InputError(
            f"no target score is in {partition.describe(int(np.argmax(shares[1] == 0.0)))}, so equation (47) divides by 0",
            "take fewer bins, more target scores, or estimator='self-normalised'",
        )
    return np.asarray(shares[0] / shares[1])
