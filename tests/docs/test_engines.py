"""docs/engines.md: its examples run, and the numbers of its cost model are those of the code."""

from __future__ import annotations

import doctest
import math
import re

import pytest

from fastbin.tables.frames import NarwhalsFrame
from fastbin.tables.sql import CELLS_OF_A_PARTITION, MOST_VALUES, VALUES_OF_A_PARTITION, DuckDBTable
from oracle import REPOSITORY

PAGE = REPOSITORY / "docs" / "engines.md"
CELL_BYTES, VALUE_BYTES = 31, 17


def test_the_examples_run() -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0
    assert tried > 10


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
    assert said in PAGE.read_text(encoding="utf8")
    assert is_so


@pytest.mark.parametrize(("row", "ranks"), [("100 bins", 99), ("`CertifiedCalibration`", 1000)])
def test_the_table_of_passes(row: str, ranks: int) -> None:
    """One digit of the most rows that so many passes are enough for."""
    (line,) = (line for line in PAGE.read_text(encoding="utf8").splitlines() if line.startswith(f"| {row}, up to"))
    told = re.findall(r"(\d) \* 10\^(\d+)", line)
    assert len(told) >= 3
    for passes, (digit, power) in enumerate(told, 2):
        most = MOST_VALUES * (CELLS_OF_A_PARTITION / ranks) ** (passes - 1)
        assert math.floor(most / 10.0 ** int(power)) == int(digit), (passes, most)
