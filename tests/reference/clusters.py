"""Rows in clusters, in plain loops: the twin of fastbin.assess.clusters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from reference.keys import row_key


def one_per_cluster(cluster: Sequence[object], seed: int) -> list[int]:
    """In each cluster the row whose key is least."""
    rows: dict[object, list[int]] = {}
    for row, name in enumerate(cluster):
        rows.setdefault(name, []).append(row)
    return sorted(min(own, key=lambda row: row_key(seed, row)) for own in rows.values())


def design_effect(values: Sequence[Fraction], cluster: Sequence[object]) -> Fraction:
    """1 + (m - 1) rho: rho by the one-way analysis of variance, m the average size of the cluster of a row."""
    groups: dict[object, list[Fraction]] = {}
    for value, name in zip(values, cluster, strict=True):
        groups.setdefault(name, []).append(value)
    n, k = len(values), len(groups)
    mean = sum(values, Fraction(0)) / n
    means = {name: sum(own, Fraction(0)) / len(own) for name, own in groups.items()}
    between = sum((len(own) * (means[name] - mean) ** 2 for name, own in groups.items()), Fraction(0)) / (k - 1)
    within = sum(((value - means[name]) ** 2 for name, own in groups.items() for value in own), Fraction(0)) / (n - k)
    squares = sum(len(own) ** 2 for own in groups.values())
    typical = (n - Fraction(squares, n)) / (k - 1)
    rho = (between - within) / (between + (typical - 1) * within)
    return max(Fraction(1), 1 + (Fraction(squares, n) - 1) * rho)


def lower_end_of_mean(values: Sequence[float], tail: float) -> float:
    """The largest mean that bets against it, on values in [0, 1], reach 1 / tail of."""
    return lower_end_of_bets([1.0] * len(values), values, tail)


def lower_end_of_bets(shares: Sequence[float], values: Sequence[float], tail: float) -> float:
    """The same where a value counts only by a share, its weight in that of the heaviest."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if fortune(shares, values, middle, tail) >= 1.0 / tail else (low, middle)
    return low


def fortune(shares: Sequence[float], values: Sequence[float], mean: float, tail: float) -> float:
    """The outcome of a fortune of 1, a part of which is bet by each of ten stakes: the larger the stake, the less of it."""
    best = math.sqrt(2.0 * math.log(1.0 / tail) / (len(values) * mean * (1.0 - mean)))
    parts = [1.0 / ((j + 1) * (j + 2)) for j in range(10)]
    stakes = [min(best * math.sqrt(2.0) ** j, 0.95 / mean) for j in range(10)]
    won = [
        math.prod(1.0 + stake * share * (value - mean) for share, value in zip(shares, values, strict=True)) for stake in stakes
    ]
    return sum(part * each for part, each in zip(parts, won, strict=True)) / sum(parts)
