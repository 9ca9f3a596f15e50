"""From the evidence of a fitted model to a `Certificate`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s, Int64s
from fastbin._base.checks import check_alpha, check_choice
from fastbin._base.errors import GuaranteeError, InputError
from fastbin._core.schemes import CERTIFIED, SCHEMES
from fastbin.guarantees.certificate import (
    ABOUT,
    CERTIFICATE_BOUNDS,
    Certificate,
    about_ties,
    assumptions_of,
    certificate_from_intervals,
    certificate_of,
    check_bound,
    check_side_of,
    draws_from,
    is_of_clusters,
    radii_of,
    require_factor,
    require_samples,
    sentences,
)
from fastbin.guarantees.evidence import (
    Evidence,
    Interior,
    as_evidence,
    assumes_no_atoms,
    atoms_of,
    has_edges_of_others,
    has_steps,
    has_whole_ties,
    interior_for_any_law,
    is_moved,
    is_of_batch,
    is_stratified,
    place_of_rest,
    refuse_designs,
    require_guarantee,
    require_interior,
    rows_of_bins,
    sampling_rate_of,
)
from fastbin.guarantees.intervals import interval_among, interval_of_interior
from fastbin.guarantees.law import ece_bound, ece_bound_before, exact_radius, largest_mean_errors, one_sided_radius
from fastbin.guarantees.n_bins import UNIFORM_MASS, hoeffding_epsilon
from fastbin.guarantees.radius import radius_of_labels
from fastbin.guarantees.rising import certify_mean_error
from fastbin.guarantees.sentence import MEAN_ERRORS
from fastbin.guarantees.step_masses import StepMasses, average_ends_of
from fastbin.intervals import sidak
from fastbin.intervals.binomial import ends_of_rows, exact_ends, tails_of


def certify(
    evidence: Evidence,
    alpha: float = 0.1,
    kind: str = "conditional",
    bound: str | None = None,
    *,
    about: str = "population",
    of: Any = None,
    unlabelled: Any = None,
    side: str = "both",
) -> Certificate:
    """The promise of a fitted model about its probabilities on new samples of the same population.

    Parameters
    ----------
    evidence : Evidence
        A fitted model, such as `fastbin.BinnedModel`, or a fitted calibrator.
    alpha : float
        Failure probability, from 1e-100 to 1/2. Not used by "expected-ece".
    kind : {"conditional", "marginal", "expected-ece", "ece", "ratio", "mean-error", "mean-overestimate", \
"mean-underestimate"}
        What is promised; see `Certificate`. "ratio" is for rare events, where a distance says little. The mean errors assume
        that the truth does not fall as the score rises.
    bound : {"common", "clopper-pearson", "hull", "data", "a-priori", "hoeffding", "slices"}, optional
        How it is computed. By default, for "conditional" "common" where up to 100 bins have one value each and label sums are
        binomial, and else "clopper-pearson", as for "marginal"; "data" for "ece", "a-priori" for "expected-ece". Decide before
        looking at the result: the best of several is not a guarantee at alpha.

        * "common", for "conditional": one radius around the mean labels of all bins (`common_radius` with their label sums),
          and the distances of the values from these means. Never above "a-priori" where values are the means; mostly below
          "clopper-pearson", and above it where label 1 is rare in all bins. The intervals of single bins are a promise of their
          own, by Clopper and Pearson: both hold together with probability 1 - 2 alpha. Where label sums are binomial.
        * "clopper-pearson", for "conditional", "marginal" and "ratio": the largest distance, or factor, from a bin's value,
          whatever it is, to an end of its Clopper-Pearson interval, with Sidak's level over the bins that hold samples (for
          "marginal", alpha for each bin). Depends on the labels: smaller where they are nearly all alike.
        * "hull", for the same: allows for scores at edges that have a probability of their own though no two samples showed it
          (the hull over both labels that a sample at the edge may have). For any distribution, about 1 / count larger; where
          nothing is assumed about ties, the same as "clopper-pearson".
        * "data", for "ece": `ece_bound` with labels (without where label sums are not binomial), or the conditional radius, if
          it is smaller than that is at most for the counts; around the values as they are, whatever they are.
        * "a-priori": the exact binomial radius of the bins' counts (`exact_radius`), for the ECE kinds `ece_bound` and the
          largest mean error of a binomial mean; known before the labels. For values that are the means of their bins.
        * "slices", for the mean errors: the greatest one under any rising truth that the labels of the model's slices of equal
          mass do not contradict (fastbin, Theorem F17), for values that do not fall.
        * "hoeffding": Gupta & Ramdas 2021, equations (8), (10) and (11) and Theorem 4(b), as printed; for other
          partitions Hoeffding's inequality with a union bound over the bins (ibid., Appendix B).

    about : {"population", "calibration rows", "batch"}
        Whose true frequency the values are compared with. "batch": the rows of a batch of known size, which alone models of
        `fit(..., population=)` speak of, without being asked. "calibration rows": in each bin the average of what its
        calibration rows are served is within epsilon of the average of their true probabilities. For audits: rows need not be
        draws of a population, only their labels independent; nothing is said about other rows. For the kind "conditional", by
        "clopper-pearson", and for the mean errors, averaged over the rows between the cuts of slices: there labels must be
        independent given the scores alone.
    of : BinnedModel or fitted calibrator, optional
        For the mean errors: the map that is certified by the slices of `evidence`, in place of the model itself. Any map that
        does not fall, fitted to any rows.
    unlabelled : array-like of shape (m,), optional
        For the mean errors: scores of the same population without labels, others than those of the fit. More of them than
        calibration samples tell the masses of the slices better: with very many the price of these is gone.
    side : {"both", "upper", "lower"}
        "upper": all of alpha is for true frequencies above the values by more than epsilon; "lower" for those below (fastbin,
        Theorem F28). For "conditional", "marginal" and "ratio", by "clopper-pearson", then the default, "hull" or "a-priori".

    Returns
    -------
    Certificate
        The promise, its theorem and its assumptions.

    Raises
    ------
    GuaranteeError
        Where such a guarantee does not exist; the message names the theorem and the remedy.
    InputError, InputTypeError
        When an argument is outside its range or of the wrong type.

    Notes
    -----
    Value randomisation moves a prediction by less than delta, which is added (Gupta & Ramdas 2021, Theorem 4). A bin without
    a sample of its own is left out of the promise and named in `Certificate.uncovered_bins`. O(n_bins) for "clopper-pearson"
    and "data"; "common" takes about ten milliseconds for ten bins.

    Examples
    --------
    >>> import fastbin as fb
    >>> scores = [i / 1000 for i in range(1000)]
    >>> labels = [int(i % 10 < 8) for i in range(1000)]
    >>> model = fb.UniformMassBinning(n_bins=5).fit(scores, labels).model_
    >>> certificate = fb.guarantees.certify(model, alpha=0.1)
    >>> certificate.kind, round(certificate.epsilon, 3)
    ('conditional', 0.075)
    >>> round(fb.guarantees.certify(model, alpha=0.1, bound="hoeffding").epsilon, 3)
    0.108
    """
    alpha, kind = check_alpha(alpha), check_choice(kind, "kind", tuple(CERTIFICATE_BOUNDS))
    evidence, about, side = as_evidence(evidence), check_choice(about, "about", ABOUT), check_side_of(side, kind, bound)
    if about == "batch" and not is_of_batch(evidence):
        remedy = "fit to some rows of it with population=, the scores of all of them"
        raise GuaranteeError(f"about='batch' needs a batch of known size, and the model has no population_counts; {remedy}")
    if kind in MEAN_ERRORS:
        check_bound(bound, kind)
        refuse_designs(evidence, "the mean error")
        return certify_mean_error(evidence, alpha, kind, about, of, unlabelled)
    for argument, given, what in (
        ("of", of, "another map is certified"),
        ("unlabelled", unlabelled, "scores without labels help"),
    ):
        if given is not None:
            raise InputError("is given", f"{what} for kind='mean-error', and kind is {kind!r}", argument=argument)
    if about == "calibration rows":
        return _certify_rows(evidence, alpha, kind, bound, side)
    bound = bound_for(evidence, kind, bound, side)
    designed = kind in ("conditional", "ratio") and bound == "clopper-pearson" and not is_of_steps(evidence)
    interior = require_interior(evidence, moved=is_moved(evidence), designed=designed)
    return certify_population(evidence, interior, alpha, kind, bound, side)


def certify_population(evidence: Evidence, interior: Interior, alpha: float, kind: str, bound: str, side: str) -> Certificate:
    """The promise about new samples."""
    if is_moved(evidence):
        return _certify_moved(evidence, interior, alpha, kind, bound, side)
    if is_of_steps(evidence):
        return certify_steps(evidence, interior, alpha, kind, bound, side)
    covered = interior.is_covered
    require_samples(covered)
    if bound in OF_INTERVALS:
        return certify_bins([evidence], [interior], [alpha], kind, bound, side)[0]
    if bound == "common":
        return _certify_by_common_radius(evidence, interior, alpha, kind)
    if side != "both":
        epsilon, theorem = _a_priori(evidence, interior, alpha, kind, side)
    else:
        epsilon, theorem = _BOUNDS[bound](evidence, interior, alpha, kind)
    if kind == "ece" and bound != "hoeffding":  # allows for what empty bins can add
        covered = np.ones_like(covered)
    return certificate_of(
        evidence, min(1.0, epsilon), covered, alpha=None if kind == "expected-ece" else alpha, kind=kind, bound=bound,
        theorem=theorem, assumptions=assumptions_of(evidence, kind, bound), side=side,
    )  # fmt: skip


# The bounds of a promise about each bin that are ends of an interval.
OF_INTERVALS = ("clopper-pearson", "hull")
# A common radius of so many bins takes a tenth of a second; Clopper-Pearson intervals take a millisecond.
MOST_BINS_BY_ONE_RADIUS = 100


def bound_for(evidence: Evidence, kind: str, bound: str | None, side: str = "both") -> str:
    """The bound that was asked for, or the default of this kind of promise about this model.

    A conditional promise is by one radius where bins have one value, which their fit made of their mean labels, and label sums
    are binomial, unless there are so many bins that it takes long. The scheme, the ties and the number of bins decide, never
    the labels. One radius is about both sides.
    """
    if bound is not None or kind != "conditional" or side != "both":
        return check_bound(bound, kind)
    has_means = SCHEMES[evidence.scheme].continuable and not is_of_steps(evidence) and not is_moved(evidence)
    is_quick = int(evidence.n_bins) <= MOST_BINS_BY_ONE_RADIUS
    is_drawn = not has_whole_ties(evidence) and not is_stratified(evidence) and not is_of_batch(evidence)
    return "common" if has_means and is_quick and is_drawn else check_bound(None, kind)


def _certify_by_common_radius(evidence: Evidence, interior: Interior, alpha: float, kind: str) -> Certificate:
    """One radius around the mean labels of all bins, and the distances of the values from these."""
    means, radius = _means_and_radius(interior, alpha)
    covered = interior.is_covered
    radii = radius + np.abs(np.asarray(evidence.values, np.float64) - means) + evidence.delta
    radii = np.where(covered, np.minimum(radii, 1.0), 1.0)
    return certificate_of(
        evidence, float(radii[covered].max()), covered, alpha=alpha, kind=kind, bound="common", radii=tuple(radii.tolist()),
        theorem=f"{_ONE_RADIUS}; {binomial_law(evidence)}", assumptions=assumptions_of(evidence, kind, "common"),
    )  # fmt: skip


_ONE_RADIUS = (
    "one radius for the mean labels of all bins (fastbin, Theorem F10), beside which the Clopper-Pearson intervals of single "
    "bins hold with probability 1 - 2 alpha"
)


def _means_and_radius(interior: Interior, alpha: float) -> tuple[Float64s, float]:
    """The mean label of each bin, 0 without samples, and how far all of them are from their frequencies at most."""
    if len(interior.readings) > 1:
        raise GuaranteeError(
            "bound='common' needs label sums that are binomial, and those of this model are known up to labels at the edges of "
            "bins (whole groups of equal scores there, or averaged boundary labels); take bound='clopper-pearson'"
        )
    counts, ones = interior.first
    return ones / np.maximum(1, counts), radius_of_labels(counts, ones, alpha)


def certify_bins(
    models: Sequence[Evidence], interiors: Sequence[Interior], alphas: Sequence[float], kind: str, bound: str,
    side: str = "both",
) -> list[Certificate]:  # fmt: skip
    """The certificates of models of one value a bin, each at its own alpha, from intervals that are computed at once."""
    if bound == "hull":
        interiors = [interior_for_any_law(*each) for each in zip(models, interiors, strict=True)]
    sizes = np.array([len(interior.counts) for interior in interiors])
    own_levels = [_level(interior, alpha, kind) for interior, alpha in zip(interiors, alphas, strict=True)]
    levels = np.concatenate([np.broadcast_to(level, size) for level, size in zip(own_levels, sizes.tolist(), strict=True)])
    joined = Interior.joined(interiors)
    values = np.concatenate([np.asarray(evidence.values, np.float64) for evidence in models])
    intervals = interval_of_interior(joined, exact_ends, levels, side)
    deltas = np.repeat([float(evidence.delta) for evidence in models], sizes)
    radii = radii_of(intervals, values, values, deltas, joined.is_covered, kind, side)
    starts = np.cumsum(sizes) - sizes
    epsilons = np.maximum.reduceat(np.where(joined.is_covered, radii, -1.0), starts).tolist()
    if kind == "ratio":
        for own, interior in zip(np.split(radii, starts[1:]), interiors, strict=True):
            require_factor(own, interior.is_covered)
    return [
        certificate_of(
            evidence, epsilon, interior.is_covered, alpha=alpha, kind=kind, bound=bound, radii=tuple(own.tolist()),
            theorem=_theorem_of_ends(evidence, kind, bound) + _OF_ONE_SIDE[side], side=side,
            assumptions=assumptions_of(evidence, kind, bound), about="batch" if is_of_batch(evidence) else "population",
        )
        for evidence, epsilon, interior, alpha, own in zip(
            models, epsilons, interiors, alphas, np.split(radii, starts[1:]), strict=True
        )
    ]  # fmt: skip


_OF_ONE_SIDE = {"both": "", **dict.fromkeys(("upper", "lower"), "; the ends of one side alone (fastbin, Theorem F28)")}


def _theorem_of_ends(evidence: Evidence, kind: str, bound: str) -> str:
    if is_of_batch(evidence):
        return f"{_OF_BATCH}{_SHARE[kind]} (fastbin, Theorem F25)"
    law = _OF_PLAN if is_stratified(evidence) else binomial_law(evidence, bound)
    return f"Clopper & Pearson 1934{_SHARE[kind]}; {law}"


def is_of_steps(evidence: Evidence) -> bool:
    """Whether a promise is about the average of what is served in a bin, of which `certify_steps` knows."""
    return evidence.scheme in CERTIFIED or has_steps(evidence)


def require_means(evidence: Evidence, bound_name: str, kind: str) -> None:
    """Raise where the values are not the means of the bins' labels, which a bound known before the labels is about."""
    counts = np.asarray(evidence.counts, dtype=np.int64)
    known = counts > 0
    means = np.asarray(evidence.label_sums)[known] / counts[known]
    changed = np.flatnonzero(np.asarray(evidence.values, dtype=np.float64)[known] != means)
    if changed.size:
        first = int(np.flatnonzero(known)[changed[0]])
        remedy = "kind='ece' with bound='data'" if kind == "expected-ece" else f"bound={CERTIFICATE_BOUNDS[kind][0]!r}"
        raise GuaranteeError(
            f"{bound_name} is about the mean label of each bin, and the value of bin {first} is "
            f"{float(evidence.values[first])!r}, not its mean {float(means[changed[0]])!r} (scaling or monotone values); "
            f"{remedy} certifies the values as they are"
        )


def _level(interior: Interior, alpha: float, kind: str) -> float | Float64s:
    return interior.levels(alpha, 1 if kind == "marginal" else int(np.count_nonzero(interior.is_covered)))


def _clopper_pearson(interior: Interior, alpha: float, kind: str) -> Float64s:
    return interval_of_interior(interior, exact_ends, _level(interior, alpha, kind))


_OF_ALL = ", with Sidak's level over the bins"
_SHARE = {"conditional": _OF_ALL, "ratio": _OF_ALL, "marginal": " at level alpha for each bin"}
_INTERIOR = "label sums without boundary labels are binomial given the edges: Gupta & Ramdas 2021, Lemma 2"
_BINOMIAL = {
    **dict.fromkeys(("umd", *CERTIFIED), "label sums are binomial given the edges: Gupta & Ramdas 2021, Lemma 2"),
    "ze": f"{_INTERIOR} and Corollary 1",
    "umb": f"{_INTERIOR}; Sun, Song & Hero 2023, Lemma 4",
}
_WHOLE = (
    "whole groups of equal scores at edges: the label sum of a bin with the samples that ranks placed at its edge, and that "
    "without them, lie on the two sides of a binomial one (fastbin, Theorem F1, after Gupta & Ramdas 2021, Lemma 2)"
)
_REST = (
    "of the outermost bin, which has no edge of its own, all samples are counted, at a level that holds wherever the fit ends "
    "(fastbin, Theorem F14)"
)
_PARTS = (
    "where a heavy score begins a bin, a share of its level goes to the rates of that score and of the others, and to its mass "
    "(fastbin, Theorem F19)"
)
_ANY_LAW = "label sums with a sample of either label at the edge lie on the two sides of a binomial one (fastbin, Theorem F2)"
_OF_PLAN = (
    "at a level that pays for stopping by the width of the interval, where labelling did: the labels of each bin are "
    "independent draws in a random order, and it stops by them alone (fastbin, Theorem F24)"
)
_OF_BATCH = "both tails of the hypergeometric law of the labelled rows of each bin, given how many of its rows are labelled"
_FIXED = "label sums are binomial given the scores: Gupta, Podkopaev & Ramdas 2020, section 4.1"


def binomial_law(evidence: Evidence, bound: str = "") -> str:
    """Why the label sums of the bins of this model are binomial, or lie beside such sums."""
    if bound == "hull" and assumes_no_atoms(evidence):
        return _ANY_LAW
    if has_whole_ties(evidence):
        is_parted = bound in OF_INTERVALS and atoms_of(evidence) is not None
        return "; ".join([_WHOLE, *[_PARTS] * is_parted, *[_REST] * (place_of_rest(evidence) is not None)])
    if evidence.scheme == "scaling-binning":
        return _FIXED if has_edges_of_others(evidence) else _BINOMIAL["umd"]
    return _BINOMIAL.get(evidence.scheme, _FIXED)


def _data(evidence: Evidence, interior: Interior, alpha: float, kind: str) -> tuple[float, str]:
    if has_whole_ties(evidence):
        intervals, values = _clopper_pearson(interior, alpha, "conditional"), np.asarray(evidence.values, dtype=np.float64)
        radii = np.maximum(intervals[:, 1] - values, values - intervals[:, 0])
        theorem = (
            f"Clopper & Pearson 1934{_SHARE['conditional']}, which bounds the ECE; {binomial_law(evidence, OF_INTERVALS[0])}"
        )
        return float(radii[interior.is_covered].max()) + evidence.delta, theorem
    # How far each value lies from the mean of the bin's own labels, whatever an unknown boundary label was.
    values, filled = np.asarray(evidence.values, dtype=np.float64), np.maximum(interior.counts, 1)
    shifts = np.max([np.abs(values - reading.label_sums / filled) for reading in interior.readings], axis=0)
    return _ece(evidence, interior, alpha, shifts, from_labels=len(interior.readings) == 1)


def _a_priori(evidence: Evidence, interior: Interior, alpha: float, kind: str, side: str = "both") -> tuple[float, str]:
    require_means(evidence, "the a-priori bound", kind)
    if has_whole_ties(evidence):
        name = f"exact binomial radius for the bins' counts{_OF_ONE_SIDE[side]}"
        return _known_before(evidence, interior, alpha, kind, name, lambda n, a: one_sided_radius(n, float(tails_of(a, side))))
    extras = boundary_shifts(interior)
    if kind == "ece":
        return _ece(evidence, interior, alpha, extras)
    counts, extras = interior.counts[interior.is_covered], extras[interior.is_covered]
    if kind == "expected-ece":
        return float((largest_mean_errors(counts, evidence.delta) + extras).max()), f"{_DE_MOIVRE}; {binomial_law(evidence)}"
    level, largest = float(_level(interior, alpha, kind)), 0.0
    for count, extra in sorted(set(zip(counts.tolist(), extras.tolist(), strict=True))):
        # Hoeffding's radius is never smaller, so it shows which exact radii cannot be the largest. Radii are not monotone in
        # the count: the smallest bin alone does not decide.
        if _hoeffding_radius(count, level) + extra > largest:
            radius = exact_radius(count, level) if side == "both" else one_sided_radius(count, level)
            largest = max(largest, radius + extra)
    theorem = f"exact binomial radius for the bins' counts{_SHARE[kind]}; {binomial_law(evidence)}{_OF_ONE_SIDE[side]}"
    return largest + evidence.delta, theorem


def boundary_shifts(interior: Interior) -> Float64s:
    """How far the mean of all labels of a bin lies from that of its own at most: a boundary label is one of count + 1."""
    return np.where(interior.has_boundary_label, 1.0 / (interior.counts + 1), 0.0)


def _hoeffding_radius(count: int, level: float) -> float:
    return math.sqrt(math.log(2.0 / level) / (2.0 * count))


def _known_before(
    evidence: Evidence, interior: Interior, alpha: float, kind: str, name: str, radius: Callable[[int, float], float]
) -> tuple[float, str]:
    """The promise before labels are seen, where whole groups lie at edges; `radius` bounds each tail by level / 2.

    With T samples in a bin, r of them placed at its edge by ranks: the mean of all T errs to one side by radius(T) at most, and
    that of the T - r others to the other side by radius(T - r). The value is the mean of a part of the T, or has the T - r for
    a part: the means of m samples and of c among them differ by (m - c) / m at most.
    """
    if kind == "expected-ece":
        raise GuaranteeError(
            "the mean error of a bin at whose edge a whole group of equal scores lies is not that of a binomial mean; use "
            "kind='ece' or 'conditional', or fit with scheme='ums' or ties='random'"
        )
    share = "conditional" if kind == "ece" else kind  # the promise about all bins bounds the error on average
    levels, largest = np.broadcast_to(_level(interior, alpha, share), interior.counts.shape), 0.0
    columns = (np.asarray(evidence.counts), levels, *(reading.counts for reading in interior.readings))
    for averaged, level, *drawn in set(zip(*(column.tolist() for column in columns), strict=True)):
        for count in drawn:
            error = radius(count, level) + abs(count - averaged) / max(count, averaged) if count else float(averaged > 0)
            largest = max(largest, error)
    return largest + evidence.delta, f"{name}{_SHARE[share]}; {binomial_law(evidence)}"


def _hoeffding(evidence: Evidence, interior: Interior, alpha: float, kind: str) -> tuple[float, str]:
    require_means(evidence, "Hoeffding's bound", kind)
    if has_whole_ties(evidence):
        return _known_before(evidence, interior, alpha, kind, "Hoeffding's inequality for each tail", _hoeffding_radius)
    n, n_bins, delta = int(evidence.n_samples), int(evidence.n_bins), float(evidence.delta)
    is_uniform_mass = evidence.scheme in UNIFORM_MASS and evidence.ties != "isolate"
    if kind == "expected-ece" and not (is_uniform_mass and evidence.scheme == "umd"):
        raise GuaranteeError(
            f"Gupta & Ramdas 2021, Theorem 4(b) is about scheme 'umd' without isolated ties, not {evidence.scheme!r} with "
            f"ties={evidence.ties!r}; bound='a-priori' covers any partition"
        )
    if is_uniform_mass:
        radius = hoeffding_epsilon(n, n_bins, alpha, kind, evidence.scheme, delta)
        return radius, _paper_theorem(evidence, kind)
    counts = interior.counts[interior.is_covered]
    sharing = 1 if kind == "marginal" else counts.shape[0]
    radius = math.sqrt(math.log(2.0 * sharing / alpha) / (2.0 * int(counts.min())))
    theorem = f"Hoeffding's inequality for the smallest bin with a union bound: Gupta & Ramdas 2021, Appendix B; {_FIXED}"
    return radius + delta, theorem


def _paper_theorem(evidence: Evidence, kind: str) -> str:
    if kind == "expected-ece":
        return "Gupta & Ramdas 2021, Theorem 4(b), for l_p-ECE with p in [1, 2]"
    if evidence.scheme == "umd":
        if kind == "marginal" or evidence.delta > 0.0:
            part = {"marginal": " for the marginal promise", "ece": "(a)", "conditional": " for the conditional promise"}[kind]
            return f"Gupta & Ramdas 2021, Theorem 4{part}, equation (11)"
        return "Gupta & Ramdas 2021, Theorem 3, equation (8)"
    theorem = "Gupta & Ramdas 2021, Corollary 1, equation (10)"
    if evidence.scheme == "umb":
        theorem = f"Sun, Song & Hero 2023, Lemma 4, which is {theorem}, mirrored"
    return f"{theorem}, without the union bound as in Theorem 4" if kind == "marginal" else theorem


def _ece(
    evidence: Evidence, interior: Interior, alpha: float, shifts: Float64s, *, from_labels: bool = False
) -> tuple[float, str]:
    """A direct bound for the ECE, or a radius that all bins keep; `shifts` are how far values may lie from means."""
    if evidence.ties == "isolate":
        raise GuaranteeError(
            "bins that isolate tied scores have no known law of their mass, which McDiarmid's bound on the ECE needs; "
            "use kind='conditional', whose epsilon bounds the ECE too (Gupta & Ramdas 2021, Proposition 1)"
        )
    values = np.asarray(evidence.values, dtype=np.float64)
    # In a bin without a sample nothing is estimated; its value is off by this at most.
    shifts = np.where(interior.is_covered, shifts, np.maximum(values, 1.0 - values))
    n_seen = int(evidence.n_samples) if evidence.scheme in UNIFORM_MASS else int(interior.counts.sum())
    # The choice among the bounds is by the counts alone, so that it costs no alpha. With labels the bound is a few per cent
    # larger than without at the most (4 % at alpha = 0.1), and mostly smaller by much more.
    direct = (ece_bound_before if from_labels else ece_bound)(interior.counts, n_seen, alpha)
    radius = _conditional_radius(evidence, interior, alpha, direct)
    label_sums = interior.first.label_sums if from_labels else None
    if radius is None:
        bound = ece_bound(interior.counts, n_seen, alpha, shifts=np.minimum(shifts, 1.0), label_sums=label_sums)
        theorem = _MCDIARMID if label_sums is None else _BERNSTEIN
    elif label_sums is None:
        bound = radius + float(shifts.max())
        theorem = f"exact binomial radius for the bins' counts{_SHARE['conditional']}, which bounds the ECE"
    else:  # with the labels it is never above that
        bound = radius_of_labels(interior.counts, label_sums, _alpha_of_radius(evidence, alpha)) + float(shifts.max())
        theorem = f"{_ONE_RADIUS}, which bounds the ECE"
    return bound + evidence.delta, f"{theorem}; {binomial_law(evidence)}"


_DE_MOIVRE = (
    "the largest mean deviation of a binomial mean, for the l_1-ECE, by de Moivre's formula (Diaconis & Zabell 1991; fastbin, "
    "Theorem F15)"
)
_MCDIARMID = "McDiarmid's inequality for the ECE, whose mean is bounded by de Moivre's formula (fastbin, Theorem F15)"
_BERNSTEIN = "Bernstein's or McDiarmid's inequality for the ECE at the frequencies that the labels allow (fastbin, Theorem F12)"


def _alpha_of_radius(evidence: Evidence, alpha: float) -> float:
    """The alpha of a radius that the counts choose in place of a direct bound for the ECE.

    Where counts are known before the data the choice costs nothing. Else the masses of the direct bounds, which fail with
    probability 0.1 alpha, may fail just where the radius is chosen.
    """
    are_known = evidence.scheme in UNIFORM_MASS and evidence.n_bins == evidence.n_bins_asked
    return alpha if are_known else 0.9 * alpha


def _conditional_radius(evidence: Evidence, interior: Interior, alpha: float, direct: float) -> float | None:
    """The radius that all bins' means keep at once, where it is below a direct bound for the ECE of these means; else None.

    It depends on counts alone, and so does the choice.
    """
    # Radii take time to compute: not where the standard deviation at a frequency of one half is larger already.
    if not interior.is_covered.all() or 0.5 / math.sqrt(int(interior.counts.min())) > direct:
        return None
    level, radius = sidak(_alpha_of_radius(evidence, alpha), interior.counts.shape[0]), 0.0
    for count in np.unique(interior.counts).tolist():
        radius = max(radius, exact_radius(count, level))
        if radius >= direct:
            return None
    return radius


# Each gives epsilon, which may exceed 1, and the theorem behind it.
_BOUNDS: dict[str, Callable[[Evidence, Interior, float, str], tuple[float, str]]] = {
    "data": _data,
    "a-priori": _a_priori,
    "hoeffding": _hoeffding,
}


def _certify_moved(evidence: Evidence, interior: Interior, alpha: float, kind: str, bound: str, side: str) -> Certificate:
    """The certificate at the target of a model that label shift moved. Other kinds depend on the target's bin masses."""
    # First, because its error is the more precise one where intervals do not exist.
    n_covered = int(np.count_nonzero(interior.is_covered))
    at_target = interval_among(evidence, interior, alpha, "clopper-pearson", n_covered, side)
    if kind not in ("conditional", "ratio") or bound != "clopper-pearson":
        if sampling_rate_of(evidence):
            raise GuaranteeError(
                "of rows of which some with label 0 were left out only kind='conditional' and kind='ratio' with "
                f"bound='clopper-pearson' have a certificate (fastbin, Theorem F27); kind={kind!r} with bound={bound!r} would "
                "need the shares of the bins in the population, or values that are the bins' means; fit to rows of which none "
                "were left out"
            )
        raise GuaranteeError(
            "after label shift only kind='conditional' and kind='ratio' with bound='clopper-pearson' have a certificate; "
            f"kind={kind!r} with bound={bound!r} would need the target's bin masses, or values that are the bins' means"
        )
    assumptions = [*_assumed_of_move(evidence), *about_ties(evidence)]
    theorem = "Clopper & Pearson 1934 for bins and class rates, moved by Sun, Song & Hero 2023, equation (15)"
    if sampling_rate_of(evidence):
        theorem = "Clopper & Pearson 1934 for bins, moved by the sampling rate (fastbin, Theorem F27)"
    elif evidence.rates is not None and evidence.rates.target.origin == "estimated":
        theorem += "; the target rate by the shares of scores above fixed cuts (fastbin, Theorem F23)"
    served: Any = None
    if has_steps(evidence):  # the target's mix of steps inside a bin is not known, so any is allowed for
        starts = evidence.first_step  # type: ignore[attr-defined]
        served = tuple(extreme.reduceat(evidence.values, starts) for extreme in (np.minimum, np.maximum))
        theorem += "; the average of what is served in a bin lies between its least and its greatest value"
    return certificate_from_intervals(
        evidence, at_target, served=served, alpha=alpha, kind=kind, bound=bound, theorem=theorem + _OF_ONE_SIDE[side],
        assumptions=tuple(assumptions), side=side, n_target=None if evidence.rates is None else evidence.rates.target.n_samples,
    )  # fmt: skip


def _assumed_of_move(evidence: Evidence) -> list[str]:
    """The assumptions of a certificate of moved values: about the samples, and about how values were moved."""
    of_clusters = ["clusters"] * is_of_clusters(evidence)
    if kept := sampling_rate_of(evidence):
        return [
            draws_from("the population"),
            *sentences(*of_clusters, "training"),
            f"of these draws, those with label 1 were all kept, and those with label 0 each with probability {kept:g}, "
            "whatever their score",
        ]
    assert evidence.rates is not None  # else `interval` has raised
    assumptions = [
        draws_from("the source population"),
        *sentences(*of_clusters, "training"),
        "P(score | label) is the same in the target population, of which the promise speaks",
    ]
    for population, rate in zip(("source", "target"), evidence.rates, strict=True):
        if rate.origin == "given":
            assumptions.append(f"P(Y = 1) at the {population} is as given")
        elif population == "target":
            told = "labels that were counted" if rate.origin == "counted" else "scores that were looked at"
            assumptions.append(f"the {told} for the target's rate are independent draws from the target")
    return assumptions


# ------------------------------------------------------------------------------------------------- the calibration rows

_OF_ROWS = (
    "Clopper & Pearson 1934 for sums of independent labels of any probabilities, by Hoeffding 1956, with Markov's inequality "
    "at a single label of one kind, and Sidak's level over the bins (fastbin, Theorem F11)"
)


def check_of_rows(kind: str, bound: str | None) -> str:
    """The bound of a promise about the calibration rows; an error where it is asked for another kind, or by another bound."""
    for argument, value, asked in (("kind", kind, "conditional"), ("bound", bound or "clopper-pearson", "clopper-pearson")):
        if value != asked:
            remedy = (
                "a promise about the calibration rows is of kind 'conditional', by bound='clopper-pearson', or of kind "
                "'mean-error'"
            )
            raise InputError(None, remedy, argument=argument, value=value)
    return "clopper-pearson"


def _certify_rows(evidence: Evidence, alpha: float, kind: str, bound: str | None, side: str) -> Certificate:
    """How far the average served is from the average true probability of the calibration rows of each bin."""
    bound = check_of_rows(kind, bound)
    require_guarantee(evidence)
    if evidence.scheme == "ze" and not has_whole_ties(evidence):
        raise GuaranteeError(
            "scheme 'ze' averages the row at each edge in the bin below, and serves it the value of the bin above, so the rows "
            "of a bin are not those that its value is about; fit with scheme='umd'"
        )
    counts, ones = rows_of_bins(evidence)
    covered = counts > 0
    require_samples(covered)
    intervals = ends_of_rows(ones, counts, sidak(alpha, int(np.count_nonzero(covered))), side)
    served = _served_on_rows(evidence, counts) if has_steps(evidence) else None
    assumptions = sentences("labels", "training", *["random values"] * (evidence.delta > 0.0))
    return certificate_from_intervals(
        evidence, intervals, covered, served=None if served is None else (served, served), alpha=alpha, kind=kind, bound=bound,
        theorem=_OF_ROWS + _OF_ONE_SIDE[side], assumptions=tuple(assumptions), about="calibration rows", side=side,
    )  # fmt: skip


def _served_on_rows(evidence: Any, counts: Int64s) -> Float64s:
    """The average that the counted rows of each bin are served; a lone row that is not counted is in the first step."""
    values, of_steps = np.asarray(evidence.values, np.float64), np.asarray(evidence.step_counts, np.int64)
    starts = np.asarray(evidence.first_step)
    left_out = np.add.reduceat(of_steps, starts) - counts
    sums = np.add.reduceat(of_steps * values, starts) - left_out * values[starts]
    return np.asarray(sums / np.maximum(counts, 1))


# ------------------------------------------------------------------------------------------------- two resolutions

# A model of two resolutions has B evidence bins, whose edges never looked at a label, and many steps inside each, whose values
# may depend on all labels in any way. In every bin the rate of label 1 lies in its interval, and the average of the served
# values, E[v | bin], is known up to the masses of the steps; these are spacings of order statistics, whose law is the same for
# every distribution of the scores. The event that both hold does not mention v, so it holds for every v at once.

# The share of a bin's failure probability that goes to the masses of its steps. From .05 to .2 epsilon changes by 1 %.
SHARE_OF_MASSES = 0.1

# In bins of fewer samples the conditional promise is little wider, and narrower where label 1 is rare: half at 20 samples.
FEWEST_FOR_ECE = 100
# What follows the distance of the rate from the mean label.
TERMS = ("mean label against mean served", "masses of the steps")

_OF_STEPS = (
    "edge bound for values of any kind (fastbin, {theorems}): {of_rates}; masses of the steps are Beta "
    "distributed order statistics, by a union bound over the cuts of a bin; label sums are those of independent draws, or "
    "bounded by them where whole groups of equal scores lie at edges"
)


def certify_steps(evidence: Evidence, interior: Interior, alpha: float, kind: str, bound: str, side: str) -> Certificate:
    """The certificate of a model of two resolutions; see `fastbin.guarantees.certify`."""
    expected = {"ece": ("data",), "conditional": (*OF_INTERVALS, "common")}.get(kind, OF_INTERVALS)
    if evidence.scheme not in CERTIFIED or kind == "expected-ece" or bound not in expected:
        raise GuaranteeError(
            f"kind={kind!r} with bound={bound!r} is about values that are the means of their bins, and those of this model "
            "were fitted by a map; take kind='conditional' with bound='clopper-pearson', 'hull' or 'common', kind='marginal' "
            "with one of the first two, or kind='ece' with bound='data'"
        )
    for_any_law = bound == "hull" and assumes_no_atoms(evidence)
    if for_any_law:
        if getattr(evidence, "unlabelled_counts", None) is not None:
            raise GuaranteeError(
                "bound='hull' is not proved for a fit with unlabelled=, where the sample at an edge may have no label; take "
                "bound='clopper-pearson', which assumes that scores at edges have no probability of their own"
            )
        interior = interior_for_any_law(evidence, interior)
    covered = interior.is_covered
    require_samples(covered)
    if kind == "ece" and (certificate := _certify_ece_of_steps(evidence, interior, alpha)) is not None:
        return certificate
    if bound == "common":
        rates, low, high = _ends_by_common_radius(evidence, interior, alpha)
        of_rates = _ONE_RADIUS
    else:
        rates, low, high = _ends_of_bins(evidence, interior, alpha, kind, for_any_law=for_any_law, side=side)
        of_rates = f"Clopper & Pearson 1934{_SHARE[kind if kind == 'marginal' else 'conditional']}"
    certificate = certificate_from_intervals(
        evidence, rates, covered, served=(low, high), alpha=alpha, kind=kind, bound=bound,
        theorem=_OF_STEPS.format(theorems=_theorems(evidence, for_any_law), of_rates=of_rates) + _OF_ONE_SIDE[side],
        assumptions=assumptions_of(evidence, kind, bound), side=side,
    )  # fmt: skip
    if kind == "ratio" or certificate.epsilon == 0.0:  # its terms do not add up
        return certificate
    widest = int(np.argmax(np.where(covered, np.array(certificate.radii), -1.0)))
    terms = _terms(evidence, widest, tuple(rates[widest]), (low[widest], high[widest]), side)
    names = ("one radius" if bound == "common" else "Clopper-Pearson", *TERMS)
    return replace(certificate, terms=tuple(zip(names, terms, strict=True)))


def _certify_ece_of_steps(evidence: Evidence, interior: Interior, alpha: float) -> Certificate | None:
    """The calibration error on the evidence bins, from that of mean labels and how far these are from what is served.

    None where that is not known, or where the conditional promise, which implies one about this error, may be narrower. The
    counts alone decide.
    """
    counts, ones = interior.first
    is_known = not has_whole_ties(evidence) and getattr(evidence, "unlabelled_counts", None) is None and has_steps(evidence)
    if not is_known or int(counts.min()) < FEWEST_FOR_ECE:
        return None
    of_labels, n = (1.0 - SHARE_OF_MASSES) * alpha, int(evidence.n_samples)
    if _conditional_radius(evidence, interior, of_labels, ece_bound_before(counts, n, of_labels)) is not None:
        return None
    means = ones / counts
    low, high = StepMasses(evidence).average_ends(sidak(SHARE_OF_MASSES * alpha, len(counts)))
    shifts = np.minimum(np.maximum(np.abs(means - low), np.abs(high - means)), 1.0)
    theorem = (
        f"{_BERNSTEIN}; what is served on average in a bin is known up to the masses of "
        f"its steps (fastbin, Theorem F13, {_theorems(evidence, for_any_law=False)}); {binomial_law(evidence)}"
    )
    return certificate_of(
        evidence, ece_bound(counts, n, of_labels, shifts=shifts, label_sums=ones), interior.is_covered, alpha=alpha,
        kind="ece", bound="data", n_steps=len(np.asarray(evidence.values)), theorem=theorem,
        assumptions=assumptions_of(evidence, "ece"),
    )  # fmt: skip


def _theorems(evidence: Evidence, for_any_law: bool) -> str:
    """Which of fastbin's own theorems a certificate of two resolutions rests on."""
    numbers = ["F3"]
    if has_whole_ties(evidence) or for_any_law:
        numbers = ["F2" if for_any_law else "F1", "F4", *["F14"] * (place_of_rest(evidence) is not None)]
        numbers += ["F19"] * (atoms_of(evidence) is not None)
    elif getattr(evidence, "unlabelled_counts", None) is not None:
        numbers.append("F5")
    if evidence.scheme == "certified-fine":
        numbers.insert(2, "F9")
    return f"Theorem {numbers[0]}" if len(numbers) == 1 else f"Theorems {', '.join(numbers[:-1])} and {numbers[-1]}"


def _ends_of_bins(
    evidence: Evidence, interior: Interior, alpha: float, kind: str, *, for_any_law: bool, side: str = "both"
) -> tuple[Float64s, Float64s, Float64s]:
    """The interval of each bin's rate, (B, 2), and the least and the greatest E[v | bin], which hold at once."""
    level = _level(interior, alpha, kind)
    low = high = np.asarray(evidence.values, np.float64)
    of_rates: Float64s | float = level
    if has_steps(evidence) or has_whole_ties(evidence):
        # Also where ties have left no step: a level that looked at the scores inside the bins would be none.
        masses = StepMasses(evidence, for_any_law=for_any_law)
        low, high = masses.average_ends(SHARE_OF_MASSES * level)
        of_rates = np.where(masses.n_cuts > 0, (1.0 - SHARE_OF_MASSES) * level, level)
    return interval_of_interior(interior, exact_ends, of_rates, side), low, high


def _ends_by_common_radius(evidence: Evidence, interior: Interior, alpha: float) -> tuple[Float64s, Float64s, Float64s]:
    """The same by one radius for all mean labels, at what the masses leave of alpha: all of it where each bin is one step."""
    share = SHARE_OF_MASSES if has_steps(evidence) else 0.0
    means, radius = _means_and_radius(interior, (1.0 - share) * alpha)
    low, high = average_ends_of(evidence, share * alpha, int(np.count_nonzero(interior.is_covered)))
    ends = np.stack([np.maximum(means - radius, 0.0), np.minimum(means + radius, 1.0)], axis=1)
    return np.where(interior.is_covered[:, None], ends, [0.0, 1.0]), low, high


def shifts_to_cap(evidence: Evidence, alpha: float, slack: float) -> Float64s:
    """The least shift of the values of each bin that brings its radius down to (1 + slack) times the least that is possible.

    With [L, U] the interval of a bin's rate and [c - s, c + s] that of E[v | bin], its radius is at least (U - L) / 2 + s,
    which it is for c in the middle of [L, U]. The widest bin alone decides what all are allowed.
    """
    interior = require_interior(evidence)
    rates, least, most = _ends_of_bins(evidence, interior, alpha, "conditional", for_any_law=False)
    centres, halves = (least + most) / 2.0, (most - least) / 2.0
    covered = interior.is_covered
    allowed = (1.0 + slack) * float(np.max(((rates[:, 1] - rates[:, 0]) / 2.0 + halves)[covered], initial=0.0))
    wanted = np.clip(centres, rates[:, 1] + halves - allowed, rates[:, 0] - halves + allowed)
    return np.where(covered, wanted - centres, 0.0)


def _terms(evidence: Any, at: int, rate: tuple[float, float], served: tuple[float, float], side: str) -> tuple[float, ...]:
    """The terms of the radius of a bin, on its side or where it is larger."""
    mean = float(evidence.label_sums[at] / evidence.counts[at])
    seen = float(evidence.bin_values[at])
    is_upper = side == "upper" or (side == "both" and rate[1] - served[0] >= served[1] - rate[0])
    sizes = (rate[1] - mean, mean - seen, seen - served[0]) if is_upper else (mean - rate[0], seen - mean, served[1] - seen)
    return tuple(map(float, sizes))
