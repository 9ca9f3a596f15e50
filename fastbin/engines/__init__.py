"""Fit, score and assess where the data are: DuckDB, Polars, Dask, pandas, PyArrow, Spark, files.

`fit`     a model, or a set of models of segments, from the columns of a table
"""

from __future__ import annotations

from fastbin.engines.fitting import fit
from fastbin.engines.predicting import predict

__all__ = ["fit", "predict"]
