"""Between calibrated predictors, intervals and prediction sets (Gupta, Podkopaev & Ramdas 2020, Theorems 1 and 2)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastbin
from fastbin import GuaranteeError, InputError, InputTypeError, theory
from oracle import Case, cases, close
from reference import sets as reference

unit = st.floats(0, 1)


@cases("ci_from_calibration")
def test_intervals_from_calibrated_oracle(case: Case) -> None:
    found = theory.intervals_from_calibrated([case.inputs["z"]], case.inputs["eps"])[0]
    assert close(found, case.expected["ci"], case.tolerance)


@given(st.lists(unit, max_size=8), unit)
def test_intervals_from_calibrated_equal_the_reference(values: list[float], epsilon: float) -> None:
    found = theory.intervals_from_calibrated(values, epsilon)
    assert found.shape == (len(values), 2)
    for value, interval in zip(values, found, strict=True):
        exact = reference.interval_from_calibrated(Fraction(value), Fraction(epsilon))
        np.testing.assert_allclose(interval, [float(end) for end in exact], atol=1e-15)


@cases("midpoint")
def test_midpoints_oracle(case: Case) -> None:
    midpoints, epsilon = theory.calibrated_from_intervals(case.inputs["cis"])
    assert close(midpoints, case.expected["midpoints"], case.tolerance)
    assert close(epsilon, case.expected["eps"], case.tolerance)


@given(st.lists(st.tuples(unit, unit).map(sorted), min_size=1, max_size=8))
def test_midpoints_equal_the_reference(intervals: list[list[float]]) -> None:
    midpoints, epsilon = theory.calibrated_from_intervals(intervals, simultaneous=True)
    exact, exact_epsilon = reference.calibrated_from_intervals([(Fraction(low), Fraction(high)) for low, high in intervals])
    np.testing.assert_allclose(midpoints, [float(midpoint) for midpoint in exact], atol=1e-15)
    assert epsilon == pytest.approx(float(exact_epsilon), abs=1e-15)


def test_merged_midpoints_need_simultaneous_intervals() -> None:
    # The counterexample: frequency 0 with mass 0.9 and 1 with mass 0.1, the interval [0, 0] at both. Each sample's interval
    # covers with probability 0.9; the midpoint predictor is 0 everywhere and its true frequency is 0.1.
    with pytest.raises(GuaranteeError, match=r"intervals\[0\] and intervals\[2\] have one midpoint, 0\.25, .*Theorem 1"):
        theory.calibrated_from_intervals([[0.0, 0.5], [0.3, 0.4], [0.2, 0.3]])
    midpoints, epsilon = theory.calibrated_from_intervals([[0.0, 0.5], [0.3, 0.4], [0.2, 0.3]], simultaneous=True)
    np.testing.assert_allclose(midpoints, [0.25, 0.35, 0.25])
    assert epsilon == 0.25


def test_the_round_trip_contains_where_it_came_from() -> None:
    values = np.array([0.2, 0.5, 0.9])
    intervals = theory.intervals_from_calibrated(values, 0.25)
    midpoints, epsilon = theory.calibrated_from_intervals(intervals)
    again = theory.intervals_from_calibrated(midpoints, epsilon)
    assert (again[:, 0] <= intervals[:, 0] + 1e-15).all()
    assert (again[:, 1] >= intervals[:, 1] - 1e-15).all()


@cases("ps_from_ci")
def test_sets_from_intervals_oracle(case: Case) -> None:
    found = theory.sets_from_intervals([[case.inputs["l"], case.inputs["u"]]], non_atomic=True)[0]
    assert [label for label in (0, 1) if found[label]] == case.expected["set"]


@given(st.lists(st.tuples(unit, unit).map(sorted), max_size=8).filter(bool))
def test_sets_from_intervals_equal_the_reference(intervals: list[list[float]]) -> None:
    found = theory.sets_from_intervals(intervals, non_atomic=True)
    for (low, high), row in zip(intervals, found, strict=True):
        assert {label for label in (0, 1) if row[label]} == reference.set_from_interval(Fraction(low), Fraction(high))


def test_binned_models_have_no_sets_from_intervals() -> None:
    calibrator = fastbin.UniformMassBinning(n_bins=2).fit([0.1, 0.2, 0.3, 0.7, 0.8, 0.9], [0, 0, 1, 0, 1, 1])
    for binned in (calibrator, calibrator.model_):
        with pytest.raises(GuaranteeError, match="Theorem 2 is about scores without atoms"):
            theory.sets_from_intervals(binned, non_atomic=True)
    with pytest.raises(GuaranteeError, match="use conformal_sets, or bin_sets for a fitted model"):
        theory.sets_from_intervals(calibrator.model_.interval(), non_atomic=False)


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, match=r"intervals\[1\] is \(0\.6, 0\.5\); it must satisfy 0 <= lower <= upper <= 1"):
        theory.calibrated_from_intervals([[0.1, 0.2], [0.6, 0.5]])
    with pytest.raises(InputError, match=r"intervals\[0\] is \(nan, 0\.5\)"):
        theory.sets_from_intervals([[float("nan"), 0.5]], non_atomic=True)
    with pytest.raises(InputTypeError, match=r"one row \(lower, upper\) each, got shape \(2,\)"):
        theory.sets_from_intervals([0.1, 0.5], non_atomic=True)
    with pytest.raises(InputTypeError, match="not an array of numbers"):
        theory.sets_from_intervals([["a", "b"]], non_atomic=True)
    with pytest.raises(InputError, match="intervals is empty"):
        theory.calibrated_from_intervals(np.empty((0, 2)))
    with pytest.raises(InputError, match=r"values\[1\] is 1\.5"):
        theory.intervals_from_calibrated([0.5, 1.5], 0.1)
    with pytest.raises(InputError, match="epsilon is 2"):
        theory.intervals_from_calibrated([0.5], 2.0)
