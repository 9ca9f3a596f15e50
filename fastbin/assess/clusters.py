"""Rows that belong together: one row of each cluster, intervals that allow for clusters, and how much their rows agree.

Rows of one obligor, customer or day are not independent, and tests and intervals that take them as such are too sure. Where
clusters are, one row of each is a sample of independent draws, and so are the averages of clusters. Both are about a random row
of a random cluster, in which every cluster counts once, however many rows it has (docs/guarantees.md, "Clusters").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s, Int64s
from fastbin._base.cells import as_cells, in_one_code
from fastbin._base.checks import check_alpha, check_same_length, check_seed
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError, warn
from fastbin._base.frames import check_same_index
from fastbin._base.shown import how_many, outwards, rounded_down, rounded_up
from fastbin._base.table import Columns, Table
from fastbin._core.fit import row_keys
from fastbin.assess.samples import check_samples, rows_of_each
from fastbin.guarantees.certificate import sureness
from fastbin.intervals.binomial import check_side, opened, special_functions, tails_of
from fastbin.intervals.weighted import ends_of_mean

ALL = "all"
# A design effect from which on a warning says so, where an F test at this level does not take it for chance. At 1.1 intervals
# of nominal 0.95 cover 0.94.
WORTH_A_WARNING, TEST_LEVEL = 1.1, 0.05
# Resamples of the bootstrap, and so many numbers of clusters drawn at once.
N_RESAMPLES, AT_ONCE = 2000, 2**22


def one_per_cluster(cluster: Any, seed: int | None = None) -> Int64s:
    """One row of each cluster, chosen at random without a look at anything but the clusters.

    Parameters
    ----------
    cluster : array-like of shape (n,)
        What rows that belong together share, such as the obligor, integers or text. A missing one is refused.
    seed : int or None
        In [0, 2**64), drawn before the labels are seen; None draws one afresh. Promises hold over its draw: under one number
        files of the same clusters keep the same places, and the last row of a cluster may not be like its first.

    Returns
    -------
    ndarray of int64, shape (n_clusters,)
        The numbers of the rows, ascending: ``scores[rows]``, ``labels[rows]``. The order of rows and the seed decide.

    Raises
    ------
    InputError, InputTypeError
        Naming the first bad position, its value and the remedy; also for no row at all.

    Notes
    -----
    If clusters are independent draws, so are the rows: draws of a random row of a random cluster. Fits, certificates and exact
    tests of them hold for that population, where each cluster counts once (docs/guarantees.md, "Clusters"). The rows must be
    all of their clusters: where some with label 0 were left out (``sampling_rate=``), one row of each has no promise.
    O(n log n).

    Examples
    --------
    >>> one_per_cluster(["ann", "bob", "ann", "bob", "cyd"], seed=0).tolist()
    [2, 3, 4]
    >>> one_per_cluster(["ann", "bob", "ann", "bob", "cyd"], seed=1).tolist()
    [1, 2, 4]
    """
    codes = _codes_of(cluster)[1]
    keys = row_keys(check_seed(seed), len(codes))
    order = np.lexsort((keys, codes))
    return np.sort(order[np.append(True, np.diff(codes[order]) > 0)])


def _codes_of(cluster: Any) -> tuple[list[Any], Int64s]:
    """The keys of the clusters, and the number of that of each row."""
    keys, (codes,) = in_one_code(cluster=as_cells(cluster, "cluster"))
    if not len(codes):
        raise InputError("is empty", "give the cluster of each row", argument="cluster")
    return keys, codes


# ------------------------------------------------------------------------------------------------- how much rows agree


class Agreement(NamedTuple):
    """How much the rows of clusters agree; with one row in each cluster nothing is known, and the correlation is 0.

    Attributes
    ----------
    n_rows, n_clusters : int
    correlation : float
        The intracluster correlation by the one-way analysis of variance; above 0 where rows of a cluster agree.
    design_effect : float
        1 + (m - 1) correlation with the average size m of the cluster of a row (Kish 1965), at least 1: so many rows tell as
        much as one independent row does.
    p_value : float
        Approximate: of the F test that rows of a cluster do not agree.
    seed : int or None
        That chose one row of each cluster, where that was done.
    """

    n_rows: int
    n_clusters: int
    correlation: float
    design_effect: float
    p_value: float
    seed: int | None = None

    @classmethod
    def of(cls, values: Float64s, codes: Int64s) -> Agreement:
        """That of these values, whose clusters are numbered from 0. O(n)."""
        sizes = np.bincount(codes).astype(np.float64)
        n, k = len(codes), len(sizes)
        means = np.bincount(codes, values) / sizes
        within, total = float(((values - means[codes]) ** 2).sum()), float(((values - values.mean()) ** 2).sum())
        if k < 2 or k == n or total <= 0.0:
            return cls(n, k, 0.0, 1.0, 1.0)
        between = max(0.0, total - within) / (k - 1)
        within /= n - k
        typical = (n - float((sizes**2).sum()) / n) / (k - 1)
        correlation = (between - within) / (between + (typical - 1.0) * within)
        p_value = float(special_functions().fdtrc(k - 1, n - k, between / within)) if within > 0.0 else 0.0
        effect = 1.0 + (float((sizes**2).sum()) / n - 1.0) * correlation
        return cls(n, k, correlation, max(1.0, effect), p_value)

    def __str__(self) -> str:
        chosen = "" if self.seed is None else f"; one row of each was taken, by seed {self.seed}"
        worth = how_many(int(self.n_rows / self.design_effect), "independent row")
        return (
            f"{how_many(self.n_rows, 'row')} of {how_many(self.n_clusters, 'cluster')}, whose intracluster correlation is "
            f"{self.correlation:.3f}: the design effect is {self.design_effect:.3g}, and they tell about as much as "
            f"{worth}{chosen}"
        )

    def warn(self, stacklevel: int) -> None:
        """A FastbinWarning where rows of a cluster agree."""
        if self.design_effect >= WORTH_A_WARNING and self.p_value < TEST_LEVEL:
            warn(f"rows of a cluster agree: {self}", stacklevel=stacklevel + 1)


def agreement_of(values: Float64s, cluster: Any, seed: int | None = None) -> Agreement:
    """How much these values agree in the clusters of a column of keys; with the seed, where that chooses a row of each."""
    _, codes = _codes_of(cluster)
    check_same_length(p=values, cluster=codes)
    return Agreement.of(values, codes)._replace(seed=seed)


# ------------------------------------------------------------------------------------------------- intervals


@dataclass(frozen=True, eq=False)
class ClusterIntervals(Table):
    """Rates of grades, and how far predictions are from them, with intervals that allow for clusters.

    Made by `cluster_intervals`; ``str()`` says it and shows the rows.

    Attributes
    ----------
    alpha : float
        The failure probability of each interval.
    side : {"both", "upper", "lower"}
    names : tuple of str, int or bool
        Of the grades, ascending; the last entry is "all", about all rows.
    counts, n_clusters : int64 (n_names,)
        Rows, and clusters with a row there.
    design_effects : float64 (n_names,)
        How many rows tell as much as one independent row does.
    rates, mean_predictions : float64 (n_names,)
        Over clusters, each of which counts once: the mean of their mean labels, and of their mean predictions.
    intervals, gap_intervals : float64 (n_names, 2)
        Exact, of the rate and of rate - prediction for a random row of a random cluster.
    row_rates : float64 (n_names,)
        Over rows, each of which counts once.
    bootstrap, gap_bootstrap : float64 (n_names, 2)
        Approximate: percentiles for the rate of rows, and for rate - prediction of rows. NaN where labels are all alike.
    """

    alpha: float
    side: str
    names: tuple[Any, ...]
    counts: Int64s
    n_clusters: Int64s
    design_effects: Float64s
    rates: Float64s
    mean_predictions: Float64s
    intervals: Float64s
    gap_intervals: Float64s
    row_rates: Float64s
    bootstrap: Float64s
    gap_bootstrap: Float64s

    def _columns(self) -> Columns:
        columns = {"grade": [str(name) for name in self.names], "n": self.counts.tolist(), "clusters": self.n_clusters.tolist()}
        for title, column in (
            ("design_effect", self.design_effects), ("mean_prediction", self.mean_predictions), ("rate", self.rates),
            ("interval", self.intervals), ("gap_interval", self.gap_intervals), ("row_rate", self.row_rates),
            ("bootstrap", self.bootstrap), ("gap_bootstrap", self.gap_bootstrap),
        ):  # fmt: skip
            columns[title] = _plain(column)
        return columns

    def _about(self) -> str:
        low, high = self.intervals[-1].tolist()
        words = {
            "both": f"from {outwards(low, high)}", "upper": f"of at most {rounded_up(high)}",
            "lower": f"of at least {rounded_down(low)}",
        }  # fmt: skip
        within, clusters = words[self.side], how_many(int(self.n_clusters[-1]), "cluster")
        return (
            f"A random row of a random cluster has label 1 at a rate {within} (probability at least {sureness(self.alpha)}; "
            f"{how_many(int(self.counts[-1]), 'row')} of {clusters}, design effect {self.design_effects[-1]:.3g}), and "
            f"predictions are {self.mean_predictions[-1]:.4f} on average. Each interval holds by itself; 'bootstrap' is about "
            "rows, each of which counts once, and approximate"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain dicts, lists, strings and numbers, ready for JSON; None for an interval that is not known."""
        return {"alpha": self.alpha, "side": self.side, "sentence": f"{self._about()}.", "grades": list(self)}


def _plain(column: Float64s) -> list[Any]:
    if column.ndim == 1:
        return column.tolist()
    return [[None if math.isnan(end) else end for end in ends] for ends in column.tolist()]


@shared_docs(check_samples.__doc__)
def cluster_intervals(
    p: Any,
    y: Any,
    cluster: Any,
    by: Any = None,
    *,
    alpha: float = 0.1,
    side: str = "both",
    positive: Any = None,
    seed: int = 0,
) -> ClusterIntervals:
    """The rate of each grade, and how far predictions are from it, where rows come in clusters.

    Parameters
    ----------
    p : array-like of shape (n,)
        Predictions in [0, 1], such as probabilities of default. NaN is refused.
    y : array-like of shape (n,)
        What happened: bool, or numbers that equal 0 or 1.
    cluster : array-like of shape (n,)
        What rows that belong together share, integers or text. A missing one is refused.
    by : array-like of shape (n,), optional
        The grade of each row, integers or text; a missing one is refused. A cluster may have rows in several grades.
    alpha : float
        The failure probability of each interval, from 1e-100 to 1/2. For all of B grades at once pass
        ``fb.intervals.bonferroni(alpha, B)``.
    side : {"both", "upper", "lower"}
        "upper": all of alpha is for upper ends, and lower ends are at the end of the scale; "lower" mirrored.
    {positive}
    seed : int
        Of the resamples, in [0, 2**64).

    Returns
    -------
    ClusterIntervals
        A row for each grade, and one for all.

    Raises
    ------
    InputError, InputTypeError
        Naming the argument, the first bad position, its value and the remedy; also for fewer than two clusters.

    Notes
    -----
    Clusters are independent draws; inside a cluster labels may depend on one another in any way. The exact intervals are those
    of the mean of the clusters' mean labels, or mean labels - predictions, by the bets of `fastbin.intervals.betting`
    (docs/guarantees.md, Theorem F28), and hold for any number of clusters. They are about
    a random row of a random cluster; of a grade, about a random row of the grade in a random cluster that has one there. Where
    clusters are of one size, and without grades, that is a random row.

    The bootstrap draws as many clusters as there are, with replacement, 2,000 times, and takes percentiles of the rate over
    rows. It is approximate: too narrow for few clusters, and for few rows of label 1 (docs/assessment.md has a table). One row
    of each cluster (`one_per_cluster`) has exact intervals of the usual kind.

    O(n log n), and 2,000 times the number of clusters.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> customer = np.repeat(np.arange(500), 4)
    >>> y = rng.random(2000) < np.repeat(rng.beta(2.0, 8.0, 500), 4)
    >>> found = cluster_intervals(np.full(2000, 0.2), y, customer)
    >>> found.n_clusters.tolist(), found.intervals.round(3).tolist(), found.bootstrap.round(3).tolist()
    ([500], [[0.172, 0.227]], [[0.183, 0.214]])
    """
    alpha, side, seed = check_alpha(alpha), check_side(side), check_seed(seed)
    check_same_index(p=p, y=y, cluster=cluster, by=by)
    samples = check_samples(p, y, positive=positive, name="p", labels_name="y")
    _, codes = _codes_of(cluster)
    check_same_length(p=samples.predictions, cluster=codes)
    names, groups = rows_of_grades(by, len(codes))
    if codes.max() == 0:
        raise InputError("holds one cluster alone", "intervals need two clusters or more", argument="cluster")
    labels = samples.labels.astype(np.float64)
    every: list[Any] = [*groups, slice(None)]
    parts = [_part(labels[rows], samples.predictions[rows], codes[rows], alpha, side, seed) for rows in every]
    columns = [np.array(column) for column in zip(*parts, strict=True)]
    return ClusterIntervals(alpha, side, (*names, ALL), *columns)


def rows_of_grades(by: Any, n_rows: int, kept: Any = slice(None)) -> tuple[list[Any], list[Int64s]]:
    """The names of grades, ascending, and the rows of each among those that are `kept`; both empty where `by` is None."""
    if by is None:
        return [], []
    keys, (codes,) = in_one_code(by=as_cells(by, "by"))
    if ALL in keys:
        problem, at = f"is {ALL!r}, as the row of all samples is called", codes.tolist().index(keys.index(ALL))
        raise InputError(problem, "give this grade another name", argument="by", at=at, value=ALL)
    check_same_length(p=range(n_rows), by=codes)
    codes = codes[kept]
    groups = list(rows_of_each(codes))
    return [keys[codes[rows[0]]] for rows in groups], groups


def _part(labels: Float64s, predictions: Float64s, codes: Int64s, alpha: float, side: str, seed: int) -> tuple[Any, ...]:
    """One entry of every column of a `ClusterIntervals`, from `counts` on."""
    order = np.lexsort((predictions, labels, codes))  # so that sums are rounded alike in whatever order the rows come
    labels, predictions = labels[order], predictions[order]
    codes, gaps = np.unique(codes[order], return_inverse=True)[1].ravel(), labels - predictions
    sizes, ones, excess = np.bincount(codes), np.bincount(codes, labels), np.bincount(codes, gaps)
    rates, mean_gaps = ones / sizes, excess / sizes
    gap_ends = 2.0 * ends_of_mean(np.clip((mean_gaps + 1.0) / 2.0, 0.0, 1.0), alpha, side) - 1.0
    resampled = _bootstrap(sizes, np.stack([ones, excess], axis=1), seed)
    if len(np.unique(labels)) < 2 or len(sizes) < 2:
        resampled = np.full_like(resampled, np.nan)
    tail = float(tails_of(alpha, side))
    found = np.quantile(resampled, [tail, 1.0 - tail], axis=0).T
    row_ends = opened(found[0], side), 2.0 * opened((found[1] + 1.0) / 2.0, side) - 1.0
    if np.isnan(found).any():
        row_ends = found[0], found[1]
    return (
        len(labels), len(sizes), Agreement.of(gaps, codes).design_effect, rates.mean(), (rates - mean_gaps).mean(),
        ends_of_mean(rates, alpha, side), gap_ends, labels.mean(), *row_ends,
    )  # fmt: skip


def _bootstrap(sizes: Int64s, sums: Float64s, seed: int) -> Float64s:
    """float64 (N_RESAMPLES, columns): sums over sizes in clusters that are drawn with replacement, equal ones at once."""
    k = len(sizes)
    generator = np.random.Generator(np.random.PCG64(seed))
    alike, repeats = np.unique(np.column_stack([sizes, sums]), axis=0, return_counts=True)
    step = max(1, AT_ONCE // len(alike))
    numbers = [min(step, N_RESAMPLES - start) for start in range(0, N_RESAMPLES, step)]
    totals = np.concatenate([generator.multinomial(k, repeats / k, size=number) @ alike for number in numbers])
    return np.asarray(totals[:, 1:] / totals[:, :1])
