"""``fastbin assess FILE --predictions``: probabilities in a column are tested without a model."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from commands import run

import fastbin as fb
from fastbin.assess.verdict import NEW_ROWS

RNG = np.random.default_rng(0)
PD = np.repeat([0.02, 0.05, 0.1], [400, 300, 300])
GRADES = np.repeat(["A", "B", "C"], [400, 300, 300])
ONES = np.concatenate([np.arange(n) < ones for n, ones in ((400, 12), (300, 15), (300, 60))])


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{g},{p},{int(y)}" for g, p, y in zip(GRADES, PD.tolist(), ONES, strict=True)]
    Path("t.csv").write_text("\n".join(["grade,pd,y", *rows]) + "\n")


assess = partial(run, "assess")


def test_the_answer_is_that_of_the_library() -> None:
    found = assess("t.csv", "--predictions", "pd", "--label", "y", "--by", "grade")
    expected = fb.assess.assess(PD, ONES, GRADES)
    assert found.stdout.strip() == str(expected)
    assert "predictions are too low in C" in found.stdout
    assert NEW_ROWS.rstrip(".") in found.stdout
    told = json.loads(assess("t.csv", "--predictions", "pd", "--by", "grade", "--side", "upper", "--json").stdout)
    upper = fb.assess.assess(PD, ONES, GRADES, side="upper").to_dict()
    source = told.pop("source")
    assert told == json.loads(json.dumps(upper))
    assert source["columns"] == {"prediction": "pd", "label": "y", "grade": "grade"}
    assert source["files"][0]["sha256"] == hashlib.sha256(Path("t.csv").read_bytes()).hexdigest()
    assert round(told["figures"]["tables"]["grades"][0]["jeffreys"], 5) == 0.08307
    assess("t.csv", "--predictions", "pd", "--by", "grade", "--exit-code", code=3)
    assess("t.csv", "--predictions", "pd", "--by", "grade", "--exit-code", "--test-level", "1e-9")


def test_without_a_seed_the_rows_of_clusters_are_drawn() -> None:
    options = ["--predictions", "pd", "--label", "y", "--cluster", "grade", "--json"]
    first, again = (json.loads(assess("t.csv", *options).stdout)["clusters"]["seed"] for _ in range(2))
    assert first != again
    assert "chosen by --seed, or without it by a seed that is drawn." in " ".join(assess("--help").stdout.split())


def test_segments_correlation_and_standard_input() -> None:
    options = ["--predictions", "pd", "--label", "y", "--segment", "grade", "--asset-correlation", "0.1", "--json"]
    told = json.loads(assess("t.csv", *options).stdout)
    assert [row["segment"] for row in told["figures"]["tables"]["segments"]] == ["A", "B", "C"]
    assert told["options"]["asset_correlation"] == 0.1
    piped = assess("-", *options, input=Path("t.csv").read_text())
    again = json.loads(piped.stdout)
    assert again["figures_sha256"] == told["figures_sha256"]
    assert again["source"]["files"] == [{"name": "standard input", "sha256": told["source"]["files"][0]["sha256"]}]


def test_parquet_has_the_same_answer() -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table({"grade": GRADES, "pd": PD, "y": ONES}), "t.parquet")
    options = ["--predictions", "pd", "--label", "y", "--by", "grade"]
    assert assess("t.parquet", *options).stdout == assess("t.csv", *options).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["m.fbm", "t.csv", "--predictions", "pd"], "there is no MODEL"),
        (["t.csv"], "Missing argument 'FILE'"),
        (["m.fbm", "t.csv", "--by", "grade"], "--by is about the column of --predictions"),
        (["m.fbm", "t.csv", "--cluster", "g"], "--cluster is about the column of --predictions"),
        (["t.csv", "--predictions", "pd", "--score", "pd"], "--score is about a MODEL"),
        (["t.csv", "--predictions", "pd", "--classes", "pd,y"], "--classes is about a MODEL"),
        (["t.csv", "--predictions", "pd", "--against", "m.fbm"], "--against is about a MODEL"),
        (["t.csv", "--predictions", "pd", "--asset-correlation", "1.5"], "nothing"),
        (["t.csv", "--predictions", "nothing"], "nothing"),
        (["t.csv", "--predictions", "pd", "--by", "nothing"], "nothing"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments: list[str], message: str) -> None:
    found = assess(*arguments, code=1 if message == "nothing" else 2)
    assert ("--asset-correlation is 1.5" if "1.5" in arguments else message) in found.stderr


@pytest.mark.parametrize(("option", "role"), [("--by", "grade"), ("--cluster", "cluster"), ("--day", "day")])
def test_the_label_is_nothing_else(option: str, role: str) -> None:
    refused = assess("t.csv", "--predictions", "pd", "--label", "y", option, "y", code=1)
    assert f"the column 'y' is both label and {role}" in refused.stderr


def test_bad_values_are_told_by_their_line() -> None:
    Path("bad.csv").write_text("grade,pd,y\nA,0.1,0\nA,1.5,1\n")
    assert "line 3, column pd" in assess("bad.csv", "--predictions", "pd", code=1).stderr
    Path("bad.csv").write_text("grade,pd,y\nA,0.1,0\n,0.5,1\n")
    assert "column grade: the value is missing" in assess("bad.csv", "--predictions", "pd", "--by", "grade", code=1).stderr
