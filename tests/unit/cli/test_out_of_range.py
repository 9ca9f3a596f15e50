"""The command line with models that clip scores to their range."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from commands import run

import fastbin as fb
from fitting import bare


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scores = np.round(np.linspace(0.0, 1.0, 400), 2)
    write("s.csv", ["score,label", *(f"{s!r},{i % 3 // 2}" for i, s in enumerate(scores.tolist()))])


def write(name: str, lines: list[str]) -> None:
    Path(name).write_text("\n".join(lines) + "\n")


def calibrated(name: str = "out.csv") -> list[float]:
    with open(name, newline="") as file:
        return [float(row["calibrated"]) for row in csv.DictReader(file)]


@pytest.mark.parametrize("method", ["umd", "ums", "fixed-width", "scaling-binning", "isotonic"])
def test_scores_beyond_the_range_get_the_answer_of_its_end(method: str) -> None:
    write("new.csv", ["id,score", "a,-0.5", "b,0", "c,0.3", "d,1", "e,1.7"])
    bins = [] if method == "isotonic" else ["--n-bins", "4"]
    run("fit", "s.csv", "--method", method, *bins, "-o", "refusing.fbm")
    told = run("predict", "refusing.fbm", "new.csv", "--seed", "1", "-o", "out.csv", code=1).output
    assert "line 2" in told
    assert "nearest end's answer, fit with --out-of-range clip\n" in told
    run("fit", "s.csv", "--method", method, *bins, "--out-of-range", "clip", "-o", "m.fbm")
    model = fb.load("m.fbm")
    assert bare(model) == bare(fb.load("refusing.fbm").with_out_of_range("clip"))  # which says that it was changed
    run("predict", "m.fbm", "new.csv", "--seed", "1", "-o", "out.csv")
    assert calibrated() == model.predict([0.0, 0.0, 0.3, 1.0, 1.0], seed=1).tolist()
    told = run("inspect", "m.fbm").output
    assert "Finite scores outside the range are clipped: those below 0 are taken as 0, and those above 1 as 1." in told
    assert "clipped" not in run("inspect", "refusing.fbm").output
    assert json.loads(run("inspect", "m.fbm", "--json").output)["out_of_range"] == "clip"
    assert json.loads(run("inspect", "refusing.fbm", "--json").output)["out_of_range"] == "refuse"


def test_the_maps_have_no_policy() -> None:
    told = run("fit", "s.csv", "--method", "platt", "--out-of-range", "clip", code=2).output
    assert "--method platt does not support --out-of-range" in told
    assert "--out-of-range" in run("fit", "s.csv", "--out-of-range", "clamp", code=2).output


def test_a_clipped_score_on_an_edge_needs_its_key() -> None:
    """Beyond the end of the range, where a boundary divides the end by keys."""
    fb.BinnedModel.from_parts(edges=[1.0], edge_keys=[2**63], values=[0.25, 0.75], out_of_range="clip").save("m.fbm")
    write("new.csv", ["id,score", *(f"{i},{score}" for i in range(50) for score in (1.0, 1.5))])
    run("predict", "m.fbm", "new.csv", "--tie-key", "id", "--salt", "pepper", "-o", "out.csv")
    expected = fb.load("m.fbm").predict(np.ones(50), tie_keys=fb.hash_keys(range(50), "pepper")).tolist()
    assert calibrated()[::2] == calibrated()[1::2] == expected
    assert set(expected) == {0.25, 0.75}
