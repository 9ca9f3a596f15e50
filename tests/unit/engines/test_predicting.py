"""Predictions in engines: the bits of `predict`, every column kept, and nothing computed before it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from exported import MODELS, bits, hard_rows, model_of, rows_without_answer
from exported_curves import curve_model_of, hard_curve_scores

import fastbin as fb

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
ds = pytest.importorskip("pyarrow.dataset")
duckdb = pytest.importorskip("duckdb")

# Names that break what does not quote them.
SCORE, KEY, CELL = 'the "score", 1', "select", "o'cell`s"


class Engine:
    """How a table of an engine is made of Arrow, and its new column read back: null where a row has none."""

    def __init__(self, make: Callable[[Any], Any], collect: Callable[[Any], Any], read: Callable[[Any], np.ndarray]) -> None:
        self.make, self._collect, self._read = make, collect, read

    def read(self, table: Any, *names: str) -> list[np.ndarray]:
        rows = self._collect(table)
        return [self._read(rows[name]) for name in names]

    def predict(self, columns: dict[str, Any], model: Any, **names: Any) -> np.ndarray:
        """The probabilities in the order of the rows, which a join may change."""
        n_rows = len(next(iter(columns.values())))
        table = fb.engines.predict(self.make(pa.table({**columns, "row": np.arange(n_rows, dtype=float)})), model, **names)
        numbers, values = self.read(table, "row", names.get("output", "probability"))
        if isinstance(model, fb.BinnedModel):
            assert np.array_equal(numbers, np.arange(n_rows))
        return values[np.argsort(numbers)]


def _of_arrow(column: Any) -> np.ndarray:
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    assert column.type == pa.float64()
    values = column.to_numpy(zero_copy_only=False)
    assert np.array_equal(np.isnan(values), np.asarray(column.is_null()))  # NULL, and never NaN
    return values


def _of_pandas(column: Any) -> np.ndarray:
    assert column.dtype == np.float64
    return column.to_numpy()


def _to_duckdb(table: Any) -> Any:
    return duckdb.cursor().from_arrow(table)


def _to_dask(table: Any) -> Any:
    dask = pytest.importorskip("dask.dataframe")
    kept = {kind: pd.ArrowDtype(kind) for kind in (pa.string(), pa.decimal128(12, 6))}
    return dask.from_pandas(table.to_pandas(types_mapper=kept.get), npartitions=3)


ENGINES = {
    "duckdb": Engine(_to_duckdb, lambda table: table.to_arrow_table(), _of_arrow),
    "polars": Engine(pl.from_arrow, lambda table: table, lambda column: _of_arrow(column.to_arrow())),
    "polars lazy": Engine(
        lambda table: pl.from_arrow(table).lazy(), lambda table: table.collect(), lambda column: _of_arrow(column.to_arrow())
    ),
    "polars streaming": Engine(
        lambda table: pl.from_arrow(table).lazy(), lambda table: table.collect(engine="streaming"),
        lambda column: _of_arrow(column.to_arrow()),
    ),
    "pandas": Engine(lambda table: table.to_pandas(), lambda table: table, _of_pandas),
    "dask": Engine(_to_dask, lambda table: table.compute(), _of_pandas),
    "arrow": Engine(lambda table: table, lambda table: table, _of_arrow),
    "arrow batch": Engine(lambda table: table.combine_chunks().to_batches()[0], lambda table: table, _of_arrow),
    "arrow dataset": Engine(ds.dataset, lambda table: table.read_all(), _of_arrow),
}  # fmt: skip

EVERY_ENGINE = pytest.mark.parametrize("engine", list(ENGINES))


def hex_texts(keys: np.ndarray) -> list[str]:
    return [format(key, "016x") for key in keys.tolist()]


@pytest.mark.sampled
@EVERY_ENGINE
@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.parametrize("n_rows", [20_000, pytest.param(10**6, marks=pytest.mark.slow)])
def test_hard_scores_have_the_bits_of_predict(engine: str, name: str, n_rows: int) -> None:
    model = model_of(name)
    rows = hard_rows(model, n_rows)
    columns, names = {SCORE: rows.scores}, {"score": SCORE}
    if rows.keys is not None:
        columns, names = {**columns, KEY: rows.keys}, {**names, "tie_key": KEY}
    values = ENGINES[engine].predict(columns, model, **names)
    assert np.array_equal(bits(values), bits(model.predict(rows.scores, tie_keys=rows.keys)))


@EVERY_ENGINE
@pytest.mark.parametrize("name", ["10 knots", "rise and fall", "interpolated isotonic", "lines that clip"])
def test_interpolated_models_have_the_bits_of_predict(engine: str, name: str) -> None:
    model = curve_model_of(name)
    scores = np.concatenate([hard_curve_scores(model, 3000), rows_without_answer(model)])
    values = ENGINES[engine].predict({"p": scores}, model, score="p")
    expected = model.predict(scores[:3000])
    assert np.array_equal(bits(values[:3000]), bits(expected))
    assert np.isnan(values[3000:]).all()


@pytest.mark.sampled
@EVERY_ENGINE
@pytest.mark.parametrize("name", ["fitted Platt", "beta", "spline", "quadratic"])
def test_smooth_models_are_within_the_last_bits_of_exp_and_log(engine: str, name: str) -> None:
    model = curve_model_of(name)
    scores = np.linspace(0.001, 0.999, 2000)
    assert ENGINES[engine].predict({"p": scores}, model, score="p") == pytest.approx(model.predict(scores), rel=1e-13)


@EVERY_ENGINE
@pytest.mark.parametrize("name", ["10 bins", "two resolutions", "logits", "clips"])
def test_rows_without_an_answer_get_none(engine: str, name: str) -> None:
    model = model_of(name)
    scores = pa.array([*rows_without_answer(model), None, 0.25])
    values = ENGINES[engine].predict({"p": scores}, model, score="p")
    assert np.isnan(values[:-1]).all()
    assert values[-1] == model.predict_one(0.25)


@EVERY_ENGINE
def test_keys_may_be_texts_of_hexadecimal_digits(engine: str) -> None:
    model = model_of("keys at zero")
    rows = hard_rows(model, 2000, seed=3)
    assert rows.keys is not None
    columns = {"p": rows.scores, KEY: pa.array(hex_texts(rows.keys))}
    values = ENGINES[engine].predict(columns, model, score="p", tie_key=KEY)
    assert np.array_equal(bits(values), bits(model.predict(rows.scores, tie_keys=rows.keys)))


@EVERY_ENGINE
def test_rows_without_a_key_get_no_answer(engine: str) -> None:
    model = model_of("keys at zero")
    keys = [None, "00000000000000a", "00000000000000A1", "ffffffffffffffff0", "", "8000000000000000"]
    columns = {"p": [0.0] * len(keys), "k": keys}
    values = ENGINES[engine].predict(columns, model, score="p", tie_key="k")
    assert np.isnan(values[:-1]).all()
    assert values[-1] == model.predict_one(0.0, tie_key=2**63)


@EVERY_ENGINE
def test_scores_of_other_types_are_the_doubles_that_they_are(engine: str) -> None:
    model = model_of("100 bins")
    single = np.concatenate([model.edges, np.linspace(0.0, 1.0, 1000)]).astype(np.float32)
    for scores in (pa.array(single), pa.array([0, 1, None], pa.int8())):
        values = ENGINES[engine].predict({"p": scores}, model, score="p")
        expected = model.predict(scores.cast(pa.float64()).to_numpy(zero_copy_only=False), nan="propagate")
        assert np.array_equal(bits(values), bits(expected))


@EVERY_ENGINE
def test_decimal_scores_are_the_nearest_doubles(engine: str) -> None:
    """Arrow's own cast of them is not: with six digits, it gives some the double below."""
    texts = [f"0.{number:06}" for number in np.random.default_rng(0).integers(0, 10**6, 2000)]
    nearest = np.array(texts, np.float64)
    edges = np.unique(nearest)
    model = fb.BinnedModel.from_parts(edges=edges[::4], values=np.linspace(0.0, 1.0, len(edges[::4]) + 1))
    scores = pa.array([*map(Decimal, texts), None], pa.decimal128(12, 6))
    values = ENGINES[engine].predict({"p": scores}, model, score="p")
    assert np.array_equal(bits(values[:-1]), bits(model.predict(nearest)))
    assert np.isnan(values[-1])


MODELS_OF_SETS = ("10 bins", "whole ties", "two resolutions", "clips")


def a_set(kind: type, unknown: str) -> tuple[fb.ModelSet, list[Any]]:
    """A set with cells of this type, the last of which shares its pool."""
    keys = [-3, 0, 7, 2**62] if kind is int else ["o'cell", 'b "c"', "z", "\N{SNOWMAN}"]
    models = {key: model_of(name) for key, name in zip(keys, MODELS_OF_SETS, strict=True)}
    pool = {"pool": model_of("2 bins"), "pooled_cells": [12345 if kind is int else "pooled"]}
    return fb.ModelSet(models, unknown=unknown, **pool), [*keys, *pool["pooled_cells"]]


@pytest.mark.sampled
@EVERY_ENGINE
@pytest.mark.parametrize("unknown", ["refuse", "pool"])
@pytest.mark.parametrize("kind", [int, str])
def test_rows_of_a_set_are_scored_by_the_model_of_their_cell(engine: str, kind: type, unknown: str) -> None:
    models, keys = a_set(kind, unknown)
    scores = np.concatenate([hard_rows(models[key], 3000, seed=1).scores for key in keys])
    cells = [key for key in keys for _ in range(3000)]
    inside = np.array([-1.0 <= score <= 1.5 for score in scores.tolist()])
    scores, cells = scores[inside], [cell for cell, is_in in zip(cells, inside.tolist(), strict=True) if is_in]
    values = ENGINES[engine].predict({"p": scores, CELL: cells}, models, score="p", cell=CELL)
    answered = np.array([cell == keys[3] or 0.0 <= score <= 1.0 for score, cell in zip(scores.tolist(), cells, strict=True)])
    expected = models.predict(scores[answered], [cell for cell, has in zip(cells, answered.tolist(), strict=True) if has])
    assert np.array_equal(bits(values[answered]), bits(expected))
    assert np.isnan(values[~answered]).all()


@EVERY_ENGINE
@pytest.mark.parametrize("unknown", ["refuse", "pool"])
def test_cells_that_a_set_does_not_know(engine: str, unknown: str) -> None:
    models, keys = a_set(str, unknown)
    cells = ["nowhere", None, "", keys[0]]  # an empty text is a cell that is missing
    values = ENGINES[engine].predict({"p": [0.3] * 4, "c": cells}, models, score="p", cell="c")
    pooled = model_of("2 bins").predict_one(0.3) if unknown == "pool" else np.nan
    assert np.array_equal(values, [pooled, np.nan, np.nan, models[keys[0]].predict_one(0.3)], equal_nan=True)


@EVERY_ENGINE
def test_all_columns_are_kept_and_lazy_tables_stay_lazy(engine: str) -> None:
    table = ENGINES[engine].make(pa.table({"a": ["x", "y"], "p": [0.1, 0.9], "z": [1, 2]}))
    scored = fb.engines.predict(table, model_of("2 bins"), score="p", output="q")
    lazy = engine != "arrow dataset"  # which is read by a reader
    assert type(scored) is type(table) or not lazy
    names = scored.collect_schema().names() if engine in ("polars lazy", "polars streaming") else None
    names = names or list(scored.schema.names if engine.startswith("arrow") else scored.columns)
    assert names == ["a", "p", "z", "q"]


@pytest.mark.skipif(pl.__version__.startswith("1.0."), reason="this Polars pushes no projection below with_columns")
def test_a_polars_query_reads_no_column_that_it_does_not_need() -> None:
    frame = pl.LazyFrame({"p": [0.1, 0.9], "other": [1, 2]})
    plan = fb.engines.predict(frame, model_of("2 bins"), score="p").select("probability").explain()
    assert "1/2 COLUMNS" in plan.upper()


def test_a_pandas_index_is_kept() -> None:
    frame = pd.DataFrame({"p": [0.1, 0.9]}, index=["x", "y"])
    assert fb.engines.predict(frame, model_of("2 bins"), score="p").index.tolist() == ["x", "y"]


REFUSED = {
    "no such column": ({"score": "q"}, "2 bins", "score is 'q', which is not a column of the table; it has 'p', 'k', 'c'"),
    "a clash": ({"score": "p", "output": "k"}, "2 bins", "output is 'k', and the table has a column 'k' already; pass another"),
    "texts as scores": ({"score": "c"}, "2 bins", "scores are numbers: cast the column to float64$"),
    "no key": ({"score": "p"}, "2 bins, keys", "tie_key is missing.*fit with ties='whole'"),
    "a key too many": (
        {"score": "p", "tie_key": "k"},
        "2 bins",
        "tie_key is 'k', and the model compares no keys; leave tie_key out",
    ),
    "a cell too many": ({"score": "p", "cell": "c"}, "2 bins", "cell is 'c', and model is one model and no set"),
    "signed keys": ({"score": "p", "tie_key": "k"}, "2 bins, keys", "keys are .*texts of 16 lower-case hexadecimal digits"),
}


@pytest.mark.parametrize("case", list(REFUSED))
@pytest.mark.parametrize("engine", ["duckdb", "polars", "polars lazy", "dask", "pandas", "arrow"])
def test_what_cannot_be_is_refused(engine: str, case: str) -> None:
    names, model, message = REFUSED[case]
    table = pa.table({"p": [0.1, 0.9], "k": [1, 2], "c": ["x", "y"]})
    made = ENGINES[engine].make(table)
    with pytest.raises(fb.FastbinError, match=message):
        fb.engines.predict(made, model_of(model), **names)


def test_a_column_of_several_types_is_refused() -> None:
    with pytest.raises(fb.InputTypeError, match="the column 'p' holds values of several types"):
        fb.engines.predict(pd.DataFrame({"p": [0.5, "x"]}), model_of("2 bins"), score="p")


def test_names_that_differ_in_case_clash_where_the_engine_takes_them_for_one() -> None:
    relation = duckdb.cursor().sql("SELECT 0.5 AS p, 1 AS Probability")
    with pytest.raises(fb.InputError, match="'Probability' already"):
        fb.engines.predict(relation, model_of("2 bins"), score="p")


def test_a_connection_with_a_query_and_what_narwhals_wraps_are_tables() -> None:
    narwhals = pytest.importorskip("narwhals")
    model, frame = model_of("2 bins"), pd.DataFrame({"p": [0.1, 0.9]})
    expected = model.predict([0.1, 0.9]).tolist()
    scored = fb.engines.predict(narwhals.from_native(frame), model, score="p")
    assert scored["probability"].tolist() == expected
    scored = fb.engines.predict((duckdb.connect(), "SELECT unnest([0.1, 0.9]::DOUBLE[]) AS p"), model, score="p")
    assert [row[1] for row in scored.fetchall()] == expected


def test_other_tables_and_models_that_draw_are_refused() -> None:
    with pytest.raises(fb.InputTypeError, match=r"table is of type builtins\.dict; pass a DuckDB relation"):
        fb.engines.predict({"p": [0.5]}, model_of("2 bins"), score="p")
    with pytest.raises(fb.InputError, match=r"table is the path 'x\.parquet'; open it first"):
        fb.engines.predict("x.parquet", model_of("2 bins"), score="p")
    drawn = model_of("2 bins")._replace(delta=0.1)
    with pytest.raises(fb.InputError, match=r"randomises its values \(delta=0\.1\)"):
        fb.engines.predict(pd.DataFrame({"p": [0.5]}), drawn, score="p")
