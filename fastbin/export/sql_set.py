"""A model, or a set of models, as a table, and the query that scores rows by it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fastbin._errors import InputTypeError
from fastbin._scalars import check_choice
from fastbin.export.cuts import cuts_of
from fastbin.export.dialects import DIALECTS, Dialect, comment
from fastbin.export.expressions import check_expression, check_key_expression, sought
from fastbin.export.lookup import Lookup, SqlTables, names_of, query_of, require_tables, statements, steps_table
from fastbin.export.steps import GREATEST, OUTPUTS, SetSteps, Steps, check_model, description_of, set_steps_of
from fastbin.model_set import ModelSet

# What rows of unknown cells get beside the value of the pool's model.
UNKNOWN = {"bin": -1, "lower": 0.0, "upper": 1.0}


def sql_set(
    models: object,
    score: str = "p",
    *,
    cell: str,
    key: str | None = None,
    dialect: str,
    what: str = "value",
    alpha: float | None = None,
    table: str = "fastbin",
    source: str = "scores",
) -> SqlTables:
    """..."""
    words = DIALECTS[check_choice(dialect, "dialect", tuple(DIALECTS))]
    require_tables(words)
    check_choice(what, "what", OUTPUTS)
    fitted = check_model(models)
    if not isinstance(fitted, ModelSet):
        raise InputTypeError("models is one model; use sql, which writes one expression")
    steps = set_steps_of(fitted, (what,), alpha)
    names = names_of(table, source)
    key = check_key_expression(key, needs_key=steps.needs_key)
    lookup = _lookup(steps, what, check_expression(score, "score"), key, check_expression(cell, "cell"), words)
    about = comment(description_of(fitted))
    made = [
        *steps_table([(model, cuts_of(model, what)) for model in steps.models], names.steps, words),
        *_cells_table(steps, names.cells, words),
    ]
    return SqlTables((f"{about}\n{made[0]}", *made[1:]), f"{about}\n{query_of(lookup, what, names, words)}")


def _lookup(steps: SetSteps, what: str, score: str, key: str | None, cell: str, dialect: Dialect) -> Lookup:
    if isinstance(steps.keys[0], str):
        cell = dialect.bytewise.format(cell)
        has_cell = f"{cell} <> {dialect.text('')}"
    else:
        has_cell = f"{cell} IS NOT NULL"
    number, answer = "c.fastbin_model", "t.fastbin_answer"
    limits = ["c.fastbin_low", "c.fastbin_high"] if _moves(steps) else None
    if steps.unknown is not None:
        number = f"CASE WHEN {has_cell} THEN COALESCE({number}, {steps.unknown}) END"
        if limits is not None:
            ends = map(dialect.number, _limits(steps.models[steps.unknown]))
            limits = [f"COALESCE({name}, {end})" for name, end in zip(limits, ends, strict=True)]
        if what in UNKNOWN:
            (other,) = dialect.literals(np.array([UNKNOWN[what]]))
            answer = f"CASE WHEN c.fastbin_model IS NULL THEN {other} ELSE {answer} END"
    return Lookup(number, sought(score, key, limits, dialect), key and dialect.bytewise.format(key), answer, cell)


def _cells_table(steps: SetSteps, name: str, dialect: Dialect) -> Iterator[str]:
    has_text, moves = isinstance(steps.keys[0], str), _moves(steps)
    columns = {"fastbin_cell": dialect.string if has_text else dialect.integer, "fastbin_model": dialect.integer}
    columns |= {"fastbin_low": dialect.double, "fastbin_high": dialect.double} if moves else {}

    def rows() -> Iterator[str]:
        for key, number in zip(steps.keys, steps.model_of_key.tolist(), strict=True):
            entries = [dialect.text(key) if isinstance(key, str) else str(key), str(number)]
            entries += map(dialect.number, _limits(steps.models[number])) if moves else []
            yield f"({', '.join(entries)})"

    return statements(name, columns, ["fastbin_cell"], rows(), dialect)


def _moves(steps: SetSteps) -> bool:
    """Whether moved scores have to be known: without keys, the first and the last step reach as far as scores do."""
    return any(model.needs_key and model.clip is not None for model in steps.models)


def _limits(model: Steps) -> tuple[float, float]:
    return model.clip or (-GREATEST, GREATEST)
