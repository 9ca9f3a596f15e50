"""Fitting against one pass over the scores, against sorting them, and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from cases import LONG_FITS, SHORT_FITS, FitCase, rows
from measure import Contestant, paired

import fastbin as fb


def _by_sorting(scores: np.ndarray, labels: np.ndarray, n_bins: int) -> tuple[np.ndarray, np.ndarray]:
    """The obvious NumPy fit of "umd" for scores without ties: argsort, then sums between the boundaries."""
    order = np.argsort(scores)
    cuts = -(-np.arange(1, n_bins) * (len(scores) + 1) // n_bins) - 1
    sums = np.add.reduceat(labels[order], np.concatenate(([0], cuts + 1)), dtype=np.int64)
    sums[:-1] -= labels[order[cuts]]
    return scores[order[cuts]], sums


def _check(case: FitCase, scores: np.ndarray, labels: np.ndarray) -> None:
    """The answer before the clock: edges are order statistics, counts follow from ranks, sums from a histogram."""
    model = fb.UniformMassBinning(case.n_bins).fit(scores, labels).model_
    ordered = np.sort(scores)
    cuts = -(-np.arange(1, case.n_bins) * (len(scores) + 1) // case.n_bins) - 1
    assert np.array_equal(model.edges, ordered[cuts])
    assert model.counts.sum() == len(scores) - (case.n_bins - 1)
    if case.shape == "uniform":
        _, sums = _by_sorting(scores, labels, case.n_bins)
        assert np.array_equal(model.label_sums, sums)


def _contestants(case: FitCase, scores: np.ndarray, labels: np.ndarray) -> dict[str, Contestant]:
    calibrator = fb.UniformMassBinning(case.n_bins)
    return {
        "np.sum": lambda: np.sum(scores),
        "fastbin": lambda: calibrator.fit(scores, labels),
        "np.sort": lambda: np.sort(scores),
    }


@pytest.mark.parametrize(
    "case", SHORT_FITS + [case for case in LONG_FITS if case not in SHORT_FITS], ids=lambda case: case.name
)
def bench_fit(case: FitCase, is_long: bool, benchmark, report) -> None:
    if not is_long and case not in SHORT_FITS:
        pytest.skip("only with --long")
    scores, labels = rows(case.shape, case.n)
    _check(case, scores, labels)
    result = paired(_contestants(case, scores, labels), baseline="np.sum", seconds=10 if is_long else 2)
    benchmark.pedantic(fb.UniformMassBinning(case.n_bins).fit, args=(scores, labels), rounds=3)
    figures = {
        "ns_per_row": 1e9 * result.seconds["fastbin"] / case.n,
        "to_sum": result.ratio["fastbin"],
        "target_to_sum": case.at_most,
        "sort_over_fit": result.seconds["np.sort"] / result.seconds["fastbin"],
    }
    benchmark.extra_info.update(figures)
    report(fit=case.name, **{name: value if value is None else f"{value:.3g}" for name, value in figures.items()})


def bench_fit_against_argsort(benchmark, report) -> None:
    """argsort and reduceat, what one writes first."""
    scores, labels = rows("uniform", 10**6)
    result = paired(
        {
            "fastbin": lambda: fb.UniformMassBinning(100).fit(scores, labels),
            "argsort": lambda: _by_sorting(scores, labels, 100),
        },
        baseline="fastbin",
    )
    benchmark.pedantic(_by_sorting, args=(scores, labels, 100), rounds=2)
    report(fit="argsort + reduceat, n = 1e6, B = 100", times_slower=f"{result.ratio['argsort']:.3g}")
    benchmark.extra_info["times_slower"] = result.ratio["argsort"]


def bench_fit_against_isotonic(benchmark, report) -> None:
    """scikit-learn's isotonic regression, the usual alternative."""
    isotonic = pytest.importorskip("sklearn.isotonic", reason="scikit-learn is not installed")
    scores, labels = rows("uniform", 10**6)
    peer = isotonic.IsotonicRegression(out_of_bounds="clip")
    result = paired(
        {"fastbin": lambda: fb.UniformMassBinning(100).fit(scores, labels), "isotonic": lambda: peer.fit(scores, labels)},
        baseline="fastbin",
        seconds=3,
        min_rounds=3,
    )
    benchmark.pedantic(peer.fit, args=(scores, labels), rounds=1)
    report(fit="scikit-learn IsotonicRegression, n = 1e6", times_slower=f"{result.ratio['isotonic']:.3g}")
    benchmark.extra_info["times_slower"] = result.ratio["isotonic"]


def bench_fit_threads(is_long: bool, benchmark, report) -> None:
    """Two threads against one, and the same model."""
    n = 10**8 if is_long else 10**7
    scores, labels = rows("uniform", n)
    one = fb.UniformMassBinning(100).fit(scores, labels)
    two = fb.UniformMassBinning(100).fit(scores, labels, n_threads=2)
    assert one.model_ == two.model_
    result = paired(
        {
            "one": lambda: fb.UniformMassBinning(100).fit(scores, labels),
            "two": lambda: fb.UniformMassBinning(100).fit(scores, labels, n_threads=2),
        },
        baseline="two",
        seconds=5,
        min_rounds=5,
    )
    benchmark.pedantic(fb.UniformMassBinning(100).fit, args=(scores, labels), kwargs={"n_threads": 2}, rounds=2)
    report(fit=f"two threads, n = {n:.0e}", times_faster=f"{result.ratio['one']:.3g}", target=1.6)
    benchmark.extra_info["times_faster"] = result.ratio["one"]
