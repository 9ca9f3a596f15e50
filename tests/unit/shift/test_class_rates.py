"""Class rates from scores without labels: exact intervals by fixed cuts, through fits, files and certificates."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from drawn import two_normals

import fastbin as fb
from fastbin import shift
from fastbin.guarantees.class_rates import Shares, n_cuts_of, rate_ends, shares_of
from fastbin.intervals import clopper_pearson
from fastbin.shift.label import CUTS
from reference import class_rates as twin

SOURCE, LABELS = two_normals(3000, 0.5, 0)
TARGET, _ = two_normals(2500, 0.12, 1)
MODEL = fb.UniformMassBinning(6).fit(SOURCE, LABELS).model_
ROWS = {"source_scores": SOURCE, "source_labels": LABELS}


def moved(calibrator: Any = None, **changes: Any) -> shift.LabelShift:
    model = MODEL if calibrator is None else calibrator.fit(SOURCE, LABELS)
    return shift.LabelShift(model, **{"method": "likelihood", "n_bootstrap": 5, **changes}).fit(TARGET, **ROWS)


# ------------------------------------------------------------------------------------------------- the interval


@pytest.mark.sampled
@pytest.mark.parametrize("alpha", [0.1, 1e-4])
@pytest.mark.parametrize(
    ("n", "rate", "n_target", "target"), [(400, 0.5, 300, 0.1), (2000, 0.2, 4000, 0.02), (60, 0.5, 30, 0.9)]
)
@pytest.mark.parametrize("cuts", [CUTS, (0.5,)])
def test_the_interval_is_that_of_a_scan(
    alpha: float, n: int, rate: float, n_target: int, target: float, cuts: tuple[float, ...]
) -> None:
    scores, labels = two_normals(n, rate, 2)
    shares = Shares.of_rows(np.array(cuts), scores, labels, two_normals(n_target, target, 3)[0])
    lower, upper = rate_ends(shares, alpha)
    kept = twin.kept_rates(shares.ones, shares.zeros, shares.target, alpha)
    assert kept.min() - 1 / 2000 <= lower <= kept.min()
    assert kept.max() <= upper <= kept.max() + 1 / 2000


def test_counts_above_cuts() -> None:
    shares = Shares.of_rows(np.array([0.2, 0.5]), np.array([0.1, 0.5, 0.7]), np.array([1, 0, 1]), np.array([0.2, 0.49, 0.5]))
    assert shares == ((0.2, 0.5), (1, 1, 2), (1, 1, 1), (3, 1, 3))


def test_nothing_is_known_without_samples_that_tell_labels_apart() -> None:
    assert rate_ends(Shares((0.5,), (50, 100), (50, 100), (500, 1000)), 0.1) == (0.0, 1.0)
    assert rate_ends(Shares((0.5,), (1, 1), (0, 1), (1, 2)), 0.1) == (0.0, 1.0)


def test_a_rate_of_nearly_all_or_nothing() -> None:
    lower, upper = rate_ends(Shares((0.5,), (1000, 1000), (0, 1000), (0, 1000)), 0.1)
    assert lower == 0.0
    assert upper < 0.02
    lower, upper = rate_ends(Shares((0.5,), (1000, 1000), (0, 1000), (1000, 1000)), 0.1)
    assert lower > 0.98
    assert upper == 1.0


def test_label_shift_is_refuted() -> None:
    wide, _ = two_normals(5000, 0.2, 5, width=1.7)
    shares = Shares.of_rows(np.array(CUTS), SOURCE, LABELS, wide)
    assert len(twin.kept_rates(shares.ones, shares.zeros, shares.target, 0.1)) == 0
    with pytest.raises(
        fb.GuaranteeError, match=r"label shift is refuted at level alpha=0\.1.*calibrate on labels of the target"
    ):
        rate_ends(shares, 0.1)
    with pytest.raises(fb.GuaranteeError, match="label shift is refuted"):
        shift.LabelShift(MODEL, method="likelihood").fit(wide, **ROWS)
    one = Shares.of_rows(np.array([0.5]), SOURCE, LABELS, wide)
    assert rate_ends(one, 0.1)[0] < rate_ends(one, 0.1)[1]  # a single cut can hardly be contradicted


# ------------------------------------------------------------------------------------------------- adapted models


@pytest.mark.parametrize("method", ["likelihood", "confusion"])
def test_the_rate_has_an_exact_interval(method: str) -> None:
    cal = moved(method=method)
    shares = Shares.of_rows(np.array(CUTS), SOURCE, LABELS, TARGET)
    assert (cal.rate_.lower, cal.rate_.upper) == rate_ends(shares, 0.1)
    assert cal.rate_.is_exact
    assert cal.cuts_ == CUTS
    assert cal.rate_.lower <= cal.rate_.rate <= cal.rate_.upper
    plain = shift.LabelShift(cal.source_model_, method=method, n_bootstrap=5).fit(TARGET)
    assert not plain.rate_.is_exact
    assert plain.cuts_ == ()
    assert cal.rate_.rate == np.clip(plain.rate_.rate, cal.rate_.lower, cal.rate_.upper)


@pytest.mark.parametrize(("side", "other"), [("both", "both"), ("upper", "lower"), ("lower", "upper")])
def test_the_intervals_of_bins(side: str, other: str) -> None:
    cal = moved()
    of_bins, of_source, of_target = twin.parts(0.1, [10 / 3000, 1 / 3000, 1 / len(TARGET) + 1 / 3000])
    lower, upper = rate_ends(Shares.of_rows(np.array(CUTS), SOURCE, LABELS, TARGET), of_target)
    (p_low, p_high), at_source = (
        clopper_pearson([int(LABELS.sum())], [3000], of_source, side=other)[0],
        cal.source_model_.interval(of_bins, side=side),
    )
    expected = [
        [
            0.0 if side == "upper" else twin.moved_odds(low, p_high, lower),
            1.0 if side == "lower" else twin.moved_odds(high, p_low, upper),
        ]
        for low, high in at_source
    ]
    np.testing.assert_allclose(cal.model_.interval(0.1, side=side), expected, rtol=1e-9)


def test_a_given_source_rate_takes_no_alpha() -> None:
    cal = moved(source_rate=0.5)
    of_bins, of_target = twin.parts(0.1, [10 / 3000, 1 / len(TARGET) + 1 / 3000])
    lower, upper = rate_ends(Shares.of_rows(np.array(CUTS), SOURCE, LABELS, TARGET), of_target)
    at_source = cal.source_model_.interval(of_bins)
    expected = [[twin.moved_odds(low, 0.5, lower), twin.moved_odds(high, 0.5, upper)] for low, high in at_source]
    np.testing.assert_allclose(cal.model_.interval(0.1), expected, rtol=1e-9)


@pytest.mark.parametrize("calibrator", [fb.UniformMassBinning(6), fb.CertifiedCalibration(n_bins=5)])
def test_the_file_carries_the_shares(calibrator: Any) -> None:
    cal = moved(calibrator)
    loaded = fb.BinnedModel.from_bytes(cal.model_.to_bytes())
    assert n_cuts_of(loaded) == 9
    assert loaded == cal.model_
    np.testing.assert_array_equal(loaded.interval(0.1), cal.interval(0.1))
    certificate = loaded.certificate(0.1)
    assert certificate.epsilon == cal.certificate(0.1).epsilon < 1.0
    assert "Theorem F23" in certificate.explain()
    assert "scores that were looked at" in certificate.explain()
    np.testing.assert_array_equal(
        loaded.predict_interval([0.4], alpha=0.1, at="bin"), loaded.interval(0.1)[loaded.assign([0.4])]
    )
    clipped = loaded.with_out_of_range("clip")
    np.testing.assert_array_equal(clipped.interval(0.1), loaded.interval(0.1))
    read = fb.BinnedModel.from_parts(**{**parts_of(loaded), "provenance": json.loads(json.dumps(loaded.provenance))})
    np.testing.assert_array_equal(read.interval(0.1), loaded.interval(0.1))


def parts_of(model: fb.BinnedModel) -> dict[str, Any]:
    from fastbin._core.fields import PARTS

    return {name: getattr(model, name) for name in PARTS}


def test_a_model_whose_provenance_is_not_known_keeps_them_too() -> None:
    bare = fb.BinnedModel.from_parts(**parts_of(MODEL))
    cal = shift.LabelShift(bare, method="likelihood", n_bootstrap=5).fit(TARGET, **ROWS)
    assert bare.provenance is None
    assert n_cuts_of(cal.model_) == 9


@pytest.mark.parametrize(
    "spoil",
    [
        lambda shares: shares.pop("ones"),
        lambda shares: shares["ones"].pop(),
        lambda shares: shares["target"].__setitem__(0, -1),
        lambda shares: shares["target"].__setitem__(-1, 2499),  # not the scores that the file says
        lambda shares: shares["zeros"].__setitem__(0, 10**6),
        lambda shares: shares["cuts"].__setitem__(0, "a"),
        lambda shares: shares["cuts"].__setitem__(0, True),
        lambda shares: shares.__setitem__("target", 3),
    ],
)
def test_shares_that_cannot_be_are_as_none(spoil: Any) -> None:
    model = moved().model_
    stated = json.loads(json.dumps(model.provenance))
    spoil(stated["made_by"][-1]["shares"])
    spoiled = fb.BinnedModel.from_parts(**{**parts_of(model), "provenance": stated})
    assert shares_of(spoiled) is None
    with pytest.raises(fb.GuaranteeError, match="estimated from 2500 scores without labels"):
        spoiled.interval(0.1)


# ------------------------------------------------------------------------------------------------- cuts at edges


def test_edges_that_other_samples_placed_are_cuts() -> None:
    model = fb.UniformMassBinning(6, scheme="ums").fit(SOURCE, LABELS).model_
    cal = shift.LabelShift(model, method="likelihood", n_bootstrap=5).fit(TARGET)
    target = np.bincount(model.assign(TARGET), minlength=6)
    above = [np.cumsum(part[::-1])[::-1].tolist() for part in (model.label_sums, model.counts - model.label_sums, target)]
    shares = Shares(tuple(model.edges), *((*part[1:], part[0]) for part in above))
    assert (cal.rate_.lower, cal.rate_.upper) == rate_ends(shares, 0.1)
    counted = shift.LabelShift(model, method="likelihood", n_bootstrap=5).fit_counts(target)
    assert counted.model_ == cal.model_
    assert cal.model_.interval(0.1).shape == (6, 2)


def test_nine_of_many_edges_are_cuts() -> None:
    model = fb.FixedWidthBinning(40, score_range=(0.0, 1.0)).fit(np.tile(SOURCE, 3), np.tile(LABELS, 3)).model_
    cal = shift.LabelShift(model, method="likelihood", n_bootstrap=5, smoothing="add-half").fit(TARGET)
    assert len(cal.cuts_) == 9
    assert set(cal.cuts_) <= set(model.edges.tolist())
    assert cal.rate_.is_exact


@pytest.mark.parametrize("calibrator", [fb.UniformMassBinning(6), fb.CertifiedCalibration(n_bins=5)])
def test_edges_at_samples_that_are_counted_are_not_cuts(calibrator: Any) -> None:
    cal = shift.LabelShift(calibrator.fit(SOURCE, LABELS), method="likelihood", n_bootstrap=5).fit(TARGET)
    assert not cal.rate_.is_exact
    with pytest.raises(fb.GuaranteeError, match=r"cuts that were fixed before .*source_scores="):
        cal.interval(0.1)


FIXED = {
    "edges": [0.3, 0.7], "values": [0.1, 0.5, 0.9], "counts": [100] * 3, "label_sums": [10, 50, 90], "scheme": "explicit",
    "n_samples": 300, "n_positive": 150,
}  # fmt: skip


@pytest.mark.parametrize(
    ("design", "are_cuts"),
    [({}, True), ({"n_samples": 302}, False), ({"population_counts": [200] * 3}, False)],
)
def test_edges_are_cuts_where_all_samples_are_counted_and_drawn_alike(design: dict[str, Any], are_cuts: bool) -> None:
    source = fb.BinnedModel.from_parts(**{**FIXED, **design})
    target = np.repeat([0.1, 0.5, 0.9], [60, 50, 40])
    cal = shift.LabelShift(source, method="likelihood", source_rate=0.5, n_bootstrap=5).fit(target)
    assert bool(cal.cuts_) == cal.rate_.is_exact == are_cuts


# ------------------------------------------------------------------------------------------------- what is refused

BAD: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "source_labels is None": ({}, {"source_scores": SOURCE}),
    "source_scores is None": ({}, {"source_labels": LABELS}),
    "source_scores is given, and method is 'labels'": ({"method": "labels"}, ROWS),
    r"source_scores\[0\] is 1.5": ({}, {"source_scores": [1.5], "source_labels": [0]}),
    r"source_labels\[1\]": ({}, {"source_scores": [0.5, 0.5], "source_labels": [0, 2]}),
    "length": ({}, {"source_scores": [0.5, 0.5], "source_labels": [0]}),
    "cuts is given without source rows": ({"cuts": [0.5]}, {}),
    "cuts is empty": ({"cuts": []}, ROWS),
    "cuts has 501 entries": ({"cuts": np.linspace(0.1, 0.9, 501)}, ROWS),
    r"cuts\[1\]": ({"cuts": [0.5, 0.2]}, ROWS),
}


@pytest.mark.parametrize("words", BAD)
def test_bad_arguments(words: str) -> None:
    given, rows = BAD[words]
    with pytest.raises((fb.InputError, fb.InputTypeError), match=words):
        shift.LabelShift(MODEL, **{"method": "likelihood", "n_bootstrap": 5, **given}).fit(TARGET, **rows)


def test_scores_that_are_not_probabilities_need_cuts() -> None:
    logits, target = (np.log(scores / (1 - scores)) for scores in (SOURCE, TARGET))
    model = fb.UniformMassBinning(6, score_range=None).fit(logits, LABELS).model_
    rows = {"source_scores": logits, "source_labels": LABELS}
    with pytest.raises(fb.InputError, match="cuts is None, and scores have the range None"):
        shift.LabelShift(model, method="likelihood", n_bootstrap=5).fit(target, **rows)
    cal = shift.LabelShift(model, method="likelihood", n_bootstrap=5, cuts=np.log([0.25, 1.0, 4.0])).fit(target, **rows)
    of_probabilities = moved(cuts=[0.2, 0.5, 0.8])
    assert (cal.rate_.lower, cal.rate_.upper) == (of_probabilities.rate_.lower, of_probabilities.rate_.upper)


def test_sets_certify_each_model_by_itself() -> None:
    one, other = moved().model_, moved(fb.UniformMassBinning(5)).model_
    with pytest.raises(fb.GuaranteeError):
        fb.ModelSet({"a": one, "b": other}).certificate(0.1)
