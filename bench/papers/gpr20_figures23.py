"""Gupta, Podkopaev & Ramdas 2020, Appendix D.4, Figures 2 and 3: calibration under covariate shift, ours beside the paper's.

    python bench/papers/gpr20_figures23.py --seeds 20 > bench/papers/results/gpr20_figures23.txt

Source features are uniform on the unit cube, target features Beta(2, 1) in each coordinate, so the true weight is 8 x1 x2 x3,
and P(Y = 1 | x) = (1 + sin(20 |x|^2)) / 2. A random forest of 100 trees is recalibrated by 10 uniform-mass bins on the source:
without weights, with weights that uLSIF estimates from unlabelled rows (equation (22)), and with bin masses counted apart
(equation (47)). The paper shows one draw. About half a minute a seed: the forest, and uLSIF's choice of width and penalty.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.ensemble import RandomForestClassifier

import fastbin as fb
from fastbin.assess import ece
from fastbin.shift import ULSIF, ImportanceWeightedBinning

N_TRAIN, N_QUANTILES, N_CALIBRATION, N_WEIGHTS, N_TEST = 14_700, 1940, 7840, 2000, 28_000
N_MASS_SOURCE, N_MASS_TARGET = 8500, 8000  # for equation (47)
N_BINS = 10

PAPER = {
    "random forest": 0.023,
    "unweighted bins": 0.047,
    "weighted bins (22)": 0.017,
    "counted masses (47)": 0.05,
    "weighted bins (22), true weights": None,
    "counted masses (47), true weights": None,
}

Float64s = npt.NDArray[np.float64]


def draw(n: int, rng: np.random.Generator, *, target: bool) -> Float64s:
    """n rows of features."""
    return rng.beta(2.0, 1.0, (n, 3)) if target else rng.random((n, 3))


def draw_labels(features: Float64s, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Labels given features: the same law at source and target."""
    return rng.random(features.shape[0]) < 0.5 * (1.0 + np.sin(20.0 * (features**2).sum(axis=1)))


def true_weights(features: Float64s) -> Float64s:
    """The density ratio target / source."""
    return np.asarray(8.0 * features.prod(axis=1))


def run(seed: int) -> tuple[dict[str, float], ULSIF, int]:
    """The ECE of every method in one draw of everything, the fitted uLSIF, and how many values of (47) passed 1."""
    rng = np.random.default_rng([2020, seed])
    train = draw(N_TRAIN, rng, target=False)
    forest = RandomForestClassifier(100, random_state=seed, n_jobs=1).fit(train, draw_labels(train, rng))

    def score(features: Float64s) -> Float64s:
        return np.asarray(forest.predict_proba(features)[:, 1])

    n = N_QUANTILES + N_CALIBRATION
    features = draw(n, rng, target=False)
    scores, labels = score(features), draw_labels(features, rng)
    settings = {"n_bins": N_BINS, "scheme": "ums", "split": (N_QUANTILES + 0.5) / n, "seed": seed}

    unweighted = fb.UniformMassBinning(**settings).fit(scores, labels)
    weighted = ImportanceWeightedBinning(**settings).fit_to_target(
        scores, labels, features, draw(N_WEIGHTS, rng, target=True), source_features=draw(N_WEIGHTS, rng, target=False),
        importance=ULSIF(seed=seed),
    )  # fmt: skip
    estimated = weighted.importance_.weights(features)
    unlabelled = {
        "source_scores": score(draw(N_MASS_SOURCE, rng, target=False)),
        "target_scores": score(draw(N_MASS_TARGET, rng, target=True)),
    }
    with_truth = ImportanceWeightedBinning(**settings).fit(scores, labels, true_weights(features))
    with warnings.catch_warnings():  # values above 1 are counted below
        warnings.simplefilter("ignore", UserWarning)
        counted, counted_with_truth = (
            ImportanceWeightedBinning(**settings, estimator="counted-mass").fit(scores, labels, weights, **unlabelled)
            for weights in (estimated, true_weights(features))
        )

    test = draw(N_TEST, rng, target=True)
    test_scores, test_labels = score(test), draw_labels(test, rng)
    predictions = [
        test_scores,
        *(cal.predict(test_scores, seed=seed) for cal in (unweighted, weighted, counted, with_truth, counted_with_truth)),
    ]
    errors = [ece(prediction, test_labels, grouping="fixed-width", n_bins=N_BINS) for prediction in predictions]
    return dict(zip(PAPER, errors, strict=True)), weighted.importance_, int((counted.estimates_ > 1.0).sum())


DEVIATIONS = """
Deviations. The paper's four numbers, one draw each, lie within the range of ours. Its forest, 0.023, is at the upper end, two
standard deviations above the mean; so its finding that weighted bins beat the raw forest is not one on average: their mean
errors are equal. The rest holds on average: bins without weights are three times worse than with them, and (47) is worse than
(22). True weights do not improve (22), so what error is left there comes from 7,840 samples and 10 bins; they do improve (47),
where errors of the weights and of the counted masses do not cancel. Readings of the appendix: its grids have lost their
exponents and are taken as 10^-2 ... 10^2 for sigma and 10^-3 ... 10^3 for lambda; the forest's scores are multiples of
0.01, and ties at bin boundaries, on which it is silent, are split at random."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=20)
    arguments = parser.parse_args()
    runs = []
    for seed in range(arguments.seeds):
        runs.append(run(seed))
        print(f"seed {seed + 1} of {arguments.seeds}", file=sys.stderr)
    errors, ulsifs, n_above = zip(*runs, strict=True)

    print(f"Gupta, Podkopaev & Ramdas 2020, Figures 2 and 3 (fastbin {fb.__version__}, scikit-learn {sklearn.__version__})")
    print(f"ECE on {N_TEST} target samples, 10 fixed-width bins; {arguments.seeds} independent draws of everything\n")
    print(f"{'':36}{'mean':>8}{'sd':>8}{'min':>8}{'max':>8}{'paper':>8}")
    for method, told in PAPER.items():
        ours = np.array([error[method] for error in errors])
        spread = ours.std(ddof=1) if ours.size > 1 else 0.0
        paper = f"{told:>8.3f}" if told is not None else f"{'':>8}"
        print(f"{method:36}{ours.mean():>8.4f}{spread:>8.4f}{ours.min():>8.4f}{ours.max():>8.4f}{paper}")
    better = sum(error["weighted bins (22)"] < error["random forest"] for error in errors)
    print(f"\nweighted bins beat the forest in {better} of {arguments.seeds} draws")
    print(f"{sum(n_above)} of {N_BINS * len(runs)} values of (47) passed 1 and were cut")
    for name, grid in (("sigma", [u.sigma_ for u in ulsifs]), ("lambda", [u.lambda_ for u in ulsifs])):
        print(f"chosen {name}: {min(grid):.3g} to {max(grid):.3g}")
    print(DEVIATIONS)


if __name__ == "__main__":
    main()
