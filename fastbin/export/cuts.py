"""The edges at which one output changes, for rows that have an answer: what SQL compares, and nothing it need not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Float64s, UInt64s
from fastbin.export.steps import Steps


class EdgeCuts(NamedTuple):
    """The entry of the column at a row is the number of edges that lie at or below it.

    Without keys, which are all 0 then, edge i does so where ``s >= edges[i]``; with keys, where ``s > edges[i]``, or
    ``s == edges[i]`` and ``k >= keys[i]``. All rows that have an answer lie in [low, high], or are moved there; no edge lies
    outside, and those that all rows reach are left out.
    """

    edges: Float64s  # (E,), ascending
    keys: UInt64s  # (E,), ascending where edges are equal
    column: Array  # (E + 1,), no entry equal to the next
    low: float
    high: float


def cuts_of(steps: Steps, output: str) -> EdgeCuts:
    """The cuts of one output."""
    edges, keys, column = steps.edges, steps.edge_keys, steps.columns[output]
    low, high = steps.clip or (steps.low, steps.high)
    reached = int(np.count_nonzero((edges < low) | ((edges == low) & (keys == 0))))
    end = len(edges) - int(np.count_nonzero(edges > high))
    edges, keys, column = edges[reached:end], keys[reached:end], column[reached : end + 1]
    # Two edges can have become one: no row lies between them.
    last = np.append((edges[1:] != edges[:-1]) | (keys[1:] != keys[:-1]), True)[: len(edges)]
    edges, keys, column = edges[last], keys[last], np.append(column[:1], column[1:][last])
    changes = column[1:] != column[:-1]
    return EdgeCuts(edges[changes], keys[changes], np.append(column[:1], column[1:][changes]), low, high)
