"""A small model, outcomes of its population, and a monitor that has seen them: for the tests of monitors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastbin as fb
from fastbin.online import CalibrationMonitor

EDGES, VALUES = [0.25, 0.5, 0.75], [0.1, 0.4, 0.6, 0.9]


def served(values: list[float] = VALUES, **parts: Any) -> fb.BinnedModel:
    return fb.BinnedModel.from_parts(edges=EDGES[: len(values) - 1], values=values, scheme="explicit", **parts)


def outcomes(n: int, rates: list[float] = VALUES, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    return scores, (rng.random(n) < np.array(rates)[np.searchsorted(EDGES, scores, side="right")]).astype(np.uint8)


def refuses(error: type[Exception], message: str, call: Callable[..., object], *arguments: Any, **options: Any) -> None:
    """The call raises this error, with this in its message."""
    with pytest.raises(error, match=re.escape(message)) as caught:
        call(*arguments, **options)
    assert type(caught.value) is error


def run(model: fb.BinnedModel, scores: Any, labels: Any, **configuration: Any) -> CalibrationMonitor:
    monitor = CalibrationMonitor(model, **configuration)
    monitor.update(scores, labels)
    return monitor


def of_earlier_version(model: fb.BinnedModel, **configuration: Any) -> CalibrationMonitor:
    """A monitor whose evidence is that of the bins alone, since it began: as states of earlier versions hold it."""
    monitor = CalibrationMonitor(model, **configuration)
    monitor._state.starts = None
    return monitor
