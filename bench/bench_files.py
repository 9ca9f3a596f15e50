"""Fits to Parquet files, which DuckDB streams, beside those to rows that PyArrow reads; and the memory of a large fit."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import cases
import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from cases import rows
from measure import Contestant, paired

import fastbin as fb
from fastbin.io import open_table, read_columns
from fastbin.tables.parquet import ParquetTable
from fresh_python import run_python

COLUMNS = ["p", "y"]
ROWS_OF_A_GROUP = 122_880  # as DuckDB writes them
N_FILES = 100

Batches = Iterator[tuple[Any, ...]]


def write(path: Path, scores: np.ndarray, labels: np.ndarray) -> None:
    """Two columns that are read beside two that are not."""
    others = {"id": np.arange(len(scores)), "t": pa.array(np.full(len(scores), "row"))}
    pq.write_table(pa.table({"p": scores, **others, "y": labels}), path, row_group_size=ROWS_OF_A_GROUP)


class ByFile(ParquetTable):
    """As 0.1.0 read it."""

    def batches(self, columns: Sequence[str] | None = None, chunk_rows: int = 2**16) -> Iterator[Any]:
        return pq.ParquetFile(self.path).iter_batches(chunk_rows, columns=columns)


class ByScanner(ParquetTable):
    def batches(self, columns: Sequence[str] | None = None, chunk_rows: int = 2**16) -> Iterator[Any]:
        return pyarrow.dataset.dataset(self.path).scanner(columns=columns, batch_size=chunk_rows).to_batches()


def fit(batches: Callable[[], Batches]) -> fb.BinnedModel:
    return fb.UniformMassBinning(100).fit_batches(batches).model_


@pytest.mark.parametrize("n", cases.PARQUET_FITS)
def bench_fit_parquet(n: int, is_long: bool, tmp_path: Path, benchmark, report) -> None:
    """One file, and a folder of many, by the readers in turn."""
    if n > 10**6 and not is_long:
        pytest.skip("runs with --long")
    scores, labels = rows("uniform", n)
    write(tmp_path / "one.parquet", scores, labels)
    (tmp_path / "many").mkdir()
    for number, part in enumerate(np.array_split(np.arange(n), N_FILES)):
        write(tmp_path / "many" / f"{number:03}.parquet", scores[part], labels[part])
    path = str(tmp_path / "one.parquet")
    tables = {"one": open_table(path), "many": open_table(tmp_path / "many")}
    tables |= {reader: read(path) for reader, read in zip(cases.READER_TO_DUCKDB, (ByFile, ByScanner), strict=True)}
    ways: dict[str, Contestant] = {way: partial(fit, partial(read_columns, table, COLUMNS)) for way, table in tables.items()}
    expected = fb.UniformMassBinning(100).fit(scores, labels).model_.to_bytes()
    for way, call in ways.items():
        assert call().to_bytes() == expected, way
    timed = paired(ways, seconds=10 if is_long else 3)
    name = cases.parquet_fit(n)
    report(name, cases.FILE_MS, 1e3 * timed.seconds("one"))
    report(name, cases.MANY_FILES_TO_ONE, timed.ratio("many", to="one"))
    for reader, quantity in cases.READER_TO_DUCKDB.items():
        report(name, quantity, timed.ratio(reader, to="one"))
    benchmark.pedantic(ways["one"], rounds=3)


COMMAND = """
import sys
from fastbin.__main__ import main

code = main(sys.argv[1:])
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:")))
sys.exit(code)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory as Linux tells it")
def bench_largest_file(is_long: bool, tmp_path: Path, benchmark, report) -> None:
    """The whole command, and the most memory that it had."""
    if not is_long:
        pytest.skip("1e8 rows: runs with --long")
    scores, labels = rows("uniform", 10**7)
    path, model = tmp_path / "a.parquet", tmp_path / "m.fbm"
    with pq.ParquetWriter(path, pa.schema({"p": pa.float64(), "y": pa.uint8()})) as writer:
        for _ in range(10):
            writer.write_table(pa.table({"p": scores, "y": labels}), row_group_size=ROWS_OF_A_GROUP)
    arguments = ("-c", COMMAND, "fit", str(path), "-q", "-o", str(model))
    ran = benchmark.pedantic(run_python, args=arguments, rounds=1)
    assert ran.returncode == 0, ran.stderr
    expected = fb.UniformMassBinning().fit(scores, labels, np.full(10**7, 10)).model_
    assert fb.load(model).n_samples == 10**8
    assert np.array_equal(fb.load(model).counts, expected.counts)
    report(cases.LARGEST_FILE, cases.PEAK_MB, int(ran.stdout) * 1024 / 1e6)
