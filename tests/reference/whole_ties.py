"""Uniform-mass binning that never divides a group of equal scores: ``ties="whole"``.

The bins are cut from the top at the ranks of Gupta & Ramdas 2021, Algorithm 1. An edge stands below the whole group of scores
that holds its rank, so the bin of a sample is a function of its score alone. Where a group was so large that the next bin
would hold less than three quarters of its share, that rank is skipped.

For each bin: T samples, x of them with label 1, and C at the score of its edge, k of these with label 1. r of these C stand at
or below the rank of the edge, and can only be counted in the bin because the group was not divided. f is the number of label 1
among r of the C samples that are chosen without looking at labels, y the label of one of the r. The lowest bin has no edge
below it: r = f = y = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from random import Random

from reference.keys import group_digest
from reference.ranks import boundary_ranks
from reference.samples import Row, boundary_groups, check

SCHEMES = ("umd", "ze", "umb")

# Chooses `taken` of the `count` samples at a score, of which `ones` have label 1, by nothing but the digest and these numbers:
# draw(digest, score, count, ones, taken) -> (f, y), the number of label 1 among the chosen, and the label of one of them.
Draw = Callable[[int, float, int, int, int], tuple[int, int]]


def chosen_by(seed: int) -> Draw:
    """The draw as it is defined: samples of the group in random order, the first `taken` of them, and the first one."""
    rng = Random(seed)

    def draw(digest: int, score: float, count: int, ones: int, taken: int) -> tuple[int, int]:
        labels = [1] * ones + [0] * (count - ones)
        rng.shuffle(labels)
        return sum(labels[:taken]), labels[0]

    return draw


@dataclass(frozen=True)
class Cut:
    """An edge: the lowest score of the bin above it, its rank from 1, and how many samples lie below that score.

    Under "umb", where all is mirrored: the highest score of the bin below it, its rank, and how many do not lie above it.
    """

    score: float
    rank: int
    below: int


@dataclass
class WholeBin:
    """The samples of one bin, and what is taken of those at its edge. `cut` is None where the bin has no group at its edge."""

    T: int
    x: int
    cut: Cut | None
    C: int = 0
    r: int = 0
    f: int = 0
    y: int = 0
    k: int = 0


@dataclass
class WholeTies:
    """A fit. `bins` ascend by score, `edges` lie between them."""

    scheme: str
    edges: list[float]
    bins: list[WholeBin]
    n_samples: int
    n_positive: int
    n_bins_asked: int
    n_tied: int
    digest: int
    scores: list[float] = field(repr=False)

    @property
    def n_bins(self) -> int:
        return len(self.bins)

    @property
    def counts(self) -> list[int]:
        """The samples that are averaged: all, but under "umd" the one at the rank of the edge."""
        return [b.T - (self.scheme == "umd" and b.r > 0) for b in self.bins]

    @property
    def label_sums(self) -> list[int]:
        return [b.x - (b.y if self.scheme == "umd" else 0) for b in self.bins]

    @property
    def values(self) -> list[Fraction]:
        return [Fraction(x, n) for x, n in zip(self.label_sums, self.counts, strict=True)]

    @property
    def tie_counts(self) -> list[tuple[int, int, int]]:
        return [(b.r, b.f, b.y) for b in self.bins]

    @property
    def atom_counts(self) -> list[tuple[int, int]]:
        return [(b.C, b.k) for b in self.bins]

    def bin_of(self, score: float) -> int:
        """At an edge: the bin above it, but under "umb" the one below."""
        return sum(score > edge if self.scheme == "umb" else score >= edge for edge in self.edges)


def is_too_thin(below: int, rank: int, next_rank: int) -> bool:
    """Whether a bin from this rank up to the `below` samples that are left would hold less than 3/4 of its share."""
    return rank > below or 4 * (below - rank + 1) < 3 * (next_rank - rank)


def cut_groups(scores: Sequence[float], ranks: Sequence[int]) -> list[Cut]:
    """The cuts among ascending scores, the highest first. What is skipped depends on the cuts above alone."""
    cuts: list[Cut] = []
    below, next_ranks = len(scores), [*ranks, len(scores) + 1][1:]
    for rank, next_rank in reversed(list(zip(ranks, next_ranks, strict=True))):
        if is_too_thin(below, rank, next_rank):
            continue
        score = scores[rank - 1]
        below = sum(s < score for s in scores)
        cuts.append(Cut(score, rank, below))
    return cuts


def whole_ties(
    scores: Sequence[float],
    labels: Sequence[int],
    n_bins: int,
    scheme: str = "umd",
    *,
    draw: Draw,
    seed: int = 0,
    weights: Sequence[int] | None = None,
    score_range: tuple[float, float] = (0.0, 1.0),
) -> WholeTies:
    """Fit "umd", "ze" or "umb". `weights` are frequencies: a sample is repeated."""
    check(scores, labels, *score_range)
    frequencies = weights if weights is not None else [1] * len(scores)
    rows: list[Row] = []
    for score, label, frequency in zip(scores, labels, frequencies, strict=True):
        rows += [(score + 0.0, label, 1.0, 0)] * frequency  # -0.0 + 0.0 is 0.0
    rows.sort()
    n = len(rows)
    if n < (n_bins if scheme == "umb" else 2 * n_bins - 1):
        raise ValueError(f"{n} samples for {n_bins} bins")
    ranks = [n * b // n_bins for b in range(1, n_bins)] if scheme == "umb" else boundary_ranks(n, n_bins)
    groups = boundary_groups(rows, ranks)
    digest = group_digest(seed, groups)

    # "umb" counts a boundary in the bin below it: the mirror image, in which ranks are counted from the top.
    mirrored = scheme == "umb"
    ascending = sorted(((-row[0] if mirrored else row[0]), row[1]) for row in rows)
    cuts = cut_groups([score for score, _ in ascending], [n + 1 - k for k in reversed(ranks)] if mirrored else ranks)
    bins = _tally(ascending, cuts, draw, digest, mirrored=mirrored)
    edges = [b.cut.score for b in bins[1:] if b.cut is not None]
    if mirrored:
        bins, edges = [_mirrored_back(b, n) for b in reversed(bins)], [-score + 0.0 for score in reversed(edges)]

    n_tied = sum(count for _, _, _, count, _ in groups if count > 1)
    if scheme == "ze" and n_tied == 0:
        _move_boundary_labels_down(bins)
    n_positive = sum(row[1] for row in rows)
    return WholeTies(scheme, edges, bins, n, n_positive, n_bins, n_tied, digest, [row[0] for row in rows])


def _tally(samples: list[tuple[float, int]], cuts: list[Cut], draw: Draw, digest: int, *, mirrored: bool) -> list[WholeBin]:
    """The bins in ascending order. If no sample lies below the last cut, its bin is the lowest and serves all lower scores."""
    bins, end = [], len(samples)
    for cut in cuts:
        labels_at = [label for score, label in samples if score == cut.score]
        taken, ones = cut.rank - cut.below, sum(labels_at)
        f, y = draw(digest, -cut.score + 0.0 if mirrored else cut.score, len(labels_at), ones, taken)
        x = sum(label for _, label in samples[cut.below : end])
        bins.append(WholeBin(end - cut.below, x, cut, len(labels_at), taken, f, y, ones))
        end = cut.below
    if end > 0:
        bins.append(WholeBin(end, sum(label for _, label in samples[:end]), None))
    return bins[::-1]


def _mirrored_back(b: WholeBin, n: int) -> WholeBin:
    cut = None if b.cut is None else Cut(-b.cut.score + 0.0, n + 1 - b.cut.rank, n - b.cut.below)
    return replace(b, cut=cut)


def _move_boundary_labels_down(bins: list[WholeBin]) -> None:
    """Without ties "ze" is Gupta & Ramdas 2021, Corollary 1, which averages the label of a boundary in the bin below it."""
    for below, above in pairwise(bins):
        below.T, below.x = below.T + 1, below.x + above.y
        above.T, above.x = above.T - 1, above.x - above.y
        above.cut, above.C, above.r, above.f, above.y, above.k = None, 0, 0, 0, 0, 0
