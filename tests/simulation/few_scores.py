"""Fits of scores with few values at one seed, for many samples: how often a promise fails.

A sample of n rows over k equally likely scores is a multinomial of counts and a binomial of ones for each score, and the rate
of label 1 is the same for all scores. So the true rate of every bin is known whatever its keys are, and scheme "umd" needs
nothing of a sample but the groups that hold its boundaries. The cuts themselves are those of fastbin.

    cd tests; python -m simulation.few_scores        the figures in docs/guarantees.md, in some minutes
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.stats import binom
from simulation.failures import ALPHA

from fastbin._fit.edges import boundary_ranks, order_cuts, split_samples
from fastbin._fit.quantiles import Boundaries
from fastbin._fit.rows import Rows
from fastbin.intervals import clopper_pearson, sidak

N, N_BINS = 1000, 10
RATES = (0.5, 0.1, 0.01)
RANKS = boundary_ranks(N, N_BINS, "umd")

Integers = npt.NDArray[np.int64]


def scores_of(n_scores: int) -> npt.NDArray[np.float64]:
    """That many scores: 0.5 alone, or evenly spaced from 0 to 1."""
    return np.array([0.5]) if n_scores == 1 else np.linspace(0.0, 1.0, n_scores)


@cache
def covers(n_bins: int, rate: float, count: int) -> npt.NDArray[np.bool_]:
    """For each label sum from 0 to `count`: whether the simultaneous interval of a bin holds `rate`."""
    sums = np.arange(count + 1)
    low, high = clopper_pearson(sums, np.full(count + 1, count), sidak(ALPHA, n_bins)).T
    return (low <= rate) & (rate <= high)


def fails(counts: Iterable[int], label_sums: Iterable[int], rate: float) -> bool:
    """Whether some bin's interval, at alpha shared by Sidak among the bins with samples, misses the true rate."""
    filled = [(count, ones) for count, ones in zip(counts, label_sums, strict=True) if count > 0]
    return not all(covers(len(filled), rate, int(count))[ones] for count, ones in filled)


def tally_umd(counts: Integers, ones: Integers, seed: int) -> tuple[Integers, Integers]:
    """Counts and label sums of the bins of scheme "umd", from the rows of each score and those of them with label 1."""
    ends, ones_ends = np.cumsum(counts), np.cumsum(ones)
    at = np.searchsorted(ends, RANKS)
    columns = (ends - counts, ones_ends - ones, counts, ones)
    groups = Boundaries(scores_of(len(counts))[at], *(column[at] for column in columns), N, int(ones_ends[-1]), RANKS)
    _, ones_before, is_one = order_cuts(groups, seed)
    starts, ones_starts = np.append(0, RANKS), np.append(0, ones_before + is_one)
    return np.append(RANKS - 1, N) - starts, np.append(ones_before, groups.n_positive) - ones_starts


def tally_split(counts: Integers, ones: Integers, seed: int, scheme: str) -> tuple[Integers, Integers]:
    """The same for fits that split their samples: "ums", or the third part of "scaling-binning"."""
    scores = scores_of(len(counts)).repeat(counts)
    labels = np.concatenate([np.arange(count) < one for count, one in zip(counts, ones, strict=True)])
    rows = Rows(scores, labels, None, (0.0, 1.0))
    sizes = (len(scores) // 2,) if scheme == "ums" else (len(scores) // 3, len(scores) // 3)
    tally = split_samples(rows, seed, sizes).fit_bins(N_BINS, "random").tally
    return tally.counts, tally.label_sums


def tally(counts: Integers, ones: Integers, seed: int, scheme: str) -> tuple[Integers, Integers]:
    """Counts and label sums of the bins of one fit."""
    return tally_umd(counts, ones, seed) if scheme == "umd" else tally_split(counts, ones, seed, scheme)


def failure_rate(scheme: str, n_scores: int, rate: float, seed: int, repetitions: int) -> float:
    """The share of samples for which the simultaneous intervals fail, when all are fitted with this one seed."""
    # The samples have a seed of their own: fits with different seeds see the same ones.
    rng = np.random.default_rng([n_scores, round(1 / rate), len(scheme)])
    counts = rng.multinomial(N, np.full(n_scores, 1.0 / n_scores), repetitions)
    ones = rng.binomial(counts, rate)
    return float(np.mean([fails(*tally(*sample, seed, scheme), rate) for sample in zip(counts, ones, strict=True)]))


def failure_rate_of_one_score(scheme: str, rate: float, seed: int) -> float:
    """Exactly, over all samples of one score: only the number of ones is random."""
    ones = np.arange(N + 1)
    chances = binom.pmf(ones, N, rate)
    likely = chances > 1e-6
    counts = np.array([N])
    failed = [fails(*tally(counts, np.array([one]), seed, scheme), rate) for one in ones[likely]]
    return float(chances[likely] @ failed)


def figures(schemes: Iterable[str] = ("umd", "ums", "scaling-binning")) -> str:
    """The lines of docs/guarantees.md."""
    lines = []
    for scheme in schemes:
        repetitions = 10_000 if scheme == "umd" else 2_000
        one = [[failure_rate_of_one_score(scheme, rate, seed) for seed in range(100)] for rate in RATES]
        few = [[failure_rate(scheme, k, rate, seed, 1_000) for seed in range(100)] for k in (2, 3) for rate in RATES]
        more = [[failure_rate(scheme, k, rate, s, repetitions) for s in range(16)] for k in (4, 5, 21) for rate in RATES]
        cells = [scheme]
        for rates in (one, few, more):
            cells += [f"{max(np.mean(of_seeds) for of_seeds in rates):.3f}", f"{np.max(rates):.3f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(figures())
