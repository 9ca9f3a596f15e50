"""The law of the number of ones among independent labels, and its tails, from how often each prediction occurs: any rows."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s
from fastbin.assess.bin_tests import chance_at_least, chance_at_most
from fastbin.assess.prediction_cells import CellCounts
from fastbin.intervals.binomial import special_functions

# The sum is within this of its mean, in labels, but for a chance below 1e-18 (Bernstein's inequality).
DEVIATIONS, ROOM = 10.0, 30.0
# At a frequency t, |characteristic function| <= exp(-2 variance sin(t/2)^2); where that is below exp(-45) it counts as 0.
NEGLIGIBLE = 45.0
# Predictions times frequencies that are evaluated one by one. Beyond, predictions within a cell share an expansion.
MOST_TERMS = 2**21
# With cells of this width and so many terms the expansion of all logarithms together is within 1e-12, up to 1e8 rows.
N_CELLS, N_TERMS = 1024, 7
# From this variance on no frequency that counts comes near a zero of a factor. Below it, few predictions lie in the middle.
LARGE_VARIANCE = 400.0
FAR = 1e-6  # a chance below which its own digits count
LEAST_LOG = -800.0  # of a chance that is 0 as a double, and of all that is beyond
VAST = 1e9  # a variance from which on two terms of Edgeworth's expansion are within 1e-9


class Tails(NamedTuple):
    """The chances that the number of ones is at least, above, at most and below that seen, if predictions are calibrated."""

    at_least: float
    above: float
    at_most: float
    below: float


def tails_of_ones(cells: CellCounts) -> Tails:
    """The chances on either side of the number of ones in these cells.

    Exact for one prediction, else within 1e-9. Where `at_least` or `at_most` is below `FAR`, and the variance is not vast, it
    is within a millionth of itself.
    """
    ones, n = cells.n_ones, cells.n
    if len(cells.predictions) == 1:
        frequency = float(cells.predictions[0])
        upper = (chance_at_least(x, n, frequency) for x in (ones, ones + 1))
        return Tails(*upper, *(chance_at_most(x, n, frequency) for x in (ones, ones - 1)))
    if cells.variance > VAST:
        return _vast_tails(cells)
    first, law = law_of_labels(cells.predictions, cells.counts)
    at, after = (int(np.clip(x - first, 0, len(law))) for x in (ones, ones + 1))  # outside of the window nothing lies
    above, below = (law[at:].sum(), law[after:].sum()), (law[:after].sum(), law[:at].sum())
    if above[0] < FAR:
        above = _far_tail(cells, 1)
    elif below[0] < FAR:
        below = _far_tail(cells, -1)
    return Tails(*(min(1.0, float(chance)) for chance in (*above, *below)))


def _far_tail(cells: CellCounts, sign: int) -> tuple[float, float]:
    """The chances of so many ones or more, and of more (with `sign` -1: or fewer, and of fewer), far from their mean.

    Fourier inversion loses what is small beside 1. So odds are multiplied by the exp(t) that brings the mean to the number seen
    (Esscher, 1932), where the law is found as ever, and sum k gets its own chance back: times exp(K - t k), where K is the sum
    of the logarithms of the factors 1 + p (exp(t) - 1). That holds for any t, which need not be exact.
    """
    special, ones = special_functions(), cells.n_ones
    p, counts = cells.predictions, cells.counts
    is_open = (p > 0.0) & (p < 1.0)
    seen, most = ones - int(counts[p == 1.0].sum()), int(counts[is_open].sum())
    if not 0 <= seen <= most:  # more than can be, or fewer
        return 0.0, 0.0
    p, counts = p[is_open], counts[is_open]
    log_odds, low, high = special.logit(p), 0.0, 1.0
    wanted = min(max(float(seen), 0.5), most - 0.5)

    def misses(tilt: float) -> float:
        """By how many deviations the mean is short of the number of ones."""
        tilted = special.expit(log_odds + sign * tilt)
        deviation = math.sqrt(float(np.dot(counts, tilted * (1.0 - tilted))))
        return sign * (wanted - float(np.dot(counts, tilted))) / (0.5 + deviation)

    while misses(high) > 0.0:
        low, high = high, 2.0 * high
    while abs(misses(tilt := 0.5 * (low + high))) > 0.1 and low < tilt < high:
        low, high = (tilt, high) if misses(tilt) > 0.0 else (low, tilt)
    tilt *= sign
    log_factor = float(np.dot(counts, np.logaddexp(np.log1p(-p), np.log(p) + tilt))) - tilt * seen
    if log_factor < LEAST_LOG:
        return 0.0, 0.0
    first, law = law_of_labels(special.expit(log_odds + tilt), counts)
    beyond = sign * (first + np.arange(len(law)) - seen)
    chances = np.where(beyond >= 0, law * np.exp(log_factor - abs(tilt) * np.maximum(beyond, 0)), 0.0)
    return float(chances.sum()), float(chances[beyond > 0].sum())


def _vast_tails(cells: CellCounts) -> Tails:
    """The chances by the normal law and its correction for skewness, between the whole numbers."""
    p, deviation = cells.predictions, math.sqrt(cells.variance)
    skewness = float((cells.counts * p * (1.0 - p) * (1.0 - 2.0 * p)).sum()) / deviation**3

    def above(x: float, sign: float = 1.0) -> float:
        z = sign * (x - cells.expected) / deviation
        term = sign * skewness * (z * z - 1.0) * math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) / 6.0
        return min(1.0, max(0.0, 0.5 * math.erfc(z / math.sqrt(2.0)) + term))

    ones = cells.n_ones
    return Tails(above(ones - 0.5), above(ones + 0.5), above(ones + 0.5, -1.0), above(ones - 0.5, -1.0))


def law_of_labels(values: Float64s, counts: Int64s) -> tuple[int, Float64s]:
    """The law of a sum of independent labels, `counts` of them with each chance in `values`: its first value, the chances.

    By Fourier inversion of the characteristic function over a window around the mean, outside of which less than 1e-18 lies.
    O(number of values), and 1e-9 from the exact law at the most.
    """
    mean, variance = float(np.dot(counts, values)), float(np.dot(counts, values * (1.0 - values)))
    reach = int(DEVIATIONS * np.sqrt(variance) + ROOM)
    first, size = round(mean) - reach, 2 * reach + 1
    angles = 2.0 * np.pi / size * np.arange(reach + 1)
    angles = angles[2.0 * variance * np.sin(0.5 * angles) ** 2 <= NEGLIGIBLE]
    logs = _logs(values, counts, variance, angles) + 1j * angles * (mean - first)
    spectrum = np.zeros(reach + 1, np.complex128)
    spectrum[: len(angles)] = np.exp(logs)
    values_of_sum = first + np.arange(size)
    is_possible = (values_of_sum >= 0) & (values_of_sum <= counts.sum())
    return first, np.where(is_possible, np.maximum(np.fft.irfft(np.conj(spectrum), size), 0.0), 0.0)


def _logs(values: Float64s, counts: Int64s, variance: float, angles: Float64s) -> Array:
    """The sum of the logarithms of the factors 1 + value (exp(i t) - 1), each less i t value, at some angles t."""
    if len(values) * len(angles) <= MOST_TERMS:
        return _one_by_one(values, counts, angles)
    logs, outer, times = np.zeros(len(angles), np.complex128), values, counts.astype(np.float64)
    if variance < LARGE_VARIANCE:
        is_middle = (values >= 0.25) & (values < 0.75)
        logs = _one_by_one(values[is_middle], counts[is_middle], angles)
        outer, times = values[~is_middle], times[~is_middle]
    cells = np.minimum((outer * N_CELLS).astype(np.int64), N_CELLS - 1)
    centres = (np.arange(N_CELLS) + 0.5) / N_CELLS
    deviations, moment = outer - centres[cells], times
    steps = np.expm1(1j * angles)
    ratios = steps / (1.0 + np.multiply.outer(centres, steps))
    power = np.ones_like(ratios)
    rows = np.bincount(cells, times, N_CELLS)
    seen = rows > 0  # in the middle a factor that nobody needs may be 0
    logs = logs + rows[seen] @ np.log1p(np.multiply.outer(centres, steps)[seen])
    for term in range(1, N_TERMS):
        moment, power = moment * deviations, power * ratios
        logs = logs + (np.bincount(cells, moment, N_CELLS)[seen] @ power[seen]) * ((-1.0) ** (term + 1) / term)
    return np.asarray(logs - 1j * angles * float(np.dot(times, outer)))


def _one_by_one(values: Float64s, counts: Int64s, angles: Float64s) -> Array:
    steps, logs = np.expm1(1j * angles), np.zeros(len(angles), np.complex128)
    rows = max(1, 2**18 // max(1, len(angles)))
    with np.errstate(divide="ignore"):  # two labels that cancel: the logarithm of 0
        for start in range(0, len(values), rows):
            own, times = values[start : start + rows], counts[start : start + rows]
            logs += times @ (np.log1p(np.multiply.outer(own, steps)) - 1j * np.multiply.outer(own, angles))
    return logs
