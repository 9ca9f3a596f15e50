"""The C library alone: builds and runs the programs of csrc/bench, and takes their figures over."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from figures import Quantity

SOURCES = Path(__file__).parent.parent / "csrc"

# By program: its argument in the short form, and at length.
PROGRAMS = {"bench_score": (100_000, 1_000_000), "bench_latency": (200, 2000)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs are built."""
    missing = [tool for tool in ("make", os.environ.get("CC", "cc").split()[0]) if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"needs a C compiler and make; not found: {', '.join(missing)}")
    built = tmp_path_factory.mktemp("c")
    targets = [str(built / program) for program in PROGRAMS]
    subprocess.run(["make", "-s", "-C", str(SOURCES), f"BUILD={built}", *targets], check=True)
    return built


def _figures(printed: str) -> Iterator[tuple[str, Quantity, float]]:
    """What csrc/bench/bench.h prints: case | figure | value | unit."""
    for line in printed.splitlines():
        case, name, value, unit = (part.strip() for part in line.split("|"))
        yield case, Quantity(name, unit), float(value)


@pytest.mark.parametrize("program", PROGRAMS)
def bench_c(program: str, folder: Path, is_long: bool, report) -> None:
    ran = subprocess.run([folder / program, str(PROGRAMS[program][is_long])], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    figures = list(_figures(ran.stdout))
    assert figures
    for case, quantity, value in figures:
        report(case, quantity, value)
