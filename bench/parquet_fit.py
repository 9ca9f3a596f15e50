"""A fit of Parquet beside that of version 0.1.0, each as its own version of fastbin does it.

    python bench/parquet_fit.py --rows 1e7

Version 0.1.0 is commit 09d353b, which is built in an environment of its own (a minute or two; it needs a C compiler, Git and a
package index). Both versions run in processes of their own, once before the clock and then in turn. 0.1.0 reads the file, with
as many threads of PyArrow as there are cores; this version reads it as a relation of DuckDB, and as a path, with two threads.
All models must have the same counts.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tarfile
import tempfile
import venv
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(Path(__file__).parent))

from machine import machine  # noqa: E402

BEFORE = "09d353b"

# A process that fits for each line it reads, and answers with its seconds and what was counted.
WORKER = """
import json, sys, time
import fastbin as fb
path, n_bins = sys.argv[1], int(sys.argv[2])
{fit}
for _ in sys.stdin:
    started = time.perf_counter()
    model = fit()
    seconds = time.perf_counter() - started
    print(json.dumps([seconds, model.counts.tolist(), model.label_sums.tolist()]), flush=True)
"""

FITS = {
    "0.1.0": """
from fastbin.scale import fit_chunks, open_table, read_columns
def fit():
    table = open_table(path)
    return fit_chunks(lambda: read_columns(table, ["p", "y"]), n_bins=n_bins)
""",
    "DuckDB relation": """
import duckdb
relation = duckdb.connect(config={"threads": 2}).cursor().read_parquet(path)  # a cursor shows no bar of progress
def fit():
    return fb.engines.fit(relation, score="p", label="y", calibrator=fb.UniformMassBinning(n_bins))
""",
    "path": """
def fit():
    return fb.engines.fit(path, score="p", label="y", calibrator=fb.UniformMassBinning(n_bins))
""",
}


class Worker:
    """A version of fastbin that fits when it is told to."""

    def __init__(self, python: str, fit: str, *arguments: str) -> None:
        command = [python, "-c", WORKER.format(fit=fit), *arguments]
        # Where no fastbin that is not installed can be found.
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, cwd=tempfile.gettempdir()
        )

    def fit(self) -> tuple[float, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("fit\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit("a fit failed; its error is above")
        seconds, *counted = json.loads(answer)
        return seconds, counted

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


def build(folder: Path) -> str:
    """The interpreter of an environment with the version before."""
    archive = subprocess.run(["git", "archive", BEFORE], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder / "source")
    venv.create(folder / "environment", with_pip=True)
    python = folder / "environment" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", f"{folder / 'source'}[cli]"], check=True)
    return str(python)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--bins", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--python", help="the interpreter of an environment that has version 0.1.0 already")
    given = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory(prefix="fastbin-parquet-") as place, ExitStack() as stack:
        folder = Path(place)
        before = given.python or build(folder)
        path = str(folder / "rows.parquet")
        rng = np.random.default_rng(0)
        scores = rng.random(int(given.rows))
        labels = rng.random(int(given.rows)) < scores
        pq.write_table(pa.table({"p": scores, "y": labels}), path, row_group_size=122_880)
        workers = {
            name: stack.enter_context(Worker(before if name == "0.1.0" else sys.executable, fit, path, str(given.bins)))
            for name, fit in FITS.items()
        }
        counted = {name: worker.fit()[1] for name, worker in workers.items()}
        assert all(one == counted["0.1.0"] for one in counted.values()), "the models differ"
        times = {name: np.empty(given.rounds) for name in workers}
        for number in range(given.rounds):
            for name, worker in workers.items():
                times[name][number] = worker.fit()[0]
        for name, seconds in times.items():
            ratio = median((times["0.1.0"] / seconds).tolist())
            print(f"{name}: {1e3 * median(seconds.tolist()):.0f} ms; 0.1.0 / that: {ratio:.2f}")


if __name__ == "__main__":
    main()
