"""Binning on a partition that was not chosen by ranks of the labelled samples, or whose values are not label means."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from reference.keys import KEY_ABOVE
from reference.samples import check, in_fit_order
from reference.step_model import Edge, StepModel, Tally, bin_of
from reference.uniform_mass import boundary_ranks


def fixed_width(
    scores: Sequence[float], labels: Sequence[int], n_bins: int, *, weights: Sequence[int] | Sequence[float] | None = None
) -> StepModel:
    """Gupta, Podkopaev & Ramdas 2020, section 4.2: edges i / B, each the IEEE quotient; a score equal to an edge lies above it.

    Not floor(score * B): 0.29 * 100 is 28.999999999999996, which would send 0.29 to the bin below 0.29.
    """
    return explicit_edges(scores, labels, [i / n_bins for i in range(1, n_bins)], weights=weights)


def explicit_edges(
    scores: Sequence[float],
    labels: Sequence[int],
    edges: Sequence[float],
    *,
    weights: Sequence[int] | Sequence[float] | None = None,
    score_range: tuple[float, float] | None = (0.0, 1.0),
) -> StepModel:
    """Means of the labels between edges that were fixed before the data was seen. Every sample counts."""
    score_min, score_max = score_range if score_range is not None else (-math.inf, math.inf)
    check(scores, labels, score_min, score_max)
    samples = in_fit_order(scores, labels, seed=0, weights=weights)
    pairs: list[Edge] = [(float(edge), KEY_ABOVE) for edge in edges]
    tally = Tally(len(pairs) + 1)
    for sample in samples:
        tally.add(bin_of(pairs, sample.score, sample.key), sample.label, sample.weight)
    return StepModel.from_tally(
        pairs,
        tally,
        weighted=weights is not None and not all(isinstance(weight, int) for weight in weights),
        n_samples=len(samples),
        n_positive=sum(sample.label for sample in samples),
        n_tied=0,
        n_bins_asked=len(pairs) + 1,
        score_min=score_min,
        score_max=score_max,
    )


def scaling_binning(
    scores: Sequence[float],
    n_bins: int,
    scaler: Callable[[float], float] = float,
    seed: int = 0,
    keys: Sequence[int] | None = None,
    labels: Sequence[int] | None = None,
) -> tuple[list[Edge], list[int], list[Fraction]]:
    """Scaling-binning on one sample, as compared in Gupta & Ramdas 2021, section 4: (edges, counts, values).

    The edges of Algorithm 1, and in each bin the mean of the scaled scores of the samples strictly inside. Labels (all 0 where
    none are given) seed the keys of tied scores and are not looked at otherwise, except by whoever fitted the scaler.
    """
    ones = [0] * len(scores) if labels is None else labels
    samples = in_fit_order(scores, ones, seed, None, keys, lambda n: boundary_ranks(n, n_bins))
    ranks = [0, *boundary_ranks(len(samples), n_bins), len(samples) + 1]
    edges = [(samples[k - 1].score, samples[k - 1].key) for k in ranks[1:-1]]
    inside = [samples[low : high - 1] for low, high in itertools.pairwise(ranks)]
    values = [_mean([Fraction(scaler(sample.score)) for sample in group]) for group in inside]
    return edges, [len(group) for group in inside], values


def scaling_binning_split(
    scaled_for_edges: Sequence[float], scaled_for_values: Sequence[float], n_bins: int
) -> tuple[list[float], list[int], list[Fraction]]:
    """Scaling-binning of Kumar, Liang & Ma 2019 after its first step: (edges, counts, values) on the scaled line.

    The first of three parts of the sample fitted the scaler. The second, scaled, gives uniform-mass edges (ranks
    ceil(j n2 / B)); the third, scaled, gives the mean in each bin, 1/2 where it is empty. A scaled score equal to an edge lies
    above it.
    """
    part2 = sorted(scaled_for_edges)
    edges = [part2[-((-j * len(part2)) // n_bins) - 1] for j in range(1, n_bins)]
    groups: list[list[Fraction]] = [[] for _ in range(n_bins)]
    for scaled in scaled_for_values:
        groups[sum(scaled >= edge for edge in edges)].append(Fraction(scaled))
    return edges, [len(group) for group in groups], [_mean(group) for group in groups]


def _mean(numbers: list[Fraction]) -> Fraction:
    return sum(numbers, Fraction(0)) / len(numbers) if numbers else Fraction(1, 2)
