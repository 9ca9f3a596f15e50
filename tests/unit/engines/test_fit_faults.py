"""Refusals of `engines.fit`: bad rows with their numbers, tables that change, passes that cannot be. Never a wrong model."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
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


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    made = duckdb.cursor()
    made.register("rows", TABLE)
    made.execute("CREATE OR REPLACE TABLE kept AS FROM rows")
    yield made
    made.close()


def with_bad_rows(**bad: dict[int, Any]) -> pa.Table:
    """The table with some values replaced."""
    columns = {}
    for name in TABLE.schema.names:
        values = TABLE[name].to_pylist()
        if name == "y":
            values = [float(value) for value in values]
        for row, value in bad.get(name, {}).items():
            values[row] = value
        columns[name] = pa.array(values)
    return pa.table(columns)


NAN, INF = float("nan"), float("inf")
BAD = {
    "NULL": (
        {"p": {7: None, 4000: None}, "y": {9: None}, "n": {1: None}},
        "of 5,000 rows, p is NULL in 2, y is NULL in 1, n is NULL in 1; leave such rows out of the table first$",
    ),
    "no numbers": ({"p": {4999: NAN, 600: -INF}}, r"p is NaN in 1, p is infinite in 1 \(such as -inf\); leave such rows out"),
    "beyond": (
        {"p": {0: 1.5, 1: -0.1, 2: 7.0}},
        r"p is outside \[0, 1\] in 3 \(such as 1.5\); pass a calibrator with score_range=None",
    ),
    "labels": (
        {"y": {4998: 2, 3: 0.5, 4: 1}},
        r"y is neither 0 nor 1 in 2 \(such as 0.5\); where labels are two other values, pass",
    ),
    "weights": ({"n": {2000: -3}}, r"n is negative in 1 \(such as -3\)"),
    "several": (
        {"p": {0: 1.5, 9: NAN, 4000: None}, "y": {1: 3, 8: None}, "n": {2: -1}},
        r"p is NULL in 1, p is NaN in 1, p is outside \[0, 1\] in 1 \(such as 1.5\), y is NULL in 1, y is neither 0 nor 1 in 1 "
        r"\(such as 3.*\), n is negative in 1 \(such as -1\); leave such rows out of the table first; pass a calibrator with",
    ),
}


@pytest.mark.sampled
@pytest.mark.parametrize("calibrator", [fb.UniformMassBinning(), fb.UniformMassBinning(scheme="ums"), fb.FixedWidthBinning()])
@pytest.mark.parametrize("library", ["PyArrow", "DuckDB", "Polars"])
@pytest.mark.parametrize("kind", BAD)
def test_bad_rows_are_counted(kind: str, library: str, calibrator: Any, connection: duckdb.DuckDBPyConnection) -> None:
    bad, message = BAD[kind]
    arrow = with_bad_rows(**bad)
    connection.register("bad", arrow)
    table = {"PyArrow": arrow, "DuckDB": connection.table("bad"), "Polars": pl.from_arrow(arrow).lazy()}[library]
    with pytest.raises(fb.InputError, match=message) as raised:
        fit(table, weight="n", calibrator=calibrator)
    assert str(raised.value).startswith("of 5,000 rows, ")


def test_a_float32_score_is_compared_as_the_double_that_it_is() -> None:
    table = pa.table({"p": SCORES.astype(np.float32), "y": LABELS})
    calibrator = fb.UniformMassBinning(score_range=(0.0, 0.1))
    n_bad = int((SCORES.astype(np.float32).astype(np.float64) > 0.1).sum())
    with pytest.raises(fb.InputError, match=rf"p is outside \[0, 0.1\] in {n_bad:,} "):
        fit(table, calibrator=calibrator)


def test_labels_that_are_all_null() -> None:
    for kind, positive in ((pa.null(), None), (pa.int8(), None), (pa.bool_(), None), (pa.string(), "yes"), (pa.string(), None)):
        with pytest.raises(fb.InputError, match="of 5,000 rows, y is NULL in 5,000"):
            fit(TABLE.set_column(1, "y", pa.nulls(N, kind)), positive=positive)


WORDS = pa.array(np.where(LABELS, "yes", "no"))


@pytest.mark.parametrize(
    ("column", "positive", "message"),
    [
        (WORDS, None, "labels are 0 and 1, or False and True, and these are '.*' and '.*'; pass positive= with"),
        (WORDS, "true", "positive is 'true', which is none of the labels in y: they are '.*' and '.*'; pass positive= "),
        (pa.array(["no"] * N), "yes", "positive is 'yes', which is none of the labels in y: they are 'no'"),
        (pa.array(["maybe", *WORDS.to_pylist()[1:]]), "yes", "y is neither 'yes' nor 'maybe' in [12],... .such as 'no'"),
        (pa.array([*WORDS.to_pylist()[:-2], None, "maybe"]), "yes", "y is NULL in 1, y is neither 'yes' nor 'no' in 1 "),
        (pa.array(np.where(LABELS, 1.0, NAN)), 1, "y is NaN in [12],..."),
        (pa.array(np.where(LABELS, 1.0, NAN)), None, "y is NaN in [12],..."),
        (pa.array([[1]] * N), None, "y holds list<.*>, not numbers; pass positive= with the value whose probability you want$"),
    ],
)  # fmt: skip
def test_labels_of_other_values(column: pa.Array, positive: Any, message: str) -> None:
    for calibrator in (None, fb.UniformMassBinning(scheme="ums")):
        with pytest.raises(fb.FastbinError, match=message):
            fit(TABLE.set_column(1, "y", column), positive=positive, calibrator=calibrator)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            np.full(N, 1.0),
            "n holds double, real weights, and here weights are counts of equal rows: give whole numbers as integers",
        ),
        (pa.array([1] * N).cast(pa.decimal128(20, 1)), "n holds decimal128.20, 1., real weights"),
        (np.full(N, 2**41), "n adds up to more than 2.*53 samples"),
        (np.full(N, 2**62), "n adds up to more than 2.*53 samples"),
        (pa.array([10**30] * N, pa.decimal128(38, 0)), "n adds up to more than 2.*53 samples"),
        (pa.array(["1"] * N), "n holds string, not whole numbers"),
        (np.zeros(N, np.int64), "0 for every row"),
    ],
)
def test_weights_that_cannot_be_counted(column: Any, message: str) -> None:
    error = fb.InputTypeError if "holds" in message else fb.InputError
    with pytest.raises(error, match=message):
        fit(TABLE.set_column(2, "n", pa.array(column)), weight="n")


def test_many_values_that_are_no_labels() -> None:
    with pytest.raises(fb.InputError, match=r"y is neither 0 nor 1 in 5,000 \(such as "):
        fit(TABLE.set_column(1, "y", pa.array(np.arange(N) + 2.5)))


def test_a_column_of_several_types() -> None:
    table = TABLE.to_pandas().astype({"p": object})
    table.loc[7, "p"] = "x"
    with pytest.raises(fb.InputTypeError, match=r"the data frame has a column of several types: .*'x'.*column p"):
        fit(table)


def test_a_name_that_is_no_text() -> None:
    with pytest.raises(fb.InputTypeError, match=r"\['p'\] is not the name of a column; the table has 'p', 'y'"):
        fb.engines.fit(TABLE, score=["p"], label="y")


# ---------------------------------------------------------------------- tables that are none, or change


def test_tables_without_rows(connection: duckdb.DuckDBPyConnection) -> None:
    empty = TABLE.slice(0, 0)
    for table in (empty, pl.from_arrow(empty).lazy(), connection.sql("FROM kept LIMIT 0"), empty.to_pandas(), lambda: empty):
        for options in ({}, {"segment": "s"}, {"calibrator": fb.IsotonicCalibration()}, {"calibrator": fb.FixedWidthBinning()}):
            with pytest.raises(fb.InputError, match="has no rows; a calibrator needs samples"):
                fit(table, **options)


# Between fixed edges one pass alone looks at the scores, so scores drawn anew at each pass are a table of their own.
DRAWN = [(fb.UniformMassBinning(), "p"), (fb.CertifiedCalibration(), "p")]
DRAWN += [(calibrator, "y") for calibrator in (fb.UniformMassBinning(), fb.CertifiedCalibration(), fb.FixedWidthBinning())]


@pytest.mark.parametrize(("calibrator", "what"), DRAWN)
def test_a_query_that_draws_at_random(connection: duckdb.DuckDBPyConnection, what: str, calibrator: Any) -> None:
    connection.execute("SELECT setseed(0.5)").fetchall()  # so that no two passes count as many labels by chance
    columns = {"p": "random() AS p, y", "y": "p, random() < 0.5 AS y"}[what]
    relation = connection.sql(f"SELECT {columns} FROM kept")
    with pytest.raises(fb.InputError, match="the rows changed between two passes"):
        fit(relation, calibrator=calibrator)


def test_a_table_that_grows_meanwhile(connection: duckdb.DuckDBPyConnection) -> None:
    other = connection.cursor()

    def grow(n_passes: int, n_rows: int) -> None:
        if n_passes == 1 and n_rows > N // 2:
            other.execute("INSERT INTO kept VALUES (0.5, true, 1, 1)")

    with pytest.raises(fb.InputError, match="the DuckDB relation must give the same rows each time: nothing may change it"):
        fit(connection.table("kept"), progress=grow)


def test_rows_that_change_their_order_alone_are_the_same_rows() -> None:
    made = iter([TABLE, TABLE.take(RNG.permutation(N)), TABLE.take(RNG.permutation(N)), *[TABLE] * 9])
    assert fit(lambda: next(made)) == fb.CertifiedCalibration().fit(SCORES, LABELS).model_


class Exported:
    """Whatever speaks the Arrow interface and nothing else."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def reader() -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(max_chunksize=700))


def test_a_reader_can_be_read_once() -> None:
    for calibrator in (None, fb.CertifiedCalibration(), fb.FixedWidthBinning()):
        with pytest.raises(fb.InputError, match=r"the reader can be read once, and .* pass the table behind it, or a function"):
            fit(reader(), calibrator=calibrator)


def test_a_reader_whose_rows_are_kept_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a function that returns it: rows that fit into the room for later passes need no second pass over the reader."""
    monkeypatch.setattr(replay, "MEMORY_BYTES", 9 * N)
    for calibrator in (fb.UniformMassBinning(), fb.CertifiedCalibration(), fb.FixedWidthBinning()):
        expected = calibrator.fit(SCORES, LABELS).model_
        for table in (reader(), lambda: reader(), TABLE.to_reader()):
            assert fit(table, calibrator=calibrator) == expected
    monkeypatch.setattr(replay, "MEMORY_BYTES", 9 * N - 1)
    with pytest.raises(fb.InputError, match=r"the reader can be read once, .* \(44,999 bytes\); pass the table behind it"):
        fit(reader())


@pytest.mark.parametrize("weight", [None, "n"])
@pytest.mark.parametrize("positive", [None, "yes"])
def test_bad_rows_of_a_reader_are_all_counted(positive: Any, weight: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "MEMORY_BYTES", 2**20)
    bad = with_bad_rows(p={3: None, 1500: NAN, 4000: 2.0}, n={3000: -1})
    if positive is not None:
        bad = bad.set_column(1, "y", pa.array(["maybe", *WORDS.to_pylist()[1:-1], None]))
    message = r"of 5,000 rows, p is NULL in 1, p is NaN in 1, p is outside \[0, 1\] in 1 \(such as 2.0\)"
    message += ", y is NULL in 1, y is neither 'yes' nor " if positive else ""
    message += ".*n is negative in 1" if weight else ""
    with pytest.raises(fb.InputError, match=message):
        fit(bad.to_reader(700), positive=positive, weight=weight)


@pytest.mark.parametrize("wrap", [lambda one: lambda: one, Exported], ids=["a function that returns the same", "an interface"])
def test_a_reader_in_disguise_is_found_out(wrap: Callable[[Any], Any]) -> None:
    with pytest.raises(
        fb.InputError, match=r"pass 2 saw 0 rows, the one before it 5000; .* a reader that is used up goes as a f"
    ):
        fit(wrap(reader()))


def test_few_rows_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And kept for the passes after that, as long as they are few."""
    calls = []

    def counted() -> pa.Table:
        calls.append(None)
        return TABLE

    told = []
    monkeypatch.setattr(replay, "MEMORY_BYTES", 17 * N)
    model = fit(counted, weight="n", progress=lambda n_passes, n_rows: told.append((n_passes, n_rows)))
    assert model == fb.CertifiedCalibration().fit(SCORES, LABELS, np.ones(N, np.int64)).model_
    assert len(calls) == 1
    assert told[-1] == (2, N)
    monkeypatch.setattr(replay, "MEMORY_BYTES", 17 * N - 1)
    assert fit(counted, weight="n") == model
    assert len(calls) == 3


def test_one_pass_is_enough_where_all_rows_are_read() -> None:
    calibrator = fb.UniformMassBinning(scheme="ums")
    expected = calibrator.fit(SCORES, LABELS).model_
    for table in (reader(), Exported(reader()), Exported(TABLE), lambda: reader()):
        assert fit(table, calibrator=calibrator) == expected
    models = fb.multi.SegmentedBinning().fit(SCORES, LABELS, TABLE["s"]).model_
    assert fit(reader(), segment="s").to_bytes() == models.to_bytes()


def test_a_reader_with_bad_rows_is_told_of_in_its_one_pass() -> None:
    bad = with_bad_rows(p={3: None, 4: NAN, 4000: 2.0})
    with pytest.raises(fb.InputError, match=r"p is NULL in 1, p is NaN in 1, p is outside \[0, 1\] in 1 "):
        fit(pa.RecordBatchReader.from_batches(bad.schema, bad.to_batches()), calibrator=fb.IsotonicCalibration())


# ---------------------------------------------------------------------- queries that end early


def test_an_interrupted_fit_leaves_nothing_behind(connection: duckdb.DuckDBPyConnection) -> None:
    calibrator, relation = fb.UniformMassBinning(), connection.table("kept")

    def stop(n_passes: int, n_rows: int) -> None:
        if n_passes == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(relation, calibrator=calibrator, progress=stop)
    assert not calibrator.__sklearn_is_fitted__()
    # The connection is free: its open result was closed, and it answers.
    assert connection.execute("SELECT count(*) FROM kept").fetchall() == [(N,)]
    assert fit(relation, calibrator=calibrator) == calibrator.fit(SCORES, LABELS).model_


def test_errors_of_the_engine_come_through(connection: duckdb.DuckDBPyConnection) -> None:
    failing = connection.sql("SELECT CASE WHEN p > 0.999 THEN 'x' ELSE p::VARCHAR END::DOUBLE AS p, y FROM kept")
    with pytest.raises((OSError, duckdb.Error), match="Could not convert string 'x' to DOUBLE"):
        fit(failing)
    connection.execute("CREATE TABLE gone AS FROM kept")
    relation = connection.table("gone")
    connection.execute("DROP TABLE gone")
    with pytest.raises(duckdb.Error, match="gone"):
        fit(relation)


def test_errors_of_a_function_come_through() -> None:
    calls = []

    def failing() -> pa.Table:
        calls.append(None)
        if len(calls) == 2:
            raise RuntimeError("the warehouse is asleep")
        return TABLE

    with pytest.raises(RuntimeError, match="asleep"):
        fit(failing)


def test_a_stream_is_let_go_when_a_fit_ends() -> None:
    made = []

    def again() -> pa.RecordBatchReader:
        one = reader()
        made.append(weakref.ref(one))
        return one

    fit(again)
    gc.collect()
    assert len(made) == 2
    assert all(one() is None for one in made)
