"""The page on given predictions: what it says first, its tables and picture, and what is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest
from wordings import refused, refuses

import fastbin as fb
from fastbin.assess import Validation
from fastbin.report import predictions_page, recheck
from fastbin.report.recheck import changes

pytest.importorskip("matplotlib")
GRADES, PD = np.repeat(["b", "a", "<c>"], 400), np.repeat([0.01, 0.02, 0.2], 400)
ONES = np.concatenate([np.arange(400) < ones for ones in (5, 9, 120)])
SEGMENTS = np.arange(1200) % 2


@pytest.fixture(scope="module")
def found() -> Validation:
    made = fb.assess.assess(PD, ONES, GRADES, SEGMENTS, asset_correlation=0.1)
    assert isinstance(made, Validation)
    return made


def plain(page: str) -> str:
    """The text of a page, without its markup and its pictures."""
    text = re.sub(r"<(style|svg).*?</\1>", "", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", text))


def test_one_row_of_tables_has_the_level_by_itself(found: Validation) -> None:
    alone = fb.assess.assess(PD[:400], ONES[:400], GRADES[:400])
    assert "1 row of tables shares it by Holm" in plain(fb.report.render_report(alone))
    assert "rows of tables share it by Holm" in plain(fb.report.render_report(found))


def test_ten_questions_are_answered(found: Validation) -> None:
    before = fb.assess.assess(PD, np.arange(1200) % 50 == 0, GRADES, SEGMENTS)
    page = fb.report.render_report(
        found, title="Ratings", test_source="rows.csv", before=before, prepared_by="J. Doe", role="Validation",
        files={"rows.csv": "ab" * 32}, columns={"prediction": "pd", "label": "y"},
    )  # fmt: skip
    text = plain(page)
    for told in (
        "Rows of rows.csv", "SHA-256 of rows.csv", "Rows 1,200", "Event label 1", "Labels are independent",
        "Contradicted in &lt;c&gt; (too low, 20 % predicted", "would have been seen with probability",
        "0.05; 11 rows of tables share it by Holm&#x27;s adjustment",
        "Looks 2, with the earlier reports", "contradicts them is at most 0.1", "Since the last report", "J. Doe",
        "prediction: pd; label: y", "European Central Bank", found.counts.digest,
        found.figures_digest, "The rows must be new", "fastbin report --check report.json", "Vasicek",
    ):  # fmt: skip
        assert told in text, told
    assert "<c>" not in page
    assert "http" not in re.sub(r"http://www\.w3\.org/\S*", "", page)
    assert page == fb.report.render_report(
        found, title="Ratings", test_source="rows.csv", before=before.to_dict(), prepared_by="J. Doe", role="Validation",
        files={"rows.csv": "ab" * 32}, columns={"prediction": "pd", "label": "y"},
    )  # fmt: skip


def test_grades_stand_in_the_order_of_their_predictions(found: Validation) -> None:
    assert [row["grade"] for row in found.ordered("grades")] == ["b", "a", "<c>"]
    assert [row["grade"] for row in found.tables["grades"]] == ["<c>", "a", "b"]
    assert [(row["segment"], row["grade"]) for row in found.ordered("cells")][:4] == [(0, "b"), (0, "a"), (0, "<c>"), (1, "b")]


def test_pages_without_grades_with_many_and_with_means() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(500).round(2)
    page = fb.report.render_report(fb.assess.assess(scores, rng.random(500) < scores))
    assert "isotonic (CORP)" in page
    assert "Since the last report" not in page
    many = fb.report.render_report(fb.assess.assess(scores, rng.random(500) < scores, by=np.arange(500) % 50))
    assert "50 grades" in plain(many)
    assert "<details>" in many
    means = fb.assess.assess_counts({"grade": ["A"], "mean_prediction": [0.1], "n": [100], "ones": [30]})
    page = plain(fb.report.render_report(means))
    assert "Only mean predictions are known." in page
    assert "tests need the prediction of every row" in page
    assert "too low" in page
    alone = fb.report.render_report(fb.assess.assess_counts({"mean_prediction": [0.1], "n": [100], "ones": [10]}))
    assert "<svg" not in alone


def test_changes_name_what_came_and_went() -> None:
    now = fb.assess.assess_counts({"grade": ["A", "B"], "prediction": [0.1, 0.2], "n": [100, 100], "ones": [30, 20]})
    then = fb.assess.assess_counts({"grade": ["A", "C"], "prediction": [0.1, 0.3], "n": [50, 100], "ones": [5, 30]})
    columns = changes(then.to_dict(), now, "grades")
    assert columns[""] == ["A", "B", "C", "all"]
    assert columns["n before"] == [50, None, 100, 150]
    assert columns["n now"] == [100, 100, None, 200]
    assert columns["verdict before"] == ["not contradicted", "", "not contradicted", "not contradicted"]
    assert columns["verdict now"][0] == "too low"
    page = plain(fb.report.render_report(now, before=then.to_dict()))
    assert "Grade by grade: the verdict of 1 changed, 1 is new, 1 is gone." in page
    assert "There 2 rows of tables shared" not in page
    for keys in ({"grade": ["all", "B"]}, {"segment": ["a", "a / b"], "grade": ["b / c", "c"]}):  # names are not theirs alone
        cells = fb.assess.assess_counts({**keys, "prediction": [0.1, 0.2], "n": [100, 50], "ones": [30, 20]})
        assert changes(cells.to_dict(), cells, cells.main_table)["n now"] == [100, 50, 150]
    other = fb.assess.assess_counts({"prediction": [0.1], "n": [50], "ones": [5]}, side="upper")
    page = plain(fb.report.render_report(now, before=other.to_dict()))
    assert "Its question was another one (side upper, now both)" in page
    assert "There 1 test shared the level, and here 2." in page


def test_earlier_reports_in_a_row_are_looks() -> None:
    found = [
        fb.assess.assess_counts({"prediction": [0.1, 0.2], "n": [100, 50], "ones": [ones, 10]}) for ones in (9, 10, 11, 11)
    ]
    page = plain(fb.report.render_report(found[2], before=found[:2]))
    assert "Looks 3, with the earlier reports" in page
    assert "is at most 0.15, the sum of their levels" in page
    assert re.search(r"AUC was 0\.\d+, and is 0\.\d+\.", page)
    assert "Looks 3, with" in plain(fb.report.render_report(found[3], before=found[:3]))
    assert "Looks this page names no earlier look" in plain(fb.report.render_report(found[2]))
    assert "Looks 2, with" in plain(fb.report.render_report(found[2], before=found[1]))
    refuses("InputTypeError before[1]", fb.report.render_report, found[2], before=[found[0], 5])


def test_the_same_rows_asked_otherwise_are_a_look() -> None:
    counts = {"prediction": [0.1, 0.2], "n": [100, 50], "ones": [9, 10]}
    first, other = fb.assess.assess_counts(counts), fb.assess.assess_counts(counts, test_level=0.1)
    assert recheck.Looks.at(recheck.since(first.to_dict(), first).to_dict()) == (1, 0.05)
    assert "Looks 2, with" in plain(fb.report.render_report(other, before=first))
    second = recheck.since(first.to_dict(), other).to_dict()
    assert recheck.Looks.at(second) == (2, pytest.approx(0.15))
    assert recheck.as_one([other, second]) == second, "which names the report before it"
    second["source"]["before"]["looks"] = 0
    refused(fb.FormatError, "source.before.looks is 0", recheck.Looks.at, second)


def test_a_difference_is_shown_in_80_letters() -> None:
    assert str(recheck.FigureDifference("n", "a" * 78, "b" * 79)) == (
        f'n is "{"a" * 78}" in the report, and "{"b" * 76}... was computed'
    )


def test_before_is_about_predictions(found: Validation) -> None:
    refuses("InputTypeError before", fb.report.render_report, found, before="report.json")
    model = fb.FixedWidthBinning(n_bins=2).fit([0.2, 0.7], [0, 1]).model_
    assessment = fb.report.assess_model(model, [0.2, 0.7], [0, 1])
    refuses("InputError before", fb.report.render_report, assessment, before=found)
    assert predictions_page.check_before(None) is None
    refuses("InputTypeError assessment", fb.report.render_report, "report.html")
    refuses("InputError path", fb.report.write_report, "report.json", found)
