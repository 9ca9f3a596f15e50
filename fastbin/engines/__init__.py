"""Fit, score and assess where the data are: DuckDB, Polars, Dask, pandas, PyArrow, Spark, files.

`fit`       a model, or a set of models of segments, from the columns of a table
`predict`   calibrated probabilities as one more column of a table
`count`     samples by bin of a model: for monitors, label shift, and whatever is a function of counts
`assess`    how good a model is on the rows of a table, from counts
`verify_data`  whether rows give a model: they are fitted again, and the bytes compared
"""

from __future__ import annotations

from fastbin.engines.assessing import assess
from fastbin.engines.counting import BinCounts, count
from fastbin.engines.fitting import fit
from fastbin.engines.predicting import predict
from fastbin.engines.verifying import verify_data

__all__ = ["BinCounts", "assess", "count", "fit", "predict", "verify_data"]
__dir__ = __all__.copy  # completion lists the public names
