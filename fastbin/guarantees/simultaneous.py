"""From many models to one promise: certificates and intervals of cells that share one alpha."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Sized
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s, Int64s
from fastbin._base.checks import SMALLEST_ALPHA, check_alpha, check_choice, check_flag, refuse_first
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import GuaranteeError, InputError, InputTypeError
from fastbin.guarantees.certificate import (
    ABOUT,
    CELLS,
    CERTIFICATE_BOUNDS,
    Certificate,
    SetCertificate,
    assumptions_of,
    certificate_of,
    check_bound,
    check_side_of,
    name_cell,
)
from fastbin.guarantees.certify import (
    OF_INTERVALS,
    binomial_law,
    bound_for,
    boundary_shifts,
    certify,
    certify_bins,
    certify_population,
    check_of_rows,
    is_of_steps,
    require_means,
)
from fastbin.guarantees.evidence import (
    Evidence,
    Interior,
    alpha_of_edges,
    as_evidence,
    has_edges_of_others,
    has_whole_ties,
    is_moved,
)
from fastbin.guarantees.intervals import (
    check_at,
    check_interval_bound,
    interval,
    interval_among,
    interval_at_scores,
    interval_of_tally,
    tally_of,
)
from fastbin.guarantees.radius import NEGLIGIBLE, common_radius, failures_within
from fastbin.guarantees.sentence import MEAN_ERRORS
from fastbin.intervals import sidak
from fastbin.intervals.binomial import as_counts, check_side, special_functions

# Equal fingerprints of two models mean that they were fitted to the same rows, unless other rows agree by chance so often.
_BY_CHANCE = 1e-6
_DISJOINT = "each row belongs to one of the {cells}, and labels decide neither to which one, nor which of them are pooled"
_SHARED = "each row is scored for all {cells}"
# Where numbers of rows decide which cells are pooled, these are cells with fewer rows than expected, and their shares of the
# pool are not quite the expected ones.
_MIX = "the {cells} of the pool have the shares of its population that they have of its calibration samples"

_Part = tuple[Any, Certificate]


class _Cell(NamedTuple):
    name: Any
    model: Evidence
    tally: Interior
    n_covered: int  # bins with samples

    @property
    def is_full(self) -> bool:
        """Whether every bin holds a sample."""
        return self.n_covered == len(self.tally.counts)

    def dividing_rest(self, n_parts: float) -> _Cell:
        """With the share of alpha of its rest, if it may leave one, in so many parts rather than one for each rank."""
        rest = self.tally.rest
        return self if rest is None else self._replace(tally=replace(self.tally, rest=np.where(rest > 0.0, n_parts, 0.0)))


@shared_docs(certify.__doc__)
def certify_set(
    models: Sequence[Evidence],
    alpha: float = 0.1,
    kind: str = "conditional",
    bound: str | None = None,
    *,
    about: str = "population",
    class_wise: bool = False,
    names: Sequence[Any] | None = None,
    cells: str = "cells",
    side: str = "both",
) -> SetCertificate:
    """The promise of many models together, each about the samples of its own cell.

    Cells are disjoint: each sample belongs to one of them, and its label has no part in that. Given the cells of the samples
    and their edges, the label sums of all bins are independent, so that promises which hold with probabilities 1 - alpha_j hold
    together with their product. The shares alpha_j are fixed before the labels are seen, by counts alone (`share_alpha`), and
    each model is certified at its own. With `class_wise` the same samples serve all models, as for one class against the rest;
    then the union bound takes the place of independence, and each of k models gets alpha / k.

    Parameters
    ----------
    models : sequence of Evidence
        Fitted models, such as `fastbin.BinnedModel`. Those without a sample are left out of the promise, and named.
    alpha : float
        Failure probability of all models together, from n_models x 1e-100 to 1/2. Not used by "expected-ece".
    kind : {"conditional", "marginal", "expected-ece", "ece", "ratio", "mean-error", "mean-overestimate", \
"mean-underestimate"}
        What is promised, for all models at once; see `Certificate`. "marginal": for the cell of the next sample, so that each
        model has all of alpha. The kinds about the ECE bound it in each cell, and so its mean over all of them.
    bound : {"common", "clopper-pearson", "hull", "data", "a-priori", "hoeffding"}, optional
        As in `certify`, with the same defaults, but for "conditional" of several models "clopper-pearson": with "common" each
        has its own radius at its own level, which takes about ten milliseconds a model. With "a-priori" a conditional promise
        is the least epsilon that all bins of all models keep at once (`common_radius`), unless whole groups of equal scores lie
        at edges.
    about : {"population", "calibration rows"}
        As in `certify`.
    class_wise : bool
        Whether the same samples serve all models.
    names : sequence, optional
        For each model the key of its cell, None for a pool of several cells. By default the numbers of the models.
    cells : {"cells", "segments", "predicted classes", "classes"}
        What to call the cells.
    side : {"both", "upper", "lower"}
        As in `certify`, for all models.

    Returns
    -------
    SetCertificate
        The promise, and that of each model. For a single model with samples the same as `certify` gives for it.

    Raises
    ------
    GuaranteeError
        Where a model has no such guarantee: the message names its cell, the theorem and the remedy. Where no model has a
        sample. Where two models of disjoint cells were seen to be fitted to the same rows, as bins and ties of equal models
        tell, or one was moved to class rates that were found in rows: the same labels may then stand behind several promises.
    InputError, InputTypeError
        When an argument is outside its range or of the wrong type.

    Notes
    -----
    No share depends on a label: conditional promises hold given the counts of all bins (order statistics and the rows between
    them), so their shares may depend on these. The bound on the ECE also uses the law of the masses of the bins, which holds
    given the number of samples of each cell alone; so its shares are made from the numbers of samples and of bins asked for.
    About 0.1 ms for each model by "clopper-pearson", 3 ms where values are finer than the bins.

    Examples
    --------
    >>> import fastbin as fb
    >>> scores = [i / 1000 for i in range(1000)]
    >>> large = fb.UniformMassBinning(n_bins=5).fit(scores, [int(i % 10 < 8) for i in range(1000)])
    >>> small = fb.UniformMassBinning(n_bins=2).fit(scores[:200], [int(i % 10 < 3) for i in range(200)])
    >>> certificate = certify_set([large, small], names=["north", "south"], cells="segments")
    >>> print(certificate)
    With probability at least 90 % over the 1,200 calibration samples, in each of the 7 bins of 2 segments at once, the ...
    >>> [(name, round(part.epsilon, 3), round(part.alpha, 3)) for name, part in certificate.parts]
    [('north', 0.093, 0.019), ('south', 0.104, 0.082)]
    """
    alpha, kind = check_alpha(alpha), check_choice(kind, "kind", tuple(CERTIFICATE_BOUNDS))
    cells, side = check_choice(cells, "cells", tuple(CELLS)), check_side_of(side, kind, bound)
    class_wise = check_flag(class_wise, "class_wise")
    every = _cells(models, names, cells)
    covered = [cell for cell in every if cell.n_covered]
    if check_choice(about, "about", ABOUT[:2]) == "calibration rows" and kind not in MEAN_ERRORS:
        bound = check_of_rows(kind, bound)
    else:
        bound = bound_for(covered[0].model, kind, bound, side) if len(covered) == 1 else check_bound(bound, kind)
    if not covered:
        raise GuaranteeError(f"none of the {len(every)} {cells} holds a sample, so there is nothing to certify")
    if not class_wise:
        _require_disjoint(covered, cells)
    if _has_one_radius(covered, kind, bound) and not class_wise and side == "both":
        parts = _parts_of_one_radius(covered, alpha, cells)
    else:
        levels = _levels(covered, alpha, kind, class_wise)
        if len(covered) > 1 and kind != "marginal" and not class_wise and about == "population":
            covered, levels = _beside_rests(covered, levels, alpha, bound)
        parts = _parts(covered, levels.tolist(), kind, bound, cells, about, side)
    joined = _joined(every, parts, alpha=alpha, kind=kind, bound=bound, cells=cells, class_wise=class_wise, about=about)
    return replace(joined, side=side)


def about_pool(certificate: Certificate, cells: str, n_models: int) -> Certificate:
    """The promise of the pool, of a set of so many models, told of one of the cells that share it: it is about their mix.

    Where all cells share it, they have the shares of the population by themselves.
    """
    mix = (_MIX.format(cells=cells),) if n_models > 1 else ()
    return replace(certificate, assumptions=(*certificate.assumptions, *mix), pooled=cells)


@shared_docs(certify_set.__doc__, interval.__doc__)
def set_intervals(
    models: Sequence[Evidence],
    alpha: float = 0.1,
    bound: str = "clopper-pearson",
    simultaneous: bool = True,
    *,
    class_wise: bool = False,
    names: Sequence[Any] | None = None,
    cells: str = "cells",
    at: str = "bin",
    side: str = "both",
) -> list[Float64s]:
    """An interval for the true frequency of label 1 in each bin of many models, all bins at the same level.

    Parameters
    ----------
    models : sequence of Evidence
        Fitted models of disjoint cells, such as `fastbin.BinnedModel`.
    alpha : float
        Failure probability: of all bins of all models together where `simultaneous`, else of each bin.
    {bound}
    simultaneous : bool
        Whether alpha is shared among all bins that hold samples.
    class_wise : bool
        Whether the same samples serve all models: then each of k models has alpha / k for its bins.
    {names}
    {cells}
    {at}
    side : {"both", "upper", "lower"}
        As in `interval`.

    Returns
    -------
    list of ndarray of float64, shape (n_bins, 2); with at="score" (n_steps, 2)
        For each model what `interval` gives for one; [0, 1] for a bin without samples.

    Raises
    ------
    GuaranteeError
        Where a model has no intervals, and, where `simultaneous`, as in `certify_set`; the message names the cell.
    InputError, InputTypeError
        When an argument is outside its range or of the wrong type.

    Notes
    -----
    Given the cells of the samples and their edges the bins of all cells are independent, so that Sidak's level over all of them
    is exact. Equal levels do not widen the intervals of cells with many samples for the sake of those with few, as one epsilon
    for all does (`certify_set`). Those are two promises: choose before you look. O(n_bins of all models).

    Examples
    --------
    >>> import fastbin as fb
    >>> scores = [i / 1000 for i in range(1000)]
    >>> models = [fb.FixedWidthBinning(n_bins=1).fit(scores, [int(i % 10 < k) for i in range(1000)]).model_ for k in (2, 5)]
    >>> [intervals.round(3).tolist() for intervals in set_intervals(models)]
    [[[0.176, 0.226]], [[0.469, 0.531]]]
    """
    alpha, bound, class_wise = check_alpha(alpha), check_interval_bound(bound), check_flag(class_wise, "class_wise")
    at = check_at(at, bound, simultaneous, check_side(side))
    if at == "unlabelled":
        raise GuaranteeError(
            "at='unlabelled' is about one batch of known size, and nothing is proved of several models at once: ask one of "
            "them, by which= a key"
        )
    every = _cells(models, names, check_choice(cells, "cells", tuple(CELLS)), bound)
    covered = [cell for cell in every if cell.n_covered]
    if simultaneous and not class_wise:
        _require_disjoint(covered, cells)
    of_each = alpha / max(1, len(covered)) if simultaneous and class_wise else alpha
    if at == "score":
        level = of_each if class_wise else sidak(alpha, max(1, len(covered)))
        return [_at_scores(cell, level, cells) for cell in every]
    n_sharing = sum(cell.n_covered for cell in covered) if simultaneous else 1
    if simultaneous and not class_wise:
        every = _sharing_rest(every)
    has_rests = any(cell.tally.rest is not None for cell in every)
    if not class_wise and (simultaneous or not has_rests) and not any(is_moved(cell.model) for cell in every):  # one call
        joined = interval_of_tally(Interior.joined([cell.tally for cell in every]), alpha, bound, n_sharing, side)
        return np.split(joined, np.cumsum([len(cell.tally.counts) for cell in every])[:-1])
    found = []
    for cell in every:
        with _naming(cell.name, cells):
            sharing = cell.n_covered if simultaneous and class_wise else n_sharing
            found.append(interval_among(cell.model, cell.tally, of_each, bound, sharing, side))
    return found


def _at_scores(cell: _Cell, level: float, cells: str) -> Float64s:
    with _naming(cell.name, cells):
        return interval_at_scores(cell.model, level)


# ------------------------------------------------------------------------------------------------- the cells


@contextmanager
def _naming(name: Any, cells: str) -> Iterator[None]:
    """Errors of one model say whose it is."""
    try:
        yield
    except GuaranteeError as error:
        whose = name_cell(name) if name is None else f"{CELLS[cells][0]} {name_cell(name)}"
        raise GuaranteeError(f"{whose}: {error}") from error


def _cells(models: Sequence[Any], names: Sequence[Any] | None, cells: str, bound: str = "clopper-pearson") -> list[_Cell]:
    for argument, value in (("models", models), ("names", [] if names is None else names)):
        if not isinstance(value, Sized) or not np.iterable(value):
            raise InputTypeError(f"is of type {type(value).__name__}", "pass a sequence, one of each", argument=argument)
    given = range(len(models)) if names is None else names
    if len(given) != len(models) or len(models) == 0:
        raise InputError(
            f"there are {len(models)} models and {len(given)} names; every model needs one, and there must be a model"
        )
    every = []
    for i, (name, model) in enumerate(zip(given, models, strict=True)):
        evidence = as_evidence(model, f"models[{i}]")
        with _naming(name, cells):
            tally = tally_of(evidence, bound)
            every.append(_Cell(name, evidence, tally, int(np.count_nonzero(tally.is_covered))))
    return every


def _require_disjoint(cells: list[_Cell], word: str) -> None:
    """Raise where the promises of two models may rest on the same labels."""
    seen: dict[tuple[str, int], _Cell] = {}
    for cell in cells:
        if len(cells) > 1 and cell.model.rates is not None and any(rate.origin != "given" for rate in cell.model.rates):
            with _naming(cell.name, word):
                raise GuaranteeError(
                    "its values were moved to class rates that were counted or estimated on rows that others share; certify "
                    "each model by itself, at its part of alpha, or move all by rates that are given"
                )
        fingerprint = int(getattr(cell.model, "fingerprint", 0))
        other = seen.setdefault(("rows", fingerprint) if fingerprint else ("model", id(cell.model)), cell)
        if other is not cell and (other.model is cell.model or not _agrees_by_chance(cell, len(cells))):
            raise GuaranteeError(
                f"{name_cell(other.name)} and {name_cell(cell.name)} have models of the same samples, so their labels are not "
                f"independent, and the {word} not disjoint; fit each to its own samples (class_wise=True is for models of "
                "several classes, which share theirs)"
            )


def _agrees_by_chance(cell: _Cell, n_cells: int) -> bool:
    """Whether other rows might well have the fingerprint of this model: few samples, or few distinct scores.

    The multinomial chance of its tally, at its own shares, which make it largest. Where boundary scores are unique in the cell,
    two cells have the same ones with a chance of about 1 / n_samples each at most.
    """
    counts, ones = (np.asarray(part, dtype=np.int64) for part in (cell.model.counts, cell.model.label_sums))
    total = int(counts.sum())
    logarithm = math.lgamma(total + 1)
    for count in np.append(ones, counts - ones).tolist():
        if count > 0:
            logarithm += count * math.log(count / total) - math.lgamma(count + 1)
    has_fixed_edges = cell.model.scheme in ("explicit", "fixed-width") or has_edges_of_others(cell.model)
    if cell.model.n_tied == 0 and not has_fixed_edges:
        logarithm -= (len(counts) - 1) * math.log(max(2, total))
    return logarithm + 2.0 * math.log(n_cells) > math.log(_BY_CHANCE)


# ------------------------------------------------------------------------------------------------- the levels


def _levels(covered: list[_Cell], alpha: float, kind: str, class_wise: bool) -> Float64s:
    """The failure probability of each model."""
    if kind == "marginal" and not class_wise:
        return np.full(len(covered), alpha)
    sizes, bins = np.array([_size(cell, kind) for cell in covered], dtype=np.int64).T
    return share_alpha(sizes, bins, alpha, class_wise=class_wise)


def _size(cell: _Cell, kind: str) -> tuple[int, int]:
    """Samples in the smallest bin, and the number of bins; for the ECE as the numbers of rows and of bins asked for say."""
    if kind == "ece" or kind in MEAN_ERRORS:
        n_bins = int(cell.model.n_bins_asked) or int(cell.model.n_bins)
        return max(1, int(cell.model.n_samples) // n_bins), n_bins
    covered = cell.tally.is_covered
    return max(1, min(int(reading.counts[covered].min()) for reading in cell.tally.readings)), cell.n_covered


def _n_ranks(cell: _Cell) -> int:
    """At how many ranks the fit of a model may have ended, as the number of bins asked for says."""
    return max(1, (int(cell.model.n_bins_asked) or int(cell.model.n_bins)) - 1)


def _sharing_rest(cells: list[_Cell]) -> list[_Cell]:
    """With one level for the rests of all cells, known before the scores (Theorem F14): each rank of each has an equal part."""
    n_ranks = float(sum(_n_ranks(cell) for cell in cells if cell.n_covered))
    return [cell.dividing_rest(n_ranks) for cell in cells]


def _beside_rests(covered: list[_Cell], levels: Float64s, alpha: float, bound: str) -> tuple[list[_Cell], Float64s]:
    """The cells with the shares of their rests, and the levels of their models, where some may leave a rest.

    The levels of models may depend on the counts of bins, but that of a rest is known before the scores: it is a part of what
    rests have of all of alpha, as the numbers of rows and of bins asked for say (Theorems F7 and F14). The bins of models that
    leave none have what the others leave them, too; the hull takes its own off.
    """
    with_rest = [cell.tally.rest is not None for cell in covered]
    if not any(with_rest):
        return covered, levels
    before = _levels(covered, alpha, "ece", class_wise=False)
    of_rests = (alpha - alpha_of_edges(alpha)) * before / before.sum()
    sharing, own_levels = [], levels.copy()
    for j, (cell, level) in enumerate(zip(covered, levels.tolist(), strict=True)):
        of_edges = alpha_of_edges(level)
        sharing.append(cell.dividing_rest((level - of_edges) / float(of_rests[j]) * _n_ranks(cell)))
        if not with_rest[j] and bound != "hull":
            own_levels[j] = of_edges
    return sharing, own_levels


def _has_one_radius(covered: list[_Cell], kind: str, bound: str) -> bool:
    """Whether all values are means of binomial label sums, up to a known shift, so that one radius can be computed for all."""
    return (
        (kind, bound) == ("conditional", "a-priori")
        and len(covered) > 1
        and not any(is_moved(cell.model) or has_whole_ties(cell.model) or is_of_steps(cell.model) for cell in covered)
    )


def _parts_of_one_radius(covered: list[_Cell], alpha: float, cells: str) -> list[_Part]:
    """Every model at the common epsilon, and the part of alpha that it uses there."""
    kind, bound = "conditional", "a-priori"
    for cell in covered:
        with _naming(cell.name, cells):
            require_means(cell.model, "the a-priori bound", kind)
    shifts = [boundary_shifts(cell.tally) + float(cell.model.delta) for cell in covered]
    counts = np.concatenate([cell.tally.counts for cell in covered])
    epsilon = common_radius(counts, alpha, shifts=np.concatenate(shifts))
    level = sidak(alpha, int(np.count_nonzero(counts)))
    parts = []
    for cell, shift in zip(covered, shifts, strict=True):
        part = certificate_of(
            cell.model, min(1.0, epsilon), cell.tally.is_covered, kind=kind, bound=bound,
            alpha=_part_of_alpha(cell.tally.counts, epsilon - shift, level),
            theorem=f"exact binomial radius for the counts of the bins of all {cells}; {binomial_law(cell.model)}",
            assumptions=assumptions_of(cell.model, kind),
        )  # fmt: skip
        parts.append((cell.name, part))
    return parts


def _parts(covered: list[_Cell], levels: list[float], kind: str, bound: str, cells: str, about: str, side: str) -> list[_Part]:
    """Every model at its own level; those of one value a bin at once."""
    found: dict[int, Certificate] = {}
    if bound in OF_INTERVALS and about == "population":
        plain = [j for j, cell in enumerate(covered) if not is_moved(cell.model) and not is_of_steps(cell.model)]
        if plain:
            models, tallies = [covered[j].model for j in plain], [covered[j].tally for j in plain]
            own = certify_bins(models, tallies, [levels[j] for j in plain], kind, bound, side)
            found = dict(zip(plain, own, strict=True))
    for j, (cell, level) in enumerate(zip(covered, levels, strict=True)):
        if j not in found:
            with _naming(cell.name, cells):
                if about == "population" and kind not in MEAN_ERRORS:
                    found[j] = certify_population(cell.model, cell.tally, level, kind, bound, side)
                else:
                    found[j] = certify(cell.model, level, kind, bound, about=about, side=side)
    return [(cell.name, found[j]) for j, cell in enumerate(covered)]


def _part_of_alpha(counts: Int64s, radii: Float64s, level: float) -> float:
    """The chance that some bin of a model errs by more than its radius, at most."""
    found, repeats = np.unique(np.stack([counts[counts > 0], radii[counts > 0]]), axis=1, return_counts=True)
    failures = failures_within(found[0], found[1], NEGLIGIBLE * level).tolist()
    return -math.expm1(sum(n * math.log1p(-failure) for n, failure in zip(repeats.tolist(), failures, strict=True)))


def _joined(
    every: list[_Cell], parts: list[_Part], *, alpha: float, kind: str, bound: str, cells: str, class_wise: bool, about: str
) -> SetCertificate:
    """The certificate of all, of those of its parts."""
    certificates = [part for _, part in parts]
    theorems = " / ".join(dict.fromkeys(part.theorem for part in certificates))
    if len(parts) > 1 and kind not in ("marginal", "expected-ece") and not class_wise:
        edges = "" if kind in ("ece", *MEAN_ERRORS) else " and the edges"
        theorems += f"; given the {cells} of the samples{edges}, the {cells} are independent, and their chances multiply"
        theorems += " (fastbin, Theorem F7)"
    elif len(parts) > 1 and kind != "expected-ece" and class_wise:
        theorems += f"; union bound over the {cells}"
    assumptions = dict.fromkeys(sentence for part in certificates for sentence in part.assumptions)
    if len(parts) > 1:
        assumptions[(_SHARED if class_wise else _DISJOINT).format(cells=cells)] = None
        if any(name is None for name, _ in parts):
            assumptions[_MIX.format(cells=cells)] = None
    left_out = [(cell.name, np.flatnonzero(~cell.tally.is_covered).tolist()) for cell in every if not cell.is_full]
    sizes = [part.n_samples for part in certificates]
    return SetCertificate(
        epsilon=max(part.epsilon for part in certificates),
        alpha=None if kind == "expected-ece" else alpha,
        kind=kind,
        bound=bound,
        theorem=theorems,
        assumptions=tuple(assumptions),
        cells=cells,
        n_models=len(parts),
        n_bins=sum(part.n_bins for part in certificates),
        n_samples=max(sizes) if class_wise else sum(sizes),
        parts=tuple(parts),
        uncovered=tuple((name, tuple(bins)) for name, bins in left_out),
        about=about,
    )


# ------------------------------------------------------------------------------------------------- shares of one alpha


# No model gets less than this share of alpha / models: it costs the others a thousandth of alpha, and large models, whose radii
# would be equal to those of small ones at levels of 1e-50, get narrower ones.
_LEAST_SHARE = 1e-3


def share_alpha(counts: Any, bins: Any, alpha: float, *, class_wise: bool = False) -> Float64s:
    """The failure probability of each of several models, from label-free counts: alpha for one, 0 for one that is left out.

    With bins of `counts[j]` samples (of the smallest, or a number like it that no label has a part in), at frequencies of one
    half, the radii of all models are about equal: model j gets the level 1 - (1 - a_j)^bins[j] with a_j = erfc(r sqrt(2
    counts[j])), the normal chance of an error above r, and r is such that the product of 1 - level is 1 - alpha. So models of
    few samples get most of alpha. Where the same rows serve all models (`class_wise`), each gets its part of the sum alpha.

    Independent promises that hold with probabilities 1 - level hold together with their product, for any levels that were fixed
    before the labels; these only decide how large each radius is. O(n_models).

    >>> share_alpha([99, 99, 199], [10, 10, 10], alpha=0.1).round(4)
    array([0.051 , 0.051 , 0.0007])
    """
    sizes, shared = as_counts(counts, "counts"), as_counts(bins, "bins")
    if sizes.shape != shared.shape:
        raise InputError(f"lengths differ: counts has {sizes.shape[0]}, bins has {shared.shape[0]}; every model needs both")
    refuse_first(shared < 0, "bins", shared, "a model has 0 bins, if it is left out, or more")
    taken = shared > 0
    if (empty := taken & (sizes < 1)).any():
        j = int(np.argmax(empty))
        raise InputError(None, f"leave the model out by bins[{j}] = 0", argument="counts", at=j, value=int(sizes[j]))
    n_models, levels = int(np.count_nonzero(taken)), np.zeros(sizes.shape)
    alpha = check_alpha(alpha, smallest=max(1, n_models) * SMALLEST_ALPHA)
    if n_models == 1 or class_wise:
        levels[taken] = alpha / max(1, n_models)
    else:
        levels[taken] = _nearly_equal_radii(sizes[taken].astype(np.float64), shared[taken].astype(np.float64), alpha)
    return levels


def _nearly_equal_radii(sizes: Float64s, bins: Float64s, alpha: float) -> Float64s:
    erfc = special_functions().erfc
    least = max(_LEAST_SHARE * alpha / len(sizes), SMALLEST_ALPHA)

    def levels(radius: float) -> Float64s:
        of_bins = np.minimum(erfc(radius * np.sqrt(2.0 * sizes)), 0.5)  # log1p(-1) is infinite
        return np.maximum(-np.expm1(bins * np.log1p(-of_bins)), least)

    def is_enough(radius: float) -> bool:
        return float(np.log1p(-np.minimum(levels(radius), 0.75)).sum()) >= math.log1p(-alpha)

    # Hoeffding's radius by a union bound over all bins, and what the least shares take of alpha.
    low, high = 0.0, math.sqrt(math.log(4.0 * float(bins.sum()) / alpha) / (2.0 * float(sizes.min())))
    while low < (middle := low + (high - low) / 2.0) < high:
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    found = levels(high) if is_enough(high) else np.full(len(sizes), sidak(alpha, len(sizes)))  # alpha of 1e-99
    return np.clip(found, SMALLEST_ALPHA, alpha)
