"""How far a binomial mean lies from its frequency in the worst case, computed before any label is seen."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.checks import check_count, check_level, check_unit_interval
from fastbin._base.docstrings import shared_docs
from fastbin.intervals import clopper_pearson
from fastbin.intervals._beta import special_functions

# Up to this count every candidate of the worst case is evaluated. Above it the failure probability, a smooth function of the
# candidate's place, is evaluated on a grid of this many points and then on ever finer grids around its maximum.
_SCAN = 4096


def last_where(holds: Callable[[int], bool], low: int, high: int) -> int:
    """By bisection the largest integer with `holds`, from `low`, where it does, to below `high`, where it does not."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def failures_above(candidates: Float64s, n_in_bin: Any, width: Any, epsilon: float) -> Float64s:
    """P(X <= x) + P(X > x + width) for X ~ Binomial(n_in_bin, x / n_in_bin + epsilon), one per candidate x."""
    betainc = special_functions().betainc
    below, above = n_in_bin - candidates, n_in_bin - candidates - width
    frequency = np.minimum(candidates / n_in_bin + epsilon, 1.0)
    complement = np.maximum(below / n_in_bin - epsilon, 0.0)
    lower_tail = betainc(below, candidates + 1.0, complement)
    upper_tail = np.where(above > 0, betainc(candidates + width + 1.0, np.maximum(above, 1.0), frequency), 0.0)
    return np.asarray(lower_tail + upper_tail)


def _supremum(n_in_bin: int, width: int, epsilon: float, scan: int = _SCAN) -> float:
    """The largest failure probability over all frequencies, when `width` is the number of sums that a frequency accepts.

    As the frequency p moves, the accepted sums {X: |X / n - p| <= epsilon} change at p = x / n +- epsilon only, and between
    two changes their probability rises and then falls. So the infimum of the coverage is a one-sided limit at such a point:
    just above p = x / n + epsilon, where x has dropped out and x + 1 ... x + floor(2 n epsilon) remain, or its mirror image.
    """
    last = math.ceil(n_in_bin * (1.0 - epsilon) - 1e-9) - 1  # beyond it x / n + epsilon reaches 1
    if last < 0:
        return 0.0
    first, worst = 0, 0.0
    if last >= scan:
        edge = np.arange(64.0)
        worst = float(failures_above(np.concatenate([edge, last - edge]), n_in_bin, width, epsilon).max())
    while True:
        step = max(1, (last - first) // (scan // 2)) if last - first >= scan else 1
        candidates = np.arange(first, last + 1, step, dtype=np.float64)
        failures = failures_above(candidates, n_in_bin, width, epsilon)
        peak = int(np.argmax(failures))
        worst = max(worst, float(failures[peak]))
        if step == 1:
            return worst
        centre = int(candidates[peak])
        first, last = max(first, centre - 2 * step), min(last, centre + 2 * step)


def worst_failure(n_in_bin: int, epsilon: float) -> float:
    """The largest probability, over all frequencies p, that a binomial mean lies further than `epsilon` from p.

    Parameters
    ----------
    n_in_bin : int
        Number of samples averaged, at least 1.
    epsilon : float
        Distance, in (0, 1].

    Returns
    -------
    float
        sup over p of P(|X / n_in_bin - p| > epsilon) for X ~ Binomial(n_in_bin, p).

    Raises
    ------
    InputError, InputTypeError
        When an argument is outside its range or of the wrong type.

    Notes
    -----
    O(n_in_bin) incomplete beta functions up to 4096 samples, O(log n_in_bin) batches of them above.

    Examples
    --------
    >>> round(worst_failure(165, 0.1), 4)
    0.0102
    """
    return failure_beyond(check_count(n_in_bin, "n_in_bin"), check_unit_interval(epsilon, "epsilon", open_left=True))


def failure_beyond(n_in_bin: int, epsilon: float, scan: int = _SCAN) -> float:
    """`worst_failure` of checked arguments, with as many points for its first grid."""
    # The product is at most one rounding below an exact integer, which the factor makes up for.
    width = math.floor(2.0 * n_in_bin * epsilon * (1.0 + 2.0**-52))
    return min(1.0, _supremum(n_in_bin, width, epsilon, scan))


@shared_docs(worst_failure.__doc__)
def exact_radius(n_in_bin: int, alpha: float) -> float:
    """The smallest epsilon with P(|X / n - p| <= epsilon) >= 1 - alpha for X ~ Binomial(n, p), whatever p is.

    What Hoeffding's inequality bounds by sqrt(ln(2 / alpha) / (2 n)), computed instead: about 30 % smaller at
    alpha = 0.1, 20 % at alpha = 0.01. It is known before any label is seen, so it can decide how many samples or bins to
    take. It is not monotone in n: one more sample can make it a little larger.

    Parameters
    ----------
    {n_in_bin}
    alpha : float
        Failure probability, from 1e-100 to 1/2. For several bins at once pass ``fb.intervals.sidak(alpha, n_bins)``.

    Returns
    -------
    float
        The radius, in (0, 1].

    {Raises}

    Notes
    -----
    The coverage of a radius is its infimum over p, reached as a one-sided limit at one of n points (`worst_failure`), and does
    not decrease with the radius. Where the accepted sums change, at multiples of 1 / (2 n), it jumps; so the multiple is found
    first, in integers, and then, where needed, the radius between two multiples by bisection to 1e-14, rounded up.
    Results are cached; a first call takes milliseconds up to n = 10,000 and tenths of a second at n = 1,000,000.

    Examples
    --------
    >>> exact_radius(20, 0.1)
    0.2
    >>> round(exact_radius(299, 0.1), 4)
    0.0485
    """
    return _exact_radius(check_count(n_in_bin, "n_in_bin"), check_level(alpha))


@lru_cache(maxsize=4096)
def _exact_radius(n_in_bin: int, alpha: float) -> float:
    half_steps = 2 * n_in_bin

    def fails(width: int) -> bool:
        return _supremum(n_in_bin, width, width / half_steps) > alpha

    # Hoeffding's radius is enough.
    low = last_where(fails, 0, min(half_steps, math.ceil(half_steps * math.sqrt(math.log(2.0 / alpha) / half_steps))))
    # Just below (low + 1) / half_steps the accepted sums are those of low. Where they miss 1 - alpha, the jump reaches it.
    left, right = low / half_steps, (low + 1) / half_steps
    if _supremum(n_in_bin, low, right) > alpha:
        return right
    while right - left > 1e-14:
        middle = left + (right - left) / 2.0
        left, right = (left, middle) if _supremum(n_in_bin, low, middle) <= alpha else (middle, right)
    return right


@lru_cache(maxsize=1024)
def one_sided_radius(n_in_bin: int, alpha: float) -> float:
    """The least distance that a binomial mean exceeds its frequency by, or falls below it by, with chance alpha / 2 at most.

    With X = x the chance of x or more is alpha / 2 at the lower Clopper-Pearson end and smaller below it, so it is the largest
    distance from x / n to that end. A smooth function of x: from 4096 samples on, found on ever finer grids around its maximum.
    """
    first, last = 0, n_in_bin
    while True:
        step = max(1, (last - first) // (_SCAN // 2)) if last - first >= _SCAN else 1
        candidates = np.arange(first, last + 1, step)
        lower = clopper_pearson(candidates, np.full(len(candidates), n_in_bin), alpha)[:, 0]
        distances = candidates / n_in_bin - lower
        peak = int(np.argmax(distances))
        if step == 1:
            return float(distances[peak])
        first, last = max(0, int(candidates[peak]) - 2 * step), min(n_in_bin, int(candidates[peak]) + 2 * step)
