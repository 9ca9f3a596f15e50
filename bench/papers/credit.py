"""The protocol of Gupta & Ramdas 2021, sections 2.2 and 4, on the CREDIT data (Yeh & Lien 2009; UCI data set 350).

30,000 rows, 23 features scaled to mean 0 and variance 1. Split A trains a logistic regression, split B Platt scaling, split C
is for calibration and test. 100 times, n rows of C are drawn for calibration and 5,000 others for the test.

The paper does not say what Platt scaling is fitted to. Its scaling-binning curves come out only when it is fitted to the
*probability* of the logistic regression, not to its logit, so that is done here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import fastbin as fb
from fastbin.assess import CertificateCheck, ValidityCurve, check_certificate, validity_curve
from fastbin.theory import MeanValidityCurve, mean_validity_curve

__all__ = ["METHODS", "N_BINS", "Results", "Scored", "check_umd", "default_path", "read_credit", "score_credit", "study"]

N_BINS, N_TEST = 10, 5000
METHODS = ("UMD", "UMS", "fixed width", "isotonic", "scaling-binning")

Float64s = npt.NDArray[np.float64]
Labels = npt.NDArray[np.uint8]
Plan = Mapping[int, Sequence[str]]  # which methods at which number of calibration rows
Found = dict[tuple[str, int], list[ValidityCurve]]  # by method and number of rows, one curve a draw


def default_path() -> Path:
    """The data among the tests."""
    return Path(__file__).resolve().parents[2] / "tests" / "data" / "credit.csv.gz"


@cache
def read_credit(path: Path) -> tuple[Float64s, Labels]:
    """Scaled features (30000, 23) and labels, 1 for a default. The file has two lines of headers and a row number first."""
    if not path.is_file():
        sys.exit(f"{path} is not there; give --data FILE, the CREDIT data as CSV (UCI data set 350, label in the last column)")
    table = np.loadtxt(path, delimiter=",", skiprows=2)[:, 1:]
    features, labels = table[:, :-1], table[:, -1].astype(np.uint8)
    return (features - features.mean(axis=0)) / features.std(axis=0), labels


@dataclass(frozen=True)
class Scored:
    """Split C under one random split of the rows: Platt-scaled probabilities and labels."""

    scores: Float64s
    labels: Labels


def score_credit(features: Float64s, labels: Labels, seed: int, sizes: tuple[int, int] = (10_000, 5000)) -> Scored:
    """Split the rows at random, train on A and B, and score the rest, C."""
    from sklearn.linear_model import LogisticRegression

    order = np.random.default_rng([2021, seed]).permutation(len(labels))
    a, b, c = np.split(order, np.cumsum(sizes))
    regression = LogisticRegression(max_iter=2000).fit(features[a], labels[a])
    platt = fb.PlattScaling().fit(regression.predict_proba(features[b])[:, 1], labels[b])
    return Scored(platt.predict(regression.predict_proba(features[c])[:, 1]), labels[c])


def fit(method: str, scores: Float64s, labels: Labels, seed: int) -> fb.BinnedModel:
    """One of the paper's methods, with its settings."""
    calibrator = {
        "UMD": lambda: fb.UniformMassBinning(N_BINS, seed=seed),
        "UMS": lambda: fb.UniformMassBinning(N_BINS, scheme="ums", split=0.5, seed=seed),
        "fixed width": lambda: fb.FixedWidthBinning(N_BINS),
        "isotonic": lambda: fb.IsotonicCalibration(),
        "scaling-binning": lambda: fb.ScalingBinning(N_BINS, scaler="none", seed=seed),
    }[method]()
    return calibrator.fit(scores, labels).model_


def draws(n_rows: int, n: int, n_draws: int, seed: int) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Positions for calibration and for the test; the same draws for every method."""
    for draw in range(n_draws):
        order = np.random.default_rng([seed, n, draw]).permutation(n_rows)
        yield order[:n], order[n : n + N_TEST]


def study(scored: Scored, plan: Plan, n_draws: int, seed: int) -> Found:
    """Fit every method of the plan on every draw at its sizes, and assess it on the test rows of the draw."""
    found: Found = {(method, n): [] for n, methods in plan.items() for method in methods}
    for n, methods in plan.items():
        for draw, (own, test) in enumerate(draws(len(scored.labels), n, n_draws, seed)):
            for method in methods:
                model = fit(method, scored.scores[own], scored.labels[own], seed=draw)
                values = model.predict(scored.scores[test], seed=draw)
                found[method, n].append(validity_curve(values, scored.labels[test], grouping="values"))
    return found


def check_umd(scored: Scored, sizes: Sequence[int], n_draws: int, seed: int) -> list[tuple[int, CertificateCheck]]:
    """What the 5,000 test rows of the first draws say about UMD's own certificates, by number of calibration rows."""
    checks = []
    for n in sizes:
        for draw, (own, test) in enumerate(draws(len(scored.labels), n, n_draws, seed)):
            model = fit("UMD", scored.scores[own], scored.labels[own], seed=draw)
            checks.append((n, check_certificate(model, scored.scores[test], scored.labels[test])))
    return checks


class Results:
    """The curves of all draws over all base splits, as functions of method, n and epsilon."""

    def __init__(self, by_split: Sequence[Found]) -> None:
        self.by_split = list(by_split)
        self._means: dict[tuple[str, int, bool, int | None], MeanValidityCurve] = {}

    @property
    def splits(self) -> range:
        return range(len(self.by_split))

    @property
    def sizes(self) -> list[int]:
        return sorted({n for _, n in self.by_split[0]})

    def curve(self, method: str, n: int, *, conditional: bool = False, split: int | None = None) -> MeanValidityCurve:
        """The mean curve over the draws of one base split, or of all."""
        key = method, n, conditional, split
        if key not in self._means:
            chosen = self.by_split if split is None else [self.by_split[split]]
            curves = [curve for found in chosen for curve in found[method, n]]
            if conditional:  # of one draw, a step at its largest gap
                curves = [ValidityCurve(curve.epsilons[-1:], np.ones(1)) for curve in curves]
            self._means[key] = mean_validity_curve(curves)
        return self._means[key]

    def validity(self, method: str, n: int, epsilon: Any, *, conditional: bool = False, split: int | None = None) -> Any:
        """The mean validity at epsilon, a number or an array."""
        return self.curve(method, n, conditional=conditional, split=split)(epsilon)

    def span(self, method: str, n: int, epsilon: float, *, conditional: bool = False) -> tuple[float, float]:
        """The smallest and the largest mean of a base split."""
        means = [self.validity(method, n, epsilon, conditional=conditional, split=split) for split in self.splits]
        return min(means), max(means)
