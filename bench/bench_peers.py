"""Other calibration packages at the same task: fit 1e5 samples into 10 bins, then score 1e5."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial

import cases
import numpy as np
import pytest
from cases import PEERS, rows
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


def _venn_abers() -> FitAndScore:
    with np.errstate():  # which its import sets for the whole process
        package = pytest.importorskip("venn_abers", reason="venn-abers is not installed")

    def run(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
        both = np.column_stack((1.0 - scores, scores))
        calibrator = package.VennAbers()
        calibrator.fit(both, labels)
        return calibrator.predict_proba(both)[0][:, 1]

    return run


LOADERS = dict(zip(PEERS, (_isotonic, _netcal, _uncertainty_calibration, _venn_abers), strict=True))


@pytest.mark.parametrize("peer", PEERS)
def bench_peer(peer: str, benchmark, report) -> None:
    scores, labels = (np.array(column) for column in rows("uniform", N))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = LOADERS[peer]()
        # The answer first: each is a calibrator of the same data, so the two differ by no more than bins can.
        assert np.mean(np.abs(run(scores, labels) - _ours(scores, labels))) < 0.05
        timed = paired({"ours": partial(_ours, scores, labels), "peer": partial(run, scores, labels)}, min_rounds=3)
        benchmark.pedantic(run, args=(scores, labels), rounds=1)
    report(cases.FIT_AND_SCORE, cases.FIT_AND_SCORE_MS, 1e3 * timed.seconds("ours"))
    report(cases.FIT_AND_SCORE, cases.PEER_TO_OURS[peer], timed.ratio("peer", to="ours"))
