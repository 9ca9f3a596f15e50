"""examples/service.py under load on loopback, its model exchanged all the while. `pytest -s` prints the percentiles."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import fastbin as fb
from fresh_python import environment
from oracle import REPOSITORY

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

N_CLIENTS, N_REQUESTS = 4, 500


def fitted(rate: float) -> fb.BinnedModel:
    """A model of two bins, whose values tell which one it is."""
    scores = np.linspace(0.01, 0.99, 100)
    labels = np.arange(100) % 10 < np.where(scores < 0.5, rate, 5 + rate)
    return fb.ExplicitBinning(edges=[0.5]).fit(scores, labels).model_


OLD, NEW = fitted(1), fitted(3)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[int]:
    """The port of a server with the old model."""
    OLD.save(tmp_path / "credit.fbm")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "--app-dir", str(REPOSITORY / "examples"), "service:app"]
    own = environment() | {"FASTBIN_MODEL": str(tmp_path / "credit.fbm")}
    with subprocess.Popen([*command, "--port", str(port), "--log-level", "warning"], env=own, cwd=tmp_path) as server:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert server.poll() is None, "the server has ended"
                time.sleep(0.1)
        yield port
        server.terminate()


def ask(connection: http.client.HTTPConnection, score: float) -> tuple[int, dict[str, object]]:
    connection.request("GET", f"/probability?score={score!r}")
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def client(port: int, seed: int) -> tuple[list[float], set[object]]:
    """Seconds of each request, and which models answered."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    seconds, models = [], set()
    for score in np.random.default_rng(seed).random(N_REQUESTS).tolist():
        start = time.perf_counter()
        status, answer = ask(connection, score)
        seconds.append(time.perf_counter() - start)
        assert status == 200
        value = answer["probability"]
        models |= {name for name, model in (("old", OLD), ("new", NEW)) if model.predict_one(score) == value} or {value}
    connection.close()
    return seconds, models


def test_requests_see_the_old_model_or_the_new_one(service: int, tmp_path: Path) -> None:
    with ThreadPoolExecutor(N_CLIENTS) as clients:
        running = [clients.submit(client, service, seed) for seed in range(N_CLIENTS)]
        n_exchanged = 0
        while not all(each.done() for each in running):
            (NEW, OLD)[n_exchanged % 2].save(tmp_path / "credit.fbm")
            n_exchanged += 1
            time.sleep(0.02)
        seconds = np.concatenate([each.result()[0] for each in running])
        assert set().union(*(each.result()[1] for each in running)) == {"old", "new"}
    median, late = np.percentile(1000 * seconds, [50, 99])
    print(
        f"\n{len(seconds):,} requests of {N_CLIENTS} clients, {n_exchanged} models: median {median:.2f} ms, p99 {late:.2f} ms"
    )
    assert n_exchanged > 2


def put_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


BAD_FILES: dict[str, Callable[[Path], object]] = {
    "damaged": lambda path: path.write_bytes(NEW.to_bytes()[:-1]),
    "a set": lambda path: fb.ModelSet({"north": NEW}).save(path),
    "gone": Path.unlink,
    "a folder": put_a_folder,
}


@pytest.mark.parametrize("fault", BAD_FILES)
def test_the_model_before_serves_on_where_the_file_is_no_model(service: int, tmp_path: Path, fault: str) -> None:
    path, old = tmp_path / "credit.fbm", (200, {"probability": OLD.predict_one(0.3)})
    connection = http.client.HTTPConnection("127.0.0.1", service, timeout=60)
    assert ask(connection, 0.3) == old
    BAD_FILES[fault](path)
    assert ask(connection, 0.3) == ask(connection, 0.3) == old
    if path.is_dir():
        path.rmdir()
    NEW.save(path)
    assert ask(connection, 0.3) == (200, {"probability": NEW.predict_one(0.3)})
    connection.close()


def test_a_bad_score_is_refused_in_words(service: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", service, timeout=60)
    status, answer = ask(connection, 1.5)
    assert status == 422
    assert "outside [0, 1]" in str(answer)
    assert ask(connection, 0.3) == (200, {"probability": OLD.predict_one(0.3)})
    connection.close()


def test_the_page_shows_the_program() -> None:
    page = (REPOSITORY / "docs" / "fastapi.md").read_text(encoding="utf8")
    program = (REPOSITORY / "examples" / "service.py").read_text(encoding="utf8").partition('"""\n\n')[2]
    assert f"```py\n{program}```" in page
