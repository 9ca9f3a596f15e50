"""The pictures of a report, as SVG that stands inside a page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from fastbin._base.dependencies import needed_for
from fastbin.guarantees.certificate import name_cell, sureness
from fastbin.plots import reliability_diagram, small_multiples, step_plot, validity_plot
from fastbin.plots._looks import LIGHT_LOOK, follow_page
from fastbin.report.assessment import Assessment, SetAssessment

VALIDITY = "Which share of the test samples (upwards) lies in bins whose prediction is within epsilon of the rate seen."
MOST_PANELS = 12
INKED = dict.fromkeys(
    ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "patch.edgecolor"), LIGHT_LOOK.ink
) | {"axes.facecolor": LIGHT_LOOK.paper, "figure.facecolor": LIGHT_LOOK.paper}


def pictures_of(assessment: Assessment | SetAssessment) -> list[tuple[str, str]]:
    """Validity, and reliability before and after; before it the step function of a model, behind it every cell of a set."""
    curves = {scorecard.name: scorecard.curve for scorecard in assessment.scorecards}
    end = min(1.0, max(0.02, 1.1 * max(curve.epsilon_at(0.97) for curve in curves.values())))
    words, promise = VALIDITY, dict[str, Any]()
    if not assessment.is_set and assessment.model.scheme == "umd" and assessment.certificates:  # the scheme of Theorem 4
        model = assessment.model
        words += " The grey line is what the number of calibration samples promised before any was seen."
        if model.n_samples >= 2 * model.n_bins:
            promise = {"n_samples": model.n_samples, "n_bins": model.n_bins}
    validity = _svg((5.2, 3.6), partial(validity_plot, curves, **promise, max_epsilon=end))
    shared = [(words, validity), *_reliability(assessment)]
    return [*shared, *_cells(assessment)] if assessment.is_set else [_function(assessment), *shared]


def _function(assessment: Assessment) -> tuple[str, str]:
    model = assessment.model
    words = (
        f"The calibrated probability as a function of the score. With {sureness(assessment.alpha)} probability the band holds "
        "the true frequencies of all bins at once."
    )
    if model.has_steps:
        words += " It is about the average of what is served within a bin (dashes), not about single values."
    return words, _svg((5.2, 3.6), partial(step_plot, model, alpha=assessment.alpha))


def _cells(assessment: SetAssessment) -> list[tuple[str, str]]:
    tables = {name_cell(cell.cell).strip("'"): cell.after for cell in assessment.cells if cell.after is not None}
    if not tables:
        return []
    words = (
        "The calibrated probabilities against what happened in the test set, in each cell by itself (its number of test "
        "samples in brackets). The lines are exact intervals for the bins of one cell."
    )
    rows = -(-min(len(tables), MOST_PANELS) // 4)
    return [(words, _svg((8.0, 1.9 * rows + 0.3), partial(small_multiples, tables, most=MOST_PANELS)))]


def _reliability(assessment: Assessment | SetAssessment) -> list[tuple[str, str]]:
    pictures = []
    for scorecard, name in ((assessment.before, "The scores themselves"), (assessment.after, "The calibrated probabilities")):
        if scorecard is not None:
            caption = (
                f"{name} against what happened in the test set. Lines are exact intervals; where they miss the diagonal, "
                "chance does not explain the distance. The strip above shows the shares of the samples."
            )
            pictures.append((caption, _svg((4.0, 4.3), partial(reliability_diagram, scorecard.table))))
    return pictures


def _svg(size: tuple[float, float], draw: Callable[..., object]) -> str:
    """The picture as an ``svg`` element, the same for the same input."""
    with needed_for("reports", extra="plots"):
        import matplotlib
        from matplotlib.figure import Figure
    with matplotlib.rc_context({**INKED, "svg.hashsalt": "fastbin", "svg.fonttype": "path"}):
        figure = Figure(figsize=size, layout="constrained")
        draw(ax=figure.add_subplot())
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None}, transparent=True)
    text = file.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    return follow_page(text.replace("<svg ", '<svg role="img" ', 1))
