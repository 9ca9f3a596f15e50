"""Isotonic regression: pool adjacent violators, and the slopes behind the inductive Venn-Abers predictor.

Samples stand as *knots*: distinct scores in ascending order, each with what was seen there. Counts are integers, and ratios of
integers are compared exactly (by products of 128 bits), so that blocks of equal means are recognised as such and every value is
one correctly rounded division. All arrays are contiguous and one-dimensional; the caller allocates those that are filled, which
may not overlap the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastbin._core.kernels._jit import boolean, f64_in, f64_out, i64, i64_in, i64_out, kernel, u64


@kernel(u64(u64, u64))
def high_word(a, b):
    """The upper 64 bits of the product of two unsigned 64-bit integers."""
    low_half = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    a_low, a_high = a & low_half, a >> half
    b_low, b_high = b & low_half, b >> half
    middle = a_high * b_low + ((a_low * b_low) >> half)
    other = a_low * b_high + (middle & low_half)
    return a_high * b_high + (middle >> half) + (other >> half)


@kernel(boolean(i64, i64, i64, i64))
def at_least(a, b, c, d):
    """Whether a / b >= c / d, exactly, for a and c not negative, b and d positive."""
    if (a | b | c | d) < 2**31:
        return a * d >= c * b
    left_high, right_high = high_word(np.uint64(a), np.uint64(d)), high_word(np.uint64(c), np.uint64(b))
    if left_high != right_high:
        return left_high > right_high
    return np.uint64(a) * np.uint64(d) >= np.uint64(c) * np.uint64(b)


# Knots after which Python looks at signals.
KNOTS_AT_A_TIME = 2**20


def pool_counts(counts: Any, label_sums: Any, starts: Any, block_counts: Any, block_sums: Any) -> int:
    """Pool adjacent violators among knots with positive counts. Returns the number of blocks.

    Block t begins at knot starts[t] and holds block_counts[t] samples, block_sums[t] of them with label 1; the means of
    successive blocks rise strictly. The filled arrays have one entry per knot; those beyond the blocks are unspecified.
    """
    return _in_parts(_pool_more_counts, counts, label_sums, starts, block_counts, block_sums)


def pool_weights(weights: Any, label_weights: Any, starts: Any, block_weights: Any, block_label_weights: Any) -> int:
    """As `pool_counts` for real weights: positive sums of w, and of w y, per knot. Sums and means are rounded doubles."""
    return _in_parts(_pool_more_weights, weights, label_weights, starts, block_weights, block_label_weights)


def _in_parts(pool_more: Callable[..., int], *columns: Any) -> int:
    n_blocks, n_knots = 0, columns[0].size
    for first in range(0, n_knots, KNOTS_AT_A_TIME):
        n_blocks = pool_more(*columns, first, min(first + KNOTS_AT_A_TIME, n_knots), n_blocks)
    return n_blocks


@kernel(i64(i64_in, i64_in, i64_out, i64_out, i64_out, i64, i64, i64))
def _pool_more_counts(counts, label_sums, starts, block_counts, block_sums, first, end, n_blocks):
    """Go on after n_blocks blocks of the knots before `first`, up to the knot before `end`. Returns the number of blocks."""
    top = n_blocks - 1
    for knot in range(first, end):
        top += 1
        starts[top] = knot
        block_counts[top] = counts[knot]
        block_sums[top] = label_sums[knot]
        while top > 0 and at_least(block_sums[top - 1], block_counts[top - 1], block_sums[top], block_counts[top]):
            top -= 1
            block_counts[top] += block_counts[top + 1]
            block_sums[top] += block_sums[top + 1]
    return top + 1


@kernel(i64(f64_in, f64_in, i64_out, f64_out, f64_out, i64, i64, i64))
def _pool_more_weights(weights, label_weights, starts, block_weights, block_label_weights, first, end, n_blocks):
    """As `_pool_more_counts`."""
    top = n_blocks - 1
    for knot in range(first, end):
        top += 1
        starts[top] = knot
        block_weights[top] = weights[knot]
        block_label_weights[top] = label_weights[knot]
        while (
            top > 0 and block_label_weights[top - 1] / block_weights[top - 1] >= block_label_weights[top] / block_weights[top]
        ):
            top -= 1
            block_weights[top] += block_weights[top + 1]
            block_label_weights[top] += block_label_weights[top + 1]
    return top + 1


@kernel(i64(i64_in, i64_in, i64_out, i64_out, i64_out, i64_out))
def venn_abers_slopes(counts, sums, numerators, denominators, next_corner, corners):
    """The value of isotonic regression at each knot once a sample with label 1 has joined it (Vovk & Petej 2014).

    `counts` and `sums` are cumulative over m knots, from 0: m + 1 points of the cumulative sum diagram. Knot i, from 1, gets
    numerators[i - 1] / denominators[i - 1]. `next_corner` and `corners` are scratch of m + 1 entries. Returns 0. Time O(m).

    The joined sample moves all points from i on by (1, 1); seen from there, points 0 ... i - 1 have moved by (-1, -1). The
    value is the slope of the bridge between the lower hull of these (a stack) and that of points i ... m (each corner links
    to the next). As i grows the slope rises: a point once dropped from the left hull stays out, and the right end of the
    bridge only moves right.
    """
    m = counts.size - 1
    next_corner[m] = -1
    for b in range(m - 1, 0, -1):
        ahead = b + 1
        while next_corner[ahead] != -1:
            beyond = next_corner[ahead]
            if not at_least(
                sums[ahead] - sums[b], counts[ahead] - counts[b], sums[beyond] - sums[ahead], counts[beyond] - counts[ahead]
            ):
                break
            ahead = beyond
        next_corner[b] = ahead

    top = -1
    b = 1
    for i in range(1, m + 1):
        a = i - 1
        while top > 0:
            last, before = corners[top], corners[top - 1]
            if not at_least(
                sums[last] - sums[before], counts[last] - counts[before], sums[a] - sums[last], counts[a] - counts[last]
            ):
                break
            top -= 1
        top += 1
        corners[top] = a
        b = max(b, i)
        moved = True
        while moved:
            moved = False
            a = corners[top]
            while next_corner[b] != -1:
                ahead = next_corner[b]
                if not at_least(
                    sums[b] - sums[a] + 1, counts[b] - counts[a] + 1, sums[ahead] - sums[a] + 1, counts[ahead] - counts[a] + 1
                ):
                    break
                b = ahead
                moved = True
            while top > 0:
                before = corners[top - 1]
                if not at_least(
                    sums[b] - sums[before] + 1, counts[b] - counts[before] + 1, sums[b] - sums[a] + 1, counts[b] - counts[a] + 1
                ):
                    break
                top -= 1
                a = before
                moved = True
        numerators[i - 1] = sums[b] - sums[a] + 1
        denominators[i - 1] = counts[b] - counts[a] + 1
    return 0
