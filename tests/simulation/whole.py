"""Whole ties, for many samples at once, in NumPy and SciPy alone: the third writing of what `reference.whole_ties` states."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaincc, betaincinv
from simulation.draws import digest_of, draw_labels
from simulation.laws import Array, Integers, Law

Bools = npt.NDArray[np.bool_]
BLOCK = 2_000_000  # samples that are drawn at once


@dataclass
class Fits:
    """Arrays of shape (repetitions, n_bins asked); column b is the bin whose lower edge has the rank number b, 0 the lowest.

    Under "umb" upper for lower, and n_bins - 1 the highest. `is_there` tells the bins that there are, and `tied` the
    repetitions in which a boundary is tied. A bin without an edge of its own, the rest, has all beyond the edge before.
    """

    scheme: str
    is_there: Bools
    tied: Bools
    T: Integers
    x: Integers
    C: Integers
    r: Integers
    f: Integers
    y: Integers
    k: Integers  # of the C samples at the edge those with label 1
    rates: Array
    masses: Array
    lowest: Array  # position of the lower end

    @property
    def n_bins(self) -> Integers:
        return self.is_there.sum(axis=1)

    @property
    def is_rest(self) -> Bools:
        """The outermost bin where r samples lie at its edge, which is not written: there is a rank, and no sample beyond it."""
        found = np.zeros_like(self.is_there)
        order = slice(None, None, -1) if self.scheme == "umb" else slice(None)
        outermost = np.argmax(self.is_there[:, order], axis=1)
        found[:, order][np.arange(len(found)), outermost] = True
        return found & (self.r > 0) & self.tied[:, None]

    @property
    def leaves_out(self) -> Integers:
        """The samples at the edge that the value leaves out."""
        return ((self.r > 0) & (self.scheme == "umd")).astype(np.int64)

    @property
    def values(self) -> Array:
        left_out = self.leaves_out
        return (self.x - left_out * self.y) / np.maximum(self.T - left_out, 1)

    def tally(self) -> tuple[Any, ...]:
        """(T, x, r, f, y) of the bins of each repetition."""
        return tuple(
            [tuple(int(part[i, b]) for part in (self.T, self.x, self.r, self.f, self.y)) for b in np.flatnonzero(there)]
            for i, there in enumerate(self.is_there)
        )


def ranks_of(n: int, n_bins: int, scheme: str) -> list[int]:
    """k_1, ..., k_(B-1)."""
    return [n * b // n_bins if scheme == "umb" else -(-b * (n + 1) // n_bins) for b in range(1, n_bins)]


def fit(law: Law, scores: Array, labels: Bools, n_bins: int, scheme: str, seeds: npt.NDArray[np.uint64]) -> Fits:
    """Fits to rows of ascending scores."""
    repetitions, n = scores.shape
    if scheme == "umb":
        ranks = [n + 1 - k for k in reversed(ranks_of(n, n_bins, scheme))]
        mirrored = _cut(scores[:, ::-1], labels[:, ::-1], ranks, seeds, mirrored=True)
        columns = {name: part[:, ::-1] if part.ndim == 2 else part for name, part in mirrored.items()}
        last = np.where(columns.pop("has_edge"), law.past(columns.pop("edge")), 1.0)
        first = np.concatenate([np.zeros((repetitions, 1)), last[:, :-1]], axis=1)
        # A bin that is not there has no upper edge of its own: it is the next one below that is there that counts.
        first = np.maximum.accumulate(np.where(np.roll(columns["is_there"], 1, axis=1), first, 0.0), axis=1)
    else:
        columns = _cut(scores, labels, ranks_of(n, n_bins, scheme), seeds, mirrored=False)
        first = np.where(columns.pop("has_edge"), columns.pop("edge"), 0.0)
        last = np.concatenate([first[:, 1:], np.ones((repetitions, 1))], axis=1)
        there_above = np.concatenate([columns["is_there"][:, 1:], np.ones((repetitions, 1), np.bool_)], axis=1)
        last = np.minimum.accumulate(np.where(there_above, last, 1.0)[:, ::-1], axis=1)[:, ::-1]
    masses = np.where(columns["is_there"], last - first, 1.0)
    rates = np.where(columns["is_there"], (law.ones_below(last) - law.ones_below(first)) / masses, 0.0)
    fits = Fits(scheme, rates=rates, masses=masses * columns["is_there"], lowest=first, **columns)
    if scheme == "ze":
        _as_without_ties(fits)
    return fits


def _cut(scores: Array, labels: Bools, ranks: list[int], seeds: npt.NDArray[np.uint64], *, mirrored: bool) -> dict[str, Any]:
    """From the top. Bin 0 is what is left below all cuts."""
    repetitions, n = scores.shape
    rows, at = np.arange(repetitions), np.array([0, *ranks]) - 1
    starts, sizes = groups_of(scores)
    sums = np.zeros((repetitions, n + 1), np.int32)
    np.cumsum(labels, axis=1, out=sums[:, 1:])

    below = starts[:, at].astype(np.int64)  # of column 0 nothing is used
    past = below + sizes[:, at]
    ones_below, ones_past = (np.take_along_axis(sums, end, axis=1).astype(np.int64) for end in (below, past))
    edge, C, ones = scores[:, at], past - below, ones_past - ones_below
    names = ("T", "x", "r", "f", "y", "k")
    columns: dict[str, Any] = {name: np.zeros_like(C) for name in names}
    is_there, left = np.zeros(C.shape, np.bool_), np.full(repetitions, n)
    for b in range(len(ranks), 0, -1):
        rank, after = ranks[b - 1], [*ranks, n + 1][b]
        cuts = (rank <= left) & (4 * (left - rank + 1) >= 3 * (after - rank))
        columns["T"][:, b] = np.where(cuts, left - below[:, b], 0)
        columns["x"][:, b] = np.where(cuts, sums[rows, left] - ones_below[:, b], 0)
        columns["r"][:, b] = np.where(cuts, rank - below[:, b], 0)
        columns["k"][:, b] = np.where(cuts, ones[:, b], 0)
        is_there[:, b] = cuts
        left = np.where(cuts, below[:, b], left)
    columns["T"][:, 0], columns["x"][:, 0], is_there[:, 0] = left, sums[rows, left], left > 0

    # The digest reads groups in ascending order, and counts what lies below them.
    groups = [edge[:, 1:], below[:, 1:], ones_below[:, 1:], C[:, 1:], ones[:, 1:]]
    if mirrored:
        groups = [g[:, ::-1] for g in (edge[:, 1:], n - past[:, 1:], sums[:, -1:] - ones_past[:, 1:], C[:, 1:], ones[:, 1:])]
    digests = digest_of(seeds, *groups)
    drawn = np.nonzero(columns["r"])
    columns["f"][drawn], columns["y"][drawn] = draw_labels(
        digests[drawn[0]], edge[drawn], C[drawn], ones[drawn], columns["r"][drawn]
    )
    C[:, 0] = 0
    has_edge = (columns["r"] > 0) & (below > 0)
    return {**columns, "C": C, "edge": edge, "has_edge": has_edge, "is_there": is_there, "tied": (C > 1).any(axis=1)}


def groups_of(scores: Array) -> tuple[Integers, Integers]:
    """For each of ascending scores, how many samples lie below it, and how many have it."""
    repetitions, n = scores.shape
    changes, places = scores[:, 1:] != scores[:, :-1], np.arange(1, n, dtype=np.int32)
    below, past = np.zeros((repetitions, n), np.int32), np.full((repetitions, n), n, np.int32)
    np.maximum.accumulate(np.where(changes, places, 0), axis=1, out=below[:, 1:])
    past[:, :-1] = np.minimum.accumulate(np.where(changes, places, n)[:, ::-1], axis=1)[:, ::-1]
    return below, past - below


def _as_without_ties(fits: Fits) -> None:
    """Gupta & Ramdas 2021, Corollary 1: without ties "ze" counts the label of a boundary in the bin below."""
    plain = ~fits.tied[:, None] & (fits.r > 0)
    for part, moved in ((fits.T, plain.astype(np.int64)), (fits.x, np.where(plain, fits.y, 0))):
        part -= moved
        part[:, :-1] += moved[:, 1:]
    for part in (fits.r, fits.f, fits.y):
        part[plain] = 0


def simulated(
    law: Law,
    n: int,
    n_bins: int,
    scheme: str,
    repetitions: int,
    *,
    rng: np.random.Generator,
    seed: int | None = None,
    measure: Callable[[Fits], Array],
) -> Array:
    """The results of `measure` for `repetitions` fits, one row each: all at this seed, or each at a random one."""
    found = []
    for size in blocks(repetitions, n):
        scores, labels = law.draw(rng, (size, n))
        seeds = rng.integers(2**64, size=size, dtype=np.uint64) if seed is None else np.full(size, seed, np.uint64)
        found.append(measure(fit(law, scores, labels, n_bins, scheme, seeds)))
    return np.concatenate(found)


def blocks(repetitions: int, n: int) -> Iterator[int]:
    """How many to draw at once, to bound memory."""
    most = max(1, BLOCK // n)
    for start in range(0, repetitions, most):
        yield min(most, repetitions - start)


def clopper_pearson(x: Integers, n: Integers, level: Array) -> tuple[Array, Array]:
    """Both limits; 0 and 1 without samples."""
    low = np.where(x > 0, betaincinv(np.maximum(x, 1), n - np.maximum(x, 1) + 1.0, level / 2.0), 0.0)
    failures = np.maximum(n - x, 1)
    high = np.where(x < n, betaincinv(n - failures + 1.0, failures, 1.0 - level / 2.0), 1.0)
    return low, high


SHARE_OF_REST = 0.05  # of alpha, in fits with ties


def level_of(fits: Fits, alpha: float, kind: str) -> Array:
    """The failure probability of each bin, of shape (repetitions, bins asked for)."""
    is_rest, of_edges = fits.is_rest, -np.expm1((1.0 - SHARE_OF_REST) * np.log1p(-alpha))
    own = np.where(fits.tied, of_edges, alpha)[:, None]
    if kind != "marginal":
        n_sharing = np.maximum(fits.n_bins - is_rest.sum(axis=1), 1)
        own = -np.expm1(np.log1p(-own) / n_sharing[:, None])
    return np.where(is_rest, (alpha - of_edges) / max(1, fits.T.shape[1] - 1), own)


def hull(fits: Fits, levels: Array) -> tuple[Array, Array]:
    """The intervals of all bins, at their levels; [0, 1] for a missing bin."""
    shape = fits.T.shape
    low, high, levels = np.zeros(shape), np.ones(shape), np.broadcast_to(levels, shape)
    tied = fits.is_there & fits.tied[:, None]
    r, f = (np.where(fits.is_rest, 0, part) for part in (fits.r, fits.f))
    T, x, r, f, own = (part[tied] for part in (fits.T, fits.x, r, f, levels))
    of_parts = np.where((r >= 2) & (8 * r >= T), (r / (T + 1.0)) ** 2, 0.0)
    low[tied], high[tied] = _hull_of(T, x, r, f, (1.0 - of_parts) * own)
    parted = np.zeros(shape, np.bool_)
    parted[tied] = of_parts > 0.0
    columns = (part[parted] for part in (fits.T, fits.x, fits.C, fits.r, fits.k))
    below, above = three_parts(*columns, (of_parts * own)[of_parts > 0.0])
    below, above = np.maximum(below, low[parted]), np.minimum(above, high[parted])
    meet = below <= above
    low[parted], high[parted] = np.where(meet, below, low[parted]), np.where(meet, above, high[parted])
    plain = fits.is_there & ~fits.tied[:, None]
    T, x = fits.T[plain], fits.x[plain]
    if fits.scheme == "umd":
        low[plain], high[plain] = clopper_pearson(x - fits.y[plain], T - fits.r[plain], levels[plain])
    else:  # the label of the boundary is in the sum, in every bin but the last, and nothing else is kept of it
        boundary = np.ones(shape, np.int64)
        boundary[:, -1] = 0
        own = T - boundary[plain]
        low[plain] = clopper_pearson(np.maximum(x - boundary[plain], 0), own, levels[plain])[0]
        high[plain] = clopper_pearson(np.minimum(x, own), own, levels[plain])[1]
    return low, high


def _hull_of(T: Integers, x: Integers, r: Integers, f: Integers, levels: Array) -> tuple[Array, Array]:
    whole, without = clopper_pearson(x, T, levels), clopper_pearson(x - f, T - r, levels)
    return np.minimum(whole[0], without[0]), np.maximum(whole[1], without[1])


def three_parts(T: Integers, x: Integers, C: Integers, r: Integers, k: Integers, levels: Array) -> tuple[Array, Array]:
    """Limits of rates q h + (1 - q) g, from intervals of all three: h at the edge, g above it, and the mass q."""
    of_edge, of_others = clopper_pearson(k, C, 0.45 * levels), clopper_pearson(x - k, T - C, 0.45 * levels)
    masses = truncated(C, T, r, 0.1 * levels)
    rates = [[q * h + (1.0 - q) * g for q in masses] for h, g in zip(of_edge, of_others, strict=True)]
    return np.minimum(*rates[0]), np.maximum(*rates[1])


def truncated(C: Integers, T: Integers, r: Integers, levels: Array) -> tuple[Array, Array]:
    """Both limits of q, where C is binomial (T, q) on the condition C >= r. C - r is at most geometric, for q that are tiny."""
    (C, T, r, levels), places = np.unique(np.stack([C, T, r, levels]), axis=1, return_inverse=True)
    tail, after = levels / 2.0, np.minimum(C + 1, T)
    odds = (r + 1.0) * tail ** (1.0 / np.maximum(C - r, 1))
    tiny = odds / (T - r + odds)
    low, high = tiny, C / T
    for _ in range(40):
        middle = (low + high) / 2.0
        holds = betainc(C, T - C + 1.0, middle) <= tail * betainc(r, T - r + 1.0, middle)
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    lower = np.where(betainc(r, T - r + 1.0, low) < 1e-150, tiny, low)
    low, high = C / T, np.ones(len(C))
    for _ in range(40):
        middle = (low + high) / 2.0
        fewer = betaincc(after, T - after + 1.0, middle) - betaincc(r, T - r + 1.0, middle)
        holds = fewer > tail * betainc(r, T - r + 1.0, middle)
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    return np.where(r < C, lower, 0.0)[places], np.where(C < T, high, 1.0)[places]
