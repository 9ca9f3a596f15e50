"""Plots draw exactly the numbers they are given, on the axes that they are given."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fastbin as fb
from fastbin import assess, plots, theory
from fastbin._base.dependencies import install_command
from fastbin.guarantees import epsilon
from fastbin.plots._style import DARK_LOOK, LIGHT_LOOK, series
from fastbin.plots.grades import grades_plot
from fastbin.shift import LabelShift

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture
def ax() -> Iterator[Any]:
    figure, axes = plt.subplots(layout="constrained")
    yield axes
    figure.canvas.draw()  # layout problems show as warnings, which are errors
    plt.close(figure)


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    scores = rng.random(2000)
    return scores, rng.random(2000) < scores**2


@pytest.fixture(scope="module")
def model(data: tuple[np.ndarray, np.ndarray]) -> fb.BinnedModel:
    return fb.UniformMassBinning(n_bins=8).fit(data[0][:1000], data[1][:1000]).model_


def legend_of(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()] if ax.get_legend() else []


# ------------------------------------------------------------------------------------------------- style


def test_series_differ_in_print_and_for_the_colour_blind() -> None:
    for look in (LIGHT_LOOK, DARK_LOOK):
        looks = [series(index, look) for index in range(14)]
        assert len({(each.colour, str(each.dashes)) for each in looks}) == 14
        for left, right in itertools.pairwise(looks):
            assert left.colour != right.colour
            assert left.dashes != right.dashes
            assert left.marker != right.marker
        for colour in (*look.colours, look.guide, look.ink):  # a contrast of 2 and more
            one, other = sorted((luminance(colour), luminance(look.paper)))
            assert (other + 0.05) / (one + 0.05) >= 2.0


def luminance(colour: str) -> float:
    red, green, blue = (channel / 12.92 if channel <= 0.04 else ((channel + 0.055) / 1.055) ** 2.4 for channel in rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def rgb(colour: str) -> tuple[float, float, float]:
    return tuple(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))  # type: ignore[return-value]


def test_without_axes_a_new_figure_is_made(model: fb.BinnedModel, data: tuple[np.ndarray, np.ndarray]) -> None:
    before = set(plt.get_fignums())
    made = [
        plots.step_plot(model),
        plots.reliability_diagram(assess.reliability_table(*data)),
        plots.validity_plot(assess.validity_curve(*data)),
        plots.epsilon_plot((100,)),
        plots.risk_plot([2, 4], [0.1, 0.2], [0.2, 0.1]),
    ]
    assert len({ax.figure for ax in made}) == 5
    for number in set(plt.get_fignums()) - before:
        plt.close(number)


# ------------------------------------------------------------------------------------------------- reliability


def test_the_note_is_about_the_intervals_that_are_drawn(ax: Any, data: tuple[np.ndarray, np.ndarray]) -> None:
    weights = np.linspace(0.5, 1.5, len(data[0]))

    def note_of(given: Any, **options: Any) -> str:
        ax.clear()
        plots.reliability_diagram(given, ax=ax, **options)
        return str(ax.texts[0].get_text())

    assert "intervals" not in note_of(data[0], labels=data[1], sample_weight=weights)
    sure, loose, bare = (assess.reliability_table(*data, alpha=alpha) for alpha in (0.01, 0.5, None))
    assert note_of({"a": sure, "b": loose}).endswith("intervals of several levels")
    assert note_of({"a": bare, "b": loose}).endswith("50 % intervals, all at once")
    assert "intervals" not in note_of({"a": bare})


def test_bins_that_are_joined_by_their_values_have_no_intervals(ax: Any) -> None:
    rng = np.random.default_rng(1)
    model = fb.UniformMassBinning(n_bins=200).fit(rng.random(10_000), rng.random(10_000) < 0.5)
    plots.reliability_diagram(model, ax=ax)
    assert len(ax.collections) == 1  # points alone
    assert "intervals" not in ax.texts[0].get_text()


def test_a_fit_with_weights_is_drawn_by_its_weights(ax: Any, data: tuple[np.ndarray, np.ndarray]) -> None:
    model = fb.UniformMassBinning(4).fit(*data, sample_weight=np.linspace(0.5, 1.5, len(data[0])))
    plots.reliability_diagram(model, ax=ax)
    x, y = ax.collections[-1].get_offsets().T
    np.testing.assert_allclose(x, y, rtol=1e-12)  # values are the means by weight


def test_reliability_diagram_shows_rates_intervals_and_masses(ax: Any, data: tuple[np.ndarray, np.ndarray]) -> None:
    table = assess.reliability_table(*data, n_bins=7)
    assert plots.reliability_diagram(table, ax=ax) is ax
    lines, points = ax.collections
    np.testing.assert_allclose(points.get_offsets(), np.column_stack([table.mean_predictions, table.positive_rates]))
    segments = np.array(lines.get_segments())
    np.testing.assert_allclose(segments[:, :, 1], table.intervals)
    np.testing.assert_allclose(segments[:, 0, 0], table.mean_predictions)
    (strip,) = ax.child_axes
    np.testing.assert_allclose([bar.get_height() for bar in strip.patches], 100 * table.masses)
    np.testing.assert_allclose([bar.get_x() for bar in strip.patches], table.lower)
    assert ax.get_xlim() == (0.0, 1.0)
    assert ax.get_ylim()[0] == 0.0
    assert max(ax.get_yticks()) <= 1.0 < ax.get_ylim()[1]  # above 1 lies the strip
    assert legend_of(ax) == []
    (note,) = ax.texts
    assert note.get_text() == (
        f"n = 2,000, mean gap {table.ece():.2g} ({table.chance_level.ece:.2g} by chance)\n90 % intervals, all at once"
    )


def test_labels_may_be_words(ax: Any, data: tuple[np.ndarray, np.ndarray]) -> None:
    words = np.where(data[1], "bad", "good")
    for predictions, labels in ((data[0], words), ({"raw": (data[0], words)}, None)):
        plots.reliability_diagram(predictions, labels, positive="bad", ax=ax)
    plots.reliability_diagram(*data, ax=ax)
    first, second, third = (points.get_offsets() for points in ax.collections if len(points.get_offsets()) > 1)
    assert np.array_equal(first, third)
    assert np.array_equal(second, third)


def test_several_tables_have_a_legend_and_no_strip(ax: Any, data: tuple[np.ndarray, np.ndarray]) -> None:
    tables = {"before": assess.reliability_table(*data), "after": assess.reliability_table(data[0] ** 2, data[1])}
    plots.reliability_diagram(tables, ax=ax)
    assert legend_of(ax) == [f"{name}, gap {table.ece():.2g}" for name, table in tables.items()]
    assert ax.child_axes == []


def test_rare_events_fill_the_diagram(ax: Any) -> None:
    rng = np.random.default_rng(1)
    predictions = 0.02 * rng.random(20000)
    plots.reliability_diagram(assess.reliability_table(predictions, rng.random(20000) < predictions), ax=ax)
    assert ax.get_xlim()[1] <= 0.05


def test_weighted_tables_have_no_intervals_to_draw(ax: Any, data: tuple[np.ndarray, np.ndarray]) -> None:
    table = assess.reliability_table(*data, sample_weight=np.full(2000, 0.5))
    plots.reliability_diagram(table, ax=ax, limit=0.8)
    assert len(ax.collections) == 1
    assert ax.get_xlim() == (0.0, 0.8)


# ------------------------------------------------------------------------------------------------- validity


def test_validity_plot_is_the_step_function(ax: Any, data: tuple[np.ndarray, np.ndarray]) -> None:
    curve = assess.validity_curve(*data)
    assert plots.validity_plot(curve, ax=ax) is ax
    (line,) = ax.lines
    x, y = line.get_data()
    assert line.get_drawstyle() == "steps-post"
    np.testing.assert_array_equal(y, curve(x))
    assert set(curve.epsilons) <= set(x)


def test_bands_and_promises(ax: Any) -> None:
    rng = np.random.default_rng(2)
    curves = [assess.validity_curve(rng.choice([0.2, 0.6], 300), rng.random(300) < 0.4) for _ in range(5)]
    mean = theory.mean_validity_curve(curves)
    plots.validity_plot({"UMD": mean}, n_samples=1000, n_bins=10, bound="hoeffding", max_epsilon=0.3, ax=ax)
    assert legend_of(ax) == ["UMD", "promised (Theorem 4)"]
    (band,) = ax.collections
    heights = band.get_paths()[0].vertices[:, 1]
    reach = mean.standard_error(np.concatenate([[0.0], mean.epsilons]))
    assert heights.max() == pytest.approx((mean.means + reach[1:]).max())
    promised = ax.lines[-1]
    np.testing.assert_array_equal(promised.get_ydata(), assess.promised_validity(promised.get_xdata(), 1000, 10))
    assert ax.get_xlim() == (0.0, 0.3)


def test_the_conditional_promise_a_priori(ax: Any) -> None:
    curve = assess.ValidityCurve(np.array([0.1]), np.ones(1))
    plots.validity_plot(curve, n_samples=200, n_bins=5, kind="conditional", bound="a-priori", ax=ax)
    assert ax.get_ylabel() == "conditional validity"
    assert legend_of(ax) == ["promised (a priori)"]


# ------------------------------------------------------------------------------------------------- numbers of bins


def test_epsilon_plot_is_figure_2(ax: Any) -> None:
    plots.epsilon_plot((100, 1000), max_n_bins=60, bound="hoeffding", ax=ax)
    small, large = ax.lines
    np.testing.assert_allclose(large.get_ydata(), [epsilon(1000, b, 0.1, "conditional", "hoeffding") for b in range(1, 61)])
    assert small.get_xdata()[-1] == 50  # n // 2
    assert np.isnan(small.get_ydata()[-1])  # more than 1 promises nothing
    assert legend_of(ax) == ["n = 100", "n = 1,000"]


@pytest.mark.parametrize("parameters", [{"delta": 0.3}, {"scheme": "umb"}, {}])
def test_epsilon_plot_marks_what_the_model_itself_promises(ax: Any, parameters: Any) -> None:
    own = fb.UniformMassBinning(4, **parameters).fit(*FEW).model_
    plots.epsilon_plot(own, max_n_bins=6, ax=ax)
    assert ax.lines[1].get_ydata()[0] == own.certificate(bound="a-priori").epsilon


@pytest.mark.parametrize(
    "calibrator",
    [fb.CertifiedCalibration(), fb.UniformMassBinning(2, sampling_rate=0.5), fb.UniformMassBinning(4, monotone=True)],
)
def test_epsilon_plot_of_a_model_without_such_a_promise(calibrator: Any) -> None:
    with pytest.raises((fb.GuaranteeError, fb.InputError)):
        plots.epsilon_plot(calibrator.fit(*FEW))


def test_epsilon_plot_of_one_bin(ax: Any) -> None:
    plots.epsilon_plot(100, max_n_bins=1, ax=ax)
    assert ax.get_xlim() == (1.0, 2.0)


def test_risk_plot_adds_up_and_marks_the_least(ax: Any) -> None:
    n_bins, calibration, sharpness = np.array([2, 4, 8]), np.array([0.1, 0.2, 0.4]), np.array([0.8, 0.2, 0.05])
    plots.risk_plot(n_bins, calibration, sharpness, bounds=[2.0, 1.0, 1.5], ax=ax)
    total, _, _, bound, mark = ax.lines
    np.testing.assert_allclose(total.get_ydata(), calibration + sharpness)
    np.testing.assert_allclose(bound.get_ydata(), [2.0, 1.0, 1.5])
    assert mark.get_xdata().tolist() == [4.0]
    assert legend_of(ax) == ["risk", "calibration risk", "sharpness risk", "bound on the risk"]


# ------------------------------------------------------------------------------------------------- the function


def test_step_plot_draws_values_and_intervals(ax: Any, model: fb.BinnedModel) -> None:
    assert plots.step_plot(model, alpha=0.2, ax=ax) is ax
    lower, upper, steps = ax.patches
    np.testing.assert_array_equal(steps.get_data().values, model.values)
    np.testing.assert_array_equal(steps.get_data().edges, [0.0, *model.edges, 1.0])
    np.testing.assert_array_equal(np.column_stack([lower.get_data().values, upper.get_data().values]), model.interval(0.2))
    assert legend_of(ax) == ["80 % interval, all bins at once", "calibrated probability", "score itself"]


def test_step_plot_of_margins_and_of_what_has_no_guarantee(ax: Any) -> None:
    margins = fb.BinnedModel.from_parts(
        edges=[-2.0, 3.0], values=[0.1, 0.4, 0.9], score_range=None, scheme="isotonic", counts=[5, 5, 5], label_sums=[0, 2, 5]
    )
    plots.step_plot(margins, ax=ax)
    assert ax.get_xlim() == (-2.5, 3.5)
    assert "no finite-sample intervals for this method" in [text.get_text() for text in ax.texts]
    assert legend_of(ax) == ["calibrated probability"]


@pytest.mark.parametrize("kind", ["smooth", "linear"])
def test_step_plot_of_other_functions(ax: Any, kind: str) -> None:
    if kind == "smooth":
        parts: dict[str, Any] = {"edges": [], "values": [], "scheme": "platt", "map": "logistic", "map_parameters": (2.0, -1.0)}
    else:
        parts = {"edges": [0.2, 0.8], "values": [0.1, 0.9], "scheme": "isotonic"}
    other = fb.BinnedModel.from_parts(kind=kind, **parts)
    plots.step_plot(other, intervals=False, ax=ax)
    x, y = ax.lines[0].get_data()
    np.testing.assert_array_equal(y, other.predict(x))
    assert not ax.texts


@pytest.mark.parametrize("decimals", [None, 1])
@pytest.mark.filterwarnings("ignore:ties left")
def test_step_plot_of_two_resolutions(ax: Any, data: tuple[np.ndarray, np.ndarray], decimals: int | None) -> None:
    scores, labels = data
    model = fb.CertifiedCalibration(5).fit(scores if decimals is None else scores.round(decimals), labels).model_
    plots.step_plot(model, alpha=0.1, ax=ax)
    stairs = [patch.get_data() for patch in ax.patches]
    low, high, values = stairs
    np.testing.assert_array_equal(values.values, model.values)
    np.testing.assert_array_equal(values.edges[1:-1], model.edges)
    for end, column in ((low, 0), (high, 1)):  # bands by evidence bin
        np.testing.assert_array_equal(end.values, model.interval(0.1)[:, column])
        np.testing.assert_array_equal(end.edges[1:-1], model.bin_edges)
    averages = next(lines for lines in ax.collections if lines.get_label() == "average within the bin")
    assert [segment[0][1] for segment in averages.get_segments()] == model.bin_values.tolist()
    assert [segment[1][0] for segment in averages.get_segments()][:-1] == model.bin_edges.tolist()


def test_a_calibrator_will_do(ax: Any, data: tuple[np.ndarray, np.ndarray]) -> None:
    calibrator = fb.UniformMassBinning(n_bins=1).fit(*data)
    plots.step_plot(calibrator, ax=ax)
    assert len(ax.patches) == 3


# ------------------------------------------------------------------------------------------------- refusals


WIDE = fb.BinnedModel.from_parts(edges=[0.0], values=[0.1, 0.4], score_range=(-1.7e308, 1.7e308))
BARE = fb.BinnedModel.from_parts(edges=[0.5], values=[0.1, 0.4])
PLOTS: Any = plots  # whose annotations refuse these
FEW = np.linspace(0.05, 0.95, 40), np.resize([0, 1, 1, 0], 40)
MOVED = LabelShift(fb.UniformMassBinning(2).fit(*FEW).model_, method="known", target_rate=0.1).fit()
SAMPLED = fb.UniformMassBinning(2, sampling_rate=0.1).fit(*FEW)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PLOTS.reliability_diagram(0.5), "predictions is of type float; pass a ReliabilityTable, a model, or"),
        (lambda: PLOTS.reliability_diagram({"a": "b"}), r"predictions\['a'\] is of type str"),
        (lambda: PLOTS.reliability_diagram({}), "predictions is empty"),
        (lambda: PLOTS.reliability_diagram(BARE), "no samples by bin to draw; pass predictions and labels"),
        (lambda: PLOTS.validity_plot({"a": 0.5}), r"curves\['a'\] is a float; it must be a ValidityCurve or MeanValidityCurve"),
        (lambda: PLOTS.validity_plot({}), "curves is empty"),
        (lambda: PLOTS.reliability_diagram(MOVED), "was moved to other class rates than those of the samples of its fit"),
        (lambda: PLOTS.small_multiples({"a": SAMPLED}), "was moved to other class rates than those of the samples of its fit"),
        (lambda: PLOTS.step_plot(BARE, ax=plt.figure().add_subplot(projection="polar")), "ax has the projection 'polar'"),
        (lambda: PLOTS.step_plot(BARE, ax=plt.figure().add_subplot(projection="3d")), "ax has the projection '3d'"),
        (lambda: PLOTS.validity_plot([0.5], [1], kind="marginel"), "kind is 'marginel'; choose one of"),
        (lambda: PLOTS.validity_plot([0.5], [1], bound="exact"), "it is called 'a-priori'"),
        (lambda: PLOTS.epsilon_plot(fb.PlattScaling().fit([0.2, 0.4, 0.6], [0, 1, 0])), "n_samples is a model by 'platt'"),
        (lambda: PLOTS.epsilon_plot(()), "n_samples is empty"),
        (lambda: PLOTS.epsilon_plot(range(10, 18)), "n_samples has 8 entries; at most 7 curves"),
        (lambda: PLOTS.risk_plot([2, 4], [0.1, 0.2], [0.2]), r"sharpness has shape \(1,\)"),
        (lambda: PLOTS.risk_plot([2, 4], [0.1, 0.2], [0.2, 0.1], bounds=[1.0]), r"bounds has shape \(1,\)"),
        (lambda: PLOTS.risk_plot([0, 4], [0.1, 0.2], [0.2, 0.1]), r"n_bins\[0\] is 0.0; it must be finite and at least 1"),
        (lambda: PLOTS.risk_plot([2, 4], [0.1, np.nan], [0.2, 0.1]), r"calibration\[1\] is nan"),
        (lambda: PLOTS.risk_plot([2, 4], [0.0, 0.0], [0.0, 0.0]), "calibration and sharpness are 0 everywhere"),
        (lambda: PLOTS.risk_plot([2, 4], [0.1, 0.2], [0.2, 0.1], best=np.nan), "best is nan"),
        (lambda: PLOTS.step_plot(3), "model is of type int"),
        (lambda: PLOTS.step_plot({}), "model is empty; there is nothing to draw"),
        (lambda: PLOTS.step_plot({"a": fb.ModelSet({"b": BARE})}), r"model\['a'\] is a set|model\['a'\] is of type ModelSet"),
        (lambda: PLOTS.step_plot(WIDE), r"model has scores from -1\.7e\+308 to 1\.7e\+308; only scores within ±1e\+300 can be"),
        (lambda: PLOTS.step_plot(BARE, ax=5), "ax is of type int; pass one Axes of matplotlib"),
        (lambda: PLOTS.step_plot(BARE, ax=[]), "ax is of type list"),
        (lambda: PLOTS.reliability_diagram([0.5], [1], limit=np.nan), r"limit is nan; it must be in \(0, 1\]"),
        (lambda: PLOTS.reliability_diagram([0.5], [1], limit=0), r"limit is 0.0; it must be in \(0, 1\]"),
        (lambda: PLOTS.small_multiples({"a": ([0.5], [1])}, limit=2), r"limit is 2.0; it must be in \(0, 1\]"),
        (lambda: PLOTS.small_multiples({"a": ([0.5], [1])}, ax=5), "ax is of type int"),
        (lambda: PLOTS.validity_plot([0.5], [1], max_epsilon=0), r"max_epsilon is 0.0; it must be in \(0, 1\]"),
        (lambda: PLOTS.small_multiples({}), "tables is empty"),
        (lambda: PLOTS.small_multiples({"a": []}), r"tables\['a'\] is of type list"),
        (lambda: PLOTS.small_multiples({"a": assess.reliability_table([0.5], [1])}, columns=0), "columns is 0"),
        (lambda: PLOTS.top_label_diagram([2.0], [1], [1]), r"probabilities\[0\] is 2.0"),
    ],
)  # fmt: skip
def test_wrong_things_are_named(call: Any, message: str) -> None:
    with pytest.raises(fb.InputTypeError if "is of type" in message else fb.InputError, match=message):
        call()


def test_without_matplotlib_the_extra_is_named(model: fb.BinnedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    from fastbin.report import assess_model, render_report

    found = assess_model(model, np.linspace(0.0, 1.0, 50), np.arange(50) % 2)
    for name in ("matplotlib", "matplotlib.pyplot", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    told = " need matplotlib, which is not installed; " + re.escape(install_command("plots"))
    with pytest.raises(fb.MissingDependencyError, match="plots" + told):
        plots.step_plot(model)
    with pytest.raises(fb.MissingDependencyError, match="reports" + told):
        render_report(found)


def test_a_mean_prediction_of_zero_stands_at_the_left_edge_of_a_logarithmic_scale(ax: Any) -> None:
    intervals = np.array([[0.0, 0.1], [0.1, 0.3]])
    grades_plot(["A", "B"], np.array([0.0, 0.2]), np.array([0.01, 0.2]), intervals, [False] * 2, level="95 % interval", ax=ax)
    (bars,) = [line for line in ax.lines if line.get_label() == "predicted"]
    assert ax.get_xscale() == "log"
    assert bars.get_xdata().tolist() == [ax.get_xlim()[0], 0.2]
