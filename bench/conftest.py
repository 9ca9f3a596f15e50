"""`pytest bench`: the short form by default, ``--long`` for sizes up to 1e8, ``--gate`` for the regression gate alone."""

from __future__ import annotations

import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

RESULTS = pytest.StashKey[list[dict[str, object]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="sizes up to 1e8, peers, many rounds")
    parser.addoption("--gate", action="store_true", help="only the regression gate: fails where a kernel became slower")
    parser.addoption(
        "--save", metavar="FILE", help="write the ratios to a JSON file, from which bench/tables.py makes tables and plots"
    )
    parser.addoption("--record", action="store_true", help="with --gate: commit what is measured now as what is expected")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[RESULTS] = []


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    gate = config.getoption("--gate")
    kept = [item for item in items if (item.path.name == "bench_gate.py") == gate]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


@pytest.fixture
def is_long(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--long"))


@pytest.fixture
def recording(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--record"))


@pytest.fixture
def report(request: pytest.FixtureRequest):
    """Add a row to the closing table."""

    def add(**row: object) -> None:
        request.config.stash[RESULTS].append(row)

    return add


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    results = config.stash[RESULTS]
    if not results:
        return
    if config.getoption("--save"):
        Path(config.getoption("--save")).write_text(json.dumps({"machine": machine(), "results": results}, indent=1) + "\n")
    terminalreporter.section("ratios: median of interleaved rounds")
    terminalreporter.write_line(machine())
    for row in results:
        terminalreporter.write_line("  ".join(f"{key}: {value}" for key, value in row.items()))


def machine() -> str:
    """What the numbers were measured on."""
    names = []
    for package in ("numpy", "numba", "scikit-learn"):
        try:
            names.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].split(":", 1)[1].strip() if lines else model
    return f"{model}, Python {platform.python_version()}, {', '.join(names)}, {np.dtype(np.float64).name}"
