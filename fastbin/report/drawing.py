"""Pictures of a page, as text of SVG that has the colours of the page around it."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable

from fastbin._base.dependencies import needed_for
from fastbin._base.html import escape
from fastbin.plots._style import LIGHT_LOOK, follow_page

INKED = dict.fromkeys(
    ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "patch.edgecolor"), LIGHT_LOOK.ink
) | {"axes.facecolor": LIGHT_LOOK.paper, "figure.facecolor": LIGHT_LOOK.paper}


def svg_of(size: tuple[float, float], draw: Callable[..., object]) -> str:
    """The picture as an ``svg`` element, the same for the same input."""
    with needed_for("reports", extra="plots"):
        import matplotlib
        from matplotlib.figure import Figure
    with matplotlib.rc_context({**INKED, "svg.hashsalt": "fastbin", "svg.fonttype": "path"}):
        figure = Figure(figsize=size, layout="constrained")
        draw(ax=figure.add_subplot())
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None}, transparent=True)
    text = file.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    return follow_page(text.replace("<svg ", '<svg role="img" ', 1))


def with_captions(pictures: Iterable[tuple[str, str]]) -> str:
    """Captions and pictures as HTML, side by side where there is room."""
    figures = (f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>" for caption, svg in pictures)
    return f"<div class='pictures'>{''.join(figures)}</div>"
