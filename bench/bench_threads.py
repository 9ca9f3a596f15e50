"""Many threads on one model: no lock in the way, and no other thread kept waiting."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from cases import rows

import fastbin as fb

N_THREADS = 8


def _model() -> fb.BinnedModel:
    return fb.UniformMassBinning(100).fit(*rows("uniform", 200_000)).model_


def bench_predict_from_many_threads(benchmark, report) -> None:
    """Throughput of eight threads over that of one; it can grow to the number of cores."""
    model = _model()
    scores = np.random.default_rng(0).random(10**6)
    outs = [np.empty(len(scores)) for _ in range(N_THREADS)]
    expected = model.predict(scores, seed=1)

    def work(out: np.ndarray) -> None:
        for _ in range(4):
            model.predict(scores, seed=1, out=out)

    def alone() -> float:
        started = time.perf_counter()
        for out in outs:
            work(out)
        return time.perf_counter() - started

    def together() -> float:
        started = time.perf_counter()
        with ThreadPoolExecutor(N_THREADS) as pool:
            list(pool.map(work, outs))
        return time.perf_counter() - started

    gains = sorted(alone() / together() for _ in range(7))
    assert all(np.array_equal(out, expected) for out in outs)
    benchmark.pedantic(together, rounds=2)
    report(threads=f"{N_THREADS} threads, predict", times_one_thread=f"{gains[3]:.2f}", cores=os.cpu_count())
    benchmark.extra_info["times_one_thread"] = gains[3]


def bench_other_threads_go_on(benchmark, report) -> None:
    """The longest wait of a Python thread that ticks, while another one scores 1e7 rows."""
    model = _model()
    scores, out = np.random.default_rng(0).random(10**7), np.empty(10**7)

    def longest_wait(busy: bool) -> float:
        stop, waits = threading.Event(), [0.0]

        def tick() -> None:
            last = time.perf_counter()
            while not stop.is_set():
                time.sleep(0.0005)
                now = time.perf_counter()
                waits.append(now - last - 0.0005)
                last = now

        ticking = threading.Thread(target=tick)
        ticking.start()
        for _ in range(5):
            if busy:
                model.predict(scores, out=out)
            else:
                time.sleep(0.02)
        stop.set()
        ticking.join()
        return max(waits)

    idle, busy = (sorted(longest_wait(flag) for _ in range(5))[2] for flag in (False, True))
    benchmark.pedantic(longest_wait, args=(True,), rounds=1)
    report(
        threads="longest wait of another thread, m = 1e7", idle_ms=f"{1e3 * idle:.2f}", busy_ms=f"{1e3 * busy:.2f}", target_ms=5
    )
    benchmark.extra_info.update({"idle_ms": 1e3 * idle, "busy_ms": 1e3 * busy})
