"""Certified calibration: fine values inside coarse bins whose evidence certifies their averages."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Int64s, UInt64s
from fastbin._base.checks import (
    ScoreRange,
    are_probabilities,
    check_choice,
    check_count,
    check_flag,
    check_n_bins,
    check_score_range,
    check_scores,
    check_seed,
    check_unit_interval,
    no_samples,
)
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError
from fastbin._base.ranks import MOST_STEPS, has_fine_steps, slice_ranks
from fastbin._base.suspicions import are_hard_labels
from fastbin._core.fit import fit_sorted_in_steps
from fastbin._fit.calibrator import FIT_PARAMETERS, PARAMETERS, CountedBinning
from fastbin._fit.edges import (
    FittedSteps,
    cut_ranks,
    find_with_slices,
    fit_pooled_steps,
    fit_steps,
    logit_places,
    places_of_boundaries,
    require_samples,
    samples_needed,
    sought_cuts,
    ties_cost_bins,
)
from fastbin._fit.quantiles import Source
from fastbin._fit.rows import Rows, RowsSource, check_rows, limits_of, packed_scores
from fastbin._fit.tally import require_weight
from fastbin._model.provenance import LastMade
from fastbin.model import BinnedModel
from fastbin.scaling import value_maps
from fastbin.scaling.value_maps import BIN_MEANS, RECENTRINGS, VALUES, shifted_steps, tell_of, value_steps

if TYPE_CHECKING:
    from typing_extensions import Self

# With n_bins="auto": maps do not need many bins, which serve the certificate alone. One for each 200 samples between these
# numbers, so that epsilon does not jump: by two thirds from 999 samples to 1,000, if it went from 5 bins to 10 there. Where the
# values are means of the bins, fewer would cost a third of the log loss at 1,000 samples (bench/calarena).
FEWEST_BINS, MOST_BINS, SAMPLES_A_BIN, SAMPLES_A_MEAN = 5, 10, 200, 100
# With recentre="auto": below, moving the map by the labels of single bins adds more noise than it takes away
# (bench/calarena: .006 to .025 of the win rate).
FEWEST_TO_RECENTRE = 2000
# With recentre="cap": epsilon at this alpha exceeds what the evidence of the widest bin allows by this much.
ALPHA_OF_CAP, CAP_SLACK = 0.1, 0.1


@shared_docs(PARAMETERS)
@dataclass(eq=False, repr=False)
class CertifiedCalibration(CountedBinning):
    """Smooth calibrated probabilities with a distribution-free certificate: a value map inside certified bins.

    The samples are counted in a few uniform-mass bins, whose edges never look at a label, and in finer steps inside them, at
    most 1,000 in all: around every score and at 193 places between them while that makes no more (up to 803 samples in 5
    bins), else at ranks. A map is fitted to the steps, from 2,000 samples its level in each bin is corrected by the bin's own
    labels, and its value at each step is served. The certificate says how far the average of what is served in a bin may be
    from the true frequency there; it holds for any values, however they were fitted, and by ``bound="hull"`` for any
    distribution of the scores.

    Parameters
    ----------
    n_bins : int or "auto"
        Evidence bins. "auto": one for each 200 samples (100 where means of bins are the values), from 5 to 10; fewer where
        there are fewer than 2 n_bins - 1 samples. More bins say more about where the averages hold, and widen the certificate.
    values : str
        The map. "mixture": beta calibration, centred isotonic regression and a natural spline, mixed in the logit; where scores
        are probabilities, with them the scores as they are, as far as the labels do not contradict them, and below 250 samples
        temperature scaling in place of isotonic regression (the default, and the best of these on real score sets); "beta",
        "isotonic", "logistic", "spline" or "quadratic" alone; "mean": the mean label of each bin (with recentre="full" and
        monotone=False the values of `UniformMassBinning`); "jeffreys": the mean with half a sample more of either label, which
        is never 0 or 1.
    recentre : {"auto", "james-stein", "full", "none", "cap"}
        How far the map is moved, bin by bin, so that its average agrees with the mean label: as far as chance does not explain
        the difference ("james-stein"), entirely ("full"), or not at all ("none"). "auto" is "none" below 2,000 samples, else
        "james-stein". "cap" is "james-stein" and then moves the bins that lie farthest from their labels as little as brings
        epsilon at alpha = 0.1 to at most 1.1 times what the evidence of the widest bin allows (before values that would fall
        are pooled); it is for those who file epsilon, and refused with importance weights. "full" gives the narrowest
        certificate.
    monotone : bool
        Whether values that fall, though scores rise, are pooled. They are the ones that are certified.
    seed : int or None
        Of what is drawn where equal scores lie at edges. ``None`` draws one afresh; it is kept in the model.
    {sampling_rate}
    {score_range}
    {out_of_range}

    Attributes
    ----------
    model_ : BinnedModel
        Of two resolutions: ``n_bins`` evidence bins with their tally, ``n_steps`` values.

    See Also
    --------
    UniformMassBinning : one value per bin; the tightest promise, about every value that is served.

    Notes
    -----
    The promise is about averages in bins: in each evidence bin, the average of what is served is within epsilon of the true
    frequency of label 1. It says nothing about single values, nor about other bins. No method can promise more about values as
    fine as these (Gupta, Podkopaev & Ramdas 2020, Theorem 3).

    Edges and steps begin at whole groups of equal scores: a score has one probability, always, and no key is ever needed. A
    model is a function of the multiset of rows and the seed: order, batches and threads do not matter. Time O(n), and a
    fifth of a millisecond for the map, which sees counts of at most 1,000 steps and not the rows.

    Examples
    --------
    >>> import numpy as np
    >>> import fastbin as fb
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(2000)
    >>> labels = rng.random(2000) < scores**2
    >>> cal = fb.CertifiedCalibration().fit(scores, labels)
    >>> cal.predict([0.1, 0.5, 0.9]).round(2)
    array([0.01, 0.25, 0.82])
    >>> print(cal.certificate())
    With probability at least 90 % over the 2,000 calibration samples, in each of the 10 evidence bins at once, the average of
    ...
    """

    n_bins: int | str = "auto"
    _: KW_ONLY
    values: str = "mixture"
    recentre: str = "auto"
    monotone: bool = True
    seed: int | None = 0
    sampling_rate: float = 1.0

    @shared_docs(FIT_PARAMETERS)
    def fit(
        self, scores: Any, labels: Any, sample_weight: Any = None, n_threads: int = 1, *, unlabelled: Any = None,
        positive: Any = None,
    ) -> Self:  # fmt: skip
        """Fit to calibration samples that the classifier was not trained on.

        Parameters
        ----------
        {scores}
        {labels}
        {sample_weight}
        {n_threads}
        unlabelled : array-like of shape (m,), optional
            Scores of the same population without labels. They help to know the masses of the steps and so narrow the
            certificate on average, the more the longer the bins. Refused with importance weights, and where cuts fall on equal
            scores.
        {positive}

        {Returns}

        {Raises}

        Warns
        -----
        FastbinWarning
            Where ties leave too few bins, as `UniformMassBinning.fit`, and where a map did not converge; and as
            `IsotonicCalibration.fit`.
        """
        checked, n_threads = self._check(), check_count(n_threads, "n_threads")
        rows = check_rows(scores, labels, sample_weight, checked.score_range, positive=positive)
        return self._fit(checked, RowsSource(rows, n_threads), unlabelled)

    def _check(self) -> _CheckedCertified:
        return _CheckedCertified(self, *_checked_parameters(self))

    def _least_samples(self) -> int:
        self._check()
        return 1 if isinstance(self.n_bins, str) else samples_needed(self.n_bins, "certified")[0]

    def _fit(self, checked: _CheckedCertified, source: Source, unlabelled: Any = None) -> Self:
        rows = source.in_memory
        if unlabelled is not None and self.sampling_rate != 1.0:
            problem = "are given, and they do not have the distribution of rows of which some with label 0 were left out"
            raise InputError(problem, "leave them out", argument="unlabelled")
        made = checked.made_of(source, unlabelled)
        self.model_ = self._model_of(checked, made, "" if rows is None else rows.event, source.has_hard_labels)
        return self

    def _model_of_sorted(self, checked: _CheckedCertified, packed: UInt64s, n_bins: int) -> BinnedModel:
        """The model of packed rows, sorted, in so many bins, for a configuration of which `takes_sorted_rows` is true."""
        return self._model_of(checked, checked.made_of_sorted(packed, n_bins), "", are_hard_labels(packed_scores(packed)))

    def _model_of(self, checked: _CheckedCertified, made: _Made, event: str, has_hard_labels: bool) -> BinnedModel:
        """The model of these bins and steps. Warns of what they, and scores that are labels, say about the rows."""
        counts, tie_counts = made.parts["counts"], made.parts.get("tie_counts")
        if ties_cost_bins(counts, tie_counts, made.n_bins_asked):
            self._warn(
                f"ties left {len(counts)} of the {made.n_bins_asked} evidence bins: one probability for each score "
                "allows no more; values are not affected, and the certificate is about these bins",
                stacklevel=4,
            )
        model = checked.model(made, event)
        if self.sampling_rate != 1.0:
            model = self._to_population(model, self.sampling_rate)
        self._warn_of_rows(made.step_counts, made.step_ones, has_hard_labels, 4)
        return model


class _Made(NamedTuple):
    """The bins and steps of a fit."""

    parts: dict[str, Any]  # of a model
    n_bins_asked: int  # before ties
    step_counts: Int64s
    step_ones: Int64s


@LastMade
def _checked_parameters(given: CertifiedCalibration) -> tuple[int, ScoreRange]:
    """The seed and the range of scores; refuses what cannot be used."""
    if check_n_bins(given.n_bins) != "auto" and given.n_bins > MOST_STEPS:  # type: ignore[operator]
        remedy = f"a certified calibration has at most {MOST_STEPS} evidence bins"
        raise InputError(None, remedy, argument="n_bins", value=given.n_bins)
    check_choice(given.values, "values", VALUES)
    check_flag(given.monotone, "monotone")
    check_unit_interval(given.sampling_rate, "sampling_rate", open_left=True)
    check_choice(given.recentre, "recentre", ("auto", *RECENTRINGS, "cap"))
    check_choice(given.out_of_range, "out_of_range", ("refuse", "clip"))
    return check_seed(given.seed), check_score_range(given.score_range)


class _CheckedCertified(NamedTuple):
    """The checked parameters; a missing seed has been drawn."""

    given: CertifiedCalibration
    seed: int
    score_range: ScoreRange

    def made_of(self, source: Source, unlabelled: Any = None) -> _Made:
        """The bins and steps of all samples, with their values."""
        rows = source.in_memory
        if unlabelled is not None and rows is not None:
            return self._made_from(*self.pooled_steps_of(rows, unlabelled))
        if isinstance(source, RowsSource) and source.is_sorted_for(MOST_STEPS) and self.takes_sorted_rows:
            packed = source.sorted_rows()
            if packed is not None:
                return self.made_of_sorted(packed, self.n_bins_for(len(packed)))
        return self._made_from(*self.steps_of(source))

    @property
    def takes_sorted_rows(self) -> bool:
        """Whether `made_of_sorted` serves."""
        given = self.given
        return given.values not in BIN_MEANS and given.recentre != "cap" and are_probabilities(self.score_range)

    def made_of_sorted(self, packed: UInt64s, n_bins: int) -> _Made:
        """The bins, so many, and steps of sorted packed rows without weights, in one compiled call."""
        given, n = self.given, len(packed)
        fine = self.is_fine(n, n_bins)
        parts, step_counts, step_ones, wrong = fit_sorted_in_steps(
            packed, *limits_of(self.score_range), cut_ranks(n, n_bins, fine), places_of_boundaries(n, n_bins, fine),
            slice_ranks(n), logit_places() if fine else None, self.seed, VALUES.index(given.values),
            RECENTRINGS.index(self._recentring_for(n)), given.monotone, True, value_maps.MOST_STEPS,
        )  # fmt: skip
        tell_of(wrong)
        parts["score_range"] = self.score_range
        return _Made(parts, n_bins, step_counts, step_ones)

    def steps_of(self, source: Source) -> tuple[FittedSteps, int]:
        """The bins and steps of all samples, and the number of bins before ties."""
        groups, slices = find_with_slices(source, lambda n: sought_cuts(n, *self.shape_for(n)), MOST_STEPS, self.seed)
        n_bins, fine = self.shape_for(groups.n_samples)
        fitted = fit_steps(groups, n_bins, self.seed, self.score_range, source.weighted, fine=fine)
        return fitted._replace(slices=slices), n_bins

    def pooled_steps_of(self, rows: Rows, unlabelled: Any) -> tuple[FittedSteps, int]:
        """The same with scores that have no label."""
        if rows.weights is not None:
            raise InputError(
                "unlabelled and importance weights exclude each other: no promise is known for both; leave one out"
            )
        more = check_scores(unlabelled, self.score_range, name="unlabelled")
        scores, labels = rows.checked()
        frequencies = None
        if rows.frequencies is not None:
            frequencies = np.concatenate([rows.frequencies, np.ones(len(more), np.int64)])
        pooled = Rows(
            np.concatenate([scores, np.asarray(more, np.float64)]), np.concatenate([labels, np.zeros(len(more), np.uint8)]),
            frequencies, rows.score_range,
        )  # fmt: skip
        n_bins, fine = self.shape_for(rows.n_samples())
        return fit_pooled_steps(RowsSource(pooled), rows, n_bins, self.seed, self.score_range, fine=fine), n_bins

    def shape_for(self, n_samples: int) -> tuple[int, bool]:
        """The number of bins, and whether every score of so many labelled samples gets a step of its own."""
        n_bins = self.n_bins_for(n_samples)
        return n_bins, self.is_fine(n_samples, n_bins)

    def is_fine(self, n_samples: int, n_bins: int) -> bool:
        """Whether every score of so many labelled samples gets a step of its own."""
        return self.given.values not in BIN_MEANS and has_fine_steps(n_samples, n_bins)

    def n_bins_for(self, n_samples: int) -> int:
        """The number of bins, for which so many samples must be enough."""
        if n_samples == 0:
            raise no_samples()
        if self.given.n_bins == "auto":
            wanted = n_samples // (SAMPLES_A_MEAN if self.given.values in BIN_MEANS else SAMPLES_A_BIN)
            return min(max(FEWEST_BINS, min(wanted, MOST_BINS)), (n_samples + 1) // 2)
        require_samples(n_samples, int(self.given.n_bins), "certified")
        return int(self.given.n_bins)

    def _recentring_for(self, n_samples: int) -> str:
        if self.given.recentre == "auto":
            return "none" if n_samples < FEWEST_TO_RECENTRE else "james-stein"
        return self.given.recentre

    def _made_from(self, fitted: FittedSteps, n_bins_asked: int) -> _Made:
        """These bins and steps with their values."""
        given, bins, n_samples = self.given, fitted.bins, int(fitted.tally.counts.sum())
        evidence, steps = bins.tally.parts(), fitted.tally.parts()
        require_weight(evidence)
        is_weighted = "weight_sums" in evidence
        counts, ones = ("weight_sums", "weighted_label_sums") if is_weighted else ("counts", "label_sums")
        recentre = self._recentring_for(n_samples)
        is_mean = given.values in BIN_MEANS
        to_cap = recentre == "cap" and not is_mean
        if to_cap and is_weighted:
            remedy = "leave importance weights out, or take another recentre: the cap is on epsilon, which these do not have"
            raise InputError(None, remedy, argument="recentre", value="cap")
        values = value_steps(
            fitted.scores, steps[counts], steps[ones], fitted.first_step, evidence[counts], evidence[ones], n_samples,
            values=given.values, recentre="james-stein" if recentre == "cap" else recentre,
            monotone=given.monotone and not to_cap, score_range=self.score_range,
        )  # fmt: skip
        parts = {**evidence, **bins.origin(), **fitted.slices}
        if is_mean:
            parts["values"] = values[fitted.first_step]  # one value a bin
        else:
            parts |= {"values": values, **fitted.parts()}
        made = _Made(parts, n_bins_asked, fitted.tally.counts, fitted.tally.label_sums)
        if to_cap:
            from fastbin.guarantees.certify import shifts_to_cap  # a fit without it needs nothing of a certificate

            shifts = shifts_to_cap(self.model(made, ""), ALPHA_OF_CAP, CAP_SLACK)
            parts["values"] = shifted_steps(
                values, steps[counts], fitted.first_step, shifts, n_samples, monotone=given.monotone
            )
        return made

    def model(self, made: _Made, event: str) -> BinnedModel:
        """The model of these bins and steps."""
        given = self.given
        n_samples = int(made.parts["n_samples"])
        scheme = "certified-fine" if self.is_fine(n_samples, made.n_bins_asked) else "certified"
        return BinnedModel._of(
            **made.parts, scheme=scheme, n_bins_asked=made.n_bins_asked, seed=self.seed, out_of_range=given.out_of_range,
            **given._texts(event, self.seed),
        )  # fmt: skip
