"""Rows in an engine, by the few operations that queries are made of: frames that Narwhals knows.

Only the operations that all of them have are used. Conditional expressions, and columns of one literal, are missing in Dask.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from fastbin._base.array_types import Array
from fastbin._base.checks import MOST_SAMPLES, too_many_samples
from fastbin._base.dependencies import needed_for
from fastbin._base.errors import InputTypeError
from fastbin.tables.columns import has_whole, integers_of, negative_weights
from fastbin.tables.table import as_plain, in_native_order, is_pattern, polars_columns, pyarrow

# What a column holds, where a fit can use it.
FLOAT, INTEGER, BOOLEAN, TEXT = "real numbers", "integers", "booleans", "text"


class Names(NamedTuple):
    """The columns that hold what a fit needs."""

    score: str
    label: str
    weight: str | None = None
    segment: str | None = None


class ColumnNames(Protocol):
    """Columns of a table, those of scores and of weights among them."""

    @property
    def score(self) -> str: ...
    @property
    def weight(self) -> str | None: ...
    def __iter__(self) -> Iterator[Any]: ...


class Frame(Protocol):
    """A table that is never read here. Expressions are the engine's own, and know + - * == > >= <= & | between themselves.

    Conditional expressions, and casts but to float, are left out: not all engines have these for columns of any kind.
    """

    @property
    def least_cells(self) -> int:
        """Cells of the first query, whatever a fit wishes for."""

    @property
    def most_cells(self) -> int:
        """Cells of one query."""

    @property
    def value_limit(self) -> int:
        """The most rows whose scores one query may ask for."""

    def kinds(self) -> dict[str, str]:
        """The content of each column: one of the four words above, or the engine's own for anything else."""

    def column(self, name: str) -> Any: ...
    def as_float(self, expression: Any) -> Any: ...
    def floor(self, expression: Any) -> Any: ...

    def as_key(self, expression: Any) -> Any:
        """A whole number, as the type that the engine groups and joins by fastest; anything where it is NaN."""

    def log(self, expression: Any) -> Any: ...
    def clip(self, expression: Any, low: float, high: float) -> Any: ...
    def is_null(self, expression: Any) -> Any: ...
    def is_nan(self, expression: Any) -> Any: ...

    def select(self, **columns: Any) -> Frame: ...
    def where(self, condition: Any) -> Frame: ...

    def join(self, table: Mapping[str, Array], on: str) -> Frame:
        """All columns of the rows that have the same key as a row of a small table, beside all columns of that."""

    def groups(
        self, keys: Sequence[str], *, sums: Sequence[str] = (), ends: str | None = None, most: int | None = None
    ) -> dict[str, Array]:
        """GROUP BY: the keys (NULL is one), "rows", the sums, and the "low" and "high" end of a column, in any order.

        Not more than `most` groups, any of them, where that is given.
        """


def narwhals() -> Any:
    """Narwhals, or an error that says how to get it."""
    with needed_for("tables in an engine", extra="engines"):
        import narwhals
    return narwhals


class NarwhalsFrame:
    """A frame of Narwhals, eager or lazy."""

    least_cells, most_cells = 2**10, 2**18
    value_limit = 2**19

    def __init__(self, frame: Any, decimals: Collection[str] = (), renamed: Mapping[str, str] = MappingProxyType({})) -> None:
        self._frame, self._nw, self._decimals, self._renamed = frame, narwhals(), decimals, renamed

    @classmethod
    def of(cls, table: Any, package: str, wanted: list[str], names: ColumnNames) -> NarwhalsFrame:
        """These columns of a table that Narwhals accepts, and nothing that could clash with the names in queries."""
        if package == "polars":
            renamed = {name: f"fastbin_column_{number}" for number, name in enumerate(wanted) if is_pattern(name)}
            chosen = zip(polars_columns(wanted), wanted, strict=True)
            table = table.select([column.alias(renamed.get(name, name)) for column, name in chosen])
            return cls(narwhals().from_native(table), (), renamed)
        frame = _frame_of(table, package, wanted, names)
        engine = frame.implementation
        if not (engine.is_pandas_like() or engine.is_pyarrow() or engine.is_dask()):
            return cls(frame)
        schema = frame.collect_schema()
        return cls(frame, [name for name in (names.score, names.weight) if name is not None and schema[name].is_decimal()])

    def kinds(self) -> dict[str, str]:
        nw = self._nw

        def kind_of(dtype: Any) -> str:
            if dtype.is_integer() or (dtype.is_decimal() and getattr(dtype, "scale", None) == 0):
                return INTEGER
            if dtype.is_numeric():
                return FLOAT
            return {nw.Boolean: BOOLEAN, nw.String: TEXT}.get(type(dtype), str(dtype))

        given = {renamed: name for name, renamed in self._renamed.items()}
        return {given.get(name, name): kind_of(dtype) for name, dtype in self._frame.collect_schema().items()}

    def column(self, name: str) -> Any:
        column = self._nw.col(self._renamed.get(name, name))
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
        if self._frame.implementation.is_ibis():
            import ibis.expr.operations  # type: ignore[import-not-found]  # whoever has one of its tables has it

            if not self._frame.to_native().get_backend().has_operation(ibis.expr.operations.IsNan):
                return expression != expression  # as in SQLite and MySQL, which keep no NaN
        return expression.is_nan()

    def select(self, **columns: Any) -> NarwhalsFrame:
        return type(self)(self._frame.select(**columns))

    def where(self, condition: Any) -> NarwhalsFrame:
        return type(self)(self._frame.filter(condition), self._decimals, self._renamed)

    def join(self, table: Mapping[str, Array], on: str) -> NarwhalsFrame:
        small = self._like({**table, on: table[on].astype(np.float64)})
        return type(self)(self._frame.join(small, on=on, how="inner"))

    def groups(
        self, keys: Sequence[str], *, sums: Sequence[str] = (), ends: str | None = None, most: int | None = None
    ) -> dict[str, Array]:
        nw = self._nw
        pa, columns = pyarrow(), {"rows": nw.len(), **{name: nw.col(name).sum() for name in sums}}
        if ends is not None:
            columns |= {"low": nw.col(ends).min(), "high": nw.col(ends).max()}
        try:
            grouped = self._frame.group_by(*keys).agg(**columns)
        except pa.ArrowNotImplementedError as error:  # of an Arrow table: others are asked later
            raise InputTypeError(f"a column of the table is of a type whose values are not compared: {error}") from error
        if most is not None:
            grouped = grouped.head(most)
        answer = grouped.collect() if isinstance(grouped, nw.LazyFrame) else grouped
        try:
            table = answer.to_arrow()  # with an index of pandas, perhaps
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise InputTypeError(f"a column of the data frame holds values of several types: {error}") from error
        return {name: _values_of(table.column(name)) for name in (*keys, *columns)}

    def _like(self, table: Mapping[str, Array]) -> Any:
        """A small table in the same engine."""
        nw, engine = self._nw, self._frame.implementation
        if engine.is_ibis():
            import ibis

            return nw.from_native(ibis.memtable(pyarrow().table(dict(table))))
        if engine.is_dask():
            with needed_for("tables of Dask", package="'dask[dataframe]'"):
                import dask.dataframe
                import pandas

            return nw.from_native(dask.dataframe.from_pandas(pandas.DataFrame(dict(table)), npartitions=1))
        small = nw.from_dict(dict(table), backend=engine)
        return small.lazy() if isinstance(self._frame, nw.LazyFrame) else small


def _values_of(column: Any) -> Array:
    """A column of Arrow in NumPy, which has no times with a zone."""
    if pyarrow().types.is_nested(getattr(column.type, "storage_type", column.type)):
        raise InputTypeError(
            f"a column of the table holds {column.type}, whose values are not compared; cast the column to text"
        )
    has_zone = getattr(column.type, "tz", None) is not None
    return np.array(column.to_pylist(), object) if has_zone else np.asarray(column.to_numpy())


def _frame_of(table: Any, package: str, wanted: list[str], names: ColumnNames) -> Any:
    """These columns as a frame of Narwhals, of values that are compared as themselves, without an index."""
    if package == "pyarrow":
        table = _compared(table.select(wanted), names)
    elif package in ("pandas", "dask", "dask_expr"):
        table = in_native_order(table, wanted).reset_index(drop=True)
        if package == "pandas" and any(_goes_by_arrow(dtype) for dtype in table.dtypes):
            table = _compared(pyarrow().Table.from_pandas(table, preserve_index=False), names)
    try:
        return narwhals().from_native(table).select(*wanted)
    except TypeError as error:
        raise InputTypeError(f"table is of type {type(table).__name__}, which Narwhals does not know: {error}") from error


def _goes_by_arrow(dtype: Any) -> bool:
    """Whether a column of pandas is in Arrow already, or is of categories, which Arrow makes plain."""
    return hasattr(dtype, "pyarrow_dtype") or type(dtype).__name__ == "CategoricalDtype"


def _compared(table: Any, names: ColumnNames) -> Any:
    """An Arrow table whose columns are of types that Arrow compares and casts."""
    return pyarrow().table({name: _as_compared(table.column(name), name, names) for name in table.schema.names})


def _as_compared(column: Any, name: str, names: ColumnNames) -> Any:
    """A column without categories and extensions, as Arrow compares neither numbers of 16 bits nor views of texts.

    Whole weights become integers of 64 bits. Scores that are integers become the nearest doubles, which Arrow refuses to make
    of great ones later.
    """
    pa, types, kind = pyarrow(), pyarrow().types, column.type
    if types.is_float16(kind):
        return column.cast(pa.float64())
    if types.is_string_view(kind):
        return column.cast(pa.large_string())
    if types.is_binary_view(kind):
        return column.cast(pa.large_binary())
    is_counted = name == names.weight and has_whole(kind) and not types.is_boolean(kind)
    column = _counts_of(column, name) if is_counted else as_plain(column)
    return column.cast(pa.float64(), safe=False) if name == names.score and types.is_integer(column.type) else column


def _counts_of(weights: Any, name: str) -> Any:
    """Whole weights as int64, none of them beyond what doubles count."""
    counts = integers_of(weights, name)
    least, greatest = pyarrow().compute.min_max(counts).as_py().values()
    if greatest is not None and greatest > MOST_SAMPLES:
        raise too_many_samples(name)
    if least is not None and least < -MOST_SAMPLES:
        raise negative_weights(name, least)
    return counts
