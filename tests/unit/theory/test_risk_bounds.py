"""Bounds on the recalibration risk (Sun, Song & Hero 2023), and on the smallest bin of a split sample."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastbin import GuaranteeError, InputError, theory
from fastbin.guarantees.n_bins import integer_cube_root
from oracle import Case, cases, close
from reference import formulas


@cases("sun_thm1")
def test_theorem1_oracle(case: Case) -> None:
    inputs = case.inputs
    found = theory.risk_bound(inputs["n"], inputs["B"], inputs["delta"], inputs["K"])
    assert close(found.calibration, case.expected["Rcal"], case.tolerance)
    assert close(found.sharpness, case.expected["Rsha"], case.tolerance)
    assert found.total == found.calibration + found.sharpness


@cases("sun_best_B")
def test_minimisers_oracle(case: Case) -> None:
    n, alpha, smoothness = case.inputs["n"], case.inputs["delta"], case.inputs["K"]
    best = theory.risk_n_bins(n, alpha, smoothness)
    assert best == case.expected["B_thm1"]
    assert close(theory.risk_bound(n, best, alpha, smoothness).total, case.expected["bound_thm1"], case.tolerance)
    best = theory.risk_n_bins(n, alpha, smoothness, bound="zeta")
    assert best == case.expected["B_zeta"]
    assert close(theory.zeta(n, best, alpha, smoothness), case.expected["zeta"], case.tolerance)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 1500), st.floats(0.01, 0.5), st.floats(0.01, 50))
def test_the_minimiser_is_the_minimiser_of_all(n: int, alpha: float, smoothness: float) -> None:
    expected, _ = formulas.best_n_bins(n, alpha, smoothness)
    assert theory.risk_n_bins(n, alpha, smoothness) == expected
    by_zeta = min(range(1, n // 2 + 1), key=lambda n_bins: theory.zeta(n, n_bins, alpha, smoothness))
    assert theory.risk_n_bins(n, alpha, smoothness, bound="zeta") == by_zeta


def test_known_minimisers_and_the_law() -> None:
    assert theory.risk_n_bins(10_000, 0.1, 2.0) == 51
    # Eight times the samples, about twice the bins.
    ratio = theory.risk_n_bins(8 * 10**9, 0.1, 2.0) / theory.risk_n_bins(10**9, 0.1, 2.0)
    assert 1.9 < ratio < 2.05


def test_simplified_bound_is_above_the_theorem_where_it_applies() -> None:
    for n_bins in (1, 2, 5, 10, 50, 100, 250):
        theorem = theory.risk_bound(1000, n_bins, 0.1, 3.0).total
        assert theorem <= theory.zeta(1000, n_bins, 0.1, 3.0)


@cases("thm5")
def test_theorem5_oracle(case: Case) -> None:
    found = theory.smallest_bin(case.inputs["n2"], case.inputs["B"], case.inputs["alpha"])
    assert close(found, case.expected["Nmin"], case.tolerance)
    assert found == pytest.approx(formulas.smallest_bin_bound(case.inputs["n2"], case.inputs["B"], case.inputs["alpha"]))


@given(st.integers(0, 10**40))
def test_integer_cube_root_is_exact(n: int) -> None:
    root = integer_cube_root(n)
    assert root**3 <= n < (root + 1) ** 3


def test_integer_cube_root_where_doubles_fail() -> None:
    assert int(1000 ** (1 / 3)) == 9
    for root in (1, 2, 10, 64, 99, 10**6, 10**12):
        assert integer_cube_root(root**3) == root
        assert integer_cube_root(root**3 - 1) == root - 1


def test_bad_input_is_named() -> None:
    with pytest.raises(GuaranteeError, match="Lemma 4 needs n >= 2 n_bins; take at most 5 bins"):
        theory.risk_bound(10, 6)
    with pytest.raises(InputError, match="smoothness is 0.0; it is the constant K".replace(".", r"\.")):
        theory.risk_bound(10, 5, smoothness=0.0)
    with pytest.raises(InputError, match="n is -1; it must be at least 0"):
        integer_cube_root(-1)
    with pytest.raises(InputError, match="bound is 'best'"):
        theory.risk_n_bins(100, 0.1, 1.0, bound="best")
    with pytest.raises(InputError, match="n is 1; it must be at least 2"):
        theory.risk_n_bins(1, 0.1, 1.0)
