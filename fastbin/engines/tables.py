"""What a table is: recognised by the name of its type, and read as Arrow batches of the columns that are needed.

No library is imported for a table that is none of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, NoReturn

from fastbin._base.dependencies import needed_for
from fastbin._base.errors import InputError, InputTypeError
from fastbin.io import Table
from fastbin.io.base import sliced

# How rows may be counted.
ENGINES = ("auto", "stream", "group-by")

# Rows of a batch. Smaller ones cost calls; larger ones leave the caches between the engine and the counters.
BATCH_ROWS = 2**16

# What tables are called that an engine may be asked about.
_FRAMES = ("DataFrame", "LazyFrame", "Table", "RecordBatch", "DuckDBPyRelation")

# Packages whose rows should not move: they are asked for counts, unless a call says otherwise.
GROUP_BY_PACKAGES = ("dask", "dask_expr", "pyspark", "ibis")

A_TABLE = (
    "pass a DuckDB relation, (connection, query), a frame of Polars, pandas, Dask, Spark or Ibis, a table or data set of "
    "PyArrow, the path of a file or folder, or a function that returns one of these"
)


class Stream(Table):
    """A table of another library, whose rows come as Arrow batches."""

    is_text = False

    def __init__(
        self,
        called: str,
        names: Sequence[str],
        read: Callable[[list[str]], Iterable[Any]],
        *,
        once: bool = False,
        ignores_case: bool = False,
    ) -> None:
        self.path, self.names, self.files = called, list(names), []
        self.ignores_case, self._once = ignores_case, once
        self._read = read  # record batches of these columns, from the first row on, at each call

    def batches(self, columns: Sequence[str] | None = None, chunk_rows: int | None = None) -> Iterator[Any]:
        return sliced(self._read(self.names if columns is None else list(columns)), chunk_rows or BATCH_ROWS)

    @property
    def can_be_read_again(self) -> bool:
        return not self._once


def column_names(table: Any) -> list[str]:
    """The names of the columns of a table that is no stream; those that are there twice, twice."""
    if hasattr(table, "collect_schema"):
        return list(table.collect_schema().names())
    return list(table.schema.names if package_of(table) == "pyarrow" else table.columns)


def ignores_case(table: Any) -> bool:
    """Whether the engine takes names that differ in their case alone for one."""
    package = package_of(table)
    if package == "pyspark":
        return str(table.sparkSession.conf.get("spark.sql.caseSensitive")).lower() != "true"
    return package == "duckdb"


# What DuckDB calls a statement that only reads; "MULTI" is a PIVOT that looks for its columns.
QUERIES = ("SELECT", "MULTI")


def package_of(table: Any) -> str:
    """The package that the type of a table comes from, or one that it inherits from: "polars", "pyspark", ..."""
    packages = [base.__module__.partition(".")[0].lstrip("_") for base in type(table).__mro__]
    return next((package for package in packages if package in (*_STREAMS, *GROUP_BY_PACKAGES)), packages[0])


def unwrapped(table: Any) -> Any:
    """The table behind what Narwhals wraps, and the relation or frame of (connection, query)."""
    if isinstance(table, tuple) and len(table) == 2 and hasattr(table[0], "sql") and isinstance(table[1], str):
        _check_query(*table)
        return table[0].sql(table[1])
    if package_of(table) == "narwhals" and hasattr(table, "to_native"):
        return table.to_native()
    return table


def _check_query(connection: Any, query: str) -> None:
    """Refuse what is not one query before any of it runs: DuckDB would run each statement, and give the rows of the last."""
    if package_of(connection) != "duckdb":
        return
    kinds = [statement.type.name for statement in connection.extract_statements(query)]
    if len(kinds) != 1:
        raise InputError(f"table is (connection, {query!r}), which has {len(kinds)} statements; pass one SELECT")
    if kinds[0] not in QUERIES:
        raise InputError(f"table is (connection, {query!r}), which is {kinds[0]} and no query; pass a SELECT")


def must_not_move(table: Any) -> bool:
    """Whether the rows of a table should stay where they are."""
    return package_of(table) in GROUP_BY_PACKAGES


def streams(table: Any) -> bool:
    """Whether the rows of a table come where they are asked for."""
    return package_of(table) in _STREAMS or not must_not_move(table)


def how_to_bring(table: Any) -> str:
    """What messages say where the rows of a table are needed."""
    return "pass engine='stream', which brings the rows here" if streams(table) else "collect the columns that are needed"


def is_frame(table: Any) -> bool:
    """Whether this is a table of an engine, and no series, session, stream or function."""
    return any(base.__name__ in _FRAMES for base in type(table).__mro__)


def is_path(table: Any) -> bool:
    """Whether this names a file, a folder or a pattern, or is one that `fastbin.io.open_table` has opened."""
    return isinstance(table, (str, os.PathLike, Table))


def stream_of(table: Any) -> Stream:
    """The table as a stream of Arrow batches.

    Parameters
    ----------
    table : object
        Anything but a path (`fastbin.engines.files.stream_file`): what `unwrapped` gives.

    Raises
    ------
    InputTypeError
        For what is no table, or one that does not stream.
    """
    package = package_of(table)
    if not streams(table):
        raise InputTypeError(f"table is a {type(table).__name__} of {package}, whose rows do not stream; leave engine out")
    make = _STREAMS.get(package)
    stream = None if make is None else make(table)
    if stream is None and callable(table) and not isinstance(table, type):
        return _of_function(table)
    if stream is None and hasattr(table, "__arrow_c_stream__") and not isinstance(table, type):
        return _of_interface(table)
    return _refuse(table) if stream is None else stream


def _refuse(table: Any) -> NoReturn:
    kind = f"the class {table.__name__}" if isinstance(table, type) else f"of type {type(table).__name__}"
    if hasattr(table, "sql") and hasattr(table, "execute"):
        raise InputTypeError(f"table is {kind}, a connection; pass (connection, query)")
    raise InputTypeError(f"table is {kind}; {A_TABLE}")


def pyarrow() -> Any:
    """PyArrow, or an error that says how to get it."""
    with needed_for("tables of other libraries", extra="engines"):
        import pyarrow
        import pyarrow.compute
    return pyarrow


# ------------------------------------------------------------------------------------------------- one function a library


def _of_duckdb(relation: Any) -> Stream | None:
    if not hasattr(relation, "project"):
        return None

    def read(names: list[str]) -> Iterator[Any]:
        chosen = relation.project(", ".join('"' + name.replace('"', '""') + '"' for name in names))
        with closing(chosen.to_arrow_reader(BATCH_ROWS)) as batches:
            yield from batches

    return Stream("the DuckDB relation", relation.columns, read, ignores_case=True)


def _of_polars(frame: Any) -> Stream | None:
    if not hasattr(frame, "collect_schema"):  # a Series
        return None
    lazy = hasattr(frame, "collect")

    def read(names: list[str]) -> Iterator[Any]:
        chosen = frame.select(names)
        if not lazy:
            parts: Iterable[Any] = chosen.iter_slices(BATCH_ROWS)
        elif hasattr(chosen, "collect_batches"):
            parts = chosen.collect_batches(chunk_size=BATCH_ROWS)
        else:
            parts = chosen.collect().iter_slices(BATCH_ROWS)
        for part in parts:
            yield from part.to_arrow().to_batches()

    return Stream("the Polars frame", frame.collect_schema().names(), read)


def _of_pandas(frame: Any) -> Stream | None:
    if not hasattr(frame, "columns"):
        return None

    def read(names: list[str]) -> Iterator[Any]:
        pa = pyarrow()
        try:
            table = pa.Table.from_pandas(frame[names], preserve_index=False)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise InputTypeError(f"the data frame has a column of several types: {', '.join(map(str, error.args))}") from error
        return iter(table.to_batches(max_chunksize=BATCH_ROWS))

    return Stream("the data frame", list(frame.columns), read)


def _of_dask(frame: Any) -> Stream | None:
    if not hasattr(frame, "columns"):
        return None

    def read(names: list[str]) -> Iterator[Any]:
        for part in frame[names].to_delayed():  # one after the other: no more than one is in memory
            stream = _of_pandas(part.compute())
            assert stream is not None
            yield from stream.batches(names)

    return Stream("the Dask frame", list(frame.columns), read)


def _of_pyarrow(table: Any) -> Stream | None:
    pa = pyarrow()
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if isinstance(table, pa.Table):
        return Stream(
            "the table", table.schema.names, lambda names: iter(table.select(names).to_batches(max_chunksize=BATCH_ROWS))
        )
    if isinstance(table, pa.RecordBatchReader):
        return Stream("the reader", table.schema.names, lambda names: (b.select(names) for b in table), once=True)
    if hasattr(table, "to_batches") and hasattr(table, "schema") and hasattr(table, "get_fragments"):
        return Stream("the data set", table.schema.names, lambda names: table.to_batches(columns=names, batch_size=BATCH_ROWS))
    return None


def _of_interface(table: Any) -> Stream:
    """Anything else that exports an Arrow stream; asked for it anew at each pass."""
    pa = pyarrow()
    try:
        first = [pa.RecordBatchReader.from_stream(table)]
    except pa.ArrowInvalid:  # a stream without columns
        _refuse(table)
    called = f"the {type(table).__name__}"

    def read(names: list[str]) -> Iterator[Any]:
        reader = first.pop() if first else pa.RecordBatchReader.from_stream(table)
        with closing(reader):
            yield from (batch.select(names) for batch in reader)

    return Stream(called, first[0].schema.names, read)


def _of_function(function: Callable[[], Any]) -> Stream:
    """A function that returns a table, which is called before each pass."""

    def call() -> Stream:
        made = unwrapped(function())
        if callable(made) and not hasattr(made, "__arrow_c_stream__"):
            raise InputTypeError(f"table is a function that returned a {type(made).__name__}; {A_TABLE}")
        if is_path(made):
            raise InputTypeError("table is a function that returned a path; pass the path")
        if must_not_move(made):
            raise InputTypeError(
                f"table is a function that returned a {type(made).__name__} of {package_of(made)}, whose rows should stay "
                "where they are; pass the frame"
            )
        return stream_of(made)

    first = [call()]
    names = first[0].names

    def read(wanted: list[str]) -> Iterator[Any]:
        stream = first.pop() if first else call()
        return stream.batches(stream.check_columns(*wanted))

    return Stream("the table", names, read)


_STREAMS: dict[str, Callable[[Any], Stream | None]] = {
    "duckdb": _of_duckdb,
    "polars": _of_polars,
    "pandas": _of_pandas,
    "dask": _of_dask,
    "dask_expr": _of_dask,
    "pyarrow": _of_pyarrow,
}
