"""Intervals for the frequency of label 1 in a bin whose count is fixed: label sum ~ Binomial(count, frequency).

And the level of each of several bins, by which they share one failure probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Bools, Float64s, Int64s
from fastbin._base.checks import check_choice, check_count, check_level, refuse_first
from fastbin._base.dependencies import needed_for
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError, InputTypeError

# Which ends an interval has. Each end of one with both misses with half of its failure probability; a single one has all of it.
SIDES = ("both", "upper", "lower")


def check_side(side: Any) -> str:
    """The name of a side."""
    return check_choice(side, "side", SIDES)


def tails_of(levels: Float64s | float, side: str) -> Any:
    """The probability with which each end of an interval may miss."""
    return np.asarray(levels) / (2.0 if side == "both" else 1.0)


def opened(ends: Float64s, side: str) -> Float64s:
    """The intervals (..., 2) with the end of this side alone: the other is that of the scale, 0 or 1."""
    if side == "upper":
        return np.stack([np.zeros(ends.shape[:-1]), ends[..., 1]], axis=-1)
    return ends if side == "both" else np.stack([ends[..., 0], np.ones(ends.shape[:-1])], axis=-1)


def clopper_pearson(label_sums: Any, counts: Any, alpha: float, *, side: str = "both") -> Float64s:
    """The exact binomial interval of Clopper and Pearson (1934).

    The interval of all frequencies that neither one-sided binomial test rejects at level alpha / 2. It covers with
    probability at least 1 - alpha for every count and every frequency. Labels must be 0 or 1. It is not valid for bins whose
    edges were chosen by looking at the labels, nor for importance-weighted samples.

    Parameters
    ----------
    label_sums : array of int, shape (n_bins,)
        Samples with label 1 in each bin, between 0 and the count.
    counts : array of int, shape (n_bins,)
        Samples in each bin. A bin with none gets [0, 1].
    alpha : float
        Failure probability of each bin, from 1e-110 to 1/2.
    side : {"both", "upper", "lower"}
        With "upper" the frequency exceeds the upper end with probability at most alpha, and the lower end is 0; with "lower" it
        is below the lower end so seldom, and the upper end is 1 (docs/guarantees.md, Theorem F28).

    Returns
    -------
    ndarray of float64, shape (n_bins, 2)
        Lower and upper ends in [0, 1]; exactly 0 at a label sum of 0, exactly 1 at a full one.

    Raises
    ------
    InputError, InputTypeError
        When a label sum is negative or above its count, a count is above 2**53, lengths differ, or a type is wrong.

    Notes
    -----
    The ends are quantiles of Beta(x, n - x + 1) at alpha/2 and Beta(x + 1, n - x) at 1 - alpha/2, checked: the tail beyond an
    end is alpha / 2 up to a millionth of it, or the end is the next double outwards. O(n_bins) time and memory.

    Examples
    --------
    >>> clopper_pearson([3, 0], [10, 10], alpha=0.05).round(4)
    array([[0.0667, 0.6525],
           [0.    , 0.3085]])
    >>> clopper_pearson([3, 0], [10, 10], alpha=0.05, side="upper").round(4)
    array([[0.    , 0.6066],
           [0.    , 0.2589]])
    """
    sums, sizes, *_ = as_tally(label_sums, counts)
    return exact_ends(sums, sizes, check_level(alpha), check_side(side))


def exact_ends(sums: Int64s, sizes: Int64s, levels: Float64s | float, side: str = "both") -> Float64s:
    """`clopper_pearson` of checked arguments; a failure probability for all bins, or one for each."""
    tails = tails_of(levels, side)
    # The rarer label decides: its ends are the smaller numbers, with digits to spare. The others mirror them.
    rarer = np.minimum(sums, sizes - sums).astype(np.float64)
    lower = np.where(rarer > 0, beta_quantile(np.maximum(rarer, 1.0), sizes - rarer + 1.0, tails, upper=False), 0.0)
    upper = np.where(rarer < sizes, beta_quantile(rarer + 1.0, np.maximum(sizes - rarer, 1.0), tails, upper=True), 1.0)
    mirrored = sums > rarer
    ends = np.stack(
        [np.where(mirrored, _complement(upper, 0.0), lower), np.where(mirrored, _complement(lower, 1.0), upper)], axis=1
    )
    return opened(ends, side)


# Larger tails are not proved for sums of labels of different probabilities (fastbin, Theorem F11).
LARGEST_TAIL_OF_ROWS = 0.25


def ends_of_rows(ones: Int64s, counts: Int64s, level: float, side: str = "both") -> Float64s:
    """float64 (n_bins, 2): the interval of the average of probabilities of independent labels, missed with `level` at most.

    That of Clopper and Pearson, but for a lower end at one label 1, and an upper end at one label 0, of the tail / counts
    from the end of the scale.
    """
    tails = np.minimum(tails_of(level, side), LARGEST_TAIL_OF_ROWS)
    ends = exact_ends(ones, counts, 2.0 * tails)
    least = tails / np.maximum(counts, 1)
    lower = np.where(ones == 1, np.minimum(ends[:, 0], least), ends[:, 0])
    upper = np.where(ones == counts - 1, np.maximum(ends[:, 1], 1.0 - least), ends[:, 1])
    return opened(np.stack([lower, upper], axis=1), side)


def truncated_ends(sums: Int64s, sizes: Int64s, least: Int64s, levels: Float64s | float) -> Float64s:
    """float64 (n, 2): the interval of q for sums of Binomial(sizes, q) on the condition of at least `least`, from 1 on.

    What is left of the law in the tails beyond its ends is levels / 2 at most. The ratio of such laws rises with the sum, so
    that their tails rise with q.
    """
    tails, past = np.broadcast_to(np.asarray(levels) / 2.0, sums.shape), np.minimum(sums + 1, sizes)
    of = special_functions()

    def tail(counts: Int64s, q: Float64s, at: Int64s) -> tuple[Float64s, Float64s]:
        """P(at least so many), and its derivative in q."""
        a, b = counts[at], sizes[at] - counts[at] + 1.0
        return of.betainc(a, b, q), np.exp(of.xlogy(a - 1.0, q) + of.xlog1py(b - 1.0, -q) - of.betaln(a, b))

    def above(q: Float64s, at: Int64s) -> tuple[Float64s, Float64s]:
        (chance, slope), (all_chance, all_slope) = tail(sums, q, at), tail(least, q, at)
        return np.log(chance / all_chance / tails[at]), slope / chance - all_slope / all_chance

    def below(q: Float64s, at: Int64s) -> tuple[Float64s, Float64s]:
        slope, (all_chance, all_slope) = tail(past, q, at)[1], tail(least, q, at)
        fewer = [of.betaincc(counts[at], sizes[at] - counts[at] + 1.0, q) for counts in (past, least)]
        chance = fewer[0] - fewer[1]
        return np.log(tails[at] * all_chance / chance), all_slope / all_chance - (all_slope - slope) / chance

    # The excess over `least` is at most geometric: its odds are those of q times (sizes - least) / (least + 1).
    excess, shares, usual = sums - least, sums / sizes, exact_ends(sums, sizes, levels)
    odds = (least + 1.0) * np.where(excess > 0, tails, 0.0) ** (1.0 / np.maximum(excess, 1))
    surely_below = odds / np.maximum(sizes - least + odds, 1.0)
    lower, upper = np.zeros(shares.shape), np.ones(shares.shape)
    places = np.flatnonzero(excess > 0)
    found = _newton(above, places, surely_below[places], shares[places], usual[places, 0], upper=False)
    lower[places] = np.where(tail(least, found, places)[0] >= _LEAST_TAIL, found, surely_below[places])
    places = np.flatnonzero(sums < sizes)
    upper[places] = _newton(below, places, shares[places], np.ones(len(places)), usual[places, 1], upper=True)
    return np.stack([lower, upper], axis=1)


def _newton(
    rising: Callable[[Float64s, Int64s], tuple[Float64s, Float64s]], places: Int64s, low: Float64s, high: Float64s,
    points: Float64s, *, upper: bool,
) -> Float64s:  # fmt: skip
    """Points beside the roots in these brackets, above them where `upper`; `rising` gives values and slopes.

    Newton's steps, and halves of a bracket where a step leaves it. They end where a step stays beside the last good point.
    """
    ends, points, is_open = [low.copy(), high.copy()], points.copy(), np.arange(len(points))
    for number in range(_MOST_STEPS):
        with np.errstate(all="ignore"):
            value, slope = rising(points[is_open], places[is_open])
            step = points[is_open] - value / slope
        is_low = ~(value > 0.0)  # NaN too
        for end, moves in zip(ends, (is_low, ~is_low), strict=True):
            end[is_open] = np.where(moves, points[is_open], end[is_open])
        least, most = ends[0][is_open], ends[1][is_open]
        is_near = np.abs(step - ends[upper][is_open]) <= _NEAR_ROOT * step
        # Rounding may put a step on the wrong side of a root: each goes a little further out than the one before.
        step *= 1.0 + (1.0 if upper else -1.0) * _NEAR_ROOT * 2.0 ** (number - 10)
        points[is_open] = np.where((least < step) & (step < most), step, least + (most - least) / 2.0)
        is_open = is_open[~is_near & (most - least > _NEAR_ROOT * most)]
        if not len(is_open):
            break
    return ends[upper]


def _complement(ends: Float64s, outwards: float) -> Float64s:
    """1 - end, rounded towards `outwards`: at levels of 1e-12 and below a rounding inwards is visible."""
    results = 1.0 - ends
    inside = 1.0 - results > ends if outwards == 1.0 else 1.0 - results < ends
    return np.where(inside, np.nextafter(results, outwards), results)


@shared_docs(clopper_pearson.__doc__)
def hoeffding(label_sums: Any, counts: Any, alpha: float, *, side: str = "both") -> Float64s:
    """Hoeffding's interval: mean +- sqrt(ln(2 / alpha) / (2 count)), cut to [0, 1]; of one side, ln(1 / alpha).

    The bound behind every closed formula of Gupta & Ramdas 2021 (equation (17)). Valid for any labels in [0, 1]. For 0/1
    labels `clopper_pearson` is narrower: at alpha = 0.1 by 30 % at a frequency of one half, by more where label 1 is rare.

    {Parameters}

    Returns
    -------
    ndarray of float64, shape (n_bins, 2)
        Lower and upper ends in [0, 1].

    {Raises}

    Examples
    --------
    >>> hoeffding([30], [100], alpha=0.1).round(4)
    array([[0.1776, 0.4224]])
    """
    _, sizes, filled, means = as_tally(label_sums, counts)
    n_events = 2.0 if check_side(side) == "both" else 1.0
    radii = np.sqrt(math.log(n_events / check_level(alpha)) / (2.0 * filled))
    return opened(around(means, np.where(sizes > 0, radii, 1.0)), side)


@shared_docs(hoeffding.__doc__)
def empirical_bernstein(label_sums: Any, counts: Any, alpha: float, *, side: str = "both") -> Float64s:
    """Empirical Bernstein interval (Gupta, Podkopaev & Ramdas 2020, Theorem 4), cut to [0, 1].

    mean +- (sqrt(2 V ln(3 / alpha) / count) + 3 ln(3 / alpha) / count), where V = mean (1 - mean) is the biased variance of
    the labels. The theorem covers B bins at once by a union bound: pass ``bonferroni(alpha, B)`` to get its ln(3B/alpha).
    The first term shrinks where labels are nearly all alike; the second one makes the interval wider than Hoeffding's
    for small counts. One side needs two of its three events: ln(2 / alpha).

    {Parameters}

    {Returns}

    {Raises}

    Examples
    --------
    >>> empirical_bernstein([0, 500], [200, 1000], alpha=0.01).round(4)
    array([[0.    , 0.0856],
           [0.4295, 0.5705]])
    """
    _, sizes, filled, means = as_tally(label_sums, counts)
    n_events = 3.0 if check_side(side) == "both" else 2.0
    log_term = math.log(n_events / check_level(alpha))
    radii = np.sqrt(2.0 * means * (1.0 - means) * log_term / filled) + 3.0 * log_term / filled
    return opened(around(means, np.where(sizes > 0, radii, 1.0)), side)


@shared_docs(clopper_pearson.__doc__)
def wilson(label_sums: Any, counts: Any, alpha: float, *, side: str = "both") -> Float64s:
    """Wilson's score interval (1927): APPROXIMATE, it may cover less often than 1 - alpha, and no certificate uses it.

    For plots and for comparison with other software. The interval inverts the normal approximation of the score test.

    Parameters
    ----------
    {label_sums}
    {counts}
    alpha : float
        Nominal failure probability of each bin, above 0 and at most 1/2.
    side : {"both", "upper", "lower"}
        With one side the other end is 0 or 1, and all of alpha is for this one.

    Returns
    -------
    ndarray of float64, shape (n_bins, 2)
        Lower and upper ends in [0, 1]; exactly 0 at a label sum of 0, exactly 1 at a full one.

    {Raises}

    Examples
    --------
    >>> wilson([3], [10], alpha=0.05).round(4)
    array([[0.1078, 0.6032]])
    """
    sums, sizes, filled, means = as_tally(label_sums, counts)
    z = -float(special_functions().ndtri(float(tails_of(check_level(alpha), check_side(side)))))
    centres = (means + z * z / (2.0 * filled)) / (1.0 + z * z / filled)
    radii = z * np.sqrt(means * (1.0 - means) / filled + (z / (2.0 * filled)) ** 2) / (1.0 + z * z / filled)
    intervals = around(centres, radii)
    intervals[sums == 0, 0] = 0.0
    intervals[sums == sizes, 1] = 1.0
    intervals[sizes == 0] = 0.0, 1.0
    return opened(intervals, side)


def sidak(alpha: float, n_bins: int) -> float:
    """The failure probability per bin that gives `alpha` over `n_bins` independent bins: 1 - (1 - alpha)^(1/n_bins).

    Given where the samples fell, the label sums of different bins are independent (Gupta & Ramdas 2021, Lemma 2 and the
    Markov property in its proof), so the product form holds with equality and nothing is lost to a union bound.

    Parameters
    ----------
    alpha : float
        Failure probability over all bins, from 1e-110 to 1/2.
    n_bins : int
        At least 1.

    Returns
    -------
    float
        Failure probability of one bin.

    Raises
    ------
    InputError, InputTypeError
        When an argument is outside its range or of the wrong type.

    Examples
    --------
    >>> round(sidak(0.1, 10), 6)
    0.010481
    """
    alpha, n_bins = check_level(alpha), check_count(n_bins, "n_bins")
    if n_bins == 1:
        return alpha
    return -math.expm1(math.log1p(-alpha) / n_bins)


@shared_docs(sidak.__doc__)
def bonferroni(alpha: float, n_bins: int) -> float:
    """The failure probability per bin that gives `alpha` over `n_bins` bins that may depend on each other: alpha / n_bins.

    {Parameters}

    {Returns}

    {Raises}

    Examples
    --------
    >>> bonferroni(0.1, 10)
    0.01
    """
    return check_level(alpha) / check_count(n_bins, "n_bins")


# ------------------------------------------------------------------------------------------------- quantiles of the beta law


# How far the tail beyond a quantile may be from the one asked for, relatively. SciPy's inverses can return NaN (small tails),
# or a point far from the root: betainccinv(1000, 9101, 0.1) is 0.25 for 0.10 in SciPy 1.17, and from parameters of 1e12 on
# they stop standard deviations short. Its forward functions are right there, so they verify the inverses.
_NEAR = 1e-6
# Where both parameters are above this, the forward functions lose digits, and a series about the normal law gains them: its
# error is of the order of (z / sqrt(parameter))^3, in standard deviations.
_HUGE = 1e11
# Ratios of smaller tails may have lost their digits.
_LEAST_TAIL = 1e-150
# How near a root a point is, as a share of it, after so many steps at most.
_NEAR_ROOT, _MOST_STEPS = 1e-10, 30


@cache
def special_functions() -> Any:
    """`scipy.special`, imported at the first use; an error with the remedy where SciPy is missing or too old."""
    with needed_for("intervals and certificates", extra="fit"):
        from scipy import special
        from scipy.special import betainccinv  # noqa: F401  # since SciPy 1.12
    return special


def neighbouring_doubles(low: Float64s, high: Float64s, stays_low: Callable[[Float64s], Bools]) -> tuple[Float64s, Float64s]:
    """Bisection, elementwise, until no double lies between `low`, where the predicate holds, and `high`, where it does not."""
    while True:
        middle = low + (high - low) / 2.0
        is_open = (low < middle) & (middle < high)
        if not is_open.any():
            return low, high
        holds = stays_low(middle)
        low, high = np.where(is_open & holds, middle, low), np.where(is_open & ~holds, middle, high)


def halved(holds: Callable[[Any], Any], inner: Any, outer: Any, times: int) -> tuple[Any, Any]:
    """From where a condition holds to where it does not, halved so many times; two numbers, or elementwise two arrays."""
    for _ in range(times):
        middle = (inner + outer) / 2.0
        found = holds(middle)
        if isinstance(found, np.ndarray):
            inner, outer = np.where(found, middle, inner), np.where(found, outer, middle)
        else:
            inner, outer = (middle, outer) if found else (inner, middle)
    return inner, outer


# From so many quantiles on, equal ones are found first: steps of equal mass ask for the same ones in every bin.
_MANY = 256


def beta_quantile(a: Float64s, b: Float64s, tail: Float64s | float, *, upper: bool) -> Float64s:
    """The p with P(Beta(a, b) <= p) = tail, or, where `upper`, P(Beta(a, b) > p) = tail; elementwise, a and b above 0.

    For tails from 1e-300 to 1/2 and a + b up to 2**53 + 1. Where doubles are too coarse for the tail, the next one outwards.
    """
    a, b, tails = np.broadcast_arrays(*np.atleast_1d(a, b, tail))
    if a.size <= _MANY:
        return _quantiles(a, b, tails, upper)
    firsts, places = distinct(a, b, tails)
    return _quantiles(a[firsts], b[firsts], tails[firsts], upper)[places]


def distinct(*columns: Array) -> tuple[Int64s, Int64s]:
    """The rows of columns of equal length that differ, by the place of one each, and the number among them of every row."""
    order = np.argsort(keys) if (keys := _as_integers(columns)) is not None else np.lexsort(columns)
    is_new = np.ones(len(order), bool)
    is_new[1:] = np.any([np.diff(column[order]) != 0 for column in columns], axis=0)
    places = np.empty(len(order), np.int64)
    places[order] = np.cumsum(is_new) - 1
    return order[is_new], places


def _as_integers(columns: Sequence[Array]) -> Int64s | None:
    """One integer for each row, the same for equal rows alone, if at most two columns vary, and hold counts: sorted sooner."""
    varying = [column for column in columns if (column != column[:1]).any()]
    counts = [column.astype(np.int64) for column in varying if column.min() >= 0.0 and column.max() < 2.0**31]
    if not 1 <= len(varying) <= 2 or len(counts) < len(varying):
        return None
    if any((column != count).any() for column, count in zip(varying, counts, strict=True)):
        return None
    return counts[0] if len(counts) == 1 else (counts[0] << 31) | counts[1]


def _quantiles(a: Float64s, b: Float64s, tails: Float64s, upper: bool) -> Float64s:
    special = special_functions()
    points: Float64s = (special.betainccinv if upper else special.betaincinv)(a, b, tails)
    huge = np.minimum(a, b) > _HUGE
    if not huge.any():
        return _verified(points, a, b, tails, upper)
    usual = ~huge
    points[usual] = _verified(points[usual], a[usual], b[usual], tails[usual], upper)
    points[huge] = _by_series(a[huge], b[huge], tails[huge], upper)
    return points


def _verified(points: Float64s, a: Float64s, b: Float64s, tails: Float64s, upper: bool) -> Float64s:
    """The points; those that are not a root are replaced in place, by bisection down to neighbouring doubles, outwards."""
    special = special_functions()

    def beyond(p: Float64s, of: Any) -> Float64s:
        return np.asarray((special.betaincc if upper else special.betainc)(a[of], b[of], p))

    with np.errstate(invalid="ignore"):
        wrong = ~(np.abs(beyond(points, slice(None)) - tails) <= _NEAR * tails)  # NaN is wrong too
    if not wrong.any():
        return points

    def stays_low(p: Float64s) -> Bools:
        return ~(beyond(p, wrong) <= tails[wrong] if upper else beyond(p, wrong) >= tails[wrong])

    low, high = neighbouring_doubles(np.zeros_like(points[wrong]), np.ones_like(points[wrong]), stays_low)
    points[wrong] = high if upper else low
    return points


def _by_series(a: Float64s, b: Float64s, tails: Float64s, upper: bool) -> Float64s:
    """The quantile by Cornish & Fisher's expansion to the second order (1938), from the beta law's skewness and kurtosis."""
    total, z = a + b, special_functions().ndtri(tails) * (-1.0 if upper else 1.0)
    deviation = np.sqrt(a / total * (b / total) / (total + 1.0))
    skewness = 2.0 * ((b - a) / (total + 2.0)) * np.sqrt((total + 1.0) / a / b)
    kurtosis = 6.0 * ((a - b) ** 2 / a / b * (total + 1.0) / (total + 2.0) - 1.0) / (total + 3.0)
    steps = (
        z + skewness * (z * z - 1.0) / 6.0 + kurtosis * (z**3 - 3.0 * z) / 24.0 - skewness**2 * (2.0 * z**3 - 5.0 * z) / 36.0
    )
    return np.asarray(np.clip(a / total + steps * deviation, 0.0, 1.0))


# ------------------------------------------------------------------------------------------------- what is given, checked


# Above it doubles do not represent every integer.
MOST_SAMPLES = 2**53


def as_counts(values: Any, name: str) -> Int64s:
    """Integers, one per bin, as int64; at most 2**53."""
    is_empty = isinstance(values, (list, tuple)) and not values  # NumPy makes doubles of such a list
    try:
        array = np.atleast_1d(np.asarray(values, np.int64 if is_empty else None))
    except ValueError as error:
        raise InputTypeError(f"must be integers, one per bin: {error}", argument=name) from error
    if array.ndim != 1 or array.dtype.kind not in "iu":
        problem = f"must be integers, one per bin; got dtype {array.dtype} and shape {array.shape}"
        raise InputTypeError(problem, argument=name)
    remedy = f"above 2**53 = {MOST_SAMPLES} doubles do not represent every count, and no interval is computed"
    refuse_first(array > MOST_SAMPLES, name, array, remedy)
    return array.astype(np.int64, copy=False)


def as_doubles(values: Any, name: str, called: str = "numbers, one per bin") -> Float64s:
    """Numbers as float64; an error that names the argument for what holds others."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"must be {called}: {error}", argument=name) from error


def as_sums(values: Any, name: str, shape: tuple[int, ...] | None = None) -> Float64s:
    """Sums of numbers that are not negative, one per bin; of this shape, where one is given."""
    array = np.atleast_1d(as_doubles(values, name))
    if array.ndim != 1 or (shape is not None and array.shape != shape):
        bins = "" if shape is None else f" for {shape[0]} bins"
        raise InputError(f"has shape {array.shape}{bins}", "every bin needs one", argument=name)
    bad = ~((array >= 0.0) & np.isfinite(array))
    refuse_first(bad, name, array, "it must be finite and not negative")
    return array


class BinTally(NamedTuple):
    """The tally of the bins; where a bin is empty, it has a harmless size and mean."""

    sums: Int64s
    counts: Int64s
    filled: Int64s  # the counts, 1 for an empty bin
    means: Float64s


def as_tally(label_sums: Any, counts: Any) -> BinTally:
    """`label_sums` and `counts` as int64 of one length, with 0 <= label_sums <= counts <= 2**53. O(n_bins)."""
    sizes, sums = as_counts(counts, "counts"), as_counts(label_sums, "label_sums")
    if sums.shape != sizes.shape:
        remedy = "every bin needs one of each"
        raise InputError(f"lengths differ: label_sums has {sums.shape[0]}, counts has {sizes.shape[0]}", remedy)
    remedy = "a bin's label sum counts its samples with label 1, so it lies between 0 and the count"
    bad = (sums < 0) | (sums > sizes)
    refuse_first(bad, "label_sums", sums, remedy, lambda b: f"is {sums[b]} and counts[{b}] is {sizes[b]}")
    filled = np.maximum(sizes, 1)
    return BinTally(sums, sizes, filled, sums / filled)


def around(centres: Float64s, radii: Float64s | float) -> Float64s:
    """The intervals centre +- radius, cut to [0, 1]: a frequency lies there whatever the data say. Shape (n_bins, 2)."""
    return np.stack([np.clip(centres - radii, 0.0, 1.0), np.clip(centres + radii, 0.0, 1.0)], axis=1)
