"""Fitting against one pass over the scores, against sorting them, and against scikit-learn."""

from __future__ import annotations

from functools import partial

import cases
import numpy as np
import pytest
from cases import FITS, LARGEST_FIT, SORTED_FITS, FitCase, rows
from measure import Contestant, paired, peak_extra_memory

import fastbin as fb
from fastbin._core.fit import choose_sort

# Where boundary samples stand alone, so that their order is no matter of keys.
WITHOUT_TIES = ("uniform", "Beta(.5, 5)", "sorted")


def _ranks(n_samples: int, n_bins: int) -> np.ndarray:
    """Of the boundary samples, from 1."""
    return -(-np.arange(1, n_bins) * (n_samples + 1) // n_bins)


def _by_sorting(scores: np.ndarray, labels: np.ndarray, n_bins: int) -> tuple[np.ndarray, np.ndarray]:
    """The obvious NumPy fit of "umd" for scores without ties: argsort, then sums between the boundaries."""
    order = np.argsort(scores)
    cuts = _ranks(len(scores), n_bins) - 1
    sums = np.add.reduceat(labels[order], np.concatenate(([0], cuts + 1)), dtype=np.int64)
    sums[:-1] -= labels[order[cuts]]
    return scores[order[cuts]], sums


def _check(
    case: FitCase, model: fb.BinnedModel, scores: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None
) -> None:
    """The answer before the clock: edges are order statistics, counts follow from ranks, label sums from sorting."""
    n_samples = len(scores)
    if case.weights == "integer":
        order = np.argsort(scores)
        samples_up_to = np.cumsum(weights[order])
        n_samples = int(samples_up_to[-1])
        edges = scores[order[np.searchsorted(samples_up_to, _ranks(n_samples, case.n_bins))]]
    elif case.shape in WITHOUT_TIES and case.scores == "float64" and case.n <= 10**7:
        edges, label_sums = _by_sorting(scores, labels.astype(np.uint8), case.n_bins)
        assert np.array_equal(model.label_sums, label_sums)
    else:
        ascending = np.sort(scores)
        edges = ascending[_ranks(n_samples, case.n_bins) - 1]
        if model.ties == "whole":  # some of these, and between them whole groups
            assert np.isin(model.edges, edges).all()
            below = np.append(np.searchsorted(ascending, model.edges), n_samples)
            left_out = 0 if model.tie_counts is None else (model.tie_counts[:, 0] > 0).astype(np.int64)
            assert np.array_equal(model.counts + left_out, np.diff(below, prepend=0))
            return
    assert np.array_equal(model.edges, edges)
    assert model.counts.sum() == n_samples - (case.n_bins - 1)


def _report_memory(case: FitCase, fit: Contestant, columns: tuple[np.ndarray, ...], report) -> None:
    extra = peak_extra_memory(fit)
    if extra is not None:
        report(case.name, cases.EXTRA_MEMORY, 100 * extra / sum(column.nbytes for column in columns))


@pytest.mark.filterwarnings("ignore::fastbin.FastbinWarning")  # of fewer bins, where scores tie
@pytest.mark.parametrize("case", FITS, ids=lambda case: case.name)
def bench_fit(case: FitCase, is_long: bool, benchmark, report) -> None:
    if not is_long and not case.is_short:
        pytest.skip("only with --long")
    columns = case.rows()
    scores, labels = columns[:2]
    fit = partial(fb.UniformMassBinning(case.n_bins).fit, *columns)
    _check(case, fit().model_, *columns)
    contestants = {"np.sum": partial(np.sum, scores), "fit": fit, "np.sort": partial(np.sort, scores)}
    timed = paired(contestants, seconds=8 if is_long else 2)
    report(case.name, cases.FIT_NS, 1e9 * timed.seconds("fit") / case.n)
    for quantity, value in (
        (cases.FIT_US, 1e6 * timed.seconds("fit")),
        (cases.FIT_TO_SORT, timed.ratio("fit", to="np.sort")),
    ):
        if quantity in case.asked:
            report(case.name, quantity, value)
    report(case.name, cases.FIT_TO_SUM, timed.ratio("fit", to="np.sum"))
    report(case.name, cases.SORT_TO_FIT, timed.ratio("np.sort", to="fit"))
    if cases.FIT_TO_ALLOWANCE in case.asked:
        report(case.name, cases.FIT_TO_ALLOWANCE, timed.seconds("fit") / (1.5 * timed.seconds("np.sort") + 50e-6))
    if cases.ARGSORT_TO_FIT in case.asked:
        slow = paired({"fit": fit, "argsort": partial(_by_sorting, scores, labels, case.n_bins)}, seconds=0, min_rounds=3)
        report(case.name, cases.ARGSORT_TO_FIT, slow.ratio("argsort", to="fit"))
    if case.n >= 10**6:
        _report_memory(case, fit, columns, report)
    benchmark.pedantic(fit, rounds=3)


@pytest.mark.parametrize("case", SORTED_FITS, ids=lambda case: case.name)
def bench_sorts(case: FitCase, report) -> None:
    """A fit with either sort, and with the one that is chosen by itself."""
    fit = partial(fb.UniformMassBinning(case.n_bins).fit, *case.rows())
    choose_sort(None)
    fit()
    chosen = choose_sort(None)

    def with_sort(by_digits: bool | None) -> fb.UniformMassBinning:
        choose_sort(by_digits)
        return fit()

    ways = {"fit": partial(with_sort, chosen), "by NumPy": partial(with_sort, False), "by digits": partial(with_sort, True)}
    models = [way().model_ for way in ways.values()]
    assert models[0] == models[1] == models[2]
    timed = paired(ways, seconds=1)
    choose_sort(None)  # for the benches that follow
    report(case.name, cases.BY_NUMPY_TO_FIT, timed.ratio("by NumPy", to="fit"))
    report(case.name, cases.BY_DIGITS_TO_FIT, timed.ratio("by digits", to="fit"))


def bench_fit_against_isotonic(benchmark, report) -> None:
    """scikit-learn's isotonic regression, the usual alternative."""
    isotonic = pytest.importorskip("sklearn.isotonic", reason="scikit-learn is not installed")
    case = next(case for case in FITS if cases.ISOTONIC_TO_FIT in case.asked)
    peer = isotonic.IsotonicRegression(out_of_bounds="clip")
    fit = partial(fb.UniformMassBinning(case.n_bins).fit, *case.rows())
    timed = paired({"fit": fit, "isotonic": partial(peer.fit, *case.rows())}, seconds=2, min_rounds=3)
    report(case.name, cases.ISOTONIC_TO_FIT, timed.ratio("isotonic", to="fit"))
    benchmark.pedantic(peer.fit, args=case.rows(), rounds=1)


def bench_largest_fit(is_long: bool, benchmark, report) -> None:
    """Linear to 1e8 rows: in passes over the data, it costs there what it costs at 1e7."""
    if not is_long:
        pytest.skip("only with --long")
    case = LARGEST_FIT
    calibrator = fb.UniformMassBinning(case.n_bins)
    columns, few = case.rows(), rows(case.shape, 10**7)
    fit = partial(calibrator.fit, *columns)
    _check(case, fit().model_, *columns)
    contestants = {
        "sum": partial(np.sum, columns[0]),
        "fit": fit,
        "sum of few": partial(np.sum, few[0]),
        "fit of few": partial(calibrator.fit, *few),
    }
    timed = paired(contestants, seconds=8)
    report(case.name, cases.FIT_NS, 1e9 * timed.seconds("fit") / case.n)
    report(case.name, cases.FIT_TO_SUM, timed.ratio("fit", to="sum"))
    report(case.name, cases.FIT_GROWTH, timed.ratio("fit", to="sum") / timed.ratio("fit of few", to="sum of few"))
    _report_memory(case, fit, columns, report)
    benchmark.pedantic(fit, rounds=1)


def bench_fit_threads(is_long: bool, benchmark, report) -> None:
    """Two threads against one, and the same model."""
    case = LARGEST_FIT if is_long else next(case for case in FITS if case.n == 10**7)
    columns = case.rows()
    one, two = (partial(fb.UniformMassBinning(case.n_bins).fit, *columns, n_threads=n) for n in (1, 2))
    assert one().model_ == two().model_
    timed = paired({"one": one, "two": two}, seconds=5 if is_long else 2)
    report(case.name, cases.ONE_TO_TWO_THREADS, timed.ratio("one", to="two"))
    benchmark.pedantic(two, rounds=2)


@pytest.mark.filterwarnings("ignore::fastbin.FastbinWarning")
@pytest.mark.parametrize("name", cases.FINE_FITS)
def bench_fine_fit(name: str, is_long: bool, report) -> None:
    shape, n, _ = cases.FINE_FITS[name]
    if not is_long and n > 10**6:
        pytest.skip("only with --long")
    scores, labels = rows(shape, n)
    bins, random, fine = fb.UniformMassBinning(10), fb.UniformMassBinning(10, ties="random"), fb.CertifiedCalibration(10)
    model = fine.fit(scores, labels).model_
    # The answer before the clock: the evidence is that of the bins, and steps count all rows.
    assert np.array_equal(model.bin_edges, bins.fit(scores, labels).model_.edges)
    assert np.array_equal(model.step_counts, np.bincount(model.step(scores), minlength=model.n_steps))
    fits = {"whole": bins, "random": random, "certified": fine}
    contestants = {name: partial(calibrator.fit, scores, labels) for name, calibrator in fits.items()}
    isotonic = pytest.importorskip("sklearn.isotonic", reason="scikit-learn is not installed")
    peer = isotonic.IsotonicRegression(out_of_bounds="clip")
    seconds = 8 if is_long else 2
    timed = paired({**contestants, "sort": partial(np.sort, scores)}, seconds=seconds)
    # By themselves: a call that takes many megabytes leaves the next one without its caches.
    ties = paired({name: contestants[name] for name in ("whole", "random")}, seconds=seconds / 2)
    peers = {"isotonic": partial(peer.fit, scores, labels.astype(np.float64)), "certified": contestants["certified"]}
    against = paired(peers, seconds=seconds / 2)
    report(name, cases.WHOLE_TO_RANDOM, ties.ratio("whole", to="random"))
    report(name, cases.CERTIFIED_TO_BINS, timed.ratio("certified", to="whole"))
    report(name, cases.CERTIFIED_US, 1e6 * timed.seconds("certified"))
    report(name, cases.CERTIFIED_TO_SORT, timed.ratio("certified", to="sort"))
    report(name, cases.CERTIFIED_TO_ISOTONIC, against.ratio("certified", to="isotonic"))
