"""Pages of docs: their numbers come out. Their examples run in tests/test_public_api.py."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from simulation import click_rates
from simulation.pages import cells, table

import fastbin as fb
from fastbin.guarantees.n_bins import positives_needed
from fastbin.intervals import sidak
from fastbin.shift import ImportanceWeightedBinning
from fastbin.tables.frames import NarwhalsFrame
from fastbin.tables.sql import CELLS_OF_A_PARTITION, MOST_VALUES, VALUES_OF_A_PARTITION, DuckDBTable
from oracle import REPOSITORY

DOCS = REPOSITORY / "docs"
RESULTS = REPOSITORY / "bench" / "papers" / "results"
CELL_BYTES, VALUE_BYTES = 31, 17


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf8")


def test_the_table_of_widths() -> None:
    documented = {
        method: float(width) for method, width in re.findall(r"^\| `([\w-]+)`.* \| (0\.\d+)", page("shift"), re.MULTILINE)
    }
    assert len(documented) == 4
    widths: dict[str, list[float]] = {method: [] for method in documented}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        scores, weights = rng.random(3000), 0.5 + rng.random(3000)
        labels = rng.random(3000) < 0.2 + 0.6 * scores
        cal = ImportanceWeightedBinning(10, seed=seed).fit(scores, labels, weights)
        for method, half_widths in widths.items():
            ends = cal.interval(0.1, method, weight_bound=1.5, weight_min=0.5)
            half_widths.append(float(np.diff(ends).max()) / 2)
    for method, half_widths in widths.items():
        assert abs(np.mean(half_widths) - documented[method]) < 0.003, (method, np.mean(half_widths))


@pytest.mark.parametrize(
    ("said", "is_so"),
    [
        ("C = 24,576 the cells", CELLS_OF_A_PARTITION == 24_576),
        ("up to 53,248 rows a partition, and 2^19 in all", (VALUES_OF_A_PARTITION, MOST_VALUES) == (53_248, 2**19)),
        (
            "the limits are 2^18 cells and 2^19 scores",
            all((each.most_cells, each.value_limit) == (2**18, 2**19) for each in (NarwhalsFrame, DuckDBTable)),
        ),
        ("31 C = 762 kB", round(CELL_BYTES * CELLS_OF_A_PARTITION / 1000) == 762),
        ("17 * 53,248 = 905 kB", round(VALUE_BYTES * VALUES_OF_A_PARTITION / 1000) == 905),
        ("The bound of 1 MB", VALUE_BYTES * VALUES_OF_A_PARTITION + CELL_BYTES * CELLS_OF_A_PARTITION / 8 < 2**20),
        ("64,000 * 762 kB = 49 GB", round(64_000 * CELL_BYTES * CELLS_OF_A_PARTITION / 1e9) == 49),
    ],
)
def test_what_is_said_of_costs(said: str, is_so: bool) -> None:
    assert said in page("engines")
    assert is_so


@pytest.mark.parametrize(("row", "ranks"), [("100 bins", 99), ("`CertifiedCalibration`", 1000)])
def test_the_table_of_passes(row: str, ranks: int) -> None:
    """One digit of the most rows that so many passes are enough for."""
    (line,) = (line for line in page("engines").splitlines() if line.startswith(f"| {row}, up to"))
    told = re.findall(r"(\d) \* 10\^(\d+)", line)
    assert len(told) >= 3
    for passes, (digit, power) in enumerate(told, 2):
        most = MOST_VALUES * (CELLS_OF_A_PARTITION / ranks) ** (passes - 1)
        assert math.floor(most / 10.0 ** int(power)) == int(digit), (passes, most)


def test_the_clicks_for_a_factor() -> None:
    for row in cells(table(DOCS / "click-rates.md", "positives")):
        level = sidak(0.1, int(row[0].split()[0]))
        needed = [positives_needed(ratio, level) for ratio in (2.0, 1.5, 1.25, 1.2, 1.1, 1.05)]
        assert row[1:] == [f"{positives:,}" for positives in needed]


def test_the_factors_of_click_rates() -> None:
    documented = cells(table(DOCS / "click-rates.md", "factors"))
    assert len(documented) == 8
    again = cells(click_rates.factors({10**6: 60}, 0))
    for row, new in zip(documented[:2], again, strict=True):
        assert row[2] == new[2]
        assert [float(cell) for cell in row[3:5]] == pytest.approx([float(cell) for cell in new[3:5]], rel=0.05)
    for row in documented:
        assert float(row[5]) > 0.9 - 3.5 * math.sqrt(0.09 / int(row[1].replace(",", "")))
    exact = [click_rates.coverage(n) for n in (10**6, 10**7, 10**8)]
    assert "exactly, it is {:.3f}, {:.3f} and {:.3f} in bins".format(*exact) in page("click-rates")
    kept = cells(table(DOCS / "click-rates.md", "kept"))
    assert len(kept) == 6
    for rows, ratio, n_bins, *_ in kept:
        assert fb.choose_n_bins(int(rows.replace(",", "")), ratio=float(ratio), rate=click_rates.RATE) == int(n_bins)


def test_pictures_are_there_and_small() -> None:
    pictures = re.findall(r"!\[.*\]\((.*)\)", page("assessment"))
    assert len(pictures) == 3
    assert all(0 < (DOCS / picture).stat().st_size < 150_000 for picture in pictures)


def test_the_figures_of_credit_are_those_of_the_results() -> None:
    text, printed = page("assessment"), (RESULTS / "gr21_credit.txt").read_text(encoding="utf8")
    computed = re.search(r"UMS (0\.\d+), UMD (0\.\d+)\.", printed)
    documented = re.search(r"\((0\.\d+) and (0\.\d+) against 0\.79 and 0\.63", text)
    assert computed is not None
    assert documented is not None
    assert (float(documented[1]), float(documented[2])) == (round(float(computed[2]), 2), round(float(computed[1]), 2))
    rows = {row[0]: row for row in (line.split() for line in printed.split("The test of UMD")[1].splitlines()) if row}
    assert f"confirm {rows['1000'][2]} of 100 certificates at n = 1000" in text
    assert rows["7000"][2] == "0"
    assert abs(float(rows["7000"][5].replace(",", "")) - 30_000) < 1000
    assert re.search(r"the smallest n is 1510, and 709 by", printed)


def test_the_figures_of_two_gaussians_are_those_of_the_results() -> None:
    text, printed = page("assessment"), (RESULTS / "ssh23_risk.txt").read_text(encoding="utf8")
    slopes = re.search(r"risk (0\.\d+), bound 0\.\d+; least risk (-0\.\d+)", printed)
    assert slopes is not None
    assert f"n^{slopes[1]} with a least risk like n^{slopes[2]}" in text
    fits = re.search(r"Exceeded in ([\d,]+) fitted functions: by R_cal 0 times, by R_sha 0 times", printed)
    assert fits is not None
    assert f"exceeded in {fits[1]} fits" in text
    parity = re.search(r"B\^(-1\.\d)\d over even and B\^(-[12]\.\d)\d over odd", printed)
    assert parity is not None
    assert abs(float(parity[1]) + 1.3) < 0.11
    assert abs(float(parity[2]) + 2.0) < 0.11
