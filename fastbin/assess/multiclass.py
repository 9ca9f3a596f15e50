"""Numbers for predictions of several classes: of the class that is predicted, of one class against the rest, and of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s
from fastbin._base.cells import Key, as_cells, check_classes, check_matrix, default_classes, find_columns, in_one_code
from fastbin._base.checks import check_same_length, check_sample_weight
from fastbin._base.docstrings import shared_docs
from fastbin._base.frames import check_same_index
from fastbin.assess.samples import N_BINS, Samples, check_samples, group_samples, rows_of_each, rows_that_count


def top_label_ece(
    probabilities: Any,
    predicted: Any,
    labels: Any,
    *,
    grouping: str = "auto",
    n_bins: int = N_BINS,
    sample_weight: Any = None,
) -> float:
    """The top-label calibration error: is a prediction right as often as it says, whatever class it names?

    The mean over the predicted classes c, weighted by their shares of the samples, of the l_1 calibration error of "c is
    right" among the samples for which c is predicted (Gupta & Ramdas 2022, "Top-label calibration and multiclass-to-binary
    reductions", equation (4)). Confidence calibration, which pools all classes, can be perfect where this is not; it is
    ``ece(probabilities, predicted == labels)``.

    Parameters
    ----------
    probabilities : array-like of shape (n,)
        In [0, 1]: with which probability the predicted class is said to be right.
    predicted : array-like of shape (n,)
        The predicted classes, integers or text.
    labels : array-like of shape (n,)
        The true classes, of the same kind; they need not be among the predicted ones.
    grouping : {"auto", "values", "uniform-mass", "fixed-width"}
        How the samples of a predicted class are divided, as in `reliability_table`: the same rule for every error of this
        library. The authors' code takes single values from ten samples a value on, where most of the error can be noise.
    n_bins : int
        Where it takes bins; not more than there are samples of the class.
    sample_weight : array-like of shape (n,), optional
        Integers are frequencies, the same as repeating the row. Floats are importance weights. Rows of weight zero do not
        count.

    Returns
    -------
    float in [0, 1]

    Raises
    ------
    InputError, InputTypeError
        Naming the argument, the first bad position, its value and the remedy; also for empty input.

    Notes
    -----
    Biased upwards by the noise of the rates, the more the more bins there are in all:
    ``reliability_table(probabilities, labels, multiclass="top-label", predicted=predicted).chance_level`` says how large it is
    for calibrated predictions. Compare predictors on the same samples. O(n log n) time, O(n) memory.

    Examples
    --------
    >>> probabilities, predicted = [0.75] * 40 + [0.5] * 20, ["cat"] * 40 + ["dog"] * 20
    >>> labels = ["cat"] * 30 + ["dog"] * 10 + ["dog"] * 16 + ["cat"] * 4
    >>> round(top_label_ece(probabilities, predicted, labels), 6)             # cats 0, dogs .3
    0.1
    """
    total = weight = 0.0
    for _, part in top_label_parts(probabilities, predicted, labels, sample_weight):
        own = float(part.row_weights.sum())
        total += own * _l1_error(part, grouping, n_bins)
        weight += own
    return total / weight


def top_label_parts(
    probabilities: Any, predicted: Any, labels: Any, sample_weight: Any, name: str = "probabilities"
) -> Iterator[tuple[Key, Samples]]:
    """Each class that is predicted, ascending, with its rows as samples of "the prediction is right". O(n log n)."""
    check_same_index(**{name: probabilities}, predicted=predicted, labels=labels, sample_weight=sample_weight)
    columns = {"predicted": as_cells(predicted, "predicted"), "labels": as_cells(labels, "labels")}
    keys, (named, true) = in_one_code(**columns)
    check_same_length(predicted=named, labels=true)
    samples = check_samples(probabilities, named == true, sample_weight, name=name)
    if sample_weight is not None:
        named = named[np.asarray(sample_weight) > 0]
    for rows in rows_of_each(named):
        yield keys[named[rows[0]]], samples.take(rows)


def _l1_error(samples: Samples, grouping: str, n_bins: int) -> float:
    """The plug-in l_1 calibration error of one class."""
    bins = group_samples(samples, grouping, n_bins).bins
    gaps = np.bincount(bins, samples.row_weights * (samples.predictions - samples.labels))
    return float(np.abs(gaps).sum() / samples.row_weights.sum())


class ClassRows(NamedTuple):
    """Checked rows of a matrix, without those of weight zero."""

    probabilities: Float64s
    columns: Int64s
    weights: Array | None
    classes: Sequence[Key]

    @classmethod
    def of(
        cls, probabilities: Any, labels: Any, classes: Any, sample_weight: Any, *, sum_to_one: bool, name: str = "probabilities"
    ) -> ClassRows:
        """The rows of a matrix that is called `name` in messages."""
        check_same_index(**{name: probabilities}, labels=labels, sample_weight=sample_weight)
        matrix = check_matrix(probabilities, name=name, sum_to_one=sum_to_one)
        weights = check_sample_weight(sample_weight)
        n_columns = matrix.shape[1]
        known = default_classes(labels, n_columns) if classes is None else check_classes(classes, n_columns)
        columns = find_columns(labels, known, "labels")
        check_same_length(**{name: matrix}, labels=columns, sample_weight=weights)
        kept = rows_that_count(columns, weights)
        return cls(matrix[kept], columns[kept], None if weights is None else weights[kept], known)

    def class_wise(self) -> Iterator[tuple[Key, Samples]]:
        """Each class with its column as predictions of "the class is this one"."""
        for column, key in enumerate(self.classes):
            predictions = np.ascontiguousarray(self.probabilities[:, column])
            yield key, Samples(predictions, (self.columns == column).view(np.uint8), self.weights)

    def top_label(self) -> Iterator[tuple[Key, Samples]]:
        """Each class that is predicted with its rows, as `top_label_parts` gives them; of equal probabilities the first."""
        named = self.probabilities.argmax(axis=1)
        samples = Samples(self.probabilities.max(axis=1), (self.columns == named).view(np.uint8), self.weights)
        for rows in rows_of_each(named):
            yield self.classes[named[rows[0]]], samples.take(rows)

    def mean(self, terms: Float64s) -> float:
        """The weighted mean of one term per row."""
        return float(np.average(terms, weights=self.weights))


@shared_docs(top_label_ece.__doc__)
def class_wise_ece(
    probabilities: Any,
    labels: Any,
    classes: Sequence[int] | Sequence[str] | None = None,
    *,
    grouping: str = "auto",
    n_bins: int = N_BINS,
    sample_weight: Any = None,
) -> float:
    """The class-wise calibration error: the mean over all classes of the binary error of the class's own column.

    Of each class the l_1 calibration error of its column of probabilities as a prediction of "the class is this one" (Gupta &
    Ramdas 2022, equation (10), after Kull et al. 2019); all classes count alike, however rare.

    Parameters
    ----------
    probabilities : array-like of shape (n, k)
        In [0, 1], a column for each class. Rows need not add up to 1.
    labels : array-like of shape (n,)
        The true classes: integers from 0 to k - 1, or those of `classes`.
    classes : sequence of k int or str, optional
        Which class each column stands for.
    grouping : {"auto", "values", "uniform-mass", "fixed-width"}
        How the samples are divided in each column, as in `top_label_ece`.
    n_bins : int
        Where it takes bins.
    {sample_weight}

    Returns
    -------
    float in [0, 1]

    {Raises}

    Notes
    -----
    Of many classes most columns are near 0 throughout, so the mean is small: not to be compared between data sets. Biased
    upwards by the noise of the rates: ``reliability_table(probabilities, labels, multiclass="class-wise").chance_level`` says
    how large it is for calibrated predictions. O(k n log n) time, O(n k) memory.

    Examples
    --------
    >>> class_wise_ece([[0.5, 0.25, 0.25]] * 40, [0] * 20 + [1] * 20)         # errors 0, .25 and .25
    0.16666666666666666
    """
    rows = ClassRows.of(probabilities, labels, classes, sample_weight, sum_to_one=False)
    return float(np.mean([_l1_error(samples, grouping, n_bins) for _, samples in rows.class_wise()]))


@shared_docs(class_wise_ece.__doc__)
def multiclass_brier(
    probabilities: Any, labels: Any, classes: Sequence[int] | Sequence[str] | None = None, *, sample_weight: Any = None
) -> float:
    """The mean over samples of the squared distance of the probabilities from the truth, summed over classes (Brier 1950).

    The truth is 1 in the column of the sample's class and 0 in the others. For two classes it is twice `brier_score`.

    Parameters
    ----------
    {probabilities}
    {labels}
    {classes}
    {sample_weight}

    Returns
    -------
    float, at least 0; at most 2 for rows that add up to 1

    {Raises}

    Examples
    --------
    >>> round(multiclass_brier([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]], [0, 1]), 6)
    0.22
    """
    rows = ClassRows.of(probabilities, labels, classes, sample_weight, sum_to_one=False)
    distances = (rows.probabilities**2).sum(axis=1) - 2.0 * _of_truth(rows) + 1.0
    return max(0.0, rows.mean(distances))


@shared_docs(class_wise_ece.__doc__)
def multiclass_log_loss(
    probabilities: Any, labels: Any, classes: Sequence[int] | Sequence[str] | None = None, *, sample_weight: Any = None
) -> float:
    """The mean of -ln(probability of the sample's class), in nats.

    Parameters
    ----------
    probabilities : array-like of shape (n, k)
        In [0, 1], a column for each class. Rows add up to 1, within 1e-6 (float32 within 1e-4): otherwise all columns 1 would
        be best.
    {labels}
    {classes}
    {sample_weight}

    Returns
    -------
    float in [0, inf]
        Infinite where a class of probability 0 occurred. Nothing is clipped: `multiclass_brier` is finite for every predictor.

    {Raises}

    Examples
    --------
    >>> round(multiclass_log_loss([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]], [0, 1]), 6)
    0.458145
    """
    rows = ClassRows.of(probabilities, labels, classes, sample_weight, sum_to_one=True)
    with np.errstate(divide="ignore"):
        losses = -np.log(_of_truth(rows))
    return rows.mean(losses) + 0.0  # no negative zero


def _of_truth(rows: ClassRows) -> Float64s:
    """The probability of each sample's own class."""
    return np.take_along_axis(rows.probabilities, rows.columns[:, None], axis=1)[:, 0]
