"""The metrics of decisions on rows without labels, and how far they are known."""

from __future__ import annotations

import numpy as np

from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputTypeError
from fastbin.decide import Performance
from fastbin.guarantees.certificate import sureness
from fastbin.plots._style import Axes, axes_or_new, finish, look_of, series


@shared_docs(axes_or_new.__doc__)
def performance_plot(performance: Performance, *, ax: Axes | None = None) -> Axes:
    """The interval of each metric, with its estimate. Metrics that are not defined, and the cost, are left out.

    Parameters
    ----------
    performance : Performance
        As `fastbin.decide.performance` makes it.
    {ax}

    {Returns}

    {Raises}

    Examples
    --------
    >>> import fastbin as fb
    >>> scores = [i / 1000 for i in range(1000)]
    >>> model = fb.UniformMassBinning(n_bins=5).fit(scores, [score > 0.6 for score in scores])
    >>> ax = fb.plots.performance_plot(fb.decide.performance(model, scores, 0.5))
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['prevalence', 'accuracy', 'precision', 'recall', 'f1']
    """
    if not isinstance(performance, Performance):
        problem = f"is of type {type(performance).__name__}"
        raise InputTypeError(problem, "pass what fastbin.decide.performance gives", argument="performance")
    ax = axes_or_new(ax)
    names = [name for name, (low, _) in performance.intervals.items() if name != "cost" and not np.isnan(low)]
    ends = np.array([performance.intervals[name] for name in names]).reshape(-1, 2)
    estimates = np.array([performance.estimates[name] for name in names])
    look, places = series(0, look_of(ax)), np.arange(len(names))
    level = f"{sureness(performance.alpha)} at once, for {performance.about}"
    ax.hlines(places, ends[:, 0], ends[:, 1], colors=look.colour, linewidth=3.0, alpha=0.5, label=level)
    ax.plot(estimates, places, linestyle="none", marker="o", color=look.colour, label="estimate")
    ax.set_yticks(places, names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlim(-0.02, 1.02)
    ax.set_xlabel(f"metric at the threshold {performance.threshold:g}")
    return finish(ax, legend="above")
