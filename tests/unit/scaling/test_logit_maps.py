"""Scores of 0 and 1 under maps that take logarithms; the quadratic and the spline in the logit."""

from __future__ import annotations

import numpy as np
import pytest

import fastbin as fb
from fastbin.scaling.maps import require_increasing
from fastbin.scaling.value_maps import FineCells, value_steps
from fitting import bare

# A forest of ten trees on easy rows: many scores are exactly 0 or 1, and some of these are wrong.
VOTES = np.array([0] * 60 + [1] * 10 + [2, 3, 5, 6, 7] * 4 + [9] * 12 + [10] * 58)
SCORES, LABELS = (
    VOTES / 10,
    np.array([*([0] * 58 + [1] * 2), *([0] * 8 + [1] * 2), *([0, 0, 0, 1, 1] * 4), *([1] * 12), *([1] * 57 + [0])]),
)

TAKING_LOGARITHMS = {
    "platt on logits": fb.PlattScaling(feature="logit"),
    "platt on logits, plain": fb.PlattScaling(feature="logit", smooth_labels=False),
    "temperature": fb.TemperatureScaling(),
    "beta abm": fb.BetaScaling(),
    "beta am": fb.BetaScaling(parameters="am"),
    "beta ab": fb.BetaScaling(parameters="ab"),
    "quadratic": fb.QuadraticScaling(),
    "spline": fb.SplineScaling(),
}
every = pytest.mark.parametrize("cal", list(TAKING_LOGARITHMS.values()), ids=list(TAKING_LOGARITHMS))
new = pytest.mark.parametrize("method", [fb.QuadraticScaling, fb.SplineScaling])


# ------------------------------------------------------------------------------------------------- ends


@every
def test_scores_of_0_and_1_are_fitted_and_served(cal) -> None:
    cal.fit(SCORES, LABELS)
    half = 0.5 / (len(SCORES) + 1)
    assert cal.model_.clip == half
    low, inside, middle, high = cal.predict([0.0, half, 0.5, 1.0])
    assert 0.0 < low == inside < middle < high < 1.0
    assert cal.predict([half / 2, 1.0 - half / 2]).tolist() == [low, high]
    assert cal.predict_one(0.0) == low


@every
def test_the_clip_is_in_the_file(cal, tmp_path) -> None:
    model = cal.fit(SCORES, LABELS).model_
    model.save(tmp_path / "map.fbm")
    loaded = fb.load(tmp_path / "map.fbm")
    assert (loaded.clip, loaded.map) == (model.clip, model.map)
    assert loaded == model
    assert loaded.predict(SCORES).tobytes() == model.predict(SCORES).tobytes()


@every
def test_clipped_scores_are_as_good_as_moved_ones(cal) -> None:
    """The user who moves scores inside before fit and predict, as 0.1.0 asked, gets the same."""
    half = 0.5 / (len(SCORES) + 1)
    moved = np.clip(SCORES, half, 1.0 - half)
    expected = type(cal)(**cal.get_params()).fit(moved, LABELS).predict(moved)
    assert np.allclose(cal.fit(SCORES, LABELS).predict(SCORES), expected, rtol=1e-9, atol=0.0)


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
    weights = np.arange(len(SCORES)) % 3
    frequencies = fb.BetaScaling().fit(SCORES, LABELS, sample_weight=weights).model_
    repeated = fb.BetaScaling().fit(np.repeat(SCORES, weights), np.repeat(LABELS, weights)).model_
    assert frequencies == repeated
    assert frequencies.clip == 0.5 / (weights.sum() + 1)
    assert fb.BetaScaling().fit(SCORES, LABELS, sample_weight=weights / 2).model_.clip == 0.5 / (len(SCORES) + 1)


def test_the_score_itself_is_not_clipped() -> None:
    assert fb.PlattScaling().fit(SCORES, LABELS).model_.clip == 0.0
    refused = fb.PlattScaling(ends="refuse").fit(SCORES, LABELS).model_
    assert bare(refused) == bare(fb.PlattScaling().fit(SCORES, LABELS).model_)


@every
def test_bins_behind_a_clipped_map_record_the_clip(cal) -> None:
    fitted = type(cal)(**cal.get_params()).fit(SCORES, LABELS)
    for behind in (
        fb.ScalingBinning(4, scaler=fitted, ties="random").fit(SCORES, LABELS).model_,
        fb.FixedWidthBinning(4, scaler=fitted).fit(SCORES, LABELS).model_,
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
    cells = FineCells(scores, np.ones(400, np.int64), labels)
    options = {"values": word, "recentre": "none", "monotone": False}
    steps = value_steps(cells, np.array([0]), np.array([400]), np.array([labels.sum()]), 400, **options)
    fitted = method().fit(scores, labels)
    assert fitted.model_.map[0] == word
    assert np.allclose(np.clip(fitted.predict(scores), 0.5 / 401, 1 - 0.5 / 401), steps, rtol=1e-9, atol=0.0)


def test_the_quadratic_solves_its_equations() -> None:
    """At the minimum the mean of off times each power is that of the ridge's pull."""
    fitted = fb.QuadraticScaling().fit(SCORES, LABELS)
    half = fitted.model_.clip
    inside = np.clip(SCORES, half, 1 - half)
    z = np.log(inside) - np.log(1 - inside)
    off = LABELS - fitted.predict(SCORES)
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
    one = method().fit(SCORES, np.full(len(SCORES), label)).predict([0.0, 0.5, 1.0])
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
    monkeypatch.setattr("fastbin.scaling.likelihood.MOST_STEPS", 1)
    with pytest.warns(fb.FastbinWarning, match="did not converge"):
        fitted = method().fit(SCORES, 1 - LABELS)
    served, half = fitted.predict(SCORES), fitted.model_.clip
    before, after = (np.clip(np.where(LABELS == 1, 1 - p, p), half, 1.0) for p in (SCORES, served))
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
        assert fb.ScalingBinning(4, scaler=model, ties="random").fit(SCORES, LABELS).scaler_ == model
    else:
        with pytest.raises(fb.InputError, match="does not increase"):
            require_increasing(model)
