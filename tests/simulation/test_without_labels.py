"""Performance without labels: all intervals of all metrics hold at once, at thresholds that labels have shaped."""

from __future__ import annotations

import pytest
from scipy.stats import binom, norm
from simulation.pages import cells, table
from simulation.without_labels import ALPHA, CELLS, PAGE, simulate

FAST = [("flat", 1000, False, "umd"), ("sharp", 1000, False, "certified")]


def check(cell: tuple[str, int, bool, str], about: str, repetitions: int) -> None:
    name, n, shifted, scheme = cell
    found = simulate(scheme, name, n, about, shifted=shifted, repetitions=repetitions)
    limit = binom.isf(norm.sf(3.0) / (2 * len(CELLS)), repetitions, ALPHA)
    assert found.missed <= limit, f"{found.missed} of {repetitions} missed"
    assert found.width < 0.2


@pytest.mark.parametrize("about", ["rates", "labels"])
@pytest.mark.parametrize("cell", FAST)
def test_intervals_hold_at_once(cell: tuple[str, int, bool, str], about: str) -> None:
    check(cell, about, 25)


@pytest.mark.slow
@pytest.mark.parametrize("about", ["rates", "labels"])
@pytest.mark.parametrize("cell", CELLS)
def test_intervals_hold_at_once_at_length(cell: tuple[str, int, bool, str], about: str) -> None:
    check(cell, about, 1000)


def test_the_page_has_each_design() -> None:
    written = cells(table(PAGE, "performance"))
    assert len(written) == len(CELLS)
    for row in written:
        assert float(row[4]) <= ALPHA
        assert float(row[7]) <= ALPHA
