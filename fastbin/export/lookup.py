"""Steps as rows of a table, and the query by which each row of a user's table finds its step.

An engine goes one of three ways: DuckDB has ASOF joins; PostgreSQL and SQLite go down an index for each row; the others join by
model and keep the step whose range holds the score.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fastbin._base.errors import InputError
from fastbin._base.tie_keys import ABOVE_EVERY_KEY
from fastbin.export.cuts import EdgeCuts
from fastbin.export.dialects import PART, Dialect
from fastbin.export.expressions import check_source, hex_digits
from fastbin.export.steps import Steps

# Statements are kept small, as engines limit the bytes of one.
MOST_BYTES = 2**19


@dataclass(frozen=True)
class FilledTable:
    """A table with its rows, before it is known how an engine gets it."""

    name: str
    columns: dict[str, str]  # their types, by their names
    key: tuple[str, ...]  # the columns that tell rows apart
    rows: tuple[str, ...]  # each in parentheses, as literals
    dialect: Dialect

    @property
    def statements(self) -> Iterator[str]:
        """CREATE TABLE, and as many INSERTs as it takes."""
        described, options = ", ".join(f"{column} {kind}" for column, kind in self.columns.items()), ""
        if self.dialect.lookup == "seek":
            described += f", PRIMARY KEY ({', '.join(self.key)})"
            options = " WITHOUT ROWID" if self.dialect.name == "sqlite" else ""
        yield f"CREATE TABLE {self.name} ({described}){options}"
        chunk: list[str] = []
        size = 0
        for row in self.rows:
            if len(chunk) == self.dialect.most_rows or size + len(row) > MOST_BYTES:
                yield self._insert(chunk)
                chunk, size = [], 0
            chunk.append(row)
            size += len(row)
        yield self._insert(chunk)

    def _insert(self, rows: list[str]) -> str:
        return f"INSERT INTO {self.name} ({', '.join(self.columns)}) VALUES\n" + ",\n".join(rows)

    @property
    def as_values(self) -> str:
        """The table as an expression of WITH."""
        rows = ",\n".join(self.rows)
        return f"{self.name}({', '.join(self.columns)}) AS (SELECT * FROM (VALUES\n{rows}))"


@dataclass(frozen=True)
class SqlTables:
    """What scores by a table.

    Attributes
    ----------
    table : tuple of str
        The statements that make and fill it, to be run once, in this order. They stop at a table that is there already.
    query : str
        The query that reads it.
    about : str
        The comment that all texts begin with.
    filled : tuple
        The tables by their columns and rows.
    """

    query: str
    about: str
    filled: tuple[FilledTable, ...]

    @cached_property
    def table(self) -> tuple[str, ...]:
        first, *others = (statement for each in self.filled for statement in each.statements)
        return f"{self.about}\n{first}", *others

    @property
    def script(self) -> str:
        """All of it as one text, the query last."""
        return ";\n\n".join([*self.table, self.query]) + ";\n"

    @property
    def query_of_values(self) -> str:
        """The query with the rows of the tables in it, so that nothing is made; for engines that take VALUES in WITH."""
        return f"WITH {', '.join(each.as_values for each in self.filled)}\n{self.query}"


class TableNames(NamedTuple):
    """Of the tables that are made, of the user's rows, and of the column with the answer."""

    steps: str
    cells: str
    source: str
    output: str


class Lookup(NamedTuple):
    """What a row is looked up with and what it gets, as expressions: `s` is the row, `c` its cell, `t` its step."""

    model: str  # the number of the model; NULL where there is none
    score: str  # the score, moved into the range where it has to be; NULL where there is no answer
    key: str | None
    answer: str
    cell: str | None = None  # of a set


def names_of(
    table: str | None, source: str | None, output: str | None, *, what: str, digest: str, dialect: Dialect
) -> TableNames:
    """Names that stand in statements as they are, so they must be plain ones; `table` is by default one of the model's own, so
    that no query reads the table of another model."""
    table = f"fastbin_{digest[:8]}" if table is None else table
    source = "scores" if source is None else source
    output = f"fastbin_{what}" if output is None else output
    part = dialect.table_name
    if not isinstance(table, str) or not re.fullmatch(rf"{part}(\.{part})*", table):
        remedy = "pass a name of letters, digits and underscores, with its schema before a dot"
        raise InputError(None, remedy, argument="table", value=table)
    if not isinstance(output, str) or not re.fullmatch(PART, output):
        remedy = "pass a name of letters, digits and underscores for the column of the answers"
        raise InputError(None, remedy, argument="output", value=output)
    return TableNames(f"{table}_steps", f"{table}_cells", check_source(source), output)


def require_tables(dialect: Dialect) -> None:
    """Refuse an engine without tables."""
    if not dialect.lookup:
        remedy = "score its frames with predict"
        raise InputError(f"is {dialect.name!r}, which has no tables that last", remedy, argument="dialect", value=dialect.name)


def steps_table(models: Sequence[tuple[Steps, EdgeCuts]], name: str, dialect: Dialect) -> FilledTable:
    """One row for each step of each model: the first and the last score, and key, that have its answer."""
    has_keys = any(steps.needs_key for steps, _ in models)
    kinds = {
        "model": dialect.integer, "lower": dialect.double, "lower_key": dialect.string,
        "upper": dialect.double, "upper_key": dialect.string,
        "answer": dialect.integer if models[0][1].column.dtype.kind == "i" else dialect.double,
    }  # fmt: skip
    columns = {f"fastbin_{name}": kind for name, kind in kinds.items() if has_keys or not name.endswith("key")}
    index = ("fastbin_model", "fastbin_lower", "fastbin_lower_key")[: 2 + has_keys]
    rows = (row for number, (steps, cuts) in enumerate(models) for row in _rows(number, steps, cuts, has_keys, dialect))
    return FilledTable(name, columns, index, tuple(rows), dialect)


def _rows(number: int, steps: Steps, cuts: EdgeCuts, has_keys: bool, dialect: Dialect) -> Iterator[str]:
    has_key = cuts.keys > 0
    before = np.where(has_key, cuts.edges, np.nextafter(cuts.edges, -np.inf))
    before_keys = np.where(has_key, cuts.keys - has_key, np.uint64(ABOVE_EVERY_KEY))
    firsts = dialect.literals(np.append(steps.low, cuts.edges)), [0, *cuts.keys.tolist()]
    lasts = dialect.literals(np.append(before, steps.high)), [*before_keys.tolist(), ABOVE_EVERY_KEY]

    def ends(scores: list[str], keys: list[int]) -> list[str]:
        texts = (f", {dialect.text(hex_digits(key))}" if has_keys else "" for key in keys)
        return [score + text for score, text in zip(scores, texts, strict=True)]

    for first, last, answer in zip(ends(*firsts), ends(*lasts), dialect.literals(cuts.column), strict=True):
        yield f"({number}, {first}, {last}, {answer})"


def sql_tables(filled: Sequence[FilledTable], lookup: Lookup, names: TableNames, dialect: Dialect, about: str) -> SqlTables:
    """Tables and the query that reads them, both of which begin with a comment."""
    return SqlTables(f"{about}\n{_query_of(lookup, names, dialect)}", about, tuple(filled))


def _query_of(lookup: Lookup, names: TableNames, dialect: Dialect) -> str:
    """All columns of the user's rows, and the answer."""
    cells = "" if lookup.cell is None else f"\nLEFT JOIN {names.cells} AS c ON c.fastbin_cell = {lookup.cell}"
    return _QUERIES[dialect.lookup](lookup, names, f"FROM {names.source} AS s{cells}", dialect)


def _by_asof(lookup: Lookup, names: TableNames, rows: str, dialect: Dialect) -> str:
    score, lower = lookup.score, "t.fastbin_lower"
    if lookup.key is not None:
        score, lower = f"ROW({score}, {lookup.key})", f"ROW({lower}, t.fastbin_lower_key)"
    return (
        f"SELECT s.*, CASE WHEN {lookup.score} <= t.fastbin_upper THEN {lookup.answer} END AS {names.output}\n{rows}\n"
        f"ASOF LEFT JOIN {names.steps} AS t ON {lookup.model} = t.fastbin_model AND {score} >= {lower}"
    )


def _by_index(lookup: Lookup, names: TableNames, rows: str, dialect: Dialect) -> str:
    score, lower, order = lookup.score, "t.fastbin_lower", "t.fastbin_lower DESC"
    if lookup.key is not None:
        score, lower = f"({score}, {lookup.key})", f"({lower}, t.fastbin_lower_key)"
        order += ", t.fastbin_lower_key DESC"
    return (
        f"SELECT s.*, (SELECT CASE WHEN {lookup.score} <= t.fastbin_upper THEN {lookup.answer} END FROM {names.steps} AS t\n"
        f"WHERE t.fastbin_model = {lookup.model} AND {lower} <= {score} ORDER BY {order} LIMIT 1) AS {names.output}\n{rows}"
    )


def _by_range(lookup: Lookup, names: TableNames, rows: str, dialect: Dialect) -> str:
    score, key = lookup.score, lookup.key
    within = f"{score} >= t.fastbin_lower AND {score} <= t.fastbin_upper"
    if key is not None:
        within += f" AND ({score} > t.fastbin_lower OR {key} >= t.fastbin_lower_key)"
        within += f" AND ({score} < t.fastbin_upper OR {key} <= t.fastbin_upper_key)"
    hint = "/*+ BROADCAST(t) */ " if dialect.name == "spark" else ""
    return (
        f"SELECT {hint}s.*, CASE WHEN t.fastbin_model IS NOT NULL THEN {lookup.answer} END AS {names.output}\n{rows}\n"
        f"LEFT JOIN {names.steps} AS t ON t.fastbin_model = {lookup.model} AND {within}"
    )


_QUERIES = {"asof": _by_asof, "seek": _by_index, "range": _by_range}
