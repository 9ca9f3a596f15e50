"""The colours of pictures: on light paper, on dark, and in pages that follow the reader's choice of these."""

from __future__ import annotations

from typing import NamedTuple


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
