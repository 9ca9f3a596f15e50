"""How the cells of several models share one failure probability, decided before any label is seen."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.checks import SMALLEST_ALPHA, check_alpha, check_level, refuse_first
from fastbin._base.errors import InputError
from fastbin.guarantees.radius import failure_beyond
from fastbin.intervals import sidak
from fastbin.intervals._beta import special_functions
from fastbin.intervals._tally import as_counts

# No model gets less than this share of alpha / models: it costs the others a thousandth of alpha, and large models, whose radii
# would be equal to those of small ones at levels of 1e-50, get narrower ones.
_LEAST_SHARE = 1e-3
# Cells of which Hoeffding's inequality says that they fail so rarely, beside Sidak's level, are not computed exactly.
_NEGLIGIBLE = 1e-9
# Up to so many different counts the radius is found to the first of these distances, else to the second: the sums of many
# different counts have no large steps, and each takes long.
_FEW, _PRECISIONS = 50, (1e-12, 1e-6)
# Points of the first grid for the worst frequency. 256 found the maximum of all candidates in each of 3,000 trials.
_SCAN = 256


def share_alpha(counts: Any, bins: Any, alpha: float, *, class_wise: bool = False) -> Float64s:
    """The failure probability of each of several models, from label-free counts.

    With bins of `counts[j]` samples, at frequencies of one half, the radii of all models are about equal: model j gets the
    level 1 - (1 - a_j)^bins[j] with a_j = erfc(r sqrt(2 counts[j])), the normal chance of an error above r, and r is such that
    the product of 1 - level is 1 - alpha. So models of few samples get most of alpha.

    Parameters
    ----------
    counts : array of int, shape (n_models,)
        The samples of the smallest bin of each model, or a number like it that no label has a part in; at least 1.
    bins : array of int, shape (n_models,)
        Number of bins that the promise of each model is about, at least 1; 0 for a model that is left out.
    alpha : float
        Failure probability of all models together, from n_models x 1e-100 to 1/2.
    class_wise : bool
        Whether the same rows serve all models, which then may depend on each other: each gets alpha / n_models.

    Returns
    -------
    ndarray of float64, shape (n_models,)
        Levels; alpha itself for a single model, 0 for those that are left out. Their complements multiply to 1 - alpha, or,
        where `class_wise`, they add to alpha.

    Raises
    ------
    InputError, InputTypeError
        When alpha or a count is out of range, or lengths differ.

    Notes
    -----
    Independent promises that hold with probabilities 1 - level hold together with their product, for any levels that were fixed
    before the labels; these only decide how large each radius is. O(n_models) time and memory.

    Examples
    --------
    >>> share_alpha([99, 99, 199], [10, 10, 10], alpha=0.1).round(4)
    array([0.051 , 0.051 , 0.0007])
    """
    sizes, shared = as_counts(counts, "counts"), as_counts(bins, "bins")
    if sizes.shape != shared.shape:
        raise InputError(f"lengths differ: counts has {sizes.shape[0]}, bins has {shared.shape[0]}; every model needs both")
    refuse_first(shared < 0, "bins", shared, "a model has 0 bins, if it is left out, or more")
    taken = shared > 0
    if (empty := taken & (sizes < 1)).any():
        j = int(np.argmax(empty))
        raise InputError(None, f"leave the model out by bins[{j}] = 0", argument="counts", at=j, value=int(sizes[j]))
    n_models, levels = int(np.count_nonzero(taken)), np.zeros(sizes.shape)
    alpha = check_alpha(alpha, smallest=max(1, n_models) * SMALLEST_ALPHA)
    if n_models == 1 or class_wise:
        levels[taken] = alpha / max(1, n_models)
    else:
        levels[taken] = _nearly_equal_radii(sizes[taken].astype(np.float64), shared[taken].astype(np.float64), alpha)
    return levels


def _nearly_equal_radii(sizes: Float64s, bins: Float64s, alpha: float) -> Float64s:
    erfc = special_functions().erfc
    least = max(_LEAST_SHARE * alpha / len(sizes), SMALLEST_ALPHA)

    def levels(radius: float) -> Float64s:
        of_bins = np.minimum(erfc(radius * np.sqrt(2.0 * sizes)), 0.5)  # log1p(-1) is infinite
        return np.maximum(-np.expm1(bins * np.log1p(-of_bins)), least)

    def is_enough(radius: float) -> bool:
        return float(np.log1p(-np.minimum(levels(radius), 0.75)).sum()) >= math.log1p(-alpha)

    # Hoeffding's radius by a union bound over all bins, and what the least shares take of alpha.
    low, high = 0.0, math.sqrt(math.log(4.0 * float(bins.sum()) / alpha) / (2.0 * float(sizes.min())))
    while low < (middle := low + (high - low) / 2.0) < high:
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    found = levels(high) if is_enough(high) else np.full(len(sizes), sidak(alpha, len(sizes)))  # alpha of 1e-99
    return np.clip(found, SMALLEST_ALPHA, alpha)


def common_radius(counts: Any, alpha: float = 0.1, *, shifts: Any = None) -> float:
    """The smallest epsilon that the means of all cells keep at once with probability 1 - alpha, before labels are seen.

    Cells are independent binomial means of `counts` labels. Each misses its frequency by more than epsilon with probability
    `worst_failure` at most, and epsilon is such that the complements multiply to 1 - alpha. Small cells use most of alpha, so
    it is never above the largest `exact_radius` at Sidak's level, and below it where counts differ.

    Parameters
    ----------
    counts : array of int, shape (n_cells,)
        Samples of each cell. Cells without samples are left out.
    alpha : float
        Failure probability of all cells together, from 1e-100 to 1/2.
    shifts : array of float, shape (n_cells,), optional
        How far the value of each cell may lie from the mean of its labels; 0 by default.

    Returns
    -------
    float
        The radius, up to 1e-12 above the smallest one, or 1e-6 with more than 50 different counts; above 1 only where shifts
        are. 0 where no cell has a sample.

    Raises
    ------
    InputError, InputTypeError
        When a count or a shift is negative, alpha is out of range, or lengths differ.

    Notes
    -----
    Cells that fail by Hoeffding's inequality with a probability below 1e-9 of Sidak's level enter with that bound, so that the
    result may be too large by their share, and never too small. Some twenty sums over the different counts among the others,
    each O(count) up to 256 samples: some ten seconds for thousands of different counts, none much smaller than the others.

    Examples
    --------
    >>> import fastbin as fb
    >>> counts = [39] * 10 + [399] * 10
    >>> round(common_radius(counts, alpha=0.1), 4), round(fb.guarantees.exact_radius(39, fb.intervals.sidak(0.1, 20)), 4)
    (0.2053, 0.2308)
    """
    sizes, alpha = as_counts(counts, "counts"), check_level(check_alpha(alpha))
    refuse_first(sizes < 0, "counts", sizes, "it must not be negative")
    moved = np.zeros(sizes.shape) if shifts is None else np.atleast_1d(np.asarray(shifts, dtype=np.float64))
    if moved.shape != sizes.shape or not (np.isfinite(moved) & (moved >= 0.0)).all():
        raise InputError(f"shifts must hold one distance for each of the {sizes.shape[0]} cells, none of them negative")
    held = sizes > 0
    if not held.any():
        return 0.0
    cells, repeats = np.unique(np.stack([sizes[held].astype(np.float64), moved[held]]), axis=1, return_counts=True)
    level, limit = sidak(alpha, int(repeats.sum())), math.log1p(-alpha)

    def is_enough(epsilon: float) -> bool:
        """Whether the logarithms of the chances to hold add to log(1 - alpha) at least; the likeliest failures come first."""
        total, bounds = 0.0, _hoeffding(cells[0], cells[1], epsilon)
        for c in np.argsort(-bounds, kind="stable").tolist():
            failure = failure_within(int(cells[0, c]), epsilon - float(cells[1, c]), level)
            total += float(repeats[c]) * math.log1p(-failure) if failure < 1.0 else -math.inf
            if total < limit:
                return False
        return True

    low, high = 0.0, float((np.sqrt(math.log(2.0 / level) / (2.0 * cells[0])) + cells[1]).max())
    while high - low > _PRECISIONS[cells.shape[1] > _FEW]:
        middle = low + (high - low) / 2.0
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def failure_within(count: int, radius: float, level: float) -> float:
    """The worst failure, or Hoeffding's bound of it where that is far below `level`. 1 for a radius of 0 or less."""
    if radius <= 0.0:
        return 1.0
    bound = float(_hoeffding(np.float64(count), 0.0, radius))
    return bound if bound <= _NEGLIGIBLE * level else failure_beyond(count, min(radius, 1.0), _SCAN)


def _hoeffding(counts: Any, shifts: Any, epsilon: float) -> Any:
    """By Hoeffding's inequality, the chance of an error above epsilon - shift; elementwise."""
    return np.minimum(1.0, 2.0 * np.exp(-2.0 * counts * np.maximum(epsilon - shifts, 0.0) ** 2))
