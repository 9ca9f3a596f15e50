"""Every finding about 0.1.0, and about 0.2.0 before its release, is replayed by tests that exist: tests/docs/findings.md."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "tests" / "docs" / "findings.md").read_text(encoding="utf8")
ROWS = dict(re.findall(r"^\| ([A-Z]\d+) \| [^|]+ \|([^|]*)\|$", TEXT, re.MULTILINE))

EXPECTED = {
    *(f"A{i}" for i in range(1, 11)),
    *(f"B{i}" for i in (1, 2, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 18, 19, 20)),
    *(f"E{i}" for i in range(1, 17)),
    *(f"F{i}" for i in range(1, 13)),
    *(f"P{i}" for i in range(1, 15) if i != 2),
    *(f"U{i}" for i in (1, 4, 6, 8, 9)),
}


@cache
def functions(path: Path) -> set[str]:
    """The functions that a file of tests defines: by parsing Python, by their braces in C."""
    text = path.read_text(encoding="utf8")
    if path.suffix == ".py":
        return {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}
    return set(re.findall(r"^(?:static )?[\w *]+?(\w+)\([^;]*\) \{$", text, re.MULTILINE))


def test_every_row_is_there() -> None:
    assert set(ROWS) == EXPECTED


def test_no_row_is_there_twice_or_malformed() -> None:
    """Each line of a table is one that the pattern reads: three cells, with the row's letter and number in the first."""
    lines = [line for line in TEXT.splitlines() if line.startswith("|") and not re.match(r"\| (row|---) \|", line)]
    assert len(lines) == len(ROWS)


@pytest.mark.parametrize("row", sorted(ROWS))
def test_the_named_tests_exist(row: str) -> None:
    named = re.findall(r"`([^`]+)`", ROWS[row])
    assert named
    for name in named:
        file, _, function = name.partition("::")
        if file.startswith(".ci") and not (ROOT / ".ci").is_dir():
            continue  # a source distribution
        path = ROOT / file
        assert path.is_file(), f"{row}: there is no {file}"
        if function:
            assert function.split("[")[0] in functions(path), f"{row}: {file} has no {function}"


def test_nothing_outside_the_repository_is_needed() -> None:
    """No test looks for its data in the environment or beside the repository, and is skipped where it is not."""
    sources = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "bench").rglob("*.py")]
    assert len(sources) > 80
    for path in sources:
        text = path.read_text(encoding="utf8")
        assert "FASTBIN_" + "SHARED" not in text, path
        assert "REPOSITORY" + ".parent" not in text, path
        assert "ROOT" + ".parent" not in text, path
    assert (ROOT / "tests/data/cases.json").is_file()
    assert (ROOT / "tests/data/credit.csv.gz").is_file()
