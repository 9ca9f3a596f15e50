"""Columns of all types: what counts as a score, a weight, a segment and a label, and what is refused in words."""

from __future__ import annotations

from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
from engine_rows import CALIBRATOR, COLUMNS, LABELS, MODEL, SCORES, SEGMENTS, SET, N, count, fit, relation

import fastbin as fb
from fastbin.engines.counting import Asked, Counter
from fastbin.tables.columns import sum_of
from hard_sets import FEWER_BINS

pytestmark = pytest.mark.filterwarnings(*FEWER_BINS, "ignore:Dask support is moving out of Narwhals:FutureWarning")


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
        "duckdb": lambda: duckdb.cursor().from_arrow(table),
    }[kind]()
    assert fit(given, calibrator=calibrator) == calibrator.fit(scores.astype(np.float64), LABELS).model_


ENGINES = {
    "duckdb": lambda table: duckdb.cursor().from_arrow(table),
    "polars": pl.from_arrow,
    "pyarrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "stream": lambda table: table,
}
EVERY_ENGINE = pytest.mark.parametrize("engine", list(ENGINES))


def fit_in(engine: str, table: pa.Table, **options: Any) -> Any:
    return fit(ENGINES[engine](table), engine="stream" if engine == "stream" else "group-by", **options)


def weighted(engine: str, weights: Any, **options: Any) -> Any:
    table = pa.table({"p": np.linspace(0, 1, len(weights)), "y": [0, 1] * (len(weights) // 2), "w": weights})
    options = {"calibrator": fb.UniformMassBinning(2, score_range=None), "weight": "w", **options}
    return fit_in(engine, table, **options)


TOO_MANY = fb.InputError, r"w adds up to more than 2\*\*53 samples"
NOT_COUNTS = {
    "one too many": ([2**52, 2**52 - 3, 3, 1], *TOO_MANY),
    "one more than a double shows": ([2**53, 1, 0, 0], *TOO_MANY),
    "more than a double shows": ([2**53, 1, 1, 1], *TOO_MANY),
    "a weight too great": ([2**53 + 1, 0, 0, 0], *TOO_MANY),
    "weights too great": ([2**60, 2**60, 2, 1], *TOO_MANY),
    "64 bits": (pa.array([2**64 - 1, 1], pa.uint64()), *TOO_MANY),
    "texts": (["1", "2"], fb.InputTypeError, r"w holds .*, not whole numbers"),
    "real": ([1.0, 2.0], fb.InputTypeError, r"w holds .*, real weights, and here weights are counts .*\(BIGINT\)"),
    "zeros": ([0, 0], fb.InputError, "weight is 'w', which is 0 for every row; a calibrator needs samples"),
}


@pytest.mark.sampled
@EVERY_ENGINE
@pytest.mark.parametrize("case", NOT_COUNTS)
def test_weights_that_cannot_be_counted(engine: str, case: str) -> None:
    weights, error, message = NOT_COUNTS[case]
    with pytest.raises(error, match=message):
        weighted(engine, weights)


@EVERY_ENGINE
def test_two_to_the_53_samples_are_not_too_many(engine: str) -> None:
    assert weighted(engine, [2**52, 2**52 - 3, 2, 1]).n_samples == 2**53


def test_sums_of_weights_beyond_64_bits_are_exact() -> None:
    assert sum_of(np.full(2048, 2**53)) == 2**64


def test_counters_of_parts_are_not_merged_to_more() -> None:
    model = fb.BinnedModel.from_parts(edges=[0.5], values=[0.25, 0.75])
    parts = [Counter(model, Asked("p", label="y", weight="w")) for _ in range(2)]
    for part, one_more in zip(parts, (0, 1), strict=True):
        part.add(pa.record_batch({"p": [0.1, 0.6], "y": [0, 1], "w": [2**52 - 1, 1 + one_more]}))
        assert part.tally().n_rows == 2
    parts[0].merge(parts[1])
    with pytest.raises(fb.InputError, match=r"w adds up to more than 2\*\*53 samples"):
        parts[0].tally()


@EVERY_ENGINE
def test_all_samples_may_have_one_score(engine: str) -> None:
    """One cell holds them all: its sum is a double, which 2**53 and one more round to."""
    table = pa.table({"p": [0.5] * 4, "y": [0, 1, 0, 1], "w": [2**52, 2**52 - 2, 1, 1]})
    options = {"weight": "w", "calibrator": fb.UniformMassBinning(1)}
    assert fit_in(engine, table, **options).n_samples == 2**53
    with pytest.raises(fb.InputError, match=r"w adds up to more than 2\*\*53 samples"):
        fit_in(engine, table.set_column(2, "w", pa.array([2**52, 2**52 - 2, 1, 2])), **options)


@EVERY_ENGINE
@pytest.mark.parametrize("kind", [pa.int8(), pa.decimal128(20, 0), pa.decimal128(38, 0), pa.uint64(), pa.bool_()])
def test_whole_weights_of_any_type(kind: pa.DataType, engine: str) -> None:
    weights = np.arange(200) % 2 if kind == pa.bool_() else np.arange(200) % 5
    if engine == "pandas" and pa.types.is_decimal(kind):  # which it holds as objects
        with pytest.raises(fb.InputTypeError, match="w holds Object, not whole numbers"):
            weighted(engine, pa.array(weights).cast(kind))
        return
    local = fb.UniformMassBinning(2, score_range=None).fit(np.linspace(0, 1, 200), [0, 1] * 100, weights)
    assert weighted(engine, pa.array(weights).cast(kind)) == local.model_


def test_weights_of_segments() -> None:
    weights = np.arange(N) % 3
    expected = fb.multi.SegmentedBinning(CALIBRATOR).fit(SCORES, LABELS, SEGMENTS, weights).model_
    for kind, segment in (
        ("BIGINT", "HUGEINT"), ("HUGEINT", "UBIGINT"), ("UBIGINT", "UTINYINT"), ("DECIMAL(20, 0)", "BIGINT"),
    ):  # fmt: skip
        given = relation(f"SELECT p, y, s::{segment} AS s, w::{kind} AS w FROM given", w=weights)
        assert fit(given, segment="s", weight="w").to_bytes() == expected.to_bytes()
    zero = relation("SELECT p, y, s, 0 AS w FROM given")
    for engine in ("stream", "group-by"):
        with pytest.raises(fb.InputError, match="weight is 'w', which is 0 for every row"):
            fit(zero, segment="s", weight="w", engine=engine)


@pytest.mark.parametrize("engine", ["stream", "group-by"])
@pytest.mark.parametrize(
    ("segments", "message"),
    [
        (pa.array([2**64 - 1, 1], pa.uint64()), "days.* is 18446744073709551615"),
        (pa.array(["", "a"]), r"{empty} is '', which is empty"),
        (pa.array([0.5, 1.0]), "days"),
    ],
)
def test_bad_segments_are_called_by_their_column(segments: pa.Array, message: str, engine: str) -> None:
    given = duckdb.cursor().from_arrow(pa.table({"p": [0.1, 0.2], "y": [0, 1], "days": segments}))
    empty = r"days\[0\]" if engine == "stream" else "^a key of days"  # by groups, no row is known
    with pytest.raises(fb.FastbinError, match=message.replace("{empty}", empty)):
        fit(given, segment="days", calibrator=fb.UniformMassBinning(1), engine=engine)


# ---------------------------------------------------------------------- labels


@pytest.mark.parametrize("positive", [np.array([1]), [1], {1}, (1,), np.array(1)])
def test_one_label_is_positive(positive: Any) -> None:
    for engine in ("stream", "group-by"):
        for call in (fit, count):
            with pytest.raises(fb.InputTypeError, match=r"positive is of type .*; pass the one label that counts as 1"):
                call(relation("FROM given"), label="y", positive=positive, engine=engine)


def test_numbers_of_numpy_are_positive() -> None:
    given = duckdb.cursor().from_arrow(pa.table({"p": SCORES, "y": np.where(LABELS, 7, -7)}))
    for positive in (np.int8(7), np.float32(7)):
        assert fit(given, positive=positive) == MODEL._replace(event=str(positive))
        counts = count(given, label="y", positive=positive, engine="group-by")
        assert counts.label_sums.sum() == LABELS.sum()


@pytest.mark.parametrize("engine", ["stream", "group-by"])
@pytest.mark.parametrize(("labels", "positive"), [(["a", "b"], 5), (["a", "b"], True), ([3, 5], "a"), ([True, False], "yes")])
def test_a_positive_label_of_another_type(labels: list[Any], positive: Any, engine: str) -> None:
    given = duckdb.cursor().from_arrow(pa.table({"p": [0.1, 0.2], "y": labels}))
    for call in (fit, count):
        with pytest.raises(fb.InputError, match=f"positive is {positive!r}, which is none of the labels in y: they are "):
            call(given, label="y", positive=positive, engine=engine)


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
        fit_in(engine, table, positive="yes")


def test_one_of_many_labels_is_not_suggested() -> None:
    many = pa.table({"p": [0.1] * 10, "y": list("abcdefghij")})
    with pytest.raises(fb.InputTypeError, match=r"such as .*; pass positive= with the value whose probability you want$"):
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
        ("TIMESTAMP_NS '2026-01-01 00:00:00.000000001'", "TIMESTAMP_NS"),  # of which Python would get the microseconds
    ):
        given = duckdb.sql(f"SELECT 0.5 AS p, {value} AS day")
        with pytest.raises(fb.InputTypeError, match=rf"day holds {kind}.*, whose values are not compared; cast the column to"):
            count(given, by="day", engine="group-by")


@pytest.mark.parametrize("engine", ["stream", "group-by"])
def test_intervals_which_engines_group_in_different_ways(engine: str) -> None:
    """A month and 30 days are one group in DuckDB, and two in Arrow."""
    given = duckdb.sql("SELECT 0.5 AS p, unnest([INTERVAL 1 MONTH, INTERVAL 30 DAYS]) AS span")
    with pytest.raises(fb.InputTypeError, match=r"(?i)span holds .*interval.*, whose values are not compared; cast the column"):
        count(given, by="span", engine=engine)


def test_counts_without_labels_are_no_outcomes() -> None:
    counts = count(pa.table(COLUMNS))
    for counted in (fb.online.CalibrationMonitor(MODEL), fb.online.StreamingBinning(MODEL)):
        with pytest.raises(fb.InputTypeError, match="label_sums is None; count with label=, the column of labels"):
            counted.update_counts(counts.counts, counts.label_sums)


@pytest.mark.parametrize("engine", ["auto", "group-by"])
def test_numbers_of_another_byte_order_are_columns_of_pandas(engine: str) -> None:
    frame = pd.DataFrame({"p": SCORES.astype(">f8"), "y": LABELS.astype(">i4")})
    assert fit(frame, engine=engine) == MODEL
    assert fit(frame.assign(y=pd.array(LABELS, pd.ArrowDtype(pa.bool_()))), engine=engine) == MODEL
    assert np.array_equal(fb.engines.predict(frame, MODEL, score="p")["probability"], MODEL.predict(SCORES))
    assert np.array_equal(count(frame).counts, np.bincount(MODEL.assign(SCORES), minlength=MODEL.n_bins))


def test_types_that_arrow_has_not_are_told() -> None:
    frame = pd.DataFrame({"p": SCORES + 0j, "y": LABELS, "c": pd.period_range("2020", periods=N, freq="h")})
    with pytest.raises(fb.InputTypeError, match=r"has a column of a type that PyArrow has not: .*complex128"):
        fit(frame, engine="auto")
    with pytest.raises(fb.InputTypeError, match="the column 'p' is of type complex128, which PyArrow has not"):
        fb.engines.predict(frame, MODEL, score="p")
    with pytest.raises(fb.InputTypeError, match=r"cell is a column of type .*period.*, and the keys of this set are texts"):
        fb.engines.predict(frame.assign(p=SCORES), fb.ModelSet({"a": MODEL}), score="p", cell="c")


CELLS_OF_DUCKDB = {
    "1::TINYINT": True, "1::HUGEINT": True, "1::DECIMAL(9, 0)": True, "NULL": True, "1::DECIMAL(9, 1)": False,
    "1::DOUBLE": False, "true": False, "DATE '2020-01-01'": False, "TIME '10:00:00'": False, "[1]": False, "'1'::BLOB": False,
    "uuid()": False, "'1'::JSON": False, "'101'::BIT": False, "INTERVAL 1 DAY": False,
}  # fmt: skip


@pytest.mark.parametrize("cell", CELLS_OF_DUCKDB)
def test_cells_of_integers(cell: str) -> None:
    """DuckDB would compare some of these with integers, and fail at others in the middle of a query; it is not asked."""
    models = fb.ModelSet({1: MODEL, 1000: MODEL})
    table = duckdb.cursor().sql(f"SELECT 0.25::DOUBLE p, {cell} c")
    if CELLS_OF_DUCKDB[cell]:
        answer = fb.engines.predict(table, models, score="p", cell="c").fetchall()[0][-1]
        assert answer == (None if cell == "NULL" else MODEL.predict_one(0.25))
        return
    with pytest.raises(fb.InputTypeError, match=r"cell is 'c', a column of type .*, and the keys of this set are integers"):
        fb.engines.predict(table, models, score="p", cell="c")
    with pytest.raises(fb.InputTypeError, match="cell is"):
        fb.engines.count(table, models, score="p", cell="c", engine="group-by")


@pytest.mark.parametrize("engine", ["duckdb", "polars", "pyarrow", "pandas", "stream"])
def test_an_example_has_the_fault_that_is_told(engine: str) -> None:
    """Infinite scores and NaN are not out of range."""
    table = pa.table({**COLUMNS, "p": np.concatenate([SCORES[:-3] / 2.0, [-np.inf, np.nan, 0.75]])})
    narrow = fb.UniformMassBinning(10, score_range=(0.0, 0.6))
    message = r"p is infinite in 1 \(such as -inf\), p is outside \[0, 0.6\] in 1 \(such as 0.75\); leave"
    with pytest.raises(fb.InputError, match=message):
        fit_in(engine, table, calibrator=narrow)


# ---------------------------------------------------------------------- types that few tables have


of_arrow_18 = pytest.mark.skipif(not hasattr(pa, "opaque"), reason="PyArrow before 18 has fewer types")


def lossless(query: str) -> Any:
    """A relation of a session in which a setting says that Arrow gets booleans as bytes, and great integers as opaque bytes."""
    connection = duckdb.connect()
    connection.register("given", pa.table({**COLUMNS, "w": np.arange(N) % 3}))
    connection.execute("SET arrow_lossless_conversion = true")
    return connection.sql(query)


@of_arrow_18
def test_a_setting_of_arrow_makes_no_difference() -> None:
    weights = np.arange(N) % 3
    expected = CALIBRATOR.fit(SCORES, LABELS, weights).model_
    bins = MODEL.assign(SCORES)
    for kind in ("HUGEINT", "UHUGEINT"):
        given = lossless(f"SELECT p, y, w::{kind} AS w, y::INT::{kind} AS paid FROM given")
        for engine in ("stream", "group-by"):
            assert fit(given, weight="w", engine=engine) == expected
            assert fit(given, label="paid", positive=1, engine=engine)._replace(event="") == MODEL
            found = count(given, label="y", weight="w", by="y", engine=engine)
            assert np.array_equal(found.counts, np.bincount(bins, weights, MODEL.n_bins))
            assert np.array_equal(found.label_sums, np.bincount(bins, weights * LABELS, MODEL.n_bins))
            assert sorted(found.groups) == [False, True]


@pytest.mark.parametrize("engine", ["stream", "group-by"])
def test_numbers_of_39_digits_are_told_in_words(engine: str) -> None:
    greatest = "170141183460469231731687303715884105727::HUGEINT"
    given = relation(f"SELECT p, y, CASE WHEN p < 0.01 THEN {greatest} ELSE 1 END AS w FROM given")
    with pytest.raises(fb.InputError, match=r"w adds up to more than 2\*\*53 samples"):
        fit(given, weight="w", engine=engine)
    wide = fb.UniformMassBinning(2, score_range=None)
    assert fit(given, score="w", calibrator=wide, engine=engine).n_samples == N


@pytest.mark.parametrize("kind", ["HUGEINT", "DECIMAL(38, 0)", "DECIMAL(9, 0)"])
def test_the_sum_of_integers_is_a_key(kind: str) -> None:
    """DuckDB's is a HUGEINT, of which Arrow makes a decimal; other engines have decimals for integers."""
    given = relation(f"SELECT p, y, s::{kind} AS s FROM given")
    for table in (given, given.to_arrow_table()):
        scored = fb.engines.predict(table, SET, score="p", cell="s")
        found = scored.fetchnumpy() if table is given else {name: scored[name].to_numpy() for name in scored.column_names}
        assert np.array_equal(found["probability"], SET.predict(found["p"], found["s"].astype(np.int64)))
    for engine in ("stream", "group-by"):
        assert fit(given, segment="s", engine=engine).to_bytes() == SET.to_bytes()
        found = fb.engines.count(given, SET, score="p", cell="s", engine=engine).counts
        assert np.array_equal(found, fb.engines.count(pa.table(COLUMNS), SET, score="p", cell="s").counts)
    far = relation("SELECT p, y, s::HUGEINT + 1e30::HUGEINT AS s FROM given")
    for engine in ("stream", "group-by"):
        with pytest.raises(fb.FastbinError, match=r"segment is 's'|s.* is 1000000000000000"):
            fit(far, segment="s", engine=engine)


@of_arrow_18
@pytest.mark.parametrize("engine", ["auto", "group-by"])
def test_booleans_of_a_byte_are_labels(engine: str) -> None:
    bytes_each = pa.ExtensionArray.from_storage(pa.bool8(), pa.array(LABELS.astype(np.int8)))
    assert fit(pa.table({"p": SCORES, "y": bytes_each}), engine=engine) == MODEL


@pytest.mark.parametrize("engine", ["auto", "group-by"])
def test_sparse_columns_of_pandas_are_dense(engine: str) -> None:
    frame = pd.DataFrame({"p": pd.arrays.SparseArray(SCORES), "y": pd.arrays.SparseArray(LABELS.astype(int))})
    assert fit(frame, engine=engine) == MODEL
    assert np.array_equal(fb.engines.predict(frame, MODEL, score="p")["probability"], MODEL.predict(SCORES))


@pytest.mark.parametrize("engine", ["stream", "group-by"])
@pytest.mark.parametrize("kind", ["decimals", "decimal places below zero", "integers"])
def test_weights_below_all_that_64_bits_hold_are_negative(kind: str, engine: str) -> None:
    weights = {
        "decimals": pa.array([Decimal(-10) ** 31, Decimal(1)], pa.decimal128(38, 0)),
        "decimal places below zero": pa.array([Decimal("-3e2"), Decimal("1e2")], pa.decimal128(3, -2)),
        "integers": pa.array([-(2**63), 1]),
    }[kind]
    with pytest.raises(fb.InputError, match=r"w is negative( in 1)? \(such as -"):
        weighted(engine if engine == "stream" else "pyarrow", weights)


def test_decimals_of_places_below_zero_are_weights() -> None:
    weights = pa.array([Decimal("3e2"), Decimal("1e2")], pa.decimal128(3, -2))
    assert weighted("pyarrow", weights).n_samples == weighted("stream", weights).n_samples == 400


@pytest.mark.parametrize("engine", ["auto", "group-by"])
def test_labels_are_compared_as_what_they_are(engine: str) -> None:
    """Decimals as decimals, times with their zone."""
    times = pd.to_datetime(np.where(LABELS, "2020-01-01", "2021-01-01"))
    two_parts = [pa.array(np.where(part, "yes", "no").tolist()) for part in np.split(LABELS, [N // 2])]
    cases: list[tuple[Any, Any]] = [
        (pa.array([Decimal("2.1") if label else Decimal("1.5") for label in LABELS]), Decimal("2.1")),
        (times.tz_localize("UTC"), datetime(2020, 1, 1, tzinfo=timezone.utc)),
        (pa.chunked_array([part.dictionary_encode() for part in two_parts]), "yes"),
    ]  # fmt: skip
    if hasattr(pa, "opaque"):
        cases.append((pa.array(np.where(LABELS, "yes", "no").tolist(), pa.string_view()), "yes"))
    for labels, positive in cases:
        kept = {"p": SCORES, "y": labels}
        table = pa.table(kept) if isinstance(labels, (pa.Array, pa.ChunkedArray)) else pd.DataFrame(kept)
        assert fit(table, positive=positive, engine=engine)._replace(event="") == MODEL


def test_types_whose_values_are_not_compared_are_told() -> None:
    for labels in (pa.array([[int(label)] for label in LABELS]), pa.array([{"a": int(label)} for label in LABELS])):
        with pytest.raises(fb.InputTypeError, match="values are not compared"):
            fit(pa.table({"p": SCORES, "y": labels}), positive=1)
    intervals = pd.DataFrame({"p": SCORES, "y": pd.arrays.IntervalArray.from_breaks(np.arange(N + 1.0))})
    with pytest.raises(fb.InputTypeError, match="values are not compared"):
        fit(intervals, positive=1)


@pytest.mark.skipif(not hasattr(pl, "Int128"), reason="Polars has no integers of 128 bits")
def test_integers_of_128_bits_are_told() -> None:
    wide = pl.DataFrame({"p": SCORES, "y": LABELS, "w": np.ones(N, int)}).cast({"w": pl.Int128})
    told = "a column of Polars is of a type that PyArrow has not: "
    with pytest.raises(fb.InputTypeError, match=told):
        fit(wide, weight="w", engine="auto")
    with pytest.raises(fb.InputTypeError, match=told):
        fb.engines.predict(wide, MODEL, score="w")


@pytest.mark.parametrize("engine", ["auto", "group-by"])
@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_categories_are_their_values(library: str, engine: str) -> None:
    columns = {"p": SCORES.round(2), "y": np.where(LABELS, "yes", "no"), "w": np.arange(N) % 3}
    frame = pd.DataFrame({name: pd.Categorical(column) for name, column in columns.items()})
    table = pa.Table.from_pandas(frame) if library == "pyarrow" else frame
    expected = CALIBRATOR.fit(columns["p"], LABELS, columns["w"]).model_
    assert fit(table, weight="w", positive="yes", engine=engine)._replace(event="") == expected


def test_partitions_of_different_types_are_told() -> None:
    frames = pytest.importorskip("dask.dataframe")
    with pytest.importorskip("dask").config.set({"dataframe.convert-string": False}):
        parts = [pd.DataFrame({"p": SCORES[:50], "y": LABELS[:50], "s": [key] * 50}) for key in ("a", 1)]
        both = frames.concat([frames.from_pandas(part.astype({"s": object}), npartitions=1) for part in parts])
    with pytest.raises(fb.InputTypeError, match="s holds values of several types"):
        fit(both, segment="s", calibrator=fb.UniformMassBinning(1), engine="stream")
    with pytest.raises(fb.InputTypeError, match="s holds values of several types"):
        count(both, by="s", engine="stream")


def test_the_reason_for_leaving_out_a_row_is_one() -> None:
    """A score out of range of a cell that is not known is out of range, wherever rows are counted."""
    wider = fb.UniformMassBinning(10, score_range=(0.0, 1.5)).fit(SCORES, LABELS).model_
    models = fb.ModelSet({0: MODEL, 1: wider})
    given = duckdb.sql("SELECT 2.0 AS p, 9 AS k UNION ALL SELECT 0.5, 0 UNION ALL SELECT 1.2, 1 UNION ALL SELECT 1.2, 9")
    told = "of 4 rows, 1 have a score outside the range of the model, 1 have a cell that the set does not know"
    for engine in ("stream", "group-by"):
        with pytest.raises(fb.InputError, match=told):
            fb.engines.count(given, models, score="p", cell="k", engine=engine)
