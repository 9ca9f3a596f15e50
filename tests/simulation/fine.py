"""The bound on fine values over coarse evidence, for many samples at once, in NumPy and SciPy alone.

`reference.two_resolutions` states what this computes. Columns are the ranks of the fine edges among all samples, which n and
the number of bins alone decide, so all repetitions have the same; a mask tells where a rank gives an edge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv
from simulation.laws import Array, Integers, Law
from simulation.whole import Fits, blocks, clopper_pearson, fit, groups_of, hull, level_of, ranks_of

from reference.two_resolutions import SHARE, fine_ranks

Bools = npt.NDArray[np.bool_]
STEPS = (0.1, 0.3, 0.6)


@dataclass
class Edges:
    """Fine edges of many fits, arrays of shape (repetitions, ranks), and what belongs to bins, (repetitions, n_bins asked)."""

    fits: Fits
    is_edge: Bools
    is_cut: Bools  # ranks of evidence edges
    first_steps: Integers  # of the bins
    bin: Integers  # -1 where no bin has the rank as a candidate
    below: Integers  # samples under the group at the rank
    scores: Array
    share: Array  # the true share of the bin that lies below
    seen: Array  # and that of its samples
    low: Array
    high: Array
    interval: tuple[Array, Array]  # of the rates
    centre: Array  # the mean label without the sample at the edge

    def of_bin(self, of_bins: Array) -> Array:
        """For each rank what its bin has."""
        return np.take_along_axis(of_bins, np.maximum(self.bin, 0), axis=1)


def edges_of(
    law: Law,
    scores: Array,
    labels: Bools,
    n_bins: int,
    rng: np.random.Generator,
    *,
    labelled: Bools | None = None,
    lower: str = "candidate",
) -> Edges:
    """Fit "umd" and bound the edges, at alpha = .1. `labelled`: which rows have a label, where not all have.

    `lower`: where the lower bound of an edge that may be tied is from. "candidate": the largest candidate below it; "rank":
    the sample before the largest candidate that is not above it; "own": its own rank, which is wrong.
    """
    repetitions, n = scores.shape
    fits = fit(law, scores, labels, n_bins, "umd", rng.integers(2**64, size=repetitions, dtype=np.uint64))
    ranks = np.array(fine_ranks(n, n_bins))
    # Tied or not is decided over all candidates at once.
    group, size = groups_of(scores)
    fits.tied |= (size[:, ranks - 1] > 1).any(axis=1)
    plain = ~fits.tied[:, None]
    start, sure = np.cumsum(fits.T, axis=1) - fits.T, np.where(fits.is_rest, 0, fits.r)
    first = start + sure  # the rank of the bin's own edge
    of_bin = np.full((repetitions, len(ranks)), -1)
    for b in range(n_bins):
        inside = (ranks > first[:, b : b + 1]) & (ranks <= (start + fits.T)[:, b : b + 1]) & fits.is_there[:, b : b + 1]
        of_bin[inside] = b
    candidates = np.stack([(of_bin == b).sum(axis=1) for b in range(n_bins)], axis=1)
    at = np.maximum(of_bin, 0)

    def mine(of_bins: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        return np.take_along_axis(of_bins, at, axis=1)

    below = group[:, ranks - 1].astype(np.int64)
    is_edge = (of_bin >= 0) & (below > mine(start))
    is_edge[:, 1:] &= (below[:, 1:] != below[:, :-1]) | (of_bin[:, 1:] != of_bin[:, :-1])
    under = np.broadcast_to(ranks, below.shape) if lower == "own" else _under(ranks, below, mine(first), lower)
    if lower == "candidate":
        under = np.where(plain, ranks, under)

    # Without ties the sample at the edge of the bin is left out, and the others are draws from the bin.
    left_out = np.where(plain, fits.r, 0)
    T, r, from_ = (mine(part) for part in (fits.T - left_out, sure - left_out, start + left_out))
    levels = level_of(fits, 0.1, "conditional")
    gamma = SHARE * levels / np.maximum(candidates, 1)
    shares = np.where(candidates > 0, SHARE, 0.0)
    rows = slice(None) if fits.tied.any() else slice(1)  # without ties all repetitions have the same bounds
    arguments = (part[rows] for part in (is_edge, under - from_, ranks - from_, T, r, mine(gamma)))
    low, high = (np.broadcast_to(limit, below.shape) for limit in _bounds(*arguments))
    share = (scores[:, ranks - 1] - mine(fits.lowest)) / mine(np.where(fits.masses > 0, fits.masses, 1.0))
    centre = fits.values
    if labelled is None:
        interval = hull(fits, (1.0 - shares) * levels)
    else:
        x, count = _inside(fits, labels, labelled)
        interval = clopper_pearson(x, count, (1.0 - shares) * levels)
        centre = x / np.maximum(count, 1)
    seen = (below - from_) / np.maximum(T, 1)
    columns, is_cut = np.searchsorted(ranks, np.array(ranks_of(n, n_bins, "umd"), np.int64)), np.zeros_like(is_edge)
    is_cut[:, columns] = fits.is_there[:, 1:]
    first_steps = np.concatenate([[0], columns + 1])
    return Edges(
        fits, is_edge, is_cut, first_steps, of_bin, below, scores[:, ranks - 1], share, seen, low, high, interval, centre
    )


def _under(ranks: Integers, below: Integers, first: Integers, lower: str) -> Integers:
    """For each group at a rank a sample of the same bin, above rank `first`, that lies below the group; 0 if none is known."""
    step = int(lower == "rank")
    largest = np.concatenate([[0], ranks])[np.searchsorted(ranks, below + step, side="right")]
    return np.where(largest > first, largest - step, 0)


def _inside(fits: Fits, labels: Bools, labelled: Bools) -> tuple[Integers, Integers]:
    """Label sums and counts of the labelled samples strictly between the edges; for scores without ties."""
    ends = np.cumsum(fits.T, axis=1)
    tallies = []
    for rows in (labels & labelled, labelled):
        sums = np.zeros((rows.shape[0], rows.shape[1] + 1), np.int64)
        np.cumsum(rows, axis=1, out=sums[:, 1:])
        tallies.append(np.take_along_axis(sums, ends, 1) - np.take_along_axis(sums, ends - fits.T + fits.r, 1))
    return tallies[0], tallies[1]


def _bounds(is_edge: Bools, lower: Integers, rank: Integers, T: Integers, r: Integers, gamma: Array) -> tuple[Array, Array]:
    """[lo, hi] of each edge; equal arguments, of which there are many, are computed once."""
    low, high = np.zeros(is_edge.shape), np.ones(is_edge.shape)
    gammas, which = np.unique(gamma[is_edge], return_inverse=True)
    lower, rank, T, r = (np.maximum(part[is_edge], 0) for part in (lower, rank, T, r))
    low[is_edge] = _quantiles(np.maximum(lower - r, 0), T - r, which, gammas / 2.0)
    high[is_edge] = _quantiles(rank, T, which, 1.0 - gammas / 2.0)
    return low, high


def _quantiles(place: Integers, n: Integers, which: Integers, levels: Array) -> Array:
    """Quantiles of order statistic number `place` of n uniform numbers, each at one of the levels; 0 for place 0."""
    once, back = np.unique((which << 40) | (place << 20) | n, return_inverse=True)
    places, sizes = (once >> 20) & 0xFFFFF, once & 0xFFFFF
    known = places > 0
    found = betaincinv(np.maximum(places, 1), np.maximum(sizes + 1.0 - places, 1.0), levels[once >> 40])
    return np.where(known, found, 0.0)[back]


def missed(edges: Edges) -> Bools:
    """Repetitions in which some edge or some rate is outside its bounds: without this NO values can break the promise."""
    outside = edges.is_edge & ((edges.share < edges.low) | (edges.share > edges.high))
    low, high = edges.interval
    wrong = edges.fits.is_there & ((edges.fits.rates < low) | (edges.fits.rates > high))
    return outside.any(axis=1) | wrong.any(axis=1)


# ------------------------------------------------------------------------------------------------- values


def single_steps(edges: Edges, size: float) -> tuple[Bools, Bools]:
    """Against whoever knows the truth: centre + one step up or down by `size`, at the worst edge of all, centred on the rows.

    Whether the promise fails, and whether one by the interval of the rate alone would.
    """
    rates, centre = edges.of_bin(edges.fits.rates), edges.of_bin(edges.centre)
    low, high = (edges.of_bin(limit) for limit in edges.interval)
    fails, fails_alone = np.zeros(len(rates), np.bool_), np.zeros(len(rates), np.bool_)
    alone = np.maximum(high - centre, centre - low)
    for step in (size, -size):
        top = centre + step * edges.seen  # the value above the edge
        mean = top - step * edges.share
        ends = top - step * edges.low, top - step * edges.high
        epsilon = np.maximum(high - np.minimum(*ends), np.maximum(*ends) - low)
        error = np.abs(rates - mean)
        fails |= (edges.is_edge & (error > epsilon)).any(axis=1)
        fails_alone |= (edges.is_edge & (error > alone)).any(axis=1)
    return fails, fails_alone


# From the number of label 1 in a step, its number of samples, its lowest score, and the centre of its bin.
Map = Callable[[Array, Array, Array, Array], Array]


def step_means(ones: Array, count: Array, score: Array, centre: Array) -> Array:
    """With one sample of the centre added."""
    return (ones + centre) / (count + 1.0)


def running_maximum(ones: Array, count: Array, score: Array, centre: Array) -> Array:
    """The running maximum of the means of the steps."""
    return np.maximum.accumulate(step_means(ones, count, score, centre), axis=1)


def line(ones: Array, count: Array, score: Array, centre: Array) -> Array:
    """Least squares of the labels on the score."""
    n = count.sum(axis=1, keepdims=True)
    means = (count * score).sum(axis=1, keepdims=True) / n, ones.sum(axis=1, keepdims=True) / n
    slope = ((ones - count * means[1]) * (score - means[0])).sum(axis=1, keepdims=True)
    spread = (count * (score - means[0]) ** 2).sum(axis=1, keepdims=True)
    return np.clip(means[1] + slope / np.maximum(spread, 1e-12) * (score - means[0]), 0.0, 1.0)


# And whether the mean of the samples of each bin is moved to its centre.
MAPS: dict[str, tuple[Map, bool]] = {
    "step means": (step_means, False),
    "running maximum": (running_maximum, False),
    "running maximum, recentred": (running_maximum, True),
    "line, recentred": (line, True),
}


def served(edges: Edges, labels: Bools, of: Map, recentred: bool) -> tuple[Array, Array]:
    """Epsilon and error of each bin that is there, 0 elsewhere, for values that a map makes of the steps.

    Step j + 1 begins at rank number j; where that gives no edge the step is empty, and has the value of the next one.
    """
    fits, n = edges.fits, labels.shape[1]
    start = np.cumsum(fits.T, axis=1) - fits.T
    begins = np.maximum.accumulate(np.where(edges.is_edge | edges.is_cut, edges.below, 0), axis=1)
    begins = np.concatenate([np.zeros_like(begins[:, :1]), begins], axis=1)
    ends = np.concatenate([begins[:, 1:], np.full_like(begins[:, :1], n)], axis=1)
    sums = np.zeros((len(labels), n + 1), np.int64)
    np.cumsum(labels, axis=1, out=sums[:, 1:])
    lowest = np.maximum.accumulate(np.where(edges.is_edge | edges.is_cut, edges.scores, 0.0), axis=1)
    lowest = np.concatenate([np.zeros_like(lowest[:, :1]), lowest], axis=1)
    bins = np.zeros(begins.shape, np.int64)
    for b in range(1, start.shape[1]):
        bins[fits.is_there[:, b : b + 1] & (begins >= start[:, b : b + 1])] = b

    count = ends - begins
    ones = np.take_along_axis(sums, ends, axis=1) - np.take_along_axis(sums, begins, axis=1)
    values = of(ones, count, lowest, np.take_along_axis(edges.centre, bins, axis=1))
    full = np.where(count > 0, np.arange(count.shape[1]), count.shape[1] - 1)
    full = np.minimum.accumulate(full[:, ::-1], axis=1)[:, ::-1]
    values = np.take_along_axis(values, full, axis=1)

    steps = np.where(edges.is_edge, np.diff(values, axis=1), 0.0)
    parts = (
        steps,
        steps * edges.share,
        np.maximum(steps * edges.low, steps * edges.high),
        np.minimum(steps * edges.low, steps * edges.high),
    )
    total, share, most, least = (_per_bin(part, edges.bin, edges.is_edge, start.shape[1]) for part in parts)
    last = values[:, edges.first_steps] + total
    if recentred:  # so that the samples of each bin have its centre as their mean
        sums_of_values = _per_bin(count * values, bins, count > 0, start.shape[1])
        last = last + edges.centre - sums_of_values / np.maximum(fits.T, 1)
    low, high = edges.interval
    # Moved values may leave [0, 1], which then does not bound their mean.
    within = (-np.inf, np.inf) if recentred else (0.0, 1.0)
    epsilon = np.maximum(high - np.clip(last - most, *within), np.clip(last - least, *within) - low)
    return np.where(fits.is_there, epsilon, 0.0), np.where(fits.is_there, np.abs(fits.rates - (last - share)), 0.0)


def _per_bin(part: Array, bins: Integers, counts: Bools, n_bins: int) -> Array:
    """Sums over the bins of each repetition, of what counts."""
    rows, _ = np.nonzero(counts)
    sums = np.bincount(rows * n_bins + bins[counts], weights=part[counts], minlength=len(part) * n_bins)
    return sums.reshape(-1, n_bins)


def of_samples(
    law: Law, n: int, n_bins: int, repetitions: int, rng: np.random.Generator, *, unlabelled: int = 0, lower: str = "candidate"
) -> Iterator[tuple[Edges, Bools]]:
    """Blocks of fits to samples of n labels and so many scores without, with the labels."""
    for size in blocks(repetitions, 4 * (n + unlabelled)):
        scores, labels = law.draw(rng, (size, n + unlabelled))
        labelled = None
        if unlabelled:
            labelled = rng.permuted(np.broadcast_to(np.arange(n + unlabelled) < n, scores.shape), axis=1)
        yield edges_of(law, scores, labels, n_bins, rng, labelled=labelled, lower=lower), labels
