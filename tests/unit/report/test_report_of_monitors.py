"""The section of a page on what a monitor has seen, and its members in the JSON of ``fastbin report``."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from commands import run

import fastbin as fb
from fastbin.online import CalibrationMonitor
from fastbin.report import Assessment, assess_model, render_report

pytest.importorskip("matplotlib")

RNG = np.random.default_rng(0)
SCORES = RNG.random(4000)
LABELS = RNG.random(4000) < SCORES
MODEL = fb.UniformMassBinning(n_bins=5).fit(SCORES[:3000], LABELS[:3000]).model_


def states() -> list[CalibrationMonitor]:
    """A monitor after two calm days, and after a third on which outcomes are rarer."""
    rng, monitor, found = np.random.default_rng(1), CalibrationMonitor(MODEL, tolerance=0.03), list[CalibrationMonitor]()
    for factor in (1.0, 1.0, 0.7):
        later = rng.random(1500)
        monitor.update(later, rng.random(1500) < factor * later)
        found.append(CalibrationMonitor.from_bytes(monitor.to_bytes()))
    return found


@pytest.fixture(scope="module")
def assessment() -> Assessment:
    return assess_model(MODEL, SCORES[3000:], LABELS[3000:])


def section(page: str) -> str:
    return page.partition("<section id='since-it-is-served'>")[2].partition("</section>")[0]


def test_the_page_says_what_the_monitor_says(assessment: Assessment) -> None:
    last = states()[-1].report()
    assert last.alarm
    told = section(render_report(assessment, monitor=states()[-1]))
    assert str(last) in told
    for entry in last.bins:
        assert f"<td>{entry.label_sum / entry.count:.4f}</td>" in told
        assert f"<td>{entry.count:,}</td>" in told
    assert told.count("<svg") == 1
    page = render_report(assessment, monitor=states())
    head, in_short = page.partition("<section")[0], page.partition("<section id='in-short'")[2].partition("</section>")[0]
    assert "The monitor, since the model is served" in head
    assert f"Monitor: {last}" in in_short
    assert f"alarm at outcome {last.alarm_at:,} of 4,500 outcomes" in page
    calm = render_report(assessment, monitor=states()[0])
    assert "The monitor, since" not in calm
    assert "no alarm after 1,500 outcomes" in calm
    assert not section(render_report(assessment))


def test_states_are_a_history(assessment: Assessment) -> None:
    told = section(render_report(assessment, monitor=states()))
    table = told.partition("at most so far")[2].partition("</table>")[0]
    rows = [row.split("</td>") for row in table.split("<tr>")[1:]]
    reports = [state.report() for state in states()]
    assert [row[0].removeprefix("<td>") for row in rows] == ["1,500", "3,000", "4,500"]
    assert [row[1].removeprefix("<td>") for row in rows] == [f"{report.e_value:.3g}" for report in reports]
    assert [row[-2].removeprefix("<td>") for row in rows] == ["", "", f"{reports[-1].alarm_at:,}"]


def test_many_bins_are_folded_without_a_picture() -> None:
    model = fb.UniformMassBinning(n_bins=60).fit(SCORES, LABELS).model_
    told = section(render_report(assess_model(model, SCORES, LABELS), monitor=CalibrationMonitor(model)))
    assert "<summary>60 bins</summary>" in told
    assert "<svg" not in told


def test_monitors_of_others_are_refused(assessment: Assessment) -> None:
    other = fb.UniformMassBinning(n_bins=5).fit(SCORES, LABELS).model_
    with pytest.raises(fb.InputError, match=r"monitor watches another model than the one that this page is about"):
        render_report(assessment, monitor=CalibrationMonitor(other))
    with pytest.raises(fb.InputTypeError, match=r"monitor\[1\] is of type dict; pass a fastbin.online.CalibrationMonitor"):
        render_report(assessment, monitor=[states()[0], {}])
    with pytest.raises(fb.InputError, match=r"monitor\[1\] has seen 1,500 outcomes, and the one before it 3,000"):
        render_report(assessment, monitor=[states()[1], states()[0]])
    found = fb.assess.assess([0.1, 0.2], [0, 1])
    with pytest.raises(fb.InputError, match="monitor is given, and the page is about predictions without a model"):
        render_report(found, monitor=states()[0])


# ------------------------------------------------------------------------------------------------- as it is typed


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """m.fbm, test.csv, and the states 0.mon, 1.mon and 2.mon."""
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    MODEL.save("m.fbm")
    rows = zip(SCORES[3000:].tolist(), LABELS[3000:].tolist(), strict=True)
    Path("test.csv").write_text("\n".join(["p,y", *(f"{score!r},{label:d}" for score, label in rows)]) + "\n")
    for number, state in enumerate(states()):
        state.save(f"{number}.mon")


report = partial(run, "report", "m.fbm", "test.csv")


@pytest.mark.usefixtures("files")
def test_the_command_takes_state_files() -> None:
    given = [option for number in range(3) for option in ("--monitor", f"{number}.mon")]
    report(*given, "-o", "page.html", "-o", "page.json")
    assert str(states()[-1].report()) in section(Path("page.html").read_text("utf8"))
    content = json.loads(Path("page.json").read_text("utf8"))
    assert content["monitor"] == json.loads(json.dumps([state.report().to_dict() for state in states()]))
    digests = {entry["name"]: entry["sha256"] for entry in content["checked"]["files"]}
    assert digests["2.mon"] == hashlib.sha256(Path("2.mon").read_bytes()).hexdigest()
    assert digests["2.mon"] in Path("page.html").read_text("utf8")
    assert "monitor" not in json.loads(report("--json").stdout)


@pytest.mark.usefixtures("files")
def test_files_that_are_not_its_state_are_refused() -> None:
    fb.UniformMassBinning(n_bins=2).fit(SCORES, LABELS).model_.save("other.fbm")
    CalibrationMonitor(fb.load("other.fbm")).save("other.mon")
    for path, told in (
        ("absent.mon", "absent.mon: No such file or directory"), ("test.csv", "test.csv: not a fastbin monitor"),
        ("other.mon", "other.mon monitors another model than m.fbm"),
    ):  # fmt: skip
        result = report("--monitor", path, "-o", "page.html", code=1)
        assert result.stderr.startswith(f"error: {told}")
        assert not Path("page.html").exists()
    result = report("--monitor", "0.mon", "-o", "0.mon", code=1)
    assert "0.mon is the file that is read" in result.stderr
    result = run("report", "test.csv", "--predictions", "p", "--monitor", "0.mon", "-o", "x.html", code=2)
    assert "--monitor is about a MODEL" in result.stderr
    result = report("--monitor", "0.mon", "--monitor", "0.mon", "-o", "x.html", code=2)
    assert "--monitor 0.mon is given twice; name each state once" in result.stderr
