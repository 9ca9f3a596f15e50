"""Tables: recognised by the name of its type, without importing its library."""

from __future__ import annotations

from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest

import fastbin as fb
from fastbin.tables.opening import open as open_any
from fastbin.tables.opening import package_of
from fresh_python import run_python

TABLE = pa.table({"p": [0.25, 0.5, 0.75] * 20, "y": [0, 1, 1] * 20})


def foreign(module: str, **members: Any) -> Any:
    """An object of a type that says to be from this module."""
    return type("DataFrame", (), {"__module__": module, **members})()


MUST_NOT_STREAM = (
    "pyspark.sql.dataframe", "pyspark.sql.classic.dataframe", "pyspark.sql.connect.dataframe", "pyspark.pandas.frame",
    "ibis.expr.types.relations",
)  # fmt: skip


@pytest.mark.parametrize("module", [*MUST_NOT_STREAM, "dask.dataframe.dask_expr._collection", "dask_expr._collection"])
def test_tables_whose_rows_should_stay(module: str) -> None:
    assert open_any(foreign(module, __arrow_c_stream__=lambda self: None)).stays


@pytest.mark.parametrize("module", MUST_NOT_STREAM)
def test_tables_whose_rows_stay_whatever_is_asked_for(module: str) -> None:
    table = foreign(module, __arrow_c_stream__=lambda self: None)
    with pytest.raises(
        fb.InputTypeError, match=f"table is a DataFrame of {module.partition('.')[0]}, whose rows do not stream"
    ):
        fb.engines.fit(table, score="p", label="y", engine="stream")


@pytest.mark.parametrize(
    ("calibrator", "message"),
    [
        (fb.UniformMassBinning(scheme="ums"), "scheme 'ums' splits the samples at random and needs them all at once; {remedy}"),
        (fb.UniformMassBinning(edges_share=0.5), "edges_share picks samples at random and needs them all at once"),
        (fb.IsotonicCalibration(), "IsotonicCalibration needs all rows at once, as it pools single scores; {remedy}"),
        (fb.VennAbers(), "VennAbers needs all rows at once, as it pools single scores"),
        (fb.ScalingBinning(), "ScalingBinning needs all rows at once, as it averages scaled scores"),
        (fb.PlattScaling(), "PlattScaling needs all rows at once, as its map is fitted to single scores"),
        (fb.BetaScaling(), "BetaScaling needs all rows at once"),
        (fb.TemperatureScaling(), "TemperatureScaling needs all rows at once"),
    ],
    ids=repr,
)  # fmt: skip
def test_what_counts_do_not_decide_is_refused_by_name(calibrator: Any, message: str) -> None:
    for table, options, remedy in (
        (foreign("pyspark.sql.dataframe"), {}, "collect the columns that are needed"),
        (foreign("dask.dataframe.dask_expr._collection"), {}, "pass engine='stream', which brings the rows here"),
        (TABLE, {"engine": "group-by"}, "pass engine='stream', which brings the rows here"),
    ):
        with pytest.raises(fb.InputError, match=r"is asked for counts alone: " + message.format(remedy=remedy)):
            fb.engines.fit(table, score="p", label="y", calibrator=calibrator, **options)


NO_TABLES: list[Any] = [None, 7, [0.1, 0.2], {"p": [0.5]}, np.zeros(3), object(), pl.DataFrame, pl.Series([0.5])]
NO_TABLES += [pd.Series([0.5]), pa.array([0.5]), lambda: 7, lambda: None, lambda: "rows.parquet"]


@pytest.mark.parametrize("wrong", NO_TABLES)
def test_what_is_no_table(wrong: Any) -> None:
    with pytest.raises(fb.InputTypeError, match=r"table is .*; pass a DuckDB relation|table is .* path; pass the path"):
        fb.engines.fit(wrong, score="p", label="y")


def test_a_connection_needs_a_query() -> None:
    connection = duckdb.connect()
    with pytest.raises(fb.InputTypeError, match=r"a connection; pass \(connection, query\)"):
        fb.engines.fit(connection, score="p", label="y")
    for statement in ("CREATE TABLE kept (p DOUBLE)", "SET threads = 2"):
        with pytest.raises(fb.InputError, match=r"is (CREATE|SET) and no query; pass a SELECT"):
            fb.engines.fit((connection, statement), score="p", label="y")
    connection.close()


def test_whatever_narwhals_wraps_is_its_own_table() -> None:
    connection = duckdb.connect()
    for native in (
        pl.from_arrow(TABLE).lazy(),
        pl.from_arrow(TABLE),
        TABLE,
        TABLE.to_pandas(),
        connection.sql("SELECT 1 AS p"),
    ):
        assert open_any(nw.from_native(native)).package == package_of(native)
        assert open_any(nw.from_native(native)).stream().names
    connection.close()


def test_batches_are_of_moderate_size() -> None:
    table = pa.table({"p": np.zeros(200_000)})
    connection = duckdb.connect()
    connection.register("rows", table)
    for made in (table, pl.from_arrow(table), pl.from_arrow(table).lazy(), table.to_pandas(), connection.table("rows"),
                 pa.dataset.dataset(table), table.combine_chunks().to_batches()[0], lambda: table):  # fmt: skip
        sizes = [len(batch) for batch in open_any(made).stream().batches(["p"])]
        assert sum(sizes) == 200_000
        assert max(sizes) <= 2**16
    connection.close()


def test_names_with_quotation_marks() -> None:
    names = ['the "score"', "la'bel"]
    expected = fb.engines.fit(TABLE, score="p", label="y", calibrator=fb.UniformMassBinning(2))
    for table in (TABLE.rename_columns(names), pl.from_arrow(TABLE.rename_columns(names)).lazy()):
        connection = duckdb.connect()
        connection.register("rows", TABLE.rename_columns(names))
        for made in (table, connection.table("rows")):
            model = fb.engines.fit(made, score=names[0], label=names[1], calibrator=fb.UniformMassBinning(2))
            assert model == expected
        connection.close()


def test_no_library_is_imported_for_a_table_of_another() -> None:
    """But for pandas, which PyArrow imports by itself."""
    code = """
import sys
import pyarrow as pa
import fastbin.engines
from fastbin.tables import opening
print(sum(len(batch) for batch in opening.open(pa.table({"p": [0.25, 0.5], "y": [0, 1]})).stream().batches(["p"])))
print([name for name in ("polars", "duckdb", "narwhals", "dask", "pyspark", "ibis") if name in sys.modules])
"""
    run = run_python("-c", code)
    assert (run.stdout, run.stderr) == ("2\n[]\n", "")


# ---------------------------------------------------------------------- queries that are more than one


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT p, y FROM kept; DROP TABLE victim", "has 2 statements; pass one SELECT"),
        ("DROP TABLE victim; SELECT p, y FROM kept", "has 2 statements; pass one SELECT"),
        ("SELECT p, y FROM kept; SELECT p, y FROM kept; ", "has 2 statements; pass one SELECT"),
        ("DROP TABLE victim", "is DROP and no query; pass a SELECT"),
        ("INSERT INTO victim SELECT * FROM kept RETURNING *", "is INSERT and no query; pass a SELECT"),
        ("-- nothing", "has 0 statements; pass one SELECT"),
    ],
)
@pytest.mark.parametrize("engine", ["stream", "group-by"])
def test_nothing_of_a_query_runs_that_is_not_one_select(query: str, message: str, engine: str) -> None:
    connection = duckdb.cursor()
    connection.register("rows", TABLE)
    connection.execute("CREATE OR REPLACE TABLE kept AS SELECT * FROM rows; CREATE OR REPLACE TABLE victim AS FROM rows")
    with pytest.raises(fb.InputError, match=message):
        fb.engines.fit((connection, query), score="p", label="y", engine=engine)
    model = fb.UniformMassBinning(2).fit([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]).model_
    with pytest.raises(fb.InputError, match=message):
        fb.engines.predict((connection, query), model, score="p")
    assert connection.execute("SELECT count(*) FROM victim").fetchone() == (60,)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT p, y FROM kept;",
        "FROM kept -- a comment",
        "WITH a AS (FROM kept) SELECT p, y FROM a",
        "PIVOT kept ON z USING max(p) AS p GROUP BY y",
    ],
)
def test_one_query_may_be_written_in_many_ways(query: str) -> None:
    connection = duckdb.cursor()
    connection.register("rows", TABLE)
    connection.execute("CREATE OR REPLACE TABLE kept AS SELECT *, 'p' AS z FROM rows")
    if len(duckdb.extract_statements(query)) > 1:
        pytest.skip("this DuckDB makes two statements of a PIVOT, which is refused then")
    assert open_any((connection, query)).native is not None
    if "PIVOT" not in query:
        found = fb.engines.fit((connection, query), score="p", label="y", calibrator=fb.UniformMassBinning(2))
        assert found == fb.UniformMassBinning(2).fit(TABLE["p"], TABLE["y"]).model_
