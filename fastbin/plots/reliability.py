"""The reliability diagram."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from fastbin._base.dependencies import needed_for
from fastbin._base.docstrings import shared_docs
from fastbin._fit.calibrator import Calibrator
from fastbin.assess import ReliabilityTable
from fastbin.assess.samples import N_BINS
from fastbin.guarantees.certificate import sureness
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.plots._given import coarser, tables_of
from fastbin.plots._style import (
    MOST_SERIES,
    Axes,
    LineStyle,
    annotate,
    axes_or_new,
    draw_diagonal,
    few_ticks,
    finish,
    look_of,
    series,
    short_names,
)

STRIP_HEIGHT = 0.14  # of the bin masses, as a part of the diagram's height
MOST_WITH_INTERVALS = 4  # series; lines of more cross each other beyond reading
ENDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)  # where the axes may end below 1

Given = ReliabilityTable | BinnedModel | ModelSet | Calibrator | Any


@shared_docs(axes_or_new.__doc__)
def reliability_diagram(
    predictions: Given | Mapping[str, Given],
    labels: Any = None,
    *,
    n_bins: int = N_BINS,
    sample_weight: Any = None,
    alpha: float | None = 0.1,
    limit: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Positive rate against mean prediction, bin by bin, with exact intervals and the share of the samples in each bin.

    Parameters
    ----------
    predictions : array-like of shape (n,), ReliabilityTable, BinnedModel, fitted calibrator, ModelSet, or mapping
        Predictions with `labels`; or a table, as `fastbin.assess.reliability_table` makes it; or a model or a set, of which the
        samples of the fit are drawn, bin by bin. A mapping of names to these, or to pairs of predictions and labels, draws
        several over each other, at most seven, with a legend.
    labels : array-like of shape (n,), optional
        0 or 1, or bool.
    n_bins : int
        Into how many bins predictions with many values are divided.
    sample_weight : array-like of shape (n,), optional
        Integers are frequencies, floats importance weights.
    alpha : float or None
        Failure probability of the intervals of all bins together; None draws none. Tables have their own.
    limit : float in (0, 1], optional
        Where both axes end. By default they show where the points and intervals are.
    {ax}

    {Returns}

    {Raises}

    Notes
    -----
    Vertical lines are intervals: where they miss the diagonal, noise does not explain the distance. Marks are larger in bins of
    more samples. For one table, a strip at the top shows the shares as bars. Marks of several that stand for one prediction
    are moved apart a little; of more than four, intervals are left out. Of a table of more than 120 rows, as of a model with
    many steps, neighbours are joined to 40 groups of equal mass. The gap is the mean distance of the points from the diagonal,
    the plug-in expected calibration error; beside it stands what a calibrated predictor would show by chance on average.

    Examples
    --------
    >>> ax = reliability_diagram([0.2, 0.2, 0.8, 0.8], [0, 1, 1, 1])
    >>> ax.get_xlabel()
    'mean prediction'
    """
    tables = tables_of(predictions, labels, "predictions", n_bins=n_bins, sample_weight=sample_weight, alpha=alpha)
    n_left_out = len(tables) - MOST_SERIES
    tables = {name: coarser(table) for name, table in list(tables.items())[:MOST_SERIES]}
    ax = axes_or_new(ax, 4.2)
    low, high = span_of(tables.values())
    if limit is not None:
        low, high = 0.0, float(limit)
    draw_diagonal(ax, low, high)
    alone, look = len(tables) == 1, look_of(ax)
    for index, (name, table) in enumerate(zip(short_names(tables, 20), tables.values(), strict=True)):
        label = f"{name}, gap {_gap_of(table)}" if name else None
        aside = 0.0 if alone else 3.0 * (index - 0.5 * (len(tables) - 1))
        draw_table(
            ax, table, series(index, look), label=label, aside=aside, with_intervals=len(tables) <= MOST_WITH_INTERVALS,
            joined=not alone,
        )  # fmt: skip
    room = (high - low) * STRIP_HEIGHT if alone else 0.0
    ax.set(xlim=(low, high), ylim=(low, high + room), xlabel="mean prediction", ylabel="positive rate", aspect="equal")
    few_ticks(ax)
    if alone:
        _mass_strip(ax, next(iter(tables.values())), low, high)
        ax.set_yticks([tick for tick in ax.get_xticks() if low <= tick <= high * (1.0 + 1e-9)])  # none beside the strip
    above = (
        sum(float(np.sum(table.masses * (table.positive_rates - table.mean_predictions))) for table in tables.values()) > 0.0
    )
    _note(ax, tables, n_left_out, upper_left=above and not alone)
    return finish(ax, legend="lower right" if above else "upper left")


def draw_table(
    ax: Axes, table: ReliabilityTable, look: LineStyle, *, scale: float = 1.0, label: str | None = None, aside: float = 0.0,
    with_intervals: bool = True, joined: bool = False,
) -> None:  # fmt: skip
    """The points and intervals of a table, moved aside by some points; marks are larger in bins of more samples."""
    with needed_for("plots", extra="plots"):
        from matplotlib.transforms import ScaledTranslation

    moved = ax.transData + ScaledTranslation(aside / 72.0, 0.0, ax.figure.dpi_scale_trans)
    x, y = table.mean_predictions, table.positive_rates
    if table.intervals is not None and with_intervals:
        width = 1.2 * scale if len(x) <= 30 else 0.6 * scale
        ax.vlines(x, *table.intervals.T, color=look.colour, linewidth=width, alpha=0.7, zorder=2, transform=moved)
    if joined and len(x) > 1:
        ax.plot(x, y, color=look.colour, linestyle=look.dashes, linewidth=0.7, alpha=0.6, zorder=2.5)
    ax.scatter(
        x, y, s=scale * (50.0 * np.sqrt(table.masses) + (14.0 if len(x) <= 30 else 4.0)), color=look.colour,
        marker=look.marker, label=label, edgecolor=look_of(ax).paper, linewidth=0.5 * scale, zorder=3, transform=moved,
    )  # fmt: skip


def span_of(tables: Iterable[ReliabilityTable]) -> tuple[float, float]:
    """Round numbers a little beyond everything that is drawn: from 0 upwards, or up to 1."""
    reached = []
    for table in tables:
        reached.append(np.concatenate([table.mean_predictions, table.positive_rates]))
        if table.intervals is not None:  # the interval of a bin with a sliver of the samples would dictate the scale
            reached.append(table.intervals[table.masses >= 0.005].ravel())
    entries = np.concatenate(reached)
    least, most = float(entries.min()), float(entries.max())
    high = next((end for end in ENDS if 1.02 * most <= end), 1.0)
    low = next((1.0 - end for end in ENDS if 1.02 * (1.0 - least) <= end), 0.0) if high == 1.0 else 0.0
    return low, high


def _gap_of(table: ReliabilityTable) -> str:
    """The mean distance from the diagonal, where the last bits of the values do not count."""
    gap = table.ece()
    return f"{gap:.2g}" if gap > 1e-9 else "0"


def _note(ax: Axes, tables: Mapping[str, ReliabilityTable], n_left_out: int, *, upper_left: bool) -> None:
    """The samples and the gap; of several the samples, and how many are not shown."""
    table = next(iter(tables.values()))
    counts = [each.n_samples for each in tables.values()]
    note = f"n = {counts[0]:,}" if len(set(counts)) == 1 else f"n = {min(counts):,} to {max(counts):,}"
    if len(tables) == 1:
        note += f", mean gap {_gap_of(table)}"
        if table.chance_level is not None:
            note += f" ({table.chance_level.ece:.2g} by chance)"
    if n_left_out > 0:
        note += f"; and {n_left_out:,} more"
    elif len(tables) <= MOST_WITH_INTERVALS and table.alpha is not None:
        note += f"\n{sureness(table.alpha)} intervals{', all at once' if table.simultaneous else ''}"
    annotate(ax, note, upper_left=upper_left)


def _mass_strip(ax: Axes, table: ReliabilityTable, low: float, high: float) -> None:
    """Bars at the top of the diagram: as wide as the bin, or of one width around a single value."""
    span, look = high - low, look_of(ax)
    if table.grouping in ("values", "shared"):
        lefts, widths = table.mean_predictions - 0.006 * span, np.full(len(table.masses), 0.012 * span)
    else:
        lefts, widths = table.lower, table.upper - table.lower
    part = STRIP_HEIGHT / (1.0 + STRIP_HEIGHT)
    strip = ax.inset_axes((0.0, 1.0 - 0.85 * part, 1.0, 0.85 * part))
    edge = {"edgecolor": look.paper, "linewidth": 0.8} if len(lefts) <= 30 else {"linewidth": 0.0}
    strip.bar(lefts, 100.0 * table.masses, widths, align="edge", color=look.bar, **edge)
    tallest = 100.0 * float(table.masses.max())
    strip.set(xlim=(low, high), ylim=(0.0, 1.15 * tallest), xticks=[], yticks=[tallest], facecolor=ax.get_facecolor())
    strip.set_yticklabels([f"{tallest:.0f} %" if tallest >= 9.5 else f"{tallest:.2g} %"], fontsize="x-small", color=look.guide)
    strip.spines[["top", "right", "left"]].set_visible(False)
    strip.spines["bottom"].set_color(look.grid)
    strip.tick_params(length=2, color=look.grid)
