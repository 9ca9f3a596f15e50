"""The table as a picture: losses beside the raw score's, and what each method can prove."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.calarena.methods import ALPHA, OURS, RAW
from bench.calarena.summary import FROM, Line

__all__ = ["draw"]

# Okabe and Ito's; fastbin's own methods are the filled ones.
COLOURS = {
    OURS: "#0072B2",
    "scikit-learn": "#E69F00",
    "venn-abers": "#009E73",
    "betacal": "#CC79A7",
    "uncertainty-calibration": "#56B4E9",
    "netcal": "#D55E00",
    "probmetrics": "#666666",
    "none": "#000000",
}
EPSILON_SIZE = 2000


def _limit(values: Sequence[float]) -> float:
    """The right end of an axis of ratios: a bit beyond the better half, so that its dots lie apart."""
    ordered = sorted(values)
    middle = ordered[len(ordered) // 2]
    return max(1.01, middle + 0.25 * (middle - ordered[0]))


def _dots(axes: Any, rows: Sequence[float], lines: Sequence[Line], values: Sequence[float | None], right: float) -> None:
    """One dot a method; an arrow and the number where it lies outside."""
    for row, line, value in zip(rows, lines, values, strict=True):
        if value is None:
            continue
        colour = COLOURS.get(line.library, "#999999")
        if value <= right:
            axes.plot(value, row, "o", color=colour, markersize=6, fillstyle="full" if line.library == OURS else "none")
        else:
            places = 3 if value < 1.1 else 2
            axes.annotate(
                f"{value:.{places}f} →", (right, row), xytext=(-2, 0), textcoords="offset points",
                ha="right", va="center", fontsize=7, color=colour,
            )  # fmt: skip


def _ratios(axes: Any, places: Sequence[float], lines: Sequence[Line], loss: str, title: str) -> None:
    values = [getattr(line, loss) for line in lines]
    known = [value for value in values if value is not None]
    right, left = _limit(known), min([*known, 1.0])
    _dots(axes, places, lines, values, right)
    axes.axvline(1.0, color="0.6", linewidth=1, zorder=0)
    axes.set_xlim(left - 0.05 * (right - left), right + 0.01 * (right - left))
    axes.set_title(title, fontsize=10)


def _promises(axes: Any, places: Sequence[float], lines: Sequence[Line]) -> None:
    """What is proved at one size, and how often it held in simulations; a bar far longer than most is cut."""
    epsilons = sorted(line.epsilons[EPSILON_SIZE] for line in lines if EPSILON_SIZE in line.epsilons)
    right = max(0.05, *[epsilon for epsilon in epsilons if epsilon <= 3.0 * epsilons[len(epsilons) // 2]], 0.0)
    for place, line in zip(places, lines, strict=True):
        epsilon = line.epsilons.get(EPSILON_SIZE)
        if epsilon is None:
            axes.annotate(
                "nothing", (0.0, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=7, color="0.55"
            )
            continue
        shown = min(epsilon, right)
        axes.barh(place, shown, height=0.6, color=COLOURS[OURS], alpha=0.75)
        held = "" if line.coverage is None else f", held {line.coverage:.1%}"
        axes.annotate(
            f"{'→ ' if shown < epsilon else ''}{epsilon:.3f}{held}",
            (shown, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
        )
    axes.set_xlim(0.0, 2.2 * right)
    axes.locator_params(axis="x", prune="lower")  # its 0 would meet the last number of the picture before
    axes.set_title(f"proved at {1 - ALPHA:.0%}, n = {EPSILON_SIZE:,}", fontsize=10)


def draw(target: Path, lines: Sequence[Line], subtitle: str) -> None:
    """Write the picture; methods from the best log loss down, those that could not do every cell below."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    shown = [line for line in lines if line.log_loss is not None]
    n_complete = sum(line.n_missing == 0 for line in shown)
    places = [float(i) if i < n_complete else i + 1.0 for i in range(len(shown))]
    figure, (by_log, by_brier, proved) = plt.subplots(
        1, 3, sharey=True, figsize=(13, 1.6 + 0.235 * (len(shown) + 1)), width_ratios=(1.0, 1.0, 0.8), layout="constrained"
    )
    figure.get_layout_engine().set(wspace=0.03)
    _ratios(by_log, places, shown, "log_loss", "log loss / raw score's")
    _ratios(by_brier, places, shown, "brier", "Brier score / raw score's")
    _promises(proved, places, shown)
    by_log.set_yticks(places, [line.method if line.n_missing == 0 else f"{line.method} ({line.failures})" for line in shown])
    by_log.set_ylim(max(places, default=0.0) + 0.7, -0.7)
    for axes in (by_log, by_brier, proved):
        axes.tick_params(axis="y", labelsize=8, length=0)
        axes.tick_params(axis="x", labelsize=8)
        axes.grid(alpha=0.25)
        axes.set_axisbelow(True)
        for place in places[n_complete : n_complete + 1]:
            axes.axhline(place - 1.0, color="0.5", linewidth=0.8, linestyle="--")
    for label, line in zip(by_log.get_yticklabels(), shown, strict=True):
        label.set_color(COLOURS.get(line.library, "#999999"))
        label.set_fontweight("bold" if line.library in (OURS, "none") else "normal")
    used = [library for library in COLOURS if any(line.library == library for line in shown)]
    handles = [
        Line2D([], [], marker="o", linestyle="", color=COLOURS[name], fillstyle="full" if name == OURS else "none",
               label=RAW if name == "none" else name)
        for name in used
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=9)
    figure.suptitle(f"Means over score sets with n ≥ {FROM:,} calibration rows (smaller is better)\n{subtitle}", fontsize=11)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=110)
    plt.close(figure)
