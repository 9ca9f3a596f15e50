"""Edges on the score line, from the boundary samples among all samples or among a part of them, and which bin counts each row.

Samples are ordered by (score, key). Within a group of equal scores the label-1 samples come first, then, if weighted, the
lighter ones (then, if the caller brought keys, by key). Sample j of that order has the key ``group_key(digest, score, j)``, or
the caller's. The digest is that of the seed and the boundary groups, or of all rows where these are split first, because a
split comes before the boundaries. So a model depends on which samples there are, and not on the order in which they came.

An edge of a fit has two running totals: how many samples, and how many with label 1, come before the end of the bin below it
(`ends`), and before the start of the bin above it (`starts`). Between the two lie boundary samples that no bin counts. Each tie
rule is one way to make such edges from boundary samples; everything after that is common to all. (`whole_bins` keeps groups of
equal scores whole, and needs no keys.)
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache, lru_cache, reduce
from itertools import pairwise
from operator import add
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s, UInt8s, UInt64s
from fastbin._base.checks import ScoreRange, are_probabilities, check_labels, no_samples
from fastbin._base.errors import InputError, by_name
from fastbin._base.ranks import FINE_PLACES, MOST_STEPS, boundary_ranks, ranks_of_sums, slice_ranks
from fastbin._base.shown import how_many
from fastbin._core.fit import (
    bins_of_groups,
    cut_groups,
    group_fingerprint,
    group_keys,
    merge_edges,
    n_tied,
    rows_digest,
    slices_of_groups,
    split_keys,
    step_ranks,
    tally_between,
)
from fastbin._fit.quantiles import NO_RANKS, Boundaries, Source, groups_at, run_starts
from fastbin._fit.rows import Rows, RowsSource, limits_of
from fastbin._fit.tally import (
    KEY_ABOVE,
    KEY_BELOW,
    ExactSums,
    Partition,
    Tally,
    can_hold_scores,
    tally_rows,
    without_empty_edges,
)
from fastbin.model import BinnedModel

if TYPE_CHECKING:
    from fastbin._fit.tally import Tally


# Rows weighed at a time, each with a dozen intermediate numbers.
WEIGH_BLOCK = 2**13

# Rows that frequencies repeat are held in memory, some 60 bytes a sample.
MOST_SPLIT = 2**27


def samples_needed(n_bins: int, scheme: str) -> tuple[int, str]:
    """How many samples the bins of a scheme need, and why."""
    if scheme == "umb":
        return n_bins, "one per bin"
    if scheme == "ums":
        return n_bins + 1, "one per bin in the first part and one in the second"
    return 2 * n_bins - 1, "2 n_bins - 1, so that no bin is empty"


def least_with_part(share: float | Fraction, part: int) -> int:
    """The least number of samples of which a share, rounded down, holds so many."""
    n = math.floor(part / share)
    while math.floor(share * n) < part:
        n += 1
    return n


def require_samples(n_samples: int, n_bins: int, scheme: str) -> None:
    """Refuse fewer samples than the bins of a scheme need."""
    needed, reason = samples_needed(n_bins, scheme)
    if n_samples < needed:
        raise InputError(
            (
                f"{how_many(n_samples, 'sample', 'is', 'are')} too few for ",
                by_name("n_bins", n_bins),
                f" under scheme {scheme!r}, which needs at least {needed} ({reason})",
            ),
            "take fewer bins or more samples",
        )


def resolve_n_bins(n_bins: int | str, n_samples: int) -> int:
    """The number of bins, where "auto" depends on the number of samples alone."""
    if not isinstance(n_bins, str):
        return n_bins
    from fastbin.guarantees import auto_n_bins

    return auto_n_bins(max(1, n_samples))


def choose_n_bins(n_bins: int | str, n_samples: int, scheme: str, split: float) -> int:
    """The number of bins of a scheme for so many samples, which must be enough for it."""
    if n_samples == 0:  # there are rows: no rows are refused before
        raise no_samples()
    if isinstance(n_bins, str):
        return resolve_n_bins(n_bins, math.floor((1 - split) * n_samples) if scheme == "ums" else n_samples)
    require_samples(n_samples, n_bins, scheme)
    return n_bins


def find_boundaries(rows: Rows, n_bins: int, scheme: str, n_threads: int = 1) -> Boundaries:
    """The boundaries of a scheme among all rows. Time O(n)."""
    return RowsSource(rows, n_threads).find(lambda n_samples: boundary_ranks(n_samples, n_bins, scheme), n_bins - 1)


class Sought(NamedTuple):
    """Ranks to be found by one search: `ranks`, ascending, and which of them are asked for, and which cut slices."""

    ranks: Int64s
    asked: Int64s
    cuts: Int64s

    @classmethod
    def of(cls, asked: Int64s, n_samples: int) -> Sought:
        cuts = slice_ranks(n_samples)
        ranks = np.sort(np.concatenate([asked, cuts]))
        ranks = ranks[run_starts(ranks)]
        return cls(ranks, np.searchsorted(ranks, asked), np.searchsorted(ranks, cuts))


def find_with_slices(
    source: Source, sought_of: Callable[[int], Sought], n_ranks: int, seed: int
) -> tuple[Boundaries, dict[str, Any]]:
    """The boundaries at the ranks that are asked for, and the parts of a model that say its slices; one search finds both.

    No parts where samples are too few, or too many, or have importance weights. Samples of one score stand in a random order,
    seeded by a digest of the seed and of the groups at cuts.
    """
    sought_of = cache(sought_of)
    found = source.find(lambda n_samples: sought_of(n_samples).ranks, n_ranks)
    ranks, asked, cuts = sought_of(found.n_samples)
    boundaries = found if len(asked) == len(ranks) else found.take(asked)
    if len(cuts) == 0 or source.weighted() is not None:  # whether rows have weights is known after a pass
        return boundaries, {}
    groups = found.take(cuts)
    return boundaries, {
        "slice_cuts": groups.score, "slice_label_sums": slices_of_groups(groups[:7], groups.ranks, seed)
    }  # fmt: skip


def order_cuts(groups: Boundaries, seed: int, rows: Rows | None = None) -> tuple[UInt64s, Int64s, Int64s]:
    """The keys of the boundary samples, how many samples with label 1 are of lower rank, and 1 where their own label is.

    They are found inside their groups by the keys of `rows`, where the caller brought some. Time O(len(ranks)) plus the sizes
    of tied groups.
    """
    within = groups.ranks - groups.below
    if rows is None or rows.keys is None:
        key, before, is_one = cut_groups(groups.digest(seed), groups.score, groups.equal, groups.equal_ones, within)
    else:
        key, before, is_one = _cut_by_keys(rows, groups.score, within)
    return key, groups.below_ones + before, is_one


def _cut_by_keys(rows: Rows, cuts: Float64s, ranks: Int64s) -> tuple[UInt64s, Int64s, Int64s]:
    """As `fastbin._core.fit.cut_groups` for groups of these scores, by the keys that the caller brought."""
    assert rows.keys is not None
    at = np.flatnonzero(np.isin(rows.scores, cuts))
    scores, labels, keys = rows.scores[at].astype(np.float64), rows.labels[at].astype(np.int64), rows.keys[at]
    order = np.lexsort((keys, scores))
    scores, labels, keys = scores[order], labels[order], keys[order]
    first = np.searchsorted(scores, cuts)
    at = first + ranks - 1
    _refuse_repeated(scores, keys, cuts, keys[at])
    ones_before = np.concatenate([[0], np.cumsum(labels)])
    return keys[at], ones_before[at] - ones_before[first], labels[at]


def _refuse_repeated(scores: Float64s, keys: UInt64s, cuts: Float64s, cut_keys: UInt64s) -> None:
    """Refuse a boundary sample that shares its score and its key: an edge could not stand between the two."""
    for score, key in zip(cuts, cut_keys, strict=True):
        span = slice(np.searchsorted(scores, score), np.searchsorted(scores, score, side="right"))
        if np.count_nonzero(keys[span] == key) > 1:
            raise InputError(
                f"tie_keys holds {int(key)} more than once among rows with the score {float(score)!r}, where a bin boundary "
                "falls on it; keys must differ within one score"
            )


def sort_samples(
    scores: Float64s, labels: UInt8s, weights: Float64s | None, keys: UInt64s | None, key_seed: int
) -> tuple[Int64s, Int64s, UInt64s]:
    """Order whole groups of equal scores by (score, key); `key_seed` is the digest. Time O(n log n).

    Returns the positions of the samples, their places within the group before keys, and their keys.
    """
    columns: list[Array] = [1 - labels.astype(np.int8), scores]
    for column in (weights, keys):  # the last column sorts first
        if column is not None:
            columns.insert(0, column)
    order = np.lexsort(columns)
    ascending = scores[order]
    places = np.arange(len(order)) - np.searchsorted(ascending, ascending)
    sample_keys = group_keys(key_seed, ascending, places) if keys is None else keys[order]
    by_key = np.lexsort((places, sample_keys, ascending))
    return order[by_key], places[by_key], sample_keys[by_key]


class Edges(NamedTuple):
    """One entry per edge, ascending; `ends` and `starts` are (2, edges): samples, and those with label 1."""

    edge: Float64s
    edge_key: UInt64s
    ends: Int64s
    starts: Int64s


def edges_of(groups: Boundaries, ties: str, scheme: str, seed: int, rows: Rows | None = None) -> Edges:
    """The edges of a tie rule that looks at boundary samples one by one, "random" or "upper"; `rows` as in `order_cuts`.

    A boundary sample is counted in the bin below its edge by "ze" and "umb", and by no bin otherwise; at prediction it lies
    below its edge by "umb" (Sun, Song & Hero 2023, Definition 6), above it otherwise (Gupta & Ramdas 2021, Algorithm 1).
    """
    key, ones_before, is_one = order_cuts(groups, seed, rows)
    counts_cuts = scheme in ("ze", "umb")
    if ties == "random":
        past = np.array([groups.ranks, ones_before + is_one])
        # The first key above the boundary sample's own is the next one.
        edge_key = key + np.uint64(1) if scheme == "umb" else key
        return Edges(groups.score, edge_key, past if counts_cuts else np.array([groups.ranks - 1, ones_before]), past)
    first = run_starts(groups.score)
    score, repeats = groups.score[first], np.diff(first, append=len(groups.score))
    below = np.array([groups.below[first], groups.below_ones[first]])
    # All boundary samples of one score stand at its single edge.
    after = below + np.array([repeats, np.add.reduceat(is_one, first) if len(first) else repeats])
    return Edges(score, np.full(len(score), KEY_ABOVE, np.uint64), after if counts_cuts else below, after)


def _without_empty_bins(partition: Partition, scores: Array) -> Partition:
    """Without the edges that have no score between themselves and the next one, or none above them or below all."""
    counts = np.bincount(partition.assign(scores), minlength=partition.n_bins)
    filled = np.flatnonzero(counts)
    kept = filled[1:] - 1  # each bin that holds scores begins at its own edge, the lowest at none
    return Partition(partition.edges[kept], partition.edge_keys[kept], partition.score_range)


class Fitted(NamedTuple):
    """The bins of a fit: their tally, and the groups among all samples that hold a boundary."""

    partition: Partition
    tally: Tally
    groups: Boundaries
    ties: str
    n_tied: int
    tie_counts: Int64s | None = None  # (n_bins, 3), where whole groups of equal scores lie at edges: r, f and y of `whole_bins`
    edges_share: float = 1.0
    atom_counts: Int64s | None = None  # (n_bins, 2): the samples at the edge of each bin, and those of them with label 1

    def origin(self) -> dict[str, Any]:
        """The parts of a model that say where its bins come from."""
        edges, groups, score_range = self.partition.edges, self.groups, self.partition.score_range
        names = ("tie_counts", "atom_counts", "edges_share") if self.tie_counts is not None else ()
        whole = {name: getattr(self, name) for name in names}
        return {
            "edges": edges, "edge_keys": self.partition.edge_keys, "n_samples": groups.n_samples,
            "n_positive": groups.n_positive, "ties": self.ties, "n_tied": self.n_tied, "score_range": score_range,
            "fingerprint": fit_fingerprint(edges, self.ties, score_range, groups), **whole,
        }  # fmt: skip


def bins_between(
    groups: Boundaries, ties: str, scheme: str, seed: int, score_range: ScoreRange, *, rows: Rows | None = None,
    weighted: Iterable[Rows] | None = None,
) -> Fitted:  # fmt: skip
    """The bins between the edges of `edges_of`, and what they count; `weighted` are all rows, if they have weights."""
    edges = edges_of(groups, ties, scheme, seed, rows)
    totals = np.array([[groups.n_samples], [groups.n_positive]])
    sums = np.concatenate([edges.ends, totals], axis=1)
    sums[:, 1:] -= edges.starts
    partition = without_empty_edges(edges.edge, edges.edge_key, score_range)
    if partition.n_bins < sums.shape[1]:
        kept = can_hold_scores(edges.edge, edges.edge_key, score_range)
        sums = np.add.reduceat(sums, np.concatenate([[0], np.flatnonzero(kept) + 1]), axis=1)
    tally = Tally(*sums)
    if weighted is not None:
        tally.weights = weigh_rows(weighted, partition, groups, scheme, ties, seed)
    return Fitted(partition, tally, groups, ties, n_tied(groups.score, groups.equal))


class Split(NamedTuple):
    """All samples, ordered by (score, key), and the part that each is in."""

    samples: Rows
    part: Array
    position: Int64s  # where each sample stood before, among rows that are repeated by their frequencies
    own_keys: bool  # keys that the caller brought

    def take(self, part: int) -> Rows:
        """The samples of one part, with their keys and importance weights."""
        return self.samples.take(self.part == part)

    def fit_bins(self, n_bins: int, ties: str, cuts: str = "equal-mass") -> Fitted:
        """Bins of equal shares of the last part but one, and the tally of the last part in them.

        Boundary j is the sample of rank ceil(j n / n_bins) of its part, or for the cuts "expected-positives" that of
        `ranks_of_sums`; it lies above its edge. With whole ties so do all samples of its score, and an edge that would leave a
        bin without samples of the last part goes, whatever their labels.
        """
        part = int(self.part.max()) - 1
        samples = self.samples
        inside = np.flatnonzero(self.part == part)
        cut = inside[self._ranks(inside, n_bins, cuts) - 1]
        score, key = samples.scores[cut], samples.keys[cut]  # type: ignore[index]
        if self.own_keys:
            _refuse_repeated(samples.scores, samples.keys, score, key)  # type: ignore[arg-type]
        edge_keys = key if ties == "random" else np.full(len(cut), KEY_ABOVE, np.uint64)
        groups = groups_at(np.unique(score), samples.scores, samples.labels)
        tied = n_tied(groups.score, groups.equal)
        partition, counted = without_empty_edges(score, edge_keys, samples.score_range), self.take(part + 1)
        if ties == "whole":
            partition, ties = _without_empty_bins(partition, counted.scores), "upper"
        return Fitted(partition, tally_rows(partition, counted), groups, ties, tied)

    def _ranks(self, inside: Int64s, n_bins: int, cuts: str) -> Int64s:
        if cuts == "equal-mass":
            return boundary_ranks(len(inside), n_bins, "ums")
        with np.errstate(over="ignore"):
            sums = np.cumsum(self.samples.scores[inside])
        if not 0.0 < sums[-1] < math.inf:
            problem = f"is {cuts!r}, and the {len(inside)} scores that place the edges add up to {sums[-1]:g}"
            remedy = "pass scores that are expected rates, or take ", by_name("cuts", "equal-mass")
            raise InputError(problem, remedy, argument="cuts", value=cuts)
        return ranks_of_sums(sums, n_bins)


def first_part(share: float, n: int, n_bins: int) -> tuple[int]:
    """The size of the part that places the boundaries, floor(share n), which must be enough for them."""
    n_first = math.floor(share * n)
    if n_first < n_bins or n_first == n:
        raise InputError(
            f"split={share!r} puts {n_first} of {n} samples into the part that places the boundaries",
            ("it needs at least ", by_name("n_bins", n_bins), ", and the other part at least one"),
        )
    return (n_first,)


def split_samples(rows: Rows, seed: int, sizes: tuple[int, ...]) -> Split:
    """The samples with the least split keys form part 0, the next part 1, ...; the last is what the sizes leave. O(n log n).

    Checks the values of scores and labels. The parts depend on which samples there are and the seed, not on where the rows
    stood: the keys are seeded by a digest of both.
    """
    scores, labels = rows.checked()
    weights, keys = rows.weights, rows.keys
    if rows.frequencies is not None:
        if rows.n_samples() > MOST_SPLIT:
            raise InputError(
                f"adds up to {rows.n_samples()} samples",
                "a split gives each a key, so at most 2**27 are divided: divide the frequencies, or choose a method that does "
                "not split",
                argument="sample_weight",
            )
        scores, labels = np.repeat(scores, rows.frequencies), np.repeat(labels, rows.frequencies)
    contiguous = None if weights is None else np.ascontiguousarray(weights)
    key_seed = rows_digest(seed, scores, np.ascontiguousarray(labels), contiguous)
    position, places, sample_keys = sort_samples(scores, labels, weights, keys, key_seed)
    scores, labels = scores[position], labels[position]
    by_split_key = np.lexsort((places, scores, split_keys(key_seed, scores, places)))
    part = np.empty(len(scores), np.int8)
    part[by_split_key] = np.searchsorted(np.cumsum(sizes), np.arange(len(scores)), side="right")
    samples = Rows(scores, labels, None, rows.score_range, None if weights is None else weights[position], sample_keys)
    return Split(samples, part, position, rows.keys is not None)


def bins_of_rows(rows: Rows, partition: Partition, groups: Boundaries, scheme: str, ties: str, seed: int) -> Int64s:
    """The bin that counts each row: where predict puts it, but for the boundary rows of "umd" and "ze".

    Those are counted by no bin (-1), or by the bin below their edge. Time O(n) plus sorting the boundary groups.
    """
    bins = partition.assign(rows.scores, tie_keys=np.zeros(len(rows), np.uint64))
    at = np.flatnonzero(np.isin(rows.scores, groups.score))
    inside = rows.take(at)
    scores = np.asarray(inside.scores, np.float64)
    position, _, keys = sort_samples(scores, check_labels(inside.labels), inside.weights, inside.keys, groups.digest(seed))
    scores, at = scores[position], at[position]
    bins[at] = partition.assign(scores, tie_keys=keys)

    if scheme == "umb":
        return bins
    below = groups.below[np.searchsorted(groups.score, scores)]
    rank = below + np.arange(len(scores)) - np.searchsorted(scores, scores) + 1
    is_cut = np.isin(rank, groups.ranks)
    bins[at[is_cut]] = -1
    if scheme == "ze":
        edges = list(zip(partition.edges.tolist(), partition.edge_keys.tolist(), strict=True))
        edge_keys = np.zeros_like(keys) if ties == "upper" else keys
        pairs = zip(scores[is_cut].tolist(), edge_keys[is_cut].tolist(), strict=True)
        bins[at[is_cut]] = [bisect_left(edges, pair) for pair in pairs]
    return bins


def weigh_rows(parts: Iterable[Rows], partition: Partition, groups: Boundaries, scheme: str, ties: str, seed: int) -> ExactSums:
    """The weight sums of the bins that `bins_of_rows` would give, for rows that come in parts.

    A row lies where its score says, unless that is the score of a boundary: then its place among all rows of that score
    decides, and so these are collected, and weighed last. Time O(n), memory for what is collected.
    """
    sums = ExactSums(3 * partition.n_bins)
    # Bins of odd number are the scores of boundaries: each lies between two edges, below and above its ties.
    scores = groups.score[run_starts(groups.score)]
    boundaries = Partition(np.repeat(scores, 2), np.tile(np.array([KEY_ABOVE, KEY_BELOW], np.uint64), len(scores)))
    collected: list[Rows] = []
    for rows in parts:
        assert rows.weights is not None
        for start, block in rows.blocks(WEIGH_BLOCK):
            part = rows.take(slice(start, start + len(block.scores)))
            no_keys = np.zeros(len(part), np.uint64)
            bins = partition.assign(block.scores, tie_keys=no_keys)
            at_boundary = boundaries.assign(block.scores, tie_keys=no_keys) % 2 == 1
            bins[at_boundary] = -1
            sums.add_rows(bins, block.labels, part.weights)  # type: ignore[arg-type]
            collected.append(part.take(at_boundary))
    together = _joined(collected)
    collected.clear()
    for chosen in _whole_groups(together.scores):
        rows = together.take(chosen)
        bins = bins_of_rows(rows, partition, groups, scheme, ties, seed)
        sums.add_rows(bins, rows.labels, rows.weights)  # type: ignore[arg-type]
    return sums


def _joined(parts: list[Rows]) -> Rows:
    """The rows of several parts as one, in float64."""
    names = ("scores", "labels", "weights", "keys")
    columns = [[getattr(part, name) for part in parts] for name in names]
    scores, labels, weights, keys = (None if column[0] is None else np.concatenate(column) for column in columns)
    return Rows(np.asarray(scores, np.float64), labels, None, parts[0].score_range, weights, keys)  # type: ignore[arg-type]


def _whole_groups(scores: Float64s) -> Iterator[Int64s]:
    """The positions of all rows, some groups of equal scores at a time: about WEIGH_BLOCK rows, or one group that has more."""
    in_order = np.argsort(scores, kind="stable")
    starts = run_starts(scores[in_order])
    firsts = starts[run_starts(starts // WEIGH_BLOCK)]
    for start, stop in pairwise(np.append(firsts, len(scores)).tolist()):
        yield in_order[start:stop]


# ------------------------------------------------------------------ whole groups of equal scores
# ties="whole": a score lies in one bin, always. The boundaries are at the ranks of Gupta & Ramdas (2021), Algorithm 1, but an
# edge never divides a group of equal scores: all of the group goes above it (below it for "umb", the mirror image of what
# follows). Edges are placed from the highest score down. A rank is skipped where the samples above it have been used up by
# ties, or would leave its bin less than three quarters of its share, which depends on the scores above alone.
#
# Given the edges, a bin holds independent draws under one condition: at least r of them are at its edge, r being the rank of
# the cut among the samples at the edge, from below. So a promise about it uses its label sum with and without r samples at the
# edge (`fastbin.guarantees`). Which labels these have is drawn here: f of them have label 1, and one of them, with the label y,
# is left out of the mean, as the boundary sample is that Gupta & Ramdas leave out. The rule itself is compiled, for a fit of
# many segments places the edges of each.


def ties_cost_bins(counts: Int64s, tie_counts: Int64s | None, asked: int, scheme: str = "umd") -> bool:
    """Whether ties took bins away so that the promise suffers, which a fit warns of; `counts` are T, `tie_counts` r, f and y.

    True where at most half of the bins are left, which tell far fewer scores apart; or where a bin, without the r samples that
    ties placed at its edge (Theorem F1), keeps fewer than half of its T samples or of an equal share of all samples: one heavy
    score begins it, and the hull of F1 may be much wider; not so the outermost bin, all samples of which count where its edge
    is not written (Theorem F14). Sizes alone decide, never labels. Other fits with fewer bins than asked for are not worth a
    word: their certificates are about as narrow as without ties, those of forests among them.
    """
    left = len(counts)
    if left >= asked:
        return False
    placed = np.zeros(left, np.int64) if tie_counts is None else tie_counts[:, 0].copy()
    placed[-1 if scheme == "umb" else 0] = 0
    wanted = np.maximum(counts, np.sum(counts) / asked)
    return 2 * left <= asked or bool(np.any(2 * (counts - placed) < wanted))


# How the warnings begin that ties cost bins, of values and of evidence.
FEWER_BINS = ("ties='whole' left", "ties left")


def on_fewer_bins(left: int, asked: int, *, may_share: bool = False) -> str:
    """The text of the warning of a fit whose promise suffers by the bins that ties took away (`ties_cost_bins`)."""
    remedy = "one probability for each score allows no more"
    if may_share:
        remedy += (
            "; on other data of this kind, edges_share=0.25 may give narrower intervals (more than 30 rows a distinct score)"
        )
    return f"ties='whole' left {left} of the {asked} bins that were asked for: {remedy}"


def whole_bins(
    boundaries: Boundaries, scheme: str, seed: int, score_range: ScoreRange, weighted: Iterable[Rows] | None = None,
    *, among_all: Boundaries | None = None, edges_share: float = 1.0, tied: int | None = None,
) -> Fitted:  # fmt: skip
    """The bins of "umd", "ze", "umb" or "scaling-binning" between whole groups, and their tally.

    "umd" leaves one sample at each edge out; the others count all, where equal scores lie at edges. `weighted` are all rows, if
    they have importance weights: a mean is that of all rows of its bin. Where a share of the samples placed the boundaries,
    `among_all` holds the groups of the same scores among all. `tied` are the samples that share a score at a cut, where there
    are more cuts than these boundaries.

    Without a tie at a boundary these are the bins of Algorithm 1, its boundary samples left out or averaged as ever. O(n_bins)
    and one number drawn per tied group; with weights O(n).
    """
    groups = boundaries
    everyone = seen = groups if among_all is None else among_all
    if tied is None:
        tied = n_tied(everyone.score, everyone.equal)
    mirrored = scheme == "umb" and tied > 0
    if mirrored:
        groups, everyone = groups.mirrored(), everyone.mirrored()
    digest = boundaries.digest(seed)
    kept, counts, label_sums, ties, atoms = bins_of_groups(groups, groups.ranks, everyone, tied, scheme == "umd", digest)
    edges = groups.score[kept]
    if mirrored:
        edges = edges[::-1].copy()
        counts, label_sums, ties, atoms = (column[::-1].copy() for column in (counts, label_sums, ties, atoms))
    edge_keys = np.full(len(edges), KEY_BELOW if scheme == "umb" else KEY_ABOVE, np.uint64)
    partition, tally = Partition(edges, edge_keys, score_range), Tally(counts, label_sums)
    if not tied:
        # Boundary samples that share their scores with no other: Algorithm 1.
        rule = "lower" if scheme == "umb" else "upper"
        if weighted is not None:
            tally.weights = weigh_rows(weighted, partition, boundaries, scheme, rule, seed)
        return Fitted(partition, tally, everyone, rule, 0)
    if weighted is not None:
        # All rows are averaged, so none is left out, and no interval can be made of them.
        tally = reduce(add, (tally_rows(partition, rows) for rows in weighted))
        return Fitted(partition, tally, seen, "whole", tied, np.zeros_like(ties), edges_share)
    return Fitted(partition, tally, seen, "whole", tied, ties, edges_share, atoms)


def share_bins(rows: Rows, n_bins: int, scheme: str, seed: int, share: float) -> Fitted:
    """The bins between whole groups, with edges from a random share of the samples and the tally of all. O(n log n)."""
    n = rows.n_samples()
    n_first = math.floor(share * n)
    if n_first < 2 * n_bins - 1:
        raise InputError(
            (by_name("edges_share", share), f" leaves {n_first} of {n} samples to place the edges"),
            (by_name("n_bins", n_bins), f" needs at least {2 * n_bins - 1}"),
        )
    split = split_samples(rows, seed, (n_first,))
    samples, first = split.samples, split.take(0)
    ranks = boundary_ranks(n_first, n_bins, scheme)
    score = first.scores[ranks - 1]
    boundaries = groups_at(score, first.scores, first.labels)._replace(ranks=ranks)
    among_all = groups_at(score, samples.scores, samples.labels)
    weighted = None if samples.weights is None else [samples]
    return whole_bins(boundaries, scheme, seed, rows.score_range, weighted, among_all=among_all, edges_share=share)


# ------------------------------------------------------------------ evidence bins and steps
# The ground of a model of two resolutions. All cuts are ranks known from the numbers of samples and bins alone, so that one
# search answers for bins and steps: the groups of equal scores at the cuts tell how many samples, and how many with label 1,
# lie below each. A step begins at a whole group.


class FittedSteps(NamedTuple):
    """Bins with their evidence, and the steps: `edges` (J - 1,), the rest one entry a step."""

    bins: Fitted
    edges: Float64s
    scores: Float64s  # the score that stands for a step
    tally: Tally
    first_step: Int64s  # of each bin
    unlabelled: Int64s | None = None
    slices: Mapping[str, Array] = MappingProxyType({})  # the parts of a model that say its slices

    def parts(self) -> dict[str, Array | None]:
        """The parts of a model that say its steps; nothing where each bin is one step."""
        if len(self.edges) == self.bins.partition.n_bins - 1:
            return {}
        return {
            "edges": self.edges, "edge_keys": np.zeros(len(self.edges), np.uint64), "first_step": self.first_step,
            "step_counts": self.tally.counts, "unlabelled_counts": self.unlabelled,
        }  # fmt: skip


@lru_cache(maxsize=32)  # segments, folds and repeated fits are of few sizes
def cut_ranks(n: int, n_bins: int, fine: bool) -> Int64s:
    """The ranks that `fit_steps` asks for: those of all cuts, and 1, where the least score is. Not to be written to."""
    ranks = step_ranks(n, n_bins, fine)
    if len(ranks) == 0 or ranks[0] > 1:
        ranks = np.concatenate([[1], ranks])
    ranks.flags.writeable = False
    return ranks


@lru_cache(maxsize=32)
def sought_cuts(n: int, n_bins: int, fine: bool) -> Sought:
    """These ranks, and those between slices."""
    return Sought.of(cut_ranks(n, n_bins, fine), n)


@lru_cache(maxsize=32)
def places_of_boundaries(n: int, n_bins: int, fine: bool) -> Int64s:
    """Where the boundaries of bins stand among these ranks. Not to be written to."""
    places = np.searchsorted(cut_ranks(n, n_bins, fine), boundary_ranks(n, n_bins, "umd"))
    places.flags.writeable = False
    return places


def fit_steps(
    groups: Boundaries, n_bins: int, seed: int, score_range: ScoreRange,
    weighted: Callable[[], Iterable[Rows] | None] = lambda: None, *, fine: bool = False, labelled: Float64s | None = None,
) -> FittedSteps:  # fmt: skip
    """The bins and steps of the groups at `cut_ranks`; `weighted` is that of their source.

    With `fine`, a step around every distinct score of the groups (of `labelled`, ascending, where other scores
    have no label: then `groups` need not hold all scores, and the tally of the steps is left to the caller).
    """
    bins = _evidence_bins(groups, n_bins, seed, score_range, weighted, fine=fine)
    bin_edges = bins.partition.edges
    if fine:
        edges, scores = fine_edges(groups.score if labelled is None else labelled, bin_edges, score_range)
    else:
        # The lower edge stands for a step, and the least score of all for the lowest.
        starts = run_starts(groups.score)
        edges = groups.score[starts[groups.below[starts] > 0]]
        scores = np.append(groups.score[0], edges)
    passing = weighted()
    if passing is None:
        tally = Tally(*tally_between(groups, edges))
    else:
        partition = Partition(edges, None, score_range)
        tally = reduce(add, (tally_rows(partition, rows) for rows in passing))
    return FittedSteps(bins, edges, scores, tally, np.append(0, np.searchsorted(edges, bin_edges) + 1))


def _evidence_bins(
    groups: Boundaries, n_bins: int, seed: int, score_range: ScoreRange, weighted: Callable[[], Iterable[Rows] | None], *,
    fine: bool,
) -> Fitted:  # fmt: skip
    """The bins between the boundaries among the cuts: a tie at any cut makes all of them those of whole ties.

    The first rank asks for the least score and cuts nothing. Where all scores are cuts, a tie there has the second rank, too.
    """
    tied = n_tied(groups.score[1:], groups.equal[1:])
    evidence = groups.take(places_of_boundaries(groups.n_samples, n_bins, fine))
    return whole_bins(evidence, "umd", seed, score_range, weighted(), tied=tied)


@cache
def logit_places() -> Float64s:
    """The places of fine steps for probabilities: their logits are -12, -11.875, ..., 12.

    Below 1/2 rounded to six digits, above the mirror image, so that every mathematical library gives the same.
    """
    half = FINE_PLACES // 2
    below = [float(f"{1.0 / (1.0 + math.exp(12.0 - 12.0 * k / half)):.6g}") for k in range(half)]
    return np.array([*below, 0.5, *(1.0 - p for p in reversed(below))])


def _places(scores: Float64s, score_range: ScoreRange) -> Float64s:
    """Where fine steps begin, beside the middles between scores; other scores than probabilities are extended by half."""
    if are_probabilities(score_range):
        return logit_places()
    along = np.arange(FINE_PLACES) / (FINE_PLACES // 2) - 0.5
    with np.errstate(over="ignore", invalid="ignore"):
        places = scores[0] * (1.0 - along) + scores[-1] * along
    return np.sort(places[np.isfinite(places)])  # what is infinite begins no step; roundings may cross


def fine_edges(scores: Float64s, bin_edges: Float64s, score_range: ScoreRange) -> tuple[Float64s, Float64s]:
    """The edges of fine steps around ascending scores, and the score that stands for each step (`merge_edges`)."""
    return merge_edges(scores, _places(scores, score_range), bin_edges, *limits_of(score_range))


def fit_pooled_steps(
    pooled: RowsSource, labelled: Rows, n_bins: int, seed: int, score_range: ScoreRange, *, fine: bool = False
) -> FittedSteps:
    """The same where `pooled` are labelled and other scores together: tallies are those of the labelled rows."""
    groups = pooled.find(lambda n_samples: cut_ranks(n_samples, n_bins, fine), MOST_STEPS)
    scores, labels = labelled.checked()
    distinct = np.unique(scores) if fine else None
    fitted = fit_steps(groups, n_bins, seed, score_range, fine=fine, labelled=distinct)
    if fitted.bins.n_tied:
        raise InputError(
            f"unlabelled was given, and {fitted.bins.n_tied} scores at the cuts of bins and steps are shared by several "
            "samples; the promise with unlabelled scores is known for distinct scores alone: leave unlabelled out"
        )
    partition = Partition(fitted.edges, None, score_range)
    tally = tally_rows(partition, labelled)
    everyone = tally_rows(partition, pooled.in_memory) if fine else fitted.tally
    bin_edges = fitted.bins.partition.edges
    at_edges = tally_rows(fitted.bins.partition, labelled.take(np.isin(labelled.scores, bin_edges)))
    starts = fitted.first_step
    counts, label_sums = (np.add.reduceat(column, starts) for column in (tally.counts, tally.label_sums))
    if labelled.frequencies is not None:
        scores, labels = np.repeat(scores, labelled.frequencies), np.repeat(labels, labelled.frequencies)
    order = np.argsort(scores, kind="stable")
    at_bin_edges = groups_at(bin_edges, scores[order], labels[order])
    bins = fitted.bins._replace(tally=Tally(counts - at_edges.counts, label_sums - at_edges.label_sums), groups=at_bin_edges)
    _, slices = find_with_slices(RowsSource(labelled), lambda n_samples: Sought.of(NO_RANKS, n_samples), 0, seed)
    return fitted._replace(bins=bins, tally=tally, unlabelled=everyone.counts - tally.counts, slices=slices)


# ------------------------------------------------------------------ fingerprints
# 64 bits by which rows are recognised as those that a model was fitted to: a digest of what lies below each edge of the model,
# and at it, by score alone. A fit has these counts at hand, and they can be counted in any rows once the model is there; the
# seed has no part in them. csrc/FORMAT.md, "Keys", states it.


# Schemes whose edges were fixed before the rows were seen: the fit knows what lies below an edge, and not how much of it ties.
FIXED_EDGES = ("explicit", "fixed-width", "isotonic")


def edge_scores(edges: Float64s, ties: str, score_range: tuple[float, float] | None) -> Float64s:
    """The distinct scores of edges, but for those that close the bin of an isolated score: one double above it, seldom seen."""
    scores = np.unique(edges)
    if ties != "isolate":
        return scores
    # The lower edge of the bin of the least score is left out of a model.
    least = -np.finfo(np.float64).max if score_range is None else score_range[0]
    with np.errstate(over="ignore"):  # above the greatest double there is infinity
        closing = np.nextafter(np.append(scores, least), np.inf)
    return scores[~np.isin(scores, closing)]


def fingerprint_of(counts: Boundaries) -> int:
    """The fingerprint; 0, which stands for none, without edges."""
    return group_fingerprint(*counts[:7])


def fit_fingerprint(edges: Float64s, ties: str, score_range: ScoreRange, groups: Boundaries) -> int:
    """The fingerprint of a model whose boundaries are ranks, from the `groups` of all rows: that of `rows_fingerprint`."""
    if ties != "isolate" and len(edges) == len(groups.score) and bool((edges == groups.score).all()):
        # The usual case, for the sake of small fits. A group that is listed twice counts once.
        return fingerprint_of(groups)
    scores_of_edges = edge_scores(edges, ties, score_range)
    at = np.searchsorted(groups.score, scores_of_edges)
    below, equal = (groups.below[at], groups.below_ones[at]), (groups.equal[at], groups.equal_ones[at])
    return fingerprint_of(Boundaries(scores_of_edges, *below, *equal, groups.n_samples, groups.n_positive))


def count_at_edges(model: BinnedModel, scores: Float64s, labels: UInt8s, frequencies: Int64s | None = None) -> Boundaries:
    """The counts of these rows at the edges of a step model, by score alone. O(n log n_bins) time, O(n) memory."""
    edge = edge_scores(model.bin_edges, model.ties, model.score_range)
    # An even cell lies between two scores, an odd one is a score.
    cell = np.searchsorted(edge, scores) + np.searchsorted(edge, scores, side="right")
    table = np.zeros((2 * len(edge) + 1, 2), np.int64)
    np.add.at(table, (cell, labels), 1 if frequencies is None else frequencies)
    samples, ones = table.sum(axis=1), table[:, 1]
    below, below_ones = np.cumsum(samples)[:-1:2], np.cumsum(ones)[:-1:2]
    equal, equal_ones = samples[1::2].copy(), ones[1::2].copy()
    if model.scheme in FIXED_EDGES:
        equal[:], equal_ones[:] = 0, 0
    return Boundaries(edge, below.copy(), below_ones.copy(), equal, equal_ones, int(samples.sum()), int(ones.sum()))


def rows_fingerprint(model: BinnedModel, scores: Float64s, labels: UInt8s, frequencies: Int64s | None = None) -> int:
    """The fingerprint that a step model has if it was fitted to these rows, in any order; 0 for a model of a single bin."""
    return fingerprint_of(count_at_edges(model, scores, labels, frequencies))


def chance_of_same_counts(counts: Boundaries) -> float:
    """About how often other rows, as many and of the same population, would have exactly these counts, and so the fingerprint.

    The multinomial probability of the counts between and at the edges, per label, at their own shares, which make it largest.
    """
    below, below_ones = (np.append(column, total) for column, total in zip(counts[1:3], counts[5:7], strict=True))
    past, past_ones = np.append(0, counts.below + counts.equal), np.append(0, counts.below_ones + counts.equal_ones)
    samples, ones = np.append(below - past, counts.equal), np.append(below_ones - past_ones, counts.equal_ones)
    cells = np.append(samples - ones, ones)
    logarithm = math.lgamma(counts.n_samples + 1)
    for cell in cells[cells > 0].tolist():
        logarithm += cell * math.log(cell / counts.n_samples) - math.lgamma(cell + 1)
    return math.exp(logarithm)


def tally_fingerprint(partition: Partition, tally: Tally) -> int:
    """The same for edges that were fixed before the rows were seen, have every tied score above them, and differ."""
    below, below_ones = np.cumsum(tally.counts), np.cumsum(tally.label_sums)
    unknown = np.zeros(len(partition.edges), np.int64)
    totals = int(below[-1]), int(below_ones[-1])
    return fingerprint_of(Boundaries(partition.edges, below[:-1], below_ones[:-1], unknown, unknown, *totals))
