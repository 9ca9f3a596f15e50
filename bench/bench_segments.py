"""Many segments fitted at once, against one sort of all their scores, and against a fit of each."""

from __future__ import annotations

import time
from functools import partial

import cases
import numpy as np
import pytest
from cases import CERTIFIED_SEGMENTS, SEGMENT_FITS, SegmentCase
from measure import paired

import fastbin as fb
from fitting import bare


def _check(case: SegmentCase, models: fb.ModelSet, scores: np.ndarray, labels: np.ndarray, segments: np.ndarray) -> None:
    """The answer before the clock: some of the models are the fits of their own rows."""
    assert len(models) == models.n_models == case.n_segments
    binary = fb.UniformMassBinning(case.n_bins)
    for key in models.cells[:: max(1, case.n_segments // 5)]:
        rows = segments == key
        assert models[key] == bare(binary.fit(scores[rows], labels[rows]).model_)


def _one_by_one(binary: fb.UniformMassBinning, scores: np.ndarray, labels: np.ndarray, segments: np.ndarray) -> fb.ModelSet:
    """What one would write without it: a stable sort of the keys, and a fit of each run."""
    order = np.argsort(segments, kind="stable")
    keys, starts = np.unique(segments[order], return_index=True)
    runs = np.split(order, starts[1:])
    return fb.ModelSet({key: binary.fit(scores[run], labels[run]).model_ for key, run in zip(keys.tolist(), runs, strict=True)})


@pytest.mark.parametrize("case", SEGMENT_FITS, ids=lambda case: case.name)
def bench_segments(case: SegmentCase, is_long: bool, benchmark, report) -> None:
    if not is_long and case.n > 10**6:
        pytest.skip("only with --long")
    columns = case.rows()
    binary = fb.UniformMassBinning(case.n_bins)
    fit = partial(fb.multi.SegmentedBinning(binary).fit, *columns)
    _check(case, fit().model_, *columns)
    timed = paired({"np.sort": partial(np.sort, columns[0]), "fit": fit}, seconds=8 if is_long else 2)
    report(case.name, cases.FIT_NS, 1e9 * timed.seconds("fit") / case.n)
    report(case.name, cases.SEGMENTS_TO_SORT, timed.ratio("fit", to="np.sort"))
    slow = paired({"fit": fit, "one by one": partial(_one_by_one, binary, *columns)}, seconds=0, min_rounds=3)
    report(case.name, cases.ONE_BY_ONE_TO_SEGMENTS, slow.ratio("one by one", to="fit"))
    benchmark.pedantic(fit, rounds=2)


@pytest.mark.parametrize("case", CERTIFIED_SEGMENTS, ids=lambda case: case.name)
def bench_certified_segments(case: SegmentCase, is_long: bool, benchmark, report) -> None:
    """The default of segments against plain bins, on the same rows."""
    if not is_long and case.n > 10**6:
        pytest.skip("only with --long")
    columns = case.rows()
    methods = {"bins": fb.UniformMassBinning(case.n_bins), "certified": fb.CertifiedCalibration(case.n_bins)}
    fits = {name: partial(fb.multi.SegmentedBinning(method).fit, *columns) for name, method in methods.items()}
    models, key = fits["certified"]().model_, columns[2][0]
    rows = columns[2] == key
    assert models[key] == bare(methods["certified"].fit(columns[0][rows], columns[1][rows]).model_)
    timed = paired(fits, seconds=8 if is_long else 2, min_rounds=3, clock=time.process_time)
    report(case.name, cases.CERTIFIED_TO_BINS, timed.ratio("certified", to="bins"))
    report(case.name, cases.A_SEGMENT_US, 1e6 * timed.seconds("certified") / case.n_segments)
    benchmark.pedantic(fits["certified"], rounds=2)
