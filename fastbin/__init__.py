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
    from fastbin._native.model import library_version as _library_version
except ImportError as _error:  # pragma: no cover
    raise ImportError(
        "fastbin's compiled part is missing; in a source tree, run `pip install .` (or `pip install -e .`) first"
    ) from _error

from fastbin._errors import (
    FastbinError,
    FormatError,
    GuaranteeError,
    InputError,
    InputTypeError,
    MissingDependencyError,
    NotFittedError,
)
from fastbin.binning.uniform_mass import UniformMassBinning
from fastbin.model import BinnedModel, load

__all__ = [
    "BinnedModel",
    "FastbinError",
    "FormatError",
    "GuaranteeError",
    "InputError",
    "InputTypeError",
    "MissingDependencyError",
    "NotFittedError",
    "UniformMassBinning",
    "load",
]

__version__ = _library_version()
