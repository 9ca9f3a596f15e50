"""Ratios that hold still on a machine that does not.

All contestants of a case run in one process, in turn, many times; what is reported is the median over the rounds of each
one's time divided by the baseline's in the same round. Slow spells of the machine hit both sides of a ratio alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

Contestant = Callable[[], object]


@dataclass(frozen=True)
class Paired:
    """Medians of interleaved rounds."""

    seconds: dict[str, float]  # of one call
    ratio: dict[str, float]  # to the baseline, paired by round
    rounds: int


def paired(contestants: dict[str, Contestant], *, baseline: str, seconds: float = 2.0, min_rounds: int = 7) -> Paired:
    """Run the contestants in turn for about `seconds` in all, at least `min_rounds` times.

    Calls far below a millisecond are repeated within a round, all contestants so that a round takes about the same time.
    """
    repeats = {name: _repeats(call) for name, call in contestants.items()}
    times: dict[str, list[float]] = {name: [] for name in contestants}
    started = time.perf_counter()
    rounds = 0
    while rounds < min_rounds or time.perf_counter() - started < seconds:
        for name, call in contestants.items():
            times[name].append(_time(call, repeats[name]))
        rounds += 1
    ratios = {
        name: median(mine / base for mine, base in zip(times[name], times[baseline], strict=True)) for name in contestants
    }
    return Paired({name: median(values) for name, values in times.items()}, ratios, rounds)


def _repeats(call: Contestant) -> int:
    call()
    once = min(_time(call, 1) for _ in range(3))
    return max(1, min(100_000, int(1e-3 / max(once, 1e-8))))


def _time(call: Contestant, repeats: int) -> float:
    started = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - started) / repeats
