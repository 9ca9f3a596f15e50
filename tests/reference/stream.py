"""Counting on over fixed bins, sample by sample: the twin of fastbin_stream and fastbin.online.StreamingBinning.

Gupta, Podkopaev & Ramdas 2020, section 4.3: a partition that was fixed before, and samples that arrive one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from reference.keys import KEY_ABOVE, KEY_BELOW, cap, row_key
from reference.samples import check, in_fit_order
from reference.step_model import Edge, bin_of, keep_edges_with_two_sides


def running_variance(labels: Sequence[int]) -> Fraction:
    """Equation (20) without its clipping at 1: each label against the mean of those before it, 1/2 before the first."""
    total = Fraction(0)
    for i, label in enumerate(labels):
        mean = Fraction(sum(labels[:i]), i) if i > 0 else Fraction(1, 2)
        total += (label - mean) ** 2
    return total


def uniform_mass_edges(
    scores: Sequence[float],
    n_bins: int,
    seed: int = 0,
    ties: str = "random",
    score_range: tuple[float, float] | None = (0.0, 1.0),
) -> list[Edge]:
    """Edges at the ranks ceil(j n / B) of an unlabelled block, as on the first part of a sample split (ibid., section 4.2)."""
    score_min, score_max = score_range if score_range is not None else (-math.inf, math.inf)
    check(scores, [0] * len(scores), score_min, score_max)
    ranks = [-((-j * len(scores)) // n_bins) for j in range(1, n_bins)]
    samples = in_fit_order(scores, [0] * len(scores), seed, ranks_of=lambda _: ranks)
    if ties == "random":
        return [(samples[k - 1].score, samples[k - 1].key) for k in ranks]
    return keep_edges_with_two_sides([(samples[k - 1].score, KEY_ABOVE) for k in ranks], score_min, score_max)


@dataclass
class Stream:
    """Counts and label sums of each bin. The running variance is a double that is added up in the order of arrival."""

    edges: list[Edge]
    score_min: float = 0.0
    score_max: float = 1.0
    counts: list[int] = field(default_factory=list)
    label_sums: list[int] = field(default_factory=list)
    running_variances: list[float] | None = field(default_factory=list)
    n_samples: int = 0
    n_positive: int = 0
    n_tied: int = 0

    def __post_init__(self) -> None:
        n_bins = len(self.edges) + 1
        self.counts = self.counts or [0] * n_bins
        self.label_sums = self.label_sums or [0] * n_bins
        if self.running_variances is not None:
            self.running_variances = self.running_variances or [0.0] * n_bins

    def update_one(self, score: float, label: int, tie_key: int | None = None, seed: int = 0) -> int:
        """Count one sample; without a key it gets that of its row, the rows of a stream being numbered as they come."""
        if not (math.isfinite(score) and self.score_min <= score <= self.score_max):
            raise ValueError(f"score {score!r}")
        if label not in (0, 1):
            raise ValueError(f"label {label!r}")
        b = bin_of(self.edges, score, cap(row_key(seed, self.n_samples) if tie_key is None else tie_key))
        if self.running_variances is not None:
            mean = self.label_sums[b] / self.counts[b] if self.counts[b] > 0 else 0.5
            difference = label - mean
            self.running_variances[b] += difference * difference
        self.counts[b] += 1
        self.label_sums[b] += label
        self.n_samples += 1
        self.n_positive += label
        self.n_tied += any(score == edge and KEY_ABOVE < edge_key < KEY_BELOW for edge, edge_key in self.edges)
        return b

    def update(
        self, scores: Sequence[float], labels: Sequence[int], tie_keys: Sequence[int] | None = None, seed: int = 0
    ) -> list[int]:
        """Count all samples, or none if one of them cannot be counted. The bins they were counted in."""
        if scores:
            check(scores, labels, self.score_min, self.score_max)
        chosen = tie_keys if tie_keys is not None else [None] * len(scores)
        return [self.update_one(*row, seed=seed) for row in zip(scores, labels, chosen, strict=True)]

    def merge(self, other: Stream) -> None:
        """Count what another stream over the same bins has counted. Which of the samples came first is not known any more, so
        the running variance is lost, unless one of the two streams is empty."""
        assert self.edges == other.edges
        if self.n_samples == 0:
            self.running_variances = None if other.running_variances is None else list(other.running_variances)
        elif other.n_samples > 0:
            self.running_variances = None
        self.counts = [mine + theirs for mine, theirs in zip(self.counts, other.counts, strict=True)]
        self.label_sums = [mine + theirs for mine, theirs in zip(self.label_sums, other.label_sums, strict=True)]
        self.n_samples += other.n_samples
        self.n_positive += other.n_positive
        self.n_tied += other.n_tied

    def values(self) -> list[float]:
        """The mean label of each bin; 1/2 where nothing was counted."""
        return [x / n if n > 0 else 0.5 for x, n in zip(self.label_sums, self.counts, strict=True)]
