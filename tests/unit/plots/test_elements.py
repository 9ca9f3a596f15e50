"""Pictures as a person sees them: everything inside the figure, no text over another, in light and dark, in hard cases.

Elements are compared, not pixels: the boxes of what is drawn, as the renderer measures them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastbin as fb
from fastbin import assess, plots
from fastbin.intervals.binomial import ends_of_rows
from fastbin.plots._style import DARK_LOOK, LIGHT_LOOK, LONGEST_NAME, MOST_SERIES, look_of, short_names, shortened

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

RNG = np.random.default_rng(3)
SCORES = RNG.random(4000)
LABELS = RNG.random(4000) < SCORES**2
RARE = RNG.beta(1, 150, 20000)
RARE_LABELS = RNG.random(20000) < RARE
CELLS = RNG.choice(["north", "the northern and eastern regions, islands included", "south", "west"], 4000)


def binned(n_bins: int, scores: Any = SCORES, labels: Any = LABELS, **options: Any) -> fb.BinnedModel:
    return fb.UniformMassBinning(n_bins=n_bins, **options).fit(scores, labels).model_


MODEL = binned(8)
MODELS = fb.ModelSet({str(cell): binned(6, SCORES[cell == CELLS], LABELS[cell == CELLS]) for cell in np.unique(CELLS)})
MANY = {f"group number {i} of a long list of groups": (np.clip(SCORES + 0.02 * i, 0, 1), LABELS) for i in range(9)}
TIED = binned(10, np.round(SCORES * 3) / 3, ties="random")


def empty_bins() -> fb.BinnedModel:
    with pytest.warns(fb.FastbinWarning):
        return fb.FixedWidthBinning(n_bins=10).fit(SCORES[SCORES < 0.6], LABELS[SCORES < 0.6]).model_


def curves() -> dict[str, assess.ValidityCurve]:
    return {name: assess.validity_curve(*pair) for name, pair in MANY.items()}


def by_cell() -> dict[str, Any]:
    return {str(cell): (MODEL.predict(SCORES[cell == CELLS]), LABELS[cell == CELLS]) for cell in np.unique(CELLS)}


def of_classes(multiclass: str, k: int) -> assess.ReliabilityTable:
    """Classes of long names, of which the second occurs less often than predicted."""
    rng = np.random.default_rng(k)
    P = rng.dirichlet(np.full(k, 0.3), 3000)
    rates = P * np.where(np.arange(k) == 1, 0.3, 1.0)
    labels = (np.cumsum(rates, axis=1) < rng.random((3000, 1)) * rates.sum(axis=1, keepdims=True)).sum(axis=1)
    names = [f"department {chr(65 + j)}" for j in range(k)]
    return assess.reliability_table(P, [names[j] for j in labels], multiclass=multiclass, classes=names)


def watched(n_bins: int, factor: float, rates: Callable[[Any], Any] = np.asarray, tolerance: float = 0.05) -> Any:
    """A monitor after outcomes whose rates are those of the fit times this factor."""
    rng = np.random.default_rng(n_bins)
    scores, later = rng.random((2, 20000))
    monitor = fb.online.CalibrationMonitor(binned(n_bins, scores, rng.random(20000) < rates(scores)), tolerance=tolerance)
    monitor.update(later, rng.random(20000) < factor * rates(later))
    return monitor


CASES: dict[str, Callable[[Any], Any]] = {
    "reliability": lambda ax: plots.reliability_diagram(MODEL.predict(SCORES), LABELS, ax=ax),
    "reliability, rare": lambda ax: plots.reliability_diagram(RARE, RARE_LABELS, ax=ax),
    "reliability, rare model": lambda ax: plots.reliability_diagram(binned(10, RARE, RARE_LABELS), ax=ax),
    "reliability, near 1": lambda ax: plots.reliability_diagram(1.0 - RARE, ~RARE_LABELS, ax=ax),
    "reliability, 2 bins": lambda ax: plots.reliability_diagram(binned(2), ax=ax),
    "reliability, 100 bins": lambda ax: plots.reliability_diagram(SCORES, LABELS, n_bins=100, ax=ax),
    "reliability, one value": lambda ax: plots.reliability_diagram(np.full(500, 0.3), np.arange(500) % 3 == 0, ax=ax),
    "reliability, set": lambda ax: plots.reliability_diagram(MODELS, ax=ax),
    "reliability, groups": lambda ax: plots.reliability_diagram(by_cell(), ax=ax),
    "reliability, many": lambda ax: plots.reliability_diagram(MANY, ax=ax),
    "steps": lambda ax: plots.step_plot(MODEL, ax=ax),
    "steps, rare": lambda ax: plots.step_plot(binned(10, RARE, RARE_LABELS), ax=ax),
    "steps, 100 bins": lambda ax: plots.step_plot(binned(100), ax=ax),
    "steps, 1000 steps": lambda ax: plots.step_plot(fb.CertifiedCalibration(n_bins=10).fit(SCORES, LABELS), ax=ax),
    "steps, ties": lambda ax: plots.step_plot(TIED, ax=ax),
    "steps, empty bins": lambda ax: plots.step_plot(empty_bins(), ax=ax),
    "steps, set": lambda ax: plots.step_plot(MODELS, ax=ax),
    "steps, smooth": lambda ax: plots.step_plot(fb.PlattScaling().fit(SCORES, LABELS), ax=ax),
    "validity": lambda ax: plots.validity_plot(MODEL.predict(SCORES), LABELS, n_samples=4000, n_bins=8, ax=ax),
    "validity, many": lambda ax: plots.validity_plot(curves(), ax=ax),
    "epsilon": lambda ax: plots.epsilon_plot((200, 1000), max_n_bins=12, ax=ax),
    "epsilon, model": lambda ax: plots.epsilon_plot(MODEL, max_n_bins=12, ax=ax),
    "risk": lambda ax: plots.risk_plot([5, 10, 20], [0.001, 0.002, 0.004], [0.02, 0.008, 0.003], ax=ax),
    "risk, wide": lambda ax: plots.risk_plot(2 ** np.arange(1, 10), 1.5 ** np.arange(9) / 1000, 0.1 / 2 ** np.arange(9), ax=ax),
    "multiples": lambda ax: plots.small_multiples(MODELS, ax=ax),
    "multiples, one": lambda ax: plots.small_multiples({"only": (SCORES, LABELS)}, ax=ax),
    "multiples, many": lambda ax: plots.small_multiples(MANY, columns=4, most=6, ax=ax),
    "multiples, classes": lambda ax: plots.reliability_diagram(of_classes("class-wise", 26), ax=ax),
    "confusion": lambda ax: plots.reliability_diagram(of_classes("confusion", 4), ax=ax),
    "confusion, two": lambda ax: plots.reliability_diagram(of_classes("confusion", 2), ax=ax),
    "confusion, many": lambda ax: plots.reliability_diagram(of_classes("confusion", 26), ax=ax),
    "top labels": lambda ax: plots.top_label_diagram(
        np.maximum(SCORES, 1 - SCORES), np.where(SCORES > 0.5, "a", "b"), np.where(LABELS, "a", "b"), ax=ax
    ),
    "monitor": lambda ax: plots.monitor_plot(watched(5, 1.0), ax=ax),
    "monitor, drifted": lambda ax: plots.monitor_plot(watched(10, 0.6), ax=ax),
    "monitor, rare": lambda ax: plots.monitor_plot(watched(5, 1.0, lambda s: 0.0004 + 0.0036 * s, 0.001), ax=ax),
    "decision": lambda ax: plots.decision_plot(fb.decide.accept_threshold(SCORES, LABELS, precision=0.8, npv=0.7), ax=ax),
    "decision, costs": lambda ax: plots.decision_plot(fb.decide.accept_threshold(SCORES, LABELS, cost=(3, 1)), ax=ax),
    "performance": lambda ax: plots.performance_plot(fb.decide.performance(MODEL, SCORES, 0.5), ax=ax),
}  # fmt: skip


ABOVE = ("monitor", "decision", "performance")  # whose legends would cover what is drawn anywhere in the axes

# In the dark, the hard cases have the same elements.
DRAWN = [*((name, "default") for name in CASES), *((name, "dark_background") for name in CASES if "," not in name)]


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "style"), DRAWN)
def test_everything_is_inside_and_no_text_lies_over_another(name: str, style: str) -> None:
    with plt.style.context(style):
        figure, ax = plt.subplots(figsize=(4.8, 4.4), layout="constrained")
        assert CASES[name](ax) is ax
        ax.set_title("Scorecard 7, March to May")
        figure.canvas.draw()
        texts = [text for each in (ax, *ax.child_axes) for text in texts_of(each)]
        assert "Scorecard 7, March to May" in [text.get_text() for text in texts]
        boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
        for words, box in boxes:
            assert figure.bbox.padded(1.0).containsx(box.x0), words
            assert figure.bbox.padded(1.0).containsx(box.x1), words
            assert figure.bbox.padded(1.0).containsy(box.y0), words
            assert figure.bbox.padded(1.0).containsy(box.y1), words
        for (words, box), (others, other) in itertools.combinations(boxes, 2):
            assert not box.padded(-1.0).overlaps(other.padded(-1.0)), f"{words!r} over {others!r}"
        if legend := ax.get_legend():
            box, inner = legend.get_window_extent(), ax.get_window_extent().padded(1.0)
            assert inner.x0 <= box.x0 <= box.x1 <= inner.x1
            if name.partition(",")[0] in ABOVE:
                assert box.y0 >= inner.y1 - 2.0
            else:
                assert inner.y0 <= box.y0 <= box.y1 <= inner.y1
        for strip in ax.child_axes:
            box, inner = strip.get_window_extent(), ax.get_window_extent().padded(1.0)
            assert not strip.axison or inner.y0 <= box.y0 <= box.y1 <= inner.y1
        assert look_of(ax) is (LIGHT_LOOK if style == "default" else DARK_LOOK)
        plt.close(figure)


def texts_of(ax: Any) -> list[Any]:
    """All texts that are seen of some axes."""
    found = [ax.title, *ax.texts]
    if ax.axison:
        found += [ax.xaxis.label, ax.yaxis.label]
        for axis, (low, high) in ((ax.xaxis, sorted(ax.get_xlim())), (ax.yaxis, sorted(ax.get_ylim()))):
            slack = 1e-9 * (high - low)
            ticks = [tick for tick in axis.get_major_ticks() if low - slack <= tick.get_loc() <= high + slack]
            found += [tick.label1 for tick in ticks if tick.label1.get_visible()]
    if ax.get_legend():
        found += ax.get_legend().get_texts()
    return [text for text in found if text.get_visible() and text.get_text()]


@pytest.mark.sampled
@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith(("multiples", "performance"))])
def test_axes_are_labelled_and_hold_a_few_ticks(name: str) -> None:
    figure, ax = plt.subplots(figsize=(4.8, 4.4), layout="constrained")
    CASES[name](ax)
    figure.canvas.draw()
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    for ticks, (low, high) in ((ax.get_xticks(), sorted(ax.get_xlim())), (ax.get_yticks(), sorted(ax.get_ylim()))):
        assert 2 <= sum(low <= tick <= high for tick in ticks) <= 12
    plt.close(figure)


# ------------------------------------------------------------------------------------------------- what is shown


@pytest.fixture
def ax() -> Any:
    figure, axes = plt.subplots(layout="constrained")
    yield axes
    figure.canvas.draw()
    plt.close(figure)


def test_rare_events_fill_the_plots(ax: Any) -> None:
    model = binned(10, RARE, RARE_LABELS)
    assert model.values.max() < 0.03
    plots.step_plot(model, ax=ax)
    assert ax.get_ylim()[1] < 3.0 * model.interval()[:, 1].max()
    assert ax.get_xlim()[1] < 3.0 * model.edges[-1]
    assert any("scores go on up to 1 in the last bin" in text.get_text() for text in ax.texts)


@pytest.mark.parametrize("given", [MODEL, fb.UniformMassBinning(n_bins=8).fit(SCORES, LABELS)], ids=["model", "calibrator"])
def test_a_model_is_drawn_with_the_samples_of_its_fit(ax: Any, given: Any) -> None:
    plots.reliability_diagram(given, ax=ax)
    lines, points = ax.collections
    np.testing.assert_array_equal(points.get_offsets()[:, 0], MODEL.values)
    np.testing.assert_array_equal(np.array(lines.get_segments())[:, :, 1], MODEL.interval())
    assert ax.texts[0].get_text() == f"n = {MODEL.counts.sum():,}, mean gap 0\n90 % intervals, all at once"


def test_a_set_is_drawn_with_its_joint_intervals(ax: Any) -> None:
    plots.reliability_diagram(MODELS, ax=ax)
    segments = np.array(ax.collections[0].get_segments())[:, :, 1]
    joint = np.concatenate(MODELS.interval())
    assert sorted(map(tuple, segments)) == sorted(map(tuple, joint))


def test_predictions_with_labels_are_the_table_of_them(ax: Any) -> None:
    plots.reliability_diagram(SCORES, LABELS, n_bins=6, alpha=0.2, ax=ax)
    table = assess.reliability_table(SCORES, LABELS, n_bins=6, alpha=0.2)
    np.testing.assert_array_equal(ax.collections[1].get_offsets()[:, 0], table.mean_predictions)
    np.testing.assert_allclose(np.array(ax.collections[0].get_segments())[:, :, 1], table.intervals)


def test_many_values_are_drawn_in_groups(ax: Any) -> None:
    """A model of 1,000 steps on 4,000 samples: four to a value, of which single points would show noise alone."""
    predictions = fb.CertifiedCalibration(n_bins=10).fit(SCORES, LABELS).predict(SCORES)
    table = assess.reliability_table(predictions, LABELS, grouping="values", alpha=0.2)
    assert len(table.counts) > 200
    plots.reliability_diagram(table, ax=ax)
    lines, points = ax.collections
    x, y = points.get_offsets().T
    assert 30 <= len(x) <= 40
    sizes = np.array([bar.get_height() for bar in ax.child_axes[0].patches]) / 100.0
    assert sizes.sum() == pytest.approx(1.0)
    assert sizes @ y == pytest.approx(LABELS.mean())
    assert sizes @ x == pytest.approx(predictions.mean())
    counts = np.rint(sizes * len(LABELS)).astype(int)
    level = fb.intervals.sidak(0.2, len(x))
    expected = ends_of_rows(np.rint(y * counts).astype(int), counts, level)
    np.testing.assert_allclose(np.array(lines.get_segments())[:, :, 1], expected)


def test_marks_of_several_stand_beside_each_other(ax: Any) -> None:
    """The points of series that share their predictions are moved apart on the page, not in the data."""
    plots.reliability_diagram({"one": (SCORES, LABELS), "other": (SCORES, LABELS)}, ax=ax)
    ax.figure.canvas.draw()
    one, other = (points for points in ax.collections if hasattr(points, "get_sizes") and len(points.get_sizes()))
    np.testing.assert_array_equal(one.get_offsets(), other.get_offsets())
    apart = other.get_offset_transform().transform((0.5, 0.5)) - one.get_offset_transform().transform((0.5, 0.5))
    np.testing.assert_allclose(apart, [3.0 * ax.figure.dpi / 72.0, 0.0])


def test_no_more_series_than_can_be_told_apart(ax: Any) -> None:
    plots.reliability_diagram(MANY, ax=ax)
    assert len(ax.get_legend().get_texts()) == MOST_SERIES
    assert ax.texts[0].get_text() == "n = 4,000; and 2 more"
    assert not [lines for lines in ax.collections if hasattr(lines, "get_segments")]


def test_randomised_bins_are_marked(ax: Any) -> None:
    plots.step_plot(TIED, ax=ax)
    rings = [line for line in ax.lines if line.get_marker() == "o"]
    decided = np.unique(TIED.edges[(TIED.edge_keys > 0) & (TIED.edge_keys < 2**64 - 1)])
    assert [line.get_xdata()[0] for line in rings] == decided.tolist()
    for line, score in zip(rings, decided.tolist(), strict=True):
        possible = {TIED.predict_one(score, tie_key=key) for key in (0, 2**64 - 2, *TIED.edge_keys.tolist())}
        assert set(line.get_ydata()) == possible
    assert "one of these, by a random key" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_whole_ties_have_no_rings(ax: Any) -> None:
    plots.step_plot(binned(4, np.round(SCORES * 20) / 20, ties="whole"), ax=ax)
    assert not [line for line in ax.lines if line.get_marker() == "o"]


def test_the_promise_of_a_model_is_marked_on_its_curve(ax: Any) -> None:
    plots.epsilon_plot(MODEL, max_n_bins=12, ax=ax)
    curve, mark = ax.lines
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (8, curve.get_ydata()[7])
    assert curve.get_ydata()[7] == fb.epsilon(MODEL.n_samples, 8)  # by the bound that certificates take


def test_the_promised_validity_is_that_of_certificates(ax: Any) -> None:
    plots.validity_plot(MODEL.predict(SCORES), LABELS, n_samples=4000, n_bins=8, ax=ax)
    promised = ax.lines[-1]
    np.testing.assert_array_equal(
        promised.get_ydata(), assess.promised_validity(promised.get_xdata(), 4000, 8, bound="a-priori")
    )


def test_names_stay_different_when_they_are_shortened() -> None:
    assert shortened("short") == "short"
    assert len(shortened("x" * 100)) == LONGEST_NAME
    names = [f"a very long name that begins alike {i} and that ends alike as well" for i in range(12)]
    assert len(set(short_names(names))) == 12
    assert short_names(["one", "two"]) == ["one", "two"]


HIDDEN: Any = {"_old": (SCORES, LABELS), "": (SCORES**0.5, LABELS), 1: (SCORES**2, LABELS)}


@pytest.mark.parametrize(
    ("draw", "names"),
    [
        (lambda ax: plots.reliability_diagram(HIDDEN, ax=ax), ["_old", "''", "1"]),
        (lambda ax: plots.reliability_diagram({1: HIDDEN[1], "1": HIDDEN[""]}, ax=ax), ["1", "'1'"]),
        (lambda ax: plots.step_plot({"_old": MODEL, "new": MODEL}, ax=ax), ["_old", "new", "score itself"]),
        (lambda ax: plots.step_plot(fb.ModelSet({"_a": MODEL, "b": MODEL}), ax=ax), ["_a", "b", "score itself"]),
        (
            lambda ax: plots.step_plot(fb.ModelSet({"a": MODEL, "pool": MODEL}, pool=MODEL, pooled_cells=["b"]), ax=ax),
            ["'a'", "'pool'", "the pool", "score itself"],
        ),
        (lambda ax: plots.validity_plot({"_": assess.validity_curve(SCORES, LABELS)}, ax=ax), ["_"]),
    ],
)
def test_every_series_is_in_the_legend(ax: Any, draw: Any, names: list[str]) -> None:
    draw(ax)
    assert [text.get_text().partition(", gap")[0] for text in ax.get_legend().get_texts()] == names


def test_pictures_that_follow_the_page_name_no_colour() -> None:
    from fastbin.report.page import pictures_of

    assessment = fb.report.assess_model(MODEL, SCORES[:500], LABELS[:500])
    for _, svg in pictures_of(assessment):
        assert "var(--plot-ink)" in svg
        assert "#" not in svg.replace('href="#', "").replace("url(#", "")
