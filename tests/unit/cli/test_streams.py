"""The command line among other programs: pipes, devices, closed streams, odd names, signals."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import commands
import pyarrow.csv
import pyarrow.parquet
import pytest

import fastbin as fb
from fresh_python import environment

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes, devices and signals of POSIX")

FASTBIN = [sys.executable, "-m", "fastbin"]
# The same on a system that makes no files without names.
NAMED = [
    sys.executable,
    "-c",
    "import os, sys; vars(os).pop('O_TMPFILE', None); from fastbin.__main__ import main; sys.exit(main())",
]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    n = 1000
    Path("s.csv").write_text("p,y\n" + "".join(f"{(i * 37 % n) / n},{int(i * i % 7 < 3)}\n" for i in range(n)))
    scores = [(i * 37 % n) / n for i in range(n)]
    fb.UniformMassBinning(n_bins=5).fit(scores, [int(i * i % 7 < 3) for i in range(n)]).model_.save("m.fbm")


def here(*arguments: str, code: int = 0, **options: Any) -> str:
    """The output of a command that runs in this process, as nothing is asked of the process itself."""
    return commands.run(*arguments, code=code, **options).output


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """A line of bash in which ``fastbin`` is this one."""
    head = f'fastbin() {{ "{sys.executable}" -m fastbin "$@"; }}\n'
    return subprocess.run(["bash", "-c", head + line], capture_output=True, text=True, env=environment(), timeout=120)


def one_line(result: commands.Ended, code: int = 1) -> str:
    assert result.code == code, result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr.removeprefix("error: ").strip()


# ---------------------------------------------------------------------- devices, pipes, links


def test_devices_and_pipes_are_written_through() -> None:
    Path("null").symlink_to(os.devnull)
    for arguments in (["fit", "s.csv"], ["predict", "m.fbm", "s.csv"], ["adapt", "m.fbm", "--target-rate", "0.1"], ["demo"]):
        here(*arguments, "-o", "null")
        assert Path("null").is_symlink()
    assert stat.S_ISCHR(os.stat("null").st_mode)
    result = shell(
        "fastbin predict m.fbm s.csv --seed 1 -o >(cat > out.csv); wait $!; fastbin fit s.csv -q -o /dev/stdout >> m2.fbm"
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert len(Path("out.csv").read_text().splitlines()) == 1001
    assert fb.load("m2.fbm").n_samples == 1000
    os.mkfifo("pipe.fbm")
    with subprocess.Popen(["cat", "pipe.fbm"], stdout=subprocess.PIPE) as reader:
        here("fit", "s.csv", "-q", "-o", "pipe.fbm")
        assert reader.communicate()[0] == Path("m2.fbm").read_bytes()
    assert stat.S_ISFIFO(os.stat("pipe.fbm").st_mode)


def test_the_mode_of_a_model_is_kept() -> None:
    Path("m.fbm").chmod(0o600)
    here("fit", "s.csv", "-q", "-o", "m.fbm")
    assert stat.S_IMODE(os.stat("m.fbm").st_mode) == 0o600


def test_models_go_through_pipes() -> None:
    """The dash is standard input or output, of models too."""
    here("fit", "s.csv", "-q", "-o", "f.fbm")
    here("predict", "f.fbm", "s.csv", "--seed", "1", "-o", "f.csv")
    piped = shell("fastbin fit - -q -o - < s.csv | fastbin predict - s.csv --seed 1 -o - > p.csv")
    assert (piped.returncode, piped.stderr, piped.stdout) == (0, "", "")
    assert Path("p.csv").read_bytes() == Path("f.csv").read_bytes()
    for command in (["inspect", "-"], ["assess", "-", "s.csv"], ["monitor", "-", "s.csv"]):
        shown = commands.run(*command, input=Path("f.fbm").read_bytes())
        assert shown.stderr == ""
        if command[0] == "inspect":
            assert shown.stdout.startswith("standard input: evidence bins of uniform mass")
    adapted = commands.run("adapt", "-", "--target-rate", "0.2", "-o", "-", input=Path("f.fbm").read_bytes())
    assert "With probability at least 90 %" in adapted.stderr  # what would be shown, beside the model
    assert '"odds_ratio"' in here("inspect", "-", "--json", input=adapted.stdout_bytes)
    assert "-" not in os.listdir()


def test_an_error_while_more_input_is_awaited_ends_the_process_cleanly() -> None:
    """A thread of PyArrow that waits for the rest of the input must not abort the process."""
    streams: Any = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE, "bufsize": 0}
    with subprocess.Popen([*FASTBIN, "fit", "-", "-q", "-o", "none.fbm"], env=environment(), **streams) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        with suppress(BrokenPipeError):
            process.stdin.write(b"p,y\nabc,1\n" + b"0.5,1\n" * 500_000)  # three blocks, of which the first is refused
        message = process.stderr.read().decode()  # the input is still open
    assert message == "error: standard input, row 1, column p: 'abc' is neither a number nor true or false\n"
    assert process.returncode == 1
    assert not Path("none.fbm").exists()


def test_one_standard_input_for_one_use() -> None:
    for arguments in (
        ("predict", "-", "-"),
        ("assess", "-", "-"),
        ("assess", "m.fbm", "/dev/stdin", "--against", "-"),
        ("monitor", "-", "-"),
        ("adapt", "-", "--target-labels", "-", "-o", "x.fbm"),
    ):
        assert here(*arguments, code=2, input="").startswith("error: standard input can be read only once"), arguments


def test_a_model_that_is_none_on_standard_input() -> None:
    assert commands.refusal("inspect", "-", input="p,y\n").startswith("standard input: ")


def test_a_model_is_not_written_to_a_terminal() -> None:
    outer, inner = os.openpty()
    try:
        (result,) = commands.in_a_process(["fit", "s.csv", "-o", "-"], stdout=inner)
        assert one_line(result).startswith("standard output is a terminal")
    finally:
        os.close(outer)
        os.close(inner)


def test_fit_needs_no_output_to_show_its_result() -> None:
    assert "With probability at least 90 %" in here("fit", "s.csv")
    assert sorted(os.listdir()) == ["m.fbm", "s.csv"]


# ---------------------------------------------------------------------- streams that are closed


def test_a_closed_pipe_is_no_failure() -> None:
    """Nobody reads: the first write fails. A verdict is the exit code all the same."""
    Path("drift.csv").write_text("p,y\n" + "0.1,1\n" * 500)
    source, sink = os.pipe()
    os.close(source)
    try:
        *ended, told, verdict = commands.in_a_process(
            ["fit", "s.csv", "-o", "new.fbm"],
            ["predict", "m.fbm", "s.csv", "--seed", "1"],
            ["inspect", "m.fbm"],
            ["inspect", "m.fbm", "--json"],
            ["monitor", "m.fbm", "s.csv", "--state", "new.mon"],
            ["--help"],
            ["--version"],
            ["--cflags"],
            ["monitor", "m.fbm", "drift.csv", "--exit-code", "--json"],
            ["monitor", "m.fbm", "drift.csv", "--exit-code"],
            stdout=sink,
        )
    finally:
        os.close(sink)
    assert [(each.code, each.stderr) for each in (*ended, told, verdict)] == [(0, "")] * 8 + [(3, "")] * 2
    assert sorted(name for name in os.listdir() if name.startswith("new")) == ["new.fbm", "new.mon"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_disk_is_a_failure() -> None:
    predict = ["predict", "m.fbm", "s.csv", "--seed", "1"]
    with open("/dev/full", "w") as full:
        *ended, named = commands.in_a_process(["inspect", "m.fbm"], predict, [*predict, "-o", "/dev/full"], stdout=full)
    assert [one_line(each) for each in ended] == ["No space left on device"] * 2
    assert one_line(named) == "/dev/full: No space left on device"


def test_what_is_no_csv_is_called_what_it_is() -> None:
    data, parquet = Path("s.csv").read_bytes(), io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.csv.read_csv("s.csv"), parquet)
    for packed, kind, suffix in (
        (gzip.compress(data), "gzip", ".csv.gz"), (bz2.compress(data), "bzip2", ".csv.bz2"),
        (parquet.getvalue(), "Parquet", ".parquet"),
    ):  # fmt: skip
        Path("other.csv").write_bytes(packed)
        told = f"other.csv is {kind}, and its name says CSV; give it a name that ends in {suffix}"
        assert commands.refusal("predict", "m.fbm", "other.csv") == told
        remedy = "name the file" if kind == "Parquet" else "unpack it first, or name the file"
        told = f"standard input is {kind}, and a pipe is read as CSV; {remedy}"
        assert commands.refusal("predict", "m.fbm", "-", input=packed) == told
    with open("other.csv", "rb") as file:
        (refused,) = commands.in_a_process(["predict", "m.fbm", "-"], stdin=file)
    assert one_line(refused) == told


def test_closed_streams_are_told() -> None:
    for ended in commands.in_a_process(
        ["inspect", "m.fbm"],
        ["inspect", "m.fbm", "--json"],
        ["predict", "m.fbm", "s.csv", "--seed", "1"],
        ["fit", "s.csv", "-o", "-"],
        stdout=None,
        preexec_fn=lambda: os.close(1),
    ):
        assert one_line(ended) == "standard output is closed"
    for ended in commands.in_a_process(["predict", "m.fbm", "-"], ["inspect", "-"], preexec_fn=lambda: os.close(0)):
        assert one_line(ended).startswith("standard input is closed")
    quiet = shell("fastbin fit s.csv -q -o n.fbm <&- >&- 2>&-")
    assert quiet.returncode == 0
    assert fb.load("n.fbm").n_samples == 1000
    assert shell("fastbin inspect absent.fbm 2>&-").returncode == 1


# ---------------------------------------------------------------------- names that are not text


def test_names_that_are_no_text() -> None:
    name, worse, model = b"s\xff.csv", b"t\xff.csv", b"m\xff.fbm"
    for path, more in ((name, b""), (worse, b"2,0\n")):
        with open(path, "wb") as file:
            file.write(Path("s.csv").read_bytes() + more)
    absent, no_scores, bad, *others = commands.in_a_process(
        ["inspect", b"absent\xff.fbm"],
        ["fit", b"absent\xff.csv"],
        ["fit", worse],
        ["fit", name, "-o", model],
        ["inspect", model, "--json"],
        ["predict", model, name, "--seed", "1", "-o", b"o\xff.csv"],
    )
    assert one_line(absent) == "absent\\udcff.fbm: No such file or directory"
    assert one_line(no_scores).startswith("absent\\udcff.csv: No such file")
    assert one_line(bad).startswith("t\\udcff.csv, line 1002, column p")
    assert [(each.code, each.stderr) for each in others] == [(0, "")] * 3
    assert others[0].stdout.startswith("m\\udcff.fbm: ")
    assert os.path.exists(b"o\xff.csv")


def test_characters_that_the_output_does_not_have_are_escaped() -> None:
    Path("s.csv").rename("\xe9.csv")
    narrow = environment() | {"PYTHONIOENCODING": "ascii"}
    (fitted,) = commands.in_a_process(["fit", "\xe9.csv", "-o", "\xe9.fbm"], env=narrow)
    assert (fitted.code, fitted.stderr) == (0, "")
    assert fitted.stdout.startswith("\\xe9.fbm: ")


# ---------------------------------------------------------------------- signals


def slow_writing(command: list[str], output: str) -> tuple[subprocess.Popen[str], Any]:
    """A process that has written some of its output, and waits for more input."""
    os.mkfifo("slow.csv")
    process = subprocess.Popen(
        [*command, "predict", "m.fbm", "slow.csv", "--seed", "1", "-o", output],
        stderr=subprocess.PIPE, text=True, env=environment(),
    )  # fmt: skip
    pipe = open("slow.csv", "w")  # noqa: SIM115
    pipe.write("p,y\n" + "0.5,1\n" * 1_000_000)  # more than a pipe and the reader hold
    pipe.flush()
    while not any(map(is_written, [*Path().glob(".*.tmp"), *Path(f"/proc/{process.pid}/fd").glob("*")])):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.01)
    return process, pipe


def is_written(path: Path) -> bool:
    """Whether this is a file of the present folder that holds something; those without names are descriptors alone."""
    return os.path.realpath(path).startswith(os.getcwd()) and path.is_file() and path.stat().st_size > 0


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("command", "number"),
    [(FASTBIN, signal.SIGTERM), (FASTBIN, signal.SIGINT), (NAMED, signal.SIGHUP), (NAMED, signal.SIGINT)],
    ids=lambda given: {id(FASTBIN): "unnamed", id(NAMED): "named"}.get(id(given)),
)
def test_a_signal_leaves_nothing_behind(command: list[str], number: signal.Signals) -> None:
    Path("out.csv").write_text("old")
    process, pipe = slow_writing(command, "out.csv")
    hidden = [name for name in os.listdir() if name.endswith(".tmp")]
    assert len(hidden) == (1 if command is NAMED or not hasattr(os, "O_TMPFILE") else 0)
    with pipe:
        process.send_signal(number)
        _, told = process.communicate(timeout=60)  # at once, although it waits for input
    assert process.returncode in (128 + number, -number)
    assert told == ("error: interrupted\n" if number == signal.SIGINT else "")
    assert sorted(os.listdir()) == ["m.fbm", "out.csv", "s.csv", "slow.csv"]
    assert Path("out.csv").read_text() == "old"


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="no files without names")
def test_nothing_can_be_done_about_sigkill_and_yet_nothing_is_left() -> None:
    process, pipe = slow_writing(FASTBIN, "out.csv")
    process.kill()
    process.communicate(timeout=60)
    pipe.close()
    assert sorted(os.listdir()) == ["m.fbm", "s.csv", "slow.csv"]


def test_a_hangup_is_ignored_where_that_was_asked_for() -> None:
    """As by nohup."""
    os.mkfifo("slow.csv")
    process = subprocess.Popen(
        [*FASTBIN, "predict", "m.fbm", "slow.csv", "--seed", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )  # fmt: skip
    with open("slow.csv", "w") as pipe:
        pipe.write("p,y\n0.5,1\n")
        pipe.flush()
        process.send_signal(signal.SIGHUP)
    out, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (0, "")
    assert len(out.splitlines()) == 2


def test_an_interrupt_during_an_import_is_one_line() -> None:
    """Numba's first import takes seconds; an exception inside of a callback would be printed, and lost."""
    os.mkfifo("ready")
    Path("modules").mkdir()
    Path("modules/numba.py").write_text(
        "import time, weakref\nclass A: pass\na = A()\n"
        "def wait(_):\n    open('ready', 'w').close()\n    time.sleep(100)\n"
        "r = weakref.ref(a, wait)\ndel a\n"
    )
    n = 140_000  # large enough for the kernels that Numba compiles
    Path("large.csv").write_text("p,y\n" + "".join(f"{(i * 37 % n) / n},{int(i * i % 7 < 3)}\n" for i in range(n)))
    places = os.pathsep.join([str(Path("modules").absolute()), environment().get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [*FASTBIN, "fit", "large.csv", "-o", "x.fbm"],
        stderr=subprocess.PIPE, text=True, env=environment() | {"PYTHONPATH": places},
    )  # fmt: skip
    open("ready").close()  # the import waits
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (130, "error: interrupted\n")
