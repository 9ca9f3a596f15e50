"""Calibration of cells by the order of their predictions: isotonic regression, cumulative differences, a smoothed error.

The isotonic curve gives the parts of proper scores (Dimitriadis, Gneiting & Jordan 2021) and the integrated calibration index;
draws of calibrated labels, or their law, give its consistency band, and p-values that are exact at any size.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s
from fastbin._base.shown import how_many
from fastbin._core.fit import pool_counts
from fastbin.assess.cell_tests import LEAST_VARIANCE, Value, quantiles
from fastbin.assess.prediction_cells import CellCounts
from fastbin.intervals.binomial import halved, special_functions

# ------------------------------------------------------------------------------------------------- isotonic regression


class Blocks(NamedTuple):
    """The steps of the isotonic regression of the labels on the predictions: the first cell of each, its rows and its ones."""

    first: Int64s
    counts: Int64s
    ones: Int64s

    @classmethod
    def of(cls, counts: Int64s, ones: Int64s) -> Blocks:
        """Pool adjacent violators. O(cells)."""
        first, block_counts, block_ones = (np.empty(len(counts), np.int64) for _ in range(3))
        n_blocks = pool_counts(counts, ones, first, block_counts, block_ones)
        return cls(*(column[:n_blocks].copy() for column in (first, block_counts, block_ones)))

    @property
    def rates(self) -> Float64s:
        return np.asarray(self.ones / self.counts)

    def at(self, places: Int64s) -> Float64s:
        """The values at these cells."""
        return np.asarray(self.rates[np.searchsorted(self.first, places, side="right") - 1])


class ScoreParts(NamedTuple):
    """``score == miscalibration - discrimination + uncertainty``; a part is not defined where the score is infinite."""

    miscalibration: Value
    discrimination: Value
    uncertainty: Value


def brier_parts(cells: CellCounts, blocks: Blocks) -> ScoreParts:
    """The parts of the Brier score."""
    n, ones = cells.n, cells.n_ones
    recalibrated = float((blocks.ones * (1.0 - blocks.rates)).sum()) / n
    base = ones / n * (1.0 - ones / n)
    score = float((cells.ones * (1.0 - cells.predictions) ** 2 + (cells.counts - cells.ones) * cells.predictions**2).sum()) / n
    return ScoreParts(Value(max(0.0, score - recalibrated)), Value(max(0.0, base - recalibrated)), Value(base))


def log_parts(cells: CellCounts, blocks: Blocks) -> ScoreParts:
    """The parts of the logarithmic score, in nats."""
    special = special_functions()
    n, zeros = cells.n, cells.counts - cells.ones

    def entropy(counts: Array, ones: Array) -> float:
        """Minus the log-likelihood at the rates."""
        terms = special.xlogy(ones, ones / counts) + special.xlogy(counts - ones, (counts - ones) / counts)
        return -float(np.sum(terms)) / n

    recalibrated = entropy(blocks.counts, blocks.ones)
    base = entropy(np.array([n]), np.array([cells.n_ones]))
    wrong = ((cells.predictions == 0.0) & (cells.ones > 0)) | ((cells.predictions == 1.0) & (zeros > 0))
    if wrong.any():
        score = Value(reason="a prediction of exactly 0 or 1 was wrong, so the logarithmic score is infinite")
    else:
        terms = special.xlogy(cells.ones, cells.predictions) + special.xlog1py(zeros, -cells.predictions)
        score = Value(max(0.0, -float(terms.sum()) / n - recalibrated))
    return ScoreParts(score, Value(max(0.0, base - recalibrated)), Value(base + 0.0))


class Distances(NamedTuple):
    """The mean, the median and the 90 % point over the rows of \\|prediction - isotonic value\\|."""

    ici: Value
    e50: Value
    e90: Value


def distances(cells: CellCounts, blocks: Blocks) -> Distances:
    """The integrated calibration index of Austin & Steyerberg (2019), with isotonic regression for their smoother."""
    gaps = np.abs(cells.predictions - blocks.at(np.arange(len(cells.counts))))
    order = np.argsort(gaps, kind="stable")
    middle, far = quantiles(gaps[order], cells.counts[order], np.array([0.5, 0.9])).tolist()
    return Distances(Value(float((cells.counts * gaps).sum()) / cells.n), Value(middle), Value(far))


# ------------------------------------------------------------------------------------------------- cumulative differences


class Cumulative(NamedTuple):
    """The empirical cumulative calibration errors: the range (Kuiper) and the largest (Kolmogorov and Smirnov), and a limit."""

    kuiper: Value
    largest: Value
    detectable: Value


POWER = 0.8


def cumulative(cells: CellCounts, level: float) -> Cumulative:
    """Cumulative differences of labels and predictions (Arrieta-Ibarra, Gujral, Tannen, Tygert & Xu 2022). O(cells).

    In calibrated rows their path is nearly that of a Brownian motion, seen at the cells alone: with few cells p-values are too
    large. The smallest detectable difference is that of the sums over rows between any two predictions, divided by n, which
    leads to a p-value of at most `level` with chance `POWER`.
    """
    variance = cells.variance
    if variance == 0.0:
        return Cumulative(*[Value(reason="every prediction is 0 or 1, so sums of labels have no variance")] * 3)
    n, deviation = cells.n, math.sqrt(variance)
    spread, farthest = path_extremes(cells.ones - cells.counts * cells.predictions)
    warnings = []
    if variance < LEAST_PATH:
        warnings.append(f"p (1 - p) adds up to {variance:.3g}, below {LEAST_PATH:g}")
    if len(cells.counts) < LEAST_CELLS:
        warnings.append(f"with {how_many(len(cells.counts), 'distinct prediction')} the p-value is too large")
    warning = "; ".join(warnings)
    needed = critical_range(level) + float(special_functions().ndtri(POWER))
    return Cumulative(
        Value(spread / n, range_p(spread / deviation), warning=warning),
        Value(farthest / n, largest_p(farthest / deviation), warning=warning),
        Value(needed * deviation / n),
    )


LEAST_CELLS, LEAST_PATH = 100, 10.0 * LEAST_VARIANCE  # with which a path is close enough to a Brownian motion


def path_extremes(steps: Float64s) -> tuple[float, float]:
    """The range of the sums of steps, 0 before the first included, and the largest distance from 0."""
    path = np.cumsum(steps)
    high, low = max(0.0, float(path.max())), min(0.0, float(path.min()))
    return high - low, max(high, -low)


def range_p(x: float) -> float:
    """The chance that the range of a Brownian motion on [0, 1] is above x (Feller 1951, integrated)."""
    if x < 0.3:  # 1 - 1e-20
        return 1.0
    terms = [(-1.0) ** (k - 1) * k * _above(k * x) for k in range(1, int(40.0 / x) + 2)]
    return min(1.0, max(0.0, 8.0 * math.fsum(terms)))


def largest_p(x: float) -> float:
    """The chance that a Brownian motion on [0, 1] leaves [-x, x]."""
    if x < 0.15:  # 1 - 1e-20
        return 1.0
    if x > 1.0:  # the reflection principle; the other series would lose small chances
        return min(1.0, 4.0 * math.fsum((-1.0) ** k * _above((2 * k + 1) * x) for k in range(int(20.0 / x) + 2)))
    inside = math.fsum((-1.0) ** k / (2 * k + 1) * math.exp(-(((2 * k + 1) * math.pi / x) ** 2) / 8.0) for k in range(40))
    return 1.0 - 4.0 / math.pi * inside


def _above(z: float) -> float:
    return 0.5 * math.erfc(z / math.sqrt(2.0))


def critical_range(level: float) -> float:
    """The range that a Brownian motion exceeds with chance `level`."""
    return float(halved(lambda size: range_p(size) > level, 0.3, 60.0, 80)[1])


# ------------------------------------------------------------------------------------------------- the smoothed error

N_KNOTS = 2**14  # the result is within 1e-8 of the integral at widths from 1e-4


def smooth_ece(cells: CellCounts) -> Value:
    """The smooth calibration error of Blasiok & Nakkiran (2023): where the error smoothed at a width equals the width.

    Residuals are smoothed by a Gaussian kernel reflected at 0 and 1, which in a cosine series multiplies each coefficient by
    exp(-(k pi width)^2 / 2). Cells lie between `N_KNOTS` knots, shared by their two neighbours; the error is the integral of
    the absolute values. It falls with the width, so halving finds where they are equal. O(cells + knots log knots).
    """
    at = cells.predictions * N_KNOTS
    left = np.minimum(np.floor(at).astype(np.int64), N_KNOTS - 1)
    residuals = (cells.ones - cells.counts * cells.predictions) / cells.n
    masses = np.bincount(left, residuals * (1.0 - (at - left)), N_KNOTS + 1)
    masses += np.bincount(left + 1, residuals * (at - left), N_KNOTS + 1)
    # The mirror image has each inner knot twice: halved, so that the ends, which it has once, weigh as much.
    mirrored = np.concatenate([masses, masses[-2:0:-1]]) / 2.0
    mirrored[[0, N_KNOTS]] *= 2.0
    coefficients = np.fft.rfft(mirrored).real
    decay = (np.arange(N_KNOTS + 1) * math.pi) ** 2 / 2.0
    weights = np.full(N_KNOTS + 1, 1.0 / N_KNOTS)
    weights[[0, -1]] *= 0.5

    def error(width: float) -> float:
        with np.errstate(under="ignore"):
            smoothed = np.fft.irfft(coefficients * np.exp(-decay * width**2)) * (2 * N_KNOTS)
        return float((weights * np.abs(smoothed[: N_KNOTS + 1])).sum())

    return Value(halved(lambda width: error(width) > width, 0.0, 1.0, 30)[0])


# ------------------------------------------------------------------------------------------------- draws


MOST_DRAWS, FEWEST_DRAWS, DRAWN_CELLS, MOST_POINTS = 999, 99, 10**7, 100
UNLIKELY = 1e-9


class Drawn(NamedTuple):
    """P-values of the miscalibration and of the range of cumulative differences, and the isotonic curve with its band."""

    n_draws: int
    miscalibration: float
    kuiper: float
    low: float  # the ends between which the miscalibration of calibrated labels lies with chance 1 - level
    high: float
    curve: Float64s  # (points, 4): prediction, isotonic value, and the ends of the band


def draw(cells: CellCounts, blocks: Blocks, level: float) -> Drawn:
    """Labels drawn from the predictions: 999 times, of more than 10,000 cells less often, at least 99 times.

    With R draws, the share (1 + those at least as far out) / (1 + R) is a p-value at every n (Dwass 1957; Barnard 1963), as
    calibrated labels and those drawn can be exchanged. The seed is a digest of the cells: the same cells have the same
    p-value, and other labels other draws, so that no one set of draws decides how often calibrated labels are contradicted.
    Of at most 999 likely tallies each is common, and its one set of draws would decide: all are looked at instead, each with
    its chance, and all others count as farther out.
    """
    p, counts = cells.predictions, cells.counts
    places = _places(cells)
    expected, slopes = counts * p, 1.0 - 2.0 * p
    fixed = float((counts * p**2).sum())

    def figures(ones: Int64s) -> tuple[float, float, Float64s]:
        own = Blocks.of(counts, ones)
        recalibrated = float((own.ones * (1.0 - own.rates)).sum())
        spread = path_extremes(ones - expected)[0] if variance > 0.0 else 0.0
        return (fixed + float((ones * slopes).sum()) - recalibrated) / cells.n, spread, own.at(places)

    variance = cells.variance
    miscalibration, spread, _ = figures(cells.ones)
    law = _law(cells)
    rows = [figures(ones) for ones in (_draws(cells) if law is None else law.ones)]
    errors, spreads = (np.array([row[at] for row in rows]) for at in (0, 1))
    bands = _ends(np.stack([row[2] for row in rows]), law, level)
    low, high = _ends(errors[:, np.newaxis], law, level)[:, 0].tolist()
    curve = np.stack([p[places], blocks.at(places), bands[0], bands[1]], axis=1)
    of_terms = float(expected.sum() + cells.ones.sum()) / cells.n  # of which the miscalibration may be a tiny difference
    p_values = _share(errors, law, miscalibration, of_terms), _share(spreads, law, spread, 1.0)
    return Drawn(len(rows) if law is None else 0, *p_values, max(0.0, low), max(0.0, high), curve)


class _Law(NamedTuple):
    """The tallies that calibrated labels are likely to have."""

    ones: Int64s  # (tallies, cells)
    chances: Float64s
    chance_of_others: float


def _law(cells: CellCounts) -> _Law | None:
    """All tallies but some of a chance of about `UNLIKELY` together; ``None`` of more than there would be draws."""
    special, counts, p = special_functions(), cells.counts, cells.predictions
    tail = UNLIKELY / (2.0 * len(counts))  # at either end of a cell
    varies = (counts * p > tail) & (counts * (1.0 - p) > tail)
    if len(counts) > MOST_DRAWS or 2 ** int(varies.sum()) > MOST_DRAWS:
        return None
    low = np.where(counts * p > tail, counts, 0)  # all rows of a cell or none, where the labels do not vary
    high = low.copy()
    n, q = counts[varies], p[varies]
    low[varies] = np.nan_to_num(special.bdtrik(tail, n, q)).astype(np.int64)
    high[varies] = n - np.nan_to_num(special.bdtrik(tail, n, 1.0 - q)).astype(np.int64)
    if math.prod((high - low + 1).tolist()) > MOST_DRAWS:
        return None
    ranges = [np.arange(*ends) for ends in zip(low.tolist(), (high + 1).tolist(), strict=True)]
    chances = np.ones(1)
    for k, n_rows, chance in zip(ranges, counts.tolist(), p.tolist(), strict=True):
        chances = np.outer(chances, _binomial(k, n_rows, chance)).ravel()
    # The tails of the binomial law, by the incomplete beta function, which takes counts of any size.
    below = np.where(low > 0, special.betainc(counts - low + 1.0, np.maximum(low, 1), 1.0 - p), 0.0)
    above = np.where(high < counts, special.betainc(high + 1.0, np.maximum(counts - high, 1), p), 0.0)
    left_out = math.fsum(below + above)
    if not left_out <= 2.0 * UNLIKELY:  # nor NaN
        return None
    return _Law(np.array(list(itertools.product(*ranges)), np.int64), chances, left_out)


def _binomial(k: Int64s, n: int, p: float) -> Float64s:
    """The chances of successive numbers of successes, given that it is one of them; by ratios, as large numbers ask for."""
    logs = np.cumsum([0.0, *np.log((n - k[:-1]) * p / (k[1:] * (1.0 - p)))])
    weights: Float64s = np.exp(logs - logs.max())
    return weights / weights.sum()


def _draws(cells: CellCounts) -> Iterator[Int64s]:
    """Tallies of labels drawn from the predictions."""
    generator = np.random.Generator(np.random.PCG64(_digest(cells)))
    p, counts = cells.predictions, cells.counts
    single = bool((counts == 1).all())
    for _ in range(int(np.clip(DRAWN_CELLS // len(counts), FEWEST_DRAWS, MOST_DRAWS))):
        yield (generator.random(len(p)) < p).astype(np.int64) if single else generator.binomial(counts, p)


def _digest(cells: CellCounts) -> int:
    """A number from all bits of the cells, the same on every machine."""
    columns = (column.astype(kind) for column, kind in zip(cells, ("<f8", "<i8", "<i8"), strict=True))
    return int.from_bytes(hashlib.sha256(b"".join(column.tobytes() for column in columns)).digest()[:16], "little")


def _share(found: Float64s, law: _Law | None, seen: float, of_terms: float) -> float:
    """The p-value; sums of terms of this size that differ by rounding alone are equal, which only makes it larger."""
    reached = found >= seen - 1e-12 * (of_terms + abs(seen))
    if law is not None:
        return min(1.0, math.fsum(law.chances[reached]) + law.chance_of_others)
    return float((1 + int(reached.sum())) / (1 + len(found)))


def _ends(found: Float64s, law: _Law | None, level: float) -> Float64s:
    """Values of each column, between which that of the next labels lies with chance of at least 1 - level, from 4e-9 on."""
    if law is not None:
        order = np.argsort(found, axis=0)
        reached = np.cumsum(law.chances[order], axis=0)
        each = max(0.0, level / 2.0 - law.chance_of_others)  # at either end, where all others may lie
        below = (reached - law.chances[order] <= each).sum(axis=0) - 1
        above = np.minimum((reached < reached[-1] - each).sum(axis=0), len(order) - 1)
        return np.take_along_axis(np.take_along_axis(found, order, axis=0), np.stack([below, above]), axis=0)
    ordered = np.sort(found, axis=0)
    rank = max(0, int(level / 2.0 * (len(found) + 1)) - 1)
    return np.stack([ordered[rank], ordered[len(found) - 1 - rank]])


def _places(cells: CellCounts) -> Int64s:
    """Cells at which the curve is shown: all, or 100 of about equal numbers of rows, the first and the last among them."""
    if len(cells.counts) <= MOST_POINTS:
        return np.arange(len(cells.counts))
    ranks = np.linspace(0, cells.n - 1, MOST_POINTS).astype(np.int64)
    return np.unique(np.searchsorted(np.cumsum(cells.counts), ranks, side="right"))
