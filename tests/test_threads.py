"""Threads and forked children: the same answers everywhere, and nobody stalls or dies."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import numpy as np
import pytest
from wordings import refuses

import fastbin as fb
from fastbin._base.errors import without_warnings
from fresh_python import run_python

N_THREADS = 8


def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    scores = np.random.default_rng(8).integers(0, 1001, n) / 1000
    return scores, (np.random.default_rng(9).random(n) < scores).astype(np.uint8)


def in_threads(work: Callable[[int], Any]) -> list[Any]:
    """work(0) ... work(7), all started at once."""
    barrier = threading.Barrier(N_THREADS)

    def start(number: int) -> Any:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(N_THREADS) as pool:
        return list(pool.map(start, range(N_THREADS)))


def test_one_model_scored_by_many_threads() -> None:
    scores, labels = rows(20_000)
    model = fb.UniformMassBinning(n_bins=20, ties="random").fit(scores, labels).model_
    assert model.needs_key
    keys = np.arange(len(scores), dtype=np.uint64) << np.uint64(40)
    expected = model.predict(scores, tie_keys=keys)
    bins = model.assign(scores, tie_keys=keys)
    sample = Random(1).sample(range(len(scores)), 500)

    def work(number: int) -> None:
        out = np.empty(len(scores))
        for _ in range(20):
            assert np.array_equal(model.predict(scores, tie_keys=keys, out=out), expected)
            assert np.array_equal(model.assign(scores, tie_keys=keys), bins)
        assert [model.predict_one(scores[i], tie_key=int(keys[i])) for i in sample] == [expected[i] for i in sample]
        assert fb.BinnedModel.from_bytes(model.to_bytes()) == model

    in_threads(work)


def test_keys_drawn_in_threads_differ() -> None:
    """The stream of drawn keys is the model's own; two threads never share a place in it."""
    model = fb.UniformMassBinning(n_bins=2, ties="random").fit([0.5] * 100, [0, 1] * 50).model_
    shared = in_threads(lambda number: [model.predict([0.5] * 64).tolist() for _ in range(100)])
    draws = [tuple(draw) for draws in shared for draw in draws]
    assert len(set(draws)) == len(draws)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_many_fits_at_once(n_threads: int) -> None:
    """Fits in Python threads, each with threads of its own: no shared state, the same bytes."""
    scores, labels = rows(60_000)
    expected = fb.UniformMassBinning(n_bins=20).fit(scores, labels).model_.to_bytes()

    def work(number: int) -> bytes:
        return fb.UniformMassBinning(n_bins=20).fit(scores, labels, n_threads=n_threads).model_.to_bytes()

    assert set(in_threads(work)) == {expected}


def test_a_fit_of_another_thread_warns_while_one_holds_its_warnings_back() -> None:
    """Filters of the standard library are of the process; whoever sets them in two threads leaves those of one behind."""
    scores, labels = rows(200)
    hard = (scores > 0.5).astype(float)
    inside, done = threading.Event(), threading.Event()

    def hold() -> None:
        with without_warnings():
            inside.set()
            done.wait()
            fb.UniformMassBinning(n_bins=2).fit(hard, labels)

    def fit(number: int) -> None:
        inside.wait()
        fb.UniformMassBinning(n_bins=2).fit(hard, labels)

    holding = threading.Thread(target=hold)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        holding.start()
        try:
            in_threads(fit)
        finally:
            done.set()
            holding.join()
    told = [each for each in caught if "predicted labels" in str(each.message)]
    assert len(told) == N_THREADS
    assert {each.filename for each in told} == {__file__}


def test_what_holds_warnings_back_leaves_the_filters_alone() -> None:
    scores, labels = rows(2000)
    model = fb.UniformMassBinning(n_bins=2).fit(scores, labels).model_
    before = list(warnings.filters)
    in_threads(lambda number: [fb.engines.verify_data(model, score=scores, label=labels) for _ in range(50)])
    assert list(warnings.filters) == before


def test_a_bad_row_seen_by_any_thread_is_refused() -> None:
    """However the threads overtake each other: what one has seen, no other may overwrite."""
    scores, labels = rows(120_000)
    before = threading.active_count()
    for position in list(range(0, 120_000, 9_000)) * 4:
        bad = scores.copy()
        bad[position] = np.nan
        refuses(f"InputError scores[{position}]: is NaN", fb.UniformMassBinning(n_bins=20).fit, bad, labels, n_threads=4)
    assert threading.active_count() == before


def test_long_calls_release_the_gil() -> None:
    """While one thread scores 6 million rows, another goes on: it never waits for more than a part of the call."""
    model = fb.UniformMassBinning(n_bins=100).fit(*rows(5000)).model_
    scores = np.random.default_rng(2).random(6_000_000)
    out = np.empty_like(scores)
    finished = threading.Event()
    moments: list[float] = []

    def score() -> None:
        for _ in range(3):
            model.predict(scores, out=out, seed=0)
        finished.set()

    worker = threading.Thread(target=score)
    start = time.perf_counter()
    worker.start()
    while not finished.is_set():
        moments.append(time.perf_counter())
        time.sleep(0.0005)
    worker.join()
    span = time.perf_counter() - start
    # Were the lock held, there would be a few moments between calls; without it there are hundreds.
    assert len(moments) > 20, f"{len(moments)} moments in {span:.3f} s"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no os.fork on this platform")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_fits_and_scores() -> None:
    """After a fit with threads in the parent, as in a pre-forking server: the child does the same and exits cleanly."""
    program = """
import os, signal, sys
import numpy as np
import fastbin as fb

scores = np.random.default_rng(8).integers(0, 1001, 60_000) / 1000
labels = (np.arange(60_000) % 3 == 0).astype(np.uint8)
parent = fb.UniformMassBinning(n_bins=20).fit(scores, labels, n_threads=2).model_
expected = parent.predict(scores, seed=1)
for _ in range(3):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        again = fb.UniformMassBinning(n_bins=20).fit(scores, labels, n_threads=2).model_
        same = again == parent and np.array_equal(again.predict(scores, seed=1), expected)
        os._exit(0 if same and np.array_equal(parent.predict(scores, seed=1), expected) else 1)
    assert os.waitpid(child, 0)[1] == 0
print("done")
"""
    result = run_python("-c", program, timeout=180)
    assert (result.stdout, result.returncode) == ("done\n", 0), result.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no os.fork on this platform")
def test_forked_workers_draw_keys_of_their_own() -> None:
    """As in a server that loads its model before it forks: parent and children, and children of children, all differ."""
    program = """
import os
import numpy as np
import fastbin as fb

scores = np.full(4000, 0.5)
labels = np.arange(4000) % 3 == 0
model = fb.BinnedModel.from_parts(edges=[0.5], edge_keys=[2**63], values=[0.0, 1.0])
calibrator = fb.UniformMassBinning(n_bins=2, ties="random").fit(scores[:100], labels[:100])
assert model.needs_key and calibrator.model_.needs_key
model.predict_one(0.5), model.predict(scores)

def draws():
    one = [int(model.predict_one(0.5)) for _ in range(200)]
    calibrated = [calibrator.predict_one(0.5) > calibrator.model_.values[0] for _ in range(200)]
    bins = [model.assign_one(0.5) for _ in range(200)]
    return "|".join("".join(str(int(bit)) for bit in bits) for bits in (one, calibrated, bins, model.predict(scores)[:200]))

def child(also=lambda: None):
    reader, writer = os.pipe()
    number = os.fork()
    if number == 0:
        os.close(reader)
        text = draws()
        below = also()
        os.write(writer, (text if below is None else text + "\\n" + below).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as end:
        text = end.read()
    assert os.waitpid(number, 0)[1] == 0
    return text

print(child())
print(child(also=child))
print(draws())
"""
    result = run_python("-c", program, timeout=120)
    assert result.returncode == 0, result.stderr
    lines = [line.split("|") for line in result.stdout.splitlines()]
    assert len(lines) == 4
    for draws in zip(*lines, strict=True):
        assert len({*draws}) == 4
        assert all(20 < one.count("1") < 180 for one in draws)
