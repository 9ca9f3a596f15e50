"""Columns of data frames and of Arrow: read in the pieces that they are stored in, and made again of results.

pandas, Polars and PyArrow are never imported for an argument that is none of theirs, and each is read and made by its own
functions, so that one of them is enough. Whatever else speaks the Arrow C interface is read by PyArrow.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Bools
from fastbin._base.dependencies import needed_for
from fastbin._base.errors import InputError, InputTypeError

# Packages whose tables hold no rows until they are asked to compute them.
LAZY_PACKAGES = ("dask", "dask_expr", "duckdb", "ibis", "pyspark")

ABOUT_NULLS = "is null", "remove or fill missing rows first"


class Piece(NamedTuple):
    """Some rows of a column, and which of them are null; where none is, as a view if the column's memory allows it."""

    values: Array
    is_null: Bools | None


class Column(NamedTuple):
    """A column in pieces, as they are stored."""

    library: str  # "pandas", "polars" or "pyarrow"
    pieces: Sequence[Any]

    def arrays(
        self, name: str, first_row: int = 0, *, keep_nulls: bool = False, said_of_null: tuple[str, str] = ABOUT_NULLS
    ) -> Iterator[tuple[Array, int]]:
        """The pieces as arrays, at least one, each with the number of its first row. Nulls are refused, or become NaN.

        Each is made when it is asked for, so no more than one conversion is in memory.
        """
        if not self.pieces:
            yield np.empty(0), first_row
        for array, is_null in map(_READ[self.library], self.pieces):
            if is_null is not None and not keep_nulls:
                at = first_row + int(np.argmax(is_null))
                raise InputError(*said_of_null, argument=name, at=at)
            yield array, first_row
            first_row += len(array)


# The classes that hold columns, in the library that makes them, and whether one is a table, of several columns perhaps.
CLASSES = {
    "pandas": {"Series": False, "DataFrame": True},
    "polars": {"Series": False, "DataFrame": True},
    "pyarrow": {"Array": False, "ChunkedArray": False, "RecordBatch": True, "Table": True},
}


class Kind(NamedTuple):
    library: str
    is_table: bool


def _kind_of(value: Any) -> Kind | None:
    """The library of a column or table, and which of both it is; ``None`` for anything else."""
    return _kind_of_class(type(value))  # type: ignore[arg-type]  # mypy doubts that classes have a hash


@lru_cache(maxsize=256)
def _kind_of_class(given: type) -> Kind | None:
    """By the names of the classes above it: so nothing is imported for the question."""
    for base in given.__mro__:
        library = base.__module__.partition(".")[0]
        if base.__name__ in CLASSES.get(library, ()):
            return Kind(library, CLASSES[library][base.__name__])
    return None


# ------------------------------------------------------------------------------------------------- in


def column_of(values: Any, name: str) -> Column | None:
    """The column that this is, or the only one of a table; ``None`` for anything else."""
    if isinstance(values, (np.ndarray, list, tuple)):
        return None
    kind = _kind_of(values)
    if kind is not None:
        if kind.is_table and values.shape[1] != 1:
            return None
        return _COLUMNS[kind.library](_only_column(values, kind))
    refuse_lazy(values, name)
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        return _of_arrow_interface(values)
    return None


def masked_entries(values: Any) -> Bools | None:
    """Which entries of an array of `numpy.ma` are masked; ``None`` where none is, and for anything else.

    NumPy imports that module at its first use. Whoever has such an array has imported all of it.
    """
    ma = sys.modules.get("numpy.ma")
    if ma is None or not isinstance(values, getattr(ma, "MaskedArray", ())):
        return None
    masked: Bools = ma.getmaskarray(values)
    return masked if masked.any() else None


def refuse_masked(values: Any, name: str) -> None:
    """Refuse an array of `numpy.ma` in which something is masked."""
    masked = masked_entries(values)
    if masked is not None:
        is_column = masked.ndim == 1 or masked.shape[1:] == (1,)
        place = np.argwhere(masked)[0].tolist()
        at = None if not place else place[0] if is_column else (place[0], place[1])
        raise InputError("is masked", "remove or fill masked rows first", argument=name, at=at)


def with_numbers_kept(array: Array, values: Any) -> Array:
    """An array that was made of a list, as one of objects where NumPy has made texts of the numbers beside one."""
    if array.dtype.kind in "SU" and isinstance(values, (list, tuple)) and not all(isinstance(each, str) for each in values):
        return np.array(values, object).reshape(len(array))
    return array


def read_column(values: Any, name: str, first_row: int = 0, *, said_of_null: tuple[str, str] = ABOUT_NULLS) -> Array | None:
    """The column of a frame as one array, in which nothing is null; ``None`` for anything else."""
    column = column_of(values, name)
    if column is None:
        return None
    arrays = [array for array, _ in column.arrays(name, first_row, said_of_null=said_of_null)]
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _only_column(values: Any, kind: Kind) -> Any:
    """The first column of a table; a column as it is."""
    if not kind.is_table:
        return values
    if kind.library == "pandas":
        return values.iloc[:, 0]
    return values.to_series(0) if kind.library == "polars" else values.column(0)


def refuse_lazy(values: Any, name: str) -> None:
    """Raise for a table that holds no rows yet."""
    kind, library = type(values).__name__, type(values).__module__.partition(".")[0]
    if library in LAZY_PACKAGES or kind == "LazyFrame":
        raise InputTypeError(
            f"is a {kind} of {library}, which holds no rows before it is computed",
            "collect it first, or score the table where it is with engines.predict",
            argument=name,
        )


def _of_pandas(series: Any) -> Column:
    if hasattr(series.dtype, "pyarrow_dtype"):
        return _of_arrow(series.array.__arrow_array__())
    return Column("pandas", [series])


def _of_polars(series: Any) -> Column:
    return Column("polars", series.get_chunks() if series.n_chunks() > 1 else [series])


def _of_arrow(values: Any) -> Column:
    return Column("pyarrow", values.chunks if hasattr(values, "chunks") else [values])


_COLUMNS = {"pandas": _of_pandas, "polars": _of_polars, "pyarrow": _of_arrow}


def _of_arrow_interface(values: Any) -> Column | None:
    """By PyArrow; where that is missing and there is an array interface too, as any array."""
    try:
        with needed_for("Arrow data of other libraries", extra="cli"):
            import pyarrow as pa
    except ImportError:
        if hasattr(values, "__array__"):
            return None
        raise
    column = pa.chunked_array(values) if hasattr(values, "__arrow_c_stream__") else pa.array(values)
    if pa.types.is_struct(column.type):  # a table
        fields = column.flatten()
        if len(fields) != 1:
            raise InputTypeError(f"{type(values).__name__} has {len(fields)} columns", "pass one of them")
        (column,) = fields
    return _of_arrow(column)


def _read_pandas(series: Any) -> Piece:
    dtype = getattr(series.dtype, "numpy_dtype", None)
    if dtype is None:  # NumPy's own, or of objects
        return Piece(np.asarray(series), None)
    is_null = series.isna().to_numpy()
    if is_null.any():
        return Piece(series.to_numpy(dtype=np.float64, na_value=np.nan), is_null)
    return Piece(series.to_numpy(dtype=dtype), None)


def _read_polars(chunk: Any) -> Piece:
    is_null = chunk.is_null().to_numpy() if chunk.null_count() else None
    return Piece(np.array(chunk.to_list(), object) if has_no_array_type(chunk) else chunk.to_numpy(), is_null)


def has_no_array_type(values: Any) -> bool:
    """Whether this is a column of Polars of 128-bit integers, which NumPy has not: Python's own hold them."""
    return str(getattr(values, "dtype", "")) in ("Int128", "UInt128")


def _read_arrow(array: Any) -> Piece:
    is_null = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    return Piece(array.to_numpy(zero_copy_only=False), is_null)


_READ = {"pandas": _read_pandas, "polars": _read_polars, "pyarrow": _read_arrow}


# ------------------------------------------------------------------------------------------------- out


def like(given: Any, values: Array, names: Sequence[str] = ()) -> Any:
    """Results in the type of the rows that they are about.

    Parameters
    ----------
    given : object
        What the user passed: a column, or a table.
    values : ndarray of shape (n,) or (n, k)
    names : sequence of k str
        Of the columns of the second shape.

    Returns
    -------
    object
        For pandas a Series, or a DataFrame, with the index; for Polars the same without; for Arrow an array, chunked as the
        rows are, or a Table; for everything else `values`. A series is called as the column it is about.
    """
    kind = _kind_of(given)
    if kind is None:
        return values
    module = sys.modules[kind.library]
    if kind.library == "pyarrow":
        return _like_arrow(module, _only_column(given, kind), values, names)
    if values.ndim == 2:
        if kind.library == "pandas":
            return module.DataFrame(values, index=given.index, columns=list(names), copy=False)
        return module.DataFrame({name: values[:, at] for at, name in enumerate(names)})
    name = given.name if not kind.is_table else given.columns[0] if given.shape[1] == 1 else None
    if kind.library == "pandas":
        return module.Series(values, index=given.index, name=name, copy=False)
    return module.Series(name, values)


def columns_of(table: Any) -> list[Any]:
    """The names of the columns of a table; none for anything else."""
    kind = _kind_of(table)
    if kind is None or not kind.is_table:
        return []
    return list(table.schema.names if kind.library == "pyarrow" else table.columns)


def _like_arrow(pa: Any, given: Any, values: Array, names: Sequence[str]) -> Any:
    if values.ndim == 2:
        columns = [np.ascontiguousarray(values[:, at]) for at in range(values.shape[1])]
        return pa.table([_like_arrow(pa, given, column, ()) for column in columns], names=list(names))
    array = pa.array(values)
    if not hasattr(given, "chunks"):
        return array
    ends = accumulate(map(len, given.chunks), initial=0)
    return pa.chunked_array([array.slice(start, end - start) for start, end in pairwise(ends)], array.type)


# ------------------------------------------------------------------------------------------------- one index


def check_same_index(**columns: Any) -> None:
    """Refuse columns of pandas that belong to the same rows in another order.

    Rows are matched by position. Two indices must be equal, or one of them the default one, 0, 1, ..., and the other no
    permutation of it; columns of other lengths are left to `check_same_length`. O(n) for each index.
    """
    first: tuple[str, Any] | None = None
    default: tuple[str, Any] | None = None
    for name, column in columns.items():
        kind = _kind_of(column)
        if kind is None or kind.library != "pandas":
            continue
        index = column.index
        if _is_default(index):
            default = default or (name, index)
        elif first is None:
            first = name, index
        elif len(index) == len(first[1]) and not index.equals(first[1]):
            raise _other_order(name, index, *first)
    if first is not None and default is not None and len(first[1]) == len(default[1]) and _is_shuffled(first[1]):
        raise _other_order(*first, *default)


def _other_order(name: str, index: Any, other_name: str, other: Any) -> InputError:
    at = _first_difference(index, other)
    label, other_label = (labels[at : at + 1].tolist()[0] for labels in (index, other))
    return InputError(
        f"has the label {label!r} in its index at row {at}, and {other_name} has {other_label!r}",
        f"bring both into one order, or pass {name}.to_numpy() to fit by position",
        argument=name,
    )


def _is_default(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def _is_shuffled(index: Any) -> bool:
    """Whether these labels are 0 to n - 1 in another order, as those of shuffled rows that had the default index."""
    labels = np.asarray(index)
    if labels.dtype.kind not in "iu" or not len(labels) or labels.min() != 0 or labels.max() != len(labels) - 1:
        return False
    is_there = np.zeros(len(labels), np.bool_)
    is_there[labels] = True
    return bool(is_there.all()) and bool((labels != np.arange(len(labels))).any())


def _first_difference(index: Any, other: Any) -> int:
    """By halving: what it means that labels are equal, pandas knows best."""
    return bisect_left(range(len(index) - 1), True, key=lambda at: not index[: at + 1].equals(other[: at + 1]))
