"""Fits, counts and predictions rest on no name that a table may have, on no index, and on no setting of a session."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest
from engine_rows import COLUMNS, LABELS, MODEL, RNG, SCORES, SEGMENTS, SET, N, count, fit

import fastbin as fb
from fastbin.tables import opening as tables
from fastbin.tables.sql import DuckDBTable
from hard_sets import FEWER_BINS

pytestmark = pytest.mark.filterwarnings(*FEWER_BINS, "ignore:Dask support is moving out of Narwhals:FutureWarning")


# ---------------------------------------------------------------------- names and indices


@pytest.mark.sampled
@pytest.mark.parametrize("library", ["pandas", "dask"])
@pytest.mark.parametrize("name", ["cell", "good", "interval", "score", "one", "rows", "low", "p", "y"])
def test_an_index_of_any_name(name: str, library: str) -> None:
    frame = pd.DataFrame(COLUMNS, index=pd.Index(np.arange(N)[::-1], name=name))
    if library == "dask":
        frame = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=2)
    assert fit(frame) == MODEL


def test_an_index_of_several_levels_and_columns_of_any_name() -> None:
    levels = pd.MultiIndex.from_arrays([np.arange(N), np.arange(N)], names=["cell", "good"])
    frame = pd.DataFrame({**{name: ["x"] * N for name in ("cell", "interval", "weight", 7)}, **COLUMNS}, index=levels)
    assert fit(frame) == MODEL
    renamed = frame.rename(columns={"cell": "a", "interval": "b", "p": "cell", "y": "interval"})
    assert fit(renamed, score="cell", label="interval") == MODEL


@pytest.mark.parametrize("is_lazy", [False, True])
def test_names_that_polars_takes_for_patterns(is_lazy: bool) -> None:
    """Of `^p$` it read the column p; `*` is all of them."""
    pl = pytest.importorskip("polars")
    renamed = {"^p$": SCORES, "^s|y$": SEGMENTS, "*": LABELS, "p": 1.0 - SCORES, "s": (SEGMENTS + 1) % 3, "y": ~LABELS}
    frame = pl.LazyFrame(renamed) if is_lazy else pl.DataFrame(renamed)
    for engine in ("group-by", "stream"):
        assert fit(frame, score="^p$", label="*", engine=engine) == MODEL
    counts = fb.engines.count(frame, SET, score="^p$", cell="^s|y$")
    assert np.array_equal(counts.counts, np.bincount(SET.assign_all(SCORES, SEGMENTS), minlength=SET.n_bins))
    assert fit(frame, score="^p$", label="*", segment="^s|y$", engine="stream").to_bytes() == SET.to_bytes()
    answers = fb.engines.predict(frame, SET, score="^p$", cell="^s|y$").lazy().collect()["probability"].to_numpy()
    assert np.array_equal(answers, SET.predict(SCORES, SEGMENTS))
    P = RNG.dirichlet(np.ones(3), 300)
    vectors = fb.multi.VectorCalibration(calibrator=fb.UniformMassBinning(4)).fit(P, RNG.integers(0, 3, 300)).model_
    table = pl.DataFrame({"p": P[:, 0] * 0.5, **{name: P[:, at] for at, name in enumerate(("*", "^p$", "^a|b$"))}})
    found = fb.engines.predict(table.lazy() if is_lazy else table, vectors, score=["*", "^p$", "^a|b$"]).lazy().collect()
    assert np.array_equal(found.to_numpy()[:, 4:], vectors.predict(P))


def test_a_score_of_the_name_of_another_role() -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"fastbin_cell": SCORES, "g": SEGMENTS})
    answers = fb.engines.predict(frame, SET, score="fastbin_cell", cell="g")["probability"].to_numpy()
    assert np.array_equal(answers, SET.predict(SCORES, SEGMENTS))


NAMES = ["fastbin_rows", "fastbin_intervals", "fastbin_steps", "s", "p", "g", "w", "r", "lhs", "rhs"]


@pytest.mark.parametrize("kind", ["TABLE", "VIEW", "SCHEMA"])
def test_tables_of_any_name(kind: str) -> None:
    with duckdb.connect() as connection:
        connection.register("given", pa.table(COLUMNS))
        connection.execute("CREATE TABLE kept AS FROM given")
        for name in NAMES:
            connection.execute(f"CREATE {kind} {name}{'' if kind == 'SCHEMA' else ' AS SELECT 1 AS one'}")
        listed = "SELECT table_name FROM information_schema.tables WHERE table_name NOT LIKE 'fastbin_rows_%' ORDER BY ALL"
        names = connection.execute(listed).fetchall()
        relation = connection.table("kept")
        assert fit(relation) == MODEL
        assert fit(relation, segment="s").to_bytes() == SET.to_bytes()
        counts = fb.engines.count(relation, SET, score="p", cell="s", engine="group-by")
        assert np.array_equal(counts.counts, np.bincount(SET.assign_all(SCORES, SEGMENTS), minlength=SET.n_bins))
        assert fb.engines.predict(relation, SET, score="p", cell="s").aggregate("count(probability)").fetchall() == [(N,)]
        assert connection.execute(listed).fetchall() == names
        left = connection.execute("SELECT count(*) FROM information_schema.tables WHERE table_name LIKE 'fastbin_rows_%'")
        assert left.fetchall() == [(0,)] or duckdb.__version__.startswith("1.")


def test_a_fit_asks_a_database_that_may_only_be_read(tmp_path: Path) -> None:
    path = str(tmp_path / "rows.db")
    with duckdb.connect(path) as connection:
        connection.register("given", pa.table(COLUMNS))
        connection.execute("CREATE TABLE kept AS FROM given")
    with duckdb.connect(path, read_only=True) as connection:
        assert fit(connection.table("kept")) == MODEL


@pytest.mark.sampled
@pytest.mark.parametrize(
    "setting",
    [
        "enable_external_access = false", "python_enable_replacements = false", "default_order = 'DESC'",
        "default_null_order = 'NULLS_FIRST'", "preserve_insertion_order = false", "integer_division = true", "threads = 1",
        "ieee_floating_point_ops = false", "order_by_non_integer_literal = true",
    ],
)  # fmt: skip
def test_settings_of_a_session(setting: str) -> None:
    with duckdb.connect() as connection:
        connection.register("given", pa.table(COLUMNS))
        connection.execute("CREATE TABLE kept AS FROM given")
        connection.execute(f"SET {setting}")
        relation = connection.table("kept")
        assert fit(relation, calibrator=fb.CertifiedCalibration()) == fb.CertifiedCalibration().fit(SCORES, LABELS).model_
        assert fit(relation, segment="s").to_bytes() == SET.to_bytes()
        assert fb.engines.count(relation, SET, score="p", cell="s", engine="group-by").n_samples == N


def test_intervals_go_to_duckdb_to_the_bit() -> None:
    bits = RNG.integers(0, 2**64, 3000, dtype=np.uint64)
    doubles = bits.view(np.float64)
    doubles = np.concatenate([doubles[np.isfinite(doubles)], [5e-324, -0.0, 0.0, 2.0**-1022, float(np.finfo(float).max)]])
    numbers = RNG.integers(-(2**63), 2**63 - 1, len(doubles))
    keys = np.arange(float(len(doubles)))
    rows = DuckDBTable(duckdb.cursor().from_arrow(pa.table({"key": keys})))
    found = rows.join({"d": doubles, "n": numbers, "key": keys}, on="key").arrays()
    found = {name: column[np.argsort(found["key"])] for name, column in found.items()}
    assert np.array_equal(np.asarray(found["d"]).view(np.uint64), doubles.view(np.uint64))
    assert np.array_equal(found["n"], numbers)


# ---------------------------------------------------------------------- columns twice


def twice() -> dict[str, tuple[Any, str]]:
    frame = pd.DataFrame(np.ones((3, 3)), columns=["p", "p", "y"])
    arrow = pa.Table.from_arrays([pa.array([0.1]), pa.array([0.2]), pa.array([1])], names=["p", "p", "y"])
    return {
        "pandas": (frame, "p"),
        "PyArrow": (arrow, "p"),
        "DuckDB": (duckdb.sql("SELECT 0.1 AS p, 0.2 AS p, 1 AS y"), "p"),
        "DuckDB, another case": (duckdb.sql("SELECT 0.1 AS p, 0.2 AS P, 1 AS y"), "P"),
    }


@pytest.mark.parametrize("engine", ["stream", "group-by"])
@pytest.mark.parametrize("kind", list(twice()))
def test_columns_that_are_there_twice(kind: str, engine: str) -> None:
    table, score = twice()[kind]
    message = f"has 2 columns named '{score}'.*rename them"
    with pytest.raises(fb.InputError, match=message):
        fit(table, score=score, engine=engine)
    with pytest.raises(fb.InputError, match=message):
        fb.engines.predict(table, MODEL, score=score)
    if engine == "stream" or kind.startswith("DuckDB"):
        with pytest.raises(fb.InputError, match=message):
            count(table, score=score, engine=engine)


def test_other_columns_may_be_there_twice() -> None:
    arrow = pa.table(COLUMNS)
    for name in ("x", "x"):
        arrow = arrow.append_column(name, pa.array(SCORES))
    for table in (arrow, arrow.rename_columns(["p", "y", "s", "a", "b"]).to_pandas().rename(columns={"a": "x", "b": "x"})):
        assert fit(table) == MODEL


@pytest.mark.parametrize("argument", ["score", "label"])
def test_columns_that_are_not_named(argument: str) -> None:
    table = pa.table(COLUMNS)
    for engine in ("stream", "group-by"):
        with pytest.raises(fb.InputTypeError, match=f"{argument} is None; name the column of {argument}s"):
            fit(table, **{argument: None, "engine": engine})
    if argument == "score":
        with pytest.raises(fb.InputTypeError, match="score is None; name the column of scores"):
            count(table, score=None)
        with pytest.raises(fb.InputTypeError, match="score is None; name the column of scores"):
            fb.engines.assess(table, MODEL, score=None, label="y")  # type: ignore[arg-type]


# ---------------------------------------------------------------------- objects other than tables


def test_tables_that_are_not_asked_by_group_by() -> None:
    arrow = pa.table(COLUMNS)
    assert fit(arrow.combine_chunks().to_batches()[0]) == MODEL
    for table in (pyarrow.dataset.dataset(arrow), arrow.to_reader(), lambda: arrow):
        with pytest.raises(fb.InputTypeError, match=r"table is of type .*, which is not asked by GROUP BY"):
            fit(table)
    for call, path in product((fit, lambda path: count(path, engine="group-by")), ("x.parquet", Path("x.parquet"))):
        with pytest.raises(fb.InputError, match=r"table is the path 'x.parquet', and engine is 'group-by'; pass a relation"):
            call(path)


def test_functions_and_series_of_dask() -> None:
    frames = pytest.importorskip("dask.dataframe")
    frame = frames.from_pandas(pd.DataFrame(COLUMNS), npartitions=2)
    for call in (fit, count):
        with pytest.raises(fb.InputTypeError, match=r"table is a function that returned a DataFrame of dask.*pass the frame"):
            call(lambda: frame, engine="auto")
        with pytest.raises(fb.InputTypeError, match=r"table is (a|of type) Series"):
            call(frame["p"], engine="auto")


# ---------------------------------------------------------------------- progress


@pytest.mark.parametrize("kind", ["duckdb", "dask"])
def test_progress_of_counts(kind: str) -> None:
    told: list[tuple[int, int]] = []
    if kind == "duckdb":
        table = duckdb.cursor().from_arrow(pa.table(COLUMNS))
    else:
        table = pytest.importorskip("dask.dataframe").from_pandas(pd.DataFrame(COLUMNS), npartitions=2)
    options = {"engine": "group-by"} if kind == "duckdb" else {}
    count(table, progress=lambda *seen: told.append(seen), **options)
    fb.engines.assess(table, MODEL, score="p", label="y", progress=lambda *seen: told.append(seen), **options)
    assert told == [(1, N)] * 2


def test_a_frame_that_has_every_attribute() -> None:
    """As one of Spark Connect, which gives a column for any name and asks its server later."""

    class DataFrame:
        __module__ = "pyspark.sql.connect.dataframe"
        columns = ("p", "y")

        def __getattr__(self, name: str) -> object:
            return object()

    assert tables.open(DataFrame()).names == ["p", "y"]
