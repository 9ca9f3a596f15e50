"""Prediction sets: exact ranks and comparisons, and the sets of bins against conformal prediction done by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastbin import GuaranteeError, InputError, guarantees, theory
from fastbin._fit.tally import linf_isotonic
from oracle import Case, cases
from reference import sets as reference

grid_scores = st.sampled_from([0.0, 5e-324, 0.1, 0.25, 0.3, 0.5, 0.7, 0.75, 0.9, 1 - 2**-53, 1.0])
scores_and_labels = st.lists(st.tuples(st.one_of(grid_scores, st.floats(0, 1)), st.integers(0, 1)), max_size=25)
levels = st.fractions(Fraction(1, 100), Fraction(1, 2), max_denominator=200)


def _as_lists(sets: Any) -> list[list[int]]:
    return [[label for label in (0, 1) if row[label]] for row in sets]


@cases("split_conformal")
def test_split_conformal_oracle(case: Case) -> None:
    inputs = case.inputs
    assert theory.conformal_rank(len(inputs["scores"]), inputs["alpha"]) == case.expected["rank"]
    found = theory.conformal_sets(inputs["queries"], inputs["scores"], inputs["labels"], inputs["alpha"])
    assert _as_lists(found) == case.expected["sets"]


@settings(deadline=None)
@given(scores_and_labels, st.lists(st.one_of(grid_scores, st.floats(0, 1)), max_size=6), levels)
def test_conformal_sets_equal_the_reference(sample: list[tuple[float, int]], queries: list[float], alpha: Fraction) -> None:
    scores, labels = [score for score, _ in sample], [label for _, label in sample]
    _, threshold = reference.conformal_threshold(scores, labels, alpha)
    expected = [sorted(reference.conformal_set(query, threshold)) for query in queries]
    assert _as_lists(theory.conformal_sets(queries, scores, labels, alpha)) == expected


@settings(deadline=None)
@given(scores_and_labels, st.lists(st.floats(0, 1), max_size=6), levels)
def test_class_conditional_sets_compare_within_the_class(
    sample: list[tuple[float, int]], queries: list[float], alpha: Fraction
) -> None:
    scores, labels = [score for score, _ in sample], [label for _, label in sample]
    found = theory.conformal_sets(queries, scores, labels, alpha, class_conditional=True)
    for query, row in zip(queries, found, strict=True):
        for label in (0, 1):
            of_class = [score for score, y in sample if y == label]
            _, threshold = reference.conformal_threshold(of_class, [label] * len(of_class), alpha)
            assert row[label] == (label in reference.conformal_set(query, threshold))


@settings(deadline=None)
@given(scores_and_labels, st.floats(0, 1), levels, st.sampled_from([0.0, 0.25, 0.5, 0.75, 1 - 2**-53]))
def test_randomised_sets_compare_the_smoothed_p_value(
    sample: list[tuple[float, int]], query: float, alpha: Fraction, draw: float
) -> None:
    scores, labels = [score for score, _ in sample], [label for _, label in sample]
    row = theory.conformal_sets([query], scores, labels, alpha, uniforms=[draw])[0]
    conservative = theory.conformal_sets([query], scores, labels, alpha)[0]
    seen = [1 - Fraction(score) if label else Fraction(score) for score, label in sample]
    for label in (0, 1):
        own = 1 - Fraction(query) if label else Fraction(query)
        greater, alike = sum(a > own for a in seen), sum(a == own for a in seen)
        p = (greater + Fraction(draw) * (alike + 1)) / (len(seen) + 1)
        if abs(p - alpha) > Fraction(1, 10**12):
            assert row[label] == (p > alpha)
        assert row[label] <= conservative[label]


def test_ranks_are_rational() -> None:
    assert theory.conformal_rank(9, 0.7) == 3
    assert math.ceil((9 + 1) * (1 - 0.7)) == 4
    for alpha in (Fraction(1, 3), "1/3"):
        assert theory.conformal_rank(11, alpha) == 8
    assert theory.conformal_rank(0, 0.5) == 1
    assert theory.conformal_rank(10**12, 0.1) == 9 * 10**11 + 1


def test_nonconformities_one_rounding_apart_are_told_apart() -> None:
    # 1 - 2^-60 and 1 - 2^-61 both round to 1; exactly, the second is the larger.
    scores, labels = [2.0**-60], [1]
    assert _as_lists(theory.conformal_sets([2.0**-61, 2.0**-60, 2.0**-59], scores, labels, 0.5)) == [[0], [0, 1], [0, 1]]


def test_without_calibration_samples_every_label_is_possible() -> None:
    assert theory.conformal_sets([0.0, 1.0], [], [], 0.1).all()
    assert theory.conformal_sets([], [0.5], [1], 0.1).shape == (0, 2)


def test_conformal_bad_input_is_named() -> None:
    with pytest.raises(InputError, match=r"calibration_scores\[1\] is 2\.0"):
        theory.conformal_sets([0.5], [0.5, 2.0], [0, 1], 0.1)
    with pytest.raises(InputError, match=r"calibration_labels\[0\] is 3"):
        theory.conformal_sets([0.5], [0.5], [3], 0.1)
    with pytest.raises(InputError, match="calibration_scores has 2, calibration_labels has 1"):
        theory.conformal_sets([0.5], [0.5, 0.5], [1], 0.1)
    with pytest.raises(InputError, match=r"uniforms\[0\] is 1\.0; uniform numbers are in"):
        theory.conformal_sets([0.5], [0.5], [1], 0.1, uniforms=[1.0])
    with pytest.raises(InputError, match=r"uniforms has shape \(2,\) for 1 scores"):
        theory.conformal_sets([0.5], [0.5], [1], 0.1, uniforms=[0.1, 0.2])
    with pytest.raises(InputError, match=r"did you mean 0.015"):
        theory.conformal_sets([0.5], [0.5], [1], "3/2")


# ---------------------------------------------------------------------------------------------- sets of bins


def _model(label_sums: list[int], counts: list[int], **options: Any) -> Any:
    defaults = {
        "counts": np.array(counts),
        "label_sums": np.array(label_sums),
        "values": np.full(len(counts), 0.5),
        "scheme": "umd",
        "ties": "random",
        "n_samples": sum(counts) + len(counts) - 1,
        "n_bins": len(counts),
        "n_bins_asked": len(counts),
        "n_tied": 0,
        "delta": 0.0,
        "odds_ratio": 1.0,
        "rates": None,
        "is_weighted": False,
    }
    return SimpleNamespace(**(defaults | options))


def _p_value(ones: int, count: int, label: int, draw: Fraction) -> Fraction:
    """The smoothed conformal p-value of `label` in a bag: the rarer a label in the bag with it in, the less it conforms."""
    bag = [1] * ones + [0] * (count - ones) + [label]
    nonconformity = [-bag.count(y) for y in bag]
    greater = sum(a > nonconformity[-1] for a in nonconformity)
    alike = sum(a == nonconformity[-1] for a in nonconformity)
    return (greater + draw * alike) / Fraction(len(bag))


@settings(deadline=None)
@given(st.integers(0, 12), st.integers(0, 12), levels)
def test_bin_sets_are_conformal_prediction_within_the_bin(ones: int, zeros: int, alpha: Fraction) -> None:
    count = ones + zeros
    row = guarantees.bin_sets(_model([ones, 1], [count, 2]), alpha)[0]
    chances = theory.bin_set_chances(_model([ones, 1], [count, 2]), alpha)[0]
    for label in (0, 1):
        assert row[label] == (_p_value(ones, count, label, Fraction(1)) > alpha)
        # In the set iff the p-value at 1 - u exceeds alpha iff u < chance: at the chance it is alpha, or it never reaches it.
        at_chance = _p_value(ones, count, label, 1 - Fraction(float(chances[label])))
        if 0 < chances[label] < 1:
            assert abs(at_chance - alpha) < Fraction(1, 10**12)
        else:
            assert chances[label] == (1.0 if _p_value(ones, count, label, Fraction(0)) >= alpha else 0.0)


@settings(deadline=None)
@given(st.integers(1, 12), st.integers(0, 10), levels)
def test_randomised_bin_sets_cover_exactly(count: int, tenths: int, alpha: Fraction) -> None:
    # Over all label sums of a bin with frequency p, the next label is in the set with probability 1 - alpha, to the last digit.
    p = Fraction(tenths, 10)
    coverage = Fraction(0)
    for ones in range(count + 1):
        weight = math.comb(count, ones) * p**ones * (1 - p) ** (count - ones)
        chances = theory.bin_set_chances(_model([ones], [count]), alpha)[0]
        coverage += weight * (p * Fraction(float(chances[1])) + (1 - p) * Fraction(float(chances[0])))
    assert float(coverage) == pytest.approx(float(1 - alpha), abs=1e-12)


def test_boundary_labels_widen_the_sets() -> None:
    # Own labels are 1 of 9 or 0 of 9: label 1 is rare, and in the set for the first only.
    plain = guarantees.bin_sets(_model([0, 5], [9, 9]), "3/20")
    widened = guarantees.bin_sets(_model([1, 5], [10, 9], scheme="ze", n_samples=19), "3/20")
    assert plain[0].tolist() == [True, False]
    assert widened[0].tolist() == [True, True]
    assert theory.bin_set_chances(_model([0, 5], [9, 9]), "3/20")[0, 1] == 0.0
    # With 1 of 9 the p-value is 2 u / 10, above 3/20 for a quarter of the draws.
    chances = theory.bin_set_chances(_model([1, 5], [10, 9], scheme="ze", n_samples=19), "3/20")
    assert chances[0, 1] == pytest.approx(0.25)


def test_a_bin_without_samples_excludes_nothing() -> None:
    model = _model([0, 3], [0, 3], scheme="fixed-width", ties="none")
    assert guarantees.bin_sets(model, 0.3)[0].tolist() == [True, True]


def test_bin_sets_refuse_models_without_exchangeable_labels() -> None:
    for options in ({"scheme": "isotonic"}, {"is_weighted": True}, {"ties": "upper", "n_tied": 2}, {"odds_ratio": 2.0}):
        for function in (guarantees.bin_sets, theory.bin_set_chances):
            with pytest.raises(GuaranteeError):
                function(_model([1], [3], **options), 0.1)


# ---------------------------------------------------------------------------------------------- monotone values


@given(st.lists(st.floats(0, 1), max_size=12))
def test_linf_isotonic_is_the_least_shift(values: list[float]) -> None:
    found = linf_isotonic(np.asarray(values))
    assert (np.diff(found) >= 0).all()
    shift = max((abs(a - b) for a, b in zip(found, values, strict=True)), default=0.0)
    # No non-decreasing sequence is nearer than half of the largest fall.
    largest_fall = max((a - b for i, a in enumerate(values) for b in values[i:]), default=0.0)
    assert shift <= largest_fall / 2 + 1e-15
    if largest_fall == 0:
        assert found.tolist() == values


@cases("linf_isotonic")
def test_linf_isotonic_oracle(case: Case) -> None:
    found = linf_isotonic(np.array([float(Fraction(value)) for value in case.inputs["values"]]))
    np.testing.assert_allclose(found, case.expected["values"], rtol=case.tolerance)
