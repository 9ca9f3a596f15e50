"""The mean error where the truth rises: the events of the bound, which no map has a part in, and the bound for chosen maps.

A score is the probability u of a smaller one, or an atom that holds several u; the truth is a function of u, and so of the
lexicographic order of scores and keys.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from simulation.failures import ALPHA, assert_at_most, sizes

import fastbin as fb
from fastbin._base.ranks import boundary_ranks, n_slices
from fastbin.guarantees import rising
from reference import rising as reference

GRID = (np.arange(20_000) + 0.5) / 20_000


class Truth(NamedTuple):
    rate: Callable[[Any], Any]  # of u
    score: Callable[[Any], Any] = np.asarray

    def cumulated(self, u: Any) -> Any:
        """The integral of the rate up to u, as exact as the grid."""
        sums = np.concatenate([[0.0], np.cumsum(self.rate(GRID))]) / len(GRID)
        return np.interp(u, np.arange(len(GRID) + 1) / len(GRID), sums)


def _atoms(shares: tuple[float, ...]) -> Callable[[Any], Any]:
    ends = np.cumsum(shares)
    return lambda u: np.minimum(np.searchsorted(ends, u, "right"), len(shares) - 1) / (len(shares) - 1)


def _of_atoms(shares: tuple[float, ...], rates: tuple[float, ...]) -> Truth:
    score = _atoms(shares)
    return Truth(lambda u: np.asarray(rates)[np.round(score(u) * (len(shares) - 1)).astype(int)], score)


def _zero_inflated(u: Any) -> Any:
    return np.where(u < 0.7, 0.0, u)


TRUTHS = {
    "flat": Truth(lambda u: np.full_like(u, 0.5)),
    "flat .03": Truth(lambda u: np.full_like(u, 0.03)),
    "linear": Truth(lambda u: u),
    "rare": Truth(lambda u: 0.005 + 0.08 * u**2),
    "a thousandth": Truth(lambda u: np.full_like(u, 0.001)),
    "sharp": Truth(lambda u: 1.0 / (1.0 + np.exp(-20.0 * (u - 0.5)))),
    "jump": Truth(lambda u: np.where(u < 0.5, 0.1, 0.9)),
    "stairs": Truth(lambda u: np.floor(37.0 * u) / 36.0),
    "21 atoms": _of_atoms((1 / 21,) * 21, tuple(np.linspace(0.02, 0.98, 21))),
    "few atoms": _of_atoms((0.5, 0.02, 0.3, 0.18), (0.05, 0.2, 0.4, 0.9)),
    "zero-inflated": Truth(lambda u: np.where(u < 0.7, 0.02, 2.0 * (u - 0.7) + 0.02), _zero_inflated),
}


def drawn(truth: Truth, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """u in ascending order, and labels."""
    u = np.sort(rng.random(n))
    return u, (rng.random(n) < truth.rate(u)).astype(np.int64)


def likelihoods(counts: Any, ones: Any, p: Any, share: float) -> float:
    """sum g_b(p_b), with the moments at p_b themselves."""
    x = np.arange(counts.max() + 1)[None, :]
    size, at = counts[:, None], np.clip(p, 1e-15, 1.0 - 1e-15)[:, None]
    from scipy.special import gammaln

    near = np.minimum(x, size)
    chances = (
        gammaln(size + 1) - gammaln(near + 1) - gammaln(size - near + 1) + near * np.log(at) + (size - near) * np.log1p(-at)
    )
    terms = chances + share * size * rising._divergence(near / size, np.broadcast_to(at, chances.shape))
    moments = np.log(np.where(x <= size, np.exp(terms), 0.0).sum(axis=1))
    return float((share * counts * rising._divergence(ones / counts, np.clip(p, 1e-15, 1.0 - 1e-15)) - moments).sum())


@pytest.mark.sampled
@pytest.mark.parametrize(("repetitions", "n", "seed"), [
    *sizes((400, 1000, 51), (20_000, 1000, 52)), pytest.param(5000, 10_000, 53, id="large", marks=pytest.mark.slow),
])  # fmt: skip
@pytest.mark.parametrize("name", list(TRUTHS))
def test_the_events_of_the_population(name: str, repetitions: int, n: int, seed: int) -> None:
    """Whatever is served, the bound fails only if one of these events does, or the averages of all rising maps: 0.05 alpha."""
    truth, rng, size = TRUTHS[name], np.random.default_rng([seed, len(name)]), n_slices(n)
    ranks = np.concatenate([[0], boundary_ranks(n, size, "umd"), [n + 1]])
    counts, failures = np.diff(ranks) - 1, 0
    share = rising._share(size, math.log(1 / (rising.OF_RATES * ALPHA)))
    assert share == reference.chosen_share(size, math.log(1 / (0.75 * ALPHA)))
    none = np.zeros(size)
    for _ in range(repetitions):
        u, labels = drawn(truth, n, rng)
        cuts = np.concatenate([[0.0], u[ranks[1:-1] - 1], [1.0]])
        sums = np.append(0, np.cumsum(labels))
        ones = sums[ranks[1:] - 1] - sums[ranks[:-1]]
        masses = np.diff(cuts)
        rates = np.clip(np.diff(truth.cumulated(cuts)) / masses, 0.0, 1.0)
        slices = rising.Slices(counts, ones, none, none, True, n, int(labels.sum()), (0.0, 0.0), 0.0)
        known = rising.known_of_population(slices, ALPHA)
        failed = likelihoods(counts, ones, rates, share) >= known.logarithm
        failed |= bool(((masses < known.low) | (masses > known.high)).any())
        for ends, rate in ((known.lowest, rates[0]), (known.highest, rates[-1])):
            failed |= not ends[0] - 1e-9 <= rate <= ends[1] + 1e-9
        failures += failed
    assert_at_most(failures, repetitions, 0.95 * ALPHA)


class Zero:
    """A map that serves 0, which labels had no part in: the mean error is the rate of label 1."""

    def fit(self, scores: Any, labels: Any) -> Any:
        return fb.BinnedModel.from_parts(edges=[], values=[0.0], scheme="explicit", counts=[0], label_sums=[0])


def promised(model: fb.BinnedModel, kind: str, **options: Any) -> float:
    """Epsilon; -1, which is missed, where the labels are said to contradict the assumption."""
    try:
        return model.certificate(ALPHA, kind, **options).epsilon
    except fb.GuaranteeError:
        return -1.0


MAPS = {
    "the default": None, "isotonic": fb.IsotonicCalibration(), "bins": fb.UniformMassBinning(10, monotone=True), "0": Zero(),
}  # fmt: skip


@pytest.mark.sampled
@pytest.mark.filterwarnings("ignore::fastbin.FastbinWarning")
@pytest.mark.parametrize(("repetitions", "seed"), sizes((25, 61), (500, 62)))
@pytest.mark.parametrize("served", list(MAPS))
@pytest.mark.parametrize("name", list(TRUTHS))
def test_the_bound_of_what_is_served(name: str, served: str, repetitions: int, seed: int) -> None:
    truth, rng, n = TRUTHS[name], np.random.default_rng([seed, len(name)]), 1000
    found: dict[str, list[tuple[float, Callable[[], float]]]] = {}  # by the promise, errors and what is promised
    for _ in range(repetitions):
        u, labels = drawn(truth, n, rng)
        scores = truth.score(u)
        model = fb.CertifiedCalibration().fit(scores, labels).model_
        of = None if MAPS[served] is None else MAPS[served].fit(scores, labels)
        values = (model if of is None else of).predict(truth.score(GRID)) - truth.rate(GRID)
        errors = {
            "mean-error": np.abs(values).mean(), "mean-overestimate": np.maximum(values, 0.0).mean(),
            "mean-underestimate": np.maximum(-values, 0.0).mean(),
        }  # fmt: skip
        for kind, error in errors.items():
            found.setdefault(kind, []).append((error, partial(promised, model, kind, of=of)))
        if len(np.unique(scores)) == n:  # else the rows at cuts are drawn
            size = n_slices(n)
            between = np.delete(np.arange(n), boundary_ranks(n, size, "umd") - 1)
            error = np.abs((model if of is None else of).predict(scores) - truth.rate(u))[between].mean()
            about_rows = partial(promised, model, "mean-error", about="calibration rows", of=of)
            found.setdefault("rows", []).append((error, about_rows))
    for promises in found.values():
        # In a quick test those with the largest errors: 13 failures of 25 refute the level.
        largest = sorted(promises, key=lambda each: -each[0])[: 17 if repetitions == 25 else None]
        assert_at_most(sum(error > epsilon() for error, epsilon in largest), repetitions)


@pytest.mark.parametrize(("repetitions", "seed"), sizes((200, 71), (20_000, 72)))
@pytest.mark.parametrize("name", ["flat", "jump", "stairs"])
def test_a_truth_that_rises_is_seldom_refuted(name: str, repetitions: int, seed: int) -> None:
    truth, rng, n, refuted = TRUTHS[name], np.random.default_rng(seed), 400, 0
    for _ in range(repetitions):
        u, labels = drawn(truth, n, rng)
        model = fb.UniformMassBinning(2, monotone=True).fit(u, labels).model_
        try:
            model.certificate(kind="mean-error")
        except fb.GuaranteeError:
            refuted += 1
    assert_at_most(refuted, repetitions, rising.OF_RATES * ALPHA)


@pytest.mark.sampled
@pytest.mark.filterwarnings("ignore::fastbin.FastbinWarning")
@pytest.mark.parametrize(("repetitions", "n", "seed"), [
    *sizes((60, 1000, 81), (20_000, 1000, 82)), pytest.param(5000, 10_000, 83, id="large", marks=pytest.mark.slow),
])  # fmt: skip
@pytest.mark.parametrize("name", list(TRUTHS))
def test_the_band_at_all_scores(name: str, repetitions: int, n: int, seed: int) -> None:
    """And what is served lies in the interval, always."""
    truth, rng, misses = TRUTHS[name], np.random.default_rng([seed, len(name)]), 0
    scores, rates = truth.score(GRID), truth.rate(GRID)
    for _ in range(repetitions):
        u, labels = drawn(truth, n, rng)
        model = fb.CertifiedCalibration().fit(truth.score(u), labels).model_
        steps = np.searchsorted(model.edges, scores, "right")
        try:
            band = rising.band(model, ALPHA)[steps]
        except fb.GuaranteeError:  # the ends cross, so one of them misses
            misses += 1
            continue
        misses += bool(((rates < band[:, 0]) | (rates > band[:, 1])).any())
    assert_at_most(misses, repetitions)


@pytest.mark.parametrize("samples", sizes(10, 400))
def test_intervals_of_rows_hold_the_truth_and_what_is_served(samples: int) -> None:
    rng, n, misses = np.random.default_rng(91), 100_000, 0
    for _ in range(samples):
        scores = rng.random(n)
        model = fb.CertifiedCalibration().fit(scores, rng.random(n) < scores).model_
        low, high = model.predict_interval(scores).T
        served = model.predict(scores)
        assert ((low <= served) & (served <= high)).all()
        misses += bool(((scores < low) | (scores > high)).any())
    assert_at_most(misses, samples)
