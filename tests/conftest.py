"""How the tests run everywhere: no clock decides whether a test passes, and whole folders use all cores."""

from __future__ import annotations

import gc
import os
import random
import signal
import zlib
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run, so that only a change makes a test fail; `.ci/thorough properties` looks for others.
# More than 40 of them, which never change, find little more; where each run draws others, they do.
fixed = {"deadline": None, "derandomize": True, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("fastbin", max_examples=40, **fixed)
settings.register_profile("fastbin-random", settings.get_profile("fastbin"), derandomize=False, max_examples=100)
settings.load_profile("fastbin")

os.environ.setdefault("MPLBACKEND", "Agg")  # the examples of plots need no window

# Each core has a worker already: threads of scikit-learn and BLAS, which spin while they wait for one another, would take the
# cores from the tests. Those of fastbin are neither.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Twenty thousand tests are a million objects that stay, and the references make fractions and tuples by the million: the
# garbage collector looks at them less often, from before the tests are collected.
gc.set_threshold(20_000, 20, 20)

# A shell without job control starts what runs in the background with interrupts ignored, nohup with hangups ignored, and
# children inherit that. The commands honour it, but the tests that interrupt them are about those that do not.
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# The first parameters of each test that is sampled.
FIRST_OF_SAMPLED = pytest.StashKey[dict[str, str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--shuffle SEED``, by which `.ci/thorough order` finds tests that need what another test left."""
    parser.addoption("--shuffle", type=int, metavar="SEED", help="Run the files, and the tests of each, in this random order.")


def pytest_itemcollected(item: pytest.Item) -> None:
    """A test that is sampled is fast with a quarter of its parameters, the first among them, and slow with the others.

    Names decide, as every fourth would be the same value of a parameter that has four.
    """
    if item.get_closest_marker("sampled") is None or item.get_closest_marker("slow") is not None:
        return
    tests = item.session.stash.setdefault(FIRST_OF_SAMPLED, {})
    function = f"{item.path}::{item.originalname}"  # type: ignore[attr-defined]
    is_first = tests.setdefault(function, item.nodeid) == item.nodeid
    if not is_first and zlib.crc32(item.nodeid.encode()) % 4:
        item.add_marker(pytest.mark.slow)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Files stay whole, as each would set up its fixtures again and again. All workers find the same order."""
    seed = config.getoption("shuffle")
    if seed is not None:
        rng = random.Random(seed)
        files = [list(tests) for _, tests in groupby(items, lambda item: item.path)]
        rng.shuffle(files)
        for tests in files:
            rng.shuffle(tests)
        items[:] = [test for tests in files for test in tests]


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """One process for each core where folders are asked for, as by ``pytest`` alone; one for a file, to start sooner.

    ``-n`` says otherwise. The benchmarks have a configuration of their own and always run alone.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:  # a worker comes by here as well, and must not have workers of its own
        return
    if not config.pluginmanager.hasplugin("xdist") or config.option.usepdb or config.option.collectonly:
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if config.option.numprocesses is None and cores > 1 and all(Path(argument).is_dir() for argument in config.args):
        config.option.numprocesses = cores
        config.option.dist = "worksteal"
