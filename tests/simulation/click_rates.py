"""Click rates of one in a thousand: how far a factor is from 1 in bins of equal mass, and of equal expected positives.

The rate of a row is lognormal (the sigma of its logarithm is 1, the mean 0.001), and its score is the rate. So cuts decide the
masses of all bins, and how many of their rows have label 1. A run draws the tenth of the rows that places the cuts, or 10^6,
and the counts of the others. "fits" are fits of all rows by fastbin.

    cd tests; python -m simulation.click_rates --write      the tables in docs/click-rates.md, in a quarter of an hour
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri
from scipy.stats import binom
from simulation.failures import ALPHA
from simulation.pages import DOCS, options, write

import fastbin as fb
from fastbin._base.ranks import ranks_of_sums
from fastbin.intervals import clopper_pearson, sidak

RATE, SIGMA, N_BINS = 1e-3, 1.0, 10
CUTS = {
    "equal mass": fb.UniformMassBinning(),
    "equal expected positives": fb.UniformMassBinning(scheme="ums", cuts="expected-positives"),
}
Floats = npt.NDArray[np.float64]


class Run(NamedTuple):
    """The largest sqrt(U / L) of all bins, the factor of the certificate, whether all rates lie between their ends."""

    centred: float
    certified: float
    covers: bool


def rates(rng: np.random.Generator, n: int) -> Floats:
    return RATE * np.exp(SIGMA * rng.standard_normal(n) - SIGMA**2 / 2)


def chances(edges: Floats) -> tuple[Floats, Floats]:
    """The probability of each bin between edges, and that of label 1 in it."""
    places = np.concatenate([[-np.inf], (np.log(edges / RATE) + SIGMA**2 / 2) / SIGMA, [np.inf]])
    return np.diff(ndtr(places)), RATE * np.diff(ndtr(places - SIGMA))


def judged(counts: Floats, ones: Floats, truth: Floats) -> Run:
    low, high = clopper_pearson(ones, counts, sidak(ALPHA, len(counts))).T
    means = ones / counts
    with np.errstate(divide="ignore", invalid="ignore"):  # without label 1 there is no factor
        centred = np.where(ones > 0, np.sqrt(high / low), np.inf).max()
        certified = np.where(ones > 0, np.maximum(high / means, means / low), np.inf).max()
    return Run(float(centred), float(certified), bool(((low <= truth) & (truth <= high)).all()))


def cuts_of_sums(rng: np.random.Generator, n: int, n_bins: int) -> Floats:
    """The cuts between bins of equal sums of so many scores."""
    scores = np.sort(rates(rng, n))
    return scores[ranks_of_sums(np.cumsum(scores), n_bins) - 1]


def equal_mass(n_bins: int) -> Floats:
    """The cuts of the population."""
    return RATE * np.exp(SIGMA * ndtri(np.arange(1, n_bins) / n_bins) - SIGMA**2 / 2)


def coverage(n: int) -> float:
    """The exact probability that all intervals hold, in bins of equal mass."""
    every = []
    for of_bin, of_ones in zip(*chances(equal_mass(N_BINS)), strict=True):
        count, rate = round(n * of_bin), of_ones / of_bin
        ones = np.arange(*binom.interval(1 - 1e-9, count, rate), dtype=np.int64)
        low, high = clopper_pearson(ones, np.full(len(ones), count), sidak(ALPHA, N_BINS)).T
        every.append(binom.pmf(ones, count, rate)[(low <= rate) & (rate <= high)].sum())
    return float(np.prod(every))


def drawn(cuts: str, n: int, n_bins: int, runs: int) -> Iterator[Run]:
    """The law of a fit. The cuts of equal mass are those of the population, as all of many rows place them."""
    rng = np.random.default_rng([n, n_bins, len(cuts)])
    for _ in range(runs):
        if cuts == "equal mass":
            counted, edges = n, equal_mass(n_bins)
        else:
            counted, edges = n - n // 10, cuts_of_sums(rng, min(n // 10, 10**6), n_bins)
        of_bin, of_ones = chances(edges)
        ones, zeros = rng.multinomial(counted, np.concatenate([of_ones, of_bin - of_ones])).reshape(2, -1)
        yield judged(ones + zeros, ones, of_ones / of_bin)


def fits(cuts: str, n: int, runs: int) -> Iterator[Run]:
    rng = np.random.default_rng([n, runs])
    for _ in range(runs):
        scores = rates(rng, n)
        model = CUTS[cuts].fit(scores, rng.random(n) < scores).model_
        of_bin, of_ones = chances(model.edges)
        yield judged(model.counts, model.label_sums, of_ones / of_bin)


def factors(sizes: dict[int, int], n_fits: int) -> str:
    """The table of so many runs for each number of rows, and of so many fits for the first."""
    lines = ["| rows | runs | cuts | largest sqrt(U / L) | certificate | coverage |", "| --- | --- | --- | --- | --- | --- |"]
    rows = [(f"{n:,}", cuts, list(drawn(cuts, n, N_BINS, runs))) for n, runs in sizes.items() for cuts in CUTS]
    if n_fits:
        first = next(iter(sizes))
        rows += [(f"{first:,}, fits", cuts, list(fits(cuts, first, n_fits))) for cuts in CUTS]
    for name, cuts, found in rows:
        centred, certified, covers = zip(*found, strict=True)
        figures = f"{median(centred):.3f} | {median(certified):.3f} | {sum(covers) / len(covers):.3f}"
        lines.append(f"| {name} | {len(found):,} | {cuts} | {figures} |")
    return "\n".join(lines)


def kept(runs: dict[int, int]) -> str:
    """How often the factor that chose the number of bins is kept where a tenth of the rows places the cuts."""
    lines = ["| rows | ratio | bins | runs | kept |", "| --- | --- | --- | --- | --- |"]
    for n, repetitions in runs.items():
        for ratio in (1.5, 1.25, 1.1):
            n_bins = fb.choose_n_bins(n, ALPHA, ratio=ratio, rate=RATE)
            found = [run.certified <= ratio for run in drawn("equal expected positives", n, n_bins, repetitions)]
            lines.append(f"| {n:,} | {ratio} | {n_bins} | {repetitions:,} | {sum(found) / repetitions:.3f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    given = options(__doc__, "runs", 1000)
    every = dict.fromkeys((10**6, 10**7, 10**8), given.runs)
    tables = {"factors": factors(every, 2 * given.runs // 5), "kept": kept({10**6: given.runs, 10**7: given.runs // 2})}
    for each in tables.values():
        print(each, end="\n\n")
    if given.write:
        write(DOCS / "click-rates.md", tables)
