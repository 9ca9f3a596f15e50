"""Fits, counts and predictions rest on no name that a table may have, on no index, and on no setting of a session."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest

import fastbin as fb
from hard_sets import FEWER_BINS

pytestmark = [
    *(pytest.mark.filterwarnings(text) for text in FEWER_BINS),
    pytest.mark.filterwarnings("ignore:Dask support is moving out of Narwhals:FutureWarning"),
]

N = 3000
RNG = np.random.default_rng(5)
SCORES = RNG.random(N) ** 3
LABELS = RNG.random(N) < SCORES
SEGMENTS = np.arange(N) % 3
COLUMNS = {"p": SCORES, "y": LABELS, "s": SEGMENTS}
CALIBRATOR = fb.UniformMassBinning(10)
MODEL = CALIBRATOR.fit(SCORES, LABELS).model_
SET = fb.multi.SegmentedBinning(CALIBRATOR).fit(SCORES, LABELS, SEGMENTS).model_


def fit(table: Any, **options: Any) -> Any:
    return fb.engines.fit(table, **{"score": "p", "label": "y", "calibrator": CALIBRATOR, "engine": "group-by", **options})


def count(table: Any, **options: Any) -> Any:
    return fb.engines.count(table, MODEL, **{"score": "p", **options})


# ---------------------------------------------------------------------- names and indices


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


NAMES = ["fastbin_rows", "fastbin_intervals", "fastbin_steps", "s", "p", "g", "w", "r", "lhs", "rhs"]


@pytest.mark.parametrize("kind", ["TABLE", "VIEW", "SCHEMA"])
def test_tables_of_any_name(kind: str) -> None:
    with duckdb.connect() as connection:
        connection.register("given", pa.table(COLUMNS))
        connection.execute("CREATE TABLE kept AS FROM given")
        for name in NAMES:
            connection.execute(f"CREATE {kind} {name}{'' if kind == 'SCHEMA' else ' AS SELECT 1 AS one'}")
        names = connection.execute("SELECT table_name FROM information_schema.tables ORDER BY ALL").fetchall()
        relation = connection.table("kept")
        assert fit(relation) == MODEL
        assert fit(relation, segment="s").to_bytes() == SET.to_bytes()
        counts = fb.engines.count(relation, SET, score="p", cell="s", engine="group-by")
        assert np.array_equal(counts.counts, np.bincount(SET.assign_all(SCORES, SEGMENTS), minlength=SET.n_bins))
        assert fb.engines.predict(relation, SET, score="p", cell="s").aggregate("count(probability)").fetchall() == [(N,)]
        assert connection.execute("SELECT table_name FROM information_schema.tables ORDER BY ALL").fetchall() == names


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


def test_intervals_go_to_duckdb_to_the_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    from fastbin.engines.frames_narwhals import _as_query

    bits = RNG.integers(0, 2**64, 3000, dtype=np.uint64)
    doubles = bits.view(np.float64)
    doubles = np.concatenate([doubles[np.isfinite(doubles)], [5e-324, -0.0, 0.0, 2.0**-1022, float(np.finfo(float).max)]])
    numbers = RNG.integers(-(2**63), 2**63 - 1, len(doubles))
    found = duckdb.connect().sql(_as_query({"d": doubles, "n": numbers})).fetchnumpy()
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


# ---------------------------------------------------------------------- tables that are no tables of this engine


def test_tables_that_are_not_asked_by_group_by() -> None:
    arrow = pa.table(COLUMNS)
    assert fit(arrow.combine_chunks().to_batches()[0]) == MODEL
    for table in (pyarrow.dataset.dataset(arrow), arrow.to_reader(), lambda: arrow):
        with pytest.raises(fb.InputTypeError, match=r"table is of type .*, which is not asked by GROUP BY"):
            fit(table)
    for call in (lambda path: fit(path), lambda path: count(path, engine="group-by")):
        with pytest.raises(fb.InputError, match=r"table is the path 'x.parquet', and engine is 'group-by'; pass a relation"):
            call("x.parquet")


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
        table = duckdb.connect().from_arrow(pa.table(COLUMNS))
    else:
        table = pytest.importorskip("dask.dataframe").from_pandas(pd.DataFrame(COLUMNS), npartitions=2)
    options = {"engine": "group-by"} if kind == "duckdb" else {}
    count(table, progress=lambda *seen: told.append(seen), **options)
    fb.engines.assess(table, MODEL, score="p", label="y", progress=lambda *seen: told.append(seen), **options)
    assert told == [(1, N)] * 2


# ---------------------------------------------------------------------- types and values


@pytest.mark.parametrize("kind", ["pyarrow", "pandas", "pandas of Arrow", "polars", "duckdb"])
def test_integers_that_doubles_do_not_hold_are_scores(kind: str) -> None:
    scores = 2**53 + 1 + 2 * np.arange(N)
    table = pa.table({"p": scores, "y": LABELS})
    calibrator = fb.UniformMassBinning(5, score_range=None)
    given = {
        "pyarrow": lambda: table,
        "pandas": table.to_pandas,
        "pandas of Arrow": lambda: table.to_pandas(types_mapper=pd.ArrowDtype),
        "polars": lambda: pl.from_arrow(table),
        "duckdb": lambda: duckdb.connect().from_arrow(table),
    }[kind]()
    assert fit(given, calibrator=calibrator) == calibrator.fit(scores.astype(np.float64), LABELS).model_


ENGINES = {
    "duckdb": lambda table: duckdb.connect().from_arrow(table),
    "polars": pl.from_arrow,
    "pyarrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "stream": lambda table: table,
}
EVERY_ENGINE = pytest.mark.parametrize("engine", list(ENGINES))


def weighted(engine: str, weights: Any, **options: Any) -> Any:
    table = pa.table({"p": np.linspace(0, 1, len(weights)), "y": [0, 1] * (len(weights) // 2), "w": weights})
    options = {"calibrator": fb.UniformMassBinning(2, score_range=None), "weight": "w", **options}
    return fit(ENGINES[engine](table), engine="stream" if engine == "stream" else "group-by", **options)


@EVERY_ENGINE
def test_two_to_the_53_samples_are_not_too_many(engine: str) -> None:
    model = weighted(engine, [2**52, 2**52 - 3, 2, 1])
    assert model.n_samples == 2**53
    for weights in ([2**52, 2**52 - 3, 3, 1], [2**53, 1, 0, 0], [2**53, 1, 1, 1], [2**53 + 1, 0, 0, 0], [2**60, 2**60, 2, 1]):
        with pytest.raises(fb.InputError, match=r"w adds up to more than 2\*\*53 samples"):
            weighted(engine, weights)


@EVERY_ENGINE
def test_all_samples_may_have_one_score(engine: str) -> None:
    """One cell holds them all: its sum is a double, which 2**53 and one more round to."""
    table = pa.table({"p": [0.5] * 4, "y": [0, 1, 0, 1], "w": [2**52, 2**52 - 2, 1, 1]})
    options = {"weight": "w", "calibrator": fb.UniformMassBinning(1), "engine": "stream" if engine == "stream" else "group-by"}
    assert fit(ENGINES[engine](table), **options).n_samples == 2**53
    with pytest.raises(fb.InputError, match=r"w adds up to more than 2\*\*53 samples"):
        fit(ENGINES[engine](table.set_column(2, "w", pa.array([2**52, 2**52 - 2, 1, 2]))), **options)


@EVERY_ENGINE
@pytest.mark.parametrize("kind", [pa.decimal128(20, 0), pa.decimal128(38, 0), pa.uint64(), pa.bool_()])
def test_whole_weights_of_any_type(kind: pa.DataType, engine: str) -> None:
    weights = np.arange(200) % 2 if kind == pa.bool_() else np.arange(200) % 5
    if engine == "pandas" and pa.types.is_decimal(kind):  # which it holds as objects
        with pytest.raises(fb.InputTypeError, match="w holds Object, not whole numbers"):
            weighted(engine, pa.array(weights).cast(kind))
        return
    expected = weighted("stream", pa.array(weights))
    assert weighted(engine, pa.array(weights).cast(kind)) == expected


@EVERY_ENGINE
def test_huge_weights_are_too_many(engine: str) -> None:
    with pytest.raises(fb.InputError, match=r"w adds up to more than 2\*\*53 samples"):
        weighted(engine, pa.array([2**64 - 1, 1], pa.uint64()))


@EVERY_ENGINE
def test_weights_that_are_no_numbers(engine: str) -> None:
    with pytest.raises(fb.InputTypeError, match=r"w holds .*, not whole numbers"):
        weighted(engine, ["1", "2"])
    with pytest.raises(fb.InputTypeError, match=r"w holds .*, real weights, and here weights are counts .* BIGINT"):
        weighted(engine, [1.0, 2.0])


@EVERY_ENGINE
def test_weights_that_are_all_zero(engine: str) -> None:
    with pytest.raises(fb.InputError, match="weight is 'w', which is 0 for every row; a calibrator needs samples"):
        weighted(engine, [0, 0])


def test_weights_of_segments() -> None:
    weights = np.arange(N) % 3
    expected = fb.multi.SegmentedBinning(CALIBRATOR).fit(SCORES, LABELS, SEGMENTS, weights).model_
    connection = duckdb.connect()
    connection.register("given", pa.table({**COLUMNS, "w": weights}))
    for kind in ("BIGINT", "HUGEINT", "UBIGINT", "DECIMAL(20, 0)"):
        for segment in ("BIGINT", "HUGEINT", "UBIGINT", "UTINYINT"):
            relation = connection.sql(f"SELECT p, y, s::{segment} AS s, w::{kind} AS w FROM given")
            assert fit(relation, segment="s", weight="w").to_bytes() == expected.to_bytes()
    zero = connection.sql("SELECT p, y, s, 0 AS w FROM given")
    for engine in ("stream", "group-by"):
        with pytest.raises(fb.InputError, match="weight is 'w', which is 0 for every row"):
            fit(zero, segment="s", weight="w", engine=engine)


@pytest.mark.parametrize("engine", ["stream", "group-by"])
@pytest.mark.parametrize(
    ("segments", "message"),
    [
        (pa.array([2**64 - 1, 1], pa.uint64()), "days.* is 18446744073709551615"),
        (pa.array(["", "a"]), r"days\[0\] is '', which is empty"),
        (pa.array([0.5, 1.0]), "days"),
    ],
)
def test_bad_segments_are_called_by_their_column(segments: pa.Array, message: str, engine: str) -> None:
    relation = duckdb.connect().from_arrow(pa.table({"p": [0.1, 0.2], "y": [0, 1], "days": segments}))
    with pytest.raises(fb.FastbinError, match=message):
        fit(relation, segment="days", calibrator=fb.UniformMassBinning(1), engine=engine)


# ---------------------------------------------------------------------- labels


@pytest.mark.parametrize("positive", [np.array([1]), [1], {1}, (1,), np.array(1)])
def test_one_label_is_positive(positive: Any) -> None:
    for engine in ("stream", "group-by"):
        relation = duckdb.connect().from_arrow(pa.table(COLUMNS))
        for call in (fit, count):
            with pytest.raises(fb.InputTypeError, match=r"positive is of type .*; pass the one label that counts as 1"):
                call(relation, label="y", positive=positive, engine=engine)


def test_numbers_of_numpy_are_positive() -> None:
    relation = duckdb.connect().from_arrow(pa.table({"p": SCORES, "y": np.where(LABELS, 7, -7)}))
    for positive in (np.int8(7), np.float32(7)):
        assert fit(relation, positive=positive) == MODEL
        counts = count(relation, label="y", positive=positive, engine="group-by")
        assert counts.label_sums.sum() == LABELS.sum()


@pytest.mark.parametrize("engine", ["stream", "group-by"])
@pytest.mark.parametrize(("labels", "positive"), [(["a", "b"], 5), (["a", "b"], True), ([3, 5], "a"), ([True, False], "yes")])
def test_a_positive_label_of_another_type(labels: list[Any], positive: Any, engine: str) -> None:
    relation = duckdb.connect().from_arrow(pa.table({"p": [0.1, 0.2], "y": labels}))
    for call in (fit, count):
        with pytest.raises(fb.InputError, match=f"positive is {positive!r}, which is none of the labels in y: they are "):
            call(relation, label="y", positive=positive, engine=engine)


@pytest.mark.parametrize("library", ["pandas", "dask"])
def test_labels_of_several_types(library: str) -> None:
    frame = pd.DataFrame({"p": [0.1, 0.2, 0.3], "y": ["a", 1, "a"]})
    if library == "dask":
        with pytest.importorskip("dask").config.set({"dataframe.convert-string": False}):
            frame = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=1)
    with pytest.raises(fb.InputTypeError, match="of several types"):
        fit(frame, positive="a")


@pytest.mark.parametrize("engine", ["duckdb", "polars", "pyarrow", "pandas", "stream"])
def test_third_labels_are_counted(engine: str) -> None:
    words = [*np.where(LABELS, "yes", "no")[:-3].tolist(), "maybe", "maybe", "maybe"]
    table = pa.table({"p": SCORES, "y": words})
    message = r"of 3,000 rows, y is neither 'yes' nor '(no|maybe)' in [0-9,]+ \(such as '(no|maybe)'\); leave such rows out"
    with pytest.raises(fb.InputError, match=message):
        fit(ENGINES[engine](table), positive="yes", engine="stream" if engine == "stream" else "group-by")


def test_one_of_many_labels_is_not_suggested() -> None:
    many = pa.table({"p": [0.1] * 10, "y": list("abcdefghij")})
    with pytest.raises(fb.InputTypeError, match=r"say which value is 1: positive=$"):
        fit(many)
    with pytest.raises(fb.InputError, match="positive is 'z', which is none of the labels in y"):
        fit(many, positive="z")
    for engine in ("duckdb", "polars", "pyarrow", "pandas"):
        with pytest.raises(fb.InputError, match="positive is 5, which is none of the labels in y"):
            fit(ENGINES[engine](many), positive=5)
    with pytest.raises(fb.InputError, match=r"of 10 rows, y is neither 'j' nor '[a-i]' in 8 "):
        fit(many, positive="j")


def test_values_that_are_not_compared() -> None:
    for value, kind in (
        ("[1, 2]", r"INTEGER\[\]"),
        ("{'a': 1}", "STRUCT"),
        ("MAP {'a': 1}", "MAP"),
        ("[1, 2]::INT[2]", "INTEGER"),
    ):
        relation = duckdb.sql(f"SELECT 0.5 AS p, {value} AS day")
        with pytest.raises(fb.InputTypeError, match=rf"day holds {kind}.*, whose values are not compared; cast the column to"):
            count(relation, by="day", engine="group-by")


def test_counts_without_labels_are_no_outcomes() -> None:
    counts = count(pa.table(COLUMNS))
    for counted in (fb.online.CalibrationMonitor(MODEL), fb.online.StreamingBinning(MODEL)):
        with pytest.raises(fb.InputTypeError, match="label_sums is None; count with label=, the column of labels"):
            counted.update_counts(counts.counts, counts.label_sums)


@pytest.mark.parametrize("engine", ["duckdb", "polars", "pyarrow", "pandas", "stream"])
def test_an_example_has_the_fault_that_is_told(engine: str) -> None:
    """Infinite scores and those that are no numbers are not out of range."""
    table = pa.table({**COLUMNS, "p": np.concatenate([SCORES[:-3] / 2.0, [-np.inf, np.nan, 0.75]])})
    narrow = fb.UniformMassBinning(10, score_range=(0.0, 0.6))
    message = r"p is infinite in 1 \(such as -inf\), p is outside \[0, 0.6\] in 1 \(such as 0.75\); leave"
    with pytest.raises(fb.InputError, match=message):
        fit(ENGINES[engine](table), calibrator=narrow, engine="stream" if engine == "stream" else "group-by")
