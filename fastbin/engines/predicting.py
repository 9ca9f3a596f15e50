"""Calibrated probabilities as one more column of a table, wherever the table is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from fastbin._base.array_types import Float64s
from fastbin._base.dependencies import needed_for
from fastbin._base.errors import InputError, InputTypeError
from fastbin._fit.calibrator import as_model_or_set
from fastbin.engines import queries
from fastbin.engines.scoring import as_arrow, check_rows, models_of
from fastbin.engines.tables import ignores_case, is_path, pyarrow, unwrapped
from fastbin.io.base import check_column
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet

OUTPUT = "probability"


class Request(NamedTuple):
    """What is asked of a table: a model, and the columns that it reads and writes."""

    model: BinnedModel | ModelSet
    score: str
    cell: str | None
    key: str | None
    output: str

    @property
    def read(self) -> list[str]:
        """The columns that are read, each once."""
        return list(dict.fromkeys(name for name in (self.score, self.cell, self.key) if name is not None))

    def values(self, columns: dict[str, Any]) -> Float64s:
        """float64 (n,), NaN for rows without an answer; `columns` are those of `read`, of pandas, Polars or Arrow."""
        arrays = {name: as_arrow(column) for name, column in columns.items()}
        cells, keys = (None if name is None else arrays[name] for name in (self.cell, self.key))
        return check_rows(self.model, arrays[self.score], cells, keys).predict(self.model)

    def arrow_column(self, table: Any) -> Any:
        """The same as a column of Arrow, null for rows without an answer."""
        values = self.values({name: table.column(name) for name in self.read})
        return pyarrow().array(values, from_pandas=True)


def predict(
    table: Any, model: Any, *, score: str, cell: str | None = None, key: str | None = None, output: str = OUTPUT
) -> Any:
    """A table with the calibrated probability of each row as one more column, computed where the table is.

    Nothing is computed before the engine computes the table, but for tables that are in memory: a lazy table gives a lazy table
    of the same engine. All columns are kept. Wherever it runs, the probability has the bits of ``model.predict``.

    Parameters
    ----------
    table : table
        A DuckDB relation, or (connection, query); a Polars LazyFrame or DataFrame; a Dask, pandas or PySpark DataFrame (classic
        or Connect); a PyArrow Table or RecordBatch; a PyArrow Dataset or RecordBatchReader, which gives a RecordBatchReader.
    model : BinnedModel, fitted calibrator or ModelSet
    score : str
        The column of scores: floats, integers or decimals, which the engine converts to doubles.
    cell : str, optional
        Of a set, and of a set alone: the column with the key of each row's model.
    key : str, optional
        Of a model that splits ties by key, and of such a one alone: the column of tie keys. Texts of 16 lower-case hexadecimal
        digits in every engine, ``format(key, "016x")``; unsigned integers, too, in all but Spark, which has none of 64 bits.
    output : str
        The name of the new column.

    Returns
    -------
    table
        Of the type of `table`, with the float64 column `output` after its own columns. Of what Narwhals wraps, the native type.

    Raises
    ------
    InputError, InputTypeError
        When a column is not there or of a type that cannot be used, `output` is there already, `cell` or `key` is missing or
        of no use, the table is of a kind that is not known, or the model randomises its values (delta > 0).

    Notes
    -----
    **Rows without an answer** are no error, as a lazy table would find out too late: a row whose score is missing, NaN,
    infinite or outside the range of the model, whose cell is missing, or unknown to a set that refuses such, or whose key is
    missing or no key, gets NULL (NaN in pandas and Dask). ``model.predict`` refuses such rows.

    DuckDB and Spark get SQL (`fastbin.export.sql`) and no function of Python: nothing needs to be installed on executors.
    Polars, Dask, pandas and PyArrow call the compiled model batch by batch; Dask's workers need fastbin. Scores of float32 are
    taken as the doubles that they are. Values of smooth models use exp and log, whose last bit is the engine's own.

    Of sets, and of models of more than 1,000 steps, SQL looks rows up by a join, after which rows come in another order.

    Of Ibis and other tables that only speak SQL: ``fastbin.export.sql`` gives the expression.

    O(n log n_bins) time, O(1) memory beside the table's own.

    Examples
    --------
    >>> import fastbin as fb
    >>> import pandas as pd
    >>> model = fb.BinnedModel.from_parts(edges=[0.5], values=[0.2, 0.7])
    >>> fb.engines.predict(pd.DataFrame({"id": [1, 2, 3], "p": [0.1, 0.5, None]}), model, score="p")
       id    p  probability
    0   1  0.1          0.2
    1   2  0.5          0.7
    2   3  NaN          NaN
    """
    request = Request(check_deterministic(as_model_or_set(model)), score, cell, key, output)
    table = unwrapped(table)
    kind = kind_of(table)
    names = list(_NAMES[kind](table))
    has_one_case = ignores_case(table)
    require_columns(names, ignores_case=has_one_case, score=score, **check_roles(request.model, cell, key))
    _refuse_clash(names, output, ignores_case=has_one_case)
    return _PREDICT[kind](table, request)


# ------------------------------------------------------------------------------------------------- what is refused


def check_deterministic(model: BinnedModel | ModelSet) -> BinnedModel | ModelSet:
    """Refuse a model that does not give the same answer to the same row."""
    for own in models_of(model):
        if own.delta > 0.0:
            raise InputError(f"model randomises its values (delta={own.delta!r}), which no engine does; fit with delta=0")
    return model


def check_roles(model: BinnedModel | ModelSet, cell: str | None, key: str | None) -> dict[str, str]:
    """The columns beside the score that a model needs, by argument; one too few or too many is refused."""
    if isinstance(model, ModelSet) and cell is None:
        raise InputError("cell is missing; a set scores each row by the model of its cell, so name the column of the cells")
    if not isinstance(model, ModelSet) and cell is not None:
        raise InputError(f"cell is {cell!r}, and model is one model and no set; leave cell out, or pass the set")
    needs_key = any(own.needs_key for own in models_of(model))
    if needs_key and key is None:
        raise InputError(
            "key is missing, and the model splits ties by key: name the column of the keys, or fit with ties='whole', which "
            "needs no key"
        )
    if not needs_key and key is not None:
        raise InputError(f"key is {key!r}, and the model compares no keys; leave key out")
    return {name: column for name, column in (("cell", cell), ("key", key)) if column is not None}


def require_columns(names: Sequence[str], *, ignores_case: bool, **columns: str) -> None:
    """Refuse names that the table does not have."""
    for argument, column in columns.items():
        if not isinstance(column, str):
            raise InputTypeError(f"{argument} is {column!r}; pass the name of a column")
        if column not in names:
            raise InputError(f"{argument} is {column!r}, which is no column of the table; it has {', '.join(map(repr, names))}")
        check_column("the table", names, column, ignores_case=ignores_case)


def _refuse_clash(names: Sequence[str], output: str, *, ignores_case: bool) -> None:
    if not isinstance(output, str) or not output:
        raise InputTypeError(f"output is {output!r}; pass a name for the new column")
    same = [name for name in names if name == output or (ignores_case and name.casefold() == output.casefold())]
    if same:
        raise InputError(f"output is {output!r}, and the table has a column {same[0]!r} already; pass another name")


# ------------------------------------------------------------------------------------------------- tables


def kind_of(table: Any) -> str:
    """Which engine a table belongs to, by the names of its classes, so that nothing is imported for the question."""
    for base in type(table).__mro__:
        kind = _KINDS.get((base.__module__.partition(".")[0].lstrip("_"), base.__name__))
        if kind is not None:
            return kind
    if is_path(table):
        raise InputError(
            f"table is the path {str(table)!r}; open it first, as by duckdb.read_parquet, or use `fastbin predict`"
        )
    name = f"{type(table).__module__.partition('.')[0]}.{type(table).__name__}"
    raise InputTypeError(
        f"table is of type {name}; pass a DuckDB relation, a frame of Polars, Dask, pandas or PySpark, or a PyArrow table; "
        "export.sql gives the expression for whatever else reads SQL"
    )


_KINDS = {
    ("duckdb", "DuckDBPyRelation"): "duckdb",
    ("pyspark", "DataFrame"): "spark",
    ("polars", "LazyFrame"): "polars-lazy",
    ("polars", "DataFrame"): "polars",
    ("dask", "DataFrame"): "dask",
    ("dask_expr", "DataFrame"): "dask",
    ("pandas", "DataFrame"): "pandas",
    ("pyarrow", "Table"): "arrow",
    ("pyarrow", "RecordBatch"): "arrow",
    ("pyarrow", "Dataset"): "arrow-stream",
    ("pyarrow", "RecordBatchReader"): "arrow-stream",
}

_NAMES: dict[str, Callable[[Any], Any]] = {
    "polars-lazy": lambda table: table.collect_schema().names(),
    "arrow": lambda table: table.schema.names,
    "arrow-stream": lambda table: table.schema.names,
    **dict.fromkeys(("duckdb", "spark", "polars", "dask", "pandas"), lambda table: table.columns),
}


def _predict_polars(frame: Any, request: Request) -> Any:
    """One expression over the columns that are read, so that the engine reads no others for it and may work in batches."""
    with needed_for("tables of Polars", package="polars"):
        import polars as pl

    schema = frame.collect_schema()
    request.values({name: pl.Series(dtype=schema[name]) for name in request.read})  # refuses types now, and not in a query

    def score(rows: Any) -> Any:
        return pl.Series(request.values({name: rows.struct.field(name) for name in request.read}), nan_to_null=True)

    values = pl.struct(request.read).map_batches(score, return_dtype=pl.Float64, is_elementwise=True)
    return frame.with_columns(values.alias(request.output))


def _predict_pandas(frame: Any, request: Request) -> Any:
    return frame.assign(**{request.output: request.values({name: frame[name] for name in request.read})})


def _predict_dask(frame: Any, request: Request) -> Any:
    return frame.map_partitions(_predict_pandas, request, meta=_predict_pandas(frame._meta, request))


def _predict_arrow(table: Any, request: Request) -> Any:
    return table.append_column(request.output, request.arrow_column(table))


def _predict_stream(source: Any, request: Request) -> Any:
    pa = pyarrow()
    reader = source if hasattr(source, "read_next_batch") else source.scanner().to_reader()

    def batches() -> Iterator[Any]:
        for batch in reader:
            yield pa.RecordBatch.from_arrays([*batch.columns, request.arrow_column(batch)], schema=schema)

    schema = reader.schema.append(pa.field(request.output, pa.float64()))
    return pa.RecordBatchReader.from_batches(schema, batches())


def _predict_sql(table: Any, request: Request) -> Any:
    columns = queries.Columns(request.score, request.cell, request.key)
    return queries.with_answer(queries.sql_table(table), request.model, columns, "value", request.output).native


_PREDICT: dict[str, Callable[[Any, Request], Any]] = {
    "duckdb": _predict_sql,
    "spark": _predict_sql,
    "polars": _predict_polars,
    "polars-lazy": _predict_polars,
    "pandas": _predict_pandas,
    "dask": _predict_dask,
    "arrow": _predict_arrow,
    "arrow-stream": _predict_stream,
}
