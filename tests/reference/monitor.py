"""The evidence of a bin's labels against a tolerated interval of rates, by plain integration: the twin of fastbin.online.

Nothing of the closed form is used. With q = sin(theta)^2 the mixing distribution Beta(1/2, 1/2) is uniform in theta.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from reference.keys import cap, row_key
from reference.step_model import Edge, bin_of

N_STEPS = 4000


def _log_term(count: int, ratio: float) -> float:
    if count == 0:
        return 0.0
    return count * math.log(ratio) if ratio > 0.0 else -math.inf


@lru_cache(10_000)  # of all bins, a sample changes the counts of one
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


# ------------------------------------------------------------------------------------------------- pooled bins, later starts


SLOPES, SHIFTS = (0.5, 0.7, 0.85, 1.18, 1.43, 2.0), (-1.0, -0.5, -0.25, -0.12, 0.12, 0.25, 0.5, 1.0)
PAIRS = [(a, 0.0) for a in SLOPES] + [(1.0, c) for c in SHIFTS]
FIRST = 0.75


def moved(value: float, a: float, c: float) -> float:
    """The rate whose log odds are a times those of `value`, plus c."""
    return 1.0 / (1.0 + math.exp(-(a * math.log(value / (1.0 - value)) + c)))


def factor(label: int, q: float, lower: float, upper: float) -> float:
    """The ratio of likelihoods of q and of the tolerated rate that is nearest to it."""
    near = min(max(q, lower), upper)
    return q / near if label else (1.0 - q) / (1.0 - near)


def alternatives(lower: float, upper: float, per_side: int = 12) -> list[float]:
    """Rates beyond either limit: at squares of even steps between the angles of the limit and of 0 or 1."""
    steps = [((i + 0.5) / per_side) ** 2 for i in range(per_side)]
    low, high = math.asin(math.sqrt(lower)), math.asin(math.sqrt(upper))
    below = [math.sin(low * (1.0 - step)) ** 2 for step in steps] if 0.0 < lower < 1.0 else []
    above = [math.sin(high + (math.pi / 2 - high) * step) ** 2 for step in steps] if 0.0 < upper < 1.0 else []
    return below + above


class Start:
    """The evidence from one outcome on: counts of its own, and products that are multiplied label by label."""

    def __init__(self, at: int, share: float, tolerated: Sequence[tuple[float, float]], n_classes: int) -> None:
        self.at, self.share = at, share
        self.ones = [0] * len(tolerated)
        self.zeros = [0] * len(tolerated)
        self.products = [[1.0] * len(PAIRS) for _ in range(n_classes)]
        self.own = [[1.0] * max(1, len(alternatives(*ends))) for ends in tolerated]

    def bin_evidence(self, b: int, lower: float, upper: float) -> float:
        if self.at == 0:
            return two_sided_mixture(self.ones[b], self.zeros[b], lower, upper)
        return sum(self.own[b]) / len(self.own[b])

    def evidence(self, tolerated: Sequence[tuple[float, float]]) -> float:
        own = sum(self.bin_evidence(b, *ends) for b, ends in enumerate(tolerated)) / len(tolerated)
        pooled = sum(sum(products) / len(products) for products in self.products) / len(self.products)
        return (own + pooled) / 2.0


class PooledMonitor:
    """Half of the evidence pooled, and new starts every `spacing` outcomes, of which `most` are kept.

    `class_of_bin` tells which class a bin belongs to; an outcome is a bin and a label for each class.
    """

    def __init__(
        self, values: Sequence[float], tolerated: Sequence[tuple[float, float]], class_of_bin: Sequence[int], spacing: int,
        most: int,
    ) -> None:  # fmt: skip
        self.values, self.tolerated, self.class_of_bin = list(values), list(tolerated), list(class_of_bin)
        self.spacing, self.most, self.n_outcomes = spacing, most, 0
        self.starts = [Start(0, FIRST, self.tolerated, 1 + max(class_of_bin))]
        self.left = 1.0 - FIRST
        self.path: list[float] = []

    def update_one(self, rows: Sequence[tuple[int, int]]) -> None:
        for start in self.starts:
            for b, label in rows:
                self._count(start, b, label)
        self.n_outcomes += 1
        self.path.append(self.evidence())
        if self.n_outcomes % self.spacing == 0:
            self._begin()

    def evidence(self) -> float:
        return self.left + sum(start.share * start.evidence(self.tolerated) for start in self.starts)

    def _count(self, start: Start, b: int, label: int) -> None:
        lower, upper = self.tolerated[b]
        start.ones[b] += label
        start.zeros[b] += 1 - label
        for i, q in enumerate(alternatives(lower, upper)):
            start.own[b][i] *= factor(label, q, lower, upper)
        products = start.products[self.class_of_bin[b]]
        for i, (a, c) in enumerate(PAIRS):
            if 0.0 < self.values[b] < 1.0:
                products[i] *= factor(label, moved(self.values[b], a, c), lower, upper)

    def _begin(self) -> None:
        j = self.n_outcomes // self.spacing
        share = 1.0 / (2 * (j + 1) * (j + 2))
        if len(self.starts) > self.most:
            self.starts.remove(min(self.starts[1:], key=lambda start: start.share * start.evidence(self.tolerated)))
        self.starts.append(Start(self.n_outcomes, share, self.tolerated, len(self.starts[0].products)))
        self.left -= share
