"""One SQL expression that scores a column, with the same bits as the model."""

from __future__ import annotations

from typing import Literal, overload

from fastbin._errors import InputError, InputTypeError
from fastbin._scalars import check_choice
from fastbin.export.cuts import Cuts, cuts_of
from fastbin.export.dialects import DIALECTS, Dialect, comment
from fastbin.export.expressions import check_expression, check_key_expression, hex_digits, is_answered, sought
from fastbin.export.lookup import Lookup, Names, SqlTables, names_of, query_of, require_tables, steps_table
from fastbin.export.steps import OUTPUTS, Steps, check_model, description_of, steps_of
from fastbin.model import BinnedModel

STYLES = ("auto", "tree", "join")

# A tree of more steps is refused: engines compile, or walk, all of it.
MOST_STEPS = 1000


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
    table: str = "fastbin",
    source: str = "scores",
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
    table: str = "fastbin",
    source: str = "scores",
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
    table: str = "fastbin",
    source: str = "scores",
) -> str | SqlTables:
    """One SQL expression that scores a column, with the same bits as `predict`.

    Parameters
    ----------
    model : BinnedModel or fitted calibrator
        A step model, as all binning methods give, without randomised values.
    score : str
        An SQL expression for the score, most often the name of a column, quoted where its engine asks for that. It is cast to
        a double, so that floats of 32 bits and integers give what `predict` gives for them; a decimal is cast as its engine
        casts. It stands in the text several times: compute long expressions before.
    key : str, optional
        An SQL expression for the key as 16 lower-case hexadecimal digits, such as ``f"{key:016x}"`` gives; for models that
        split ties by key, and for these alone.
    dialect : {"duckdb", "postgresql", "sqlite", "spark", "polars", "bigquery", "snowflake"}
        The engine. "polars" is for ``pl.sql_expr`` and ``SQLContext``. The texts for BigQuery and Snowflake follow their
        documented syntax and were not run there; all others are tested in their engines.
    what : {"value", "bin", "lower", "upper"}
        The calibrated probability, the number of the bin, or an end of its interval at `alpha`.
    alpha : float, optional
        The chance that one of the intervals of all bins misses, 0.1 where it is left out; with "lower" and "upper" alone.
    style : {"auto", "tree"}
        "tree" is a balanced tree of CASE. "auto" is the same, but in PostgreSQL, for models that compare no keys, an array in
        which `width_bucket` finds the place.

    Returns
    -------
    str
        The text of one expression. It begins with a comment that has the digest of the model's file, its size and what is
        promised. A row gets NULL where the score is NULL, NaN, infinite or, in models that refuse these, out of range, or
        where the key is NULL or has another form. Models that clip move the score into their range.

    Raises
    ------
    InputError
        An unknown dialect, output or style; a key that is missing or not needed; a model that randomises its values, that
        has no steps, or that has more than 1,000; an `alpha` that is not needed or out of range.
    InputTypeError
        A set of models, which `sql_set` writes, or something else that is no model; an expression that is no text.

    Notes
    -----
    A row meets about log2(steps) comparisons; the text has about 90 bytes a step, 180 with keys. -0.0 and 0.0 are equal
    everywhere. In SQLite a score must be stored as a number: a text gives NULL, and doubles are written as quotients of
    integers, since SQLite reads some decimals inexactly.

    Examples
    --------
    >>> import sqlite3
    >>> import fastbin as fb
    >>> calibrator = fb.UniformMassBinning(2).fit([0.1, 0.2, 0.3, 0.6, 0.7, 0.9], [0, 0, 0, 1, 0, 1])
    >>> probability = fb.export.sql(calibrator, "score", dialect="sqlite")
    >>> rows = "(SELECT 0.25 AS score UNION ALL SELECT 0.8 UNION ALL SELECT 1.5 UNION ALL SELECT NULL)"
    >>> sqlite3.connect(":memory:").execute(f"SELECT {probability} FROM {rows}").fetchall()
    [(0.0,), (0.5,), (None,), (None,)]
    """
    words = DIALECTS[check_choice(dialect, "dialect", tuple(DIALECTS))]
    check_choice(what, "what", OUTPUTS)
    check_choice(style, "style", STYLES)
    fitted = check_model(model)
    if not isinstance(fitted, BinnedModel):
        raise InputTypeError("model is a set of models; use sql_set, which writes a table and its query")
    steps = steps_of(fitted, (what,), alpha)
    score = check_expression(score, "score")
    key = check_key_expression(key, needs_key=steps.needs_key)
    about = comment(description_of(fitted))
    if style == "join":
        return _tables(steps, what, score, key, names_of(table, source), words, about)
    cuts = cuts_of(steps, what)
    in_array = words.has_array and style == "auto" and key is None
    answer = place_in_array(cuts, score, words) if in_array else tree(cuts, score, key, words)
    return f"{about}\nCASE WHEN {is_answered(score, key, steps.low, steps.high, words)} THEN {answer} END"


def tree(cuts: Cuts, score: str, key: str | None, dialect: Dialect) -> str:
    """A balanced tree of CASE: a row meets as many conditions as the logarithm of the number of steps, and no more."""
    if len(cuts.column) > MOST_STEPS:
        raise InputError(f"model has {len(cuts.column)} steps, and a tree at most {MOST_STEPS}; pass style='join'")
    answers = dialect.literals(cuts.column)

    def among(first: int, last: int) -> str:
        if first == last:
            return answers[first]
        middle = (first + last) // 2
        condition = _is_reached(cuts, middle, dialect.cast(score), key, dialect)
        return f"CASE WHEN {condition} THEN {among(middle + 1, last)} ELSE {among(first, middle)} END"

    return among(0, len(answers) - 1)


def place_in_array(cuts: Cuts, score: str, dialect: Dialect) -> str:
    """The entry at the number of edges that the score reaches, in the words of PostgreSQL; its arrays begin at 1."""
    answers = dialect.literals(cuts.column)
    if len(answers) == 1:
        return answers[0]
    edges = ", ".join(map(dialect.number, cuts.edges.tolist()))
    return f"(ARRAY[{', '.join(answers)}])[width_bucket({dialect.cast(score)}, ARRAY[{edges}]) + 1]"


def _is_reached(cuts: Cuts, place: int, score: str, key: str | None, dialect: Dialect) -> str:
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


def _tables(steps: Steps, what: str, score: str, key: str | None, names: Names, dialect: Dialect, about: str) -> SqlTables:
    """The table of one model, whose number is 0, and its query."""
    require_tables(dialect)
    limits = list(map(dialect.number, steps.clip)) if steps.clip is not None and key is not None else None
    found = sought(score, key, limits, dialect)
    # The number stands behind a condition as BigQuery joins by columns of both sides alone.
    number = f"CASE WHEN {found} IS NOT NULL THEN 0 END"
    lookup = Lookup(number, found, key and dialect.bytewise.format(key), "t.fastbin_answer")
    made = list(steps_table([(steps, cuts_of(steps, what))], names.steps, dialect))
    return SqlTables((f"{about}\n{made[0]}", *made[1:]), f"{about}\n{query_of(lookup, what, names, dialect)}")
