"""Calibrated probabilities as one more column of a table, wherever the table is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from fastbin._base.array_types import Array, Bools, Float64s, Int32s, Int64s, UInt8s, UInt64s
from fastbin._base.dependencies import needed_for
from fastbin._base.errors import InputError, InputTypeError
from fastbin._fit.calibrator import as_model_or_set
from fastbin.engines.vectors import VectorRequest
from fastbin.export.dialects import KEY_DIGITS, MOST_STEPS
from fastbin.export.form import answered_range, needs_keys
from fastbin.export.lookup import SqlTables
from fastbin.export.sql import sql, sql_set
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.tables.columns import CAST_SCORES, is_text, scores_of, with_integers
from fastbin.tables.opening import Opened, open
from fastbin.tables.sql import BOOLEANS, NUMBERS, SOURCE, TEXTS, UNSIGNED, SqlTable, by_bytes, is_whole, sql_table
from fastbin.tables.table import as_plain, check_column, from_polars, natively, polars, pyarrow, with_plain_names
from fastbin.vector_model import as_vector_model

OUTPUT = "probability"


class Request(NamedTuple):
    """A request to a table: a model, and the columns that it reads and writes."""

    model: BinnedModel | ModelSet
    score: str
    cell: str | None
    key: str | None
    output: str = OUTPUT

    @property
    def read(self) -> list[str]:
        """The columns that are read, each once."""
        return list(dict.fromkeys(name for name in (self.score, self.cell, self.key) if name is not None))

    @property
    def outputs(self) -> list[str]:
        """The columns that are written."""
        return [self.output]

    def answers(self, arrays: dict[str, Any]) -> dict[str, Float64s]:
        """float64 (n,) by the name of the new column, NaN for rows without an answer; `arrays` are of Arrow."""
        cells, keys = (None if name is None else arrays[name] for name in (self.cell, self.key))
        return {self.output: check_rows(self.model, arrays[self.score], cells, keys).predict(self.model)}

    def in_polars(self, frame: Any) -> Any:
        """The frame with the new column."""
        pl = polars()
        frame, plain, copies = with_plain_names(frame, self.read)
        named = dict(zip(self.read, map(pl.col, plain), strict=True))
        columns = (None if name is None else named[name] for name in (self.score, self.cell, self.key))
        return frame.with_columns(polars_expression(self.model, *columns).alias(self.output)).drop(copies)

    def in_sql(self, table: SqlTable) -> SqlTable:
        """The table with the new column."""
        return with_answer(table, self, "value")


Requested = Request | VectorRequest


def predict(
    table: Any, model: Any, *, score: str | Sequence[str], cell: str | None = None, tie_key: str | None = None,
    output: str = OUTPUT,
) -> Any:  # fmt: skip
    """A table with the calibrated probability of each row as one more column, or of each class, computed where the table is.

    Nothing is computed before the engine computes the table, but for tables that are in memory: a lazy table gives a lazy table
    of the same engine. All columns are kept. Wherever it runs, the probability has the bits of ``model.predict``, but for the
    last bits of vectors, and of smooth models, in SQL.

    Parameters
    ----------
    table : table
        A DuckDB relation, or (connection, query); a Polars LazyFrame or DataFrame; a Dask, pandas or PySpark DataFrame (classic
        or Connect); a PyArrow Table or RecordBatch; a PyArrow Dataset or RecordBatchReader, which gives a RecordBatchReader.
    model : BinnedModel, fitted calibrator, ModelSet or VectorModel
    score : str, for a VectorModel a list of str
        The column of scores: floats, integers or decimals, which the engine converts to doubles. For a VectorModel the columns
        of the probabilities of all classes, in the order of ``model.classes``.
    cell : str, optional
        Only for a ModelSet: the column with the key of each row's model.
    tie_key : str, optional
        Only for a model that splits ties by key: the column of tie keys. Texts of 16 lower-case hexadecimal
        digits in every engine, ``format(key, "016x")``; unsigned integers, too, in all but Spark, which has none of 64 bits.
    output : str
        The name of the new column; for a VectorModel what the names of its columns begin with, ``f"{output}_{class}"``.

    Returns
    -------
    table
        The type of `table`, with the float64 column `output` after its own columns, or those of the classes; the native type of
        a table that Narwhals wraps.

    Raises
    ------
    InputError, InputTypeError
        When a column is not there or of a type that cannot be used, `output` is there already, `cell` or `tie_key` is missing
        or of no use, the table is of a kind that is not known, or the model randomises its values (delta > 0).

    Notes
    -----
    **Rows without an answer** are not an error, as a lazy table would find out too late: a row whose score is missing, NaN,
    infinite or outside the range of the model, whose cell is missing, or unknown to a set that refuses such, or whose key is
    missing or no key, gets NULL (NaN in pandas and Dask). ``model.predict`` refuses such rows.

    A row of a VectorModel has none, for any class, where an entry is missing or outside [0, 1], or they do not sum to 1 within
    1e-6 (within 1e-4 where all columns are float32).

    DuckDB and Spark get SQL (`fastbin.export.sql`) and no function of Python: nothing needs to be installed on executors.
    Polars, Dask, pandas and PyArrow call the compiled model batch by batch; Dask's workers need fastbin. Scores of float32 are
    taken as the doubles that they are, and integers beyond 2^53 as the nearest doubles; ``model.predict`` refuses those.
    Values of smooth models and of vectors use exp and log, whose last bit is the engine's own: vectors differ by less than
    1e-12 of a value. SQL has vectors of at most 50 classes; pass batches of Arrow for more.

    For sets, and for models of more than 1,000 steps, SQL looks rows up by a join, after which rows come in another order.

    For Ibis and other tables that only speak SQL, ``fastbin.export.sql`` gives the expression.

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
    request, roles = _request_of(model, score, cell, tie_key, output)
    opened = open(table)
    way, names, has_one_case = _way_of(opened), opened.names, opened.ignores_case
    _require_columns(names, ignores_case=has_one_case, **roles)
    _refuse_clash(names, output, request.outputs, ignores_case=has_one_case)
    return way(opened.native, request)


def _request_of(model: Any, score: Any, cell: Any, key: Any, output: str) -> tuple[Requested, dict[str, Any]]:
    """The request, and the columns that it reads by the argument that names each."""
    vector = as_vector_model(model)
    if vector is None:
        fitted = _check_deterministic(as_model_or_set(model))
        return Request(fitted, score, cell, key, output), {"score": score, **check_roles(fitted, cell, key)}
    for argument, name in (("cell", cell), ("tie_key", key)):
        if name is not None:
            raise InputError(f"{argument} is {name!r}, and model maps whole rows and compares no keys; leave {argument} out")
    request = VectorRequest.of(vector, score, output)
    return request, {f"score[{at}]": name for at, name in enumerate(request.read)}


# ------------------------------------------------------------------------------------------------- what is refused


def _check_deterministic(model: BinnedModel | ModelSet) -> BinnedModel | ModelSet:
    """Refuse a model that does not give the same answer to the same row."""
    for own in models_of(model):
        if own.delta > 0.0:
            raise InputError(f"model randomises its values (delta={own.delta!r}), which no engine does; fit with delta=0")
    return model


def check_roles(model: BinnedModel | ModelSet, cell: Any, key: Any) -> dict[str, Any]:
    """The columns beside the score that a model needs, by argument; one too few or too many is refused."""
    if model.is_set and cell is None:
        raise InputError("cell is missing; a set scores each row by the model of its cell, so name the column of the cells")
    if not model.is_set and cell is not None:
        raise InputError(f"cell is {cell!r}, and model is one model and no set; leave cell out, or pass the set")
    if needs_keys(model) and key is None:
        raise InputError(
            "tie_key is missing, and the model splits ties by key: name the column of the keys, or fit with ties='whole', "
            "which needs no key"
        )
    if not needs_keys(model) and key is not None:
        raise InputError(f"tie_key is {key!r}, and the model compares no keys; leave tie_key out")
    return {name: column for name, column in (("cell", cell), ("key", key)) if column is not None}


def _require_columns(names: Sequence[str], *, ignores_case: bool, **columns: str) -> None:
    """Refuse names that the table does not have."""
    for argument, column in columns.items():
        if not isinstance(column, str):
            raise InputTypeError(f"{argument} is {column!r}; pass the name of a column")
        if column not in names:
            has = ", ".join(map(repr, names))
            raise InputError(f"{argument} is {column!r}, which is not a column of the table; it has {has}")
        check_column("the table", names, column, ignores_case=ignores_case)


def _refuse_clash(names: Sequence[str], output: str, new: Sequence[str], *, ignores_case: bool) -> None:
    if not isinstance(output, str) or not output:
        raise InputTypeError(f"output is {output!r}; pass a name for the new column")

    def form(name: str) -> str:
        return name.casefold() if ignores_case else name

    known = {form(name): name for name in names}
    same = next((known[form(name)] for name in new if form(name) in known), None)
    if same is not None:
        raise InputError(f"output is {output!r}, and the table has a column {same!r} already; pass another name")
    if len(set(map(form, new))) < len(new):
        raise InputError("model has classes whose names differ in their case alone, which are one column in this engine")


# ------------------------------------------------------------------------------------------------- tables


def _answers(request: Requested, columns: dict[str, Any]) -> dict[str, Float64s]:
    """The new columns from those of `request.read`, of pandas, Polars or Arrow."""
    return request.answers({name: as_arrow(column) for name, column in columns.items()})


def _predict_polars(frame: Any, request: Requested) -> Any:
    pl, schema = polars(), frame.collect_schema()
    _answers(request, {name: pl.Series(dtype=schema[name]) for name in request.read})  # refuses types now, and not in a query
    return request.in_polars(frame)


def polars_expression(model: Any, score: Any, cell: Any, key: Any) -> Any:
    """One expression over those of the columns, so that the engine reads no others for it and may work in batches.

    It has the name of the score; cell and key are None where the model needs none.
    """
    with needed_for("expressions of Polars", package="polars"):
        import polars as pl

    fitted, others = _check_deterministic(as_model_or_set(model)), check_roles(as_model_or_set(model), cell, key)
    request = Request(fitted, "score", "cell" if "cell" in others else None, "key" if "key" in others else None)

    def values(rows: Any) -> Any:
        fields = rows.struct.unnest().get_columns()
        if len(fields) != len(request.read):
            raise InputError(f"an expression gives {len(fields) - len(others)} columns of scores; give one for each column")
        columns = dict(zip(request.read, fields, strict=True))
        return pl.Series(fields[0].name, _answers(request, columns)[OUTPUT], nan_to_null=True)

    columns = [score, *(column.alias(f"fastbin_{name}_{uuid4().hex}") for name, column in others.items())]
    return pl.struct(columns).map_batches(values, return_dtype=pl.Float64, is_elementwise=True)


def _predict_pandas(frame: Any, request: Requested) -> Any:
    return frame.assign(**_answers(request, {name: frame[name] for name in request.read}))


def _predict_dask(frame: Any, request: Requested) -> Any:
    return frame.map_partitions(_predict_pandas, request, meta=_predict_pandas(frame._meta, request))


def _predict_arrow(table: Any, request: Requested) -> Any:
    for name, column in _arrow_columns(table, request).items():
        table = table.append_column(name, column)
    return table


def _arrow_columns(table: Any, request: Requested) -> dict[str, Any]:
    """The new columns of a table or a batch, null for rows without an answer."""
    answers = _answers(request, {name: table.column(name) for name in request.read})
    return {name: pyarrow().array(values, from_pandas=True) for name, values in answers.items()}


def _predict_stream(source: Any, request: Requested) -> Any:
    pa = pyarrow()
    reader = source if hasattr(source, "read_next_batch") else source.scanner().to_reader()

    def batches() -> Iterator[Any]:
        for batch in reader:
            yield pa.RecordBatch.from_arrays([*batch.columns, *_arrow_columns(batch, request).values()], schema=schema)

    schema = pa.schema([*reader.schema, *(pa.field(name, pa.float64()) for name in request.outputs)], reader.schema.metadata)
    return pa.RecordBatchReader.from_batches(schema, batches())


def _predict_sql(table: Any, request: Requested) -> Any:
    return request.in_sql(sql_table(table)).native


_PREDICT: dict[tuple[str, str], Callable[[Any, Requested], Any]] = {
    ("duckdb", "DuckDBPyRelation"): _predict_sql,
    ("pyspark", "DataFrame"): _predict_sql,
    ("polars", "LazyFrame"): _predict_polars,
    ("polars", "DataFrame"): _predict_polars,
    ("dask", "DataFrame"): _predict_dask,
    ("dask_expr", "DataFrame"): _predict_dask,
    ("pandas", "DataFrame"): _predict_pandas,
    ("pyarrow", "Table"): _predict_arrow,
    ("pyarrow", "RecordBatch"): _predict_arrow,
    ("pyarrow", "Dataset"): _predict_stream,
    ("pyarrow", "RecordBatchReader"): _predict_stream,
}


def _way_of(opened: Opened) -> Callable[[Any, Requested], Any]:
    """The function for a table, by the names of its classes, so that nothing is imported for the question."""
    table = opened.native
    for base in type(table).__mro__:
        found = _PREDICT.get((base.__module__.partition(".")[0].lstrip("_"), base.__name__))
        if found is not None:
            return found
    if opened.is_path:
        raise InputError(
            f"table is the path {str(table)!r}; open it first, as by duckdb.read_parquet, or use `fastbin predict`"
        )
    name = f"{type(table).__module__.partition('.')[0]}.{type(table).__name__}"
    raise InputTypeError(
        f"table is of type {name}; pass a DuckDB relation, a frame of Polars, Dask, pandas or PySpark, or a PyArrow table; "
        "export.sql gives the expression for whatever else reads SQL"
    )


# ------------------------------------------------------------------------------------------------- rows that come to the model

# One rule for all engines: a row that has no answer kills no query. It gets none, and whoever counts rows is told why.


# Why a row has no answer; 0 where it has one.
NO_SCORE, OUTSIDE, UNKNOWN, NO_KEY = 1, 2, 3, 4
N_REASONS = 5

_DIGITS = np.full(256, 16, np.uint8)
_DIGITS[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)


class CheckedRows(NamedTuple):
    """Rows as a model takes them. Where one has no answer, its score and key are any that have."""

    scores: Float64s
    keys: UInt64s | None
    numbers: Int32s | None  # of the model of each row of a set; -1 is the pool
    reasons: UInt8s

    @property
    def answered(self) -> Bools:
        return self.reasons == 0

    def predict(self, model: BinnedModel | ModelSet) -> Float64s:
        """float64 (n,): the values, NaN for rows without an answer."""
        if model.is_set:
            assert self.numbers is not None
            values = model._predict_by(self.numbers, self.scores, self.keys)
        else:
            values = model._predict_by(self.scores, self.keys)
        values = np.asarray(values, np.float64)
        values[~self.answered] = np.nan
        return values

    def assign(self, model: BinnedModel | ModelSet) -> Int64s:
        """int64 (n,): the bins, those of a set counted on over its models; -1 for rows of a pool that no bin is told of.

        Rows without an answer have the bin of the score that stands for theirs; look at `reasons` first.
        """
        if model.is_set:
            assert self.numbers is not None
            own = model._assign_by(self.numbers, self.scores, self.keys)
            return np.where(self.numbers < 0, -1, model.first_bin[self.numbers] + own)
        return np.asarray(model._assign_by(self.scores, self.keys), np.int64)


def check_rows(model: BinnedModel | ModelSet, scores: Any, cells: Any = None, keys: Any = None) -> CheckedRows:
    """Columns of Arrow as a model takes them; O(n), a text of a dictionary is looked at once.

    Nulls are scores that are missing. The cells of a set are integers, texts or a dictionary of these; keys are unsigned
    integers, or texts of 16 lower-case hexadecimal digits.
    """
    column = _floats(scores)
    with np.errstate(invalid="ignore"):
        missing = np.isnan(column)
        numbers, known = (None, None) if cells is None else _find_models(model, cells)
        low, high, fallback = _ranges(model, numbers, known)
        inside = (column >= low) & (column <= high)
    reasons = np.where(missing, NO_SCORE, np.where(inside, 0, OUTSIDE)).astype(np.uint8)
    key_array = None
    if keys is not None:
        key_array, has_key = _key_array(keys)
        reasons[(reasons == 0) & ~has_key] = NO_KEY
    if known is not None:
        reasons[(reasons == 0) & ~known] = UNKNOWN
    return CheckedRows(np.where(reasons == 0, column, fallback), key_array, numbers, reasons)


def models_of(model: BinnedModel | ModelSet) -> list[BinnedModel]:
    """One model, or those of a set."""
    return [own for _, own in model.numbered]


def _ranges(model: BinnedModel | ModelSet, numbers: Int32s | None, known: Bools | None) -> tuple[Any, Any, Any]:
    """Where the scores of rows must lie, in any model of a set where their own is not known, and a score for each that does."""
    if isinstance(model, BinnedModel):
        low, high, _ = answered_range(model)
        return low, high, min(max(low, 0.0), high)
    ends = np.array([answered_range(own)[:2] for own in models_of(model)])
    lows, highs = ends[numbers].T  # the pool is number -1, and the last
    if known is not None and not known.all():
        lows, highs = np.where(known, lows, ends[:, 0].min()), np.where(known, highs, ends[:, 1].max())
    return lows, highs, np.minimum(np.maximum(lows, 0.0), highs)


def as_arrow(column: Any) -> Any:
    """A column of pandas, Polars or Arrow as one Arrow array; NaN of pandas stays NaN or becomes null, which are one here."""
    pa = pyarrow()
    if hasattr(column, "to_arrow"):
        column = from_polars(column)
    elif not isinstance(column, (pa.Array, pa.ChunkedArray)):
        try:
            column = pa.Array.from_pandas(natively(column))
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise InputTypeError(f"the column {column.name!r} holds values of several types: {error}") from error
        except pa.ArrowNotImplementedError as error:
            raise InputTypeError(
                f"the column {column.name!r} is of type {column.dtype}, which PyArrow has not: {error}"
            ) from error
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _floats(column: Any) -> Float64s:
    """Scores as float64, NaN for nulls."""
    return scores_of(as_plain(column), "score").astype(np.float64, copy=False)


def _find_models(models: Any, cells: Any) -> tuple[Int32s, Bools]:
    """The number of the model of each row (-1: the pool), and whether it has one; an empty text is a cell that is missing."""
    cells = with_integers(cells)
    pa, kind = pyarrow(), cells.type
    try:
        coded = cells if pa.types.is_dictionary(kind) else cells.dictionary_encode()
    except pa.ArrowNotImplementedError:
        raise InputTypeError(_bad_cell(models, "a column", kind)) from None
    texts = coded.dictionary.to_pylist()
    wanted = int if isinstance(models.cells[0], int) else str
    found = np.full(len(texts) + 1, -1, np.int32)
    for at, text in enumerate(texts):
        if text is not None and (not isinstance(text, wanted) or isinstance(text, bool)):
            raise InputTypeError(_bad_cell(models, "a column", kind))
        found[at] = models._find_one(text) if text in models else -1
    codes = np.asarray(coded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False))
    numbers = found[codes]
    is_missing = np.array([*(text in (None, "") for text in texts), True])[codes]
    if models.unknown == "pool":
        return numbers, ~is_missing
    known = numbers >= 0
    return np.where(known, numbers, 0).astype(np.int32), known


def _key_array(keys: Any) -> tuple[UInt64s, Bools]:
    """Tie keys, and whether each row has one."""
    pa, kind = pyarrow(), keys.type
    present = np.asarray(keys.is_valid().to_numpy(zero_copy_only=False), np.bool_)
    if is_text(kind):
        numbers, valid = keys_of_digits(keys.fill_null("").to_numpy(zero_copy_only=False))
        present &= valid
    elif pa.types.is_unsigned_integer(kind):
        numbers = np.asarray(keys.fill_null(0).to_numpy(zero_copy_only=False)).astype(np.uint64)
    else:
        raise _bad_key("a column", kind)
    return np.where(present, numbers, np.uint64(0)), present


def keys_of_digits(texts: Array) -> tuple[UInt64s, Bools]:
    """The numbers that texts of 16 lower-case hexadecimal digits stand for, and which texts are so."""
    wide = np.array(texts, dtype=f"U{KEY_DIGITS + 1}") if len(texts) else np.empty(0, f"U{KEY_DIGITS + 1}")
    points: npt.NDArray[np.uint32] = wide.view(np.uint32).reshape(-1, KEY_DIGITS + 1)
    digits = _DIGITS[np.minimum(points[:, :KEY_DIGITS], 255)]
    valid = (digits < 16).all(axis=1) & (points[:, KEY_DIGITS] == 0)
    packed = np.ascontiguousarray((digits[:, ::2] << 4) | (digits[:, 1::2] & 15), np.uint8)
    return packed.view(">u8").ravel().astype(np.uint64), np.asarray(valid, np.bool_)


# ------------------------------------------------------------------------------------------------- answers by SQL


def with_answer(table: SqlTable, request: Request, what: str) -> SqlTable:
    """The table with one more column, the last: the "value" of each row, or its "bin"; NULL for rows without an answer.

    A model of up to 1,000 steps is one expression. Sets, and models of more steps, are looked up in tables of steps that the
    query holds in itself, as VALUES.
    """
    check_types(table, request)
    model, score, cell, key, output = request
    kinds, engine = table.types, table.engine
    if isinstance(model, BinnedModel) and (model.kind != "step" or model.n_steps <= MOST_STEPS):
        digits = key and _digits(kinds[key], table.quoted(key))
        return table.with_column(sql(model, table.quoted(score), tie_key=digits, dialect=engine, what=what), output)
    safe = table.safe_names
    digits = key and _digits(kinds[key], safe[key])
    if isinstance(model, BinnedModel):
        tables = sql(model, safe[score], tie_key=digits, dialect=engine, what=what, style="join", source=SOURCE)
    else:
        assert cell is not None
        of_bytes = by_bytes(safe[cell], table.full_types[cell])
        tables = sql_set(model, safe[score], cell=of_bytes, tie_key=digits, dialect=engine, what=what, source=SOURCE)
    assert isinstance(tables, SqlTables)
    return table.with_answers(tables.query_of_values, [output])


def check_types(table: SqlTable, request: Request) -> None:
    """Refuse columns that the engine would convert silently to something else."""
    (model, score, cell, key, _), kinds = request, table.types
    if kinds[score] not in (*NUMBERS, *BOOLEANS):
        raise InputTypeError(f"score is {score!r}, a column of type {kinds[score]}", CAST_SCORES)
    if model.is_set and cell is not None:
        _require_cells(model, cell, table.full_types[cell])
    if key is not None and kinds[key] not in (*TEXTS, *UNSIGNED):
        raise _bad_key(f"{key!r}, a column", kinds[key], has_unsigned=table.engine == "duckdb")


def _digits(kind: str, expression: str) -> str:
    """The key as a text of 16 hexadecimal digits."""
    return expression if kind in TEXTS else f"lpad(lower(to_hex({expression})), {KEY_DIGITS}, '0')"


def _bad_key(column: str, kind: Any, *, has_unsigned: bool = True) -> InputTypeError:
    """The error of a column of keys, which is called so in the message, of another type."""
    unsigned = "unsigned integers below 2**64 - 1, or " if has_unsigned else ""
    return InputTypeError(
        f"tie_key is {column} of type {kind}; keys are {unsigned}texts of {KEY_DIGITS} lower-case hexadecimal digits: "
        "format(key, '016x')"
    )


def _bad_cell(models: ModelSet, column: str, kind: Any) -> str:
    """The message for a column of cells, which is called so in it, of another type than the keys of the set."""
    words = "texts" if isinstance(models.cells[0], str) else "integers"
    return (
        f"cell is {column} of type {kind}, and the keys of this set are {words}, such as {models.cells[0]!r}; give a column of "
        "such keys"
    )


def _require_cells(models: ModelSet, column: str, full: str) -> None:
    kind = full.partition("(")[0].partition(" collate")[0]
    is_text, is_integer = kind in (*TEXTS, "ENUM"), is_whole(full) and kind not in BOOLEANS
    if not (is_text if isinstance(models.cells[0], str) else is_integer) and kind != '"NULL"':
        raise InputTypeError(_bad_cell(models, f"{column!r}, a column", kind))
