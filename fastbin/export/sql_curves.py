"""Interpolated and smooth models as one SQL expression, in the order of operations of C.

SQL gives no names to parts of an expression, so what is used again is written again.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from fastbin._base.errors import InputError
from fastbin.export.curves import Curve, Expression, Named, curve_of, written
from fastbin.export.dialects import Dialect, comment, said_of_output
from fastbin.export.expressions import MOST_STEPS, is_answered, tree
from fastbin.export.steps import description_of
from fastbin.model import BinnedModel

WORDS = {
    "+": "({} + {})", "-": "({} - {})", "*": "({} * {})", "/": "({} / {})", "<": "({} < {})", "=": "({} = {})",
    "least": "LEAST({}, {})", "greatest": "GREATEST({}, {})", "exp": "exp({})",
    # Some engines stop at the logarithm of 0, even where only a place among edges is asked for; at NULL none does.
    "log": "ln(NULLIF({}, 0))",
    "choose": "CASE WHEN {} THEN {} ELSE {} END",
}  # fmt: skip
OTHER_WORDS = {
    "sqlite": {"least": "min({}, {})", "greatest": "max({}, {})"},
    # Polars multiplies by the inverse of a constant, which is another number; this sum is no constant to it.
    "polars": {"/": "({} / ({} + (0.0 * {score})))"},
}

# Splines nest deeply, and the parser of SQLite has a stack of 100.
MOST_JOINTS_OF_SQLITE = 11

ABOUT = {
    "linear": "Interpolated: the bits of the model where arithmetic is that of IEEE 754",
    "smooth": "Smooth: that of the model but for the last bits, as exp and ln are those of the engine",
}


def sql_of_curve(model: BinnedModel, score: str, dialect: Dialect) -> str:
    """The value of a model without steps."""
    curve = curve_of(model)
    n_joints = 0 if curve.pieces is None else len(curve.pieces.edges)
    most = MOST_JOINTS_OF_SQLITE if dialect.name == "sqlite" and model.kind == "smooth" else MOST_STEPS
    if n_joints > most:
        problem = f"has pieces that meet in {n_joints} places, in one expression for {dialect.name} at most {most}"
        raise InputError(problem, "fit one with fewer knots, or score with predict", argument="model")
    answered = is_answered(score, None, curve.low, curve.high, dialect)
    about = comment([*description_of(model), ABOUT[model.kind], said_of_output(dialect, "value")])
    return f"{about}\nCASE WHEN {answered} THEN {_value(curve, score, dialect)} ELSE NULL END"


def _value(curve: Curve, score: str, dialect: Dialect) -> str:
    number = dialect.cast(score)
    in_braces = number.replace("{", "{{").replace("}", "}}")
    others = {word: text.replace("{score}", in_braces) for word, text in OTHER_WORDS.get(dialect.name, {}).items()}
    write = partial(written, words=WORDS | others, number=dialect.number)
    if curve.clip is not None:
        low, high = map(dialect.number, curve.clip)
        number = f"CASE WHEN {number} < {low} THEN {low} WHEN {number} > {high} THEN {high} ELSE {number} END"

    def named(names: dict[str, str], bindings: tuple[Named, ...]) -> dict[str, str]:
        for each in bindings:
            names = names | {each.name: write(each.expression, names=names)}
        return names

    def answer(names: dict[str, str], value: Expression = curve.value) -> str:
        return write(value, names=named(names, curve.after))

    names = named({"score": number}, curve.before)
    pieces = curve.pieces
    if pieces is None:
        return answer(names)
    numbers = zip(*(dialect.literals(np.asarray(column)) for column in pieces.columns.values()), strict=True)
    answers = [answer(names | dict(zip(pieces.columns, entries, strict=True))) for entries in numbers]
    place = names[pieces.at.name]
    return tree(answers, lambda edge: f"{place} >= {dialect.number(float(pieces.edges[edge]))}")
