"""The tables of docs/guarantees.md are those that the library computes."""

from __future__ import annotations

import re

import pytest
from simulation.table import PAGE, SIZES, assumptions, conditional, promised


def _table(name: str) -> str:
    if not PAGE.is_file():
        pytest.skip(f"{PAGE} is not part of this distribution")
    table = re.search(f"<!-- table: {name} -->\n(.*?)<!-- end -->", PAGE.read_text(encoding="utf8"), re.DOTALL)
    assert table, f"the page has no table {name}"
    return table[1].strip()


def test_the_computed_table_is_up_to_date() -> None:
    assert _table("promised") == promised()


def test_the_page_has_the_table_of_assumptions() -> None:
    """Word for word what certificates print."""
    assert _table("assumptions") == assumptions()


def _cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


@pytest.mark.parametrize(("n", "n_bins"), SIZES)
def test_measured_coverage_is_at_least_as_promised(n: int, n_bins: int) -> None:
    rows = _cells(_table(f"conditional-{n}-{n_bins}"))
    assert len(rows) == 8
    for row in rows:
        coverages, sizes = [float(cell) for cell in row[1::2]], [float(cell) for cell in row[2::2]]
        assert min(coverages) > 0.893  # 0.9 less three standard errors of 20,000 repetitions
        assert sizes[3] < sizes[0]  # exact below GR21 (8)


def test_measured_sizes_come_out_again() -> None:
    documented, again = _cells(_table("conditional-1000-10")), _cells(conditional(1000, 10, 300))
    for row, new in zip(documented, again, strict=True):
        assert row[0] == new[0]
        for size, other in zip(row[2::2], new[2::2], strict=True):
            assert float(size) == pytest.approx(float(other), rel=0.01)
