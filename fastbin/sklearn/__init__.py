"""Calibrated classifiers for scikit-learn, 1.6 or newer (the extra "sklearn").

==========================  ==============================================================================
`CalibratedClassifier`      a classifier and its calibrator in one estimator, with a certificate
`OnnxClassifier`            a classifier that scores as it will be served, by ONNX Runtime
`register_onnx`             lets sklearn-onnx convert the whole
`ReliabilityDisplay`        its reliability diagram
`TRUSTED_TYPES`             the names of all types that skops is to trust, to load what was fitted
==========================  ==============================================================================

The calibrators of fastbin are scikit-learn estimators of their own, which take scores in place of features; they need no
import from here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fastbin._base.dependencies import install_command, needed_for
from fastbin._base.errors import MissingDependencyError

with needed_for("calibrated classifiers", extra="sklearn"):
    import sklearn

# FrozenEstimator and the tags of estimators came with it.
LEAST = (1, 6)

if tuple(int(part) for part in sklearn.__version__.split(".")[:2]) < LEAST:
    raise MissingDependencyError(
        f"fastbin.sklearn needs scikit-learn {'.'.join(map(str, LEAST))} or newer, and {sklearn.__version__} is installed; "
        f"{install_command('sklearn', upgrade=True)}",
        name="sklearn",
    )

from fastbin.sklearn.calibrated_classifier import CalibratedClassifier  # noqa: E402
from fastbin.sklearn.display import ReliabilityDisplay  # noqa: E402

if TYPE_CHECKING:
    from fastbin.sklearn.onnx import OnnxClassifier, register_onnx

#: The names of all types that skops is to trust, to load what fastbin fitted: ``skops.io.load(path, trusted=TRUSTED_TYPES)``,
#: and in MLflow ``skops_trusted_types=TRUSTED_TYPES``. They load from numbers, texts and the bytes of models.
TRUSTED_TYPES = [
    "fastbin.model.BinnedModel",
    "fastbin.model_set.ModelSet",
    "fastbin.vector_model.VectorModel",
    "fastbin.binning.certified.CertifiedCalibration",
    "fastbin.binning.uniform_mass.UniformMassBinning",
    "fastbin.binning.scaling_binning.ScalingBinning",
    "fastbin.binning.fixed.FixedWidthBinning",
    "fastbin.binning.fixed.ExplicitBinning",
    "fastbin.binning.isotonic.IsotonicCalibration",
    "fastbin.binning.venn.VennAbers",
    "fastbin.scaling.maps.PlattScaling",
    "fastbin.scaling.maps.TemperatureScaling",
    "fastbin.scaling.maps.BetaScaling",
    "fastbin.scaling.maps.QuadraticScaling",
    "fastbin.scaling.maps.SplineScaling",
    "fastbin.multi.classes.ClassWiseBinning",
    "fastbin.multi.segmented.SegmentedBinning",
    "fastbin.multi.classes.TopLabelBinning",
    "fastbin.multi.vectors.VectorCalibration",
    "fastbin.shift.covariate.ImportanceWeightedBinning",
    "fastbin.shift.weighted.WeightedRows",
    "fastbin.shift.importance.ULSIF",
    "fastbin.shift.label.LabelShift",
    "fastbin.shift.rates.RateEstimate",
    "fastbin.sklearn.calibrated_classifier.CalibratedClassifier",
    "fastbin.sklearn.onnx.OnnxClassifier",
]

__all__ = ["TRUSTED_TYPES", "CalibratedClassifier", "OnnxClassifier", "ReliabilityDisplay", "register_onnx"]
__dir__ = __all__.copy  # completion lists the public names


def __getattr__(name: str) -> Any:
    if name in ("OnnxClassifier", "register_onnx"):  # at their first use, as they bring the exports
        return getattr(import_module("fastbin.sklearn.onnx"), name)
    raise AttributeError(f"module 'fastbin.sklearn' has no attribute {name!r}")
