"""The assessment of a vector model: its numbers, the test of its promise, and its page."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from wordings import refused, refuses

import fastbin as fb
from fastbin import assess
from fastbin.report import assess_model, render_report

Array = npt.NDArray[Any]

# Ties leave fewer bins than asked for, and of every set its fit says so.
pytestmark = pytest.mark.filterwarnings("ignore::fastbin.FastbinWarning")

CLASSES = ["cat", "dog", "cow"]


def drawn(n: int, seed: int) -> tuple[Array, Array]:
    """Raw probabilities that are too sure, and labels."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0.0, 1.2, (n, 3))
    chances, raw = (np.exp(each) / np.exp(each).sum(axis=1, keepdims=True) for each in (logits, 1.8 * logits + [0.4, 0.0, 0.0]))
    return raw, np.array(CLASSES)[(chances.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)]


P, Y = drawn(1200, 1)
TEST, TRUTH = drawn(1500, 2)
OTHER, _ = drawn(4000, 3)
CALIBRATOR = fb.UniformMassBinning(10)
CAL = fb.multi.VectorCalibration(classes=CLASSES, calibrator=CALIBRATOR).fit(P, Y, unlabelled=OTHER)
PLAIN = fb.multi.VectorCalibration(classes=CLASSES, calibrator=CALIBRATOR, keep_top=True).fit(P, Y)
FOUND = assess_model(CAL, TEST, TRUTH)


def test_numbers_are_those_of_the_diagnostics() -> None:
    for card, values in ((FOUND.before, TEST), (FOUND.after, CAL.predict(TEST))):
        for name in ("class-wise", "top-label", "confusion"):
            table = assess.reliability_table(values, TRUTH, multiclass=name, classes=CLASSES)
            assert getattr(card, name.replace("-", "_")).to_dict() == table.to_dict()
        assert card.brier == assess.multiclass_brier(values, TRUTH, CLASSES)
        assert card.log_loss == assess.multiclass_log_loss(values, TRUTH, CLASSES)
        assert card.accuracy == (np.array(CLASSES)[values.argmax(axis=1)] == TRUTH).mean()
    assert (FOUND.n_samples, FOUND.n_left_out) == (1500, 0)
    assert dict(zip(CLASSES, FOUND.class_counts, strict=True)) == {each: int((each == TRUTH).sum()) for each in CLASSES}
    assert [promise.about for promise in FOUND.certificates] == ["population", "calibration rows"]
    assert FOUND.certificates[0] == CAL.certificate(0.1, about="population")


def test_the_test_of_the_promise_by_hand() -> None:
    """Clopper and Pearson's interval of the rate, and Maurer and Pontil's of the average, both by their formulas."""
    check, edges, served = FOUND.check, CAL.model_.vector.edges, CAL.predict(TEST)
    assert check is not None
    assert edges is not None
    share, seen = 0.05 / len(check.bins), 0
    top = TEST.argmax(axis=1)
    for group, name in enumerate([*CLASSES, "top label"]):
        scores = TEST.max(axis=1) if group == 3 else TEST[:, group]
        is_true = (np.array(CLASSES)[top] if group == 3 else name) == TRUTH
        values = served[np.arange(1500), top] if group == 3 else served[:, group]
        ends = [-math.inf, *edges[group].tolist(), math.inf]
        for low, high in pairwise(ends):
            own = (scores >= low) & (scores < high)
            n, ones = int(own.sum()), int(is_true[own].sum())
            tail = 0.9 * share / 2.0
            least = stats.beta.ppf(tail, ones, n - ones + 1) if ones else 0.0
            most = stats.beta.isf(tail, ones + 1, n - ones) if ones < n else 1.0
            logarithm = math.log(4.0 / (0.1 * share))
            slack = math.sqrt(2.0 * values[own].var(ddof=1) * logarithm / n) + 7.0 * logarithm / (3.0 * (n - 1))
            row = check.bins[seen]
            assert row[0] == name
            assert row[3:6] == pytest.approx((n, ones / n, values[own].mean()))
            assert row[7] == pytest.approx((least - values[own].mean() - slack, most - values[own].mean() + slack), abs=1e-9)
            inside, outside = max(map(abs, row[7])) <= row[6], row[7][0] > row[6] or row[7][1] < -row[6]
            assert row[8] == ("contradicted" if outside else "confirmed" if inside else "not contradicted")
            seen += 1
    assert seen == len(check.bins) == len(FOUND.certificates[0].bins)
    assert {row[8] for row in check.bins} == {"confirmed", "not contradicted"}
    assert FOUND.verdict == "not contradicted"
    assert check.to_pandas().shape == (len(check.bins), 10)


def test_other_labels_contradict_it() -> None:
    wrong = assess_model(CAL, TEST, np.roll(TRUTH, 1))
    assert wrong.verdict == "contradicted"
    assert wrong.cautions[0].startswith("The certificate is contradicted by the test set. Contradicted by 1,500 new rows")
    assert "bin" in str(wrong.check)


def test_a_95_percent_point_is_announced_where_it_is_told() -> None:
    told = {name: words for name, words in FOUND.after.numbers().items() if "by chance" in name}
    assert [("95 % point" in name, "(" in words) for name, words in told.items()] == [(False,) * 2, (True,) * 2, (False,) * 2]


def test_many_rows_confirm_it() -> None:
    check = assess_model(CAL, *drawn(60_000, 4)).check
    assert check is not None
    assert str(check).startswith("Confirmed by 60,000 new rows: in every bin of every class")
    assert assess_model(CAL, *drawn(60_000, 4), test_level=1e-90).verdict == "not contradicted"


def test_the_rows_of_the_fit_confirm_nothing() -> None:
    found = assess_model(CAL, np.tile(P, (1, 1)), Y)
    check = found.check
    assert check is not None
    assert found.cautions[0].startswith("Test rows are rows of the fit")
    assert check.is_calibration_set
    assert check.verdict == "not contradicted"
    assert "those that the model was fitted to" in str(check)
    assert FOUND.check is not None
    assert not FOUND.check.is_calibration_set


def test_a_promise_about_the_calibration_rows_is_not_tested() -> None:
    found = assess_model(PLAIN.model_, TEST, TRUTH)
    assert (found.check, found.verdict) == (None, "not tested")
    assert any("no test set can contradict it" in caution for caution in found.cautions)
    assert "promise" not in found.class_words()


def test_without_a_certificate() -> None:
    weighted = fb.multi.VectorCalibration(classes=CLASSES, calibrator=CALIBRATOR).fit(P, Y, np.full(len(P), 1.5))
    found = assess_model(weighted, TEST, TRUTH)
    assert (found.certificates, found.verdict) == ((), "no certificate")
    assert any(caution.startswith("A certificate is missing: the model has no evidence bins") for caution in found.cautions)
    assert found.in_short[0] == "This model carries no finite-sample guarantee."


def test_rows_with_a_missing_probability_are_left_out() -> None:
    missing = TEST.copy()
    missing[[3, 7], [0, 2]] = np.nan
    found = assess_model(CAL, missing, TRUTH)
    kept = np.delete(np.arange(1500), [3, 7])
    assert found.n_left_out == 2
    assert assess_model(CAL, missing, TRUTH, sample_weight=np.arange(len(TRUTH)) > 3).n_left_out == 1
    assert found.after.to_dict() == assess_model(CAL, TEST[kept], TRUTH[kept]).after.to_dict()
    assert any(caution.startswith("2 test rows are left out") for caution in found.cautions)
    refused(fb.InputError, "no row is left to assess", assess_model, CAL, np.full((2, 3), np.nan), TRUTH[:2])


def test_frequencies_are_repetitions_and_importance_weights_test_nothing() -> None:
    frequencies = np.random.default_rng(0).integers(0, 3, 1500)
    found = assess_model(CAL, TEST, TRUTH, sample_weight=frequencies)
    plain = assess_model(CAL, np.repeat(TEST, frequencies, axis=0), np.repeat(TRUTH, frequencies))
    assert (found.n_samples, found.class_counts) == (plain.n_samples, plain.class_counts)
    assert found.after.brier == pytest.approx(plain.after.brier)
    assert found.check is not None
    assert plain.check is not None
    assert found.check.bins == plain.check.bins
    real = assess_model(CAL, TEST, TRUTH, sample_weight=np.full(1500, 1.5))
    assert (real.check, real.is_weighted) == (None, True)
    assert real.after.brier == pytest.approx(FOUND.after.brier)


def test_other_methods_on_the_same_rows() -> None:
    found = assess_model(CAL, TEST, TRUTH, others={"plain": PLAIN, "raw again": TEST})
    assert [card.name for card in found.scorecards] == ["raw", "calibrated", "plain", "raw again"]
    assert found.others[0].brier == assess.multiclass_brier(PLAIN.predict(TEST), TRUTH, CLASSES)
    assert found.others[1].brier == found.before.brier
    assert assess_model(CAL, TEST, TRUTH, others={"raw": PLAIN}).others[0].name == "raw (other)"
    other = fb.multi.VectorCalibration(calibrator=CALIBRATOR).fit(P, (Y == "cat").astype(int))
    refused(fb.InputError, r"others\['x'\] is of other classes", assess_model, CAL, TEST, TRUTH, others={"x": other})
    refused(fb.InputError, r"others\['x'\] has 3 rows", assess_model, CAL, TEST, TRUTH, others={"x": TEST[:3]})


def test_cautions_about_classes() -> None:
    few = np.append(np.flatnonzero(TRUTH == "cat")[:60], np.flatnonzero(TRUTH == "dog")[:5])
    found = assess_model(CAL, TEST[few], TRUTH[few])
    told = " ".join(found.cautions)
    assert "No test sample is of 'cow': the test says nothing about it." in told
    assert "Fewer than 30 test samples are of 'dog': the test says little about it." in told
    assert "The classes have other shares of the test samples" in told
    raw = TEST.copy()
    raw[0] = 0.0
    raw[0, (CLASSES.index(TRUTH[0]) + 1) % 3] = 1.0
    assert any("log loss of the raw probabilities is infinite" in caution for caution in assess_model(CAL, raw, TRUTH).cautions)
    no_cow = np.where(Y == "cow", "dog", Y)
    found = assess_model(fb.multi.VectorCalibration(classes=CLASSES, calibrator=CALIBRATOR).fit(P, no_cow), TEST, TRUTH)
    assert any("No calibration sample is of 'cow': nothing is promised about it." in caution for caution in found.cautions)


def test_refusals() -> None:
    refuses("InputError row 2 of scores", assess_model, CAL, np.array([[1.0, 0, 0], [0, 1, 0], [0.5, 0.6, 0]]), TRUTH[:3])
    refuses("InputError scores", assess_model, CAL, TEST[:, :2], TRUTH)
    refuses("InputError labels[0]", assess_model, CAL, TEST[:1], ["owl"])
    for name in ("cells", "positive", "tie_keys"):
        refuses(f"InputError {name}", assess_model, CAL, TEST, TRUTH, **{name: TRUTH})


def test_what_is_shown_and_written() -> None:
    content = json.loads(json.dumps(FOUND.to_dict(), allow_nan=False))
    assert (content["kind"], content["classes"], content["check"]["verdict"]) == ("vector", CLASSES, "not contradicted")
    assert content["scorecards"][1]["class_wise"]["bins"]
    shown = str(FOUND)
    assert shown.startswith("With probability at least 90 % over the 1,200 calibration samples")
    assert "top-label calibration error" in shown
    assert FOUND.to_pandas()["name"].tolist() == ["raw", "calibrated"]
    assert "not contradicted" in FOUND._repr_html_()
    assert "not contradicted" in FOUND.check._repr_html_()


def test_the_page() -> None:
    pytest.importorskip("matplotlib")
    page = render_report(FOUND, title="By <class>", model_source="animals.fbm", test_source="test.csv")
    assert "<h1>By &lt;class&gt;</h1>" in page
    for told in (
        "a map of the whole row, of 3 classes", "animals.fbm", "Class by class", "true: dog", "promised within",
        "Top-label reliability, bin by bin", "test rate", "confusion error", "How to read this",
    ):  # fmt: skip
        assert told in page, told
    assert page.count("<figure>") == 6
    assert page.count("<script") == 0
    assert "<image" not in page  # a bitmap would not follow the colours of dark pages
    plain = render_report(assess_model(PLAIN, TEST, TRUTH))
    assert "distance at most" in plain
    assert "stays the largest" in plain


def test_the_page_of_many_classes() -> None:
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    raw = rng.dirichlet(np.full(15, 0.5), 900)
    truth = (raw.cumsum(axis=1) > rng.random((900, 1))).argmax(axis=1)
    cal = fb.multi.VectorCalibration(calibrator=fb.UniformMassBinning(3)).fit(raw[:500], truth[:500])
    page = render_report(assess_model(cal, raw[500:], truth[500:]))
    assert "225 pairs of classes" in page
    assert "and 3 more" in page
