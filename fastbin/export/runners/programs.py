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

from fastbin.export.rows import Rows
from fastbin.export.runners.ran import CannotRun, Failed, Names, Ran
from fastbin.export.source import METHODS

# A program that takes longer is in a loop.
PATIENCE = 600

C_SUFFIXES = {"value": "", "bin": "_bin", "lower": "_lower", "upper": "_upper"}

C_PROGRAM = """\
#include "export.h"
#include <stdio.h>
#include <stdlib.h>

static void *whole(const char *path, size_t size) {{
  char *data = malloc(size + 1);
  FILE *file = fopen(path, "rb");
  if (!data || !file || fread(data, 1, size, file) != size) exit(1);
  fclose(file);
  return data;
}}

int main(void) {{
  const size_t n = {n};
  const double *scores = whole("scores", n * sizeof *scores);
{columns}
  size_t i;
  FILE *out;
{loops}
  return 0;
}}
"""
C_LOOP = """\
  out = fopen("{output}", "wb");
  if (!out) return 1;
  for (i = 0; i < n; i++) {{
    {type} answer = {function}({arguments});
    if (fwrite(&answer, sizeof answer, 1, out) != 1) return 1;
  }}
  if (fclose(out)) return 1;"""


def run_c(text: str, rows: Rows, names: Names) -> Ran:
    """Compiled by the first compiler that is found."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        raise CannotRun("no C compiler is found (cc, gcc or clang)")
    found = re.search(r"^#define (\w+)_SHA256 ", text, re.MULTILINE)
    if found is None:
        raise Failed("there is no #define of NAME_SHA256, so it is no header of fastbin")
    name = found[1]
    outputs = {
        output: C_LOOP.format(
            output=output, type="int32_t" if output == "bin" else "double", function=name + suffix, arguments=_c_arguments(rows)
        )
        for output, suffix in C_SUFFIXES.items()
        if re.search(rf"^static inline \w+ {name}{suffix}\(", text, re.MULTILINE)
    }
    columns = []
    if rows.keys is not None:
        columns.append('  const uint64_t *keys = whole("keys", n * sizeof *keys);')
    if rows.cells is not None and rows.cells.dtype == object:
        columns.append('  const uint64_t *ends = whole("ends", (n + 1) * sizeof *ends);')
        columns.append('  const char *cells = whole("cells", (size_t)ends[n]);')
    elif rows.cells is not None:
        columns.append('  const int64_t *cells = whole("cells", n * sizeof *cells);')
    program = C_PROGRAM.format(n=len(rows), columns="\n".join(columns), loops="\n".join(outputs.values()))
    files = {"export.h": text, "program.c": program}
    build = [compiler, "-O2", "-o", "program", "program.c", "-lm"]
    answers = _answers(files, rows, [build, ["./program"]], list(outputs))
    for output, column in answers.items():
        if output != "bin":
            column[column == -1.0] = np.nan
    version = _said([compiler, "--version"]).partition("\n")[0]
    return Ran(version, answers)


def _c_arguments(rows: Rows) -> str:
    arguments = ["scores[i]"]
    if rows.cells is not None:
        is_text = rows.cells.dtype == object
        arguments[:0] = ["cells + ends[i]", "(size_t)(ends[i + 1] - ends[i])"] if is_text else ["cells[i]"]
    return ", ".join(arguments if rows.keys is None else [*arguments, "keys[i]"])


JAVASCRIPT_PROGRAM = """\
import * as exported from "./export.mjs";
import {{ readFileSync, writeFileSync }} from "node:fs";

const whole = (path) => {{
  const data = readFileSync(path);
  return data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
}};
const scores = new Float64Array(whole("scores"));
{columns}
{loops}
"""
JAVASCRIPT_LOOP = """\
writeFileSync("{output}", {type}.from(scores, (score, i) => exported.{method}({arguments})));"""


def run_javascript(text: str, rows: Rows, names: Names) -> Ran:
    """By Node."""
    node = shutil.which("node") or shutil.which("nodejs")
    if node is None:
        raise CannotRun("node is not found")
    columns, arguments = [], ["score"]
    if rows.cells is not None and rows.cells.dtype == object:
        columns += ['const ends = new BigUint64Array(whole("ends"));', 'const text = new Uint8Array(whole("cells"));']
        columns.append('const decoder = new TextDecoder("utf-8", { ignoreBOM: true });')
        arguments.insert(0, "decoder.decode(text.subarray(Number(ends[i]), Number(ends[i + 1])))")
    elif rows.cells is not None:
        columns.append('const cells = new BigInt64Array(whole("cells"));')
        arguments.insert(0, "cells[i]")
    if rows.keys is not None:
        columns.append('const keys = new BigUint64Array(whole("keys"));')
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


JAVA_PROGRAM = """\
{package}
import java.io.*;
import java.nio.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;

public final class FastbinProgram {{
  private static ByteBuffer whole(String path) throws IOException {{
    return ByteBuffer.wrap(Files.readAllBytes(Paths.get(path))).order(ByteOrder.LITTLE_ENDIAN);
  }}

  public static void main(String[] words) throws IOException {{
    int n = {n};
    DoubleBuffer scores = whole("scores").asDoubleBuffer();
{columns}
    ByteBuffer out;
{loops}
  }}
}}
"""
JAVA_LOOP = """\
    out = ByteBuffer.allocate({size} * n).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < n; i++) out.put{type}({name}.{method}({arguments}));
    Files.write(Paths.get("{output}"), out.array());"""


def run_java(text: str, rows: Rows, names: Names) -> Ran:
    """By the compiler and the machine of a JDK."""
    compiler, machine = shutil.which("javac"), shutil.which("java")
    if compiler is None or machine is None:
        raise CannotRun("javac and java are not found")
    declared = re.search(r"^public final class (\w+) ", text, re.MULTILINE)
    if declared is None:
        raise Failed("there is no public final class, so it is no class of fastbin")
    package = re.search(r"^package ([\w.]+);", text, re.MULTILINE)
    columns, arguments = [], ["scores.get(i)"]
    if rows.cells is not None and rows.cells.dtype == object:
        columns += ['    LongBuffer ends = whole("ends").asLongBuffer();', '    byte[] text = whole("cells").array();']
        start = "(int) ends.get(i)"
        arguments.insert(0, f"new String(text, {start}, (int) ends.get(i + 1) - {start}, StandardCharsets.UTF_8)")
    elif rows.cells is not None:
        columns.append('    LongBuffer cells = whole("cells").asLongBuffer();')
        arguments.insert(0, "cells.get(i)")
    if rows.keys is not None:
        columns.append('    LongBuffer keys = whole("keys").asLongBuffer();')
        arguments.append("keys.get(i)")
    outputs = {
        output: JAVA_LOOP.format(
            output=output, size=4 if output == "bin" else 8, type="Int" if output == "bin" else "Double", name=declared[1],
            method=method, arguments=", ".join(arguments),
        )
        for output, method in METHODS.items()
        if re.search(rf"^  public static \w+ {method}\(", text, re.MULTILINE)
    }  # fmt: skip
    program = JAVA_PROGRAM.format(
        package="" if package is None else package[0],
        n=len(rows),
        columns="\n".join(columns),
        loops="\n".join(outputs.values()),
    )
    main = "FastbinProgram" if package is None else f"{package[1]}.FastbinProgram"
    files = {f"{declared[1]}.java": text, "FastbinProgram.java": program}
    build = [compiler, "-encoding", "UTF-8", "-d", ".", *files]
    answers = _answers(files, rows, [build, [machine, "-cp", ".", main]], list(outputs))
    return Ran(_said([compiler, "-version"]).strip(), answers)


# --------------------------------------------------------------------- running


def _answers(files: Mapping[str, str], rows: Rows, commands: Sequence[Sequence[str]], outputs: list[str]) -> dict[str, Any]:
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
        return {output: np.fromfile(place / output, dtype).astype(dtype.newbyteorder("=")) for output, dtype in types.items()}


def _write_columns(rows: Rows, place: Path) -> None:
    """Little-endian, which all that run here are, too."""
    (place / "scores").write_bytes(rows.scores.astype("<f8").tobytes())
    if rows.keys is not None:
        (place / "keys").write_bytes(rows.keys.astype("<u8").tobytes())
    if rows.cells is None:
        return
    if rows.cells.dtype != object:
        (place / "cells").write_bytes(rows.cells.astype("<i8").tobytes())
        return
    texts = [cell.encode() for cell in rows.cells]
    (place / "cells").write_bytes(b"".join(texts))
    (place / "ends").write_bytes(np.cumsum([0, *map(len, texts)]).astype("<u8").tobytes())


def _said(command: Sequence[str]) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return ran.stdout or ran.stderr
