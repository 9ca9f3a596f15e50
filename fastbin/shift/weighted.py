"""A bin's target frequency of label 1 from weighted source samples: its tally, three estimates, and intervals."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s, Int64s, UInt8s
from fastbin._base.checks import (
    check_alpha,
    check_flag,
    check_number,
    check_sample_weight,
    check_scores,
    refuse_first,
)
from fastbin._base.errors import GuaranteeError, InputError, warn
from fastbin._core.schemes import SCHEMES
from fastbin._fit.calibrator import Calibrator
from fastbin._fit.tally import Partition, tally_bins
from fastbin.guarantees.evidence import is_moved
from fastbin.intervals import (
    betting,
    bonferroni,
    sidak,
    weighted_empirical_bernstein,
)
from fastbin.intervals.binomial import as_doubles
from fastbin.intervals.weighted import ROUNDING, positive_per_bin, self_normalised, theorem7, theorem10, weighted_means
from fastbin.model import BinnedModel
from fastbin.model_set import as_model

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
        warn(
            f"the estimate of {partition.describe(b)} is {estimates[b]:.4g}, above 1, and is served as 1; "
            "estimator='self-normalised' stays within [0, 1]",
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
    masses = as_doubles(relative_mass, "relative_mass")
    if masses.shape != (n_bins,):
        remedy = f"give one number for each of the {n_bins} bins"
        raise InputError(f"has shape {masses.shape}", remedy, argument="relative_mass")
    bad = ~((masses > 0.0) & np.isfinite(masses))
    refuse_first(bad, "relative_mass", masses, "it is P_source(bin) / P_target(bin), positive and finite")
    return masses


def relative_mass_of(
    estimator: str, partition: Partition, tally: Evidence, given: Float64s | None, unlabelled: dict[str, Any], seed: int
) -> Float64s:
    """m of each bin: as given; counted, equation (47); or from the weights, equation (42), NaN for a bin without samples.

    `unlabelled`: scores of both populations by the names of the arguments, or None; the seed is that of their tie keys.
    """
    has_scores = [scores is not None for scores in unlabelled.values()]
    if estimator == "counted-mass":
        if not all(has_scores):
            raise InputError("estimator='counted-mass' needs source_scores and target_scores, unlabelled")
        return _counted_mass(partition, unlabelled, seed)
    if any(has_scores):
        raise InputError(f"source_scores and target_scores are for estimator='counted-mass', not {estimator!r}")
    if given is not None:
        return given
    if estimator == "known-mass":
        remedy = "estimator='known-mass' needs P_source(bin) / P_target(bin) for each bin"
        raise InputError("is None", remedy, argument="relative_mass")
    counts = tally["counts"]
    return np.divide(counts, tally["weight_sums"], out=np.full(partition.n_bins, np.nan), where=counts > 0)


def _counted_mass(partition: Partition, unlabelled: dict[str, Any], seed: int) -> Float64s:
    shares = []  # of the scores of either population in each bin
    for name, scores in unlabelled.items():
        bins = partition.assign(check_scores(scores, partition.score_range, name), seed=seed)
        if bins.shape[0] == 0:
            raise InputError("is empty", "estimator='counted-mass' counts unlabelled scores of both populations", argument=name)
        shares.append(np.bincount(bins, minlength=partition.n_bins) / bins.shape[0])
    if (shares[1] == 0.0).any():
        raise InputError(
            f"no target score is in {partition.describe(int(np.argmax(shares[1] == 0.0)))}, so equation (47) divides by 0",
            "take fewer bins, more target scores, or estimator='self-normalised'",
        )
    return np.asarray(shares[0] / shares[1])


# ------------------------------------------------------------------------------------------------- intervals


METHODS = ("betting", "self-normalised-hoeffding", "empirical-bernstein", "theorem7", "theorem10")
UNION_METHODS = ("theorem7", "theorem10")  # whose statement shares alpha by a union bound


def effective_sample_sizes(model: BinnedModel | Calibrator) -> Float64s:
    """Kish's effective number of samples per bin, (sum w)^2 / sum w^2.

    The variance of a weighted mean is about that of a plain mean of so many samples. No guarantee may be computed from it: a
    Clopper-Pearson interval at this size covers far too rarely where a few weights are large.

    Parameters
    ----------
    model : BinnedModel or fitted calibrator
        Fitted with importance weights.

    Returns
    -------
    float64 (n_bins,)
        Between 0 (a bin without samples) and the count.

    Raises
    ------
    InputError
        When the model is not weighted.

    Examples
    --------
    >>> import fastbin as fb
    >>> cal = fb.UniformMassBinning(n_bins=1).fit([0.1, 0.2, 0.6], [0, 1, 1], sample_weight=[1.0, 1.0, 2.0])
    >>> effective_sample_sizes(cal.model_).round(4)
    array([2.6667])
    """
    model = as_model(model)
    _require_weights(model)
    squares = np.asarray(model.weight_square_sums)
    return np.divide(np.asarray(model.weight_sums) ** 2, squares, out=np.zeros(model.n_bins), where=squares > 0.0)


def weighted_interval(
    model: BinnedModel | Calibrator,
    weight_bound: Any,
    *,
    alpha: float = 0.1,
    simultaneous: bool = True,
    weight_error: float | None = None,
) -> Float64s:
    """Intervals for the target frequency of label 1 in each bin of a weighted model, from its tally alone.

    Self-normalised Hoeffding (`fastbin.intervals.self_normalised_hoeffding`): all that a saved model allows. The betting
    intervals of `ImportanceWeightedBinning.interval` are narrower and need the samples.

    Parameters
    ----------
    model : BinnedModel or fitted calibrator
        Fitted with importance weights, by `ImportanceWeightedBinning` or by ``UniformMassBinning.fit(sample_weight=...)``; also
        loaded from a file.
    weight_bound : float or array-like of float, shape (n_bins,)
        The largest weight in the source population (of each bin, where known), not merely in the sample.
    alpha : float
        The chance that an interval misses; of any, where `simultaneous`. From 1e-100 to 1/2.
    simultaneous : bool
        Whether alpha is shared among the bins.
    weight_error : float, optional
        For estimated weights: the factor G >= 1 by which they may be off, so that every true weight lies in [w / G, w G].
        The interval then covers whatever the true weights in that range are. 1 takes the weights as exact.

    Returns
    -------
    float64 (n_bins, 2)
        [0, 1] for a bin without weight.

    Raises
    ------
    GuaranteeError
        When the model's bins are not independent of the labels (isotonic, "ze", "umb", whole groups of equal scores at edges
        but for "ums"), or its weights were estimated and `weight_error` is not given.
    InputError
        When the model is not weighted, an argument is out of range, or some weight must be above `weight_bound`.

    Notes
    -----
    Given the edges, the pairs (w, Y) of a bin are independent draws and bins are independent (Gupta & Ramdas 2021, Lemma 2 for
    pairs), so Sidak's level is used. O(n_bins).

    Examples
    --------
    >>> import numpy as np
    >>> import fastbin as fb
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(2000)
    >>> cal = fb.UniformMassBinning(n_bins=3).fit(scores, rng.random(2000) < scores, sample_weight=0.5 + scores)
    >>> weighted_interval(cal.model_, weight_bound=1.5).round(2)
    array([[0.05, 0.3 ],
           [0.42, 0.59],
           [0.8 , 0.92]])
    """
    model = as_model(model)
    error = require_weight_guarantee(model, weight_error)
    ones, weights = np.asarray(model.weighted_label_sums), np.asarray(model.weight_sums)
    zeros, counts = np.maximum(weights - ones, 0.0), np.asarray(model.counts)
    level = level_per_bin(weights, alpha, simultaneous)
    limits = positive_per_bin(weight_bound, model.n_bins, "weight_bound")
    _refuse_refuted(limits, np.asarray(model.weight_square_sums), weights, error)
    # The lower end is least when label-1 samples weigh as little and label-0 samples as much as they may; the upper reversed.
    lower, upper = (
        self_normalised(*weighted_means(ones * up, ones * up + zeros / up, counts), limits, level)
        for up in (1.0 / error, error)
    )
    return np.stack([lower[:, 0], upper[:, 1]], axis=1)


def _refuse_refuted(bound: Float64s, squares: Float64s, sums: Float64s, error: float) -> None:
    """Refuse a bound below the weight that a tally proves: the largest weight of a bin is at least their mean by weight."""
    least = np.divide(squares, sums, out=np.zeros(len(sums)), where=sums > 0.0)
    refuted = least / error > bound * (1.0 + ROUNDING)
    if refuted.any():
        b = int(np.argmax(refuted))
        raise InputError(
            f"is {bound[b]:g}, and some weight in bin {b} is at least {least[b]:g}",
            "the bound must hold in the whole source population",
            argument="weight_bound",
        )


class WeightLimits(NamedTuple):
    """Knowledge of the weights."""

    weight_bound: Any  # the largest in the population, of all bins or of each
    weight_min: float | None  # the least
    weight_error: float  # the factor by which weights may be off


def check_limits(limits: WeightLimits, rows: WeightedRows, n_bins: int) -> None:
    """Refuse a bound that is missing, has the wrong shape, or is passed by a weight even if that is off."""
    if limits.weight_bound is None:
        raise InputError(
            "is None",
            "intervals need the largest weight in the source population (the largest among the samples, "
            f"{rows.weights.max(initial=0.0):g}, is only a lower bound on it)",
            argument="weight_bound",
        )
    bound = as_doubles(limits.weight_bound, "weight_bound", "one number, or one per bin")
    if bound.shape not in ((), (n_bins,)):
        remedy = f"give one number, or one for each of the {n_bins} bins"
        raise InputError(f"has shape {bound.shape}", remedy, argument="weight_bound")
    heaviest = np.zeros(n_bins)
    np.maximum.at(heaviest, rows.bins, rows.weights / limits.weight_error)
    if (heaviest > bound).any():
        b = int(np.argmax(heaviest > bound))
        raise InputError(
            f"a weight in bin {b} is {heaviest[b] * limits.weight_error:g}, above the weight_bound "
            f"{np.broadcast_to(bound, (n_bins,))[b]:g}",
            "the bound must hold in the whole source population",
        )


def interval_of_rows(
    model: BinnedModel, rows: WeightedRows, bound: str, level: float, limits: WeightLimits, relative_mass: Float64s | None
) -> Float64s:
    """The interval of one of METHODS that looks at samples, at failure probability `level` per bin."""
    bins: dict[str, Any] = {"bins": rows.bins, "n_bins": model.n_bins}
    weight_bound = limits.weight_bound
    if bound == "betting":
        return _betting(rows, level, limits, model.n_bins)
    if limits.weight_error > 1.0:
        raise GuaranteeError(
            f"bound={bound!r} cannot allow for weight_error: its ends do not move one way with each weight; use 'betting' or "
            "'self-normalised-hoeffding'"
        )
    if bound == "empirical-bernstein":
        return weighted_empirical_bernstein(rows.weights, rows.labels, level, weight_bound, **bins)
    if bound == "theorem7":
        if limits.weight_min is None:
            remedy = "Gupta, Podkopaev & Ramdas 2020, Theorem 7 needs the least weight"
            raise InputError("is None", remedy, argument="weight_min")
        sums = model.weighted_label_sums, model.weight_sums, model.counts
        return theorem7(*sums, level, limits.weight_min, float(np.max(weight_bound)))
    if relative_mass is None:
        raise InputError("Gupta, Podkopaev & Ramdas 2020, Theorem 10 needs relative_mass, known, at the fit")
    return theorem10(rows.weights, rows.labels, level, weight_bound, relative_mass, **bins)


def _betting(rows: WeightedRows, level: float, limits: WeightLimits, n_bins: int) -> Float64s:
    """Each end from the weights in [w / error, w error] that are worst for it; its stakes are settled beforehand."""
    weights, labels, bins = rows
    bound, error = limits.weight_bound, limits.weight_error

    def bet(weights: Float64s) -> Float64s:
        return betting(weights, labels, level, bound, bins=bins, n_bins=n_bins)

    if error == 1.0:
        return bet(weights)
    light = weights / error
    # A true weight is at most the bound, too.
    heavy = np.maximum(light, np.minimum(weights * error, np.broadcast_to(np.asarray(bound, float), (n_bins,))[bins]))
    lower, upper = bet(np.where(labels == 1, light, heavy)), bet(np.where(labels == 1, heavy, light))
    return np.stack([lower[:, 0], upper[:, 1]], axis=1)


def require_weight_guarantee(model: BinnedModel, weight_error: float | None) -> float:
    """The factor by which weights may be off; raises where no finite-sample statement about the bins can be made."""
    _require_weights(model)
    if is_moved(model):
        raise GuaranteeError(
            "the values were moved to other class rates, and the weighted tally is of those of the fit; take the model before"
        )
    if not SCHEMES[model.scheme].continuable:
        raise GuaranteeError(
            f"scheme {model.scheme!r} chooses edges by labels or averages boundary samples, so its weighted samples are not "
            "independent draws from their bins (Gupta & Ramdas 2021, Lemma 2); use scheme 'umd' or 'ums', or fixed edges"
        )
    # Split samples are exempt: their edges come from the other part, so a rule for ties is part of a fixed partition.
    if model.ties in ("upper", "lower", "whole") and model.n_tied > 0 and model.scheme != "ums":
        raise GuaranteeError(
            f"{model.n_tied} samples share a score with an edge and ties={model.ties!r} sends them all to one side, so that "
            "weighted samples are not independent draws from their bins (Gupta & Ramdas 2021, Lemma 2, assumes distinct "
            "scores); fit with scheme='ums' or ties='random'"
        )
    if weight_error is None and weights_are_estimated(model):
        raise GuaranteeError(
            "the weights were estimated, and no finite-sample guarantee holds for estimated weights (Gupta, Podkopaev & Ramdas "
            "2020, Proposition 2 is asymptotic); give weight_error, the factor by which they may be off, or weight_error=1 to "
            "take them as exact"
        )
    factor = 1.0 if weight_error is None else check_number(weight_error, "weight_error")
    if not (1.0 <= factor < np.inf):
        raise InputError(None, "it is a factor, at least 1 and finite", argument="weight_error", value=factor)
    return factor


def weights_are_estimated(model: BinnedModel) -> bool:
    """Whether the model says so; in files of fastbin 0.1.0 its note does."""
    if model.weights == "estimated":
        return True
    try:
        note = json.loads(model.note or "{}")
    except (ValueError, RecursionError):
        return False
    return isinstance(note, dict) and note.get("weights") == "estimated"


def level_per_bin(weight_sums: Float64s, alpha: float, simultaneous: bool, union: bool = False) -> float:
    """The failure probability of each bin: alpha shared among the bins with weight, by Sidak or by a union bound."""
    n_known = int(np.count_nonzero(weight_sums))
    if not check_flag(simultaneous, "simultaneous") or n_known < 2:
        return check_alpha(alpha)
    return bonferroni(alpha, n_known) if union else sidak(alpha, n_known)


def _require_weights(model: BinnedModel) -> None:
    if not model.is_weighted:
        raise InputError("the model was fitted without importance weights", "its intervals are model.interval(...)")
