"""Promises about the ratio of the true frequency to the value, for rare events."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from drawn import averages_of_bins
from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv
from simulation.evidence import fitted
from simulation.failures import ALPHA, assert_at_most, sizes
from simulation.laws import profile
from simulation.simulation import POPULATIONS, binned
from wordings import refused, refuses

import fastbin as fb
from fastbin import GuaranteeError, InputError, guarantees
from fastbin.guarantees.n_bins import positives_needed
from fastbin.intervals import clopper_pearson, sidak
from reference import bounds as reference


def click_rows(n: int = 200_000) -> tuple[Any, Any]:
    rng = np.random.default_rng(8)
    scores = rng.random(n) * 0.02
    return scores, (rng.random(n) < 0.002 + 0.5 * scores).astype(np.uint8)


def test_the_factor_is_that_of_the_ends_of_the_intervals() -> None:
    counts, ones = np.array([990, 1000, 0, 500]), np.array([20, 60, 0, 499])
    values = np.array([0.02, 0.055, 0.5, 0.99])
    certificate = guarantees.certify(fitted(ones, counts, values=values, delta=0.001), 0.2, "ratio")
    low, high = clopper_pearson(ones, counts, sidak(0.2, 3)).T
    expected = [max(high[b] / (values[b] - 0.001), (values[b] + 0.001) / low[b]) for b in (0, 1, 3)]
    assert certificate.radii is not None
    assert [certificate.radii[b] for b in (0, 1, 3)] == pytest.approx(expected, rel=1e-12)
    assert certificate.epsilon == max(expected)
    assert certificate.uncovered_bins == (2,)
    assert certificate.radii[2] == np.inf
    assert json.loads(json.dumps(certificate.to_dict(), allow_nan=False))["radii"][2] is None


@pytest.mark.parametrize(("positives", "asked"), [(10, 2.67), (30, 1.68), (50, 1.48), (100, 1.31), (500, 1.124), (1000, 1.086)])
def test_known_factors_of_rare_events(positives: int, asked: float) -> None:
    """They depend on the samples of label 1 alone; least at the value whose two sides are equal."""
    counts, ones = np.full(10, 10**7), np.full(10, positives)
    factor = guarantees.certify(fitted(ones, counts), 0.1, "ratio").epsilon
    assert factor == pytest.approx(asked, rel=0.005)
    low, high = clopper_pearson(ones, counts, sidak(0.1, 10))[0]
    model = fitted(ones, counts, values=np.full(10, np.sqrt(low * high)))
    assert guarantees.certify(model, 0.1, "ratio").epsilon == pytest.approx(np.sqrt(high / low), rel=1e-12)
    assert np.sqrt(high / low) < factor


def test_it_says_a_factor() -> None:
    for cal in (fb.UniformMassBinning(10).fit(*click_rows()), fb.CertifiedCalibration().fit(*click_rows())):
        certificate = cal.certificate(kind="ratio")
        assert 1.1 < certificate.epsilon < 1.8
        assert f"within a factor of {certificate.epsilon:.3f}"[:-1] in str(certificate)
        assert certificate in cal.certificates().certificates


def test_of_two_resolutions_it_is_about_the_average_served() -> None:
    cal = fb.CertifiedCalibration().fit(*click_rows())
    distance, factor = cal.certificate(), cal.certificate(kind="ratio")
    values = cal.model_.bin_values
    # The same intervals of rates and averages: a distance of e from values of v is a factor of about 1 + e / v.
    assert np.array(factor.radii) == pytest.approx(1 + np.array(distance.radii) / values, rel=0.12)


def test_sets_have_one_factor_for_all() -> None:
    scores, labels = click_rows()
    models = fb.multi.SegmentedBinning(fb.UniformMassBinning(5)).fit(scores, labels, np.arange(len(scores)) % 2).model_
    joint = models.certificate(kind="ratio")
    for name, part in joint.parts:
        assert part == models[name].certificate(part.alpha, "ratio")
    assert joint.epsilon == max(part.epsilon for _, part in joint.parts)


def test_bins_without_label_1_have_no_factor() -> None:
    model = fitted([0, 3, 0], [99, 99, 99])
    refused(GuaranteeError, "no factor is known for bins 0, 2", guarantees.certify, model, kind="ratio")
    refused(InputError, "choose one of 'clopper-pearson', 'hull'", guarantees.certify, model, kind="ratio", bound="common")
    refused(InputError, "kind is 'ratio'", fb.epsilon, 1000, 10, kind="ratio")
    cal = fb.UniformMassBinning(10).fit(*click_rows())
    scores, labels = click_rows()
    certificate = cal.certificate(kind="ratio")
    refused(InputError, "of kind 'ratio'", fb.assess.check_certificate, cal, scores, labels, certificate=certificate)
    rows = cal.certificate(about="calibration rows")
    refused(InputError, "about the calibration rows", fb.assess.check_certificate, cal, scores, labels, certificate=rows)


@pytest.mark.sampled
@pytest.mark.parametrize("repetitions", sizes(400, 20_000))
@pytest.mark.parametrize("name", ["flat", "linear", "rare", "credit", "tied"])
def test_the_promise_holds(name: str, repetitions: int) -> None:
    """A sample without a factor has no promise that could fail."""
    misses = 0
    sample = binned(POPULATIONS[name], 2000, 8, "umd", repetitions, 61)
    for model, truth in zip(sample.models(), sample.frequencies, strict=True):
        if (np.array(model.label_sums) > 0).all():
            factor = guarantees.certify(model, ALPHA, "ratio").epsilon
            ratio = truth / model.values
            misses += bool((np.maximum(ratio, 1 / ratio) > factor).any())
    assert_at_most(misses, repetitions)


@pytest.mark.parametrize("repetitions", sizes(60, 5000))
def test_the_promise_of_two_resolutions_holds(repetitions: int) -> None:
    misses, law = 0, profile("rare")
    rng = np.random.default_rng([62, repetitions])
    for _ in range(repetitions):
        scores, labels = (column[0] for column in law.draw(rng, (1, 5000)))
        model = fb.CertifiedCalibration(5).fit(scores, labels).model_
        if (model.label_sums == 0).any():  # no factor, and no promise that could fail
            continue
        _, served, rates = averages_of_bins(model, law)
        ratio = rates / served
        misses += bool((np.maximum(ratio, 1 / ratio) > model.certificate(ALPHA, "ratio").epsilon).any())
    assert_at_most(misses, repetitions)


# ---------------------------------------------------------------------------------------------- before the data


@pytest.mark.parametrize(
    ("n_bins", "alpha", "needed"),
    [
        (10, 0.1, (19, 48, 145, 214, 752, 2811)),
        (1, 0.1, (9, 21, 62, 91, 315, 1169)),
        (50, 0.01, (37, 98, 302, 446, 1578, 5915)),
    ],
)
def test_how_many_samples_of_label_1_a_factor_needs(n_bins: int, alpha: float, needed: tuple[int, ...]) -> None:
    level = sidak(alpha, n_bins)
    for ratio, positives in zip((2.0, 1.5, 1.25, 1.2, 1.1, 1.05), needed, strict=True):
        assert positives_needed(ratio, level) == positives
        if positives < 500:
            assert reference.rare_factor(positives, level) <= ratio < reference.rare_factor(positives - 1, level)
        # The certificate of bins with as many comes below it, whatever their other samples are, and with one less does not.
        for others in (0, 1, 100, 10**5, 10**9):
            counts, ones = np.full(n_bins, positives + others), np.full(n_bins, positives)
            assert guarantees.certify(fitted(ones, counts), alpha, "ratio").epsilon <= ratio
        assert guarantees.certify(fitted(ones - 1, counts), alpha, "ratio").epsilon > ratio


def test_the_facts_behind_it() -> None:
    """Two probabilities of Poisson numbers fall, and so do both sides of the factor, which is largest without bound on N."""
    positives = np.arange(1, 5_001)
    assert (np.diff(gammainc(positives, positives)) < 0).all()  # P(Poisson(m) >= m)
    assert (np.diff(gammaincc(positives + 1.0, positives)) < 0).all()  # P(Poisson(m) <= m)
    for level in (0.5, 0.1, 1e-3, 1e-12):
        high, low = gammainccinv(positives + 1.0, level / 2) / positives, positives / gammaincinv(positives, level / 2)
        assert (np.diff(high) < 0).all()
        assert (np.diff(low) < 0).all()
        for n in (2, 3, 10, 1000, 10**6):
            ones = positives[1 : min(n, 5_000)]
            ends = clopper_pearson(ones, np.full(len(ones), n), level).T * n / ones
            assert (ends[1] <= high[ones - 1] * (1 + 1e-9)).all()
            assert (1 / ends[0] <= low[ones - 1] * (1 + 1e-6)).all()  # where few samples all have label 1, ends are rounded


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("n", "alpha", "ratio", "rate"),
    [(600, 0.1, 2.0, 0.1), (600, 0.01, 2.0, 0.3), (2000, 0.1, 1.5, 0.05), (2000, 0.5, 2.5, 0.02), (200, 0.1, 20.0, 0.9)],
)
def test_choose_n_bins_is_the_reference(n: int, alpha: float, ratio: float, rate: float) -> None:
    expected = reference.most_bins_of_positives(n, alpha, ratio, rate)
    assert expected > 0
    assert fb.choose_n_bins(n, alpha, ratio=ratio, rate=rate) == expected


def test_it_says_from_how_many_samples_on() -> None:
    options = {"ratio": 2.0, "rate": 0.1}
    refused(GuaranteeError, r"Theorem F16\); one bin keeps it from 188 samples on", fb.choose_n_bins, 187, **options)
    assert [reference.most_bins_of_positives(n, 0.1, 2.0, 0.1) for n in (187, 188)] == [0, fb.choose_n_bins(188, **options)]
    refused(GuaranteeError, "from 10 samples on", fb.choose_n_bins, 5, ratio=100, rate=0.9)
    assert fb.choose_n_bins(10, ratio=100, rate=0.9) == 1


def test_ratio_and_rate_are_checked() -> None:
    choose = fb.choose_n_bins
    refuses("InputError rate: is None", choose, 1000, ratio=1.25)
    refuses("InputError rate: is 0.001, and", choose, 1000, rate=0.001)
    for ratio in (1, 0.9, np.inf, np.nan, 1 + 1e-12):
        refuses("InputError ratio", choose, 1000, ratio=ratio, rate=0.01)
    refuses("InputTypeError ratio", choose, 1000, ratio="1.2", rate=0.01)
    for rate in (0.0, 1.0, -0.1):
        refuses("InputError rate", choose, 1000, ratio=1.25, rate=rate)
    for other in ({"epsilon": 0.05}, {"kind": "marginal"}, {"bound": "hoeffding"}):
        refuses("InputError ratio: is 1.25, a promise", choose, 1000, ratio=1.25, rate=0.01, **other)


@pytest.mark.parametrize("repetitions", sizes(300, 20_000))
@pytest.mark.parametrize(("n", "ratio", "rate"), [(100_000, 1.5, 0.01), (20_000, 1.25, 0.1), (5000, 2.5, 0.02)])
def test_the_factor_chosen_is_kept(n: int, ratio: float, rate: float, repetitions: int) -> None:
    """Bins of one tenth of all positives each; the lower ones hold more other samples."""
    n_bins = fb.choose_n_bins(n, ratio=ratio, rate=rate)
    rng = np.random.default_rng([63, n, repetitions])
    shares = np.linspace(3.0, 1.0, n_bins) / np.linspace(3.0, 1.0, n_bins).sum()
    chances = np.concatenate([np.full(n_bins, rate / n_bins), (1 - rate) * shares])
    drawn = rng.multinomial(n - n // 10, chances, size=repetitions).reshape(repetitions, 2, n_bins)
    above = 0
    for ones, zeros in drawn:
        model = fitted(ones, ones + zeros)
        above += bool((ones == 0).any()) or guarantees.certify(model, ALPHA, "ratio").epsilon > ratio
    assert_at_most(above, repetitions, ALPHA / 10)


@pytest.mark.parametrize("repetitions", sizes(100, 2000))
@pytest.mark.parametrize("kept", [1.0, 0.2])
def test_the_promise_of_equal_expected_positives_holds(kept: float, repetitions: int) -> None:
    """Scores are uniform on [0, 0.02], and rates linear in them: twice the score, and so the cuts are not in balance.

    A share of the negatives is kept, which multiplies all odds by as much, and the odds of the model are moved back.
    """
    misses, law = 0, np.random.default_rng([64, repetitions])
    for seed in range(repetitions):
        scores = law.random(20_000) * 0.02
        labels = law.random(20_000) < 0.005 + 2 * scores
        rows = labels | (law.random(20_000) < kept)
        cal = fb.UniformMassBinning(8, scheme="ums", cuts="expected-positives", seed=seed).fit(scores[rows], labels[rows])
        served: Any = cal
        if kept < 1.0:
            served = fb.shift.LabelShift(cal, method="known", source_rate=0.5, target_rate=kept / (1 + kept)).fit()
            assert served.model_.odds_ratio == pytest.approx(kept, rel=1e-12)
        ends = np.concatenate([[0.0], cal.model_.edges, [0.02]])
        ratio = (0.005 + ends[1:] + ends[:-1]) / served.model_.values
        misses += bool((np.maximum(ratio, 1 / ratio) > served.certificate(ALPHA, "ratio").epsilon).any())
    assert_at_most(misses, repetitions)


def test_of_moved_values_it_is_that_of_the_moved_ends() -> None:
    source = fb.UniformMassBinning(5).fit(*click_rows()).model_
    moved = fb.shift.LabelShift(source, method="known", source_rate=0.5, target_rate=1 / 11).fit()
    certificate = moved.certificate(kind="ratio")
    low, high = moved.interval().T
    assert certificate.radii == pytest.approx(np.maximum(moved.model_.values / low, high / moved.model_.values), rel=1e-15)
    assert certificate.bound == "clopper-pearson"
    assert "P(score | label) is the same" in certificate.explain()
    odds = source.interval() / (1 - source.interval()) / 10
    assert moved.interval() == pytest.approx(odds / (1 + odds), rel=1e-12)
    labels = np.arange(1000) < 20
    counted = fb.shift.LabelShift(source, source_rate=0.5).fit(labels=labels)
    assert counted.certificate(kind="ratio").epsilon > certificate.epsilon  # the error of the rate is in it
    refused(GuaranteeError, "bound='hull' would need", moved.certificate, kind="ratio", bound="hull")
