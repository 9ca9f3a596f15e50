"""Value maps: exact cases, limits, and what they say when they do not converge."""

from __future__ import annotations

import re

import numpy as np
import pytest

import fastbin as fb
from fastbin._core.fit import pool_steps
from fastbin.scaling.value_maps import MAPS, VALUES, MapCells, fit_map, value_steps


def steps_of(scores, counts, ones, first=(0,), **options):
    """The steps, the evidence of a bin being all its rows."""
    counts, ones, first = np.asarray(counts), np.asarray(ones), np.asarray(first, np.int64)
    options = {"n": int(counts.sum()), **options}
    evidence = np.add.reduceat(counts, first), np.add.reduceat(ones, first)
    return value_steps(scores, counts, ones, first, *evidence, **options)


def of_truth(truth, n_cells=200, rows=500):
    """Cells whose ones are as the truth says, to the nearest row."""
    scores = (np.arange(n_cells) + 0.5) / n_cells
    return scores, np.full(n_cells, rows), np.rint(rows * truth(scores)).astype(np.int64)


# ------------------------------------------------------------------------------------------------- what they find


@pytest.mark.parametrize("values", MAPS)
def test_a_calibrated_score_is_left_as_it_is(values: str) -> None:
    scores, counts, ones = of_truth(lambda s: s)
    steps = steps_of(scores, counts, ones, first=(0, 50, 100, 150), values=values)
    assert np.abs(steps - scores).max() < 0.004


@pytest.mark.parametrize(
    ("values", "truth"),
    [
        ("beta", lambda s: s**0.5 / (s**0.5 + 2.0 * (1 - s) ** 1.5)),
        ("logistic", lambda s: s**2 / (s**2 + 0.5 * (1 - s) ** 2)),
        ("spline", lambda s: 1 / (1 + ((1 - s) / s) ** 0.4 * np.exp(0.3 - 0.8 * np.tanh(np.log(s / (1 - s)))))),
        ("mixture", lambda s: 1 / (1 + ((1 - s) / s) ** 0.6 * np.exp(0.3 - 0.4 * np.tanh(np.log(s / (1 - s)))))),
        ("isotonic", lambda s: 0.2 + 0.5 * s * s),
        ("quadratic", lambda s: 1 / (1 + np.exp(1 - 0.1 * np.log(s / (1 - s)) ** 2))),
    ],
)
def test_maps_find_what_they_can_express(values: str, truth) -> None:
    scores, counts, ones = of_truth(truth)
    steps = steps_of(scores, counts, ones, values=values, monotone=values != "quadratic", recentre="none")
    off = np.abs(steps - truth(scores))
    assert np.sqrt((off * off).mean()) < 0.01


def test_means_are_those_of_the_evidence() -> None:
    scores, counts, ones = [0.1, 0.2, 0.3, 0.4], [4, 6, 5, 5], [0, 0, 5, 5]
    for recentre in ("full", "none", "james-stein"):
        assert steps_of(scores, counts, ones, (0, 2), values="mean", recentre=recentre).tolist() == [0, 0, 1, 1]
        jeffreys = steps_of(scores, counts, ones, (0, 2), values="jeffreys", recentre=recentre)
        assert jeffreys.tolist() == [0.5 / 11, 0.5 / 11, 10.5 / 11, 10.5 / 11]


def test_the_evidence_decides_and_not_the_cells() -> None:
    """The cut sample counts in its cell and not in its bin."""
    cells = (np.array([0.1, 0.2]), np.array([5, 5]), np.array([1, 4]))
    first = np.array([0, 1])
    steps = value_steps(*cells, first, np.array([5, 4]), np.array([1, 3]), 10, values="mean")
    assert steps.tolist() == [0.2, 0.75]
    full = value_steps(*cells, first, np.array([5, 4]), np.array([1, 3]), 10, values="beta", recentre="full")
    assert np.allclose(full, [0.2, 0.75], atol=1e-15)


def test_recentring_leaves_what_chance_explains() -> None:
    """Distances below their standard errors are left; large ones are followed nearly all the way."""
    scores = (np.arange(100) + 0.5) / 100
    counts, first = np.full(100, 20), np.arange(0, 100, 10)
    near, far = np.rint(20 * scores).astype(np.int64), np.rint(20 * (scores > 0.5)).astype(np.int64)
    plain = {kind: steps_of(scores, counts, near, first, values="logistic", recentre=kind) for kind in ("none", "james-stein")}
    assert plain["none"].tobytes() == plain["james-stein"].tobytes()
    kinds = ("full", "james-stein", "none")
    means = [
        np.add.reduceat(steps_of(scores, counts, far, first, values="logistic", recentre=kind), first) / 10 for kind in kinds
    ]
    full, some, none = (np.abs(mean - (np.arange(10) > 4.5)).max() for mean in means)
    assert full < some < full + 0.2 * (none - full)


def test_two_bins_are_recentred_in_full() -> None:
    scores, counts, ones = of_truth(lambda s: s**3)
    both = [steps_of(scores, counts, ones, (0, 100), values="logistic", recentre=kind) for kind in ("full", "james-stein")]
    assert both[0].tobytes() == both[1].tobytes()


def test_three_bins_are_recentred_by_james_and_stein() -> None:
    scores, counts, ones = of_truth(lambda s: 0.2 + 0.5 * s * s, rows=20)
    first = np.array([0, 60, 130])
    none, full, some = (
        steps_of(scores, counts, ones, first, values="logistic", recentre=kind, monotone=False)
        for kind in ("none", "full", "james-stein")
    )
    rows, labels, means = (np.add.reduceat(column, first) for column in (counts, ones, none * counts))
    labels, means = labels / rows, means / rows
    chi2 = ((labels - means) ** 2 * rows / (means * (1.0 - means))).sum()
    assert np.allclose(some - none, (1.0 - 1.0 / chi2) * (full - none), rtol=0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("steps", "counts", "expected"),
    [
        ([0.7, 0.9, 1.0, 0.0, 0.9, 1.0], [3, 3, 2, 1, 2, 3], [0.7, *[4.7 / 6] * 3, 0.9, 1.0]),  # 0.7 keeps every bit
        ([0.7857857007138075, 0.7857857007138074] * 2, [3] * 4, [0.7857857007138074] * 4),  # no mean below both
        ([0.7387662293765803] * 3 + [0.7387662293765802], [3, 3, 1, 3], [0.7387662293765803] * 4),  # nor below the step before
    ],
)
def test_rounding_moves_no_step(steps: list[float], counts: list[int], expected: list[float]) -> None:
    assert pool_steps(np.array(steps), np.array(counts, np.float64)).tolist() == expected


def test_slopes_of_beta_are_zero_where_labels_fall() -> None:
    scores, counts, ones = of_truth(lambda s: 1.0 - s)
    cells = MapCells(scores, counts.astype(np.float64), ones.astype(np.float64), int(counts.sum()), (0.0, 1.0))
    logits, parameters = fit_map("beta", cells)
    assert parameters[1:].tolist() == [0.0, 0.0]
    assert np.ptp(logits) == 0.0


def test_a_cell_without_rows_may_be_far_away() -> None:
    counts, ones = np.array([10.0, 10.0, 0.0]), np.array([5.0, 6.0, 0.0])
    assert np.isfinite(fit_map("logistic", MapCells(np.array([0.0, 1e-300, 1.0]), counts, ones, 20, None))[0]).all()


def test_the_natural_spline_is_linear_beyond_its_knots_and_smooth_at_them() -> None:
    """At cells without rows, which have values and move nothing."""
    scores, counts, ones = of_truth(lambda s: s**0.5 / (1 + s**3))
    seen, first = fit_map("spline", MapCells(scores, counts * 1.0, ones * 1.0, int(counts.sum()), (0.0, 1.0)))
    z = np.linspace(-10.0, 10.0, 2001)
    everywhere = np.unique(np.concatenate([scores, 1 / (1 + np.exp(-z))]))
    more_counts, more_ones = np.zeros((2, len(everywhere)))
    at = np.searchsorted(everywhere, scores)
    more_counts[at], more_ones[at] = counts, ones
    logits, knots = fit_map("spline", MapCells(everywhere, more_counts, more_ones, int(counts.sum()), (0.0, 1.0)))
    assert np.allclose(logits[at], seen, atol=1e-9)
    assert np.allclose(knots, first, atol=1e-9)
    even = logits[np.searchsorted(everywhere, 1 / (1 + np.exp(-z)))]
    bends = np.diff(even, 2) / 1e-4
    position, value, second = knots.T
    outside = (z[1:-1] < position[0] - 0.01) | (z[1:-1] > position[-1] + 0.01)
    assert np.abs(bends[outside]).max() < 1e-6
    assert np.abs(bends).max() > 0.1
    assert np.abs(np.diff(bends)).max() < 0.02 * np.abs(bends).max()  # the second derivative has no jump
    assert np.allclose(np.interp(position, z[1:-1], bends), second, atol=0.02 * np.abs(bends).max())
    assert np.allclose(np.interp(position, z, even), value, atol=1e-4)


def test_a_spline_needs_three_places() -> None:
    """One score that more than nine tenths of the rows share leaves one knot."""
    scores, counts, ones = [0.1, 0.2, 0.3], [1, 100, 1], [0, 30, 1]
    assert steps_of(scores, counts, ones, values="spline").tobytes() == steps_of(scores, counts, ones, values="beta").tobytes()


# ------------------------------------------------------------------------------------------------- limits

SIZES = [1, 2, 7, 10**6, 2**52]


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("label", [0, 1])
def test_one_row_one_class_one_cell(values: str, n: int, label: int) -> None:
    for score, score_range in ((0.0, (0.0, 1.0)), (1.0, (0.0, 1.0)), (0.3, (0.0, 1.0)), (-1e308, None), (5e-324, None)):
        (step,) = steps_of([score], [n], [n * label], values=values, score_range=score_range)
        half = 0.0 if values == "mean" else 0.5 / (n + 1)
        if values == "mixture" and score_range is not None:
            half /= 100.0  # as far as the identity is followed
        assert half * 0.999 <= step <= 1.0 - half * 0.999
        assert (step > 0.5) == label or values in ("beta", "logistic", "quadratic", "spline", "mixture")


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize(
    "scores",
    [
        [-1.7e308, -1e308, 1e308, 1.7e308],
        [0.0, 5e-324, 1e-323, 1.0],
        [0.0, 5e-324, 1.5e-323, 2e-323],
        [-5e-324, 0.0, 5e-324, 1e308],
        [1.0, 1.0000000000000002, 1.0000000000000004, 1.0000000000000007],
    ],
)
def test_margins_of_any_size(values: str, scores: list[float]) -> None:
    for ones in ([0, 2, 3, 5], [5, 3, 2, 0], [0, 0, 5, 5], [0, 0, 0, 0], [5, 5, 5, 5]):
        for first in ((0,), (0, 1, 2, 3)):
            steps = steps_of(scores, [5] * 4, ones, first, values=values, score_range=None)
            assert np.isfinite(steps).all()
            assert (np.diff(steps) >= 0).all()


def test_a_range_within_the_unit_interval_is_of_probabilities() -> None:
    """In other ranges nothing is known but the order and the distances: such scores may be moved and scaled."""
    scores, counts, ones = of_truth(lambda s: 0.2 + 0.5 * s * s)
    within = steps_of(scores, counts, ones, score_range=(0.0, 1.0))
    assert steps_of(scores, counts, ones, score_range=(0.0, 0.9999)).tobytes() == within.tobytes()
    margins = steps_of(scores, counts, ones, score_range=None)
    assert margins.tobytes() != within.tobytes()
    assert steps_of(scores * 1024.0, counts, ones, score_range=(0.0, 2000.0)).tobytes() == margins.tobytes()
    assert np.allclose(steps_of(scores * 3.0 - 50.0, counts, ones, score_range=None), margins, atol=1e-9)


def test_nearly_calibrated_scores_are_followed_beyond_what_the_rows_can_tell() -> None:
    """No row contradicts scores next to 0 and 1: values go beyond half a step, at most to a hundredth of it and a trace."""
    scores, counts, ones = [1e-12, 1e-5, 0.4, 0.6, 1.0 - 1e-5, 1.0], [20, 10, 5, 5, 10, 10], [0, 0, 2, 3, 10, 10]
    half = 0.5 / 61.0
    steps = steps_of(scores, counts, ones, (0, 3), recentre="none")
    assert half / 100.0 * 0.999 <= steps[0] < steps[1] < half / 10.0
    assert half / 100.0 * 0.999 <= 1.0 - steps[-1] < half / 10.0
    assert steps_of(scores, counts, ones, (0, 3), recentre="none", values="spline")[0] >= half
    contradicted = steps_of(scores, counts, [3, 2, 2, 3, 8, 8], (0, 3), recentre="none")
    assert contradicted[0] > half
    # Bins that lie below their labels are moved no further out, those above not beyond half a step.
    moved = steps_of([0.2, 0.3, 0.7, 0.8], [15] * 4, [0, 0, 15, 15], (0, 1, 2, 3), recentre="full")
    assert moved[0] >= half * 0.999
    assert moved[-1] <= 1.0 - half * 0.999


def test_steps_without_rows_have_a_value_and_move_no_other() -> None:
    scores, counts, ones = [0.1, 0.2, 0.25, 0.4, 0.5], [10, 20, 0, 30, 10], [1, 2, 0, 12, 8]
    for values in VALUES:
        steps = steps_of(scores, counts, ones, (0, 3), values=values, recentre="full")
        kept = [0, 1, 3, 4]
        fewer = steps_of(
            *([column[i] for i in kept] for column in (scores, counts, ones)), (0, 2), values=values, recentre="full"
        )
        assert np.allclose(steps[kept], fewer, atol=1e-9)
        assert steps[1] <= steps[2] <= steps[3]


# ------------------------------------------------------------------------------------------------- when it goes wrong


def test_a_map_that_does_not_converge_says_so(monkeypatch) -> None:
    """No cells are known that need as many steps as are allowed; here few are allowed."""
    monkeypatch.setattr("fastbin.scaling.value_maps.MOST_STEPS", 2)
    scores, counts, ones = of_truth(lambda s: s**5)
    for values in ("beta", "logistic", "quadratic", "spline"):
        with pytest.warns(fb.FastbinWarning, match=re.escape(f"the map {values!r} did not converge")):
            steps = steps_of(scores, counts, ones, values=values)
        assert np.isfinite(steps).all()
        assert np.abs(steps - scores**5).max() < 0.2  # the best so far


def test_the_minimum_is_one_however_far_it_lies() -> None:
    """A billion rows of one class that the score calls certain of the other: the start is far out on a flat tail."""
    scores, counts = np.array([1e-12, 2e-12, 3e-12]), np.array([10**9, 10**9, 10**9])
    cells = MapCells(scores, counts.astype(np.float64), counts.astype(np.float64), int(counts.sum()), (0.0, 1.0))
    assert (fit_map("quadratic", cells)[0] > 10.0).all()
    assert (steps_of(scores, counts, counts, values="mixture") > 0.999).all()
