"""Laws whose truth is known, and how a decision fares on them: for simulations, and for the comparison with other libraries."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fastbin.decide import Decision, accept_threshold

DELTA = 0.1
CELLS = 100_000  # of the integrals: more than the breadth of a threshold's digits matters
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

    def law(self) -> tuple[np.ndarray, np.ndarray]:
        """The scores, each of the same mass, and the probabilities of label 1 there."""
        scores = (np.arange(CELLS) + 0.5) / CELLS
        if self.step:
            scores = np.ceil(scores / self.step) * self.step
        return scores, self.truth(scores)


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


def promises_hold(decision: Decision, scores: np.ndarray, rates: np.ndarray) -> bool:
    """Whether what is said of the bands is true of this law."""
    above, below = rates[scores > decision.accept_above], rates[scores < decision.reject_below]
    if decision.cost is None:
        accepts = decision.precision is None or not len(above) or above.mean() >= decision.precision
        return accepts and (decision.npv is None or not len(below) or 1.0 - below.mean() >= decision.npv)
    share = decision.cost[0] / sum(decision.cost)
    ends = {"accept": math.inf, "reject": -math.inf}
    for test in decision.sequence:
        low, high = sorted((test.threshold, ends[test.band]))
        used = low >= decision.accept_above if test.band == "accept" else high <= decision.reject_below
        if used:
            rate = rates[(scores > low) & (scores <= high)].mean()
            if (rate < share) if test.band == "accept" else (rate > share):
                return False
        ends[test.band] = test.threshold
    return True


def simulate(design: Design, runs: int, **goal: Any) -> Outcome:
    rng = np.random.default_rng(design.n)
    scores, rates = design.law()
    found = []
    for _ in range(runs):
        decision = accept_threshold(*design.draw(rng), delta=DELTA, **goal)
        accepted, rejected = scores > decision.accept_above, scores < decision.reject_below
        recall = rates[accepted].sum() / rates.sum()
        shown = [decision.recall[0] <= recall <= decision.recall[1]]
        shown.append(decision.coverage[0] <= accepted.mean() + rejected.mean() <= decision.coverage[1])
        found.append([accepted.mean(), not promises_hold(decision, scores, rates), *np.logical_not(shown)])
    return Outcome(*np.mean(found, axis=0))
