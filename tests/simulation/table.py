"""Coverage and width of every bound, measured: the tables of docs/guarantees.md.

    cd tests; python -m simulation.table             print them
    cd tests; python -m simulation.table --write     put them into docs/guarantees.md, between its markers

fastbin must be installed. Takes some minutes at the default 20,000 repetitions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from simulation.pages import DOCS, options, write
from simulation.simulation import POPULATIONS, Binned, binned

import fastbin as fb
from fastbin import guarantees
from fastbin.guarantees.certificate import ASSUMPTIONS
from fastbin.intervals import (
    betting,
    bonferroni,
    clopper_pearson,
    empirical_bernstein,
    self_normalised_hoeffding,
    sidak,
    weighted_empirical_bernstein,
)
from fastbin.theory import theorem7

ALPHA = 0.1
PAGE = DOCS / "guarantees.md"
SIZES = ((1000, 10), (3000, 10), (5000, 25))


def _markdown(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _number(value: float) -> str:
    return f"{value:.4f}"


def _share(value: float) -> str:
    return f"{value:.3f}"


def assumptions() -> str:
    """The assumptions of certificates, in their words."""
    rows = [[sentence, where, otherwise] for sentence, where, otherwise in ASSUMPTIONS.values()]
    return _markdown(["what is assumed", "in which certificates", "where it does not hold"], rows)


def promised() -> str:
    """The promise of each bound for n samples and n_bins bins, before any label is seen."""
    rows = []
    for n, n_bins in ((500, 5), *SIZES, (20_000, 22), (100_000, 50)):
        row = [f"{n:,}", str(n_bins)]
        for kind in ("conditional", "marginal", "ece", "expected-ece"):
            papers, ours = (guarantees.epsilon(n, n_bins, ALPHA, kind, bound) for bound in ("hoeffding", "a-priori"))
            row += [_number(papers), _number(ours)]
        rows.append(row)
    header = ["n", "bins", "(8)", "a-priori", "(11) marginal", "a-priori", "ECE by (8)", "direct"]
    header += ["mean ECE by Theorem 4(b)", "exact"]
    return _markdown(header, rows)


class Statement(NamedTuple):
    """A promise, what it needs, when to ask for it, and how."""

    words: str
    needs: str
    use: str
    method: fb.UniformMassBinning | fb.CertifiedCalibration
    asked: dict[str, str]


DRAWS, NO_ATOMS = "rows are draws of the population", "rows are draws of the population; no atoms at edges"
BINS, FINE, CAPPED = fb.UniformMassBinning(10), fb.CertifiedCalibration(10), fb.CertifiedCalibration(10, recentre="cap")
STATEMENTS = [
    Statement(*of)
    for of in (
        ("all bins, every value: `UniformMassBinning`", NO_ATOMS, "each value is to be defended", BINS, {}),
        ('the same by `bound="hull"`', DRAWS, "scores may repeat, though no two samples did", BINS, {"bound": "hull"}),
        ('the bin of the next row: `kind="marginal"`', NO_ATOMS, "one row at a time matters", BINS, {"kind": "marginal"}),
        ('calibration error: `kind="ece"`', NO_ATOMS, "errors may offset one another", BINS, {"kind": "ece"}),
        ("all bins, averages served: `CertifiedCalibration`", NO_ATOMS, "fine values, and averages are enough", FINE, {}),
        ('the same with `recentre="cap"`', NO_ATOMS, "epsilon is filed", CAPPED, {}),
        ('its calibration error on the bins: `kind="ece"`', NO_ATOMS, "errors may offset one another", FINE, {"kind": "ece"}),
        (
            'all bins, averages served to the calibration rows: `about="calibration rows"`, with `recentre="cap"`',
            "independent labels alone",
            "an audit of rows that nobody drew", CAPPED, {"about": "calibration rows"},
        ),
        (
            'the mean error: `kind="mean-error"`', "rows are draws of the population; the truth rises with the score",
            "single values are read", FINE, {"kind": "mean-error"},
        ),
        (
            "the mean error on the calibration rows", "labels independent given scores; the truth rises with these",
            "an audit of single values", FINE, {"kind": "mean-error", "about": "calibration rows"},
        ),
    )
]  # fmt: skip


def epsilons(sizes: tuple[int, ...] = (1000, 10_000, 100_000, 1_000_000)) -> str:
    """Epsilon of each statement: means over samples whose label is 1 at the rate of its score."""
    found: list[list[str]] = [[each.words, each.needs, each.use] for each in STATEMENTS]
    for n in sizes:
        rng = np.random.default_rng([7, n])
        every = rng.random((max(2, min(20, 10**6 // n)), n))
        samples = [(scores, (rng.random(n) < scores).astype(np.uint8)) for scores in every]
        for row, (*_, method, asked) in zip(found, STATEMENTS, strict=True):
            row.append(_number(float(np.mean([method.fit(*sample).certificate(**asked).epsilon for sample in samples]))))
    return _markdown(["promise", "what it needs", "when to ask for it", *(f"n = {n:,}" for n in sizes)], found)


def _conditional(sample: Binned, bound: object, level: float) -> tuple[float, float]:
    """How often all bins are covered, and the mean over repetitions of the largest radius around the value."""
    flat = bound(sample.label_sums.ravel(), sample.counts.ravel(), level)  # type: ignore[operator]
    intervals = flat.reshape(*sample.counts.shape, 2)
    inside = (intervals[..., 0] <= sample.frequencies) & (sample.frequencies <= intervals[..., 1])
    radii = np.maximum(intervals[..., 1] - sample.values, sample.values - intervals[..., 0])
    return float(inside.all(axis=1).mean()), float(radii.max(axis=1).mean())


def _fixed(sample: Binned, radius: float) -> float:
    return float((sample.errors() <= radius).all(axis=1).mean())


def conditional(n: int, n_bins: int, repetitions: int) -> str:
    """Coverage and size of the conditional certificates."""
    rows = []
    promises = {bound: guarantees.epsilon(n, n_bins, ALPHA, bound=bound) for bound in ("hoeffding", "a-priori")}
    for name, population in POPULATIONS.items():
        sample = binned(population, n, n_bins, "umd", repetitions, seed=1)
        bernstein = _conditional(sample, empirical_bernstein, bonferroni(ALPHA, n_bins))
        exact = _conditional(sample, clopper_pearson, sidak(ALPHA, n_bins))
        rows.append([name])
        for coverage, size in (
            (_fixed(sample, promises["hoeffding"]), promises["hoeffding"]),
            bernstein,
            (_fixed(sample, promises["a-priori"]), promises["a-priori"]),
            exact,
        ):
            rows[-1] += [_share(coverage), _number(size)]
    header = ["population"]
    for bound in ("GR21 (8)", "GPR20 Theorem 4", "a-priori", "Clopper-Pearson"):
        header += [f"{bound}: coverage", "epsilon"]
    return _markdown(header, rows)


def marginal_and_ece(n: int, n_bins: int, repetitions: int) -> str:
    """Coverage and size of the marginal certificates and of those for the ECE."""
    rows = []
    papers = guarantees.epsilon(n, n_bins, ALPHA, "marginal", "hoeffding")
    limit, direct = (guarantees.epsilon(n, n_bins, ALPHA, "ece", bound) for bound in ("hoeffding", "a-priori"))
    for name, population in POPULATIONS.items():
        sample = binned(population, n, n_bins, "umd", repetitions, seed=2)
        flat = clopper_pearson(sample.label_sums.ravel(), sample.counts.ravel(), ALPHA)
        intervals = flat.reshape(*sample.counts.shape, 2)
        radii = np.maximum(intervals[..., 1] - sample.values, sample.values - intervals[..., 0])
        errors, ece = sample.errors(), sample.ece()
        rows.append(
            [
                name, _share(float((sample.masses * (errors <= papers)).sum(axis=1).mean())), _number(papers),
                _share(float((sample.masses * (errors <= radii)).sum(axis=1).mean())), _number(float(radii.max(axis=1).mean())),
                _number(float((sample.masses * radii).sum(axis=1).mean())), _number(float(ece.mean())),
                _share(float((ece <= limit).mean())), _number(limit), _share(float((ece <= direct).mean())), _number(direct),
            ]
        )  # fmt: skip
    header = ["population", "GR21 (11): coverage", "epsilon", "Clopper-Pearson: coverage", "epsilon", "mean radius"]
    header += ["mean ECE", "ECE by (8): coverage", "bound", "ECE direct: coverage", "bound"]
    return _markdown(header, rows)


def weighted(repetitions: int) -> str:
    """Coverage and half-width of the weighted intervals at 299 samples, at the level of one of 10 bins."""
    rows, level = [], sidak(ALPHA, 10)
    grid = (np.arange(10**6) + 0.5) / 10**6
    for name, low, high in (("weights in [0.5, 1.5]", 0.5, 1.5), ("weights in [0.2, 2.6]", 0.2, 2.6)):
        target = float(((low + (high - low) * grid) * (0.25 + 0.5 * grid)).sum() / (low + (high - low) * grid).sum())
        x = np.random.default_rng(5).random((repetitions, 299))
        w, y = (low + (high - low) * x).ravel(), (np.random.default_rng(6).random(x.shape) < 0.25 + 0.5 * x).ravel()
        bins, counts = np.repeat(np.arange(repetitions), 299), np.full(repetitions, 299)
        sums = np.bincount(bins, w * y), np.bincount(bins, w), counts
        row = [name]
        for intervals in (
            theorem7(*sums, bonferroni(ALPHA, 10), low, high),
            self_normalised_hoeffding(*sums, level, high),
            weighted_empirical_bernstein(w, y, level, high, bins=bins),
            betting(w, y, level, high, bins=bins),
        ):
            covered = (intervals[:, 0] <= target) & (target <= intervals[:, 1])
            row += [_share(float(covered.mean())), f"{np.diff(intervals, axis=1).mean() / 2:.3f}"]
        rows.append(row)
    header = ["setting"]
    for method in ("Theorem 7", "Hoeffding", "Bernstein", "betting"):
        header += [f"{method}: coverage", "half-width"]
    return _markdown(header, rows)


def tables(repetitions: int) -> dict[str, str]:
    """Every table by the name of its marker."""
    result = {
        "assumptions": assumptions(),
        "promised": promised(),
        "epsilons": epsilons(),
        "weighted": weighted(min(repetitions, 2000)),
    }
    for n, n_bins in SIZES:
        result[f"conditional-{n}-{n_bins}"] = conditional(n, n_bins, repetitions)
    result["marginal-1000-10"] = marginal_and_ece(1000, 10, repetitions)
    result["marginal-3000-10"] = marginal_and_ece(3000, 10, repetitions)
    return result


def main() -> None:
    asked = options(__doc__, "repetitions", 20_000)
    made = tables(asked.repetitions)
    if asked.write:
        write(PAGE, made)
    else:
        print("\n\n".join(f"{name}\n\n{table}" for name, table in made.items()))


if __name__ == "__main__":
    main()
