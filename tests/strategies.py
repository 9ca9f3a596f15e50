"""The hard inputs: score columns on which calibrators go wrong, in the memory layouts in which they arrive.

Plain generators take a `random.Random` and give lists of Python numbers, exactly the values under test; `LAYOUTS` turns a list
into an array-like. `calibration_data` is the hypothesis strategy over all of it. No global generator is touched: a failure
replays from what hypothesis prints, or from (shape, label shape, n, seed).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st


def examples(most: int) -> int:
    """How many examples a test takes: all of them where each run draws others; else a third, and 20 at least."""
    return max(20, most // 3) if settings.default.derandomize else most


SMALLEST = 5e-324  # the least positive double; multiples of it up to 2.2e-308 are subnormal
BELOW_ONE = math.nextafter(1.0, 0.0)


def _to_float32(score: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", score))[0])


def _steps_from(score: float, steps: int) -> float:
    """The double `steps` places away, through the integers whose order is that of the positive doubles."""
    (word,) = struct.unpack("<q", struct.pack("<d", score))
    return float(struct.unpack("<d", struct.pack("<q", max(0, word + steps)))[0])


# ------------------------------------------------------------------------------------------------- scores in [0, 1]


def _few_levels(rng: Random, n: int) -> list[float]:
    levels = [rng.random() for _ in range(rng.randrange(2, 6))]
    return [rng.choice(levels) for _ in range(n)]


def _tree(rng: Random, n: int) -> list[float]:
    """The 13 leaves of a small tree, of very unequal mass."""
    leaves = sorted(rng.random() for _ in range(13))
    masses = [2.0 ** -rng.randrange(8) for _ in leaves]
    return rng.choices(leaves, masses, k=n)


def _atom(rng: Random, n: int) -> list[float]:
    """Half of the scores are one value, the others continuous."""
    heavy = rng.choice([0.0, 0.5, 1.0, rng.random()])
    return [heavy if rng.random() < 0.5 else rng.random() for _ in range(n)]


def _signed_zeros(rng: Random, n: int) -> list[float]:
    return [rng.choice([0.0, -0.0, SMALLEST, 0.25]) for _ in range(n)]


def _subnormals(rng: Random, n: int) -> list[float]:
    return [rng.randrange(1 + rng.choice([3, 1000, 2**40])) * SMALLEST for _ in range(n)]


def _neighbours(rng: Random, n: int) -> list[float]:
    """All scores within a few representable steps of each other."""
    centre, reach = rng.choice([0.5, 0.3, 1e-300, 1.0 - 1e-12, rng.random()]), rng.choice([1, 2, 20])
    return [min(1.0, _steps_from(centre, rng.randrange(-reach, reach + 1))) for _ in range(n)]


def _ends(rng: Random, n: int) -> list[float]:
    return [rng.choice([0.0, 1.0, SMALLEST, BELOW_ONE, 0.5]) for _ in range(n)]


def _float32_ties(rng: Random, n: int) -> list[float]:
    """Different doubles, many of which round to one float32."""
    centres = [_to_float32(rng.random() * 0.9) for _ in range(3)]
    return [rng.choice(centres) * (1.0 + rng.randrange(-4, 5) * 2.0**-30) for _ in range(n)]


def _mixed_magnitudes(rng: Random, n: int) -> list[float]:
    return [10.0 ** rng.uniform(-320.0, 0.0) for _ in range(n)]


def _clusters(rng: Random, n: int) -> list[float]:
    """Bit patterns that defeat any one grid: tight clusters at several scales, one inside the other."""
    centres = [rng.random()]
    for bits in (8, 16, 24, 32, 40, 48):
        centres.append(_steps_from(centres[-1], rng.randrange(1 << (52 - bits))))
    drawn = ((rng.choice(centres), rng.choice([0, 4, 20, 44])) for _ in range(n))
    return [min(1.0, _steps_from(centre, rng.randrange(1 << reach))) for centre, reach in drawn]


SCORE_SHAPES: dict[str, Callable[[Random, int], list[float]]] = {
    "uniform": lambda rng, n: [rng.random() for _ in range(n)],
    "sorted": lambda rng, n: sorted(rng.random() for _ in range(n)),
    "reversed": lambda rng, n: sorted((rng.random() for _ in range(n)), reverse=True),
    "hundredths": lambda rng, n: [rng.randrange(101) / 100 for _ in range(n)],
    "few levels": _few_levels,
    "constant": lambda rng, n: [rng.choice([0.0, 0.5, 1.0, rng.random()])] * n,
    "tree": _tree,
    "atom": _atom,
    "signed zeros": _signed_zeros,
    "subnormals": _subnormals,
    "neighbours": _neighbours,
    "ends": _ends,
    "float32": lambda rng, n: [_to_float32(rng.random()) for _ in range(n)],
    "float32 ties": _float32_ties,
    "mixed magnitudes": _mixed_magnitudes,
    "clusters": _clusters,
    "click rates": lambda rng, n: [min(1.0, rng.lognormvariate(math.log(1e-6), 1.5)) for _ in range(n)],
    "near one": lambda rng, n: [1.0 - rng.randrange(50) * 2.0**-53 for _ in range(n)],
}


# ------------------------------------------------------------------------------------------------- scores of any size

MARGIN_SHAPES: dict[str, Callable[[Random, int], list[float]]] = {
    "margins": lambda rng, n: [rng.gauss(0.0, 10.0) for _ in range(n)],
    "signed hundredths": lambda rng, n: [rng.randrange(-100, 101) / 100 for _ in range(n)],
    "whole numbers": lambda rng, n: [float(rng.randrange(-5, 6)) for _ in range(n)],
    "negative": lambda rng, n: [-(10.0 ** rng.uniform(-300.0, 300.0)) for _ in range(n)],
    "both signs": lambda rng, n: [rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-320.0, 308.0) for _ in range(n)],
    "greatest": lambda rng, n: [rng.choice([-1.0, 1.0]) * rng.choice([1.7976931348623157e308, 1e308]) for _ in range(n)],
    "zeros and neighbours": lambda rng, n: [rng.choice([0.0, -0.0, SMALLEST, -SMALLEST]) for _ in range(n)],
}


# ------------------------------------------------------------------------------------------------- labels and weights


def _follow_rank(rng: Random, scores: Sequence[float]) -> list[int]:
    """Label 1 with a probability that rises along the order of the scores, whatever their size."""
    order = sorted(range(len(scores)), key=lambda i: scores[i])
    labels = [0] * len(scores)
    for rank, i in enumerate(order):
        labels[i] = int(rng.random() < (rank + 1) / (len(scores) + 1))
    return labels


LABEL_SHAPES: dict[str, Callable[[Random, Sequence[float]], list[int]]] = {
    "follow the rank": _follow_rank,
    "all 0": lambda rng, scores: [0] * len(scores),
    "all 1": lambda rng, scores: [1] * len(scores),
    "rare": lambda rng, scores: [int(rng.random() < 0.01) for _ in scores],
    "coin": lambda rng, scores: [rng.randrange(2) for _ in scores],
    "alternating": lambda rng, scores: [i % 2 for i in range(len(scores))],
}

WEIGHTINGS: dict[str, Callable[[Random, int], list[int] | list[float] | None]] = {
    "none": lambda rng, n: None,
    "integer": lambda rng, n: [rng.choice([0, 1, 1, 2, 3, 7]) for _ in range(n)],
    "float": lambda rng, n: [rng.choice([0.0, 0.1, 1.0, 1.0 / 3.0, 1e16, 1e-9, rng.expovariate(1.0)]) for _ in range(n)],
}


def _distinct_keys(rng: Random, n: int) -> list[int]:
    """Tie keys without repetition, the least and the greatest possible among them."""
    keys = {0, 2**64 - 2}
    while len(keys) < n + 2:
        keys.add(rng.randrange(2**64 - 1))
    drawn = sorted(keys)
    rng.shuffle(drawn)
    return drawn[:n]


# ------------------------------------------------------------------------------------------------- layouts


def _strided(column: np.ndarray) -> np.ndarray:
    table = np.full((len(column), 3), 7, dtype=column.dtype)
    table[:, 1] = column
    return table[:, 1]


def _read_only(column: np.ndarray) -> np.ndarray:
    copy = column.copy()
    copy.flags.writeable = False
    return copy


def _unaligned(column: np.ndarray) -> np.ndarray:
    buffer = bytearray(column.nbytes + 1)
    view = np.frombuffer(buffer, dtype=column.dtype, offset=1, count=len(column)) if len(column) else column
    if len(column):
        view[:] = column
    return view


# Every layout holds the same numbers.
LAYOUTS: dict[str, Callable[[np.ndarray], Any]] = {
    "contiguous": lambda column: column,
    "strided": _strided,
    "reversed": lambda column: column[::-1].copy()[::-1],
    "read-only": _read_only,
    "unaligned": _unaligned,
    "column": lambda column: column.reshape(-1, 1),
    "big-endian": lambda column: column.astype(column.dtype.newbyteorder(">")),
    "list": lambda column: column.tolist(),
}


# ------------------------------------------------------------------------------------------------- whole data sets


@dataclass(frozen=True)
class CalibrationData:
    """Scores, labels, and what may go with them, as Python numbers. `origin` says how to make it again."""

    scores: list[float]
    labels: list[int]
    weights: list[int] | list[float] | None = None
    keys: list[int] | None = None
    score_range: tuple[float, float] | None = (0.0, 1.0)
    origin: str = field(default="", compare=False)

    @property
    def n_samples(self) -> int:
        """Frequencies counted out."""
        if self.weights is not None and all(isinstance(weight, int) for weight in self.weights):
            return int(sum(self.weights))
        return len(self.scores)

    def arrays(self, layout: str = "contiguous") -> dict[str, Any]:
        """The arguments of `fit`, in a layout: scores, labels, sample_weight, tie_keys (absent where there are none)."""
        place = LAYOUTS[layout]
        arguments = {"scores": place(np.array(self.scores, np.float64)), "labels": place(np.array(self.labels, np.uint8))}
        if self.weights is not None:
            integer = all(isinstance(weight, int) for weight in self.weights)
            arguments["sample_weight"] = place(np.array(self.weights, np.int64 if integer else np.float64))
        if self.keys is not None:
            arguments["tie_keys"] = np.array(self.keys, np.uint64)
        return arguments

    def repeated(self) -> tuple[list[float], list[int]]:
        """Scores and labels, frequencies counted out."""
        weights = self.weights or [1] * len(self.scores)
        at = [i for i, weight in enumerate(weights) for _ in range(int(weight))]
        return [self.scores[i] for i in at], [self.labels[i] for i in at]

    def float32(self) -> CalibrationData:
        """The same with scores that float32 holds exactly, so that float32 and float64 columns must agree."""
        rounded = [_to_float32(score) for score in self.scores]
        return CalibrationData(rounded, self.labels, self.weights, self.keys, self.score_range, f"{self.origin}, float32")


def make(shape: str, label_shape: str, n: int, seed: int, weighting: str = "none", *, keyed: bool = False) -> CalibrationData:
    """One data set by name. The same arguments give the same data on every machine."""
    rng = Random(f"{shape}/{label_shape}/{n}/{seed}")
    margins = shape in MARGIN_SHAPES
    scores = (MARGIN_SHAPES if margins else SCORE_SHAPES)[shape](rng, n)
    return CalibrationData(
        scores=scores,
        labels=LABEL_SHAPES[label_shape](rng, scores),
        weights=WEIGHTINGS[weighting](rng, n),
        keys=_distinct_keys(rng, n) if keyed else None,
        score_range=None if margins else (0.0, 1.0),
        origin=f"make({shape!r}, {label_shape!r}, {n}, {seed}, {weighting!r}, keyed={keyed})",
    )


seeds = st.sampled_from([0, 1, 2**63, 2**64 - 1]) | st.integers(0, 2**64 - 1)

_special_scores = st.sampled_from([0.0, -0.0, SMALLEST, 0.1, 0.2, 0.30000000000000004, 0.5, BELOW_ONE, 1.0])


@st.composite
def _drawn_by_hypothesis(draw: st.DrawFn, max_size: int, weighting: str, keyed: bool) -> CalibrationData:
    """Short lists of any doubles, which shrink to the smallest failure."""
    scores = draw(st.lists(_special_scores | st.floats(0.0, 1.0), min_size=1, max_size=min(max_size, 24)))
    n = len(scores)
    labels = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    rng = Random(draw(st.integers(0, 2**32 - 1)))
    weights = WEIGHTINGS[weighting](rng, n)
    return CalibrationData(scores, labels, weights, _distinct_keys(rng, n) if keyed else None, origin="drawn")


@st.composite
def calibration_data(
    draw: st.DrawFn, max_size: int = 120, weighting: str = "none", keyed: bool = False, margins: bool = False
) -> CalibrationData:
    """Any of the shapes, of any size from 1 to `max_size`; one in five is drawn number by number."""
    if not margins and draw(st.integers(0, 4)) == 0:
        return draw(_drawn_by_hypothesis(max_size, weighting, keyed))
    shape = draw(st.sampled_from(sorted(MARGIN_SHAPES if margins else SCORE_SHAPES)))
    label_shape = draw(st.sampled_from(list(LABEL_SHAPES)))
    n = draw(st.integers(1, max_size))
    return make(shape, label_shape, n, draw(st.integers(0, 2**32 - 1)), weighting, keyed=keyed)


def n_bins_for(n_samples: int, most: int | None = None) -> st.SearchStrategy[int]:
    """Numbers of bins that a sample allows, `most` at most (by default (n + 1) / 2, beyond which Algorithm 1 would leave bins
    empty). The edge cases come first: one bin, n = 2 B - 1 and n = 2 B, B not dividing n, and one more than is allowed."""
    most = max(1, (n_samples + 1) // 2 if most is None else most)
    corners = {1, most, min(max(1, n_samples // 2), most), most + 1, min(3, most), min(7, most)}
    return st.sampled_from(sorted(corners)) | st.integers(1, most)


def queries(data: CalibrationData, edges: Sequence[float], rng: Random) -> list[float]:
    """Scores to predict: every edge and its two neighbours, the scores of the fit, the ends of the range, and a few others."""
    low, high = data.score_range if data.score_range is not None else (-math.inf, math.inf)
    neighbours = [side for edge in edges for side in (edge, math.nextafter(edge, -math.inf), math.nextafter(edge, math.inf))]
    others = [0.0, -0.0, 1.0, SMALLEST, BELOW_ONE, *(rng.random() for _ in range(5))]
    drawn = [*neighbours, *data.scores[:20], *others, *(end for end in (low, high) if math.isfinite(end))]
    rng.shuffle(drawn)
    return [score for score in drawn if low <= score <= high and math.isfinite(score)]
