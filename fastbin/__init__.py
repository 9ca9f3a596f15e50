"""fastbin: probabilities you can trust, by binning, with distribution-free finite-sample guarantees.

>>> import fastbin as fb
>>> scores = [0.05, 0.12, 0.2, 0.33, 0.41, 0.58, 0.66, 0.74, 0.89, 0.97]
>>> labels = [0, 0, 1, 0, 1, 0, 1, 1, 1, 1]
>>> cal = fb.UniformMassBinning(n_bins=2).fit(scores, labels)
>>> cal.predict([0.3, 0.9])
array([0.4, 1. ])

Importing this package, loading a model and scoring need NumPy alone; fitting brings in Numba, certificates SciPy, each at the
first use.
"""

from __future__ import annotations

try:
    from fastbin._native.owner import library_version as _library_version
except ImportError as _error:  # pragma: no cover
    raise ImportError(
        "fastbin's compiled part is missing; in a source tree, run `pip install .` (or `pip install -e .`) first"
    ) from _error

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from fastbin._errors import (
    FastbinError,
    FastbinWarning,
    FormatError,
    GuaranteeError,
    InputError,
    InputTypeError,
    MissingDependencyError,
    NotFittedError,
)
from fastbin._load import load
from fastbin.model import BinnedModel

if TYPE_CHECKING:
    from fastbin import assess, guarantees, intervals, io, online, plots, report, shift, theory
    from fastbin._fit.monotone import monotone_model
    from fastbin._keys import hash_keys
    from fastbin.binning.explicit import ExplicitBinning
    from fastbin.binning.fixed_width import FixedWidthBinning
    from fastbin.binning.isotonic import IsotonicCalibration
    from fastbin.binning.scaling_binning import ScalingBinning
    from fastbin.binning.uniform_mass import UniformMassBinning
    from fastbin.binning.venn import VennAbers, merge_venn, predict_venn
    from fastbin.guarantees import choose_n_bins, epsilon
    from fastbin.scaling import BetaScaling, PlattScaling, TemperatureScaling

# What fitting, certificates and reports need is imported at its first use, so that a service that scores never pays for it.
_HOMES = {
    "BetaScaling": "fastbin.scaling",
    "ExplicitBinning": "fastbin.binning.explicit",
    "FixedWidthBinning": "fastbin.binning.fixed_width",
    "VennAbers": "fastbin.binning.venn",
    "IsotonicCalibration": "fastbin.binning.isotonic",
    "PlattScaling": "fastbin.scaling",
    "ScalingBinning": "fastbin.binning.scaling_binning",
    "TemperatureScaling": "fastbin.scaling",
    "UniformMassBinning": "fastbin.binning.uniform_mass",
    "choose_n_bins": "fastbin.guarantees",
    "epsilon": "fastbin.guarantees",
    "hash_keys": "fastbin._keys",
    "merge_venn": "fastbin.binning.venn",
    "monotone_model": "fastbin._fit.monotone",
    "predict_venn": "fastbin.binning.venn",
}
_MODULES = ("assess", "guarantees", "intervals", "io", "online", "plots", "report", "shift", "theory")

__all__ = [
    "BetaScaling",
    "BinnedModel",
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
    "NotFittedError",
    "PlattScaling",
    "ScalingBinning",
    "TemperatureScaling",
    "UniformMassBinning",
    "VennAbers",
    "assess",
    "choose_n_bins",
    "epsilon",
    "guarantees",
    "hash_keys",
    "intervals",
    "io",
    "load",
    "merge_venn",
    "monotone_model",
    "online",
    "plots",
    "predict_venn",
    "report",
    "shift",
    "theory",
]

__version__ = _library_version()


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(_import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return _import_module(f"fastbin.{name}")
    raise AttributeError(f"module 'fastbin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
