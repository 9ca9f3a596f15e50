"""``fastbin report`` of a column of predictions and of counts, as a page and as JSON, and its check."""

from __future__ import annotations

import json
import shutil
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from commands import run

import fastbin as fb
from fastbin.assess.validation import figures_digest

pytest.importorskip("matplotlib")
pytest.importorskip("pyarrow")

report = partial(run, "report")
RNG = np.random.default_rng(0)
GRADES = np.repeat(["A", "B", "C"], [400, 300, 300])
PD = np.repeat([0.02, 0.05, 0.1], [400, 300, 300])
ONES = np.concatenate([np.arange(n) < ones for n, ones in ((400, 12), (300, 15), (300, 60))])
COLUMNS = ["--predictions", "pd", "--label", "y", "--by", "grade"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with rows.csv, and the same shuffled as rows.parquet; report.json and counts.csv of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("files"))
        write_files()
        return Path.cwd()


@pytest.fixture(autouse=True)
def folder(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def write_files() -> None:
    rows = [f"{g},{p},{int(y)}" for g, p, y in zip(GRADES, PD.tolist(), ONES, strict=True)]
    Path("rows.csv").write_text("\n".join(["grade,pd,y", *rows]) + "\n")
    from pyarrow import parquet, table

    order = RNG.permutation(len(rows))
    parquet.write_table(table({"grade": GRADES[order], "pd": PD[order], "y": ONES[order]}), "rows.parquet")
    report("rows.csv", *COLUMNS, "-o", "report.json", "-q")
    counts = stored("report.json")["counts"]
    lines = [",".join(counts["columns"]), *(",".join(map(str, row)) for row in counts["rows"])]
    Path("counts.csv").write_text("\n".join(lines) + "\n")


def stored(name: str) -> dict:
    return json.loads(Path(name).read_text())


def without_source(name: str) -> str:
    """The bytes that are compared."""
    return Path(name).read_text().partition('\n "source"')[0]


def test_the_json_is_that_of_the_library_from_whatever_file() -> None:
    expected = fb.assess.assess(PD, ONES, GRADES).to_json()
    assert without_source("report.json") == expected.removesuffix("\n}\n") + ","
    for arguments in (["rows.parquet", *COLUMNS], ["--counts", "counts.csv"]):
        report(*arguments, "-o", "again.json", "-q")
        assert without_source("again.json") == without_source("report.json")
    printed = report("rows.csv", *COLUMNS, "--json").stdout
    assert printed == Path("report.json").read_text()


def test_the_page_says_what_changed() -> None:
    found = report(
        "--counts", "counts.csv", "--side", "upper", "-o", "page.html", "--before", "report.json", "--role", "Validation"
    )
    assert "page.html: 1,000 rows." in found.stdout
    assert "predictions are too low in C" in found.stdout
    page = Path("page.html").read_text()
    for told in (
        "Since the last report",
        "counts.csv",
        "are predictions too low (that they are too high is not asked)?",
        "Validation",
        "SHA-256 of counts.csv",
    ):
        assert told in page


def test_one_row_of_each_cluster_is_reported() -> None:
    lines = Path("rows.csv").read_text().splitlines()
    head, rows = lines[0], lines[1:]
    Path("clusters.csv").write_text("\n".join([f"{head},obligor", *(f"{row},{i // 2}" for i, row in enumerate(rows))]) + "\n")
    arguments = ["clusters.csv", *COLUMNS, "--cluster", "obligor", "--seed", "3"]
    found = report(*arguments, "-o", "page.html", "-o", "clusters.json")
    assert "500 new rows, one of each cluster of 1,000 rows" in found.stdout
    page = Path("page.html").read_text()
    assert "one row of each was taken, by seed 3." in page
    assert "cluster: obligor" in page
    content = stored("clusters.json")
    assert (content["figures"]["n"], content["counts"]["clusters"]["seed"]) == (500, 3)
    report("--check", "clusters.json")
    report("--check", "clusters.json", "clusters.csv")
    content["counts"]["clusters"]["n_rows"] = 999
    Path("edited.json").write_text(json.dumps(content))
    report("--check", "edited.json", "clusters.csv", code=3)
    report("rows.csv", *COLUMNS, "--seed", "3", "-o", "a.html", code=2)


def test_looks_are_counted_from_report_to_report() -> None:
    names, text = ["report.json", "second.json", "third.json"], Path("counts.csv").read_text()
    for number, (before, name) in enumerate(pairwise(names), 13):
        Path("next.csv").write_text(text.replace(",400,12", f",400,{number}"))
        level = ["--test-level", "0.1"] if number == 14 else []
        report("--counts", "next.csv", "-o", name, "--before", before, "-q", *level)
    told = [stored(name)["source"].get("before") for name in names]
    assert told[0] is None
    assert [(each["looks"], each["is_same"]) for each in told[1:]] == [(1, False), (2, False)]
    assert [each["level"] for each in told[1:]] == pytest.approx([0.05, 0.1])
    assert [each["figures_sha256"] for each in told[1:]] == [stored(name)["figures_sha256"] for name in names[:2]]
    report("--check", "third.json")
    report("--counts", "counts.csv", "-o", "page.html", "--before", "third.json")
    assert "4, with the earlier reports" in Path("page.html").read_text()
    assert "contradicts them is at most 0.25, the sum" in Path("page.html").read_text()
    assert "level 0.1, now 0.05" in Path("page.html").read_text()
    report("--counts", "next.csv", "-o", "page.html", "--before", "third.json", "--test-level", "0.1")
    assert "3, with the earlier reports" in Path("page.html").read_text(), "the same rows again do not count"
    assert "These are the same rows." in Path("page.html").read_text()
    twice = ["--before", "third.json", "--before", "second.json"]
    assert "give it once" in report("--counts", "counts.csv", "-o", "page.html", *twice, code=2).stderr
    content = stored("third.json")
    content["source"]["before"]["looks"] = "many"
    Path("edited.json").write_text(json.dumps(content))
    refused = report("--counts", "counts.csv", "-o", "page.html", "--before", "edited.json", code=1)
    assert "source.before.looks" in refused.stderr


def test_a_report_that_is_right_is_confirmed_and_a_wrong_figure_named() -> None:
    assert "computed again from the counts in it." in report("--check", "report.json").stdout
    assert "and from the rows of rows.parquet" in report("--check", "report.json", "rows.parquet").stdout
    text = Path("report.json").read_text()
    content = stored("report.json")
    p_value = content["figures"]["tables"]["grades"][1]["p_value"]
    Path("wrong.json").write_text(text.replace(f'"p_value": {p_value!r}', '"p_value": 0.5', 1))
    found = report("--check", "wrong.json", code=3)
    assert "figures.tables.grades[B].p_value is 0.5 in the report, and" in found.stdout
    assert "1 more differs." in found.stdout  # the digest of the figures
    Path("wrong.json").write_text(text.replace('["A",0.02,400,12]', '["A",0.02,400,13]'))
    found = report("--check", "wrong.json", code=3)
    assert "figures.ones is 87 in the report, and 88 was computed" in found.stdout
    Path("wrong.json").write_text(text.replace('"side": "both"', '"side": "upper"'))
    report("--check", "wrong.json", code=3)
    rows = Path("rows.csv").read_text().replace("C,0.1,0", "C,0.1,1", 1)
    Path("other.csv").write_text(rows)
    found = report("--check", "report.json", "other.csv", code=3)
    assert "figures.ones is 87 in the report, and 88 was computed" in found.stdout
    report("--counts", "counts.csv", "-o", "of_counts.json", "-q")
    report("--check", "of_counts.json", "counts.csv")


def test_reports_that_no_program_writes_are_refused() -> None:
    Path("deep.json").write_text("[" * 200_000 + "]" * 200_000)
    assert "deep.json is not JSON" in report("--check", "deep.json", code=1).stderr
    content = stored("report.json")
    content["figures"]["portfolio"]["rate"] = 10**400
    content["figures_sha256"] = figures_digest(content["options"], content["figures"])
    Path("huge.json").write_text(json.dumps(content))
    for arguments in (["--check", "huge.json"], ["--counts", "counts.csv", "-o", "page.html", "--before", "huge.json"]):
        assert "is not a report as `fastbin report --predictions` writes" in report(*arguments, code=1).stderr


def test_a_report_without_its_counts_needs_the_rows() -> None:
    content = stored("report.json")
    content["counts"]["rows"] = None
    Path("short.json").write_text(json.dumps(content))
    assert "give FILE" in report("--check", "short.json", code=2).stderr
    report("--check", "short.json", "rows.csv")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["rows.csv", *COLUMNS], 2, "Missing option '-o' / '--output'"),
        (["m.fbm", "rows.csv", *COLUMNS, "-o", "a.html"], 2, "there is no MODEL"),
        (["m.fbm", "rows.csv", "--by", "grade", "-o", "a.html"], 2, "--by is about the column of --predictions"),
        (["m.fbm", "rows.csv", "--before", "report.json", "-o", "a.html"], 2, "--before is about a report of --predictions"),
        (["m.fbm", "-o", "a.html"], 2, "Missing argument 'FILE'"),
        (["-o", "a.html"], 2, "Missing argument 'MODEL'"),
        (["rows.csv", "-o", "a.html"], 2, "needs --predictions COLUMN"),
        (["head.csv", *COLUMNS, "-o", "a.html"], 1, "head.csv: no sample to assess was given"),
        (["rows.csv", "--counts", "counts.csv", "-o", "a.html"], 2, "with --counts there is no MODEL and no FILE"),
        (["--counts", "counts.csv", "--by", "grade", "-o", "a.html"], 2, "--by is about the column of --predictions"),
        (["--counts", "rows.csv", "-o", "a.html"], 1, "the table of counts has neither of prediction and mean_prediction"),
        (["--check", "report.json", "a", "b"], 2, "with --check there is no MODEL"),
        (["--check", "report.json", "-o", "a.html"], 2, "--check writes nothing"),
        (["--check", "rows.csv"], 1, "name the .json file of a report"),
        (["--counts", "counts.csv", "--predictions", "pd", "-o", "a.html"], 2, "leave --predictions out, or --counts"),
        (["rows.csv", "--predictions", "y", "--label", "y", "-o", "a.html"], 1, "which it would confirm"),
        (["rows.csv", *COLUMNS, "--test-level", "5", "-o", "a.html"], 2, "test_level is 5.0"),
        (["--check", "list.json"], 1, "format is"),
        (["--check", "short.json"], 1, "has no member 'figures'"),
        (["rows.csv", *COLUMNS, "--before", "list.json", "-o", "a.html"], 1, "format is"),
        (["rows.csv", *COLUMNS, "-o", "rows.csv"], 1, "is the file that is read"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments: list[str], code: int, message: str) -> None:
    Path("list.json").write_text("[1, 2]")
    Path("head.csv").write_text("grade,pd,y\n")
    content = stored("report.json")
    del content["figures"]
    Path("short.json").write_text(json.dumps(content))
    assert message in report(*arguments, code=code).stderr
    assert not Path("a.html").exists()


@pytest.mark.parametrize(
    ("changed", "code", "message"),
    [
        ({"source": 5}, 1, "source is 5; an object of JSON is expected"),
        ({"sentence": "Calibration is fine."}, 3, "sentence is "),
        ({"counts": {"rows": [5], "columns": ["n"]}}, 1, "is not a report as"),
    ],
)
def test_reports_that_were_edited_are_told(changed: dict[str, object], code: int, message: str) -> None:
    content = {**stored("report.json"), **changed}
    Path("edited.json").write_text(json.dumps(content))
    assert message in report("--check", "edited.json", code=code).output


@pytest.mark.parametrize(
    ("member", "entries"),
    [
        ("source", {"files": ["rows.csv"]}), ("source", {"files": 5}), ("source", {"columns": {"label": "y"}}),
        ("counts", {"rows": None, "clusters": {"n_rows": 5}}),
    ],
)  # fmt: skip
def test_what_a_report_says_of_its_rows_is_refused_where_it_was_edited(member: str, entries: dict[str, object]) -> None:
    content = stored("report.json")
    content[member] |= entries
    Path("edited.json").write_text(json.dumps(content))
    assert "is not a report as" in report("--check", "edited.json", "rows.csv", code=1).stderr


@pytest.mark.parametrize("what", ["counts", "figures"])
def test_an_earlier_report_that_was_edited_is_refused(what: str) -> None:
    content = stored("report.json")
    if what == "counts":
        content["counts"]["rows"][0][-1] += 1
    else:
        content["figures"]["tables"]["grades"][0]["rate"] = 0.5
    Path("edited.json").write_text(json.dumps(content))
    refused = report("--counts", "counts.csv", "-o", "page.html", "--before", "edited.json", code=1)
    assert ("its counts have another digest" if what == "counts" else "it was changed") in refused.stderr


def test_another_file_than_that_of_the_report_is_told() -> None:
    Path("copy.csv").write_text(Path("rows.csv").read_text() + "\n")
    told = "(another file than that of the report)"
    assert told in report("--check", "report.json", "copy.csv").stdout
    assert told not in report("--check", "report.json", "rows.csv").stdout
