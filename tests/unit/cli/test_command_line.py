"""The command line as a whole: what it finds, how it answers, how it fails, and what it leaves behind."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import click
import commands
import pytest

import fastbin as fb
from fastbin import __main__ as entry
from fastbin._base.dependencies import install_command
from fastbin.cli import command_line
from fresh_python import environment

INSTALL = f"which is not installed; {install_command('cli')}"


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    return


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """``python -m fastbin`` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "fastbin", *arguments],
        capture_output=True,
        text=True,
        env=environment(),
        **options,  # type: ignore[call-overload]
    )


def write_model() -> None:
    """A model for commands that need one, without the process that a fit would take."""
    labels = [int(i * i % 7 < 3) for i in range(1000)]
    fb.UniformMassBinning(5).fit([i / 1000 for i in range(1000)], labels).model_.save("m.fbm")


def write_scores(path: str = "scores.csv", n: int = 1000) -> None:
    Path(path).write_text("p,y\n" + "".join(f"{(i * 37 % n) / n},{int(i * i % 7 < 3)}\n" for i in range(n)))


# ---------------------------------------------------------------------- help


def test_every_command_explains_itself() -> None:
    names = command_line.list_commands(click.Context(command_line))
    assert {"demo", "fit", "predict", "inspect", "bins"} <= set(names)
    assert names[:3] == ["demo", "fit", "predict"]
    for name in names:
        result = commands.run(name, "--help")
        assert "Examples:" in result.output, name
        # Examples are not wrapped, and may be a little longer than the usual terminal is wide.
        assert max(map(len, result.output.splitlines())) <= 84, name
    top = commands.run("--help").output
    listed = top.partition("Exit codes:")[2].partition("C programs:")[0]
    assert re.findall(r"^ +(\d+) +\S", listed, re.MULTILINE) == ["0", "1", "2", "3", "4", "130"]
    assert max(map(len, top.splitlines())) <= 80
    for name in names:
        assert re.search(rf"^  {name} +\S", top, re.MULTILINE)


def test_no_arguments_show_the_help() -> None:
    result = commands.run(code=2)
    assert "Start here:" in result.output
    assert result.output == commands.run("--help").output


def test_version() -> None:
    assert commands.run("--version").output == f"fastbin {fb.__version__}\n"


def test_help_imports_nothing_slow() -> None:
    code = (
        "import sys; from fastbin.cli import command_line; command_line.run(['--help']); "
        "slow = {'numba', 'scipy', 'pyarrow', 'rich', 'pandas', 'matplotlib'} & set(sys.modules); "
        "sys.exit(str(slow) if slow else 0)"
    )
    result = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_no_small_command_imports_pandas_or_numba() -> None:
    """PyArrow would import pandas, where it is installed: half of the time and memory of a short command."""
    write_scores()
    lines = ["fit scores.csv -o m.fbm", "predict m.fbm scores.csv", "assess m.fbm scores.csv"]
    code = (
        "import sys; from fastbin.__main__ import main\n"
        "for line in sys.argv[1:]:\n    sys.argv[1:] = line.split()\n"
        "    assert not main() and not {'numba', 'pandas'} & set(sys.modules), line"
    )
    result = subprocess.run([sys.executable, "-c", code, *lines], env=environment(), capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_a_command_starts_one_thread_of_blas_but_where_it_is_told_otherwise() -> None:
    """The threads that OpenBLAS starts with NumPy spin, for nothing, through half of a short command."""
    code = (
        "import os, sys; from fastbin.__main__ import main; before = {'numpy'} & set(sys.modules); "
        "sys.argv[1:] = ['--version']; main(); print(before, 'numpy' in sys.modules, os.environ['OPENBLAS_NUM_THREADS'])"
    )
    for told, threads in (({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")):
        given = {name: value for name, value in environment().items() if name != "OPENBLAS_NUM_THREADS"} | told
        result = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True)
        assert result.stdout.splitlines()[-1:] == [f"set() True {threads}"], result.stderr


def test_a_new_file_is_a_new_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing has to be registered."""
    import fastbin.cli

    (tmp_path / "shout.py").write_text(
        "import click\n\n@click.command()\ndef command():\n    '''Shout.'''\n    click.echo('AHOY')\n"
    )
    monkeypatch.setattr(fastbin.cli, "__path__", [*fastbin.cli.__path__, str(tmp_path)])
    modules = fastbin.cli.pkgutil.iter_modules
    monkeypatch.setattr(fastbin.cli.pkgutil, "iter_modules", lambda paths: modules([*paths, str(tmp_path)]))
    assert commands.run("shout").output == "AHOY\n"
    assert "Shout." in commands.run("--help").output


def test_summaries_fit_their_line() -> None:
    listed = commands.run("--help").output.partition("Commands:")[2].partition("Start here:")[0]
    assert "..." not in listed


# ---------------------------------------------------------------------- completion


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_of_a_shell_is_printed(shell: str) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "fastbin"],
        env=environment() | {"_FASTBIN_COMPLETE": f"{shell}_source"},
        capture_output=True,
        text=True,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert f"_FASTBIN_COMPLETE={shell}_complete" in result.stdout
    assert "_fastbin_completion" in result.stdout
    assert "Usage:" not in result.stdout


COMPLETED = [
    ("fastbin f", {"fit"}),
    ("fastbin fit --method c", {"certified"}),
    ("fastbin fit --method um", {"umd", "ums", "umb"}),
    ("fastbin fit --memory", {"--memory-limit"}),
    ("fastbin export --dialect duck", {"duckdb"}),
    ("fastbin inspect cred", {"cred"}),  # a file, which the shell completes
]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(("line", "expected"), COMPLETED)
def test_lines_are_completed_by_the_protocol_of_click(shell: str, line: str, expected: set[str]) -> None:
    words = line.split()
    current = words[-1] if shell == "fish" else str(len(words) - 1)
    asked = {"_FASTBIN_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": current}
    result = commands.run(env=asked)
    if shell == "zsh":  # type, word and description, a line each
        found = set(result.output.splitlines()[1::3])
    else:
        found = {each.partition(",")[2].partition("\t")[0] for each in result.output.splitlines()}
    assert found == expected


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_itself_completes(tmp_path: Path) -> None:
    (tmp_path / "fastbin").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m fastbin "$@"\n')
    (tmp_path / "fastbin").chmod(0o755)
    script = (
        'eval "$(_FASTBIN_COMPLETE=bash_source fastbin)"; COMP_WORDS=(fastbin fit --method ""); COMP_CWORD=3; '
        '_fastbin_completion fastbin; echo "${COMPREPLY[*]}"; complete -p fastbin'
    )
    path = {"PATH": os.pathsep.join([str(tmp_path), os.environ["PATH"]])}
    result = subprocess.run(["bash", "-c", script], env=environment() | path, capture_output=True, text=True)
    assert result.stderr == ""
    words, registered = result.stdout.splitlines()
    assert {"certified", "umd", "isotonic", "platt"} <= set(words.split())
    assert registered.endswith(" fastbin")


def test_an_unknown_shell_is_told() -> None:
    result = commands.run(env={"_FASTBIN_COMPLETE": "tcsh_source"}, code=2)
    assert result.stderr == "error: _FASTBIN_COMPLETE is 'tcsh_source'; give bash_source, zsh_source or fish_source\n"


def test_an_empty_variable_asks_for_nothing() -> None:
    result = commands.run(env={"_FASTBIN_COMPLETE": ""}, code=2)
    assert "Start here:" in result.output


# ---------------------------------------------------------------------- failing


def test_usage_errors_exit_with_2_and_show_the_way() -> None:
    for arguments in (["frobnicate"], ["predict"], ["bins"], ["fit", "a.csv", "-o", "m.fbm", "--alpha", "5"], ["--nonsense"]):
        result = commands.run(*arguments, code=2)
        first, *rest = result.stderr.splitlines()
        assert first.startswith("error: ")
        assert len(rest) == 1
        assert rest[0].startswith("Try 'fastbin")
        assert result.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        ("bins", "'--n'"),
        ("adapt m.fbm --target-rate 0.1", "'-o' / '--output'"),
        ("report m.fbm test.csv", "'-o' / '--output'"),
        ("verify m.fbm", "'--against'"),
    ],
)
def test_an_option_that_is_required_is_asked_for(arguments: str, option: str) -> None:
    """Click takes a default of None for a value that was given."""
    result = commands.run(*arguments.split(), code=2)
    assert result.stderr.startswith(f"error: Missing option {option}.")


def test_counts_may_be_written_with_an_exponent() -> None:
    for written in ("20000", "2e4", "2.0E+04"):
        assert commands.run("bins", "--n", written).stdout.startswith("20,000 samples")
    for written in ("2.5e0", "1e400", "20e-1", "1.0", "many"):
        assert commands.run("bins", "--n", written, code=2).stderr.startswith(
            f"error: Invalid value for '--n': '{written}' is not a valid integer.\n"
        )
    assert "is not in the range x>=2" in commands.run("bins", "--n", "1e0", code=2).stderr


def test_refused_input_exits_with_1_and_one_line() -> None:
    Path("model.fbm").write_bytes(b"no model")
    for arguments in (
        ["inspect", "absent.fbm"],
        ["inspect", "model.fbm"],
        ["fit", "absent.csv", "-o", "m.fbm"],
        ["inspect", "."],
    ):
        result = commands.run(*arguments, code=1)
        assert re.fullmatch(r"error: [^\n]+\n", result.stderr), result.stderr
        assert arguments[1] in result.stderr
        assert result.stdout == ""


@pytest.mark.parametrize(
    ("error", "message", "code"),
    [
        (fb.InputError("one\n  two"), "one two", 1),
        (MemoryError(), "not enough memory", 1),
        (KeyboardInterrupt(), "interrupted", 130),
        (PermissionError(13, "Permission denied", "m.fbm"), "m.fbm: Permission denied", 1),
        (OSError("something else"), "something else", 1),
        (ModuleNotFoundError("no", name="scipy"), f"this needs scipy, {INSTALL}", 1),
    ],
)
def test_errors_are_one_line(error: BaseException, message: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("fastbin.cli._files.read_saved", fail)
    assert commands.run("inspect", "m.fbm", code=code).stderr.strip() == f"error: {message}"


def test_a_mistake_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("fastbin.cli._files.read_saved", fail)
    assert isinstance(commands.run("inspect", "m.fbm", code=1).exception, ZeroDivisionError)


# ---------------------------------------------------------------------- as a process


def test_the_whole_way_in_processes() -> None:
    write_scores()
    fitted = run("fit", "scores.csv", "-o", "m.fbm")
    assert (fitted.returncode, fitted.stderr) == (0, "")
    assert "With probability at least 90 %" in fitted.stdout
    predicted = run("predict", "m.fbm", "scores.csv", "--seed", "1")
    assert predicted.returncode == 0
    assert predicted.stdout.splitlines()[0] == "p,y,calibrated"
    assert len(predicted.stdout.splitlines()) == 1001
    refused = run("predict", "m.fbm", "absent.csv", "-o", "out.csv")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "error: absent.csv: No such file or directory\n"
    assert sorted(os.listdir()) == ["m.fbm", "scores.csv"]


def test_output_that_is_no_terminal_is_plain() -> None:
    write_scores()
    write_model()
    for result, promises in zip(
        commands.in_a_process(["inspect", "m.fbm"], ["fit", "scores.csv", "-o", "m.fbm"], ["bins", "--n", "100"]),
        (True, True, False),
        strict=True,
    ):
        assert result.code == 0
        assert "\x1b" not in result.stdout + result.stderr
        assert any(line.startswith("With probability") for line in result.stdout.splitlines()) == promises


def test_a_pipe_may_be_closed_early() -> None:
    write_scores(n=200_000)
    write_model()
    command = shlex.join([sys.executable, "-m", "fastbin", "predict", "m.fbm", "scores.csv", "--seed", "1"]) + " | head -n 1"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, env=environment())
    assert (result.stdout, result.stderr) == ("p,y,calibrated\n", "")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupt_leaves_nothing_behind() -> None:
    write_model()
    os.mkfifo("slow.csv")
    process = subprocess.Popen(
        [sys.executable, "-m", "fastbin", "predict", "m.fbm", "slow.csv", "-o", "out.csv"],
        stderr=subprocess.PIPE, text=True, env=environment(),
    )  # fmt: skip
    with open("slow.csv", "w") as pipe:
        pipe.write("p,y\n" + "0.5,1\n" * 500_000)  # several blocks; then the process waits for more
        pipe.flush()
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
    assert process.returncode == 130, told
    assert told.strip() == "error: interrupted"
    assert sorted(os.listdir()) == ["m.fbm", "slow.csv"]


# ---------------------------------------------------------------------- the entry point


def test_flags_for_c_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.main(["--cflags", "--libs"]) == 0
    flags = shlex.split(capsys.readouterr().out)
    include, library = (Path(flag[2:]) for flag in flags[:2])
    assert flags[0].startswith("-I")
    assert flags[1].startswith("-L")
    assert "-lfastbin" in flags
    assert (include / "fastbin.h").is_file()
    assert any(library.glob("*fastbin.*"))
    assert entry.main(["--libs"]) == 0
    assert "-I" not in capsys.readouterr().out


def test_flags_need_numpy_alone() -> None:
    (flags,) = commands.in_a_process(["--cflags"], without={"click", "rich", "pyarrow", "numba", "scipy", "sklearn"})
    assert flags.code == 0
    assert flags.stdout.startswith("-I")


@pytest.mark.parametrize("name", ["click", "rich"])
def test_without_the_extra_its_name_is_told(name: str) -> None:
    assert commands.in_a_process(["--help"], without={name}) == [
        (1, "", f"error: the command line needs {name}, {INSTALL}\n"),
    ]


def test_without_pyarrow_models_can_be_inspected_but_no_files_read() -> None:
    write_scores()
    write_model()
    inspected, fitted = commands.in_a_process(["inspect", "m.fbm"], ["fit", "scores.csv", "-o", "n.fbm"], without={"pyarrow"})
    assert inspected.code == 0
    assert fitted.code == 1
    assert "pyarrow" in fitted.stderr
    assert fitted.stderr.endswith(INSTALL + "\n")


def test_without_matplotlib_there_is_no_report_and_its_extra_is_told() -> None:
    write_scores()
    write_model()
    report = ["report", "m.fbm", "scores.csv", "-o", "report.html"]
    *refused, assessed = commands.in_a_process(
        report, [*report, "-o", "r.json"], ["assess", "m.fbm", "scores.csv"], without={"matplotlib"}
    )
    told = f"error: reports need matplotlib, {INSTALL.replace(install_command('cli'), install_command('plots'))}"
    assert [(each.code, each.stderr.splitlines()[-1]) for each in refused] == [(1, told)] * 2
    assert assessed.code == 0
    assert sorted(os.listdir()) == ["m.fbm", "scores.csv"]
