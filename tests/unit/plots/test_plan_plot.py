"""The picture of a plan of labels."""

from __future__ import annotations

import numpy as np
import pytest

import fastbin as fb

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


def test_bars_are_the_labels_known_and_needed() -> None:
    scores = np.random.default_rng(0).random(3000)
    plan = fb.decide.plan_labels(scores, epsilon=0.2, n_bins=3)
    figure, ax = plt.subplots(layout="constrained")
    plan.update(plan.rows()[:10], [0] * 10)
    assert fb.plots.plan_plot(plan, ax=ax) is ax
    heights = [[bar.get_height() for bar in bars] for bars in ax.containers if hasattr(bars, "patches")]
    frame = plan.to_pandas()
    assert heights == [frame["labels"].tolist(), frame["needed"].tolist()]
    figure.canvas.draw()
    plt.close(figure)
    while not plan.done:
        rows = plan.rows()
        plan.update(rows, scores[rows] > 0.5)
    ax = fb.plots.plan_plot(plan)
    assert ax.get_legend_handles_labels()[1] == ["known"]
    plt.close(ax.figure)


def test_only_plans_have_one() -> None:
    with pytest.raises(fb.InputTypeError, match="plan is of type list; pass what plan_labels gives"):
        fb.plots.plan_plot([1])  # type: ignore[arg-type]
