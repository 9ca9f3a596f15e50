"""Test samples, checked, the groups of predictions that a diagnostic averages over, and the error that chance brings there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastbin._base.array_types import Array, Float64s, Int64s
from fastbin._base.checks import (
    check_choice,
    check_count,
    check_labels,
    check_same_length,
    check_sample_weight,
    check_scores,
    refuse_first,
)
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError
from fastbin._base.frames import check_same_index
from fastbin._base.ranks import boundary_ranks
from fastbin._fit.rows import Rows, RowsSource
from fastbin.model import BinnedModel

COUNTS_ONLY = "samples with real weights are not counted, so no exact test exists; give integers if the weights are frequencies"

# The one rule of "auto": single values are bins where they are few and each has rows enough to say something.
MOST_VALUES, LEAST_ROWS, N_BINS = 100, 50, 15


@dataclass(frozen=True)
class Samples:
    """Checked rows.

    `weights` is int64 for frequencies, float64 for importance weights, None where every row counts once.
    """

    predictions: Float64s
    labels: npt.NDArray[np.uint8]
    weights: Array | None

    @property
    def is_weighted(self) -> bool:
        """Whether the weights are importance weights, so that no count is binomial."""
        return self.weights is not None and self.weights.dtype == np.float64

    @property
    def frequencies(self) -> Int64s | None:
        """How often each row stands, or None for once."""
        return None if self.is_weighted else self.weights

    @property
    def n_samples(self) -> int:
        """Rows, repetitions included."""
        return len(self.labels) if self.frequencies is None else int(self.frequencies.sum())

    @property
    def row_weights(self) -> Float64s:
        """The weights as doubles, 1 where there are none."""
        return np.ones(len(self.labels)) if self.weights is None else self.weights.astype(np.float64, copy=False)

    def take(self, rows: Any) -> Samples:
        """Some of the rows, by number or mask."""
        return Samples(self.predictions[rows], self.labels[rows], None if self.weights is None else self.weights[rows])

    def mean(self, terms: Float64s) -> float:
        """The weighted mean over all rows."""
        return float(np.average(terms, weights=self.weights))


def check_samples(
    predictions: Any, labels: Any, sample_weight: Any = None, *, positive: Any = None, need_probabilities: bool = True,
    name: str = "predictions", labels_name: str = "labels",
) -> Samples:  # fmt: skip
    """The samples to assess, without the rows of weight zero. O(n).

    Parameters
    ----------
    predictions : array-like of shape (n,)
        Probabilities in [0, 1], of any predictor. NaN is refused.
    labels : array-like of shape (n,)
        bool, or numbers that equal 0 or 1.
    sample_weight : array-like of shape (n,), optional
        Integers are frequencies, the same as repeating the row. Floats are importance weights. Rows of weight zero do not
        count.
    positive : optional
        The label that counts as 1, where labels are two values other than 0 and 1, such as "yes".
    need_probabilities : bool
        Whether predictions must lie in [0, 1], and not just be finite, as where only their order counts.
    name : str
        Of the argument that holds the predictions, for messages.
    labels_name : str
        Of that which holds the labels.

    Raises
    ------
    InputError, InputTypeError
        Naming the argument, the first bad position, its value and the remedy; also for empty input.
    """
    check_same_index(**{name: predictions, labels_name: labels}, sample_weight=sample_weight)
    checked = check_scores(predictions, None, name).astype(np.float64, copy=False)
    if need_probabilities:
        remedy = "pass probabilities, as those of predict; divide percentages by 100"
        bad = (checked < 0.0) | (checked > 1.0)
        refuse_first(bad, name, checked, remedy, lambda i: f"is {float(checked[i])!r}, outside [0, 1]")
    ones, weights = check_labels(labels, labels_name, positive=positive), check_sample_weight(sample_weight)
    check_same_length(**{name: checked}, **{labels_name: ones}, sample_weight=weights)
    kept = rows_that_count(ones, weights)
    return Samples(checked[kept], ones[kept], None if weights is None else weights[kept])


def rows_that_count(rows: Array, weights: Array | None) -> Any:
    """The rows of positive weight, as an index; InputError where none is left."""
    kept = slice(None) if weights is None or (weights > 0).all() else weights > 0
    if len(rows[kept]) == 0:
        raise InputError(f"no sample{'' if weights is None else ' of positive weight'} to assess was given")
    return kept


def rows_of_each(codes: Array) -> Iterator[Int64s]:
    """The rows of each code that occurs, in ascending order of the codes. O(n log n)."""
    order = np.argsort(codes, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if len(codes) else ()


@dataclass(frozen=True)
class Groups:
    """Which rows are averaged together.

    `bins` numbers the group of each row; `values` holds the prediction of each group where the grouping is by value, else None.
    Groups without a row exist only for fixed-width bins. Groups that another predictor defines are "shared", and those of the
    rows for which one class is predicted "predicted".
    """

    grouping: str
    bins: npt.NDArray[np.int32]
    edges: Float64s
    values: Float64s | None

    @property
    def n_bins(self) -> int:
        return len(self.edges) + 1

    def shared(self) -> Groups:
        """The same groups of rows, for another predictor."""
        return Groups("shared", self.bins, self.edges, None)

    def sums(self, terms: Any = None) -> Float64s:
        """The sum of `terms` (1 each for None) over each group."""
        return np.bincount(self.bins, terms, self.n_bins).astype(np.float64, copy=False)


def group_samples(samples: Samples, grouping: str, n_bins: int) -> Groups:
    """Groups of equal predictions, of equal mass or of equal width; "auto" decides as `grouped_samples` says. O(n log n)."""
    grouping = check_choice(grouping, "grouping", ("auto", "values", "uniform-mass", "fixed-width"))
    n_bins = check_count(n_bins, "n_bins", maximum=2**24)
    values = None
    if grouping in ("auto", "values"):
        values = np.unique(samples.predictions)
        if grouping == "auto" and not _say_something(samples, values):
            values = None
    if values is not None:
        grouping, edges = "values", values[1:]
    elif grouping == "fixed-width":
        edges = np.arange(1, n_bins) / n_bins
    else:
        grouping, n_cells = "uniform-mass", min(n_bins, samples.n_samples)
        # At ranks ceil(b n / n_cells) + 1 untied bins differ by one sample at most.
        rows = Rows(samples.predictions, samples.labels, samples.frequencies, None)
        cuts = RowsSource(rows).find(lambda n: boundary_ranks(n, n_cells, "ums") + 1, n_cells - 1)
        edges = np.unique(cuts.score)
        edges = edges[edges > samples.predictions.min()]
    # The library's own search takes a twentieth of the time of np.searchsorted.
    step = BinnedModel.from_parts(edges=edges, values=np.zeros(len(edges) + 1), score_range=None)
    return Groups(grouping, np.asarray(step.assign(samples.predictions)), edges, values)


def _say_something(samples: Samples, values: Float64s) -> bool:
    """Whether single values are few, and each has rows enough, for their rates to be more than noise."""
    if len(values) > MOST_VALUES:
        return False
    rows = np.bincount(np.searchsorted(values, samples.predictions), samples.frequencies)
    return bool(rows.min() >= LEAST_ROWS)


@shared_docs(check_samples.__doc__)
def grouped_samples(
    predictions: Any, labels: Any, grouping: str, n_bins: int, sample_weight: Any, positive: Any
) -> tuple[Samples, Groups]:
    """The samples to assess, and their groups. O(n log n).

    Parameters
    ----------
    {predictions}
    {labels}
    grouping : {"auto", "values", "uniform-mass", "fixed-width"}
        "values": equal predictions form a bin, which is what calibration is about (Gupta & Ramdas 2021, Definition 2).
        "uniform-mass": bins of equal counts, whatever importance weights are. "fixed-width": bins of width 1 / n_bins. A
        prediction equal to an edge lies above it, so tied predictions share a bin, and there can be fewer bins than asked for.
        "auto": "values" where there are at most 100 distinct predictions and each has at least 50 samples; else "uniform-mass".
    n_bins : int
        Of "uniform-mass" and "fixed-width".
    {sample_weight}
    {positive}

    {Raises}
    """
    samples = check_samples(predictions, labels, sample_weight, positive=positive)
    return samples, group_samples(samples, grouping, n_bins)


# ------------------------------------------------------------------------------------------------- the chance level

# Given the predictions p of a bin, the label sum of a calibrated predictor is a sum of independent Bernoulli(p) variables. Its
# law is computed where its variance is at most LARGEST_EXACT, from the characteristic function; above, the normal law is used,
# which gives E|sum - mean| within 0.2 %. Predictions of a bin are first averaged in cells of equal width on the scale
# asin(sqrt(p)): the variance of a sum then changes by less than 1e-5 of itself, and its mean not at all.

MOST_BINS = 1000  # of more, no points are drawn, and the level of one class is not computed
MOST_IN_ALL = 5000  # bins of all classes, some seconds; of more, the level is not computed
LARGEST_EXACT = 100.0  # variance of a label sum
WINDOW = 256  # sums around the mean whose chances are computed: at least 12 standard deviations on each side
N_CELLS = 512
N_DRAWS, SEED = 10_000, 0  # of the simulation that gives the points
ROUNDING = 1e-9


class ChanceLevel(NamedTuple):
    """The errors that a perfectly calibrated predictor would show in the same bins; part of a `ReliabilityTable`.

    Attributes
    ----------
    ece, ece_95 : float
        The expectation of the l_1 calibration error, and its 95 % point, which about one test set of twenty exceeds, or fewer.
    max_gap, max_gap_95 : float
        The same of the largest gap of a bin.

    All but `ece` are NaN where the classes of a table share rows, so that their label sums are dependent, and where a table of
    several classes has more than 1,000 bins.
    """

    ece: float
    ece_95: float
    max_gap: float
    max_gap_95: float


class Noise(NamedTuple):
    """The label sums of bins as far as they are known if the predictions are calibrated: rows by bin and cell of predictions.

    Importance weights come without cells, and `variances` are those of the weighted sums. Expectations add up also where
    the sums are dependent; points do not.
    """

    weights: Float64s  # of each bin
    variances: Float64s  # of the label sum of each bin
    first: Int64s  # the first cell of each bin, and the number of cells
    counts: Float64s  # of each cell
    means: Float64s
    are_independent: bool = True

    @classmethod
    def of_values(cls, values: Float64s, counts: Float64s) -> Noise:
        """Bins with one prediction each."""
        return cls(counts, counts * values * (1.0 - values), np.arange(len(counts) + 1), counts, values)

    @classmethod
    def of_rows(cls, bins: Array, predictions: Float64s, frequencies: Int64s | None, n_bins: int) -> Noise:
        """Bins of rows. O(n)."""
        codes = np.minimum((np.arcsin(np.sqrt(predictions)) * (N_CELLS / (np.pi / 2.0))).astype(np.int32), N_CELLS - 1)
        codes += np.asarray(bins, np.int32) * np.int32(N_CELLS)
        counts = np.bincount(codes, frequencies, n_bins * N_CELLS).astype(np.float64, copy=False)
        sums = np.bincount(codes, predictions if frequencies is None else predictions * frequencies, n_bins * N_CELLS)
        seen = np.flatnonzero(counts)
        counts, sums, owners = counts[seen], sums[seen], seen // N_CELLS
        first = np.append(np.flatnonzero(np.diff(owners, prepend=-1)), len(seen))
        means = np.minimum(sums / counts, 1.0)
        weights, variances = (np.add.reduceat(terms, first[:-1]) for terms in (counts, counts * means * (1.0 - means)))
        return cls(weights, variances, first, counts, means)

    @classmethod
    def of_weighted(cls, weights: Float64s, variances: Float64s) -> Noise:
        """Bins with importance weights: the sums are taken as normal."""
        nothing = np.empty(0)
        return cls(weights, variances, np.zeros(len(weights) + 1, np.int64), nothing, nothing)

    @classmethod
    def joined(cls, parts: Sequence[Noise], *, are_independent: bool) -> Noise:
        """The bins of several tables as those of one."""
        starts = np.cumsum([0, *(part.first[-1] for part in parts)])
        moved = [part.first[:-1] + start for part, start in zip(parts, starts[:-1].tolist(), strict=True)]
        first = np.append(np.concatenate(moved), starts[-1])
        weights, variances, counts, means = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("weights", "variances", "counts", "means")
        )
        return cls(weights, variances, first, counts, means, are_independent)

    def level(self) -> ChanceLevel:
        """The chance level: the expected error from the laws, the rest from 10,000 draws of all label sums, at a fixed seed."""
        generator = np.random.Generator(np.random.PCG64(SEED))
        has_points = self.are_independent and len(self.weights) <= MOST_BINS
        n_draws = N_DRAWS if has_points else 0
        errors, largest, expected = np.zeros(n_draws), np.zeros(n_draws), 0.0
        columns = (self.weights, self.variances, self.first[:-1], self.first[1:])
        for weight, variance, start, end in zip(*(column.tolist() for column in columns), strict=True):
            if variance > LARGEST_EXACT or start == end:
                distances = np.abs(generator.standard_normal(n_draws)) * np.sqrt(variance)
                expected += float(np.sqrt(2.0 * variance / np.pi))
            else:
                chances, deviations = law_of_sum(self.counts[start:end], self.means[start:end])
                reached = np.cumsum(chances)
                drawn = np.searchsorted(reached, generator.random(n_draws) * reached[-1], side="right")
                distances = np.abs(deviations)[drawn]
                expected += float(np.dot(chances, np.abs(deviations)))
            errors += distances
            np.maximum(largest, distances / weight, out=largest)
        total = float(self.weights.sum())
        if not has_points:
            return ChanceLevel(expected / total, np.nan, np.nan, np.nan)
        # An error that equals a point, and was added up in another order, does not exceed it.
        points = (1.0 + ROUNDING) * np.quantile([errors / total, largest], 0.95, axis=1)
        return ChanceLevel(expected / total, float(points[0]), float(largest.mean()), float(points[1]))


def law_of_sum(counts: Float64s, frequencies: Float64s) -> tuple[Float64s, Float64s]:
    """The chances of the values of a sum of independent binomials, and how far each is from the mean.

    The variance is at most `LARGEST_EXACT`. By Fourier inversion of the characteristic function, in a window outside of which
    less than 1e-18 lies.
    """
    mean = float(np.dot(counts, frequencies))
    least = np.floor(mean) - WINDOW // 2
    angles = 2.0 * np.pi / WINDOW * np.arange(WINDOW // 2 + 1)
    factors = (1.0 + np.multiply.outer(frequencies, np.exp(1j * angles) - 1.0)) ** counts[:, np.newaxis]
    chances = np.fft.irfft(np.conj(factors.prod(axis=0) * np.exp(-1j * angles * least)), WINDOW)
    return np.maximum(chances, 0.0), least + np.arange(WINDOW) - mean
