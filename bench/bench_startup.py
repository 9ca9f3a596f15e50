"""What it costs to begin: importing, loading a model, the first fit of a process."""

from __future__ import annotations

import pickle
import tempfile
from functools import partial
from pathlib import Path
from statistics import median

import cases
from cases import rows
from figures import Quantity
from measure import paired

import fastbin as fb
from fresh_python import run_python

FIRST_FIT = """
import numpy as np
import fastbin as fb
rng = np.random.default_rng(0)
scores = rng.random(200_000)
fb.UniformMassBinning(10).fit(scores, rng.random(200_000) < scores)
"""


FIRST_SMALL_FITS = {
    name: f"""
import numpy as np
import fastbin as fb
rng = np.random.default_rng(0)
scores = rng.random(1000)
fb.{name}().fit(scores, rng.random(1000) < scores)
"""
    for name in ("UniformMassBinning", "CertifiedCalibration")
}


# What is installed has its bytecode; a checkout may have none, and an environment may forbid to write it.
BYTECODE = tempfile.TemporaryDirectory(prefix="fastbin-bench-")


def _cpu_seconds(code: str, **environment: str) -> float:
    """CPU time of this code in a fresh process, without that of starting Python; from the second one on, of bytecode."""
    environment |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": BYTECODE.name}
    program = f"import time\nstart = time.process_time()\n{code}\nprint(time.process_time() - start)"
    ran = run_python("-c", program, **environment)
    if ran.returncode:
        raise RuntimeError(ran.stderr)
    return float(ran.stdout.split()[-1])


def bench_import(benchmark, report) -> None:
    """Importing fastbin and what loads and scores, against importing NumPy, which that needs."""
    numpy, both = (min(_cpu_seconds(code) for _ in range(5)) for code in ("import numpy", "import fastbin; fastbin.load"))
    report("import fastbin", Quantity("CPU, NumPy alone", "ms"), 1e3 * numpy)
    report("import fastbin", Quantity("CPU, added to it", "ms"), 1e3 * (both - numpy))
    benchmark.pedantic(_cpu_seconds, args=("import fastbin; fastbin.load",), rounds=1)


def bench_first_fit(is_long: bool, tmp_path: Path, benchmark, report) -> None:
    """The first fit of a process: compiled code in the cache, and, at length, none there."""
    _cpu_seconds(FIRST_FIT)
    report(cases.FIRST_FIT, cases.CPU_WARM, median(_cpu_seconds(FIRST_FIT) for _ in range(5 if is_long else 3)))
    if is_long:
        report(cases.FIRST_FIT, cases.CPU_COLD, _cpu_seconds(FIRST_FIT, NUMBA_CACHE_DIR=str(tmp_path)))
    benchmark.pedantic(_cpu_seconds, args=(FIRST_FIT,), rounds=1)


# As the process `fastbin` does it, which needs no pandas.
PREDICT = """
import sys
from fastbin.__main__ import main
sys.argv = ["fastbin", "predict", {model!r}, {rows!r}, "--score", "p", "--output", {out!r}]
assert main() == 0
"""


def bench_predict_command(tmp_path: Path, benchmark, report) -> None:
    """`fastbin predict` of a thousand rows of CSV, against importing NumPy."""
    model = fb.UniformMassBinning(10).fit(*rows("uniform", 10**4)).model_
    scores = rows("uniform", 10**4)[0][:1000]
    paths = {name: str(tmp_path / name) for name in ("model", "rows.csv", "out.csv")}
    model.save(paths["model"])
    Path(paths["rows.csv"]).write_text("\n".join(["p", *map(repr, scores.tolist())]) + "\n")
    program = PREDICT.format(model=paths["model"], rows=paths["rows.csv"], out=paths["out.csv"])
    _cpu_seconds(program)
    written = [line.split(",")[1] for line in Path(paths["out.csv"]).read_text().splitlines()[1:]]
    assert list(map(float, written)) == model.predict(scores).tolist()
    numpy, both = (min(_cpu_seconds(code) for _ in range(5)) for code in ("import numpy", program))
    report(cases.PREDICT_COMMAND, cases.CPU_ADDED, both - numpy)
    benchmark.pedantic(_cpu_seconds, args=(program,), rounds=1)


def bench_first_small_fit(is_long: bool, benchmark, report) -> None:
    """The first fit of 1,000 rows in a process, above the import of NumPy."""
    codes = {"numpy": "import numpy", **FIRST_SMALL_FITS}
    rounds = [{name: _cpu_seconds(code) for name, code in codes.items()} for _ in range(9 if is_long else 5)]
    least = {name: min(seconds[name] for seconds in rounds[1:]) for name in codes}
    bins, certified = (least[name] - least["numpy"] for name in FIRST_SMALL_FITS)
    report(cases.FIRST_SMALL_FIT, cases.CPU_BINS, bins)
    report(cases.FIRST_SMALL_FIT, cases.CPU_CERTIFIED, certified)
    report(cases.FIRST_SMALL_FIT, cases.CERTIFIED_TO_BINS, certified / bins)
    benchmark.pedantic(_cpu_seconds, args=(FIRST_SMALL_FITS["CertifiedCalibration"],), rounds=1)


def bench_load(tmp_path: Path, benchmark, report) -> None:
    """A model of 1000 bins from its file, from bytes in memory, and from a pickle."""
    model = fb.UniformMassBinning(1000).fit(*rows("uniform", 10**6)).model_
    path = tmp_path / "model.fbm"
    model.save(path)
    assert fb.load(path) == model
    ways = {
        "file": partial(fb.load, path),
        "bytes": partial(fb.BinnedModel.from_bytes, model.to_bytes()),
        "pickle": partial(pickle.loads, pickle.dumps(model)),
    }
    timed = paired(ways, seconds=1)
    for way in ways:
        report("load a model, B = 1000", Quantity(f"from {way}", "us"), 1e6 * timed.seconds(way))
    benchmark.pedantic(ways["file"], rounds=100)
