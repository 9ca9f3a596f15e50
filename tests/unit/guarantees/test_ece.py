"""The expected calibration error from the labels: fastbin, Theorems F12 and F13."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from drawn import averages_of_bins
from simulation.evidence import fitted, uniform_mass
from simulation.failures import ALPHA, assert_at_most, sizes
from simulation.laws import profile
from simulation.simulation import POPULATIONS, binned
from wordings import refused

import fastbin as fb
from fastbin import InputError, guarantees
from fastbin.guarantees.law import _mean_deviations, ece_bound_before
from fastbin.intervals import clopper_pearson, sidak


def test_bins_of_a_hundred_samples_have_a_bound_of_their_own() -> None:
    for n, has_own in ((1009, True), (1008, False)):
        model = fb.CertifiedCalibration(n_bins=10).fit(np.arange(n) / n, np.arange(n) % 7 == 0).model_
        assert model.counts.min() == 99 + has_own
        assert ("Theorem F13" in model.certificate(kind="ece").theorem) == has_own


def mean_deviation(n: int, p: float) -> float:
    """E|X / n - p| for X ~ Binomial(n, p), by its definition."""
    law = [math.comb(n, x) * p**x * (1.0 - p) ** (n - x) for x in range(n + 1)]
    return sum(chance * abs(x / n - p) for x, chance in enumerate(law))


@pytest.mark.sampled
@pytest.mark.parametrize("n", [1, 2, 5, 20, 101])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, 0.1), (0.2, 0.3), (0.9, 1.0), (0.4, 0.6), (0.0, 0.0), (1.0, 1.0)])
def test_mean_deviations_are_the_largest_and_hardly_larger(n: int, low: float, high: float) -> None:
    (found,) = _mean_deviations(np.array([float(n)]), np.array([low]), np.array([high]))
    within = max(mean_deviation(n, p) for p in np.linspace(low, high, 201))
    # At most that of the frequencies of one sample more on either side.
    around = max(mean_deviation(n, p) for p in np.linspace(max(0.0, low - 1 / n), min(1.0, high + 1 / n), 801))
    assert within <= found <= around * 1.01


def test_mean_deviations_of_large_counts_are_those_of_the_normal_law() -> None:
    sizes_, half = np.array([1e5, 1e8]), np.array([0.5, 0.5])
    assert _mean_deviations(sizes_, half, half) == pytest.approx(np.sqrt(2 / math.pi) / (2 * np.sqrt(sizes_)), rel=2e-5)


@pytest.mark.parametrize("count", [10**9, 10**13, 10**15])
def test_roundings_of_huge_counts_cost_little(count: int) -> None:
    counts = np.full(10, count)
    before = guarantees.ece_bound(counts, 10 * count, 0.1)
    assert guarantees.ece_bound(counts, 10 * count, 0.1, label_sums=counts // 2) < 1.2 * before


def by_hand(counts: list[int], ones: list[int], n: int, alpha: float, shifts: list[float]) -> float:
    """The formula of the theorem, with sums over sorted lists."""
    n_bins = len(counts)
    masses = [guarantees.law.mass_upper([count], n, 0.1 * alpha / n_bins)[0] for count in counts]  # type: ignore[attr-defined]
    ends = [clopper_pearson([x], [count], sidak(0.2 * alpha, n_bins))[0] for x, count in zip(ones, counts, strict=True)]

    def filled(terms: list[float]) -> float:
        left, total = 1.0, 0.0
        for term, mass in sorted(zip(terms, masses, strict=True), reverse=True):
            total += min(left, mass) * term
            left -= min(left, mass)
        return total

    deviations = [
        max(mean_deviation(count, p) for p in np.linspace(*end, 400)) for end, count in zip(ends, counts, strict=True)
    ]
    nearest = [min(max(0.5, low), high) for low, high in ends]
    variance = filled([mass * p * (1 - p) / count for mass, p, count in zip(masses, nearest, counts, strict=True)])
    largest = max(mass * max(high, 1 - low) / count for mass, (low, high), count in zip(masses, ends, counts, strict=True))
    third, logarithm = largest * math.log(1 / (0.7 * alpha)) / 3, math.log(1 / (0.7 * alpha))
    mean = filled([deviation + shift for deviation, shift in zip(deviations, shifts, strict=True)])
    steepest = max(mass / count for mass, count in zip(masses, counts, strict=True))
    return mean + min(third + math.sqrt(third**2 + 2 * variance * logarithm), math.sqrt(steepest * logarithm / 2))


@pytest.mark.parametrize(
    ("counts", "ones"), [([60, 59, 59, 80], [3, 20, 40, 80]), ([99] * 10, [1] * 10), ([99] * 10, list(range(5, 100, 10)))]
)
def test_the_bound_is_the_formula(counts: list[int], ones: list[int]) -> None:
    n, shifts = sum(counts) + len(counts) - 1, [0.01 * b for b in range(len(counts))]
    found = guarantees.ece_bound(counts, n, 0.1, shifts=shifts, label_sums=ones)
    expected = by_hand(counts, ones, n, 0.1, shifts)
    assert expected - 1e-9 <= found <= 1.02 * expected


@pytest.mark.parametrize(
    ("n", "n_bins", "name", "asked"), [(3000, 10, "flat", 0.0462), (3000, 10, "rare", 0.0251), (100_000, 50, "rare", 0.0053)]
)
def test_known_bounds(n: int, n_bins: int, name: str, asked: float) -> None:
    sample = binned(POPULATIONS[name], n, n_bins, "umd", 10, 3)
    found = [
        guarantees.ece_bound(counts, n, 0.1, label_sums=ones)
        for counts, ones in zip(sample.counts, sample.label_sums, strict=True)
    ]
    assert np.mean(found) == pytest.approx(asked, rel=0.02)


def test_it_is_never_above_what_is_known_before_labels() -> None:
    rng = np.random.default_rng(4)
    for _ in range(50):
        counts = rng.integers(5, 300, rng.integers(1, 12))
        n = int(counts.sum()) + len(counts) - 1
        before = ece_bound_before(counts, n, 0.1)
        assert guarantees.ece_bound(counts, n, 0.1, label_sums=rng.binomial(counts, rng.random())) <= before + 1e-12
        assert guarantees.ece_bound(counts, n, 0.1, label_sums=counts // 2) >= 0.8 * before


def test_the_certificate_chooses_by_counts_alone() -> None:
    few, many = uniform_mass(300, 2), uniform_mass(3000, 10)
    by_one_radius = guarantees.certify(few, kind="ece")
    assert "Theorem F10" in by_one_radius.theorem
    assert by_one_radius.epsilon == guarantees.certify(few, bound="common").epsilon
    certificate = guarantees.certify(many, kind="ece")
    assert "Theorem F12" in certificate.theorem
    assert certificate.epsilon == guarantees.ece_bound(many.counts, 3000, 0.1, label_sums=many.label_sums)
    relabelled = fitted(np.zeros(10, int), many.counts, n_samples=3000)
    assert guarantees.certify(relabelled, kind="ece").theorem == certificate.theorem
    assert guarantees.certify(uniform_mass(3000, 10, "ze"), kind="ece").theorem.startswith("McDiarmid")


def test_labels_are_refused() -> None:
    refused(InputError, r"label_sums\[1\] is 4", guarantees.ece_bound, [3, 3], 9, label_sums=[1, 4])
    refused(InputError, "lengths differ", guarantees.ece_bound, [3, 3], 9, label_sums=[1])


@pytest.mark.sampled
@pytest.mark.parametrize("repetitions", sizes(400, 20_000))
@pytest.mark.parametrize("name", sorted(POPULATIONS))
def test_the_promise_holds_for_many_rows(name: str, repetitions: int) -> None:
    """Beside `simulation.test_certificates.test_ece_certificates`, of 400 rows in 8 bins."""
    sample = binned(POPULATIONS[name], 3000, 10, "umd", repetitions, 51)
    ece = sample.ece()
    failures = sum(ece[i] > guarantees.certify(model, ALPHA, "ece").epsilon for i, model in sample.suspects(ece))
    assert_at_most(failures, repetitions)


# ---------------------------------------------------------------------------------------------- two resolutions


def rows(n: int, name: str, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    scores, labels = (column[0] for column in profile(name).draw(rng, (1, n)))
    return scores, labels


def test_of_two_resolutions_it_is_about_half_of_the_conditional_one() -> None:
    for name in ("linear", "flat", "rare"):
        cal = fb.CertifiedCalibration().fit(*rows(10_000, name, 1))
        certificate = cal.certificate(kind="ece")
        assert 0.4 < certificate.epsilon / cal.certificate().epsilon < 0.7
        assert "Theorem F12" in certificate.theorem
        assert "Theorem F3" in certificate.theorem
        assert "binned calibration error on the 10 evidence bins" in str(certificate)


def test_bins_of_a_set_are_not_counted_as_those_of_each_model() -> None:
    scores, labels = rows(4000, "linear", 1)
    made = fb.multi.SegmentedBinning().fit(scores, labels, np.arange(4000) % 2)
    assert "error on the evidence bins of each of 2 segments at once" in str(made.certificate(kind="ece"))


def test_small_bins_ties_and_scores_without_labels_have_it_by_the_conditional_promise() -> None:
    scores, labels = rows(2000, "linear", 2)
    for cal in (
        fb.CertifiedCalibration().fit(scores[:490], labels[:490]),
        fb.CertifiedCalibration().fit(np.round(scores, 2), labels),
        fb.CertifiedCalibration().fit(scores, labels, unlabelled=rows(500, "linear", 3)[0]),
    ):
        assert cal.certificate(kind="ece").epsilon == cal.certificate().epsilon


@pytest.mark.sampled
@pytest.mark.parametrize("repetitions", sizes(100, 5000))
@pytest.mark.parametrize("name", ["linear", "flat", "rare", "wave", "sharp"])
def test_the_promise_of_two_resolutions_holds(name: str, repetitions: int) -> None:
    misses, law = 0, profile(name)
    rng = np.random.default_rng([52, repetitions])
    for _ in range(repetitions):
        scores, labels = (column[0] for column in law.draw(rng, (1, 600)))
        model = fb.CertifiedCalibration().fit(scores, labels).model_
        masses, served, rates = averages_of_bins(model, law)
        misses += bool((masses * np.abs(served - rates)).sum() > model.certificate(ALPHA, kind="ece").epsilon)
    assert_at_most(misses, repetitions)
