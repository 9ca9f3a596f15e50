"""Fit, score and assess where the data are: DuckDB, Polars, Dask, pandas, PyArrow, Spark, files."""

from __future__ import annotations

from fastbin.engines.predicting import predict

__all__ = [
    "predict",
]
