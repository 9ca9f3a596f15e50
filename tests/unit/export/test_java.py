"""Java classes: the bits of `predict`, large tables, names, and what is said."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import compiled
import pytest
from compiled import CASES, CURVE_CASES, Case, case_of
from exported import GREATEST, model_of, model_with_edges_of_all_sizes

import fastbin as fb
from fastbin.export.form import digest_of

pytestmark = pytest.mark.skipif(shutil.which("javac") is None, reason="javac is not installed")

EVERY = [*CASES, *CURVE_CASES]
QUICK = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
COMPILE = ["javac", *(f"-J{option}" for option in QUICK), "-Xlint:all,-options", "-Werror", "--release", "8"]
COMPILE += ["-encoding", "US-ASCII"]

RUNNER = """
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;

public final class Runner {
  static ByteBuffer read(String path) throws IOException {
    return ByteBuffer.wrap(Files.readAllBytes(Paths.get(path))).order(ByteOrder.LITTLE_ENDIAN);
  }

  static double[] doubles(String path) throws IOException {
    ByteBuffer data = read(path);
    double[] out = new double[data.remaining() / 8];
    data.asDoubleBuffer().get(out);
    return out;
  }

  static long[] longs(String path) throws IOException {
    ByteBuffer data = read(path);
    long[] out = new long[data.remaining() / 8];
    data.asLongBuffer().get(out);
    return out;
  }

  static String[] texts(String name) throws IOException {
    byte[] data = Files.readAllBytes(Paths.get(name + ".cells"));
    long[] ends = longs(name + ".ends");
    String[] out = new String[ends.length];
    for (int i = 0, start = 0; i < out.length; start = (int) ends[i++]) {
      out[i] = new String(data, start, (int) ends[i] - start, StandardCharsets.UTF_8);
    }
    return out;
  }

  static ByteBuffer buffer(int size) {
    return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
  }

  static void write(String path, ByteBuffer data) throws IOException {
    Files.write(Paths.get(path), data.array());
  }

%s
  public static void main(String[] names) throws IOException {
    for (String name : names) {
      switch (name) {
%s
        default: throw new IllegalArgumentException(name);
      }
    }
  }
}
"""


def _scoring(case: Case) -> str:
    name = case.name
    columns = [f'double[] scores = doubles("{name}.scores");']
    if case.needs_key:
        columns.append(f'long[] keys = longs("{name}.keys");')
    if case.is_set:
        columns.append(f'String[] cells = texts("{name}");' if case.has_texts else f'long[] cells = longs("{name}.cells");')
    arguments = f"{'cells[i], ' if case.is_set else ''}scores[i]{', keys[i]' if case.needs_key else ''}"
    outs = []
    for output in case.outputs:
        size, put, method = (4, "putInt", "predictBin") if output == "bin" else (8, "putDouble", "predict")
        method += "" if output in ("value", "bin") else output.title().replace("_", "")
        outs.append(f"""    ByteBuffer {output} = buffer({size} * scores.length);
    for (int i = 0; i < scores.length; i++) {output}.{put}({name}.{method}({arguments}));
    write("{name}.{output}", {output});""")
    body = "\n".join([*(f"    {column}" for column in columns), *outs])
    return f"  static void run_{name}() throws IOException {{\n{body}\n  }}\n"


def _build(folder: Path, cases: list[Case]) -> None:
    """The classes of the exports, and a program that calls them."""
    for case in cases:
        text = fb.export.java(case.model, case.name, outputs=case.outputs, alpha=case.alpha)
        (folder / f"{case.name}.java").write_text(text, "ascii")
    choices = "\n".join(f'        case "{case.name}": run_{case.name}(); break;' for case in cases)
    (folder / "Runner.java").write_text(RUNNER % ("\n".join(map(_scoring, cases)), choices), "ascii")
    _compile(folder, "Runner.java")


def _compile(folder: Path, *files: str) -> None:
    ran = subprocess.run([*COMPILE, *files], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def _run(folder: Path, *arguments: str) -> str:
    command = ["java", *QUICK, "-cp", ".", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the program that has all cases."""
    folder = tmp_path_factory.mktemp("java")
    _build(folder, EVERY)
    yield folder
    shutil.rmtree(folder)


def test_answers_have_the_bits_of_predict(program: Path) -> None:
    rows = {case.name: compiled.few_rows_of(case) for case in EVERY}
    for case in EVERY:
        compiled.write_rows(program, case, rows[case.name])
    _run(program, "Runner", *rows)
    for case in EVERY:
        compiled.check_answers(program, case, rows[case.name], nothing=float("nan"))


@pytest.mark.slow
@pytest.mark.parametrize("case", EVERY, ids=lambda case: case.about)
def test_a_million_rows_of_each_model(program: Path, case: Case) -> None:
    rows = compiled.rows_of(case, 1_000_000)
    compiled.write_rows(program, case, rows)
    _run(program, "Runner", case.name)
    compiled.check_answers(program, case, rows, nothing=float("nan"))
    compiled.remove_files(program, case)


def test_packages_large_tables_and_missing_cells(tmp_path: Path) -> None:
    """A model of 30,000 edges, and cells of emoji in texts longer than a constant of Java may be, and null as a cell."""
    edges = [i / 30_001 for i in range(1, 30_001)]
    counts = [2] * 30_001
    model = fb.BinnedModel.from_parts(
        edges=edges, values=[i / 40_000 for i in range(30_001)], counts=counts, label_sums=[1] * 30_001, scheme="explicit",
        n_samples=sum(counts),
    )  # fmt: skip
    (tmp_path / "Fine.java").write_text(fb.export.java(model, "Fine", package="org.example"), "ascii")
    named = case_of("texts, keys, pool").model
    (tmp_path / "Named.java").write_text(fb.export.java(named, "Named", package="org.example"), "ascii")
    greatest = model_with_edges_of_all_sizes()
    (tmp_path / "Greatest.java").write_text(fb.export.java(greatest, "Greatest", package="org.example"), "ascii")
    keys = [f"{i:03d}" + 200 * "\U0001f642" for i in range(120)]
    emoji = fb.ModelSet(dict.fromkeys(keys, model_of("2 bins")))
    (tmp_path / "Emoji.java").write_text(fb.export.java(emoji, "Emoji", package="org.example"), "ascii")
    (tmp_path / "Main.java").write_text("""
import org.example.Emoji;
import org.example.Fine;
import org.example.Greatest;
import org.example.Named;

public final class Main {
  public static void main(String[] arguments) {
    System.out.println(Fine.SHA256);
    for (double score : new double[] {0.0, 0.5, 1.0}) System.out.println(Fine.predict(score));
    System.out.println(Named.predict(null, 0.5, 1L) + " " + Named.predict("", 0.5, 1L) + " " + Named.predict("new", 0.5, 1L));
    for (double score : new double[] {-Double.MAX_VALUE, 0.0, Double.MAX_VALUE}) System.out.println(Greatest.predict(score));
    System.out.println(Emoji.predict("119" + String.join("", java.util.Collections.nCopies(200, "\\uD83D\\uDE42")), 0.5));
  }
}
""")
    _compile(tmp_path, "-d", ".", *sorted(path.name for path in tmp_path.glob("*.java")))
    lines = _run(tmp_path, "Main").splitlines()
    assert lines[0] == digest_of(model)
    assert list(map(float, lines[1:4])) == model.predict([0.0, 0.5, 1.0]).tolist()
    assert lines[4] == f"NaN NaN {named.predict_one(0.5, 'new', 1)!r}"
    assert list(map(float, lines[5:8])) == greatest.predict([-GREATEST, 0.0, GREATEST]).tolist()
    assert float(lines[8]) == emoji.predict_one(0.5, keys[119])


@pytest.mark.parametrize("name", ["", "2P", "a.b", "P-Q", "\u00dc", "P\n", "class", "_", "record", "String", "HashMap", None])
def test_names_that_java_does_not_take_are_refused(name: str | None) -> None:
    with pytest.raises((fb.InputError, fb.InputTypeError), match=f"^name is {re.escape(repr(name))}"):
        fb.export.java(model_of("2 bins"), name)


@pytest.mark.parametrize("package", ["", "a..b", "a.class", "a.2", "a b", "java.util", 5])
def test_packages_that_java_does_not_take_are_refused(package: object) -> None:
    with pytest.raises((fb.InputError, fb.InputTypeError), match="package is"):
        fb.export.java(model_of("2 bins"), "P", package=package)
