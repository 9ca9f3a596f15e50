"""Fit, score and assess where the data are: DuckDB, Polars, Dask, pandas, PyArrow, Spark, files."""
