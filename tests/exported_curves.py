"""Models without steps, and hard scores for them: interpolated and smooth ones, for tests of exports."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from exported import GREATEST, TINY, Float64s

import fastbin as fb
from fastbin.model import BinnedModel


def _lines(n_knots: int, *, scale: float = 1.0, falls: bool = False, **parts: Any) -> BinnedModel:
    rng = np.random.default_rng(n_knots)
    values = rng.random(n_knots)
    knots = np.unique(rng.random(n_knots)) * scale
    return BinnedModel.from_parts(edges=knots, values=values if falls else np.sort(values), kind="linear", **parts)


def _isotonic() -> BinnedModel:
    rng = np.random.default_rng(3)
    scores = rng.random(3000)
    return fb.IsotonicCalibration(interpolate=True).fit(scores, rng.random(3000) < scores**2).model_


def _smooth(word: str, **parts: Any) -> BinnedModel:
    return BinnedModel.from_parts(edges=[], values=[], kind="smooth", map=word, **parts)


def _spline(n_knots: int, clip: float, spread: float = 6.0, **parts: Any) -> BinnedModel:
    rng = np.random.default_rng(n_knots)
    positions = np.sort(rng.uniform(-spread, spread, n_knots))
    bends = rng.normal(0.0, 0.3, n_knots)
    bends[[0, -1]] = 0.0
    knots = np.column_stack([positions, 0.5 * positions + rng.normal(0.0, 0.2, n_knots), bends])
    return _smooth("spline", knots=knots, clip=clip, **parts)


def _fitted(calibrator: Any) -> BinnedModel:
    rng = np.random.default_rng(5)
    scores = rng.random(2000)
    model: BinnedModel = calibrator.fit(scores, rng.random(2000) < scores**1.5).model_
    return model


LINES: dict[str, Callable[[], BinnedModel]] = {
    **{f"{n} knots": lambda n=n: _lines(n) for n in (1, 2, 10, 1000)},
    "rise and fall": lambda: _lines(50, falls=True),
    "subnormal knots": lambda: _lines(20, scale=2.0**-1060, falls=True),
    "lengths overflow": lambda: BinnedModel.from_parts(
        edges=[-GREATEST, -1e308, 1.1e308, GREATEST], values=[0.1, 0.3, 0.2, 0.7], kind="linear", score_range=None
    ),
    "half overflows": lambda: BinnedModel.from_parts(
        edges=[-1.7e308, 1.7e308], values=[0.0, 1.0], kind="linear", score_range=None
    ),
    "lines that clip": lambda: _lines(12, out_of_range="clip"),
    "interpolated isotonic": _isotonic,
}  # fmt: skip
MAPS: dict[str, Callable[[], BinnedModel]] = {
    "logistic": lambda: _smooth("logistic", map_parameters=(7.25, -3.5)),
    "logistic of logits": lambda: _smooth("logistic", map_parameters=(0.8, 0.3), score_range=None),
    "steep logistic": lambda: _smooth("logistic", map_parameters=(1e300, 1.0), score_range=None, out_of_range="refuse"),
    "beta": lambda: _smooth("beta", map_parameters=(1.25, 0.75, 0.1)),
    "beta, one slope": lambda: _smooth("beta", map_parameters=(0.0, 0.75, 0.1)),
    "beta, other slope": lambda: _smooth("beta", map_parameters=(1.5, 0.0, -0.1), out_of_range="clip"),
    "beta with a clip": lambda: _smooth("beta", map_parameters=(1.25, 0.75, 0.1), clip=1e-3),
    "temperature": lambda: _smooth("beta", map_parameters=(0.6, 0.6, 0.0), score_range=(0.0, 0.5)),
    "quadratic": lambda: _smooth("quadratic", map_parameters=(0.25, 1.25, -0.125)),
    "quadratic, straight": lambda: _smooth("quadratic", map_parameters=(0.25, 1.25, 0.0)),
    "quadratic, level": lambda: _smooth("quadratic", map_parameters=(0.25, 0.0, 0.0), clip=1e-6),
    "spline": lambda: _spline(7, 0.0),
    "two knots": lambda: _spline(2, 0.0),
    "spline with a clip": lambda: _spline(16, 1e-6),
    "spline that clips": lambda: _spline(5, 0.0, out_of_range="clip"),
    "spline, slope overflows": lambda: _smooth("spline", knots=[(0.0, 1.0, 0.0), (1e-250, 1e100, 0.0), (2.0, 0.5, 0.0)]),
    "spline, level ends": lambda: _smooth("spline", knots=[(-1.0, 0.5, 0.0), (0.0, 0.5, 0.0), (1.0, 0.5, 0.0)]),
    "fitted Platt": lambda: _fitted(fb.PlattScaling()),
    "fitted temperature": lambda: _fitted(fb.TemperatureScaling()),
    "fitted beta": lambda: _fitted(fb.BetaScaling()),
    "fitted quadratic": lambda: _fitted(fb.QuadraticScaling()),
    "fitted spline": lambda: _fitted(fb.SplineScaling()),
}
CURVES = {**LINES, **MAPS}


@cache
def curve_model_of(name: str) -> BinnedModel:
    """The model of this name."""
    return CURVES[name]()


def hard_curve_scores(model: BinnedModel, n: int, seed: int = 0) -> Float64s:
    """`n` scores that the model has an answer for: at and beside its knots, beside 0 and 1, and everywhere between."""
    rng = np.random.default_rng(seed)
    low, high = (-GREATEST, GREATEST) if model.score_range is None or model.out_of_range == "clip" else model.score_range
    near = [0.0, -0.0, TINY, 1e-300, 1e-17, 2.0**-53, 0.5, 1.0 - 2.0**-53, 1.0, low, high, model.clip, 1.0 - model.clip]
    in_logits = np.zeros(0) if model.knots is None else model.knots[:, 0]
    centres = np.concatenate([near, model.edges, 1.0 / (1.0 + np.exp(-in_logits))])
    beside = [centres]
    with np.errstate(over="ignore"):
        for end in (-np.inf, np.inf):
            moved = centres
            for _ in range(4):
                moved = np.nextafter(moved, end)
                beside.append(moved)
    hard = np.concatenate(beside)
    hard = hard[(hard >= low) & (hard <= high)]
    reach = min(1.25 * float(np.abs(model.edges).max(initial=4.0)), GREATEST)
    if model.kind == "linear" and model.edges.max() < 1.0:
        reach = 1.25 * float(model.edges.max())
    spread = np.clip(rng.uniform(-1.0, 1.0, n) * reach, low, high)
    within = np.clip(rng.random(n), low, high)
    return np.concatenate([hard, np.where(rng.random(n) < 0.5, spread, within)])[:n]
