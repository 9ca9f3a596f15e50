"""Populations of classes and segments whose truth is a sum, and how often joint promises about their cells fail.

A population is a list of rows, each with the chances of its labels; a sample draws rows with replacement, and labels by their
chances. So the true rate of a bin, of whatever model, is a mean over the rows that fall there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from simulation.failures import ALPHA
from simulation.laws import PROFILES

import fastbin as fb
from fastbin.guarantees import SetCertificate

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
SIZE = 200_000  # rows of a population
GRID = 64  # rounded scores are multiples of 1 / 64, which add up exactly


@dataclass
class Column:
    """Scores of rows in ascending order, and how many labels of 1 are expected among those below each."""

    scores: Array
    ones_below: Array

    @classmethod
    def of(cls, scores: Array, chances: Array) -> Column:
        order = np.argsort(scores, kind="stable")
        return cls(scores[order], np.concatenate([[0.0], np.cumsum(chances[order])]))


@dataclass
class Segments:
    """Scores, the cell of each row, and the chance of label 1."""

    scores: Array
    cells: Integers
    chances: Array
    _columns: dict[tuple[int, ...], Column] = field(default_factory=dict)

    def column(self, keys: tuple[int, ...]) -> Column:
        """The rows of these cells together."""
        if keys not in self._columns:
            rows = np.isin(self.cells, keys)
            self._columns[keys] = Column.of(self.scores[rows], self.chances[rows])
        return self._columns[keys]

    def fit(self, rng: np.random.Generator, n: int, estimator: Any) -> Fitted:
        at = rng.integers(0, len(self.scores), n)
        estimator.fit(self.scores[at], rng.random(n) < self.chances[at], self.cells[at])
        return self.truth_of(estimator.model_)

    def truth_of(self, models: fb.ModelSet) -> Fitted:
        """The truth about a fit to some of the rows."""
        names = [models.pooled_cells if name is None else (name,) for name, _ in models.numbered]
        return Fitted.of(models, [self.column(keys) for keys in names])  # type: ignore[arg-type]


@dataclass
class Classes:
    """Probabilities that a classifier gives, and the true ones of the classes, both of shape (rows, k)."""

    matrix: Array
    truth: Array

    @cached_property
    def tops(self) -> Segments:
        """The largest entry of each row, where it stands first, and the chance that this is the class."""
        rows, predicted = np.arange(len(self.matrix)), self.matrix.argmax(axis=1)
        return Segments(self.matrix[rows, predicted], predicted, self.truth[rows, predicted])

    @cached_property
    def _columns(self) -> list[Column]:
        return [Column.of(*pair) for pair in zip(self.matrix.T, self.truth.T, strict=True)]

    @cached_property
    def _steps(self) -> Array:
        return np.cumsum(self.truth, axis=1)[:, :-1]

    def fit(self, rng: np.random.Generator, n: int, estimator: Any) -> Fitted:
        at = rng.integers(0, len(self.matrix), n)
        estimator.fit(self.matrix[at], (rng.random((n, 1)) >= self._steps[at]).sum(axis=1))
        if isinstance(estimator, fb.multi.TopLabelBinning):
            return self.tops.truth_of(estimator.model_)
        return Fitted.of(estimator.model_, self._columns)


@dataclass
class Fitted:
    """A set with the truth about all its bins, one after the other: rates, averages of what is served, and masses.

    Where no row of the population falls the mass is 0, and rate and average are NaN, which no comparison finds wrong.
    """

    models: fb.ModelSet
    rates: Array
    served: Array
    masses: Array

    @classmethod
    def of(cls, models: fb.ModelSet, columns: list[Column]) -> Fitted:
        """The truth about models of these populations."""
        sums = [_sums_of_bins(model, column) for (_, model), column in zip(models.numbered, columns, strict=True)]
        counts, ones, values = np.concatenate(sums, axis=1)
        with np.errstate(invalid="ignore"):
            return cls(models, ones / counts, values / counts, counts / counts.sum())

    @cached_property
    def certificate(self) -> SetCertificate:
        """The default one."""
        return self.models.certificate(ALPHA)  # type: ignore[return-value]

    def per_model(self, of_bins: Array) -> list[Array]:
        return np.split(of_bins, self.models.first_bin[1:-1])


def _sums_of_bins(model: fb.BinnedModel, column: Column) -> Array:
    """For each bin: the number of rows, the labels of 1 that are expected, and the sum of the values served."""
    assert not model.edge_keys.any()  # a score at an edge lies above it
    ends = np.concatenate([[0], np.searchsorted(column.scores, model.edges), [len(column.scores)]])
    counts = np.diff(ends)
    of_steps = np.stack([counts, np.diff(column.ones_below[ends]), counts * model.values])
    return np.asarray(np.add.reduceat(of_steps, model.first_step, axis=1))


# ------------------------------------------------------------------------------------------------- what is measured


def _conditional(fitted: Fitted) -> float:
    """Whether some bin of some model errs by more than its radius."""
    return float(_beyond(fitted, fitted.certificate).any())


def _a_priori(fitted: Fitted) -> float:
    """Whether some bin of some model errs by more than epsilon, the same for all."""
    return float(_beyond(fitted, fitted.models.certificate(ALPHA, bound="a-priori")).any())


def _beyond(fitted: Fitted, certificate: SetCertificate) -> npt.NDArray[np.bool_]:
    """The bins that err by more than is promised; those of models without samples never do."""
    radii, parts = [], dict(certificate.parts)
    for name, model in fitted.models.numbered:
        of_bins = parts[name].radii if name in parts else (1.0,) * model.n_bins
        radii.append(np.full(model.n_bins, certificate.epsilon) if of_bins is None else np.array(of_bins))
    return np.asarray(np.abs(fitted.rates - fitted.served) > np.concatenate(radii))


def _marginal(fitted: Fitted) -> float:
    """The mass of the rows for which the promise fails; of a class-wise set that of the class with the most."""
    missed = np.where(_beyond(fitted, fitted.models.certificate(ALPHA, "marginal")), fitted.masses, 0.0)
    sums = [part.sum() for part in fitted.per_model(missed)]
    return float(max(sums) if fitted.models.kind == "class-wise" else sum(sums))


def _ece(fitted: Fitted) -> float:
    """Whether the ECE of some model is above its bound."""
    parts = dict(fitted.models.certificate(ALPHA, "ece").parts)
    errors = np.nan_to_num(np.abs(fitted.rates - fitted.served)) * fitted.masses
    for (name, _), error, mass in zip(
        fitted.models.numbered, fitted.per_model(errors), fitted.per_model(fitted.masses), strict=True
    ):
        if name in parts and error.sum() > parts[name].epsilon * mass.sum():
            return 1.0
    return 0.0


def _intervals(fitted: Fitted) -> float:
    """Whether some rate is outside its interval."""
    low, high = np.concatenate(fitted.models.interval(ALPHA)).T
    return float(((fitted.rates < low) | (fitted.rates > high)).any())


MEASURES: dict[str, Callable[[Fitted], float]] = {
    "conditional": _conditional,
    "a-priori": _a_priori,
    "intervals": _intervals,
    "marginal": _marginal,
    "ece": _ece,
    "epsilon": lambda fitted: fitted.certificate.epsilon,
}


def measured(
    population: Segments | Classes, n: int, estimator: Any, repetitions: int, seed: int, names: tuple[str, ...]
) -> dict[str, Array]:
    """The values of these measures in each of `repetitions` samples of n rows."""
    rng = np.random.default_rng([seed, n])
    found = np.empty((repetitions, len(names)))
    for i in range(repetitions):
        fitted = population.fit(rng, n, estimator)
        found[i] = [MEASURES[name](fitted) for name in names]
    return dict(zip(names, found.T, strict=True))


# ------------------------------------------------------------------------------------------------- populations


@lru_cache(maxsize=6)
def classes(k: int, rounded: bool = False, rare: bool = True) -> Classes:
    """Softmax of random logits of k classes, unequal; if `rare`, class 1 is rare, and the last one is never predicted.

    The truth is the softmax of 0.6 times the logits plus numbers of each class, so that the classifier is overconfident, more
    in some classes than in others. Rounded, scores have 64 values, and in some rows two classes have the largest one.
    """
    rng = np.random.default_rng([k, rounded])
    logits = 2.0 * rng.standard_normal((SIZE, k)) + np.linspace(0.0, 1.5, k)
    if rare:
        logits[:, 1] -= 6.3 if k == 3 else 2.4
        logits[:, -1] -= 40.0
    matrix = _softmax(logits)
    truth = _softmax(0.6 * np.maximum(logits, -6.0) + np.linspace(0.5, -0.5, k))
    if rounded:
        matrix = np.floor(matrix * GRID) / GRID
        matrix[np.arange(SIZE), matrix.argmax(axis=1)] += 1.0 - matrix.sum(axis=1)
        even = rng.random(SIZE) < 0.02
        matrix[even] = np.where(np.isin(np.arange(k), [0, 2 if k > 3 else 1]), 0.5, 0.0)
    return Classes(matrix, truth)


def _softmax(logits: Array) -> Array:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


@lru_cache(maxsize=4)
def segments(rounded: bool = False) -> Segments:
    """50 segments, the largest 100 times the smallest; the profiles of the truth take turns.

    Where `rounded`, two of three segments have scores of two decimals or of 13 values.
    """
    rng = np.random.default_rng(50 + rounded)
    sizes = np.geomspace(30, 3000, 50)[rng.permutation(50)]
    cells = rng.choice(50, SIZE, p=sizes / sizes.sum())
    scores, chances = rng.random(SIZE), np.empty(SIZE)
    for cell in range(50):
        rows = np.flatnonzero(cells == cell)
        if rounded and cell % 3:
            scores[rows] = scores[rows].round(2) if cell % 3 == 1 else np.floor(13 * scores[rows]) / 12
        chances[rows] = PROFILES[("flat", "linear", "rare", "sharp")[cell % 4]][0](scores[rows])
    return Segments(scores, cells, chances)
