"""One radius that the mean labels of all bins keep at once: before any label is seen, or from the labels."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s, Int64s
from fastbin._base.checks import check_alpha, refuse_first
from fastbin._base.errors import InputError
from fastbin.guarantees.law import failures_above, failures_beyond, near_failures
from fastbin.intervals import sidak
from fastbin.intervals.binomial import as_counts, special_functions

# Up to so many different counts the radius is found to the first of these distances, else to the second: the sums of many
# different counts have no large steps, and each takes long.
_FEW, _PRECISIONS = 50, (1e-12, 1e-6)
# Cells of which Hoeffding's inequality says that they fail so rarely, beside Sidak's level, are not computed exactly; of few
# and of many different counts.
NEGLIGIBLE, _NEGLIGIBLE_OF_MANY = 1e-9, 1e-6
# So few places at which the chances may jump are looked at; more would take more steps than halving.
_FEW_JUMPS = 2
# Points of the first grid for the worst frequency. 256 found the maximum of all candidates in each of 3,000 trials.
_SCAN = 256


def common_radius(counts: Any, alpha: float = 0.1, *, shifts: Any = None, label_sums: Any = None) -> float:
    """The smallest epsilon that the means of all cells keep at once with probability 1 - alpha.

    Cells are independent binomial means of `counts` labels. Before labels are seen, each misses its frequency by more than
    epsilon with probability `worst_failure` at most, and epsilon is such that the complements multiply to 1 - alpha. Small
    cells use most of alpha, so it is never above the largest `exact_radius` at Sidak's level, and below it where counts differ.

    With `label_sums` a frequency needs to be thought of only where it is within epsilon of the mean of its cell: cells whose
    mean is far from one half use little of alpha, and epsilon is never above the one before labels (fastbin, Theorem F10).

    Parameters
    ----------
    counts : array of int, shape (n_cells,)
        Samples of each cell. Cells without samples are left out.
    alpha : float
        Failure probability of all cells together, from 1e-100 to 1/2.
    shifts : array of float, shape (n_cells,), optional
        How far the value of each cell may lie from the mean of its labels, known before labels are seen; 0 by default.
    label_sums : array of int, shape (n_cells,), optional
        How many labels of each cell are 1. Not together with `shifts`.

    Returns
    -------
    float
        The radius, up to 1e-12 above the smallest one, or 1e-6 with more than 50 different counts; above 1 only where shifts
        are. 0 where no cell has a sample.

    Raises
    ------
    InputError, InputTypeError
        When a count or a shift is negative, a label sum is not from 0 to its count, alpha is out of range, or lengths differ.

    Notes
    -----
    Cells that fail by Hoeffding's inequality with a probability below 1e-9 of Sidak's level (1e-6 with more than 50
    different counts) enter with that bound, so that the result may be too large by their share, and never too small. Some
    twenty sums over the different counts among the others, with 16 frequencies each, and one with all: tenths of a second
    for hundreds of different counts, and for thousands. With label sums some twenty sums over the different cells: about
    ten milliseconds for ten cells, and seconds for thousands.

    Examples
    --------
    >>> import fastbin as fb
    >>> counts = [39] * 10 + [399] * 10
    >>> round(common_radius(counts, alpha=0.1), 4), round(fb.guarantees.exact_radius(39, fb.intervals.sidak(0.1, 20)), 4)
    (0.2053, 0.2308)
    >>> round(common_radius([99] * 10, alpha=0.1), 4)
    0.1313
    >>> round(common_radius([99] * 10, alpha=0.1, label_sums=[5, 15, 25, 35, 45, 55, 65, 75, 85, 95]), 4)
    0.1223
    """
    sizes, alpha = as_counts(counts, "counts"), check_alpha(alpha)
    refuse_first(sizes < 0, "counts", sizes, "it must not be negative")
    if label_sums is not None:
        return radius_of_labels(sizes, _ones(label_sums, sizes, shifts), alpha)
    moved = np.zeros(sizes.shape) if shifts is None else np.atleast_1d(np.asarray(shifts, dtype=np.float64))
    if moved.shape != sizes.shape or not (np.isfinite(moved) & (moved >= 0.0)).all():
        raise InputError(f"shifts must hold one distance for each of the {sizes.shape[0]} cells, none of them negative")
    held = sizes > 0
    if not held.any():
        return 0.0
    cells, repeats = np.unique(np.stack([sizes[held].astype(np.float64), moved[held]]), axis=1, return_counts=True)
    level, limit = sidak(alpha, int(repeats.sum())), math.log1p(-alpha)
    is_many = cells.shape[1] > _FEW
    precision = _PRECISIONS[is_many]

    def is_enough(epsilon: float, of: Failures = _worst) -> bool:
        """Whether the logarithms of the chances to hold add to log(1 - alpha) at least."""
        failures = failures_within(cells[0], epsilon - cells[1], (_NEGLIGIBLE_OF_MANY if is_many else NEGLIGIBLE) * level, of)
        return float(failures.max()) < 1.0 and float((repeats * np.log1p(-failures)).sum()) >= limit

    top = float((np.sqrt(math.log(2.0 / level) / (2.0 * cells[0])) + cells[1]).max())
    # A no near the worst frequencies alone is final. The last yes is confirmed by all frequencies, and corrected upwards.
    low, radius = _narrowed(lambda epsilon: is_enough(epsilon, near_failures), 0.0, top, precision, cells[0])
    step = precision
    while radius < top and not is_enough(radius):
        low, radius, step = radius, min(top, radius + step), 16.0 * step
    return _narrowed(is_enough, low, radius, precision, cells[0])[1]


def _narrowed(
    holds: Callable[[float], bool], low: float, high: float, precision: float, counts: Float64s
) -> tuple[float, float]:
    """The ends of the interval where `holds`, true at `high`, begins to be true, as narrow as the precision or doubles.

    The chances jump where 2 n epsilon is a whole number, for any count n, and often it is a jump that decides. So once few
    jumps are left in the interval, either side of one is the next place; else the middle is.
    """
    margin = 0.45 * precision
    while high - low > precision:
        point = low + (high - low) / 2.0
        jumps = np.unique(np.rint(2.0 * counts * point) / (2.0 * counts))
        jumps = jumps[(low + margin < jumps) & (jumps < high)]
        if 0 < len(jumps) <= _FEW_JUMPS:
            jump = float(jumps[len(jumps) // 2])
            point = jump + (margin if high - jump > 1.01 * margin else -margin)
        if not low < point < high:
            break
        low, high = (low, point) if holds(point) else (point, high)
    return low, high


Failures = Callable[[Float64s, Float64s], Float64s]


def _worst(sizes: Float64s, radii: Float64s) -> Float64s:
    return failures_beyond(sizes, radii, _SCAN)


def failures_within(counts: Float64s, radii: Float64s, negligible: float, of: Failures = _worst) -> Float64s:
    """The worst failures, or Hoeffding's bounds of them where these are at most `negligible`. 1 for a radius of 0 or less."""
    failures = np.asarray(_hoeffding(counts, 0.0, radii))
    likely = (failures > negligible) & (radii > 0.0)
    failures[likely] = of(counts[likely], np.minimum(radii[likely], 1.0))
    return failures


def _hoeffding(counts: Any, shifts: Any, epsilon: Any) -> Any:
    """By Hoeffding's inequality, the chance of an error above epsilon - shift; elementwise."""
    return np.minimum(1.0, 2.0 * np.exp(-2.0 * counts * np.maximum(epsilon - shifts, 0.0) ** 2))


# ------------------------------------------------------------------------------------------------- from the labels

# The chance that a mean errs by epsilon or more, at the worst frequency within a distance `window` of the mean that was seen,
# falls with epsilon and rises with the window. A frequency at a distance t from its mean has the p-value of an error t, and the
# frequencies with a p-value above alpha hold the true ones. So epsilon may be the least number such that for every t above it
# errors of t, within a window of t, have a chance of at most alpha. It is found from above, in links: where errors of `radius`
# have that chance within the window of the link before, so have all errors in between within their own.

# The chance is largest where the frequency is nearest to one half, but for chances below a millionth. A guess looks at places
# next to there, at these offsets in samples; each link is confirmed by a search of all places, on ever finer grids.
_NEAR, _GRID = np.arange(-3.0, 4.0), np.arange(65.0)
# A link goes down to the guess, or part of the way; the first that holds.
_PARTS = (0.0, 0.125, 0.5)


def _ones(label_sums: Any, sizes: Int64s, shifts: Any) -> Int64s:
    if shifts is not None:
        raise InputError("shifts are of the radius before labels are seen, and label_sums are given; leave one out")
    ones = as_counts(label_sums, "label_sums")
    if ones.shape != sizes.shape:
        raise InputError(f"lengths differ: counts has {sizes.shape[0]}, label_sums has {ones.shape[0]}; every cell needs both")
    refuse_first((ones < 0) | (ones > sizes), "label_sums", ones, "it must be from 0 to the count of its cell")
    return ones


def radius_of_labels(sizes: Int64s, ones: Int64s, alpha: float) -> float:
    """The radius of Theorem F10; 0 where no cell has a sample."""
    held = sizes > 0
    if not held.any():
        return 0.0
    means = np.minimum(ones, sizes - ones)[held] / sizes[held]  # the mirror image has the same chances
    (counts, means), repeats = np.unique(np.stack([sizes[held].astype(np.float64), means]), axis=1, return_counts=True)
    counts, means, limit = counts[:, None], means[:, None], math.log1p(-alpha)

    def is_enough(epsilon: float, window: float, *, everywhere: bool = False) -> bool:
        if everywhere and not is_enough(epsilon, window):
            return False
        failures = _failures_near(counts, means, window, epsilon, everywhere=everywhere)
        return float(failures.max()) < 1.0 and float((repeats * np.log1p(-failures)).sum()) >= limit

    radius = min(1.0, math.sqrt(math.log(2.0 / sidak(alpha, int(repeats.sum()))) / (2.0 * float(counts.min()))))
    precision = _PRECISIONS[len(counts) > _FEW]
    guess = _narrowed(lambda epsilon: is_enough(epsilon, epsilon), 0.0, radius, precision, counts)[1]
    while radius > guess:
        goals = (guess + part * (radius - guess) for part in _PARTS)
        goal = next((goal for goal in goals if goal < radius and is_enough(goal, radius, everywhere=True)), radius)
        if goal == radius:  # the chances within a window of epsilon need not fall, so the guess may be too low
            holds = partial(is_enough, window=radius, everywhere=True)
            goal = _narrowed(holds, guess, radius, precision, counts)[1]
            if radius - goal <= precision:
                break
        radius = goal
    return radius


def _failures_near(counts: Float64s, means: Float64s, window: float, epsilon: float, *, everywhere: bool) -> Float64s:
    """float64 (n_cells,): the largest P(|X / n - p| >= epsilon) over frequencies p within `window` of the means, (n_cells, 1).

    As p moves, a sum begins to fail, or stops to, at p = x / n +- epsilon only, and between two such places the chance of the
    sums that hold rises and then falls. So the largest chance is that at such a place, where both of its sums fail, or at an
    end of the window. From place to place it is a smooth function; of chances below 1e-20, whose two tails may have a maximum
    each, a hundredth is added, above what the search may miss.
    """
    low, high = np.maximum(means - window, 0.0), np.minimum(means + window, 1.0)
    nearest = np.clip(0.5, low, high)
    # Sums hold that lie between x and x + width.
    width = np.ceil(2.0 * counts * epsilon * (1.0 - 2.0**-52)) - 1.0
    found = [_at_ends(counts, np.hstack([low, high]), epsilon)]
    # Where the sum below fails, and in the mirror image where that above does.
    for least, most, centre in ((low, high, nearest), (1.0 - high, 1.0 - low, 1.0 - nearest)):
        first, last = (np.maximum(counts * (end - epsilon), 0.0) for end in (least, most))
        first, last = np.ceil(first), np.floor(last)
        exist = first <= last
        last = np.maximum(first, last)
        sums = np.clip(np.rint(counts * (centre - epsilon)) + _NEAR, first, last)
        found.append(np.where(exist, failures_above(sums, counts, width, epsilon), 0.0))
        step = np.full_like(counts, np.inf)
        while everywhere and step.max() > 1.0:
            step = np.maximum(np.ceil((last - first) / (len(_GRID) - 1.0)), 1.0)
            sums = np.minimum(first + step * _GRID, last)
            failures = failures_above(sums, counts, width, epsilon)
            found.append(np.where(exist, failures, 0.0))
            peak = np.take_along_axis(sums, failures.argmax(axis=1)[:, None], axis=1)
            first, last = np.maximum(first, peak - step), np.minimum(last, peak + step)
    largest = np.hstack(found).max(axis=1)
    return np.minimum(np.where(largest < 1e-20, 1.01 * largest, largest), 1.0)


def _at_ends(counts: Float64s, frequencies: Float64s, epsilon: float) -> Float64s:
    """P(|X / n - p| >= epsilon) at given frequencies, rounded upwards where an error is epsilon up to rounding."""
    betainc = special_functions().betainc
    below = np.floor(counts * (frequencies - epsilon) * (1.0 + 2.0**-50))
    above = np.maximum(np.ceil(counts * (frequencies + epsilon) * (1.0 - 2.0**-50)), 1.0)
    lower = betainc(np.maximum(counts - below, 1.0), np.maximum(below, 0.0) + 1.0, 1.0 - frequencies)
    upper = betainc(np.minimum(above, counts), np.maximum(counts - above, 0.0) + 1.0, frequencies)
    return np.asarray(np.where(below >= 0.0, lower, 0.0) + np.where(above <= counts, upper, 0.0))
