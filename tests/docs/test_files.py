"""docs/files.md: its commands run, on the files that it names, and what it says of types, names and limits is so.

Its errors are examples, which tests/test_public_api.py runs.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import run_lines

import fastbin as fb
from fastbin.cli._options import LEAST_MEMORY
from fastbin.cli.fit import ROWS_AS_ARRAYS
from fastbin.io import open_table
from fastbin.tables.replay import MEMORY_BYTES
from fastbin.tables.table import COMPRESSIONS, SUFFIXES
from oracle import REPOSITORY

PAGE = (REPOSITORY / "docs" / "files.md").read_text(encoding="utf8")
N = 3000


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pa.Table:
    """The files that the page names."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    scores = rng.random(N).round(6)
    table = pa.table({"p": scores, "y": (rng.random(N) < scores).astype(np.int8)})
    pairs = list(zip(table["p"].to_pylist(), table["y"].to_pylist(), strict=True))
    Path("scores.csv").write_text("p,y\n" + "".join(f"{p},{y}\n" for p, y in pairs))
    for folder in ("days", "regions/region=north", "regions/region=south", "german"):
        Path(folder).mkdir(parents=True)
    for number in range(3):
        pq.write_table(table.slice(number * N // 3, N // 3), f"days/{number}.parquet")
    for number, region in enumerate(("north", "south")):
        pq.write_table(table.slice(number * N // 2, N // 2), f"regions/region={region}/0.parquet")
    Path("german/0.csv").write_text("p;y\n" + "".join(f"{p};{y}\n".replace(".", ",") for p, y in pairs))
    return table


def test_its_commands_run(rows: pa.Table) -> None:
    block = "".join(re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
    expected = fb.CertifiedCalibration().fit(rows["p"].to_numpy(), rows["y"].to_numpy()).model_
    for line in block.splitlines():
        run_lines(line)
        if " -o credit.fbm" in line:
            assert fb.load("credit.fbm") == expected, line
    assert pq.read_table("out.parquet").column_names == ["p", "y", "region", "calibrated"]
    assert pq.read_table("out.parquet")["region"].to_pylist() == ["north"] * (N // 2) + ["south"] * (N // 2)


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize(("pattern", "has_column"), [("regions/*/*.parquet", True), ("regions/region=north/*.parquet", False)])
def test_which_folders_of_a_pattern_are_columns(pattern: str, has_column: bool) -> None:
    assert f"`{pattern}` {'has' if has_column else 'does not'}" in PAGE
    assert open_table(pattern).names == ["p", "y", *["region"] * has_column]


def test_its_names_and_numbers() -> None:
    table = PAGE.partition("| --- |")[2].partition("\n\n")[0]
    named = {suffix for name in re.findall(r"`\.([\w.]+)`", table) for suffix in name.split(".")}
    assert {suffix.lstrip(".") for suffix in (*SUFFIXES, *COMPRESSIONS)} - named == {"tab"}
    assert f"at least\n{LEAST_MEMORY // 10**6} MB" in PAGE
    assert ROWS_AS_ARRAYS == 2**22
    assert "2^22 rows" in PAGE
    assert f"up to {MEMORY_BYTES // 2**20} MB, which are {MEMORY_BYTES // (8 + 1) // 10**6} million scores" in PAGE
