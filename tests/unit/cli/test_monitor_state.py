"""The state of ``fastbin monitor``: one process at a time, every outcome once, and nothing lost by a failure."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import in_a_process, run

import fastbin as fb
from fastbin.cli.monitor import locked
from fastbin.online import CalibrationMonitor
from fresh_python import environment


def write(path: str, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    labels = (rng.random(n) < scores).astype(int)
    rows = zip(scores.tolist(), labels.tolist(), strict=True)
    Path(path).write_text("p,y\n" + "".join(f"{score!r},{label}\n" for score, label in rows))


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    scores = rng.random(4000)
    fb.UniformMassBinning(n_bins=5).fit(scores, rng.random(4000) < scores).model_.save("m.fbm")


def monitored(*arguments: str, code: int = 0, **options: Any) -> str:
    return run("monitor", "m.fbm", *arguments, code=code, **options).output


def counted(path: str = "s.mon") -> int:
    return CalibrationMonitor.load(path).n_samples


def digest_of(path: str) -> bytes:
    return hashlib.sha256(Path(path).read_bytes()).digest()


# ---------------------------------------------------------------------- every outcome once


def test_a_file_is_counted_once() -> None:
    write("a.csv", 100, 1)
    write("b.csv", 50, 2)
    monitored("a.csv", "--state", "s.mon")
    before = Path("s.mon").read_bytes()
    assert monitored("a.csv", "--state", "s.mon", code=1) == (
        "error: a.csv was counted before; outcomes count once, unless --again is given\n"
    )
    os.rename("a.csv", "renamed.csv")  # what it holds counts, not its name
    assert "renamed.csv was counted before" in monitored("b.csv", "renamed.csv", "--state", "s.mon", code=1)
    assert Path("s.mon").read_bytes() == before
    monitored("b.csv", "--state", "s.mon")
    assert counted() == 150
    assert CalibrationMonitor.load("s.mon").seen == (digest_of("renamed.csv"), digest_of("b.csv"))
    monitored("b.csv", "--state", "s.mon", "--again")
    assert counted() == 200
    assert len(CalibrationMonitor.load("s.mon").seen) == 2


def test_a_file_given_twice_is_refused() -> None:
    write("a.csv", 100, 1)
    Path("copy.csv").write_bytes(Path("a.csv").read_bytes())
    for state in ((), ("--state", "s.mon")):
        assert "a.csv holds the same as a.csv" in monitored("a.csv", "a.csv", *state, code=1)
        assert "copy.csv holds the same as a.csv" in monitored("a.csv", "copy.csv", *state, code=1)
        assert not Path("s.mon").exists()
    assert "200 outcomes" in monitored("a.csv", "a.csv", "--again")


def test_standard_input_is_counted_once_too() -> None:
    write("a.csv", 60_000, 1)  # more than one block
    text = Path("a.csv").read_bytes()
    monitored("-", "--state", "s.mon", input=text)
    assert CalibrationMonitor.load("s.mon").seen == (digest_of("a.csv"),)
    assert "standard input was counted before" in monitored("-", "--state", "s.mon", input=text, code=1)
    assert "a.csv was counted before" in monitored("a.csv", "--state", "s.mon", code=1)
    assert counted() == 60_000


def test_each_file_of_a_folder_counts() -> None:
    Path("days").mkdir()
    write("days/mon.csv", 10, 1)
    write("days/tue.csv", 20, 2)
    monitored("days", "--state", "s.mon")
    assert CalibrationMonitor.load("s.mon").seen == (digest_of("days/mon.csv"), digest_of("days/tue.csv"))
    write("days/wed.csv", 30, 3)
    assert "days/mon.csv was counted before" in monitored("days", "--state", "s.mon", code=1)
    monitored("days/wed.csv", "--state", "s.mon")
    assert counted() == 60


def test_a_file_that_changes_meanwhile_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.csv", 100, 1)
    update = CalibrationMonitor.update

    def grow(self: CalibrationMonitor, *arguments: Any, **options: Any) -> bool:
        with open("a.csv", "a") as file:
            file.write("0.5,1\n")
        return update(self, *arguments, **options)

    monkeypatch.setattr(CalibrationMonitor, "update", grow)
    assert "a.csv was changed while it was read" in monitored("a.csv", "--state", "s.mon", code=1)
    assert not Path("s.mon").exists()


def test_digests_are_of_a_sha256() -> None:
    monitor = CalibrationMonitor(fb.load("m.fbm"))
    assert monitor.seen == ()
    for digest in ("0" * 32, b"0" * 31, b"0" * 64):
        with pytest.raises(fb.InputError, match="the 32 bytes of a SHA-256 are needed"):
            monitor.mark_seen(digest)  # type: ignore[arg-type]
    for digest in (b"b" * 32, b"a" * 32, b"b" * 32):
        monitor.mark_seen(digest)
    assert monitor.seen == CalibrationMonitor.from_bytes(monitor.to_bytes()).seen == (b"b" * 32, b"a" * 32)


# ---------------------------------------------------------------------- failures


def test_a_report_that_fails_and_a_retry_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.csv", 100, 1)
    with monkeypatch.context() as patch:
        patch.setattr("fastbin.cli.monitor._print", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        assert monitored("a.csv", "--state", "s.mon", code=1) == "error: No space left on device\n"
    assert not Path("s.mon").exists()
    monitored("a.csv", "--state", "s.mon")
    assert counted() == 100


def test_a_state_in_a_folder_that_is_missing_names_the_folder() -> None:
    write("a.csv", 100, 1)
    told = monitored("a.csv", "--state", str(Path("absent", "s.mon")), code=1)
    assert told == "error: absent is not a folder; make it first\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_report_to_a_full_disk_and_a_retry_count_once() -> None:
    write("a.csv", 100, 1)
    command = ["monitor", "m.fbm", "a.csv", "--state", "s.mon"]
    with open("/dev/full", "w") as full:
        ended = in_a_process(command, [*command, "--json"], stdout=full)
    assert [(failed.code, failed.stderr) for failed in ended] == [(1, "error: No space left on device\n")] * 2
    assert sorted(os.listdir()) == ["a.csv", "m.fbm"]
    monitored("a.csv", "--state", "s.mon")
    assert counted() == 100


def test_a_state_that_somebody_else_wrote_meanwhile_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a program that knows nothing of the lock."""
    write("a.csv", 100, 1)
    write("b.csv", 50, 2)
    monitored("a.csv", "--state", "s.mon")
    other = CalibrationMonitor.load("s.mon")
    other.update([0.5], [1])
    monkeypatch.setattr("fastbin.cli.monitor._print", lambda *_: other.save("s.mon"))
    assert "s.mon was changed by another program meanwhile" in monitored("b.csv", "--state", "s.mon", code=1)
    assert counted() == 101


@pytest.mark.skipif(os.name != "posix", reason="devices of POSIX")
def test_a_state_is_a_file() -> None:
    write("a.csv", 100, 1)
    for state in ("-", "/dev/null", "/dev/stdout"):
        assert f"{state} cannot hold a state" in monitored("a.csv", "--state", state, code=1)
    Path("link.mon").symlink_to("real.mon")
    monitored("a.csv", "--state", "link.mon")
    assert counted("real.mon") == 100
    assert Path("link.mon").is_symlink()


# ---------------------------------------------------------------------- several processes


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_processes_on_one_state_count_everything() -> None:
    """Four of them, 2,000 outcomes each."""
    for number in range(4):
        write(f"{number}.csv", 2000, number)
    command = [sys.executable, "-m", "fastbin", "monitor", "m.fbm"]
    processes = [
        subprocess.Popen(
            [*command, f"{number}.csv", "--state", "s.mon", "--wait", "300"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment(),
        )
        for number in range(4)
    ]  # fmt: skip
    assert [(process.communicate(timeout=300)[1], process.returncode) for process in processes] == [("", 0)] * 4
    assert counted() == 8000
    assert set(CalibrationMonitor.load("s.mon").seen) == {digest_of(f"{number}.csv") for number in range(4)}
    assert sorted(os.listdir()) == [*(f"{number}.csv" for number in range(4)), "m.fbm", "s.mon"]


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_a_state_in_use_is_refused_in_words() -> None:
    write("a.csv", 100, 1)
    with locked("s.mon", 0.0):
        told = monitored("a.csv", "--state", "s.mon", "--wait", "0", code=1)
        assert told == "error: s.mon is still being updated by another process after 0 seconds; run this again later\n"
        assert os.path.exists(".s.mon.lock")  # that of its owner is left alone
        monitored("a.csv", "--state", "t.mon")
    assert not os.path.exists("s.mon")
    Path(".s.mon.lock").write_text("")  # left by a process that was killed
    monitored("a.csv", "--state", "s.mon", "--wait", "0")
    assert sorted(os.listdir()) == ["a.csv", "m.fbm", "s.mon", "t.mon"]
