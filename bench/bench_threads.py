"""Many threads on one model: no lock in the way, and no other thread kept waiting."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import median

import cases
import numpy as np
from cases import rows
from figures import Quantity
from gate.frozen import frozen_first, frozen_search
from measure import Contestant, paired

import fastbin as fb

N_THREADS = 8


def _model() -> fb.BinnedModel:
    return fb.UniformMassBinning(100).fit(*rows("uniform", 200_000)).model_


def _in_turn(works: list[Contestant]) -> None:
    for work in works:
        work()


def _together(works: list[Contestant]) -> None:
    with ThreadPoolExecutor(len(works)) as pool:
        for finished in [pool.submit(work) for work in works]:
            finished.result()


def bench_many_threads(benchmark, report) -> None:
    """Throughput of eight threads over that of one; it can grow to the number of cores.

    Beside it a loop that shares nothing and takes no lock: where other programs, or a core that is half of a real one, leave
    less than all of the cores, it grows less, too.
    """
    model = _model()
    scores = np.random.default_rng(0).random(10**6)
    some = scores[:100].tolist()
    outs = [np.empty(len(scores)) for _ in range(N_THREADS)]
    singles: list[list[float]] = [[] for _ in outs]
    edges, values = np.append(model.edges, np.inf), np.array(model.values)
    first = frozen_first(edges)

    def predict(out: np.ndarray, single: list[float]) -> None:
        for _ in range(4):
            model.predict(scores, seed=1, out=out)
            single[:] = [model.predict_one(score) for score in some]

    def search(out: np.ndarray) -> None:
        frozen_search(scores, first, edges, values, out)

    ours = [partial(predict, out, single) for out, single in zip(outs, singles, strict=True)]
    free = [partial(search, out) for out in outs]
    expected, expected_some = model.predict(scores, seed=1), [model.predict_one(score) for score in some]
    _together(ours)
    assert all(np.array_equal(out, expected) for out in outs)
    assert all(single == expected_some for single in singles)
    ways = {"in turn": _in_turn, "together": _together}
    timed = paired(
        {f"{who} {way}": partial(run, works) for who, works in (("ours", ours), ("free", free)) for way, run in ways.items()}
    )
    gain, free_gain = (timed.ratio(f"{who} in turn", to=f"{who} together") for who in ("ours", "free"))
    report(cases.MANY_THREADS, cases.GAIN, gain)
    report(cases.MANY_THREADS, cases.GAIN_WITHOUT_LOCKS, free_gain)
    report(cases.MANY_THREADS, cases.GAIN_TO_GAIN, gain / free_gain)
    benchmark.pedantic(_together, args=(ours,), rounds=2)


def _longest_wait(work: Contestant) -> float:
    """Seconds that a thread which sleeps for half a millisecond at a time overslept at most, while `work` ran five times."""
    stop, waits, nap = threading.Event(), [0.0], 0.0005

    def tick() -> None:
        last = time.perf_counter()
        while not stop.is_set():
            time.sleep(nap)
            now = time.perf_counter()
            waits.append(now - last - nap)
            last = now

    ticking = threading.Thread(target=tick)
    ticking.start()
    for _ in range(5):
        work()
    stop.set()
    ticking.join()
    return max(waits)


def bench_other_threads_go_on(benchmark, report) -> None:
    """The longest wait of a Python thread that ticks, while another one scores 1e7 rows."""
    model = _model()
    scores, out = np.random.default_rng(0).random(10**7), np.empty(10**7)
    predict = partial(model.predict, scores, out=out)
    idle, busy = (median(_longest_wait(work) for _ in range(9)) for work in (partial(time.sleep, 0.02), predict))
    report(cases.OTHER_THREADS, Quantity("longest wait while idle", "ms"), 1e3 * idle)
    report(cases.OTHER_THREADS, cases.EXTRA_WAIT, 1e3 * (busy - idle))
    benchmark.pedantic(_longest_wait, args=(predict,), rounds=1)
