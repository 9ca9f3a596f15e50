"""The pictures of a report, as SVG that stands inside a page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from fastbin._dependencies import needed_for
from fastbin.guarantees.words import sureness
from fastbin.plots import reliability_diagram, step_plot, validity_plot
from fastbin.report.assessment import Assessment


def pictures_of(assessment: Assessment) -> list[tuple[str, str]]:
    """The step function, validity, and reliability before and after: for each a caption and the picture."""
    model = assessment.model
    promise: dict[str, Any] = {}
    validity = "Which share of the test samples (upwards) lies in bins whose prediction is within epsilon of the rate seen."
    if model.scheme == "umd" and assessment.certificates:  # the scheme of Theorem 4
        validity += " The grey line is what the number of calibration samples promised before any was seen."
        if model.n_samples >= 2 * model.n_bins:
            promise = {"n_samples": model.n_samples, "n_bins": model.n_bins}
    curves = {scorecard.name: scorecard.curve for scorecard in assessment.scorecards}
    end = min(1.0, max(0.02, 1.1 * max(curve.epsilon_at(0.97) for curve in curves.values())))
    function = (
        f"The calibrated probability as a function of the score. With {sureness(assessment.alpha)} probability the band holds "
        "the true frequencies of all bins at once."
    )
    if model.has_steps:
        function += " It is about the average of what is served within a bin (dashes), not about single values."
    pictures = [
        (function, _svg((5.2, 3.6), partial(step_plot, model, alpha=assessment.alpha))),
        (validity, _svg((5.2, 3.6), partial(validity_plot, curves, **promise, max_epsilon=end))),
    ]
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
    with matplotlib.rc_context({"svg.hashsalt": "fastbin", "svg.fonttype": "path"}):
        figure = Figure(figsize=size, layout="constrained")
        draw(ax=figure.add_subplot())
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None}, transparent=True)
    text = file.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    return text.replace("<svg ", '<svg role="img" ', 1)
