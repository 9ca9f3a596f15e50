"""A model, or a set of models, as one JavaScript module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastbin._base.array_types import Array
from fastbin._fit.calibrator import as_model_or_set
from fastbin.export.curves import Curve
from fastbin.export.source import (
    METHODS,
    Language,
    asked,
    comment,
    evaluation,
    literal,
    number,
    said_of_answers,
    search,
    tables_of_curve,
    tables_or_curve,
    tables_to_print,
    wrapped,
)
from fastbin.export.steps import digest_of
from fastbin.export.tables import SetCells, Tables

SAFE = 2**53 - 1


def javascript(model: Any, *, outputs: Sequence[str] = ("value",), alpha: float | None = None) -> str:
    """A model, or a set of models, as one JavaScript module: the same bits as `predict`, without any library.

    The module is an ES module, for browsers and servers: ``import { predict } from "./model.mjs"``. It exports
    ``predict(score)`` for the value, ``predictBin``, ``predictLower`` and ``predictUpper``, ``SHA256``, the digest of the
    model, and ``EVENT``, the event that it gives the probability of ("" where it is not known: label 1).

    Parameters
    ----------
    model : BinnedModel, ModelSet or fitted calibrator
        Not randomised; the models of a set have steps.
    outputs : sequence of {"value", "bin", "lower", "upper"}
        What to write functions for; "lower" and "upper" are the ends of `interval`.
    alpha : float in (0, 1/2], optional
        Of the intervals of all bins at once, 0.1 if not given.

    Returns
    -------
    str
        The file, in ASCII; ES2020. About 20 characters an edge and for each step and output.

    Raises
    ------
    InputError, InputTypeError
        For a model that is randomised, an unknown output, or one that a model
        without steps does not have.
    GuaranteeError
        For the ends of intervals of a model that has none.

    Notes
    -----
    A model that splits ties by key has functions of ``(score, key)``, where the key is a BigInt from 0n to 2n ** 64n - 1n;
    anything else is a TypeError. Those of a set have the cell first: a string, or a BigInt or safe integer. Where there is no
    key, ``scores.map((score) => predict(score))`` scores an array.

    Where there is no answer, the functions give NaN, and `predictBin` -1: for what is no number, infinite, or outside the range
    of a model that does not clip, for what is no cell, such as null, 0.5 and "", and for cells that are unknown to a set that
    refuses them. Cells that a set with a pool does not know have the value of the pool, bin -1 and the interval [0, 1]. -0
    equals 0. O(log E) a score for E edges.

    A model without steps has the value alone. Interpolated values have the same bits; smooth ones differ in the last bits, as
    each engine has its own `exp` and `log`.

    Examples
    --------
    >>> import fastbin as fb
    >>> cal = fb.ExplicitBinning(edges=[0.5]).fit([0.2, 0.3, 0.6, 0.9], [0, 1, 1, 1])
    >>> text = fb.export.javascript(cal)
    >>> print(text[text.index("export function") :])
    export function predict(score) {
      const step = stepOf(score);
      return step < 0 ? NaN : VALUES[step];
    }
    <BLANKLINE>
    """
    source = tables_or_curve(model, outputs, alpha)
    outputs = asked(source)
    functions = [f"{METHODS[output]}({_parameters(source)})" for output in outputs]
    fitted = as_model_or_set(model)
    about = f'export const SHA256 = "{digest_of(fitted)}";\nexport const EVENT = {literal(fitted.event)};'
    parts = _of_curve(source) if isinstance(source, Curve) else _of_steps(source)
    said = ["", *functions, "", *said_of_answers(source, "NaN (bin -1)" if "bin" in outputs else "NaN")]
    return "\n\n".join([comment(model, outputs, alpha, *said) + about, *parts]) + "\n"


# ------------------------------------------------------------------------------------------------- tables


def _table(table: str, entries: Array) -> str:
    kind = {"f": "Float64Array", "i": "Int32Array", "u": "BigUint64Array"}[entries.dtype.kind]
    shown = (f"0x{entry:x}n" for entry in entries.tolist()) if entries.dtype.kind == "u" else map(number, entries.tolist())
    return f"const {table.upper()} = new {kind}([\n{wrapped(shown)}\n]);"


def _cells(cells: SetCells) -> list[str]:
    """The keys of the cells, and the function that finds the model of one."""
    if cells.are_texts:
        shown = [literal(str(key)) for key in cells.keys]
        is_no_cell = ['if (typeof cell !== "string" || cell === "") return -1;']
    else:
        shown = [f"{key}" if -SAFE <= int(key) <= SAFE else f"{key}n" for key in cells.keys]
        is_no_cell = [
            f'if (typeof cell === "bigint" && cell >= -{SAFE}n && cell <= {SAFE}n) cell = Number(cell);',
            'if (typeof cell !== "bigint" && !Number.isSafeInteger(cell)) return -1;',
        ]
    checks = "\n".join(f"  {line}" for line in is_no_cell)
    return [
        f"const CELLS = new Map([\n{wrapped(shown)}\n].map((cell, i) => [cell, MODELS[i]]));",
        f"""// The number of the model of a cell, or -1.
function modelOf(cell) {{
{checks}
  const model = CELLS.get(cell);
  return model === undefined ? {cells.unknown} : model;
}}""",
    ]


# ------------------------------------------------------------------------------------------------- functions


def _parameters(source: Tables | Curve) -> str:
    if isinstance(source, Curve):
        return "score"
    return f"{'' if source.cells is None else 'cell, '}score{'' if source.edge_keys is None else ', key'}"


LANGUAGE = Language(
    integer="let", constant="const", nothing="NaN", table=str.upper, score="score", limit=repr, find="modelOf(cell)",
    is_above="{edges}[at] < score || ({edges}[at] === score && {keys}[at] <= key)", truth="({})",
    words={
        "*": "({} * {})", "least": "least({}, {})", "greatest": "greatest({}, {})",
        "exp": "Math.exp({})", "log": "Math.log({})", "=": "({} === {})",
    },
)  # fmt: skip


def _of_steps(tables: Tables) -> list[str]:
    """The tables and functions of a model, or a set, with steps."""
    lines = ['if (typeof score !== "number") return -1;', *search(tables, LANGUAGE)]
    if tables.edge_keys is not None:
        lines = [
            'if (typeof key !== "bigint" || key < 0n || key > 0xffffffffffffffffn) {',
            "  throw new TypeError(`key is ${String(key)}; pass a BigInt from 0n to 2n ** 64n - 1n`);",
            "}",
            *lines,
        ]
    body = "\n".join(f"  {line}" for line in lines)
    return [
        *(_table(table, entries) for table, entries in tables_to_print(tables).items()),
        *([] if tables.cells is None else _cells(tables.cells)),
        f"// The place of the answer in the tables, or -1.\nfunction stepOf({_parameters(tables)}) {{\n{body}\n}}",
        *(_output(tables, output) for output in asked(tables)),
    ]


def _of_curve(curve: Curve) -> list[str]:
    """The tables and functions of a model without steps."""
    lines = ['if (typeof score !== "number") return NaN;', *evaluation(curve, LANGUAGE)]
    body = "\n".join(f"  {line}" for line in lines)
    return [
        *(_table(table, entries) for table, entries in tables_of_curve(curve).items()),
        *(
            f"function {operation}(x, y) {{\n  return x {sign} y ? x : y;\n}}"
            for operation, sign in (("least", "<"), ("greatest", ">"))
            if f"{operation}(" in body
        ),
        f"export function predict(score) {{\n{body}\n}}",
    ]


def _output(tables: Tables, output: str) -> str:
    nothing = "-1" if output == "bin" else "NaN"
    return f"""export function {METHODS[output]}({_parameters(tables)}) {{
  const step = stepOf({_parameters(tables)});
  return step < 0 ? {nothing} : {output.upper()}S[step];
}}"""
