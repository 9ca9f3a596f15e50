"""Thresholds with a promise, test by test: the twin of fastbin.decide.accept_threshold (docs/guarantees.md, Theorem F21).

A band is looked at so that larger scores belong to it: scores and cuts change their sign for the band that rejects, and a label
is right if it is 1, or 0 there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from scipy.stats import binom

from reference.samples import Sample, in_fit_order

Pair = tuple[float, int]  # a score and whether the decision on it is right


class CutTest(NamedTuple):
    band: str
    threshold: float
    n: int
    n_right: int
    passed: bool


def passes(n_right: int, n: int, target: float, level: float) -> bool:
    """So many right decisions, or more, have a chance of `level` at most if their frequency is the target."""
    return n > 0 and float(binom.sf(n_right - 1, n, target)) <= level


def accept_threshold(
    scores: Sequence[float], labels: Sequence[int], bands: Sequence[tuple[str, float, float]], *, seed: int = 0,
    thresholds: Sequence[float] | None = None, in_slices: bool = False,
) -> tuple[float, float, list[CutTest]]:  # fmt: skip
    """Where to accept, where to reject, and the tests. A band is (name, target, level)."""
    samples = in_fit_order(scores, labels, seed)
    pilot, rest = divide(samples, needs_pilot=thresholds is None or len(set(thresholds)) > 1)
    if thresholds is not None:
        cuts = sorted(set(thresholds))
    else:
        n_cuts = max(2, round(len(rest) ** (1 / 3))) if in_slices else min(500, max(50, len(rest) // 100))
        cuts = places(sorted(sample.score for sample in pilot), n_cuts)
    tests = [test for band in bands for test in sequence(band, pilot, rest, cuts, in_slices)]
    return (*best_pair(tests, [sample.score for sample in rest]), tests)


def divide(samples: list[Sample], *, needs_pilot: bool) -> tuple[list[Sample], list[Sample]]:
    """One in ten at random, but 20, and at most 10,000; the others."""
    n = len(samples)
    n_pilot = min(10_000, max(n // 10, min(20, n // 2))) if needs_pilot else 0
    by_key = sorted(samples, key=lambda sample: (sample.split_key, sample.score, sample.j))
    return by_key[:n_pilot], by_key[n_pilot:]


def places(scores: list[float], n_cuts: int) -> list[float]:
    """A cut below the scores at equal steps of rank, wherever a smaller score is below it."""
    upper = sorted({scores[i * len(scores) // n_cuts] for i in range(1, n_cuts)})
    return [between(max(score for score in scores if score < high), high) for high in upper if high > scores[0]]


def between(low: float, high: float) -> float:
    """The shortest decimal number next to the middle."""
    middle = low / 2 + high / 2
    for digits in range(1, 18):
        rounded = float(f"{middle:.{digits}g}")
        if low < rounded < high:
            return rounded
    return low


def sequence(
    band: tuple[str, float, float], pilot: list[Sample], rest: list[Sample], cuts: list[float], in_slices: bool
) -> list[CutTest]:
    name, target, level = band
    sign, right = (1.0, 1) if name == "accept" else (-1.0, 0)
    own_pilot = sorted((sign * sample.score, int(sample.label == right)) for sample in pilot)
    own_rest = [(sign * sample.score, int(sample.label == right)) for sample in rest]
    descending = sorted((sign * cut for cut in cuts), reverse=True)
    first = start(own_pilot, descending, len(rest), target, level) if pilot and cuts else 0
    tests, ceiling = [], math.inf
    for cut in descending[first:]:
        counted = [is_right for score, is_right in own_rest if cut < score <= ceiling]
        tests.append(CutTest(name, sign * cut, len(counted), sum(counted), passes(sum(counted), len(counted), target, level)))
        if not tests[-1].passed:
            break
        ceiling = cut if in_slices else math.inf
    return tests


def start(pilot: list[Pair], cuts: list[float], n: int, target: float, level: float) -> int:
    """The first of the cuts at which the pilot gives a test the largest chance; the last where all are hopeless."""
    scores = [score for score, _ in pilot]
    fitted = logistic([normal_score(scores, score) for score in scores], [is_right for _, is_right in pilot])
    best, at = -math.inf, len(cuts) - 1
    for index, cut in enumerate(cuts):
        above = [i for i, score in enumerate(scores) if score > cut]
        k = len(above)
        expected = k * n / len(pilot)
        if expected < 1.3 * max(1, math.ceil(math.log(level) / math.log(target) - 1e-9)):
            continue
        smooth = sum(fitted[i] for i in above) / k
        rate = (sum(pilot[i][1] for i in above) + 10.0 * smooth) / (k + 10.0)
        needed = -NormalDist().inv_cdf(level) * math.sqrt(target * (1 - target) / expected) + 0.5 / expected
        chance = (rate - target - needed) / (math.sqrt(rate * (1 - rate) * (1 / expected + 1 / k)) + 1e-9)
        if chance > best:
            best, at = chance, index
    return at


def normal_score(scores: list[float], score: float) -> float:
    """The normal quantile of the middle rank of a score."""
    n = len(scores)
    middle = (sum(each < score for each in scores) + sum(each <= score for each in scores)) / (2 * n)
    return NormalDist().inv_cdf(min(max(middle, 0.5 / n), 1 - 0.5 / n))


def logistic(feature: list[float], right: list[int]) -> list[float]:
    """Twelve Newton steps on the likelihood with a ridge of .05 on the constant and .2 on the slope."""
    a = b = 0.0
    for _ in range(12):
        values = [1 / (1 + math.exp(-(a + b * u))) for u in feature]
        weights = [value * (1 - value) for value in values]
        by_a = sum(y - value for y, value in zip(right, values, strict=True)) - 0.05 * a
        by_b = sum((y - value) * u for y, value, u in zip(right, values, feature, strict=True)) - 0.2 * b
        aa, ab = sum(weights) + 0.05, sum(w * u for w, u in zip(weights, feature, strict=True))
        bb = sum(w * u * u for w, u in zip(weights, feature, strict=True)) + 0.2
        determinant = aa * bb - ab * ab
        a, b = a + (bb * by_a - ab * by_b) / determinant, b + (aa * by_b - ab * by_a) / determinant
    return [1 / (1 + math.exp(-(a + b * u))) for u in feature]


def best_pair(tests: list[CutTest], scores: list[float]) -> tuple[float, float]:
    """The pair of passed cuts that decides most and nothing twice; of several, in descending order, the middle one."""
    accepts = sorted((test.threshold for test in tests if test.passed and test.band == "accept"), reverse=True)
    rejects = [test.threshold for test in tests if test.passed and test.band == "reject"]
    pairs = []
    for above in accepts or [math.inf]:
        below = max([cut for cut in rejects if cut <= above], default=-math.inf)
        pairs.append((sum(score > above for score in scores) + sum(score < below for score in scores), above, below))
    best = [pair for pair in pairs if pair[0] == max(n for n, _, _ in pairs)]
    return best[len(best) // 2][1:]


def massart(share: float, n: int, delta: float, n_bands: int) -> tuple[float, float]:
    """A share of n rows beyond thresholds that they chose; of two bands, the sum of both."""
    if n_bands == 0 or n == 0:
        return (0.0, 0.0) if n_bands == 0 else (0.0, 1.0)
    radius = n_bands * math.sqrt(math.log(2 / delta) / (2 * n))
    return max(0.0, share - radius), min(1.0, share + radius)
