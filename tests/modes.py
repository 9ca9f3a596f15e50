"""Floating-point environments: directions of rounding, and processors that take subnormal numbers for zero (x86-64, glibc)."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Iterator
from contextlib import contextmanager

FLUSH = {"subnormals kept": 0, "FTZ": 0x8000, "DAZ": 0x0040, "FTZ and DAZ": 0x8040}
ROUNDING = {"nearest": 0x0000, "down": 0x2000, "up": 0x4000, "toward zero": 0x6000}
MODES = {f"{flush}, {rounding}": FLUSH[flush] | ROUNDING[rounding] for flush in FLUSH for rounding in ROUNDING}

# The struct that fegetenv() fills: 28 bytes of the x87, then MXCSR.
HAS_MODES = platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc"


@contextmanager
def mode(name: str) -> Iterator[None]:
    """This thread in that environment; the usual one when left."""
    libm = ctypes.CDLL("libm.so.6")
    usual, changed = (ctypes.c_uint32 * 8)(), (ctypes.c_uint32 * 8)()
    assert libm.fegetenv(usual) == 0
    changed[:] = usual[:]
    changed[7] = (usual[7] & ~0xE040) | MODES[name]
    assert libm.fesetenv(changed) == 0
    try:
        yield
    finally:
        assert libm.fesetenv(usual) == 0
