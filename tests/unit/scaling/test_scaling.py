"""The smooth maps: exact cases, limits, refusals, scores of 0 and 1, and files that carry the map."""

from __future__ import annotations

import math
import pickle
import re

import numpy as np
import pytest
from scipy.special import expit

import fastbin as fb
import oracle
from fastbin.scaling.maps import require_increasing
from fastbin.scaling.value_maps import value_steps
from fitting import bare
from oracle import Case, close

SCORES = [0.1, 0.3, 0.35, 0.6, 0.8, 0.85, 0.9]
LABELS = [0, 1, 0, 0, 1, 1, 1]

ALL = {
    "platt": fb.PlattScaling(),
    "platt, plain": fb.PlattScaling(smooth_labels=False),
    "platt on logits": fb.PlattScaling(feature="logit"),
    "temperature": fb.TemperatureScaling(),
    "abm": fb.BetaScaling(),
    "am": fb.BetaScaling(parameters="am"),
    "ab": fb.BetaScaling(parameters="ab"),
    "quadratic": fb.QuadraticScaling(),
    "spline": fb.SplineScaling(),
}
every = pytest.mark.parametrize("cal", list(ALL.values()), ids=list(ALL))


@oracle.cases("platt")
def test_platt(case: Case) -> None:
    given, expected = case.inputs, case.expected
    cal = fb.PlattScaling(smooth_labels=given["smooth"], score_range=None).fit(given["f"], given["labels"])
    assert close([cal.a_, cal.c_], [expected["A"], expected["B"]], 1e-12)
    assert close(cal.predict(given["f"]).tolist(), expected["values"], 1e-14)


@oracle.cases("platt_logit")
def test_platt_on_logits(case: Case) -> None:
    given, expected = case.inputs, case.expected
    cal = fb.PlattScaling(feature="logit", smooth_labels=given["smooth"], ends="refuse").fit(given["scores"], given["labels"])
    assert close([cal.a_, cal.c_], [expected["A"], expected["B"]], 1e-12)
    assert close(cal.predict(given["scores"]).tolist(), expected["values"], 1e-14)


@pytest.mark.parametrize(("feature", "other"), [("score", "logit"), ("logit", "score")])
def test_the_constant_is_that_of_the_fit_after_another_feature_is_set(feature: str, other: str) -> None:
    cal = fb.PlattScaling(feature=feature).fit([0.1, 0.3, 0.5, 0.7, 0.9], [0, 0, 1, 0, 1])
    before = cal.c_
    assert cal.set_params(feature=other).c_ == before


def test_unsmoothed_platt() -> None:
    cal = fb.PlattScaling(smooth_labels=False, score_range=None).fit([-2, -1, 0, 1, 2, 3], [0, 0, 1, 0, 1, 1])
    assert close([cal.a_, cal.c_], [-1.214027586, 0.6070137929], 1e-9)


def test_temperature_by_its_equation() -> None:
    """At the maximum the mean logit weighted by label equals that weighted by prediction."""
    cal = fb.TemperatureScaling().fit(SCORES, LABELS)
    logit = np.log(SCORES) - np.log1p(-np.array(SCORES))
    assert abs(logit @ (np.array(LABELS) - cal.predict(SCORES))) < 1e-12
    assert cal.predict([0.5]).tolist() == [0.5]
    assert cal.temperature_ > 0


@pytest.mark.parametrize("parameters", ["abm", "am", "ab"])
def test_beta_by_its_equations(parameters: str) -> None:
    rng = np.random.default_rng(5)
    scores = rng.beta(2, 2, 500)
    labels = rng.random(500) < 1 / (1 + np.exp(-(0.7 * np.log(scores) - 1.4 * np.log(1 - scores) - 0.3)))
    cal = fb.BetaScaling(parameters=parameters).fit(scores, labels)
    off = labels - cal.predict(scores)
    rising, falling = np.log(scores), -np.log(1 - scores)
    if parameters == "am":
        assert cal.a_ == cal.b_
        assert abs(off @ (rising + falling)) < 1e-9
    else:
        assert min(cal.a_, cal.b_) > 0
        shift = math.log(2) if parameters == "ab" else 0.0
        assert abs(off @ (rising + shift)) < 1e-9
        assert abs(off @ (falling - shift)) < 1e-9
    if parameters == "ab":
        assert cal.c_ == (cal.a_ - cal.b_) * math.log(2)
        assert math.isclose(cal.predict_one(0.5), 0.5, rel_tol=1e-15)
    else:
        assert abs(off.sum()) < 1e-9


def test_a_slope_that_would_be_negative_is_held_at_zero() -> None:
    """A concave truth: the slope towards 1 would be negative, and the best map without it is found."""
    rng = np.random.default_rng(6)
    scores = rng.random(4000)
    labels = rng.random(4000) < 0.8 * np.sqrt(scores) * (1 - 0.5 * scores**4)
    cal = fb.BetaScaling().fit(scores, labels)
    assert cal.b_ == 0.0
    assert cal.a_ > 0.0
    off = labels - cal.predict(scores)
    assert abs(off @ np.log(scores)) < 1e-8
    assert abs(off.sum()) < 1e-8
    assert off @ -np.log(1 - scores) <= 0.0  # a larger slope would make the labels less likely


# ------------------------------------------------------------------------------------------------- limits


def test_constant_scores_give_the_mean() -> None:
    scores, labels = [0.3] * 5, [0, 1, 1, 0, 1]
    smooth = fb.PlattScaling().fit(scores, labels)
    targets = 3 * 4 / 5 + 2 * 1 / 4
    assert smooth.a_ == 0.0
    assert close(smooth.predict([0.0, 0.3, 1.0]).tolist(), [targets / 5] * 3, 1e-15)
    assert close(fb.PlattScaling(smooth_labels=False).fit(scores, labels).predict([0.9]).tolist(), [0.6], 1e-15)
    for parameters in ("abm", "am"):
        cal = fb.BetaScaling(parameters=parameters).fit(scores, labels)
        assert (cal.a_, cal.b_) == (0.0, 0.0)
        assert close(cal.predict([0.9]).tolist(), [0.6], 1e-15)
    assert fb.TemperatureScaling().fit([0.5, 0.5], [0, 1]).temperature_ == 1.0
    assert fb.BetaScaling(parameters="ab").fit([0.5, 0.5], [0, 1]).predict([0.2]).tolist() == [0.2]


def test_one_class_with_smoothed_labels() -> None:
    assert close(fb.PlattScaling().fit(SCORES, [1] * 7).predict([0.0, 0.5]).tolist(), [8 / 9, 8 / 9], 1e-15)
    assert close(fb.PlattScaling(feature="logit").fit(SCORES, [0] * 7).predict([0.5]).tolist(), [1 / 9], 1e-15)


def test_separated_labels_with_smoothed_labels() -> None:
    cal = fb.PlattScaling().fit([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1])
    assert cal.a_ < 0
    assert close(cal.predict([0.1, 0.9]).tolist(), [0.25, 0.75], 0.05)


def test_labels_that_fall_with_the_score() -> None:
    scores, labels = SCORES, [1 - label for label in LABELS]
    assert fb.PlattScaling().fit(scores, labels).a_ > 0
    cal = fb.BetaScaling().fit(scores, labels)
    assert (cal.a_, cal.b_) == (0.0, 0.0)
    assert close(cal.predict([0.1, 0.9]).tolist(), [3 / 7, 3 / 7], 1e-15)


@pytest.mark.parametrize("score_range", [(0.0, 1.0), None])
@pytest.mark.parametrize(
    ("logits", "labels", "log_temperature", "told"),
    [
        ([-2.0, -1.0, 1.0, 2.0], [0, 0, 1, 1], -10.0, "ever lower temperatures are ever more likely"),
        ([1.0, 2.0], [1, 1], -10.0, "ever lower temperatures are ever more likely"),
        ([-2.0, -1.0, 1.0, 2.0], [1, 1, 0, 0], 10.0, "ever higher temperatures are ever more likely"),
        ([-2.0, -1.0, 1.0], [1, 1, 1], 10.0, "ever higher temperatures are ever more likely"),
        ([-1e-7, 1e-7, 3e-7], [0, 1, 0], 10.0, "ever higher temperatures"),
        ([-1e-7, 1e-7, 3e-7], [0, 0, 1], -10.0, "ever lower temperatures"),
    ],
)
def test_a_temperature_has_bounds(
    logits: list[float], labels: list[int], log_temperature: float, told: str, score_range: tuple[float, float] | None
) -> None:
    """Those of scikit-learn, where the likelihood has no maximum, or one beyond them."""
    scores = np.array(logits) if score_range is None else 1 / (1 + np.exp(-np.array(logits)))
    cal = fb.TemperatureScaling(score_range=score_range)
    with pytest.warns(fb.FastbinWarning, match=told):
        cal.fit(scores, labels)
    assert cal.temperature_ == pytest.approx(np.exp(log_temperature), rel=1e-15)
    expected = expit(np.array(logits) / cal.temperature_)
    np.testing.assert_allclose(cal.predict(scores), expected, rtol=1e-3)


def test_logits_are_divided_as_they_are() -> None:
    logits = np.log(SCORES) - np.log1p(-np.array(SCORES))
    cal, of_logits = fb.TemperatureScaling().fit(SCORES, LABELS), fb.TemperatureScaling(score_range=None).fit(logits, LABELS)
    assert close([of_logits.temperature_], [cal.temperature_], 1e-12)
    assert close(of_logits.predict(logits).tolist(), cal.predict(SCORES).tolist(), 1e-12)
    assert fb.BinnedModel.from_bytes(of_logits.model_.to_bytes()).predict(logits).tolist() == of_logits.predict(logits).tolist()
    with pytest.raises(fb.InputError, match="scores"):
        fb.TemperatureScaling(score_range=(-1.0, 1.0)).fit([0.5, 1.5], [0, 1])


def test_scores_at_the_ends_that_agree_do_not_count() -> None:
    """The map sends 0 to 0 whatever its parameters: such a sample with label 0 tells nothing."""
    scores, labels = [0.0, 0.0, *SCORES, 1.0], [0, 0, *LABELS, 1]
    for cal in (fb.TemperatureScaling(ends="refuse"), fb.BetaScaling(parameters="am", ends="refuse")):
        assert cal.fit(scores, labels).model_.map == cal.fit(SCORES, LABELS).model_.map
        assert cal.predict([0.0, 1.0]).tolist() == [0.0, 1.0]
        assert cal.fit(scores, labels).model_.n_samples == 10


@pytest.mark.parametrize(
    ("cal", "scores", "labels", "message"),
    [
        (
            fb.PlattScaling(feature="logit", ends="refuse"),
            [0.2, 0.0, 0.4],
            [0, 1, 1],
            "scores[1] is 0.0, whose logit is infinite",
        ),
        (
            fb.TemperatureScaling(ends="refuse"),
            [0.2, 0.6, 1.0],
            [0, 1, 0],
            "scores[2] is 1.0 with label 0: the map sends 1 to 1",
        ),
        (
            fb.BetaScaling(ends="refuse"),
            [0.0, 0.2, 0.6, 0.7],
            [1, 1, 0, 1],
            "scores[0] is 0.0 with label 1: the map sends 0 to 0",
        ),
        (fb.PlattScaling(smooth_labels=False), [0.1, 0.2, 0.8], [0, 0, 1], "labels are separated by the score"),
        (fb.PlattScaling(smooth_labels=False), [0.1, 0.2, 0.8], [1, 1, 0], "labels are separated by the score"),
        (fb.PlattScaling(smooth_labels=False), [0.1, 0.5, 0.5, 0.8], [0, 0, 1, 1], "labels are separated by the score"),
        (fb.PlattScaling(smooth_labels=False), [0.1, 0.5], [1, 1], "labels are all 1, so the likelihood has no maximum"),
        (fb.BetaScaling(), [0.1, 0.2, 0.8], [0, 0, 1], "labels are of one class, or separated by the score"),
        (fb.BetaScaling(parameters="ab"), [0.1, 0.2, 0.8], [0, 0, 1], "labels are of one class, or separated by the score"),
        (
            fb.BetaScaling(ends="refuse"),
            [0.0, 0.3, 0.4, 0.6, 0.7],
            [0, 1, 1, 0, 0],
            "scores hold 0.0, and the other samples ask",
        ),
        (fb.PlattScaling(), [0.5, np.nextafter(0.5, 1)], [0, 1], "scores differ so little beside their size"),
        (fb.PlattScaling(feature="margin"), SCORES, LABELS, "feature is 'margin'; choose one of 'score', 'logit'"),
        (fb.PlattScaling(feature="logit", score_range=None), SCORES, LABELS, "feature='logit' needs probabilities"),
        (fb.BetaScaling(ends="keep"), SCORES, LABELS, "ends is 'keep'; choose one of 'clip', 'refuse'"),
        (fb.TemperatureScaling(ends=0.1), SCORES, LABELS, "ends is 0.1; choose one of 'clip', 'refuse'"),
        (fb.PlattScaling(ends=""), SCORES, LABELS, "ends is ''; choose one of 'clip', 'refuse'"),
        (fb.BetaScaling(parameters="b"), SCORES, LABELS, "parameters is 'b'; choose one of 'abm', 'am', 'ab'"),
        (fb.PlattScaling(), [], [], "scores is empty"),
        (fb.PlattScaling(), [0.5, np.nan], [0, 1], "scores[1] is NaN"),
        (fb.TemperatureScaling(), [0.5, 0.7], [0, 2], "labels[1] is 2"),
        (fb.BetaScaling(), [0.5, 0.7], [0, 1, 1], "lengths differ: scores has 2, labels has 3"),
    ],
)
def test_refused(cal, scores, labels, message: str) -> None:
    with pytest.raises(fb.InputError, match=re.escape(message)):
        cal.fit(scores, labels)


def test_weights_that_are_all_zero_are_refused() -> None:
    for weight in ([0] * 7, [0.0] * 7):
        with pytest.raises(fb.InputError, match="sample_weight is 0 for every row"):
            fb.PlattScaling().fit(SCORES, LABELS, sample_weight=weight)
    with pytest.raises(fb.InputError, match="adds up to more than 2\\*\\*53 samples"):
        fb.PlattScaling().fit(SCORES, LABELS, sample_weight=[2**52] * 7)


# ------------------------------------------------------------------------------------------------- models


@every
def test_no_smooth_map_has_a_guarantee(cal) -> None:
    cal.fit(SCORES, LABELS)
    for ask in (cal.certificate, lambda: cal.predict_interval([0.5]), cal.model_.interval):
        with pytest.raises(fb.GuaranteeError, match="Podkopaev & Ramdas 2020, Theorem 3"):
            ask()
    with pytest.raises(fb.GuaranteeError):
        cal.model_.interval(bound="wilson")


@every
def test_the_model_file_carries_the_map(cal, tmp_path) -> None:
    cal.fit(SCORES, LABELS)
    model = cal.model_
    assert model.kind == "smooth"
    assert model.n_bins == 0
    assert (model.n_samples, model.n_positive) == (7, 4)
    model.save(tmp_path / "map.fbm")
    loaded = fb.load(tmp_path / "map.fbm")
    assert loaded == model
    assert loaded.predict(SCORES).tolist() == cal.predict(SCORES).tolist()
    again = pickle.loads(pickle.dumps(cal))
    assert again.predict_one(0.37) == cal.predict_one(0.37) == cal.predict([0.37])[0]


def test_scores_of_any_size() -> None:
    cal = fb.PlattScaling(score_range=None).fit([-1e308, -5e307, 1e307, 1e308], [0, 1, 0, 1])
    assert 0.2 < cal.predict_one(-1e308) < 0.5 < cal.predict_one(1e308) < 0.8
    tiny = fb.PlattScaling().fit([1e-300, 2e-300, 3e-300, 4e-300], [0, 1, 0, 1])
    assert 0.2 < tiny.predict_one(1e-300) < 0.5 < tiny.predict_one(4e-300) < 0.8


def test_not_fitted() -> None:
    with pytest.raises(fb.NotFittedError, match="not fitted"):
        _ = fb.PlattScaling().model_
    with pytest.raises(AttributeError):
        _ = fb.PlattScaling().a_
    assert repr(fb.PlattScaling(feature="logit")) == "PlattScaling(feature='logit')"
    assert fb.TemperatureScaling().get_params() == {"score_range": (0.0, 1.0), "ends": "clip"}


# ------------------------------------------------------------------------------------------------- maps of the logit

# A forest of ten trees on easy rows: many scores are exactly 0 or 1, and some of these are wrong.
VOTES = np.array([0] * 60 + [1] * 10 + [2, 3, 5, 6, 7] * 4 + [9] * 12 + [10] * 58)
VOTE_SCORES, VOTE_LABELS = (
    VOTES / 10,
    np.array([*([0] * 58 + [1] * 2), *([0] * 8 + [1] * 2), *([0, 0, 0, 1, 1] * 4), *([1] * 12), *([1] * 57 + [0])]),
)

TAKING_LOGARITHMS = {name: cal for name, cal in ALL.items() if not name.startswith("platt")} | {
    "platt on logits": fb.PlattScaling(feature="logit"),
    "platt on logits, plain": fb.PlattScaling(feature="logit", smooth_labels=False),
}
every_logit = pytest.mark.parametrize("cal", list(TAKING_LOGARITHMS.values()), ids=list(TAKING_LOGARITHMS))
new = pytest.mark.parametrize("method", [fb.QuadraticScaling, fb.SplineScaling])


# ------------------------------------------------------------------------------------------------- ends


@every_logit
def test_scores_of_0_and_1_are_fitted_and_served(cal) -> None:
    cal.fit(VOTE_SCORES, VOTE_LABELS)
    half = 0.5 / (len(VOTE_SCORES) + 1)
    assert cal.model_.clip == half
    low, inside, middle, high = cal.predict([0.0, half, 0.5, 1.0])
    assert 0.0 < low == inside < middle < high < 1.0
    assert cal.predict([half / 2, 1.0 - half / 2]).tolist() == [low, high]
    assert cal.predict_one(0.0) == low


@every_logit
def test_the_clip_is_in_the_file(cal, tmp_path) -> None:
    model = cal.fit(VOTE_SCORES, VOTE_LABELS).model_
    model.save(tmp_path / "map.fbm")
    loaded = fb.load(tmp_path / "map.fbm")
    assert (loaded.clip, loaded.map) == (model.clip, model.map)
    assert loaded == model
    assert loaded.predict(VOTE_SCORES).tobytes() == model.predict(VOTE_SCORES).tobytes()


@every_logit
def test_clipped_scores_are_as_good_as_moved_ones(cal) -> None:
    """The user who moves scores inside before fit and predict, as 0.1.0 asked, gets the same."""
    half = 0.5 / (len(VOTE_SCORES) + 1)
    moved = np.clip(VOTE_SCORES, half, 1.0 - half)
    expected = type(cal)(**cal.get_params()).fit(moved, VOTE_LABELS).predict(moved)
    assert np.allclose(cal.fit(VOTE_SCORES, VOTE_LABELS).predict(VOTE_SCORES), expected, rtol=1e-9, atol=0.0)


def test_scores_that_the_clip_makes_equal_are_one_score() -> None:
    """Both lowest scores are nearer to 0 than half a step: no slope tells them apart, and without them labels are separated."""
    scores, labels = [1e-9, 1e-6, 0.9, 0.95], [1, 0, 1, 1]
    assert fb.BetaScaling(parameters="am", ends="refuse").fit(scores, labels).a_ > 0.0
    with pytest.raises(fb.InputError, match="separated by the score"):
        fb.BetaScaling(parameters="am").fit(scores, labels)
    low, high = fb.SplineScaling().fit(scores, labels).predict([1e-9, 1e-6])
    assert low == high


def test_weights_and_the_half_step() -> None:
    """Frequencies are rows; real weights are not, and their rows count once each."""
    weights = np.arange(len(VOTE_SCORES)) % 3
    frequencies = fb.BetaScaling().fit(VOTE_SCORES, VOTE_LABELS, sample_weight=weights).model_
    repeated = fb.BetaScaling().fit(np.repeat(VOTE_SCORES, weights), np.repeat(VOTE_LABELS, weights)).model_
    assert frequencies == repeated
    assert frequencies.clip == 0.5 / (weights.sum() + 1)
    assert fb.BetaScaling().fit(VOTE_SCORES, VOTE_LABELS, sample_weight=weights / 2).model_.clip == 0.5 / (len(VOTE_SCORES) + 1)


def test_the_score_itself_is_not_clipped() -> None:
    assert fb.PlattScaling().fit(VOTE_SCORES, VOTE_LABELS).model_.clip == 0.0
    refused = fb.PlattScaling(ends="refuse").fit(VOTE_SCORES, VOTE_LABELS).model_
    assert bare(refused) == bare(fb.PlattScaling().fit(VOTE_SCORES, VOTE_LABELS).model_)


@every_logit
def test_bins_behind_a_clipped_map_record_the_clip(cal) -> None:
    fitted = type(cal)(**cal.get_params()).fit(VOTE_SCORES, VOTE_LABELS)
    for behind in (
        fb.ScalingBinning(4, scaler=fitted, ties="random").fit(VOTE_SCORES, VOTE_LABELS).model_,
        fb.FixedWidthBinning(4, scaler=fitted).fit(VOTE_SCORES, VOTE_LABELS).model_,
    ):
        assert (behind.map, behind.clip) == (fitted.model_.map, fitted.model_.clip)
        assert (behind.knots is None) == (fitted.model_.knots is None)
        if behind.knots is not None:
            assert behind.knots.tolist() == fitted.model_.knots.tolist()


# ------------------------------------------------------------------------------------------------- quadratic and spline


@pytest.mark.parametrize(("method", "word"), [(fb.QuadraticScaling, "quadratic"), (fb.SplineScaling, "spline")])
def test_they_are_the_value_maps_of_the_rows(method, word: str) -> None:
    """As C evaluates them from parameters and knots, against the logits of the fit."""
    rng = np.random.default_rng(3)
    scores = np.sort(rng.beta(0.4, 0.6, 400))
    labels = (rng.random(400) < scores**1.7).astype(np.int64)
    cells = scores, np.ones(400, np.int64), labels
    options = {"values": word, "recentre": "none", "monotone": False}
    steps = value_steps(*cells, np.array([0]), np.array([400]), np.array([labels.sum()]), 400, **options)
    fitted = method().fit(scores, labels)
    assert fitted.model_.map[0] == word
    assert np.allclose(np.clip(fitted.predict(scores), 0.5 / 401, 1 - 0.5 / 401), steps, rtol=1e-9, atol=0.0)


def test_the_quadratic_solves_its_equations() -> None:
    """At the minimum the mean of off times each power is that of the ridge's pull."""
    fitted = fb.QuadraticScaling().fit(VOTE_SCORES, VOTE_LABELS)
    half = fitted.model_.clip
    inside = np.clip(VOTE_SCORES, half, 1 - half)
    z = np.log(inside) - np.log(1 - inside)
    off = VOTE_LABELS - fitted.predict(VOTE_SCORES)
    pull = 4.0 * (np.array(fitted.model_.map[1][:3]) - [0.0, 1.0, 0.0])
    assert np.allclose([off.sum(), off @ z, off @ z**2], pull, rtol=0.0, atol=1e-6)


def test_the_spline_goes_through_its_knots_and_is_straight_beyond() -> None:
    rng = np.random.default_rng(4)
    scores = rng.beta(2, 2, 3000)
    labels = rng.random(3000) < 0.2 + 0.6 * scores**2
    fitted = fb.SplineScaling().fit(scores, labels)
    position, logit, second = fitted.model_.knots.T
    assert np.allclose(position, np.quantile(np.log(scores / (1 - scores)), [0.05, 0.275, 0.5, 0.725, 0.95]), atol=0.02)
    assert second[0] == second[-1] == 0.0
    assert np.abs(second[1:-1]).max() > 1e-3

    def logits_at(z):
        p = fitted.predict(1 / (1 + np.exp(-z)))
        return np.log(p) - np.log(1 - p)

    assert np.allclose(logits_at(position), logit, atol=1e-9)
    for outside in (np.linspace(-6.0, position[0], 30), np.linspace(position[-1], 6.0, 30)):
        assert np.abs(np.diff(logits_at(outside), 2)).max() < 1e-9
    assert np.abs(fitted.predict(scores) - (0.2 + 0.6 * scores**2)).mean() < 0.02


@new
@pytest.mark.parametrize("label", [0, 1])
def test_one_class_and_separated_labels_have_a_map(method, label: int) -> None:
    one = method().fit(VOTE_SCORES, np.full(len(VOTE_SCORES), label)).predict([0.0, 0.5, 1.0])
    assert (np.abs(one - label) < 0.5).all()
    apart = method().fit([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]).predict([0.1, 0.9])
    assert apart[0] < 0.2
    assert apart[1] > 0.8
    assert method().fit([0.3], [label]).predict_one(0.3) != label


def test_a_spline_of_few_scores_is_a_beta_map() -> None:
    model = fb.SplineScaling().fit([0.2, 0.2, 0.7, 0.7, 0.7], [0, 1, 1, 1, 0]).model_
    assert model.map[0] == "beta"
    assert (model.scheme, model.knots) == ("spline", None)


@new
def test_constant_scores(method) -> None:
    fitted = method().fit([0.3] * 200, [0, 1] * 100)
    assert abs(fitted.predict_one(0.3) - 0.5) < 0.02


@new
def test_no_scores_and_no_weight_are_refused(method) -> None:
    with pytest.raises(fb.InputError, match="scores is empty"):
        method().fit([], [])
    with pytest.raises(fb.InputError, match="sample_weight is 0 for every row"):
        method().fit([0.1, 0.4], [0, 1], sample_weight=[0.0, 0.0])
    with pytest.raises(fb.InputError, match=r"scores\[1\] is 1.5"):
        method().fit([0.1, 1.5], [0, 1])


@new
def test_a_fit_that_does_not_converge_says_so(method, monkeypatch) -> None:
    monkeypatch.setattr("fastbin.scaling.value_maps.MOST_STEPS", 1)
    with pytest.warns(fb.FastbinWarning, match="did not converge"):
        fitted = method().fit(VOTE_SCORES, 1 - VOTE_LABELS)
    served, half = fitted.predict(VOTE_SCORES), fitted.model_.clip
    before, after = (np.clip(np.where(VOTE_LABELS == 1, 1 - p, p), half, 1.0) for p in (VOTE_SCORES, served))
    assert np.log(after).sum() > np.log(before).sum()  # the best so far


# ------------------------------------------------------------------------------------------------- do they increase


def smooth(word: str, parameters=(), clip: float = 0.01, knots=None) -> fb.BinnedModel:
    return fb.BinnedModel.from_parts(
        edges=None, values=None, kind="smooth", scheme="spline", map=word, map_parameters=parameters, clip=clip, knots=knots
    )


@pytest.mark.parametrize(
    ("model", "rises"),
    [
        (smooth("quadratic", (0.0, 1.0, 0.0)), True),
        (smooth("quadratic", (0.0, 0.0, 0.0)), False),
        (smooth("quadratic", (0.0, -1.0, 0.0), clip=0.0), False),
        (smooth("quadratic", (3.0, 1.0, 0.1)), True),  # turns at a logit of -5, beyond -4.6
        (smooth("quadratic", (3.0, 1.0, -0.1)), True),
        (smooth("quadratic", (3.0, 1.0, 0.12)), False),
        (smooth("quadratic", (3.0, 1.0, 0.1), clip=0.001), False),
        (smooth("quadratic", (3.0, 1.0, 0.1), clip=0.0), False),
        (smooth("spline", knots=[[-1.0, -2.0, 0.0], [1.0, 2.0, 0.0]]), True),
        (smooth("spline", knots=[[-1.0, 2.0, 0.0], [1.0, 2.0, 0.0]]), False),
        (smooth("spline", knots=[[-1.0, -2.0, 0.0], [0.0, 0.0, 1.0], [1.0, 2.0, 0.0]]), True),
        (smooth("spline", knots=[[-1.0, -2.0, 0.0], [0.0, 0.0, 7.0], [1.0, 2.0, 0.0]]), False),
        # Slopes are positive at all knots, and least half way between the inner ones: 0.1 and -0.1.
        (smooth("spline", knots=[[0.0, 0.0, 0.0], [1.0, 3.6, -6.0], [2.0, 4.2, 6.0], [3.0, 7.8, 0.0]]), True),
        (smooth("spline", knots=[[0.0, 0.0, 0.0], [1.0, 3.4, -6.0], [2.0, 3.8, 6.0], [3.0, 7.2, 0.0]]), False),
    ],
)
def test_bins_need_a_map_that_increases(model: fb.BinnedModel, rises: bool) -> None:
    line = np.linspace(0.0, 1.0, 20_001)
    served = model.predict(line)
    assert ((np.diff(served) >= -1e-15).all() and served[-1] > served[0]) == rises
    if rises:
        require_increasing(model)
        assert fb.ScalingBinning(4, scaler=model, ties="random").fit(VOTE_SCORES, VOTE_LABELS).scaler_ == model
    else:
        with pytest.raises(fb.InputError, match="does not increase"):
            require_increasing(model)
