"""C headers: the bits of `predict`, under every compiler, language and option that is here; names, and what is said."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import compiled
import numpy as np
import pytest
from compiled import CASES, CURVE_CASES, Case
from exported import model_of

import fastbin as fb
from fastbin.export.c_source import codes_of
from fastbin.export.form import digest_of

STRICT = ["-pedantic", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wsign-conversion", "-Werror"]
C99, CPP11 = ["-xc", "-std=c99", *STRICT], ["-xc++", "-std=c++11", *STRICT]
SLOWEST, FASTEST = ["-O0"], ["-O3", "-ffast-math", "-march=native"]
EVERY = [
    (compiler, [*language, *options])
    for compiler in ("gcc", "clang")
    for language in (C99, CPP11)
    for options in (SLOWEST, FASTEST)
]
# Each compiler meets each language and each option, and each language each option, in half of the programs.
PAIRS = [EVERY[1], EVERY[2], EVERY[4], EVERY[7]]


def _told(given: str | list[str]) -> str:
    """A compiler, or its options, in the name of a test."""
    return given if isinstance(given, str) else f"{given[1]}, {given[-1]}"


READ = """
#include <stdio.h>
#include <stdlib.h>

static size_t n_rows;

/* A column of the rows; of a file that is empty, something that can be freed. */
static void *column(const char *path, size_t size) {
  FILE *file = fopen(path, "rb");
  long n_bytes;
  void *data;
  if (!file || fseek(file, 0, SEEK_END) != 0) abort();
  n_bytes = ftell(file);
  rewind(file);
  data = malloc((size_t)n_bytes + 1);
  if (!data || fread(data, 1, (size_t)n_bytes, file) != (size_t)n_bytes) abort();
  fclose(file);
  n_rows = (size_t)n_bytes / size;
  return data;
}

static void write_all(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(data, size, n_rows, file) != n_rows || fclose(file) != 0) abort();
}
"""


def _arguments(case: Case) -> str:
    """The arguments of a call for row i."""
    cell = "" if not case.is_set else "cells[i], " if not case.has_texts else (
        "cells + (i ? ends[i - 1] : 0), (size_t)(ends[i] - (i ? ends[i - 1] : 0)), "
    )  # fmt: skip
    return f"{cell}scores[i]{', keys[i]' if case.needs_key else ''}"


def _scoring(case: Case) -> str:
    """The function that scores the rows of a case."""
    name = case.name
    columns = [f'uint64_t *keys = (uint64_t *)column("{name}.keys", 8);'] if case.needs_key else []
    if case.is_set:
        kind = "char" if case.has_texts else "int64_t"
        columns.append(f'{kind} *cells = ({kind} *)column("{name}.cells", sizeof({kind}));')
    if case.has_texts:
        columns.append(f'int64_t *ends = (int64_t *)column("{name}.ends", 8);')
    columns.append(f'double *scores = (double *)column("{name}.scores", 8);')
    loops = []
    for output in compiled.OUTPUTS:
        kind, suffix = "int32_t" if output == "bin" else "double", "" if output == "value" else f"_{output}"
        if output in case.outputs:
            loops.append(f"""  {{
    {kind} *out = ({kind} *)malloc((n_rows + 1) * sizeof *out);
    if (!out) abort();
    for (size_t i = 0; i < n_rows; i++) out[i] = {name}{suffix}({_arguments(case)});
    write_all("{name}.{output}", out, sizeof *out);
    free(out);
  }}""")
    body = "\n".join([*(f"  {column}" for column in columns), *loops])
    freed = "".join(f" free({column});" for column in re.findall(r"\*(\w+) =", "\n".join(columns)))
    return f"static void run_{name}(void) {{\n{body}\n {freed}\n}}\n"


def _program(cases: list[Case]) -> str:
    includes = "".join(f'#include "{case.name}.h"\n' for case in cases)
    calls = "".join(f'    if (strcmp(names[k], "{case.name}") == 0) run_{case.name}();\n' for case in cases)
    return (
        f"{includes}{READ}\n" + "\n".join(map(_scoring, cases)) + "\nint main(int n_names, char **names) {\n"
        f"  for (int k = 1; k < n_names; k++) {{\n{calls}  }}\n  return 0;\n}}\n"
    )  # fmt: skip


def _write_sources(folder: Path, cases: list[Case]) -> None:
    for case in cases:
        header = fb.export.c_source(case.model, case.name, outputs=case.outputs, alpha=case.alpha)
        (folder / f"{case.name}.h").write_text(header, "ascii")
    (folder / "main.c").write_text(_program(cases), "ascii")


def _build(folder: Path, compiler: str, options: list[str]) -> Path:
    """The path of the program; skipped without the compiler."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    program = folder / "program"
    ran = subprocess.run(
        [compiler, *options, "main.c", "-xnone", "-o", program.name, "-lm"], cwd=folder, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr[:4000]
    return program


def _prepare(folder: Path, cases: list[Case]) -> dict[str, compiled.Rows]:
    """The headers of these cases, a program that calls them, and 8,000 rows each."""
    _write_sources(folder, cases)
    rows = {case.name: compiled.few_rows_of(case) for case in cases}
    for case in cases:
        compiled.write_rows(folder, case, rows[case.name])
    return rows


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, compiled.Rows]]]:
    """Models and sets with steps."""
    folder = tmp_path_factory.mktemp("c_source")
    yield folder, _prepare(folder, CASES)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def curves(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, compiled.Rows]]]:
    """Models without steps."""
    folder = tmp_path_factory.mktemp("c_curves")
    yield folder, _prepare(folder, CURVE_CASES)
    shutil.rmtree(folder)


@pytest.mark.sampled
@pytest.mark.parametrize(("compiler", "options"), PAIRS, ids=_told)
def test_answers_have_the_bits_of_predict(sources, compiler: str, options: list[str]) -> None:
    folder, rows = sources
    program = _build(folder, compiler, options)
    subprocess.run([program, *rows], cwd=folder, check=True)
    for case in CASES:
        compiled.check_answers(folder, case, rows[case.name], nothing=-1.0)


# Without -std=c99 and on processors that can, both compilers fuse products and sums; and one that does as IEEE 754 says.
FUSING = [(compiler, ["-xc", "-std=gnu99", *STRICT, "-O3", "-march=native"]) for compiler in ("gcc", "clang")]
AS_WRITTEN = [("gcc", [*C99, "-O0"]), ("clang", [*CPP11, "-O2"])]


@pytest.mark.sampled
@pytest.mark.parametrize(("compiler", "options"), [*FUSING, *AS_WRITTEN], ids=_told)
def test_curves_are_what_predict_gives(curves, compiler: str, options: list[str]) -> None:
    folder, rows = curves
    program = _build(folder, compiler, options)
    subprocess.run([program, *rows], cwd=folder, check=True)
    for case in CURVE_CASES:
        compiled.check_answers(folder, case, rows[case.name], nothing=-1.0)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """The program of all cases, by all compilers that are here, under all options, and watched; each in its folder."""
    folder = tmp_path_factory.mktemp("c_programs")
    built = {}
    watched = [*C99, "-O1", "-fno-sanitize-recover=all", "-fsanitize=address,undefined"]
    for number, (compiler, options) in enumerate([*EVERY, ("gcc", watched)]):
        if shutil.which(compiler) is not None:
            path = folder / str(number)
            path.mkdir()
            _write_sources(path, CASES)
            built[f"{compiler} {options[1]} {options[-1]}"] = _build(path, compiler, options)
    yield built
    shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.about)
def test_a_million_rows_of_each_model(programs: dict[str, Path], tmp_path: Path, case: Case) -> None:
    assert programs
    rows = compiled.rows_of(case, 1_000_000)
    compiled.write_rows(tmp_path, case, rows)
    for program in programs.values():
        subprocess.run([program, case.name], cwd=tmp_path, check=True)
        compiled.check_answers(tmp_path, case, rows, nothing=-1.0)
    compiled.remove_files(tmp_path, case)


@pytest.mark.parametrize("name", ["credit", "cfor", "final_score", "issue", "cal", "expected", "logit", "strata", "member"])
def test_names_that_only_look_like_those_of_c_are_taken(name: str) -> None:
    assert f"double {name}(double score)" in fb.export.c_source(model_of("2 bins"), name)


@pytest.mark.parametrize("language", [C99, CPP11], ids=["C", "C++"])
def test_another_model_of_the_same_name_is_an_error(tmp_path: Path, language: list[str]) -> None:
    """It must not be left out in silence, as the second header of one model is."""
    (tmp_path / "one.h").write_text(fb.export.c_source(model_of("10 bins"), "p"), "ascii")
    (tmp_path / "other.h").write_text(fb.export.c_source(model_of("2 bins"), "p"), "ascii")
    for second, is_error in (("one.h", False), ("other.h", True)):
        (tmp_path / "main.c").write_text(f'#include "one.h"\n#include "{second}"\nint main(void) {{ return p(0.5) < 0; }}\n')
        built = subprocess.run(["cc", *language, "main.c", "-o", "main"], cwd=tmp_path, capture_output=True, text=True)
        assert (built.returncode != 0) == is_error, built.stderr
    assert "redefinition of" in built.stderr


@pytest.mark.parametrize("about", ["10 knots", "beta"])
def test_curves_are_not_compiled_with_fast_math(tmp_path: Path, about: str) -> None:
    header = fb.export.c_source(compiled.curve_model_of(about), "p")
    assert ("<math.h>" in header) == (about == "beta")
    assert "without -ffast-math" in header
    (tmp_path / "main.c").write_text(f"{header}int main(void) {{ return p(0.5) < 0; }}\n")
    command = ["cc", "-std=c99", "main.c", "-o", "main", "-lm"]
    assert subprocess.run(command, cwd=tmp_path).returncode == 0
    refused = subprocess.run([*command, "-ffast-math"], cwd=tmp_path, capture_output=True, text=True)
    assert refused.returncode != 0
    assert "#error p: compile without -ffast-math" in refused.stderr


def test_the_header_stands_alone_in_several_files(tmp_path: Path) -> None:
    """Without any other include before it, twice in one file, and in two files of one program, beside another header."""
    for name, about in (("one", "10 bins"), ("other", "10 bins, keys")):
        (tmp_path / f"{name}.h").write_text(fb.export.c_source(model_of(about), name, outputs=compiled.OUTPUTS), "ascii")
    includes = '#include "one.h"\n#include "other.h"\n#include "one.h"\n'
    (tmp_path / "main.c").write_text(
        f"{includes}double elsewhere(double score);\n"
        "double elsewhere(double score) { return one(score) + other(score, 5u); }\n"
        "double here(double score);\nint main(void) { return here(0.3) == elsewhere(0.3) ? 0 : 1; }\n"
    )
    (tmp_path / "two.c").write_text(
        f"{includes}double here(double score);\ndouble here(double score) {{ return one(score) + other(score, 5u); }}\n"
    )
    for language in (C99, CPP11):
        command = ["gcc", *language, "main.c", "two.c", "-o", "program"]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        subprocess.run([tmp_path / "program"], check=True)


def test_headers_are_compiled_by_themselves() -> None:
    """As a file of its own, where compilers warn of more than in a header."""
    header = fb.export.c_source(CASES[-1].model, "scored")
    command = ["gcc", *C99, "-Wunused", "-fsyntax-only", "-Wno-unused-const-variable", "-"]
    ran = subprocess.run(command, input=header, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_outputs_alone_have_no_function_for_the_value() -> None:
    model = model_of("10 bins")
    header = fb.export.c_source(model, "p", outputs=("bin",))
    assert f'#define p_SHA256 "{digest_of(model)}"' in header
    assert "int32_t p_bin(double score)" in header
    assert "double p(" not in header


def test_codes_are_in_the_order_of_the_doubles() -> None:
    ascending = np.array([-np.inf, -1.7e308, -1.0, -(2.0**-1022), -5e-324, 0.0, 5e-324, 2.0**-1022, 0.5, 1.0, 1.7e308, np.inf])
    codes = codes_of(ascending)
    assert (np.diff(codes) > 0).all()
    assert codes_of(np.array([-0.0])) == codes_of(np.array([0.0])) == 0
    assert (np.diff(codes_of(np.nextafter(ascending[1:-1], np.inf))) > 0).all()
    assert (codes_of(np.nextafter(ascending[1:-1], np.inf)) - codes[1:-1] == 1).all()


@pytest.mark.parametrize(
    "name",
    [
        "", "2p", "a b", "p-q", "p;", "\u00fc", "p\n", "struct", "co_await", "int32_t", "memcpy", "_p", "p_", "p__q",
        "linux", "NULL", "INT64_MAX", "uint8_t", "index", "strlen", "gamma", "printf", "isalpha", "iswdigit", "tolower", "sinf",
        "sqrtl", "cabs", "creal", "ccosf", "llabs", "fwrite", "vprintf", "fork", "alloca", "lgamma_r", 5,
    ],
)  # fmt: skip
def test_names_that_c_does_not_take_are_refused(name: object) -> None:
    with pytest.raises((fb.InputError, fb.InputTypeError), match=f"^name is {re.escape(repr(name))}"):
        fb.export.c_source(model_of("2 bins"), name)
