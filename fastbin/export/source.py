"""The parts that exports as source code share: flat tables, the search among their edges, curves as arithmetic, functions.

C, Java and JavaScript write a loop, a comparison, a choice and a function alike. So these are stated once, here, and each
language says in its `Language` what it calls things, how it prints a table, and how it finds the model of a cell.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s, UInt64s
from fastbin._base.errors import InputError, InputTypeError
from fastbin._fit.rows import GREATEST
from fastbin.export.form import (
    INTEGERS,
    OF_UNKNOWN,
    OUTPUTS,
    Curve,
    Expression,
    Name,
    Named,
    Operation,
    Steps,
    description_of,
    form_of,
    parts_of,
    written,
)
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet

WIDTH = 112

# What functions are called in languages where the value is that of `predict`.
METHODS = {
    "value": "predict", "bin": "predictBin", "lower": "predictLower", "upper": "predictUpper",
    "lower_if_rising": "predictLowerIfRising", "upper_if_rising": "predictUpperIfRising", "decision": "decide",
}  # fmt: skip

# ------------------------------------------------------------------------------------------------- tables


class SetCells(NamedTuple):
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
    cells: SetCells | None

    @property
    def clips(self) -> bool:
        return bool((self.clip_lows > self.lows).any() or (self.clip_highs < self.highs).any())


def source_of(model: BinnedModel | ModelSet, outputs: Sequence[str], alpha: float | None) -> Tables | Curve:
    """The tables or the curve of a model or a set."""
    form = form_of(model, outputs, alpha)
    if isinstance(form, Curve):
        return form
    models, unknown = list(form.models), -1
    if form.unknown is not None:
        # Rows of other keys: one more model, which has the values of the pool's, and neither its bins nor its intervals.
        pool, unknown = models[form.unknown], len(models)
        columns = {
            name: column if name == "value" else np.full_like(column, OF_UNKNOWN[name]) for name, column in pool.columns.items()
        }
        models.append(pool._replace(columns=columns))
    return _tables(models, SetCells(form.keys, form.model_of_key, unknown) if form.keys else None)


def _tables(models: Sequence[Steps], cells: SetCells | None) -> Tables:
    needs_key = any(model.needs_key for model in models)
    clips = [model.clip or (model.low, model.high) for model in models]
    return Tables(
        edges=np.concatenate([model.edges for model in models]),
        edge_keys=np.concatenate([model.edge_keys for model in models]) if needs_key else None,
        columns={name: np.concatenate([model.columns[name] for model in models]) for name in models[0].columns},
        first=np.cumsum([0, *(len(model.edges) for model in models)]),
        lows=np.array([model.low for model in models]),
        highs=np.array([model.high for model in models]),
        clip_lows=np.array([low for low, _ in clips]),
        clip_highs=np.array([high for _, high in clips]),
        cells=cells,
    )


def tables_to_print(source: Tables | Curve) -> dict[str, Array]:
    """The tables of numbers that are read, by name, in the order in which they are printed."""
    if isinstance(source, Curve):
        pieces = source.pieces
        return {} if pieces is None or not len(pieces.edges) else {"edges": pieces.edges, **pieces.columns}
    limits = ("lows", "highs", *(("clip_lows", "clip_highs") if source.clips else ()))
    printed: dict[str, Array] = {}
    if source.cells is not None:
        printed["models"] = source.cells.models
        printed |= {name: getattr(source, name) for name in limits if not _is_shared(getattr(source, name))}
        if len(source.edges):
            printed["first"] = source.first
    if len(source.edges):
        printed["edges"] = source.edges
    if source.edge_keys is not None:
        printed["edge_keys"] = source.edge_keys
    return {**printed, **{f"{name}s": column for name, column in source.columns.items()}}


def _is_shared(limits: Float64s) -> bool:
    return bool((limits == limits[0]).all())


def asked(source: Tables | Curve) -> list[str]:
    """The outputs that are written, in the usual order."""
    return ["value"] if isinstance(source, Curve) else [name for name in OUTPUTS if name in source.columns]


# ------------------------------------------------------------------------------------------------- languages


class Language(NamedTuple):
    """How a language says what scoring needs."""

    real: str  # what the declaration of a double begins with, where it is returned or an argument
    whole: str  # and that of a small integer
    integer: str  # and of one that is a variable
    constants: tuple[str, str]  # and of a small integer and a double that do not change
    arguments: tuple[str, str, str]  # an integer and a text that are cells, each before another argument, and a key after one
    access: tuple[str, str]  # what functions begin with: its own, and those for users
    nothing: str  # what a function returns for rows without a value
    name: Callable[[str], str]  # of the function for an output, for "step", or for an operation of curves
    table: Callable[[str], str]  # the name of a table
    printed: Callable[[str, Array], str]  # its declaration
    cells: Callable[[SetCells], list[str]]  # the tables of the cells, and the function that finds the model of one
    find: str  # a call of it: the number, or -1
    # Scores are compared as this variable, with limits in this form.
    score: str
    limit: Callable[[float], str]
    is_above: str  # whether a row lies at or above the edge at place `at` of the tables {edges} and {keys}
    truth: str  # a condition as 1 or 0
    words: Mapping[str, str]  # the operations of curves, beside those of `WORDS`
    remark: str
    more: Callable[[list[str]], list[str]]  # what else these tables need
    checks: Callable[[Tables | Curve], list[str]]  # what a function does first with its arguments
    margin: str = ""
    operations: Mapping[str, tuple[str, ...]] = {
        "least": ("return x < y ? x : y;",), "greatest": ("return x > y ? x : y;",),
    }  # fmt: skip

    def function(self, kind: str, name: str, parameters: str, lines: Iterable[str], *, is_public: bool = False) -> str:
        body = "".join(f"{self.margin}  {line}\n" for line in lines)
        return f"{self.access[is_public]}{kind}{self.name(name)}({parameters}) {{\n{body}{self.margin}}}"


# The operations that all these languages write alike.
WORDS = {**{word: f"({{}} {word} {{}})" for word in "+-*/<"}, "=": "({} == {})", "choose": "({} ? {} : {})"}


def parameters(source: Tables | Curve, language: Language) -> str:
    """The arguments of all functions that score a row, declared."""
    score = f"{language.real}score"
    if isinstance(source, Curve):
        return score
    cell = "" if source.cells is None else language.arguments[source.cells.are_texts]
    return f"{cell}{score}{'' if source.edge_keys is None else language.arguments[2]}"


def signatures(source: Tables | Curve, language: Language) -> dict[str, str]:
    """The declarations of the functions for users, by their outputs."""
    given = parameters(source, language)
    kinds = {output: language.whole if output in INTEGERS else language.real for output in asked(source)}
    return {output: f"{kind}{language.name(output)}({given})" for output, kind in kinds.items()}


def program(source: Tables | Curve, language: Language) -> list[str]:
    """The tables and functions of a model, or a set."""
    parts = [language.printed(name, entries) for name, entries in tables_to_print(source).items()]
    given = parameters(source, language)
    if isinstance(source, Curve):
        lines = [*language.checks(source), *_evaluation(source, language)]
        used = [word for word in language.operations if any(f"{language.name(word)}(" in line for line in lines)]
        real, two = language.real, f"{language.real}x, {language.real}y"
        operations = [language.function(real, word, two, language.operations[word]) for word in used]
        value = language.function(real, "value", given, lines, is_public=True)
        return [*parts, *language.more(parts), *operations, value]
    parts += [] if source.cells is None else language.cells(source.cells)
    step = language.function(language.whole, "step", given, [*language.checks(source), *_search(source, language)])
    remark = language.remark.format("The place of the answer in the tables, or -1.")
    call = f"{language.name('step')}({', '.join(part.split()[-1].lstrip('*') for part in given.split(', '))})"
    outputs = []
    for output in asked(source):
        is_whole = output in INTEGERS
        kind, nothing = (language.whole, str(INTEGERS[output])) if is_whole else (language.real, language.nothing)
        lines = [
            f"{language.constants[0]} step = {call};",
            f"return step < 0 ? {nothing} : {language.table(f'{output}s')}[step];",
        ]
        outputs.append(language.function(kind, output, given, lines, is_public=True))
    return [*parts, *language.more(parts), f"{remark}\n{step}", *outputs]


def _search(tables: Tables, language: Language) -> list[str]:
    """The statements that return the place of a row in the columns, or -1 where it has no answer."""
    score, table = language.score, language.table
    lines = []
    if tables.cells is not None:
        lines += [f"{language.integer} model = {language.find};", "if (model < 0) return -1;"]
    low, high = (_limit_of(tables, name, language) for name in ("lows", "highs"))
    lines.append(f"if (!({score} >= {low} && {score} <= {high})) return -1;")
    if tables.clips:
        lines += _clip(score, *(_limit_of(tables, name, language) for name in ("clip_lows", "clip_highs")))
    if not len(tables.edges):
        return [*lines, "return 0;" if tables.cells is None else "return model;"]
    if tables.cells is None:
        lines.append(f"{language.integer} step = 0, left = {len(tables.edges)};")
    else:
        first = table("first")
        lines.append(f"{language.integer} step = {first}[model], left = {first}[model + 1] - step;")
    is_above = f"{table('edges')}[at] <= {score}" if tables.edge_keys is None else language.is_above
    is_above = is_above.format(edges=table("edges"), keys=table("edge_keys"))
    return [*lines, *_loop(is_above, language), "return step;" if tables.cells is None else "return step + model;"]


def _limit_of(tables: Tables, name: str, language: Language) -> str:
    """A limit of scores: a literal where all models have the same, else an entry of its table."""
    limits = getattr(tables, name)
    return language.limit(float(limits[0])) if _is_shared(limits) else f"{language.table(name)}[model]"


def _evaluation(curve: Curve, language: Language) -> list[str]:
    """The statements that return the value of a score on a curve."""
    pieces, table = curve.pieces, language.table
    columns = {} if pieces is None else {name: f"{table(name)}[step]" for name in pieces.columns}
    words = {**WORDS, **{word: f"{language.name(word)}({{}}, {{}})" for word in ("least", "greatest")}, **language.words}
    low, high = language.limit(curve.low), language.limit(curve.high)
    lines = [f"if (!({language.score} >= {low} && {language.score} <= {high})) return {language.nothing};"]
    if curve.clip is not None:
        lines += _clip("score", *map(repr, curve.clip))
    needed = _needed(curve)

    def declared(named: Iterable[Named]) -> list[str]:
        known = [each for each in named if each.name in needed]
        return [f"{language.constants[1]} {each.name} = {written(each.expression, words, repr, columns)};" for each in known]

    lines += declared(curve.before)
    if pieces is not None and len(pieces.edges):
        lines.append(f"{language.integer} step = 0, left = {len(pieces.edges)};")
        lines += _loop(f"{table('edges')}[at] <= {pieces.at.name}", language)
    elif pieces is not None:
        columns.update({name: repr(float(column[0])) for name, column in pieces.columns.items()})
    return [*lines, *declared(curve.after), f"return {written(curve.value, words, repr, columns)};"]


def _needed(curve: Curve) -> set[str]:
    """The names that count for the value; compilers warn of others."""

    def names_in(expression: Expression) -> set[str]:
        return {part.name for part in parts_of(expression) if isinstance(part, Name)}

    needed = names_in(curve.value) | (set() if curve.pieces is None else {curve.pieces.at.name})
    for name, expression in reversed((*curve.before, *curve.after)):
        needed |= names_in(expression) if name in needed else set()
    return needed


def _clip(variable: str, low: str, high: str) -> list[str]:
    return [f"if ({variable} < {low}) {variable} = {low};", f"if ({variable} > {high}) {variable} = {high};"]


def _loop(is_above: str, language: Language) -> list[str]:
    """Moves `step` on by the number of those of the next `left` edges that lie at or below the score.

    Without a branch, which no processor could predict: two to three times as fast in all three languages.
    """
    return [
        "while (left > 0) {",
        f"  {language.integer} half = (left + 1) >> 1, at = step + half - 1;",
        f"  step += half & -{language.truth.format(is_above)};",
        "  left -= half;",
        "}",
    ]


# ------------------------------------------------------------------------------------------------- texts


def number(entry: float) -> str:
    """An entry of a table in Java and JavaScript; infinite edges are those that no score lies above."""
    return "Infinity" if entry == math.inf else repr(entry)


def wrapped(entries: Iterable[str]) -> str:
    """Entries with commas between them, in lines of readable length."""
    lines = ["  "]
    for entry in entries:
        if len(lines[-1]) + len(entry) + 2 > WIDTH and lines[-1].strip():
            lines.append("  ")
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


def comment(model: BinnedModel | ModelSet, outputs: Sequence[str], alpha: float | None, *said: str) -> str:
    """The first lines of an export: what `description_of` says, then `said`; nothing in it ends the comment, or begins one."""
    text = "\n".join([*description_of(model, outputs, alpha), *said])
    ascii_text = text.encode("ascii", "backslashreplace").decode().replace("\\", "/")
    plain = ascii_text.replace("*/", "* /").replace("/*", "/ *")
    # How the model came about stays on one line, which programs can find.
    shown = ([line] if line.startswith("made by ") else textwrap.wrap(line, WIDTH + 8) or [""] for line in plain.split("\n"))
    lines = [short for each in shown for short in each]
    return "/*\n" + "".join(f" * {line}".rstrip() + "\n" for line in lines) + " */\n"


def said_of_answers(source: Tables | Curve, nothing: str) -> list[str]:
    """The facts on scores, cells and values; `nothing` is what rows without an answer have, of integers that which differs."""
    integers = [f"{name} {INTEGERS[name]}" for name in asked(source) if name in INTEGERS and str(INTEGERS[name]) != nothing]
    nothing += f" ({', '.join(integers)})" if integers else ""
    if isinstance(source, Curve):
        limits = [(source.low, source.high)]
    else:
        limits = list(dict.fromkeys(zip(source.lows.tolist(), source.highs.tolist(), strict=True)))
    no_answer = "a score that is NaN or infinite"
    if len(limits) > 1:
        no_answer += ", or outside the range of its model"
    elif limits != [(-GREATEST, GREATEST)]:
        no_answer += f", or outside [{limits[0][0]!r}, {limits[0][1]!r}]"
    lines = [f"{nothing} without an answer: for {no_answer}."]
    if isinstance(source, Curve):
        return [*lines, *_said_of_values(source)]
    if source.cells is not None and source.cells.unknown < 0:
        lines[0] = lines[0][:-1] + ", and for an unknown cell."
    elif source.cells is not None:
        lines.append("An unknown cell has the value of the pool, bin -1 and the interval [0, 1].")
    return lines


def _said_of_values(curve: Curve) -> list[str]:
    if not uses(curve, "exp", "log"):
        return ["The value is interpolated; it has the bits of the model where arithmetic is that of IEEE 754."]
    return ["The value is that of the model but for the last bits, as the functions exp and log are those of this platform."]


def uses(curve: Curve, *words: str) -> bool:
    """Whether a curve has an operation of these."""
    expressions = [curve.value, *(each.expression for each in (*curve.before, *curve.after))]
    return any(isinstance(part, Operation) and part.word in words for each in expressions for part in parts_of(each))


def check_name(name: object, argument: str, reserved: Iterable[str], language: str) -> str:
    """A name that the language takes."""
    if not isinstance(name, str):
        raise InputTypeError(None, "pass a name as text", argument=argument, value=name)
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise InputError(None, "pass letters from a to z, digits and '_', with no digit first", argument=argument, value=name)
    if name in reserved:
        remedy = "pass another one"
        raise InputError(f"is {name!r}, a name that {language} has for itself", remedy, argument=argument, value=name)
    return name
