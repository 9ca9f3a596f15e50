"""One SQL expression that scores a column, with the same bits as the model."""

from __future__ import annotations

from fastbin._errors import InputError, InputTypeError
from fastbin._scalars import check_choice
from fastbin.export.cuts import Cuts, cuts_of
from fastbin.export.dialects import DIALECTS, Dialect, comment
from fastbin.export.steps import OUTPUTS, Steps, check_model, description_of, steps_of
from fastbin.model import BinnedModel

STYLES = ("auto", "tree")

# A tree of more steps is refused: engines compile, or walk, all of it.
MOST_STEPS = 1000

KEY_DIGITS = 16


def sql(
    model: object,
    score: str = "p",
    *,
    key: str | None = None,
    dialect: str,
    what: str = "value",
    alpha: float | None = None,
    style: str = "auto",
) -> str:
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
    cuts = cuts_of(steps, what)
    if words.has_array and key is None and style == "auto":
        answer = in_array(cuts, score, words)
    else:
        answer = tree(cuts, score, key, words)
    return f"{comment(description_of(fitted))}\nCASE WHEN {is_answered(steps, score, key, words)} THEN {answer} END"


def check_expression(text: object, name: str) -> str:
    """An SQL expression as it stands in a longer one."""
    if not isinstance(text, str):
        raise InputTypeError(f"{name} is {text!r}; pass the text of an SQL expression, such as the name of a column")
    if not text.strip():
        raise InputError(f"{name} is {text!r}; pass an SQL expression, such as the name of a column")
    text = text.strip()
    return text if text.isidentifier() else f"({text})"


def check_key_expression(key: object, *, needs_key: bool) -> str | None:
    """The key's expression, where and only where the model compares keys."""
    if key is None:
        if needs_key:
            raise InputError(
                f"key is missing, and the model splits ties by key: pass an expression for the key as {KEY_DIGITS} lower-case "
                'hexadecimal digits, or fit with ties="whole", which needs no key'
            )
        return None
    if not needs_key:
        raise InputError(f"key is {key!r}, but the model compares no keys; leave it out")
    return check_expression(key, "key")


def hex_digits(key: int) -> str:
    """A key as text: of one width, so that texts order as their numbers."""
    return f"{key:0{KEY_DIGITS}x}"


def is_answered(steps: Steps, score: str, key: str | None, dialect: Dialect) -> str:
    """Which rows have an answer: not NULL, NaN, infinite or out of range, nor without a key of the right form."""
    number = dialect.cast(score)
    conditions = [dialect.is_score.format(score)] if dialect.is_score else []
    conditions += [f"{number} >= {dialect.number(steps.low)}", f"{number} <= {dialect.number(steps.high)}"]
    if key is not None:
        text = dialect.bytewise.format(key)
        conditions += [f"length({text}) = {KEY_DIGITS}", f"{text} = lower({text})"]
    return " AND ".join(conditions)


def tree(cuts: Cuts, score: str, key: str | None, dialect: Dialect) -> str:
    """A balanced tree of CASE: a row meets as many conditions as the logarithm of the number of steps, and no more."""
    if len(cuts.column) > MOST_STEPS:
        raise InputError(f"model has {len(cuts.column)} steps, and a tree at most {MOST_STEPS}; pass style='join'")
    answers = answers_of(cuts, dialect)

    def among(first: int, last: int) -> str:
        if first == last:
            return answers[first]
        middle = (first + last) // 2
        condition = _is_reached(cuts, middle, dialect.cast(score), key, dialect)
        return f"CASE WHEN {condition} THEN {among(middle + 1, last)} ELSE {among(first, middle)} END"

    return among(0, len(answers) - 1)


def in_array(cuts: Cuts, score: str, dialect: Dialect) -> str:
    """The entry at the number of edges that the score reaches, in the words of PostgreSQL; its arrays begin at 1."""
    answers = answers_of(cuts, dialect)
    if len(answers) == 1:
        return answers[0]
    edges = ", ".join(map(dialect.number, cuts.edges.tolist()))
    return f"(ARRAY[{', '.join(answers)}])[width_bucket({dialect.cast(score)}, ARRAY[{edges}]) + 1]"


def answers_of(cuts: Cuts, dialect: Dialect) -> list[str]:
    """The entries of the column as literals."""
    entries = cuts.column.tolist()
    return list(map(str if cuts.column.dtype.kind == "i" else dialect.number, entries))


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
