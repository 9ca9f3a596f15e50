"""Venn prediction: the probability that belongs to the label which comes is calibrated, exactly.

E[Y | p_Y] = p_Y for a new sample with label Y (Gupta, Podkopaev & Ramdas 2020, Appendix E; Vovk & Petej 2014, Theorem 1): in
repetitions of the whole, those in which p_Y comes out as p have label 1 with probability p. Few samples, so that there are few
different p, and so that what validity costs would show: p0 and p1 are far apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom
from simulation.failures import assert_rate_is, sizes
from simulation.simulation import POPULATIONS

import fastbin as fb

# Fits with empty bins are the business of some of these tests; test_manners.py is about their warning.
pytestmark = pytest.mark.filterwarnings("ignore::fastbin.FastbinWarning")

N = 11
BOTH = sizes((600, 91), (20_000, 92))

Calibrator = fb.UniformMassBinning | fb.FixedWidthBinning | fb.VennAbers
# By the seed of a repetition.
METHODS: dict[str, Callable[[int], Calibrator]] = {
    "umd": lambda seed: fb.UniformMassBinning(2, ties="random", seed=seed),
    "ums": lambda seed: fb.UniformMassBinning(2, scheme="ums", ties="random", seed=seed),
    "fixed-width": lambda _: fb.FixedWidthBinning(3),
    "ivap": lambda _: fb.VennAbers(),
}


def outcomes(name: str, repetitions: int, seed: int, predict: Callable[..., float]) -> dict[Fraction, list[int]]:
    """How many new samples came with label 0, and with 1, for each probability p_Y that `predict` gave them."""
    scores, _, _, labels = POPULATIONS[name].draw(np.random.default_rng(seed), repetitions, N + 1)
    seen: Counter[tuple[Fraction, int]] = Counter()
    for i in range(repetitions):
        p = predict(scores[i, :-1], labels[i, :-1], scores[i, -1:], labels[i, -1], i)
        seen[Fraction(p).limit_denominator(N + 1), int(labels[i, -1])] += 1
    return {p: [seen[p, 0], seen[p, 1]] for p in {p for p, _ in seen}}


def of_the_label(method: str) -> Callable[..., float]:
    def predict(scores: np.ndarray, labels: np.ndarray, new: np.ndarray, label: int, seed: int) -> float:
        cal = METHODS[method](seed).fit(scores, labels)
        if isinstance(cal, fb.VennAbers):
            return float(cal.predict_venn(new)[0, label])
        return float(fb.predict_venn(cal.model_, new, seed=seed)[0, label])

    return predict


@pytest.mark.sampled
@pytest.mark.parametrize(("repetitions", "seed"), BOTH)
@pytest.mark.parametrize("name", ["flat", "sharp", "tied"])
@pytest.mark.parametrize("method", METHODS)
def test_the_probability_of_the_label_that_comes_is_calibrated(method: str, name: str, repetitions: int, seed: int) -> None:
    found = outcomes(name, repetitions, seed, of_the_label(method))
    assert len(found) >= 4
    for p, (zeros, ones) in found.items():
        assert_rate_is(float(p), ones, zeros + ones)


@pytest.mark.parametrize(("repetitions", "seed"), BOTH)
def test_what_has_no_such_guarantee_is_told_apart(repetitions: int, seed: int) -> None:
    """The share of label 1 in the bin alone, which is what binning predicts, is refuted by the same count."""

    def share(scores: np.ndarray, labels: np.ndarray, new: np.ndarray, _: int, seed: int) -> float:
        return float(fb.UniformMassBinning(2, ties="random", seed=seed).fit(scores, labels).predict(new, seed=seed)[0])

    found = outcomes("linear", repetitions, seed, share)
    chances = [
        min(binom.sf(ones - 1, zeros + ones, float(p)), binom.cdf(ones, zeros + ones, float(p)))
        for p, (zeros, ones) in found.items()
    ]
    assert min(chances) < 1e-9
