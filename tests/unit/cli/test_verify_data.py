"""`fastbin verify-data`, as it is typed: models, sets and files of every kind, exit codes, and refusals in one line."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from commands import run

import fastbin as fb

pytest.importorskip("pyarrow")

N = 400


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """rows.csv (p, y, word, w, v, region, ant, bee, cow, animal) in a folder of its own, and other.csv, where a row differs."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    scores, P = rng.random(N).round(4), rng.dirichlet([1.0, 1.0, 1.0], N)
    labels = (rng.random(N) < scores).astype(int)
    animals = [["ant", "bee", "cow"][rng.choice(3, p=p)] for p in P]
    lines = [
        f"{float(scores[i])!r},{labels[i]},{'bad' if labels[i] else 'good'},{1 + i % 3},{0.5 + i % 3},{7 + i % 2},"
        f"{','.join(map(repr, P[i].tolist()))},{animals[i]}"
        for i in range(N)
    ]  # fmt: skip
    head = "p,y,word,w,v,region,ant,bee,cow,animal"
    Path("rows.csv").write_text("\n".join([head, *lines]) + "\n")
    own = Path("rows.csv").read_text().splitlines()
    first = own[1].split(",")
    turned = [
        first[0],
        str(1 - int(first[1])),
        "good" if first[2] == "bad" else "bad",
        *first[3:-1],
        "cow" if first[-1] != "cow" else "ant",
    ]
    Path("other.csv").write_text("\n".join([own[0], ",".join(turned), *own[2:]]) + "\n")


SCORED = ("--score", "p", "--label", "y")
MATRIX = ("--classes", "ant,bee,cow", "--label", "animal")


@pytest.mark.parametrize(
    ("fit", "columns"),
    [
        ((), SCORED),
        (("--method", "umd", "--n-bins", "4"), SCORED),
        (("--method", "umd", "--n-bins", "4"), ("--score", "p", "--label", "word", "--positive", "bad")),
        (("--method", "ums", "--n-bins", "3", "--seed", "9"), (*SCORED, "--weights", "w")),
        (("--method", "isotonic"), (*SCORED, "--weights", "v")),
        (("--method", "beta"), SCORED),
        (("--method", "scaling-binning", "--scaler", "platt"), SCORED),
        (("--method", "fixed-width", "--n-bins", "4", "--score-range", "-1,2"), SCORED),
        (("--method", "umd", "--n-bins", "3"), (*SCORED, "--segment", "region")),
        ((), MATRIX),
        (("--class-wise", "--method", "umd", "--n-bins", "3"), MATRIX),
        (("--vectors",), MATRIX),
    ],
)
def test_a_file_gives_its_model_and_another_does_not(fit: tuple[str, ...], columns: tuple[str, ...]) -> None:
    run("fit", "rows.csv", *fit, *columns, "-q", "-o", "m.fbm")
    same = run("verify-data", "m.fbm", "rows.csv", *columns)
    sha256 = hashlib.sha256(Path("m.fbm").read_bytes()).hexdigest()
    assert f"samples give the model with the SHA-256 {sha256}." in same.stdout
    assert f"rows.csv: SHA-256 {hashlib.sha256(Path('rows.csv').read_bytes()).hexdigest()}." in same.stdout
    other = run("verify-data", "m.fbm", "other.csv", *columns, "--json", code=3)
    assert json.loads(other.stdout)["differences"]


def test_other_formats_and_pipes_give_the_same_bytes() -> None:
    pa, parquet, csv = (pytest.importorskip(f"pyarrow{name}") for name in ("", ".parquet", ".csv"))
    run("fit", "rows.csv", *SCORED, "-q", "-o", "m.fbm")
    table = csv.read_csv("rows.csv")
    parquet.write_table(table, "rows.parquet")
    Path("parts").mkdir()
    for number, start in enumerate((0, 150)):
        parquet.write_table(table.slice(start, 150 if number == 0 else N), f"parts/{number}.parquet")
    with pa.OSFile("rows.arrow", "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    for name in ("rows.parquet", "parts", "rows.arrow", "parts/*.parquet"):
        run("verify-data", "m.fbm", name, *SCORED)
    content = json.loads(run("verify-data", "m.fbm", "parts", *SCORED, "--json").stdout)
    assert [each["name"] for each in content["files"]] == ["0.parquet", "1.parquet"]
    rows = Path("rows.csv").read_bytes()
    content = json.loads(run("verify-data", "m.fbm", "-", *SCORED, "--json", input=rows).stdout)
    assert content["is_same"]
    assert content["files"] == [{"name": "standard input", "sha256": hashlib.sha256(rows).hexdigest()}]


def test_the_first_difference_is_told() -> None:
    run("fit", "rows.csv", *SCORED, "-q", "-o", "m.fbm", "--method", "umd")
    lines = Path("rows.csv").read_text().splitlines()
    Path("fewer.csv").write_text("\n".join(lines[:-1]) + "\n")
    result = run("verify-data", "m.fbm", "fewer.csv", *SCORED, code=3)
    assert (
        "Other bytes: the first difference is in the number of samples, 400 in the model and 399 from these rows."
        in result.stdout
    )
    assert "the fingerprint of the data" in result.stdout
    result = run("verify-data", "m.fbm", "other.csv", *SCORED, code=3)
    assert "the first difference is in the number with label 1" in result.stdout
    assert run("verify-data", "m.fbm", "other.csv", *SCORED, "-q", code=3).output == ""
    run("verify-data", "m.fbm", "rows.csv", *SCORED, "--weights", "w", code=3)


def test_a_model_in_json_will_do_and_an_export_will_not() -> None:
    run("fit", "rows.csv", *SCORED, "-q", "-o", "m.fbm", "--method", "umd")
    run("export", "m.fbm", "-o", "m.json")
    run("export", "m.fbm", "-o", "m.h")
    run("verify-data", "m.json", "rows.csv", *SCORED)
    refused = run("verify-data", "m.h", "rows.csv", *SCORED, code=1)
    assert "m.h is a header of C and does not hold the whole model; verify its file or JSON" in refused.stderr


def test_refusals_are_one_line() -> None:
    run("fit", "rows.csv", "--score", "p", "--label", "word", "--positive", "bad", "-q", "-o", "m.fbm", "--method", "umd")
    run("fit", "rows.csv", *SCORED, "--segment", "region", "-q", "-o", "set.fbm")
    edges = np.linspace(0.01, 0.99, 70)
    scores = np.linspace(0.0, 1.0, 700)
    fb.ExplicitBinning(edges=edges).fit(scores, scores > 0.5).model_.save("edges.fbm")
    fb.BinnedModel.from_parts(edges=[], values=[0.5]).save("bare.fbm")
    run("fit", "rows.csv", *SCORED, "--cluster", "region", "--method", "isotonic", "-q", "-o", "clusters.fbm")
    for arguments, complaint in (
        (("m.fbm", "rows.csv", "--score", "p", "--label", "word"), "give --positive"),
        (
            ("m.fbm", "rows.csv", "--score", "p", "--label", "word", "--positive", "good"),
            "the model gives the probability of 'bad'",
        ),
        (("set.fbm", "rows.csv", *SCORED), "say --segment COLUMN"),
        (("m.fbm", "rows.csv", *SCORED, "--segment", "region"), "leave out --segment"),
        (("edges.fbm", "rows.csv", *SCORED), "edges = an array of 70 entries"),
        (("edges.fbm", "rows.csv", *SCORED), "use fb.engines.verify_data, and its calibrator="),
        (("clusters.fbm", "rows.csv", *SCORED), "was fitted to one row of each cluster, which depends on the order"),
        (("bare.fbm", "rows.csv", *SCORED), "does not say how it came about"),
        (("m.fbm", "absent.csv", *SCORED), "absent.csv"),
        (("m.fbm", "rows.csv", "--score", "q", "--label", "y"), "q"),
    ):
        result = run("verify-data", *arguments, code=1)
        assert complaint in result.stderr
        assert len(result.stderr.splitlines()) == 1
    run("verify-data", "-", "-", *SCORED, code=2)
