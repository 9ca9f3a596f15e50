"""Top-label calibration of a ResNet-50 on CIFAR-10, with the logits of Gupta & Ramdas 2022, and what is promised about it.

    python bench/papers/cifar10_top_label.py --data FOLDER > bench/papers/results/cifar10_top_label.txt

FOLDER (or FASTBIN_BENCH_DATA in the environment) holds `cifar10_resnet50.npz`: logits of 5,000 rows to calibrate on and 10,000
to test on, from the authors' repository AIgen/df-posthoc-calibration. scikit-learn and MAPIE are compared with where they
can be imported. Takes a minute.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

import fastbin as fb
from fastbin import assess

Array = npt.NDArray[np.float64]
Classes = npt.NDArray[np.int64]

DATA_VARIABLE, FILE = "FASTBIN_BENCH_DATA", "cifar10_resnet50.npz"
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
N_BOOTSTRAP = 500
# Top-label ECE of the same test rows: what the authors' code prints for the scores, and for its histogram binning.
AUTHORS = {"softmax": 0.0237, "50 points a bin": 0.0151}


class Rows(NamedTuple):
    """Logits and true classes."""

    logits: Array
    labels: Classes


class Predictions(NamedTuple):
    """Of the test rows: the predicted classes and their probabilities; of all classes where the method has them."""

    predicted: Classes
    top: Array
    matrix: Array | None = None

    @classmethod
    def of(cls, matrix: Array) -> Predictions:
        """The class of the largest probability, the first of equal ones."""
        predicted = matrix.argmax(axis=1)
        return cls(predicted, matrix[np.arange(len(matrix)), predicted], matrix)


def read_rows(path: Path) -> tuple[Rows, Rows]:
    """The rows to calibrate on, and those to test on."""
    with np.load(path) as file:
        calibration, test = (
            Rows(file[f"{part}_logits"].astype(np.float64), file[f"{part}_labels"].astype(np.int64))
            for part in ("calibration", "test")
        )
    return calibration, test


# ------------------------------------------------------------------------------------------------- methods


def raw(calibration: Rows, test: Rows) -> Predictions:
    """The scores as they are."""
    return Predictions.of(softmax(test.logits, axis=1))


def temperature(calibration: Rows, test: Rows) -> Predictions:
    """One temperature for all logits, by maximum likelihood (Guo et al. 2017)."""

    def loss(log_scale: float) -> float:
        chances = log_softmax(np.exp(log_scale) * calibration.logits, axis=1)
        return -float(chances[np.arange(len(chances)), calibration.labels].mean())

    scale = np.exp(minimize_scalar(loss, bounds=(-4.0, 4.0), method="bounded", options={"xatol": 1e-10}).x)
    return Predictions.of(softmax(scale * test.logits, axis=1))


def top_label(estimator: fb.multi.TopLabelBinning) -> Callable[[Rows, Rows], Predictions]:
    """Of a calibrator that serves the predicted class alone."""

    def predictions(calibration: Rows, test: Rows) -> Predictions:
        estimator.fit(softmax(calibration.logits, axis=1), calibration.labels)
        return Predictions(*estimator.predict(softmax(test.logits, axis=1)))

    return predictions


def class_wise(estimator: fb.multi.ClassWiseBinning) -> Callable[[Rows, Rows], Predictions]:
    """Of a calibrator that serves every class. The predicted class is that of the classifier."""

    def predictions(calibration: Rows, test: Rows) -> Predictions:
        estimator.fit(softmax(calibration.logits, axis=1), calibration.labels)
        scores = softmax(test.logits, axis=1)
        matrix, predicted = estimator.predict(scores), scores.argmax(axis=1)
        return Predictions(predicted, matrix[np.arange(len(matrix)), predicted], matrix)

    return predictions


OURS: dict[str, Any] = {
    "TopLabelBinning": fb.multi.TopLabelBinning(50, per_class=True),
    "TopLabelBinning, certified": fb.multi.TopLabelBinning(calibrator=fb.CertifiedCalibration(), per_class=True),
    "confidence, 50 points a bin": fb.multi.TopLabelBinning(50, per_class=False),
    "confidence, certified": fb.multi.TopLabelBinning(calibrator=fb.CertifiedCalibration(), per_class=False),
    "ClassWiseBinning": fb.multi.ClassWiseBinning(50),
    "ClassWiseBinning, certified": fb.multi.ClassWiseBinning(calibrator=fb.CertifiedCalibration()),
    "the same, normalized": fb.multi.ClassWiseBinning(calibrator=fb.CertifiedCalibration(), normalize=True),
}


def methods() -> Iterator[tuple[str, Callable[[Rows, Rows], Predictions]]]:
    """By name, ours and those of others that can be imported."""
    yield "softmax", raw
    for name, estimator in OURS.items():
        yield name, (class_wise if isinstance(estimator, fb.multi.ClassWiseBinning) else top_label)(estimator)
    yield "temperature scaling", temperature
    yield from _scikit_learn()
    yield from _mapie()


def _of_logits() -> type:
    """A fitted classifier of scikit-learn's kind, whose features are the logits."""
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Logits(ClassifierMixin, BaseEstimator):
        def fit(self, X: Array, y: Classes) -> Logits:
            self.classes_ = np.arange(X.shape[1])
            return self

        def decision_function(self, X: Array) -> Array:
            return X

        def predict_proba(self, X: Array) -> Array:
            return np.asarray(softmax(X, axis=1))

        def predict(self, X: Array) -> Classes:
            return np.asarray(X.argmax(axis=1))

    return Logits


def _scikit_learn() -> Iterator[tuple[str, Callable[[Rows, Rows], Predictions]]]:
    """CalibratedClassifierCV around the fitted classifier: one against the rest, then normalized; or a temperature."""
    from sklearn.calibration import CalibratedClassifierCV

    try:
        from sklearn.frozen import FrozenEstimator
    except ImportError:
        print("scikit-learn is left out: it has no FrozenEstimator (from 1.6 on)", file=sys.stderr)
        return

    def calibrated(method: str) -> Callable[[Rows, Rows], Predictions]:
        def predictions(calibration: Rows, test: Rows) -> Predictions:
            fitted = FrozenEstimator(_of_logits()().fit(*calibration))
            return Predictions.of(CalibratedClassifierCV(fitted, method=method).fit(*calibration).predict_proba(test.logits))

        return predictions

    known = CalibratedClassifierCV._parameter_constraints["method"][0].options  # temperature: from 1.8 on
    for method in ("sigmoid", "isotonic", "temperature"):
        if method not in known:
            print(f"scikit-learn, {method} is left out: this version does not have it", file=sys.stderr)
            continue
        yield f"scikit-learn, {method}", calibrated(method)


def _mapie() -> Iterator[tuple[str, Callable[[Rows, Rows], Predictions]]]:
    """TopLabelCalibrator: a one-dimensional calibrator for each predicted class."""
    try:
        from mapie.calibration import TopLabelCalibrator
    except ImportError:
        print("MAPIE is left out: it cannot be imported", file=sys.stderr)
        return

    def calibrated(method: str) -> Callable[[Rows, Rows], Predictions]:
        def predictions(calibration: Rows, test: Rows) -> Predictions:
            classifier = _of_logits()().fit(*calibration)
            fitted = TopLabelCalibrator(classifier, method, cv="prefit").fit(*calibration)
            top = np.nanmax(fitted.predict_proba(test.logits), axis=1)
            return Predictions(test.logits.argmax(axis=1), top)

        return predictions

    for method in ("sigmoid", "isotonic"):
        yield f"MAPIE top label, {method}", calibrated(method)


# ------------------------------------------------------------------------------------------------- what is measured


def bootstrap(found: Predictions, labels: Classes, n_draws: int) -> float:
    """The standard deviation of the authors' top-label ECE over draws of as many test rows with replacement."""
    rng = np.random.default_rng(2022)
    drawn = (rng.integers(0, len(labels), len(labels)) for _ in range(n_draws))
    return float(np.std([assess.top_label_ece(found.top[at], found.predicted[at], labels[at]) for at in drawn]))


def measure(found: Predictions, labels: Classes, n_draws: int) -> list[float]:
    """The columns of the table; NaN where a method has no probabilities of all classes."""
    right = (found.predicted == labels).astype(np.uint8)
    rows = found.top, found.predicted, labels
    errors = [
        assess.top_label_ece(*rows),
        bootstrap(found, labels, n_draws),
        assess.top_label_ece(*rows, grouping="uniform-mass"),
        assess.ece(found.top, right, n_bins=15, grouping="uniform-mass"),
    ]
    top = [assess.brier_score(found.top, right), assess.log_loss(found.top, right)]
    every = [float("nan")] * 4
    if found.matrix is not None:
        sums_to_one = bool(np.abs(found.matrix.sum(axis=1) - 1.0).max() < 1e-6)
        every = [
            assess.class_wise_ece(found.matrix, labels),
            float((found.matrix.argmax(axis=1) == labels).mean()),
            assess.multiclass_brier(found.matrix, labels),
            assess.multiclass_log_loss(found.matrix, labels) if sums_to_one else float("nan"),
        ]
    else:
        every[1] = float(right.mean())
    return [*errors, *top, *every]


COLUMNS = (
    "top-label ECE",
    "s.d.",
    "15 a class",
    "15 in all",
    "top Brier",
    "top loss",
    "class-wise",
    "accuracy",
    "Brier",
    "loss",
)


def promises() -> Iterator[str]:
    """The joint certificate of each of our fits, and that of one radius before any label was seen."""
    for name, estimator in OURS.items():
        if getattr(estimator, "normalize", False):
            yield f"{name}: normalized probabilities have no certificate."
            continue
        yield f"{name}: {estimator.certificate(0.1)}"
        if estimator.calibrator is None:
            yield f"    a-priori: epsilon {estimator.certificate(0.1, bound='a-priori').epsilon:.4f}"


def versions() -> str:
    """Of what was compared."""
    found = []
    for name in ("fastbin", "numpy", "scipy", "scikit-learn", "mapie"):
        try:
            found.append(f"{name} {fb.__version__ if name == 'fastbin' else version(name)}")
        except ModuleNotFoundError:
            found.append(f"no {name}")
    return ", ".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get(DATA_VARIABLE), help="the folder with the logits")
    parser.add_argument("--bootstrap", type=int, default=N_BOOTSTRAP, help="draws of the test rows")
    arguments = parser.parse_args()
    if arguments.data is None or not (Path(arguments.data) / FILE).is_file():
        where = "no data folder" if arguments.data is None else f"{FILE} is not in {arguments.data}"
        print(f"skipped: {where} (--data FOLDER, or {DATA_VARIABLE})")
        return
    calibration, test = read_rows(Path(arguments.data) / FILE)
    print("Gupta & Ramdas 2022, top-label calibration on CIFAR-10, ResNet-50")
    print(f"{len(calibration.labels):,} rows to calibrate on, {len(test.labels):,} to test on; {versions()}\n")
    print(f"{'':28}" + "".join(f"{column:>14}" for column in COLUMNS))
    for name, predictions in methods():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of others, about deprecated arguments, and ours, about bins that ties left out
            found = predictions(calibration, test)
        numbers = measure(found, test.labels, arguments.bootstrap)
        print(f"{name:28}" + "".join(f"{'' if np.isnan(number) else format(number, '.4f'):>14}" for number in numbers))
    print(f"\nThe authors' code: {', '.join(f'{name} {value}' for name, value in AUTHORS.items())}.\n")
    print("\n".join(promises()))
    print(LEGEND)


LEGEND = """
top-label ECE: by the definition of the authors, for each predicted class: each distinct value where there are at most n_c / 10
of them, else 15 bins of equal mass; weighted by the shares of the classes. s.d.: its standard deviation over bootstrap draws of
the test rows. 15 a class: 15 bins of equal mass in each predicted class. 15 in all: the ECE of the confidence, in 15 bins of
equal mass over all rows. top Brier, top loss: of the probability that the predicted class is the true one; the loss is infinite
where a bin says 1 and was wrong once. class-wise, Brier, loss: of the probabilities of all classes, where a method has them
(the loss where they sum to 1). accuracy: of the largest probability. Certificates are those of the fits above; those known
before the labels are "a-priori", and a choice between the two after looking at them would cost alpha."""


if __name__ == "__main__":
    main()
