"""Fits where the data are: relations and lazy frames, streamed and by GROUP BY, beside files and arrays."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import cases
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cases import ENGINE_FITS, EngineCase
from measure import Contestant, paired

import fastbin as fb


def _by_file(path: Path) -> Iterator[tuple[Any, ...]]:
    """Parquet as 0.1.0 read it."""
    for batch in pq.ParquetFile(path).iter_batches(2**16, columns=["p", "y"]):
        yield batch.column("p").to_numpy(), batch.column("y").to_numpy()


@pytest.mark.parametrize("case", ENGINE_FITS, ids=lambda case: case.name)
def bench_engines(case: EngineCase, is_long: bool, tmp_path: Path, benchmark, report) -> None:
    if case.n > 10**6 and not is_long:
        pytest.skip("only with --long")
    scores, labels = case.rows()
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"p": scores, "y": labels}), path, row_group_size=122_880)
    connection = duckdb.connect()
    connection.execute(f"SET threads = 2; CREATE TABLE kept AS FROM '{path}'")
    relation, frame = connection.read_parquet(str(path)), pl.scan_parquet(path)
    binning = fb.UniformMassBinning(case.n_bins)
    fit = partial(fb.engines.fit, score="p", label="y", calibrator=binning)
    ways: dict[str, Contestant] = {
        "arrays": lambda: binning.fit(scores, labels).model_,
        "Parquet as 0.1.0": lambda: binning.fit_batches(partial(_by_file, path)).model_,
        "DuckDB": partial(fit, relation),
        "DuckDB table": partial(fit, connection.table("kept")),
        "Polars": partial(fit, frame),
        "DuckDB GROUP BY": partial(fit, relation, engine="group-by"),
        "Polars GROUP BY": partial(fit, frame, engine="group-by"),
    }
    expected = binning.fit(scores, labels).model_.to_bytes()
    for way, call in ways.items():
        assert call().to_bytes() == expected, way
    timed = paired(ways, seconds=15 if is_long else 3)
    report(case.name, cases.ENGINE_MS, 1e3 * timed.seconds("DuckDB"))
    for way, quantity in cases.WAY_TO_STREAM.items():
        report(case.name, quantity, timed.ratio(way, to="DuckDB"))
    benchmark.pedantic(ways["DuckDB"], rounds=3)
    connection.close()
