"""Edges on a scaled line, taken back through the map to the line of the scores."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fastbin._fit.histogram import codes_of, scores_of
from fastbin.model import BinnedModel

__all__ = ["pull_back"]

Float64s = npt.NDArray[np.float64]


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
