"""The mean error of what is served, where the truth does not fall as the score rises (fastbin, Theorem F17).

The samples stand in slices of equal mass, cut at ranks that no label decided. The labels of the slices contradict most truths.
Those that rise and are not contradicted are a confidence set, and the bound is the greatest mean error that any of them has.
Where the values came from does not matter: they enter after all that is random, so labels may have shaped them in any way.

The greatest error is bounded by two Lagrange multipliers: `mu` for the confidence set, and a level `c` of error for the masses
of the slices. For each pair a rising path through a grid of frequencies is sought whose Lagrangian is largest, from slice to
slice, by a running maximum. Every pair gives a bound, so that the grid of pairs decides about width alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s, Int64s
from fastbin._base.checks import check_scores
from fastbin._base.errors import GuaranteeError, InputError
from fastbin._base.ranks import FEWEST_FOR_SLICES, boundary_ranks, n_slices
from fastbin.guarantees.certificate import Certificate, certificate_of, is_of_clusters, sentences
from fastbin.guarantees.evidence import (
    LEAVE_A_CUT_OUT,
    Evidence,
    as_evidence,
    has_steps,
    has_whole_ties,
    in_note,
    is_moved,
    rows_of_bins,
    sampling_rate_of,
)
from fastbin.intervals.binomial import beta_quantile, ends_of_rows, exact_ends, special_functions

# Shares of alpha in a promise about the population: of the confidence set, of the masses of slices, of the averages served and
# of the two ends.
OF_RATES, OF_MASSES, OF_AVERAGES, OF_ENDS = 0.75, 0.10, 0.05, 0.10
# In one about the calibration rows, which needs no masses and no averages.
OF_RATES_OF_ROWS = 0.93
# In a promise about one side: the mean error, and the two means whose difference tells the sides apart.
OF_BOTH_SIDES, OF_A_MEAN = 0.9, 0.05

MOST_PLACES = 3000
SHARES = np.append(0.01, 0.015 + 0.005 * np.arange(188))
LEVELS = np.array([0.0, 0.15, 0.3, 0.5, 0.75, 1.0])


class Unlabelled(NamedTuple):
    """Other scores of the population in each slice: those strictly between its cuts, those at its cuts as well, and all."""

    inside: Int64s
    within: Int64s
    n_scores: int

    @classmethod
    def of(cls, scores: Any, evidence: Any) -> Unlabelled:
        """Count them; the first that cannot be is refused."""
        checked = np.sort(check_scores(scores, evidence.score_range, name="unlabelled"))
        if len(checked) == 0:
            raise InputError("is empty", "pass scores of the population, or leave it out", argument="unlabelled")
        require_slices(evidence)
        below, upto = (np.searchsorted(checked, evidence.slice_cuts, side) for side in ("left", "right"))
        inside = np.append(below, len(checked)) - np.append(0, upto)
        within = np.append(upto, len(checked)) - np.append(0, below)
        return cls(np.maximum(inside, 0), within, len(checked))  # between two equal cuts lies nothing


class Slices(NamedTuple):
    """The samples between cuts, and what is served there: one entry a slice."""

    counts: Int64s
    ones: Int64s
    served: Float64s  # the average served to these samples, or the middle of the least and the greatest value
    rises: Float64s  # of the values, from cut to cut
    is_average: bool
    n_samples: int  # those at cuts too
    n_positive: int
    mean: tuple[float, float]  # between these lies the average served to all samples
    rise: float  # of the values, over all scores
    unlabelled: Unlabelled | None = None

    def slack(self, share: float) -> Float64s:
        """How far `served` may be from the average of the population of its slice; 0 as share: from that of its samples.

        The averages of all rising maps are off at once by no more than their rise times the largest distance of a distribution
        function (Massart 1990).
        """
        if not self.is_average:
            return self.rises / 2.0
        if share == 0.0:
            return np.zeros(len(self.rises))
        return self.rises * np.minimum(1.0, np.sqrt(math.log(2.0 * len(self.rises) / share) / (2.0 * self.counts)))


class Known(NamedTuple):
    """All that holds at once, whatever is served: of the masses of slices, of the averages served, and of the frequencies."""

    logarithm: float  # of 1 / the level of the confidence set
    low: Float64s  # masses
    high: Float64s
    slack: Float64s
    lowest: Float64s  # ends of the frequency in the first slice
    highest: Float64s  # and in the last


def slices_of(evidence: Evidence, of: Any = None) -> Slices:
    """The slices of a model, with what it serves there, or what another map does; GuaranteeError where none can be promised."""
    served = evidence if of is None else as_evidence(of, "of")
    if is_moved(evidence):
        if sampling_rate_of(evidence):
            raise GuaranteeError(
                "rows with label 0 were left out, so that averages over rows are not those of the population (fastbin, Theorem "
                "F27); fit to rows of which none were left out"
            )
        raise GuaranteeError(
            "the values were moved to other class rates, and the mean error is that of the population of the calibration "
            "samples; certify the source model (of= may be the moved one)"
        )
    own, its = (getattr(each, "event", "") for each in (evidence, served))
    if own and its and own != its:
        raise InputError(f"is about {its!r}, and the model about {own!r}", "take another map of the same event", argument="of")
    _require_rising(served)
    n, ones = int(evidence.n_samples), require_slices(evidence)
    ranks = ranks_of_cuts(n, len(ones))
    counts = np.diff(ranks) - 1
    if of is not None:
        _require_range(served, np.asarray(evidence.slice_cuts))  # type: ignore[attr-defined]
    lowest, highest = _ends_of_values(served)
    below = _samples_below_edges(evidence) if of is None else None
    values = np.asarray(served.values, np.float64)
    at_cuts = (
        np.asarray(served.predict(np.asarray(evidence.slice_cuts)), np.float64)  # type: ignore[attr-defined]
        if below is None
        else values[np.searchsorted(below, ranks[1:-1], "left")]
    )
    ends = np.concatenate([[lowest], at_cuts, [highest]])
    if below is None:
        average = (ends[1:] + ends[:-1]) / 2.0
        inside = [float(counts @ side) for side in (ends[:-1], ends[1:])]
        mean = ((inside[0] + at_cuts.sum()) / n, (inside[1] + at_cuts.sum()) / n)
    else:
        places = np.concatenate([[0], below, [n]])
        sums = np.append(0.0, np.cumsum(np.diff(places) * values))  # of the values of the samples of the lowest ranks
        average = (np.interp(ranks[1:] - 1, places, sums) - np.interp(ranks[:-1], places, sums)) / counts
        mean = (sums[-1] / n, sums[-1] / n)
    rises = np.maximum(np.diff(ends), 0.0)
    of_all = max(0.0, highest - lowest)
    return Slices(counts, ones, average, rises, below is not None, n, int(evidence.n_positive), mean, of_all)


def require_slices(evidence: Evidence) -> Int64s:
    """The label sums of the slices."""
    label_sums = getattr(evidence, "slice_label_sums", None)
    if label_sums is not None and len(label_sums) != n_slices(int(evidence.n_samples)):
        raise GuaranteeError(
            f"the model has {len(label_sums)} slices, and promises are computed for those that fits to {evidence.n_samples} "
            f"samples keep, {n_slices(int(evidence.n_samples))}; fit again"
        )
    if label_sums is None:
        about_bins = "" if evidence.scheme == "other" else ", or ask for bins: kind='conditional', at='bin'"
        raise GuaranteeError(
            "the model keeps no slices, which promises about scores rest on if the truth rises with them: fits of "
            "UniformMassBinning (but scheme 'ums' and edges_share) and CertifiedCalibration, without importance weights, to 20 "
            f"samples or more, up to 3e9, keep them; fit again{about_bins}{in_note(evidence)}"
        )
    return np.asarray(label_sums, np.int64)


def ranks_of_cuts(n: int, size: int) -> Int64s:
    """The ranks of the samples at cuts, and of the ends: a slice lies between two of them."""
    return np.concatenate([[0], boundary_ranks(n, size, "umd"), [n + 1]])


def _require_range(served: Any, cuts: Float64s) -> None:
    low, high = (-math.inf, math.inf) if served.score_range is None else served.score_range
    if served.out_of_range == "refuse" and (cuts[0] < low or cuts[-1] > high):
        raise InputError(
            f"has the score range ({low:g}, {high:g}), and the slices of the model lie at {cuts[0]:g} to {cuts[-1]:g}",
            "both maps must be of the same score",
            argument="of",
        )


def _require_rising(served: Evidence) -> None:
    """Refuse a map of which it is not known that it rises, or that serves a score two values."""
    values = np.asarray(served.values, np.float64)
    falls = np.flatnonzero(np.diff(values) < 0.0)
    if len(falls):
        raise GuaranteeError(
            f"the values fall after bin {falls[0]}, and the mean error is known of values that rise with the score; fit with "
            "monotone=True"
        )
    kind, (name, parameters) = served.kind, served.map  # type: ignore[attr-defined]
    rises = {"logistic": parameters[:1], "beta": parameters[:2]}.get(name)
    if kind == "smooth" and (rises is None or min(rises) < 0.0):
        raise GuaranteeError(
            f"whether the map {name!r} rises everywhere is not known, and the mean error is known of values that rise with the "
            "score; take Platt or temperature scaling, isotonic regression, or bins with monotone=True"
        )
    if served.needs_key:  # type: ignore[attr-defined]
        raise GuaranteeError(
            "a key decides about what some scores are served, so the values do not rise with the score; fit with ties='whole' "
            "and delta=0"
        )


def _ends_of_values(served: Any) -> tuple[float, float]:
    """The least and the greatest value that some score is served."""
    if served.kind != "smooth":
        return float(served.values[0]), float(served.values[-1])
    low, high = served.score_range or (-math.inf, math.inf)
    least = float(served.predict_one(low)) if math.isfinite(low) else 0.0
    return least, float(served.predict_one(high)) if math.isfinite(high) else 1.0


def _samples_below_edges(evidence: Any) -> Int64s | None:
    """How many samples lie below each edge; None where the tally does not tell."""
    if has_steps(evidence):
        rows = np.asarray(evidence.step_counts, np.int64)
    elif evidence.scheme in LEAVE_A_CUT_OUT and evidence.counts is not None and evidence.ties != "lower":
        rows = rows_of_bins(evidence)[0].copy()
        if not has_whole_ties(evidence):
            rows[1:] += 1
    else:
        return None
    return np.cumsum(rows)[:-1] if rows.sum() == evidence.n_samples else None


# ------------------------------------------------------------------------------------------------- the certificate

_THEOREM = (
    "fastbin, Theorem F17: the greatest mean error under any rising truth that the labels of {size} slices of equal mass do "
    "not contradict{map}"
)


def certify_mean_error(
    evidence: Evidence, alpha: float, kind: str, about: str, of: Any = None, unlabelled: Any = None
) -> Certificate:
    """How far what is served is from a rising truth on average; `of` is another map than the model itself."""
    slices, of_rows = slices_of(evidence, of), about == "calibration rows"
    if unlabelled is not None:
        if of_rows:
            remedy = "the masses of the calibration rows are known, and nothing is promised about others: leave it out"
            raise InputError("is given", remedy, argument="unlabelled")
        seen = Unlabelled.of(unlabelled, evidence)
        if seen.n_scores > slices.n_samples:  # the sizes alone decide
            slices = slices._replace(unlabelled=seen)
    if kind == "mean-error":
        epsilon = _two_sided(slices, alpha, of_rows=of_rows)
    else:
        both = _two_sided(slices, OF_BOTH_SIDES * alpha, of_rows=of_rows)
        excess = _excess(slices, OF_A_MEAN * alpha, of_rows=of_rows, above=kind == "mean-overestimate")
        epsilon = min(1.0, max(0.0, (both + excess) / 2.0))
    of_clusters = ["clusters"] * is_of_clusters(evidence)
    rests_on = ("rises on rows", "training") if of_rows else ("rises", "draws", *of_clusters, "training")
    theorem = _THEOREM.format(size=len(slices.counts), map="" if of is None else "; what is served is that of another map")
    certificate = certificate_of(
        evidence, epsilon, np.ones(int(evidence.n_bins), np.bool_), alpha=alpha, kind=kind, bound="slices", theorem=theorem,
        assumptions=sentences(*rests_on, *["unlabelled"] * (slices.unlabelled is not None)), about=about,
    )  # fmt: skip
    return replace(certificate, n_samples=int(slices.counts.sum())) if of_rows else certificate


def _two_sided(slices: Slices, alpha: float, *, of_rows: bool) -> float:
    known = known_of_rows(slices, alpha) if of_rows else known_of_population(slices, alpha)
    return greatest_mean_error(slices, known, of_rows=of_rows)


def _excess(slices: Slices, tail: float, *, of_rows: bool, above: bool) -> float:
    """At most the mean of what is served less the mean of the truth; not `above`: of the truth less what is served.

    Each of the two means fails with probability `tail`.
    """
    if of_rows:
        n, slack, spread = int(slices.counts.sum()), 0.0, 0.0 if slices.is_average else slices.rises / 2.0
        least, greatest = (float(slices.counts @ (slices.served + side * spread)) / n for side in (-1.0, 1.0))
        low, high = ends_of_rows(np.array([slices.ones.sum()]), np.array([n]), 2.0 * tail)[0]
    else:
        least, greatest = slices.mean
        slack = slices.rise * math.sqrt(math.log(1.0 / tail) / (2.0 * slices.n_samples))
        low, high = exact_ends(np.array([slices.n_positive]), np.array([slices.n_samples]), 2.0 * tail)[0]
    return float(greatest + slack - low if above else high - (least - slack))


# ------------------------------------------------------------------------------------------------- the band

# Beyond so many slices the lengths of blocks grow by powers of the square root of two: fewer blocks, each at a higher level.
ALL_BLOCKS = 60


def band(evidence: Evidence, alpha: float) -> Float64s:
    """float64 (n_steps, 2): between these lies the truth at all scores of each step, if it does not fall as scores rise.

    A run of slices is a block. Every sample above a block's upper cut has a truth at least as high as all samples of the block,
    whose label sum then is at most binomial: the lower end of Clopper and Pearson holds there; mirrored for the upper end
    (fastbin, Theorem F18). [0, 1] for fits to so few samples that they keep no slices; GuaranteeError where the ends cross, as
    the labels contradict every truth that rises. O(C^2) for C slices, up to 60, beyond it O(C log C).
    """
    edges, n_steps = np.asarray(evidence.edges), len(np.asarray(evidence.values))  # type: ignore[attr-defined]
    keeps_slices = evidence.scheme in ("ze", "umb", *LEAVE_A_CUT_OUT) and not evidence.is_weighted
    if keeps_slices and int(evidence.n_samples) < FEWEST_FOR_SLICES:
        return np.tile([0.0, 1.0], (n_steps, 1))
    ones, cuts = require_slices(evidence), np.asarray(evidence.slice_cuts)  # type: ignore[attr-defined]
    size = len(ones)
    counts = np.diff(ranks_of_cuts(int(evidence.n_samples), size)) - 1
    sums, samples = (np.append(0, np.cumsum(column)) for column in (ones, counts))
    firsts, ends = _blocks_of(size)
    level = alpha / len(firsts)
    low, high = exact_ends(sums[ends] - sums[firsts], samples[ends] - samples[firsts], level).T
    lowest, highest = np.zeros(size + 1), np.ones(size + 1)  # at each cut, from the end of the scale on
    np.maximum.at(lowest, ends, low)
    np.minimum.at(highest, firsts, high)
    lowest, highest = np.maximum.accumulate(lowest), np.minimum.accumulate(highest[::-1])[::-1]
    # Blocks that end at a cut not above the lower edge of a step, and those that begin at one not below its upper edge.
    passed = np.append(0, np.searchsorted(cuts, edges, "right"))
    to_come = np.append(np.searchsorted(cuts, edges, "left") + 1, size)
    ends_of_steps = np.stack([lowest[passed], highest[to_come]], axis=1)
    if (ends_of_steps[:, 0] > ends_of_steps[:, 1]).any():
        raise _contradicted(alpha, "at='bin'")
    return ends_of_steps


def _blocks_of(size: int) -> tuple[Int64s, Int64s]:
    """The first slice of each block, and the one behind its last."""
    lengths = np.arange(1, size + 1)
    if size > ALL_BLOCKS:
        powers = np.unique(np.round(2.0 ** (np.arange(2 * size.bit_length()) / 2.0)).astype(np.int64))
        lengths = powers[powers <= size]
    firsts = np.concatenate([np.arange(size - length + 1) for length in lengths.tolist()])
    return firsts, firsts + np.repeat(lengths, size - lengths + 1)


# ------------------------------------------------------------------------------------------------- what holds at once


def known_of_population(slices: Slices, alpha: float) -> Known:
    """All that is used of a population, with probability 1 - alpha."""
    n, size = slices.n_samples, len(slices.counts)
    masses, tail = (slices.counts + 1.0).astype(np.float64), OF_MASSES * alpha / (2.0 * size)
    seen = slices.unlabelled
    if seen is not None:
        every = np.full(size, seen.n_scores)
        low, high = exact_ends(seen.inside, every, 2.0 * tail)[:, 0], exact_ends(seen.within, every, 2.0 * tail)[:, 1]
    else:
        low, high = (beta_quantile(masses, n + 1.0 - masses, tail, upper=upper) for upper in (False, True))
    ends = exact_ends(slices.ones[[0, -1]], slices.counts[[0, -1]], OF_ENDS * alpha / 2.0)
    return Known(math.log(1.0 / (OF_RATES * alpha)), low, high, slices.slack(OF_AVERAGES * alpha), *ends)


def known_of_rows(slices: Slices, alpha: float) -> Known:
    """The same of the calibration samples between cuts, given their scores."""
    shares = slices.counts / slices.counts.sum()
    ends = ends_of_rows(slices.ones[[0, -1]], slices.counts[[0, -1]], (1.0 - OF_RATES_OF_ROWS) * alpha / 2.0)
    return Known(math.log(1.0 / (OF_RATES_OF_ROWS * alpha)), shares, shares, slices.slack(0.0), *ends)


# ------------------------------------------------------------------------------------------------- the greatest error


def greatest_mean_error(slices: Slices, known: Known, *, of_rows: bool = False) -> float:
    """The greatest mean error of the values under any rising truth that the labels do not contradict.

    Raises
    ------
    GuaranteeError
        Where they contradict all of them.

    Notes
    -----
    O(n**(5/6)) time for n samples up to 90,000, beyond it O(n**(1/3)); the table of moments, which depends on n alone, is kept.
    For each `c` the bound is convex in `mu`, so the least one is found downhill.
    """
    n, size = slices.n_samples, len(slices.counts)
    share = _share(size, known.logarithm)
    grid = _places(n)
    contradictions = np.empty((size, len(grid) - 1))
    frequencies = slices.ones / slices.counts
    for count in np.unique(slices.counts).tolist():
        of_count = np.flatnonzero(slices.counts == count)
        near = np.clip(frequencies[of_count, None], grid[:-1], grid[1:])
        contradictions[of_count] = share * count * _divergence(frequencies[of_count, None], near) - _moments(count, share, n)
    _refuse_falling_truth(contradictions, known.logarithm)
    distances = np.maximum(slices.served[:, None] - grid[:-1], grid[1:] - slices.served[:, None])
    errors = _widest(distances + known.slack[:, None], slices.rises[:, None])
    levels = LEVELS[:1] if of_rows else LEVELS * 4.0 / n**0.33
    first, last, steps, scale = (0.0002, 0.2, 40, 900.0) if of_rows else (0.0005, 0.05, 13, 2700.0)
    mus = first * (last / first) ** (np.arange(steps) / (steps - 1)) * math.sqrt(scale / n)
    best, at = math.inf, len(mus) // 2
    for level in levels.tolist():
        excess = errors - level
        gains = np.where(excess > 0.0, known.high[:, None] * excess, known.low[:, None] * excess)

        def lagrangian(mu: float, level: float = level, gains: Float64s = gains) -> float:
            return level + mu * known.logarithm + _longest_path(gains - mu * contradictions)

        least, at = _least(lagrangian, mus.tolist(), at)
        best = min(best, least)
    return min(1.0, best + _within_slices(known))


def _least(convex: Callable[[float], float], places: Sequence[float], start: int) -> tuple[float, int]:
    """The least value of a convex function at these places, and which one has it: downhill from the place `start`."""
    at, value = start, convex(places[start])
    for step in (1, -1):
        while 0 <= at + step < len(places) and (below := convex(places[at + step])) < value:
            at, value = at + step, below
        if at != start:
            break
    return value, at


def _longest_path(rows: Float64s) -> float:
    """The greatest sum of one entry of each row, along a path that does not fall."""
    reached = np.zeros(rows.shape[1])
    for row in rows:
        np.maximum.accumulate(reached, out=reached)
        reached += row
    return float(reached.max())


def _refuse_falling_truth(contradictions: Float64s, logarithm: float) -> None:
    """Raise where the confidence set is empty: then the truth falls somewhere, or an event of its level has happened."""
    if -_longest_path(-contradictions) >= logarithm:
        raise _contradicted(math.exp(-logarithm), "kind='conditional'")


def _contradicted(level: float, remedy: str) -> GuaranteeError:
    return GuaranteeError(
        "the labels contradict every truth that rises with the score, so nothing is known of it at single scores; if the truth "
        f"rose, labels would do so with probability at most {level:.3g}; use {remedy}, which needs no such assumption"
    )


def _within_slices(known: Known) -> float:
    """The share of the mean error that comes from the rise of the truth within slices."""
    between = float(known.high[1:-1].max(initial=0.0)) * max(0.0, known.highest[1] - known.lowest[0]) / 2.0
    outer = known.high[0] * _largest_variance(known.lowest) + known.high[-1] * _largest_variance(known.highest)
    return min(between + 2.0 * float(outer), float(known.high.max()) / 2.0)


def _largest_variance(ends: Float64s) -> float:
    """The greatest q (1 - q) between these ends."""
    q = min(max(0.5, ends[0]), ends[1])
    return float(q * (1.0 - q))


def _widest(means: Float64s, widths: Float64s) -> Float64s:
    """The greatest E|D| of a D with this mean, at least 0, on an interval of this width."""
    widths = np.broadcast_to(widths, means.shape)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(means < widths, (means * (means / widths) + widths) / 2.0, means)


def _divergence(frequencies: Float64s, p: Float64s) -> Float64s:
    """KL(x || p) of Bernoulli laws; infinite where p excludes x."""
    x = np.broadcast_to(frequencies, p.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        ones = np.where(x > 0.0, x * np.log(x / p), 0.0)
        zeros = np.where(x < 1.0, (1.0 - x) * np.log((1.0 - x) / (1.0 - p)), 0.0)
    return np.maximum(ones + zeros, 0.0)


def _share(size: int, logarithm: float) -> float:
    """The share of the divergence that enters: a function of sizes and alpha alone."""
    return float(SHARES[np.argmin((logarithm - size / 2.0 * np.log1p(-SHARES)) / SHARES)])


def _places(n: int) -> Float64s:
    """The grid of frequencies: fine at both ends."""
    parts = min(MOST_PLACES, math.ceil(10.0 * math.sqrt(n)))
    return np.asarray(np.sin(np.pi * np.arange(parts + 1) / (2 * parts)) ** 2)


# ------------------------------------------------------------------------------------------------- moments
# M(p) = E exp(s N KL(X / N || p)), X binomial (N, p), is sum_x a_x (p^x (1-p)^(N-x))^(1-s) with a_x that are free of p. In the
# logit t it is exp(K(t)) (1 + e^t)^(-(1-s) N), and K, the logarithm of a sum of exponentials, is convex: between two places it
# is below its chord, and the maximum of chord minus (1-s) N ln(1 + e^t) is known in closed form. So the largest ln M between
# places is bounded, and not only looked at.

# Terms whose weight is below exp(-45) are not added up, but bounded.
LEAST_TERM = 45.0
BLOCK = 256


@lru_cache(maxsize=64)
def _moments(count: int, share: float, n: int) -> Float64s:
    """An upper bound of ln M in each interval of the grid. Not to be written to. O(grid sqrt(count))."""
    grid = _places(n)
    power = (1.0 - share) * count
    inner = grid[1:-1]
    logits = np.log(inner) - np.log1p(-inner)
    # M is the same at p and 1 - p, and so is the grid.
    half = (len(inner) + 1) // 2
    moments = np.concatenate(list(map(_moment_at, *_blocks(inner[:half], count, share))))
    moments = np.concatenate([moments, moments[: len(inner) - half][::-1]])
    sums = moments - power * np.log1p(-inner)  # K at the places
    slopes = np.diff(sums) / np.diff(logits)
    best = np.clip(slopes / power, inner[:-1], inner[1:])
    between = sums[:-1] + slopes * (np.log(best) - np.log1p(-best) - logits[:-1]) + power * np.log1p(-best)
    # Up to the first place every term but that of x = 0 rises, where place < 1 / count; that one is at most 1.
    first = math.log(math.exp(moments[0]) + 1.0 - math.exp(power * math.log1p(-float(inner[0]))))
    bounds = np.concatenate([[first], between, [first]])
    bounds.flags.writeable = False
    return bounds


def _blocks(places: Float64s, count: int, share: float) -> tuple[list[Float64s], list[int], list[float]]:
    blocks = np.array_split(places, -(-len(places) // BLOCK))
    return blocks, [count] * len(blocks), [share] * len(blocks)


def _moment_at(p: Float64s, count: int, share: float) -> Float64s:
    """ln M at some places, with a bound for the terms far from p: each is at most exp(-(1-s) N KL(x/N || p))."""
    gammaln = special_functions().gammaln
    depth = LEAST_TERM / ((1.0 - share) * count)
    # By Bernstein's inequality for the divergence: KL(p + d || p) >= d^2 / (2 (p (1-p) + d / 3)), on both sides.
    reach = count * (depth / 3.0 + np.sqrt(depth**2 / 9.0 + 2.0 * depth * p * (1.0 - p)))
    lowest = np.maximum(np.floor(count * p - reach), 0.0)
    x = lowest[:, None] + np.arange(int(np.minimum(count - lowest, np.ceil(2.0 * reach) + 2.0).max()) + 1)
    inside = x <= count
    x = np.minimum(x, count)
    at = p[:, None]
    chances = gammaln(count + 1.0) - gammaln(x + 1.0) - gammaln(count - x + 1.0) + x * np.log(at) + (count - x) * np.log1p(-at)
    terms = np.where(inside, chances + share * count * _divergence(x / count, np.broadcast_to(at, x.shape)), -np.inf)
    return np.asarray(np.log(np.exp(terms).sum(axis=1) + (count + 1.0) * math.exp(-LEAST_TERM)))
