"""Counts by bin as a stream: for outcomes that were counted elsewhere, as by GROUP BY, and whose order is not known."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s, Int64s, UInt64s
from fastbin._base.checks import refuse_first
from fastbin.model import BinnedModel

# Of a row that no key decides about; no id looks like it.
ANY_KEY = np.uint64(2**63)


def row_of_each_bin(partition: BinnedModel) -> tuple[Float64s, UInt64s]:
    """A score and a key in each bin, away from edges that split ties where there is room; any, in a bin that holds no score."""
    low = partition.bin_edges[:1] if partition.score_range is None else np.array(partition.score_range[:1])
    with np.errstate(over="ignore"):
        above = np.nextafter(partition.bin_edges, np.inf)
        if partition.score_range is None:
            low = np.nextafter(low, -np.inf) if len(low) else np.zeros(1)
        else:
            above = np.minimum(above, partition.score_range[1])
    scores = np.append(low, np.where(np.isfinite(above), above, partition.bin_edges))
    keys = np.full(len(scores), ANY_KEY)
    tied = partition.assign(scores, keys=keys) != np.arange(len(scores))
    scores[1:][tied[1:]], keys[1:][tied[1:]] = partition.bin_edges[tied[1:]], partition.bin_edge_keys[tied[1:]]
    keys[:1][tied[:1]] = 0
    return scores, keys


def add_counts(stream: Any, counts: Int64s, label_sums: Int64s) -> None:
    """Count so many samples of each bin and label in a stream that is empty.

    A sum of powers of two: the stream is doubled, by merging it with itself, and the samples of the next binary digit are
    counted. O(n_bins) for each of at most 53 digits.
    """
    partition = stream.partition
    scores, keys = row_of_each_bin(partition)
    placed = partition.assign(scores, keys=keys) == np.arange(len(scores))
    bad = ~placed & (counts > 0)
    refuse_first(bad, "counts", counts, problem=lambda b: f"is {counts[b]}, and no score lies in bin {b}")
    table = np.stack([counts - label_sums, label_sums])
    for digit in reversed(range(int(table.max(initial=0)).bit_length())):
        if stream.n_samples:
            stream.merge(type(stream).from_bytes(stream.to_bytes()))
        label, bins = np.nonzero((table >> digit) & 1)
        stream.update(scores[bins], label.astype(np.uint8), keys=keys[bins] if partition.needs_key else None)
