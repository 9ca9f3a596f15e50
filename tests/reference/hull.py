"""The promise of whole ties: the twin of the certificates of a fit by ``ties="whole"``.

A bin that ends at a group of equal scores holds T samples, under the condition that at least r of them stand at the edge. Its
label sum is then not binomial, but lies, in order of probability, between that of T draws from the bin and r chosen samples
plus T - r draws. Which of the two bounds which limit depends on whether the rate at the edge is above that of the bin, which is
not known: so the interval is the hull of both.

If no sample lies below the lowest edge (above the highest for "umb"), that edge is not written, and the bin is the rest: all
that lies below the edge before. Given what lies above, its samples are draws from it, at whichever rank the fit ends.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from reference.bounds import _largest, binomial_cdf, clopper_pearson, exact_radius, sidak
from reference.whole_ties import WholeBin, WholeTies

SHARE_OF_REST = 0.05  # of alpha


def rest_of(fit: WholeTies) -> int | None:
    """The bin whose own edge is not written, if there is one. Without ties there is none."""
    outermost = fit.n_bins - 1 if fit.scheme == "umb" else 0
    return outermost if fit.bins[outermost].cut is not None else None


def levels_of(fit: WholeTies, alpha: float, kind: str, *, tied: bool) -> list[float]:
    """The failure probability of each bin.

    With ties bins with edges share 1 - (1 - alpha)^.95 by Sidak ("marginal": each has all of it), and a rest has what is left
    of alpha, divided by the number of ranks: it may be at each that the fit ends. Whether it ends so is not known before.
    """
    rest = rest_of(fit) if tied else None
    sharing = 1 if kind == "marginal" else max(1, fit.n_bins - (rest is not None))
    if not tied:
        return [sidak(alpha, sharing)] * fit.n_bins
    of_edges = 1.0 - (1.0 - alpha) ** (1.0 - SHARE_OF_REST)
    found = [sidak(of_edges, sharing)] * fit.n_bins
    if rest is not None:
        found[rest] = (alpha - of_edges) / (fit.n_bins_asked - 1)
    return found


def bin_interval(b: WholeBin, level: float, *, is_rest: bool = False) -> tuple[float, float]:
    """Misses the rate of the bin with probability `level` at most, whatever the law of the scores is."""
    if is_rest:
        return clopper_pearson(b.x, b.T, level)
    if b.r < 2 or 8 * b.r < b.T:
        return _hull(b, level)
    of_parts = (b.r / (b.T + 1)) ** 2
    hull, parts = _hull(b, (1 - of_parts) * level), three_parts(b, of_parts * level)
    low, high = max(hull[0], parts[0]), min(hull[1], parts[1])
    return (low, high) if low <= high else hull


def _hull(b: WholeBin, level: float) -> tuple[float, float]:
    whole, without = clopper_pearson(b.x, b.T, level), clopper_pearson(b.x - b.f, b.T - b.r, level)
    return min(whole[0], without[0]), max(whole[1], without[1])


def three_parts(b: WholeBin, level: float) -> tuple[float, float]:
    """The rate q h + (1 - q) g of a bin: h is that of its lowest score, of mass q, and g that of the others.

    Each is in an interval, and the least and the greatest rates are at corners of the box of these.
    """
    of_atom, of_others = clopper_pearson(b.k, b.C, 0.45 * level), clopper_pearson(b.x - b.k, b.T - b.C, 0.45 * level)
    masses = truncated(b.C, b.T, b.r, 0.1 * level)
    rates = [q * h + (1 - q) * g for q in masses for h in of_atom for g in of_others]
    return min(rates), max(rates)


@cache
def truncated(c: int, n: int, least: int, level: float) -> tuple[float, float]:
    """{q : P(C >= c | C >= least) > level / 2 and P(C <= c | C >= least) > level / 2} for C ~ Binomial(n, q)."""
    half = Fraction(level) / 2

    def from_on(k: int, q: Fraction) -> Fraction:
        return 1 - binomial_cdf(k - 1, n, q)

    lower = 0.0 if c == least else _largest(lambda q: from_on(c, q) <= half * from_on(least, q))
    upper = (
        1.0 if c == n else _largest(lambda q: from_on(least, q) - from_on(c + 1, q) > half * from_on(least, q), Fraction(c, n))
    )
    return lower, upper


def intervals(fit: WholeTies, alpha: float, kind: str = "conditional") -> list[tuple[float, float]]:
    """For each bin. If no boundary is tied, those of Gupta & Ramdas 2021: never decided bin by bin, since a single sample at
    an edge does not exclude an atom at its score."""
    levels = levels_of(fit, alpha, kind, tied=fit.n_tied > 0)
    if fit.n_tied > 0:
        rest = rest_of(fit)
        return [bin_interval(b, level, is_rest=i == rest) for i, (b, level) in enumerate(zip(fit.bins, levels, strict=True))]
    level = levels[0]
    if fit.scheme == "umd":
        return [clopper_pearson(b.x - b.y, b.T - b.r, level) for b in fit.bins]
    # The label of a boundary is averaged in every bin but the last, and is not a draw from the bin. Only the sum is kept, so
    # the other labels sum to x or to x - 1.
    found = []
    for i, b in enumerate(fit.bins):
        boundary = int(i < fit.n_bins - 1)
        own = b.T - boundary
        found.append((clopper_pearson(max(b.x - boundary, 0), own, level)[0], clopper_pearson(min(b.x, own), own, level)[1]))
    return found


def epsilon(
    fit: WholeTies, alpha: float, kind: str = "conditional", bound: str = "clopper-pearson", values: list[float] | None = None
) -> float:
    """The certificate: the largest distance from the value of a bin to its rate.

    "conditional", and the "ece" that follows from it, shares alpha among the bins that are there by Sidak; "marginal" gives
    each bin alpha. Before labels are seen ("a-priori", "hoeffding") the values are the means.
    """
    return min(1.0, max(radii(fit, alpha, kind, bound, values)))


def radii(
    fit: WholeTies, alpha: float, kind: str = "conditional", bound: str = "clopper-pearson", values: list[float] | None = None
) -> list[float]:
    """One for each bin."""
    if bound == "clopper-pearson":
        served = [float(value) for value in fit.values] if values is None else values
        limits = intervals(fit, alpha, kind)
        return [max(high - value, value - low) for value, (low, high) in zip(served, limits, strict=True)]
    levels = levels_of(fit, alpha, kind, tied=fit.n_tied > 0)
    if fit.n_tied > 0:
        rest = rest_of(fit)
        return [
            _tied_radius(b, level, bound, fit.scheme, is_rest=i == rest)
            for i, (b, level) in enumerate(zip(fit.bins, levels, strict=True))
        ]
    level = levels[0]
    if bound == "hoeffding":
        raise ValueError("without ties Hoeffding's bound is the closed formula of the paper")
    if fit.scheme == "umd":
        return [exact_radius(b.T - b.r, level) for b in fit.bins]
    own = [(b.T - (i < fit.n_bins - 1), b.T) for i, b in enumerate(fit.bins)]
    return [exact_radius(n, level) + (1.0 / T if n < T else 0.0) for n, T in own]


def _tied_radius(b: WholeBin, level: float, bound: str, scheme: str, *, is_rest: bool) -> float:
    """The mean of T labels, and that of T - r, may each be off by a tail of level / 2, and the value may lie between them.

    Leaving one label out of T moves their mean by at most 1 / T; leaving out r - 1 more moves that of T - 1 by at most
    (r - 1) / (T - 1), and leaving out r of T moves it by at most r / T.
    """
    of = one_sided_radius if bound == "a-priori" else _hoeffding
    if b.r == 0:
        return of(b.T, level)
    if is_rest:
        return of(b.T, level) + (1.0 / b.T if scheme == "umd" else 0.0)
    if scheme == "umd":
        return max(of(b.T, level) + 1.0 / b.T, of(b.T - b.r, level) + (b.r - 1) / (b.T - 1))
    return max(of(b.T, level), of(b.T - b.r, level) + b.r / b.T)


@cache
def one_sided_radius(n: int, level: float) -> float:
    """The least distance by which a mean of n labels lies above its expectation with probability level / 2 at most.

    For a label sum of x the probability of x or more is level / 2 at the lower Clopper-Pearson limit, and below it smaller.
    """
    return 1.0 if n == 0 else max(x / n - clopper_pearson(x, n, level)[0] for x in range(n + 1))


def _hoeffding(n: int, level: float) -> float:
    return 1.0 if n == 0 else math.sqrt(math.log(2.0 / level) / (2.0 * n))
