"""C, Java and JavaScript: a small program around the export reads the rows from files and writes the answers."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fastbin.export.c_source import SHOWN
from fastbin.export.rows import RowsToScore
from fastbin.export.runners.ran import CannotRun, Failed, Ran, SqlNames
from fastbin.export.source import METHODS

# A program that takes longer is in a loop.
PATIENCE = 600

# The header stands in a file with nothing but what it includes, as any other name may be one of its own; no name that a header
# takes has two underscores.
C_ANSWERS = """\
#include "export.h"
"""
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


def run_c(text: str, rows: RowsToScore, names: SqlNames) -> Ran:
    """Compiled by the first compiler that is found."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        raise CannotRun("no C compiler is found (cc, gcc or clang)")
    found = re.search(r"^#define (\w+)_SHA256 ", text, re.MULTILINE)
    if found is None:
        raise Failed("there is no #define of NAME_SHA256, so it is no header of fastbin")
    name = found[1]
    are_texts = rows.cells is not None and rows.cells.dtype == object
    cell = "char" if are_texts else "int64_t"
    outputs = {
        output: {
            "output": output,
            "type": kind.strip(),
            "cell": cell,
            "function": name + suffix,
            "arguments": _c_arguments(rows),
        }
        for output, (kind, suffix, _) in SHOWN.items()
        if re.search(rf"^static inline \w+ {name}{suffix}\(", text, re.MULTILINE)
    }
    cells = f'whole("cells.column", {"(size_t)ends[n]" if are_texts else "n * sizeof *cells"})'
    program = C_PROGRAM.format(
        n=len(rows), cell=cell, keys='whole("keys.column", n * sizeof *keys)' if rows.keys is not None else "NULL",
        ends='whole("ends.column", (n + 1) * sizeof *ends)' if are_texts else "NULL",
        cells="NULL" if rows.cells is None else cells, declarations=_each(C_DECLARATION, outputs), calls=_each(C_CALL, outputs),
    )  # fmt: skip
    files = {"export.h": text, "answers.c": C_ANSWERS + _each(C_OUTPUT, outputs), "program.c": program}
    build = [compiler, "-O2", "-o", "program", "answers.c", "program.c", "-lm"]
    answers = _answers(files, rows, [build, ["./program"]], list(outputs))
    for output, column in answers.items():
        if output != "bin":
            column[column == -1.0] = np.nan
    version = _said([compiler, "--version"]).partition("\n")[0]
    return Ran(version, answers)


def _each(form: str, outputs: Mapping[str, Mapping[str, str]]) -> str:
    """A piece of a program for each output."""
    return "\n".join(form.format(**words) for words in outputs.values())


def _c_arguments(rows: RowsToScore) -> str:
    i = "fastbin__i"
    arguments = [f"fastbin__scores[{i}]"]
    if rows.cells is not None and rows.cells.dtype == object:
        start = f"fastbin__ends[{i}]"
        arguments[:0] = [f"fastbin__cells + {start}", f"(size_t)(fastbin__ends[{i} + 1] - {start})"]
    elif rows.cells is not None:
        arguments.insert(0, f"fastbin__cells[{i}]")
    return ", ".join(arguments if rows.keys is None else [*arguments, f"fastbin__keys[{i}]"])


JAVASCRIPT_PROGRAM = """\
import * as exported from "./export.mjs";
import {{ readFileSync, writeFileSync }} from "node:fs";

const whole = (path) => {{
  const data = readFileSync(path);
  return data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
}};
const scores = new Float64Array(whole("scores.column"));
{columns}
{loops}
"""
JAVASCRIPT_LOOP = """\
writeFileSync("{output}.column", {type}.from(scores, (score, i) => exported.{method}({arguments})));"""


def run_javascript(text: str, rows: RowsToScore, names: SqlNames) -> Ran:
    """By Node."""
    node = shutil.which("node") or shutil.which("nodejs")
    if node is None:
        raise CannotRun("node is not found")
    columns, arguments = [], ["score"]
    if rows.cells is not None and rows.cells.dtype == object:
        columns += [
            'const ends = new BigUint64Array(whole("ends.column"));',
            'const text = new Uint8Array(whole("cells.column"));',
        ]
        columns.append('const decoder = new TextDecoder("utf-8", { ignoreBOM: true });')
        arguments.insert(0, "decoder.decode(text.subarray(Number(ends[i]), Number(ends[i + 1])))")
    elif rows.cells is not None:
        columns.append('const cells = new BigInt64Array(whole("cells.column"));')
        arguments.insert(0, "cells[i]")
    if rows.keys is not None:
        columns.append('const keys = new BigUint64Array(whole("keys.column"));')
        arguments.append("keys[i]")
    outputs = {
        output: JAVASCRIPT_LOOP.format(
            output=output,
            type="Int32Array" if output == "bin" else "Float64Array",
            method=method,
            arguments=", ".join(arguments),
        )
        for output, method in METHODS.items()
        if re.search(rf"^export function {method}\(", text, re.MULTILINE)
    }
    program = JAVASCRIPT_PROGRAM.format(columns="\n".join(columns), loops="\n".join(outputs.values()))
    files = {"export.mjs": text, "program.mjs": program}
    answers = _answers(files, rows, [[node, "program.mjs"]], list(outputs))
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
    return ByteBuffer.wrap(Files.readAllBytes(Paths.get(name + ".column"))).order(ByteOrder.LITTLE_ENDIAN);
  }}

  private static MethodHandle method(String name, Class<?> given) throws ReflectiveOperationException {{
    return MethodHandles.publicLookup().findStatic(
        Class.forName("{name}"), name, MethodType.methodType(given, new Class<?>[] {{ {types} }}));
  }}

  public static void main(String[] words) throws Throwable {{
    int n = {n};
    DoubleBuffer scores = whole("scores").asDoubleBuffer();
{columns}
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
        raise Failed("there is no public final class, so it is no class of fastbin")
    package = re.search(r"^package ([\w.]+);", text, re.MULTILINE)
    columns, arguments, types = [], ["scores.get(i)"], ["double.class"]
    if rows.cells is not None and rows.cells.dtype == object:
        columns += ['    LongBuffer ends = whole("ends").asLongBuffer();', '    byte[] text = whole("cells").array();']
        start = "(int) ends.get(i)"
        arguments.insert(0, f"new String(text, {start}, (int) ends.get(i + 1) - {start}, StandardCharsets.UTF_8)")
        types.insert(0, "String.class")
    elif rows.cells is not None:
        columns.append('    LongBuffer cells = whole("cells").asLongBuffer();')
        arguments.insert(0, "cells.get(i)")
        types.insert(0, "long.class")
    if rows.keys is not None:
        columns.append('    LongBuffer keys = whole("keys").asLongBuffer();')
        arguments.append("keys.get(i)")
        types.append("long.class")
    outputs = {}
    for output, method in METHODS.items():
        if re.search(rf"^  public static \w+ {method}\(", text, re.MULTILINE):
            kind, size = ("int", 4) if output == "bin" else ("double", 8)
            words = {"type": kind, "Type": kind.capitalize(), "method": method, "arguments": ", ".join(arguments)}
            outputs[output] = JAVA_LOOP.format(output=output, size=size, **words)
    name = declared[1]
    words = {"package": f"{name}_program", "program": f"{name}_main", "types": ", ".join(types)}
    program = JAVA_PROGRAM.format(
        n=len(rows), name=name if package is None else f"{package[1]}.{name}", columns="\n".join(columns),
        loops="\n".join(outputs.values()), **words,
    )  # fmt: skip
    files = {f"{name}.java": text, f"{words['program']}.java": program}
    build = [compiler, "-encoding", "UTF-8", "-d", ".", *files]
    run = [machine, "-cp", ".", f"{words['package']}.{words['program']}"]
    return Ran(_said([compiler, "-version"]).strip(), _answers(files, rows, [build, run], list(outputs)))


# --------------------------------------------------------------------- running


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
        types = {output: np.dtype("<i4" if output == "bin" else "<f8") for output in outputs}
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
    if rows.cells.dtype != object:
        (place / "cells.column").write_bytes(rows.cells.astype("<i8").tobytes())
        return
    texts = [cell.encode() for cell in rows.cells]
    (place / "cells.column").write_bytes(b"".join(texts))
    (place / "ends.column").write_bytes(np.cumsum([0, *map(len, texts)]).astype("<u8").tobytes())


def _said(command: Sequence[str]) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return ran.stdout or ran.stderr
