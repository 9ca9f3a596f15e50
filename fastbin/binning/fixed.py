"""Binning between edges that were fixed before the calibration samples were seen: the user's own, or of equal width."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fastbin._base.array_types import Float64s, Int64s
from fastbin._base.checks import ScoreRange, check_edges, check_flag, check_n_bins, check_score_range, check_unit_interval
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError
from fastbin._base.shown import first_few
from fastbin._fit.calibrator import PARAMETERS, Binning
from fastbin._fit.edges import resolve_n_bins, tally_fingerprint
from fastbin._fit.histogram import codes_of, scores_of
from fastbin._fit.quantiles import Source
from fastbin._fit.rows import limits_of
from fastbin._fit.tally import Partition, require_weight, tally_source
from fastbin.model import BinnedModel

if TYPE_CHECKING:
    from typing_extensions import Self


class FixedEdges(Binning):
    """Binnings between fixed edges: they tally, report their empty bins, and may raise their values.

    Attributes
    ----------
    model_ : BinnedModel
    empty_bins_ : ndarray of int64
        Bins without samples: value 0.5 (with `monotone` the mean of the nearest bins with samples), interval [0, 1], and no
        part in any guarantee. `fit` warns and names them.
    """

    monotone: bool
    sampling_rate: float

    @property
    def empty_bins_(self) -> Int64s:
        """int64: the numbers of the bins without samples, whose value is 0.5 (or that of a neighbour, with monotone values)."""
        return np.flatnonzero(self.model_.counts == 0)

    def _fit_source(self, source: Source) -> Self:
        score_range, origin, rows = check_score_range(self.score_range), dict[str, Any](), source.in_memory
        check_unit_interval(self.sampling_rate, "sampling_rate", open_left=True)
        check_flag(self.monotone, "monotone")

        def bins_of(n_samples: int) -> Partition:
            edges, said = self._edges(n_samples, score_range)
            origin.update(said)
            return Partition(edges, score_range=score_range)

        partition, tally = tally_source(source, bins_of)
        parts = tally.parts(monotone=self.monotone)
        require_weight(parts)
        model = BinnedModel.from_parts(
            edges=partition.edges, score_range=score_range, out_of_range=self.out_of_range,
            fingerprint=tally_fingerprint(partition, tally), **parts, **origin,
        )  # fmt: skip
        if self.sampling_rate != 1.0:
            model = self._to_population(model, self.sampling_rate)
        self._keep(model, "" if rows is None else rows.event)
        if len(self.empty_bins_):
            self._warn(_on_empty_bins(self.empty_bins_, self.model_.values, self.monotone), stacklevel=3)
        self._warn_of_rows(tally.counts, tally.label_sums, source.has_hard_labels, 3)
        return self

    def _why_all_rows(self, remedy: str = "use fit") -> None:
        return None

    def _edges(self, n_samples: int, score_range: ScoreRange) -> tuple[Float64s, dict[str, Any]]:
        """The edges, and what the model says of their origin."""
        raise NotImplementedError


def _on_empty_bins(empty: Int64s, values: Float64s, monotone: bool) -> str:
    """The text of the warning."""
    shown = first_few(empty.tolist())
    served = f"{values[empty[0]]:g}" if len(set(values[empty])) == 1 else f"{values[empty].min():g} to {values[empty].max():g}"
    why = "a value between those of their neighbours" if monotone else "a value that stands for not knowing"
    one = len(empty) == 1
    return (
        f"{'bin' if one else 'bins'} {shown} of {len(values)} (from 0) {'holds' if one else 'hold'} no sample and "
        f"{'serves' if one else 'serve'} {served}, {why}: no interval, and no part in any promise (empty_bins_ names them); "
        "take fewer bins, or UniformMassBinning, which leaves none empty"
    )


@shared_docs(PARAMETERS, FixedEdges.__doc__)
@dataclass(eq=False, repr=False)
class ExplicitBinning(FixedEdges):
    """Histogram binning between edges of the user's own.

    Parameters
    ----------
    edges : array-like of float
        The inner edges, rising strictly, within `score_range` and above its low end. A score equal to an edge lies above it.
        They must have been fixed before the calibration samples were seen: no guarantee survives edges that looked at labels.
    {monotone}
    {sampling_rate}
    {score_range}
    {out_of_range}

    {Attributes}

    See Also
    --------
    UniformMassBinning : leaves no bin empty.

    Notes
    -----
    Guarantee: given the scores, the label sum of a bin is binomial (Gupta, Podkopaev & Ramdas 2020, section 4.1), so every
    interval and certificate of the model applies. Equal scores share a bin, so that ties need no keys. One pass over the
    rows, in one thread: time O(n), extra memory O(n_bins).

    Examples
    --------
    >>> import fastbin as fb
    >>> cal = fb.ExplicitBinning(edges=[0.1, 0.5]).fit([0.05, 0.1, 0.3, 0.6, 0.7], [0, 0, 1, 1, 1])
    >>> cal.model_.counts, cal.predict([0.0, 0.1, 0.9])
    (array([1, 2, 2]), array([0. , 0.5, 1. ]))
    """

    edges: Any
    _: KW_ONLY
    monotone: bool = False
    sampling_rate: float = 1.0

    def _edges(self, n_samples: int, score_range: ScoreRange) -> tuple[Float64s, dict[str, Any]]:
        edges = check_edges(self.edges, score_range)
        return edges, {"scheme": "explicit", "n_bins_asked": len(edges) + 1}


# ------------------------------------------------------------------ equal widths


@shared_docs(PARAMETERS, FixedEdges.__doc__)
@dataclass(eq=False, repr=False)
class FixedWidthBinning(FixedEdges):
    """Fixed-width (equal-width) histogram binning.

    Parameters
    ----------
    n_bins : int or "auto"
        "auto" is a function of the number of samples alone and so costs no guarantee; see `fastbin.guarantees.auto_n_bins`.
    scaler : fitted PlattScaling, TemperatureScaling or BetaScaling, or None
        Bins of equal width on the scaled line, pulled back to edges on the line of the scores: the model is one step function,
        and scoring never evaluates the map. The scaler must increase, and must have been fitted on other samples: bins have
        to be fixed before the calibration samples are seen.
    {monotone}
    {sampling_rate}
    score_range : (low, high)
        Where scores must lie. Without a scaler the bins divide it; with one, it is the scaler's.
    {out_of_range}

    {Attributes}

    See Also
    --------
    UniformMassBinning : leaves no bin empty, and its guarantee does not depend on the smallest bin.

    Notes
    -----
    Edge i is the double nearest to ``low + (high - low) i / n_bins``; for scores in [0, 1] that is the IEEE quotient i /
    n_bins. A score equal to an edge lies above it, and `high` belongs to the last bin. (``floor(score * n_bins)`` would
    send 0.29 of 100 bins to the one below 0.29.) Edges that coincide, or that no score can reach, are left out:
    ``model_.n_bins`` may be less than ``model_.n_bins_asked``, for a scaler whose map does not fill [0, 1] or a range of
    few doubles.

    Guarantee: given the scores, the label sum of a bin is binomial (Gupta, Podkopaev & Ramdas 2020, section 4.1 and 4.2), so
    every interval and certificate of the model applies to its non-empty bins. Equal scores share a bin, so that ties need
    no keys. One pass over the rows, in one thread: time O(n), extra memory O(n_bins).

    Examples
    --------
    >>> import fastbin as fb
    >>> cal = fb.FixedWidthBinning(n_bins=4).fit([0.1, 0.2, 0.25, 0.7, 0.8, 0.9, 1.0], [0, 0, 1, 1, 1, 0, 1])
    >>> cal.model_.edges, cal.model_.counts, cal.empty_bins_
    (array([0.25, 0.5 , 0.75]), array([2, 1, 1, 3]), array([], dtype=int64))
    >>> cal.predict([0.0, 0.3, 1.0]).round(4)
    array([0.    , 1.    , 0.6667])
    """

    n_bins: int | str = 10
    _: KW_ONLY
    scaler: Any = None
    monotone: bool = False
    sampling_rate: float = 1.0

    def _edges(self, n_samples: int, score_range: ScoreRange) -> tuple[Float64s, dict[str, Any]]:
        n_bins = resolve_n_bins(check_n_bins(self.n_bins), n_samples)
        origin: dict[str, Any] = {"scheme": "fixed-width", "n_bins_asked": n_bins}
        if self.scaler is None:
            if score_range is None:
                raise InputError("score_range is None; bins of equal width need a finite range (low, high) to divide")
            edges = even_edges(n_bins, *score_range)
        else:
            from fastbin.scaling.maps import fitted_scaler

            map_model = fitted_scaler(self.scaler, score_range)
            edges = pull_back(map_model, even_edges(n_bins), limits_of(score_range))
            origin["map"], origin["map_parameters"] = map_model.map
            origin["clip"], origin["knots"] = map_model.clip, map_model.knots
        low, _ = limits_of(score_range)
        edges = np.unique(edges)
        return edges[edges > low], origin


def even_edges(n_bins: int, low: float = 0.0, high: float = 1.0) -> Float64s:
    """float64 (n_bins - 1,): the doubles nearest to low + (high - low) i / n_bins, for i = 1 ... n_bins - 1."""
    if (low, high) == (0.0, 1.0):
        return np.arange(1, n_bins) / n_bins
    # In integers over a common denominator; Python's division of integers is correctly rounded.
    (low_top, low_under), (high_top, high_under) = low.as_integer_ratio(), high.as_integer_ratio()
    under = max(low_under, high_under)  # both are powers of two
    base = low_top * (under // low_under)
    span = high_top * (under // high_under) - base
    return np.array([(base * n_bins + span * i) / (under * n_bins) for i in range(1, n_bins)])


def pull_back(map_model: BinnedModel, edges: Float64s, limits: tuple[float, float]) -> Float64s:
    """For each edge on the scaled line, the least score whose scaled score reaches it.

    Found by bisection over the doubles between the limits, with the map as the C library evaluates it, so that a score lies
    above a pulled-back edge exactly when its scaled score lies above the edge (but for rounding, where the computed map does
    not rise from one double to the next). Edges that no score within the limits reaches are left out; equal ones stay. At most
    64 evaluations of the map per edge.
    """
    low, high = codes_of(np.array(limits)).tolist()
    edges = edges[edges <= map_model.predict_one(limits[1])]
    below, reaching = np.full(len(edges), low, np.int64), np.full(len(edges), high, np.int64)
    while (below < reaching).any():
        # The mean of two codes, rounded down, without their sum, which may not fit.
        middle = (below & reaching) + ((below ^ reaching) >> 1)
        reaches = map_model.predict(scores_of(middle)) >= edges
        reaching = np.where(reaches, middle, reaching)
        below = np.where(reaches, below, middle + 1)
    return scores_of(reaching)
