"""The fitted function itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.checks import check_alpha
from fastbin._base.docstrings import shared_docs
from fastbin._base.tie_keys import ABOVE_EVERY_KEY
from fastbin._fit.calibrator import Calibrator, as_model_or_set
from fastbin._model.view import intervals_of
from fastbin.guarantees.certificate import sureness
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.plots._given import models_by_name
from fastbin.plots._style import (
    MOST_SERIES,
    Axes,
    LineStyle,
    annotate,
    axes_or_new,
    draw_diagonal,
    few_ticks,
    finish,
    look_of,
    series,
    short_names,
)

CROWDED = 1.0 / 3.0  # of the range of scores: if all edges lie in less, the plot shows where they lie

Drawn = BinnedModel | Calibrator | ModelSet


@shared_docs(axes_or_new.__doc__)
def step_plot(
    model: Drawn | Mapping[str, Drawn], *, alpha: float = 0.1, intervals: bool = True, ax: Axes | None = None
) -> Axes:
    """The calibrated probability against the score, with the intervals that hold in all bins at once.

    Of a model of two resolutions: values as steps, intervals by evidence bin, and dashes at the average of what is served
    within each bin, which is what an interval is about.

    Parameters
    ----------
    model : BinnedModel, fitted calibrator, ModelSet, or mapping of names to models
        Of several models, and of the first seven of a set, the values alone, with a legend.
    alpha : float
        Failure probability of the intervals, strictly between 0 and 1.
    intervals : bool
        Whether to draw them. A model without a finite-sample guarantee has none, and a note in the plot says so.
    {ax}

    {Returns}

    {Raises}

    Notes
    -----
    Both axes show where the bins and the values are: a note says so where scores go on in the first or the last bin. Where a
    random key decides which bin a score gets, rings mark the values that it can get.

    Examples
    --------
    >>> import fastbin as fb
    >>> cal = fb.UniformMassBinning(n_bins=2).fit([0.1, 0.2, 0.6, 0.7, 0.9], [0, 0, 0, 1, 1])
    >>> ax = fb.plots.step_plot(cal)
    >>> ax.get_xlim() == (0.0, 1.0)
    True
    """
    alpha, models = check_alpha(alpha), _models_by_name(model)
    shown = dict(list(models.items())[:MOST_SERIES])
    ax = axes_or_new(ax)
    spans = [_range_of(each) for each in shown.values()]
    low, high = min(span[0] for span in spans), max(span[1] for span in spans)
    look, notes, tops = look_of(ax), [], []
    for index, (name, each) in enumerate(zip(short_names(shown), shown.values(), strict=True)):
        bands = intervals_of(each, alpha) if intervals and len(models) == 1 else None
        label = name or "calibrated probability"
        _draw(ax, each, series(index, look), label, _limits(each, low, high), bands, alpha, alone=len(models) == 1)
        tops.append(float(each.values.max()) if len(each.values) else 1.0)
        tops += [] if bands is None or not len(bands) else [float(bands[:, 1].max())]
        if intervals and len(models) == 1:
            notes += _about(each, bands)
    end = 1.05 if max(tops) > 0.5 else 1.4 * max(tops) or 1.0  # with room for the legend
    if low >= 0.0 and high <= 1.0:
        draw_diagonal(ax, low, high, label="score itself" if low <= end else None)
    notes += _about_the_axis(list(shown.values()), low, high)
    if len(models) > len(shown):
        notes.append(f"and {len(models) - len(shown):,} more")
    if notes:
        annotate(ax, "\n".join(notes))
    ax.set(xlim=(low, high), ylim=(0.0, end), xlabel="score", ylabel="probability")
    few_ticks(ax)
    return finish(ax, legend="upper left")


def _models_by_name(given: Any) -> dict[str, BinnedModel]:
    """The models to draw; the only one of a single model is under the empty name."""
    if isinstance(given, Mapping):
        named = {str(name): as_model_or_set(item, f"model[{name!r}]") for name, item in given.items()}
        return {name: item for name, item in named.items() if isinstance(item, BinnedModel)}
    return models_by_name(as_model_or_set(given))


def _range_of(model: BinnedModel) -> tuple[float, float]:
    """The scores to show: the range of the model, or less where its edges lie close together; without a range, their place."""
    if len(model.edges) == 0:
        return model.score_range or (-6.0, 6.0)
    low, high = float(model.edges[0]), float(model.edges[-1])
    margin = 0.1 * (high - low)
    if model.score_range is None:
        margin = margin or 1.0
        return low - margin, high + margin
    least, most = model.score_range
    margin = margin or 0.1 * (most - least)
    near, far = max(least, low - 3.0 * margin), min(most, high + 3.0 * margin)
    return (near, far) if far - near < CROWDED * (most - least) else (least, most)


def _limits(model: BinnedModel, low: float, high: float) -> tuple[float, float]:
    """Where the function begins and ends in a plot from `low` to `high`."""
    least, most = model.score_range or (low, high)
    return max(least, low), min(most, high)


def _draw(
    ax: Axes, model: BinnedModel, look: LineStyle, label: str, limits: tuple[float, float], bands: Float64s | None,
    alpha: float, *, alone: bool,
) -> None:  # fmt: skip
    """One function: its bands, its values, the averages in its bins, and the rings of what keys decide."""
    low, high = limits
    if model.kind != "step":
        x = np.linspace(low, high, 801)
        ax.plot(x, model.predict(x, seed=0), color=look.colour, linestyle=look.dashes, linewidth=1.8, label=label)
        return
    bin_ends, ends = (np.concatenate([[low], edges, [high]]) for edges in (model.bin_edges, model.edges))
    if bands is not None:
        for side in bands.T:
            ax.stairs(side, bin_ends, color=look.colour, linewidth=0.7, alpha=0.6, baseline=None)
        corners, told = np.repeat(bin_ends, 2)[1:-1], f"{sureness(alpha)} interval, all bins at once"
        ax.fill_between(corners, *np.repeat(bands, 2, axis=0).T, color=look.colour, alpha=0.15, linewidth=0, label=told)
    width = 1.8 if model.n_steps <= 200 else 1.2
    ax.stairs(
        model.values, ends, color=look.colour, linestyle=look.dashes if not alone else "-", linewidth=width, baseline=None,
        label=label,
    )  # fmt: skip
    if model.has_steps and alone:
        averages = model.bin_values, bin_ends[:-1], bin_ends[1:]
        colour = series(1, look_of(ax)).colour
        ax.hlines(*averages, color=colour, linewidth=1.2, linestyle=(0, (4, 2)), label="average within the bin")
    _draw_rings(ax, model, look)


def _draw_rings(ax: Axes, model: BinnedModel, look: LineStyle) -> None:
    """At each score about which a random key decides: the values that it can get, joined by dots."""
    if model.edge_keys is None:
        return
    keys = model.edge_keys
    decided = (keys > 0) & (keys < ABOVE_EVERY_KEY)
    for number, score in enumerate(np.unique(model.edges[decided]).tolist()):
        first, last = np.searchsorted(model.edges, score), np.searchsorted(model.edges, score, side="right")
        # The steps below the first edge, between the edges, and above the last one, of which keys reach all.
        values = model.values[first : last + 1]
        ax.plot([score, score], [values.min(), values.max()], color=look.colour, linewidth=0.9, linestyle=":", zorder=2.5)
        ax.plot(
            np.full(len(values), score), values, linestyle="none", marker="o", markersize=4.5, color=look.colour,
            markerfacecolor=look_of(ax).paper, zorder=3, label="one of these, by a random key" if number == 0 else None,
        )  # fmt: skip


def _about(model: BinnedModel, bands: Float64s | None) -> list[str]:
    """What the bands do not say."""
    if bands is None:
        return ["no finite-sample intervals for this method"]
    if model.counts is not None and not model.counts.all():
        return ["bins without samples span [0, 1]"]
    return [f"n = {model.n_samples:,}"] if model.n_samples else []


def _about_the_axis(models: list[BinnedModel], low: float, high: float) -> list[str]:
    """Where scores go on beyond the plot."""
    least = min((model.score_range or (low, high))[0] for model in models)
    most = max((model.score_range or (low, high))[1] for model in models)
    parts = [f"down to {least:g} in the first bin"] if least < low else []
    parts += [f"up to {most:g} in the last bin"] if most > high else []
    return [f"scores go on {' and '.join(parts)}"] if parts else []
