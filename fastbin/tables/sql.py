"""Tables in engines that SQL is run over: relations of DuckDB, and frames of Spark, classic and Connect.

Nothing is installed on executors, and nothing is created in a database. What comes back are groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from fastbin._base.array_types import Array
from fastbin._base.checks import MOST_SAMPLES
from fastbin._base.errors import InputError, InputTypeError
from fastbin.export.dialects import DIALECTS, Dialect
from fastbin.tables.frames import BOOLEAN, FLOAT, INTEGER, TEXT
from fastbin.tables.opening import package_of
from fastbin.tables.table import pyarrow, unwrapped

if TYPE_CHECKING:
    from typing_extensions import Self

# Types in the words of both engines: DuckDB writes them in capitals. First integers that 64 bits hold; the wide ones, such as
# the sum of a column of integers, are refused by their value where it is greater.
INTEGERS = (
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "tinyint", "smallint", "int", "bigint",
)  # fmt: skip
WIDE_INTEGERS = ("UBIGINT", "HUGEINT", "UHUGEINT")
FLOATS = ("DOUBLE", "FLOAT", "REAL", "DECIMAL", "double", "float", "decimal")
NUMBERS = (*FLOATS, *INTEGERS, *WIDE_INTEGERS)
UNSIGNED = ("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
TEXTS = ("VARCHAR", "string")
BOOLEANS = ("BOOLEAN", "boolean")

# The rows of a query over tables, whose columns have names that clash with none of its own.
SOURCE = "fastbin_rows"

# A partition of Spark sends no more than 1 MB to others: as they are compressed, a cell takes 31 bytes, and a score that is
# listed 14, or 17 among many intervals. The scores that a query lists come from all partitions together.
CELLS_OF_A_PARTITION, VALUES_OF_A_PARTITION, MOST_VALUES = 3 * 2**13, 13 * 2**12, 2**19


def _operator(sign: str) -> Callable[[Expression, Any], Expression]:
    return lambda expression, other: expression._joined(sign, other)


@dataclass(frozen=True, eq=False)
class Expression:
    """An expression of SQL as text; operators make longer ones."""

    text: str
    words: Dialect

    def _joined(self, operator: str, other: Any) -> Expression:
        if isinstance(other, Expression):
            right = other.text
        elif isinstance(other, bytes):
            right = f"unhex('{other.hex()}')"
        elif isinstance(other, (date, time)):
            kind = "TIMESTAMP" if isinstance(other, datetime) else type(other).__name__.upper()
            right = f"CAST({self.words.text(str(other))} AS {kind})"
        else:
            right = constant(other, self.words)
        return Expression(f"({self.text} {operator} {right})", self.words)

    __add__, __sub__, __mul__ = map(_operator, "+-*")
    __gt__, __ge__, __lt__, __le__ = map(_operator, (">", ">=", "<", "<="))
    __and__, __or__ = map(_operator, ("AND", "OR"))
    __eq__ = _operator("=")  # type: ignore[assignment]

    def __invert__(self) -> Expression:
        return self.within("(NOT {})")

    def within(self, template: str) -> Expression:
        """The expression in the place of the braces."""
        return Expression(template.format(self.text), self.words)


def constant(value: Any, words: Dialect) -> str:
    """A text, a number or a boolean as a constant."""
    if isinstance(value, str):
        return words.text(value)
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if not isinstance(value, (int, float, np.integer, np.floating, Decimal)):
        kind = type(value).__name__
        raise InputTypeError(f"{value!r} is of type {kind}; in SQL texts, numbers and booleans are compared")
    if isinstance(value, (float, np.floating)):
        return words.number(float(value)) if np.isfinite(value) else words.cast(f"'{value}'")
    return str(value)


class SqlTable:
    """A `fastbin.tables.frames.Frame` whose expressions are SQL. The subclasses say how, each in the terms of its engine."""

    engine: str
    mark: str  # around names
    integer_division: str  # of two expressions
    key: str  # a whole number as a key
    least_cells: int
    most_cells: int
    value_limit: int

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
        """The same without their parameters, but for arrays."""
        return {name: kind if kind.endswith("]") else kind.partition("(")[0] for name, kind in self.full_types.items()}

    def kinds(self) -> dict[str, str]:
        known = {**dict.fromkeys(FLOATS, FLOAT), **dict.fromkeys(BOOLEANS, BOOLEAN), **dict.fromkeys(TEXTS, TEXT)}
        types = self.types
        return {
            name: INTEGER if is_whole(full) and types[name] not in BOOLEANS else known.get(types[name], full)
            for name, full in self.full_types.items()
        }

    # -------------------------------------------------------------------------------------- expressions

    def quoted(self, name: str) -> str:
        """A name of a column, whatever is in it."""
        return f"{self.mark}{name.replace(self.mark, 2 * self.mark)}{self.mark}"

    def literal(self, value: Any) -> str:
        """A value of a column as a constant."""
        return constant(value, self.words)

    def column(self, name: str) -> Expression:
        return Expression(self.quoted(name), self.words)

    def as_float(self, expression: Expression) -> Expression:
        return expression.within("CAST({} AS DOUBLE)")

    def floor(self, expression: Expression) -> Expression:
        return expression.within("CAST(floor({}) AS DOUBLE)")

    def as_key(self, expression: Expression) -> Expression:
        return expression.within(self.key)

    def log(self, expression: Expression) -> Expression:
        return expression.within("ln({})")

    def clip(self, expression: Expression, low: float, high: float) -> Expression:
        return expression.within(f"least(greatest({{}}, {self.words.number(low)}), {self.words.number(high)})")

    def is_null(self, expression: Expression) -> Expression:
        return expression.within("({} IS NULL)")

    def is_nan(self, expression: Expression) -> Expression:
        return expression.within("isnan({})")

    # -------------------------------------------------------------------------------------- queries

    def _of(self, native: Any) -> Self:
        """Another table of the same engine."""
        return type(self)(native)

    def _project(self, columns: list[str]) -> Self:
        raise NotImplementedError

    def _named(self, expressions: Mapping[str, str]) -> list[str]:
        return [f"{expression} AS {self.quoted(name)}" for name, expression in expressions.items()]

    def selected(self, expressions: Mapping[str, str]) -> Self:
        """The table with these expressions as its columns, by name."""
        return self._project(self._named(expressions))

    def select(self, **columns: Expression) -> Self:
        return self.selected({name: column.text for name, column in columns.items()})

    def with_column(self, expression: str, name: str) -> Self:
        """The table with one more column, the last."""
        return self._project(["*", *self._named({name: expression})])

    def where(self, condition: Expression | str) -> Self:
        return self._of(self.native.filter(condition if isinstance(condition, str) else condition.text))

    def join(self, table: Mapping[str, Array], on: str) -> Self:
        raise NotImplementedError

    def grouped(self, keys: Sequence[str], aggregates: Mapping[str, str]) -> Self:
        """A row for each group of equal keys: these, and aggregates of its rows."""
        raise NotImplementedError

    def groups(
        self, keys: Sequence[str], *, sums: Sequence[str] = (), ends: str | None = None, most: int | None = None
    ) -> dict[str, Array]:
        rows, aggregates = self, {"rows": "count(*)", **{name: f"sum({self.quoted(name)})" for name in sums}}
        if ends is not None:
            rows, more = self._with_partition()
            aggregates |= {"low": f"min({self.quoted(ends)})", "high": f"max({self.quoted(ends)})", **more}
        grouped = rows.grouped(keys, aggregates)
        return (grouped if most is None else self._of(grouped.native.limit(most))).arrays()

    def _with_partition(self) -> tuple[Self, dict[str, str]]:
        """The rows, and what else groups tell of where they come from."""
        return self, {}

    def run(self, query: str) -> Self:
        """A query whose rows are ``FROM fastbin_rows AS s``, as a table of the engine."""
        raise NotImplementedError

    @property
    def safe_names(self) -> dict[str, str]:
        """By the name of each column another, which clashes with none in a query."""
        return {name: f"fastbin_column_{number}" for number, name in enumerate(self.types)}

    def with_answers(self, query: str, outputs: Sequence[str], **more: str) -> Self:
        """The table with new columns: the last of a query over its own, by their `safe_names`, and over `more` expressions."""
        safe = self.safe_names
        found = self.selected({**{short: self.quoted(name) for name, short in safe.items()}, **more}).run(query)
        answers = dict(zip(outputs, found.native.columns[-len(outputs) :], strict=True))
        return found.selected({name: found.quoted(column) for name, column in {**safe, **answers}.items()})

    def fetched(self) -> list[Any]:
        """All rows, which are few."""
        raise NotImplementedError

    def arrays(self) -> dict[str, Array]:
        """All rows, column by column."""
        raise NotImplementedError

    def plain(self, names: Iterable[str], *, weight: str | None = None) -> Self:
        """These columns, of values that are compared and grouped as themselves.

        Texts are by their bytes, whatever the collation of the column, or of the session. Values of an ENUM are texts. The
        column of weights, if its numbers are whole, is a BIGINT, in which what is more than all samples may be is a little more
        than that.
        """
        kinds = self.full_types
        chosen = {name: by_bytes(self.quoted(name), kinds[name]) for name in names}
        if weight is not None and is_whole(kinds[weight]) and kinds[weight] not in INTEGERS:
            number = self.quoted(weight)
            number = f"CAST({number} AS INT)" if kinds[weight] in BOOLEANS else number
            # A double cannot be the next number.
            chosen[weight] = f"CASE WHEN {number} > {MOST_SAMPLES} THEN {MOST_SAMPLES + 2} ELSE CAST({number} AS BIGINT) END"
        return self.selected(chosen)


class DuckDBTable(SqlTable):
    """A relation."""

    engine, mark = "duckdb", '"'
    integer_division = "({}) // ({})"
    key = "{}"  # a cast of NaN fails
    least_cells, most_cells, value_limit = 2**10, 2**18, 2**19

    @cached_property
    def full_types(self) -> dict[str, str]:
        return {name: str(kind) for name, kind in zip(self.native.columns, self.native.types, strict=True)}

    def _project(self, columns: list[str]) -> Self:
        return self._of(self.native.project(", ".join(columns)))

    def join(self, table: Mapping[str, Array], on: str) -> Self:
        # Only a relation knows its connection, and which objects may be read by name is a setting of that. So the small table
        # is made of one row: from texts, as many constants are read slowly.
        columns = {**table, on: table[on].astype(np.float64)}
        texts = {name: ", ".join(self.words.literals(column)) for name, column in columns.items()}
        kinds = {name: "BIGINT" if column.dtype.kind == "i" else "DOUBLE" for name, column in columns.items()}
        rows = [f"unnest(CAST('[{text}]' AS {kinds[name]}[])) AS {name}" for name, text in texts.items()]
        small = self.native.limit(0).aggregate("count(*)").project(", ".join(rows))
        return self._of(self.native.set_alias("rows").join(small.set_alias("small"), on))

    def grouped(self, keys: Sequence[str], aggregates: Mapping[str, str]) -> Self:
        names = [self.quoted(name) for name in keys]
        return self._of(self.native.aggregate(", ".join([*names, *self._named(aggregates)]), ", ".join(names)))

    def run(self, query: str) -> Self:
        own = f"{SOURCE}_{uuid4().hex}"  # which no table of the user has
        return self._of(self.native.query(own, query.replace(f"FROM {SOURCE} AS", f"FROM {own} AS")))

    def fetched(self) -> list[Any]:
        return list(self.native.fetchall())

    def arrays(self) -> dict[str, Array]:
        return arrays_of(self.native.to_arrow_table())


@dataclass
class _Partitions:
    """How many partitions answers have shown, for all tables made of one."""

    n_seen: int = 1


class SparkTable(SqlTable):
    """A data frame, classic or Connect."""

    engine, mark = "spark", "`"
    integer_division = "(({}) div ({}))"
    key = "floor({})"  # a bigint, also of NaN, which a cast refuses
    # More cells at first cost little and often save a query.
    least_cells = most_cells = CELLS_OF_A_PARTITION

    def __init__(self, native: Any, partitions: _Partitions | None = None) -> None:
        super().__init__(native)
        self._partitions = _Partitions() if partitions is None else partitions

    @property
    def value_limit(self) -> int:  # type: ignore[override]
        return min(MOST_VALUES, VALUES_OF_A_PARTITION * self._partitions.n_seen)

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

    @property
    def _has_arrow(self) -> bool:
        return hasattr(type(self.native), "toArrow")  # from Spark 4 on; an object of Spark Connect has every attribute

    def quoted(self, name: str) -> str:
        if "${" in name:
            problem = f"the column {name!r} has ${{ in its name, which Spark replaces wherever it stands in SQL"
            raise InputError(problem, "give it another name: frame.withColumnRenamed, output=, or other names of classes")
        return super().quoted(name)

    def _of(self, native: Any) -> Self:
        return type(self)(native, self._partitions)

    def _project(self, columns: list[str]) -> Self:
        return self._of(self.native.selectExpr(*columns))

    def join(self, table: Mapping[str, Array], on: str) -> Self:
        session, table = self.native.sparkSession, {**table, on: table[on].astype(np.int64)}
        if self._has_arrow:
            small = session.createDataFrame(pyarrow().table(dict(table)))
        else:
            rows = list(zip(*(column.tolist() for column in table.values()), strict=True))
            types = {name: "bigint" if column.dtype.kind == "i" else "double" for name, column in table.items()}
            small = session.createDataFrame(rows, ", ".join(f"`{name}` {kind}" for name, kind in types.items()))
        # Without being told, Spark may shuffle all rows.
        return self._of(self.native.join(self.functions.broadcast(small), on))

    def grouped(self, keys: Sequence[str], aggregates: Mapping[str, str]) -> Self:
        return self._of(self.native.groupBy(*keys).agg(*map(self.functions.expr, self._named(aggregates))))

    def groups(
        self, keys: Sequence[str], *, sums: Sequence[str] = (), ends: str | None = None, most: int | None = None
    ) -> dict[str, Array]:
        answer = super().groups(keys, sums=sums, ends=ends, most=most)
        self._partitions.n_seen = max(self._partitions.n_seen, 1 + int(answer.get("partition", np.empty(0)).max(initial=0)))
        return answer

    def _with_partition(self) -> tuple[Self, dict[str, str]]:
        return self._project(["*", "spark_partition_id() AS partition"]), {"partition": "max(partition)"}

    def run(self, query: str) -> Self:
        text = query.replace("{", "{{").replace("}", "}}").replace(f"FROM {SOURCE} AS", f"FROM {{{SOURCE}}} AS")
        return self._of(self.native.sparkSession.sql(text, **{SOURCE: self.native}))

    def fetched(self) -> list[Any]:
        return list(self.native.collect())

    def arrays(self) -> dict[str, Array]:
        if self._has_arrow:
            return arrays_of(self.native.toArrow())
        rows = self.native.collect()
        return {name: np.array([row[name] for row in rows]) for name in self.native.columns}


def sql_table(table: Any) -> SqlTable:
    """A relation of DuckDB or a frame of Spark as what SQL is run over."""
    return DuckDBTable(table) if package_of(table) == "duckdb" else SparkTable(table)


def arrays_of(table: Any) -> dict[str, Array]:
    """The columns of an Arrow table."""
    return {name: unwrapped(table.column(name)).to_numpy() for name in table.column_names}


def is_whole(kind: str) -> bool:
    """Whether a type, in full, is one of whole numbers, or of booleans, which count as 0 and 1."""
    name, _, digits = kind.partition("(")
    return name in (*INTEGERS, *WIDE_INTEGERS, *BOOLEANS) or (name.lower() == "decimal" and digits.endswith(",0)"))


def by_bytes(expression: str, kind: str) -> str:
    """An expression of this type; of texts one that is compared by bytes."""
    if kind.startswith("ENUM("):
        return DIALECTS["duckdb"].bytewise.format(f"CAST({expression} AS VARCHAR)")
    if kind == "VARCHAR":
        return DIALECTS["duckdb"].bytewise.format(expression)
    # Spark says so of all collations but that by bytes.
    return f"{expression} COLLATE UTF8_BINARY" if kind.startswith("string collate") else expression
