"""Ctrl-C ends each fit, prediction, update, engine call and command on many rows, soon, by KeyboardInterrupt or code 130.

Each case runs in a process of its own, which makes its rows, does the work, says "ready" and does it over and over, until the
signal. The first time loads modules and what Numba has compiled, whose callbacks would often lose the signal (see `interrupt`).
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from wordings import refuses

import fastbin as fb
from fresh_python import environment

pytestmark = pytest.mark.skipif(os.name != "posix", reason="SIGINT is sent to another process")

# Seconds from the signal to the end: generous, since other tests run beside this one. Work that lost the signal never ends.
SOON = 10.0
INTERRUPTED = 130

# A process in the background of a shell inherits that SIGINT is ignored.
PREPARATION = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np
import fastbin as fb
n = int(sys.argv[1])
draw = np.random.default_rng(7)
scores = draw.random(n)
labels = (draw.random(n) < scores).astype(np.uint8)
small, segments = slice(20_000), draw.integers(0, 50, n)
def fitted():
    return fb.UniformMassBinning(n_bins=10).fit(scores[small], labels[small]).model_
def table():
    import pyarrow as pa
    return pa.table({"p": scores, "y": labels, "segment": segments})
def frame():
    import polars as pl
    return pl.DataFrame({"p": scores, "y": labels})
def relation():
    import duckdb
    connection = duckdb.connect()
    connection.register("rows", table())
    return connection, "select * from rows"
def command(*arguments, makes=None):
    import os, tempfile
    import pyarrow.parquet
    from fastbin.__main__ import main
    os.chdir(tempfile.mkdtemp(dir=sys.argv[2]))
    pyarrow.parquet.write_table(table(), "rows.parquet")
    fitted().save("old.fbm")
    sys.argv = ["fastbin", *arguments]
    def work():
        sys.stdout = open(os.devnull, "w")
        if code := main():
            raise SystemExit(code)
        if makes is not None and os.path.exists(makes):
            os.unlink(makes)
    return work
"""

COLUMNS = 'score="p", label="y"'
CASES = {
    "uniform-mass": "c = fb.UniformMassBinning(n_bins=20); work = lambda: c.fit(scores, labels)",
    "many-bins": "c = fb.UniformMassBinning(n_bins=n // 100); work = lambda: c.fit(scores, labels)",
    "threads": "c = fb.UniformMassBinning(n_bins=20); work = lambda: c.fit(scores, labels, n_threads=2)",
    "frequencies": "w = draw.integers(0, 5, n); c = fb.UniformMassBinning(); work = lambda: c.fit(scores, labels, w)",
    "weights": "w = draw.random(n) + .1; c = fb.UniformMassBinning(); work = lambda: c.fit(scores, labels, w)",
    "random-ties": "s = scores.round(2); c = fb.UniformMassBinning(ties='random'); work = lambda: c.fit(s, labels)",
    "certified": "c = fb.CertifiedCalibration(); work = lambda: c.fit(scores, labels)",
    "fixed-width": "c = fb.FixedWidthBinning(n_bins=20); work = lambda: c.fit(scores, labels)",
    "explicit": "c = fb.ExplicitBinning(edges=[.2, .5]); work = lambda: c.fit(scores, labels)",
    "scaling-binning": "c = fb.ScalingBinning(n_bins=20); work = lambda: c.fit(scores, labels)",
    "isotonic": "c = fb.IsotonicCalibration(); work = lambda: c.fit(scores, labels)",
    "venn-abers": "c = fb.VennAbers(); work = lambda: c.fit(scores, labels)",
    "platt": "c = fb.PlattScaling(); work = lambda: c.fit(scores, labels)",
    "temperature": "c = fb.TemperatureScaling(); work = lambda: c.fit(scores, labels)",
    "beta": "c = fb.BetaScaling(); work = lambda: c.fit(scores, labels)",
    "quadratic": "c = fb.QuadraticScaling(); work = lambda: c.fit(scores, labels)",
    "spline": "c = fb.SplineScaling(); work = lambda: c.fit(scores, labels)",
    "segments": "c = fb.multi.SegmentedBinning(); work = lambda: c.fit(scores, labels, segments)",
    "many-segments": """
from fastbin._core.fit import count_codes, number_keys, scatter_rows
keys = draw.integers(0, 2**62, n)
def work():
    different, codes = number_keys(keys)
    counts = count_codes(codes, 0, len(different))
    scatter_rows(codes, 0, np.cumsum(counts) - counts, scores, labels, 0.0, 1.0, np.empty(n, np.uint64))""",
    "predict": "m = fitted(); work = lambda: m.predict(scores)",
    "predict-map": "m = fb.BetaScaling().fit(scores[small], labels[small]).model_; work = lambda: m.predict(scores)",
    "predict-interval": "m = fitted(); work = lambda: m.predict_interval(scores)",
    "predict-set": """
m = fb.multi.SegmentedBinning().fit(scores[small], labels[small], segments[small]).model_
work = lambda: m.predict(scores, segments)""",
    "assess": "m = fitted(); work = lambda: fb.assess.check_certificate(m, scores, labels)",
    "stream": "s = fb.online.StreamingBinning(fitted()); work = lambda: s.update(scores, labels)",
    "monitor": "m = fb.online.CalibrationMonitor(fitted(), tolerance=.1); work = lambda: m.update(scores, labels)",
    "fit-arrow": f"t = table(); work = lambda: fb.engines.fit(t, {COLUMNS})",
    "fit-polars": f"t = frame(); work = lambda: fb.engines.fit(t, {COLUMNS})",
    "fit-duckdb": f"t = relation(); work = lambda: fb.engines.fit(t, {COLUMNS})",
    "predict-arrow": 't = table(); m = fitted(); work = lambda: fb.engines.predict(t, m, score="p")',
    "predict-polars": 't = frame(); m = fitted(); work = lambda: fb.engines.predict(t, m, score="p")',
    "assess-arrow": f"t = table(); m = fitted(); work = lambda: fb.engines.assess(t, m, {COLUMNS})",
    "assess-duckdb": f"t = relation(); m = fitted(); work = lambda: fb.engines.assess(t, m, {COLUMNS})",
    "command-fit": 'work = command("fit", "rows.parquet", "-o", "new.fbm", makes="new.fbm")',
    "command-predict": 'work = command("predict", "old.fbm", "rows.parquet", "-o", "out.parquet", makes="out.parquet")',
    "command-assess": 'work = command("assess", "old.fbm", "rows.parquet")',
    "command-report": 'work = command("report", "old.fbm", "rows.parquet", "-o", "report.html", makes="report.html")',
    "command-monitor": """
work = command("monitor", "old.fbm", "rows.parquet", "--tolerance", ".1", "--state", "now.mon", makes="now.mon")""",
}
FEW = ("uniform-mass", "threads", "predict-map", "stream", "fit-arrow", "command-fit")


def interrupt(child: subprocess.Popen[str]) -> tuple[float, str]:
    """The seconds from SIGINT to the end of the process, and what it wrote.

    Python drops an exception that is raised within a callback of a weak reference or of ctypes, and says so. A signal that
    comes within one of another package is lost, and another follows.
    """
    for may_be_lost in (True, True, False):
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        try:
            _, errors = child.communicate(timeout=SOON)
        except subprocess.TimeoutExpired as late:
            told = str(late.stderr)
            if not may_be_lost or "Exception ignored" not in told or str(Path(fb.__file__).parent) in told:
                raise
        else:
            break
    return time.monotonic() - sent, errors


def end_by_signal(case: str, n_rows: int, folder: Path) -> float:
    """The seconds from SIGINT to the end of the process, which must end by it."""
    ready = "print('ready', file=sys.__stdout__, flush=True)"  # commands have sent the other one to /dev/null
    program = f"{PREPARATION}\n{CASES[case]}\nwork()\n{ready}\nwhile True:\n    work()\n"
    command = [sys.executable, "-c", program, str(n_rows), str(folder)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), cwd=Path(__file__).parent
    ) as child:  # fmt: skip
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n", child.communicate()[1]
            time.sleep(0.5)
            assert child.poll() is None, child.communicate()[1]
            seconds, errors = interrupt(child)
        finally:
            child.kill()
    if case.startswith("command-"):
        assert (child.returncode, errors.splitlines()[-1]) == (INTERRUPTED, "error: interrupted")
    else:
        assert child.returncode == -signal.SIGINT, errors
        assert re.search(r"^KeyboardInterrupt", errors, re.MULTILINE), errors  # below which Polars adds where it occurred
    return seconds


@pytest.mark.parametrize("case", FEW)
def test_work_can_be_interrupted(case: str, tmp_path: Path) -> None:
    assert end_by_signal(case, 500_000, tmp_path) < SOON


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_work_on_many_rows_can_be_interrupted(case: str, tmp_path: Path) -> None:
    assert end_by_signal(case, 10_000_000, tmp_path) < SOON


def test_an_interrupted_update_of_many_rows_counts_none_of_them() -> None:
    n_rows = 2**21 + 5
    scores, labels = np.arange(n_rows) / n_rows, (np.arange(n_rows) % 3 == 0).astype(np.uint8)
    model = fb.FixedWidthBinning(n_bins=4).fit(scores[::1000], labels[::1000]).model_
    whole, parts, refused = (fb.online.StreamingBinning(model) for _ in range(3))
    middle = n_rows // 2
    whole.update(scores, labels)
    parts.update(scores[:middle], labels[:middle])
    parts.update(scores[middle:], labels[middle:])
    assert whole.to_bytes() == parts.to_bytes()

    before = refused.to_bytes()
    refuses(f"InputError labels[{n_rows - 1}]", refused.update, scores, np.append(labels[:-1], np.uint8(2)))
    refuses(f"InputError scores[{n_rows - 2}]", refused.update, np.concatenate([scores[:-2], [2.0, 0.5]]), labels)
    assert refused.to_bytes() == before

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    def update_with_alarm() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        refused.update(many, many_labels)

    # While a part is counted; the update looks for it after that.
    many, many_labels = np.tile(scores, 8), np.tile(labels, 8)
    handler = signal.signal(signal.SIGALRM, interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            update_with_alarm()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    assert refused.to_bytes() == before


def test_parts_between_two_looks_at_signals_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(11)
    scores = draw.random(20_000).round(3)
    labels = (draw.random(20_000) < scores).astype(np.uint8)
    frequencies, weights = draw.integers(0, 4, 20_000), draw.random(20_000) + 0.1

    def fits() -> list[bytes]:
        fitted = [
            calibrator.fit(scores, labels, sample_weight=given).model_.to_bytes()
            for calibrator in (fb.IsotonicCalibration(), fb.UniformMassBinning(n_bins=20))
            for given in (None, frequencies, weights)
        ]
        return [*fitted, fb.UniformMassBinning(n_bins=20).fit(scores, labels, n_threads=2).model_.to_bytes()]

    whole = fits()
    monkeypatch.setattr("fastbin._fit.histogram.ROWS_AT_A_TIME", 777)
    monkeypatch.setattr("fastbin._fit.tally.TERMS_BEFORE_CARRY", 999)
    assert fits() == whole
