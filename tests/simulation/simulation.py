"""Populations whose truth is known, and uniform-mass binning of many samples of them at once, in NumPy alone.

A sample's *position* is where it stands in the population in order of (score, key): uniform on [0, 1) whatever the scores' law
is, atoms included. Bins are intervals of positions, so their true masses are differences, and their true frequencies are
differences of one cumulative function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from simulation.evidence import Fitted
from simulation.laws import PROFILES

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_GRID = np.linspace(0.0, 1.0, 2**17 + 1)


@dataclass(frozen=True)
class Population:
    """`frequency` of label 1 given the score; `quantile` and its inverse `below`, or the masses of the atoms i / (k - 1)."""

    name: str
    frequency: Callable[[Array], Array]
    quantile: Callable[[Array], Array] = lambda position: position
    below: Callable[[Array], Array] = lambda score: score
    atoms: tuple[float, ...] | None = None

    def draw(self, rng: np.random.Generator, repetitions: int, n: int) -> tuple[Array, Array, Array, Integers]:
        """Scores, keys, positions and labels, each of shape (repetitions, n)."""
        uniform, keys = rng.random((repetitions, n)), rng.random((repetitions, n))
        if self.atoms is None:
            scores, positions = self.quantile(uniform), uniform
        else:
            scores = np.searchsorted(np.cumsum(self.atoms)[:-1], uniform, side="right") / (len(self.atoms) - 1.0)
            positions = self.positions(scores, keys)
        labels = (rng.random((repetitions, n)) < self.frequency(scores)).astype(np.int64)
        return scores, keys, positions, labels

    def positions(self, scores: Array, keys: Array) -> Array:
        """Where samples with these scores and keys in [0, 1] stand; keys matter for atoms alone."""
        if self.atoms is None:
            return self.below(scores)
        masses = np.array(self.atoms)
        atom = np.rint(scores * (len(masses) - 1)).astype(np.int64)
        return np.concatenate([[0.0], np.cumsum(masses)])[atom] + masses[atom] * keys

    def cumulative(self, positions: Array) -> Array:
        """The integral of the frequency over positions up to these."""
        if self.atoms is not None:
            starts = np.concatenate([[0.0], np.cumsum(self.atoms)])
            rates = self.frequency(np.arange(len(self.atoms)) / (len(self.atoms) - 1.0))
            return np.interp(positions, starts, np.concatenate([[0.0], np.cumsum(rates * np.array(self.atoms))]))
        rates = self.frequency(self.quantile(_GRID))
        steps = (rates[1:] + rates[:-1]) / 2.0 * np.diff(_GRID)
        return np.interp(positions, _GRID, np.concatenate([[0.0], np.cumsum(steps)]))


POPULATIONS = {
    population.name: population
    for population in (
        *(Population(name, rate) for name, (rate, _) in PROFILES.items() if name != "falling"),
        # Thirteen scores, three of them with half of the mass: every cut falls into ties.
        Population(
            "tied", lambda s: 0.1 + 0.7 * s, atoms=(0.2, 0.01, 0.04, 0.05, 0.15, 0.05, 0.02, 0.03, 0.15, 0.02, 0.08, 0.1, 0.1)
        ),
        # Half of the scores lie below 1/8: bins of equal width have masses from 0.46 to 0.03.
        Population("skewed", lambda s: 0.02 + 0.9 * s, lambda u: u**3, np.cbrt),
    )
}


@dataclass(frozen=True)
class Binned:
    """Many fitted models with the truth about their bins; arrays of shape (repetitions, n_bins)."""

    counts: Integers
    label_sums: Integers
    frequencies: Array
    masses: Array
    scheme: str
    n: int

    @property
    def values(self) -> Array:
        return np.where(self.counts > 0, self.label_sums / np.maximum(self.counts, 1), 0.5)

    def models(self, values: Array | None = None) -> Iterator[Fitted]:
        """Each as evidence, with other values than the means where given."""
        of_models = self.values if values is None else values
        for counts, label_sums, value in zip(self.counts, self.label_sums, of_models, strict=True):
            n_bins = len(counts)
            yield Fitted(counts, label_sums, value, self.scheme, n_samples=self.n, n_bins=n_bins, n_bins_asked=n_bins)

    def suspects(self, found: Array, values: Array | None = None) -> list[tuple[int, Fitted]]:
        """Models, with their numbers: in quick tests those of the third of all repetitions in which `found` is largest.

        Certificates take the time of tests. Where they fail too often they fail for these, and the failures that refute a
        level of 0.1 are less than a quarter of 150 repetitions or more.
        """
        kept = len(found) if len(found) > 1000 else len(found) // 3
        models = list(self.models(values))
        return [(i, models[i]) for i in np.argsort(-found, kind="stable")[:kept].tolist()]

    def errors(self, values: Array | None = None) -> Array:
        return np.abs(self.frequencies - (self.values if values is None else values))

    def ece(self, values: Array | None = None) -> Array:
        """The expected calibration error of each model, bins with equal values kept apart (which can only be larger)."""
        return (self.masses * self.errors(values)).sum(axis=1)


def _ordered(scores: Array, keys: Array, *others: Any) -> list[Any]:
    order = np.lexsort((keys, scores), axis=-1)
    return [np.take_along_axis(other, order, axis=-1) for other in others]


def truth(population: Population, edges: Array) -> tuple[Array, Array]:
    """Frequencies and masses of the bins between `edges`, positions of shape (repetitions, n_bins - 1)."""
    ends = np.concatenate([np.zeros_like(edges[:, :1]), edges, np.ones_like(edges[:, :1])], axis=1)
    masses = np.diff(ends, axis=1)
    rises = np.diff(population.cumulative(ends), axis=1)
    return rises / np.maximum(masses, 1e-300), masses


def _by_ranks(population: Population, rng: np.random.Generator, shape: tuple[int, int], n_bins: int, scheme: str) -> Binned:
    n = shape[1]
    scores, keys, positions, labels = population.draw(rng, *shape)
    positions, labels = _ordered(scores, keys, positions, labels)
    steps = np.arange(n_bins + 1)
    ranks = n * steps // n_bins if scheme == "umb" else -(-steps * (n + 1) // n_bins)
    cut = ranks[1:-1]
    sums_up_to = np.concatenate([np.zeros((shape[0], 1), dtype=np.int64), np.cumsum(labels, axis=1)], axis=1)
    # "umd" leaves out the boundary sample of rank k; "ze" and "umb" average its label in the bin below.
    first = np.concatenate([[0], cut])
    last = np.concatenate([cut - (scheme == "umd"), [n]])
    label_sums = sums_up_to[:, last] - sums_up_to[:, first]
    counts = np.broadcast_to(last - first, label_sums.shape)
    return Binned(counts, label_sums, *truth(population, positions[:, cut - 1]), scheme, n)


def _by_edges(positions: Array, labels: Integers, edges: Array) -> tuple[Integers, Integers]:
    n_bins = edges.shape[1] + 1
    bins = (positions[:, :, None] >= edges[:, None, :]).sum(axis=2) if edges.size else np.zeros(positions.shape, dtype=np.int64)
    flat = bins + n_bins * np.arange(positions.shape[0])[:, None]
    size = n_bins * positions.shape[0]
    counts = np.bincount(flat.ravel(), minlength=size).reshape(-1, n_bins)
    ones = np.bincount(flat[labels == 1], minlength=size).reshape(-1, n_bins)
    return counts, ones


def _of_part(population: Population, rng: np.random.Generator, shape: tuple[int, int], n_bins: int) -> Binned:
    """Sample splitting, half and half: edges at the ranks ceil(j n1 / n_bins) of the first half, tally of the second."""
    scores, keys, positions, labels = population.draw(rng, *shape)
    half = shape[1] // 2
    (ordered,) = _ordered(scores[:, :half], keys[:, :half], positions[:, :half])
    edges = ordered[:, -(-np.arange(1, n_bins) * half // n_bins) - 1]
    return Binned(*_by_edges(positions[:, half:], labels[:, half:], edges), *truth(population, edges), "ums", shape[1])


def _of_width(population: Population, rng: np.random.Generator, shape: tuple[int, int], n_bins: int) -> Binned:
    _, _, positions, labels = population.draw(rng, *shape)
    edges = np.broadcast_to(population.below(np.arange(1, n_bins) / n_bins), (shape[0], n_bins - 1))
    return Binned(*_by_edges(positions, labels, edges), *truth(population, edges), "fixed-width", shape[1])


def binned(population: Population, n: int, n_bins: int, scheme: str, repetitions: int, seed: int, block: int = 500) -> Binned:
    """`repetitions` independent samples of n, each binned by `scheme`; drawn in blocks to bound memory."""
    rng = np.random.default_rng([seed, n, n_bins])
    parts = []
    for start in range(0, repetitions, block):
        shape = (min(block, repetitions - start), n)
        if scheme == "ums":
            parts.append(_of_part(population, rng, shape, n_bins))
        elif scheme == "fixed-width":
            parts.append(_of_width(population, rng, shape, n_bins))
        else:
            parts.append(_by_ranks(population, rng, shape, n_bins, scheme))
    arrays = [
        np.concatenate([getattr(part, name) for part in parts]) for name in ("counts", "label_sums", "frequencies", "masses")
    ]
    return Binned(*arrays, scheme, n)
