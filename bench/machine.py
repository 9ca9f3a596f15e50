"""What the numbers were measured on."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")


def _from_cpuinfo(field: str) -> str | None:
    if not CPUINFO.exists():
        return None
    lines = [line for line in CPUINFO.read_text().splitlines() if line.startswith(field)]
    return lines[0].split(":", 1)[1].strip() if lines else None


def processor() -> str:
    return _from_cpuinfo("model name") or platform.processor() or platform.machine()


def processor_model() -> str:
    """The processor with its family and model: one name, such as "AMD EPYC", is that of several which are not equally fast."""
    numbers = [(word, _from_cpuinfo(field)) for word, field in (("family", "cpu family"), ("model", "model\t"))]
    known = [f"{word} {number}" for word, number in numbers if number is not None]
    return ", ".join([processor(), " ".join(known)]) if known else processor()


def has_avx512() -> bool:
    """Whether the best build is the AVX-512 one; no where that is not known. csrc/src/cpu.c has the same list."""
    flags = (_from_cpuinfo("flags") or "").split()
    return {"avx512f", "avx512vl", "avx512dq", "avx512bw"} <= set(flags) and "FASTBIN_CPU" not in os.environ


def empty_call() -> Callable[..., float]:
    """A compiled method with the signature of `predict_one` and an empty body, built here by Cython and the C compiler."""
    import pyximport

    with tempfile.TemporaryDirectory() as folder:
        importers = pyximport.install(build_dir=folder, language_level=3)
        try:
            from empty_call import EmptyCall
        finally:
            pyximport.uninstall(*importers)
    return EmptyCall().predict_one


def n_cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine() -> str:
    names = []
    for package in ("numpy", "numba", "scikit-learn"):
        try:
            names.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    restricted = [f"FASTBIN_CPU={os.environ['FASTBIN_CPU']}"] if "FASTBIN_CPU" in os.environ else []
    return ", ".join([processor(), f"{n_cores()} cores", f"Python {platform.python_version()}", *names, *restricted])
