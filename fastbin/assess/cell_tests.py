"""Tests of calibration as functions of cells: numbers of ones, chi-square, z, logistic recalibration, ranks.

Each takes the cells of a scope and returns `Value`: plain numbers, or the reason why there are none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s, Int64s
from fastbin._base.shown import how_many
from fastbin.assess.label_sums import tails_of_ones
from fastbin.assess.prediction_cells import CellCounts
from fastbin.intervals.binomial import beta_quantile, exact_ends, halved, special_functions


class Value(NamedTuple):
    """A figure of a test. What is None is not defined, for the `reason`, or does not belong to this test."""

    statistic: float | None = None
    p_value: float | None = None
    low: float | None = None
    high: float | None = None
    df: int | None = None
    warning: str = ""
    reason: str = ""


# The normal law is taken for a sum of labels of at least this variance, a group of the chi-square test for one that expects so
# many of each label, and a fitted slope for one with so many rows of each label. docs/validation.md has the levels.
LEAST_VARIANCE, LEAST_EXPECTED, LEAST_LABELS = 10.0, 5.0, 10
MOST_STEPS, LONGEST_STEP = 400, 5.0  # of Newton's method, in logits; steps are halved where the likelihood falls


def both(upper: float, lower: float) -> float:
    """The p-value for either side from those of two."""
    return min(1.0, 2.0 * min(upper, lower))


def normal_p(z: float) -> float:
    """The chance of a standard normal number as far from 0 on either side."""
    return float(special_functions().erfc(abs(z) / math.sqrt(2.0)))


def deviate(level: float) -> float:
    """The standard normal number that is exceeded, on either side, with chance `level`."""
    return -float(special_functions().ndtri(level / 2.0))


def chi_square_p(statistic: float, df: int) -> float:
    """The chance of a chi-square number at least as large."""
    return float(special_functions().gammaincc(df / 2.0, statistic / 2.0))


# ------------------------------------------------------------------------------------------------- the number of ones


class Counts(NamedTuple):
    """The tests of the number of ones in a scope."""

    exact: Value
    upper: Value
    mid_p: Value


def count_tests(cells: CellCounts, level: float) -> Counts:
    """Exact tests of the number of ones, on either side and upwards, and the mid-p test."""
    tails, ones = tails_of_ones(cells), cells.n_ones
    low = high = None
    if len(cells.predictions) == 1:
        low, high = exact_ends(np.array([ones]), np.array([cells.n]), level)[0].tolist()
    middle = both((tails.at_least + tails.above) / 2.0, (tails.at_most + tails.below) / 2.0)
    statistic = float(ones)
    return Counts(
        Value(statistic, both(tails.at_least, tails.at_most), low, high),
        Value(statistic, tails.at_least),
        Value(statistic, middle, warning=_few(cells)),
    )


def jeffreys(cells: CellCounts, level: float) -> Value:
    """The chance that a rate with the law Beta(ones + 1/2, n - ones + 1/2) is at most the mean prediction, and its interval."""
    ones, n = cells.n_ones, cells.n
    shapes = np.array([ones + 0.5]), np.array([n - ones + 0.5])
    low, high = (float(beta_quantile(*shapes, level / 2.0, upper=upper)[0]) for upper in (False, True))
    below = float(special_functions().betainc(ones + 0.5, n - ones + 0.5, cells.mean))
    return Value(ones / n, below, low, high, warning=_few(cells))


def _few(cells: CellCounts) -> str:
    """Why the normal law, or another for large counts, is not yet near."""
    variance = cells.variance
    return "" if variance >= LEAST_VARIANCE else f"p (1 - p) adds up to {variance:.3g}, below {LEAST_VARIANCE:g}"


def mean_difference(cells: CellCounts, level: float) -> Value:
    """Rate minus mean prediction, by the normal law."""
    difference, variance = cells.n_ones - cells.expected, cells.variance
    if variance == 0.0:
        return Value(difference / cells.n, reason="every prediction is 0 or 1, so the number of ones has no variance")
    radius = deviate(level) * math.sqrt(variance) / cells.n
    centre = difference / cells.n
    p_value = normal_p(difference / math.sqrt(variance))
    return Value(centre, p_value, centre - radius, centre + radius, warning=_few(cells))


MOST_BUCKETS, NODES = 2000, 16
MEAN_GIVEN = "given the factor, the mean of different predictions stands for each; exact: by grades of one prediction"


def vasicek(cells: CellCounts, correlation: float) -> Value:
    """The chance of at least so many ones if latent variables share one normal factor, with this correlation.

    Given the factor, labels are independent and their number is taken as binomial at the mean of the frequencies then, which
    is exact for one prediction. The chance given the factor rises like a step where the mean passes the rate: panels of
    Gauss and Legendre's rule become narrow there.
    """
    special, ones, n = special_functions(), cells.n_ones, cells.n
    if correlation == 0.0 and len(cells.predictions) == 1:
        return Value(float(ones), tails_of_ones(cells).at_least)
    if ones == 0:
        return Value(0.0, 1.0)
    thresholds, masses = special.ndtri(cells.predictions), cells.counts / n
    if len(masses) > MOST_BUCKETS:  # neighbours have nearly the same curve
        first = np.unique(np.linspace(0, len(masses), MOST_BUCKETS, endpoint=False).astype(np.int64))
        sums = np.add.reduceat(masses, first)
        predictions = np.add.reduceat(masses * cells.predictions, first) / sums
        thresholds, masses = special.ndtri(np.minimum(predictions, 1.0)), sums
    load, rest = math.sqrt(correlation), math.sqrt(1.0 - correlation)

    def mean_given(factor: Float64s) -> Float64s:
        return np.asarray((masses * special.ndtr((thresholds + load * factor[:, np.newaxis]) / rest)).sum(axis=1))

    points, weights = _nodes(mean_given, (ones - 0.5) / n, n)
    chances = special.betainc(float(ones), n - ones + 1.0, np.clip(mean_given(points), 0.0, 1.0))
    density = np.exp(-0.5 * points**2) / math.sqrt(2.0 * math.pi)
    warning = "" if len(cells.predictions) == 1 else MEAN_GIVEN
    return Value(float(ones), min(1.0, float((weights * density * chances).sum())), warning=warning)


def _nodes(mean_given: Callable[[Float64s], Float64s], rate: float, n: int) -> tuple[Float64s, Float64s]:
    """Points and weights of the factor in [-10, 10], finest around the one at which the mean is the rate."""
    low, _ = halved(lambda factor: float(mean_given(np.array([factor]))[0]) < rate, -10.0, 10.0, 60)
    around = mean_given(np.array([low - 1e-4, low + 1e-4]))
    slope = float(around[1] - around[0]) / 2e-4
    width = min(1.0, math.sqrt(max(rate * (1.0 - rate), 0.25 / n) / n) / max(slope, 1e-12))
    reach = width * np.concatenate([[0.0, 1.0, 2.0, 3.0, 4.5, 6.0, 8.0, 10.0], 10.0 * 2.0 ** np.arange(1, 24)])
    ends = np.unique(np.clip(np.concatenate([np.arange(-10.0, 10.5, 0.5), low - reach, low + reach]), -10.0, 10.0))
    at, weight = np.polynomial.legendre.leggauss(NODES)
    halves, centres = np.diff(ends) / 2.0, (ends[1:] + ends[:-1]) / 2.0
    return (centres[:, np.newaxis] + halves[:, np.newaxis] * at).ravel(), (halves[:, np.newaxis] * weight).ravel()


# ------------------------------------------------------------------------------------------------- chi-square and z


def hosmer_lemeshow(counts: Int64s, ones: Int64s, expected: Float64s, fewest: int = 1) -> Value:
    """The chi-square statistic over groups; degrees of freedom as for rows to which nothing was fitted: the groups.

    A group whose predictions are all 0, or all 1, has no variance: it does not count where they were right, and where not,
    no number says how wrong.
    """
    variances = expected * (1.0 - expected / counts)
    differences = ones - expected
    certain = ~(variances > 0.0)
    if (certain & (differences != 0.0)).any():
        return Value(reason="all predictions of a group are exactly 0 or 1, and one was wrong")
    kept = ~certain
    df = int(kept.sum())
    if df < fewest:
        return Value(reason="every prediction is 0 or 1" if df == 0 else f"{df} group, and the test needs {fewest}")
    with np.errstate(over="ignore"):
        statistic = float((differences[kept] ** 2 / variances[kept]).sum())
    if math.isinf(statistic):
        return Value(reason="predictions are so close to 0 or 1 that the statistic overflows")
    small = int((np.minimum(expected, counts - expected)[kept] < LEAST_EXPECTED).sum())
    warning = f"fewer than {LEAST_EXPECTED:g} ones or zeros are expected in {small} of {how_many(df, 'group')}" if small else ""
    return Value(statistic, chi_square_p(statistic, df), df=df, warning=warning)


def deciles(cells: CellCounts) -> tuple[Int64s, Int64s, Float64s]:
    """Counts, ones and expected ones of the groups between the deciles of the predictions; equal ones stay together.

    A prediction equal to a decile lies below it, and deciles that are equal are one.
    """
    inner = np.unique(quantiles(cells.predictions, cells.counts, np.arange(1, 10) / 10))
    group = np.searchsorted(inner, cells.predictions, side="left")
    first = np.flatnonzero(np.diff(group, prepend=-1))
    columns = (cells.counts, cells.ones, cells.counts * cells.predictions)
    counts, ones, expected = (np.add.reduceat(column, first) for column in columns)
    return counts, ones, expected


def quantiles(values: Float64s, counts: Int64s, shares: Float64s) -> Float64s:
    """Quantiles of rows from ascending values and how many rows have each, as the default of R and NumPy interpolates."""
    reached = np.cumsum(counts)
    at = shares * (int(reached[-1]) - 1)
    at = np.where(np.isclose(at, np.rint(at), rtol=1e-14, atol=0.0), np.rint(at), at)  # .7 times 90 is a whole rank
    low = np.floor(at).astype(np.int64)
    places = (np.searchsorted(reached, ranks, side="right") for ranks in (low, low + 1))
    left, right = (values[np.minimum(place, len(values) - 1)] for place in places)
    return np.asarray(left + (at - low) * (right - left))


def spiegelhalter(cells: CellCounts) -> Value:
    """Spiegelhalter's z: whether the Brier score is the one to expect from calibrated predictions."""
    p, n = cells.predictions, cells.counts
    slack = 1.0 - 2.0 * p
    variance = float((n * slack**2 * p * (1.0 - p)).sum())
    if variance == 0.0:
        return Value(reason="every prediction is 0, 1/2 or 1, where the Brier score cannot differ from its expectation")
    z = float(((cells.ones - n * p) * slack).sum()) / math.sqrt(variance)
    warning = "" if variance >= LEAST_VARIANCE else f"(1 - 2p)^2 p (1 - p) adds up to {variance:.3g}, below {LEAST_VARIANCE:g}"
    return Value(z, normal_p(z), warning=warning)


# ------------------------------------------------------------------------------------------------- logistic recalibration


class Recalibration(NamedTuple):
    """Figures of the logistic regression of the labels on the logits of the predictions."""

    in_the_large: Value
    intercept: Value
    slope: Value
    cox: Value


def recalibration(cells: CellCounts, level: float) -> Recalibration:
    """Calibration in the large (slope 1), intercept and slope, and the likelihood ratio test of intercept 0 and slope 1."""
    reason = _why_no_logits(cells)
    if reason:
        return Recalibration(*[Value(reason=reason)] * 4)
    p, counts, ones = cells.predictions, cells.counts.astype(float), cells.ones.astype(float)
    logits = np.log(p) - np.log1p(-p)
    few = min(cells.n_ones, cells.n - cells.n_ones)
    warning = "" if few >= LEAST_LABELS else f"{how_many(few, 'row', 'has', 'have')} the rarer label, fewer than {LEAST_LABELS}"
    alone, _, variances = _fit(logits, counts, ones, np.ones((1, len(p))), logits)
    large = _wald(float(alone[0]), float(variances[0]), 0.0, level, warning)
    reason = _why_no_slope(cells, logits)
    if reason:
        return Recalibration(large, *[Value(reason=reason)] * 3)
    terms = np.stack([np.ones(len(p)), logits])
    (intercept, slope), likelihood, variances = _fit(logits, counts, ones, terms, np.zeros(len(p)))
    statistic = max(0.0, 2.0 * (likelihood - _likelihood(logits, counts, ones)))
    return Recalibration(
        large,
        _wald(float(intercept), float(variances[0]), 0.0, level, warning),
        _wald(float(slope), float(variances[1]), 1.0, level, warning),
        Value(statistic, chi_square_p(statistic, 2), df=2, warning=warning),
    )


def _why_no_logits(cells: CellCounts) -> str:
    if cells.predictions[0] == 0.0 or cells.predictions[-1] == 1.0:
        return "a prediction is exactly 0 or 1, and has no logit"
    if cells.n_ones in (0, cells.n):
        return f"every label is {int(cells.n_ones > 0)}, so no finite intercept is likeliest"
    return ""


def _why_no_slope(cells: CellCounts, logits: Float64s) -> str:
    """The likelihood has a greatest point where the labels overlap (Albert & Anderson 1984)."""
    if len(cells.predictions) == 1:
        return "all predictions are the same, and have no slope"
    of_ones, of_zeros = logits[cells.ones > 0], logits[cells.ones < cells.counts]
    if of_ones[0] >= of_zeros[-1] or of_zeros[0] >= of_ones[-1]:
        return "a prediction separates the labels, so no finite slope is likeliest"
    return ""


def _likelihood(logits: Float64s, counts: Float64s, ones: Float64s) -> float:
    """The logarithm of the likelihood: log(1 + e^x) without overflow."""
    return float((ones * logits - counts * np.logaddexp(0.0, logits)).sum())


def _fit(
    logits: Float64s, counts: Float64s, ones: Float64s, terms: Float64s, offset: Float64s
) -> tuple[Float64s, float, Float64s]:
    """Likeliest coefficients by Newton's method, their log-likelihood, and their variances from the information there.

    It starts at the predictions. Where they are far off, the information may vanish there: steps are bounded.
    """
    found = np.array([0.0, 1.0])[: len(terms)]
    at = offset + found @ terms
    value = _likelihood(at, counts, ones)
    for _ in range(MOST_STEPS):
        means = special_functions().expit(at)
        weights = np.maximum(counts * means * (1.0 - means), 1e-12 * counts)
        step = np.linalg.solve(_information(terms, weights), (terms * (ones - counts * means)).sum(axis=1))
        size = min(1.0, LONGEST_STEP / max(float(np.abs(step @ terms).max()), 1e-300))
        while True:
            new = offset + (found + size * step) @ terms
            reached = _likelihood(new, counts, ones)
            if reached >= value - 1e-12 * abs(value) or size < 1e-10:
                break
            size /= 2.0
        found, value, at = found + size * step, reached, new
        if size * np.abs(step).max() <= 1e-11 * (1.0 + np.abs(found).max()):
            break
    means = special_functions().expit(at)
    information = _information(terms, counts * means * (1.0 - means))
    try:
        variances = np.array([float(entry) for entry in np.linalg.inv(information).diagonal()])
    except np.linalg.LinAlgError:
        variances = np.full(len(terms), np.nan)
    return found, value, variances


def _information(terms: Float64s, weights: Float64s) -> Float64s:
    return np.array([[float((weights * left * right).sum()) for right in terms] for left in terms])


def _wald(estimate: float, variance: float, claim: float, level: float, warning: str) -> Value:
    if not 0.0 < variance < math.inf:
        return Value(reason="predictions are so close to 0 or 1 that the likelihood is flat")
    error = math.sqrt(variance)
    radius = deviate(level) * error
    return Value(estimate, normal_p((estimate - claim) / error), estimate - radius, estimate + radius, warning=warning)


# ------------------------------------------------------------------------------------------------- ranks


def auc(cells: CellCounts, level: float) -> Value:
    """The area under the ROC curve, with the interval of DeLong, DeLong & Clarke-Pearson (1988). O(cells)."""
    ones, zeros = cells.ones.astype(float), (cells.counts - cells.ones).astype(float)
    n_ones, n_zeros = float(ones.sum()), float(zeros.sum())
    if n_ones == 0.0 or n_zeros == 0.0:
        return Value(reason=f"every label is {int(n_ones > 0.0)}")
    of_ones = (np.cumsum(zeros) - 0.5 * zeros) / n_zeros
    of_zeros = (n_ones - np.cumsum(ones) + 0.5 * ones) / n_ones
    area = float((ones * of_ones).sum()) / n_ones
    few = int(min(n_ones, n_zeros))
    if few < 2:
        return Value(area, warning="one row alone has a label, so no variance and no interval is known")
    variance = _variance(of_ones, ones, area) / n_ones + _variance(of_zeros, zeros, area) / n_zeros
    radius = deviate(level) * math.sqrt(variance)
    warning = "" if few >= LEAST_LABELS else f"{how_many(few, 'row', 'has', 'have')} the rarer label, fewer than {LEAST_LABELS}"
    if variance == 0.0:
        warning = "the labels are separated, where the interval has no width"
    return Value(area, low=max(0.0, area - radius), high=min(1.0, area + radius), warning=warning)


def _variance(values: Float64s, counts: Float64s, mean: float) -> float:
    return float((counts * (values - mean) ** 2).sum()) / (float(counts.sum()) - 1.0)


def group_columns(grades: Sequence[CellCounts]) -> tuple[Int64s, Int64s, Float64s]:
    """Counts, ones and expected ones of grades."""
    counts, ones = (np.array([getattr(grade, name) for grade in grades]) for name in ("n", "n_ones"))
    return counts, ones, np.array([grade.expected for grade in grades])
