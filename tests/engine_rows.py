"""The rows, and the model of them, that tests of columns and settings of engines fit and count by GROUP BY."""

from __future__ import annotations

from typing import Any

import numpy as np

import fastbin as fb

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


def relation(query: str, **more: Any) -> Any:
    """A query to the table `given` of DuckDB, which has the rows and more columns of as many."""
    import duckdb
    import pyarrow as pa

    return duckdb.cursor().from_arrow(pa.table({**COLUMNS, **more})).query("given", query)
