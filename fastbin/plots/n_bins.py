"""What the number of bins trades: the promise of Gupta & Ramdas 2021, and the risk of Sun, Song & Hero 2023."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastbin._base.checks import check_count
from fastbin._base.dependencies import needed_for
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError
from fastbin._fit.calibrator import Calibrator, as_model
from fastbin.guarantees import epsilon
from fastbin.model import BinnedModel
from fastbin.plots._style import MOST_SERIES, Axes, axes_or_new, finish, look_of, series


@shared_docs(axes_or_new.__doc__)
def epsilon_plot(
    n_samples: int | Sequence[int] | BinnedModel | Calibrator = (1000, 2000, 5000, 10000, 20000),
    *,
    max_n_bins: int = 25,
    alpha: float = 0.1,
    kind: str = "conditional",
    bound: str = "a-priori",
    ax: Axes | None = None,
) -> Axes:
    """The distance that uniform-mass binning promises, against the number of bins: Figure 2 of Gupta & Ramdas 2021.

    Parameters
    ----------
    n_samples : int, sequence of int, BinnedModel or fitted calibrator
        One curve for each size of the calibration set, at most seven. Of a model that of its own, with a mark at its bins.
    max_n_bins : int
        Curves run from 1 bin to this many, or to n // 2.
    alpha, kind, bound
        As in `fastbin.guarantees.epsilon`; the paper's figure is "conditional" by "hoeffding".
    {ax}

    {Returns}

    {Raises}

    Examples
    --------
    >>> ax = epsilon_plot([1000, 5000], max_n_bins=10)
    >>> [line.get_label() for line in ax.lines]
    ['n = 1,000', 'n = 5,000']
    """
    own = None if isinstance(n_samples, (int, np.integer, Sequence, np.ndarray)) else as_model(n_samples, "n_samples")
    given = [own.n_samples] if own is not None else np.atleast_1d(np.asarray(n_samples, dtype=object)).tolist()
    sizes = [check_count(n, "n_samples", minimum=2) for n in given]
    if not 0 < len(sizes) <= MOST_SERIES:
        what = f"has {len(sizes)} entries; at most {MOST_SERIES} curves can be told apart" if sizes else "is empty"
        raise InputError(f"n_samples {what}; there is nothing to draw" if not sizes else f"n_samples {what}")
    most = check_count(max_n_bins, "max_n_bins") if own is None else max(check_count(max_n_bins, "max_n_bins"), own.n_bins)
    ax = axes_or_new(ax)
    for index, n in enumerate(sizes):
        look = series(index, look_of(ax))
        n_bins = np.arange(1, min(most, n // 2) + 1)
        promised = np.array([epsilon(n, int(b), alpha, kind, bound) for b in n_bins])
        promised[promised > 1.0] = np.nan  # where nothing is promised
        ax.plot(n_bins, promised, color=look.colour, linestyle=look.dashes, linewidth=1.5, label=f"n = {n:,}")
    ax.set(xlabel="number of bins", ylabel=rf"promised $\varepsilon$  ($\alpha$ = {alpha:g})", xlim=(1, most))
    ax.set_ylim(bottom=0.0)
    if own is not None and own.n_bins <= len(promised):
        _mark(ax, own.n_bins, promised[own.n_bins - 1], series(0, look_of(ax)).colour)
    return finish(ax, legend="upper left" if own is None else None)


def _mark(ax: Axes, n_bins: float, height: float, colour: str, *, rises: bool = True) -> None:
    """A point with its number of bins beside it: clear of a curve that rises, or that falls to a least value."""
    ax.plot([n_bins], [height], marker="o", color=colour, markersize=6, linestyle="none")
    low, high = ax.transAxes.inverted().transform(ax.transData.transform((n_bins, height)))
    aside, above = ("right", (-3, 6)) if rises else ("center", (0, 7))
    if low < 0.15:
        aside, above = "left", (5, 6)
    elif not rises and low > 0.85:
        aside, above = "right", (-3, -14)
    if high > 0.9:
        above = (above[0], -14)
    ax.annotate(
        f"B = {n_bins:g}", (n_bins, height), above, textcoords="offset points", ha=aside, fontsize="x-small", color=colour
    )


@shared_docs(axes_or_new.__doc__)
def risk_plot(
    n_bins: Any, calibration: Any, sharpness: Any, *, bounds: Any = None, best: int | None = None, ax: Axes | None = None
) -> Axes:
    """The recalibration risk and its two parts against the number of bins, as Sun, Song & Hero 2023 draw it.

    Parameters
    ----------
    n_bins : array-like of int, shape (n_points,)
        Ascending.
    calibration, sharpness : array-like of float, shape (n_points,)
        Risks, such as `fastbin.theory.population_risk` gives; their sum is drawn too.
    bounds : array-like of float, shape (n_points,), optional
        Bounds on the sum, such as `fastbin.theory.risk_bound` gives.
    best : int, optional
        A number of bins to mark; by default the one of the least risk drawn.
    {ax}

    {Returns}

    {Raises}

    Examples
    --------
    >>> ax = risk_plot([5, 10, 20], [0.001, 0.002, 0.004], [0.02, 0.008, 0.003])
    >>> ax.get_xlabel()
    'number of bins'
    """
    columns = {"n_bins": n_bins, "calibration": calibration, "sharpness": sharpness}
    arrays = {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}
    x, *parts = arrays.values()
    if any(part.shape != x.shape for part in parts) or x.ndim != 1 or not x.size:
        shapes = ", ".join(f"{name} has shape {array.shape}" for name, array in arrays.items())
        raise InputError(f"lengths differ, or there is no point: {shapes}", "every number of bins needs one of each")
    ax = axes_or_new(ax)
    total = parts[0] + parts[1]
    risks = {"risk": total, "calibration risk": parts[0], "sharpness risk": parts[1]}
    for index, (name, risk) in enumerate(risks.items()):
        look = series(index, look_of(ax))
        ax.plot(x, risk, color=look.colour, linestyle=look.dashes, linewidth=1.8 if index == 0 else 1.3, label=name)
    if bounds is not None:
        ax.plot(x, np.asarray(bounds, dtype=np.float64), color=look_of(ax).guide, linewidth=1.3, label="bound on the risk")
    marked = int(np.argmin(total if best is None else np.abs(x - best)))
    ax.set(xscale="log", yscale="log", xlabel="number of bins", ylabel="risk")
    _few_ticks(ax, x)
    _mark(ax, x[marked], total[marked], series(0, look_of(ax)).colour, rises=False)
    return finish(ax)


def _few_ticks(ax: Axes, n_bins: Any) -> None:
    """Labels at powers of ten, or, where there are hardly two of these, at three of the points."""
    with needed_for("plots", extra="plots"):
        from matplotlib.ticker import FixedLocator, NullFormatter, ScalarFormatter

    if n_bins.max() < 100.0 * n_bins.min():
        middle = n_bins[np.argmin(np.abs(np.log(n_bins) - np.log(n_bins.min() * n_bins.max()) / 2.0))]
        ax.xaxis.set_major_locator(FixedLocator(sorted({n_bins.min(), middle, n_bins.max()})))
        ax.xaxis.set_major_formatter(ScalarFormatter())
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_minor_formatter(NullFormatter())
