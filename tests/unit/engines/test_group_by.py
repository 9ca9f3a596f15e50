"""Fits whose plans are answered by GROUP BY are those in memory, byte for byte; bad and changing rows are refused."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from itertools import product
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fastbin as fb
from fastbin._fit.quantiles import Plan
from fastbin._fit.rows import RowsSource, check_rows
from fastbin.engines.group_by import FitColumns, GroupBySource
from fastbin.tables import opening
from fastbin.tables.frames import Names, NarwhalsFrame
from fastbin.tables.sql import DuckDBTable
from fitting import bare
from hard_sets import CALIBRATORS, FEWER_BINS, NAMES, HardSet, hard_set, local_model

pytestmark = pytest.mark.filterwarnings(*FEWER_BINS, "ignore:Dask support is moving out of Narwhals:FutureWarning")


def _dask(frame: pd.DataFrame) -> Any:
    frames = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    return frames.from_pandas(frame, npartitions=3)


ENGINES: dict[str, Callable[[pa.Table], Any]] = {
    "duckdb": lambda table: duckdb.cursor().from_arrow(table),
    "polars": lambda table: pl.from_arrow(table).lazy(),
    "pandas": lambda table: table.to_pandas(),
    "pyarrow": lambda table: table,
    "dask": lambda table: _dask(table.to_pandas()),
}
SOME = ("umd, whole", "umb, random", "certified")

# A pass over a Dask frame takes a tenth of a second, however small it is.
SOME_OF_DASK = ("umd, random", "certified")


class SmallFrame(NarwhalsFrame):
    """Allows so few cells and values that plans have to be refined."""

    most_cells = 1024
    value_limit = 200


class SmallTable(DuckDBTable):
    """The same in DuckDB."""

    most_cells, value_limit = SmallFrame.most_cells, SmallFrame.value_limit


class RoundingFrame(SmallFrame):
    """An engine whose logarithm is wrong in the third digit, and falls in places."""

    def log(self, expression: Any) -> Any:
        rough = (expression.log() * 20.0).floor()
        return rough / 20.0 - 0.07 * (rough - (rough / 3.0).floor() * 3.0)


def table_of(rows: HardSet) -> pa.Table:
    return pa.table({"p": rows.scores, "y": rows.labels, "w": rows.repeats})


def source_of(
    table: Any, score_range: tuple[float, float] | None = (0.0, 1.0), *, weight: str | None = None, positive: Any = None,
    kind: type[NarwhalsFrame] | None = None,
) -> GroupBySource:  # fmt: skip
    names = Names("p", "y", weight)
    frame: Any = opening.open(table).frame(names)
    if kind is not None:
        frame = SmallTable(frame.native) if isinstance(frame, DuckDBTable) else kind(frame._frame, frame._decimals)
    return GroupBySource(frame, FitColumns.of(frame, names, score_range, positive))


def fitted(calibrator: str, name: str, source: GroupBySource) -> fb.BinnedModel:
    return CALIBRATORS[calibrator](hard_set(name).score_range)._fit_source(source).model_


def _grid(of_dask: Callable[[str, str], bool]) -> list[Any]:
    """All cases. Each engine meets each set and each calibrator, and each set each calibrator, in those that are not slow."""
    others, calibrators = [engine for engine in ENGINES if engine != "dask"], list(CALIBRATORS)

    def is_quick(engine: str, name: str, calibrator: str) -> bool:
        if engine == "dask":
            return of_dask(name, calibrator)
        return others[(NAMES.index(name) + calibrators.index(calibrator)) % len(others)] == engine

    return [
        pytest.param(*case, marks=[] if is_quick(*case) else [pytest.mark.slow])
        for case in product(ENGINES, NAMES, CALIBRATORS)
    ]  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("engine", "name", "calibrator"), _grid(lambda name, calibrator: calibrator == SOME_OF_DASK[NAMES.index(name) % 2])
)
def test_the_model_has_the_bytes_of_the_fit_in_memory(engine: str, name: str, calibrator: str) -> None:
    rows = hard_set(name)
    model = fb.engines.fit(
        ENGINES[engine](table_of(rows)), score="p", label="y", calibrator=CALIBRATORS[calibrator](rows.score_range),
        engine="auto" if engine == "dask" else "group-by",
    )  # fmt: skip
    assert model.to_bytes() == local_model(calibrator, name).to_bytes()


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("engine", "name", "calibrator"), _grid(lambda name, calibrator: (name, calibrator) == ("logits", "umd, whole"))
)
def test_so_it_has_where_plans_have_to_be_refined(engine: str, name: str, calibrator: str) -> None:
    rows, passes = hard_set(name), []
    source = source_of(ENGINES[engine](table_of(rows)), rows.score_range, kind=SmallFrame)
    source._progress = lambda n_pass, n_rows: passes.append((n_pass, n_rows))
    assert fitted(calibrator, name, source).to_bytes() == local_model(calibrator, name).to_bytes()
    assert passes == [(n_pass, len(rows.scores)) for n_pass in range(1, len(passes) + 1)]
    if name == "bunched":
        assert len(passes) > 2


@pytest.mark.sampled
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("calibrator", SOME)
@pytest.mark.parametrize("engine", ["duckdb", "polars", "pandas", "pyarrow"])
def test_integer_weights_are_frequencies(engine: str, calibrator: str, name: str) -> None:
    rows = hard_set(name)
    model = fb.engines.fit(
        ENGINES[engine](table_of(rows)), score="p", label="y", weight="w", engine="group-by",
        calibrator=CALIBRATORS[calibrator](rows.score_range),
    )  # fmt: skip
    assert model.to_bytes() == local_model(calibrator, name, weighted=True).to_bytes()


@pytest.mark.parametrize("n", [49, 50])
def test_fifty_rows_of_hard_labels_are_told(n: int) -> None:
    source = source_of(pl.DataFrame({"p": np.arange(n) % 2 * 1.0, "y": np.arange(n) % 3 == 0}))
    source.answer(Plan.whole(source.limits, 10))
    assert source.has_hard_labels == (n == 50)


@pytest.mark.sampled
@pytest.mark.parametrize("name", NAMES)
def test_cells_that_a_rounding_logarithm_lets_overlap_cost_nothing(name: str) -> None:
    rows = hard_set(name)
    source = source_of(pl.from_arrow(table_of(rows)), rows.score_range, kind=RoundingFrame)
    assert fitted("certified", name, source).to_bytes() == local_model("certified", name).to_bytes()


@pytest.mark.sampled
@pytest.mark.parametrize("name", [name for name in NAMES if hard_set(name).score_range])
@pytest.mark.parametrize(
    "calibrator", [fb.FixedWidthBinning(7), fb.ExplicitBinning([5e-324, 0.25, 0.3, 0.3 + 5e-10, 0.9])], ids=lambda c: str(c)[:8]
)
@pytest.mark.filterwarnings("ignore:.*bins? .*no samples:fastbin.FastbinWarning", "ignore::fastbin.FastbinWarning")
def test_what_lies_between_given_edges_is_counted(calibrator: Any, name: str) -> None:
    rows = hard_set(name)
    local = calibrator.fit(rows.scores, rows.labels).model_.to_bytes()
    assert calibrator._fit_source(source_of(ENGINES["duckdb"](table_of(rows)))).model_.to_bytes() == local


def test_plans_may_ask_for_anything_in_any_order() -> None:
    rows = hard_set("heavy atoms")
    here = RowsSource(check_rows(rows.scores, rows.labels, None, (0.0, 1.0)))
    there = source_of(ENGINES["polars"](table_of(rows)))
    plans = [([0.1, 0.25], [0.2, 0.8], [1, 0]), ([0.3], [0.4], [9]), ([0.0, 0.35], [0.3, 0.9], [5, 7]), ([2**-9], [0.5], [0])]
    for source in (here, there):
        source.answer(Plan.whole((0.0, 1.0), 2))
    for low, high, n_cells in plans:
        plan = Plan(np.array(low), np.array(high), np.array(n_cells), np.full(len(low), 4000))
        totals = []
        for source in (here, there):
            cells, values = source.answer(plan)
            counts = np.zeros((2, len(low)), np.int64)
            np.add.at(counts[0], cells.interval, cells.n_samples)
            np.add.at(counts[1], cells.interval, cells.n_positive)
            listed = [
                (slot, score + 0.0)
                for slot, score, n in zip(values.slot, values.score, values.repeats, strict=True)
                for _ in range(n)
            ]
            totals.append((counts.tolist(), sorted(listed)))
        assert totals[0] == totals[1]


@pytest.mark.sampled
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("labels", "positive"),
    [
        (np.array([0, 1], np.int8), None), (np.array([0, 1], np.uint16), 1), (np.array([0.0, 1.0]), None),
        (np.array([-1, 1]), 1), (np.array(["no", "yes"], object), "yes"), (np.array([True, False]), False),
        (np.array([1.0, 2.0], np.float32), 2),
    ],
    ids=["int8", "positive=1", "float", "-1 and 1", "text", "bool turned round", "float32"],
)  # fmt: skip
def test_labels_of_any_kind(engine: str, labels: Any, positive: Any) -> None:
    rows = hard_set("uniform")
    column = labels[rows.labels.astype(int)]
    local = fb.UniformMassBinning(12).fit(rows.scores, column, positive=positive).model_
    source = source_of(ENGINES[engine](pa.table({"p": rows.scores, "y": column})), positive=positive)
    assert bare(fb.UniformMassBinning(12)._fit_source(source).model_) == bare(local)  # fb.engines.fit names the event


@pytest.mark.parametrize("engine", ENGINES)
def test_float32_scores_are_doubles(engine: str) -> None:
    rows = hard_set("uniform")
    scores = rows.scores.astype(np.float32)
    source = source_of(ENGINES[engine](pa.table({"p": scores, "y": rows.labels})))
    assert fb.UniformMassBinning(12)._fit_source(source).model_ == fb.UniformMassBinning(12).fit(scores, rows.labels).model_


# Without an Arrow type, pandas holds decimals as Python objects, which are refused.
@pytest.mark.sampled
@pytest.mark.parametrize("engine", ["duckdb", "polars", "pyarrow", "pandas of Arrow", "dask of Arrow"])
def test_decimals_are_the_nearest_doubles(engine: str) -> None:
    """Arrow's own cast of them is not."""
    numbers = np.random.default_rng(0).integers(0, 10**9, 2000)
    scores = pa.array([Decimal(int(number)).scaleb(-9) for number in numbers], pa.decimal128(12, 9))
    table = pa.table({"p": scores, "y": np.arange(2000) % 2})
    if engine.endswith("Arrow"):
        frame = table.to_pandas(types_mapper=pd.ArrowDtype)
        source = source_of(frame if engine.startswith("pandas") else _dask(frame))
    else:
        source = source_of(ENGINES[engine](table))
    local = fb.UniformMassBinning(12).fit([float(score) for score in scores.to_pylist()], np.arange(2000) % 2)
    assert fb.UniformMassBinning(12)._fit_source(source).model_ == local.model_


def test_other_columns_do_not_matter_whatever_their_names_are() -> None:
    rows = hard_set("bunched")
    names = ("score", "one", "cell", "good", "weight", "rows", "low", "high", "interval", "is_listed", "fastbin_intervals")
    table = pa.table({**{name: ["x"] * len(rows.scores) for name in names}, "p": rows.scores, "y": rows.labels})
    for engine in ("duckdb", "polars"):
        source = source_of(ENGINES[engine](table), kind=SmallFrame)
        assert fitted("umd, random", "bunched", source) == local_model("umd, random", "bunched")


# ------------------------------------------------------------------------------------------------- faults

ROWS = {"p": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0], "y": [0, 0, 0, 1, 0, 1, 0, 1, 1, 1]}
NAN, INF = float("nan"), float("inf")


@pytest.mark.sampled
@pytest.mark.parametrize("engine", ["duckdb", "polars", "pandas", "pyarrow", "dask"])
@pytest.mark.parametrize(
    ("column", "bad", "told"),
    [
        ("p", [None, None], r"of 12 rows, p is NULL in 2;"),
        ("p", [NAN], r"of 11 rows, p is (NaN|NULL) in 1;"),
        ("p", [INF, -INF], r"of 12 rows, p is infinite in 2 \(such as -inf\);"),
        ("p", [1.5, -0.1, 2.0], r"of 13 rows, p is outside \[0, 1\] in 3 \(such as -0.1\);.*score_range=None"),
        ("y", [None], r"of 11 rows, y is NULL in 1;"),
        ("y", [2, 2], r"of 12 rows, y is neither 0 nor 1 in 2 \(such as 2(\.0)?\);.*positive="),
        ("w", [-1, -2], r"of 12 rows, w is negative in 2 \(such as -1\);"),
        ("w", [None], r"of 11 rows, w is NULL in 1;"),
    ],
)  # fmt: skip
def test_bad_rows_are_refused_with_their_number(engine: str, column: str, bad: list[Any], told: str) -> None:
    columns = {**ROWS, "w": [1] * 10}
    columns = {name: values + (bad if name == column else values[: len(bad)]) for name, values in columns.items()}
    table = pa.table(columns, pa.schema([("p", pa.float64()), ("y", pa.int64()), ("w", pa.int64())]))
    if engine in ("pandas", "dask"):
        # Nulls are kept, as pandas would else make floats of integers.
        frame = table.to_pandas(types_mapper=pd.ArrowDtype)
        given = frame if engine == "pandas" else _dask(frame)
    else:
        given = ENGINES[engine](table)
    with pytest.raises(fb.InputError, match=told):
        fb.UniformMassBinning(2)._fit_source(source_of(given, weight="w"))


@pytest.mark.sampled
@pytest.mark.parametrize("engine", ["duckdb", "polars", "pyarrow"])
@pytest.mark.parametrize("positive", [None, 1])
def test_labels_that_are_nan_are_called_so_as_in_a_stream(engine: str, positive: int | None) -> None:
    table = ENGINES[engine](pa.table({"p": [*ROWS["p"], 0.5], "y": [*map(float, ROWS["y"]), NAN]}))
    for by in ("group-by", "stream"):
        with pytest.raises(fb.InputError, match=r"of 11 rows, y is NaN in 1; leave such rows out"):
            fb.engines.fit(table, score="p", label="y", positive=positive, engine=by)


def test_numbers_of_16_bits_in_arrow_are_compared_as_doubles() -> None:
    y, w = (pa.array(np.array(values, np.float16)) for values in (ROWS["y"], [1] * 10))
    models = [
        fb.engines.fit(
            pa.table({"p": ROWS["p"], "y": y}), score="p", label="y", engine=by, calibrator=fb.UniformMassBinning(2)
        ).to_bytes()
        for by in ("group-by", "stream")
    ]
    assert models[0] == models[1]
    with pytest.raises(fb.InputTypeError, match="w holds real numbers, real weights"):
        fb.engines.fit(pa.table({"p": ROWS["p"], "y": y, "w": w}), score="p", label="y", weight="w", engine="group-by")


def test_several_kinds_of_bad_rows_are_told_at_once() -> None:
    table = pl.DataFrame({"p": [0.1, None, 7.0, INF, NAN, 0.2], "y": [0.0, 1.0, 1.0, 0.5, None, 1.0]})
    told = (
        r"of 6 rows, p is NULL in 1, p is NaN in 1, p is infinite in 1 \(such as inf\), "
        r"p is outside \[0, 1\] in 1 \(such as 7.0\), y is NULL in 1, y is neither 0 nor 1 in 1 \(such as 0.5\); leave"
    )
    with pytest.raises(fb.InputError, match=told):
        fb.UniformMassBinning(2)._fit_source(source_of(table))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_table_without_rows_is_refused(engine: str) -> None:
    table = pa.table({"p": pa.array([], pa.float64()), "y": pa.array([], pa.int64())})
    with pytest.raises(fb.InputError, match="table has no rows"):
        fb.UniformMassBinning(2)._fit_source(source_of(ENGINES[engine](table)))


@pytest.mark.parametrize(
    ("weight", "told"),
    [
        (0, "weight is 'w', which is 0 for every row"),
        (2**52, r"w adds up to more than 2\*\*53"),
        (2**60, r"w adds up to more than 2\*\*53"),
    ],
)
def test_weights_that_add_up_to_nothing_or_beyond_exact_counts_are_refused(weight: int, told: str) -> None:
    table = pl.DataFrame({**ROWS, "w": [weight] * 10})
    with pytest.raises(fb.InputError, match=told):
        fb.UniformMassBinning(2)._fit_source(source_of(table, weight="w"))


@pytest.mark.parametrize(
    ("scores", "told"),
    [("random()", "changed"), ("i / 1e6 + 1e-9 * random()", "changed"), ("CASE WHEN random() < .5 THEN .2 ELSE .7 END", "")],
)
def test_rows_that_change_between_passes_are_refused_or_need_one_pass(scores: str, told: str) -> None:
    relation = duckdb.cursor().sql(f"SELECT {scores} AS p, random() < .5 AS y FROM range(1000000) t(i)")
    source = source_of(relation)
    if not told:  # both scores are cells of their own: one pass is enough
        fb.UniformMassBinning(2)._fit_source(source)
        assert source._n_passes == 1
        return
    with pytest.raises(fb.InputError, match="the rows changed between two passes"):
        fb.UniformMassBinning(20)._fit_source(source)


def test_rows_that_vanish_are_refused() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT random() AS p, random() < .5 AS y FROM range(100000)")
    source = source_of(connection.table("t"))
    source._progress = lambda n_pass, n_rows: connection.execute("DELETE FROM t")
    with pytest.raises(fb.InputError, match="the rows changed between two passes"):
        fb.UniformMassBinning(20)._fit_source(source)


def test_a_query_that_fails_leaves_no_model() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT random() AS p, random() < .5 AS y FROM range(100000)")
    calibrator, source = fb.UniformMassBinning(20), source_of(connection.table("t"))
    source._progress = lambda n_pass, n_rows: connection.execute("DROP TABLE t")
    with pytest.raises(duckdb.Error):
        calibrator._fit_source(source)
    assert not hasattr(calibrator, "model_")


@pytest.mark.parametrize(
    ("columns", "options", "error", "told"),
    [
        ({}, {"score": "q"}, fb.InputError, "no column 'q'; it has 'p', 'y'"),
        ({"p": ["a"] * 10}, {}, fb.InputTypeError, "score is 'p', a column of text; .* cast the column to float64$"),
        ({"y": ["no", "yes"] * 5}, {}, fb.InputTypeError, "a column of text such as 'no' and 'yes'.*pass positive= "),
        ({"y": ["no", "yes"] * 5}, {"positive": "y"}, fb.InputError, "none of the labels in y: they are 'no' and 'yes'"),
        ({"y": [1, 2, 3, 1, 2] * 2}, {"positive": 4}, fb.InputError, "positive is 4, which is none of the labels in y: they a"),
        ({"y": list("abcdefghij")}, {}, fb.InputTypeError, r"text such as '.' and '.'; .*pass positive= with"),
        ({"y": [None] * 10}, {}, fb.InputError, "label is 'y', a column of .* without a value; a calibrator needs labels"),
        ({"w": [0.5] * 10}, {"weight": "w"}, fb.InputTypeError, "w holds real numbers, real weights, and here"),
    ],
)  # fmt: skip
def test_columns_that_cannot_be_used_are_refused(columns: Any, options: Any, error: type[Exception], told: str) -> None:
    table = pl.DataFrame({**ROWS, **columns})
    with pytest.raises(error, match=told):
        fb.engines.fit(table, engine="group-by", **{"score": "p", "label": "y", **options})


def test_fit_asks_by_group_by_where_it_is_told() -> None:
    rows = hard_set("uniform")
    for table in (ENGINES["duckdb"](table_of(rows)), pd.DataFrame({"p": rows.scores, "y": rows.labels})):
        seen: list[tuple[int, int]] = []
        model = fb.engines.fit(
            table, score="p", label="y", engine="group-by", calibrator=fb.UniformMassBinning(12),
            progress=lambda *told, seen=seen: seen.append(told),
        )  # fmt: skip
        assert model.to_bytes() == local_model("umd, whole", "uniform").to_bytes()
        assert seen == [(1, 4000), (2, 4000)]
