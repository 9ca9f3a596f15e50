"""The reference of bounds, certificates and the papers' formulas: cases computed elsewhere and worked examples."""

from __future__ import annotations

import math
from fractions import Fraction

import oracle
from oracle import Case, close, number
from reference import bounds, formulas


@oracle.cases("sidak")
def test_sidak(case: Case) -> None:
    assert close(bounds.sidak(case.inputs["alpha"], case.inputs["B"]), case.expected["per_bin"], case.tolerance)


@oracle.cases("intervals")
def test_intervals(case: Case) -> None:
    x, n, alpha = case.inputs["x"], case.inputs["n"], case.inputs["alpha"]
    assert close(bounds.clopper_pearson(x, n, alpha), case.expected["cp"], case.tolerance)
    assert close(bounds.kl_interval(x, n, alpha), case.expected["kl"], case.tolerance)
    assert close(bounds.mixture_interval(x, n, alpha), case.expected["betabinomial_cs_half"], case.tolerance)


@oracle.cases("exact_radius")
def test_exact_radius(case: Case) -> None:
    radius = bounds.exact_radius(case.inputs["N"], case.inputs["alpha"])
    assert close(radius, case.expected["eps"], case.tolerance)


def test_exact_radius_is_what_it_says() -> None:
    """On a grid of pi the coverage is at least the claimed infimum, and close to it somewhere."""
    n, epsilon = 20, Fraction(1, 5)
    worst = bounds.coverage_of_radius(n, epsilon)
    covered = []
    for i in range(1, 2000):
        pi = Fraction(i, 2000) + Fraction(1, 10**7)
        low, high = math.ceil(n * (pi - epsilon)), math.floor(n * (pi + epsilon))
        below = bounds.binomial_cdf(low - 1, n, pi) if low > 0 else Fraction(0)
        covered.append(bounds.binomial_cdf(min(high, n), n, pi) - below)
    assert min(covered) >= worst
    assert min(covered) - worst < Fraction(1, 10**5)


@oracle.cases("certificate")
def test_certificate_radii(case: Case) -> None:
    given = case.inputs
    radii = bounds.certificate_radii(given["x"], given["N"], [number(value) for value in given["values"]], given["a"])
    assert close(radii, case.expected["radii"], case.tolerance)


@oracle.cases("mass_upper")
def test_mass_upper_bound(case: Case) -> None:
    bound = bounds.mass_upper_bound(case.inputs["N"], case.inputs["n"], case.inputs["a"])
    assert close(bound, case.expected["p"], case.tolerance)


@oracle.cases("ece_mcdiarmid")
def test_ece_bound(case: Case) -> None:
    bound = bounds.ece_bound(case.inputs["N"], case.inputs["n"], case.inputs["alpha"])
    assert close(bound, case.expected["bound"], case.tolerance)


@oracle.cases("thm4_radius")
def test_empirical_bernstein(case: Case) -> None:
    given = case.inputs
    radius = bounds.empirical_bernstein_radius(given["ones"], given["N"], given["alpha"] / given["B"])
    assert close(radius, case.expected["radius"], case.tolerance)


@oracle.cases("cor3")
def test_corollary_3_takes_the_largest_radius(case: Case) -> None:
    ones, counts, alpha = case.inputs["ones"], case.inputs["N"], case.inputs["alpha"]
    assert close(bounds.bernstein_corollary_3(ones, counts, alpha), case.expected["corrected"], case.tolerance)
    smallest = counts.index(min(counts))
    printed = bounds.empirical_bernstein_radius(ones[smallest], counts[smallest], alpha / len(counts))
    assert close(printed, case.expected["printed"], case.tolerance)


@oracle.cases("umd_bounds", "umd_bounds_delta")
def test_formulas_of_gupta_and_ramdas(case: Case) -> None:
    n, n_bins, alpha = case.inputs["n"], case.inputs["B"], case.inputs["alpha"]
    delta = case.inputs.get("delta", 0.0)
    computed = {
        "eq8": formulas.umd_conditional(n, n_bins, alpha),
        "eq8_from_proof": formulas.umd_conditional_from_proof(n, n_bins, alpha),
        "eq10": formulas.ze_conditional(n, n_bins, alpha),
        "eps1": formulas.umd_marginal(n, n_bins, alpha, delta),
        "eps2": formulas.umd_conditional(n, n_bins, alpha, delta),
        "e_ece": formulas.expected_ece(n, n_bins, delta),
        "e_ece_from_proof": formulas.expected_ece_from_proof(n, n_bins, delta),
    }
    for name, value in case.expected.items():
        assert close(computed[name], value, case.tolerance), name


def test_how_many_labels_a_tenth_takes() -> None:
    """Gupta & Ramdas 2021 says n = 1500 gives 0.1 with 10 bins at alpha = 0.1; it takes 1510."""
    assert formulas.umd_marginal(1500, 10, 0.1) > 0.1
    assert min(n for n in range(1000, 2000) if formulas.umd_marginal(n, 10, 0.1) <= 0.1) == 1510


@oracle.cases("thm5")
def test_smallest_bin_bound(case: Case) -> None:
    bound = formulas.smallest_bin_bound(case.inputs["n2"], case.inputs["B"], case.inputs["alpha"])
    assert close(bound, case.expected["Nmin"], case.tolerance)


@oracle.cases("running_variance")
def test_running_variance(case: Case) -> None:
    variance = formulas.running_variance(case.inputs["labels"])
    assert close(variance, case.expected["unclipped"], case.tolerance)
    assert close(max(variance, Fraction(1)), case.expected["V_plus"], case.tolerance)


@oracle.cases("thm6_radius")
def test_time_uniform_radii(case: Case) -> None:
    given = (case.inputs["V"], case.inputs["N"], case.inputs["B"], case.inputs["alpha"])
    assert close(formulas.theorem_6_radius(*given), case.expected["eq21"], case.tolerance)
    assert close(formulas.stitched_radius(*given), case.expected["stitched_howard_k2"], case.tolerance)


def test_running_variance_example() -> None:
    assert formulas.running_variance([0, 1, 1, 0, 1, 0, 0, 1, 1, 1]) == Fraction(1420309, 396900)


@oracle.cases("sun_thm1")
def test_recalibration_risk_bound(case: Case) -> None:
    given = case.inputs
    calibration, sharpness = formulas.recalibration_risk_bound(given["n"], given["B"], given["delta"], given["K"])
    assert close([calibration, sharpness], [case.expected["Rcal"], case.expected["Rsha"]], case.tolerance)


@oracle.cases("sun_best_B")
def test_best_n_bins(case: Case) -> None:
    n_bins, bound = formulas.best_n_bins(case.inputs["n"], case.inputs["delta"], case.inputs["K"])
    assert n_bins == case.expected["B_thm1"]
    assert close(bound, case.expected["bound_thm1"], case.tolerance)
