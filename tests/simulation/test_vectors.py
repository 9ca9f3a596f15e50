"""Certificates of vectors against populations whose truth is a sum: how often any interval of any class misses.

A population is a list of rows, each with the chances of its classes and the raw scores that a classifier gives it; a sample
draws rows with replacement, and classes by the chances. So the truth of a bin, and what is served in it, are means over rows.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from simulation.failures import ALPHA, assert_at_most

import fastbin as fb
from fastbin.multi import VectorModel

Array = npt.NDArray[np.float64]

# Ties leave fewer bins than asked for, and of every set its fit says so.
pytestmark = pytest.mark.filterwarnings("ignore::fastbin.FastbinWarning")

SIZE = 20_000  # rows of a population


class Rows(NamedTuple):
    raw: Array
    chances: Array

    def take(self, at: npt.NDArray[np.int64]) -> Rows:
        return Rows(self.raw[at], self.chances[at])

    def draw(self, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        return (self.chances.cumsum(axis=1) > rng.random((len(self.raw), 1))).argmax(axis=1)


def softmax(logits: Array) -> Array:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


@cache
def population(k: int, kind: str) -> Rows:
    """Chances of k classes, and raw scores that are too sure by half, with zeros where they are small."""
    rng = np.random.default_rng(k)
    logits = rng.normal(0.0, 1.5, (SIZE, k))
    if kind == "rare":
        logits[:, k // 2 :] -= 4.0
    elif kind == "empty":
        logits[:, -1] -= 60.0
    elif kind == "bimodal":
        logits[rng.random((SIZE, k)) < 0.15] += 8.0
    raw = softmax(1.5 * logits + rng.normal(0.0, 0.5, (1, k)))
    if kind == "zeros":
        raw[raw < 0.05] = 0.0
        raw /= raw.sum(axis=1, keepdims=True)
    return Rows(raw, softmax(logits))


def true_gaps(model: VectorModel, rows: Rows) -> dict[Any, Array]:
    """The truth less what is served, on average in each bin of these rows, by class and for the top label."""
    served, tops = model.predict(rows.raw), rows.raw.argmax(axis=1)
    every = np.arange(len(tops))
    edges = model.vector.edges
    assert edges is not None
    found = {}
    for group, name in enumerate((*model.classes, "top label")):
        of_top = name == "top label"
        scores, truth, values = (each[every, tops] if of_top else each[:, group] for each in (rows.raw, rows.chances, served))
        bins = np.searchsorted(edges[group], scores, "right")
        n_bins = edges.shape[1] + 1
        counts = np.maximum(np.bincount(bins, minlength=n_bins), 1)
        found[name] = np.bincount(bins, truth - values, minlength=n_bins) / counts
    return found


def misses(model: VectorModel, rows: Rows, about: str, alpha: float = ALPHA) -> bool:
    """Whether the truth of any bin, on these rows, is farther from what is served there than the certificate says."""
    gaps = true_gaps(model, rows)
    radii = model.certificate(alpha, about=about).radii
    return any(np.abs(gaps[name]).max() > radius + 1e-12 for name, radius in radii)


CASES = [(3, "plain", 300), (3, "zeros", 1000), (10, "rare", 1000), (10, "empty", 500), (10, "bimodal", 1000)]


@pytest.mark.sampled
@pytest.mark.parametrize(("k", "kind", "n"), CASES)
@pytest.mark.parametrize("about", ["calibration rows", "population"])
def test_few_samples_miss(k: int, kind: str, n: int, about: str) -> None:
    assert_at_most(count_misses(k, kind, n, about, 40), 40)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "kind", "n"), [*CASES, (50, "rare", 1000)])
@pytest.mark.parametrize("about", ["calibration rows", "population"])
def test_coverage(k: int, kind: str, n: int, about: str) -> None:
    assert_at_most(count_misses(k, kind, n, about, 2000), 2000)


@pytest.mark.parametrize(("k", "kind", "n"), CASES[1:2])
def test_few_tests_miss(k: int, kind: str, n: int) -> None:
    assert_at_most(count_misses_of_tests(k, kind, n, 20), 20)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "kind", "n"), [CASES[1], CASES[4]])
def test_tests_of_the_promise(k: int, kind: str, n: int) -> None:
    assert_at_most(count_misses_of_tests(k, kind, n, 2000), 2000)


def test_another_truth_is_found_out() -> None:
    """The check can fail: it does where the chances are those of other classes."""
    rows, rng = population(3, "plain"), np.random.default_rng(5)
    part = rows.take(rng.integers(0, SIZE, 1000))
    model = fb.multi.VectorCalibration().fit(part.raw, part.draw(rng)).model_
    assert not misses(model, part, "calibration rows")
    assert misses(model, Rows(part.raw, np.roll(part.chances, 1, axis=1)), "calibration rows")


def count_misses(k: int, kind: str, n: int, about: str, repetitions: int) -> int:
    rows, rng = population(k, kind), np.random.default_rng(n + k)
    of_population, failed = about == "population", 0
    for _ in range(repetitions):
        part = rows.take(rng.integers(0, SIZE, n))
        other = rows.raw[rng.integers(0, SIZE, 2000)] if of_population else None
        model = fb.multi.VectorCalibration().fit(part.raw, part.draw(rng), unlabelled=other).model_
        failed += misses(model, rows if of_population else part, about)
    return failed


def count_misses_of_tests(k: int, kind: str, n: int, repetitions: int) -> int:
    """How often an interval of any bin, by which a test set judges the promise at level ALPHA, misses the truth."""
    rows, rng = population(k, kind), np.random.default_rng(n + k + 1)
    failed = 0
    for _ in range(repetitions):
        part, test = rows.take(rng.integers(0, SIZE, n)), rows.take(rng.integers(0, SIZE, 1000))
        other = rows.raw[rng.integers(0, SIZE, 2000)]
        model = fb.multi.VectorCalibration(n_bins=2).fit(part.raw, part.draw(rng), unlabelled=other).model_
        check = fb.report.assess_model(model, test.raw, test.draw(rng), test_level=ALPHA).check
        assert check is not None
        edges = dict(zip(gaps := true_gaps(model, rows), model.vector.edges[:, 0].tolist(), strict=True))
        of_rows = ((gaps[row[0]][int(row[1] == edges[row[0]])], *row[7]) for row in check.bins)  # of two bins the upper or not
        failed += any(not low <= gap <= high for gap, low, high in of_rows)
    return failed
