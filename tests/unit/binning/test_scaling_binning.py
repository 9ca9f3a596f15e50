"""Scaling-binning: exact cases, where its map comes from, and what may be promised of it."""

from __future__ import annotations

import re

import numpy as np
import pytest

import fastbin as fb
import oracle
import reference
from fitting import bare
from oracle import Case, close


@pytest.fixture
def samples() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    scores = rng.random(2000)
    return scores, rng.random(2000) < scores**2


@oracle.cases("scaling_binning_dd")
def test_double_dipped(case: Case) -> None:
    scores, n_bins = case.inputs["scores"], case.inputs["B"]
    model = fb.ScalingBinning(n_bins, scaler="none").fit(scores, [0] * len(scores)).model_
    assert close(model.values.tolist(), case.expected["means"], case.tolerance)
    assert model.map == ("none", (0.0,) * 4)


@oracle.cases("scaling_binning_split")
def test_split(case: Case) -> None:
    """The case gives the parts; a seed that divides the samples so is not to be had, so the division is the model's own."""
    scores = [*case.inputs["g2"], *case.inputs["g3"]]
    model = fb.ScalingBinning(case.inputs["B"], scaler="none", scheme="split", split=(1, 9, 8)).fit(scores, [0] * 17).model_
    samples = reference.samples.in_fit_order(scores, [0] * 17, 0)
    by_key = [sample.score for sample in sorted(samples, key=lambda sample: sample.split_key)]
    edges, counts, means = reference.scaling_binning_split(by_key[:9], by_key[9:], case.inputs["B"])
    assert model.edges.tolist() == edges
    assert model.counts.tolist() == counts
    assert model.values.tolist() == [float(mean) for mean in means]


@pytest.mark.parametrize("scheme", ["double-dipped", "split"])
@pytest.mark.parametrize(
    ("word", "scaler"), [("platt", fb.PlattScaling()), ("temperature", fb.TemperatureScaling()), ("beta", fb.BetaScaling())]
)
def test_a_word_is_a_scaler_with_its_defaults(scheme: str, word: str, scaler, samples) -> None:
    model = fb.ScalingBinning(scaler=word, scheme=scheme).fit(*samples).model_
    assert bare(fb.ScalingBinning(scaler=scaler, scheme=scheme).fit(*samples).model_) == bare(model)
    assert not hasattr(scaler, "model_")  # the caller's object is left alone


def test_a_refused_fit_leaves_the_map_of_the_model(samples) -> None:
    cal = fb.ScalingBinning().fit(*samples)
    before = cal.scaler_
    with pytest.raises(fb.InputError, match="out_of_range is 'drop'"):
        cal.set_params(out_of_range="drop").fit(samples[0][:500], samples[1][:500])
    assert cal.scaler_ is before


def test_the_map_is_fitted_where_the_scheme_says(samples) -> None:
    scores, labels = samples
    dipped = fb.ScalingBinning(scaler="beta").fit(scores, labels)
    assert dipped.scaler_ == fb.BetaScaling().fit(scores, labels).model_
    assert dipped.model_.map == dipped.scaler_.map
    parts = fb.ScalingBinning(scaler="beta", scheme="split", split=(2, 1, 1)).fit(scores, labels)
    assert parts.scaler_.n_samples == 1000
    assert parts.model_.counts.sum() == 500
    assert parts.model_.n_samples == 2000
    given = fb.ScalingBinning(scaler=fb.BetaScaling().fit(scores[:100], labels[:100]), scheme="split", split=(2, 1, 1))
    assert given.fit(scores, labels).model_.counts.sum() == 1000
    assert given.scaler_.n_samples == 100
    assert fb.ScalingBinning(scaler="none").fit(scores, labels).scaler_ is None


def test_a_model_may_be_the_scaler(samples) -> None:
    scores, labels = samples
    scaler = fb.PlattScaling().fit(scores[:500], labels[:500])
    model = fb.ScalingBinning(scaler=scaler.model_).fit(scores, labels).model_
    assert bare(model) == bare(fb.ScalingBinning(scaler=scaler).fit(scores, labels).model_)


def test_values_are_means_of_scaled_scores(samples) -> None:
    scores, labels = samples
    cal = fb.ScalingBinning(5).fit(scores, labels)
    bins = cal.model_.assign(scores)
    kept = ~np.isin(scores, cal.model_.edges)
    scaled = cal.scaler_.predict(scores)
    for b in range(5):
        assert np.isclose(cal.model_.values[b], scaled[kept & (bins == b)].mean(), rtol=1e-12)
    assert (np.diff(cal.model_.values) > 0).all()


def test_margins() -> None:
    rng = np.random.default_rng(9)
    margins = rng.normal(0, 4, 3000)
    labels = rng.random(3000) < 1 / (1 + np.exp(-margins))
    cal = fb.ScalingBinning(8, score_range=None).fit(margins, labels)
    assert cal.model_.score_range is None
    assert (np.abs(cal.predict(margins) - 1 / (1 + np.exp(-margins))) < 0.25).all()
    with pytest.raises(fb.InputError, match="scaler='none' averages scores, which must be probabilities"):
        fb.ScalingBinning(8, scaler="none", score_range=None).fit(margins, labels)
    with pytest.raises(fb.InputError, match=r"scores\[\d+\] is .*, outside"):
        fb.ScalingBinning(8, scaler="beta", score_range=None).fit(margins, labels)


def test_files(samples, tmp_path) -> None:
    cal = fb.ScalingBinning(scaler="beta").fit(*samples)
    cal.model_.save(tmp_path / "scaling.fbm")
    loaded = fb.load(tmp_path / "scaling.fbm")
    assert loaded == cal.model_
    assert loaded.map[0] == "beta"
    assert loaded.scheme == "scaling-binning"


# ------------------------------------------------------------------------------------------------- guarantees


def test_certificates_about_means_of_labels_are_refused(samples) -> None:
    cal = fb.ScalingBinning(5).fit(*samples)
    assert 0.0 < cal.certificate().epsilon < 0.2
    for bound in ("a-priori", "hoeffding"):
        with pytest.raises(fb.GuaranteeError, match="not its mean"):
            cal.certificate(bound=bound)


@pytest.mark.filterwarnings("ignore:ties='whole' left:fastbin.FastbinWarning")
@pytest.mark.parametrize("ties", ["random", "whole"])
@pytest.mark.parametrize("n_bins", [1, 5, 100])
def test_the_certificate_rests_on_what_placed_the_boundaries(samples, n_bins: int, ties: str) -> None:
    """The averaged samples themselves, or a part of its own, however small."""
    scores, labels = samples
    dipped = fb.ScalingBinning(n_bins, scaler="none", ties=ties)
    for data in ((scores, labels), (np.round(scores, 2), labels)):
        assert "Gupta & Ramdas 2021, Lemma 2" in dipped.fit(*data).certificate().theorem
    split = fb.ScalingBinning(n_bins, scaler="none", scheme="split", split=(1, n_bins, 2000 - n_bins))
    for data in ((scores, labels), (np.round(scores, 2), labels)):
        assert split.fit(*data).model_.counts.sum() == 2000 - n_bins
        assert "Gupta, Podkopaev & Ramdas 2020, section 4.1" in split.certificate().theorem


def test_tied_scores_sent_to_one_side_have_no_certificate() -> None:
    scores, labels = np.repeat([0.2, 0.5, 0.9], 10), np.tile([0, 1, 1, 0, 1], 6)
    assert fb.ScalingBinning(4, scaler="none", ties="random").fit(scores, labels).certificate().epsilon < 1
    with pytest.raises(fb.GuaranteeError, match="ties='upper' sends them all to one side"):
        fb.ScalingBinning(4, scaler="none", ties="upper").fit(scores, labels).certificate()
    # Where the edges come from a part of their own, the others were not tied to them.
    told = "no score at an edge has a positive probability of its own; no two samples share one there"
    split = fb.ScalingBinning(2, scaler="none", scheme="split", ties="upper").fit(scores, labels)
    assert split.model_.n_tied > 0
    assert told not in split.certificate().assumptions
    assert told in fb.ScalingBinning(2, scaler="none").fit(np.arange(30) / 29, labels).certificate().assumptions


def test_intervals_between_whole_groups_are_those_of_the_bins(samples) -> None:
    """They rest on all labels of a bin, whatever is averaged there."""
    scores, labels = np.round(samples[0], 2), samples[1]
    cal, bins = fb.ScalingBinning(6).fit(scores, labels), fb.UniformMassBinning(6).fit(scores, labels)
    assert cal.model_.ties == bins.model_.ties == "whole"
    assert (cal.model_.tie_counts[1:, 0] > 1).all()
    assert cal.model_.counts.sum() == 2000
    assert cal.model_.interval().tolist() == bins.model_.interval().tolist()
    far = np.abs(cal.model_.interval() - cal.model_.values[:, None]).max()
    assert cal.certificate().epsilon == pytest.approx(far, abs=1e-15)


# ------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_bins": 0}, fb.InputError, "n_bins is 0"),
        (
            {"n_bins": 6},
            fb.InputError,
            "10 samples are too few for n_bins=6 under scheme 'double-dipped', which needs at least 11",
        ),
        ({"scheme": "triple"}, fb.InputError, "scheme is 'triple'; choose one of 'double-dipped', 'split'"),
        ({"ties": "lower"}, fb.InputError, "ties is 'lower'; choose one of 'whole', 'random', 'upper'"),
        ({"ties": "isolate", "scheme": "split"}, fb.InputError, "ties is 'isolate'; choose one of 'whole', 'random', 'upper'"),
        ({"scaler": "logistic"}, fb.InputError, "scaler is 'logistic'; choose one of 'platt', 'temperature', 'beta', 'none'"),
        ({"scaler": 3, "n_bins": 3}, fb.InputTypeError, "scaler must be a fitted PlattScaling"),
        ({"scaler": fb.UniformMassBinning(), "n_bins": 3}, fb.InputTypeError, "scaler must be PlattScaling, Temperature"),
        ({"scheme": "split", "split": (1, 2)}, fb.InputError, "split is (1, 2); it must be three positive numbers"),
        ({"scheme": "split", "split": (1, 0, 1)}, fb.InputError, "it must be three positive numbers"),
        ({"scheme": "split", "split": 0.5}, fb.InputTypeError, "split must be three numbers"),
        ({"scheme": "split", "split": (1, 1, 1), "n_bins": 4}, fb.InputError, "10 samples, split (1, 1, 1), leave 3 to place"),
        ({"scaler": fb.PlattScaling(score_range=None), "n_bins": 3}, fb.InputError, "the scaler takes scores in None"),
    ],
)
def test_configurations_refused(parameters: dict, error: type, message: str) -> None:
    scores, labels = np.arange(10) / 10, [0, 1, 0, 0, 1, 1, 0, 1, 1, 1]
    with pytest.raises(error, match=re.escape(message)):
        fb.ScalingBinning(**parameters).fit(scores, labels)


@pytest.mark.parametrize("scheme", ["double-dipped", "split"])
def test_keys_that_leave_no_order_are_refused(scheme: str) -> None:
    scores, labels = np.full(12, 0.5), np.tile([0, 1], 6)
    cal = fb.ScalingBinning(3, scaler="none", scheme=scheme, ties="random")
    with pytest.raises(fb.InputError, match=r"tie_keys holds 7 more than once among rows with the score 0\.5"):
        cal.fit(scores, labels, tie_keys=np.full(12, 7))
    with pytest.raises(fb.InputError, match="keys gives one key per row, but sample_weight repeats rows"):
        cal.fit(scores, labels, np.full(12, 2), np.arange(12))
    model = cal.fit(scores, labels, np.full(12, 2.5), np.arange(12)).model_
    assert set(model.edge_keys.tolist()) <= set(range(12))


def test_a_map_that_falls_is_refused(samples) -> None:
    scores, labels = samples
    with pytest.raises(fb.InputError, match="the map of scheme 'platt' does not increase"):
        fb.ScalingBinning().fit(scores, ~labels)
