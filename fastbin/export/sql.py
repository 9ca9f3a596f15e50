"""One SQL expression that scores a column, with the same bits as the model."""

from __future__ import annotations

from typing import Literal, overload

from fastbin._base.checks import check_choice
from fastbin._base.errors import InputError, InputTypeError
from fastbin._fit.calibrator import as_model_or_set
from fastbin.export.cuts import EdgeCuts, cuts_of
from fastbin.export.dialects import DIALECTS, Dialect, comment, said_of_output
from fastbin.export.expressions import MOST_STEPS, check_expression, check_key_expression, hex_digits, is_answered, sought, tree
from fastbin.export.lookup import Lookup, SqlTables, TableNames, names_of, require_tables, sql_tables, steps_table
from fastbin.export.sql_curves import sql_of_curve
from fastbin.export.steps import OUTPUTS, Steps, check_outputs, description_of, digest_of, require_steps, steps_of
from fastbin.model import BinnedModel

STYLES = ("auto", "tree", "join")


@overload
def sql(
    model: object,
    score: str = "p",
    *,
    key: str | None = None,
    dialect: str,
    what: str = "value",
    alpha: float | None = None,
    style: Literal["auto", "tree"] = "auto",
) -> str: ...


@overload
def sql(
    model: object,
    score: str = "p",
    *,
    key: str | None = None,
    dialect: str,
    what: str = "value",
    alpha: float | None = None,
    style: Literal["join"],
    table: str | None = None,
    source: str | None = None,
    output: str | None = None,
) -> SqlTables: ...


def sql(
    model: object,
    score: str = "p",
    *,
    key: str | None = None,
    dialect: str,
    what: str = "value",
    alpha: float | None = None,
    style: str = "auto",
    table: str | None = None,
    source: str | None = None,
    output: str | None = None,
) -> str | SqlTables:
    """One SQL expression that scores a column, with the same bits as `predict`; or a table and the query that reads it.

    Parameters
    ----------
    model : BinnedModel or fitted calibrator
        Without randomised values. A model without steps, interpolated or smooth, has the output "value" alone.
    score : str
        An SQL expression for the score, most often the name of a column, quoted where its engine asks for that. It is cast to
        a double, so that floats of 32 bits and integers get what `predict` gives for them; a decimal, or a text, is cast as
        its engine does that. It stands in the text many times: compute long expressions, and random ones, before.
    key : str, optional
        An SQL expression for the key as 16 lower-case hexadecimal digits, such as ``f"{key:016x}"`` gives; for models that
        split ties by key, and for these alone.
    dialect : {"duckdb", "postgresql", "sqlite", "spark", "bigquery", "snowflake", "polars"}
        The engine. "polars" is for ``pl.sql_expr`` and ``pl.SQLContext``. The texts for BigQuery and Snowflake follow their
        documented syntax and were not run there; all others are tested in their engines.
    what : {"value", "bin", "lower", "upper"}
        The calibrated probability, the number of the bin, or an end of its interval at `alpha`.
    alpha : float, optional
        The chance that one of the intervals of all bins misses, 0.1 where it is left out; with "lower" and "upper" alone.
    style : {"auto", "tree", "join"}
        "tree" is a balanced tree of CASE, of at most 1,000 steps. "auto" is the same, but in PostgreSQL, for models that
        compare no keys, an array of any length in which ``width_bucket`` finds the place. "join" looks steps up in a table,
        for models of more steps, or where it is faster: in DuckDB from about 300 steps on.
    table, source, output : str, optional
        For "join" alone: the table to be made is called ``{table}_steps``, by default ``fastbin_`` and the first eight digits
        of the model's digest, so that each model has its own. `source` is the table with the scores ("scores" where it is left
        out), or a query in parentheses; its rows are called ``s`` in the query. It is SQL that runs, as are `score` and `key`:
        pass nothing on that others may write. `output` is the name of the column with the
        answers, by default ``fastbin_`` and `what`, such as ``fastbin_value``.

    Returns
    -------
    str or SqlTables
        The text of one expression; for "join" the statements that make the table, and a query that gives all columns of
        `source`, and then `output`, in no order. Both begin with a comment that has the digest of the model's file, its size,
        what is promised, the dialect and `what`.

        A row gets NULL where the score is NULL, NaN, infinite or, in models that refuse these, out of range, or where the key
        is NULL or has another form. Models that clip move the score into their range. -0.0 and 0.0 are equal.

    Raises
    ------
    InputError
        An unknown dialect, output or style; an empty expression; a key that is missing or not needed; a model that randomises
        its values, that has no bins to ask for, or too many steps; an `alpha` that is not needed or out of range; a dialect
        without tables for "join".
    InputTypeError
        A set of models, which `sql_set` writes, or something else that is no model; an expression that is no text.
    GuaranteeError
        For the ends of intervals of a model that has none.

    See Also
    --------
    sql_set : sets of models.
    verify : runs an export and compares its answers.

    Notes
    -----
    A row meets about log2(steps) comparisons; the text has about 90 bytes a step, 180 with keys. Steps with the same answer as
    the one before are left out.

    Numbers are written so that each engine reads back all 64 bits: with 17 digits, and for SQLite, which reads some of these
    wrongly, as quotients of integers. In SQLite a score must be stored as a number: a text has no answer. Spark interprets
    expressions of more than about 500 steps, and logs that it could not compile them. For other drivers than those of Python
    it may matter that no text here has a parameter mark.

    Interpolated values have the same bits; smooth ones differ in the last bits where the engine's exp and ln do. PostgreSQL
    stops where a product of theirs overflows or underflows, for scores beyond 1e290 or within 1e-290 of 0.

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
    fitted = as_model_or_set(model)
    if fitted.is_set:
        raise InputTypeError("is a set of models", "use sql_set, which writes a table and its query", argument="model")
    score = check_expression(score, "score")
    if style != "join":
        for argument, name in (("table", table), ("source", source), ("output", output)):
            if name is not None:
                problem = f"is {name!r}, and only style='join' makes a table and a query"
                raise InputError(problem, "leave it out", argument=argument, value=name)
    if fitted.kind != "step" and fitted.delta == 0.0:
        _check_curve(fitted, what, alpha, key, style)
        return sql_of_curve(fitted, score, words)
    steps = steps_of(fitted, (what,), alpha)
    key = check_key_expression(key, needs_key=steps.needs_key)
    about = list(description_of(fitted, (what,), alpha))
    if style == "join":
        names = names_of(table, source, output, what=what, digest=digest_of(fitted), dialect=words)
        return _tables(steps, what, score, key, names, words, comment([*about, said_of_output(words, what, names.output)]))
    cuts = cuts_of(steps, what)
    has_array = words.has_array and style == "auto" and key is None
    answer = _in_array(cuts, score, words) if has_array else _by_case(cuts, score, key, words)
    answered = is_answered(score, key, steps.low, steps.high, words)
    return f"{comment([*about, said_of_output(words, what)])}\nCASE WHEN {answered} THEN {answer} ELSE NULL END"


def _check_curve(model: BinnedModel, what: str, alpha: float | None, key: str | None, style: str) -> None:
    """What a model without steps can be asked for."""
    check_outputs((what,), alpha)
    if what != "value":
        require_steps(model)
    if style == "join":
        remedy = "leave it out"
        raise InputError(f"is 'join', and a model of kind {model.kind!r} has no steps for a table", remedy, argument="style")
    check_key_expression(key, needs_key=False)


def _by_case(cuts: EdgeCuts, score: str, key: str | None, dialect: Dialect) -> str:
    if len(cuts.column) > MOST_STEPS:
        remedy = "pass style='join'" if dialect.lookup else "score with predict"
        raise InputError(f"has {len(cuts.column)} steps, and a tree at most {MOST_STEPS}", remedy, argument="model")
    number = dialect.cast(score)
    return tree(dialect.literals(cuts.column), lambda place: _is_reached(cuts, place, number, key, dialect))


def _in_array(cuts: EdgeCuts, score: str, dialect: Dialect) -> str:
    """The entry at the number of edges that the score reaches, in the words of PostgreSQL; its arrays begin at 1."""
    answers = dialect.literals(cuts.column)
    if len(answers) == 1:
        return answers[0]
    edges = ", ".join(map(dialect.number, cuts.edges.tolist()))
    return f"(ARRAY[{', '.join(answers)}])[width_bucket({dialect.cast(score)}, ARRAY[{edges}]) + 1]"


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


def _tables(steps: Steps, what: str, score: str, key: str | None, names: TableNames, dialect: Dialect, about: str) -> SqlTables:
    """The table of one model, whose number is 0, and its query."""
    require_tables(dialect)
    limits = list(map(dialect.number, steps.clip)) if steps.clip is not None and key is not None else None
    found = sought(score, key, limits, dialect)
    # BigQuery joins by columns of both sides alone; elsewhere a number is faster.
    number = f"CASE WHEN {found} IS NOT NULL THEN 0 END" if dialect.lookup == "range" else "0"
    lookup = Lookup(number, found, key and dialect.bytewise.format(key), "t.fastbin_answer")
    return sql_tables([steps_table([(steps, cuts_of(steps, what))], names.steps, dialect)], lookup, names, dialect, about)
