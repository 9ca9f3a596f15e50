"""What it costs to begin: importing, loading a model, the first fit of a process."""

from __future__ import annotations

from pathlib import Path

from cases import rows
from measure import paired

import fastbin as fb
from fresh_python import run_python

FIRST_FIT = """
import numpy as np
import fastbin as fb
rng = np.random.default_rng(0)
scores = rng.random(100_000)
fb.UniformMassBinning(10).fit(scores, rng.random(100_000) < scores)
"""


def _cpu_seconds(code: str, **environment: str) -> float:
    """CPU time of this code in a fresh process, without that of starting Python."""
    program = f"import time\nstart = time.process_time()\n{code}\nprint(time.process_time() - start)"
    ran = run_python("-c", program, **environment)
    if ran.returncode:
        raise RuntimeError(ran.stderr)
    return float(ran.stdout.split()[-1])


def bench_import(benchmark, report) -> None:
    """Importing fastbin against importing NumPy, which it needs."""
    numpy = min(_cpu_seconds("import numpy") for _ in range(5))
    both = min(_cpu_seconds("import fastbin") for _ in range(5))
    benchmark.pedantic(_cpu_seconds, args=("import fastbin",), rounds=1)
    figures = {"numpy_ms": 1e3 * numpy, "fastbin_adds_ms": 1e3 * (both - numpy)}
    benchmark.extra_info.update(figures)
    report(startup="import fastbin", **{name: f"{value:.0f}" for name, value in figures.items()})


def bench_first_fit(is_long: bool, tmp_path: Path, benchmark, report) -> None:
    """The first fit of a process, Numba's import included: compiled code in the cache, and, at length, none there."""
    _cpu_seconds(FIRST_FIT)
    warm = min(_cpu_seconds(FIRST_FIT) for _ in range(3))
    benchmark.pedantic(_cpu_seconds, args=(FIRST_FIT,), rounds=1)
    figures = {"warm_cache_s": warm}
    if is_long:
        figures["cold_cache_s"] = _cpu_seconds(FIRST_FIT, NUMBA_CACHE_DIR=str(tmp_path))
    benchmark.extra_info.update(figures)
    report(startup="first fit, CPU", **{name: f"{value:.2f}" for name, value in figures.items()}, target_warm_s=1.0)


def bench_load(tmp_path: Path, benchmark, report) -> None:
    """A model of 1000 bins from its file, from bytes in memory, and from a pickle."""
    import pickle

    scores, labels = rows("uniform", 10**6)
    model = fb.UniformMassBinning(1000).fit(scores, labels).model_
    path = tmp_path / "model.fbm"
    model.save(path)
    data, pickled = model.to_bytes(), pickle.dumps(model)
    assert fb.load(path) == model
    result = paired(
        {
            "file": lambda: fb.load(path),
            "bytes": lambda: fb.BinnedModel.from_bytes(data),
            "pickle": lambda: pickle.loads(pickled),
        },
        baseline="bytes",
    )
    benchmark(lambda: fb.load(path))
    report(startup="load 1000 bins, microseconds", **{name: f"{1e6 * value:.0f}" for name, value in result.seconds.items()})
