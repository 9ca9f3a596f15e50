"""How often the tests of given predictions contradict calibrated ones: the tables of docs/validation.md.

    cd tests; python -m simulation.calibration_levels             print them
    cd tests; python -m simulation.calibration_levels --write     put them into docs/validation.md, between its markers

fastbin must be installed. Takes some minutes at the default 1,000 sets of labels; tests of counts see 10,000.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from simulation.pages import DOCS, options, write

from fastbin.assess import cell_curves
from fastbin.assess.catalogue import CATALOGUE
from fastbin.assess.cell_curves import Blocks, cumulative, draw
from fastbin.assess.cell_tests import (
    Value,
    count_tests,
    deciles,
    hosmer_lemeshow,
    jeffreys,
    mean_difference,
    recalibration,
    spiegelhalter,
)
from fastbin.assess.prediction_cells import CellCounts
from fastbin.intervals.binomial import special_functions

PAGE = DOCS / "validation.md"
LEVEL, EXACT_RUNS = 0.05, 10_000
SIZES, RATES = (20, 100, 1000, 10_000), (1e-4, 0.01, 0.1, 0.5)

Tests = Callable[[CellCounts], dict[str, Value]]


def of_counts(cells: CellCounts) -> dict[str, Value]:
    """The tests that see the number of ones alone."""
    found = count_tests(cells, LEVEL)
    exact = "binomial" if len(cells.predictions) == 1 else "poisson_binomial"
    names = {exact: found.exact, f"{exact}_upper": found.upper, "mid_p": found.mid_p}
    return {**names, "jeffreys": jeffreys(cells, LEVEL), "mean_difference": mean_difference(cells, LEVEL)}


def of_cells(cells: CellCounts) -> dict[str, Value]:
    """The approximate tests that see every label."""
    fitted, strays = recalibration(cells, LEVEL), cumulative(cells, LEVEL)
    return {
        "hosmer_lemeshow_deciles": hosmer_lemeshow(*deciles(cells), 2),
        "spiegelhalter": spiegelhalter(cells),
        "calibration_in_the_large": fitted.in_the_large,
        "calibration_slope": fitted.slope,
        "cox": fitted.cox,
        "ecce": strays.kuiper,
        "ecce_max": strays.largest,
    }


def by_draws(cells: CellCounts) -> dict[str, Value]:
    """The exact tests by simulation."""
    drawn = draw(cells, Blocks.of(cells.counts, cells.ones), LEVEL)
    return {"mcb_brier": Value(p_value=drawn.miscalibration), "ecce_simulated": Value(p_value=drawn.kuiper)}


def one_prediction(n: int, rate: float) -> CellCounts:
    """A grade."""
    return CellCounts(np.array([rate]), np.array([n]), np.zeros(1, np.int64))


def many_predictions(n: int, rate: float) -> CellCounts:
    """A portfolio of different predictions around a rate, whose logits have standard deviation 0.8."""
    deviates = special_functions().ndtri((np.arange(n) + 0.5) / n)
    logits = np.log(rate / (1.0 - rate)) + 0.8 * deviates
    return CellCounts(1.0 / (1.0 + np.exp(-logits)), np.ones(n, np.int64), np.zeros(n, np.int64))


def rejected(cells: CellCounts, tests: Tests, runs: int, seed: int = 0) -> dict[str, tuple[float, float]]:
    """For each test the share of sets of calibrated labels with a p-value at most the level: of all, and with a warning."""
    rng = np.random.default_rng([seed, cells.n])
    found: dict[str, list[tuple[bool, bool]]] = {}
    known: dict[int, dict[str, Value]] = {}
    for _ in range(runs):
        ones = rng.binomial(cells.counts, cells.predictions)
        n_ones = int(ones.sum())
        values = known[n_ones] if tests is of_counts and n_ones in known else tests(cells._replace(ones=ones))
        known[n_ones] = values  # of which tests of counts see no more
        for name, value in values.items():
            is_small = value.p_value is not None and value.p_value <= LEVEL
            found.setdefault(name, []).append((is_small, bool(value.warning or value.reason)))
    shares = {name: np.array(pairs) for name, pairs in found.items()}
    return {name: (float(pairs[:, 0].mean()), float(pairs[:, 1].mean())) for name, pairs in shares.items()}


def _markdown(rows: dict[str, list[str]], heads: list[str]) -> str:
    lines = [["test", *heads], ["---"] * (1 + len(heads)), *([f"`{name}`", *cells] for name, cells in rows.items())]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def levels(runs: int, scope: Callable[[int, float], CellCounts], tests: Tests) -> str:
    """Levels by size and rate; in italics where at least half of the sets have a warning or no figure."""
    rows: dict[str, list[str]] = {}
    heads = []
    for n in SIZES:
        for rate in RATES:
            heads.append(f"{n:,} at {rate:g}")
            for name, (share, warned) in rejected(scope(n, rate), tests, runs).items():
                rows.setdefault(name, []).append(f"*{share:.3f}*" if warned >= 0.5 else f"{share:.3f}")
    return _markdown(rows, heads)


def simulated_levels(runs: int) -> str:
    """The levels of the tests by simulation, with 99 draws each."""
    rows: dict[str, list[str]] = {}
    kept, cell_curves.MOST_DRAWS = cell_curves.MOST_DRAWS, 99
    settings = [(n, rate) for n in (20, 100, 1000) for rate in (0.01, 0.1, 0.5)]
    try:
        for n, rate in settings:
            for name, (share, _) in rejected(many_predictions(n, rate), by_draws, runs).items():
                rows.setdefault(name, []).append(f"{share:.3f}")
    finally:
        cell_curves.MOST_DRAWS = kept
    return _markdown(rows, [f"{n:,} at {rate:g}" for n, rate in settings])


R, BOTH = "R (isoreg), scikit-learn", "R (glm), statsmodels"
REPRODUCED = {
    "binomial": "twice the smaller of R's two (binom.test)",
    "binomial_upper": "R (binom.test)",
    "poisson_binomial": "R (convolution), SciPy",
    "poisson_binomial_upper": "R (convolution), SciPy",
    "mid_p": "R (convolution)",
    "jeffreys": "12 ones of 400 at 0.02: 0.08307 (European Central Bank's formula)",
    "vasicek": "12 bounds of Pluto & Tasche 2005; 35 of 9,810 at 3.34 %, correlation 15 %: 0.95 (Windridge's calculator)",
    "mean_difference": "R",
    "hosmer_lemeshow_grades": "R",
    "hosmer_lemeshow_deciles": "4.5227 (manual of R's ResourceSelection)",
    "spiegelhalter": "1.06 and 1.22 (Rufibach 2010, Table 1)",
    "calibration_in_the_large": BOTH,
    "calibration_intercept": BOTH + ", rms",
    "calibration_slope": BOTH + ", rms",
    "cox": "R (glm, rms)",
    "ecce": "mean 1.5958 and variance 0.2261 of the range (Feller 1951)",
    "ecce_max": "95 % point 2.2414 of the law (Erdős & Kac 1946)",
    "ecce_simulated": "sums over all labels",
    "ecce_detectable": "simulation",
    "mcb_brier": R + "; p-value: sums over all labels",
    "dsc_brier": R,
    "unc_brier": R,
    "mcb_log": R,
    "dsc_log": R,
    "unc_log": R,
    "ici": R,
    "e50": "R (isoreg)",
    "e90": "R (isoreg)",
    "smooth_ece": "the integral; relplot to its three places",
    "auc": "0.7314, 0.6301 to 0.8326 (Robin et al. 2011, pROC)",
}


def catalogue() -> str:
    """The tests: name, what each asks, kind, assumptions, reference, and the published number or the independent program."""
    rows = {}
    for name, entry in CATALOGUE.items():
        rows[name] = [entry.asks, entry.kind, entry.assumes, entry.reference, REPRODUCED[name]]
    return _markdown(rows, ["asks", "kind", "assumes", "reference", "reproduces"])


def main() -> None:
    chosen = options(__doc__, "runs", 1000)
    tables = {
        "tests": catalogue(),
        "levels of counts": levels(EXACT_RUNS, one_prediction, of_counts),
        "levels of cells": levels(chosen.runs, many_predictions, of_cells),
        "levels by draws": simulated_levels(chosen.runs),
    }
    for name, text in tables.items():
        print(f"\n{name}\n\n{text}")
    if chosen.write:
        write(PAGE, tables)


if __name__ == "__main__":
    main()
