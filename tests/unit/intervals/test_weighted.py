"""Intervals under importance weights: against slow loops, exact cases, and each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from wordings import refused

from fastbin import InputError, InputTypeError, intervals, theory
from fastbin.intervals.weighted import WeighedRows, _theorem10_radius
from oracle import Case, cases, close
from reference.clusters import lower_end_of_bets
from strategies import examples

FROM_ROWS = [intervals.weighted_empirical_bernstein, intervals.betting]


@st.composite
def samples(draw: st.DrawFn) -> tuple[list[float], list[int], float]:
    bound = draw(st.sampled_from([0.5, 1.0, 1.5, 4.0, 100.0]))
    n = draw(st.integers(1, 40))
    shares = draw(st.lists(st.sampled_from([0.0, 0.01, 0.25, 0.5, 0.9, 1.0]), min_size=n, max_size=n))
    labels = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    return [share * bound for share in shares], labels, bound


# ---------------------------------------------------------------------------------------------- slow twins


def _halving(rejects: Callable[[float], bool]) -> float:
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if rejects(middle) else (low, middle)
    return low


def _both_ends(lower_end: Callable[[Sequence[int]], float], labels: Sequence[int]) -> list[float]:
    return [lower_end(labels), 1.0 - lower_end([1 - y for y in labels])]


def slow_bernstein(weights: Sequence[float], labels: Sequence[int], alpha: float, bound: float) -> list[float]:
    n, log_term = len(weights), math.log(3 / alpha)

    def lower_end(y: Sequence[int]) -> float:
        def rejects(theta: float) -> bool:
            z = [w * (label - theta) for w, label in zip(weights, y, strict=True)]
            mean = sum(z) / n
            variance = sum((value - mean) ** 2 for value in z) / n
            return mean > math.sqrt(2 * variance * log_term / n) + 3 * bound * log_term / n

        return _halving(rejects) if rejects(0.0) else 0.0

    return _both_ends(lower_end, labels)


def slow_betting(weights: Sequence[float], labels: Sequence[int], alpha: float, bound: float) -> list[float]:
    shares = [weight / bound for weight in weights]
    return _both_ends(lambda y: lower_end_of_bets(shares, y, alpha / 2), labels)


def slow_fractions(
    weights: Sequence[float], labels: Sequence[int], alpha: float, bound: float, stakes: Sequence[float]
) -> list[float]:
    def lower_end(y: Sequence[int]) -> float:
        def rejects(theta: float) -> bool:
            fortune = 0.0
            for stake in stakes:
                fortune += math.prod(1 + stake * w / bound * (label / theta - 1) for w, label in zip(weights, y, strict=True))
            return fortune / len(stakes) >= 2 / alpha

        return _halving(rejects)

    return _both_ends(lower_end, labels)


@settings(max_examples=examples(60), deadline=None)
@given(samples(), st.floats(0.001, 0.5))
def test_bernstein_and_betting_equal_their_definitions(sample: tuple[list[float], list[int], float], alpha: float) -> None:
    weights, labels, bound = sample
    found = intervals.weighted_empirical_bernstein(weights, labels, alpha, bound)[0]
    np.testing.assert_allclose(found, slow_bernstein(weights, labels, alpha, bound), atol=1e-7)
    found = intervals.betting(weights, labels, alpha, bound)[0]
    np.testing.assert_allclose(found, slow_betting(weights, labels, alpha, bound), atol=1e-9)
    stakes = (0.001, 0.3, 0.95)
    found = intervals.betting(weights, labels, alpha, bound, stakes=stakes)[0]
    np.testing.assert_allclose(found, slow_fractions(weights, labels, alpha, bound, stakes), atol=1e-9)


# ---------------------------------------------------------------------------------------------- oracle


@cases("weighted_ci_hoeffding")
def test_self_normalised_hoeffding_oracle(case: Case) -> None:
    w, y = np.array(case.inputs["w"]), np.array(case.inputs["labels"])
    found = intervals.self_normalised_hoeffding([w @ y], [w.sum()], [len(w)], case.inputs["alpha"], case.inputs["U"])[0]
    assert close(found, [case.expected["lo"], case.expected["hi"]], case.tolerance)


@cases("bet_grid_ci")
def test_betting_oracle(case: Case) -> None:
    inputs = case.inputs
    found = intervals.betting(inputs["w"], inputs["labels"], inputs["alpha"], inputs["U"], stakes=tuple(inputs["kappas"]))[0]
    assert close(found, case.expected["ci"], case.tolerance)


@cases("thm7")
def test_theorem7_oracle(case: Case) -> None:
    inputs, expected = case.inputs, case.expected
    level = intervals.bonferroni(inputs["alpha"], inputs["B"])
    half = inputs["Nb"] / 2
    found = theory.theorem7([half], [2 * half], [inputs["Nb"]], level, inputs["L"], inputs["U"])[0]
    radius = expected["explicit"] if expected["condition_holds"] else 1.0
    assert close(found, [max(0.0, 0.5 - radius), min(1.0, 0.5 + radius)], case.tolerance)


@cases("thm10")
def test_theorem10_oracle(case: Case) -> None:
    inputs = case.inputs
    rows = WeighedRows(inputs["w"], inputs["labels"], inputs["U"], None, None)
    level = intervals.bonferroni(inputs["alpha"], inputs["B"])
    estimates, radii = _theorem10_radius(rows, np.array([inputs["m_b"]]), level)
    assert close(estimates[0], case.expected["estimate"], case.tolerance)
    assert close(radii[0], case.expected["radius"], case.tolerance)
    public = theory.theorem10(inputs["w"], inputs["labels"], level, inputs["U"], inputs["m_b"])
    assert public.tolist() == [[0.0, 1.0]]


# ---------------------------------------------------------------------------------------------- properties


@pytest.mark.parametrize("bound", FROM_ROWS)
def test_bins_are_independent_of_each_other_and_of_the_order_of_rows(bound: Any) -> None:
    rng = np.random.default_rng(5)
    weights, labels, bins = rng.random(400) * 2, rng.integers(0, 2, 400), rng.integers(0, 3, 400)
    together = bound(weights, labels, 0.05, [2.0, 3.0, 2.0, 2.0], bins=bins, n_bins=4)
    assert together.shape == (4, 2)
    assert together[3].tolist() == [0.0, 1.0]
    alone = bound(weights[bins == 0], labels[bins == 0], 0.05, 2.0)[0]
    assert together[0].tolist() == alone.tolist()
    shuffle = rng.permutation(400)
    again = bound(weights[shuffle], labels[shuffle], 0.05, [2.0, 3.0, 2.0, 2.0], bins=bins[shuffle], n_bins=4)
    np.testing.assert_allclose(again, together, atol=1e-12)


@pytest.mark.parametrize("bound", FROM_ROWS)
def test_scaling_weights_and_bound_together_changes_nothing(bound: Any) -> None:
    rng = np.random.default_rng(6)
    weights, labels = rng.random(200), rng.integers(0, 2, 200)
    np.testing.assert_allclose(bound(weights, labels, 0.05, 1.0), bound(weights * 8, labels, 0.05, 8.0), atol=1e-12)


@pytest.mark.parametrize("bound", FROM_ROWS)
def test_exchanging_labels_mirrors_the_interval(bound: Any) -> None:
    rng = np.random.default_rng(7)
    weights, labels = rng.permutation(np.linspace(0.1, 1.0, 300)), rng.random(300) < 0.2
    one, other = bound(weights, labels, 0.05, 1.0)[0], bound(weights, ~labels, 0.05, 1.0)[0]
    np.testing.assert_allclose(one, 1.0 - other[::-1], atol=1e-12)


@pytest.mark.parametrize("bound", FROM_ROWS)
def test_without_weight_nothing_is_said(bound: Any) -> None:
    assert bound([0.0, 0.0], [0, 1], 0.1, 1.0).tolist() == [[0.0, 1.0]]
    assert bound([], [], 0.1, 1.0).tolist() == [[0.0, 1.0]]
    assert bound([1.0] * 50, [0] * 50, 0.1, 1.0)[0, 0] == 0.0
    assert bound([1.0] * 50, [1] * 50, 0.1, 1.0)[0, 1] == 1.0


def test_the_order_of_widths_is_that_of_the_methods() -> None:
    rng = np.random.default_rng(8)
    n = 300
    weights = rng.uniform(0.5, 1.5, n)
    labels = rng.random(n) < 0.5
    level = intervals.sidak(0.1, 10)
    hoeffding = intervals.self_normalised_hoeffding([weights @ labels], [weights.sum()], [n], level, 1.5)
    theorem7 = theory.theorem7([weights @ labels], [weights.sum()], [n], intervals.bonferroni(0.1, 10), 0.5, 1.5)
    betting = intervals.betting(weights, labels, level, 1.5)
    widths = [float(np.diff(interval)[0, 0]) for interval in (betting, hoeffding, theorem7)]
    assert widths == sorted(widths)
    assert widths[0] / 2 < 0.11
    assert widths[-1] == 1.0


@pytest.mark.parametrize("bound", FROM_ROWS)
@pytest.mark.parametrize(
    ("weights", "labels", "options", "kind", "message"),
    [
        ([1.0, 3.0], [0, 1], {}, InputError, r"weights\[1\] is 3.0, above the weight_bound 2.0 of its bin"),
        ([1.0, -1.0], [0, 1], {}, InputError, r"weights\[1\] is -1.0; weights must be finite and not negative"),
        ([1.0, math.inf], [0, 1], {}, InputError, r"weights\[1\] is inf"),
        ([1.0, 1.0], [0, 2], {}, InputError, r"labels\[1\] is 2"),
        ([1.0], [0, 1], {}, InputError, "lengths differ"),
        ([1.0, 1.0], [0, 1], {"bins": [0, 2], "n_bins": 2}, InputError, r"bins\[1\] is 2; with n_bins=2"),
        ([1.0, 1.0], [0, 1], {"bins": [0.0, 1.0]}, InputTypeError, "bin numbers are integers"),
        (None, [0, 1], {}, InputError, "without weights use clopper_pearson"),
    ],
)
def test_bad_rows_are_named(
    bound: Any, weights: Any, labels: list[int], options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    refused(kind, message, bound, weights, labels, 0.1, 2.0, **options)


def test_bad_settings_are_named() -> None:
    refused(InputError, r"weight_bound is 0\.0; it must be positive", intervals.betting, [0.0], [1], 0.1, 0.0)
    with pytest.raises(InputError, match="one number or one for each of the 2 bins"):
        intervals.betting([1.0, 1.0], [1, 0], 0.1, [1.0, 1.0, 1.0], bins=[0, 1])
    refused(InputError, "stakes is", intervals.betting, [1.0], [1], 0.1, 1.0, stakes=(1.0,))
    for stakes, error in ((0.5, InputError), ([], InputError), ([[0.5]], InputError), ("ab", InputTypeError)):
        refused(error, "stakes is .* fractions strictly between", intervals.betting, [1.0], [1], 0.1, 1.0, stakes=stakes)
    two = intervals.betting([1.0, 1.0], [0, 1], 0.1, 1.0, stakes=(0.5, 0.2))
    assert np.array_equal(intervals.betting([1.0, 1.0], [0, 1], 0.1, 1.0, stakes=np.array([0.5, 0.2])), two)
    for bins, error in (([[0], [1]], InputTypeError), ([0, 2**40], InputError)):
        refused(error, "bins", intervals.betting, [1.0, 1.0], [0, 1], 0.1, 1.0, bins=np.array(bins))
    refused(InputError, "0 < weight_min <= weight_max", theory.theorem7, [1.0], [2.0], [2], 0.1, 0.0, 1.0)
    refused(InputError, r"weight_sums\[0\] is -2.0", intervals.self_normalised_hoeffding, [1.0], [-2.0], [2], 0.1, 1.0)
    with pytest.raises(InputError, match=r"counts has shape \(2,\) for 1 bins; every bin needs one"):
        intervals.self_normalised_hoeffding([1.0], [2.0], [2, 2], 0.1, 1.0)


@pytest.mark.parametrize("n", [1, 2, 20, 250])
@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.3])
def test_labels_without_weights_are_missed_at_most_as_often_as_alpha_says(n: int, alpha: float) -> None:
    """Exactly, by the binomial probabilities of all counts: a few sets of rows are all that there are.

    Exchanged labels mirror an interval, as another test sees.
    """
    few = np.array([intervals.betting(np.ones(n), np.arange(n) < k, alpha, 1.0)[0] for k in range(n // 2 + 1)])
    low, high = np.concatenate([few, 1.0 - few[: (n + 1) // 2][::-1, ::-1]]).T
    rates = np.linspace(0.005, 0.995, 199)[:, None]
    chances = scipy.stats.binom.pmf(np.arange(n + 1), n, rates)
    assert np.where(low > rates, chances, 0.0).sum(axis=1).max() <= alpha / 2
    assert np.where(high < rates, chances, 0.0).sum(axis=1).max() <= alpha / 2


@pytest.mark.parametrize("power", [-565, -300, 0, 300])
def test_the_size_of_the_weights_of_a_bin_does_not_matter(power: int) -> None:
    """Beside a bin of ordinary weights, where squares of small ones would be 0."""
    rng = np.random.default_rng(0)
    weights, labels = rng.uniform(0.5, 1.0, 2001), rng.random(2001) < 0.5
    bins, scale = np.r_[np.zeros(2000, int), 1], np.r_[np.full(2000, 2.0**power), 1.0]
    expected = intervals.weighted_empirical_bernstein(weights, labels, 0.1, 1.0, bins=bins)
    bounds = np.array([2.0**power, 1.0])
    found = intervals.weighted_empirical_bernstein(weights * scale, labels, 0.1, bounds, bins=bins)
    np.testing.assert_array_equal(found, expected)
    masses = theory.theorem10(weights, labels, 0.1, 1.0, 1.0, bins=bins)
    np.testing.assert_array_equal(theory.theorem10(weights * scale, labels, 0.1, bounds, 1.0 / bounds, bins=bins), masses)
    assert theory.theorem10(weights, 0 * labels, 0.1, 1.0, 1e300).tolist() == [[0.0, 1.0]]


def test_bounds_that_the_mean_weight_refutes_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"weight_bound is 0\.5, and the mean weight in bin 1 is 1; the bound must hold in the"
    ):
        intervals.self_normalised_hoeffding([1.0, 3.0], [4.0, 10.0], [10, 10], 0.1, 0.5)
    with pytest.raises(InputError, match=r"weight_min is 5, and the mean weight in bin 0 is 0\.01"):
        theory.theorem7([3000.0], [1e4], [10**6], 0.1, 5.0, 6.0)
    with pytest.raises(InputError, match=r"weight_max is 0\.5, and the mean weight in bin 0 is 1"):
        theory.theorem7([3000.0], [1e4], [10**4], 0.1, 0.1, 0.5)


def test_label_sums_above_the_weights_are_refused() -> None:
    with pytest.raises(InputError, match=r"weighted_label_sums\[0\] is 300, more than the weight_sums 200 of its bin"):
        intervals.self_normalised_hoeffding([300.0], [200.0], [300], 0.1, 1.5)
    assert intervals.self_normalised_hoeffding([200.0 * (1.0 + 1e-12)], [200.0], [300], 0.1, 1.5)[0, 1] == 1.0
