"""Fine values over coarse evidence keep their promise, whatever the values are, for scores with and without ties.

    cd tests; python -m simulation.test_fine_values        the table at 20,000 samples, in five minutes

The limit is alpha and three standard errors, the three corrected (Bonferroni) for the number of cells that a test looks at.
"""

from __future__ import annotations

import zlib
from collections import defaultdict

import numpy as np
import pytest
from simulation.draws import draw_one
from simulation.failures import ALPHA, limit, sizes
from simulation.fine import MAPS, STEPS, edges_of, missed, of_samples, served, single_steps, step_means
from simulation.laws import PROFILES, Array, Law, atoms_among, mixed, profile

from reference.two_resolutions import edge_bound, fine_edges, fine_ranks, inside, step_counts
from reference.whole_ties import whole_ties

SHARES = (0.0, 0.2, 0.4, 0.7)  # of the mass on atoms

# A law, how many labels, bins, and scores without labels.
Cell = tuple[Law, int, int, int]


def with_atoms(share: float, rates: str) -> Law:
    """21 atoms with this share of the mass, spread over scores whose rate rises."""
    centres = (np.arange(21) + 0.5) / 21.0
    of_atoms = centres if rates == "rising" else np.where(np.arange(21) % 2, 0.95, 0.05)
    return atoms_among(centres, np.full(21, share / 21.0), of_atoms) if share > 0.0 else profile("linear")


def inside_bins(n_bins: int) -> Law:
    """An atom of high rate with 2/5 of each bin in its middle: fine edges are tied, and boundaries are not."""
    return atoms_among((np.arange(n_bins) + 0.5) / n_bins, np.full(n_bins, 0.4 / n_bins), np.full(n_bins, 0.9), "credit")


CELLS: dict[str, Cell] = {name: (profile(name), 1000, 10, 0) for name in PROFILES}
TIED_CELLS: dict[str, Cell] = {
    **{
        f"{rates}, {share:.0%}": (with_atoms(share, rates), 600, 6, 0)
        for rates in ("rising", "alternating")
        for share in SHARES
    },
    "rising, 40 %, n = 2000": (with_atoms(0.4, "rising"), 2000, 10, 0),
    "all on 101 atoms": (mixed(np.ones(101), np.linspace(0.0, 1.0, 101)), 1000, 10, 0),
    "70 % at zero": (mixed([0.7, 0.3], [0.1, np.nan]), 1000, 10, 0),
    "atoms inside bins": (inside_bins(6), 600, 6, 0),
    "atoms inside bins, n = 3000": (inside_bins(6), 3000, 6, 0),
}
POOLED_CELLS: dict[str, Cell] = {
    f"{name}, {m}": (profile(name), 300, 5, m) for name in ("linear", "rare", "sharp", "credit") for m in (300, 1200)
}


def failures(
    law: Law, n: int, n_bins: int, unlabelled: int, repetitions: int, run: int = 0, lower: str = "candidate"
) -> dict[str, float]:
    """How often each promise fails; the means of what is certified are beside it, as "epsilon of" the values."""
    rng = np.random.default_rng([n, n_bins, unlabelled, run, zlib.crc32(law.starts.tobytes() + law.atom_rates.tobytes())])
    found: dict[str, list[Array]] = defaultdict(list)
    for edges, labels in of_samples(law, n, n_bins, repetitions, rng, unlabelled=unlabelled, lower=lower):
        found["any values"].append(missed(edges))
        for size in STEPS:
            fails, alone = single_steps(edges, size)
            found[f"step {size}"].append(fails)
            found[f"alone {size}"].append(alone)
        if unlabelled == 0:
            for name, (of, recentred) in MAPS.items():
                epsilon, error = served(edges, labels, of, recentred)
                found[name].append((error > epsilon).any(axis=1))
                found[f"epsilon of {name}"].append(epsilon.max(axis=1))
    return {name: float(np.concatenate(parts).mean()) for name, parts in found.items()}


def promised(name: str) -> bool:
    return not name.startswith(("alone", "epsilon"))


def assert_promised(cells: dict[str, Cell], repetitions: int) -> dict[str, dict[str, float]]:
    found = {name: failures(*cell, repetitions) for name, cell in cells.items()}
    most = limit(repetitions, sum(promised(kind) for of in found.values() for kind in of))
    above = {(name, kind): rate for name, of in found.items() for kind, rate in of.items() if promised(kind) and rate > most}
    assert not above
    return found


SIZES = sizes(100, 20_000)


@pytest.mark.parametrize("repetitions", sizes(200, 20_000))
def test_profiles(repetitions: int) -> None:
    found = assert_promised(CELLS, repetitions)
    for of in found.values():
        # The interval of the rate alone says nothing of the mean that is served.
        assert of["alone 0.3"] > 0.11
        assert of["alone 0.6"] > 0.4
        # The event under which all values are certified at once is not rare beside alpha: the bound is not just wide.
        assert of["any values"] > 0.02


@pytest.mark.parametrize("repetitions", SIZES)
def test_ties(repetitions: int) -> None:
    found = assert_promised(TIED_CELLS, repetitions)
    for rates in ("rising", "alternating"):
        assert all(found[f"{rates}, {share:.0%}"]["alone 0.6"] > 0.25 for share in SHARES)


@pytest.mark.parametrize("repetitions", SIZES)
def test_scores_without_labels(repetitions: int) -> None:
    assert_promised(POOLED_CELLS, repetitions)


def test_a_tied_edge_is_not_at_its_own_rank() -> None:
    """With the lower bound of its own rank the promise breaks: the edge moved down to the start of its group."""
    heavy = mixed(np.ones(400), np.linspace(0.1, 0.9, 400)), 100_000, 100, 0, 15  # ten candidates a bin, far apart
    assert failures(*heavy, lower="own")["any values"] > 0.9
    assert failures(*heavy)["any values"] <= limit(15, 2)
    assert failures(*heavy, lower="rank")["any values"] <= limit(15, 2)


def test_of_smooth_values_epsilon_is_little_above_that_of_means() -> None:
    """The line through linear scores: .152 where bin means have .133."""
    assert failures(*CELLS["linear"], 400)["epsilon of line, recentred"] == pytest.approx(0.152, rel=0.02)
    assert failures(*CELLS["flat"], 400)["epsilon of line, recentred"] == pytest.approx(0.137, rel=0.02)


SMALL = {
    "no ties": (profile("linear"), 60, 4),
    "some ties": (with_atoms(0.4, "rising"), 60, 4),
    "many ties": (with_atoms(0.7, "alternating"), 90, 3),
    "inside bins": (inside_bins(3), 60, 3),
    "at zero": (mixed([0.7, 0.3], [0.1, np.nan]), 50, 5),
    "few scores": (mixed(np.ones(7), np.linspace(0.0, 1.0, 7)), 48, 4),
}


@pytest.mark.parametrize("name", SMALL)
def test_the_simulation_bounds_as_the_reference_does(name: str) -> None:
    law, n, n_bins = SMALL[name]
    rng, twin = np.random.default_rng(3), np.random.default_rng(3)
    scores, labels = law.draw(rng, (3, n))
    assert (law.draw(twin, (3, n))[0] == scores).all()
    edges = edges_of(law, scores, labels, n_bins, rng)
    seeds = twin.integers(2**64, size=3, dtype=np.uint64)
    epsilon, _ = served(edges, labels, step_means, recentred=False)
    ranks = fine_ranks(n, n_bins)
    for i in range(3):
        rows = scores[i].tolist(), labels[i].astype(int).tolist()
        slow = whole_ties(*rows, n_bins, draw=draw_one, seed=int(seeds[i]))
        values, start = [], 0
        for b, centre in enumerate(slow.values):
            values.append([])
            for count in step_counts(slow, b, fine_edges(slow, b, ranks)):
                values[-1].append((sum(rows[1][start : start + count]) + float(centre)) / (count + 1.0))
                start += count
        bounds = edge_bound(slow, values, ranks, ALPHA)
        there = edges.fits.is_there[i]
        assert np.array([bound.interval for bound in bounds]) == pytest.approx(
            np.stack(edges.interval, axis=2)[i, there], abs=1e-10
        )
        shares = [share for bound in bounds for share in bound.shares]
        drawn = np.stack([edges.low[i], edges.high[i]], axis=1)[edges.is_edge[i]]
        assert np.array(shares).reshape(-1, 2) == pytest.approx(drawn, abs=1e-10)
        assert [bound.epsilon for bound in bounds] == pytest.approx(epsilon[i, there].tolist(), abs=1e-10)


def test_the_simulation_pools_as_the_reference_does() -> None:
    law, rng = profile("credit"), np.random.default_rng(11)
    scores, labels = law.draw(rng, (2, 80))
    labelled = rng.random((2, 80)) < 0.4
    edges = edges_of(law, scores, labels, 3, rng, labelled=labelled)
    ranks = fine_ranks(80, 3)
    for i in range(2):
        pooled = whole_ties(scores[i].tolist(), [0] * 80, 3, draw=draw_one)
        tally = inside(pooled, scores[i][labelled[i]].tolist(), labels[i][labelled[i]].astype(int).tolist())
        values = [[0.1] * (len(fine_edges(pooled, b, ranks)) + 1) for b in range(3)]
        bounds = edge_bound(pooled, values, ranks, ALPHA, labelled=tally)
        limits = np.stack(edges.interval, axis=2)[i]
        assert np.array([bound.interval for bound in bounds]) == pytest.approx(limits, abs=1e-10)
        drawn = np.stack([edges.low[i], edges.high[i]], axis=1)[edges.is_edge[i]]
        assert np.array([share for bound in bounds for share in bound.shares]) == pytest.approx(drawn, abs=1e-10)


def table() -> str:
    """All cells at 20,000 samples: how often each kind of values breaks the promise."""
    lines = []
    for cells in (CELLS, TIED_CELLS, POOLED_CELLS):
        for name, cell in cells.items():
            of = failures(*cell, 20_000)
            lines.append(f"{name:28s}" + "  ".join(f"{kind} {rate:.4f}" for kind, rate in of.items()))
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
