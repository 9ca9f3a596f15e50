"""How frequent label 1 is among rows without labels, under label shift (fastbin, Theorem F23).

If P(score | label) is that of the source, the share of scores above a cut is a mixture of those of both labels, by the class
rate. Rates that a cut contradicts are left out; the others are the interval. Where none is left, P(score | label) has changed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Float64s
from fastbin._base.errors import GuaranteeError
from fastbin.guarantees.evidence import Evidence, steps_told
from fastbin.intervals.binomial import exact_ends, halved

# The share of the level of a cut that the variances get, which Bernstein's inequality needs.
OF_VARIANCES = 0.1
# Golden sections find the top of a concave function; halvings the places where it is 0.
SECTIONS, HALVINGS = 90, 60
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


class Shares(NamedTuple):
    """Samples above each of a few cuts that were fixed before: of the source by label, and of the target.

    The last entry of each counts all samples.
    """

    cuts: tuple[float, ...]
    ones: tuple[int, ...]
    zeros: tuple[int, ...]
    target: tuple[int, ...]

    @classmethod
    def of_rows(cls, cuts: Float64s, scores: Array, labels: Array, target: Array) -> Shares:
        """Counted among rows."""
        parts = (scores[labels == 1], scores[labels == 0], target)
        counts = [(*(int(np.count_nonzero(part >= cut)) for cut in cuts.tolist()), len(part)) for part in parts]
        return cls(tuple(cuts.tolist()), *counts)

    def as_json(self) -> dict[str, Any]:
        return {name: list(values) for name, values in self._asdict().items()}

    @classmethod
    def from_json(cls, said: Any) -> Shares | None:
        """As a file says it; None for anything else than counts that can be."""
        if not isinstance(said, Mapping) or set(said) != set(cls._fields):
            return None
        counts = [said[name] for name in cls._fields[1:]]
        lists = [said["cuts"], *counts]
        if not all(isinstance(each, list) for each in lists) or {len(each) for each in counts} != {len(said["cuts"]) + 1}:
            return None
        if not all(isinstance(cut, (int, float)) and not isinstance(cut, bool) for cut in said["cuts"]):
            return None
        if not all(type(count) is int and 0 <= count <= each[-1] <= 2**53 for each in counts for count in each):
            return None
        return cls(tuple(map(float, said["cuts"])), *map(tuple, counts)) if said["cuts"] else None


def shares_of(evidence: Evidence) -> Shares | None:
    """The shares that a model's file keeps beside a rate that was estimated without labels."""
    rates = evidence.rates
    if rates is None or rates.target.origin != "estimated":
        return None
    found = [step["shares"] for step in steps_told(evidence) if "shares" in step]
    shares = Shares.from_json(found[-1]) if found else None
    return shares if shares is not None and shares.target[-1] == rates.target.n_samples else None


def n_cuts_of(evidence: Evidence) -> int:
    """At how many cuts a model keeps shares of scores; 0 for one that keeps none."""
    shares = shares_of(evidence)
    return 0 if shares is None else len(shares.cuts)


def rate_ends(shares: Shares, alpha: float) -> tuple[float, float]:
    """An interval for the class rate of the target that holds with probability 1 - alpha, if label shift does.

    The rates that a cut contradicts, on one side, are an interval, as there a concave function is positive. So what is left of
    [0, 1] is known up to the spacing of doubles, and its ends are rounded outwards.

    Raises
    ------
    GuaranteeError
        Where no rate is left: P(score | label) is not that of the source.
    """
    contradicted = [span for span in _contradicted(shares, alpha) if span is not None]
    lower, upper = 0.0, 1.0
    for low, high in sorted(contradicted):
        lower = high if low <= lower <= high else lower
    for low, high in sorted(contradicted, key=lambda span: span[1], reverse=True):
        upper = low if low <= upper <= high else upper
    if lower > upper:
        raise GuaranteeError(
            f"label shift is refuted at level alpha={alpha:g}: no class rate explains how many of the {shares.target[-1]:,} "
            f"target scores lie above the {len(shares.cuts)} cuts, so P(score | label) is not that of the source, but for a "
            "chance of alpha (fastbin, Theorem F23); moved values would be wrong: calibrate on labels of the target"
        )
    return lower, upper


def _contradicted(shares: Shares, alpha: float) -> list[tuple[float, float] | None]:
    """The rates that each cut contradicts, from above and from below."""
    excess = _excess(shares, alpha)
    size = 2 * len(shares.cuts)
    low, high = np.zeros(size), np.ones(size)
    for _ in range(SECTIONS):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        rises = excess(left) < excess(right)
        low, high = np.where(rises, left, low), np.where(rises, high, right)
    best = (low + high) / 2.0
    for end in (np.zeros(size), np.ones(size)):  # a top at an end of [0, 1] is met there alone
        best = np.where(excess(end) > excess(best), end, best)
    positive = excess(best) > 0.0
    first, last = (_edge(excess, best, np.full(size, outer)) for outer in (0.0, 1.0))
    return [(float(a), float(b)) if is_so else None for a, b, is_so in zip(first, last, positive, strict=True)]


def _edge(excess: Callable[[Float64s], Float64s], inner: Float64s, outer: Float64s) -> Float64s:
    """The last place from `inner` to `outer` at which the excess is surely positive."""
    last, _ = halved(lambda rate: excess(rate) > 0.0, inner, outer, HALVINGS)
    return np.where(excess(outer) > 0.0, outer, last)


def _excess(shares: Shares, alpha: float) -> Callable[[Float64s], Float64s]:
    """By how much the shares differ more than they may at a rate: for each cut target above mixture, then below it.

    Concave in the rate: the difference is linear, and the standard deviation is a norm of a linear function.
    """
    level = alpha / len(shares.cuts)
    logarithm = math.log(2.0 / ((1.0 - OF_VARIANCES) * level))
    each = -math.expm1(math.log1p(-OF_VARIANCES * level) / 3.0)
    above, variances, sizes = [], [], []
    for counts in (shares.ones, shares.zeros, shares.target):
        sums, n = np.array(counts[:-1], np.int64), counts[-1]
        ends = exact_ends(sums, np.full(len(sums), n, np.int64), each)
        widest = np.clip(0.5, ends[:, 0], ends[:, 1])
        above.append(np.tile(sums / max(1, n), 2))
        variances.append(np.tile(widest * (1.0 - widest), 2) / max(1, n))
        sizes.append(max(1, n))
    side = np.repeat([1.0, -1.0], len(shares.cuts))
    (t, f, u), (of_ones, of_zeros, of_target), (n_ones, n_zeros, n_target) = above, variances, sizes

    def excess(rate: Float64s) -> Float64s:
        rest = 1.0 - rate
        variance = of_target + rate**2 * of_ones + rest**2 * of_zeros
        largest = np.maximum(1.0 / n_target, np.maximum(rate / n_ones, rest / n_zeros))
        slack = np.sqrt(2.0 * variance * logarithm) + largest * logarithm / 3.0
        return np.asarray(side * (u - rate * t - rest * f) - slack)

    return excess
