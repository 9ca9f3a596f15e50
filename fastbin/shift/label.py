"""Calibration under label shift: the class rates move, P(score | label) stays (Sun, Song & Hero 2023, section 5)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s
from fastbin._base.checks import (
    UNIT,
    check_choice,
    check_edges,
    check_labels,
    check_same_event,
    check_same_length,
    check_scores,
    check_seed,
    clip_scores,
)
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError, Wording, by_name
from fastbin._base.frames import check_same_index
from fastbin._core.schemes import ClassRate, ClassRates
from fastbin._fit.calibrator import Calibrator
from fastbin._fit.tally import check_counts
from fastbin._model.provenance import with_estimator, with_shares
from fastbin.guarantees.class_rates import Shares, rate_ends
from fastbin.guarantees.evidence import has_edges_of_others, is_moved, is_of_batch, is_stratified
from fastbin.guarantees.intervals import move_odds
from fastbin.model import BinnedModel, IntervalBound
from fastbin.model_set import as_model
from fastbin.shift.rates import (
    RateEstimate,
    RateOptions,
    check_rate,
    rate_by_confusion,
    rate_by_likelihood,
    rate_from_counts,
    rate_from_labels,
    source_rate_of,
    target_counts,
)

if TYPE_CHECKING:
    from typing_extensions import Self

# Cuts that probabilities are counted at by default: more of them where rates of rare events are told apart.
CUTS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9)
MOST_CUTS = 500


@dataclass(eq=False, repr=False)
class LabelShift(Calibrator):
    """A source model moved to a target population with other class rates (Sun, Song & Hero 2023, section 5.2).

    The composite estimator: the source model's values, mapped through g of equation (13). It needs the model and its class
    rate, and of the target either some labels (a hundred will do), or scores without labels, or the rate itself. No source
    data: a model loaded from a file is enough.

    Parameters
    ----------
    source : BinnedModel or fitted calibrator
        Calibrated at the source.
    method : {"labels", "likelihood", "confusion", "known"}
        How the target rate is found. "labels": the share of label 1 among target labels. "likelihood": maximum likelihood on
        target scores (`rate_by_likelihood`). "confusion": from a confusion matrix (`rate_by_confusion`). "known":
        `target_rate`.
    target_rate : float in (0, 1), optional
        For "known".
    source_rate : float in (0, 1), optional
        P(Y = 1) at the source. By default the share of label 1 among all samples of the source fit.
    smoothing : {"refuse", "add-half"}
        What to do about rates of exactly 0 or 1, under which g is constant: "refuse" raises; "add-half" counts half a sample
        more of either label in every rate that is estimated, (k + 1/2) / (n + 1). With 100 target labels and a rate of 0.01,
        none of them is 1 with probability 0.37.
    threshold : float, optional
        For "confusion".
    alpha : float
        One minus the confidence of the interval in `rate_`.
    n_bootstrap : int
        Resamples of that interval for "likelihood" and "confusion".
    seed : int or None
        For "likelihood" and "confusion": of tie keys and resamples.
    cuts : array-like of float, shape (k,), optional
        For "likelihood" and "confusion" with source rows: the scores at which shares are compared, ascending, chosen without
        looking at these rows: quantiles of an older sample will do, those of these rows will not. By default nine between 0.02
        and 0.9 where the range of scores is (0, 1).

    Attributes
    ----------
    model_ : BinnedModel
        The source's partition and tally, with the values moved, `odds_ratio` = w1 / w0, and `rates`: how both rates are known,
        so that its intervals, and those of its file, count their error in. With two resolutions every step is moved; intervals
        are those of the evidence bins, and a certificate allows for any mix of steps inside a bin, as that at the target is not
        known.
    source_model_ : BinnedModel
        What was moved.
    rate_ : RateEstimate
        The target rate before smoothing.
    source_rate_, target_rate_ : float
        The rates used.
    weights_ : tuple of float
        (w0, w1) of equation (16).
    cuts_ : tuple of float
        The scores at which shares of the target bound a rate that was estimated without labels; empty where there are none.

    Notes
    -----
    Equations (15) and (17): if P(score | label) is the same at source and target, the best recalibration at the target is g
    after that at the source. `fastbin.theory.label_shift_risk_bound` is the paper's bound on the risk of the composite
    (Theorem 2). Where P(score | label) moves as well, nothing here holds.

    A class rate is "counted" (on the target labels; on all labels of the source fit), "given" (`target_rate`, `source_rate`;
    taken as exact) or "estimated" (from scores). `model_` and its file carry which, and on how many labels: wherever the model
    is loaded, `interval`, `predict_interval`, `certificate` and a monitor's ``interval_alpha`` count the error of rates in.

    A rate that was estimated without labels has an exact interval (docs/guarantees.md, Theorem F23) where the shares of scores
    above a few fixed cuts are known at the source by label: from source rows, or from the tally of a model whose edges did not
    come from the samples that it counts (fixed edges, scheme "ums"). Where no rate explains the shares of the target, label
    shift is refuted, and the fit raises. The estimate is moved to the end of the interval if it lies outside. For T target
    populations at once take alpha / T for each. Without such cuts, intervals are refused.

    References
    ----------
    .. [1] Z. Sun, D. Song and A. Hero, "Minimum-risk recalibration of classifiers", NeurIPS 2023.

    Examples
    --------
    >>> import fastbin as fb
    >>> source = fb.UniformMassBinning(n_bins=2).fit(
    ...     [0.05, 0.12, 0.2, 0.33, 0.41, 0.58, 0.66, 0.74, 0.89, 0.97], [0, 0, 1, 0, 1, 0, 1, 1, 0, 1]
    ... ).model_
    >>> source.values
    array([0.4 , 0.75])
    >>> cal = fb.shift.LabelShift(source).fit(labels=[1] * 10 + [0] * 90)
    >>> cal.model_.values.round(4), cal.rate_.rate
    (array([0.069, 0.25 ]), 0.1)
    """

    _moves_a_model: ClassVar[bool] = True

    source: BinnedModel | Calibrator
    _: KW_ONLY
    method: str = "labels"
    target_rate: float | None = None
    source_rate: float | None = None
    smoothing: str = "refuse"
    threshold: float | None = None
    alpha: float = 0.1
    n_bootstrap: int = 1000
    seed: int | None = 0
    cuts: Any = None

    @shared_docs(Calibrator.fit.__doc__)
    def fit(
        self, scores: Any = None, labels: Any = None, *, tie_keys: Any = None, positive: Any = None, source_scores: Any = None,
        source_labels: Any = None,
    ) -> Self:  # fmt: skip
        """Find the target rate and move the model.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Target scores, for "likelihood" and "confusion". With "labels" they are not needed: equation (16) takes the labels
            alone, and scores are only checked.
        labels : array-like of shape (n,)
            Target labels, for "labels".
        tie_keys : array-like of shape (n,), optional
            Tie keys of the scores.
        {positive}
        source_scores, source_labels : array-like of shape (m,), optional
            For "likelihood" and "confusion": scores and labels of the source, those of the source's fit or others. They bound
            the target rate at any sample sizes.

        {Returns}

        Raises
        ------
        InputError, InputTypeError
            When what the method needs is missing or bad, or a rate of 0 or 1 is met and `smoothing` is "refuse".
        GuaranteeError
            Where the shares of the target refute label shift at level `alpha`.
        """
        model = _movable(self.source)
        check_same_event(model.event, positive)
        source = self._source_rows(model, source_scores, source_labels, positive)
        return self._move(model, *self._estimate(model, scores, labels, tie_keys, positive, source))

    @shared_docs(Calibrator.fit.__doc__)
    def fit_counts(self, counts: Any, label_sums: Any = None) -> Self:
        """Find the target rate in counts made where the target rows are (`fastbin.engines.count`), and move the model.

        Parameters
        ----------
        counts : array-like of int, shape (n_bins,)
            Target samples in each bin of the source.
        label_sums : array-like of int, shape (n_bins,), optional
            Those of them with label 1; for "labels", and for this method alone.

        {Returns}

        Raises
        ------
        InputError, InputTypeError
            As `fit`; also for the method "known", which needs no rows.

        Notes
        -----
        The result is that of `fit` on the rows, which enter by these counts alone.

        Examples
        --------
        >>> import fastbin as fb
        >>> source = fb.UniformMassBinning(n_bins=2).fit(
        ...     [0.05, 0.12, 0.2, 0.33, 0.41, 0.58, 0.66, 0.74, 0.89, 0.97], [0, 0, 1, 0, 1, 0, 1, 1, 0, 1]
        ... ).model_
        >>> cal = fb.shift.LabelShift(source).fit_counts([60, 40], [2, 8])
        >>> cal.model_.values.round(4), cal.rate_.rate
        (array([0.069, 0.25 ]), 0.1)
        """
        model = _movable(self.source)
        method = self._method()
        if method == "known":
            raise InputError("is 'known', which counts no rows", "use fit()", argument="method")
        if (label_sums is None) == (method == "labels"):
            problem = f"is {'missing' if label_sums is None else 'given'}, and method is {method!r}"
            raise InputError(problem, argument="label_sums")
        if method != "labels":
            self._refuse_idle_cuts()
            return self._move(model, *self._rate_by(method, model, None, None, counts=counts))
        samples, ones = check_counts(counts, label_sums, model.n_bins)
        if not samples.any():
            remedy = "give target samples, or use method='likelihood' with target scores"
            raise InputError("are all 0", remedy, argument="counts")
        return self._move(model, rate_from_counts(int(samples.sum()), int(ones.sum()), self.alpha))

    def _move(self, model: BinnedModel, rate: RateEstimate, shares: Shares | None = None) -> Self:
        """The source model at this target rate."""
        smoothing = check_choice(self.smoothing, "smoothing", ("refuse", "add-half"))
        source, target = _source_rate(model, self.source_rate, smoothing), _target_rate(rate, smoothing)
        p, q = source.rate, target.rate
        provenance = with_estimator(model._provenance, self, source=model)
        self.model_ = model._replace(
            values=move_odds(np.asarray(model.values), p, q),
            odds_ratio=q * (1.0 - p) / ((1.0 - q) * p),
            rates=ClassRates(source, target),
            decision=None,  # its promise is about the source, and so are Venn pairs
            pairs=None,
            provenance=provenance if shares is None else with_shares(provenance, shares.as_json()),
        )
        self.rate_, self.source_rate_, self.target_rate_, self.weights_ = rate, p, q, ((1.0 - q) / (1.0 - p), q / p)
        self.source_model_, self.cuts_ = model, () if shares is None else shares.cuts
        return self

    def _method(self) -> str:
        """How the target rate is found; a rate that is given goes with "known", and with that alone."""
        method = check_choice(self.method, "method", ("labels", "likelihood", "confusion", "known"))
        if method == "known" and self.target_rate is None:
            raise InputError("is None", "method='known' needs it", argument="target_rate")
        if method != "known" and self.target_rate is not None:
            remedy = "pass method='known'"
            raise InputError(f"is given, and method={method!r} would estimate it", remedy, argument="target_rate")
        return method

    def _source_rows(self, model: BinnedModel, scores: Any, labels: Any, positive: Any) -> tuple[Array, Array] | None:
        """Scores and labels of the source, where they are given."""
        if scores is None and labels is None:
            self._refuse_idle_cuts()
            return None
        if scores is None or labels is None:
            missing = "source_scores" if scores is None else "source_labels"
            raise InputError("is None", "give both scores and labels of the source, or neither", argument=missing)
        if self._method() in ("labels", "known"):
            remedy = "source rows bound a rate that is estimated from scores: pass method='likelihood'"
            raise InputError(f"is given, and method is {self.method!r}", remedy, argument="source_scores")
        check_same_index(source_scores=scores, source_labels=labels)
        checked = check_scores(clip_scores(scores, model, "source_scores"), model.score_range, "source_scores")
        ones = check_labels(labels, "source_labels", positive=positive)
        check_same_length(source_scores=checked, source_labels=ones)
        return checked, ones

    def _refuse_idle_cuts(self) -> None:
        if self.cuts is not None:
            remedy = "cuts are of source_scores and source_labels: give these, or leave cuts out"
            raise InputError("is given without source rows", remedy, argument="cuts")

    def _cuts(self, model: BinnedModel) -> Float64s:
        if self.cuts is not None:
            found = check_edges(self.cuts, model.score_range, "cuts")
            if len(found) == 0:
                raise InputError("is empty", "give at least one score", argument="cuts")
            if len(found) > MOST_CUTS:
                remedy = f"give at most {MOST_CUTS}: each takes its part of alpha"
                raise InputError(f"has {len(found)} entries", remedy, argument="cuts")
            return found
        if model.score_range != UNIT:
            remedy = "give cuts: a few scores that these rows did not choose"
            raise InputError(f"is None, and scores have the range {model.score_range}", remedy, argument="cuts")
        return np.array(CUTS)

    def _estimate(
        self, model: BinnedModel, scores: Any, labels: Any, keys: Any, positive: Any, source: tuple[Array, Array] | None
    ) -> tuple[RateEstimate, Shares | None]:
        method = self._method()
        if method == "known":
            for name, column in (("scores", scores), ("labels", labels)):
                if column is not None:
                    raise InputError("is given, and method='known' counts no rows", "leave it out", argument=name)
            rate = check_rate(self.target_rate, "target_rate")
            return RateEstimate(rate, rate, rate, "known", 0, True), None
        if method == "labels":
            if labels is None:
                remedy = "give target labels, or use method='likelihood' with target scores"
                raise InputError("is None", remedy, argument="labels")
            if scores is not None:
                check_same_index(scores=scores, labels=labels)
                inside, ones = clip_scores(scores, model), check_labels(labels, positive=positive)
                check_same_length(scores=check_scores(inside, model.score_range), labels=ones)
            return rate_from_labels(labels, alpha=self.alpha, positive=positive), None
        if labels is not None:
            raise InputError(f"is given, and method={method!r} uses scores alone", "pass method='labels'", argument="labels")
        if scores is None:
            raise InputError("is None", f"method={method!r} needs target scores", argument="scores")
        return self._rate_by(method, model, scores, source, tie_keys=keys)

    def _rate_by(
        self, method: str, model: BinnedModel, scores: Any, source: tuple[Array, Array] | None, **given: Any
    ) -> tuple[RateEstimate, Shares | None]:
        given.update({name: getattr(self, name) for name in ("source_rate", "alpha", "n_bootstrap", "seed")})
        if method == "likelihood":
            found = rate_by_likelihood(model, scores, **given)
        else:
            found = rate_by_confusion(model, scores, threshold=self.threshold, **given)
        if source is not None:
            shares = Shares.of_rows(self._cuts(model), *source, clip_scores(scores, model))
        elif _has_fixed_edges(model):
            shares = _shares_of_bins(model, target_counts(model, scores, RateOptions(**given), check_seed(self.seed)))
        else:
            return found, None
        lower, upper = rate_ends(shares, self.alpha)
        rate = min(max(found.rate, lower), upper)
        return found._replace(rate=rate, lower=lower, upper=upper, is_exact=True), shares

    def interval(self, alpha: float = 0.1, bound: IntervalBound = "clopper-pearson", simultaneous: bool = True) -> Float64s:
        """An interval for the target frequency of label 1 in each bin, the uncertainty of both class rates included.

        Those of ``model_``, and of its file: the bins' intervals at the source and the exact intervals of the rates that
        were counted (Clopper & Pearson 1934) share alpha in proportion to their standard errors; by the union bound the moved
        ends then cover with probability at least 1 - alpha, for any sample sizes, if label shift holds (equation (15)). Rates
        that were given are taken as exact.

        Parameters
        ----------
        alpha : float in (0, 1/2]
            The chance that any interval misses (each one's, where not `simultaneous`).
        bound : {"clopper-pearson", "hoeffding", "empirical-bernstein", "wilson"}
            For the bins at the source; see `BinnedModel.interval`.
        simultaneous : bool
            Whether the bins share their part of alpha.

        Returns
        -------
        float64 (n_bins, 2)

        Raises
        ------
        GuaranteeError
            When the rate was estimated from scores without fixed cuts, or these refute label shift, or the source model has no
            guarantee.
        """
        return self.model_.interval(alpha, bound, simultaneous)


def _movable(source: BinnedModel | Calibrator) -> BinnedModel:
    model = as_model(source, "source")
    if model.kind != "step":
        remedy = "label shift moves the values of a step function: fit a binning"
        raise InputError(f"is a {model.kind!r} model", remedy, argument="source")
    if model.sampling_rate:
        problem = "was moved by a known sampling rate, and the class rates of its sample are not those of its values"
        remedy = "fit without sampling_rate: the source rate counts the sample, and which rows were kept cancels"
        raise InputError(problem, remedy, argument="source")
    if is_moved(model):
        problem = f"was moved already (odds ratio {model.odds_ratio:g})"
        raise InputError(problem, "move the model that it was made of instead", argument="source")
    return model


def _has_fixed_edges(model: BinnedModel) -> bool:
    """Whether edges do not come from the samples that the tally counts."""
    if model.counts is None or model.is_weighted or is_stratified(model) or is_of_batch(model):
        return False
    # A stream that goes on from a fit has explicit edges, which samples of that fit placed and the tally left out.
    is_fixed = model.scheme in ("fixed-width", "explicit") and int(model.counts.sum()) == model.n_samples
    return model.n_bins > 1 and (is_fixed or has_edges_of_others(model))


def _shares_of_bins(model: BinnedModel, target: Int64s) -> Shares:
    """At edges of the model; of many at nine, by their number."""
    size = model.n_bins - 1
    at = np.unique(np.linspace(0, size - 1, min(size, len(CUTS))).round().astype(np.int64))
    ones = np.asarray(model.label_sums)
    counts = [np.cumsum(part[::-1])[::-1] for part in (ones, model.counts - ones, target)]
    return Shares(tuple(np.asarray(model.bin_edges)[at].tolist()), *((*part[1:][at].tolist(), int(part[0])) for part in counts))


def _source_rate(model: BinnedModel, given: float | None, smoothing: str) -> ClassRate:
    if given is not None:
        return ClassRate("given", check_rate(given, "source_rate"))
    rate = _smoothed(source_rate_of(model), model.n_samples, smoothing, "source")
    return ClassRate("counted", rate, model.n_samples, model.n_positive)


def _target_rate(estimate: RateEstimate, smoothing: str) -> ClassRate:
    n = estimate.n_samples
    if estimate.method == "known":
        return ClassRate("given", estimate.rate)
    rate = _smoothed(estimate.rate, n, smoothing, "target")
    if estimate.method == "labels":
        return ClassRate("counted", rate, n, round(estimate.rate * n))
    return ClassRate("estimated", rate, n)


def _smoothed(rate: float, n: int, smoothing: str, population: str) -> float:
    if smoothing == "add-half":
        return (rate * n + 0.5) / (n + 1.0)
    if not 0.0 < rate < 1.0:
        raise InputError(
            f"the {population} rate is {rate:g} among {n} samples, and equation (13) of Sun, Song & Hero 2023 is constant or "
            "undefined then",
            ("give more samples, ", Wording("pass the rate", "give --target-rate"), ", or ", by_name("smoothing", "add-half")),
        )
    return rate
