"""A model, or a set of models, as one Java class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fastbin._base.array_types import Array
from fastbin._base.errors import InputError, InputTypeError
from fastbin._fit.calibrator import as_model_or_set
from fastbin.export.curves import Curve
from fastbin.export.source import (
    METHODS,
    Language,
    asked,
    check_name,
    comment,
    evaluation,
    literal,
    number,
    said_of_answers,
    search,
    tables_of_curve,
    tables_or_curve,
    tables_to_print,
)
from fastbin.export.steps import digest_of
from fastbin.export.tables import SetCells, Tables

KEYWORDS = """
    abstract assert boolean break byte case catch char class const continue default do double else enum extends false final
    finally float for goto if implements import instanceof int interface long native new null package private protected public
    return short static strictfp super switch synchronized this throw throws transient true try void volatile while _
"""
# Words that are no names of types, and the types that the class uses.
NO_TYPES = "permits record sealed var yield Arrays Double HashMap Integer Long Math String"

# A string constant holds 65,535 bytes at most, of which a character takes up to six: three for each half of a surrogate pair.
PIECE, PIECES = 50, 200


def java(
    model: Any, name: str, *, package: str | None = None, outputs: Sequence[str] = ("value",), alpha: float | None = None
) -> str:
    """A model, or a set of models, as one Java class: the same bits as `predict`, without any library.

    The class is final and has static methods alone: ``double predict(double score)`` for the value, ``int predictBin``,
    ``double predictLower`` and ``double predictUpper``. ``SHA256`` is the digest of the model, and ``EVENT`` the event
    that it gives the probability of ("" where it is not known: label 1).

    Parameters
    ----------
    model : BinnedModel, ModelSet or fitted calibrator
        Not randomised; the models of a set have steps.
    name : str
        Of the class, so the file has to be NAME.java.
    package : str, optional
        What the class belongs to, such as "org.example.scores".
    outputs : sequence of {"value", "bin", "lower", "upper"}
        What to write methods for; "lower" and "upper" are the ends of `interval`.
    alpha : float in (0, 1/2], optional
        Of the intervals of all bins at once, 0.1 if not given.

    Returns
    -------
    str
        The file, in ASCII; Java 8 or newer. About 20 characters an edge and for each step and output.

    Raises
    ------
    InputError, InputTypeError
        For a name or package that Java does not take, a model that is randomised, an unknown output, or one that a model
        without steps does not have.
    GuaranteeError
        For the ends of intervals of a model that has none.

    Notes
    -----
    A model that splits ties by key has methods of ``(double score, long key)``, where the key is unsigned: the `long` of the
    same 64 bits. Those of a set have the cell first: ``long cell``, or ``String cell``.

    Where there is no answer, the methods give NaN, and `predictBin` -1: for NaN, infinite scores, scores outside the range of a
    model that does not clip, and cells that are null, empty, or unknown to a set that refuses them. Cells that a set with a
    pool does not know have the value of the pool, bin -1 and the interval [0, 1]. -0.0 equals 0.0.

    O(log E) a score for E edges. Tables are kept as text, as initial values of arrays are limited to 64 kB, and are read when
    the class is loaded. The methods can be called from any number of threads.

    A model without steps has the value alone. Interpolated values have the same bits; smooth ones differ in the last bits, as
    Java has its own `exp` and `log`.

    Examples
    --------
    >>> import fastbin as fb
    >>> cal = fb.ExplicitBinning(edges=[0.5]).fit([0.2, 0.3, 0.6, 0.9], [0, 1, 1, 1])
    >>> text = fb.export.java(cal, "Calibrated")
    >>> print(text[text.index("  public static double") :])
      public static double predict(double score) {
        int step = step(score);
        return step < 0 ? Double.NaN : VALUES[step];
      }
    }
    <BLANKLINE>
    """
    check_name(name, "name", f"{KEYWORDS} {NO_TYPES}".split(), "Java")
    source = tables_or_curve(model, outputs, alpha)
    parts = _of_curve(source) if isinstance(source, Curve) else _of_steps(source)
    outputs = asked(source)
    methods = [f"{'int' if output == 'bin' else 'double'} {METHODS[output]}({_parameters(source)})" for output in outputs]
    said = [
        "",
        *methods,
        "",
        *said_of_answers(source, "NaN (bin -1)" if "bin" in outputs else "NaN"),
        "Needs no library; safe to share between threads.",
    ]
    fitted = as_model_or_set(model)
    about = (
        f'  public static final String SHA256 = "{digest_of(fitted)}";\n'
        f"  public static final String EVENT = {literal(fitted.event)};"
    )
    body = "\n\n".join([about, f"  private {name}() {{}}", *parts])
    head = f"{comment(model, outputs, alpha, *said)}{_package_line(package)}{_imports(source)}"
    return f"{head}public final class {name} {{\n{body}\n}}\n"


def _imports(source: Tables | Curve) -> str:
    if isinstance(source, Curve) or source.cells is None:
        return ""
    return f"import java.util.{'HashMap' if source.cells.are_texts else 'Arrays'};\n\n"


def _package_line(package: object) -> str:
    if package is None:
        return ""
    if not isinstance(package, str):
        raise InputTypeError(None, "pass a name as text", argument="package", value=package)
    for part in package.split("."):
        check_name(part, f"package is {package!r}, and a part of it", KEYWORDS.split(), "Java")
    if package.partition(".")[0] == "java":
        problem = f"is {package!r}, and Java loads no foreign class into 'java'"
        raise InputError(problem, "pass a package of your own", argument="package", value=package)
    return f"package {package};\n\n"


# ------------------------------------------------------------------------------------------------- tables


def _table(table: str, entries: Array) -> str:
    if table == "edge_keys":
        return _from_words("long", table, (f"{key:x}" for key in entries.tolist()), reader="keys")
    if entries.dtype.kind == "f":
        return _from_words("double", table, map(number, entries.tolist()))
    return _from_words("int", table, map(str, entries.tolist()))


def _from_words(kind: str, table: str, words: Iterable[str], reader: str = "") -> str:
    return f"  private static final {kind}[] {table.upper()} = {reader or f'{kind}s'}({_strings(_lines(words))});"


def _lines(words: Iterable[str]) -> Iterator[str]:
    """Words with spaces between them, in pieces."""
    line = ""
    for word in words:
        if len(line) + len(word) > 2 * PIECE:
            yield f"{line} "
            line = ""
        line += f" {word}" if line else word
    yield line


def _strings(pieces: Iterable[str]) -> str:
    """Strings that say the pieces one after another, as arguments of a method."""
    shown = list(map(literal, pieces))
    strings = ["\n      + ".join(shown[first : first + PIECES]) for first in range(0, len(shown), PIECES)]
    return "\n      " + ",\n      ".join(strings)


def _cells(cells: SetCells) -> list[str]:
    """The keys of the cells, and the method that finds the model of one."""
    if not cells.are_texts:
        return [
            _from_words("long", "cells", map(str, cells.keys)),
            f"""  /** The number of the model of a cell, or -1. */
  private static int model(long cell) {{
    int place = Arrays.binarySearch(CELLS, cell);
    return place < 0 ? {cells.unknown} : MODELS[place];
  }}""",
        ]
    texts = [str(key) for key in cells.keys]
    joined = "".join(texts)
    pieces = _strings(joined[at : at + PIECE] for at in range(0, len(joined), PIECE))
    return [
        _from_words("int", "cell_sizes", (str(len(text.encode("utf-16-le")) // 2) for text in texts)),
        f"  private static final HashMap<String, Integer> CELLS = cells({pieces});",
        """  private static HashMap<String, Integer> cells(String... parts) {
    String texts = String.join("", parts);
    HashMap<String, Integer> cells = new HashMap<>();
    for (int i = 0, end = 0; i < CELL_SIZES.length; i++) {
      int start = end;
      end += CELL_SIZES[i];
      cells.put(texts.substring(start, end), MODELS[i]);
    }
    return cells;
  }""",
        f"""  /** The number of the model of a cell, or -1. */
  private static int model(String cell) {{
    if (cell == null || cell.isEmpty()) return -1;
    Integer model = CELLS.get(cell);
    return model == null ? {cells.unknown} : model;
  }}""",
    ]


# How tables are read from text.
READERS = {
    "doubles": ("double", "Double.parseDouble(words[i])"),
    "ints": ("int", "Integer.parseInt(words[i])"),
    "longs": ("long", "Long.parseLong(words[i])"),
    "keys": ("long", "Long.parseUnsignedLong(words[i], 16)"),
}


def _readers(parts: Iterable[str]) -> list[str]:
    """The methods that read the tables among these parts."""
    text = "".join(parts)
    return [
        f"""  private static {kind}[] {reader}(String... parts) {{
    String[] words = String.join("", parts).split(" ");
    {kind}[] read = new {kind}[words.length];
    for (int i = 0; i < words.length; i++) read[i] = {parse};
    return read;
  }}"""
        for reader, (kind, parse) in READERS.items()
        if f" = {reader}(" in text
    ]


# ------------------------------------------------------------------------------------------------- methods


def _parameters(source: Tables | Curve) -> str:
    if isinstance(source, Curve):
        return "double score"
    cell = "" if source.cells is None else "String cell, " if source.cells.are_texts else "long cell, "
    return f"{cell}double score{'' if source.edge_keys is None else ', long key'}"


LANGUAGE = Language(
    integer="int", constant="final double", nothing="Double.NaN", table=str.upper,
    score="score", limit=repr, find="model(cell)",
    is_above="{edges}[at] < score | ({edges}[at] == score & Long.compareUnsigned({keys}[at], key) <= 0)", truth="({} ? 1 : 0)",
    words={
        "*": "({} * {})", "least": "least({}, {})", "greatest": "greatest({}, {})",
        "exp": "Math.exp({})", "log": "Math.log({})", "=": "({} == {})",
    },
)  # fmt: skip


def _of_steps(tables: Tables) -> list[str]:
    """The tables and methods of a model, or a set, with steps."""
    parts = [_table(table, entries) for table, entries in tables_to_print(tables).items()]
    parts += [] if tables.cells is None else _cells(tables.cells)
    body = "\n".join(f"    {line}" for line in search(tables, LANGUAGE))
    step = f"""  /** The place of the answer in the tables, or -1. */
  private static int step({_parameters(tables)}) {{
{body}
  }}"""
    return [*parts, *_readers(parts), step, *(_output(tables, output) for output in asked(tables))]


def _of_curve(curve: Curve) -> list[str]:
    """The tables and methods of a model without steps."""
    parts = [_table(table, entries) for table, entries in tables_of_curve(curve).items()]
    body = "\n".join(f"    {line}" for line in evaluation(curve, LANGUAGE))
    operations = [
        f"  private static double {operation}(double x, double y) {{\n    return x {sign} y ? x : y;\n  }}"
        for operation, sign in (("least", "<"), ("greatest", ">"))
        if f"{operation}(" in body
    ]
    return [*parts, *_readers(parts), *operations, f"  public static double predict(double score) {{\n{body}\n  }}"]


def _output(tables: Tables, output: str) -> str:
    arguments = ", ".join(parameter.split()[1] for parameter in _parameters(tables).split(", "))
    kind, nothing = ("int", "-1") if output == "bin" else ("double", "Double.NaN")
    return f"""  public static {kind} {METHODS[output]}({_parameters(tables)}) {{
    int step = step({arguments});
    return step < 0 ? {nothing} : {output.upper()}S[step];
  }}"""
