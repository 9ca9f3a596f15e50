"""Fixed-width binning: bins of equal width, wherever the samples lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fastbin._errors import InputError
from fastbin._fit.pull_back import pull_back
from fastbin._fit.recipe import check_n_bins
from fastbin._fit.rows import Rows
from fastbin.binning.explicit import FixedEdges
from fastbin.scaling.maps import fitted_scaler

__all__ = ["FixedWidthBinning", "even_edges"]


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
    monotone : bool
        Whether values are made non-decreasing at the least cost to the certificate; see `monotone_model`.
    score_range : (low, high)
        Where scores must lie. Without a scaler the bins divide it; with one, it is the scaler's.
    out_of_range : {"refuse", "clip"}
        What a finite score outside `score_range` does when it is scored: an error, or the value of the end of the range next
        to it. It is part of the model. In a fit such scores are refused in any case.

    Attributes
    ----------
    model_ : BinnedModel
    empty_bins_ : ndarray of int64
        Bins without samples: value 0.5, interval [0, 1], and no part in any guarantee. `fit` warns and names them.

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

    def __init__(
        self,
        n_bins: int | str = 10,
        *,
        scaler: Any = None,
        monotone: bool = False,
        score_range: tuple[float, float] | None = (0.0, 1.0),
        out_of_range: str = "refuse",
    ) -> None:
        self.n_bins = n_bins
        self.scaler = scaler
        self.monotone = monotone
        self.score_range = score_range
        self.out_of_range = out_of_range

    def _edges(self, rows: Rows) -> tuple[npt.NDArray[np.float64], dict[str, Any]]:
        n_bins = check_n_bins(self.n_bins, rows.expanded_size())
        origin: dict[str, Any] = {"scheme": "fixed-width", "n_bins_asked": n_bins}
        if self.scaler is None:
            if rows.score_range is None:
                raise InputError("score_range is None; bins of equal width need a finite range (low, high) to divide")
            edges = even_edges(n_bins, *rows.score_range)
        else:
            map_model = fitted_scaler(self.scaler, rows.score_range)
            edges = pull_back(map_model, even_edges(n_bins), rows.limits)
            origin["map"], origin["map_parameters"] = map_model.map
        low, _ = rows.limits
        edges = np.unique(edges)
        return edges[edges > low], origin


def even_edges(n_bins: int, low: float = 0.0, high: float = 1.0) -> npt.NDArray[np.float64]:
    """float64 (n_bins - 1,): the doubles nearest to low + (high - low) i / n_bins, for i = 1 ... n_bins - 1."""
    if (low, high) == (0.0, 1.0):
        return np.arange(1, n_bins) / n_bins
    # In integers over a common denominator; Python's division of integers is correctly rounded.
    (low_top, low_under), (high_top, high_under) = low.as_integer_ratio(), high.as_integer_ratio()
    under = max(low_under, high_under)  # both are powers of two
    base = low_top * (under // low_under)
    span = high_top * (under // high_under) - base
    return np.array([(base * n_bins + span * i) / (under * n_bins) for i in range(1, n_bins)])
