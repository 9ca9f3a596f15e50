"""Steps as rows of a table, and the query by which each row of a user's table finds its step.

An engine goes one of three ways: DuckDB has ASOF joins; PostgreSQL, SQLite and MySQL go down an index for each row; the others
join by model and keep the step whose range holds the score.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Float64s, UInt64s
from fastbin._base.errors import InputError
from fastbin._base.tie_keys import ABOVE_EVERY_KEY
from fastbin._fit.rows import GREATEST
from fastbin.export.dialects import PART, Dialect, check_source, hex_digits, sought
from fastbin.export.form import INTEGERS, OF_UNKNOWN, PartSteps, Steps

# Statements are kept small, as engines limit the bytes of one.
MOST_BYTES = 2**19

# ------------------------------------------------------------------------------------------------- cuts


class EdgeCuts(NamedTuple):
    """The entry of the column at a row is the number of edges that lie at or below it.

    Without keys, which are all 0 then, edge i does so where ``s >= edges[i]``; with keys, where ``s > edges[i]``, or
    ``s == edges[i]`` and ``k >= keys[i]``. All rows that have an answer lie in [low, high], or are moved there; no edge lies
    outside, and those that all rows reach are left out.
    """

    edges: Float64s  # (E,), ascending
    keys: UInt64s  # (E,), ascending where edges are equal
    column: Array  # (E + 1,), no entry equal to the next
    low: float
    high: float


def cuts_of(steps: Steps, output: str) -> EdgeCuts:
    """The edges at which one output changes, for rows that have an answer: what SQL compares, and nothing it need not."""
    edges, keys, column = steps.edges, steps.edge_keys, steps.columns[output]
    low, high = steps.clip or (steps.low, steps.high)
    reached = int(np.count_nonzero((edges < low) | ((edges == low) & (keys == 0))))
    end = len(edges) - int(np.count_nonzero(edges > high))
    edges, keys, column = edges[reached:end], keys[reached:end], column[reached : end + 1]
    # Two edges can have become one: no row lies between them.
    last = np.append((edges[1:] != edges[:-1]) | (keys[1:] != keys[:-1]), True)[: len(edges)]
    edges, keys, column = edges[last], keys[last], np.append(column[:1], column[1:][last])
    changes = column[1:] != column[:-1]
    return EdgeCuts(edges[changes], keys[changes], np.append(column[:1], column[1:][changes]), low, high)


# ------------------------------------------------------------------------------------------------- tables


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
        described = ", ".join(f"{column} {kind}" for column, kind in self.columns.items())
        if self.dialect.lookup == "seek":
            described += f", PRIMARY KEY ({', '.join(self.key)})"
        yield f"CREATE TABLE {self.name} ({described}){self.dialect.table_options}"
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
    """Tables, and the query that scores rows by them.

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


# What an expression is made of: texts and comments, names and words, and single signs.
PIECE_OF_EXPRESSION = re.compile(
    r"""'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/|(?P<name>"(?:[^"]|"")*"|`[^`]*`|[^\W\d][\w$]*)|\S""", re.DOTALL
)


def unqualified(expression: str) -> list[str]:
    """The names of columns in an expression that stand without a table before them, as they are written.

    >>> unqualified("a + s.b * `c d` + f(e) + 'g' /* h */")
    ['a', '`c d`', 'e']
    """
    pieces = [found for found in PIECE_OF_EXPRESSION.finditer(expression) if not found[0].startswith(("--", "/*"))]
    around = zip(["", *(found[0] for found in pieces)], pieces, [*(found[0] for found in pieces[1:]), ""], strict=False)
    return [found["name"] for before, found, after in around if found["name"] and before != "." and after not in (".", "(")]


class TableNames(NamedTuple):
    """The names of the tables that are made, of the user's rows, and of the column with the answer."""

    steps: str
    cells: str
    source: str
    output: str


def tables_of(
    form: PartSteps, what: str, score: str, cell: str | None, key: str | None, names: TableNames, dialect: Dialect, about: str
) -> SqlTables:
    """The steps of a model, whose number is 0, or of a set with its cells, as tables, and the query that reads them."""
    filled = [_steps_table(form, what, names.steps, dialect)]
    filled += [] if cell is None else [_cells_table(form, names.cells, dialect)]
    own = {column for table in filled for column in table.columns}
    for name, expression in (("score", score), ("cell", cell), ("tie_key", key)):
        for column in unqualified(expression or ""):
            if column.strip('"`').lower() in own:  # inside the query it would be that of the table, or of neither
                problem = f"names the column {column}, and a table of the model has one of that name"
                raise InputError(problem, f"write s.{column}, as s is the table of the rows", argument=name, value=expression)
    lookup = _lookup(form, what, score, cell, key, dialect)
    cells = "" if lookup.cell is None else f"\nLEFT JOIN {names.cells} AS c ON c.fastbin_cell = {lookup.cell}"
    query = _QUERIES[dialect.lookup](lookup, names, f"FROM {names.source} AS s{cells}", dialect)
    return SqlTables(f"{about}\n{query}", about, tuple(filled))


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


def _steps_table(form: PartSteps, what: str, name: str, dialect: Dialect) -> FilledTable:
    """One row for each step of each model: the first and the last score, and key, that have its answer."""
    has_keys = form.needs_key
    answer = dialect.integer if what in INTEGERS else dialect.double
    kinds = {
        "model": dialect.integer, "lower": dialect.double, "lower_key": dialect.string, "upper": dialect.double,
        "upper_key": dialect.string, "answer": answer,
    }  # fmt: skip
    columns = {f"fastbin_{name}": kind for name, kind in kinds.items() if has_keys or not name.endswith("key")}
    index = ("fastbin_model", "fastbin_lower", "fastbin_lower_key")[: 2 + has_keys]
    rows = (row for number, steps in enumerate(form.models) for row in _rows(number, steps, what, has_keys, dialect))
    return FilledTable(name, columns, index, tuple(rows), dialect)


def _rows(number: int, steps: Steps, what: str, has_keys: bool, dialect: Dialect) -> Iterator[str]:
    cuts = cuts_of(steps, what)
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


def _cells_table(form: PartSteps, name: str, dialect: Dialect) -> FilledTable:
    has_text, moves = form.has_texts, _moves(form)
    columns = {"fastbin_cell": dialect.string if has_text else dialect.integer, "fastbin_model": dialect.integer}
    columns |= {"fastbin_low": dialect.double, "fastbin_high": dialect.double} if moves else {}

    def rows() -> Iterator[str]:
        for key, number in zip(form.keys, form.model_of_key.tolist(), strict=True):
            entries = [dialect.text(key) if isinstance(key, str) else str(key), str(number)]
            entries += map(dialect.number, _limits(form.models[number])) if moves else []
            yield f"({', '.join(entries)})"

    return FilledTable(name, columns, ("fastbin_cell",), tuple(rows()), dialect)


def _moves(form: PartSteps) -> bool:
    """Whether moved scores have to be known: without keys, the first and the last step reach as far as scores do."""
    return any(model.needs_key and model.clip is not None for model in form.models)


def _limits(model: Steps) -> tuple[float, float]:
    return model.clip or (-GREATEST, GREATEST)


# ------------------------------------------------------------------------------------------------- queries


class Lookup(NamedTuple):
    """The expressions by which a row is looked up, and its answer: `s` is the row, `c` its cell, `t` its step."""

    model: str  # the number of the model; NULL where there is none
    score: str  # the score, moved into the range where it has to be; NULL for rows without an answer
    key: str | None
    answer: str
    cell: str | None = None  # of a set


def _lookup(form: PartSteps, what: str, score: str, cell: str | None, key: str | None, dialect: Dialect) -> Lookup:
    number, answer = "c.fastbin_model", "t.fastbin_answer"
    limits: list[str] | None = ["c.fastbin_low", "c.fastbin_high"] if _moves(form) else None
    if cell is None:
        if limits is not None:
            limits = list(map(dialect.number, _limits(form.models[0])))
        found = sought(score, key, limits, dialect)
        # BigQuery joins by columns of both sides alone; elsewhere a number is faster.
        number = f"CASE WHEN {found} IS NOT NULL THEN 0 END" if dialect.lookup == "range" else "0"
        return Lookup(number, found, key and dialect.bytewise.format(key), answer)
    if form.has_texts:
        cell = dialect.bytewise.format(dialect.as_text.format(cell))
        has_cell = f"{cell} <> {dialect.text('')}"
    else:
        cell = f"CASE WHEN {dialect.is_number.format(cell)} THEN {cell} END" if dialect.is_number else cell
        has_cell = f"{cell} IS NOT NULL"
    if form.unknown is not None:
        number = f"CASE WHEN {has_cell} THEN COALESCE({number}, {form.unknown}) END"
        if limits is not None:
            ends = map(dialect.number, _limits(form.models[form.unknown]))
            limits = [f"COALESCE({name}, {end})" for name, end in zip(limits, ends, strict=True)]
        if what in OF_UNKNOWN:
            (other,) = dialect.literals(np.array([OF_UNKNOWN[what]]))
            answer = f"CASE WHEN c.fastbin_model IS NULL THEN {other} ELSE {answer} END"
    return Lookup(number, sought(score, key, limits, dialect), key and dialect.bytewise.format(key), answer, cell)


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
    hint = dialect.broadcast.format("t")
    return (
        f"SELECT {hint}s.*, CASE WHEN t.fastbin_model IS NOT NULL THEN {lookup.answer} END AS {names.output}\n{rows}\n"
        f"LEFT JOIN {names.steps} AS t ON t.fastbin_model = {lookup.model} AND {within}"
    )


_QUERIES = {"asof": _by_asof, "seek": _by_index, "range": _by_range}
