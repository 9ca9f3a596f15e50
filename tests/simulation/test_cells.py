"""Joint promises about classes and segments fail at most as often as they say.

    cd tests; python -m simulation.test_cells        the table of docs/guarantees.md at 2,000 samples, in half an hour

With names of cases as arguments, their rows alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from simulation.cells import MEASURES, Classes, Segments, classes, measured, segments
from simulation.failures import ALPHA, assert_at_most, assert_mean_at_most
from simulation.pages import cells as entries
from simulation.pages import table
from simulation.table import PAGE

import fastbin as fb
from fastbin.intervals import clopper_pearson

# Ties leave fewer bins than asked for, and of every set its fit says so.
pytestmark = pytest.mark.filterwarnings("ignore::fastbin.FastbinWarning")

EVERY = tuple(MEASURES)
OF_MAPS = tuple(name for name in EVERY if name != "a-priori")  # whose values are not means
AT_ONCE = ("conditional", "a-priori", "intervals", "epsilon")


class Case(NamedTuple):
    """An estimator, and the population whose samples of n rows it is fitted to."""

    population: Callable[[], Segments | Classes]
    n: int
    estimator: Callable[[], Any]
    names: tuple[str, ...] = EVERY


def certified(n_bins: int) -> fb.CertifiedCalibration:
    return fb.CertifiedCalibration(n_bins=n_bins)


N_SEGMENTS = 33_140  # rows, of which the segments have 30 to 3,000
CLASS_WISE, SEGMENTED = fb.multi.ClassWiseBinning, fb.multi.SegmentedBinning
TOP, AUTO = partial(fb.multi.TopLabelBinning, per_class=True), fb.multi.TopLabelBinning
CASES = {
    "top label, 3 classes": Case(lambda: classes(3, rare=False), 1500, lambda: TOP(50)),
    "top label, 3, rare": Case(lambda: classes(3), 1500, lambda: TOP(50)),
    "top label, 3, rare, tied": Case(lambda: classes(3, rounded=True), 1500, lambda: TOP(50)),
    "top label, 10, rare": Case(lambda: classes(10), 5000, lambda: TOP(50)),
    "top label, 10, rare, tied": Case(lambda: classes(10, rounded=True), 5000, lambda: TOP(50)),
    "top label, 10, certified": Case(lambda: classes(10), 5000, lambda: TOP(calibrator=certified(5)), OF_MAPS),
    "confidence, 10, tied": Case(lambda: classes(10, rounded=True), 5000, lambda: AUTO(100, per_class=False)),
    "class-wise, 3 classes": Case(lambda: classes(3, rare=False), 1500, lambda: CLASS_WISE(100)),
    "class-wise, 3, rare, tied": Case(lambda: classes(3, rounded=True), 1500, lambda: CLASS_WISE(100)),
    "class-wise, 10, rare, tied": Case(lambda: classes(10, rounded=True), 2000, lambda: CLASS_WISE(200)),
    "class-wise, 10, certified": Case(lambda: classes(10), 2000, lambda: CLASS_WISE(calibrator=certified(5)), OF_MAPS),
    "50 segments": Case(segments, N_SEGMENTS, lambda: SEGMENTED(fb.UniformMassBinning(5)), AT_ONCE),
    "50 segments, tied": Case(
        lambda: segments(rounded=True), N_SEGMENTS, lambda: SEGMENTED(fb.UniformMassBinning(5)), AT_ONCE
    ),
    "50 segments, tied, certified": Case(
        lambda: segments(rounded=True), N_SEGMENTS, lambda: SEGMENTED(certified(3)), ("conditional", "intervals", "epsilon")
    ),
    "top label, 26, auto": Case(lambda: classes(26, rare=False), 3000, AUTO, AT_ONCE),
    "top label, 26, auto, certified": Case(
        lambda: classes(26, rare=False), 3000, lambda: AUTO(calibrator=fb.CertifiedCalibration()), ("conditional", "epsilon")
    ),
}  # fmt: skip
# Not in the table of the page, for the time that 2,000 samples take; the slow tests look at them.
OF_AUTO = ("top label, 26, auto", "top label, 26, auto, certified")
UNTABLED = ("class-wise, 10, certified", "50 segments, tied, certified", *OF_AUTO)
TABLED = [name for name in CASES if name not in UNTABLED]
QUICK = {
    "top label, 3 classes": EVERY,
    "top label, 3, rare, tied": EVERY,
    "class-wise, 3, rare, tied": EVERY,
    "50 segments, tied": ("conditional", "intervals"),
    "top label, 26, auto": AT_ONCE,
    "top label, 26, auto, certified": ("conditional", "epsilon"),
}


def run(case: Case, repetitions: int, seed: int, names: tuple[str, ...]) -> dict[str, Any]:
    """The estimator has the same seed in every repetition, 0."""
    return measured(case.population(), case.n, case.estimator(), repetitions, seed, names)


def check(found: dict[str, Any]) -> None:
    for name, values in found.items():
        if name == "marginal":
            assert_mean_at_most(values, ALPHA)
        elif name != "epsilon":
            assert_at_most(int(values.sum()), len(values))


@pytest.mark.sampled
@pytest.mark.parametrize("name", list(QUICK))
def test_joint_promises(name: str) -> None:
    found = run(CASES[name], 40, 11, QUICK[name])
    check(found)
    assert name not in OF_AUTO or found["epsilon"].max() <= 0.15


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CASES))
def test_joint_promises_at_full_size(name: str) -> None:
    found = run(CASES[name], 2000, 12, CASES[name].names)
    check(found)
    assert name not in OF_AUTO or np.quantile(found["epsilon"], 0.99) <= 0.15


def test_the_populations_are_what_they_are_called() -> None:
    for k, n in ((3, 1500), (10, 5000)):
        for rounded in (False, True):
            expected = n * np.bincount(classes(k, rounded).tops.cells, minlength=k) / len(classes(k).matrix)
            assert 20 < expected[1] < 45, expected
            assert expected[-1] == 0
        scores = classes(k, rounded=True).matrix
        assert (np.sort(scores, axis=1)[:, -1] == np.sort(scores, axis=1)[:, -2]).mean() > 0.01
    sizes = N_SEGMENTS * np.bincount(segments().cells) / len(segments().cells)
    assert len(sizes) == 50
    assert 25 < sizes.min() < 35
    assert 2900 < sizes.max() < 3100
    tops = classes(10).tops
    assert np.abs(tops.chances - tops.scores).mean() > 0.1


def test_the_truth_is_that_of_the_rows_that_fall_in_each_bin() -> None:
    # Row by row, with the library's own search for the bin.
    for population, n, estimator in (
        (segments(rounded=True), 4000, SEGMENTED(fb.UniformMassBinning(4))),
        (segments(rounded=True), 4000, SEGMENTED(certified(3))),
        (classes(10, rounded=True).tops, 3000, SEGMENTED(fb.UniformMassBinning(6))),
    ):
        fitted = population.fit(np.random.default_rng(3), n, estimator)
        models = fitted.models
        rows = np.isin(population.cells, models.cells)
        scores, cells, chances = population.scores[rows], population.cells[rows], population.chances[rows]
        bins = models.assign_all(scores, cells)
        counts = np.bincount(bins, minlength=models.n_bins)
        begins = [model.tie_counts is not None and model.tie_counts[0, 0] > 0 for _, model in models.numbered]
        same = ~np.isin(np.arange(models.n_bins), models.first_bin[:-1][begins])  # of the others a part is promised
        assert np.count_nonzero(same) > models.n_bins / 2
        for found, of_rows in ((fitted.rates, chances), (fitted.served, models.predict(scores, cells))):
            assert found[same] == pytest.approx((np.bincount(bins, of_rows, models.n_bins) / counts)[same], abs=1e-9)
        shares = (counts / counts.sum())[same]
        assert fitted.masses[same] / fitted.masses[same].sum() == pytest.approx(shares / shares.sum(), abs=1e-12)


def test_the_mix_of_a_pool_is_that_of_its_calibration_samples() -> None:
    """Cells that are pooled for having few rows have fewer than their share: an assumption of the certificate, and why.

    100 cells, half of them with 50 rows on average and a rate of .9, the others with 10 and .1; below 50 rows they are pooled.
    """
    rng = np.random.default_rng(6)
    expected, rates = np.repeat([50, 10], 50), np.repeat([0.9, 0.1], 50)
    n, misses = int(expected.sum()), np.zeros(2, np.int64)
    for _ in range(300):
        cells = rng.choice(100, n, p=expected / n)
        fit = SEGMENTED(fb.UniformMassBinning(1)).fit(np.full(n, 0.5), rng.random(n) < rates[cells], cells)
        pooled = np.isin(np.arange(100), fit.model_.pooled_cells)
        assert fit.model_.pool is not None
        low, high = clopper_pearson(fit.model_.pool.label_sums, fit.model_.pool.counts, ALPHA)[0]
        for i, weights in enumerate((np.bincount(cells, minlength=100), expected)):
            misses[i] += not low <= np.average(rates[pooled], weights=weights[pooled]) <= high
    assert_at_most(int(misses[0]), 300)
    assert misses[1] > 0.4 * 300
    assert any("shares of its population" in sentence for sentence in fit.certificate().assumptions)


def test_the_table_of_the_page_is_about_these_cells() -> None:
    rows = entries(table(PAGE, "cells"), skip=0)
    assert rows[0] == ["cells", "rows", *EVERY]
    assert [row[0] for row in rows[2:]] == TABLED
    for row in rows[2:]:
        assert int(row[1].replace(",", "")) == CASES[row[0]].n
        coverages = [float(entry) for entry in row[2:-1] if entry]
        assert len(coverages) == len(CASES[row[0]].names) - 1
        assert min(coverages) > 0.88  # 0.9 less three standard errors of 2,000 repetitions


def lines(repetitions: int, names: Sequence[str]) -> list[str]:
    """For each case, how often each promise holds, and the mean epsilon of the default certificate."""
    written = ["| cells | rows | " + " | ".join(EVERY) + " |", "| --- " * (len(EVERY) + 2) + "|"]
    for name in names:
        case = CASES[name]
        found = {of: float(values.mean()) for of, values in run(case, repetitions, 12, case.names).items()}
        cells = [("" if of not in found else f"{found[of]:.3f}" if of == "epsilon" else f"{1 - found[of]:.3f}") for of in EVERY]
        written.append(f"| {name} | {case.n:,} | " + " | ".join(cells) + " |")
        print(written[-1], file=sys.stderr)
    return written


if __name__ == "__main__":
    print("\n".join(lines(2000, sys.argv[1:] or TABLED)))
