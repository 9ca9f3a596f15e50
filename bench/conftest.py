"""`pytest bench`: the short form by default, ``--long`` for sizes up to 1e8, ``--gate`` for the regression gate alone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from cases import TARGETS
from figures import Figure, Quantity, Results
from machine import machine

MEASURED = pytest.StashKey[list[Figure]]()
SAVED = pytest.StashKey[Results]()

Report = Callable[[str, Quantity, float], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="sizes up to 1e8, peers, many rounds")
    parser.addoption("--gate", action="store_true", help="only the regression gate: fails where a kernel became slower")
    parser.addoption(
        "--save", metavar="FILE", type=Path, help="add the figures to this JSON file, for bench/targets.py and bench/tables.py"
    )
    parser.addoption("--record", action="store_true", help="with --gate: commit what is measured now as what is expected")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[MEASURED] = []
    path = config.getoption("--save")
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    config.stash[SAVED] = Results.load(path) if path.exists() else Results(machine())
    if config.stash[SAVED].machine != machine():
        raise pytest.UsageError(f"--save {path}: holds figures of another machine ({config.stash[SAVED].machine})")


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
def report(request: pytest.FixtureRequest) -> Iterator[Report]:
    """Call it with a case, a quantity and its value: it is printed at the end, saved, and kept by pytest-benchmark."""
    figures: list[Figure] = []
    benchmark = request.getfixturevalue("benchmark") if "benchmark" in request.fixturenames else None

    def add(case: str, quantity: Quantity, value: float) -> None:
        figures.append(Figure(case, quantity, float(value), TARGETS.get((case, quantity))))
        if benchmark is not None:
            benchmark.extra_info[quantity.name] = float(value)

    yield add
    request.config.stash[MEASURED] += figures
    if SAVED in request.config.stash:
        request.config.stash[SAVED].add(figures)
        request.config.stash[SAVED].save(request.config.getoption("--save"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.stash[MEASURED]:
        return
    terminalreporter.section("medians of interleaved rounds")
    terminalreporter.write_line(machine())
    for figure in config.stash[MEASURED]:
        terminalreporter.write_line(figure.show())
