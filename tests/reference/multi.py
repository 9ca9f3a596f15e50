"""Many models behind one key: which rows each cell's model is fitted to, and with how many bins.

Top-label calibration is Gupta & Ramdas 2022, "Top-label calibration and multiclass-to-binary reductions", Algorithm 2 (M2B with
a binary calibrator for each predicted class); class-wise is Algorithm 3 there; confidence calibration (Algorithm 1) forgets
which class it was. Segments are the same with any other key.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.stats import binom

from reference.bounds import sidak
from reference.step_model import StepModel
from reference.uniform_mass import uniform_mass

Key = int | str


@dataclass
class Part:
    """The rows of one fit, how often each stands, and the number of its bins."""

    scores: list[float]
    labels: list[int]
    weights: list[int]
    n_bins: int

    @property
    def n_samples(self) -> int:
        return sum(self.weights)

    def fit(self, scheme: str = "umd", seed: int = 0) -> StepModel:
        """Uniform-mass bins between whole groups."""
        return uniform_mass(self.scores, self.labels, self.n_bins, scheme, "whole", seed=seed, weights=self.weights)


@dataclass
class Cells:
    """The fits of a set: one for each key that is not pooled, and one for all rows of those that are."""

    own: dict[Key, Part]
    pooled_cells: list[Key]
    pool: Part | None


def most_bins(n: int, scheme: str = "umd") -> int:
    """As many bins as n samples allow."""
    return max(1, n if scheme == "umb" else (n + 1) // 2)


def bins_by_points(n: int, points_per_bin: int) -> int:
    return min(max(1, n // points_per_bin), most_bins(n))


def segmented(
    scores: Sequence[float], labels: Sequence[int], segments: Sequence[Key], n_bins: int, scheme: str = "umd", *,
    min_points: int = 50, weights: Sequence[int] | None = None,
) -> Cells:  # fmt: skip
    """`n_bins` for each segment of `min_points` samples or more that has enough for them; the others with samples pooled."""
    needed = n_bins if scheme == "umb" else 2 * n_bins - 1
    sizes = Counter[Key]()
    for key, weight in zip(segments, [1] * len(scores) if weights is None else weights, strict=True):
        sizes[key] += weight
    own = {key for key, size in sizes.items() if size >= max(min_points, needed)}
    seen = sorted(key for key, size in sizes.items() if size)
    cells = _divided(scores, labels, segments, seen, weights, own)
    for part in cells.own.values():
        part.n_bins = n_bins
    if cells.pool:
        share = n_bins * min(cells.pool.n_samples, max(min_points, needed)) // max(min_points, needed)
        cells.pool.n_bins = min(max(1, share), most_bins(cells.pool.n_samples, scheme))
    return cells


def top_label(
    matrix: Sequence[Sequence[float]], labels: Sequence[int], points_per_bin: int = 50, *, min_points: int = 50,
    per_class: bool | str = "auto",
) -> Cells:  # fmt: skip
    """Labels are columns of the matrix. The predicted one has the largest probability, of equal ones it is the first."""
    predicted = [row.index(max(row)) for row in map(list, matrix)]
    is_right = [int(column == label) for column, label in zip(predicted, labels, strict=True)]
    tops = [max(row) for row in matrix]
    columns, points, of_pool = list(range(len(matrix[0]))), points_per_bin, 0
    if per_class == "auto":
        fewest = fewest_per_bin(len(tops), 0.145)
        points, of_pool = max(points_per_bin, fewest), 2 * fewest
    own = chosen([predicted.count(c) for c in columns], max(min_points, of_pool), of_pool) if per_class else set()
    cells = _divided(tops, is_right, predicted, columns, None, own)
    for part in [*cells.own.values(), *([cells.pool] if cells.pool else [])]:
        part.n_bins = bins_by_points(part.n_samples, points)
    return cells


def chosen(counts: Sequence[int], least: int, of_pool: int = 0) -> set[int]:
    """The numbers of the cells with models of their own: the largest, as long as the rest is nothing, or is enough."""
    order = sorted(range(len(counts)), key=lambda c: (-counts[c], -c))
    own = [c for c in order if counts[c] >= least]
    rest = sum(counts) - sum(counts[c] for c in own)
    return set(own[:-1] if 0 < rest < of_pool else own)


@cache
def fewest_per_bin(n: int, radius: float, alpha: float = 0.1) -> int:
    """The samples of a bin, where n have the most bins whose mean labels all keep the radius; n where even one fails."""
    for n_bins in range(max(1, int(n / max(2.0, (0.6 / radius) ** 2))), 0, -1):  # smaller means miss more often than alpha
        sizes = {(n + 1) // n_bins - 1, -(-(n + 1) // n_bins) - 1}
        if min(sizes) > 0 and all(worst_miss(size, radius) <= sidak(alpha, n_bins) for size in sizes):
            return math.ceil(n / n_bins)
    return n


@cache
def worst_miss(size: int, radius: float) -> float:
    """The chance that a mean of so many labels is off by more than the radius, at the worst rate, which is next to a jump."""
    jumps = [k / size + side * radius for k in range(size + 1) for side in (-1, 1)]
    rates = np.array([0.5, *(jump + step for jump in jumps for step in (-1e-10, 1e-10) if 0 < jump + step < 0.5)])
    below = binom.cdf(np.ceil(size * (rates - radius)) - 1, size, rates)
    above = binom.sf(np.floor(size * (rates + radius)), size, rates)
    return float((below + above).max())


def class_wise(matrix: Sequence[Sequence[float]], labels: Sequence[int], points_per_bin: int = 50) -> list[Part]:
    """One against the rest: every column on all rows."""
    n = len(matrix)
    return [
        Part([row[c] for row in matrix], [int(label == c) for label in labels], [1] * n, bins_by_points(n, points_per_bin))
        for c in range(len(matrix[0]))
    ]


def _divided(
    scores: Sequence[float], labels: Sequence[int], row_keys: Sequence[Key], keys: Sequence[Key],
    weights: Sequence[int] | None, own_keys: set[Key],
) -> Cells:  # fmt: skip
    rows = list(zip(scores, labels, [1] * len(scores) if weights is None else weights, row_keys, strict=True))

    def part(chosen: list[Key]) -> Part:
        mine = [row for row in rows if row[3] in chosen]
        return Part([row[0] for row in mine], [row[1] for row in mine], [row[2] for row in mine], 1)

    every = {key: part([key]) for key in keys}
    pooled = [key for key in keys if key not in own_keys]
    own = {key: every[key] for key in keys if key not in pooled}
    return Cells(own, pooled, part(pooled) if pooled else None)


def softmax(logits: Sequence[float]) -> list[float]:
    """Each over the sum; the largest logit is taken off first, so that nothing overflows."""
    largest = max(logits)
    powers = [math.exp(logit - largest) for logit in logits]
    return [power / math.fsum(powers) for power in powers]
