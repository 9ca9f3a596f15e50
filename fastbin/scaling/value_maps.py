"""Maps from score to probability, fitted to counts in fine cells: what a two-resolution model serves within its bins.

A cell is a run of scores with a representative, the number of its rows, and how many of them have label 1. Every map is defined
for any cells: those with parameters carry a ridge, so that their loss has one minimum, and probabilities of exactly 0 and 1 are
moved inside by half a step before a logarithm is taken. Maps give logits, which is what is mixed.

The arithmetic stands in csrc/fit/value_maps.c, with the constants and why they are so. It gives the same bits on every
processor, which NumPy's exponentials and LAPACK's solvers do not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s
from fastbin._base.checks import ScoreRange, are_probabilities
from fastbin._base.errors import FastbinWarning, warn
from fastbin._core.fit import fit_map as fit_in_c
from fastbin._core.fit import fit_steps as fit_steps_in_c
from fastbin._core.fit import pool_steps

# In the order of csrc/fit/value_maps.h.
MAPS = ("mixture", "beta", "isotonic", "logistic", "quadratic", "spline")
# What stands in each bin without a map: (x - y) / (T - 1), as uniform-mass bins have it, and (x - y + .5) / T.
BIN_MEANS = ("mean", "jeffreys")
VALUES = (*MAPS, *BIN_MEANS)
RECENTRINGS = ("none", "james-stein", "full")
# Steps of Newton's method, for one map: one on an exponential tail gains 1 in the exponent, and exponents of use end near 40.
MOST_STEPS = 200


class MapCells(NamedTuple):
    """Rows counted in cells. Cells without rows take no part in a fit; maps are evaluated at all."""

    scores: Float64s  # (J,), ascending
    counts: Float64s  # (J,), >= 0, one at least positive
    ones: Float64s  # (J,), of label 1
    n: int  # rows, to which counts add up
    score_range: ScoreRange


def fit_map(name: str, cells: MapCells) -> tuple[Float64s, Float64s]:
    """The logits of the cells, float64 (J,), and the parameters of one of `MAPS`.

    Parameters: of "logistic" and "quadratic" the coefficients of the positions (logits of the scores moved inside (0, 1), or
    standardised scores), from the lowest power on, (3,); of "beta" c, a and b of c + a log s - b log(1 - s), (3,); of "spline"
    position, logit and second derivative at each knot, (k, 3), or those of beta where fewer than three knots are apart. Warns
    if the map did not converge. Time O(J).
    """
    logits, wrong, parameters = fit_in_c(
        MAPS.index(name), cells.scores, cells.counts, cells.ones, cells.n, are_probabilities(cells.score_range), MOST_STEPS
    )
    tell_of(wrong)
    return logits, parameters


def tell_of(wrong: int) -> None:
    """Warn of the maps that did not converge, whose bits these are."""
    for place, name in enumerate(MAPS):
        if wrong >> place & 1:
            text = (
                f"the map {name!r} did not converge: the parameters reached so far are served, and may calibrate badly (which "
                "a certificate allows for); isotonic regression needs no iteration"
            )
            warn(FastbinWarning(text, of_convergence=True), stacklevel=3)


def value_steps(
    scores: Array, counts: Array, ones: Array, first_step: Int64s, bin_counts: Array, bin_label_sums: Array, n: int, *,
    values: str = "mixture", recentre: str = "james-stein", monotone: bool = True, score_range: ScoreRange = (0.0, 1.0),
) -> Float64s:  # fmt: skip
    """float64 (J,): the value of each step, in [h, 1 - h], h = .5 / (n + 1); "mean" in [0, 1], and .5 without evidence.

    "mixture" goes beyond h where scores are probabilities that do, down to h / 100: rows do not tell a rate from one below h.
    It goes a trace beyond that, too, so that scores next to 0 and 1 keep their order.
    The certificate of a two-resolution model holds for every value, so nothing here has to be proved. The J fine cells
    become the steps: `scores` ascend strictly (the lower edges, and the smallest score seen); `counts` and `ones` are
    int64, or float64 sums of weights. The evidence of the B bins (`bin_counts`, `bin_label_sums`, int64 or float64) is what the
    value of a bin would be the ratio of; `first_step` ascends strictly from 0. There are `n` rows, at least one, to which float
    weights are scaled to add up. `values` is one of `VALUES` ("mean" and "jeffreys" are averages already, and not re-centred),
    `recentre` one of `RECENTRINGS`. With `monotone`, steps that fall are pooled in their mean over the rows. Within a
    `score_range` of [0, 1] scores are probabilities, and maps are drawn towards leaving them as they are. Warns if a map did
    not converge.

    Time O(J). The values depend on the arguments alone, whatever the processor and the number of threads.
    """
    columns: list[Float64s] = [
        np.ascontiguousarray(column, np.float64) for column in (counts, ones, bin_counts, bin_label_sums)
    ]
    if counts.dtype.kind == "f":
        scale = n / float(counts.sum())
        columns = [column * scale for column in columns]
    counts, ones, bin_counts, bin_ones = columns
    steps, wrong = fit_steps_in_c(
        VALUES.index(values), RECENTRINGS.index(recentre), monotone, np.asarray(scores, np.float64), counts,
        ones, np.asarray(first_step, np.int64), bin_counts, bin_ones, n, are_probabilities(score_range), MOST_STEPS,
    )  # fmt: skip
    tell_of(wrong)
    return steps


def shifted_steps(steps: Float64s, counts: Array, first_step: Int64s, shifts: Float64s, n: int, *, monotone: bool) -> Float64s:
    """The values of `value_steps` moved by one shift a bin, no further beyond [h, 1 - h] than before; pooled where asked."""
    sizes = np.diff(np.append(first_step, len(steps)))
    half_step = 0.5 / (n + 1.0)
    moved = np.clip(steps + np.repeat(shifts, sizes), np.minimum(steps, half_step), np.maximum(steps, 1.0 - half_step))
    return pool_steps(moved, np.asarray(counts, np.float64)) if monotone else moved
