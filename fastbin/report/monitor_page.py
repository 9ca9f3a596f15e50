"""The section of a page on a model about its monitor: what the outcomes have said since it is served."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from fastbin._base.errors import InputError, InputTypeError
from fastbin._base.html import badge, folded, paragraph, table
from fastbin._base.shown import how_many
from fastbin._base.table import as_html
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.online import CalibrationMonitor, MonitorReport
from fastbin.plots.monitors import MOST_NAMES, monitor_plot
from fastbin.report.drawing import svg_of, with_captions

SHOWN = (
    "What is tolerated in each bin, the value served (bar), and the rate of outcomes 1 (dot) with its interval since the "
    "monitor began. An interval outside of what is tolerated is drift."
)


def reports_of(monitor: Any, model: Any) -> tuple[MonitorReport, ...]:
    """The reports of a monitor of this model, or of its states in the order of time, checked."""
    given = [] if monitor is None else list(monitor) if isinstance(monitor, (list, tuple)) else [monitor]
    for at, each in enumerate(given):
        place: dict[str, Any] = {"argument": "monitor", "at": at if isinstance(monitor, (list, tuple)) else None}
        if not isinstance(each, CalibrationMonitor):
            remedy = "pass a fastbin.online.CalibrationMonitor, or a list of its states in the order of time"
            raise InputTypeError(f"is of type {type(each).__name__}", remedy, **place)
        if not isinstance(model, (BinnedModel, ModelSet)) or not each.belongs_to(model):
            raise InputError("watches another model than the one that this page is about", "leave it out", **place)
        if at and each.n_samples < given[at - 1].n_samples:
            problem = f"has seen {each.n_samples:,} outcomes, and the one before it {given[at - 1].n_samples:,}"
            raise InputError(problem, "pass states in the order of time", **place)
    return tuple(each.report() for each in given)


def fact(reports: Sequence[MonitorReport]) -> str:
    """Whether the alarm was raised, in a few words; nothing without a monitor."""
    if not reports:
        return ""
    last = reports[-1]
    seen = how_many(last.n_samples, "outcome")
    return f"no alarm after {seen}" if last.alarm_at is None else f"alarm at outcome {last.alarm_at:,} of {seen}"


def lead(reports: Sequence[MonitorReport]) -> str:
    """The alarm, beside the verdict."""
    return f"<p>The monitor, since the model is served: {badge('alarm')}</p>" if reports and reports[-1].alarm else ""


def in_short(reports: Sequence[MonitorReport]) -> str:
    """The last report in sentences."""
    return paragraph(f"Monitor: {reports[-1]}") if reports else ""


def section_of(reports: Sequence[MonitorReport]) -> str:
    """The last report with its bins and picture; of several, what each said. Nothing without any."""
    if not reports:
        return ""
    last = reports[-1]
    n, bins = len(last.bins), as_html(last.words(), n_text=int(last.is_set), most=None)
    if n > MOST_NAMES:
        return paragraph(str(last)) + _history(reports) + folded(how_many(n, "bin"), bins)
    svg = svg_of((6.4, 1.2 + 0.3 * n), partial(monitor_plot, last))
    return paragraph(str(last)) + _history(reports) + bins + with_captions([(SHOWN, svg)])


def _history(reports: Sequence[MonitorReport]) -> str:
    """The evidence at each state; the alarm stays on once it is raised."""
    if len(reports) < 2:
        return ""
    rows = [
        [
            f"{each.n_samples:,}", f"{each.e_value:.3g}", f"{each.max_e_value:.3g}", f"{len(each.named):,}",
            "" if each.alarm_at is None else f"{each.alarm_at:,}",
        ]
        for each in reports
    ]  # fmt: skip
    return table(["outcomes", "evidence", "at most so far", "bins found to have drifted", "alarm at outcome"], rows)
