"""Kernels that never change: the yardstick of the gate.

Times of the library's kernels are divided by times of these in the same process, so that a slow machine, or a slow minute,
moves both. An edit here invalidates every committed ratio.
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit("int64(float64[::1], uint16[::1], float64[::1], float64[::1], float64[::1])", nogil=True, cache=True)
def frozen_search(scores, first, edges, values, out):
    """Scores in [0, 1): the rank at which an even cell begins, then one edge after the other. Ends at an edge of infinity."""
    for i in range(scores.size):
        rank = np.uint64(first[np.uint64(scores[i] * first.size)])
        while edges[rank] <= scores[i]:
            rank += np.uint64(1)
        out[i] = values[rank]
    return 0


def frozen_first(edges):
    """What `frozen_search` takes as `first`: for each of 4096 even cells the rank at which it begins."""
    return np.searchsorted(edges, np.arange(4096) / 4096).astype(np.uint16)


@numba.njit("int64(float64[::1], uint8[::1], int64[::1])", nogil=True, cache=True)
def frozen_count(scores, labels, table):
    """A histogram of 1024 even cells by label."""
    for i in range(scores.size):
        table[2 * int(scores[i] * 1023.0) + labels[i]] += 1
    return np.int64(0)
