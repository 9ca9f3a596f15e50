"""The certificate of scaling-binning holds for its values, whatever the map, with and without sample splitting.

Every repetition draws a sample from a population whose truth is known, fits with fastbin itself, and compares with the true
frequencies and masses of the bins between its edges.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from simulation.failures import ALPHA, assert_at_most, assert_mean_at_most, sizes
from simulation.simulation import POPULATIONS, Population, truth

import fastbin as fb

N, N_BINS = 300, 5
BOTH = sizes((250, 81), (20_000, 82))
# The map may be wrong by far: "none" takes each score for its frequency, which it is in "linear" alone.
CASES = [
    (scheme, scaler, name)
    for scheme in ("split", "double-dipped")
    for scaler, name in (("none", "flat"), ("none", "rare"), ("none", "tied"), ("platt", "linear"), ("platt", "tied"))
]


def fits(scheme: str, scaler: str, population: Population, repetitions: int, seed: int) -> list[fb.BinnedModel]:
    """As many models as repetitions, each of its own sample and with keys of its own."""
    scores, _, _, labels = population.draw(np.random.default_rng(seed), repetitions, N)
    return [
        fb.ScalingBinning(N_BINS, scheme=scheme, scaler=scaler, ties="random", seed=i).fit(scores[i], labels[i]).model_
        for i in range(repetitions)
    ]


def truths(population: Population, models: list[fb.BinnedModel]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """True frequencies and masses of the bins of each model, shape (repetitions, n_bins)."""
    edges, keys = (np.array([getattr(model, name) for model in models]) for name in ("edges", "edge_keys"))
    return truth(population, population.positions(edges, keys / 2.0**64))


@pytest.mark.sampled
@pytest.mark.parametrize(("repetitions", "seed"), BOTH)
@pytest.mark.parametrize(("scheme", "scaler", "name"), CASES)
def test_certificates_hold(scheme: str, scaler: str, name: str, repetitions: int, seed: int) -> None:
    population = POPULATIONS[name]
    models = fits(scheme, scaler, population, repetitions, seed)
    frequencies, masses = truths(population, models)
    conditional, ece, marginal, largest = 0, 0, np.empty(repetitions), np.empty(repetitions)
    for i, model in enumerate(models):
        errors = np.abs(frequencies[i] - model.values)
        largest[i] = errors.max()
        promise, of_next = (model.certificate(ALPHA, kind) for kind in ("conditional", "marginal"))
        covered = np.setdiff1d(np.arange(N_BINS), promise.uncovered_bins)
        conditional += bool((errors > np.array(promise.radii))[covered].any())
        marginal[i] = masses[i][covered] @ (errors > np.array(of_next.radii))[covered]
        ece += masses[i] @ errors > model.certificate(ALPHA, "ece").epsilon
    assert_at_most(conditional, repetitions)
    assert_at_most(ece, repetitions)
    assert_mean_at_most(marginal, ALPHA)
    if (scaler, name) == ("none", "flat"):
        # Values far from the truth, further than means of labels are promised to be, and a promise that knows it. Where a
        # value lies beside its interval one end alone can fail, so no more than a half of alpha is used up.
        assert np.median(largest) > 1.5 * fb.epsilon(N, N_BINS, ALPHA)
        assert conditional > 0.15 * ALPHA * repetitions
