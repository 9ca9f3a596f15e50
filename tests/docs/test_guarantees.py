"""The tables of docs/guarantees.md are those that the library computes."""

from __future__ import annotations

import pytest
from simulation.pages import cells, table
from simulation.table import PAGE, SIZES, assumptions, conditional, epsilons, promised


def test_the_computed_table_is_up_to_date() -> None:
    assert table(PAGE, "promised") == promised()


def test_the_epsilons_of_all_promises_come_out_again() -> None:
    few = cells(epsilons((1000, 10_000)))
    assert [row[:5] for row in cells(table(PAGE, "epsilons"))] == few


def test_the_page_has_the_table_of_assumptions() -> None:
    """Word for word what certificates print."""
    assert table(PAGE, "assumptions") == assumptions()


@pytest.mark.parametrize(("n", "n_bins"), SIZES)
def test_measured_coverage_is_at_least_as_promised(n: int, n_bins: int) -> None:
    rows = cells(table(PAGE, f"conditional-{n}-{n_bins}"))
    assert len(rows) == 8
    for row in rows:
        coverages, sizes = [float(cell) for cell in row[1::2]], [float(cell) for cell in row[2::2]]
        assert min(coverages) > 0.893  # 0.9 less three standard errors of 20,000 repetitions
        assert sizes[3] < sizes[0]  # exact below GR21 (8)


def test_measured_sizes_come_out_again() -> None:
    documented, again = cells(table(PAGE, "conditional-1000-10")), cells(conditional(1000, 10, 300))
    for row, new in zip(documented, again, strict=True):
        assert row[0] == new[0]
        for size, other in zip(row[2::2], new[2::2], strict=True):
            assert float(size) == pytest.approx(float(other), rel=0.01)
