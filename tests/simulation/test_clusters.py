"""Rows that come in clusters, by simulation with known truth: how often intervals of a rate miss it.

`pytest tests/simulation/test_clusters.py -m slow -rP` prints the table of docs/assessment.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from simulation.failures import ALPHA, assert_at_most, sizes

from fastbin.assess import cluster_intervals, one_per_cluster
from fastbin.intervals import clopper_pearson


class Design(NamedTuple):
    """Clusters whose rates have a beta law of this mean and intracluster correlation; their sizes."""

    rate: float
    correlation: float
    n_clusters: int
    sizes: tuple[int, ...]  # each as often as the others

    def draw(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """The cluster of each row, and the labels."""
        strength = 1.0 / self.correlation - 1.0
        rates = rng.beta(self.rate * strength, (1.0 - self.rate) * strength, self.n_clusters)
        own = rng.choice(self.sizes, self.n_clusters)
        cluster = np.repeat(np.arange(self.n_clusters), own)
        return cluster, rng.random(len(cluster)) < rates[cluster]


DESIGNS = {
    "0.2, 200 clusters of 10, correlation 0.3": Design(0.2, 0.3, 200, (10,)),
    "0.2, 200 clusters of 10, 0.05": Design(0.2, 0.05, 200, (10,)),
    "0.2, 30 clusters of 10, 0.3": Design(0.2, 0.3, 30, (10,)),
    "0.02, 200 clusters of 10, 0.3": Design(0.02, 0.3, 200, (10,)),
    "0.02, 30 clusters of 10, 0.3": Design(0.02, 0.3, 30, (10,)),
    "0.5, 100 clusters of 1 or 50, 0.5": Design(0.5, 0.5, 100, (1, 50)),
    "0.2, 200 clusters of 10, nearly one value": Design(0.2, 0.95, 200, (10,)),
    "0.3, 100 clusters of 1": Design(0.3, 0.05, 100, (1,)),  # independent rows
}


class Missed(NamedTuple):
    """The share of samples whose interval misses the rate, by the way to make it."""

    rows: float  # as if rows were independent
    one_of_each: float
    means: float
    bootstrap: float


def missed(design: Design, runs: int) -> Missed:
    """Rates of clusters do not depend on their sizes, so that a random row is like one of a random cluster."""
    rng, found = np.random.default_rng([int(1e6 * design.rate), design.n_clusters, runs]), np.zeros(4)
    for _ in range(runs):
        cluster, y = design.draw(rng)
        own = cluster_intervals(np.full(len(y), design.rate), y, cluster, alpha=ALPHA)
        kept = y[one_per_cluster(cluster)]
        ends = (
            clopper_pearson([int(y.sum())], [len(y)], ALPHA)[0], clopper_pearson([int(kept.sum())], [len(kept)], ALPHA)[0],
            own.intervals[0], own.bootstrap[0],
        )  # fmt: skip
        found += [not low <= design.rate <= high for low, high in ends]  # NaN misses
    return Missed(*(found / runs).tolist())


@pytest.mark.sampled
@pytest.mark.parametrize("runs", sizes(25, 2000))
@pytest.mark.parametrize("name", list(DESIGNS))
def test_intervals_that_allow_for_clusters_hold(name: str, runs: int) -> None:
    found = missed(DESIGNS[name], runs)
    print("| " + " | ".join([name, *(f"{each:.3f}" for each in found)]) + " |")
    assert_at_most(round(found.one_of_each * runs), runs)
    assert_at_most(round(found.means * runs), runs)
    if DESIGNS[name].correlation >= 0.3:  # rows are not independent, and the interval that takes them as such says too much
        assert found.rows > ALPHA


def test_one_of_each_speaks_of_clusters() -> None:
    """Large clusters have the rate 0.9 and small ones 0.1: a random row is not that of a random cluster."""
    rng, inside = np.random.default_rng(1), 0
    for _ in range(100):
        is_large = rng.random(200) < 0.5
        cluster = np.repeat(np.arange(200), np.where(is_large, 9, 1))
        y = rng.random(len(cluster)) < np.where(is_large, 0.9, 0.1)[cluster]
        low, high = cluster_intervals(np.full(len(y), 0.5), y, cluster).intervals[0]
        inside += low <= 0.5 <= high
        assert high < 0.82  # the rate of a random row
    assert_at_most(100 - inside, 100)
