"""Other calibration packages at the same task: fit 1e5 samples into 10 bins, then score 1e5."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from cases import rows
from measure import paired

import fastbin as fb

N, N_BINS = 10**5, 10
FitAndScore = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _ours(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return fb.UniformMassBinning(N_BINS).fit(scores, labels).predict(scores, seed=1)


def _isotonic() -> FitAndScore:
    isotonic = pytest.importorskip("sklearn.isotonic", reason="scikit-learn is not installed")
    return lambda scores, labels: isotonic.IsotonicRegression(out_of_bounds="clip").fit(scores, labels).predict(scores)


def _netcal() -> FitAndScore:
    binning = pytest.importorskip("netcal.binning", reason="netcal is not installed")

    def run(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
        # Its uniform-mass mode fits and then refuses to transform, so this is its equal-width one.
        return binning.HistogramBinning(bins=N_BINS).fit(scores, labels).transform(scores)

    return run


def _uncertainty_calibration() -> FitAndScore:
    calibration = pytest.importorskip("calibration", reason="uncertainty-calibration is not installed")

    def run(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
        calibrator = calibration.HistogramCalibrator(len(labels), num_bins=N_BINS)
        calibrator.train_calibration(scores, labels)
        return calibrator.calibrate(scores)

    return run


PEERS = {
    "scikit-learn IsotonicRegression": _isotonic,
    "netcal HistogramBinning": _netcal,
    "uncertainty-calibration HistogramCalibrator": _uncertainty_calibration,
}


@pytest.mark.parametrize("peer", PEERS)
def bench_peer(peer: str, benchmark, report) -> None:
    run = PEERS[peer]()
    scores, labels = (np.array(column) for column in rows("uniform", N))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The answer first: each is a calibrator of the same data, so the two differ by no more than bins can.
        assert np.mean(np.abs(run(scores, labels) - _ours(scores, labels))) < 0.05
        result = paired(
            {"ours": lambda: _ours(scores, labels), "peer": lambda: run(scores, labels)}, baseline="ours", min_rounds=3
        )
        benchmark.pedantic(run, args=(scores, labels), rounds=1)
    report(peer=peer, times_slower=f"{result.ratio['peer']:.3g}")
    benchmark.extra_info["times_slower"] = result.ratio["peer"]
