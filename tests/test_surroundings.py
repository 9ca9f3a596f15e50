"""Where programs put a calibrator: worker processes, event loops, interpreters, locales, little memory, stopped queries."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from wordings import refuses

import fastbin as fb
from fresh_python import run_python

RNG = np.random.default_rng(4)
SCORES = RNG.random(4000)
LABELS = RNG.random(4000) < SCORES
MODEL = fb.UniformMassBinning(10).fit(SCORES, LABELS).model_

WORKERS = """
import multiprocessing, sys
import numpy as np
import fastbin as fb

def work(path):
    model = fb.load(path)
    scores = np.linspace(0.0, 1.0, 10_001)
    again = fb.UniformMassBinning(5).fit(scores, scores > 0.5).model_
    return model.predict(scores).tobytes(), again.to_bytes()

if __name__ == "__main__":
    path, method = sys.argv[1:]
    here = work(path)
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(work, [path] * 4) == [here] * 4
    print("same")
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_load_fit_and_predict_the_same(method: str, tmp_path: Any) -> None:
    MODEL.save(tmp_path / "m.fbm")
    program = tmp_path / "workers.py"
    program.write_text(WORKERS, encoding="utf8")
    result = run_python(str(program), str(tmp_path / "m.fbm"), method)
    assert (result.returncode, result.stdout) == (0, "same\n"), result.stderr


def test_an_event_loop_goes_on_while_threads_fit_and_predict() -> None:
    async def work() -> tuple[list[Any], int]:
        beats, running = 0, True

        async def beat() -> None:
            nonlocal beats
            while running:
                beats += 1
                await asyncio.sleep(0.001)

        heart = asyncio.create_task(beat())
        made = [asyncio.to_thread(lambda: fb.UniformMassBinning(10).fit(SCORES, LABELS).model_) for _ in range(4)]
        made += [asyncio.to_thread(MODEL.predict, SCORES) for _ in range(4)]
        answers = await asyncio.gather(*made)
        running = False
        await heart
        return answers, beats

    answers, beats = asyncio.run(work())
    assert all(model == MODEL for model in answers[:4])
    assert all(np.array_equal(values, MODEL.predict(SCORES)) for values in answers[4:])
    assert beats > 0


def test_the_interpreter_ends_while_threads_predict() -> None:
    """Daemon threads are in C at the end of the process: nothing is freed below them."""
    program = """
import threading
import numpy as np
import fastbin as fb
scores = np.random.default_rng(0).random(2_000_000)
model = fb.UniformMassBinning(100).fit(scores[:10_000], scores[:10_000] > 0.5).model_
started = threading.Semaphore(0)
def work():
    while True:
        started.release()
        model.predict(scores)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
for _ in range(6):
    started.acquire()
print("ends")
"""
    result = run_python("-c", program)
    assert (result.returncode, result.stdout, result.stderr) == (0, "ends\n", "")


def test_another_interpreter_refuses_or_works() -> None:
    """NumPy itself refuses to be imported twice in one process in some versions; there is never a crash."""
    program = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
number = interpreters.create()
code = '''
try:
    import fastbin as fb
    print(fb.UniformMassBinning(1).fit([0.1, 0.9], [0, 1]).model_.n_bins)
except ImportError:
    print("refused")
'''
try:
    interpreters.run_string(number, code)
except interpreters.RunFailedError:
    print("refused")
"""
    pytest.importorskip("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")
    result = run_python("-c", program.replace("except interpreters.RunFailedError", "except Exception"))
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() in ("1", "refused")


@pytest.mark.parametrize("n", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_hundred_thousand_classes(n: int) -> None:
    """One model for each of 100,000 keys: made, saved, read, and scored in any order; fast with a tenth of them."""
    clips = MODEL.with_out_of_range("clip")
    models = fb.ModelSet({key: MODEL if key % 2 else clips for key in range(n)})
    read = fb.ModelSet.from_bytes(models.to_bytes())
    assert (read.n_models, read) == (n, models)
    cells = RNG.permutation(n)
    scores = RNG.random(n)
    assert np.array_equal(read.predict(scores, cells), MODEL.predict(scores))
    refuses("InputError cells[1]", read.predict, [0.5, 0.5], [3, n])


LITTLE_MEMORY = """
import resource, sys
import numpy as np
import fastbin as fb
fb.CertifiedCalibration().fit(np.linspace(0, 1, 200_000), np.arange(200_000) % 2)  # so many rows import all that fits need
n, room = int(sys.argv[1]), int(sys.argv[2]) * 2**20
scores, labels = np.random.default_rng(0).random(n), np.random.default_rng(1).integers(0, 2, n)
model = fb.UniformMassBinning(100).fit(scores[:1000], labels[:1000]).model_
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + room, resource.RLIM_INFINITY))
ends = []
for work in (
    lambda: fb.UniformMassBinning(100, ties="random").fit(scores, labels),
    lambda: fb.CertifiedCalibration().fit(scores, labels),
    lambda: fb.IsotonicCalibration().fit(scores, labels),
    lambda: model.predict(scores),
):
    try:
        work()
        ends.append("done")
    except MemoryError:
        ends.append("MemoryError")
assert np.isfinite(model.predict_one(0.5))
print(*ends)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc to see the memory of the process")
@pytest.mark.parametrize(
    ("n", "room"),
    [
        (1_000_000, 24), pytest.param(10**7, 32, marks=pytest.mark.slow),
        pytest.param(10**8, 64, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_little_memory_is_a_memory_error_and_no_end(n: int, room: int) -> None:
    """With `room` MB above what is there, work ends well or with MemoryError; the process and the model go on."""
    result = run_python("-c", LITTLE_MEMORY, str(n), str(room))
    assert result.returncode == 0, result.stderr
    ends = result.stdout.split()
    assert len(ends) == 4
    assert set(ends) <= {"done", "MemoryError"}
    assert "MemoryError" in ends  # else the room was enough, and nothing was tested


def test_a_query_that_is_stopped_leaves_the_connection_usable() -> None:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    endless = "SELECT random() AS p, random() > 0.5 AS y FROM range(400000000000)"
    done = threading.Event()

    def stop() -> None:
        while not done.wait(0.02):  # the query may not have begun
            connection.interrupt()

    stopping = threading.Thread(target=stop)
    stopping.start()
    try:
        # The engine's own error; what goes by way of Arrow becomes an OSError there.
        with pytest.raises((duckdb.InterruptException, OSError), match=r"(?i)interrupt"):
            fb.engines.fit((connection, endless), score="p", label="y", calibrator=fb.UniformMassBinning(5))
    finally:
        done.set()
        stopping.join()
    assert connection.execute("SELECT 42").fetchall() == [(42,)]
    few = "SELECT i / 1000.0 AS p, i > 500 AS y FROM range(1000) t(i)"
    assert fb.engines.fit((connection, few), score="p", label="y", calibrator=fb.UniformMassBinning(5)).n_samples == 1000


def test_a_table_of_polars_that_changes_between_passes_makes_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    pl = pytest.importorskip("polars")
    from fastbin.tables import opening as tables
    from fastbin.tables import replay

    monkeypatch.setattr(tables, "BATCH_ROWS", 512)
    monkeypatch.setattr(replay, "MEMORY_BYTES", 9 * 1000)  # fewer rows than there are, so that there are several passes
    given: Iterator[int] = iter(range(100))

    def table() -> Any:
        number = next(given)
        return pl.DataFrame({"p": np.random.default_rng(number).random(40_000), "y": np.arange(40_000) % 2})

    refuses(
        "InputError: the rows changed between",
        fb.engines.fit,
        table,
        score="p",
        label="y",
        calibrator=fb.UniformMassBinning(50),
    )
    assert next(given) > 1


IN_A_LOCALE = """
import hashlib
import numpy as np
import fastbin as fb
from fastbin.cli import command_line

rng = np.random.default_rng(0)
scores = rng.random(1000)
labels = (rng.random(1000) < scores).astype(int)
model = fb.CertifiedCalibration().fit(scores, labels).model_
written = [model.to_bytes(), str(model.certificate()).encode(), str(model).encode(), fb.export.json(model).encode()]
written += [fb.export.sql(model, "p", dialect="duckdb").encode(), fb.export.c_source(model, "f").encode()]
written += [fb.export.java(model, "F").encode(), fb.export.javascript(model).encode()]
assert fb.export.from_json(fb.export.json(model)) == model
with open("s.csv", "w") as file:
    file.write("p,y\\n" + "".join(f"{p!r},{y}\\n" for p, y in zip(scores.tolist(), labels.tolist())))
for command in ("fit s.csv -q -o m.fbm", "predict m.fbm s.csv --interval 0.1 -o out.csv"):
    assert command_line.run(command.split()) == 0
for name in ("m.fbm", "out.csv"):
    with open(name, "rb") as file:
        written.append(file.read())
found = [hashlib.sha256(each).hexdigest() for each in written]
"""


@pytest.mark.skipif(shutil.which("localedef") is None, reason="localedef makes the locale")
def test_a_decimal_comma_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/usr/share/i18n/locales/de_DE").exists():
        pytest.skip("no source of the locale de_DE")
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", tmp_path / "de_DE.UTF-8"], capture_output=True)
    assert (tmp_path / "de_DE.UTF-8").is_dir(), made.stderr
    # Here, where the point is the mark, and in a process that has the comma from its start.
    monkeypatch.chdir(tmp_path)
    here: dict[str, Any] = {}
    exec(IN_A_LOCALE, here)
    start = f"""
import locale, os
os.chdir({os.fspath(tmp_path)!r})
locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
assert locale.localeconv()["decimal_point"] == ","
"""
    result = run_python("-c", f"{start}{IN_A_LOCALE}print(*found)", LOCPATH=os.fspath(tmp_path))
    assert result.returncode == 0, result.stderr
    assert len(here["found"]) == 10
    assert here["found"] == result.stdout.split()
