"""SQL over relations of DuckDB and frames of Spark, among it one more column with an answer of a model to each row.

A model of up to 1,000 steps is one expression. Sets, and models of more steps, are looked up in tables of steps that the query
holds in itself, as VALUES: nothing is created in the database.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn
from uuid import uuid4

import numpy as np

from fastbin._base.checks import MOST_SAMPLES
from fastbin._base.errors import InputTypeError
from fastbin.engines.scoring import KEY_DIGITS
from fastbin.engines.tables import package_of
from fastbin.export.dialects import DIALECTS, MOST_STEPS, Dialect
from fastbin.export.lookup import SqlTables
from fastbin.export.sql import sql, sql_set
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet

if TYPE_CHECKING:
    from typing_extensions import Self

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


def sql_table(table: Any) -> SqlTable:
    """A relation of DuckDB or a frame of Spark as what SQL is run over."""
    return DuckDBTable(table) if package_of(table) == "duckdb" else SparkTable(table)


class SqlTable:
    """A table in an engine that SQL is run over. The subclasses say how, each in the terms of its engine."""

    engine: str
    mark: str  # around names
    integer_division: str  # of two expressions
    broadcast: str  # asks the engine to send a small table to where the rows are

    def __init__(self, native: Any) -> None:
        self.native = native

    @property
    def words(self) -> Dialect:
        """The words of the engine."""
        return DIALECTS[self.engine]

    @cached_property
    def full_types(self) -> dict[str, str]:
        """The types of all columns in the engine's words, with their parameters, as in "decimal(9,0)"."""
        raise NotImplementedError

    @property
    def types(self) -> dict[str, str]:
        """The same without their parameters."""
        return {name: kind.partition("(")[0] for name, kind in self.full_types.items()}

    def quoted(self, name: str) -> str:
        """A name of a column, whatever is in it."""
        return f"{self.mark}{name.replace(self.mark, 2 * self.mark)}{self.mark}"

    def literal(self, value: Any) -> str:
        """A value of a column as a constant."""
        if isinstance(value, str):
            return self.words.text(value)
        if isinstance(value, (bool, np.bool_)):
            return str(bool(value)).lower()
        if not isinstance(value, (int, float, np.integer, np.floating, Decimal)):
            kind = type(value).__name__
            raise InputTypeError(f"{value!r} is of type {kind}; in SQL texts, numbers and booleans are compared")
        return self.words.number(float(value)) if isinstance(value, (float, np.floating)) else str(value)

    def selected(self, expressions: dict[str, str]) -> Self:
        """The table with these expressions as its columns, by name."""
        return self._project(self._named(expressions))

    def with_column(self, expression: str, name: str) -> Self:
        """The table with one more column, the last."""
        return self._project(["*", *self._named({name: expression})])

    def filtered(self, condition: str) -> Self:
        """The rows for which a condition holds."""
        return type(self)(self.native.filter(condition))

    def _named(self, expressions: dict[str, str]) -> list[str]:
        return [f"{expression} AS {self.quoted(name)}" for name, expression in expressions.items()]

    def _project(self, columns: list[str]) -> Self:
        raise NotImplementedError

    def groups_of(self, keys: list[str], sums: dict[str, str]) -> list[Any]:
        """A row for each group of equal keys: these, and expressions of its rows."""
        raise NotImplementedError

    def run(self, query: str) -> Self:
        """A query whose rows are ``FROM fastbin_rows AS s``, as a table of the engine."""
        raise NotImplementedError

    def fetched(self) -> list[Any]:
        """All rows, which are few."""
        raise NotImplementedError

    def plain(self, names: Iterable[str], *, weight: str | None = None) -> Self:
        """These columns, of values that are compared and grouped as themselves.

        Texts are by their bytes, whatever the collation of the column, or of the session. Values of an ENUM are texts. The
        column of weights, if its numbers are whole, is a BIGINT, in which what is more than all samples may be is a little more
        than that.
        """
        kinds = self.full_types
        chosen = {name: _by_bytes(self.quoted(name), kinds[name]) for name in names}
        if weight is not None and is_whole(kinds[weight]) and kinds[weight] not in INTEGERS:
            number = self.quoted(weight)
            number = f"CAST({number} AS INT)" if kinds[weight] in BOOLEANS else number
            # The next number is no double.
            chosen[weight] = f"CASE WHEN {number} > {MOST_SAMPLES} THEN {MOST_SAMPLES + 2} ELSE CAST({number} AS BIGINT) END"
        return self.selected(chosen)


class DuckDBTable(SqlTable):
    """A relation."""

    engine, mark = "duckdb", '"'
    integer_division, broadcast = "({}) // ({})", ""

    @cached_property
    def full_types(self) -> dict[str, str]:
        return {name: str(kind) for name, kind in zip(self.native.columns, self.native.types, strict=True)}

    def _project(self, columns: list[str]) -> Self:
        return type(self)(self.native.project(", ".join(columns)))

    def groups_of(self, keys: list[str], sums: dict[str, str]) -> list[Any]:
        return list(self.native.aggregate(", ".join([*keys, *self._named(sums)]), ", ".join(keys)).fetchall())

    def run(self, query: str) -> Self:
        own = f"{SOURCE}_{uuid4().hex}"  # which no table of the user has
        return type(self)(self.native.query(own, query.replace(f"FROM {SOURCE} AS", f"FROM {own} AS")))

    def fetched(self) -> list[Any]:
        return list(self.native.fetchall())


class SparkTable(SqlTable):
    """A data frame, classic or Connect."""

    engine, mark = "spark", "`"
    integer_division, broadcast = "(({}) div ({}))", "/*+ BROADCAST({}) */ "

    @cached_property
    def functions(self) -> Any:
        """The functions of Spark for this frame."""
        if ".connect." in type(self.native).__module__:
            from pyspark.sql.connect import functions
        else:
            from pyspark.sql import functions
        return functions

    @cached_property
    def full_types(self) -> dict[str, str]:
        return {field.name: field.dataType.simpleString() for field in self.native.schema.fields}

    def _project(self, columns: list[str]) -> Self:
        return type(self)(self.native.selectExpr(*columns))

    def groups_of(self, keys: list[str], sums: dict[str, str]) -> list[Any]:
        return list(self.native.groupBy(*keys).agg(*map(self.functions.expr, self._named(sums))).collect())

    def run(self, query: str) -> Self:
        text = query.replace("{", "{{").replace("}", "}}").replace(f"FROM {SOURCE} AS", f"FROM {{{SOURCE}}} AS")
        return type(self)(self.native.sparkSession.sql(text, **{SOURCE: self.native}))

    def fetched(self) -> list[Any]:
        return list(self.native.collect())


def is_whole(kind: str) -> bool:
    """Whether a type, in full, is one of whole numbers, or of booleans, which count as 0 and 1."""
    name, _, digits = kind.partition("(")
    return name in (*INTEGERS, *WIDE_INTEGERS, *BOOLEANS) or (name.lower() == "decimal" and digits.endswith(",0)"))


def _by_bytes(expression: str, kind: str) -> str:
    if kind.startswith("ENUM("):
        return DIALECTS["duckdb"].bytewise.format(f"CAST({expression} AS VARCHAR)")
    if kind == "VARCHAR":
        return DIALECTS["duckdb"].bytewise.format(expression)
    # Spark says so of all collations but that by bytes.
    return f"{expression} COLLATE UTF8_BINARY" if kind.startswith("string collate") else expression


def with_answer(table: SqlTable, model: BinnedModel | ModelSet, columns: Columns, what: str, output: str) -> SqlTable:
    """The table with one more column, the last: the value of each row, or its bin; NULL for rows without an answer.

    Parameters
    ----------
    table : SqlTable
    model : BinnedModel or ModelSet
    columns : Columns
    what : {"value", "bin"}
    output : str
        The name of the new column.

    Raises
    ------
    InputTypeError
        For columns of types that an engine would convert silently.
    """
    check_types(table, model, columns)
    kinds, engine = table.types, table.engine
    if isinstance(model, BinnedModel) and (model.kind != "step" or model.n_steps <= MOST_STEPS):
        score = table.quoted(columns.score)
        key = columns.key and _digits(kinds[columns.key], table.quoted(columns.key))
        return table.with_column(sql(model, score, key=key, dialect=engine, what=what), output)
    names = list(kinds)
    safe = dict(zip(names, (f"fastbin_column_{number}" for number in range(len(names))), strict=True))
    key = columns.key and _digits(kinds[columns.key], safe[columns.key])
    if isinstance(model, BinnedModel):
        tables = sql(model, safe[columns.score], key=key, dialect=engine, what=what, style="join", source=SOURCE)
    else:
        assert columns.cell is not None
        cell = _by_bytes(safe[columns.cell], table.full_types[columns.cell])
        tables = sql_set(model, safe[columns.score], cell=cell, key=key, dialect=engine, what=what, source=SOURCE)
    assert isinstance(tables, SqlTables)
    return _looked_up(table, tables, safe, output)


def check_types(table: SqlTable, model: BinnedModel | ModelSet, columns: Columns) -> None:
    """Refuse columns that the engine would convert silently to something else."""
    kinds = table.types
    if kinds[columns.score] not in (*NUMBERS, *BOOLEANS):
        raise InputTypeError(f"score is {columns.score!r}, a column of type {kinds[columns.score]}; scores are numbers")
    if isinstance(model, ModelSet) and columns.cell is not None:
        kind = kinds[columns.cell]
        _require_cells(model, columns.cell, "VARCHAR" if kind == "ENUM" else kind.partition(" collate")[0])
    if columns.key is not None and kinds[columns.key] not in (*TEXTS, *UNSIGNED):
        _refuse_key(columns.key, kinds[columns.key], table.engine)


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


def _looked_up(table: SqlTable, tables: SqlTables, safe: dict[str, str], output: str) -> SqlTable:
    """The rows of a query over `SOURCE`, in which columns have safe names."""
    found = table.selected({short: table.quoted(name) for name, short in safe.items()}).run(tables.query_of_values)
    names = [*safe, output]
    return found.selected(dict(zip(names, map(found.quoted, found.native.columns), strict=True)))
