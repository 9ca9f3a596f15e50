"""Accept thresholds beside those of others, on laws whose truth is known: accepted share, and how often the promise is false.

    python bench/decisions.py --runs 1000           # 12 designs, a precision each, delta .1

Others: learn then test (Angelopoulos and others 2021) with exact p-values at 50 ranks under Bonferroni's bound, and MAPIE's
`BinaryClassificationController` where it is installed: its default (Bonferroni-Holm over 100 thresholds), and its sequence
from above with ten starts. Each gets the same rows; all figures are means over runs, and true shares.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.stats import binom

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tests")]

from machine import machine  # noqa: E402
from simulation.deciding import DELTA, DESIGNS, Design, falls_short  # noqa: E402

from fastbin.decide import accept_threshold  # noqa: E402

Contestant = Callable[[np.ndarray, np.ndarray, float], float]
RANKS = 50


def fastbin(scores: np.ndarray, labels: np.ndarray, target: float) -> float:
    return accept_threshold(scores, labels, precision=target, delta=DELTA).accept_above


def learn_then_test(scores: np.ndarray, labels: np.ndarray, target: float) -> float:
    """Cuts at ranks of the same rows, which count the rows above them; valid where the truth rises with the score."""
    order = np.argsort(-scores, kind="stable")
    cuts = np.unique(scores[order[np.arange(1, RANKS + 1) * len(scores) // RANKS - 1]])
    counts = np.array([(scores > cut).sum() for cut in cuts])
    sums = np.array([labels[scores > cut].sum() for cut in cuts])
    passed = (counts > 0) & (binom.sf(sums - 1, counts, target) <= DELTA / RANKS)
    return float(cuts[passed].min()) if passed.any() else np.inf


def mapie_contestants() -> dict[str, Contestant]:
    """Those of MAPIE; none where it is missing, which is said."""
    try:
        from mapie.risk_control import BinaryClassificationController
        from mapie.risk_control.fwer_control import FWERFixedSequenceTesting
    except ImportError as error:
        print(f"MAPIE is not compared: {error}")
        return {}

    def controlled(scores: np.ndarray, labels: np.ndarray, target: float, **options: object) -> float:
        controller = BinaryClassificationController(
            lambda rows: np.stack([1.0 - rows[:, 0], rows[:, 0]], axis=1), risk="precision", target_level=target,
            confidence_level=1.0 - DELTA, **options,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that no threshold is valid
            controller.calibrate(scores[:, np.newaxis], labels.astype(int))
        best = controller.best_predict_param
        return np.inf if best is None else float(np.nextafter(best, -1.0))  # MAPIE accepts the threshold itself

    def in_sequence(scores: np.ndarray, labels: np.ndarray, target: float) -> float:
        sequence = FWERFixedSequenceTesting(n_starts=10)
        return controlled(scores, labels, target, fwer_method=sequence, list_predict_params=np.linspace(0.99, 0.0, 100))

    return {"MAPIE": controlled, "MAPIE in sequence": in_sequence}


def figures(design: Design, contestant: Contestant, runs: int) -> tuple[float, float]:
    """The mean share that is accepted, and the share of runs in which its precision is below the target."""
    rng = np.random.default_rng(design.n)
    law = design.law()
    found = []
    for _ in range(runs):
        accepted, right = law.between(contestant(*design.draw(rng), design.target), np.inf)
        found.append((accepted, falls_short(right, design.target, accepted)))
    shares, broken = np.mean(found, axis=0)
    return float(shares), float(broken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    given = parser.parse_args()
    print(machine())
    contestants: dict[str, Contestant] = {"fastbin": fastbin, **mapie_contestants(), "Bonferroni": learn_then_test}
    print("| design | " + " | ".join(f"{name}: accepted, broken" for name in contestants) + " |")
    print("| --- " * (1 + len(contestants)) + "|")
    for name, design in DESIGNS.items():
        cells = [figures(design, contestant, given.runs) for contestant in contestants.values()]
        print(f"| {name} | " + " | ".join(f"{share:.3f}, {broken:.3f}" for share, broken in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
