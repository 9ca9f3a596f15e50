"""SQL that scores rows with the same bits as the model: one expression, or tables and the query that reads them.

Interpolated and smooth models are written in the order of operations of C. SQL gives no names to parts of an expression, so
what is used again is written again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, overload

import numpy as np

from fastbin._base.array_types import Array, Float64s
from fastbin._base.checks import check_choice
from fastbin._base.errors import InputError, InputTypeError
from fastbin._fit.calibrator import as_model_or_set
from fastbin.export.dialects import (
    DIALECTS,
    MOST_STEPS,
    Dialect,
    check_expression,
    check_key_expression,
    comment,
    hex_digits,
    is_answered,
    moved,
    said_of_output,
    tree,
)
from fastbin.export.form import (
    OUTPUTS,
    Curve,
    Named,
    as_exported,
    check_outputs,
    curve_of,
    description_of,
    digest_of,
    require_steps,
    steps_of,
    written,
)
from fastbin.export.lookup import EdgeCuts, SqlTables, cuts_of, names_of, require_tables, tables_of
from fastbin.export.vectors import check_columns, vector_query
from fastbin.model import BinnedModel
from fastbin.vector_model import VectorModel, as_vector_model

STYLES = ("auto", "tree", "join")

WORDS = {
    "+": "({} + {})", "-": "({} - {})", "*": "({} * {})", "/": "({} / {})", "<": "({} < {})", "=": "({} = {})",
    "least": "LEAST({}, {})", "greatest": "GREATEST({}, {})", "exp": "exp({})",
    # Some engines stop at the logarithm of 0, even where only a place among edges is asked for; at NULL none does.
    "log": "ln(NULLIF({}, 0))",
    "choose": "CASE WHEN {} THEN {} ELSE {} END",
}  # fmt: skip
OTHER_WORDS = {
    "sqlite": {"least": "min({}, {})", "greatest": "max({}, {})"},
    # Polars multiplies by the inverse of a constant, which is another number; Polars does not see that this sum is one.
    "polars": {"/": "({} / ({} + (0.0 * {score})))"},
}

# Splines nest deeply, and the parser of SQLite has a stack of 100.
MOST_JOINTS_OF_SQLITE = 11

ABOUT = {
    "linear": "Interpolated: the bits of the model where arithmetic is that of IEEE 754",
    "smooth": "Smooth: that of the model but for the last bits, as exp and ln are those of the engine",
}


@overload
def sql(
    model: object, score: str | Sequence[str] = "p", *, tie_key: str | None = None, dialect: str, what: str = "value",
    alpha: float | None = None, style: Literal["auto", "tree"] = "auto", source: str | None = None, output: str | None = None,
) -> str: ...  # fmt: skip


@overload
def sql(
    model: object, score: str = "p", *, tie_key: str | None = None, dialect: str, what: str = "value",
    alpha: float | None = None, style: Literal["join"], table: str | None = None,
    source: str | None = None, output: str | None = None,
) -> SqlTables: ...  # fmt: skip


def sql(
    model: object, score: str | Sequence[str] = "p", *, tie_key: str | None = None, dialect: str, what: str = "value",
    alpha: float | None = None, style: str = "auto", table: str | None = None,
    source: str | None = None, output: str | None = None,
) -> str | SqlTables:  # fmt: skip
    """One SQL expression that scores a column, with the same bits as `predict`; or a table and the query that reads it.

    Parameters
    ----------
    model : BinnedModel, VectorModel or fitted calibrator
        Without randomised values. A model without steps, interpolated or smooth, has the output "value" alone, and so has a
        vector model, of at most 50 classes.
    score : str, for a vector model a list of str
        A list has an expression for each class, in the order of `classes`. An SQL expression for the score, most often the name
        of a column, quoted where its engine asks for that. It is cast to a double, so that floats of 32 bits and integers get
        what `predict` gives for them; a decimal, or a text, is cast as its engine does that. It stands in the text many times:
        compute long expressions, and random ones, before.
    tie_key : str, optional
        An SQL expression for the key as 16 lower-case hexadecimal digits, such as ``f"{key:016x}"`` gives; for models that
        split ties by key, and for these alone.
    dialect : str
        The engine: "duckdb", "postgresql", "sqlite", "spark", "bigquery", "snowflake", "mysql" (MariaDB too), "clickhouse",
        "datafusion", "ansi" or "polars". "polars" is for ``pl.sql_expr`` and ``pl.SQLContext``, "ansi" for engines that read
        the SQL of the standard of 2023. The texts for BigQuery and Snowflake follow their documented syntax and were not run
        there; that for "mysql" is tested in MariaDB, that for "ansi" in DuckDB, and all others in their engines.
    what : {"value", "bin", "lower", "upper", "lower_if_rising", "upper_if_rising", "decision"}
        The calibrated probability, the number of the bin, an end of its interval at `alpha`, or an end for the truth at the
        score, if it does not fall as the score rises (`BinnedModel.interval` with at="score").
    alpha : float, optional
        The chance that one of the intervals misses, 0.1 where it is left out; with ends of intervals alone.
    style : {"auto", "tree", "join"}
        "tree" is a balanced tree of CASE, of at most 1,000 steps. "auto" is the same, but for models that compare no keys, in
        PostgreSQL an array of any length in which ``width_bucket`` finds the place, and in DuckDB, from 33 steps on, lists in
        which even cells of scores find it, below a tree where steps crowd. "join" looks steps up in a table, for models of more
        steps; in DuckDB it is the faster one where many steps have few samples each, or crowd.
    table, source, output : str, optional
        For "join" alone, and `source` and `output` for vector models: the table to be made is called ``{table}_steps``, by
        default ``fastbin_`` and the first eight digits of the model's digest, so that each model has its own. `source` is the
        table with the scores ("scores" where it is left out), or a query in parentheses; its rows are called ``s`` in the
        query. It is SQL that runs, as are `score` and `tie_key`: pass nothing on that others may write. `output` is the name of
        the column with the answers, by default ``fastbin_`` and `what`, such as ``fastbin_value``.

    Returns
    -------
    str or SqlTables
        The text of one expression; for "join" the statements that make the table, and a query that gives all columns of
        `source`, and then `output`, in no order. For a vector model, text of a query that gives all columns of `source`,
        columns of its own, whose names begin with ``fastbin_``, and last a column for each class, in no order: ``{output}_``
        and the class, other characters than letters, digits and underscores replaced by these, or numbers from 1 on where two
        names would be the same. A row with an entry without an answer has NULL for all classes. All begin with a comment that
        has the digest of the model's file, its size, what is promised, the dialect and `what`.

        A row gets NULL where the score is NULL, NaN, infinite or, in models that refuse these, out of range, or where the key
        is NULL or has another form. Models that clip move the score into their range. -0.0 and 0.0 are equal.

    Raises
    ------
    InputError
        An unknown dialect, output or style; an empty expression; a key that is missing or not needed; a model that randomises
        its values, that has no bins to ask for, or too many steps; an `alpha` that is not needed or out of range; a dialect
        without tables for "join".
    InputTypeError
        A set of models, which `sql_set` writes, or any other object; an expression that is not text.
    GuaranteeError
        For the ends of intervals of a model that has none.

    See Also
    --------
    sql_set : sets of models.
    verify : runs an export and compares its answers.

    Notes
    -----
    A row meets about log2(steps) comparisons; the text has about 90 bytes a step, 180 with keys, up to 340 in DuckDB's lists.
    Steps with the same answer as the one before are left out.

    Numbers are written so that each engine reads back all 64 bits: with 17 digits, and for SQLite, which reads some of these
    wrongly, as quotients of integers. In SQLite a score must be stored as a number: a text has no answer; MySQL reads the
    number at the start of a text, 0 if there is none. Spark interprets
    expressions of more than about 500 steps, and logs that it could not compile them. For other drivers than those of Python
    it may matter that no text here has a parameter mark.

    Interpolated values have the same bits; smooth ones differ in the last bits where the engine's exp and ln do. PostgreSQL
    stops where a product of theirs overflows or underflows, for scores beyond 1e290 or within 1e-290 of 0, and MySQL where one
    overflows.

    Examples
    --------
    >>> import sqlite3
    >>> import fastbin as fb
    >>> calibrator = fb.UniformMassBinning(2).fit([0.1, 0.2, 0.3, 0.6, 0.7, 0.9], [0, 0, 0, 1, 0, 1])
    >>> probability = fb.export.sql(calibrator, "score", dialect="sqlite")
    >>> rows = "(SELECT 0.25 AS score UNION ALL SELECT 0.8 UNION ALL SELECT 1.5 UNION ALL SELECT NULL)"
    >>> from contextlib import closing
    >>> with closing(sqlite3.connect(":memory:")) as connection:
    ...     connection.execute(f"SELECT {probability} FROM {rows}").fetchall()
    [(0.0,), (0.5,), (None,), (None,)]
    """
    words = DIALECTS[check_choice(dialect, "dialect", tuple(DIALECTS))]
    check_choice(what, "what", OUTPUTS)
    check_choice(style, "style", STYLES)
    vector = as_vector_model(model)
    if vector is not None:
        _refuse_of_vectors(what, alpha, tie_key, style, table)
        return _of_vectors(vector, score, style, source, output, words)
    fitted = as_model_or_set(model)
    if fitted.is_set:
        raise InputTypeError("is a set of models", "use sql_set, which writes a table and its query", argument="model")
    score = check_expression(score, "score")
    if style != "join":
        for argument, name in (("table", table), ("source", source), ("output", output)):
            if name is not None:
                problem = f"is {name!r}, and only style='join' makes a table and a query"
                raise InputError(problem, "leave it out", argument=argument, value=name)
    if fitted.kind != "step" and fitted.delta == 0.0 and what != "decision":
        _check_curve(fitted, what, alpha, tie_key, style)
        curve = curve_of(fitted)
        low, high, answer = curve.low, curve.high, _of_curve(curve, fitted.kind, score, words)
        about = (*description_of(fitted), ABOUT[fitted.kind])
    else:
        form = steps_of(fitted, (what,), alpha)
        tie_key = check_key_expression(tie_key, needs_key=form.needs_key)
        about = description_of(fitted, (what,), alpha)
        if style == "join":
            names = names_of(table, source, output, what=what, digest=digest_of(fitted), dialect=words)
            require_tables(words)
            said = comment([*about, said_of_output(words, what, names.output)])
            return tables_of(form, what, score, None, tie_key, names, words, said)
        low, high, cuts = form.models[0].low, form.models[0].high, cuts_of(form.models[0], what)
        remedy = "pass style='join'" if words.lookup else "score with predict"
        answer = _of_cuts(cuts, score, tie_key, style, words, remedy=remedy)
    answered = is_answered(score, tie_key, low, high, words)
    return f"{comment([*about, said_of_output(words, what)])}\nCASE WHEN {answered} THEN {answer} ELSE NULL END"


def sql_set(
    models: object, score: str = "p", *, cell: str, tie_key: str | None = None, dialect: str, what: str = "value",
    alpha: float | None = None, table: str | None = None, source: str = "scores", output: str | None = None,
) -> SqlTables:  # fmt: skip
    """Tables of the models of a set, and the SQL query that scores rows by the model of their cell.

    Parameters
    ----------
    models : ModelSet, or fitted calibrator of cells
        Of step models without randomised values.
    score, cell : str
        SQL expressions for the score and the cell, most often names of columns. The cell is an integer or a text, as the keys
        of the set are; texts are compared by their bytes, whatever the collation of the column. Where the keys are texts, a
        cell of another type is cast to one: 1 is '1'.
    tie_key : str, optional
        An SQL expression for the key as 16 lower-case hexadecimal digits, needed if any model splits ties by key.
    dialect : {"duckdb", "postgresql", "sqlite", "spark", "bigquery", "snowflake", "mysql", "clickhouse", "datafusion", "ansi"}
        The engine, as for `sql`.
    what, alpha
        As for `sql`; `alpha` is that of all bins of all models at once.
    table : str, optional
        The tables to be made are called ``{table}_steps`` and ``{table}_cells``; a schema may stand before a dot. By default
        ``fastbin_`` and the first eight digits of the set's digest, so that each set has its own.
    source : str
        The table with the rows, or a query in parentheses. Its rows are called ``s`` in the query. It is SQL that runs, as are
        `score`, `cell` and `tie_key`: pass nothing on that others may write.
    output : str, optional
        The name of the column with the answers; by default ``fastbin_`` and `what`, such as ``fastbin_value``.

    Returns
    -------
    SqlTables
        The statements that make and fill the tables, and a query that gives all columns of `source`, and then `output`, in no
        order. All names of the tables' columns begin with ``fastbin_``.

        What is said of scores and keys at `sql` holds here. A cell that is NULL or empty has no answer, nor has an unknown
        one; in sets with ``unknown="pool"`` an unknown cell gets the value of the pool's model, bin -1, and the ends 0 and 1.

    Raises
    ------
    InputError, InputTypeError
        As `sql`; a single model; a cell with a NUL in PostgreSQL, whose texts hold none.

    See Also
    --------
    sql : one model as one expression.

    Notes
    -----
    One row for each step of each model, and one for each cell. DuckDB finds the step by an ASOF join, PostgreSQL, SQLite and
    MySQL go down an index for each row, and the others join by the model's number and keep the step whose range holds the
    score, which takes as many comparisons as the model has steps. Statements have at most about 2**19 bytes, as engines limit
    these.

    Examples
    --------
    The same in DuckDB and in SQLite:

    >>> import sqlite3
    >>> import duckdb
    >>> import fastbin as fb
    >>> low = fb.BinnedModel.from_parts(edges=[0.5], values=[0.125, 0.25])
    >>> high = fb.BinnedModel.from_parts(edges=[0.5], values=[0.5, 0.75])
    >>> models = fb.ModelSet({"north": low, "south": high})
    >>> from contextlib import closing
    >>> def ask(connection, dialect):
    ...     made = fb.export.sql_set(models, cell="region", dialect=dialect)
    ...     for statement in made.table:
    ...         _ = connection.execute(statement)
    ...     _ = connection.execute("CREATE TABLE scores AS SELECT 'north' AS region, 0.75 AS p UNION ALL SELECT 'south', 0.5")
    ...     return connection.execute(f"SELECT region, fastbin_value FROM ({made.query}) ORDER BY region").fetchall()
    >>> with closing(duckdb.connect()) as connection:
    ...     ask(connection, "duckdb")
    [('north', 0.25), ('south', 0.75)]
    >>> with closing(sqlite3.connect(":memory:")) as connection:
    ...     ask(connection, "sqlite")
    [('north', 0.25), ('south', 0.75)]
    """
    words = DIALECTS[check_choice(dialect, "dialect", tuple(DIALECTS))]
    require_tables(words)
    check_choice(what, "what", OUTPUTS)
    fitted = as_exported(models, "models")
    if not fitted.is_set:
        raise InputTypeError("is one model", "use sql, which writes one expression", argument="models")
    form = steps_of(fitted, (what,), alpha)
    names = names_of(table, source, output, what=what, digest=digest_of(fitted), dialect=words)
    tie_key = check_key_expression(tie_key, needs_key=form.needs_key)
    score, cell = check_expression(score, "score"), check_expression(cell, "cell")
    about = comment([*description_of(fitted, (what,), alpha), said_of_output(words, what, names.output)])
    return tables_of(form, what, score, cell, tie_key, names, words, about)


# ------------------------------------------------------------------------------------------------- steps


def _of_cuts(cuts: EdgeCuts, score: str, key: str | None, style: str, dialect: Dialect, *, remedy: str) -> str:
    """One expression for the answer; `remedy` is for steps that would make it too long."""
    is_plain = style == "auto" and key is None
    if is_plain and dialect.array == "width_bucket":
        return _in_array(cuts, score, dialect)
    if len(cuts.column) > MOST_STEPS:
        raise InputError(f"has {len(cuts.column)} steps, and a tree at most {MOST_STEPS}", remedy, argument="model")
    return _by_cells(cuts, score, dialect) if is_plain and dialect.array == "cells" else _by_case(cuts, score, key, dialect)


def _by_case(cuts: EdgeCuts, score: str, key: str | None, dialect: Dialect) -> str:
    number = dialect.cast(score)
    return tree(dialect.literals(cuts.column), lambda place: _is_reached(cuts, place, number, key, dialect))


def _in_array(cuts: EdgeCuts, score: str, dialect: Dialect) -> str:
    """The entry at the number of edges that the score reaches, in the words of PostgreSQL; its arrays begin at 1."""
    answers = dialect.literals(cuts.column)
    if len(answers) == 1:
        return answers[0]
    edges = ", ".join(map(dialect.number, cuts.edges.tolist()))
    return f"(ARRAY[{', '.join(answers)}])[width_bucket({dialect.cast(score)}, ARRAY[{edges}]) + 1]"


# A node of a tree of CASE costs DuckDB as much as some lookups, so up to so many steps are a tree alone. Above, even cells of
# the scores say which edges are near: twice as many cells as edges, none with more edges than this.
FEW_STEPS, MOST_EDGES_OF_CELL = 32, 3


def _by_cells(cuts: EdgeCuts, score: str, dialect: Dialect) -> str:
    """A tree down to steps of about even widths, and there lists with the edges and the answers of each cell of scores."""
    number = dialect.cast(score)

    def among(first: int, last: int) -> str:
        """The answer where all edges before the step `first` are reached, and none from the step `last` on."""
        found = _in_cells(cuts.edges[first:last], cuts.column[first : last + 1], number, dialect)
        if found:
            return found
        if last - first < FEW_STEPS:
            part = cuts._replace(edges=cuts.edges[first:last], keys=cuts.keys[first:last], column=cuts.column[first : last + 1])
            return _by_case(part, score, None, dialect)
        middle = (first + last) // 2
        reached = _is_reached(cuts, middle, number, None, dialect)
        return f"CASE WHEN {reached} THEN {among(middle + 1, last)} ELSE {among(first, middle)} END"

    return among(0, len(cuts.edges))


def _in_cells(edges: Float64s, column: Array, number: str, dialect: Dialect) -> str | None:
    """The answer by the cell of the score; None where steps are few, or crowd in a cell.

    A score in a lower cell than an edge is below it, as no operation that makes cells ever falls, so in its cell a score is
    compared with the edges there. Where these are fewer than in others, the next ones stand in their places.
    """
    if len(edges) < FEW_STEPS:
        return None
    n_cells, width = 2 * len(edges), float(edges[-1]) - float(edges[0])
    scale = n_cells / width if width > 0.0 else math.inf
    if not 0.0 < scale < math.inf:
        return None
    cells = np.minimum(np.floor((edges - edges[0]) * scale), n_cells - 1).astype(np.int64)
    most = int(np.bincount(cells).max())
    if most > MOST_EDGES_OF_CELL:
        return None
    first = np.searchsorted(cells, np.arange(n_cells))
    offset = f"({number} - {dialect.number(float(edges[0]))}) * {dialect.number(scale)}"
    place = f"CAST(GREATEST(LEAST(floor({offset}), {n_cells - 1}), 0) AS INTEGER) + 1"

    def entry(entries: Array) -> str:
        # From a text, as DuckDB reads many constants slowly.
        kind = "INTEGER" if entries.dtype.kind == "i" else "DOUBLE"
        return f"(CAST('[{', '.join(dialect.literals(entries))}]' AS {kind}[]))[{place}]"

    near = [np.minimum(first + i, len(edges) - 1) for i in reversed(range(most))]
    tests = (f"WHEN {number} >= {entry(edges[at])} THEN {entry(column[at + 1])}" for at in near)
    return f"CASE {' '.join(tests)} ELSE {entry(column[first])} END"


def _is_reached(cuts: EdgeCuts, place: int, score: str, key: str | None, dialect: Dialect) -> str:
    edge = dialect.number(float(cuts.edges[place]))
    if key is None or cuts.keys[place] == 0:
        return f"{score} >= {edge}"
    reaches = f"{dialect.bytewise.format(key)} >= {dialect.text(hex_digits(int(cuts.keys[place])))}"
    # A score beyond the ends of the range is one that was moved there.
    if cuts.edges[place] == cuts.low:
        return f"{score} > {edge} OR {reaches}"
    if cuts.edges[place] == cuts.high:
        return f"{score} >= {edge} AND {reaches}"
    return f"{score} > {edge} OR ({score} = {edge} AND {reaches})"


# ------------------------------------------------------------------------------------------------- curves


def _check_curve(model: BinnedModel, what: str, alpha: float | None, key: str | None, style: str) -> None:
    """Refuse options that a model without steps does not have."""
    check_outputs((what,), alpha)
    if what != "value":
        require_steps(model)
    if style == "join":
        remedy = "leave it out"
        raise InputError(f"is 'join', and a model of kind {model.kind!r} has no steps for a table", remedy, argument="style")
    check_key_expression(key, needs_key=False)


def _of_curve(curve: Curve, kind: str, score: str, dialect: Dialect) -> str:
    """The value of a model without steps."""
    n_joints = 0 if curve.pieces is None else len(curve.pieces.edges)
    most = MOST_JOINTS_OF_SQLITE if dialect.name == "sqlite" and kind == "smooth" else MOST_STEPS
    if n_joints > most:
        problem = f"has pieces that meet in {n_joints} places, in one expression for {dialect.name} at most {most}"
        raise InputError(problem, "fit one with fewer knots, or score with predict", argument="model")
    number = dialect.cast(score)
    in_braces = number.replace("{", "{{").replace("}", "}}")
    others = {word: text.replace("{score}", in_braces) for word, text in OTHER_WORDS.get(dialect.name, {}).items()}
    write = partial(written, words=WORDS | others, number=dialect.number)
    if curve.clip is not None:
        number = moved(number, *map(dialect.number, curve.clip))

    def named(names: dict[str, str], bindings: tuple[Named, ...]) -> dict[str, str]:
        for each in bindings:
            names = names | {each.name: write(each.expression, names=names)}
        return names

    def answer(names: dict[str, str]) -> str:
        return write(curve.value, names=named(names, curve.after))

    names = named({"score": number}, curve.before)
    pieces = curve.pieces
    if pieces is None:
        return answer(names)
    numbers = zip(*(dialect.literals(np.asarray(column)) for column in pieces.columns.values()), strict=True)
    answers = [answer(names | dict(zip(pieces.columns, entries, strict=True))) for entries in numbers]
    place = names[pieces.at.name]
    return tree(answers, lambda edge: f"{place} >= {dialect.number(float(pieces.edges[edge]))}")


# ------------------------------------------------------------------------------------------------- vectors


def _refuse_of_vectors(what: str, alpha: float | None, key: str | None, style: str, table: str | None) -> None:
    """Refuse options that a vector model does not have."""
    check_outputs((what,), alpha)
    for argument, value, usual in (("what", what, "value"), ("style", style, "auto"), ("table", table, None)):
        if value != usual and (argument, value) != ("style", "tree"):
            problem = f"is {value!r}, and a vector model has values alone, by one query without tables"
            raise InputError(problem, "leave it out", argument=argument, value=value)
    check_key_expression(key, needs_key=False)


def _of_vectors(model: VectorModel, score: object, style: str, source: str | None, output: str | None, dialect: Dialect) -> str:
    names = names_of(None, source, output, what="value", digest=digest_of(model), dialect=dialect)
    is_cast = replace(dialect, as_double="{0}")

    def value_of(binary: BinnedModel, name: str) -> str:
        if binary.kind != "step":
            return _of_curve(curve_of(binary), binary.kind, name, is_cast)
        cuts = cuts_of(steps_of(binary).models[0], "value")
        return _of_cuts(cuts, name, None, style, is_cast, remedy="score with predict")

    return vector_query(model, check_columns(model, score), names, dialect, value_of)
