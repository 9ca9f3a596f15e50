"""A model, or a set of models, as a table, and the query that scores rows by it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fastbin._base.checks import check_choice
from fastbin._base.errors import InputTypeError
from fastbin._fit.calibrator import as_model_or_set
from fastbin.export.cuts import cuts_of
from fastbin.export.dialects import DIALECTS, Dialect, comment, said_of_output
from fastbin.export.expressions import check_expression, check_key_expression, sought
from fastbin.export.lookup import FilledTable, Lookup, SqlTables, names_of, require_tables, sql_tables, steps_table
from fastbin.export.steps import GREATEST, OF_UNKNOWN, OUTPUTS, SetSteps, Steps, description_of, digest_of, set_steps_of


def sql_set(
    models: object,
    score: str = "p",
    *,
    cell: str,
    key: str | None = None,
    dialect: str,
    what: str = "value",
    alpha: float | None = None,
    table: str | None = None,
    source: str = "scores",
    output: str | None = None,
) -> SqlTables:
    """Tables of the models of a set, and the SQL query that scores rows by the model of their cell.

    Parameters
    ----------
    models : ModelSet, or fitted calibrator of cells
        Of step models without randomised values.
    score, cell : str
        SQL expressions for the score and the cell, most often names of columns. The cell is an integer or a text, as the keys
        of the set are; texts are compared by their bytes, whatever the collation of the column. Where the keys are texts, a
        cell of another type is cast to one: 1 is '1'.
    key : str, optional
        An SQL expression for the key as 16 lower-case hexadecimal digits, needed if any model splits ties by key.
    dialect : {"duckdb", "postgresql", "sqlite", "spark", "bigquery", "snowflake"}
        The engine; the texts for the last two follow their documented syntax and were not run there.
    what, alpha
        As for `sql`; `alpha` is that of all bins of all models at once.
    table : str, optional
        The tables to be made are called ``{table}_steps`` and ``{table}_cells``; a schema may stand before a dot. By default
        ``fastbin_`` and the first eight digits of the set's digest, so that each set has its own.
    source : str
        The table with the rows, or a query in parentheses. Its rows are called ``s`` in the query. It is SQL that runs, as are
        `score`, `cell` and `key`: pass nothing on that others may write.
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
    One row for each step of each model, and one for each cell. DuckDB finds the step by an ASOF join, PostgreSQL and SQLite go
    down an index for each row, and the others join by the model's number and keep the step whose range holds the score, which
    takes as many comparisons as the model has steps. Statements have at most about 2**19 bytes, as engines limit these.

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
    fitted = as_model_or_set(models)
    if not fitted.is_set:
        raise InputTypeError("is one model", "use sql, which writes one expression", argument="models")
    steps = set_steps_of(fitted, (what,), alpha)
    names = names_of(table, source, output, what=what, digest=digest_of(fitted), dialect=words)
    key = check_key_expression(key, needs_key=steps.needs_key)
    lookup = _lookup(steps, what, check_expression(score, "score"), key, check_expression(cell, "cell"), words)
    about = comment([*description_of(fitted, (what,), alpha), said_of_output(words, what, names.output)])
    filled = [
        steps_table([(model, cuts_of(model, what)) for model in steps.models], names.steps, words),
        _cells_table(steps, names.cells, words),
    ]
    return sql_tables(filled, lookup, names, words, about)


def _lookup(steps: SetSteps, what: str, score: str, key: str | None, cell: str, dialect: Dialect) -> Lookup:
    if isinstance(steps.keys[0], str):
        cell = dialect.bytewise.format(dialect.as_text.format(cell))
        has_cell = f"{cell} <> {dialect.text('')}"
    else:
        cell = f"CASE WHEN {dialect.is_number.format(cell)} THEN {cell} END" if dialect.is_number else cell
        has_cell = f"{cell} IS NOT NULL"
    number, answer = "c.fastbin_model", "t.fastbin_answer"
    limits = ["c.fastbin_low", "c.fastbin_high"] if _moves(steps) else None
    if steps.unknown is not None:
        number = f"CASE WHEN {has_cell} THEN COALESCE({number}, {steps.unknown}) END"
        if limits is not None:
            ends = map(dialect.number, _limits(steps.models[steps.unknown]))
            limits = [f"COALESCE({name}, {end})" for name, end in zip(limits, ends, strict=True)]
        if what in OF_UNKNOWN:
            (other,) = dialect.literals(np.array([OF_UNKNOWN[what]]))
            answer = f"CASE WHEN c.fastbin_model IS NULL THEN {other} ELSE {answer} END"
    return Lookup(number, sought(score, key, limits, dialect), key and dialect.bytewise.format(key), answer, cell)


def _cells_table(steps: SetSteps, name: str, dialect: Dialect) -> FilledTable:
    has_text, moves = isinstance(steps.keys[0], str), _moves(steps)
    columns = {"fastbin_cell": dialect.string if has_text else dialect.integer, "fastbin_model": dialect.integer}
    columns |= {"fastbin_low": dialect.double, "fastbin_high": dialect.double} if moves else {}

    def rows() -> Iterator[str]:
        for key, number in zip(steps.keys, steps.model_of_key.tolist(), strict=True):
            entries = [dialect.text(key) if isinstance(key, str) else str(key), str(number)]
            entries += map(dialect.number, _limits(steps.models[number])) if moves else []
            yield f"({', '.join(entries)})"

    return FilledTable(name, columns, ("fastbin_cell",), tuple(rows()), dialect)


def _moves(steps: SetSteps) -> bool:
    """Whether moved scores have to be known: without keys, the first and the last step reach as far as scores do."""
    return any(model.needs_key and model.clip is not None for model in steps.models)


def _limits(model: Steps) -> tuple[float, float]:
    return model.clip or (-GREATEST, GREATEST)
