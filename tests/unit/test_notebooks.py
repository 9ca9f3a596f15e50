"""Models, sets, certificates and tables show themselves: printed, in notebooks, as data frames, in plain values."""

from __future__ import annotations

import io
import json
import re
import time
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from wordings import refuses

import fastbin as fb
from fastbin import assess
from fastbin._base import html, table
from fastbin._base.shown import outwards_as

RNG = np.random.default_rng(7)
SCORES = RNG.random(3000)
LABELS = RNG.random(3000) < SCORES**2
TEST = slice(1500, 3000)
HALF = np.where(SCORES[TEST] > 0.5, "<high>", "low")


@pytest.fixture(scope="module")
def model() -> fb.BinnedModel:
    return fb.UniformMassBinning(n_bins=6).fit(SCORES[:1500], LABELS[:1500]).model_


@pytest.fixture(scope="module")
def models(model: fb.BinnedModel) -> fb.ModelSet:
    other = fb.UniformMassBinning(n_bins=3).fit(SCORES[TEST], LABELS[TEST])
    few = fb.UniformMassBinning(n_bins=2).fit(RNG.random(300), RNG.random(300) < 0.5)
    return fb.ModelSet({"<north>": model, "south": other}, pool=few, pooled_cells=["islands"])


@pytest.fixture(scope="module")
def assessment(model: fb.BinnedModel) -> Any:
    return fb.report.assess_model(model, SCORES[TEST], LABELS[TEST])


@pytest.fixture(scope="module")
def things(model: fb.BinnedModel, models: fb.ModelSet, assessment: Any) -> dict[str, Any]:
    predictions = model.predict(SCORES[TEST])
    audit = assess.audit_groups(model, SCORES[TEST], LABELS[TEST], HALF)
    return {
        "model": model,
        "set": models,
        "certificate": model.certificate(),
        "set certificate": models.certificate(),
        "check": assessment.check,
        "assessment": assessment,
        "reliability": assess.reliability_table(predictions, LABELS[TEST]),
        "groups": assess.group_table(predictions, LABELS[TEST], HALF),
        "set check": assess.check_certificate(
            models, SCORES[:1500], LABELS[:1500], cells=np.where(HALF == "low", "south", "islands")
        ),
        "audit": audit,
        "audited group": audit["low"],
    }


NAMES = (
    "model", "set", "certificate", "set certificate", "check", "assessment", "reliability", "groups", "set check", "audit",
    "audited group",
)  # fmt: skip
FRAMES = tuple(name for name in NAMES if name != "certificate")
each = pytest.mark.parametrize("name", NAMES)
each_frame = pytest.mark.parametrize("name", FRAMES)


# ------------------------------------------------------------------------------------------------- HTML


class Elements(HTMLParser):
    """The tags and the text of a piece of HTML; fails where a tag is not closed, or closes another."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data if self.open and self.open[-1] != "style" else ""


@each
def test_html_is_whole_short_and_needs_nothing_else(things: dict[str, Any], name: str) -> None:
    page = things[name]._repr_html_()
    elements = Elements(page)
    assert elements.tags[:2] == ["div", "style"]
    assert not {"script", "link", "img", "iframe"} & set(elements.tags)
    assert "http" not in page
    assert "url(" not in page
    assert len(page) < 8000
    assert "@media(prefers-color-scheme:dark)" in page


@each
def test_html_colours_nothing_outside_its_box(things: dict[str, Any], name: str) -> None:
    style = things[name]._repr_html_().partition("<style>")[2].partition("</style>")[0]
    rules = style.replace("@media(prefers-color-scheme:dark){", "").split("}")
    selectors = [rule.partition("{")[0] for rule in rules if rule]
    assert len(selectors) > 8
    assert all(".fastbin" in selector for selector in selectors)


def test_text_in_html_is_escaped(things: dict[str, Any]) -> None:
    for name, cell in (("set", "&lt;north&gt;"), ("set certificate", "&lt;north&gt;"), ("groups", "&lt;high&gt;")):
        page = things[name]._repr_html_()
        assert cell in page
        assert "<north>" not in page
        assert "<high>" not in page


def test_html_of_a_model_has_its_promise_and_its_intervals(model: fb.BinnedModel) -> None:
    text = Elements(model._repr_html_()).text
    assert str(model.certificate()) in text
    for low, high in model.interval():
        assert outwards_as(".4f", low, high) in text


def test_html_of_a_method_without_guarantee_says_why() -> None:
    text = Elements(fb.PlattScaling().fit(SCORES, LABELS).model_._repr_html_()).text
    assert "No certificate: " in text
    assert "Log-odds = " in text


def test_html_of_many_bins_shows_the_first_and_the_last() -> None:
    model = fb.UniformMassBinning(n_bins=200).fit(SCORES, LABELS).model_
    page = model._repr_html_()
    assert page.count("<tr>") == table.MOST_ROWS + 2
    assert f"<td>{model.n_bins - 1}</td>" in page
    assert len(page) < 8000


def test_a_million_bins_are_shown_at_once() -> None:
    """Words are made of the rows that are shown, not of all."""
    n = 1_000_000
    model = fb.BinnedModel.from_parts(edges=np.arange(1, n) / n, values=np.linspace(0.0, 1.0, n))
    begin = time.perf_counter()
    shown = [model._repr_html_(), str(model)]
    assert time.perf_counter() - begin < 3.0  # .1 s alone; the words of all rows take 20 s
    for text in shown:
        assert "1,000,000 bins" in text
        assert "999999" in text
    n //= 20
    words, _ = assess.reliability_table(np.arange(n) / n, np.arange(n) % 2, grouping="values")._words()
    assert {len(column) for column in words.values()} == {table.LONG}
    assert words["count"][0] == "1"


def test_html_of_a_check_begins_with_its_verdict(assessment: Any) -> None:
    page = assessment.check._repr_html_()
    assert page.index("class='badge") < page.index(str(assessment.check)[:20]) < page.index("<table")
    assert f"{assessment.check.verdict}</span>" in page


@pytest.mark.parametrize("is_dark", [False, True])
def test_colours_are_legible(is_dark: bool) -> None:
    """On the usual papers of notebooks: a contrast of 4.5 and more, as WCAG asks for text."""
    declared = dict(each.split(":") for each in (html.DARK if is_dark else html.LIGHT).split(";"))
    papers = ("#111111", "#1f1f1f") if is_dark else ("#ffffff", "#f7f7f7")
    for name in ("--good", "--bad", "--open", "--quiet"):
        for paper in papers:
            one, other = sorted((luminance(declared[name]), luminance(paper)))
            assert (other + 0.05) / (one + 0.05) >= 4.5, (name, paper)


def luminance(colour: str) -> float:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (red, green, blue)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


# ------------------------------------------------------------------------------------------------- print


def test_a_printed_model_shows_its_bins_in_aligned_columns(model: fb.BinnedModel) -> None:
    sentence, empty, *lines = str(model).splitlines()
    assert "6 bins, from 1,500 samples" in sentence
    assert empty == ""
    assert lines[0].split() == ["bin", "scores", "from", "to", "samples", "label", "1", "value"]
    assert len({len(line) for line in lines}) == 1
    rows = [line.split() for line in lines[1:]]
    assert [row[-1] for row in rows] == [f"{value:.4f}" for value in model.values]
    assert [int(row[3]) for row in rows] == model.counts.tolist()


def test_a_printed_model_of_many_bins_is_short() -> None:
    model = fb.UniformMassBinning(n_bins=200).fit(SCORES, LABELS).model_
    lines = str(model).splitlines()
    assert len(lines) == table.MOST_ROWS + 4
    assert lines[-1].split()[0] == "199"
    assert set(lines[3 + table.MOST_ROWS // 2].split()) == {"..."}


def test_no_two_bins_of_equal_edges_look_the_same() -> None:
    """Where keys divide the scores that equal an edge, the shares tell the bins apart."""
    tied = np.round(SCORES * 3) / 3
    model = fb.UniformMassBinning(n_bins=10, ties="random").fit(tied, LABELS).model_
    assert len(set(model.bin_edges.tolist())) < model.n_bins - 1
    lines = str(model).splitlines()
    assert "by a random key" in lines[0]
    rows = [line.split()[1:-3] for line in lines[3:]]
    assert len(set(map(str, rows))) == model.n_bins
    for key, edge in zip(model.bin_edge_keys.tolist(), model.bin_edges.tolist(), strict=True):
        assert key == 0 or f"{edge:.6g} ({100 * key / 2**64:.2g} %)" in str(model)


def test_close_edges_are_printed_with_the_digits_that_they_need() -> None:
    edges = [0.1234567, 0.12345671, 0.12345672]
    with pytest.warns(fb.FastbinWarning, match="hold no sample"):
        model = fb.ExplicitBinning(edges=edges).fit(SCORES, LABELS).model_
    for edge in edges:
        assert repr(edge) in str(model)


def test_a_printed_set_shows_its_cells(models: fb.ModelSet) -> None:
    sentence, _, head, *rows = str(models).splitlines()
    assert sentence.startswith("A set of 3 models by uniform-mass binning")
    assert sentence.endswith(", 3 models, 11 bins in all, from 3,300 samples.")
    assert head.split()[0] == "cell"
    assert [row.split()[0] for row in rows] == ["<north>", "south", "the"]
    assert f"{models['south'].n_samples:,}" in rows[1]
    assert str(fb.ModelSet({"south": models["south"]})).startswith("A set of 1 model by uniform-mass binning ")


def test_repr_stays_one_line(model: fb.BinnedModel, models: fb.ModelSet) -> None:
    assert repr(model) == "BinnedModel(scheme='umd', 6 bins, 1,500 samples)"
    assert "\n" not in repr(models)


@each
def test_everything_can_be_printed(things: dict[str, Any], name: str) -> None:
    assert len(str(things[name])) > 20


# ------------------------------------------------------------------------------------------------- frames


@each_frame
def test_pandas_and_polars_agree(things: dict[str, Any], name: str) -> None:
    frame, other = things[name].to_pandas(), things[name].to_polars()
    assert isinstance(frame, pd.DataFrame)
    assert isinstance(other, pl.DataFrame)
    assert list(frame.columns) == other.columns
    for column in frame.columns:
        left, right = frame[column].tolist(), other[column].to_list()
        assert all(a == b or (a != a and b is None) or a is b for a, b in zip(left, right, strict=True)), column


@pytest.mark.parametrize("name", [name for name in FRAMES if name not in ("model", "set")])
def test_tables_are_read_by_the_frames_own_constructors(things: dict[str, Any], name: str) -> None:
    pd.testing.assert_frame_equal(pd.DataFrame(things[name]), things[name].to_pandas())
    assert pl.DataFrame(things[name]).equals(things[name].to_polars())
    assert len(list(things[name])) == len(things[name].to_pandas())


def test_the_frame_of_a_model(model: fb.BinnedModel) -> None:
    frame = model.to_pandas()
    np.testing.assert_array_equal(frame["value"], model.values)
    np.testing.assert_array_equal(frame["count"], model.counts)
    np.testing.assert_array_equal(frame["label_sum"], model.label_sums)
    np.testing.assert_array_equal(frame["lower"][1:], model.edges)
    np.testing.assert_array_equal(frame["upper"][:-1], model.edges)
    np.testing.assert_array_equal(frame[["interval_lower", "interval_upper"]], model.interval(0.1))
    assert "interval_lower" not in model.to_pandas(alpha=None)


def test_the_frame_of_a_set_has_joint_intervals(models: fb.ModelSet) -> None:
    frame = models.to_pandas(0.2)
    assert len(frame) == models.n_bins
    np.testing.assert_array_equal(frame[["interval_lower", "interval_upper"]], np.concatenate(models.interval(0.2)))
    assert frame["cell"].iloc[0] == "<north>"
    assert frame["cell"].isna().sum() == models.pool.n_bins  # type: ignore[union-attr]


def test_sentences_of_promises_are_read_from_the_left(model: fb.BinnedModel) -> None:
    """And on several lines: beside names and numbers a long line begins out of sight."""
    promises = model.certificates()
    shown = re.findall(r"<td class='text told'>(.*?)</td>", promises._repr_html_())
    assert shown == [html.escape(str(each)) for each in promises.certificates]


def test_cells_of_any_type_go_into_frames(model: fb.BinnedModel) -> None:
    halves = [fb.UniformMassBinning(n_bins=2).fit(SCORES[half], LABELS[half]) for half in (slice(1500), TEST)]
    models = fb.ModelSet({1000: halves[0]}, pool=halves[1], pooled_cells=[7])
    assert models.to_polars()["cell"].to_list() == [1000, 1000, None, None]
    certificate = models.certificate()
    assert certificate.to_polars()["cell"].to_list() == [1000, None]  # type: ignore[union-attr]
    assert "<td class='text'>1000</td>" in certificate._repr_html_()
    assert "<td class='text'>pool</td>" in certificate._repr_html_()


def test_scores_without_limits_have_no_ends() -> None:
    model = fb.UniformMassBinning(n_bins=2, score_range=None).fit(SCORES * 10 - 5, LABELS).model_
    assert model.to_polars()["lower"].to_list()[0] is None
    assert model.to_dict()["bins"][1]["upper"] is None


@pytest.mark.parametrize(
    "calibrator",
    [
        fb.PlattScaling(), fb.SplineScaling(), fb.IsotonicCalibration(), fb.CertifiedCalibration(n_bins=4), fb.VennAbers(),
        fb.IsotonicCalibration(interpolate=True),
    ],
    ids=lambda calibrator: repr(calibrator),
)  # fmt: skip
def test_every_kind_of_model_shows_itself(calibrator: Any) -> None:
    model = calibrator.fit(SCORES, LABELS).model_
    frame, plain = model.to_pandas(), model.to_dict()
    assert len(frame) == len(plain["bins"]) == (0 if model.kind == "smooth" else model.n_bins)
    json.dumps(plain, allow_nan=False)
    assert Elements(model._repr_html_()).text
    assert str(model)


def test_plain_values_are_ready_for_json(things: dict[str, Any]) -> None:
    for name in NAMES:
        json.dumps(things[name].to_dict(), allow_nan=False)
    assert things["model"].to_dict(alpha=None)["alpha"] is None
    assert things["set"].to_dict()["pooled_cells"] == ["islands"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_without_the_library_the_error_says_what_to_install(
    model: fb.BinnedModel, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setitem(__import__("sys").modules, library, None)
    with pytest.raises(fb.MissingDependencyError, match=f"pip install {library}$"):
        getattr(model, f"to_{library}")()


def test_a_notebook_without_scipy_still_shows_the_bins(model: fb.BinnedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> None:
        raise fb.MissingDependencyError("intervals and certificates need scipy")

    monkeypatch.setattr(fb.BinnedModel, "certificate", missing)
    text = Elements(model._repr_html_()).text
    assert "The certificate is not shown: intervals and certificates need scipy" in text
    assert f"{model.values[0]:.4f}" in text


# ------------------------------------------------------------------------------------------------- file objects


def test_models_and_sets_go_through_file_objects(model: fb.BinnedModel, models: fb.ModelSet) -> None:
    for saved in (model, models):
        file = io.BytesIO()
        saved.save(file)
        assert file.getvalue() == saved.to_bytes()
        file.seek(0)
        assert fb.load(file) == saved


def test_a_report_goes_into_a_file_object(assessment: Any) -> None:
    file = io.BytesIO()
    fb.report.write_report(file, assessment)
    assert file.getvalue().startswith(b"<!DOCTYPE html>")


def test_files_that_are_open_for_text_are_refused(model: fb.BinnedModel) -> None:
    refuses('InputTypeError: the file is open for text; *"wb"', model.save, io.StringIO())
    refuses('InputTypeError: the file is open for text; *"rb"', fb.load, io.StringIO("text"))
    with pytest.raises(fb.FormatError):
        fb.load(io.BytesIO(b"nothing"))


TO_FIT = [fb.CertifiedCalibration(), fb.PlattScaling(), fb.multi.SegmentedBinning(fb.UniformMassBinning(2))]


@pytest.mark.parametrize("estimator", TO_FIT, ids=lambda each: type(each).__name__)
def test_a_fitted_calibrator_shows_its_model(estimator: Any) -> None:
    """Before its fit it shows its configuration; printed it is as it was."""
    name = repr(estimator)
    unfitted = estimator._repr_html_()
    assert html.escape(name) in unfitted
    assert "<table" not in unfitted
    segments = [np.where(SCORES > 0.5, "<b>", "low")] if isinstance(estimator, fb.multi.SegmentedBinning) else []
    estimator.fit(SCORES, LABELS, *segments)
    shown = estimator._repr_html_()
    assert html.escape(name) in shown
    assert estimator.model_._repr_html_() in shown
    assert repr(estimator) == name
    assert "<b>" not in shown
