"""fastbin: probabilities you can trust, by binning, with distribution-free finite-sample guarantees.

>>> import fastbin as fb
>>> scores = [0.05, 0.12, 0.2, 0.33, 0.41, 0.58, 0.66, 0.74, 0.89, 0.97]
>>> labels = [0, 0, 1, 0, 1, 0, 1, 1, 1, 1]
>>> cal = fb.UniformMassBinning(n_bins=2).fit(scores, labels)
>>> cal.predict([0.3, 0.9])
array([0.4, 1. ])

Calibrators, each with ``fit(scores, labels)``, ``predict(scores)`` and a ``model_``:

    CertifiedCalibration    smooth values inside certified bins: the best probabilities, and a promise about their averages
    UniformMassBinning      bins of equal mass, with a guarantee known before the labels: the tightest promise
    ScalingBinning          a smooth map, averaged over such bins
    FixedWidthBinning       bins of equal width
    ExplicitBinning         bins between given edges
    IsotonicCalibration     isotonic regression (no guarantee)
    VennAbers               two probabilities, one of which is calibrated
    PlattScaling, TemperatureScaling, BetaScaling, QuadraticScaling, SplineScaling
                            smooth maps (no guarantee)

What they end as, and what else there is:

    BinnedModel             predict, predict_one, interval, predict_set, certificate, save; load(path) reads one
    ModelSet                many models behind one key: segments, classes
    monotone_model, predict_venn, merge_venn            of a model
    choose_n_bins, epsilon  before there are data
    hash_keys               keys for tied scores, from ids
    FastbinError            the base of all errors; FastbinWarning, GuaranteeError, InputError, ...

    fb.guarantees           from bins to a promise: Certificate, exact radii, numbers of samples
    fb.intervals            one interval for one bin
    fb.multi                classes and segments: TopLabelBinning, ClassWiseBinning, SegmentedBinning
    fb.assess               is it calibrated: metrics, tables, does a certificate hold on test data
    fb.decide               accept, reject, abstain; performance and labels still needed, before there are labels
    fb.online               outcomes that keep arriving: streams and monitors
    fb.shift                populations that move: label shift, importance weights
    fb.sklearn              CalibratedClassifier: a classifier of scikit-learn with its calibrator
    fb.export               the same bits elsewhere: SQL, ONNX, C source, Java, JavaScript, JSON
    fb.engines              fit and score where the data are: DuckDB, Polars, Dask, Spark, files
    fb.polars               pl.col("p").fastbin.predict(model)
    fb.io                   files and folders of scores
    fb.plots, fb.report     pictures, and one page on a model and a test set
    fb.theory               what reproduces the papers: risk bounds, conversions between promises

``help(fb.UniformMassBinning)`` explains one of them. Importing this package, loading a model and scoring need NumPy alone;
fitting brings in Numba, certificates SciPy, each at the first use.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING, Any

from fastbin._base.errors import (
    FastbinError,
    FastbinWarning,
    FormatError,
    GuaranteeError,
    InputError,
    InputTypeError,
    MissingDependencyError,
    NotFittedError,
)

if TYPE_CHECKING:
    from fastbin import (
        assess,
        decide,
        engines,
        export,
        guarantees,
        intervals,
        io,
        multi,
        online,
        plots,
        polars,
        report,
        shift,
        sklearn,
        theory,
    )
    from fastbin._base.tie_keys import hash_keys
    from fastbin.binning.certified import CertifiedCalibration
    from fastbin.binning.fixed import ExplicitBinning, FixedWidthBinning
    from fastbin.binning.isotonic import IsotonicCalibration, monotone_model
    from fastbin.binning.scaling_binning import ScalingBinning
    from fastbin.binning.uniform_mass import UniformMassBinning
    from fastbin.binning.venn import VennAbers, merge_venn, predict_venn
    from fastbin.guarantees import choose_n_bins, epsilon
    from fastbin.model import BinnedModel
    from fastbin.model_set import ModelSet, load
    from fastbin.scaling import BetaScaling, PlattScaling, QuadraticScaling, SplineScaling, TemperatureScaling

    # For type checkers alone: with it, help() would print every class from end to end. `dir` lists the names at run time.
    __all__ = [
        "BetaScaling",
        "BinnedModel",
        "CertifiedCalibration",
        "ExplicitBinning",
        "FastbinError",
        "FastbinWarning",
        "FixedWidthBinning",
        "FormatError",
        "GuaranteeError",
        "InputError",
        "InputTypeError",
        "IsotonicCalibration",
        "MissingDependencyError",
        "ModelSet",
        "NotFittedError",
        "PlattScaling",
        "QuadraticScaling",
        "ScalingBinning",
        "SplineScaling",
        "TemperatureScaling",
        "UniformMassBinning",
        "VennAbers",
        "assess",
        "choose_n_bins",
        "decide",
        "engines",
        "epsilon",
        "export",
        "guarantees",
        "hash_keys",
        "intervals",
        "io",
        "load",
        "merge_venn",
        "monotone_model",
        "multi",
        "online",
        "plots",
        "polars",
        "predict_venn",
        "report",
        "shift",
        "sklearn",
        "theory",
    ]

# Each is imported at its first use: a service that scores never pays for what fitting, certificates and reports need, and the
# command line decides before NumPy is there how many threads it may start.
_HOMES = {
    "BetaScaling": "fastbin.scaling",
    "BinnedModel": "fastbin.model",
    "CertifiedCalibration": "fastbin.binning.certified",
    "ExplicitBinning": "fastbin.binning.fixed",
    "FixedWidthBinning": "fastbin.binning.fixed",
    "VennAbers": "fastbin.binning.venn",
    "IsotonicCalibration": "fastbin.binning.isotonic",
    "ModelSet": "fastbin.model_set",
    "PlattScaling": "fastbin.scaling",
    "QuadraticScaling": "fastbin.scaling",
    "SplineScaling": "fastbin.scaling",
    "ScalingBinning": "fastbin.binning.scaling_binning",
    "TemperatureScaling": "fastbin.scaling",
    "UniformMassBinning": "fastbin.binning.uniform_mass",
    "choose_n_bins": "fastbin.guarantees",
    "epsilon": "fastbin.guarantees",
    "hash_keys": "fastbin._base.tie_keys",
    "load": "fastbin.model_set",
    "merge_venn": "fastbin.binning.venn",
    "monotone_model": "fastbin.binning.isotonic",
    "predict_venn": "fastbin.binning.venn",
}
_MODULES = (
    "assess", "decide", "engines", "export", "guarantees", "intervals", "io", "multi", "online", "plots", "polars", "report",
    "shift", "sklearn", "theory",
)  # fmt: skip

if _find_spec("fastbin._core.score") is None:  # pragma: no cover
    raise ImportError("fastbin's compiled part is missing; in a source tree, run `pip install .` (or `pip install -e .`) first")


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _import_module("fastbin._core.score").library_version()
    if name in _HOMES:
        value = getattr(_import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return _import_module(f"fastbin.{name}")
    raise AttributeError(f"module 'fastbin' has no attribute {name!r}")


def __dir__() -> list[str]:
    own = {name for name, value in globals().items() if str(getattr(value, "__module__", "")).startswith("fastbin")}
    return sorted({*own, "__version__", *_HOMES, *_MODULES})
