"""Isotonic calibration: the non-decreasing function nearest to the labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s, Int64s
from fastbin._base.checks import check_flag, no_samples
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError
from fastbin._base.suspicions import are_hard_labels, around_the_median
from fastbin._core.fit import pool_counts, pool_weights
from fastbin._fit.calibrator import PARAMETERS, Binning, Calibrator
from fastbin._fit.edges import tally_fingerprint
from fastbin._fit.quantiles import Source, run_starts
from fastbin._fit.rows import Rows
from fastbin._fit.tally import Partition, exact_sums, rising, tally_rows
from fastbin.model import BinnedModel
from fastbin.model_set import as_model

if TYPE_CHECKING:
    from typing_extensions import Self


# Blocks whose weights are summed exactly at one time: half a kilobyte each.
BLOCKS_AT_A_TIME = 2**14


@shared_docs(PARAMETERS)
@dataclass(eq=False, repr=False, kw_only=True)
class IsotonicCalibration(Binning):
    """Isotonic regression of the label on the score, by pooling adjacent violators.

    Parameters
    ----------
    interpolate : bool
        False: a step function, continuous from the right: the value of the largest knot (distinct fitted score) at or below the
        score, and the first value below all. True: straight lines between knots, as scikit-learn predicts; its output is
        continuous, so it does not bin and carries no tally.
    {score_range}
    {out_of_range}

    Attributes
    ----------
    model_ : BinnedModel
        One bin per block of the fit, with its tally; of kind "linear" with interpolation.

    See Also
    --------
    UniformMassBinning : with monotone values, keeps a certificate.
    VennAbers : a pair of isotonic fits whose pair of probabilities is valid.

    Notes
    -----
    Least squares under the order; equal scores are pooled first, blocks of equal means are one block, so that values rise
    strictly. Without weights, and with frequencies, means are compared exactly and each value is one correctly rounded
    division. Importance weights weight the squares; values are then quotients of correctly rounded sums, and a weight of 0
    makes no knot.

    No certificate: the blocks are chosen by looking at the labels (Gupta, Podkopaev & Ramdas 2020, Theorem 3 rules it out for
    the interpolated form; the step form has no label-free partition, which Theorem 4 needs).

    Time O(n log n), memory a few arrays of n doubles.

    References
    ----------
    .. [1] B. Zadrozny and C. Elkan, "Transforming classifier scores into accurate multiclass probability estimates", KDD 2002.

    Examples
    --------
    >>> import fastbin as fb
    >>> cal = fb.IsotonicCalibration().fit([0.1, 0.2, 0.3, 0.4, 0.5], [1, 0, 1, 0, 1])
    >>> cal.model_.edges, cal.model_.values
    (array([0.5]), array([0.5, 1. ]))
    >>> fb.IsotonicCalibration(interpolate=True).fit([0.1, 0.2, 0.3, 0.4], [0, 0, 1, 1]).predict([0.25])
    array([0.5])
    """

    interpolate: bool = False

    _looks_at = "it pools single scores"
    _never_falls = True

    def _fit_source(self, source: Source) -> Self:
        check_flag(self.interpolate, "interpolate")
        rows = self._rows_of(source)
        if rows.weights is None:
            counted = count_scores(rows)
            knots, (starts, values) = counted.scores, _pool_counts(counted)
        else:
            weighed = weigh_scores(rows)
            knots, (starts, values) = weighed.scores, _pool_weights(weighed)
        halves = around_the_median(rows.scores, rows.labels == 1, rows.frequencies)
        self._warn_of_rows(*halves, are_hard_labels(rows.scores), 3)
        if self.interpolate:
            self._keep(_lines(knots, starts, values, rows).with_out_of_range(self.out_of_range), rows.event)
            return self
        partition = Partition(knots[starts[1:]], score_range=rows.score_range)
        tally = tally_rows(partition, rows)
        model = BinnedModel.from_parts(
            edges=partition.edges, scheme="isotonic", score_range=rows.score_range, out_of_range=self.out_of_range,
            fingerprint=tally_fingerprint(partition, tally), **{**tally.parts(), "values": values},
        )  # fmt: skip
        self._keep(model, rows.event)
        return self


def _pool_counts(knots: DistinctScores) -> tuple[Int64s, Float64s]:
    """The first knot of each block, and its value."""
    starts, counts, sums = (np.empty(len(knots.scores), np.int64) for _ in range(3))
    n_blocks = pool_counts(knots.counts, knots.label_sums, starts, counts, sums)
    return starts[:n_blocks].copy(), sums[:n_blocks] / counts[:n_blocks]


def _pool_weights(knots: DistinctScores) -> tuple[Int64s, Float64s]:
    starts = np.empty(len(knots.scores), np.int64)
    weights, sums = np.empty(len(knots.scores)), np.empty(len(knots.scores))
    starts = starts[: pool_weights(knots.counts, knots.label_sums, starts, weights, sums)].copy()
    values = _block_means(knots, starts)
    # The sums that steered the pooling were rounded as they grew: exact ones may show neighbours that still do not rise.
    while (falls := values[1:] <= values[:-1]).any():
        starts = starts[np.concatenate(([True], ~falls))]
        values = _block_means(knots, starts)
    return starts, values


def _block_means(knots: DistinctScores, starts: Int64s) -> Float64s:
    """Quotients of the correctly rounded sums of the knots of each block."""
    block = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(knots.scores))))
    sums = np.empty((2, len(starts)))
    for first in range(0, len(starts), BLOCKS_AT_A_TIME):
        end = min(first + BLOCKS_AT_A_TIME, len(starts))
        span = slice(starts[first], starts[end] if end < len(starts) else None)
        for row, column in enumerate((knots.label_sums, knots.counts)):
            sums[row, first:end] = exact_sums(column[span], block[span] - first, end - first)
    return np.asarray(sums[0] / sums[1])


def _lines(scores: Float64s, starts: Int64s, values: Float64s, rows: Rows) -> BinnedModel:
    """Interpolation needs the first and the last knot of each block alone."""
    ends = np.append(starts[1:], len(scores)) - 1
    at = np.stack([starts, ends], axis=1).ravel()
    at, first = np.unique(at, return_index=True)
    labels = rows.labels == 1
    n_positive = int(labels.sum()) if rows.frequencies is None else int(rows.frequencies[labels].sum())
    return BinnedModel.from_parts(
        edges=scores[at], values=np.repeat(values, 2)[first], kind="linear", scheme="isotonic", score_range=rows.score_range,
        n_samples=rows.n_samples(), n_positive=n_positive,
    )  # fmt: skip


# ------------------------------------------------------------------ distinct scores


class DistinctScores(NamedTuple):
    """Every score has a sample, or weight. Sums of importance weights are rounded in the order of (label, weight)."""

    scores: Float64s
    counts: Any  # int64: samples; float64: sums of their importance weights
    label_sums: Any  # the same of those with label 1


def count_scores(rows: Rows) -> DistinctScores:
    """The distinct scores of rows, frequencies counted out. Checks the values of scores and labels. O(n log n), memory O(n)."""
    scores, labels = rows.checked()
    if rows.frequencies is None:
        ordered, ones = np.sort(scores), np.sort(scores[labels == 1])
        first = run_starts(ordered)
        distinct = ordered[first]
        counts = np.diff(np.append(first, len(ordered)))
        return DistinctScores(distinct, counts, np.searchsorted(ones, distinct, side="right") - np.searchsorted(ones, distinct))
    ordered, (labels, frequencies) = _sorted(scores, rows.frequencies > 0, (labels, rows.frequencies), ())
    first = run_starts(ordered)
    return DistinctScores(ordered[first], np.add.reduceat(frequencies, first), np.add.reduceat(frequencies * labels, first))


def weigh_scores(rows: Rows) -> DistinctScores:
    """The distinct scores of rows with importance weights; rows of weight 0 are left out. O(n log n), memory O(n)."""
    scores, labels = rows.checked()
    assert rows.weights is not None
    ordered, (labels, weights) = _sorted(scores, rows.weights > 0, (labels, rows.weights), (rows.weights, labels))
    first = run_starts(ordered)
    return DistinctScores(ordered[first], np.add.reduceat(weights, first), np.add.reduceat(weights * labels, first))


def _sorted(scores: Float64s, kept: Any, columns: tuple[Any, ...], ties: tuple[Any, ...]) -> tuple[Float64s, list[Any]]:
    """Some rows by score, equal scores by the columns of `ties`; and what else is known of them."""
    if not kept.any():
        raise no_samples()
    columns_kept = [column[kept] for column in (*ties, scores)]
    order = np.flatnonzero(kept)[np.lexsort(columns_kept) if ties else np.argsort(columns_kept[0])]
    return scores[order], [column[order] for column in columns]


# ------------------------------------------------------------------ values that rise


def monotone_model(model: BinnedModel | Calibrator) -> BinnedModel:
    """The same bins and tally with non-decreasing values, moved as little as possible in the worst bin.

    Each value becomes the mean of the running maximum from the left and the running minimum from the right. The tally stays,
    and the certificate with bound="clopper-pearson" is about whatever values the model gives, so it holds for these and spends
    no alpha on the change (any values that the labels may choose are covered by the simultaneous intervals). Where the true
    frequencies rise, epsilon grows by little; where they do not, it grows by as much as the values had to move,
    and says so. Bounds about means ("a-priori", "hoeffding") are refused for values that were moved.

    Parameters
    ----------
    model : BinnedModel or fitted calibrator
        Of kind "step", without value randomisation.

    Returns
    -------
    BinnedModel
        A bin without samples (or without weight) takes the mean of its nearest neighbours with samples, or the value of the one
        that it has; if no bin has samples the values stay. In a model of two resolutions all steps are moved
        alike: one without samples has a value of the map.

    Raises
    ------
    InputError
        For a smooth or interpolated model, or one with delta > 0, whose randomised predictions could not rise.

    Notes
    -----
    O(n_steps).

    Examples
    --------
    >>> import fastbin as fb
    >>> scores, labels = [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9], [0, 1, 1, 1, 0, 1, 1, 1]
    >>> model = fb.ExplicitBinning(edges=[0.25, 0.5]).fit(scores, labels).model_
    >>> model.values, monotone_model(model).values
    (array([0.5 , 1.  , 0.75]), array([0.5  , 0.875, 0.875]))
    """
    model = as_model(model)
    if model.kind != "step":
        raise InputError(f"the model is of kind {model.kind!r}, without bins whose values could be made monotone")
    if model.delta > 0.0:
        raise InputError(f"delta is {model.delta!r}: randomised values do not rise from bin to bin; fit with delta=0")
    # A step without samples has its value from the map, unlike a bin, whose value then stands for not knowing.
    seen = None if model.has_steps else model.counts if model.weight_sums is None else model.weight_sums
    return model._derived("monotone_model", values=rising(model.values, np.ones(model.n_steps) if seen is None else seen))
