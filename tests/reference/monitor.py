"""The evidence of a bin's labels against a tolerated interval of rates, by plain integration: the twin of fastbin.online.

Nothing of the closed form is used. With q = sin(theta)^2 the mixing distribution Beta(1/2, 1/2) is uniform in theta.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from reference.keys import cap, row_key
from reference.step_model import Edge, bin_of

N_STEPS = 4000


def _log_term(count: int, ratio: float) -> float:
    if count == 0:
        return 0.0
    return count * math.log(ratio) if ratio > 0.0 else -math.inf


def mixture_above(ones: int, zeros: int, limit: float) -> float:
    """The mean over q > limit, by W, of the likelihood ratio (q / limit)^ones ((1 - q) / (1 - limit))^zeros. Simpson's rule."""
    if limit == 0.0 and ones > 0:
        return math.inf
    start, end = math.asin(math.sqrt(limit)), math.pi / 2
    width = (end - start) / N_STEPS
    total = 0.0
    for i in range(N_STEPS + 1):
        theta = start + i * width
        q, rest = math.sin(theta) ** 2, math.cos(theta) ** 2
        ratio = q / limit if limit > 0.0 else 1.0
        weight = 1 if i in (0, N_STEPS) else (4 if i % 2 else 2)
        total += weight * math.exp(_log_term(ones, ratio) + _log_term(zeros, rest / (1.0 - limit)))
    return total / (3 * N_STEPS)


def mixture_below(ones: int, zeros: int, limit: float) -> float:
    """The same over q < limit: labels and rates mirrored."""
    return mixture_above(zeros, ones, 1.0 - limit)


def two_sided_mixture(ones: int, zeros: int, lower: float, upper: float) -> float:
    """The mean of both sides; a side without alternatives has no weight."""
    sides = [mixture_above(ones, zeros, upper)] if upper < 1.0 else []
    sides += [mixture_below(ones, zeros, lower)] if lower > 0.0 else []
    return sum(sides) / len(sides) if sides else 1.0


def tolerated_interval(value: float, tolerance: float) -> tuple[float, float]:
    """value +- tolerance within [0, 1], as doubles."""
    return max(0.0, value - tolerance), min(1.0, value + tolerance)


class Monitor:
    """The mean over the bins of their evidence, after every sample."""

    def __init__(self, edges: Sequence[Edge], tolerated: Sequence[tuple[float, float]], alpha: float) -> None:
        self.edges, self.tolerated, self.alpha = list(edges), list(tolerated), alpha
        self.ones = [0] * len(self.tolerated)
        self.zeros = [0] * len(self.tolerated)
        self.e_values = [1.0] * len(self.tolerated)
        self.path: list[float] = []
        self.alarm_at: int | None = None
        self.since: list[int | None] = [None] * len(self.tolerated)

    def update_one(self, score: float, label: int, tie_key: int | None = None, seed: int = 0) -> None:
        """Count a sample; an alarm is raised when the mean reaches 1 / alpha, a bin is named when its own reaches B / alpha."""
        b = bin_of(self.edges, score, cap(row_key(seed, len(self.path)) if tie_key is None else tie_key))
        self.ones[b] += label
        self.zeros[b] += 1 - label
        self.e_values[b] = two_sided_mixture(self.ones[b], self.zeros[b], *self.tolerated[b])
        self.path.append(sum(self.e_values) / len(self.e_values))
        if self.alarm_at is None and self.path[-1] >= 1 / Fraction(self.alpha):
            self.alarm_at = len(self.path)
        if self.since[b] is None and self.e_values[b] >= len(self.tolerated) / Fraction(self.alpha):
            self.since[b] = len(self.path)
