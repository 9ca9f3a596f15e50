"""Frames that Narwhals knows: Dask, Ibis, Polars, DuckDB, pandas, PyArrow.

Only what all of them have is used. Conditional expressions, and columns of one literal, are missing in Dask.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from fastbin._base.array_types import Array
from fastbin._base.checks import MOST_SAMPLES, too_many_samples
from fastbin._base.dependencies import needed_for
from fastbin._base.errors import InputTypeError
from fastbin.engines.arrays import Names
from fastbin.engines.frames import BOOLEAN, FLOAT, INTEGER, TEXT
from fastbin.engines.queries import DuckDBTable
from fastbin.engines.tables import column_names, ignores_case, is_frame, package_of, pyarrow
from fastbin.export.dialects import DIALECTS
from fastbin.io.base import check_columns


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
    def of(cls, table: Any, names: Names) -> NarwhalsFrame:
        """These columns of a table that Narwhals accepts, and nothing that could clash with what queries call theirs."""
        frame = _frame_of(table, names)
        engine = frame.implementation
        if not (engine.is_pandas_like() or engine.is_pyarrow() or engine.is_dask()):
            return cls(frame)
        return cls(frame, [name for name, dtype in frame.collect_schema().items() if dtype.is_decimal()])

    def kinds(self) -> dict[str, str]:
        nw = self._nw

        def kind_of(dtype: Any) -> str:
            if dtype.is_integer() or (dtype.is_decimal() and getattr(dtype, "scale", None) == 0):
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
        pa = pyarrow()
        try:
            table = answer.to_arrow()  # with an index of pandas, perhaps
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise InputTypeError(f"a column of the data frame holds values of several types: {error}") from error
        return {name: table.column(name).to_numpy() for name in (*keys, *columns)}

    def _like(self, table: Mapping[str, Array]) -> Any:
        """A small table in the same engine."""
        nw, engine = self._nw, self._frame.implementation
        if engine.is_duckdb():
            # Only a relation knows its connection, and what may be read by name is a setting of that.
            one_row = self._frame.to_native().limit(0).aggregate("count(*)")
            return nw.from_native(one_row.project(_unnested(table)))
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


def _frame_of(table: Any, names: Names) -> Any:
    """These columns as a frame of Narwhals, of values that are compared as themselves, without an index."""
    if not is_frame(table):
        raise InputTypeError(f"table is of type {type(table).__name__}, which is not asked by GROUP BY; leave engine out")
    package = package_of(table)
    wanted = check_columns("the table", column_names(table), names, ignores_case=ignores_case(table))
    if package == "duckdb":
        table = DuckDBTable(table).plain(wanted, weight=names.weight).native
    elif package == "pyarrow":
        table = _checked(table.select(wanted), names)
    elif package == "pandas" and any(hasattr(dtype, "pyarrow_dtype") for dtype in table[wanted].dtypes):
        table = _checked(pyarrow().Table.from_pandas(table[wanted], preserve_index=False), names)
    elif package in ("pandas", "dask", "dask_expr"):
        table = table[wanted].reset_index(drop=True)
    try:
        return narwhals().from_native(table).select(*wanted)
    except TypeError as error:
        raise InputTypeError(f"table is of type {type(table).__name__}, which Narwhals does not know: {error}") from error


def _checked(table: Any, names: Names) -> Any:
    """An Arrow table whose scores that are integers are the nearest doubles, which Arrow refuses to make of great ones."""
    pa = pyarrow()
    table = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table
    types = table.schema
    if names.weight is not None and pa.types.is_integer(types.field(names.weight).type):
        greatest = pa.compute.max(table.column(names.weight)).as_py()
        if greatest is not None and greatest > MOST_SAMPLES:
            raise too_many_samples(names.weight)
    at = types.get_field_index(names.score)
    if not pa.types.is_integer(types.field(at).type):
        return table
    return table.set_column(at, names.score, table.column(at).cast(pa.float64(), safe=False))


def _unnested(table: Mapping[str, Array]) -> str:
    """The columns of a small table as rows that DuckDB makes of one; from texts, as it takes many constants slowly."""
    literals = {name: ", ".join(DIALECTS["duckdb"].literals(column)) for name, column in table.items()}
    kinds = {name: "BIGINT" if column.dtype.kind == "i" else "DOUBLE" for name, column in table.items()}
    return ", ".join(f"unnest(CAST('[{text}]' AS {kinds[name]}[])) AS {name}" for name, text in literals.items())
