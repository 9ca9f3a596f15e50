"""A model, or a set of models, as one C header that needs no library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastbin._errors import InputError
from fastbin._typing import Array, Float64s, Int64s
from fastbin.export.source import (
    Language,
    Tables,
    asked,
    check_name,
    comment,
    said_of_answers,
    search,
    tables_of,
    tables_to_print,
    wrapped,
)
from fastbin.export.steps import check_model, digest_of

# Keywords of C and C++ of all years, and what the header takes from its two includes.
RESERVED = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class co_await
    co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do double
    dynamic_cast else enum explicit export extern false final float for friend goto if import inline int int32_t int64_t long
    main memcmp memcpy module mutable namespace new noexcept not not_eq nullptr operator or or_eq override private protected
    public register reinterpret_cast requires restrict return short signed size_t sizeof static static_assert static_cast struct
    switch template this thread_local throw true try typedef typeid typename typeof typeof_unqual uint64_t union unsigned using
    virtual void volatile wchar_t while xor xor_eq
"""

SHOWN = {
    "value": ("double ", "", "the calibrated probability"),
    "bin": ("int32_t ", "_bin", "the number of the bin"),
    "lower": ("double ", "_lower", "the lower end of the interval of the bin"),
    "upper": ("double ", "_upper", "the upper end of the interval of the bin"),
}
DOUBLES = ("values", "lowers", "uppers")
LARGEST = 2**63 - 1


def c_source(model: Any, name: str, *, outputs: Sequence[str] = ("value",), alpha: float | None = None) -> str:
    """A model, or a set of models, as one C header: the same bits as `predict`, without any library.

    The header is C99 and C++11, includes <stdint.h> and <string.h> alone, and can be included in several files, beside the
    headers of other models. Its first lines list its functions: ``double NAME(double score)`` for the value, ``int32_t
    NAME_bin``, ``double NAME_lower`` and ``double NAME_upper``. The macro ``NAME_SHA256`` is the digest of the model.

    Parameters
    ----------
    model : BinnedModel, ModelSet or fitted calibrator
        With steps: not interpolated, smooth or randomised.
    name : str
        Of the function, and what all other names begin with.
    outputs : sequence of {"value", "bin", "lower", "upper"}
        What to write functions for; "lower" and "upper" are the ends of `interval`.
    alpha : float in (0, 1), optional
        Of the intervals of all bins at once, 0.1 if not given.

    Returns
    -------
    str
        The header, in ASCII. About 20 characters an edge and for each step and output.

    Raises
    ------
    InputError, InputTypeError
        For a name that C or C++ does not take or reserves, a model without steps, an unknown output.

    Notes
    -----
    A model that splits ties by key has functions of ``(double score, uint64_t key)``; those of a set have the cell first:
    ``int64_t cell``, or ``const char *cell, size_t size`` for text in UTF-8.

    All functions give -1 where there is no answer: for NaN, infinite scores, scores outside the range of a model that does not
    clip, and unknown cells of a set that refuses them. The cells that a set with a pool does not know have the value of the
    pool, bin -1 and the interval [0, 1].

    Doubles are compared by integer codes, which are in the same order: compilers may not assume anything about integers, so the
    answers are the same under ``-O3 -ffast-math`` and where subnormal doubles are flushed to zero. -0.0 equals 0.0. O(log E) a
    score for E edges. The functions can be called from any number of threads.

    Examples
    --------
    >>> import fastbin as fb
    >>> cal = fb.ExplicitBinning(edges=[0.5]).fit([0.2, 0.3, 0.6, 0.9], [0, 1, 1, 1])
    >>> header = fb.export.c_source(cal, "calibrated")
    >>> print(header[header.index("static inline double calibrated") :])
    static inline double calibrated(double score) {
      const int32_t step = calibrated_step(score);
      return step < 0 ? -1.0 : calibrated_values[step];
    }
    <BLANKLINE>
    #endif
    <BLANKLINE>
    """
    check_name(name, "name", RESERVED.split(), "C or C++")
    if name.startswith("_") or "__" in name:
        raise InputError(f"name is {name!r}; C and C++ reserve names that begin with '_' or have '__' in them")
    tables = tables_of(model, outputs, alpha)
    guard = f"FASTBIN_EXPORT_{name}_H"
    parts = [
        comment(model, "", *_manual(tables, name)) + f"#ifndef {guard}\n#define {guard}",
        "#include <stdint.h>\n#include <string.h>",
        f'#define {name}_SHA256 "{digest_of(check_model(model))}"',
        *(_table(f"{name}_{table}", table, entries) for table, entries in tables_to_print(tables).items()),
        *_find(tables, name),
        _code(name),
        _step(tables, name),
        *(_output(tables, name, output) for output in asked(tables)),
        "#endif\n",
    ]
    return "\n\n".join(parts)


# ------------------------------------------------------------------------------------------------- what stands around


def _parameters(tables: Tables) -> str:
    cell = "" if tables.cells is None else "const char *cell, size_t size, " if tables.cells.are_texts else "int64_t cell, "
    return f"{cell}double score{'' if tables.edge_keys is None else ', uint64_t key'}"


def _arguments(tables: Tables) -> str:
    return ", ".join(part.split()[-1].lstrip("*") for part in _parameters(tables).split(", "))


def _manual(tables: Tables, name: str) -> list[str]:
    """What the functions are, for those who have nothing but the header."""
    functions = [(f"{SHOWN[output][0]}{name}{SHOWN[output][1]}({_parameters(tables)})", output) for output in asked(tables)]
    width = max(len(function) for function, _ in functions)
    return [
        *(f"{function:<{width}}  {SHOWN[output][2]}" for function, output in functions),
        "",
        *said_of_answers(tables, "-1"),
        "Needs no library. Doubles are compared by integer codes in the same order, so the answers have the same bits under "
        "all options of the compiler, -ffast-math among them. -0.0 equals 0.0. C99 and C++11; safe to share between threads.",
    ]


# ------------------------------------------------------------------------------------------------- tables


def _table(name: str, table: str, entries: Array) -> str:
    """A constant array; `table` is its name without the prefix."""
    if table in ("edges", "lows", "highs", "clip_lows", "clip_highs"):
        kind, shown = "int64_t", [str(code) for code in codes_of(entries).tolist()]
    elif table in DOUBLES:
        kind, shown = "double", [repr(entry) for entry in entries.tolist()]
    elif table == "edge_keys":
        kind, shown = "uint64_t", [f"0x{entry:016x}u" for entry in entries.tolist()]
    else:
        kind, shown = "int32_t", [str(entry) for entry in entries.tolist()]
    return f"static const {kind} {name}[{len(shown)}] = {{\n{wrapped(shown)}\n}};"


def codes_of(scores: Float64s) -> Int64s:
    """int64 (n,): integers in the order of the doubles, the same for 0.0 and -0.0; what `_code` does in C."""
    bits = np.ascontiguousarray(scores, np.float64).view(np.int64)
    return np.where(bits < 0, -(bits & LARGEST), bits)


def _code(name: str) -> str:
    return f"""/* An integer for every double, in the order of the doubles; those of NaN lie beyond those of the infinities. */
static inline int64_t {name}_code(double score) {{
  int64_t code;
  memcpy(&code, &score, sizeof code);
  return code < 0 ? -(code & INT64_MAX) : code;
}}"""


# ------------------------------------------------------------------------------------------------- functions


def _step(tables: Tables, name: str) -> str:
    language = Language(
        integer="int32_t", table=lambda table: f"{name}_{table}", number=lambda score: str(int(codes_of(np.array([score]))[0])),
        score="code", is_above="{edges}[at] < code || ({edges}[at] == code && {keys}[at] <= key)",
        find=f"{name}_model({'cell, size' if tables.cells and tables.cells.are_texts else 'cell'})",
    )  # fmt: skip
    body = "\n".join(f"  {line}" for line in search(tables, language))
    return f"""/* The place of the answer in the tables, or -1. */
static inline int32_t {name}_step({_parameters(tables)}) {{
  int64_t code = {name}_code(score);
{body}
}}"""


def _output(tables: Tables, name: str, output: str) -> str:
    kind, suffix, _ = SHOWN[output]
    nothing = "-1" if output == "bin" else "-1.0"
    return f"""static inline {kind}{name}{suffix}({_parameters(tables)}) {{
  const int32_t step = {name}_step({_arguments(tables)});
  return step < 0 ? {nothing} : {name}_{output}s[step];
}}"""


def _find(tables: Tables, name: str) -> list[str]:
    """The tables of the cells, and the function that finds the model of one."""
    cells = tables.cells
    if cells is None:
        return []
    n_cells = len(cells.keys)
    if not cells.are_texts:
        shown = wrapped("INT64_MIN" if key == -(2**63) else str(key) for key in cells.keys)
        return [
            f"static const int64_t {name}_cells[{n_cells}] = {{\n{shown}\n}};",
            f"""/* The number of the model of a cell, or -1. */
static inline int32_t {name}_model(int64_t cell) {{
  int32_t place = 0, left = {n_cells};
  while (left > 0) {{
    int32_t half = (left + 1) >> 1;
    if ({name}_cells[place + half - 1] <= cell) place += half;
    left -= half;
  }}
  return place > 0 && {name}_cells[place - 1] == cell ? {name}_models[place - 1] : {cells.unknown};
}}""",
        ]
    texts = [str(key).encode() for key in cells.keys]
    return [
        f"static const char *const {name}_cells[{n_cells}] = {{\n{wrapped(map(_literal, texts))}\n}};",
        f"static const size_t {name}_sizes[{n_cells}] = {{\n{wrapped(str(len(text)) for text in texts)}\n}};",
        f"""/* Bytes as a text of a cell has them: negative where the cell at this place comes first, 0 where it is the same. */
static inline int {name}_compare(int32_t place, const char *cell, size_t size) {{
  const size_t own = {name}_sizes[place];
  const int order = memcmp({name}_cells[place], cell, own < size ? own : size);
  return order != 0 ? order : own < size ? -1 : own > size ? 1 : 0;
}}""",
        f"""/* The number of the model of a cell, or -1. */
static inline int32_t {name}_model(const char *cell, size_t size) {{
  int32_t place = 0, left = {n_cells};
  if (!cell || size == 0) return -1;
  while (left > 0) {{
    int32_t half = (left + 1) >> 1;
    if ({name}_compare(place + half - 1, cell, size) <= 0) place += half;
    left -= half;
  }}
  return place > 0 && {name}_compare(place - 1, cell, size) == 0 ? {name}_models[place - 1] : {cells.unknown};
}}""",
    ]


def _literal(text: bytes) -> str:
    """Bytes as a string of C: with three octal digits an escape ends where it should, and '?' begins no trigraph."""
    shown = "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}" for byte in text)
    return f'"{shown}"'
