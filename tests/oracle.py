"""Exact cases from an independent implementation, real data (tests/data/README.md), and scripts beside the tests."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
DATA = REPOSITORY / "tests" / "data"
CREDIT = DATA / "credit.csv.gz"


@dataclass(frozen=True)
class Case:
    """One case: inputs and expected outputs, by the names of the file, and the tolerance to compare with."""

    id: str
    method: str
    inputs: dict[str, Any]
    expected: dict[str, Any]
    tolerance: float


@cache
def _all_cases() -> tuple[Case, ...]:
    content = json.loads((DATA / "cases.json").read_text(encoding="utf8"))
    return tuple(Case(case["id"], case["method"], case["inputs"], case["expected"], case["tol"]) for case in content["cases"])


def script(path: Path) -> ModuleType:
    """The module of a script, which may import its neighbours by their bare names."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def methods() -> set[str]:
    """The methods for which there are cases."""
    return {case.method for case in _all_cases()}


def cases(*methods: str) -> pytest.MarkDecorator:
    """Parametrise a test by `case`: all cases of these methods."""
    found = [case for case in _all_cases() if case.method in methods]
    missing = set(methods) - {case.method for case in found}
    assert not missing, f"the oracle has no cases of {sorted(missing)}"
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in found])


def number(text: str | float) -> Fraction:
    """An input number as the exact rational that was meant: "2/5", or the decimal digits of 0.1."""
    return Fraction(text) if isinstance(text, str) else Fraction(repr(text))


def close(actual: Any, expected: Any, tolerance: float) -> bool:
    """Are two numbers, or two nested sequences of numbers, within the tolerance? None equals None alone."""
    if expected is None or actual is None:
        return actual is None and expected is None
    if isinstance(expected, Sequence) and not isinstance(expected, str):
        pairs: Iterator[tuple[Any, Any]] = zip(actual, expected, strict=True)
        return all(close(one, other, tolerance) for one, other in pairs)
    return abs(float(actual) - float(expected)) <= tolerance * max(1.0, abs(float(expected)))
