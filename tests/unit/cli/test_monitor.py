"""``fastbin monitor``: the same as the class, on files, and day by day."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from commands import run

import fastbin as fb
from fastbin.online import CalibrationMonitor


def write(path: str, n: int, factor: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    labels = (rng.random(n) < factor * scores).astype(int)
    write_rows(path, scores, labels)
    return scores, labels


def write_rows(path: str, scores: np.ndarray, labels: np.ndarray) -> None:
    rows = zip(range(len(scores)), scores.tolist(), labels.tolist(), strict=True)
    Path(path).write_text("id,p,y\n" + "".join(f"{i},{score!r},{label}\n" for i, score, label in rows))


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scores, labels = write("fit.csv", 4000, 1.0, 0)
    fb.UniformMassBinning(n_bins=5).fit(scores, labels).model_.save("m.fbm")


def monitored(*arguments: str, code: int = 0) -> str:
    return run("monitor", "m.fbm", *arguments, code=code).output


def test_no_alarm() -> None:
    write("same.csv", 2000, 1.0, 1)
    output = monitored("same.csv", "--tolerance", "0.05", "--exit-code")
    assert output.startswith("No alarm after 2,000 outcomes")
    assert len([line for line in output.splitlines() if " to " in line]) == 5


def test_an_alarm_and_its_exit_code() -> None:
    write("drift.csv", 3000, 0.7, 2)
    output = monitored("drift.csv", "--score", "p", "--label", "y", "--tolerance", "0.05", "--exit-code", code=3)
    assert output.startswith("Alarm at outcome ")
    assert output == monitored("drift.csv", "--tolerance", "0.05")  # without --exit-code all went well


@pytest.mark.parametrize(("column", "role"), [("p", "score"), ("y", "label")])
def test_scores_and_labels_are_no_keys(column: str, role: str) -> None:
    """Whoever ties by its label is counted where that suits it, which raises alarms without a cause."""
    write("day.csv", 2000, 1.0, 1)
    told = monitored("day.csv", "--tie-key", column, "--salt", "s", code=1)
    assert f"the column '{column}' is both {role} and tie key; name another column for one of them" in told


def test_json_is_the_report_of_the_class() -> None:
    scores, labels = write("drift.csv", 1000, 0.8, 3)
    monitor = CalibrationMonitor(fb.load("m.fbm"), alpha=0.1, tolerance=0.01, interval_alpha=0.2)
    monitor.update(scores, labels)
    arguments = ("--alpha", "0.1", "--tolerance", "0.01", "--interval-alpha", "0.2", "--json")
    assert json.loads(monitored("drift.csv", *arguments)) == json.loads(json.dumps(monitor.report().to_dict()))


def test_day_by_day_is_all_at_once() -> None:
    days = [write(f"day{day}.csv", 700, 0.9, 4 + day) for day in range(3)]
    for day in range(3):
        settings = ("--tolerance", "0.02") if day != 1 else ()  # may be repeated, need not be
        output = monitored(f"day{day}.csv", "--state", "s.mon", *settings)
    monitor = CalibrationMonitor(fb.load("m.fbm"), tolerance=0.02)
    monitor.update(*(np.concatenate(columns) for columns in zip(*days, strict=True)))
    for day in range(3):
        monitor.mark_seen(hashlib.sha256(Path(f"day{day}.csv").read_bytes()).digest())
    assert CalibrationMonitor.load("s.mon") == monitor
    assert str(monitor) in output


def test_a_state_of_other_settings_or_another_model_is_refused() -> None:
    write("same.csv", 100, 1.0, 8)
    monitored("same.csv", "--state", "s.mon", "--tolerance", "0.05")
    before = Path("s.mon").read_bytes()
    for other in (("--tolerance", "0.04"), ("--alpha", "0.01"), ("--interval-alpha", "0.1")):
        assert "s.mon was begun with other settings" in monitored("same.csv", "--state", "s.mon", *other, code=1)
    fb.ExplicitBinning([0.5]).fit([0.1, 0.9], [0, 1]).model_.save("m.fbm")
    assert "s.mon monitors another model than m.fbm" in monitored("same.csv", "--state", "s.mon", code=1)
    Path("s.mon").write_text("{}")
    assert "not a fastbin monitor" in monitored("same.csv", "--state", "s.mon", code=1)
    Path("s.mon").write_bytes(before)


def test_a_bad_row_leaves_the_state_as_it_was() -> None:
    write("same.csv", 100, 1.0, 9)
    monitored("same.csv", "--state", "s.mon")
    before = Path("s.mon").read_bytes()
    Path("bad.csv").write_text("p,y\n0.5,1\n0.5,7\n")
    assert "bad.csv, line 3, column y: the value is 7" in monitored("bad.csv", "--state", "s.mon", code=1)
    Path("bad.csv").write_text("p,y\n0.5,1\n1.5,1\n")
    assert "bad.csv, line 3, column p: the value is 1.5, outside [0, 1]" in monitored("bad.csv", "--state", "s.mon", code=1)
    assert Path("s.mon").read_bytes() == before


def test_the_state_file_may_not_be_a_file_that_is_read() -> None:
    write("same.csv", 100, 1.0, 10)
    assert "not a fastbin monitor" in monitored("same.csv", "--state", "same.csv", code=1)
    assert "m.fbm: a single model, and not the state of a monitor" in monitored("same.csv", "--state", "m.fbm", code=1)


def test_keys_are_those_that_rows_were_scored_with() -> None:
    scores = np.repeat([0.2, 0.6], 500)
    labels = np.arange(1000) % 2
    fb.UniformMassBinning(n_bins=4, ties="random").fit(scores, labels).model_.save("m.fbm")
    write_rows("tied.csv", scores, labels)
    keys = ("--tie-key", "id", "--salt", "x")
    run("predict", "m.fbm", "tied.csv", "--score", "p", *keys, "-o", "o.csv")
    served = [float(line.split(",")[3]) for line in Path("o.csv").read_text().splitlines()[1:]]
    report = json.loads(monitored("tied.csv", "--score", "p", "--label", "y", *keys, "--json"))
    values, counts = np.unique(served, return_counts=True)
    tallied: dict[float, int] = {}
    for b in report["bins"]:
        tallied[b["value"]] = tallied.get(b["value"], 0) + b["count"]
    assert tallied == dict(zip(values.tolist(), counts.tolist(), strict=True))
    assert "--salt is for the ids" in monitored("tied.csv", "--salt", "x", code=2)
    assert "exclude each other" in monitored("tied.csv", "--tie-key", "id", "--seed", "1", code=2)


def test_a_file_that_is_sorted_by_label_is_refused() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(300)
    write_rows("a.csv", scores, np.sort(rng.random(300) < scores).astype(int))
    said = monitored("a.csv", "--score", "p", "--label", "y", code=1)
    told = "give it, or shuffle them; if all rates did change at once, count the rows before that and those after it apart"
    assert said.endswith(f"the order of rows counts as that in which the outcomes came: {told}\n")
