"""The bins of a monitor: what is tolerated in each, and what the outcomes say."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.dependencies import needed_for
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputTypeError
from fastbin.guarantees.certificate import name_cell, sureness
from fastbin.online import CalibrationMonitor, MonitorReport
from fastbin.plots._style import Axes, axes_or_new, finish, look_of, series, short_names

MOST_NAMES = 40  # that fit beside the axis of a tall picture
HALF_HEIGHT = 0.36  # of a bar, where the next one is at 1


@shared_docs(axes_or_new.__doc__)
def monitor_plot(monitor: CalibrationMonitor | MonitorReport, *, ax: Axes | None = None) -> Axes:
    """For each bin the tolerated interval, the value served, and the rate of outcomes with its interval since the beginning.

    Bins that are established to have drifted have another colour and mark. Where a model has two resolutions, the value is
    the average of what was served in the bin at the fit.

    Parameters
    ----------
    monitor : CalibrationMonitor or MonitorReport
    {ax}

    {Returns}

    {Raises}

    Examples
    --------
    >>> import fastbin as fb
    >>> scores = [i * 377 % 1000 / 1000 for i in range(1000)]
    >>> model = fb.UniformMassBinning(n_bins=5).fit(scores, [score > 0.6 for score in scores])
    >>> monitor = fb.online.CalibrationMonitor(model, tolerance=0.05)
    >>> monitor.update(scores, [score > 0.7 for score in scores])
    True
    >>> ax = fb.plots.monitor_plot(monitor)
    >>> ax.get_xlabel()
    'rate of outcomes 1'
    """
    report = monitor.report() if isinstance(monitor, CalibrationMonitor) else monitor
    if not isinstance(report, MonitorReport):
        problem = f"is of type {type(monitor).__name__}"
        raise InputTypeError(problem, "pass a CalibrationMonitor or its report()", argument="monitor")
    ax = axes_or_new(ax)
    look, places = look_of(ax), np.arange(len(report.bins))
    tolerated, intervals = (np.array([getattr(b, name) for b in report.bins]) for name in ("tolerated", "interval"))
    _draw_bars(ax, tolerated, places, color=look.bar, alpha=0.6, label="tolerated")
    rates = np.array([np.nan if b.rate is None else b.rate for b in report.bins])
    drifted, seen = np.array([[b.named_at is not None, b.count > 0] for b in report.bins]).T
    for index, (own, told) in enumerate([(seen & ~drifted, ""), (seen & drifted, ", drifted")]):
        if own.any():
            style = series(index, look)
            label = f"rate{told}, {sureness(report.alpha)} interval"
            ax.hlines(places[own], intervals[own, 0], intervals[own, 1], colors=style.colour, linewidth=2.0)
            ax.plot(
                rates[own], places[own], linestyle="none", marker=style.marker, markersize=5, color=style.colour, label=label
            )
    values = [b.value for b in report.bins]
    served = "served on average" if report.n_steps else "served"
    ax.plot(values, places, linestyle="none", marker="|", markersize=12, markeredgewidth=1.8, color=look.ink, label=served)
    ax.set_xlabel("rate of outcomes 1")
    ax.set_ylim(len(places) - 0.5, -0.5)
    if len(places) <= MOST_NAMES:
        names = [f"{name_cell(b.cell)}, bin {b.bin}" if report.is_set else str(b.bin) for b in report.bins]
        ax.set_yticks(places, short_names(names, 24))
    ax.set_ylabel("" if report.is_set else "bin, by ascending score")
    return finish(ax, legend="above")


def _draw_bars(ax: Axes, ends: Float64s, places: Any, **options: Any) -> None:
    """Horizontal bars, as one element: matplotlib takes a millisecond for each element of its own."""
    with needed_for("plots", extra="plots"):
        from matplotlib.collections import PolyCollection

    corners: Any = np.empty((len(ends), 4, 2))
    corners[:, :, 0] = ends[:, [0, 1, 1, 0]]
    corners[:, :, 1] = places[:, None] + np.array([-HALF_HEIGHT, -HALF_HEIGHT, HALF_HEIGHT, HALF_HEIGHT])
    ax.add_collection(PolyCollection(corners, linewidth=0.0, **options))
