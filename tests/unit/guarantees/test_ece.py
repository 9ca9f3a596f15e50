"""Bounds on the expected calibration error itself."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulation.evidence import fitted, uniform_mass

from fastbin import InputError, InputTypeError, guarantees, intervals, theory
from oracle import Case, cases, close
from reference import bounds as reference


@cases("ece_mcdiarmid")
def test_ece_bound_oracle(case: Case) -> None:
    inputs = case.inputs
    assert close(guarantees.ece_bound(inputs["N"], inputs["n"], inputs["alpha"]), case.expected["bound"], case.tolerance)
    sums = [count // 3 for count in inputs["N"]]
    model = fitted(sums, inputs["N"], n_samples=inputs["n"])
    certificate = guarantees.certify(model, inputs["alpha"], "ece")
    assert close(certificate.epsilon, case.expected["bound"], case.tolerance)
    assert "McDiarmid" in certificate.theorem


@cases("mass_upper")
def test_mass_upper_oracle(case: Case) -> None:
    found = theory.mass_upper([case.inputs["N"]], case.inputs["n"], case.inputs["a"])[0]
    assert close(found, case.expected["p"], case.tolerance)


@settings(max_examples=30, deadline=None)
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
    certificate = guarantees.certify(model, 0.1, "ece")
    assert certificate.uncovered_bins == ()
    # One bin holds all that was seen: its mass may be 1, and the empty one's is bounded by a Clopper-Pearson bound.
    empty_mass = theory.mass_upper([0], 100, 0.005)[0]
    mean = 0.5 * empty_mass + 0.05 * (1 - empty_mass)
    assert certificate.epsilon == pytest.approx(mean + math.sqrt(math.log(1 / 0.09) / 200), rel=1e-9)


def test_ece_bound_says_what_is_wrong() -> None:
    with pytest.raises(InputError, match=r"counts\[1\] is 12; a bin holds between 0 and n_samples = 10"):
        guarantees.ece_bound([3, 12], 10)
    with pytest.raises(InputError, match=r"one distance in \[0, 1\] for each of the 2 bins"):
        guarantees.ece_bound([3, 4], 10, shifts=[0.0])
    with pytest.raises(InputTypeError, match="counts must be integers"):
        theory.mass_upper([0.5], 10, 0.1)
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
        for bound in ("data", "a-priori"):
            certificate = guarantees.certify(model, 0.1, "ece", bound)
            assert certificate.epsilon == guarantees.epsilon(300, 2, 0.1) < guarantees.ece_bound([150, 149], 300, 0.1)
            assert "which bounds the ECE" in certificate.theorem


def test_counts_that_are_random_leave_a_tenth_of_alpha_to_the_masses() -> None:
    model = fitted([30, 40], [150, 150], scheme="fixed-width", ties="none", n_samples=300)
    radius = guarantees.exact_radius(150, intervals.sidak(0.09, 2))
    assert guarantees.certify(model, 0.1, "ece").epsilon == radius < guarantees.ece_bound([150, 150], 300, 0.1)
    empty = fitted([30, 0], [300, 0], scheme="fixed-width", ties="none", n_samples=300)
    assert "McDiarmid" in guarantees.certify(empty, 0.1, "ece").theorem  # an empty bin has no radius


def test_rare_labels_are_better_served_by_the_conditional_certificate() -> None:
    """As docs/guarantees.md says, with its figures."""
    model = fitted([0, 1, 0, 0, 1, 0, 0, 0, 1, 0], [300] + [299] * 9, n_samples=3000)
    conditional, direct = guarantees.certify(model), guarantees.certify(model, kind="ece")
    assert round(direct.epsilon, 3) == 0.051
    assert conditional.epsilon == pytest.approx(0.022, abs=0.002)
