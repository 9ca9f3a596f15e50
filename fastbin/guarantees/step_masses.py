"""The probabilities of the steps inside the bins of a model of two resolutions, as far as ranks alone tell them."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s, Int64s
from fastbin._core.fit import step_ranks
from fastbin.guarantees.evidence import has_steps, has_whole_ties, place_of_rest
from fastbin.intervals.binomial import beta_quantile, sidak


class StepMasses:
    """Where the cuts of the steps stand among the samples of each bin, and what that says about E[v | bin].

    The ranks of all cuts are known from the numbers of samples and bins alone (`step_ranks`). A bin that begins
    at a boundary of rank kappa and ends before A samples have those with kappa < rank <= A for its own; among its T samples a
    rank k counts from its lowest one. With ties a cut moves to the first of its equal scores, and several may become one.
    Fine steps begin between two samples of known ranks, wherever: what lies below is between their shares.
    """

    def __init__(self, evidence: Any, ranks: Int64s | None = None, *, for_any_law: bool = False) -> None:
        if evidence.step_counts is None:  # each bin is one step
            counts = np.asarray(evidence.counts, np.int64) + (np.asarray(evidence.tie_counts)[:, 0] > 0)
        else:
            counts = np.asarray(evidence.step_counts, np.int64)
        if evidence.unlabelled_counts is not None:
            counts = counts + np.asarray(evidence.unlabelled_counts, np.int64)
        self.first_step = np.asarray(evidence.first_step, np.int64)
        self.values = np.asarray(evidence.values, np.float64)
        self.samples = np.add.reduceat(counts, self.first_step)
        self.tied = for_any_law or has_whole_ties(evidence)
        fine = evidence.scheme == "certified-fine"
        # Whether steps begin between cuts, or a cut may have moved down to the first of its equal scores.
        self.apart = self.tied or fine
        edge = (np.arange(len(self.samples)) > 0).astype(np.int64)  # without ties the boundary sample alone
        self.sure = np.array(evidence.tie_counts, np.int64)[:, 0] if has_whole_ties(evidence) else edge
        if (place := place_of_rest(evidence)) is not None:
            self.sure[place] = 0  # nothing is known of the rest but what lies beyond it, so its samples are plain draws
        below = np.cumsum(self.samples) - self.samples
        if ranks is None:
            ranks = step_ranks(int(counts.sum()), int(evidence.n_bins_asked), fine)
        first, end = np.searchsorted(ranks, below + self.sure, "right"), np.searchsorted(ranks, below + self.samples, "right")
        self.n_cuts = end - first
        self._ranks, self._first, self._end, self._below = ranks, first, end, below
        self._step_starts = np.cumsum(counts) - counts  # samples below each step

    def average_ends(self, level: float | Float64s) -> tuple[Float64s, Float64s]:
        """The least and the greatest E[v | bin] of each bin that the masses allow; they fail with probability `level` a bin."""
        inner, bins, low, high = self.shares_below(level)
        rises = self.values[inner] - self.values[inner - 1]
        least, most = np.minimum(rises * low, rises * high), np.maximum(rises * low, rises * high)
        n_bins = len(self.samples)
        last = self.values[np.append(self.first_step[1:], len(self.values)) - 1]
        least, most = (np.bincount(bins, weights=terms, minlength=n_bins) for terms in (least, most))
        return np.clip(last - most, 0.0, 1.0), np.clip(last - least, 0.0, 1.0)

    def shares_below(self, level: float | Float64s) -> tuple[Int64s, Int64s, Float64s, Float64s]:
        """The steps that begin inside their bin, their bins, and the two ends of the share of the bin below each."""
        steps = np.arange(len(self.values))
        bins = np.searchsorted(self.first_step, steps, "right") - 1
        inner = np.flatnonzero(steps != self.first_step[bins])
        return inner, bins[inner], *self._mass_below(self._step_starts[inner], bins[inner], level)

    def _mass_below(self, starts: Int64s, bins: Int64s, level: float | Float64s) -> tuple[Float64s, Float64s]:
        """Two ends for P(score below the edge | bin) of some edges, below which `starts` samples of all lie."""
        samples, sure = self.samples[bins], self.sure[bins]
        after = np.searchsorted(self._ranks, starts, "right")  # the first cut among the samples at the edge or above it
        # A cut that does not stand at the edge says nothing about what is strictly below it; the one before does.
        before = after - 1 if self.apart else after
        known_high, known_low = after < self._end[bins], (before >= self._first[bins]) & (before < self._end[bins])
        last = max(0, len(self._ranks) - 1)
        high_rank, low_rank = (self._ranks[np.clip(cut, 0, last)] - self._below[bins] for cut in (after, before))
        in_bin = 0 if self.tied else sure  # a lone boundary sample is none of the draws
        low, high = np.zeros(len(bins)), np.ones(len(bins))
        tails = np.broadcast_to(level, self.n_cuts.shape)[bins] / (2.0 * np.maximum(1, self.n_cuts[bins]))
        for ends, known, rank, less in ((low, known_low, low_rank, sure), (high, known_high, high_rank, in_bin)):
            drawn = (rank - less)[known].astype(np.float64)
            ends[known] = beta_quantile(drawn, samples[known] + 1.0 - rank[known], tails[known], upper=ends is high)
        return low, high


def average_ends_of(evidence: Any, alpha: float, n_bins: int) -> tuple[Float64s, Float64s]:
    """The least and the greatest E[v | bin], which fail in one of `n_bins` with probability `alpha`; of one step, its value."""
    values = np.asarray(evidence.values, np.float64)
    return StepMasses(evidence).average_ends(sidak(alpha, n_bins)) if has_steps(evidence) else (values, values)
