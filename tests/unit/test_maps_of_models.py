"""Smooth maps that take logarithms, as the header defines them: quadratic, spline, and beta with a clip."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np
import pytest
from wordings import refuses

import fastbin as fb

Knots = list[tuple[float, float, float]]


def logistic(x: float) -> float:
    return 0.0 if x < -700 else 1.0 / (1.0 + math.exp(-x))


def logit(score: float, clip: float) -> float:
    """Both terms kept from the logarithm of 0."""
    low, high = (min(max(part, clip), 1.0 - clip) for part in (score, 1.0 - score))
    return math.log(low) - math.log(high)


def natural_spline(positions: list[float], values: list[float]) -> Knots:
    """The knots with their second derivatives: the tridiagonal system of the textbooks, densely."""
    n = len(positions)
    system, right = np.eye(n), np.zeros(n)
    for i in range(1, n - 1):
        before, after = positions[i] - positions[i - 1], positions[i + 1] - positions[i]
        system[i, i - 1 : i + 2] = before / 6, (before + after) / 3, after / 6
        right[i] = (values[i + 1] - values[i]) / after - (values[i] - values[i - 1]) / before
    derivatives = np.linalg.solve(system, right)
    derivatives[[0, -1]] = 0.0
    return list(zip(positions, values, derivatives.tolist(), strict=True))


def spline_at(knots: Knots, z: float) -> float:
    """By Taylor's formula from the knot on the left; straight beyond the ends."""
    inside = min(max(z, knots[0][0]), knots[-1][0])
    i = max(k for k in range(len(knots) - 1) if knots[k][0] <= inside)
    (x0, y0, m0), (x1, y1, m1) = knots[i], knots[i + 1]
    h = x1 - x0
    slope, bend = (y1 - y0) / h - h * (2 * m0 + m1) / 6, (m1 - m0) / h
    t = inside - x0
    value, slope_there = y0 + t * (slope + t * (m0 / 2 + t * bend / 6)), slope + t * (m0 + t * bend / 2)
    return value + slope_there * (z - inside)


def smooth(word: str, **parts: Any) -> fb.BinnedModel:
    return fb.BinnedModel.from_parts(edges=[], values=[], kind="smooth", map=word, **parts)


SCORES = [0.0, 5e-324, 1e-9, *(i / 200 for i in range(1, 200)), 1 - 2**-53, 1.0]


@pytest.mark.parametrize("clip", [1e-17, 1e-6, 0.01, 0.3])
@pytest.mark.parametrize("n_knots", [2, 3, 5, 40])
def test_spline(n_knots: int, clip: float) -> None:
    rng = Random(n_knots)
    positions = sorted(rng.uniform(-6, 6) for _ in range(n_knots))
    knots = natural_spline(positions, [0.5 * x + rng.gauss(0, 0.2) for x in positions])
    model = smooth("spline", scheme="spline", knots=knots, clip=clip)
    assert model.knots.tolist() == [list(knot) for knot in knots]
    assert (model.scheme, model.map[0], model.clip) == ("spline", "spline", clip)
    expected = [logistic(spline_at(knots, logit(score, clip))) for score in SCORES]
    assert np.allclose(model.predict(SCORES), expected, rtol=1e-11, atol=1e-15)
    assert [model.predict_one(score) for score in SCORES] == model.predict(SCORES).tolist()
    assert fb.BinnedModel.from_bytes(model.to_bytes()) == model


@pytest.mark.parametrize("clip", [0.0, 1e-17, 1e-6, 0.01, 0.3])
def test_quadratic_and_beta(clip: float) -> None:
    p0, p1, p2 = 0.25, 1.25, -0.125
    quadratic = smooth("quadratic", scheme="quadratic", map_parameters=(p0, p1, p2), clip=clip)
    beta = smooth("beta", scheme="beta", map_parameters=(p1, 0.75, p0), clip=clip)
    inside = [score for score in SCORES if 0 < score < 1]
    assert np.allclose(
        quadratic.predict(inside), [logistic(p0 + (z := logit(s, clip)) * p1 + z * z * p2) for s in inside], rtol=1e-11
    )
    for score in inside:
        low, high = (min(max(part, clip), 1.0 - clip) for part in (score, 1.0 - score))
        assert math.isclose(beta.predict_one(score), logistic(p1 * math.log(low) - 0.75 * math.log(high) + p0), rel_tol=1e-11)


@pytest.mark.parametrize("word", ["quadratic", "beta", "spline"])
def test_zero_and_one_with_a_clip(word: str) -> None:
    """They are scores as others: the ones that lie at the clip, and never certain."""
    knots = natural_spline([-2.0, 0.0, 2.0], [-1.0, 0.5, 1.0])
    parts = {"knots": knots} if word == "spline" else {"map_parameters": (1.0, 1.0, 0.125)}
    model = smooth(word, clip=0.5 / 101, **parts)
    low, high = model.predict([0.0, 1.0])
    assert 0 < low < high < 1
    assert low == model.predict_one(1e-300)
    assert math.isclose(low, model.predict_one(0.5 / 101), rel_tol=1e-12)
    assert math.isclose(high, model.predict_one(1 - 0.5 / 101), rel_tol=1e-12)


def test_clip_and_knots_of_bins() -> None:
    """The map whose bins were pulled back is evidence, and comes back."""
    knots = natural_spline([-1.0, 1.0], [-1.0, 2.0])
    model = fb.BinnedModel.from_parts(edges=[0.5], values=[0.2, 0.7], map="spline", knots=knots, clip=0.25)
    assert (model.clip, model.knots.tolist()) == (0.25, [list(knot) for knot in knots])
    assert model.predict([0.1, 0.9]).tolist() == [0.2, 0.7]


@pytest.mark.parametrize("parts", [
    {"knots": [[0.0, 0.0, 0.0]]}, {"knots": None}, {"knots": [[0, 0, 0], [0, 1, 0]]}, {"knots": [[0, 0, 1], [1, 1, 0]]},
    {"knots": [[0, 0, 0], [1, math.nan, 0]]}, {"knots": [[0, 0, 0], [1, 1, 0]], "clip": 0.5},
    {"knots": [[0, 0, 0], [1, 1, 0]], "clip": math.nan}, {"knots": [[0, 0, 0], [1, 1, 0]], "score_range": None},
])  # fmt: skip
def test_impossible_splines(parts: dict[str, Any]) -> None:
    refuses("InputError: the map parameters, clip", smooth, "spline", **parts)
