"""One interval for one bin: against exact binomial arithmetic, the papers' numbers, and the edges of the input space."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy
from commands import run
from hypothesis import given, settings
from hypothesis import strategies as st
from wordings import refused

import fastbin as fb
from fastbin import InputError, InputTypeError, guarantees, intervals, theory
from fastbin.guarantees.certificate import sureness
from fastbin.intervals.binomial import beta_quantile, distinct
from fresh_python import run_python
from oracle import Case, cases, close
from reference import bounds as reference
from reference import formulas
from strategies import examples

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


@settings(max_examples=examples(60), deadline=None)
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


@settings(max_examples=examples(60), deadline=None)
@given(tallies(), st.floats(1e-6, 0.5))
def test_hoeffding_and_bernstein_follow_their_formulas(tally: tuple[int, int], alpha: float) -> None:
    x, n = tally
    for found, radius in (
        (intervals.hoeffding([x], [n], alpha)[0], reference.hoeffding_radius(n, alpha)),
        (intervals.empirical_bernstein([x], [n], alpha)[0], reference.empirical_bernstein_radius(x, n, alpha)),
    ):
        np.testing.assert_allclose(found, [max(0.0, x / n - radius), min(1.0, x / n + radius)], atol=1e-14)


@settings(max_examples=examples(60), deadline=None)
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
@settings(max_examples=examples(40))
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
        ([1], [2], "0.1", InputTypeError, "alpha must be a real number"),
    ],
)
def test_bad_input_is_named(
    bound: object, sums: list[float], counts: list[int], alpha: float, kind: type[Exception], message: str
) -> None:
    refused(kind, message, bound, sums, counts, alpha)


def test_bad_variances_and_priors_are_named() -> None:
    refused(InputError, r"running_variances\[1\] is nan", intervals.stitched, [1, 1], [2, 2], [1.0, math.nan], 0.1)
    refused(InputError, r"shape \(1,\) for 2 bins", theory.theorem6, [1, 1], [2, 2], [1.0], 0.1)
    refused(InputError, "prior is", intervals.beta_binomial, [1], [2], 0.1, prior=(0.0, 1.0))
    refused(InputError, "prior is .* at most 1e6", intervals.beta_binomial, [1], [2], 0.1, prior=(1.0, 1.1e6))


def test_the_greatest_prior_loses_no_digit_that_shows() -> None:
    """The exact ends, by 60 digits; beyond, those of 1e13 are 4e-3 too near the mean."""
    found = intervals.beta_binomial([5], [10], 0.1, prior=(1e6, 1e6))
    np.testing.assert_allclose(found[0], [0.1962554646591604, 0.8037445353408396], rtol=0, atol=1e-9)


def test_importing_bounds_and_guarantees_does_not_import_scipy() -> None:
    code = "import sys, fastbin.intervals, fastbin.guarantees; sys.exit('scipy' in sys.modules)"
    assert run_python("-c", code).returncode == 0


# ------------------------------------------------------------------------------------------------- extreme levels


SMALLEST = 1e-100


# ---------------------------------------------------------------------------------------------- intervals, in rationals


def tail_above(x: int, n: int, p: float) -> Fraction:
    """P(X >= x) for X ~ Binomial(n, p), exactly."""
    exact = Fraction(p)
    return sum((math.comb(n, k) * exact**k * (1 - exact) ** (n - k) for k in range(x, n + 1)), Fraction(0))


def inwards(end: float, towards: float) -> float:
    """A little on: ends are computed by way of their complements, so to the digits of numbers near 1."""
    return end + 2.5e-16 if towards > end else end - 2.5e-16


@pytest.mark.sampled
@pytest.mark.parametrize("alpha", [0.5, 0.1, 1e-3, 1e-12, 1e-50, SMALLEST, 1e-110])
@pytest.mark.parametrize(("x", "n"), [(0, 1), (1, 5), (2, 5), (4, 5), (3, 40), (20, 40), (39, 40), (60, 200), (200, 200)])
def test_clopper_pearson_is_valid_and_tight_at_any_level(x: int, n: int, alpha: float) -> None:
    (lower, upper) = intervals.clopper_pearson([x], [n], alpha)[0].tolist()
    half, slack = Fraction(alpha) / 2, Fraction(1, 10**5)
    assert 0.0 <= lower <= x / n <= upper <= 1.0
    if x > 0:
        assert tail_above(x, n, lower) <= half * (1 + slack)
        assert tail_above(x, n, inwards(lower, 1)) > half * (1 - slack)
    else:
        assert lower == 0.0
    if x < n:
        assert 1 - tail_above(x + 1, n, upper) <= half * (1 + slack)
        assert 1 - tail_above(x + 1, n, inwards(upper, 0)) > half * (1 - slack)
    else:
        assert upper == 1.0


def normal_tail(a: float, b: float, p: float, upper: bool) -> float:
    """The tail of the beta law by Temme's uniform expansion (1982) to its second term: another way than the library's."""
    from decimal import Decimal, localcontext

    with localcontext() as context:
        context.prec = 60
        first, second, point = Decimal(a), Decimal(b), Decimal(p)
        total, centre = first + second, first / (first + second)
        distance = centre * (centre / point).ln() + (1 - centre) * ((1 - centre) / (1 - point)).ln()
        eta = (2 * distance).sqrt() * (1 if point > centre else -1)
        z, extra = (
            float(eta * total.sqrt()),
            float((1 / eta - (centre * (1 - centre)).sqrt() / (point - centre)) / total.sqrt()),
        )
    density = math.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi)
    sign = 1.0 if upper else -1.0
    return 0.5 * math.erfc(sign * z / math.sqrt(2.0)) - sign * density * extra


@pytest.mark.parametrize("tail", [0.05, 0.005, 1e-6, 1e-12, 5e-101])
@pytest.mark.parametrize(
    ("a", "b"),
    [(1e6, 7e6), (1e6, 9e15), (1e10, 7e10), (9e10, 1.1e11), (1e12, 7e12), (1e14, 7e14), (1e15, 7e15), (4.5e15, 4.5e15)],
)
@pytest.mark.parametrize("upper", [False, True])
def test_quantiles_of_large_counts(a: float, b: float, tail: float, upper: bool) -> None:
    """SciPy 1.12 knows its own functions to four or five digits there, and errs outwards; later ones to six."""
    (point,) = beta_quantile(np.array([a]), np.array([b]), tail, upper=upper)
    outwards = 2e-5 if scipy.__version__.startswith("1.12.") else 3e-6
    assert tail * (1 - outwards) <= normal_tail(a, b, float(point), upper) <= tail * (1 + 3e-6)


@pytest.mark.parametrize("upper", [False, True])
def test_many_quantiles_are_those_of_each_alone(upper: bool) -> None:
    rng = np.random.default_rng(3)
    a, tails = rng.choice([1.0, 2.0, 40.0, 3e12], 600), rng.choice([0.05, 1e-9, 1e-200], 600)
    b = np.where(a > 1e11, 5e12, rng.integers(1, 900, 600))
    alone = [beta_quantile(*(column[[i]] for column in (a, b, tails)), upper=upper)[0] for i in range(600)]
    assert beta_quantile(a, b, tails, upper=upper).tolist() == alone
    assert beta_quantile(a, b, 0.05, upper=upper).tolist() == beta_quantile(a, b, np.full(600, 0.05), upper=upper).tolist()


def test_intervals_shrink_with_the_count_up_to_the_largest() -> None:
    for share in (0.5, 0.125, 1e-9):
        counts = np.array([10**k for k in range(11, 16)] + [2**53])
        ends = intervals.clopper_pearson((counts * share).astype(np.int64), counts, 0.01)
        assert (np.diff(ends[:, 1] - ends[:, 0]) < 0.0).all()
        standard = np.sqrt(share * (1 - share) / counts)
        np.testing.assert_allclose((ends[:, 1] - ends[:, 0]) / standard, 2 * 2.5758, rtol=0.05 if share < 1e-6 else 1e-3)


@pytest.mark.parametrize(
    "method",
    [intervals.clopper_pearson, intervals.hoeffding, intervals.empirical_bernstein, intervals.wilson, intervals.beta_binomial],
)
@pytest.mark.parametrize("count", [2**53 + 1, 10**16, 2**62])
def test_larger_counts_are_refused(method: Callable[..., Any], count: int) -> None:
    with pytest.raises(fb.InputError, match=rf"counts\[1\] is {count}; above 2\*\*53 = 9007199254740992"):
        method([1, count // 2], [5, count], 0.1)
    with pytest.raises(fb.InputError, match=r"counts\[0\] is 18446744073709551615; above 2\*\*53"):
        method(np.array([1], np.uint64), np.array([2**64 - 1], np.uint64), 0.1)


# ---------------------------------------------------------------------------------------------- the smallest level

SCORES = np.random.default_rng(8).random(600)
LABELS = (np.random.default_rng(9).random(600) < SCORES).astype(np.uint8)
MODEL = fb.UniformMassBinning(n_bins=6).fit(SCORES, LABELS).model_
TALLY = ([3, 40], [10, 80])
PAIRS = ([0.5, 1.5] * 40, [1, 0] * 40)

OF_A_BIN: dict[str, Callable[[float], Any]] = {
    "clopper_pearson": lambda alpha: intervals.clopper_pearson(*TALLY, alpha),
    "hoeffding": lambda alpha: intervals.hoeffding(*TALLY, alpha),
    "empirical_bernstein": lambda alpha: intervals.empirical_bernstein(*TALLY, alpha),
    "wilson": lambda alpha: intervals.wilson(*TALLY, alpha),
    "beta_binomial": lambda alpha: intervals.beta_binomial(*TALLY, alpha),
    "stitched": lambda alpha: intervals.stitched(*TALLY, [2.0, 20.0], alpha),
    "theorem6": lambda alpha: theory.theorem6(*TALLY, [2.0, 20.0], alpha),
    "self_normalised_hoeffding": lambda alpha: intervals.self_normalised_hoeffding([190.0], [300.0], [300], alpha, 1.5),
    "theorem7": lambda alpha: theory.theorem7([190.0], [300.0], [300], alpha, 0.5, 1.5),
    "theorem10": lambda alpha: theory.theorem10(*PAIRS, alpha, 1.5, 1.0),
    "weighted_empirical_bernstein": lambda alpha: intervals.weighted_empirical_bernstein(*PAIRS, alpha, 1.5),
    "betting": lambda alpha: intervals.betting(*PAIRS, alpha, 1.5),
    "exact_radius": lambda alpha: guarantees.exact_radius(30, alpha),
    "mass_upper": lambda alpha: theory.mass_upper([99], 1000, alpha),
    "sidak": lambda alpha: intervals.sidak(alpha, 10),
    "bonferroni": lambda alpha: intervals.bonferroni(alpha, 10),
}
OF_ALL_BINS: dict[str, Callable[[float], Any]] = {
    **{f"interval {method}": (lambda alpha, m=method: MODEL.interval(alpha, m)) for method in ("clopper-pearson", "hoeffding")},
    **{
        f"{kind} {bound}": (lambda alpha, k=kind, b=bound: MODEL.certificate(alpha, k, b).epsilon)
        for kind, found in {
            "conditional": ("clopper-pearson", "a-priori"),
            "marginal": ("clopper-pearson",),
            "ece": ("data",),
        }.items()
        for bound in found
    },
    "epsilon": lambda alpha: fb.epsilon(600, 6, alpha),
    "epsilon ece": lambda alpha: fb.epsilon(600, 6, alpha, "ece"),
    "reliability_table": lambda alpha: fb.assess.reliability_table(SCORES, LABELS, alpha=alpha).intervals,
    "monitor": lambda alpha: fb.online.CalibrationMonitor(MODEL, alpha).report().bins[0].interval,
}


@pytest.mark.parametrize("name", [*OF_A_BIN, *OF_ALL_BINS])
def test_answers_are_finite_down_to_the_smallest_level_and_refused_below(name: str) -> None:
    call, smallest = (OF_A_BIN[name], 1e-110) if name in OF_A_BIN else (OF_ALL_BINS[name], SMALLEST)
    at_it, before = (np.asarray(call(alpha), dtype=np.float64) for alpha in (smallest, 1e-3))
    assert np.isfinite(at_it).all()
    assert ((at_it >= 0.0) & (at_it <= 1.0)).all()
    if at_it.shape[-1:] == (2,):  # never narrower than at a larger level
        ends, wider = before.reshape(-1, 2), at_it.reshape(-1, 2)
        assert (wider[:, 0] <= ends[:, 0] + 1e-12).all()
        assert (wider[:, 1] >= ends[:, 1] - 1e-12).all()
    refused(fb.InputError, rf"alpha is 1e-200; the smallest accepted is {smallest:g}", call, 1e-200)


def test_levels_shared_among_many_bins_are_accepted() -> None:
    n = 5000
    cal = fb.FixedWidthBinning(n_bins=n).fit((np.arange(2 * n) // 2 + 0.5) / n, np.arange(2 * n) % 2)
    assert np.isfinite(cal.model_.interval(SMALLEST)).all()
    assert cal.certificate(SMALLEST).epsilon <= 1.0


# ---------------------------------------------------------------------------------------------- words


@pytest.mark.parametrize("alpha", [SMALLEST, 1e-20, 1e-16, 3e-9, 9.9e-7])
def test_a_promise_never_claims_certainty(alpha: float) -> None:
    told = str(MODEL.certificate(alpha))
    assert told.startswith(f"With probability at least 1 - {alpha:.6g} over the 600")
    assert "100 %" not in told


def test_percentages_are_rounded_down() -> None:
    told = {0.1: "90 %", 0.05: "95 %", 0.01: "99 %", 0.07: "93 %", 0.5: "50 %", 1e-6: "99.9999 %", 1 / 3: "66.6666 %"}
    assert {alpha: sureness(alpha) for alpha in told} == told
    for alpha in np.random.default_rng(1).random(500) / 2:
        shown = re.fullmatch(r"([\d.]+) %", sureness(float(alpha)))
        assert shown
        assert 0 <= 1 - Fraction(float(alpha)) - Fraction(shown[1]) / 100 < Fraction(1, 10**6) + Fraction(1, 10**15)


# ----------------------------------------------------------------------------------------- swapped for a level of confidence


@pytest.mark.parametrize(
    ("alpha", "meant"),
    [
        (90, "0.1"),
        (95.0, "0.05"),
        (99.9, "0.001"),
        (10, "0.1"),
        (5, "0.05"),
        (1, "0.01"),
        (0.95, "0.05"),
        (0.9, "0.1"),
        (0.51, "0.49"),
    ],
)
def test_a_level_of_confidence_is_no_alpha(alpha: float, meant: str) -> None:
    told = re.escape(f"alpha is {float(alpha)!r}; alpha is the chance that the promise fails; did you mean {meant}?")
    calls: list[Callable[[], Any]] = [
        lambda: MODEL.interval(alpha),
        lambda: MODEL.certificate(alpha),
        lambda: MODEL.predict_interval([0.5], alpha=alpha),
        lambda: MODEL.predict_set([0.5], alpha=alpha),
        lambda: fb.epsilon(1000, 10, alpha),
        lambda: fb.choose_n_bins(1000, alpha),
        lambda: intervals.clopper_pearson([1], [5], alpha),
        lambda: intervals.sidak(alpha, 3),
        lambda: intervals.betting(*PAIRS, alpha, 1.5),
        lambda: theory.conformal_sets(SCORES, LABELS, SCORES, alpha),
        lambda: guarantees.bin_sets(MODEL, alpha),
        lambda: fb.assess.squared_ece(SCORES, LABELS, alpha=alpha),
        lambda: fb.online.CalibrationMonitor(MODEL, alpha),
    ]
    for call in calls:
        refused(fb.InputError, f"^{told}$", call)
    of_tests = f"test_level is {float(alpha)!r}; test_level is the chance that a verdict is wrong; did you mean {meant}?"
    refused(
        fb.InputError, f"^{re.escape(of_tests)}$",
        lambda: fb.assess.check_certificate(MODEL, SCORES, LABELS, test_level=alpha),
    )  # fmt: skip


def test_the_command_line_says_the_same(tmp_path: Any) -> None:
    MODEL.save(tmp_path / "m.fbm")
    for alpha, meant in (("90", "0.1"), ("0.95", "0.05")):
        result = run("inspect", str(tmp_path / "m.fbm"), "--alpha", alpha, code=2)
        assert f"did you mean {meant}?" in " ".join(result.output.split())


def test_a_half_is_the_largest() -> None:
    assert MODEL.interval(0.5).shape == (6, 2)
    assert theory.conformal_rank(9, 0.7) == 3  # a rank is not yet a promise


@pytest.mark.parametrize("kind", ["counts", "one tail", "halves", "one column", "all alike"])
def test_equal_quantiles_are_asked_for_once(kind: str) -> None:
    rng = np.random.default_rng(8)
    assert [len(found) for found in distinct(np.empty(0), np.empty(0), np.empty(0))] == [0, 0]
    for n in (1, 2, 60, 300):
        columns = [rng.integers(0, 4, n).astype(float) for _ in range(3)]
        columns[2][:] = 0.1 if kind != "counts" else columns[2]
        if kind == "halves":
            columns[0] += 0.5
        for constant in columns[: {"one column": 1, "all alike": 2}.get(kind, 0)]:
            constant[:] = 7.0
        firsts, places = distinct(*columns)
        assert all((column[firsts][places] == column).all() for column in columns)
        assert len({*zip(*columns, strict=True)}) == len(firsts)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda n: guarantees.exact_radius(n, 0.1), "n_in_bin"),
        (lambda n: guarantees.law.worst_failure(n, 0.1), "n_in_bin"),
        (lambda n: fb.epsilon(n, 2, bound="hoeffding"), "n"),
        (lambda n: fb.choose_n_bins(n), "n"),
        (lambda n: theory.risk_n_bins(n, 0.1, 1.0), "n"),
    ],
)
def test_more_samples_than_doubles_tell_apart_are_refused(call: Callable[[int], float], name: str) -> None:
    for n in (2**53 + 1, 10**17, 10**400):  # the last one is beyond doubles
        refused(InputError, f"^{name} is {n}; it must be at least . and at most {2**53}$", call, n)
    assert 0.0 <= call(2**53) < 2**53


def test_ranks_and_levels_of_other_kinds_are_refused() -> None:
    assert theory.conformal_rank(np.int8(127), 0.1) == 116
    refused(InputError, "^n is -1; it must be at least 0$", theory.conformal_rank, -1, 0.1)
    for n in (9.5, "9", None):
        refused(InputTypeError, "^n must be an integer", theory.conformal_rank, n, 0.1)
    for alpha in ("x", "1/0", ""):
        refused(
            InputTypeError,
            "^alpha is .*; pass a number, such as 0.1, or a text, such as '1/20'$",
            theory.conformal_rank,
            9,
            alpha,
        )


@pytest.mark.parametrize("value", ["a", None, 1j])
def test_what_is_no_number_is_refused_by_name(value: Any) -> None:
    sums, counts = [3.0], [3]
    if value is not None:  # None is read as NaN
        hoeffding = intervals.self_normalised_hoeffding
        refused(InputTypeError, "^weighted_label_sums must be numbers", hoeffding, value, sums, counts, 0.1, 1.5)
    refused(InputTypeError, "^weight_min must be a real number", theory.theorem7, [1.0], sums, counts, 0.1, value, 1.5)
    refused(InputTypeError, "^weight_max must be a real number", theory.theorem7, [1.0], sums, counts, 0.1, 0.5, value)
    refused(InputTypeError, "^smoothness must be a real number", theory.risk_n_bins, 1000, 0.1, value)
