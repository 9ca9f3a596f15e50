"""One interval for one bin: against exact binomial arithmetic, the papers' numbers, and the edges of the input space."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastbin import InputError, InputTypeError, intervals, theory
from fresh_python import run_python
from oracle import Case, cases, close
from reference import bounds as reference
from reference import formulas

ALL = [intervals.clopper_pearson, intervals.hoeffding, intervals.empirical_bernstein, intervals.wilson, intervals.beta_binomial]


@st.composite
def tallies(draw: st.DrawFn, largest: int = 60) -> tuple[int, int]:
    count = draw(st.integers(1, largest))
    return draw(st.integers(0, count)), count


# ---------------------------------------------------------------------------------------------- against the reference


@pytest.mark.parametrize("alpha", [0.3, 0.1, 0.0105, 1e-4])
def test_clopper_pearson_is_the_exact_interval_for_every_small_tally(alpha: float) -> None:
    pairs = [(x, n) for n in range(1, 13) for x in range(n + 1)]
    found = intervals.clopper_pearson([x for x, _ in pairs], [n for _, n in pairs], alpha)
    for (x, n), interval in zip(pairs, found, strict=True):
        np.testing.assert_allclose(interval, reference.clopper_pearson(x, n, alpha), atol=2e-14)


@settings(max_examples=60, deadline=None)
@given(tallies(), st.floats(1e-6, 0.5))
def test_clopper_pearson_equals_exact_rational_arithmetic(tally: tuple[int, int], alpha: float) -> None:
    x, n = tally
    np.testing.assert_allclose(
        intervals.clopper_pearson([x], [n], alpha)[0], reference.clopper_pearson(x, n, alpha), atol=1e-13
    )


@pytest.mark.parametrize("count", [10**6, 10**9])
@pytest.mark.parametrize("share", [0.0001, 0.3, 0.5, 0.999])
def test_clopper_pearson_keeps_its_tails_at_large_counts(count: int, share: float) -> None:
    from scipy.special import bdtr, bdtrc

    x, alpha = round(count * share), 0.01
    lower, upper = intervals.clopper_pearson([x], [count], alpha)[0]
    assert math.isclose(bdtr(x, count, upper), alpha / 2, rel_tol=1e-5)
    assert math.isclose(bdtrc(x - 1, count, lower), alpha / 2, rel_tol=1e-5)


@pytest.mark.parametrize(
    ("x", "count", "alpha"), [(1000, 3_926_670_080, 1.4e-4), (1000, 1_614_711_500, 0.4), (1000, 999_505_344, 1e-15)]
)
def test_clopper_pearson_where_the_inverse_of_scipy_has_failed(x: int, count: int, alpha: float) -> None:
    # So few of so many are a Poisson count: the ends are gamma quantiles over the count, to one part in a million.
    from scipy.special import gammainccinv, gammaincinv

    lower, upper = intervals.clopper_pearson([x], [count], alpha)[0]
    assert math.isclose(lower * count, gammaincinv(x, alpha / 2), rel_tol=1e-5)
    assert math.isclose(upper * count, gammainccinv(x + 1, alpha / 2), rel_tol=1e-5)
    mirrored = intervals.clopper_pearson([count - x], [count], alpha)[0]
    np.testing.assert_allclose(mirrored, [1.0 - upper, 1.0 - lower], rtol=0, atol=2.0**-52)
    assert 1.0 - mirrored[1] <= lower < upper <= 1.0 - mirrored[0]  # rounded outwards


@pytest.mark.parametrize("alpha", [0.5, 0.2, 0.002])
def test_clopper_pearson_at_999_of_10100(alpha: float) -> None:
    # Where the inverse of SciPy 1.17 gives 0.25 for an upper end near 0.10.
    from scipy.special import bdtr, bdtrc

    lower, upper = intervals.clopper_pearson([999], [10_100], alpha)[0]
    assert math.isclose(bdtr(999.0, 10_100, upper), alpha / 2, rel_tol=1e-9)
    assert math.isclose(bdtrc(998.0, 10_100, lower), alpha / 2, rel_tol=1e-9)


def test_clopper_pearson_tends_to_the_normal_interval() -> None:
    count, z = 10**13, 2.5758293035489004
    lower, upper = intervals.clopper_pearson([3 * 10**12], [count], 0.01)[0]
    radius = z * math.sqrt(0.3 * 0.7 / count)
    assert math.isclose(0.3 - lower, radius, rel_tol=1e-5)
    assert math.isclose(upper - 0.3, radius, rel_tol=1e-5)


def test_clopper_pearson_at_a_tiny_alpha_keeps_both_tails() -> None:
    # For x = 0 the upper end has a closed form: (1 - p)^n = alpha / 2.
    alpha, n = 1e-110, 1000
    expected = -math.expm1(math.log(alpha / 2) / n)
    lower, upper = intervals.clopper_pearson([0, n], [n, n], alpha)
    assert math.isclose(lower[1], expected, rel_tol=1e-12)
    assert math.isclose(1.0 - upper[0], expected, rel_tol=1e-12)


@settings(max_examples=60, deadline=None)
@given(tallies(), st.floats(1e-6, 0.5))
def test_hoeffding_and_bernstein_follow_their_formulas(tally: tuple[int, int], alpha: float) -> None:
    x, n = tally
    for found, radius in (
        (intervals.hoeffding([x], [n], alpha)[0], reference.hoeffding_radius(n, alpha)),
        (intervals.empirical_bernstein([x], [n], alpha)[0], reference.empirical_bernstein_radius(x, n, alpha)),
    ):
        np.testing.assert_allclose(found, [max(0.0, x / n - radius), min(1.0, x / n + radius)], atol=1e-14)


@settings(max_examples=60, deadline=None)
@given(tallies(200), st.floats(1e-6, 0.5))
def test_beta_binomial_equals_the_slow_root_search(tally: tuple[int, int], alpha: float) -> None:
    x, n = tally
    np.testing.assert_allclose(intervals.beta_binomial([x], [n], alpha)[0], reference.mixture_interval(x, n, alpha), atol=1e-12)


@pytest.mark.parametrize(("x", "n"), [(3, 10), (50, 100), (1, 997), (1999, 2000)])
def test_beta_binomial_ends_where_the_exact_martingale_reaches_the_threshold(x: int, n: int) -> None:
    alpha = Fraction(1, 100)
    # B(x + 1/2, n - x + 1/2) / B(1/2, 1/2) as a fraction, by double factorials.
    mixture = Fraction(
        math.factorial(2 * x) * math.factorial(2 * (n - x)),
        4**n * math.factorial(x) * math.factorial(n - x) * math.factorial(n),
    )

    def rejected(p: float) -> bool:
        exact = Fraction(p)
        return mixture >= exact**x * (1 - exact) ** (n - x) / alpha

    lower, upper = intervals.beta_binomial([x], [n], float(alpha))[0]
    assert rejected(lower - 1e-12)
    assert not rejected(lower + 1e-12)
    assert rejected(upper + 1e-12)
    assert not rejected(upper - 1e-12)


def test_another_prior_is_another_martingale() -> None:
    wide = intervals.beta_binomial([30], [100], 0.05, prior=(1.0, 1.0))[0]
    # With a = b = 1 the mixture is 1 / ((n + 1) binom(n, x)), so M(p) = 1 / ((n + 1) P(X = x)).
    for end in wide:
        density = math.comb(100, 30) * end**30 * (1 - end) ** 70
        assert math.isclose(1.0 / (101 * density), 20.0, rel_tol=1e-9)


def _coverage(bound: object, p: float, n: int, alpha: float) -> float:
    sums = np.arange(n + 1)
    intervals = bound(sums, np.full(n + 1, n), alpha)  # type: ignore[operator]
    return sum(math.comb(n, x) * p**x * (1 - p) ** (n - x) for x in sums.tolist() if intervals[x, 0] <= p <= intervals[x, 1])


def test_wilson_follows_its_formula_and_covers_less_than_it_says() -> None:
    z = 1.959963984540054
    lower, upper = intervals.wilson([50], [100], 0.05)[0]
    assert math.isclose((upper - lower) / 2, z * math.sqrt(0.25 / 100 + z * z / 40000) / (1 + z * z / 100), rel_tol=1e-12)
    # At this frequency its coverage falls to 0.84: why no certificate uses it.
    assert _coverage(intervals.wilson, 0.0017, 100, 0.05) < 0.85
    assert _coverage(intervals.clopper_pearson, 0.0017, 100, 0.05) >= 0.95


# ---------------------------------------------------------------------------------------------- sharing alpha


@given(st.floats(1e-9, 0.5), st.integers(1, 10**6))
def test_sidak_gives_back_alpha(alpha: float, n_bins: int) -> None:
    level = intervals.sidak(alpha, n_bins)
    assert math.isclose(-math.expm1(n_bins * math.log1p(-level)), alpha, rel_tol=1e-12)
    assert intervals.bonferroni(alpha, n_bins) <= level * (1 + 1e-15)


@cases("sidak")
def test_sidak_oracle(case: Case) -> None:
    assert close(intervals.sidak(case.inputs["alpha"], case.inputs["B"]), case.expected["per_bin"], case.tolerance)


# ---------------------------------------------------------------------------------------------- time-uniform


@cases("running_variance")
def test_running_variance_oracle(case: Case) -> None:
    found = theory.running_variance(case.inputs["labels"])
    assert close(found, case.expected["unclipped"], case.tolerance)
    assert close(max(1.0, found), case.expected["V_plus"], case.tolerance)


@given(st.lists(st.integers(0, 1), max_size=80))
def test_running_variance_equals_the_fractions(labels: list[int]) -> None:
    assert math.isclose(theory.running_variance(labels), float(formulas.running_variance(labels)), rel_tol=1e-12, abs_tol=0.0)


def _radius_away_from_the_ends(bound: object, variance: float, count: int, alpha: float) -> float:
    """The radius times the count, at a count so large that [0, 1] does not cut it."""
    large = 10**6 * count
    lower, upper = bound([large // 2], [large], [variance], alpha)[0]  # type: ignore[operator]
    return float((upper - lower) / 2 * large)


@cases("thm6_radius")
def test_theorem6_and_the_boundary_it_simplifies(case: Case) -> None:
    inputs, expected = case.inputs, case.expected
    alpha = inputs["alpha"] / inputs["B"]
    found = _radius_away_from_the_ends(theory.theorem6, inputs["V"], inputs["N"], alpha) / inputs["N"]
    assert close(found, expected["eq21"], 1e-9)
    found = _radius_away_from_the_ends(intervals.stitched, inputs["V"], inputs["N"], alpha) / inputs["N"]
    assert close(found, expected["stitched_howard_k2"], 1e-9)


@given(st.floats(0, 1e6), st.integers(1, 10**6), st.floats(1e-9, 0.5))
@settings(max_examples=40)
def test_time_uniform_radii_equal_the_formulas(variance: float, count: int, alpha: float) -> None:
    clipped = max(1.0, variance)
    for bound, formula in ((theory.theorem6, formulas.theorem_6_radius), (intervals.stitched, formulas.stitched_radius)):
        lower, upper = bound([count], [count], [variance], alpha)[0]
        assert upper == 1.0
        assert math.isclose(lower, max(0.0, 1.0 - formula(clipped, count, 1, alpha)), abs_tol=1e-9)


def test_theorem6_never_falls_below_the_boundary_that_proves_it() -> None:
    # At this alpha and variance the printed radius (21) is too small: it does not follow from its own proof.
    variance, alpha = 1e6, 1e-40
    printed = formulas.theorem_6_radius(variance, 1, 1, alpha)
    proven = formulas.stitched_radius(variance, 1, 1, alpha)
    assert printed < proven
    assert _radius_away_from_the_ends(theory.theorem6, variance, 10, alpha) == pytest.approx(proven)


def test_the_mixture_is_three_times_narrower_than_theorem6() -> None:
    level = intervals.sidak(0.1, 10)
    mixture = np.diff(intervals.beta_binomial([500], [1000], level))[0, 0] / 2
    theorem6 = np.diff(theory.theorem6([500], [1000], [250.0], intervals.bonferroni(0.1, 10)))[0, 0] / 2
    assert round(mixture, 3) == 0.064
    assert round(theorem6, 3) == 0.186


# ---------------------------------------------------------------------------------------------- oracle


@cases("intervals")
def test_intervals_oracle(case: Case) -> None:
    x, n, alpha = case.inputs["x"], case.inputs["n"], case.inputs["alpha"]
    assert close(intervals.clopper_pearson([x], [n], alpha)[0], case.expected["cp"], case.tolerance)
    assert close(intervals.beta_binomial([x], [n], alpha)[0], case.expected["betabinomial_cs_half"], case.tolerance)


@cases("thm4_radius")
def test_theorem4_oracle(case: Case) -> None:
    ones, count = case.inputs["ones"], case.inputs["N"]
    level = intervals.bonferroni(case.inputs["alpha"], case.inputs["B"])
    lower, upper = intervals.empirical_bernstein([ones], [count], level)[0]
    radius = case.expected["radius"]
    assert close([lower, upper], [max(0.0, ones / count - radius), min(1.0, ones / count + radius)], case.tolerance)


@cases("cor3")
def test_corollary3_takes_the_largest_radius(case: Case) -> None:
    ones, counts = np.array(case.inputs["ones"]), np.array(case.inputs["N"])
    found = intervals.empirical_bernstein(ones, counts, intervals.bonferroni(case.inputs["alpha"], len(counts)))
    radii = np.maximum(found[:, 1] - ones / counts, ones / counts - found[:, 0])
    assert close(radii.max(), case.expected["corrected"], case.tolerance)
    assert close(radii[np.argmin(counts)], case.expected["printed"], case.tolerance)


# ---------------------------------------------------------------------------------------------- the edges of the input


@pytest.mark.parametrize("bound", ALL)
def test_an_empty_bin_says_nothing(bound: object) -> None:
    intervals = bound([0, 1], [0, 2], 0.1)  # type: ignore[operator]
    assert intervals[0].tolist() == [0.0, 1.0]
    assert intervals.dtype == np.float64
    assert intervals.shape == (2, 2)


@pytest.mark.parametrize("bound", [theory.theorem6, intervals.stitched])
def test_an_empty_bin_says_nothing_at_any_time(bound: object) -> None:
    assert bound([0], [0], [0.0], 0.1).tolist() == [[0.0, 1.0]]  # type: ignore[operator]


@pytest.mark.parametrize("bound", [intervals.clopper_pearson, intervals.wilson, intervals.beta_binomial])
def test_empty_and_full_label_sums_reach_the_ends_exactly(bound: object) -> None:
    counts = np.array([1, 2, 7, 1000, 10**9])
    assert (bound(np.zeros_like(counts), counts, 0.05)[:, 0] == 0.0).all()  # type: ignore[operator]
    assert (bound(counts, counts, 0.05)[:, 1] == 1.0).all()  # type: ignore[operator]


@pytest.mark.parametrize("bound", ALL)
def test_intervals_are_mirrored_when_labels_are_exchanged(bound: object) -> None:
    counts = np.array([1, 5, 100, 100, 12345])
    sums = np.array([0, 2, 3, 50, 12000])
    one, other = bound(sums, counts, 0.03), bound(counts - sums, counts, 0.03)  # type: ignore[operator]
    np.testing.assert_allclose(one, 1.0 - other[:, ::-1], atol=1e-14)


@pytest.mark.parametrize("bound", ALL)
def test_no_bins_no_intervals(bound: object) -> None:
    empty = np.empty(0, dtype=np.int64)
    assert bound(empty, empty, 0.1).shape == (0, 2)  # type: ignore[operator]


@pytest.mark.parametrize("bound", ALL)
@pytest.mark.parametrize(
    ("sums", "counts", "alpha", "kind", "message"),
    [
        ([1, 5], [2, 4], 0.1, InputError, r"label_sums\[1\] is 5 and counts\[1\] is 4"),
        ([-1], [4], 0.1, InputError, r"label_sums\[0\] is -1"),
        ([1], [2, 3], 0.1, InputError, "label_sums has 1, counts has 2"),
        ([0.5], [2], 0.1, InputTypeError, "label_sums must be integers"),
        ([[1]], [[2]], 0.1, InputTypeError, r"one per bin; got dtype int64 and shape \(1, 1\)"),
        ([1], [2], 0.0, InputError, "strictly between 0 and 1"),
        ([1], [2], 5, InputError, "did you mean 0.05"),
        ([1], [2], "0.1", InputTypeError, "alpha must be a number"),
    ],
)
def test_bad_input_is_named(
    bound: object, sums: list[float], counts: list[int], alpha: float, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        bound(sums, counts, alpha)  # type: ignore[operator]


def test_bad_variances_and_priors_are_named() -> None:
    with pytest.raises(InputError, match=r"running_variances\[1\] is nan"):
        intervals.stitched([1, 1], [2, 2], [1.0, math.nan], 0.1)
    with pytest.raises(InputError, match=r"shape \(1,\) for 2 bins"):
        theory.theorem6([1, 1], [2, 2], [1.0], 0.1)
    with pytest.raises(InputError, match="prior is"):
        intervals.beta_binomial([1], [2], 0.1, prior=(0.0, 1.0))


def test_importing_bounds_and_guarantees_does_not_import_scipy() -> None:
    code = "import sys, fastbin.intervals, fastbin.guarantees; sys.exit('scipy' in sys.modules)"
    assert run_python("-c", code).returncode == 0
