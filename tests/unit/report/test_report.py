"""The assessment of a model on a test set, and the page that tells it: the verdict first, sections, light and dark."""

from __future__ import annotations

import datetime
import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastbin as fb
from fastbin import assess
from fastbin._base.shown import rounded_up
from fastbin.plots._style import DARK_LOOK, LIGHT_LOOK, css_of
from fastbin.report import Assessment, assess_model, render_report, write_report
from fastbin.report.page import detail_table
from fastbin.shift import LabelShift

pytest.importorskip("matplotlib")

DAY = datetime.date(2026, 1, 2)


def sample(n: int, seed: int, power: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    return scores, rng.random(n) < scores**power


@pytest.fixture(scope="module")
def model() -> fb.BinnedModel:
    return fb.UniformMassBinning(n_bins=6).fit(*sample(3000, seed=1)).model_


@pytest.fixture(scope="module")
def found(model: fb.BinnedModel) -> Assessment:
    return assess_model(model, *sample(3000, seed=2))


# ------------------------------------------------------------------------------------------------- the assessment


def test_frequencies_are_rows_that_stand_so_often(model: fb.BinnedModel) -> None:
    scores, labels = sample(300, seed=3)
    weights = np.random.default_rng(4).integers(0, 4, 300)
    weighted = assess_model(model, scores, labels, sample_weight=weights)
    assert str(weighted) == str(assess_model(model, np.repeat(scores, weights), np.repeat(labels, weights)))


@pytest.mark.parametrize("dtype", [int, float])
def test_rows_of_weight_zero_do_not_count(model: fb.BinnedModel, dtype: type) -> None:
    scores, labels = np.repeat([0.2, 0.4, 0.8], 60), np.arange(180) % 3 == 0
    beside = np.append(scores, [0.1, 0.9, math.nan, 2.0]), np.append(labels, [True] * 4)
    weights = np.append(np.ones(180), np.zeros(4)).astype(dtype)
    found = assess_model(model, *beside, sample_weight=weights)
    plain = assess_model(model, scores, labels, sample_weight=weights[:180])
    assert found.to_dict() == plain.to_dict()
    assert found.n_samples == 180
    assert found.after.table.grouping == "values"


def test_numbers_are_those_of_the_diagnostics(model: fb.BinnedModel, found: Assessment) -> None:
    scores, labels = sample(3000, seed=2)
    predictions = model.predict(scores, seed=0)
    assert found.after.ece == assess.ece(predictions, labels)
    assert found.after.brier.score == assess.brier_score(predictions, labels)
    assert found.after.roc_auc == assess.roc_auc(predictions, labels)
    assert found.before is not None
    bins = assess.reliability_table(predictions, labels).counts  # the scores are compared in the bins of the probabilities
    assert found.before.table.counts.tolist() == found.after.table.counts.tolist() == bins.tolist()
    assert found.before.table.label_sums.tolist() == found.after.table.label_sums.tolist()
    assert found.before.n_values == 3000
    assert found.check is not None
    assert found.check.to_dict() == assess.check_certificate(model, scores, labels).to_dict()
    assert found.bin_counts is not None
    assert found.bin_counts.tolist() == np.bincount(model.assign(scores, seed=0), minlength=6).tolist()
    assert [certificate.kind for certificate in found.certificates] == ["conditional", "marginal", "ece"]
    assert (found.n_samples, found.n_positive, found.left_out.total) == (3000, int(labels.sum()), 0)


def test_json_holds_no_infinity(model: fb.BinnedModel) -> None:
    certain = fb.BinnedModel.from_parts(edges=[0.5], values=[0.0, 1.0], counts=[5, 5], label_sums=[0, 5], scheme="umd")
    found = assess_model(certain, [0.1, 0.2, 0.8, 0.9], [1, 0, 1, 1])
    assert math.isinf(found.after.log_loss)
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert content["scorecards"][1]["log_loss"] is None
    assert content["scorecards"][0]["name"] == "score itself"


def test_rows_that_cannot_be_scored_are_left_out_and_told(model: fb.BinnedModel) -> None:
    scores, labels = sample(1000, seed=3)
    damaged = scores.copy()
    damaged[[0, 5]], damaged[7], damaged[8] = math.nan, 1.5, math.inf
    kept = np.isfinite(damaged) & (damaged <= 1.0)
    found = assess_model(model, damaged, labels)
    assert (found.left_out.missing, found.left_out.outside, found.n_samples) == (2, 2, 996)
    assert found.after.ece == assess_model(model, scores[kept], labels[kept]).after.ece
    told = "4 test rows are left out of every number here: 2 scores are missing and 2 scores are outside the range of the model"
    assert any(told in caution for caution in found.cautions)
    with pytest.raises(fb.InputError, match="no row is left to assess: 1 scores are missing, 1 outside the range"):
        assess_model(model, [math.nan, 2.0], [0, 1])
    for weights in (np.array([0, 0, 3]), np.array([0.0, 0.0, 3.5])):
        with pytest.raises(fb.InputError, match="0 scores are missing, 1 outside the range, and the others have weight 0"):
            assess_model(model, [0.1, 0.2, 2.0], [0, 1, 1], sample_weight=weights)


def test_frequencies_are_repetitions(model: fb.BinnedModel) -> None:
    scores, labels = sample(400, seed=4)
    weights = np.arange(400) % 3
    weighted = assess_model(model, scores, labels, sample_weight=weights)
    plain = assess_model(model, np.repeat(scores, weights), np.repeat(labels, weights))
    assert weighted.n_samples == plain.n_samples == int(weights.sum())
    assert weighted.n_positive == plain.n_positive
    assert weighted.check is not None
    assert plain.check is not None
    assert weighted.check.to_dict() == plain.check.to_dict()
    for left, right in zip(weighted.scorecards, plain.scorecards, strict=True):
        assert math.isclose(left.ece, right.ece, rel_tol=1e-9)
        assert math.isclose(left.brier.score, right.brier.score, rel_tol=1e-12)


def test_importance_weights_allow_no_test(model: fb.BinnedModel) -> None:
    scores, labels = sample(400, seed=5)
    found = assess_model(model, scores, labels, sample_weight=np.linspace(0.5, 1.5, 400))
    assert found.check is None
    assert found.is_weighted
    assert found.n_samples == 400
    assert "importance weights" in render_report(found, date=DAY)


def test_other_methods_are_models_calibrators_or_predictions(model: fb.BinnedModel) -> None:
    scores, labels = sample(500, seed=6)
    scores[3] = math.nan
    calibrator = fb.UniformMassBinning(n_bins=2).fit(*sample(500, seed=7))
    predictions = np.where(np.isnan(scores), math.nan, 0.3)  # none for the row that is left out
    found = assess_model(model, scores, labels, others={"two": calibrator, "same": calibrator.model_, "constant": predictions})
    assert [card.name for card in found.scorecards] == ["score itself", "calibrated", "two", "same", "constant"]
    assert found.others[0].ece == found.others[1].ece
    assert found.others[2].n_values == 1
    complaint = r"others\['short'\] has shape \(3,\); it must hold one prediction for each of 500 rows"
    with pytest.raises(fb.InputError, match=complaint):
        assess_model(model, scores, labels, others={"short": [0.1, 0.2, 0.3]})
    with pytest.raises(fb.InputError, match="cells is missing"):
        assess_model(model, scores, labels, others={"set": fb.ModelSet({"north": model})})


def test_a_score_that_another_model_refuses_is_told_by_its_row_of_all(model: fb.BinnedModel) -> None:
    other = fb.UniformMassBinning(n_bins=2, score_range=(0.0, 0.5)).fit(np.linspace(0.0, 0.5, 100), [0, 1] * 50)
    with pytest.raises(fb.InputError, match=r"^scores\[3\] is 0.9, outside \[0, 0.5\], for others\['narrow'\]"):
        assess_model(model, [math.nan, 0.1, 0.2, 0.9], [0, 0, 1, 1], others={"narrow": other})


def test_another_model_is_of_the_same_event() -> None:
    scores, labels = sample(500, seed=12)
    text = np.where(labels == 1, "bad", "good")
    bad = fb.PlattScaling().fit(scores, text, positive="bad")
    good = fb.PlattScaling().fit(1.0 - scores, text, positive="good")
    complaint = r"others\['x'\] is about 'good', and label 1 is 'bad'; compare with a model of the same event"
    with pytest.raises(fb.InputError, match=complaint):
        assess_model(bad, scores, text, others={"x": good}, positive="bad")
    with pytest.raises(fb.InputError, match=complaint):
        assess_model(fb.PlattScaling().fit(scores, labels), scores, text, others={"x": good}, positive="bad")
    assert assess_model(bad, scores, labels, others={"x": fb.PlattScaling().fit(scores, labels)}).others[0].name == "x"


def test_methods_are_told_from_the_columns_of_the_model_that_are_called_so(model: fb.BinnedModel) -> None:
    """Else the page would show the numbers of another method as those of the model."""
    scores, labels = sample(300, seed=11)
    others = {"calibrated": np.full(300, 0.5), "score itself": scores, "calibrated (other)": 1.0 - scores}
    found = assess_model(model, scores, labels, others=others)
    titles = ["score itself", "calibrated", "calibrated (other) (other)", "score itself (other)", "calibrated (other)"]
    assert [card.name for card in found.scorecards] == titles
    assert found.score_words()["calibrated"] == list(found.after.numbers().values())
    nameless = assess_model(model, scores, labels, others={"": scores})
    assert nameless.score_words()[""] == list(found.after.numbers())
    margins = fb.PlattScaling(score_range=None).fit(10.0 * scores, labels)  # whose scores have no column
    assert assess_model(margins, 10.0 * scores, labels, others={"score itself": scores}).others[0].name == "score itself"


@pytest.mark.parametrize(
    ("other", "complaint"),
    [
        (np.linspace(0.0, 1.1, 500), r"others\['x'\]\[454\] is 1.00\d*; probabilities are in \[0, 1\]"),
        (np.r_[0.5, -0.5, np.full(498, 0.5)], r"others\['x'\]\[1\] is -0.5"),
        (np.r_[0.5, math.nan, np.full(498, 0.5)], r"others\['x'\]\[1\] is nan"),
        (["a"] * 500, r"others\['x'\] must be a model, or one probability for each row"),
        ({1: 2}, r"others\['x'\] must be a model, or one probability for each row"),
    ],
)
def test_predictions_of_another_method_are_probabilities(model: fb.BinnedModel, other: Any, complaint: str) -> None:
    scores, labels = sample(500, seed=6)
    with pytest.raises((fb.InputError, fb.InputTypeError), match=complaint):
        assess_model(model, scores, labels, others={"x": other})


PROMISED_BEFORE = "The grey line is what the number of calibration samples promised before any was seen."


def test_the_line_of_theorem_4_is_drawn_for_what_the_theorem_is_about_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words below the picture tell; the pictures themselves are left out."""
    monkeypatch.setattr("fastbin.report.page.svg_of", lambda *_: "<svg></svg>")
    scores, labels = sample(1000, seed=8)
    plain = fb.UniformMassBinning(5).fit(scores, labels).model_
    others = {
        "moved": LabelShift(plain, method="known", target_rate=0.1).fit().model_,
        "drawn": fb.UniformMassBinning(5, delta=0.2).fit(scores, labels).model_,
        "sampled": fb.UniformMassBinning(5, sampling_rate=0.2).fit(scores, labels).model_,
        "tied": fb.UniformMassBinning(5).fit(np.round(scores, 1), labels).model_,
        "weighted": fb.UniformMassBinning(5).fit(scores, labels, sample_weight=scores + 0.5).model_,
        "fixed": fb.FixedWidthBinning(5).fit(scores, labels).model_,
    }
    assert PROMISED_BEFORE in render_report(assess_model(plain, *sample(500, seed=9)), date=DAY)
    for name, other in others.items():
        assert PROMISED_BEFORE not in render_report(assess_model(other, *sample(500, seed=9)), date=DAY), name


@pytest.mark.usefixtures("drawn_anew")
def test_a_fitted_calibrator_is_accepted_like_its_model() -> None:
    calibrator = fb.UniformMassBinning(n_bins=4).fit(*sample(500, seed=7))
    of_calibrator, of_model = (assess_model(model, *sample(500, seed=6)) for model in (calibrator, calibrator.model_))
    assert of_calibrator.to_dict() == of_model.to_dict()
    assert render_report(of_calibrator, date=DAY) == render_report(of_model, date=DAY)
    with pytest.raises(fb.NotFittedError, match="not fitted yet"):
        assess_model(fb.UniformMassBinning(), *sample(500, seed=6))


@pytest.mark.usefixtures("drawn_anew")
def test_margins_have_no_before() -> None:
    scores, labels = sample(1000, seed=8)
    margins = 10.0 * scores - 5.0
    fitted = fb.UniformMassBinning(n_bins=4, score_range=None).fit(margins, labels)
    found = assess_model(fitted, margins, labels)
    assert found.before is None
    assert "score itself" not in render_report(found, date=DAY)


# ------------------------------------------------------------------------------------------------- cautions


def cautions(model: fb.BinnedModel, scores: Any, labels: Any) -> str:
    return " | ".join(assess_model(model, scores, labels).cautions)


def test_all_is_well(found: Assessment) -> None:
    assert found.cautions == ()
    assert "There is nothing to caution against." in render_report(found, date=DAY)


def test_rows_of_the_fit_are_cautioned_against() -> None:
    rows = sample(500, seed=7)
    found = assess_model(fb.UniformMassBinning(n_bins=4).fit(*rows), *rows)
    assert found.cautions[0].startswith("Test rows are rows of the fit, which the model has seen")
    assert "There is nothing to caution against." not in render_report(found, date=DAY)


@pytest.mark.parametrize(("n", "seen"), [(1, "<td>no difference</td>"), (400, "<td>in some bins no difference; a ")])
def test_whether_any_bin_would_have_shown_a_difference(model: fb.BinnedModel, n: int, seen: str) -> None:
    assert seen in render_report(assess_model(model, [0.1] * n, [0] * n), date=DAY)


def test_a_contradicted_certificate_comes_first(model: fb.BinnedModel) -> None:
    told = assess_model(model, *sample(3000, seed=9, power=0.7)).cautions
    assert told[0].startswith("The certificate is contradicted by the test set. Contradicted by 3,000 new rows: in bin")
    assert any("the populations differ" in caution for caution in told)


def test_a_method_without_guarantee_says_why(model: fb.BinnedModel) -> None:
    isotonic = fb.BinnedModel.from_parts(
        edges=model.edges, values=np.sort(model.values), counts=model.counts, label_sums=model.label_sums, scheme="isotonic"
    )
    found = assess_model(isotonic, *sample(3000, seed=2))
    assert found.certificates == ()
    assert found.check is None
    assert found.cautions[0].startswith("A certificate is missing: isotonic regression")
    page = render_report(found, date=DAY)
    assert "This model carries no finite-sample guarantee." in page
    assert "no finite-sample" in page


def test_small_and_empty_bins_are_named() -> None:
    model = fb.BinnedModel.from_parts(
        edges=[0.25, 0.5, 0.75], values=[0.1, 0.5, 0.4, 0.9], counts=[100, 0, 12, 30], label_sums=[10, 0, 5, 27],
        scheme="fixed-width", n_bins_asked=5,
    )  # fmt: skip
    told = cautions(model, np.linspace(0.0, 0.7, 300), np.arange(300) % 2)
    assert "5 bins were asked for, and ties left 4." in told
    assert "Bin 1 held no calibration sample" in told
    assert "Bin 2 held fewer than 30 calibration samples" in told
    assert "Bin 3 holds fewer than 30 test samples: the test says little about it." in told
    assert "The probability falls from one bin to the next once (after bin 1)" in told


def test_another_population_is_noticed(model: fb.BinnedModel) -> None:
    scores, labels = sample(3000, seed=10)
    low = scores < 0.6
    told = cautions(model, scores[low], labels[low])
    assert "spread over the bins otherwise" in told
    assert re.search(r"Label 1 was 3\d\.?\d* % of the calibration samples and is 1\d\.?\d* % of the test samples", told)


def test_ties_randomisation_and_shift_are_told() -> None:
    parts: dict[str, Any] = {
        "edges": [0.5], "values": [0.2, 0.8], "counts": [50, 50], "label_sums": [10, 40], "n_samples": 101, "n_positive": 50,
    }  # fmt: skip
    scores, labels = np.linspace(0.0, 1.0, 100), np.arange(100) % 2
    tied = fb.BinnedModel.from_parts(**parts, scheme="umd", ties="random", n_tied=20, edge_keys=[2**63])
    assert "19.8 % of the calibration samples share the score of a boundary and go to one side" in cautions(
        tied, scores, labels
    )
    upper = fb.BinnedModel.from_parts(**parts, scheme="umd", ties="upper", n_tied=20)
    assert "were all put above it" in cautions(upper, scores, labels)
    moved = fb.BinnedModel.from_parts(**parts, scheme="umd", odds_ratio=0.5)
    assert "odds of every value were multiplied by 0.5" in cautions(moved, scores, labels)
    shaken = fb.BinnedModel.from_parts(**parts, scheme="umd", delta=0.01)
    assert "randomised by up to delta = 0.01" in cautions(shaken, scores, labels)


def test_a_loss_from_binning_is_told() -> None:
    rng = np.random.default_rng(11)
    scores = rng.random(4000)
    labels = rng.random(4000) < scores
    coarse = fb.UniformMassBinning(n_bins=2).fit(scores[:2000], labels[:2000])
    told = " | ".join(assess_model(coarse, scores[2000:], labels[2000:]).cautions)
    assert "On this test set the scores themselves have the smaller Brier score" in told
    certain = fb.BinnedModel.from_parts(edges=[0.5], values=[0.0, 1.0], counts=[50, 50], label_sums=[0, 50], scheme="umd")
    assert "The log loss is infinite" in cautions(certain, np.linspace(0, 1, 100), np.arange(100) % 2)


# ------------------------------------------------------------------------------------------------- the page


class Outline(HTMLParser):
    """Tags in balance, headings, and everything that could reach out of the page."""

    VOID = ("meta", "br", "path", "use", "rect", "link", "img", "input", "hr")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.headings: list[str] = []
        self.outward: list[str] = []
        self.count: dict[str, int] = {}

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        if tag not in self.VOID:
            self.open.append(tag)
        if tag in ("script", "link", "iframe", "object", "embed", "img"):
            self.outward.append(tag)
        self.outward += [
            f"{name}={value}"
            for name, value in attributes
            if name in ("src", "href", "xlink:href", "action", "data") and not (value or "").startswith("#")
        ]

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)


def outline(page: str) -> Outline:
    parser = Outline()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


@pytest.mark.usefixtures("drawn_anew")
def test_the_page_is_whole_and_needs_nothing_else(found: Assessment) -> None:
    page = render_report(found, title="Scorecard 7", model_source="credit.fbm", test_source="test.csv", date=DAY)
    seen = outline(page)
    assert seen.headings == [
        "What was checked", "In short", "The model", "What is promised", "The test set", "Bin by bin", "Before and after",
        "Pictures", "How to read this", "Signatures",
    ]  # fmt: skip
    assert seen.outward == []
    assert "url(h" not in page
    assert "@import" not in page
    assert seen.count["svg"] == 3
    assert "Scores and calibrated probabilities against what happened" in page
    for told in ("Scorecard 7", "credit.fbm", "test.csv", "2026-01-02", fb.__version__, f"{found.after.ece:.4f}"):
        assert told in page
    assert str(found.check) in page
    assert page == render_report(found, title="Scorecard 7", model_source="credit.fbm", test_source="test.csv", date=DAY)


def test_what_the_user_names_is_escaped(model: fb.BinnedModel) -> None:
    hostile = "<script>alert('x')</script>"
    found = assess_model(model, *sample(300, seed=12), others={hostile: np.full(300, 0.5)})
    page = render_report(found, title=hostile, model_source=hostile, test_source=hostile, date=DAY)
    assert outline(page).outward == []
    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(&#x27;x&#x27;)") == 5


def test_the_table_of_bins(found: Assessment, model: fb.BinnedModel) -> None:
    """A table of what is promised, one of what was seen and was to be expected, and one of the test."""
    promised, seen, tested = (
        [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", table)[1:]]
        for table in detail_table(found).split("</table>")[:3]
    )
    assert len(promised) == len(seen) == len(tested) == 6
    assert [cell[3] for cell in promised] == [f"{value:.4f}" for value in model.values]
    assert [cell[0] for cell in promised] == [cell[0] for cell in seen] == [cell[0] for cell in tested]
    assert found.bin_counts is not None
    assert [cell[1] for cell in seen] == [f"{count:,}" for count in found.bin_counts]
    assert found.check is not None
    expected = zip(found.check.counts.tolist(), model.values.tolist(), strict=True)
    assert [cell[2] for cell in seen] == [f"{count * value:,.1f}" for count, value in expected]
    assert [cell[3] for cell in seen] == [f"{ones:,}" for ones in found.check.label_sums]
    for cell, verdict in zip(tested, found.check.verdicts, strict=True):
        assert verdict in cell[-1]


def test_many_bins_are_folded_away() -> None:
    scores, labels = sample(4000, seed=13)
    fine = fb.UniformMassBinning(n_bins=100).fit(scores, labels)
    page = render_report(assess_model(fine, scores, labels), date=DAY)
    assert "<summary>100 bins</summary>" in page
    outline(page)


@pytest.mark.parametrize("kind", ["smooth", "linear", "bare"])
def test_models_of_every_kind_have_a_page(kind: str) -> None:
    parts: dict[str, dict[str, Any]] = {
        "smooth": {"kind": "smooth", "scheme": "platt", "map": "logistic", "map_parameters": (2.0, -1.0)},
        "linear": {"kind": "linear", "edges": [0.2, 0.8], "values": [0.1, 0.9], "scheme": "isotonic"},
        "bare": {"edges": [0.5], "values": [0.2, 0.8]},
    }
    other = fb.BinnedModel.from_parts(**{"edges": [], "values": [], **parts[kind]})
    found = assess_model(other, *sample(500, seed=14))
    seen = outline(render_report(found, date=DAY))
    assert ("Bin by bin" in seen.headings) == (kind == "bare")
    assert found.why_no_certificate is not None


def test_a_file_is_written_whole_or_not_at_all(found: Assessment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    write_report(path, found, date=DAY)
    assert path.read_text(encoding="utf8") == render_report(found, date=DAY)
    path.write_text("the old one")
    monkeypatch.setattr("os.replace", lambda *_, **__: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_report(path, found, date=DAY)
    assert path.read_text() == "the old one"
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


# ------------------------------------------------------------------------------------------------- the page in a browser


pytest.importorskip("matplotlib")

RNG = np.random.default_rng(11)
SCORES = RNG.random(3000)
LABELS = RNG.random(3000) < SCORES**2


def assessed(ties: str = "whole", decimals: int | None = None, moved: float = 0.0) -> Assessment:
    scores = SCORES if decimals is None else SCORES.round(decimals)
    model = fb.UniformMassBinning(n_bins=4, ties=ties).fit(scores[:1500], LABELS[:1500]).model_
    return assess_model(model, np.clip(scores[1500:] + moved, 0.0, 1.0), LABELS[1500:])


@pytest.fixture(scope="module")
def page() -> str:
    return render_report(assessed())


@pytest.mark.parametrize(("moved", "verdict", "kind"), [(0.0, "not contradicted", "open"), (0.3, "contradicted", "bad")])
def test_the_verdict_stands_before_everything_else(moved: float, verdict: str, kind: str) -> None:
    page = render_report(assessed(moved=moved))
    badge = re.search(r"<span class='badge (\w+)'>\S+ ([\w ]+)</span>", page)
    assert badge is not None
    assert badge.groups() == (kind, verdict)
    assert page.index("</h1>") < badge.start() < page.index("<nav>") < page.index("<section")


def test_without_a_check_the_badge_says_why() -> None:
    platt = fb.PlattScaling().fit(SCORES[:1500], LABELS[:1500])
    assert "no certificate</span>" in render_report(assess_model(platt, SCORES[1500:], LABELS[1500:]))
    weighted = assess_model(assessed().model, SCORES[1500:], LABELS[1500:], sample_weight=np.full(1500, 0.5))
    assert "not tested</span>" in render_report(weighted)


def test_the_contents_lead_to_every_section(page: str) -> None:
    links = re.findall(r"<a href='#([\w-]+)'>([^<]+)</a>", page)
    sections = re.findall(r"<section id='([\w-]+)'><h2>([^<]+)</h2>", page)
    assert links == sections
    titles = [title for _, title in links]
    assert titles[:2] == ["What was checked", "In short"]
    assert titles[-1] == "Signatures"
    assert {"The model", "What is promised", "The test set", "Bin by bin", "Before and after", "Pictures"} <= set(titles)


def test_dark_pages_have_colours_of_their_own(page: str) -> None:
    style = page.partition("<style>")[2].partition("</style>")[0]
    light, _, dark = style.partition("@media(prefers-color-scheme:dark)")
    assert css_of(LIGHT_LOOK) in light
    assert css_of(DARK_LOOK) in dark
    for name in re.findall(r"var\((--[\w-]+)\)", page):
        assert f"{name}:" in light, f"{name} has no colour on light pages"
        assert f"{name}:" in dark.partition("}}")[0], f"{name} has no colour on dark pages"
    assert not re.search(r"(?<!-)(?:color|background|border\S*): #", style.partition("body")[2])


def test_the_page_needs_nothing_else(page: str) -> None:
    assert not re.findall(r"<(?:script|link|img|iframe)|@import|src=", page)
    assert not [address for address in re.findall(r"https?://[^\s\"'<]+", page) if "www.w3.org" not in address]


def rows_of(page: str) -> list[list[str]]:
    table = page.partition("<h2>Bin by bin</h2>")[2].partition("</section>")[0]
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", table.split("</table>")[0])[1:]]


def test_no_two_bins_are_called_the_same() -> None:
    rows = rows_of(render_report(assessed(ties="random", decimals=0)))
    assert len(rows) == 4
    assert len({(row[1], row[2]) for row in rows}) == 4
    assert any("%" in row[1] for row in rows)


def test_bins_of_whole_ties_show_scores_alone() -> None:
    rows = rows_of(render_report(assessed(decimals=2)))
    assert not [row for row in rows if "%" in row[1] + row[2]]
    assert [row[2] for row in rows[:-1]] == [row[1] for row in rows[1:]]


def test_a_page_on_a_set_has_the_same_order() -> None:
    cells = np.where(np.arange(3000) % 3 == 0, "north", "south")
    fits = {}
    for key in ("north", "south"):
        rows = np.flatnonzero(cells[:1500] == key)
        fits[key] = fb.UniformMassBinning(n_bins=3).fit(SCORES[rows], LABELS[rows])
    found: Any = assess_model(fb.ModelSet(fits), SCORES[1500:], LABELS[1500:], cells=cells[1500:])
    page = render_report(found)
    titles = re.findall(r"<section id='[\w-]+'><h2>([^<]+)</h2>", page)
    assert "Cell by cell" in titles
    assert page.index("class='badge") < page.index("<nav>")
    assert str(found).startswith(str(found.certificates[0]))
    assert "class='badge" in found._repr_html_()


def test_a_certificate_that_excludes_neither_end_is_told() -> None:
    """One of five rows was "confirmed" at the top of a page that cautioned against nothing."""
    rng = np.random.default_rng(0)
    of_few = fb.CertifiedCalibration().fit(rng.random(5), [0, 1, 0, 1, 1]).model_
    told = cautions(of_few, rng.random(500), rng.random(500) < 0.3)
    epsilon = rounded_up(of_few.certificate(alpha=0.1).epsilon)
    assert f"excludes a frequency of 0 or 1 in no bin, as epsilon is {epsilon}: " in told
    scores = rng.random(20_000)
    rare = fb.UniformMassBinning(5).fit(scores, rng.random(20_000) < 1e-3).model_
    assert "excludes a frequency of 0 in no bin" in cautions(rare, scores[:500], np.arange(500) % 2)
    for side, end in (("lower", "0"), ("upper", "1")):  # the other end is that of the scale
        found = assess_model(of_few, scores[:500], np.arange(500) % 2, side=side)
        assert any(f"excludes a frequency of {end} in no bin" in each for each in found.cautions)
    assert rare.certificate(alpha=0.1).epsilon >= rare.values.max()
    plain = fb.UniformMassBinning(5).fit(scores, rng.random(20_000) < scores).model_
    assert "excludes" not in cautions(plain, scores[:500], rng.random(500) < scores[:500])


def test_small_numbers_are_not_shown_as_0() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(40_000) * 1e-3
    labels = rng.random(40_000) < scores
    model = fb.UniformMassBinning(5).fit(scores[:20_000], labels[:20_000]).model_
    numbers = assess_model(model, scores[20_000:], labels[20_000:]).after.numbers()
    assert 0.0 < float(numbers["- uncertainty"]) < 0.001
    assert 0.0 < float(numbers["expected calibration error"]) < 0.001


def test_labels_of_another_event_are_refused_though_nothing_is_tested() -> None:
    scores, labels = np.linspace(0.0, 1.0, 100), np.resize(["late", "paid"], 100)
    model = fb.UniformMassBinning(2).fit(scores, labels, positive="late").model_
    with pytest.raises(fb.InputError, match=r"^positive is 'paid'"):
        assess_model(model, scores, labels, positive="paid", sample_weight=scores + 0.5)


def test_bins_that_a_promise_leaves_out_decide_nothing() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(300) * 0.5
    with pytest.warns(fb.FastbinWarning, match="hold no sample"):
        model = fb.ExplicitBinning([0.25, 0.5, 0.75]).fit(scores, np.arange(300) % 150 == 0).model_
    assert "excludes a frequency of 0 in no bin" in cautions(model, scores, np.arange(300) % 2)
    for label, side in ((0, "lower"), (1, "upper")):
        certain = fb.UniformMassBinning(5).fit(scores, np.full(300, label)).model_
        assert all("excludes" not in each for each in assess_model(certain, scores, np.arange(300) % 2, side=side).cautions)
