"""The picture of a monitor."""

from __future__ import annotations

import numpy as np
import pytest

import fastbin as fb

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


def watched(factor: float) -> fb.online.CalibrationMonitor:
    """A monitor of five bins, after 2,000 outcomes whose rates are the scores times this factor."""
    rng = np.random.default_rng(0)
    scores = rng.random(3000)
    model = fb.UniformMassBinning(n_bins=5).fit(scores, rng.random(3000) < scores).model_
    monitor = fb.online.CalibrationMonitor(model, tolerance=0.05)
    later = rng.random(2000)
    monitor.update(later, rng.random(2000) < factor * later)
    return monitor


def test_bars_are_tolerated_lines_the_intervals_and_dots_the_rates() -> None:
    report = watched(1.0).report()
    assert not report.named
    figure, ax = plt.subplots(layout="constrained")
    assert fb.plots.monitor_plot(report, ax=ax) is ax
    bars, intervals = ax.collections
    corners = np.array([path.vertices[:4] for path in bars.get_paths()])
    np.testing.assert_array_equal(corners[:, :2, 0], [b.tolerated for b in report.bins])
    np.testing.assert_array_equal(corners[:, 1:3, 1], np.add.outer(np.arange(5), [-0.36, 0.36]))
    assert [tuple(segment[:, 0]) for segment in intervals.get_segments()] == [b.interval for b in report.bins]
    rates, values = (line.get_xdata().tolist() for line in ax.lines)
    assert rates == [b.label_sum / b.count for b in report.bins]
    assert values == [b.value for b in report.bins]
    figure.canvas.draw()
    plt.close(figure)


def test_bins_that_drifted_have_a_mark_of_their_own() -> None:
    monitor = watched(0.6)
    report = monitor.report()
    assert report.named
    ax = fb.plots.monitor_plot(monitor)
    drifted = next(line for line in ax.lines if "drifted" in line.get_label())
    assert sorted(drifted.get_ydata().tolist()) == sorted(b.bin for b in report.named)
    assert drifted.get_marker() != ax.lines[0].get_marker()
    plt.close(ax.figure)


def test_bins_of_a_set_are_called_by_their_cells_and_unseen_ones_have_no_rate() -> None:
    rng = np.random.default_rng(0)
    scores, cells = rng.random(2000), np.repeat(["east", "west"], 1000)
    models = fb.multi.SegmentedBinning(fb.UniformMassBinning(n_bins=2)).fit(scores, rng.random(2000) < scores, cells).model_
    monitor = fb.online.CalibrationMonitor(models, tolerance=0.05)
    monitor.update([0.1, 0.9], [0, 1], cells=["east", "east"])
    ax = fb.plots.monitor_plot(monitor)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [f"'{c}', bin {b}" for c in ("east", "west") for b in (0, 1)]
    assert ax.lines[0].get_ydata().tolist() == [0, 1]
    plt.close(ax.figure)


def test_the_number_of_elements_does_not_depend_on_that_of_bins() -> None:
    model = fb.BinnedModel.from_parts(edges=np.arange(1, 1000) / 1000, values=np.full(1000, 0.5))
    monitor = fb.online.CalibrationMonitor(model, tolerance=0.05)
    monitor.update(np.arange(2000) / 2000, np.arange(2000) % 2)
    ax = fb.plots.monitor_plot(monitor)
    assert len(ax.get_children()) < 30
    plt.close(ax.figure)


def test_only_monitors_have_one() -> None:
    with pytest.raises(fb.InputTypeError, match="monitor is of type dict; pass a CalibrationMonitor or its report"):
        fb.plots.monitor_plot({})  # type: ignore[arg-type]
