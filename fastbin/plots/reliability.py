"""The reliability diagram."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from fastbin._docstrings import shared_docs
from fastbin.assess import ReliabilityTable
from fastbin.plots._style import GUIDE, Axes, Series, axes_or_new, draw_diagonal, finish, items_by_name, series

STRIP_HEIGHT = 0.13  # of the bin masses, as a part of the diagram's height


@shared_docs(axes_or_new.__doc__)
def reliability_diagram(
    tables: ReliabilityTable | Mapping[str, ReliabilityTable], *, ax: Axes | None = None, limit: float | None = None
) -> Axes:
    """Positive rate against mean prediction, bin by bin, with exact intervals and the share of the samples in each bin.

    Parameters
    ----------
    tables : ReliabilityTable or mapping from name to ReliabilityTable
        As `fastbin.assess.reliability_table` makes them. Several are drawn over each other, with a legend.
    {ax}
    limit : float in (0, 1], optional
        Where both axes end. By default 1, or less where all points and intervals lie far below.

    {Returns}

    {Raises}

    Notes
    -----
    Vertical lines are the tables' intervals: where they miss the diagonal, noise does not explain the distance. Marks are
    larger in bins of more samples. For one table, a strip above the diagram shows the shares as bars.

    Examples
    --------
    >>> from fastbin.assess import reliability_table
    >>> table = reliability_table([0.2, 0.2, 0.8, 0.8], [0, 1, 1, 1])
    >>> ax = reliability_diagram(table)
    >>> ax.get_xlabel()
    'mean prediction'
    """
    items = items_by_name(tables, (ReliabilityTable,), "tables")
    ax = axes_or_new(ax, 4.0)
    top = limit_of(items.values()) if limit is None else float(limit)
    draw_diagonal(ax, 0.0, top)
    for index, (name, table) in enumerate(items.items()):
        draw_table(ax, table, series(index), label=name or None)
    if len(items) == 1:
        _mass_strip(ax, next(iter(items.values())), top)
    ax.set(xlim=(0.0, top), ylim=(0.0, top), xlabel="mean prediction", ylabel="positive rate", aspect="equal")
    return finish(ax, legend="upper left")


def draw_table(ax: Axes, table: ReliabilityTable, look: Series, *, scale: float = 1.0, label: str | None = None) -> None:
    """The points and intervals of a table; marks are larger in bins of more samples."""
    if table.intervals is not None:
        ax.vlines(table.mean_predictions, *table.intervals.T, color=look.colour, linewidth=1.2 * scale, alpha=0.7, zorder=2)
    ax.scatter(
        table.mean_predictions, table.positive_rates, s=scale * (14.0 + 50.0 * np.sqrt(table.masses)), color=look.colour,
        marker=look.marker, label=label, edgecolor="white", linewidth=0.5 * scale, zorder=3,
    )  # fmt: skip


def limit_of(tables: Iterable[ReliabilityTable]) -> float:
    """A round number a little beyond everything that is drawn."""
    reached = [0.0]
    for table in tables:
        reached += [table.mean_predictions.max(), table.positive_rates.max()]
        if table.intervals is not None:  # the interval of a bin with a sliver of the samples would dictate the scale
            reached.append(max(table.intervals[table.masses >= 0.005, 1], default=1.0))
    return next((top for top in (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5) if 1.02 * max(reached) <= top), 1.0)


def _mass_strip(ax: Axes, table: ReliabilityTable, top: float) -> None:
    """Bars above the diagram: as wide as the bin, or of one width around a single value."""
    if table.grouping == "values":
        lefts, widths = table.mean_predictions - 0.006 * top, np.full(len(table.masses), 0.012 * top)
    else:
        lefts, widths = table.lower, table.upper - table.lower
    strip = ax.inset_axes((0.0, 1.02, 1.0, STRIP_HEIGHT))
    strip.bar(lefts, 100.0 * table.masses, widths, align="edge", color="#8DBAD8", edgecolor="white", linewidth=0.8)
    tallest = 100.0 * float(table.masses.max())
    strip.set(xlim=(0.0, top), ylim=(0.0, 1.15 * tallest), xticks=[], yticks=[tallest])
    strip.set_yticklabels([f"{tallest:.2g} %"], fontsize="x-small", color=GUIDE)
    strip.spines[["top", "right", "left"]].set_visible(False)
    strip.spines["bottom"].set_color("#BBBBBB")
    strip.tick_params(length=2, color="#BBBBBB")
