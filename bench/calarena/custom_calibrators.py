"""fastbin in CalArena: put this file over the one of the same name in a clone of it, with fastbin installed beside it.

    python run_benchmark.py --benchmark tabrepo-binary --calibrator fastbin-Certified
    python run_benchmark.py --benchmark tabrepo-binary --calibrator fastbin-UMD
    python run_benchmark.py --benchmark tabarena-multiclass --calibrator fastbin-Vector

CalArena takes any object with ``fit(p_cal, y_cal)`` and ``predict_proba(p_test)``, whose factory stands in
``CUSTOM_CALIBRATORS`` under the name of plots and result files. Its HDF5 files have a group for each data set and model with
probas_cal, labels_cal, probas_test and labels_test. Binary probabilities come as those of label 1, of shape (n,) or (n, 1), or
as both, of shape (n, 2); those of k classes, which the labels number from 0 on, as (n, k). The answer has a column for each
class, as in probmetrics.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

import fastbin as fb

__all__ = ["CUSTOM_CALIBRATORS", "Calibrator"]

Float64s = npt.NDArray[np.float64]

AGAINST_REST = partial(fb.multi.ClassWiseBinning, normalize=True)


def columns_of(probabilities: Any) -> Float64s:
    """The probabilities of label 1 (n,), or of three and more classes (n, k), inside [0, 1], which sums of floats may leave."""
    given = np.asarray(probabilities, dtype=np.float64)
    if given.ndim == 2 and given.shape[1] in (1, 2):
        given = given[:, -1]
    if given.ndim not in (1, 2):
        raise ValueError(f"probabilities have shape {given.shape}; they must have (n,) or (n, k)")
    return np.clip(given, 0.0, 1.0)


class Calibrator:
    """A calibrator of fastbin with the two methods that CalArena calls.

    Parameters
    ----------
    make : callable
        Takes a number of rows, gives a fresh calibrator for them.
    of_classes : callable
        Takes that calibrator and the classes, where these are more than two, gives one for all; by default each is calibrated
        against the rest.

    Attributes
    ----------
    model_ : BinnedModel, ModelSet or VectorModel
        What `fit` made; its ``certificate()`` says what is promised (of classes before they are divided by their sum).
    """

    def __init__(self, make: Callable[[int], Any], of_classes: Callable[..., Any] = AGAINST_REST) -> None:
        self._make = make
        self._of_classes = of_classes

    def fit(self, p_cal: Any, y_cal: Any) -> Calibrator:
        """Fit to probabilities and labels of rows that the classifier was not trained on."""
        scores, labels = columns_of(p_cal), np.asarray(y_cal).reshape(-1)
        calibrator = self._make(len(labels))
        if scores.ndim == 2:
            calibrator = self._of_classes(calibrator=calibrator, classes=range(scores.shape[1]))
        self._fitted = calibrator.fit(scores, labels)
        self.model_: Any = self._fitted.model_
        return self

    def predict_proba(self, p_test: Any) -> Float64s:
        """Probabilities (n, k) of the classes, which sum to 1."""
        scores = columns_of(p_test)
        answer = np.asarray(self._fitted.predict(scores))
        return answer if scores.ndim == 2 else np.column_stack((1.0 - answer, answer))


def certified(n_rows: int) -> fb.CertifiedCalibration:
    """The default, which takes any number of rows."""
    return fb.CertifiedCalibration()


def uniform_mass(n_rows: int) -> fb.UniformMassBinning:
    """Uniform-mass binning into 10 bins; fewer where there are too few rows for them."""
    return fb.UniformMassBinning(max(1, min(10, (n_rows + 1) // 2)))


CUSTOM_CALIBRATORS: dict[str, Callable[[], Calibrator]] = {
    "fastbin-Certified": lambda: Calibrator(certified),
    "fastbin-Vector": lambda: Calibrator(certified, fb.multi.VectorCalibration),
    "fastbin-UMD": lambda: Calibrator(uniform_mass),
}
