"""How every plot looks: colours for the colour-blind, with line styles and markers that survive grey print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from fastbin._dependencies import needed_for
from fastbin._errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:  # scoring and fitting never import matplotlib
    Axes = Any

# Okabe & Ito's palette, darkest first and without its yellow, which is too light on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
DASHES: tuple[Any, ...] = (
    "-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (9, 3)), (0, (3, 1, 1, 1, 1, 1)), (0, (2, 2)),
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GUIDE = "#6E6E6E"  # for what is not data: the diagonal, theorems' curves, notes


class Series(NamedTuple):
    """The look of one series."""

    colour: str
    dashes: Any
    marker: str


def series(index: int) -> Series:
    """The look of the series number `index`; after seven, colours and dashes come in new pairs."""
    shifted = index + index // len(COLOURS)
    return Series(COLOURS[index % len(COLOURS)], DASHES[shifted % len(DASHES)], MARKERS[shifted % len(MARKERS)])


def axes_or_new(ax: Axes | None, height: float = 3.4) -> Axes:
    """The axes given, or those of a new figure, sized for a column of text.

    Parameters
    ----------
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    height : float
        Of a new figure, in inches.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    MissingDependencyError
        Without matplotlib.
    InputError, InputTypeError
        When an argument of a plot is empty, of the wrong type or outside its range; the message names it.
    """
    if ax is not None:
        return ax
    with needed_for("plots", extra="plots"):
        import matplotlib.pyplot as plt
    return plt.subplots(figsize=(4.6, height), layout="constrained")[1]


def draw_diagonal(ax: Axes, low: float, high: float, **options: Any) -> None:
    """Where prediction and truth are the same."""
    ax.plot([low, high], [low, high], color=GUIDE, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1, **options)


def items_by_name(given: Any, kinds: tuple[type, ...], argument: str) -> dict[str, Any]:
    """One thing under the empty name, or several by name; all of them of these kinds."""
    items: dict[str, Any] = {str(name): item for name, item in given.items()} if isinstance(given, Mapping) else {"": given}
    if not items:
        raise InputError(f"{argument} is empty; there is nothing to draw")
    for name, item in items.items():
        if not isinstance(item, kinds):
            place = f"{argument}[{name!r}]" if isinstance(given, Mapping) else argument
            raise InputError(f"{place} is a {type(item).__name__}; it must be a {' or '.join(kind.__name__ for kind in kinds)}")
    return items


def finish(ax: Axes, *, legend: str | None = None) -> Axes:
    """No box, a light grid behind the data, and a legend where something has a name."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="#E3E3E3", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(labelsize="small")
    if ax.get_legend_handles_labels()[1]:
        ax.legend(loc=legend or "best", fontsize="small", frameon=True, framealpha=0.9, edgecolor="none", handlelength=2.6)
    return ax


def annotate(ax: Axes, text: str) -> None:
    """A small note in the lower right corner of the axes."""
    ax.text(0.98, 0.03, text, transform=ax.transAxes, ha="right", va="bottom", fontsize="x-small", color=GUIDE)
