"""SQL over relations of DuckDB and frames of Spark: one more column, with an answer of a model to each row.

A model of up to 1,000 steps is one expression. Sets, and models of more steps, are looked up in tables of steps that the query
holds in itself, as VALUES: nothing is created in the database.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, NamedTuple, NoReturn
from uuid import uuid4

import numpy as np

from fastbin._errors import InputTypeError
from fastbin._weights import MOST_SAMPLES
from fastbin.engines.scoring import KEY_DIGITS
from fastbin.export.dialects import DIALECTS
from fastbin.export.expressions import MOST_STEPS
from fastbin.export.lookup import SqlTables
from fastbin.export.sql import sql
from fastbin.export.sql_set import sql_set
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet

# Types in the words of both engines: DuckDB writes them in capitals.
NUMBERS = (
    "DOUBLE", "FLOAT", "REAL", "DECIMAL", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT",
    "UINTEGER", "UBIGINT", "UHUGEINT", "double", "float", "decimal", "tinyint", "smallint", "int", "bigint",
)  # fmt: skip
UNSIGNED = ("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
TEXTS = ("VARCHAR", "string")
# Which integers of 64 bits hold.
INTEGERS = (
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "tinyint", "smallint", "int", "bigint",
)  # fmt: skip

# Which are integers, too, such as the sum of a column of them; greater ones than 64 bits hold are refused by their value.
WIDE_INTEGERS = ("UBIGINT", "HUGEINT", "UHUGEINT")
BOOLEANS = ("BOOLEAN", "boolean")

# The rows of a query over tables, whose columns have names that clash with none of its own.
SOURCE = "fastbin_rows"


class Columns(NamedTuple):
    """The columns that a model reads."""

    score: str
    cell: str | None
    key: str | None


def in_quotes(name: str, engine: str) -> str:
    """A name of a column, whatever is in it."""
    mark = "`" if engine == "spark" else '"'
    return f"{mark}{name.replace(mark, 2 * mark)}{mark}"


def type_names(table: Any, engine: str) -> dict[str, str]:
    """The types of all columns in the engine's words."""
    return {name: kind.partition("(")[0] for name, kind in full_type_names(table, engine).items()}


def full_type_names(table: Any, engine: str) -> dict[str, str]:
    """The same with their parameters, as in "decimal(9,0)"."""
    if engine == "spark":
        return {field.name: field.dataType.simpleString() for field in table.schema.fields}
    return {name: str(kind) for name, kind in zip(table.columns, table.types, strict=True)}


def is_whole(kind: str) -> bool:
    """Whether a type, in full, is one of whole numbers, or of booleans, which count as 0 and 1."""
    name, _, digits = kind.partition("(")
    return name in (*INTEGERS, *WIDE_INTEGERS, *BOOLEANS) or (name.lower() == "decimal" and digits.endswith(",0)"))


def plain(table: Any, names: Iterable[str], engine: str, *, weight: str | None = None) -> Any:
    """These columns of a table, of values that are compared and grouped as themselves.

    Texts are by their bytes, whatever the collation of the column, or of the session. Values of an ENUM are texts. The column
    of weights, if its numbers are whole, is a BIGINT, in which what is more than all samples may be is a little more than that.
    """
    kinds = full_type_names(table, engine)
    chosen = {name: _by_bytes(in_quotes(name, engine), kinds[name]) for name in names}
    if weight is not None and is_whole(kinds[weight]) and kinds[weight] not in INTEGERS:
        number = in_quotes(weight, engine)
        number = f"CAST({number} AS INT)" if kinds[weight] in BOOLEANS else number
        # The next number is no double.
        chosen[weight] = f"CASE WHEN {number} > {MOST_SAMPLES} THEN {MOST_SAMPLES + 2} ELSE CAST({number} AS BIGINT) END"
    return selected(table, chosen, engine)


def _by_bytes(expression: str, kind: str) -> str:
    if kind.startswith("ENUM("):
        return DIALECTS["duckdb"].bytewise.format(f"CAST({expression} AS VARCHAR)")
    if kind == "VARCHAR":
        return DIALECTS["duckdb"].bytewise.format(expression)
    # Spark says so of all collations but that by bytes.
    return f"{expression} COLLATE UTF8_BINARY" if kind.startswith("string collate") else expression


def spark_functions(frame: Any) -> Any:
    """The functions of Spark for a frame, classic or Connect."""
    if ".connect." in type(frame).__module__:
        from pyspark.sql.connect import functions
    else:
        from pyspark.sql import functions
    return functions


def with_answer(table: Any, model: BinnedModel | ModelSet, columns: Columns, what: str, output: str, engine: str) -> Any:
    """The table with one more column, the last: the value of each row, or its bin; NULL for rows without an answer.

    Parameters
    ----------
    table : relation of DuckDB, frame of Spark
    model : BinnedModel or ModelSet
    columns : Columns
    what : {"value", "bin"}
    output : str
        The name of the new column.
    engine : {"duckdb", "spark"}

    Raises
    ------
    InputTypeError
        For columns of types that an engine would convert silently.
    """
    check_types(table, model, columns, engine)
    kinds = type_names(table, engine)
    if isinstance(model, BinnedModel) and (model.kind != "step" or model.n_steps <= MOST_STEPS):
        score = in_quotes(columns.score, engine)
        key = columns.key and _digits(kinds[columns.key], in_quotes(columns.key, engine))
        return _with_column(table, sql(model, score, key=key, dialect=engine, what=what), output, engine)
    names = list(table.columns)
    safe = dict(zip(names, (f"fastbin_column_{number}" for number in range(len(names))), strict=True))
    key = columns.key and _digits(kinds[columns.key], safe[columns.key])
    if isinstance(model, BinnedModel):
        tables = sql(model, safe[columns.score], key=key, dialect=engine, what=what, style="join", source=SOURCE)
    else:
        assert columns.cell is not None
        cell = _by_bytes(safe[columns.cell], full_type_names(table, engine)[columns.cell])
        tables = sql_set(model, safe[columns.score], cell=cell, key=key, dialect=engine, what=what, source=SOURCE)
    assert isinstance(tables, SqlTables)
    return _looked_up(table, tables, list(safe.values()), [*names, output], engine)


def check_types(table: Any, model: BinnedModel | ModelSet, columns: Columns, engine: str) -> None:
    """Refuse columns that the engine would convert silently to something else."""
    kinds = type_names(table, engine)
    if kinds[columns.score] not in (*NUMBERS, *BOOLEANS):
        raise InputTypeError(f"score is {columns.score!r}, a column of type {kinds[columns.score]}; scores are numbers")
    if isinstance(model, ModelSet) and columns.cell is not None:
        kind = kinds[columns.cell]
        _require_cells(model, columns.cell, "VARCHAR" if kind == "ENUM" else kind.partition(" collate")[0])
    if columns.key is not None and kinds[columns.key] not in (*TEXTS, *UNSIGNED):
        _refuse_key(columns.key, kinds[columns.key], engine)


def _digits(kind: str, expression: str) -> str:
    """The key as a text of 16 hexadecimal digits."""
    return expression if kind in TEXTS else f"lpad(lower(to_hex({expression})), {KEY_DIGITS}, '0')"


def _refuse_key(column: str, kind: str, engine: str) -> NoReturn:
    unsigned = "unsigned integers below 2**64 - 1, or " if engine == "duckdb" else ""
    raise InputTypeError(
        f"key is {column!r}, a column of type {kind}; keys are {unsigned}texts of {KEY_DIGITS} lower-case hexadecimal digits: "
        "format(key, '016x')"
    )


def _require_cells(models: ModelSet, column: str, kind: str) -> None:
    has_text = isinstance(models.keys[0], str)
    if (kind in TEXTS) == has_text and (has_text or kind not in ("DOUBLE", "FLOAT", "double", "float", *BOOLEANS)):
        return
    words = "texts" if has_text else "integers"
    raise InputTypeError(
        f"cell is {column!r}, a column of type {kind}, and the keys of this set are {words}, such as {models.keys[0]!r}; give "
        "a column of such keys"
    )


def _with_column(table: Any, expression: str, name: str, engine: str) -> Any:
    if engine == "spark":
        return table.select("*", spark_functions(table).expr(expression).alias(name))
    return table.project(f"*, {expression} AS {in_quotes(name, engine)}")


def _looked_up(table: Any, tables: SqlTables, safe: list[str], names: list[str], engine: str) -> Any:
    """The rows of a query over `SOURCE`; `safe` are its columns there, `names` those of the result."""
    chosen = {short: in_quotes(name, engine) for short, name in zip(safe, names, strict=False)}
    found = run_over(selected(table, chosen, engine), tables.query_of_values, engine)
    return selected(found, dict(zip(names, (in_quotes(short, engine) for short in found.columns), strict=True)), engine)


def selected(table: Any, expressions: dict[str, str], engine: str) -> Any:
    """The table with these expressions as its columns, by name."""
    if engine == "spark":
        functions = spark_functions(table)
        return table.select(*(functions.expr(expression).alias(name) for name, expression in expressions.items()))
    return table.project(", ".join(f"{expression} AS {in_quotes(name, engine)}" for name, expression in expressions.items()))


def run_over(table: Any, query: str, engine: str) -> Any:
    """A query whose rows are ``FROM fastbin_rows AS s``, as a table of the engine."""
    if engine == "spark":
        text = query.replace("{", "{{").replace("}", "}}").replace(f"FROM {SOURCE} AS", f"FROM {{{SOURCE}}} AS")
        return table.sparkSession.sql(text, **{SOURCE: table})
    own = f"{SOURCE}_{uuid4().hex}"  # which no table of the user has
    return table.query(own, query.replace(f"FROM {SOURCE} AS", f"FROM {own} AS"))


def fetched(table: Any, engine: str) -> list[Any]:
    """All rows, which are few."""
    return list(table.collect() if engine == "spark" else table.fetchall())


def literal(value: Any, engine: str) -> str:
    """A value of a column as a constant."""
    words = DIALECTS[engine]
    if isinstance(value, str):
        return words.text(value)
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if not isinstance(value, (int, float, np.integer, np.floating, Decimal)):
        raise InputTypeError(f"{value!r} is of type {type(value).__name__}; in SQL texts, numbers and booleans are compared")
    return words.number(float(value)) if isinstance(value, (float, np.floating)) else str(value)
