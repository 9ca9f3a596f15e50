"""The record that a fitted model has of its fit, and which of its labels a guarantee may use."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from fastbin._base.array_types import Bools, Float64s, Int64s
from fastbin._base.errors import GuaranteeError, InputTypeError
from fastbin._core.schemes import CERTIFIED, SCHEMES, ClassRates
from fastbin.guarantees.stopping import Rule, levels_after_stopping
from fastbin.intervals import sidak
from fastbin.intervals.binomial import MOST_SAMPLES

# With whole groups of equal scores at edges: what their tallies count is all samples but one at the edge of each bin.
LEAVE_A_CUT_OUT = ("umd", *CERTIFIED)
# The share of alpha for the outermost bin where its edge is not written (Theorem F14). Such a bin holds 1.75 times the samples
# of an equal share or more, so that with .05 of alpha its interval is about as wide as that of another bin at the worst.
SHARE_OF_REST = 0.05
# The samples at the edge of a bin are counted apart where the ranks placed so many there, and one in so many of all of the bin.
LEAST_SURE, MOST_TO_SURE = 2, 8


class Evidence(Protocol):
    """The attributes of a fitted model that a guarantee reads; `fastbin.BinnedModel` has them all.

    `counts` and `label_sums` are the tally (int64, one per bin; None where the method has none), `values` the probabilities
    that the model gives (float64, one per bin).
    """

    @property
    def values(self) -> Any: ...
    @property
    def counts(self) -> Any: ...
    @property
    def label_sums(self) -> Any: ...
    @property
    def scheme(self) -> str: ...
    @property
    def ties(self) -> str: ...
    @property
    def n_samples(self) -> int: ...
    @property
    def n_positive(self) -> int: ...
    @property
    def n_bins(self) -> int: ...
    @property
    def n_bins_asked(self) -> int: ...
    @property
    def n_tied(self) -> int: ...
    @property
    def tie_counts(self) -> Any: ...
    @property
    def edges_share(self) -> float: ...
    @property
    def delta(self) -> float: ...
    @property
    def odds_ratio(self) -> float: ...
    @property
    def rates(self) -> ClassRates | None: ...
    @property
    def is_weighted(self) -> bool: ...


class Reading(NamedTuple):
    """Samples of each bin and how many of them have label 1, as one side of a promise may count them."""

    counts: Int64s
    label_sums: Int64s


class Atoms(NamedTuple):
    """r of the tie counts, and the samples at the edge, of bins where these are counted apart; 0 for others."""

    sure: Int64s
    counts: Int64s
    label_sums: Int64s


@dataclass(frozen=True)
class Interior:
    """The part of a tally that a promise may use, in two readings; an interval is the union of theirs.

    Mostly the two are one: the samples strictly between boundary samples, whose label sum is binomial given the edges. A bin
    of the original uniform-mass binning (`ze`) or of `umb` also averages the label of its boundary sample, which is not a draw
    from the bin; it is not known from the tally, so the label sum of the others is known up to one, and the readings are the
    least and the most that it can be. Where whole groups of equal scores lie at edges, they are the bin with the samples at its
    edge that were sure to be there, and without them: the label sum of the one is never below that of independent draws of the
    bin, or never above, and that of the other never above or below.

    There the outermost bin may have no edge of its own: it is the rest, all that lies beyond the edge before it, and has one
    reading, all of its samples (Theorem F14). `rest` is None where no fit can have one; else 0 for all bins but that one,
    and for it the number of equal parts into which its share of alpha is divided, one for each place where the fit may end.
    `sides` are the two readings of all bins from their edges on, where those of the rest are others. `atoms` tell the samples
    at the edges of bins, where they may make an interval narrower (Theorem F19).

    Where a plan chose the labelled rows bin by bin, `pool` is its rule, and the rows of each bin that it chose among (Theorem
    F24). Where promises are about a batch of known size, `batch` is how many rows of it each bin has (Theorem F25).
    """

    first: Reading
    second: Reading
    has_boundary_label: Bools
    rest: Float64s | None = None
    sides: tuple[Reading, Reading] | None = None
    atoms: Atoms | None = None
    pool: tuple[Rule | None, Int64s] | None = None
    batch: Int64s | None = None

    @classmethod
    def of(cls, counts: Int64s, label_sums: Int64s) -> Interior:
        """One reading."""
        reading = Reading(counts, label_sums)
        return cls(reading, reading, np.zeros(counts.shape, dtype=np.bool_))

    @classmethod
    def joined(cls, interiors: Sequence[Interior]) -> Interior:
        """The bins of all; one reading where each has one."""
        if len(interiors) == 1:
            return interiors[0]

        def of(readings: list[Reading]) -> Reading:
            return Reading(*(np.concatenate(parts) for parts in zip(*readings, strict=True)))

        first = of([each.first for each in interiors])
        second = first if all(each.first is each.second for each in interiors) else of([each.second for each in interiors])
        rest = None
        if any(each.rest is not None for each in interiors):
            rest = np.concatenate([np.zeros(each.counts.shape) if each.rest is None else each.rest for each in interiors])
        atoms = None
        if any(each.atoms is not None for each in interiors):
            parts = [each.atoms or Atoms(*np.zeros((3, len(each.counts)), np.int64)) for each in interiors]
            atoms = Atoms(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        return cls(first, second, np.concatenate([each.has_boundary_label for each in interiors]), rest, atoms=atoms)

    @property
    def counts(self) -> Int64s:
        """The samples of each bin, in the first reading; in the second too, but for whole groups at edges."""
        return self.first.counts

    @property
    def readings(self) -> tuple[Reading, ...]:
        return (self.first,) if self.first is self.second else (self.first, self.second)

    @property
    def is_covered(self) -> Bools:
        """Bins with at least one sample of their own; nothing can be said about the others."""
        return self.counts > 0

    def levels(self, alpha: float, n_sharing: int, share: Callable[[float, int], float] = sidak) -> float | Float64s:
        """The failure probability of each bin, where `n_sharing` bins share alpha by this rule; one number if it is the same.

        Whether there is a rest is not known before the scores, so its share is taken from alpha in every fit that can have one.
        """
        if self.pool is not None:
            return levels_after_stopping(self.pool[0], share(alpha, max(1, n_sharing)), self.pool[1])
        if self.rest is None:
            return share(alpha, max(1, n_sharing))
        of_edges, is_rest = alpha_of_edges(alpha), self.rest > 0.0
        level = share(of_edges, max(1, n_sharing - int(np.count_nonzero(is_rest))))
        return np.where(is_rest, (alpha - of_edges) / np.where(is_rest, self.rest, 1.0), level)


def alpha_of_edges(alpha: float) -> float:
    """The part of alpha that bins with an edge of their own have, in a fit that may leave a rest.

    In this form models that hold together with the product of their chances leave the share of the rest together, too.
    """
    return -math.expm1((1.0 - SHARE_OF_REST) * math.log1p(-alpha))


def as_evidence(model: Any, name: str = "model") -> Evidence:
    """The model itself, or that of a fitted calibrator, whose ``model_`` it is: what takes one takes the other.

    Whoever needs more than evidence (predictions, a file) asks for a `BinnedModel` by `fastbin._fit.calibrator.as_model`, which
    is this function and a check of the type.
    """
    evidence: Evidence = model.model_ if hasattr(type(model), "model_") else model
    if isinstance(evidence, type) or not all(hasattr(evidence, part) for part in ("scheme", "values", "counts", "label_sums")):
        raise not_a_model(model, name)
    return evidence


def not_a_model(value: Any, name: str) -> InputTypeError:
    """The error for an argument that is neither a model nor a fitted calibrator."""
    kind = f"of type {type(value).__name__}"
    if isinstance(value, (str, os.PathLike)):
        kind = f"the path {os.fspath(value)!r}"
    elif isinstance(value, type):
        kind = f"the class {value.__name__}"
    return InputTypeError(f"{name} is {kind}; pass a BinnedModel (fb.load reads one from a file) or a fitted calibrator")


def weighed(model: Any) -> tuple[Float64s, Float64s]:
    """The weights of the rows in each bin, and of those with label 1; rows without weights weigh 1."""
    if model.is_weighted:
        return model.weight_sums, model.weighted_label_sums
    return model.counts.astype(np.float64), model.label_sums.astype(np.float64)


def is_moved(evidence: Evidence) -> bool:
    """Whether the values are those of other class rates than the tally's."""
    return evidence.rates is not None or evidence.odds_ratio != 1.0


def sampling_rate_of(evidence: Evidence) -> float:
    """The known rate at which samples with label 0 were kept, by which the values were moved; 0 where none did."""
    return float(getattr(evidence, "sampling_rate", 0.0))


def is_stratified(evidence: Evidence) -> bool:
    """Whether a plan chose the labelled rows bin by bin."""
    return getattr(evidence, "pool_counts", None) is not None


def is_of_batch(evidence: Evidence) -> bool:
    """Whether promises are about a batch of known size."""
    return getattr(evidence, "population_counts", None) is not None


def refuse_designs(evidence: Evidence, what: str) -> None:
    """Raise where a design chose the labelled rows, and `what` would take them for draws of the population."""
    remedy = (
        "kind='conditional' and kind='ratio' by bound='clopper-pearson', and intervals by it, are proved of a model by itself"
    )
    if is_stratified(evidence):
        raise GuaranteeError(
            "a plan chose the labelled rows bin by bin, so that their shares of bins and their class rate are its own, and "
            f"{what} would take them for a random sample; {remedy} (fastbin, Theorem F24)"
        )
    if is_of_batch(evidence):
        raise GuaranteeError(
            f"the model is about one batch of known size, and {what} would be about a population that rows are drawn from; "
            f"{remedy} for the batch (fastbin, Theorem F25); fit without population="
        )


def steps_told(model: Any) -> list[Mapping[str, Any]]:
    """The steps by which a model came about, as far as its provenance, which anyone may have written, tells them."""
    stated = getattr(model, "provenance", None)
    steps = stated.get("made_by") if isinstance(stated, Mapping) else None
    return [step if isinstance(step, Mapping) else {} for step in steps] if isinstance(steps, list) else []


def in_note(evidence: Evidence) -> str:
    """The note of a model, which may say the reason of a refusal, in brackets."""
    note = getattr(evidence, "note", "")
    return f" (the model's note: {note})" if note else ""


def require_guarantee(evidence: Evidence, *, moved: bool = False, designed: bool = False) -> None:
    """Raise GuaranteeError, naming the theorem and the remedy, where no finite-sample guarantee exists.

    `moved`: whether values mapped to other class rates are accepted, because the caller maps its result likewise; `designed`:
    whether samples of plans and of batches are, because the caller takes its intervals from `Interior`.
    """
    if not designed or is_moved(evidence):
        refuse_designs(evidence, "this promise")
    scheme = evidence.scheme
    if scheme in ("platt", "temperature", "beta", "quadratic", "spline"):
        raise GuaranteeError(
            f"{scheme} scaling has no distribution-free guarantee, and no method that maps scores one-to-one can have one "
            "(Gupta, Podkopaev & Ramdas 2020, Theorem 3); put bins behind it: ScalingBinning, or UniformMassBinning on its "
            "output"
        )
    if scheme == "isotonic":
        raise GuaranteeError(
            "isotonic regression has no certificate: it chooses its blocks by looking at the labels, so their means are not "
            "those of a fixed partition (Gupta, Podkopaev & Ramdas 2020, Theorem 4) nor of label-free order statistics "
            "(Gupta & Ramdas 2021, Theorem 3); use UniformMassBinning with monotone values instead"
        )
    if not SCHEMES[scheme].label_free:
        raise GuaranteeError(
            f"scheme {scheme!r} does not say how its edges were chosen, and every certificate needs edges that do not depend "
            "on the labels (Gupta, Podkopaev & Ramdas 2020, Theorem 4); fit with UniformMassBinning, or pass explicit edges"
            + in_note(evidence)
        )
    if evidence.counts is None or evidence.label_sums is None:
        raise GuaranteeError(
            "the model carries no tally, and every certificate is computed from one; fit it again from samples"
        )
    most = int(np.max(evidence.counts))
    if most > MOST_SAMPLES:
        raise GuaranteeError(f"a bin holds {most:,} samples, and above 2**53 doubles are too coarse for a promise")
    if evidence.is_weighted:
        raise GuaranteeError(
            "samples with real weights are not draws from the bin, so the binomial guarantees (Gupta & Ramdas 2021, Theorem 3) "
            "do not hold; use fb.shift.weighted_interval with the largest weight of the population, or integer weights if they "
            "are frequencies"
        )
    # Split samples are exempt: a rule for ties is part of a fixed partition there.
    if evidence.ties in ("upper", "lower") and evidence.n_tied > 0 and not has_edges_of_others(evidence):
        raise GuaranteeError(
            f"{evidence.n_tied} samples share a score with an edge and ties={evidence.ties!r} sends them all to one side; "
            "Gupta & Ramdas 2021, Theorem 3 assumes distinct scores; fit with ties='whole' (one probability for each score) or "
            "ties='random' (keys, exact)"
        )
    if is_moved(evidence) and not moved and sampling_rate_of(evidence):
        raise GuaranteeError(
            f"samples with label 0 were kept at the rate {sampling_rate_of(evidence):g}, so that shares of scores and of rows "
            "are not those of the population (fastbin, Theorem F27); use `interval`, or the certificate of kind 'conditional' "
            "or 'ratio', or fit to rows of which none were left out"
        )
    if is_moved(evidence) and not moved:
        raise GuaranteeError(
            f"the values were moved to other class rates (odds ratio {evidence.odds_ratio:g}), and the tally is that of the "
            "source (Sun, Song & Hero 2023, section 5); use `interval` or the certificate of kind 'conditional', which allow "
            "for the rates, or the source model"
        )


def has_steps(evidence: Evidence) -> bool:
    """Whether values are finer than the bins that carry evidence."""
    return int(getattr(evidence, "n_steps", 0)) > int(evidence.n_bins)


def has_edges_of_others(evidence: Evidence) -> bool:
    """Whether the edges come from samples that are not in the tally: to this they are a fixed partition.

    Scaling-binning with edges among the averaged samples leaves out at most one sample per edge; a part of its own for the
    edges is at least one sample per bin.
    """
    if evidence.scheme != "scaling-binning":
        return evidence.scheme == "ums"
    return int(evidence.n_samples) - int(np.sum(evidence.counts)) >= evidence.n_bins_asked


def require_interior(evidence: Evidence, *, moved: bool = False, designed: bool = False) -> Interior:
    """The binomial part of the tally of a model that must pass `require_guarantee`. O(n_bins)."""
    require_guarantee(evidence, moved=moved, designed=designed)
    counts = np.asarray(evidence.counts, dtype=np.int64)
    label_sums = np.asarray(evidence.label_sums, dtype=np.int64)
    designs: Any = evidence
    if is_stratified(evidence):
        return replace(Interior.of(counts, label_sums), pool=(_rule_of(evidence), np.asarray(designs.pool_counts)))
    if is_of_batch(evidence):
        return replace(Interior.of(counts, label_sums), batch=np.asarray(designs.population_counts))
    if has_whole_ties(evidence):
        return _whole_interior(evidence)
    if not SCHEMES[evidence.scheme].averages_boundary:
        return Interior.of(counts, label_sums)
    if evidence.n_bins_asked not in (0, evidence.n_bins):
        raise GuaranteeError(
            f"scheme {evidence.scheme!r} was asked for {evidence.n_bins_asked} bins and has {evidence.n_bins}: which bins "
            "hold boundary labels cannot be known (Gupta & Ramdas 2021, Corollary 1); fit with ties='whole' or 'random'"
        )
    boundary = np.zeros(counts.shape[0], dtype=np.bool_)
    boundary[:-1] = counts[:-1] > 0
    own = counts - boundary
    least, most = np.maximum(label_sums - boundary, 0), np.minimum(label_sums, own)
    return Interior(Reading(own, least), Reading(own, most), boundary)


def _rule_of(evidence: Any) -> Rule | None:
    """The rule by which a plan stopped, as the provenance of its model tells; None where the numbers of labels were fixed."""
    first = next(iter(steps_told(evidence)), {})
    said = first.get("configuration") if first.get("calibrator") == "LabelPlan" else None
    if not isinstance(said, dict) or not {"epsilon", "level"} <= said.keys():
        raise GuaranteeError(
            "the model has pool_counts, and its provenance does not say by which plan labelling stopped (fastbin, Theorem "
            "F24); take the model_ of the plan as it is"
        )
    return None if said["epsilon"] is None else Rule(float(said["epsilon"]), float(said["level"]))


def assumes_no_atoms(evidence: Evidence) -> bool:
    """Whether edges lie at single samples of the tally: then their scores must not have a probability of their own."""
    return evidence.ties in ("upper", "lower") and not has_edges_of_others(evidence)


def interior_for_any_law(evidence: Evidence, interior: Interior) -> Interior:
    """The two sides of a promise that holds though scores at edges may be atoms: fastbin, Theorem F2.

    Where no two samples share the score of an edge, its bin has one sample more, at the edge, whose label may be 0 or 1.
    """
    if not assumes_no_atoms(evidence):
        return interior
    at_edge = np.ones_like(interior.counts)
    at_edge[-1 if evidence.scheme == "umb" else 0] = 0  # nothing cuts off the end of the last bin
    counts, most = interior.counts + at_edge, interior.second.label_sums + at_edge
    first, second = Reading(counts, interior.first.label_sums), Reading(counts, most)
    # Other samples of the same law might have shared scores at edges, and left a rest.
    return Interior(first, second, interior.has_boundary_label, np.zeros(counts.shape))


def has_whole_ties(evidence: Evidence) -> bool:
    """Whether whole groups of two or more equal scores lie at edges, and the model says how many were sure to be there."""
    return evidence.ties == "whole"


def place_of_rest(evidence: Evidence) -> int | None:
    """The outermost bin where its edge is not written, because its heaviest score is the outermost of all samples."""
    if not has_whole_ties(evidence):
        return None
    end = int(evidence.n_bins) - 1 if evidence.scheme == "umb" else 0
    return end if np.asarray(evidence.tie_counts)[end, 0] > 0 else None


def refuse_whole_ties(evidence: Evidence, what: str) -> None:
    """Raise where the samples of a bin are not exchangeable with a new one."""
    if has_whole_ties(evidence):
        raise GuaranteeError(
            f"{what} needs samples that are exchangeable with a new one of their bin, and {evidence.n_tied} samples lie in "
            "whole groups of equal scores at edges, whose ranks say that some of them are there; fit with scheme='ums' or "
            "ties='random'"
        )


def rows_of_bins(evidence: Evidence) -> tuple[Int64s, Int64s]:
    """The calibration rows of each bin whose labels are known, and how many of these are 1: ties and edges change nothing."""
    counts, ones = (np.asarray(column, dtype=np.int64) for column in (evidence.counts, evidence.label_sums))
    if has_whole_ties(evidence) and evidence.scheme in LEAVE_A_CUT_OUT:
        sure, _, left_out = np.asarray(evidence.tie_counts, dtype=np.int64).T
        return counts + (sure > 0), ones + left_out
    return counts, ones


def _whole_interior(evidence: Evidence) -> Interior:
    """The bins with all samples at their edges, and without the r of them, f with label 1, that the ranks placed there.

    The rest is all samples beyond the edge before it, those too that its value does not count.
    """
    sure, sure_ones, _ = np.asarray(evidence.tie_counts, dtype=np.int64).T
    first = Reading(*rows_of_bins(evidence))
    second = Reading(first.counts - sure, first.label_sums - sure_ones)
    no_boundary, parts, place = np.zeros(sure.shape, dtype=np.bool_), np.zeros(sure.shape), place_of_rest(evidence)
    if place is None:
        return Interior(first, second, no_boundary, parts, atoms=atoms_of(evidence))
    if evidence.n_bins_asked < 2:
        raise GuaranteeError(
            "the outermost edge is not written, and the model does not say at how many ranks that may happen, which share "
            "alpha (fastbin, Theorem F14); give n_bins_asked, or fit it again from samples"
        )
    parts[place] = evidence.n_bins_asked - 1
    of_rest = np.array([column[place] for column in first])
    if evidence.edges_share < 1.0:  # rows that placed no edge may lie beyond all that did
        of_rest += np.array([evidence.n_samples, evidence.n_positive]) - np.sum(first, axis=1)
    all_rows, others = (
        Reading(*(np.where(parts > 0.0, whole, column) for whole, column in zip(of_rest, side, strict=True)))
        for side in (first, second)
    )
    return Interior(all_rows, others, no_boundary, parts, (first, second), atoms_of(evidence))


def atoms_of(evidence: Evidence) -> Atoms | None:
    """The samples at edges, in bins of which r is two or more, and an eighth of the samples or more; None for no such bin.

    Sizes alone decide, never labels. Where r is 1 no score may tie at the edge, and then other intervals hold (Theorem F2).
    """
    known = getattr(evidence, "atom_counts", None)
    if known is None or evidence.edges_share < 1.0:
        return None
    sure, counts = np.asarray(evidence.tie_counts, np.int64)[:, 0], rows_of_bins(evidence)[0]
    parted = (sure >= LEAST_SURE) & (MOST_TO_SURE * sure >= counts)
    if (place := place_of_rest(evidence)) is not None:
        parted[place] = False
    return Atoms(*(np.where(parted, column, 0) for column in (sure, *np.asarray(known, np.int64).T))) if parted.any() else None
