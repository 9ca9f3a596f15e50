"""`fastbin assess` and `fastbin report`, as they are typed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from commands import run

import fastbin as fb

pytest.importorskip("matplotlib")
pytest.importorskip("pyarrow")


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """model.fbm, other.fbm and test.csv (score p, label y, weights w and v, predictions vendor) in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    scores = rng.random(3000)
    labels = (rng.random(3000) < scores**2).astype(int)
    for name, n_bins in (("model.fbm", 5), ("other.fbm", 2)):
        fb.UniformMassBinning(n_bins=n_bins).fit(scores[:2000], labels[:2000]).model_.save(name)
    rows = zip(scores[2000:].tolist(), labels[2000:].tolist(), strict=True)
    lines = [f"{p!r},{y},{1 + i % 3},{1 + i % 3 + 0.5},{p * p!r}" for i, (p, y) in enumerate(rows)]
    Path("test.csv").write_text("\n".join(["p,y,w,v,vendor", *lines]) + "\n")


def test_assess_in_words() -> None:
    result = run("assess", "model.fbm", "test.csv", "--against", "other.fbm", "--against-column", "vendor")
    assert "1,000 test samples" in result.stdout
    words = ("score itself", "calibrated", "other", "vendor", "expected calibration error", "With probability at least 90 %")
    for told in words:
        assert told in result.stdout
    assert "Not contradicted by 1,000 new rows (a difference of " in result.stdout


@pytest.mark.parametrize("name", ["page.pdf", "page.docx", "counts.csv"])
def test_a_report_has_the_name_of_what_it_is(name: str) -> None:
    result = run("report", "model.fbm", "test.csv", "-o", name, code=1)
    assert f"{name}: a report is a page, or JSON; name a file that ends in .html or .json" in result.stderr
    assert not Path(name).exists()


def test_assess_in_json() -> None:
    result = run("assess", "model.fbm", "test.csv", "--json", "--alpha", "0.2", "--weights", "w")
    content = json.loads(result.stdout)
    assert content["alpha"] == 0.2
    assert content["n_samples"] == sum(1 + i % 3 for i in range(1000))
    assert [card["name"] for card in content["scorecards"]] == ["score itself", "calibrated"]
    assert content["check"]["verdict"] in ("not contradicted", "confirmed")
    weighted = json.loads(run("assess", "model.fbm", "test.csv", "--json", "--weights", "v").stdout)
    assert weighted["is_weighted"]
    assert weighted["check"] is None


def test_a_contradiction_can_stop_a_pipeline() -> None:
    text = Path("test.csv").read_text().splitlines()
    turned = [text[0], *(f"{p},{1 - int(y)},{rest}" for p, y, rest in (line.split(",", 2) for line in text[1:]))]
    Path("turned.csv").write_text("\n".join(turned) + "\n")
    run("assess", "model.fbm", "turned.csv", "--exit-code", code=3)
    run("assess", "model.fbm", "turned.csv")
    run("assess", "model.fbm", "test.csv", "--exit-code")


def test_missing_scores_are_counted_and_missing_labels_refused() -> None:
    text = Path("test.csv").read_text().splitlines()
    without_score, beyond = "," + text[3].split(",", 1)[1], "1.5," + text[4].split(",", 1)[1]
    Path("gaps.csv").write_text("\n".join([*text[:3], without_score, beyond, *text[5:]]) + "\n")
    content = json.loads(run("assess", "model.fbm", "gaps.csv", "--json").stdout)
    assert content["left_out"] == {"missing": 1, "outside": 1}
    assert content["n_samples"] == 998
    Path("bad.csv").write_text("\n".join([*text[:3], text[3].split(",")[0] + ",,1,1,0.5", *text[4:]]) + "\n")
    result = run("assess", "model.fbm", "bad.csv", code=1)
    assert "bad.csv, line 4, column y: the value is missing" in result.stderr


def test_report_writes_a_page() -> None:
    result = run("report", "model.fbm", "test.csv", "-o", "page.html", "--title", "Card 7", "--against", "other.fbm")
    assert result.stdout.startswith("page.html: 1,000 test samples")
    page = Path("page.html").read_text(encoding="utf8")
    for told in ("Card 7", "model.fbm", "test.csv", ">other<", "<svg"):
        assert told in page
    assert run("report", "model.fbm", "test.csv", "-o", "page.html", "-q").output == ""


def test_report_writes_every_figure_as_json_without_a_clock() -> None:
    run("report", "model.fbm", "test.csv", "-o", "page.html", "-o", "r.json", "--weights", "w")
    first = Path("r.json").read_bytes()
    content = json.loads(first)
    checked = content.pop("checked")
    assessed = json.loads(run("assess", "model.fbm", "test.csv", "--json", "--weights", "w").stdout)
    assert content == {name: value for name, value in assessed.items() if name not in ("model", "file")}
    digest = hashlib.sha256(Path("test.csv").read_bytes()).hexdigest()
    assert checked["files"] == [{"name": "test.csv", "sha256": digest}]
    assert checked["columns"] == {"scores": "p", "labels": "y", "sample_weight": "w"}
    assert (checked["n_rows"], content["n_samples"], checked["date"]) == (1000, sum(1 + i % 3 for i in range(1000)), None)
    assert checked["model_sha256"] == hashlib.sha256(Path("model.fbm").read_bytes()).hexdigest()
    assert digest in Path("page.html").read_text(encoding="utf8")
    again = run("report", "model.fbm", "test.csv", "--json", "--weights", "w")
    assert again.stdout.encode() == first
    piped = run("report", "model.fbm", "-", "--json", input=Path("test.csv").read_bytes())
    assert json.loads(piped.stdout)["checked"]["files"] == [{"name": "standard input", "sha256": digest}]


def test_report_says_who_files_it_and_when() -> None:
    signed = ("--prepared-by", "J. <Doe>", "--role", "Validation", "--date", "2026-01-31")
    run("report", "model.fbm", "test.csv", "-o", "page.html", *signed)
    page = Path("page.html").read_text(encoding="utf8")
    for told in ("J. &lt;Doe&gt;", "Validation", "2026-01-31</td>", "on 2026-01-31."):
        assert told in page
    run("report", "model.fbm", "test.csv", "-o", "page.html", "--date", "31.1.2026", code=2)
    run("report", "model.fbm", "test.csv", code=2)
    run("report", "model.fbm", "test.csv", "-o", "-", "--json", code=2)


def test_report_counts_the_rows_of_sets_once() -> None:
    rng = np.random.default_rng(1)
    P = rng.dirichlet([1.0, 1.0, 1.0], 900)
    animals = np.array(["ant", "bee", "cow"])[np.array([rng.choice(3, p=p) for p in P])]
    rows = "\n".join(f"{','.join(map(str, p))},{animal}" for p, animal in zip(P.tolist(), animals, strict=True))
    Path("animals.csv").write_text(f"ant,bee,cow,animal\n{rows}\n")
    columns = ("--classes", "ant,bee,cow", "--label", "animal")
    for kind in ("--top-label", "--class-wise", "--vectors"):
        run("fit", "animals.csv", kind, *columns, "-q", "-o", "set.fbm")
        checked = json.loads(run("report", "set.fbm", "animals.csv", *columns, "--json").stdout)["checked"]
        assert checked["n_rows"] == 900
        assert "animal" in checked["columns"].values()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("report", "model.fbm", "test.csv", "-o", "test.csv"), "test.csv is the file that is read"),
        (("report", "model.fbm", "test.csv", "-o", "nowhere/page.html"), "nowhere is not a folder"),
        (("assess", "model.fbm", "test.csv", "--against", "other.fbm", "--against", "other.fbm"), "two models to compare with"),
        (("assess", "model.fbm", "test.csv", "--against-column", "absent"), "absent"),
        (("assess", "model.fbm", "test.csv", "--against-column", "v"), "column v: the value is 1.5"),
        (("assess", "model.fbm", "test.csv", "--score", "q"), "q"),
        (("assess", "test.csv", "test.csv"), "test.csv"),
    ],
)
def test_refusals_are_one_line_and_leave_no_file(arguments: tuple[str, ...], complaint: str) -> None:
    before = sorted(path.name for path in Path().iterdir())
    result = run(*arguments, code=1)
    assert complaint in result.stderr
    assert result.stderr.startswith("error: ")
    assert len(result.stderr.splitlines()) == 1
    assert sorted(path.name for path in Path().iterdir()) == before
