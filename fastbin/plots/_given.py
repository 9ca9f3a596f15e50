"""What plots take: predictions with their labels, tables, models and sets of models, all as reliability tables by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fastbin._base.errors import InputError, InputTypeError
from fastbin._fit.calibrator import Estimator, as_model_or_set
from fastbin._model.view import intervals_of
from fastbin.assess import ReliabilityTable, reliability_table
from fastbin.intervals import clopper_pearson, sidak
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet

MOST_ROWS, N_GROUPS = 120, 40  # of a table of more rows than that, so many groups are drawn


def tables_of(given: Any, labels: Any, argument: str, *, alpha: float | None, **options: Any) -> dict[str, ReliabilityTable]:
    """Reliability tables by name; the only one of a single thing is under the empty name.

    Of predictions with labels that of `reliability_table`; of a model or a set that of the samples of its fit.
    """
    if labels is not None:
        return {"": reliability_table(given, labels, alpha=alpha, **options)}
    if not isinstance(given, Mapping):
        return {"": _table_of(given, argument, alpha, options)}
    if not given:
        raise InputError("is empty", "there is nothing to draw", argument=argument)
    return {str(name): _table_of(item, f"{argument}[{name!r}]", alpha, options) for name, item in given.items()}


def _table_of(item: Any, place: str, alpha: float | None, options: Any) -> ReliabilityTable:
    if isinstance(item, ReliabilityTable):
        return item
    if isinstance(item, (BinnedModel, ModelSet, Estimator)):
        return table_of_fit(as_model_or_set(item, place), alpha)
    if isinstance(item, tuple) and len(item) == 2:
        return reliability_table(*item, alpha=alpha, **options)
    remedy = "pass a ReliabilityTable, a model, or predictions together with labels"
    raise InputTypeError(f"{place} is of type {type(item).__name__}", remedy)


def coarser(table: ReliabilityTable) -> ReliabilityTable:
    """The table, or, of one with more rows than can be told apart, one of neighbouring rows joined to groups of equal mass."""
    if len(table.counts) <= MOST_ROWS:
        return table
    ends = np.cumsum(table.masses)
    groups = np.minimum((N_GROUPS * (ends - 0.5 * table.masses)).astype(np.int64), N_GROUPS - 1)
    first = np.flatnonzero(np.diff(groups, prepend=-1))
    masses, counts, label_sums = (np.add.reduceat(column, first) for column in (table.masses, table.counts, table.label_sums))
    means, rates = (
        np.add.reduceat(table.masses * column, first) / masses for column in (table.mean_predictions, table.positive_rates)
    )
    intervals = None
    if table.intervals is not None and not table.is_weighted and table.alpha is not None:
        level = sidak(table.alpha, len(counts)) if table.simultaneous else table.alpha
        intervals = clopper_pearson(label_sums, counts, level)
    return replace(
        table, grouping="uniform-mass", n_bins_asked=len(first), lower=table.lower[first],
        upper=table.upper[np.append(first[1:] - 1, -1)], mean_predictions=means, positive_rates=rates, counts=counts,
        label_sums=label_sums, masses=masses, intervals=intervals, noise=None,
    )  # fmt: skip


def table_of_fit(model: BinnedModel | ModelSet, alpha: float | None) -> ReliabilityTable:
    """The bins of a model, or of all models of a set, with the samples of the fit; simultaneous intervals where there are."""
    models = [own for _, own in model.numbered]
    if any(own.kind != "step" or own.counts is None for own in models):
        raise InputError("the model has no samples by bin to draw", "pass predictions and labels of a test set")
    values = np.concatenate([own.bin_values for own in models])
    counts, label_sums = (np.concatenate([getattr(own, name) for own in models]) for name in ("counts", "label_sums"))
    seen = counts > 0
    order = np.argsort(values[seen], kind="stable")

    def column(entries: Any) -> Any:
        return entries[seen][order]

    intervals = intervals_of(model, alpha)
    return ReliabilityTable(
        grouping="values",
        n_bins_asked=len(values),
        n_samples=int(counts.sum()),
        lower=column(values),
        upper=column(values),
        mean_predictions=column(values),
        positive_rates=column(label_sums) / column(counts),
        counts=column(counts),
        label_sums=column(label_sums),
        masses=column(counts) / counts.sum(),
        intervals=None if intervals is None else column(intervals),
        alpha=None if intervals is None else alpha,
        simultaneous=True,
        is_weighted=any(own.is_weighted for own in models),
    )


def models_by_name(fitted: BinnedModel | ModelSet) -> dict[str, BinnedModel]:
    """The models of a set by what they are called; a lone model is under the empty name."""
    return {("pool" if fitted.is_set else "") if name is None else str(name): own for name, own in fitted.numbered}
