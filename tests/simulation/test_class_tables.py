"""Tables of several classes against known truth: their intervals all at once, and the level of their errors by chance.

`pytest tests/simulation/test_class_tables.py -m slow -rP` prints the shares of missed tables at full size.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from simulation.failures import assert_at_most, sizes

from fastbin import assess

K = 5
PREDICTORS = {
    "soft": lambda rng, n: rng.dirichlet(np.full(K, 1.0), n),
    "sharp": lambda rng, n: rng.dirichlet(np.full(K, 0.1), n),
    "rare": lambda rng, n: rng.dirichlet([5.0, 3.0, 0.1, 0.05, 0.02], n),
    "six rows": lambda rng, n: rng.dirichlet(np.full(K, 0.5), 6)[rng.integers(0, 6, n)],
}


def draw(rng: np.random.Generator, truth: Any) -> Any:
    return np.minimum((np.cumsum(truth, axis=1) < rng.random((len(truth), 1))).sum(axis=1), K - 1)


def rates_of(table: assess.ReliabilityTable, P: Any, truth: Any) -> Any:
    """The average of the true probabilities in each row of a table."""
    named, found = P.argmax(axis=1), []
    own = {"top-label": lambda j: named == j}.get(str(table.multiclass), lambda _: np.full(len(P), True))
    for j, part in (table.parts or {}).items():
        rows = own(j)
        if part.predicted is not None:
            found += [truth[named == key, j].mean() for key in part.predicted]
        else:
            values = P[rows].max(axis=1) if table.multiclass == "top-label" else P[:, j]
            bins = np.searchsorted(part.lower[1:], values, side="right")
            found += [truth[rows, j][bins == b].mean() for b in range(len(part.counts))]
    return np.array(found)


@pytest.mark.parametrize("multiclass", ["class-wise", "top-label", "confusion"])
@pytest.mark.parametrize(("n", "runs"), sizes((300, 60), (1000, 1000)))
def test_all_intervals_hold_at_once(multiclass: str, n: int, runs: int) -> None:
    """The truth is not the prediction: it is drawn towards the first class."""
    for name, predictor in PREDICTORS.items():
        rng, missed = np.random.default_rng(5), 0
        for _ in range(runs):
            P = predictor(rng, n)
            truth = 0.8 * P + 0.2 * np.eye(K)[0]
            table = assess.reliability_table(P, draw(rng, truth), multiclass=multiclass, n_bins=6, alpha=0.1)
            rates = rates_of(table, P, truth)
            assert table.intervals is not None
            # Means of equal doubles may differ in their last bits.
            missed += bool(((rates < table.intervals[:, 0] - 1e-12) | (rates > table.intervals[:, 1] + 1e-12)).any())
        print(f"{multiclass:10} {name:8} n {n:5,}: missed in {missed / runs:.3f} of {runs:,} tables")
        assert_at_most(missed, runs)


@pytest.mark.parametrize("name", PREDICTORS)
@pytest.mark.parametrize(("n", "runs"), sizes((400, 150), (4000, 600)))
def test_the_level_by_chance_is_that_of_drawn_labels(name: str, n: int, runs: int) -> None:
    rng = np.random.default_rng(6)
    P = PREDICTORS[name](rng, n)
    labels, named, top = draw(rng, P), P.argmax(axis=1), P.max(axis=1)
    wise, by_top, confusion = (
        assess.reliability_table(P, labels, multiclass=multiclass, alpha=None).chance_level
        for multiclass in ("class-wise", "top-label", "confusion")
    )
    assert wise is not None
    assert by_top is not None
    assert confusion is not None
    errors = np.empty((runs, 3))
    for run in range(runs):
        drawn = draw(rng, P)
        off = np.zeros((K, K))
        np.add.at(off, named, np.eye(K)[drawn] - P)
        errors[run] = assess.class_wise_ece(P, drawn), assess.top_label_ece(top, named, drawn), np.abs(off).sum() / (K * n)
    noise = 4.5 * errors.std(axis=0) / math.sqrt(runs)
    assert (np.abs(errors.mean(axis=0) - [wise.ece, by_top.ece, confusion.ece]) <= noise + 0.003 * errors.mean(axis=0)).all()
    # The points are of 10,000 draws, and few errors are possible where labels are rare.
    spread = 4.5 * math.sqrt(0.05 * 0.95 * (1.0 / runs + 1e-4))
    assert np.mean(errors[:, 1] > by_top.ece_95 + 1e-9) <= 0.05 + spread
    assert np.mean(errors[:, 1] >= by_top.ece_95 - noise[1]) >= 0.05 - spread
