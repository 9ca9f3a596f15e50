"""The reliability table: what was predicted, bin by bin, beside what happened."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fastbin._errors import InputError, InputTypeError
from fastbin._scalars import check_alpha
from fastbin.assess._gaps import gaps_rounded_up
from fastbin.assess._samples import Groups, Samples, check_samples, group_samples
from fastbin.intervals import clopper_pearson, self_normalised_hoeffding, sidak

__all__ = ["ReliabilityTable", "reliability_table"]

Float64s = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ReliabilityTable:
    """Bins of predictions, ascending, each with the mean prediction and the positive rate of its test samples.

    Made by `reliability_table`. Bins without a sample are not rows of the table.

    Attributes
    ----------
    grouping : {"values", "uniform-mass", "fixed-width"}
        How predictions were divided.
    n_bins_asked : int
        The number of bins asked for; for "values" the number of distinct predictions.
    n_samples : int
        Test samples, frequencies included.
    lower, upper : float64 (n_rows,)
        Where the bin begins (itself included) and ends (not included, but for the last bin). For "values" both are the value.
    mean_predictions, positive_rates : float64 (n_rows,)
        Weighted means over the bin. For "values" the mean prediction is the value itself, exactly.
    counts, label_sums : int64 (n_rows,)
        Samples, and samples with label 1. Frequencies count, importance weights do not.
    masses : float64 (n_rows,)
        The bin's share of the total weight; they add up to 1.
    intervals : float64 (n_rows, 2) or None
        For the true frequency of label 1 of each bin. None where none were asked for, and for importance weights without a
        `weight_bound`.
    alpha : float or None
        Failure probability of the intervals: of all together if `simultaneous`, else of each.
    simultaneous : bool
    is_weighted : bool
        Whether the means are weighted by importance weights.
    """

    grouping: str
    n_bins_asked: int
    n_samples: int
    lower: Float64s
    upper: Float64s
    mean_predictions: Float64s
    positive_rates: Float64s
    counts: Int64s
    label_sums: Int64s
    masses: Float64s
    intervals: Float64s | None
    alpha: float | None
    simultaneous: bool
    is_weighted: bool

    @property
    def gaps(self) -> Float64s:
        """float64 (n_rows,): \\|positive rate - mean prediction\\| of each bin.

        For distinct values and counts these are the exact distances, rounded *up* to a double, so that ``gaps <= epsilon`` says
        exactly what it says over the rationals. Otherwise ordinary double arithmetic, within a few units in the last place.
        """
        if self.grouping == "values" and not self.is_weighted:
            return gaps_rounded_up(self.label_sums, self.counts, self.mean_predictions)
        return np.abs(self.positive_rates - self.mean_predictions)

    def ece(self, p: float = 1.0) -> float:
        """The plug-in l_p expected calibration error of the table; see `fastbin.assess.ece`."""
        order = check_order(p)
        gaps = self.gaps
        if math.isinf(order):
            return float(gaps.max())
        # Scaled by the largest gap, or high powers would underflow.
        largest = float(gaps.max())
        if largest == 0.0:
            return 0.0
        mean = float(np.dot(self.masses, (gaps / largest) ** order))
        return float(min(1.0, largest * mean ** (1.0 / order)))

    def to_dict(self) -> dict[str, Any]:
        """The table as plain dicts, lists, strings and numbers, ready for JSON: one dict per row under "bins"."""
        columns = {
            "lower": self.lower, "upper": self.upper, "mean_prediction": self.mean_predictions,
            "positive_rate": self.positive_rates, "count": self.counts, "label_sum": self.label_sums, "mass": self.masses,
        }  # fmt: skip
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*(c.tolist() for c in columns.values()), strict=True)]
        if self.intervals is not None:
            for row, interval in zip(rows, self.intervals.tolist(), strict=True):
                row["interval"] = interval
        head = {name: getattr(self, name) for name in ("grouping", "n_bins_asked", "n_samples", "alpha", "simultaneous")}
        return {**head, "bins": rows}


def check_order(p: Any) -> float:
    """The order of an l_p error: a number from 1 up, infinity included."""
    try:
        order = float(p)
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"p must be a number, got {p!r}") from error
    if not order >= 1.0:
        raise InputError(f"p is {order!r}; the order of an l_p error is at least 1, or float('inf') for the largest gap")
    return order


def reliability_table(
    predictions: Any,
    labels: Any,
    *,
    grouping: str = "auto",
    n_bins: int = 10,
    sample_weight: Any = None,
    alpha: float | None = 0.1,
    simultaneous: bool = True,
    weight_bound: Any = None,
) -> ReliabilityTable:
    """Mean prediction, positive rate, count and exact interval of each bin of predictions.

    Parameters
    ----------
    predictions : array-like of shape (n,)
        Probabilities in [0, 1], of any predictor. NaN is refused.
    labels : array-like of shape (n,)
        bool, or numbers that equal 0 or 1.
    grouping : {"auto", "values", "uniform-mass", "fixed-width"}
        "values": equal predictions form a bin, which is what calibration is about (Gupta & Ramdas 2021, Definition 2).
        "uniform-mass": bins of equal counts; "fixed-width": bins of width 1 / n_bins. A prediction equal to an edge lies above
        it, so tied predictions share a bin, and there can be fewer bins than asked for. "auto": "values" where there are at
        most `n_bins` distinct predictions, or ten or more samples for each on average; else "uniform-mass".
    n_bins : int
        Of "uniform-mass" and "fixed-width".
    sample_weight : array-like of shape (n,), optional
        Integers are frequencies, the same as repeating the row. Floats are importance weights; edges ignore them. Rows of
        weight zero are left out.
    alpha : float or None
        Failure probability of the intervals, from 1e-100 to 1/2. None computes none.
    simultaneous : bool
        Whether alpha holds for all bins together (Sidak over the bins, which are independent given the predictions), or each.
    weight_bound : float, optional
        The largest importance weight in the population; with it importance-weighted bins get intervals too.

    Returns
    -------
    ReliabilityTable

    Raises
    ------
    InputError, InputTypeError
        Naming the argument, the first bad position, its value and the remedy; also for empty input.

    Notes
    -----
    The intervals are Clopper & Pearson's (1934), exact for bins of one value. In a bin of several values the frequencies of
    its samples differ, and the label sum varies less than a binomial one (Hoeffding 1956), so the interval for their mean is
    conservative. Importance-weighted bins get `fastbin.intervals.self_normalised_hoeffding`. They cover the truth behind the
    *test* samples, which must not have been used in the fit.

    O(n log n) time, O(n) memory. A bin of continuous predictions stands for their mean, not for its middle (Gupta, Podkopaev &
    Ramdas 2020, Appendix D.4).

    Examples
    --------
    >>> table = reliability_table([0.2] * 9 + [0.8], [1, 0, 0, 0, 1, 0, 0, 1, 0, 1])
    >>> table.mean_predictions, table.counts, table.positive_rates.round(4)
    (array([0.2, 0.8]), array([9, 1]), array([0.3333, 1.    ]))
    >>> round(table.ece(), 4)
    0.14
    """
    if alpha is not None:
        alpha = check_alpha(alpha)
    samples = check_samples(predictions, labels, sample_weight)
    groups = group_samples(samples, grouping, n_bins)
    return table_of_groups(samples, groups, n_bins, alpha, simultaneous, weight_bound)


def table_of_groups(
    samples: Samples, groups: Groups, n_bins: int, alpha: float | None, simultaneous: bool, weight_bound: Any = None
) -> ReliabilityTable:
    """The table of checked samples whose groups are known. O(n)."""
    weights = samples.weights
    totals = groups.sums(weights)
    ones = groups.sums(samples.labels if weights is None else np.where(samples.labels == 1, weights, 0))
    seen = totals > 0.0
    counts, label_sums = totals, ones
    if samples.is_weighted:
        counts, label_sums = groups.sums(), groups.sums(samples.labels)
    if groups.values is not None:
        means, lower, upper = groups.values, groups.values, groups.values
    else:
        with np.errstate(invalid="ignore"):
            means = groups.sums(samples.predictions * samples.row_weights) / totals
        lower, upper = np.append(0.0, groups.edges), np.append(groups.edges, 1.0)
        means = np.clip(means, lower, upper)  # a sum of doubles may leave the bin by its last bit
    int_counts, int_sums = counts[seen].astype(np.int64), label_sums[seen].astype(np.int64)
    intervals = None
    if alpha is not None and (not samples.is_weighted or weight_bound is not None):
        level = sidak(alpha, len(int_counts)) if simultaneous else alpha
        if not samples.is_weighted:
            intervals = clopper_pearson(int_sums, int_counts, level)
        else:
            intervals = self_normalised_hoeffding(ones[seen], totals[seen], int_counts, level, weight_bound)
    return ReliabilityTable(
        grouping=groups.grouping,
        n_bins_asked=groups.n_bins if groups.values is not None else n_bins,
        n_samples=samples.n_samples,
        lower=lower[seen],
        upper=upper[seen],
        mean_predictions=means[seen],
        positive_rates=ones[seen] / totals[seen],
        counts=int_counts,
        label_sums=int_sums,
        masses=totals[seen] / totals.sum(),
        intervals=intervals,
        alpha=alpha,
        simultaneous=simultaneous,
        is_weighted=samples.is_weighted,
    )
