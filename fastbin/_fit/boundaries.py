"""The boundary samples of uniform mass, among rows in memory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fastbin._fit.cuts import Cuts, TieKeys, order_cuts
from fastbin._fit.order import FitOrder, boundary_ranks
from fastbin._fit.quantiles import boundary_groups
from fastbin._fit.rows import Rows

__all__ = ["cut_rows"]


def cut_rows(rows: Rows, n_bins: int, scheme: str, order: FitOrder, n_threads: int = 1) -> Cuts:
    """The samples at the ranks of scheme "umd", "ze" or "umb", of all rows in their order. Time O(n)."""
    wanted: list[npt.NDArray[np.int64]] = []

    def ranks_of(n_samples: int) -> npt.NDArray[np.int64]:
        wanted.append(boundary_ranks(n_samples, n_bins, scheme))
        return wanted[-1]

    groups = boundary_groups(rows, ranks_of, n_bins - 1, n_threads)
    tie_keys = None
    if order.keys is not None:
        tie_keys = TieKeys(rows.scores, rows.labels, order.keys).gather(groups.score)
    return order_cuts(groups, wanted[-1], order.seed, tie_keys)
