"""Calibration under covariate shift: binning with importance weights (Gupta, Podkopaev & Ramdas 2020, section 4.4)."""

from __future__ import annotations

import json
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s, Int64s
from fastbin._base.checks import (
    MOST_BINS,
    as_key_array,
    check_choice,
    check_count,
    check_edges,
    check_flag,
    check_labels,
    check_same_length,
    check_score_range,
    check_scores,
    check_seed,
    check_unit_interval,
    event_of,
)
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError, warn
from fastbin._base.frames import check_same_index, like
from fastbin._fit.calibrator import Calibrator
from fastbin._fit.edges import (
    bins_between,
    bins_of_rows,
    find_boundaries,
    first_part,
    on_fewer_bins,
    require_samples,
    split_samples,
    ties_cost_bins,
    whole_bins,
)
from fastbin._fit.rows import Rows
from fastbin._fit.tally import KEY_ABOVE, KEY_BELOW, Partition
from fastbin.guarantees import Certificate
from fastbin.guarantees.certificate import Certificates, about_ties, certificate_from_intervals, draws_from
from fastbin.model import BinnedModel
from fastbin.model_set import as_model
from fastbin.shift.importance import ULSIF, ImportanceEstimator, Progress, check_features
from fastbin.shift.weighted import (
    ESTIMATORS,
    METHODS,
    UNION_METHODS,
    WeightedRows,
    WeightLimits,
    check_limits,
    check_relative_mass,
    check_weights,
    effective_sample_sizes,
    estimate,
    interval_of_rows,
    level_per_bin,
    limit_to_unit,
    relative_mass_of,
    require_weight_guarantee,
    weigh_bins,
    weighted_interval,
)

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(eq=False, repr=False)
class ImportanceWeightedBinning(Calibrator):
    """Binning for a target population whose features are distributed otherwise, from labelled samples of the source.

    Under covariate shift P(Y | features) is the same at source and target. A source sample then stands for w samples of the
    target, w being the ratio of the two densities at its features, and the weighted mean label of a bin estimates the bin's
    frequency at the target.

    Parameters
    ----------
    n_bins : int
        Not used where `partition` is given.
    partition : BinnedModel or array-like of float, optional
        Bins fixed before these samples were seen: those of a model fitted to other samples, or inner edges, ascending.
    scheme : {"umd", "ums"}
        Where there is no `partition`: bins of equal source mass. "umd": boundaries from the samples themselves, boundary
        samples left out of the means. "ums": boundaries from one random part of the samples, means from the other (Gupta,
        Podkopaev & Ramdas 2020, Appendix D.4).
    ties : {"whole", "random"}
        Where there is no `partition`. "whole": edges lie between whole groups of equal scores, so that a score has one
        probability and needs no key, as in `fastbin.UniformMassBinning`; all samples of a bin are averaged where such a group
        lies at an edge, and "umd" has no intervals then. "random": equal scores are divided by keys, at the fit and
        at prediction.
    estimator : {"self-normalised", "known-mass", "counted-mass"}
        "self-normalised": sum w Y / sum w, equation (22), the one to use. "known-mass": the mean of m w Y, equation (40), which
        is unbiased, where m, the bin's mass at the source over that at the target, is known. "counted-mass": the same with m
        from counts of unlabelled scores, equation (47): weaker, as its two noises do not cancel (the paper's Figure 3 shows
        twice the error). The last two can pass 1 and are cut there, with a warning.
    split : float in (0, 1)
        "ums" alone: the share of the samples that places the boundaries.
    seed : int or None
        Of tie keys, and of the split. ``None`` draws one afresh.
    score_range : (low, high) or None
        Where scores must lie, as in `fastbin.UniformMassBinning`. A model given as `partition` brings its own.

    Attributes
    ----------
    model_ : BinnedModel
        With the weight tally: `weighted_interval` and `effective_sample_sizes` work from its file.
    estimates_ : float64 (n_bins,)
        The estimates before any cut at 1.
    relative_mass_ : float64 (n_bins,)
        m of each bin: given, counted, or count / sum w, equation (42). NaN for a bin without samples.
    effective_sample_sizes_ : float64 (n_bins,)
        (sum w)^2 / sum w^2.

    Notes
    -----
    With known weights at most U the intervals hold in finite samples. Estimated weights are right in the limit only
    (Proposition 2), and a distribution-free guarantee for them is impossible. Time O(n log n); the samples' weights, labels and
    bins are kept for the intervals, not in the model.

    References
    ----------
    .. [1] C. Gupta, A. Podkopaev and A. Ramdas, "Distribution-free binary classification: prediction sets, confidence
       intervals and calibration", NeurIPS 2020.

    Examples
    --------
    >>> import numpy as np
    >>> import fastbin as fb
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(2000)  # at the target, scores have density 2 s
    >>> labels = rng.random(2000) < scores**2
    >>> cal = fb.shift.ImportanceWeightedBinning(n_bins=4).fit(scores, labels, sample_weight=2 * scores)
    >>> cal.model_.values.round(2)
    array([0.03, 0.16, 0.37, 0.8 ])
    >>> cal.interval(alpha=0.1, weight_bound=2.0).round(2)
    array([[0.01, 0.12],
           [0.11, 0.23],
           [0.3 , 0.44],
           [0.74, 0.85]])
    """

    n_bins: int = 10
    _: KW_ONLY
    partition: Any = None
    scheme: str = "umd"
    ties: str = "whole"
    estimator: str = "self-normalised"
    split: float = 0.5
    seed: int | None = 0
    score_range: tuple[float, float] | None = (0.0, 1.0)

    def fit(
        self, scores: Any, labels: Any, sample_weight: Any = None, *, relative_mass: Any = None, source_scores: Any = None,
        target_scores: Any = None, tie_keys: Any = None, positive: Any = None, estimated: bool = False,
    ) -> Self:  # fmt: skip
        """Fit to labelled source samples and their weights.

        Parameters
        ----------
        scores, labels : array-like of shape (n,)
            Source samples that the classifier was not trained on.
        sample_weight : array-like of float, shape (n,)
            The density ratio target / source at each sample's features: finite and not negative. Their scale matters for
            "known-mass" and "counted-mass", and relative to `weight_bound` for intervals.
        relative_mass : array-like of float, shape (n_bins,), optional
            For "known-mass", and for "theorem10" intervals: P_source(bin) / P_target(bin), positive.
        source_scores, target_scores : array-like of float, optional
            For "counted-mass": unlabelled scores of both populations.
        tie_keys : array-like of shape (n,), optional
            With a `partition` that splits ties at random: the samples' keys.
        positive : optional
            The label that counts as 1, where labels are two values other than 0 and 1, such as "yes".
        estimated : bool
            Whether the weights are estimates; noted in the model, and asked for by intervals.

        Returns
        -------
        self

        Raises
        ------
        InputError, InputTypeError
            Naming the argument, the first bad position, its value, and the remedy; also for a bin all of whose weights are 0,
            and for a bin without target scores under "counted-mass".
        """
        estimator, event = check_choice(self.estimator, "estimator", ESTIMATORS), event_of(positive)
        seed, estimated = check_seed(self.seed), check_flag(estimated, "estimated")
        given_model = isinstance(self.partition, (BinnedModel, Calibrator))
        score_range = as_model(self.partition, "partition").score_range if given_model else check_score_range(self.score_range)
        check_same_index(scores=scores, labels=labels, sample_weight=sample_weight, tie_keys=tie_keys)
        score_array = np.asarray(check_scores(scores, score_range), np.float64)
        label_array, weights = check_labels(labels, positive=positive), check_weights(sample_weight)
        n = check_same_length(scores=score_array, labels=label_array, sample_weight=weights)
        key_array = None if tie_keys is None else as_key_array(tie_keys, n, to_order=True)
        rows = Rows(score_array, label_array, None, score_range, weights, key_array)
        if n == 0:
            raise InputError("is empty", "a calibrator needs samples", argument="scores")
        partition, bins, origin = self._bins(rows, seed) if self.partition is None else given_bins(rows, self.partition, seed)
        counted = bins >= 0
        kept = WeightedRows(weights[counted], label_array[counted], bins[counted])
        tally = weigh_bins(kept, partition)
        given = None if relative_mass is None else check_relative_mass(relative_mass, partition.n_bins)
        unlabelled = {"source_scores": source_scores, "target_scores": target_scores}
        relative = relative_mass_of(estimator, partition, tally, given, unlabelled, seed)
        estimates = estimate(estimator, tally, relative)
        note = {"shift": "covariate", "estimator": estimator, "weights": "estimated" if estimated else "known"}
        model = BinnedModel.from_parts(**{
            **tally, **origin, "edges": partition.edges, "edge_keys": partition.edge_keys,
            "values": limit_to_unit(estimates, partition), "n_samples": n,
            "n_positive": int(label_array.sum(dtype=np.int64)), "seed": seed, "score_range": score_range,
            "note": json.dumps(note), "weights": "estimated" if estimated else "given",
        })  # fmt: skip
        self._keep(model, event)
        # After all that may refuse: intervals need the rows of the very fit that made the model.
        self._rows, self._given_mass, self.relative_mass_, self.estimates_ = kept, given, relative, estimates
        self.effective_sample_sizes_ = effective_sample_sizes(self.model_)
        return self

    @shared_docs(Calibrator.fit.__doc__)
    def fit_to_target(
        self,
        scores: Any,
        labels: Any,
        features: Any,
        target_features: Any,
        *,
        source_features: Any = None,
        importance: ImportanceEstimator | None = None,
        progress: Progress | None = None,
        **arguments: Any,
    ) -> Self:
        """The whole procedure of Gupta, Podkopaev & Ramdas 2020, Appendix D.4: estimate weights, then fit with them.

        The weights are estimated from features without labels, and the model records that they are estimates.

        Parameters
        ----------
        scores, labels : array-like of shape (n,)
            Labelled source samples.
        features : array-like of float, shape (n, d)
            Their features.
        target_features : array-like of float, shape (m, d)
            Unlabelled target rows.
        source_features : array-like of float, shape (k, d), optional
            Unlabelled source rows for the weights; by default `features`.
        importance : ImportanceEstimator, optional
            How to estimate weights; ``ULSIF()`` by default. It is fitted here, and kept as ``importance_``.
        progress : callable, optional
            Called with the share of that work done, from 0 to 1.
        **arguments
            Further arguments of `fit`.

        {Returns}

        Raises
        ------
        InputError, InputTypeError
            As `fit` and `ULSIF.fit`.
        """
        rows = check_features(features)
        check_same_index(scores=scores, labels=labels, features=features)
        check_same_length(scores=np.asarray(check_scores(scores, None)), features=rows)
        method: ImportanceEstimator = ULSIF() if importance is None else importance
        method.fit(rows if source_features is None else source_features, target_features, progress=progress)
        self.fit(scores, labels, method.weights(rows), estimated=True, **arguments)
        self.importance_ = method
        return self

    def _bins(self, rows: Rows, seed: int) -> RowBins:
        """Bins of equal source mass."""
        if rows.keys is not None:
            remedy = "the keys of uniform-mass boundaries come from the seed"
            raise InputError("is given without a partition", remedy, argument="tie_keys")
        n_bins = check_count(self.n_bins, "n_bins", maximum=MOST_BINS)
        scheme, share = check_choice(self.scheme, "scheme", ("umd", "ums")), check_unit_interval(self.split, "split")
        ties = check_choice(self.ties, "ties", ("whole", "random"))
        found = uniform_mass_bins(rows, n_bins, seed, share if scheme == "ums" else None, ties)
        left = found.partition.n_bins
        counts = np.bincount(found.bins[found.bins >= 0], minlength=left)
        if ties == "whole" and ties_cost_bins(counts, found.origin.get("tie_counts"), n_bins):
            warn(on_fewer_bins(left, n_bins), stacklevel=3)
        return found

    def interval(
        self,
        alpha: float = 0.1,
        bound: str = "betting",
        simultaneous: bool = True,
        *,
        weight_bound: Any = None,
        weight_min: float | None = None,
        weight_error: float | None = None,
    ) -> Float64s:
        """An interval for the target frequency of label 1 in each bin, valid in finite samples for known, bounded weights.

        Parameters
        ----------
        alpha : float in (0, 1/2]
            The chance that any interval misses (each one's, where not `simultaneous`).
        bound : {"betting", "self-normalised-hoeffding", "empirical-bernstein", "theorem7", "theorem10"}
            The functions of `fastbin.intervals`. "betting" is mostly the narrowest, if not where both weights and the shares of
            the labels are nearly equal; "self-normalised-hoeffding" is what `weighted_interval` gives from the model alone.
            "theorem7" (with `weight_min`) and "theorem10" (with `relative_mass` at the fit) are Gupta, Podkopaev & Ramdas 2020,
            with the constants of their proofs. Choose before looking at the results.
        simultaneous : bool
            Whether alpha is shared among the bins.
        weight_bound : float or array-like of float, shape (n_bins,)
            Required: the largest weight in the source population, not merely in the sample; of each bin where it is known,
            which narrows the intervals where the weight depends on the score.
        weight_min : float, optional
            For "theorem7": the least weight in the population, positive.
        weight_error : float, optional
            For estimated weights: the factor G >= 1 by which they may be off. The interval is valid whatever the true weights
            in [w / G, w G] are; "betting" and "self-normalised-hoeffding" alone can do this. 1 takes the weights as exact.

        Returns
        -------
        float64 (n_bins, 2)
            [0, 1] for a bin without samples.

        Raises
        ------
        GuaranteeError
            When the weights were estimated and `weight_error` is not given.
        InputError
            When a weight is above the bound, or what the bound needs is missing.

        Notes
        -----
        Given the edges, the pairs (w, Y) of a bin are independent draws from it, and bins are independent (Gupta & Ramdas 2021,
        Lemma 2, applied to pairs), so Sidak's level is used; the theorems come with their union bound.
        """
        model, bound = self.model_, check_choice(bound, "bound", METHODS)
        error = require_weight_guarantee(model, weight_error)
        limits = WeightLimits(weight_bound, weight_min, error)
        check_limits(limits, self._rows, model.n_bins)
        if bound == "self-normalised-hoeffding":
            return weighted_interval(model, weight_bound, alpha=alpha, simultaneous=simultaneous, weight_error=error)
        level = level_per_bin(np.asarray(model.weight_sums), alpha, simultaneous, bound in UNION_METHODS)
        return interval_of_rows(model, self._rows, bound, level, limits, self._given_mass)

    def predict_interval(
        self, scores: Any, *, tie_keys: Any = None, seed: int | None = None, nan: str = "error", **options: Any
    ) -> Float64s:
        """As `BinnedModel.predict_interval`, with the options of `interval`."""
        ends = self.model_.lookup(scores, self.interval(**options), tie_keys=tie_keys, seed=seed, nan=nan)
        return like(scores, ends, ("lower", "upper"))

    def certificate(
        self,
        alpha: float = 0.1,
        kind: str = "conditional",
        bound: str | None = None,
        *,
        about: str = "population",
        of: None = None,
        unlabelled: None = None,
        side: str = "both",
        weight_bound: Any = None,
        weight_error: float | None = None,
    ) -> Certificate:
        """The guarantee about the values at the target: the largest distance to an end of `interval`.

        Parameters
        ----------
        alpha : float in (0, 1/2]
            The chance that the promise fails.
        kind : {"conditional", "marginal"}
            All bins at once, or the bin of the next target sample.
        bound : {"betting", "self-normalised-hoeffding", "empirical-bernstein"}, optional
            The `bound` of `interval`, which tells the errors too; "betting" by default.
        about : {"population"}
            The target population.
        of, unlabelled : None
            They go with slices, which weighted samples do not keep.
        side : {"both"}
            Promises under weights are about both sides.
        weight_bound, weight_error
            As in `interval`.
        """
        kind, about = check_choice(kind, "kind", ("conditional", "marginal")), check_choice(about, "about", ("population",))
        check_choice(side, "side", ("both",))
        for argument, given in (("of", of), ("unlabelled", unlabelled)):
            if given is not None:
                raise InputError(
                    "is given", "it goes with slices, which weighted samples do not keep: leave it out", argument=argument
                )
        bound = check_choice(METHODS[0] if bound is None else bound, "bound", METHODS[:4])
        ends = self.interval(alpha, bound, kind == "conditional", weight_bound=weight_bound, weight_error=weight_error)
        assumptions = [
            draws_from("the source population"),
            "the scores and the weights came from other data",
            "P(Y | features) is the same in the target population, of which the promise speaks",
            "no weight in the population passes its bound",
            *about_ties(self.model_),
        ]
        if weight_error is not None:
            assumptions.append(f"the weights are off by a factor of at most {float(weight_error):g}")
        return certificate_from_intervals(
            self.model_, ends, alpha=alpha, kind=kind, bound=bound, theorem=THEOREM, assumptions=assumptions, about=about,
            n_target=0,
        )  # fmt: skip

    def certificates(self, alpha: float = 0.1, *, weight_bound: Any = None, weight_error: float | None = None) -> Certificates:
        """Both kinds of promise; see `BinnedModel.certificates`, and `interval` for the weights."""
        return Certificates.of(partial(self.certificate, alpha, weight_bound=weight_bound, weight_error=weight_error))


THEOREM = (
    "bounds for w (Y - theta) in each bin; pairs (w, Y) are independent draws given the edges: Gupta & Ramdas 2021, Lemma 2"
)


# ------------------------------------------------------------------------------------------------- bins of rows


# The origin of bins in their model, as of other fits. The fingerprint is left out: it would not tell the weights.
ORIGIN = ("ties", "n_tied", "tie_counts", "edges_share")


class RowBins(NamedTuple):
    """A partition, the bin that counts each row (-1 for none), and what the model says of their origin."""

    partition: Partition
    bins: Int64s
    origin: dict[str, Any]


def uniform_mass_bins(rows: Rows, n_bins: int, seed: int, share: float | None, ties: str) -> RowBins:
    """Bins of equal mass of the rows ("umd"), or of a random share of them, of which the others are counted ("ums")."""
    scheme = "umd" if share is None else "ums"
    if share is None:
        require_samples(len(rows), n_bins, scheme)
        groups = find_boundaries(rows, n_bins, scheme)
        if ties == "whole":
            found = whole_bins(groups, scheme, seed, rows.score_range, [rows])
        else:
            found = bins_between(groups, ties, scheme, seed, rows.score_range)
        if found.tie_counts is None:
            bins = bins_of_rows(rows, found.partition, groups, scheme, found.ties, seed)
        else:  # all rows of a bin are averaged, none left out
            bins = found.partition.assign(rows.scores)
    else:
        split = split_samples(rows, seed, first_part(share, len(rows), n_bins))
        found, counted = split.fit_bins(n_bins, ties), split.take(1)
        bins = np.full(len(rows), -1)
        bins[split.position[split.part == 1]] = found.partition.assign(counted.scores, tie_keys=counted.keys)
    origin = {name: part for name, part in found.origin().items() if name in ORIGIN}
    return RowBins(found.partition, bins, {**origin, "scheme": scheme, "n_bins_asked": n_bins})


def given_bins(rows: Rows, given: Any, seed: int) -> RowBins:
    """The bins of a model, or those between given edges."""
    if isinstance(given, (BinnedModel, Calibrator)):
        model = as_model(given, "partition")
        if model.kind != "step":
            raise InputError(f"is a {model.kind!r} model, which has no bins", argument="partition")
        partition, ties = Partition.of(model), model.ties if model.needs_key else "none"
    else:
        partition, ties = Partition(check_edges(given, rows.score_range, "partition"), score_range=rows.score_range), "none"
    bins = partition.assign(rows.scores, tie_keys=rows.keys, seed=None if rows.keys is not None else seed)
    by_key = partition.edges[(partition.edge_keys != KEY_ABOVE) & (partition.edge_keys != np.uint64(KEY_BELOW))]
    return RowBins(partition, bins, {"scheme": "explicit", "ties": ties, "n_tied": int(np.isin(rows.scores, by_key).sum())})
