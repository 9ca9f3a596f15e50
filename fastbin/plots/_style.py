"""How every plot looks: colours that the colour-blind tell apart, beside line styles and markers that survive a copier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from fastbin._dependencies import needed_for
from fastbin._errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["GUIDE", "Series", "annotate", "axes_or_new", "finish", "named", "series"]

# Okabe & Ito's palette, darkest first and without its yellow, which is too light on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
DASHES: tuple[Any, ...] = (
    "-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (9, 3)), (0, (3, 1, 1, 1, 1, 1)), (0, (2, 2)),
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GUIDE = "#6E6E6E"  # of what is no data: the diagonal, theorems' curves, notes


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
    """The axes given, or those of a new figure, of a size that stands in a column of text."""
    if ax is not None:
        return ax
    with needed_for("plots", extra="plots"):
        import matplotlib.pyplot as plt
    return plt.subplots(figsize=(4.6, height), layout="constrained")[1]


def named(given: Any, kind: type | tuple[type, ...], name: str) -> dict[str, Any]:
    """One thing, under no name, or several by name; all of them of the kind."""
    items: dict[str, Any] = {str(key): item for key, item in given.items()} if isinstance(given, Mapping) else {"": given}
    if not items:
        raise InputError(f"{name} is empty; there is nothing to draw")
    for key, item in items.items():
        if not isinstance(item, kind):
            place = f"{name}[{key!r}]" if isinstance(given, Mapping) else name
            kinds = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
            raise InputError(f"{place} is a {type(item).__name__}; it must be a {kinds}")
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


def annotate(ax: Axes, text: str, x: float = 0.98, y: float = 0.03) -> None:
    """A small note inside the axes, at a place given in their fractions."""
    ax.text(x, y, text, transform=ax.transAxes, ha="right", va="bottom", fontsize="x-small", color=GUIDE)
