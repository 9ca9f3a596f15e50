"""The exact radius, what n samples promise, and how many bins to take."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulation.evidence import fitted, uniform_mass
from wordings import refused

import fastbin as fb
from fastbin import GuaranteeError, InputError, InputTypeError, guarantees, intervals, theory
from fastbin.guarantees import samples_needed
from fastbin.guarantees.n_bins import integer_cube_root, interior_counts
from oracle import Case, cases, close
from reference import bounds as reference
from reference import formulas
from strategies import examples

# ---------------------------------------------------------------------------------------------- exact radius


@cases("exact_radius")
def test_exact_radius_oracle(case: Case) -> None:
    assert close(guarantees.exact_radius(case.inputs["N"], case.inputs["alpha"]), case.expected["eps"], case.tolerance)


@pytest.mark.parametrize("alpha", [0.45, 0.3, 0.1, 0.01])
def test_exact_radius_equals_the_exact_search(alpha: float) -> None:
    for n in (1, 2, 3, 5, 8, 13):
        assert guarantees.exact_radius(n, alpha) == pytest.approx(reference.exact_radius(n, alpha), abs=1e-13)


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(1, 40), st.floats(0.001, 0.5))
def test_a_radius_is_enough_and_nothing_below_it_is(n: int, alpha: float) -> None:
    # In fractions throughout: the coverage at the radius and a little below it.
    radius = guarantees.exact_radius(n, alpha)
    needed = 1 - Fraction(alpha)
    assert reference.coverage_of_radius(n, Fraction(radius) + Fraction(1, 10**12)) >= needed - Fraction(1, 10**12)
    assert reference.coverage_of_radius(n, Fraction(radius) - Fraction(1, 10**12)) < needed


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(1, 40), st.fractions(Fraction(1, 100), 1))
def test_worst_failure_is_one_minus_the_exact_coverage(n: int, epsilon: Fraction) -> None:
    # At distances that are exact doubles, so that both look at the same sums.
    dyadic = Fraction(round(epsilon * 2**20), 2**20)
    expected = 1 - reference.coverage_of_radius(n, dyadic)
    assert theory.worst_failure(n, float(dyadic)) == pytest.approx(float(expected), abs=1e-12)


def _failures_everywhere(n: int, epsilon: float) -> float:
    """The largest failure probability over every candidate, from another binomial cdf, without grids."""
    from scipy.stats import binom

    width = math.floor(2 * n * epsilon * (1 + 2.0**-52))
    x = np.arange(n + 1)
    p = x / n + epsilon
    x, p = x[p < 1 - 1e-12], p[p < 1 - 1e-12]
    return float((binom.cdf(x, n, p) + binom.sf(x + width, n, p)).max())


@pytest.mark.sampled
@pytest.mark.parametrize("n", [4095, 4096, 4097, 5000, 9999, 60_000])
@pytest.mark.parametrize("alpha", [0.5, 0.1, 0.001])
def test_the_grid_search_finds_the_maximum_over_all_candidates(n: int, alpha: float) -> None:
    radius = guarantees.exact_radius(n, alpha)
    for epsilon in (radius, radius * 0.999, 0.1 * radius):
        assert theory.worst_failure(n, epsilon) == pytest.approx(_failures_everywhere(n, epsilon), rel=1e-8)
    assert _failures_everywhere(n, radius) <= alpha * (1 + 1e-9)
    assert _failures_everywhere(n, radius * (1 - 1e-6)) > alpha


@pytest.mark.slow
@pytest.mark.parametrize(("n", "alpha"), [(1_000_000, 0.1), (1_000_000, 0.0105), (777_777, 0.01)])
def test_the_grid_search_finds_the_maximum_at_large_counts(n: int, alpha: float) -> None:
    radius = guarantees.exact_radius(n, alpha)
    assert theory.worst_failure(n, radius) == pytest.approx(_failures_everywhere(n, radius), rel=1e-7)


@pytest.mark.parametrize(
    ("n", "at_10", "at_5", "at_1", "sidak_10", "sidak_20"),
    [
        (49, 0.1224, 0.1429, 0.1850, 0.1837, 0.2041),
        (99, 0.0859, 0.1010, 0.1313, 0.1313, 0.1414),
        (299, 0.0485, 0.0569, 0.0753, 0.0753, 0.0819),
        (999, 0.0261, 0.0310, 0.0410, 0.0405, 0.0445),
    ],
)
def test_known_radii(n: int, at_10: float, at_5: float, at_1: float, sidak_10: float, sidak_20: float) -> None:
    levels = (0.1, 0.05, 0.01, intervals.sidak(0.1, 10), intervals.sidak(0.1, 20))
    found = [round(guarantees.exact_radius(n, level), 4) for level in levels]
    np.testing.assert_allclose(found, [at_10, at_5, at_1, sidak_10, sidak_20], atol=1.01e-4)


@given(st.integers(1, 3000), st.floats(1e-6, 0.5))
@settings(max_examples=examples(40), deadline=None)
def test_exact_radius_is_never_above_hoeffding(n: int, alpha: float) -> None:
    assert 0 < guarantees.exact_radius(n, alpha) <= min(1.0, reference.hoeffding_radius(n, alpha)) + 0.5 / n


def test_the_radius_is_not_monotone_in_the_count() -> None:
    radii = [guarantees.exact_radius(n, 0.1) for n in range(60, 90)]
    assert any(after > before for before, after in pairwise(radii))
    assert radii[-1] < radii[0]


def test_a_million_samples_take_well_under_a_second() -> None:
    started = time.perf_counter()
    radius = guarantees.exact_radius(1_000_003, 0.0123)
    assert time.perf_counter() - started < 2.0
    # Far out the radius is the normal one.
    assert radius == pytest.approx(2.503 * 0.5 / math.sqrt(1_000_003), rel=2e-3)


@pytest.mark.parametrize("n", [0, -1])
def test_radius_refuses_counts_below_one(n: int) -> None:
    refused(InputError, f"n_in_bin is {n}; it must be at least 1", guarantees.exact_radius, n, 0.1)
    refused(InputError, "alpha is 1", guarantees.exact_radius, 5, 1)
    refused(InputTypeError, "n_in_bin must be an integer", theory.worst_failure, 5.5, 0.1)
    refused(InputError, "epsilon is 0", theory.worst_failure, 5, 0.0)


# ---------------------------------------------------------------------------------------------- epsilon


def _counts_by_hand(n: int, n_bins: int, scheme: str) -> list[tuple[int, bool]]:
    """The samples between the ranks of each bin, and whether it averages the label at its edge, too."""
    if scheme == "umb":
        ranks = [n * b // n_bins for b in range(n_bins)] + [n + 1]
    else:
        ranks = [math.ceil(Fraction(b * (n + 1), n_bins)) for b in range(n_bins + 1)]
    return [(high - low - 1, scheme != "umd" and b < n_bins - 1) for b, (low, high) in enumerate(pairwise(ranks))]


@pytest.mark.parametrize("scheme", ["umd", "ze", "umb"])
def test_interior_counts_are_those_of_the_ranks(scheme: str) -> None:
    for n in range(1, 60):
        for n_bins in range(1, n + 1):
            found = interior_counts(n, n_bins, scheme)
            assert set(found) == set(_counts_by_hand(n, n_bins, scheme)), (n, n_bins)
            assert sum(found.values()) == n_bins


@cases("umd_bounds")
def test_papers_formulas_oracle(case: Case) -> None:
    n, n_bins, alpha = case.inputs["n"], case.inputs["B"], case.inputs["alpha"]
    found = {
        "eq8": guarantees.epsilon(n, n_bins, alpha, bound="hoeffding"),
        "eq10": guarantees.epsilon(n, n_bins, alpha, bound="hoeffding", scheme="ze"),
        "eps1": guarantees.epsilon(n, n_bins, alpha, "marginal", "hoeffding"),
        "eps2": guarantees.epsilon(n, n_bins, alpha, "ece", "hoeffding"),
        "e_ece": guarantees.epsilon(n, n_bins, alpha, "expected-ece", "hoeffding"),
    }
    for name, value in found.items():
        assert close(value, case.expected[name], case.tolerance), name
    # What the proof of Theorem 4(b) gives is the root of a mean square; the mean itself is a fifth smaller.
    if n // n_bins > 20:
        assert 0.79 < guarantees.epsilon(n, n_bins, alpha, "expected-ece") / case.expected["e_ece_from_proof"] < 0.82


@pytest.mark.parametrize("delta", [0.0, 0.001, 0.3])
@pytest.mark.parametrize(("n", "n_bins"), [(1000, 10), (61, 5), (19, 10)])
def test_the_mean_error_is_that_of_the_worst_frequency(n: int, n_bins: int, delta: float) -> None:
    expected = max(
        min(reference.largest_mean_deviation(count) + delta, math.sqrt(0.25 / count + delta**2))
        for count, _ in _counts_by_hand(n, n_bins, "umd")
    )
    assert guarantees.epsilon(n, n_bins, 0.1, "expected-ece", delta=delta) == pytest.approx(expected, rel=1e-9)
    if (n, delta) == (1000, 0.0):
        assert round(expected, 4) == 0.0402


@cases("umd_bounds_delta")
def test_delta_is_added_oracle(case: Case) -> None:
    n, n_bins, alpha, delta = (case.inputs[name] for name in ("n", "B", "alpha", "delta"))
    for kind, name in (("marginal", "eps1"), ("conditional", "eps2"), ("expected-ece", "e_ece")):
        found = guarantees.epsilon(n, n_bins, alpha, kind, "hoeffding", delta=delta)
        assert close(found, case.expected[name], case.tolerance), kind


@given(st.integers(2, 5000), st.integers(1, 100), st.floats(0.001, 0.5), st.floats(0, 0.1))
@settings(max_examples=examples(60))
def test_hoeffding_forms_equal_the_reference(n: int, n_bins: int, alpha: float, delta: float) -> None:
    if n < 2 * n_bins:
        refused(GuaranteeError, "need n >= 2 n_bins", guarantees.epsilon, n, n_bins, alpha, bound="hoeffding")
        return
    epsilon = partial(guarantees.epsilon, n, n_bins, alpha, bound="hoeffding")
    for found, expected in (
        (epsilon(delta=delta), formulas.umd_conditional(n, n_bins, alpha, delta)),
        (epsilon(scheme="umb"), formulas.ze_conditional(n, n_bins, alpha)),
        (epsilon(kind="marginal", delta=delta), formulas.umd_marginal(n, n_bins, alpha, delta)),
        (epsilon(kind="expected-ece", delta=delta), formulas.expected_ece(n, n_bins, delta)),
    ):
        assert found == pytest.approx(expected, rel=1e-12)


def test_figure_2_and_the_other_claims_of_the_paper() -> None:
    for n, n_bins, limit in ((1_000, 5, 0.12), (5_000, 10, 0.08), (20_000, 22, 0.06)):
        assert guarantees.epsilon(n, n_bins, 0.1, bound="hoeffding") <= limit
        assert guarantees.epsilon(n, n_bins, 0.1) < guarantees.epsilon(n, n_bins, 0.1, bound="hoeffding")
    assert guarantees.epsilon(2900, 10, 0.1, bound="hoeffding", scheme="ze") < 0.1
    # "n = 1500 gives a marginal epsilon below 0.1" is false; 1510 is the smallest n that does.
    below = [n for n in range(1000, 1600) if guarantees.epsilon(n, 10, 0.1, "marginal", "hoeffding") < 0.1]
    assert below == list(range(1510, 1600))


def test_exact_epsilon_is_the_worst_of_the_bins() -> None:
    level = intervals.sidak(0.1, 7)
    radii = {count: guarantees.exact_radius(count, level) for count in (142, 143)}
    assert guarantees.epsilon(1002, 7, 0.1) == max(radii.values())
    ze = max(radii[142] + 1 / 143, radii[143] + 1 / 144)
    assert guarantees.epsilon(1002, 7, 0.1, scheme="ze") == pytest.approx(ze, rel=1e-14)
    assert guarantees.epsilon(1002, 7, 0.1, delta=0.25) == pytest.approx(max(radii.values()) + 0.25)


@pytest.mark.parametrize("scheme", ["umd", "ze", "umb"])
def test_ece_kind_follows_the_counts_of_the_scheme(scheme: str) -> None:
    bins = _counts_by_hand(503, 7, scheme)
    counts, shifts = [count for count, _ in bins], [averages / (count + 1) for count, averages in bins]
    assert guarantees.epsilon(503, 7, 0.1, "ece", scheme=scheme) == guarantees.ece_bound(counts, 503, 0.1, shifts=shifts)


def test_epsilon_says_what_is_wrong() -> None:
    refused(GuaranteeError, "without a sample of its own", guarantees.epsilon, 5, 10)
    refused(GuaranteeError, "leaves a bin without a sample of its own", guarantees.epsilon, 12, 10)
    refused(GuaranteeError, "at least 2 samples", guarantees.epsilon, 1, 1, bound="hoeffding")
    with pytest.raises(InputError, match=r"Theorem 4\(b\) is about scheme 'umd', not 'ze'"):
        guarantees.epsilon(100, 2, kind="expected-ece", bound="hoeffding", scheme="ze")
    refused(InputError, "kind is 'both'; choose one of 'conditional', 'marginal'", guarantees.epsilon, 100, 2, kind="both")
    refused(InputError, "scheme is 'ums'", guarantees.epsilon, 100, 2, scheme="ums")
    refused(InputError, "delta is 1", guarantees.epsilon, 100, 2, delta=1.0)


# ---------------------------------------------------------------------------------------------- how many bins


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["conditional", "marginal"])
@pytest.mark.parametrize("bound", ["a-priori", "hoeffding"])
@pytest.mark.parametrize(("n", "alpha", "target"), [(300, 0.1, 0.2), (907, 0.1, 0.1), (1200, 0.3, 0.12), (2000, 0.05, 0.15)])
def test_choose_n_bins_is_the_largest_of_all(n: int, alpha: float, target: float, kind: str, bound: str) -> None:
    promises = [guarantees.epsilon(n, n_bins, alpha, kind, bound) for n_bins in range(1, n // 2 + 1)]
    expected = max(i + 1 for i, promise in enumerate(promises) if promise <= target)
    assert guarantees.choose_n_bins(n, alpha, target, kind, bound) == expected


def test_the_promise_is_not_monotone_in_the_number_of_bins() -> None:
    # So the largest number is found by looking at all, not by halving: some smaller ones fail where it holds.
    promises = [guarantees.epsilon(2000, n_bins, 0.1) for n_bins in range(1, 200)]
    assert any(after < before for before, after in pairwise(promises))


def test_choose_n_bins_refuses_what_no_number_can_promise() -> None:
    with pytest.raises(
        GuaranteeError, match=r"50 samples in a single bin promise no more than 0\.12 .*one bin keeps it from 75 samples on"
    ):
        guarantees.choose_n_bins(50)
    assert samples_needed(0.1, 1) == 75
    assert guarantees.choose_n_bins(75) >= 1
    refused(GuaranteeError, "1 samples", guarantees.choose_n_bins, 1, bound="hoeffding")
    assert guarantees.choose_n_bins(151) >= 1
    refused(InputError, "epsilon is 1", guarantees.choose_n_bins, 100, epsilon=1.0)
    refused(InputError, "kind is 'ece'", guarantees.choose_n_bins, 100, kind="ece")


def test_auto_n_bins_keeps_its_rule() -> None:
    for n in (1, 5, 19, 20, 60, 99, 100, 400, 843, 1000, 1660, 5000, 9000, 14_000, 100_000):
        found = guarantees.auto_n_bins(n)
        fewest = max(1, min(5, n // 20))
        most = max(fewest, 2 * integer_cube_root(n))
        assert fewest <= found <= most
        assert 2 * found <= n or n == 1
        if fewest < found < most:
            assert found == guarantees.choose_n_bins(n, 0.1, 0.1)
        if found > fewest:
            assert found == most or guarantees.epsilon(n, found) <= 0.1
    assert guarantees.auto_n_bins(1660) == 10


def test_auto_n_bins_is_fast_and_does_not_fall() -> None:
    guarantees.auto_n_bins(2)
    sizes = np.unique(np.logspace(0, 9, 60).astype(int))
    started = time.perf_counter()
    found = [guarantees.auto_n_bins(int(n)) for n in sizes]
    assert (time.perf_counter() - started) / len(sizes) < 0.05
    assert found == sorted(found)
    assert found[-1] == 2000


def test_trade_off_rows_are_the_promises() -> None:
    rows = theory.trade_off(1000, 0.1)
    assert [row.n_bins for row in rows] == sorted({row.n_bins for row in rows})
    assert guarantees.auto_n_bins(1000) in {row.n_bins for row in rows}
    for row in rows:
        assert row.conditional == guarantees.epsilon(1000, row.n_bins, 0.1)
        assert row.marginal == guarantees.epsilon(1000, row.n_bins, 0.1, "marginal")
        assert row.conditional_hoeffding == guarantees.epsilon(1000, row.n_bins, 0.1, bound="hoeffding")
        assert row.expected_ece == guarantees.epsilon(1000, row.n_bins, 0.1, "expected-ece")
        assert row.samples_per_bin == 1001 // row.n_bins - 1
    assert [row.n_bins for row in theory.trade_off(2)] == [1]
    assert [row.n_bins for row in theory.trade_off(50, n_bins=[7, 3, 3])] == [3, 7]
    refused(GuaranteeError, "take at most 5 bins", theory.trade_off, 10, n_bins=[6])
    refused(InputTypeError, r"n_bins is 5; give a list of numbers of bins, such as \[5, 10\]", theory.trade_off, 10, n_bins=5)
    refused(InputError, "n is 1", theory.trade_off, 1)


# ------------------------------------------------------------------------------------------------- samples needed


def test_both_numbers_of_the_documentation() -> None:
    """Bins of 70 and 165 samples reach a tenth exactly; ten bins hold so many from n = 709 and 1659 on."""
    for kind, first, last_failing in (("conditional", 1659, 1708), ("marginal", 709, 758)):
        kept = {n: fb.epsilon(n, 10, 0.1, kind) <= 0.1 for n in range(500, 2700)}
        assert min(n for n in kept if kept[n]) == first
        assert max(n for n in kept if not kept[n]) == last_failing
        assert samples_needed(0.1, 10, kind=kind) == last_failing + 1
    for kind, first in (("conditional", 2660), ("marginal", 1510)):
        kept = {n: fb.epsilon(n, 10, 0.1, kind, "hoeffding") <= 0.1 for n in range(1000, 3000)}
        assert samples_needed(0.1, 10, kind=kind, bound="hoeffding") == min(n for n in kept if kept[n]) == first
    # The rational search agrees at 70 samples, where doubles might decide either way.
    enough, fewer = (reference.coverage_of_radius(n, Fraction(1, 10)) for n in (70, 69))
    assert enough >= Fraction(9, 10) > fewer


@pytest.mark.parametrize("scheme", ["umd", "ze", "umb"])
@pytest.mark.parametrize("kind", ["conditional", "marginal"])
@pytest.mark.parametrize(("epsilon", "n_bins", "alpha"), [(0.3, 3, 0.2), (0.15, 1, 0.1), (0.2, 7, 0.05), (0.12, 2, 0.5)])
def test_it_is_the_last_failure_and_one(epsilon: float, n_bins: int, alpha: float, kind: str, scheme: str) -> None:
    enough = samples_needed(epsilon, n_bins, alpha, kind, "hoeffding", scheme=scheme)
    sizes = range(2 * n_bins, enough + 3 * n_bins)
    failing = [n for n in sizes if fb.epsilon(n, n_bins, alpha, kind, scheme=scheme) > epsilon]
    assert samples_needed(epsilon, n_bins, alpha, kind, scheme=scheme) == max(failing, default=2 * n_bins - 1) + 1
    smaller = fb.epsilon(enough - 1, n_bins, alpha, kind, "hoeffding", scheme=scheme) if enough > 2 * n_bins else 1.0
    assert smaller > epsilon >= fb.epsilon(enough, n_bins, alpha, kind, "hoeffding", scheme=scheme)


@pytest.mark.parametrize(("epsilon", "alpha"), [(0.0151, 0.1), (0.02, 0.01), (0.011, 0.3)])
def test_large_counts_by_runs(epsilon: float, alpha: float) -> None:
    needed = samples_needed(epsilon, 1, alpha)
    assert needed > 2000
    assert theory.worst_failure(needed - 1, epsilon) > alpha
    for count in [*range(needed, needed + 100), *range(needed + 100, 2 * needed, 297)]:
        assert theory.worst_failure(count, epsilon) <= alpha


def test_bad_input_is_named() -> None:
    for call, told in (
        (lambda: samples_needed(0.0, 1), "epsilon is 0.0"),
        (lambda: samples_needed(0.1, 0), "n_bins is 0"),
        (lambda: samples_needed(0.1, 1, 0.9), "did you mean 0.1"),
        (lambda: samples_needed(0.1, 1, kind="ece"), "kind is 'ece'"),
        (lambda: samples_needed(0.1, 1, bound="exact"), "it is called 'a-priori'"),
        (lambda: samples_needed(0.1, 1, scheme="ums"), "scheme is 'ums'"),
        (lambda: samples_needed(1e-9, 10), "takes more than 2\\*\\*53 samples"),
    ):
        refused(fb.InputError, told, call)


# ------------------------------------------------------------------------------------------------- the ECE


@cases("ece_mcdiarmid")
def test_ece_bound_oracle(case: Case) -> None:
    inputs = case.inputs
    # The oracle bounds mean deviations by standard deviations.
    found = guarantees.ece_bound(inputs["N"], inputs["n"], inputs["alpha"])
    assert 0.83 * case.expected["bound"] < found < 0.92 * case.expected["bound"]
    sums = [count // 3 for count in inputs["N"]]
    model = fitted(sums, inputs["N"], n_samples=inputs["n"])
    certificate = guarantees.certify(model, inputs["alpha"], "ece", "a-priori")
    assert certificate.epsilon == found
    assert "McDiarmid" in certificate.theorem


@cases("mass_upper")
def test_mass_upper_oracle(case: Case) -> None:
    found = theory.mass_upper([case.inputs["N"]], case.inputs["n"], case.inputs["a"])[0]
    assert close(found, case.expected["p"], case.tolerance)


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=6), st.integers(0, 10), st.floats(0.01, 0.5))
def test_ece_bound_equals_the_reference(counts: list[int], dropped: int, alpha: float) -> None:
    n = sum(counts) + dropped
    if any(count == n for count in counts):
        n += 1
    assert guarantees.ece_bound(counts, n, alpha) == pytest.approx(min(1.0, reference.ece_bound(counts, n, alpha)), abs=1e-9)


def test_ece_of_changed_values_pays_for_the_change() -> None:
    model = uniform_mass()
    plain = guarantees.certify(model, kind="ece")
    moved = guarantees.certify(replace(model, values=np.clip(model.values + 0.02, 0, 1)), kind="ece")
    assert plain.epsilon < moved.epsilon <= plain.epsilon + 0.02 + 1e-12
    assert plain.epsilon < guarantees.certify(model).epsilon


def test_ece_covers_empty_bins_by_their_values() -> None:
    model = fitted([10, 0], [100, 0], values=np.array([0.1, 0.5]), scheme="fixed-width", ties="none", n_samples=100)
    certificate = guarantees.certify(model, 0.1, "ece", "a-priori")
    assert certificate.uncovered_bins == guarantees.certify(model, 0.1, "ece").uncovered_bins == ()
    # One bin holds all that was seen: its mass may be 1, and the empty one's is bounded by a Clopper-Pearson bound.
    empty_mass = theory.mass_upper([0], 100, 0.005)[0]
    mean = 0.5 * empty_mass + reference.largest_mean_deviation(100) * (1 - empty_mass)
    assert certificate.epsilon == pytest.approx(mean + math.sqrt(math.log(1 / 0.09) / 200), rel=1e-9)


def test_ece_bound_says_what_is_wrong() -> None:
    refused(InputError, r"counts\[1\] is 12; a bin holds between 0 and n_samples = 10", guarantees.ece_bound, [3, 12], 10)
    refused(InputError, r"one distance in \[0, 1\] for each of the 2 bins", guarantees.ece_bound, [3, 4], 10, shifts=[0.0])
    refused(InputTypeError, "counts must be integers", theory.mass_upper, [0.5], 10, 0.1)
    assert theory.mass_upper([10], 10, 0.1).tolist() == [1.0]
    assert guarantees.ece_bound([0, 0], 5) == 1.0


@pytest.mark.parametrize("n_bins", [1, 2, 3, 4, 5, 10])
@pytest.mark.parametrize("scheme", ["umd", "ze", "umb"])
def test_the_a_priori_ece_is_never_above_what_the_conditional_promise_implies(n_bins: int, scheme: str) -> None:
    for n in (60, 503, 3000):
        direct = guarantees.epsilon(n, n_bins, 0.1, "ece", scheme=scheme)
        conditional = guarantees.epsilon(n, n_bins, 0.1, scheme=scheme)
        assert direct <= conditional
        if n_bins == 1 and scheme == "umd":
            assert direct == conditional
        if n_bins == 10 and n > 60:
            assert direct < 0.8 * conditional


def test_the_choice_between_the_two_bounds_looks_at_counts_alone() -> None:
    for ones in ([0, 0], [3, 40], [150, 149], [150, 0]):
        model = fitted(ones, [150, 149], n_samples=300)
        before, after = (guarantees.certify(model, 0.1, "ece", bound) for bound in ("a-priori", "data"))
        assert before.epsilon == guarantees.epsilon(300, 2, 0.1) < guarantees.ece_bound([150, 149], 300, 0.1)
        assert after.epsilon == guarantees.common_radius([150, 149], 0.1, label_sums=ones) <= before.epsilon + 1e-12
        assert all("which bounds the ECE" in certificate.theorem for certificate in (before, after))


def test_counts_that_are_random_leave_a_tenth_of_alpha_to_the_masses() -> None:
    model = fitted([30, 40], [150, 150], scheme="fixed-width", ties="none", n_samples=300)
    radius = guarantees.exact_radius(150, intervals.sidak(0.09, 2))
    assert guarantees.certify(model, 0.1, "ece", "a-priori").epsilon == radius < guarantees.ece_bound([150, 150], 300, 0.1)
    after = guarantees.common_radius([150, 150], 0.09, label_sums=[30, 40])
    assert guarantees.certify(model, 0.1, "ece").epsilon == after < radius
    empty = fitted([30, 0], [300, 0], scheme="fixed-width", ties="none", n_samples=300)
    assert "McDiarmid" in guarantees.certify(empty, 0.1, "ece").theorem  # an empty bin has no radius


def test_rare_labels_are_better_served_by_the_conditional_certificate() -> None:
    """As docs/guarantees.md says, with its figures."""
    model = fitted([0, 1, 0, 0, 1, 0, 0, 0, 1, 0], [300] + [299] * 9, n_samples=3000)
    single, one = (guarantees.certify(model, bound=bound).epsilon for bound in ("clopper-pearson", "common"))
    assert round(guarantees.certify(model, kind="ece", bound="a-priori").epsilon, 3) == 0.045
    assert round(guarantees.certify(model, kind="ece").epsilon, 3) == 0.015
    assert single == pytest.approx(0.022, abs=0.002)
    assert one == pytest.approx(0.025, abs=0.002)
