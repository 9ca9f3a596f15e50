"""An outcome of a monitor, against the exponentials that its evidence is made of."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import cycle

import cases
import numpy as np
import pytest
from measure import paired

import fastbin as fb
from fastbin.online import CalibrationMonitor
from fastbin.online.pooled import GRID, MOST_STARTS, N_ALTERNATIVES

BATCH = 1000


def _model(n_bins: int) -> fb.BinnedModel:
    return fb.BinnedModel.from_parts(
        edges=np.arange(1, n_bins) / n_bins, values=(np.arange(n_bins) + 0.5) / n_bins, scheme="explicit"
    )


def _batches(model: fb.BinnedModel, number: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Scores with labels whose true rates are the values."""
    rng = np.random.default_rng(1)
    scores = rng.random((number, BATCH))
    return [(own, rng.random(BATCH) < model.predict(own)) for own in scores]


def _counted(model: fb.BinnedModel, scores: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    bins = model.assign(scores)
    ones = np.bincount(bins, weights=labels, minlength=model.n_bins)
    return np.bincount(bins, minlength=model.n_bins), ones.astype(np.int64)


def _again(update: object, batches: list[tuple[np.ndarray, np.ndarray]]) -> object:
    """A call that updates with the next batch."""
    rest: Iterator[tuple[np.ndarray, np.ndarray]] = cycle(batches)
    return lambda: update(*next(rest))


@pytest.mark.parametrize("n_bins", [10, 100])
def bench_monitor(n_bins: int, benchmark, report) -> None:
    model = _model(n_bins)
    rows = _batches(model, 100)
    counts = [_counted(model, *batch) for batch in rows]
    by_rows, by_counts = (CalibrationMonitor(model, tolerance=0.03) for _ in range(2))
    for batch, counted in zip(rows[:20], counts[:20], strict=True):  # until all later starts are there
        by_rows.update(*batch)
        by_counts.update_counts(*counted)
    # The answer before the clock: batches of whole thousands begin again where counts do.
    assert by_rows.e_value == pytest.approx(by_counts.e_value, rel=1e-9)
    n_exponentials = BATCH * (len(GRID) * (1 + MOST_STARTS) + 2 * N_ALTERNATIVES * MOST_STARTS)
    exponents = np.random.default_rng(2).normal(size=n_exponentials)
    timed = paired(
        {
            "update": _again(by_rows.update, rows[20:]),
            "counts": _again(by_counts.update_counts, counts[20:]),
            "np.exp": partial(np.exp, exponents),
        }
    )
    case = f"monitor of {n_bins} bins, batches of {BATCH:,}"
    report(case, cases.LABEL_US, 1e6 * timed.seconds("update") / BATCH)
    report(case, cases.UPDATE_TO_EXP, timed.ratio("update", to="np.exp"))
    report(case, cases.COUNTS_MS, 1e3 * timed.seconds("counts"))
    benchmark.pedantic(_again(by_rows.update, rows), rounds=2)
