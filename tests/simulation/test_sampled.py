"""Promises hold in the population where rows with label 0 were left out at a known rate (Theorem F27)."""

from __future__ import annotations

import pytest
from scipy.stats import binom, norm
from simulation.pages import cells, table
from simulation.sampled import ALPHA, CASES, PAGE, draws, misses, misses_of_steps

import fastbin as fb


def assert_within(share: float, repetitions: int) -> None:
    """At most alpha and three standard errors, shared among the cases."""
    limit = binom.isf(norm.sf(3.0) / len(CASES), repetitions, ALPHA)
    assert round(share * repetitions) <= limit, f"{share} of {repetitions} failed, promised {ALPHA:g}"


@pytest.mark.parametrize("case", [(0.1, 4)])
def test_few(case: tuple[float, int]) -> None:
    interval, value, _ = misses(case, 150)
    assert interval > 0.0  # else the simulation could not see a promise fail
    assert_within(interval, 150)
    assert_within(value, 150)
    assert_within(misses_of_steps(case, 40), 40)


def test_without_the_rate_promises_fail() -> None:
    """The same draws, taken for all rows: each interval of a bin in the middle is elsewhere."""
    for draw in draws((0.1, 1), 5):
        model = fb.UniformMassBinning(10).fit(draw.scores, draw.labels).model_
        assert (model.interval(ALPHA)[5] > draw.truth(model.edges)[5]).all()


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_at_length(case: tuple[float, int]) -> None:
    interval, value, _ = misses(case, 1000)
    assert_within(interval, 1000)
    assert_within(value, 1000)
    assert_within(misses_of_steps(case, 1000), 1000)


def test_the_page_has_the_table() -> None:
    rows = cells(table(PAGE, "sampled"))
    assert [row[0] for row in rows] == [f"{rate:g}" for rate, _ in CASES]
    for row in rows:
        assert all(float(row[at]) <= 0.125 for at in (2, 3, 5))
