"""Whole ties keep their promise for laws with atoms of every kind, at every size, and at one seed for all samples.

    cd tests; python -m simulation.test_whole_ties        the table of the laws at 20,000 samples, in two minutes

The limit is alpha and three standard errors, the three corrected (Bonferroni) for the number of cells that a test looks at.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable

import numpy as np
import pytest
from simulation.draws import digest_of, draw_labels, draw_one
from simulation.failures import ALPHA, limit, sizes
from simulation.laws import PROFILES, TIED_LAWS, Array, Law, profile, tied_law
from simulation.whole import Fits, clopper_pearson, fit, hull, level_of, simulated

from reference import hull as slow_hull
from reference.keys import draw_labels as slow_draw
from reference.keys import group_digest
from reference.whole_ties import WholeTies, whole_ties

SCHEMES = ("umd", "ze", "umb")
KINDS = ("conditional", "marginal", "ece")
MEASURED = (*KINDS, "epsilon", "n_bins")


def measured(fits: Fits) -> Array:
    """For each repetition: whether the conditional promise fails, the mass for which the marginal one does, whether the ECE is
    above the conditional epsilon, this epsilon, and the number of bins."""
    low, high = hull(fits, level_of(fits, ALPHA, "conditional"))
    missed = fits.is_there & ((fits.rates < low) | (fits.rates > high))
    radii = np.where(fits.is_there, np.maximum(high - fits.values, fits.values - low), 0.0)
    epsilon = radii.max(axis=1)
    ece = (fits.masses * np.abs(fits.rates - fits.values)).sum(axis=1)
    low, high = hull(fits, level_of(fits, ALPHA, "marginal"))
    missed_mass = (fits.masses * ((fits.rates < low) | (fits.rates > high))).sum(axis=1)
    return np.stack([missed.any(axis=1), missed_mass, ece > epsilon, epsilon, fits.n_bins], axis=1)


def cell(
    name: str, n: int, n_bins: int, repetitions: int, scheme: str = "umd", seed: int | None = None, run: int = 0
) -> dict[str, float]:
    """Means of what is `measured` in one cell. Fits at other seeds see the same samples."""
    rng = np.random.default_rng([zlib.crc32(name.encode()), n, n_bins, run])
    found = simulated(tied_law(name, n, n_bins), n, n_bins, scheme, repetitions, rng=rng, seed=seed, measure=measured)
    return dict(zip(MEASURED, found.mean(axis=0).tolist(), strict=True))


def above(found: dict[tuple[object, ...], dict[str, float]], repetitions: int) -> dict[tuple[object, ...], float]:
    """The cells that fail more often than the limit for so many, all kinds counted."""
    most = limit(repetitions, len(found) * len(KINDS))
    return {(*name, kind): of[kind] for name, of in found.items() for kind in KINDS if of[kind] > most}


@pytest.mark.parametrize("repetitions", sizes(300, 20_000))
def test_every_law_keeps_its_promise(repetitions: int) -> None:
    n = 1000 if repetitions > 1000 else 300
    found = {(name,): cell(name, n, 10, repetitions) for name in TIED_LAWS}
    assert not above(found, repetitions)
    # Where nothing is tied the level is nearly used up: the promise is not kept by being wide.
    assert found["continuous, flat",]["conditional"] > 0.5 * ALPHA


@pytest.mark.parametrize("repetitions", sizes(100, 2_000))
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_size_keeps_its_promise(scheme: str, repetitions: int) -> None:
    """In the fast test each law has a fifth of the sizes, and each size a fifth of the laws."""
    is_fast = repetitions == 100
    sizes = [(n, b) for b in (2, 10, 20) for n in sizes_of(b) if n <= (300 if is_fast else 10_000)]
    cells = [(name, *of) for i, name in enumerate(TIED_LAWS) for j, of in enumerate(sizes) if not is_fast or (i + j) % 5 == 0]
    assert not above({of: cell(*of, repetitions, scheme) for of in cells}, repetitions)


def sizes_of(n_bins: int) -> Iterable[int]:
    first = [2 * n_bins - 1, 2 * n_bins, 3 * n_bins]
    return [*first, *(n for n in (30, 100, 300, 1000, 3000, 10_000) if n > first[-1])]


@pytest.mark.parametrize("repetitions", sizes(100, 2_000))
def test_one_seed_for_all_samples_keeps_the_promise(repetitions: int) -> None:
    n, n_bins, seeds = (300, 5, 3) if repetitions == 100 else (1000, 10, 16)
    found = {(name, s): cell(name, n, n_bins, repetitions, seed=s) for name in TIED_LAWS for s in range(seeds)}
    assert not above(found, repetitions)


@pytest.mark.sampled
@pytest.mark.parametrize("repetitions", sizes(500, 5_000))
@pytest.mark.parametrize("name", ["1 atom", "3 atoms", "21 atoms", "boosting", "70 % at zero", "alternating", "on the ranks"])
def test_what_is_promised_before_the_labels(name: str, repetitions: int) -> None:
    """By the bins' counts alone: tails of half the level for T and for T - r, and how far the value is from their means."""
    rho = {}

    def radius(n: int, level: float) -> float:
        if (n, level) not in rho:
            x = np.arange(n + 1)
            rho[n, level] = float((x / max(n, 1) - clopper_pearson(x, np.full(n + 1, n), np.full(n + 1, level))[0]).max())
        return rho[n, level] if n > 0 else 1.0

    def beyond(fits: Fits) -> Array:
        failed = np.empty((len(fits.tied), 2))
        levels = level_of(fits, ALPHA, "conditional")
        for i, there in enumerate(fits.is_there):
            columns = (part[i, there].tolist() for part in (fits.T, fits.r, fits.is_rest, levels))
            of_bins = list(zip(*columns, strict=True))
            errors = np.abs(fits.rates - fits.values)[i, there]
            for j, of in enumerate((radius, lambda n, level: math.sqrt(math.log(2.0 / level) / (2.0 * max(n, 1))))):
                bounds = [
                    max(
                        of(t, level) + (1.0 / t if k else 0.0),
                        of(t - k, level) + (k - 1) / (t - 1) if k > 1 and not rest else 0.0,
                    )
                    for t, k, rest, level in of_bins
                ]
                failed[i, j] = (errors > np.array(bounds)).any()
        return failed

    rng = np.random.default_rng(zlib.crc32(name.encode()))
    failed = simulated(tied_law(name, 120, 5), 120, 5, "umd", repetitions, rng=rng, measure=beyond).mean(axis=0)
    assert failed[0] <= limit(repetitions, 7)
    assert failed[1] <= failed[0]


def test_without_the_hull_the_promise_breaks() -> None:
    """The samples that were not needed for the rank are not draws from the bin: the simulation sees it."""

    def missed(fits: Fits) -> Array:
        low, high = clopper_pearson(fits.x - fits.f, fits.T - fits.r, np.broadcast_to(level_of(fits, ALPHA, ""), fits.T.shape))
        return (fits.is_there & ((fits.rates < low) | (fits.rates > high))).any(axis=1)

    for name, least in (("alternating", 0.7), ("on the ranks", 0.7), ("70 % at zero", 0.5)):
        found = simulated(tied_law(name, 1000, 10), 1000, 10, "umd", 300, rng=np.random.default_rng(4), measure=missed)
        assert found.mean() > least


# Law, n, B; the mean epsilon at alpha = .1, and how many bins there are, at 20,000 samples.
EPSILONS = [
    ("continuous", 1000, 10, 0.1331, 10.0),
    ("alternating", 1000, 10, 0.27, 7.6),
    ("alternating", 10_000, 10, 0.107, 7.6),
    ("2 atoms", 1000, 10, 0.064, 2.0),
    ("3 atoms", 1000, 10, 0.0886, 3.0),
    ("70 % at zero", 1000, 10, 0.0975, 3.5),
    ("70 % at zero", 10_000, 10, 0.0274, 3.5),
]


@pytest.mark.sampled
@pytest.mark.parametrize("repetitions", sizes(200, 2_000))
@pytest.mark.parametrize(("name", "n", "n_bins", "epsilon", "bins"), EPSILONS)
def test_epsilon_is_what_it_was_found_to_be(
    name: str, n: int, n_bins: int, epsilon: float, bins: float, repetitions: int
) -> None:
    found = cell(name, n, n_bins, repetitions)
    assert found["epsilon"] == pytest.approx(epsilon, rel=0.02)
    assert found["n_bins"] == pytest.approx(bins, abs=0.2)


@pytest.mark.sampled
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", list(TIED_LAWS))
def test_the_simulation_fits_as_the_reference_does(name: str, scheme: str) -> None:
    rng = np.random.default_rng(8)
    for n, n_bins in ((19, 10), (20, 10), (60, 4), (41, 1)):
        law = tied_law(name, n, n_bins)
        scores, labels = law.draw(rng, (6, n))
        seeds = rng.integers(2**64, size=6, dtype=np.uint64)
        fits = fit(law, scores, labels, n_bins, scheme, seeds)
        low, high = hull(fits, level_of(fits, ALPHA, "conditional"))
        for i, tally in enumerate(fits.tally()):
            slow = whole_ties(
                scores[i].tolist(), labels[i].astype(int).tolist(), n_bins, scheme, seed=int(seeds[i]), draw=draw_one
            )
            assert tally == [(b.T, b.x, b.r, b.f, b.y) for b in slow.bins]
            assert (slow.n_tied > 0) == fits.tied[i]
            there = fits.is_there[i]
            assert fits.values[i][there].tolist() == [float(value) for value in slow.values]
            limits = slow_hull.intervals(slow, ALPHA)
            assert np.stack([low[i], high[i]], axis=1)[there] == pytest.approx(np.array(limits), abs=1e-10)
            assert fits.rates[i][there] == pytest.approx(true_rates(law, slow), abs=1e-9)


def true_rates(law: Law, slow: WholeTies) -> Array:
    """One for each bin of a fit."""
    ends = np.array([0.0, *slow.edges, 1.0])
    if slow.scheme == "umb":
        ends[1:-1] = law.past(ends[1:-1])
    return np.diff(law.ones_below(ends)) / np.diff(ends)


@pytest.mark.parametrize("law", [*(tied_law(name, 300, 4) for name in TIED_LAWS), *map(profile, PROFILES)])
def test_the_truth_is_that_of_many_samples(law: Law) -> None:
    scores, labels = law.draw(np.random.default_rng(6), (1, 400_000))
    for edge in scores[0, ::40_001]:
        of_scores, of_past = (scores < edge).mean(), (scores <= edge).mean()
        assert of_scores == pytest.approx(edge, abs=0.005)
        assert of_past == pytest.approx(law.past(np.array([edge]))[0], abs=0.005)
        assert (labels & (scores < edge)).mean() == pytest.approx(law.ones_below(np.array([edge]))[0], abs=0.005)
        assert (labels & (scores <= edge)).mean() == pytest.approx(law.ones_below(law.past(np.array([edge])))[0], abs=0.005)


def test_the_digest_is_that_of_the_groups() -> None:
    groups = [(0.0, 0, 0, 3, 1), (0.25, 3, 1, 1, 0), (0.5, 5, 2, 7, 7)]
    columns = [np.array([column]) for column in zip(*[groups[0], *groups, groups[2]], strict=True)]  # two in one group
    assert digest_of(np.array([77], np.uint64), *columns).tolist() == [group_digest(77, groups)]


def test_the_draw_is_the_reference() -> None:
    rng = np.random.default_rng(14)
    counts = rng.integers(1, [4, 30, 300, 3000] * 300)
    ones, taken = rng.integers(0, counts + 1), rng.integers(0, counts + 1)
    digests, scores = rng.integers(2**64, size=1200, dtype=np.uint64), rng.random(1200)
    drawn = np.stack(draw_labels(digests, scores, counts, ones, taken), axis=1)
    columns = (column.tolist() for column in (digests, scores, counts, ones, taken))
    assert [tuple(pair) for pair in drawn.tolist()] == [slow_draw(*group) for group in zip(*columns, strict=True)]


def table() -> str:
    """The laws at 20,000 samples of 1,000 in 10 bins."""
    lines = [f"{'law':18s}{'misses':>10s}{'marginal':>10s}{'ece':>10s}{'epsilon':>10s}{'bins':>7s}"]
    for name in TIED_LAWS:
        of = cell(name, 1000, 10, 20_000)
        shares = "".join(f"{of[kind]:10.4f}" for kind in KINDS)
        lines.append(f"{name:18s}{shares}{of['epsilon']:10.4f}{of['n_bins']:7.2f}")
    return "\n".join([*lines, f"limit {limit(20_000, len(TIED_LAWS) * len(KINDS)):.4f}"])


if __name__ == "__main__":
    print(table())
