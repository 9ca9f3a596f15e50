"""`fastbin plan`, and `fastbin fit --plan`, as they are typed."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest
from commands import in_a_process, run

import fastbin as fb

pytest.importorskip("pyarrow")

RNG = np.random.default_rng(5)
SCORES = RNG.random(4000)
LABELS = RNG.random(4000) < SCORES


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """scores.csv (customer, p) in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    lines = [f"c{i},{score!r}" for i, score in enumerate(SCORES.tolist())]
    Path("scores.csv").write_text("\n".join(["customer,p", *lines]) + "\n")


def label_rows(name: str) -> None:
    """Add the rows that are asked for, with their labels, to labelled.csv."""
    with open("next.csv") as file:
        rows = [row[name] for row in csv.DictReader(file)]
    old = Path("labelled.csv").read_text().splitlines()[1:] if Path("labelled.csv").exists() else []
    new = [f"{row},{'yes' if LABELS[int(row.removeprefix('c'))] else 'no'}" for row in rows]
    Path("labelled.csv").write_text("\n".join([f"{name},outcome", *old, *new]) + "\n")


@pytest.mark.skipif(not os.path.exists("/dev/stdin"), reason="the standard input has no name")
def test_a_pipe_with_a_name_is_a_table_from_its_first_byte_on() -> None:
    given = ["--budget", "50", "--seed", "1", "-o"]
    (ended,) = in_a_process(["plan", "/dev/stdin", *given, "piped.json"], input=Path("scores.csv").read_text())
    assert (ended.code, ended.stderr) == (0, "")
    run("plan", "scores.csv", *given, "plain.json")
    assert Path("piped.json").read_bytes() == Path("plain.json").read_bytes()


@pytest.mark.parametrize(("name", "given"), [("customer", ["--id", "customer"]), ("row", [])])
def test_from_scores_to_a_certificate(name: str, given: list[str]) -> None:
    result = run("plan", "scores.csv", *given, "--epsilon", "0.15", "--n-bins", "3", "-o", "plan.json", "--rows", "next.csv")
    assert "0 labels are known, and 0 of 3 bins are done" in result.stdout
    for _ in range(20):
        label_rows(name)
        result = run("plan", "plan.json", "--labels", "labelled.csv", "--positive", "yes", "--rows", "next.csv")
        if "All 3 bins are done" in result.stdout:
            break
    plan = fb.decide.LabelPlan.load("plan.json")
    assert plan.done
    before = Path("plan.json").read_bytes()
    again = run("plan", "scores.csv", "--epsilon", "0.15", "-o", "plan.json", code=1)
    told = " ".join(again.output.split())
    assert f"plan.json is a plan with {plan.counts.sum():,} labels, which a new plan would destroy" in told
    assert Path("plan.json").read_bytes() == before
    assert "of 'yes' in each is within 0.1" in result.stdout
    fitted = run("fit", "labelled.csv", "--plan", "plan.json", "--positive", "yes", "-o", "m.fbm")
    assert "With probability at least 90 %" in fitted.stdout
    assert fb.load("m.fbm") == plan.model_
    assert fb.load("m.fbm").certificate().epsilon <= 0.15


def test_json_and_the_bins_of_a_model() -> None:
    fb.UniformMassBinning(n_bins=4).fit(SCORES, LABELS).model_.save("m.fbm")
    result = run("plan", "scores.csv", "--budget", "40", "--bins-of", "m.fbm", "-o", "plan.json", "--json")
    said = json.loads(result.stdout)
    assert len(said["bins"]) == 4
    assert said["forecast"] == {"expected": 40, "least": 40, "most": 40}
    assert run("plan", "plan.json", "--rows", "-").stdout.split() == ["row", *map(str, said["rows"])]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["scores.csv", "--labels", "scores.csv"], 1, "scores.csv holds no plan of labels, which --labels goes with"),
        (["plan.json", "--epsilon", "0.1"], 2, "--epsilon is for a new plan, and FILE is one; leave it out"),
        (["plan.json", "--labels", "wrong.csv"], 1, "wrong.csv, line 2, column row: the value is '-5', which the plan has not"),
        (["plan.json", "--labels", "three.csv"], 1, "three.csv: say --id COLUMN, which tells the rows; it has a, b, y"),
        (["scores.csv", "--budget", "9", "--rows", "-", "--json"], 2, "would both write to standard output; name a file"),
        (["scores.csv"], 1, "--epsilon and --budget are both missing; give --epsilon"),
        (
            ["scores.csv", "--budget", "9", "--bins-of", "m.fbm", "--n-bins", "3"],
            2,
            "--n-bins and --bins-of exclude each other",
        ),
    ],
)
def test_what_is_refused(arguments: list[str], code: int, message: str) -> None:
    fb.decide.plan_labels(SCORES, budget=40).save("plan.json")
    before = Path("plan.json").read_bytes()
    Path("wrong.csv").write_text("row,y\n-5,1\n")
    Path("three.csv").write_text("a,b,y\n1,2,1\n")
    assert message in run("plan", *arguments, code=code).output
    assert Path("plan.json").read_bytes() == before


def test_a_fit_of_a_plan_that_is_not_done_or_with_options_of_others() -> None:
    plan = fb.decide.plan_labels(SCORES, budget=20)
    plan.save("plan.json")
    row = int(plan.rows()[0])
    Path("labelled.csv").write_text(f"row,y\n{row},1\n")
    for arguments, code, message in (
        (["--plan", "plan.json"], 1, "plan.json is not done; 19 labels are still missing"),
        (["--plan", "plan.json", "--method", "umd"], 2, "--method does not go with --plan"),
        (["--id", "row"], 2, "--id goes with --plan"),
    ):
        assert message in run("fit", "labelled.csv", *arguments, code=code).output
