"""Rows that can be fitted and are probably not what was meant are told of, and fitted as they are."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from fractions import Fraction
from math import comb
from random import Random
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import hypergeom

import fastbin as fb
from fastbin._base.suspicions import HARD_LABELS, LEVEL, MOST_EXACT, around_the_median, fisher_p, on_falling
from fastbin._core.fit import lower_half

RNG = np.random.default_rng(3)
SCORES = RNG.random(600)
LABELS = (RNG.random(600) < SCORES).astype(int)
OTHER = 1.0 - SCORES
SEGMENTS = np.arange(600) % 3
FALLS = r"labels fall as scores rise: the share of label 1 is .* lower scores and .* upper ones .*p = .*1 - scores; fastbin"

CALIBRATORS = [
    fb.CertifiedCalibration(), fb.UniformMassBinning(5), fb.UniformMassBinning(5, scheme="ums"),
    fb.UniformMassBinning(5, ties="random"), fb.ScalingBinning(5, scaler="none"), fb.FixedWidthBinning(5),
    fb.ScalingBinning(5, scaler="temperature"),
    fb.ExplicitBinning([0.5]), fb.IsotonicCalibration(), fb.IsotonicCalibration(interpolate=True), fb.VennAbers(),
    fb.PlattScaling(), fb.TemperatureScaling(), fb.BetaScaling(), fb.QuadraticScaling(), fb.SplineScaling(),
]  # fmt: skip
calibrators = pytest.mark.parametrize("calibrator", CALIBRATORS, ids=repr)


def told(fit: Callable[..., Any], *arguments: Any, **options: Any) -> list[str]:
    """The warnings of a call, all of which must name this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(*arguments, **options)
    assert all(each.filename == __file__ for each in caught)
    return [str(each.message) for each in caught if issubclass(each.category, fb.FastbinWarning)]


@pytest.mark.parametrize("score_range", [[0.0, 1.0], np.array([0, 1])], ids=["list", "array"])
def test_a_range_may_be_any_pair(score_range: Any) -> None:
    for calibrator in (fb.UniformMassBinning(5, score_range=score_range), fb.PlattScaling(score_range=score_range)):
        assert len(told(calibrator.fit, OTHER, LABELS)) == 1
    inner = fb.UniformMassBinning(5, score_range=score_range)
    segmented = fb.multi.SegmentedBinning(inner).fit(SCORES, LABELS, SEGMENTS).model_
    assert segmented.same_map(fb.multi.SegmentedBinning(fb.UniformMassBinning(5)).fit(SCORES, LABELS, SEGMENTS).model_)


@calibrators
@pytest.mark.parametrize("weights", [None, np.ones(600, int), np.ones(600)], ids=["none", "frequencies", "importance"])
def test_scores_of_the_other_class_are_told_of(calibrator: Any, weights: Any) -> None:
    given = {"sample_weight": weights} if weights is not None else {}
    if isinstance(calibrator, fb.VennAbers) and weights is not None and weights.dtype.kind == "f":
        given = {}
    assert told(calibrator.fit, SCORES, LABELS, **given) == []
    (text,) = [text for text in told(calibrator.fit, OTHER, LABELS, **given) if "temperature" not in text]
    assert re.fullmatch(FALLS + " never flips scores", text)


@calibrators
def test_nothing_is_turned_round(calibrator: Any) -> None:
    told(calibrator.fit, OTHER, LABELS)
    values = calibrator.predict([0.1, 0.9])
    assert (
        values[0] > values[1]
        or calibrator._never_falls
        or calibrator.get_params().get("monotone")
        or (
            isinstance(calibrator, (fb.ScalingBinning, fb.BetaScaling))  # which average scores, and keep their direction
        )
    )


@pytest.mark.parametrize("calibrator", [fb.CertifiedCalibration(), fb.UniformMassBinning(5), fb.FixedWidthBinning(5)], ids=repr)
def test_batches_tables_and_arrays_tell_the_same(calibrator: Any) -> None:
    (text,) = told(calibrator.fit, OTHER, LABELS)
    table = pa.table({"s": OTHER, "y": LABELS})
    assert told(fb.engines.fit, table, score="s", label="y", calibrator=calibrator) == [text]
    if hasattr(calibrator, "fit_batches"):
        assert told(calibrator.fit_batches, [(OTHER[:100], LABELS[:100]), (OTHER[100:], LABELS[100:])]) == [text]


def test_margins_may_fall_where_values_may() -> None:
    margins = 4.0 * OTHER - 2.0
    assert told(fb.UniformMassBinning(5, score_range=None).fit, margins, LABELS) == []
    assert told(fb.PlattScaling(feature="score", score_range=None).fit, margins, LABELS) == []
    assert len(told(fb.UniformMassBinning(5, score_range=None, monotone=True).fit, margins, LABELS)) == 1
    assert len(told(fb.CertifiedCalibration(score_range=None).fit, margins, LABELS)) == 1


@pytest.mark.parametrize("calibrator", [fb.UniformMassBinning(5), fb.UniformMassBinning(5, ties="random")], ids=repr)
def test_segments_are_told_of_once(calibrator: Any) -> None:
    scores = np.where(SEGMENTS == 1, SCORES, OTHER)
    set_of = fb.multi.SegmentedBinning(calibrator)
    assert told(set_of.fit, SCORES, LABELS, SEGMENTS) == []
    (text,) = told(set_of.fit, scores, LABELS, SEGMENTS)
    assert re.match("2 of 3 models, the first that of segment 0: " + FALLS, text)
    table = pa.table({"s": scores, "y": LABELS, "g": SEGMENTS})
    assert told(fb.engines.fit, table, score="s", label="y", segment="g", calibrator=calibrator) == [text]


@pytest.mark.parametrize("calibrator", [fb.UniformMassBinning(5), fb.CertifiedCalibration(5), fb.IsotonicCalibration()])
def test_a_segment_of_hard_scores_is_told_of(calibrator: Any) -> None:
    """Each by its own rows, as by a fit of it alone: others have probabilities, or are too few to say."""
    segments = np.where(np.arange(len(SCORES)) < 20, 9, SEGMENTS)
    scores = np.where(np.isin(segments, (1, 9)), (SCORES > 0.5).astype(float), SCORES)
    set_of = fb.multi.SegmentedBinning(calibrator, min_points=10)
    hard = [text for text in told(set_of.fit, scores, LABELS, segments) if HARD_LABELS in text]
    assert [text.partition(":")[0] for text in hard] == ["1 of 4 models, the first that of segment 1"]


def test_segments_share_the_level() -> None:
    """A fall that one fit tells of is none among many: 8 of 10 ones in the lower half, 1 of 10 in the upper, p = .0027."""
    one = np.arange(20) / 20, np.array([0, 0] + [1] * 8 + [1] + [0] * 9)
    counts, ones = np.array([10, 10]), np.array([8, 1])
    assert LEVEL / 8 < fisher_p(10, 8, 20, 9) < LEVEL / 2
    assert on_falling(*lower_half(counts, ones), LEVEL / 2)
    assert on_falling(*lower_half(counts, ones), LEVEL / 8) is None
    for n_segments, is_told in ((2, True), (8, False)):
        scores, labels = (np.tile(column, n_segments) for column in one)
        cal = fb.multi.SegmentedBinning(fb.FixedWidthBinning(2), min_points=1)
        assert bool(told(cal.fit, scores, labels, np.repeat(np.arange(n_segments), 20))) is is_told


def test_how_sure_a_classifier_is_may_say_little() -> None:
    """The scores of predicted classes are of no class; those of each class are."""
    P = np.column_stack([OTHER, SCORES])
    assert told(fb.multi.TopLabelBinning(n_bins=2).fit, P, 1 - LABELS) == []
    assert told(fb.multi.ClassWiseBinning(n_bins=5).fit, P, LABELS) == []
    (text,) = told(fb.multi.ClassWiseBinning(n_bins=5).fit, P, 1 - LABELS)
    assert re.match("2 of 2 models, the first that of class 0: " + FALLS, text)


def test_a_classifier_that_is_worse_than_chance_is_told_of() -> None:
    pytest.importorskip("sklearn", minversion="1.6")
    from sklearn.frozen import FrozenEstimator
    from sklearn.linear_model import LogisticRegression

    X = SCORES[:, np.newaxis]
    trained = LogisticRegression().fit(X, 1 - LABELS)
    (text,) = told(fb.sklearn.CalibratedClassifier(FrozenEstimator(trained)).fit, X, LABELS)
    assert re.match(FALLS, text)


def test_the_tail_is_that_of_fractions() -> None:
    """Against whole numbers: the share of all draws that have as many ones at least."""
    random = Random(5)
    for _ in range(300):
        n = random.randint(2, 60)
        n_ones, n_lower = random.randint(1, n), random.randint(1, n)
        least = max(0, n_lower + n_ones - n)
        k = random.randint(least, min(n_ones, n_lower))
        draws = sum(comb(n_ones, j) * comb(n - n_ones, n_lower - j) for j in range(k, min(n_ones, n_lower) + 1))
        if k * n > n_ones * n_lower:
            assert fisher_p(n_lower, k, n, n_ones) == pytest.approx(float(Fraction(draws, comb(n, n_lower))), rel=1e-11)


def test_frequencies_repeat_rows_around_the_median() -> None:
    scores, is_one, times = np.array([0.1, 0.2, 0.3]), np.array([True, False, True]), np.array([1, 2, 1])
    found = around_the_median(scores, is_one, times)
    repeated = around_the_median(np.repeat(scores, times), np.repeat(is_one, times))
    assert [column.tolist() for column in found] == [column.tolist() for column in repeated]
    assert around_the_median(scores[:2], is_one[:2], np.array([1, 1]))[0].tolist() == [1, 1, 0]


@pytest.mark.parametrize("n", [10**3, 10**6, MOST_EXACT])
def test_the_tail_of_many_samples(n: int) -> None:
    for share, deviations in ((0.5, 3), (0.01, 3), (1e-5, 5)):
        n_ones, n_lower = int(n * share), n // 2
        k = min(n_ones, n_lower, int(n_ones / 2 + deviations * (n_ones / 4) ** 0.5) + 1)
        if n_ones:
            expected = hypergeom.sf(k - 1, n, n_ones, n_lower)
            assert fisher_p(n_lower, k, n, n_ones) == pytest.approx(expected, rel=1e-4)


def test_the_bound_of_very_many_samples_is_one() -> None:
    n = 2 * MOST_EXACT
    for n_ones, deviations in ((n // 2, 3), (10**6, 3), (1000, 5)):
        k = min(n_ones, int(n_ones / 2 + deviations * (n_ones / 4) ** 0.5) + 1)
        assert hypergeom.sf(k - 1, n, n_ones, n // 2) <= fisher_p(n // 2, k, n, n_ones) < 1.0
    assert comb(n // 2, 2) / comb(n, 2) <= fisher_p(n // 2, 2, n, 2) < 1.0  # SciPy would add up 10**9 terms
    assert fisher_p(n // 2, n // 2, n, n // 2) == 0.0


def test_scores_that_say_nothing_are_rarely_told_of() -> None:
    """At most .01, plus three standard errors of 3,000 fits."""
    rng = np.random.default_rng(0)
    n_told = sum(
        on_falling(*lower_half(np.full(10, 20), rng.multivariate_hypergeometric(np.full(10, 20), 80))) is not None
        for _ in range(3000)
    )
    assert 0 < n_told / 3000 <= 0.01 + 3 * (0.01 * 0.99 / 3000) ** 0.5


def test_halves_are_whole_bins() -> None:
    for n_bins in (7, 200):
        counts, ones = np.full(n_bins, 30), np.linspace(29, 1, n_bins).astype(int)
        text = on_falling(*lower_half(counts, ones))
        assert text is not None
        lower = 30 * ((n_bins + 1) // 2 if n_bins % 2 == 0 else n_bins // 2)
        assert f"among the {lower:,} lower" in text
    assert on_falling(*lower_half(np.array([50]), np.array([20]))) is None
    assert on_falling(*lower_half(np.array([0, 50, 0]), np.array([0, 20, 0]))) is None
    assert on_falling(*lower_half(np.array([20, 20]), np.array([20, 20]))) is None


def test_around_the_median() -> None:
    scores, is_one = np.array([0.3, 0.1, 0.3, 0.9, 0.2]), np.array([True, True, False, False, False])
    assert [column.tolist() for column in around_the_median(scores, is_one)] == [[2, 2, 1], [1, 1, 0]]
    weights = np.array([0, 9, 1, 2, 1])
    assert [column.tolist() for column in around_the_median(scores, is_one, weights)] == [[0, 9, 4], [0, 9, 0]]


@calibrators
def test_labels_in_place_of_scores_are_told_of(calibrator: Any) -> None:
    hard = (SCORES > 0.5).astype(float)
    (text,) = [text for text in told(calibrator.fit, hard, LABELS) if "bins" not in text]
    assert text.startswith("all scores are exactly 0 or 1: these look like predicted labels")
    few = hard[:49].copy()
    hard[7] = 0.5
    assert not [text for text in told(calibrator.fit, hard, LABELS) if "predicted labels" in text]
    assert not [text for text in told(calibrator.fit, few, LABELS[:49]) if "predicted" in text]


ENGINES: dict[str, Callable[..., Any]] = {
    "stream": lambda calibrator, table, **names: fb.engines.fit(table, calibrator=calibrator, engine="stream", **names),
    "group-by": lambda calibrator, table, **names: fb.engines.fit(
        duckdb.arrow(table), calibrator=calibrator, engine="group-by", **names
    ),
    "batches": lambda calibrator, table, **_: calibrator.fit_batches(
        [(each["p"].to_numpy(), each["y"].to_numpy()) for each in (table[:30], table[30:])]
    ),
}


FITTED_BY = [
    (calibrator, engine)
    for calibrator in (fb.CertifiedCalibration(), fb.UniformMassBinning(2), fb.ExplicitBinning([0.5]))
    for engine in ENGINES
    if engine != "batches" or hasattr(calibrator, "fit_batches")
]


@pytest.mark.parametrize(("calibrator", "engine"), FITTED_BY, ids=repr)
def test_labels_in_place_of_scores_of_engines(calibrator: Any, engine: str) -> None:
    hard = (SCORES > 0.5).astype(float)
    names = {"score": "p", "label": "y"}
    for scores, n_rows, expected in ((hard, 600, 1), (SCORES, 600, 0), (hard, 50, 1), (hard, 49, 0)):
        table = pa.table({"p": scores[:n_rows], "y": LABELS[:n_rows]})
        texts = told(ENGINES[engine], calibrator, table, **names)
        assert len([text for text in texts if "predicted labels" in text]) == expected


@pytest.mark.parametrize("engine", ["stream", "group-by"])
def test_labels_in_place_of_scores_of_segments_in_engines(engine: str) -> None:
    hard = (SCORES > 0.5).astype(float)
    names = {"score": "p", "label": "y", "segment": "g"}
    for scores, expected in ((hard, 1), (SCORES, 0)):
        table = pa.table({"p": scores, "y": LABELS, "g": SEGMENTS})
        texts = told(ENGINES[engine], fb.UniformMassBinning(2), table, **names)
        assert len([text for text in texts if text.startswith("3 of 3 models") and "predicted labels" in text]) == expected


def test_hard_scores_are_rows_and_not_samples() -> None:
    """As in memory, 49 rows are few however often each was seen, and rows of weight 0 have scores, too."""
    hard, few = (SCORES > 0.5).astype(float), np.arange(600) < 49
    zero = np.where(np.arange(600) % 3 == 0, SCORES, hard)
    for scores, rows, weights in ((hard, few, np.full(600, 10)), (zero, ~few, (zero == hard).astype(int))):
        table = pa.table({"p": scores[rows], "y": LABELS[rows], "w": weights[rows], "g": np.zeros(rows.sum(), int)})
        memory = told(
            fb.multi.SegmentedBinning(fb.UniformMassBinning(2)).fit, scores[rows], LABELS[rows], np.zeros(rows.sum(), int),
            weights[rows],
        )  # fmt: skip
        for engine in ("stream", "group-by"):
            names = {"score": "p", "label": "y", "segment": "g", "weight": "w"}
            assert told(ENGINES[engine], fb.UniformMassBinning(2), table, **names) == memory
        assert not [text for text in memory if "predicted labels" in text]


def test_labels_in_place_of_scores_of_segments() -> None:
    hard = (SCORES > 0.5).astype(float)
    texts = told(fb.multi.SegmentedBinning(fb.UniformMassBinning(2)).fit, hard, LABELS, SEGMENTS)
    assert [text for text in texts if text.startswith("3 of 3 models") and "predicted labels" in text]
