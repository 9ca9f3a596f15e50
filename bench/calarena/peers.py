"""Calibrators of other libraries, as their own documentation calls them; what is not installed is named and left out.

All get the same one-dimensional scores of label 1, or rows of probabilities of several classes, with 0 and 1 among them, and
deal with these in their own way.
"""

from __future__ import annotations

import contextlib
import importlib
import io
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.calarena.methods import Fitted, Method, frozen

__all__ = ["LIBRARIES", "LIBRARIES_OF_MATRICES", "peer_methods", "versions"]

Float64s = npt.NDArray[np.float64]
UInt8s = npt.NDArray[np.uint8]

N_BINS = 10
# A fit of ENIR to 13,000 rows takes up to half a minute, and a prediction of Kernel as long, in gigabytes of memory.
SLOW_ROWS = 2000
LEAST_SCORE = 1e-12  # before vector scaling takes logarithms


def _two_columns(scores: Float64s) -> Float64s:
    return np.column_stack((1.0 - scores, scores))


def _label_1(probabilities: Any) -> Float64s:
    """The probability of label 1 of an answer with one column or two."""
    answer = np.asarray(probabilities, dtype=np.float64)
    return answer[:, 1] if answer.ndim == 2 and answer.shape[1] == 2 else answer.reshape(-1)


# ------------------------------------------------------------------------------------------------- scikit-learn


def _scikit_learn() -> Iterator[Method]:
    """`CalibratedClassifierCV` around a frozen classifier that answers with the scores, one calibrator for all rows."""
    from sklearn.isotonic import IsotonicRegression

    def isotonic(scores: Float64s, labels: UInt8s) -> Fitted:
        return Fitted(IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(scores, labels).predict)

    yield Method("IsotonicRegression", "scikit-learn", isotonic)
    yield from _cross_validated()


def _cross_validated() -> Iterator[Method]:
    """Two classes or several; each of several against the rest, but for temperature scaling."""
    from sklearn.calibration import CalibratedClassifierCV

    def calibrated(method: str) -> Callable[[Float64s, UInt8s], Fitted]:
        def fit(scores: Float64s, labels: UInt8s) -> Fitted:
            is_binary = scores.ndim == 1
            classifier = frozen(2 if is_binary else scores.shape[1])
            model = CalibratedClassifierCV(classifier, method=method, cv=2).fit(
                scores[:, None] if is_binary else scores, labels
            )
            if is_binary:
                return Fitted(lambda queries: _label_1(model.predict_proba(queries[:, None])))
            return Fitted(model.predict_proba)

        return fit

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
        yield Method(name, "probmetrics", _of_probmetrics(make, _label_1), SLOW_ROWS if name == "Kernel" else None)


def _of_probmetrics(make: Callable[[], Any], read: Callable[[Any], Float64s]) -> Callable[[Float64s, UInt8s], Fitted]:
    """`read` takes its answer."""

    def fit(scores: Float64s, labels: UInt8s) -> Fitted:
        made = make()
        made.fit(scores, labels.astype(np.int64))
        return Fitted(lambda queries: read(made.predict_proba(queries)))

    return fit


# ------------------------------------------------------------------------------------------------- several classes


def _vector_scaling() -> Iterator[Method]:
    """A factor and a constant for the logarithm of each class, by maximum likelihood (Guo et al. 2017)."""
    from scipy.optimize import minimize
    from scipy.special import log_softmax, softmax

    def logarithms(scores: Float64s) -> Float64s:
        return np.log(np.maximum(scores, LEAST_SCORE))

    def fit(scores: Float64s, labels: UInt8s) -> Fitted:
        z, k = logarithms(scores), scores.shape[1]
        true = np.eye(k)[labels]

        def loss(parameters: Float64s) -> tuple[float, Float64s]:
            exponents = z * parameters[:k] + parameters[k:]
            excess = (softmax(exponents, axis=1) - true) / len(z)
            gradient = np.concatenate([(excess * z).sum(axis=0), excess.sum(axis=0)])
            return -float((true * log_softmax(exponents, axis=1)).sum()) / len(z), gradient

        found = minimize(loss, np.repeat([1.0, 0.0], k), jac=True, method="L-BFGS-B").x
        return Fitted(lambda queries: softmax(logarithms(queries) * found[:k] + found[k:], axis=1))

    yield Method("vector scaling", "scipy", fit)


def _venn_abers_of_classes() -> Iterator[Method]:
    """Each class against the rest; rows are divided by their sums."""
    (binary,) = _venn_abers()

    def fit(scores: Float64s, labels: UInt8s) -> Fitted:
        fitted = [binary.fit(column, (labels == number).astype(np.uint8)) for number, column in enumerate(scores.T)]

        def predict(queries: Float64s) -> Float64s:
            answer = np.column_stack([one.predict(column) for one, column in zip(fitted, queries.T, strict=True)])
            return answer / answer.sum(axis=1, keepdims=True)

        return Fitted(predict)

    yield Method("VennAbers", "venn-abers", fit)


def _probmetrics_of_classes() -> Iterator[Method]:
    """Structured matrix and vector scaling, and temperature scaling, by the names of CalArena."""
    from probmetrics import calibrators

    makers = {
        "SMS": calibrators.SMSCalibrator,
        "SVS": calibrators.SVSCalibrator,
        "TS": calibrators.TemperatureScalingCalibrator,
    }
    for name, make in makers.items():
        yield Method(name, "probmetrics", _of_probmetrics(make, np.asarray))


# By the name of the distribution: how it is imported, what it offers.
Libraries = Mapping[str, tuple[str, Callable[[], Iterator[Method]]]]

LIBRARIES: Libraries = {
    "scikit-learn": ("sklearn", _scikit_learn),
    "venn-abers": ("venn_abers", _venn_abers),
    "betacal": ("betacal", _betacal),
    "uncertainty-calibration": ("calibration", _uncertainty_calibration),
    "netcal": ("netcal", _netcal),
    "probmetrics": ("probmetrics", _probmetrics),
}


LIBRARIES_OF_MATRICES: Libraries = {
    "scikit-learn": ("sklearn", _cross_validated),
    "scipy": ("scipy", _vector_scaling),
    "venn-abers": ("venn_abers", _venn_abers_of_classes),
    "probmetrics": ("probmetrics", _probmetrics_of_classes),
}


def peer_methods(libraries: Libraries = LIBRARIES) -> tuple[list[Method], dict[str, str]]:
    """The methods of the libraries that can be imported, and why others cannot, by library."""
    methods: list[Method] = []
    missing: dict[str, str] = {}
    for library, (module, offers) in libraries.items():
        try:
            with np.errstate(), contextlib.redirect_stdout(io.StringIO()):  # one of them sets NumPy's for the process
                importlib.import_module(module)
                methods += list(offers())
        except ImportError as error:
            missing[library] = str(error)
    return methods, missing


def versions(libraries: Libraries = LIBRARIES) -> dict[str, str]:
    """The installed version of each library."""
    found = {}
    for library in libraries:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found
