"""Does what a certificate promises hold? Simulated, where the truth is known, as test rows are too few to tell.

A population is made of a score set: its scores with their ties (and a straight line between neighbours that do not tie), and
as the truth the isotonic regression of all its labels, which has jumps, flat parts and values of 0 and 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import fastbin as fb
from bench.calarena.cells import quiet
from bench.calarena.methods import Method, certificate_of, radii_of, seed_of
from bench.calarena.score_sets import SEED, ScoreSet

__all__ = ["Coverage", "Population", "promising", "simulate"]

Float64s = npt.NDArray[np.float64]
UInt8s = npt.NDArray[np.uint8]

GRID = 50_001  # ranks over which the true rate and the served values of a bin are averaged


@dataclass(frozen=True)
class Coverage:
    """How often a method kept its promise on one population at one number of calibration rows.

    `repetitions` are those whose fit gave a certificate; `raised` counts the others.
    """

    set: str
    n: int
    method: str
    repetitions: int
    kept: int
    epsilon: float  # its mean
    raised: int = 0

    @property
    def share(self) -> float:
        return self.kept / self.repetitions


class Population:
    """Scores drawn like those of a score set, with a known chance of label 1."""

    def __init__(self, score_set: ScoreSet) -> None:
        self.name = score_set.name
        self._sorted = np.sort(score_set.scores)
        self._rate = fb.IsotonicCalibration().fit(score_set.scores, score_set.labels).model_
        self.grid = self.scores_at((np.arange(GRID) + 0.5) / GRID)
        self.grid_rates = self._rate.predict(self.grid)

    def scores_at(self, ranks: Float64s) -> Float64s:
        """The scores at these ranks in (0, 1)."""
        places = ranks * (len(self._sorted) - 1)
        below = places.astype(np.int64)
        low, high = self._sorted[below], self._sorted[below + 1]
        return np.where(low == high, low, low + (places - below) * (high - low))

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Float64s, UInt8s]:
        """Scores and labels of n independent rows."""
        scores = self.scores_at(rng.random(n))
        return scores, (rng.random(n) < self._rate.predict(scores)).astype(np.uint8)

    def keeps(self, model: fb.BinnedModel, radii: Float64s) -> bool:
        """Whether in every bin the true rate is within its radius of the mean of what is served there."""
        seed = seed_of(model)
        bins = model.assign(self.grid, seed=seed)
        masses = np.maximum(np.bincount(bins, minlength=len(radii)), 1)
        gaps = np.bincount(bins, self.grid_rates - model.predict(self.grid, seed=seed), len(radii)) / masses
        return bool((np.abs(gaps) <= radii + 1e-12).all())


def promising(methods: Sequence[Method]) -> list[Method]:
    """The methods whose models have a certificate."""
    rng = np.random.default_rng(0)
    scores = rng.random(400)
    labels = (rng.random(400) < scores).astype(np.uint8)
    with quiet():
        return [method for method in methods if _promise(method, scores, labels) is not None]


def simulate(score_set: ScoreSet, n: int, methods: Sequence[Method], repetitions: int) -> list[Coverage]:
    """Draw calibration rows this often, and count how often each method keeps its promise; all get the same rows."""
    kept = {method.name: 0 for method in methods}
    epsilons: dict[str, list[float]] = {method.name: [] for method in methods}
    with quiet():
        population = Population(score_set)
        for repetition in range(repetitions):
            scores, labels = population.draw(n, np.random.default_rng([SEED, n, repetition]))
            for method in methods:
                promise = _promise(method, scores, labels)
                if promise is not None:
                    model, certificate = promise
                    kept[method.name] += population.keeps(model, radii_of(certificate))
                    epsilons[method.name].append(certificate.epsilon)
    return [
        Coverage(score_set.name, n, name, len(found), kept[name], float(np.mean(found)), repetitions - len(found))
        for name, found in epsilons.items()
        if found
    ]


def _promise(method: Method, scores: Float64s, labels: UInt8s) -> tuple[fb.BinnedModel, Any] | None:
    """A fitted model and its certificate; None where the fit raised, whatever it was, or proves nothing."""
    try:
        model = method.fit(scores, labels).model
    except Exception:
        return None
    certificate = certificate_of(model)
    return None if model is None or certificate is None else (model, certificate)
