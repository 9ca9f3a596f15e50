"""The one table of cases: what is measured, on which data, against what, and what is asked of it.

Every bench reads its data from here, so that a case means the same in every place, and none is copied. Data are made by seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Float64s = npt.NDArray[np.float64]

SHAPES: dict[str, Callable[[np.random.Generator, int], Float64s]] = {
    "uniform": lambda rng, n: rng.random(n),
    "Beta(.5, 5)": lambda rng, n: rng.beta(0.5, 5, n),
    "click rates": lambda rng, n: rng.lognormal(-13.0, 1.0, n).clip(0.0, 1.0),
    "click rates 1e-4": lambda rng, n: rng.lognormal(np.log(1e-4), 1.0, n).clip(0.0, 1.0),
    "sorted": lambda rng, n: np.sort(rng.random(n)),
    "100 values": lambda rng, n: rng.integers(0, 100, n) / 100.0,
    "constant": lambda rng, n: np.full(n, 0.3),
    "subnormal": lambda rng, n: rng.integers(0, 2**40, n) * 5e-324,
    "all bit patterns": lambda rng, n: rng.integers(0, 0x3FF0000000000000, n).view(np.float64),
    "clusters at all scales": lambda rng, n: np.clip(
        0.5 + 0.5 * np.exp(-40 * rng.random(n)) * rng.choice([-1, 1], n), 0.0, 1.0
    ),
}


@lru_cache(maxsize=2)
def rows(shape: str, n: int) -> tuple[Float64s, npt.NDArray[np.uint8]]:
    """Scores of a shape, and labels whose rate rises with the score."""
    rng = np.random.default_rng(20)
    scores = SHAPES[shape](rng, n)
    labels = (rng.random(n) < 0.1 + 0.5 * scores).astype(np.uint8)
    scores.setflags(write=False)
    labels.setflags(write=False)
    return scores, labels


@dataclass(frozen=True)
class FitCase:
    """One fit; `at_most` is the ratio asked for to one ``np.sum(scores)``."""

    shape: str
    n: int
    n_bins: int
    at_most: float | None = None

    @property
    def name(self) -> str:
        return f"{self.shape}, n = {self.n:.0e}, B = {self.n_bins}".replace("e+0", "e")


@dataclass(frozen=True)
class ScoreCase:
    """One batch prediction; `at_most` is the ratio asked for to ``np.copyto`` of the same array."""

    shape: str
    m: int
    n_bins: int
    at_most: float | None = None
    ties: bool = False

    @property
    def name(self) -> str:
        return f"{self.shape}, m = {self.m:.0e}, B = {self.n_bins}".replace("e+0", "e")


SHORT_FITS = [
    FitCase("uniform", 10**6, 100, 7),
    FitCase("Beta(.5, 5)", 10**6, 100, 7),
    FitCase("100 values", 10**6, 100, 7),
    FitCase("uniform", 10**4, 100),
]

LONG_FITS = [
    *(FitCase(shape, 10**7, 100, 7) for shape in ("uniform", "Beta(.5, 5)", "click rates", "sorted", "100 values", "constant")),
    *(FitCase(shape, 10**7, 100, 20) for shape in ("subnormal", "all bit patterns", "clusters at all scales")),
    FitCase("uniform", 10**7, 1000, 10),
    FitCase("Beta(.5, 5)", 10**7, 1000, 10),
    FitCase("uniform", 10**7, 215, 10),
    FitCase("uniform", 10**8, 100, 7),
    FitCase("uniform", 10**4, 100),
]

SHORT_SCORES = [
    ScoreCase("uniform", 10**6, 10, 1.2),
    ScoreCase("uniform", 10**6, 100, 1.6),
    ScoreCase("Beta(.5, 5)", 10**6, 100, 2.5),
    ScoreCase("click rates 1e-4", 10**6, 100, 2.5),
    ScoreCase("uniform", 10**6, 1000),
    ScoreCase("100 values", 10**6, 100, None, ties=True),
]

LONG_SCORES = [
    *SHORT_SCORES,
    ScoreCase("uniform", 4096, 100),
    ScoreCase("uniform", 10**7, 100),
]
