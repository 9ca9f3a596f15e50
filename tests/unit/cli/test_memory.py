"""Tables larger than memory: ``--memory-limit``, the passes of a fit, and what is shown of them."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from commands import refusal, run

import fastbin as fb
from fastbin.cli import command_line
from fastbin.cli._options import SIZE
from fastbin.io import open_table
from fastbin.tables.parquet import ParquetTable
from fresh_python import environment

N = 20_000
RNG = np.random.default_rng(3)
SCORES = RNG.random(N)
LABELS = (RNG.random(N) < SCORES).astype(np.int8)
SEGMENTS = RNG.choice(["a", "b"], N)


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = pa.table({"p": SCORES, "y": LABELS, "s": SEGMENTS})
    pq.write_table(table, "s.parquet", row_group_size=3000)
    pa.csv.write_csv(table, "s.csv")
    fb.UniformMassBinning().fit(SCORES[: N // 2], LABELS[: N // 2]).model_.save("m.fbm")


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits in kilobytes instead of megabytes; DuckDB itself needs megabytes."""
    monkeypatch.setattr("fastbin.cli._options.LEAST_MEMORY", 1)
    monkeypatch.setattr("fastbin.cli.fit.ROWS_AS_ARRAYS", 1000)
    monkeypatch.setattr("fastbin.tables.parquet._database", _database(fb.tables.parquet._database))


def _database(make: Any) -> Any:
    return lambda _: make(None)


# ---------------------------------------------------------------------- the limit


@pytest.mark.parametrize(
    ("text", "size"),
    [("500MB", 500_000_000), ("2GB", 2_000_000_000), ("2g", 2_000_000_000), ("1.5GiB", 3 * 2**29), ("100 mb", 100_000_000),
     ("256MiB", 2**28), ("64000000", 64_000_000), ("70000000B", 70_000_000), ("1TB", 10**12)],
)  # fmt: skip
def test_sizes(text: str, size: int) -> None:
    assert SIZE.convert(text, None, None) == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "1PB", "1e9", "2 G B", "1,5GB", "nan"])
def test_what_is_no_size(text: str) -> None:
    message = refusal("fit", "s.parquet", "--memory-limit", text, code=2)
    assert message == f"Invalid value for '--memory-limit': {text!r} is not a size such as 500MB or 2GB"


def test_a_limit_that_is_too_small() -> None:
    message = "Invalid value for '--memory-limit': 1MB is too little; give 64MB or more"
    assert refusal("fit", "s.parquet", "--memory-limit", "1MB", code=2) == message


def test_every_command_that_reads_tables_has_the_option() -> None:
    readers = {"adapt", "assess", "fit", "monitor", "predict", "report"}
    commands = {name: command_line.get_command(click.Context(command_line), name) for name in command_line.list_commands(None)}
    have = {name for name, command in commands.items() if any("--memory-limit" in each.opts for each in command.params)}
    assert readers <= have
    for arguments in (
        ["fit", "s.csv", "--segment", "s"],
        ["predict", "m.fbm", "s.parquet", "--seed", "1"],
        ["assess", "m.fbm", "s.csv"],
    ):
        assert run(*arguments).output == run(*arguments, "--memory-limit", "100MB").output


def test_duckdb_gets_half_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = []

    def database(limit: int | None) -> Any:
        made = original(limit)
        settings.extend(made.sql("SELECT current_setting('memory_limit')").fetchall())
        return made

    original = fb.tables.parquet._database
    monkeypatch.setattr("fastbin.tables.parquet._database", database)
    run("fit", "s.parquet", "--memory-limit", "200MiB")
    assert settings == [("100.0 MiB",)]


def test_too_little_for_the_row_groups_of_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """All columns are read by `predict`, and two by `fit`."""
    n = 60_000
    columns = {"p": np.resize(SCORES, n), "y": np.resize(LABELS, n), **{f"x{i}": RNG.random(n) for i in range(40)}}
    pq.write_table(pa.table(columns), "wide.parquet")
    monkeypatch.setattr("fastbin.cli._options.LEAST_MEMORY", 1)
    run("fit", "wide.parquet", "--memory-limit", "20MB")
    told = refusal("predict", "m.fbm", "wide.parquet", "--seed", "1", "-o", "out.parquet", "--memory-limit", "8MB")
    assert told == (
        "not enough memory: the memory limit of 8,000,000 bytes leaves too little to read wide.parquet: half of it is for "
        "DuckDB, which needs more for row groups of 42 columns; raise --memory-limit"
    )
    assert not Path("out.parquet").exists()
    with pytest.raises(MemoryError, match=r"raise memory_limit$"):
        list(open_table("wide.parquet", memory_limit=8_000_000).batches())


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize("file", ["s.parquet", "s.csv"])
def test_a_fit_in_passes_keeps_half_of_it_and_is_the_same(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parquet is read again for each pass; parsed CSV goes to a temporary file."""
    readings, read = [], type(open_table(file)).batches
    monkeypatch.setattr(type(open_table(file)), "batches", lambda *rest: readings.append(file) or read(*rest))
    for method in ("umd", "certified"):
        readings.clear()
        run("fit", file, "--method", method, "-q", "-o", "all.fbm")
        assert len(readings) == 1
        readings.clear()
        run("fit", file, "--method", method, "-q", "-o", "few.fbm", "--memory-limit", "100KB")
        assert Path("few.fbm").read_bytes() == Path("all.fbm").read_bytes()
        assert (len(readings) > 2) == (file == "s.parquet")


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "s.parquet", "--method", "isotonic"],
        ["fit", "s.csv", "--method", "isotonic"],
        ["fit", "s.parquet", "--method", "ums"],
        ["fit", "s.parquet", "--segment", "s"],
        ["assess", "m.fbm", "s.parquet", "--group", "s"],
        ["assess", "m.fbm", "s.parquet", "--against", "m.fbm"],
        ["assess", "platt.fbm", "s.parquet"],
        ["adapt", "m.fbm", "--target-labels", "s.parquet", "-o", "n.fbm"],
    ],
)
def test_what_needs_all_rows_at_once_says_so(arguments: list[str]) -> None:
    fb.PlattScaling().fit(SCORES, LABELS).model_.save("platt.fbm")
    run(*arguments, "--memory-limit", "10MB")
    file = next(each for each in arguments if each.startswith("s."))
    assert refusal(*arguments, "--memory-limit", "30KB") == (
        f"{file}: its rows take more than --memory-limit allows, and here all of them are needed at once; raise it"
    )


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize(("file", "segment"), [("s.parquet", True), ("s.csv", False)])
def test_many_test_samples_are_counted(file: str, segment: bool) -> None:
    """Functions of counts are the same, to the bit; all else is left out."""
    options = ["--segment", "s"] if segment else []
    model = ["n.fbm" if segment else "m.fbm"]
    run("fit", "s.parquet", *options, "-q", "-o", "n.fbm")
    full = json.loads(run("assess", *model, file, *options, "--json").stdout)
    counted = run("assess", *model, file, *options, "--json", "--memory-limit", "30KB")
    assert (
        counted.stderr
        == f"note: {file}: its rows take more than --memory-limit allows; they are assessed by their counts in bins\n"
    )
    few = json.loads(counted.stdout)
    for name in ("n_samples", "n_positive", "check", "certificates", "left_out"):
        assert few[name] == full[name], name
    assert len(full["scorecards"]) == len(few["scorecards"]) + 1  # that of the scores themselves
    run("report", *model, file, *options, "--memory-limit", "30KB", "-o", "page.html")


@pytest.mark.usefixtures("little")
def test_errors_of_counted_rows_name_the_row() -> None:
    scores = SCORES.tolist()
    for value, complaint in (("x", "'x' is neither a number nor true or false"), ("", "the value is missing")):
        lines = [f"{score},{label}\n" for score, label in zip(scores, LABELS.tolist(), strict=True)]
        lines[15_000] = f"0.5,{value}\n"
        Path("t.csv").write_text("p,y\n" + "".join(lines))
        told = run("assess", "m.fbm", "t.csv", "--memory-limit", "30KB", code=1).stderr.splitlines()[-1]
        assert told.startswith(f"error: t.csv, line 15002, column y: {complaint}")


def test_rows_that_are_too_many_are_not_kept_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fastbin.tables.replay.MEMORY_BYTES", 100_000)
    monkeypatch.setattr("fastbin.cli.fit.ROWS_AS_ARRAYS", 1000)
    rows_read = []
    read = ParquetTable.batches

    def batches(table: ParquetTable, columns: Any) -> Any:
        rows_read.append(0)
        for batch in read(table, columns, 1000):
            rows_read[-1] += len(batch)
            yield batch

    monkeypatch.setattr(ParquetTable, "batches", batches)
    run("fit", "s.parquet")
    assert rows_read[0] == 1000
    assert set(rows_read[1:]) == {N}


@pytest.mark.parametrize("file", ["s.parquet", "s.csv"])
def test_only_the_columns_that_are_needed_are_read(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run("fit", file, "--segment", "s", "-q", "-o", "n.fbm")
    asked, read = [], type(open_table(file)).batches
    monkeypatch.setattr(type(open_table(file)), "batches", lambda table, *rest: asked.append(rest[0]) or read(table, *rest))
    for arguments, columns in (
        (["fit", file], ["p", "y"]),
        (["fit", file, "--segment", "s"], ["p", "y", "s"]),
        (["assess", "m.fbm", file], ["p", "y"]),
        (["assess", "n.fbm", file, "--segment", "s"], ["p", "y", "s"]),
        (["report", "m.fbm", file, "-o", "m.json"], ["p", "y"]),
        (["adapt", "m.fbm", "--target-labels", file, "-o", "a.fbm"], ["y"]),
        (["adapt", "m.fbm", "--target-scores", file, "-o", "a.fbm"], ["p"]),
        (["monitor", "m.fbm", file], ["p", "y"]),
        (["monitor", "n.fbm", file, "--segment", "s"], ["p", "y", "s"]),
    ):
        asked.clear()
        run(*arguments)
        assert [sorted(each) for each in asked] == [sorted(columns)], arguments


@pytest.mark.usefixtures("little")
def test_a_monitor_of_a_set_keeps_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batch by batch, and the same as all at once, to the last bit."""
    few = np.where(np.arange(N) < 30, "few", SEGMENTS)  # they share a pool, which unknown ones have then, too
    pq.write_table(pa.table({"p": SCORES, "y": LABELS, "s": few}), "f.parquet")
    run("fit", "f.parquet", "--segment", "s", "--unknown", "pool", "-q", "-o", "n.fbm")
    others = np.where(few == "a", "a", RNG.choice(["b", "c"], N))
    pq.write_table(pa.table({"p": SCORES, "y": LABELS, "s": others}), "t.parquet")
    whole = run("monitor", "n.fbm", "t.parquet", "--segment", "s", "--state", "whole.mon", "--seed", "1")
    assert whole.stderr.count("outcomes are of cells that the set does not know") == 1
    sizes, update = [], fb.online.CalibrationMonitor.update

    def watched(monitor: Any, scores: Any, labels: Any, **options: Any) -> bool:
        sizes.append(len(scores))
        return update(monitor, scores, labels, **options)

    monkeypatch.setattr(fb.online.CalibrationMonitor, "update", watched)
    read = ParquetTable.batches
    monkeypatch.setattr(ParquetTable, "batches", lambda table, columns=None: read(table, columns, 1000))
    limit = ("--memory-limit", "30KB")
    parted = run("monitor", "n.fbm", "t.parquet", "--segment", "s", "--state", "parts.mon", "--seed", "1", *limit)
    assert len(sizes) == N / 1000
    assert (parted.stdout, parted.stderr) == (whole.stdout, whole.stderr)
    assert Path("parts.mon").read_bytes() == Path("whole.mon").read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory as Linux tells it")
def test_less_memory_is_taken_where_there_is_a_limit() -> None:
    """Without one, these rows are kept in 225 MB."""
    n = 25_000_000
    pq.write_table(pa.table({"p": np.resize(SCORES, n), "y": np.resize(LABELS, n)}), "large.parquet", row_group_size=200_000)
    code = (
        "import sys; from fastbin.__main__ import main; code = main()\n"
        "peak = next(line for line in open('/proc/self/status') if line.startswith('VmHWM:'))\n"
        "print(int(peak.split()[1]) // 1024); sys.exit(code)"
    )
    peaks = []
    for limit in ([], ["--memory-limit", "64MB"]):
        command = [sys.executable, "-c", code, "fit", "large.parquet", "-q", "-o", f"{len(limit)}.fbm", *limit]
        result = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=100)
        assert (result.returncode, result.stderr) == (0, "")
        peaks.append(int(result.stdout))
    assert peaks[1] < peaks[0] - 150, peaks
    assert Path("0.fbm").read_bytes() == Path("2.fbm").read_bytes()


# ---------------------------------------------------------------------- what is shown


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("is_terminal", [True, False])
def test_passes_and_rows_are_shown_on_a_terminal(is_terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fastbin.cli.fit.ROWS_AS_ARRAYS", 1000)
    for name, value in {"COLUMNS": "120", "TERM": "xterm", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    shown = Terminal() if is_terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert command_line.run(["fit", "s.parquet", "-q", "-o", "n.fbm"]) == 0
    told = shown.getvalue()
    assert ("fitting, pass 2" in told) == is_terminal
    assert ("20,000 rows" in told) == is_terminal
    if not is_terminal:
        assert told == ""
