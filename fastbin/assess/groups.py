"""How good are predictions in each group of a population? Groups by one column, or several overlapping ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s
from fastbin._base.cells import as_cells, in_one_code
from fastbin._base.checks import check_alpha, check_same_length
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError
from fastbin._base.frames import check_same_index
from fastbin._base.table import Columns, Table, as_records
from fastbin.assess.metrics import brier_score, log_loss
from fastbin.assess.reliability import reliability_table
from fastbin.assess.samples import N_BINS, Samples, check_samples, rows_of_each
from fastbin.guarantees.words import sureness
from fastbin.intervals import bonferroni, clopper_pearson, sidak


class Group(NamedTuple):
    """A group, and its rows."""

    name: str
    rows: Int64s


def check_groups(groups: Any, kept: Array, **beside: Any) -> list[list[Group]]:
    """Lists of disjoint groups, one list for each grouping.

    Parameters
    ----------
    groups : array-like of shape (n,), or mapping of names to array-likes of shape (n,)
        A column that names the group of each row, by integers, text or bool; groups are disjoint then. Or several by name,
        which may overlap: a bool array is the group of the rows where it is True, any other column a grouping of its own.
    kept : bool array of shape (n,)
        Which rows count; these are numbered from 0.
    beside : array-like of shape (n,)
        The arguments that these rows come from, by their names.

    Raises
    ------
    InputError, InputTypeError
        Naming the argument, the first bad position, its value and the remedy.
    """
    if isinstance(groups, Mapping):
        if not groups:
            raise InputError("groups is an empty mapping; give at least one column or mask, by name")
        columns = [(column, f"groups[{name!r}]", str(name)) for name, column in groups.items()]
    else:
        columns = [(groups, "groups", "")]
    found = []
    for column, place, name in columns:
        check_same_index(**beside, **{place: column})
        keys, codes = _codes_of(column, place)
        check_same_length(**{next(iter(beside)): kept, place: codes})
        found.append(_groups_of(keys, codes[kept], name))
    if not any(found):
        raise InputError("groups holds no row; give at least one group a row")
    names = Counter(group.name for grouping in found for group in grouping)
    for name, times in names.items():
        if times > 1:
            raise InputError(f"groups has {times} groups that are called {name!r}; give the columns other names")
    return [grouping for grouping in found if grouping]


def _codes_of(column: Any, place: str) -> tuple[list[Any], Int64s]:
    """The different entries of a column, and which of them each row has."""
    if np.asarray(column).dtype == np.bool_:
        return [False, True], np.asarray(column).astype(np.int64)
    keys, (codes,) = in_one_code(**{place: as_cells(column, place)})
    return keys, codes


def _groups_of(keys: list[Any], codes: Int64s, name: str) -> list[Group]:
    """The groups of a column, without those that hold no row."""
    found = [(keys[codes[rows[0]]], rows) for rows in rows_of_each(codes)]
    if name and keys[0] is False:
        return [Group(name, rows) for key, rows in found if key]
    return [Group(f"{name}={key}" if name else str(key), rows) for key, rows in found]


@dataclass(frozen=True, eq=False)
class GroupTable(Table):
    """How good predictions are in each group; made by `group_table`.

    Attributes
    ----------
    names : tuple of str
        Of the groups; those of the column with this name are called "column=value".
    counts, label_sums : int64 (n_groups,)
        Samples, and samples with label 1. Frequencies count, importance weights do not.
    mean_predictions, positive_rates : float64 (n_groups,)
        Weighted means.
    intervals : float64 (n_groups, 2) or None
        For the positive rate of each group, all at once. None where none were asked for, and for importance weights.
    gaps : float64 (n_groups,)
        \\|positive rate - mean prediction\\|: right on average is the least that a group can ask.
    ece, brier_scores, log_losses : float64 (n_groups,)
        As `ece`, `brier_score` and `log_loss` give them for the group alone.
    alpha : float or None
        Failure probability of all intervals together.
    """

    names: tuple[str, ...]
    counts: Int64s
    label_sums: Int64s
    mean_predictions: Float64s
    positive_rates: Float64s
    intervals: Float64s | None
    gaps: Float64s
    ece: Float64s
    brier_scores: Float64s
    log_losses: Float64s
    alpha: float | None

    def _columns(self) -> Columns:
        columns = {
            "group": list(self.names), "count": self.counts.tolist(), "label_sum": self.label_sums.tolist(),
            "mean_prediction": self.mean_predictions.tolist(), "positive_rate": self.positive_rates.tolist(),
            "gap": self.gaps.tolist(), "ece": self.ece.tolist(), "brier_score": self.brier_scores.tolist(),
            "log_loss": [loss if np.isfinite(loss) else None for loss in self.log_losses.tolist()],
        }  # fmt: skip
        if self.intervals is not None:
            columns["interval"] = self.intervals.tolist()
        return columns

    def _about(self) -> str:
        about = f"{len(self.names):,} groups of test samples"
        if self.intervals is None:
            return about
        return f"{about}; {sureness(self.alpha or 1.0)} intervals of the positive rates, all at once"

    def to_dict(self) -> dict[str, Any]:
        """The table as plain dicts, lists, strings and numbers, ready for JSON; an infinite log loss is None."""
        return {"alpha": self.alpha, "groups": as_records(self._columns())}


@shared_docs(check_samples.__doc__, check_groups.__doc__)
def group_table(
    predictions: Any,
    labels: Any,
    groups: Any,
    *,
    grouping: str = "auto",
    n_bins: int = N_BINS,
    sample_weight: Any = None,
    positive: Any = None,
    alpha: float | None = 0.1,
) -> GroupTable:
    """Mean prediction, positive rate with an exact interval, calibration error and proper scores of each group.

    Parameters
    ----------
    {predictions}
    {labels}
    {groups}
    grouping, n_bins
        Of the calibration errors, as in `ece`.
    {sample_weight}
    {positive}
    alpha : float or None
        The chance that any interval misses, from 1e-100 to 1/2. None computes none.

    Returns
    -------
    GroupTable
        Groups in ascending order of their values; those without a sample are no rows of it.

    {Raises}

    Notes
    -----
    The intervals are Clopper & Pearson's (1934), conservative where predictions differ within the group (Hoeffding 1956), at
    Sidak's level over the disjoint groups of one column, and Bonferroni's over several columns. Calibration errors are biased
    upwards by noise, those of small groups most: compare groups of one size, or see `audit_groups`. O(n log n) time.

    Examples
    --------
    >>> table = group_table([0.5] * 8 + [0.25] * 4, [0, 1] * 4 + [0, 0, 0, 1], ["a"] * 4 + ["b"] * 8)
    >>> table.names, table.mean_predictions, table.positive_rates
    (('a', 'b'), array([0.5  , 0.375]), array([0.5  , 0.375]))
    >>> table.ece
    array([0., 0.])
    """
    alpha = None if alpha is None else check_alpha(alpha)
    samples = check_samples(predictions, labels, sample_weight, positive=positive)
    kept = np.ones(len(samples.labels), bool) if sample_weight is None else np.asarray(sample_weight) > 0
    groupings = check_groups(groups, kept, predictions=predictions, labels=labels)
    rows, intervals = [], []
    for found in groupings:
        own = [_row(samples.take(group.rows), grouping, n_bins) for group in found]
        if alpha is not None and not samples.is_weighted:
            level = sidak(bonferroni(alpha, len(groupings)), len(found))
            intervals.append(clopper_pearson([row["label_sums"] for row in own], [row["counts"] for row in own], level))
        rows += own
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    ends = np.concatenate(intervals) if intervals else None
    names = tuple(group.name for found in groupings for group in found)
    return GroupTable(names=names, intervals=ends, alpha=alpha, **columns)


def _row(samples: Samples, grouping: str, n_bins: int) -> dict[str, Any]:
    """The entries of a group in the columns."""
    predictions, labels, weights = samples.predictions, samples.labels, samples.weights
    mean, rate = samples.mean(predictions), samples.mean(labels.astype(np.float64))
    table = reliability_table(predictions, labels, grouping=grouping, n_bins=n_bins, sample_weight=weights, alpha=None)
    return {
        "counts": samples.n_samples,
        "label_sums": int(labels.sum() if samples.frequencies is None else np.dot(labels, samples.frequencies)),
        "mean_predictions": mean,
        "positive_rates": rate,
        "gaps": abs(rate - mean),
        "ece": table.ece(),
        "brier_scores": brier_score(predictions, labels, sample_weight=weights),
        "log_losses": log_loss(predictions, labels, sample_weight=weights),
    }
