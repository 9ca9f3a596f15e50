"""Ratios that hold still on a machine that does not.

All contestants of a case run in one process, in turn, many times; what is reported is the median over the rounds of one's time
divided by another's in the same round. Slow spells of the machine hit both sides of a ratio alike.
"""

from __future__ import annotations

import ctypes
import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

Contestant = Callable[[], object]
Clock = Callable[[], float]

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Paired:
    """Interleaved rounds: seconds of one call, by contestant and round."""

    times: dict[str, list[float]]

    def seconds(self, name: str, less: str | None = None) -> float:
        """The median; `less` is a contestant whose time in the same round is part of it and does not count."""
        return median(self._net(name, less))

    def ratio(self, name: str, to: str, less: str | None = None) -> float:
        """The median over the rounds of the time of `name` divided by that of `to`."""
        return median(mine / other for mine, other in zip(self._net(name, less), self._net(to, less), strict=True))

    def _net(self, name: str, less: str | None) -> list[float]:
        if less is None:
            return self.times[name]
        return [whole - part for whole, part in zip(self.times[name], self.times[less], strict=True)]


def paired(
    contestants: dict[str, Contestant], *, seconds: float = 2.0, min_rounds: int = 7, clock: Clock = time.perf_counter
) -> Paired:
    """Run the contestants in turn for about `seconds` in all, at least `min_rounds` times.

    Calls far below a millisecond are repeated within a round, all contestants so that a round takes about the same time. Others
    on the machine interrupt a call of milliseconds and not one of less: such a pair needs the processor's `clock`.
    """
    repeats = {name: _repeats(call) for name, call in contestants.items()}
    times: dict[str, list[float]] = {name: [] for name in contestants}
    started = time.perf_counter()
    rounds = 0
    while rounds < min_rounds or time.perf_counter() - started < seconds:
        for name, call in contestants.items():
            times[name].append(_time(call, repeats[name], clock))
        rounds += 1
    return Paired(times)


def _repeats(call: Contestant) -> int:
    """A call that takes long is tried once, to warm it up, a short one several times."""
    once = _time(call, 1)
    if once < 1e-2:
        once = min(_time(call, 1) for _ in range(3))
    return max(1, min(100_000, int(1e-3 / max(once, 1e-8))))


def _time(call: Contestant, repeats: int, clock: Clock = time.perf_counter) -> float:
    started = clock()
    for _ in range(repeats):
        call()
    return (clock() - started) / repeats


def processor_seconds(call: Contestant, rounds: int) -> float:
    """The median; for what is asked of a time and of no ratio, as others who use the machine must not count."""
    return median(_time(call, 1, time.process_time) for _ in range(rounds))


def peak_extra_memory(call: Contestant) -> int | None:
    """Bytes by which the memory of this process grew at most during the call; None where the system does not tell (not Linux).

    Counts what is resident, whoever allocated it. What earlier calls have freed is given back first, or it would be used again
    unseen.
    """
    if not CLEAR.exists():
        return None
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    try:
        CLEAR.write_text("5")  # the peak starts again at what is resident now
    except OSError:
        return None
    before = _resident("VmRSS")
    call()
    return _resident("VmHWM") - before


def _resident(field: str) -> int:
    (line,) = (line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return 1024 * int(line.split()[1])
