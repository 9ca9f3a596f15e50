"""The generators make what they promise: a test on hard inputs is worth what the inputs are."""

from __future__ import annotations

import itertools
import math
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings

import strategies
from strategies import LABEL_SHAPES, LAYOUTS, MARGIN_SHAPES, SCORE_SHAPES, WEIGHTINGS, make


@pytest.mark.parametrize("shape", sorted(SCORE_SHAPES))
def test_scores_lie_in_the_unit_interval(shape: str) -> None:
    for seed in range(20):
        scores = SCORE_SHAPES[shape](Random(seed), 100)
        assert len(scores) == 100
        assert all(0.0 <= score <= 1.0 for score in scores)


@pytest.mark.parametrize("shape", sorted(MARGIN_SHAPES))
def test_margins_are_finite_and_leave_the_unit_interval(shape: str) -> None:
    scores = [score for seed in range(20) for score in MARGIN_SHAPES[shape](Random(seed), 100)]
    assert all(math.isfinite(score) for score in scores)
    assert min(scores) < 0.0


@pytest.mark.parametrize("shape", sorted({**SCORE_SHAPES, **MARGIN_SHAPES}))
@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_data_replays(shape: str, weighting: str) -> None:
    for label_shape in LABEL_SHAPES:
        data = make(shape, label_shape, 50, 3, weighting, keyed=True)
        assert data == make(shape, label_shape, 50, 3, weighting, keyed=True)
        assert data != make(shape, label_shape, 50, 4, weighting, keyed=True)
        assert set(data.labels) <= {0, 1}
        assert len(set(data.keys or [])) == 50


def test_shapes_are_as_hard_as_their_names() -> None:
    def scores(shape: str) -> list[float]:
        return [score for seed in range(10) for score in SCORE_SHAPES[shape](Random(seed), 200)]

    assert len(set(SCORE_SHAPES["few levels"](Random(1), 200))) <= 5
    assert len(set(SCORE_SHAPES["constant"](Random(1), 200))) == 1
    assert {math.copysign(1.0, score) for score in scores("signed zeros") if score == 0.0} == {-1.0, 1.0}
    assert all(score < 2.3e-308 for score in scores("subnormals"))
    neighbours = sorted(set(SCORE_SHAPES["neighbours"](Random(2), 200)))
    assert any(math.nextafter(low, 1.0) == high for low, high in itertools.pairwise(neighbours))
    assert {0.0, 1.0} <= set(scores("ends"))
    assert all(float(np.float32(score)) == score for score in scores("float32"))
    one_draw = SCORE_SHAPES["float32 ties"](Random(5), 200)
    assert len({float(np.float32(score)) for score in one_draw}) < len(set(one_draw)) / 2
    assert min(scores("mixed magnitudes")) < 1e-250
    assert 1e-7 < sorted(scores("click rates"))[1000] < 1e-5


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_hold_the_same_numbers(layout: str) -> None:
    data = make("signed zeros", "coin", 37, 1, "float")
    placed = data.arrays(layout)
    for name, expected in data.arrays().items():
        assert np.array_equal(np.asarray(placed[name]).reshape(-1), expected)


def test_layouts_differ_in_memory() -> None:
    column = np.arange(5.0)
    assert LAYOUTS["strided"](column).strides == (24,)
    assert LAYOUTS["reversed"](column).strides == (-8,)
    assert not LAYOUTS["read-only"](column).flags.writeable
    assert not LAYOUTS["unaligned"](column).flags.aligned
    assert LAYOUTS["column"](column).shape == (5, 1)
    assert not LAYOUTS["big-endian"](column).dtype.isnative


@settings(max_examples=50, deadline=None)
@given(strategies.calibration_data(max_size=60, weighting="integer", keyed=True))
def test_calibration_data_counts_frequencies(data: strategies.CalibrationData) -> None:
    assert 1 <= len(data.scores) == len(data.labels) <= 60
    assert data.weights is not None
    assert data.n_samples == sum(data.weights)


def test_queries_stay_in_range_and_hit_the_edges() -> None:
    data = make("ends", "coin", 40, 2)
    asked = strategies.queries(data, [0.0, 0.5, 1.0], Random(1))
    assert {0.0, 0.5, 1.0, math.nextafter(0.5, 0.0), math.nextafter(0.5, 1.0)} <= set(asked)
    assert all(0.0 <= score <= 1.0 for score in asked)
