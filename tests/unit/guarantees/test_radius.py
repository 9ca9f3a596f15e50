"""One radius for all bins: before labels are seen, and from the labels (fastbin, Theorem F10)."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from drawn import calibrated
from hypothesis import example, given, settings
from hypothesis import strategies as st
from simulation.evidence import fitted
from wordings import refused

import fastbin as fb
from fastbin import GuaranteeError, InputError, guarantees, intervals, theory
from fastbin.guarantees import law
from fastbin.guarantees import radius as of_radius
from fastbin.guarantees.law import failures_beyond, near_failures
from fastbin.guarantees.radius import failures_within
from reference import joint as reference
from strategies import examples

# ---------------------------------------------------------------------------------------------- before labels are seen

# For the chance of a failure, which may depend on the radius so little that this moves the radius by 1e-8.
ROUNDING = 1e-15
LARGEST_ALPHA = 0.5 - 2 * ROUNDING

small_cells = st.lists(st.tuples(st.integers(0, 16), st.sampled_from([0.0, 0.0, 0.125])), min_size=1, max_size=4)


@settings(max_examples=examples(25), deadline=None)
@given(small_cells.filter(lambda cells: any(count for count, _ in cells)), st.floats(0.001, 0.5))
@example([(2, 0.0)], 0.5)
def test_the_common_radius_equals_the_exact_search(cells: list[tuple[int, float]], alpha: float) -> None:
    counts, shifts = (list(column) for column in zip(*cells, strict=True))
    radius = guarantees.common_radius(counts, alpha, shifts=shifts)
    # Cells that fail hardly ever enter with more than their chance.
    assert radius <= reference.common_radius(counts, alpha, shifts) + 1e-8
    assert radius >= reference.common_radius(counts, alpha + ROUNDING, shifts) - 3e-12


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(st.integers(1, 2000), min_size=1, max_size=20), st.floats(1e-6, LARGEST_ALPHA))
@example([2], LARGEST_ALPHA)
def test_the_common_radius_is_never_above_the_largest_at_sidak_and_never_below_the_largest_at_alpha(
    counts: list[int], alpha: float
) -> None:
    common, level = guarantees.common_radius(counts, alpha), intervals.sidak(alpha, len(counts))
    assert common <= max(guarantees.exact_radius(count, level - ROUNDING) for count in counts) + 2e-12
    assert common >= max(guarantees.exact_radius(count, alpha + ROUNDING) for count in counts) - 2e-12


@pytest.mark.parametrize("count", [1, 7, 99, 1000])
def test_cells_of_one_size_have_their_own_radius(count: int) -> None:
    for n_cells in (1, 3, 40):
        expected = guarantees.exact_radius(count, intervals.sidak(0.1, n_cells))
        assert guarantees.common_radius([count] * n_cells, 0.1) == pytest.approx(expected, abs=2e-12)


def test_cells_without_samples_are_left_out_and_order_does_not_matter() -> None:
    counts = [40, 0, 400, 41, 0]
    expected = guarantees.common_radius([41, 40, 400], 0.1)
    assert guarantees.common_radius(counts, 0.1) == guarantees.common_radius(counts[::-1], 0.1) == expected
    assert guarantees.common_radius([0, 0], 0.1) == 0.0


def test_the_common_radius_of_many_different_counts_takes_seconds() -> None:
    # Hundreds of counts, none much smaller than the others.
    counts = np.random.default_rng(5).integers(300, 900, 10_000)
    started = time.perf_counter()
    radius = guarantees.common_radius(counts, 0.1)
    assert time.perf_counter() - started < 20.0
    level = intervals.sidak(0.1, len(counts))
    assert 0.5 * guarantees.exact_radius(300, level) < radius < guarantees.exact_radius(300, level)


def test_sums_as_far_as_the_radius_are_within_it() -> None:
    """Also where 2 n times the double next to k / (2 n) is rounded to less than k, as for n = 11 and k = 15."""
    sizes = np.arange(1.0, 101.0)[:, None]
    widths = np.arange(201.0)
    np.testing.assert_array_equal(law._accepted(sizes, widths / (2.0 * sizes)), np.broadcast_to(widths, (100, 201)))


def test_few_frequencies_and_a_coarser_grid_find_the_maximum_of_all() -> None:
    rng = np.random.default_rng(8)
    counts = np.floor(np.exp(rng.uniform(math.log(2), math.log(20_000), 300)))
    radii = np.minimum(rng.uniform(0.5, 8.0, 300) * 0.5 / np.sqrt(counts), 1.0)
    expected = [theory.worst_failure(int(count), radius) for count, radius in zip(counts, radii.tolist(), strict=True)]
    assert failures_within(counts, radii, 1e-300) == pytest.approx(np.array(expected), rel=1e-6)
    assert near_failures(counts, radii) == pytest.approx(np.array(expected), rel=1e-6)


@pytest.mark.parametrize(("size", "epsilon"), [(30, 0.2), (500, 0.06), (564, 0.15794907), (3000, 0.02), (3000, 0.0005)])
def test_the_worst_failure_is_that_of_all_frequencies(size: int, epsilon: float) -> None:
    candidates = np.arange(0.0, math.ceil(size * (1.0 - epsilon)))
    failures = law.failures_above(candidates, size, math.floor(2.0 * size * epsilon), epsilon)
    (found,) = failures_beyond(np.array([float(size)]), np.array([epsilon]), 256)
    assert found == pytest.approx(min(1.0, failures.max()), rel=1e-12)
    (near,) = law.near_failures(np.array([float(size)]), np.array([epsilon]))
    assert near <= found * (1.0 + 1e-12)


def test_shifts_beyond_the_precision_end_the_search() -> None:
    """Where neighbouring doubles are farther apart than the radius is to be found."""
    assert guarantees.common_radius([100], 0.1, shifts=[9000.0]) == pytest.approx(9000.0 + guarantees.common_radius([100], 0.1))


@pytest.mark.parametrize("factor", [0.0, 0.5, 0.999])
def test_a_search_that_was_misled_is_corrected(monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    """The failures near the worst frequencies only lead to the radius; it is confirmed by the whole ones."""
    counts = [30, 500, 564, 3000]
    expected = guarantees.common_radius(counts, 0.1)
    near = law.near_failures
    monkeypatch.setattr(of_radius, "near_failures", lambda sizes, radii: factor * near(sizes, radii))
    found = guarantees.common_radius(counts, 0.1)
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([3, -1], 0.1, None), r"counts\[1\] is -1"),
        (([3, 1], 0.9, None), "did you mean 0.1"),
        (([3, 1], 0.1, [0.1]), "one distance for each of the 2 cells"),
        (([3, 1], 0.1, [0.1, -0.1]), "none of them negative"),
        (([3, 1], 0.1, [0.1, math.nan]), "none of them negative"),
    ],
)
def test_the_common_radius_refuses(arguments: tuple[Any, Any, Any], message: str) -> None:
    refused(InputError, message, guarantees.common_radius, *arguments[:2], shifts=arguments[2])


# ---------------------------------------------------------------------------------------------- from the labels

labelled_cells = st.lists(
    st.integers(1, 25).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), min_size=1, max_size=4
)


@settings(max_examples=examples(25), deadline=None)
@given(labelled_cells, st.floats(0.01, 0.5))
@example([(1, 0)], 0.5)
@example([(20, 10), (20, 0)], 0.1)
def test_the_radius_from_labels_is_the_last_at_which_chances_are_above_alpha(
    cells: list[tuple[int, int]], alpha: float
) -> None:
    counts, ones = (list(column) for column in zip(*cells, strict=True))
    radius = guarantees.common_radius(counts, alpha, label_sums=ones)
    assert radius <= guarantees.common_radius(counts, alpha - ROUNDING) + 2e-12
    # The chances jump where an error is a multiple of half a sample.
    jumps = {Fraction(k, 2 * count) for count in counts for k in range(1, 2 * count + 1)}
    above = {t for t in (*jumps, *(Fraction(k, 50) for k in range(1, 51))) if radius + 1e-9 < t}
    assert all(reference.chance_near(counts, ones, t) <= alpha + ROUNDING for t in sorted(above)[:12])
    assert reference.chance_near(counts, ones, Fraction(float(radius) - 1e-9)) >= alpha - ROUNDING


@pytest.mark.parametrize("n_bins", [1, 10, 40])
@pytest.mark.parametrize("count", [7, 99, 1000, 99_999])
def test_labels_that_are_half_ones_say_nothing_more_than_counts(count: int, n_bins: int) -> None:
    counts = [count] * n_bins
    halves = guarantees.common_radius(counts, 0.1, label_sums=[count // 2] * n_bins)
    assert halves == pytest.approx(guarantees.common_radius(counts, 0.1), abs=2e-12)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("n", "n_bins", "rates", "asked"),
    [
        (1000, 10, lambda s: 0.5 + 0 * s, 0.1313), (1000, 10, lambda s: s, 0.1231), (3000, 10, lambda s: s, 0.0686),
        (3000, 10, lambda s: 0.005 + 0.08 * s * s, 0.0409), (5000, 25, lambda s: s, 0.0957),
    ],
)  # fmt: skip
def test_known_radii_from_labels(n: int, n_bins: int, rates: Any, asked: float) -> None:
    """Means over samples, within two standard errors or a fiftieth."""
    rng = np.random.default_rng(3)
    counts = np.diff(np.ceil(np.arange(n_bins + 1) * (n + 1) / n_bins).astype(int)) - 1
    middles = (np.arange(n_bins) + 0.5) / n_bins
    found = [guarantees.common_radius(counts, 0.1, label_sums=rng.binomial(counts, rates(middles))) for _ in range(20)]
    assert np.mean(found) == pytest.approx(asked, rel=0.02)


def test_the_largest_chance_is_that_of_all_places() -> None:
    from scipy.special import bdtr, bdtrc

    rng = np.random.default_rng(9)
    for _ in range(400):
        count = math.floor(math.exp(rng.uniform(math.log(2), math.log(3000))))
        mean = math.floor(rng.uniform(0.0, 0.5) * count + 0.5) / count
        epsilon = min(1.0, rng.uniform(0.7, 6.0) * max(math.sqrt(mean * (1 - mean) / count), 1.0 / count))
        window = min(1.0, epsilon * rng.uniform(1.0, 1.5))
        cell = np.array([[float(count)]]), np.array([[mean]]), window, epsilon
        (near,), (found,) = (of_radius._failures_near(*cell, everywhere=each) for each in (False, True))
        places = np.concatenate([np.arange(count + 1) / count + side * epsilon for side in (-1.0, 1.0)])
        low, high = max(0.0, mean - window), min(1.0, mean + window)
        places = np.concatenate([places[(low <= places) & (places <= high)], [low, high]])
        # An error that is epsilon up to rounding fails.
        below, above = np.floor(count * (places - epsilon) + 1e-9), np.ceil(count * (places + epsilon) - 1e-9)
        lower = np.where(below >= 0.0, bdtr(np.maximum(below, 0.0), count, places), 0.0)
        upper = np.where(above <= count, bdtrc(np.minimum(above, count) - 1.0, count, places), 0.0)
        assert found == pytest.approx(min(1.0, (lower + upper).max()), rel=1e-9, abs=1e-300)
        assert near == pytest.approx(found, rel=1e-9, abs=1e-5)


@pytest.mark.parametrize("factor", [0.0, 0.5, 0.999])
def test_a_search_from_labels_that_was_misled_is_corrected(monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    counts, ones = [30, 500, 564, 3000], [7, 100, 250, 2999]
    expected = guarantees.common_radius(counts, 0.1, label_sums=ones)
    right = of_radius._failures_near

    def misleading(*given: Any, everywhere: bool) -> Any:
        return right(*given, everywhere=everywhere) * (1.0 if everywhere else factor)

    monkeypatch.setattr(of_radius, "_failures_near", misleading)
    found = guarantees.common_radius(counts, 0.1, label_sums=ones)
    assert found == pytest.approx(expected, rel=0.1)
    assert found >= expected - 1e-12


@pytest.mark.parametrize("alpha", [1e-12, 1e-20, 1e-100])
def test_levels_next_to_0_leave_tiny_bins_nothing(alpha: float) -> None:
    """One sample errs by nearly 1 with a chance of the frequency, however small that is."""
    assert guarantees.exact_radius(1, alpha) >= 1.0 - alpha
    assert guarantees.common_radius([1], alpha) >= 1.0 - alpha - 1e-12
    for counts, ones in (([1], [0]), ([2, 3], [1, 0]), ([10] * 3, [10, 0, 5])):
        assert guarantees.common_radius(counts, alpha, label_sums=ones) <= guarantees.common_radius(counts, alpha) + 1e-4


def test_the_smallest_alpha_may_be_shared_with_masses() -> None:
    cal = fb.CertifiedCalibration(5).fit(*calibrated())
    assert 0.5 < cal.certificate(1e-100, bound="common").epsilon < 1.0


def test_labels_are_refused() -> None:
    radius = guarantees.common_radius
    refused(InputError, r"label_sums\[1\] is 4", radius, [3, 3], 0.1, label_sums=[1, 4])
    refused(InputError, r"label_sums\[0\] is -1", radius, [3, 3], 0.1, label_sums=[-1, 3])
    refused(InputError, "lengths differ", radius, [3, 3], 0.1, label_sums=[1])
    refused(InputError, "leave one out", radius, [3, 3], 0.1, label_sums=[1, 1], shifts=[0.0, 0.0])


def test_cells_without_samples_have_no_part_in_it() -> None:
    radius = guarantees.common_radius
    assert radius([40, 0, 50], label_sums=[20, 0, 10]) == radius([50, 40], label_sums=[10, 20])
    assert radius([40], label_sums=[3]) == radius([40], label_sums=[37])
    assert radius([0], label_sums=[0]) == 0.0


# ---------------------------------------------------------------------------------------------- the certificate


def test_the_certificate_is_the_radius_and_the_distance_from_the_means() -> None:
    counts, ones = [99, 120, 0, 99], [20, 60, 0, 90]
    model = fitted(ones, counts, values=np.array([0.3, 0.5, 0.5, 0.9]), delta=0.01)
    certificate = guarantees.certify(model, 0.2)
    radius = guarantees.common_radius(counts, 0.2, label_sums=ones)
    expected = [radius + 0.3 - 20 / 99 + 0.01, radius + 0.01, 1.0, radius + 90 / 99 - 0.9 + 0.01]
    assert certificate.bound == "common"
    assert certificate.radii == pytest.approx(expected, abs=1e-15)
    assert certificate.epsilon == max(certificate.radii[b] for b in (0, 1, 3))
    assert certificate.uncovered_bins == (2,)
    assert "Theorem F10" in certificate.theorem


def test_it_is_the_default_where_bins_have_one_value_and_label_sums_are_binomial() -> None:
    scores, labels = calibrated()
    for calibrator in (
        fb.UniformMassBinning(10), fb.UniformMassBinning(10, monotone=True), fb.UniformMassBinning(10, scheme="ums"),
        fb.UniformMassBinning(10, ties="random"), fb.FixedWidthBinning(10),
    ):  # fmt: skip
        certificate = calibrator.fit(scores, labels).certificate()
        assert certificate.bound == "common"
    for calibrator in (
        fb.UniformMassBinning(10, scheme="ze"), fb.UniformMassBinning(10, scheme="umb"), fb.ScalingBinning(10),
        fb.CertifiedCalibration(),
    ):  # fmt: skip
        assert calibrator.fit(scores, labels).certificate().bound == "clopper-pearson"
    assert fb.UniformMassBinning(100).fit(scores, labels).certificate().bound == "common"
    assert fb.UniformMassBinning(101).fit(scores, labels).certificate().bound == "clopper-pearson"
    tied = fb.UniformMassBinning(10).fit(np.round(scores, 2), labels)
    assert tied.certificate().bound == "clopper-pearson"
    moved = fb.shift.LabelShift(fb.UniformMassBinning(10).fit(scores, labels), method="known", target_rate=0.2).fit()
    assert moved.certificate().bound == "clopper-pearson"


def test_it_is_never_above_the_a_priori_one_of_bin_means() -> None:
    scores, labels = calibrated()
    for n_bins in (1, 4, 10, 33):
        cal = fb.UniformMassBinning(n_bins).fit(scores, labels)
        assert cal.certificate().epsilon <= cal.certificate(bound="a-priori").epsilon + 1e-12


def test_of_two_resolutions_it_shares_alpha_with_the_masses() -> None:
    scores, labels = calibrated()
    cal = fb.CertifiedCalibration().fit(scores, labels)
    certificate = cal.certificate(bound="common")
    (name, term), *_ = certificate.terms
    model = cal.model_
    assert name == "one radius"
    assert term == pytest.approx(guarantees.common_radius(model.counts, 0.09, label_sums=model.label_sums), abs=1e-12)
    assert certificate.epsilon == pytest.approx(sum(size for _, size in certificate.terms), abs=1e-12)
    refused(InputError, "it is about all bins at once", cal.certificate, kind="marginal", bound="common")


@pytest.mark.parametrize("values", ["mean", "jeffreys"])
def test_of_certified_bins_of_one_value_it_has_all_of_alpha(values: str) -> None:
    """There are no steps, so no masses of them take a share of alpha."""
    scores, labels = calibrated()
    for n_bins in (1, 10):
        model = fb.CertifiedCalibration(n_bins, values=values).fit(scores, labels).model_
        certificate = model.certificate(bound="common")
        radius = guarantees.common_radius(model.counts, 0.1, label_sums=model.label_sums)
        distance = np.abs(model.label_sums / model.counts - model.values)
        assert certificate.terms[0] == ("one radius", pytest.approx(radius, abs=1e-12))
        assert certificate.epsilon <= radius + float(distance.max()) + 1e-12
        assert certificate.terms[2][1] == 0.0


def test_label_sums_that_are_not_binomial_are_refused() -> None:
    scores, labels = calibrated()
    for cal in (
        fb.UniformMassBinning(10, scheme="ze").fit(scores, labels),
        fb.UniformMassBinning(5).fit(np.round(scores, 1), labels),
    ):
        refused(GuaranteeError, "take bound='clopper-pearson'", cal.certificate, bound="common")
