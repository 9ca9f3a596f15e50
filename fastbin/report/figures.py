"""The pictures of a report, as SVG that stands inside a page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from fastbin._dependencies import needed_for
from fastbin.guarantees.words import sureness
from fastbin.plots import reliability_diagram, step_plot, validity_plot
from fastbin.report.assessment import Assessment
from fastbin.report.scorecard import Scorecard

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Picture", "pictures_of"]

# What a picture shows in words, and the picture.
Picture = tuple[str, str]

UNIFORM_MASS = ("umd",)  # the scheme of Theorem 4, whose promise is drawn
SMALLEST_SHOWN = 0.02  # on the axis of validity plots


def pictures_of(found: Assessment) -> list[Picture]:
    """The step function, reliability before and after, and validity, each with its caption."""
    sure = sureness(found.alpha)
    function = (
        f"The calibrated probability as a function of the score. With {sure} probability the band holds the true frequencies "
        "of all bins at once."
    )
    pictures = [
        (function, _svg(partial(_function, found), (5.2, 3.6))),
        (_validity_caption(found), _svg(partial(_validity, found), (5.2, 3.6))),
    ]
    for scorecard, what in ((found.before, "The scores themselves"), (found.after, "The calibrated probabilities")):
        if scorecard is not None:
            caption = (
                f"{what} against what happened in the test set. Lines are exact intervals; where they miss the diagonal, "
                "chance does not explain the distance. The strip above shows the shares of the samples."
            )
            pictures.append((caption, _svg(partial(_reliability, scorecard), (4.0, 4.3))))
    return pictures


def _function(found: Assessment, ax: Axes) -> None:
    step_plot(found.model, alpha=found.alpha, ax=ax)


def _reliability(scorecard: Scorecard, ax: Axes) -> None:
    reliability_diagram(scorecard.table, ax=ax)


def _validity(found: Assessment, ax: Axes) -> None:
    model = found.model
    promised = model.scheme in UNIFORM_MASS and bool(found.certificates) and model.n_samples >= 2 * model.n_bins
    curves = {scorecard.name: scorecard.curve for scorecard in found.scorecards}
    validity_plot(
        curves, n_samples=model.n_samples if promised else None, n_bins=model.n_bins if promised else None, ax=ax,
        max_epsilon=min(1.0, max(SMALLEST_SHOWN, 1.1 * max(curve.epsilon_at(0.97) for curve in curves.values()))),
    )  # fmt: skip


def _validity_caption(found: Assessment) -> str:
    told = "Which share of the test samples (upwards) lies in bins whose prediction is within epsilon of the rate seen."
    if found.model.scheme in UNIFORM_MASS and found.certificates:
        told += " The grey line is what the number of calibration samples promised before any was seen."
    return told


def _svg(draw: Callable[[Axes], object], size: tuple[float, float]) -> str:
    """The picture as an ``svg`` element, the same for the same input."""
    with needed_for("reports", extra="plots"):
        import matplotlib
        from matplotlib.figure import Figure
    with matplotlib.rc_context({"svg.hashsalt": "fastbin", "svg.fonttype": "path"}):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.add_subplot())
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None}, transparent=True)
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    return text.replace("<svg ", '<svg role="img" ', 1)
