"""Several classes or segments at once: small reliability diagrams side by side, and one diagram of top labels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.cells import as_cells
from fastbin._base.checks import check_count, check_same_length
from fastbin._base.classes import in_one_code
from fastbin._base.docstrings import shared_docs
from fastbin.assess import reliability_table
from fastbin.assess.samples import check_samples, rows_of_each
from fastbin.model_set import ModelSet
from fastbin.plots._given import coarser, models_by_name, tables_of
from fastbin.plots._style import Axes, as_label, axes_or_new, draw_diagonal, finish, look_of, series, shortened
from fastbin.plots.reliability import draw_table, span_of

PANEL = 1.9  # inches, the width and height of a small diagram
GAP = 0.07  # on each side of a diagram, as a part of its width
LETTERS = 13  # of a title that fit in an inch


@shared_docs(axes_or_new.__doc__)
def small_multiples(
    tables: Mapping[str, Any] | ModelSet,
    *,
    alpha: float | None = 0.1,
    columns: int | None = None,
    most: int = 12,
    limit: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """A small reliability diagram for each class or segment, all on one scale.

    Parameters
    ----------
    tables : mapping from name to ReliabilityTable, or ModelSet
        As `fastbin.assess.reliability_table` makes them for the rows of each; or whatever else `reliability_diagram` takes. Of
        a set, the samples of its fits are drawn, model by model.
    alpha : float or None
        Of the intervals of what is no table: of all bins of one diagram together.
    columns : int, optional
        Diagrams in a row; by default four, or as many as make them largest on the axes given.
    most : int
        Diagrams in all: those of the most samples, in the order given; a note says how many are left out.
    limit : float in (0, 1], optional
        Where all axes end. By default they show where the points and intervals are.
    ax : matplotlib Axes, optional
        What to divide into diagrams, with no ticks of its own; by default a new figure.

    Returns
    -------
    matplotlib Axes
        The one that is divided; its ``child_axes`` are the diagrams.

    {Raises}

    Notes
    -----
    Vertical lines are the tables' intervals, as in `reliability_diagram`. Those of a table hold for its own bins: among many
    diagrams some lines miss the diagonal by chance (`fastbin.assess.check_certificate`, `fastbin.assess.audit_groups`).

    Examples
    --------
    >>> from fastbin.assess import reliability_table
    >>> tables = {name: reliability_table([0.2, 0.2, 0.8, 0.8], labels) for name, labels in
    ...           [("north", [0, 1, 1, 1]), ("south", [0, 0, 1, 0])]}
    >>> ax = small_multiples(tables)
    >>> [panel.get_title() for panel in ax.child_axes]
    ['north  (4)', 'south  (4)']
    """
    if isinstance(tables, ModelSet):
        tables = models_by_name(tables)
    items = {name: coarser(table) for name, table in tables_of(tables, None, "tables", alpha=alpha).items()}
    most = check_count(most, "most")
    largest = sorted(items, key=lambda name: items[name].n_samples, reverse=True)[:most]
    shown = {name: table for name, table in items.items() if name in largest}
    columns = min(_best_columns(ax, len(shown)) if columns is None else check_count(columns, "columns"), len(shown))
    rows = math.ceil(len(shown) / columns)
    ax = axes_or_new(ax, PANEL * rows + 0.4, PANEL * columns + 0.5)
    ax.set_axis_off()
    low, high = span_of(shown.values()) if limit is None else (0.0, float(limit))
    for number, (name, table) in enumerate(shown.items()):
        row, column = divmod(number, columns)
        panel = ax.inset_axes(_place(row, column, rows, columns), facecolor=ax.get_facecolor())
        draw_diagonal(panel, low, high)
        draw_table(panel, table, series(0, look_of(ax)), scale=0.5)
        panel.set(xlim=(low, high), ylim=(low, high), aspect="equal", xticks=[low, high], yticks=[low, high])
        panel.set_title(_title(name, table.n_samples, panel), fontsize="small", pad=3)
        finish(panel)
        panel.tick_params(labelsize="x-small", labelleft=column == 0, labelbottom=number + columns >= len(shown))
        if column == 0 and row == rows - 1:
            panel.set_xlabel("mean prediction", fontsize="x-small", labelpad=-4)
            panel.set_ylabel("positive rate", fontsize="x-small", labelpad=-4)
    if len(shown) < len(items):
        ax.text(1.0, 0.0, f"and {len(items) - len(shown):,} more", transform=ax.transAxes, ha="right", va="bottom",
                fontsize="x-small", color=look_of(ax).guide)  # fmt: skip
    return ax


def _best_columns(ax: Axes | None, n: int) -> int:
    """How many diagrams to a row: four in a new figure, else as many as make them largest."""
    if ax is None:
        return 4
    box = ax.get_window_extent()
    return max(range(1, n + 1), key=lambda columns: min(box.width / columns, box.height / math.ceil(n / columns)))


def _title(name: str, n_samples: int, panel: Axes) -> str:
    """The name and the number of samples, or as much of it as fits above the diagram."""
    most = max(6, int(panel.get_window_extent().width / panel.figure.dpi * LETTERS))
    count = f"  ({n_samples:,})"
    return as_label(f"{name}{count}" if len(name) + len(count) <= most else shortened(name, most))


def _place(row: int, column: int, rows: int, columns: int) -> tuple[float, float, float, float]:
    """Left, bottom, width and height of a panel, in parts of the axes; labels of the ends find room inside them."""
    left, bottom, top = 0.06, 0.09 / rows, 0.12 / rows
    width, height = (1.0 - left) / columns, (1.0 - bottom) / rows
    return left + column * width + GAP * width, 1.0 - (row + 1) * height, (1.0 - 2.0 * GAP) * width, height - top - GAP * height


@shared_docs(axes_or_new.__doc__)
def top_label_diagram(
    probabilities: Any, predicted: Any, labels: Any, *, n_bins: int = 10, sample_weight: Any = None, ax: Axes | None = None
) -> Axes:
    """How far predictions of the top label are from the truth, class by class, against the probability that they state.

    The diagram of Gupta & Ramdas 2022: in bins of equal width, the distance of a point from the diagonal is the mean over the
    predicted classes of \\|share of right predictions - mean probability\\|, so that errors of different classes do not cancel
    as they do in a confidence diagram.

    Parameters
    ----------
    probabilities : array-like of shape (n,)
        In [0, 1]: with which probability the predicted class is said to be right.
    predicted, labels : array-like of shape (n,)
        The predicted and the true classes, integers or text.
    n_bins : int
        Of equal width.
    sample_weight : array-like of shape (n,), optional
        Frequencies (integers) or importance weights (floats).
    {ax}

    {Returns}

    {Raises}

    Notes
    -----
    A point lies above the diagonal where predictions are right more often than they say, on average over the classes. Bars are
    the shares of the samples in each bin. Noise alone moves points away from the diagonal, the more the more classes there are.

    Examples
    --------
    >>> ax = top_label_diagram([0.75] * 8, ["cat"] * 4 + ["dog"] * 4, ["cat"] * 4 + ["dog"] * 2 + ["cat"] * 2)
    >>> ax.get_ylabel()
    'share of right predictions'
    """
    _, (named, true) = in_one_code(predicted=as_cells(predicted, "predicted"), labels=as_cells(labels, "labels"))
    check_same_length(predicted=named, labels=true)
    samples = check_samples(probabilities, named == true, sample_weight, name="probabilities")
    if sample_weight is not None:
        named = named[np.asarray(sample_weight) > 0]
    n_bins = check_count(n_bins, "n_bins", maximum=2**16)
    sums = np.zeros((4, n_bins))  # of the masses, and times them: stated, right, and their distance
    for rows in rows_of_each(named):
        part = samples.take(rows)
        table = reliability_table(
            part.predictions, part.labels, grouping="fixed-width", n_bins=n_bins, sample_weight=part.weights, alpha=None
        )
        masses = table.masses * part.row_weights.sum()
        at = np.rint(table.lower * n_bins).astype(np.int64)
        sums[:, at] += masses * np.stack([np.ones(len(at)), table.mean_predictions, table.positive_rates, table.gaps])
    ax = axes_or_new(ax, 4.0)
    _draw_distances(ax, sums)
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), aspect="equal")
    ax.set(xlabel="stated probability of the predicted class", ylabel="share of right predictions")
    error = f"top-label error in {n_bins} bins: {sums[3].sum() / sums[0].sum():.4f}"
    ax.text(0.02, 0.97, error, transform=ax.transAxes, va="top", fontsize="x-small", color=look_of(ax).guide)
    return finish(ax)


def _draw_distances(ax: Axes, sums: Float64s) -> None:
    """Points as far from the diagonal as the bins are off, and bars of the shares."""
    page, look, n_bins = look_of(ax), series(0, look_of(ax)), sums.shape[1]
    masses, seen = sums[0], sums[0] > 0.0
    stated, right, distances = sums[1:, seen] / masses[seen]
    effective = stated + np.where(right >= stated, distances, -distances)
    shares = masses / masses.sum()
    lefts = np.arange(n_bins) / n_bins
    ax.bar(lefts, shares, 1.0 / n_bins, align="edge", color=page.bar, edgecolor=page.paper, zorder=1)
    draw_diagonal(ax, 0.0, 1.0)
    ax.vlines(stated, stated, effective, color=look.colour, linewidth=1.2, alpha=0.7, zorder=2)
    sizes = 14.0 + 50.0 * np.sqrt(shares[seen])
    marked: dict[str, Any] = {"marker": look.marker, "edgecolor": page.paper, "linewidth": 0.5}
    ax.scatter(stated, effective, s=sizes, color=look.colour, zorder=3, **marked)
