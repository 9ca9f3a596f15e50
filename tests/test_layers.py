"""The house keeps its order: who may import whom, how long files and functions may get, what stands twice, and names of files.

Imports are read from the source, also those inside functions and in Cython, and not by importing. The table of layers is that
of CONTRIBUTING.md.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent

MAP = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf8")


def layers() -> list[list[str]]:
    """The table of CONTRIBUTING.md from the top down: the indented lines below its heading, but for C."""
    section = MAP.partition("## Who may import whom")[2].partition("\n## ")[0]
    table = [line.split("·") for line in section.splitlines() if line.startswith("    ")]
    return [[unit.strip() for unit in line] for line in table if not line[0].strip().startswith("csrc")]


# A unit may import units on lower lines alone; a package is one unit, and inside it everything goes.
LEVEL = {unit: level for level, line in enumerate(reversed(layers())) for unit in line}

MAX_LINES = 800
MAX_FUNCTION_LINES = 60
DRAWERS = ("util", "utils", "helper", "helpers", "common", "misc", "tools", "shared", "stuff")


class Import(NamedTuple):
    importer: str  # a unit of the table
    imported: str
    place: str


def source_files(*suffixes: str, below: tuple[str, ...] = ("fastbin",)) -> list[Path]:
    """The files of the repository with these suffixes, without what builds leave behind."""
    left_behind = {"__pycache__", "build", "_c"}
    found = (path for folder in below for path in sorted((ROOT / folder).rglob("*")) if path.suffix in suffixes)
    return [path for path in found if not left_behind & set(path.relative_to(ROOT).parts)]


def unit_of(dotted: str) -> str:
    """The unit that a dotted name belongs to: its second part, or the package's own ``__init__``."""
    parts = dotted.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in LEVEL else "__init__"


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below a node, in a tenth of the time that a walk through expressions as well would take."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for each in getattr(node, field, ()):
            yield each
            yield from statements(each)


def python_names(path: Path) -> Iterator[tuple[str, int]]:
    """The dotted names that a Python file imports, at any depth; ``from a import b`` counts as ``a.b``."""
    for node in statements(ast.parse(path.read_text(encoding="utf8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import; write the name in full"
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


CYTHON_FROM = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+c?import[ \t]+(\([^)]*\)|[^\n]*)", re.MULTILINE)
CYTHON_IMPORT = re.compile(r"^[ \t]*c?import[ \t]+([\w.]+(?:[ \t]*,[ \t]*[\w.]+)*)", re.MULTILINE)
STRINGS = re.compile(r'"""(?:.|\n)*?"""')


def cython_names(path: Path) -> Iterator[tuple[str, int]]:
    """The same for Cython, ``cimport`` included, which Python's own parser does not read."""
    text = STRINGS.sub(lambda match: "\n" * match.group().count("\n"), path.read_text(encoding="utf8"))
    for match in CYTHON_FROM.finditer(text):
        assert not match.group(1).startswith("."), f"{path}: a relative import; write the name in full"
        names = [name.split()[0] for name in match.group(2).strip("() \n").split(",") if name.strip()]
        yield from ((f"{match.group(1)}.{name}", text.count("\n", 0, match.start()) + 1) for name in names)
    for match in CYTHON_IMPORT.finditer(text):
        names = re.split(r"[ \t]*,[ \t]*", match.group(1))
        yield from ((name, text.count("\n", 0, match.start()) + 1) for name in names)


@cache
def names_of(path: Path) -> list[tuple[str, int]]:
    return list(cython_names(path) if path.suffix in (".pyx", ".pxi", ".pxd") else python_names(path))


@cache
def imports() -> list[Import]:
    """Every import of one part of fastbin by another."""
    found = []
    for path in source_files(".py", ".pyi", ".pyx", ".pxi", ".pxd"):
        place = path.relative_to(ROOT)
        importer = unit_of(".".join(place.with_suffix("").parts))
        for name, line in names_of(path):
            if name.split(".")[0] == "fastbin" and (imported := unit_of(name)) != importer:
                found.append(Import(importer, imported, f"{place}:{line}"))
    return found


def test_every_file_has_a_line_in_the_table() -> None:
    units = {path.relative_to(ROOT / "fastbin").parts[0].removesuffix(path.suffix) for path in source_files(".py", ".pyx")}
    assert units <= set(LEVEL), f"not in the table of layers: {sorted(units - set(LEVEL))}"


def test_imports_go_down() -> None:
    upward = {
        f"{found.place}: {found.importer} imports {found.imported}"
        for found in imports()
        if LEVEL[found.imported] >= LEVEL[found.importer]
    }
    assert not upward, "\n".join(sorted(upward))


def test_the_readers_of_imports_see_them_all(tmp_path: Path) -> None:
    """The rule above is worth what its readers find: imports in functions, in Cython, over several lines."""
    python = tmp_path / "sample.py"
    python.write_text(
        "import fastbin.model as m\ndef f():\n    from fastbin import intervals, scaling\ntry:\n    m()\nexcept E:\n"
        "    import fastbin.io\nelse:\n    import fastbin.theory\nmatch m:\n    case 1:\n        import fastbin.polars\n"
    )
    assert sorted(python_names(python)) == [
        ("fastbin.intervals", 3), ("fastbin.io", 7), ("fastbin.model", 1), ("fastbin.polars", 12), ("fastbin.scaling", 3),
        ("fastbin.theory", 9),
    ]  # fmt: skip
    cython = tmp_path / "sample.pyx"
    cython.write_text(
        '"""\nfrom fastbin import never\n"""\ncimport numpy as cnp, fastbin.model\nfrom fastbin._core.c cimport *\n'
        "cdef void f():\n    from fastbin.intervals import (\n        sidak as s,\n        wilson,\n    )\n"
    )
    assert sorted(cython_names(cython)) == [
        ("fastbin._core.c.*", 5), ("fastbin.intervals.sidak", 7), ("fastbin.intervals.wilson", 7), ("numpy", 4),
    ]  # fmt: skip


def test_the_imports_found_are_those_that_are_known() -> None:
    """A few edges of the real graph, one of each kind, so that an empty answer cannot pass for a clean house."""
    edges = {(found.importer, found.imported) for found in imports()}
    assert {("binning", "model"), ("model", "_core"), ("model", "guarantees"), ("_core", "_base")} <= edges


def test_no_module_takes_private_names_of_another() -> None:
    """A name with an underscore that is imported from fastbin is that of a module or a package."""
    for path in source_files(".py"):
        for dotted, line in names_of(path):
            *package, name = dotted.split(".")
            place = ROOT.joinpath(*package, name)
            if package[:1] == ["fastbin"] and re.match("_[^_]", name):
                assert place.is_dir() or place.with_suffix(".py").is_file(), f"{path}:{line} takes {dotted}"


def test_only_the_core_sees_the_c_header() -> None:
    seeing = [
        path for path in source_files(".py", ".pyx", ".pxi", ".pxd") if re.search(r"cdef\s+extern", path.read_text("utf8"))
    ]
    assert {path.parent.name for path in seeing} == {"_core"}


def test_c_knows_nothing_of_python() -> None:
    files = source_files(".c", ".h", below=("csrc/include", "csrc/src", "csrc/fit"))
    assert len(files) > 5
    for path in files:
        text = path.read_text(encoding="utf8")
        assert not re.search(r"\bPy[A-Z_]\w*|\bPyObject\b|numpy/|\bNPY_", text), f"{path} speaks of Python's C API"
        headers = set(re.findall(r'#\s*include\s*[<"]([^>"]+)[>"]', text))
        assert not {"Python.h", "numpy/arrayobject.h"} & headers


def test_the_public_header_needs_two_headers() -> None:
    text = (ROOT / "csrc/include/fastbin.h").read_text(encoding="utf8")
    assert re.findall(r"^\s*#\s*include\s*<([^>]+)>", text, re.MULTILINE) == ["stddef.h", "stdint.h"]


WRITTEN_BY_HAND = (".py", ".pyi", ".pyx", ".pxi", ".pxd", ".c", ".h", ".cpp", ".sh")


def test_no_file_is_a_giant() -> None:
    files = [*source_files(*WRITTEN_BY_HAND, below=("fastbin", "csrc", "tests", "bench")), ROOT / "setup.py"]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf8").splitlines()) for path in files}
    # The header is the manual of the C library: most of its lines are comment.
    giants = {name: length for name, length in lengths.items() if length > MAX_LINES and name != "csrc/include/fastbin.h"}
    assert not giants, f"more than {MAX_LINES} lines: {giants}"


def test_no_file_is_a_drawer() -> None:
    files = source_files(*WRITTEN_BY_HAND, below=("fastbin", "csrc", "tests", "bench"))
    names = {part for path in files for part in path.relative_to(ROOT).with_suffix("").parts}
    drawers = {name for name in names if set(name.strip("_").removeprefix("test_").split("_")) & set(DRAWERS)}
    assert not drawers


# Names of classes that may stand twice: a Table has rows that are read (tables/), or columns that are shown (_base/).
STAND_TWICE = {"Table"}


def test_one_word_is_one_class() -> None:
    places: dict[str, list[str]] = {}
    for path in source_files(".py", ".pyx", ".pxi"):
        for name in re.findall(r"^(?:cdef )?class (\w+)", path.read_text(encoding="utf8"), re.MULTILINE):
            places.setdefault(name, []).append(str(path.relative_to(ROOT)))
    assert len(places) > 100
    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert set(twice) <= STAND_TWICE, {name: found for name, found in twice.items() if name not in STAND_TWICE}
    assert set(twice) >= STAND_TWICE, f"no longer twice, take it off the list: {STAND_TWICE - set(twice)}"


class Function(NamedTuple):
    """A function of any of the languages, by its lines in its file: the head, and the body without its docstring."""

    name: str  # with its file
    head: dict[int, str]
    body: dict[int, str]


def numbered(lines: list[str], first: int, end: int) -> dict[int, str]:
    return {number: lines[number] for number in range(first, end)}


@cache
def functions_of(
    read: Callable[[Path], Iterator[Function]], suffixes: tuple[str, ...], folders: tuple[str, ...]
) -> list[Function]:
    """All functions in the files of these folders."""
    return [function for path in source_files(*suffixes, below=folders) for function in read(path)]


def python_functions(path: Path) -> Iterator[Function]:
    """Each function of a Python file."""
    text = path.read_text(encoding="utf8")
    lines = text.splitlines()
    for node in statements(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            start, end = node.body[0], node.end_lineno
            assert start.end_lineno is not None
            assert end is not None
            first = start.lineno - 1 if ast.get_docstring(node) is None else start.end_lineno
            name = f"{path.relative_to(ROOT)} {node.name}"
            yield Function(name, numbered(lines, node.lineno - 1, start.lineno - 1), numbered(lines, first, end))


CYTHON_FUNCTION = re.compile(r"^(\s*)(?:def|cdef(?!\s+class)|cpdef)\s[^\n]*?(\w+)\(")


def cython_functions(path: Path) -> Iterator[Function]:
    """The same for Cython: a function ends where a line is indented no deeper than its head (the closing bracket aside)."""
    text = STRINGS.sub(lambda match: "\n" * match.group().count("\n"), path.read_text(encoding="utf8"))
    lines = text.splitlines()
    for start, line in enumerate(lines):
        head = CYTHON_FUNCTION.match(line)
        if head is None:
            continue
        end = start + 1
        while end < len(lines) and (not lines[end].strip() or lines[end].startswith((head[1] + " ", head[1] + ")"))):
            end += 1
        first = next((number + 1 for number in range(start, end) if lines[number].rstrip().endswith(":")), end)
        body = {number: lines[number] for number in range(first, end) if lines[number].strip()}
        yield Function(f"{path.relative_to(ROOT)} {head[2]}", numbered(lines, start, first), body)


def c_functions(path: Path) -> Iterator[Function]:
    """The same for C, where a body is closed by a brace in the first column."""
    lines = path.read_text(encoding="utf8").splitlines()
    start = None
    for number, line in enumerate(lines):
        if start is None and re.match(r"\w[^;#]*\(", line) and not line.startswith(("typedef", "struct", "enum")):
            start = None if line.endswith("}") else number  # a body in the line of its head is none to speak of
        elif start is not None and line.startswith("}"):
            first = next(at + 1 for at in range(start, number + 1) if "{" in lines[at])
            name = re.findall(r"(\w+)\(", lines[start])[0]
            yield Function(
                f"{path.relative_to(ROOT)} {name}", numbered(lines, start, first), numbered(lines, first, number + 1)
            )
            start = None
        elif start is not None and line.endswith(";") and not any("{" in inner for inner in lines[start : number + 1]):
            start = None  # a declaration


@pytest.mark.parametrize(
    ("functions", "suffixes", "folders"),
    [
        pytest.param(python_functions, (".py",), ("fastbin", "tests", "bench"), id="python"),
        pytest.param(cython_functions, (".pyx", ".pxi", ".pxd"), ("fastbin",), id="cython"),
        pytest.param(c_functions, (".c",), ("csrc",), id="c"),
    ],
)
def test_no_function_is_a_giant(
    functions: Callable[[Path], Iterator[Function]], suffixes: tuple[str, ...], folders: tuple[str, ...]
) -> None:
    found = functions_of(functions, suffixes, folders)
    lengths = [len(function.head) + len(function.body) for function in found]
    assert len(lengths) > 20
    assert max(lengths) > 20, "the longest function found is suspiciously short"
    giants = {function.name: length for function, length in zip(found, lengths, strict=True) if length > MAX_FUNCTION_LINES}
    assert not giants, f"more than {MAX_FUNCTION_LINES} lines: {giants}"


# ------------------------------------------------------------------------------------------------- what stands twice

MOST_ALIKE = 5  # lines of code
TOKEN = re.compile(r"[fr]*\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|#.*|[^\W\d]\w*|\d[\w.]*|\S")
C_WORDS = ("switch", "case", "do", "struct", "const", "static", "int", "double", "char", "void", "size_t", "cdef")
WORDS = {*keyword.kwlist, *C_WORDS}


def shapes(function: Function) -> list[tuple[int, str]]:
    """The lines of code of a body, in which each name, number and text is as good as any other; texts alone are none."""
    found = []
    for number, line in sorted(function.body.items()):
        if line.lstrip().startswith(("/*", "* ", "*/")):
            continue
        tokens = [token for token in TOKEN.findall(re.sub(r"/\*.*?\*/", "", line)) if not token.startswith("#")]
        if any(token in WORDS or re.match(r"[^\W\d]\w*$", token) for token in tokens):
            shape = (token if token in WORDS or not re.match(r"[\w\"']", token) else "name" for token in tokens)
            found.append((number, " ".join(shape)))
    return found


def alike(functions: list[Function]) -> set[tuple[str, str]]:
    """The pairs of functions that share a run of more than `MOST_ALIKE` lines of one shape."""
    runs: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    lines = [shapes(function) for function in functions]
    for at, found in enumerate(lines):
        for first in range(len(found) - MOST_ALIKE):
            run = tuple(shape for _, shape in found[first : first + MOST_ALIKE + 1])
            runs.setdefault(run, []).append((at, first))
    pairs = set()
    for places in runs.values():
        for (one, i), (other, j) in combinations(places, 2):
            name, other_name = functions[one].name, functions[other].name
            apart = abs(lines[one][i][0] - lines[other][j][0])
            # Less apart in one file, a run overlaps itself, or is in a function and in the one around it.
            if apart > MOST_ALIKE or name.split()[0] != other_name.split()[0]:
                pairs.add((name, other_name))
    return pairs


# Pairs that share more, each in "file function", and why one function would not do.
MAY_BE_ALIKE = {
    ("bench/papers/cifar10_top_label.py _scikit_learn", "bench/papers/cifar10_top_label.py _mapie"): "another library each",
    ("csrc/src/file.c fastbin_model_load", "csrc/src/file.c fastbin_set_load"): "of two types, which C tells apart",
    ("csrc/src/format.c fastbin_model_read", "csrc/src/set_format.c fastbin_set_read"): "of two types, which C tells apart",
    ("csrc/src/format.c put_section", "csrc/src/format.c put_section"): "a line for each section",
    ("csrc/src/index_packed.c search_packed", "csrc/src/index_small.c search_small"): "a loop around a kernel that is inlined",
    ("csrc/src/status.c fastbin_status_string", "csrc/src/status.c fastbin_status_string"): "a line for each status",
    ("csrc/src/validate.c is_scheme", "csrc/src/validate.c is_scheme"): "a line for each scheme",
    ("fastbin/_core/model_owner.pxi _read_into", "fastbin/_core/set_owner.pxi _read_into"): "of two types, which C tells apart",
    ("fastbin/assess/calibration_tests.py _tests_of_all", "fastbin/assess/calibration_tests.py _tests_of_all"): "a line a test",
    ("fastbin/assess/calibration_tests.py _tests_of_all", "tests/simulation/calibration_levels.py of_cells"): "a line a test",
    ("fastbin/decide/thresholds.py _between", "tests/reference/decide.py between"): "the rule is its own definition",
}


def test_no_code_stands_twice() -> None:
    """Neither word for word nor in shape, but for the pairs above."""
    found: set[tuple[str, str]] = set()
    for read, suffixes, folders in (
        (python_functions, (".py",), ("fastbin", "tests", "bench")),
        (cython_functions, (".pyx", ".pxi"), ("fastbin",)),
        (c_functions, (".c",), ("csrc/src", "csrc/fit")),
    ):
        functions = functions_of(read, suffixes, folders)
        assert sum(len(function.body) for function in functions) > 2000, "the readers see little of the code"
        found |= alike(functions)
    assert found <= set(MAY_BE_ALIKE), sorted(found - set(MAY_BE_ALIKE))
    assert found >= set(MAY_BE_ALIKE), f"alike no longer, take them off the list: {set(MAY_BE_ALIKE) - found}"


@pytest.mark.parametrize(
    ("suffix", "read", "one", "other"),
    [
        (".py", python_functions, "def f(a):\n    'text'\n", "def g(b, c):\n"),
        (".pyx", cython_functions, "def f(a):\n", "cdef g(\n    b, c,\n):\n"),
        (".c", c_functions, "int f(int a) {\n", "static int g(int b,\n             int c) {\n"),
    ],
)
def test_what_is_alike_is_seen(
    suffix: str,
    read: Callable[[Path], Iterator[Function]],
    one: str,
    other: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same six lines with other names and numbers, and not five of them."""
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    end = "\n}\n" if suffix == ".c" else "\n\n\n"
    body = ["a = a + 1;", "b = a * 2;", "c = f(a, b);", "d = c - b;", "e = d / 2;", "g(e);"]
    file = tmp_path / f"code{suffix}"
    for n_lines in (5, 6):
        mine = "\n".join(f"    {line}" for line in body[:n_lines])
        yours = "\n".join(f"    {re.sub('[a-e]', 'other', line)}".replace("1", "x") for line in body[:n_lines])
        file.write_text(f"{one}{mine}{end}{other}{yours}{end}")
        assert alike(list(read(file))) == (set() if n_lines < 6 else {(f"code{suffix} f", f"code{suffix} g")})
