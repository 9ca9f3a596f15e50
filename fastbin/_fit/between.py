"""What lies between given edges, from counts that add: two plans, and nobody sees a row.

The first one counts all samples, and has bad rows refused; the second asks about the intervals between the edges, each as one
cell. Both answers must agree on the totals.
"""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np

from fastbin._errors import InputError
from fastbin._fit.batches import weighted_rows
from fastbin._fit.partition import Partition
from fastbin._fit.quantiles import CHANGED, Plan, Source
from fastbin._fit.rows import limits_of
from fastbin._fit.tally import Tally, tally_rows


def count_all(source: Source) -> Tally:
    """All samples as those of one bin. One pass, at which bad rows are refused."""
    cells = source.answer(Plan.whole(source.limits, 1)).cells
    return Tally(cells.n_samples.sum(keepdims=True), cells.n_positive.sum(keepdims=True))


def tally_source(source: Source, partition: Partition, everything: Tally) -> Tally:
    """The tally of the bins of a partition.

    Parameters
    ----------
    source : Source
    partition : Partition
        Without keys: a score equal to an edge lies above it. Its range is that of the source; edges differ.
    everything : Tally
        What `count_all` gave.

    Notes
    -----
    One pass: time O(n log n_bins), memory O(n_bins).
    """
    weighted = weighted_rows(source)
    if weighted is not None:
        return reduce(add, (tally_rows(partition, rows) for rows in weighted()))
    least, greatest = limits_of(partition.score_range)
    edges = partition.edges + 0.0  # -0.0 becomes 0.0
    low, high = np.append(least, edges), np.append(np.nextafter(edges, -np.inf), greatest)
    n_bins = partition.n_bins
    cells = source.answer(Plan(low, high, np.ones(n_bins, np.int64), np.full(n_bins, everything.counts[0]))).cells
    tally = Tally.zero(n_bins)
    np.add.at(tally.counts, cells.interval, cells.n_samples)
    np.add.at(tally.label_sums, cells.interval, cells.n_positive)
    if tally.counts.sum() != everything.counts[0] or tally.label_sums.sum() != everything.label_sums[0]:
        raise InputError(CHANGED)
    return tally
