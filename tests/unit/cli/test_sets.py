"""Segments and classes on the command line, as they are typed: the same numbers as in Python, and what is refused."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run

import fastbin as fb
from fitting import bare

pa = pytest.importorskip("pyarrow")

N = 3000
RNG = np.random.default_rng(12)
SCORES = RNG.random(N)
REGIONS = RNG.choice(["north", "south", "isle"], N, p=[0.6, 0.39, 0.01])
LABELS = (RNG.random(N) < np.where(REGIONS == "south", SCORES**2, SCORES)).astype(int)
P = RNG.dirichlet([1, 1, 1], N)
ANIMALS = np.array(["cat", "dog", "cow"])
TRUTH = np.array([RNG.choice(3, p=(row + 0.2) / 1.6) for row in P])


def write_csv(path: str, **columns: Any) -> None:
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    Path(path).write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")


def classes_of(rows: Any) -> dict[str, Any]:
    return {
        **{name: P[rows, j] for j, name in enumerate(ANIMALS)}, "animal": ANIMALS[TRUTH[rows]], "number": TRUTH[rows] + 5,
    }  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two thirds of the rows to fit, the rest to test."""
    path, here = tmp_path_factory.mktemp("sets"), Path.cwd()
    os.chdir(path)
    for name, rows in (("fit", slice(0, 2000)), ("test", slice(2000, None))):
        write_csv(f"{name}.csv", p=SCORES[rows], y=LABELS[rows], region=REGIONS[rows], branch=np.arange(N)[rows] % 2 + 100)
        write_csv(f"{name}_classes.csv", **classes_of(rows))
    write_csv("outcomes.csv", p=np.tile(SCORES[2000:], 4), y=np.zeros(4000, int), region=np.tile(REGIONS[2000:], 4))
    run("fit", "fit.csv", "--segment", "region", "-o", "regions.fbm")
    run("fit", "fit_classes.csv", "--classes", "cat,dog,cow", "--label", "animal", "-o", "animals.fbm")
    run("fit", "fit_classes.csv", "--classes", "cat,dog,cow", "--label", "animal", "--class-wise", "-o", "wise.fbm")
    os.chdir(here)
    return path


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has a copy, so that none finds what another wrote."""
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def read_csv(text: str) -> dict[str, list[str]]:
    header, *rows = (line.split(",") for line in text.strip().splitlines())
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


def numbers(column: list[str]) -> np.ndarray:
    return np.array([float(text) for text in column])


REGIONAL = fb.multi.SegmentedBinning().fit(SCORES[:2000], LABELS[:2000], REGIONS[:2000]).model_
TOP = fb.multi.TopLabelBinning(classes=list(ANIMALS)).fit(P[:2000], ANIMALS[TRUTH[:2000]])
WISE = fb.multi.ClassWiseBinning(classes=list(ANIMALS)).fit(P[:2000], ANIMALS[TRUTH[:2000]])


# ------------------------------------------------------------------------------------------------- fit and inspect


def test_the_sets_are_those_of_python() -> None:
    assert fb.load("regions.fbm") == REGIONAL
    assert fb.load("animals.fbm") == TOP.model_
    assert fb.load("wise.fbm") == WISE.model_


def test_fit_shows_cells_and_the_joint_promise() -> None:
    shown = run("fit", "fit.csv", "--segment", "region").stdout
    assert "A set of 3 segments by " in shown
    assert "The pool is the model of 1 cell with too few samples for a model of their own: isle." in shown
    assert "Rows of other cells are refused." in shown
    assert str(REGIONAL.certificate(0.1)) in shown


def test_options_of_a_fit() -> None:
    run("fit", "fit.csv", "--segment", "branch", "--min-points", "10", "--n-bins", "4", "--unknown", "refuse", "-o", "b.fbm")
    branches = fb.multi.SegmentedBinning(fb.CertifiedCalibration(4), min_points=10)
    assert fb.load("b.fbm") == branches.fit(SCORES[:2000], LABELS[:2000], np.arange(2000) % 2 + 100).model_
    run(
        "fit",
        "fit.csv",
        "--segment",
        "region",
        "--method",
        "certified",
        "--n-bins",
        "3",
        "--unknown",
        "pool",
        "-q",
        "-o",
        "c.fbm",
    )
    certified = fb.multi.SegmentedBinning(fb.CertifiedCalibration(3), unknown="pool")
    assert fb.load("c.fbm") == certified.fit(SCORES[:2000], LABELS[:2000], REGIONS[:2000]).model_
    result = run("fit", "fit.csv", "--segment", "region", "--thin", "refuse", code=1)
    assert "segment 'isle' has" in result.output
    assert "--min-points" in result.output
    run(
        "fit",
        "fit_classes.csv",
        "--classes",
        "cat,dog,cow",
        "--label",
        "animal",
        "--points-per-bin",
        "200",
        "-q",
        "-o",
        "p.fbm",
    )
    assert fb.load("p.fbm") == fb.multi.TopLabelBinning(200, classes=list(ANIMALS)).fit(P[:2000], ANIMALS[TRUTH[:2000]]).model_


def test_classes_by_number_and_by_list() -> None:
    named = ["--classes", "cat,dog,cow", "--label", "number", "-q", "-o", "n.fbm"]
    result = run("fit", "fit_classes.csv", *named, code=1)
    assert "label '" in result.output
    assert "say --class-labels" in result.output
    run("fit", "fit_classes.csv", *named, "--class-labels", "5,6,7")
    loaded = fb.load("n.fbm")
    assert isinstance(loaded, fb.ModelSet)
    assert loaded.columns == (5, 6, 7)
    write_csv("plain.csv", a=P[:2000, 0], b=P[:2000, 1], c=P[:2000, 2], y=TRUTH[:2000])
    run("fit", "plain.csv", "--classes", "a,b,c", "-q", "-o", "n.fbm")
    assert bare(fb.load("n.fbm")) == bare(fb.multi.TopLabelBinning().fit(P[:2000], TRUTH[:2000]).model_)
    write_csv("logits.csv", a=np.log(P[:2000, 0]), b=np.log(P[:2000, 1]), c=np.log(P[:2000, 2]), y=TRUTH[:2000])
    run("fit", "logits.csv", "--classes", "a,b,c", "--inputs", "logits", "-q", "-o", "l.fbm")
    loaded = fb.load("l.fbm")
    assert isinstance(loaded, fb.ModelSet)
    assert loaded.n_samples == 2000


def test_inspect() -> None:
    shown = run("inspect", "regions.fbm").stdout
    assert str(REGIONAL.certificate(0.1)) in shown
    content = json.loads(run("inspect", "regions.fbm", "--json").stdout)
    assert (content["kind"], content["cells"], content["pooled_cells"]) == ("segments", ["isle", "north", "south"], ["isle"])
    assert [each["cell"] for each in content["models"]] == ["north", "south", None]
    joint = REGIONAL.certificate(0.1)
    assert content["certificate"]["epsilon"] == joint.epsilon
    assert content["models"][0]["certificate"]["epsilon"] == REGIONAL["north"].certificate(0.1).epsilon
    one = json.loads(run("inspect", "regions.fbm", "--cell", "south", "--json").stdout)
    assert one["bins"][0]["value"] == REGIONAL["south"].bin_values[0]
    assert "regions.fbm has no cell 'west'" in run("inspect", "regions.fbm", "--cell", "west", code=1).output


def test_a_pooled_cell_has_no_promise_of_its_own() -> None:
    told = str(fb.load("regions.fbm").certificate(which="isle"))
    assert "the pool (as mixed in calibration)" in told
    assert " ".join(told.split()) in " ".join(run("inspect", "regions.fbm", "--cell", "isle").stdout.split())
    assert json.loads(run("inspect", "regions.fbm", "--cell", "isle", "--json").stdout)["certificate"]["sentence"] == told
    assert "the pool" not in run("inspect", "regions.fbm", "--cell", "south").stdout


# ------------------------------------------------------------------------------------------------- predict


def test_predict_by_segment() -> None:
    shown = read_csv(run("predict", "regions.fbm", "test.csv", "--segment", "region", "--interval", "0.1").stdout)
    assert np.array_equal(numbers(shown["calibrated"]), REGIONAL.predict(SCORES[2000:], REGIONS[2000:]))
    ends = REGIONAL.predict_interval(SCORES[2000:], REGIONS[2000:], alpha=0.1)
    assert np.array_equal(numbers(shown["calibrated_lower_if_rising"]), ends[:, 0])
    assert np.array_equal(numbers(shown["calibrated_upper_if_rising"]), ends[:, 1])
    at_bins = run("predict", "regions.fbm", "test.csv", "--segment", "region", "--interval", "0.1", "--at", "bin").stdout
    ends = REGIONAL.predict_interval(SCORES[2000:], REGIONS[2000:], alpha=0.1, at="bin")
    assert np.array_equal(numbers(read_csv(at_bins)["calibrated_lower"]), ends[:, 0])
    assert "--at says" in run("predict", "regions.fbm", "test.csv", "--segment", "region", "--at", "bin", code=1).output
    assert list(shown)[:4] == ["p", "y", "region", "branch"]


def test_predict_the_top_label() -> None:
    shown = read_csv(run("predict", "animals.fbm", "test_classes.csv", "--classes", "cat,dog,cow").stdout)
    predicted, probabilities = TOP.predict(P[2000:])
    assert shown["calibrated_class"] == predicted.tolist()
    assert np.array_equal(numbers(shown["calibrated"]), probabilities)
    # Columns that are called as the classes may come in any order.
    other = read_csv(run("predict", "animals.fbm", "test_classes.csv", "--classes", "cow,cat,dog").stdout)
    assert other["calibrated"] == shown["calibrated"]


def test_predict_every_class() -> None:
    shown = read_csv(run("predict", "wise.fbm", "test_classes.csv", "--classes", "cat,dog,cow", "--column", "q").stdout)
    assert np.array_equal(np.stack([numbers(shown[f"q_{name}"]) for name in ANIMALS], axis=1), WISE.predict(P[2000:]))


def test_predict_to_and_from_parquet() -> None:
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"p": SCORES[2000:], "region": pa.array(REGIONS[2000:]).dictionary_encode()}), "new.parquet")
    run("predict", "regions.fbm", "new.parquet", "--segment", "region", "-o", "out.parquet")
    found = pq.read_table("out.parquet")["calibrated"].to_numpy()
    assert np.array_equal(found, REGIONAL.predict(SCORES[2000:], REGIONS[2000:]))
    run("predict", "animals.fbm", "test_classes.csv", "--classes", "cat,dog,cow", "-o", "classes.parquet")
    assert pq.read_table("classes.parquet")["calibrated_class"].to_pylist() == TOP.predict(P[2000:])[0].tolist()


def test_ties_are_broken_by_row_and_seed() -> None:
    write_csv("tied.csv", p=np.round(SCORES, 1), y=LABELS, region=REGIONS)
    run("fit", "tied.csv", "--method", "umd", "--segment", "region", "--ties", "random", "-q", "-o", "tied.fbm")
    shown = read_csv(run("predict", "tied.fbm", "tied.csv", "--segment", "region", "--seed", "3").stdout)
    tied = fb.load("tied.fbm")
    assert isinstance(tied, fb.ModelSet)
    assert np.array_equal(numbers(shown["calibrated"]), tied.predict(np.round(SCORES, 1), REGIONS, seed=3))
    assert "got their probability by a random key" in run("predict", "tied.fbm", "tied.csv", "--segment", "region").stderr


# ------------------------------------------------------------------------------------------------- assess, report, monitor


def test_assess_is_that_of_python() -> None:
    content = json.loads(run("assess", "regions.fbm", "test.csv", "--segment", "region", "--json").stdout)
    expected = fb.report.assess_model(REGIONAL, SCORES[2000:], LABELS[2000:], cells=REGIONS[2000:])
    assert content["scorecards"] == json.loads(json.dumps(expected.to_dict()))["scorecards"]
    assert content["check"]["verdict"] == expected.check.verdict
    assert [cell["cell"] for cell in content["cells"]] == ["north", "south", None]
    shown = run("assess", "regions.fbm", "test.csv", "--segment", "region").stdout
    assert "the pool" in shown
    assert str(expected.check) in shown


def test_assess_of_classes() -> None:
    classes = ["--classes", "cat,dog,cow", "--label", "animal", "--json"]
    content = json.loads(run("assess", "animals.fbm", "test_classes.csv", *classes).stdout)
    top, predicted = P[2000:].max(axis=1), P[2000:].argmax(axis=1)
    assert content["n_samples"] == 1000
    assert content["n_positive"] == int((predicted == TRUTH[2000:]).sum())
    assert content["scorecards"][0]["brier_score"] == pytest.approx(fb.assess.brier_score(top, predicted == TRUTH[2000:]))
    content = json.loads(run("assess", "wise.fbm", "test_classes.csv", *classes).stdout)
    assert content["n_samples"] == 3000
    scores = fb.assess.multiclass_brier(P[2000:], TRUTH[2000:]) / 3.0
    assert content["scorecards"][0]["brier_score"] == pytest.approx(scores)
    assert [cell["n_samples"] for cell in content["cells"]] == [1000] * 3


def test_report_of_a_set() -> None:
    pytest.importorskip("matplotlib")
    run("report", "regions.fbm", "test.csv", "--segment", "region", "-o", "page.html", "--title", "By region")
    page = Path("page.html").read_text()
    for told in ("<h1>By region</h1>", "Cell by cell", "<td class='text'>the pool</td>", "3 (segments)", "are refused"):
        assert told in page
    assert page.count("<svg") == 3


def test_monitor_of_a_set() -> None:
    tested = ["test.csv", "--segment", "region", "--tolerance", "0.2"]
    shown = run("monitor", "regions.fbm", *tested, "--state", "r.mon").stdout
    assert shown.startswith("No alarm after 1,000 outcomes")
    again = run("monitor", "regions.fbm", "outcomes.csv", "--segment", "region", "--state", "r.mon", "--exit-code", code=3)
    assert "Drifted: bin " in again.stdout
    assert " of 'north' serves" in again.stdout
    monitor = fb.online.CalibrationMonitor.load("r.mon").attach(REGIONAL)
    assert monitor.n_samples == 5000
    run("fit", "fit.csv", "--segment", "branch", "-q", "-o", "branches.fbm")
    result = run("monitor", "branches.fbm", "test.csv", "--segment", "branch", "--state", "r.mon", code=1)
    assert "monitors another model than branches.fbm" in result.output
    classes = ["test_classes.csv", "--classes", "cat,dog,cow", "--label", "animal"]
    assert "No alarm" in run("monitor", "animals.fbm", *classes, "--interval-alpha", "0.05").stdout
    assert "No alarm" in run("monitor", "wise.fbm", *classes, "--interval-alpha", "0.05").stdout


def test_unknown_segments_are_left_out_of_a_monitor_and_told() -> None:
    write_csv("moon.csv", p=SCORES[:100], y=LABELS[:100], region=np.where(np.arange(100) < 10, "moon", REGIONS[:100]))
    run("fit", "fit.csv", "--segment", "region", "--unknown", "pool", "-q", "-o", "pool.fbm")
    result = run("monitor", "pool.fbm", "moon.csv", "--segment", "region")
    assert "10 outcomes are of cells that the set does not know" in result.stderr
    assert "after 90 outcomes" in result.stdout
    assert "moon" in run("monitor", "regions.fbm", "moon.csv", "--segment", "region", code=1).output
    lines = Path("moon.csv").read_text().splitlines()
    lines[51] = "1.7,1,north"
    Path("moon.csv").write_text("\n".join(lines))
    told = "moon.csv, line 52, column p: the value is 1.7, outside [0, 1]"
    assert told in run("monitor", "pool.fbm", "moon.csv", "--segment", "region", code=1).output


# ------------------------------------------------------------------------------------------------- what is refused

FIT_CLASSES = ["fit", "fit_classes.csv", "--label", "animal", "--classes"]


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["predict", "regions.fbm", "test.csv"], "is a set of 3 models; say --segment COLUMN", 1),
        (["predict", "animals.fbm", "test.csv", "--segment", "region"], "is a top-label set; say --classes COLUMNS", 1),
        (["predict", "regions.fbm", "test.csv", "--segment", "nowhere"], "has no column 'nowhere'", 1),
        (["predict", "animals.fbm", "test_classes.csv", "--classes", "cat,dog"], "names 2 columns, and the set has 3", 1),
        (["predict", "animals.fbm", "test_classes.csv", "--classes", "cat,dog,number"], "line 2, column number: the value", 1),
        (["predict", "animals.fbm", "test_classes.csv", "--classes", "cat"], "give two or more different columns", 2),
        (["assess", "regions.fbm", "test.csv"], "say --segment COLUMN", 1),
        (["assess", "regions.fbm", "test.csv", "--segment", "branch"], "test.csv, line 2, column branch: the value", 1),
        (["predict", "regions.fbm", "test.csv", "--inputs", "logits", "--segment", "region"], "--inputs is about", 2),
        (["fit", "fit.csv", "--segment", "region", "--classes", "p,y"], "exclude each other", 2),
        (["predict", "animals.fbm", "test_classes.csv", "--score", "cat", "--classes", "cat,dog,cow"], "exclude each", 2),
        (["fit", "fit.csv", "--segment", "region", "--points-per-bin", "9"], "--points-per-bin goes with --classes", 2),
        (["fit", "fit.csv", "--thin", "pool"], "--thin goes with --segment or --classes", 2),
        (["fit", "fit.csv", "--unknown", "pool"], "--unknown goes with --segment", 2),
        (["fit", "fit.csv", "--segment", "region", "--threads", "2"], "--threads does not go with", 2),
        ([*FIT_CLASSES, "cat,dog,cow", "--class-wise", "--thin", "pool"], "do not go with --class-wise", 2),
        ([*FIT_CLASSES, "cat,dog,cow", "--class-labels", "a,b"], "names 2 classes for the 3 columns", 2),
        ([*FIT_CLASSES, "cat,dog,cow", "--points-per-bin", "9", "--n-bins", "3"], "leave out other methods", 2),
        ([*FIT_CLASSES, "cat,dog,cow", "--class-labels", "0,1,2"], "column animal: the value is '", 1),
        ([*FIT_CLASSES, "cat,dog,cow", "--class-labels", "0,1,2"], ", and the classes are integers", 1),
        ([*FIT_CLASSES, "cat,dog,cow", "--class-labels", "cat,dog,hen"], "column animal: the value is 'cow'", 1),
        ([*FIT_CLASSES, "cat,dog"], "is neither the name of a column", 1),
        ([*FIT_CLASSES, "cat,number,cow", "--class-labels", "cat,dog,cow"], "outside [0, 1]", 1),
        (["adapt", "regions.fbm", "--target-rate", "0.3", "-o", "x.fbm"], "is a set of 3 models, and one model is needed", 1),
    ],
)
def test_errors_say_what_to_do(arguments: list[str], message: str, code: int) -> None:
    result = run(*arguments, code=code)
    assert message in result.output
    assert not Path("x.fbm").exists()


def test_options_of_sets_with_one_model_and_missing_cells() -> None:
    run("fit", "fit.csv", "--score", "p", "--label", "y", "-q", "-o", "one.fbm")
    for command in ("predict", "assess", "monitor"):
        assert "one.fbm is one model and no set" in run(command, "one.fbm", "test.csv", "--segment", "region", code=1).output
    assert "one.fbm is one model and no set" in run("inspect", "one.fbm", "--cell", "1", code=1).output
    Path("gap.csv").write_text("p,y,region\n0.5,1,north\n0.25,0,\n")
    assert "gap.csv, line 3, column region: the value is missing" in run("fit", "gap.csv", "--segment", "region", code=1).output
    result = run("assess", "one.fbm", "test.csv", "--against", "regions.fbm", code=1)
    assert "regions.fbm is a segments set and MODEL is one model" in result.output


# ------------------------------------------------------------------------------------------------- groups


def test_groups_of_one_model_and_of_a_set() -> None:
    run("fit", "fit.csv", "--score", "p", "--label", "y", "-q", "-o", "one.fbm")
    named = ["test.csv", "--score", "p", "--label", "y", "--group", "region"]
    model = fb.load("one.fbm")
    content = json.loads(run("assess", "one.fbm", *named, "--json").stdout)
    expected = fb.assess.audit_groups(model, SCORES[2000:], LABELS[2000:], REGIONS[2000:])
    assert content["audit"]["groups"] == json.loads(json.dumps(expected.to_dict()))["groups"]
    shown = run("assess", "one.fbm", *named, "--group", "branch").stdout
    groups = {"region": REGIONS[2000:], "branch": (np.arange(1000) % 2 + 100).astype(str)}
    assert f"By group: {fb.assess.audit_groups(model, SCORES[2000:], LABELS[2000:], groups)}" in shown
    assert "branch=100" in shown
    of_set = json.loads(run("assess", "regions.fbm", "test.csv", "--segment", "region", "--group", "branch", "--json").stdout)
    assert [group["name"] for group in of_set["audit"]["groups"]] == ["100", "101"]
    assert of_set["audit"]["groups"][0]["bins"][0]["cell"] == "north"
    classes = ["--classes", "cat,dog,cow", "--label", "animal", "--group", "number", "--json"]
    for name, n_samples in (("animals.fbm", 1000), ("wise.fbm", 3000)):
        assert json.loads(run("assess", name, "test_classes.csv", *classes).stdout)["audit"]["n_samples"] == n_samples


def test_a_broken_group_decides_the_exit_code() -> None:
    broken = np.where(REGIONS[2000:] == "south", 1 - LABELS[2000:], LABELS[2000:])
    write_csv("broken.csv", p=SCORES[2000:], y=broken, region=REGIONS[2000:])
    run("fit", "fit.csv", "--score", "p", "--label", "y", "-q", "-o", "one.fbm")
    result = run("assess", "one.fbm", "broken.csv", "--group", "region", "--exit-code", code=3)
    assert "Contradicted in" in result.stdout
    Path("gaps.csv").write_text("p,y,region\n" + "0.5,1,north\n" * 20 + ",1,north\n" + "0.5,0,south\n" * 20)
    assert "40 test samples themselves" in run("assess", "one.fbm", "gaps.csv", "--group", "region").stdout
    Path("gaps.csv").write_text("p,y,region\n" + "0.5,1,north\n" * 20 + "1.5,1,north\n" + "0.5,0,south\n" * 20)
    assert "40 test samples themselves" in run("assess", "one.fbm", "gaps.csv", "--group", "region").stdout
