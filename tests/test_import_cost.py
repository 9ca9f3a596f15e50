"""Importing fastbin, loading a model and scoring need NumPy alone, and importing costs less than NumPy itself.

Each check runs in a fresh interpreter, where nothing has been imported yet.
"""

from __future__ import annotations

import ast
import pickle
from pathlib import Path

import pytest

import fastbin as fb
from fresh_python import run_python

OPTIONAL = ("numba", "scipy", "sklearn", "pandas", "polars", "pyarrow", "matplotlib", "click", "rich", "IPython", "pytest")

# An import of any of these raises, as if it were not installed.
BLOCK = f"""
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {OPTIONAL!r}:
            raise ImportError(name + " is made unimportable")

sys.meta_path.insert(0, Blocker())
"""


def run(program: str, *arguments: str) -> str:
    """The output of a fresh interpreter that sees the same fastbin."""
    result = run_python("-W", "error", "-c", program, *arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def fitted() -> fb.UniformMassBinning:
    """With ties at the boundaries, so that scoring goes through keys as well."""
    scores = [i % 7 / 8 for i in range(60)]
    return fb.UniformMassBinning(n_bins=5, ties="random").fit(scores, [int(i % 7 > i % 5) for i in range(60)])


def test_blocked_modules_cannot_be_imported() -> None:
    program = BLOCK + "".join(f"\ntry:\n    import {name}\nexcept ImportError as error:\n    print(error)" for name in OPTIONAL)
    assert run(program).splitlines() == [f"{name} is made unimportable" for name in OPTIONAL]


def test_load_and_score_with_numpy_alone(tmp_path: Path, fitted: fb.UniformMassBinning) -> None:
    model = fitted.model_
    path = tmp_path / "model.fbm"
    model.save(path)
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(model))
    (tmp_path / "calibrator.pickle").write_bytes(pickle.dumps(fitted))
    program = BLOCK + (
        """
import pickle
import numpy as np
import fastbin as fb

folder = sys.argv[1]
model = fb.load(folder + "/model.fbm")
scores = np.linspace(0.0, 1.0, 17)
answers = [
    model.predict(scores, seed=3),
    model.predict(scores.astype(np.float32), seed=3),
    fb.BinnedModel.from_bytes(model.to_bytes()).predict(scores, seed=3),
    pickle.loads(open(folder + "/model.pickle", "rb").read()).predict(scores, seed=3),
    pickle.loads(open(folder + "/calibrator.pickle", "rb").read()).predict(scores, seed=3),
    pickle.loads(pickle.dumps(model)).predict(scores, seed=3),
]
assert all((answer == answers[0]).all() for answer in answers)
print([float(value).hex() for value in answers[0]])
print([model.predict_one(score, tie_key=5).hex() for score in scores])
print(model.assign(scores, seed=3).tolist(), model.edges.tolist(), model.counts.tolist(), repr(model))
print(model)
model.save(folder + "/again.fbm")
"""
    )
    printed = run(program, str(tmp_path)).splitlines()
    scores = [i / 16 for i in range(17)]
    assert printed[0] == str([float(value).hex() for value in model.predict(scores, seed=3)])
    assert printed[1] == str([model.predict_one(score, tie_key=5).hex() for score in scores])
    assert printed[2] == f"{model.assign(scores, seed=3).tolist()} {model.edges.tolist()} {model.counts.tolist()} {model!r}"
    assert "\n".join(printed[3:]) == str(model)
    assert (tmp_path / "again.fbm").read_bytes() == path.read_bytes()


def test_scoring_with_everything_installed_loads_nothing_more(tmp_path: Path, fitted: fb.UniformMassBinning) -> None:
    """The optional packages are not only dispensable: they are not loaded where they are not needed."""
    fitted.model_.save(tmp_path / "model.fbm")
    program = f"""
import sys
import fastbin as fb
model = fb.load(sys.argv[1])
model.predict([0.1, 0.5])
model.predict_one(0.3)
print(sorted(set({OPTIONAL!r}) & {{name.split(".")[0] for name in sys.modules}}))
"""
    assert run(program, str(tmp_path / "model.fbm")) == "[]\n"


# `fastbin predict` of a CSV file to another: what formats, exports, fits and displays need, and rows of text do without.
# (PyArrow imports pandas by itself where it is installed, and its functions, without which it casts nothing.)
NOT_FOR_PREDICT = (
    "numba", "scipy", "sklearn", "polars", "duckdb", "matplotlib", "rich", "pyarrow.parquet", "pyarrow.fs",
    "fastbin.export.verify", "fastbin.export.c_source", "fastbin.export.onnx",
)  # fmt: skip


def test_predicting_rows_of_text_loads_what_it_reads(tmp_path: Path, fitted: fb.UniformMassBinning) -> None:
    pytest.importorskip("pyarrow")
    pytest.importorskip("click")
    fitted.model_.save(tmp_path / "model.fbm")
    (tmp_path / "new.csv").write_text("id,p\n1,0.125\n2,0.5\n")
    program = f"""
import sys
from fastbin.cli import command_line
folder = sys.argv[1]
given = ["predict", folder + "/model.fbm", folder + "/new.csv", "--score", "p", "--seed", "1", "-o", folder + "/out.csv"]
assert command_line.run(given) == 0
print(sorted(set({NOT_FOR_PREDICT!r}) & set(sys.modules)))
"""
    assert run(program, str(tmp_path)) == "[]\n"
    assert (tmp_path / "out.csv").read_text().splitlines()[0] == "id,p,calibrated"


FITS_OF_FEW_ROWS = """
import sys
import numpy as np
import fastbin as fb
rng = np.random.default_rng(0)
for n in (300, 2**17):
    scores = rng.random(n)
    labels = rng.random(n) < scores
    for weights in (None, rng.integers(1, 4, n), rng.random(n)):
        for calibrator in (
            fb.CertifiedCalibration(), fb.UniformMassBinning(), fb.UniformMassBinning(5, ties="random"),
            fb.UniformMassBinning(5, scheme="ums"), fb.FixedWidthBinning(), fb.IsotonicCalibration(), fb.VennAbers(),
            fb.ScalingBinning(5),
        ):
            if not (isinstance(calibrator, fb.VennAbers) and weights is not None and weights.dtype.kind == "f"):
                calibrator.fit(scores, labels, weights)
print(sorted({"numba", "llvmlite"} & set(sys.modules)))
"""


def test_no_fit_of_up_to_131072_rows_imports_numba() -> None:
    assert run(FITS_OF_FEW_ROWS) == "[]\n"


def test_fitting_without_numba_says_what_to_install() -> None:
    """Nothing falls back to slow code in silence: what is missing is named, with the extra that brings it."""
    program = BLOCK + (
        """
import numpy as np
import fastbin as fb
try:
    fb.UniformMassBinning(n_bins=10).fit(np.linspace(0, 1, 200_000), np.arange(200_000) % 2)
except ImportError as error:
    print(type(error).__name__, error)
"""
    )
    printed = run(program)
    assert printed.startswith("MissingDependencyError ")
    assert "numba" in printed.lower()
    assert 'extra "fit" of fastbin-calibration: pip install "numba>=' in printed


def test_import_changes_nothing_in_the_process() -> None:
    program = """
import locale, logging, os, random, signal, sys, threading, warnings
import numpy as np

def state():
    return (
        warnings.filters[:], np.geterr(), random.getstate(), str(np.random.get_state()), dict(os.environ), os.getcwd(),
        threading.active_count(), [signal.getsignal(n) for n in signal.valid_signals()], logging.getLogger().handlers[:],
        locale.setlocale(locale.LC_ALL), sys.getswitchinterval(), np.get_printoptions(), sys.excepthook, sys.path[:],
    )

before = state()
import fastbin
assert state() == before
"""
    run(program)


def test_import_writes_nothing() -> None:
    program = """
import sys

def hook(event, arguments):
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & 0o3:
        print("opened for writing:", arguments[0])

sys.dont_write_bytecode = True
import numpy
sys.addaudithook(hook)
import fastbin
fastbin.load
"""
    assert run(program) == ""


# CPU time of this process, so that other processes on the machine do not count; seconds for NumPy, then for what scores.
TIMES = """
import sys, time
start = time.process_time()
import numpy
middle = time.process_time()
import fastbin
fastbin.load
print(middle - start, time.process_time() - middle)
"""


def test_import_adds_less_time_than_numpy() -> None:
    """The least of some fresh interpreters on both sides: what the import costs when nothing gets in its way.

    On a quiet machine the ratio is about one third, so that there is room for a busy one.
    """
    run(TIMES)  # writes the bytecode, and warms the disk cache
    pairs = [tuple(map(float, run(TIMES).split())) for _ in range(5)]
    numpy_seconds, fastbin_seconds = (min(column) for column in zip(*pairs, strict=True))
    assert fastbin_seconds < numpy_seconds, f"fastbin adds {fastbin_seconds:.3f} s to NumPy's {numpy_seconds:.3f} s"


def test_the_import_needs_no_cryptography() -> None:
    """The library behind `hashlib` takes milliseconds; `hash_keys` and digests of files import it when they are called."""
    program = "import numpy, sys; old = set(sys.modules); import fastbin; fastbin.load; print(sorted(set(sys.modules) - old))"
    assert not {"_hashlib", "hashlib", "hmac", "secrets"} & set(ast.literal_eval(run(program)))
