"""fastbin in CalArena: put this file over the one of the same name in a clone of it, with fastbin installed beside it.

    python run_benchmark.py --benchmark tabrepo-binary --calibrator fastbin-Certified
    python run_benchmark.py --benchmark tabrepo-binary --calibrator fastbin-UMD

CalArena takes any object with ``fit(p_cal, y_cal)`` and ``predict_proba(p_test)``, whose factory stands in
``CUSTOM_CALIBRATORS`` under the name of plots and result files. Binary probabilities come as those of label 1, of shape (n,),
or as both, of shape (n, 2); the answer has shape (n, 2), as in probmetrics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import fastbin as fb

__all__ = ["CUSTOM_CALIBRATORS", "BinaryCalibrator"]

Float64s = npt.NDArray[np.float64]

FEWEST_BINS = 1


def label_1(probabilities: Any) -> Float64s:
    """The probabilities of label 1 in one or two columns, moved into [0, 1] where a sum of floats left it by a rounding."""
    given = np.asarray(probabilities, dtype=np.float64)
    if given.ndim == 2 and given.shape[1] in (1, 2):
        given = given[:, -1]
    if given.ndim != 1:
        raise ValueError(f"probabilities have shape {given.shape}; binary ones have (n,), (n, 1) or (n, 2)")
    return np.clip(given, 0.0, 1.0)


class BinaryCalibrator:
    """A calibrator of fastbin with the two methods that CalArena calls.

    Parameters
    ----------
    make : callable
        Gives a fresh calibrator.

    Attributes
    ----------
    model_ : BinnedModel
        What `fit` made; its ``certificate()`` says what is promised.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def fit(self, p_cal: Any, y_cal: Any) -> BinaryCalibrator:
        """Fit to probabilities and labels 0 and 1 of rows that the classifier was not trained on."""
        self.model_: fb.BinnedModel = self._make().fit(label_1(p_cal), np.asarray(y_cal)).model_
        return self

    def predict_proba(self, p_test: Any) -> Float64s:
        """Probabilities (n, 2) of labels 0 and 1."""
        scores = label_1(p_test)
        ones = self.model_.predict(scores, seed=0 if self.model_.needs_key else None)
        return np.column_stack((1.0 - ones, ones))


class UniformMass(BinaryCalibrator):
    """Uniform-mass binning into 10 bins; fewer where there are too few rows for them."""

    def __init__(self, n_bins: int = 10) -> None:
        super().__init__(lambda: fb.UniformMassBinning(self.n_bins_))
        self.n_bins = self.n_bins_ = n_bins

    def fit(self, p_cal: Any, y_cal: Any) -> UniformMass:
        self.n_bins_ = max(FEWEST_BINS, min(self.n_bins, (len(y_cal) + 1) // 2))
        super().fit(p_cal, y_cal)
        return self


CUSTOM_CALIBRATORS: dict[str, Callable[[], BinaryCalibrator]] = {"fastbin-UMD": UniformMass}
if hasattr(fb, "CertifiedCalibration"):
    CUSTOM_CALIBRATORS["fastbin-Certified"] = lambda: BinaryCalibrator(fb.CertifiedCalibration)
