"""Saves and loads of Python with the n-th open, write, fsync, rename, ... or malloc failing, for n = 1, 2, until none fails.

    LD_PRELOAD=./faults.so python tests/under_faults.py      # faults.so is csrc/tests/faults.c

Afterwards a file is the old one or the new one and never neither, nothing lies beside it, and what went wrong was raised.
`.ci/thorough faults` runs this; csrc/tests/under_faults.c is the same for C.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fastbin as fb
from fastbin.cli import command_line
from fastbin.tables import table as base

KINDS = (b"open", b"write", b"fsync", b"rename", b"close", b"read", b"malloc")
SCORES = np.linspace(0.0, 1.0, 200)
LABELS = (np.arange(200) % 3 == 0).astype(int)

# Numba compiles, Arrow starts its threads, and modules are imported before anything fails.
OLD = fb.UniformMassBinning(2).fit(SCORES, LABELS).model_
NEW = fb.UniformMassBinning(5).fit(SCORES, LABELS).model_


def stream(n: int) -> Any:
    counted = fb.online.StreamingBinning(OLD)
    counted.update(SCORES[:n], LABELS[:n], seed=1)
    return counted


def monitor(n: int) -> Any:
    watching = fb.online.CalibrationMonitor(OLD)
    watching.update(SCORES[:n], LABELS[:n], seed=1)
    return watching


# Only saving and loading happens under faults: NumPy does not survive every malloc that fails in it.
STREAMS, MONITORS = (stream(10), stream(200)), (monitor(10), monitor(200))


def command(*arguments: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        code = command_line.run(list(arguments))
    if code != 0:
        raise OSError(f"exit code {code}")


def cases(folder: Path) -> dict[str, tuple[Path, Callable[[], object], Callable[[], object]]]:
    """By name: the file, what makes the old one, and the operation under test."""
    model, counted, watching, told = (folder / name for name in ("m.fbm", "s.fbs", "m.mon", "out.csv"))
    watch, rows = fb.online.CalibrationMonitor, folder.parent / "rows.csv"
    rows.write_text("p,y\n" + "".join(f"{score!r},{label}\n" for score, label in zip(SCORES.tolist(), LABELS, strict=True)))
    fit = ("fit", str(rows), "--score", "p", "--label", "y", "--n-bins")
    source = folder.parent / "source.fbm"
    OLD.save(source)
    return {
        "save a model": (model, lambda: OLD.save(model), lambda: NEW.save(model)),
        "load a model": (model, lambda: OLD.save(model), lambda: fb.load(model)),
        "save a stream": (counted, lambda: STREAMS[0].save(counted), lambda: STREAMS[1].save(counted)),
        "load a stream": (counted, lambda: STREAMS[0].save(counted), lambda: fb.online.StreamingBinning.load(counted)),
        "save a monitor": (watching, lambda: MONITORS[0].save(watching), lambda: MONITORS[1].save(watching)),
        "load a monitor": (watching, lambda: MONITORS[0].save(watching), lambda: watch.load(watching)),
        "fastbin fit": (model, lambda: command(*fit, "2", "-o", str(model)), lambda: command(*fit, "5", "-o", str(model))),
        "fastbin predict": (
            told,
            lambda: told.write_text("old\n"),
            lambda: command("predict", str(source), str(rows), "--score", "p", "--seed", "1", "-o", str(told)),
        ),
    }


def fail_once(faults: Any, case: tuple[Any, Any, Any], kind: bytes, at: int, new: bytes) -> bool:
    """One call fails; returns whether it was reached."""
    path, make_old, operation = case
    make_old()
    old, raised = path.read_bytes(), None
    faults.faults_arm(kind, at)
    try:
        operation()
    except Exception as error:
        # Python itself has other words for a malloc that failed: RuntimeError("can't allocate read lock").
        if kind != b"malloc" and not isinstance(error, (OSError, MemoryError, fb.FastbinError)):
            raise
        raised = error
    finally:
        fired = bool(faults.faults_disarm(None))
    after = path.read_bytes()
    assert fired or raised is None, f"failed without a cause: {raised!r}"
    assert after in (old, new), f"neither old nor new: {len(after)} bytes"
    assert raised is not None or after == new, "nothing was raised, and the file is the old one"
    assert [found.name for found in path.parent.iterdir()] == [path.name], "something lies beside the file"
    path.unlink()
    return fired


def main() -> int:
    faults = ctypes.CDLL(None)
    if not hasattr(faults, "faults_arm"):
        sys.exit("faults.so is not preloaded")
    faults.faults_arm.argtypes = [ctypes.c_char_p, ctypes.c_long]
    base.arrow()
    n_faults = 0
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top) / "files"
        folder.mkdir()
        for name, case in cases(folder).items():
            path, make_old, operation = case
            make_old()
            operation()  # warm, and what the new file is
            new = path.read_bytes()
            path.unlink()
            for kind in KINDS:
                if kind == b"malloc" and (name.startswith("fastbin") or name == "load a monitor"):
                    continue  # these go through NumPy, SciPy and Arrow
                at = 1
                while fail_once(faults, case, kind, at, new):
                    n_faults, at = n_faults + 1, at + 1
            print(f"{name}: {n_faults} failing calls so far, all borne", flush=True)
    return 0 if n_faults > 20 else 1


if __name__ == "__main__":
    sys.exit(main())
