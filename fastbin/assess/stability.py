"""Have scores moved? The population stability index of two samples, or of two rows of counts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s
from fastbin._base.checks import check_choice, check_count, check_scores, refuse_first
from fastbin._base.errors import InputError
from fastbin._base.shown import how_many, rounded
from fastbin._base.table import Columns, Table, as_records
from fastbin.assess.cell_tests import chi_square_p
from fastbin.assess.verdict import known, p_is
from fastbin.intervals.binomial import as_counts

MOST_COUNTS = 100  # bins that somebody may have counted
MINOR, MAJOR = 0.1, 0.25  # the usual rule of thumb, whatever the numbers of rows


@dataclass(frozen=True, eq=False)
class PopulationStability(Table):
    """How far the shares of bins moved between two samples; made by `population_stability`. ``str()`` says it.

    Attributes
    ----------
    index : float
        The population stability index; infinite where a bin is empty in one sample and not in the other.
    smoothed : float
        The same with 1/2 added to every count, which is always finite.
    p_value : float
        Approximate: the chance of such an index if both samples are drawn from the same law. NaN where it is infinite, or
        where one bin alone holds rows.
    expected : float
        The mean of the index then: the filled bins less one, times (1 / n_reference + 1 / n_new).
    edges : float64 (n_bins - 1,)
        Between the bins, empty for counts. A score equal to an edge lies above it.
    reference, new : int64 (n_bins,)
        Rows of each sample in each bin.
    n_values : int or None
        Different scores of the reference; None for counts.
    """

    index: float
    smoothed: float
    p_value: float
    expected: float
    edges: Float64s
    reference: Int64s
    new: Int64s
    n_values: int | None = None

    def _columns(self) -> Columns:
        shares = [(counts / counts.sum()).tolist() for counts in (self.reference, self.new)]
        terms = [known(term) for term in _terms(self.reference, self.new).tolist()]
        columns: dict[str, list[Any]] = {"bin": list(range(len(self.new)))}
        if len(self.edges):
            columns["from"], columns["below"] = [None, *self.edges.tolist()], [*self.edges.tolist(), None]
        columns |= {"reference": self.reference.tolist(), "new": self.new.tolist()}
        return {**columns, "reference_share": shares[0], "new_share": shares[1], "term": terms}

    def _about(self) -> str:
        sizes = f"{how_many(int(self.new.sum()), 'new row')} against {int(self.reference.sum()):,}"
        if math.isinf(self.index):
            empty = np.flatnonzero((self.reference == 0) != (self.new == 0)).tolist()
            named = ", ".join(map(str, empty[:4])) + (", ..." if len(empty) > 4 else "")
            return (
                f"The population stability index of {sizes} is infinite, as one sample alone has rows in bin {named}; with 1/2 "
                f"added to every count it is {rounded(self.smoothed)}. Fewer bins, or bins put together, make it finite"
            )
        if len(self.reference) == 1:
            return (
                f"The population stability index of {sizes} says nothing: all are in one bin, whatever their scores are. Take "
                "more bins, or a reference of several scores"
            )
        size = "no notable" if self.index < MINOR else "a minor" if self.index < MAJOR else "a major"
        chance = f"{rounded(self.expected)} is expected by chance"
        if not math.isnan(self.p_value):
            chance += f", p {p_is(self.p_value)}"
        told = f"The population stability index of {sizes} is {rounded(self.index)}: {size} shift by the usual rule ({chance})"
        if self.n_values is not None and self.n_values <= len(self.new):
            told += f". The reference has {how_many(self.n_values, 'different score')}; moves between two of them are not seen"
        return told

    def to_dict(self) -> dict[str, Any]:
        """The index as plain dicts, lists, strings and numbers, ready for JSON; None where it is infinite or not defined."""
        head = {name: known(getattr(self, name)) for name in ("index", "smoothed", "p_value", "expected")}
        return {"sentence": f"{self._about()}.", **head, "bins": as_records(self._columns())}


def population_stability(reference: Any, new: Any, *, kind: str | None = None, n_bins: int = 10) -> PopulationStability:
    """The population stability index (PSI) of scores: how far the shares of bins have moved.

    The sum over the bins of (new share - reference share) log(new share / reference share).

    Parameters
    ----------
    reference, new : array-like of shape (n,), or (n_bins,) for counts
        Finite scores of two samples, of any length, NaN refused; or the rows in each bin, integers of at least 0. Where one
        sample is in float32, and it holds the other, they are compared in float32.
    kind : {"scores", "counts"}, optional
        What the arrays hold. Not needed for scores, but for few integers of which there are equally many, which may be either.
    n_bins : int
        Of scores: bins of equal counts of the reference, ten as is usual. Equal scores stay together, so there may be fewer.

    Returns
    -------
    PopulationStability
        A row for each bin.

    Raises
    ------
    InputError, InputTypeError
        Naming the argument, the first bad position, its value and the remedy; also for a sample without rows.

    Notes
    -----
    A bin that is empty in both samples adds nothing. One that is empty in one of them alone makes the index infinite: nothing
    is put in its place. `smoothed` adds 1/2 to every count, and is always finite.

    The usual rule calls less than 0.1 no shift, and 0.25 or more a major one, whatever the numbers of rows (Siddiqi 2006). By
    chance alone the index is about (1 / n_reference + 1 / n_new) times a chi-square number with as many degrees of freedom as
    filled bins less one (Yurdakul & Naranjo 2020), from which the p-value is. It is approximate, and takes the edges as fixed.

    O(n log n) time.

    Examples
    --------
    >>> moved = population_stability([248, 247, 260, 245], [13, 43, 63, 81], kind="counts")
    >>> round(moved.index, 7), moved.p_value < 1e-6
    (0.3404592, True)
    """
    edges = np.empty(0)
    if kind is not None and check_choice(kind, "kind", ("scores", "counts")) == "counts":
        counts = _counts(reference, "reference"), _counts(new, "new")
        if len(counts[0]) != len(counts[1]):
            sizes = f"reference has {len(counts[0])}, new has {len(counts[1])}"
            raise InputError(f"lengths differ: {sizes}", "every bin needs both")
        return _stability(edges, *counts)
    n_bins = check_count(n_bins, "n_bins", maximum=2**24)
    scores = []
    for name, values in (("reference", reference), ("new", new)):
        scores.append(check_scores(values, None, name))
        _refuse_empty(len(scores[-1]), name)
    # A sample in float64 differs from the same one in float32 at nearly every score: half of it would lie below its edges.
    narrower = min((each.dtype for each in scores), key=lambda dtype: dtype.itemsize)
    if all(np.abs(each).max() <= np.finfo(narrower).max for each in scores):
        scores = [each.astype(narrower) for each in scores]
    scores = [each.astype(np.float64) for each in scores]
    if kind is None:
        _refuse_unclear(np.asarray(reference), np.asarray(new))
    ordered, n = np.sort(scores[0]), len(scores[0])
    cuts = ordered[-(-np.arange(1, min(n_bins, n)) * n // min(n_bins, n))]
    edges = np.unique(cuts[cuts > ordered[0]])
    counts = _between(edges, scores[0]), _between(edges, scores[1])
    return replace(_stability(edges, *counts), n_values=1 + int((np.diff(ordered) > 0.0).sum()))


def _refuse_unclear(reference: Array, new: Array) -> None:
    """Refuse what may be scores or counts."""
    is_few = reference.shape == new.shape and len(new.shape) == 1 and len(new) <= MOST_COUNTS
    if is_few and all(values.dtype.kind in "iu" for values in (reference, new)):
        problem = f"and new are {len(new)} integers each, which may be scores or counts"
        raise InputError(problem, "say kind='counts' for rows in each bin, or kind='scores'", argument="reference")


def _between(edges: Float64s, scores: Float64s) -> Int64s:
    """How many scores lie between neighbouring edges, one that is equal above it."""
    return np.bincount(np.searchsorted(edges, scores, side="right"), minlength=len(edges) + 1).astype(np.int64)


def _stability(edges: Float64s, reference: Int64s, new: Int64s) -> PopulationStability:
    index = float(_terms(reference, new).sum())
    df = int(((reference > 0) | (new > 0)).sum()) - 1
    scale = 1.0 / int(reference.sum()) + 1.0 / int(new.sum())
    return PopulationStability(
        index=index,
        smoothed=float(_terms(reference + 0.5, new + 0.5).sum()),
        p_value=chi_square_p(index / scale, df) if df > 0 and math.isfinite(index) else math.nan,
        expected=df * scale,
        edges=edges,
        reference=reference,
        new=new,
    )


def _terms(reference: Any, new: Any) -> Float64s:
    """The term of each bin: 0 if both samples are empty there, infinity if one is."""
    before, after = reference / reference.sum(), new / new.sum()
    filled = (before > 0.0) & (after > 0.0)
    ratios = np.divide(after, before, out=np.ones(len(before)), where=filled)
    return np.where(filled, (after - before) * np.log(ratios), np.where(before == after, 0.0, np.inf))


def _counts(values: Any, name: str) -> Int64s:
    counts = as_counts(values, name)
    refuse_first(counts < 0, name, counts, "a count of rows is at least 0")
    _refuse_empty(int(counts.sum()), name)
    return counts


def _refuse_empty(n: int, name: str) -> None:
    if n == 0:
        raise InputError("holds no row", "give the rows of both samples", argument=name)
