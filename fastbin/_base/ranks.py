"""The ranks at which bins and steps are cut: functions of numbers alone, so that they cost no guarantee."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s, Int64s

# Steps of a two-resolution model, in all. Fewer and longer ones, 50 a bin of at least 4 samples, narrow the certificate by 2 %,
# and cost .6 % of Brier score on average and up to 14 % where scores change within few samples (bench/calarena).
MOST_STEPS = 1000
# Where every score of a small sample has a step of its own, steps also begin at so many places.
FINE_PLACES = 193
FEW_BINS = 32
# Fits to fewer samples keep no slices: from here on there are two samples in each, and one at each cut.
FEWEST_FOR_SLICES = 20
# Nor do fits to more: the order of so many equal scores takes long to draw, and the bound of moments in
# `guarantees.rising` needs slices of less than 3.6e6 samples.
MOST_FOR_SLICES = 3_000_000_000
MOST_SLICES = 1000

# What "ums" makes equal in all bins, and the share of the samples that places the boundaries where none is given. The sums of a
# tenth are near those of all, and rare events leave none to spare: the more rows are averaged, the better.
CUTS = {"equal-mass": 0.5, "expected-positives": 0.1}


def boundary_ranks(n: int, n_bins: int, scheme: str) -> Int64s:
    """The ranks, from 1, of the n_bins - 1 boundary samples among n, in exact integers. Not to be written to.

    "umd" and "ze": ceil(b (n + 1) / B) (Gupta & Ramdas 2021, Algorithm 1); "ums", for n samples of the part that places the
    boundaries: ceil(b n / B); "umb": floor(b n / B) (Sun, Song & Hero 2023, Definition 6).
    """
    return (_kept_ranks if n_bins <= MOST_SLICES else _find_ranks)(n, n_bins, scheme)


def _find_ranks(n: int, n_bins: int, scheme: str) -> Int64s:
    # Below 2**31 the products fit into 63 bits for every allowed number of bins; beyond, and faster for few, Python's integers.
    if n < 2**31 and n_bins > FEW_BINS:
        ranks = np.asarray(_ranks(np.arange(1, n_bins, dtype=np.int64), n, n_bins, scheme))
    else:
        ranks = np.array([_ranks(b, n, n_bins, scheme) for b in range(1, n_bins)], np.int64)
    ranks.flags.writeable = False
    return ranks


_kept_ranks = lru_cache(maxsize=32)(_find_ranks)  # segments, folds and repeated fits are of few sizes


def _ranks(b: Any, n: Any, n_bins: Any, scheme: str) -> Any:
    return b * n // n_bins if scheme == "umb" else -(-b * (n if scheme == "ums" else n + 1) // n_bins)


def ranks_of_sums(sums: Float64s, n_bins: int) -> Int64s:
    """The ranks, from 1, of the n_bins - 1 samples between bins of equal sums; `sums` are the running ones of ascending scores.

    Boundary b is the first sample at which the running sum reaches b / n_bins of the whole.
    """
    return np.searchsorted(sums, np.arange(1, n_bins) / n_bins * sums[-1]) + 1


def boundary_ranks_of_runs(n: Int64s, n_bins: Int64s, scheme: str) -> tuple[Int64s, Int64s]:
    """The same for runs of `n` samples each, less than 2**38: all ranks, and where those of each run begin, and the end."""
    first = np.append(0, np.cumsum(n_bins - 1))
    run = np.repeat(np.arange(len(n)), n_bins - 1)
    b = np.arange(len(run)) - first[run] + 1
    return _ranks(b, n[run], n_bins[run], scheme), first


def n_slices(n: int) -> int:
    """How many slices of equal mass carry the evidence about a truth that rises: ceil(2.4 n**(1/3)), in exact integers.

    At most 1,000; 0 below 20 samples, and beyond 3e9. The bound on the mean error is flat around it (fastbin, Theorem F17).
    """
    if not FEWEST_FOR_SLICES <= n <= MOST_FOR_SLICES:
        return 0
    slices = math.ceil(2.4 * n ** (1 / 3))
    while 125 * slices**3 < 1728 * n:
        slices += 1
    while 125 * (slices - 1) ** 3 >= 1728 * n:
        slices -= 1
    return min(slices, MOST_SLICES)


@lru_cache(maxsize=32)
def slice_ranks(n: int) -> Int64s:
    """The ranks, from 1, of the samples that cut n samples into slices. Not to be written to."""
    return boundary_ranks(n, n_slices(n), "umd")


def slice_ranks_of_runs(n: Int64s) -> tuple[Int64s, Int64s]:
    """The same for runs of `n` samples each: all ranks, and where those of each run begin, and the end."""
    sizes, run = np.unique(n, return_inverse=True)
    ranks = [slice_ranks(size) for size in sizes.tolist()]
    first = np.append(0, np.cumsum(np.array([len(each) for each in ranks], np.int64)[run]))
    return np.concatenate([ranks[at] for at in run.tolist()]), first


def has_fine_steps(n: int, n_bins: int) -> bool:
    """Whether n samples are so few that every score gets a step of its own.

    The middles between their scores, the places and the edges of bins begin n - 1 + 193 + n_bins - 1 steps at most, and one
    step lies below all: at most `MOST_STEPS`. Sizes alone decide, so that all kinds of sources agree.
    """
    return n + FINE_PLACES + n_bins - 1 <= MOST_STEPS
