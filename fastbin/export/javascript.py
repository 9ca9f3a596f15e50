"""A model, or a set of models, as one JavaScript module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastbin._base.array_types import Array
from fastbin.export.form import Curve, as_exported, digest_of
from fastbin.export.source import (
    METHODS,
    Language,
    SetCells,
    Tables,
    comment,
    literal,
    number,
    program,
    said_of_answers,
    signatures,
    source_of,
    wrapped,
)

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
    outputs : sequence of {"value", "bin", "lower", "upper", "lower_if_rising", "upper_if_rising", "decision"}
        What to write functions for; those of lower and upper ends are of `interval`, of bins and of `at="score"`.
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

    For rows without an answer the functions give NaN, and `predictBin` -1: for scores that are not finite numbers, or outside
    the range of a model that does not clip, for values that cannot be cells, such as null, 0.5 and "", and for cells that are
    unknown to a set that refuses them. Cells that a set with a pool does not know have the value of the pool, bin -1 and the
    interval [0, 1]. -0 equals 0. O(log E) a score for E edges.

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
    fitted = as_exported(model)
    source = source_of(fitted, outputs, alpha)
    functions = signatures(source, LANGUAGE)
    facts = f'export const SHA256 = "{digest_of(fitted)}";\nexport const EVENT = {literal(fitted.event)};'
    said = said_of_answers(source, "NaN")
    about = comment(fitted, outputs, alpha, "", *functions.values(), "", *said)
    return "\n\n".join([about + facts, *program(source, LANGUAGE)]) + "\n"


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


def _checks(source: Tables | Curve) -> list[str]:
    """Refuse a key of another type, and give no answer to a score of another type."""
    nothing = "NaN" if isinstance(source, Curve) else "-1"
    is_number = f'if (typeof score !== "number") return {nothing};'
    if isinstance(source, Curve) or source.edge_keys is None:
        return [is_number]
    return [
        'if (typeof key !== "bigint" || key < 0n || key > 0xffffffffffffffffn) {',
        "  throw new TypeError(`key is ${String(key)}; pass a BigInt from 0n to 2n ** 64n - 1n`);",
        "}",
        is_number,
    ]


LANGUAGE = Language(
    real="", whole="", integer="let", constants=("const", "const"), arguments=("cell, ", "cell, ", ", key"),
    access=("function ", "export function "), nothing="NaN",
    name=lambda function: {**METHODS, "step": "stepOf"}.get(function, function), table=str.upper, printed=_table, cells=_cells,
    find="modelOf(cell)", score="score", limit=repr,
    is_above="{edges}[at] < score || ({edges}[at] === score && {keys}[at] <= key)", truth="({})",
    words={"exp": "Math.exp({})", "log": "Math.log({})", "=": "({} === {})"},
    remark="// {}", more=lambda tables: [], checks=_checks,
)  # fmt: skip
