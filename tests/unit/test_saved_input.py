"""Files that do not hold a model, or say that they are longer than they are: refused before they are read."""

from __future__ import annotations

import io
import os
import re
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastbin as fb
from fastbin._base.files import PIECE_BYTES, START_BYTES, read_saved
from fresh_python import environment

HUGE = 12 * 2**30
ROOM = 2**27  # what a refusal may take, in bytes of address space

RNG = np.random.default_rng(0)
SCORES = RNG.random(600)
LABELS = RNG.random(600) < SCORES
MODEL = fb.UniformMassBinning(5).fit(SCORES, LABELS).model_
LOADERS: dict[str, tuple[Callable[[Any], object], bytes]] = {
    "model": (fb.load, MODEL.to_bytes()),
    "set": (fb.load, fb.multi.SegmentedBinning().fit(SCORES, LABELS, np.arange(600) % 2).model_.to_bytes()),
    "stream": (fb.online.StreamingBinning.load, fb.online.StreamingBinning(MODEL).to_bytes()),
    "monitor": (fb.online.CalibrationMonitor.load, fb.online.CalibrationMonitor(MODEL, tolerance=0.1).to_bytes()),
}


def with_length(data: bytes, length: int) -> bytes:
    """The bytes of a file whose header says that it is so long."""
    return data[:16] + struct.pack("<Q", length) + data[24:]


def sparse(path: Path, start: bytes) -> Path:
    """A file of 12 GiB that takes a few blocks on the disk."""
    with open(path, "wb") as file:
        file.write(start)
        file.truncate(HUGE)
    return path


class Source:
    """A file object that counts what is taken of it, and never ends."""

    def __init__(self, start: bytes) -> None:
        self.start, self.taken = start, 0

    def read(self, size: int = -1, /) -> bytes:
        assert size >= 0, "it never ends"
        given = self.start[self.taken : self.taken + size].ljust(size, b"\0")
        self.taken += size
        return given


@pytest.mark.parametrize("kind", LOADERS)
def test_what_is_foreign_is_not_read_on(kind: str) -> None:
    load, data = LOADERS[kind]
    for start in (b"", b"\0" * 100, b"\x89FC" + data[3:], b"no model at all", b"PK\3\4", b"\x89PNG\r\n\x1a\n"):
        source = Source(start)
        with pytest.raises(fb.FormatError):
            load(source) if kind in ("model", "set") else load_bytes_of(load, source)
        assert source.taken <= START_BYTES


def load_bytes_of(load: Any, source: Source) -> object:
    """Streams and monitors load from paths alone; the bytes are read by the same function."""
    return load.__self__.from_bytes(read_saved(source))


@pytest.mark.parametrize("kind", LOADERS)
def test_no_more_is_read_than_the_header_says(kind: str) -> None:
    load, data = LOADERS[kind]
    source = Source(data)
    with pytest.raises(fb.FormatError, match="truncated"):
        load(source) if kind in ("model", "set") else load_bytes_of(load, source)
    assert source.taken <= max(START_BYTES, len(data) + 1)
    source = Source(with_length(data, 3 * 2**20))
    with pytest.raises(fb.FormatError):
        load_bytes_of(load, source) if kind not in ("model", "set") else load(source)
    assert source.taken == 3 * 2**20 + 1


@pytest.mark.parametrize("kind", LOADERS)
def test_files_of_another_length_than_they_say_are_refused(kind: str, tmp_path: Path) -> None:
    load, data = LOADERS[kind]
    path = tmp_path / "file"
    for content in (data[:-8], data + b"\0" * 8, data + b"\0", data[:24], data[:23], data[:5], with_length(data, 2**63), b""):
        path.write_bytes(content)
        with pytest.raises(fb.FormatError, match=re.escape(str(path))):
            load(path)
    path.write_bytes(data)
    load(path)


LIMITED = """
import resource, sys
import fastbin as fb
from fastbin.online import CalibrationMonitor, StreamingBinning
from fastbin.cli import command_line
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + {room}, used + {room}))
for path in sys.argv[1:]:
    for load in (fb.load, StreamingBinning.load, CalibrationMonitor.load):
        try:
            load(path)
        except fb.FormatError as error:
            print(error)
    code = command_line.run(["inspect", path])
    print("inspect:", code)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="sparse files, and limits of address space")
def test_huge_files_and_devices_are_refused_in_little_memory(tmp_path: Path) -> None:
    paths = [sparse(tmp_path / "zeros.fbm", b""), sparse(tmp_path / "false.fbm", MODEL.to_bytes())]
    paths += [sparse(tmp_path / "longer.fbm", with_length(MODEL.to_bytes(), HUGE + 8)), Path("/dev/zero")]
    assert paths[0].stat().st_blocks < 1000
    result = subprocess.run(
        [sys.executable, "-c", LIMITED.format(room=ROOM), *map(str, paths)], env=environment(), capture_output=True, text=True,
        cwd=tmp_path,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    for at, path in enumerate(paths):
        assert all(line.startswith(f"{path}: ") for line in lines[4 * at : 4 * at + 3])
        assert lines[4 * at + 3] == "inspect: 1"
    assert "MemoryError" not in result.stderr
    assert result.stderr.count("error: ") == len(paths)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")
@pytest.mark.parametrize("content", [MODEL.to_bytes(), b"no model"], ids=["a model", "no model"])
def test_named_pipes_are_read(content: bytes, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = subprocess.Popen(["sh", "-c", 'cat > "$0"', tmp_path / "pipe"], stdin=subprocess.PIPE)
    assert writer.stdin is not None
    writer.stdin.write(content)
    writer.stdin.close()
    if content == MODEL.to_bytes():
        assert fb.load(tmp_path / "pipe") == MODEL
    else:
        with pytest.raises(fb.FormatError):
            fb.load(tmp_path / "pipe")
    writer.wait()


@pytest.mark.parametrize("load", [load for load, _ in LOADERS.values()], ids=list(LOADERS))
def test_folders_and_absent_files_are_errors_of_the_system(load: Callable[[Any], object], tmp_path: Path) -> None:
    with pytest.raises(OSError, match=re.escape(str(tmp_path))):
        load(tmp_path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "absent")


def test_reading_holds_a_file_once() -> None:
    data = fb.UniformMassBinning(60_000).fit(*many_samples()).model_.to_bytes()
    assert len(data) > 2 * PIECE_BYTES
    source = io.BytesIO(data)
    tracemalloc.start()
    try:
        assert read_saved(source) == data
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.5 * len(data) + 2 * PIECE_BYTES


def many_samples() -> tuple[Any, Any]:
    scores = np.random.default_rng(1).random(600_000)
    return scores, np.random.default_rng(2).random(600_000) < scores


def test_a_file_object_that_gives_little_at_a_time_is_read_to_its_end() -> None:
    class Slow(io.RawIOBase):
        def __init__(self) -> None:
            self.left = MODEL.to_bytes()

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            given, self.left = self.left[:7], self.left[7:]
            buffer[: len(given)] = given
            return len(given)

    assert fb.load(Slow()) == MODEL


def test_a_file_object_that_has_nothing_yet_is_told() -> None:
    class Waiting:
        def read(self, size: int = -1, /) -> None:
            return None

    with pytest.raises(BlockingIOError, match="no bytes yet"):
        fb.load(Waiting())


def test_compressed_files_are_read_through_their_objects(tmp_path: Path) -> None:
    import gzip

    with gzip.open(tmp_path / "m.fbm.gz", "wb") as file:
        file.write(MODEL.to_bytes())
    with gzip.open(tmp_path / "m.fbm.gz") as file:
        assert fb.load(file) == MODEL


def test_a_pipe_into_the_command_line_is_not_read_on(tmp_path: Path) -> None:
    """The writer is told by a closed pipe, where it had to write all before."""
    result = subprocess.run(
        f"head -c {2**40} /dev/zero | {sys.executable} -m fastbin inspect -",
        shell=True,
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert result.returncode == 1
    assert result.stderr.startswith("error: standard input: ")
