"""Predictions in engines: the bits of `predict`, every column kept, and nothing computed before it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastbin as fb
from exported import MODELS, bits, hard_rows, model_of, rows_without_answer

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
ds = pytest.importorskip("pyarrow.dataset")
duckdb = pytest.importorskip("duckdb")

N_ROWS = 20_000

# Names that break what does not quote them.
SCORE, KEY, CELL = 'the "score", 1', "select", "o'cell`s"


class Engine:
    """How a table of an engine is made of Arrow, and its new column read back: null where there is no answer."""

    def __init__(self, make: Callable[[Any], Any], read: Callable[[Any, str], Any]) -> None:
        self.make, self.read = make, read

    def predict(self, columns: dict[str, Any], model: Any, **names: Any) -> np.ndarray:
        table = fb.engines.predict(self.make(pa.table(columns)), model, **names)
        return self.read(table, names.get("output", "probability"))


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
    return duckdb.connect().from_arrow(table)


def _to_dask(table: Any) -> Any:
    dask = pytest.importorskip("dask.dataframe")
    return dask.from_pandas(table.to_pandas(types_mapper={pa.string(): pd.ArrowDtype(pa.string())}.get), npartitions=3)


ENGINES = {
    "duckdb": Engine(_to_duckdb, lambda table, name: _of_arrow(table.to_arrow_table().column(name))),
    "polars": Engine(pl.from_arrow, lambda table, name: _of_arrow(table[name].to_arrow())),
    "polars lazy": Engine(
        lambda table: pl.from_arrow(table).lazy(), lambda table, name: _of_arrow(table.collect()[name].to_arrow())
    ),
    "polars streaming": Engine(
        lambda table: pl.from_arrow(table).lazy(),
        lambda table, name: _of_arrow(table.collect(engine="streaming")[name].to_arrow()),
    ),
    "pandas": Engine(lambda table: table.to_pandas(), lambda table, name: _of_pandas(table[name])),
    "dask": Engine(_to_dask, lambda table, name: _of_pandas(table.compute()[name])),
    "arrow": Engine(lambda table: table, lambda table, name: _of_arrow(table.column(name))),
    "arrow batch": Engine(lambda table: table.combine_chunks().to_batches()[0], lambda table, name: _of_arrow(table.column(name))),
    "arrow dataset": Engine(ds.dataset, lambda table, name: _of_arrow(table.read_all().column(name))),
}  # fmt: skip

EVERY_ENGINE = pytest.mark.parametrize("engine", list(ENGINES))


def hex_texts(keys: np.ndarray) -> list[str]:
    return [format(key, "016x") for key in keys.tolist()]


@EVERY_ENGINE
@pytest.mark.parametrize("name", list(MODELS))
def test_hard_scores_have_the_bits_of_predict(engine: str, name: str) -> None:
    model = model_of(name)
    rows = hard_rows(model, N_ROWS)
    columns, names = {SCORE: rows.scores}, {"score": SCORE}
    if rows.keys is not None:
        columns, names = {**columns, KEY: rows.keys}, {**names, "key": KEY}
    values = ENGINES[engine].predict(columns, model, **names)
    assert np.array_equal(bits(values), bits(model.predict(rows.scores, keys=rows.keys)))


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
    values = ENGINES[engine].predict(columns, model, score="p", key=KEY)
    assert np.array_equal(bits(values), bits(model.predict(rows.scores, keys=rows.keys)))


@EVERY_ENGINE
def test_rows_without_a_key_get_no_answer(engine: str) -> None:
    model = model_of("keys at zero")
    keys = [None, "00000000000000a", "00000000000000A1", "ffffffffffffffff0", "", "8000000000000000"]
    columns = {"p": [0.0] * len(keys), "k": keys}
    values = ENGINES[engine].predict(columns, model, score="p", key="k")
    assert np.isnan(values[:-1]).all()
    assert values[-1] == model.predict_one(0.0, key=2**63)
