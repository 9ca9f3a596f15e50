"""What the exports that are source code share: the search among edges, the arithmetic of curves, and how they are printed.

C, Java and JavaScript write a loop, a comparison and a choice alike. So these are stated once, here, and each language adds its
own words for a table, a number and an index.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from fastbin._base.array_types import Array, Float64s
from fastbin._base.errors import InputError, InputTypeError
from fastbin._fit.calibrator import as_model_or_set
from fastbin.export.curves import Curve, Expression, Name, Named, Operation, form_of, written
from fastbin.export.steps import GREATEST, OUTPUTS, description_of
from fastbin.export.tables import Tables, tables_of

WIDTH = 112

# What functions are called in languages where the value is that of `predict`.
METHODS = {"value": "predict", "bin": "predictBin", "lower": "predictLower", "upper": "predictUpper"}


class Language(NamedTuple):
    """How a language says what scoring needs."""

    integer: str  # what the declaration of a small integer begins with
    constant: str  # and that of a double that does not change
    nothing: str  # what a function returns where there is no value
    table: Callable[[str], str]  # the name of a table
    # Scores are compared as this variable, with limits in this form.
    score: str
    limit: Callable[[float], str]
    is_above: str  # whether a row lies at or above the edge at place `at` of the tables {edges} and {keys}
    truth: str  # a condition as 1 or 0
    find: str  # the number of the model of a cell, or -1
    words: Mapping[str, str]  # the operations of curves, beside those of `WORDS`


# The operations that all these languages write alike.
WORDS = {**{word: f"({{}} {word} {{}})" for word in "+-*/<"}, "choose": "({} ? {} : {})"}


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
        lines += _clip(score, low, high)
    if not tables.n_edges:
        return [*lines, "return 0;" if tables.cells is None else "return model;"]
    if tables.cells is None:
        lines.append(f"{language.integer} step = 0, left = {tables.n_edges};")
    else:
        first = table("first")
        lines.append(f"{language.integer} step = {first}[model], left = {first}[model + 1] - step;")
    is_above = f"{table('edges')}[at] <= {score}" if tables.edge_keys is None else language.is_above
    is_above = is_above.format(edges=table("edges"), keys=table("edge_keys"))
    return [*lines, *_loop(is_above, language), "return step;" if tables.cells is None else "return step + model;"]


def evaluation(curve: Curve, language: Language) -> list[str]:
    """The statements that return the value of a score on a curve."""
    pieces, table = curve.pieces, language.table
    columns = {} if pieces is None else {name: f"{table(name)}[step]" for name in pieces.columns}
    words = {**WORDS, **language.words}
    low, high = language.limit(curve.low), language.limit(curve.high)
    lines = [f"if (!({language.score} >= {low} && {language.score} <= {high})) return {language.nothing};"]
    if curve.clip is not None:
        lines += _clip("score", *map(repr, curve.clip))
    needed = _needed(curve)

    def declared(named: Iterable[Named]) -> list[str]:
        known = [each for each in named if each.name in needed]
        return [f"{language.constant} {each.name} = {written(each.expression, words, repr, columns)};" for each in known]

    lines += declared(curve.before)
    if pieces is not None and len(pieces.edges):
        lines.append(f"{language.integer} step = 0, left = {len(pieces.edges)};")
        lines += _loop(f"{table('edges')}[at] <= {pieces.at.name}", language)
    elif pieces is not None:
        columns.update({name: repr(float(column[0])) for name, column in pieces.columns.items()})
    return [*lines, *declared(curve.after), f"return {written(curve.value, words, repr, columns)};"]


def _needed(curve: Curve) -> set[str]:
    """The names that count for the value; compilers warn of others."""
    needed = _names_in(curve.value)
    for named in reversed(curve.after):
        needed |= _names_in(named.expression) if named.name in needed else set()
    if curve.pieces is not None:
        needed.add(curve.pieces.at.name)
    for named in reversed(curve.before):
        needed |= _names_in(named.expression) if named.name in needed else set()
    return needed


def _names_in(expression: Expression) -> set[str]:
    if isinstance(expression, Operation):
        return {name for argument in expression.arguments for name in _names_in(argument)}
    return {expression.name} if isinstance(expression, Name) else set()


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


def number(entry: float) -> str:
    """An entry of a table in Java and JavaScript; infinite edges are those that no score lies above."""
    return "Infinity" if entry == math.inf else repr(entry)


def limit_of(tables: Tables, name: str, language: Language) -> str:
    """A limit of scores: a literal where all models have the same, else an entry of its table."""
    limits = getattr(tables, name)
    return language.limit(float(limits[0])) if _is_shared(limits) else f"{language.table(name)}[model]"


def tables_of_curve(curve: Curve) -> dict[str, Float64s]:
    """The tables that `evaluation` reads, by name."""
    pieces = curve.pieces
    return {} if pieces is None or not len(pieces.edges) else {"edges": pieces.edges, **pieces.columns}


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


def tables_or_curve(model: Any, outputs: Sequence[str], alpha: float | None) -> Tables | Curve:
    """What there is to write of a model, a set or a calibrator, checked."""
    form = form_of(as_model_or_set(model), outputs, alpha)
    return form if isinstance(form, Curve) else tables_of(form)


def comment(model: Any, outputs: Sequence[str], alpha: float | None, *said: str) -> str:
    """The first lines of an export: what `description_of` says, then `said`; nothing in it ends the comment, or begins one."""
    text = "\n".join([*description_of(as_model_or_set(model), outputs, alpha), *said])
    ascii_text = text.encode("ascii", "backslashreplace").decode().replace("\\", "/")
    plain = ascii_text.replace("*/", "* /").replace("/*", "/ *")
    lines = [short for line in plain.split("\n") for short in textwrap.wrap(line, WIDTH + 8) or [""]]
    return "/*\n" + "".join(f" * {line}".rstrip() + "\n" for line in lines) + " */\n"


def said_of_answers(source: Tables | Curve, nothing: str) -> list[str]:
    """What there is to know of scores, cells and values; `nothing` stands where there is no answer."""
    if isinstance(source, Curve):
        limits = [(source.low, source.high)]
    else:
        limits = list(dict.fromkeys(zip(source.lows.tolist(), source.highs.tolist(), strict=True)))
    no_answer = "a score that is NaN or infinite"
    if len(limits) > 1:
        no_answer += ", or outside the range of its model"
    elif limits != [(-GREATEST, GREATEST)]:
        no_answer += f", or outside [{limits[0][0]!r}, {limits[0][1]!r}]"
    lines = [f"{nothing} where there is no answer: for {no_answer}."]
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
    return any(_has(expression, words) for expression in expressions)


def _has(expression: Expression, words: tuple[str, ...]) -> bool:
    return isinstance(expression, Operation) and (
        expression.word in words or any(_has(argument, words) for argument in expression.arguments)
    )


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


def asked(source: Tables | Curve) -> list[str]:
    """The outputs that are written, in the usual order."""
    return ["value"] if isinstance(source, Curve) else [name for name in OUTPUTS if name in source.columns]
