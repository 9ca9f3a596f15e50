"""The fitted function itself."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from fastbin._calibrator import Calibrator, as_model
from fastbin._docstrings import shared_docs
from fastbin._errors import GuaranteeError
from fastbin._scalars import check_alpha
from fastbin.guarantees.words import sureness
from fastbin.model import BinnedModel
from fastbin.plots._style import Axes, annotate, axes_or_new, draw_diagonal, finish, series


@shared_docs(axes_or_new.__doc__)
def step_plot(model: BinnedModel | Calibrator, *, alpha: float = 0.1, intervals: bool = True, ax: Axes | None = None) -> Axes:
    """The calibrated probability against the score, with the intervals that hold in all bins at once.

    Of a model of two resolutions: values as steps, intervals by evidence bin, and dashes at the average of what is served
    within each bin, which is what an interval is about.

    Parameters
    ----------
    model : BinnedModel or fitted calibrator
    alpha : float
        Failure probability of the intervals, strictly between 0 and 1.
    intervals : bool
        Whether to draw them. A model without a finite-sample guarantee has none, and a note in the plot says so.
    {ax}

    {Returns}

    {Raises}

    Examples
    --------
    >>> import fastbin as fb
    >>> cal = fb.UniformMassBinning(n_bins=2).fit([0.1, 0.2, 0.6, 0.7, 0.9], [0, 0, 0, 1, 1])
    >>> ax = fb.plots.step_plot(cal)
    >>> ax.get_xlim() == (0.0, 1.0)
    True
    """
    alpha, model = check_alpha(alpha), as_model(model)
    ax = axes_or_new(ax)
    colour, (low, high), bands = series(0).colour, _range_of(model), None
    if model.kind == "step":
        bin_ends, ends = (np.concatenate([[low], edges, [high]]) for edges in (model.bin_edges, model.edges))
        with suppress(GuaranteeError):
            bands = model.interval(alpha) if intervals else None
        if bands is not None:
            for side in bands.T:
                ax.stairs(side, bin_ends, color=colour, linewidth=0.7, alpha=0.6, baseline=None)
            corners, label = np.repeat(bin_ends, 2)[1:-1], f"{sureness(alpha)} interval, all bins at once"
            ax.fill_between(corners, *np.repeat(bands, 2, axis=0).T, color=colour, alpha=0.15, linewidth=0, label=label)
        ax.stairs(model.values, ends, color=colour, linewidth=1.8, baseline=None, label="calibrated probability")
        if model.has_steps:
            averages = model.bin_values, bin_ends[:-1], bin_ends[1:]
            ax.hlines(*averages, color=series(1).colour, linewidth=1.2, linestyle=(0, (4, 2)), label="average within the bin")
    else:
        x = np.linspace(low, high, 801)
        ax.plot(x, model.predict(x, seed=0), color=colour, linewidth=1.8, label="calibrated probability")
    if low >= 0.0 and high <= 1.0:
        draw_diagonal(ax, low, high, label="score itself")
    if intervals and bands is None:
        annotate(ax, "no finite-sample intervals for this method")
    elif model.kind == "step" and model.counts is not None and not model.counts.all():
        annotate(ax, "bins without samples span [0, 1]")
    ax.set(xlim=(low, high), xlabel="score", ylabel="probability")
    ax.set_ylim(bottom=0.0)
    return finish(ax, legend="upper left")


def _range_of(model: BinnedModel) -> tuple[float, float]:
    """The scores to show: the range of the model, or a little more than its edges span where any score is welcome."""
    if model.score_range is not None:
        return model.score_range
    if len(model.edges) == 0:
        return -6.0, 6.0
    low, high = float(model.edges[0]), float(model.edges[-1])
    margin = 0.1 * (high - low) or 1.0
    return low - margin, high + margin
