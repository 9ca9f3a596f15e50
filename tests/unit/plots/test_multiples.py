"""Small multiples and the diagram of top labels: what is drawn is what the numbers say."""

from __future__ import annotations

import numpy as np
import pytest
from wordings import refuses

from fastbin import assess, plots
from fastbin.plots._style import LIGHT_LOOK

pytest.importorskip("matplotlib")

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.colors import to_rgb

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


# ------------------------------------------------------------------------------------------------- several classes


def classes(multiclass: str, k: int = 4, n: int = 2000, **options: object) -> assess.ReliabilityTable:
    """Class number 1 occurs less often than predicted, and the last one is named in most rows."""
    rng = np.random.default_rng(k)
    P = rng.dirichlet(np.append(np.full(k - 1, 0.5), 1.0), n)
    rates = P * np.where(np.arange(k) == 1, 0.3, 1.0)
    labels = (np.cumsum(rates, axis=1) < rng.random((n, 1)) * rates.sum(axis=1, keepdims=True)).sum(axis=1)
    return assess.reliability_table(P, labels, multiclass=multiclass, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("multiclass", ["class-wise", "top-label"])
def test_a_table_of_classes_has_a_panel_for_each(multiclass: str) -> None:
    table = classes(multiclass)
    assert table.parts is not None
    for ax in (plots.reliability_diagram(table), plots.small_multiples(table)):
        for panel, (key, part) in zip(ax.child_axes, table.parts.items(), strict=True):
            beside = f", gap {part.ece():.2g}" if multiclass == "class-wise" else f"  ({part.n_samples:,})"
            assert panel.get_title() == f"{key}{beside}"
            np.testing.assert_array_equal(panel.collections[1].get_offsets()[:, 1], part.positive_rates)


def test_of_many_classes_those_of_the_largest_errors_or_the_most_rows() -> None:
    for multiclass, size, note in (("class-wise", "ece", ", of smaller errors"), ("top-label", "n_samples", "")):
        table = classes(multiclass, 26)
        assert table.parts is not None
        sizes = {str(key): part.ece() if size == "ece" else part.n_samples for key, part in table.parts.items()}
        ax = plots.reliability_diagram(table)
        shown = {panel.get_title().split(",")[0].split(" ")[0] for panel in ax.child_axes}
        left_out = [sizes[key] for key in sizes if key not in shown]
        assert min(sizes[key] for key in shown) >= max(left_out)
        assert ax.texts[0].get_text() == f"and {len(left_out)} more{note}"


def cells_of(ax: plt.Axes) -> tuple[list[list[str]], list[str], list[str]]:
    """The numbers of a heat map, and the names of its columns and rows."""
    columns, rows = ([tick.get_text() for tick in ticks] for ticks in (ax.get_xticklabels(), ax.get_yticklabels()))
    words = [text.get_text() for text in ax.texts[: len(columns) * len(rows)]]
    return [words[at : at + len(columns)] for at in range(0, len(words), len(columns))], columns, rows


def test_a_confusion_matrix_is_a_heat_map_of_differences() -> None:
    table = classes("confusion")
    words, columns, rows = cells_of(ax := plots.reliability_diagram(table))
    assert columns == ["0", "1", "2", "3"]
    by_pair = {(row["predicted"], row["class"]): row for row in table}
    assert rows == [f"{j}  ({by_pair[j, 0]['count']:,})" for j in range(4)]
    shades = {(round(cell.get_y() + 0.5), round(cell.get_x() + 0.5)): cell.get_facecolor() for cell in ax.patches}
    largest = np.abs(table.positive_rates - table.mean_predictions).max()
    above, below = map(to_rgb, LIGHT_LOOK.colours[:2])
    for (down, across), row in by_pair.items():
        difference = row["positive_rate"] - row["mean_prediction"]
        expected = (*(above if difference > 0.0 else below), 0.75 * abs(difference) / largest)
        assert shades[down, across] == pytest.approx(expected)
        shown = words[down][across].replace("\N{MINUS SIGN}", "-")
        assert float(shown) == round(difference, 2)
        is_bold = ax.texts[4 * down + across].get_fontweight() == "bold"
        assert is_bold == (not row["interval_lower"] <= row["mean_prediction"] <= row["interval_upper"])
    assert {text.get_fontweight() for text in ax.texts[:16]} == {"bold", "normal"}
    assert ax.texts[-1].get_text() == "rate of the class less its mean prediction\nbold: outside its 90 % interval, all at once"


def test_of_a_large_confusion_matrix_the_largest_errors() -> None:
    table = classes("confusion", 26, 6000, alpha=None)
    ax = plots.reliability_diagram(table)
    words, columns, rows = cells_of(ax)
    assert (len(words), len(columns), len(rows)) == (12, 12, 12)
    assert "1" in columns
    errors = {str(j): 0.0 for j in range(26)}
    for row, gap in zip(table, table.gaps, strict=True):
        for key in ("class", "predicted"):
            errors[str(row[key])] += row["mass"] * gap
    assert set(columns) == set(sorted(errors, key=lambda key: errors[key])[-12:])
    assert ax.texts[-1].get_text().startswith("the 12 of 26 classes with the largest errors:\nrate")
    own = plt.subplots(figsize=(3.0, 3.0))[1]
    assert len(cells_of(plots.reliability_diagram(table, ax=own))[1]) == 3


def test_without_an_error_nothing_is_coloured() -> None:
    table = assess.reliability_table([[1.0, 0.0], [0.0, 1.0]], [0, 1], multiclass="confusion")
    ax = plots.reliability_diagram(table)
    assert cells_of(ax)[0] == [["0", "0"], ["0", "0"]]
    assert [cell.get_facecolor()[3] for cell in ax.patches] == [0.0] * 4


def test_a_table_of_classes_is_drawn_alone() -> None:
    refuses("InputError predictions['both']", plots.reliability_diagram, {"both": classes("class-wise")})
