"""Fine values over coarse evidence: the bound on the distance between the mean served in a bin and the rate of the bin.

Inside each evidence bin stand fine edges, at ranks that n and the number of bins alone decide. The served values, one per step,
may depend on all labels in any way: where a fine edge stands in its bin is known up to the law of an order statistic, so the
mean of ANY values lies within bounds that hold for all of them at once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise

from reference.bounds import _largest, binomial_cdf, clopper_pearson
from reference.hull import bin_interval, levels_of, rest_of
from reference.uniform_mass import boundary_ranks
from reference.whole_ties import WholeTies

SHARE = 0.1  # of the failure probability of a bin: what the edges get


def fine_ranks(n: int, n_bins: int, cells: int | None = None) -> list[int]:
    """The candidate ranks of all fine edges, from 1 and ascending, with the ranks of the evidence edges among them.

    Known before a score is seen. Each nominal bin is divided into m cells of nearly equal counts, of one sample at least: 1,000
    in all at most. `cells` is another m.
    """
    cuts = boundary_ranks(n, n_bins)
    starts, ends = [0, *(k - 1 for k in cuts)], [*(k - 1 for k in cuts), n]
    ranks = set(cuts)
    for b, (start, end) in enumerate(zip(starts, ends, strict=True)):
        interior = end - start - (b > 0)
        m = cells or max(1, min(1000 // n_bins, interior))
        ranks |= {start + (end - start) * j // m + 1 for j in range(1, m)}
    return sorted(ranks)


@dataclass(frozen=True)
class FineEdge:
    """Below all samples of one score: `rank` is the least candidate that stands in the group, `below` the samples under it.

    `lower_rank` is a candidate whose sample lies below the edge, 0 if there is none. Both ranks are those among all samples.
    """

    score: float
    rank: int
    below: int
    lower_rank: int


def bin_candidates(fit: WholeTies, b: int, ranks: Sequence[int]) -> list[int]:
    """The candidates of a bin: above the rank of its own edge, if it is written, and not above the samples below its next."""
    own = fit.bins[b].cut
    first = own.rank if own is not None and b != rest_of(fit) else 0
    last = _samples_below(fit, b) + fit.bins[b].T
    return [k for k in ranks if first < k <= last]


def n_tied(fit: WholeTies, ranks: Sequence[int]) -> int:
    """Samples in groups of two or more equal scores that hold a candidate: without any, the plain formulas are taken.

    Never decided edge by edge, since a single sample does not exclude an atom at its score.
    """
    sizes = Counter(fit.scores)
    return sum(sizes[score] for score in {fit.scores[k - 1] for k in ranks} if sizes[score] > 1)


def fine_edges(fit: WholeTies, b: int, ranks: Sequence[int]) -> list[FineEdge]:
    """The fine edges of a bin, ascending. Candidates at the score of the bin's own edge give none, equal ones give one."""
    candidates, own = bin_candidates(fit, b, ranks), fit.bins[b].cut
    found: dict[float, FineEdge] = {}
    tied = n_tied(fit, ranks) > 0
    for k in candidates:
        score = fit.scores[k - 1]
        if score in found or (own is not None and score == own.score) or score == fit.scores[0]:
            continue
        below = bisect_left(fit.scores, score)
        # The law of an order statistic bounds what lies below the sample at a rank. Without ties that sample stands at the
        # edge. With ties the edge moved down to the start of the group, and only a candidate under it is surely below.
        under = max((other for other in candidates if other <= below), default=0)
        found[score] = FineEdge(score, k, below, under if tied else k)
    return list(found.values())


def edges_between(fit: WholeTies, b: int, ranks: Sequence[int], edges: Sequence[float]) -> list[FineEdge]:
    """Edges of steps inside a bin, wherever they stand: from a candidate below each up to one that does not lie below it.

    Where there is no such candidate the ranks are 0 and one more than the last sample of the bin.
    """
    candidates = bin_candidates(fit, b, ranks)
    found = []
    for edge in edges:
        if fit.bin_of(edge) != b or edge in fit.edges:
            continue
        under = [k for k in candidates if fit.scores[k - 1] < edge]
        above = [k for k in candidates if fit.scores[k - 1] >= edge]
        last = _samples_below(fit, b) + fit.bins[b].T
        found.append(FineEdge(edge, min(above, default=last + 1), bisect_left(fit.scores, edge), max(under, default=0)))
    return found


def step_counts(fit: WholeTies, b: int, edges: Sequence[FineEdge]) -> list[int]:
    """The samples of each step of a bin, by which its values are averaged."""
    start = _samples_below(fit, b)
    ends = [start, *(edge.below for edge in edges), start + fit.bins[b].T]
    return [after - before for before, after in pairwise(ends)]


def _samples_below(fit: WholeTies, b: int) -> int:
    return sum(other.T for other in fit.bins[:b])


@cache
def beta_quantile(level: float, rank: int, n: int) -> float:
    """The quantile of Beta(rank, n + 1 - rank), the law of order statistic number `rank` of n uniform numbers.

    It lies below p with the probability that a binomial of n and p is at least `rank`. 0 for rank 0, 1 for n + 1.
    """
    if rank <= 0 or rank > n:
        return float(rank > n)
    chance = Fraction(level)
    return _largest(lambda p: 1 - binomial_cdf(rank - 1, n, p) <= chance)


def bound_edges(T: int, r: int, ranks: Sequence[int], lower_ranks: Sequence[int], gamma: float) -> list[tuple[float, float]]:
    """For each fine edge [lo, hi]: the share of its bin that lies below it is outside with probability gamma at most.

    T samples of which at least r stand at the edge of the bin; ranks are those among the T. Without ties T is the number of
    samples inside the bin, and r = 0.
    """
    return [
        (beta_quantile(gamma / 2, lower - r, T - r), beta_quantile(1 - gamma / 2, rank, T))
        for rank, lower in zip(ranks, lower_ranks, strict=True)
    ]


def mean_served(values: Sequence[float], shares: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The least and the greatest mean of `values` when each edge is within its bounds.

    The mean is v_m - sum D_j u_j, with D_j the step at edge j and u_j the share below it. It lies in [0, 1], as values do.
    """
    steps = [after - before for before, after in pairwise(values)]
    products = [(step * low, step * high) for step, (low, high) in zip(steps, shares, strict=True)]
    least = values[-1] - sum(max(pair) for pair in products)
    most = values[-1] - sum(min(pair) for pair in products)
    return min(max(least, 0.0), 1.0), min(max(most, 0.0), 1.0)


@dataclass(frozen=True)
class BinBound:
    """The interval of the rate, that of the mean served, the bounds of the fine edges, and the distance that is promised."""

    interval: tuple[float, float]
    served: tuple[float, float]
    shares: list[tuple[float, float]]
    epsilon: float


def edge_bound(
    fit: WholeTies,
    values: Sequence[Sequence[float]],
    ranks: Sequence[int],
    alpha: float,
    kind: str = "conditional",
    labelled: Sequence[tuple[int, int]] | None = None,
    share: float = SHARE,
    steps: Sequence[float] | None = None,
) -> list[BinBound]:
    """The certificate of a fit under "umd" that serves these values, one list per bin with one value per step.

    `labelled`: where scores without labels have placed edges too, the label sum and the count of the labelled samples inside
    each bin (see `inside`); the labels of the fit are then not looked at. Only without ties. `share`: of the failure
    probability of a bin, what the edges get where it has candidates. `steps`: the edges of steps that begin anywhere, in place
    of those at candidates.
    """
    tied = n_tied(fit, ranks) > 0
    if labelled is not None and tied:
        raise ValueError("scores without labels are for fits without ties")
    levels, rest = levels_of(fit, alpha, kind, tied=tied), rest_of(fit)
    bounds = []
    for b, (whole, served, level) in enumerate(zip(fit.bins, values, levels, strict=True)):
        candidates, start = bin_candidates(fit, b, ranks), _samples_below(fit, b)
        edges = fine_edges(fit, b, ranks) if steps is None else edges_between(fit, b, ranks, steps)
        of_edges = share if candidates else 0.0
        # Without ties the sample at the edge is left out, and the T - r inside are draws from the bin.
        T, r, skipped = (whole.T, whole.r, 0) if tied else (whole.T - whole.r, 0, whole.r)
        if b == rest:
            r = 0
        gamma = of_edges * level / max(len(candidates), 1)
        places = [edge.rank - start - skipped for edge in edges]
        lower_places = [max(edge.lower_rank - start - skipped, 0) for edge in edges]
        shares = bound_edges(T, r, places, lower_places, gamma)
        own_level = (1 - of_edges) * level
        x, n = labelled[b] if labelled is not None else (whole.x - whole.y, T)
        limits = bin_interval(whole, own_level, is_rest=b == rest) if tied else clopper_pearson(x, n, own_level)
        mean = mean_served(served, shares)
        bounds.append(BinBound(limits, mean, shares, max(limits[1] - mean[0], mean[1] - limits[0])))
    return bounds


def shifts_to_cap(bounds: Sequence[BinBound], slack: float = 0.1) -> list[float]:
    """How far the values of each bin are moved by ``recentre="cap"``.

    A bin with the interval [L, U] and averages in c +- s keeps a distance of at least (U - L) / 2 + s. None may exceed
    (1 + slack) times the largest of these: c moves as little as that needs.
    """
    spread = [(served[1] - served[0]) / 2.0 for served in (bound.served for bound in bounds)]
    least = [(bound.interval[1] - bound.interval[0]) / 2.0 + s for bound, s in zip(bounds, spread, strict=True)]
    most = (1.0 + slack) * max(least)
    shifts = []
    for bound, s in zip(bounds, spread, strict=True):
        centre, (low, high) = sum(bound.served) / 2.0, bound.interval
        shifts.append(max(high + s - most - centre, 0.0) + min(low - s + most - centre, 0.0))
    return shifts


def inside(fit: WholeTies, scores: Sequence[float], labels: Sequence[int]) -> list[tuple[int, int]]:
    """Label sum and count of these samples strictly between the edges of each bin."""
    tally = [(0, 0)] * fit.n_bins
    for score, label in zip(scores, labels, strict=True):
        b = fit.bin_of(score)
        if score not in fit.edges:
            tally[b] = (tally[b][0] + label, tally[b][1] + 1)
    return tally
