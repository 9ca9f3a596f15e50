"""The regression gate, run by `pytest bench --gate`.

(a) Instruction counts of the scoring kernels in their baseline build, under callgrind, against the numbers committed for this
compiler: 3 % either way fails, since an unexplained gain is as suspicious as a loss. They do not depend on the processor: the
build is the one that all processors of an architecture run, and an Intel and an AMD processor differ by less than 0.1 %.
(b) Times of the hot kernels divided by those of frozen ones in the same process, against the ratios committed for this
processor: 8 % slower fails, after one retry. These depend on the processor: wide registers and caches do not serve both kernels
alike. On a processor without committed ratios the ratio is measured and printed, and the check is skipped.

`pytest bench --gate --record` replaces what is committed for this compiler and this processor, after an intended change; other
entries stay. With `-k ratio` or `-k instructions` it changes one of the two files.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import numpy.typing as npt
import pytest
from cases import Float64s, rows
from figures import Quantity
from gate.frozen import frozen_count, frozen_first, frozen_search
from machine import empty_call, processor_model
from measure import Contestant, paired

import fastbin as fb
from fastbin._fit.histogram import Histogram, Layout
from fastbin._fit.quantiles import CELLS_A_RANK, Answer, Plan, search
from fastbin._fit.rows import Rows, RowsSource

HERE = Path(__file__).parent
SOURCES = HERE.parent / "csrc"
N_ROWS, N_SCORED = 2**16, 2**15
KERNELS = [
    "predict, even edges", "predict, skewed edges", "predict_one",
    "fit, first pass, linear", "fit, first pass, by code", "fit, second pass",
]  # fmt: skip
INSTRUCTIONS, RATIOS = HERE / "gate" / "instructions.json", HERE / "gate" / "ratios.json"
CHANGE = Quantity("change", "%")
CASES = ["one-even", "one-skewed", "one-ties", "batch-even", "batch-skewed", "batch-ties", "float32-even", "assign-even"]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The compiler's name and the driver it built."""
    compiler = shutil.which(os.environ.get("CC", "gcc"))
    if compiler is None or shutil.which("valgrind") is None:
        pytest.skip("needs a C compiler and valgrind")
    name = (
        Path(compiler).name
        + " "
        + subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True, check=True).stdout.strip()
    )
    program = tmp_path_factory.mktemp("gate") / "driver"
    sources = [HERE / "gate" / "driver.c", *sorted((SOURCES / "src").glob("*.c"))]
    flags = ["-std=c11", "-O3", "-g", "-ffp-contract=off", f"-I{SOURCES / 'include'}"]
    subprocess.run([compiler, *flags, *map(str, sources), "-o", str(program), "-lm"], check=True)
    return name, program


def _instructions(program: Path, case: str) -> int:
    command = [
        "valgrind",
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        "--toggle-collect=run_case",
        str(program),
        case,
    ]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "FASTBIN_CPU": "baseline"})
    collected = re.search(r"Collected : (\d+)", ran.stderr)
    assert collected is not None, ran.stderr
    return int(collected.group(1))


def _committed(path: Path) -> dict[str, dict[str, float]]:
    return json.loads(path.read_text()) if path.exists() else {}


def _record(path: Path, name: str, case: str, value: float) -> None:
    known = _committed(path)
    known.setdefault(name, {})[case] = value
    path.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")


@pytest.mark.parametrize("case", CASES)
def bench_instructions(case: str, driver: tuple[str, Path], recording: bool, report) -> None:
    compiler, program = driver
    count = _instructions(program, case)
    if recording:
        _record(INSTRUCTIONS, compiler, case, count)
    expected = _committed(INSTRUCTIONS).get(compiler, {}).get(case)
    if expected is None:
        pytest.skip(
            f"instruction counts depend on the compiler, and none are committed for {compiler}; "
            "record them at the commit to compare with: pytest bench --gate --record -k instructions"
        )
    report(f"gate, {case}", Quantity("instructions a score"), count / 20000)
    report(f"gate, {case}", CHANGE, 100 * (count / expected - 1))
    assert abs(count / expected - 1) <= 0.03, f"{case}: {count} instructions, {expected} committed for {compiler}"


def _kernels() -> dict[str, tuple[Contestant, Contestant]]:
    """Each hot kernel beside the frozen one it is divided by. All arrays are new, so that another try gets other memory.

    And few enough rows for the second-level cache: what the others of a machine do to its memory is not to be measured.
    """
    scores, labels = (np.array(column[:N_ROWS]) for column in rows("uniform", 10**6))
    skewed = np.array(rows("Beta(.5, 5)", 10**6)[0][:N_ROWS])
    even, uneven = (fb.UniformMassBinning(100).fit(data, labels).model_ for data in (scores, skewed))
    # In one piece of memory, each at another place in its page: where two arrays lie in the same one, stores hold up loads.
    arena = np.empty((4, N_SCORED + 128))
    queries, skewed_queries, out, other = arena[:, :N_SCORED]
    queries[:], skewed_queries[:] = scores[:N_SCORED], skewed[:N_SCORED]
    table = np.zeros(2048, np.int64)
    edges, values = np.append(even.edges, np.inf), np.array(even.values)
    first = frozen_first(edges)
    empty = empty_call()
    some = scores[:1000].tolist()

    def one_by_one(call: Callable[[float], object]) -> None:
        for score in some:
            call(score)

    def search() -> None:
        frozen_search(queries, first, edges, values, other)

    def count() -> None:
        frozen_count(scores, labels, table)

    even.predict(queries, out=out)
    search()
    untied = ~np.isin(queries, edges)  # a score that equals an edge is placed by its key
    assert np.array_equal(out[untied], other[untied])
    counting, descent = _passes(scores, labels)
    return {
        "predict, even edges": (lambda: even.predict(queries, out=out), search),
        "predict, skewed edges": (lambda: uneven.predict(skewed_queries, out=out), search),
        "predict_one": (lambda: one_by_one(even.predict_one), lambda: one_by_one(empty)),
        "fit, first pass, linear": (counting, count),
        "fit, first pass, by code": (_passes(skewed, labels)[0], count),
        "fit, second pass": (descent, count),
    }


def _passes(scores: Float64s, labels: npt.NDArray[np.uint8]) -> tuple[Contestant, Contestant]:
    """The two passes of a fit of 1e6 rows over a few of them: counting, and looking into the cells that hold a boundary."""
    data = Rows(scores, labels, None, (0.0, 1.0))
    layout = Layout(data.sample(1024), len(data), data.limits, CELLS_A_RANK * 99)
    plans = []

    class Recording(RowsSource):
        def answer(self, plan: Plan) -> Answer:
            plans.append(plan)
            return super().answer(plan)

    search(Recording(data), lambda n: np.arange(1, 100) * n // 100, 99)

    def count(plan: Plan) -> None:
        histogram = Histogram(plan, layout)
        for chunk in data.chunks():
            histogram.add(chunk)

    return lambda: count(plans[0]), lambda: count(plans[1])


def _ratio(kernel: str) -> float:
    ours, frozen = _kernels()[kernel]
    return paired({"frozen": frozen, "ours": ours}, seconds=4, min_rounds=31).ratio("ours", to="frozen")


@pytest.mark.parametrize("kernel", KERNELS)
def bench_ratio_to_frozen(kernel: str, recording: bool, report) -> None:
    cpu = processor_model()
    if recording:
        _record(RATIOS, cpu, kernel, round(median(_ratio(kernel) for _ in range(5)), 4))
    expected = _committed(RATIOS).get(cpu, {}).get(kernel)
    ratio, attempts = _ratio(kernel), 1
    if expected is not None and ratio > 1.08 * expected:
        ratio, attempts = _ratio(kernel), 2
    report(f"gate, {kernel}", Quantity("time / frozen kernel's"), ratio)
    if expected is None:
        pytest.skip(
            f"{kernel} took {ratio:.4g} times as long as the frozen kernel; such ratios depend on the processor, and none are "
            f"committed for {cpu!r}; record them at the commit to compare with: pytest bench --gate --record -k ratio"
        )
    report(f"gate, {kernel}", CHANGE, 100 * (ratio / expected - 1))
    report(f"gate, {kernel}", Quantity("attempts"), attempts)
    assert ratio <= 1.08 * expected, f"{kernel}: {ratio:.4g} times the frozen kernel, {expected} committed for {cpu}"
