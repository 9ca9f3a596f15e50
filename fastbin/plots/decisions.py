"""The bands of a decision, and the tests that gave them."""

from __future__ import annotations

import math
from typing import Any

from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputTypeError
from fastbin._model.decision import ACCEPT, REJECT
from fastbin.decide import Decision
from fastbin.plots._style import Axes, annotate, axes_or_new, check_span, few_ticks, finish, look_of, series

RIGHT = {ACCEPT: "label 1 above", REJECT: "label 0 below"}


@shared_docs(axes_or_new.__doc__)
def decision_plot(decision: Decision, *, ax: Axes | None = None) -> Axes:
    """The frequency of right decisions beyond each threshold that was tested, its lower bound, the targets, and the bands.

    Parameters
    ----------
    decision : Decision
        As `fastbin.decide.accept_threshold` gives it.
    {ax}

    {Returns}

    {Raises}

    Notes
    -----
    Bounds hold one by one at the level of the test, and those that passed hold together. With costs, frequencies are those
    between a threshold and the one before. What is accepted lies right of its band's line, what is rejected left of it.

    Examples
    --------
    >>> import fastbin as fb
    >>> scores = [i / 1000 for i in range(1000)]
    >>> decision = fb.decide.accept_threshold(scores, [score > 0.6 for score in scores], precision=0.9)
    >>> fb.plots.decision_plot(decision).get_ylabel()
    'frequency'
    """
    if not isinstance(decision, Decision):
        problem = f"must be a Decision, got {type(decision).__name__}"
        raise InputTypeError(problem, "pass what fastbin.decide.accept_threshold gave", argument="decision")
    places = [test.threshold for test in decision.sequence]
    check_span(min(places, default=0.0), max(places, default=0.0), "decision")
    ax = axes_or_new(ax)
    look = look_of(ax)
    targets = {ACCEPT: decision.precision, REJECT: decision.npv}
    if decision.cost is not None:
        false_positive, false_negative = decision.cost
        share = false_positive / (false_positive + false_negative)
        targets = {ACCEPT: share, REJECT: 1.0 - share}
    edges = {ACCEPT: decision.accept_above, REJECT: decision.reject_below}
    margin = 0.05 * (max(places) - min(places)) or 0.5 if places else 0.5
    low, high = (min(places) - margin, max(places) + margin) if places else (0.0, 1.0)
    for index, (band, target) in enumerate(targets.items()):
        if target is None:
            continue
        style = series(index, look)
        tests = [test for test in decision.sequence if test.band == band and test.n]
        thresholds = [test.threshold for test in tests]
        ax.plot(thresholds, [test.n_right / test.n for test in tests], color=style.colour, linestyle="-", label=RIGHT[band])
        ax.plot(
            thresholds, [test.bound for test in tests], color=style.colour, linestyle=(0, (1.2, 1.2)), marker=style.marker,
            markersize=3.0, label=f"its lower bound ({band})",
        )  # fmt: skip
        ax.axhline(target, color=style.colour, linewidth=0.9, linestyle=(0, (5, 3)))
        if math.isfinite(edges[band]):
            ends = (edges[band], high) if band == ACCEPT else (low, edges[band])
            ax.axvspan(*ends, color=style.colour, alpha=0.12, linewidth=0.0)
            ax.axvline(edges[band], color=style.colour, linewidth=1.0)
            place: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "ha": "center", "fontsize": "small"}
            ax.text(sum(ends) / 2.0, 0.02, band, color=look.ink, **place)
    if not any(map(math.isfinite, edges.values())):
        annotate(ax, "no threshold passed: all scores abstain")
    ax.set(xlim=(low, high), xlabel="threshold on the score", ylabel="frequency")
    few_ticks(ax)
    return finish(ax, legend="above")
