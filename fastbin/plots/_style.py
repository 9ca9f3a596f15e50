"""How every plot looks: colours for light and dark paper and for the colour-blind; lines that survive grey print."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from fastbin._base.dependencies import needed_for
from fastbin._base.errors import InputError, InputTypeError
from fastbin._base.shown import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:  # scoring and fitting never import matplotlib
    Axes = Any

T = TypeVar("T")


class Look(NamedTuple):
    """Colours that belong together, all legible on `paper`."""

    paper: str
    ink: str
    guide: str  # for what is not data: the diagonal, theorems' curves, notes
    grid: str
    bar: str
    colours: tuple[str, ...]  # of series


# Okabe & Ito's palette, darkest first and without its yellow, which is too light on white; on dark, its light colours and kin.
LIGHT_LOOK = Look(
    "#ffffff", "#1a1a1a", "#6e6e6e", "#e3e3e3", "#8dbad8",
    ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#56b4e9", "#e69f00"),
)  # fmt: skip
DARK_LOOK = Look(
    "#17191c", "#e6e6e6", "#9b9ea3", "#33373c", "#3f6f8f",
    ("#56b4e9", "#f28c4b", "#2bc79a", "#e79cc8", "#f2f2f2", "#a3b1ff", "#f0e442"),
)  # fmt: skip


def _named(look: Look) -> dict[str, str]:
    named = {f"--plot-{name}": colour for name, colour in look._asdict().items() if name != "colours"}
    return named | {f"--plot-{number}": colour for number, colour in enumerate(look.colours)}


def css_of(look: Look) -> str:
    """The colours as custom properties, for the pictures that `follow_page` made."""
    return ";".join(f"{name}:{colour}" for name, colour in _named(look).items())


def follow_page(svg: str) -> str:
    """A picture that was drawn in the colours of light paper, with these as custom properties of the page around it."""
    for name, colour in _named(LIGHT_LOOK).items():
        svg = svg.replace(colour, f"var({name})")
    return svg


# ------------------------------------------------------------------------------------------------- lines and text

DASHES: tuple[Any, ...] = (
    "-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (9, 3)), (0, (3, 1, 1, 1, 1, 1)), (0, (2, 2)),
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

MOST_SERIES = 7  # that can be told apart
LONGEST_NAME = 28  # in a legend; longer ones lose their middle
MOST_IN_LARGE, LONGEST_IN_LARGE = 4, 32  # names, and letters of one; a legend of more is set smaller


class LineStyle(NamedTuple):
    """The look of one series."""

    colour: str
    dashes: Any
    marker: str


def series(index: int, look: Look = LIGHT_LOOK) -> LineStyle:
    """The look of the series number `index`; after seven, colours and dashes come in new pairs."""
    shifted = index + index // len(look.colours)
    return LineStyle(look.colours[index % len(look.colours)], DASHES[shifted % len(DASHES)], MARKERS[shifted % len(MARKERS)])


def look_of(ax: Axes) -> Look:
    """The colours for these axes: those for dark paper if their own, or else that of the figure, is dark."""
    with needed_for("plots", extra="plots"):
        from matplotlib import rcParams
        from matplotlib.colors import to_rgba

    for paper in (ax.get_facecolor(), ax.figure.get_facecolor()):
        red, green, blue, opacity = to_rgba(paper)
        if opacity >= 0.5:
            return LIGHT_LOOK if 0.3 * red + 0.6 * green + 0.1 * blue > 0.5 else DARK_LOOK
    red, green, blue, _ = to_rgba(rcParams["text.color"])  # transparent: light text is for dark paper
    return DARK_LOOK if 0.3 * red + 0.6 * green + 0.1 * blue > 0.5 else LIGHT_LOOK


def axes_or_new(ax: Axes | None, height: float = 3.4, width: float = 4.6) -> Axes:
    """The axes given, or those of a new figure, sized for a column of text.

    Parameters
    ----------
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    height, width : float
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
        return check_axes(ax)
    with needed_for("plots", extra="plots"):
        import matplotlib.pyplot as plt
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def check_axes(ax: Any) -> Axes:
    """Axes of matplotlib, and neither a figure nor an array of axes."""
    with needed_for("plots", extra="plots"):
        from matplotlib.axes import Axes as Drawable

    if not isinstance(ax, Drawable):
        raise InputTypeError(f"is of type {type(ax).__name__}", "pass one Axes of matplotlib", argument="ax")
    if ax.name != "rectilinear":
        raise InputError(f"has the projection {ax.name!r}", "pass Axes with two straight axes", argument="ax")
    return ax


FARTHEST = 1e300  # beyond it matplotlib overflows when it looks for ticks


def check_span(low: float, high: float, argument: str) -> None:
    """Refuse scores that matplotlib has no axis for."""
    if not -FARTHEST <= low <= high <= FARTHEST:
        problem = f"has scores from {low:g} to {high:g}"
        raise InputError(problem, f"only scores within \N{PLUS-MINUS SIGN}{FARTHEST:g} can be drawn", argument=argument)


def draw_diagonal(ax: Axes, low: float, high: float, **options: Any) -> None:
    """Where prediction and truth are the same."""
    ax.plot([low, high], [low, high], color=look_of(ax).guide, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1, **options)


def shortened(name: str, most: int = LONGEST_NAME) -> str:
    """A name of at most `most` characters; a longer one loses its middle.

    >>> shortened("the northern and the eastern regions", 20)
    'the northe…n regions'
    """
    if len(name) <= most:
        return name
    return f"{name[: most // 2]}…{name[len(name) - (most - 1 - most // 2) :]}"


def short_names(names: Iterable[str], most: int = LONGEST_NAME) -> list[str]:
    """The names, shortened as far as they stay different, as matplotlib takes them."""
    given = list(names)
    longest = max(map(len, given))
    lengths = (*range(most, longest, 4), longest)
    short = next(short for length in lengths if len(set(short := [shortened(name, length) for name in given])) == len(given))
    return list(map(as_label, short))


def by_text(
    named: Iterable[tuple[Any, T]], say: Callable[[Any], str] = str, fully: Callable[[Any], str] = repr
) -> dict[str, T]:
    """Things to draw, by names as texts; the empty one is in quotes, and all are said fully where two would be alike.

    >>> by_text([(1, "a"), ("", "b")]), by_text([(1, "a"), ("1", "b")])
    ({'1': 'a', "''": 'b'}, {'1': 'a', "'1'": 'b'})
    """
    pairs = list(named)
    found = {say(name) or "''": each for name, each in pairs}
    return found if len(found) == len(pairs) else {fully(name): each for name, each in pairs}


UNHIDDEN = "\N{ZERO WIDTH SPACE}"  # in front of a label that matplotlib would take as hidden; `finish` takes it away again


def in_legend(label: str) -> str:
    """The label of a series: matplotlib leaves those that begin with an underscore out of legends."""
    return UNHIDDEN + label if label.startswith("_") else label


def as_label(name: str) -> str:
    """A name that matplotlib shows as it is; between two dollars it would read mathematics."""
    return printable(name).replace("$", r"\$")


def few_ticks(ax: Axes) -> None:
    """At most six labels along the scores, at round numbers: those of small numbers are long."""
    with needed_for("plots", extra="plots"):
        from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))


def finish(ax: Axes, *, legend: str | None = None) -> Axes:
    """No box, a light grid behind the data, and where something has a name a legend, in the axes or "above" them."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color=look_of(ax).grid, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(labelsize="small")
    names = ax.get_legend_handles_labels()[1]
    if names:
        size = "small" if len(names) <= MOST_IN_LARGE and max(map(len, names)) <= LONGEST_IN_LARGE else "x-small"
        look = {"fontsize": size, "frameon": True, "framealpha": 0.9, "edgecolor": "none", "handlelength": 2.6}
        drawn = _legend_above(ax, look) if legend == "above" else ax.legend(loc=legend or "best", **look)
        for text in drawn.get_texts():
            text.set_text(text.get_text().removeprefix(UNHIDDEN))
    return ax


def _legend_above(ax: Axes, look: Any) -> Any:
    """A legend above the axes, in two columns if they fit.

    Empty axes as high as the legend keep its place free: titles are moved above axes that `ax` contains, not above legends.
    """
    with needed_for("plots", extra="plots"):
        from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    for columns in (2, 1):
        place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.0}
        drawn = ax.legend(ncols=columns, columnspacing=1.0, **place, **look)
        box = drawn.get_window_extent()
        if box.width <= 1.1 * ax.get_window_extent().width:  # which a constrained layout widens
            break
    parts: Any = ax.transAxes
    inches = ax.figure.dpi_scale_trans + ScaledTranslation(0.0, 1.0, parts)
    above = blended_transform_factory(parts, inches)
    ax.inset_axes((0.0, 0.0, 1.0, box.height / ax.figure.dpi), transform=above).set_axis_off()
    return drawn


def annotate(ax: Axes, text: str, *, upper_left: bool = False) -> None:
    """A small note in the lower right corner of the axes, or in the upper left one."""
    x, y, align, stand = (0.02, 0.97, "left", "top") if upper_left else (0.98, 0.03, "right", "bottom")
    ax.text(
        x, y, text, transform=ax.transAxes, ha=align, va=stand, fontsize="x-small", color=look_of(ax).guide, zorder=4,
        bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "alpha": 0.8, "pad": 1.0},
    )  # fmt: skip
