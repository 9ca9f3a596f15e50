"""Promises about the ratio of the true frequency to the value, for rare events."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from simulation.evidence import fitted
from simulation.failures import ALPHA, assert_at_most, sizes
from simulation.laws import profile
from simulation.simulation import POPULATIONS, binned
from wordings import refused

import fastbin as fb
from fastbin import GuaranteeError, InputError, guarantees
from fastbin.intervals import clopper_pearson, sidak


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
        starts, ends = np.append(0.0, model.edges), np.append(model.edges, 1.0)
        masses = np.add.reduceat(ends - starts, model.first_step)
        served = np.add.reduceat(model.values * (ends - starts), model.first_step) / masses
        rates = np.add.reduceat(law.ones_below(ends) - law.ones_below(starts), model.first_step) / masses
        ratio = rates / served
        misses += bool((np.maximum(ratio, 1 / ratio) > model.certificate(ALPHA, "ratio").epsilon).any())
    assert_at_most(misses, repetitions)
