"""Tables of Ibis, asked by GROUP BY: the model of the same rows in memory, and errors that name the column.

`.ci/thorough databases` runs this.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fastbin as fb

ibis = pytest.importorskip("ibis", reason="no Ibis (ibis-framework[sqlite,polars])")

# Ibis sets an option of pandas that pandas 3 is about to drop.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:The 'future.infer_string' option:DeprecationWarning")]

N = 20_000

KINDS = {"p": "REAL", "y": "INTEGER", "w": "INTEGER", "word": "TEXT"}


def _columns() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    scores = rng.random(N).round(3)
    labels = (rng.random(N) < scores).astype(np.int64)
    return {"p": scores, "y": labels, "w": rng.integers(1, 4, N), "word": np.where(labels, "yes", "no")}


@pytest.fixture(params=["sqlite", "polars"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Columns as a table of Ibis."""

    def make(columns: dict[str, Any]) -> Any:
        table = pa.table(columns)
        if request.param == "polars":
            return ibis.polars.connect().create_table("kept", table)
        with sqlite3.connect(tmp_path / "kept.db") as connection:
            connection.execute(f"CREATE TABLE kept ({', '.join(f'{name} {kind}' for name, kind in KINDS.items())})")
            places = ", ".join("?" * len(columns))
            connection.executemany(f"INSERT INTO kept VALUES ({places})", zip(*table.to_pydict().values(), strict=True))
        connection.close()
        return ibis.sqlite.connect(tmp_path / "kept.db").table("kept")

    return make


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize(
    "calibrator",
    [
        fb.CertifiedCalibration(10),
        fb.UniformMassBinning(10, ties="random"),
        fb.UniformMassBinning(7, scheme="umb"),
        fb.FixedWidthBinning(10),
    ],
    ids=repr,
)
def test_the_model_of_the_same_rows_in_memory(make: Any, calibrator: Any, weight: str | None) -> None:
    columns = _columns()
    model = fb.engines.fit(make(columns), score="p", label="y", weight=weight, calibrator=calibrator)
    assert model == calibrator.fit(columns["p"], columns["y"], None if weight is None else columns[weight]).model_


def test_labels_that_are_words(make: Any) -> None:
    columns, bins = _columns(), fb.UniformMassBinning(10)
    model = fb.engines.fit(make(columns), score="p", label="word", positive="yes", calibrator=bins)
    assert np.array_equal(model.label_sums, bins.fit(columns["p"], columns["y"]).model_.label_sums)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("p", None, "of 20,000 rows, p is NULL in 1; leave such rows out of the table first"),
        ("p", 1.5, r"of 20,000 rows, p is outside \[0, 1\] in 1 \(such as 1.5\)"),
        ("y", 2, r"of 20,000 rows, y is neither 0 nor 1 in 1 \(such as 2\)"),
        ("w", -1, r"of 20,000 rows, w is negative in 1 \(such as -1\)"),
    ],
)
def test_a_row_that_is_refused(make: Any, column: str, value: Any, message: str) -> None:
    columns: dict[str, Any] = {name: values.tolist() for name, values in _columns().items()}
    columns[column][7] = value
    with pytest.raises(fb.InputError, match=message):
        fb.engines.fit(make(columns), score="p", label="y", weight="w", calibrator=fb.UniformMassBinning(10))
