"""Any table opened: recognised by the name of its type, and read as Arrow batches of the columns that are needed.

No library is imported for a table of another one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from fastbin._base.errors import InputError, InputTypeError
from fastbin.tables.columns import MISSING_TEXT, MISSING_WORDS, as_text, column_of, first_true, is_integer, without_missing
from fastbin.tables.files import ColumnReader, open_table
from fastbin.tables.replay import Replay
from fastbin.tables.table import Table, check_columns, from_polars, in_native_order, polars_columns, pyarrow, sliced

if TYPE_CHECKING:
    from fastbin.tables.frames import ColumnNames, Frame

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


# What DuckDB calls a statement that only reads; "MULTI" is a PIVOT that looks for its columns.
QUERIES = ("SELECT", "MULTI")


def package_of(table: Any) -> str:
    """The package that the type of a table comes from, or one that it inherits from: "polars", "pyspark", ..."""
    packages = [base.__module__.partition(".")[0].lstrip("_") for base in type(table).__mro__]
    return next((package for package in packages if package in (*_STREAMS, *GROUP_BY_PACKAGES)), packages[0])


def _unwrapped(table: Any) -> Any:
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


class OpenedColumns(NamedTuple):
    """A table whose columns can be read as Arrow, and their names there."""

    rows: Table
    names: dict[str, str]  # by argument
    positive: Any  # the label that still is to be compared


class Opened:
    """A table of any library: the names of its columns, and the ways to its rows.

    They come as batches of Arrow (`read`, `stream`), or stay in their engine, which is asked for groups (`frame`).
    """

    def __init__(self, table: Any) -> None:
        self.is_path = isinstance(table, (str, os.PathLike, Table))  # a file, a folder, a pattern, or one that is opened
        self.native = table if self.is_path else _unwrapped(table)
        self.package, self.kind = package_of(self.native), type(self.native).__name__

    @property
    def names(self) -> list[str]:
        """The names of the columns of a table of an engine; those that are there twice, twice."""
        if self.package == "polars":  # not by attribute: a frame of Spark Connect has a column for every name
            return list(self.native.collect_schema().names())
        return list(self.native.schema.names if self.package == "pyarrow" else self.native.columns)

    @property
    def ignores_case(self) -> bool:
        """Whether the engine takes names that differ in their case alone for one."""
        if self.package == "pyspark":
            return str(self.native.sparkSession.conf.get("spark.sql.caseSensitive")).lower() != "true"
        return self.package == "duckdb"

    @property
    def stays(self) -> bool:
        """Whether rows should stay where they are."""
        return self.package in GROUP_BY_PACKAGES

    @property
    def streams(self) -> bool:
        """Whether rows come where they are asked for."""
        return self.package in _STREAMS or not self.stays

    @property
    def how_to_bring(self) -> str:
        """The remedy where rows are needed."""
        return "pass engine='stream', which brings the rows here" if self.streams else "collect the columns that are needed"

    @property
    def is_frame(self) -> bool:
        """Whether this is a table of an engine, and not a series, session, stream or function."""
        return any(base.__name__ in _FRAMES for base in type(self.native).__mro__)

    def refuse_path(self) -> None:
        """Refuse a path where an engine is to count."""
        if self.is_path:
            raise InputError(
                f"table is the path {str(self.native)!r}, and engine is 'group-by'; pass a relation, or leave engine out"
            )

    def read(
        self, columns: Mapping[str, str], positive: Any = None, *, keys: Mapping[str, str | None], kept: bool = False,
        propagate: tuple[str, ...] = (),
    ) -> OpenedColumns:  # fmt: skip
        """Columns by argument, those of text files parsed: labels as 0 and 1, keys as they are compared, the rest as numbers.

        Parameters
        ----------
        columns : mapping of str to str
        positive : optional
            The label that counts as 1.
        keys : mapping
            For a text file: the type of keys, "int64" or "uint64", by argument; ``None`` where they stay text.
        kept : bool
            Whether parsed columns, which must be numbers, are kept for further passes: in memory, or beyond 256 MB (or half of
            the table's memory limit) in a temporary file, until the table is closed.
        propagate : tuple of str
            Arguments whose missing values become NaN.
        """
        table = self.rows()
        if self.is_path:
            table.check_columns(*columns.values())
        if not table.is_text:
            return OpenedColumns(table, dict(columns), positive)
        parsed = _Parsed(table, columns, keys, positive, kept=kept, propagate=propagate)
        return OpenedColumns(parsed, parsed.called, None)

    def rows(self) -> Table:
        """The table itself, whose rows come as Arrow batches; those of text files as they are written."""
        if not self.is_path:
            return self.stream()
        return self.native if isinstance(self.native, Table) else open_table(self.native)

    def stream(self) -> Stream:
        """A table that is not a path as a stream of Arrow batches; others are refused."""
        table = self.native
        if not self.streams:
            raise InputTypeError(f"table is a {self.kind} of {self.package}, whose rows do not stream; leave engine out")
        make = _STREAMS.get(self.package)
        stream = None if make is None else make(table)
        if stream is None and callable(table) and not isinstance(table, type):
            return _of_function(table)
        if stream is None and hasattr(table, "__arrow_c_stream__") and not isinstance(table, type):
            return _of_interface(table)
        return _refuse(table) if stream is None else stream

    def frame(self, names: ColumnNames) -> Frame:
        """These columns of a table of an engine, for queries that group its rows."""
        is_spark = self.package == "pyspark"
        if not self.is_frame:
            if is_spark:
                raise InputTypeError(f"table is a {self.kind} of pyspark; pass a DataFrame, or (session, query)")
            raise InputTypeError(f"table is of type {self.kind}, which is not asked by GROUP BY; leave engine out")
        called = "the Spark frame" if is_spark else "the table"
        wanted = check_columns(called, self.names, names, ignores_case=self.ignores_case)
        if self.package not in ("duckdb", "pyspark"):
            from fastbin.tables.frames import NarwhalsFrame

            return NarwhalsFrame.of(self.native, self.package, wanted, names)
        from fastbin.tables.sql import sql_table

        return sql_table(self.native).plain(wanted, weight=names.weight)


def open(table: Any) -> Opened:
    """A table of any library, the path of a file, or what `fastbin.io.open_table` has opened."""
    return Opened(table)


def _refuse(table: Any) -> NoReturn:
    kind = f"the class {table.__name__}" if isinstance(table, type) else f"of type {type(table).__name__}"
    if hasattr(table, "sql") and hasattr(table, "execute"):
        raise InputTypeError(f"table is {kind}, a connection; pass (connection, query)")
    raise InputTypeError(f"table is {kind}; {A_TABLE}")


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
        chosen = frame.select(polars_columns(names))
        if not lazy:
            parts: Iterable[Any] = chosen.iter_slices(BATCH_ROWS)
        elif hasattr(chosen, "collect_batches"):
            parts = chosen.collect_batches(chunk_size=BATCH_ROWS)
        else:
            parts = chosen.collect().iter_slices(BATCH_ROWS)
        for part in parts:
            yield from from_polars(part).to_batches()

    return Stream("the Polars frame", frame.collect_schema().names(), read)


def _of_pandas(frame: Any) -> Stream | None:
    if not hasattr(frame, "columns"):
        return None

    def read(names: list[str]) -> Iterator[Any]:
        pa = pyarrow()
        try:
            table = pa.Table.from_pandas(in_native_order(frame, names), preserve_index=False)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise InputTypeError(f"the data frame has a column of several types: {', '.join(map(str, error.args))}") from error
        except pa.ArrowNotImplementedError as error:
            told = ", ".join(map(str, error.args))
            raise InputTypeError(f"the data frame has a column of a type that PyArrow has not: {told}") from error
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
        made = open(function())
        if callable(made.native) and not hasattr(made.native, "__arrow_c_stream__"):
            raise InputTypeError(f"table is a function that returned a {made.kind}; {A_TABLE}")
        if made.is_path:
            raise InputTypeError("table is a function that returned a path; pass the path")
        if made.stays:
            raise InputTypeError(
                f"table is a function that returned a {made.kind} of {made.package}, whose rows should stay where they are; "
                "pass the frame"
            )
        return made.stream()

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


# ------------------------------------------------------------------------------------------------- text files


class _Parsed(Stream):
    """Columns of a text file by argument: keys as text or integers, all others as numbers.

    Two arguments may be of one column, which then is there twice, each time in the type of its argument. Parsed rows that are
    kept, which must be numbers alone, can be read again.
    """

    memory_limit = 0  # for further copies of these rows

    def __init__(
        self, table: Table, columns: Mapping[str, str], keys: Mapping[str, Any], positive: Any, *, kept: bool,
        propagate: tuple[str, ...],
    ) -> None:  # fmt: skip
        self._table, self._positive, self._propagate = table, positive, propagate
        self._numbers = {argument: name for argument, name in columns.items() if argument not in keys}
        self._keys = {argument: (name, keys[argument]) for argument, name in columns.items() if argument in keys}
        self.called: dict[str, str] = {}
        for argument in (*self._numbers, *self._keys):
            name = columns[argument]
            self.called[argument] = name if name not in self.called.values() else f"{name} (as {argument})"
        self._kept = Replay(self._parse, limit=table.most_kept) if kept else None
        super().__init__(table.path, list(self.called.values()), self._rows, once=not kept)

    def _rows(self, wanted: list[str]) -> Iterator[Any]:
        pa = pyarrow()
        for arrays in self._parse() if self._kept is None else self._kept:
            yield pa.RecordBatch.from_arrays([pa.array(array) for array in arrays], self.names).select(wanted)

    def close(self) -> None:
        if self._kept is not None:
            self._kept.close()

    def _parse(self) -> Generator[tuple[Any, ...], None, None]:
        label = "label" if "label" in self._numbers else None
        reader = ColumnReader(
            self._table, self._numbers, label=label, positive=self._positive, whole=("weight",), propagate=self._propagate
        )
        wanted = dict.fromkeys([*reader.names, *(name for name, _ in self._keys.values())])
        for batch in self._table.batches(list(wanted), BATCH_ROWS):
            first_row = reader.first_row
            numbers = reader.read(batch).values()
            yield (*numbers, *(self._read_keys(batch, name, kind, first_row) for name, kind in self._keys.values()))
        reader.finish()

    def _read_keys(self, batch: Any, name: str, kind: Any, first_row: int) -> Any:
        pa = pyarrow()
        words = MISSING_TEXT if kind is None else MISSING_WORDS
        text = as_text(self._table, name, without_missing(column_of(batch, name), words), first_row)
        if kind is None:
            return text
        is_tie_key = kind == "uint64"
        if is_tie_key:  # all are different, so that looking at each would take long
            with suppress(pa.ArrowInvalid):
                return text.cast(kind)
        fits = _is_tie_key if is_tie_key else is_integer  # which 007 is not, though it could be cast
        wrong = next((value for value in text.unique().drop_null().to_pylist() if not fits(value)), None)
        if wrong is not None:
            row = first_row + first_true(pa.compute.equal(text, wrong).fill_null(False))
            raise InputError(f"{self._table.place(row)}, column {name}: {wrong[:60]!r} is not an integer, as is needed here")
        return text.cast(kind)


def _is_tie_key(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) < 2**64
