"""Bounds on the expected calibration error itself."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from guarantee.evidence import fitted, uniform_mass
from hypothesis import given, settings
from hypothesis import strategies as st

from fastbin import InputError, InputTypeError, guarantees
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
    found = guarantees.mass_upper([case.inputs["N"]], case.inputs["n"], case.inputs["a"])[0]
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
    empty_mass = guarantees.mass_upper([0], 100, 0.005)[0]
    mean = 0.5 * empty_mass + 0.05 * (1 - empty_mass)
    assert certificate.epsilon == pytest.approx(mean + math.sqrt(math.log(1 / 0.09) / 200), rel=1e-9)


def test_ece_bound_says_what_is_wrong() -> None:
    with pytest.raises(InputError, match=r"counts\[1\] is 12; a bin holds between 0 and n_samples = 10"):
        guarantees.ece_bound([3, 12], 10)
    with pytest.raises(InputError, match=r"one distance in \[0, 1\] for each of the 2 bins"):
        guarantees.ece_bound([3, 4], 10, shifts=[0.0])
    with pytest.raises(InputTypeError, match="counts must be integers"):
        guarantees.mass_upper([0.5], 10, 0.1)
    assert guarantees.mass_upper([10], 10, 0.1).tolist() == [1.0]
    assert guarantees.ece_bound([0, 0], 5) == 1.0
