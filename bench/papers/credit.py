"""The protocol of Gupta & Ramdas 2021, sections 2.2 and 4, on the CREDIT data (Yeh & Lien 2009; UCI data set 350).

30,000 rows, 23 features scaled to mean 0 and variance 1. Split A trains a logistic regression, split B Platt scaling, split C
is for calibration and test. 100 times, n rows of C are drawn for calibration and 5,000 others for the test.

The paper does not say what Platt scaling is fitted to. Its scaling-binning curves come out only when it is fitted to the
*probability* of the logistic regression, not to its logit, so that is done here.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

import fastbin as fb
from fastbin.assess import MeanValidityCurve, ValidityCurve, mean_validity_curve, validity_curve
from fastbin.binning.fixed_width import FixedWidthBinning
from fastbin.binning.isotonic import IsotonicCalibration
from fastbin.binning.scaling_binning import ScalingBinning
from fastbin.scaling import PlattScaling

__all__ = ["METHODS", "Curves", "Scored", "default_path", "read_credit", "score_credit", "study"]

N_BINS, N_TEST = 10, 5000
METHODS = ("UMD", "UMS", "fixed width", "isotonic", "scaling-binning")

Float64s = npt.NDArray[np.float64]
Labels = npt.NDArray[np.uint8]


def default_path() -> Path:
    """Where the data is looked for: in the directory FASTBIN_SHARED, or ../shared beside the repository."""
    shared = os.environ.get("FASTBIN_SHARED", Path(__file__).resolve().parents[3] / "shared")
    return Path(shared) / "data" / "credit.csv"


def read_credit(path: Path) -> tuple[Float64s, Labels]:
    """Scaled features (30000, 23) and labels, 1 for a default. The file has two lines of headers and a row number first."""
    if not path.is_file():
        sys.exit(f"{path} is not there; give --data FILE with the CREDIT data as CSV (UCI data set 350, label in the last column)")
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
    platt = PlattScaling().fit(regression.predict_proba(features[b])[:, 1], labels[b])
    return Scored(platt.predict(regression.predict_proba(features[c])[:, 1]), labels[c])


def fit(method: str, scores: Float64s, labels: Labels, seed: int) -> fb.BinnedModel:
    """One of the paper's methods, with its settings."""
    calibrator = {
        "UMD": lambda: fb.UniformMassBinning(N_BINS, seed=seed),
        "UMS": lambda: fb.UniformMassBinning(N_BINS, scheme="ums", split=0.5, seed=seed),
        "fixed width": lambda: FixedWidthBinning(N_BINS),
        "isotonic": lambda: IsotonicCalibration(),
        "scaling-binning": lambda: ScalingBinning(N_BINS, scaler="none", seed=seed),
    }[method]()
    return calibrator.fit(scores, labels).model_


@dataclass
class Curves:
    """The validity curves of one method at one n: of every draw, by base split."""

    by_split: dict[int, list[ValidityCurve]] = field(default_factory=lambda: defaultdict(list))

    def mean(self, split: int | None = None) -> MeanValidityCurve:
        """Marginal, over the draws of one base split or of all."""
        return mean_validity_curve(self._of(split))

    def conditional(self, split: int | None = None) -> MeanValidityCurve:
        """Conditional: the curve of one draw is a step at its largest gap."""
        return mean_validity_curve([ValidityCurve(curve.epsilons[-1:], np.ones(1)) for curve in self._of(split)])

    def _of(self, split: int | None) -> list[ValidityCurve]:
        return [curve for own, curves in self.by_split.items() if split in (None, own) for curve in curves]


def draws(n_rows: int, n: int, n_draws: int, seed: int) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Positions for calibration and for the test; the same draws for every method."""
    for draw in range(n_draws):
        order = np.random.default_rng([seed, n, draw]).permutation(n_rows)
        yield order[:n], order[n : n + N_TEST]


def study(
    base: Sequence[Scored], sizes: Sequence[int], methods: Sequence[str] = METHODS, n_draws: int = 100
) -> dict[tuple[str, int], Curves]:
    """Fit every method on every draw at every n, and assess it on the draw's test rows."""
    found: dict[tuple[str, int], Curves] = {(method, n): Curves() for n in sizes for method in methods}
    for split, scored in enumerate(base):
        for n in sizes:
            for draw, (own, test) in enumerate(draws(len(scored.labels), n, n_draws, split)):
                for method in methods:
                    model = fit(method, scored.scores[own], scored.labels[own], seed=draw)
                    values = model.predict(scored.scores[test], seed=draw)
                    curve = validity_curve(values, scored.labels[test], grouping="values")
                    found[method, n].by_split[split].append(curve)
    return found
