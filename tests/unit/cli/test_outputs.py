"""No command writes over what it reads, however that is named; and what a failed command leaves behind and says."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import refusal, run

import fastbin as fb
from fastbin.cli._console import say
from fastbin.tables.folders import is_part_of
from fresh_python import environment

N = 400
RNG = np.random.default_rng(5)
SCORES = RNG.random(N).round(6)
LABELS = (RNG.random(N) < SCORES).astype(int)
TABLE = pa.table({"p": SCORES, "y": LABELS})
MODEL = fb.UniformMassBinning(n_bins=4).fit(SCORES, LABELS).model_


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("days", "regions/region=north", "regions/region=south"):
        Path(folder).mkdir(parents=True)
        for name in "12":
            pq.write_table(TABLE, f"{folder}/{name}.parquet")
    pq.write_table(TABLE, "s.parquet")
    MODEL.save("m.fbm")


def contents() -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}


# ---------------------------------------------------------------------- what is read stays


def commands(read: str, written: str) -> list[list[str]]:
    """Every command that reads rows and writes a file."""
    return [
        ["fit", read, "-o", written],
        ["predict", "m.fbm", read, "--seed", "1", "-o", written],
        ["report", "m.fbm", read, "-o", written],
        ["adapt", "m.fbm", "--target-labels", read, "--label", "y", "-o", written],
        ["adapt", "m.fbm", "--target-scores", read, "--score", "p", "-o", written],
        ["monitor", "m.fbm", "s.parquet", read, "--state", written],
    ]


@pytest.mark.parametrize(
    ("read", "written", "complaint"),
    [
        ("s.parquet", "s.parquet", "is the file that is read"),
        ("days", "days/new.parquet", "is in the folder that is read"),
        ("days/*.parquet", "days/1.parquet", "is a file that is read"),
        ("days/[1-2].parquet", "days/../days/2.parquet", "is a file that is read"),
        ("**/*.parquet", "days/1.parquet", "is a file that is read"),
        ("days/*", "link.parquet", "is a file that is read"),
        ("days/*.parquet", "days/new.parquet", "has a name that the pattern 'days/*.parquet' stands for"),
        ("d*/*.parquet", "days/new.parquet", "has a name that the pattern 'd*/*.parquet' stands for"),
        ("**/[0-9]*.parquet", "days/9.parquet", "has a name that the pattern '**/[0-9]*.parquet' stands for"),
        ("days/**", "days/new.parquet", "has a name that the pattern 'days/**' stands for"),
        ("[0-9s]*.parquet", "9.parquet", "has a name that the pattern '[0-9s]*.parquet' stands for"),
        ("regions", "regions/region=north/1.parquet", "is in the folder that is read"),
        ("regions", "regions/region=north/new.parquet", "is in the folder that is read"),
        ("regions", "regions/new.parquet", "is in the folder that is read"),
        ("regions/*", "regions/new.parquet", "has a name that the pattern"),
        ("regions/*/*.parquet", "regions/region=south/1.parquet", "is a file that is read"),
        ("regions/*/*.parquet", "regions/region=south/new.parquet", "has a name that the pattern"),
    ],
)
def test_what_is_read_is_not_written(read: str, written: str, complaint: str) -> None:
    os.symlink("days/1.parquet", "link.parquet")
    before = contents()
    for arguments in commands(read, written):
        told = refusal(*arguments)
        if "--state" in arguments and os.path.exists(written):  # it is read first
            assert "not a fastbin monitor" in told
            continue
        assert told.startswith(f"{written} {complaint}"), arguments
        assert told.endswith("; write to another one")
    assert contents() == before


@pytest.mark.parametrize(
    ("one", "other"), [("one.json", "one.json"), ("one.json", "./days/../one.json"), ("one.json", "link.json"), ("-", "-")]
)
def test_two_results_of_a_command_are_written_to_two_places(one: str, other: str) -> None:
    os.symlink("one.json", "link.json")
    before = contents()
    for arguments in (
        ["plan", "s.parquet", "--score", "p", "--epsilon", "0.2", "-o", one, "--rows", other],
        ["report", "m.fbm", "s.parquet", "-o", one, "-o", other],
    ):
        if arguments[0] == "report" and one == other:  # named twice
            continue
        assert "is where another result of this command is written; write to two places" in refusal(*arguments)
        assert contents() == before
    devices = ["--rows", os.devnull, "-o", os.devnull]
    run("plan", "s.parquet", "--score", "p", "--epsilon", "0.2", *devices)


def test_a_model_is_not_written_under_the_suffix_of_an_export() -> None:
    before = contents()
    for arguments in (["fit", "s.parquet"], ["adapt", "m.fbm", "--target-rate", "0.2"]):
        told = refusal(*arguments, "-o", "credit.onnx")
        assert told.endswith("take -o credit.fbm, then: fastbin export credit.fbm -o credit.onnx")
    assert contents() == before
    run("fit", "s.parquet", "-o", "credit.model")
    assert fb.load("credit.model").n_samples == N


@pytest.mark.parametrize(
    ("read", "written"),
    [
        ("s.parquet", "new.out"),
        ("days", "new.out"),
        ("days/*.parquet", "days/new.out"),
        ("days/*.parquet", "new.parquet.out"),
        ("days/*.parquet", "regions/new.parquet"),
        ("*/*.parquet", "new.parquet"),
        ("days/*", "days/.hidden"),
        ("[s].parquet", "link.parquet"),
        ("regions/*/*.parquet", "regions/new.parquet"),
    ],
)
def test_what_is_not_read_is_written(read: str, written: str) -> None:
    os.symlink("absent.parquet", "link.parquet")
    run("fit", read, "-q", "-o", written)
    assert fb.load(written).n_samples % N == 0


def test_a_file_that_a_folder_links_to_is_read() -> None:
    os.mkdir("linked")
    os.symlink("../s.parquet", "linked/1.parquet")
    assert "is a file that is read" in refusal("fit", "linked", "-o", "s.parquet")
    os.symlink("days", "also_days")
    assert "is in the folder that is read" in refusal("fit", "also_days", "-o", "days/new.parquet")


def test_other_models_and_secrets_stay() -> None:
    MODEL.save("other.fbm")
    Path("salt.txt").write_bytes(b"s" * 32)
    before = contents()
    assert "is the file that is read" in refusal("report", "m.fbm", "s.parquet", "--against", "other.fbm", "-o", "other.fbm")
    keyed = ("predict", "m.fbm", "s.parquet", "--tie-key", "y", "--salt-file", "salt.txt", "-o", "salt.txt")
    assert "is the file that is read" in refusal(*keyed)
    assert contents() == before


def test_names_of_a_pattern_are_those_that_it_finds() -> None:
    """The rule for names that are not there yet, against what the pattern finds when they are."""
    names = [name for folder in ("", "days/", "regions/", "regions/region=north/") for name in _names(folder)]
    patterns = [
        "*",
        "*.csv",
        "days/*",
        "days/**",
        "**",
        "**/*",
        "**/*.csv",
        "*/*.csv",
        "re*/**/n?.csv",
        "./days/n*",
        "days/[!n]*",
    ]
    patterns += ["regions/**/.n*", "days//*.csv", str(Path.cwd() / "days" / "*.csv"), "days/../days/*.csv"]
    for pattern in patterns:
        for name in names:
            told = is_part_of(name, pattern)
            Path(name).touch()
            assert told == is_part_of(name, pattern), (pattern, name)
            os.unlink(name)


def _names(folder: str) -> list[str]:
    return [folder + name for name in ("n.csv", "n1.csv", ".n.csv", "n", "o.csv")]


# ---------------------------------------------------------------------- what fails leaves nothing, and says one thing


def predict_bad(output: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, whose end is looked at, too."""
    code = "import sys; from fastbin.__main__ import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "predict", "m.fbm", "bad.csv", "--seed", "1", "-o", output]
    return subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=100)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("output", "after"),
    [("out.parquet", 0), *((f"out.{suffix}", 200_000) for suffix in ("parquet", "csv", "csv.gz", "csv.zst"))],
)
def test_a_failed_prediction_says_one_line(output: str, after: int) -> None:
    """Also where some rows were written: a writer that is given up must not write its end to a closed file."""
    Path("bad.csv").write_text("p,y\n" + "0.5,1\n" * after + "7,1\n")
    result = predict_bad(output)
    assert result.returncode == 1
    (told,) = result.stderr.splitlines()
    assert told.startswith(f"error: bad.csv, line {after + 2}, column p: the value is 7.0, outside [0, 1]")
    assert not Path(output).exists()


def test_a_pipe_gets_no_end_of_a_failed_file() -> None:
    """The file is not a whole Parquet file, so that the reader sees that rows are missing."""
    Path("bad.csv").write_text("p,y\n" + "0.5,1\n" * 200_000 + "7,1\n")
    os.mkfifo("pipe.parquet")
    reader = subprocess.Popen([sys.executable, "-c", "print(open('pipe.parquet', 'rb').read()[-4:])"], stdout=subprocess.PIPE)
    result = predict_bad("pipe.parquet")
    told, _ = reader.communicate(timeout=60)
    assert (result.returncode, len(result.stderr.splitlines())) == (1, 1), result.stderr
    assert b"PAR1" not in told


def test_a_line_is_out_when_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what a long command says next to standard error comes after it."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="utf8"))
    say("a line")
    assert raw.getvalue() == b"a line\n"
