"""Rows in clusters, in plain loops: the twin of fastbin.assess.clusters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from reference.keys import row_key

# The fractions of a fortune that are staked.
STAKES = [math.exp(math.log(0.001) + k / 13 * (math.log(0.95) - math.log(0.001))) for k in range(14)]


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
    """The largest mean at which a bettor against it, whose fortune has mean 1, has 1 / tail or more."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2.0
        fortunes = [math.prod(1.0 + stake * (z / middle - 1.0) for z in values) for stake in STAKES]
        low, high = (middle, high) if sum(fortunes) / len(fortunes) >= 1.0 / tail else (low, middle)
    return low
