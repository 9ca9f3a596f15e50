"""Fits as the property tests make them: of any data set, with refusal as an outcome."""

from __future__ import annotations

from typing import Any

import fastbin as fb
from strategies import CalibrationData

__all__ = ["fit", "some_map"]


def fit(calibrator: Any, data: CalibrationData, layout: str = "contiguous") -> Any:
    """The fitted calibrator; ``None`` where it refused. Any other error goes through."""
    try:
        return calibrator.fit(**data.arrays(layout))
    except fb.InputError:
        return None


def some_map(word: str) -> fb.BinnedModel | None:
    """An increasing smooth map that came from other samples; ``None`` for "none"."""
    scores, labels = [0.1, 0.3, 0.35, 0.6, 0.8, 0.85, 0.9], [0, 1, 0, 0, 1, 1, 1]
    scalers = {"platt": fb.PlattScaling(), "temperature": fb.TemperatureScaling(), "beta": fb.BetaScaling()}
    return None if word == "none" else scalers[word].fit(scores, labels).model_
