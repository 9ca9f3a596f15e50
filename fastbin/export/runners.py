"""Runs of an export on rows: by engines of SQL and of ONNX that are Python packages here, and compilers.

Around a program in C, Java or JavaScript stands a small one that reads the rows from files and writes the answers.
"""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Float64s, UInt64s
from fastbin._base.checks import check_alpha
from fastbin._base.dependencies import needed_for
from fastbin.export.c_source import SHOWN
from fastbin.export.form import INTEGERS
from fastbin.export.onnx import ALPHA_KEY, OUTPUT_KEY
from fastbin.export.source import METHODS

SOURCES = re.compile(r'[A-Za-z_]\w*|"(?:[^"]|"")+"')
ROW, ANSWER = "fastbin_row", "fastbin_answer"

# A program that takes longer is in a loop.
PATIENCE = 600


@dataclass(frozen=True)
class RowsToScore:
    """Columns of one length."""

    scores: Float64s
    keys: UInt64s | None = None  # of models that split ties by key
    cells: Array | None = None  # of sets: int64, or texts as objects

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def columns(self) -> tuple[Float64s, UInt64s | None, Array | None]:
        return self.scores, self.keys, self.cells

    def take(self, at: Any) -> RowsToScore:
        """Some of the rows."""
        return RowsToScore(*(None if column is None else column[at] for column in self.columns))  # type: ignore[arg-type]

    @property
    def has_texts(self) -> bool:
        return self.cells is not None and self.cells.dtype == object

    def within(self, cell: int | str) -> RowsToScore:
        """The same rows, all in one cell."""
        return RowsToScore(self.scores, self.keys, cells_of(cell, len(self)))


def cells_of(key: int | str, n: int) -> Array:
    """The same cell n times; `np.full` would take the NULs from the end of a text."""
    return np.array([key] * n, np.int64 if isinstance(key, int) else object)


class SqlNames(NamedTuple):
    """The names that SQL is run with: those that its text says, and those that it calls the columns of the rows by."""

    dialect: str | None = None
    what: str = "value"
    score: str = "p"
    key: str | None = None
    cell: str | None = None
    source: str = "scores"
    answer: str = ""  # the column with the answers, where the text says it


class Ran(NamedTuple):
    """The answers of an export to all rows: NaN, and bin -1, where it gives none."""

    engine: str  # what ran it, with its version
    columns: dict[str, Array]  # float64, and int32 for `INTEGERS`
    alpha: float | None = None  # of the intervals, where the export says it
    scores: Float64s | None = None  # those that it was given, where it takes numbers of fewer digits


class CannotRun(Exception):
    """The export cannot be run here; says why."""


class Failed(Exception):
    """The export was to be run, and cannot be; says what its engine says."""


def stated_alpha(text: str) -> float:
    """The failure probability that an export says its intervals have."""
    try:
        return check_alpha(float(text))
    except ValueError:
        raise Failed(f"it says that its intervals are at alpha {text[:40]!r}, which none can have") from None


class Refused(Failed):
    """The same of SQL that an engine refuses."""


# ------------------------------------------------------------------------------------------------- SQL and ONNX


class _Sql(NamedTuple):
    """The SQL that is run: statements first, then a query that has the answers in the column of this name, in any order."""

    statements: list[str]
    query: str
    answer: str
    source: str
    columns: dict[str, Array]
    nothing: int | None  # what stands for NULL among answers that are integers; None where they are doubles
    is_null_alone: bool  # whether that integer never answers a row


def run_sql(text: str, rows: RowsToScore, names: SqlNames) -> Ran:
    """An expression, or tables and a query, over a table whose columns have the names that the text uses."""
    if "\0" in text:
        raise Failed("it holds a NUL, at which a statement ends")
    runners = {"duckdb": _in_duckdb, "ansi": _in_duckdb, "sqlite": _in_sqlite, "polars": _in_polars}
    if names.dialect is None:
        raise CannotRun("the text of SQL does not say its dialect; give it as dialect")
    if names.dialect not in runners:
        raise CannotRun(f"no engine for {names.dialect} runs here; {', '.join(runners)} do")
    if not SOURCES.fullmatch(names.source):
        raise CannotRun(f"the table of scores is {names.source}; only plain names are tried here")
    columns: dict[str, Array] = {_plain(names.score): rows.scores}
    for name, column, what in ((names.key, rows.keys, "tie_key"), (names.cell, rows.cells, "cell")):
        if column is None:
            continue
        if name is None:
            raise CannotRun(f"the rows have a {what}; say by {what} how the text calls its column")
        columns[_plain(name)] = np.array([f"{key:016x}" for key in column.tolist()], object) if what == "tie_key" else column
    columns[ROW] = np.arange(len(rows))
    *statements, last = _statements(text)
    is_script = bool(statements)
    query = last if is_script else f"SELECT {ROW}, {text} AS {ANSWER} FROM {names.source} AS s"
    answer = names.answer or names.what if is_script else ANSWER
    nothing, is_null_alone = INTEGERS.get(names.what), names.what == "bin" and rows.cells is None
    engine, answers = runners[names.dialect](_Sql(statements, query, answer, names.source, columns, nothing, is_null_alone))
    return Ran(engine, {names.what: answers})


def _sqlite() -> Any:
    """Python's own module, which some builds of Python leave out."""
    try:
        import sqlite3
    except ImportError:
        raise CannotRun("this Python has no sqlite3") from None
    return sqlite3


def _statements(text: str) -> list[str]:
    """The statements of a script; SQLite knows where one ends, whatever comments and texts hold."""
    sqlite3, found, lines = _sqlite(), [], ""
    for line in text.splitlines(keepends=True):
        lines += line
        if line.rstrip().endswith(";") and sqlite3.complete_statement(lines):
            found.append(lines)
            lines = ""
    return [*found, lines] if lines.strip() else found


def _plain(name: str) -> str:
    """A name without its quotes, of which two stand for one within."""
    if len(name) > 1 and name[0] == name[-1] and name[0] in '"`':
        return name[1:-1].replace(2 * name[0], name[0])
    return name


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _in_order(sql: _Sql, given: list[tuple[int, Any]]) -> Array:
    """The answers of rows, of which each has its number, in their order: NULL as NaN, or as the integer that stands for it.

    Answers of another type are refused, also where they have the same value: other rows may have others. So is what is no
    answer and not NULL.
    """
    at, answers = [row[0] for row in given], [row[1] for row in given]
    is_whole, limits = sql.nothing is not None, np.iinfo(np.int32)
    for answer in answers:
        if answer is None:
            continue
        if type(answer) is not int and (is_whole or type(answer) is not float):
            expected = "integers" if is_whole else "numbers"
            raise Failed(f"it gives {answer!r}, of type {type(answer).__name__}, and {expected} are expected")
        if is_whole and not limits.min <= answer <= limits.max:
            raise Failed(f"it gives {answer}, and integers of 32 bits are expected")
        if answer != answer or (sql.is_null_alone and answer == sql.nothing):
            raise Failed(f"it gives {answer}, and NULL is expected for a row without an answer")
    nothing = sql.nothing if is_whole else math.nan
    column = np.array([nothing if each is None else each for each in answers], np.int32 if is_whole else np.float64)
    order = np.argsort(np.asarray(at, np.int64), kind="stable")
    if not np.array_equal(np.asarray(at)[order], np.arange(len(column))):
        raise Failed("the query does not give each row once")
    return column[order]


def _executed(sql: _Sql, execute: Callable[[str], Any]) -> Array:
    """The answers of a connection."""
    for statement in sql.statements:
        execute(statement)
    return _in_order(sql, execute(f"SELECT {ROW}, {sql.answer} FROM ({sql.query.rstrip().rstrip(';')})").fetchall())


def _in_duckdb(sql: _Sql) -> tuple[str, Array]:
    """The engine, with its version, and the answers; as the two below."""
    with needed_for("runs in DuckDB", extra="engines"):
        import duckdb
        import pyarrow as pa
    table = pa.table({name: pa.array(column, from_pandas=False) for name, column in sql.columns.items()})
    with duckdb.connect() as connection:
        connection.register(_plain(sql.source), table)
        # The text may come from others: it computes, and opens no files, extensions or databases.
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        try:
            answers = _executed(sql, connection.execute)
        except duckdb.Error as error:
            raise Refused(f"DuckDB says: {error}") from None
    return f"DuckDB {duckdb.__version__}", answers


def _in_sqlite(sql: _Sql) -> tuple[str, Array]:
    sqlite3, names = _sqlite(), ", ".join(map(_quoted, sql.columns))
    refused = sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_PRAGMA
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(f"CREATE TABLE {sql.source} ({names})")
        marks = ", ".join("?" * len(sql.columns))
        columns = (column.tolist() for column in sql.columns.values())
        connection.executemany(f"INSERT INTO {sql.source} VALUES ({marks})", zip(*columns, strict=True))
        # As in DuckDB. To write a database to a file (VACUUM INTO), SQLite attaches it.
        connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_DENY if action in refused else sqlite3.SQLITE_OK)
        answers = _executed(sql, connection.execute)
    except sqlite3.Error as error:
        raise Refused(f"SQLite says: {error}") from None
    finally:
        connection.close()
    return f"SQLite {sqlite3.sqlite_version}", answers


def _in_polars(sql: _Sql) -> tuple[str, Array]:
    with needed_for("runs in Polars", package="polars"):
        import polars as pl
    if sql.statements:
        raise CannotRun("Polars has no tables that last")
    columns = {name: column.tolist() if column.dtype == object else column for name, column in sql.columns.items()}
    try:
        given = pl.SQLContext({_plain(sql.source): pl.DataFrame(columns)}).execute(sql.query, eager=True)
    except pl.exceptions.PolarsError as error:
        raise Refused(f"Polars says: {error}") from None
    return f"Polars {pl.__version__}", _in_order(sql, given.select(ROW, sql.answer).rows())


def run_onnx(graph: bytes, rows: RowsToScore, names: SqlNames) -> Ran:
    """The graph of a model, or of a set, alone."""
    with needed_for("runs of ONNX graphs", extra="onnx"):
        import onnxruntime
    try:
        session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own, which have no common base
        raise Failed(f"onnxruntime says: {error}") from None
    inputs = {each.name: each for each in session.get_inputs()}
    if not set(inputs) <= {"score", "key", "cell"} or "score" not in inputs:
        raise CannotRun(f"the graph takes {', '.join(inputs)}: it stands behind a classifier; compare with onnx_scores there")
    dtype = {"tensor(float)": np.float32, "tensor(float16)": np.float16}.get(inputs["score"].type, np.float64)
    with np.errstate(over="ignore"):
        scores = rows.scores.astype(dtype)
    columns: dict[str, Array] = {}
    for name, column in (("score", scores), ("key", rows.keys), ("cell", rows.cells)):
        if name in inputs and column is None:
            raise Failed(f"the graph asks for {name}, which the model does not need")
        if name in inputs and column is not None:
            columns[name] = column
    try:
        properties = session.get_modelmeta().custom_metadata_map
    except UnicodeDecodeError as error:
        raise Failed(f"a text among its properties is not UTF-8: {error}") from None
    tensors = {name.removeprefix(OUTPUT_KEY): tensor for name, tensor in properties.items() if name.startswith(OUTPUT_KEY)}
    if not tensors:
        raise Failed(f"the graph has no property {OUTPUT_KEY}value or the like, which says what its outputs are")
    batches = _batches(columns, inputs["score"].shape)
    try:
        answers = [session.run(list(tensors.values()), feeds) for feeds in batches]
    except Exception as error:  # as above; an input of another type, an output that it does not have
        raise Failed(f"onnxruntime says: {error}") from None
    found = {
        output: np.concatenate([np.asarray(column).reshape(-1) for column in parts])[: len(rows)]
        for output, parts in zip(tensors, zip(*answers, strict=True), strict=True)
    }
    alpha = properties.get(ALPHA_KEY)
    engine = f"onnxruntime {onnxruntime.__version__}"
    return Ran(engine, found, None if alpha is None else stated_alpha(alpha), scores.astype(np.float64))


def _batches(columns: Mapping[str, Array], shape: Sequence[int | str | None]) -> Iterator[dict[str, Array]]:
    """The columns in tensors of this shape, of which names are any size: one, or as many as it takes; rows fill up the last."""
    n_rows = len(columns["score"])
    n_fixed = math.prod(size for size in shape if isinstance(size, int))
    if n_fixed == 0:
        raise Failed("the graph takes tensors without rows")
    n_free = -(-n_rows // n_fixed) if any(not isinstance(size, int) for size in shape) else 1
    first = next((at for at, size in enumerate(shape) if not isinstance(size, int)), None)
    sizes = [n_free if at == first else size if isinstance(size, int) else 1 for at, size in enumerate(shape)]
    return (
        {name: np.resize(column[start : start + n_fixed * n_free], sizes) for name, column in columns.items()}
        for start in range(0, n_rows, n_fixed * n_free)
    )


# ------------------------------------------------------------------------------------------------- programs

# The header stands in a file with nothing but what it includes, as any other name may be one of its own; no name that a header
# takes has two underscores.
C_OUTPUT = """
void fastbin__{output}(
    size_t fastbin__n, const double *fastbin__scores, const uint64_t *fastbin__keys, const {cell} *fastbin__cells,
    const uint64_t *fastbin__ends, {type} *fastbin__answers) {{
  size_t fastbin__i;
  (void)fastbin__keys, (void)fastbin__cells, (void)fastbin__ends;
  for (fastbin__i = 0; fastbin__i < fastbin__n; fastbin__i++) {{
    fastbin__answers[fastbin__i] = {function}({arguments});
  }}
}}
"""
C_PROGRAM = """\
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

{declarations}

static void *whole(const char *path, size_t size) {{
  char *data = malloc(size + 1);
  FILE *file = fopen(path, "rb");
  if (!data || !file || fread(data, 1, size, file) != size) exit(1);
  fclose(file);
  return data;
}}

int main(void) {{
  const size_t n = {n};
  const double *scores = whole("scores.column", n * sizeof *scores);
  const uint64_t *keys = {keys};
  const uint64_t *ends = {ends};
  const {cell} *cells = {cells};
  void *answers = malloc(n * sizeof(double) + 1);
  FILE *out;
  if (!answers) return 1;
{calls}
  return 0;
}}
"""
C_DECLARATION = """\
void fastbin__{output}(size_t, const double *, const uint64_t *, const {cell} *, const uint64_t *, {type} *);"""
C_CALL = """\
  fastbin__{output}(n, scores, keys, cells, ends, answers);
  out = fopen("{output}.column", "wb");
  if (!out || fwrite(answers, sizeof({type}), n, out) != n || fclose(out)) return 1;"""


def _arguments(rows: RowsToScore, cell: Sequence[str], score: str, key: str) -> list[str]:
    """The arguments of a call for one row; `cell` of an integer and of a text."""
    return [*([] if rows.cells is None else [cell[rows.has_texts]]), score, *([] if rows.keys is None else [key])]


def run_c(text: str, rows: RowsToScore, names: SqlNames) -> Ran:
    """Compiled by the first compiler that is found."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        raise CannotRun("no C compiler is found (cc, gcc or clang)")
    found = re.search(r"^#define (\w+)_SHA256 ", text, re.MULTILINE)
    if found is None:
        raise Failed("it has no #define of NAME_SHA256, so it is not a header of fastbin")
    name, cell = found[1], "char" if rows.has_texts else "int64_t"
    i, start = "fastbin__i", "fastbin__ends[fastbin__i]"
    of_text = f"fastbin__cells + {start}, (size_t)(fastbin__ends[{i} + 1] - {start})"
    arguments = _arguments(rows, (f"fastbin__cells[{i}]", of_text), f"fastbin__scores[{i}]", f"fastbin__keys[{i}]")
    outputs = {
        output: {
            "output": output, "type": "int32_t" if output in INTEGERS else "double", "cell": cell, "function": name + suffix,
            "arguments": ", ".join(arguments),
        }
        for output, (suffix, _) in SHOWN.items()
        if re.search(rf"^static inline \w+ {name}{suffix}\(", text, re.MULTILINE)
    }  # fmt: skip

    def each(form: str) -> str:
        return "\n".join(form.format(**words) for words in outputs.values())

    cells = f'whole("cells.column", {"(size_t)ends[n]" if rows.has_texts else "n * sizeof *cells"})'
    program = C_PROGRAM.format(
        n=len(rows), cell=cell, keys='whole("keys.column", n * sizeof *keys)' if rows.keys is not None else "NULL",
        ends='whole("ends.column", (n + 1) * sizeof *ends)' if rows.has_texts else "NULL",
        cells="NULL" if rows.cells is None else cells, declarations=each(C_DECLARATION), calls=each(C_CALL),
    )  # fmt: skip
    files = {"export.h": text, "answers.c": '#include "export.h"\n' + each(C_OUTPUT), "program.c": program}
    build = [compiler, "-O2", "-o", "program", "answers.c", "program.c", "-lm"]
    answers = _answers(files, rows, [build, ["./program"]], list(outputs))
    for output, column in answers.items():
        if output not in INTEGERS:
            column[column == -1.0] = np.nan
    return Ran(_said([compiler, "--version"]).partition("\n")[0], answers)


JAVASCRIPT_PROGRAM = """\
import * as exported from "./export.mjs";
import {{ existsSync, readFileSync, writeFileSync }} from "node:fs";

const whole = (path, type) => {{
  if (!existsSync(path)) return undefined;
  const data = readFileSync(path);
  return new type(data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength));
}};
const scores = whole("scores.column", Float64Array), keys = whole("keys.column", BigUint64Array);
const ends = whole("ends.column", BigUint64Array), cells = whole("cells.column", ends ? Uint8Array : BigInt64Array);
const decoder = new TextDecoder("utf-8", {{ ignoreBOM: true }});
{loops}
"""
JAVASCRIPT_LOOP = """\
writeFileSync("{output}.column", {type}.from(scores, (score, i) => exported.{method}({arguments})));"""


def run_javascript(text: str, rows: RowsToScore, names: SqlNames) -> Ran:
    """By Node."""
    node = shutil.which("node") or shutil.which("nodejs")
    if node is None:
        raise CannotRun("node is not found")
    of_text = "decoder.decode(cells.subarray(Number(ends[i]), Number(ends[i + 1])))"
    arguments = ", ".join(_arguments(rows, ("cells[i]", of_text), "score", "keys[i]"))
    types = dict.fromkeys(INTEGERS, "Int32Array")
    loops = {
        output: JAVASCRIPT_LOOP.format(
            output=output, type=types.get(output, "Float64Array"), method=method, arguments=arguments
        )
        for output, method in METHODS.items()
        if re.search(rf"^export function {method}\(", text, re.MULTILINE)
    }  # fmt: skip
    files = {"export.mjs": text, "program.mjs": JAVASCRIPT_PROGRAM.format(loops="\n".join(loops.values()))}
    answers = _answers(files, rows, [[node, "program.mjs"]], list(loops))
    return Ran(f"Node {_said([node, '--version']).strip()}", answers)


# The class is called by its name from another package, so that no name of it stands for one that this program uses.
JAVA_PROGRAM = """\
package {package};

import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;

public final class {program} {{
  private static ByteBuffer whole(String name) throws IOException {{
    if (!Files.exists(Paths.get(name + ".column"))) return ByteBuffer.allocate(0);
    return ByteBuffer.wrap(Files.readAllBytes(Paths.get(name + ".column"))).order(ByteOrder.LITTLE_ENDIAN);
  }}

  private static MethodHandle method(String name, Class<?> given) throws ReflectiveOperationException {{
    return MethodHandles.publicLookup().findStatic(
        Class.forName("{name}"), name, MethodType.methodType(given, new Class<?>[] {{ {types} }}));
  }}

  public static void main(String[] words) throws Throwable {{
    int n = {n};
    DoubleBuffer scores = whole("scores").asDoubleBuffer();
    LongBuffer keys = whole("keys").asLongBuffer(), ends = whole("ends").asLongBuffer();
    LongBuffer cells = whole("cells").asLongBuffer();
    byte[] text = whole("cells").array();
    MethodHandle method;
    ByteBuffer out;
{loops}
  }}
}}
"""
JAVA_LOOP = """\
    method = method("{method}", {type}.class);
    out = ByteBuffer.allocate({size} * n).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < n; i++) out.put{Type}(({type}) method.invokeExact({arguments}));
    Files.write(Paths.get("{output}.column"), out.array());"""


def run_java(text: str, rows: RowsToScore, names: SqlNames) -> Ran:
    """By the compiler and the machine of a JDK."""
    compiler, machine = shutil.which("javac"), shutil.which("java")
    if compiler is None or machine is None:
        raise CannotRun("javac and java are not found")
    declared = re.search(r"^public final class (\w+) ", text, re.MULTILINE)
    if declared is None:
        raise Failed("it has no public final class, so it is not a class of fastbin")
    package = re.search(r"^package ([\w.]+);", text, re.MULTILINE)
    start = "(int) ends.get(i)"
    of_text = f"new String(text, {start}, (int) ends.get(i + 1) - {start}, StandardCharsets.UTF_8)"
    arguments = ", ".join(_arguments(rows, ("cells.get(i)", of_text), "scores.get(i)", "keys.get(i)"))
    types = ", ".join(_arguments(rows, ("long.class", "String.class"), "double.class", "long.class"))
    loops = {}
    for output, method in METHODS.items():
        if re.search(rf"^  public static \w+ {method}\(", text, re.MULTILINE):
            kind, size = ("int", 4) if output in INTEGERS else ("double", 8)
            words = {"type": kind, "Type": kind.capitalize(), "method": method, "arguments": arguments}
            loops[output] = JAVA_LOOP.format(output=output, size=size, **words)
    name = declared[1]
    words = {"package": f"{name}_program", "program": f"{name}_main", "types": types}
    called = name if package is None else f"{package[1]}.{name}"
    program = JAVA_PROGRAM.format(n=len(rows), name=called, loops="\n".join(loops.values()), **words)
    files = {f"{name}.java": text, f"{words['program']}.java": program}
    # Both end soon: the optimising compiler and the threads of another collector would cost more than they give.
    soon = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    build = [compiler, *(f"-J{each}" for each in soon), "-proc:none", "-encoding", "UTF-8", "-d", ".", *files]
    run = [machine, *soon, "-cp", ".", f"{words['package']}.{words['program']}"]
    return Ran(_said([compiler, "-version"]).strip(), _answers(files, rows, [build, run], list(loops)))


# ------------------------------------------------------------------------------------------------- running


def _answers(
    files: Mapping[str, str], rows: RowsToScore, commands: Sequence[Sequence[str]], outputs: list[str]
) -> dict[str, Any]:
    """Run commands beside these files and the columns of the rows; the columns that they leave, by output."""
    if not outputs:
        raise Failed("it has no function that fastbin writes")
    with tempfile.TemporaryDirectory(prefix="fastbin") as folder:
        place = Path(folder)
        for name, text in files.items():
            (place / name).write_text(text, encoding="utf8", newline="\n")
        _write_columns(rows, place)
        for command in commands:
            try:
                ran = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=PATIENCE, check=False)
            except subprocess.TimeoutExpired:
                raise Failed(f"{Path(command[0]).name} does not end within {PATIENCE} s") from None
            if ran.returncode != 0:
                said = (ran.stderr or ran.stdout).strip().splitlines()
                raise Failed(f"{Path(command[0]).name} ends with {ran.returncode}: {' '.join(said[:3])}")
        types = {output: np.dtype("<i4" if output in INTEGERS else "<f8") for output in outputs}
        return {
            output: np.fromfile(place / f"{output}.column", dtype).astype(dtype.newbyteorder("="))
            for output, dtype in types.items()
        }


def _write_columns(rows: RowsToScore, place: Path) -> None:
    """Little-endian, which all that run here are, too."""
    (place / "scores.column").write_bytes(rows.scores.astype("<f8").tobytes())
    if rows.keys is not None:
        (place / "keys.column").write_bytes(rows.keys.astype("<u8").tobytes())
    if rows.cells is None:
        return
    if not rows.has_texts:
        (place / "cells.column").write_bytes(rows.cells.astype("<i8").tobytes())
        return
    texts = [cell.encode() for cell in rows.cells]
    (place / "cells.column").write_bytes(b"".join(texts))
    (place / "ends.column").write_bytes(np.cumsum([0, *map(len, texts)]).astype("<u8").tobytes())


def _said(command: Sequence[str]) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return ran.stdout or ran.stderr
