"""The reliability diagram."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from fastbin.assess import ReliabilityTable
from fastbin.plots._style import GUIDE, axes_or_new, finish, named, series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["reliability_diagram"]

# Of the strip of bin masses, in heights of the diagram.
STRIP_HEIGHT = 0.13


def reliability_diagram(
    tables: ReliabilityTable | Mapping[str, ReliabilityTable], *, ax: Axes | None = None, limit: float | None = None
) -> Axes:
    """Positive rate against mean prediction, bin by bin, with exact intervals and the share of the samples in each bin.

    Parameters
    ----------
    tables : ReliabilityTable or mapping from name to ReliabilityTable
        As `fastbin.assess.reliability_table` makes them. Several are drawn over each other, with a legend.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    limit : float in (0, 1], optional
        Where both axes end. By default 1, or less where all points and intervals lie far below.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    MissingDependencyError
        Without matplotlib.
    InputError
        When something else than a table is given.

    Notes
    -----
    Vertical lines are the tables' intervals: where they miss the diagonal, noise does not explain the distance. Marks are
    larger in bins of more samples. For one table, a strip above the diagram shows the shares as bars.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import fastbin as fb
    >>> table = fb.assess.reliability_table([0.2, 0.2, 0.8, 0.8], [0, 1, 1, 1])
    >>> ax = fb.plots.reliability_diagram(table)
    >>> ax.get_xlabel()
    'mean prediction'
    """
    items = named(tables, ReliabilityTable, "tables")
    ax = axes_or_new(ax, 4.0)
    top = _limit_of(list(items.values())) if limit is None else float(limit)
    ax.plot([0.0, top], [0.0, top], color=GUIDE, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1)
    for index, (name, table) in enumerate(items.items()):
        look = series(index)
        x, y = table.mean_predictions, table.positive_rates
        if table.intervals is not None:
            ax.vlines(x, table.intervals[:, 0], table.intervals[:, 1], color=look.colour, linewidth=1.2, alpha=0.7, zorder=2)
        sizes = 14.0 + 50.0 * np.sqrt(table.masses)
        ax.scatter(
            x, y, s=sizes, color=look.colour, marker=look.marker, label=name or None, edgecolor="white", linewidth=0.5, zorder=3
        )
    if len(items) == 1:
        _mass_strip(ax, next(iter(items.values())), top)
    ax.set(xlim=(0.0, top), ylim=(0.0, top), xlabel="mean prediction", ylabel="positive rate", aspect="equal")
    return finish(ax, legend="upper left")


def _limit_of(tables: list[ReliabilityTable]) -> float:
    """A round number a little beyond everything that is drawn."""
    reached = 0.0
    for table in tables:
        reached = max(reached, float(table.mean_predictions.max()), float(table.positive_rates.max()))
        if table.intervals is not None:
            reached = max(reached, _largest(table))
    return next((top for top in (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5) if 1.02 * reached <= top), 1.0)


def _largest(table: ReliabilityTable) -> float:
    """The highest interval end of a bin that holds more than a sliver of the samples: others would dictate the scale."""
    assert table.intervals is not None
    held = table.masses >= 0.005
    return float(table.intervals[held, 1].max()) if held.any() else 1.0


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
