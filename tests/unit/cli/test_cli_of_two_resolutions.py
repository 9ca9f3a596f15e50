"""Two resolutions and whole ties on the command line: it says what Python says of the model, its file and its pickle."""

from __future__ import annotations

import csv
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run

import fastbin as fb
from fastbin._base.shown import outwards_as
from fastbin.cli import fit

N = 1500
RNG = np.random.default_rng(3)
SCORES = RNG.random(N)
LABELS = (RNG.random(N) < SCORES).astype(int)
TEST_SCORES = RNG.random(N)
TEST_LABELS = (RNG.random(N) < TEST_SCORES).astype(int)
pytestmark = pytest.mark.filterwarnings("ignore:ties left", "ignore:ties='whole' left")


def write(name: str, scores: np.ndarray, labels: np.ndarray) -> None:
    rows = "".join(f"{score!r},{label}\n" for score, label in zip(scores.tolist(), labels.tolist(), strict=True))
    Path(name).write_text("p,y\n" + rows)


@pytest.fixture(params=["fine", "tied", "whole"])
def model(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> fb.BinnedModel:
    """The model in c.fbm, fitted by the command line; the test rows are in t.csv."""
    monkeypatch.chdir(tmp_path)
    scores, test_scores = (SCORES, TEST_SCORES) if request.param == "fine" else (SCORES.round(1), TEST_SCORES.round(1))
    write("s.csv", scores, LABELS)
    write("t.csv", test_scores, TEST_LABELS)
    method = "umd" if request.param == "whole" else "certified"
    run("fit", "s.csv", "--method", method, "--n-bins", "5", "-q", "-o", "c.fbm")
    calibrator = fb.UniformMassBinning(5) if method == "umd" else fb.CertifiedCalibration(5)
    fitted: fb.BinnedModel = calibrator.fit(scores, LABELS).model_
    assert fitted.has_steps == (method == "certified")
    assert (fitted.ties == "whole") == (request.param != "fine")
    for same in (fb.load("c.fbm"), fb.BinnedModel.from_bytes(fitted.to_bytes()), pickle.loads(pickle.dumps(fitted))):
        assert same == fitted
        assert same.certificate() == fitted.certificate()
        np.testing.assert_array_equal(same.interval(), fitted.interval())
    return fitted


@pytest.mark.parametrize("in_memory", [True, False])
def test_the_default_is_that_of_the_documents(in_memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CertifiedCalibration, without a word about the method."""
    monkeypatch.chdir(tmp_path)
    write("s.csv", SCORES, LABELS)
    if not in_memory:
        monkeypatch.setattr(fit, "ROWS_AS_ARRAYS", 500)
    run("fit", "s.csv", "-o", "m.fbm")
    assert fb.load("m.fbm") == fb.CertifiedCalibration().fit(SCORES, LABELS).model_
    run("fit", "s.csv", "--method", "umd", "-o", "m.fbm")
    assert fb.load("m.fbm") == fb.UniformMassBinning().fit(SCORES, LABELS).model_


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize(
    ("options", "configuration"),
    [
        ([], {}),
        (["--n-bins", "7", "--seed", "3"], {"n_bins": 7, "seed": 3}),
        (
            ["--values", "beta", "--recentre", "full", "--no-monotone"],
            {"values": "beta", "recentre": "full", "monotone": False},
        ),
        (["--values", "jeffreys", "--monotone", "--threads", "2"], {"values": "jeffreys", "monotone": True}),
    ],
)
def test_certified_models_are_those_of_python(
    in_memory: bool, options: list[str], configuration: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write("s.csv", SCORES.round(2), LABELS)
    if not in_memory:
        monkeypatch.setattr(fit, "ROWS_AS_ARRAYS", 500)
    run("fit", "s.csv", "--method", "certified", *options, "-o", "m.fbm")
    assert fb.load("m.fbm") == fb.CertifiedCalibration(**configuration).fit(SCORES.round(2), LABELS).model_


def test_inspect_lists_bins_and_steps(model: fb.BinnedModel) -> None:
    told = json.loads(run("inspect", "c.fbm", "--json").stdout)
    bins = told["bins"]
    assert told["n_bins"] == len(bins) == model.n_bins
    assert [entry["value"] for entry in bins] == model.bin_values.tolist()
    assert [entry["from"] for entry in bins[1:]] == [entry["to"] for entry in bins[:-1]] == model.bin_edges.tolist()
    assert [[entry["lower"], entry["upper"]] for entry in bins] == model.interval(0.1).tolist()
    for name in ("count", "label_sum"):
        assert [entry[name] for entry in bins] == getattr(model, f"{name}s").tolist()
    if model.ties == "whole":
        assert [[entry[name] for name in "rfy"] for entry in bins] == model.tie_counts.tolist()
    assert told["certificate"] == {"sentence": str(model.certificate()), **model.certificate().to_dict()}
    if model.has_steps:
        steps = told["steps"]
        assert told["n_steps"] == len(steps) == model.n_steps
        assert [step["value"] for step in steps] == model.values.tolist()
        assert [step["count"] for step in steps] == model.step_counts.tolist()
        assert [step["from"] for step in steps] == [0.0, *model.edges.tolist()]
        assert [step["to"] for step in steps] == [*model.edges.tolist(), 1.0]
        assert [entry["first_step"] for entry in bins] == model.first_step.tolist()
        assert sum(entry["n_steps"] for entry in bins) == model.n_steps
    else:
        assert told["steps"] is None


def test_inspect_in_words(model: fb.BinnedModel) -> None:
    told = run("inspect", "c.fbm").stdout
    assert ("Same score, same probability, always." in told) == (model.ties == "whole")
    assert (f"{model.n_tied:,} samples share the score of an edge" in told) == (model.ties == "whole")
    assert (f"{model.n_bins} evidence bins, {model.n_steps:,} steps" in told) == model.has_steps
    assert ("average served" in told) == model.has_steps
    assert str(model.certificate()) in told
    low, high = model.interval(0.1)[1]
    assert f"{model.bin_values[1]:.4f}   {outwards_as('.4f', low, high)}" in told


@pytest.mark.parametrize("at", ["bin", "score", None])
def test_predict_serves_steps_and_intervals_of_bins_or_scores(model: fb.BinnedModel, at: Any) -> None:
    run("predict", "c.fbm", "t.csv", "--interval", "0.1", *(["--at", at] if at else []), "-o", "o.csv")
    with Path("o.csv").open() as file:
        rows = list(csv.DictReader(file))
    scores = np.array([row["p"] for row in rows], float)
    np.testing.assert_array_equal(np.array([row["calibrated"] for row in rows], float), model.predict(scores))
    end = "_if_rising" if at == "score" or (at is None and model.has_steps) else ""
    ends = np.array([[row[f"calibrated_lower{end}"], row[f"calibrated_upper{end}"]] for row in rows], float)
    np.testing.assert_array_equal(ends, model.predict_interval(scores, alpha=0.1, at=at))
    if not end:
        np.testing.assert_array_equal(ends, model.interval(0.1)[model.assign(scores)])


def test_assess_has_the_error_by_bin_and_by_step(model: fb.BinnedModel) -> None:
    scores = np.loadtxt("t.csv", delimiter=",", skiprows=1)[:, 0]
    told = json.loads(run("assess", "c.fbm", "t.csv", "--json").stdout)
    after = next(card for card in told["scorecards"] if card["name"] == "calibrated")
    gaps = np.bincount(model.assign(scores), model.predict(scores) - TEST_LABELS)
    if model.has_steps:
        assert np.isclose(after["ece_by_bin"], np.abs(gaps).sum() / N)
        assert "expected calibration error by evidence bin (certified)" in run("assess", "c.fbm", "t.csv").stdout
        assert "expected calibration error in bins of the values (not certified)" in run("assess", "c.fbm", "t.csv").stdout
    else:
        assert "ece_by_bin" not in after
    check = fb.assess.check_certificate(model, scores, TEST_LABELS)
    assert told["check"] == json.loads(json.dumps({"sentence": str(check), **check.to_dict()}))


def test_monitor_and_adapt(model: fb.BinnedModel) -> None:
    shown = run("monitor", "c.fbm", "t.csv", "--tolerance", "0.1", "--state", "m.mon", "--json")
    told: dict[str, Any] = json.loads(shown.stdout)
    assert [b["value"] for b in told["bins"]] == model.bin_values.tolist()
    assert told["n_steps"] == (model.n_steps if model.has_steps else 0)
    assert fb.online.CalibrationMonitor.load("m.mon").model == model
    run("adapt", "c.fbm", "--target-rate", "0.2", "-q", "-o", "a.fbm")
    assert fb.load("a.fbm") == fb.shift.LabelShift(model, method="known", target_rate=0.2).fit().model_
    assert str(fb.load("a.fbm").certificate()) in run("inspect", "a.fbm").stdout


def test_a_report_of_it(model: fb.BinnedModel) -> None:
    pytest.importorskip("matplotlib")
    run("report", "c.fbm", "t.csv", "-q", "-o", "r.html")
    page = Path("r.html").read_text()
    assert ("<th>average served</th>" in page) == model.has_steps
    assert ("<th>test average served</th>" in page) == model.has_steps
    assert ("expected calibration error by evidence bin" in page) == model.has_steps


def test_a_map_that_does_not_converge_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("s.csv", SCORES, LABELS)
    arguments = ["fit", "s.csv", "--method", "certified", "--values", "beta"]
    assert "converge" not in run(*arguments).stderr
    monkeypatch.setattr("fastbin.scaling.value_maps.MOST_STEPS", 1)
    assert "note: the map 'beta' did not converge" in run(*arguments).stderr
