"""Cautions of an assessment that compare populations, or explain scores; the others are in test_report.py."""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy.stats import chi2_contingency

import fastbin as fb
from fastbin.report import assess_model, render_report
from fastbin.report.cautions import SURPRISING, better_before, p_homogeneous


def fisher(table: list[list[int]]) -> float:
    """Twice the tail on the side of what was seen, at most 1, over the rationals."""
    (a, b), (c, d) = table
    n, ones, drawn = a + b + c + d, a + c, a + b
    terms = {k: comb(ones, k) * comb(n - ones, drawn - k) for k in range(max(0, drawn - n + ones), min(ones, drawn) + 1)}
    tail = sum(term for k, term in terms.items() if (k >= a if a * n > ones * drawn else k <= a))
    return min(1.0, float(Fraction(2 * tail, comb(n, drawn))))


@pytest.mark.parametrize(
    "table", [[[3, 297], [1, 4]], [[30, 299970], [1, 499]], [[5, 5], [5, 5]], [[12, 3], [4, 5]], [[0, 9], [2, 1]]]
)
def test_two_shares_are_compared_exactly(table: list[list[int]]) -> None:
    assert p_homogeneous(np.array(table)) == pytest.approx(fisher(table), rel=1e-9)
    assert p_homogeneous(np.array(table)[::-1]) == pytest.approx(fisher(table), rel=1e-9)


def rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    return scores, rng.random(n) < scores


@pytest.mark.usefixtures("drawn_anew")
def test_the_promise_of_a_batch_is_not_tested_by_new_rows() -> None:
    scores, labels = rows(900, 1)
    model = fb.UniformMassBinning(4).fit(scores[:600], labels[:600], population=scores).model_
    assessment = assess_model(model, *rows(300, 2))
    told = (
        "the test rows allow no exact test of it, as it is about the batch that the model was fitted to, of which new rows say"
    )
    assert any(told in caution for caution in assessment.cautions)
    page = render_report(assessment)
    assert (
        "the band holds the frequencies among all rows of the batch that the model was fitted to, of all bins at once." in page
    )
    assert "interval of the batch, all bins at once" in page


def test_a_set_says_how_values_of_its_models_were_made() -> None:
    plain = fb.UniformMassBinning(3).fit(*rows(600, 1)).model_
    moved = fb.shift.LabelShift(fb.UniformMassBinning(3).fit(*rows(600, 2)), method="known", target_rate=0.1).fit().model_
    drawn = fb.UniformMassBinning(3, delta=0.1).fit(*rows(600, 3)).model_
    found = assess_model(
        fb.ModelSet({"a": plain, "b": moved, "c": drawn}), *rows(300, 4), cells=np.resize(["a", "b", "c"], 300)
    )
    assert "The values of 'b' were moved to other class rates than those of their calibration samples." in found.cautions
    assert "The values of 'c' are randomised, so that one score can be given different probabilities." in found.cautions
    assert not any("weighted" in caution for caution in found.cautions)


def test_samples_of_one_law_seldom_differ() -> None:
    rng = np.random.default_rng(1)
    rare = np.full(100, 1e-4)  # bins of which a test set has a row now and then
    shares = np.append(rare, 1.0 - rare.sum())
    pairs = ((100_000, 500), (100_000, 1), (2000, 2000))
    p = [
        p_homogeneous(np.stack([rng.multinomial(n, shares), rng.multinomial(m, shares)])) for n, m in pairs for _ in range(1000)
    ]
    assert np.mean(np.array(p) < SURPRISING) <= SURPRISING + 3.0 * math.sqrt(SURPRISING / len(p))
    assert p_homogeneous(np.array([[500, 500], [400, 600]])) < SURPRISING
    assert p_homogeneous(np.array([[100] * 10, [100] * 8 + [160, 40]])) < SURPRISING
    assert p_homogeneous(np.array([[0, 0], [3, 4]])) == 1.0
    assert p_homogeneous(np.array([[5, 50], [2**52, 2**52]])) == 1.0, "more samples than doubles can count"


def test_keys_may_divide_tied_scores_in_other_shares() -> None:
    scores = np.repeat([0.2, 0.4, 0.6, 0.8], 500)
    labels = np.arange(2000) % 2
    model = fb.UniformMassBinning(3, ties="random", seed=0).fit(scores, labels).model_
    found = assess_model(model, scores, labels, tie_keys=np.zeros(2000))
    assert model.n_tied
    assert p_homogeneous(np.stack([model.counts, found.bin_counts])) < SURPRISING
    assert not any("spread over the bins" in caution for caution in found.cautions)
    assert p_homogeneous(np.array([[2**53] * 2, [400, 600]])) == 1.0  # doubles do not tell
    spread = np.array([[200] * 10, [200 + 50 * (-1) ** k for k in range(10)]])  # no column stands out
    assert p_homogeneous(spread) == pytest.approx(chi2_contingency(spread).pvalue, rel=1e-9)


def test_one_event_among_few_rows_is_no_other_population() -> None:
    rng = np.random.default_rng(2)
    scores, labels = rng.random(300_000), rng.random(300_000) < 1e-4
    model = fb.UniformMassBinning(5).fit(scores, labels).model_
    told = " ".join(assess_model(model, rng.random(500), np.arange(500) == 7).cautions)
    assert "populations differ" not in told


def test_models_for_another_population_are_not_compared_with_the_rows_of_the_fit() -> None:
    rng = np.random.default_rng(3)
    scores = rng.random(60_000)
    labels = rng.random(60_000) < 0.2 * scores**2
    kept = labels | (rng.random(60_000) < 0.1)
    new = rng.random(20_000)
    new_labels = rng.random(20_000) < 0.2 * new**2
    sampled = fb.UniformMassBinning(5, sampling_rate=0.1).fit(scores[kept], labels[kept]).model_
    source = fb.UniformMassBinning(5).fit(scores[kept], labels[kept])
    shifted = fb.shift.LabelShift(source).fit(labels=labels).model_
    weights = np.where(labels[kept], 1.0, 10.0)
    weighted = fb.shift.ImportanceWeightedBinning(5).fit(scores[kept], labels[kept], weights).model_
    for model in (sampled, shifted, weighted):
        assert "populations differ" not in " ".join(assess_model(model, new, new_labels).cautions)
    assert "populations differ" in " ".join(assess_model(source, new, new_labels).cautions)


def test_a_promise_that_was_not_tested_is_told() -> None:
    rng = np.random.default_rng(4)
    scores = rng.random(2000)
    labels = rng.random(2000) < scores
    model = fb.UniformMassBinning(5).fit(scores[:1000], labels[:1000]).model_
    found = assess_model(model, scores[1000:], labels[1000:], sample_weight=0.5 + rng.random(1000))
    assert found.verdict == "not tested"
    assert any(
        caution.startswith("The certificate is not tested: ") and "not frequencies" in caution for caution in found.cautions
    )
    assert "There is nothing to caution against." not in render_report(found)


def test_blur_is_told_where_it_is_the_reason() -> None:
    model = fb.BinnedModel.from_parts(
        edges=[0.5], values=[0.3, 0.6], counts=[500, 500], label_sums=[150, 300], scheme="fixed-width"
    )
    rng = np.random.default_rng(5)
    scores = rng.uniform(0.3, 0.7, 400)
    worse = [each for each in assess_model(model, scores, np.ones(400)).cautions if "smaller Brier score" in each]
    assert worse
    assert not any("blur" in each for each in worse)  # every label is 1, so there is nothing to blur
    alike = assess_model(model, np.where(scores < 0.5, 0.3, 0.6 + 1e-9), scores > 0.5)
    assert alike.before is not None
    assert alike.before.brier.score < alike.after.brier.score  # in the tenth digit
    assert not any("smaller Brier score" in each for each in alike.cautions)
    assert better_before("the raw probabilities", 0.25, 0.250001) == ""
    told = "On this test set the raw probabilities have the smaller Brier score (0.25 against 0.2501)"
    assert better_before("the raw probabilities", 0.25, 0.2501) == told


def test_rows_of_classes_depend_on_each_other() -> None:
    rng = np.random.default_rng(6)
    P = rng.dirichlet(np.ones(3), 1600)
    labels = np.array([rng.choice(3, p=row) for row in P])
    models = fb.multi.ClassWiseBinning(calibrator=fb.UniformMassBinning(4)).fit(P[:800], labels[:800]).model_
    cells = np.tile(models.cells, 800)
    found = assess_model(models, P[800:].ravel(), np.repeat(labels[800:], 3) == cells, cells=cells)
    assert "On 2,400 test samples (each counts once for each of 3 classes) the expected calibration error is" in str(found)
    assert found.after.chance_level is found.after.table.intervals is found.after.squared_ece is None
    assert "one of 20 test sets" not in str(found)
    assert all(cell.chance_level is not None for cell in found.cells)  # rows of one class are independent
    assert not any("by chance" in name or "debiased" in name for name in found.after.numbers())
    page = render_report(found)
    assert "2,400 (each counts once for each of 3 classes)" in page
    assert "Lines are exact intervals; where they miss the diagonal" not in page
