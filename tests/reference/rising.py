"""The mean error where the truth rises: the twin of fastbin.guarantees.rising, over every path and every grid value in turn.

Slices of equal mass, in the order of (score, key); a set of rising truths that the labels of the slices do not contradict; the
greatest mean error among them, by a Lagrange multiplier for the set and one for the masses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from scipy import stats

from reference.bounds import clopper_pearson
from reference.keys import draw_labels, fmix, group_digest

LAMBDAS = [0.01, *(0.015 + 0.005 * i for i in range(188))]


class Slice(NamedTuple):
    """Samples strictly between cuts, those with label 1, the average served to them, and how far what is served rises."""

    count: int
    ones: int
    served: float
    rise: float


def widest(mean: float, width: float) -> float:
    """The greatest E|D| for a D of this mean on an interval of this length."""
    return (mean * (mean / width) + width) / 2 if mean < width else mean


def divergence(x: float, p: float) -> float:
    return math.inf if p in (0.0, 1.0) and x != p else sum(
        a * math.log(a / b) for a, b in ((x, p), (1 - x, 1 - p)) if a > 0
    )  # fmt: skip


def log_moment(count: int, share: float, p: float) -> float:
    """ln E exp(share * count * KL(X / count || p)), X binomial."""
    if p in (0.0, 1.0):
        return 0.0
    terms = [
        math.log(math.comb(count, x)) + x * math.log(p) + (count - x) * math.log1p(-p)
        + share * count * divergence(x / count, p) for x in range(count + 1)
    ]  # fmt: skip
    top = max(terms)
    return float(top + math.log(sum(math.exp(term - top) for term in terms)))


def chosen_share(n_slices: int, logarithm: float) -> float:
    return min(LAMBDAS, key=lambda share: (logarithm - n_slices / 2 * math.log(1 - share)) / share)


def places(n: int) -> list[float]:
    parts = min(3000, math.ceil(10 * math.sqrt(n)))
    return [math.sin(math.pi * i / (2 * parts)) ** 2 for i in range(parts + 1)]


def bernoulli(low: float, high: float) -> float:
    """The greatest 2q(1-q) between the two."""
    q = min(max(0.5, low), high)
    return 2 * q * (1 - q)


class Events(NamedTuple):
    """Levels, and what is known of the masses and of the ends."""

    logarithm: float
    low: list[float]
    high: list[float]
    slack: list[float]  # of the average served
    lowest: tuple[float, float]
    highest: tuple[float, float]


def of_population(slices: Sequence[Slice], n: int, alpha: float) -> Events:
    size = len(slices)
    masses = [each.count + 1 for each in slices]
    low = [float(stats.beta.ppf(0.1 * alpha / (2 * size), t, n + 1 - t)) for t in masses]
    high = [float(stats.beta.isf(0.1 * alpha / (2 * size), t, n + 1 - t)) for t in masses]
    factor = math.log(2 * size / (0.05 * alpha))
    slack = [each.rise * min(1.0, math.sqrt(factor / (2 * each.count))) for each in slices]
    first, last = (clopper_pearson(each.ones, each.count, 0.05 * alpha) for each in (slices[0], slices[-1]))
    return Events(math.log(1 / (0.75 * alpha)), low, high, slack, first, last)


def of_rows(slices: Sequence[Slice], alpha: float) -> Events:
    total = sum(each.count for each in slices)
    shares = [each.count / total for each in slices]
    ends = []
    for each in (slices[0], slices[-1]):
        level = 0.035 * alpha
        low, high = clopper_pearson(each.ones, each.count, level)
        low = min(low, level / (2 * each.count)) if each.ones == 1 else low
        ends.append((low, max(high, 1 - level / (2 * each.count)) if each.ones == each.count - 1 else high))
    return Events(math.log(1 / (0.93 * alpha)), shares, shares, [0.0] * len(slices), *ends)


def within_slices(events: Events) -> float:
    """How much the truth can rise within slices."""
    between = max([0.0, *events.high[1:-1]]) * max(0.0, events.highest[1] - events.lowest[0]) / 2
    between += events.high[0] * bernoulli(*events.lowest) + events.high[-1] * bernoulli(*events.highest)
    return min(between, max(events.high) / 2)


def greatest(
    slices: Sequence[Slice], events: Events, moments: list[list[float]], grid: list[float], c: float, mu: float
) -> float:
    """The greatest Lagrangian over rising paths through the intervals of the grid."""
    share = chosen_share(len(slices), events.logarithm)
    best = [-math.inf] * (len(grid) - 1)
    for b, (each, moment) in enumerate(zip(slices, moments, strict=True)):
        frequency, reached = each.ones / each.count, -math.inf if b else 0.0
        after = []
        for i in range(len(grid) - 1):
            low, high = grid[i], grid[i + 1]
            error = widest(max(abs(low - each.served), abs(high - each.served)) + events.slack[b], each.rise)
            near = min(max(frequency, low), high)
            contradiction = share * each.count * divergence(frequency, near) - moment[i]
            gain = events.high[b] * (error - c) if error > c else events.low[b] * (error - c)
            reached = max(reached, best[i])
            after.append(reached + gain - mu * contradiction)
        best = after
    return c + mu * events.logarithm + max(best)


def mean_error(slices: Sequence[Slice], events: Events, n: int, cs: Sequence[float], mus: Sequence[float]) -> float:
    """The bound, with the moment of an interval at the greater of its ends."""
    grid, share = places(n), chosen_share(len(slices), events.logarithm)
    of_count = {count: [log_moment(count, share, p) for p in grid] for count in {each.count for each in slices}}
    moments = [[max(pair) for pair in zip(of_count[each.count], of_count[each.count][1:], strict=False)] for each in slices]
    return within_slices(events) + min(greatest(slices, events, moments, grid, c, mu) for c in cs for mu in mus)


def geometric(first: float, last: float, steps: int) -> list[float]:
    return [first * (last / first) ** (i / (steps - 1)) for i in range(steps)]


def population_bound(slices: Sequence[Slice], n: int, alpha: float) -> float:
    mus = [mu * 3 * math.sqrt(300 / n) for mu in geometric(0.0005, 0.05, 13)]
    cs = [0.0, *(part * 4 / n**0.33 for part in (0.15, 0.3, 0.5, 0.75, 1.0))]
    return mean_error(slices, of_population(slices, n, alpha), n, cs, mus)


def rows_bound(slices: Sequence[Slice], n: int, alpha: float) -> float:
    """`n` are all samples, those at cuts too."""
    mus = [mu * 30 / math.sqrt(n) for mu in geometric(0.0002, 0.2, 40)]
    return mean_error(slices, of_rows(slices, alpha), n, [0.0], mus)


def n_slices(n: int) -> int:
    """ceil(2.4 n^(1/3)) from 20 samples on, at most 1,000."""
    return next(c for c in range(1001) if (5 * c) ** 3 >= 12**3 * n or c == 1000) if 20 <= n <= 3 * 10**9 else 0


def label_sums(rows: Sequence[tuple[float, int]], seed: int) -> list[int]:
    """The samples with label 1 strictly between cuts, equal scores in an order that is drawn (FORMAT.md, "Slices")."""
    samples = sorted(score + 0.0 for score, _ in rows)
    n, size = len(rows), n_slices(len(rows))
    ranks = [math.ceil(Fraction(b * (n + 1), size)) for b in range(1, size)]
    groups = {}
    for score in (samples[rank - 1] for rank in ranks):
        below = [label for other, label in rows if other < score]
        at = [label for other, label in rows if other == score]
        groups[score] = (len(below), sum(below), len(at), sum(at))
    seeded = group_digest(seed, [(score, *counts) for score, counts in sorted(groups.items())])
    found, start, taken = [], 0, dict.fromkeys(groups, (0, 0))
    for b, rank in enumerate(ranks):
        score = samples[rank - 1]
        below, below_ones, count, ones = groups[score]
        gone, passed = taken[score]
        chosen = rank - below - gone
        f, y = (ones, ones) if count == 1 else draw_labels(fmix(seeded ^ b), score, count - gone, ones - passed, chosen)
        taken[score] = (gone + chosen, passed + f)
        found.append(below_ones + passed + f - y - start)
        start = below_ones + passed + f
    return [*found, sum(label for _, label in rows) - start]


def band(cuts: Sequence[float], slices: Sequence[Slice], edges: Sequence[float], alpha: float) -> list[tuple[float, float]]:
    """For the scores of each step the ends that all blocks of slices on one side allow."""
    size = len(slices)
    lengths = range(1, size + 1)
    if size > 60:
        lengths = sorted({round(2 ** (i / 2)) for i in range(64)} & set(lengths))
    blocks = [(first, first + length) for length in lengths for first in range(size - length + 1)]
    ends = {}
    for first, end in blocks:
        block, tail = slices[first:end], alpha / len(blocks) / 2
        ones, count = sum(each.ones for each in block), sum(each.count for each in block)
        low = float(stats.beta.ppf(tail, ones, count - ones + 1)) if ones else 0.0
        ends[first, end] = (low, float(stats.beta.isf(tail, ones + 1, count - ones)) if ones < count else 1.0)
    found = []
    for low, high in zip([-math.inf, *edges], [*edges, math.inf], strict=True):
        # The upper cut of a block is the end of its last slice, the lower cut that of the slice before it.
        below = [ends[first, end][0] for first, end in blocks if end < size and cuts[end - 1] <= low]
        above = [ends[first, end][1] for first, end in blocks if first > 0 and cuts[first - 1] >= high]
        found.append((max([0.0, *below]), min([1.0, *above])))
    return found
