"""Kernels that never change: the yardstick of the gate.

Times of the library's kernels are divided by times of these in the same process, so that a slow machine, or a slow minute,
moves both. An edit here invalidates every committed ratio.
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit("int64(float64[::1], float64[::1], float64[::1], float64[::1])", nogil=True, cache=True)
def frozen_search(scores, edges, values, out):
    """A plain binary search per score."""
    for i in range(scores.size):
        low, high = 0, edges.size
        while low < high:
            middle = (low + high) >> 1
            if edges[middle] <= scores[i]:
                low = middle + 1
            else:
                high = middle
        out[i] = values[low]
    return 0


@numba.njit("int64(float64[::1], uint8[::1], int64[::1])", nogil=True, cache=True)
def frozen_count(scores, labels, table):
    """A histogram of 1024 even cells by label."""
    for i in range(scores.size):
        table[2 * int(scores[i] * 1023.0) + labels[i]] += 1
    return np.int64(0)
