"""How models share alpha: the common radius, and the part of each."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fastbin import InputError, guarantees, intervals, theory
from fastbin.guarantees.n_bins import interior_counts
from fastbin.guarantees.simultaneous import failure_within, share_alpha
from reference import joint as reference

# ---------------------------------------------------------------------------------------------- the common radius


def counts_of(sizes: list[int], n_bins: int) -> list[int]:
    return [
        count for n in sizes for (count, _), repeats in interior_counts(n, n_bins, "umd").items() for count in [count] * repeats
    ]


@pytest.mark.parametrize(
    ("sizes", "n_bins", "hoeffding", "largest", "common"),
    [
        ([1000] * 5, 10, 0.187, 0.157, 0.157),
        ([200, 200, 5000, 5000, 20_000], 5, 0.282, 0.231, 0.206),
        ([400, 4000], 10, 0.277, 0.231, 0.206),
    ],
)
def test_known_common_radii(sizes: list[int], n_bins: int, hoeffding: float, largest: float, common: float) -> None:
    counts = counts_of(sizes, n_bins)
    level = intervals.sidak(0.1, len(counts))
    assert math.sqrt(math.log(2 * len(counts) / 0.1) / (2 * min(counts))) == pytest.approx(hoeffding, abs=5e-4)
    assert max(guarantees.exact_radius(count, level) for count in set(counts)) == pytest.approx(largest, abs=5e-4)
    assert guarantees.common_radius(counts, 0.1) == pytest.approx(common, abs=5e-4)


# For the chance of a failure, which may depend on the radius so little that this moves the radius by 1e-8.
ROUNDING = 1e-15
LARGEST_ALPHA = 0.5 - 2 * ROUNDING

small_cells = st.lists(st.tuples(st.integers(0, 16), st.sampled_from([0.0, 0.0, 0.125])), min_size=1, max_size=4)


@settings(max_examples=25, deadline=None)
@given(small_cells.filter(lambda cells: any(count for count, _ in cells)), st.floats(0.001, 0.5))
@example([(2, 0.0)], 0.5)
def test_the_common_radius_equals_the_exact_search(cells: list[tuple[int, float]], alpha: float) -> None:
    counts, shifts = (list(column) for column in zip(*cells, strict=True))
    radius = guarantees.common_radius(counts, alpha, shifts=shifts)
    # Cells that fail hardly ever enter with more than their chance.
    assert radius <= reference.common_radius(counts, alpha, shifts) + 1e-8
    assert radius >= reference.common_radius(counts, alpha + ROUNDING, shifts) - 3e-12


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 2000), min_size=1, max_size=20), st.floats(1e-6, LARGEST_ALPHA))
@example([2], LARGEST_ALPHA)
def test_the_common_radius_is_never_above_the_largest_at_sidak_and_never_below_the_largest_at_alpha(
    counts: list[int], alpha: float
) -> None:
    common, level = guarantees.common_radius(counts, alpha), intervals.sidak(alpha, len(counts))
    assert common <= max(guarantees.exact_radius(count, level - ROUNDING) for count in counts) + 2e-12
    assert common >= max(guarantees.exact_radius(count, alpha + ROUNDING) for count in counts) - 2e-12


@pytest.mark.parametrize("count", [1, 7, 99, 1000])
def test_cells_of_one_size_have_their_own_radius(count: int) -> None:
    for n_cells in (1, 3, 40):
        expected = guarantees.exact_radius(count, intervals.sidak(0.1, n_cells))
        assert guarantees.common_radius([count] * n_cells, 0.1) == pytest.approx(expected, abs=2e-12)


def test_cells_without_samples_are_left_out_and_order_does_not_matter() -> None:
    counts = [40, 0, 400, 41, 0]
    expected = guarantees.common_radius([41, 40, 400], 0.1)
    assert guarantees.common_radius(counts, 0.1) == guarantees.common_radius(counts[::-1], 0.1) == expected
    assert guarantees.common_radius([0, 0], 0.1) == 0.0


def test_the_common_radius_of_many_different_counts_takes_seconds() -> None:
    # Hundreds of counts, none much smaller than the others.
    counts = np.random.default_rng(5).integers(300, 900, 10_000)
    started = time.perf_counter()
    radius = guarantees.common_radius(counts, 0.1)
    assert time.perf_counter() - started < 20.0
    level = intervals.sidak(0.1, len(counts))
    assert 0.5 * guarantees.exact_radius(300, level) < radius < guarantees.exact_radius(300, level)


def test_a_coarser_grid_finds_the_same_maximum() -> None:
    rng = np.random.default_rng(8)
    for _ in range(60):
        count = int(math.exp(rng.uniform(math.log(260), math.log(20_000))))
        radius = rng.uniform(0.5, 8.0) * 0.5 / math.sqrt(count)
        assert failure_within(count, radius, 1e-300) == pytest.approx(theory.worst_failure(count, radius), rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([3, -1], 0.1, None), r"counts\[1\] is -1"),
        (([3, 1], 0.9, None), "did you mean 0.1"),
        (([3, 1], 0.1, [0.1]), "one distance for each of the 2 cells"),
        (([3, 1], 0.1, [0.1, -0.1]), "none of them negative"),
        (([3, 1], 0.1, [0.1, math.nan]), "none of them negative"),
    ],
)
def test_the_common_radius_refuses(arguments: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        guarantees.common_radius(*arguments[:2], shifts=arguments[2])


# ---------------------------------------------------------------------------------------------- shares of alpha

sizes_of_models = st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 50)), min_size=1, max_size=30)


@settings(max_examples=100, deadline=None)
@given(sizes_of_models, st.floats(1e-9, 0.5))
def test_shares_multiply_to_alpha(models: list[tuple[int, int]], alpha: float) -> None:
    counts, bins = np.array(models).T
    levels = share_alpha(counts, bins, alpha)
    product = math.exp(np.log1p(-levels).sum())
    assert 1 - alpha - 1e-12 <= product <= 1 - alpha + 1e-9
    assert (levels >= 1e-3 * alpha / len(models) * (1 - 1e-12)).all()
    assert (levels <= alpha).all()
    # More samples in the smallest bin never get more of alpha, in as many bins.
    order = np.lexsort((counts, bins))
    same = np.diff(bins[order]) == 0
    assert (np.diff(levels[order])[same] <= 1e-15).all()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 500), st.integers(1, 20)), min_size=2, max_size=6), st.floats(0.001, 0.5))
def test_shares_equal_the_reference(models: list[tuple[int, int]], alpha: float) -> None:
    counts, bins = (list(column) for column in zip(*models, strict=True))
    assert share_alpha(counts, bins, alpha) == pytest.approx(reference.shares(counts, bins, alpha), rel=1e-7, abs=1e-12)


def test_models_without_bins_get_nothing() -> None:
    levels = share_alpha([0, 50, 0, 50], [0, 4, 0, 4], 0.1)
    assert levels.tolist() == [0.0, pytest.approx(intervals.sidak(0.1, 2)), 0.0, pytest.approx(intervals.sidak(0.1, 2))]
    assert share_alpha([7, 0], [3, 0], 0.1).tolist() == [0.1, 0.0]
    assert share_alpha([7, 0, 9], [3, 0, 1], 0.1, class_wise=True).tolist() == [0.05, 0.0, 0.05]


def test_the_smallest_alphas() -> None:
    assert share_alpha([5] * 3, [4] * 3, 3e-100) == pytest.approx([1e-100] * 3)
    assert (share_alpha([5, 9], [4, 2], 1e-98) >= 1e-100).all()
    with pytest.raises(InputError, match="the smallest accepted is 3e-100"):
        share_alpha([5] * 3, [4] * 3, 2e-100)


@pytest.mark.parametrize(
    ("counts", "bins", "message"),
    [
        ([5], [1, 2], "counts has 1, bins has 2"),
        ([5, 5], [1, -2], r"bins\[1\] is -2"),
        ([5, 0], [1, 2], r"counts\[1\] is 0; leave the model out"),
    ],
)
def test_shares_refuse(counts: list[int], bins: list[int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        share_alpha(counts, bins, 0.1)
