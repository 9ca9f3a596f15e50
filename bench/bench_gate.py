"""The regression gate, run by `pytest bench --gate`.

(a) Instruction counts of the scoring kernels in their baseline build, under callgrind, against the numbers committed for this
compiler: 3 % either way fails, since an unexplained gain is as suspicious as a loss.
(b) Times of the hot kernels against frozen ones in the same process, against the ratios committed for this CPU: 8 % slower
fails, after one retry.

`pytest bench --gate --record` writes both files anew, after a change that is meant.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from cases import rows
from figures import Quantity
from gate.frozen import frozen_count, frozen_search
from machine import processor
from measure import Contestant, paired

import fastbin as fb

HERE = Path(__file__).parent
SOURCES = HERE.parent / "csrc"
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
        pytest.skip(f"no counts are committed for {compiler}; record them with --gate --record")
    report(f"gate, {case}", Quantity("instructions a score"), count / 20000)
    report(f"gate, {case}", CHANGE, 100 * (count / expected - 1))
    assert abs(count / expected - 1) <= 0.03, f"{case}: {count} instructions, {expected} committed for {compiler}"


def _kernels() -> dict[str, tuple[Contestant, Contestant]]:
    """Each hot kernel beside the frozen one it is divided by."""
    scores, labels = (np.array(column) for column in rows("uniform", 10**6))
    skewed = np.array(rows("Beta(.5, 5)", 10**6)[0])
    even, uneven = (fb.UniformMassBinning(100).fit(data, labels).model_ for data in (scores, skewed))
    out, other, table = np.empty(10**6), np.empty(10**6), np.zeros(2048, np.int64)
    edges, values = np.array(even.edges), np.array(even.values)
    calibrator = fb.UniformMassBinning(100)
    some = scores[:1000].tolist()

    def one_by_one() -> None:
        predict_one = even.predict_one
        for score in some:
            predict_one(score)

    def search() -> None:
        frozen_search(scores[:100_000], edges, values, other[:100_000])

    def count() -> None:
        frozen_count(scores, labels, table)

    even.predict(scores, out=out)
    frozen_search(scores, edges, values, other)
    untied = ~np.isin(scores, edges)  # a score that equals an edge is placed by its key
    assert np.array_equal(out[untied], other[untied])
    return {
        "predict, even edges": (lambda: even.predict(scores, out=out), search),
        "predict, skewed edges": (lambda: uneven.predict(skewed, out=out), search),
        "predict_one": (one_by_one, search),
        "fit, uniform": (lambda: calibrator.fit(scores, labels), count),
        "fit, skewed": (lambda: calibrator.fit(skewed, labels), count),
    }


@pytest.mark.parametrize(
    "kernel", ["predict, even edges", "predict, skewed edges", "predict_one", "fit, uniform", "fit, skewed"]
)
def bench_ratio_to_frozen(kernel: str, recording: bool, report) -> None:
    ours, frozen = _kernels()[kernel]
    cpu = processor()
    expected = _committed(RATIOS).get(cpu, {}).get(kernel)
    if expected is None and not recording:
        pytest.skip(f"no ratios are committed for {cpu}; record them with --gate --record")
    for attempt in (1, 2):
        ratio = paired({"frozen": frozen, "ours": ours}, seconds=4, min_rounds=31).ratio("ours", to="frozen")
        if recording:
            _record(RATIOS, cpu, kernel, round(ratio, 4))
            return
        if ratio <= 1.08 * expected or attempt == 2:
            break
    report(f"gate, {kernel}", Quantity("time / frozen kernel's"), ratio)
    report(f"gate, {kernel}", CHANGE, 100 * (ratio / expected - 1))
    report(f"gate, {kernel}", Quantity("attempts"), attempt)
    assert ratio <= 1.08 * expected, f"{kernel}: {ratio:.4g} times the frozen kernel, {expected} committed for {cpu}"
