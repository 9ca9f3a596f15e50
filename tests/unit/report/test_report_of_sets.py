"""The assessment of a set: the whole, every cell, and its page."""

from __future__ import annotations

import html
import json
import math
from typing import Any

import numpy as np
import pytest

import fastbin as fb
from fastbin import assess
from fastbin.report import Assessment, assess_model, render_report

RNG = np.random.default_rng(4)
N = 6000
SCORES, CELLS = RNG.random(N), RNG.choice(["north", "south", "isle"], N, p=[0.6, 0.39, 0.01])
LABELS = RNG.random(N) < np.where(CELLS == "south", SCORES**2, SCORES)
FITTED, TESTED = slice(0, 3000), slice(3000, None)


@pytest.fixture(scope="module")
def models() -> fb.ModelSet:
    cal = fb.multi.SegmentedBinning(fb.UniformMassBinning(5), unknown="pool")
    return cal.fit(SCORES[FITTED], LABELS[FITTED], CELLS[FITTED]).model_


@pytest.fixture(scope="module")
def found(models: fb.ModelSet) -> Assessment:
    return assess_model(models, SCORES[TESTED], LABELS[TESTED], cells=CELLS[TESTED])


def test_numbers_are_those_of_the_diagnostics(models: fb.ModelSet, found: Assessment) -> None:
    served, labels = models.predict(SCORES[TESTED], CELLS[TESTED], seed=0), LABELS[TESTED]
    assert found.after.brier.score == assess.brier_score(served, labels)
    assert found.before is not None
    assert found.before.roc_auc == assess.roc_auc(SCORES[TESTED], labels)
    assert (found.n_samples, found.n_positive, found.n_unknown, found.left_out.total) == (3000, int(labels.sum()), 0, 0)
    assert [cell.cell for cell in found.cells] == ["north", "south", None]
    for cell in found.cells:
        own = CELLS[TESTED] == (cell.cell or "isle")
        assert (cell.n_samples, cell.n_positive) == (int(own.sum()), int(labels[own].sum()))
        assert cell.brier == assess.brier_score(served[own], labels[own])
        assert cell.brier_before == assess.brier_score(SCORES[TESTED][own], labels[own])
        assert cell.after is not None
        assert cell.after.ece() == pytest.approx(assess.ece(served[own], labels[own]))
    check = assess.check_certificate(models, SCORES[TESTED], labels, cells=CELLS[TESTED])
    assert found.check is not None
    assert found.check.to_dict() == check.to_dict()
    assert [cell.verdict for cell in found.cells] == [part.verdict for _, part in check.parts]
    assert [certificate.kind for certificate in found.certificates] == ["conditional", "marginal", "ece"]


def test_json_holds_no_infinity(found: Assessment) -> None:
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert content["cells"][2]["cell"] is None
    assert content["cells"][0]["reliability"]["bins"]


def test_rows_that_cannot_be_scored_and_cells_that_are_unknown(models: fb.ModelSet) -> None:
    scores, cells = SCORES[TESTED].copy(), CELLS[TESTED].astype(object)
    scores[[0, 5]], scores[7], scores[8] = math.nan, 1.5, math.inf
    cells[10:30] = "moon"
    assessed = assess_model(models, scores, LABELS[TESTED], cells=cells)
    assert (assessed.left_out.missing, assessed.left_out.outside, assessed.n_samples) == (2, 2, 2996)
    assert assessed.n_unknown == 20
    assert assessed.check is not None
    assert assessed.check.n_samples == 2976
    assert any("20 test samples are of cells that the set does not know" in caution for caution in assessed.cautions)
    assert any("1 of 3 cells without a model of their own" in caution for caution in assessed.cautions)
    unknown = assess_model(models, scores[10:30], LABELS[TESTED][10:30], cells=cells[10:30])
    assert (unknown.check, unknown.verdict, unknown.n_unknown) == (None, "not tested", 20)


def test_scores_beyond_the_range_of_a_model_that_clips_are_kept() -> None:
    scores, labels = SCORES[:400], LABELS[:400]
    clips, refuses_them = (
        fb.UniformMassBinning(3, out_of_range=rule).fit(scores, labels).model_ for rule in ("clip", "refuse")
    )
    found = assess_model(fb.ModelSet({"a": clips, "b": refuses_them}), scores + 0.5, labels, cells=np.resize(["a", "b"], 400))
    assert found.left_out == (0, int((scores[1::2] > 0.5).sum()))


def test_weights(models: fb.ModelSet) -> None:
    frequencies = RNG.integers(0, 3, 3000)
    weighted = assess_model(models, SCORES[TESTED], LABELS[TESTED], cells=CELLS[TESTED], sample_weight=frequencies)
    rows = [np.repeat(column[TESTED], frequencies) for column in (SCORES, LABELS, CELLS)]
    plain = assess_model(models, rows[0], rows[1], cells=rows[2])
    assert weighted.n_samples == plain.n_samples
    assert weighted.after.brier.score == pytest.approx(plain.after.brier.score)
    assert weighted.check is not None
    assert plain.check is not None
    assert weighted.check.p_value == plain.check.p_value
    real = assess_model(models, SCORES[TESTED], LABELS[TESTED], cells=CELLS[TESTED], sample_weight=frequencies + 0.5)
    assert (real.check, real.is_weighted) == (None, True)


def test_other_methods_on_the_same_rows(models: fb.ModelSet) -> None:
    one = fb.UniformMassBinning(5).fit(SCORES[FITTED], LABELS[FITTED])
    others: dict[str, Any] = {"one for all": one, "same": models, "given": SCORES[TESTED] ** 2}
    assessed = assess_model(models, SCORES[TESTED], LABELS[TESTED], cells=CELLS[TESTED], others=others)
    assert [card.name for card in assessed.scorecards] == ["score itself", "calibrated", *others]
    assert assessed.others[1].brier.score == assessed.after.brier.score
    assert assessed.others[0].brier.score == assess.brier_score(one.predict(SCORES[TESTED]), LABELS[TESTED])
    with pytest.raises(fb.InputError, match=r"others\['x'\] has shape"):
        assess_model(models, SCORES, LABELS, cells=CELLS, others={"x": [0.5]})


def test_a_broken_promise_is_the_first_caution(models: fb.ModelSet) -> None:
    assessed = assess_model(models, SCORES[TESTED], LABELS[TESTED] ^ (CELLS[TESTED] == "north"), cells=CELLS[TESTED])
    assert assessed.cautions[0].startswith("The certificate is contradicted by the test set.")
    assert assessed.cells[0].verdict == "contradicted"


def test_sets_without_a_certificate_and_cells_without_rows() -> None:
    cal = fb.multi.SegmentedBinning(fb.IsotonicCalibration()).fit(SCORES[FITTED], LABELS[FITTED], CELLS[FITTED])
    north = CELLS == "north"
    assessed = assess_model(cal.model_, SCORES[north], LABELS[north], cells=CELLS[north])
    assert assessed.certificates == ()
    assert assessed.why_no_certificate is not None
    assert assessed.cells[1].after is None
    assert any("No test sample is of 'south', the pool" in caution for caution in assessed.cautions)
    assert "verdict" in json.dumps(assessed.to_dict())


@pytest.mark.usefixtures("drawn_anew")
def test_the_page(found: Assessment) -> None:
    pytest.importorskip("matplotlib")
    page = render_report(found, title="By <region>", model_source="regions.fbm")
    assert "<h1>By &lt;region&gt;</h1>" in page
    for told in (
        "Cell by cell",
        "<td class='text'>north</td>",
        "<td class='text'>the pool</td>",
        "3 (segments)",
        str(found.check),
    ):
        assert told in page or told.replace("'", "&#x27;") in page
    assert page.count("<svg") == 3
    assert page == render_report(found, title="By <region>", model_source="regions.fbm")


def test_cells_are_called_as_they_are() -> None:
    names = ["C:\\x", "O'Brien", "a'\""]
    cells = np.resize(names, N)
    own = fb.multi.SegmentedBinning(fb.UniformMassBinning(2), min_points=50).fit(SCORES, LABELS, cells).model_
    shown = html.unescape(render_report(assess_model(own, SCORES, LABELS, cells=cells)))
    for name in names:
        assert f">{name}<" in shown
        assert f">{name!r}<" not in shown


def test_what_cannot_be_assessed_is_refused(models: fb.ModelSet) -> None:
    with pytest.raises(fb.InputError, match="cells is missing"):
        assess_model(models, SCORES, LABELS)
    with pytest.raises(fb.InputError, match="cells is given, and model is one model"):
        assess_model(models["north"], SCORES, LABELS, cells=CELLS)
    with pytest.raises(fb.InputError, match="no row is left to assess"):
        assess_model(models, [math.nan], [1], cells=["north"])
