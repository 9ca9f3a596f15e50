"""What the default takes from the order of scores: ``python -m bench.calarena.ranks --data FOLDER``.

The AUC of the raw scores of the test rows less that of `CertifiedCalibration`'s probabilities, as the mean of five draws; a
line for each number of calibration rows, with the set that loses most.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

import fastbin as fb
from bench.calarena.cells import quiet
from bench.calarena.score_sets import DATA_VARIABLE, ScoreSet, catalogue, default_folder, draws, n_calibration

SIZES = (60, 100, 200, 500, 1000)
REPEATS = 5


def _losses(score_set: ScoreSet, n: int) -> Iterator[float]:
    for repeat in range(REPEATS):
        own, test = draws(len(score_set.labels), n, repeat)
        scores, labels = score_set.scores[test], score_set.labels[test]
        if labels.min() == labels.max():
            continue
        with quiet():
            model = fb.CertifiedCalibration(seed=repeat).fit(score_set.scores[own], score_set.labels[own]).model_
        yield roc_auc_score(labels, scores) - roc_auc_score(labels, model.predict(scores))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.calarena.ranks", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data",
        type=Path,
        metavar="FOLDER",
        default=default_folder(),
        help=f"as of bench.calarena (default: {DATA_VARIABLE})",
    )
    parser.add_argument("--sets", nargs="+", metavar="PART", help="score sets with one of these in their names (default: all)")
    given = parser.parse_args(argv)
    lost: dict[int, dict[str, float]] = {n: {} for n in SIZES}
    for name, load in catalogue(given.data, given.sets).items():
        score_set = load()
        for n in SIZES:
            if n < n_calibration(len(score_set.labels)):
                lost[n][name] = float(np.mean([*_losses(score_set, n)]))
    for n, of_sets in lost.items():
        if of_sets:
            worst = max(of_sets, key=lambda name: of_sets[name])
            mean = np.mean([*of_sets.values()])
            print(f"n = {n:,}: {len(of_sets)} sets lose {mean:.5f} of AUC on average, {worst} most: {of_sets[worst]:.5f}")


if __name__ == "__main__":
    main()
