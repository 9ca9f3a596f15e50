"""Exact cases from an independent implementation, where they are at hand.

The file `oracle/cases.json` is looked for in the directory named by the environment variable FASTBIN_SHARED, or in `../shared`
beside the repository. Where it is absent the tests that need it skip and say so.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

__all__ = ["Case", "cases", "close", "methods", "number", "shared_directory"]

REPOSITORY = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Case:
    """One case: inputs and expected outputs, by the names of the file, and the tolerance to compare with."""

    id: str
    method: str
    inputs: dict[str, Any]
    expected: dict[str, Any]
    tolerance: float


def shared_directory() -> Path:
    return Path(os.environ.get("FASTBIN_SHARED", REPOSITORY.parent / "shared"))


@cache
def _all_cases() -> tuple[Case, ...]:
    path = shared_directory() / "oracle" / "cases.json"
    if not path.is_file():
        return ()
    content = json.loads(path.read_text(encoding="utf8"))
    return tuple(Case(case["id"], case["method"], case["inputs"], case["expected"], case["tol"]) for case in content["cases"])


def methods() -> set[str]:
    """The methods for which there are cases; empty where the file is absent."""
    return {case.method for case in _all_cases()}


def cases(*methods: str) -> pytest.MarkDecorator:
    """Parametrise a test by `case`: all cases of these methods, or one skipped test where the file is absent."""
    found = [case for case in _all_cases() if case.method in methods]
    if _all_cases():
        missing = set(methods) - {case.method for case in found}
        assert not missing, f"the oracle has no cases of {sorted(missing)}"
        return pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in found])
    reason = f"no oracle cases: {shared_directory() / 'oracle' / 'cases.json'} does not exist (set FASTBIN_SHARED)"
    return pytest.mark.parametrize("case", [pytest.param(None, id="absent", marks=pytest.mark.skip(reason=reason))])


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
