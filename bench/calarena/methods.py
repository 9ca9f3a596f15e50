"""What is compared: the scores as they are, fastbin's methods, and those of other libraries (`peers.py`), behind one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import fastbin as fb

__all__ = [
    "ALPHA",
    "BASELINE",
    "DEFAULT",
    "DEFAULT_OF_MATRICES",
    "OURS",
    "RAW",
    "Fitted",
    "Method",
    "certificate_of",
    "frozen",
    "our_matrix_methods",
    "our_methods",
    "radii_of",
    "seed_of",
]

Float64s = npt.NDArray[np.float64]
UInt8s = npt.NDArray[np.uint8]
Predict = Callable[[Float64s], Float64s]

ALPHA = 0.1  # a promise fails with at most this chance
OURS, RAW, BASELINE, DEFAULT = "fastbin", "raw score", "UMD 10", "Certified"
DEFAULT_OF_MATRICES = "VectorCalibration"
KEY_SEED = 0  # of the keys of models that order equal scores by them

# The value maps of CertifiedCalibration, its default first.
VALUES = ("mixture", "beta", "isotonic", "logistic", "spline", "quadratic", "mean", "jeffreys")


@dataclass(frozen=True)
class Fitted:
    """A map of scores to probabilities and, for a binned model of fastbin, the model that a promise is about."""

    predict: Predict
    model: fb.BinnedModel | None = None


@dataclass(frozen=True)
class Method:
    """A way to calibrate.

    Attributes
    ----------
    name : str
        As it stands in tables, unique.
    library : str
        The package as people install it.
    fit : callable
        Takes scores (float64) and labels (uint8), returns a `Fitted`.
    max_rows : int or None
        The most rows that it is fitted to here, where more would take minutes a fit.
    """

    name: str
    library: str
    fit: Callable[[Float64s, UInt8s], Fitted]
    max_rows: int | None = None


def seed_of(model: fb.BinnedModel) -> int | None:
    """The seed to score with: None where one score has one bin."""
    return KEY_SEED if model.needs_key else None


def certificate_of(model: fb.BinnedModel | None) -> Any:
    """The promise about every bin at once at `ALPHA`, or None for a method that has none."""
    if model is None:
        return None
    try:
        return model.certificate(alpha=ALPHA)
    except fb.GuaranteeError:
        return None


def radii_of(certificate: Any) -> Float64s:
    """What a certificate promises for each bin: 1 for bins that it leaves out."""
    given = certificate.epsilon if certificate.radii is None else certificate.radii
    radii = np.broadcast_to(np.asarray(given, dtype=np.float64), certificate.n_bins).copy()
    radii[list(certificate.uncovered_bins)] = 1.0
    return radii


def _ours(name: str, make: Callable[[], Any]) -> Method:
    def fit(scores: Float64s, labels: UInt8s) -> Fitted:
        model = make().fit(scores, labels).model_
        return Fitted(lambda queries: model.predict(queries, seed=seed_of(model)), model)

    return Method(name, OURS, fit)


def _venn_abers() -> Method:
    """The merged probability of the pair."""

    def fit(scores: Float64s, labels: UInt8s) -> Fitted:
        calibrator = fb.VennAbers().fit(scores, labels)
        return Fitted(calibrator.predict, calibrator.model_)

    return Method("Venn-Abers", OURS, fit)


def _certified() -> Iterable[Method]:
    """CertifiedCalibration with each of its value maps and re-centrings, where this version of fastbin has it."""
    certified = getattr(fb, "CertifiedCalibration", None)
    if certified is None:
        return
    yield _ours(DEFAULT, certified)
    for values in VALUES[1:]:
        yield _ours(f"Certified, {values}", lambda values=values: certified(values=values))
    for recentre in ("none", "full"):
        yield _ours(f"Certified, re-centred {recentre}", lambda recentre=recentre: certified(recentre=recentre))


def _newer() -> Iterable[Method]:
    """Smooth maps that came with CertifiedCalibration."""
    for name, attribute in (("quadratic", "QuadraticScaling"), ("spline", "SplineScaling")):
        scaling = getattr(fb, attribute, None)
        if scaling is not None:
            yield _ours(name, scaling)


def our_methods() -> list[Method]:
    """The raw score first, then all methods of this version of fastbin."""
    return [
        Method(RAW, "none", lambda scores, labels: Fitted(lambda queries: queries)),
        *_certified(),
        _ours(BASELINE, lambda: fb.UniformMassBinning(10)),
        _ours("UMD auto", lambda: fb.UniformMassBinning("auto")),
        _ours("UMS 10", lambda: fb.UniformMassBinning(10, scheme="ums")),
        _ours("fixed width 10", lambda: fb.FixedWidthBinning(10)),
        _ours("scaling-binning 10", lambda: fb.ScalingBinning(10)),
        _ours("isotonic", lambda: fb.IsotonicCalibration()),
        _venn_abers(),
        _ours("Platt", lambda: fb.PlattScaling()),
        _ours("Platt, logit", lambda: fb.PlattScaling(feature="logit")),
        _ours("temperature", lambda: fb.TemperatureScaling()),
        _ours("beta", lambda: fb.BetaScaling()),
        *_newer(),
    ]


# ------------------------------------------------------------------------------------------------- several classes


def frozen(n_classes: int) -> Any:
    """A fitted classifier whose features are its probabilities; of two classes, that of label 1 alone."""
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.frozen import FrozenEstimator

    class Scored(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        def fit(self, features: Any, labels: Any) -> Scored:
            self.classes_ = np.arange(n_classes)
            return self

        def predict_proba(self, features: Any) -> Float64s:
            given = np.asarray(features)
            return np.column_stack((1.0 - given[:, 0], given[:, 0])) if n_classes == 2 else given

        def predict(self, features: Any) -> Any:
            return self.predict_proba(features).argmax(axis=1)

    return FrozenEstimator(Scored().fit(None, None))


def _filled_up(scores: Float64s, labels: UInt8s) -> Fitted:
    """The scores mixed with the shares of the classes, so that no entry is 0: the gain that needs no calibration."""
    n, k = scores.shape
    shares = (np.bincount(labels, minlength=k) + 1.0) / (n + k)
    return Fitted(lambda queries: (n * queries + shares) / (n + 1.0))


def _vector(scores: Float64s, labels: UInt8s) -> Fitted:
    return Fitted(fb.multi.VectorCalibration(classes=range(scores.shape[1])).fit(scores, labels).predict)


def _one_against_rest(scores: Float64s, labels: UInt8s) -> Fitted:
    binning = fb.multi.ClassWiseBinning(calibrator=fb.CertifiedCalibration(), classes=range(scores.shape[1]), normalize=True)
    return Fitted(binning.fit(scores, labels).predict)


def _top_label(scores: Float64s, labels: UInt8s) -> Fitted:
    """The calibrated probability of the top class, the rest divided among the others."""
    from fastbin.sklearn import CalibratedClassifier

    classifier = CalibratedClassifier(frozen(scores.shape[1]), multiclass="top-label")
    return Fitted(classifier.fit(scores, labels.astype(np.int64)).predict_proba)


def our_matrix_methods() -> list[Method]:
    """The raw score first, then fastbin's methods for probabilities (n, k) of k classes."""
    return [
        Method(RAW, "none", lambda scores, labels: Fitted(lambda queries: queries)),
        Method("raw score, no zeros", "none", _filled_up),
        Method(DEFAULT_OF_MATRICES, OURS, _vector),
        Method("ClassWiseBinning", OURS, _one_against_rest),
        Method("TopLabelBinning", OURS, _top_label),
    ]
