"""Scaling-binning: a smooth map, made a step function by averaging it over uniform-mass bins."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from fastbin._base.array_types import Float64s, Int64s
from fastbin._base.checks import ScoreRange, check_choice, check_count, check_n_bins, check_score_range, check_seed
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError, InputTypeError, by_name
from fastbin._base.shown import how_many
from fastbin._base.suspicions import HARD_LABELS, are_hard_labels
from fastbin._core.schemes import SCHEMES
from fastbin._fit.calibrator import FIT_PARAMETERS, PARAMETERS, Binning, Calibrator
from fastbin._fit.edges import (
    Edges,
    Fitted,
    Split,
    bins_between,
    bins_of_rows,
    edges_of,
    find_boundaries,
    least_with_part,
    on_fewer_bins,
    require_samples,
    resolve_n_bins,
    samples_needed,
    split_samples,
    ties_cost_bins,
    whole_bins,
)
from fastbin._fit.quantiles import Boundaries
from fastbin._fit.rows import Rows, check_rows, refuse_idle_keys
from fastbin._fit.tally import ExactSums, Partition, Tally, assign, exact_sums, require_weight, tally_rows
from fastbin.model import BinnedModel
from fastbin.scaling import BetaScaling, PlattScaling, TemperatureScaling
from fastbin.scaling.maps import SmoothMap, fitted_scaler

if TYPE_CHECKING:
    from typing_extensions import Self


SCALERS = ("platt", "temperature", "beta", "none")
SCHEMES_OF_SCALING = ("double-dipped", "split")
Scaled = Callable[[Float64s], Float64s]


@shared_docs(PARAMETERS)
@dataclass(eq=False, repr=False)
class ScalingBinning(Binning):
    """Scaling-binning: uniform-mass bins whose value is the mean of the scaled scores in them, not of the labels.

    Parameters
    ----------
    n_bins : int or "auto"
        "auto" is a function of the number of samples alone; see `fastbin.guarantees.auto_n_bins`.
    scaler : {"platt", "temperature", "beta", "none"} or a PlattScaling, TemperatureScaling or BetaScaling
        The map; "none" averages the scores themselves. One that is fitted already is used as it is; any other is fitted
        here (to a copy). It must increase.
    scheme : {"double-dipped", "split"}
        "double-dipped": all samples fit the map (unless it came fitted), place the boundaries as Algorithm 1 of Gupta &
        Ramdas 2021 does, and, but for the boundary samples, are averaged (ibid., section 4). "split": three random parts,
        one for each (Kumar, Liang & Ma 2019); two where the map came fitted.
    split : three positive numbers
        "split" alone: the relative sizes of the parts for the map, the boundaries and the means.
    ties : {"whole", "random", "upper"}
        As for `UniformMassBinning`.
    seed : int or None
        Of keys, and of the parts. ``None`` draws one afresh; it is kept in the model.
    score_range : (low, high) or None
        Where scores must lie; ``None`` takes any finite score and needs a map that does.
    {out_of_range}

    Attributes
    ----------
    model_ : BinnedModel
        ``model_.map`` tells the map. Its tally counts the labels of the samples that were averaged.
    scaler_ : BinnedModel or None
        The map as a model of its own; ``None`` for "none".

    See Also
    --------
    UniformMassBinning : values that are means of labels, with a guarantee known before the labels are seen.

    Notes
    -----
    Kumar, Liang & Ma show that the method needs few samples where the map is nearly right; that gives no distribution-free
    guarantee, since its error is that of the map. A model of this method can promise what is found afterwards: boundaries
    are ranks of scores and never look at labels, also where the map was fitted to the same samples, because it increases;
    so the tally is binomial given the boundaries (Gupta & Ramdas 2021, Lemma 2), and ``certificate(bound="clopper-pearson")``,
    the default, is the largest distance from a value to an end of its bin's simultaneous interval, which holds for any values.
    Bounds about means of labels are refused.

    The promise is about all calibration sets. Whether the map can be fitted, and increases, is seen from the labels, and where
    it does not the fit is refused; among the sets that were not refused, misses can be more frequent than alpha. With 500
    samples, two bins, and a rate of label 1 that falls from 0.04 to 0.01 as the score rises, nine of ten fits are refused, and
    in those that succeeded the intervals of single bins at alpha = 0.1 missed in 0.23 and 0.17. A scaler that was fitted to
    other samples, or ``scaler="none"``, refuses nothing on account of the labels.

    A model is a function of the multiset of rows and the seed; keys and parts are seeded by a digest of both, as for
    `UniformMassBinning`. Time O(n) for "double-dipped" with a fitted map, O(n log n) otherwise.

    References
    ----------
    .. [1] A. Kumar, P. Liang and T. Ma, "Verified uncertainty calibration", NeurIPS 2019.
    .. [2] C. Gupta and A. Ramdas, "Distribution-free calibration guarantees for histogram binning without sample splitting",
       ICML 2021.

    Examples
    --------
    >>> import fastbin as fb
    >>> scores = [0.05, 0.12, 0.2, 0.33, 0.41, 0.58, 0.66, 0.74, 0.89, 0.97]
    >>> labels = [0, 0, 1, 0, 1, 0, 1, 1, 1, 1]
    >>> cal = fb.ScalingBinning(n_bins=3, scaler="none").fit(scores, labels)
    >>> cal.model_.edges, cal.model_.values.round(4)
    (array([0.33, 0.74]), array([0.1233, 0.55  , 0.93  ]))
    >>> fb.ScalingBinning(n_bins=3).fit(scores, labels).predict([0.1, 0.5, 0.9]).round(2)
    array([0.33, 0.65, 0.86])
    """

    n_bins: int | str = 10
    _: KW_ONLY
    scaler: Any = "platt"
    scheme: str = "double-dipped"
    split: tuple[float, float, float] = (1, 1, 1)
    ties: str = "whole"
    seed: int | None = 0

    _looks_at = "it averages scaled scores"

    @shared_docs(FIT_PARAMETERS)
    def fit(
        self, scores: Any, labels: Any, sample_weight: Any = None, tie_keys: Any = None, n_threads: int = 1, *,
        positive: Any = None,
    ) -> Self:  # fmt: skip
        """Fit to calibration samples that the classifier was not trained on.

        Parameters
        ----------
        {scores}
        labels : array-like of shape (n,)
            bool, or numbers that equal 0 or 1. "double-dipped" with a fitted map uses them for the evidence alone.
        sample_weight : array-like of shape (n,), optional
            Integers are frequencies: the same as repeating the row. Floats are importance weights: boundaries ignore them,
            values are weighted means of scaled scores, and only bounds made for weights apply.
        {tie_keys}
        n_threads : int
            "double-dipped" alone: Python threads that look for the boundaries. Does not change the model.
        {positive}

        {Returns}

        Raises
        ------
        InputError
            Naming the argument, the first bad position, its value, and the remedy; also where the map does not increase, and
            for keys with ties="whole".

        Warns
        -----
        FastbinWarning
            Where ties="whole" leaves too few bins, as `UniformMassBinning.fit`; and as `IsotonicCalibration.fit`.
        """
        scheme = check_choice(self.scheme, "scheme", SCHEMES_OF_SCALING)
        ties = check_choice(self.ties, "ties", SCHEMES["scaling-binning"].ties)
        refuse_idle_keys(tie_keys, ties)
        score_range, seed = check_score_range(self.score_range), check_seed(self.seed)
        scaler = self._scaler(score_range)
        rows = check_rows(scores, labels, sample_weight, score_range, tie_keys, positive=positive)
        n_threads, n_samples = check_count(n_threads, "n_threads"), rows.n_samples()
        n_bins = resolve_n_bins(check_n_bins(self.n_bins), n_samples)
        if scheme == "double-dipped":
            require_samples(n_samples, n_bins, scheme)
            fitted = self._fit_scaler(scaler, rows)
            parts = _double_dip(rows, n_bins, ties, seed, n_threads, _scaled(fitted))
        else:
            split = split_samples(rows, seed, _part_sizes(self.split, n_samples, n_bins, scales=_needs_fit(scaler)))
            fitted = self._fit_scaler(scaler, split.take(0))
            parts = _average_split(split, n_bins, ties, _scaled(fitted))
        if fitted is not None:
            parts["map"], parts["map_parameters"] = fitted.map
            parts["clip"], parts["knots"] = fitted.clip, fitted.knots
        model = BinnedModel.from_parts(
            scheme="scaling-binning", n_bins_asked=n_bins, seed=seed, out_of_range=self.out_of_range, **parts,
        )  # fmt: skip
        self._keep(model, rows.event)
        self.scaler_ = fitted
        if ties == "whole" and ties_cost_bins(self.model_.counts, self.model_.tie_counts, n_bins):
            self._warn(on_fewer_bins(self.model_.n_bins, n_bins), stacklevel=2)
        self._warn_of_rows(parts["counts"], parts["label_sums"], are_hard_labels(rows.scores), 2)
        return self

    def _fit_scaler(self, scaler: Any, rows: Rows) -> BinnedModel | None:
        """The map as a model, fitted to the rows where the scaler did not come fitted; the user's object is left alone."""
        if scaler is None:
            return None
        if _needs_fit(scaler):
            if not isinstance(scaler, SmoothMap):
                raise InputTypeError(f"scaler must be PlattScaling, TemperatureScaling or BetaScaling, got {scaler!r}")
            scaler = type(scaler)(**scaler.get_params())
            scaler._told, scaler._fall_level = [], None  # the bins are tested
            scaler.fit(rows.scores, rows.labels, rows.frequencies if rows.weights is None else rows.weights)
            for text in scaler._told:
                if text != HARD_LABELS:
                    self._warn(text, 3)
        return fitted_scaler(scaler, rows.score_range)

    def _least_samples(self) -> int:
        scheme, n_bins = check_choice(self.scheme, "scheme", SCHEMES_OF_SCALING), check_n_bins(self.n_bins)
        if isinstance(n_bins, str):
            return 1
        if scheme == "double-dipped":
            return samples_needed(n_bins, scheme)[0]
        shares = _shares(self.split, scales=_needs_fit(self._scaler(check_score_range(self.score_range))))
        return least_with_part(shares[1] / sum(shares), n_bins)

    def _scaler(self, score_range: ScoreRange) -> Any:
        """The scaler as an object, or None for none."""
        if not isinstance(self.scaler, str):
            return self.scaler
        word = check_choice(self.scaler, "scaler", SCALERS)
        if word == "none":
            if score_range is None or score_range[0] < 0.0 or score_range[1] > 1.0:
                raise InputError(
                    f"score_range is {score_range}, but scaler='none' averages scores, which must be probabilities then"
                )
            return None
        if word == "platt":
            return PlattScaling(score_range=score_range)
        return TemperatureScaling() if word == "temperature" else BetaScaling()


def _needs_fit(scaler: Any) -> bool:
    return isinstance(scaler, Calibrator) and not hasattr(scaler, "model_")


def _scaled(map_model: BinnedModel | None) -> Scaled:
    return (lambda scores: scores) if map_model is None else map_model.predict


def _shares(split: Any, *, scales: bool) -> list[Fraction]:
    """The relative sizes of the parts; part 0 is empty where nothing is to be scaled."""
    try:
        shares = [Fraction(share) for share in split]
    except (TypeError, ValueError, OverflowError) as error:
        raise InputTypeError(f"split must be three numbers, the relative sizes of the parts, got {split!r}") from error
    if len(shares) != 3 or min(shares) <= 0:
        raise InputError(f"split is {split!r}; it must be three positive numbers, the relative sizes of the parts")
    if not scales:
        shares[0] = Fraction(0)
    return shares


def _part_sizes(split: Any, n: int, n_bins: int, *, scales: bool) -> tuple[int, int]:
    """The sizes of part 0 and part 1 of n samples."""
    shares = _shares(split, scales=scales)
    first, second = (math.floor(n * share / sum(shares)) for share in shares[:2])
    if second < n_bins or first + second >= n:
        raise InputError(
            f"{how_many(n, 'sample')}, split {split!r}, {'leaves' if n == 1 else 'leave'} {second} to place the boundaries and "
            f"{n - first - second} for the means",
            ("these need at least ", by_name("n_bins", n_bins), " and 1: take fewer bins or more samples"),
        )
    return first, second


def _double_dip(rows: Rows, n_bins: int, ties: str, seed: int, n_threads: int, scaled: Scaled) -> dict[str, Any]:
    """Boundaries from all samples, means over those strictly between them; over all where whole groups lie at edges."""
    groups = find_boundaries(rows, n_bins, "umd", n_threads)
    edges, found = None, whole_bins(groups, "scaling-binning", seed, rows.score_range) if ties == "whole" else None
    if found is None or not found.n_tied:
        ties = "upper" if ties == "whole" else ties  # the same rule where it decides nothing
        found = bins_between(groups, ties, "umd", seed, rows.score_range, rows=rows)
        edges = edges_of(groups, ties, "umd", seed, rows)
    if rows.weights is None:
        return {**found.tally.parts(), "values": _mean_scores(rows, found, edges, scaled)} | found.origin()
    if edges is None:
        bins = found.partition.assign(rows.scores)
        no_ties = np.zeros_like(found.tie_counts)
        found = found._replace(tally=tally_rows(found.partition, rows), tie_counts=no_ties, atom_counts=None)
    else:
        bins = bins_of_rows(rows, found.partition, groups, "umd", ties, seed)
        found.tally.weights = ExactSums(3 * found.partition.n_bins)
        found.tally.weights.add_rows(bins, rows.labels, rows.weights)
    return _weighted_means(found.tally, scaled(np.asarray(rows.scores, np.float64)), bins, rows.weights) | found.origin()


def _average_split(split: Split, n_bins: int, ties: str, scaled: Scaled) -> dict[str, Any]:
    """Boundaries from part 1, means over part 2."""
    found, rows = split.fit_bins(n_bins, ties), split.take(2)
    bins, values = found.partition.assign(rows.scores, tie_keys=rows.keys), scaled(rows.scores)
    if rows.weights is not None:
        return _weighted_means(found.tally, values, bins, rows.weights) | found.origin()
    sums = ExactSums(found.partition.n_bins)
    sums.add(values, bins)
    return {**found.tally.parts(), "values": sums.means(found.tally.counts)} | found.origin()


def _weighted_means(tally: Tally, scaled_scores: Float64s, bins: Int64s, weights: Float64s) -> dict[str, Any]:
    """The parts of a tally with weighted means of scaled scores for values; 0.5 for a bin without weight."""
    parts = tally.parts()
    require_weight(parts)
    weight_sums = parts["weight_sums"]
    sums = exact_sums(weights * scaled_scores, bins, len(weight_sums))
    parts["values"] = np.where(weight_sums > 0, sums / np.where(weight_sums > 0, weight_sums, 1.0), 0.5)
    return parts


def _mean_scores(rows: Rows, found: Fitted, edges: Edges | None, scaled: Scaled) -> Float64s:
    """The mean of scaled(score) over the samples that each bin counts, rounded once; 0.5 for a bin without any.

    Without `edges` a score lies in one bin. Else samples of one score are alike here, so of a group that holds a boundary only
    the number of its samples in each bin matters, which ranks give: no keys are needed, and frequencies may be of any size. One
    pass in blocks, time O(n), memory O(n_bins).
    """
    partition = found.partition
    sums = ExactSums(partition.n_bins)
    low, high = _boundary_ends(partition, np.unique(found.groups.score) if edges is not None else np.zeros(0))
    for _, block in rows.blocks():
        bins = assign(partition, rows, block)
        bins[(block.scores == low[bins]) | (block.scores == high[bins])] = -1
        if block.weights.size:
            sums.add_repeated(scaled(block.scores), bins, block.weights)
        else:
            sums.add(scaled(block.scores), bins)
    if edges is not None and len(found.groups.score):
        values, bins, repeats = _boundary_groups(partition, edges, found.groups)
        sums.add_repeated(scaled(values), bins, repeats)
    return sums.means(found.tally.counts)


def _boundary_ends(partition: Partition, scores: Float64s) -> tuple[Float64s, Float64s]:
    """The scores at the low and the high end of each bin that are among these `scores` of boundaries; NaN for other ends.

    They are edges of the bin, so a row needs to be compared with two scores and not searched for among all of them. An edge
    that was left out stood at the least score of all.
    """
    edges = np.where(np.isin(partition.edges, scores), partition.edges, np.nan)
    left_out = scores[~np.isin(scores, partition.edges)]
    return np.concatenate([left_out if len(left_out) else [np.nan], edges]), np.append(edges, np.nan)


def _boundary_groups(partition: Partition, counted: Edges, groups: Boundaries) -> tuple[Float64s, Int64s, Int64s]:
    """How many samples of each group that holds a boundary are counted in which bin: (score, bin, number), many of each.

    The samples counted between two edges are those of ranks ``first + 1 ... end``.
    """
    edges = list(zip(partition.edges.tolist(), partition.edge_keys.tolist(), strict=True))
    pairs = zip(counted.edge.tolist(), counted.edge_key.tolist(), strict=True)
    bins = np.array([0, *(bisect_right(edges, pair) for pair in pairs)])
    firsts = np.concatenate(([0], counted.starts[0]))
    ends = np.append(counted.ends[0], groups.n_samples)
    score, at = np.unique(groups.score, return_index=True)
    below = groups.below[at]
    beyond = below + groups.equal[at]
    low, high = np.searchsorted(ends, below, side="right"), np.searchsorted(firsts, beyond, side="left")
    group = np.repeat(np.arange(len(score)), high - low)
    between = np.concatenate([np.arange(*span) for span in zip(low, high, strict=True)])
    number = np.minimum(ends[between], beyond[group]) - np.maximum(firsts[between], below[group])
    return score[group], bins[between], np.maximum(number, 0)
