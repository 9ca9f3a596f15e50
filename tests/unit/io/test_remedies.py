"""Errors about files name what to do in the words of who reads it: options on the command line, arguments in Python."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import refusal, run

import fastbin as fb
from fitting import bare

RNG = np.random.default_rng(9)
SCORES = RNG.random(2000).round(6)
LABELS = (RNG.random(2000) < SCORES).astype(int)
MODEL = bare(fb.UniformMassBinning(n_bins=5).fit(SCORES, LABELS).model_)
CSV = "p,y\n" + "".join(f"{score!r},{label}\n" for score, label in zip(SCORES.tolist(), LABELS.tolist(), strict=True))


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def fitted(*arguments: str) -> fb.BinnedModel:
    run("fit", *arguments, "--method", "umd", "--n-bins", "5", "-q", "-o", "m.fbm")
    return bare(fb.load("m.fbm"))


def test_encodings_that_were_not_said() -> None:
    """In a column of keys, too, with the line and what to type."""
    words = ["nord" if label == LABELS[0] else "süd" for label in LABELS]  # the first row is good
    lines = [f"{score!r},{label},{word}" for score, label, word in zip(SCORES.tolist(), LABELS.tolist(), words, strict=True)]
    Path("a.csv").write_bytes("\n".join(["p,y,seg", *lines]).encode("latin-1"))
    line = words.index("süd") + 2
    told = f"a.csv, line {line}, column seg: b's\\xfcd' is not UTF-8; say which encoding the file is in, such as latin-1: "
    run("fit", "a.csv", "--segment", "seg", "--encoding", "latin-1", "-q", "-o", "set.fbm")
    MODEL.save("m.fbm")
    for arguments in (
        ["fit", "a.csv", "--segment", "seg"],
        ["assess", "m.fbm", "a.csv", "--group", "seg"],
        ["assess", "set.fbm", "a.csv", "--segment", "seg"],
        ["predict", "set.fbm", "a.csv", "--segment", "seg"],
        ["monitor", "set.fbm", "a.csv", "--segment", "seg"],
    ):
        assert run(*arguments, code=1).stderr.splitlines()[0] == f"error: {told}give --encoding latin-1", arguments
    with pytest.raises(fb.InputError) as caught:
        fb.engines.fit("a.csv", score="p", label="y", segment="seg")
    assert str(caught.value) == told + "open it by fb.io.open_table(path, encoding='latin-1')"


def test_labels_of_another_encoding_are_no_labels() -> None:
    """Neither as the label that counts as 1 nor as the other one, which would pass unread."""
    words = ["yes" if label == LABELS[0] else "n\xe3o" for label in LABELS]
    lines = [f"{score!r},{word}" for score, word in zip(SCORES.tolist(), words, strict=True)]
    Path("a.csv").write_bytes("\n".join(["p,y", *lines]).encode("latin-1"))
    line = words.index("n\xe3o") + 2
    told = f"a.csv, line {line}, column y: b'n\\xe3o' is not UTF-8; say which encoding the file is in, such as latin-1: "
    for positive in ("yes", "n\xe3o"):
        assert run("fit", "a.csv", "--positive", positive, code=1).stderr == f"error: {told}give --encoding latin-1\n"
        fitted("a.csv", "--positive", positive, "--encoding", "latin-1")
        assert fb.load("m.fbm").event == positive
        with pytest.raises(fb.InputError, match="is not UTF-8; say which encoding the file is in"):
            fb.engines.fit("a.csv", score="p", label="y", positive=positive)


@pytest.mark.parametrize("name", ["a.csv", "a"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_two_bytes_a_character(name: str, encoding: str) -> None:
    Path(name).write_bytes(CSV.encode(encoding))
    if name == "a" and encoding != "utf-16":
        assert "is neither CSV nor Parquet" in refusal("fit", name)
        return
    assert refusal("fit", name) == f"{name} is in another encoding than UTF-8; give --encoding {encoding}"
    assert fitted(name, "--encoding", encoding) == MODEL
    Path(name).write_bytes(b"\0" * 10 + b"abcdef" * 100)
    assert "not text" in refusal("fit", "a.csv") if name == "a.csv" else "is neither CSV" in refusal("fit", name)


def test_remedies_are_those_of_the_interface() -> None:
    Path("comma.csv").write_text("p;y\n0,51;1\n" * 2)
    assert refusal("fit", "comma.csv").endswith(
        "neither a number nor true or false; if it has a decimal comma, give --decimal ,"
    )
    with pytest.raises(fb.InputError, match=r"decimal comma, open it by fb.io.open_table\(path, decimal=','\)"):
        fb.engines.fit("comma.csv", score="p", label="y")
    Path("comma.csv").write_text("p;y\n1,0,5;1\n")
    assert "decimal" not in refusal("fit", "comma.csv")
    Path("comma.csv").write_text("p;y\n0.5_1;1\n" * 2)
    assert refusal("fit", "comma.csv").endswith("neither a number nor true or false")
    for delimiter, share, options in ((",", "63.70%", []), (";", "63,70%", ["--decimal", ","])):
        Path("percent.csv").write_text(f"p{delimiter}y\n{share}{delimiter}1\n" * 2)
        assert refusal("fit", "percent.csv", *options).endswith("write percentages as fractions, here 0.637")
    Path("percent.csv").write_text("p,y\n%,1\n" * 2)
    assert refusal("fit", "percent.csv").endswith("neither a number nor true or false")
    Path("yes.csv").write_text("p,y\n0.5,yes\n0.5,no\n")
    with pytest.raises(fb.InputError, match=r"the labels are .*; pass positive= with the value whose probability you want$"):
        fb.engines.fit("yes.csv", score="p", label="y")
    assert refusal("fit", "yes.csv").endswith("give --positive with the value whose probability you want")
    Path("half.csv").write_text("p,y\n0.5,1\n0.25,0.5\n" + "0.5,0\n" * 20)
    assert refusal("fit", "half.csv") == (
        "half.csv, line 3, column y: the value is 0.5; labels are 0 and 1, or true and false; name their column by --label, or "
        "the label that counts as 1 by --positive"
    )
    Path("two.csv").write_text("p,y\n" + "0.5,1\n0.25,2\n" * 20)
    assert refusal("fit", "two.csv").endswith(
        "these are 1.0 and 2.0; give --positive with the value whose probability you want"
    )
    run("fit", "two.csv", "--positive", "2.0")
    assert "has no column 'sample_weight'; it has p, y" in refusal("fit", "two.csv", "--weights", "sample_weight")


def test_a_header_that_is_longer_than_a_field() -> None:
    names = ["p", "y", *(f"column{number}" for number in range(20_000))]
    rows = [",".join([f"{0.1 * (row % 10):.1f}", str(row % 2), *["0"] * 20_000]) for row in range(20)]
    Path("wide.csv").write_text("\n".join([",".join(names), *rows]))
    run("fit", "wide.csv", "-o", "wide.fbm")
    Path("long.csv").write_text("p" * 200_000 + "\n0.5\n")
    assert "long.csv has no readable header: field larger than field limit" in refusal("fit", "long.csv")


def test_a_pattern_without_quotes() -> None:
    for arguments in (
        ["fit", "a.csv", "b.csv", "-o", "x.fbm"],
        ["predict", "m.fbm", "a.csv", "b.csv", "c.csv", "-o", "x.csv"],
        ["report", "m.fbm", "a", "b", "-o", "x.html"],
    ):
        told = refusal(*arguments, code=2)
        assert told.startswith("Got unexpected extra argument")
        assert told.endswith(
            "a pattern of files goes in quotes, such as 'data/*.parquet', or the shell replaces it by their names"
        )


def test_remedies_name_files_of_their_kind() -> None:
    Path("days").mkdir()
    pq.write_table(pa.table({"p": SCORES, "y": LABELS}), "days/1.parquet")
    Path("days/notes.doc").write_text("")
    assert refusal("fit", "days").endswith("name the files by a pattern such as 'days/*.parquet'")
    os.unlink("days/notes.doc")
    Path("days/more").mkdir()
    assert refusal("fit", "days").endswith("name the files by a pattern such as 'days/**/*.parquet'")


def test_a_delimiter_that_is_none() -> None:
    Path("a.csv").write_text(CSV)
    assert refusal("fit", "a.csv", "--delimiter", ";").endswith(
        "it has one column, 'p,y'; say what is between columns by --delimiter"
    )
