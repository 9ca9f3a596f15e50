"""No floating-point environment changes bins, or breaks anything: predictions, files and fits in each."""

from __future__ import annotations

import ctypes
import platform
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from exported import MODELS, hard_rows, model_of
from exported_curves import CURVES, curve_model_of, hard_curve_scores

import fastbin as fb
import strategies
from fastbin._core.fit import sorted_rows
from fastbin.model import BinnedModel

# Directions of rounding, and processors that take subnormal numbers for zero (x86-64, glibc).
FLUSH = {"subnormals kept": 0, "FTZ": 0x8000, "DAZ": 0x0040, "FTZ and DAZ": 0x8040}
ROUNDING = {"nearest": 0x0000, "down": 0x2000, "up": 0x4000, "toward zero": 0x6000}
MODES = {f"{flush}, {rounding}": FLUSH[flush] | ROUNDING[rounding] for flush in FLUSH for rounding in ROUNDING}

# The struct that fegetenv() fills: 28 bytes of the x87, then MXCSR.
HAS_MODES = platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc"
pytestmark = pytest.mark.skipif(not HAS_MODES, reason="MXCSR is set through glibc on x86-64")

CALIBRATORS = {
    "uniform mass": fb.UniformMassBinning(10), "keys": fb.UniformMassBinning(10, ties="random"),
    "split": fb.UniformMassBinning(5, scheme="ums"), "certified": fb.CertifiedCalibration(n_bins=5),
    "isotonic": fb.IsotonicCalibration(), "fixed width": fb.FixedWidthBinning(10), "platt": fb.PlattScaling(),
    "temperature": fb.TemperatureScaling(), "beta": fb.BetaScaling(), "quadratic": fb.QuadraticScaling(),
    "spline": fb.SplineScaling(), "scaling-binning": fb.ScalingBinning(10),
}  # fmt: skip


@contextmanager
def mode(name: str) -> Iterator[None]:
    """This thread in that environment; the usual one when left."""
    libm = ctypes.CDLL("libm.so.6")
    usual, changed = (ctypes.c_uint32 * 8)(), (ctypes.c_uint32 * 8)()
    assert libm.fegetenv(usual) == 0
    changed[:] = usual[:]
    changed[7] = (usual[7] & ~0xE040) | MODES[name]
    assert libm.fesetenv(changed) == 0
    try:
        yield
    finally:
        assert libm.fesetenv(usual) == 0


# Those that are furthest from the usual one.
FURTHEST = ("FTZ, nearest", "FTZ and DAZ, down", "FTZ and DAZ, up", "DAZ, toward zero")


def test_the_environment_is_what_its_name_says() -> None:
    tiny, third = np.float64(5e-324), (np.float64(1.0), np.float64(3.0))
    with mode("FTZ and DAZ, nearest"):
        is_zero = bool(tiny == 0.0)
    with mode("subnormals kept, up"):
        above = third[0] / third[1]
    assert is_zero
    assert above > third[0] / third[1]


@pytest.mark.parametrize("name", MODELS)
def test_steps_to_the_bit(name: str) -> None:
    """Models with subnormal edges, and with edges at 0 whose ties go down, are among them."""
    model = model_of(name)
    scores, keys = hard_rows(model, 700)
    written = model.to_bytes()
    expected = model.predict(scores, tie_keys=keys).tobytes(), model.assign(scores, tie_keys=keys).tobytes(), written
    for environment in MODES:
        with mode(environment):
            made_here = BinnedModel.from_bytes(written)
            answers = [
                (m.predict(scores, tie_keys=keys).tobytes(), m.assign(scores, tie_keys=keys).tobytes(), m.to_bytes())
                for m in (model, made_here)
            ]
        assert answers == [expected, expected], environment


# Where rounding of the last bit of the score, or of a distance that is subnormal, moves the value far.
STEEP = ("steep logistic", "spline, slope overflows", "subnormal knots")


@pytest.mark.parametrize("name", CURVES)
def test_other_maps_but_for_rounding(name: str) -> None:
    model = curve_model_of(name)
    scores = hard_curve_scores(model, 700)
    expected = model.predict(scores)
    for environment in MODES:
        with mode(environment):
            values = BinnedModel.from_bytes(model.to_bytes()).predict(scores)
        assert np.all((values >= 0.0) & (values <= 1.0)), environment
        if name not in STEEP:
            np.testing.assert_allclose(values, expected, rtol=0.0, atol=1e-12, err_msg=environment)


@pytest.mark.parametrize("environment", FURTHEST)
@pytest.mark.parametrize("name", CALIBRATORS)
def test_fits_give_probabilities(name: str, environment: str) -> None:
    rng = np.random.default_rng(5)
    scores = np.where(rng.random(3000) < 0.1, 1e-310 * rng.integers(0, 9, 3000), rng.random(3000))
    labels = rng.random(3000) < scores
    with mode(environment), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calibrator = CALIBRATORS[name].fit(scores, labels)
        values = calibrator.predict(scores)
    assert np.all((values >= 0.0) & (values <= 1.0))


@pytest.mark.parametrize("environment", FURTHEST)
def test_fit_of_many_rows(environment: str) -> None:
    """With the compiled passes of large fits. Normal scores give the same bins in every environment."""
    rng = np.random.default_rng(6)
    scores = rng.random(300_000)
    labels = rng.random(300_000) < scores
    usual = fb.UniformMassBinning(20).fit(scores, labels).model_
    with mode(environment):
        model = fb.UniformMassBinning(20).fit(scores, labels).model_
    assert model.edges.tobytes() == usual.edges.tobytes()
    assert model.counts.tolist() == usual.counts.tolist()
    assert model.label_sums.tolist() == usual.label_sums.tolist()


@pytest.mark.parametrize("shape", ["subnormals", "signed zeros", "uniform"])
def test_sorting_in_every_floating_point_environment(shape: str) -> None:
    """Packed rows are sorted as doubles where these are in order, and not where the processor takes subnormals for zero."""
    data = strategies.make(shape, "coin", 700, 5)
    scores, labels = np.array(data.scores), np.array(data.labels, np.uint8)
    expected = sorted_rows(scores, labels, 0.0, 1.0)
    words = (np.abs(scores).view(np.uint64) << np.uint64(1)) | (labels ^ 1).astype(np.uint64)
    assert expected is not None
    assert expected.tolist() == sorted(words.tolist())
    for environment in MODES:
        with mode(environment):
            found = sorted_rows(scores, labels, 0.0, 1.0)
        assert found is not None
        assert found.tobytes() == expected.tobytes(), environment
