"""Fixed-width binning: bins of equal width, wherever the samples lie."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.checks import ScoreRange, check_n_bins
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError
from fastbin._fit.calibrator import PARAMETERS
from fastbin._fit.edges import resolve_n_bins
from fastbin._fit.histogram import codes_of, scores_of
from fastbin._fit.rows import limits_of
from fastbin.binning.explicit import FixedEdges
from fastbin.model import BinnedModel
from fastbin.scaling.maps import fitted_scaler


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

    def _edges(self, n_samples: int, score_range: ScoreRange) -> tuple[Float64s, dict[str, Any]]:
        n_bins = resolve_n_bins(check_n_bins(self.n_bins), n_samples)
        origin: dict[str, Any] = {"scheme": "fixed-width", "n_bins_asked": n_bins}
        if self.scaler is None:
            if score_range is None:
                raise InputError("score_range is None; bins of equal width need a finite range (low, high) to divide")
            edges = even_edges(n_bins, *score_range)
        else:
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
    not rise from one double to the next). Edges that no score within the limits reaches are left out.

    Parameters
    ----------
    map_model : BinnedModel
        Of kind "smooth" and increasing.
    edges : float64, ascending
    limits : (low, high)
        Finite, within the map's score range.

    Returns
    -------
    float64, ascending, may hold equal entries
        At most as many as `edges`. An entry equal to the low limit has every score above it.

    Notes
    -----
    At most 64 evaluations of the map per edge.
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
