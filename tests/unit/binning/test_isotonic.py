"""Values that rise: isotonic calibration, and values made non-decreasing with the certificate that says what that costs."""

from __future__ import annotations

import re

import numpy as np
import pytest

import fastbin as fb
import oracle
from fastbin._core.fit import pool_counts
from fastbin.binning.isotonic import monotone_model
from fitting import bare
from oracle import Case, close, number


@oracle.cases("isotonic")
def test_exact_cases(case: Case) -> None:
    given, expected = case.inputs, case.expected
    weights = None if given["weights"] is None else np.array(given["weights"])
    cal = fb.IsotonicCalibration().fit(given["scores"], given["labels"], sample_weight=weights)
    assert close(cal.predict(expected["knots"]).tolist(), expected["values"], case.tolerance)
    assert close(cal.predict(given["queries"]).tolist(), expected["query_values"], case.tolerance)
    lines = fb.IsotonicCalibration(interpolate=True).fit(given["scores"], given["labels"], sample_weight=weights)
    assert close(lines.predict(expected["knots"]).tolist(), expected["values"], case.tolerance)


def test_one_bin_per_block_with_its_tally() -> None:
    cal = fb.IsotonicCalibration().fit([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0, 1, 0, 0, 1, 1])
    model = cal.model_
    assert (model.kind, model.scheme, model.ties) == ("step", "isotonic", "none")
    assert model.edges.tolist() == [0.2, 0.5]
    assert (model.edge_keys == 0).all()
    assert model.counts.tolist() == [1, 3, 2]
    assert model.label_sums.tolist() == [0, 1, 2]
    assert cal.predict([0.0, 0.2, np.nextafter(0.5, 0.0), 0.5, 1.0]).tolist() == [0.0, 1 / 3, 1 / 3, 1.0, 1.0]
    assert cal.predict_one(0.45) == 1 / 3


def test_interpolation() -> None:
    cal = fb.IsotonicCalibration(interpolate=True).fit([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0, 1, 0, 0, 1, 1])
    model = cal.model_
    assert (model.kind, model.n_samples, model.n_positive) == ("linear", 6, 3)
    # Knots inside a block change nothing.
    assert model.edges.tolist() == [0.1, 0.2, 0.4, 0.5, 0.6]
    assert close(cal.predict([0.0, 0.15, 0.3, 0.45, 0.9]).tolist(), [0.0, 1 / 6, 1 / 3, 2 / 3, 1.0], 1e-15)


@pytest.mark.parametrize("interpolate", [False, True])
def test_no_certificate(interpolate: bool) -> None:
    cal = fb.IsotonicCalibration(interpolate=interpolate).fit([0.1, 0.2, 0.3], [0, 1, 1])
    for ask in (cal.certificate, lambda: cal.predict_interval([0.5])):
        with pytest.raises(fb.GuaranteeError, match=r"isotonic regression has no certificate.*Theorem 4"):
            ask()


@pytest.mark.parametrize("interpolate", [False, True])
def test_files(interpolate: bool, tmp_path) -> None:
    rng = np.random.default_rng(1)
    scores = rng.random(500)
    cal = fb.IsotonicCalibration(interpolate=interpolate).fit(scores, rng.random(500) < scores)
    cal.model_.save(tmp_path / "isotonic.fbm")
    loaded = fb.load(tmp_path / "isotonic.fbm")
    assert loaded == cal.model_
    assert loaded.predict(scores).tolist() == cal.predict(scores).tolist()
    assert (np.diff(loaded.predict(np.sort(scores))) >= 0).all()


def test_means_are_compared_exactly() -> None:
    """Means that agree to 15 digits and differ are two blocks; equal ones are one."""
    large = 2**51
    counts = np.array([large, large + 1, 1])
    cal = fb.IsotonicCalibration(score_range=None).fit(
        [0, 0, 1, 1, 2], [1, 0, 1, 0, 1], sample_weight=np.array([large // 2, large // 2, large // 2 + 1, large // 2, 0])
    )
    assert cal.model_.counts.tolist() == counts[:2].tolist()
    assert cal.model_.values.tolist() == [0.5, (large // 2 + 1) / (large + 1)]
    ones, samples = np.array([2**61 - 2, 2**61 - 1]), np.array([2**61 - 1, 2**61])
    filled = np.empty((3, 2), np.int64)
    assert pool_counts(samples, ones, *filled) == 2
    assert pool_counts(samples[::-1].copy(), ones[::-1].copy(), *filled) == 1
    samples, ones = np.array([7 * 2**29, 3 * 2**30]), np.array([3 * 2**30, 2**31])  # products of more than 63 bits
    assert pool_counts(samples, ones, *filled) == 1
    samples, ones = np.array([8_589_934_593, 4_294_967_303]), np.array([3_294_916_953, 2_988_579_416])  # of four halves each
    assert pool_counts(samples, ones, *filled) == 2
    equal = fb.IsotonicCalibration().fit([0.1, 0.2, 0.3, 0.3], [0, 1, 0, 1], sample_weight=[3, 3, 7, 7])
    assert equal.model_.n_bins == 2


def test_weights_of_zero_make_no_knot() -> None:
    cal = fb.IsotonicCalibration().fit([0.1, 0.2, 0.3], [0, 1, 1], sample_weight=[1.0, 0.0, 2.0])
    assert cal.model_.edges.tolist() == [0.3]
    assert cal.model_.counts.tolist() == [2, 1]
    assert cal.model_.weight_sums.tolist() == [1.0, 2.0]
    for weight in ([0, 0, 0], [0.0, 0.0, 0.0]):
        with pytest.raises(fb.InputError, match="sample_weight is 0 for every row"):
            fb.IsotonicCalibration().fit([0.1, 0.2, 0.3], [0, 1, 1], sample_weight=weight)


@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        ([], [], "scores is empty"),
        ([0.1, np.nan], [0, 1], "scores[1] is NaN"),
        ([0.1, 1.5], [0, 1], "scores[1] is 1.5, outside [0, 1]"),
        ([0.1, 0.2], [0, -1], "labels[1] is -1"),
        ([0.1, 0.2], [0], "lengths differ"),
    ],
)
def test_refused(scores, labels, message: str) -> None:
    with pytest.raises(fb.InputError, match=re.escape(message)):
        fb.IsotonicCalibration().fit(scores, labels)


# ------------------------------------------------------------------------------------------------- values made monotone


def step(values: list[float], counts: list[int], **parts) -> fb.BinnedModel:
    n_bins = len(values)
    label_sums = [round(value * count) for value, count in zip(values, counts, strict=True)]
    return fb.BinnedModel.from_parts(
        edges=np.arange(1, n_bins) / n_bins, values=values, counts=counts, label_sums=label_sums, scheme="fixed-width", **parts
    )


@oracle.cases("linf_isotonic")
def test_exact_cases_made_monotone(case: Case) -> None:
    values = [float(number(value)) for value in case.inputs["values"]]
    assert close(monotone_model(step(values, [10] * len(values))).values.tolist(), case.expected["values"], case.tolerance)


def test_bins_without_samples_stand_between_their_neighbours() -> None:
    # The first and the last empty bin have one neighbour each; 0.5, their value before, would have moved the others.
    model = step([0.5, 0.1, 0.5, 0.5, 0.3, 0.2, 0.5], [0, 10, 0, 0, 10, 10, 0])
    assert np.allclose(monotone_model(model).values, [0.1, 0.1, 0.175, 0.175, 0.25, 0.25, 0.25], rtol=0, atol=1e-16)
    nothing = step([0.5, 0.5], [0, 0])
    assert monotone_model(nothing).values.tolist() == [0.5, 0.5]


def test_what_else_the_model_says_stays() -> None:
    scores, labels = [0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.7, 0.8], [1, 1, 0, 1, 0, 1, 0, 1]
    model = fb.UniformMassBinning(3, ties="random", seed=11).fit(scores, labels).model_
    risen = monotone_model(model)
    facts = (
        "scheme",
        "ties",
        "n_bins_asked",
        "n_samples",
        "n_positive",
        "n_tied",
        "odds_ratio",
        "seed",
        "score_range",
        "note",
        "map",
    )
    for name in facts:
        assert getattr(risen, name) == getattr(model, name), name
    assert (risen.edge_keys == model.edge_keys).all()
    assert bare(monotone_model(risen)) == bare(risen)


def test_the_certificate_is_about_the_values_as_they_are() -> None:
    rng = np.random.default_rng(4)
    scores = rng.random(5000)
    rising = rng.random(5000) < scores
    plain, risen = (fb.FixedWidthBinning(10, monotone=monotone).fit(scores, rising) for monotone in (False, True))
    moved = np.abs(risen.model_.values - plain.model_.values).max()
    assert plain.certificate().epsilon <= risen.certificate().epsilon <= plain.certificate().epsilon + moved
    # The truth falls: the values are far from it, and the certificate says so.
    falling = rng.random(5000) < 1.0 - scores
    plain, risen = (fb.FixedWidthBinning(10, monotone=monotone).fit(scores, falling) for monotone in (False, True))
    assert plain.certificate().epsilon < 0.1
    assert risen.certificate().epsilon > 0.4
    with pytest.raises(fb.GuaranteeError, match="not its mean"):
        risen.certificate(bound="a-priori")


def test_explicit_edges_too() -> None:
    cal = fb.ExplicitBinning([0.25, 0.5], monotone=True).fit([0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9], [0, 1, 1, 1, 0, 1, 1, 1])
    assert cal.predict([0.0, 0.3, 1.0]).tolist() == [0.5, 0.875, 0.875]


def test_models_that_cannot_rise_are_refused() -> None:
    scores, labels = [0.1, 0.2, 0.6, 0.7, 0.9], [0, 1, 0, 0, 1]
    with pytest.raises(fb.InputError, match="kind 'smooth', without bins"):
        monotone_model(fb.PlattScaling().fit(scores, labels).model_)
    with pytest.raises(fb.InputError, match="randomised values do not rise"):
        monotone_model(fb.UniformMassBinning(2, delta=0.1).fit(scores, labels).model_)


def test_steps_of_two_resolutions_rise() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(2000)
    labels = rng.random(2000) < 0.5 + 0.4 * np.sin(9.0 * scores)
    model = fb.CertifiedCalibration(5, values="isotonic", recentre="full", monotone=False).fit(scores, labels).model_
    assert model.falls.size
    risen = fb.monotone_model(model)
    assert risen.falls.size == 0
    np.testing.assert_array_equal(
        risen.values, (np.maximum.accumulate(model.values) + np.minimum.accumulate(model.values[::-1])[::-1]) / 2.0
    )
    for name in ("counts", "label_sums", "step_counts", "first_step", "edges"):
        np.testing.assert_array_equal(getattr(risen, name), getattr(model, name))
    np.testing.assert_array_equal(risen.interval(), model.interval())
    assert fb.BinnedModel.from_bytes(risen.to_bytes()) == risen
    assert risen.certificate().n_steps == model.n_steps


def test_steps_that_rise_already_keep_their_values_where_no_sample_is() -> None:
    scores = np.random.default_rng(0).random(60)
    model = fb.CertifiedCalibration().fit(scores, scores > np.random.default_rng(1).random(60)).model_
    assert not model.falls.size
    assert not model.step_counts.all()
    assert fb.monotone_model(model).same_map(model)
