"""The expressions that users give for scores and keys, and which of their rows have an answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from fastbin._base.errors import InputError, InputTypeError
from fastbin.export.dialects import Dialect
from fastbin.export.steps import GREATEST

KEY_DIGITS = 16

# A tree of more steps is refused: engines compile, or walk, all of it.
MOST_STEPS = 1000


def check_expression(text: object, name: str) -> str:
    """An SQL expression as it stands in a longer one."""
    if not isinstance(text, str):
        remedy = "pass the text of an SQL expression, such as the name of a column"
        raise InputTypeError(None, remedy, argument=name, value=text)
    if not text.strip():
        raise InputError(None, "pass an SQL expression, such as the name of a column", argument=name, value=text)
    text = text.strip()
    return text if text.isidentifier() else f"({text})"


# A name of an identifier's parts, plain or in quotes; what a query may hold between its parentheses: texts and names in quotes,
# and anything else but semicolons and the marks of comments.
QUOTED = r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`"""
PART_OF_NAME = r"""(?:[^\W\d][\w$]*(?:-[\w$]+)*|"(?:[^"]|"")+"|`[^`]+`)"""
NAME_OF_TABLE = re.compile(rf"{PART_OF_NAME}(?:\.{PART_OF_NAME})*")
PIECE_OF_QUERY = re.compile(rf"{QUOTED}|[()]|(?!--|/\*)[^'\"`;()]")


def check_source(source: object) -> str:
    """The rows of the user as they stand after FROM: the name of a table, or one query in parentheses."""
    if isinstance(source, str):
        text = source.strip()
        if NAME_OF_TABLE.fullmatch(text) or _is_one_query(text):
            return text
    remedy = "pass the name of the table that holds the scores, or a query in parentheses, without comments and semicolons"
    raise InputError(None, remedy, argument="source", value=source)


def _is_one_query(text: str) -> bool:
    """Whether the parenthesis that a text begins with ends with it, all of it in pieces that belong to one query."""
    at = depth = 0
    while piece := PIECE_OF_QUERY.match(text, at):
        depth += {"(": 1, ")": -1}.get(piece.group(), 0)
        at = piece.end()
        if depth <= 0:
            break
    return at == len(text) > 0 and text[0] == "(" and depth == 0


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
        raise InputError(f"is {key!r}, but the model compares no keys", "leave it out", argument="key", value=key)
    return check_expression(key, "key")


def hex_digits(key: int) -> str:
    """A key as text: of one width, so that texts order as their numbers."""
    return f"{key:0{KEY_DIGITS}x}"


def is_answered(score: str, key: str | None, low: float, high: float, dialect: Dialect) -> str:
    """Which rows have an answer: not NULL, NaN, infinite or out of range, nor without a key of the right form."""
    return " AND ".join([*_has_form(score, key, dialect), *_is_within(score, low, high, dialect)])


def sought(score: str, key: str | None, limits: Sequence[str] | None, dialect: Dialect) -> str:
    """What is looked up in a table: the score as a double, moved between the limits; NULL for rows of another form.

    Without limits infinite scores, and NaN, need no guard, as no step reaches so far.
    """
    number, conditions = dialect.cast(score), _has_form(score, key, dialect)
    if limits is not None:
        low, high = limits
        conditions += _is_within(score, -GREATEST, GREATEST, dialect)
        number = f"CASE WHEN {number} < {low} THEN {low} WHEN {number} > {high} THEN {high} ELSE {number} END"
    return f"CASE WHEN {' AND '.join(conditions)} THEN {number} END" if conditions else number


def _has_form(score: str, key: str | None, dialect: Dialect) -> list[str]:
    conditions = [dialect.is_number.format(score)] if dialect.is_number else []
    if key is not None:
        text = dialect.bytewise.format(key)
        others = dialect.trimmed.format(text, dialect.text("0123456789abcdef"))
        conditions += [f"length({text}) = {KEY_DIGITS}", f"{others} = {dialect.text('')}"]
    return conditions


def _is_within(score: str, low: float, high: float, dialect: Dialect) -> list[str]:
    number = dialect.cast(score)
    return [f"{number} >= {dialect.number(low)}", f"{number} <= {dialect.number(high)}"]


def tree(answers: Sequence[str], is_reached: Callable[[int], str]) -> str:
    """Balanced CASE: the answer at the number of edges that are reached; a row meets the logarithm of their number.

    `is_reached` gives the condition of an edge. A row that reaches one reaches all before it.
    """

    def among(first: int, last: int) -> str:
        if first == last:
            return answers[first]
        middle = (first + last) // 2
        return f"CASE WHEN {is_reached(middle)} THEN {among(middle + 1, last)} ELSE {among(first, middle)} END"

    return among(0, len(answers) - 1)
