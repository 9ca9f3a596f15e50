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
    """The largest mean at which a bettor against it, value by value, once has 1 / tail times the first fortune or more."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if largest_fortune(values, middle, tail) >= 1.0 / tail else (low, middle)
    return low


def largest_fortune(values: Sequence[float], mean: float, tail: float) -> float:
    """The stake comes from the mean and the squares of the values before, and loses three quarters of a fortune at most."""
    fortune, largest, total, squares = 1.0, 0.0, 0.5, 0.25
    for seen, value in enumerate(values):
        stake = min(math.sqrt(2.0 * math.log(1.0 / tail) * (seen + 1) / (len(values) * squares)), 0.75 / mean)
        fortune *= 1.0 + stake * (value - mean)
        largest = max(largest, fortune)
        squares += (value - total / (seen + 1.0)) ** 2
        total += value
    return largest
