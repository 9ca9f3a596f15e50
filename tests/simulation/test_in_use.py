"""Whole ties and fine values through the public interface, at fixed seeds: what is simulated is what is fitted."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from simulation.failures import ALPHA, limit, sizes
from simulation.laws import Array, Law, mixed, profile, tied_law
from simulation.whole import Bools, fit, hull, level_of

import fastbin as fb

pytestmark = pytest.mark.filterwarnings("ignore::fastbin.FastbinWarning")

SCHEMES = ("umd", "ze", "umb")
LAWS = ["2 atoms", "21 atoms", "boosting", "70 % at zero", "on the ranks", "continuous"]


def drawn(law: Law, name: str, repetitions: int, n: int) -> tuple[Array, Bools]:
    return law.draw(np.random.default_rng([zlib.crc32(name.encode()), n]), (repetitions, n))


@pytest.mark.sampled
@pytest.mark.parametrize("repetitions", sizes(30, 1_000))
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", LAWS)
def test_the_simulation_fits_as_the_library_does(name: str, scheme: str, repetitions: int) -> None:
    n, n_bins, seed = 300, 6, 5
    law = tied_law(name, n, n_bins)
    scores, labels = drawn(law, name, repetitions, n)
    fits = fit(law, scores, labels, n_bins, scheme, np.full(repetitions, seed, np.uint64))
    low, high = hull(fits, level_of(fits, ALPHA, "conditional"))
    calibrator = fb.UniformMassBinning(n_bins, scheme=scheme, ties="whole", seed=seed)
    failures = 0
    for i, there in enumerate(fits.is_there):
        model = calibrator.fit(scores[i, ::-1], labels[i, ::-1]).model_
        assert np.array_equal(model.values, fits.values[i, there])
        assert np.array_equal(model.counts, (fits.T - fits.leaves_out)[i, there])
        if fits.tied[i]:
            assert np.array_equal(model.tie_counts, np.stack([fits.r, fits.f, fits.y], axis=2)[i, there])
        limits = model.interval(ALPHA)
        assert limits == pytest.approx(np.stack([low, high], axis=2)[i, there], abs=1e-9)
        rates = fits.rates[i, there]
        failures += bool(((rates < limits[:, 0]) | (rates > limits[:, 1])).any())
        epsilon = np.maximum(limits[:, 1] - model.values, model.values - limits[:, 0]).max()
        assert model.certificate(ALPHA, bound="clopper-pearson").epsilon == pytest.approx(epsilon, abs=1e-12)
    assert failures / repetitions <= limit(repetitions, len(LAWS) * len(SCHEMES))


SPLITS: dict[str, dict[str, object]] = {
    "umd, .25": {"edges_share": 0.25},
    "umd, .7": {"edges_share": 0.7},
    "ze, .25": {"edges_share": 0.25, "scheme": "ze"},
    "umb, .25": {"edges_share": 0.25, "scheme": "umb"},
    "ums": {"scheme": "ums"},
}


def rates_of(model: fb.BinnedModel, law: Law) -> Array:
    """The true rates of the bins of a model without steps."""
    edges = law.past(model.edges) if model.scheme == "umb" else model.edges
    ends = np.concatenate([[0.0], edges, [1.0]])
    return np.diff(law.ones_below(ends)) / np.diff(ends)


@pytest.mark.sampled
@pytest.mark.parametrize("repetitions", sizes(40, 2_000))
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("name", [*LAWS, "alternating", "two decimals"])
def test_edges_from_a_part_keep_the_promise(name: str, split: str, repetitions: int) -> None:
    n, n_bins = (400, 6) if name != "two decimals" else (1000, 10)
    law = tied_law(name, n, n_bins)
    scores, labels = drawn(law, name, repetitions, n)
    calibrator = fb.UniformMassBinning(n_bins, ties="whole", seed=2, **SPLITS[split])  # type: ignore[arg-type]
    failures = 0
    for i in range(repetitions):
        model = calibrator.fit(scores[i], labels[i]).model_
        low, high = model.interval(ALPHA).T
        rates = rates_of(model, law)
        failures += bool(((rates < low) | (rates > high)).any())
    assert failures / repetitions <= limit(repetitions, len(SPLITS) * (len(LAWS) + 2))


CERTIFIED = {
    "linear": (profile("linear"), 1000, 0),
    "credit": (profile("credit"), 400, 0),
    "wave": (profile("wave"), 1000, 0),
    "rare, pooled": (profile("rare"), 400, 1600),
    "21 atoms": (tied_law("21 atoms", 1000, 10), 1000, 0),
    "boosting": (tied_law("boosting", 1000, 10), 1000, 0),
    "70 % at zero": (mixed([0.7, 0.3], [0.1, np.nan]), 1000, 0),
    "alternating": (tied_law("alternating", 400, 5), 400, 0),
}
OPTIONS: list[dict[str, object]] = [
    {},
    {"values": "isotonic", "recentre": "none"},
    {"values": "mean", "recentre": "full", "monotone": False},
]


def errors(model: fb.BinnedModel, law: Law) -> Array:
    """For each evidence bin, the distance between its rate and the mean of what is served there, in the population.

    The rule that a score at an edge lies above it makes a step the positions between two edges.
    """
    starts, ends = np.append(0.0, model.edges), np.append(model.edges, 1.0)
    sums = np.add.reduceat(model.values * (ends - starts), model.first_step)
    ones = np.add.reduceat(law.ones_below(ends) - law.ones_below(starts), model.first_step)
    return np.asarray(np.abs(sums - ones) / np.add.reduceat(ends - starts, model.first_step))


@pytest.mark.sampled
@pytest.mark.parametrize("repetitions", sizes(15, 2_000))
@pytest.mark.parametrize("options", OPTIONS, ids=["default", "isotonic", "means"])
@pytest.mark.parametrize("name", CERTIFIED)
def test_certified_calibration_keeps_its_promise(name: str, options: dict[str, object], repetitions: int) -> None:
    law, n, unlabelled = CERTIFIED[name]
    scores, labels = drawn(law, name, repetitions, n + unlabelled)
    rng = np.random.default_rng(7)
    failures, missed = 0, 0.0
    for i in range(repetitions):
        rows = rng.permutation(n + unlabelled)
        labelled, others = rows[:n], rows[n:]
        calibrator = fb.CertifiedCalibration(seed=3, **options)  # type: ignore[arg-type]
        calibrator.fit(scores[i, labelled], labels[i, labelled], unlabelled=scores[i, others] if unlabelled else None)
        model = calibrator.model_
        error = errors(model, law)
        failures += bool((error > model.certificate(ALPHA).radii).any())
        starts = np.concatenate([[0.0], model.bin_edges])
        masses = np.diff(np.append(starts, 1.0))
        missed += masses[error > model.certificate(ALPHA, "marginal").radii].sum()
        assert model.predict(scores[i, :5]).tolist() == model.values[model.step(scores[i, :5])].tolist()
    cells = 2 * len(CERTIFIED) * len(OPTIONS)
    assert failures / repetitions <= limit(repetitions, cells)
    assert missed / repetitions <= limit(repetitions, cells)
