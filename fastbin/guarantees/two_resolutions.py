"""What is promised about fine values that were fitted to the labels of coarse bins.

A model of two resolutions has B evidence bins, whose edges never looked at a label, and many steps inside each, whose values
may depend on all labels in any way. In every bin the rate of label 1 lies in its interval, and the average of the served
values, E[v | bin], is known up to the masses of the steps; these are spacings of order statistics, whose law is the same for
every distribution of the scores. The event that both hold does not mention v, so it holds for every v at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s, Int64s
from fastbin._base.errors import GuaranteeError
from fastbin._base.ranks import step_ranks
from fastbin.guarantees.assumptions import assumptions_of
from fastbin.guarantees.certificate import Certificate, certificate_of, require_samples
from fastbin.guarantees.evidence import Evidence, assumes_no_atoms, has_whole_ties, interior_for_any_law, require_interior
from fastbin.guarantees.intervals import interval_of_interior
from fastbin.intervals import clopper_pearson, sidak
from fastbin.intervals._beta import beta_quantile

# The share of a bin's failure probability that goes to the masses of its steps. From .05 to .2 epsilon changes by 1 %.
SHARE_OF_MASSES = 0.1

TERMS = ("Clopper-Pearson", "mean label against mean served", "masses of the steps")

_THEOREM = (
    "edge bound for values of any kind (fastbin, {theorems}): Clopper & Pearson 1934{share}; masses of the steps are Beta "
    "distributed order statistics, by a union bound over the cuts of a bin; label sums are {binomial}"
)


def has_steps(evidence: Evidence) -> bool:
    """Whether values are finer than the bins that carry evidence."""
    return int(getattr(evidence, "n_steps", 0)) > int(evidence.n_bins)


def certify_steps(evidence: Evidence, alpha: float, kind: str, bound: str) -> Certificate:
    """The certificate of a model of two resolutions; see `fastbin.guarantees.certify`."""
    interior = require_interior(evidence)
    expected = ("data",) if kind == "ece" else ("clopper-pearson", "hull")
    if evidence.scheme != "certified" or kind == "expected-ece" or bound not in expected:
        raise GuaranteeError(
            f"kind={kind!r} with bound={bound!r} is about values that are the means of their bins, and those of this model "
            "were fitted by a map; take kind='conditional' or 'marginal' with bound='clopper-pearson' or 'hull', or kind='ece' "
            "with bound='data'"
        )
    for_any_law = bound == "hull" and assumes_no_atoms(evidence)
    if for_any_law:
        if getattr(evidence, "unlabelled_counts", None) is not None:
            raise GuaranteeError(
                "bound='hull' is not proved for a fit with unlabelled=, where the sample at an edge may have no label; take "
                "bound='clopper-pearson', which assumes that scores at edges have no probability of their own"
            )
        interior = interior_for_any_law(evidence, interior)
    covered = interior.is_covered
    require_samples(covered)
    level = alpha if kind == "marginal" else sidak(alpha, int(np.count_nonzero(covered)))
    rates = interval_of_interior(interior, clopper_pearson, level)
    low = high = np.asarray(evidence.values, np.float64)
    if has_steps(evidence) or has_whole_ties(evidence):
        # Also where ties have left no step: a level that looked at the scores inside the bins would be none.
        masses = StepMasses(evidence, for_any_law=for_any_law)
        low, high = masses.average_ends(SHARE_OF_MASSES * level)
        shared = interval_of_interior(interior, clopper_pearson, (1.0 - SHARE_OF_MASSES) * level)
        rates = np.where((masses.n_cuts > 0)[:, None], shared, rates)
    radii = np.where(covered, np.minimum(np.maximum(rates[:, 1] - low, high - rates[:, 0]), 1.0), 1.0)
    widest = int(np.argmax(np.where(covered, radii, -1.0)))
    share = " at level alpha for each bin" if kind == "marginal" else ", with Sidak's level over the bins"
    binomial = "those of independent draws, or bounded by them where whole groups of equal scores lie at edges"
    theorems = "Theorem F3"
    if has_whole_ties(evidence) or for_any_law:
        theorems = f"Theorems {'F2' if for_any_law else 'F1'} and F4"
    elif getattr(evidence, "unlabelled_counts", None) is not None:
        theorems = "Theorems F3 and F5"
    return certificate_of(
        evidence, float(radii[widest]), covered, alpha=float(alpha), kind=kind, bound=bound,
        theorem=_THEOREM.format(theorems=theorems, share=share, binomial=binomial),
        assumptions=assumptions_of(evidence, kind, bound),
        radii=tuple(radii.tolist()), n_steps=int(evidence.n_steps) if has_steps(evidence) else 0,  # type: ignore[attr-defined]
        terms=_terms(evidence, widest, tuple(rates[widest]), (low[widest], high[widest])),
    )  # fmt: skip


def _terms(evidence: Any, at: int, rate: tuple[float, float], served: tuple[float, float]) -> tuple[tuple[str, float], ...]:
    """What the radius of a bin consists of, on the side where it is larger."""
    mean = float(evidence.label_sums[at] / evidence.counts[at])
    seen = float(evidence.bin_values[at])
    is_upper = rate[1] - served[0] >= served[1] - rate[0]
    sizes = (rate[1] - mean, mean - seen, seen - served[0]) if is_upper else (mean - rate[0], seen - mean, served[1] - seen)
    return tuple(zip(TERMS, map(float, sizes), strict=True))


class StepMasses:
    """Where the cuts of the steps stand among the samples of each bin, and what that says about E[v | bin].

    The ranks of all cuts are known from the numbers of samples and bins alone (`step_ranks`). A bin that begins
    at a boundary of rank kappa and ends before A samples have those with kappa < rank <= A for its own; among its T samples a
    rank k counts from its lowest one. With ties a cut moves to the first of its equal scores, and several may become one.
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
        edge = (np.arange(len(self.samples)) > 0).astype(np.int64)  # without ties the boundary sample alone
        self.sure = np.asarray(evidence.tie_counts, np.int64)[:, 0] if has_whole_ties(evidence) else edge
        below = np.cumsum(self.samples) - self.samples
        if ranks is None:
            ranks = step_ranks(int(counts.sum()), int(evidence.n_bins_asked))
        first, end = np.searchsorted(ranks, below + self.sure, "right"), np.searchsorted(ranks, below + self.samples, "right")
        self.n_cuts = end - first
        self._ranks, self._first, self._end, self._below = ranks, first, end, below
        self._step_starts = np.cumsum(counts) - counts  # samples below each step

    def average_ends(self, level: float) -> tuple[Float64s, Float64s]:
        """The least and the greatest E[v | bin] of each bin that the masses allow; they fail with probability `level` a bin."""
        steps = np.arange(len(self.values))
        bins = np.searchsorted(self.first_step, steps, "right") - 1
        inner = np.flatnonzero(steps != self.first_step[bins])  # steps that begin inside their bin
        rises = self.values[inner] - self.values[inner - 1]
        low, high = self._mass_below(self._step_starts[inner], bins[inner], level)
        least, most = np.minimum(rises * low, rises * high), np.maximum(rises * low, rises * high)
        n_bins = len(self.samples)
        last = self.values[np.append(self.first_step[1:], len(self.values)) - 1]
        least, most = (np.bincount(bins[inner], weights=terms, minlength=n_bins) for terms in (least, most))
        return np.clip(last - most, 0.0, 1.0), np.clip(last - least, 0.0, 1.0)

    def _mass_below(self, starts: Int64s, bins: Int64s, level: float) -> tuple[Float64s, Float64s]:
        """Two ends for P(score below the edge | bin) of some edges, below which `starts` samples of all lie."""
        samples, sure = self.samples[bins], self.sure[bins]
        after = np.searchsorted(self._ranks, starts, "right")  # the first cut among the samples at the edge or above it
        # With ties, cuts at or above the edge say nothing about what is strictly below it; the one before does.
        before = after - 1 if self.tied else after
        known_high, known_low = after < self._end[bins], (before >= self._first[bins]) & (before < self._end[bins])
        last = max(0, len(self._ranks) - 1)
        high_rank, low_rank = (self._ranks[np.clip(cut, 0, last)] - self._below[bins] for cut in (after, before))
        in_bin = 0 if self.tied else sure  # a lone boundary sample is none of the draws
        low, high = np.zeros(len(bins)), np.ones(len(bins))
        for n_cuts in np.unique(self.n_cuts[bins]):
            tail = level / (2.0 * max(1, int(n_cuts)))
            at = self.n_cuts[bins] == n_cuts
            for ends, known, rank, less in ((low, known_low, low_rank, sure), (high, known_high, high_rank, in_bin)):
                chosen = np.flatnonzero(at & known)
                drawn = (rank - less)[chosen].astype(np.float64)
                ends[chosen] = beta_quantile(drawn, samples[chosen] + 1.0 - rank[chosen], tail, upper=ends is high)
        return low, high
