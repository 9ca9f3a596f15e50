"""Tables in the pages of docs/, between their markers: simulations write them, tests read them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
MARKED = "<!-- table: {} -->\n(.*?)<!-- end -->"


def table(page: Path, name: str) -> str:
    """The table below this marker; the test is skipped where the page was not shipped."""
    if not page.is_file():
        pytest.skip(f"{page} is not part of this distribution")
    found = re.search(MARKED.format(name), page.read_text(encoding="utf8"), re.DOTALL)
    assert found, f"{page.name} has no table {name}"
    return found[1].strip()


def cells(table: str, skip: int = 2) -> list[list[str]]:
    """The cells of a table, without its head."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[skip:]]


def write(page: Path, tables: Mapping[str, str]) -> None:
    """Put tables between their markers."""
    text = page.read_text(encoding="utf8")
    for name, table in tables.items():
        start, end = f"<!-- table: {name} -->\n", "<!-- end -->"
        before, rest = text.split(start)
        text = f"{before}{start}\n{table}\n\n{end}{rest.split(end, 1)[1]}"
    page.write_text(text, encoding="utf8")


def print_table(table_of: Callable[[int], str], page: Path, name: str, description: str | None, repetitions: int) -> None:
    """The command of a simulation with one table, which runs this often unless it is told otherwise."""
    asked = options(description, "repetitions", repetitions)
    text = table_of(asked.repetitions)
    print(text)
    if asked.write:
        write(page, {name: text})


def options(description: str | None, size: str, default: int) -> argparse.Namespace:
    """The options of a simulation that prints its tables: how many runs, and whether it writes them."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(f"--{size}", type=int, default=default)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/")
    return parser.parse_args()
