"""The picture of metrics without labels."""

from __future__ import annotations

import numpy as np
import pytest

import fastbin as fb

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


def test_lines_are_the_intervals_and_dots_the_estimates() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(2000)
    model = fb.UniformMassBinning(n_bins=5).fit(scores, rng.random(2000) < scores).model_
    figure, ax = plt.subplots(layout="constrained")
    found = fb.decide.performance(model, rng.random(500), 0.5, cost=(1, 5))
    assert fb.plots.performance_plot(found, ax=ax) is ax
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == ["prevalence", "accuracy", "precision", "recall", "f1"]
    lines = [segment[:, 0].tolist() for segment in ax.collections[0].get_segments()]
    assert lines == [list(found.intervals[name]) for name in names]
    assert ax.lines[0].get_xdata().tolist() == [found.estimates[name] for name in names]
    figure.canvas.draw()
    plt.close(figure)


def test_metrics_that_are_not_defined_are_left_out() -> None:
    scores = np.linspace(0.0, 1.0, 1000)
    model = fb.UniformMassBinning(n_bins=2).fit(scores, scores > 0.9).model_
    ax = fb.plots.performance_plot(fb.decide.performance(model, scores, 0.9))
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["prevalence", "accuracy", "recall"]
    plt.close(ax.figure)


def test_only_performances_have_one() -> None:
    with pytest.raises(fb.InputTypeError, match="performance is of type dict; pass what"):
        fb.plots.performance_plot({})  # type: ignore[arg-type]
