"""Tables from several files, in other formats and notations, with labels in words, and with little memory."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from commands import refusal, run

import fastbin as fb
from fastbin.io import open_table, read_columns
from fitting import bare
from fresh_python import environment

RNG = np.random.default_rng(7)
SCORES = RNG.random(3000).round(6)
LABELS = (RNG.random(3000) < SCORES).astype(int)
SAY_POSITIVE = "give --positive with the value whose probability you want"
MODEL = bare(fb.UniformMassBinning(n_bins=5).fit(SCORES, LABELS).model_)


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def csv_of(rows: slice, header: str = "p,y", words: Any = None) -> str:
    labels = LABELS[rows].tolist() if words is None else [words[label] for label in LABELS[rows].tolist()]
    return header + "\n" + "".join(f"{score!r},{label}\n" for score, label in zip(SCORES[rows].tolist(), labels, strict=True))


def fitted(*arguments: str) -> fb.BinnedModel:
    run("fit", *arguments, "--method", "umd", "--n-bins", "5", "-q", "-o", "m.fbm")
    return bare(fb.load("m.fbm"))


# ---------------------------------------------------------------------- several files


def parts(suffix: str) -> None:
    """The rows in three files of a folder, named so that they come in order."""
    Path("days").mkdir()
    for number, start in enumerate(range(0, 3000, 1000)):
        rows = slice(start, start + 1000)
        path = f"days/day{number}{suffix}"
        table = pa.table({"p": SCORES[rows], "y": LABELS[rows]})
        if suffix == ".csv":
            Path(path).write_text(csv_of(rows))
        elif suffix == ".csv.gz":
            with pa.CompressedOutputStream(path, "gzip") as out:
                out.write(csv_of(rows).encode())
        elif suffix == ".parquet":
            pq.write_table(table, path)
        else:
            pa.feather.write_feather(table, path)
    Path("days/_SUCCESS").write_text("")
    Path("days/.hidden").write_text("")


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".feather", ".arrow"])
@pytest.mark.parametrize("name", ["days", "days/", "days/day*", "d*/day[0-2].*", "**/day*"])
def test_a_folder_or_a_pattern_is_one_table(suffix: str, name: str) -> None:
    parts(suffix)
    assert fitted(name) == MODEL
    table = open_table(name)
    assert [Path(file).name for file in table.files] == [f"day{number}{suffix}" for number in range(3)]
    scores, labels = (np.concatenate(column) for column in zip(*read_columns(name, ["p", "y"], chunk_rows=300), strict=True))
    assert np.array_equal(scores, SCORES)
    assert np.array_equal(labels, LABELS)


def test_large_folders_are_fitted_in_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fastbin.cli.fit.ROWS_AS_ARRAYS", 100)
    parts(".csv")
    assert fitted("days") == MODEL


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
def test_a_folder_is_scored_into_one_file(suffix: str) -> None:
    parts(suffix)
    MODEL.save("m.fbm")
    for output in ("out.csv", "out.parquet"):
        run("predict", "m.fbm", "days", "--seed", "1", "-o", output)
    read = pq.read_table("out.parquet")
    expected = MODEL.predict(SCORES, seed=1)
    assert np.array_equal(read["calibrated"].to_numpy(), expected)
    assert [float(line.split(",")[2]) for line in Path("out.csv").read_text().splitlines()[1:]] == expected.tolist()
    assert "is in the folder that is read" in refusal("predict", "m.fbm", "days", "-o", "days/out.csv")


def test_errors_name_the_file_and_its_line() -> None:
    parts(".csv")
    with open("days/day1.csv", "a") as file:
        file.write("7,1\n")
    assert refusal("fit", "days").startswith("days/day1.csv, line 1002, column p: the value is 7.0, outside [0, 1]")
    Path("days/day1.csv").write_text(csv_of(slice(0, 10)) + "x,1\n")
    assert refusal("fit", "days").startswith("days/day1.csv, line 12, column p: 'x' is neither a number")
    Path("days/day1.csv").write_text(csv_of(slice(0, 10)) + "0.5,1,1\n")
    assert refusal("fit", "days").startswith("days/day1.csv, line 12: expected 2 columns, got 3")


def test_files_that_do_not_go_together() -> None:
    parts(".csv")
    Path("days/day1.csv").write_text("p,z\n0.5,1\n")
    assert refusal("fit", "days") == "days/day1.csv has the columns p, z, but days/day0.csv p, y"
    pq.write_table(pa.table({"p": [0.5], "y": [1]}), "days/day1.parquet")
    os.unlink("days/day1.csv")
    assert "are of different kinds" in refusal("fit", "days")
    Path("typed").mkdir()
    pq.write_table(pa.table({"p": [0.5], "y": [1]}), "typed/a.parquet")
    pq.write_table(pa.table({"p": [0.5], "y": ["1"]}), "typed/b.parquet")
    assert refusal("fit", "typed") == "typed/b.parquet, column y: holds string, but in typed/a.parquet int64"


def test_nothing_is_left_out_in_silence() -> None:
    Path("empty").mkdir()
    assert refusal("fit", "empty") == "empty is a folder without tables"
    parts(".csv")
    Path("days/notes.doc").write_text("")
    assert refusal("fit", "days").startswith("days holds notes.doc, which is not a table")
    os.unlink("days/notes.doc")
    Path("days/more").mkdir()
    assert refusal("fit", "days").startswith("days holds a folder, more")
    assert refusal("fit", "absent*.csv") == "no file is called absent*.csv"


def test_a_pattern_leaves_out_no_folder_of_tables() -> None:
    """Spark writes each table as a folder, whose name may be that of a file."""
    parts(".parquet")
    Path("days/day9.parquet").mkdir()
    told = "days/day9.parquet is a folder, which days/*.parquet matches, and none of the files in it; name them too"
    assert refusal("fit", "days/*.parquet").startswith(told)  # even without tables: they may be on their way
    os.rename("days/day0.parquet", "days/day9.parquet/part-0.parquet")
    Path("days/day9.parquet/_SUCCESS").write_text("")
    assert refusal("fit", "days/*.parquet") == told + ", by a pattern such as 'days/**/*.parquet', or leave the folder out"
    assert fitted("days/**/*.parquet") == MODEL
    assert fitted("days/**/[dp]a*.parquet") == MODEL
    os.rename("days/day9.parquet", "days/day9")
    assert refusal("fit", "days/*").startswith("days/day9 is a folder, which days/* matches")
    Path("days/day9/deep").mkdir()
    os.rename("days/day9/part-0.parquet", "days/day9/deep/part-0.parquet")
    assert refusal("fit", "days/*").startswith("days/day9 is a folder, which days/* matches")
    os.rename("days/day9/deep/part-0.parquet", "days/day0.parquet")
    assert fitted("days/day*") == MODEL  # a folder without tables is none


def test_a_name_with_the_marks_of_a_pattern_is_a_name() -> None:
    Path("a[1].csv").write_text(csv_of(slice(0, 3000)))
    Path("a1.csv").write_text("p,y\n")
    assert fitted("a[1].csv") == MODEL


# ---------------------------------------------------------------------- other formats and notations


def test_arrow_files() -> None:
    table = pa.table({"p": SCORES.astype(np.float32), "y": pa.array(LABELS).dictionary_encode()})
    pa.feather.write_feather(table, "a.feather", compression="lz4")
    assert fitted("a.feather") == bare(fb.UniformMassBinning(n_bins=5).fit(SCORES.astype(np.float32), LABELS).model_)
    Path("b.feather").write_bytes(Path("a.feather").read_bytes()[:500])
    assert refusal("fit", "b.feather").startswith("b.feather is not an Arrow IPC file, or it is damaged")
    Path("c").write_bytes(Path("a.feather").read_bytes())  # told by its first bytes
    assert open_table("c").names == ["p", "y"]
    opened = open_table("a.feather")
    pa.feather.write_feather(table.rename_columns(["q", "y"]), "a.feather")
    with pytest.raises(fb.InputError, match=r"^a\.feather was changed while it was read$"):
        fb.engines.fit(opened, score="p", label="y")


def test_decimal_commas() -> None:
    text = csv_of(slice(0, 3000)).replace(",", ";").replace(".", ",")
    Path("a.csv").write_text(text)
    assert fitted("a.csv", "--decimal", ",") == MODEL
    run("predict", "m.fbm", "a.csv", "--decimal", ",", "--seed", "1", "-o", "out.csv")
    lines = Path("out.csv").read_text().splitlines()
    assert [line.rpartition(";")[0] for line in lines] == text.splitlines()
    served = [float(line.rpartition(";")[2].replace(",", ".")) for line in lines[1:]]
    assert served == MODEL.predict(SCORES, seed=1).tolist()
    assert "." not in "".join(lines)
    # Quoted, since the delimiter is a comma as well.
    Path("b.csv").write_text("p,y\n" + '"0,25",0\n"0,75",1\n' * 50)
    assert refusal("fit", "b.csv", "--decimal", ",", "--delimiter", ",", code=2).startswith(
        "--delimiter and --decimal are both"
    )
    with pytest.raises(fb.InputError, match="decimal and delimiter are both ','"):
        open_table("b.csv", ",", decimal=",")
    with pytest.raises(fb.InputError, match="the decimal mark is"):
        open_table("b.csv", decimal=";")


def test_a_point_beside_decimal_commas_may_mean_thousands() -> None:
    Path("a.csv").write_text("p;y\n0,5;1\n1.000;1\n")
    message = "a.csv, line 3, column p: '1.000' is neither a number nor true or false (with a decimal comma)"
    assert refusal("fit", "a.csv", "--decimal", ",").startswith(message)
    Path("a.csv").write_text("p;y\n0,5;1\n")
    assert refusal("fit", "a.csv").startswith("a.csv, line 2, column p: '0,5' is neither a number")


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig"])
def test_other_encodings(encoding: str) -> None:
    text = csv_of(slice(0, 3000), "Güte,Ausgang", {0: "schlecht", 1: "schön"})
    Path("a.csv").write_bytes(text.encode(encoding))
    options = ("--encoding", encoding, "--score", "Güte", "--label", "Ausgang", "--positive", "schön")
    assert fitted("a.csv", *options) == MODEL
    run("predict", "m.fbm", "a.csv", "--encoding", encoding, "--score", "Güte", "--seed", "1", "-o", "out.csv")
    lines = Path("out.csv").read_text("utf8").splitlines()
    assert [line.rpartition(",")[0] for line in lines] == text.splitlines()
    piped = run("fit", "-", *options, "--method", "umd", "--n-bins", "5", "-q", "-o", "p.fbm", input=text.encode(encoding))
    assert piped.output == ""
    assert bare(fb.load("p.fbm")) == MODEL


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
@pytest.mark.parametrize("text", ["p,y\n0.5,1\n", "p,y"])
def test_a_named_pipe_is_closed_once_it_was_read(text: str, encoding: str) -> None:
    os.mkfifo("pipe.csv")
    writer = threading.Thread(target=Path("pipe.csv").write_text, args=(text,))
    writer.start()
    table = open_table("pipe.csv", encoding=encoding)
    assert sum(batch.num_rows for batch in table.batches()) == text.count("\n0")
    writer.join()
    assert table._file.closed


def test_wrong_encodings_are_told() -> None:
    Path("a.csv").write_bytes("Güte,y\n0.5,1\n".encode("latin-1"))
    assert refusal("fit", "a.csv").startswith("a.csv has a header that is not UTF-8; say which encoding it is in")
    Path("a.csv").write_bytes("p,y\n0.5,1\nü,1\n".encode("latin-1"))
    assert refusal("fit", "a.csv", "--encoding", "ascii").startswith("a.csv is not in the encoding ascii: ")
    for name in ("klingon", "base64"):
        assert refusal("fit", "a.csv", "--encoding", name).startswith(f"encoding is '{name}', which Python does not know")


# ---------------------------------------------------------------------- labels in words


@pytest.mark.parametrize(
    ("words", "positive"),
    [({0: "no", 1: "yes"}, "yes"), ({0: "good", 1: "NA"}, "NA"), ({0: "1", 1: "2"}, "2"), ({0: "", 1: "x"}, None)],
)
def test_labels_of_two_words(words: dict[int, str], positive: str | None) -> None:
    Path("a.csv").write_text(csv_of(slice(0, 3000), words=words))
    if positive is None:
        assert "the label is missing" in refusal("fit", "a.csv", "--positive", "x")
        return
    assert fitted("a.csv", "--positive", positive) == MODEL
    for column in (
        pa.array([words[label] for label in LABELS]),
        pa.array([words[label] for label in LABELS]).dictionary_encode(),
    ):
        pq.write_table(pa.table({"p": SCORES, "y": column}), "a.parquet")
        assert fitted("a.parquet", "--positive", positive) == MODEL
    assert (
        run("assess", "m.fbm", "a.csv", "--positive", positive).output
        == run("assess", "m.fbm", "a.parquet", "--positive", positive).output
    )
    assert "3,000 outcomes" in run("monitor", "m.fbm", "a.csv", "--positive", positive).output
    run("adapt", "m.fbm", "--target-labels", "a.csv", "--label", "y", "--positive", positive, "-q", "-o", "n.fbm")


@pytest.mark.parametrize(
    ("column", "positive"),
    [(LABELS + 1, "2"), (2.0 * LABELS - 1.0, "1"), (LABELS == 0, "false"), (LABELS.astype(np.int8), "1")],
)
def test_labels_of_two_numbers(column: Any, positive: str) -> None:
    pq.write_table(pa.table({"p": SCORES, "y": column}), "a.parquet")
    assert fitted("a.parquet", "--positive", positive) == MODEL


@pytest.mark.parametrize("positive", ["2", "2.0", " 2e0"])
@pytest.mark.parametrize("words", [{0: "1", 1: "2"}, {0: "1.0", 1: "2.0"}, {0: "no", 1: "2"}])
def test_numbers_that_are_written_otherwise(words: dict[int, str], positive: str) -> None:
    Path("a.csv").write_text(csv_of(slice(0, 3000), words=words))
    assert fitted("a.csv", "--positive", positive) == MODEL
    assert refusal("fit", "a.csv", "--positive", "3").endswith(SAY_POSITIVE)


def test_labels_that_are_not_two_values() -> None:
    Path("a.csv").write_text("p,y\n0.5,yes\n0.5,no\n0.5,maybe\n")
    assert refusal("fit", "a.csv", "--positive", "yes") == (
        "a.csv, line 4, column y: 'maybe' is neither 'yes' nor 'no'; labels have two values"
    )
    assert refusal("fit", "a.csv", "--positive", "Yes") == (
        "a.csv, line 3, column y: no label up to here is 'Yes': they are 'yes' and 'no', ...; did you mean 'yes'?"
    )
    assert refusal("fit", "a.csv", "--positive", "positive").endswith(f"they are 'yes' and 'no', ...; {SAY_POSITIVE}")
    Path("a.csv").write_text("p,y\n0.5,no\n0.5,no\n")
    assert refusal("fit", "a.csv", "--positive", "yes") == "a.csv, column y: no label is 'yes', all are 'no'"
    told = "a.csv, column y: no label is ' NO', all are 'no'; did you mean 'no'?"
    assert refusal("fit", "a.csv", "--positive", " NO") == told
    MODEL.save("m.fbm")
    assert "2 outcomes" in run("monitor", "m.fbm", "a.csv", "--positive", "yes").output  # a day without any is allowed
    Path("a.csv").write_text("p,y\n0.5,yes\n0.5,\n")
    assert refusal("fit", "a.csv", "--positive", "yes").startswith("a.csv, line 3, column y: the label is missing")
    pq.write_table(pa.table({"p": SCORES, "y": LABELS + 1}), "a.parquet")
    assert refusal("fit", "a.parquet", "--positive", "yes") == "a.parquet, column y: holds numbers, and 'yes' is none"
    assert "these are 1 and 2; give --positive with the value" in refusal("fit", "a.parquet")


def test_labels_in_words_without_positive_show_the_way() -> None:
    Path("a.csv").write_text("p,y\n0.5,yes\n0.5,no\n")
    pq.write_table(pa.table({"p": [0.5, 0.5], "y": ["yes", "no"]}), "a.parquet")
    for file in ("a.csv", "a.parquet"):
        for command in (["fit", file], ["assess", "m.fbm", file], ["monitor", "m.fbm", file]):
            MODEL.save("m.fbm")
            assert refusal(*command).endswith("give --positive with the value whose probability you want"), command


# ---------------------------------------------------------------------- little memory


@pytest.mark.sampled
@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited by Linux alone")
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("megabytes", [400, 450, 500, 550, 600, 700])
def test_little_memory_is_an_error_or_enough(suffix: str, megabytes: int) -> None:
    """Not a wait without end: a reader of PyArrow's waits for a thread that could not be started."""
    MODEL.save("m.fbm")
    rows = "".join(f"{score!r},{label}\n" for score, label in zip(SCORES.tolist(), LABELS.tolist(), strict=True))
    if suffix == ".csv":
        Path("a.csv").write_text("p,y\n" + rows * 400)
    else:
        pq.write_table(pa.table({"p": np.tile(SCORES, 400), "y": np.tile(LABELS, 400)}), "a.parquet", row_group_size=100_000)
    code = (
        f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({megabytes} * 2**20,) * 2)\n"
        "import sys; from fastbin.__main__ import main; sys.exit(main())"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, "predict", "m.fbm", f"a{suffix}", "--seed", "1", "-o", "out.csv"],
        capture_output=True, text=True, env=environment() | {"OPENBLAS_NUM_THREADS": "1"}, timeout=100,
    )  # fmt: skip
    if result.returncode == 0:
        assert len(Path("out.csv").read_text().splitlines()) == 1_200_001
    else:
        assert result.returncode == 1, result.stderr
        assert "emory" in result.stderr, result.stderr
        assert not Path("out.csv").exists()


def test_the_word_for_a_missing_value_is_text_like_any_other(tmp_path: Path) -> None:
    """NA is a country and a region. An empty field is missing."""
    rng = np.random.default_rng(0)
    scores, regions = rng.random(900), np.array(["NA", "EU", "nan"])[rng.integers(0, 3, 900)]
    labels = (rng.random(900) < scores).astype(int)
    path = tmp_path / "a.csv"
    rows = [f"{p},{y},{region}" for p, y, region in zip(scores.tolist(), labels, regions, strict=True)]
    path.write_text("p,y,region\n" + "\n".join(rows) + "\n")
    calibrator = fb.multi.SegmentedBinning(fb.UniformMassBinning(3))
    of_file = fb.engines.fit(str(path), calibrator=calibrator, score="p", label="y", segment="region")
    assert of_file.to_bytes() == calibrator.fit(scores, labels, regions).model_.to_bytes()
    counts = fb.engines.count(str(path), of_file["EU"], score="p", by="region")
    assert {name: part.n_samples for name, part in counts.groups.items()} == {
        name: int((regions == name).sum()) for name in ("EU", "NA", "nan")
    }
    cells = fb.engines.count(str(path), of_file, score="p", label="y", cell="region")
    assert cells.n_samples == 900
    path.write_text("p,y,region\n0.5,1,NA\n0.5,1,\n")
    with pytest.raises(fb.InputError, match="region is NULL in 1"):
        fb.engines.fit(str(path), calibrator=calibrator, score="p", label="y", segment="region")


@pytest.mark.parametrize("delimiter", ["\u00a7", "||", 7])
def test_a_delimiter_is_one_character_of_ascii(delimiter: Any, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("p,y\n0.5,1\n")
    with pytest.raises(fb.InputError, match=r"delimiter is .*; it is one character of ASCII"):
        open_table(tmp_path / "a.csv", delimiter)
