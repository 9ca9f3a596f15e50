"""docs/c-service.md: the program compiles, answers with the bits of Python, and exchanges its model on SIGHUP."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from docs.shell import need, run

import fastbin as fb
from oracle import REPOSITORY

PAGE = (REPOSITORY / "docs" / "c-service.md").read_text(encoding="utf8")


def model_of(seed: int) -> fb.BinnedModel:
    rng = np.random.default_rng(seed)
    scores = rng.random(10_000)
    return fb.CertifiedCalibration().fit(scores, rng.random(10_000) < 0.2 + 0.5 * scores).model_


class Service:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "credit.fbm"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen(
            [str(folder / "serve"), str(self.path), str(self.port)], stderr=subprocess.PIPE, text=True
        )

    def ask(self, *lines: str) -> list[str]:
        for _ in range(300):
            try:
                connection = socket.create_connection(("127.0.0.1", self.port), 60)
                break
            except OSError:
                assert self.process.poll() is None, "the service has ended"
                time.sleep(0.1)
        with connection, connection.makefile("rw") as stream:
            answers = []
            for line in lines:
                stream.write(line + "\n")
                stream.flush()
                answers.append(stream.readline().strip())
            return answers


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    need("cc")
    (program,) = re.findall(r"^```c\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (commands,) = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "serve.c").write_text(program)
    compile_it, start_it = commands.splitlines()
    assert start_it == "./serve credit.fbm 8765"
    run(compile_it.replace("-Wextra", "-Wextra -Werror"), tmp_path)
    model_of(0).save(tmp_path / "credit.fbm")
    found = Service(tmp_path)
    yield found
    found.process.kill()
    found.process.communicate()


def test_it_answers_as_python_does(service: Service) -> None:
    scores = [0.0, 0.02, 0.5, 0.98, 1.0]
    model = fb.load(service.path)
    assert [float(answer) for answer in service.ask(*map(repr, scores))] == [model.predict_one(score) for score in scores]


def test_the_session_of_the_page(service: Service) -> None:
    (session,) = re.findall(r"^\$ printf '(.*)' \| nc.*\n((?:.*\n)*?)```", PAGE, re.MULTILINE)
    assert service.ask(*session[0].split("\\n")[:-1]) == session[1].splitlines()
    assert service.ask("nan") == ["error: a score is NaN"]


NO_NUMBERS = ["x", "", "\r", "0,98", "0.98abc", "0.98 %", "0.25;0.75", "0.98\rx", "0.98\0", "\0", "0.98" + 60 * "0", 500 * "1"]


def test_each_line_has_one_answer_and_more_than_a_number_is_an_error(service: Service) -> None:
    value = f"{fb.load(service.path).predict_one(0.98):.17g}"
    lines = [each for line in NO_NUMBERS for each in (line, "0.98")]
    assert service.ask(*lines) == ["error: not a number", value] * len(NO_NUMBERS)
    assert service.ask("0.98" + 59 * "0", " 0.98", "0.98\r") == [value] * 3


def test_lines_that_come_at_once_are_all_answered(service: Service) -> None:
    scores = [0.98, 0.5, 0.02]
    service.ask("0.5")  # so that it listens
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as connection:
        connection.sendall("".join(f"{score}\n" for score in scores).encode())
        connection.shutdown(socket.SHUT_WR)
        answers = connection.makefile().read().splitlines()
    assert [float(answer) for answer in answers] == [fb.load(service.path).predict_one(score) for score in scores]


def test_a_new_model_serves_after_a_hangup(service: Service) -> None:
    old, new = fb.load(service.path), model_of(1)
    assert float(service.ask("0.5")[0]) == old.predict_one(0.5) != new.predict_one(0.5)
    new.save(service.path)
    assert float(service.ask("0.5")[0]) == old.predict_one(0.5)  # nobody has said so yet
    service.process.send_signal(signal.SIGHUP)
    assert float(service.ask("0.5")[0]) == new.predict_one(0.5)
    service.path.write_bytes(b"damaged")
    service.process.send_signal(signal.SIGHUP)
    assert float(service.ask("0.5")[0]) == new.predict_one(0.5)
    service.process.terminate()
    assert service.process.stderr is not None
    assert "credit.fbm: " in service.process.stderr.read()
