"""Smooth maps are the most likely ones, or the penalised ones, depend on the samples alone, and C evaluates them as written."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbin as fb
import strategies
from fitting import fit
from reference import value_maps as reference
from strategies import CalibrationData, examples

WEIGHTINGS = ["none", "integer", "float"]

SMOOTH = {
    "platt": lambda: fb.PlattScaling(),
    "platt, plain": lambda: fb.PlattScaling(smooth_labels=False),
    "platt on logits": lambda: fb.PlattScaling(feature="logit"),
    "temperature": lambda: fb.TemperatureScaling(),
    "beta abm": lambda: fb.BetaScaling(),
    "beta am": lambda: fb.BetaScaling(parameters="am"),
    "beta ab": lambda: fb.BetaScaling(parameters="ab"),
    "platt on logits, ends refused": lambda: fb.PlattScaling(feature="logit", ends="refuse"),
    "temperature, ends refused": lambda: fb.TemperatureScaling(ends="refuse"),
    "beta abm, ends refused": lambda: fb.BetaScaling(ends="refuse"),
    "beta am, ends refused": lambda: fb.BetaScaling(parameters="am", ends="refuse"),
    "beta ab, ends refused": lambda: fb.BetaScaling(parameters="ab", ends="refuse"),
}


def exponent(model: fb.BinnedModel, score: float, parameters: list[float]) -> float:
    if model.map[0] == "logistic":
        return parameters[0] * score + parameters[1]
    chance, complement = (min(max(p, model.clip), 1.0 - model.clip) for p in (score, 1.0 - score))
    return parameters[0] * math.log(chance) - parameters[1] * math.log(complement) + parameters[2]


def softplus(z: float) -> float:
    return max(z, 0.0) + math.log1p(math.exp(-abs(z)))


def loss(name: str, model: fb.BinnedModel, data: CalibrationData, parameters: list[float]) -> float:
    """The loss that the map should have made least, written out; where ends are refused, scores of 0 and 1 do not count."""
    weights = data.weights or [1.0] * len(data.scores)
    n_ones = sum(w for w, label in zip(weights, data.labels, strict=True) if label)
    n_zeros = sum(w for w, label in zip(weights, data.labels, strict=True) if not label)
    smooth = name.startswith("platt") and name != "platt, plain"
    targets = {1: (n_ones + 1) / (n_ones + 2), 0: 1 / (n_zeros + 2)} if smooth else {1: 1.0, 0: 0.0}
    terms = []
    for score, label, weight in zip(data.scores, data.labels, weights, strict=True):
        if name.endswith("refused") and score in (0.0, 1.0):
            continue
        z = exponent(model, score, parameters)
        # Not softplus(z) - target z: where the map is nearly certain, the difference of the two would be rounding.
        terms.append(weight * (targets[label] * softplus(-z) + (1.0 - targets[label]) * softplus(z)))
    return math.fsum(terms)


# The directions in which the parameters of a family may move.
DIRECTIONS = {
    "platt": [(1, 0), (0, 1)],
    "platt, plain": [(1, 0), (0, 1)],
    "platt on logits": [(1, 1, 0), (0, 0, 1)],
    "temperature": [(1, 1, 0)],
    "beta abm": [(1, 0, 0), (0, 1, 0), (0, 0, 1)],
    "beta am": [(1, 1, 0), (0, 0, 1)],
    "beta ab": [(1, 0, math.log(2)), (0, 1, -math.log(2))],
}


@pytest.mark.sampled
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("name", list(SMOOTH))
@settings(max_examples=examples(40), deadline=None)
@given(draw=st.data())
def test_no_other_smooth_map_is_more_likely(name: str, weighting: str, draw: st.DataObject) -> None:
    """The loss is convex: where no small step along a free direction lowers it, it is least."""
    data = draw.draw(strategies.calibration_data(weighting=weighting), "data")
    if weighting == "float":
        # Beside a weight of 1e16 the others lie below the last digit of the likelihood.
        data = replace(data, weights=[min(weight, 100.0) for weight in data.weights or []])
    fitted = fit(SMOOTH[name](), data)
    if fitted is not None:
        assert_least(name, fitted.model_, data)


def test_a_tiny_weight_that_pulls_without_bending_is_heard() -> None:
    """The last sample is 11 digits lighter than the others, which leave one direction free for it alone."""
    data = CalibrationData([0.19, 0.51, 0.6], [0, 1, 0], [100.0, 100.0, 1e-9])
    assert_least("beta ab", fb.BetaScaling(parameters="ab").fit(**data.arrays()).model_, data)


def assert_least(name: str, model: fb.BinnedModel, data: CalibrationData) -> None:
    parameters = list(model.map[1][: 2 if model.map[0] == "logistic" else 3])
    least = loss(name, model, data, parameters)
    for direction in DIRECTIONS[name.removesuffix(", ends refused")]:
        for step in (1e-4, -1e-4, 1e-2, -1e-2):
            size = max(1.0, max(abs(p) for p in parameters))
            moved = [p + step * size * d for p, d in zip(parameters, direction, strict=True)]
            if name.startswith(("beta", "temperature")) and min(moved[:2]) < 0:
                continue
            assert loss(name, model, data, moved) >= least * (1 - 1e-7) - 1e-12


@pytest.mark.sampled
@pytest.mark.parametrize("name", list(SMOOTH))
@settings(max_examples=examples(30), deadline=None)
@given(draw=st.data())
def test_smooth_maps_depend_on_the_samples_alone(name: str, draw: st.DataObject) -> None:
    """Row order changes no byte; frequencies are repetition, and the same as real weights but for what the model counts."""
    data = draw.draw(strategies.calibration_data(max_size=60, weighting="integer"), "data")
    fitted = fit(SMOOTH[name](), data)
    if fitted is None:
        return
    order = draw.draw(st.permutations(range(len(data.scores))), "order")
    shuffled = {key: column[order] for key, column in data.arrays().items()}
    assert SMOOTH[name]().fit(**shuffled).model_ == fitted.model_
    scores, labels = (np.repeat(column, data.weights) for column in (data.scores, data.labels))
    assert SMOOTH[name]().fit(scores, labels).model_ == fitted.model_
    half_step = 0.5 / (len(data.scores) + 1) if fitted.model_.clip else 0.0  # of the rows, where weights are real
    if all(half_step <= score <= 1.0 - half_step for score in data.scores):
        real = SMOOTH[name]().fit(data.scores, data.labels, sample_weight=np.array(data.weights, np.float64))
        assert real.model_.map == fitted.model_.map


@settings(max_examples=examples(50), deadline=None)
@given(
    slopes=st.tuples(st.floats(0, 50), st.floats(0, 50)),
    constant=st.floats(-20, 20),
    scores=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30),
)
def test_c_evaluates_the_maps_as_numpy_does(slopes: tuple[float, float], constant: float, scores: list[float]) -> None:
    column = np.array(scores)
    logistic = fb.BinnedModel.from_parts(
        edges=None, values=None, kind="smooth", scheme="platt", map="logistic", map_parameters=(slopes[0], constant)
    )
    assert np.allclose(logistic.predict(column), 1 / (1 + np.exp(-(slopes[0] * column + constant))), rtol=1e-13, atol=0)
    beta = fb.BinnedModel.from_parts(
        edges=None, values=None, kind="smooth", scheme="beta", map="beta", map_parameters=(*slopes, constant)
    )
    inside = column[(column > 0) & (column < 1)]
    with np.errstate(over="ignore"):
        expected = 1 / (1 + np.exp(-(slopes[0] * np.log(inside) - slopes[1] * np.log(1 - inside) + constant)))
    assert np.allclose(beta.predict(inside), expected, rtol=1e-10, atol=1e-300)
    if min(slopes) > 0:
        assert beta.predict([0.0, 1.0]).tolist() == [0.0, 1.0]


# ------------------------------------------------------------------------------------------------- the quadratic and the spline

METHODS = {"quadratic": fb.QuadraticScaling, "spline": fb.SplineScaling}
every = pytest.mark.parametrize("name", list(METHODS))


@pytest.mark.sampled
@every
@pytest.mark.parametrize("weighting", ["none", "integer", "float"])
@settings(max_examples=examples(60), deadline=None)
@given(draw=st.data())
def test_every_fit_succeeds(name: str, weighting: str, draw: st.DataObject) -> None:
    """Without a warning, which would be an error here."""
    data = draw.draw(strategies.calibration_data(weighting=weighting), "data")
    if data.weights is not None and not any(data.weights):
        return
    fitted = METHODS[name]().fit(**data.arrays())
    served = fitted.predict(np.array([0.0, 1e-300, 0.5, 1.0, *data.scores]))
    assert ((served >= 0.0) & (served <= 1.0)).all()
    assert fitted.model_.clip == 0.5 / (data.n_samples + 1)
    assert fb.BinnedModel.from_bytes(fitted.model_.to_bytes()) == fitted.model_


@every
@settings(max_examples=examples(40), deadline=None)
@given(draw=st.data())
def test_maps_are_those_of_the_reference(name: str, draw: st.DataObject) -> None:
    """Fitted in loops to the distinct scores, and served by C."""
    data = draw.draw(strategies.calibration_data(max_size=30, weighting="integer"), "data")
    rows = [(score + 0.0, label) for score, label in zip(*data.repeated(), strict=True)]
    if not rows:
        return
    half = 0.5 / (len(rows) + 1)
    moved = [(0.0 if score < half else 1.0 if 1.0 - score < half else score, label) for score, label in rows]
    distinct = sorted({score for score, _ in moved})
    ones = [float(sum(label for at, label in moved if at == score)) for score in distinct]
    zeros = [float(sum(1 - label for at, label in moved if at == score)) for score in distinct]
    counts = [a + b for a, b in zip(zeros, ones, strict=True)]
    z = reference.positions(distinct, counts, len(rows), True)
    expected = [reference.sigmoid(at) for at in reference.MAPS[name](distinct, z, zeros, ones, True)]
    fitted = METHODS[name]().fit(**data.arrays())
    assert np.allclose(fitted.predict(np.array(distinct)), expected, rtol=0.0, atol=2e-6)


@every
@settings(max_examples=examples(30), deadline=None)
@given(draw=st.data())
def test_maps_depend_on_the_samples_alone(name: str, draw: st.DataObject) -> None:
    """Neither on the order of the rows, nor on whether frequencies are counted out."""
    data = draw.draw(strategies.calibration_data(max_size=60, weighting="integer"), "data")
    if not any(data.weights or []):
        return
    fitted = METHODS[name]().fit(**data.arrays()).model_
    order = draw.draw(st.permutations(range(len(data.scores))), "order")
    shuffled = {key: column[order] for key, column in data.arrays().items()}
    assert METHODS[name]().fit(**shuffled).model_ == fitted
    scores, labels = (np.repeat(column, data.weights) for column in (data.scores, data.labels))
    assert METHODS[name]().fit(scores, labels).model_ == fitted
    halved = METHODS[name]().fit(scores, labels, sample_weight=np.full(len(scores), 0.5)).model_
    assert halved.map == fitted.map
    assert halved.clip == fitted.clip
