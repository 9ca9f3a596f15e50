"""Uniform-mass binning: bins that hold equal shares of the calibration samples."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from fastbin._base.array_types import Float64s
from fastbin._base.checks import (
    ScoreRange,
    check_choice,
    check_count,
    check_flag,
    check_n_bins,
    check_score_range,
    check_seed,
    check_unit_interval,
    refuse_first,
)
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError, by_name
from fastbin._base.ranks import CUTS, boundary_ranks, slice_ranks
from fastbin._base.suspicions import are_hard_labels
from fastbin._core.fit import fit_rows
from fastbin._core.schemes import SCHEMES
from fastbin._fit.calibrator import FIT_PARAMETERS, PARAMETERS, CountedBinning
from fastbin._fit.edges import (
    Fitted,
    Sought,
    bins_between,
    choose_n_bins,
    find_with_slices,
    first_part,
    least_with_part,
    on_fewer_bins,
    samples_needed,
    share_bins,
    split_samples,
    ties_cost_bins,
    whole_bins,
)
from fastbin._fit.quantiles import Source
from fastbin._fit.rows import RANKS_TO_PLAN_FOR, Rows, RowsSource, check_rows, refuse_idle_keys
from fastbin._fit.tally import require_weight, rising
from fastbin._model.provenance import LastMade
from fastbin.binning.batch import parts_of_batch
from fastbin.binning.venn import predict_venn
from fastbin.model import BinnedModel

if TYPE_CHECKING:
    from typing_extensions import Self

UNIFORM_MASS = ("umd", "ze", "ums", "umb")


@shared_docs(PARAMETERS)
@dataclass(eq=False, repr=False)
class UniformMassBinning(CountedBinning):
    """Uniform-mass (histogram) binning with a distribution-free, finite-sample guarantee.

    Parameters
    ----------
    n_bins : int or "auto"
        "auto" takes the largest number of bins whose exact radius stays within a fixed target, which is decided by the number
        of samples alone and so costs no guarantee; see `fastbin.guarantees.auto_n_bins`.
    scheme : {"umd", "ze", "ums", "umb"}
        "umd": boundaries and means from the same samples, boundary labels left out of the means (Gupta & Ramdas 2021,
        Algorithm 1). "ze": boundary labels averaged in the bin below (ibid., Corollary 1; Zadrozny & Elkan 2001). "ums":
        boundaries from one random part of the samples, means from the other (Gupta, Podkopaev & Ramdas 2020, section 4.2;
        their closed bins overlap, here a boundary belongs to the bin above). "umb": boundaries at rank floor(b n / B), bins
        closed on the right, all samples averaged (Sun, Song & Hero 2023, Definition 6).
    ties : {"whole", "random", "upper"}
        "whole": edges lie between whole groups of equal scores, so that a score has one probability, always, and no key is ever
        needed. There may be fewer bins than asked; `fit` warns where the promise suffers. The certificate allows for ties
        ("hull" in docs/guarantees.md). "random": equal scores are ordered by keys, exactly, at fit and at prediction: bins of
        equal size and the narrowest certificate, but a score at an edge is given either of two probabilities. "upper" (not for
        "umb"): the edges are those of "random" without their keys; with tied boundaries and but for "ums" there is no
        certificate.
    delta : float in [0, 1)
        Size of the value randomisation of Gupta & Ramdas 2021, Algorithm 2: predictions become (value + delta V) / (1 + delta)
        with V uniform. 0 for none; the paper's 1e-20 does nothing in double precision and is refused.
    split : float in (0, 1) or None
        "ums" alone: the share of the samples that places the boundaries. ``None`` takes 0.5, and 0.1 for
        cuts="expected-positives".
    edges_share : float in (0, 1]
        With ties="whole" (not "ums"): the random share of the samples that places the edges; all of them are averaged. For
        scores of few distinct values and many rows (more than 30 a value) 0.25 makes the certificate as narrow as with keys.
        Decide before you see these scores.
    seed : int or None
        Of the keys, and of the split of "ums". ``None`` draws one afresh; it is kept in the model.
    cuts : {"equal-mass", "expected-positives"}
        "ums" alone. "equal-mass": bins of equally many samples. "expected-positives": bins of equal sums of scores, for rare
        events, where a ratio depends on the samples of label 1 in the bin (docs/click-rates.md). The scores are expected
        rates, up to a factor: none is negative. Bad ones cost balance, and not the promise. A score that reaches several of
        the sums alone leaves fewer bins.
    {sampling_rate}
    {score_range}
    {monotone}
    {out_of_range}

    Attributes
    ----------
    model_ : BinnedModel

    Notes
    -----
    Values need not rise with the score: where neighbouring bins have nearly the same frequency, noise decides. ``model_.falls``
    names the bins after which the value falls (of 10 bins about one on real score sets, of 20 about five); ``monotone=True``
    removes the falls at the least cost to the certificate, and keeps the order of the samples.

    A model is a function of the multiset of rows and the seed: row order, chunks and threads do not matter. Whatever is drawn
    at the fit is seeded by a digest of the seed and of the groups that hold a boundary ("ums" and `edges_share`: of all rows,
    importance weights included), so that one fixed seed serves for every sample; with one to three distinct scores and
    ties="random" there are too few such digests, and the promise is one over samples and seeds (docs/guarantees.md). Time O(n)
    for n rows ("ums": O(n log n)), extra memory a small fraction of the data.

    References
    ----------
    .. [1] C. Gupta and A. Ramdas, "Distribution-free calibration guarantees for histogram binning without sample splitting",
       ICML 2021.
    .. [2] C. Gupta, A. Podkopaev and A. Ramdas, "Distribution-free binary classification: prediction sets, confidence
       intervals and calibration", NeurIPS 2020.
    .. [3] Z. Sun, D. Song and A. Hero, "Minimum-risk recalibration of classifiers", NeurIPS 2023.

    Examples
    --------
    >>> import fastbin as fb
    >>> scores = [0.05, 0.12, 0.2, 0.33, 0.41, 0.58, 0.66, 0.74, 0.89, 0.97]
    >>> labels = [0, 0, 1, 0, 1, 0, 1, 1, 1, 1]
    >>> cal = fb.UniformMassBinning(n_bins=3).fit(scores, labels)
    >>> cal.model_.edges, cal.model_.counts
    (array([0.33, 0.74]), array([3, 3, 2]))
    >>> cal.predict([0.1, 0.5, 1.0]).round(4)
    array([0.3333, 0.6667, 1.    ])
    """

    n_bins: int | str = 10
    _: KW_ONLY
    scheme: str = "umd"
    ties: str = "whole"
    delta: float = 0.0
    split: float | None = None
    edges_share: float = 1.0
    seed: int | None = 0
    monotone: bool = False
    cuts: str = "equal-mass"
    sampling_rate: float = 1.0

    @shared_docs(FIT_PARAMETERS)
    def fit(
        self, scores: Any, labels: Any, sample_weight: Any = None, tie_keys: Any = None, n_threads: int = 1, *,
        positive: Any = None, population: Any = None,
    ) -> Self:  # fmt: skip
        """Fit to calibration samples that the classifier was not trained on, or to some rows of a batch of known size.

        Parameters
        ----------
        {scores}
        {labels}
        {sample_weight}
        {tie_keys}
        {n_threads}
        {positive}
        population : array-like of shape (M,), optional
            The scores of all rows of a batch, the rows with labels among them. Bins hold equal shares of the batch, and every
            promise is about the rows of the batch, at most as wide as that about a population and much narrower where most have
            labels (fastbin, Theorem F25). The labelled rows must have been drawn from the batch at random: single rows, not
            customers with all their rows. For scheme "umd", without weights, keys, `delta` and `edges_share`.

        {Returns}

        Raises
        ------
        InputError
            Naming the argument, the first bad position, its value, and the remedy; also for fewer samples than the scheme
            needs (2 n_bins - 1 for "umd" and "ze"), for keys with ties="whole", and for a negative score with
            cuts="expected-positives".

        Warns
        -----
        FastbinWarning
            Where ties="whole" takes bins away and the promise suffers: at most half of them are left, or one heavy score is at
            the edge of a bin (docs/guarantees.md, "Where it is wide"); and as `IsotonicCalibration.fit`.
        """
        checked, n_threads = self._check(), check_count(n_threads, "n_threads")
        refuse_idle_keys(tie_keys, self.ties)
        rows = check_rows(scores, labels, sample_weight, checked.score_range, tie_keys, positive=positive)
        if population is not None:
            return self._fit_batch(checked, rows, population)
        return self._fit(checked, RowsSource(rows, n_threads))

    def _check(self) -> _CheckedUniformMass:
        return _CheckedUniformMass(self, *_checked_numbers(self))

    def _fit(self, checked: _CheckedUniformMass, source: Source) -> Self:
        rows, why = source.in_memory, self._why_all_rows()
        if rows is None:
            if why is not None:
                raise InputError(why)
            parts, n_bins = checked.parts_of(source)
        else:
            n_bins = checked.n_bins_for(rows.n_samples())
            parts = checked.parts_of_split(rows, n_bins) if why else checked.parts_of(source, n_bins)[0]
        model = checked.model(parts, n_bins, "" if rows is None else rows.event)
        self.model_ = model if self.sampling_rate == 1.0 else self._to_population(model, self.sampling_rate)
        self._warn_of_rows(parts["counts"], parts["label_sums"], source.has_hard_labels, 3)
        return self

    def _fit_batch(self, checked: _CheckedUniformMass, rows: Rows, population: Any) -> Self:
        usual = {"scheme": "umd", "ties": "whole", "delta": 0.0, "edges_share": 1.0, "sampling_rate": 1.0}
        unusual = [name for name, value in usual.items() if getattr(self, name) != value]
        if rows.weights is not None or rows.frequencies is not None:
            raise InputError("is given", "rows of a batch count once each: leave it out", argument="sample_weight")
        if unusual:
            name = unusual[0]
            remedy = f"the promise about a batch is of {name}={usual[name]!r} (fastbin, Theorem F25)"
            raise InputError(None, remedy, argument=name, value=getattr(self, name))
        parts, n_bins = parts_of_batch(rows, population, checked.n_bins, checked.score_range, monotone=self.monotone)
        model = BinnedModel._of(
            **parts, scheme="umd", ties="upper", n_bins_asked=n_bins, seed=checked.seed, n_samples=len(rows),
            n_positive=int(parts["label_sums"].sum()), out_of_range=self.out_of_range,
        )  # fmt: skip
        self._keep(model, rows.event)
        self._warn_of_rows(parts["counts"], parts["label_sums"], are_hard_labels(rows.scores), 3)
        return self

    def _why_all_rows(self, remedy: str = "use fit") -> str | None:
        if self.scheme == "ums":
            other = "take scheme 'umd', which needs no split (Gupta & Ramdas 2021)"
            if self.cuts == "expected-positives":
                other = "fit fastbin.ExplicitBinning with the edges of a fit to older rows"
            return f"scheme 'ums' splits the samples at random and needs them all at once; {remedy}, or {other}"
        if self.edges_share != 1.0:
            return f"edges_share picks samples at random and needs them all at once; {remedy}, or take edges_share=1"
        return None

    def _least_samples(self) -> int:
        checked = self._check()
        if isinstance(checked.n_bins, str):
            return 1
        share = checked.split if self.scheme == "ums" else checked.edges_share
        needed = checked.n_bins if self.scheme == "ums" else samples_needed(checked.n_bins, self.scheme)[0]
        return least_with_part(share, needed)

    def predict_venn(self, scores: Any, *, tie_keys: Any = None, seed: int | None = None) -> Float64s:
        """float64 (n, 2): the Venn pair (p0, p1) of each score; see `fastbin.predict_venn`."""
        return predict_venn(self.model_, scores, tie_keys=tie_keys, seed=seed)


@LastMade
def _checked_numbers(given: UniformMassBinning) -> tuple[int | str, float, float, float, int, ScoreRange]:
    """The fields of `_CheckedUniformMass`; refuses what cannot be used."""
    scheme = check_choice(given.scheme, "scheme", UNIFORM_MASS)
    check_choice(given.ties, "ties", ("whole", "random", "upper"))
    if given.ties not in SCHEMES[scheme].ties:
        allowed = " or ".join(map(repr, SCHEMES[scheme].ties))
        raise InputError(f"ties is {given.ties!r}, which scheme {scheme!r} does not have; choose {allowed}")
    delta = check_unit_interval(given.delta, "delta", open_right=True)
    if 0.0 < delta < 2.0**-52:
        raise InputError(
            f"delta is {delta!r}, which changes no value in double precision; use 0 (ties are broken exactly, by keys) or "
            "at least 2**-52"
        )
    if check_flag(given.monotone, "monotone") and delta > 0.0:
        raise InputError(f"delta is {delta!r}: randomised values do not rise from bin to bin; fit with delta=0")
    n_bins = check_n_bins(given.n_bins)
    if check_choice(given.cuts, "cuts", tuple(CUTS)) != "equal-mass" and scheme != "ums":
        remedy = "take scheme 'ums', whose edges come from other samples than those that are averaged"
        raise InputError(f"is {given.cuts!r}, and scheme {scheme!r} cuts at ranks", remedy, argument="cuts", value=given.cuts)
    split = check_unit_interval(CUTS[given.cuts] if given.split is None else given.split, "split")
    share = check_unit_interval(given.edges_share, "edges_share", open_left=True)
    if share < 1.0 and (given.ties != "whole" or scheme == "ums"):
        raise InputError(
            f"is {share}, which goes with ties='whole' and not with scheme 'ums' (whose split is its own)",
            f"ties is {given.ties!r} and scheme {scheme!r}",
            argument="edges_share",
            value=share,
        )
    check_unit_interval(given.sampling_rate, "sampling_rate", open_left=True)
    seed, score_range = check_seed(given.seed), check_score_range(given.score_range)
    check_choice(given.out_of_range, "out_of_range", ("refuse", "clip"))
    return n_bins, delta, split, share, seed, score_range


class _CheckedUniformMass(NamedTuple):
    """The checked parameters; a missing seed has been drawn."""

    given: UniformMassBinning
    n_bins: int | str
    delta: float
    split: float
    edges_share: float
    seed: int
    score_range: ScoreRange

    def n_bins_for(self, n_samples: int) -> int:
        """The number of bins, for which so many samples must be enough."""
        return choose_n_bins(self.n_bins, n_samples, self.given.scheme, self.split)

    def parts_of(self, source: Source, n_bins: int | None = None) -> tuple[dict[str, Any], int]:
        """The bins at the ranks of the scheme among all samples, so many or as many as asked, and their number before ties."""
        if n_bins is not None and isinstance(source, RowsSource):
            parts = self._parts_of_few(source, n_bins)
            if parts is not None:
                return parts, n_bins
        ties, scheme, score_range = self.given.ties, self.given.scheme, self.score_range
        asked = self.n_bins if n_bins is None else n_bins

        def sought_of(n_samples: int) -> Sought:
            return Sought.of(boundary_ranks(n_samples, n_bins or self.n_bins_for(n_samples), scheme), n_samples)

        planned = max(RANKS_TO_PLAN_FOR, 0 if isinstance(asked, str) else asked - 1)
        boundaries, slices = find_with_slices(source, sought_of, planned, self.seed)
        if ties == "whole":
            bins = whole_bins(boundaries, scheme, self.seed, score_range, source.weighted())
        else:
            bins = bins_between(
                boundaries, ties, scheme, self.seed, score_range, rows=source.in_memory, weighted=source.weighted()
            )
        return self._parts(bins) | slices, len(boundaries.ranks) + 1

    def _parts_of_few(self, source: RowsSource, n_bins: int) -> dict[str, Any] | None:
        """The same for few rows in one compiled call; ``None`` where it does not serve, and where a row is to be refused."""
        given, rows = self.given, source.in_memory
        if given.ties != "whole" or given.scheme == "umb" or rows.frequencies is not None:
            return None
        if rows.weights is not None or not source.is_sorted_for(n_bins - 1):
            return None
        ranks = boundary_ranks(len(rows), n_bins, given.scheme)
        slices = slice_ranks(len(rows))
        parts = fit_rows(rows.scores, rows.labels, *rows.limits, ranks, given.scheme == "umd", self.seed, slices)
        if parts is not None:
            parts["score_range"] = self.score_range
            if given.monotone:
                parts["values"] = rising(parts["values"], parts["counts"])
        return parts

    def parts_of_split(self, rows: Rows, n_bins: int) -> dict[str, Any]:
        """The bins of which a random part of the samples places the edges."""
        if self.given.scheme == "ums":
            split = split_samples(rows, self.seed, first_part(self.split, rows.n_samples(), n_bins))
            if self.given.cuts == "expected-positives":
                remedy = "the cuts add expected rates up: pass such scores, or take ", by_name("cuts", "equal-mass")
                refuse_first(rows.scores < 0.0, "scores", rows.scores, remedy)
            return self._parts(split.fit_bins(n_bins, self.given.ties, self.given.cuts))
        return self._parts(share_bins(rows, n_bins, self.given.scheme, self.seed, self.edges_share))

    def _parts(self, bins: Fitted) -> dict[str, Any]:
        return {**bins.tally.parts(monotone=self.given.monotone), **bins.origin()}

    def model(self, parts: dict[str, Any], n_bins_asked: int, event: str) -> BinnedModel:
        """The model of these bins, with means for values."""
        given, n_bins = self.given, len(parts["counts"])
        if "weight_sums" in parts:  # others have samples
            require_weight(parts)
        if given.ties == "whole" and ties_cost_bins(parts["counts"], parts.get("tie_counts"), n_bins_asked, given.scheme):
            may_share = given.scheme != "ums" and given.edges_share == 1.0
            given._warn(on_fewer_bins(n_bins, n_bins_asked, may_share=may_share), stacklevel=4)
        return BinnedModel._of(
            **parts, scheme=given.scheme, n_bins_asked=n_bins_asked, seed=self.seed, delta=self.delta,
            out_of_range=given.out_of_range, **given._texts(event, self.seed),
        )  # fmt: skip
