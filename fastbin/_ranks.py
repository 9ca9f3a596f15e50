"""The ranks at which bins and steps are cut: functions of numbers alone, so that they cost no guarantee."""

from __future__ import annotations

import numpy as np

from fastbin._typing import Int64s

# Steps of a two-resolution model: at most so many in all and in one bin, each of at least so many samples.
MOST_STEPS, MOST_STEPS_OF_A_BIN, LEAST_SAMPLES_OF_A_STEP = 1000, 50, 4


def boundary_ranks(n: int, n_bins: int, scheme: str) -> Int64s:
    """The ranks, from 1, of the n_bins - 1 boundary samples among n, in exact integers.

    "umd" and "ze": ceil(b (n + 1) / B) (Gupta & Ramdas 2021, Algorithm 1); "ums", for n samples of the part that places the
    boundaries: ceil(b n / B); "umb": floor(b n / B) (Sun, Song & Hero 2023, Definition 6).
    """
    # Below 2**31 the products fit into 63 bits for every allowed number of bins; beyond, Python's integers do.
    b = np.arange(1, n_bins, dtype=np.int64 if n < 2**31 else object)
    ranks = b * n // n_bins if scheme == "umb" else -(-b * (n if scheme == "ums" else n + 1) // n_bins)
    return ranks.astype(np.int64, copy=False)


def step_ranks(n: int, n_bins: int) -> Int64s:
    """The ranks, from 1, ascending, of the samples that cut n samples into the steps of a two-resolution model.

    Among them are all ranks of `boundary_ranks` for "umd". Between two of these, and before and after them, the samples are cut
    into m steps of nearly equal size: the j-th begins at position floor(j N / m) of N, from 0, the lower boundary sample
    included. m = max(1, min(1000 div B, 50, samples strictly between the boundaries div 4)).
    """
    starts = np.concatenate([[0], boundary_ranks(n, n_bins, "umd") - 1])  # positions, from 0
    ends = np.append(starts[1:], n)
    inside = ends - starts - (np.arange(n_bins) > 0)
    steps = np.maximum(1, np.minimum(min(MOST_STEPS // n_bins, MOST_STEPS_OF_A_BIN), inside // LEAST_SAMPLES_OF_A_STEP))
    of_bin = np.repeat(np.arange(n_bins), steps)
    j = np.arange(len(of_bin)) - np.repeat(np.cumsum(steps) - steps, steps)
    positions = starts[of_bin] + (ends - starts)[of_bin] * j // steps[of_bin]
    return positions[1:] + 1
