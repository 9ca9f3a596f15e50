"""The fingerprint of a fit, from what it has counted anyway."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fastbin._fingerprint import EdgeCounts, edge_scores, fingerprint_of
from fastbin._fit.sorting import BoundaryGroups
from fastbin._validation import ScoreRange

__all__ = ["fit_fingerprint", "tally_fingerprint"]


def fit_fingerprint(edges: npt.NDArray[np.float64], ties: str, score_range: ScoreRange, groups: BoundaryGroups) -> int:
    """The fingerprint of a model whose boundaries are ranks: what `rows_fingerprint` gives for its rows.

    Parameters
    ----------
    edges, ties, score_range
        Of the model.
    groups : BoundaryGroups
        Of all rows of the fit, with every score that holds a boundary.

    Returns
    -------
    int
        In [1, 2**64); 0 where the model has no edge. It depends on neither the seed nor importance weights. O(n_bins) time.
    """
    if ties != "isolate" and len(edges) == len(groups.score) and bool((edges == groups.score).all()):
        # The usual case, told from others because small fits would notice. A group that is listed twice counts once.
        return fingerprint_of(EdgeCounts(*groups))
    held = edge_scores(edges, ties, score_range)
    at = np.searchsorted(groups.score, held)
    below, equal = (groups.below[at], groups.below_ones[at]), (groups.equal[at], groups.equal_ones[at])
    return fingerprint_of(EdgeCounts(held, *below, *equal, groups.n_samples, groups.n_positive))


def tally_fingerprint(edges: npt.NDArray[np.float64], counts: npt.NDArray[np.int64], label_sums: npt.NDArray[np.int64]) -> int:
    """The same for edges that were fixed before the rows were seen, have every tied score above them, and differ."""
    below, below_ones, unknown = np.cumsum(counts), np.cumsum(label_sums), np.zeros(len(edges), np.int64)
    known = EdgeCounts(edges + 0.0, below[:-1], below_ones[:-1], unknown, unknown, int(below[-1]), int(below_ones[-1]))
    return fingerprint_of(known)
