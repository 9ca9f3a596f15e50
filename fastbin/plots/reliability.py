"""Reliability diagrams: of one thing or several over each other, side by side for classes or segments, of top labels, and as
the differences of two confusion matrices.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fastbin._base.array_types import Bools, Float64s
from fastbin._base.checks import check_count, check_unit_interval
from fastbin._base.dependencies import needed_for
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError, InputTypeError
from fastbin._fit.calibrator import Calibrator, Estimator, as_model_or_set
from fastbin._model.parts import Parts
from fastbin._model.view import intervals_of
from fastbin.assess import ReliabilityTable, reliability_table
from fastbin.assess.multiclass import top_label_parts
from fastbin.assess.samples import N_BINS
from fastbin.guarantees.certificate import name_cell, sureness
from fastbin.guarantees.evidence import is_moved, weighed
from fastbin.intervals import sidak
from fastbin.intervals.binomial import ends_of_rows
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.plots._style import (
    MOST_SERIES,
    Axes,
    LineStyle,
    annotate,
    as_label,
    axes_or_new,
    by_text,
    check_axes,
    draw_diagonal,
    few_ticks,
    finish,
    in_legend,
    look_of,
    series,
    short_names,
    shortened,
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
    positive: Any = None,
    alpha: float | None = 0.1,
    limit: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Positive rate against mean prediction, bin by bin, with exact intervals and the share of the samples in each bin.

    Parameters
    ----------
    predictions : array-like of shape (n,), ReliabilityTable, BinnedModel, fitted calibrator, ModelSet, or mapping
        Predictions with `labels`; or a table, as `fastbin.assess.reliability_table` makes it; or a model or a set, of which the
        samples of the fit are drawn, bin by bin, unless its values were moved to other class rates than theirs. A mapping of
        names to these, or to pairs of predictions and labels, draws several over each other, at most seven, with a legend. A
        table of several classes (``multiclass=``) is drawn as `small_multiples` draws it, and one with "confusion" as a heat
        map: what occurred less what was predicted, by predicted and by true class, in bold where the interval misses the
        prediction; of more than twelve classes (or than `ax` has room for), those of the largest errors.
    labels : array-like of shape (n,), optional
        0 or 1, or bool; with `positive` any two values.
    n_bins : int
        Into how many bins predictions with many values are divided.
    sample_weight : array-like of shape (n,), optional
        Integers are frequencies, floats importance weights.
    positive : optional
        The label that counts as 1, where labels are two values other than 0 and 1, such as "yes".
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
    are moved apart a little; of more than four, intervals are left out. In a table of more than 120 rows, as of a model with
    many steps, neighbours are joined to 40 groups of equal mass. The gap is the mean distance of the points from the diagonal,
    the plug-in expected calibration error; beside it stands what a calibrated predictor would show by chance on average.

    Examples
    --------
    >>> ax = reliability_diagram([0.2, 0.2, 0.8, 0.8], [0, 1, 1, 1])
    >>> ax.get_xlabel()
    'mean prediction'
    """
    if labels is None and isinstance(predictions, ReliabilityTable) and predictions.parts is not None:
        if predictions.multiclass == "confusion":
            return _draw_confusion(predictions, ax)
        return small_multiples(predictions, limit=limit, ax=ax)
    options = {"n_bins": n_bins, "sample_weight": sample_weight, "positive": positive}
    limit = None if limit is None else check_unit_interval(limit, "limit", open_left=True)
    tables = tables_of(predictions, labels, "predictions", alpha=alpha, **options)
    n_left_out = len(tables) - MOST_SERIES
    tables = {name: coarser(table) for name, table in list(tables.items())[:MOST_SERIES]}
    ax = axes_or_new(ax, 4.2)
    low, high = span_of(tables.values())
    if limit is not None:
        low, high = 0.0, limit
    draw_diagonal(ax, low, high)
    alone, look = len(tables) == 1, look_of(ax)
    for index, (name, table) in enumerate(zip(short_names(tables, 20), tables.values(), strict=True)):
        label = in_legend(f"{name}, gap {_gap_of(table)}") if name else None
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
    above = sum(float(np.sum(each.masses * (each.positive_rates - each.mean_predictions))) for each in tables.values()) > 0.0
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
    elif len(tables) <= MOST_WITH_INTERVALS:
        note += _about_intervals(tables.values())
    annotate(ax, note, upper_left=upper_left)


def _about_intervals(tables: Iterable[ReliabilityTable]) -> str:
    """A line about the intervals that are drawn, "" without any."""
    drawn = {(table.alpha, table.simultaneous) for table in tables if table.intervals is not None}
    if not drawn:
        return ""
    if len(drawn) > 1:
        return "\nintervals of several levels"
    alpha, simultaneous = drawn.pop()
    assert alpha is not None
    return f"\n{sureness(alpha)} intervals{', all at once' if simultaneous else ''}"


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


# ------------------------------------------------------------------------------------------------- tables to draw

MOST_ROWS, N_GROUPS = 120, 40  # of a table of more rows than that, so many groups are drawn


def tables_of(given: Any, labels: Any, argument: str, *, alpha: float | None, **options: Any) -> dict[str, ReliabilityTable]:
    """Reliability tables by name, of models those of the samples of their fits; that of a single thing has an empty name."""
    if labels is not None:
        return {"": reliability_table(given, labels, alpha=alpha, **options)}
    if not isinstance(given, Mapping):
        return {"": _table_of(given, argument, alpha, options)}
    if not given:
        raise InputError("is empty", "there is nothing to draw", argument=argument)
    return by_text((name, _table_of(item, f"{argument}[{name!r}]", alpha, options)) for name, item in given.items())


def _table_of(item: Any, place: str, alpha: float | None, options: Any) -> ReliabilityTable:
    if isinstance(item, ReliabilityTable):
        if item.parts is not None:
            raise InputError("is a table of several classes", "draw it alone, or its parts by name", argument=place)
        return item
    if isinstance(item, (Parts, Estimator)):
        return table_of_fit(as_model_or_set(item, place), alpha)
    if isinstance(item, tuple) and len(item) == 2:
        return reliability_table(*item, alpha=alpha, **options)
    remedy = "pass a ReliabilityTable, a model, or predictions together with labels"
    raise InputTypeError(f"{place} is of type {type(item).__name__}", remedy)


def coarser(table: ReliabilityTable) -> ReliabilityTable:
    """The table; where it has more rows than can be told apart, with neighbours joined to groups of equal mass."""
    if len(table.counts) <= MOST_ROWS:
        return table
    ends = np.cumsum(table.masses)
    groups = np.minimum((N_GROUPS * (ends - 0.5 * table.masses)).astype(np.int64), N_GROUPS - 1)
    first = np.flatnonzero(np.diff(groups, prepend=-1))
    masses, counts, label_sums = (np.add.reduceat(column, first) for column in (table.masses, table.counts, table.label_sums))
    means, rates = (
        np.add.reduceat(table.masses * column, first) / masses for column in (table.mean_predictions, table.positive_rates)
    )
    intervals = None
    if table.intervals is not None and not table.is_weighted and table.alpha is not None:
        level = sidak(table.alpha, len(counts)) if table.simultaneous else table.alpha
        intervals = ends_of_rows(label_sums, counts, level)
    return replace(
        table, grouping="uniform-mass", n_bins_asked=len(first), lower=table.lower[first],
        upper=table.upper[np.append(first[1:] - 1, -1)], mean_predictions=means, positive_rates=rates, counts=counts,
        label_sums=label_sums, masses=masses, intervals=intervals, noise=None,
    )  # fmt: skip


def table_of_fit(model: BinnedModel | ModelSet, alpha: float | None) -> ReliabilityTable:
    """The bins of a model, or of all models of a set, with the samples of the fit; simultaneous intervals where there are."""
    models = [own for _, own in model.numbered]
    if any(own.kind != "step" or own.counts is None for own in models):
        raise InputError("the model has no samples by bin to draw", "pass predictions and labels of a test set")
    if any(map(is_moved, models)):
        problem = "the model was moved to other class rates than those of the samples of its fit"
        raise InputError(problem, "draw the model before, or pass predictions and labels of the population that it is about")
    values = np.concatenate([own.bin_values for own in models])
    counts, label_sums = (np.concatenate([getattr(own, name) for own in models]) for name in ("counts", "label_sums"))
    masses, sums = (np.concatenate(columns) for columns in zip(*map(weighed, models), strict=True))
    seen = masses > 0.0
    order = np.argsort(values[seen], kind="stable")

    def column(entries: Any) -> Any:
        return entries[seen][order]

    # Where bins are many, `coarser` joins those of like values, a choice by the labels after which no interval holds.
    intervals = intervals_of(model, alpha) if int(seen.sum()) <= MOST_ROWS else None
    return ReliabilityTable(
        grouping="values",
        n_bins_asked=len(values),
        n_samples=int(counts.sum()),
        lower=column(values),
        upper=column(values),
        mean_predictions=column(values),
        positive_rates=column(sums) / column(masses),
        counts=column(counts),
        label_sums=column(label_sums),
        masses=column(masses) / masses.sum(),
        intervals=None if intervals is None else column(intervals),
        alpha=None if intervals is None else alpha,
        simultaneous=True,
        is_weighted=any(own.is_weighted for own in models),
    )


def models_by_name(fitted: BinnedModel | ModelSet) -> dict[str, BinnedModel]:
    """The models of a set by what they are called; a lone model is under the empty name."""
    if not fitted.is_set:
        return {"": fitted}
    return by_text(fitted.numbered, lambda name: "pool" if name is None else str(name), name_cell)


# ------------------------------------------------------------------------------------------------- several classes or segments

PANEL = 1.9  # inches, the width and height of a small diagram
GAP = 0.07  # on each side of a diagram, as a part of its width
LETTERS = 13  # of a title that fit in an inch


@shared_docs(axes_or_new.__doc__)
def small_multiples(
    tables: Mapping[str, Any] | ModelSet | ReliabilityTable,
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
    tables : mapping from name to ReliabilityTable, or ModelSet, or ReliabilityTable of several classes
        As `fastbin.assess.reliability_table` makes them for the rows of each; or whatever else `reliability_diagram` takes. For
        a set, the samples of its fits are drawn, model by model; for a table of several classes (``multiclass=``), its classes.
    alpha : float or None
        Of the intervals of all bins of one diagram together; tables have their own.
    columns : int, optional
        Diagrams in a row; by default four, or as many as make them largest on the axes given.
    most : int
        Diagrams in all: those of the most samples, and of equally many those of the largest errors, in the order given; a note
        says how many are left out.
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
    if isinstance(tables, Parts):
        tables = models_by_name(tables)
    limit = None if limit is None else check_unit_interval(limit, "limit", open_left=True)
    shares_rows = isinstance(tables, ReliabilityTable) and tables.multiclass not in (None, "top-label")
    if isinstance(tables, ReliabilityTable) and tables.parts is not None:
        tables = by_text(tables.parts.items())
    items = {name: coarser(table) for name, table in tables_of(tables, None, "tables", alpha=alpha).items()}
    most = check_count(most, "most")
    largest = sorted(items, key=lambda name: (items[name].n_samples, items[name].ece()), reverse=True)[:most]
    shown = {name: table for name, table in items.items() if name in largest}
    columns = min(_best_columns(ax, len(shown)) if columns is None else check_count(columns, "columns"), len(shown))
    rows = math.ceil(len(shown) / columns)
    ax = axes_or_new(ax, PANEL * rows + 0.4, PANEL * columns + 0.5)
    ax.set_axis_off()
    low, high = span_of(shown.values()) if limit is None else (0.0, limit)
    for number, (name, table) in enumerate(shown.items()):
        row, column = divmod(number, columns)
        panel = ax.inset_axes(_place(row, column, rows, columns), facecolor=ax.get_facecolor())
        draw_diagonal(panel, low, high)
        draw_table(panel, table, series(0, look_of(ax)), scale=0.5)
        panel.set(xlim=(low, high), ylim=(low, high), aspect="equal")
        for axis in (panel.xaxis, panel.yaxis):
            axis.set_ticks([low, high], [f"{low:g}", f"{high:g}"])  # short, or neighbours touch
        panel.set_title(_title(name, table, panel, gap=shares_rows), fontsize="small", pad=3)
        finish(panel)
        panel.tick_params(labelsize="x-small", labelleft=column == 0, labelbottom=number + columns >= len(shown))
        if column == 0 and row == rows - 1:
            panel.set_xlabel("mean prediction", fontsize="x-small", labelpad=-4)
            panel.set_ylabel("positive rate", fontsize="x-small", labelpad=-4)
    if len(shown) < len(items):
        which = ", of smaller errors" if shares_rows else ""
        ax.annotate(
            f"and {len(items) - len(shown):,} more{which}", (1.0, 0.0), (0.0, -5.0), xycoords="axes fraction",
            textcoords="offset points", ha="right", va="top", fontsize="x-small", color=look_of(ax).guide,
        )  # fmt: skip
    return ax


def _best_columns(ax: Axes | None, n: int) -> int:
    """How many diagrams to a row: four in a new figure, else as many as make them largest."""
    if ax is None:
        return 4
    box = check_axes(ax).get_window_extent()
    return max(range(1, n + 1), key=lambda columns: min(box.width / columns, box.height / math.ceil(n / columns)))


def _title(name: str, table: ReliabilityTable, panel: Axes, *, gap: bool) -> str:
    """The name and the number of samples (or the gap, where all have the same rows), or as much as fits above the diagram."""
    most = max(6, int(panel.get_window_extent().width / panel.figure.dpi * LETTERS))
    beside = f", gap {_gap_of(table)}" if gap else f"  ({table.n_samples:,})"
    return as_label(f"{name}{beside}" if len(name) + len(beside) <= most else shortened(name, most))


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
    n_bins = check_count(n_bins, "n_bins", maximum=2**16)
    sums = np.zeros((4, n_bins))  # of the masses, and times them: stated, right, and their distance
    for _, part in top_label_parts(probabilities, predicted, labels, sample_weight):
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


# ------------------------------------------------------------------------------------------------- confusion matrices

MOST_CLASSES = 12  # of a heat map whose cells have room for a number
CELL = 0.5  # inches, the width and height of a cell in a new figure
LEAST_CELL = 0.36  # that holds a number
LEAST_WIDTH = 4.2  # the note needs so much
STRONGEST = 0.75  # part of a colour in the cell of the largest difference, where ink is still legible


def _draw_confusion(table: ReliabilityTable, ax: Axes | None) -> Axes:
    """Positive rate less mean prediction of each pair of a predicted and a true class, as numbers on colours."""
    parts = dict(table.parts or {})
    keys, named = list(parts), list(next(iter(parts.values())).predicted or ())
    differences, errors, missed = (np.column_stack(columns) for columns in zip(*map(_cells_of, parts.values()), strict=True))
    by_class = {key: float(errors[:, at].sum()) for at, key in enumerate(keys)}
    for at, key in enumerate(named):
        by_class[key] += float(errors[at].sum())
    most = MOST_CLASSES if ax is None else min(MOST_CLASSES, max(3, int(_room_of(ax) / LEAST_CELL)))
    largest = sorted(keys, key=lambda key: by_class[key], reverse=True)[:most]
    across = [at for at, key in enumerate(keys) if key in largest]
    down = [at for at, key in enumerate(named) if key in largest] or [0]
    cell = CELL if ax is None else _room_of(ax) / len(across)
    ax = axes_or_new(ax, CELL * len(down) + 1.1, max(CELL * len(across) + 1.9, LEAST_WIDTH))
    counts = next(iter(parts.values())).counts
    columns, rows = (short_names([str(each[at]) for at in order], 12) for each, order in ((keys, across), (named, down)))
    _fill_cells(ax, differences[np.ix_(down, across)], missed[np.ix_(down, across)])
    ax.set_xticks(range(len(across)), columns, rotation=0 if max(map(len, columns)) <= 0.8 * cell * LETTERS else 90)
    ax.set_yticks(range(len(down)), [f"{name}  ({counts[at]:,})" for name, at in zip(rows, down, strict=True)])
    ax.set(xlabel="true class", ylabel="predicted class  (rows)")
    ax.tick_params(labelsize="small", length=0)
    ax.spines[:].set_visible(False)
    note = "rate of the class less its mean prediction"
    if len(across) < len(keys):  # first, as axes of others may have no room for all lines
        note = f"the {len(across)} of {len(keys):,} classes with the largest errors:\n{note}"
    if table.intervals is not None:
        at_once = ", all at once" if table.simultaneous else ""
        note += f"\nbold: outside its {sureness(table.alpha or 1.0)} interval{at_once}"
    ax.annotate(
        note, (1.0, 0.0), (0.0, -3.0), xycoords=("axes fraction", ax.xaxis.label), textcoords="offset points", ha="right",
        va="top", fontsize="x-small", color=look_of(ax).guide,
    )  # fmt: skip
    return ax


def _room_of(ax: Axes) -> float:
    """Inches for the cells, beside the names of the classes."""
    box = check_axes(ax).get_window_extent()
    return max(0.0, float(min(box.width, box.height)) / ax.figure.dpi - 1.2)


def _cells_of(part: ReliabilityTable) -> tuple[Float64s, Float64s, Bools]:
    """The column of a class: differences, their parts in the error, and whether the interval misses the prediction."""
    differences = part.positive_rates - part.mean_predictions
    missed = np.zeros(len(differences), bool)
    if part.intervals is not None:
        missed = (part.mean_predictions < part.intervals[:, 0]) | (part.mean_predictions > part.intervals[:, 1])
    return differences, part.masses * np.abs(differences), missed


def _fill_cells(ax: Axes, differences: Float64s, missed: Bools) -> None:
    """Colours from one end over paper to the other, and numbers."""
    with needed_for("plots", extra="plots"):
        from matplotlib.patches import Rectangle

    look, strongest = look_of(ax), float(np.abs(differences).max())
    places = 3 if strongest < 0.1 else 2
    for (row, column), entry in np.ndenumerate(differences):
        # A colour of the palette that lets paper through, and no mixture: the pages of reports exchange both for dark ones.
        shade = look.colours[0 if entry > 0.0 else 1], STRONGEST * abs(float(entry)) / (strongest or 1.0)
        ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1.0, 1.0, facecolor=shade, linewidth=0.0))
        text = f"{entry:+.{places}f}".replace("0.", ".", 1).replace("-", "\N{MINUS SIGN}") if round(entry, places) else "0"
        weight = "bold" if missed[row, column] else "normal"
        ax.text(column, row, text, ha="center", va="center", fontsize="x-small", color=look.ink, fontweight=weight)
    rows, columns = differences.shape
    ax.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5), aspect="equal")
