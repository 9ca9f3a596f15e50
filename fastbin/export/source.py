"""What the exports that are source code share: the steps of all models as flat tables, the search in them, and their printing.

C, Java and JavaScript write a loop, a comparison and a choice alike. So the search is stated once, here, and each language adds
its own words for a table, a number and an index.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastbin._errors import InputError, InputTypeError
from fastbin._typing import Array, Float64s, Int64s, UInt64s
from fastbin.export.steps import GREATEST, OUTPUTS, Steps, check_model, check_outputs, description_of, set_steps_of, steps_of
from fastbin.model import BinnedModel

WIDTH = 112

# What functions are called in languages where the value is that of `predict`.
METHODS = {"value": "predict", "bin": "predictBin", "lower": "predictLower", "upper": "predictUpper"}


class Cells(NamedTuple):
    """The keys of a set."""

    keys: tuple[int | str, ...]  # ascending
    models: Int64s  # the number of the model of each
    unknown: int  # the number of what scores the rows of all other keys; -1: nothing does

    @property
    def are_texts(self) -> bool:
        return isinstance(self.keys[0], str)


class Tables(NamedTuple):
    """The steps of M models, one after another, with E edges in all.

    A model owns the edges from ``first[model]`` up to ``first[model + 1]``, and as many entries of each column and one more,
    the first of which is at ``first[model] + model``.
    """

    edges: Float64s  # (E,)
    edge_keys: UInt64s | None  # (E,); without keys, a score lies at or above an edge where score >= edge
    columns: dict[str, Array]  # (E + M,)
    first: Int64s  # (M + 1,)
    # (M,) each: the scores that have an answer, and the range that they are moved into first.
    lows: Float64s
    highs: Float64s
    clip_lows: Float64s
    clip_highs: Float64s
    cells: Cells | None

    @property
    def n_edges(self) -> int:
        return len(self.edges)

    @property
    def clips(self) -> bool:
        return bool((self.clip_lows > self.lows).any() or (self.clip_highs < self.highs).any())


def tables_of(model: Any, outputs: Sequence[str] = ("value",), alpha: float | None = None) -> Tables:
    """The tables of a model or of a set, checked, with these outputs."""
    model = check_model(model)
    check_outputs(outputs, alpha)
    if isinstance(model, BinnedModel):
        return _tables([steps_of(model, outputs, alpha)], None)
    steps = set_steps_of(model, outputs, alpha)
    models, unknown = list(steps.models), -1
    if steps.unknown is not None:
        # Rows of other keys: one more model, which has the values of the pool's, and neither its bins nor its intervals.
        pool, unknown = models[steps.unknown], len(models)
        nothing = {"bin": -1, "lower": 0.0, "upper": 1.0}
        columns = {
            name: column if name == "value" else np.full_like(column, nothing[name]) for name, column in pool.columns.items()
        }
        models.append(pool._replace(columns=columns))
    return _tables(models, Cells(steps.keys, steps.model_of_key, unknown))


def _tables(models: Sequence[Steps], cells: Cells | None) -> Tables:
    needs_key = any(model.needs_key for model in models)
    edges = [model.edges if model.needs_key else model.thresholds for model in models]
    keys = [model.edge_keys if model.needs_key else np.zeros_like(model.edge_keys) for model in models]
    clips = [model.clip or (model.low, model.high) for model in models]
    return Tables(
        edges=np.concatenate(edges),
        edge_keys=np.concatenate(keys) if needs_key else None,
        columns={name: np.concatenate([model.columns[name] for model in models]) for name in models[0].columns},
        first=np.cumsum([0, *map(len, edges)]),
        lows=np.array([model.low for model in models]),
        highs=np.array([model.high for model in models]),
        clip_lows=np.array([low for low, _ in clips]),
        clip_highs=np.array([high for _, high in clips]),
        cells=cells,
    )


class Language(NamedTuple):
    """How a language says what the search needs."""

    integer: str  # what the declaration of a small integer begins with
    table: Callable[[str], str]  # the name of a table
    number: Callable[[float], str]  # a score as a literal, in the form in which scores are compared
    score: str  # the variable that is compared
    is_above: str  # whether it lies at or above the edge at place `at` of the tables {edges} and {keys}, which hold keys
    find: str  # the number of the model of a cell, or -1


def search(tables: Tables, language: Language) -> list[str]:
    """The statements that return the place of a row in the columns, or -1 where it has no answer."""
    score, table = language.score, language.table
    lines = []
    if tables.cells is not None:
        lines += [f"{language.integer} model = {language.find};", "if (model < 0) return -1;"]
    low, high = (limit_of(tables, name, language) for name in ("lows", "highs"))
    lines.append(f"if (!({score} >= {low} && {score} <= {high})) return -1;")
    if tables.clips:
        low, high = (limit_of(tables, name, language) for name in ("clip_lows", "clip_highs"))
        lines += [f"if ({score} < {low}) {score} = {low};", f"if ({score} > {high}) {score} = {high};"]
    if not tables.n_edges:
        return [*lines, "return 0;" if tables.cells is None else "return model;"]
    if tables.cells is None:
        lines.append(f"{language.integer} step = 0, left = {tables.n_edges};")
    else:
        first = table("first")
        lines.append(f"{language.integer} step = {first}[model], left = {first}[model + 1] - step;")
    is_above = f"{table('edges')}[at] <= {score}" if tables.edge_keys is None else language.is_above
    is_above = is_above.format(edges=table("edges"), keys=table("edge_keys"))
    return [
        *lines,
        "while (left > 0) {",
        f"  {language.integer} half = (left + 1) >> 1, at = step + half - 1;",
        f"  if ({is_above}) step += half;",
        "  left -= half;",
        "}",
        "return step;" if tables.cells is None else "return step + model;",
    ]


def limit_of(tables: Tables, name: str, language: Language) -> str:
    """A limit of scores: a literal where all models have the same, else an entry of its table."""
    limits = getattr(tables, name)
    return language.number(float(limits[0])) if _is_shared(limits) else f"{language.table(name)}[model]"


def tables_to_print(tables: Tables) -> dict[str, Array]:
    """The tables of numbers that `search` reads, and the columns, by name, in the order in which they are printed."""
    limits = ("lows", "highs", *(("clip_lows", "clip_highs") if tables.clips else ()))
    printed: dict[str, Array] = {}
    if tables.cells is not None:
        printed["models"] = tables.cells.models
        printed |= {name: getattr(tables, name) for name in limits if not _is_shared(getattr(tables, name))}
        if tables.n_edges:
            printed["first"] = tables.first
    if tables.n_edges:
        printed["edges"] = tables.edges
    if tables.edge_keys is not None:
        printed["edge_keys"] = tables.edge_keys
    return {**printed, **{f"{name}s": column for name, column in tables.columns.items()}}


def _is_shared(limits: Float64s) -> bool:
    return bool((limits == limits[0]).all())


def wrapped(entries: Iterable[str], indent: str = "  ") -> str:
    """Entries with commas between them, in lines of readable length."""
    lines = [indent]
    for entry in entries:
        if len(lines[-1]) + len(entry) + 2 > WIDTH and lines[-1].strip():
            lines.append(indent)
        lines[-1] += entry + ", "
    return "\n".join(line.rstrip() for line in lines).removesuffix(",")


def literal(text: str) -> str:
    """A text as a string of Java or JavaScript, in ASCII; line ends not by their numbers, which Java reads before all else."""
    escapes = {'"': r"\"", "\\": r"\\", "\n": r"\n", "\r": r"\r"}
    shown = ""
    for character in text:
        if character in escapes:
            shown += escapes[character]
        elif " " <= character <= "~" and character != "<":  # which might end a script within a page
            shown += character
        else:
            units = character.encode("utf-16-be").hex()
            shown += "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
    return f'"{shown}"'


def comment(model: Any, *said: str) -> str:
    """The first lines of an export: what `description_of` says, then `said`; nothing in it ends the comment, or begins one."""
    text = "\n".join([*description_of(check_model(model)), *said]).replace("\\", "/").replace("/*", "/ *").replace("*/", "* /")
    ascii_text = text.encode("ascii", "backslashreplace").decode()
    lines = [short for line in ascii_text.split("\n") for short in textwrap.wrap(line, WIDTH + 8) or [""]]
    return "/*\n" + "".join(f" * {line}".rstrip() + "\n" for line in lines) + " */\n"


def said_of_answers(tables: Tables, nothing: str) -> list[str]:
    """What there is to know of scores, cells and keys; `nothing` stands where there is no answer."""
    low, high = float(tables.lows[0]), float(tables.highs[0])
    no_answer = ["NaN or infinite"]
    if not (_is_shared(tables.lows) and _is_shared(tables.highs)):
        no_answer.append("outside the range of its model")
    elif (low, high) != (-GREATEST, GREATEST):
        no_answer.append(f"outside [{low!r}, {high!r}]")
    lines = [f"{nothing} where there is no answer: for a score that is {', or '.join(no_answer)}."]
    if tables.cells is not None and tables.cells.unknown < 0:
        lines[0] = lines[0][:-1] + ", and for an unknown cell."
    elif tables.cells is not None:
        lines.append("An unknown cell has the value of the pool, bin -1 and the interval [0, 1].")
    return lines


def check_name(name: object, argument: str, reserved: Iterable[str], language: str) -> str:
    """A name that the language takes."""
    if not isinstance(name, str):
        raise InputTypeError(f"{argument} is {name!r}; pass a name as text")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise InputError(f"{argument} is {name!r}; pass letters from a to z, digits and '_', with no digit first")
    if name in reserved:
        raise InputError(f"{argument} is {name!r}, a name that {language} has for itself; pass another one")
    return name


def asked(tables: Tables) -> list[str]:
    """The outputs of these tables, in the usual order."""
    return [name for name in OUTPUTS if name in tables.columns]
