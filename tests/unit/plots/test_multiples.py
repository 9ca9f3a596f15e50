"""Small multiples and the diagram of top labels: what is drawn is what the numbers say."""

from __future__ import annotations

import numpy as np
import pytest

from fastbin import assess, plots

pytest.importorskip("matplotlib")

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

RNG = np.random.default_rng(8)
SCORES, GROUPS = RNG.random(2000), RNG.integers(0, 5, 2000)
LABELS = RNG.random(2000) < SCORES
TABLES = {f"group {g}": assess.reliability_table(SCORES[g == GROUPS], LABELS[g == GROUPS], n_bins=4 + g) for g in range(5)}


@pytest.fixture(autouse=True)
def close_figures() -> None:
    plt.close("all")


def test_a_panel_for_each_table() -> None:
    ax = plots.small_multiples(TABLES, columns=2)
    assert [panel.get_title() for panel in ax.child_axes] == [f"{name}  ({t.n_samples:,})" for name, t in TABLES.items()]
    for panel, table in zip(ax.child_axes, TABLES.values(), strict=True):
        points = panel.collections[1].get_offsets()
        np.testing.assert_array_equal(points[:, 0], table.mean_predictions)
        np.testing.assert_array_equal(points[:, 1], table.positive_rates)
        assert len(panel.collections[0].get_segments()) == len(table.counts)
        assert panel.get_xlim() == (0.0, 1.0)
    ax.figure.canvas.draw()


def test_the_largest_are_shown_and_the_others_told() -> None:
    ax = plots.small_multiples(TABLES, most=2, limit=0.5)
    largest = sorted(TABLES, key=lambda name: TABLES[name].n_samples, reverse=True)[:2]
    assert {panel.get_title().split("  ")[0] for panel in ax.child_axes} == set(largest)
    assert ax.texts[0].get_text() == "and 3 more"
    assert {panel.get_xlim() for panel in ax.child_axes} == {(0.0, 0.5)}


def test_axes_that_are_given_are_divided() -> None:
    own = plt.subplots()[1]
    assert plots.small_multiples(TABLES, ax=own) is own
    assert len(own.child_axes) == 5
    assert len(plt.get_fignums()) == 1
    other = plt.subplots()[1]
    assert plots.top_label_diagram(SCORES, GROUPS, np.where(LABELS, GROUPS, 9), ax=other) is other


def test_points_are_as_far_from_the_diagonal_as_the_classes_are_off() -> None:
    """Two classes that are off in opposite directions: a confidence diagram would show nothing."""
    stated, predicted = np.full(80, 0.55), np.repeat(["a", "b"], 40)
    right = np.concatenate([np.arange(40) < 30, np.arange(40) < 14])  # .75 and .35 right
    ax = plots.top_label_diagram(stated, predicted, np.where(right, predicted, "c"))
    ((x, y),) = ax.collections[1].get_offsets()
    assert (x, y) == pytest.approx((0.55, 0.55 + 0.2)) or (x, y) == pytest.approx((0.55, 0.55 - 0.2))
    assert ax.texts[0].get_text() == "top-label error in 10 bins: 0.2000"
    error = assess.top_label_ece(stated, predicted, np.where(right, predicted, "c"), grouping="fixed-width", n_bins=10)
    assert error == pytest.approx(0.2)


@pytest.mark.parametrize("n_bins", [1, 7, 10])
def test_the_error_that_is_told_is_that_of_the_metric(n_bins: int) -> None:
    labels = np.where(LABELS, GROUPS, 9)
    ax = plots.top_label_diagram(SCORES, GROUPS, labels, n_bins=n_bins)
    error = assess.top_label_ece(SCORES, GROUPS, labels, grouping="fixed-width", n_bins=n_bins)
    assert ax.texts[0].get_text() == f"top-label error in {n_bins} bins: {error:.4f}"
    x, y = ax.collections[1].get_offsets().T
    heights = np.array([bar.get_height() for bar in ax.patches])
    assert heights.sum() == pytest.approx(1.0)
    assert float((np.abs(x - y) * heights[heights > 0.0]).sum()) == pytest.approx(error)


def test_weights_count() -> None:
    weights = RNG.integers(0, 3, 2000)
    labels = np.where(LABELS, GROUPS, 9)
    first = plots.top_label_diagram(SCORES, GROUPS, labels, sample_weight=weights)
    second = plots.top_label_diagram(*(np.repeat(column, weights) for column in (SCORES, GROUPS, labels)))
    np.testing.assert_allclose(first.collections[1].get_offsets(), second.collections[1].get_offsets())
