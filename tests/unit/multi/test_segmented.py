"""Segments: what is pooled, what is refused, and that any binary calibrator serves."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from wordings import refuses

import fastbin as fb
from fastbin._fit.rows import Rows
from fastbin.multi.cells import fit_named
from fitting import bare


def test_rows_with_weights_find_their_segment_among_many() -> None:
    rng = np.random.default_rng(0)
    segments = rng.permutation(np.repeat(np.arange(300), 2))
    labels, weights = segments % 2, rng.integers(1, 4, 600)
    model = (
        fb.multi.SegmentedBinning(fb.FixedWidthBinning(1), min_points=1).fit(rng.random(600), labels, segments, weights).model_
    )
    assert [model[key].n_samples for key in range(300)] == np.bincount(segments, weights).tolist()
    assert [float(model[key].values[0]) for key in range(300)] == [float(key % 2) for key in range(300)]


def told_of(calibrator: Any, scores: Any, labels: Any) -> list[str]:
    """The warnings of a fit of two segments."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fb.multi.SegmentedBinning(calibrator).fit(scores, labels, np.arange(len(scores)) % 2)
    return [str(each.message) for each in told]


def test_falling_labels_are_told_where_they_are_hardly_meant() -> None:
    """Scores that are hard labels are told as such, and scores beyond probabilities may fall as they like."""
    scores = np.random.default_rng(0).random(2000)
    assert any("labels fall as scores rise" in text for text in told_of(fb.UniformMassBinning(4), scores, scores < 0.5))
    assert told_of(fb.UniformMassBinning(4, score_range=(0.0, 5.0)), 5.0 * scores, scores < 0.5) == []
    hard = np.repeat([0.0, 1.0], 400)
    told = told_of(fb.UniformMassBinning(4), hard, 1.0 - hard)
    assert any("all scores are exactly 0 or 1" in text for text in told)
    assert not any("labels fall" in text for text in told)


RNG = np.random.default_rng(20)
N = 600
SCORES = RNG.random(N)
LABELS = (RNG.random(N) < SCORES).astype(np.uint8)
SEGMENTS = np.array(["north"] * 300 + ["south"] * 290 + ["west"] * 6 + ["east"] * 4)

CALIBRATORS = [
    fb.UniformMassBinning(4),
    fb.UniformMassBinning("auto"),
    fb.UniformMassBinning(4, scheme="ums", ties="random"),
    fb.UniformMassBinning(4, edges_share=0.5),
    fb.CertifiedCalibration(),
    fb.CertifiedCalibration(4, values="isotonic", sampling_rate=0.5),
    fb.CertifiedCalibration(4, recentre="cap"),
    fb.ScalingBinning(4, scaler="none"),
    fb.ScalingBinning(4, scaler="none", scheme="split"),
    fb.FixedWidthBinning(2),
    fb.IsotonicCalibration(),
    fb.BetaScaling(),
]


@pytest.mark.parametrize("calibrator", CALIBRATORS, ids=repr)
def test_any_calibrator_serves(calibrator: Any) -> None:
    before = repr(calibrator)
    models = fb.multi.SegmentedBinning(calibrator).fit(SCORES, LABELS, SEGMENTS).model_
    assert repr(calibrator) == before
    assert not hasattr(calibrator, "model_")
    assert models.kind == "segments"
    assert list(models.models) == ["north", "south"]
    assert models.pooled_cells == ("east", "west")
    for segment in ("north", "south"):
        rows = segment == SEGMENTS
        assert models[segment] == bare(type(calibrator)(**calibrator.get_params()).fit(SCORES[rows], LABELS[rows]).model_)
    assert models.pool.n_samples == 10


@pytest.mark.parametrize("n_bins", ["auto", 1, 4, 30])
@pytest.mark.parametrize("min_points", [1, 150])
@pytest.mark.parametrize("decimals", [1, 9])
def test_rows_sorted_for_all_segments_give_the_fits_of_each(n_bins: Any, min_points: int, decimals: int) -> None:
    rng = np.random.default_rng(4)
    segments = rng.choice(12, 2000, p=np.arange(1, 13) ** 2 / 650)
    scores = np.where(segments == 11, rng.random(2000) < 0.5, rng.random(2000).round(decimals))
    labels = rng.random(2000) < 1.0 - scores
    told, models = [], []
    for weights in (None, np.ones(2000, np.int64)):  # which are fitted one by one
        fit = fb.multi.SegmentedBinning(fb.CertifiedCalibration(n_bins), min_points=min_points)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            models.append(fit.fit(scores, labels, segments, weights).model_)
        told.append([str(warning.message) for warning in caught])
    assert models[0] == models[1]
    assert told[0] == told[1]
    assert any("segment 11: all scores are exactly 0 or 1" in text for text in told[0])


def test_the_pool_has_fewer_bins_where_its_rows_are_few() -> None:
    models = fb.multi.SegmentedBinning(fb.UniformMassBinning()).fit(SCORES, LABELS, SEGMENTS).model_
    assert models["north"].n_bins == 10
    assert models.pool.n_bins == models.pool.n_bins_asked == 2  # of 10 rows, where 50 have 10 bins
    ums = fb.multi.SegmentedBinning(fb.UniformMassBinning(10, scheme="ums", ties="random")).fit(SCORES, LABELS, SEGMENTS).model_
    assert ums.pool.n_bins_asked == 2


def test_thin_is_what_the_bins_need_too() -> None:
    few = np.r_[np.full(103, 1), np.full(99, 2), np.full(98, 3)]
    fit = fb.multi.SegmentedBinning(fb.UniformMassBinning(50)).fit(SCORES[:300], LABELS[:300], few)
    assert list(fit.model_.models) == [1, 2]
    assert fit.model_.pooled_cells == (3,)
    assert fit.model_.pool.n_bins == 49


@pytest.mark.parametrize(
    ("calibrator", "needed"),
    [
        (fb.UniformMassBinning(30), 59),
        (fb.UniformMassBinning(30, scheme="umb"), 30),
        (fb.UniformMassBinning(30, scheme="ums"), 60),
        (fb.UniformMassBinning(30, scheme="ums", split=0.9), 34),
        (fb.UniformMassBinning(30, scheme="ums", split=0.1), 300),
        (fb.UniformMassBinning(30, edges_share=0.25), 236),
        (fb.CertifiedCalibration(30), 59),
        (fb.CertifiedCalibration(1000), 1999),
        (fb.ScalingBinning(30, scaler="none"), 59),
        (fb.ScalingBinning(30, scaler="none", scheme="split"), 60),
        (fb.ScalingBinning(30, scheme="split"), 90),
        (fb.UniformMassBinning("auto"), 1),
    ],
    ids=repr,
)
def test_a_calibrator_knows_how_many_samples_it_needs(calibrator: Any, needed: int) -> None:
    assert calibrator._least_samples() == needed
    scores = (np.arange(needed) + 0.5) / needed
    labels = np.arange(needed) % 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibrator, "_told", [], raising=False)
        calibrator.fit(scores, labels)
        if needed > 1:
            with pytest.raises(fb.InputError, match=r"too few|needs? at least|leave"):
                calibrator.fit(scores[:-1], labels[:-1])


def test_rows_that_all_stand_0_times_are_no_samples() -> None:
    none = np.zeros(N, np.int64)
    for calibrator in (None, fb.UniformMassBinning(2), fb.IsotonicCalibration()):
        refuses("InputError sample_weight", fb.multi.SegmentedBinning(calibrator).fit, SCORES, LABELS, SEGMENTS, none)
    refuses("InputError sample_weight", fb.multi.TopLabelBinning().fit, np.stack([SCORES, 1 - SCORES], 1), LABELS, none)


def test_refused_thin_segments_are_named() -> None:
    with pytest.raises(fb.InputError, match=r"^segment 'east' has 4 samples, and a model of its own needs 50; give it more"):
        fb.multi.SegmentedBinning(thin="refuse").fit(SCORES, LABELS, SEGMENTS)
    models = fb.multi.SegmentedBinning(fb.UniformMassBinning(2), thin="refuse", min_points=4).fit(SCORES, LABELS, SEGMENTS)
    assert models.model_.pool is None


def test_unknown_segments() -> None:
    refused = fb.multi.SegmentedBinning().fit(SCORES, LABELS, SEGMENTS)
    with pytest.raises(fb.InputError, match=r"segments\[1\] is 'mars'"):
        refused.predict([0.5, 0.5], ["north", "mars"])
    pooled = fb.multi.SegmentedBinning(unknown="pool").fit(SCORES, LABELS, SEGMENTS)
    assert pooled.predict([0.5], ["mars"]) == pooled.predict([0.5], ["east"])
    with pytest.warns(
        fb.FastbinWarning, match="no segment has fewer than 50 samples, so no pool was made; unknown segments are"
    ):
        whole = fb.multi.SegmentedBinning(unknown="pool").fit(SCORES[:590], LABELS[:590], SEGMENTS[:590])
    assert whole.model_.unknown == "refuse"
    with pytest.raises(fb.InputError, match="unknown is 'pool' and thin is 'refuse', which makes no pool"):
        fb.multi.SegmentedBinning(unknown="pool", thin="refuse").fit(SCORES, LABELS, SEGMENTS)


@pytest.mark.filterwarnings("ignore:.* left .* of the .* bins:fastbin.FastbinWarning")  # of rows that are repeated
def test_weights() -> None:
    frequencies = RNG.integers(0, 3, N)
    cal = fb.multi.SegmentedBinning(fb.UniformMassBinning(3), min_points=1)
    weighted = cal.fit(SCORES, LABELS, SEGMENTS, frequencies).model_
    repeated = np.repeat(np.arange(N), frequencies)
    assert cal.fit(SCORES[repeated], LABELS[repeated], SEGMENTS[repeated]).model_ == weighted
    of_two = np.where(np.isin(SEGMENTS, ["north", "south"]), frequencies, 0)  # a row that stands 0 times is not there
    kept = np.repeat(np.arange(N), of_two)
    for thin in ("pool", "refuse"):
        policy = fb.multi.SegmentedBinning(fb.UniformMassBinning(3), min_points=1, thin=thin)
        unseen = policy.fit(SCORES, LABELS, SEGMENTS, of_two).model_
        assert list(unseen) == ["north", "south"]
        assert policy.fit(SCORES[kept], LABELS[kept], SEGMENTS[kept]).model_ == unseen
    importance = RNG.random(N)
    models = cal.fit(SCORES, LABELS, SEGMENTS, importance).model_
    rows = SEGMENTS == "south"
    assert models["south"] == bare(fb.UniformMassBinning(3).fit(SCORES[rows], LABELS[rows], importance[rows]).model_)


def test_keys_of_any_kind() -> None:
    pandas = pytest.importorskip("pandas")
    cal = fb.multi.SegmentedBinning()
    model = cal.fit(SCORES, LABELS, SEGMENTS).model_
    for column in (
        SEGMENTS.tolist(),
        pandas.Series(SEGMENTS),
        pandas.Series(SEGMENTS).astype("category"),
        SEGMENTS.astype(object),
    ):
        assert cal.fit(SCORES, LABELS, column).model_ == model
    numbers = np.unique(SEGMENTS, return_inverse=True)[1]
    for dtype in (np.int8, np.int32, np.uint64, np.int64):
        assert cal.fit(SCORES, LABELS, numbers.astype(dtype)).model_.cells == (0, 1, 2, 3)
    assert bare(cal.fit(SCORES, LABELS == 1, SEGMENTS, positive=True).model_) == bare(model)
    order = RNG.permutation(N)
    assert cal.fit(SCORES[order], LABELS[order], SEGMENTS[order]).model_ == model


BAD = {
    "NaN": (lambda s, y, g: (np.r_[s[:7], np.nan, s[8:]], y, g), r"scores\[7\] is NaN; remove such rows"),
    "range": (lambda s, y, g: (np.r_[s[:599], 1.5], y, g), r"scores\[599\] is 1.5, outside \[0, 1\]"),
    "label": (lambda s, y, g: (s, np.r_[y[:3], 2, y[4:]], g), r"labels\[3\] is 2; labels are 0 and 1"),
    "lengths": (lambda s, y, g: (s, y, g[:-1]), "lengths differ: scores has 600, labels has 600, segments has 599"),
    "missing": (lambda s, y, g: (s, y, [*g[:5].tolist(), None, *g[6:].tolist()]), r"segments\[5\] is missing"),
    "empty": (lambda s, y, g: ([], [], []), "scores is empty; a calibrator needs samples"),
    "float keys": (lambda s, y, g: (s, y, s), r"segments\[0\] is 0.*; a key is an integer or a text"),
    "two types": (lambda s, y, g: (s, y, ["a", *range(599)]), r"segments\[1\] is 0, and segments\[0\] is 'a'"),
}


@pytest.mark.parametrize(("change", "told"), list(BAD.values()), ids=list(BAD))
@pytest.mark.parametrize("calibrator", [None, fb.IsotonicCalibration()], ids=repr)
def test_bad_rows_are_refused_by_position(change: Any, told: str, calibrator: Any) -> None:
    with pytest.raises(fb.FastbinError, match=told):
        fb.multi.SegmentedBinning(calibrator).fit(*change(SCORES, LABELS, SEGMENTS))


def test_bad_configurations_are_refused() -> None:
    for wrong, told in (
        (fb.UniformMassBinning, "calibrator is the class UniformMassBinning; pass a binary calibrator"),
        (7, "calibrator is of type int; pass a binary calibrator"),
        (fb.multi.SegmentedBinning(), "calibrator is of type SegmentedBinning"),
        (fb.shift.LabelShift(fb.UniformMassBinning(2).fit(SCORES, LABELS)), "is a LabelShift, which fits no scores; pass a"),
    ):
        with pytest.raises(fb.InputTypeError, match=told):
            fb.multi.SegmentedBinning(wrong).fit(SCORES, LABELS, SEGMENTS)
    for options in ({"thin": "drop"}, {"unknown": "guess"}, {"min_points": 0}):
        with pytest.raises(fb.InputError, match=next(iter(options))):
            fb.multi.SegmentedBinning(**options).fit(SCORES, LABELS, SEGMENTS)
    with pytest.raises(fb.InputError, match="n_bins is 0; it must be at least 1"):
        fb.multi.SegmentedBinning(fb.UniformMassBinning(0)).fit(SCORES, LABELS, SEGMENTS)


def test_what_the_fit_of_a_segment_says_is_told_with_its_name() -> None:
    constant = np.where(SEGMENTS == "south", 0.5, SCORES)
    with pytest.warns(
        fb.FastbinWarning, match=r"^1 of 3 models, the first that of segment 'south': ties='whole' left 1 of the"
    ):
        fb.multi.SegmentedBinning(fb.UniformMassBinning()).fit(constant, LABELS, SEGMENTS)
    with pytest.raises(fb.InputError, match=r"^segment 'north': sample_weight is 0 for every row that a bin averages"):
        fb.multi.SegmentedBinning().fit(SCORES, LABELS, SEGMENTS, np.where(SEGMENTS == "north", 0.0, 1.0))


def test_it_is_an_estimator_like_others() -> None:
    cal = fb.multi.SegmentedBinning(fb.UniformMassBinning(4), min_points=10)
    assert repr(cal) == "SegmentedBinning(calibrator=UniformMassBinning(n_bins=4), min_points=10)"
    assert cal.set_params(min_points=20).get_params()["min_points"] == 20
    with pytest.raises(
        fb.NotFittedError, match=r"this SegmentedBinning is not fitted yet; call fit\(scores, labels, segments\)"
    ):
        cal.predict([0.5], ["north"])
    with pytest.raises(fb.NotFittedError):
        cal.predict_one(0.5, "north")
    with pytest.raises(fb.InputError, match="bins is not a parameter of SegmentedBinning"):
        cal.set_params(bins=3)
    cal.fit(SCORES, LABELS, SEGMENTS)
    again = pickle.loads(pickle.dumps(cal))
    assert again.model_ == cal.model_
    assert again.predict_one(0.5, "north") == cal.predict_one(0.5, "north") == cal.predict([0.5], ["north"])[0]
    with pytest.raises(fb.InputTypeError, match="model is of type SegmentedBinning"):
        fb.monotone_model(cal)


def test_a_calibrator_of_a_set_can_be_fitted_again_by_itself() -> None:
    scores = np.arange(40) / 40
    calibrator, told = fb.UniformMassBinning(2), []
    fit_named(calibrator, Rows(scores, (scores > 0.5).astype(np.uint8), None, (0.0, 1.0)), "segment 1", told, event="sale")
    again = calibrator.fit(scores, scores > 0.5).model_
    assert again == fb.UniformMassBinning(2).fit(scores, scores > 0.5).model_
    assert again.provenance is not None
    with pytest.warns(fb.FastbinWarning, match="fall as scores rise"):
        calibrator.fit(scores, scores < 0.5)
    assert told == []
