"""Calibration samples in the order in which a fit sees them."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reference.keys import group_digest, group_key, rows_digest, split_key

Row = tuple[float, int, float, int]  # score, label, weight, key of the caller's


@dataclass
class Sample:
    """One calibration sample: j is its position (from 0) in the group of samples that share its score."""

    score: float
    label: int
    weight: float
    j: int
    key: int
    key_seed: int

    @property
    def split_key(self) -> int:
        return split_key(self.key_seed, self.score, self.j)


def check(scores: Sequence[float], labels: Sequence[int], score_min: float, score_max: float) -> None:
    """Refuse what has no meaning: lengths that differ, no samples, scores out of range, labels that are not 0 or 1."""
    if not scores:
        raise ValueError("no samples")
    if len(scores) != len(labels):
        raise ValueError(f"{len(scores)} scores and {len(labels)} labels")
    for position, score in enumerate(scores):
        if not (math.isfinite(score) and score_min <= score <= score_max):
            raise ValueError(f"scores[{position}] is {score!r}")
    for position, label in enumerate(labels):
        if label not in (0, 1):
            raise ValueError(f"labels[{position}] is {label!r}")


def in_fit_order(
    scores: Sequence[float],
    labels: Sequence[int],
    seed: int,
    weights: Sequence[int] | Sequence[float] | None = None,
    keys: Sequence[int] | None = None,
    ranks_of: Callable[[int], list[int]] | None = None,
) -> list[Sample]:
    """All samples, ordered by (score, key).

    `ranks_of` tells the ranks, from 1, of the boundaries among so many samples; ``None`` where the samples are split first.

    Integer weights are frequencies: the sample is literally repeated. Float weights stay with their sample and do not touch
    the order.

    The samples of one score form a group. Within it those with label 1 come first (then by weight, ascending), and sample
    number j of the group has the key group_key(digest, score, j), under a digest of the seed and of all groups that hold a
    boundary (of all rows where the samples are split first, since a split comes before the boundaries). So the order, and with
    it the model, is a function of the multiset of samples and the seed: where the rows stood in the file does not matter. The
    keys are exchangeable given how many samples of the group have which label, so this is the randomisation of Gupta & Ramdas
    2021, Algorithm 2.
    The caller's own `keys` replace these keys; samples that agree in all else are then counted in the order of their keys.
    """
    frequencies = weights is not None and all(isinstance(weight, int) for weight in weights)
    rows: list[Row] = []
    for i, score in enumerate(scores):
        canonical = 0.0 if score == 0.0 else float(score)  # -0.0 and 0.0 are one score
        key = 0 if keys is None else keys[i]
        repetitions = int(weights[i]) if weights is not None and frequencies else 1
        weight = 1.0 if weights is None or frequencies else float(weights[i])
        rows += [(canonical, int(labels[i]), weight, key)] * repetitions

    rows.sort(key=lambda row: (row[0], -row[1], row[2], row[3]))  # groups; label 1 first; then by weight
    if ranks_of is None:
        key_seed = rows_digest(seed, [row[:3] for row in rows])
    else:
        key_seed = group_digest(seed, boundary_groups(rows, ranks_of(len(rows))))
    samples = []
    j = 0
    for i, (score, label, weight, key) in enumerate(rows):
        j = j + 1 if i > 0 and rows[i - 1][0] == score else 0
        own_key = group_key(key_seed, score, j) if keys is None else key
        samples.append(Sample(score, label, weight, j, own_key, key_seed))
    return sorted(samples, key=lambda sample: (sample.score, sample.key, sample.j))


def boundary_groups(rows: list[Row], ranks: list[int]) -> list[tuple[float, int, int, int, int]]:
    """The groups that hold these ranks of rows in ascending order, each once: score, below, its ones, count, its ones."""
    scores, labels = [row[0] for row in rows], [row[1] for row in rows]
    groups = []
    for score in sorted({scores[rank - 1] for rank in ranks}):
        first, end = bisect_left(scores, score), bisect_right(scores, score)
        groups.append((score, first, sum(labels[:first]), end - first, sum(labels[first:end])))
    return groups
