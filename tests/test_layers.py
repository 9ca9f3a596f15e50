"""The house keeps its order: who may import whom, how long files and functions may get, and what no file is called.

Imports are read from the source, also those inside functions and in Cython, and not by importing. The table of layers is that
of CONTRIBUTING.md.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
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


def python_names(path: Path) -> Iterator[tuple[str, int]]:
    """The dotted names that a Python file imports, at any depth; ``from a import b`` counts as ``a.b``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
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
def imports() -> list[Import]:
    """Every import of one part of fastbin by another."""
    found = []
    for path in source_files(".py", ".pyi", ".pyx", ".pxi", ".pxd"):
        place = path.relative_to(ROOT)
        importer = unit_of(".".join(place.with_suffix("").parts))
        names = cython_names(path) if path.suffix in (".pyx", ".pxi", ".pxd") else python_names(path)
        for name, line in names:
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
    python.write_text("import fastbin.model as m\ndef f():\n    from fastbin import intervals, scaling\n")
    assert list(python_names(python)) == [("fastbin.model", 1), ("fastbin.intervals", 3), ("fastbin.scaling", 3)]
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


def python_functions(path: Path) -> Iterator[tuple[str, int]]:
    """Each function of a Python file with its length, its docstring not counted."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno is not None
            length = node.end_lineno - node.lineno + 1
            if ast.get_docstring(node) is not None and (end := node.body[0].end_lineno) is not None:
                length -= end - node.body[0].lineno + 1
            yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", length


CYTHON_FUNCTION = re.compile(r"^(\s*)(?:def|cdef(?!\s+class)|cpdef)\s[^\n]*?(\w+)\(")


def cython_functions(path: Path) -> Iterator[tuple[str, int]]:
    """The same for Cython: a function ends where a line is indented no deeper than its head (the closing bracket aside)."""
    text = STRINGS.sub("", path.read_text(encoding="utf8"))
    lines = text.splitlines()
    for start, line in enumerate(lines):
        head = CYTHON_FUNCTION.match(line)
        if head is None:
            continue
        end = start + 1
        while end < len(lines) and (not lines[end].strip() or lines[end].startswith((head[1] + " ", head[1] + ")"))):
            end += 1
        yield f"{path.relative_to(ROOT)} {head[2]}", len("\n".join(lines[start:end]).rstrip().splitlines())


def c_functions(path: Path) -> Iterator[tuple[str, int]]:
    """The same for C, where a body is closed by a brace in the first column."""
    lines = path.read_text(encoding="utf8").splitlines()
    start = None
    for number, line in enumerate(lines):
        if start is None and re.match(r"\w[^;#]*\(", line) and not line.startswith(("typedef", "struct", "enum")):
            start = number
        elif start is not None and line.startswith("}"):
            yield f"{path.relative_to(ROOT)}:{start + 1} {lines[start]}", number - start + 1
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
    functions: Callable[[Path], Iterator[tuple[str, int]]], suffixes: tuple[str, ...], folders: tuple[str, ...]
) -> None:
    lengths = dict(found for path in source_files(*suffixes, below=folders) for found in functions(path))
    assert len(lengths) > 20
    assert max(lengths.values()) > 20, "the longest function found is suspiciously short"
    giants = {name: length for name, length in lengths.items() if length > MAX_FUNCTION_LINES}
    assert not giants, f"more than {MAX_FUNCTION_LINES} lines: {giants}"
