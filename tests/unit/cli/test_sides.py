"""Options --side and --cluster: promises of one side, and rows that come in clusters."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run

import fastbin as fb

RNG = np.random.default_rng(0)
CUSTOMER = np.repeat(np.arange(600), 3)
SCORES = np.round(RNG.random(1800), 6)
LABELS = RNG.random(1800) < np.clip(SCORES + np.repeat(RNG.normal(0.0, 0.3, 600), 3), 0.0, 1.0)


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    columns = zip(CUSTOMER.tolist(), SCORES.tolist(), LABELS.tolist(), strict=True)
    rows = [f"c{c},{s},{int(y)},{'AB'[s > 0.5]}" for c, s, y in columns]
    Path("t.csv").write_text("\n".join(["customer,p,y,grade", *rows]) + "\n")
    Path("new.csv").write_text("\n".join(["customer,p,y,grade", *rows[::2]]) + "\n")


def told(*arguments: str) -> Any:
    found = run(*arguments, "--json")
    return json.loads(found.stdout)


def model(**parameters: Any) -> fb.BinnedModel:
    return fb.UniformMassBinning(n_bins=4, **parameters).fit(SCORES, LABELS).model_


@pytest.mark.parametrize("side", ["upper", "lower"])
def test_fit_inspect_and_assess_show_the_promise_of_a_side(side: str) -> None:
    said = str(model().certificate(side=side))
    fit = run("fit", "t.csv", "--score", "p", "--label", "y", "--method", "umd", "--n-bins", "4", "-o", "m.fbm", "--side", side)
    assert said in fit.output
    assert said in run("inspect", "m.fbm", "--side", side).stdout
    found = told("inspect", "m.fbm", "--side", side)
    assert found["certificate"]["side"] == side
    assert found["certificate"]["epsilon"] == model().certificate(side=side).epsilon
    assert {row["lower" if side == "upper" else "upper"] for row in found["bins"]} == {0.0 if side == "upper" else 1.0}
    assert "side" not in told("inspect", "m.fbm")["certificate"]
    assessed = told("assess", "m.fbm", "new.csv", "--score", "p", "--label", "y", "--side", side, "--group", "grade")
    assert [each["side"] for each in assessed["certificates"]] == [side] * 2
    assert {tuple(row["claim"])[side == "lower"] for row in assessed["check"]["bins"]} == {float(side == "lower")}
    assert said in run("assess", "m.fbm", "new.csv", "--score", "p", "--label", "y", "--side", side).stdout


def test_bins_of_one_side() -> None:
    found = told("bins", "--n", "3000", "--n-bins", "10", "--side", "upper")
    assert found["side"] == "upper"
    assert set(found["rows"][0]) == {"n_bins", "samples_per_bin", "conditional", "marginal"}
    assert found["rows"][0]["conditional"] == fb.epsilon(3000, 10, 0.1, side="upper")
    both = told("bins", "--n", "3000", "--n-bins", "10")
    assert "side" not in both
    assert both["rows"][0]["conditional"] == fb.epsilon(3000, 10, 0.1)
    words = run("bins", "--n", "3000", "--side", "lower").stdout
    assert "how far the truth is below the value at most" in words
    assert "formula (8)" not in words
    run("bins", "--n", "3000", "--side", "lower", "--epsilon", "0.1", code=2)


def test_vector_models_have_both_sides() -> None:
    rng = np.random.default_rng(1)
    P = rng.dirichlet(np.ones(3), 300)
    fb.multi.VectorCalibration().fit(P, [int(rng.choice(3, p=row)) for row in P]).model_.save("v.fbm")
    found = run("inspect", "v.fbm", "--side", "upper", code=1)
    assert "whose promise is about both sides; leave out --side" in found.output
    refused = run("fit", "t.csv", "--classes", "p,y", "--label", "grade", "--vectors", "--side", "upper", code=2)
    assert "--side does not go with --vectors" in refused.output


# ---------------------------------------------------------------------- clusters


def test_fit_takes_one_row_of_each_cluster() -> None:
    found = run("fit", "t.csv", "--score", "p", "--label", "y", "--method", "umd", "--n-bins", "4", "--cluster", "customer",
                "--seed", "7", "-o", "m.fbm")  # fmt: skip
    kept = fb.assess.one_per_cluster([f"c{c}" for c in CUSTOMER.tolist()], seed=7)
    expected = fb.UniformMassBinning(n_bins=4, seed=7).fit(SCORES[kept], LABELS[kept]).model_
    made = fb.BinnedModel.load("m.fbm")
    assert made.same_map(expected)
    np.testing.assert_array_equal(made.counts, expected.counts)
    assert made.n_samples == 600
    assert made.provenance is not None
    assert made.provenance["made_by"][-1] == {"function": "one_per_cluster", "seed": 7}
    assert "> one_per_cluster(seed=7), " in " ".join(run("inspect", "m.fbm").output.split())
    assert "1,800 rows of 600 clusters" in found.output
    assert "the design effect is 1." in found.output
    assert "one row of each was taken, by seed 7" in found.output
    assert str(expected.certificate()) in found.output


def test_the_seed_of_a_choice_is_drawn_unless_it_is_said() -> None:
    for asked in (
        ("fit", "t.csv", "--score", "p", "--label", "y", "--method", "umd", "--cluster", "customer", "-o", "m.fbm"),
        ("assess", "t.csv", "--predictions", "p", "--label", "y", "--cluster", "customer"),
    ):
        seeds = {re.findall(r"one row of each was taken, by seed (\d+)", run(*asked).output)[0] for _ in range(2)}
        assert len(seeds) == 2, seeds


@pytest.mark.parametrize(
    "options",
    [["--segment", "grade"], ["--weights", "y"], ["--threads", "2"], ["--plan", "p.json"], ["--sampling-rate", "0.1"]],
    ids=lambda each: each[0],
)
def test_clusters_do_not_go_with_other_designs(options: list[str]) -> None:
    found = run("fit", "t.csv", "--score", "p", "--label", "y", "--method", "umd", "--cluster", "customer", *options, code=2)
    assert "--cluster does not go with" in found.output


def test_predictions_in_clusters() -> None:
    names, grades = [f"c{c}" for c in CUSTOMER.tolist()], np.where(SCORES > 0.5, "B", "A")
    with pytest.warns(fb.FastbinWarning, match="rows of a cluster agree"):
        check = fb.assess.check_predictions(SCORES, LABELS, grades, cluster=names, seed=7)
    intervals = fb.assess.cluster_intervals(SCORES, LABELS, names, grades, seed=7)
    asked = "assess", "t.csv", "--predictions", "p", "--label", "y", "--by", "grade", "--cluster", "customer", "--seed", "7"
    words = run(*asked).stdout
    assert words.startswith(str(check))
    assert str(intervals) in words
    assert f"{check.clusters}." in words
    found = told(*asked)
    assert found["cluster"] == "customer"
    assert found["intervals"] == json.loads(json.dumps(intervals.to_dict()))
    assert found["clusters"]["n_clusters"] == 600
    assert found["grades"] == json.loads(json.dumps(check.to_dict()["grades"]))


def test_a_cluster_is_of_predictions() -> None:
    model().save("m.fbm")
    found = run("assess", "m.fbm", "t.csv", "--score", "p", "--label", "y", "--cluster", "customer", code=2)
    assert "--cluster is about the column of --predictions" in found.output


def test_a_missing_cluster_is_named_by_its_place() -> None:
    Path("t.csv").write_text("customer,p,y\na,0.1,0\n,0.2,1\n")
    found = run("assess", "t.csv", "--predictions", "p", "--label", "y", "--cluster", "customer", code=1)
    assert "column customer: the value is missing" in found.output
