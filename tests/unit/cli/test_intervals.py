"""The command line prints the same intervals and the same certificate of a file, whichever command is asked."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run

import fastbin as fb
from fastbin import shift
from oracle import REPOSITORY

ALPHA = 0.07
RNG = np.random.default_rng(8)
SCORES = RNG.permutation(1200) / 1200
LABELS = (RNG.random(1200) < SCORES).astype(int)
OUTCOMES = [1] * 10 + [0] * 90

FITS = [
    ["--method", "umd", "--n-bins", "6"], ["--method", "ze", "--n-bins", "4"], ["--method", "ums", "--n-bins", "6"],
    ["--method", "umb", "--n-bins", "4"], ["--method", "fixed-width", "--n-bins", "5"],
    ["--method", "scaling-binning", "--n-bins", "6"], ["--n-bins", "6", "--monotone"], ["--n-bins", "6", "--delta", "0.01"],
]  # fmt: skip
MOVES = [
    ["--target-labels", "t.csv"], ["--target-labels", "t.csv", "--smoothing", "add-half"],
    ["--target-labels", "none.csv", "--smoothing", "add-half"], ["--target-labels", "t.csv", "--source-rate", "0.4"],
    ["--target-rate", "0.02"], ["--target-rate", "0.02", "--source-rate", "0.4"], ["--target-rate", "0.00002"],
]  # fmt: skip


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    rows = (f"{score!r},{label}" for score, label in zip(SCORES.tolist(), LABELS.tolist(), strict=True))
    Path("s.csv").write_text("p,y\n" + "\n".join(rows) + "\n")
    Path("t.csv").write_text("y\n" + "\n".join(map(str, OUTCOMES)) + "\n")
    Path("none.csv").write_text("y\n" + "0\n" * 50)


def printed_ends(text: str) -> list[tuple[str, str]]:
    """The interval column of a table, as it is printed."""
    return re.findall(r"^ *\d+ .* (\S+) to (\S+) *$", text, re.MULTILINE)


def check_file(path: str, shown: str) -> fb.BinnedModel:
    """The end that another command has shown of a file is what `inspect`, `predict` and Python say of it."""
    model = fb.load(path)
    ends = model.interval(ALPHA)
    told = json.loads(run("inspect", path, "--alpha", str(ALPHA), "--json").stdout)
    assert [[entry["lower"], entry["upper"]] for entry in told["bins"]] == ends.tolist()
    certificate = model.certificate(ALPHA)
    assert told["certificate"] == {"sentence": str(certificate), **json.loads(json.dumps(certificate.to_dict()))}
    inspected = run("inspect", path, "--alpha", str(ALPHA)).stdout
    for text in (shown, inspected):
        assert str(certificate) in re.sub(r"\s+", " ", text)
        printed = printed_ends(text)
        assert len(printed) == model.n_bins
        np.testing.assert_allclose(np.array(printed, float), ends, rtol=1.01e-3, atol=1.01e-4)
        lower, upper = np.array(printed, float).T
        assert (lower <= ends[:, 0] + 1e-12).all()
        assert (upper >= ends[:, 1] - 1e-12).all()
    assert printed_ends(shown) == printed_ends(inspected)
    predicted = run("predict", path, "s.csv", "--score", "p", "--interval", str(ALPHA), "--seed", "1").stdout
    rows = list(csv.DictReader(predicted.splitlines()))
    served = np.array([[row["calibrated"], row["calibrated_lower"], row["calibrated_upper"]] for row in rows], float)
    bins = model.assign(SCORES, seed=1)
    assert len(np.unique(bins)) == model.n_bins
    np.testing.assert_array_equal(served, np.column_stack([model.predict(SCORES, seed=1), ends[bins]]))
    options = ["--score", "p", "--label", "y", "--interval-alpha", str(ALPHA), "--json"]
    watched = json.loads(run("monitor", path, "s.csv", *options).stdout)
    wide = np.stack([np.maximum(ends[:, 0] - model.delta, 0.0), np.minimum(ends[:, 1] + model.delta, 1.0)], axis=1)
    assert [entry["tolerated"] for entry in watched["bins"]] == wide.tolist()
    return model


@pytest.mark.parametrize("options", FITS, ids=" ".join)
def test_after_fit(options: list[str]) -> None:
    check_file("m.fbm", run("fit", "s.csv", "--method", "umd", *options, "--alpha", str(ALPHA), "-o", "m.fbm").stdout)


@pytest.mark.parametrize("move", MOVES, ids=" ".join)
def test_after_adapt(move: list[str]) -> None:
    run("fit", "s.csv", "--method", "umd", "--n-bins", "6", "-o", "m.fbm", "-q")
    model = check_file("new.fbm", run("adapt", "m.fbm", *move, "--alpha", str(ALPHA), "-o", "new.fbm").stdout)
    source = fb.load("m.fbm")
    # Moving the source's intervals by the odds alone, as 0.1.0 did, gives others; but where both rates are given.
    odds = source.interval(ALPHA) / (1.0 - source.interval(ALPHA)) * model.odds_ratio
    both_given = "--target-rate" in move and "--source-rate" in move
    assert np.allclose(model.interval(ALPHA), odds / (1.0 + odds), rtol=1e-9) == both_given


def test_how_the_rates_are_known_is_told_everywhere() -> None:
    run("fit", "s.csv", "--method", "umd", "--n-bins", "6", "-o", "m.fbm", "-q")
    ones = int(LABELS.sum())
    of_source = f"the source rate {ones / 1200:.6g} was counted on 1,200 labels, {ones} of them 1; "
    texts = {
        "--target-labels t.csv": "the target rate 0.1 was counted on 100 labels, 10 of them 1.",
        "--target-rate 0.02": "the target rate 0.02 was given, and is taken as exact.",
        "--target-scores s.csv --score p": "was estimated from 1,200 scores without labels, so intervals do not exist.",
    }
    for move, of_target in texts.items():
        shown = re.sub(r"\s+", " ", run("adapt", "m.fbm", *move.split(), "-o", "new.fbm").stdout)
        inspected = re.sub(r"\s+", " ", run("inspect", "new.fbm").stdout)
        for text in (shown, inspected):
            assert of_source in text
            assert of_target in text
    smoothed = run("adapt", "m.fbm", "--target-labels", "none.csv", "--smoothing", "add-half", "-o", "new.fbm").stdout
    assert "was counted on 50 labels, 0 of them 1, with half a sample more of either label" in re.sub(r"\s+", " ", smoothed)


def test_inspect_tells_programs_what_the_file_carries() -> None:
    run("fit", "s.csv", "--method", "umd", "--n-bins", "6", "-o", "m.fbm", "-q")
    run("adapt", "m.fbm", "--target-labels", "t.csv", "-o", "new.fbm", "-q")
    told: dict[str, Any] = {path: json.loads(run("inspect", path, "--json").stdout) for path in ("m.fbm", "new.fbm")}
    assert told["m.fbm"]["rates"] is None
    ones = int(LABELS.sum())
    assert told["new.fbm"]["rates"] == {
        "source": {"origin": "counted", "rate": ones / 1200, "n_samples": 1200, "n_positive": ones},
        "target": {"origin": "counted", "rate": 0.1, "n_samples": 100, "n_positive": 10},
    }
    assert told["m.fbm"]["out_of_range"] == "refuse"
    assert int(told["m.fbm"]["fingerprint"], 16) == fb.load("m.fbm").fingerprint != 0
    for path, content in told.items():
        assert content["sha256"] == hashlib.sha256(Path(path).read_bytes()).hexdigest()
    fb.load("m.fbm").with_out_of_range("clip").save("clip.fbm")
    assert json.loads(run("inspect", "clip.fbm", "--json").stdout)["out_of_range"] == "clip"
    assert "those below 0 are taken as 0, and those above 1 as 1." in run("inspect", "clip.fbm").stdout
    fb.BinnedModel.from_parts(edges=[0.5], values=[0.1, 0.9]).save("bare.fbm")
    assert json.loads(run("inspect", "bare.fbm", "--json").stdout)["fingerprint"] is None


@pytest.mark.parametrize("name", ["label-shift", "label-shift-known"])
def test_a_moved_file_of_0_1_0_shows_the_refusal(name: str) -> None:
    path = str(REPOSITORY / f"tests/golden/0.1.0/models/{name}.fbm")
    with pytest.raises(fb.GuaranteeError) as refusal:
        fb.load(path).interval(ALPHA)
    inspected = re.sub(r"\s+", " ", run("inspect", path).stdout)
    assert f"No certificate: {refusal.value}" in inspected
    assert "the file does not say how the class rates are known (fastbin 0.1.0)" in inspected
    assert "interval " not in inspected.partition("No certificate")[0]
    told = json.loads(run("inspect", path, "--json").stdout)
    assert told["certificate"] is None
    assert told["why_no_certificate"] == f"No certificate: {refusal.value}"
    assert not any("lower" in entry for entry in told["bins"])
    result = run("predict", path, "s.csv", "--score", "p", "--interval", "0.1", code=1)
    assert str(refusal.value) in result.stderr


@pytest.mark.parametrize("method", ["isotonic", "platt", "beta"])
def test_methods_without_intervals_refuse_in_the_same_words(method: str) -> None:
    shown = re.sub(r"\s+", " ", run("fit", "s.csv", "--method", method, "-o", "m.fbm").stdout)
    with pytest.raises(fb.GuaranteeError) as refusal:
        fb.load("m.fbm").interval(0.1)
    assert f"No certificate: {refusal.value}" in shown
    assert f"No certificate: {refusal.value}" in re.sub(r"\s+", " ", run("inspect", "m.fbm").stdout)
    result = run("predict", "m.fbm", "s.csv", "--score", "p", "--interval", "0.1", code=1)
    assert result.stderr == f"error: {refusal.value}\n"


def test_reports_say_how_the_rates_are_known() -> None:
    from fastbin.report import assess_model

    source = fb.UniformMassBinning(6).fit(SCORES, LABELS)
    cal = shift.LabelShift(source).fit(labels=OUTCOMES)
    told = " | ".join(assess_model(cal, SCORES, LABELS).cautions)
    assert "the target rate 0.1 was counted on 100 labels, 10 of them 1" in told
    assert "taken as known" not in told
