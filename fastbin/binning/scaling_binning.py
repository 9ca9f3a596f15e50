"""Scaling-binning: a smooth map, made a step function by averaging it over uniform-mass bins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastbin._calibrator import Calibrator
from fastbin._errors import InputError, InputTypeError
from fastbin._fit.boundaries import cut_rows
from fastbin._fit.exact_sums import ExactSums, exact_sums, require_weight, tally_weights
from fastbin._fit.fingerprint import fit_fingerprint
from fastbin._fit.mean_scores import Scaled, means_between_seams
from fastbin._fit.order import FitOrder, bins_of_rows
from fastbin._fit.partition import divide, make_seams, n_tied
from fastbin._fit.recipe import check_n_bins
from fastbin._fit.rows import Rows, check_rows, check_tie_keys
from fastbin._fit.split import part_sizes, split_in_three
from fastbin._fit.tally import bins_between, tally
from fastbin._scalars import check_choice, check_count, check_score_range, check_seed
from fastbin._validation import ScoreRange, compare_labels
from fastbin.model import BinnedModel
from fastbin.scaling import BetaScaling, PlattScaling, TemperatureScaling
from fastbin.scaling.maps import fitted_scaler

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ScalingBinning"]

Float64s = npt.NDArray[np.float64]

SCALERS = ("platt", "temperature", "beta", "none")
TIES_OF_SCHEME = {"double-dipped": ("random", "upper", "isolate"), "split": ("random", "upper")}


class ScalingBinning(Calibrator):
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
    ties : {"random", "upper", "isolate"}
        As for `UniformMassBinning`; "isolate" for "double-dipped" alone.
    seed : int or None
        Of keys, and of the parts. ``None`` draws one afresh; it is kept in the model.
    score_range : (low, high) or None
        Where scores must lie; ``None`` takes any finite score and needs a map that does.
    out_of_range : {"refuse", "clip"}
        What a finite score outside `score_range` does when it is scored: an error, or the value of the end of the range next
        to it. It is part of the model. In a fit such scores are refused in any case.

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
    Kumar, Liang & Ma show that the method needs few samples where the map is nearly right; that is no distribution-free
    guarantee, since its error is that of the map. What a model of this method can promise is found afterwards: boundaries
    are ranks of scores and never look at labels, also where the map was fitted to the same samples, because it increases;
    so the tally is binomial given the boundaries (Gupta & Ramdas 2021, Lemma 2), and ``certificate(bound="clopper-pearson")``,
    the default, is the largest distance from a value to an end of its bin's simultaneous interval, which holds for any values.
    Bounds about means of labels are refused.

    The promise is about all calibration sets. Whether the map can be fitted, and increases, is seen from the labels, and where
    it does not the fit is refused; among the sets that were not refused, misses can be more frequent than alpha. With 500
    samples, two bins, and a rate of label 1 that falls from 0.04 to 0.01 as the score rises, nine of ten fits are refused, and
    in those that succeeded the intervals of single bins at alpha = 0.1 missed in 0.17 and 0.24. A scaler that was fitted to
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

    scaler_: BinnedModel | None

    def __init__(
        self,
        n_bins: int | str = 10,
        *,
        scaler: Any = "platt",
        scheme: str = "double-dipped",
        split: tuple[float, float, float] = (1, 1, 1),
        ties: str = "random",
        seed: int | None = 0,
        score_range: tuple[float, float] | None = (0.0, 1.0),
        out_of_range: str = "refuse",
    ) -> None:
        self.n_bins = n_bins
        self.scaler = scaler
        self.scheme = scheme
        self.split = split
        self.ties = ties
        self.seed = seed
        self.score_range = score_range
        self.out_of_range = out_of_range

    def fit(
        self,
        scores: Any,
        labels: Any,
        sample_weight: Any = None,
        tie_keys: Any = None,
        n_threads: int = 1,
        *,
        positive: Any = None,
    ) -> Self:
        """Fit to calibration samples that the classifier was not trained on.

        Parameters
        ----------
        scores : array-like of shape (n,)
            NaN, infinity and scores outside `score_range` are refused.
        labels : array-like of shape (n,)
            bool, or numbers that equal 0 or 1. "double-dipped" with a fitted map uses them for the evidence alone.
        sample_weight : array-like of shape (n,), optional
            Integers are frequencies: the same as repeating the row. Floats are importance weights: boundaries ignore them,
            values are weighted means of scaled scores, and only bounds made for weights apply.
        tie_keys : array-like of shape (n,), optional
            Keys to order equal scores by, as for `UniformMassBinning`.
        n_threads : int
            "double-dipped" alone: Python threads that look for the boundaries. Does not change the model.
        positive : optional
            The label that counts as 1, where labels are two values other than 0 and 1, such as "yes".

        Returns
        -------
        self

        Raises
        ------
        InputError
            Naming the argument, the first bad position, its value, and the remedy; also where the map does not increase.
        """
        scheme = check_choice(self.scheme, "scheme", tuple(TIES_OF_SCHEME))
        ties = check_choice(self.ties, "ties", TIES_OF_SCHEME[scheme])
        score_range = check_score_range(self.score_range)
        scaler = self._scaler(score_range)
        labels = compare_labels(labels, positive)
        rows, weights = check_rows(scores, labels, sample_weight, score_range)
        order = FitOrder(check_seed(self.seed), weights, check_tie_keys(tie_keys, rows))
        n_threads = check_count(n_threads, "n_threads")
        n_samples = rows.expanded_size()
        n_bins = check_n_bins(self.n_bins, n_samples)
        if scheme == "double-dipped":
            if n_samples < 2 * n_bins - 1:
                raise InputError(
                    f"{n_samples} samples are too few for n_bins={n_bins}, which needs at least {2 * n_bins - 1} (2 n_bins "
                    "- 1, so that no bin is empty); take fewer bins or more samples"
                )
            self.scaler_ = _fit_scaler(scaler, (scores, labels, sample_weight), score_range)
            parts = _double_dip(rows, n_bins, ties, order, n_threads, _scaled(self.scaler_))
        else:
            sizes = part_sizes(self.split, n_samples, n_bins, scales=_needs_fit(scaler))
            three = split_in_three(rows, order, sizes)
            self.scaler_ = _fit_scaler(scaler, three.columns(0), score_range)
            partition, groups = three.cut(n_bins, ties, rows.limits)
            tied = int(groups.equal[groups.equal >= 2].sum())
            parts = _average(three.columns(2), three.keys[three.part == 2], partition, score_range, _scaled(self.scaler_))
            parts |= {"n_samples": groups.n_samples, "n_positive": groups.n_positive, "n_tied": tied}
            parts["fingerprint"] = fit_fingerprint(partition.edges, ties, score_range, groups)
        if self.scaler_ is not None:
            parts["map"], parts["map_parameters"] = self.scaler_.map
        self.model_ = BinnedModel.from_parts(
            scheme="scaling-binning", ties=ties, n_bins_asked=n_bins, score_range=score_range, seed=order.seed,
            out_of_range=self.out_of_range, **parts,
        )  # fmt: skip
        return self

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


def _fit_scaler(scaler: Any, data: tuple[Any, Any, Any], score_range: ScoreRange) -> BinnedModel | None:
    """The map as a model, fitted to the data where the scaler did not come fitted; the caller's object is left alone."""
    if scaler is None:
        return None
    if _needs_fit(scaler):
        if not isinstance(scaler, (PlattScaling, TemperatureScaling, BetaScaling)):
            raise InputTypeError(f"scaler must be PlattScaling, TemperatureScaling or BetaScaling, got {scaler!r}")
        scaler = type(scaler)(**scaler.get_params()).fit(*data)
    return fitted_scaler(scaler, score_range)


def _scaled(map_model: BinnedModel | None) -> Scaled:
    return (lambda scores: scores) if map_model is None else map_model.predict


def _double_dip(rows: Rows, n_bins: int, ties: str, order: FitOrder, n_threads: int, scaled: Scaled) -> dict[str, Any]:
    """Boundaries from all samples, means over those strictly between them."""
    cuts = cut_rows(rows, n_bins, "umd", order, n_threads)
    groups = cuts.group
    seams = make_seams(cuts, ties, count_cuts=False, cut_below=False)
    partition = divide(seams, groups.n_samples, groups.n_positive, rows.limits)
    parts: dict[str, Any] = {
        **partition._asdict(), "n_samples": groups.n_samples, "n_positive": groups.n_positive, "n_tied": n_tied(cuts, ties),
        "fingerprint": fit_fingerprint(partition.edges, ties, rows.score_range, groups),
    }  # fmt: skip
    if order.weights is None:
        return {**parts, "values": means_between_seams(rows, partition, seams, cuts, scaled)}
    bins = bins_of_rows(rows, partition, cuts, order, "umd", ties)
    weighted = tally_weights(bins, rows.labels, order.weights, len(partition.counts))
    values = _weighted_means(scaled(np.asarray(rows.scores, np.float64)), bins, order.weights, weighted.weight_sums)
    return {**parts, **weighted._asdict(), "values": values}


def _average(
    columns: tuple[Any, Any, Any], keys: npt.NDArray[np.uint64], partition: Any, score_range: ScoreRange, scaled: Scaled
) -> dict[str, Any]:
    """Tally of the samples of the third part, and means of their scaled scores."""
    scores, labels, weights = columns
    places = bins_between(partition.edges, partition.edge_keys, score_range)
    counted = tally(places, Rows(scores, labels, None, score_range), weights, keys)
    bins = places.assign(scores, keys=keys).astype(np.int64)
    evidence = counted.parts()
    if weights is None:
        sums = ExactSums(places.n_bins)
        sums.add(scaled(scores), bins)
        values = sums.means(counted.counts)
    else:
        values = _weighted_means(scaled(scores), bins, weights, evidence["weight_sums"])
    return {"edges": partition.edges, "edge_keys": partition.edge_keys, **evidence, "values": values}


def _weighted_means(scaled_scores: Float64s, bins: npt.NDArray[np.int64], weights: Float64s, weight_sums: Float64s) -> Float64s:
    """Means with importance weights; 0.5 for a bin without weight."""
    require_weight(weight_sums)
    sums = exact_sums(weights * scaled_scores, bins, len(weight_sums))
    return np.where(weight_sums > 0, sums / np.where(weight_sums > 0, weight_sums, 1.0), 0.5)
