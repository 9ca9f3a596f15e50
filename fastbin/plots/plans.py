"""The labels that a plan has and still needs, by bin."""

from __future__ import annotations

import numpy as np

from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputTypeError
from fastbin.decide import LabelPlan
from fastbin.plots._style import Axes, axes_or_new, finish, look_of, series


@shared_docs(axes_or_new.__doc__)
def plan_plot(plan: LabelPlan, *, ax: Axes | None = None) -> Axes:
    """The labels of each bin of a plan: those that are known, and those still needed, with their likely range.

    Parameters
    ----------
    plan : LabelPlan
        As `fastbin.decide.plan_labels` makes it, at any time.
    {ax}

    {Returns}

    {Raises}

    Examples
    --------
    >>> import fastbin as fb
    >>> plan = fb.decide.plan_labels([i / 5000 for i in range(5000)], epsilon=0.1, n_bins=5)
    >>> ax = fb.plots.plan_plot(plan)
    >>> ax.get_ylabel()
    'labels'
    """
    if not isinstance(plan, LabelPlan):
        raise InputTypeError(f"is of type {type(plan).__name__}", "pass what plan_labels gives", argument="plan")
    ax = axes_or_new(ax)
    rows, look, places = plan.to_dict()["bins"], look_of(ax), np.arange(plan.n_bins)
    known, needed = (np.array([row[name] for row in rows]) for name in ("labels", "needed"))
    ax.bar(places, known, color=series(0, look).colour, label="known")
    if not plan.done:
        likely = np.array([[row["needed"] - row["likely_lower"], row["likely_upper"] - row["needed"]] for row in rows])
        ax.bar(
            places, needed, bottom=known, color=series(1, look).colour, alpha=0.6, hatch="//", label="needed, likely range",
            yerr=likely.T, ecolor=look.guide, capsize=2.0,
        )  # fmt: skip
    ax.set_xticks(places[:: max(1, plan.n_bins // 10)])
    ax.set_xlabel("bin, by ascending score")
    ax.set_ylabel("labels")
    ax.margins(y=0.25)  # the legend needs room above the bars
    return finish(ax)
