"""The reliability table: predictions and positive rates, bin by bin."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Bools, Float64s, Int64s
from fastbin._base.cells import Key
from fastbin._base.checks import check_alpha, check_choice, check_flag
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError, InputTypeError
from fastbin._base.shown import how_many, rounded, rounded_up
from fastbin._base.table import Columns, Table, as_records
from fastbin.assess.multiclass import ClassRows, top_label_parts
from fastbin.assess.samples import (
    MOST_BINS,
    MOST_IN_ALL,
    N_BINS,
    ChanceLevel,
    Groups,
    Noise,
    Samples,
    group_samples,
    grouped_samples,
)
from fastbin.guarantees.certificate import sureness
from fastbin.intervals import bonferroni, clopper_pearson, self_normalised_hoeffding, sidak
from fastbin.intervals.binomial import ends_of_rows


@dataclass(frozen=True, eq=False)
class ReliabilityTable(Table):
    """Bins of predictions, ascending, each with the mean prediction and the positive rate of its test samples.

    Made by `reliability_table`. Bins without a sample are not rows of the table. Those of several classes are in order of
    the classes.

    Attributes
    ----------
    grouping : {"values", "uniform-mass", "fixed-width", "shared", "predicted", "mixed"}
        How predictions were divided. "shared": another predictor's predictions were, and these are compared in its bins.
        "predicted": the rows for which one class is predicted are a bin. "mixed": classes differ in how theirs were divided.
    n_bins_asked : int
        The number of bins asked for; for "values" the number of distinct predictions; for several classes their sum.
    n_samples : int
        Test samples, frequencies included.
    lower, upper : float64 (n_rows,)
        Where the bin begins (itself included) and ends (not included, but for the last bin). For "values" both are the value,
        for "shared" and "predicted" the least and the largest prediction.
    mean_predictions, positive_rates : float64 (n_rows,)
        Weighted means over the bin. For "values" the mean prediction is the value itself, exactly.
    counts, label_sums : int64 (n_rows,)
        Samples, and samples with label 1. Frequencies count, importance weights do not.
    masses : float64 (n_rows,)
        The bin's share of the total weight; they add up to 1. Where classes share rows, every class has the same part of it.
    intervals : float64 (n_rows, 2) or None
        For the true frequency of label 1 of each bin. None where none were asked for, and for importance weights without a
        `weight_bound`.
    alpha : float or None
        Failure probability of the intervals: of all together if `simultaneous`, else of each.
    simultaneous : bool
    is_weighted : bool
        Whether the means are weighted by importance weights.
    noise : Noise or None
        From which `chance_level` is computed.
    multiclass : {"class-wise", "top-label", "confusion"} or None
        Which binary problems of several classes the rows are about; None for predictions of one event.
    parts : mapping of int or str to ReliabilityTable, or None
        The table of each class by itself, its intervals at the level that they have here. None for predictions of one event.
    predicted : tuple of int or str, or None
        For grouping "predicted", the class that is predicted in each row of the table.
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
    noise: Noise | None = None
    multiclass: str | None = None
    parts: Mapping[Key, ReliabilityTable] | None = None
    predicted: tuple[Key, ...] | None = None

    @cached_property
    def chance_level(self) -> ChanceLevel | None:
        """ChanceLevel or None: the ECE and the largest gap that a perfectly calibrated predictor would show in these bins.

        The predictions are taken as the true frequencies, and labels are drawn. Each has an expectation and a 95 % point; for
        the ECE the expectation is computed, the rest simulated (10,000 draws, fixed seed). With importance weights label sums
        are taken as normal. None for a table of a fit, and for more than 1,000 bins (of one class; 5,000 of all). Where
        classes share rows, or have more than 1,000 bins, there is the expectation of the ECE alone, and the rest is NaN.
        """
        return None if self.noise is None else self.noise.level()

    @property
    def gaps(self) -> Float64s:
        """float64 (n_rows,): \\|positive rate - mean prediction\\| of each bin.

        For distinct values and counts these are the exact distances, rounded *up* to a double, so that ``gaps <= epsilon`` says
        exactly what it says over the rationals. Otherwise ordinary double arithmetic, within a few units in the last place.
        """
        if self.parts is not None:
            return np.concatenate([part.gaps for part in self.parts.values()])
        if self.grouping == "values" and not self.is_weighted:
            return exact_gaps(self.label_sums, self.counts, self.mean_predictions)
        return np.abs(self.positive_rates - self.mean_predictions)

    def ece(self, p: float = 1.0) -> float:
        """The plug-in l_p expected calibration error of the table; see `fastbin.assess.ece`."""
        try:
            order = float(p)
        except (TypeError, ValueError) as error:
            raise InputTypeError(f"p must be a number, got {p!r}") from error
        if not order >= 1.0:
            raise InputError(f"p is {order!r}; the order of an l_p error is at least 1, or float('inf') for the largest gap")
        gaps = self.gaps
        largest = float(gaps.max())
        if math.isinf(order) or largest == 0.0:
            return largest
        # Scaled by the largest gap, or high powers would underflow.
        mean = float(np.dot(self.masses, (gaps / largest) ** order))
        return float(min(1.0, largest * mean ** (1.0 / order)))

    def _columns(self) -> Columns:
        columns = {
            "lower": self.lower, "upper": self.upper, "mean_prediction": self.mean_predictions,
            "positive_rate": self.positive_rates, "count": self.counts, "label_sum": self.label_sums, "mass": self.masses,
        }  # fmt: skip
        if self.intervals is not None:
            columns["interval"] = self.intervals
        return {**self._keys(), **{name: column.tolist() for name, column in columns.items()}}

    def _keys(self) -> dict[str, list[Key]]:
        """The class of each row, and the class that is predicted there, where a row has one."""
        keys = {} if self.parts is None else {"class": [key for key, part in self.parts.items() for _ in part.counts]}
        return keys if self.predicted is None else {**keys, "predicted": list(self.predicted)}

    def _about(self) -> str:
        how = {
            "values": "by distinct prediction", "uniform-mass": "in bins of equal mass", "fixed-width": "in equal bins",
            "shared": "in the bins of another predictor", "predicted": "by predicted class",
            "mixed": "by distinct prediction or in bins of equal mass",
        }  # fmt: skip
        noun = "weighted test sample" if self.is_weighted else "test sample"
        about = f"{how_many(self.n_samples, noun)} {how[self.grouping]}"
        if self.parts is not None:
            about += f", of {len(self.parts):,} {'predicted ' if self.multiclass == 'top-label' else ''}classes"
        if self.intervals is not None:
            about += f"; {sureness(self.alpha or 1.0)} intervals{', all at once' if self.simultaneous else ' for each bin'}"
        about += f"; mean gap ({'ECE' if self.multiclass is None else f'{self.multiclass} ECE'}) {rounded(self.ece())}"
        return about if self.chance_level is None else f"{about}; {by_chance(self.chance_level.ece, self.chance_level.ece_95)}"

    def _words(self) -> tuple[dict[str, list[str]], int]:
        words, n_text = super()._words()
        ends = ("lower", "upper") if self.grouping in ("values", "predicted") else ()
        return {title: column for title, column in words.items() if title not in ends}, n_text

    def to_dict(self) -> dict[str, Any]:
        """The table as plain dicts, lists, strings and numbers, ready for JSON: one dict per row under "bins"."""
        head = {name: getattr(self, name) for name in ("grouping", "n_bins_asked", "n_samples", "alpha", "simultaneous")}
        head |= {} if self.multiclass is None else {"multiclass": self.multiclass}
        level = None if self.chance_level is None else self.chance_level._asdict()
        level = level and {name: None if math.isnan(entry) else entry for name, entry in level.items()}
        return {**head, "chance_level": level, "bins": as_records(self._columns())}


def by_chance(mean: float, point: float) -> str:
    """The company of a calibration error, in words."""
    said = f"a perfectly calibrated predictor would show {rounded(mean)} by chance"
    return said if math.isnan(point) else f"{said}, and more than {rounded_up(point)} in about one of 20 test sets"


def exact_gaps(label_sums: Int64s, counts: Int64s, values: Float64s) -> Float64s:
    """|label_sum / count - value|, rounded up to doubles: gap <= epsilon holds over the rationals if and only if it holds here.

    In integers, row by row, about a microsecond each. Differences of rounded quotients are not exact enough, because round
    numbers tie: with 100 predictions each of 0.1, 0.2 to 0.9, 87 of 100 test sets would get another validity at some epsilon
    from 0.01, 0.02 to 0.2.
    """
    gaps = []
    for label_sum, count, value in zip(label_sums.tolist(), counts.tolist(), values.tolist(), strict=True):
        numerator, denominator = value.as_integer_ratio()
        distance, unit = abs(label_sum * denominator - numerator * count), count * denominator
        gap = distance / unit  # rounded to the nearest double
        numerator, denominator = gap.as_integer_ratio()
        gaps.append(math.nextafter(gap, math.inf) if numerator * unit < distance * denominator else gap)
    return np.array(gaps)


@shared_docs(grouped_samples.__doc__)
def reliability_table(
    predictions: Any,
    labels: Any,
    *,
    grouping: str = "auto",
    n_bins: int = N_BINS,
    sample_weight: Any = None,
    positive: Any = None,
    alpha: float | None = 0.1,
    simultaneous: bool = True,
    weight_bound: Any = None,
    multiclass: str | None = None,
    classes: Sequence[int] | Sequence[str] | None = None,
    predicted: Any = None,
) -> ReliabilityTable:
    """Mean prediction, positive rate, count and exact interval of each bin of predictions, of one event or of several classes.

    {Parameters}
    alpha : float or None
        Failure probability of the intervals, from 1e-100 to 1/2. None computes none.
    simultaneous : bool
        Whether alpha holds for all bins together (Sidak over the bins, which are independent given the predictions), or each.
    weight_bound : float, optional
        The largest importance weight in the population; with it importance-weighted bins get intervals too.
    multiclass : {"class-wise", "top-label", "confusion"}, optional
        For predictions of several classes, a matrix of shape (n, k) with a column for each, and labels that are classes: which
        binary problems are looked at. "class-wise": of each class, its column as predictions of "the class is this one".
        "top-label": of each predicted class, the rows for which it is predicted, and its probability as a prediction of "it is
        right". "confusion": of each class, its column again, and the rows for which one class is predicted are a bin, whatever
        `n_bins` is; so the table is the confusion matrix that the predictions expect beside that of the labels, both as shares
        of the rows of a predicted class. The first column is predicted where several have the largest probability.
    classes : sequence of k int or str, optional
        Which class each column stands for; by default 0 to k - 1.
    predicted : array-like of shape (n,), optional
        The predicted classes, for "top-label" where `predictions`, of shape (n,), are the probabilities of these alone.

    Returns
    -------
    ReliabilityTable

    {Raises}

    Notes
    -----
    The intervals are Clopper & Pearson's (1934), exact for bins of one value. In a bin of several values the frequencies of
    its samples differ, and the interval is about their average: wider where one label is 1 or one is 0 (fastbin, Theorem F11,
    after Hoeffding 1956). Importance-weighted bins get `fastbin.intervals.self_normalised_hoeffding`. They cover the truth
    behind the *test* samples, which must not have been used in the fit.

    For several classes ``ece()`` is `class_wise_ece` or `top_label_ece`. Predicted classes have rows of their own, so Sidak's
    level is that of all bins together. Otherwise the classes share rows, and each of k classes has alpha / k (Bonferroni), with
    Sidak within it. If the gaps of "confusion" are 0, whoever acts on the predicted class can take the predictions for its
    frequencies: decision calibration for that decision (Zhao, Kim, Sahoo, Ma & Ermon 2021, "Calibrating predictions to
    decisions").

    O(n log n) time, O(n) memory; k times that where classes share rows. A bin of continuous predictions stands for their mean,
    not for its middle (Gupta, Podkopaev & Ramdas 2020, Appendix D.4).

    Examples
    --------
    >>> table = reliability_table([0.2] * 9 + [0.8], [1, 0, 0, 0, 1, 0, 0, 1, 0, 1])
    >>> table.mean_predictions, table.counts, table.positive_rates.round(4)
    (array([0.2, 0.8]), array([9, 1]), array([0.3333, 1.    ]))
    >>> round(table.ece(), 4)
    0.14
    >>> P, classes = [[0.75, 0.25]] * 8 + [[0.25, 0.75]] * 4, ["cat", "dog"]
    >>> confusion = reliability_table(P, ["cat"] * 6 + ["dog"] * 6, multiclass="confusion", classes=classes)
    >>> [(row["class"], row["predicted"], row["mean_prediction"], row["positive_rate"]) for row in confusion]
    [('cat', 'cat', 0.75, 0.75), ('cat', 'dog', 0.25, 0.0), ('dog', 'cat', 0.25, 0.25), ('dog', 'dog', 0.75, 1.0)]
    """
    alpha = None if alpha is None else check_alpha(alpha)
    check_flag(simultaneous, "simultaneous")
    if multiclass is not None:
        multiclass = check_choice(multiclass, "multiclass", MULTICLASS)
        refuse_useless(multiclass, positive, classes, predicted, grouping)
        problems = list(problems_of(multiclass, predictions, labels, classes, predicted, sample_weight, grouping, n_bins))
        options = {"simultaneous": simultaneous, "weight_bound": weight_bound}
        return joined(multiclass, problems, n_bins, alpha, options)
    for name, given in (("classes", classes), ("predicted", predicted)):
        if given is not None:
            remedy = "with it, pass multiclass='top-label', or 'class-wise' or 'confusion' for a matrix"
            raise InputError("is given, and multiclass is not", remedy, argument=name)
    samples, groups = grouped_samples(predictions, labels, grouping, n_bins, sample_weight, positive)
    return table_of(samples, groups, n_bins, alpha=alpha, simultaneous=simultaneous, weight_bound=weight_bound)


def table_of(
    samples: Samples, groups: Groups, n_bins: int, *, alpha: float | None = None, simultaneous: bool = True,
    weight_bound: Any = None, level: float | None = None,
) -> ReliabilityTable:  # fmt: skip
    """The table of samples that are checked and in groups, of which `n_bins` were asked for. O(n).

    `level` is that of each interval where other tables share alpha.
    """
    weights, by_value = samples.row_weights, groups.values is not None
    totals, ones = groups.sums(samples.weights), groups.sums(weights * samples.labels)
    seen = totals > 0.0
    totals, ones, shares = totals[seen], ones[seen], totals[seen] / totals.sum()
    counts, label_sums = totals.astype(np.int64), ones.astype(np.int64)
    if samples.is_weighted:
        counts, label_sums = (groups.sums(terms)[seen].astype(np.int64) for terms in (None, samples.labels))
    lower, upper = _ends(samples, groups, seen)
    means = groups.values
    if means is None:
        means = groups.sums(samples.predictions * weights)[seen] / totals
        means = np.clip(means, lower, upper)  # a sum of doubles may leave the bin by its last bit
    intervals = None
    if alpha is not None and (not samples.is_weighted or weight_bound is not None):
        if level is None:
            level = sidak(alpha, len(counts)) if simultaneous else alpha
        if samples.is_weighted:
            intervals = self_normalised_hoeffding(ones, totals, counts, level, weight_bound)
        else:
            ends = clopper_pearson if by_value else ends_of_rows
            intervals = ends(label_sums, counts, level)
    return ReliabilityTable(
        grouping=groups.grouping,
        n_bins_asked=groups.n_bins if by_value else n_bins,
        n_samples=samples.n_samples,
        lower=lower,
        upper=upper,
        mean_predictions=means,
        positive_rates=ones / totals,
        counts=counts,
        label_sums=label_sums,
        masses=shares,
        intervals=intervals,
        alpha=alpha,
        simultaneous=simultaneous,
        is_weighted=samples.is_weighted,
        noise=_noise(samples, groups, totals) if max(groups.n_bins, len(totals)) <= MOST_BINS else None,
    )


def _ends(samples: Samples, groups: Groups, seen: Bools) -> tuple[Float64s, Float64s]:
    """Where the bins begin and end."""
    if groups.values is not None:
        return groups.values, groups.values
    if groups.grouping not in ("shared", "predicted"):
        return np.append(0.0, groups.edges)[seen], np.append(groups.edges, 1.0)[seen]
    least, most = np.ones(groups.n_bins), np.zeros(groups.n_bins)
    np.minimum.at(least, groups.bins, samples.predictions)
    np.maximum.at(most, groups.bins, samples.predictions)
    return least[seen], most[seen]


def _noise(samples: Samples, groups: Groups, totals: Float64s) -> Noise:
    """From which the chance level follows; `totals` are the weights of the groups that hold rows."""
    if samples.is_weighted:
        terms = samples.row_weights**2 * samples.predictions * (1.0 - samples.predictions)
        return Noise.of_weighted(totals, groups.sums(terms)[groups.sums() > 0.0])
    if groups.values is not None:
        return Noise.of_values(groups.values, totals)
    return Noise.of_rows(groups.bins, samples.predictions, samples.frequencies, groups.n_bins)


# ------------------------------------------------------------------------------------------------- several classes

MULTICLASS = ("class-wise", "top-label", "confusion")


class Problem(NamedTuple):
    """The binary problem of one class: its samples in their groups; of "confusion" the predicted class of each group."""

    key: Key
    samples: Samples
    groups: Groups
    predicted: tuple[Key, ...] | None = None


def refuse_useless(multiclass: str, positive: Any, classes: Any, predicted: Any, grouping: Any) -> None:
    """Refuse what is of no use with several classes, or with this choice among their problems."""
    if multiclass == "confusion" and grouping != "auto":
        remedy = "leave it out: the rows for which one class is predicted are a bin"
        raise InputError(f"is {grouping!r}, and multiclass is {multiclass!r}", remedy, argument="grouping", value=grouping)
    if positive is not None:
        remedy = "leave it out: every class is the event of a problem of its own"
        raise InputError(f"is {positive!r}, and multiclass is {multiclass!r}", remedy, argument="positive", value=positive)
    if predicted is None:
        return
    if multiclass != "top-label":
        remedy = "leave it out: the largest probability of a row says which class is predicted"
        raise InputError(f"is given, and multiclass is {multiclass!r}", remedy, argument="predicted")
    if classes is not None:
        remedy = "give predicted with the probabilities of these alone, or classes with a matrix"
        raise InputError("is given beside predicted", remedy, argument="classes")


def problems_of(
    multiclass: str, predictions: Any, labels: Any, classes: Any, predicted: Any, sample_weight: Any, grouping: str, n_bins: int
) -> Iterator[Problem]:
    """The binary problems of several classes, in the order of the columns; predicted classes as such in ascending order."""
    if predicted is not None:
        parts = top_label_parts(predictions, predicted, labels, sample_weight, "predictions")
    else:
        rows = ClassRows.of(predictions, labels, classes, sample_weight, sum_to_one=False, name="predictions")
        parts = rows.top_label() if multiclass == "top-label" else rows.class_wise()
    if multiclass != "confusion":
        yield from (Problem(key, samples, group_samples(samples, grouping, n_bins)) for key, samples in parts)
        return
    seen, bins = np.unique(rows.probabilities.argmax(axis=1), return_inverse=True)
    groups = Groups("predicted", bins.astype(np.int32), np.empty(len(seen) - 1), None)
    named = tuple(rows.classes[column] for column in seen.tolist())
    yield from (Problem(key, samples, groups, named) for key, samples in parts)


def joined(
    multiclass: str, problems: Sequence[Problem], n_bins: int, alpha: float | None, options: Mapping[str, Any]
) -> ReliabilityTable:
    """The tables of several classes, and all of their rows as one; `options` are those of `table_of`."""
    own_rows = multiclass == "top-label"
    sizes = [int(np.count_nonzero(problem.groups.sums())) for problem in problems]
    parts = {}
    for problem, size in zip(problems, sizes, strict=True):
        level = alpha
        if alpha is not None and options["simultaneous"]:
            level = sidak(alpha, sum(sizes)) if own_rows else sidak(bonferroni(alpha, len(problems)), size)
        asked = size if multiclass == "confusion" else n_bins
        table = table_of(problem.samples, problem.groups, asked, alpha=alpha, level=level, **options)
        parts[problem.key] = replace(table, predicted=problem.predicted)
    tables = list(parts.values())
    weights = np.array([problem.samples.row_weights.sum() for problem in problems])
    shares = weights / weights.sum()
    noises = [table.noise for table in tables if table.noise is not None]
    columns = ("lower", "upper", "mean_predictions", "positive_rates", "counts", "label_sums")
    groupings = {table.grouping for table in tables}
    return ReliabilityTable(
        grouping=groupings.pop() if len(groupings) == 1 else "mixed",
        n_bins_asked=sum(table.n_bins_asked for table in tables),
        n_samples=sum(table.n_samples for table in tables) if own_rows else tables[0].n_samples,
        **{name: np.concatenate([getattr(table, name) for table in tables]) for name in columns},
        masses=np.concatenate([share * table.masses for share, table in zip(shares.tolist(), tables, strict=True)]),
        intervals=_concatenated([table.intervals for table in tables]),
        alpha=alpha,
        simultaneous=tables[0].simultaneous,
        is_weighted=tables[0].is_weighted,
        noise=Noise.joined(noises, are_independent=own_rows)
        if len(noises) == len(tables) and sum(sizes) <= MOST_IN_ALL
        else None,
        multiclass=multiclass,
        parts=parts,
        predicted=None if problems[0].predicted is None else tuple(key for own in problems for key in own.predicted or ()),
    )


def _concatenated(intervals: Sequence[Float64s | None]) -> Float64s | None:
    """The intervals of all tables; all have some or none has."""
    given = [ends for ends in intervals if ends is not None]
    return np.concatenate(given) if given else None
