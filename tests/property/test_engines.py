"""A fit where the data are is the fit of the same rows in memory, byte for byte, whatever holds them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest

import fastbin as fb
from fastbin._fit import quantiles
from fastbin.tables import opening as tables
from fastbin.tables import replay
from hard_sets import CALIBRATORS, FEWER_BINS, NAMES, hard_set, local_model

pytestmark = pytest.mark.filterwarnings(*FEWER_BINS)


def in_duckdb(table: pa.Table) -> Any:
    connection = duckdb.connect()
    connection.register("rows", table)
    connection.execute("CREATE TABLE kept AS FROM rows")
    return connection, "SELECT * FROM kept"


def in_dask(table: pa.Table) -> Any:
    frames = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    return frames.from_pandas(table.to_pandas(), npartitions=3)


ENGINES: dict[str, Callable[[pa.Table], Any]] = {
    "DuckDB": in_duckdb,
    "Polars lazy": lambda table: pl.from_arrow(table).lazy(),
    "Polars": pl.from_arrow,
    "pandas": lambda table: table.to_pandas(),
    "PyArrow": lambda table: table,
    "data set": pyarrow.dataset.dataset,
    "function": lambda table: lambda: pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=700)),
}
STREAMED = ENGINES | {"Dask": in_dask}  # whose rows come where that is asked for


def as_table(name: str) -> pa.Table:
    """The columns of a set among others, in several chunks."""
    rows = hard_set(name)
    other = np.arange(len(rows.scores))
    table = pa.table({"id": other, "p": rows.scores, "y": rows.labels, "n": rows.repeats, "note": other.astype(str)})
    return pa.concat_tables([table.slice(0, 1500), table.slice(1500)])


@pytest.fixture
def tiny_caps(monkeypatch: pytest.MonkeyPatch) -> None:
    """So few cells and listed rows that small sets need all kinds of passes."""
    monkeypatch.setattr("fastbin._fit.rows.ROWS_TO_PLAN_FOR", 512)
    monkeypatch.setattr("fastbin._fit.histogram.MOST_SAMPLE", 16)
    monkeypatch.setattr("fastbin._fit.rows.MOST_LISTED", 20)
    monkeypatch.setattr(quantiles, "MAX_CELLS", 64)
    monkeypatch.setattr(quantiles, "MIN_CELLS", 16)
    monkeypatch.setattr(quantiles, "CELLS_OF_ONE", 8)
    monkeypatch.setattr(tables, "BATCH_ROWS", 611)
    monkeypatch.setattr(replay, "MEMORY_BYTES", 0)


@pytest.mark.sampled
@pytest.mark.parametrize("calibrator", CALIBRATORS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("engine", STREAMED)
def test_the_model_of_hard_rows(engine: str, name: str, calibrator: str) -> None:
    model = fb.engines.fit(
        STREAMED[engine](as_table(name)), score="p", label="y", engine="stream",
        calibrator=CALIBRATORS[calibrator](hard_set(name).score_range),
    )  # fmt: skip
    assert model.to_bytes() == local_model(calibrator, name).to_bytes()


def _by_turns() -> list[Any]:
    """All cases. How many passes there are depends on the rows and weights, so that engines take turns in those not slow."""
    cases = list(product(NAMES, [False, True]))
    return [
        pytest.param(engine, *case, marks=[] if turn % len(ENGINES) == number else [pytest.mark.slow])
        for turn, case in enumerate(cases) for number, engine in enumerate(ENGINES)
    ]  # fmt: skip


@pytest.mark.sampled
@pytest.mark.usefixtures("tiny_caps")
@pytest.mark.parametrize(("engine", "name", "weighted"), _by_turns())
def test_little_memory_and_many_passes(engine: str, name: str, weighted: bool) -> None:
    table, score_range = ENGINES[engine](as_table(name)), hard_set(name).score_range
    passes = set()
    for calibrator, make in CALIBRATORS.items():
        model = fb.engines.fit(
            table, score="p", label="y", weight="n" if weighted else None, calibrator=make(score_range),
            progress=lambda number, _: passes.add(number),
        )  # fmt: skip
        assert model.to_bytes() == local_model(calibrator, name, weighted=weighted).to_bytes()
    assert max(passes) > 2 or name == "one value"


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_between_fixed_edges(name: str, weighted: bool) -> None:
    rows, table = hard_set(name), as_table(name)
    low, high = rows.score_range or (-50.0, 50.0)
    edges = np.unique(np.concatenate([np.linspace(low, high, 40)[1:], np.quantile(rows.scores, np.linspace(0.02, 0.98, 50))]))
    edges = edges[edges > low]
    calibrators: list[Any] = [fb.ExplicitBinning(edges + 0.0, score_range=rows.score_range)]
    if rows.score_range is not None:
        calibrators.append(fb.FixedWidthBinning("auto"))
    for calibrator in calibrators:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            local = calibrator.fit(rows.scores, rows.labels, rows.repeats if weighted else None).model_
        with warnings.catch_warnings(record=True) as told_of_table:
            warnings.simplefilter("always")
            model = fb.engines.fit(table, score="p", label="y", weight="n" if weighted else None, calibrator=calibrator)
        assert model.to_bytes() == local.to_bytes()
        assert [str(one.message) for one in told_of_table] == [str(one.message) for one in told]
        assert {one.filename for one in told_of_table} <= {__file__}


@pytest.mark.sampled
@pytest.mark.parametrize("engine", STREAMED)
@pytest.mark.parametrize(
    "calibrator",
    [
        fb.UniformMassBinning(12, scheme="ums"), fb.UniformMassBinning(12, edges_share=0.5), fb.IsotonicCalibration(),
        fb.ScalingBinning(12), fb.VennAbers(), fb.PlattScaling(), fb.BetaScaling(), fb.TemperatureScaling(),
    ],
    ids=repr,
)  # fmt: skip
def test_calibrators_of_single_rows_read_them_all(engine: str, calibrator: Any) -> None:
    rows = hard_set("beta")
    table = STREAMED[engine](as_table("beta"))
    model = fb.engines.fit(table, score="p", label="y", weight="n", calibrator=calibrator, engine="stream")
    assert (
        model.to_bytes()
        == type(calibrator)(**calibrator.get_params()).fit(rows.scores, rows.labels, rows.repeats).model_.to_bytes()
    )
    assert not calibrator.__sklearn_is_fitted__()


@pytest.mark.sampled
@pytest.mark.filterwarnings("ignore:.* of .* models, the first that of:fastbin.FastbinWarning")
@pytest.mark.parametrize("keys", ["integers", "texts", "categories"])
@pytest.mark.parametrize("engine", STREAMED)
def test_segments(engine: str, keys: str) -> None:
    rows = hard_set("heavy atoms")
    numbers = np.random.default_rng(3).integers(0, 12, len(rows.scores)) ** 2 // 11
    column = pa.array(numbers if keys == "integers" else [f"s{number}" for number in numbers])
    table = as_table("heavy atoms").append_column("s", column.dictionary_encode() if keys == "categories" else column)
    for calibrator in (None, fb.CertifiedCalibration(), fb.multi.SegmentedBinning(fb.UniformMassBinning(3), min_points=400)):
        models = fb.engines.fit(
            STREAMED[engine](table), score="p", label="y", segment="s", calibrator=calibrator, engine="stream"
        )
        segmented = calibrator if isinstance(calibrator, fb.multi.SegmentedBinning) else fb.multi.SegmentedBinning(calibrator)
        assert models.to_bytes() == segmented.fit(rows.scores, rows.labels, column.to_pylist()).model_.to_bytes()


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".feather", ".csv.gz"])
def test_files(suffix: str, tmp_path: Path) -> None:
    rows, table = hard_set("heavy atoms"), as_table("heavy atoms")
    words = pa.array(np.where(rows.labels, "yes", "no"))
    table = table.set_column(2, "y", words)
    for part in range(2):
        path = str(tmp_path / f"part{part}{suffix}")
        some = table.slice(2000 * part, 2000)
        if suffix == ".parquet":
            pyarrow.parquet.write_table(some, path)
        elif suffix == ".feather":
            pyarrow.feather.write_feather(some, path)
        else:
            some.to_pandas().to_csv(path, index=False)
    for place in (tmp_path, str(tmp_path), str(tmp_path / f"part?{suffix}")):
        for calibrator in ("umd, whole", "certified"):
            model = fb.engines.fit(
                place, score="p", label="y", weight="n", positive="yes", calibrator=CALIBRATORS[calibrator]((0.0, 1.0))
            )
            assert model == local_model(calibrator, "heavy atoms", weighted=True)._replace(event="yes")


LABELS: dict[str, tuple[Callable[[np.ndarray], pa.Array], Any]] = {
    "bool": (lambda y: pa.array(y), None),
    "int8": (lambda y: pa.array(y.astype(np.int8)), None),
    "int64": (lambda y: pa.array(y.astype(np.int64)), None),
    "float": (lambda y: pa.array(y.astype(np.float32)), None),
    "decimal": (lambda y: pa.array(y.astype(np.int64)).cast(pa.decimal128(20, 1)), None),
    "texts": (lambda y: pa.array(np.where(y, "bad", "good")), "bad"),
    "large texts": (lambda y: pa.array(np.where(y, "bad", "good")).cast(pa.large_string()), "bad"),
    "categories": (lambda y: pa.array(np.where(y, "bad", "good")).dictionary_encode(), "bad"),
    "-1 and 1": (lambda y: pa.array(np.where(y, 1, -1)), 1),
    "numbers": (lambda y: pa.array(np.where(y, 2.5, 7.0)), 2.5),
    "the other truth": (lambda y: pa.array(~y), False),
}


@pytest.mark.sampled
@pytest.mark.parametrize("engine", ["DuckDB", "Polars lazy", "pandas", "PyArrow"])
@pytest.mark.parametrize("kind", LABELS)
def test_types_of_labels(kind: str, engine: str) -> None:
    make, positive = LABELS[kind]
    table = as_table("uniform").drop_columns("y").append_column("y", make(hard_set("uniform").labels))
    model = fb.engines.fit(ENGINES[engine](table), score="p", label="y", positive=positive)
    local = fb.CertifiedCalibration().fit(hard_set("uniform").scores, hard_set("uniform").labels).model_
    assert model == local._replace(event="" if positive is None else str(positive))


@pytest.mark.parametrize("kind", [pa.float32(), pa.float16(), pa.decimal128(12, 10), pa.int64()])
def test_types_of_scores(kind: pa.DataType) -> None:
    scores = np.round(hard_set("uniform").scores, 2)
    column = (
        pa.array((100 * scores).round().astype(np.int64))
        if kind == pa.int64()
        else pa.array(scores.astype(np.float16))
        if kind == pa.float16()
        else pa.array(scores).cast(kind)
    )
    plain = np.array([float(value) for value in column.to_pylist()])
    calibrator = fb.UniformMassBinning(score_range=None)
    model = fb.engines.fit(
        pa.table({"p": column, "y": hard_set("uniform").labels}), score="p", label="y", calibrator=calibrator
    )
    assert model == calibrator.fit(plain, hard_set("uniform").labels).model_


def test_rows_of_any_order_in_any_batches() -> None:
    rows = hard_set("beta")
    order = np.random.default_rng(1)

    def shuffled() -> Iterator[Any]:
        at = order.permutation(len(rows.scores))
        return pa.table({"p": rows.scores[at], "y": rows.labels[at]})

    assert fb.engines.fit(shuffled, score="p", label="y", calibrator=CALIBRATORS["umd, random"]((0.0, 1.0))) == local_model(
        "umd, random", "beta"
    )
