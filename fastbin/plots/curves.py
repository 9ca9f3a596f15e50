"""Curves: the fitted function, validity against epsilon, and what the number of bins trades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.checks import (
    check_alpha,
    check_count,
    check_flag,
    check_number,
    check_unit_interval,
    refuse_first,
)
from fastbin._base.dependencies import needed_for
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError
from fastbin._base.tie_keys import ABOVE_EVERY_KEY
from fastbin._fit.calibrator import Calibrator, as_model_or_set
from fastbin._model.view import intervals_of
from fastbin.assess import ValidityCurve, promised_validity, validity_curve
from fastbin.guarantees import epsilon
from fastbin.guarantees.certificate import check_prior, sureness
from fastbin.guarantees.evidence import is_of_batch
from fastbin.guarantees.n_bins import UNIFORM_MASS
from fastbin.intervals.binomial import as_doubles
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet, as_model
from fastbin.plots._style import (
    MOST_IN_LARGE,
    MOST_SERIES,
    Axes,
    LineStyle,
    annotate,
    axes_or_new,
    by_text,
    check_span,
    draw_diagonal,
    few_ticks,
    finish,
    in_legend,
    look_of,
    series,
    short_names,
)
from fastbin.plots.reliability import models_by_name
from fastbin.theory import MeanValidityCurve

CROWDED = 1.0 / 3.0  # of the range of scores: if all edges lie in less, the plot shows where they lie

Drawn = BinnedModel | Calibrator | ModelSet


@shared_docs(axes_or_new.__doc__)
def step_plot(
    model: Drawn | Mapping[str, BinnedModel | Calibrator], *, alpha: float = 0.1, intervals: bool = True, ax: Axes | None = None
) -> Axes:
    """The calibrated probability against the score, with the intervals that hold in all bins at once.

    Of a model of two resolutions: values as steps, intervals by evidence bin, and dashes at the average of what is served
    within each bin, which is what an interval is about.

    Parameters
    ----------
    model : BinnedModel, fitted calibrator, ModelSet, or mapping of names to models
        Of several models, and of the first seven of a set, the values alone, with a legend.
    alpha : float
        Failure probability of the intervals, from 1e-100 to 1/2.
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
    alpha, intervals = check_alpha(alpha), check_flag(intervals, "intervals")
    if isinstance(model, Mapping):
        models = by_text((name, as_model(item, f"model[{name!r}]")) for name, item in model.items())
    else:
        models = models_by_name(as_model_or_set(model))
    if not models:
        raise InputError("is empty", "there is nothing to draw", argument="model")
    shown = dict(list(models.items())[:MOST_SERIES])
    spans = [_range_of(each) for each in shown.values()]
    low, high = min(span[0] for span in spans), max(span[1] for span in spans)
    check_span(low, high, "model")
    ax = axes_or_new(ax)
    look, notes, tops = look_of(ax), [], []
    for index, (name, each) in enumerate(zip(short_names(shown), shown.values(), strict=True)):
        bands = intervals_of(each, alpha) if intervals and len(models) == 1 else None
        label = in_legend(name) or "calibrated probability"
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
        of_batch = " of the batch" if is_of_batch(model) else ""
        corners, told = np.repeat(bin_ends, 2)[1:-1], f"{sureness(alpha)} interval{of_batch}, all bins at once"
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
    """Notes on what the bands do not say."""
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


# ------------------------------------------------------------------------------------------------- validity

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
    max_epsilon : float in (0, 1], optional
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
    kind, bound = check_prior(kind, bound)
    max_epsilon = None if max_epsilon is None else check_unit_interval(max_epsilon, "max_epsilon", open_left=True)
    if labels is not None:
        curves = validity_curve(curves, labels)
    is_several = isinstance(curves, Mapping)
    given: Any = curves
    items: dict[str, Curve] = by_text(given.items()) if is_several else {"": given}
    if not items:
        raise InputError("is empty", "there is nothing to draw", argument="curves")
    for name, each in (given if is_several else items).items():
        if not isinstance(each, (ValidityCurve, MeanValidityCurve)):
            place = f"curves[{name!r}]" if is_several else "curves"
            raise InputError(f"{place} is a {type(each).__name__}", "it must be a ValidityCurve or MeanValidityCurve")
    n_left_out, items = len(items) - MOST_SERIES, dict(list(items.items())[:MOST_SERIES])
    ax = axes_or_new(ax)
    last_jump = max(float(curve.epsilons[-1]) for curve in items.values())
    room = 1.08 if len(items) <= MOST_IN_LARGE else 1.6  # a long legend stands beside the curves
    end = min(1.0, max(0.02, room * last_jump)) if max_epsilon is None else max_epsilon
    for index, (name, curve) in enumerate(zip(short_names(items, 20), items.values(), strict=True)):
        look = series(index, look_of(ax))
        x = np.concatenate([[0.0], curve.epsilons[curve.epsilons < end], [end]])
        ax.step(x, curve(x), where="post", color=look.colour, linestyle=look.dashes, linewidth=1.5, label=in_legend(name))
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


# ------------------------------------------------------------------------------------------------- numbers of bins


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
        One curve for each size of the calibration set, at most seven. For a model of uniform-mass binning its own, with a mark
        at what its certificate by this bound says; `GuaranteeError` where there is none, as of smoothed values.
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
        what = f"has {len(sizes)} entries; at most {MOST_SERIES} curves can be told apart"
        raise InputError(f"n_samples {what if sizes else 'is empty; there is nothing to draw'}")
    most, law = check_count(max_n_bins, "max_n_bins"), dict[str, Any]()
    if own is not None:
        if own.scheme not in UNIFORM_MASS:
            remedy = "the curves are those of uniform-mass binning: pass the number of its samples"
            raise InputError(f"is a model by {own.scheme!r}", remedy, argument="n_samples")
        epsilon(own.n_samples, 1, alpha, kind, bound)  # which refuses kinds and bounds without a curve
        promise = own.certificate(alpha, kind=kind, bound=bound)
        most, law = max(most, own.n_bins), {"scheme": own.scheme, "delta": own.delta}
    ax = axes_or_new(ax)
    for index, n in enumerate(sizes):
        look = series(index, look_of(ax))
        n_bins = np.arange(1, min(most, n // 2) + 1)
        promised = np.array([epsilon(n, int(b), alpha, kind, bound, **law) for b in n_bins])
        promised[promised > 1.0] = np.nan  # where nothing is promised
        ax.plot(n_bins, promised, color=look.colour, linestyle=look.dashes, linewidth=1.5, label=f"n = {n:,}")
    ax.set(xlabel="number of bins", ylabel=rf"promised $\varepsilon$  ($\alpha$ = {alpha:g})", xlim=(1, max(most, 2)))
    ax.set_ylim(bottom=0.0)
    if own is not None:
        _mark(ax, own.n_bins, promise.epsilon, series(0, look_of(ax)).colour)
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
        From 1 on, ascending.
    calibration, sharpness : array-like of float, shape (n_points,)
        Risks from 0 on, such as `fastbin.theory.population_risk` gives; their sum, which is above 0 somewhere, is drawn too.
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
    given = {"n_bins": n_bins, "calibration": calibration, "sharpness": sharpness, "bounds": bounds}
    arrays = {name: as_doubles(column, name, "numbers") for name, column in given.items() if column is not None}
    x = arrays["n_bins"]
    if any(each.shape != x.shape for each in arrays.values()) or x.ndim != 1 or not x.size:
        shapes = ", ".join(f"{name} has shape {array.shape}" for name, array in arrays.items())
        raise InputError(f"lengths differ, or all are empty: {shapes}", "every number of bins needs one of each")
    for name, each in arrays.items():
        least, is_finite = 1.0 if name == "n_bins" else 0.0, np.isfinite(each) | (name == "bounds")
        refuse_first(~((each >= least) & is_finite), name, each, f"it must be finite and at least {least:g}")
    nearest = None if best is None else check_number(best, "best")
    if nearest is not None and not np.isfinite(nearest):
        raise InputError(None, "it must be finite", argument="best", value=nearest)
    total = arrays["calibration"] + arrays["sharpness"]
    if not total.any():
        raise InputError("and sharpness are 0 everywhere", "a logarithmic axis shows no risk of 0", argument="calibration")
    ax = axes_or_new(ax)
    risks = {"risk": total, "calibration risk": arrays["calibration"], "sharpness risk": arrays["sharpness"]}
    for index, (name, risk) in enumerate(risks.items()):
        look = series(index, look_of(ax))
        ax.plot(x, risk, color=look.colour, linestyle=look.dashes, linewidth=1.8 if index == 0 else 1.3, label=name)
    if bounds is not None:
        ax.plot(x, arrays["bounds"], color=look_of(ax).guide, linewidth=1.3, label="bound on the risk")
    marked = int(np.argmin(total if nearest is None else np.abs(x - nearest)))
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
