"""The expressions that users give for scores and keys, and which of their rows have an answer."""

from __future__ import annotations

from collections.abc import Sequence

from fastbin._errors import InputError, InputTypeError
from fastbin.export.dialects import Dialect

KEY_DIGITS = 16


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


def is_answered(score: str, key: str | None, low: float, high: float, dialect: Dialect) -> str:
    """Which rows have an answer: not NULL, NaN, infinite or out of range, nor without a key of the right form."""
    number = dialect.cast(score)
    conditions = [dialect.is_score.format(score)] if dialect.is_score else []
    conditions += [f"{number} >= {dialect.number(low)}", f"{number} <= {dialect.number(high)}"]
    if key is not None:
        text = dialect.bytewise.format(key)
        conditions += [f"length({text}) = {KEY_DIGITS}", f"{text} = lower({text})"]
    return " AND ".join(conditions)


def moved(score: str, answered: str, limits: Sequence[str] | None, dialect: Dialect) -> str:
    """The score as a double where the row has an answer, moved between the limits; else NULL."""
    number = dialect.cast(score)
    if limits is not None:
        low, high = limits
        number = f"CASE WHEN {number} < {low} THEN {low} WHEN {number} > {high} THEN {high} ELSE {number} END"
    return f"CASE WHEN {answered} THEN {number} END"
