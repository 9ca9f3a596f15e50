"""`sampling_rate=`: values and promises of the population, from rows of which some with label 0 were left out."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from commands import run
from wordings import refuses

import fastbin as fb
from fastbin._model.view import facts
from reference import sampling as reference

RATE = 0.125
RNG = np.random.default_rng(5)
ALL = RNG.random(3000)
CLICKED = RNG.random(3000) < ALL**3
KEPT = CLICKED | (RNG.random(3000) < RATE)
SCORES, LABELS = ALL[KEPT], CLICKED[KEPT]

CALIBRATORS: dict[str, Callable[..., Any]] = {
    "umd": lambda **more: fb.UniformMassBinning(6, **more),
    "ums": lambda **more: fb.UniformMassBinning(6, scheme="ums", **more),
    "umb": lambda **more: fb.UniformMassBinning(6, scheme="umb", **more),
    "monotone": lambda **more: fb.UniformMassBinning(20, monotone=True, **more),
    "certified": lambda **more: fb.CertifiedCalibration(**more),
    "fixed-width": lambda **more: fb.FixedWidthBinning(6, **more),
    "explicit": lambda **more: fb.ExplicitBinning([0.25, 0.5], **more),
}


def fitted(name: str, **more: Any) -> fb.BinnedModel:
    model: fb.BinnedModel = CALIBRATORS[name](**more).fit(SCORES, LABELS).model_
    return model


def moved(rates: Any) -> list[float]:
    return [float(reference.in_population(Fraction(rate), Fraction(RATE))) for rate in np.ravel(rates).tolist()]


@pytest.mark.parametrize("name", CALIBRATORS)
def test_values_and_ends_are_those_of_the_population(name: str) -> None:
    sample, population = fitted(name), fitted(name, sampling_rate=RATE)
    assert (population.sampling_rate, population.odds_ratio, sample.sampling_rate) == (RATE, RATE, 0.0)
    np.testing.assert_allclose(population.values, moved(sample.values), rtol=4e-16)
    assert np.array_equal(population.edges, sample.edges)
    assert np.array_equal(population.counts, sample.counts)
    for at in ("bin", "score") if name == "certified" else ("bin",):
        for bound in ("clopper-pearson", "hoeffding") if at == "bin" else ("clopper-pearson",):
            ends = population.interval(0.1, bound, at=at)
            np.testing.assert_allclose(ends.ravel(), moved(sample.interval(0.1, bound, at=at)), rtol=1e-12)
    assert fb.BinnedModel.from_bytes(population.to_bytes()) == population
    assert fb.export.from_json(fb.export.json(population)) == population


def test_the_certificate_is_that_of_the_reference() -> None:
    scores, labels = SCORES[:240], LABELS[:240]
    model = fb.ExplicitBinning([0.5, 0.8], sampling_rate=RATE).fit(scores, labels).model_
    counts, ones = model.counts.tolist(), model.label_sums.tolist()
    ends = reference.intervals(ones, counts, Fraction(RATE), 0.1)
    values = [float(reference.in_population(Fraction(x, n), Fraction(RATE))) for x, n in zip(ones, counts, strict=True)]
    np.testing.assert_allclose(model.values, values, rtol=4e-16)
    np.testing.assert_allclose(model.interval(0.1), ends, atol=1e-12)
    assert math.isclose(model.certificate(0.1).epsilon, reference.epsilon(values, ends), abs_tol=1e-12)
    factor = max(max(value / low, high / value) for value, (low, high) in zip(values, ends, strict=True))
    assert math.isclose(model.certificate(0.1, "ratio").epsilon, factor, rel_tol=1e-9)


def test_it_is_label_shift_with_two_given_rates_of_the_same_odds() -> None:
    for name in ("umd", "certified"):
        source, model = fitted(name), fitted(name, sampling_rate=RATE)
        cal = fb.shift.LabelShift(source, method="known", source_rate=0.5, target_rate=RATE / (1.0 + RATE)).fit()
        np.testing.assert_allclose(model.values, cal.model_.values, rtol=1e-13)
        np.testing.assert_allclose(model.interval(at="bin"), cal.model_.interval(at="bin"), rtol=1e-13)
        assert math.isclose(model.certificate().epsilon, cal.model_.certificate().epsilon, rel_tol=1e-12)


def test_rates_of_one_change_nothing() -> None:
    for name in CALIBRATORS:
        assert fitted(name, sampling_rate=1.0).to_bytes() == fitted(name).to_bytes()
        assert fitted(name, sampling_rate=1).to_bytes() == fitted(name).to_bytes()
    assert "sampling_rate" not in fitted("umd").provenance["made_by"][0]["configuration"]
    assert fitted("umd", sampling_rate=RATE).provenance["made_by"][0]["configuration"]["sampling_rate"] == RATE


def test_all_ways_to_fit_give_one_model() -> None:
    pa = pytest.importorskip("pyarrow")
    for name in ("umd", "certified"):
        calibrator = CALIBRATORS[name](sampling_rate=RATE)
        batches = [(SCORES[i : i + 100], LABELS[i : i + 100]) for i in range(0, len(SCORES), 100)]
        assert calibrator.fit_batches(batches).model_ == fitted(name, sampling_rate=RATE)
        table = pa.table({"s": SCORES, "y": LABELS})
        assert (
            fb.engines.fit(table, score="s", label="y", calibrator=CALIBRATORS[name](sampling_rate=RATE)) == calibrator.model_
        )


def test_segments_are_moved_and_classes_refused() -> None:
    segments = np.where(np.arange(len(SCORES)) % 2, "a", "b")
    calibrator = fb.UniformMassBinning(4, sampling_rate=RATE)
    models = fb.multi.SegmentedBinning(calibrator=calibrator).fit(SCORES, LABELS, segments).model_
    alone = fb.UniformMassBinning(4, sampling_rate=RATE).fit(SCORES[segments == "a"], LABELS[segments == "a"]).model_
    assert models.models["a"].same_map(alone)
    assert models.models["a"].sampling_rate == RATE
    assert models.certificate().epsilon > 0.0
    matrix = np.stack([SCORES, 1.0 - SCORES], axis=1)
    for made in (fb.multi.ClassWiseBinning(calibrator=calibrator), fb.multi.TopLabelBinning(calibrator=calibrator)):
        refuses("InputError calibrator: has a sampling_rate", made.fit, matrix, LABELS.astype(int))


@pytest.mark.parametrize("kind", ["ece", "marginal", "expected-ece", "mean-error", "mean-overestimate"])
def test_averages_over_the_population_are_refused(kind: str) -> None:
    for name in ("umd", "certified"):
        with pytest.raises(fb.GuaranteeError, match="Theorem F27"):
            fitted(name, sampling_rate=RATE).certificate(kind=kind)


def test_what_rests_on_draws_of_the_population_is_refused() -> None:
    model = fitted("umd", sampling_rate=RATE)
    for call in (lambda: model.predict_set([0.5]), lambda: model.certificate(about="calibration rows")):
        with pytest.raises(fb.GuaranteeError, match="Theorem F27"):
            call()
    refuses(
        "InputError source: was moved by a known sampling rate", fb.shift.LabelShift(model, method="known", target_rate=0.5).fit
    )
    refuses(
        "InputError unlabelled: are given, and they do not", CALIBRATORS["certified"](sampling_rate=RATE).fit, SCORES, LABELS,
        unlabelled=ALL,
    )  # fmt: skip
    refuses(
        "InputError sampling_rate: is 0.125, and the rows have", CALIBRATORS["umd"](sampling_rate=RATE).fit, SCORES, LABELS,
        sample_weight=np.full(len(SCORES), 0.5),
    )  # fmt: skip


@pytest.mark.parametrize("name", CALIBRATORS)
def test_a_rate_may_be_a_fraction(name: str) -> None:
    assert fitted(name, sampling_rate=Fraction(1, 8)) == fitted(name, sampling_rate=0.125)


@pytest.mark.parametrize("name", CALIBRATORS)
@pytest.mark.parametrize("rate", [0.0, -0.5, 1.5, math.nan, "half", None, True])
def test_what_is_no_rate_is_refused(name: str, rate: Any) -> None:
    with pytest.raises((fb.InputError, fb.InputTypeError), match="sampling_rate"):
        CALIBRATORS[name](sampling_rate=rate).fit(SCORES, LABELS)


def test_people_are_told() -> None:
    model = fitted("umd", sampling_rate=RATE)
    assert "rows with label 0 were kept at the known rate 0.125" in facts(model)["Sampling"]
    assert not facts(fitted("umd"))["Sampling"]
    certificate = model.certificate()
    assert any("those with label 0 each with probability 0.125" in each for each in certificate.assumptions)
    assert "Theorem F27" in certificate.theorem


def test_the_command(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"{score!r},{int(label)}" for score, label in zip(SCORES.tolist(), LABELS.tolist(), strict=True))
    (tmp_path / "kept.csv").write_text("p,y\n" + rows + "\n")
    run("fit", "kept.csv", "--score", "p", "--label", "y", "--sampling-rate", str(RATE), "-o", "m.fbm")
    assert fb.load("m.fbm").same_map(fitted("certified", sampling_rate=RATE))
    shown = run("inspect", "m.fbm").output
    assert "rows with label 0 were kept at the known rate 0.125" in " ".join(shown.split())
    refused = run("fit", "kept.csv", "--score", "p", "--label", "y", "--sampling-rate", "0", "-o", "x.fbm", code=1)
    assert "sampling" in refused.output
    run("fit", "kept.csv", "--score", "p", "--label", "y", "--sampling-rate", ".5", "--method", "platt", code=2)
