"""The quadratic and the spline have a map for every data set, which depends on the samples alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbin as fb
import strategies
from reference import value_maps as reference

METHODS = {"quadratic": fb.QuadraticScaling, "spline": fb.SplineScaling}
every = pytest.mark.parametrize("name", list(METHODS))


@every
@pytest.mark.parametrize("weighting", ["none", "integer", "float"])
@settings(max_examples=60, deadline=None)
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
@settings(max_examples=40, deadline=None)
@given(draw=st.data())
def test_maps_are_those_of_the_reference(name: str, draw: st.DataObject) -> None:
    """Fitted in loops to the distinct scores, and served by C."""
    data = draw.draw(strategies.calibration_data(max_size=30, weighting="integer"), "data")
    rows = [
        (score + 0.0, label)
        for score, label, repeat in zip(data.scores, data.labels, data.weights or [], strict=True)
        for _ in range(int(repeat))
    ]
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
@settings(max_examples=30, deadline=None)
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
