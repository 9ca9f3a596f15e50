"""Laws whose truth is known, and how a decision fares on them: for simulations, and for the comparison with other libraries."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fastbin.decide import Decision, accept_threshold

DELTA = 0.1
CELLS = 20_000  # of the integrals: more than the breadth of a threshold's digits matters
ROUNDING = 1e-9  # of the sums over them
Truth = Callable[[np.ndarray], np.ndarray]


class Design(NamedTuple):
    """Scores are uniform on [0, 1], or their tenths, and label 1 has the probability truth(score)."""

    truth: Truth
    n: int
    target: float
    step: float = 0.0

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        scores = rng.random(self.n)
        if self.step:
            scores = np.ceil(scores / self.step) * self.step
        return scores, rng.random(self.n) < self.truth(scores)

    def law(self) -> Law:
        scores = (np.arange(CELLS) + 0.5) / CELLS
        if self.step:
            scores = np.ceil(scores / self.step) * self.step
        return Law(scores, np.append(0.0, np.cumsum(self.truth(scores))) / CELLS)


class Law(NamedTuple):
    """Scores of the same mass, ascending, and the probability of label 1 together with each smaller number of them."""

    scores: np.ndarray
    ones: np.ndarray

    def between(self, low: float, high: float) -> tuple[float, float]:
        """P(low < score <= high), and the same with label 1."""
        first, end = np.searchsorted(self.scores, (low, high), "right")
        return float(end - first) / CELLS, float(self.ones[end] - self.ones[first])


def sharp(s: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-12.0 * (s - 0.5)))


def linear(s: np.ndarray) -> np.ndarray:
    return s


def credit(s: np.ndarray) -> np.ndarray:
    return 0.08 + 0.6 * s**4


def rare(s: np.ndarray) -> np.ndarray:
    return 0.005 + 0.08 * s * s


def wave(s: np.ndarray) -> np.ndarray:
    """Crosses every target many times: nothing is assumed of the truth."""
    return 0.5 + 0.45 * np.sin(40.0 * s)


def notch(s: np.ndarray) -> np.ndarray:
    """False at the top alone, where the tests would like to start."""
    return np.where(s > 0.93, 0.75, np.where(s > 0.6, 0.95, 0.4))


def just_below(target: float) -> Truth:
    return lambda s: np.full(s.shape, target - 1e-4)


DESIGNS = {
    "linear .8, n = 1,000": Design(linear, 1_000, 0.8),
    "sharp .95, n = 1,000": Design(sharp, 1_000, 0.95),
    "credit .5, n = 1,000": Design(credit, 1_000, 0.5),
    "linear .8, n = 5,000": Design(linear, 5_000, 0.8),
    "sharp .95, n = 5,000": Design(sharp, 5_000, 0.95),
    "credit .5, n = 5,000": Design(credit, 5_000, 0.5),
    "rare .05, n = 5,000": Design(rare, 5_000, 0.05),
    "knife edge .8, n = 1,000": Design(just_below(0.8), 1_000, 0.8),
    "knife edge .8, n = 5,000": Design(just_below(0.8), 5_000, 0.8),
    "wave .55, n = 1,000": Design(wave, 1_000, 0.55),
    "notch .8, n = 1,000": Design(notch, 1_000, 0.8),
    "tenths .8, n = 1,000": Design(linear, 1_000, 0.8, 0.1),
}


class Outcome(NamedTuple):
    """Means over runs."""

    accepted: float  # the true share that is accepted
    broken: float  # share of runs whose promise is false
    recall_missed: float
    coverage_missed: float


def falls_short(part: float, share: float, whole: float) -> bool:
    """Whether `part` is less than its share of the whole, by more than the sums may be off."""
    return part < share * whole - ROUNDING


def promises_hold(decision: Decision, law: Law) -> bool:
    """Whether what is said of the bands is true of this law."""
    accepted, right = law.between(decision.accept_above, math.inf)
    rejected, wrong = law.between(-math.inf, np.nextafter(decision.reject_below, -math.inf))
    if decision.cost is None:
        kept = decision.precision is None or not falls_short(right, decision.precision, accepted)
        return kept and (decision.npv is None or not falls_short(rejected - wrong, decision.npv, rejected))
    share = decision.cost[0] / sum(decision.cost)
    ends = {"accept": math.inf, "reject": -math.inf}
    for test in decision.sequence:
        low, high = sorted((test.threshold, ends[test.band]))
        ends[test.band] = test.threshold
        mass, ones = law.between(low, high)
        if test.band == "accept" and low >= decision.accept_above and falls_short(ones, share, mass):
            return False
        if test.band == "reject" and high <= decision.reject_below and falls_short(mass - ones, 1.0 - share, mass):
            return False
    return True


def simulate(design: Design, runs: int, **goal: Any) -> Outcome:
    rng = np.random.default_rng(design.n)
    law = design.law()
    found = []
    for _ in range(runs):
        decision = accept_threshold(*design.draw(rng), delta=DELTA, **goal)
        accepted, right = law.between(decision.accept_above, math.inf)
        rejected, _ = law.between(-math.inf, np.nextafter(decision.reject_below, -math.inf))
        recall_holds = decision.recall[0] <= right / law.ones[-1] <= decision.recall[1]
        coverage_holds = decision.coverage[0] <= accepted + rejected <= decision.coverage[1]
        found.append([accepted, not promises_hold(decision, law), not recall_holds, not coverage_holds])
    return Outcome(*np.mean(found, axis=0))
