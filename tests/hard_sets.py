"""The hard calibration sets and the calibrators that every way to fit where the data are has to get right, to the byte.

Each set breaks something: a grid of equal cells (bunched, all magnitudes), a rounding logarithm (subnormal), the belief that
scores differ (ties, one value), that zero is one number, or that scores lie in [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import fastbin as fb

Float64s = npt.NDArray[np.float64]

TINY = 5e-324


class HardSet(NamedTuple):
    """Read-only columns of one length, and the range to fit with."""

    scores: Float64s
    labels: npt.NDArray[np.bool_]
    repeats: npt.NDArray[np.int64]  # integer weights, some of them 0
    score_range: tuple[float, float] | None


def _atoms(rng: np.random.Generator, n: int) -> Float64s:
    """Four values hold three quarters of the rows; zero comes with both signs."""
    atoms = rng.choice([0.0, -0.0, 0.25, 0.5, 1.0], n)
    return np.where(rng.random(n) < 0.75, atoms, rng.random(n))


def _magnitudes(rng: np.random.Generator, n: int) -> Float64s:
    """Both signs, every power of ten that a double has, and the greatest double."""
    scores = rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-307.0, 308.0, n)
    scores[rng.random(n) < 0.1] *= 1e-300  # many of these become subnormal, some zero
    scores[:2] = float(np.finfo(np.float64).max), -float(np.finfo(np.float64).max)
    return scores


SHAPES: dict[str, Callable[[np.random.Generator, int], Float64s]] = {
    "uniform": lambda rng, n: rng.random(n),
    "beta": lambda rng, n: rng.beta(0.5, 5.0, n),
    "100 values": lambda rng, n: rng.integers(0, 100, n) / 100.0,
    "heavy atoms": _atoms,
    "bunched": lambda rng, n: 0.3 + 1e-9 * rng.random(n),
    "logits": lambda rng, n: rng.normal(-1.0, 3.0, n),
    "all magnitudes": _magnitudes,
    "subnormal": lambda rng, n: rng.integers(0, 2**40, n) * TINY,
    "one value": lambda rng, n: np.full(n, 0.3),
}
WITHOUT_RANGE = ("logits", "all magnitudes")

NAMES = tuple(SHAPES)


@cache
def hard_set(name: str, n: int = 4000) -> HardSet:
    """The set of this name: the same rows each time, labels that follow the rank of the score."""
    rng = np.random.default_rng([NAMES.index(name), n])
    scores = SHAPES[name](rng, n)
    _, rank = np.unique(scores, return_inverse=True)
    labels = rng.random(n) < (rank + 1.0) / (rank.max() + 2.0)
    found = HardSet(scores, labels, rng.choice([0, 1, 1, 2, 5], n), None if name in WITHOUT_RANGE else (0.0, 1.0))
    for column in found[:3]:
        column.flags.writeable = False
    return found


# Every calibrator that is a function of counts at ranks, as (score_range) -> calibrator. "umb" has no ties="upper".
CALIBRATORS: dict[str, Callable[[tuple[float, float] | None], fb.UniformMassBinning | fb.CertifiedCalibration]] = {
    **{
        f"{scheme}, {ties}": lambda score_range, scheme=scheme, ties=ties: fb.UniformMassBinning(
            12, scheme=scheme, ties=ties, score_range=score_range
        )
        for scheme in ("umd", "ze", "umb")
        for ties in ("whole", "random", "upper")
        if (scheme, ties) != ("umb", "upper")
    },
    "certified": lambda score_range: fb.CertifiedCalibration(score_range=score_range),
}

# The warnings of fits whose sets have too few distinct scores for all bins.
FEWER_BINS = ("ignore:ties='whole' left:fastbin.FastbinWarning", "ignore:ties left:fastbin.FastbinWarning")


def local_model(calibrator: str, name: str, n: int = 4000, *, weighted: bool = False) -> fb.BinnedModel:
    """The fit to the set in memory, with which all other ways are compared."""
    rows = hard_set(name, n)
    repeats = rows.repeats if weighted else None
    return CALIBRATORS[calibrator](rows.score_range).fit(rows.scores, rows.labels, repeats).model_
