"""Grades: what was predicted, what happened, and how sure that is; for pages on given predictions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin.plots._style import Axes, finish, look_of, series, short_names

# From this ratio of the largest to the smallest rate on, rates are shown on a logarithmic scale.
WIDE = 10.0
# Ticks of such a scale, so that their numbers do not touch.
MOST_TICKS = 8


def grades_plot(
    names: Sequence[str], means: Float64s, rates: Float64s, intervals: Float64s, wrong: Sequence[bool], *, level: str, ax: Axes
) -> Axes:
    """For each grade a line for the interval of the rate, a dot for the rate and a bar for the mean prediction.

    Grades that are `wrong` have another colour and mark. A number of 0 stands at the left edge of a logarithmic scale.
    """
    look, places = look_of(ax), np.arange(len(names))
    positive = np.concatenate([means[means > 0.0], rates[rates > 0.0]])
    high = min(1.0, 1.15 * float(max(means.max(), intervals[:, 1].max())))
    is_log = len(positive) > 0 and high > WIDE * float(positive.min())
    low = float(positive.min()) / 3.0 if is_log else 0.0
    for is_wrong, label, index in ((False, "rate", 0), (True, "rate, contradicting the prediction", 1)):
        own = np.array(wrong, bool) == is_wrong
        if own.any():
            style = series(index, look)
            ends = np.maximum(intervals[own], low)
            ax.hlines(places[own], ends[:, 0], ends[:, 1], colors=style.colour, linewidth=2.5, alpha=0.55)
            at = np.maximum(rates[own], low)
            ax.plot(at, places[own], linestyle="none", marker=style.marker, color=style.colour, label=f"{label}, {level}")
    served = np.maximum(means, low)
    ax.plot(served, places, linestyle="none", marker="|", markersize=14, markeredgewidth=2.0, color=look.ink, label="predicted")
    if is_log:
        ax.set_xscale("log")
    ax.set_xlim(low, high)
    if is_log:
        ticks = [digit * 10.0**power for power in range(-12, 1) for digit in (1.0, 2.0, 5.0)]
        seen = [at for at in ticks if low <= at <= high]
        shown = seen if len(seen) <= MOST_TICKS else seen[:: -(-len(seen) // MOST_TICKS)]
        ax.set_xticks(shown, [f"{at:.6g}" if at >= 1e-4 else f"{at:.0e}" for at in shown])
        ax.minorticks_off()
    ax.set_yticks(places, short_names(names, 24))
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlabel("frequency of label 1" + (" (logarithmic)" if is_log else ""))
    finish(ax)
    below = {"loc": "upper center", "bbox_to_anchor": (0.45, -0.16 if len(names) > 5 else -0.3), "ncols": 3}
    ax.legend(fontsize="small", frameon=False, handlelength=1.4, **below)
    return ax
