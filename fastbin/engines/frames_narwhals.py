"""Frames that Narwhals knows: Dask, Ibis, Polars, DuckDB, pandas, PyArrow.

Only what all of them have is used. Conditional expressions, and columns of one literal, are missing in Dask.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from fastbin._dependencies import needed_for
from fastbin._errors import InputTypeError
from fastbin._typing import Array
from fastbin.engines.frames import BOOLEAN, FLOAT, INTEGER, TEXT
from fastbin.engines.tables import pyarrow


def narwhals() -> Any:
    """Narwhals, or an error that says how to get it."""
    with needed_for("tables in an engine", extra="engines"):
        import narwhals
    return narwhals


class NarwhalsFrame:
    """A frame of Narwhals, eager or lazy."""

    least_cells, most_cells = 2**10, 2**18
    value_limit = 2**19

    def __init__(self, frame: Any, decimals: Collection[str] = ()) -> None:
        self._frame, self._nw, self._decimals = frame, narwhals(), decimals

    @classmethod
    def of(cls, table: Any) -> NarwhalsFrame:
        """The frame behind a table that Narwhals accepts."""
        nw = narwhals()
        try:
            frame = nw.from_native(table)
        except TypeError as error:
            raise InputTypeError(f"table is of type {type(table).__name__}, which Narwhals does not know: {error}") from error
        engine = frame.implementation
        if not (engine.is_pandas_like() or engine.is_pyarrow() or engine.is_dask()):
            return cls(frame)
        return cls(frame, [name for name, dtype in frame.collect_schema().items() if dtype.is_decimal()])

    def kinds(self) -> dict[str, str]:
        nw = self._nw

        def kind_of(dtype: Any) -> str:
            if dtype.is_integer():
                return INTEGER
            if dtype.is_numeric():
                return FLOAT
            return {nw.Boolean: BOOLEAN, nw.String: TEXT}.get(type(dtype), str(dtype))

        return {name: kind_of(dtype) for name, dtype in self._frame.collect_schema().items()}

    def column(self, name: str) -> Any:
        column = self._nw.col(name)
        if name not in self._decimals:
            return column
        # Arrow's own cast of a decimal misses the nearest double now and then; that of its text never does.
        return column.cast(self._nw.String).cast(self._nw.Float64)

    def as_float(self, expression: Any) -> Any:
        return expression.cast(self._nw.Float64)

    def floor(self, expression: Any) -> Any:
        return expression.floor()

    def as_key(self, expression: Any) -> Any:
        return expression  # not all engines cast NaN to an integer

    def log(self, expression: Any) -> Any:
        return expression.log()

    def clip(self, expression: Any, low: float, high: float) -> Any:
        return expression.clip(low, high)

    def is_null(self, expression: Any) -> Any:
        return expression.is_null()

    def is_nan(self, expression: Any) -> Any:
        return expression.is_nan()

    def select(self, **columns: Any) -> NarwhalsFrame:
        return type(self)(self._frame.select(**columns))

    def where(self, condition: Any) -> NarwhalsFrame:
        return type(self)(self._frame.filter(condition), self._decimals)

    def join(self, table: Mapping[str, Array], on: str) -> NarwhalsFrame:
        small = self._like({**table, on: table[on].astype(np.float64)})
        return type(self)(self._frame.join(small, on=on, how="inner"))

    def groups(
        self, keys: Sequence[str], *, sums: Sequence[str] = (), ends: str | None = None, most: int | None = None
    ) -> dict[str, Array]:
        nw = self._nw
        columns = {"rows": nw.len(), **{name: nw.col(name).sum() for name in sums}}
        if ends is not None:
            columns |= {"low": nw.col(ends).min(), "high": nw.col(ends).max()}
        grouped = self._frame.group_by(*keys).agg(**columns)
        if most is not None:
            grouped = grouped.head(most)
        answer = grouped.collect() if isinstance(grouped, nw.LazyFrame) else grouped
        table = answer.to_arrow()  # with an index of pandas, perhaps
        return {name: table.column(name).to_numpy() for name in (*keys, *columns)}

    def _like(self, table: Mapping[str, Array]) -> Any:
        """A small table in the same engine."""
        nw, engine = self._nw, self._frame.implementation
        if engine.is_duckdb():
            fastbin_intervals = pyarrow().table(dict(table))  # noqa: F841
            # A relation of the same connection; DuckDB finds the Arrow table by the name of the variable.
            return nw.from_native(self._frame.to_native().query("fastbin_rows", "SELECT * FROM fastbin_intervals"))
        if engine.is_ibis():
            import ibis  # type: ignore[import-not-found]  # whoever has one of its tables has it

            return nw.from_native(ibis.memtable(pyarrow().table(dict(table))))
        if engine.is_dask():
            with needed_for("tables of Dask", package="'dask[dataframe]'"):
                import dask.dataframe
                import pandas

            return nw.from_native(dask.dataframe.from_pandas(pandas.DataFrame(dict(table)), npartitions=1))
        small = nw.from_dict(dict(table), backend=engine)
        return small.lazy() if isinstance(self._frame, nw.LazyFrame) else small
