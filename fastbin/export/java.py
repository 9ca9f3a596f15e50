"""A model, or a set of models, as one Java class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fastbin._base.array_types import Array
from fastbin._base.errors import InputError, InputTypeError
from fastbin.export.form import Curve, as_exported, digest_of
from fastbin.export.source import (
    METHODS,
    Language,
    SetCells,
    check_name,
    comment,
    literal,
    number,
    program,
    said_of_answers,
    signatures,
    source_of,
)

KEYWORDS = """
    abstract assert boolean break byte case catch char class const continue default do double else enum extends false final
    finally float for goto if implements import instanceof int interface long native new null package private protected public
    return short static strictfp super switch synchronized this throw throws transient true try void volatile while _
"""
# Words that cannot name a type, and the types that the class uses.
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
    outputs : sequence of {"value", "bin", "lower", "upper", "lower_if_rising", "upper_if_rising", "decision"}
        What to write methods for; those of lower and upper ends are of `interval`, of bins and of `at="score"`.
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

    For rows without an answer the methods give NaN, and `predictBin` -1: NaN, infinite scores, scores outside the range of a
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
    fitted = as_exported(model)
    source = source_of(fitted, outputs, alpha)
    methods = signatures(source, LANGUAGE)
    said = said_of_answers(source, "NaN")
    about = comment(
        fitted, outputs, alpha, "", *methods.values(), "", *said, "Needs no library; safe to share between threads."
    )  # fmt: skip
    imports = ""
    if not isinstance(source, Curve) and source.cells is not None:
        imports = f"import java.util.{'HashMap' if source.cells.are_texts else 'Arrays'};\n\n"
    facts = (
        f'  public static final String SHA256 = "{digest_of(fitted)}";\n'
        f"  public static final String EVENT = {literal(fitted.event)};"
    )
    body = "\n\n".join([facts, f"  private {name}() {{}}", *program(source, LANGUAGE)])
    return f"{about}{_package_line(package)}{imports}public final class {name} {{\n{body}\n}}\n"


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


LANGUAGE = Language(
    real="double ", whole="int ", integer="int", constants=("int", "final double"),
    arguments=("long cell, ", "String cell, ", ", long key"), access=("  private static ", "  public static "),
    nothing="Double.NaN", name=lambda function: METHODS.get(function, function), table=str.upper, printed=_table, cells=_cells,
    find="model(cell)", score="score", limit=repr,
    is_above="{edges}[at] < score | ({edges}[at] == score & Long.compareUnsigned({keys}[at], key) <= 0)", truth="({} ? 1 : 0)",
    words={"exp": "Math.exp({})", "log": "Math.log({})"},
    remark="  /** {} */", more=_readers, checks=lambda source: [], margin="  ",
)  # fmt: skip
