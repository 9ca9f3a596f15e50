"""Laws of scores with atoms, whose truth is known in closed form.

A score is written as its *position*, the probability of a smaller one: a position u in [0, 1) that no atom holds is the score
u, and an atom is the position at which its mass begins. So the mass below a score is the score, and that of a bin a difference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Function = Callable[[Array], Array]


@dataclass(frozen=True)
class Law:
    """Pieces of [0, 1) in ascending order, atoms and stretches without atoms; `rate` and `integral` are for the stretches."""

    starts: Array
    is_atom: npt.NDArray[np.bool_]
    atom_rates: Array
    rate: Function
    integral: Function
    ends: Array = field(init=False)
    ones_before: Array = field(init=False)

    def __post_init__(self) -> None:
        ends = np.append(self.starts[1:], 1.0)
        rises = np.where(self.is_atom, self.atom_rates * (ends - self.starts), self.integral(ends) - self.integral(self.starts))
        object.__setattr__(self, "ends", ends)
        object.__setattr__(self, "ones_before", np.concatenate([[0.0], np.cumsum(rises)]))

    def draw(self, rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Array, npt.NDArray[np.bool_]]:
        """Scores and labels in the order of the scores; in a group of equal ones label 1 comes last."""
        scores = rng.random(shape)
        if self.is_atom.any():
            piece = np.searchsorted(self.starts, scores, side="right") - 1
            at_atom = self.is_atom[piece]
            rates = np.where(at_atom, self.atom_rates[piece], self.rate(scores))
            scores = np.where(at_atom, self.starts[piece], scores)
        else:
            rates = self.rate(scores)
        # The bits of doubles that are not negative are ordered as they are; one more bit takes the label along.
        packed = (scores.view(np.int64) << 1) | (rng.random(shape) < rates)
        packed.sort(axis=1)
        return (packed >> 1).view(np.float64), (packed & 1).astype(np.bool_)

    def past(self, scores: Array) -> Array:
        """The probability of a score that is not greater."""
        piece = np.searchsorted(self.starts, scores, side="right") - 1
        return np.where(self.is_atom[piece], self.ends[piece], scores)

    def ones_below(self, positions: Array) -> Array:
        """The probability of label 1 and a position below; positions are those of edges, at which pieces may end."""
        piece = np.minimum(np.searchsorted(self.starts, positions, side="right") - 1, len(self.starts) - 1)
        inside = self.integral(positions) - self.integral(self.starts[piece])
        at_end = positions >= 1.0
        known = np.where(at_end, self.ones_before[-1], self.ones_before[piece])
        return known + np.where(self.is_atom[piece] | at_end, 0.0, inside)


def _sigmoid(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


PROFILES: dict[str, tuple[Function, Function]] = {
    "flat": (lambda s: np.full_like(s, 0.5), lambda s: 0.5 * s),
    "linear": (lambda s: s, lambda s: s**2 / 2.0),
    "falling": (lambda s: 1.0 - s, lambda s: s - s**2 / 2.0),
    "rare": (lambda s: 0.005 + 0.08 * s**2, lambda s: 0.005 * s + 0.08 * s**3 / 3.0),
    "sharp": (lambda s: _sigmoid(12.0 * (s - 0.5)), lambda s: np.logaddexp(0.0, 12.0 * (s - 0.5)) / 12.0),
    "credit": (lambda s: 0.08 + 0.6 * s**4, lambda s: 0.08 * s + 0.12 * s**5),
    "wave": (lambda s: 0.5 + 0.45 * np.sin(12.0 * s), lambda s: 0.5 * s - 0.45 * np.cos(12.0 * s) / 12.0),
}


def profile(name: str) -> Law:
    """Uniform scores without atoms."""
    return Law(np.zeros(1), np.zeros(1, np.bool_), np.zeros(1), *PROFILES[name])


def mixed(masses: npt.ArrayLike, rates: npt.ArrayLike, name: str = "linear") -> Law:
    """Pieces with these masses; a rate of NaN is that of a stretch without atoms."""
    sizes, of_atoms = np.asarray(masses, np.float64), np.asarray(rates, np.float64)
    starts = np.concatenate([[0.0], np.cumsum(sizes)[:-1]]) / sizes.sum()
    return Law(starts, ~np.isnan(of_atoms), np.nan_to_num(of_atoms), *PROFILES[name])


def atoms_among(positions: npt.ArrayLike, masses: npt.ArrayLike, rates: npt.ArrayLike, name: str = "linear") -> Law:
    """Atoms centred at these positions, which must not overlap, and no others."""
    pieces, end = [], 0.0
    for centre, mass, rate in zip(np.asarray(positions), np.asarray(masses), np.asarray(rates), strict=True):
        pieces += [(centre - mass / 2.0 - end, np.nan), (mass, rate)]
        end = centre + mass / 2.0
    pieces.append((1.0 - end, np.nan))
    return mixed(*np.array([piece for piece in pieces if piece[0] > 0.0]).T, name)


def _even(k: int) -> Law:
    """k equally likely scores whose rates rise, as of a forest of k - 1 trees."""
    return mixed(np.ones(k), (np.arange(k) + 0.5) / k)


def _boosting(n: int) -> Law:
    """60 % of the mass without atoms, among it groups of which 2 to 20 samples of n are expected."""
    rng = np.random.default_rng(n)
    sizes = rng.integers(2, 21, max(1, round(0.4 * n / 11.0))).astype(np.float64)
    gaps = rng.exponential(size=len(sizes) + 1)
    masses, rates = np.empty(2 * len(sizes) + 1), np.full(2 * len(sizes) + 1, np.nan)
    masses[0::2], masses[1::2] = 0.6 * gaps / gaps.sum(), 0.4 * sizes / sizes.sum()
    rates[1::2] = (np.cumsum(masses) - masses / 2.0)[1::2]
    return mixed(masses, rates)


def _rounded(n: int) -> Law:
    """u^2 for uniform u, rounded to two decimals: the lowest score has 7 % of the mass, the highest .25 %."""
    ends = np.sqrt(np.minimum((np.arange(101) + 0.5) / 100.0, 1.0))
    return mixed(np.diff(np.concatenate([[0.0], ends])), np.linspace(0.02, 0.9, 101))


def _light(n: int) -> Law:
    """Twenty heavy atoms of rate .3, each below a light one where all labels are 1."""
    return mixed(np.tile([0.047, 0.003], 20), np.tile([0.3, 1.0], 20))


def _random_labels(n: int) -> Law:
    """3,000 atoms, each of one label alone."""
    return mixed(np.ones(3000), np.random.default_rng(3000).integers(0, 2, 3000))


def _on_ranks(n_bins: int) -> Law:
    """Atoms of high rate where the cuts are expected, and of low rate between them."""
    if n_bins == 1:
        return profile("flat")
    cuts = np.arange(1, n_bins) / n_bins
    return atoms_among(cuts, np.full(n_bins - 1, 0.25 / n_bins), np.full(n_bins - 1, 0.95), "rare")


# By name, for n samples in n_bins bins.
TIED_LAWS: dict[str, Callable[[int, int], Law]] = {
    "1 atom": lambda n, n_bins: mixed([1.0], [0.4]),
    "2 atoms": lambda n, n_bins: mixed([0.6, 0.4], [0.2, 0.7]),
    "3 atoms": lambda n, n_bins: mixed([0.5, 0.2, 0.3], [0.6, 0.1, 0.8]),
    "21 atoms": lambda n, n_bins: _even(21),
    "101 atoms": lambda n, n_bins: _even(101),
    "boosting": lambda n, n_bins: _boosting(n),
    "70 % at zero": lambda n, n_bins: mixed([0.7, 0.3], [0.1, np.nan]),
    "70 % at zero, rare": lambda n, n_bins: mixed([0.7, 0.3], [0.002, np.nan], "rare"),
    "70 % above few": lambda n, n_bins: mixed([1.0 / n, 0.7, 0.3 - 1.0 / n], [1.0, 0.05, np.nan]),
    "an atom up to a rank": lambda n, n_bins: mixed([0.4, 0.6], [0.5, np.nan]),
    "two decimals": lambda n, n_bins: _rounded(n),
    "alternating": lambda n, n_bins: mixed(np.ones(21), np.where(np.arange(21) % 2, 0.95, 0.05)),
    "light atoms": lambda n, n_bins: _light(n),
    "random labels": lambda n, n_bins: _random_labels(n),
    "on the ranks": lambda n, n_bins: _on_ranks(n_bins),
    "continuous": lambda n, n_bins: profile("linear"),
    "continuous, flat": lambda n, n_bins: profile("flat"),
}


def tied_law(name: str, n: int, n_bins: int) -> Law:
    """One of `TIED_LAWS`."""
    return TIED_LAWS[name](n, n_bins)
