"""Steps around every score of a small sample keep the promise, for the values that are served and for any others.

    cd tests; python -m simulation.test_fine_steps         the table at 20,000 samples

The limit is alpha and three standard errors, the three corrected (Bonferroni) for the number of cells that a test looks at.
"""

from __future__ import annotations

import warnings
import zlib
from typing import NamedTuple

import numpy as np
import pytest
from simulation.failures import ALPHA, limit, sizes
from simulation.laws import Array, Law, mixed, profile, tied_law

import fastbin as fb
from fastbin.guarantees.certify import SHARE_OF_MASSES
from fastbin.guarantees.evidence import require_interior
from fastbin.guarantees.intervals import interval_of_interior
from fastbin.guarantees.step_masses import StepMasses
from fastbin.intervals.binomial import exact_ends


class Cell(NamedTuple):
    """A law, how many labels, and scores without labels."""

    law: Law
    n: int
    unlabelled: int = 0


CELLS = {
    "linear, 60": Cell(profile("linear"), 60),
    "linear, 9": Cell(profile("linear"), 9),
    "flat, 100": Cell(profile("flat"), 100),
    "rare, 200": Cell(profile("rare"), 200),
    "sharp, 100": Cell(profile("sharp"), 100),
    "credit, 100": Cell(profile("credit"), 100),
    "wave, 200": Cell(profile("wave"), 200),
    "2 atoms, 60": Cell(tied_law("2 atoms", 60, 5), 60),
    "21 atoms, 100": Cell(tied_law("21 atoms", 100, 5), 100),
    "101 atoms, 60": Cell(tied_law("101 atoms", 60, 5), 60),
    "alternating, 200": Cell(tied_law("alternating", 200, 5), 200),
    "boosting, 200": Cell(tied_law("boosting", 200, 5), 200),
    "on the ranks, 100": Cell(tied_law("on the ranks", 100, 5), 100),
    "light atoms, 200": Cell(tied_law("light atoms", 200, 5), 200),
    "70 % at zero, 100": Cell(mixed([0.7, 0.3], [0.1, np.nan]), 100),
    "linear, 60 and 300": Cell(profile("linear"), 60, 300),
    "credit, 60 and 2,000": Cell(profile("credit"), 60, 2000),
}
KINDS = ("served", "any values", "masses")


def mass_below(law: Law, edges: Array) -> Array:
    """The probability of a score below each edge, which may lie beyond an atom and before the next score."""
    piece = np.searchsorted(law.starts, edges, side="right") - 1
    is_past = law.is_atom[piece] & (edges > law.starts[piece])
    return np.where(is_past, law.ends[piece], edges)


def with_edges_at_all_ends(model: fb.BinnedModel, scores: Array) -> fb.BinnedModel:
    """The same evidence with steps that begin at each score and just above each: the ends of where an edge may stand."""
    at = np.unique(scores)
    edges = np.unique(np.concatenate([at, np.nextafter(at, 1.0), model.bin_edges]))
    edges = edges[edges > 0.0]
    everyone = np.bincount(np.searchsorted(edges, scores, side="right"), minlength=len(edges) + 1)
    parts = {name: getattr(model, name) for name in ("counts", "label_sums", "tie_counts", "edges_share", "ties", "n_tied")}
    return fb.BinnedModel.from_parts(
        edges=edges, values=np.linspace(0.0, 1.0, len(edges) + 1), scheme="certified-fine", step_counts=everyone,
        first_step=np.append(0, np.searchsorted(edges, model.bin_edges) + 1), n_samples=model.n_samples,
        n_positive=model.n_positive, n_bins_asked=model.n_bins_asked, **parts,
    )  # fmt: skip


def bins_of(law: Law, model: fb.BinnedModel) -> tuple[Array, Array, Array]:
    """The mass below the start of each step, below its end, and the rate of each bin."""
    edges = mass_below(law, model.edges)
    starts, ends = np.append(0.0, edges), np.append(edges, 1.0)
    ones = np.add.reduceat(law.ones_below(ends) - law.ones_below(starts), model.first_step)
    return starts, ends, ones / np.add.reduceat(ends - starts, model.first_step)


def failures(cell: Cell, name: str, repetitions: int) -> dict[str, float]:
    """How often the promise fails for the values that are served, may fail for some values, and masses leave their ends."""
    law, n, unlabelled = cell
    rng = np.random.default_rng([zlib.crc32(name.encode()), 26])
    failed = dict.fromkeys(KINDS, 0)
    for _ in range(repetitions):
        scores, labels = (column[0] for column in law.draw(rng, (1, n + unlabelled)))
        labelled = np.sort(rng.permutation(n + unlabelled)[:n])
        others = np.delete(scores, labelled) if unlabelled else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fb.FastbinWarning)
            model = fb.CertifiedCalibration(seed=int(rng.integers(2**62))).fit(
                scores[labelled], labels[labelled], unlabelled=others
            ).model_  # fmt: skip
        assert model.scheme == "certified-fine"
        starts, ends, rates = bins_of(law, model)
        served = np.add.reduceat(model.values * (ends - starts), model.first_step)
        served /= np.add.reduceat(ends - starts, model.first_step)
        failed["served"] += bool((np.abs(served - rates) > model.certificate(ALPHA).radii).any())

        interior = require_interior(model)
        level = interior.levels(ALPHA, int(interior.is_covered.sum()))
        hard = model if unlabelled else with_edges_at_all_ends(model, scores)
        starts, ends, rates = bins_of(law, hard)
        low, high = interval_of_interior(interior, exact_ends, (1.0 - SHARE_OF_MASSES) * level).T
        inner, bins, least, most = StepMasses(hard).shares_below(SHARE_OF_MASSES * level)
        of_bins = np.append(starts[hard.first_step], 1.0)
        share = (starts[inner] - of_bins[bins]) / np.diff(of_bins)[bins]
        outside = bool(((share < least - 1e-12) | (share > most + 1e-12)).any())
        failed["masses"] += outside
        failed["any values"] += outside or bool((interior.is_covered & ((rates < low) | (rates > high))).any())
    return {kind: count / repetitions for kind, count in failed.items()}


@pytest.mark.sampled
@pytest.mark.parametrize("repetitions", sizes(60, 20_000))
@pytest.mark.parametrize("name", CELLS)
def test_fine_steps_keep_the_promise(name: str, repetitions: int) -> None:
    found = failures(CELLS[name], name, repetitions)
    for kind in ("served", "any values"):
        assert found[kind] <= limit(repetitions, 2 * len(CELLS))
    # The masses have a tenth of the level of each bin.
    assert found["masses"] <= limit(repetitions, len(CELLS), 1.06 * SHARE_OF_MASSES * ALPHA)


def test_one_rank_beside_an_edge_is_not_enough() -> None:
    """Were the edge above a sample held to be at that of the sample itself, masses would leave their ends more often."""
    cell, name = CELLS["linear, 60"], "one rank"
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    wrong = right = 0
    for _ in range(100):
        scores, labels = (column[0] for column in cell.law.draw(rng, (1, cell.n)))
        model = fb.CertifiedCalibration(1).fit(scores, labels).model_
        # An edge just below the next sample, in the widest gap: far more lies below it than below the sample before.
        hard = with_edges_at_all_ends(model, scores)
        masses = StepMasses(hard)
        inner, _, low, high = masses.shares_below(0.5)
        share = hard.edges[inner - 1]
        right += bool(((share < low) | (share > high)).any())
        masses.apart = False
        masses._ranks = masses._ranks - 1  # the sample below the edge for both ends
        _, _, low, high = masses.shares_below(0.5)
        wrong += bool(((share < low) | (share > high)).any())
    assert right < wrong


def table(repetitions: int = 20_000) -> str:
    """All cells: how often the promise fails for what is served, for any values, and how often masses leave their ends."""
    lines = []
    for name, cell in CELLS.items():
        found = failures(cell, name, repetitions)
        lines.append(f"{name:24s}" + "  ".join(f"{kind} {rate:.4f}" for kind, rate in found.items()))
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
