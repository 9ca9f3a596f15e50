"""The picture of a decision shows its tests, targets and bands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from wordings import refuses

from fastbin import plots
from fastbin.decide import accept_threshold

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture
def ax() -> Iterator[Any]:
    figure, axes = plt.subplots(layout="constrained")
    yield axes
    figure.canvas.draw()
    plt.close(figure)


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    scores = rng.random(3000)
    return scores, rng.random(3000) < scores


def test_tests_bounds_and_targets_are_drawn(rows: tuple[np.ndarray, np.ndarray], ax: Any) -> None:
    decision = accept_threshold(*rows, precision=0.8, npv=0.7)
    assert plots.decision_plot(decision, ax=ax) is ax
    lines = {line.get_label(): line for line in ax.get_lines()}
    for band, label in (("accept", "label 1 above"), ("reject", "label 0 below")):
        tests = [test for test in decision.sequence if test.band == band]
        assert lines[label].get_xdata().tolist() == [test.threshold for test in tests]
        assert lines[label].get_ydata().tolist() == [test.n_right / test.n for test in tests]
        assert lines[f"its lower bound ({band})"].get_ydata().tolist() == [test.bound for test in tests]
    level = {float(line.get_ydata()[0]) for line in ax.get_lines() if len(set(line.get_ydata())) == 1}
    assert {0.8, 0.7} <= level
    assert {text.get_text() for text in ax.texts} == {"accept", "reject"}


def test_costs_have_both_targets(rows: tuple[np.ndarray, np.ndarray], ax: Any) -> None:
    plots.decision_plot(accept_threshold(*rows, cost=(3, 1)), ax=ax)
    level = {float(line.get_ydata()[0]) for line in ax.get_lines() if len(set(line.get_ydata())) == 1}
    assert {0.75, 0.25} <= level


@pytest.mark.parametrize("labels", ["drawn", "equal scores"])
def test_what_abstains_says_so(rows: tuple[np.ndarray, np.ndarray], ax: Any, labels: str) -> None:
    scores = rows[0] if labels == "drawn" else np.ones(3000)
    plots.decision_plot(accept_threshold(scores, rows[1], precision=0.999 if labels == "drawn" else 0.4), ax=ax)
    assert [text.get_text() for text in ax.texts] == ["no threshold passed: all scores abstain"]


def test_only_decisions_are_drawn() -> None:
    refuses("InputTypeError decision", plots.decision_plot, 0.5)
