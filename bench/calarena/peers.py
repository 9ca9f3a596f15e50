"""Calibrators of other libraries, as their own documentation calls them; what is not installed is named and left out.

All get the same one-dimensional scores of label 1, with 0 and 1 among them, and deal with these in their own way.
"""

from __future__ import annotations

import contextlib
import importlib
import io
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.calarena.methods import Fitted, Method

__all__ = ["LIBRARIES", "peer_methods", "versions"]

Float64s = npt.NDArray[np.float64]
UInt8s = npt.NDArray[np.uint8]

N_BINS = 10
# A fit of ENIR to 13,000 rows takes up to half a minute, and a prediction of Kernel as long, in gigabytes of memory.
SLOW_ROWS = 2000


def _two_columns(scores: Float64s) -> Float64s:
    return np.column_stack((1.0 - scores, scores))


def _label_1(probabilities: Any) -> Float64s:
    """The probability of label 1 of an answer with one column or two."""
    answer = np.asarray(probabilities, dtype=np.float64)
    return answer[:, 1] if answer.ndim == 2 and answer.shape[1] == 2 else answer.reshape(-1)


# ------------------------------------------------------------------------------------------------- scikit-learn


def _scikit_learn() -> Iterator[Method]:
    """`CalibratedClassifierCV` around a frozen classifier that answers with the scores, one calibrator for all rows."""
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator
    from sklearn.isotonic import IsotonicRegression

    class Scored(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """A classifier whose only feature is its probability of label 1."""

        def fit(self, features: Float64s, labels: UInt8s) -> Scored:
            self.classes_ = np.array([0, 1])
            return self

        def predict_proba(self, features: Float64s) -> Float64s:
            return _two_columns(np.asarray(features)[:, 0])

        def predict(self, features: Float64s) -> Any:
            return np.asarray(features)[:, 0] > 0.5

    def calibrated(method: str) -> Callable[[Float64s, UInt8s], Fitted]:
        def fit(scores: Float64s, labels: UInt8s) -> Fitted:
            frozen = FrozenEstimator(Scored().fit(scores[:, None], labels))
            model = CalibratedClassifierCV(frozen, method=method, cv=2).fit(scores[:, None], labels)
            return Fitted(lambda queries: _label_1(model.predict_proba(queries[:, None])))

        return fit

    def isotonic(scores: Float64s, labels: UInt8s) -> Fitted:
        return Fitted(IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(scores, labels).predict)

    yield Method("IsotonicRegression", "scikit-learn", isotonic)
    known = CalibratedClassifierCV._parameter_constraints["method"][0].options  # temperature: from 1.8 on
    for method in sorted(known & {"isotonic", "sigmoid", "temperature"}):
        yield Method(f"CalibratedClassifierCV {method}", "scikit-learn", calibrated(method))


# ------------------------------------------------------------------------------------------------- packages of one method each


def _venn_abers() -> Iterator[Method]:
    from venn_abers import VennAbers

    def fit(scores: Float64s, labels: UInt8s) -> Fitted:
        calibrator = VennAbers()
        calibrator.fit(_two_columns(scores), labels)
        return Fitted(lambda queries: _label_1(calibrator.predict_proba(_two_columns(queries))[0]))

    yield Method("VennAbers", "venn-abers", fit)


def _betacal() -> Iterator[Method]:
    from betacal import BetaCalibration

    def fit(scores: Float64s, labels: UInt8s) -> Fitted:
        calibrator = BetaCalibration("abm").fit(scores[:, None], labels)
        return Fitted(lambda queries: _label_1(calibrator.predict(queries[:, None])))

    yield Method("BetaCalibration", "betacal", fit)


def _uncertainty_calibration() -> Iterator[Method]:
    import calibration

    def trained(calibrator: str) -> Callable[[Float64s, UInt8s], Fitted]:
        def fit(scores: Float64s, labels: UInt8s) -> Fitted:
            made = getattr(calibration, calibrator)(len(labels), num_bins=N_BINS)
            made.train_calibration(scores, labels.astype(np.int64))
            return Fitted(lambda queries: _label_1(made.calibrate(queries)))

        return fit

    for calibrator in ("HistogramCalibrator", "PlattBinnerCalibrator", "PlattCalibrator"):
        yield Method(calibrator, "uncertainty-calibration", trained(calibrator))


# ------------------------------------------------------------------------------------------------- netcal, probmetrics


def _netcal() -> Iterator[Method]:
    from netcal import binning, scaling

    def transformed(make: Callable[[], Any]) -> Callable[[Float64s, UInt8s], Fitted]:
        def fit(scores: Float64s, labels: UInt8s) -> Fitted:
            made = make()
            made.fit(scores, labels.astype(np.int64))
            return Fitted(lambda queries: _label_1(made.transform(queries)))

        return fit

    yield Method("HistogramBinning", "netcal", transformed(lambda: binning.HistogramBinning(bins=N_BINS)))
    yield Method("BBQ", "netcal", transformed(binning.BBQ))
    yield Method("ENIR", "netcal", transformed(binning.ENIR), SLOW_ROWS)
    yield Method("LogisticCalibration", "netcal", transformed(scaling.LogisticCalibration))
    yield Method("BetaCalibration (netcal)", "netcal", transformed(scaling.BetaCalibration))
    yield Method("TemperatureScaling", "netcal", transformed(scaling.TemperatureScaling))


def _probmetrics() -> Iterator[Method]:
    """Its binary calibrators by the names of CalArena; CIR and Spline need one more package each (README.md)."""
    from probmetrics import calibrators

    def calibrated(make: Callable[[], Any]) -> Callable[[Float64s, UInt8s], Fitted]:
        def fit(scores: Float64s, labels: UInt8s) -> Fitted:
            made = make()
            made.fit(scores, labels.astype(np.int64))
            return Fitted(lambda queries: _label_1(made.predict_proba(queries)))

        return fit

    makers: dict[str, Callable[[], Any]] = {
        "Hist-uniform": lambda: calibrators.BinaryHistogramBinningCalibrator(strategy="uniform"),
        "Hist-quantile": lambda: calibrators.BinaryHistogramBinningCalibrator(strategy="quantile"),
        "Scaling-Binning": lambda: calibrators.BinaryPlattBinnerCalibrator(),
        "CIR": lambda: calibrators.CenteredIsotonicRegressionCalibrator(),
        "Venn-Abers (probmetrics)": lambda: calibrators.BinaryVennAbersCalibrator(),
        "TS": lambda: calibrators.TemperatureScalingCalibrator(),
        "ETS": lambda: calibrators.ETSCalibrator(),
        "Affine": lambda: calibrators.BinaryLogisticCalibrator(type="affine"),
        "Quadratic": lambda: calibrators.BinaryLogisticCalibrator(type="quadratic"),
        "Spline": lambda: calibrators.MLISplineCalibrator(),
        "CDF-Spline": lambda: calibrators.CDFSplineCalibrator(),
        "Kernel": lambda: calibrators.KernelCalibrator(),
    }
    for name, make in makers.items():
        yield Method(name, "probmetrics", calibrated(make), SLOW_ROWS if name == "Kernel" else None)


# By the name of the distribution: how it is imported, what it offers.
LIBRARIES: dict[str, tuple[str, Callable[[], Iterator[Method]]]] = {
    "scikit-learn": ("sklearn", _scikit_learn),
    "venn-abers": ("venn_abers", _venn_abers),
    "betacal": ("betacal", _betacal),
    "uncertainty-calibration": ("calibration", _uncertainty_calibration),
    "netcal": ("netcal", _netcal),
    "probmetrics": ("probmetrics", _probmetrics),
}


def peer_methods() -> tuple[list[Method], dict[str, str]]:
    """The methods of the libraries that can be imported, and why others cannot, by library."""
    methods: list[Method] = []
    missing: dict[str, str] = {}
    for library, (module, offers) in LIBRARIES.items():
        try:
            with np.errstate(), contextlib.redirect_stdout(io.StringIO()):  # one of them sets NumPy's for the process
                importlib.import_module(module)
                methods += list(offers())
        except ImportError as error:
            missing[library] = str(error)
    return methods, missing


def versions() -> dict[str, str]:
    """The installed version of each library."""
    found = {}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found
