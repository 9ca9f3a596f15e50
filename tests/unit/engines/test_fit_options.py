"""Arguments of `engines.fit` besides the table: names of columns, a calibrator, an engine, a callback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import fastbin as fb
from fastbin.tables import opening as tables
from fastbin.tables import replay

N = 5000
RNG = np.random.default_rng(0)
SCORES = RNG.random(N)
LABELS = RNG.random(N) < SCORES
TABLE = pa.table({"p": SCORES, "y": LABELS, "n": np.ones(N, np.int64), "s": np.arange(N) % 3})


def fit(table: Any, **options: Any) -> Any:
    return fb.engines.fit(table, **{"score": "p", "label": "y", **options})


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "BATCH_ROWS", 512)
    monkeypatch.setattr(replay, "MEMORY_BYTES", 9 * 4000)  # fewer than there are


def test_columns_that_are_absent_or_there_twice(tmp_path: Path) -> None:
    connection = duckdb.connect()
    connection.register("kept", TABLE)
    pyarrow.parquet.write_table(TABLE, tmp_path / "rows.parquet")
    (tmp_path / "rows.csv").write_text("p,y,p\n0.5,1,0.5\n")
    all_kinds = (TABLE, pl.from_arrow(TABLE).lazy(), TABLE.to_pandas(), connection.table("kept"), tmp_path / "rows.parquet")
    for table in all_kinds:
        for name in ("score", "label", "weight", "segment"):
            with pytest.raises(fb.InputError, match="has no column 'q'; it has 'p', 'y', 'n', 's'"):
                fit(table, **{name: "q"})
        with pytest.raises(fb.InputError, match="no column 'P'"):
            fit(table, score="P")
        with pytest.raises(fb.InputTypeError, match="3 is not the name of a column"):
            fit(table, score=3)
    twice = pa.table([TABLE["p"], TABLE["y"], TABLE["p"]], names=["p", "y", "p"])
    for doubled in (
        twice,
        connection.sql("SELECT p, y, p FROM kept"),
        TABLE.to_pandas()[["p", "y", "p"]],
        tmp_path / "rows.csv",
    ):
        with pytest.raises(fb.InputError, match="2 columns named 'p'"):
            fit(doubled)


def test_a_function_whose_columns_change() -> None:
    made = iter([TABLE, TABLE.rename_columns(["q", "y", "n", "s"])])
    with pytest.raises(fb.InputError, match="no column 'p'"):
        fit(lambda: next(made))


def test_only_the_named_columns_are_read(tmp_path: Path) -> None:
    """A file whose other column cannot be read at all, and a query whose other column fails."""
    asked = []
    stream = tables.open(TABLE).stream()

    class Watched(pl.DataFrame):
        def select(self, names: Any, **options: Any) -> pl.DataFrame:
            chosen = super().select(names, **options)
            asked.append(chosen.columns)
            return chosen

    fit(Watched(pl.from_arrow(TABLE)), weight="n")
    assert asked == [["p", "y", "n"]] * 2
    connection = duckdb.connect()
    connection.register("rows", TABLE)
    assert fit(connection.sql("SELECT p, y, error('read') AS note FROM rows")) == fit(TABLE)
    assert [batch.schema.names for batch in stream.batches(["y"])] == [["y"]] * 10


# ---------------------------------------------------------------------- calibrators, engines


def test_the_default_is_that_of_the_documents() -> None:
    """In memory, by streams, by GROUP BY and for segments."""
    certified = fb.CertifiedCalibration()
    expected = certified.fit(SCORES, LABELS).model_
    connection = duckdb.connect()
    connection.register("kept", TABLE)
    assert fit(TABLE) == fit(connection.table("kept"), engine="group-by") == expected
    by_segment = fb.multi.SegmentedBinning(certified).fit(SCORES, LABELS, np.arange(N) % 3).model_
    assert fb.multi.SegmentedBinning().fit(SCORES, LABELS, np.arange(N) % 3).model_ == by_segment
    assert fit(TABLE, segment="s") == by_segment
    with pytest.raises(fb.InputError, match="calibrator is CertifiedCalibration, and segments are fitted by GROUP BY with Uni"):
        fit(connection.table("kept"), segment="s", engine="group-by")


def test_what_is_no_calibrator() -> None:
    for wrong, message in (
        (fb.UniformMassBinning, "calibrator is the class UniformMassBinning; pass a binary calibrator"),
        (7, "calibrator is of type int"),
        (fb.multi.TopLabelBinning(), "calibrator is of type TopLabelBinning"),
    ):
        with pytest.raises(fb.InputTypeError, match=message):
            fit(TABLE, calibrator=wrong)
    with pytest.raises(fb.InputError, match="calibrator is a SegmentedBinning, and segment is None"):
        fit(TABLE, calibrator=fb.multi.SegmentedBinning())
    with pytest.raises(fb.InputError, match="n_bins"):
        fit(TABLE, calibrator=fb.UniformMassBinning(0))
    with pytest.raises(fb.InputError, match="engine"):
        fit(TABLE, engine="spark")


def test_the_calibrator_is_left_as_it_was() -> None:
    calibrator = fb.UniformMassBinning(4).fit(SCORES, LABELS)
    before, segmented = calibrator.model_, fb.multi.SegmentedBinning(calibrator)
    fit(TABLE.slice(1), calibrator=calibrator)
    fit(TABLE, calibrator=segmented, segment="s")
    assert calibrator.model_ is before
    assert calibrator._told is None
    assert not segmented.__sklearn_is_fitted__()


def test_warnings_point_to_the_caller() -> None:
    few = pa.table({"p": np.repeat([0.2, 0.4, 0.9], 20), "y": np.arange(60) % 2, "s": ["a"] * 60})
    for options, message in (
        ({}, "ties='whole' left 3 of the 6 bins"),
        ({"segment": "s"}, "1 of 1 models, the first that of segment 'a': ties='whole' left 3 of the 6 bins"),
    ):
        with pytest.warns(fb.FastbinWarning, match=message) as warned:
            fb.engines.fit(few, score="p", label="y", calibrator=fb.UniformMassBinning(6), **options)
        assert [one.filename for one in warned] == [__file__]


def test_progress_is_told_after_every_batch() -> None:
    told: list[tuple[int, int]] = []
    fit(TABLE.slice(0, 1300), progress=lambda n_passes, rows: told.append((n_passes, rows)))
    assert told == [(1, 512), (1, 1024), (1, 1300), (2, 512), (2, 1024), (2, 1300)]
    told.clear()
    fit(TABLE.slice(0, 1300), calibrator=fb.VennAbers(), progress=lambda n_passes, rows: told.append((n_passes, rows)))
    assert told == [(1, 512), (1, 1024), (1, 1300)]


def test_a_group_of_rows_that_all_stand_0_times_is_not_there() -> None:
    model = fb.UniformMassBinning(2).fit(np.arange(20) / 20, np.arange(20) % 2).model_
    table = pa.table({"s": [0.1, 0.2, 0.9, 0.4], "g": ["a", "b", "a", "c"], "w": [2, 0, 1, 3]})
    counted = fb.engines.count(table, model, score="s", weight="w", by="g")
    assert list(counted.groups) == ["a", "c"]
    assert counted.n_samples == 6
