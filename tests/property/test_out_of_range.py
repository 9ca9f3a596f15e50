"""Models that clip: scoring with the policy is clamping by hand, then scoring without it; the reference says the same."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wordings import refuses

import fastbin as fb
import reference
import strategies
from fastbin.assess import check_certificate
from fitting import FEWER_BINS, as_loaded, bare
from reference.step_model import clamped
from strategies import examples

CALIBRATORS = {
    "umd": lambda **given: fb.UniformMassBinning(3, **given),
    "umd, randomised": lambda **given: fb.UniformMassBinning(3, delta=0.25, **given),
    "umd, random": lambda **given: fb.UniformMassBinning(3, ties="random", **given),
    "umd, monotone": lambda **given: fb.UniformMassBinning(3, monotone=True, **given),
    "ze, upper": lambda **given: fb.UniformMassBinning(3, scheme="ze", ties="upper", **given),
    "ums": lambda **given: fb.UniformMassBinning(3, scheme="ums", **given),
    "umb": lambda **given: fb.UniformMassBinning(3, scheme="umb", **given),
    "fixed width": lambda **given: fb.FixedWidthBinning(5, **given),
    "explicit": lambda **given: fb.ExplicitBinning([0.25, 0.5], **given),
    "scaling-binning": lambda **given: fb.ScalingBinning(3, scaler="none", **given),
    "isotonic": lambda **given: fb.IsotonicCalibration(**given),
    "Venn-Abers": lambda **given: fb.VennAbers(**given),
    "interpolated": lambda **given: fb.IsotonicCalibration(interpolate=True, **given),
}

HARD = [-1.7e308, -3.0, -1e-300, -5e-324, -0.0, 0.0, 5e-324, 0.25, 0.5, 1.0, math.nextafter(1.0, 2.0), 7.5, 1.7e308]
queries = st.lists(st.one_of(st.sampled_from(HARD), st.floats(allow_nan=False, allow_infinity=False)), min_size=1, max_size=30)


@pytest.mark.sampled
@pytest.mark.filterwarnings("ignore::fastbin.FastbinWarning")
@pytest.mark.parametrize("name", CALIBRATORS)
@settings(max_examples=examples(30), deadline=None)
@given(data=st.data())
def test_clipping_is_clamping_by_hand(name: str, data: st.DataObject) -> None:
    drawn = data.draw(strategies.calibration_data())
    rows = {"scores": np.array([*drawn.scores, *np.linspace(0, 1, 8)]), "labels": np.array([*drawn.labels, *[0, 1] * 4])}
    refusing, clipping = CALIBRATORS[name]().fit(**rows).model_, CALIBRATORS[name](out_of_range="clip").fit(**rows).model_
    assert (refusing.out_of_range, clipping.out_of_range) == ("refuse", "clip")
    assert bare(clipping) == bare(refusing.with_out_of_range("clip"))  # their provenance says how each came about
    assert bare(clipping.with_out_of_range("refuse")) == bare(refusing)
    scores, seed = np.array(data.draw(queries)), data.draw(strategies.seeds)
    keys = np.random.default_rng(seed).integers(0, 2**64 - 1, len(scores), np.uint64)
    by_hand = np.clip(scores, 0.0, 1.0)
    again = fb.BinnedModel.from_bytes(clipping.to_bytes())
    for model in (clipping, again):
        assert model.predict(scores, seed=seed).tolist() == refusing.predict(by_hand, seed=seed).tolist()
        assert model.predict(scores, tie_keys=keys).tolist() == refusing.predict(by_hand, tie_keys=keys).tolist()
        assert [model.predict_one(float(s), int(k)) for s, k in zip(scores, keys, strict=True)] == [
            refusing.predict_one(float(s), int(k)) for s, k in zip(by_hand, keys, strict=True)
        ]
        if model.pairs is not None:
            assert fb.predict_venn(model, scores).tolist() == fb.predict_venn(refusing, by_hand).tolist()
        if model.kind == "step":
            assert model.assign(scores, tie_keys=keys).tolist() == refusing.assign(by_hand, tie_keys=keys).tolist()
    outside = np.flatnonzero(scores != by_hand)
    if len(outside):
        refuses(f"InputError scores[{outside[0]}]", refusing.predict, scores, seed=seed)
    for bad in (math.inf, -math.inf, math.nan):
        refuses("InputError scores[1]", clipping.predict, [0.5, bad], seed=seed)


@pytest.mark.filterwarnings(FEWER_BINS)
@settings(max_examples=examples(100), deadline=None)
@given(data=st.data(), scores=queries, seed=strategies.seeds, ties=st.sampled_from(["whole", "random", "isolate"]))
def test_clipping_is_the_reference(data: st.DataObject, scores: list[float], seed: int, ties: str) -> None:
    drawn = data.draw(strategies.calibration_data())
    rows = [*drawn.scores, *np.linspace(0, 1, 8).tolist()], [*drawn.labels, *[0, 1] * 4]
    expected = reference.uniform_mass(*rows, n_bins=3, ties=ties, seed=1)
    if ties == "isolate":
        model = as_loaded(expected, "umd", seed=1).with_out_of_range("clip")
    else:
        model = fb.UniformMassBinning(3, ties=ties, seed=1, out_of_range="clip").fit(*rows).model_
    expected.out_of_range = "clip"
    assert model.predict(scores, seed=seed).tolist() == expected.predict(scores, seed=seed)
    assert model.assign(scores, seed=seed).tolist() == expected.assign(scores, seed=seed)
    for score in (math.inf, -math.inf, math.nan):
        with pytest.raises(ValueError, match="outside"):
            expected.predict_one(score, 0)


def test_the_reference_clamps_as_one_would_by_hand() -> None:
    assert [clamped(score, -1.0, 2.0) for score in (-1.5, -1.0, 0.0, 2.0, 1e308)] == [-1.0, -1.0, 0.0, 2.0, 2.0]


@pytest.mark.parametrize("name", CALIBRATORS)
def test_the_policy_is_a_parameter_like_others(name: str) -> None:
    made = CALIBRATORS[name](out_of_range="clip")
    assert made.get_params()["out_of_range"] == "clip"
    assert "out_of_range='clip'" in repr(made) or name == "explicit"
    assert CALIBRATORS[name]().get_params()["out_of_range"] == "refuse"
    labels = np.arange(40) % 2
    refuses("InputError scores[39]", made.fit, np.append(np.linspace(0, 1, 39), 1.5), labels)
    refuses("InputError out_of_range", made.set_params(out_of_range="clamp").fit, np.linspace(0, 1, 40), labels)


def test_a_fit_of_chunks_keeps_it() -> None:
    scores, labels = np.linspace(0, 1, 100), np.arange(100) % 2
    expected = fb.UniformMassBinning(4, out_of_range="clip").fit(scores, labels).model_
    assert fb.UniformMassBinning(4, out_of_range="clip").fit_batches([(scores, labels)]).model_ == expected


def clipping_model() -> tuple[fb.BinnedModel, Any, Any]:
    scores = np.linspace(0.0, 1.0, 400)
    labels = np.random.default_rng(3).random(400) < 0.2 + 0.6 * scores
    return fb.UniformMassBinning(4, out_of_range="clip").fit(scores, labels).model_, scores, labels


def test_a_check_takes_what_the_model_takes() -> None:
    model, scores, labels = clipping_model()
    rng = np.random.default_rng(0)
    beyond, seen = rng.normal(0.5, 1.0, 3000), rng.random(3000) < 0.3
    assert str(check_certificate(model, beyond, seen)) == str(check_certificate(model, np.clip(beyond, 0.0, 1.0), seen))
    assert check_certificate(model, scores, labels).is_calibration_set


def test_a_shift_takes_what_the_model_takes() -> None:
    model, _, labels = clipping_model()
    beyond = np.linspace(-1.0, 2.0, 400)
    moved = fb.shift.LabelShift(model, method="likelihood", n_bootstrap=20)
    found = [moved.fit(scores=given).model_ for given in (beyond, np.clip(beyond, 0.0, 1.0))]
    assert found[0] == found[1]
    assert found[0].out_of_range == "clip"
    assert fb.shift.LabelShift(model).fit(beyond, labels).model_.out_of_range == "clip"


def test_what_goes_on_from_a_model_takes_what_it_takes() -> None:
    model, _, _ = clipping_model()
    rng = np.random.default_rng(1)
    beyond, seen = rng.normal(0.5, 1.0, 500), rng.random(500) < 0.3
    monitors = [fb.online.CalibrationMonitor(model) for _ in range(2)]
    monitors[0].update(beyond, seen)
    monitors[1].update(np.clip(beyond, 0.0, 1.0), seen)
    assert str(monitors[0].report()) == str(monitors[1].report())


def test_a_page_counts_clipped_rows_in() -> None:
    model, _, _ = clipping_model()
    rng = np.random.default_rng(2)
    beyond, seen = rng.normal(0.5, 1.0, 500), rng.random(500) < 0.3
    assert fb.report.assess_model(model, beyond, seen).left_out.total == 0
    outside = int(((beyond < 0) | (beyond > 1)).sum())
    assert fb.report.assess_model(model.with_out_of_range("refuse"), beyond, seen).left_out.outside == outside > 0
