"""Rows that are parsed once: later passes give the same batches, from memory or from a temporary file, or nothing at all."""

from __future__ import annotations

import errno
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from commands import run

import fastbin as fb
from fastbin.tables import replay
from fastbin.tables.replay import Replay
from fresh_python import environment

RNG = np.random.default_rng(5)
SCORES, LABELS, WEIGHTS = RNG.random(1000), RNG.random(1000) < 0.5, RNG.random(1000)

LIMITS = [pytest.param(math.inf, id="memory"), pytest.param(0, id="file"), pytest.param(4000, id="both")]


def source(*columns: Any, sizes: tuple[int, ...] = (300, 300, 400)) -> Callable[[], Generator[Any, None, None]]:
    """A source of batches that counts how often it is read."""

    def read() -> Generator[Any, None, None]:
        read.n_passes += 1  # type: ignore[attr-defined]
        start = 0
        for size in sizes:
            yield tuple(column[start : start + size] for column in columns)
            start += size

    read.n_passes = 0  # type: ignore[attr-defined]
    return read


def listed(batches: Any) -> list[list[list[Any]]]:
    return [[column.tolist() for column in batch] for batch in batches]


@pytest.mark.parametrize("limit", LIMITS)
def test_every_pass_gives_the_same_batches(limit: float) -> None:
    read = source(SCORES, LABELS, WEIGHTS)
    with Replay(read, limit=limit) as stored:
        assert stored.n_rows == 1000
        expected = listed(source(SCORES, LABELS, WEIGHTS)())
        for _ in range(3):
            assert listed(stored) == expected
        assert [column.dtype for column in next(iter(stored))] == [np.float64, np.bool_, np.float64]
        for column, whole in zip(stored.columns(), (SCORES, LABELS, WEIGHTS), strict=True):
            np.testing.assert_array_equal(column, whole)
    assert read.n_passes == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("limit", LIMITS)
def test_passes_that_are_left_early_or_run_side_by_side(limit: float) -> None:
    with Replay(source(SCORES, LABELS), limit=limit) as stored:
        expected = listed(stored)
        next(iter(stored))  # left after one batch, as when a fit looks at a sample
        for first, second, batch in zip(stored, stored, expected, strict=True):
            assert listed([first]) == listed([second]) == [batch]


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, np.bool_])
def test_types_are_kept(limit: float, dtype: Any) -> None:
    column = (SCORES * 2).astype(dtype)
    with Replay(source(column), limit=limit) as stored:
        assert {batch[0].dtype for batch in stored} == {np.dtype(dtype)}
        np.testing.assert_array_equal(stored.columns()[0], column)


@pytest.mark.parametrize("limit", LIMITS)
def test_one_type_for_all_batches(limit: float) -> None:
    """Weights are frequencies if all of them are whole numbers, which only the last batch decides."""

    def read(last: Any) -> Generator[Any, None, None]:
        yield (np.array([1, 2]),)
        yield (np.array([3]),)
        yield (np.array(last),)

    with Replay(lambda: read([4.5]), limit=limit) as stored:
        assert [column.dtype for (column,) in stored] == [np.float64] * 3
        assert stored.columns()[0].tolist() == [1.0, 2.0, 3.0, 4.5]
    with Replay(lambda: read([4]), limit=limit) as stored:
        assert [column.dtype for (column,) in stored] == [np.int64] * 3


@pytest.mark.parametrize("limit", LIMITS)
def test_batches_without_rows(limit: float) -> None:
    with Replay(source(SCORES, LABELS, sizes=(0, 500, 0, 500, 0)), limit=limit) as stored:
        assert [len(batch[0]) for batch in stored] == [500, 500]
    for sizes in ((), (0,)):
        with Replay(source(SCORES, LABELS, sizes=sizes), limit=limit) as stored:
            assert stored.n_rows == 0
            assert list(stored) == []


@pytest.mark.parametrize("limit", LIMITS)
def test_a_column_that_is_not_contiguous(limit: float) -> None:
    with Replay(source(SCORES[::-1], SCORES[::2].repeat(2)), limit=limit) as stored:
        np.testing.assert_array_equal(stored.columns()[0], SCORES[::-1])


def test_without_a_file_the_source_is_read_again() -> None:
    read = source(SCORES, LABELS)
    with Replay(read, limit=4000, spill=False) as stored:
        assert stored.n_rows is None
        assert listed(stored) == listed(stored) == listed(source(SCORES, LABELS)())
    assert read.n_passes == 3  # type: ignore[attr-defined]
    with Replay(read, limit=math.inf, spill=False) as stored:
        assert stored.n_rows == 1000
        list(stored)
    assert read.n_passes == 4  # type: ignore[attr-defined]


# ---------------------------------------------------------------------- failures


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("error", [fb.InputError("line 7"), KeyboardInterrupt()])
def test_an_interrupted_reading_leaves_nothing(limit: float, error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    files: list[Any] = []
    make = tempfile.TemporaryFile
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda: files.append(make()) or files[-1])
    ended = []

    def read() -> Generator[Any, None, None]:
        try:
            yield SCORES, LABELS
            raise error
        finally:
            ended.append(True)

    with pytest.raises(type(error)):
        Replay(read, limit=limit)
    assert ended == [True]
    assert all(file.closed for file in files)
    assert len(files) == (0 if limit == math.inf else 1)


class Full:
    """A temporary file on a disk that is full after some writes."""

    def __init__(self, file: Any, n_writes: int) -> None:
        self._file, self._left = file, n_writes
        self.flush, self.seek, self.readinto, self.close = file.flush, file.seek, file.readinto, file.close

    def write(self, data: Any) -> int:
        self._left -= 1
        if self._left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return int(self._file.write(data))


@pytest.mark.parametrize("n_writes", [0, 1, 4])
def test_a_full_disk(n_writes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    files: list[Any] = []
    make = tempfile.TemporaryFile
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda: files.append(make()) or Full(files[-1], n_writes))
    with pytest.raises(OSError, match="No space left on device; set TMPDIR to a folder with room") as caught:
        Replay(source(SCORES, LABELS), limit=0)
    assert caught.value.filename == tempfile.gettempdir()
    assert [file.closed for file in files] == [True]


def test_a_temporary_file_that_was_cut() -> None:
    with Replay(source(SCORES, LABELS), limit=0) as stored:
        assert stored._file is not None
        stored._file.truncate(100)
        with pytest.raises(OSError, match="lost its end"):
            list(stored)


# ---------------------------------------------------------------------- fits


@pytest.fixture
def scores_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pa.csv.write_csv(pa.table({"p": SCORES, "y": LABELS.astype(int), "k": RNG.integers(0, 5, 1000), "w": WEIGHTS}), "s.csv")


def fitted(*options: str) -> fb.BinnedModel:
    run("fit", "s.csv", *options, "-q", "-o", "m.fbm")
    return fb.load("m.fbm")


@pytest.mark.sampled
@pytest.mark.usefixtures("scores_csv")
@pytest.mark.parametrize("options", [[], ["--weights", "k"], ["--weights", "w"], ["--method", "isotonic"]])
def test_a_csv_file_is_parsed_once(options: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = fitted(*options)
    monkeypatch.setattr("fastbin.cli.fit.ROWS_AS_ARRAYS", 10)
    monkeypatch.setattr(replay, "MEMORY_BYTES", 100)
    parsings = []
    batches = fb.tables.files.CsvTable.batches
    monkeypatch.setattr(
        fb.tables.files.CsvTable, "batches", lambda table, *rest: parsings.append(table.path) or batches(table, *rest)
    )
    assert fitted(*options) == expected
    assert parsings == ["s.csv"]


@pytest.mark.usefixtures("scores_csv")
def test_a_file_that_changes_after_it_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = fitted()
    monkeypatch.setattr("fastbin.cli.fit.ROWS_AS_ARRAYS", 10)
    finish = fb.tables.files.ColumnReader.finish

    def finish_and_change(reader: Any) -> None:
        finish(reader)
        Path("s.csv").write_text("p,y\n")

    monkeypatch.setattr(fb.tables.files.ColumnReader, "finish", finish_and_change)
    assert fitted() == expected


@pytest.mark.usefixtures("scores_csv")
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_fit_on_a_full_disk_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "MEMORY_BYTES", 100)
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda: open("/dev/full", "wb"))  # noqa: SIM115
    result = run("fit", "s.csv", "-o", "m.fbm", code=1)
    assert result.stderr.startswith(f"error: {tempfile.gettempdir()}: No space left on device; set TMPDIR")
    assert os.listdir() == ["s.csv"]


@pytest.mark.usefixtures("scores_csv")
@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited by Linux alone")
def test_a_limited_address_space_keeps_less_in_memory() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))\n"
        "from fastbin.tables.replay import default_limit; print(default_limit())"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=True)
    assert int(result.stdout) == 2**27
    assert replay.default_limit() == 2**28
