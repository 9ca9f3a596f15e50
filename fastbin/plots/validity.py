"""Validity plots, with what the theorem promises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fastbin._base.docstrings import shared_docs
from fastbin.assess import ValidityCurve, promised_validity, validity_curve
from fastbin.plots._style import (
    MOST_IN_LARGE,
    MOST_SERIES,
    Axes,
    annotate,
    axes_or_new,
    few_ticks,
    finish,
    items_by_name,
    look_of,
    series,
    short_names,
)
from fastbin.theory import MeanValidityCurve

Curve = ValidityCurve | MeanValidityCurve


@shared_docs(axes_or_new.__doc__)
def validity_plot(
    curves: Curve | Mapping[str, Curve] | Any,
    labels: Any = None,
    *,
    n_samples: int | None = None,
    n_bins: int | None = None,
    kind: str = "marginal",
    bound: str = "a-priori",
    max_epsilon: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Validity against epsilon: for which share of the samples is the prediction how close to the truth?

    The plot of Gupta & Ramdas 2021, Figures 1 and 3 to 6, marginal or conditional as the curves are.

    Parameters
    ----------
    curves : ValidityCurve, MeanValidityCurve, mapping from name to these, or predictions of shape (n,) with `labels`
        As `fastbin.assess.validity_curve`, `fastbin.theory.conditional_validity_curve` and `fastbin.theory.mean_validity_curve`
        make them. A band shows plus and minus one standard error of a mean.
    labels : array-like of shape (n,), optional
        0 or 1, or bool: `curves` holds the predictions then.
    n_samples, n_bins : int, optional
        Calibration samples and bins of uniform-mass binning: with both, the validity promised before the data is drawn too.
    kind : {"marginal", "conditional"}
        Which promise; see `fastbin.assess.promised_validity`.
    bound : {"a-priori", "hoeffding"}
        How the promise is computed: exactly, or by the closed formula of Theorem 4.
    max_epsilon : float, optional
        Where the axis ends; by default a little beyond the point where all curves reach 1, and at least 0.02.
    {ax}

    {Returns}

    {Raises}

    Examples
    --------
    >>> from fastbin.assess import validity_curve
    >>> curve = validity_curve([0.2, 0.2, 0.8, 0.8], [0, 1, 1, 1])
    >>> ax = validity_plot(curve)
    >>> bool(ax.get_ylim()[0] <= 0.0)
    True
    """
    if labels is not None:
        curves = validity_curve(curves, labels)
    items: dict[str, Curve] = items_by_name(curves, (ValidityCurve, MeanValidityCurve), "curves")
    n_left_out, items = len(items) - MOST_SERIES, dict(list(items.items())[:MOST_SERIES])
    ax = axes_or_new(ax)
    last_jump = max(float(curve.epsilons[-1]) for curve in items.values())
    room = 1.08 if len(items) <= MOST_IN_LARGE else 1.6  # a long legend stands beside the curves
    end = min(1.0, max(0.02, room * last_jump)) if max_epsilon is None else float(max_epsilon)
    for index, (name, curve) in enumerate(zip(short_names(items, 20), items.values(), strict=True)):
        look = series(index, look_of(ax))
        x = np.concatenate([[0.0], curve.epsilons[curve.epsilons < end], [end]])
        ax.step(x, curve(x), where="post", color=look.colour, linestyle=look.dashes, linewidth=1.5, label=name or None)
        if isinstance(curve, MeanValidityCurve) and curve.n_curves > 1:
            reach = curve.standard_error(x)
            ax.fill_between(x, curve(x) - reach, curve(x) + reach, step="post", color=look.colour, alpha=0.18, linewidth=0)
    if n_samples is not None and n_bins is not None:
        x = np.linspace(0.0, end, 201 if bound == "hoeffding" else 61)
        promised = promised_validity(x, n_samples, n_bins, kind=kind, bound=bound)
        label = "promised (Theorem 4)" if bound == "hoeffding" else "promised (a priori)"
        ax.plot(x, promised, color=look_of(ax).guide, linewidth=2.2, alpha=0.75, label=label, zorder=1.5)
    axis = "validity" if kind == "marginal" else "conditional validity"
    ax.set(xlim=(0.0, end), ylim=(0.0, 1.02), xlabel=r"$\varepsilon$", ylabel=axis)
    if n_left_out > 0:
        annotate(ax, f"and {n_left_out:,} more", upper_left=True)
    few_ticks(ax)
    return finish(ax, legend="lower right")
