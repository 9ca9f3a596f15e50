"""Exact intervals for a batch of known size (docs/guarantees.md, Theorem F25)."""

from __future__ import annotations

import numpy as np
import pytest

from fastbin.intervals import clopper_pearson, sidak
from fastbin.intervals.finite import label_sums_of_batch, rates_of_batch
from reference.plans import ones_of_batch


@pytest.mark.parametrize(
    ("size", "count", "ones", "level", "ends"),
    [
        (100, 40, 13, 0.05, [22, 45]),
        (1000, 300, 0, 0.1, [0, 8]),
        (50, 50, 7, 0.05, [7, 7]),
        (9, 0, 0, 0.1, [0, 9]),
        (4, 1, 0, 0.5, [0, 3]),
        (4, 1, 1, 0.5, [1, 4]),
    ],  # a chance of 1/4 counts as likely, however it is rounded
)
def test_vectors(size: int, count: int, ones: int, level: float, ends: list[int]) -> None:
    assert label_sums_of_batch([ones], [count], [size], level).tolist() == [ends]


@pytest.mark.parametrize("level", [0.5, 0.1, 0.0105, 1e-6, 1e-30])
def test_the_ends_are_those_of_all_numbers_that_are_possible(level: float) -> None:
    rows = [(x, n, m) for m in (1, 2, 7, 30, 61) for n in {1, m // 3, m // 2, m} if n for x in {0, 1, n // 2, n} if x <= n]
    found = label_sums_of_batch(*np.array(rows).T, level)
    for (ones, count, size), ends in zip(rows, found.tolist(), strict=True):
        possible = ones_of_batch(ones, count, size, level)
        assert possible == list(range(possible[0], possible[-1] + 1))
        assert ends == [possible[0], possible[-1]], (ones, count, size)


@pytest.mark.parametrize(
    ("share", "radius", "binomial"),
    [(0.1, 0.1230, 0.1304), (0.3, 0.0630, 0.0751), (0.5, 0.0410, 0.0580), (0.8, 0.0200, 0.0458), (0.95, 0.0090, 0.0420)],
)
def test_radii_are_those_that_were_published(share: float, radius: float, binomial: float) -> None:
    count, level = int(1000 * share), sidak(0.1, 10)
    ends, ends_of_draws = rates_of_batch([count // 2], [count], [1000], level), clopper_pearson([count // 2], [count], level)
    assert ends[0, 1] - 0.5 == pytest.approx(radius, abs=6e-5)
    assert ends_of_draws[0, 1] - 0.5 == pytest.approx(binomial, abs=6e-5)


def test_rates_of_all_rows_and_of_those_without_a_label() -> None:
    columns = [13, 7, 0, 0], [40, 50, 0, 0], [100, 50, 9, 0], 0.05
    np.testing.assert_array_equal(rates_of_batch(*columns), [[0.22, 0.45], [0.14, 0.14], [0, 1], [0, 1]])
    np.testing.assert_array_equal(rates_of_batch(*columns, unlabelled=True), [[9 / 60, 32 / 60], [0, 1], [0, 1], [0, 1]])


def test_large_batches_lose_no_digits() -> None:
    """A part in a thousand of a very large batch is as good as drawn from a population."""
    size, count = 10**12, 10**5
    ends = rates_of_batch([30_000], [count], [size], 0.05)
    np.testing.assert_allclose(ends, clopper_pearson([30_000], [count], 0.05), rtol=1e-6)
    assert label_sums_of_batch([300_000], [10**6], [10**6], 0.05).tolist() == [[300_000, 300_000]]
    assert label_sums_of_batch([3], [10], [10**6], 1e-20)[0, 0] == 3  # that all three were drawn has a chance of 7e-16
