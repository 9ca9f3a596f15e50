"""The score sets: what classifiers and forecasters said, on rows that they were not trained on, and what was true.

CREDIT ships with the tests and the rest of the tabular sets with scikit-learn; each is split at random, one part trains a
classifier of each kind, and the others are scored. Files in a data folder add published forecasts, deciles with many ties and
the outputs of a neural network. A file that is not there is named, and its sets are left out. The matrices have the
probabilities of all classes in their rows.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.papers.credit import default_path, read_credit

__all__ = [
    "ALL",
    "DATA_VARIABLE",
    "MATRIX_SIZES",
    "SIZES",
    "ScoreSet",
    "capped_sizes",
    "catalogue",
    "chooses_constants",
    "default_folder",
    "draws",
    "matrices",
    "missing_files",
    "n_calibration",
    "sizes_of",
]

Float64s = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]
UInt8s = npt.NDArray[np.uint8]

DATA_VARIABLE = "FASTBIN_BENCH_DATA"
ALL = 0  # the size "all rows that are not for the test"
SIZES = (60, 100, 200, 500, 1000, 2000, 8000, ALL)
MATRIX_SIZES = (300, 1000, 5000)
SEED = 2026

CREDIT_TRAINING = 10_000
# Shares of the rows that train. Digits are many and easy, so that a quarter is enough; the smaller sets need more.
TRAINING_SHARES = {"breast cancer": 1 / 3, "diabetes": 1 / 3, "digits": 1 / 4, "wine": 1 / 3}
TRAINING_SHARES |= {"credit education": 1 / 10, "credit age": 1 / 10}
TRAINING_SHARES |= {f"made {k}": 1 / 6 for k in (3, 5, 10, 26)}

# The kinds of classifiers; every digit against the rest for some of them, three digits for the others.
KINDS = ("forest", "boosting", "logistic", "extra trees", "adaboost", "neural network", "neighbours", "naive Bayes")
OF_ALL_DIGITS, SOME_DIGITS = KINDS[:3], (1, 3, 8)

# The classifiers of each matrix.
MATRIX_KINDS = {
    "digits": ("forest", "logistic", "naive Bayes"),
    "wine": ("forest", "naive Bayes"),
    "credit education": ("forest", "boosting", "neural network"),
    "credit age": ("boosting", "naive Bayes"),
    "made 3": ("logistic", "forest", "neighbours"),
    "made 5": ("boosting", "neural network", "naive Bayes"),
    "made 10": ("forest", "neighbours", "logistic"),
    "made 26": ("forest", "neural network"),
}
# Made by chance, with labels that are wrong at times.
MADE_ROWS, MADE_FEATURES, MADE_NOISE = 12_000, 30, 0.1
EDUCATION, AGE = 2, 4  # columns of CREDIT that are classes to be predicted from the others

CIFAR_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
ANIMALS = (2, 3, 4, 5, 6, 7)


@dataclass(frozen=True)
class ScoreSet:
    """Scores in [0, 1] of rows that nothing was trained on, with their labels; or probabilities of k classes, with the classes.

    Attributes
    ----------
    name : str
        Such as "credit forest".
    family : str
        Where it is from; sets of one family share rows, so that their results are not independent.
    scores : ndarray of float64, shape (n,) or (n, k)
    labels : ndarray of uint8, shape (n,)
    """

    name: str
    family: str
    scores: Float64s
    labels: UInt8s


Loader = Callable[[], ScoreSet]


def default_folder() -> Path | None:
    """The data folder that the environment names, if it names one."""
    named = os.environ.get(DATA_VARIABLE)
    return Path(named) if named else None


# ------------------------------------------------------------------------------------------------- classifiers


def classifiers() -> dict[str, Callable[[], Any]]:
    """Eight families, each as people use it: scores with many ties, few and none, too sure and not sure enough."""
    from sklearn.ensemble import (
        AdaBoostClassifier,
        ExtraTreesClassifier,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
    )
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return {
        "forest": lambda: RandomForestClassifier(n_estimators=200, random_state=SEED),
        "boosting": lambda: HistGradientBoostingClassifier(random_state=SEED),
        "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000)),
        "extra trees": lambda: ExtraTreesClassifier(n_estimators=200, random_state=SEED),
        "adaboost": lambda: AdaBoostClassifier(random_state=SEED),
        "neural network": lambda: make_pipeline(StandardScaler(), MLPClassifier(max_iter=500, random_state=SEED)),
        "neighbours": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(20)),
        "naive Bayes": lambda: GaussianNB(),
    }


def _table(family: str) -> tuple[Float64s, Int64s]:
    """Features and classes of a tabular data set."""
    from sklearn import datasets

    if family.startswith("made "):
        return _made(int(family.removeprefix("made ")))
    if family in ("credit education", "credit age"):
        return _credit_classes(family)
    if family == "credit":
        features, labels = read_credit(default_path())
        return features, labels.astype(np.int64)
    if family == "diabetes":  # a measure of progress; the question is whether it lies above the median
        features, target = datasets.load_diabetes(return_X_y=True)
        return features, (target > np.median(target)).astype(np.int64)
    load = {"breast cancer": datasets.load_breast_cancer, "digits": datasets.load_digits, "wine": datasets.load_wine}[family]
    features, classes = load(return_X_y=True)
    return features, classes.astype(np.int64)


def _made(k: int) -> tuple[Float64s, Int64s]:
    """Features and k classes; the more classes, the farther apart, so that errors do not become nearly all."""
    from sklearn.datasets import make_classification

    features, classes = make_classification(
        MADE_ROWS, MADE_FEATURES, n_informative=12, n_redundant=6, n_classes=k, n_clusters_per_class=2 if k <= 10 else 1,
        flip_y=MADE_NOISE, class_sep=0.7 + 0.03 * k, random_state=SEED + k,
    )  # fmt: skip
    return features, classes.astype(np.int64)


def _credit_classes(family: str) -> tuple[Float64s, Int64s]:
    """Education in four classes, the last of all that are rare; or age in six of about equal size."""
    features, _ = read_credit(default_path())
    column = EDUCATION if family == "credit education" else AGE
    given = features[:, column]
    if column == AGE:
        classes = np.digitize(given, np.quantile(given, np.arange(1, 6) / 6))
    else:
        codes = np.unique(given, return_inverse=True)[1]
        classes = np.where((codes >= 1) & (codes <= 3), codes - 1, 3)
    return np.delete(features, column, axis=1), classes.astype(np.int64)


@cache
def _scored(family: str, kind: str) -> tuple[Float64s, Int64s]:
    """Probabilities (n, k) of the rows that did not train, and their classes."""
    from threadpoolctl import threadpool_limits

    features, classes = _table(family)
    n_training = CREDIT_TRAINING if family == "credit" else round(TRAINING_SHARES[family] * len(classes))
    order = np.random.default_rng([SEED, len(classes)]).permutation(len(classes))
    training, rest = order[:n_training], order[n_training:]
    with threadpool_limits(1):  # threads that wait for each other take a minute for the boosted trees of digits
        model = classifiers()[kind]().fit(features[training], classes[training])
        probabilities = np.clip(np.asarray(model.predict_proba(features[rest]), dtype=np.float64), 0.0, 1.0)
    return probabilities, classes[rest]


def _tabular(name: str, family: str, kind: str, label: int) -> ScoreSet:
    """The probability of one class, and whether it was that class."""
    probabilities, classes = _scored(family, kind)
    return ScoreSet(name, family, np.ascontiguousarray(probabilities[:, label]), (classes == label).astype(np.uint8))


def _tabular_sets() -> Iterator[tuple[str, Loader]]:
    classes = {"credit": (1,), "breast cancer": (1,), "diabetes": (1,), "digits": range(10), "wine": range(3)}
    for family, labels in classes.items():
        for kind in KINDS:
            for label in labels if family != "digits" or kind in OF_ALL_DIGITS else SOME_DIGITS:
                name = f"{family} {kind}" if len(labels) == 1 else f"{family} {label} {kind}"
                yield name, partial(_tabular, name, family, kind, label)


# ------------------------------------------------------------------------------------------------- files


def _read_csv(path: Path, *columns: str) -> list[npt.NDArray[np.str_]]:
    """Columns of a small CSV file with one line of names, as text."""
    table = np.loadtxt(path, delimiter=",", dtype=str, ndmin=2)
    names = table[0].tolist()
    return [table[1:, names.index(column)] for column in columns]


@cache
def _forecasts(path: Path) -> dict[str, tuple[Float64s, UInt8s]]:
    sets, scores, labels = _read_csv(path, "set", "score", "label")
    values, ones = scores.astype(np.float64), labels.astype(np.uint8)
    return {name: (values[sets == name], ones[sets == name]) for name in sorted(set(sets.tolist()))}


def _forecast(path: Path, key: str, name: str) -> ScoreSet:
    scores, labels = _forecasts(path)[key]
    return ScoreSet(name, f"forecasts {key}", scores, labels)


def _compas(path: Path) -> ScoreSet:
    """Deciles are ranks, not probabilities: the middle of each stands for it, so 'raw' is out of scale here."""
    deciles, labels = _read_csv(path, "score", "label")
    return ScoreSet("compas", "compas", (deciles.astype(np.float64) - 0.5) / 10.0, labels.astype(np.uint8))


@cache
def _cifar(path: Path) -> tuple[Float64s, Int64s]:
    """Softmax (15000, 10) of both parts of the file, which the network has not seen in training, and the classes."""
    with np.load(path) as file:
        logits = np.concatenate([file["calibration_logits"], file["test_logits"]]).astype(np.float64)
        classes = np.concatenate([file["calibration_labels"], file["test_labels"]]).astype(np.int64)
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True), classes


def _cifar_set(path: Path, name: str, wanted: str) -> ScoreSet:
    probabilities, classes = _cifar(path)
    if wanted == "top":
        top = probabilities.argmax(axis=1)
        scores, labels = probabilities.max(axis=1), top == classes
    else:
        members = ANIMALS if wanted == "animal" else (CIFAR_CLASSES.index(wanted),)
        scores, labels = probabilities[:, members].sum(axis=1), np.isin(classes, members)
    return ScoreSet(name, "cifar10", np.clip(scores, 0.0, 1.0), labels.astype(np.uint8))


def _file_sets(folder: Path) -> Iterator[tuple[str, Loader]]:
    """The sets of the files that are in the folder."""
    forecasts, compas, cifar = (folder / name for name in ("forecasts.csv", "compas.csv", "cifar10_resnet50.npz"))
    if forecasts.is_file():
        for key in _forecasts(forecasts):
            name = key.replace("_", " ")
            yield name, partial(_forecast, forecasts, key, name)
    if compas.is_file():
        yield "compas", partial(_compas, compas)
    if cifar.is_file():
        for wanted in ("top", *CIFAR_CLASSES, "animal"):
            yield f"cifar10 {wanted}", partial(_cifar_set, cifar, f"cifar10 {wanted}", wanted)


def missing_files(folder: Path | None) -> list[str]:
    """The files whose sets are left out, as sentences."""
    wanted = ("forecasts.csv", "compas.csv", "cifar10_resnet50.npz")
    if folder is None:
        return [f"no data folder: {', '.join(wanted)} are left out (--data FOLDER, or {DATA_VARIABLE})"]
    return [f"{name} is not in {folder}: its score sets are left out" for name in wanted if not (folder / name).is_file()]


def catalogue(folder: Path | None = None, names: Sequence[str] | None = None) -> dict[str, Loader]:
    """Every score set by its name, to be loaded (and its classifier trained) by a call; with `names`, those it contains.

    A name of the catalogue is chosen by any part of it: "digits" takes all thirty, "credit forest" one.
    """
    found = dict(_tabular_sets())
    if folder is not None:
        found.update(_file_sets(folder))
    return _named(found, names)


def _named(found: dict[str, Loader], names: Sequence[str] | None) -> dict[str, Loader]:
    """Those that have one of the parts in their names."""
    if names is None:
        return found
    unknown = [part for part in names if not any(part in name for name in found)]
    if unknown:
        raise ValueError(f"no score set has {unknown[0]!r} in its name; there are {', '.join(found)}")
    return {name: load for name, load in found.items() if any(part in name for part in names)}


def matrices(folder: Path | None = None, names: Sequence[str] | None = None) -> dict[str, Loader]:
    """Every matrix of probabilities by its name, as `catalogue` has the score sets."""
    found: dict[str, Loader] = {
        f"{family} {kind}": partial(_matrix, family, kind) for family, kinds in MATRIX_KINDS.items() for kind in kinds
    }
    cifar = None if folder is None else folder / "cifar10_resnet50.npz"
    if cifar is not None and cifar.is_file():
        found["cifar10 softmax"] = lambda: _whole("cifar10 softmax", "cifar10", *_cifar(cifar))
    return _named(found, names)


def _matrix(family: str, kind: str) -> ScoreSet:
    return _whole(f"{family} {kind}", family, *_scored(family, kind))


def _whole(name: str, family: str, probabilities: Float64s, classes: Int64s) -> ScoreSet:
    return ScoreSet(name, family, probabilities, classes.astype(np.uint8))


def chooses_constants(name: str) -> bool:
    """Whether constants of fastbin are chosen on this set: about every second, by its name; the others say their worth."""
    return zlib.crc32(name.encode()) % 2 == 0


# ------------------------------------------------------------------------------------------------- draws


def n_calibration(n_rows: int) -> int:
    """Rows that are not for the test: two thirds."""
    return n_rows - n_rows // 3


def sizes_of(n_rows: int, sizes: Sequence[int] = SIZES) -> list[int]:
    """The sizes that fit, with "all" as the number of rows that it means."""
    largest = n_calibration(n_rows)
    return sorted({size if size != ALL else largest for size in sizes if size < largest})


def capped_sizes(n_rows: int, sizes: Sequence[int] = MATRIX_SIZES) -> list[int]:
    """The sizes, each at most the rows that are not for the test."""
    largest = n_calibration(n_rows)
    return sorted({largest if size == ALL else min(size, largest) for size in sizes})


def draws(n_rows: int, n: int, repeat: int) -> tuple[Int64s, Int64s]:
    """Positions of n rows for calibration, and of a third of all for the test; the test rows of a repeat serve all sizes."""
    order = np.random.default_rng([SEED, n_rows, repeat]).permutation(n_rows)
    n_test = n_rows // 3
    if n > n_rows - n_test:
        raise ValueError(f"n is {n}, and {n_rows} rows leave {n_rows - n_test} for calibration")
    return order[n_test : n_test + n], order[:n_test]
