"""Weights beyond what doubles add: every calibrator refuses them in the same words, before any work that grows with them."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pytest

import fastbin as fb
from fastbin._fit.tally import ExactSums, check_counts
from fresh_python import run_python

N = 200
RNG = np.random.default_rng(1)
SCORES = RNG.random(N)
LABELS = RNG.random(N) < SCORES

CALIBRATORS: dict[str, Any] = {
    "uniform mass": fb.UniformMassBinning(5),
    "keys": fb.UniformMassBinning(5, ties="random"),
    "split": fb.UniformMassBinning(3, scheme="ums"),
    "certified": fb.CertifiedCalibration(n_bins=4),
    "isotonic": fb.IsotonicCalibration(),
    "interpolated": fb.IsotonicCalibration(interpolate=True),
    "fixed width": fb.FixedWidthBinning(5),
    "explicit": fb.ExplicitBinning([0.3, 0.6]),
    "platt": fb.PlattScaling(),
    "temperature": fb.TemperatureScaling(),
    "beta": fb.BetaScaling(),
    "quadratic": fb.QuadraticScaling(),
    "spline": fb.SplineScaling(),
    "scaling-binning": fb.ScalingBinning(5),
    "venn": fb.VennAbers(),
    "segments": fb.multi.SegmentedBinning(),
}
TOO_MANY = "sample_weight adds up to more than 2\\*\\*53 samples, beyond which counts are not exact; divide the weights"


def fit(name: str, weights: Any) -> Any:
    others = (np.arange(N) % 2,) if name == "segments" else ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CALIBRATORS[name].fit(SCORES, LABELS, *others, sample_weight=weights)


@pytest.mark.parametrize("weight", [2**46, 2**53, 2**62])
@pytest.mark.parametrize("name", CALIBRATORS)
def test_frequencies_that_add_up_to_more_than_doubles_count(name: str, weight: int) -> None:
    with pytest.raises(fb.InputError, match=TOO_MANY):
        fit(name, np.full(N, weight))


@pytest.mark.parametrize("name", sorted(set(CALIBRATORS) - {"keys", "split", "scaling-binning"}))
def test_frequencies_below_that_are_counted(name: str) -> None:
    fit(name, np.full(N, 2**45))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (5e-324, "sample_weight is at most 5e-324, whose square underflows; multiply all weights by a constant"),
        (1e-200, "sample_weight is at most 1e-200, whose square underflows"),
        (1e200, "sample_weight\\[0\\] is 1e\\+200, whose square overflows; divide all weights by a constant"),
        (1e154, "sample_weight\\[0\\] is 1e\\+154, whose square overflows"),
    ],
)
@pytest.mark.parametrize("name", sorted(set(CALIBRATORS) - {"venn"}))
def test_real_weights_whose_squares_are_no_doubles(name: str, weight: float, message: str) -> None:
    with pytest.raises(fb.InputError, match=message):
        fit(name, np.full(N, weight))


def test_the_sum_is_exact() -> None:
    weights = np.full(2, 2**52)
    model = fb.UniformMassBinning(1).fit([0.2, 0.7], [0, 1], sample_weight=weights).model_
    assert model.n_samples == 2**53
    weights[0] += 1  # a sum of doubles rounds this one away
    with pytest.raises(fb.InputError, match=TOO_MANY):
        fb.UniformMassBinning(1).fit([0.2, 0.7], [0, 1], sample_weight=weights)


def test_batches_are_added_up() -> None:
    batches = [([0.2], [0], [2**52]), ([0.7], [1], [2**52]), ([0.3], [1], [1])]
    with pytest.raises(fb.InputError, match=TOO_MANY):
        fb.UniformMassBinning(1).fit_batches(batches)


def test_a_negative_zero_weighs_nothing() -> None:
    model = fb.UniformMassBinning(1).fit([0.2, 0.7], [0, 1], sample_weight=[-0.0, 2.0]).model_
    assert model.weight_sums.tolist() == [2.0]
    with pytest.raises(fb.InputError, match="sample_weight is 0 for every row that a bin averages"):
        fb.UniformMassBinning(1).fit([0.2, 0.7], [0, 1], sample_weight=[-0.0, 0.0])


def test_limbs_of_exact_sums_stay_small() -> None:
    """So that no number of terms overflows one."""
    sums = ExactSums(1)
    sums.add(np.full(3, 1.0 - 2.0**-53), np.zeros(3, np.int64))
    for each in (sums, sums + sums):
        assert each._limbs.max() < 2**32


def test_counts_add_up_to_at_most_what_doubles_count() -> None:
    counts, _ = check_counts([2**53 - 1, 1], [0, 1], 2)
    assert counts.tolist() == [2**53 - 1, 1]
    for too_many in ([2**53, 1], [2**62, 2**62, 2**62, 2**62]):  # the latter wrap around to 0
        with pytest.raises(fb.InputError, match=r"counts adds up to more than 2\*\*53 samples"):
            check_counts(too_many, [0] * len(too_many), len(too_many))


def test_squares_are_added_over_batches() -> None:
    """Each of them is a double, and their sum is none."""
    batches = [([0.2], [0], [1.3e154]), ([0.7], [1], [1.3e154])]
    for calibrator in (fb.UniformMassBinning(1), fb.CertifiedCalibration(1)):
        with pytest.raises(fb.InputError, match="sample_weight has squares that add up to more than doubles hold; divide all"):
            calibrator.fit_batches(batches)


@pytest.mark.parametrize(("n", "weight"), [(50, (2**53 - 1) // 50), (50, 2**40)])
def test_keys_of_more_samples_than_can_be_ordered(n: int, weight: int) -> None:
    scores, labels = np.arange(n) / n, np.arange(n) % 2
    start = time.monotonic()
    with pytest.raises(fb.InputError, match=r"samples share the score .* orders at most 2\*\*32 samples of one score by keys"):
        fb.UniformMassBinning(5, ties="random").fit(scores, labels, sample_weight=np.full(n, weight))
    with pytest.raises(fb.InputError, match=r"a split gives each a key, so at most 2\*\*27 are divided"):
        fb.UniformMassBinning(5, scheme="ums").fit(scores, labels, sample_weight=np.full(n, weight))
    assert time.monotonic() - start < 60  # seconds; to order them would take hours


def test_ordering_by_keys_can_be_interrupted() -> None:
    """Four groups of 2**32 samples: minutes, of which the signal leaves a few."""
    program = (
        "import signal, threading, os, numpy as np, fastbin as fb\n"
        "fb.UniformMassBinning(2, ties='random').fit([0.1, 0.2, 0.3], [0, 1, 1])\n"
        "threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "try:\n"
        "    fb.UniformMassBinning(5, ties='random').fit(np.arange(5) / 5, [0, 1, 0, 1, 1], sample_weight=np.full(5, 2**32))\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    done = run_python("-c", program, timeout=120.0)
    assert done.stdout == "interrupted\n", done.stderr
