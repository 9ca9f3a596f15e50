"""Intervals for the true frequency of label 1 in the bins of a fitted model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from fastbin._base.array_types import Bools, Float64s, Int64s
from fastbin._base.checks import check_alpha, check_choice, check_flag
from fastbin._base.errors import GuaranteeError, InputError, InputTypeError
from fastbin._core.schemes import ClassRate, ClassRates
from fastbin.guarantees.class_rates import rate_ends, shares_of
from fastbin.guarantees.evidence import (
    Atoms,
    Evidence,
    Interior,
    as_evidence,
    has_whole_ties,
    is_moved,
    refuse_designs,
    require_interior,
    sampling_rate_of,
)
from fastbin.guarantees.rising import band
from fastbin.intervals import bonferroni, clopper_pearson, empirical_bernstein, hoeffding, sidak, wilson
from fastbin.intervals.binomial import check_side, exact_ends, opened, truncated_ends
from fastbin.intervals.finite import rates_of_batch

BinBound = Callable[..., Float64s]  # of label sums, counts, a level and a side

# With the rule by which the bins share alpha.
_BOUNDS: dict[str, tuple[BinBound, Callable[[float, int], float]]] = {
    "clopper-pearson": (exact_ends, sidak),
    "hoeffding": (hoeffding, bonferroni),
    "empirical-bernstein": (empirical_bernstein, bonferroni),
    "wilson": (wilson, sidak),
}
OTHER_SIDE = {"both": "both", "upper": "lower", "lower": "upper"}


def interval_of_interior(interior: Interior, bin_bound: BinBound, level: Any, side: str = "both") -> Float64s:
    """`bin_bound` at failure probability `level` for each bin, in either reading of its tally. Shape (n_bins, 2).

    Where samples at edges are counted apart, a share of the level goes to what they tell: small, where the readings tell more.
    """
    if interior.batch is not None:
        return rates_of_batch(interior.first.label_sums, interior.counts, interior.batch, level, side=side)
    if side != "both" and interior.pool is not None and interior.pool[0] is not None:
        # After stopping it is both ends together whose misses are known.
        return opened(interval_of_interior(interior, bin_bound, level), side)
    atoms = interior.atoms
    share = 0.0 if atoms is None else (atoms.sure / (interior.counts + 1.0)) ** 2
    readings = [(reading.label_sums, reading.counts) for reading in interior.readings]
    intervals = [bin_bound(*reading, (1.0 - share) * level, side=side) for reading in readings]
    lower, upper = (np.array([ends[:, side] for ends in intervals]) for side in (0, 1))
    found = np.stack([lower.min(axis=0), upper.max(axis=0)], axis=1)
    if atoms is not None:
        parted = atoms.sure > 0
        parts = _ends_of_parts(interior, atoms, parted, (share * level)[parted], side)
        # The mean label of the bin lies in both, so that they meet.
        found[parted] = np.stack([np.maximum(found[parted, 0], parts[:, 0]), np.minimum(found[parted, 1], parts[:, 1])], axis=1)
    return found


# Shares of the level of three parts: of the rate at its edge, of that above, and of the mass at the edge.
OF_ATOM, OF_OTHERS, OF_MASS = 0.45, 0.45, 0.1


def _ends_of_parts(interior: Interior, atoms: Atoms, parted: Bools, levels: Float64s, side: str) -> Float64s:
    """The rates of bins from those at their edges and above, and the mass at their edges (docs/guarantees.md, Theorem F19)."""
    sure, at_edge, ones = (column[parted] for column in atoms)
    counts, label_sums = (column[parted] for column in interior.first)
    atom = exact_ends(ones, at_edge, OF_ATOM * levels, side)
    others = exact_ends(label_sums - ones, counts - at_edge, OF_OTHERS * levels, side)
    masses = truncated_ends(at_edge, counts, sure, OF_MASS * levels)
    corners = masses[:, :, None] * atom[:, None] + (1.0 - masses[:, :, None]) * others[:, None]
    return np.stack([corners[:, :, 0].min(axis=1), corners[:, :, 1].max(axis=1)], axis=1)


# What an interval is about: the true frequency of a bin, or, if it does not fall as scores rise, the truth at a score, or the
# rows of a batch in the bin that have no label.
AT = ("bin", "score", "unlabelled")


def interval(
    evidence: Evidence, alpha: float = 0.1, bound: str = "clopper-pearson", simultaneous: bool = True, *, at: str = "bin",
    side: str = "both",
) -> Float64s:  # fmt: skip
    """An interval for the true frequency of label 1 in each bin of a fitted model, or for the truth at the scores of each step.

    Parameters
    ----------
    evidence : Evidence
        A fitted model, such as `fastbin.BinnedModel`, or a fitted calibrator.
    alpha : float
        Failure probability: of all bins together where `simultaneous`, else of each bin. From 1e-100 to 1/2.
    bound : {"clopper-pearson", "hoeffding", "empirical-bernstein", "wilson"}
        "clopper-pearson" is exact, with Sidak's level across bins, which are independent given the edges. "hoeffding" and
        "empirical-bernstein" (Gupta, Podkopaev & Ramdas 2020, Theorem 4) are the papers' forms, with their union
        bound. "wilson" is approximate and guarantees nothing; it exists for any model that has a tally. Choose one before
        looking at the result: the best of several does not hold at the alpha of each.
    simultaneous : bool
        Whether alpha is shared among the bins that hold samples.
    at : {"bin", "score", "unlabelled"}
        "unlabelled", for a batch of known size: the share of label 1 among the rows of the bin that have no label; [0, 1] where
        all have one. "score": if the truth does not fall as the score rises, the true probability at every score of a step at
        once, and what the step serves, lie in its interval (docs/guarantees.md, Theorem F18). By "clopper-pearson", and
        simultaneous; from the slices of the fit, which those with importance weights and other methods do not keep. [0, 1] for
        fits to fewer than 20 samples.
    side : {"both", "upper", "lower"}
        "upper": all of alpha is for upper ends, above which no frequency lies, and lower ends are 0; "lower" mirrored
        (docs/guarantees.md, Theorem F28). Not with at="score".

    Returns
    -------
    ndarray of float64, shape (n_bins, 2); with at="score" (n_steps, 2)
        Lower and upper ends in [0, 1]. [0, 1] for a bin without samples. Where label shift moved the model, the intervals are
        those of the target: the error of class rates that were counted is in them.

    Raises
    ------
    GuaranteeError
        Where the bound is not "wilson" and the model has no guarantee: smooth or isotonic maps, real weights, tied scores
        sent to one side. Where the model was moved to a class rate that was estimated without labels and without fixed cuts,
        or whose origin its file does not hold (fastbin 0.1.0); where the cuts refute label shift.
    InputError, InputTypeError
        When an argument is outside its range or of the wrong type.

    Notes
    -----
    The schemes "ze" and "umb" also average the label of a boundary sample, which is not a draw from the bin. Their intervals
    are computed from the other samples and are the union over both values that this label can have had. Where whole groups of
    equal scores lie at edges, an interval is the hull of two: of all T samples of the bin, and without the r samples that the
    rank of its edge placed there (docs/guarantees.md, Theorem F1). By "clopper-pearson", where r is at least an eighth of T and
    all samples placed the edges, the samples at the edge are counted apart, too (Theorem F19). For a lowest bin whose edge is
    not written, as no sample lies below, it is of all samples below the next edge (Theorem F14). Where no two samples share the
    score of an edge, it is assumed, as certificates say, that no score there has a probability of its own. O(n_bins).

    Examples
    --------
    >>> import fastbin as fb
    >>> scores, labels = [i / 1000 for i in range(1000)], [int(i % 10 < 8) for i in range(1000)]
    >>> model = fb.UniformMassBinning(n_bins=2).fit(scores, labels).model_
    >>> interval(model, alpha=0.1).round(3)
    array([[0.762, 0.834],
           [0.762, 0.834]])
    """
    alpha, bound, evidence = check_alpha(alpha), check_interval_bound(bound), as_evidence(evidence)
    if check_at(at, bound, simultaneous, check_side(side)) == "score":
        refuse_designs(evidence, "an interval at scores")
        return interval_at_scores(evidence, alpha)
    tally = tally_of(evidence, bound, designed=True)
    if at == "unlabelled":
        return _interval_of_unlabelled(tally, alpha, simultaneous, side)
    n_sharing = int(np.count_nonzero(tally.is_covered)) if simultaneous else 1
    return interval_among(evidence, tally, alpha, bound, n_sharing, side)


def _interval_of_unlabelled(tally: Interior, alpha: float, simultaneous: bool, side: str) -> Float64s:
    """The share of label 1 among the rows of a batch that have none, by bin."""
    if tally.batch is None:
        remedy = "fit to some rows of a batch with population=, the scores of all of them"
        raise GuaranteeError(
            f"at='unlabelled' is about a batch of known size, and the model has no population_counts; {remedy}"
        )
    level = tally.levels(alpha, int(np.count_nonzero(tally.is_covered)) if simultaneous else 1)
    return rates_of_batch(tally.first.label_sums, tally.counts, tally.batch, level, side=side, unlabelled=True)


def check_interval_bound(bound: Any) -> str:
    """The name of a bound."""
    return check_choice(bound, "bound", tuple(_BOUNDS))


def check_at(at: Any, bound: str, simultaneous: bool, side: str) -> str:
    """Bins or scores: which of them intervals are about. Those at scores are by one bound, simultaneous, and of both sides."""
    at = check_choice(at, "at", AT)
    check_flag(simultaneous, "simultaneous")
    fixed = ("bound", bound, "clopper-pearson"), ("simultaneous", simultaneous, True), ("side", side, "both")
    for argument, value, asked in fixed:
        if at == "score" and value != asked:
            remedy = f"intervals at scores have {argument}={asked!r}: leave it out, or pass at='bin'"
            raise InputError(None, remedy, argument=argument, value=value)
    return at


def interval_at_scores(evidence: Evidence, alpha: float) -> Float64s:
    """float64 (n_steps, 2): the band of each step, and what is served in it; at the target, if values were moved."""
    ends = (
        _moved_interval(evidence, alpha, lambda share: band(evidence, share)) if is_moved(evidence) else band(evidence, alpha)
    )
    values, delta = np.asarray(evidence.values, np.float64), float(evidence.delta)
    least, greatest = values / (1.0 + delta), (values + delta) / (1.0 + delta)
    return np.stack([np.minimum(ends[:, 0], least), np.maximum(ends[:, 1], greatest)], axis=1)


def interval_among(
    evidence: Evidence, tally: Interior, alpha: float, bound: str, n_sharing: int, side: str = "both"
) -> Float64s:
    """The intervals of all bins of a model where `n_sharing` bins share alpha; at the target, if its values were moved."""

    def at_source(alpha_of_bins: float) -> Float64s:
        return interval_of_tally(tally, alpha_of_bins, bound, n_sharing, side)

    return _moved_interval(evidence, alpha, at_source, side) if is_moved(evidence) else at_source(alpha)


def interval_of_tally(tally: Interior, alpha: float, bound: str, n_sharing: int, side: str = "both") -> Float64s:
    """Intervals in the population that the tally was drawn from."""
    bin_bound, share = _BOUNDS[bound]
    levels = np.broadcast_to(tally.levels(alpha, n_sharing, share), tally.counts.shape)
    found = np.empty((len(levels), 2))
    for level in np.unique(levels).tolist():  # of the rest another one
        found[levels == level] = interval_of_interior(tally, bin_bound, level, side)[levels == level]
    return found


def tally_of(evidence: Evidence, bound: str, *, designed: bool = False) -> Interior:
    """The part of the tally of a model that this bound counts, if it may; `designed` as in `require_guarantee`."""
    if bound == "empirical-bernstein" and has_whole_ties(evidence):
        raise GuaranteeError(
            "whole groups of equal scores lie at edges, and empirical Bernstein's ends do not rise with the label sum, which "
            "the promise about such bins needs; use bound='clopper-pearson'"
        )
    if bound == "wilson":
        return _whole_tally(evidence)
    designed = designed and bound == "clopper-pearson"
    interior = require_interior(evidence, moved=True, designed=designed)
    return interior if bound == "clopper-pearson" else replace(interior, atoms=None)


def _whole_tally(evidence: Evidence) -> Interior:
    """All samples of each bin, for an approximation that is not exact for boundary labels either."""
    if evidence.counts is None or evidence.label_sums is None:
        raise GuaranteeError("the model carries no tally, so its bins have no intervals; fit a binning")
    if evidence.is_weighted:
        raise GuaranteeError("Wilson's interval is about unweighted samples; use fb.shift.weighted_interval")
    counts, label_sums = np.asarray(evidence.counts), np.asarray(evidence.label_sums)
    return Interior.of(counts, label_sums)


def move_odds(values: Float64s, source_rate: float, target_rate: float) -> Float64s:
    """Equation (13); a target rate of 0 or 1, or a source rate of 1 or 0, gives 0 or 1 throughout."""
    ones, zeros = target_rate * (1.0 - source_rate), (1.0 - target_rate) * source_rate
    if ones == 0.0 or zeros == 0.0:
        return np.full(values.shape, 0.0 if ones == 0.0 else 1.0)
    return np.asarray(ones * values / (ones * values + zeros * (1.0 - values)))


def scale_odds(values: Float64s, ratio: float) -> Float64s:
    """The values after their odds are multiplied by a positive number: z to ratio z / (ratio z + 1 - z); 0 and 1 stay."""
    return np.asarray(ratio * values / (ratio * values + (1.0 - values)))


def _moved_interval(evidence: Evidence, alpha: float, at_source: Callable[[float], Float64s], side: str = "both") -> Float64s:
    """Intervals of a model whose values were moved to other class rates, at the target; together they cover at least 1 - alpha.

    The tally of such a model is that of the source. An interval for a bin's rate at the source is moved as the value was, by
    equation (13) of Sun, Song & Hero (2023). Class rates that were counted are not exact: each has an interval of its own, and
    the ends are moved by the worst rates in these intervals. By the union bound this holds at any sample size, if label shift
    does.

    `_levels` splits alpha. A rate that was estimated from scores at fixed cuts has the interval of fastbin, Theorem F23.
    `at_source(level)` gives the intervals of the bins at the source. A bin without samples keeps [0, 1].

    A known rate at which samples with label 0 were kept multiplies the odds by itself: no error, and no alpha (Theorem F27).
    Rates at the target rise with those of the bins and with the target's class rate, and fall as the source's rises: the ends
    of one `side` need one end of each.
    """
    rates, kept = evidence.rates, sampling_rate_of(evidence)
    if kept:
        return scale_odds(at_source(alpha), kept)
    if rates is None:
        raise GuaranteeError(
            f"the values were moved to other class rates (odds ratio {evidence.odds_ratio:g}), and the model does not say how "
            "these are known (files of fastbin 0.1.0 do not); an interval without their error would not cover; move the "
            "source model again with fb.shift.LabelShift or `fastbin adapt`"
        )
    of_bins, of_source, of_target = _levels(evidence.n_samples, rates, alpha)
    p_low, p_high = _rate_interval(rates.source, of_source, OTHER_SIDE[side])
    is_estimated = rates.target.origin == "estimated"
    if is_estimated:
        q_low, q_high = _estimated_interval(evidence, of_target)
    else:
        q_low, q_high = _rate_interval(rates.target, of_target, side)
    ends = at_source(of_bins)
    moved = np.stack([move_odds(ends[:, 0], p_high, q_low), move_odds(ends[:, 1], p_low, q_high)], axis=1)
    return opened(moved, side)


def _levels(n_samples: int, rates: ClassRates, alpha: float) -> tuple[float, float, float]:
    """The parts of alpha for the bins, the source's rate and the target's: in proportion to their standard errors.

    This about minimises the sum of half-widths. A part may depend on nothing that its interval is random in, so that the sizes
    of the bins, which the scores decide, are not looked at: a bin is taken to hold a tenth of the samples. Rates that are
    given have no error.
    """
    errors = [math.sqrt(10.0 / n_samples)]
    for rate in rates:
        # An estimated rate compares scores of the target with those of the source.
        variance = {"given": 0.0, "counted": 1.0, "estimated": 1.0}[rate.origin] / max(1, rate.n_samples)
        errors.append(math.sqrt(variance + (1.0 / n_samples if rate.origin == "estimated" else 0.0)))
    of_bins, of_source, of_target = (alpha * error / sum(errors) for error in errors)
    return of_bins, of_source, of_target


def _estimated_interval(evidence: Evidence, level: float) -> tuple[float, float]:
    """The interval of a target rate that was estimated without labels, by the shares that the model keeps."""
    shares = shares_of(evidence)
    if shares is None:
        assert evidence.rates is not None
        raise GuaranteeError(
            f"the target rate was estimated from {evidence.rates.target.n_samples} scores without labels, and the edges of the "
            "model lie at samples of the source, while the interval of such a rate needs cuts that were fixed before (fastbin, "
            "Theorem F23); pass source_scores= and source_labels= (--source-rows), take a source model with scheme='ums' or "
            "fixed edges, or count labels with method='labels' (--target-labels)"
        )
    return rate_ends(shares, level)


def _rate_interval(rate: ClassRate, level: float, side: str) -> tuple[float, float]:
    if rate.origin == "given":
        return rate.rate, rate.rate
    low, high = clopper_pearson([rate.n_positive], [rate.n_samples], level, side=side)[0]
    return float(low), float(high)


# ------------------------------------------------------------------------------------------------- prediction sets


def rational(alpha: Any, *, large: bool = False) -> Fraction:
    """alpha as it was written: the decimal 0.7, not the double just below it, whose rank can be one too large."""
    try:
        exact = Fraction(alpha) if isinstance(alpha, str) else alpha
    except (ValueError, ZeroDivisionError) as error:
        remedy = "pass a number, such as 0.1, or a text, such as '1/20'"
        raise InputTypeError(None, remedy, argument="alpha", value=alpha) from error
    check_alpha(exact, large=large)
    return exact if isinstance(exact, Fraction) else Fraction(repr(float(exact)))


def bin_sets(evidence: Evidence, alpha: Any = 0.1) -> Bools:
    """For each bin of a fitted model, which labels belong in the prediction set of a sample that falls in it.

    Conformal prediction within the bin. Given the edges, the samples of a bin and the next sample that falls there are
    exchangeable, so the label of that sample is in its bin's set with probability at least 1 - alpha, in each bin. The
    more frequent label is always in the set; the rarer one is if (its count + 1) / (count + 1) exceeds alpha.

    Parameters
    ----------
    evidence : Evidence
        A fitted model, such as `fastbin.BinnedModel`, or a fitted calibrator.
    alpha : float, Fraction or str
        Failure probability in each bin, from 1e-100 to 1/2. A float stands for the decimal it prints as.

    Returns
    -------
    ndarray of bool, shape (n_bins, 2)
        Is 0 in the set, is 1 in the set. Both for a bin without samples.

    Raises
    ------
    GuaranteeError
        Where the labels of a bin are not exchangeable with the next one: smooth or isotonic maps, real weights, tied scores
        sent to one side, values moved to other class rates.
    InputError, InputTypeError
        When alpha is out of range or no number.

    Notes
    -----
    For the schemes "ze" and "umb" a label is in if it would be for either value of the boundary sample's label. Where whole
    groups of equal scores lie at edges, a label is in if it would be at alpha / 2 with the samples that the rank of the edge
    placed there, or without them (docs/guarantees.md, Theorem F8). Exact integer arithmetic, O(n_bins).

    Examples
    --------
    >>> import fastbin as fb
    >>> scores = [i / 100 for i in range(100)]
    >>> labels = [int(score > 0.45) for score in scores]
    >>> model = fb.UniformMassBinning(n_bins=4).fit(scores, labels).model_
    >>> bin_sets(model, alpha=0.1)
    array([[ True, False],
           [ True,  True],
           [False,  True],
           [False,  True]])
    """
    level, evidence = rational(alpha), as_evidence(evidence)
    interior = require_interior(evidence)
    if has_whole_ties(evidence):
        level /= 2  # not exchangeable, but each label is at most as rare as in one of the readings
    result = np.zeros((interior.counts.shape[0], 2), dtype=np.bool_)
    for label, counts, rarer, alike in rarities(interior):
        allowed = np.array([level.numerator * (int(n) + 1) // level.denominator for n in counts], dtype=np.int64)
        result[:, label] |= rarer + alike + 1 > allowed
    return result


def rarities(interior: Interior) -> Iterator[tuple[int, Int64s, Int64s, Int64s]]:
    """For a sample with either label that joins a bin: how many samples there have a rarer label, and one as rare as its own.

    Yields (label, counts, rarer, alike) for each reading of the tally.
    """
    for counts, ones in interior.sides or interior.readings:
        for label in (0, 1):
            own = ones if label == 1 else counts - ones
            other = counts - own
            yield label, counts, np.where(other < own + 1, other, 0), np.where(other == own + 1, own + other, own)
